/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce side: whatever the sources, whatever the blocks, the rows are those that were written, in their order. */
#include <stdlib.h>
#include <unistd.h>

#include "file/io.h"
#include "support/reading.h"
#include "support/types.h"
#include "support/value.h"

static struct test_output output; /* large */

/* Random batches in random partitions, each batch one or two blocks. */
static void write_random(struct test_random *random, const struct csf_field *field, struct test_written *written) {
  written->n = 0;
  test_output_init(&output);
  int64_t n = 1 + (int64_t)test_random_below(random, 10);
  for (int64_t i = 0; i < n; i++) {
    test_written_add(written, field, random, 30);
    const struct ArrowArray *batch = &written->batches[written->n - 1];
    enum colshuf_codec codec = (enum colshuf_codec)test_random_below(random, 4);
    int64_t cut = (int64_t)test_random_below(random, (uint64_t)batch->length + 1);
    test_output_add(&output, field, batch, 0, cut, codec);
    test_output_add(&output, field, batch, cut, batch->length - cut, codec);
    while (test_random_below(random, 3) == 0) test_output_end_partition(&output);
  }
  test_output_end_partition(&output);
}

static void rows_come_back_from_every_kind_of_source(void) {
  struct test_random random = {21};
  static struct test_written written;
  static struct test_reading reading;
  for (int i = 0; i < 250; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    write_random(&random, &schema->root, &written);
    const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32C);
    struct test_drip drip = {
        .data = output.data.data, .size = output.data.size, .step = i % 2 ? 1 + test_random_below(&random, 9) : 1 << 30};
    char bare[300];
    snprintf(bare, sizeof bare, "%s.bare", path);
    unlink(bare);
    REQUIRE(link(path, bare) == 0);
    struct colshuf_source sources[] = {{.data_path = path},
                                       {.data_path = bare},
                                       {.bytes = output.data.data, .size = output.data.size},
                                       test_drip_source(&drip)};
    for (int s = 0; s < 4; s++) {
      struct colshuf_read_options options = test_read_options(&random);
      test_read_all(&sources[s], 1, &options, &reading);
      if (reading.status != COLSHUF_OK) test_fail(__FILE__, __LINE__, "case %d source %d: %s", i, s, reading.message);
      if (output.data.size > 0 && reading.status == COLSHUF_OK) test_check_read(&reading, &written, 0, written.n, NULL);
      test_reading_clear(&reading);
    }
    CHECK_INT(drip.released, 1);
    test_written_clear(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

static void a_range_of_partitions_is_read_and_nothing_else(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 6, 5);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  for (int32_t first = 0; first <= 6; first++) {
    for (int32_t end = first; end <= 6; end++) {
      struct colshuf_source source = {.data_path = path, .first_partition = first, .end_partition = end};
      test_read_all(&source, 1, NULL, &reading);
      CHECK_INT(reading.status, COLSHUF_OK);
      bool all = first == 0 && end == 0;
      if (all || end > first) test_check_read(&reading, &written, first, all ? 6 : end, NULL);
      CHECK_INT(reading.n_rows, all ? 30 : 5 * (end - first));
      test_reading_clear(&reading);
    }
  }
  struct colshuf_source source = {.data_path = path, .first_partition = 3, .end_partition = 7};
  test_read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(reading.message, "3 to 6 of 6");
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void small_blocks_are_joined_and_large_ones_are_not_copied(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 20, 10);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  static const struct {
    int64_t target;
    int batches;
  } cases[] = {{1, 20}, {10, 20}, {11, 10}, {50, 4}, {0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct colshuf_read_options options = {.target_rows = cases[i].target};
    test_read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.n, cases[i].batches);
    test_check_read(&reading, &written, 0, 20, NULL);
    test_reading_clear(&reading);
  }
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void only_the_wanted_columns_come_in_the_wanted_order(void) {
  struct test_random random = {22};
  static struct test_written written;
  static struct test_reading reading;
  for (int i = 0; i < 150; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.n_columns = 4});
    write_random(&random, &schema->root, &written);
    struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
    int32_t columns[6];
    struct colshuf_read_options options = test_read_options(&random);
    options.columns = columns;
    options.n_columns = (int32_t)test_random_below(&random, 7);
    for (int32_t c = 0; c < options.n_columns; c++) columns[c] = (int32_t)test_random_below(&random, 4);
    test_read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.status, COLSHUF_OK);
    if (output.data.size > 0) {
      CHECK_INT(reading.schema->root.n_children, options.n_columns);
      test_check_read(&reading, &written, 0, written.n, columns);
    }
    test_reading_clear(&reading);
    columns[0] = 4;
    options.n_columns = 1;
    test_read_all(&source, 1, &options, &reading);
    if (output.data.size > 0) CHECK_INT(reading.status, COLSHUF_INVALID_ARGUMENT);
    test_reading_clear(&reading);
    test_written_clear(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

/* Reads blocks of these schemas, one each, as one stream. */
static void read_mixed(const char *const *types, int n, const struct colshuf_read_options *options, int null_percent,
                       struct test_written *written, struct csf_schema **schemas, struct test_reading *reading) {
  struct test_random random = {23};
  written->n = 0;
  test_output_init(&output);
  for (int i = 0; i < n; i++) {
    struct test_array_options array = {.rows = 6, .null_percent = null_percent, .shape = TEST_WILD & ~TEST_SLICED_ROOT};
    schemas[i] = test_schema(types[i]);
    written->fields[i] = &schemas[i]->root;
    test_random_array(&random, &schemas[i]->root, &array, &written->batches[written->n++]);
    test_output_add(&output, &schemas[i]->root, &written->batches[i], 0, 6, COLSHUF_NONE);
  }
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  test_read_all(&source, 1, options, reading);
}

static void forget_mixed(int n, struct test_written *written, struct csf_schema **schemas, struct test_reading *reading) {
  test_reading_clear(reading);
  test_written_clear(written);
  for (int i = 0; i < n; i++) csf_schema_release(schemas[i]);
  test_output_clear(&output);
}

static void blocks_may_differ_in_names_nullability_and_dictionaries(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schemas[4];
  const char *const types[] = {"id: int64 not null, s: utf8, l: list<item: struct<id: int64 not null, flag: bool not null>>",
                               "c0: int64, c1: dictionary<int32, utf8>, c2: list<element: struct<id: int64, flag: bool>>",
                               ("c0: dictionary<int8, int64>, c1: dictionary<uint16, utf8>, c2: list<struct<id: int64 not null, "
                                "flag: dictionary<int8, bool>>>"),
                               "c0: int64, c1: utf8, c2: list<struct<id: int64, flag: bool>>"};
  for (int keep = 0; keep < 2; keep++) {
    for (int64_t target = 0; target < 2; target++) {
      struct colshuf_read_options options = {.keep_dictionaries = keep, .target_rows = target};
      read_mixed(types, 4, &options, 30, &written, schemas, &reading);
      CHECK_STRING(reading.message, "");
      test_check_read(&reading, &written, 0, 4, NULL);
      char text[200];
      csf_field_describe(&reading.schema->root, text, sizeof text);
      CHECK_STRING(text, "struct<id: int64, s: utf8, l: list<item: struct<id: int64, flag: bool>>>");
      forget_mixed(4, &written, schemas, &reading);
    }
  }
}

static void dictionaries_stay_where_the_first_block_has_them(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schemas[3];
  const char *const types[] = {"a: dictionary<int16, utf8>, b: utf8", "a: utf8, b: dictionary<int8, utf8>",
                               "a: dictionary<int8, utf8>, b: utf8"};
  struct colshuf_read_options options = {.keep_dictionaries = 1};
  read_mixed(types, 3, &options, 30, &written, schemas, &reading);
  CHECK_STRING(reading.message, "");
  test_check_read(&reading, &written, 0, 3, NULL);
  char text[200];
  csf_field_describe(&reading.schema->root, text, sizeof text);
  CHECK_STRING(text, "struct<a: dictionary<int16, utf8>, b: utf8>");
  forget_mixed(3, &written, schemas, &reading);
}

static void a_block_of_another_type_is_named(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schemas[2];
  const char *const types[] = {"a: int32, b: utf8", "a: int32, b: large_utf8"};
  read_mixed(types, 2, NULL, 0, &written, schemas, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_INT(reading.n_rows, 6); /* what came before is delivered */
  CHECK_CONTAINS(reading.message, "memory, block 1 at offset ");
  CHECK_CONTAINS(reading.message, "\"b\") is large_utf8, expected utf8");
  forget_mixed(2, &written, schemas, &reading);
}

static struct ArrowSchema export_schema(const char *text) {
  struct colshuf_error err = {0};
  struct csf_schema *schema = test_schema(text);
  struct ArrowSchema out;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &out, &err));
  csf_schema_release(schema);
  return out;
}

static void the_expected_schema_is_announced_and_kept_to(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schemas[2];
  const char *const types[] = {"c0: int32, c1: dictionary<int8, utf8>, c2: struct<x: int32>",
                               "c0: int32, c1: utf8, c2: struct<x: int32>"};
  struct ArrowSchema expected = export_schema("id: int32 not null, name: utf8, s: struct<x: int32 not null> not null");
  struct colshuf_read_options options = {.expected_schema = &expected};
  read_mixed(types, 2, &options, 0, &written, schemas, &reading);
  CHECK_STRING(reading.message, "");
  test_check_read(&reading, &written, 0, 2, NULL);
  char text[200];
  csf_field_describe(&reading.schema->root, text, sizeof text);
  CHECK_STRING(text, "struct<id: int32 not null, name: utf8, s: struct<x: int32 not null> not null>");
  forget_mixed(2, &written, schemas, &reading);

  read_mixed(types, 2, &options, 40, &written, schemas, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT); /* a null where none is expected */
  CHECK_INT(reading.n_rows, 0);
  forget_mixed(2, &written, schemas, &reading);

  const char *const other[] = {"c0: int64, c1: utf8, c2: struct<x: int32>"};
  read_mixed(other, 1, &options, 0, &written, schemas, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(reading.message, "is int64, expected int32");
  forget_mixed(1, &written, schemas, &reading);
  test_read_all(NULL, 0, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.schema->root.n_children, 3);
  test_reading_clear(&reading);
  expected.release(&expected);
}

/* What is expected is known before the first block: small flat blocks grow into one batch all the same. */
static void small_blocks_are_joined_under_an_expected_schema(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  struct ArrowSchema expected = export_schema("id: int32, name: utf8");
  test_write_plain(&output, &written, schema, 20, 10);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  for (int threads = 0; threads < 3; threads++) {
    struct colshuf_read_options options = {.expected_schema = &expected, .threads = threads, .any_order = threads == 2};
    test_read_all(&source, 1, &options, &reading);
    CHECK_STRING(reading.message, "");
    CHECK_INT(reading.n, 1);
    test_check_read(&reading, &written, 0, 20, NULL);
    test_reading_clear(&reading);
  }
  expected.release(&expected);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_null_that_was_not_expected_is_told_with_its_block(void) {
  enum { BLOCKS = 4, BAD = 2 };
  static struct test_written written;
  static struct test_reading reading;
  static const char *const types[] = {"a: int32, b: utf8", "a: int32, b: dictionary<int8, utf8>", "a: list<int32>, b: utf8"};
  static const char *const wanted[] = {"a: int32 not null, b: utf8", "a: int32, b: utf8 not null", "a: list<int32 not null>, b: utf8"};
  struct test_random random = {24};
  for (int i = 0; i < 3; i++) {
    struct csf_schema *schema = test_schema(types[i]);
    struct ArrowSchema expected = export_schema(wanted[i]);
    written.n = 0;
    test_output_init(&output);
    for (int b = 0; b < BLOCKS; b++) {
      struct test_array_options array = {.rows = 50, .null_percent = b == BAD ? 50 : 0};
      written.fields[b] = &schema->root;
      test_random_array(&random, &schema->root, &array, &written.batches[written.n++]);
      test_output_add(&output, &schema->root, &written.batches[b], 0, array.rows, COLSHUF_LZ4);
    }
    struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
    struct colshuf_read_options options = {.expected_schema = &expected};
    test_read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.status, COLSHUF_CORRUPT);
    CHECK_CONTAINS(reading.message, "memory, block 2 at offset ");
    test_check_read(&reading, &written, 0, BAD, NULL); /* what came before is delivered */
    test_reading_clear(&reading);
    options.skip_corrupt = 1;
    test_read_all(&source, 1, &options, &reading);
    CHECK_STRING(reading.message, "");
    CHECK_INT(reading.n_rows, 50 * (BLOCKS - 1));
    test_reading_clear(&reading);
    expected.release(&expected);
    test_written_clear(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

/* A batch is full when its rows are, not when the structs of the blocks that it was made of would have been. */
static void few_rows_of_many_columns_are_joined_by_what_they_take(void) {
  enum { COLUMNS = 300, BLOCKS = 80 };
  static struct test_written written;
  static struct test_reading reading;
  char text[COLUMNS * 16] = "", *end = text;
  for (int c = 0; c < COLUMNS; c++) end += sprintf(end, "%sc%d: int64", c == 0 ? "" : ", ", c);
  struct csf_schema *schema = test_schema(text);
  struct test_random random = {25};
  struct test_array_options array = {.rows = 1};
  written.n = 1;
  written.fields[0] = &schema->root;
  test_random_array(&random, &schema->root, &array, &written.batches[0]);
  test_output_init(&output);
  for (int b = 0; b < BLOCKS; b++) test_output_add(&output, &schema->root, &written.batches[0], 0, 1, COLSHUF_LZ4);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  struct colshuf_read_options options = {.memory_limit = 1 << 20};
  test_read_all(&source, 1, &options, &reading);
  CHECK_STRING(reading.message, "");
  CHECK_INT(reading.n_rows, BLOCKS);
  CHECK_INT(reading.n, 1); /* 192,000 bytes, a quarter of the limit is 262,144 */
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void nothing_gives_nothing(void) {
  static struct test_reading reading;
  struct test_drip drip = {0};
  test_output_init(&output);
  for (int i = 0; i < 5; i++) test_output_end_partition(&output);
  const char *path = test_output_write(&output, "none", COLSHUF_CHECKSUM_ADLER32);
  struct colshuf_source sources[] = {
      {.data_path = path}, {.bytes = (const uint8_t *)"", .size = 0}, {.data_path = NULL}, test_drip_source(&drip)};
  struct colshuf_read_options options = {.verify_checksums = 1};
  for (int n = 0; n <= 4; n++) {
    if (n == 4) unlink(path); /* where all partitions are empty the data need not be there */
    test_read_all(sources, n, &options, &reading);
    CHECK_STRING(reading.message, "");
    CHECK_INT(reading.status, COLSHUF_OK);
    CHECK_INT(reading.n, 0);
    CHECK_INT(reading.schema->root.n_children, 0);
    test_reading_clear(&reading);
  }
  CHECK_INT(drip.released, 1);
  test_output_clear(&output);
}

static void rows_without_columns_are_counted(void) {
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("");
  struct ArrowArray batch;
  struct test_random random = {1};
  struct test_array_options array = {.rows = 7};
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&output);
  for (int i = 0; i < 3; i++) test_output_add(&output, &schema->root, &batch, 0, 7 - i, COLSHUF_ZSTD);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  test_read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n, 1);
  CHECK_INT(reading.n_rows, 18);
  test_reading_clear(&reading);
  batch.release(&batch);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void batches_outlive_the_stream(void) {
  static struct test_written written;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 2, 10);
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  struct colshuf_read_options options = {.allocator = test_heap, .target_rows = 1};
  REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  stream.release(&stream);
  memset(output.data.data, 0xee, output.data.size);
  CHECK_ROWS(&schema->root, &batch, 0, &schema->root, &written.batches[0], 0, 10);
  batch.release(&batch);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static uint64_t bytes_read;

static ssize_t counting_pread(int fd, void *buffer, size_t size, off_t offset) {
  ssize_t n = csf_io_system.pread(fd, buffer, size, offset);
  if (n > 0) bytes_read += (uint64_t)n;
  return n;
}

/* Blocks of more than 64 KiB without compression take a way of their own. */
static void large_plain_blocks_are_read_in_place_and_in_part(void) {
  struct test_random random = {41};
  static struct test_written written;
  static struct test_reading reading;
  for (int i = 0; i < 40; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.n_columns = 5, .max_depth = 2});
    written.n = 0;
    test_output_init(&output);
    for (int b = 0; b < 4; b++) {
      struct test_array_options array = {
          .rows = b == 2 ? 10 : 3000, .null_percent = 10, .max_text = 60, .shape = i % 2 ? TEST_WILD & ~TEST_SLICED_ROOT : 0};
      written.fields[b] = &schema->root;
      test_random_array(&random, &schema->root, &array, &written.batches[written.n++]);
      test_output_add(&output, &schema->root, &written.batches[b], 0, array.rows, COLSHUF_NONE);
    }
    test_output_end_partition(&output);
    struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32C)};
    int32_t columns[3] = {(int32_t)test_random_below(&random, 5), (int32_t)test_random_below(&random, 5), 4};
    for (int some = 0; some < 2; some++) {
      struct colshuf_read_options options = test_read_options(&random);
      options.memory_limit = 0;
      if (some) options.columns = columns;
      if (some) options.n_columns = (int32_t)test_random_below(&random, 4);
      test_read_all(&source, 1, &options, &reading);
      CHECK_STRING(reading.message, "");
      if (reading.status == COLSHUF_OK) test_check_read(&reading, &written, 0, 4, options.columns);
      test_reading_clear(&reading);
    }
    test_written_clear(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

static void columns_that_nobody_wants_are_neither_read_nor_looked_at(void) {
  static struct test_written written;
  static struct test_reading reading;
  struct csf_io counting = csf_io_system;
  counting.pread = counting_pread;
  struct csf_schema *schema = test_schema("a: int64, b: utf8, c: int64, d: decimal256(70, 0), e: int32");
  test_write_plain(&output, &written, schema, 4, 5000);
  test_output_clear(&output);
  test_output_init(&output);
  for (int i = 0; i < 4; i++) test_output_add(&output, &schema->root, &written.batches[i], 0, 5000, COLSHUF_NONE);
  test_output_end_partition(&output);
  for (int i = 0; i < 4; i++) { /* no UTF-8 any more */
    const struct ArrowArray *texts = written.batches[i].children[1];
    const char *text = (const char *)texts->buffers[2] + 1000;
    uint8_t *place = memmem(output.data.data + output.blocks[i], output.data.size - output.blocks[i], text, 30);
    REQUIRE(place != NULL);
    memset(place, 0xff, 30);
  }
  struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE)};
  int32_t columns[] = {4, 0};
  struct colshuf_read_options options = {.columns = columns, .n_columns = 2};
  csf_io_current = &counting;
  bytes_read = 0;
  test_read_all(&source, 1, &options, &reading);
  csf_io_current = &csf_io_system;
  CHECK_STRING(reading.message, "");
  test_check_read(&reading, &written, 0, 4, columns);
  CHECK(bytes_read < output.data.size / 2); /* the first block whole, of the others 12 of 70 bytes a row */
  test_reading_clear(&reading);
  options.n_columns = 0;
  test_read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.n_rows, 20000);
  test_reading_clear(&reading);
  test_read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(reading.message, "UTF-8");
  test_reading_clear(&reading);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(rows_come_back_from_every_kind_of_source),
    TEST(a_range_of_partitions_is_read_and_nothing_else),
    TEST(small_blocks_are_joined_and_large_ones_are_not_copied),
    TEST(only_the_wanted_columns_come_in_the_wanted_order),
    TEST(blocks_may_differ_in_names_nullability_and_dictionaries),
    TEST(dictionaries_stay_where_the_first_block_has_them),
    TEST(a_block_of_another_type_is_named),
    TEST(the_expected_schema_is_announced_and_kept_to),
    TEST(small_blocks_are_joined_under_an_expected_schema),
    TEST(a_null_that_was_not_expected_is_told_with_its_block),
    TEST(few_rows_of_many_columns_are_joined_by_what_they_take),
    TEST(nothing_gives_nothing),
    TEST(rows_without_columns_are_counted),
    TEST(batches_outlive_the_stream),
    TEST(large_plain_blocks_are_read_in_place_and_in_part),
    TEST(columns_that_nobody_wants_are_neither_read_nor_looked_at),
};
TEST_MAIN(tests)
