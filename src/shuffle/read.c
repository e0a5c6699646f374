/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf_read: sources become blocks, blocks become batches that wait, and what waits becomes the batches of one stream. */
#include <inttypes.h>

#include "block/decoder.h"
#include "ipc/limits.h"
#include "shuffle/clock.h"
#include "shuffle/reader.h"

enum { DEFAULT_ROWS = 8192, MOST_COLUMNS = 1 << 20, MOST_AHEAD = 1 << 20 };
#define DEFAULT_MEMORY (UINT64_C(64) << 20)

static void release_inputs(const struct colshuf_source *sources, int32_t first, int32_t n) {
  for (int32_t i = first; i < n; i++) {
    bool is_input = sources[i].data_path == NULL && sources[i].bytes == NULL;
    if (is_input && sources[i].input.release != NULL) sources[i].input.release(sources[i].input.ctx);
  }
}

static void free_reader(struct csf_reader *r) {
  csf_ahead_free(r->ahead);
  csf_arrival_free(r->arrival);
  csf_waiting_clear(&r->waiting);
  for (int i = 0; i < CSF_READ_FITS; i++) csf_block_fit_release(&r->schema, r->fits[i]);
  csf_read_schema_clear(&r->schema);
  csf_fetcher_clear(&r->fetcher);
  colshuf_block_decoder_free(r->decoder);
  if (r->list.sources != NULL) release_inputs(r->list.sources, r->list.next, r->list.n);
  csf_arena_clear(&r->arena);
  struct colshuf_allocator allocator = r->allocator;
  csf_free(&allocator, r, sizeof *r);
}

/* One block is let through whatever the limit is: nothing to hand out would be taken for the end. */
static bool is_enough(const struct csf_reader *r) {
  const struct csf_waiting *waiting = &r->waiting;
  return csf_waiting_any(waiting) && (waiting->n_rows >= r->options.target_rows || waiting->n_bytes >= r->memory_limit / 4);
}

/* Reads until enough waits to be handed out. A failure waits as well, behind the rows that came before it. */
static void read_blocks(struct csf_reader *r) {
  while (!r->ended && r->failed == COLSHUF_OK && !is_enough(r)) r->failed = csf_reader_read_block(r, &r->failure);
}

static enum colshuf_status tell_failure(struct csf_reader *r) {
  if (r->failed != COLSHUF_OK) r->common.err = r->failure;
  return r->failed;
}

/* Without any block the stream has no columns. */
static enum colshuf_status know_schema(struct csf_reader *r) {
  while (r->schema.announced == NULL && !r->ended && r->failed == COLSHUF_OK)
    r->failed = csf_reader_read_block(r, &r->failure);
  if (r->schema.announced != NULL) return COLSHUF_OK;
  if (r->failed != COLSHUF_OK) return tell_failure(r);
  struct csf_schema *none = csf_schema_new(&r->allocator);
  if (none == NULL) return csf_fail_memory(&r->common.err, sizeof *none);
  r->options.columns = NULL; /* of no columns all are wanted */
  enum colshuf_status status = csf_schema_finish(none, NULL, &r->common.err);
  if (status == COLSHUF_OK) status = csf_reader_set_schema(r, none, true, &r->common.err);
  csf_schema_release(none);
  return status;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct csf_reader *r = stream->private_data;
  enum colshuf_status status = know_schema(r);
  if (status == COLSHUF_OK) status = csf_field_export(&r->schema.announced->root, &r->allocator, out, &r->common.err);
  return csf_stream_errno(status, &r->common.err);
}

static enum colshuf_status next_batch(struct csf_reader *r, struct ArrowArray *out) {
  CSF_TRY(know_schema(r));
  read_blocks(r);
  *out = (struct ArrowArray){0};
  if (!csf_waiting_any(&r->waiting)) return tell_failure(r);
  struct colshuf_error err = {0};
  uint64_t start = csf_now_ns();
  enum colshuf_status status = csf_waiting_emit(&r->waiting, out, &err);
  r->metrics->coalesce_ns += csf_now_ns() - start;
  if (status == COLSHUF_OK) return COLSHUF_OK;
  csf_waiting_clear(&r->waiting);
  r->ended = true;
  r->failure = err;
  r->failed = status;
  return tell_failure(r);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct csf_reader *r = stream->private_data;
  return csf_stream_errno(next_batch(r, out), &r->common.err);
}

static void release_stream(struct ArrowArrayStream *stream) {
  free_reader(stream->private_data);
  stream->private_data = NULL;
  stream->release = NULL;
}

static enum colshuf_status copy_path(struct csf_reader *r, const char **path, struct colshuf_error *err) {
  if (*path == NULL) return COLSHUF_OK;
  char *copy = csf_arena_string(&r->arena, *path, strlen(*path));
  if (copy == NULL) return csf_fail_memory(err, strlen(*path));
  *path = copy;
  return COLSHUF_OK;
}

/* From here on the inputs of sources are the reader's. */
static enum colshuf_status copy_sources(struct csf_reader *r, const struct colshuf_source *sources, int32_t n,
                                        struct colshuf_error *err) {
  struct colshuf_source *copies = csf_arena_alloc(&r->arena, (size_t)n * sizeof *copies);
  if (copies == NULL) return csf_fail_memory(err, (size_t)n * sizeof *copies);
  if (n > 0) memcpy(copies, sources, (size_t)n * sizeof *copies);
  for (int32_t i = 0; i < n; i++) {
    CSF_TRY(copy_path(r, &copies[i].data_path, err));
    CSF_TRY(copy_path(r, &copies[i].index_path, err));
  }
  r->list.sources = copies;
  r->list.n = n;
  return COLSHUF_OK;
}

static enum colshuf_status copy_columns(struct csf_reader *r, struct colshuf_error *err) {
  if (r->options.columns == NULL || r->options.n_columns <= 0) return COLSHUF_OK;
  size_t size = (size_t)r->options.n_columns * sizeof *r->options.columns;
  int32_t *columns = csf_arena_alloc(&r->arena, size);
  if (columns == NULL) return csf_fail_memory(err, size);
  memcpy(columns, r->options.columns, size);
  r->options.columns = columns;
  return COLSHUF_OK;
}

/* What is not asked for is not decoded. A bad column number is told later, when it is known how many there are. */
static enum colshuf_status project(struct csf_reader *r, struct colshuf_error *err) {
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
  r->wanted = (struct csf_column_set){wanted, n};
  csf_block_decoder_project(r->decoder, wanted, n);
  return COLSHUF_OK;
}

static enum colshuf_status expect_schema(struct csf_reader *r, struct colshuf_error *err) {
  if (r->options.expected_schema == NULL) return COLSHUF_OK;
  struct csf_schema *expected;
  CSF_TRY(csf_schema_import(r->options.expected_schema, &r->allocator, &r->options.limits, &expected, err));
  r->options.expected_schema = NULL; /* the caller's */
  enum colshuf_status status = csf_reader_set_schema(r, expected, true, err);
  csf_schema_release(expected);
  return status;
}

/* Room for all that can wait, and for unpacking it to as much again as a block may be: dictionaries can mean any amount. */
static uint64_t most_made(const struct csf_reader *r) {
  uint64_t most, block = csf_limit_decompressed_size(&r->options.limits);
  if (csf_add_overflow(block, r->memory_limit, &most) || csf_multiply_overflow(most, UINT64_C(2), &most)) return UINT64_MAX;
  return most;
}

/*
 * A block that is as large as the whole limit is let through where nobody asked for a limit: blocks cannot be read in parts. A
 * quarter of the limit is for reading ahead, a quarter for what waits; the rest is for the block being decoded and what is
 * made.
 */
static void bound_fetching(struct csf_reader *r) {
  int n_fetchers = r->options.any_order && r->options.threads > 0 ? r->options.threads : 1;
  uint64_t ahead = r->memory_limit / 4 / (uint64_t)n_fetchers;
  if (ahead < MOST_AHEAD) r->fetcher.read_ahead = (size_t)ahead + 1;
  r->fetcher.max_block_size = r->options.memory_limit;
}

/* Others decode, or fetch and decode, where that is wanted. */
static enum colshuf_status build_threads(struct csf_reader *r, const struct colshuf_block_decoder_options *decoder,
                                         struct colshuf_error *err) {
  if (r->options.threads <= 0) return COLSHUF_OK;
  if (r->options.any_order) {
    return csf_arrival_new(r->options.threads, &r->fetcher, decoder, r->wanted, r->memory_limit / 4, &r->arrival, err);
  }
  /* Which block spoiled the checksum of a partition is known in time only when whoever fetches decodes. */
  if (r->options.skip_corrupt && r->options.verify_checksums) return COLSHUF_OK;
  r->fetcher.is_handed_on = true;
  return csf_ahead_new(r->options.threads, decoder, r->wanted, r->memory_limit / 4, &r->ahead, err);
}

static enum colshuf_status build(struct csf_reader *r, const struct colshuf_source *sources, int32_t n_sources,
                                 struct colshuf_error *err) {
  struct colshuf_block_decoder_options decoder = {
      .allocator = r->allocator, .trust = csf_trust_to_copy(r->options.trust), .limits = r->options.limits};
  int n_decoders = 1 + (r->options.threads > 0 ? r->options.threads : 0);
  decoder.pool_size = r->memory_limit / 4 / (uint64_t)n_decoders + 1;
  uint64_t most = r->options.memory_limit, *wanted = &decoder.limits.max_decompressed_size;
  if (most != 0 && (*wanted == 0 || *wanted > most)) *wanted = most;
  CSF_TRY(copy_columns(r, err));
  CSF_TRY(colshuf_block_decoder_new(&decoder, &r->decoder, err));
  r->waiting.allocator = csf_block_decoder_allocator(r->decoder); /* before there is a schema: what grows has it from here */
  r->waiting.max_made = most_made(r);
  CSF_TRY(expect_schema(r, err));
  CSF_TRY(project(r, err));
  bound_fetching(r);
  csf_fetcher_init(&r->fetcher, &r->waiting.allocator, r->wanted);
  CSF_TRY(build_threads(r, &decoder, err));
  CSF_TRY(copy_sources(r, sources, n_sources, err));
  if (r->arrival != NULL) csf_arrival_start(r->arrival);
  return COLSHUF_OK;
}

static struct csf_reader *new_reader(const struct colshuf_read_options *options, struct colshuf_read_metrics *metrics) {
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct csf_reader *r = csf_alloc_zero(&allocator, sizeof *r);
  if (r == NULL) return NULL;
  r->allocator = allocator;
  r->options = *options;
  r->options.allocator = allocator;
  if (r->options.threads > CSF_MOST_THREADS) r->options.threads = CSF_MOST_THREADS;
  if (r->options.target_rows <= 0) r->options.target_rows = DEFAULT_ROWS;
  r->schema.allocator = allocator;
  r->memory_limit = options->memory_limit != 0 ? options->memory_limit : DEFAULT_MEMORY;
  r->metrics = metrics != NULL ? metrics : &r->own_metrics;
  *r->metrics = (struct colshuf_read_metrics){0};
  csf_arena_init(&r->arena, &allocator);
  r->fetcher = (struct csf_fetcher){.list = &r->list, .options = &r->options};
  return r;
}

static enum colshuf_status open_reader(const struct colshuf_source *sources, int32_t n_sources,
                                       const struct colshuf_read_options *options, struct colshuf_read_metrics *metrics,
                                       struct csf_reader **out, struct colshuf_error *err) {
  if (n_sources < 0 || (n_sources > 0 && sources == NULL)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " sources at %p", n_sources, (const void *)sources);
  }
  struct csf_reader *r = new_reader(options, metrics);
  if (r == NULL) return csf_fail_memory(err, sizeof *r);
  enum colshuf_status status = build(r, sources, n_sources, err);
  if (status != COLSHUF_OK) {
    free_reader(r);
    return status;
  }
  *out = r;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_read(const struct colshuf_source *sources, int32_t n_sources,
                                 const struct colshuf_read_options *options, struct colshuf_read_metrics *metrics,
                                 struct ArrowArrayStream *out, struct colshuf_error *err) {
  static const struct colshuf_read_options defaults = {0};
  struct csf_reader *r;
  enum colshuf_status status = open_reader(sources, n_sources, options != NULL ? options : &defaults, metrics, &r, err);
  if (status != COLSHUF_OK) {
    if (sources != NULL) release_inputs(sources, 0, n_sources);
    return status;
  }
  *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                   .get_next = get_next,
                                   .get_last_error = csf_stream_last_error,
                                   .release = release_stream,
                                   .private_data = r};
  return COLSHUF_OK;
}
