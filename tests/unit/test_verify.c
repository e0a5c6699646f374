/* SPDX-License-Identifier: Apache-2.0 */
/* inspect and verify: what a file is made of, and where it is wrong and why. */
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "colshuf/shuffle.h"
#include "support/blocks.h"
#include "support/random.h"
#include "support/types.h"

static struct test_output output; /* large */

/* So many partitions of so many blocks of 40 rows each, in turn with each codec. */
static void write_blocks(const char *types, int n_partitions, int n_blocks, enum colshuf_codec codec) {
  struct test_random random = {31};
  struct csf_schema *schema = test_schema(types);
  test_output_init(&output);
  for (int p = 0; p < n_partitions; p++) {
    for (int b = 0; b < n_blocks; b++) {
      struct ArrowArray batch;
      struct test_array_options options = {.rows = 40, .null_percent = 10};
      test_random_array(&random, &schema->root, &options, &batch);
      test_output_add(&output, &schema->root, &batch, 0, 40, codec);
      batch.release(&batch);
    }
    test_output_end_partition(&output);
  }
  csf_schema_release(schema);
}

enum { MOST_FAULTS = 64 };

/* All faults of a file, as they were told. */
struct told {
  struct colshuf_fault faults[MOST_FAULTS];
  char problems[MOST_FAULTS][400];
  int n;
  struct colshuf_verify_summary summary;
};

static void take_fault(void *ctx, const struct colshuf_fault *fault) {
  struct told *told = ctx;
  REQUIRE(told->n < MOST_FAULTS);
  told->faults[told->n] = *fault;
  snprintf(told->problems[told->n++], sizeof told->problems[0], "%s", fault->problem);
}

static void verify(const char *path, struct told *told) {
  struct colshuf_error err = {0};
  told->n = 0;
  REQUIRE_OK(colshuf_verify(path, NULL, take_fault, told, &told->summary, &err));
  CHECK_INT(told->summary.faults, told->n);
}

static void change_byte(const char *path, uint64_t offset, uint8_t mask) {
  FILE *file = fopen(path, "r+b");
  REQUIRE(file != NULL);
  fseek(file, (long)offset, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, (long)offset, SEEK_SET);
  fputc(byte ^ mask, file);
  fclose(file);
}

static void a_good_output_has_no_fault(void) {
  static struct told told;
  for (int c = 0; c < 4; c++) {
    write_blocks("a: int64, s: utf8, d: dictionary<int32, utf8>", 3, 2, (enum colshuf_codec)c);
    char name[] = {'o', (char)('0' + c), '\0'};
    const char *path = test_output_write(&output, name, (enum colshuf_checksum)c);
    verify(path, &told);
    CHECK_INT(told.n, 0);
    CHECK_INT(told.summary.partitions, 3);
    CHECK_INT(told.summary.blocks, 6);
    CHECK_INT(told.summary.rows, 240);
    CHECK_INT(told.summary.bytes, output.data.size);
    test_output_clear(&output);
  }
}

static int see_nothing(void *ctx, const struct colshuf_block_info *info) {
  (void)ctx;
  CHECK(info->status != COLSHUF_OK || info->schema != NULL);
  return 0;
}

/* The checksum decides about the partition; the block is named where its structure tells, and then it is the right one. */
static void every_flipped_bit_is_found_in_its_partition(void) {
  static struct told told;
  struct test_random random = {32};
  int in_block = 0;
  for (int c = 0; c < 4; c++) {
    write_blocks("a: int64, s: utf8, d: dictionary<int32, utf8>, l: list<int32>", 4, 3, (enum colshuf_codec)c);
    char name[] = {'o', (char)('0' + c), '\0'};
    const char *path = test_output_write(&output, name, (enum colshuf_checksum)(c % 3));
    for (int i = 0; i < 150; i++) {
      uint64_t offset = test_random_below(&random, output.data.size);
      uint8_t mask = (uint8_t)(1u << test_random_below(&random, 8));
      size_t block = output.n_blocks - 1;
      while (output.blocks[block] > offset) block--;
      change_byte(path, offset, mask);
      verify(path, &told);
      struct colshuf_error err = {0};
      REQUIRE_OK(colshuf_inspect(path, NULL, i % 2, see_nothing, NULL, &err));
      change_byte(path, offset, mask);
      CHECK(told.n > 0);
      for (int f = 0; f < told.n; f++) {
        CHECK_INT(told.faults[f].partition, output.block_partitions[block]);
        CHECK(told.faults[f].status != COLSHUF_OK);
        CHECK(told.faults[f].diagnosis != NULL);
      }
      if (told.faults[0].block < 0) continue;
      in_block++;
      CHECK_INT(told.faults[0].block, block % 3);
      CHECK_INT(told.faults[0].offset, output.blocks[block]);
    }
    test_output_clear(&output);
  }
  CHECK_INT(in_block, 600); /* by its structure, or by what the checksum says of one flipped bit */
}

static void check_fault(const struct told *told, int i, int32_t partition, int64_t block, const char *problem,
                        const char *diagnosis) {
  if (i >= told->n) {
    test_fail(__FILE__, __LINE__, "there are %d faults: no \"%s\"", told->n, diagnosis);
    return;
  }
  CHECK_INT(told->faults[i].partition, partition);
  CHECK_INT(told->faults[i].block, block);
  CHECK_CONTAINS(told->problems[i], problem);
  CHECK_CONTAINS(told->faults[i].diagnosis == NULL ? "" : told->faults[i].diagnosis, diagnosis);
}

static void each_kind_of_fault_gets_its_diagnosis(void) {
  static struct told told;
  write_blocks("a: int64, s: utf8", 4, 2, COLSHUF_LZ4);
  size_t size = output.data.size;
  char sizes[128];

  const char *path = test_output_write(&output, "cut", COLSHUF_CHECKSUM_NONE);
  REQUIRE(truncate(path, (off_t)size - 100) == 0);
  verify(path, &told);
  snprintf(sizes, sizeof sizes, "has %zu bytes, the index says %zu", size - 100, size);
  check_fault(&told, 0, -1, -1, sizes, "cut off");
  check_fault(&told, 1, 3, 1, "truncated block", "cut off");
  CHECK_INT(told.n, 2);
  CHECK_INT(told.summary.blocks, 7);

  REQUIRE(truncate(path, (off_t)size + 100) == 0);
  verify(path, &told);
  snprintf(sizes, sizeof sizes, "has %zu bytes", size);
  check_fault(&told, 0, -1, -1, "the index says", "appended");

  path = test_output_write(&output, "other", COLSHUF_CHECKSUM_CRC32);
  REQUIRE(truncate(path, (off_t)output.blocks[5]) == 0); /* whole blocks, fewer of them */
  verify(path, &told);
  check_fault(&told, 0, -1, -1, "the index says", "of another attempt");

  path = test_output_write(&output, "bit", COLSHUF_CHECKSUM_CRC32);
  change_byte(path, output.blocks[4] + 60, 1);
  verify(path, &told);
  check_fault(&told, 0, 2, 0, "the checksum of the partition is", "changed after they were written");
  CHECK_INT(told.n, 1);

  path = test_output_write(&output, "tag", COLSHUF_CHECKSUM_NONE);
  change_byte(path, output.blocks[4] + 17, 1);
  verify(path, &told);
  check_fault(&told, 0, 2, 0, "codec", "no block starts here");

  path = test_output_write(&output, "hole", COLSHUF_CHECKSUM_NONE);
  FILE *file = fopen(path, "r+b");
  REQUIRE(file != NULL);
  fseek(file, (long)output.blocks[6], SEEK_SET);
  for (int i = 0; i < 50; i++) fputc(0, file);
  fclose(file);
  verify(path, &told);
  check_fault(&told, 0, 3, 0, "", "never written");
  test_output_clear(&output);
}

static void a_bad_writer_is_told_from_bad_bytes_by_the_checksum(void) {
  static struct told told;
  write_blocks("a: int64, s: utf8", 2, 2, COLSHUF_ZSTD);
  output.data.data[output.blocks[1] + 24] ^= 0xff; /* before the checksums are made */
  verify(test_output_write(&output, "out", COLSHUF_CHECKSUM_ADLER32), &told);
  check_fault(&told, 0, 0, 1, "", "the writer made a bad block");
  CHECK_INT(told.n, 1);
  test_output_clear(&output);
}

static void index_and_checksum_files_of_others_are_recognised(void) {
  static struct told told;
  write_blocks("a: int64", 3, 1, COLSHUF_NONE);
  const char *path = test_output_write(&output, "a", COLSHUF_CHECKSUM_CRC32);
  char name[300], other[300];
  uint8_t sums[24] = {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 9, 9, 9, 9};
  snprintf(name, sizeof name, "%s/a.checksum.CRC32", test_directory());
  FILE *file = fopen(name, "wb");
  REQUIRE(file != NULL && fwrite(sums, 1, sizeof sums, file) == sizeof sums && fclose(file) == 0);
  verify(path, &told);
  CHECK_INT(told.n, 4);
  check_fault(&told, 3, -1, -1, "all 3 partitions differ (CRC32)", "the checksum file is of another attempt");
  REQUIRE(truncate(name, 20) == 0);
  verify(path, &told);
  CHECK_INT(told.n, 1);
  check_fault(&told, 0, -1, -1, "a.checksum.CRC32", "the checksum file is of another output");

  snprintf(other, sizeof other, "%s/a.index", test_directory());
  REQUIRE(truncate(other, 13) == 0);
  verify(path, &told);
  check_fault(&told, 0, -1, -1, "a.index", "no index");
  CHECK_INT(told.summary.blocks, 3); /* as one run of blocks */

  /* Boundaries inside blocks, the total right. */
  uint64_t sizes[3] = {output.sizes[0] + 5, output.sizes[1] - 5, output.sizes[2]};
  memcpy(output.sizes, sizes, sizeof sizes);
  verify(test_output_write(&output, "b", COLSHUF_CHECKSUM_NONE), &told);
  CHECK(told.n > 0);
  for (int i = 0; i < told.n; i++)
    check_fault(&told, i, told.faults[i].partition, told.faults[i].block, "", "of another attempt");
  test_output_clear(&output);
}

static void bare_files_are_verified_as_well(void) {
  static struct told told;
  write_blocks("a: int64", 2, 2, COLSHUF_SNAPPY);
  char bare[300];
  snprintf(bare, sizeof bare, "%s/blocks", test_directory());
  REQUIRE(rename(test_output_write(&output, "a", COLSHUF_CHECKSUM_NONE), bare) == 0);
  verify(bare, &told);
  CHECK_INT(told.n, 0);
  CHECK_INT(told.summary.blocks, 4);
  change_byte(bare, output.blocks[2] + 40, 4);
  verify(bare, &told);
  check_fault(&told, 0, -1, 2, "", "without a checksum file");
  CHECK_INT(told.faults[0].offset, output.blocks[2]);
  struct colshuf_error err = {0};
  CHECK_STATUS(colshuf_verify("/nonexistent.data", NULL, NULL, NULL, NULL, &err), COLSHUF_IO);
  test_output_clear(&output);
}

/* What a walk saw. */
struct seen {
  uint64_t blocks, rows, bytes, bad;
  uint64_t stop_after;
};

static int look(void *ctx, const struct colshuf_block_info *info) {
  struct seen *seen = ctx;
  const struct colshuf_byte_kinds *k = &info->kinds;
  if (info->status == COLSHUF_OK) {
    CHECK_INT(info->offset, output.blocks[seen->blocks]);
    CHECK_INT(info->partition, output.block_partitions[seen->blocks]);
    uint64_t content = k->dictionaries + k->validity + k->offsets + k->data, columns = 0;
    CHECK_INT(k->header + k->schema + k->metadata + content + k->padding, COLSHUF_BLOCK_HEADER_SIZE + info->raw_size);
    for (int64_t c = 0; c < info->schema->n_children; c++) columns += info->column_bytes[c];
    CHECK_INT(columns, content);
    CHECK_INT(info->schema->n_children, info->header.n_columns);
    seen->rows += (uint64_t)info->rows;
    seen->bytes += info->header.block_size;
  } else {
    CHECK(info->problem != NULL && info->schema == NULL);
    seen->bad++;
  }
  seen->blocks++;
  return seen->blocks == seen->stop_after;
}

static void every_byte_of_a_block_has_a_kind_and_a_column(void) {
  struct test_random random = {33};
  struct colshuf_error err = {0};
  for (int i = 0; i < 200; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    struct ArrowArray batch;
    struct test_array_options options = test_random_options(&random, 40);
    options.rows++;
    test_random_array(&random, &schema->root, &options, &batch);
    test_output_init(&output);
    for (int b = 0; b < 3; b++) {
      test_output_add(&output, &schema->root, &batch, 0, batch.length, (enum colshuf_codec)test_random_below(&random, 4));
      if (b > 0) test_output_end_partition(&output);
    }
    const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
    for (int deep = 0; deep < 2; deep++) {
      struct seen seen = {0};
      REQUIRE_OK(colshuf_inspect(path, NULL, deep, look, &seen, &err));
      CHECK_INT(seen.blocks, 3);
      CHECK_INT(seen.bad, 0);
      CHECK_INT(seen.rows, 3 * batch.length);
      CHECK_INT(seen.bytes, output.data.size);
    }
    batch.release(&batch);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

static int keep_kinds(void *ctx, const struct colshuf_block_info *info) {
  *(struct colshuf_byte_kinds *)ctx = info->kinds;
  CHECK_INT(info->column_bytes[0], 800);
  CHECK_INT(info->column_bytes[1], 13 + 404 + info->kinds.data - 800);
  return 0;
}

static void bytes_of_each_kind_are_those_of_the_buffers(void) {
  struct csf_schema *schema = test_schema("a: int64 not null, s: utf8");
  struct ArrowArray batch;
  struct test_random random = {1};
  struct test_array_options options = {.rows = 100, .null_percent = 50};
  test_random_array(&random, &schema->root, &options, &batch);
  test_output_init(&output);
  test_output_add(&output, &schema->root, &batch, 0, 100, COLSHUF_NONE);
  test_output_end_partition(&output);
  struct colshuf_byte_kinds kinds;
  struct colshuf_error err = {0};
  REQUIRE_OK(colshuf_inspect(test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE), NULL, 0, keep_kinds, &kinds, &err));
  CHECK_INT(kinds.validity, 13);
  CHECK_INT(kinds.offsets, 404);
  CHECK_INT(kinds.data, 800 + csf_load_i32((const uint8_t *)batch.children[1]->buffers[1] + 400));
  CHECK_INT(kinds.dictionaries, 0);
  batch.release(&batch);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_bad_block_is_told_and_the_walk_goes_on(void) {
  struct colshuf_error err = {0};
  write_blocks("a: int64, s: utf8", 3, 1, COLSHUF_LZ4);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  change_byte(path, output.blocks[1] + 30, 0x55);
  struct seen seen = {0};
  REQUIRE_OK(colshuf_inspect(path, NULL, 1, look, &seen, &err));
  CHECK_INT(seen.blocks, 3);
  CHECK_INT(seen.bad, 1);
  CHECK_INT(seen.rows, 80);
  change_byte(path, output.blocks[1] + 7, 0x55); /* its length */
  seen = (struct seen){0};
  REQUIRE_OK(colshuf_inspect(path, NULL, 0, look, &seen, &err));
  CHECK_INT(seen.blocks, 3);
  CHECK_INT(seen.bad, 1);
  seen = (struct seen){.stop_after = 1};
  REQUIRE_OK(colshuf_inspect(path, NULL, 0, look, &seen, &err));
  CHECK_INT(seen.blocks, 1);
  CHECK_STATUS(colshuf_inspect("/nonexistent.data", NULL, 0, look, &seen, &err), COLSHUF_IO);
  test_output_clear(&output);
}

/* Real files. */
static int count_ok(void *ctx, const struct colshuf_block_info *info) {
  uint64_t *n = ctx;
  const struct colshuf_byte_kinds *k = &info->kinds;
  CHECK_INT(info->status, COLSHUF_OK);
  CHECK_INT(k->header + k->schema + k->metadata + k->dictionaries + k->validity + k->offsets + k->data + k->padding,
            COLSHUF_BLOCK_HEADER_SIZE + info->raw_size);
  ++*n;
  return 0;
}

static int files_found;

static int verify_file(const char *path, const struct stat *status, int type, struct FTW *place) {
  static struct told told;
  (void)status;
  (void)place;
  size_t size = strlen(path);
  if (type != FTW_F || size < 5 || strcmp(path + size - 5, ".data") != 0) return 0;
  files_found++;
  verify(path, &told);
  if (told.n > 0) test_fail(__FILE__, __LINE__, "%s: %s", path, told.problems[0]);
  CHECK_INT(told.summary.checksum, strstr(path, "jvm-") != NULL ? COLSHUF_CHECKSUM_ADLER32 : COLSHUF_CHECKSUM_NONE);
  uint64_t blocks = 0;
  struct colshuf_error err = {0};
  REQUIRE_OK(colshuf_inspect(path, NULL, 1, count_ok, &blocks, &err));
  CHECK_INT(blocks, told.summary.blocks);
  return 0;
}

static void an_inspection_without_a_visitor_is_refused(void) {
  struct colshuf_error err = {0};
  CHECK(colshuf_verify(NULL, NULL, NULL, NULL, NULL, &err) == COLSHUF_INVALID_ARGUMENT);
  CHECK(colshuf_inspect("/dev/null", NULL, 0, NULL, NULL, &err) == COLSHUF_INVALID_ARGUMENT);
  CHECK(colshuf_inspect(NULL, NULL, 0, NULL, NULL, &err) == COLSHUF_INVALID_ARGUMENT);
}

static void files_of_comet_have_no_fault(void) {
  files_found = 0;
  CHECK_INT(nftw(test_data("comet"), verify_file, 16, FTW_PHYS), 0);
  CHECK(files_found >= 20);
}

static const struct test_case tests[] = {
    TEST(a_good_output_has_no_fault),
    TEST(every_flipped_bit_is_found_in_its_partition),
    TEST(each_kind_of_fault_gets_its_diagnosis),
    TEST(a_bad_writer_is_told_from_bad_bytes_by_the_checksum),
    TEST(index_and_checksum_files_of_others_are_recognised),
    TEST(bare_files_are_verified_as_well),
    TEST(every_byte_of_a_block_has_a_kind_and_a_column),
    TEST(bytes_of_each_kind_are_those_of_the_buffers),
    TEST(a_bad_block_is_told_and_the_walk_goes_on),
    TEST(an_inspection_without_a_visitor_is_refused),
    TEST(files_of_comet_have_no_fault),
};
TEST_MAIN(tests)
