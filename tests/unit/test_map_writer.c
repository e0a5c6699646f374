/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer: every type, every way through it (in memory, spilled, gathered, cut), and its refusals. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shuffle/map_writer.h"
#include "support/faults.h"
#include "support/shuffle.h"

/* A limit that a few thousand rows go beyond. */
enum { TIGHT = 512 << 10 };

static char output[512];

static const char *make_output(void) {
  snprintf(output, sizeof output, "%s/out", test_directory());
  return output;
}

static struct colshuf_map_writer_options options_for(const struct colshuf_partitioner_options *partitioner, uint64_t limit) {
  struct colshuf_map_writer_options options = {.allocator = test_heap, .partitioner = *partitioner, .memory_limit = limit,
                                               .output = make_output()};
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  return options;
}

static const struct colshuf_partitioner_options round_robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 5};

static void shuffle_and_check(const struct test_input *input, const struct colshuf_map_writer_options *options,
                              struct colshuf_map_metrics *metrics) {
  struct colshuf_error err;
  REQUIRE_OK(test_shuffle(input, options, metrics, &err));
  test_check_output(input, options->output, options->checksum, NULL);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
}

static void rows_of_every_type_come_back_in_order(void) {
  struct test_random random = {11};
  int n = test_cases(200);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct test_schema_options any = {.no_dictionaries = round % 2 == 0};
    struct test_array_options arrays = test_random_options(&random, 100);
    struct colshuf_map_metrics metrics;
    test_input_open(&input, test_random_schema(&random, &any), &round_robin, &random, 5, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, 0);
    options.checksum = (enum colshuf_checksum)(round % 4);
    shuffle_and_check(&input, &options, &metrics);
    if (any.no_dictionaries) CHECK_INT(metrics.spills, 0); /* with them, only what cannot be joined is spilled */
    test_input_close(&input);
  }
}

/* --- memory --- */

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
    test_input_open(&input, test_random_schema(&random, &any), &round_robin, &random, 8, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, 1);
    options.memory_limit = least_limit(&input, options);
    shuffle_and_check(&input, &options, &metrics);
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
    test_input_open(&input, schema, &round_robin, &random, 24, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, limits[i]);
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

/* A memory manager that refuses the nth request and gives at most `total`. */
struct manager {
  uint64_t total, granted, peak;
  uint64_t requests, refuse_at;
  struct colshuf_map_writer **writer; /* asked to spill when memory is short */
};
static uint64_t acquire(void *ctx, uint64_t size) {
  struct manager *manager = ctx;
  uint64_t freed;
  if (manager->writer != NULL && *manager->writer != NULL) {
    CHECK_INT(colshuf_map_writer_spill(*manager->writer, &freed, NULL), COLSHUF_OK);
    CHECK_INT(freed, 0); /* it is in the middle of a call */
  }
  if (++manager->requests == manager->refuse_at) return 0;
  uint64_t left = manager->total - manager->granted;
  uint64_t given = size < left ? size : left;
  manager->granted += given;
  if (manager->granted > manager->peak) manager->peak = manager->granted;
  return given;
}
static void release(void *ctx, uint64_t size) {
  struct manager *manager = ctx;
  CHECK(size <= manager->granted);
  manager->granted -= size;
}

static void open_plain_input(struct test_input *input, uint64_t seed, int32_t n_batches, int64_t rows) {
  struct test_random random = {seed};
  struct test_array_options arrays = {.rows = rows, .null_percent = 10};
  struct csf_schema *schema = test_schema("a: int64, b: utf8, c: list<item: utf8>, d: bool, e: int32");
  test_input_open(input, schema, &round_robin, &random, n_batches, &arrays);
}

static void a_manager_may_refuse_any_request(void) {
  struct test_input input;
  struct colshuf_error err;
  uint64_t refused = 0, failed = 0;
  open_plain_input(&input, 14, 24, 6000);
  for (uint64_t nth = 1;; nth++) {
    struct manager manager = {.total = 1 << 30, .refuse_at = nth};
    struct colshuf_map_writer_options options = options_for(&round_robin, 8 << 20);
    options.memory_manager = (struct colshuf_memory_manager){acquire, release, &manager};
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
  open_plain_input(&input, 15, 24, 6000);
  struct manager manager = {.total = 5 << 20};
  struct colshuf_map_writer_options options = options_for(&round_robin, 8 << 20);
  options.memory_manager = (struct colshuf_memory_manager){acquire, release, &manager};
  shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.spills > 0);
  CHECK_INT(manager.granted, 0);
  test_input_close(&input);
}

static void memory_asked_back_is_given_between_calls_only(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_writer *writer = NULL;
  open_plain_input(&input, 16, 12, 3000);
  struct manager manager = {.total = 1 << 30, .writer = &writer};
  struct colshuf_map_writer_options options = options_for(&round_robin, 8 << 20);
  options.memory_manager = (struct colshuf_memory_manager){acquire, release, &manager};
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
  struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
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
  test_input_open(&input, schema, &round_robin, &random, 10, &arrays);
  uint64_t refusals = test_oom_sweep(shuffle_for_sweep, &input);
  printf("  %" PRIu64 " allocations refused\n", refusals);
  CHECK(refusals > 100);
  test_check_output(&input, make_output(), COLSHUF_CHECKSUM_ADLER32, NULL);
  test_input_close(&input);
}

/* --- files --- */

/* What stands under the final name after a failed attempt: nothing, or what was there before. */
static bool output_exists(void) {
  char path[600];
  snprintf(path, sizeof path, "%s.index", output);
  return access(path, F_OK) == 0;
}

static void remove_output(void) {
  static const char *const endings[] = {".data", ".index", ".checksum.ADLER32"};
  char path[600];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", make_output(), endings[i]);
    unlink(path);
  }
}

/* What stays when the call that removes it fails. */
static void remove_left_over(void) {
  char path[800];
  DIR *entries = opendir(test_directory());
  REQUIRE(entries != NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", test_directory(), entry->d_name);
    if (strstr(entry->d_name, "colshuf-tmp") != NULL) unlink(path);
  }
  closedir(entries);
}

static void sweep_calls(const struct test_input *input, const char *call, enum test_effect effect, int error, uint64_t *n) {
  struct colshuf_error err;
  for (uint64_t at = 1;; at++) {
    struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
    remove_output();
    int32_t descriptors = test_open_descriptors();
    test_fault = (struct test_fault){call, effect, error, at, 0, false};
    csf_io_current = &test_faulty_io;
    test_open_files = 0;
    enum colshuf_status status = test_shuffle(input, &options, NULL, &err);
    csf_io_current = &csf_io_system;
    test_fault.at = 0;
    CHECK_INT(test_open_files, 0);
    CHECK_INT(test_open_descriptors(), descriptors);
    bool stuck = effect == TEST_FAIL_FOREVER || (call != NULL && strcmp(call, "unlink") == 0) || call == NULL;
    if (!stuck) CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
    if (status == COLSHUF_OK) test_check_output(input, options.output, options.checksum, NULL);
    else if (!stuck) CHECK(!output_exists());
    if (status != COLSHUF_OK) CHECK(status == COLSHUF_IO || status == COLSHUF_CORRUPT);
    if (status == COLSHUF_IO) CHECK_INT(err.system_errno, error);
    remove_left_over();
    if (!test_fault.hit) return;
    ++*n;
  }
}

static void every_system_call_may_fail(void) {
  struct test_input input;
  uint64_t n = 0;
  open_plain_input(&input, 18, 14, 1300);
  sweep_calls(&input, NULL, TEST_FAIL, EIO, &n);
  sweep_calls(&input, "write", TEST_FAIL, ENOSPC, &n);
  sweep_calls(&input, "write", TEST_FAIL_FOREVER, ENOSPC, &n);
  sweep_calls(&input, "copy_range", TEST_FAIL, EIO, &n);
  sweep_calls(&input, "pread", TEST_FAIL, EIO, &n);
  sweep_calls(&input, "open", TEST_FAIL, EMFILE, &n);
  sweep_calls(&input, "write", TEST_SHORT, 0, &n);
  sweep_calls(&input, "copy_range", TEST_SHORT, 0, &n);
  printf("  %" PRIu64 " faults injected\n", n);
  CHECK(n > 60);
  test_input_close(&input);
}

/* Opens a writer and feeds it until it has spilled at least once. */
static struct colshuf_map_writer *spilled_writer(const struct test_input *input, const struct colshuf_map_writer_options *options) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct colshuf_map_metrics metrics;
  REQUIRE_OK(colshuf_map_writer_new(&input->exported, options, &writer, &err));
  for (int32_t i = 0; i < input->n_batches; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input->batches[i], &err));
  colshuf_map_writer_metrics(writer, &metrics);
  REQUIRE(metrics.spills > 0);
  return writer;
}

static void find_spill_file(char *path, size_t size) {
  DIR *entries = opendir(test_directory());
  REQUIRE(entries != NULL);
  *path = 0;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (strstr(entry->d_name, "colshuf-tmp") != NULL) snprintf(path, size, "%s/%s", test_directory(), entry->d_name);
  }
  closedir(entries);
  REQUIRE(*path != 0);
}

static void a_spill_file_cut_short_is_found_at_the_merge(void) {
  struct test_input input;
  struct colshuf_error err;
  open_plain_input(&input, 19, 20, 1500);
  for (int whole = 0; whole < 2; whole++) {
    struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
    struct colshuf_map_writer *writer = spilled_writer(&input, &options);
    char path[700];
    struct stat found;
    find_spill_file(path, sizeof path);
    REQUIRE(stat(path, &found) == 0);
    REQUIRE(truncate(path, whole ? 0 : found.st_size - 1) == 0);
    CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_CORRUPT);
    CHECK(strstr(err.message, "colshuf-tmp") != NULL || strstr(err.message, "spill file was changed") != NULL);
    CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_CORRUPT);
    CHECK_CONTAINS(err.message, "dead");
    colshuf_map_writer_free(writer);
    CHECK(!output_exists());
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  }
  test_input_close(&input);
}

static void a_spill_folder_that_vanishes_is_an_error_with_its_name(void) {
  struct test_input input;
  struct colshuf_error err;
  char folder[600];
  snprintf(folder, sizeof folder, "%s/gone", test_directory());
  const char *folders[] = {folder};
  REQUIRE(mkdir(folder, 0777) == 0);
  open_plain_input(&input, 20, 20, 1500);
  struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
  options.spill_dirs = folders;
  options.n_spill_dirs = 1;
  struct colshuf_map_writer *writer;
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  REQUIRE(rmdir(folder) == 0);
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t i = 0; status == COLSHUF_OK && i < input.n_batches; i++) {
    status = colshuf_map_writer_write(writer, &input.batches[i], &err);
  }
  CHECK_INT(status, COLSHUF_IO);
  CHECK_CONTAINS(err.message, folder);
  CHECK_STATUS(colshuf_map_writer_write(writer, &input.batches[0], &err), COLSHUF_IO);
  CHECK_CONTAINS(err.message, "dead");
  colshuf_map_writer_free(writer);
  test_input_close(&input);
}

static void spill_files_take_turns_over_the_folders(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  char folders[3][600];
  const char *names[3];
  for (int i = 0; i < 3; i++) {
    snprintf(folders[i], sizeof folders[i], "%s/disk%d", test_directory(), i);
    REQUIRE(mkdir(folders[i], 0777) == 0);
    names[i] = folders[i];
  }
  open_plain_input(&input, 21, 20, 1500);
  struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
  options.spill_dirs = names;
  options.n_spill_dirs = 3;
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  writer->spills.file_size = 1;
  for (int32_t i = 0; i < input.n_batches; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
  colshuf_map_writer_metrics(writer, &metrics);
  REQUIRE(metrics.spills >= 3);
  for (int i = 0; i < 3; i++) CHECK(test_count_files(folders[i], "colshuf-tmp") > 0);
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  for (int i = 0; i < 3; i++) CHECK_INT(test_count_files(folders[i], "colshuf-tmp"), 0);
  colshuf_map_writer_free(writer);
  test_check_output(&input, options.output, options.checksum, NULL);
  for (int i = 0; i < 3; i++) rmdir(folders[i]);
  test_input_close(&input);
}

static void descriptors_and_files_stay_flat_over_many_spills(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  open_plain_input(&input, 22, 10, 300);
  int32_t before = test_open_descriptors(), first = -1;
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  for (int round = 0; round < 30; round++) {
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[round % 10], &err));
    REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    if (first < 0) first = test_open_descriptors();
    CHECK_INT(test_open_descriptors(), first);
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 1);
  }
  REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
  CHECK_INT(test_open_descriptors(), before);
  colshuf_map_writer_free(writer);
  CHECK(first <= before + 1);
  test_input_close(&input);
}

static void a_second_attempt_replaces_the_first_as_a_whole(void) {
  struct test_input first, second;
  open_plain_input(&first, 23, 10, 500);
  open_plain_input(&second, 24, 6, 900);
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
  shuffle_and_check(&first, &options, NULL);
  options.checksum = COLSHUF_CHECKSUM_CRC32C;
  shuffle_and_check(&second, &options, NULL);
  test_input_close(&first);
  test_input_close(&second);
}

static struct csf_buffer shuffle_to_bytes(const struct test_input *input, const struct colshuf_map_writer_options *options) {
  struct colshuf_error err;
  char path[600];
  snprintf(path, sizeof path, "%s.data", options->output);
  REQUIRE_OK(test_shuffle(input, options, NULL, &err));
  return test_read_file(path);
}

static void the_same_input_and_options_give_the_same_bytes(void) {
  static const uint64_t limits[] = {500 << 10, 0};
  struct test_input input;
  open_plain_input(&input, 25, 24, 2000);
  for (int i = 0; i < 2; i++) {
    struct colshuf_map_writer_options options = options_for(&round_robin, limits[i]);
    struct csf_buffer a = shuffle_to_bytes(&input, &options), b = shuffle_to_bytes(&input, &options);
    CHECK_INT(a.size, b.size);
    CHECK(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
    csf_buffer_clear(&a);
    csf_buffer_clear(&b);
  }
  test_input_close(&input);
}

/* Without compression or memory limit it is a plain tree of nothing: freeing removes all. */
static void an_abandoned_writer_leaves_nothing(void) {
  struct test_input input;
  open_plain_input(&input, 26, 20, 1500);
  struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
  struct colshuf_map_writer *writer = spilled_writer(&input, &options);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 1);
  colshuf_map_writer_free(writer);
  CHECK_INT(test_count_files(test_directory(), ""), 2); /* . and .. */
  colshuf_map_writer_free(NULL);
  test_input_close(&input);
}

/* --- blocks and batches --- */

static void blocks_are_cut_by_bytes_and_rows(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  open_plain_input(&input, 27, 10, 4000);
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
  options.block_rows = 7;
  shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.blocks >= metrics.rows / 7);
  CHECK(metrics.blocks <= metrics.rows / 7 + 5);
  options.block_rows = 1;
  shuffle_and_check(&input, &options, &metrics);
  CHECK_INT(metrics.blocks, metrics.rows);
  options.block_rows = 0;
  options.block_size = 10000;
  shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.raw_bytes / metrics.blocks > 5000);
  CHECK(metrics.raw_bytes / metrics.blocks < 15001);
  options.block_size = 1;
  shuffle_and_check(&input, &options, &metrics);
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
  test_input_take(&input, schema, &round_robin, batches, N);
  struct colshuf_map_writer_options options = options_for(&round_robin, 2 << 20);
  shuffle_and_check(&input, &options, &metrics);
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
    test_input_take(&input, schema, &round_robin, batches, 2);
    struct colshuf_map_writer_options options = options_for(&round_robin, 4 << 20);
    options.encoder.codec = codecs[i];
    shuffle_and_check(&input, &options, &metrics);
    CHECK_INT(metrics.rows, 12);
    test_input_close(&input);
  }
}

static void nothing_written_makes_an_empty_output(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct ArrowArray none[1];
  test_input_take(&input, test_schema("a: int32"), &round_robin, none, 0);
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
  shuffle_and_check(&input, &options, &metrics);
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
  test_input_take(&input, schema, &round_robin, &batch, 1);
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
  shuffle_and_check(&input, &options, NULL);
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
  test_input_take(&input, schema, &round_robin, batches, 3);
  struct colshuf_map_writer_options options = options_for(&round_robin, 600 << 10);
  shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.spills > 0);
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
  struct colshuf_map_writer_options options = options_for(&partitioner, 1 << 20);
  shuffle_and_check(&input, &options, NULL);
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
    struct colshuf_map_writer_options options = options_for(&partitioner, partitions[i] == 100000 ? 4 << 20 : 800 << 10);
    struct colshuf_error err;
    setrlimit(RLIMIT_NOFILE, &few);
    enum colshuf_status status = test_shuffle(&input, &options, &metrics, &err);
    setrlimit(RLIMIT_NOFILE, &old);
    REQUIRE_OK(status);
    CHECK(metrics.peak_memory <= options.memory_limit);
    test_check_output(&input, options.output, options.checksum, NULL);
    test_input_close(&input);
  }
}

static void too_many_partitions_for_the_limit_are_refused_with_the_least(void) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct colshuf_partitioner_options partitioner = round_robin;
  struct csf_schema *schema = test_schema("a: int32");
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  partitioner.n_partitions = INT32_MAX;
  struct colshuf_map_writer_options options = options_for(&partitioner, 16 << 20);
  CHECK_STATUS(colshuf_map_writer_new(&exported, &options, &writer, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "at least");
  partitioner.n_partitions = 0;
  options = options_for(&partitioner, 16 << 20);
  CHECK_STATUS(colshuf_map_writer_new(&exported, &options, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  exported.release(&exported);
  csf_schema_release(schema);
}

/* --- the sink --- */

struct collected {
  struct csf_buffer partitions[5];
  int fail_at, calls;
};
static int collect(void *ctx, int32_t partition, const void *bytes, size_t size) {
  struct collected *collected = ctx;
  if (++collected->calls == collected->fail_at) return EPIPE;
  return csf_buffer_append(&collected->partitions[partition], bytes, size, NULL) == COLSHUF_OK ? 0 : ENOMEM;
}

static void a_sink_gets_whole_blocks_and_no_file_appears(void) {
  struct test_input input;
  struct colshuf_error err;
  open_plain_input(&input, 34, 20, 1500);
  struct collected collected = {0};
  for (int i = 0; i < 5; i++) csf_buffer_init(&collected.partitions[i], &test_heap);
  struct colshuf_map_writer_options options = options_for(&round_robin, TIGHT);
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
  struct colshuf_map_writer_options options = options_for(&partitioner, 4 << 20);
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
    struct colshuf_map_writer_options options = options_for(&round_robin, 0);
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
  struct colshuf_map_writer_options options = options_for(&round_robin, 0);
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
    test_input_open(&input, test_schema(types), &round_robin, &random, 6, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, round % 2 == 0 ? 0 : 8 << 20);
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    options.encoder.codec = (enum colshuf_codec)(round % 4);
    shuffle_and_check(&input, &options, NULL);
    test_input_close(&input);
  }
}

/* --- rows spilled as rows --- */

/* As test_shuffle, but spills rows and not blocks, whatever their size. */
static enum colshuf_status shuffle_by_rows(const struct test_input *input, const struct colshuf_map_writer_options *options,
                                           struct colshuf_map_metrics *metrics, struct colshuf_error *err) {
  struct colshuf_map_writer *writer;
  CSF_TRY(colshuf_map_writer_new(&input->exported, options, &writer, err));
  writer->sizes.small_block = UINT64_MAX;
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t i = 0; status == COLSHUF_OK && i < input->n_batches; i++) {
    status = colshuf_map_writer_write(writer, &input->batches[i], err);
    if (status == COLSHUF_OK && i % 4 == 3) status = colshuf_map_writer_spill(writer, NULL, err);
  }
  if (status == COLSHUF_OK) status = colshuf_map_writer_commit(writer, NULL, err);
  if (metrics != NULL) colshuf_map_writer_metrics(writer, metrics);
  colshuf_map_writer_free(writer);
  return status;
}

static void rows_of_every_type_can_be_spilled_as_rows(void) {
  struct test_random random = {41};
  int n = test_cases(80);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct colshuf_error err;
    struct colshuf_map_metrics metrics;
    struct test_schema_options plain = {.no_dictionaries = true};
    struct test_array_options arrays = test_random_options(&random, 200);
    test_input_open(&input, test_random_schema(&random, &plain), &round_robin, &random, 9, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, 8 << 20);
    REQUIRE_OK(shuffle_by_rows(&input, &options, &metrics, &err));
    test_check_output(&input, options.output, options.checksum, NULL);
    CHECK(metrics.spills <= 3);
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
    test_input_close(&input);
  }
}

static struct test_input many_partitions(uint64_t seed, int32_t n_partitions, int64_t rows) {
  struct test_random random = {seed};
  struct test_input input;
  struct test_array_options arrays = {.rows = rows, .null_percent = 10};
  struct colshuf_key key = {.column = 0};
  struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_HASH, .n_partitions = n_partitions, .keys = &key, .n_keys = 1};
  test_input_open(&input, test_schema("k: int64 not null, t: utf8, l: list<item: int16>"), &partitioner, &random, 24, &arrays);
  return input;
}

static void rows_of_many_partitions_make_one_block_each(void) {
  struct test_input input = many_partitions(42, 3000, 4000);
  struct colshuf_map_metrics metrics;
  struct colshuf_key key = {.column = 0};
  struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_HASH, .n_partitions = 3000, .keys = &key, .n_keys = 1};
  struct colshuf_map_writer_options options = options_for(&partitioner, 1 << 20);
  shuffle_and_check(&input, &options, &metrics);
  CHECK(metrics.spills > 2);
  CHECK(metrics.blocks <= 3000);
  CHECK(metrics.peak_memory <= options.memory_limit);
  test_input_close(&input);
}

/* All rows in one group of partitions, far more than memory holds. */
static void a_group_that_does_not_fit_is_spilled_once_more(void) {
  struct test_random random = {43};
  struct ArrowArray batches[20];
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_metrics metrics;
  struct colshuf_key key = {.column = 0};
  struct colshuf_partitioner_options partitioner = {.kind = COLSHUF_PARTITION_ID, .n_partitions = 4000, .keys = &key, .n_keys = 1};
  struct csf_schema *schema = test_schema("p: int32 not null, v: int64, t: utf8");
  for (int i = 0; i < 20; i++) {
    struct test_array_options arrays = {.rows = 4000};
    test_random_array(&random, &schema->root, &arrays, &batches[i]);
    int32_t *ids = (int32_t *)(uintptr_t)batches[i].children[0]->buffers[1];
    for (int64_t j = 0; j < batches[i].length; j++) ids[j] = j % 50 == 0 ? (int32_t)test_random_below(&random, 4000) : 777;
  }
  test_input_take(&input, schema, &partitioner, batches, 20);
  struct colshuf_map_writer_options options = options_for(&partitioner, 1 << 20);
  REQUIRE_OK(shuffle_by_rows(&input, &options, &metrics, &err));
  test_check_output(&input, options.output, options.checksum, NULL);
  CHECK(metrics.spills > 8);
  CHECK(metrics.peak_memory <= options.memory_limit);
  test_input_close(&input);
}

static enum colshuf_status rows_for_sweep(void *ctx) {
  struct colshuf_error err;
  const struct test_input *input = ctx;
  struct colshuf_map_writer_options options = options_for(&round_robin, 1 << 20);
  return shuffle_by_rows(input, &options, NULL, &err);
}

static void every_refused_allocation_is_clean_with_rows_on_disk(void) {
  struct test_input input;
  open_plain_input(&input, 44, 9, 200);
  uint64_t refusals = test_oom_sweep(rows_for_sweep, &input);
  printf("  %" PRIu64 " allocations refused\n", refusals);
  CHECK(refusals > 100);
  test_check_output(&input, make_output(), COLSHUF_CHECKSUM_ADLER32, NULL);
  test_input_close(&input);
}

static void every_system_call_may_fail_with_rows_on_disk(void) {
  struct test_input input;
  struct colshuf_error err;
  uint64_t n = 0;
  open_plain_input(&input, 45, 9, 3000);
  for (bool hit = true; hit;) {
    struct colshuf_map_writer_options options = options_for(&round_robin, 1 << 20);
    test_fault = (struct test_fault){NULL, TEST_FAIL, EIO, ++n, 0, false};
    csf_io_current = &test_faulty_io;
    test_open_files = 0;
    enum colshuf_status status = shuffle_by_rows(&input, &options, NULL, &err);
    csf_io_current = &csf_io_system;
    test_fault.at = 0;
    hit = test_fault.hit;
    CHECK_INT(test_open_files, 0);
    if (status == COLSHUF_OK) test_check_output(&input, options.output, options.checksum, NULL);
    else CHECK_INT(status, COLSHUF_IO);
    remove_left_over();
  }
  printf("  %" PRIu64 " faults injected\n", n - 1);
  CHECK(n > 40);
  test_input_close(&input);
}

static void spilled_rows_that_were_changed_are_found(void) {
  struct test_input input;
  struct colshuf_error err;
  open_plain_input(&input, 46, 9, 2000);
  uint64_t refused = 0;
  for (int round = 0; round < 40; round++) {
    struct test_random random = {(uint64_t)round + 1};
    struct colshuf_map_writer_options options = options_for(&round_robin, 8 << 20);
    struct colshuf_map_writer *writer;
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    writer->sizes.small_block = UINT64_MAX;
    for (int32_t i = 0; i < input.n_batches; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
    REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    char path[700];
    find_spill_file(path, sizeof path);
    FILE *file = fopen(path, "r+b");
    REQUIRE(file != NULL);
    uint64_t size = writer->rows.files[0].size;
    for (int i = 0; i < 20; i++) {
      fseek(file, (long)test_random_below(&random, i < 10 ? 64 : size), SEEK_SET);
      fputc((int)test_random_below(&random, 256), file);
    }
    fclose(file);
    enum colshuf_status status = colshuf_map_writer_commit(writer, NULL, &err);
    CHECK(status == COLSHUF_OK || status == COLSHUF_CORRUPT || status == COLSHUF_LIMIT || status == COLSHUF_NO_MEMORY ||
          status == COLSHUF_UNSUPPORTED);
    refused += status != COLSHUF_OK;
    colshuf_map_writer_free(writer);
  }
  CHECK(refused > 20);
  test_input_close(&input);
}

/* --- threads --- */

static void threads_do_not_change_the_bytes(void) {
  static const enum colshuf_codec codecs[] = {COLSHUF_LZ4, COLSHUF_ZSTD};
  struct test_random random = {47};
  struct test_input input;
  struct test_array_options arrays = {.rows = 9000, .max_text = 8, .repeat_percent = 60};
  struct csf_schema *schema = test_schema("a: utf8, b: utf8 not null, c: int64, d: list<item: int32>, e: decimal128(12, 2)");
  test_input_open(&input, schema, &round_robin, &random, 30, &arrays);
  for (int i = 0; i < 2; i++) {
    struct colshuf_map_writer_options options = options_for(&round_robin, 32 << 20);
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    options.encoder.codec = codecs[i];
    options.block_size = 20000;
    struct csf_buffer alone = shuffle_to_bytes(&input, &options);
    for (int threads = 1; threads < 6; threads += 2) {
      options.compress_threads = threads;
      struct csf_buffer shared = shuffle_to_bytes(&input, &options);
      CHECK(alone.size == shared.size && memcmp(alone.data, shared.data, alone.size) == 0);
      csf_buffer_clear(&shared);
    }
    test_check_output(&input, options.output, options.checksum, NULL);
    csf_buffer_clear(&alone);
  }
  test_input_close(&input);
}

static void failures_in_threads_are_clean(void) {
  struct test_input input;
  open_plain_input(&input, 48, 12, 2000);
  uint64_t failed = 0;
  for (uint64_t nth = 1; nth < 400; nth += 7) {
    struct colshuf_error err;
    struct colshuf_map_writer_options options = options_for(&round_robin, 32 << 20);
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
    TEST(the_least_memory_is_named_and_enough_for_every_type),
    TEST(the_limit_holds_for_everything_that_is_allocated),
    TEST(a_manager_may_refuse_any_request),
    TEST(a_manager_that_gives_little_makes_the_writer_spill),
    TEST(memory_asked_back_is_given_between_calls_only),
    TEST(every_refused_allocation_is_a_clean_failure),
    TEST(every_system_call_may_fail),
    TEST(a_spill_file_cut_short_is_found_at_the_merge),
    TEST(a_spill_folder_that_vanishes_is_an_error_with_its_name),
    TEST(spill_files_take_turns_over_the_folders),
    TEST(descriptors_and_files_stay_flat_over_many_spills),
    TEST(a_second_attempt_replaces_the_first_as_a_whole),
    TEST(the_same_input_and_options_give_the_same_bytes),
    TEST(an_abandoned_writer_leaves_nothing),
    TEST(blocks_are_cut_by_bytes_and_rows),
    TEST(batches_of_one_row_and_of_many_take_turns),
    TEST(rows_without_columns_survive),
    TEST(nothing_written_makes_an_empty_output),
    TEST(columns_of_no_bytes_keep_their_rows),
    TEST(a_row_larger_than_the_limit_goes_through),
    TEST(all_rows_in_one_partition_of_many),
    TEST(thousands_of_partitions_need_little_memory_and_few_files),
    TEST(too_many_partitions_for_the_limit_are_refused_with_the_least),
    TEST(a_sink_gets_whole_blocks_and_no_file_appears),
    TEST(a_refused_batch_leaves_no_trace),
    TEST(options_that_make_no_sense_are_refused),
    TEST(rows_of_every_type_can_be_spilled_as_rows),
    TEST(rows_of_many_partitions_make_one_block_each),
    TEST(a_group_that_does_not_fit_is_spilled_once_more),
    TEST(every_refused_allocation_is_clean_with_rows_on_disk),
    TEST(every_system_call_may_fail_with_rows_on_disk),
    TEST(spilled_rows_that_were_changed_are_found),
    TEST(threads_do_not_change_the_bytes),
    TEST(failures_in_threads_are_clean),
};
TEST_MAIN(tests)
