/* SPDX-License-Identifier: Apache-2.0 */
/* Four rows at a time with NEON. */
#include "partition/murmur3.h"

#if defined(__aarch64__)
#include <arm_neon.h>

enum { LANES = 4 };

static inline uint32x4_t mix_h1(uint32x4_t h, uint32x4_t k) {
  k = vmulq_n_u32(k, 0xcc9e2d51u);
  k = vmulq_n_u32(vsriq_n_u32(vshlq_n_u32(k, 15), k, 17), 0x1b873593u);
  h = veorq_u32(h, k);
  h = vsriq_n_u32(vshlq_n_u32(h, 13), h, 19);
  return vaddq_u32(vaddq_u32(h, vshlq_n_u32(h, 2)), vdupq_n_u32(0xe6546b64u)); /* times 5 */
}

static inline uint32x4_t mix_end(uint32x4_t h, uint32_t size) {
  h = veorq_u32(h, vdupq_n_u32(size));
  h = vmulq_n_u32(veorq_u32(h, vshrq_n_u32(h, 16)), 0x85ebca6bu);
  h = vmulq_n_u32(veorq_u32(h, vshrq_n_u32(h, 13)), 0xc2b2ae35u);
  return veorq_u32(h, vshrq_n_u32(h, 16));
}

static inline uint32x4_t hash_int(uint32x4_t value, uint32x4_t h) {
  return mix_end(mix_h1(h, value), 4);
}

/* a holds the words of values 0 and 1, b those of 2 and 3. */
static inline uint32x4_t hash_long(uint32x4_t a, uint32x4_t b, uint32x4_t h) {
  return mix_end(mix_h1(mix_h1(h, vuzp1q_u32(a, b)), vuzp2q_u32(a, b)), 8);
}

static inline uint32x4_t load(const uint8_t *place) {
  return vreinterpretq_u32_u8(vld1q_u8(place));
}

/* Keeps the seed of rows that are null. */
static inline void store(uint32_t *place, uint32x4_t h, uint32x4_t old, const struct csf_rows *rows, size_t i) {
  if (rows->validity != NULL) {
    uint32_t valid[LANES];
    for (size_t lane = 0; lane < LANES; lane++) valid[lane] = csf_rows_valid(rows, i + lane) ? UINT32_MAX : 0;
    h = vbslq_u32(vld1q_u32(valid), h, old);
  }
  vst1q_u32(place, h);
}

static inline struct csf_rows rest_of(const struct csf_rows *rows, size_t i) {
  return (struct csf_rows){rows->validity, rows->bit + (int64_t)i, rows->n - i};
}

static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    uint32x4_t old = vld1q_u32(seeds + i);
    store(h + i, hash_int(load(place + 4 * i), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.ints(place + 4 * i, &rest, seeds + i, h + i);
}

static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    uint32x4_t old = vld1q_u32(seeds + i);
    store(h + i, hash_long(load(place + 8 * i), load(place + 8 * i + 16), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.longs(place + 8 * i, &rest, seeds + i, h + i);
}

/* The low halves of two values of 16 bytes. */
static inline uint32x4_t load_low(const uint8_t *place) {
  return vreinterpretq_u32_u64(vcombine_u64(vreinterpret_u64_u8(vld1_u8(place)), vreinterpret_u64_u8(vld1_u8(place + 16))));
}

static void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    uint32x4_t old = vld1q_u32(seeds + i);
    store(h + i, hash_long(load_low(place + 16 * i), load_low(place + 16 * i + 32), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
static inline uint32x4_t float_bits(uint32x4_t bits, bool one_nan) {
  float32x4_t value = vreinterpretq_f32_u32(bits);
  bits = vbicq_u32(bits, vceqzq_f32(value));
  return one_nan ? vbslq_u32(vceqq_f32(value, value), bits, vdupq_n_u32(0x7fc00000u)) : bits;
}

static inline uint32x4_t double_bits(uint32x4_t words, bool one_nan) {
  uint64x2_t bits = vreinterpretq_u64_u32(words);
  float64x2_t value = vreinterpretq_f64_u32(words);
  bits = vbicq_u64(bits, vceqzq_f64(value));
  if (one_nan) bits = vbslq_u64(vceqq_f64(value, value), bits, vdupq_n_u64(0x7ff8000000000000u));
  return vreinterpretq_u32_u64(bits);
}

static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    uint32x4_t old = vld1q_u32(seeds + i);
    store(h + i, hash_int(float_bits(load(place + 4 * i), one_nan), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.floats(place + 4 * i, &rest, one_nan, seeds + i, h + i);
}

static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    uint32x4_t old = vld1q_u32(seeds + i);
    uint32x4_t a = double_bits(load(place + 8 * i), one_nan), b = double_bits(load(place + 8 * i + 16), one_nan);
    store(h + i, hash_long(a, b, old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.doubles(place + 8 * i, &rest, one_nan, seeds + i, h + i);
}

/* There is no gather: strings go one by one. */
static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  csf_murmur3_scalar.strings(strings, rows, seeds, h);
}

static void pmod(uint32_t *place, size_t n, const struct csf_divisor *by) {
  const uint32x4_t divisor = vdupq_n_u32(by->n);
  const int32x2_t multiplier = vdup_n_s32(by->multiplier);
  const int32x4_t shift = vdupq_n_s32(-(int32_t)by->shift);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    uint32x4_t hash = vld1q_u32(place + i);
    int32x4_t h = vreinterpretq_s32_u32(hash);
    int32x2_t low = vshrn_n_s64(vmull_s32(vget_low_s32(h), multiplier), 32);
    int32x2_t high = vshrn_n_s64(vmull_s32(vget_high_s32(h), multiplier), 32);
    int32x4_t q = vshlq_s32(vaddq_s32(h, vcombine_s32(low, high)), shift);
    uint32x4_t r = vmlsq_u32(hash, vreinterpretq_u32_s32(q), divisor);
    vst1q_u32(place + i, vminq_u32(r, vsubq_u32(r, divisor)));
  }
  csf_murmur3_scalar.pmod(place + i, n - i, by);
}

static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const int32x4_t last = vdupq_n_s32((int32_t)(limit - 1));
  int32x4_t fault = vdupq_n_s32(0);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    int32x4_t id = vld1q_s32(ids + i);
    fault = vorrq_s32(fault, vorrq_s32(id, vsubq_s32(last, id)));
  }
  return vminvq_s32(fault) >= 0 && csf_murmur3_scalar.in_range(ids + i, n - i, limit);
}

const struct csf_murmur3 csf_murmur3_neon = {
    .name = "neon",
    .ints = hash_ints,
    .longs = hash_longs,
    .decimals = hash_decimals,
    .floats = hash_floats,
    .doubles = hash_doubles,
    .strings = hash_strings,
    .pmod = pmod,
    .in_range = in_range,
};
#endif
