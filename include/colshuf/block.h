/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shuffle blocks as Apache DataFusion Comet writes and reads them: a 20-byte header (u64 length of what follows it, u64 count
 * of columns, codec tag) and one compressed, self-contained Arrow IPC stream of one record batch. docs/formats/block.md.
 */
#ifndef COLSHUF_BLOCK_H
#define COLSHUF_BLOCK_H

#include "colshuf/arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COLSHUF_BLOCK_HEADER_SIZE 20

enum colshuf_codec { COLSHUF_LZ4 = 0, COLSHUF_NONE = 1, COLSHUF_ZSTD = 2, COLSHUF_SNAPPY = 3 };

/* Which readers must understand what is written. */
enum colshuf_compat {
  COLSHUF_COMPAT_COMET = 0,   /* Comet 1.2.0: its types; dictionaries at the top level, re-indexed to int32, others unpacked */
  COLSHUF_COMPAT_COMET_1_1 = 1, /* older Comet: the same without offsets as lengths */
  COLSHUF_COMPAT_ARROW = 2    /* colshuf: every Arrow type, dictionaries as they come */
};

/*
 * How offsets stand in a block: as they are, or as byte-transposed lengths (docs/formats/block.md). AUTO: as lengths where there is a
 * codec that gains by it, the schema allows it and compat's readers know it; with the layout of arrow-rs under zstd alone, as Comet.
 */
enum colshuf_offsets { COLSHUF_OFFSETS_AUTO = 0, COLSHUF_OFFSETS_PLAIN = 1, COLSHUF_OFFSETS_LENGTHS = 2 };

/* Which layout of the record batch: the smallest, or what arrow-rs writes byte for byte. */
enum colshuf_layout {
  COLSHUF_LAYOUT_COMPACT = 0, /* no validity buffer where no value is null; 8-byte padding (64 with codec NONE) */
  COLSHUF_LAYOUT_ARROW_RS = 1 /* 64-byte padding, a validity buffer wherever there can be one */
};

/*
 * Whether a plain column may be sent as dictionary<int32, value> where that makes the block smaller. AUTO does so for Comet's readers
 * (with a codec, and not in the layout of arrow-rs): now and then a block of 512 rows or more is encoded both ways, and the smaller
 * way is kept for those that follow. The bytes of a block so depend on the blocks that the encoder made before it.
 */
enum colshuf_dictionary { COLSHUF_DICTIONARY_AUTO = 0, COLSHUF_DICTIONARY_OFF = 1 };

struct colshuf_block_encoder_options {
  struct colshuf_allocator allocator;
  enum colshuf_codec codec;
  int level; /* zstd 1-22 or negative, lz4 2-12 = high compression; 0 = default (zstd 1, lz4 fast) */
  enum colshuf_compat compat;
  enum colshuf_offsets offsets;
  enum colshuf_layout layout;
  enum colshuf_dictionary dictionary;
};

struct colshuf_block_encoder;

/*
 * Input:   schema (a struct; borrowed, copied), options (NULL = all defaults; borrowed).
 * Output:  *out, to be freed by colshuf_block_encoder_free.
 * Returns: OK; INVALID_ARGUMENT; UNSUPPORTED (a type that compat does not have: the message names column and type);
 *          LIMIT (nesting); NO_MEMORY.
 * Threads: one encoder per thread at a time; different encoders are independent.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_encoder_new(const struct ArrowSchema *schema,
                                                                           const struct colshuf_block_encoder_options *options,
                                                                           struct colshuf_block_encoder **out,
                                                                           struct colshuf_error *err);

/*
 * Encodes rows [offset, offset + length) of batch as one block.
 * Input:   batch: a struct array of the encoder's schema, borrowed, any offsets; it must be valid (colshuf_array_validate).
 * Output:  *block, *size: the block, in memory of the encoder, good until its next call. 0 rows: size 0 and no block.
 * Returns: OK; INVALID_ARGUMENT (batch does not fit the schema, range outside batch); LIMIT (more than 2^31 - 1 bytes:
 *          split the rows); NO_MEMORY. After an error the encoder can be used again.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_encoder_encode(struct colshuf_block_encoder *encoder,
                                                                              const struct ArrowArray *batch, int64_t offset,
                                                                              int64_t length, const uint8_t **block,
                                                                              size_t *size, struct colshuf_error *err);

COLSHUF_API void colshuf_block_encoder_free(struct colshuf_block_encoder *encoder);

/*
 * Bytes of someone else that a decoded batch may refer to instead of copying them. retain is called once per batch that
 * does, release once when that batch is released (any thread). Both get ctx.
 */
struct colshuf_bytes_owner {
  void (*retain)(void *ctx);
  void (*release)(void *ctx);
  void *ctx;
};

struct colshuf_block_decoder_options {
  struct colshuf_allocator allocator;
  enum colshuf_trust trust;
  struct colshuf_limits limits;
  const struct ArrowSchema *expected_schema; /* NULL = any; else blocks must match it as Comet's remote check demands (A.8) */
  uint64_t pool_size; /* bytes of released body memory kept for the next blocks; 0 = default [64 MiB]; UINT64_MAX = keep none */
};

struct colshuf_block_decoder;

/*
 * A decoder: caches up to four schemas by their raw bytes, codec contexts, and a pool of body memory. Dictionaries never
 * pass from one block to the next.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, LIMIT (expected_schema), NO_MEMORY.
 * Threads: one decoder per thread at a time; batches it returned may be released on any thread, also after the decoder is freed.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_decoder_new(const struct colshuf_block_decoder_options *options,
                                                                           struct colshuf_block_decoder **out,
                                                                           struct colshuf_error *err);

/*
 * Decodes the first block of data[0..size).
 * Input:   hostile bytes; nothing outside is read. Borrowed until return, unless owner is given: then a block without
 *          compression whose buffers lie aligned (64-bit values on 8 bytes, 128-bit on 16) is not copied but retained.
 * Output:  *consumed = bytes of the block; *batch = a struct array with offset 0, the caller's; *schema (may be NULL) =
 *          its schema, the caller's. On failure nothing is written but err. size 0 is INVALID_ARGUMENT: the end is the caller's to see.
 * Returns: OK; CORRUPT (guards G2-G23 of docs/formats/block.md: message names the byte offset in the block and both numbers);
 *          LIMIT; UNSUPPORTED; NO_MEMORY. The decoder can be used again after every error.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_decoder_decode(struct colshuf_block_decoder *decoder,
                                                                              const uint8_t *data, size_t size,
                                                                              const struct colshuf_bytes_owner *owner,
                                                                              size_t *consumed, struct ArrowSchema *schema,
                                                                              struct ArrowArray *batch,
                                                                              struct colshuf_error *err);

/*
 * As decode, but *batch borrows memory of the decoder and of data, and is good only until the next call with this decoder
 * or until data goes: no allocation at all. Its release does nothing but mark it.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_decoder_view(struct colshuf_block_decoder *decoder,
                                                                            const uint8_t *data, size_t size, size_t *consumed,
                                                                            struct ArrowArray *batch, struct colshuf_error *err);

COLSHUF_API void colshuf_block_decoder_free(struct colshuf_block_decoder *decoder);

/* What a header says; nothing behind it is looked at. */
struct colshuf_block_header {
  uint64_t block_size;    /* bytes of the whole block, header included */
  uint64_t n_columns;
  enum colshuf_codec codec;
  int offsets_as_lengths; /* the flag in the tag */
};

/* Reads a header: CORRUPT for fewer than 20 bytes, a length below 12 or above 2^31 + 7, an unknown tag. Any thread. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_block_header_read(const uint8_t *data, size_t size,
                                                                           struct colshuf_block_header *out,
                                                                           struct colshuf_error *err);

#ifdef __cplusplus
}
#endif
#endif
