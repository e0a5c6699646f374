/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen rows at a time with AVX2. */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,bmi,bmi2"))) static
#define INLINE KERNEL inline __attribute__((always_inline))

enum { HALF = 8, LANES = 2 * HALF };
typedef __m256i vector;
typedef __m256i mask; /* all ones in the lanes that are set */

#define SHIFT_LEFT(v, bits) _mm256_slli_epi32(v, bits)
#define SHIFT_RIGHT(v, bits) _mm256_srli_epi32(v, bits)
#define SHIFT_SIGNED(v, bits) _mm256_srai_epi32(v, bits)
#define ROTATE(v, bits) _mm256_or_si256(SHIFT_LEFT(v, bits), SHIFT_RIGHT(v, 32 - (bits)))

INLINE vector splat(uint32_t value) {
  return _mm256_set1_epi32((int)value);
}

INLINE vector load_one(const void *place) {
  return _mm256_loadu_si256(place);
}

INLINE void store_one(void *place, vector v) {
  _mm256_storeu_si256(place, v);
}

INLINE vector exclusive(vector x, vector y) {
  return _mm256_xor_si256(x, y);
}

INLINE vector either(vector x, vector y) {
  return _mm256_or_si256(x, y);
}

INLINE vector and_3(vector v) {
  return _mm256_and_si256(v, splat(3));
}

INLINE vector and_not_3(vector v) {
  return _mm256_andnot_si256(splat(3), v);
}

INLINE vector add(vector x, vector y) {
  return _mm256_add_epi32(x, y);
}

INLINE vector subtract(vector x, vector y) {
  return _mm256_sub_epi32(x, y);
}

INLINE vector multiply(vector x, vector y) {
  return _mm256_mullo_epi32(x, y);
}

INLINE vector smaller(vector x, vector y) {
  return _mm256_min_epu32(x, y);
}

INLINE vector shift_signed_by(vector v, uint32_t bits) {
  return _mm256_srav_epi32(v, splat(bits));
}

/* Not _mm256_blendv_epi8: gcc 12 with -funsigned-char takes every byte of the mask for positive. */
INLINE vector chosen(mask m, vector x, vector y) {
  return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(y), _mm256_castsi256_ps(x), _mm256_castsi256_ps(m)));
}

INLINE mask more_than(vector v, uint32_t least) {
  return _mm256_cmpgt_epi32(v, splat(least));
}

INLINE bool any(mask m) {
  return !_mm256_testz_si256(m, m);
}

INLINE mask lanes_of(uint32_t bits) {
  const vector each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(splat(bits), each), each);
}

INLINE bool any_negative(vector v) {
  return _mm256_movemask_ps(_mm256_castsi256_ps(v)) != 0;
}

INLINE uint32_t largest_of(vector value) {
  __m128i v = _mm_max_epu32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
  return (uint32_t)_mm_cvtsi128_si32(v);
}

INLINE vector gather(const uint8_t *data, vector at, mask m) {
  return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)(const void *)data, at, m, 1);
}

/* The words come apart by lanes of 128 bits as 0 1 4 5 2 3 6 7; the middle changes places. */
INLINE vector low_words(vector x, vector y) {
  __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

INLINE vector high_words(vector x, vector y) {
  __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), 0xdd);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

INLINE vector load_low(const uint8_t *place) {
  return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(load_one(place), load_one(place + 32)), 0xd8);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE vector float_bits(vector bits, bool one_nan) {
  __m256 value = _mm256_castsi256_ps(bits);
  bits = _mm256_andnot_si256(_mm256_castps_si256(_mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  return chosen(_mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)), splat(0x7fc00000), bits);
}

INLINE vector double_bits(vector bits, bool one_nan) {
  __m256d value = _mm256_castsi256_pd(bits);
  bits = _mm256_andnot_si256(_mm256_castpd_si256(_mm256_cmp_pd(value, _mm256_setzero_pd(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  const vector nan = _mm256_set1_epi64x(0x7ff8000000000000);
  return chosen(_mm256_castpd_si256(_mm256_cmp_pd(value, value, _CMP_UNORD_Q)), nan, bits);
}

/* Even lanes, then odd ones. */
INLINE vector high_product(vector x, vector y) {
  vector even = _mm256_srli_epi64(_mm256_mul_epi32(x, y), 32);
  vector odd = _mm256_mul_epi32(_mm256_srli_epi64(x, 32), y);
  return _mm256_blend_epi32(even, odd, 0xaa);
}

INLINE uint32_t validity_at(const struct csf_rows *rows, size_t i) {
  int64_t bit = rows->bit + (int64_t)i;
  const uint8_t *place = rows->validity + bit / 8;
  unsigned shift = (unsigned)bit & 7;
  uint32_t bits = csf_load_u16(place);
  if (shift != 0) bits |= (uint32_t)place[2] << 16;
  return bits >> shift;
}

#include "partition/murmur3_lanes.h"

const struct csf_murmur3 csf_murmur3_avx2 = MURMUR3_KERNELS("avx2");
#endif
