/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

/* A place that falls, or is negative, leaves a sign bit; the first place is the caller's. The tail is read under a mask: no scalar rest. */
AVX512 static inline __m512i signs32(__m512i signs, __mmask16 mask, const uint8_t *at) {
  __m512i a = _mm512_maskz_loadu_epi32(mask, at), b = _mm512_maskz_loadu_epi32(mask, at + 4);
  return _mm512_ternarylogic_epi64(signs, b, _mm512_sub_epi32(b, a), 0xfe); /* or of the three */
}

AVX512 static inline __m512i signs64(__m512i signs, __mmask8 mask, const uint8_t *at) {
  __m512i a = _mm512_maskz_loadu_epi64(mask, at), b = _mm512_maskz_loadu_epi64(mask, at + 8);
  return _mm512_ternarylogic_epi64(signs, b, _mm512_sub_epi64(b, a), 0xfe);
}

AVX512 static bool rises32(const void *places, int64_t n) {
  const uint8_t *at = places, *end = at + 4 * n;
  uint32_t first = csf_load_u32(at);
  __m512i x = _mm512_setzero_si512(), y = x;
  for (; end - at >= 128; at += 128) {
    x = signs32(x, 0xffff, at);
    y = signs32(y, 0xffff, at + 64);
  }
  if (end - at >= 64) {
    x = signs32(x, 0xffff, at);
    at += 64;
  }
  if (at < end) y = signs32(y, (__mmask16)((1u << ((end - at) / 4)) - 1), at);
  return _mm512_movepi32_mask(_mm512_or_si512(x, y)) == 0 && first >> 31 == 0;
}

AVX512 static bool rises64(const void *places, int64_t n) {
  const uint8_t *at = places, *end = at + 8 * n;
  uint64_t first = csf_load_u64(at);
  __m512i x = _mm512_setzero_si512(), y = x;
  for (; end - at >= 128; at += 128) {
    x = signs64(x, 0xff, at);
    y = signs64(y, 0xff, at + 64);
  }
  if (end - at >= 64) {
    x = signs64(x, 0xff, at);
    at += 64;
  }
  if (at < end) y = signs64(y, (__mmask8)((1u << ((end - at) / 8)) - 1), at);
  return _mm512_movepi64_mask(_mm512_or_si512(x, y)) == 0 && first >> 63 == 0;
}

/* Indices are scanned at the speed of memory already. */
static bool below8(const void *values, int64_t n, uint64_t limit) {
  return csf_scan_avx2.below8(values, n, limit);
}
static bool below16(const void *values, int64_t n, uint64_t limit) {
  return csf_scan_avx2.below16(values, n, limit);
}
static bool below32(const void *values, int64_t n, uint64_t limit) {
  return csf_scan_avx2.below32(values, n, limit);
}
static bool below64(const void *values, int64_t n, uint64_t limit) {
  return csf_scan_avx2.below64(values, n, limit);
}

const struct csf_scan csf_scan_avx512 = {rises32, rises64, below8, below16, below32, below64};
#endif
