/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of a message body, one after another: bounds, body compression, alignment. formats.md B.8, B.10; guards G16, G20. */
#ifndef CSF_IPC_BODY_READ_H
#define CSF_IPC_BODY_READ_H

#include "arrow/array.h"
#include "codec/codec.h"
#include "ipc/flatbuf_read.h"

enum csf_body_compression { CSF_BODY_PLAIN, CSF_BODY_LZ4, CSF_BODY_ZSTD };

struct csf_body_reader {
  const uint8_t *entry; /* the Buffer struct to be taken next */
  uint32_t n_left;
  uint32_t n_taken;
  struct csf_span body;
  enum csf_body_compression compression;
  struct csf_codec *codec;
  bool copy;              /* nothing is borrowed from body */
  struct csf_slab *slab;  /* takes what cannot be borrowed from body */
  struct colshuf_allocator allocator;
  uint64_t max_size;      /* decompressed bytes that may still come */
  struct colshuf_error *err;
};

/* Sets compression from a RecordBatch's BodyCompression table (absent = none). Errors: CORRUPT, UNSUPPORTED. */
enum colshuf_status csf_body_compression_read(struct csf_fb_table compression, enum csf_body_compression *out,
                                              struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Takes the next buffer. *out borrows from the body where it is uncompressed and aligned (a power of two), else it lies in the slab.
 * A buffer without bytes gives size 0 and the address of a few static zeros, never NULL.
 * Errors: CORRUPT (no buffer left, outside of the body, compressed data that does not give its size), LIMIT, NO_MEMORY.
 */
enum colshuf_status csf_body_take(struct csf_body_reader *reader, uint32_t alignment, struct csf_span *out) COLSHUF_MUST_USE;

/* Passes over the next n buffers without a look at them. Error: CORRUPT (fewer are left). */
enum colshuf_status csf_body_skip(struct csf_body_reader *reader, int64_t n) COLSHUF_MUST_USE;

/* 16 zero bytes, 64-byte aligned: what an empty buffer points to, and the one offset of an array without values. */
extern const uint8_t csf_body_zeros[16];

#endif
