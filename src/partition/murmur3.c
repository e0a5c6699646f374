/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar kernels, and the choice among the variants. */
#include "partition/murmur3.h"

#include <stdatomic.h>

#include "base/cpu.h"

static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  for (size_t i = 0; i < rows->n; i++) {
    h[i] = csf_rows_valid(rows, i) ? csf_hash_int(csf_load_u32(place + 4 * i), seeds[i]) : seeds[i];
  }
}

static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  for (size_t i = 0; i < rows->n; i++) {
    h[i] = csf_rows_valid(rows, i) ? csf_hash_long(csf_load_u64(place + 8 * i), seeds[i]) : seeds[i];
  }
}

static void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  for (size_t i = 0; i < rows->n; i++) {
    h[i] = csf_rows_valid(rows, i) ? csf_hash_long(csf_load_u64(place + 16 * i), seeds[i]) : seeds[i];
  }
}

static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  for (size_t i = 0; i < rows->n; i++) {
    h[i] = csf_rows_valid(rows, i) ? csf_hash_int(csf_float_bits(csf_load_u32(place + 4 * i), one_nan), seeds[i]) : seeds[i];
  }
}

static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  for (size_t i = 0; i < rows->n; i++) {
    h[i] = csf_rows_valid(rows, i) ? csf_hash_long(csf_double_bits(csf_load_u64(place + 8 * i), one_nan), seeds[i]) : seeds[i];
  }
}

static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  for (size_t i = 0; i < rows->n; i++) {
    struct csf_span text = csf_strings_at(strings, i);
    h[i] = csf_rows_valid(rows, i) ? csf_hash_bytes(text.data, text.size, seeds[i]) : seeds[i];
  }
}

static void pmod(uint32_t *h, size_t n, const struct csf_divisor *by) {
  for (size_t i = 0; i < n; i++) h[i] = csf_pmod(h[i], by);
}

static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  uint32_t fault = 0;
  for (size_t i = 0; i < n; i++) fault |= csf_range_fault(ids[i], limit);
  return fault >> 31 == 0;
}

const struct csf_murmur3 csf_murmur3_scalar = {
    .name = "scalar",
    .ints = hash_ints,
    .longs = hash_longs,
    .decimals = hash_decimals,
    .floats = hash_floats,
    .doubles = hash_doubles,
    .strings = hash_strings,
    .pmod = pmod,
    .in_range = in_range,
};

struct csf_divisor csf_divisor_of(uint32_t n) {
  uint32_t l = n > 2 ? 32 - (uint32_t)__builtin_clz(n - 1) : 1;
  uint64_t multiplier = (UINT64_C(1) << (31 + l)) / n + 1;
  return (struct csf_divisor){.n = n, .multiplier = (int32_t)(uint32_t)multiplier, .shift = l - 1};
}

static const struct csf_murmur3 *choose(void) {
#if defined(__x86_64__)
  if (csf_cpu()->avx512) return &csf_murmur3_avx512;
  if (csf_cpu()->avx2) return &csf_murmur3_avx2;
#elif defined(__aarch64__)
  if (csf_cpu()->neon) return &csf_murmur3_neon;
#endif
  return &csf_murmur3_scalar;
}

const struct csf_murmur3 *csf_murmur3_get(void) {
  static const struct csf_murmur3 *_Atomic chosen;
  const struct csf_murmur3 *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (kernels == NULL) {
    kernels = choose();
    atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
  }
  return kernels;
}
