/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zstandard. Streams are walked before they are decoded: that costs a look at each block header (one in 128 KiB), tells
 * truncation from damage, and bounds the size of the output, so that one call into a buffer of the right size does it all,
 * whether the frame announces its size or not. libzstd's streaming decoder is not used: it copies everything through a window
 * buffer whose size the input chooses.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createCCtx_advanced: contexts in the handle's memory */
#include <inttypes.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/backends.h"

#define FRAME_MAGIC 0xfd2fb528u
#define SKIPPABLE_MAGIC 0x184d2a50u /* the last four bits are free */
#define WINDOW_MAX ((uint64_t)1 << 27)
#define BLOCK_MAX 131072u
#define PLAUSIBLE_RATIO 32u /* beyond it memory is taken step by step */
#define FIRST_ROOM ((uint64_t)1 << 18)

/* libzstd does not say how much it frees: the size stands before each block. */
enum { MEMORY_PREFIX = 16 };

static void *zstd_alloc(void *ctx, size_t size) {
  const struct colshuf_allocator *allocator = ctx;
  if (size > SIZE_MAX / 2) return NULL;
  uint8_t *raw = allocator->resize(allocator->ctx, NULL, 0, size + MEMORY_PREFIX);
  if (raw == NULL) return NULL;
  csf_store_u64(raw, size + MEMORY_PREFIX);
  return raw + MEMORY_PREFIX;
}

static void zstd_free(void *ctx, void *pointer) {
  const struct colshuf_allocator *allocator = ctx;
  if (pointer == NULL) return;
  uint8_t *raw = (uint8_t *)pointer - MEMORY_PREFIX;
  allocator->resize(allocator->ctx, raw, (size_t)csf_load_u64(raw), 0);
}

void csf_zstd_free(struct csf_codec *codec) {
  ZSTD_freeCCtx(codec->zstd_compressor);
  ZSTD_freeDCtx(codec->zstd_decompressor);
}

bool csf_zstd_level_valid(int level) {
  return level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel();
}

static enum colshuf_status fail_zstd(size_t code, const char *what, struct colshuf_error *err) {
  enum colshuf_status status = ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? COLSHUF_NO_MEMORY : COLSHUF_CORRUPT;
  return csf_fail(err, status, "zstd cannot %s: %s", what, ZSTD_getErrorName(code));
}

static enum colshuf_status need_compressor(struct csf_codec *codec, int level, struct colshuf_error *err) {
  if (codec->zstd_compressor == NULL) {
    codec->zstd_compressor = ZSTD_createCCtx_advanced((ZSTD_customMem){zstd_alloc, zstd_free, &codec->allocator});
    if (codec->zstd_compressor == NULL) return csf_fail(err, COLSHUF_NO_MEMORY, "zstd got no memory for its compressor");
    codec->zstd_level = 0;
  }
  if (codec->zstd_level == level) return COLSHUF_OK;
  size_t code = ZSTD_CCtx_setParameter(codec->zstd_compressor, ZSTD_c_compressionLevel, level);
  if (ZSTD_isError(code)) return fail_zstd(code, "set its level", err);
  codec->zstd_level = level;
  return COLSHUF_OK;
}

enum colshuf_status csf_zstd_compress(struct csf_codec *codec, int level, struct csf_span input, struct csf_buffer *out,
                                      struct colshuf_error *err) {
  CSF_TRY(need_compressor(codec, level == 0 ? 1 : level, err));
  CSF_TRY(csf_buffer_reserve(out, out->size + ZSTD_compressBound(input.size), err));
  size_t made =
      ZSTD_compress2(codec->zstd_compressor, out->data + out->size, out->capacity - out->size, input.data, input.size);
  if (ZSTD_isError(made)) return fail_zstd(made, "compress", err);
  out->size += made;
  return COLSHUF_OK;
}

/*
 * Tells libzstd that input and output stay where they are, so that it copies neither through buffers of its own. The parameters
 * belong to the part of its interface that may change, and before 1.5.4 the input was not allowed to grow: other versions copy.
 */
static void expect_stable_buffers(ZSTD_CCtx *compressor) {
  unsigned version = ZSTD_versionNumber();
  if (version < 10504 || version >= 10600) return;
  ZSTD_CCtx_setParameter(compressor, ZSTD_c_stableInBuffer, 1);
  ZSTD_CCtx_setParameter(compressor, ZSTD_c_stableOutBuffer, 1);
}

static size_t compress_parts(ZSTD_CCtx *compressor, struct csf_span input, const size_t *starts, size_t n, ZSTD_outBuffer *out) {
  ZSTD_inBuffer in = {input.data, 0, 0};
  for (size_t i = 0; i <= n; i++) {
    in.size = i < n ? starts[i] : input.size;
    size_t left;
    do {
      left = ZSTD_compressStream2(compressor, out, &in, i < n ? ZSTD_e_flush : ZSTD_e_end);
      if (ZSTD_isError(left)) return left;
    } while (left > 0);
  }
  return out->pos;
}

enum colshuf_status csf_zstd_compress_parts(struct csf_codec *codec, int level, struct csf_span input, const size_t *starts, size_t n,
                                            struct csf_buffer *out, struct colshuf_error *err) {
  CSF_TRY(need_compressor(codec, level == 0 ? 1 : level, err));
  ZSTD_CCtx *compressor = codec->zstd_compressor;
  /* Each start ends a block early, with a header more. */
  size_t room = ZSTD_compressBound(input.size) + 16 * (n + 1);
  CSF_TRY(csf_buffer_reserve(out, out->size + room, err));
  ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only);
  ZSTD_CCtx_setPledgedSrcSize(compressor, input.size);
  expect_stable_buffers(compressor);
  ZSTD_outBuffer target = {out->data + out->size, out->capacity - out->size, 0};
  size_t made = compress_parts(compressor, input, starts, n, &target);
  if (ZSTD_isError(made)) {
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only);
    return fail_zstd(made, "compress", err);
  }
  out->size += made;
  return COLSHUF_OK;
}

/* The frames of a stream, as they are walked. */
struct walk {
  struct csf_cursor cursor;
  const uint8_t *start;
  uint64_t bound;     /* bytes that the frames so far can make */
  uint64_t announced; /* bytes that frames so far said they have */
};

struct frame_header {
  bool has_size;
  bool has_checksum;
  uint64_t content_size;
  uint64_t window_size;
};

static size_t offset_of(const struct walk *walk) {
  return (size_t)(walk->cursor.data - walk->start);
}

static enum colshuf_status take(struct walk *walk, size_t size, const char *what, const uint8_t **out, struct colshuf_error *err) {
  if (csf_cursor_take(&walk->cursor, size, out)) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "truncated zstd frame: %s of %zu bytes at offset %zu, %zu left", what, size,
                  offset_of(walk), walk->cursor.size);
}

static uint64_t load_le(const uint8_t *place, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++) value |= (uint64_t)place[i] << 8 * i;
  return value;
}

static uint64_t window_of(uint8_t byte) {
  uint64_t base = (uint64_t)1 << (10 + (byte >> 3));
  return base + base / 8 * (byte & 7);
}

static enum colshuf_status take_frame_header(struct walk *walk, struct frame_header *out, struct colshuf_error *err) {
  const uint8_t *descriptor, *place;
  CSF_TRY(take(walk, 1, "frame header", &descriptor, err));
  bool single_segment = (*descriptor & 0x20) != 0;
  if ((*descriptor & 0x08) != 0) {
    return csf_fail(err, COLSHUF_CORRUPT, "zstd frame header %02x at offset %zu has a reserved bit", *descriptor,
                    offset_of(walk) - 1);
  }
  if (!single_segment) {
    CSF_TRY(take(walk, 1, "window size", &place, err));
    out->window_size = window_of(*place);
  }
  size_t dictionary_size = (size_t[]){0, 1, 2, 4}[*descriptor & 3];
  CSF_TRY(take(walk, dictionary_size, "dictionary id", &place, err));
  if (load_le(place, dictionary_size) != 0) return csf_fail(err, COLSHUF_UNSUPPORTED, "the zstd frame wants a dictionary");
  size_t size_size = (size_t[]){single_segment, 2, 4, 8}[*descriptor >> 6];
  CSF_TRY(take(walk, size_size, "content size", &place, err));
  out->has_size = size_size > 0;
  out->has_checksum = (*descriptor & 0x04) != 0;
  out->content_size = load_le(place, size_size) + (size_size == 2 ? 256 : 0);
  if (single_segment) out->window_size = out->content_size;
  if (single_segment || out->window_size <= WINDOW_MAX) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_UNSUPPORTED, "the zstd frame has a window of %" PRIu64 " bytes, at most %" PRIu64 " are supported",
                  out->window_size, WINDOW_MAX);
}

/* *made: how many bytes the block has at most. */
static enum colshuf_status take_block(struct walk *walk, uint64_t block_max, bool *last, uint64_t *made,
                                      struct colshuf_error *err) {
  const uint8_t *place;
  CSF_TRY(take(walk, 3, "block header", &place, err));
  uint32_t word = (uint32_t)load_le(place, 3);
  size_t size = word >> 3;
  unsigned type = word >> 1 & 3;
  *last = (word & 1) != 0;
  if (size > block_max || type == 3) {
    return csf_fail(err, COLSHUF_CORRUPT, "the zstd block at offset %zu has type %u and %zu bytes, types to 2 and %" PRIu64
                    " bytes are allowed", offset_of(walk) - 3, type, size, block_max);
  }
  *made = type == 2 ? block_max : size;
  return take(walk, type == 1 ? 1 : size, "block", &place, err);
}

static enum colshuf_status walk_blocks(struct walk *walk, const struct frame_header *header, uint64_t *bound,
                                       struct colshuf_error *err) {
  uint64_t block_max = header->window_size < BLOCK_MAX ? header->window_size : BLOCK_MAX;
  const uint8_t *checksum;
  *bound = 0;
  for (bool last = false; !last;) {
    uint64_t made;
    CSF_TRY(take_block(walk, block_max, &last, &made, err));
    *bound += made; /* at most 2^17 for each four bytes of input: no overflow */
  }
  return take(walk, header->has_checksum ? 4 : 0, "checksum", &checksum, err);
}

static enum colshuf_status walk_frame(struct walk *walk, struct colshuf_error *err) {
  struct frame_header header = {0};
  size_t start = offset_of(walk) - 4;
  CSF_TRY(take_frame_header(walk, &header, err));
  uint64_t bound;
  CSF_TRY(walk_blocks(walk, &header, &bound, err));
  if (header.has_size && header.content_size > bound) {
    return csf_fail(err, COLSHUF_CORRUPT, "the zstd frame at offset %zu announces %" PRIu64 " bytes, its blocks hold at most %"
                    PRIu64, start, header.content_size, bound);
  }
  walk->bound += header.has_size ? header.content_size : bound;
  walk->announced += header.content_size;
  return COLSHUF_OK;
}

static enum colshuf_status walk_one(struct walk *walk, struct colshuf_error *err) {
  const uint8_t *place;
  size_t offset = offset_of(walk);
  if (offset > 0 && walk->cursor.size < 4) {
    return csf_fail(err, COLSHUF_CORRUPT, "trailing data: %zu bytes at offset %zu, behind the zstd frame", walk->cursor.size, offset);
  }
  CSF_TRY(take(walk, 4, "magic", &place, err));
  uint32_t magic = csf_load_u32(place);
  if (magic == FRAME_MAGIC) return walk_frame(walk, err);
  if ((magic & ~15u) == SKIPPABLE_MAGIC) {
    CSF_TRY(take(walk, 4, "skippable frame's size", &place, err));
    return take(walk, csf_load_u32(place), "skippable frame", &place, err);
  }
  return csf_fail(err, COLSHUF_CORRUPT, "%s: %08x at offset %zu, not %08x", offset == 0 ? "not a zstd frame" : "trailing data",
                  magic, offset, FRAME_MAGIC);
}

static enum colshuf_status walk_all(struct csf_span input, struct walk *walk, struct colshuf_error *err) {
  *walk = (struct walk){.cursor = {input.data, input.size}, .start = input.data};
  if (input.size == 0) return csf_fail(err, COLSHUF_CORRUPT, "truncated zstd frame: there are 0 bytes");
  while (walk->cursor.size > 0) CSF_TRY(walk_one(walk, err));
  return COLSHUF_OK;
}

static enum colshuf_status need_decompressor(struct csf_codec *codec, struct colshuf_error *err) {
  if (codec->zstd_decompressor == NULL) {
    codec->zstd_decompressor = ZSTD_createDCtx_advanced((ZSTD_customMem){zstd_alloc, zstd_free, &codec->allocator});
  }
  if (codec->zstd_decompressor != NULL) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_NO_MEMORY, "zstd got no memory for its decompressor");
}

/* The content is thrown away: what a failed attempt wrote is written again. */
static enum colshuf_status take_room(struct csf_target *target, uint64_t room, struct colshuf_error *err) {
  if (room <= target->capacity) return COLSHUF_OK;
  csf_buffer_clear(target->buffer);
  target->data = NULL;
  target->capacity = 0;
  return csf_target_reserve(target, (size_t)room, err);
}

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/*
 * First the room that the caller's hint has made: mostly that is enough, and memory for more would have to be got, and kept, for every
 * block. Then room for all that may come where that is plausible; else in steps of four times, each taken only after the decoder has
 * filled the one before: the work is at most 4/3 of one pass.
 */
enum colshuf_status csf_zstd_decompress(struct csf_codec *codec, struct csf_span input, struct csf_target *target,
                                        struct colshuf_error *err) {
  struct walk walk;
  CSF_TRY(walk_all(input, &walk, err));
  if (walk.announced > target->max_size) return csf_target_too_large(target, walk.announced, err);
  CSF_TRY(need_decompressor(codec, err));
  uint64_t limit = smaller(walk.bound, target->max_size);
  uint64_t plausible = smaller(limit, FIRST_ROOM + (uint64_t)input.size * PLAUSIBLE_RATIO);
  uint64_t room = target->capacity > input.size ? smaller(plausible, target->capacity) : plausible;
  for (;;) {
    if (target->buffer != NULL) CSF_TRY(take_room(target, room, err));
    uint64_t capacity = smaller(target->capacity, limit);
    size_t made = ZSTD_decompressDCtx(codec->zstd_decompressor, target->data, (size_t)capacity, input.data, input.size);
    if (!ZSTD_isError(made)) {
      target->size = made;
      return COLSHUF_OK;
    }
    if (ZSTD_getErrorCode(made) != ZSTD_error_dstSize_tooSmall) return fail_zstd(made, "decompress", err);
    if (capacity == target->max_size) return csf_target_too_large(target, capacity + 1, err);
    if (capacity == limit) return fail_zstd(made, "decompress", err);
    room = capacity < plausible ? plausible : smaller(limit, capacity * 4);
  }
}

uint64_t csf_zstd_announced_size(struct csf_span input) {
  unsigned long long size = ZSTD_getFrameContentSize(input.data, input.size);
  return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}
