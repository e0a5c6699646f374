/* SPDX-License-Identifier: Apache-2.0 */
/* The 20 bytes before every block: formats.md A.1, A.11. */
#ifndef CSF_BLOCK_BLOCK_FORMAT_H
#define CSF_BLOCK_BLOCK_FORMAT_H

#include "base/bytes.h"
#include "colshuf/block.h"

/* Bit 7 of the tag's first byte: offsets stand as lengths. */
#define CSF_BLOCK_LENGTHS_FLAG 0x80u

/* The largest length word that a writer may write. */
#define CSF_BLOCK_MAX_LENGTH ((uint64_t)INT32_MAX)

/* The tag of a codec, as the bytes stand in memory: "LZ4_", "NONE", "ZSTD", "SNAP". */
static inline uint32_t csf_block_tag(enum colshuf_codec codec) {
  static const char tags[4][4] = {
      [COLSHUF_LZ4] = {'L', 'Z', '4', '_'},
      [COLSHUF_NONE] = {'N', 'O', 'N', 'E'},
      [COLSHUF_ZSTD] = {'Z', 'S', 'T', 'D'},
      [COLSHUF_SNAPPY] = {'S', 'N', 'A', 'P'},
  };
  return csf_load_u32(tags[codec]);
}

/* The header of a block of block_size bytes in all. */
static inline void csf_block_header_write(uint8_t *place, uint64_t block_size, uint64_t n_columns, enum colshuf_codec codec,
                                          bool offsets_as_lengths) {
  csf_store_u64(place, block_size - 8);
  csf_store_u64(place + 8, n_columns);
  csf_store_u32(place + 16, csf_block_tag(codec) | (offsets_as_lengths ? CSF_BLOCK_LENGTHS_FLAG : 0));
}

#endif
