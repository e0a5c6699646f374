/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run-end encoded columns: rows are looked up in the runs, and neighbours that come from one run make one run again. Runs are not
 * joined with what was appended before: values would have to be compared.
 */
#include "arrow/array.h"
#include "shuffle/columns.h"

static int64_t load_end(const struct ArrowArray *ends, int64_t run, int32_t width) {
  const uint8_t *values = ends->buffers[1];
  run += ends->offset;
  if (width == 2) return csf_load_i16(values + 2 * run);
  return width == 4 ? csf_load_i32(values + 4 * run) : csf_load_i64(values + 8 * run);
}

/* The run that holds logical row: the first whose end is behind it. */
static int64_t find_run(const struct ArrowArray *ends, int64_t row, int32_t width) {
  int64_t low = 0, high = ends->length;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (load_end(ends, middle, width) > row) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* The runs that rows make, while they are being made. */
struct new_runs {
  struct csf_column *ends; /* the child that holds them */
  uint32_t *runs;          /* which old run each comes from */
  int64_t n;
  int64_t length;          /* logical values of the column with the last run */
  int64_t max_length;
};

static enum colshuf_status put_run(struct new_runs *new, uint32_t run, int64_t length, struct colshuf_error *err) {
  int32_t width = new->ends->field->width;
  struct csf_column_bytes *bytes = &new->ends->main;
  new->length += length;
  if (new->length > new->max_length) return csf_column_fail_limit(new->ends, err);
  if (new->n == 0 || new->runs[new->n - 1] != run) {
    CSF_TRY(csf_column_need(new->ends, bytes, (size_t)width, err));
    new->runs[new->n++] = run;
    bytes->size += (size_t)width;
    new->ends->length++;
  }
  memcpy(bytes->data + bytes->size - width, &new->length, (size_t)width);
  return COLSHUF_OK;
}

/* rows as a range: run after run. */
static enum colshuf_status put_range(struct new_runs *new, const struct ArrowArray *ends, struct csf_rows rows, int64_t first,
                                     struct colshuf_error *err) {
  int32_t width = new->ends->field->width;
  int64_t row = rows.base, end = rows.base + rows.n;
  for (int64_t run = first; row < end; run++) {
    int64_t run_end = load_end(ends, run, width);
    if (run_end > end) run_end = end;
    CSF_TRY(put_run(new, (uint32_t)(run - first), run_end - row, err));
    row = run_end;
  }
  return COLSHUF_OK;
}

static enum colshuf_status put_rows(struct new_runs *new, const struct ArrowArray *ends, struct csf_rows rows, int64_t first,
                                    struct colshuf_error *err) {
  int32_t width = new->ends->field->width;
  int64_t run = first, run_start = 0, run_end = 0;
  for (int64_t i = 0; i < rows.n; i++) {
    int64_t row = rows.base + rows.rows[i];
    if (row < run_start || row >= run_end) {
      run = find_run(ends, row, width);
      run_start = run == 0 ? 0 : load_end(ends, run - 1, width);
      run_end = load_end(ends, run, width);
    }
    if (run - first > UINT32_MAX) return csf_column_fail_limit(new->ends, err);
    CSF_TRY(put_run(new, (uint32_t)(run - first), 1, err));
  }
  return COLSHUF_OK;
}

static int64_t max_length(int32_t width) {
  return width == 2 ? INT16_MAX : width == 4 ? INT32_MAX : INT64_MAX;
}

enum colshuf_status csf_column_add_run_end(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                           struct colshuf_error *err) {
  const struct ArrowArray *ends = array->children[0], *values = array->children[1];
  struct csf_column *new_ends = &column->children[0];
  int32_t width = new_ends->field->width;
  int64_t first = find_run(ends, rows.base, width);
  int64_t last = rows.rows == NULL ? find_run(ends, rows.base + rows.n - 1, width) : first + rows.n - 1;
  if (last - first >= UINT32_MAX) return csf_column_fail_limit(column, err);
  CSF_TRY(csf_buffer_reserve(&column->rows, (size_t)(last - first + 1) * sizeof(uint32_t), err));
  struct new_runs new = {new_ends, (uint32_t *)(void *)column->rows.data, 0, column->length, max_length(width)};
  CSF_TRY(csf_column_need(new_ends, &new_ends->main, (size_t)(last - first + 1) * (size_t)width, err));
  if (rows.rows == NULL) CSF_TRY(put_range(&new, ends, rows, first, err));
  else CSF_TRY(put_rows(&new, ends, rows, first, err));
  struct csf_rows value_rows = {values->offset + first, rows.rows == NULL ? NULL : new.runs, new.n};
  return csf_column_add(&column->children[1], values, value_rows, err);
}
