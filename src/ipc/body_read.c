/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/body_read.h"

#include <inttypes.h>

#include "ipc/format_tables.h"

_Alignas(CSF_ALIGNMENT) const uint8_t csf_body_zeros[16] = {0};

enum colshuf_status csf_body_compression_read(struct csf_fb_table compression, enum csf_body_compression *out,
                                              struct colshuf_error *err) {
  *out = CSF_BODY_PLAIN;
  if (compression.place == NULL) return COLSHUF_OK;
  uint8_t codec = csf_fb_u8(compression, CSF_COMPRESSION_CODEC, 0);
  uint8_t method = csf_fb_u8(compression, CSF_COMPRESSION_METHOD, 0);
  if (method != 0) return csf_fail(err, COLSHUF_UNSUPPORTED, "body compression method %d, only 0 (each buffer) is known", method);
  if (codec > 1) return csf_fail(err, COLSHUF_UNSUPPORTED, "body compression codec %d, only 0 (LZ4) and 1 (zstd) are known", codec);
  *out = codec == 0 ? CSF_BODY_LZ4 : CSF_BODY_ZSTD;
  return COLSHUF_OK;
}

static enum colshuf_status take_entry(struct csf_body_reader *r, struct csf_span *out) {
  if (CSF_UNLIKELY(r->n_left == 0)) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "buffer %" PRIu32 " is missing, the message lists %" PRIu32, r->n_taken, r->n_taken);
  }
  int64_t offset = csf_load_i64(r->entry), size = csf_load_i64(r->entry + 8);
  r->entry += CSF_BUFFER_SIZE;
  r->n_left--;
  r->n_taken++;
  /* An empty buffer needs no place: its offset is not looked at. */
  if (size == 0) {
    *out = (struct csf_span){csf_body_zeros, 0};
    return COLSHUF_OK;
  }
  uint64_t body_size = r->body.size;
  if (CSF_UNLIKELY(size < 0 || offset < 0 || (uint64_t)offset > body_size || (uint64_t)size > body_size - (uint64_t)offset)) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "buffer %" PRIu32 " of %" PRId64 " bytes at %" PRId64 " is outside of the body of %zu bytes",
                    r->n_taken - 1, size, offset, r->body.size);
  }
  *out = (struct csf_span){r->body.data + offset, (size_t)size};
  return COLSHUF_OK;
}

static enum colshuf_status copy_aligned(struct csf_body_reader *r, struct csf_span source, struct csf_span *out) {
  void *copy;
  CSF_TRY(csf_slab_alloc(r->slab, source.size, &copy, r->err));
  memcpy(copy, source.data, source.size);
  *out = (struct csf_span){copy, source.size};
  return COLSHUF_OK;
}

/*
 * A size up to this is allocated as announced and filled in one call. A larger one might be a lie: there the output grows with what the
 * codec really yields.
 */
static const uint64_t believed_size = UINT64_C(64) << 20;

struct grown_output {
  struct csf_buffer buffer;
};

static void release_grown(void *ctx) {
  struct grown_output *grown = ctx;
  csf_buffer_clear(&grown->buffer);
}

static enum colshuf_status decompress_growing(struct csf_body_reader *r, enum colshuf_codec kind, struct csf_span data, size_t size,
                                              struct csf_span *out) {
  void *place;
  CSF_TRY(csf_slab_alloc(r->slab, sizeof(struct grown_output), &place, r->err));
  struct grown_output *grown = place;
  csf_buffer_init(&grown->buffer, &r->allocator);
  enum colshuf_status status = csf_codec_decompress(r->codec, kind, data, size, (size_t)believed_size, &grown->buffer, r->err);
  if (status == COLSHUF_LIMIT || (status == COLSHUF_OK && grown->buffer.size != size)) {
    status = csf_fail(r->err, COLSHUF_CORRUPT, "buffer %" PRIu32 " gives %s than its announced %zu bytes", r->n_taken - 1,
                      status == COLSHUF_OK ? "less" : "more", size);
  }
  if (status == COLSHUF_OK) status = csf_slab_attach(r->slab, release_grown, grown, r->err);
  if (status != COLSHUF_OK) {
    csf_buffer_clear(&grown->buffer);
    return status;
  }
  *out = (struct csf_span){grown->buffer.data, size};
  return COLSHUF_OK;
}

/*
 * What a byte can stand for at most: in LZ4 a length byte for 255 bytes, in zstd the four bytes of the smallest block for 128 KiB. More than that is
 * damage, and no question of limits.
 */
enum { MOST_OF_LZ4 = 255, MOST_OF_ZSTD = 32768 };

static enum colshuf_status check_ratio(const struct csf_body_reader *r, size_t data_size, size_t size) {
  size_t most = r->compression == CSF_BODY_LZ4 ? MOST_OF_LZ4 : MOST_OF_ZSTD;
  if (size / most <= data_size) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "compressed buffer %" PRIu32 " announces %zu bytes, far more than its %zu bytes can hold", r->n_taken - 1, size,
                  data_size);
}

static enum colshuf_status decompress(struct csf_body_reader *r, struct csf_span data, size_t size, struct csf_span *out) {
  enum colshuf_codec kind = r->compression == CSF_BODY_LZ4 ? COLSHUF_LZ4 : COLSHUF_ZSTD;
  CSF_TRY(check_ratio(r, data.size, size));
  if (size > r->max_size) {
    return csf_fail(r->err, COLSHUF_LIMIT, "buffer %" PRIu32 " announces %zu bytes, %" PRIu64 " are left of the limit", r->n_taken - 1, size,
                    r->max_size);
  }
  r->max_size -= size;
  if (size > believed_size) return decompress_growing(r, kind, data, size, out);
  void *target;
  CSF_TRY(csf_slab_alloc(r->slab, size, &target, r->err));
  enum colshuf_status status = csf_codec_decompress_exact(r->codec, kind, data, target, size, r->err);
  if (status != COLSHUF_OK) return csf_fail_context(r->err, status, "buffer %" PRIu32, r->n_taken - 1);
  *out = (struct csf_span){target, size};
  return COLSHUF_OK;
}

/* An i64 before the data tells its size: -1 = the data stands as it is. */
static enum colshuf_status open_compressed(struct csf_body_reader *r, struct csf_span stored, struct csf_span *out) {
  if (stored.size < 8) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "compressed buffer %" PRIu32 " of %zu bytes has no room for its 8-byte size", r->n_taken - 1,
                    stored.size);
  }
  int64_t size = csf_load_i64(stored.data);
  struct csf_span data = {stored.data + 8, stored.size - 8};
  if (size > 0) return decompress(r, data, (size_t)size, out);
  *out = (struct csf_span){csf_body_zeros, 0};
  if (size == 0) return COLSHUF_OK;
  if (size != -1) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "compressed buffer %" PRIu32 " announces %" PRId64 " bytes", r->n_taken - 1, size);
  }
  return data.size == 0 ? COLSHUF_OK : copy_aligned(r, data, out);
}

enum colshuf_status csf_body_take(struct csf_body_reader *r, uint32_t alignment, struct csf_span *out) {
  struct csf_span stored = {0};
  CSF_TRY(take_entry(r, &stored));
  if (r->compression != CSF_BODY_PLAIN && stored.size > 0) return open_compressed(r, stored, out);
  bool is_aligned = ((uintptr_t)stored.data & (alignment - 1)) == 0;
  if (CSF_LIKELY(is_aligned && (!r->copy || stored.size == 0))) {
    *out = stored;
    return COLSHUF_OK;
  }
  return copy_aligned(r, stored, out);
}

enum colshuf_status csf_body_skip(struct csf_body_reader *r, int64_t n) {
  if (n < 0 || n > r->n_left) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "%" PRId64 " buffers are wanted, %" PRIu32 " are left", n, r->n_left);
  }
  r->entry += n * CSF_BUFFER_SIZE;
  r->n_left -= (uint32_t)n;
  r->n_taken += (uint32_t)n;
  return COLSHUF_OK;
}
