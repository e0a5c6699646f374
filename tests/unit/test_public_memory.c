/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public function with every one of its allocations refused, one at a time: it says NO_MEMORY or does without, and leaves nothing behind.
 * Nothing here has an allocator of its own: all memory comes from the C heap, which for this program is the one below (the linker puts it in the
 * place of realloc and free). Prints "faults FUNCTION N" for each; tools/check_faults holds that against the headers.
 */
#include <errno.h>
#include <stdlib.h>

#include "colshuf/colshuf.h"
#include "support/blocks.h"
#include "support/map_writer.h"

/* --- the C heap that can refuse --- */

void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);

enum { MOST_LIVE = 1 << 16 };
static void *live[MOST_LIVE]; /* what came out of realloc and is not freed */
static size_t n_live;
static uint64_t refuse; /* the refuse-th call from now on is refused; 0 = none */
static bool refused;

static void forget(const void *pointer) {
  for (size_t i = n_live; pointer != NULL && i-- > 0;) {
    if (live[i] != pointer) continue;
    live[i] = live[--n_live];
    return;
  }
}

void *__wrap_realloc(void *pointer, size_t size) {
  if (refuse > 0 && --refuse == 0) {
    refused = true;
    return NULL;
  }
  void *moved = malloc(size); /* always a new block, so that a pointer into the old one is found out */
  if (moved == NULL || n_live == MOST_LIVE) abort();
  if (pointer != NULL) {
    void *larger = __real_realloc(pointer, size);
    if (larger == NULL) abort();
    memcpy(moved, larger, size);
    __real_free(larger);
    forget(pointer);
  }
  live[n_live++] = moved;
  return moved;
}

void __wrap_free(void *pointer) {
  forget(pointer);
  __real_free(pointer);
}

/* --- what the functions are called with --- */

static struct {
  struct csf_schema *schema;
  struct ArrowSchema exported;
  struct ArrowArray batch;
  struct csf_buffer block;
  char data[2][64], stream[64], file[64], index[64];
} input;

static struct {
  struct colshuf_block_encoder *encoder;
  struct colshuf_block_decoder *decoder;
  struct colshuf_partitioner *partitioner;
  struct colshuf_bounds_sampler *sampler;
  struct colshuf_map_writer *writer;
  struct colshuf_ipc_writer *ipc_writer;
  struct ArrowArray array;
  struct ArrowSchema schema;
  struct ArrowArrayStream arrow;
  struct colshuf_index_info index;
  int32_t ids[64];
} made; /* by the call at hand, or for it */

static const struct colshuf_key key = {.column = 0};
static const int32_t key_columns[] = {0, 1};
static struct colshuf_error err;

static void release_made(void) {
  colshuf_block_encoder_free(made.encoder);
  colshuf_block_decoder_free(made.decoder);
  colshuf_partitioner_free(made.partitioner);
  colshuf_bounds_sampler_free(made.sampler);
  colshuf_map_writer_free(made.writer);
  colshuf_ipc_writer_free(made.ipc_writer);
  if (made.array.release != NULL) made.array.release(&made.array);
  if (made.schema.release != NULL) made.schema.release(&made.schema);
  if (made.arrow.release != NULL) made.arrow.release(&made.arrow);
  colshuf_index_clear(&made.index);
  memset(&made, 0, sizeof made);
}

/* --- each function --- */

typedef enum colshuf_status call_fn(void);

static enum colshuf_status array_validate(void) {
  return colshuf_array_validate(&input.exported, &input.batch, 1, &err);
}
static enum colshuf_status array_take(void) {
  return colshuf_array_take(&input.exported, &input.batch, (int64_t[]){2, 0, 5}, 3, NULL, &made.array, &err);
}
static enum colshuf_status array_concat(void) {
  return colshuf_array_concat(&input.exported, (const struct ArrowArray *[]){&input.batch, &input.batch}, 2, NULL, &made.array, &err);
}
static enum colshuf_status copy_array(void) {
  return array_concat();
}
static enum colshuf_status array_slice(void) {
  struct ArrowArray out = {.release = NULL};
  enum colshuf_status status = colshuf_array_slice(&input.exported, &made.array, 1, 3, NULL, &out, &err);
  CHECK((made.array.release == NULL) == (status == COLSHUF_OK));
  if (status == COLSHUF_OK) made.array = out;
  return status;
}

static enum colshuf_status encoder_new(void) {
  struct colshuf_block_encoder_options options = {.codec = COLSHUF_ZSTD, .compat = COLSHUF_COMPAT_ARROW};
  return colshuf_block_encoder_new(&input.exported, &options, &made.encoder, &err);
}
static enum colshuf_status encode(void) {
  const uint8_t *block;
  size_t size;
  return colshuf_block_encoder_encode(made.encoder, &input.batch, 0, input.batch.length, &block, &size, &err);
}
static enum colshuf_status encoder_free(void) {
  colshuf_block_encoder_free(made.encoder);
  made.encoder = NULL;
  return COLSHUF_OK;
}
static enum colshuf_status decoder_new(void) {
  struct colshuf_block_decoder_options options = {.expected_schema = &input.exported};
  return colshuf_block_decoder_new(&options, &made.decoder, &err);
}
static enum colshuf_status decode(void) {
  size_t consumed;
  return colshuf_block_decoder_decode(made.decoder, input.block.data, input.block.size, NULL, &consumed, &made.schema, &made.array, &err);
}
static enum colshuf_status view(void) {
  size_t consumed;
  return colshuf_block_decoder_view(made.decoder, input.block.data, input.block.size, &consumed, &made.array, &err);
}
static enum colshuf_status decoder_free(void) {
  colshuf_block_decoder_free(made.decoder);
  made.decoder = NULL;
  return COLSHUF_OK;
}
static enum colshuf_status header_read(void) {
  struct colshuf_block_header header;
  return colshuf_block_header_read(input.block.data, input.block.size, &header, &err);
}

/* A stream read to its end, its schema too. */
static enum colshuf_status drain(void) {
  struct ArrowArray batch = {.release = NULL};
  int code = made.arrow.get_schema(&made.arrow, &made.schema);
  while (code == 0 && (code = made.arrow.get_next(&made.arrow, &batch)) == 0 && batch.release != NULL) batch.release(&batch);
  return code == 0 ? COLSHUF_OK : colshuf_stream_status(&made.arrow);
}
static int64_t read_descriptor(void *ctx, void *buffer, size_t size) {
  return (int64_t)fread(buffer, 1, size, ctx);
}
static enum colshuf_status reader_open(void) {
  FILE *file = fopen(input.stream, "rb");
  REQUIRE(file != NULL);
  struct colshuf_input bytes = {.read = read_descriptor, .ctx = file};
  enum colshuf_status status = colshuf_ipc_reader_open(&bytes, NULL, &made.arrow, &err);
  if (status == COLSHUF_OK) status = drain();
  fclose(file);
  return status;
}
static enum colshuf_status reader_open_path(void) {
  enum colshuf_status status = colshuf_ipc_reader_open_path(input.file, NULL, &made.arrow, &err);
  return status == COLSHUF_OK ? drain() : status;
}
static enum colshuf_status stream_status(void) {
  return colshuf_stream_status(&made.arrow);
}
static int drop(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return 0;
}
static enum colshuf_status writer_new(void) {
  struct colshuf_output output = {.write = drop};
  struct colshuf_ipc_writer_options options = {.file_format = 1, .compress = 2};
  return colshuf_ipc_writer_new(&input.exported, &output, &options, &made.ipc_writer, &err);
}
static enum colshuf_status writer_write(void) {
  return colshuf_ipc_writer_write(made.ipc_writer, &input.batch, 0, input.batch.length, &err);
}
static enum colshuf_status written_writer(void) {
  CSF_TRY(writer_new());
  return writer_write();
}
static enum colshuf_status writer_finish(void) {
  return colshuf_ipc_writer_finish(made.ipc_writer, &err);
}
static enum colshuf_status writer_free(void) {
  colshuf_ipc_writer_free(made.ipc_writer);
  made.ipc_writer = NULL;
  return COLSHUF_OK;
}

static struct colshuf_partitioner_options hash_options(void) {
  return (struct colshuf_partitioner_options){.kind = COLSHUF_PARTITION_HASH, .n_partitions = 4, .keys = &key, .n_keys = 1};
}
static enum colshuf_status partitioner_new(void) {
  struct colshuf_partitioner_options options = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 4, .sort_first = 1};
  return colshuf_partitioner_new(&input.exported, &options, &made.partitioner, &err);
}
static enum colshuf_status partitioner_ids(void) {
  return colshuf_partitioner_ids(made.partitioner, &input.batch, made.ids, &err);
}
static enum colshuf_status partitioner_free(void) {
  colshuf_partitioner_free(made.partitioner);
  made.partitioner = NULL;
  return COLSHUF_OK;
}
static enum colshuf_status partition_rows(void) {
  uint32_t offsets[5], rows[8];
  return colshuf_partition_rows((int32_t[]){3, 1, 0, 1, 2, 2, 0, 3}, 8, 4, offsets, rows, &err);
}
static enum colshuf_status murmur3(void) {
  return colshuf_murmur3(&input.exported, &input.batch, key_columns, 2, 42, COLSHUF_RULES_SPARK, made.ids, &err);
}
static enum colshuf_status sampler_new(void) {
  struct colshuf_bounds_sampler_options options = {.n_partitions = 4, .keys = &key, .n_keys = 1, .sample_size = 3};
  return colshuf_bounds_sampler_new(&input.exported, &options, &made.sampler, &err);
}
static enum colshuf_status sampler_add(void) {
  return colshuf_bounds_sampler_add(made.sampler, &input.batch, &err);
}
static enum colshuf_status filled_sampler(void) {
  CSF_TRY(sampler_new());
  return sampler_add();
}
static enum colshuf_status sampler_next(void) {
  return colshuf_bounds_sampler_next_input(made.sampler, &err);
}
static enum colshuf_status sampler_finish(void) {
  return colshuf_bounds_sampler_finish(made.sampler, &made.schema, &made.array, &err);
}
static enum colshuf_status sampler_free(void) {
  colshuf_bounds_sampler_free(made.sampler);
  made.sampler = NULL;
  return COLSHUF_OK;
}

static enum colshuf_status map_new(void) {
  struct colshuf_map_writer_options options = {.partitioner = hash_options(), .memory_limit = 4 << 20, .output = test_output_name()};
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  return colshuf_map_writer_new(&input.exported, &options, &made.writer, &err);
}
static enum colshuf_status map_write(void) {
  return colshuf_map_writer_write(made.writer, &input.batch, &err);
}
static enum colshuf_status map_write_partition(void) {
  return colshuf_map_writer_write_partition(made.writer, &input.batch, 2, &err);
}
static enum colshuf_status written_map(void) {
  CSF_TRY(map_new());
  return map_write();
}
static enum colshuf_status map_spill(void) {
  uint64_t freed;
  return colshuf_map_writer_spill(made.writer, &freed, &err);
}
static enum colshuf_status spilled_map(void) {
  CSF_TRY(written_map());
  CSF_TRY(map_spill());
  return map_write();
}
static enum colshuf_status map_commit(void) {
  return colshuf_map_writer_commit(made.writer, NULL, &err);
}
static enum colshuf_status map_metrics(void) {
  struct colshuf_map_metrics metrics;
  colshuf_map_writer_metrics(made.writer, &metrics);
  return metrics.rows > 0 ? COLSHUF_OK : COLSHUF_CORRUPT;
}
static enum colshuf_status map_free(void) {
  colshuf_map_writer_free(made.writer);
  made.writer = NULL;
  return COLSHUF_OK;
}

static enum colshuf_status read_shuffle(void) {
  struct colshuf_source sources[] = {{.data_path = input.data[0]}, {.data_path = input.data[1]}};
  struct colshuf_read_options options = {.target_rows = 15, .verify_checksums = 1};
  enum colshuf_status status = colshuf_read(sources, 2, &options, NULL, &made.arrow, &err);
  return status == COLSHUF_OK ? drain() : status;
}
static enum colshuf_status merge(void) {
  struct colshuf_merge_options options = {.output = test_output_name()};
  return colshuf_merge((const char *[]){input.data[0], input.data[1]}, 2, &options, NULL, &err);
}
static int visit(void *ctx, const struct colshuf_block_info *block) {
  *(enum colshuf_status *)ctx = block->status != COLSHUF_OK ? block->status : *(enum colshuf_status *)ctx;
  return 0;
}
static enum colshuf_status inspect(void) {
  enum colshuf_status worst = COLSHUF_OK, status = colshuf_inspect(input.data[0], NULL, 1, visit, &worst, &err);
  return status != COLSHUF_OK ? status : worst;
}
static void report(void *ctx, const struct colshuf_fault *fault) {
  *(enum colshuf_status *)ctx = fault->status;
}
static enum colshuf_status verify(void) {
  struct colshuf_verify_summary summary;
  enum colshuf_status found = COLSHUF_OK, status = colshuf_verify(input.data[0], NULL, report, &found, &summary, &err);
  return status != COLSHUF_OK ? status : found;
}
static enum colshuf_status index_read(void) {
  return colshuf_index_read(input.index, &made.index, &err);
}
static enum colshuf_status index_clear(void) {
  colshuf_index_clear(&made.index);
  return COLSHUF_OK;
}
static enum colshuf_status clean(void) {
  uint64_t removed;
  return colshuf_clean(test_directory(), &removed, &err);
}
static enum colshuf_status version(void) {
  return strcmp(colshuf_version(), COLSHUF_VERSION) == 0 ? COLSHUF_OK : COLSHUF_CORRUPT;
}
static enum colshuf_status status_name(void) {
  return strcmp(colshuf_status_name(COLSHUF_OK), "ok") == 0 ? COLSHUF_OK : COLSHUF_CORRUPT;
}

/* least: so many allocations there are to be refused; 0 = the function allocates nothing, now or ever. */
static const struct call {
  const char *name;
  call_fn *run;
  call_fn *prepare; /* what must be there before, made with nothing refused; NULL = nothing */
  uint64_t least;
} calls[] = {
    {"colshuf_array_validate", array_validate, NULL, 1},
    {"colshuf_array_take", array_take, NULL, 2},
    {"colshuf_array_concat", array_concat, NULL, 2},
    {"colshuf_array_slice", array_slice, copy_array, 2},
    {"colshuf_block_encoder_new", encoder_new, NULL, 2},
    {"colshuf_block_encoder_encode", encode, encoder_new, 2},
    {"colshuf_block_encoder_free", encoder_free, encoder_new, 0},
    {"colshuf_block_decoder_new", decoder_new, NULL, 2},
    {"colshuf_block_decoder_decode", decode, decoder_new, 5},
    {"colshuf_block_decoder_view", view, decoder_new, 5},
    {"colshuf_block_decoder_free", decoder_free, decoder_new, 0},
    {"colshuf_block_header_read", header_read, NULL, 0},
    {"colshuf_ipc_reader_open", reader_open, NULL, 5},
    {"colshuf_ipc_reader_open_path", reader_open_path, NULL, 5},
    {"colshuf_stream_status", stream_status, reader_open_path, 0},
    {"colshuf_ipc_writer_new", writer_new, NULL, 2},
    {"colshuf_ipc_writer_write", writer_write, writer_new, 2},
    {"colshuf_ipc_writer_finish", writer_finish, written_writer, 1},
    {"colshuf_ipc_writer_free", writer_free, written_writer, 0},
    {"colshuf_partitioner_new", partitioner_new, NULL, 2},
    {"colshuf_partitioner_ids", partitioner_ids, partitioner_new, 1},
    {"colshuf_partitioner_free", partitioner_free, partitioner_new, 0},
    {"colshuf_partition_rows", partition_rows, NULL, 0},
    {"colshuf_murmur3", murmur3, NULL, 2},
    {"colshuf_bounds_sampler_new", sampler_new, NULL, 2},
    {"colshuf_bounds_sampler_add", sampler_add, sampler_new, 2},
    {"colshuf_bounds_sampler_next_input", sampler_next, filled_sampler, 1},
    {"colshuf_bounds_sampler_finish", sampler_finish, filled_sampler, 2},
    {"colshuf_bounds_sampler_free", sampler_free, filled_sampler, 0},
    {"colshuf_map_writer_new", map_new, NULL, 5},
    {"colshuf_map_writer_write", map_write, map_new, 2},
    {"colshuf_map_writer_write_partition", map_write_partition, map_new, 2},
    {"colshuf_map_writer_spill", map_spill, written_map, 2},
    {"colshuf_map_writer_commit", map_commit, spilled_map, 2},
    {"colshuf_map_writer_metrics", map_metrics, written_map, 0},
    {"colshuf_map_writer_free", map_free, spilled_map, 0},
    {"colshuf_read", read_shuffle, NULL, 10},
    {"colshuf_merge", merge, NULL, 5},
    {"colshuf_inspect", inspect, NULL, 5},
    {"colshuf_verify", verify, NULL, 5},
    {"colshuf_index_read", index_read, NULL, 1},
    {"colshuf_index_clear", index_clear, index_read, 0},
    {"colshuf_clean", clean, NULL, 0},
    {"colshuf_version", version, NULL, 0},
    {"colshuf_status_name", status_name, NULL, 0},
};

static int write_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? 0 : EIO;
}

static void write_stream(const char *path, int file_format) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file != NULL);
  struct colshuf_output output = {.write = write_file, .ctx = file};
  struct colshuf_ipc_writer_options options = {.file_format = file_format};
  struct colshuf_ipc_writer *writer;
  REQUIRE_OK(colshuf_ipc_writer_new(&input.exported, &output, &options, &writer, &err));
  for (int i = 0; i < 2; i++) REQUIRE_OK(colshuf_ipc_writer_write(writer, &input.batch, 0, input.batch.length, &err));
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  colshuf_ipc_writer_free(writer);
  REQUIRE(fclose(file) == 0);
}

static void open_input(void) {
  struct test_random random = {77};
  struct test_array_options options = {.rows = 20, .null_percent = 10};
  input.schema = test_schema("k: int64, s: utf8, d: dictionary<int8, utf8>, l: list<item: utf8_view>");
  REQUIRE_OK(csf_field_export(&input.schema->root, &test_heap, &input.exported, &err));
  test_random_array(&random, &input.schema->root, &options, &input.batch);
  static struct test_output output;
  for (int i = 0; i < 2; i++) {
    test_output_init(&output);
    for (int block = 0; block < 3; block++) test_output_add(&output, &input.schema->root, &input.batch, 0, 20, i == 0 ? COLSHUF_ZSTD : COLSHUF_NONE);
    test_output_end_partition(&output);
    snprintf(input.data[i], sizeof input.data[i], "%s", test_output_write(&output, i == 0 ? "a" : "b", COLSHUF_CHECKSUM_ADLER32));
    if (i == 0) {
      csf_buffer_init(&input.block, &test_heap);
      REQUIRE_OK(csf_buffer_append(&input.block, output.data.data, (size_t)output.blocks[1], &err));
    }
    test_output_clear(&output);
  }
  snprintf(input.index, sizeof input.index, "%s/a.index", test_directory());
  snprintf(input.stream, sizeof input.stream, "%s/x.arrows", test_directory());
  snprintf(input.file, sizeof input.file, "%s/x.arrow", test_directory());
  write_stream(input.stream, 0);
  write_stream(input.file, 1);
}

static void close_input(void) {
  csf_buffer_clear(&input.block);
  input.batch.release(&input.batch);
  input.exported.release(&input.exported);
  csf_schema_release(input.schema);
}

/* One call with its nth allocation refused; false when it has fewer. */
static bool refuse_nth(const struct call *call, uint64_t nth) {
  size_t before = n_live;
  if (call->prepare != NULL) REQUIRE_OK(call->prepare());
  refused = false;
  refuse = nth;
  enum colshuf_status status = call->run();
  refuse = 0;
  if (status != COLSHUF_OK && !(refused && status == COLSHUF_NO_MEMORY)) {
    test_fail(__FILE__, __LINE__, "%s, allocation %" PRIu64 " refused: %s: %s", call->name, nth, colshuf_status_name(status), err.message);
  }
  release_made();
  test_remove_output();
  if (n_live != before) test_fail(__FILE__, __LINE__, "%s, allocation %" PRIu64 " refused: %zu blocks are left", call->name, nth, n_live - before);
  return refused;
}

static void every_public_function_survives_every_refused_allocation(void) {
  uint64_t total = 0;
  open_input();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    uint64_t n = 0;
    while (n < 100000 && refuse_nth(&calls[i], n + 1)) n++;
    if (n < calls[i].least) test_fail(__FILE__, __LINE__, "%s has %" PRIu64 " allocations, not %" PRIu64, calls[i].name, n, calls[i].least);
    if (calls[i].least == 0) CHECK_INT(n, 0);
    printf("faults %s %" PRIu64 "%s\n", calls[i].name, n, calls[i].least == 0 ? " (allocates nothing)" : "");
    total += n;
  }
  close_input();
  printf("%" PRIu64 " faults injected\n", total);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
}

static const struct test_case tests[] = {
    TEST(every_public_function_survives_every_refused_allocation),
};
TEST_MAIN(tests)
