/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/body_plan.h"

#include <inttypes.h>

void csf_plan_reset(struct csf_batch_writer *w) {
  w->nodes.size = 0;
  w->buffers.size = 0;
  w->variadic.size = 0;
  w->pieces.size = 0;
  w->odd.size = 0;
  w->scratch.size = 0;
  w->body_size = 0;
}

enum colshuf_status csf_plan_grow(struct csf_batch_writer *w, size_t n, struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&w->nodes, w->nodes.size + 16, err));
  CSF_TRY(csf_buffer_reserve(&w->buffers, w->buffers.size + 16 * n, err));
  return csf_buffer_reserve(&w->pieces, w->pieces.size + n * sizeof(struct csf_body_piece), err);
}

static void put_bits(struct csf_batch_writer *w, const uint8_t *bits, int64_t row, int64_t n) {
  if (n == 0) {
    csf_plan_put_empty(w);
    return;
  }
  struct csf_body_piece *piece = csf_plan_put(w, CSF_BODY_BITS, bits + row / 8, (uint64_t)csf_bit_bytes(n));
  piece->first = (uint8_t)(row % 8);
  /* arrow-rs copies whole bytes where it need not shift. */
  piece->tail = (uint8_t)(w->always_validity && piece->first == 0 ? 0 : n % 8);
}

/* The node, and the validity buffer of layouts that have one. */
static void put_validity(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n) {
  const uint8_t *validity = array->null_count == 0 ? NULL : array->buffers[0];
  int64_t nulls = validity == NULL || n == 0 ? 0 : n - csf_bits_count(validity, row, n);
  csf_plan_put_node(w, n, nulls);
  if (nulls > 0) {
    put_bits(w, validity, row, n);
  } else if (w->always_validity && n > 0) {
    csf_plan_put(w, CSF_BODY_ONES, NULL, (uint64_t)csf_bit_bytes(n));
  } else {
    csf_plan_put_empty(w);
  }
}

static inline int64_t offset_at(const uint8_t *offsets, int width, int64_t i) {
  return width == 4 ? csf_load_i32(offsets + 4 * i) : csf_load_i64(offsets + 8 * i);
}

static enum colshuf_status fail_offsets(const uint8_t *offsets, int64_t row, int64_t n, int64_t begin, int64_t end,
                                        struct colshuf_error *err) {
  if (offsets == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " rows without offsets", n);
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "offsets of rows %" PRId64 " to %" PRId64 " run from %" PRId64 " to %" PRId64, row,
                  row + n, begin, end);
}

/* Offsets of rows [row, row + n), and what they span. */
static inline enum colshuf_status plan_offsets(struct csf_batch_writer *w, const struct ArrowArray *array, int width, int64_t row,
                                               int64_t n, int64_t *begin, int64_t *end, struct colshuf_error *err) {
  *begin = *end = 0;
  if (n == 0) {
    csf_plan_put(w, CSF_BODY_ZEROS, NULL, (uint64_t)width);
    return COLSHUF_OK;
  }
  const uint8_t *offsets = array->buffers[1];
  if (CSF_UNLIKELY(offsets == NULL)) return fail_offsets(offsets, row, n, 0, 0, err);
  *begin = offset_at(offsets, width, row);
  *end = offset_at(offsets, width, row + n);
  if (CSF_UNLIKELY(*begin < 0 || *end < *begin)) return fail_offsets(offsets, row, n, *begin, *end, err);
  enum csf_body_op op = CSF_BODY_COPY;
  if (w->offsets_as_lengths) {
    op = width == 4 ? CSF_BODY_LENGTHS32 : CSF_BODY_LENGTHS64;
  } else if (*begin != 0) {
    op = width == 4 ? CSF_BODY_OFFSETS32 : CSF_BODY_OFFSETS64;
  }
  csf_plan_put(w, op, offsets + row * width, (uint64_t)(n + 1) * (uint64_t)width);
  return COLSHUF_OK;
}

static inline enum colshuf_status plan_binary(struct csf_batch_writer *w, const struct ArrowArray *array, int width, int64_t row,
                                              int64_t n, struct colshuf_error *err) {
  int64_t begin, end;
  put_validity(w, array, row, n);
  CSF_TRY(plan_offsets(w, array, width, row, n, &begin, &end, err));
  const uint8_t *data = array->buffers[2];
  csf_plan_put_copy(w, begin == end ? NULL : data + begin, (uint64_t)(end - begin));
  return COLSHUF_OK;
}

static enum colshuf_status plan_list(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                     int width, int64_t row, int64_t n, struct colshuf_error *err) {
  int64_t begin, end;
  const struct ArrowArray *child = array->children[0];
  put_validity(w, array, row, n);
  CSF_TRY(plan_offsets(w, array, width, row, n, &begin, &end, err));
  if (end > child->length) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "offsets end at %" PRId64 ", but the child has %" PRId64 " values", end,
                    child->length);
  }
  return csf_plan_array(w, &field->children[0], child, begin, end - begin, err);
}

static inline void plan_fixed(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array, int64_t row,
                              int64_t n) {
  put_validity(w, array, row, n);
  uint64_t size = (uint64_t)n * (uint64_t)field->width;
  const uint8_t *values = array->buffers[1];
  csf_plan_put_copy(w, size == 0 ? NULL : values + row * field->width, size);
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
  const uint8_t *ids = array->buffers[0];
  csf_plan_put_node(w, n, 0);
  csf_plan_put_copy(w, n == 0 ? NULL : ids + row, (uint64_t)n);
  return plan_children(w, field, array, row, n, err);
}

/* The layouts of nested types and views. */
static enum colshuf_status plan_nested(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                       int64_t row, int64_t n, struct colshuf_error *err) {
  switch (field->layout) {
    case CSF_LAYOUT_LIST32: return plan_list(w, field, array, 4, row, n, err);
    case CSF_LAYOUT_LIST64: return plan_list(w, field, array, 8, row, n, err);
    case CSF_LAYOUT_SPARSE_UNION: return plan_sparse_union(w, field, array, row, n, err);
    case CSF_LAYOUT_DENSE_UNION: csf_plan_put_node(w, n, 0); return csf_plan_dense_union(w, field, array, row, n, err);
    case CSF_LAYOUT_RUN_END: csf_plan_put_node(w, n, 0); return csf_plan_run_end(w, field, array, row, n, err);
    default: break;
  }
  put_validity(w, array, row, n);
  switch (field->layout) {
    case CSF_LAYOUT_VIEW: return csf_plan_view(w, array, row, n, err);
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
  CSF_TRY(csf_plan_room(w, CSF_PLAN_ROOM, err));
  int64_t row = array->offset + start;
  switch (field->layout) {
    case CSF_LAYOUT_NULL: csf_plan_put_node(w, length, length); return COLSHUF_OK;
    case CSF_LAYOUT_FIXED: plan_fixed(w, field, array, row, length); return COLSHUF_OK;
    case CSF_LAYOUT_BITS:
      put_validity(w, array, row, length);
      put_bits(w, array->buffers[1], row, length);
      return COLSHUF_OK;
    case CSF_LAYOUT_BINARY32: return plan_binary(w, array, 4, row, length, err);
    case CSF_LAYOUT_BINARY64: return plan_binary(w, array, 8, row, length, err);
    default: return plan_nested(w, field, array, row, length, err);
  }
}
