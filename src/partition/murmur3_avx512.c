/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thirty-two rows at a time with AVX-512 (F, BW, DQ, VL). A hash is one long chain of dependent steps, longer than the
 * processor looks ahead: two vectors go through each step side by side. Rows left at the end go through the scalar kernels.
 */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2")))
#define INLINE_AVX512 AVX512 static inline __attribute__((always_inline))

enum { HALF = 16, LANES = 2 * HALF };

struct pair {
  __m512i a;
  __m512i b;
};

INLINE_AVX512 __m512i splat(uint32_t value) {
  return _mm512_set1_epi32((int)value);
}

INLINE_AVX512 struct pair splat_pair(uint32_t value) {
  return (struct pair){splat(value), splat(value)};
}

INLINE_AVX512 struct pair load(const void *place) {
  return (struct pair){_mm512_loadu_si512(place), _mm512_loadu_si512((const uint8_t *)place + 64)};
}

INLINE_AVX512 struct pair xor
    (struct pair x, struct pair y) {
      return (struct pair){_mm512_xor_si512(x.a, y.a), _mm512_xor_si512(x.b, y.b)};
    }

    INLINE_AVX512 struct pair times(struct pair x, uint32_t factor) {
  return (struct pair){_mm512_mullo_epi32(x.a, splat(factor)), _mm512_mullo_epi32(x.b, splat(factor))};
}

#define ROTATED(x, bits) ((struct pair){_mm512_rol_epi32((x).a, bits), _mm512_rol_epi32((x).b, bits)})
#define SHIFTED(x, bits) ((struct pair){_mm512_srli_epi32((x).a, bits), _mm512_srli_epi32((x).b, bits)})

INLINE_AVX512 __m512i times_5_plus(__m512i h) {
  return _mm512_add_epi32(_mm512_add_epi32(h, splat(0xe6546b64u)), _mm512_slli_epi32(h, 2));
}

INLINE_AVX512 struct pair mix_h1(struct pair h, struct pair k) {
  k = times(k, 0xcc9e2d51u);
  k = times(ROTATED(k, 15), 0x1b873593u);
  h = xor(h, k);
  h = ROTATED(h, 13);
  return (struct pair){times_5_plus(h.a), times_5_plus(h.b)};
}

INLINE_AVX512 struct pair mix_end(struct pair h, struct pair size) {
  h = xor(h, size);
  h = times(xor(h, SHIFTED(h, 16)), 0x85ebca6bu);
  h = times(xor(h, SHIFTED(h, 13)), 0xc2b2ae35u);
  return xor(h, SHIFTED(h, 16));
}

INLINE_AVX512 struct pair hash_int(struct pair value, struct pair h) {
  return mix_end(mix_h1(h, value), splat_pair(4));
}

/* Sixty-four-bit values 0-7, 8-15, 16-23, 24-31. */
INLINE_AVX512 struct pair hash_long(struct pair first, struct pair second, struct pair h) {
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_add_epi32(evens, splat(1));
  struct pair low = {_mm512_permutex2var_epi32(first.a, evens, first.b), _mm512_permutex2var_epi32(second.a, evens, second.b)};
  struct pair high = {_mm512_permutex2var_epi32(first.a, odds, first.b), _mm512_permutex2var_epi32(second.a, odds, second.b)};
  return mix_end(mix_h1(mix_h1(h, low), high), splat_pair(8));
}

/* The 32 bits of validity from row i on; no byte is read that holds none of them. */
INLINE_AVX512 uint32_t bits_at(const struct csf_rows *rows, size_t i) {
  int64_t bit = rows->bit + (int64_t)i;
  const uint8_t *place = rows->validity + bit / 8;
  unsigned shift = (unsigned)bit & 7;
  uint64_t bits = csf_load_u32(place);
  if (shift != 0) bits |= (uint64_t)place[4] << 32;
  return (uint32_t)(bits >> shift);
}

/* Rows that are null keep their seed. */
INLINE_AVX512 void store(uint32_t *place, struct pair h, struct pair seed, const struct csf_rows *rows, size_t i) {
  if (rows->validity != NULL) {
    uint32_t valid = bits_at(rows, i);
    h.a = _mm512_mask_mov_epi32(seed.a, (__mmask16)valid, h.a);
    h.b = _mm512_mask_mov_epi32(seed.b, (__mmask16)(valid >> HALF), h.b);
  }
  _mm512_storeu_si512(place, h.a);
  _mm512_storeu_si512(place + HALF, h.b);
}

INLINE_AVX512 struct csf_rows rest_of(const struct csf_rows *rows, size_t i) {
  return (struct csf_rows){rows->validity, rows->bit + (int64_t)i, rows->n - i};
}

AVX512 static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_int(load(place + 4 * i), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.ints(place + 4 * i, &rest, seeds + i, h + i);
}

AVX512 static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(load(place + 8 * i), load(place + 8 * i + 128), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.longs(place + 8 * i, &rest, seeds + i, h + i);
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
    const uint8_t *from = place + 16 * i;
    struct pair first = {load_low(from), load_low(from + 128)}, second = {load_low(from + 256), load_low(from + 384)};
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE_AVX512 __m512i float_bits(__m512i bits, bool one_nan) {
  __m512 value = _mm512_castsi512_ps(bits);
  bits = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), splat(0x7fc00000));
}

INLINE_AVX512 __m512i double_bits(__m512i bits, bool one_nan) {
  __m512d value = _mm512_castsi512_pd(bits);
  bits = _mm512_maskz_mov_epi64(_mm512_cmp_pd_mask(value, _mm512_setzero_pd(), _CMP_NEQ_UQ), bits);
  if (!one_nan) return bits;
  return _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), _mm512_set1_epi64(0x7ff8000000000000));
}

INLINE_AVX512 struct pair load_floats(const uint8_t *place, bool one_nan) {
  struct pair bits = load(place);
  return (struct pair){float_bits(bits.a, one_nan), float_bits(bits.b, one_nan)};
}

INLINE_AVX512 struct pair load_doubles(const uint8_t *place, bool one_nan) {
  struct pair bits = load(place);
  return (struct pair){double_bits(bits.a, one_nan), double_bits(bits.b, one_nan)};
}

AVX512 static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                               uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_int(load_floats(place + 4 * i, one_nan), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.floats(place + 4 * i, &rest, one_nan, seeds + i, h + i);
}

AVX512 static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                                uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair first = load_doubles(place + 8 * i, one_nan), second = load_doubles(place + 8 * i + 128, one_nan);
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.doubles(place + 8 * i, &rest, one_nan, seeds + i, h + i);
}

/* One round for the strings of one vector that have a word there. */
INLINE_AVX512 __m512i gather(const uint8_t *data, __m512i at, __mmask16 wanted) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), wanted, at, data, 1);
}

/* The words of four bytes, while any of the strings has one. */
INLINE_AVX512 struct pair hash_words(const uint8_t *data, struct pair begin, struct pair size, uint32_t longest,
                                     struct pair h) {
  for (uint32_t at = 0; at + 4 <= longest; at += 4) {
    __mmask16 a = _mm512_cmpge_epi32_mask(size.a, splat(at + 4)), b = _mm512_cmpge_epi32_mask(size.b, splat(at + 4));
    struct pair word = {gather(data + at, begin.a, a), gather(data + at, begin.b, b)};
    struct pair mixed = mix_h1(h, word);
    h = (struct pair){_mm512_mask_mov_epi32(h.a, a, mixed.a), _mm512_mask_mov_epi32(h.b, b, mixed.b)};
  }
  return h;
}

/* Byte number 3 - left / 8 of each word, sign-extended, for the strings that have more than `least` bytes left. */
#define TAIL_ROUND(h, word, n, least, left)                                                                       \
  do {                                                                                                            \
    __mmask16 a = _mm512_cmpgt_epi32_mask((n).a, splat(least)), b = _mm512_cmpgt_epi32_mask((n).b, splat(least)); \
    struct pair byte = {_mm512_srai_epi32(_mm512_slli_epi32((word).a, left), 24),                                 \
                        _mm512_srai_epi32(_mm512_slli_epi32((word).b, left), 24)};                                \
    struct pair mixed = mix_h1(h, byte);                                                                          \
    h = (struct pair){_mm512_mask_mov_epi32((h).a, a, mixed.a), _mm512_mask_mov_epi32((h).b, b, mixed.b)};        \
  } while (0)

INLINE_AVX512 __m512i load_tails(const uint8_t *data, __m512i begin, __m512i size, __m512i n) {
  __m512i at = _mm512_add_epi32(begin, _mm512_andnot_si512(splat(3), size));
  return gather(data, at, _mm512_test_epi32_mask(n, n));
}

/* The last 0 to 3 bytes of each. */
INLINE_AVX512 struct pair hash_tails(const uint8_t *data, struct pair begin, struct pair size, struct pair h) {
  struct pair n = {_mm512_and_si512(size.a, splat(3)), _mm512_and_si512(size.b, splat(3))};
  if ((_mm512_test_epi32_mask(n.a, n.a) | _mm512_test_epi32_mask(n.b, n.b)) == 0) return h;
  struct pair word = {load_tails(data, begin.a, size.a, n.a), load_tails(data, begin.b, size.b, n.b)};
  TAIL_ROUND(h, word, n, 0, 24);
  TAIL_ROUND(h, word, n, 1, 16);
  TAIL_ROUND(h, word, n, 2, 8);
  return h;
}

/*
 * Strings side by side. The last bytes of a string are read as a word, up to three bytes past the string: where that could pass
 * the end of all data, and where a few strings are so long that the lanes of the others would idle, they go one by one.
 */
AVX512 static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds,
                                uint32_t *h) {
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct csf_strings some = csf_strings_from(strings, i);
    struct pair begin = load(some.begin), stop = load(some.stop), seed = load(seeds + i);
    struct pair size = {_mm512_sub_epi32(stop.a, begin.a), _mm512_sub_epi32(stop.b, begin.b)};
    uint32_t longest = _mm512_reduce_max_epu32(_mm512_max_epu32(size.a, size.b));
    uint32_t last = _mm512_reduce_max_epu32(_mm512_max_epu32(stop.a, stop.b));
    if (!csf_strings_suit_lanes(&some, longest, LANES) || (size_t)last + 3 > strings->end) {
      struct csf_rows few = {rows->validity, rows->bit + (int64_t)i, LANES};
      csf_murmur3_scalar.strings(&some, &few, seeds + i, h + i);
      continue;
    }
    struct pair hash = hash_words(some.data, begin, size, longest, seed);
    store(h + i, mix_end(hash_tails(some.data, begin, size, hash), size), seed, rows, i);
  }
  struct csf_strings left = csf_strings_from(strings, i);
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.strings(&left, &rest, seeds + i, h + i);
}

/* The upper halves of the products of signed lanes: even lanes, then odd ones. */
INLINE_AVX512 __m512i multiply_high(__m512i a, __m512i b) {
  __m512i even = _mm512_srli_epi64(_mm512_mul_epi32(a, b), 32);
  __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), b);
  return _mm512_mask_mov_epi32(even, 0xaaaa, odd);
}

INLINE_AVX512 __m512i remainder_of(__m512i h, const struct csf_divisor *by) {
  const __m512i divisor = splat(by->n);
  __m512i q = _mm512_add_epi32(h, multiply_high(h, _mm512_set1_epi32(by->multiplier)));
  q = _mm512_srav_epi32(q, splat(by->shift));
  __m512i r = _mm512_sub_epi32(h, _mm512_mullo_epi32(q, divisor));
  return _mm512_min_epu32(r, _mm512_sub_epi32(r, divisor));
}

AVX512 static void pmod(uint32_t *h, size_t n, const struct csf_divisor *by) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m512i a = remainder_of(_mm512_loadu_si512(h + i), by), b = remainder_of(_mm512_loadu_si512(h + i + HALF), by);
    _mm512_storeu_si512(h + i, a);
    _mm512_storeu_si512(h + i + HALF, b);
  }
  csf_murmur3_scalar.pmod(h + i, n - i, by);
}

AVX512 static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const __m512i last = splat(limit - 1);
  __m512i fault = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + HALF <= n; i += HALF) {
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
