/* SPDX-License-Identifier: Apache-2.0 */
/* Range partitioning: the bounds, and the search for the place of each row among them. */
#ifndef CSF_PARTITION_RANGE_H
#define CSF_PARTITION_RANGE_H

#include "partition/compare.h"
#include "partition/keys.h"

struct csf_range;

/*
 * keys: the key columns of the schema, built for CSF_USE_ORDER. Bounds are copied.
 * Errors: INVALID_ARGUMENT (bounds that do not fit the keys, are out of order, repeat, or are more than n_partitions - 1),
 * NO_MEMORY, and what csf_schema_import and csf_array_validate say of the bounds.
 */
enum colshuf_status csf_range_new(const struct csf_keys *keys, const struct colshuf_partitioner_options *options,
                                  const struct colshuf_allocator *allocator, struct csf_range **out,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_range_free(struct csf_range *range);

/*
 * ids[i] = by Spark's rule the number of bounds less than row i of keys, by Comet's of those not greater; i < n_rows. Never
 * allocates.
 */
void csf_range_ids(const struct csf_range *range, const struct csf_keys *keys, int64_t n_rows, int32_t *ids);

#endif
