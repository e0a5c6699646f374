/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering run-end encoded arrays. */
#include "arrow/gather.h"

static int64_t end_at(const struct csf_field *field, const struct ArrowArray *array, int64_t run) {
  const struct ArrowArray *ends = array->children[0];
  return csf_index_at(ends->buffers[1], field->children[0].type, ends->offset + run);
}

int64_t csf_run_find(const struct csf_field *field, const struct ArrowArray *array, int64_t i) {
  int64_t low = 0, high = array->children[0]->length - 1; /* the last run ends beyond i */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (end_at(field, array, middle) > i) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* Runs of the result: where each ends, and which run of which array it is. */
struct runs {
  struct csf_piece *pieces; /* of the values, one for each piece */
  int64_t *ends;
  int64_t *sources; /* runs of the piece's array; -1 = null */
  int64_t n;
  int64_t n_rows;
};

static void add_run(struct runs *to, int64_t source, int64_t length, bool is_first) {
  to->n_rows += length;
  if (is_first || to->sources[to->n - 1] != source) to->sources[to->n++] = source;
  to->ends[to->n - 1] = to->n_rows;
}

static void range_runs(struct runs *to, const struct csf_piece *piece) {
  int64_t i = csf_piece_first(piece), stop = i + piece->length;
  int64_t run = csf_run_find(piece->field, piece->array, i);
  for (bool is_first = true; i < stop; run++, is_first = false) {
    int64_t end = end_at(piece->field, piece->array, run);
    if (end > stop) end = stop;
    add_run(to, run, end - i, is_first);
    i = end;
  }
}

static void row_runs(struct runs *to, const struct csf_piece *piece) {
  int64_t run = -1, start = 0, end = 0; /* the run found last */
  for (int64_t i = 0; i < piece->length; i++) {
    if (piece->rows[i] < 0) {
      add_run(to, -1, 1, i == 0);
      continue;
    }
    int64_t row = csf_piece_first(piece) + piece->rows[i];
    if (row < start || row >= end) {
      run = csf_run_find(piece->field, piece->array, row);
      start = run == 0 ? 0 : end_at(piece->field, piece->array, run - 1);
      end = end_at(piece->field, piece->array, run);
    }
    add_run(to, run, 1, i == 0);
  }
}

static void collect_runs(struct runs *to, struct csf_pieces pieces) {
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    int64_t before = to->n;
    if (piece->rows == NULL) range_runs(to, piece);
    if (piece->rows != NULL) row_runs(to, piece);
    to->pieces[p] = (struct csf_piece){.field = &piece->field->children[1],
                                       .array = piece->array->children[1],
                                       .length = to->n - before,
                                       .rows = to->sources + before,
                                       .holes = piece->holes};
  }
}

static enum colshuf_status write_ends(struct csf_gather *g, const struct csf_field *field, const struct runs *runs,
                                      struct ArrowArray *out) {
  const struct csf_field *ends_field = &field->children[0];
  int64_t most = ends_field->width == 2 ? INT16_MAX : ends_field->width == 4 ? INT32_MAX : INT64_MAX;
  if (runs->n_rows > most) return csf_gather_limit(g, field, "more rows than its run ends can count: join or take fewer rows");
  struct ArrowArray *ends = out->children[0];
  uint8_t *data;
  CSF_TRY(csf_gather_buffer(g, ends, 1, runs->n * ends_field->width, &data));
  ends->length = runs->n;
  for (int64_t r = 0; r < runs->n; r++) memcpy(data + r * ends_field->width, &runs->ends[r], (size_t)ends_field->width);
  return COLSHUF_OK;
}

/* At most so many runs come out. */
static int64_t most_runs(struct csf_pieces pieces) {
  int64_t n = 0;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    int64_t runs = piece->array->children[0]->length;
    n += piece->rows == NULL && runs < piece->length ? runs : piece->length;
  }
  return n;
}

static enum colshuf_status gather_runs(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                       struct runs *runs, struct ArrowArray *out) {
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *runs->pieces, &runs->pieces));
  collect_runs(runs, pieces);
  enum colshuf_status status = write_ends(g, field, runs, out);
  if (status == COLSHUF_OK) status = csf_gather_field(g, &field->children[1], runs->pieces, pieces.n, out->children[1]);
  csf_gather_scratch_free(g, runs->pieces, pieces.n, sizeof *runs->pieces);
  return status;
}

enum colshuf_status csf_gather_run_end(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                       struct ArrowArray *out) {
  struct runs runs = {0};
  int64_t most = most_runs(pieces);
  CSF_TRY(csf_gather_scratch(g, most, 2 * sizeof *runs.ends, &runs.ends));
  runs.sources = runs.ends == NULL ? NULL : runs.ends + most;
  enum colshuf_status status = gather_runs(g, field, pieces, &runs, out);
  csf_gather_scratch_free(g, runs.ends, most, 2 * sizeof *runs.ends);
  return status;
}
