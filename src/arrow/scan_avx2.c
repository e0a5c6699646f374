/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const uint8_t *at) {
  return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* Whole vectors here, the rest (and the last place of all) by the scalar loop. */
AVX2 static bool rises32(const void *places, int64_t n) {
  const uint8_t *at = places;
  __m256i signs = _mm256_setzero_si256();
  int64_t i = 0;
  for (; n - i >= 16; i += 16) {
    __m256i a = load(at + 4 * i), b = load(at + 4 * i + 32);
    __m256i x = _mm256_or_si256(a, _mm256_sub_epi32(load(at + 4 * i + 4), a));
    __m256i y = _mm256_or_si256(b, _mm256_sub_epi32(load(at + 4 * i + 36), b));
    signs = _mm256_or_si256(signs, _mm256_or_si256(x, y));
  }
  if (_mm256_movemask_ps(_mm256_castsi256_ps(signs)) != 0) return false;
  return csf_scan_scalar.rises32(at + 4 * i, n - i);
}

AVX2 static bool rises64(const void *places, int64_t n) {
  const uint8_t *at = places;
  __m256i signs = _mm256_setzero_si256();
  int64_t i = 0;
  for (; n - i >= 8; i += 8) {
    __m256i a = load(at + 8 * i), b = load(at + 8 * i + 32);
    __m256i x = _mm256_or_si256(a, _mm256_sub_epi64(load(at + 8 * i + 8), a));
    __m256i y = _mm256_or_si256(b, _mm256_sub_epi64(load(at + 8 * i + 40), b));
    signs = _mm256_or_si256(signs, _mm256_or_si256(x, y));
  }
  if (_mm256_movemask_pd(_mm256_castsi256_pd(signs)) != 0) return false;
  return csf_scan_scalar.rises64(at + 8 * i, n - i);
}

/* No lane of most exceeds limit - 1, the greatest value allowed, where the greater of the two is that again. */
AVX2 static bool below8(const void *values, int64_t n, uint64_t limit) {
  if (limit > UINT8_MAX) return true;
  const uint8_t *at = values;
  __m256i most = _mm256_setzero_si256(), allowed = _mm256_set1_epi8((char)(limit - 1));
  int64_t i = 0;
  for (; n - i >= 32; i += 32) most = _mm256_max_epu8(most, load(at + i));
  __m256i same = _mm256_cmpeq_epi8(_mm256_max_epu8(most, allowed), allowed);
  return _mm256_movemask_epi8(same) == -1 && csf_scan_scalar.below8(at + i, n - i, limit);
}

AVX2 static bool below16(const void *values, int64_t n, uint64_t limit) {
  if (limit > UINT16_MAX) return true;
  const uint8_t *at = values;
  __m256i most = _mm256_setzero_si256(), allowed = _mm256_set1_epi16((short)(limit - 1));
  int64_t i = 0;
  for (; n - i >= 16; i += 16) most = _mm256_max_epu16(most, load(at + 2 * i));
  __m256i same = _mm256_cmpeq_epi16(_mm256_max_epu16(most, allowed), allowed);
  return _mm256_movemask_epi8(same) == -1 && csf_scan_scalar.below16(at + 2 * i, n - i, limit);
}

AVX2 static bool below32(const void *values, int64_t n, uint64_t limit) {
  if (limit > UINT32_MAX) return true;
  const uint8_t *at = values;
  __m256i most = _mm256_setzero_si256(), allowed = _mm256_set1_epi32((int)(limit - 1));
  int64_t i = 0;
  for (; n - i >= 8; i += 8) most = _mm256_max_epu32(most, load(at + 4 * i));
  __m256i same = _mm256_cmpeq_epi32(_mm256_max_epu32(most, allowed), allowed);
  return _mm256_movemask_epi8(same) == -1 && csf_scan_scalar.below32(at + 4 * i, n - i, limit);
}

/* There is no unsigned comparison of 64 bits: both sides are shifted by half the range. */
AVX2 static bool below64(const void *values, int64_t n, uint64_t limit) {
  const uint8_t *at = values;
  const __m256i half = _mm256_set1_epi64x(INT64_MIN);
  __m256i allowed = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)(limit - 1)), half), above = _mm256_setzero_si256();
  int64_t i = 0;
  for (; n - i >= 4; i += 4) {
    above = _mm256_or_si256(above, _mm256_cmpgt_epi64(_mm256_xor_si256(load(at + 8 * i), half), allowed));
  }
  return _mm256_testz_si256(above, above) && csf_scan_scalar.below64(at + 8 * i, n - i, limit);
}

const struct csf_scan csf_scan_avx2 = {rises32, rises64, below8, below16, below32, below64};

#endif
