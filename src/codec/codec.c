/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include <inttypes.h>
#include <lz4.h>
#include <lz4hc.h>

#include "codec/backends.h"

enum colshuf_status csf_codec_new(const struct colshuf_allocator *allocator, struct csf_codec **out, struct colshuf_error *err) {
  struct colshuf_allocator chosen = csf_allocator(allocator);
  struct csf_codec *codec = csf_alloc_zero(&chosen, sizeof *codec);
  if (codec == NULL) return csf_fail_memory(err, sizeof *codec);
  codec->allocator = chosen;
  *out = codec;
  return COLSHUF_OK;
}

void csf_codec_free(struct csf_codec *codec) {
  if (codec == NULL) return;
  struct colshuf_allocator allocator = codec->allocator;
  if (codec->lz4_state != NULL) csf_free(&allocator, codec->lz4_state, (size_t)LZ4_sizeofState());
  if (codec->lz4hc_state != NULL) csf_free(&allocator, codec->lz4hc_state, (size_t)LZ4_sizeofStateHC());
  csf_zstd_free(codec);
  csf_free(&allocator, codec, sizeof *codec);
}

const char *csf_codec_name(enum colshuf_codec kind) {
  switch (kind) {
    case COLSHUF_LZ4:
      return "lz4";
    case COLSHUF_NONE:
      return "none";
    case COLSHUF_ZSTD:
      return "zstd";
    case COLSHUF_SNAPPY:
      return "snappy";
  }
  return "unknown";
}

static bool level_valid(enum colshuf_codec kind, int level) {
  switch (kind) {
    case COLSHUF_LZ4:
      return level >= 0 && level <= LZ4HC_CLEVEL_MAX;
    case COLSHUF_ZSTD:
      return csf_zstd_level_valid(level);
    case COLSHUF_NONE:
    case COLSHUF_SNAPPY:
      return level == 0;
  }
  return false;
}

enum colshuf_status csf_codec_check(enum colshuf_codec kind, int level, struct colshuf_error *err) {
  if ((unsigned)kind > COLSHUF_SNAPPY) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there is no codec %d", (int)kind);
  if (level_valid(kind, level)) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "codec %s has no level %d", csf_codec_name(kind), level);
}

enum colshuf_status csf_codec_compress(struct csf_codec *codec, enum colshuf_codec kind, int level, struct csf_span input,
                                       struct csf_buffer *out, struct colshuf_error *err) {
  CSF_TRY(csf_codec_check(kind, level, err));
  switch (kind) {
    case COLSHUF_LZ4:
      return csf_lz4_compress(codec, level, input, out, err);
    case COLSHUF_ZSTD:
      return csf_zstd_compress(codec, level, input, out, err);
    case COLSHUF_SNAPPY:
      return csf_snappy_compress(input, out, err);
    case COLSHUF_NONE:
      break;
  }
  return csf_buffer_append(out, input.data, input.size, err);
}

enum colshuf_status csf_codec_compress_parts(struct csf_codec *codec, enum colshuf_codec kind, int level, struct csf_span input,
                                             const size_t *starts, size_t n, struct csf_buffer *out, struct colshuf_error *err) {
  if (kind != COLSHUF_ZSTD || n == 0) return csf_codec_compress(codec, kind, level, input, out, err);
  CSF_TRY(csf_codec_check(kind, level, err));
  return csf_zstd_compress_parts(codec, level, input, starts, n, out, err);
}

enum colshuf_status csf_target_too_large(const struct csf_target *target, uint64_t size, struct colshuf_error *err) {
  if (target->buffer == NULL) {
    return csf_fail(err, COLSHUF_CORRUPT, "at least %" PRIu64 " bytes come out of a stream of %" PRIu64 " announced", size,
                    target->max_size);
  }
  return csf_fail(err, COLSHUF_LIMIT, "the stream decompresses to at least %" PRIu64 " bytes, over the limit of %" PRIu64, size,
                  target->max_size);
}

enum colshuf_status csf_target_reserve(struct csf_target *target, size_t more, struct colshuf_error *err) {
  if (more <= target->capacity - target->size) return COLSHUF_OK;
  size_t whole;
  if (csf_add_overflow(target->size, more, &whole)) return csf_fail_memory(err, more);
  if (target->buffer == NULL) return csf_target_too_large(target, whole, err);
  CSF_TRY(csf_buffer_reserve(target->buffer, whole, err));
  target->data = target->buffer->data;
  target->capacity = target->buffer->capacity;
  return COLSHUF_OK;
}

static enum colshuf_status decompress(struct csf_codec *codec, enum colshuf_codec kind, struct csf_span input,
                                      struct csf_target *target, struct colshuf_error *err) {
  switch (kind) {
    case COLSHUF_LZ4:
      return csf_lz4_decompress(input, target, err);
    case COLSHUF_ZSTD:
      return csf_zstd_decompress(codec, input, target, err);
    case COLSHUF_SNAPPY:
      return csf_snappy_decompress(input, target, err);
    case COLSHUF_NONE:
      break;
  }
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "codec %s does not decompress", csf_codec_name(kind));
}

enum colshuf_status csf_codec_decompress(struct csf_codec *codec, enum colshuf_codec kind, struct csf_span input,
                                         uint64_t max_size, size_t size_hint, struct csf_buffer *out,
                                         struct colshuf_error *err) {
  out->size = 0;
  if (size_hint > max_size) size_hint = (size_t)max_size;
  /* A hint that asks for too much is no reason to fail: what is there may be enough. */
  enum colshuf_status advised = csf_buffer_reserve(out, size_hint, NULL);
  (void)advised;
  struct csf_target target = {.buffer = out, .data = out->data, .capacity = out->capacity, .max_size = max_size};
  CSF_TRY(decompress(codec, kind, input, &target, err));
  out->size = target.size;
  return COLSHUF_OK;
}

enum colshuf_status csf_codec_decompress_exact(struct csf_codec *codec, enum colshuf_codec kind, struct csf_span input,
                                               uint8_t *out, size_t size, struct colshuf_error *err) {
  struct csf_target target = {.data = out, .capacity = size, .max_size = size};
  CSF_TRY(decompress(codec, kind, input, &target, err));
  if (target.size == size) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "%zu bytes come out of a stream of %zu announced", target.size, size);
}

uint64_t csf_codec_announced_size(enum colshuf_codec kind, struct csf_span input) {
  if (kind == COLSHUF_LZ4) return csf_lz4_announced_size(input);
  if (kind == COLSHUF_ZSTD) return csf_zstd_announced_size(input);
  return 0;
}
