/* SPDX-License-Identifier: Apache-2.0 */
/* What colshuf itself asks of a block decoder beyond its public face. */
#ifndef CSF_BLOCK_DECODER_H
#define CSF_BLOCK_DECODER_H

#include "arrow/schema.h"
#include "colshuf/block.h"

/* The schema of the block decoded last; shared: retain it to keep it beyond the next call. The same bytes give the same one, mostly. */
struct csf_schema *csf_block_decoder_schema(const struct colshuf_block_decoder *decoder);

/* Where its batches lie: memory that comes back when they are released, and is used again. Thread-safe; outlives the decoder. */
struct colshuf_allocator csf_block_decoder_allocator(const struct colshuf_block_decoder *decoder);

/*
 * From now on only these columns of each block are decoded (and validated); the others come out empty. wanted: not 0 for each column
 * that is; borrowed as long as the decoder lives. NULL = all.
 */
void csf_block_decoder_project(struct colshuf_block_decoder *decoder, const uint8_t *wanted, int32_t n);

/* As decode, for a caller who copies the values, bytewise, before anyone else sees them: what is borrowed may stand at any address. */
enum colshuf_status csf_block_decoder_decode_to_copy(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size,
                                                     const struct colshuf_bytes_owner *owner, struct ArrowArray *batch,
                                                     struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
