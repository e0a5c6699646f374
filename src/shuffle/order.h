/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch in the order of their partitions, and where each partition that has rows begins. */
#ifndef CSF_SHUFFLE_ORDER_H
#define CSF_SHUFFLE_ORDER_H

#include "base/memory.h"

struct csf_order {
  struct colshuf_allocator allocator;
  struct csf_buffer rows;    /* u32 for each row: which row comes there */
  struct csf_buffer parts;   /* i32: the partitions that have rows, rising */
  struct csf_buffer starts;  /* u32: where in rows each of them begins, and the end */
  struct csf_buffer scratch; /* counters, or keys being sorted */
  int32_t n_parts;
};

void csf_order_init(struct csf_order *order, const struct colshuf_allocator *allocator);
void csf_order_clear(struct csf_order *order);

/*
 * ids[0..n) in [0, n_partitions); stable. Counts partitions where they are not many more than the rows; else sorts by
 * digits, so that time and memory go with the rows and not with the partitions.
 */
enum colshuf_status csf_order_rows(struct csf_order *order, const int32_t *ids, uint32_t n, int32_t n_partitions,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
