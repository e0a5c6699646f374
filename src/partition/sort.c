/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/sort.h"

#include <string.h>

enum { RUN = 8, RADIX_BITS = 8, RADIX_PASSES = 4 };

static void insertion_sort(uint32_t *items, size_t n, csf_compare_fn *compare, void *ctx) {
  for (size_t i = 1; i < n; i++) {
    uint32_t item = items[i];
    size_t j = i;
    for (; j > 0 && compare(ctx, items[j - 1], item) > 0; j--) items[j] = items[j - 1];
    items[j] = item;
  }
}

static void merge(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, uint32_t *out, csf_compare_fn *compare,
                  void *ctx) {
  size_t i = 0, j = 0;
  while (i < n_a && j < n_b) *out++ = compare(ctx, b[j], a[i]) < 0 ? b[j++] : a[i++];
  memcpy(out, a + i, (n_a - i) * sizeof *out);
  memcpy(out + (n_a - i), b + j, (n_b - j) * sizeof *out);
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Short runs by insertion, then runs merged in pairs from one array into the other. */
void csf_sort_by(uint32_t *items, uint32_t *spare, size_t n, csf_compare_fn *compare, void *ctx) {
  for (size_t i = 0; i < n; i += RUN) insertion_sort(items + i, least(RUN, n - i), compare, ctx);
  uint32_t *from = items, *to = spare;
  for (size_t width = RUN; width < n; width *= 2) {
    for (size_t i = 0; i < n; i += 2 * width) {
      size_t n_a = least(width, n - i);
      merge(from + i, n_a, from + i + n_a, least(width, n - i - n_a), to + i, compare, ctx);
    }
    uint32_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != items) memcpy(items, from, n * sizeof *items);
}

static void radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift) {
  size_t next[1 << RADIX_BITS] = {0};
  for (size_t i = 0; i < n; i++) next[(from[i] >> shift) & ((1 << RADIX_BITS) - 1)]++;
  size_t sum = 0;
  for (size_t digit = 0; digit < 1 << RADIX_BITS; digit++) {
    size_t count = next[digit];
    next[digit] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) to[next[(from[i] >> shift) & ((1 << RADIX_BITS) - 1)]++] = from[i];
}

/* The number of passes is even: the result ends where it began. */
void csf_sort_by_key(uint64_t *entries, uint64_t *spare, size_t n) {
  for (unsigned pass = 0; pass < RADIX_PASSES; pass += 2) {
    radix_pass(entries, spare, n, 32 + RADIX_BITS * pass);
    radix_pass(spare, entries, n, 32 + RADIX_BITS * (pass + 1));
  }
}
