/* SPDX-License-Identifier: Apache-2.0 */
/* Eight rows at a time with AVX2. */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define INLINE_AVX2 AVX2 static inline __attribute__((always_inline))

enum { LANES = 8 };

INLINE_AVX2 __m256i rotate(__m256i value, int bits) {
  return _mm256_or_si256(_mm256_slli_epi32(value, bits), _mm256_srli_epi32(value, 32 - bits));
}

INLINE_AVX2 __m256i times(__m256i value, uint32_t factor) {
  return _mm256_mullo_epi32(value, _mm256_set1_epi32((int)factor));
}

INLINE_AVX2 __m256i mix_h1(__m256i h, __m256i k) {
  k = times(rotate(times(k, 0xcc9e2d51u), 15), 0x1b873593u);
  h = rotate(_mm256_xor_si256(h, k), 13);
  h = _mm256_add_epi32(h, _mm256_slli_epi32(h, 2)); /* times 5 */
  return _mm256_add_epi32(h, _mm256_set1_epi32((int)0xe6546b64u));
}

INLINE_AVX2 __m256i mix_end(__m256i h, __m256i size) {
  h = _mm256_xor_si256(h, size);
  h = times(_mm256_xor_si256(h, _mm256_srli_epi32(h, 16)), 0x85ebca6bu);
  h = times(_mm256_xor_si256(h, _mm256_srli_epi32(h, 13)), 0xc2b2ae35u);
  return _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
}

INLINE_AVX2 __m256i hash_int(__m256i value, __m256i h) {
  return mix_end(mix_h1(h, value), _mm256_set1_epi32(4));
}

/* Sixty-four-bit values 0-3 and 4-7. Their halves come apart by lanes of 128 bits as 0 1 4 5 2 3 6 7; the middle pairs change
 * places. */
INLINE_AVX2 __m256i hash_long(__m256i a, __m256i b, __m256i h) {
  __m256 fa = _mm256_castsi256_ps(a), fb = _mm256_castsi256_ps(b);
  __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0x88));
  __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0xdd));
  low = _mm256_permute4x64_epi64(low, 0xd8);
  high = _mm256_permute4x64_epi64(high, 0xd8);
  return mix_end(mix_h1(mix_h1(h, low), high), _mm256_set1_epi32(8));
}

/* Bits bit .. bit + 8 of validity, without reading a byte that holds none of them. */
INLINE_AVX2 unsigned bits_at(const uint8_t *validity, int64_t bit) {
  const uint8_t *place = validity + bit / 8;
  unsigned shift = (unsigned)bit & 7;
  unsigned bits = *place;
  if (shift != 0) bits |= (unsigned)place[1] << 8;
  return (bits >> shift) & 0xff;
}

/* All ones in the lanes whose bit is set. */
INLINE_AVX2 __m256i lanes_of(unsigned bits) {
  const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}

INLINE_AVX2 __m256i load(const void *place) {
  return _mm256_loadu_si256(place);
}

/* Keeps the seed of rows that are null. */
INLINE_AVX2 void store(uint32_t *place, __m256i h, __m256i old, const struct csf_rows *rows, size_t i) {
  if (rows->validity != NULL) h = _mm256_blendv_epi8(old, h, lanes_of(bits_at(rows->validity, rows->bit + (int64_t)i)));
  _mm256_storeu_si256((__m256i *)(void *)place, h);
}

INLINE_AVX2 struct csf_rows rest_of(const struct csf_rows *rows, size_t i) {
  return (struct csf_rows){rows->validity, rows->bit + (int64_t)i, rows->n - i};
}

AVX2 static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i old = load(seeds + i);
    store(h + i, hash_int(load(place + 4 * i), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.ints(place + 4 * i, &rest, seeds + i, h + i);
}

AVX2 static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i old = load(seeds + i);
    store(h + i, hash_long(load(place + 8 * i), load(place + 8 * i + 32), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.longs(place + 8 * i, &rest, seeds + i, h + i);
}

/* The low halves of four values of 16 bytes. */
INLINE_AVX2 __m256i load_low(const uint8_t *place) {
  return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(load(place), load(place + 32)), 0xd8);
}

AVX2 static void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i old = load(seeds + i);
    store(h + i, hash_long(load_low(place + 16 * i), load_low(place + 16 * i + 64), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE_AVX2 __m256i float_bits(__m256i bits, bool one_nan) {
  __m256 value = _mm256_castsi256_ps(bits);
  bits = _mm256_andnot_si256(_mm256_castps_si256(_mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  return _mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7fc00000),
                            _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
}

INLINE_AVX2 __m256i double_bits(__m256i bits, bool one_nan) {
  __m256d value = _mm256_castsi256_pd(bits);
  bits = _mm256_andnot_si256(_mm256_castpd_si256(_mm256_cmp_pd(value, _mm256_setzero_pd(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  const __m256i nan = _mm256_set1_epi64x(0x7ff8000000000000);
  return _mm256_blendv_epi8(bits, nan, _mm256_castpd_si256(_mm256_cmp_pd(value, value, _CMP_UNORD_Q)));
}

AVX2 static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                             uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i old = load(seeds + i);
    store(h + i, hash_int(float_bits(load(place + 4 * i), one_nan), old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.floats(place + 4 * i, &rest, one_nan, seeds + i, h + i);
}

AVX2 static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                              uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i old = load(seeds + i);
    __m256i a = double_bits(load(place + 8 * i), one_nan), b = double_bits(load(place + 8 * i + 32), one_nan);
    store(h + i, hash_long(a, b, old), old, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.doubles(place + 8 * i, &rest, one_nan, seeds + i, h + i);
}

enum { LONGEST = 48 }; /* bytes of a string in lanes: beyond, lanes with short strings would idle for too long */

INLINE_AVX2 __m256i gather(const uint8_t *data, __m256i at, __m256i wanted) {
  return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)(const void *)data, at, wanted, 1);
}

/* The words of four bytes, while any of the eight strings has one. */
INLINE_AVX2 __m256i hash_words(const uint8_t *data, __m256i begin, __m256i size, uint32_t longest, __m256i h) {
  for (uint32_t done = 4; done <= longest; done += 4) {
    __m256i has = _mm256_cmpgt_epi32(size, _mm256_set1_epi32((int)done - 1));
    h = _mm256_blendv_epi8(h, mix_h1(h, gather(data, begin, has)), has);
    begin = _mm256_add_epi32(begin, _mm256_set1_epi32(4));
  }
  return h;
}

/* The last 0 to 3 bytes of each, sign-extended one by one. */
INLINE_AVX2 __m256i hash_tails(const uint8_t *data, __m256i begin, __m256i size, __m256i h) {
  __m256i n = _mm256_and_si256(size, _mm256_set1_epi32(3));
  __m256i at = _mm256_add_epi32(begin, _mm256_andnot_si256(_mm256_set1_epi32(3), size));
  __m256i has = _mm256_cmpgt_epi32(n, _mm256_setzero_si256());
  if (_mm256_testz_si256(has, has)) return h;
  __m256i word = gather(data, at, has);
  h = _mm256_blendv_epi8(h, mix_h1(h, _mm256_srai_epi32(_mm256_slli_epi32(word, 24), 24)), has);
  has = _mm256_cmpgt_epi32(n, _mm256_set1_epi32(1));
  h = _mm256_blendv_epi8(h, mix_h1(h, _mm256_srai_epi32(_mm256_slli_epi32(word, 16), 24)), has);
  has = _mm256_cmpgt_epi32(n, _mm256_set1_epi32(2));
  return _mm256_blendv_epi8(h, mix_h1(h, _mm256_srai_epi32(_mm256_slli_epi32(word, 8), 24)), has);
}

INLINE_AVX2 uint32_t largest_of(__m256i value) {
  __m128i v = _mm_max_epu32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
  return (uint32_t)_mm_cvtsi128_si32(v);
}

/*
 * Eight strings side by side. The last bytes of a string are read as a word, up to three bytes past the string: where that
 * could pass the end of all data, and where a string is long, the eight go one by one.
 */
AVX2 static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds,
                              uint32_t *h) {
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m256i begin = load(strings->begin + 4 * i), stop = load(strings->stop + 4 * i), old = load(seeds + i);
    __m256i size = _mm256_sub_epi32(stop, begin);
    uint32_t longest = largest_of(size), last = largest_of(stop);
    if (longest > LONGEST || (size_t)last + 3 > strings->end) {
      struct csf_strings eight = csf_strings_from(strings, i);
      struct csf_rows rest = {rows->validity, rows->bit + (int64_t)i, LANES};
      csf_murmur3_scalar.strings(&eight, &rest, seeds + i, h + i);
      continue;
    }
    __m256i hash = hash_tails(strings->data, begin, size, hash_words(strings->data, begin, size, longest, old));
    store(h + i, mix_end(hash, size), old, rows, i);
  }
  struct csf_strings left = csf_strings_from(strings, i);
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.strings(&left, &rest, seeds + i, h + i);
}

/* The upper halves of the products of signed lanes: even lanes, then odd ones. */
INLINE_AVX2 __m256i multiply_high(__m256i a, __m256i b) {
  __m256i even = _mm256_srli_epi64(_mm256_mul_epi32(a, b), 32);
  __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), b);
  return _mm256_blend_epi32(even, odd, 0xaa);
}

AVX2 static void pmod(uint32_t *place, size_t n, const struct csf_divisor *by) {
  const __m256i divisor = _mm256_set1_epi32((int)by->n), multiplier = _mm256_set1_epi32(by->multiplier);
  const __m256i shift = _mm256_set1_epi32((int)by->shift);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m256i h = load(place + i);
    __m256i q = _mm256_srav_epi32(_mm256_add_epi32(h, multiply_high(h, multiplier)), shift);
    __m256i r = _mm256_sub_epi32(h, _mm256_mullo_epi32(q, divisor));
    _mm256_storeu_si256((__m256i *)(void *)(place + i), _mm256_min_epu32(r, _mm256_sub_epi32(r, divisor)));
  }
  csf_murmur3_scalar.pmod(place + i, n - i, by);
}

AVX2 static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const __m256i last = _mm256_set1_epi32((int)(limit - 1));
  __m256i fault = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m256i id = load(ids + i);
    fault = _mm256_or_si256(fault, _mm256_or_si256(id, _mm256_sub_epi32(last, id)));
  }
  return _mm256_movemask_ps(_mm256_castsi256_ps(fault)) == 0 && csf_murmur3_scalar.in_range(ids + i, n - i, limit);
}

const struct csf_murmur3 csf_murmur3_avx2 = {
    .name = "avx2",
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
