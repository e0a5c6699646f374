/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a message: planned as a list of pieces, then written piece by piece. Used by batch_write.c alone. */
#ifndef CSF_IPC_BODY_PLAN_H
#define CSF_IPC_BODY_PLAN_H

#include "ipc/batch_write.h"

enum csf_body_piece_op {
  CSF_PIECE_COPY,       /* size bytes from source */
  CSF_PIECE_ONES,       /* size bytes of ones */
  CSF_PIECE_ZEROS,
  CSF_PIECE_BITS,       /* count bits from source at bit first; raw = keep what stands behind the last bit of the last byte */
  CSF_PIECE_OFFSETS32,  /* count offsets from source, less base */
  CSF_PIECE_OFFSETS64,
  CSF_PIECE_LENGTHS32,  /* count offsets from source, as planes of lengths */
  CSF_PIECE_LENGTHS64,
  CSF_PIECE_RUN_ENDS,   /* count run ends of width bytes from source, cut at limit, less base */
  CSF_PIECE_LIST_VIEW,  /* offsets of a list view: rows first .. first + count of array, less base; 0 for empty lists and nulls */
  CSF_PIECE_LIST_SIZES, /* its sizes; 0 for nulls */
  CSF_PIECE_UNION,      /* dense union offsets: rows as above, less the base of each child (i32 table at scratch + base) */
  CSF_PIECE_VIEWS,      /* views: rows as above, long ones to where CSF_PIECE_VIEW_DATA puts them; nulls zero */
  CSF_PIECE_VIEW_DATA   /* the bytes of long views, one after another */
};

struct csf_body_piece {
  uint64_t offset; /* in the body */
  uint64_t size;   /* > 0 */
  const uint8_t *source;
  int64_t first, count, base, limit;
  const struct ArrowArray *array;
  const struct csf_field *field;
  enum csf_body_piece_op op;
  int32_t width;
  bool raw;
  uint32_t buffer; /* its place among the message's buffers */
};

/* Forgets the last plan. */
void csf_plan_reset(struct csf_batch_writer *writer);

/* Adds nodes, buffers and pieces of rows [start, start + length) of array, counted from its offset. */
enum colshuf_status csf_plan_array(struct csf_batch_writer *writer, const struct csf_field *field, const struct ArrowArray *array,
                                   int64_t start, int64_t length, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The parts of csf_plan_array that are not plain buffers: views, list views, unions, run ends (plan_odd.c). row = offset + start. */
enum colshuf_status csf_plan_view(struct csf_batch_writer *writer, const struct csf_field *field, const struct ArrowArray *array,
                                  int64_t row, int64_t n, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_plan_list_view(struct csf_batch_writer *writer, const struct csf_field *field,
                                       const struct ArrowArray *array, int64_t row, int64_t n, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_plan_dense_union(struct csf_batch_writer *writer, const struct csf_field *field,
                                         const struct ArrowArray *array, int64_t row, int64_t n, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_plan_run_end(struct csf_batch_writer *writer, const struct csf_field *field, const struct ArrowArray *array,
                                     int64_t row, int64_t n, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Adds a buffer without bytes, or one filled by piece (offset is set here). */
enum colshuf_status csf_plan_empty(struct csf_batch_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_plan_piece(struct csf_batch_writer *writer, struct csf_body_piece *piece, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/* Whether row (counted from the start of the buffers) is null by a bitmap that may be NULL. */
static inline bool csf_row_is_null(const uint8_t *validity, int64_t row) {
  return validity != NULL && !csf_bit_get(validity, row);
}

/* Writes a piece's size bytes to target. */
void csf_body_piece_write(const struct csf_batch_writer *writer, const struct csf_body_piece *piece, uint8_t *target);

#endif
