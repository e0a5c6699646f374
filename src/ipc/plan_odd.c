/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of the layouts whose buffers refer to others in any order: views, list views, dense unions, run ends. */
#include <inttypes.h>

#include "ipc/body_plan.h"

/* A slice that uses less than this part of a view array's data gets its own copy of what it uses. */
enum { VIEW_GATHER_NUMERATOR = 3, VIEW_GATHER_DENOMINATOR = 4 };

static int64_t view_n_data(const struct ArrowArray *array) {
  return array->n_buffers > 3 ? array->n_buffers - 3 : 0;
}
static const int64_t *view_sizes(const struct ArrowArray *array) {
  return array->buffers[array->n_buffers - 1];
}

/* The bytes that long views of the rows refer to, checked against the data buffers. */
static enum colshuf_status used_view_bytes(const struct ArrowArray *array, int64_t row, int64_t n, int64_t *used,
                                           struct colshuf_error *err) {
  const uint8_t *validity = array->null_count == 0 ? NULL : array->buffers[0];
  const uint8_t *views = array->buffers[1];
  const int64_t *sizes = view_sizes(array);
  int64_t n_data = view_n_data(array);
  *used = 0;
  for (int64_t i = row; i < row + n; i++) {
    const uint8_t *view = views + 16 * i;
    int64_t length = csf_load_i32(view);
    if (length <= 12 || csf_row_is_null(validity, i)) continue;
    int64_t buffer = csf_load_i32(view + 8), at = csf_load_i32(view + 12);
    if (buffer < 0 || buffer >= n_data || at < 0 || length > csf_load_i64(sizes + buffer) - at) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT,
                      "view %" PRId64 ": %" PRId64 " bytes at %" PRId64 " of data buffer %" PRId64 " of %" PRId64, i, length, at,
                      buffer, n_data);
    }
    *used += length;
  }
  return COLSHUF_OK;
}

static enum colshuf_status plan_views_whole(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                            struct colshuf_error *err) {
  int64_t n_data = n == 0 ? 0 : view_n_data(array);
  const uint8_t *views = array->buffers[1];
  CSF_TRY(csf_plan_room(w, 1 + (size_t)n_data, err));
  csf_plan_put_copy(w, n == 0 ? NULL : views + 16 * row, 16 * (uint64_t)n);
  for (int64_t i = 0; i < n_data; i++) {
    int64_t size = csf_load_i64(view_sizes(array) + i);
    csf_plan_put_copy(w, array->buffers[2 + i], size < 0 ? 0 : (uint64_t)size);
  }
  return csf_buffer_append(&w->variadic, &n_data, sizeof n_data, err);
}

/* A buffer filled by a piece that needs more than a source. The caller has made room. */
static enum colshuf_status put_odd(struct csf_batch_writer *w, enum csf_body_op op, int width, uint64_t size,
                                   const struct csf_body_odd *odd, struct colshuf_error *err) {
  if (size == 0) {
    csf_plan_put_empty(w);
    return COLSHUF_OK;
  }
  struct csf_body_piece *piece = csf_plan_put(w, op, NULL, size);
  piece->width = (uint8_t)width;
  piece->odd = (uint32_t)(w->odd.size / sizeof *odd);
  return csf_buffer_append(&w->odd, odd, sizeof *odd, err);
}

static enum colshuf_status plan_views_gathered(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                               int64_t used, struct colshuf_error *err) {
  struct csf_body_odd odd = {.array = array, .row = row, .n = n};
  int64_t n_data = used > 0;
  CSF_TRY(put_odd(w, CSF_BODY_VIEWS, 16, 16 * (uint64_t)n, &odd, err));
  if (used > 0) CSF_TRY(put_odd(w, CSF_BODY_VIEW_DATA, 1, (uint64_t)used, &odd, err));
  return csf_buffer_append(&w->variadic, &n_data, sizeof n_data, err);
}

enum colshuf_status csf_plan_view(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                  struct colshuf_error *err) {
  int64_t n_data = view_n_data(array), total = 0, used;
  if (n == 0 || n_data == 0 || w->always_validity) return plan_views_whole(w, array, row, n, err);
  for (int64_t i = 0; i < n_data; i++) {
    if (csf_add_overflow(total, csf_load_i64(view_sizes(array) + i), &total)) total = INT64_MAX / VIEW_GATHER_NUMERATOR;
  }
  CSF_TRY(used_view_bytes(array, row, n, &used, err));
  bool worthwhile = used / VIEW_GATHER_NUMERATOR < total / VIEW_GATHER_DENOMINATOR;
  if (!worthwhile || used > INT32_MAX) return plan_views_whole(w, array, row, n, err);
  return plan_views_gathered(w, array, row, n, used, err);
}

static int64_t list_view_at(const uint8_t *values, int width, int64_t i) {
  return width == 4 ? csf_load_i32(values + 4 * i) : csf_load_i64(values + 8 * i);
}

/* The part [*begin, *end) of the child that lists of the rows lie in. */
static enum colshuf_status list_view_range(const struct ArrowArray *array, int width, int64_t row, int64_t n, int64_t *begin,
                                           int64_t *end, struct colshuf_error *err) {
  const uint8_t *validity = array->null_count == 0 ? NULL : array->buffers[0];
  int64_t low = INT64_MAX, high = 0, n_values = array->children[0]->length;
  for (int64_t i = row; i < row + n; i++) {
    int64_t size = list_view_at(array->buffers[2], width, i);
    if (size == 0 || csf_row_is_null(validity, i)) continue;
    int64_t at = list_view_at(array->buffers[1], width, i);
    if (at < 0 || size < 0 || size > n_values - at) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "list %" PRId64 ": %" PRId64 " values at %" PRId64 " of %" PRId64, i, size,
                      at, n_values);
    }
    if (at < low) low = at;
    if (at + size > high) high = at + size;
  }
  *begin = low < high ? low : 0;
  *end = high;
  return COLSHUF_OK;
}

enum colshuf_status csf_plan_list_view(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                       int64_t row, int64_t n, struct colshuf_error *err) {
  int width = field->layout == CSF_LAYOUT_LIST_VIEW32 ? 4 : 8;
  int64_t begin = 0, end = 0, n_values = array->children[0]->length;
  bool whole = w->always_validity || n == 0;
  if (!whole) {
    CSF_TRY(list_view_range(array, width, row, n, &begin, &end, err));
    whole = begin == 0 && end == n_values;
  } else if (n > 0) {
    end = n_values;
  }
  uint64_t size = (uint64_t)n * (uint64_t)width;
  if (whole) {
    const uint8_t *offsets = array->buffers[1], *sizes = array->buffers[2];
    csf_plan_put_copy(w, n == 0 ? NULL : offsets + row * width, size);
    csf_plan_put_copy(w, n == 0 ? NULL : sizes + row * width, size);
  } else {
    struct csf_body_odd odd = {.array = array, .row = row, .n = n, .base = begin};
    CSF_TRY(put_odd(w, CSF_BODY_LIST_VIEW, width, size, &odd, err));
    CSF_TRY(put_odd(w, CSF_BODY_LIST_SIZES, width, size, &odd, err));
  }
  return csf_plan_array(w, &field->children[0], array->children[0], begin, end - begin, err);
}

struct child_range {
  int32_t begin, end; /* begin > end: not used */
};

/* Which part of each child the rows use, by type id. */
static enum colshuf_status union_ranges(const struct csf_field *field, const struct ArrowArray *array, int64_t row, int64_t n,
                                        struct child_range ranges[128], struct colshuf_error *err) {
  const int8_t *ids = array->buffers[0];
  const uint8_t *offsets = array->buffers[1];
  for (int i = 0; i < 128; i++) ranges[i] = (struct child_range){INT32_MAX, -1};
  for (int32_t i = 0; i < field->n_children; i++) ranges[field->type_ids[i]].end = 0;
  for (int64_t i = row; i < row + n; i++) {
    int32_t at = csf_load_i32(offsets + 4 * i);
    if (ids[i] < 0 || ranges[ids[i]].end < 0 || at < 0 || at == INT32_MAX) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "union value %" PRId64 ": type id %d, offset %" PRId32, i, ids[i], at);
    }
    struct child_range *range = &ranges[ids[i]];
    if (at < range->begin) range->begin = at;
    if (at >= range->end) range->end = at + 1;
  }
  return COLSHUF_OK;
}

static enum colshuf_status plan_union_offsets(struct csf_batch_writer *w, const struct ArrowArray *array, int64_t row, int64_t n,
                                              const struct child_range ranges[128], struct colshuf_error *err) {
  struct csf_body_odd odd = {.array = array, .row = row, .n = n, .base = (int64_t)w->scratch.size};
  for (int i = 0; i < 128; i++) {
    int32_t base = ranges[i].begin < ranges[i].end ? ranges[i].begin : 0;
    CSF_TRY(csf_buffer_append(&w->scratch, &base, sizeof base, err));
  }
  return put_odd(w, CSF_BODY_UNION, 4, 4 * (uint64_t)n, &odd, err);
}

enum colshuf_status csf_plan_dense_union(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                         int64_t row, int64_t n, struct colshuf_error *err) {
  struct child_range ranges[128];
  CSF_TRY(union_ranges(field, array, row, n, ranges, err));
  const uint8_t *ids = array->buffers[0];
  csf_plan_put_copy(w, n == 0 ? NULL : ids + row, (uint64_t)n);
  CSF_TRY(plan_union_offsets(w, array, row, n, ranges, err));
  for (int32_t i = 0; i < field->n_children; i++) {
    struct child_range range = ranges[field->type_ids[i]];
    int64_t begin = range.begin < range.end ? range.begin : 0, end = range.begin < range.end ? range.end : 0;
    CSF_TRY(csf_plan_array(w, &field->children[i], array->children[i], begin, end - begin, err));
  }
  return COLSHUF_OK;
}

static int64_t run_end_at(const struct ArrowArray *run_ends, int width, int64_t i) {
  const uint8_t *place = (const uint8_t *)run_ends->buffers[1] + (run_ends->offset + i) * width;
  return width == 2 ? csf_load_i16(place) : width == 4 ? csf_load_i32(place) : csf_load_i64(place);
}

/* The first run that ends behind row. */
static int64_t find_run(const struct ArrowArray *run_ends, int width, int64_t row) {
  int64_t low = 0, high = run_ends->length;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (run_end_at(run_ends, width, middle) > row) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

enum colshuf_status csf_plan_run_end(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                     int64_t row, int64_t n, struct colshuf_error *err) {
  const struct ArrowArray *run_ends = array->children[0];
  int width = field->children[0].width;
  int64_t first = 0, n_runs = 0;
  if (n > 0) {
    first = find_run(run_ends, width, row);
    n_runs = find_run(run_ends, width, row + n - 1) - first + 1;
    if (first + n_runs > run_ends->length) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " runs end before row %" PRId64, run_ends->length, row + n);
    }
  }
  CSF_TRY(csf_plan_array(w, &field->children[0], run_ends, first, n_runs, err));
  if (n_runs > 0) {
    /* The plan just made copies the run ends as they are: its last piece is theirs. */
    struct csf_body_odd odd = {.array = run_ends, .n = n_runs, .base = row, .limit = row + n};
    struct csf_body_piece *piece = (struct csf_body_piece *)(void *)(w->pieces.data + w->pieces.size) - 1;
    piece->op = CSF_BODY_RUN_ENDS;
    piece->width = (uint8_t)width;
    piece->odd = (uint32_t)(w->odd.size / sizeof odd);
    CSF_TRY(csf_buffer_append(&w->odd, &odd, sizeof odd, err));
  }
  return csf_plan_array(w, &field->children[1], array->children[1], first, n_runs, err);
}
