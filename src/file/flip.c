/* SPDX-License-Identifier: Apache-2.0 */
#include "file/flip.h"

#include <stdbool.h>

enum { ADLER_MODULUS = 65521 };

/*
 * A CRC of changed bytes differs from that of the right ones by the CRC register of the change alone, which starts as 1 at the
 * flipped bit and takes a step with each bit up to the end. So steps are counted until the register is the difference.
 */
static struct csf_flips find_in_crc(uint32_t polynomial, uint32_t difference, uint64_t size) {
  uint32_t crc = 1;
  for (uint64_t left = 1; left <= 8 * size; left++) {
    crc = (crc >> 1) ^ (polynomial & (0u - (crc & 1)));
    if (crc != difference) continue;
    uint64_t place = 8 * size - left;
    return (struct csf_flips){.n = 1, .byte = place / 8, .stride = 1, .bit = (int)(place % 8), .value = -1};
  }
  return (struct csf_flips){0};
}

static uint32_t subtract(uint32_t a, uint32_t b) {
  return (a % ADLER_MODULUS + ADLER_MODULUS - b % ADLER_MODULUS) % ADLER_MODULUS;
}

/* 2^k or -2^k is the difference of the lower sums; the upper sum has it as often as there are bytes from there to the end. */
static struct csf_flips find_in_adler(uint32_t found, uint32_t wanted, uint64_t size) {
  uint32_t low = subtract(found & 0xffff, wanted & 0xffff), high = subtract(found >> 16, wanted >> 16);
  for (int bit = 0; bit < 8; bit++) {
    uint32_t step = 1u << bit;
    bool set = low == step;
    if (!set && low != ADLER_MODULUS - step) continue;
    uint64_t times = set ? high : subtract(0, high); /* step * bytes to the end, modulo */
    for (int k = 0; k < bit; k++) times = (times % 2 == 0 ? times : times + ADLER_MODULUS) / 2;
    if (times == 0) times = ADLER_MODULUS;
    if (times > size) break;
    uint64_t last = size - times;
    return (struct csf_flips){
        .n = last / ADLER_MODULUS + 1, .byte = last % ADLER_MODULUS, .stride = ADLER_MODULUS, .bit = bit, .value = set};
  }
  return (struct csf_flips){0};
}

struct csf_flips csf_flips_find(enum colshuf_checksum algorithm, uint32_t found, uint32_t wanted, uint64_t size) {
  switch (algorithm) {
    case COLSHUF_CHECKSUM_ADLER32:
      return find_in_adler(found, wanted, size);
    case COLSHUF_CHECKSUM_CRC32:
      return find_in_crc(0xedb88320u, found ^ wanted, size);
    case COLSHUF_CHECKSUM_CRC32C:
      return find_in_crc(0x82f63b78u, found ^ wanted, size);
    case COLSHUF_CHECKSUM_NONE:
      break;
  }
  return (struct csf_flips){0};
}
