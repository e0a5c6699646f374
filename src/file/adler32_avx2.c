/* SPDX-License-Identifier: Apache-2.0 */
/* Adler-32, 32 bytes at a time. */
#include "file/checksum_x86.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <zlib.h>

#define TARGET __attribute__((target("avx2")))

/*
 * a = 1 + the sum of the bytes, b = the sum of all a on the way. Over a block of 32 bytes d[0..32), b grows by 32 times the a before
 * it and by the sum of (32 - i) x d[i]. The 32-bit sums hold CHUNK blocks: `before`, the sum of the sums of bytes, grows fastest:
 * 32 x 255 x 1000 x 999 / 2 < 2^32.
 */
enum { MODULUS = 65521, CHUNK = 1000 };

TARGET static uint32_t sum_of(__m256i lanes) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return (uint32_t)_mm_cvtsi128_si32(half);
}

TARGET static void add_blocks(uint32_t *a, uint32_t *b, const uint8_t *data, size_t n_blocks) {
  const __m256i weights = _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                                           11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
  const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi16(1);
  __m256i bytes = zero, before = zero, weighted = zero;
  for (size_t i = 0; i < n_blocks; i++) {
    __m256i block = _mm256_loadu_si256((const __m256i *)(data + 32 * i));
    before = _mm256_add_epi32(before, bytes);
    bytes = _mm256_add_epi32(bytes, _mm256_sad_epu8(block, zero));
    weighted = _mm256_add_epi32(weighted, _mm256_madd_epi16(_mm256_maddubs_epi16(block, weights), ones));
  }
  uint64_t grown = *b + 32 * (uint64_t)n_blocks * *a + 32 * (uint64_t)sum_of(before) + sum_of(weighted);
  *b = (uint32_t)(grown % MODULUS);
  *a = (*a + sum_of(bytes)) % MODULUS;
}

uint32_t csf_adler32_avx2(uint32_t running, const void *data, size_t size) {
  const uint8_t *place = data;
  uint32_t a = running & 0xffff, b = running >> 16;
  while (size >= 32) {
    size_t n_blocks = size / 32 < CHUNK ? size / 32 : CHUNK;
    add_blocks(&a, &b, place, n_blocks);
    place += 32 * n_blocks;
    size -= 32 * n_blocks;
  }
  return size == 0 ? b << 16 | a : (uint32_t)adler32_z(b << 16 | a, place, size);
}
#endif
