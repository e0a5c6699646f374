/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer and memory: its limit, a memory manager beside it, refused allocations, rows and partitions that are too many. */
#include <stdlib.h>
#include <sys/resource.h>

#include "support/map_writer.h"

/* The least limit that the writer takes for these options, by its own word. */
static uint64_t least_limit(const struct test_input *input, struct colshuf_map_writer_options options) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  options.memory_limit = 4096;
  for (int i = 0; i < 20; i++) {
    enum colshuf_status status = colshuf_map_writer_new(&input->exported, &options, &writer, &err);
    if (status == COLSHUF_OK) {
      colshuf_map_writer_free(writer);
      return options.memory_limit;
    }
    REQUIRE(status == COLSHUF_LIMIT);
    const char *number = strstr(err.message, "at least ");
    REQUIRE(number != NULL);
    uint64_t named = strtoull(number + 9, NULL, 10);
    REQUIRE(named > options.memory_limit);
    options.memory_limit = named;
  }
  test_fail(__FILE__, __LINE__, "no limit is ever enough");
  test_abandon();
}

static void the_least_memory_is_named_and_enough_for_every_type(void) {
  struct test_random random = {12};
  uint64_t spills = 0;
  int n = test_cases(60);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct test_schema_options any = {.max_depth = round % 2 == 0 ? -1 : 0};
    struct test_array_options arrays = test_random_options(&random, 3000);
    struct colshuf_map_metrics metrics;
    arrays.rows = 3000;
    test_input_open(&input, test_random_schema(&random, &any), &test_round_robin, &random, 8, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 1);
    options.memory_limit = least_limit(&input, options);
    test_shuffle_and_check(&input, &options, &metrics);
    spills += metrics.spills;
    test_input_close(&input);
  }
  CHECK(spills > (uint64_t)n);
}

/* What the writer says it holds, and what it took from its allocator. */
static void the_limit_holds_for_everything_that_is_allocated(void) {
  struct test_random random = {13};
  static const uint64_t limits[] = {512 << 10, 1 << 20, 3 << 20};
  for (int i = 0; i < 3; i++) {
    struct test_input input;
    struct colshuf_map_metrics metrics;
    struct test_array_options arrays = {.rows = 10000, .null_percent = 10};
    struct csf_schema *schema = test_schema("a: int64, b: utf8, c: decimal128(20, 2), d: list<item: int32>, e: bool");
    test_input_open(&input, schema, &test_round_robin, &random, 24, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, limits[i]);
    struct colshuf_error err;
    uint64_t before = test_heap_bytes();
    test_heap_reset_peak();
    REQUIRE_OK(test_shuffle(&input, &options, &metrics, &err));
    CHECK(test_heap_peak() - before <= limits[i] + (64 << 10));
    CHECK(metrics.peak_memory <= limits[i]);
    CHECK(metrics.spills > 0);
    CHECK(metrics.peak_memory >= limits[i] / 2);
    test_check_output(&input, options.output, options.checksum, NULL);
    test_input_close(&input);
  }
}

static void a_manager_may_refuse_any_request(void) {
  struct test_input input;
  struct colshuf_error err;
  uint64_t refused = 0, failed = 0;
  test_plain_input(&input, 14, 24, 6000);
  for (uint64_t nth = 1;; nth++) {
    struct test_memory_manager manager = {.total = 1 << 30, .refuse_at = nth};
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
    options.memory_manager = test_memory_manager(&manager);
    enum colshuf_status status = test_shuffle(&input, &options, NULL, &err);
    CHECK_INT(manager.granted, 0);
    CHECK(manager.peak <= options.memory_limit);
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
    if (status == COLSHUF_OK) test_check_output(&input, options.output, options.checksum, NULL);
    else CHECK_INT(status, COLSHUF_NO_MEMORY);
    if (manager.requests < nth) break;
    refused++;
    failed += status != COLSHUF_OK;
  }
  printf("  %" PRIu64 " requests refused, %" PRIu64 " of them fatal\n", refused, failed);
  CHECK(refused >= 4);
  CHECK_INT(failed, 1); /* only the first: nothing can be done without working memory */
  test_input_close(&input);
}

static void a_manager_that_gives_little_makes_the_writer_spill(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  test_plain_input(&input, 15, 24, 6000);
  struct test_memory_manager manager = {.total = 5 << 20};
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
  options.memory_manager = test_memory_manager(&manager);
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.spills > 0);
  CHECK_INT(manager.granted, 0);
  test_input_close(&input);
}

static void memory_asked_back_is_given_between_calls_only(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_writer *writer = NULL;
  test_plain_input(&input, 16, 12, 3000);
  struct test_memory_manager manager = {.total = 1 << 30, .writer = &writer};
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
  options.memory_manager = test_memory_manager(&manager);
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  for (int32_t i = 0; i < input.n_batches; i++) {
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
    if (i % 3 != 2) continue;
    uint64_t before = manager.granted, freed;
    REQUIRE_OK(colshuf_map_writer_spill(writer, &freed, &err));
    CHECK(freed > 0);
    CHECK(manager.granted <= before);
  }
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  struct colshuf_map_metrics metrics;
  colshuf_map_writer_metrics(writer, &metrics);
  CHECK_INT(metrics.spills, 4);
  colshuf_map_writer_free(writer);
  test_check_output(&input, options.output, options.checksum, NULL);
  test_input_close(&input);
}

static enum colshuf_status shuffle_for_sweep(void *ctx) {
  struct colshuf_error err;
  const struct test_input *input = ctx;
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
  enum colshuf_status status = test_shuffle(input, &options, NULL, &err);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  if (status == COLSHUF_NO_MEMORY) CHECK(strlen(err.message) > 10);
  return status;
}

static void every_refused_allocation_is_a_clean_failure(void) {
  struct test_input input;
  struct test_random random = {17};
  struct test_array_options arrays = {.rows = 700, .null_percent = 10};
  struct csf_schema *schema = test_schema("a: int64, b: utf8, c: list<item: utf8>, d: dictionary<int8, utf8>");
  test_input_open(&input, schema, &test_round_robin, &random, 10, &arrays);
  uint64_t refusals = test_oom_sweep(shuffle_for_sweep, &input);
  printf("  %" PRIu64 " allocations refused\n", refusals);
  CHECK(refusals > 100);
  test_check_output(&input, test_output_name(), COLSHUF_CHECKSUM_ADLER32, NULL);
  test_input_close(&input);
}

/* Rows of 10 bytes, one of 5 MiB among them, through very little memory. */
static void a_row_larger_than_the_limit_goes_through(void) {
  struct test_random random = {31};
  struct ArrowArray batches[3];
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct csf_schema *schema = test_schema("a: utf8 not null, b: binary_view");
  for (int i = 0; i < 3; i++) {
    struct test_array_options arrays = {.rows = i == 1 ? 1 : 4000, .max_text = i == 1 ? 8 << 20 : 10};
    test_random_array(&random, &schema->root, &arrays, &batches[i]);
  }
  test_input_take(&input, schema, &test_round_robin, batches, 3);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 600 << 10);
  test_shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.spills > 0);
  test_input_close(&input);
}

static void thousands_of_partitions_need_little_memory_and_few_files(void) {
  static const int32_t partitions[] = {1025, 5000, 100000};
  struct test_random random = {33};
  struct rlimit old, few = {32, 32};
  getrlimit(RLIMIT_NOFILE, &old);
  few.rlim_max = old.rlim_max;
  for (int i = 0; i < 3; i++) {
    struct test_input input;
    struct colshuf_map_metrics metrics;
    struct test_array_options arrays = {.rows = 9000};
    struct colshuf_key key = {.column = 0};
    struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_HASH, .n_partitions = partitions[i], .keys = &key, .n_keys = 1};
    test_input_open(&input, test_schema("k: int64 not null, t: utf8"), &partitioner, &random, 3, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&partitioner, partitions[i] == 100000 ? 4 << 20 : 800 << 10);
    struct colshuf_error err;
    setrlimit(RLIMIT_NOFILE, &few);
    enum colshuf_status status = test_shuffle(&input, &options, &metrics, &err);
    setrlimit(RLIMIT_NOFILE, &old);
    REQUIRE_OK(status);
    CHECK(metrics.peak_memory <= options.memory_limit);
    CHECK(metrics.spills > 1 || partitions[i] == 100000);
    test_check_output(&input, options.output, options.checksum, NULL);
    test_input_close(&input);
  }
}

/* Ten rows: what no row goes to must take next to nothing. */
static void a_million_partitions_need_no_more_than_their_place_in_the_index(void) {
  static const int32_t partitions[] = {100000, 1000000};
  struct test_random random = {34};
  for (int i = 0; i < 2; i++) {
    struct test_input input;
    struct colshuf_map_metrics metrics;
    struct ArrowArray batch;
    struct colshuf_key key = {.column = 0};
    struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_HASH, .n_partitions = partitions[i], .keys = &key, .n_keys = 1};
    struct csf_schema *schema = test_schema("k: int64 not null, t: utf8");
    test_random_array(&random, &schema->root, &(struct test_array_options){.rows = 10}, &batch);
    test_input_take(&input, schema, &partitioner, &batch, 1);
    struct colshuf_map_writer_options options = test_map_options(&partitioner, least_limit(&input, test_map_options(&partitioner, 0)));
    if (options.memory_limit > 16 << 20) {
      struct colshuf_error err;
      struct colshuf_map_writer *writer;
      struct colshuf_map_writer_options small = test_map_options(&partitioner, 16 << 20);
      CHECK_STATUS(colshuf_map_writer_new(&input.exported, &small, &writer, &err), COLSHUF_LIMIT);
      CHECK_CONTAINS(err.message, "too small for 1000000 partitions");
    } else {
      options.memory_limit = 16 << 20;
    }
    test_shuffle_and_check(&input, &options, &metrics);
    CHECK(metrics.peak_memory <= options.memory_limit);
    CHECK(options.memory_limit <= (uint64_t)(16 << 20) + 32 * (uint64_t)partitions[i]);
    test_input_close(&input);
  }
}

static void too_many_partitions_for_the_limit_are_refused_with_the_least(void) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct colshuf_partitioner_options partitioner = test_round_robin;
  struct csf_schema *schema = test_schema("a: int32");
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  partitioner.n_partitions = INT32_MAX;
  struct colshuf_map_writer_options options = test_map_options(&partitioner, 16 << 20);
  CHECK_STATUS(colshuf_map_writer_new(&exported, &options, &writer, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "at least");
  partitioner.n_partitions = 0;
  options = test_map_options(&partitioner, 16 << 20);
  CHECK_STATUS(colshuf_map_writer_new(&exported, &options, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  exported.release(&exported);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(the_least_memory_is_named_and_enough_for_every_type),
    TEST(the_limit_holds_for_everything_that_is_allocated),
    TEST(a_manager_may_refuse_any_request),
    TEST(a_manager_that_gives_little_makes_the_writer_spill),
    TEST(memory_asked_back_is_given_between_calls_only),
    TEST(every_refused_allocation_is_a_clean_failure),
    TEST(a_row_larger_than_the_limit_goes_through),
    TEST(thousands_of_partitions_need_little_memory_and_few_files),
    TEST(a_million_partitions_need_no_more_than_their_place_in_the_index),
    TEST(too_many_partitions_for_the_limit_are_refused_with_the_least),
};
TEST_MAIN(tests)
