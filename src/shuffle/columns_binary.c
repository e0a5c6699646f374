/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of strings: with 32-bit or 64-bit offsets, and views. */
#include "arrow/array.h"
#include "shuffle/columns.h"

/* The ends of the strings of rows, each behind the one before; returns the last. */
static inline __attribute__((always_inline)) int64_t gather_ends(uint8_t *to, const uint8_t *from, struct csf_rows rows,
                                                                 int64_t end, bool wide) {
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = rows.base + rows.rows[i];
    end += csf_offset_at(from, row + 1, wide) - csf_offset_at(from, row, wide);
    csf_offset_set(to, i, wide, end);
  }
  return end;
}

/*
 * Copies the strings of rows one behind another. Most strings are short, and a copy of a fixed number of bytes has no
 * branch on the length: step bytes are copied whatever the length is, as far as source and target have them; the next
 * string then overwrites what was too much. source_end: no byte at or behind it is touched.
 */
static inline __attribute__((always_inline)) void copy_strings(uint8_t *to, const uint8_t *from, int64_t source_end,
                                                               const uint8_t *offsets, struct csf_rows rows, bool wide,
                                                               int64_t step) {
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = rows.base + rows.rows[i];
    int64_t start = csf_offset_at(offsets, row, wide);
    int64_t size = csf_offset_at(offsets, row + 1, wide) - start;
    if (CSF_LIKELY(size <= step && start + step <= source_end)) memcpy(to, from + start, (size_t)step);
    else memcpy(to, from + start, (size_t)size);
    to += size;
  }
}

static inline __attribute__((always_inline)) void copy_by_average(uint8_t *to, const uint8_t *from, int64_t source_end,
                                                                  const uint8_t *offsets, struct csf_rows rows, bool wide,
                                                                  int64_t average) {
  if (average <= 6) copy_strings(to, from, source_end, offsets, rows, wide, 8);
  else if (average <= 12) copy_strings(to, from, source_end, offsets, rows, wide, 16);
  else if (average <= 20) copy_strings(to, from, source_end, offsets, rows, wide, 32);
  else copy_strings(to, from, source_end, offsets, rows, wide, CSF_COLUMN_SLACK);
}

/* Room for n more offsets, and the 0 that is the first of all. Returns where the first new one goes in *to. */
static enum colshuf_status need_offsets(struct csf_column *column, int64_t n, size_t width, uint8_t **to,
                                        struct colshuf_error *err) {
  struct csf_column_bytes *offsets = &column->main;
  if ((uint64_t)n > SIZE_MAX / 32) return csf_column_fail_limit(column, err);
  CSF_TRY(csf_column_need(column, offsets, ((size_t)n + 1) * width, err));
  if (offsets->size == 0) {
    memset(offsets->data, 0, width);
    offsets->size = width;
  }
  *to = offsets->data + offsets->size;
  return COLSHUF_OK;
}

static enum colshuf_status check_end(const struct csf_column *column, int64_t end, bool wide, struct colshuf_error *err) {
  return !wide && end > INT32_MAX ? csf_column_fail_limit(column, err) : COLSHUF_OK;
}

static inline __attribute__((always_inline)) enum colshuf_status add_range(struct csf_column *column,
                                                                           const struct ArrowArray *array, uint8_t *to,
                                                                           struct csf_rows rows, bool wide,
                                                                           struct colshuf_error *err) {
  const uint8_t *offsets = array->buffers[1];
  int64_t start = csf_offset_at(offsets, rows.base, wide);
  int64_t size = csf_offset_at(offsets, rows.base + rows.n, wide) - start;
  int64_t end = (int64_t)column->extra.size;
  CSF_TRY(check_end(column, end + size, wide, err));
  CSF_TRY(csf_column_need(column, &column->extra, (size_t)size, err));
  csf_offsets_shift(to, offsets + (rows.base + 1) * (wide ? 8 : 4), rows.n, end - start, wide);
  if (size > 0) memcpy(column->extra.data + end, (const uint8_t *)array->buffers[2] + start, (size_t)size);
  column->extra.size += (size_t)size;
  return COLSHUF_OK;
}

static inline __attribute__((always_inline)) enum colshuf_status add_rows(struct csf_column *column,
                                                                          const struct ArrowArray *array, uint8_t *to,
                                                                          struct csf_rows rows, bool wide,
                                                                          struct colshuf_error *err) {
  const uint8_t *offsets = array->buffers[1];
  int64_t start = (int64_t)column->extra.size;
  int64_t end = gather_ends(to, offsets, rows, start, wide);
  CSF_TRY(check_end(column, end, wide, err));
  CSF_TRY(csf_column_need(column, &column->extra, (size_t)(end - start), err));
  if (end > start) {
    int64_t source_end = csf_offset_at(offsets, array->offset + array->length, wide);
    copy_by_average(column->extra.data + start, array->buffers[2], source_end, offsets, rows, wide, (end - start) / rows.n);
  }
  column->extra.size = (size_t)end;
  return COLSHUF_OK;
}

static inline __attribute__((always_inline)) enum colshuf_status add_binary(struct csf_column *column,
                                                                            const struct ArrowArray *array,
                                                                            struct csf_rows rows, bool wide,
                                                                            struct colshuf_error *err) {
  uint8_t *to;
  size_t width = wide ? 8 : 4;
  CSF_TRY(need_offsets(column, rows.n, width, &to, err));
  if (rows.rows == NULL) CSF_TRY(add_range(column, array, to, rows, wide, err));
  else CSF_TRY(add_rows(column, array, to, rows, wide, err));
  column->main.size += (size_t)rows.n * width;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_add_binary(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                          struct colshuf_error *err) {
  if (column->field->layout == CSF_LAYOUT_BINARY64) return add_binary(column, array, rows, true, err);
  return add_binary(column, array, rows, false, err);
}

/* A view is 16 bytes: i32 size; up to 12 bytes of text, or 4 bytes of it, i32 data buffer, i32 offset in there. */
enum { VIEW_SIZE = 16, VIEW_INLINE = 12 };

static bool is_null(const uint8_t *validity, int64_t row) {
  return validity != NULL && !csf_bit_get(validity, row);
}

/* Bytes of the rows that do not fit into their views. What stands behind a null is not looked at. */
static int64_t long_bytes(const uint8_t *views, const uint8_t *validity, struct csf_rows rows) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = csf_rows_at(rows, i);
    int32_t size = csf_load_i32(views + VIEW_SIZE * row);
    if (size > VIEW_INLINE && !is_null(validity, row)) bytes += size;
  }
  return bytes;
}

/* Copies the text of a long view behind what is there, and points the new view to it. */
static void move_text(struct csf_column *column, const struct ArrowArray *array, uint8_t *view) {
  int32_t size = csf_load_i32(view);
  const uint8_t *data = array->buffers[2 + csf_load_i32(view + 8)];
  struct csf_column_bytes *texts = &column->extra;
  memcpy(texts->data + texts->size, data + csf_load_i32(view + 12), (size_t)size);
  csf_store_i32(view + 8, 0);
  csf_store_i32(view + 12, (int32_t)texts->size);
  texts->size += (size_t)size;
}

enum colshuf_status csf_column_add_view(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) {
  const uint8_t *views = array->buffers[1];
  const uint8_t *validity = csf_array_validity(column->field, array);
  int64_t more = long_bytes(views, validity, rows);
  if ((int64_t)column->extra.size + more > INT32_MAX) return csf_column_fail_limit(column, err);
  if (more > 0) CSF_TRY(csf_column_need(column, &column->extra, (size_t)more, err));
  CSF_TRY(csf_column_need(column, &column->main, (size_t)rows.n * VIEW_SIZE, err));
  uint8_t *to = column->main.data + column->main.size;
  for (int64_t i = 0; i < rows.n; i++, to += VIEW_SIZE) {
    int64_t row = csf_rows_at(rows, i);
    if (is_null(validity, row)) {
      memset(to, 0, VIEW_SIZE);
      continue;
    }
    memcpy(to, views + VIEW_SIZE * row, VIEW_SIZE);
    if (csf_load_i32(to) > VIEW_INLINE) move_text(column, array, to);
  }
  column->main.size += (size_t)rows.n * VIEW_SIZE;
  return COLSHUF_OK;
}
