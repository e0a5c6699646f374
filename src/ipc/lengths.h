/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets as lengths: n + 1 offsets become the first offset and n differences, laid out in byte planes (the lowest byte of all of
 * them, then the second, ...), which is what codecs like. formats.md A.11.
 */
#ifndef CSF_IPC_LENGTHS_H
#define CSF_IPC_LENGTHS_H

#include "base/bytes.h"

/*
 * Writes count = n + 1 offsets of width 4 or 8 bytes as count * width bytes of planes. The first value is written as 0: offsets are
 * re-based on the way. Differences wrap; offsets of a valid array never do. No alignment is needed; the areas must not overlap.
 */
void csf_lengths_from_offsets(uint8_t *target, const void *offsets, int64_t count, int width);

/*
 * The way back: count values of width 4 or 8 from planes become offsets in target (count * width bytes, any alignment, apart
 * from planes). The first value may be above 0. end_limit is the number of bytes or values that the offsets point into.
 * Returns: OK; CORRUPT for a negative length, a sum beyond the signed type, an end beyond end_limit. target is then undefined.
 */
enum colshuf_status csf_offsets_from_lengths(void *target, const uint8_t *planes, int64_t count, int width, int64_t end_limit,
                                             struct colshuf_error *err) COLSHUF_MUST_USE;

/* One implementation of both ways. decode_... return false when a length is negative or a sum leaves the signed type. */
struct csf_lengths_kernels {
  void (*encode32)(uint8_t *target, const uint8_t *offsets, int64_t count);
  void (*encode64)(uint8_t *target, const uint8_t *offsets, int64_t count);
  bool (*decode32)(uint8_t *target, const uint8_t *planes, int64_t count);
  bool (*decode64)(uint8_t *target, const uint8_t *planes, int64_t count);
};
extern const struct csf_lengths_kernels csf_lengths_scalar;
#if defined(__x86_64__)
extern const struct csf_lengths_kernels csf_lengths_avx2; /* only where csf_cpu()->avx2 */
#endif

#endif
