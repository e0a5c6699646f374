/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering unions. A hole becomes a null of the first member that may be null: a union has no nulls of its own. */
#include "arrow/gather.h"

static int32_t hole_member(const struct csf_field *field) {
  for (int32_t c = 0; c < field->n_children; c++) {
    if (field->children[c].nullable) return c;
  }
  return 0;
}

static inline int64_t place_at(const struct csf_piece *piece, int64_t i) {
  int64_t row = piece->rows == NULL ? i : piece->rows[i];
  return row < 0 ? -1 : csf_piece_first(piece) + row;
}

static enum colshuf_status gather_ids(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                      struct ArrowArray *out, int8_t **ids) {
  CSF_TRY(csf_gather_buffer(g, out, 0, pieces.n_rows, ids));
  if (field->n_children == 0) return COLSHUF_OK; /* and no rows */
  int8_t hole = field->type_ids[hole_member(field)], *id = *ids;
  for (int64_t p = 0; p < pieces.n; p++) {
    const int8_t *source = pieces.items[p].array->buffers[0];
    for (int64_t i = 0; i < pieces.items[p].length; i++) {
      int64_t row = place_at(&pieces.items[p], i);
      if (row < 0) *id++ = hole;
      else *id++ = source[row];
    }
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_sparse_union(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                            struct ArrowArray *out) {
  int8_t *ids;
  CSF_TRY(gather_ids(g, field, pieces, out, &ids));
  return csf_gather_struct(g, field, pieces, out);
}

/* Of the rows with type id `id`: rows of member c, and their numbers in the new member as offsets. */
struct member_rows {
  struct csf_piece *pieces; /* one for each piece of the union */
  int64_t *rows;
  int32_t *offsets;
  int64_t n; /* rows so far */
};

static void collect_piece(struct member_rows *to, const struct csf_piece *piece, const int8_t *ids, int32_t c, int8_t id) {
  int64_t before = to->n;
  bool holes = false;
  for (int64_t i = 0; i < piece->length; i++) {
    if (ids[i] != id) continue;
    int64_t row = place_at(piece, i);
    holes |= row < 0;
    to->offsets[i] = (int32_t)to->n;
    to->rows[to->n++] = row < 0 ? -1 : csf_load_i32((const uint8_t *)piece->array->buffers[1] + 4 * row);
  }
  *to->pieces++ = (struct csf_piece){.field = &piece->field->children[c],
                                     .array = piece->array->children[c],
                                     .length = to->n - before,
                                     .rows = to->rows + before,
                                     .holes = holes};
}

static enum colshuf_status gather_member(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         int32_t c, struct member_rows to, struct ArrowArray *out) {
  const struct csf_piece *member_pieces = to.pieces;
  const int8_t *ids = out->buffers[0];
  for (int64_t p = 0; p < pieces.n; p++) {
    collect_piece(&to, &pieces.items[p], ids, c, field->type_ids[c]);
    ids += pieces.items[p].length;
    to.offsets += pieces.items[p].length;
  }
  if (to.n > INT32_MAX) return csf_gather_limit(g, field, "more rows of one member than its offsets can count");
  return csf_gather_field(g, &field->children[c], member_pieces, pieces.n, out->children[c]);
}

static enum colshuf_status gather_members(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          int64_t *rows, int32_t *offsets, struct ArrowArray *out) {
  struct csf_piece *member_pieces;
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *member_pieces, &member_pieces));
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t c = 0; c < field->n_children && status == COLSHUF_OK; c++) {
    struct member_rows to = {.pieces = member_pieces, .rows = rows, .offsets = offsets};
    status = gather_member(g, field, pieces, c, to, out);
  }
  csf_gather_scratch_free(g, member_pieces, pieces.n, sizeof *member_pieces);
  return status;
}

enum colshuf_status csf_gather_dense_union(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                           struct ArrowArray *out) {
  int8_t *ids;
  int32_t *offsets;
  int64_t *rows, size;
  CSF_TRY(gather_ids(g, field, pieces, out, &ids));
  if (csf_multiply_overflow(pieces.n_rows, (int64_t)sizeof *offsets, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &offsets));
  CSF_TRY(csf_gather_scratch(g, pieces.n_rows, sizeof *rows, &rows));
  enum colshuf_status status = gather_members(g, field, pieces, rows, offsets, out);
  csf_gather_scratch_free(g, rows, pieces.n_rows, sizeof *rows);
  return status;
}
