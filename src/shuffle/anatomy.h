/* SPDX-License-Identifier: Apache-2.0 */
/* What a block is made of: its bytes before compression, by kind and by column. */
#ifndef CSF_SHUFFLE_ANATOMY_H
#define CSF_SHUFFLE_ANATOMY_H

#include "arrow/schema.h"
#include "codec/codec.h"
#include "colshuf/shuffle.h"

/* All that looking into blocks one after another needs. */
struct csf_anatomy {
  struct colshuf_allocator allocator;
  struct colshuf_limits limits;
  struct csf_codec *codec;
  struct csf_buffer content;   /* the stream, decompressed */
  struct csf_buffer framing;   /* the schema message of the block before */
  struct csf_schema *schema;   /* what that says */
  struct ArrowSchema exported; /* the same for the caller; release NULL = none */
  uint64_t *column_bytes;      /* one for each column of schema */
};

enum colshuf_status csf_anatomy_init(struct csf_anatomy *anatomy, const struct colshuf_allocator *allocator,
                                     const struct colshuf_limits *limits, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_anatomy_clear(struct csf_anatomy *anatomy);

/*
 * Fills header, rows, raw_size, kinds, schema and column_bytes of *info from one whole block (hostile bytes). Values are not
 * looked at. kinds sum up to COLSHUF_BLOCK_HEADER_SIZE + raw_size. On failure what was found out before is there. Errors:
 * CORRUPT, LIMIT, UNSUPPORTED, NO_MEMORY.
 */
enum colshuf_status csf_anatomy_of(struct csf_anatomy *anatomy, const uint8_t *block, size_t size,
                                   struct colshuf_block_info *info, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
