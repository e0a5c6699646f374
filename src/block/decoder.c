/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block becomes a batch. Compressed: the codec fills a pooled buffer, and the arrays point into it. Uncompressed: they point into the
 * caller's bytes where those have an owner and lie aligned, else into one copy of the body.
 */
#include <inttypes.h>

#include "block/decoder.h"
#include "base/pool.h"
#include "block/schema_cache.h"
#include "ipc/limits.h"

static const uint64_t default_pool_size = UINT64_C(64) << 20;

struct colshuf_block_decoder {
  struct colshuf_allocator allocator;
  struct colshuf_limits limits; /* defaults filled in */
  enum colshuf_trust trust;
  struct csf_pool *pool; /* of all that is handed out */
  struct csf_codec *codec;
  struct csf_schema *expected;
  struct csf_schema_cache cache;
  struct csf_column_set columns;
  struct ArrowArray viewed; /* what the last view borrows; release NULL = nothing */
};

/* One block on its way through. */
struct block_reading {
  struct colshuf_block_decoder *decoder;
  struct colshuf_block_header header;
  const struct colshuf_bytes_owner *owner;
  bool borrow;               /* arrays may point into data without an owner */
  bool any_alignment;        /* what they borrow may stand at any address */
  struct csf_buffer content; /* decompressed; memory of the pool */
  struct csf_cached_schema *entry;
  struct colshuf_error *err;
};

static enum colshuf_status build(struct colshuf_block_decoder *d, const struct colshuf_block_decoder_options *options,
                                 struct colshuf_error *err) {
  uint64_t kept = options->pool_size == 0 ? default_pool_size : options->pool_size == UINT64_MAX ? 0 : options->pool_size;
  CSF_TRY(csf_pool_new(&d->allocator, kept, d->limits.max_memory, &d->pool, err));
  CSF_TRY(csf_codec_new(&d->allocator, &d->codec, err));
  if (options->expected_schema == NULL) return COLSHUF_OK;
  return csf_schema_import(options->expected_schema, &d->allocator, &d->limits, &d->expected, err);
}

enum colshuf_status colshuf_block_decoder_new(const struct colshuf_block_decoder_options *options, struct colshuf_block_decoder **out,
                                              struct colshuf_error *err) {
  static const struct colshuf_block_decoder_options defaults = {0};
  if (options == NULL) options = &defaults;
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_block_decoder *d = csf_alloc_zero(&allocator, sizeof *d);
  if (d == NULL) return csf_fail_memory(err, sizeof *d);
  d->allocator = allocator;
  d->limits = csf_limits(&options->limits);
  d->trust = options->trust;
  d->cache.allocator = allocator;
  enum colshuf_status status = build(d, options, err);
  if (status != COLSHUF_OK) {
    colshuf_block_decoder_free(d);
    return status;
  }
  *out = d;
  return COLSHUF_OK;
}

static void drop_view(struct colshuf_block_decoder *d) {
  if (d->viewed.release != NULL) d->viewed.release(&d->viewed);
}

void colshuf_block_decoder_free(struct colshuf_block_decoder *d) {
  if (d == NULL) return;
  drop_view(d);
  csf_schema_cache_clear(&d->cache);
  csf_schema_release(d->expected);
  csf_codec_free(d->codec);
  csf_pool_close(d->pool);
  struct colshuf_allocator allocator = d->allocator;
  csf_free(&allocator, d, sizeof *d);
}

/*
 * The decompressed stream's buffer is remembered behind its own last byte, in the room that is left there: attaching it to a batch then
 * takes no memory.
 */
static void release_content(void *ctx) {
  struct csf_buffer buffer = *(struct csf_buffer *)ctx;
  csf_buffer_clear(&buffer);
}

static size_t content_room(size_t size) {
  return csf_round_up(size, 16) + sizeof(struct csf_buffer);
}

static enum colshuf_status attach_content(struct block_reading *r, struct csf_slab *slab) {
  void *record = r->content.data + content_room(r->content.size) - sizeof(struct csf_buffer);
  memcpy(record, &r->content, sizeof r->content);
  CSF_TRY(csf_slab_attach(slab, release_content, record, r->err));
  r->content = (struct csf_buffer){.allocator = r->content.allocator};
  return COLSHUF_OK;
}

static enum colshuf_status attach_owner(const struct block_reading *r, struct csf_slab *slab) {
  CSF_TRY(csf_slab_attach(slab, r->owner->release, r->owner->ctx, r->err));
  r->owner->retain(r->owner->ctx);
  return COLSHUF_OK;
}

static bool is_end(const struct csf_cursor *cursor) {
  return cursor->size == sizeof csf_end_marker && memcmp(cursor->data, csf_end_marker, sizeof csf_end_marker) == 0;
}

/* Message `place` behind the schema; most often it is shaped like the one that stood there in the last block of this schema. */
static enum colshuf_status take_message(struct block_reading *r, struct csf_cursor *cursor, const uint8_t *start, size_t place,
                                        struct csf_message *out, bool *end_marker) {
  const struct colshuf_limits *limits = &r->decoder->limits;
  struct csf_message_shape *shape = place < r->entry->n_shapes ? &r->entry->shapes[place] : NULL;
  if (shape != NULL && csf_message_shape_take(shape, cursor, limits->max_decompressed_size, out)) return COLSHUF_OK;
  CSF_TRY(csf_message_take(cursor, start, limits, out, end_marker, r->err));
  if (shape != NULL) csf_message_shape_learn(shape, out);
  return COLSHUF_OK;
}

/* Everything behind the schema: dictionaries, then one batch, then the end. Guards G13, G14, G17-G19. */
static enum colshuf_status take_messages(struct block_reading *r, struct csf_cursor *cursor, const uint8_t *start,
                                         const struct csf_batch_read_options *options, struct csf_message *batch) {
  struct csf_message message;
  bool end_marker = false, found = false;
  for (size_t i = 0;; i++) {
    if (found && is_end(cursor)) return COLSHUF_OK;
    size_t place = (size_t)(cursor->data - start);
    CSF_TRY(take_message(r, cursor, start, i, &message, &end_marker));
    if (message.kind == CSF_MESSAGE_END) break;
    if (message.kind == CSF_MESSAGE_SCHEMA) return csf_fail(r->err, COLSHUF_CORRUPT, "a second schema at byte %zu", place);
    if (found) {
      return csf_fail(r->err, COLSHUF_CORRUPT, "%s at byte %zu, behind the block's record batch",
                      message.kind == CSF_MESSAGE_BATCH ? "a second record batch" : "a dictionary", place);
    }
    found = message.kind == CSF_MESSAGE_BATCH;
    if (found) *batch = message;
    else CSF_TRY(csf_dictionary_read(r->entry->plan, &message, options, r->entry->dictionaries, r->err));
  }
  if (!found) return csf_fail(r->err, COLSHUF_CORRUPT, "empty IPC stream: no record batch before byte %zu", (size_t)(cursor->data - start));
  if (cursor->size == 0) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "trailing data: %zu bytes at byte %zu, behind the IPC stream's end", cursor->size,
                  (size_t)(cursor->data - start));
}

static enum colshuf_status check_columns(const struct block_reading *r) {
  uint64_t announced = r->header.n_columns;
  int32_t found = r->entry->schema->root.n_children;
  if (announced == 0 || announced == (uint64_t)found) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "the header at byte 8 says %" PRIu64 " columns, the schema has %" PRId32, announced, found);
}

/*
 * What the arrays point into. Borrowed bytes need an owner (or a caller who promises to keep them), and an aligned body: else one copy of
 * all is cheaper than one of each buffer.
 */
static bool must_copy(const struct block_reading *r, const struct csf_message *batch) {
  if (r->header.codec != COLSHUF_NONE) return false;
  bool may_borrow = r->owner != NULL || r->borrow;
  return !may_borrow || (!r->any_alignment && ((uintptr_t)batch->body.data & 7) != 0);
}

static enum colshuf_status attach_source(struct block_reading *r, bool copied, struct csf_slab *slab) {
  if (r->header.codec != COLSHUF_NONE) return attach_content(r, slab);
  return copied || r->owner == NULL ? COLSHUF_OK : attach_owner(r, slab);
}

/* The stream in *cursor becomes *out. start: what byte offsets in messages are counted from. */
static enum colshuf_status read_stream(struct block_reading *r, struct csf_cursor *cursor, const uint8_t *start, struct ArrowArray *out) {
  struct colshuf_block_decoder *d = r->decoder;
  CSF_TRY(csf_schema_cache_take(&d->cache, cursor, start, &d->limits, d->expected, &r->entry, r->err));
  CSF_TRY(check_columns(r));
  struct csf_batch_read_options options = {.allocator = csf_pool_allocator(d->pool), .trust = d->trust, .limits = &d->limits,
                                           .codec = d->codec, .columns = d->columns, .any_alignment = r->any_alignment,
                                           .offsets_as_lengths = r->header.offsets_as_lengths != 0};
  struct csf_message message = {.kind = CSF_MESSAGE_END};
  CSF_TRY(take_messages(r, cursor, start, &options, &message));
  options.copy = must_copy(r, &message);
  struct ArrowArray batch;
  struct csf_slab *slab;
  CSF_TRY(csf_batch_read(r->entry->plan, &message, r->entry->dictionaries, &options, &batch, &slab, r->err));
  enum colshuf_status status = attach_source(r, options.copy, slab);
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  *out = batch;
  return COLSHUF_OK;
}

/* Dictionaries are the block's own: nothing of them stays, whatever became of it. */
static enum colshuf_status read_own_stream(struct block_reading *r, struct csf_cursor *cursor, const uint8_t *start,
                                           struct ArrowArray *out) {
  enum colshuf_status status = read_stream(r, cursor, start, out);
  if (r->entry != NULL && r->entry->schema->has_dictionary) csf_dictionaries_reset(r->entry->dictionaries);
  return status;
}

/* Which schema the block has is not known before it is decompressed; the last one of as many columns is the best guess. 0 = none. */
static size_t likely_size(const struct csf_schema_cache *cache, uint64_t n_columns) {
  for (int i = 0; i < CSF_SCHEMA_CACHE_SIZE && cache->entries[i] != NULL; i++) {
    const struct csf_cached_schema *entry = cache->entries[i];
    if ((uint64_t)entry->schema->root.n_children == n_columns) return entry->decompressed_size;
  }
  return cache->entries[0] == NULL ? 0 : cache->entries[0]->decompressed_size;
}

static enum colshuf_status decompress(struct block_reading *r, struct csf_span body) {
  struct colshuf_block_decoder *d = r->decoder;
  struct colshuf_allocator allocator = csf_pool_allocator(d->pool);
  csf_buffer_init(&r->content, &allocator);
  size_t room = content_room(likely_size(&d->cache, r->header.n_columns));
  enum colshuf_status status = csf_codec_decompress(d->codec, r->header.codec, body, d->limits.max_decompressed_size, room, &r->content, r->err);
  /* Now, before anything points into it. */
  if (status == COLSHUF_OK) return csf_buffer_reserve(&r->content, content_room(r->content.size), r->err);
  return csf_fail_context(r->err, status, "block body at byte %d", COLSHUF_BLOCK_HEADER_SIZE);
}

/* Sizes of a shuffle's blocks vary a little: the next is expected to be no larger than the last few, and a sixteenth. */
static void expect_size(struct csf_cached_schema *entry, size_t size) {
  size_t wanted = size + size / 16;
  if (wanted < entry->decompressed_size) wanted = entry->decompressed_size - (entry->decompressed_size - wanted) / 8;
  entry->decompressed_size = wanted;
}

static enum colshuf_status read_compressed(struct block_reading *r, struct csf_span body, struct ArrowArray *out) {
  enum colshuf_status status = decompress(r, body);
  size_t size = r->content.size;
  if (status == COLSHUF_OK) {
    struct csf_cursor cursor = {r->content.data, size};
    status = read_own_stream(r, &cursor, r->content.data, out);
    if (status == COLSHUF_OK) expect_size(r->entry, size);
    else csf_fail_context(r->err, status, "decompressed stream");
  }
  csf_buffer_clear(&r->content);
  return status;
}

static enum colshuf_status read_block(struct block_reading *r, const uint8_t *data, size_t size, struct ArrowArray *out) {
  CSF_TRY(colshuf_block_header_read(data, size, &r->header, r->err));
  if (r->header.block_size > size) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "truncated block: %" PRIu64 " bytes announced at byte 0, %zu are there", r->header.block_size,
                    size);
  }
  size_t body_size = (size_t)r->header.block_size - COLSHUF_BLOCK_HEADER_SIZE;
  const uint8_t *body = data + COLSHUF_BLOCK_HEADER_SIZE;
  if (r->header.codec != COLSHUF_NONE) return read_compressed(r, (struct csf_span){body, body_size}, out);
  struct csf_cursor cursor = {body, body_size};
  return read_own_stream(r, &cursor, data, out);
}

/* A refusal by max_memory is the caller's limit, not the machine's. */
static enum colshuf_status explain(struct colshuf_block_decoder *d, enum colshuf_status status, struct colshuf_error *err) {
  if (status != COLSHUF_NO_MEMORY || !csf_pool_hit_limit(d->pool)) return status;
  return csf_fail(err, COLSHUF_LIMIT, "the decoder's batches would take more than %" PRIu64 " bytes (limits.max_memory)",
                  d->limits.max_memory);
}

static enum colshuf_status decode(struct block_reading *r, const uint8_t *data, size_t size, size_t *consumed, struct ArrowSchema *schema,
                                  struct ArrowArray *batch) {
  struct colshuf_block_decoder *d = r->decoder;
  if (size == 0) return csf_fail(r->err, COLSHUF_INVALID_ARGUMENT, "no bytes: the end of the data is for the caller to see");
  drop_view(d);
  struct ArrowArray decoded;
  enum colshuf_status status = read_block(r, data, size, &decoded);
  if (status == COLSHUF_OK && schema != NULL) {
    status = csf_field_export(&r->entry->schema->root, &d->allocator, schema, r->err);
    if (status != COLSHUF_OK) decoded.release(&decoded);
  }
  if (status != COLSHUF_OK) return explain(d, status, r->err);
  *batch = decoded;
  *consumed = (size_t)r->header.block_size;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_block_decoder_decode(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size,
                                                 const struct colshuf_bytes_owner *owner, size_t *consumed, struct ArrowSchema *schema,
                                                 struct ArrowArray *batch, struct colshuf_error *err) {
  struct block_reading reading = {.decoder = decoder, .owner = owner, .err = err};
  return decode(&reading, data, size, consumed, schema, batch);
}

struct csf_schema *csf_block_decoder_schema(const struct colshuf_block_decoder *decoder) {
  return decoder->cache.entries[0]->schema;
}

struct colshuf_allocator csf_block_decoder_allocator(const struct colshuf_block_decoder *decoder) {
  return csf_pool_allocator(decoder->pool);
}

void csf_block_decoder_project(struct colshuf_block_decoder *decoder, const uint8_t *wanted, int32_t n) {
  decoder->columns = (struct csf_column_set){wanted, n};
}

enum colshuf_status csf_block_decoder_decode_to_copy(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size,
                                                     const struct colshuf_bytes_owner *owner, struct ArrowArray *batch,
                                                     struct colshuf_error *err) {
  struct block_reading reading = {.decoder = decoder, .owner = owner, .any_alignment = true, .err = err};
  size_t consumed;
  return decode(&reading, data, size, &consumed, NULL, batch);
}

static void release_view(struct ArrowArray *array) {
  array->release = NULL;
}

enum colshuf_status colshuf_block_decoder_view(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size, size_t *consumed,
                                               struct ArrowArray *batch, struct colshuf_error *err) {
  struct block_reading reading = {.decoder = decoder, .borrow = true, .err = err};
  CSF_TRY(decode(&reading, data, size, consumed, NULL, &decoder->viewed));
  *batch = decoder->viewed;
  batch->release = release_view;
  return COLSHUF_OK;
}
