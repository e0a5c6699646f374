/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/lengths.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static inline AVX2 __m256i load(const uint8_t *place) {
  return _mm256_loadu_si256((const __m256i *)(const void *)place);
}

static inline AVX2 void store(uint8_t *place, __m256i value) {
  _mm256_storeu_si256((__m256i *)(void *)place, value);
}

/* Differences of offsets[0..8) to their predecessors, each 128-bit lane sorted into 4 x 4 bytes by plane. */
static inline AVX2 __m256i lengths_by_plane(const uint8_t *offsets) {
  const __m256i by_plane = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6,
                                            10, 14, 3, 7, 11, 15);
  return _mm256_shuffle_epi8(_mm256_sub_epi32(load(offsets), load(offsets - 4)), by_plane);
}

/* 32 lengths from offsets[i .. i + 32), i > 0, to place i of the four planes. */
static inline AVX2 void encode_32_values(uint8_t *target, const uint8_t *offsets, int64_t count, int64_t i) {
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const uint8_t *from = offsets + 4 * i;
  __m256i a = lengths_by_plane(from), b = lengths_by_plane(from + 32);
  __m256i c = lengths_by_plane(from + 64), d = lengths_by_plane(from + 96);
  __m256i ab01 = _mm256_unpacklo_epi32(a, b), ab23 = _mm256_unpackhi_epi32(a, b);
  __m256i cd01 = _mm256_unpacklo_epi32(c, d), cd23 = _mm256_unpackhi_epi32(c, d);
  uint8_t *to = target + i;
  store(to, _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(ab01, cd01), in_order));
  store(to + count, _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(ab01, cd01), in_order));
  store(to + 2 * count, _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(ab23, cd23), in_order));
  store(to + 3 * count, _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(ab23, cd23), in_order));
}

static void encode_one(uint8_t *target, const uint8_t *offsets, int64_t count, int64_t i) {
  uint32_t length = i == 0 ? 0 : csf_load_u32(offsets + 4 * i) - csf_load_u32(offsets + 4 * i - 4);
  for (int64_t plane = 0; plane < 4; plane++) target[plane * count + i] = (uint8_t)(length >> (8 * plane));
}

static AVX2 void encode32(uint8_t *target, const uint8_t *offsets, int64_t count) {
  int64_t i = 0;
  encode_one(target, offsets, count, i++);
  for (; i + 32 <= count; i += 32) encode_32_values(target, offsets, count, i);
  if (count > 32 && i < count) {
    /* The last 32 once more: those written already get the same bytes. */
    encode_32_values(target, offsets, count, count - 32);
    return;
  }
  for (; i < count; i++) encode_one(target, offsets, count, i);
}

/* Running sums of eight values, after carry (all lanes alike). */
static inline AVX2 __m256i prefix_sum(__m256i v, __m256i carry) {
  v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
  v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
  __m256i low_total = _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(3));
  v = _mm256_add_epi32(v, _mm256_blend_epi32(_mm256_setzero_si256(), low_total, 0xf0));
  return _mm256_add_epi32(v, carry);
}

struct state {
  __m256i carry; /* the last sum, in all lanes */
  __m256i signs; /* the or of all lengths and sums */
};

static inline AVX2 void sum_and_store(struct state *state, uint8_t *target, __m256i lengths) {
  __m256i sums = prefix_sum(lengths, state->carry);
  state->signs = _mm256_or_si256(state->signs, _mm256_or_si256(lengths, sums));
  state->carry = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7));
  store(target, sums);
}

static inline AVX2 __m256i load_plane(const uint8_t *place) {
  /* So that unpacking, which works within 128-bit lanes, leaves the values in order. */
  return _mm256_permutevar8x32_epi32(load(place), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

static inline AVX2 void decode_32_values(struct state *state, uint8_t *target, const uint8_t *planes, int64_t count) {
  __m256i p0 = load_plane(planes), p1 = load_plane(planes + count);
  __m256i p2 = load_plane(planes + 2 * count), p3 = load_plane(planes + 3 * count);
  __m256i low_a = _mm256_unpacklo_epi8(p0, p1), low_b = _mm256_unpackhi_epi8(p0, p1);
  __m256i high_a = _mm256_unpacklo_epi8(p2, p3), high_b = _mm256_unpackhi_epi8(p2, p3);
  sum_and_store(state, target, _mm256_unpacklo_epi16(low_a, high_a));
  sum_and_store(state, target + 32, _mm256_unpackhi_epi16(low_a, high_a));
  sum_and_store(state, target + 64, _mm256_unpacklo_epi16(low_b, high_b));
  sum_and_store(state, target + 96, _mm256_unpackhi_epi16(low_b, high_b));
}

static AVX2 bool decode32(uint8_t *target, const uint8_t *planes, int64_t count) {
  struct state state = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) decode_32_values(&state, target + 4 * i, planes + i, count);
  uint32_t sum = (uint32_t)_mm256_extract_epi32(state.carry, 0);
  uint32_t signs = 0;
  for (; i < count; i++) {
    uint32_t length = 0;
    for (int64_t plane = 0; plane < 4; plane++) length |= (uint32_t)planes[plane * count + i] << (8 * plane);
    sum += length;
    signs |= length | sum;
    csf_store_u32(target + 4 * i, sum);
  }
  return signs >> 31 == 0 && _mm256_movemask_ps(_mm256_castsi256_ps(state.signs)) == 0;
}

/* The 64-bit kernels of the scalar set work on 8 values at a time as it is; large offsets are rare. */
static void encode64(uint8_t *target, const uint8_t *offsets, int64_t count) {
  csf_lengths_scalar.encode64(target, offsets, count);
}

static bool decode64(uint8_t *target, const uint8_t *planes, int64_t count) {
  return csf_lengths_scalar.decode64(target, planes, count);
}

const struct csf_lengths_kernels csf_lengths_avx2 = {encode32, encode64, decode32, decode64};
#endif
