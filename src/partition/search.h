/* SPDX-License-Identifier: Apache-2.0 */
/* Places of many numbers among sorted ones, without branches that depend on them. */
#ifndef CSF_PARTITION_SEARCH_H
#define CSF_PARTITION_SEARCH_H

#include "base/bytes.h"

struct csf_search {
  struct colshuf_allocator allocator;
  uint64_t *numbers; /* n sorted ones, then the largest number up to `capacity` = a power of two */
  size_t n;
  size_t capacity;
};

/* The numbers are to be filled in, sorted, by the caller. Errors: NO_MEMORY. */
enum colshuf_status csf_search_init(struct csf_search *search, size_t n, const struct colshuf_allocator *allocator,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_search_clear(struct csf_search *search); /* all-zero is fine */

/* places[i] = how many of the sorted numbers are < wanted[i], or with upper, <= wanted[i]. */
void csf_search_run(const struct csf_search *search, const uint64_t *wanted, size_t n, bool upper, int32_t *places);

/* The end of the run of `number` that begins at first. */
size_t csf_search_after(const struct csf_search *search, size_t first, uint64_t number);

#endif
