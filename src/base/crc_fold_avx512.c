/* SPDX-License-Identifier: Apache-2.0 */
/* Folding four times four lanes at once. */
#include "base/crc_fold.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmul,sse4.2")))

TARGET static inline __m512i load(const void *place) {
  return _mm512_loadu_si512(place);
}

TARGET static inline __m512i move(__m512i value, __m512i factors, __m512i next) {
  __m512i first = _mm512_clmulepi64_epi128(value, factors, 0x00);
  __m512i second = _mm512_clmulepi64_epi128(value, factors, 0x11);
  return _mm512_ternarylogic_epi64(first, second, next, 0x96); /* exclusive or of three */
}

TARGET static inline __m512i factors_of(const uint64_t pair[2]) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)pair));
}

TARGET void csf_crc_fold_avx512(const struct csf_crc_fold *fold, uint32_t state, const uint8_t *data, size_t size,
                                uint8_t out[16]) {
  if (size < 512) {
    csf_crc_fold_pclmul(fold, state, data, size, out);
    return;
  }
  __m512i far = factors_of(fold->by_2048), near = factors_of(fold->by_512);
  __m512i a = _mm512_xor_si512(load(data), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
  __m512i b = load(data + 64), c = load(data + 128), d = load(data + 192);
  for (data += 256, size -= 256; size >= 256; data += 256, size -= 256) {
    a = move(a, far, load(data));
    b = move(b, far, load(data + 64));
    c = move(c, far, load(data + 128));
    d = move(d, far, load(data + 192));
  }
  a = move(move(move(a, near, b), near, c), near, d);
  for (; size >= 64; data += 64, size -= 64) a = move(a, near, load(data));
  /* What is left, behind the four lanes that there are, is a message of its own. */
  uint8_t rest[128];
  _mm512_storeu_si512(rest, a);
  for (size_t i = 0; i < size; i++) rest[64 + i] = data[i];
  csf_crc_fold_pclmul(fold, 0, rest, 64 + size, out);
}
#endif
