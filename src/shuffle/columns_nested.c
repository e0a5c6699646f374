/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that have children. A parent turns its rows into rows of each child, and the child is appended as a whole: work goes
 * column by column at every level. Rows that follow one another are passed on as a range.
 */
#include "arrow/array.h"
#include "shuffle/columns.h"

/* Scratch for n rows of a child. */
static enum colshuf_status need_rows(struct csf_column *column, int64_t n, uint32_t **rows, struct colshuf_error *err) {
  if ((uint64_t)n > UINT32_MAX) return csf_column_fail_limit(column, err);
  CSF_TRY(csf_buffer_reserve(&column->rows, (size_t)n * sizeof **rows, err));
  *rows = (uint32_t *)(void *)column->rows.data;
  return COLSHUF_OK;
}

/* The same rows as a range where they follow one another. */
static struct csf_rows as_range(int64_t base, const uint32_t *rows, int64_t n) {
  if (n == 0) return (struct csf_rows){base, NULL, 0};
  for (int64_t i = 1; i < n; i++) {
    if (rows[i] != rows[i - 1] + 1) return (struct csf_rows){base, rows, n};
  }
  return (struct csf_rows){base + rows[0], NULL, n};
}

enum colshuf_status csf_column_add_struct(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                          struct colshuf_error *err) {
  for (int32_t i = 0; i < column->n_children; i++) {
    const struct ArrowArray *child = array->children[i];
    struct csf_rows child_rows = {rows.base + child->offset, rows.rows, rows.n};
    CSF_TRY(csf_column_add(&column->children[i], child, child_rows, err));
  }
  return COLSHUF_OK;
}

/* Room for n offsets of lists behind the first, which is 0. */
static enum colshuf_status need_offsets(struct csf_column *column, int64_t n, bool wide, uint8_t **to,
                                        struct colshuf_error *err) {
  size_t width = wide ? 8 : 4;
  CSF_TRY(csf_column_need(column, &column->main, ((size_t)n + 1) * width, err));
  if (column->main.size == 0) {
    memset(column->main.data, 0, width);
    column->main.size = width;
  }
  *to = column->main.data + column->main.size;
  column->main.size += (size_t)n * width;
  return COLSHUF_OK;
}

/* Offsets in `to`; *n_values = how many values the lists of rows hold together. */
static enum colshuf_status add_list_offsets(struct csf_column *column, const uint8_t *offsets, struct csf_rows rows, bool wide,
                                            int64_t *n_values, struct colshuf_error *err) {
  uint8_t *to;
  CSF_TRY(need_offsets(column, rows.n, wide, &to, err));
  int64_t start = column->children[0].length, end = start;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = csf_rows_at(rows, i);
    int64_t size = csf_offset_at(offsets, row + 1, wide) - csf_offset_at(offsets, row, wide);
    if (csf_add_overflow(end, size, &end) || (!wide && end > INT32_MAX)) return csf_column_fail_limit(column, err);
    csf_offset_set(to, i, wide, end);
  }
  *n_values = end - start;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_add_list(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) {
  bool wide = column->field->layout == CSF_LAYOUT_LIST64;
  const uint8_t *offsets = array->buffers[1];
  const struct ArrowArray *values = array->children[0];
  int64_t n = 0;
  CSF_TRY(add_list_offsets(column, offsets, rows, wide, &n, err));
  int64_t first = csf_offset_at(offsets, rows.base, wide);
  if (rows.rows == NULL) {
    struct csf_rows range = {values->offset + first, NULL, n};
    return csf_column_add(&column->children[0], values, range, err);
  }
  uint32_t *list = NULL;
  CSF_TRY(need_rows(column, n, &list, err));
  int64_t at = 0;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = rows.base + rows.rows[i];
    int64_t end = csf_offset_at(offsets, row + 1, wide) - first;
    if (end > UINT32_MAX) return csf_column_fail_limit(column, err);
    for (int64_t value = csf_offset_at(offsets, row, wide) - first; value < end; value++) list[at++] = (uint32_t)value;
  }
  return csf_column_add(&column->children[0], values, as_range(values->offset + first, list, n), err);
}

/* A list view as it was found: behind a null its offset and size may be anything. */
struct list_views {
  const uint8_t *offsets, *sizes, *validity;
  bool wide;
};

static int64_t view_size(const struct list_views *views, int64_t row) {
  if (views->validity != NULL && !csf_bit_get(views->validity, row)) return 0;
  return csf_offset_at(views->sizes, row, views->wide);
}

/* The lowest offset of a list that has values, and the number of all values; the sizes of hostile lists may add up to anything. */
static bool sum_list_views(const struct list_views *views, struct csf_rows rows, int64_t *lowest, int64_t *n_values) {
  *lowest = INT64_MAX;
  *n_values = 0;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = csf_rows_at(rows, i);
    int64_t size = view_size(views, row);
    if (size == 0) continue;
    int64_t offset = csf_offset_at(views->offsets, row, views->wide);
    if (offset < *lowest) *lowest = offset;
    if (csf_add_overflow(*n_values, size, n_values)) return false;
  }
  if (*n_values == 0) *lowest = 0;
  return true;
}

static enum colshuf_status add_list_views(struct csf_column *column, const struct list_views *views, struct csf_rows rows,
                                          int64_t lowest, uint32_t *list, struct colshuf_error *err) {
  size_t width = views->wide ? 8 : 4;
  CSF_TRY(csf_column_need(column, &column->main, (size_t)rows.n * width, err));
  CSF_TRY(csf_column_need(column, &column->extra, (size_t)rows.n * width, err));
  uint8_t *offsets = column->main.data + column->main.size;
  uint8_t *sizes = column->extra.data + column->extra.size;
  int64_t end = column->children[0].length;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = csf_rows_at(rows, i);
    int64_t size = view_size(views, row);
    int64_t from = size == 0 ? 0 : csf_offset_at(views->offsets, row, views->wide) - lowest;
    if (from + size > UINT32_MAX) return csf_column_fail_limit(column, err);
    csf_offset_set(offsets, i, views->wide, end);
    csf_offset_set(sizes, i, views->wide, size);
    end += size;
    for (int64_t j = 0; j < size; j++) *list++ = (uint32_t)(from + j);
  }
  column->main.size += (size_t)rows.n * width;
  column->extra.size += (size_t)rows.n * width;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_add_list_view(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                             struct colshuf_error *err) {
  struct list_views views = {array->buffers[1], array->buffers[2], csf_array_validity(column->field, array),
                             column->field->layout == CSF_LAYOUT_LIST_VIEW64};
  const struct ArrowArray *values = array->children[0];
  int64_t lowest, n;
  uint32_t *list = NULL;
  if (!sum_list_views(&views, rows, &lowest, &n)) return csf_column_fail_limit(column, err);
  if (!views.wide && n > INT32_MAX - column->children[0].length) return csf_column_fail_limit(column, err);
  CSF_TRY(need_rows(column, n, &list, err));
  CSF_TRY(add_list_views(column, &views, rows, lowest, list, err));
  return csf_column_add(&column->children[0], values, as_range(values->offset + lowest, list, n), err);
}

enum colshuf_status csf_column_add_fixed_list(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                              struct colshuf_error *err) {
  int64_t width = column->field->width;
  const struct ArrowArray *values = array->children[0];
  struct csf_rows list = {0};
  if (csf_multiply_overflow(rows.base, width, &list.base) || csf_multiply_overflow(rows.n, width, &list.n)) {
    return csf_column_fail_limit(column, err);
  }
  list.base += values->offset;
  if (rows.rows == NULL || width == 0) return csf_column_add(&column->children[0], values, list, err);
  uint32_t *to = NULL;
  CSF_TRY(need_rows(column, list.n, &to, err));
  list.rows = to;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t first = rows.rows[i] * width;
    if (first + width > UINT32_MAX) return csf_column_fail_limit(column, err);
    for (int64_t j = 0; j < width; j++) *to++ = (uint32_t)(first + j);
  }
  return csf_column_add(&column->children[0], values, list, err);
}

static enum colshuf_status add_type_ids(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) {
  CSF_TRY(csf_column_need(column, &column->main, (size_t)rows.n, err));
  const uint8_t *ids = array->buffers[0];
  uint8_t *to = column->main.data + column->main.size;
  if (rows.rows == NULL) memcpy(to, ids + rows.base, (size_t)rows.n);
  else for (int64_t i = 0; i < rows.n; i++) to[i] = ids[rows.base + rows.rows[i]];
  column->main.size += (size_t)rows.n;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_add_sparse_union(struct csf_column *column, const struct ArrowArray *array,
                                                struct csf_rows rows, struct colshuf_error *err) {
  CSF_TRY(add_type_ids(column, array, rows, err));
  return csf_column_add_struct(column, array, rows, err);
}

/* Which child a type id means: unions have at most 127 of them. */
enum { MAX_TYPE_IDS = 128 };

static void child_by_type_id(const struct csf_field *field, int32_t child_of[MAX_TYPE_IDS]) {
  memset(child_of, 0, MAX_TYPE_IDS * sizeof *child_of);
  for (int32_t i = 0; i < field->n_children; i++) {
    if (field->type_ids[i] >= 0) child_of[field->type_ids[i]] = i;
  }
}

/*
 * The values of a dense union: rows go to the list of their child, the lists stand one behind another in `list`, starts[child]
 * says where; and the new offsets, counted for each child on from what it holds.
 */
static enum colshuf_status add_union_offsets(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                             const int32_t *child_of, int64_t *starts, uint32_t *list,
                                             struct colshuf_error *err) {
  const uint8_t *ids = array->buffers[0], *offsets = array->buffers[1];
  int64_t filled[MAX_TYPE_IDS] = {0};
  CSF_TRY(csf_column_need(column, &column->extra, (size_t)rows.n * 4, err));
  uint8_t *to = column->extra.data + column->extra.size;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = csf_rows_at(rows, i);
    int32_t child = child_of[ids[row] & (MAX_TYPE_IDS - 1)];
    int64_t place = column->children[child].length + filled[child];
    if (place > INT32_MAX) return csf_column_fail_limit(column, err);
    csf_store_i32(to + 4 * i, (int32_t)place);
    list[starts[child] + filled[child]++] = csf_load_u32(offsets + 4 * row);
  }
  column->extra.size += (size_t)rows.n * 4;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_add_dense_union(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                               struct colshuf_error *err) {
  int32_t child_of[MAX_TYPE_IDS];
  int64_t starts[MAX_TYPE_IDS + 1] = {0};
  const uint8_t *ids = array->buffers[0];
  uint32_t *list = NULL;
  child_by_type_id(column->field, child_of);
  for (int64_t i = 0; i < rows.n; i++) starts[child_of[ids[csf_rows_at(rows, i)] & (MAX_TYPE_IDS - 1)] + 1]++;
  for (int32_t i = 0; i < column->n_children; i++) starts[i + 1] += starts[i];
  CSF_TRY(need_rows(column, rows.n, &list, err));
  CSF_TRY(add_type_ids(column, array, rows, err));
  CSF_TRY(add_union_offsets(column, array, rows, child_of, starts, list, err));
  for (int32_t i = 0; i < column->n_children; i++) {
    const struct ArrowArray *child = array->children[i];
    struct csf_rows child_rows = as_range(child->offset, list + starts[i], starts[i + 1] - starts[i]);
    CSF_TRY(csf_column_add(&column->children[i], child, child_rows, err));
  }
  return COLSHUF_OK;
}
