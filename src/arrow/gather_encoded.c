/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering run-end encoded arrays and dictionary indices. */
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

/* The dictionaries of the pieces, each once. */
struct dictionaries {
  struct csf_piece *values; /* what the new dictionary is made of */
  int64_t *bases;           /* of each of values: the index of its first value */
  int64_t *of_piece;        /* base of each piece */
  int64_t n;
  int64_t n_values;
};

static struct csf_piece values_of(const struct csf_piece *piece) {
  if (piece->field->dictionary == NULL) return *piece; /* plain: its values become values of the dictionary, one by one */
  const struct ArrowArray *array = piece->array->dictionary;
  return (struct csf_piece){.field = piece->field->dictionary, .array = array, .length = array->length};
}

static bool same_values(const struct csf_piece *a, const struct csf_piece *b) {
  if (a->array == b->array) return a->rows == NULL && b->rows == NULL && a->start == b->start && a->length == b->length;
  return a->length == b->length && a->rows == NULL && b->rows == NULL &&
         csf_field_equal(a->field, b->field, CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA) &&
         csf_array_equal(a->field, a->array, a->start, b->array, b->start, a->length);
}

/* Blocks of one writer often carry the same dictionary: it is looked for among the last few, in vain at little cost. */
enum { LOOK_BACK = 8 };

static int64_t find_base(const struct dictionaries *to, const struct csf_piece *values) {
  for (int64_t d = to->n; d-- > 0 && d >= to->n - LOOK_BACK;) {
    if (same_values(&to->values[d], values)) return to->bases[d];
  }
  return -1;
}

static void collect_dictionaries(struct dictionaries *to, struct csf_pieces pieces) {
  for (int64_t p = 0; p < pieces.n; p++) {
    struct csf_piece values = values_of(&pieces.items[p]);
    int64_t base = find_base(to, &values);
    if (base < 0) {
      base = to->n_values;
      to->values[to->n] = values;
      to->bases[to->n++] = base;
      to->n_values += values.length;
    }
    to->of_piece[p] = base;
  }
}

static uint64_t most_index(enum csf_type type) {
  static const uint64_t most[] = {INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX, UINT8_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX};
  return most[type - CSF_INT8];
}

/* Indices of an encoded piece, moved by base; null slots may hold anything and become 0. */
static void move_indices(const struct csf_piece *piece, int64_t base, int32_t width, uint8_t *out) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t row = piece->rows == NULL ? i : piece->rows[i], index = 0;
    if (row >= 0) row += csf_piece_first(piece);
    if (row >= 0 && (valid == NULL || csf_bit_get(valid, row))) {
      index = base + csf_index_at(piece->array->buffers[1], piece->field->type, row);
    }
    memcpy(out + i * width, &index, (size_t)width);
  }
}

static void number_values(int64_t base, int64_t n, int32_t width, uint8_t *out) {
  for (int64_t i = 0; i < n; i++) {
    int64_t index = base + i;
    memcpy(out + i * width, &index, (size_t)width);
  }
}

/* Plain pieces have no indices: the nulls of their values stay in the values. */
static enum colshuf_status gather_index_validity(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) {
  bool plain = false;
  for (int64_t p = 0; p < pieces.n; p++) plain |= pieces.items[p].field->dictionary == NULL;
  if (!plain) return csf_gather_validity(g, pieces, out);
  struct csf_piece *encoded;
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *encoded, &encoded));
  static const int64_t no_buffer[1];
  static const void *no_buffers[3] = {NULL, no_buffer, NULL};
  static const struct ArrowArray no_nulls = {.buffers = (const void **)no_buffers};
  for (int64_t p = 0; p < pieces.n; p++) {
    encoded[p] = pieces.items[p];
    if (encoded[p].field->dictionary != NULL) continue;
    encoded[p].array = &no_nulls;
    encoded[p].rows = NULL;
    encoded[p].start = 0;
    encoded[p].holes = false;
  }
  enum colshuf_status status = csf_gather_validity(g, (struct csf_pieces){encoded, pieces.n, pieces.n_rows}, out);
  csf_gather_scratch_free(g, encoded, pieces.n, sizeof *encoded);
  return status;
}

static enum colshuf_status write_indices(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         const struct dictionaries *all, struct ArrowArray *out) {
  if (all->n_values > 0 && (uint64_t)all->n_values - 1 > most_index(field->type)) {
    return csf_gather_limit(g, field, "more dictionary values than its indices can count: join fewer rows, or unpack");
  }
  uint8_t *data;
  CSF_TRY(csf_gather_buffer(g, out, 1, pieces.n_rows * field->width, &data));
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    if (piece->field->dictionary != NULL) move_indices(piece, all->of_piece[p], field->width, data);
    if (piece->field->dictionary == NULL) number_values(all->of_piece[p], piece->length, field->width, data);
    data += piece->length * field->width;
  }
  return COLSHUF_OK;
}

static enum colshuf_status gather_joined(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         struct dictionaries *all, struct ArrowArray *out) {
  collect_dictionaries(all, pieces);
  CSF_TRY(gather_index_validity(g, pieces, out));
  CSF_TRY(write_indices(g, field, pieces, all, out));
  return csf_gather_field(g, field->dictionary, all->values, all->n, out->dictionary);
}

enum colshuf_status csf_gather_dictionary(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct ArrowArray *out) {
  struct dictionaries all = {0};
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *all.values, &all.values));
  enum colshuf_status status = csf_gather_scratch(g, pieces.n, 2 * sizeof *all.bases, &all.bases);
  if (status == COLSHUF_OK) {
    all.of_piece = all.bases == NULL ? NULL : all.bases + pieces.n;
    status = gather_joined(g, field, pieces, &all, out);
    csf_gather_scratch_free(g, all.bases, pieces.n, 2 * sizeof *all.bases);
  }
  csf_gather_scratch_free(g, all.values, pieces.n, sizeof *all.values);
  return status;
}

static bool is_hole(const struct csf_piece *piece, const uint8_t *valid, int64_t i, int64_t *place) {
  int64_t row = piece->rows == NULL ? i : piece->rows[i];
  if (row < 0) return true;
  *place = csf_piece_first(piece) + row;
  return valid != NULL && !csf_bit_get(valid, *place);
}

void csf_gather_lookup(const struct csf_piece *piece, int64_t *rows, bool *holes) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  *holes = false;
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t place = 0;
    if (is_hole(piece, valid, i, &place)) {
      rows[i] = -1;
      *holes = true;
    } else {
      rows[i] = csf_index_at(piece->array->buffers[1], piece->field->type, place);
    }
  }
}
