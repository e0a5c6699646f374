/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/body_plan.h"

#include <inttypes.h>

void csf_plan_reset(struct csf_batch_writer *w) {
  w->nodes.size = 0;
  w->buffers.size = 0;
  w->variadic.size = 0;
  w->pieces.size = 0;
  w->scratch.size = 0;
  w->body_size = 0;
}

/* size more bytes at the end of a buffer; NULL when refused. Inline, since it runs for every node and buffer. */
static inline void *extend(struct csf_buffer *buffer, size_t size, struct colshuf_error *err) {
  if (CSF_UNLIKELY(buffer->capacity - buffer->size < size)) {
    if (csf_buffer_reserve(buffer, buffer->size + size, err) != COLSHUF_OK) return NULL;
  }
  void *place = buffer->data + buffer->size;
  buffer->size += size;
  return place;
}

static enum colshuf_status add_pair(struct csf_buffer *buffer, int64_t a, int64_t b, struct colshuf_error *err) {
  uint8_t *place = extend(buffer, 16, err);
  if (place == NULL) return COLSHUF_NO_MEMORY;
  csf_store_i64(place, a);
  csf_store_i64(place + 8, b);
  return COLSHUF_OK;
}

enum colshuf_status csf_plan_empty(struct csf_batch_writer *w, struct colshuf_error *err) {
  return add_pair(&w->buffers, (int64_t)w->body_size, 0, err);
}

enum colshuf_status csf_plan_piece(struct csf_batch_writer *w, struct csf_body_piece *piece, struct colshuf_error *err) {
  if (piece->size == 0) return csf_plan_empty(w, err);
  piece->offset = w->body_size;
  piece->buffer = (uint32_t)(w->buffers.size / 16);
  CSF_TRY(add_pair(&w->buffers, (int64_t)w->body_size, (int64_t)piece->size, err));
  struct csf_body_piece *place = extend(&w->pieces, sizeof *place, err);
  if (place == NULL) return COLSHUF_NO_MEMORY;
  *place = *piece;
  w->body_size += csf_round_up(piece->size, w->alignment);
  return COLSHUF_OK;
}

static enum colshuf_status plan_copy(struct csf_batch_writer *w, const void *source, int64_t size, struct colshuf_error *err) {
  struct csf_body_piece piece = {.op = CSF_PIECE_COPY, .source = source, .size = (uint64_t)size};
  return csf_plan_piece(w, &piece, err);
}

static enum colshuf_status plan_bits(struct csf_batch_writer *w, const void *bits, int64_t row, int64_t n,
                                     struct colshuf_error *err) {
  struct csf_body_piece piece = {.op = CSF_PIECE_BITS, .source = bits, .first = row, .count = n};
  piece.size = (uint64_t)csf_bit_bytes(n);
  piece.raw = w->always_validity;
  return csf_plan_piece(w, &piece, err);
}

/* The node, and the validity buffer of layouts that have one. */
static enum colshuf_status plan_validity(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                         struct colshuf_error *err) {
  const uint8_t *validity = array->null_count == 0 ? NULL : array->buffers[0];
  int64_t nulls = validity == NULL || n == 0 ? 0 : n - csf_bits_count(validity, row, n);
  CSF_TRY(add_pair(&w->nodes, n, nulls, err));
  if (nulls > 0) return plan_bits(w, validity, row, n, err);
  if (!w->always_validity) return csf_plan_empty(w, err);
  struct csf_body_piece ones = {.op = CSF_PIECE_ONES, .size = (uint64_t)csf_bit_bytes(n)};
  return csf_plan_piece(w, &ones, err);
}

static int64_t offset_at(const uint8_t *offsets, int width, int64_t i) {
  return width == 4 ? csf_load_i32(offsets + 4 * i) : csf_load_i64(offsets + 8 * i);
}

/* Offsets of rows [row, row + n), and what they span. */
static enum colshuf_status plan_offsets(struct csf_batch_writer *w, const struct ArrowArray *array, int width, int64_t row,
                                        int64_t n, int64_t *begin, int64_t *end, struct colshuf_error *err) {
  struct csf_body_piece piece = {.op = CSF_PIECE_ZEROS, .size = (uint64_t)width};
  *begin = *end = 0;
  if (n == 0) return csf_plan_piece(w, &piece, err);
  const uint8_t *offsets = array->buffers[1];
  if (offsets == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " rows without offsets", n);
  *begin = offset_at(offsets, width, row);
  *end = offset_at(offsets, width, row + n);
  if (*begin < 0 || *end < *begin) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "offsets of rows %" PRId64 " to %" PRId64 " run from %" PRId64 " to %" PRId64,
                    row, row + n, *begin, *end);
  }
  if (w->offsets_as_lengths) {
    piece.op = width == 4 ? CSF_PIECE_LENGTHS32 : CSF_PIECE_LENGTHS64;
  } else if (*begin == 0) {
    piece.op = CSF_PIECE_COPY;
  } else {
    piece.op = width == 4 ? CSF_PIECE_OFFSETS32 : CSF_PIECE_OFFSETS64;
  }
  piece.source = offsets + row * width;
  piece.count = n + 1;
  piece.base = *begin;
  piece.size = (uint64_t)(n + 1) * (uint64_t)width;
  return csf_plan_piece(w, &piece, err);
}

static enum colshuf_status plan_binary(struct csf_batch_writer *w, const struct ArrowArray *array, int width, int64_t row,
                                       int64_t n, struct colshuf_error *err) {
  int64_t begin, end;
  CSF_TRY(plan_validity(w, array, row, n, err));
  CSF_TRY(plan_offsets(w, array, width, row, n, &begin, &end, err));
  if (begin == end) return csf_plan_empty(w, err);
  return plan_copy(w, (const uint8_t *)array->buffers[2] + begin, end - begin, err);
}

static enum colshuf_status plan_list(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                     int width, int64_t row, int64_t n, struct colshuf_error *err) {
  int64_t begin, end;
  const struct ArrowArray *child = array->children[0];
  CSF_TRY(plan_validity(w, array, row, n, err));
  CSF_TRY(plan_offsets(w, array, width, row, n, &begin, &end, err));
  if (end > child->length) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "offsets end at %" PRId64 ", but the child has %" PRId64 " values", end,
                    child->length);
  }
  return csf_plan_array(w, &field->children[0], child, begin, end - begin, err);
}

static enum colshuf_status plan_fixed(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                      int64_t row, int64_t n, struct colshuf_error *err) {
  CSF_TRY(plan_validity(w, array, row, n, err));
  int64_t size = n * field->width;
  if (size == 0) return csf_plan_empty(w, err);
  return plan_copy(w, (const uint8_t *)array->buffers[1] + row * field->width, size, err);
}

/* Children whose rows are the parent's. */
static enum colshuf_status plan_children(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                         int64_t row, int64_t n, struct colshuf_error *err) {
  for (int32_t i = 0; i < field->n_children; i++) {
    CSF_TRY(csf_plan_array(w, &field->children[i], array->children[i], row, n, err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status plan_sparse_union(struct csf_batch_writer *w, const struct csf_field *field,
                                             const struct ArrowArray *array, int64_t row, int64_t n, struct colshuf_error *err) {
  CSF_TRY(add_pair(&w->nodes, n, 0, err));
  CSF_TRY(n == 0 ? csf_plan_empty(w, err) : plan_copy(w, (const uint8_t *)array->buffers[0] + row, n, err));
  return plan_children(w, field, array, row, n, err);
}

static enum colshuf_status plan_bool(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                     struct colshuf_error *err) {
  CSF_TRY(plan_validity(w, array, row, n, err));
  return plan_bits(w, array->buffers[1], row, n, err);
}

static enum colshuf_status plan_layout(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                       int64_t row, int64_t n, struct colshuf_error *err) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL: return add_pair(&w->nodes, n, n, err);
    case CSF_LAYOUT_BITS: return plan_bool(w, array, row, n, err);
    case CSF_LAYOUT_FIXED: return plan_fixed(w, field, array, row, n, err);
    case CSF_LAYOUT_BINARY32: return plan_binary(w, array, 4, row, n, err);
    case CSF_LAYOUT_BINARY64: return plan_binary(w, array, 8, row, n, err);
    case CSF_LAYOUT_LIST32: return plan_list(w, field, array, 4, row, n, err);
    case CSF_LAYOUT_LIST64: return plan_list(w, field, array, 8, row, n, err);
    case CSF_LAYOUT_SPARSE_UNION: return plan_sparse_union(w, field, array, row, n, err);
    case CSF_LAYOUT_DENSE_UNION:
      CSF_TRY(add_pair(&w->nodes, n, 0, err));
      return csf_plan_dense_union(w, field, array, row, n, err);
    case CSF_LAYOUT_RUN_END:
      CSF_TRY(add_pair(&w->nodes, n, 0, err));
      return csf_plan_run_end(w, field, array, row, n, err);
    default: break;
  }
  CSF_TRY(plan_validity(w, array, row, n, err));
  switch (field->layout) {
    case CSF_LAYOUT_VIEW: return csf_plan_view(w, field, array, row, n, err);
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64: return csf_plan_list_view(w, field, array, row, n, err);
    case CSF_LAYOUT_FIXED_LIST:
      return csf_plan_array(w, &field->children[0], array->children[0], row * field->width, n * field->width, err);
    default: return plan_children(w, field, array, row, n, err);
  }
}

enum colshuf_status csf_plan_array(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                   int64_t start, int64_t length, struct colshuf_error *err) {
  if (CSF_UNLIKELY(length > array->length - start)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "rows %" PRId64 " to %" PRId64 " of \"%s\", which has %" PRId64, start,
                    start + length, field->name, array->length);
  }
  return plan_layout(w, field, array, array->offset + start, length, err);
}
