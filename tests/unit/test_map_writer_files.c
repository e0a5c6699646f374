/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer and files: faults of every system call, spill files and folders, attempts, rows spilled as rows. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/faults.h"
#include "support/map_writer.h"

/* Every step-th call. Returns how many faults were injected, which must be one at least. */
static uint64_t sweep_calls(const struct test_input *input, uint64_t limit, uint64_t step, const char *call, enum test_effect effect,
                            int error) {
  struct colshuf_error err;
  uint64_t n = 0;
  for (uint64_t at = 1;; at += step) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, limit);
    test_remove_output();
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
    else if (!stuck) CHECK(!test_output_exists());
    if (status != COLSHUF_OK) CHECK(status == COLSHUF_IO || status == COLSHUF_CORRUPT);
    if (status == COLSHUF_IO) CHECK_INT(err.system_errno, error);
    test_remove_left_over();
    if (!test_fault.hit) break;
    n++;
  }
  printf("  %s: %" PRIu64 " faults injected\n", call == NULL ? "any call" : call, n);
  CHECK(n > 0);
  return n;
}

static void every_system_call_may_fail(void) {
  struct test_input input;
  test_plain_input(&input, 18, 14, 1300);
  uint64_t n = sweep_calls(&input, TEST_TIGHT, 1, NULL, TEST_FAIL, EIO);
  n += sweep_calls(&input, TEST_TIGHT, 1, "write", TEST_FAIL, ENOSPC);
  n += sweep_calls(&input, TEST_TIGHT, 1, "write", TEST_FAIL_FOREVER, ENOSPC);
  n += sweep_calls(&input, TEST_TIGHT, 1, "pread", TEST_FAIL, EIO);
  n += sweep_calls(&input, TEST_TIGHT, 1, "open", TEST_FAIL, EMFILE);
  n += sweep_calls(&input, TEST_TIGHT, 1, "write", TEST_SHORT, 0);
  printf("  %" PRIu64 " faults injected\n", n);
  CHECK(n > 60);
  test_input_close(&input);
}

/* A limit at which the data file gathers what it copies, and runs so long that some of them is given back on the way. */
enum { WIDE = 4 << 20 };

static void every_system_call_of_a_merge_of_long_runs_may_fail(void) {
  struct test_input input;
  test_plain_input(&input, 47, 16, 8000);
  sweep_calls(&input, WIDE, 13, NULL, TEST_FAIL, EIO);
  sweep_calls(&input, WIDE, 10, "write", TEST_FAIL, ENOSPC);
  sweep_calls(&input, WIDE, 4, "pread", TEST_FAIL, EIO);
  sweep_calls(&input, WIDE, 4, "pread", TEST_SHORT, 0);
  sweep_calls(&input, WIDE, 10, "write", TEST_SHORT, 0);
  test_input_close(&input);
}

static uint64_t discarded;

static int count_discard(int fd, uint64_t offset, uint64_t size) {
  CHECK(size >= 1 << 20);
  CHECK_INT(offset % 4096, 0);
  discarded += size;
  return csf_io_system.discard(fd, offset, size);
}

static void what_was_merged_is_given_back_and_need_not_be(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  struct csf_io counting = csf_io_system;
  counting.discard = count_discard;
  test_plain_input(&input, 48, 24, 8000);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, WIDE);
  discarded = 0;
  csf_io_current = &counting;
  test_shuffle_and_check(&input, &options, &metrics);
  csf_io_current = &csf_io_system;
  printf("  %" PRIu64 " bytes of %" PRIu64 " in %" PRIu64 " spills given back\n", discarded, metrics.spilled_bytes, metrics.spills);
  CHECK(metrics.spills > 1);
  CHECK(discarded > metrics.spilled_bytes / 3 && discarded <= metrics.spilled_bytes);
  test_remove_output();
  test_fault = (struct test_fault){"discard", TEST_FAIL_FOREVER, EOPNOTSUPP, 1, 0, false};
  csf_io_current = &test_faulty_io;
  test_shuffle_and_check(&input, &options, NULL);
  csf_io_current = &csf_io_system;
  CHECK(test_fault.hit);
  test_fault.at = 0;
  test_input_close(&input);
}

static void a_spill_file_cut_short_is_found_at_the_merge(void) {
  struct test_input input;
  struct colshuf_error err;
  test_plain_input(&input, 19, 20, 1500);
  for (int whole = 0; whole < 2; whole++) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
    struct colshuf_map_writer *writer = test_spilled_writer(&input, &options);
    char path[700];
    struct stat found;
    test_spill_file(path, sizeof path);
    REQUIRE(stat(path, &found) == 0);
    REQUIRE(truncate(path, whole ? 0 : found.st_size - 1) == 0);
    CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_CORRUPT);
    CHECK(strstr(err.message, "colshuf-tmp") != NULL || strstr(err.message, "spill file was changed") != NULL);
    CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_CORRUPT);
    CHECK_CONTAINS(err.message, "dead");
    colshuf_map_writer_free(writer);
    CHECK(!test_output_exists());
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
  test_plain_input(&input, 20, 20, 1500);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
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

/* The folder goes with the spill file in it. What was spilled stays readable; a further file is an error that names the folder. */
static void a_spill_folder_that_vanishes_between_two_spills_is_no_crash(void) {
  struct test_input input;
  char folder[600], path[700];
  snprintf(folder, sizeof folder, "%s/gone", test_directory());
  const char *folders[] = {folder};
  test_plain_input(&input, 20, 20, 1500);
  for (int i = 0; i < 4; i++) {
    bool new_file = i % 2 == 1;
    struct colshuf_error err;
    struct colshuf_map_writer *writer;
    struct test_memory_manager manager = {.total = 1 << 30};
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
    options.memory_manager = test_memory_manager(&manager);
    options.spill_dirs = folders;
    options.n_spill_dirs = 1;
    REQUIRE(mkdir(folder, 0777) == 0);
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    writer->sizes.small_block = i < 2 ? 0 : UINT64_MAX; /* blocks, rows */
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[0], &err));
    REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    test_file_in(folder, "colshuf-tmp", path, sizeof path);
    REQUIRE(unlink(path) == 0 && rmdir(folder) == 0);
    if (new_file) writer->spills.file_size = writer->rows.file_size = 1;
    for (int32_t b = 1; b < input.n_batches; b++) REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[b], &err));
    enum colshuf_status status = colshuf_map_writer_spill(writer, NULL, &err);
    if (new_file) {
      CHECK_INT(status, COLSHUF_IO);
      CHECK_CONTAINS(err.message, folder);
      CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_IO);
    } else {
      REQUIRE_OK(status);
      REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
    }
    colshuf_map_writer_free(writer);
    CHECK_INT(manager.granted, 0);
    if (!new_file) test_check_output(&input, options.output, options.checksum, NULL);
  }
  test_input_close(&input);
}

/* A limit on the size of files stands in for a small disk: the system itself refuses, in the middle of a write. */
static enum colshuf_status shuffle_on_a_small_disk(const struct test_input *input, const struct colshuf_map_writer_options *options,
                                                   uint64_t disk, struct colshuf_error *err) {
  struct rlimit old, small;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  small = (struct rlimit){disk, old.rlim_max};
  void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  enum colshuf_status status = test_shuffle(input, options, NULL, err);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, before);
  return status;
}

static void a_full_disk_is_an_error_and_leaves_nothing_to_be_read(void) {
  struct test_input input;
  struct colshuf_error err;
  test_plain_input(&input, 27, 24, 3000);
  for (int i = 0; i < 4; i++) { /* in a spill, at the commit; by the system, and as a disk says it */
    struct test_memory_manager manager = {.total = 1 << 30};
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, i % 2 ? 0 : 2 << 20);
    options.memory_manager = test_memory_manager(&manager);
    options.encoder.codec = COLSHUF_NONE;
    if (i < 2) {
      CHECK_INT(shuffle_on_a_small_disk(&input, &options, 1 << 20, &err), COLSHUF_IO);
      CHECK_INT(err.system_errno, EFBIG);
    } else {
      test_fault = (struct test_fault){"write", TEST_FAIL_FOREVER, ENOSPC, 3, 0, false};
      csf_io_current = &test_faulty_io;
      CHECK_INT(test_shuffle(&input, &options, NULL, &err), COLSHUF_IO);
      csf_io_current = &csf_io_system;
      CHECK(test_fault.hit);
      test_fault.at = 0;
      CHECK_INT(err.system_errno, ENOSPC);
    }
    CHECK_CONTAINS(err.message, "colshuf-tmp");
    CHECK_INT(manager.granted, 0);
    CHECK_INT(test_count_files(test_directory(), ""), 2); /* . and .. */
  }
  test_input_close(&input);
}

/* The failed spill says what failed; what comes after says that the writer is dead, and freeing it gives everything back. */
static void a_spill_that_fails_gives_its_memory_back(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct test_memory_manager manager = {.total = 1 << 30};
  test_plain_input(&input, 28, 6, 2000);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
  options.memory_manager = test_memory_manager(&manager);
  uint64_t before = test_heap_bytes();
  REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
  for (int i = 0; i < 6; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
  test_fault = (struct test_fault){"write", TEST_FAIL, ENOSPC, 1, 0, false};
  csf_io_current = &test_faulty_io;
  CHECK_STATUS(colshuf_map_writer_spill(writer, NULL, &err), COLSHUF_IO);
  csf_io_current = &csf_io_system;
  CHECK(test_fault.hit);
  test_fault.at = 0;
  CHECK_INT(err.system_errno, ENOSPC);
  CHECK_STATUS(colshuf_map_writer_spill(writer, NULL, &err), COLSHUF_IO);
  CHECK_CONTAINS(err.message, "dead");
  CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_IO);
  CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_IO);
  CHECK(manager.granted > 0);
  colshuf_map_writer_free(writer);
  CHECK_INT(manager.granted, 0);
  CHECK_INT(test_heap_bytes(), before);
  CHECK_INT(test_count_files(test_directory(), ""), 2);
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
  test_plain_input(&input, 21, 20, 1500);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
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
  static const struct { int32_t n_partitions, n_spills; } cases[] = {{5, 50}, {200, 300}};
  struct test_input input;
  struct colshuf_error err;
  test_plain_input(&input, 22, 10, 300);
  for (int i = 0; i < 2; i++) {
    struct colshuf_map_writer *writer;
    int32_t before = test_open_descriptors(), first = -1;
    struct colshuf_partitioner_options partitioner = test_round_robin;
    partitioner.n_partitions = cases[i].n_partitions;
    struct colshuf_map_writer_options options = test_map_options(&partitioner, 0);
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    for (int round = 0; round < cases[i].n_spills; round++) {
      REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[round % 10], &err));
      REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
      if (first < 0) first = test_open_descriptors();
      CHECK_INT(test_open_descriptors(), first);
      CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 1);
    }
    REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
    CHECK_INT(test_open_descriptors(), before);
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
    colshuf_map_writer_free(writer);
    CHECK(first <= before + 1);
  }
  test_input_close(&input);
}

static void a_second_attempt_replaces_the_first_as_a_whole(void) {
  struct test_input first, second;
  test_plain_input(&first, 23, 10, 500);
  test_plain_input(&second, 24, 6, 900);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 0);
  test_shuffle_and_check(&first, &options, NULL);
  options.checksum = COLSHUF_CHECKSUM_CRC32C;
  test_shuffle_and_check(&second, &options, NULL);
  test_input_close(&first);
  test_input_close(&second);
}

/* Without compression or memory limit it is a plain tree of nothing: freeing removes all. */
static void an_abandoned_writer_leaves_nothing(void) {
  struct test_input input;
  test_plain_input(&input, 26, 20, 1500);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, TEST_TIGHT);
  struct colshuf_map_writer *writer = test_spilled_writer(&input, &options);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 1);
  colshuf_map_writer_free(writer);
  CHECK_INT(test_count_files(test_directory(), ""), 2); /* . and .. */
  colshuf_map_writer_free(NULL);
  test_input_close(&input);
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
    test_input_open(&input, test_random_schema(&random, &plain), &test_round_robin, &random, 9, &arrays);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
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
  struct colshuf_map_writer_options options = test_map_options(&partitioner, 1 << 20);
  test_shuffle_and_check(&input, &options, &metrics);
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
  struct colshuf_map_writer_options options = test_map_options(&partitioner, 1 << 20);
  REQUIRE_OK(shuffle_by_rows(&input, &options, &metrics, &err));
  test_check_output(&input, options.output, options.checksum, NULL);
  CHECK(metrics.spills > 8);
  CHECK(metrics.peak_memory <= options.memory_limit);
  test_input_close(&input);
}

static enum colshuf_status rows_for_sweep(void *ctx) {
  struct colshuf_error err;
  const struct test_input *input = ctx;
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 1 << 20);
  return shuffle_by_rows(input, &options, NULL, &err);
}

static void every_refused_allocation_is_clean_with_rows_on_disk(void) {
  struct test_input input;
  test_plain_input(&input, 44, 9, 200);
  uint64_t refusals = test_oom_sweep(rows_for_sweep, &input);
  printf("  %" PRIu64 " allocations refused\n", refusals);
  CHECK(refusals > 100);
  test_check_output(&input, test_output_name(), COLSHUF_CHECKSUM_ADLER32, NULL);
  test_input_close(&input);
}

static void every_system_call_may_fail_with_rows_on_disk(void) {
  struct test_input input;
  struct colshuf_error err;
  uint64_t n = 0;
  test_plain_input(&input, 45, 9, 3000);
  for (bool hit = true; hit;) {
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 1 << 20);
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
    test_remove_left_over();
  }
  printf("  %" PRIu64 " faults injected\n", n - 1);
  CHECK(n > 40);
  test_input_close(&input);
}

static void spilled_rows_that_were_changed_are_found(void) {
  struct test_input input;
  struct colshuf_error err;
  test_plain_input(&input, 46, 9, 2000);
  uint64_t refused = 0;
  for (int round = 0; round < 40; round++) {
    struct test_random random = {(uint64_t)round + 1};
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 8 << 20);
    struct colshuf_map_writer *writer;
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    writer->sizes.small_block = UINT64_MAX;
    for (int32_t i = 0; i < input.n_batches; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
    REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    char path[700];
    test_spill_file(path, sizeof path);
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

static const struct test_case tests[] = {
    TEST(every_system_call_may_fail),
    TEST(every_system_call_of_a_merge_of_long_runs_may_fail),
    TEST(what_was_merged_is_given_back_and_need_not_be),
    TEST(a_spill_file_cut_short_is_found_at_the_merge),
    TEST(a_spill_folder_that_vanishes_is_an_error_with_its_name),
    TEST(a_spill_folder_that_vanishes_between_two_spills_is_no_crash),
    TEST(a_full_disk_is_an_error_and_leaves_nothing_to_be_read),
    TEST(a_spill_that_fails_gives_its_memory_back),
    TEST(spill_files_take_turns_over_the_folders),
    TEST(descriptors_and_files_stay_flat_over_many_spills),
    TEST(a_second_attempt_replaces_the_first_as_a_whole),
    TEST(an_abandoned_writer_leaves_nothing),
    TEST(rows_of_every_type_can_be_spilled_as_rows),
    TEST(rows_of_many_partitions_make_one_block_each),
    TEST(a_group_that_does_not_fit_is_spilled_once_more),
    TEST(every_refused_allocation_is_clean_with_rows_on_disk),
    TEST(every_system_call_may_fail_with_rows_on_disk),
    TEST(spilled_rows_that_were_changed_are_found),
};
TEST_MAIN(tests)
