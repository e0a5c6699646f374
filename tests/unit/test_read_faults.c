/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduce side when something is wrong: with bytes, sources, memory. What came before is delivered, and the place is named.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "file/io.h"
#include "support/reading.h"
#include "support/types.h"

static struct test_output output; /* large */

static void every_truncation_is_told_and_earlier_rows_are_delivered(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  test_write_plain(&output, &written, schema, 2, 5);
  size_t second = (size_t)output.blocks[1];
  for (size_t size = second; size < output.data.size; size++) {
    for (size_t step = 0; step < 3; step++) {
      struct test_drip drip = {.data = output.data.data, .size = size, .step = step == 1 ? 1 : 4096};
      struct colshuf_source source = {.bytes = output.data.data, .size = size};
      if (step > 0) source = test_drip_source(&drip);
      test_read_all(&source, 1, NULL, &reading);
      CHECK_INT(reading.n_rows, 5);
      CHECK_INT(reading.status, size == second ? COLSHUF_OK : COLSHUF_CORRUPT);
      if (size > second)
        CHECK_CONTAINS(reading.message,
                       size - second < COLSHUF_BLOCK_HEADER_SIZE ? "truncated block header" : "truncated block:");
      test_reading_clear(&reading);
    }
  }
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_file_of_another_size_than_its_index_says_gives_the_partitions_it_has(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 4, 50);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  REQUIRE(truncate(path, (off_t)output.data.size - 100) == 0);
  struct colshuf_source source = {.data_path = path, .end_partition = 3};
  test_read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  test_check_read(&reading, &written, 0, 3, NULL);
  test_reading_clear(&reading);
  source.end_partition = 4;
  test_read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_INT(reading.n_rows, 150);
  char sizes[100];
  snprintf(sizes, sizeof sizes, "the file has %zu bytes, the partition ends at %zu", output.data.size - 100, output.data.size);
  CHECK_CONTAINS(reading.message, "out.data, partition 3, block 0");
  CHECK_CONTAINS(reading.message, sizes);
  test_reading_clear(&reading);
  /* Behind the last partition: whoever reads it learns that data and index do not belong together, unless that is to be overlooked. */
  path = test_output_write(&output, "long", COLSHUF_CHECKSUM_NONE);
  REQUIRE(truncate(path, (off_t)output.data.size + 100) == 0);
  snprintf(sizes, sizeof sizes, "the file has %zu bytes, the index ends at %zu", output.data.size + 100, output.data.size);
  for (int i = 0; i < 4; i++) {
    source = (struct colshuf_source){.data_path = path, .end_partition = i == 0 ? 3 : 4};
    struct colshuf_read_options options = {.skip_corrupt = i == 2, .threads = i == 3 ? 2 : 0};
    test_read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.status, i % 2 ? COLSHUF_CORRUPT : COLSHUF_OK);
    CHECK_INT(reading.n_rows, i == 0 ? 150 : 200);
    if (i % 2) CHECK_CONTAINS(reading.message, "long.data, partition 3");
    if (i % 2) CHECK_CONTAINS(reading.message, sizes);
    test_reading_clear(&reading);
  }
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

/* Makes block i unreadable by its header, or by its content. */
static void spoil(int i, bool header) {
  uint8_t *block = output.data.data + output.blocks[i];
  if (header) memset(block, 0xff, 8);
  if (!header) memset(block + COLSHUF_BLOCK_HEADER_SIZE, 0, 8);
}

static void check_skipping(int header, int threads) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 5, 10);
  spoil(2, header);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  struct colshuf_source source = {.data_path = path};
  struct colshuf_error err = {0};
  struct colshuf_read_metrics metrics;
  struct ArrowArrayStream stream;
  struct colshuf_read_options options = {.allocator = test_heap, .skip_corrupt = 1, .threads = threads};
  REQUIRE_OK(colshuf_read(&source, 1, &options, &metrics, &stream, &err));
  test_read_stream(&stream, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n_rows, 40);
  CHECK_INT(metrics.skipped_blocks, 1);
  CHECK_INT(metrics.sources, 1);
  CHECK_INT(metrics.rows, 40);
  CHECK_INT(metrics.blocks, header ? 4 : 5);
  test_reading_clear(&reading);
  options.skip_corrupt = 0;
  test_read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_INT(reading.n_rows, 20);
  CHECK_CONTAINS(reading.message, "partition 2, block 0 at offset ");
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void corrupt_blocks_are_skipped_when_asked_and_counted(void) {
  for (int header = 0; header < 2; header++) {
    for (int threads = 0; threads < 3; threads++) check_skipping(header, threads);
  }
}

static void a_checksum_that_differs_is_told_with_both_numbers(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  test_write_plain(&output, &written, schema, 4, 500);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32);
  FILE *file = fopen(path, "r+b");
  REQUIRE(file != NULL);
  fseek(file, (long)output.blocks[3] - 200, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, (long)output.blocks[3] - 200, SEEK_SET);
  fputc(byte ^ 0x10, file);
  fclose(file);
  struct colshuf_source source = {.data_path = path};
  struct colshuf_read_options options = {.verify_checksums = 1, .trust = COLSHUF_TRUSTED_LOCAL};
  test_read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(reading.message, "partition 2");
  test_reading_clear(&reading);
  source.first_partition = 3;
  source.end_partition = 4;
  test_read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n_rows, 500);
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_source_that_fails_leaves_what_was_delivered(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  test_write_plain(&output, &written, schema, 3, 10);
  struct test_drip good = {.data = output.data.data, .size = output.data.size, .step = 100}, bad = good, never = good;
  bad.fail_at = (int64_t)output.blocks[2] - 5;
  struct colshuf_source sources[] = {test_drip_source(&good), test_drip_source(&bad), test_drip_source(&never)};
  test_read_all(sources, 3, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_IO);
  CHECK(reading.n_rows >= 40);
  CHECK_CONTAINS(reading.message, "input, block 2 at offset ");
  CHECK_INT(good.released + bad.released + never.released, 3);
  CHECK_INT(never.at, 0);
  test_reading_clear(&reading);
  struct colshuf_source missing = {.data_path = "/nonexistent/x.data"};
  test_read_all(&missing, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_IO);
  CHECK_CONTAINS(reading.message, "/nonexistent/x.data");
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void reading_ends_when_it_is_cancelled(void) {
  static struct test_written written;
  struct csf_schema *schema = test_schema("k: int32");
  test_write_plain(&output, &written, schema, 3, 10);
  int cancelled = 0;
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  struct colshuf_read_options options = {.allocator = test_heap, .target_rows = 1, .cancelled = &cancelled};
  REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  batch.release(&batch);
  cancelled = 1;
  CHECK_INT(stream.get_next(&stream, &batch), ECANCELED);
  CHECK_INT(colshuf_stream_status(&stream), COLSHUF_CANCELLED);
  CHECK_INT(stream.get_next(&stream, &batch), ECANCELED);
  stream.release(&stream);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_block_above_the_memory_limit_is_refused(void) {
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("s: utf8");
  struct test_random random = {9};
  struct ArrowArray batch;
  struct test_array_options array = {.rows = 1000, .max_text = 4000};
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&output);
  test_output_add(&output, &schema->root, &batch, 0, 1000, COLSHUF_NONE);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  struct colshuf_read_options options = {.memory_limit = 100000};
  test_read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_LIMIT);
  CHECK_CONTAINS(reading.message, "at most 100000");
  test_reading_clear(&reading);
  batch.release(&batch);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void memory_stays_within_the_limit_however_many_sources(void) {
  enum { SOURCES = 10000, LIMIT = 4 << 20 };
  struct csf_schema *schema = test_schema("a: int64, s: utf8, l: list<int32>");
  struct test_random random = {42};
  struct ArrowArray batch;
  struct test_array_options array = {.rows = 2000, .max_text = 100};
  test_random_array(&random, &schema->root, &array, &batch);
  static struct colshuf_source sources[SOURCES];
  for (int codec = 0; codec < 2; codec++) {
    test_output_init(&output);
    test_output_add(&output, &schema->root, &batch, 0, 2000, (enum colshuf_codec)codec);
    test_output_end_partition(&output);
    const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
    for (int i = 0; i < SOURCES; i++) sources[i] = (struct colshuf_source){.data_path = path};
    for (int how = 0; how < 4; how++) { /* alone, with one who decodes ahead, with one or three who read as well */
      struct colshuf_error err = {0};
      struct ArrowArrayStream stream;
      struct ArrowArray out;
      struct colshuf_read_options options = {.allocator = test_heap, .memory_limit = LIMIT, .threads = how == 3 ? 3 : how > 0, .any_order = how > 1};
      uint64_t before = test_heap_bytes();
      test_heap_reset_peak();
      REQUIRE_OK(colshuf_read(sources, SOURCES, &options, NULL, &stream, &err));
      for (int i = 0; i < 300; i++) {
        REQUIRE(stream.get_next(&stream, &out) == 0);
        out.release(&out);
      }
      CHECK(test_heap_peak() - before < LIMIT + SOURCES * (sizeof sources[0] + 2 * strlen(path)));
      stream.release(&stream);
    }
    test_output_clear(&output);
  }
  batch.release(&batch);
  csf_schema_release(schema);
}

static int threads_of_read_once;

static enum colshuf_status read_once(void *ctx) {
  const struct colshuf_source *source = ctx;
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct ArrowSchema schema;
  int32_t columns[] = {1, 0};
  struct colshuf_read_options options = {
      .allocator = test_heap, .target_rows = 12, .columns = columns, .n_columns = 2, .threads = threads_of_read_once};
  enum colshuf_status status = colshuf_read(source, 1, &options, NULL, &stream, &err);
  if (status != COLSHUF_OK) return status;
  if (stream.get_schema(&stream, &schema) == 0) {
    schema.release(&schema);
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) batch.release(&batch);
  }
  status = colshuf_stream_status(&stream);
  stream.release(&stream);
  return status;
}

static void reading_survives_every_refusal(void) {
  static struct test_written written;
  struct csf_schema *schema = test_schema("a: dictionary<int8, utf8>, b: list<int32>, c: utf8_view");
  test_write_plain(&output, &written, schema, 3, 10);
  struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32)};
  CHECK(test_oom_sweep(read_once, &source) > 20);
  test_written_clear(&written);
  test_output_clear(&output);
  test_write_plain(&output, &written, schema, 2, 6000);
  test_output_clear(&output);
  test_output_init(&output);
  for (int i = 0; i < 2; i++) test_output_add(&output, &schema->root, &written.batches[i], 0, 6000, COLSHUF_NONE);
  test_output_end_partition(&output);
  source.data_path = test_output_write(&output, "plain", COLSHUF_CHECKSUM_NONE);
  CHECK(test_oom_sweep(read_once, &source) > 20);
  threads_of_read_once = 2;
  CHECK(test_oom_sweep(read_once, &source) > 20);
  threads_of_read_once = 0;
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void waiting_blocks_hold_no_more_than_they_need(void) {
  enum { BLOCKS = 64, ROWS = 1000 };
  struct csf_schema *schema = test_schema("a: int64, b: int64, c: float64, d: decimal128(20, 0)");
  struct test_random random = {43};
  struct ArrowArray batch;
  struct test_array_options array = {.rows = ROWS};
  test_random_array(&random, &schema->root, &array, &batch);
  for (int codec = 0; codec < 4; codec++) {
    test_output_init(&output);
    for (int i = 0; i < BLOCKS; i++) {
      test_output_add(&output, &schema->root, &batch, 0, ROWS - 5 * (i % 8), (enum colshuf_codec)codec);
    }
    struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
    struct colshuf_read_options options = {.allocator = test_heap, .target_rows = BLOCKS * ROWS};
    struct colshuf_error err = {0};
    struct ArrowArrayStream stream;
    struct ArrowArray out;
    uint64_t before = test_heap_bytes(), raw = (uint64_t)BLOCKS * ROWS * 40;
    test_heap_reset_peak();
    REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
    REQUIRE(stream.get_next(&stream, &out) == 0);
    CHECK(test_heap_peak() - before < 2 * raw + raw / 2 + (1 << 20)); /* what waits, and what is made of it */
    out.release(&out);
    stream.release(&stream);
    test_output_clear(&output);
  }
  batch.release(&batch);
  csf_schema_release(schema);
}

/* System calls of reading, of which the nth fails, or each is interrupted and short. */
static int64_t calls_left;
static bool in_pieces;

static bool fails_now(void) {
  if (--calls_left != 0) return false;
  errno = EIO;
  return true;
}

static int faulty_open(const char *path, int flags, mode_t mode) {
  return fails_now() ? -1 : csf_io_system.open(path, flags, mode);
}

static int faulty_fstat(int fd, struct stat *out) {
  return fails_now() ? -1 : csf_io_system.fstat(fd, out);
}

static ssize_t faulty_pread(int fd, void *buffer, size_t size, off_t offset) {
  static int turn;
  if (fails_now()) return -1;
  if (in_pieces && turn++ % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return csf_io_system.pread(fd, buffer, in_pieces && size > 7 ? 7 : size, offset);
}

static void every_failing_system_call_is_told_and_interrupted_ones_are_not(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_io faulty = csf_io_system;
  faulty.open = faulty_open;
  faulty.fstat = faulty_fstat;
  faulty.pread = faulty_pread;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 3, 10);
  struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32)};
  struct colshuf_read_options options = {.target_rows = 1, .verify_checksums = 1};
  csf_io_current = &faulty;
  int64_t n = 0;
  for (bool failed = true; failed; test_reading_clear(&reading)) {
    calls_left = ++n;
    test_read_all(&source, 1, &options, &reading);
    failed = calls_left <= 0;
    if (failed && reading.status == COLSHUF_OK) continue; /* looking whether the index is still the same may fail: then again */
    CHECK_INT(reading.status, failed ? COLSHUF_IO : COLSHUF_OK);
    if (failed) CHECK_CONTAINS(reading.message, "Input/output error");
  }
  CHECK(n > 8);
  in_pieces = true;
  calls_left = 0;
  test_read_all(&source, 1, &options, &reading);
  CHECK_STRING(reading.message, "");
  test_check_read(&reading, &written, 0, 3, NULL);
  test_reading_clear(&reading);
  in_pieces = false;
  csf_io_current = &csf_io_system;
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

/* Metadata decides which bytes of a large plain block are read: what it says wrongly must not lead anywhere else. */
static void damaged_metadata_of_a_block_read_in_part_is_told_or_harmless(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct test_random random = {51};
  struct csf_schema *schema = test_schema("a: int64, s: utf8, v: utf8_view, l: list<int32>, b: int64");
  test_write_plain(&output, &written, schema, 2, 3000);
  test_output_clear(&output);
  test_output_init(&output);
  for (int i = 0; i < 2; i++) test_output_add(&output, &schema->root, &written.batches[i], 0, 3000, COLSHUF_NONE);
  test_output_end_partition(&output);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  int32_t columns[] = {1, 2, 4};
  struct colshuf_read_options options = {.columns = columns, .n_columns = 3};
  struct colshuf_source source = {.data_path = path};
  int told = 0;
  for (int i = 0; i < 400; i++) {
    size_t offset = (size_t)output.blocks[1] + test_random_below(&random, 2000);
    uint8_t mask = (uint8_t)(1u << test_random_below(&random, 8));
    FILE *file = fopen(path, "r+b");
    REQUIRE(file != NULL);
    fseek(file, (long)offset, SEEK_SET);
    fputc(output.data.data[offset] ^ mask, file);
    fflush(file);
    test_read_all(&source, 1, &options, &reading);
    told += reading.status != COLSHUF_OK;
    if (reading.status != COLSHUF_OK) CHECK_CONTAINS(reading.message, "block 1");
    test_reading_clear(&reading);
    fseek(file, (long)offset, SEEK_SET);
    fputc(output.data.data[offset], file);
    fclose(file);
  }
  CHECK(told > 50);
  test_read_all(&source, 1, &options, &reading);
  CHECK_STRING(reading.message, "");
  test_check_read(&reading, &written, 0, 2, columns);
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(waiting_blocks_hold_no_more_than_they_need),
    TEST(damaged_metadata_of_a_block_read_in_part_is_told_or_harmless),
    TEST(every_failing_system_call_is_told_and_interrupted_ones_are_not),
    TEST(every_truncation_is_told_and_earlier_rows_are_delivered),
    TEST(a_file_of_another_size_than_its_index_says_gives_the_partitions_it_has),
    TEST(corrupt_blocks_are_skipped_when_asked_and_counted),
    TEST(a_checksum_that_differs_is_told_with_both_numbers),
    TEST(a_source_that_fails_leaves_what_was_delivered),
    TEST(reading_ends_when_it_is_cancelled),
    TEST(a_block_above_the_memory_limit_is_refused),
    TEST(memory_stays_within_the_limit_however_many_sources),
    TEST(reading_survives_every_refusal),
};
TEST_MAIN(tests)
