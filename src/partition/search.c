/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bisection by halving steps: place += step when the number at the end of the step is still before the wanted one. Each step of
 * one search waits for the one before; LANES searches side by side fill the wait.
 */
#include "partition/search.h"

enum { LANES = 16 };

enum colshuf_status csf_search_init(struct csf_search *search, size_t n, const struct colshuf_allocator *allocator,
                                    struct colshuf_error *err) {
  size_t capacity = 1;
  while (capacity <= n) capacity *= 2;
  uint64_t *numbers = csf_alloc(allocator, capacity * sizeof *numbers);
  if (numbers == NULL) return csf_fail_memory(err, capacity * sizeof *numbers);
  memset(numbers, 0xff, capacity * sizeof *numbers);
  *search = (struct csf_search){.allocator = *allocator, .numbers = numbers, .n = n, .capacity = capacity};
  return COLSHUF_OK;
}

void csf_search_clear(struct csf_search *search) {
  if (search->numbers == NULL) return;
  csf_free(&search->allocator, search->numbers, search->capacity * sizeof *search->numbers);
  *search = (struct csf_search){0};
}

/* The padding is the largest number: never < any, but <= itself, hence the limit. */
static inline int32_t limited(size_t place, size_t n) {
  return (int32_t)(place < n ? place : n);
}

static inline __attribute__((always_inline)) void search_lanes(const struct csf_search *search, const uint64_t *wanted,
                                                               size_t n, bool upper, int32_t *places) {
  size_t at[LANES] = {0};
  for (size_t step = search->capacity / 2; step > 0; step /= 2) {
    for (size_t lane = 0; lane < n; lane++) {
      uint64_t number = search->numbers[at[lane] + step - 1];
      bool before = upper ? number <= wanted[lane] : number < wanted[lane];
      at[lane] += before ? step : 0;
    }
  }
  for (size_t lane = 0; lane < n; lane++) places[lane] = limited(at[lane], search->n);
}

void csf_search_run(const struct csf_search *search, const uint64_t *wanted, size_t n, bool upper, int32_t *places) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    if (upper) search_lanes(search, wanted + i, LANES, true, places + i);
    else search_lanes(search, wanted + i, LANES, false, places + i);
  }
  search_lanes(search, wanted + i, n - i, upper, places + i);
}

size_t csf_search_after(const struct csf_search *search, size_t first, uint64_t number) {
  size_t from = first, to = search->n;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (search->numbers[middle] == number) from = middle + 1;
    else to = middle;
  }
  return from;
}
