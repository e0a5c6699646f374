/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Murmur3_x86_32 as Spark uses it (docs/formats/partitioning.md): the primitives, and the kernels over runs of rows with one variant
 * for each instruction set. All hashes are running ones: what stands in h[i] is the seed of row i, and is replaced.
 */
#ifndef CSF_PARTITION_MURMUR3_H
#define CSF_PARTITION_MURMUR3_H

#include "base/bytes.h"

static inline uint32_t csf_rotate_left(uint32_t value, unsigned bits) {
  return (value << bits) | (value >> (32 - bits));
}

static inline uint32_t csf_mix_k1(uint32_t k) {
  return csf_rotate_left(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static inline uint32_t csf_mix_h1(uint32_t h, uint32_t k) {
  return csf_rotate_left(h ^ csf_mix_k1(k), 13) * 5 + 0xe6546b64u;
}

static inline uint32_t csf_mix_end(uint32_t h, uint32_t size) {
  h ^= size;
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

static inline uint32_t csf_hash_int(uint32_t value, uint32_t seed) {
  return csf_mix_end(csf_mix_h1(seed, value), 4);
}

static inline uint32_t csf_hash_long(uint64_t value, uint32_t seed) {
  return csf_mix_end(csf_mix_h1(csf_mix_h1(seed, (uint32_t)value), (uint32_t)(value >> 32)), 8);
}

/* Spark's own tail: each of the last 0 to 3 bytes is mixed by itself, sign-extended as a Java byte is. */
static inline uint32_t csf_hash_bytes(const uint8_t *data, size_t size, uint32_t seed) {
  uint32_t h = seed;
  size_t i = 0;
  for (; i + 4 <= size; i += 4) h = csf_mix_h1(h, csf_load_u32(data + i));
  for (; i < size; i++) h = csf_mix_h1(h, (uint32_t)(int32_t)(int8_t)data[i]);
  return csf_mix_end(h, (uint32_t)size);
}

/* Zeros of both signs hash alike everywhere; NaNs do by Spark's rule, while Comet hashes the bits of a NaN as they are. */
static inline uint32_t csf_float_bits(uint32_t bits, bool one_nan) {
  if ((bits << 1) == 0) return 0;
  return one_nan && (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

static inline uint64_t csf_double_bits(uint64_t bits, bool one_nan) {
  if ((bits << 1) == 0) return 0;
  return one_nan && (bits & INT64_MAX) > 0x7ff0000000000000u ? 0x7ff8000000000000u : bits;
}

/* Rows of a column: row i is valid when bit `bit` + i of validity is set; validity NULL = all are. Invalid rows keep their hash. */
struct csf_rows {
  const uint8_t *validity;
  int64_t bit;
  size_t n;
};

static inline bool csf_rows_valid(const struct csf_rows *rows, size_t i) {
  return rows->validity == NULL || csf_bit_get(rows->validity, rows->bit + (int64_t)i);
}

/* Strings: row i is data[begin[i] .. begin[i] + size[i]), all within data[0 .. end) and end <= 2^31 - 1 (so that they can be gathered). */
struct csf_strings {
  const uint8_t *data;
  size_t end;
  const uint32_t *begin;
  const uint32_t *size;
};

/*
 * A divisor of 1 .. 2^31 - 1 made ready for the remainder of any 32-bit number without a division.
 *
 * Granlund and Montgomery's scheme: with l = ceil(log2 n) and m = floor(2^32 (2^l - n) / n) + 1, the quotient of any
 * u < 2^32 is q = (t + ((u - t) >> s1)) >> s2, where t = (m u) >> 32, s1 = min(l, 1), s2 = l - s1. Why: the true multiplier is
 * M = 2^32 + m = floor(2^(32 + l) / n) + 1, which exceeds 2^(32 + l) / n by some e with 0 < e <= 1. So M u / 2^(32 + l) exceeds u / n by
 * less than 2^-l <= 1 / n; and u / n lies at least 1 / n below the next whole number, hence the floor is the same. M has 33 bits: t plus half
 * of u - t is half of (M u) >> 32, formed without overflow. (n = 1 has l = 0, t = 0, q = u.)
 *
 * Spark's pmod is the mathematical (floored) one. With u = h + 2^31, in [0, 2^32), it is (u - 2^31) mod n = (u mod n) - bias, plus n when
 * that is negative; bias = 2^31 mod n.
 */
struct csf_divisor {
  uint32_t n;
  uint32_t multiplier;
  uint32_t shift1;
  uint32_t shift2;
  uint32_t bias;
};

struct csf_divisor csf_divisor_of(uint32_t n);

static inline uint32_t csf_pmod(uint32_t h, const struct csf_divisor *by) {
  uint32_t u = h ^ 0x80000000u;
  uint32_t t = (uint32_t)(((uint64_t)by->multiplier * u) >> 32);
  uint32_t q = (t + ((u - t) >> by->shift1)) >> by->shift2;
  uint32_t r = u - q * by->n;
  return r >= by->bias ? r - by->bias : r + by->n - by->bias;
}

/* One variant of each kernel. values may stand at any address. */
struct csf_murmur3 {
  const char *name;
  void (*ints)(const void *values, const struct csf_rows *rows, uint32_t *h);  /* 4-byte values through csf_hash_int */
  void (*longs)(const void *values, const struct csf_rows *rows, uint32_t *h); /* 8-byte values through csf_hash_long */
  void (*floats)(const void *values, const struct csf_rows *rows, bool one_nan, uint32_t *h);
  void (*doubles)(const void *values, const struct csf_rows *rows, bool one_nan, uint32_t *h);
  void (*strings)(const struct csf_strings *strings, const struct csf_rows *rows, uint32_t *h);
  void (*pmod)(uint32_t *h, size_t n, const struct csf_divisor *by); /* in place */
};

extern const struct csf_murmur3 csf_murmur3_scalar; /* the oracle of the others */
#if defined(__x86_64__)
extern const struct csf_murmur3 csf_murmur3_avx2;
extern const struct csf_murmur3 csf_murmur3_avx512;
#elif defined(__aarch64__)
extern const struct csf_murmur3 csf_murmur3_neon;
#endif

/* The best variant for this machine; the same at every call. Any thread. */
const struct csf_murmur3 *csf_murmur3_get(void);

#endif
