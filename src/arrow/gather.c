/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/gather.h"

#include <inttypes.h>

static enum colshuf_status check_left(struct csf_gather *g, uint64_t size) {
  if (size <= g->left) return COLSHUF_OK;
  return csf_fail(g->err, COLSHUF_LIMIT, "unpacking needs %" PRIu64 " bytes more, %" PRIu64 " are left of the limit", size, g->left);
}

enum colshuf_status csf_gather_buffer(struct csf_gather *g, struct ArrowArray *out, int32_t index, int64_t size, void *bytes) {
  void *place = NULL;
  CSF_TRY(check_left(g, (uint64_t)size));
  if (g->left != UINT64_MAX) g->left -= (uint64_t)size;
  if (size > 0) CSF_TRY(csf_slab_alloc(g->slab, (size_t)size, &place, g->err));
  out->buffers[index] = place;
  memcpy(bytes, &place, sizeof place);
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_scratch(struct csf_gather *g, int64_t n, size_t item_size, void *items) {
  size_t size;
  void *place = NULL;
  if (csf_multiply_overflow((size_t)n, item_size, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(check_left(g, size)); /* given back soon, so that it does not count for good */
  if (size > 0) {
    place = csf_alloc(&g->allocator, size);
    if (place == NULL) return csf_fail_memory(g->err, size);
  }
  memcpy(items, &place, sizeof place);
  return COLSHUF_OK;
}

void csf_gather_scratch_free(struct csf_gather *g, void *items, int64_t n, size_t item_size) {
  csf_free(&g->allocator, items, (size_t)n * item_size);
}

enum colshuf_status csf_gather_limit(struct csf_gather *g, const struct csf_field *field, const char *what) {
  char type[128];
  csf_field_describe(field, type, sizeof type);
  return csf_fail(g->err, COLSHUF_LIMIT, "column \"%s\" (%s): %s", field->name, type, what);
}

static enum colshuf_status gather_layout(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         struct ArrowArray *out) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL:
      out->null_count = out->length;
      return COLSHUF_OK;
    case CSF_LAYOUT_BITS:
      return csf_gather_bits(g, pieces, out);
    case CSF_LAYOUT_FIXED:
      return csf_gather_fixed(g, field->width, pieces, out);
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      return csf_gather_binary(g, field, pieces, out);
    case CSF_LAYOUT_VIEW:
      return csf_gather_views(g, pieces, out);
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
      return csf_gather_list(g, field, pieces, out);
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      return csf_gather_list_view(g, field, pieces, out);
    case CSF_LAYOUT_FIXED_LIST:
      return csf_gather_fixed_list(g, field, pieces, out);
    case CSF_LAYOUT_STRUCT:
      return csf_gather_struct(g, field, pieces, out);
    case CSF_LAYOUT_SPARSE_UNION:
      return csf_gather_sparse_union(g, field, pieces, out);
    case CSF_LAYOUT_DENSE_UNION:
      return csf_gather_dense_union(g, field, pieces, out);
    case CSF_LAYOUT_RUN_END:
      return csf_gather_run_end(g, field, pieces, out);
  }
  return csf_fail(g->err, COLSHUF_INVALID_ARGUMENT, "column \"%s\" has no layout", field->name);
}

static enum colshuf_status gather_plain(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                        struct ArrowArray *out) {
  out->length = pieces.n_rows;
  out->null_count = 0;
  if (field->dictionary != NULL) return csf_gather_dictionary(g, field, pieces, out);
  if (csf_layout_has_bitmap(field->layout)) CSF_TRY(csf_gather_validity(g, pieces, out));
  return gather_layout(g, field, pieces, out);
}

/*
 * Puts in place of each dictionary-encoded piece the rows of its dictionary that it stands for; rows has place for all of them.
 */
static void look_up(struct csf_piece *pieces, int64_t n, int64_t *rows) {
  for (int64_t p = 0; p < n; p++) {
    struct csf_piece *piece = &pieces[p];
    if (piece->field->dictionary == NULL) continue;
    bool holes;
    csf_gather_lookup(piece, rows, &holes);
    *piece = (struct csf_piece){piece->field->dictionary, piece->array->dictionary, 0, piece->length, rows, holes};
    rows += piece->length;
  }
}

static enum colshuf_status gather_unpacked(struct csf_gather *g, const struct csf_field *field, struct csf_piece *pieces,
                                           int64_t n_pieces, int64_t n_rows, int64_t n_encoded, struct ArrowArray *out) {
  int64_t *rows;
  CSF_TRY(csf_gather_scratch(g, n_encoded, sizeof *rows, &rows));
  if (field->dictionary == NULL) look_up(pieces, n_pieces, rows);
  enum colshuf_status status = gather_plain(g, field, (struct csf_pieces){pieces, n_pieces, n_rows}, out);
  csf_gather_scratch_free(g, rows, n_encoded, sizeof *rows);
  return status;
}

/* As csf_gather_field, where pieces must be changed first: a copy without the empty ones, and looked up. */
static enum colshuf_status gather_changed(struct csf_gather *g, const struct csf_field *field, const struct csf_piece *pieces,
                                          int64_t n_pieces, int64_t n_rows, int64_t n_encoded, struct ArrowArray *out) {
  struct csf_piece *copies;
  CSF_TRY(csf_gather_scratch(g, n_pieces, sizeof *copies, &copies));
  int64_t n = 0;
  for (int64_t p = 0; p < n_pieces; p++) {
    if (pieces[p].length > 0) copies[n++] = pieces[p];
  }
  enum colshuf_status status = gather_unpacked(g, field, copies, n, n_rows, n_encoded, out);
  csf_gather_scratch_free(g, copies, n_pieces, sizeof *copies);
  return status;
}

enum colshuf_status csf_gather_field(struct csf_gather *g, const struct csf_field *field, const struct csf_piece *pieces,
                                     int64_t n_pieces, struct ArrowArray *out) {
  int64_t n_rows = 0, n_encoded = 0;
  bool empty = false;
  for (int64_t p = 0; p < n_pieces; p++) {
    n_rows += pieces[p].length;
    empty |= pieces[p].length == 0;
    if (pieces[p].field->dictionary != NULL) n_encoded += pieces[p].length;
  }
  if (field->dictionary != NULL) n_encoded = 0; /* they stay encoded */
  if (!empty && n_encoded == 0) return gather_plain(g, field, (struct csf_pieces){pieces, n_pieces, n_rows}, out);
  return gather_changed(g, field, pieces, n_pieces, n_rows, n_encoded, out);
}

enum colshuf_status csf_array_gather(const struct csf_field *field, const struct csf_piece *pieces, int64_t n_pieces,
                                     const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                     struct colshuf_error *err) {
  struct csf_gather g = {.allocator = csf_allocator(allocator), .left = UINT64_MAX, .err = err};
  struct ArrowArray result;
  uint8_t *body;
  CSF_TRY(csf_array_new(allocator, field, true, 0, &result, &body, &g.slab, err));
  enum colshuf_status status = csf_gather_field(&g, field, pieces, n_pieces, &result);
  if (status != COLSHUF_OK) {
    result.release(&result);
    return status;
  }
  *out = result;
  return COLSHUF_OK;
}

static bool is_range(const int64_t *rows, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    if (rows[i] != rows[0] + i) return false;
  }
  return n > 0;
}

enum colshuf_status csf_array_take(const struct csf_field *field, const struct ArrowArray *array, const int64_t *rows,
                                   int64_t n_rows, const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                   struct colshuf_error *err) {
  struct csf_piece piece = {.field = field, .array = array, .length = n_rows, .rows = rows};
  if (is_range(rows, n_rows)) {
    piece.start = rows[0];
    piece.rows = NULL;
  }
  return csf_array_gather(field, &piece, 1, allocator, out, err);
}

enum colshuf_status csf_array_concat(const struct csf_field *field, const struct ArrowArray *const *arrays,
                                     const int64_t *starts, const int64_t *lengths, int64_t n_arrays,
                                     const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                     struct colshuf_error *err) {
  struct csf_gather g = {.allocator = csf_allocator(allocator), .left = UINT64_MAX, .err = err};
  struct csf_piece *pieces;
  CSF_TRY(csf_gather_scratch(&g, n_arrays, sizeof *pieces, &pieces));
  for (int64_t i = 0; i < n_arrays; i++) {
    pieces[i] = (struct csf_piece){.field = field, .array = arrays[i], .start = starts[i], .length = lengths[i]};
  }
  enum colshuf_status status = csf_array_gather(field, pieces, n_arrays, allocator, out, err);
  csf_gather_scratch_free(&g, pieces, n_arrays, sizeof *pieces);
  return status;
}

bool csf_field_unpack(struct csf_arena *arena, const struct csf_field *field, struct csf_field *out) {
  const struct csf_field *values = field->dictionary != NULL ? field->dictionary : field;
  struct csf_field copy = *values;
  copy.name = field->name;
  copy.nullable = field->nullable;
  copy.metadata = field->metadata;
  copy.n_metadata = field->n_metadata;
  if (values->n_children > 0) {
    copy.children = csf_arena_alloc(arena, (size_t)values->n_children * sizeof *copy.children);
    if (copy.children == NULL) return false;
    for (int32_t c = 0; c < values->n_children; c++) {
      if (!csf_field_unpack(arena, &values->children[c], &copy.children[c])) return false;
    }
  }
  *out = copy;
  return true;
}

enum colshuf_status csf_array_unpack_dictionaries(const struct csf_field *field, const struct ArrowArray *array,
                                                  const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                                  struct colshuf_error *err) {
  struct csf_arena arena;
  struct csf_field plain;
  csf_arena_init(&arena, allocator);
  enum colshuf_status status;
  if (csf_field_unpack(&arena, field, &plain)) {
    struct csf_piece piece = {.field = field, .array = array, .length = array->length};
    status = csf_array_gather(&plain, &piece, 1, allocator, out, err);
  } else {
    status = csf_fail_memory(err, (size_t)field->n_children * sizeof *field);
  }
  csf_arena_clear(&arena);
  return status;
}
