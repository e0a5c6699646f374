/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a message: planned as a list of pieces, then written piece by piece. Used by batch_write.c alone. */
#ifndef CSF_IPC_BODY_PLAN_H
#define CSF_IPC_BODY_PLAN_H

#include "ipc/batch_write.h"

enum csf_body_op {
  CSF_BODY_COPY,      /* size bytes from source */
  CSF_BODY_ONES,      /* size bytes of ones */
  CSF_BODY_ZEROS,
  CSF_BODY_BITS,      /* bits from source at bit `first`; behind the last one, `tail` bits into the last byte, zeros (tail 0: as they are) */
  CSF_BODY_OFFSETS32, /* offsets from source, less the first of them */
  CSF_BODY_OFFSETS64,
  CSF_BODY_LENGTHS32, /* offsets from source, as planes of lengths */
  CSF_BODY_LENGTHS64,
  /* Those with a struct csf_body_odd: */
  CSF_BODY_RUN_ENDS,   /* run ends of width bytes from source, cut at limit, less base */
  CSF_BODY_LIST_VIEW,  /* offsets of a list view, less base; 0 for empty lists and nulls */
  CSF_BODY_LIST_SIZES, /* its sizes; 0 for nulls */
  CSF_BODY_UNION,      /* dense union offsets, less the base of each child (i32 table at scratch + base) */
  CSF_BODY_VIEWS,      /* views, long ones to where CSF_BODY_VIEW_DATA puts them; nulls zero */
  CSF_BODY_VIEW_DATA   /* the bytes of long views, one after another */
};

/* What fills one buffer that is not empty. Pieces stand in the order of the buffers. */
struct csf_body_piece {
  const uint8_t *source;
  uint64_t size; /* > 0 */
  uint8_t op;    /* enum csf_body_op */
  uint8_t width;
  uint8_t first, tail;
  uint32_t odd; /* index of its csf_body_odd */
};

/* The rows of array that a piece is made of, counted from the start of its buffers. */
struct csf_body_odd {
  const struct ArrowArray *array;
  int64_t row, n, base, limit;
};

/* Forgets the last plan. */
void csf_plan_reset(struct csf_batch_writer *writer);

/* Adds nodes, buffers and pieces of rows [start, start + length) of array, counted from its offset. */
enum colshuf_status csf_plan_array(struct csf_batch_writer *writer, const struct csf_field *field, const struct ArrowArray *array,
                                   int64_t start, int64_t length, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The parts of csf_plan_array that are not plain buffers: views, list views, unions, run ends (plan_odd.c). row = offset + start. */
enum colshuf_status csf_plan_view(struct csf_batch_writer *writer, const struct ArrowArray *array, int64_t row, int64_t n,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_plan_list_view(struct csf_batch_writer *writer, const struct csf_field *field,
                                       const struct ArrowArray *array, int64_t row, int64_t n, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_plan_dense_union(struct csf_batch_writer *writer, const struct csf_field *field,
                                         const struct ArrowArray *array, int64_t row, int64_t n, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_plan_run_end(struct csf_batch_writer *writer, const struct csf_field *field, const struct ArrowArray *array,
                                     int64_t row, int64_t n, struct colshuf_error *err) COLSHUF_MUST_USE;

enum { CSF_PLAN_ROOM = 4 }; /* buffers that csf_plan_array has made room for */

enum colshuf_status csf_plan_grow(struct csf_batch_writer *writer, size_t n, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Makes room for one node and n buffers with their pieces; the csf_plan_put functions rely on it. */
static inline enum colshuf_status csf_plan_room(struct csf_batch_writer *writer, size_t n, struct colshuf_error *err) {
  const struct csf_buffer *nodes = &writer->nodes, *buffers = &writer->buffers, *pieces = &writer->pieces;
  if (CSF_LIKELY(nodes->capacity - nodes->size >= 16 && buffers->capacity - buffers->size >= 16 * n &&
                 pieces->capacity - pieces->size >= n * sizeof(struct csf_body_piece))) {
    return COLSHUF_OK;
  }
  return csf_plan_grow(writer, n, err);
}

static inline void csf_plan_put_node(struct csf_batch_writer *writer, int64_t length, int64_t nulls) {
  uint8_t *place = writer->nodes.data + writer->nodes.size;
  csf_store_i64(place, length);
  csf_store_i64(place + 8, nulls);
  writer->nodes.size += 16;
}

/* A buffer without bytes. */
static inline void csf_plan_put_empty(struct csf_batch_writer *writer) {
  uint8_t *place = writer->buffers.data + writer->buffers.size;
  csf_store_u64(place, writer->body_size);
  csf_store_u64(place + 8, 0);
  writer->buffers.size += 16;
}

/* A buffer of size > 0 bytes; the piece that fills it is returned with op, source and size set, for more to be said about it. */
static inline struct csf_body_piece *csf_plan_put(struct csf_batch_writer *writer, enum csf_body_op op, const void *source,
                                                  uint64_t size) {
  uint8_t *place = writer->buffers.data + writer->buffers.size;
  csf_store_u64(place, writer->body_size);
  csf_store_u64(place + 8, size);
  writer->buffers.size += 16;
  writer->body_size += csf_round_up(size, writer->alignment);
  struct csf_body_piece *piece = (struct csf_body_piece *)(void *)(writer->pieces.data + writer->pieces.size);
  writer->pieces.size += sizeof *piece;
  piece->source = source;
  piece->size = size;
  piece->op = (uint8_t)op;
  return piece;
}

/* size bytes as they are; size may be 0. */
static inline void csf_plan_put_copy(struct csf_batch_writer *writer, const void *source, uint64_t size) {
  if (size == 0) {
    csf_plan_put_empty(writer);
  } else {
    csf_plan_put(writer, CSF_BODY_COPY, source, size);
  }
}

/* Whether row (counted from the start of the buffers) is null by a bitmap that may be NULL. */
static inline bool csf_row_is_null(const uint8_t *validity, int64_t row) {
  return validity != NULL && !csf_bit_get(validity, row);
}

/* Writes a piece's size bytes to target. */
void csf_body_write(const struct csf_batch_writer *writer, const struct csf_body_piece *piece, uint8_t *target);

#endif
