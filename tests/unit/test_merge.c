/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf_merge: many outputs become one, without decoding. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "colshuf/shuffle.h"
#include "file/output.h"
#include "support/blocks.h"
#include "support/faults.h"
#include "support/messages.h"
#include "support/reading.h"
#include "support/shuffle.h"
#include "support/types.h"
#include "support/value.h"

enum { N_OUTPUTS = 3 };

static struct test_output outputs[N_OUTPUTS];
static struct test_written written[N_OUTPUTS];

/* An output of n_partitions, of n_rows rows each and their own number; returns its path. */
static const char *write_output(int which, const struct csf_schema *schema, int32_t n_partitions, int64_t n_rows,
                                enum colshuf_checksum checksum) {
  char name[16];
  snprintf(name, sizeof name, "m%d", which);
  test_write_plain(&outputs[which], &written[which], schema, n_partitions, n_rows);
  return test_output_write(&outputs[which], name, checksum);
}

static char *path_of(const char *name) {
  static char paths[8][4096];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", test_directory(), name);
  return path;
}

/* The rows of one partition of the files, in order, as text. */
static struct csf_buffer rows_of(const char *const *paths, int32_t n, int32_t partition) {
  static struct test_reading reading;
  struct colshuf_source sources[N_OUTPUTS];
  for (int32_t i = 0; i < n; i++)
    sources[i] = (struct colshuf_source){.data_path = paths[i], .first_partition = partition, .end_partition = partition + 1};
  struct colshuf_read_options options = {.verify_checksums = 1};
  test_read_all(sources, n, &options, &reading);
  CHECK_STRING(reading.message, "");
  struct csf_buffer text = test_buffer();
  for (int b = 0; b < reading.n; b++) {
    for (int64_t r = 0; r < reading.batches[b].length; r++)
      test_value_text(&reading.schema->root, &reading.batches[b], r, &text);
  }
  test_append(&text, "", 1);
  test_reading_clear(&reading);
  return text;
}

/* Each partition of the merged file holds what the sources hold one after another; partitions outside of [first, end) nothing.
 */
static void check_merged(const char *merged, const char *const *paths, int32_t n, int32_t n_partitions, int32_t first,
                         int32_t end) {
  for (int32_t p = 0; p < n_partitions; p++) {
    struct csf_buffer got = rows_of(&merged, 1, p), wanted = rows_of(paths, p >= first && p < end ? n : 0, p);
    CHECK_STRING((char *)got.data, (char *)wanted.data);
    CHECK(p < first || p >= end || got.size > 1);
    csf_buffer_clear(&got);
    csf_buffer_clear(&wanted);
  }
}

static void forget_outputs(void) {
  for (int i = 0; i < N_OUTPUTS; i++) {
    test_written_clear(&written[i]);
    test_output_clear(&outputs[i]);
  }
}

static void every_partition_holds_the_blocks_of_the_sources_in_order(void) {
  struct colshuf_error err;
  struct colshuf_merge_summary summary;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  const char *paths[N_OUTPUTS];
  for (int i = 0; i < N_OUTPUTS; i++) paths[i] = write_output(i, schema, 5, 20, (enum colshuf_checksum)i);
  for (int checksum = 0; checksum < 4; checksum++) {
    struct colshuf_merge_options options = {
        .allocator = test_heap, .output = path_of("merged"), .checksum = (enum colshuf_checksum)checksum};
    REQUIRE_OK(colshuf_merge(paths, N_OUTPUTS, &options, &summary, &err));
    CHECK_INT(summary.n_partitions, 5);
    CHECK_INT(summary.blocks, 5 * N_OUTPUTS);
    CHECK_INT(summary.bytes, outputs[0].data.size + outputs[1].data.size + outputs[2].data.size);
    check_merged(path_of("merged.data"), paths, N_OUTPUTS, 5, 0, 5);
  }
  struct colshuf_merge_options some = {
      .allocator = test_heap, .output = path_of("some"), .first_partition = 1, .end_partition = 3, .native_index = 1};
  REQUIRE_OK(colshuf_merge(paths, N_OUTPUTS, &some, NULL, &err));
  check_merged(path_of("some.data"), paths, N_OUTPUTS, 5, 1, 3);
  forget_outputs();
  csf_schema_release(schema);
}

static void check_refused(int line, const char *const *paths, int32_t n, enum colshuf_status wanted, const char *reason) {
  struct colshuf_error err = {.message = ""};
  struct colshuf_merge_options options = {.allocator = test_heap, .output = path_of("refused")};
  enum colshuf_status status = colshuf_merge(paths, n, &options, NULL, &err);
  if (status != wanted || strstr(err.message, reason) == NULL) {
    test_fail(__FILE__, line, "%s: %s; wanted %s: %s", colshuf_status_name(status), err.message, colshuf_status_name(wanted),
              reason);
  }
  CHECK_INT(test_count_files(test_directory(), "refused"), 0);
}

static void sources_that_do_not_fit_together_are_refused_and_both_are_named(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8"), *other = test_schema("k: int64, s: utf8");
  const char *paths[N_OUTPUTS] = {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_ADLER32),
                                  write_output(1, schema, 3, 9, COLSHUF_CHECKSUM_ADLER32),
                                  write_output(2, other, 4, 9, COLSHUF_CHECKSUM_ADLER32)};
  check_refused(__LINE__, paths, 2, COLSHUF_CORRUPT, "m1.data has 3 partitions, ");
  paths[1] = paths[2];
  check_refused(__LINE__, paths, 2, COLSHUF_CORRUPT, "m0.data");
  check_refused(__LINE__, paths, 2, COLSHUF_CORRUPT, "m2.data, partition 0, block 0");
  check_refused(__LINE__, paths, 0, COLSHUF_INVALID_ARGUMENT, "nothing to merge");
  paths[0] = path_of("missing.data");
  check_refused(__LINE__, paths, 1, COLSHUF_IO, "missing.index");
  forget_outputs();
  csf_schema_release(schema);
  csf_schema_release(other);
}

static void a_damaged_source_is_not_merged(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  const char *paths[2] = {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_CRC32),
                          write_output(1, schema, 4, 9, COLSHUF_CHECKSUM_CRC32C)};
  FILE *file = fopen(paths[1], "r+b");
  REQUIRE(file != NULL && fseek(file, (long)outputs[1].blocks[2] + 60, SEEK_SET) == 0);
  int byte = fgetc(file);
  REQUIRE(fseek(file, (long)outputs[1].blocks[2] + 60, SEEK_SET) == 0 && fputc(byte ^ 4, file) != EOF && fclose(file) == 0);
  check_refused(__LINE__, paths, 2, COLSHUF_CORRUPT, "m1.data, partition 2");
  REQUIRE(truncate(paths[0], (off_t)outputs[0].data.size - 1) == 0);
  check_refused(__LINE__, paths, 1, COLSHUF_CORRUPT, "m0.data, partition 3");
  forget_outputs();
  csf_schema_release(schema);
}

static void a_source_that_goes_on_behind_its_index_is_not_merged(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  const char *paths[1] = {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_NONE)};
  FILE *file = fopen(paths[0], "ab");
  REQUIRE(file != NULL && fputc('x', file) != EOF && fclose(file) == 0);
  check_refused(__LINE__, paths, 1, COLSHUF_CORRUPT, "the index ends at");
  forget_outputs();
  csf_schema_release(schema);
}

static void options_that_cannot_be_are_refused_before_anything_is_read(void) {
  const char *paths[1] = {path_of("nothing.data")};
  struct colshuf_error err;
  const struct colshuf_merge_options bad[] = {{.output = path_of("refused"), .checksum = (enum colshuf_checksum)4},
                                              {.output = path_of("refused"), .checksum = (enum colshuf_checksum)-1},
                                              {.output = path_of("")},
                                              {.output = ""},
                                              {.output = NULL}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) CHECK_INT(colshuf_merge(paths, 1, &bad[i], NULL, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_INT(colshuf_merge(paths, 1, NULL, NULL, &err), COLSHUF_INVALID_ARGUMENT);
}

static int stop_at_once(void *ctx, uint64_t done, uint64_t total) {
  CHECK(done > 0 && done <= total);
  *(int *)ctx += 1;
  return 1;
}

static void progress_can_end_it(void) {
  struct colshuf_error err;
  struct csf_schema *schema = test_schema("k: int32");
  const char *paths[1] = {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_ADLER32)};
  int calls = 0;
  struct colshuf_merge_options options = {
      .allocator = test_heap, .output = path_of("stopped"), .progress = stop_at_once, .ctx = &calls};
  CHECK_INT(colshuf_merge(paths, 1, &options, NULL, &err), COLSHUF_CANCELLED);
  CHECK_INT(calls, 1);
  CHECK_INT(test_count_files(test_directory(), "stopped"), 0);
  forget_outputs();
  csf_schema_release(schema);
}

struct attempt {
  const char *paths[2];
};

static enum colshuf_status attempt(void *ctx) {
  struct attempt *a = ctx;
  struct colshuf_merge_options options = {.allocator = test_heap, .output = path_of("swept")};
  return colshuf_merge(a->paths, 2, &options, NULL, NULL);
}

static void refused_memory_leaves_nothing_behind(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  struct attempt a = {
      {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_ADLER32), write_output(1, schema, 4, 9, COLSHUF_CHECKSUM_NONE)}};
  CHECK(test_oom_sweep(attempt, &a) > 5);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  forget_outputs();
  csf_schema_release(schema);
}

/* Every call fails once; the result is then whole, or not there. */
static void every_failing_system_call_leaves_a_whole_output_or_none(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  struct attempt a = {
      {write_output(0, schema, 4, 9, COLSHUF_CHECKSUM_ADLER32), write_output(1, schema, 4, 9, COLSHUF_CHECKSUM_ADLER32)}};
  uint64_t n_faults = 0;
  csf_io_current = &test_faulty_io;
  for (int error = 0; error < 3; error++) {
    static const int errors[] = {ENOSPC, EIO, EMFILE};
    for (uint64_t at = 1;; at++) {
      test_fault = (struct test_fault){.effect = TEST_FAIL, .error = errors[error], .at = at};
      enum colshuf_status status = attempt(&a);
      bool hit = test_fault.hit;
      test_fault = (struct test_fault){0};
      if (!hit) break;
      n_faults++;
      CHECK(status == COLSHUF_OK || status == COLSHUF_IO);
      if (status == COLSHUF_OK) check_merged(path_of("swept.data"), a.paths, 2, 4, 0, 4);
      CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
    }
  }
  csf_io_current = &csf_io_system;
  printf("  %" PRIu64 " faults injected\n", n_faults);
  CHECK(n_faults > 60);
  forget_outputs();
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(every_partition_holds_the_blocks_of_the_sources_in_order),
    TEST(sources_that_do_not_fit_together_are_refused_and_both_are_named),
    TEST(a_damaged_source_is_not_merged),
    TEST(a_source_that_goes_on_behind_its_index_is_not_merged),
    TEST(options_that_cannot_be_are_refused_before_anything_is_read),
    TEST(progress_can_end_it),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(every_failing_system_call_leaves_a_whole_output_or_none),
};
TEST_MAIN(tests)
