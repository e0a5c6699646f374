/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc_fold.h"

const struct csf_crc_fold csf_crc_fold_crc32 = {
    .by_128 = {0x65673b4600000000u, 0x9ba54c6f00000000u},
    .by_512 = {0x653d982200000000u, 0xcad38e8f00000000u},
    .by_2048 = {0x7cc8e1e700000000u, 0x03f9f86300000000u},
};

const struct csf_crc_fold csf_crc_fold_crc32c = {
    .by_128 = {0x3743f7bd00000000u, 0x3171d43000000000u},
    .by_512 = {0x1c19243b00000000u, 0x75bba45b00000000u},
    .by_2048 = {0xe9a5d8be00000000u, 0x1426a81500000000u},
};

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("sse4.2,pclmul")))

TARGET static inline __m128i load(const void *place) {
  return _mm_loadu_si128(place);
}

/* value moved forward by what factors say, with next added. */
TARGET static inline __m128i move(__m128i value, __m128i factors, __m128i next) {
  __m128i first = _mm_clmulepi64_si128(value, factors, 0x00);
  __m128i second = _mm_clmulepi64_si128(value, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

TARGET void csf_crc_fold_pclmul(const struct csf_crc_fold *fold, uint32_t state, const uint8_t *data, size_t size,
                                uint8_t out[16]) {
  __m128i far = load(fold->by_512), near = load(fold->by_128);
  __m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128((int)state));
  __m128i b = load(data + 16), c = load(data + 32), d = load(data + 48);
  for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
    a = move(a, far, load(data));
    b = move(b, far, load(data + 16));
    c = move(c, far, load(data + 32));
    d = move(d, far, load(data + 48));
  }
  a = move(move(move(a, near, b), near, c), near, d);
  for (; size >= 16; data += 16, size -= 16) a = move(a, near, load(data));
  _mm_storeu_si128((__m128i *)out, a);
}
#endif
