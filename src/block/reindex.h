/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionary columns made fit for a block: indices of another width, and only the values that the rows at hand use. */
#ifndef CSF_BLOCK_REINDEX_H
#define CSF_BLOCK_REINDEX_H

#include "arrow/array.h"

/* Scratch for one column and the array it made last. */
struct csf_reindex {
  struct csf_buffer indices, validity;
  struct csf_buffer table; /* int32 per dictionary value: its new index, -1 = not used; all -1 between calls */
  struct csf_buffer used;  /* int64: old index of each new value */
  struct ArrowArray values;
  const void *buffers[2];
};

void csf_reindex_init(struct csf_reindex *reindex, const struct colshuf_allocator *allocator);
void csf_reindex_clear(struct csf_reindex *reindex);

/*
 * Makes *out stand for rows [start, start + length) of array: with indices of `width` bytes, and without the values that no row
 * uses when there are more values than rows. New values come in order of first use, those of an ordered dictionary in their order.
 * resolve_nulls: rows whose value is null become null rows, and no value is null: Comet looks at the rows alone.
 * Input:   field has a dictionary; array is borrowed and must outlive *out.
 * Output:  *out has no release and is good until the next call with this scratch. Null rows have index 0.
 * Errors:  INVALID_ARGUMENT (an index outside the dictionary), LIMIT (more than 2^31 - 1 values), NO_MEMORY.
 */
enum colshuf_status csf_reindex_column(struct csf_reindex *reindex, const struct csf_field *field, const struct ArrowArray *array,
                                       int64_t start, int64_t length, int32_t width, bool resolve_nulls,
                                       struct ArrowArray *out, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
