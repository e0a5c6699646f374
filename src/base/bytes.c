/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

int64_t csf_bits_count(const uint8_t *bits, int64_t offset, int64_t n) {
  int64_t count = 0;
  for (; n > 0 && (offset & 7) != 0; offset++, n--) count += csf_bit_get(bits, offset);
  const uint8_t *place = n > 0 ? bits + offset / 8 : bits;
  for (; n >= 64; n -= 64, place += 8) count += __builtin_popcountll(csf_load_u64(place));
  for (; n >= 8; n -= 8, place++) count += __builtin_popcount(*place);
  if (n > 0) count += __builtin_popcount(*place & ((1u << n) - 1));
  return count;
}

/* 8 bits of source at any bit offset; reads the second byte only where it holds one of the wanted bits. */
static uint8_t byte_at(const uint8_t *source, int64_t offset) {
  unsigned shift = (unsigned)(offset & 7);
  const uint8_t *place = source + offset / 8;
  if (shift == 0) return *place;
  return (uint8_t)((*place >> shift) | (place[1] << (8 - shift)));
}

void csf_bits_copy(uint8_t *target, int64_t target_offset, const uint8_t *source, int64_t source_offset, int64_t n) {
  int64_t i = 0;
  for (; i < n && ((target_offset + i) & 7) != 0; i++) {
    csf_bits_fill(target, target_offset + i, 1, csf_bit_get(source, source_offset + i));
  }
  uint8_t *place = i < n ? target + (target_offset + i) / 8 : target;
  if (n - i >= 8 && ((source_offset + i) & 7) == 0) {
    int64_t bytes = (n - i) / 8;
    memcpy(place, source + (source_offset + i) / 8, (size_t)bytes);
    place += bytes;
    i += bytes * 8;
  }
  for (; n - i >= 72; i += 64, place += 8) {
    unsigned shift = (unsigned)((source_offset + i) & 7);
    const uint8_t *from = source + (source_offset + i) / 8;
    csf_store_u64(place, (csf_load_u64(from) >> shift) | ((uint64_t)from[8] << (64 - shift)));
  }
  for (; n - i >= 8; i += 8) *place++ = byte_at(source, source_offset + i);
  for (; i < n; i++) csf_bits_fill(target, target_offset + i, 1, csf_bit_get(source, source_offset + i));
}

void csf_bits_fill(uint8_t *target, int64_t offset, int64_t n, bool value) {
  for (; n > 0 && (offset & 7) != 0; offset++, n--) {
    if (value) csf_bit_set(target, offset);
    else csf_bit_clear(target, offset);
  }
  if (n >= 8) {
    memset(target + offset / 8, value ? 0xff : 0, (size_t)(n / 8));
    offset += n / 8 * 8;
    n %= 8;
  }
  for (; n > 0; offset++, n--) {
    if (value) csf_bit_set(target, offset);
    else csf_bit_clear(target, offset);
  }
}
