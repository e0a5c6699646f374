/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering lists of every kind and structs: what a row has of its children is a piece of the child. */
#include "arrow/gather.h"

/* Pieces of a child being collected; neighbours that continue one another become one. */
struct collector {
  const struct csf_field *field; /* of the source child at hand */
  const struct ArrowArray *array;
  struct csf_piece *pieces;
  int64_t n;
};

static void add_range(struct collector *to, int64_t start, int64_t length) {
  struct csf_piece *last = to->n == 0 ? NULL : &to->pieces[to->n - 1];
  if (last != NULL && last->array == to->array && last->rows == NULL && last->start + last->length == start) {
    last->length += length;
  } else if (length > 0) {
    to->pieces[to->n++] = (struct csf_piece){.field = to->field, .array = to->array, .start = start, .length = length};
  }
}

static void collect_from(struct collector *to, const struct csf_piece *piece) {
  to->field = &piece->field->children[0];
  to->array = piece->array->children[0];
}

/* How many pieces of the child there can be at most. */
static int64_t most_pieces(struct csf_pieces pieces) {
  int64_t n = 0;
  for (int64_t p = 0; p < pieces.n; p++) n += pieces.items[p].rows == NULL ? 1 : pieces.items[p].length;
  return n;
}

/* The row of piece at i as a place in its array; -1 for null. */
static inline int64_t place_at(const struct csf_piece *piece, const uint8_t *valid, int64_t i) {
  int64_t row = piece->rows == NULL ? i : piece->rows[i];
  if (row < 0) return -1;
  row += csf_piece_first(piece);
  return valid == NULL || csf_bit_get(valid, row) ? row : -1;
}

static bool is_wide(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_LIST64 || field->layout == CSF_LAYOUT_LIST_VIEW64;
}

/* Offsets reach no further than memory does; this is far above that and far below an overflow. */
static int64_t most_values(const struct csf_field *field) {
  return is_wide(field) ? INT64_C(1) << 60 : INT32_MAX;
}

/* Ends of the lists of a range; their values are one range of the child, those of nulls included. */
static int64_t range_lists(const struct csf_piece *piece, bool wide, int64_t end, void *ends, struct collector *to) {
  const void *offsets = piece->array->buffers[1];
  int64_t first = csf_piece_first(piece), start = csf_offset_at(offsets, first, wide);
  for (int64_t i = 0; i < piece->length; i++)
    csf_offset_set(ends, i, wide, csf_offset_at(offsets, first + i + 1, wide) - start + end);
  int64_t length = csf_offset_at(offsets, first + piece->length, wide) - start;
  add_range(to, start, length);
  return end + length;
}

static int64_t row_lists(const struct csf_piece *piece, bool wide, int64_t most, int64_t end, void *ends,
                         struct collector *to) {
  const void *offsets = piece->array->buffers[1];
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  for (int64_t i = 0; i < piece->length && end <= most; i++) {
    int64_t row = place_at(piece, valid, i);
    if (row >= 0) {
      int64_t start = csf_offset_at(offsets, row, wide), length = csf_offset_at(offsets, row + 1, wide) - start;
      add_range(to, start, length);
      end += length;
    }
    csf_offset_set(ends, i, wide, end);
  }
  return end;
}

static enum colshuf_status list_pieces(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                       uint8_t *offsets, struct collector *to) {
  bool wide = is_wide(field);
  int64_t width = wide ? 8 : 4, most = most_values(field), end = 0;
  csf_offset_set(offsets, 0, wide, 0);
  offsets += width;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    collect_from(to, piece);
    end = piece->rows == NULL ? range_lists(piece, wide, end, offsets, to) : row_lists(piece, wide, most, end, offsets, to);
    if (end > most) return csf_gather_limit(g, field, "more values than its offsets can count: join or take fewer rows");
    offsets += piece->length * width;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_list(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                    struct ArrowArray *out) {
  int64_t size, most = most_pieces(pieces);
  uint8_t *offsets;
  if (csf_multiply_overflow(pieces.n_rows + 1, is_wide(field) ? 8 : 4, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &offsets));
  struct collector to = {0};
  CSF_TRY(csf_gather_scratch(g, most, sizeof *to.pieces, &to.pieces));
  enum colshuf_status status = list_pieces(g, field, pieces, offsets, &to);
  if (status == COLSHUF_OK) status = csf_gather_field(g, &field->children[0], to.pieces, to.n, out->children[0]);
  csf_gather_scratch_free(g, to.pieces, most, sizeof *to.pieces);
  return status;
}

/*
 * List views may overlap: copied one by one they could outgrow their source without bound. So either each list is copied, or,
 * where that would be more than the child values which they span, that span with their places in it.
 */
struct span {
  int64_t start, end; /* [start, end) of the child */
  int64_t n_values;   /* sum of the sizes */
};

static void widen(struct span *span, int64_t start, int64_t size) {
  if (size == 0) return;
  if (span->end == 0 || start < span->start) span->start = start;
  if (start + size > span->end) span->end = start + size;
  if (span->n_values <= INT64_MAX - size) span->n_values += size;
}

/* Of the pieces [p, *next), all of one array. */
static struct span find_span(struct csf_pieces pieces, bool wide, int64_t p, int64_t *next) {
  struct span span = {0};
  const struct ArrowArray *array = pieces.items[p].array;
  for (; p < pieces.n && pieces.items[p].array == array; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    const uint8_t *valid = csf_array_validity(piece->field, array);
    for (int64_t i = 0; i < piece->length; i++) {
      int64_t row = place_at(piece, valid, i);
      if (row >= 0) widen(&span, csf_offset_at(array->buffers[1], row, wide), csf_offset_at(array->buffers[2], row, wide));
    }
  }
  *next = p;
  return span;
}

struct list_view_copy {
  uint8_t *offsets;
  uint8_t *sizes;
  int64_t end; /* values of the new child so far */
  bool wide;
};

/* Places of a piece's lists in the new child. Without a span each list's values are collected; else they lie in it. */
static void place_lists(struct list_view_copy *copy, const struct csf_piece *piece, const struct span *span,
                        struct collector *to) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t row = place_at(piece, valid, i), start = 0, size = 0, place = copy->end;
    if (row >= 0) {
      start = csf_offset_at(piece->array->buffers[1], row, copy->wide);
      size = csf_offset_at(piece->array->buffers[2], row, copy->wide);
    }
    if (span != NULL && size > 0) place += start - span->start;
    csf_offset_set(copy->offsets, i, copy->wide, place);
    csf_offset_set(copy->sizes, i, copy->wide, size);
    if (span != NULL) continue;
    add_range(to, start, size);
    copy->end += size;
  }
  copy->offsets += piece->length * (copy->wide ? 8 : 4);
  copy->sizes += piece->length * (copy->wide ? 8 : 4);
}

static enum colshuf_status list_view_pieces(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                            struct list_view_copy *copy, struct collector *to) {
  for (int64_t p = 0, next; p < pieces.n; p = next) {
    struct span span = find_span(pieces, copy->wide, p, &next);
    bool whole = span.n_values > span.end - span.start;
    int64_t n_values = whole ? span.end - span.start : span.n_values;
    if (n_values > most_values(field) - copy->end) {
      return csf_gather_limit(g, field, "more values than its offsets can count: join or take fewer rows");
    }
    collect_from(to, &pieces.items[p]);
    for (int64_t q = p; q < next; q++) place_lists(copy, &pieces.items[q], whole ? &span : NULL, to);
    if (!whole) continue;
    add_range(to, span.start, n_values);
    copy->end += n_values;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_list_view(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         struct ArrowArray *out) {
  struct list_view_copy copy = {.wide = is_wide(field)};
  int64_t size;
  if (csf_multiply_overflow(pieces.n_rows, copy.wide ? 8 : 4, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &copy.offsets));
  CSF_TRY(csf_gather_buffer(g, out, 2, size, &copy.sizes));
  struct collector to = {0};
  CSF_TRY(csf_gather_scratch(g, pieces.n_rows, sizeof *to.pieces, &to.pieces));
  enum colshuf_status status = list_view_pieces(g, field, pieces, &copy, &to);
  if (status == COLSHUF_OK) status = csf_gather_field(g, &field->children[0], to.pieces, to.n, out->children[0]);
  csf_gather_scratch_free(g, to.pieces, pieces.n_rows, sizeof *to.pieces);
  return status;
}

/* Values of fixed-size lists; a hole's are so many holes, which lie ready in `holes`. */
static void fixed_list_pieces(int32_t width, struct csf_pieces pieces, const int64_t *holes, struct collector *to) {
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    collect_from(to, piece);
    int64_t first = csf_piece_first(piece);
    if (piece->rows == NULL) add_range(to, first * width, piece->length * width);
    for (int64_t i = 0; piece->rows != NULL && i < piece->length; i++) {
      if (piece->rows[i] >= 0) {
        add_range(to, (first + piece->rows[i]) * width, width);
      } else {
        to->pieces[to->n++] =
            (struct csf_piece){.field = to->field, .array = to->array, .length = width, .rows = holes, .holes = true};
      }
    }
  }
}

static bool any_holes(struct csf_pieces pieces) {
  for (int64_t p = 0; p < pieces.n; p++) {
    if (pieces.items[p].holes) return true;
  }
  return false;
}

enum colshuf_status csf_gather_fixed_list(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct ArrowArray *out) {
  int64_t n_values, most = most_pieces(pieces), n_holes = any_holes(pieces) ? field->width : 0;
  if (csf_multiply_overflow(pieces.n_rows, field->width, &n_values))
    return csf_gather_limit(g, field, "more values than can be counted");
  if (field->width == 0) return csf_gather_field(g, &field->children[0], NULL, 0, out->children[0]);
  int64_t *holes;
  struct collector to = {0};
  CSF_TRY(csf_gather_scratch(g, n_holes, sizeof *holes, &holes));
  if (n_holes > 0) memset(holes, 0xff, (size_t)n_holes * sizeof *holes); /* -1 each */
  enum colshuf_status status = csf_gather_scratch(g, most, sizeof *to.pieces, &to.pieces);
  if (status == COLSHUF_OK) {
    fixed_list_pieces(field->width, pieces, holes, &to);
    status = csf_gather_field(g, &field->children[0], to.pieces, to.n, out->children[0]);
    csf_gather_scratch_free(g, to.pieces, most, sizeof *to.pieces);
  }
  csf_gather_scratch_free(g, holes, n_holes, sizeof *holes);
  return status;
}

/* Children that have the rows of their parent: the same pieces of each. */
static enum colshuf_status gather_children(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                           struct csf_piece *child_pieces, struct ArrowArray *out) {
  for (int32_t c = 0; c < field->n_children; c++) {
    for (int64_t p = 0; p < pieces.n; p++) {
      child_pieces[p] = pieces.items[p];
      child_pieces[p].field = &pieces.items[p].field->children[c];
      child_pieces[p].array = pieces.items[p].array->children[c];
      child_pieces[p].start = csf_piece_first(&pieces.items[p]);
    }
    CSF_TRY(csf_gather_field(g, &field->children[c], child_pieces, pieces.n, out->children[c]));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_struct(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                      struct ArrowArray *out) {
  struct csf_piece *child_pieces;
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *child_pieces, &child_pieces));
  enum colshuf_status status = gather_children(g, field, pieces, child_pieces, out);
  csf_gather_scratch_free(g, child_pieces, pieces.n, sizeof *child_pieces);
  return status;
}
