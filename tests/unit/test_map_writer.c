/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer: rows of every type, in blocks as the options cut them, to a file or a sink; and its refusals. */
#include <errno.h>

#include "support/faults.h"
#include "support/map_writer.h"

static void rows_of_every_type_come_back_in_order(void) {
  struct test_random random = {11};
  int n = test_cases(200);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct test_schema_options any = {.no_dictionaries = round % 2 == 0};
    struct test_array_options arrays = test_random_options(&random, 100);
    struct colshuf_map_metrics metrics;
    test_input_open(&input, test_random_schema(&random, &any), &test_round_robin, &random, 5, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
    options.checksum = (enum colshuf_checksum)(round % 4);
    test_shuffle_and_check(&input, &options, &metrics);
    if (any.no_dictionaries) CHECK_INT(metrics.spills, 0); /* with them, only what cannot be joined is spilled */
    test_input_close(&input);
  }
}

static void the_same_input_and_options_give_the_same_bytes(void) {
  static const uint64_t limits[] = {500 << 10, 0};
  struct test_input input;
  test_plain_input(&input, 25, 24, 2000);
  for (int i = 0; i < 2; i++) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, limits[i]);
    struct csf_buffer a = test_shuffle_to_bytes(&input, &options), b = test_shuffle_to_bytes(&input, &options);
    CHECK_INT(a.size, b.size);
    CHECK(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
    csf_buffer_clear(&a);
    csf_buffer_clear(&b);
  }
  test_input_close(&input);
}

/* --- blocks and batches --- */

static void blocks_are_cut_by_bytes_and_rows(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  test_plain_input(&input, 27, 10, 4000);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
  options.block_rows = 7;
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.blocks >= metrics.rows / 7);
  CHECK(metrics.blocks <= metrics.rows / 7 + 5);
  options.block_rows = 1;
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK_INT(metrics.blocks, metrics.rows);
  options.block_rows = 0;
  options.block_size = 10000;
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.raw_bytes / metrics.blocks > 5000);
  CHECK(metrics.raw_bytes / metrics.blocks < 15001);
  options.block_size = 1;
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK_INT(metrics.blocks, metrics.rows);
  test_input_close(&input);
}

static void batches_of_one_row_and_of_many_take_turns(void) {
  static const int64_t rows[] = {1, 8191, 0, 8192, 1, 1, 8193, 8221, 3, 100000, 0, 1, 70000, 2};
  enum { N = sizeof rows / sizeof *rows };
  struct test_random random = {28};
  struct ArrowArray batches[N];
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct csf_schema *schema = test_schema("a: int32, b: utf8");
  for (int i = 0; i < N; i++) {
    struct test_array_options arrays = {.rows = rows[i], .max_text = 8, .shape = TEST_SLICED_ROOT};
    test_random_array(&random, &schema->root, &arrays, &batches[i]);
  }
  test_input_take(&input, schema, &test_round_robin, batches, N);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 2 << 20);
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK_INT(metrics.batches, N);
  CHECK_INT(metrics.rows, 8191 + 8192 + 8193 + 8221 + 100000 + 70000 + 9);
  test_input_close(&input);
}

static void rows_without_columns_survive(void) {
  struct test_random random = {29};
  struct ArrowArray batches[2];
  struct test_input input;
  struct colshuf_map_metrics metrics;
  static const enum colshuf_codec codecs[] = {COLSHUF_LZ4, COLSHUF_NONE, COLSHUF_ZSTD, COLSHUF_SNAPPY};
  struct test_schema_options none = {0};
  (void)none;
  for (int i = 0; i < 4; i++) {
    struct csf_schema *schema = test_schema("");
    for (int j = 0; j < 2; j++) {
      struct test_array_options arrays = {.rows = 7 - 2 * j};
      test_random_array(&random, &schema->root, &arrays, &batches[j]);
    }
    test_input_take(&input, schema, &test_round_robin, batches, 2);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 4 << 20);
    options.encoder.codec = codecs[i];
    test_shuffle_and_check(&input, &options, &metrics);
    CHECK_INT(metrics.rows, 12);
    test_input_close(&input);
  }
}

static void nothing_written_makes_an_empty_output(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct ArrowArray none[1];
  test_input_take(&input, test_schema("a: int32"), &test_round_robin, none, 0);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK_INT(metrics.blocks, 0);
  CHECK_INT(metrics.written_bytes, 0);
  test_input_close(&input);
}

static void columns_of_no_bytes_keep_their_rows(void) {
  struct test_random random = {30};
  struct ArrowArray batch;
  struct test_input input;
  struct test_array_options arrays = {.rows = 60, .null_percent = 20};
  struct csf_schema *schema = test_schema(
      "a: null, b: fixed_size_binary(0), c: list<item: null>, d: struct<n: null>, e: map<int32, null>, f: fixed_size_list<item: null, 0>");
  test_random_array(&random, &schema->root, &arrays, &batch);
  test_input_take(&input, schema, &test_round_robin, &batch, 1);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
  test_shuffle_and_check(&input, &options, NULL);
  test_input_close(&input);
}

static void all_rows_in_one_partition_of_many(void) {
  struct test_random random = {32};
  struct ArrowArray batch;
  struct test_input input;
  struct test_array_options arrays = {.rows = 30000};
  struct colshuf_key key = {.column = 0};
  struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_ID, .n_partitions = 8, .keys = &key, .n_keys = 1};
  struct csf_schema *schema = test_schema("p: int32 not null, v: int64, t: utf8");
  test_random_array(&random, &schema->root, &arrays, &batch);
  int32_t *ids = (int32_t *)(uintptr_t)batch.children[0]->buffers[1];
  for (int64_t i = 0; i < batch.length; i++) ids[i] = 3;
  test_input_take(&input, schema, &partitioner, &batch, 1);
  struct colshuf_map_writer_options options = test_map_options(&partitioner, 1 << 20);
  test_shuffle_and_check(&input, &options, NULL);
  test_input_close(&input);
}

/* --- the sink --- */

struct collected {
  struct csf_buffer partitions[5];
  int fail_at, calls;
};static int collect(void *ctx, int32_t partition, const void *bytes, size_t size) {
  struct collected *collected = ctx;
  if (++collected->calls == collected->fail_at) return EPIPE;
  return csf_buffer_append(&collected->partitions[partition], bytes, size, NULL) == COLSHUF_OK ? 0 : ENOMEM;
}

static void a_sink_gets_whole_blocks_and_no_file_appears(void) {
  struct test_input input;
  struct colshuf_error err;
  test_plain_input(&input, 34, 20, 1500);
  struct collected collected = {0};
  for (int i = 0; i < 5; i++) csf_buffer_init(&collected.partitions[i], &test_heap);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
  struct colshuf_map_metrics metrics;
  options.output = NULL;
  options.sink = (struct colshuf_sink){collect, &collected};
  REQUIRE_OK(test_shuffle(&input, &options, &metrics, &err));
  CHECK_INT(metrics.spills, 0);
  CHECK_INT((uint64_t)collected.calls, metrics.blocks);
  for (int i = 0; i < 5; i++) {
    test_check_partition(&input, i, collected.partitions[i].data, collected.partitions[i].size);
    csf_buffer_clear(&collected.partitions[i]);
  }
  CHECK_INT(test_count_files(test_directory(), ""), 2);
  collected.calls = 0;
  collected.fail_at = 3;
  CHECK_STATUS(test_shuffle(&input, &options, NULL, &err), COLSHUF_IO);
  CHECK_INT(err.system_errno, EPIPE);
  for (int i = 0; i < 5; i++) csf_buffer_clear(&collected.partitions[i]);
  test_input_close(&input);
}

/* --- refusals --- */

static void a_refused_batch_leaves_no_trace(void) {
  struct test_random random = {35};
  struct ArrowArray batches[3];
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_key key = {.column = 0};
  struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_ID, .n_partitions = 8, .keys = &key, .n_keys = 1};
  struct csf_schema *schema = test_schema("p: int32 not null, t: utf8 not null");
  for (int i = 0; i < 3; i++) {
    struct test_array_options arrays = {.rows = i == 2 ? 300000 : 5000};
    test_random_array(&random, &schema->root, &arrays, &batches[i]);
    int32_t *ids = (int32_t *)(uintptr_t)batches[i].children[0]->buffers[1];
    for (int64_t j = 0; j < batches[i].length; j++) ids[j] = (int32_t)test_random_below(&random, 8);
  }
  test_input_take(&input, schema, &partitioner, batches, 2);
  struct colshuf_map_writer_options options = test_map_options(&partitioner, 4 << 20);
  struct colshuf_map_writer *writer;
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[0], &err));

  ((int32_t *)(uintptr_t)batches[2].children[0]->buffers[1])[299999] = 8;
  CHECK_STATUS(colshuf_map_writer_write(writer, &batches[2], &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "8");
  struct ArrowArray wrong = batches[2];
  wrong.n_children = 1;
  CHECK_STATUS(colshuf_map_writer_write(writer, &wrong, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_map_writer_write(writer, NULL, &err), COLSHUF_INVALID_ARGUMENT);
  int32_t *offsets = (int32_t *)(uintptr_t)batches[2].children[1]->buffers[1];
  offsets[100] = offsets[101] + 1;
  CHECK_STATUS(colshuf_map_writer_write(writer, &batches[2], &err), COLSHUF_CORRUPT);

  REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[1], &err));
  uint64_t sizes[8];
  REQUIRE_OK(colshuf_map_writer_commit(writer, sizes, &err));
  CHECK_STATUS(colshuf_map_writer_write(writer, &input.batches[1], &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_INVALID_ARGUMENT);
  colshuf_map_writer_free(writer);
  test_check_output(&input, options.output, options.checksum, sizes);
  batches[2].release(&batches[2]);
  test_input_close(&input);
}

static void options_that_make_no_sense_are_refused(void) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct csf_schema *schema = test_schema("a: int32");
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  for (int i = 0; i < 7; i++) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
    char folder[600];
    snprintf(folder, sizeof folder, "%s/", test_directory());
    if (i == 0) options.output = NULL;
    if (i == 1) options.block_rows = -1;
    if (i == 2) options.checksum = (enum colshuf_checksum)9;
    if (i == 3) options.n_spill_dirs = 2;
    if (i == 4) options.output = folder;
    if (i == 5) options.partitioner.n_partitions = -3;
    if (i == 6) options.compress_threads = -1;
    CHECK_STATUS(colshuf_map_writer_new(&exported, &options, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  }
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
  CHECK_STATUS(colshuf_map_writer_new(NULL, &options, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_map_writer_new(&exported, NULL, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  exported.release(&exported);
  csf_schema_release(schema);
}

static void comet_types_come_back_from_every_codec(void) {
  static const char *const types =
      "a: bool, b: int8, c: int16, d: int32, e: int64, f: float32, g: float64, h: decimal128(38, 9), i: date32, "
      "j: timestamp(us, UTC), k: timestamp(us), l: utf8, m: binary, n: list<item: utf8>, o: map<utf8, int32>, "
      "p: struct<x: int32, y: list<item: struct<z: utf8>>>, q: null, r: dictionary<int8, utf8>, s: dictionary<int32, int64>, "
      "t: struct<u: dictionary<int16, utf8>>";
  struct test_random random = {36};
  int n = test_cases(60);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct test_array_options arrays = test_random_options(&random, 300);
    test_input_open(&input, test_schema(types), &test_round_robin, &random, 6, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, round % 2 == 0 ? 0 : 8 << 20);
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    options.encoder.codec = (enum colshuf_codec)(round % 4);
    test_shuffle_and_check(&input, &options, NULL);
    test_input_close(&input);
  }
}

/* --- threads --- */

static void threads_do_not_change_the_bytes(void) {
  static const enum colshuf_codec codecs[] = {COLSHUF_LZ4, COLSHUF_ZSTD};
  struct test_random random = {47};
  struct test_input input;
  struct test_array_options arrays = {.rows = 9000, .max_text = 8, .repeat_percent = 60};
  struct csf_schema *schema = test_schema("a: utf8, b: utf8 not null, c: int64, d: list<item: int32>, e: decimal128(12, 2)");
  test_input_open(&input, schema, &test_round_robin, &random, 30, &arrays);
  for (int i = 0; i < 2; i++) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 32 << 20);
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    options.encoder.codec = codecs[i];
    options.block_size = 20000;
    struct csf_buffer alone = test_shuffle_to_bytes(&input, &options);
    for (int threads = 1; threads < 6; threads += 2) {
      options.compress_threads = threads;
      struct csf_buffer shared = test_shuffle_to_bytes(&input, &options);
      CHECK(alone.size == shared.size && memcmp(alone.data, shared.data, alone.size) == 0);
      csf_buffer_clear(&shared);
    }
    test_check_output(&input, options.output, options.checksum, NULL);
    csf_buffer_clear(&alone);
  }
  test_input_close(&input);
}

struct behind {
  struct csf_buffer bytes;
  struct colshuf_map_metrics metrics;
  int32_t calls; /* that came back while a stock was still being written */
};

enum { TIMES = 7 };

/* The input some times over, at a limit that it goes beyond several times. */
static struct behind write_behind(const struct test_input *input, int threads) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct behind found = {0};
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 16 << 20);
  options.encoder.compat = COLSHUF_COMPAT_COMET;
  options.block_size = 20000;
  options.compress_threads = threads;
  REQUIRE_OK(colshuf_map_writer_new(&input->exported, &options, &writer, &err));
  CHECK_INT(writer->background.runs, threads > 0);
  CHECK_INT(writer->sizes.n_groups, CSF_GROUPS);
  for (int32_t i = 0; i < TIMES * input->n_batches; i++) {
    REQUIRE_OK(colshuf_map_writer_write(writer, &input->batches[i % input->n_batches], &err));
    found.calls += writer->background.busy;
  }
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  colshuf_map_writer_metrics(writer, &found.metrics);
  colshuf_map_writer_free(writer);
  char path[600];
  snprintf(path, sizeof path, "%s.data", options.output);
  found.bytes = test_read_file(path);
  CHECK(found.metrics.peak_memory <= options.memory_limit);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  return found;
}

static void what_is_written_behind_the_caller_has_the_same_bytes_and_limit(void) {
  struct test_random random = {49};
  struct test_input input;
  struct test_array_options arrays = {.rows = 16000, .max_text = 8, .repeat_percent = 60};
  struct csf_schema *schema = test_schema("a: utf8, b: utf8 not null, c: int64, d: list<item: int32>, e: decimal128(12, 2)");
  test_input_open(&input, schema, &test_round_robin, &random, 16, &arrays);
  struct behind alone = write_behind(&input, 0);
  CHECK(alone.metrics.spills > 2);
  CHECK_INT(alone.calls, 0);
  for (int threads = 1; threads < 4; threads += 2) {
    struct behind behind = write_behind(&input, threads);
    printf("  %d threads: %" PRIu64 " spills, %d calls of %d while one was being written\n", threads, behind.metrics.spills, behind.calls,
           TIMES * input.n_batches);
    CHECK(behind.calls > 0);
    CHECK_INT(behind.metrics.spills, alone.metrics.spills);
    CHECK_INT(behind.metrics.spilled_bytes, alone.metrics.spilled_bytes);
    CHECK_INT(behind.metrics.blocks, alone.metrics.blocks);
    CHECK_INT(behind.metrics.raw_bytes, alone.metrics.raw_bytes);
    CHECK(alone.bytes.size == behind.bytes.size && memcmp(alone.bytes.data, behind.bytes.data, alone.bytes.size) == 0);
    csf_buffer_clear(&behind.bytes);
  }
  csf_buffer_clear(&alone.bytes);
  test_input_close(&input);
}

/* Whoever notices it, the call says what went wrong behind it, and nothing is left. */
static void failures_behind_the_caller_are_clean(void) {
  struct test_input input;
  struct test_random random = {50};
  struct test_array_options arrays = {.rows = 16000, .max_text = 60};
  uint64_t failed = 0;
  test_input_open(&input, test_schema("a: utf8, c: int64, d: list<item: int32>"), &test_round_robin, &random, 40, &arrays);
  for (uint64_t at = 1; at < 600; at += 60) {
    struct colshuf_error err;
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 16 << 20);
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    options.block_size = 20000;
    options.compress_threads = 2;
    test_remove_output();
    test_fault = (struct test_fault){"write", TEST_FAIL_FOREVER, ENOSPC, at, 0, false};
    csf_io_current = &test_faulty_io;
    enum colshuf_status status = test_shuffle(&input, &options, NULL, &err);
    csf_io_current = &csf_io_system;
    test_fault.at = 0;
    CHECK(status == COLSHUF_OK || status == COLSHUF_IO);
    CHECK_INT(status == COLSHUF_IO, test_fault.hit);
    CHECK_INT(test_output_exists(), status == COLSHUF_OK);
    failed += status == COLSHUF_IO;
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  }
  printf("  %" PRIu64 " full disks\n", failed);
  CHECK(failed > 1);
  test_input_close(&input);
}

static void failures_in_threads_are_clean(void) {
  struct test_input input;
  test_plain_input(&input, 48, 12, 2000);
  uint64_t failed = 0;
  for (uint64_t nth = 1; nth < 400; nth += 7) {
    struct colshuf_error err;
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 32 << 20);
    options.block_size = 5000;
    options.compress_threads = 3;
    test_heap_refuse_at(nth);
    enum colshuf_status status = test_shuffle(&input, &options, NULL, &err);
    test_heap_refuse_at(0);
    CHECK(status == COLSHUF_OK || status == COLSHUF_NO_MEMORY);
    failed += status != COLSHUF_OK;
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  }
  CHECK(failed > 3);
  test_input_close(&input);
}

static const struct test_case tests[] = {
    TEST(rows_of_every_type_come_back_in_order),
    TEST(comet_types_come_back_from_every_codec),
    TEST(the_same_input_and_options_give_the_same_bytes),
    TEST(blocks_are_cut_by_bytes_and_rows),
    TEST(batches_of_one_row_and_of_many_take_turns),
    TEST(rows_without_columns_survive),
    TEST(nothing_written_makes_an_empty_output),
    TEST(columns_of_no_bytes_keep_their_rows),
    TEST(all_rows_in_one_partition_of_many),
    TEST(a_sink_gets_whole_blocks_and_no_file_appears),
    TEST(a_refused_batch_leaves_no_trace),
    TEST(options_that_make_no_sense_are_refused),
    TEST(threads_do_not_change_the_bytes),
    TEST(failures_in_threads_are_clean),
    TEST(what_is_written_behind_the_caller_has_the_same_bytes_and_limit),
    TEST(failures_behind_the_caller_are_clean),
};
TEST_MAIN(tests)
