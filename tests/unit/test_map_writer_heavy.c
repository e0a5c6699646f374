/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes beyond 2^31, a string of 1 GiB, a thousand columns: gigabytes of memory or disk, so only in the full tier. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shuffle/map_writer.h"
#include "support/shuffle.h"

static char output[512];

static struct colshuf_map_writer_options options_for(const struct colshuf_partitioner_options *partitioner, uint64_t limit) {
  snprintf(output, sizeof output, "%s/out", test_directory());
  struct colshuf_map_writer_options options = {.partitioner = *partitioner, .memory_limit = limit, .output = output};
  return options;
}

/* A batch of one column of longs and one of strings, in plain memory. */
struct table {
  struct ArrowArray batch, longs, texts;
  struct ArrowArray *children[2];
  const void *batch_buffers[1], *long_buffers[2], *text_buffers[3];
};

static void ignore_release(struct ArrowArray *array) {
  array->release = NULL;
}

static void make_table(struct table *table, int64_t n_rows, int64_t *longs, int32_t *offsets, char *texts) {
  *table = (struct table){.long_buffers = {NULL, longs}, .text_buffers = {NULL, offsets, texts}};
  table->longs = (struct ArrowArray){.length = n_rows, .n_buffers = 2, .buffers = table->long_buffers, .release = ignore_release};
  table->texts = (struct ArrowArray){.length = n_rows, .n_buffers = 3, .buffers = table->text_buffers, .release = ignore_release};
  table->children[0] = &table->longs;
  table->children[1] = &table->texts;
  table->batch = (struct ArrowArray){.length = n_rows, .n_buffers = 1, .buffers = table->batch_buffers, .n_children = 2,
                                     .children = table->children, .release = ignore_release};
}

static struct colshuf_map_writer *new_writer(const char *types, const struct colshuf_map_writer_options *options) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct ArrowSchema exported;
  struct csf_schema *schema = test_schema(types);
  REQUIRE_OK(csf_field_export(&schema->root, NULL, &exported, &err));
  REQUIRE_OK(colshuf_map_writer_new(&exported, options, &writer, &err));
  exported.release(&exported);
  csf_schema_release(schema);
  return writer;
}

static const char *const plain_types = "n: int64 not null, t: utf8 not null";

/* Rows, the sum of the longs, and the bytes of strings of one partition, read as a stream. */
struct totals {
  int64_t rows;
  uint64_t sum, text_bytes;
};

static bool is_large; /* whether strings have 64-bit offsets */

static uint64_t text_bytes(const struct ArrowArray *texts, int64_t n) {
  if (is_large) {
    const int64_t *offsets = (const int64_t *)texts->buffers[1] + texts->offset;
    return (uint64_t)(offsets[n] - offsets[0]);
  }
  const int32_t *offsets = (const int32_t *)texts->buffers[1] + texts->offset;
  return (uint64_t)(offsets[n] - offsets[0]);
}

static struct totals read_partition(int32_t partition) {
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct totals totals = {0};
  char path[600];
  snprintf(path, sizeof path, "%s.data", output);
  struct colshuf_source source = {.data_path = path, .first_partition = partition, .end_partition = partition + 1};
  struct colshuf_read_options options = {.trust = COLSHUF_TRUSTED_LOCAL, .verify_checksums = 1};
  REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
  for (;;) {
    struct ArrowArray batch;
    int code = stream.get_next(&stream, &batch);
    if (code != 0) test_fail(__FILE__, __LINE__, "%s", stream.get_last_error(&stream));
    if (code != 0 || batch.release == NULL) break;
    const struct ArrowArray *longs = batch.children[0], *texts = batch.children[1];
    for (int64_t i = 0; i < batch.length; i++) totals.sum += ((const uint64_t *)longs->buffers[1])[longs->offset + i];
    totals.text_bytes += text_bytes(texts, batch.length);
    totals.rows += batch.length;
    batch.release(&batch);
  }
  stream.release(&stream);
  return totals;
}

enum { ROWS = 1 << 14, TEXT = 1000 };

/* Strings of noise that lz4 makes little of. */
static char *make_texts(int32_t *offsets) {
  char *texts = malloc((size_t)ROWS * TEXT);
  REQUIRE(texts != NULL);
  struct test_random random = {1};
  for (size_t i = 0; i < (size_t)ROWS * TEXT; i += 8) {
    uint64_t word = test_random_next(&random) & 0x7f7f7f7f7f7f7f7f;
    memcpy(texts + i, &word, 8);
  }
  for (int i = 0; i <= ROWS; i++) offsets[i] = i * TEXT;
  return texts;
}

/* One spill file of more than 2 GiB, of which partition 1 is nearly all, with partition 2 behind it. */
static void one_partition_may_have_more_than_two_gibibytes(void) {
  enum { BATCHES = 160 };
  static int64_t longs[ROWS];
  static int32_t offsets[ROWS + 1];
  char *texts = make_texts(offsets);
  struct colshuf_partitioner_options three = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 3};
  struct colshuf_map_writer_options options = options_for(&three, (uint64_t)64 << 20);
  options.encoder.codec = COLSHUF_NONE;
  struct colshuf_map_writer *writer = new_writer(plain_types, &options);
  writer->spills.file_size = UINT64_MAX;
  struct colshuf_error err;
  uint64_t sums[3] = {0}, sizes[3];
  int64_t rows[3] = {0};
  for (int64_t batch = 0; batch < BATCHES; batch++) {
    struct table table;
    int32_t partition = batch % 40 == 0 ? 0 : batch % 40 == 20 ? 2 : 1;
    for (int64_t i = 0; i < ROWS; i++) sums[partition] += (uint64_t)(longs[i] = batch * ROWS + i);
    rows[partition] += ROWS;
    make_table(&table, ROWS, longs, offsets, texts);
    REQUIRE_OK(colshuf_map_writer_write_partition(writer, &table.batch, partition, &err));
  }
  CHECK_INT(writer->spills.n_files, 1);
  CHECK(writer->spills.files[0].size > (uint64_t)INT32_MAX);
  REQUIRE_OK(colshuf_map_writer_commit(writer, sizes, &err));
  struct colshuf_map_metrics metrics;
  colshuf_map_writer_metrics(writer, &metrics);
  colshuf_map_writer_free(writer);
  free(texts);
  CHECK(metrics.peak_memory <= options.memory_limit);
  CHECK(metrics.spilled_bytes > (uint64_t)INT32_MAX);
  CHECK(sizes[1] > (uint64_t)INT32_MAX);
  for (int32_t p = 0; p < 3; p++) {
    struct totals totals = read_partition(p);
    CHECK_INT(totals.rows, rows[p]);
    CHECK_INT(totals.sum, sums[p]);
    CHECK_INT(totals.text_bytes, (uint64_t)rows[p] * TEXT);
  }
}

/* 7,168 rows of 400,000 bytes in one call: for a block it is too much, the writer makes many of it. */
static void a_batch_of_more_than_two_gibibytes_is_cut_into_blocks(void) {
  enum { WIDE_ROWS = 7168, WIDTH = 400000 };
  static int64_t longs[WIDE_ROWS], offsets[WIDE_ROWS + 1];
  char *texts = calloc(WIDE_ROWS, WIDTH);
  REQUIRE(texts != NULL);
  for (int i = 0; i < WIDE_ROWS; i++) {
    longs[i] = i;
    offsets[i + 1] = offsets[i] + WIDTH;
    memset(texts + (size_t)i * WIDTH, 'a' + i % 26, 100);
  }
  struct colshuf_error err;
  struct table table;
  make_table(&table, WIDE_ROWS, longs, NULL, texts);
  table.text_buffers[1] = offsets;
  struct colshuf_partitioner_options two = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 2};
  struct colshuf_map_writer_options options = options_for(&two, (uint64_t)64 << 20);
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  struct colshuf_map_writer *writer = new_writer("n: int64 not null, t: large_binary not null", &options);
  REQUIRE_OK(colshuf_map_writer_write(writer, &table.batch, &err));
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  struct colshuf_map_metrics metrics;
  colshuf_map_writer_metrics(writer, &metrics);
  colshuf_map_writer_free(writer);
  free(texts);
  CHECK(metrics.raw_bytes > (uint64_t)INT32_MAX);
  CHECK(metrics.peak_memory <= options.memory_limit);
  uint64_t sum = 0;
  is_large = true;
  for (int32_t p = 0; p < 2; p++) {
    struct totals totals = read_partition(p);
    CHECK_INT(totals.rows, WIDE_ROWS / 2);
    CHECK_INT(totals.text_bytes, (uint64_t)WIDE_ROWS / 2 * WIDTH);
    sum += totals.sum;
  }
  is_large = false;
  CHECK_INT(sum, (uint64_t)WIDE_ROWS * (WIDE_ROWS - 1) / 2);
}

/* --- memory as the system counts it --- */

static uint64_t peak_resident(void) {
  char line[256];
  uint64_t kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtoull(line + 6, NULL, 10);
  }
  if (file != NULL) fclose(file);
  return kib << 10;
}

/* Writes n batches of 16 MB in a process of its own; its peak, 0 when it failed. */
static uint64_t peak_of_writing(int64_t n_batches, int compress_threads) {
  int ends[2];
  uint64_t peak = 0;
  REQUIRE(pipe(ends) == 0);
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    static int64_t longs[ROWS];
    static int32_t offsets[ROWS + 1];
    char *texts = make_texts(offsets);
    struct colshuf_key key = {.column = 0};
    struct colshuf_partitioner_options hash = {.kind = COLSHUF_PARTITION_HASH, .n_partitions = 200, .keys = &key, .n_keys = 1};
    struct colshuf_map_writer_options options = options_for(&hash, (uint64_t)128 << 20);
    options.compress_threads = compress_threads;
    struct colshuf_map_writer *writer = new_writer(plain_types, &options);
    bool ok = true;
    for (int64_t batch = 0; ok && batch < n_batches; batch++) {
      struct table table;
      for (int64_t i = 0; i < ROWS; i++) longs[i] = batch * ROWS + i;
      make_table(&table, ROWS, longs, offsets, texts);
      ok = colshuf_map_writer_write(writer, &table.batch, NULL) == COLSHUF_OK;
    }
    ok = ok && colshuf_map_writer_commit(writer, NULL, NULL) == COLSHUF_OK;
    colshuf_map_writer_free(writer);
    peak = ok ? peak_resident() : 0;
    _exit(write(ends[1], &peak, sizeof peak) != sizeof peak);
  }
  close(ends[1]);
  if (read(ends[0], &peak, sizeof peak) != sizeof peak) peak = 0;
  close(ends[0]);
  waitpid(child, NULL, 0);
  return peak;
}

/* The input's 16 MB and what a process needs to run are the constant. */
static void resident_memory_is_the_limit_and_a_constant_for_any_input(void) {
  enum { LIMIT = 128 << 20, CONSTANT = 32 << 20 };
  for (int threads = 0; threads < 3; threads += 2) {
    uint64_t small = peak_of_writing(40, threads), large = peak_of_writing(66, threads);
    printf("  %d threads: peak %" PRIu64 " KiB for 640 MiB, %" PRIu64 " KiB for 1 GiB\n", threads, small >> 10, large >> 10);
    CHECK(small > 0 && large > 0);
    CHECK(large <= LIMIT + CONSTANT);
    CHECK(large <= small + (4 << 20));
  }
}

static void a_string_of_a_gibibyte_goes_through_a_small_limit(void) {
  enum { SIZE = 1 << 30 };
  char *text = malloc(SIZE);
  REQUIRE(text != NULL);
  memset(text, 'x', SIZE);
  int64_t longs[3] = {1, 2, 3};
  int32_t offsets[4] = {0, 5, 5 + SIZE - 10, SIZE};
  struct table table;
  make_table(&table, 3, longs, offsets, text);
  struct colshuf_partitioner_options single = {.kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  struct colshuf_map_writer_options options = options_for(&single, (uint64_t)16 << 20);
  struct colshuf_map_writer *writer = new_writer(plain_types, &options);
  struct colshuf_error err;
  REQUIRE_OK(colshuf_map_writer_write(writer, &table.batch, &err));
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  colshuf_map_writer_free(writer);
  free(text);
  struct totals totals = read_partition(0);
  CHECK_INT(totals.rows, 3);
  CHECK_INT(totals.sum, 6);
  CHECK_INT(totals.text_bytes, SIZE);
}

static void a_thousand_columns_come_back(void) {
  struct test_random random = {5};
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct colshuf_error err;
  struct test_schema_options wide = {.n_columns = 1000, .max_depth = -1, .no_dictionaries = true, .plain_names = true};
  struct test_array_options arrays = {.rows = 1500, .null_percent = 10};
  struct colshuf_partitioner_options robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 30};
  test_input_open(&input, test_random_schema(&random, &wide), &robin, &random, 6, &arrays);
  struct colshuf_map_writer_options options = options_for(&robin, (uint64_t)16 << 20);
  options.allocator = test_heap;
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  REQUIRE_OK(test_shuffle(&input, &options, &metrics, &err));
  test_check_output(&input, output, COLSHUF_CHECKSUM_ADLER32, NULL);
  CHECK(metrics.spills > 2);
  CHECK(metrics.peak_memory <= options.memory_limit);
  test_input_close(&input);
}

static const struct test_case tests[] = {
    TEST(resident_memory_is_the_limit_and_a_constant_for_any_input),
    TEST(one_partition_may_have_more_than_two_gibibytes),
    TEST(a_batch_of_more_than_two_gibibytes_is_cut_into_blocks),
    TEST(a_string_of_a_gibibyte_goes_through_a_small_limit),
    TEST(a_thousand_columns_come_back),
};
TEST_MAIN(tests)
