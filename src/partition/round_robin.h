/* SPDX-License-Identifier: Apache-2.0 */
/* Spark's round robin: where a task starts, and in which order it deals its rows out. */
#ifndef CSF_PARTITION_ROUND_ROBIN_H
#define CSF_PARTITION_ROUND_ROBIN_H

#include "partition/column.h"

/* Spark's generator of random numbers (org.apache.spark.util.random.XORShiftRandom). */
struct csf_random {
  uint64_t state;
};
struct csf_random csf_random_seeded(int64_t seed);
int32_t csf_random_below(struct csf_random *random, int32_t n); /* in [0, n), n >= 1 */
double csf_random_double(struct csf_random *random);            /* in [0, 1) */

/*
 * order[0..n_rows) = the rows in the order in which Spark sorts them before dealing them out: by the hash of their UnsafeRow
 * bytes as a signed number, then by the bytes' count, then by the bytes. columns: all of the batch, bound. scratch is kept by
 * the caller. Errors: LIMIT, NO_MEMORY.
 */
struct csf_row_sorter {
  struct csf_buffer entries;
  struct csf_buffer bytes;
  struct csf_buffer ties;
};
void csf_row_sorter_init(struct csf_row_sorter *sorter, const struct colshuf_allocator *allocator);
void csf_row_sorter_clear(struct csf_row_sorter *sorter);
enum colshuf_status csf_row_sorter_run(struct csf_row_sorter *sorter, const struct csf_column *columns, int32_t n_columns,
                                       uint32_t n_rows, const uint64_t **order, struct colshuf_error *err) COLSHUF_MUST_USE;
static inline uint32_t csf_row_sorter_row(uint64_t entry) {
  return (uint32_t)entry;
}

#endif
