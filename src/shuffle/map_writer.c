/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer from outside: made, asked, committed, freed. */
#include "shuffle/map_writer.h"

#include <inttypes.h>

#include "arrow/array.h"
#include "shuffle/clock.h"

static const uint64_t DEFAULT_MEMORY_LIMIT = (uint64_t)256 << 20;
static const uint64_t DEFAULT_BLOCK_SIZE = (uint64_t)1 << 20;

/* What temporary files gather before they write, data and spill. */
enum { FILE_BUFFERS = 2 << 16 };

static const uint64_t LEAST_TO_GROUP = (uint64_t)8 << 20;

/* Of a data file that runs are copied to: csf_temp_copy. */
static const uint64_t MOST_GATHERED = (uint64_t)256 << 10;

/* Of a large limit, an eighth would be more than all scratch together. */
static const uint64_t MOST_HELD_BACK = (uint64_t)32 << 20;

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* A guess before the first row: what has no width of its own counts as a short string. */
static uint64_t usual_row_bytes(const struct csf_field *root) {
  uint64_t bytes = 1;
  for (int32_t i = 0; i < root->n_children; i++) {
    bytes += root->children[i].layout == CSF_LAYOUT_FIXED ? (uint64_t)root->children[i].width : 16;
  }
  return bytes;
}

/*
 * Into how many groups of partitions a stock is cut. More of them give memory back sooner while a stock is written in the background; but each
 * has an area that is not full, and of each piece a chunk, which must not be mostly its own description. Where rows are likely to be spilled
 * as rows, nothing goes on in the background.
 */
static int32_t choose_groups(const struct colshuf_map_writer *writer) {
  uint64_t limit = writer->budget.limit, n_partitions = (uint64_t)writer->n_partitions;
  if (limit < LEAST_TO_GROUP || limit / n_partitions < writer->sizes.small_block) return 1;
  uint64_t n = CSF_GROUPS, description = csf_array_tree_size(&writer->schema->root);
  while (n > 1 && (n > n_partitions || n * description > writer->sizes.piece_bytes / 32)) n /= 2;
  return (int32_t)n;
}

/*
 * Everything is a share of the limit, within bounds that measurements gave: a block in the making, its encoded form and the
 * piece being routed must all fit beside the rows that wait.
 */
static void choose_sizes(struct colshuf_map_writer *writer, const struct colshuf_map_writer_options *options) {
  uint64_t limit = writer->budget.limit;
  uint64_t block = options->block_size == 0 ? DEFAULT_BLOCK_SIZE : options->block_size;
  struct csf_map_sizes *sizes = &writer->sizes;
  sizes->block_bytes = clamp(block, 1, clamp(limit / 32, 1 << 12, UINT64_MAX));
  sizes->block_rows = options->block_rows > 0 ? options->block_rows : INT64_MAX;
  sizes->small_block = clamp(sizes->block_bytes / 4, 0, 32 << 10);
  sizes->group_bytes = clamp(sizes->block_bytes, 0, 256 << 10);
  sizes->block_values = csf_columns_max_values(&writer->schema->root);
  sizes->piece_rows = 1 << 16;
  sizes->gather_rows = (int64_t)clamp((uint64_t)writer->n_partitions * 32, 4096, (uint64_t)sizes->piece_rows);
  /* Usually 4 MiB; more where rows are wide or partitions many, so that some rows of a piece go to each partition. */
  sizes->piece_bytes = clamp((uint64_t)sizes->gather_rows * usual_row_bytes(&writer->schema->root),
                             clamp(limit / 32, 1 << 14, 4 << 20), clamp(limit / 16, 1 << 14, 16 << 20));
  sizes->ids_rows = (int64_t)clamp(limit / 256, 1 << 12, 1 << 20);
  sizes->n_groups = choose_groups(writer);
  sizes->area_bytes = clamp(limit / 16 / (uint64_t)sizes->n_groups, 1 << 14, 4 << 20);
}

/* What a compression context may take beyond its input and output: an upper bound by level, blocks being some MiB at most. */
static uint64_t codec_memory(const struct colshuf_block_encoder_options *options) {
  if (options->codec == COLSHUF_ZSTD) {
    int level = options->level == 0 ? 1 : options->level;
    return (uint64_t)(level <= 2 ? 2 : level <= 6 ? 6 : level <= 12 ? 24 : 64) << 20;
  }
  return options->level > 1 ? 512 << 10 : 64 << 10;
}

static uint64_t table_size(const struct colshuf_map_writer *writer) {
  return (uint64_t)writer->n_partitions * (sizeof(uint64_t) + sizeof(uint32_t));
}

static enum colshuf_status check_options(const struct ArrowSchema *schema, const struct colshuf_map_writer_options *options,
                                         struct colshuf_error *err) {
  if (schema == NULL || options == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a map writer needs a schema and options");
  if (options->output == NULL && options->sink.emit == NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a map writer needs an output or a sink");
  }
  if (options->block_rows < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "block_rows is %" PRId64 ", below 0", options->block_rows);
  }
  CSF_TRY(csf_checksum_check(options->checksum, err));
  if (options->partitioner.n_partitions < 1) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " partitions: at least 1", options->partitioner.n_partitions);
  }
  if (options->compress_threads < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%d threads to compress with", options->compress_threads);
  }
  if (options->n_spill_dirs < 0 || (options->n_spill_dirs > 0 && options->spill_dirs == NULL)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " spill folders without their names", options->n_spill_dirs);
  }
  return COLSHUF_OK;
}

static enum colshuf_status copy_text(struct colshuf_map_writer *writer, const char *text, size_t size, char **out,
                                     struct colshuf_error *err) {
  *out = csf_alloc(&writer->budget.allocator, size + 1);
  if (*out == NULL) return csf_fail_memory(err, size + 1);
  memcpy(*out, text, size);
  (*out)[size] = 0;
  return COLSHUF_OK;
}

static void free_text(struct colshuf_map_writer *writer, char *text) {
  if (text != NULL) csf_free(&writer->budget.allocator, text, strlen(text) + 1);
}

static enum colshuf_status find_output(struct colshuf_map_writer *writer, const char *output, struct colshuf_error *err) {
  CSF_TRY(copy_text(writer, output, strlen(output), &writer->output, err));
  return csf_output_place(writer->output, &writer->budget.allocator, &writer->place, err);
}

static enum colshuf_status copy_spill_directories(struct colshuf_map_writer *writer, const char *const *directories, int32_t n,
                                                  struct colshuf_error *err) {
  if (n == 0) {
    directories = (const char *const *)&writer->place.directory;
    n = 1;
  }
  writer->spill_directories = csf_alloc_zero(&writer->budget.allocator, (size_t)n * sizeof(char *));
  if (writer->spill_directories == NULL) return csf_fail_memory(err, (size_t)n * sizeof(char *));
  writer->n_spill_directories = n;
  for (int32_t i = 0; i < n; i++) {
    CSF_TRY(copy_text(writer, directories[i], strlen(directories[i]), &writer->spill_directories[i], err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status set_places(struct colshuf_map_writer *writer, const struct colshuf_map_writer_options *options,
                                      struct colshuf_error *err) {
  writer->data.fd = -1;
  if (options->sink.emit != NULL) return COLSHUF_OK;
  CSF_TRY(find_output(writer, options->output, err));
  CSF_TRY(copy_spill_directories(writer, options->spill_dirs, options->n_spill_dirs, err));
  csf_spills_init(&writer->spills, &writer->budget.allocator, (const char *const *)writer->spill_directories,
                  writer->n_spill_directories, writer->place.name);
  csf_spills_init(&writer->rows, &writer->budget.allocator, (const char *const *)writer->spill_directories,
                  writer->n_spill_directories, writer->place.name);
  return COLSHUF_OK;
}

static enum colshuf_status make_schema(struct colshuf_map_writer *writer, const struct ArrowSchema *schema,
                                       const struct colshuf_map_writer_options *options, struct colshuf_error *err) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  CSF_TRY(csf_schema_import(schema, allocator, NULL, &writer->schema, err));
  CSF_TRY(csf_field_export(&writer->schema->root, allocator, &writer->exported, err));
  struct colshuf_partitioner_options partitioner = options->partitioner;
  partitioner.allocator = *allocator;
  CSF_TRY(colshuf_partitioner_new(&writer->exported, &partitioner, &writer->partitioner, err));
  writer->encoder_options = options->encoder;
  writer->encoder_options.allocator = *allocator;
  return COLSHUF_OK;
}

static void init_buffers(struct colshuf_map_writer *writer) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  for (int32_t stock = 0; stock < 2; stock++) {
    writer->stocks[stock].first_list = stock * CSF_GROUPS;
    for (int32_t group = 0; group < CSF_GROUPS; group++) csf_buffer_init(&writer->stocks[stock].chunks[group], allocator);
  }
  writer->filled = writer->written = &writer->stocks[0];
  csf_buffer_init(&writer->all_chunks, allocator);
  csf_buffer_init(&writer->pending_ids, allocator);
  csf_buffer_init(&writer->ids, allocator);
  csf_buffer_init(&writer->slices, allocator);
  csf_buffer_init(&writer->planned, allocator);
  csf_buffer_init(&writer->segment, allocator);
  csf_sources_init(&writer->sources, &writer->schema->root, allocator);
  csf_order_init(&writer->order, allocator);
  csf_areas_init(&writer->areas, &writer->budget, writer->sizes.area_bytes);
  writer->areas.n_lists = writer->sizes.n_groups;
}

static enum colshuf_status make_columns(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  const struct csf_field *root = &writer->schema->root;
  struct csf_column_memory heap = csf_column_heap(allocator);
  CSF_TRY(csf_columns_init(&writer->chunk, root, allocator, csf_areas_memory(&writer->areas), err));
  CSF_TRY(csf_columns_init(&writer->pending, root, allocator, heap, err));
  CSF_TRY(csf_joined_init(&writer->dictionaries, root, writer->budget.limit / 16, allocator, err));
  csf_joined_show(&writer->dictionaries, &writer->pending);
  writer->tree_size = csf_array_tree_size(root);
  writer->pending_tree = csf_alloc(allocator, writer->tree_size);
  if (writer->pending_tree == NULL) return csf_fail_memory(err, writer->tree_size);
  writer->pending_array = csf_array_tree_build(root, writer->pending_tree);
  return COLSHUF_OK;
}

static size_t narrow_size(const struct csf_field *root) {
  return (size_t)root->n_children * (sizeof(struct ArrowArray *) + sizeof(struct ArrowArray));
}

static enum colshuf_status make_narrow_columns(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  const struct csf_field *root = &writer->schema->root;
  if (root->n_children == 0) return COLSHUF_OK;
  writer->narrow_children = csf_alloc(&writer->budget.allocator, narrow_size(root));
  if (writer->narrow_children == NULL) return csf_fail_memory(err, narrow_size(root));
  struct ArrowArray *columns = (struct ArrowArray *)(void *)(writer->narrow_children + root->n_children);
  for (int32_t i = 0; i < root->n_children; i++) writer->narrow_children[i] = &columns[i];
  return COLSHUF_OK;
}

static enum colshuf_status make_tables(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  size_t n = (size_t)writer->n_partitions;
  writer->partition_sizes = csf_alloc_zero(allocator, n * sizeof *writer->partition_sizes);
  if (writer->partition_sizes == NULL) return csf_fail_memory(err, n * sizeof *writer->partition_sizes);
  if (writer->sink.emit != NULL || writer->checksum == COLSHUF_CHECKSUM_NONE) return COLSHUF_OK;
  writer->checksums = csf_alloc(allocator, n * sizeof *writer->checksums);
  if (writer->checksums == NULL) return csf_fail_memory(err, n * sizeof *writer->checksums);
  uint32_t start = csf_checksum_start(writer->checksum);
  for (size_t p = 0; p < n; p++) writer->checksums[p] = start;
  return COLSHUF_OK;
}

/* What a lane needs: the block put together, its stream, its compressed form, each with room to grow. */
static uint64_t lane_memory(const struct colshuf_map_writer *writer) {
  return 5 * writer->sizes.block_bytes + codec_memory(&writer->encoder_options);
}

/* What is not rows: the tables, what was made until now, a block in its forms, the piece being gathered, and scratch. */
static enum colshuf_status hold_back(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  const struct csf_map_sizes *sizes = &writer->sizes;
  uint64_t limit = writer->budget.limit, made = atomic_load(&writer->budget.working);
  uint64_t least = made + lane_memory(writer) + 2 * sizes->piece_bytes + FILE_BUFFERS + (uint64_t)sizes->ids_rows * 4;
  if (limit / (uint64_t)writer->n_partitions < sizes->small_block) least += 5 * sizes->group_bytes; /* to spill rows */
  uint64_t needed = least + 2 * (uint64_t)sizes->n_groups * sizes->area_bytes;
  if (needed > limit) {
    return csf_fail(err, COLSHUF_LIMIT,
                    "a memory limit of %" PRIu64 " bytes is too small for %" PRId32 " partitions of %" PRId32
                    " columns: at least %" PRIu64,
                    limit, writer->n_partitions, writer->schema->root.n_children, needed + needed / 8);
  }
  uint64_t share = clamp(limit / 8, 0, MOST_HELD_BACK);
  writer->budget.held_back = least > share ? least : share;
  writer->spare = writer->budget.held_back - least;
  writer->areas.room = limit - writer->budget.held_back;
  if (!csf_budget_grant_working(&writer->budget)) {
    return csf_fail(err, COLSHUF_NO_MEMORY, "the memory manager granted %" PRIu64 " of %" PRIu64 " bytes to begin with",
                    writer->budget.granted, writer->budget.held_back);
  }
  return COLSHUF_OK;
}

/*
 * As many threads as their blocks fit into what is held back anyway: what is left for rows, and with it how blocks are cut, does
 * not depend on threads.
 */
static enum colshuf_status add_threads(struct colshuf_map_writer *writer, int wanted, struct colshuf_error *err) {
  uint64_t most = writer->spare / lane_memory(writer);
  if ((uint64_t)wanted < most) most = (uint64_t)wanted;
  if (most == 0) return COLSHUF_OK;
  CSF_TRY(csf_crew_add_threads(writer, (int32_t)most, err));
  if (writer->crew.n_threads > 0) csf_background_start(writer);
  return COLSHUF_OK;
}

static enum colshuf_status init_writer(struct colshuf_map_writer *writer, const struct ArrowSchema *schema,
                                       const struct colshuf_map_writer_options *options, struct colshuf_error *err) {
  writer->n_partitions = options->partitioner.n_partitions;
  writer->partitioning = options->partitioner.kind;
  writer->destination = -1;
  writer->sort_first = options->partitioner.sort_first != 0;
  writer->checksum = options->checksum;
  writer->native_index = options->native_index;
  writer->sink = options->sink;
  writer->data.fd = -1;
  if (table_size(writer) > writer->budget.limit / 2) {
    return csf_fail(err, COLSHUF_LIMIT, "a memory limit of %" PRIu64 " bytes is too small for %" PRId32 " partitions: at least %" PRIu64,
                    writer->budget.limit, writer->n_partitions, 2 * table_size(writer) + ((uint64_t)1 << 20));
  }
  CSF_TRY(make_schema(writer, schema, options, err));
  choose_sizes(writer, options);
  init_buffers(writer);
  CSF_TRY(set_places(writer, options, err));
  CSF_TRY(make_columns(writer, err));
  CSF_TRY(make_narrow_columns(writer, err));
  CSF_TRY(make_tables(writer, err));
  CSF_TRY(csf_crew_init(writer, err));
  CSF_TRY(hold_back(writer, err));
  return add_threads(writer, options->compress_threads, err);
}

enum colshuf_status colshuf_map_writer_new(const struct ArrowSchema *schema, const struct colshuf_map_writer_options *options,
                                           struct colshuf_map_writer **out, struct colshuf_error *err) {
  CSF_TRY(check_options(schema, options, err));
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_map_writer *writer = csf_alloc_zero(&allocator, sizeof *writer);
  if (writer == NULL) return csf_fail_memory(err, sizeof *writer);
  uint64_t limit = options->memory_limit == 0 ? DEFAULT_MEMORY_LIMIT : options->memory_limit;
  csf_budget_init(&writer->budget, &allocator, &options->memory_manager, limit, limit / 8);
  writer->busy = true;
  enum colshuf_status status = init_writer(writer, schema, options, err);
  writer->busy = false;
  if (status == COLSHUF_OK) *out = writer;
  else colshuf_map_writer_free(writer);
  return status;
}

static void free_places(struct colshuf_map_writer *writer) {
  for (int32_t i = 0; i < writer->n_spill_directories; i++) free_text(writer, writer->spill_directories[i]);
  csf_free(&writer->budget.allocator, writer->spill_directories, (size_t)writer->n_spill_directories * sizeof(char *));
  free_text(writer, writer->output);
  csf_output_place_clear(&writer->place, &writer->budget.allocator);
}

/* Everything that holds rows or files: after a failure, and after a commit. */
static void free_contents(struct colshuf_map_writer *writer) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  csf_background_clear(writer); /* first: these threads look at everything */
  csf_crew_clear(writer);
  if (writer->spills.name != NULL) csf_spills_clear(&writer->spills);
  if (writer->rows.name != NULL) csf_spills_clear(&writer->rows);
  csf_temp_discard(&writer->data);
  csf_columns_clear(&writer->pending);
  csf_columns_forget(&writer->chunk);
  csf_columns_clear(&writer->chunk);
  if (writer->areas.budget != NULL) csf_areas_clear(&writer->areas);
  csf_joined_clear(&writer->dictionaries);
  csf_order_clear(&writer->order);
  csf_sources_clear(&writer->sources);
  for (int32_t group = 0; group < CSF_GROUPS; group++) {
    csf_buffer_clear(&writer->stocks[0].chunks[group]);
    csf_buffer_clear(&writer->stocks[1].chunks[group]);
  }
  struct csf_buffer *buffers[] = {&writer->all_chunks, &writer->pending_ids, &writer->ids, &writer->slices, &writer->planned, &writer->segment};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_clear(buffers[i]);
  csf_free(allocator, writer->pending_tree, writer->tree_size);
  writer->pending_tree = NULL;
  colshuf_block_encoder_free(writer->rows_encoder);
  colshuf_block_decoder_free(writer->rows_decoder);
  writer->rows_encoder = NULL;
  writer->rows_decoder = NULL;
  colshuf_partitioner_free(writer->partitioner);
  writer->partitioner = NULL;
  writer->budget.held_back = 0;
  csf_budget_release_unused(&writer->budget);
}

void colshuf_map_writer_free(struct colshuf_map_writer *writer) {
  if (writer == NULL) return;
  struct colshuf_allocator allocator = writer->budget.below;
  writer->busy = true;
  free_contents(writer);
  csf_free(&writer->budget.allocator, writer->partition_sizes, (size_t)writer->n_partitions * sizeof *writer->partition_sizes);
  csf_free(&writer->budget.allocator, writer->checksums, (size_t)writer->n_partitions * sizeof *writer->checksums);
  free_places(writer);
  if (writer->narrow_children != NULL) {
    csf_free(&writer->budget.allocator, writer->narrow_children, narrow_size(&writer->schema->root));
  }
  if (writer->exported.release != NULL) writer->exported.release(&writer->exported);
  csf_schema_release(writer->schema);
  csf_budget_clear(&writer->budget);
  csf_free(&allocator, writer, sizeof *writer);
}

static enum colshuf_status check_alive(const struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (writer->dead != COLSHUF_OK) {
    return csf_fail(err, writer->dead, "the map writer is dead since this failure: %s", writer->dead_reason);
  }
  if (writer->committed) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the map writer has committed and takes nothing more");
  if (writer->busy) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the map writer is in the middle of another call");
  return COLSHUF_OK;
}

/* The first failure after which rows may be missing ends the writer: memory and files go at once. */
static enum colshuf_status die(struct colshuf_map_writer *writer, enum colshuf_status status, const struct colshuf_error *why) {
  writer->dead = status;
  memcpy(writer->dead_reason, why->message, sizeof writer->dead_reason - 1);
  free_contents(writer);
  return status;
}

/*
 * The batch with its columns cut to its rows: of a slice of a large batch, only its own rows are looked at from here on.
 * *narrow refers to columns of the writer and to the batch's buffers.
 */
static void narrow_batch(struct colshuf_map_writer *writer, const struct ArrowArray *batch, struct ArrowArray *narrow) {
  *narrow = *batch;
  narrow->offset = 0;
  narrow->null_count = 0;
  narrow->children = writer->narrow_children;
  for (int64_t i = 0; i < batch->n_children; i++) {
    struct ArrowArray *column = writer->narrow_children[i];
    *column = *batch->children[i];
    if (column->length != batch->length && column->null_count > 0) column->null_count = -1;
    column->offset += batch->offset;
    column->length = batch->length;
  }
}

static enum colshuf_status check_batch(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                       struct ArrowArray *narrow, struct colshuf_error *err) {
  const struct csf_field *root = &writer->schema->root;
  if (batch == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a batch is NULL");
  CSF_TRY(csf_array_import_check(root, batch, err));
  narrow_batch(writer, batch, narrow);
  CSF_TRY(csf_array_validate(root, narrow, NULL, CSF_VALIDATE_MEMORY, err));
  return csf_map_check_ids(writer, narrow, err);
}

static enum colshuf_status write_batch(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                       struct colshuf_error *err) {
  struct ArrowArray narrow;
  CSF_TRY(check_batch(writer, batch, &narrow, err));
  writer->busy = true;
  enum colshuf_status status = batch->length == 0 ? COLSHUF_OK : csf_map_route(writer, &narrow, err);
  if (status != COLSHUF_OK) die(writer, status, err);
  writer->busy = false;
  if (status != COLSHUF_OK) return status;
  writer->metrics.batches++;
  writer->metrics.rows += (uint64_t)batch->length;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_map_writer_write(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                             struct colshuf_error *err) {
  struct colshuf_error own;
  if (err == NULL) err = &own;
  CSF_TRY(check_alive(writer, err));
  return write_batch(writer, batch, err);
}

enum colshuf_status colshuf_map_writer_write_partition(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                                       int32_t partition, struct colshuf_error *err) {
  struct colshuf_error own;
  if (err == NULL) err = &own;
  CSF_TRY(check_alive(writer, err));
  if (partition < 0 || partition >= writer->n_partitions) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there is no partition %" PRId32 ", only %" PRId32 " of them", partition,
                    writer->n_partitions);
  }
  writer->destination = partition;
  enum colshuf_status status = write_batch(writer, batch, err);
  writer->destination = -1;
  return status;
}

static enum colshuf_status spill(struct colshuf_map_writer *writer, uint64_t *freed, struct colshuf_error *err) {
  uint64_t before = writer->budget.bulk + atomic_load(&writer->budget.working);
  CSF_TRY(csf_map_route_pending(writer, err));
  CSF_TRY(csf_map_flush(writer, err));
  CSF_TRY(csf_background_wait(writer, err));
  csf_areas_trim(&writer->areas);
  csf_columns_free_memory(&writer->pending);
  for (int32_t i = 0; i < writer->crew.n_lanes; i++) csf_columns_free_memory(&writer->crew.lanes[i].block);
  uint64_t after = writer->budget.bulk + atomic_load(&writer->budget.working);
  csf_budget_release_unused(&writer->budget);
  *freed = before > after ? before - after : 0;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_map_writer_spill(struct colshuf_map_writer *writer, uint64_t *freed, struct colshuf_error *err) {
  struct colshuf_error own;
  uint64_t unwanted;
  if (err == NULL) err = &own;
  if (freed == NULL) freed = &unwanted;
  *freed = 0;
  /* A memory manager that is asked for memory may ask back: what is in use right now cannot be given. */
  if (writer->busy || writer->committed) return COLSHUF_OK;
  CSF_TRY(check_alive(writer, err));
  writer->busy = true;
  enum colshuf_status status = spill(writer, freed, err);
  if (status != COLSHUF_OK) die(writer, status, err);
  writer->busy = false;
  return status;
}

static enum colshuf_status put_in_place(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  csf_map_settle_metrics(writer);
  writer->metrics.written_bytes = writer->data.size;
  struct csf_commit commit = {.output = writer->output,
                              .data = &writer->data,
                              .sizes = writer->partition_sizes,
                              .n_partitions = writer->n_partitions,
                              .checksum = writer->checksum,
                              .checksums = writer->checksums,
                              .native_index = writer->native_index,
                              .allocator = writer->budget.allocator};
  enum colshuf_status status = csf_commit_output(&commit, err);
  writer->metrics.write_ns += csf_now_ns() - begin;
  return status;
}

static enum colshuf_status commit(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  CSF_TRY(csf_map_route_pending(writer, err));
  if (writer->sink.emit != NULL) return csf_map_flush(writer, err);
  CSF_TRY(csf_background_wait(writer, err));
  CSF_TRY(csf_temp_create(&writer->data, writer->place.directory, writer->place.name, &writer->budget.allocator, err));
  csf_columns_free_memory(&writer->pending); /* room for reading the runs ahead, and for what the data file gathers */
  if (writer->spills.n_runs + writer->rows.n_runs > 0) csf_temp_gather(&writer->data, clamp(writer->sizes.piece_bytes / 2, 0, MOST_GATHERED));
  CSF_TRY(csf_map_flush_to_data(writer, err));
  csf_areas_trim(&writer->areas);              /* and for what gathers the index */
  return put_in_place(writer, err);
}

enum colshuf_status colshuf_map_writer_commit(struct colshuf_map_writer *writer, uint64_t *partition_sizes,
                                              struct colshuf_error *err) {
  struct colshuf_error own;
  if (err == NULL) err = &own;
  CSF_TRY(check_alive(writer, err));
  writer->busy = true;
  enum colshuf_status status = commit(writer, err);
  if (status != COLSHUF_OK) die(writer, status, err);
  else free_contents(writer);
  writer->busy = false;
  if (status != COLSHUF_OK) return status;
  writer->committed = true;
  if (partition_sizes != NULL) {
    memcpy(partition_sizes, writer->partition_sizes, (size_t)writer->n_partitions * sizeof *partition_sizes);
  }
  return COLSHUF_OK;
}

void colshuf_map_writer_metrics(const struct colshuf_map_writer *writer, struct colshuf_map_metrics *out) {
  *out = writer->metrics;
  out->peak_memory = atomic_load(&writer->budget.peak);
}
