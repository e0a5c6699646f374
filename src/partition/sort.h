/* SPDX-License-Identifier: Apache-2.0 */
/* Stable sorting of row numbers, by a comparison or by a 32-bit key; all storage is the caller's. */
#ifndef CSF_PARTITION_SORT_H
#define CSF_PARTITION_SORT_H

#include <stddef.h>
#include <stdint.h>

/* < 0 when a stands before b, 0 when they are equal. */
typedef int csf_compare_fn(void *ctx, uint32_t a, uint32_t b);

/* Sorts items[0..n); spare[n] is overwritten. */
void csf_sort_by(uint32_t *items, uint32_t *spare, size_t n, csf_compare_fn *compare, void *ctx);

/* Sorts entries by their upper 32 bits; spare[n] is overwritten. */
void csf_sort_by_key(uint64_t *entries, uint64_t *spare, size_t n);

#endif
