/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 with AVX2, 32 bytes at a time, by the well-known lookup method (J. Keiser and D. Lemire, "Validating UTF-8 in less than one
 * instruction per byte", 2021): every fault that shows in two neighbouring bytes is a bit; three tables, indexed by the two halves
 * of the first byte and the upper half of the second, say which faults each half still allows, and what all three allow is one.
 * What remains are third and fourth bytes, where two continuations in a row are right, and only there.
 */
#include "arrow/utf8.h"
#include "arrow/utf8_tables.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

AVX2_INLINE __m256i load(const uint8_t *at) {
  return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

AVX2_INLINE __m256i table(const uint8_t *bytes) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}

/* The bytes n places before each one of now. */
#define BEFORE(now, last, n) _mm256_alignr_epi8((now), _mm256_permute2x128_si256((last), (now), 0x21), 16 - (n))

/* Not zero where now, after last, breaks a rule. */
AVX2_INLINE __m256i faults(__m256i now, __m256i last) {
  const __m256i low = _mm256_set1_epi8(0x0f);
  __m256i before = BEFORE(now, last, 1);
  __m256i first = _mm256_shuffle_epi8(table(csf_utf8_first_high), _mm256_and_si256(_mm256_srli_epi16(before, 4), low));
  __m256i second = _mm256_shuffle_epi8(table(csf_utf8_first_low), _mm256_and_si256(before, low));
  __m256i third = _mm256_shuffle_epi8(table(csf_utf8_second_high), _mm256_and_si256(_mm256_srli_epi16(now, 4), low));
  __m256i pairs = _mm256_and_si256(_mm256_and_si256(first, second), third);
  /* Bit 7 where a lead of three bytes stands two before, or one of four three before: a saturated difference reaches 0x80 just there. */
  __m256i three = _mm256_subs_epu8(BEFORE(now, last, 2), _mm256_set1_epi8((char)(0xe0 - 0x80)));
  __m256i four = _mm256_subs_epu8(BEFORE(now, last, 3), _mm256_set1_epi8((char)(0xf0 - 0x80)));
  __m256i must = _mm256_and_si256(_mm256_or_si256(three, four), _mm256_set1_epi8((char)0x80));
  return _mm256_xor_si256(must, pairs);
}

/* What goes on from one vector to the next. */
struct state {
  __m256i last;
  __m256i errors;
  __m256i seen; /* all bytes so far, ored */
};

/* A sequence left open at the end of last shows in now's first bytes, so that plain ASCII needs no look unless last was not. */
AVX2_INLINE void take(struct state *state, __m256i now) {
  __m256i both = _mm256_or_si256(now, state->last);
  if (_mm256_movemask_epi8(both) != 0) state->errors = _mm256_or_si256(state->errors, faults(now, state->last));
  state->seen = _mm256_or_si256(state->seen, now);
  state->last = now;
}

AVX2 enum csf_utf8 csf_utf8_check_avx2(const uint8_t *text, size_t size) {
  struct state state = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  size_t i = 0;
  for (; size - i >= 128; i += 128) {
    __m256i a = load(text + i), b = load(text + i + 32), c = load(text + i + 64), d = load(text + i + 96);
    __m256i all = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    if (CSF_LIKELY(_mm256_movemask_epi8(_mm256_or_si256(all, state.last)) == 0)) continue;
    take(&state, a);
    take(&state, b);
    take(&state, c);
    take(&state, d);
  }
  for (; size - i >= 32; i += 32) take(&state, load(text + i));
  /* The rest and at least one zero after it, which ends what was left open. */
  uint8_t rest[32] = {0};
  if (size > i) memcpy(rest, text + i, size - i);
  take(&state, load(rest));
  if (!_mm256_testz_si256(state.errors, state.errors)) return CSF_UTF8_BROKEN;
  return _mm256_movemask_epi8(state.seen) == 0 ? CSF_UTF8_ASCII : CSF_UTF8_WIDE;
}

#endif
