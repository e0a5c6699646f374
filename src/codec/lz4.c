/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZ4 frames around liblz4's block functions. The frame layer is ours because liblz4's own copies every block through a
 * buffer of its own, resets more state than a small block takes to compress, and cannot tell where a bad frame is bad.
 */
#include <inttypes.h>
#include <lz4.h>
#include <lz4hc.h>
#include <xxhash.h>

#include "codec/backends.h"

enum {
  FLAG_VERSION = 0x40,
  FLAG_INDEPENDENT = 0x20,
  FLAG_BLOCK_CHECKSUM = 0x10,
  FLAG_CONTENT_SIZE = 0x08,
  FLAG_CONTENT_CHECKSUM = 0x04,
  FLAG_RESERVED = 0x02,
  FLAG_DICTIONARY = 0x01
};

#define MAGIC 0x184d2204u
#define STORED 0x80000000u   /* in a size word: the block is not compressed */
#define HISTORY 65536u       /* how far a match may reach back */
#define LARGEST_HEADER 15u   /* magic, FLG, BD, content size, HC */
#define MAX_RATIO 255u       /* a byte of an LZ4 block makes at most 255 bytes */

/* Sizes 64 KiB, 256 KiB, 1 MiB, 4 MiB have the numbers 4 to 7. */
static size_t block_max_of(unsigned id) {
  return (size_t)1 << (8 + 2 * id);
}

/* The smallest that takes the whole input as one block: no match is lost at a border, and readers reserve no more than needed. */
static unsigned block_id_for(size_t size) {
  unsigned id = 4;
  while (id < 7 && size > block_max_of(id)) id++;
  return id;
}

static uint8_t header_checksum(const uint8_t *descriptor, size_t size) {
  return (uint8_t)(XXH32(descriptor, size, 0) >> 8);
}

/* A frame of more than 64 KiB says how much: the reader can take exactly that much memory. Below it is not worth eight bytes. */
static size_t write_header(uint8_t *place, unsigned block_id, size_t size) {
  bool with_size = size > block_max_of(4);
  csf_store_u32(place, MAGIC);
  place[4] = (uint8_t)(FLAG_VERSION | FLAG_INDEPENDENT | (with_size ? FLAG_CONTENT_SIZE : 0));
  place[5] = (uint8_t)(block_id << 4);
  if (with_size) csf_store_u64(place + 6, size);
  size_t descriptor = with_size ? 10 : 2;
  place[4 + descriptor] = header_checksum(place + 4, descriptor);
  return 4 + descriptor + 1;
}

static enum colshuf_status need_state(struct csf_codec *codec, void **state, int size, struct colshuf_error *err) {
  if (*state == NULL) *state = csf_alloc(&codec->allocator, (size_t)size);
  return *state != NULL ? COLSHUF_OK : csf_fail_memory(err, (size_t)size);
}

/* place has room for LZ4_compressBound(size): so liblz4 takes its faster path, which does not watch the end. */
static int compress_data(struct csf_codec *codec, int level, const uint8_t *data, int size, uint8_t *place) {
  const char *source = (const char *)data;
  char *target = (char *)place;
  int bound = LZ4_compressBound(size);
  if (level >= 2) return LZ4_compress_HC_extStateHC(codec->lz4hc_state, source, target, size, bound, level);
  return LZ4_compress_fast_extState(codec->lz4_state, source, target, size, bound, 1);
}

static size_t compress_block(struct csf_codec *codec, int level, const uint8_t *data, size_t size, uint8_t *place) {
  int compressed = compress_data(codec, level, data, (int)size, place + 4);
  if (compressed > 0 && (size_t)compressed < size) {
    csf_store_u32(place, (uint32_t)compressed);
    return 4 + (size_t)compressed;
  }
  csf_store_u32(place, (uint32_t)size | STORED);
  memcpy(place + 4, data, size);
  return 4 + size;
}

enum colshuf_status csf_lz4_compress(struct csf_codec *codec, int level, struct csf_span input, struct csf_buffer *out,
                                     struct colshuf_error *err) {
  if (level >= 2) {
    CSF_TRY(need_state(codec, &codec->lz4hc_state, LZ4_sizeofStateHC(), err));
  } else {
    CSF_TRY(need_state(codec, &codec->lz4_state, LZ4_sizeofState(), err));
  }
  unsigned id = block_id_for(input.size);
  size_t block_max = block_max_of(id);
  size_t whole_blocks = input.size / block_max, rest = input.size % block_max;
  size_t bound = LARGEST_HEADER + whole_blocks * (4 + (size_t)LZ4_compressBound((int)block_max)) + 4 +
                 (size_t)LZ4_compressBound((int)rest) + 4;
  CSF_TRY(csf_buffer_reserve(out, out->size + bound, err));
  uint8_t *place = out->data + out->size;
  place += write_header(place, id, input.size);
  for (size_t done = 0; done < input.size; done += block_max) {
    size_t size = input.size - done < block_max ? input.size - done : block_max;
    place += compress_block(codec, level, input.data + done, size, place);
  }
  csf_store_u32(place, 0);
  out->size = (size_t)(place + 4 - out->data);
  return COLSHUF_OK;
}

struct frame {
  uint8_t flags;
  size_t block_max;
  uint64_t content_size; /* with FLAG_CONTENT_SIZE */
};

/* One frame being decoded; start is where offsets in messages count from. */
struct reading {
  struct csf_cursor cursor;
  const uint8_t *start;
  struct frame frame;
};

static size_t offset_of(const struct reading *reading) {
  return (size_t)(reading->cursor.data - reading->start);
}

static enum colshuf_status truncated(const struct reading *reading, const char *what, size_t wanted, struct colshuf_error *err) {
  return csf_fail(err, COLSHUF_CORRUPT, "truncated LZ4 frame: %s of %zu bytes at offset %zu, %zu left", what, wanted,
                  offset_of(reading), reading->cursor.size);
}

static enum colshuf_status check_flags(uint8_t flags, uint8_t descriptor, struct colshuf_error *err) {
  if ((flags & 0xc0) != FLAG_VERSION) {
    return csf_fail(err, COLSHUF_CORRUPT, "LZ4 frame version %d at offset 4, 1 wanted", flags >> 6);
  }
  if ((flags & FLAG_RESERVED) != 0 || (descriptor & 0x8f) != 0 || descriptor >> 4 < 4) {
    return csf_fail(err, COLSHUF_CORRUPT, "LZ4 frame flags %02x %02x at offset 4 have reserved bits or no block size", flags,
                    descriptor);
  }
  if ((flags & FLAG_DICTIONARY) != 0) return csf_fail(err, COLSHUF_UNSUPPORTED, "the LZ4 frame wants a dictionary");
  return COLSHUF_OK;
}

static enum colshuf_status read_header(struct reading *reading, struct colshuf_error *err) {
  uint32_t magic;
  if (!csf_cursor_take_u32(&reading->cursor, &magic)) return truncated(reading, "magic", 4, err);
  if (magic != MAGIC) {
    return csf_fail(err, COLSHUF_CORRUPT, "not an LZ4 frame: it begins with %08x, not %08x", magic, MAGIC);
  }
  const uint8_t *descriptor;
  if (!csf_cursor_take(&reading->cursor, 2, &descriptor)) return truncated(reading, "descriptor", 2, err);
  CSF_TRY(check_flags(descriptor[0], descriptor[1], err));
  struct frame frame = {.flags = descriptor[0], .block_max = block_max_of(descriptor[1] >> 4)};
  if ((frame.flags & FLAG_CONTENT_SIZE) != 0 && !csf_cursor_take_u64(&reading->cursor, &frame.content_size)) {
    return truncated(reading, "content size", 8, err);
  }
  uint8_t wanted = header_checksum(descriptor, (size_t)(reading->cursor.data - descriptor));
  const uint8_t *checksum;
  if (!csf_cursor_take(&reading->cursor, 1, &checksum)) return truncated(reading, "header checksum", 1, err);
  if (*checksum != wanted) {
    return csf_fail(err, COLSHUF_CORRUPT, "LZ4 header checksum at offset %zu is %02x, the header's is %02x",
                    offset_of(reading) - 1, *checksum, wanted);
  }
  reading->frame = frame;
  return COLSHUF_OK;
}

static enum colshuf_status check_block_checksum(struct reading *reading, const uint8_t *data, size_t size,
                                                struct colshuf_error *err) {
  uint32_t stored;
  if (!csf_cursor_take_u32(&reading->cursor, &stored)) return truncated(reading, "block checksum", 4, err);
  uint32_t computed = XXH32(data, size, 0);
  if (stored == computed) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "LZ4 block checksum at offset %zu is %08x, the block's is %08x", offset_of(reading) - 4,
                  stored, computed);
}

static enum colshuf_status store(const uint8_t *data, size_t size, struct csf_target *target, struct colshuf_error *err) {
  if (size == 0) return COLSHUF_OK;
  CSF_TRY(csf_target_reserve(target, size, err));
  memcpy(target->data + target->size, data, size);
  target->size += size;
  return COLSHUF_OK;
}

/* How many bytes the block may make: what the frame allows and what so few bytes can make; of a fixed target what is left. */
static size_t block_room(const struct reading *reading, size_t size, const struct csf_target *target) {
  size_t room = size * MAX_RATIO;
  if (room > reading->frame.block_max) room = reading->frame.block_max;
  size_t left = target->capacity - target->size;
  return target->buffer == NULL && room > left ? left : room;
}

/* Bytes made of the block behind what target has, at most room of them (which it has); negative when it is damaged or makes more. */
static int decode_into(const struct reading *reading, const uint8_t *data, size_t size, const struct csf_target *target, size_t room) {
  uint8_t *place = target->data + target->size;
  if ((reading->frame.flags & FLAG_INDEPENDENT) != 0 || target->size == 0) {
    return LZ4_decompress_safe((const char *)data, (char *)place, (int)size, (int)room);
  }
  size_t history = target->size < HISTORY ? target->size : HISTORY;
  return LZ4_decompress_safe_usingDict((const char *)data, (char *)place, (int)size, (int)room, (const char *)place - history,
                                       (int)history);
}

/*
 * A block may make as much as the frame allows, but seldom does: what the caller's hint has made room for is tried first. Memory for the
 * worst case would have to be got, and kept, for every block.
 */
static enum colshuf_status decode(const struct reading *reading, const uint8_t *data, size_t size, struct csf_target *target,
                                  struct colshuf_error *err) {
  size_t room = block_room(reading, size, target), have = target->capacity - target->size;
  int made = have > size && have < room ? decode_into(reading, data, size, target, have) : -1;
  if (made < 0) {
    CSF_TRY(csf_target_reserve(target, room, err));
    made = decode_into(reading, data, size, target, room);
  }
  if (made < 0) {
    return csf_fail(err, COLSHUF_CORRUPT, "the LZ4 block of %zu bytes at offset %zu is damaged or makes more than %zu bytes", size,
                    (size_t)(data - reading->start), room);
  }
  target->size += (size_t)made;
  return COLSHUF_OK;
}

static enum colshuf_status read_block(struct reading *reading, uint32_t word, struct csf_target *target,
                                      struct colshuf_error *err) {
  size_t size = word & ~STORED;
  const uint8_t *data;
  if (size > reading->frame.block_max) {
    return csf_fail(err, COLSHUF_CORRUPT, "the LZ4 block at offset %zu has %zu bytes, the frame allows %zu", offset_of(reading),
                    size, reading->frame.block_max);
  }
  if (!csf_cursor_take(&reading->cursor, size, &data)) return truncated(reading, "block", size, err);
  if ((reading->frame.flags & FLAG_BLOCK_CHECKSUM) != 0) CSF_TRY(check_block_checksum(reading, data, size, err));
  if ((word & STORED) != 0) {
    CSF_TRY(store(data, size, target, err));
  } else {
    CSF_TRY(decode(reading, data, size, target, err));
  }
  return target->size <= target->max_size ? COLSHUF_OK : csf_target_too_large(target, target->size, err);
}

static enum colshuf_status read_end(struct reading *reading, const struct csf_target *target, struct colshuf_error *err) {
  if ((reading->frame.flags & FLAG_CONTENT_CHECKSUM) != 0) {
    uint32_t stored;
    if (!csf_cursor_take_u32(&reading->cursor, &stored)) return truncated(reading, "content checksum", 4, err);
    uint32_t computed = XXH32(target->data, target->size, 0);
    if (stored != computed) {
      return csf_fail(err, COLSHUF_CORRUPT, "LZ4 content checksum is %08x, the content's is %08x", stored, computed);
    }
  }
  if ((reading->frame.flags & FLAG_CONTENT_SIZE) != 0 && reading->frame.content_size != target->size) {
    return csf_fail(err, COLSHUF_CORRUPT, "the LZ4 frame announces %" PRIu64 " bytes and has %zu", reading->frame.content_size,
                    target->size);
  }
  if (reading->cursor.size == 0) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "trailing data: %zu bytes after the end of the LZ4 frame at offset %zu",
                  reading->cursor.size, offset_of(reading));
}

/* Memory for what is announced, as far as the input can hold it, so that a new buffer does not grow in steps. */
static enum colshuf_status prepare(const struct reading *reading, struct csf_target *target, struct colshuf_error *err) {
  if ((reading->frame.flags & FLAG_CONTENT_SIZE) == 0) return COLSHUF_OK;
  uint64_t size = reading->frame.content_size;
  if (size > target->max_size) return csf_target_too_large(target, size, err);
  if (target->buffer == NULL || size / MAX_RATIO > reading->cursor.size) return COLSHUF_OK;
  return csf_target_reserve(target, (size_t)size, err);
}

enum colshuf_status csf_lz4_decompress(struct csf_span input, struct csf_target *target, struct colshuf_error *err) {
  struct reading reading = {.cursor = {input.data, input.size}, .start = input.data};
  CSF_TRY(read_header(&reading, err));
  CSF_TRY(prepare(&reading, target, err));
  for (;;) {
    uint32_t word;
    if (!csf_cursor_take_u32(&reading.cursor, &word)) return truncated(&reading, "end mark or block size", 4, err);
    if (word == 0) return read_end(&reading, target, err);
    CSF_TRY(read_block(&reading, word, target, err));
  }
}

uint64_t csf_lz4_announced_size(struct csf_span input) {
  if (input.size < LARGEST_HEADER || csf_load_u32(input.data) != MAGIC || (input.data[4] & FLAG_CONTENT_SIZE) == 0) return 0;
  return csf_load_u64(input.data + 6);
}
