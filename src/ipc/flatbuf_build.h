/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flatbuffer builder: the buffer grows downward, children before parents, so that every reference points forward. It lays bytes
 * exactly as arrow-rs' does (formats.md B.2.1). Reused by csf_flatbuf_reset; in steady state it allocates nothing.
 *
 * A failure is remembered: later calls do nothing, csf_flatbuf_finish reports it.
 */
#ifndef CSF_IPC_FLATBUF_BUILD_H
#define CSF_IPC_FLATBUF_BUILD_H

#include "base/bytes.h"

/* An object, named by its distance from the end of the buffer; 0 = none. */
typedef uint32_t csf_flatbuf_ref;

enum { CSF_FLATBUF_MAX_FIELDS = 8 };

struct csf_flatbuf {
  struct csf_buffer memory;  /* the bytes so far are its last `used` ones */
  struct csf_buffer vtables; /* csf_flatbuf_ref of every vtable */
  uint32_t used;
  uint32_t alignment; /* the largest asked for */
  enum colshuf_status status; /* not OK once memory was refused or the buffer is too large */
  uint32_t table_tail; /* the table being built: used at its start, and at each field's end (0 = absent) */
  uint32_t table_fields[CSF_FLATBUF_MAX_FIELDS];
  int table_size; /* highest field id + 1 */
};

void csf_flatbuf_init(struct csf_flatbuf *b, const struct colshuf_allocator *allocator);
void csf_flatbuf_clear(struct csf_flatbuf *b);
void csf_flatbuf_reset(struct csf_flatbuf *b);

csf_flatbuf_ref csf_flatbuf_string(struct csf_flatbuf *b, const void *text, size_t size);

/* A vector of count elements of element_size bytes each, aligned to alignment; content NULL = zeros. */
csf_flatbuf_ref csf_flatbuf_vector(struct csf_flatbuf *b, const void *content, size_t count, size_t element_size, size_t alignment);
csf_flatbuf_ref csf_flatbuf_vector_of_refs(struct csf_flatbuf *b, const csf_flatbuf_ref *refs, size_t count);

/* A table: start, fields in the order in which they are to be laid, end. Tables do not nest: children are built before. */
void csf_flatbuf_table_start(struct csf_flatbuf *b);
void csf_flatbuf_field_u8(struct csf_flatbuf *b, int id, uint8_t value, uint8_t default_value);
void csf_flatbuf_field_i16(struct csf_flatbuf *b, int id, int16_t value, int16_t default_value);
void csf_flatbuf_field_i32(struct csf_flatbuf *b, int id, int32_t value, int32_t default_value);
void csf_flatbuf_field_i64(struct csf_flatbuf *b, int id, int64_t value, int64_t default_value);
void csf_flatbuf_field_ref(struct csf_flatbuf *b, int id, csf_flatbuf_ref target); /* 0 = left out */
csf_flatbuf_ref csf_flatbuf_table_end(struct csf_flatbuf *b);

/* Ends the buffer. *out is good until the next call with b. Errors: NO_MEMORY, LIMIT (2^31 bytes). */
enum colshuf_status csf_flatbuf_finish(struct csf_flatbuf *b, csf_flatbuf_ref root, struct csf_span *out,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/* Where in the finished buffer an object, or the field that was written when `used` was `ref`, stands. */
static inline uint32_t csf_flatbuf_position(const struct csf_flatbuf *b, csf_flatbuf_ref ref) {
  return b->used - ref;
}

#endif
