/* SPDX-License-Identifier: Apache-2.0 */
/* Snappy's framing format around libsnappy's raw blocks. */
#include <snappy-c.h>

#include "base/crc32c.h"
#include "codec/backends.h"

enum {
  CHUNK_COMPRESSED = 0x00,
  CHUNK_STORED = 0x01,
  CHUNK_FIRST_SKIPPABLE = 0x80, /* 0x80 to 0xfe; 0xfe is padding */
  CHUNK_IDENTIFIER = 0xff,
  CHUNK_HEADER_SIZE = 4,
  CHECKSUM_SIZE = 4,
  CHUNK_DATA_MAX = 65536,     /* uncompressed */
  CHUNK_LENGTH_MAX = 76490    /* what snappy may make of 65536 bytes; Rust's reader takes no more */
};

static const uint8_t identifier[10] = {0xff, 0x06, 0x00, 0x00, 's', 'N', 'a', 'P', 'p', 'Y'};

/* The format masks checksums, because the CRC of data that holds its own CRC is a poor one. */
static uint32_t masked_crc(const uint8_t *data, size_t size) {
  uint32_t crc = csf_crc32c(0, data, size);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_chunk_header(uint8_t *place, uint8_t type, size_t length, uint32_t checksum) {
  csf_store_u32(place, type | (uint32_t)(length + CHECKSUM_SIZE) << 8);
  csf_store_u32(place + CHUNK_HEADER_SIZE, checksum);
}

/* Snappy that saves less than an eighth is not worth decompressing: such a chunk is stored. */
static size_t compress_chunk(const uint8_t *data, size_t size, uint8_t *place) {
  uint8_t *body = place + CHUNK_HEADER_SIZE + CHECKSUM_SIZE;
  size_t length = snappy_max_compressed_length(size);
  bool done = snappy_compress((const char *)data, size, (char *)body, &length) == SNAPPY_OK;
  bool stored = !done || length >= size - size / 8;
  if (stored) {
    memcpy(body, data, size);
    length = size;
  }
  write_chunk_header(place, stored ? CHUNK_STORED : CHUNK_COMPRESSED, length, masked_crc(data, size));
  return CHUNK_HEADER_SIZE + CHECKSUM_SIZE + length;
}

/* Room is made chunk by chunk: libsnappy's bound for the whole is a sixth more than the input. */
enum colshuf_status csf_snappy_compress(struct csf_span input, struct csf_buffer *out, struct colshuf_error *err) {
  size_t before = out->size;
  CSF_TRY(csf_buffer_append(out, identifier, sizeof identifier, err));
  for (size_t done = 0; done < input.size; done += CHUNK_DATA_MAX) {
    size_t size = input.size - done < CHUNK_DATA_MAX ? input.size - done : CHUNK_DATA_MAX;
    size_t bound = CHUNK_HEADER_SIZE + CHECKSUM_SIZE + snappy_max_compressed_length(size);
    enum colshuf_status status = csf_buffer_reserve(out, out->size + bound, err);
    if (status != COLSHUF_OK) {
      out->size = before;
      return status;
    }
    out->size += compress_chunk(input.data + done, size, out->data + out->size);
  }
  return COLSHUF_OK;
}

struct chunk {
  uint8_t type;
  size_t offset; /* of its header in the stream */
  struct csf_span body;
};

static enum colshuf_status take_chunk(struct csf_cursor *cursor, size_t offset, struct chunk *out, struct colshuf_error *err) {
  uint32_t header;
  if (!csf_cursor_take_u32(cursor, &header)) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated Snappy stream: chunk header of 4 bytes at offset %zu, %zu left", offset,
                    cursor->size);
  }
  out->type = (uint8_t)header;
  out->offset = offset;
  out->body.size = header >> 8;
  if (!csf_cursor_take(cursor, out->body.size, &out->body.data)) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated Snappy stream: chunk of %zu bytes at offset %zu, %zu left", out->body.size,
                    offset, cursor->size);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_identifier(const struct chunk *chunk, struct colshuf_error *err) {
  if (chunk->body.size == 6 && memcmp(chunk->body.data, identifier + 4, 6) == 0) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "the Snappy stream identifier of %zu bytes at offset %zu is not sNaPpY", chunk->body.size,
                  chunk->offset);
}

static enum colshuf_status decompress_body(const struct chunk *chunk, struct csf_span data, struct csf_target *target,
                                           size_t *made, struct colshuf_error *err) {
  size_t size;
  if (snappy_uncompressed_length((const char *)data.data, data.size, &size) != SNAPPY_OK) {
    return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk at offset %zu has no length", chunk->offset);
  }
  if (size > CHUNK_DATA_MAX) {
    return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk at offset %zu announces %zu bytes, at most %d are allowed",
                    chunk->offset, size, CHUNK_DATA_MAX);
  }
  CSF_TRY(csf_target_reserve(target, size > 0 ? size : 1, err)); /* a place to point at, even for nothing */
  *made = size;
  char *place = (char *)target->data + target->size;
  if (snappy_uncompress((const char *)data.data, data.size, place, made) == SNAPPY_OK) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk of %zu bytes at offset %zu is damaged", chunk->body.size, chunk->offset);
}

static enum colshuf_status store_body(const struct chunk *chunk, struct csf_span data, struct csf_target *target, size_t *made,
                                      struct colshuf_error *err) {
  if (data.size > CHUNK_DATA_MAX) {
    return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk at offset %zu stores %zu bytes, at most %d are allowed",
                    chunk->offset, data.size, CHUNK_DATA_MAX);
  }
  CSF_TRY(csf_target_reserve(target, data.size > 0 ? data.size : 1, err)); /* here, too */
  if (data.size > 0) memcpy(target->data + target->size, data.data, data.size);
  *made = data.size;
  return COLSHUF_OK;
}

static enum colshuf_status read_data(const struct chunk *chunk, struct csf_target *target, struct colshuf_error *err) {
  if (chunk->body.size < CHECKSUM_SIZE || chunk->body.size > CHUNK_LENGTH_MAX) {
    return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk at offset %zu has %zu bytes, between %d and %d are allowed",
                    chunk->offset, chunk->body.size, CHECKSUM_SIZE, CHUNK_LENGTH_MAX);
  }
  struct csf_span data = {chunk->body.data + CHECKSUM_SIZE, chunk->body.size - CHECKSUM_SIZE};
  size_t made = 0;
  if (chunk->type == CHUNK_COMPRESSED) {
    CSF_TRY(decompress_body(chunk, data, target, &made, err));
  } else {
    CSF_TRY(store_body(chunk, data, target, &made, err));
  }
  uint32_t stored = csf_load_u32(chunk->body.data), computed = masked_crc(target->data + target->size, made);
  if (stored != computed) {
    return csf_fail(err, COLSHUF_CORRUPT, "the checksum of the Snappy chunk at offset %zu is %08x, its data's is %08x",
                    chunk->offset, stored, computed);
  }
  target->size += made;
  return target->size <= target->max_size ? COLSHUF_OK : csf_target_too_large(target, target->size, err);
}

static enum colshuf_status read_chunk(const struct chunk *chunk, struct csf_target *target, struct colshuf_error *err) {
  if (chunk->type == CHUNK_IDENTIFIER) return check_identifier(chunk, err);
  if (chunk->type <= CHUNK_STORED) return read_data(chunk, target, err);
  if (chunk->type >= CHUNK_FIRST_SKIPPABLE) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "the Snappy chunk at offset %zu has the reserved type %02x", chunk->offset, chunk->type);
}

/* A stream without any bytes is an empty one. */
enum colshuf_status csf_snappy_decompress(struct csf_span input, struct csf_target *target, struct colshuf_error *err) {
  struct csf_cursor cursor = {input.data, input.size};
  /* Before any length is believed: raw Snappy, which begins with a length, is to be called what it is. */
  if (input.size > 0 && input.data[0] != CHUNK_IDENTIFIER) {
    return csf_fail(err, COLSHUF_CORRUPT, "not Snappy's framing format: it begins with %02x, not the stream identifier's ff",
                    input.data[0]);
  }
  while (cursor.size > 0) {
    struct chunk chunk;
    CSF_TRY(take_chunk(&cursor, input.size - cursor.size, &chunk, err));
    CSF_TRY(read_chunk(&chunk, target, err));
  }
  return COLSHUF_OK;
}
