/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce side: whatever the sources, whatever the blocks, the rows are those that were written, in their order. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "colshuf/shuffle.h"
#include "file/io.h"
#include "support/blocks.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

enum { MOST_BATCHES = 32 };

/* Batches of one schema, each with its field: blocks of one partition may have others. */
struct written {
  const struct csf_field *fields[MOST_BATCHES];
  struct ArrowArray batches[MOST_BATCHES];
  int n;
};

static void add_batch(struct written *written, const struct csf_field *field, struct test_random *random, int64_t max_rows) {
  struct test_array_options options = test_random_options(random, max_rows);
  written->fields[written->n] = field;
  test_random_array(random, field, &options, &written->batches[written->n++]);
}

static void drop(struct written *written) {
  for (int i = 0; i < written->n; i++) written->batches[i].release(&written->batches[i]);
}

/* What a stream gave: all of it, and how it ended. */
struct reading {
  struct csf_schema *schema;
  struct ArrowArray batches[1024];
  int n;
  int64_t n_rows;
  enum colshuf_status status;
  char message[1008];
};

static void read_stream(struct ArrowArrayStream *stream, struct reading *out) {
  struct colshuf_error err = {0};
  struct ArrowSchema schema;
  memset(out, 0, sizeof *out);
  if (stream->get_schema(stream, &schema) == 0) {
    REQUIRE_OK(csf_schema_import(&schema, &test_heap, NULL, &out->schema, &err));
    schema.release(&schema);
    for (; out->n < 1024; out->n++) {
      struct ArrowArray *batch = &out->batches[out->n];
      if (stream->get_next(stream, batch) != 0) break;
      if (batch->release == NULL) {
        stream->release(stream);
        return;
      }
      enum colshuf_status valid = csf_array_validate(&out->schema->root, batch, NULL, CSF_VALIDATE_FULL, &err);
      if (valid != COLSHUF_OK) test_fail(__FILE__, __LINE__, "a batch is not valid: %s", err.message);
      out->n_rows += batch->length;
    }
  }
  out->status = colshuf_stream_status(stream);
  const char *text = stream->get_last_error(stream);
  snprintf(out->message, sizeof out->message, "%s", text == NULL ? "" : text);
  stream->release(stream);
}

static void forget(struct reading *reading) {
  for (int i = 0; i < reading->n; i++) reading->batches[i].release(&reading->batches[i]);
  csf_schema_release(reading->schema);
}

static void read_all(const struct colshuf_source *sources, int32_t n, const struct colshuf_read_options *options, struct reading *out) {
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct colshuf_read_options mine = options != NULL ? *options : (struct colshuf_read_options){0};
  mine.allocator = test_heap;
  REQUIRE_OK(colshuf_read(sources, n, &mine, NULL, &stream, &err));
  read_stream(&stream, out);
}

/* Checks that the rows read are those of batches [first, end) (their order), column by column: columns NULL = all. */
static void check_rows(const struct reading *reading, const struct written *written, int first, int end, const int32_t *columns) {
  int batch = 0;
  int64_t at = 0;
  for (int w = first; w < end; w++) {
    const struct ArrowArray *source = &written->batches[w];
    for (int64_t row = 0; row < source->length; row++, at++) {
      while (batch < reading->n && at == reading->batches[batch].length) {
        batch++;
        at = 0;
      }
      REQUIRE(batch < reading->n);
      for (int32_t c = 0; c < reading->schema->root.n_children; c++) {
        int32_t column = columns == NULL ? c : columns[c];
        bool same = CHECK_ROWS(&reading->schema->root.children[c], reading->batches[batch].children[c], at + reading->batches[batch].offset,
                               &written->fields[w]->children[column], source->children[column], row + source->offset, 1);
        if (!same) return;
      }
    }
  }
  CHECK(reading->n == 0 ? at == 0 : batch == reading->n - 1 && at == reading->batches[batch].length);
}

/* A source that gives at most step bytes a call. */
struct drip {
  const uint8_t *data;
  size_t size, step, at;
  int released;
  int64_t fail_at; /* byte at which reading fails; 0 = never */
};

static int64_t drip_read(void *ctx, void *buffer, size_t size) {
  struct drip *drip = ctx;
  if (drip->fail_at > 0 && (int64_t)drip->at >= drip->fail_at) return -ECONNRESET;
  size_t n = drip->size - drip->at;
  if (n > size) n = size;
  if (n > drip->step) n = drip->step;
  if (n > 0) memcpy(buffer, drip->data + drip->at, n);
  drip->at += n;
  return (int64_t)n;
}

static void drip_release(void *ctx) {
  ((struct drip *)ctx)->released++;
}

static struct colshuf_source drip_source(struct drip *drip) {
  return (struct colshuf_source){.input = {.read = drip_read, .release = drip_release, .ctx = drip}};
}

static struct test_output output; /* large */

/* Random batches in random partitions, each batch one or two blocks. */
static void write_random(struct test_random *random, const struct csf_field *field, struct written *written) {
  written->n = 0;
  test_output_init(&output);
  int64_t n = 1 + (int64_t)test_random_below(random, 10);
  for (int64_t i = 0; i < n; i++) {
    add_batch(written, field, random, 30);
    const struct ArrowArray *batch = &written->batches[written->n - 1];
    enum colshuf_codec codec = (enum colshuf_codec)test_random_below(random, 4);
    int64_t cut = (int64_t)test_random_below(random, (uint64_t)batch->length + 1);
    test_output_add(&output, field, batch, 0, cut, codec);
    test_output_add(&output, field, batch, cut, batch->length - cut, codec);
    while (test_random_below(random, 3) == 0) test_output_end_partition(&output);
  }
  test_output_end_partition(&output);
}

static struct colshuf_read_options random_options(struct test_random *random) {
  struct colshuf_read_options options = {.keep_dictionaries = (int)test_random_below(random, 2), .verify_checksums = (int)test_random_below(random, 2)};
  options.trust = test_random_below(random, 2) ? COLSHUF_TRUSTED_LOCAL : COLSHUF_UNTRUSTED;
  static const int64_t targets[] = {0, 1, 7, 40};
  options.target_rows = targets[test_random_below(random, 4)];
  if (test_random_below(random, 3) == 0) options.memory_limit = 1 << 20;
  if (test_random_below(random, 3) == 0) options.threads = 1 + (int)test_random_below(random, 3);
  return options;
}

static void rows_come_back_from_every_kind_of_source(void) {
  struct test_random random = {21};
  static struct written written;
  static struct reading reading;
  for (int i = 0; i < 250; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    write_random(&random, &schema->root, &written);
    const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32C);
    struct drip drip = {.data = output.data.data, .size = output.data.size, .step = i % 2 ? 1 + test_random_below(&random, 9) : 1 << 30};
    char bare[300];
    snprintf(bare, sizeof bare, "%s.bare", path);
    unlink(bare);
    REQUIRE(link(path, bare) == 0);
    struct colshuf_source sources[] = {{.data_path = path}, {.data_path = bare}, {.bytes = output.data.data, .size = output.data.size}, drip_source(&drip)};
    for (int s = 0; s < 4; s++) {
      struct colshuf_read_options options = random_options(&random);
      read_all(&sources[s], 1, &options, &reading);
      if (reading.status != COLSHUF_OK) test_fail(__FILE__, __LINE__, "case %d source %d: %s", i, s, reading.message);
      if (output.data.size > 0 && reading.status == COLSHUF_OK) check_rows(&reading, &written, 0, written.n, NULL);
      forget(&reading);
    }
    CHECK_INT(drip.released, 1);
    drop(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

/* int32 k, utf8 s in so many blocks of so many rows each: k counts from 0. */
static void write_plain(struct written *written, const struct csf_schema *schema, int n_batches, int64_t rows) {
  struct test_random random = {8};
  written->n = 0;
  test_output_init(&output);
  for (int i = 0; i < n_batches; i++) {
    struct test_array_options options = {.rows = rows};
    written->fields[i] = &schema->root;
    test_random_array(&random, &schema->root, &options, &written->batches[written->n++]);
    test_output_add(&output, &schema->root, &written->batches[i], 0, rows, COLSHUF_LZ4);
    test_output_end_partition(&output);
  }
}

static void a_range_of_partitions_is_read_and_nothing_else(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  write_plain(&written, schema, 6, 5);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  for (int32_t first = 0; first <= 6; first++) {
    for (int32_t end = first; end <= 6; end++) {
      struct colshuf_source source = {.data_path = path, .first_partition = first, .end_partition = end};
      read_all(&source, 1, NULL, &reading);
      CHECK_INT(reading.status, COLSHUF_OK);
      bool all = first == 0 && end == 0;
      if (all || end > first) check_rows(&reading, &written, first, all ? 6 : end, NULL);
      CHECK_INT(reading.n_rows, all ? 30 : 5 * (end - first));
      forget(&reading);
    }
  }
  struct colshuf_source source = {.data_path = path, .first_partition = 3, .end_partition = 7};
  read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(reading.message, "3 to 7 of 6");
  forget(&reading);
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void small_blocks_are_joined_and_large_ones_are_not_copied(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  write_plain(&written, schema, 20, 10);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  static const struct {
    int64_t target;
    int batches;
  } cases[] = {{1, 20}, {10, 20}, {11, 10}, {50, 4}, {0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct colshuf_read_options options = {.target_rows = cases[i].target};
    read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.n, cases[i].batches);
    check_rows(&reading, &written, 0, 20, NULL);
    forget(&reading);
  }
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void only_the_wanted_columns_come_in_the_wanted_order(void) {
  struct test_random random = {22};
  static struct written written;
  static struct reading reading;
  for (int i = 0; i < 150; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.n_columns = 4});
    write_random(&random, &schema->root, &written);
    struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
    int32_t columns[6];
    struct colshuf_read_options options = random_options(&random);
    options.columns = columns;
    options.n_columns = (int32_t)test_random_below(&random, 7);
    for (int32_t c = 0; c < options.n_columns; c++) columns[c] = (int32_t)test_random_below(&random, 4);
    read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.status, COLSHUF_OK);
    if (output.data.size > 0) {
      CHECK_INT(reading.schema->root.n_children, options.n_columns);
      check_rows(&reading, &written, 0, written.n, columns);
    }
    forget(&reading);
    columns[0] = 4;
    options.n_columns = 1;
    read_all(&source, 1, &options, &reading);
    if (output.data.size > 0) CHECK_INT(reading.status, COLSHUF_INVALID_ARGUMENT);
    forget(&reading);
    drop(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

/* Reads blocks of these schemas, one each, as one stream. */
static void read_mixed(const char *const *types, int n, const struct colshuf_read_options *options, int null_percent, struct written *written,
                       struct csf_schema **schemas, struct reading *reading) {
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
  read_all(&source, 1, options, reading);
}

static void forget_mixed(int n, struct written *written, struct csf_schema **schemas, struct reading *reading) {
  forget(reading);
  drop(written);
  for (int i = 0; i < n; i++) csf_schema_release(schemas[i]);
  test_output_clear(&output);
}

static void blocks_may_differ_in_names_nullability_and_dictionaries(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schemas[4];
  const char *const types[] = {
      "id: int64 not null, s: utf8, l: list<item: struct<id: int64 not null, flag: bool not null>>",
      "c0: int64, c1: dictionary<int32, utf8>, c2: list<element: struct<id: int64, flag: bool>>",
      "c0: dictionary<int8, int64>, c1: dictionary<uint16, utf8>, c2: list<struct<id: int64 not null, flag: dictionary<int8, bool>>>",
      "c0: int64, c1: utf8, c2: list<struct<id: int64, flag: bool>>"};
  for (int keep = 0; keep < 2; keep++) {
    for (int64_t target = 0; target < 2; target++) {
      struct colshuf_read_options options = {.keep_dictionaries = keep, .target_rows = target};
      read_mixed(types, 4, &options, 30, &written, schemas, &reading);
      CHECK_STRING(reading.message, "");
      check_rows(&reading, &written, 0, 4, NULL);
      char text[200];
      csf_field_describe(&reading.schema->root, text, sizeof text);
      CHECK_STRING(text, "struct<id: int64, s: utf8, l: list<item: struct<id: int64, flag: bool>>>");
      forget_mixed(4, &written, schemas, &reading);
    }
  }
}

static void dictionaries_stay_where_the_first_block_has_them(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schemas[3];
  const char *const types[] = {"a: dictionary<int16, utf8>, b: utf8", "a: utf8, b: dictionary<int8, utf8>", "a: dictionary<int8, utf8>, b: utf8"};
  struct colshuf_read_options options = {.keep_dictionaries = 1};
  read_mixed(types, 3, &options, 30, &written, schemas, &reading);
  CHECK_STRING(reading.message, "");
  check_rows(&reading, &written, 0, 3, NULL);
  char text[200];
  csf_field_describe(&reading.schema->root, text, sizeof text);
  CHECK_STRING(text, "struct<a: dictionary<int16, utf8>, b: utf8>");
  forget_mixed(3, &written, schemas, &reading);
}

static void a_block_of_another_type_is_named(void) {
  static struct written written;
  static struct reading reading;
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
  static struct written written;
  static struct reading reading;
  struct csf_schema *schemas[2];
  const char *const types[] = {"c0: int32, c1: dictionary<int8, utf8>, c2: struct<x: int32>", "c0: int32, c1: utf8, c2: struct<x: int32>"};
  struct ArrowSchema expected = export_schema("id: int32 not null, name: utf8, s: struct<x: int32 not null> not null");
  struct colshuf_read_options options = {.expected_schema = &expected};
  read_mixed(types, 2, &options, 0, &written, schemas, &reading);
  CHECK_STRING(reading.message, "");
  check_rows(&reading, &written, 0, 2, NULL);
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
  read_all(NULL, 0, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.schema->root.n_children, 3);
  forget(&reading);
  expected.release(&expected);
}

static void nothing_gives_nothing(void) {
  static struct reading reading;
  struct drip drip = {0};
  test_output_init(&output);
  for (int i = 0; i < 5; i++) test_output_end_partition(&output);
  const char *path = test_output_write(&output, "none", COLSHUF_CHECKSUM_ADLER32);
  struct colshuf_source sources[] = {{.data_path = path}, {.bytes = (const uint8_t *)"", .size = 0}, {.data_path = NULL}, drip_source(&drip)};
  struct colshuf_read_options options = {.verify_checksums = 1};
  for (int n = 0; n <= 4; n++) {
    if (n == 4) unlink(path); /* where all partitions are empty the data need not be there */
    read_all(sources, n, &options, &reading);
    CHECK_STRING(reading.message, "");
    CHECK_INT(reading.status, COLSHUF_OK);
    CHECK_INT(reading.n, 0);
    CHECK_INT(reading.schema->root.n_children, 0);
    forget(&reading);
  }
  CHECK_INT(drip.released, 1);
  test_output_clear(&output);
}

static void rows_without_columns_are_counted(void) {
  static struct reading reading;
  struct csf_schema *schema = test_schema("");
  struct ArrowArray batch;
  struct test_random random = {1};
  struct test_array_options array = {.rows = 7};
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&output);
  for (int i = 0; i < 3; i++) test_output_add(&output, &schema->root, &batch, 0, 7 - i, COLSHUF_ZSTD);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n, 1);
  CHECK_INT(reading.n_rows, 18);
  forget(&reading);
  batch.release(&batch);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void every_truncation_is_told_and_earlier_rows_are_delivered(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  write_plain(&written, schema, 2, 5);
  size_t second = (size_t)output.blocks[1];
  for (size_t size = second; size < output.data.size; size++) {
    for (size_t step = 0; step < 3; step++) {
      struct drip drip = {.data = output.data.data, .size = size, .step = step == 1 ? 1 : 4096};
      struct colshuf_source source = {.bytes = output.data.data, .size = size};
      if (step > 0) source = drip_source(&drip);
      read_all(&source, 1, NULL, &reading);
      CHECK_INT(reading.n_rows, 5);
      CHECK_INT(reading.status, size == second ? COLSHUF_OK : COLSHUF_CORRUPT);
      if (size > second) CHECK_CONTAINS(reading.message, size - second < COLSHUF_BLOCK_HEADER_SIZE ? "truncated block header" : "truncated block:");
      forget(&reading);
    }
  }
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_file_shorter_than_its_index_gives_the_partitions_it_has(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  write_plain(&written, schema, 4, 50);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  REQUIRE(truncate(path, (off_t)output.data.size - 100) == 0);
  struct colshuf_source source = {.data_path = path, .end_partition = 3};
  read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  check_rows(&reading, &written, 0, 3, NULL);
  forget(&reading);
  source.end_partition = 4;
  read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_INT(reading.n_rows, 150);
  char sizes[100];
  snprintf(sizes, sizeof sizes, "the file has %zu bytes, the partition ends at %zu", output.data.size - 100, output.data.size);
  CHECK_CONTAINS(reading.message, "out.data, partition 3, block 0");
  CHECK_CONTAINS(reading.message, sizes);
  forget(&reading);
  drop(&written);
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
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  write_plain(&written, schema, 5, 10);
  spoil(2, header);
  const char *path = test_output_write(&output, "out", COLSHUF_CHECKSUM_NONE);
  struct colshuf_source source = {.data_path = path};
  struct colshuf_error err = {0};
  struct colshuf_read_metrics metrics;
  struct ArrowArrayStream stream;
  struct colshuf_read_options options = {.allocator = test_heap, .skip_corrupt = 1, .threads = threads};
  REQUIRE_OK(colshuf_read(&source, 1, &options, &metrics, &stream, &err));
  read_stream(&stream, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n_rows, 40);
  CHECK_INT(metrics.skipped_blocks, 1);
  CHECK_INT(metrics.sources, 1);
  CHECK_INT(metrics.rows, 40);
  CHECK_INT(metrics.blocks, header ? 4 : 5);
  forget(&reading);
  options.skip_corrupt = 0;
  read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_INT(reading.n_rows, 20);
  CHECK_CONTAINS(reading.message, "partition 2, block 0 at offset ");
  forget(&reading);
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void corrupt_blocks_are_skipped_when_asked_and_counted(void) {
  for (int header = 0; header < 2; header++) {
    for (int threads = 0; threads < 3; threads++) check_skipping(header, threads);
  }
}

static void a_checksum_that_differs_is_told_with_both_numbers(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  write_plain(&written, schema, 4, 500);
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
  read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(reading.message, "partition 2");
  forget(&reading);
  source.first_partition = 3;
  source.end_partition = 4;
  read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_OK);
  CHECK_INT(reading.n_rows, 500);
  forget(&reading);
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_source_that_fails_leaves_what_was_delivered(void) {
  static struct written written;
  static struct reading reading;
  struct csf_schema *schema = test_schema("k: int32");
  write_plain(&written, schema, 3, 10);
  struct drip good = {.data = output.data.data, .size = output.data.size, .step = 100}, bad = good, never = good;
  bad.fail_at = (int64_t)output.blocks[2] - 5;
  struct colshuf_source sources[] = {drip_source(&good), drip_source(&bad), drip_source(&never)};
  read_all(sources, 3, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_IO);
  CHECK(reading.n_rows >= 40);
  CHECK_CONTAINS(reading.message, "input, block 2 at offset ");
  CHECK_INT(good.released + bad.released + never.released, 3);
  CHECK_INT(never.at, 0);
  forget(&reading);
  struct colshuf_source missing = {.data_path = "/nonexistent/x.data"};
  read_all(&missing, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_IO);
  CHECK_CONTAINS(reading.message, "/nonexistent/x.data");
  forget(&reading);
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void reading_ends_when_it_is_cancelled(void) {
  static struct written written;
  struct csf_schema *schema = test_schema("k: int32");
  write_plain(&written, schema, 3, 10);
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
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void batches_outlive_the_stream(void) {
  static struct written written;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  write_plain(&written, schema, 2, 10);
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
  drop(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void a_block_above_the_memory_limit_is_refused(void) {
  static struct reading reading;
  struct csf_schema *schema = test_schema("s: utf8");
  struct test_random random = {9};
  struct ArrowArray batch;
  struct test_array_options array = {.rows = 1000, .max_text = 4000};
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&output);
  test_output_add(&output, &schema->root, &batch, 0, 1000, COLSHUF_NONE);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  struct colshuf_read_options options = {.memory_limit = 100000};
  read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.status, COLSHUF_LIMIT);
  CHECK_CONTAINS(reading.message, "at most 100000");
  forget(&reading);
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
    for (int threads = 0; threads < 2; threads++) {
      struct colshuf_error err = {0};
      struct ArrowArrayStream stream;
      struct ArrowArray out;
      struct colshuf_read_options options = {.allocator = test_heap, .memory_limit = LIMIT, .threads = threads};
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

static uint64_t bytes_read;

static ssize_t counting_pread(int fd, void *buffer, size_t size, off_t offset) {
  ssize_t n = csf_io_system.pread(fd, buffer, size, offset);
  if (n > 0) bytes_read += (uint64_t)n;
  return n;
}

/* Blocks of more than 64 KiB without compression take a way of their own. */
static void large_plain_blocks_are_read_in_place_and_in_part(void) {
  struct test_random random = {41};
  static struct written written;
  static struct reading reading;
  for (int i = 0; i < 40; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.n_columns = 5, .max_depth = 2});
    written.n = 0;
    test_output_init(&output);
    for (int b = 0; b < 4; b++) {
      struct test_array_options array = {.rows = b == 2 ? 10 : 3000, .null_percent = 10, .max_text = 60, .shape = i % 2 ? TEST_WILD & ~TEST_SLICED_ROOT : 0};
      written.fields[b] = &schema->root;
      test_random_array(&random, &schema->root, &array, &written.batches[written.n++]);
      test_output_add(&output, &schema->root, &written.batches[b], 0, array.rows, COLSHUF_NONE);
    }
    test_output_end_partition(&output);
    struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32C)};
    int32_t columns[3] = {(int32_t)test_random_below(&random, 5), (int32_t)test_random_below(&random, 5), 4};
    for (int some = 0; some < 2; some++) {
      struct colshuf_read_options options = random_options(&random);
      options.memory_limit = 0;
      if (some) options.columns = columns;
      if (some) options.n_columns = (int32_t)test_random_below(&random, 4);
      read_all(&source, 1, &options, &reading);
      CHECK_STRING(reading.message, "");
      if (reading.status == COLSHUF_OK) check_rows(&reading, &written, 0, 4, options.columns);
      forget(&reading);
    }
    drop(&written);
    test_output_clear(&output);
    csf_schema_release(schema);
  }
}

static void columns_that_nobody_wants_are_neither_read_nor_looked_at(void) {
  static struct written written;
  static struct reading reading;
  struct csf_io counting = csf_io_system;
  counting.pread = counting_pread;
  struct csf_schema *schema = test_schema("a: int64, b: utf8, c: int64, d: decimal256(70, 0), e: int32");
  write_plain(&written, schema, 4, 5000);
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
  read_all(&source, 1, &options, &reading);
  csf_io_current = &csf_io_system;
  CHECK_STRING(reading.message, "");
  check_rows(&reading, &written, 0, 4, columns);
  CHECK(bytes_read < output.data.size / 2); /* the first block whole, of the others 12 of 70 bytes a row */
  forget(&reading);
  options.n_columns = 0;
  read_all(&source, 1, &options, &reading);
  CHECK_INT(reading.n_rows, 20000);
  forget(&reading);
  read_all(&source, 1, NULL, &reading);
  CHECK_INT(reading.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(reading.message, "UTF-8");
  forget(&reading);
  drop(&written);
  test_output_clear(&output);
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
  struct colshuf_read_options options = {.allocator = test_heap, .target_rows = 12, .columns = columns, .n_columns = 2, .threads = threads_of_read_once};
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
  static struct written written;
  struct csf_schema *schema = test_schema("a: dictionary<int8, utf8>, b: list<int32>, c: utf8_view");
  write_plain(&written, schema, 3, 10);
  struct colshuf_source source = {.data_path = test_output_write(&output, "out", COLSHUF_CHECKSUM_CRC32)};
  CHECK(test_oom_sweep(read_once, &source) > 20);
  drop(&written);
  test_output_clear(&output);
  write_plain(&written, schema, 2, 6000);
  test_output_clear(&output);
  test_output_init(&output);
  for (int i = 0; i < 2; i++) test_output_add(&output, &schema->root, &written.batches[i], 0, 6000, COLSHUF_NONE);
  test_output_end_partition(&output);
  source.data_path = test_output_write(&output, "plain", COLSHUF_CHECKSUM_NONE);
  CHECK(test_oom_sweep(read_once, &source) > 20);
  threads_of_read_once = 2;
  CHECK(test_oom_sweep(read_once, &source) > 20);
  threads_of_read_once = 0;
  drop(&written);
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
    TEST(nothing_gives_nothing),
    TEST(rows_without_columns_are_counted),
    TEST(every_truncation_is_told_and_earlier_rows_are_delivered),
    TEST(a_file_shorter_than_its_index_gives_the_partitions_it_has),
    TEST(corrupt_blocks_are_skipped_when_asked_and_counted),
    TEST(a_checksum_that_differs_is_told_with_both_numbers),
    TEST(a_source_that_fails_leaves_what_was_delivered),
    TEST(reading_ends_when_it_is_cancelled),
    TEST(batches_outlive_the_stream),
    TEST(a_block_above_the_memory_limit_is_refused),
    TEST(memory_stays_within_the_limit_however_many_sources),
    TEST(large_plain_blocks_are_read_in_place_and_in_part),
    TEST(columns_that_nobody_wants_are_neither_read_nor_looked_at),
    TEST(reading_survives_every_refusal),
};
TEST_MAIN(tests)
