/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one kernel behind take, concat and the unpacking of dictionaries: a new array is made of pieces of other arrays, level by
 * level. A piece is a range of rows or a list of rows of one array; the children of what is gathered are pieces of the
 * children. So each layout is written once, and what a list row needs of its child (a range) is copied as a range.
 */
#ifndef CSF_ARROW_GATHER_H
#define CSF_ARROW_GATHER_H

#include "arrow/array.h"

struct csf_piece {
  const struct csf_field *field; /* of array: the type of the result, or a dictionary of it, at any depth */
  const struct ArrowArray *array;
  int64_t start; /* counted from the array's offset */
  int64_t length;
  const int64_t *rows; /* NULL: rows [start, start + length); else start + rows[0], start + rows[1], ... */
  bool holes;          /* rows may hold negative numbers: a null each */
};

/*
 * All pieces, one after another, as a new array of field with offset 0. Where field is plain and a piece is dictionary-encoded,
 * the values are looked up; where field has a dictionary, those of the pieces are joined: equal ones once, others appended.
 * Names and nullability of the pieces' fields do not matter. Rows are not checked.
 * Returns: OK; LIMIT (32-bit offsets, or an index or run end type, cannot hold the result: the message names the column);
 * NO_MEMORY.
 */
enum colshuf_status csf_array_gather(const struct csf_field *field, const struct csf_piece *pieces, int64_t n_pieces,
                                     const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;

/* What field becomes when every dictionary in it is unpacked, in arena; names and the like are shared with field. False: no
 * memory. */
bool csf_field_unpack(struct csf_arena *arena, const struct csf_field *field, struct csf_field *out);

/* Of one gathering; private to arrow/gather_*.c from here on. */
struct csf_gather {
  struct colshuf_allocator allocator;
  struct csf_slab *slab;
  uint64_t left; /* bytes that may still be made: a few dictionary indices can mean any amount. UINT64_MAX = whatever memory there is */
  struct colshuf_error *err;
};

/* What of one level is gathered: no piece is empty. */
struct csf_pieces {
  const struct csf_piece *items;
  int64_t n;
  int64_t n_rows; /* sum of their lengths */
};

/* The place of a piece's row 0 in the buffers of its array. */
static inline int64_t csf_piece_first(const struct csf_piece *piece) {
  return piece->array->offset + piece->start;
}

/* Fills *out (fresh from csf_array_new) and everything below it. */
enum colshuf_status csf_gather_field(struct csf_gather *g, const struct csf_field *field, const struct csf_piece *pieces,
                                     int64_t n_pieces, struct ArrowArray *out) COLSHUF_MUST_USE;

/* Bytes of the result (buffer index of out) or scratch memory that the caller frees with csf_free and the same size; size 0 =
 * NULL. */
enum colshuf_status csf_gather_buffer(struct csf_gather *g, struct ArrowArray *out, int32_t index, int64_t size,
                                      void *bytes) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_scratch(struct csf_gather *g, int64_t n, size_t item_size, void *items) COLSHUF_MUST_USE;
void csf_gather_scratch_free(struct csf_gather *g, void *items, int64_t n, size_t item_size);
enum colshuf_status csf_gather_limit(struct csf_gather *g, const struct csf_field *field, const char *what)
    __attribute__((cold));

/* Each fills buffers and children of its layouts; lengths and validity are done before. */
enum colshuf_status csf_gather_validity(struct csf_gather *g, struct csf_pieces pieces,
                                        struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_bits(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_fixed(struct csf_gather *g, int32_t width, struct csf_pieces pieces,
                                     struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_binary(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                      struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_views(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_list(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                    struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_list_view(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_fixed_list(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_struct(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                      struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_sparse_union(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                            struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_dense_union(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                           struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_run_end(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                       struct ArrowArray *out) COLSHUF_MUST_USE;
enum colshuf_status csf_gather_dictionary(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct ArrowArray *out) COLSHUF_MUST_USE;

/*
 * Where a piece is dictionary-encoded: rows[0..length) of its dictionary that its rows stand for, -1 for null.
 * *holes says whether there is one.
 */
void csf_gather_lookup(const struct csf_piece *piece, int64_t *rows, bool *holes);

/* The run that holds logical place i: the first whose end is greater. ends must be valid and reach beyond i. */
int64_t csf_run_find(const struct csf_field *field, const struct ArrowArray *array, int64_t i);

#endif
