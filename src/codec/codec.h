/* SPDX-License-Identifier: Apache-2.0 */
/* The four codecs of shuffle blocks behind one reusable set of contexts: formats.md C. */
#ifndef CSF_CODEC_CODEC_H
#define CSF_CODEC_CODEC_H

#include "base/memory.h"
#include "colshuf/block.h"

/* All contexts and scratch of one thread, made at first use and kept. */
struct csf_codec;

enum colshuf_status csf_codec_new(const struct colshuf_allocator *allocator, struct csf_codec **out, struct colshuf_error *err)
    COLSHUF_MUST_USE;
void csf_codec_free(struct csf_codec *codec); /* NULL is fine */

/* OK when kind exists and takes this level (0 = its default; levels are zstd's alone, and LZ4 HC's for lz4). */
enum colshuf_status csf_codec_check(enum colshuf_codec kind, int level, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Appends one complete codec stream of input to *out: LZ4 frame, zstd frame, Snappy framing, or input itself. */
enum colshuf_status csf_codec_compress(struct csf_codec *codec, enum colshuf_codec kind, int level, struct csf_span input,
                                       struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * As csf_codec_compress, told where input changes its nature: starts[0..n) ascend, within input. zstd begins a new block at each, so
 * that every column gets tables of its own: lineitem came out 9 % smaller for 5 % more time. The stream is one as before.
 */
enum colshuf_status csf_codec_compress_parts(struct csf_codec *codec, enum colshuf_codec kind, int level, struct csf_span input,
                                             const size_t *starts, size_t n, struct csf_buffer *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/*
 * Replaces the content of *out by the decompressed stream. The whole input must be one codec stream: truncation, trailing
 * bytes, bad checksums and sizes are CORRUPT (guards G9-G12); more than max_size output bytes is LIMIT, found before
 * they are allocated (but for one LZ4 block of at most 4 MiB): growth follows what the decoder yields. size_hint (0 = none) sizes
 * the first try. On failure the content of *out is lost.
 * kind NONE is not for here: the caller uses the input in place.
 */
enum colshuf_status csf_codec_decompress(struct csf_codec *codec, enum colshuf_codec kind, struct csf_span input,
                                         uint64_t max_size, size_t size_hint, struct csf_buffer *out,
                                         struct colshuf_error *err) COLSHUF_MUST_USE;

/* Arrow body compression (formats.md B.10): exactly size bytes must come out, into memory of the caller. */
enum colshuf_status csf_codec_decompress_exact(struct csf_codec *codec, enum colshuf_codec kind, struct csf_span input,
                                               uint8_t *out, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * The decompressed size that the head of a stream announces; 0 when it says nothing (Comet's streams do not). Good for choosing
 * a buffer, never to be believed.
 */
uint64_t csf_codec_announced_size(enum colshuf_codec kind, struct csf_span input);

/* "lz4", "zstd", "snappy", "none". */
const char *csf_codec_name(enum colshuf_codec kind);

#endif
