/* SPDX-License-Identifier: Apache-2.0 */
/* Murmur3 of key columns, row by row, for every type. */
#ifndef CSF_PARTITION_HASH_H
#define CSF_PARTITION_HASH_H

#include "colshuf/partition.h"
#include "partition/column.h"

struct csf_divisor;

/*
 * h[i] = the hash of row i over columns[0..n_columns), folded from left to right beginning with seed, for i < n_rows. The
 * columns are bound to a batch of at least n_rows. scratch grows to what a dictionary of distinct values needs, and is kept by
 * the caller. by: NULL, or a divisor; then h[i] is the floored remainder of the hash. Errors: NO_MEMORY.
 */
enum colshuf_status csf_hash_columns(const struct csf_column *columns, int32_t n_columns, int64_t n_rows, uint32_t seed,
                                     enum colshuf_rules rules, const struct csf_divisor *by, struct csf_buffer *scratch,
                                     uint32_t *h, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The same for one value, without any choice of instruction set: what the vectors are tested against. */
uint32_t csf_hash_value(const struct csf_column *column, int64_t row, uint32_t seed, enum colshuf_rules rules);

#endif
