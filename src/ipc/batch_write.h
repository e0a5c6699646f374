/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordBatch and DictionaryBatch messages written. A message is planned first (which bytes of which array go where), so that its
 * size is known, and then put into the output in one pass. formats.md B.6, B.7, B.9.
 */
#ifndef CSF_IPC_BATCH_WRITE_H
#define CSF_IPC_BATCH_WRITE_H

#include "arrow/array.h"
#include "codec/codec.h"
#include "ipc/flatbuf_build.h"

/* A metadata flatbuffer that is kept: a message of the same shape only gets other numbers put into it. */
struct csf_metadata_template {
  struct csf_flatbuf b;
  struct csf_span bytes; /* inside b; size 0 = none yet */
  size_t n_nodes, n_buffers, n_variadic;
  int64_t id;
  bool is_delta, has_rows, has_body, compressed;
};

/* Settings and scratch of one writer, reused from message to message: in steady state nothing is allocated but room in *out. */
struct csf_batch_writer {
  uint32_t alignment;        /* padding of metadata and buffers: 8 or 64 */
  bool always_validity;      /* as arrow-rs: a bitmap of ones where no value is null; views and list views whole */
  bool offsets_as_lengths;   /* formats.md A.11 */
  int compress;              /* body compression: 0, 1 LZ4 frame, 2 zstd; needs codec */
  struct csf_codec *codec;   /* borrowed */
  bool lead;                 /* a few bytes before the first buffer of a batch: see csf_batch_write */
  uint64_t max_body_size;    /* more is LIMIT, found before memory is asked for; 0 = no limit */

  /* The plan of the message at hand. */
  struct csf_buffer nodes;   /* FieldNode structs */
  struct csf_buffer buffers; /* Buffer structs */
  struct csf_buffer variadic; /* i64 counts */
  struct csf_buffer pieces;  /* struct csf_body_piece: what fills the buffers */
  struct csf_buffer odd;     /* struct csf_body_odd: more about some pieces */
  struct csf_buffer scratch; /* tables that pieces refer to */
  struct csf_buffer raw, body; /* for compression */
  uint64_t body_size;
  struct csf_metadata_template templates[2]; /* batches, dictionaries */
};

enum { CSF_LEAD_MIN_ROWS = 256 };

/* Zeroes the writer: alignment 8, nothing else on. */
void csf_batch_writer_init(struct csf_batch_writer *writer, const struct colshuf_allocator *allocator);
void csf_batch_writer_clear(struct csf_batch_writer *writer);

/*
 * Appends one RecordBatch message of rows [start, start + length) of batch (a struct array of root; counted from its offset)
 * to *out: offsets re-based to 0, bits to bit 0, children and bytes cut to what is used (B.7). batch must be valid; offsets
 * that cannot be followed are refused all the same.
 *
 * With lead, bodies of CSF_LEAD_MIN_ROWS rows and more begin with 16 bytes that belong to no buffer. The metadata before them is a
 * table of 16-byte entries, and a codec that tries the last distances first (zstd) comes from it with 16: in the small numbers that often
 * follow, nearly as many bytes repeat at 16 as at 8, and so it stays there. The lead makes it look anew.
 * Errors: LIMIT, NO_MEMORY, INVALID_ARGUMENT. *out then holds what it held before.
 */
enum colshuf_status csf_batch_write(struct csf_batch_writer *writer, const struct csf_field *root, const struct ArrowArray *batch,
                                    int64_t start, int64_t length, struct csf_buffer *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/* Appends a DictionaryBatch message of rows [start, start + length) of values, an array of field->dictionary. */
enum colshuf_status csf_dictionary_write(struct csf_batch_writer *writer, const struct csf_field *values_field,
                                         const struct ArrowArray *values, int64_t start, int64_t length, int64_t id, bool is_delta,
                                         struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Appends the messages of all dictionaries of batch in wire order (inner before outer). */
enum colshuf_status csf_dictionaries_write(struct csf_batch_writer *writer, const struct csf_field *root,
                                           const struct ArrowArray *batch, struct csf_buffer *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
