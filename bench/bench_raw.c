/* SPDX-License-Identifier: Apache-2.0 */
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bench_raw.h"

struct bench_raw {
  LZ4F_dctx *lz4;
  void *lz4_state;
  ZSTD_DCtx *unzstd;
  ZSTD_CCtx *zstd;
  uint8_t *buffer;
  size_t buffer_size;
};

struct bench_raw *bench_raw_new(void) {
  struct bench_raw *raw = calloc(1, sizeof *raw);
  if (raw == NULL || LZ4F_isError(LZ4F_createDecompressionContext(&raw->lz4, LZ4F_VERSION))) abort();
  raw->lz4_state = malloc((size_t)LZ4_sizeofState());
  raw->unzstd = ZSTD_createDCtx();
  raw->zstd = ZSTD_createCCtx();
  if (raw->lz4_state == NULL || raw->unzstd == NULL || raw->zstd == NULL) abort();
  return raw;
}

void bench_raw_free(struct bench_raw *raw) {
  LZ4F_freeDecompressionContext(raw->lz4);
  free(raw->lz4_state);
  ZSTD_freeDCtx(raw->unzstd);
  ZSTD_freeCCtx(raw->zstd);
  free(raw->buffer);
  free(raw);
}

static uint8_t *warm_buffer(struct bench_raw *raw, size_t size) {
  if (size > raw->buffer_size) {
    free(raw->buffer);
    raw->buffer = malloc(size);
    if (raw->buffer == NULL) abort();
    memset(raw->buffer, 1, size);
    raw->buffer_size = size;
  }
  return raw->buffer;
}

static size_t unlz4(struct bench_raw *raw, const uint8_t *data, size_t size, uint8_t *out, size_t room) {
  size_t taken = 0, made = 0;
  for (size_t hint = 1; hint != 0 && taken < size;) {
    size_t in = size - taken, produced = room - made;
    hint = LZ4F_decompress(raw->lz4, out + made, &produced, data + taken, &in, NULL);
    if (LZ4F_isError(hint)) abort();
    taken += in;
    made += produced;
  }
  return made;
}

static uint32_t u24(const uint8_t *data) {
  return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
}

/* The chunks' content only: their checksums are not looked at, which colshuf must do. */
static size_t unsnappy(const uint8_t *data, size_t size, uint8_t *out, size_t room) {
  size_t made = 0;
  for (size_t at = 0; at + 4 <= size; at += 4 + u24(data + at + 1)) {
    size_t length = u24(data + at + 1), produced = room - made;
    const char *content = (const char *)data + at + 8;
    if (data[at] == 0) {
      if (snappy_uncompress(content, length - 4, (char *)out + made, &produced) != SNAPPY_OK) abort();
      made += produced;
    } else if (data[at] == 1) {
      memcpy(out + made, content, length - 4);
      made += length - 4;
    }
  }
  return made;
}

size_t bench_raw_decompress(struct bench_raw *raw, enum colshuf_codec codec, const uint8_t *data, size_t size, size_t raw_size) {
  uint8_t *out = warm_buffer(raw, raw_size + 64);
  switch (codec) {
    case COLSHUF_LZ4:
      return unlz4(raw, data, size, out, raw_size);
    case COLSHUF_ZSTD:
      return ZSTD_decompressDCtx(raw->unzstd, out, raw_size, data, size);
    case COLSHUF_SNAPPY:
      return unsnappy(data, size, out, raw_size);
    default:
      memcpy(out, data, size);
      return size;
  }
}

static size_t chunked_snappy(const uint8_t *data, size_t size, uint8_t *out) {
  size_t made = 0;
  for (size_t at = 0; at < size; at += 65536) {
    size_t n = size - at < 65536 ? size - at : 65536, produced = snappy_max_compressed_length(n);
    if (snappy_compress((const char *)data + at, n, (char *)out + made, &produced) != SNAPPY_OK) abort();
    made += produced;
  }
  return made;
}

size_t bench_raw_compress(struct bench_raw *raw, enum colshuf_codec codec, int level, const uint8_t *data, size_t size) {
  size_t room = size + size / 4 + 65536;
  uint8_t *out = warm_buffer(raw, room);
  switch (codec) {
    case COLSHUF_LZ4:
      return (size_t)LZ4_compress_fast_extState(raw->lz4_state, (const char *)data, (char *)out, (int)size, (int)room, 1);
    case COLSHUF_ZSTD:
      return ZSTD_compressCCtx(raw->zstd, out, room, data, size, level);
    case COLSHUF_SNAPPY:
      return chunked_snappy(data, size, out);
    default:
      memcpy(out, data, size);
      return size;
  }
}
