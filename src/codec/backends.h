/* SPDX-License-Identifier: Apache-2.0 */
/* What codec.c and the codecs share: the contexts, and the place that decompressed bytes go to. */
#ifndef CSF_CODEC_BACKENDS_H
#define CSF_CODEC_BACKENDS_H

#include "base/bytes.h"
#include "codec/codec.h"

struct csf_codec {
  struct colshuf_allocator allocator;
  void *lz4_state;   /* of LZ4_sizeofState() bytes */
  void *lz4hc_state; /* of LZ4_sizeofStateHC() bytes */
  struct ZSTD_CCtx_s *zstd_compressor;
  int zstd_level; /* that zstd_compressor is set to */
  struct ZSTD_DCtx_s *zstd_decompressor;
};

/* Where decompressed bytes go: into a buffer that grows up to max_size, or into exactly max_size bytes of the caller. */
struct csf_target {
  struct csf_buffer *buffer; /* NULL = fixed */
  uint8_t *data;
  size_t size; /* bytes there so far */
  size_t capacity;
  uint64_t max_size;
};

/* Room for `more` bytes behind target->size. A fixed target that is too small is CORRUPT, as too_large says it. */
enum colshuf_status csf_target_reserve(struct csf_target *target, size_t more, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The failure of a stream that has (at least) `size` bytes in it: LIMIT, or CORRUPT for a fixed target. */
enum colshuf_status csf_target_too_large(const struct csf_target *target, uint64_t size, struct colshuf_error *err);

/* One complete stream of input behind out->size; on failure out->size is as before. */
enum colshuf_status csf_lz4_compress(struct csf_codec *codec, int level, struct csf_span input, struct csf_buffer *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_zstd_compress(struct csf_codec *codec, int level, struct csf_span input, struct csf_buffer *out,
                                      struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_zstd_compress_parts(struct csf_codec *codec, int level, struct csf_span input, const size_t *starts, size_t n,
                                            struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_snappy_compress(struct csf_span input, struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The whole of input, which must be one complete stream, to target. */
enum colshuf_status csf_lz4_decompress(struct csf_span input, struct csf_target *target, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_zstd_decompress(struct csf_codec *codec, struct csf_span input, struct csf_target *target,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_snappy_decompress(struct csf_span input, struct csf_target *target, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/* What the head of the stream announces as its size; 0 = nothing. Not to be believed. */
uint64_t csf_lz4_announced_size(struct csf_span input);
uint64_t csf_zstd_announced_size(struct csf_span input);

void csf_zstd_free(struct csf_codec *codec);
bool csf_zstd_level_valid(int level);

#endif
