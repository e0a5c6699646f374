/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf_read: sources become blocks, blocks become batches that wait, and what waits becomes the batches of one stream. */
#include <inttypes.h>

#include "arrow/stream.h"
#include "block/decoder.h"
#include "shuffle/clock.h"
#include "shuffle/coalesce.h"
#include "shuffle/plain_block.h"
#include "shuffle/source.h"

enum { DEFAULT_ROWS = 8192, N_FITS = 4, MOST_COLUMNS = 1 << 20, DEFER_ABOVE = 1 << 16 };
#define DEFAULT_MEMORY (UINT64_C(64) << 20)

struct reader {
  struct csf_stream common; /* first: see arrow/stream.h */
  struct colshuf_allocator allocator;
  struct colshuf_read_options options; /* pointers in it are the reader's own */
  struct csf_arena arena;
  struct colshuf_source *sources;
  int32_t n_sources;
  int32_t next_source;
  bool is_open;              /* source is */
  struct csf_source source;
  struct csf_buffer window;  /* of source */
  struct colshuf_block_decoder *decoder;
  struct csf_plain_reader plain;
  struct csf_read_schema schema; /* announced NULL = not known yet */
  struct csf_waiting waiting;
  struct csf_block_fit *fits[N_FITS]; /* of the schemas met last */
  uint64_t memory_limit;
  bool ended;                /* no more blocks */
  enum colshuf_status failed; /* told when what waits has been handed out, and ever after */
  struct colshuf_read_metrics *metrics;
  struct colshuf_read_metrics own_metrics;
};

static void release_inputs(const struct colshuf_source *sources, int32_t first, int32_t n) {
  for (int32_t i = first; i < n; i++) {
    bool is_input = sources[i].data_path == NULL && sources[i].bytes == NULL;
    if (is_input && sources[i].input.release != NULL) sources[i].input.release(sources[i].input.ctx);
  }
}

static void free_reader(struct reader *r) {
  csf_waiting_clear(&r->waiting);
  for (int i = 0; i < N_FITS; i++) csf_block_fit_release(&r->schema, r->fits[i]);
  csf_read_schema_clear(&r->schema);
  csf_plain_reader_clear(&r->plain);
  colshuf_block_decoder_free(r->decoder);
  if (r->is_open) csf_source_close(&r->source);
  csf_buffer_clear(&r->window);
  if (r->sources != NULL) release_inputs(r->sources, r->next_source, r->n_sources);
  csf_arena_clear(&r->arena);
  struct colshuf_allocator allocator = r->allocator;
  csf_free(&allocator, r, sizeof *r);
}

static bool is_cancelled(const struct reader *r) {
  return r->options.cancelled != NULL && __atomic_load_n(r->options.cancelled, __ATOMIC_RELAXED) != 0;
}

/*
 * A block that is as large as the whole limit is let through where nobody asked for a limit: blocks cannot be read in parts. A
 * quarter of the limit is for reading ahead, a quarter for what waits; the rest is for the block being decoded and what is made.
 */
static enum colshuf_status open_source(struct reader *r, struct colshuf_error *err) {
  struct csf_source_options options = {.allocator = r->allocator, .window = &r->window, .verify_checksums = r->options.verify_checksums != 0};
  options.defer_above = DEFER_ABOVE;
  if (r->memory_limit / 4 < (1u << 20)) options.read_ahead = (size_t)(r->memory_limit / 4 + 1);
  if (r->options.memory_limit != 0) options.max_block_size = r->memory_limit;
  const struct colshuf_source *spec = &r->sources[r->next_source++];
  CSF_TRY(csf_source_open(&r->source, spec, &options, err));
  r->is_open = true;
  r->metrics->sources++;
  return COLSHUF_OK;
}

/* The next block of whatever source; size 0 = there is none any more. */
static enum colshuf_status fetch_block(struct reader *r, struct csf_source_block *block, struct colshuf_error *err) {
  for (;;) {
    if (!r->is_open) {
      block->size = 0;
      if (r->next_source == r->n_sources) return COLSHUF_OK;
      CSF_TRY(open_source(r, err));
    }
    enum colshuf_status status = csf_source_next(&r->source, block, err);
    if (status == COLSHUF_OK && block->size > 0) return COLSHUF_OK;
    if (status == COLSHUF_OK) {
      csf_source_close(&r->source);
      r->is_open = false;
    } else if (status == COLSHUF_CORRUPT && r->options.skip_corrupt && !r->source.mismatched) {
      r->metrics->skipped_blocks++;
      csf_source_skip(&r->source);
    } else {
      return csf_source_fail_context(&r->source, block, status, err);
    }
  }
}

static enum colshuf_status set_schema(struct reader *r, struct csf_schema *reference, bool is_expected, struct colshuf_error *err) {
  struct csf_read_columns wanted = {r->options.columns, r->options.n_columns};
  bool keep = r->options.keep_dictionaries != 0;
  CSF_TRY(csf_read_schema_init(&r->schema, reference, is_expected, keep, &wanted, &r->allocator, err));
  r->waiting.schema = &r->schema;
  return COLSHUF_OK;
}

/* How blocks of this schema fit: known for the last few. *out is one more reference. */
static enum colshuf_status find_fit(struct reader *r, struct csf_schema *found, struct csf_block_fit **out, struct colshuf_error *err) {
  int i = 0;
  while (i < N_FITS - 1 && r->fits[i] != NULL && r->fits[i]->schema != found) i++;
  struct csf_block_fit *fit = r->fits[i];
  if (fit == NULL || fit->schema != found) {
    CSF_TRY(csf_block_fit_new(&r->schema, found, &fit, err));
    csf_block_fit_release(&r->schema, r->fits[i]);
  }
  memmove(&r->fits[1], &r->fits[0], (size_t)i * sizeof fit); /* the one used last comes first */
  r->fits[0] = fit;
  fit->references++;
  *out = fit;
  return COLSHUF_OK;
}

static enum colshuf_status keep_batch(struct reader *r, struct ArrowArray *batch, bool is_borrowed, struct colshuf_error *err) {
  struct csf_schema *found = csf_block_decoder_schema(r->decoder);
  if (r->schema.announced == NULL) CSF_TRY(set_schema(r, found, false, err));
  struct csf_block_fit *fit;
  CSF_TRY(find_fit(r, found, &fit, err));
  r->metrics->rows += (uint64_t)batch->length;
  enum colshuf_status status = csf_waiting_add(&r->waiting, batch, fit, is_borrowed, err);
  if (status != COLSHUF_OK) csf_block_fit_release(&r->schema, fit);
  return status;
}

/* owner NULL: what the batch needs of data is copied. */
static enum colshuf_status decode_bytes(struct reader *r, const uint8_t *data, size_t size, const struct colshuf_bytes_owner *owner,
                                        bool is_borrowed, struct colshuf_error *err) {
  struct ArrowArray batch;
  size_t consumed;
  CSF_TRY(colshuf_block_decoder_decode(r->decoder, data, size, owner, &consumed, NULL, &batch, err));
  enum colshuf_status status = keep_batch(r, &batch, is_borrowed, err);
  if (batch.release != NULL) batch.release(&batch);
  return status;
}

/* A batch of a few of its columns must not keep all of the block in memory: those are copied when they are handed out. */
static enum colshuf_status decode_deferred(struct reader *r, const struct csf_source_block *block, struct colshuf_error *err) {
  const uint8_t *data;
  struct colshuf_bytes_owner owner;
  CSF_TRY(csf_plain_read(&r->plain, &r->source, block, &data, &owner, err));
  enum colshuf_status status = decode_bytes(r, data, block->size, &owner, r->options.columns != NULL, err);
  if (status == COLSHUF_OK) status = csf_plain_remember(&r->plain, data, block->size, csf_block_decoder_schema(r->decoder), err);
  owner.release(owner.ctx);
  return status;
}

static void keep_bytes(void *ctx) {
  (void)ctx; /* the caller does until the stream is released, and nothing borrowed is handed out */
}

static enum colshuf_status decode_block(struct reader *r, const struct csf_source_block *block, struct colshuf_error *err) {
  static const struct colshuf_bytes_owner caller = {.retain = keep_bytes, .release = keep_bytes};
  if (block->data == NULL) return decode_deferred(r, block, err);
  /* Small blocks will be joined, that is copied: no need to do so twice. */
  bool is_borrowed = r->source.bytes != NULL && block->size <= DEFER_ABOVE;
  return decode_bytes(r, block->data, block->size, is_borrowed ? &caller : NULL, is_borrowed, err);
}

/* One block more waits, or r->ended. */
static enum colshuf_status read_block(struct reader *r, struct colshuf_error *err) {
  struct csf_source_block block;
  uint64_t start = csf_now_ns();
  if (is_cancelled(r)) return csf_fail(err, COLSHUF_CANCELLED, "reading was cancelled");
  CSF_TRY(fetch_block(r, &block, err));
  uint64_t fetched = csf_now_ns();
  r->metrics->fetch_ns += fetched - start;
  r->ended = block.size == 0;
  if (r->ended) return COLSHUF_OK;
  r->metrics->blocks++;
  r->metrics->bytes += block.size;
  enum colshuf_status status = decode_block(r, &block, err);
  r->metrics->decode_ns += csf_now_ns() - fetched;
  if (status == COLSHUF_OK) return COLSHUF_OK;
  if (status == COLSHUF_CORRUPT && r->options.skip_corrupt) {
    r->metrics->skipped_blocks++;
    csf_source_forgive(&r->source);
    return COLSHUF_OK;
  }
  return csf_source_fail_context(&r->source, &block, status, err);
}

/* Reads until enough waits to be handed out. A failure waits as well, behind the rows that came before it. */
static void read_blocks(struct reader *r, int64_t n_rows) {
  while (!r->ended && r->failed == COLSHUF_OK && r->waiting.n_rows < n_rows && r->waiting.n_bytes < r->memory_limit / 4) {
    r->failed = read_block(r, &r->common.err);
  }
}

/* Without any block the stream has no columns. */
static enum colshuf_status know_schema(struct reader *r) {
  while (r->schema.announced == NULL && !r->ended && r->failed == COLSHUF_OK) r->failed = read_block(r, &r->common.err);
  if (r->schema.announced != NULL) return COLSHUF_OK;
  if (r->failed != COLSHUF_OK) return r->failed;
  struct csf_schema *none = csf_schema_new(&r->allocator);
  if (none == NULL) return csf_fail_memory(&r->common.err, sizeof *none);
  r->options.columns = NULL; /* of no columns all are wanted */
  enum colshuf_status status = csf_schema_finish(none, NULL, &r->common.err);
  if (status == COLSHUF_OK) status = set_schema(r, none, true, &r->common.err);
  csf_schema_release(none);
  return status;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct reader *r = stream->private_data;
  enum colshuf_status status = know_schema(r);
  if (status == COLSHUF_OK) status = csf_field_export(&r->schema.announced->root, &r->allocator, out, &r->common.err);
  return csf_stream_errno(status, &r->common.err);
}

static enum colshuf_status next_batch(struct reader *r, struct ArrowArray *out) {
  CSF_TRY(know_schema(r));
  read_blocks(r, r->options.target_rows > 0 ? r->options.target_rows : DEFAULT_ROWS);
  *out = (struct ArrowArray){0};
  if (r->waiting.n == 0) return r->failed;
  struct colshuf_error err = {0};
  uint64_t start = csf_now_ns();
  enum colshuf_status status = csf_waiting_emit(&r->waiting, out, &err);
  r->metrics->coalesce_ns += csf_now_ns() - start;
  if (status == COLSHUF_OK) return COLSHUF_OK;
  csf_waiting_clear(&r->waiting);
  r->ended = true;
  r->common.err = err;
  r->failed = status;
  return status;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct reader *r = stream->private_data;
  return csf_stream_errno(next_batch(r, out), &r->common.err);
}

static void release_stream(struct ArrowArrayStream *stream) {
  free_reader(stream->private_data);
  stream->private_data = NULL;
  stream->release = NULL;
}

static enum colshuf_status copy_path(struct reader *r, const char **path, struct colshuf_error *err) {
  if (*path == NULL) return COLSHUF_OK;
  char *copy = csf_arena_string(&r->arena, *path, strlen(*path));
  if (copy == NULL) return csf_fail_memory(err, strlen(*path));
  *path = copy;
  return COLSHUF_OK;
}

/* From here on the inputs of sources are the reader's. */
static enum colshuf_status copy_sources(struct reader *r, const struct colshuf_source *sources, int32_t n, struct colshuf_error *err) {
  struct colshuf_source *copies = csf_arena_alloc(&r->arena, (size_t)n * sizeof *copies);
  if (copies == NULL) return csf_fail_memory(err, (size_t)n * sizeof *copies);
  if (n > 0) memcpy(copies, sources, (size_t)n * sizeof *copies);
  for (int32_t i = 0; i < n; i++) {
    CSF_TRY(copy_path(r, &copies[i].data_path, err));
    CSF_TRY(copy_path(r, &copies[i].index_path, err));
  }
  r->sources = copies;
  r->n_sources = n;
  return COLSHUF_OK;
}

static enum colshuf_status copy_columns(struct reader *r, struct colshuf_error *err) {
  if (r->options.columns == NULL || r->options.n_columns <= 0) return COLSHUF_OK;
  size_t size = (size_t)r->options.n_columns * sizeof *r->options.columns;
  int32_t *columns = csf_arena_alloc(&r->arena, size);
  if (columns == NULL) return csf_fail_memory(err, size);
  memcpy(columns, r->options.columns, size);
  r->options.columns = columns;
  return COLSHUF_OK;
}

/* What is not asked for is not decoded. A bad column number is told later, when it is known how many there are. */
static enum colshuf_status project(struct reader *r, struct colshuf_error *err) {
  int32_t n = 0;
  if (r->options.columns == NULL) return COLSHUF_OK;
  for (int32_t c = 0; c < r->options.n_columns; c++) {
    int32_t column = r->options.columns[c];
    if (column < 0 || column >= MOST_COLUMNS) return COLSHUF_OK;
    if (column >= n) n = column + 1;
  }
  uint8_t *wanted = csf_arena_alloc(&r->arena, (size_t)n);
  if (wanted == NULL) return csf_fail_memory(err, (size_t)n);
  for (int32_t c = 0; c < r->options.n_columns; c++) wanted[r->options.columns[c]] = 1;
  r->plain.columns = (struct csf_column_set){wanted, n};
  csf_block_decoder_project(r->decoder, wanted, n);
  return COLSHUF_OK;
}

static enum colshuf_status expect_schema(struct reader *r, struct colshuf_error *err) {
  if (r->options.expected_schema == NULL) return COLSHUF_OK;
  struct csf_schema *expected;
  CSF_TRY(csf_schema_import(r->options.expected_schema, &r->allocator, &r->options.limits, &expected, err));
  r->options.expected_schema = NULL; /* the caller's */
  enum colshuf_status status = set_schema(r, expected, true, err);
  csf_schema_release(expected);
  return status;
}

static enum colshuf_status build(struct reader *r, const struct colshuf_source *sources, int32_t n_sources, struct colshuf_error *err) {
  struct colshuf_block_decoder_options decoder = {.allocator = r->allocator, .trust = r->options.trust, .limits = r->options.limits};
  decoder.pool_size = r->memory_limit / 4;
  CSF_TRY(copy_columns(r, err));
  CSF_TRY(expect_schema(r, err));
  CSF_TRY(colshuf_block_decoder_new(&decoder, &r->decoder, err));
  r->waiting.allocator = csf_block_decoder_allocator(r->decoder);
  csf_plain_reader_init(&r->plain, &r->waiting.allocator, (struct csf_column_set){0});
  CSF_TRY(project(r, err));
  return copy_sources(r, sources, n_sources, err);
}

static struct reader *new_reader(const struct colshuf_read_options *options, struct colshuf_read_metrics *metrics) {
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct reader *r = csf_alloc_zero(&allocator, sizeof *r);
  if (r == NULL) return NULL;
  r->allocator = allocator;
  r->options = *options;
  r->schema.allocator = allocator;
  r->memory_limit = options->memory_limit != 0 ? options->memory_limit : DEFAULT_MEMORY;
  r->metrics = metrics != NULL ? metrics : &r->own_metrics;
  *r->metrics = (struct colshuf_read_metrics){0};
  csf_arena_init(&r->arena, &allocator);
  csf_buffer_init(&r->window, &allocator);
  return r;
}

static enum colshuf_status open_reader(const struct colshuf_source *sources, int32_t n_sources, const struct colshuf_read_options *options,
                                       struct colshuf_read_metrics *metrics, struct reader **out, struct colshuf_error *err) {
  if (n_sources < 0 || (n_sources > 0 && sources == NULL)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " sources at %p", n_sources, (const void *)sources);
  }
  struct reader *r = new_reader(options, metrics);
  if (r == NULL) return csf_fail_memory(err, sizeof *r);
  enum colshuf_status status = build(r, sources, n_sources, err);
  if (status != COLSHUF_OK) {
    free_reader(r);
    return status;
  }
  *out = r;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_read(const struct colshuf_source *sources, int32_t n_sources, const struct colshuf_read_options *options,
                                 struct colshuf_read_metrics *metrics, struct ArrowArrayStream *out, struct colshuf_error *err) {
  static const struct colshuf_read_options defaults = {0};
  struct reader *r;
  enum colshuf_status status = open_reader(sources, n_sources, options != NULL ? options : &defaults, metrics, &r, err);
  if (status != COLSHUF_OK) {
    release_inputs(sources, 0, n_sources);
    return status;
  }
  *out = (struct ArrowArrayStream){.get_schema = get_schema, .get_next = get_next, .get_last_error = csf_stream_last_error,
                                   .release = release_stream, .private_data = r};
  return COLSHUF_OK;
}
