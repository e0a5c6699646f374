/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The crc32 instruction takes three cycles but can start every cycle: three streams side by side, put together by a
 * carry-less multiplication.
 */
#include "base/crc32c.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/bytes.h"

#define TARGET __attribute__((target("sse4.2,pclmul")))

/*
 * Advancing a CRC over n zero bytes multiplies it by x^(8n). The product of two bit-reversed 32-bit values stands one
 * place lower than a bit-reversed 64-bit word would, that is a factor of x; the crc32 instruction, which reduces it, adds
 * x^32. So the factor is x^(8n - 33) modulo the polynomial:
 */
enum { LONG_LANE = 2048, SHORT_LANE = 256, THREE_LONG = 3 * LONG_LANE, THREE_SHORT = 3 * SHORT_LANE };
#define LONG_ONE 0xa51b6135u /* x^(8 x 2048 - 33) */
#define LONG_TWO 0x82f89c77u /* x^(8 x 4096 - 33) */
#define SHORT_ONE 0xb9e02b86u /* x^(8 x 256 - 33) */
#define SHORT_TWO 0xdd7e3b0cu /* x^(8 x 512 - 33) */

TARGET static uint64_t advance(uint64_t crc, uint32_t factor) {
  __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)(uint32_t)crc), _mm_cvtsi32_si128((int)factor), 0);
  return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

TARGET static inline uint64_t three_lanes(uint64_t crc, const uint8_t *place, size_t lane, uint32_t one, uint32_t two) {
  uint64_t b = 0, c = 0;
  for (size_t i = 0; i < lane; i += 8) {
    crc = _mm_crc32_u64(crc, csf_load_u64(place + i));
    b = _mm_crc32_u64(b, csf_load_u64(place + lane + i));
    c = _mm_crc32_u64(c, csf_load_u64(place + 2 * lane + i));
  }
  return advance(crc, two) ^ advance(b, one) ^ c;
}

TARGET uint32_t csf_crc32c_sse42(uint32_t running, const void *data, size_t size) {
  const uint8_t *place = data;
  uint64_t crc = (uint32_t)~running;
  for (; size >= THREE_LONG; place += THREE_LONG, size -= THREE_LONG) {
    crc = three_lanes(crc, place, LONG_LANE, LONG_ONE, LONG_TWO);
  }
  for (; size >= THREE_SHORT; place += THREE_SHORT, size -= THREE_SHORT) {
    crc = three_lanes(crc, place, SHORT_LANE, SHORT_ONE, SHORT_TWO);
  }
  for (; size >= 8; place += 8, size -= 8) crc = _mm_crc32_u64(crc, csf_load_u64(place));
  for (; size > 0; place++, size--) crc = _mm_crc32_u8((uint32_t)crc, *place);
  return ~(uint32_t)crc;
}
#endif
