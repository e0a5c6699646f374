/* SPDX-License-Identifier: Apache-2.0 */
/* Thirty-two rows at a time with AVX-512 (F, BW, DQ, VL). */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2"))) static
#define INLINE KERNEL inline __attribute__((always_inline))

enum { HALF = 16, LANES = 2 * HALF };
typedef __m512i vector;
typedef __mmask16 mask;

#define SHIFT_LEFT(v, bits) _mm512_slli_epi32(v, bits)
#define SHIFT_RIGHT(v, bits) _mm512_srli_epi32(v, bits)
#define SHIFT_SIGNED(v, bits) _mm512_srai_epi32(v, bits)
#define ROTATE(v, bits) _mm512_rol_epi32(v, bits)

INLINE vector splat(uint32_t value) {
  return _mm512_set1_epi32((int)value);
}

INLINE vector load_one(const void *place) {
  return _mm512_loadu_si512(place);
}

INLINE void store_one(void *place, vector v) {
  _mm512_storeu_si512(place, v);
}

INLINE vector exclusive(vector x, vector y) {
  return _mm512_xor_si512(x, y);
}

INLINE vector either(vector x, vector y) {
  return _mm512_or_si512(x, y);
}

INLINE vector and_3(vector v) {
  return _mm512_and_si512(v, splat(3));
}

INLINE vector and_not_3(vector v) {
  return _mm512_andnot_si512(splat(3), v);
}

INLINE vector add(vector x, vector y) {
  return _mm512_add_epi32(x, y);
}

INLINE vector subtract(vector x, vector y) {
  return _mm512_sub_epi32(x, y);
}

INLINE vector multiply(vector x, vector y) {
  return _mm512_mullo_epi32(x, y);
}

INLINE vector smaller(vector x, vector y) {
  return _mm512_min_epu32(x, y);
}

INLINE vector shift_signed_by(vector v, uint32_t bits) {
  return _mm512_srav_epi32(v, splat(bits));
}

INLINE vector chosen(mask m, vector x, vector y) {
  return _mm512_mask_mov_epi32(y, m, x);
}

INLINE mask more_than(vector v, uint32_t least) {
  return _mm512_cmpgt_epi32_mask(v, splat(least));
}

INLINE bool any(mask m) {
  return m != 0;
}

INLINE mask lanes_of(uint32_t bits) {
  return (mask)bits;
}

INLINE bool any_negative(vector v) {
  return _mm512_movepi32_mask(v) != 0;
}

INLINE uint32_t largest_of(vector v) {
  return _mm512_reduce_max_epu32(v);
}

INLINE vector gather(const uint8_t *data, vector at, mask m) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, data, 1);
}

INLINE vector low_words(vector x, vector y) {
  const vector evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_epi32(x, evens, y);
}

INLINE vector high_words(vector x, vector y) {
  const vector odds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_epi32(x, odds, y);
}

INLINE vector load_low(const uint8_t *place) {
  const vector evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  return _mm512_permutex2var_epi64(load_one(place), evens, load_one(place + 64));
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE vector float_bits(vector bits, bool one_nan) {
  __m512 value = _mm512_castsi512_ps(bits);
  bits = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return chosen(_mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), splat(0x7fc00000), bits);
}

INLINE vector double_bits(vector bits, bool one_nan) {
  __m512d value = _mm512_castsi512_pd(bits);
  bits = _mm512_maskz_mov_epi64(_mm512_cmp_pd_mask(value, _mm512_setzero_pd(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), _mm512_set1_epi64(0x7ff8000000000000));
}

/* Even lanes, then odd ones. */
INLINE vector high_product(vector x, vector y) {
  vector even = _mm512_srli_epi64(_mm512_mul_epi32(x, y), 32);
  vector odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), y);
  return _mm512_mask_mov_epi32(even, 0xaaaa, odd);
}

INLINE uint32_t validity_at(const struct csf_rows *rows, size_t i) {
  int64_t bit = rows->bit + (int64_t)i;
  const uint8_t *place = rows->validity + bit / 8;
  unsigned shift = (unsigned)bit & 7;
  uint64_t bits = csf_load_u32(place);
  if (shift != 0) bits |= (uint64_t)place[4] << 32;
  return (uint32_t)(bits >> shift);
}

#include "partition/murmur3_lanes.h"

const struct csf_murmur3 csf_murmur3_avx512 = MURMUR3_KERNELS("avx512");
#endif
