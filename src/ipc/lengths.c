/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/lengths.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/cpu.h"

static void encode32(uint8_t *target, const uint8_t *offsets, int64_t count) {
  uint32_t previous = csf_load_u32(offsets);
  for (int64_t i = 0; i < count; i++) {
    uint32_t offset = csf_load_u32(offsets + 4 * i);
    uint32_t length = offset - previous;
    for (int64_t plane = 0; plane < 4; plane++) target[plane * count + i] = (uint8_t)(length >> (8 * plane));
    previous = offset;
  }
}

static bool decode32(uint8_t *target, const uint8_t *planes, int64_t count) {
  uint32_t sum = 0, signs = 0;
  for (int64_t i = 0; i < count; i++) {
    uint32_t length = 0;
    for (int64_t plane = 0; plane < 4; plane++) length |= (uint32_t)planes[plane * count + i] << (8 * plane);
    /* The first sum that leaves the type is below 2^32, so its sign bit shows it. */
    sum += length;
    signs |= length | sum;
    csf_store_u32(target + 4 * i, sum);
  }
  return signs >> 31 == 0;
}

/*
 * Eight 64-bit values at a time are an 8 x 8 square of bytes. Its transposition: halves of 4 bytes are exchanged between rows four
 * apart, then pairs between rows two apart, then bytes between neighbours.
 */
static void exchange(uint64_t *a, uint64_t *b, int shift, uint64_t low) {
  uint64_t moved = ((*a >> shift) ^ *b) & low;
  *b ^= moved;
  *a ^= moved << shift;
}

static void transpose_square(uint64_t rows[8]) {
  for (int i = 0; i < 4; i++) exchange(&rows[i], &rows[i + 4], 32, 0x00000000ffffffffu);
  for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1) exchange(&rows[i], &rows[i + 2], 16, 0x0000ffff0000ffffu);
  for (int i = 0; i < 8; i += 2) exchange(&rows[i], &rows[i + 1], 8, 0x00ff00ff00ff00ffu);
}

static void encode64(uint8_t *target, const uint8_t *offsets, int64_t count) {
  uint64_t previous = csf_load_u64(offsets);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t rows[8];
    for (int64_t j = 0; j < 8; j++) {
      uint64_t offset = csf_load_u64(offsets + 8 * (i + j));
      rows[j] = offset - previous;
      previous = offset;
    }
    transpose_square(rows);
    for (int64_t plane = 0; plane < 8; plane++) csf_store_u64(target + plane * count + i, rows[plane]);
  }
  for (; i < count; i++) {
    uint64_t offset = csf_load_u64(offsets + 8 * i);
    uint64_t length = offset - previous;
    for (int64_t plane = 0; plane < 8; plane++) target[plane * count + i] = (uint8_t)(length >> (8 * plane));
    previous = offset;
  }
}

static bool decode64(uint8_t *target, const uint8_t *planes, int64_t count) {
  uint64_t sum = 0, signs = 0;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t rows[8];
    for (int64_t plane = 0; plane < 8; plane++) rows[plane] = csf_load_u64(planes + plane * count + i);
    transpose_square(rows);
    for (int64_t j = 0; j < 8; j++) {
      sum += rows[j];
      signs |= rows[j] | sum;
      csf_store_u64(target + 8 * (i + j), sum);
    }
  }
  for (; i < count; i++) {
    uint64_t length = 0;
    for (int64_t plane = 0; plane < 8; plane++) length |= (uint64_t)planes[plane * count + i] << (8 * plane);
    sum += length;
    signs |= length | sum;
    csf_store_u64(target + 8 * i, sum);
  }
  return signs >> 63 == 0;
}

const struct csf_lengths_kernels csf_lengths_scalar = {encode32, encode64, decode32, decode64};

static const struct csf_lengths_kernels *kernels(void) {
  static _Atomic(const struct csf_lengths_kernels *) chosen;
  const struct csf_lengths_kernels *found = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (CSF_LIKELY(found != NULL)) return found;
  found = &csf_lengths_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) found = &csf_lengths_avx2;
#endif
  atomic_store_explicit(&chosen, found, memory_order_relaxed);
  return found;
}

void csf_lengths_from_offsets(uint8_t *target, const void *offsets, int64_t count, int width) {
  if (count <= 0) return;
  if (width == 4) {
    kernels()->encode32(target, offsets, count);
  } else {
    kernels()->encode64(target, offsets, count);
  }
}

static int64_t length_at(const uint8_t *planes, int64_t count, int width, int64_t i) {
  uint64_t length = 0;
  for (int plane = 0; plane < width; plane++) length |= (uint64_t)planes[plane * count + i] << (8 * plane);
  return width == 4 ? (int32_t)(uint32_t)length : (int64_t)length;
}

/* Finds again, slowly, what a kernel saw. */
static enum colshuf_status explain(const uint8_t *planes, int64_t count, int width, struct colshuf_error *err) {
  int64_t largest = width == 4 ? INT32_MAX : INT64_MAX;
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t length = length_at(planes, count, width, i);
    if (length < 0) {
      return csf_fail(err, COLSHUF_CORRUPT, "offsets as lengths: value %" PRId64 " of %" PRId64 " is %" PRId64 ", negative", i,
                      count, length);
    }
    if (length > largest - sum) {
      return csf_fail(err, COLSHUF_CORRUPT,
                      "offsets as lengths: value %" PRId64 " of %" PRId64 ": %" PRId64 " + %" PRId64 " is beyond %d bits", i, count,
                      sum, length, width * 8 - 1);
    }
    sum += length;
  }
  return csf_fail(err, COLSHUF_CORRUPT, "offsets as lengths: invalid");
}

enum colshuf_status csf_offsets_from_lengths(void *target, const uint8_t *planes, int64_t count, int width, int64_t end_limit,
                                             struct colshuf_error *err) {
  if (count <= 0) return COLSHUF_OK;
  bool valid = width == 4 ? kernels()->decode32(target, planes, count) : kernels()->decode64(target, planes, count);
  if (!valid) return explain(planes, count, width, err);
  const uint8_t *last = (const uint8_t *)target + (count - 1) * width;
  int64_t end = width == 4 ? csf_load_i32(last) : csf_load_i64(last);
  if (end > end_limit) {
    return csf_fail(err, COLSHUF_CORRUPT, "offsets as lengths: they end at %" PRId64 ", beyond the %" PRId64 " that are there", end,
                    end_limit);
  }
  return COLSHUF_OK;
}
