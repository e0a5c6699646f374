/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen rows at a time with AVX-512 (F, BW, DQ, VL). The rows left at the end go through the same code under a mask. */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2")))
#define INLINE_AVX512 AVX512 static inline __attribute__((always_inline))

enum { LANES = 16 };

INLINE_AVX512 __m512i times(__m512i value, uint32_t factor) {
  return _mm512_mullo_epi32(value, _mm512_set1_epi32((int)factor));
}

INLINE_AVX512 __m512i mix_h1(__m512i h, __m512i k) {
  k = times(_mm512_rol_epi32(times(k, 0xcc9e2d51u), 15), 0x1b873593u);
  h = _mm512_rol_epi32(_mm512_xor_si512(h, k), 13);
  h = _mm512_add_epi32(h, _mm512_slli_epi32(h, 2)); /* times 5 */
  return _mm512_add_epi32(h, _mm512_set1_epi32((int)0xe6546b64u));
}

INLINE_AVX512 __m512i mix_end(__m512i h, __m512i size) {
  h = _mm512_xor_si512(h, size);
  h = times(_mm512_xor_si512(h, _mm512_srli_epi32(h, 16)), 0x85ebca6bu);
  h = times(_mm512_xor_si512(h, _mm512_srli_epi32(h, 13)), 0xc2b2ae35u);
  return _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
}

INLINE_AVX512 __m512i hash_int(__m512i value, __m512i h) {
  return mix_end(mix_h1(h, value), _mm512_set1_epi32(4));
}

/* Sixty-four-bit values 0-7 and 8-15. */
INLINE_AVX512 __m512i hash_long(__m512i a, __m512i b, __m512i h) {
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
  h = mix_h1(h, _mm512_permutex2var_epi32(a, evens, b));
  h = mix_h1(h, _mm512_permutex2var_epi32(a, odds, b));
  return mix_end(h, _mm512_set1_epi32(8));
}

/* Rows i .. i + 16, all of which exist, that are valid. No byte is read that holds no bit of them. */
INLINE_AVX512 __mmask16 valid_at(const struct csf_rows *rows, size_t i) {
  if (rows->validity == NULL) return (__mmask16)0xffff;
  int64_t bit = rows->bit + (int64_t)i;
  const uint8_t *place = rows->validity + bit / 8;
  unsigned shift = (unsigned)bit & 7, bits = csf_load_u16(place);
  if (shift != 0) bits |= (unsigned)place[2] << 16;
  return (__mmask16)(bits >> shift);
}

/* The last rows, fewer than 16: those that there are, and those of them that are valid. */
INLINE_AVX512 __mmask16 exist_rest(size_t n) {
  unsigned bits = (1u << n) - 1;
  return (__mmask16)bits;
}

INLINE_AVX512 __mmask16 valid_rest(const struct csf_rows *rows, size_t i) {
  unsigned bits = 0;
  for (size_t j = i; j < rows->n; j++) bits |= (unsigned)csf_rows_valid(rows, j) << (j - i);
  return (__mmask16)bits;
}

INLINE_AVX512 void ints_at(const uint8_t *place, __mmask16 exist, __mmask16 valid, const uint32_t *seeds, uint32_t *h) {
  __m512i value = _mm512_maskz_loadu_epi32(exist, place);
  __m512i seed = _mm512_maskz_loadu_epi32(exist, seeds);
  _mm512_mask_storeu_epi32(h, exist, _mm512_mask_mov_epi32(seed, valid, hash_int(value, seed)));
}

/* Whether rows are all valid is asked once, so that the loop of those that are has no masks. */
AVX512 static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  if (rows->validity == NULL) {
    for (; i + LANES <= rows->n; i += LANES) ints_at(place + 4 * i, 0xffff, 0xffff, seeds + i, h + i);
  }
  for (; i + LANES <= rows->n; i += LANES) ints_at(place + 4 * i, 0xffff, valid_at(rows, i), seeds + i, h + i);
  if (i < rows->n) ints_at(place + 4 * i, exist_rest(rows->n - i), valid_rest(rows, i), seeds + i, h + i);
}

INLINE_AVX512 void longs_at(const uint8_t *place, __mmask16 exist, __mmask16 valid, const uint32_t *seeds, uint32_t *h) {
  __m512i a = _mm512_maskz_loadu_epi64((__mmask8)exist, place);
  __m512i b = _mm512_maskz_loadu_epi64((__mmask8)(exist >> 8), place + 64);
  __m512i seed = _mm512_maskz_loadu_epi32(exist, seeds);
  _mm512_mask_storeu_epi32(h, exist, _mm512_mask_mov_epi32(seed, valid, hash_long(a, b, seed)));
}

AVX512 static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  if (rows->validity == NULL) {
    for (; i + LANES <= rows->n; i += LANES) longs_at(place + 8 * i, 0xffff, 0xffff, seeds + i, h + i);
  }
  for (; i + LANES <= rows->n; i += LANES) longs_at(place + 8 * i, 0xffff, valid_at(rows, i), seeds + i, h + i);
  if (i < rows->n) longs_at(place + 8 * i, exist_rest(rows->n - i), valid_rest(rows, i), seeds + i, h + i);
}

/* The low halves of eight values of 16 bytes. */
INLINE_AVX512 __m512i load_low(const uint8_t *place) {
  const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  return _mm512_permutex2var_epi64(_mm512_loadu_si512(place), evens, _mm512_loadu_si512(place + 64));
}

AVX512 static void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    __m512i seed = _mm512_loadu_si512(seeds + i);
    __m512i hash = hash_long(load_low(place + 16 * i), load_low(place + 16 * i + 128), seed);
    _mm512_storeu_si512(h + i, _mm512_mask_mov_epi32(seed, valid_at(rows, i), hash));
  }
  struct csf_rows rest = {rows->validity, rows->bit + (int64_t)i, rows->n - i};
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE_AVX512 __m512i float_bits(__m512i bits, bool one_nan) {
  __m512 value = _mm512_castsi512_ps(bits);
  bits = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
}

INLINE_AVX512 __m512i double_bits(__m512i bits, bool one_nan) {
  __m512d value = _mm512_castsi512_pd(bits);
  bits = _mm512_maskz_mov_epi64(_mm512_cmp_pd_mask(value, _mm512_setzero_pd(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), _mm512_set1_epi64(0x7ff8000000000000));
}

INLINE_AVX512 void floats_at(const uint8_t *place, __mmask16 exist, __mmask16 valid, bool one_nan, const uint32_t *seeds,
                             uint32_t *h) {
  __m512i value = float_bits(_mm512_maskz_loadu_epi32(exist, place), one_nan);
  __m512i seed = _mm512_maskz_loadu_epi32(exist, seeds);
  _mm512_mask_storeu_epi32(h, exist, _mm512_mask_mov_epi32(seed, valid, hash_int(value, seed)));
}

AVX512 static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                               uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) floats_at(place + 4 * i, 0xffff, valid_at(rows, i), one_nan, seeds + i, h + i);
  if (i < rows->n) floats_at(place + 4 * i, exist_rest(rows->n - i), valid_rest(rows, i), one_nan, seeds + i, h + i);
}

INLINE_AVX512 void doubles_at(const uint8_t *place, __mmask16 exist, __mmask16 valid, bool one_nan, const uint32_t *seeds,
                              uint32_t *h) {
  __m512i a = double_bits(_mm512_maskz_loadu_epi64((__mmask8)exist, place), one_nan);
  __m512i b = double_bits(_mm512_maskz_loadu_epi64((__mmask8)(exist >> 8), place + 64), one_nan);
  __m512i seed = _mm512_maskz_loadu_epi32(exist, seeds);
  _mm512_mask_storeu_epi32(h, exist, _mm512_mask_mov_epi32(seed, valid, hash_long(a, b, seed)));
}

AVX512 static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                                uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) doubles_at(place + 8 * i, 0xffff, valid_at(rows, i), one_nan, seeds + i, h + i);
  if (i < rows->n) doubles_at(place + 8 * i, exist_rest(rows->n - i), valid_rest(rows, i), one_nan, seeds + i, h + i);
}

enum { LONGEST = 64 }; /* bytes of a string in lanes: beyond, lanes with short strings would idle for too long */

INLINE_AVX512 __m512i gather(const uint8_t *data, __m512i at, __mmask16 wanted) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), wanted, at, data, 1);
}

/* The words of four bytes, while any of the sixteen strings has one. */
INLINE_AVX512 __m512i hash_words(const uint8_t *data, __m512i begin, __m512i size, uint32_t longest, __m512i h) {
  for (uint32_t done = 4; done <= longest; done += 4) {
    __mmask16 has = _mm512_cmpge_epi32_mask(size, _mm512_set1_epi32((int)done));
    h = _mm512_mask_mov_epi32(h, has, mix_h1(h, gather(data, begin, has)));
    begin = _mm512_add_epi32(begin, _mm512_set1_epi32(4));
  }
  return h;
}

/* The last 0 to 3 bytes of each, sign-extended one by one. */
INLINE_AVX512 __m512i hash_tails(const uint8_t *data, __m512i begin, __m512i size, __m512i h) {
  __m512i n = _mm512_and_si512(size, _mm512_set1_epi32(3));
  __m512i at = _mm512_add_epi32(begin, _mm512_andnot_si512(_mm512_set1_epi32(3), size));
  __mmask16 has = _mm512_test_epi32_mask(n, n);
  if (has == 0) return h;
  __m512i word = gather(data, at, has);
  h = _mm512_mask_mov_epi32(h, has, mix_h1(h, _mm512_srai_epi32(_mm512_slli_epi32(word, 24), 24)));
  has = _mm512_cmpgt_epi32_mask(n, _mm512_set1_epi32(1));
  h = _mm512_mask_mov_epi32(h, has, mix_h1(h, _mm512_srai_epi32(_mm512_slli_epi32(word, 16), 24)));
  has = _mm512_cmpgt_epi32_mask(n, _mm512_set1_epi32(2));
  return _mm512_mask_mov_epi32(h, has, mix_h1(h, _mm512_srai_epi32(_mm512_slli_epi32(word, 8), 24)));
}

/*
 * Sixteen strings side by side; null rows count as empty. The last bytes of a string are read as a word, up to three bytes past
 * the string: where that could pass the end of all data, and where a string is long, the sixteen go one by one.
 */
AVX512 static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds,
                                uint32_t *h) {
  for (size_t i = 0; i < rows->n; i += LANES) {
    __mmask16 mask = rows->n - i >= LANES ? valid_at(rows, i) : valid_rest(rows, i);
    __m512i begin = _mm512_maskz_loadu_epi32(mask, strings->begin + 4 * i),
            stop = _mm512_maskz_loadu_epi32(mask, strings->stop + 4 * i);
    __m512i size = _mm512_sub_epi32(stop, begin);
    uint32_t longest = _mm512_reduce_max_epu32(size), last = _mm512_reduce_max_epu32(stop);
    if (longest > LONGEST || (size_t)last + 3 > strings->end) {
      struct csf_strings some = csf_strings_from(strings, i);
      struct csf_rows rest = {rows->validity, rows->bit + (int64_t)i, rows->n - i < LANES ? rows->n - i : LANES};
      csf_murmur3_scalar.strings(&some, &rest, seeds + i, h + i);
      continue;
    }
    __mmask16 exist = rows->n - i >= LANES ? (__mmask16)0xffff : exist_rest(rows->n - i);
    __m512i seed = _mm512_maskz_loadu_epi32(exist, seeds + i);
    __m512i hash = hash_tails(strings->data, begin, size, hash_words(strings->data, begin, size, longest, seed));
    _mm512_mask_storeu_epi32(h + i, exist, _mm512_mask_mov_epi32(seed, mask, mix_end(hash, size)));
  }
}

/* The upper halves of the products of signed lanes: even lanes, then odd ones. */
INLINE_AVX512 __m512i multiply_high(__m512i a, __m512i b) {
  __m512i even = _mm512_srli_epi64(_mm512_mul_epi32(a, b), 32);
  __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), b);
  return _mm512_mask_mov_epi32(even, 0xaaaa, odd);
}

INLINE_AVX512 __m512i remainder_of(__m512i h, const struct csf_divisor *by) {
  const __m512i divisor = _mm512_set1_epi32((int)by->n);
  __m512i q = _mm512_add_epi32(h, multiply_high(h, _mm512_set1_epi32(by->multiplier)));
  q = _mm512_srav_epi32(q, _mm512_set1_epi32((int)by->shift));
  __m512i r = _mm512_sub_epi32(h, _mm512_mullo_epi32(q, divisor));
  return _mm512_min_epu32(r, _mm512_sub_epi32(r, divisor));
}

AVX512 static void pmod(uint32_t *h, size_t n, const struct csf_divisor *by) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) _mm512_storeu_si512(h + i, remainder_of(_mm512_loadu_si512(h + i), by));
  __mmask16 mask = exist_rest(n - i);
  _mm512_mask_storeu_epi32(h + i, mask, remainder_of(_mm512_maskz_loadu_epi32(mask, h + i), by));
}

AVX512 static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const __m512i last = _mm512_set1_epi32((int)(limit - 1));
  __m512i fault = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m512i id = _mm512_loadu_si512(ids + i);
    fault = _mm512_or_si512(fault, _mm512_or_si512(id, _mm512_sub_epi32(last, id)));
  }
  return _mm512_movepi32_mask(fault) == 0 && csf_murmur3_scalar.in_range(ids + i, n - i, limit);
}

const struct csf_murmur3 csf_murmur3_avx512 = {
    .name = "avx512",
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
