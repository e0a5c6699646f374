/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen rows at a time with AVX2. A hash is one long chain of dependent steps, longer than the processor looks ahead: two
 * vectors go through each step side by side. Rows left at the end go through the scalar kernels.
 */
#include "partition/murmur3.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define INLINE_AVX2 AVX2 static inline __attribute__((always_inline))

enum { HALF = 8, LANES = 2 * HALF };

struct pair {
  __m256i a;
  __m256i b;
};

INLINE_AVX2 __m256i splat(uint32_t value) {
  return _mm256_set1_epi32((int)value);
}

INLINE_AVX2 struct pair splat_pair(uint32_t value) {
  return (struct pair){splat(value), splat(value)};
}

INLINE_AVX2 struct pair load(const void *place) {
  return (struct pair){_mm256_loadu_si256(place), _mm256_loadu_si256((const void *)((const uint8_t *)place + 32))};
}

INLINE_AVX2 struct pair xor
    (struct pair x, struct pair y) {
      return (struct pair){_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)};
    }

    INLINE_AVX2 struct pair times(struct pair x, uint32_t factor) {
  return (struct pair){_mm256_mullo_epi32(x.a, splat(factor)), _mm256_mullo_epi32(x.b, splat(factor))};
}

INLINE_AVX2 __m256i rotate(__m256i value, int bits) {
  return _mm256_or_si256(_mm256_slli_epi32(value, bits), _mm256_srli_epi32(value, 32 - bits));
}

INLINE_AVX2 struct pair rotated(struct pair x, int bits) {
  return (struct pair){rotate(x.a, bits), rotate(x.b, bits)};
}

INLINE_AVX2 struct pair shifted(struct pair x, int bits) {
  return (struct pair){_mm256_srli_epi32(x.a, bits), _mm256_srli_epi32(x.b, bits)};
}

/* Where mask is set x, else y. */
INLINE_AVX2 struct pair chosen(struct pair mask, struct pair x, struct pair y) {
  return (struct pair){_mm256_blendv_epi8(y.a, x.a, mask.a), _mm256_blendv_epi8(y.b, x.b, mask.b)};
}

INLINE_AVX2 __m256i times_5_plus(__m256i h) {
  return _mm256_add_epi32(_mm256_add_epi32(h, splat(0xe6546b64u)), _mm256_slli_epi32(h, 2));
}

INLINE_AVX2 struct pair mix_h1(struct pair h, struct pair k) {
  k = times(rotated(times(k, 0xcc9e2d51u), 15), 0x1b873593u);
  h = rotated(xor(h, k), 13);
  return (struct pair){times_5_plus(h.a), times_5_plus(h.b)};
}

INLINE_AVX2 struct pair mix_end(struct pair h, struct pair size) {
  h = xor(h, size);
  h = times(xor(h, shifted(h, 16)), 0x85ebca6bu);
  h = times(xor(h, shifted(h, 13)), 0xc2b2ae35u);
  return xor(h, shifted(h, 16));
}

INLINE_AVX2 struct pair hash_int(struct pair value, struct pair h) {
  return mix_end(mix_h1(h, value), splat_pair(4));
}

/* The even or odd words of eight values of 64 bits. They come apart by lanes of 128 bits as 0 1 4 5 2 3 6 7; the middle changes
 * places. */
INLINE_AVX2 __m256i low_words(struct pair values) {
  __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(values.a), _mm256_castsi256_ps(values.b), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

INLINE_AVX2 __m256i high_words(struct pair values) {
  __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(values.a), _mm256_castsi256_ps(values.b), 0xdd);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

/* Sixty-four-bit values 0-3, 4-7, 8-11, 12-15. */
INLINE_AVX2 struct pair hash_long(struct pair first, struct pair second, struct pair h) {
  struct pair low = {low_words(first), low_words(second)}, high = {high_words(first), high_words(second)};
  return mix_end(mix_h1(mix_h1(h, low), high), splat_pair(8));
}

/* The 16 bits of validity from row i on; no byte is read that holds none of them. */
INLINE_AVX2 uint32_t bits_at(const struct csf_rows *rows, size_t i) {
  int64_t bit = rows->bit + (int64_t)i;
  const uint8_t *place = rows->validity + bit / 8;
  unsigned shift = (unsigned)bit & 7;
  uint32_t bits = csf_load_u16(place);
  if (shift != 0) bits |= (uint32_t)place[2] << 16;
  return bits >> shift;
}

/* All ones in the lanes whose bit is set. */
INLINE_AVX2 __m256i lanes_of(uint32_t bits) {
  const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(splat(bits), each), each);
}

/* Rows that are null keep their seed. */
INLINE_AVX2 void store(uint32_t *place, struct pair h, struct pair seed, const struct csf_rows *rows, size_t i) {
  if (rows->validity != NULL) {
    uint32_t valid = bits_at(rows, i);
    h = chosen((struct pair){lanes_of(valid), lanes_of(valid >> HALF)}, h, seed);
  }
  _mm256_storeu_si256((__m256i *)(void *)place, h.a);
  _mm256_storeu_si256((__m256i *)(void *)(place + HALF), h.b);
}

INLINE_AVX2 struct csf_rows rest_of(const struct csf_rows *rows, size_t i) {
  return (struct csf_rows){rows->validity, rows->bit + (int64_t)i, rows->n - i};
}

AVX2 static void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_int(load(place + 4 * i), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.ints(place + 4 * i, &rest, seeds + i, h + i);
}

AVX2 static void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(load(place + 8 * i), load(place + 8 * i + 64), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.longs(place + 8 * i, &rest, seeds + i, h + i);
}

/* The low halves of four values of 16 bytes. */
INLINE_AVX2 __m256i load_low(const uint8_t *place) {
  struct pair values = load(place);
  return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(values.a, values.b), 0xd8);
}

AVX2 static void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    const uint8_t *from = place + 16 * i;
    struct pair first = {load_low(from), load_low(from + 64)}, second = {load_low(from + 128), load_low(from + 192)};
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

/* Both signs of zero become 0, and every NaN the canonical one where that is the rule. */
INLINE_AVX2 __m256i float_bits(__m256i bits, bool one_nan) {
  __m256 value = _mm256_castsi256_ps(bits);
  bits = _mm256_andnot_si256(_mm256_castps_si256(_mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  return _mm256_blendv_epi8(bits, splat(0x7fc00000), _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
}

INLINE_AVX2 __m256i double_bits(__m256i bits, bool one_nan) {
  __m256d value = _mm256_castsi256_pd(bits);
  bits = _mm256_andnot_si256(_mm256_castpd_si256(_mm256_cmp_pd(value, _mm256_setzero_pd(), _CMP_EQ_OQ)), bits);
  if (!one_nan) return bits;
  const __m256i nan = _mm256_set1_epi64x(0x7ff8000000000000);
  return _mm256_blendv_epi8(bits, nan, _mm256_castpd_si256(_mm256_cmp_pd(value, value, _CMP_UNORD_Q)));
}

INLINE_AVX2 struct pair load_floats(const uint8_t *place, bool one_nan) {
  struct pair bits = load(place);
  return (struct pair){float_bits(bits.a, one_nan), float_bits(bits.b, one_nan)};
}

INLINE_AVX2 struct pair load_doubles(const uint8_t *place, bool one_nan) {
  struct pair bits = load(place);
  return (struct pair){double_bits(bits.a, one_nan), double_bits(bits.b, one_nan)};
}

AVX2 static void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
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

AVX2 static void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds,
                              uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair first = load_doubles(place + 8 * i, one_nan), second = load_doubles(place + 8 * i + 64, one_nan);
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.doubles(place + 8 * i, &rest, one_nan, seeds + i, h + i);
}

INLINE_AVX2 __m256i gather(const uint8_t *data, __m256i at, __m256i wanted) {
  return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)(const void *)data, at, wanted, 1);
}

/* All ones in the lanes with more than `least`. */
INLINE_AVX2 struct pair more_than(struct pair n, uint32_t least) {
  return (struct pair){_mm256_cmpgt_epi32(n.a, splat(least)), _mm256_cmpgt_epi32(n.b, splat(least))};
}

/* The words of four bytes, while any of the strings has one. */
INLINE_AVX2 struct pair hash_words(const uint8_t *data, struct pair begin, struct pair size, uint32_t longest, struct pair h) {
  for (uint32_t at = 0; at + 4 <= longest; at += 4) {
    struct pair has = more_than(size, at + 3);
    struct pair word = {gather(data + at, begin.a, has.a), gather(data + at, begin.b, has.b)};
    h = chosen(has, mix_h1(h, word), h);
  }
  return h;
}

INLINE_AVX2 __m256i load_tails(const uint8_t *data, __m256i begin, __m256i size, __m256i has) {
  return gather(data, _mm256_add_epi32(begin, _mm256_andnot_si256(splat(3), size)), has);
}

/* The byte of each word that stands `left` bits below the top, sign-extended. */
INLINE_AVX2 struct pair byte_of(struct pair word, int left) {
  return (struct pair){_mm256_srai_epi32(_mm256_slli_epi32(word.a, left), 24),
                       _mm256_srai_epi32(_mm256_slli_epi32(word.b, left), 24)};
}

/* The last 0 to 3 bytes of each. */
INLINE_AVX2 struct pair hash_tails(const uint8_t *data, struct pair begin, struct pair size, struct pair h) {
  struct pair n = {_mm256_and_si256(size.a, splat(3)), _mm256_and_si256(size.b, splat(3))};
  struct pair has = more_than(n, 0);
  __m256i any = _mm256_or_si256(has.a, has.b);
  if (_mm256_testz_si256(any, any)) return h;
  struct pair word = {load_tails(data, begin.a, size.a, has.a), load_tails(data, begin.b, size.b, has.b)};
  h = chosen(has, mix_h1(h, byte_of(word, 24)), h);
  h = chosen(more_than(n, 1), mix_h1(h, byte_of(word, 16)), h);
  return chosen(more_than(n, 2), mix_h1(h, byte_of(word, 8)), h);
}

INLINE_AVX2 uint32_t largest_of(struct pair value) {
  __m256i larger = _mm256_max_epu32(value.a, value.b);
  __m128i v = _mm_max_epu32(_mm256_castsi256_si128(larger), _mm256_extracti128_si256(larger, 1));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
  return (uint32_t)_mm_cvtsi128_si32(v);
}

/*
 * Strings side by side. The last bytes of a string are read as a word, up to three bytes past the string: where that could pass
 * the end of all data, and where a few strings are so long that the lanes of the others would idle, they go one by one.
 */
AVX2 static void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds,
                              uint32_t *h) {
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct csf_strings some = csf_strings_from(strings, i);
    struct pair begin = load(some.begin), stop = load(some.stop), seed = load(seeds + i);
    struct pair size = {_mm256_sub_epi32(stop.a, begin.a), _mm256_sub_epi32(stop.b, begin.b)};
    uint32_t longest = largest_of(size), last = largest_of(stop);
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
INLINE_AVX2 __m256i multiply_high(__m256i a, __m256i b) {
  __m256i even = _mm256_srli_epi64(_mm256_mul_epi32(a, b), 32);
  __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), b);
  return _mm256_blend_epi32(even, odd, 0xaa);
}

INLINE_AVX2 __m256i remainder_of(__m256i h, const struct csf_divisor *by) {
  const __m256i divisor = splat(by->n);
  __m256i q = _mm256_add_epi32(h, multiply_high(h, _mm256_set1_epi32(by->multiplier)));
  q = _mm256_srav_epi32(q, splat(by->shift));
  __m256i r = _mm256_sub_epi32(h, _mm256_mullo_epi32(q, divisor));
  return _mm256_min_epu32(r, _mm256_sub_epi32(r, divisor));
}

AVX2 static void pmod(uint32_t *place, size_t n, const struct csf_divisor *by) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    struct pair h = load(place + i);
    __m256i a = remainder_of(h.a, by), b = remainder_of(h.b, by);
    _mm256_storeu_si256((__m256i *)(void *)(place + i), a);
    _mm256_storeu_si256((__m256i *)(void *)(place + i + HALF), b);
  }
  csf_murmur3_scalar.pmod(place + i, n - i, by);
}

AVX2 static bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const __m256i last = splat(limit - 1);
  __m256i fault = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + HALF <= n; i += HALF) {
    __m256i id = _mm256_loadu_si256((const void *)(ids + i));
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
