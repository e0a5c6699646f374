/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing integers at unaligned places, bits, rounding, and the cursor through which hostile bytes are read. */
#ifndef CSF_BASE_BYTES_H
#define CSF_BASE_BYTES_H

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "colshuf runs on little-endian machines"
#endif

#define CSF_LOAD(name, type)                          \
  static inline type name(const void *place) {        \
    type value;                                       \
    memcpy(&value, place, sizeof value);              \
    return value;                                     \
  }
#define CSF_STORE(name, type)                         \
  static inline void name(void *place, type value) {  \
    memcpy(place, &value, sizeof value);              \
  }
CSF_LOAD(csf_load_u16, uint16_t)
CSF_LOAD(csf_load_u32, uint32_t)
CSF_LOAD(csf_load_u64, uint64_t)
CSF_LOAD(csf_load_i16, int16_t)
CSF_LOAD(csf_load_i32, int32_t)
CSF_LOAD(csf_load_i64, int64_t)
CSF_STORE(csf_store_u16, uint16_t)
CSF_STORE(csf_store_u32, uint32_t)
CSF_STORE(csf_store_u64, uint64_t)
CSF_STORE(csf_store_i32, int32_t)
CSF_STORE(csf_store_i64, int64_t)
#undef CSF_LOAD
#undef CSF_STORE

/* Entry i of offsets of 4 or 8 bytes, at any address. */
static inline __attribute__((always_inline)) int64_t csf_offset_at(const void *offsets, int64_t i, bool wide) {
  const uint8_t *bytes = (const uint8_t *)offsets;
  return wide ? csf_load_i64(bytes + 8 * i) : csf_load_i32(bytes + 4 * i);
}
static inline __attribute__((always_inline)) void csf_offset_set(void *offsets, int64_t i, bool wide, int64_t value) {
  uint8_t *bytes = (uint8_t *)offsets;
  if (wide) csf_store_i64(bytes + 8 * i, value);
  else csf_store_i32(bytes + 4 * i, (int32_t)value);
}

/*
 * Offsets that begin elsewhere: to[i] = from[i] + distance for n of 4 or 8 bytes, at any address, 16 bytes at a time. They wrap
 * where the sum does not fit: the end is the caller's to check.
 */
static inline __attribute__((always_inline)) void csf_offsets_shift(void *to, const void *from, int64_t n, int64_t distance,
                                                                    bool wide) {
  typedef uint32_t lanes32 __attribute__((vector_size(16)));
  typedef uint64_t lanes64 __attribute__((vector_size(16)));
  uint8_t *target = (uint8_t *)to;
  const uint8_t *source = (const uint8_t *)from;
  int64_t width = wide ? 8 : 4, size = n * width, i = 0;
  for (; i + 16 <= size; i += 16) {
    if (wide) {
      lanes64 v;
      memcpy(&v, source + i, sizeof v);
      v += (uint64_t)distance;
      memcpy(target + i, &v, sizeof v);
    } else {
      lanes32 v;
      memcpy(&v, source + i, sizeof v);
      v += (uint32_t)distance;
      memcpy(target + i, &v, sizeof v);
    }
  }
  for (; i < size; i += width) {
    if (wide) csf_store_u64(target + i, csf_load_u64(source + i) + (uint64_t)distance);
    else csf_store_u32(target + i, csf_load_u32(source + i) + (uint32_t)distance);
  }
}

static inline uint64_t csf_load_be64(const void *place) {
  return __builtin_bswap64(csf_load_u64(place));
}
static inline void csf_store_be64(void *place, uint64_t value) {
  csf_store_u64(place, __builtin_bswap64(value));
}

static inline bool csf_bit_get(const uint8_t *bits, int64_t i) {
  return (bits[(uint64_t)i >> 3] >> ((uint64_t)i & 7)) & 1;
}
static inline void csf_bit_set(uint8_t *bits, int64_t i) {
  bits[(uint64_t)i >> 3] |= (uint8_t)(1u << ((uint64_t)i & 7));
}
static inline void csf_bit_clear(uint8_t *bits, int64_t i) {
  bits[(uint64_t)i >> 3] &= (uint8_t)~(1u << ((uint64_t)i & 7));
}
/* Bytes of n bits. */
static inline int64_t csf_bit_bytes(int64_t n) {
  return n / 8 + (n % 8 != 0);
}

/* value up to the next multiple of a power of two; the caller has bounded value. */
static inline uint64_t csf_round_up(uint64_t value, uint64_t power_of_two) {
  return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* Counts the set bits of bits[offset .. offset + n). */
int64_t csf_bits_count(const uint8_t *bits, int64_t offset, int64_t n);

/* Copies n bits from source at source_offset to target at target_offset; other bits of target stay as they are. */
void csf_bits_copy(uint8_t *target, int64_t target_offset, const uint8_t *source, int64_t source_offset, int64_t n);

/* Sets n bits of target at offset to value; other bits stay as they are. */
void csf_bits_fill(uint8_t *target, int64_t offset, int64_t n, bool value);

/* Hostile bytes are read through this: every take advances, or fails and leaves the cursor as it was. */
struct csf_cursor {
  const uint8_t *data;
  size_t size; /* bytes left */
};
static inline bool csf_cursor_take(struct csf_cursor *cursor, size_t size, const uint8_t **out) {
  if (size > cursor->size) return false;
  *out = cursor->data;
  cursor->data += size;
  cursor->size -= size;
  return true;
}
static inline bool csf_cursor_take_u32(struct csf_cursor *cursor, uint32_t *out) {
  const uint8_t *place;
  if (!csf_cursor_take(cursor, 4, &place)) return false;
  *out = csf_load_u32(place);
  return true;
}
static inline bool csf_cursor_take_u64(struct csf_cursor *cursor, uint64_t *out) {
  const uint8_t *place;
  if (!csf_cursor_take(cursor, 8, &place)) return false;
  *out = csf_load_u64(place);
  return true;
}

/* True when the sum or product does not fit; else *out holds it. */
#define csf_add_overflow(a, b, out) __builtin_add_overflow((a), (b), (out))
#define csf_multiply_overflow(a, b, out) __builtin_mul_overflow((a), (b), (out))

#endif
