/* SPDX-License-Identifier: Apache-2.0 */
/* The 20 bytes in front of a block: formats.md A.1, guards G2-G5, G8. */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/status.h"
#include "colshuf/block.h"

/* L counts what follows it: field count and tag, and the body. Readers of the format hold L - 8 in a signed 32-bit int. */
enum { SMALLEST_LENGTH = 12 };
static const uint64_t largest_length = (UINT64_C(1) << 31) + 7;

/* Bit 7 of the tag's first byte says that offsets are stored as lengths. */
static const uint32_t lengths_flag = 0x80;

static bool codec_of_tag(uint32_t tag, enum colshuf_codec *out) {
  switch (tag) {
    case 0x5f345a4c: *out = COLSHUF_LZ4; return true;    /* LZ4_ */
    case 0x454e4f4e: *out = COLSHUF_NONE; return true;   /* NONE */
    case 0x4454535a: *out = COLSHUF_ZSTD; return true;   /* ZSTD */
    case 0x50414e53: *out = COLSHUF_SNAPPY; return true; /* SNAP */
    default: return false;
  }
}

static enum colshuf_status check_length(uint64_t length, struct colshuf_error *err) {
  if (length < SMALLEST_LENGTH) {
    return csf_fail(err, COLSHUF_CORRUPT, "block length %" PRIu64 " at byte 0, the smallest is %d", length, SMALLEST_LENGTH);
  }
  if (length > largest_length) {
    return csf_fail(err, COLSHUF_CORRUPT, "block length %" PRIu64 " at byte 0, the largest is %" PRIu64, length, largest_length);
  }
  return COLSHUF_OK;
}

enum colshuf_status colshuf_block_header_read(const uint8_t *data, size_t size, struct colshuf_block_header *out,
                                              struct colshuf_error *err) {
  if (CSF_UNLIKELY(size < COLSHUF_BLOCK_HEADER_SIZE)) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated block header: %zu bytes, %d wanted", size, COLSHUF_BLOCK_HEADER_SIZE);
  }
  uint64_t length = csf_load_u64(data), n_columns = csf_load_u64(data + 8);
  CSF_TRY(check_length(length, err));
  if (CSF_UNLIKELY(n_columns > INT32_MAX)) {
    return csf_fail(err, COLSHUF_CORRUPT, "%" PRIu64 " columns at byte 8, at most %d", n_columns, INT32_MAX);
  }
  uint32_t tag = csf_load_u32(data + 16);
  struct colshuf_block_header header = {.block_size = length + 8, .n_columns = n_columns};
  if (CSF_UNLIKELY(!codec_of_tag(tag & ~lengths_flag, &header.codec))) {
    return csf_fail(err, COLSHUF_CORRUPT, "codec tag %02x %02x %02x %02x at byte 16 is none of LZ4_, ZSTD, SNAP, NONE", data[16], data[17],
                    data[18], data[19]);
  }
  header.offsets_as_lengths = (tag & lengths_flag) != 0;
  *out = header;
  return COLSHUF_OK;
}
