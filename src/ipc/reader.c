/* SPDX-License-Identifier: Apache-2.0 */
/* IPC streams as ArrowArrayStream. Bodies are read into memory that the batch then owns: nothing is copied but what is misaligned. */
#include "ipc/reader.h"

#include <inttypes.h>

#include "ipc/format_tables.h"
#include "ipc/input.h"
#include "ipc/limits.h"

const uint8_t csf_file_magic[CSF_MAGIC_SIZE] = {'A', 'R', 'R', 'O', 'W', '1'};

enum colshuf_status csf_ipc_reader_set_schema(struct csf_ipc_reader *r, struct csf_schema *schema, struct colshuf_error *err) {
  r->schema = schema; /* from here on the reader's */
  CSF_TRY(csf_batch_plan_new(schema, &r->allocator, &r->plan, err));
  return csf_dictionaries_new(r->plan, &r->allocator, &r->dictionaries, err);
}

static struct csf_batch_read_options read_options(const struct csf_ipc_reader *r) {
  return (struct csf_batch_read_options){.allocator = csf_pool_allocator(r->pool), .trust = r->trust, .limits = &r->limits, .codec = r->codec};
}

static void release_body(void *ctx) {
  csf_buffer_clear(ctx);
}

/* Whether the arrays of a batch point into its body: those of a compressed one lie elsewhere. */
static bool body_is_borrowed(const struct csf_ipc_reader *r, const struct csf_message *message) {
  struct csf_fb_table batch = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  return r->body.size > 0 && csf_fb_field(batch, CSF_BATCH_COMPRESSION) == NULL;
}

/* Hands reader->body over to the batch. */
static enum colshuf_status attach_body(struct csf_ipc_reader *r, struct csf_slab *slab, struct colshuf_error *err) {
  void *place;
  CSF_TRY(csf_slab_alloc(slab, sizeof r->body, &place, err));
  struct csf_buffer *owned = place;
  CSF_TRY(csf_slab_attach(slab, release_body, owned, err));
  *owned = r->body;
  r->body = (struct csf_buffer){.allocator = owned->allocator};
  return COLSHUF_OK;
}

enum colshuf_status csf_ipc_reader_batch(struct csf_ipc_reader *r, const struct csf_message *message, struct ArrowArray *out,
                                         struct colshuf_error *err) {
  struct csf_batch_read_options options = read_options(r);
  struct csf_slab *slab;
  struct ArrowArray batch;
  CSF_TRY(csf_batch_read(r->plan, message, r->dictionaries, &options, &batch, &slab, err));
  enum colshuf_status status = body_is_borrowed(r, message) ? attach_body(r, slab, err) : COLSHUF_OK;
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  *out = batch;
  return COLSHUF_OK;
}

enum colshuf_status csf_ipc_reader_dictionary(struct csf_ipc_reader *r, const struct csf_message *message, struct colshuf_error *err) {
  struct csf_batch_read_options options = read_options(r);
  return csf_dictionary_read(r->plan, message, &options, r->dictionaries, err);
}

static enum colshuf_status read_word(struct csf_ipc_reader *r, const char *what, bool may_end, uint32_t *out, bool *ended,
                                     struct colshuf_error *err) {
  size_t got = 0;
  CSF_TRY(csf_input_read(&r->input, out, 4, &got, err));
  *ended = got == 0 && may_end;
  if (got == 4 || *ended) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "truncated: the %s needs 4 bytes, the input ends after %zu", what, got);
}

/*
 * Whether the input has size bytes behind its first `at`, where it can tell. Asked before a limit refuses them: what is not there is damage,
 * whatever its size.
 */
static enum colshuf_status check_present(const struct csf_ipc_reader *r, uint64_t at, uint64_t size, const char *what,
                                         struct colshuf_error *err) {
  if (at > r->input_size || size <= r->input_size - at) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "truncated: %s of %" PRIu64 " bytes, the input has %" PRIu64 " more", what, size, r->input_size - at);
}

static enum colshuf_status check_metadata(const struct csf_ipc_reader *r, uint64_t at, uint32_t size, struct colshuf_error *err) {
  if (size > r->limits.max_metadata_size && size <= INT32_MAX) CSF_TRY(check_present(r, at, size, "message metadata", err));
  return csf_message_check_size(size, &r->limits, err);
}

static enum colshuf_status check_body(const struct csf_ipc_reader *r, uint64_t at, uint64_t size, struct colshuf_error *err) {
  if (size > r->limits.max_decompressed_size) CSF_TRY(check_present(r, at, size, "message body", err));
  return csf_message_check_body(size, &r->limits, err);
}

/* Takes a message into reader->metadata and body; *framed tells how many bytes it took. */
static enum colshuf_status read_message(struct csf_ipc_reader *r, struct csf_message *out, bool *end_marker, uint64_t *framed,
                                        struct colshuf_error *err) {
  *out = (struct csf_message){.kind = CSF_MESSAGE_END};
  uint32_t size = 0;
  bool ended = false;
  CSF_TRY(read_word(r, "message prefix", true, &size, &ended, err));
  if (ended) return COLSHUF_OK;
  *framed = 4;
  if (size == CSF_CONTINUATION) {
    CSF_TRY(read_word(r, "metadata size", false, &size, &ended, err));
    *framed = CSF_PREFIX_SIZE;
  }
  *end_marker = size == 0;
  if (size == 0) return COLSHUF_OK;
  CSF_TRY(check_metadata(r, r->position + *framed, size, err));
  CSF_TRY(csf_input_take(&r->input, size, "message metadata", &r->metadata, err));
  out->metadata = (struct csf_span){r->metadata.data, r->metadata.size};
  int64_t body_size = 0;
  CSF_TRY(csf_message_verify(out->metadata, &r->limits, &out->kind, &out->is_v4, &body_size, err));
  CSF_TRY(check_body(r, r->position + *framed + size, (uint64_t)body_size, err));
  CSF_TRY(csf_input_take(&r->input, (uint64_t)body_size, "message body", &r->body, err));
  out->body = (struct csf_span){r->body.data, r->body.size};
  *framed += size + (uint64_t)body_size;
  return COLSHUF_OK;
}

/* What may follow the end: nothing; or, in a file, the footer, of which only the end is looked at. */
static enum colshuf_status check_trailing(struct csf_ipc_reader *r, struct colshuf_error *err) {
  uint8_t bytes[CSF_MAGIC_SIZE + 4096];
  size_t tail = 0; /* bytes kept from before: the last ones seen */
  uint64_t total = 0;
  for (;;) {
    size_t got = 0;
    CSF_TRY(csf_input_read(&r->input, bytes + tail, r->is_inside_file ? 4096 : 1, &got, err));
    total += got;
    if (got > 0 && !r->is_inside_file) {
      return csf_fail(err, COLSHUF_CORRUPT, "trailing data after the end of the stream at byte %" PRIu64, r->position);
    }
    size_t have = tail + got;
    tail = have < CSF_MAGIC_SIZE ? have : CSF_MAGIC_SIZE;
    memmove(bytes, bytes + have - tail, tail);
    if (got == 0) break;
  }
  if (!r->is_inside_file || (tail == CSF_MAGIC_SIZE && memcmp(bytes, csf_file_magic, tail) == 0)) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "truncated: the file's last %" PRIu64 " bytes do not end with ARROW1", total);
}

/* One message: *out->release stays NULL unless it was a batch. */
static enum colshuf_status take_message(struct csf_ipc_reader *r, struct ArrowArray *out, struct colshuf_error *err) {
  struct csf_message message;
  bool end_marker = false;
  uint64_t framed = 0;
  CSF_TRY(read_message(r, &message, &end_marker, &framed, err));
  switch (message.kind) {
    case CSF_MESSAGE_BATCH: CSF_TRY(csf_ipc_reader_batch(r, &message, out, err)); break;
    case CSF_MESSAGE_DICTIONARY: CSF_TRY(csf_ipc_reader_dictionary(r, &message, err)); break;
    case CSF_MESSAGE_SCHEMA: return csf_fail(err, COLSHUF_CORRUPT, "a second schema");
    case CSF_MESSAGE_END: r->state = CSF_READER_ENDED; break;
  }
  r->position += framed;
  if (r->state != CSF_READER_ENDED || r->ignore_trailing) return COLSHUF_OK;
  return end_marker || r->is_inside_file ? check_trailing(r, err) : COLSHUF_OK;
}

static enum colshuf_status stream_next(struct csf_ipc_reader *r, struct ArrowArray *out, struct colshuf_error *err) {
  while (out->release == NULL && r->state == CSF_READER_OPEN) {
    enum colshuf_status status = take_message(r, out, err);
    if (status != COLSHUF_OK) return csf_fail_context(err, status, "message at byte %" PRIu64, r->position);
  }
  return COLSHUF_OK;
}

/* A refusal by max_memory is the caller's limit, not the machine's. */
static enum colshuf_status explain(struct csf_ipc_reader *r, enum colshuf_status status, struct colshuf_error *err) {
  if (status != COLSHUF_NO_MEMORY || !csf_pool_hit_limit(r->pool)) return status;
  return csf_fail(err, COLSHUF_LIMIT, "the reader's batches would take more than %" PRIu64 " bytes (limits.max_memory)",
                  r->limits.max_memory);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct csf_ipc_reader *r = stream->private_data;
  struct ArrowArray batch = {.release = NULL};
  struct colshuf_error *err = &r->common.err;
  if (r->state == CSF_READER_FAILED) return csf_stream_errno(err->status, err); /* the same answer again */
  enum colshuf_status status = COLSHUF_OK;
  if (r->state == CSF_READER_OPEN) status = r->is_file ? csf_file_next(r, &batch, err) : stream_next(r, &batch, err);
  status = explain(r, status, err);
  if (status != COLSHUF_OK) {
    r->state = CSF_READER_FAILED;
    if (r->name != NULL) csf_fail_context(err, status, "%s", r->name);
    return csf_stream_errno(status, err);
  }
  *out = batch;
  return 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct csf_ipc_reader *r = stream->private_data;
  struct colshuf_error *err = &r->common.err;
  struct colshuf_error fresh;
  struct colshuf_error *place = r->state == CSF_READER_FAILED ? &fresh : err; /* the first failure is the one to be told */
  return csf_stream_errno(csf_field_export(&r->schema->root, &r->allocator, out, place), place);
}

static void free_reader(struct csf_ipc_reader *r) {
  if (r->input.release != NULL) r->input.release(r->input.ctx);
  csf_dictionaries_free(r->dictionaries);
  csf_batch_plan_free(r->plan);
  csf_schema_release(r->schema);
  csf_codec_free(r->codec);
  csf_buffer_clear(&r->metadata);
  csf_buffer_clear(&r->body);
  csf_buffer_clear(&r->footer);
  csf_pool_close(r->pool);
  struct colshuf_allocator allocator = r->allocator;
  csf_free(&allocator, r->name, r->name_size);
  csf_free(&allocator, r, sizeof *r);
}

static void release_stream(struct ArrowArrayStream *stream) {
  free_reader(stream->private_data);
  stream->private_data = NULL;
  stream->release = NULL;
}

/* Streams start with their schema. */
static enum colshuf_status read_schema(struct csf_ipc_reader *r, struct colshuf_error *err) {
  struct csf_message message;
  bool end_marker = false;
  uint64_t framed = 0;
  CSF_TRY(read_message(r, &message, &end_marker, &framed, err));
  if (message.kind == CSF_MESSAGE_END) {
    return csf_fail(err, COLSHUF_CORRUPT, "%s where a schema must stand", end_marker ? "an end marker" : "no data");
  }
  if (message.kind != CSF_MESSAGE_SCHEMA) {
    return csf_fail(err, COLSHUF_CORRUPT, "a %s where a schema must stand",
                    message.kind == CSF_MESSAGE_BATCH ? "record batch" : "dictionary");
  }
  struct csf_schema *schema;
  CSF_TRY(csf_schema_message_read(message.metadata, &r->allocator, &r->limits, &schema, err));
  r->position += framed;
  return csf_ipc_reader_set_schema(r, schema, err);
}

/*
 * Reads the first 8 bytes to see whether they are a file's. An input that cannot go back gets them served again: the reader's input is
 * wrapped for the time of the first message.
 */
struct replay {
  struct colshuf_input input;
  uint8_t bytes[CSF_FILE_HEAD_SIZE];
  size_t size, taken;
};

static int64_t replay_read(void *ctx, void *buffer, size_t size) {
  struct replay *replay = ctx;
  size_t left = replay->size - replay->taken;
  if (left == 0) return replay->input.read(replay->input.ctx, buffer, size);
  if (size > left) size = left;
  memcpy(buffer, replay->bytes + replay->taken, size);
  replay->taken += size;
  return (int64_t)size;
}

/* Also true for a cut of the magic that no stream could start with: its first four bytes are no sane metadata size. */
static bool starts_like_a_file(const uint8_t *head, size_t size) {
  return size >= 4 && memcmp(head, csf_file_magic, size < CSF_MAGIC_SIZE ? size : CSF_MAGIC_SIZE) == 0;
}

static enum colshuf_status open_stream(struct csf_ipc_reader *r, struct colshuf_error *err) {
  struct replay replay = {.input = r->input};
  CSF_TRY(csf_input_read(&r->input, replay.bytes, sizeof replay.bytes, &replay.size, err));
  r->is_inside_file = starts_like_a_file(replay.bytes, replay.size);
  if (r->is_inside_file && replay.size < sizeof replay.bytes) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated: a file that ends after %zu bytes", replay.size);
  }
  if (r->is_inside_file) replay.taken = r->position = sizeof replay.bytes;
  r->input.read = replay_read;
  r->input.ctx = &replay;
  enum colshuf_status status = read_schema(r, err);
  r->input = replay.input;
  if (status != COLSHUF_OK) return csf_fail_context(err, status, "message at byte %" PRIu64, r->position);
  return COLSHUF_OK;
}

/* Bytes of released batches that are kept for the next ones. */
static const uint64_t pool_size = UINT64_C(64) << 20;

static enum colshuf_status open_input(struct csf_ipc_reader *r, struct colshuf_error *err) {
  CSF_TRY(csf_pool_new(&r->allocator, pool_size, r->limits.max_memory, &r->pool, err));
  struct colshuf_allocator pooled = csf_pool_allocator(r->pool);
  csf_buffer_init(&r->body, &pooled);
  CSF_TRY(csf_codec_new(&r->allocator, &r->codec, err));
  if (r->input.read_at == NULL || r->input.size == NULL) return open_stream(r, err);
  int64_t size = r->input.size(r->input.ctx);
  if (size < 0) return csf_fail_errno(err, (int)-size, "asking for the size of the input");
  r->input_size = (uint64_t)size;
  if (size >= CSF_FILE_HEAD_SIZE) {
    CSF_TRY(csf_input_take_at(&r->input, 0, CSF_FILE_HEAD_SIZE, "head", &r->metadata, err));
    r->is_file = starts_like_a_file(r->metadata.data, r->metadata.size);
  }
  return r->is_file ? csf_file_open(r, (uint64_t)size, err) : open_stream(r, err);
}

static struct csf_ipc_reader *new_reader(const struct colshuf_input *input, const struct colshuf_ipc_reader_options *options) {
  static const struct colshuf_ipc_reader_options defaults = {0};
  if (options == NULL) options = &defaults;
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct csf_ipc_reader *r = csf_alloc_zero(&allocator, sizeof *r);
  if (r == NULL) return NULL;
  r->allocator = allocator;
  r->limits = csf_limits(&options->limits);
  r->trust = options->trust;
  r->ignore_trailing = options->ignore_trailing != 0;
  r->input = *input;
  r->input_size = UINT64_MAX;
  csf_buffer_init(&r->metadata, &allocator);
  csf_buffer_init(&r->body, &allocator);
  csf_buffer_init(&r->footer, &allocator);
  return r;
}

static enum colshuf_status open_named(const struct colshuf_input *input, const char *name,
                                      const struct colshuf_ipc_reader_options *options, struct ArrowArrayStream *out,
                                      struct colshuf_error *err) {
  struct csf_ipc_reader *r = new_reader(input, options);
  if (r == NULL) {
    if (input->release != NULL) input->release(input->ctx);
    return csf_fail_memory(err, sizeof *r);
  }
  enum colshuf_status status = COLSHUF_OK;
  if (name != NULL) {
    r->name_size = strlen(name) + 1;
    r->name = csf_alloc(&r->allocator, r->name_size);
    if (r->name == NULL) status = csf_fail_memory(err, r->name_size);
    else memcpy(r->name, name, r->name_size);
  }
  if (status == COLSHUF_OK) status = open_input(r, err);
  if (status != COLSHUF_OK) {
    free_reader(r);
    return name == NULL ? status : csf_fail_context(err, status, "%s", name);
  }
  *out = (struct ArrowArrayStream){get_schema, get_next, csf_stream_last_error, release_stream, r};
  return COLSHUF_OK;
}

enum colshuf_status colshuf_ipc_reader_open(const struct colshuf_input *input, const struct colshuf_ipc_reader_options *options,
                                            struct ArrowArrayStream *out, struct colshuf_error *err) {
  if (input->read == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "an input without read");
  return open_named(input, NULL, options, out, err);
}

enum colshuf_status colshuf_ipc_reader_open_path(const char *path, const struct colshuf_ipc_reader_options *options,
                                                 struct ArrowArrayStream *out, struct colshuf_error *err) {
  struct colshuf_input input;
  CSF_TRY(csf_input_open_path(path, options == NULL ? NULL : &options->allocator, &input, err));
  return open_named(&input, strcmp(path, "-") == 0 ? "standard input" : path, options, out, err);
}
