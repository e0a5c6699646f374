/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Murmur3_x86_32 as Spark uses it (docs/formats/partitioning.md): the primitives, and the kernels over runs of rows with one
 * variant for each instruction set. All hashes are running ones: seeds[i] is what row i is at, h[i] what it becomes; seeds may
 * be h.
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

/* Rows of a column: row i is valid when bit `bit` + i of validity is set; validity NULL = all are. Invalid rows keep their
 * seed. */
struct csf_rows {
  const uint8_t *validity;
  int64_t bit;
  size_t n;
};

static inline bool csf_rows_valid(const struct csf_rows *rows, size_t i) {
  return rows->validity == NULL || csf_bit_get(rows->validity, rows->bit + (int64_t)i);
}

/*
 * Strings: row i is data[begin[i] .. stop[i]), all within data[0 .. end) and end <= 2^31 - 1 (so that they can be gathered).
 * begin and stop are 32-bit numbers at any address; the offsets of an Arrow array are both, one apart.
 */
struct csf_strings {
  const uint8_t *data;
  size_t end;
  const uint8_t *begin;
  const uint8_t *stop;
};

static inline struct csf_span csf_strings_at(const struct csf_strings *strings, size_t i) {
  uint32_t begin = csf_load_u32(strings->begin + 4 * i);
  return (struct csf_span){strings->data + begin, csf_load_u32(strings->stop + 4 * i) - begin};
}

/* Those from row i on. */
static inline struct csf_strings csf_strings_from(const struct csf_strings *strings, size_t i) {
  return (struct csf_strings){strings->data, strings->end, strings->begin + 4 * i, strings->stop + 4 * i};
}

/*
 * Whether n strings are worth going side by side, a word of each at a time, until the longest ends: short ones always, and long
 * ones when half of the words or so are there. (Where texts have gaps between them this is a guess, which decides on speed
 * only.)
 */
static inline bool csf_strings_suit_lanes(const struct csf_strings *some, uint32_t longest, uint32_t n) {
  uint64_t total = csf_load_u32(some->stop + 4 * (n - 1)) - csf_load_u32(some->begin);
  return longest <= 64 || (uint64_t)longest * n <= 3 * total;
}

/*
 * A divisor n of 1 .. 2^31 - 1 made ready for Spark's pmod of any hash without a division. Spark's pmod is the mathematical,
 * floored one.
 *
 * Granlund and Montgomery's scheme for signed numbers: with l = max(1, ceil(log2 n)) and M = floor(2^(31 + l) / n) + 1,
 * q = floor(M h / 2^(31 + l)). Why: M n = 2^(31 + l) + e with 1 <= e <= n <= 2^l, so M / 2^(31 + l) exceeds 1 / n by e / (n
 * 2^(31 + l)).
 * - h >= 0: M h / 2^(31 + l) exceeds h / n by less than e / (n 2^l) <= 1 / n, and h / n lies at least 1 / n below the next
 * whole number: q is floor(h / n), and h - q n the remainder.
 * - h < 0, -h = k n + t with 0 <= t < n: -h M / 2^(31 + l) exceeds k + t / n by more than 0 and by at most 1 / n, so it lies in
 * (k, k + 1], and q = -(k + 1). Then h - q n = n - t: the floored remainder, but n in place of 0. As unsigned numbers, the
 * smaller of r and r - n mends that and leaves all others. M lies in (2^31, 2^32], so multiplier = M - 2^32 fits 32 bits, and
 * floor(M h / 2^32) = h + floor(multiplier h / 2^32), in 32 bits too.
 */
struct csf_divisor {
  uint32_t n;
  int32_t multiplier; /* M - 2^32 */
  uint32_t shift;     /* l - 1 */
};

struct csf_divisor csf_divisor_of(uint32_t n);

static inline uint32_t csf_pmod(uint32_t hash, const struct csf_divisor *by) {
  int32_t h = (int32_t)hash;
  uint32_t high = (uint32_t)((int64_t)by->multiplier * h >> 32);
  int32_t q = (int32_t)(hash + high) >> by->shift; /* n = 1 wraps, and is right all the same */
  uint32_t r = hash - (uint32_t)q * by->n;
  return r < by->n ? r : r - by->n;
}

/* Bit 31 is set when an id is not in [0, limit): id itself is negative, or limit - 1 - id is. */
static inline uint32_t csf_range_fault(int32_t id, uint32_t limit) {
  return (uint32_t)id | (limit - 1 - (uint32_t)id);
}

/* One variant of each kernel. values may stand at any address. */
struct csf_murmur3 {
  const char *name;
  void (*ints)(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h); /* 4 bytes, csf_hash_int */
  void (*longs)(const void *values, const struct csf_rows *rows, const uint32_t *seeds,
                uint32_t *h); /* 8 bytes, csf_hash_long */
  void (*decimals)(const void *values, const struct csf_rows *rows, const uint32_t *seeds,
                   uint32_t *h); /* low 8 of 16 bytes, so */
  void (*floats)(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h);
  void (*doubles)(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h);
  void (*strings)(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h);
  void (*pmod)(uint32_t *h, size_t n, const struct csf_divisor *by); /* in place */
  bool (*in_range)(const int32_t *ids, size_t n, uint32_t limit);    /* all in [0, limit), limit < 2^31 */
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
