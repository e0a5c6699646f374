/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 with AVX-512, 64 bytes at a time: the method of utf8_avx2.c, with masked loads instead of a copied rest. */
#include "arrow/utf8.h"
#include "arrow/utf8_tables.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2")))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

AVX512_INLINE __m512i table(const uint8_t *bytes) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}

/* Each lane of 16 bytes of now preceded by the lane before it: last's fourth, now's first, second and third. */
AVX512_INLINE __m512i lanes_before(__m512i now, __m512i last) {
  return _mm512_alignr_epi32(now, last, 12);
}
#define BEFORE(now, lanes, n) _mm512_alignr_epi8((now), (lanes), 16 - (n))

AVX512_INLINE __m512i faults(__m512i now, __m512i last) {
  const __m512i low = _mm512_set1_epi8(0x0f);
  __m512i lanes = lanes_before(now, last);
  __m512i before = BEFORE(now, lanes, 1);
  __m512i first = _mm512_shuffle_epi8(table(csf_utf8_first_high), _mm512_and_si512(_mm512_srli_epi16(before, 4), low));
  __m512i second = _mm512_shuffle_epi8(table(csf_utf8_first_low), _mm512_and_si512(before, low));
  __m512i third = _mm512_shuffle_epi8(table(csf_utf8_second_high), _mm512_and_si512(_mm512_srli_epi16(now, 4), low));
  __m512i pairs = _mm512_and_si512(_mm512_and_si512(first, second), third);
  __m512i three = _mm512_subs_epu8(BEFORE(now, lanes, 2), _mm512_set1_epi8((char)(0xe0 - 0x80)));
  __m512i four = _mm512_subs_epu8(BEFORE(now, lanes, 3), _mm512_set1_epi8((char)(0xf0 - 0x80)));
  __m512i must = _mm512_and_si512(_mm512_or_si512(three, four), _mm512_set1_epi8((char)0x80));
  return _mm512_xor_si512(must, pairs);
}

struct state {
  __m512i last;
  __m512i errors;
  __m512i seen;
};

AVX512_INLINE void take(struct state *state, __m512i now) {
  if (_mm512_movepi8_mask(_mm512_or_si512(now, state->last)) != 0) {
    state->errors = _mm512_or_si512(state->errors, faults(now, state->last));
  }
  state->seen = _mm512_or_si512(state->seen, now);
  state->last = now;
}

AVX512 enum csf_utf8 csf_utf8_check_avx512(const uint8_t *text, size_t size) {
  struct state state = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  size_t i = 0;
  for (; size - i >= 256; i += 256) {
    __m512i a = _mm512_loadu_si512(text + i), b = _mm512_loadu_si512(text + i + 64);
    __m512i c = _mm512_loadu_si512(text + i + 128), d = _mm512_loadu_si512(text + i + 192);
    __m512i all = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    if (CSF_LIKELY(_mm512_movepi8_mask(_mm512_or_si512(all, state.last)) == 0)) continue;
    take(&state, a);
    take(&state, b);
    take(&state, c);
    take(&state, d);
  }
  for (; size - i >= 64; i += 64) take(&state, _mm512_loadu_si512(text + i));
  /* Fewer than 64 bytes: the zeros behind them end what was left open. Masked bytes are not touched. */
  __m512i rest = _mm512_setzero_si512();
  if (size > i) rest = _mm512_maskz_loadu_epi8((__mmask64)_bzhi_u64(UINT64_MAX, (unsigned)(size - i)), text + i);
  take(&state, rest);
  if (_mm512_test_epi8_mask(state.errors, state.errors) != 0) return CSF_UTF8_BROKEN;
  return _mm512_movepi8_mask(state.seen) == 0 ? CSF_UTF8_ASCII : CSF_UTF8_WIDE;
}

#endif
