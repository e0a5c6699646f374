/* SPDX-License-Identifier: Apache-2.0 */
/* RecordBatch and DictionaryBatch messages written: metadata, then the body buffer by buffer. formats.md B.6, B.7, B.9. */
#ifndef CSF_IPC_BATCH_WRITE_H
#define CSF_IPC_BATCH_WRITE_H

#include "arrow/array.h"
#include "colshuf/ipc.h"

enum csf_buffer_kind { CSF_BUFFER_VALIDITY, CSF_BUFFER_OFFSETS32, CSF_BUFFER_OFFSETS64, CSF_BUFFER_DATA, CSF_BUFFER_OTHER };

/* One body buffer of the message last written, for those who work on the body afterwards (lengths, statistics). */
struct csf_body_buffer {
  uint64_t offset; /* from the body's start */
  uint64_t size;   /* without padding */
  enum csf_buffer_kind kind;
  int32_t column; /* top-level column */
};

/* Scratch and settings of one writer; reused. All zero but allocator, alignment and always_validity is fresh. */
struct csf_batch_writer {
  struct colshuf_allocator allocator;
  uint32_t alignment;     /* padding of metadata and buffers: 8 or 64 */
  bool always_validity;   /* as arrow-rs: a bitmap of ones where no value is null */
  int compress;           /* body compression: 0, 1 LZ4 frame, 2 zstd; needs codec */
  struct csf_codec *codec;
  struct csf_buffer nodes, buffers, variadic, scratch; /* internal */
  struct csf_body_buffer *body_buffers; /* of the last message */
  size_t n_body_buffers, body_buffers_capacity;
  uint64_t body_offset;   /* where in *out the last body starts */
};

void csf_batch_writer_clear(struct csf_batch_writer *writer);

/*
 * Appends one RecordBatch message of rows [start, start + length) of batch (a struct array of root; counted from its offset)
 * to *out: offsets re-based to 0, bits to bit 0, children and bytes cut to what is used (B.7).
 * Errors: LIMIT, NO_MEMORY, INVALID_ARGUMENT.
 */
enum colshuf_status csf_batch_write(struct csf_batch_writer *writer, const struct csf_field *root, const struct ArrowArray *batch,
                                    int64_t start, int64_t length, struct csf_buffer *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/* Appends a DictionaryBatch message for the values array of field->dictionary. */
enum colshuf_status csf_dictionary_write(struct csf_batch_writer *writer, const struct csf_field *values_field,
                                         const struct ArrowArray *values, int64_t id, bool is_delta, struct csf_buffer *out,
                                         struct colshuf_error *err) COLSHUF_MUST_USE;

/* Appends the messages of all dictionaries of batch in wire order (inner before outer). */
enum colshuf_status csf_dictionaries_write(struct csf_batch_writer *writer, const struct csf_field *root,
                                           const struct ArrowArray *batch, struct csf_buffer *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
