/* SPDX-License-Identifier: Apache-2.0 */
/* Spark's total order of values (or Comet's, where it differs: floats), and a number that stands for the first part of it. */
#ifndef CSF_PARTITION_COMPARE_H
#define CSF_PARTITION_COMPARE_H

#include "colshuf/partition.h"
#include "partition/column.h"

struct csf_order {
  bool descending; /* turns values around, not nulls */
  bool nulls_last;
};

/*
 * < 0, 0 or > 0: row a_row of a against row b_row of b, columns of the same types (dictionaries aside), both valid. Within
 * lists and structs nulls come first. The columns must have been built for CSF_USE_ORDER.
 */
int csf_compare_values(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                       enum colshuf_rules rules);

/* The same for rows of n_keys columns, nulls included. */
int csf_compare_rows(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                     const struct csf_order *orders, int32_t n_keys, enum colshuf_rules rules);

/* Whether a value is null, itself or behind its dictionary. */
bool csf_order_is_null(const struct csf_column *column, int64_t row);
bool csf_order_may_be_null(const struct csf_column *column);

/*
 * A number for a valid value such that a < b implies prefix(a) <= prefix(b). Exact types: equal numbers mean equal values, too.
 */
uint64_t csf_order_prefix(const struct csf_column *column, int64_t row, enum colshuf_rules rules);
bool csf_order_prefix_is_exact(const struct csf_column *column);

/* The numbers of rows start .. start + n; of null rows any number. */
void csf_order_prefixes(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint64_t *out);

#endif
