/* SPDX-License-Identifier: Apache-2.0 */
/* Whole shuffles, written and read, of input that some program got wrong; what stands in each partition is known beforehand. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "support/map_writer.h"
#include "support/messages.h"
#include "support/reading.h"
#include "support/table.h"

static const struct colshuf_key key_0 = {.column = 0};

static struct colshuf_partitioner_options by(enum colshuf_partitioning kind, int32_t n_partitions) {
  return (struct colshuf_partitioner_options){.kind = kind, .n_partitions = n_partitions, .keys = &key_0, .n_keys = 1};
}

/* One batch written down as text, as input. */
static void open_table(struct test_input *input, const char *types, const char *rows,
                       const struct colshuf_partitioner_options *partitioner) {
  struct test_table table = test_table(types, rows);
  table.c_schema.release(&table.c_schema);
  test_input_take(input, table.schema, partitioner, &table.batch, 1);
}

static struct test_reading reading;

/* Reads partitions [first, end) of the output into `reading`; test_reading_clear is the caller's. */
static void read_partitions(int32_t first, int32_t end, const struct colshuf_read_options *options) {
  char path[600];
  snprintf(path, sizeof path, "%s.data", test_output_name());
  struct colshuf_source source = {.data_path = path, .first_partition = first, .end_partition = end};
  test_read_all(&source, 1, options, &reading);
  CHECK_STRING(reading.message, "");
  CHECK_INT(reading.status, COLSHUF_OK);
}

static void check_partition(int line, int32_t partition, const char *wanted) {
  struct csf_buffer text = test_buffer();
  read_partitions(partition, partition + 1, NULL);
  for (int b = 0; b < reading.n; b++) {
    for (int64_t row = 0; row < reading.batches[b].length; row++) {
      if (text.size > 0) test_append(&text, " ", 1);
      test_value_text(&reading.schema->root, &reading.batches[b], row, &text);
    }
  }
  test_append(&text, "", 1);
  if (strcmp((char *)text.data, wanted) != 0) {
    test_fail(__FILE__, line, "partition %d: \"%s\", not \"%s\"", partition, (char *)text.data, wanted);
  }
  csf_buffer_clear(&text);
  test_reading_clear(&reading);
}
#define CHECK_PARTITION(partition, wanted) check_partition(__LINE__, partition, wanted)

static int64_t count_rows(int32_t first, int32_t end) {
  read_partitions(first, end, NULL);
  int64_t n = reading.n_rows;
  test_reading_clear(&reading);
  return n;
}

static int64_t file_size(const char *ending) {
  char path[600];
  struct stat found;
  snprintf(path, sizeof path, "%s%s", test_output_name(), ending);
  return stat(path, &found) == 0 ? (int64_t)found.st_size : -1;
}

/* --- where rows go --- */

/* Spark hashes both zeros as 0.0 (-1670924195, mod 7: 4), but the value that travels is the one that was given. */
static void zeros_of_both_signs_meet_and_keep_their_sign(void) {
  struct test_input input;
  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 7);
  open_table(&input, "float64, float32", "0.0 -0.0 | -0.0 0.0 | null null | -0.0 -0.0", &hash);
  struct colshuf_map_writer_options options = test_map_options(&hash, 0);
  test_shuffle_and_check(&input, &options, NULL);
  CHECK_PARTITION(4, "{x0000000000000000, x80000000} {x8000000000000000, x00000000} {x8000000000000000, x80000000}");
  CHECK_PARTITION(0, "{null, null}"); /* 42 mod 7 */
  CHECK_INT(count_rows(0, 7), 4);
  test_input_close(&input);
}

/* The id of each row read, worked out anew. */
static void every_row_of_a_partition_has_its_id(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 4);
  char rows[1000] = "";
  for (int i = 0; i < 100; i++) snprintf(rows + strlen(rows), 16, "%s%d", i > 0 ? " | " : "", 7 * i - 300);
  open_table(&input, "int32", rows, &hash);
  struct colshuf_map_writer_options options = test_map_options(&hash, 0);
  test_shuffle_and_check(&input, &options, NULL);
  int64_t n = 0;
  for (int32_t p = 0; p < 4; p++) {
    read_partitions(p, p + 1, NULL);
    for (int b = 0; b < reading.n; b++) {
      int32_t hashes[100], column = 0;
      struct ArrowSchema exported;
      REQUIRE_OK(csf_field_export(&reading.schema->root, &test_heap, &exported, &err));
      REQUIRE_OK(colshuf_murmur3(&exported, &reading.batches[b], &column, 1, 42, COLSHUF_RULES_SPARK, hashes, &err));
      for (int64_t i = 0; i < reading.batches[b].length; i++) CHECK_INT((hashes[i] % 4 + 4) % 4, p);
      n += reading.batches[b].length;
      exported.release(&exported);
    }
    test_reading_clear(&reading);
  }
  CHECK_INT(n, 100);
  test_input_close(&input);
}

static void columns_of_one_name_are_told_apart_by_their_place(void) {
  struct test_input input;
  struct colshuf_key second = {.column = 1};
  struct colshuf_partitioner_options by_id = {.kind = COLSHUF_PARTITION_ID, .n_partitions = 7, .keys = &second, .n_keys = 1};
  struct test_table table = test_table("int32, int32", "1 4 | 2 5 | 3 6");
  table.c_schema.release(&table.c_schema);
  csf_schema_release(table.schema);
  test_input_take(&input, test_schema("dupe_col: int32, dupe_col: int32"), &by_id, &table.batch, 1);
  struct colshuf_map_writer_options options = test_map_options(&by_id, 0);
  test_shuffle_and_check(&input, &options, NULL);
  CHECK_PARTITION(4, "{1, 4}");
  CHECK_PARTITION(5, "{2, 5}");
  CHECK_PARTITION(6, "{3, 6}");
  read_partitions(0, 7, NULL);
  for (int i = 0; i < 2; i++) CHECK_STRING(reading.schema->root.children[i].name, "dupe_col");
  test_reading_clear(&reading);
  test_input_close(&input);
}

/* --- columns and rows of no bytes --- */

static void a_column_of_nulls_is_dealt_out_hashed_and_read(void) {
  struct test_input input;
  struct colshuf_partitioner_options robin = by(COLSHUF_PARTITION_ROUND_ROBIN, 2);
  robin.keys = NULL;
  robin.n_keys = 0;
  robin.sort_first = 1;
  open_table(&input, "int32, null", "1 null | 2 null | 3 null", &robin);
  struct colshuf_map_writer_options options = test_map_options(&robin, 0);
  test_shuffle_and_check(&input, &options, NULL);
  int64_t first = count_rows(0, 1);
  CHECK(first == 1 || first == 2);
  CHECK_INT(count_rows(1, 2), 3 - first);
  read_partitions(0, 2, NULL);
  REQUIRE(reading.n == 1);
  CHECK_INT(csf_array_null_count(&reading.schema->root.children[1], reading.batches[0].children[1], 0, 3), 3);
  test_reading_clear(&reading);
  test_input_close(&input);

  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 2); /* 42 mod 2 */
  open_table(&input, "null", "null | null | null | null | null", &hash);
  options = test_map_options(&hash, 0);
  test_shuffle_and_check(&input, &options, NULL);
  CHECK_PARTITION(0, "{null} {null} {null} {null} {null}");
  CHECK_INT(count_rows(1, 2), 0);
  test_input_close(&input);
}

static void nulls_in_lists_structs_and_maps_keep_their_lengths(void) {
  struct test_input input;
  struct colshuf_partitioner_options by_id = by(COLSHUF_PARTITION_ID, 2);
  open_table(&input, "int32, list<null>, struct<null>, map<int32, null>",
             "1 [null null] {null} [{1 null} {2 null}] | 0 [] null [] | 1 null {null} null", &by_id);
  for (int codec = 0; codec < 4; codec++) {
    struct colshuf_map_writer_options options = test_map_options(&by_id, 0);
    options.encoder.codec = (enum colshuf_codec)codec;
    options.encoder.compat = COLSHUF_COMPAT_COMET;
    test_shuffle_and_check(&input, &options, NULL);
    CHECK_PARTITION(1, "{1, [null, null], {null}, [{1, null}, {2, null}]} {1, null, {null}, null}");
    CHECK_PARTITION(0, "{0, [], null, []}");
  }
  test_input_close(&input);
}

/* hash("") = 142593372, which is even. */
static void values_of_no_bytes_can_be_keys(void) {
  struct test_input input;
  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 2);
  open_table(&input, "fixed_size_binary(0), int32", "'' 1 | '' 2 | '' 3 | '' 4 | '' 5", &hash);
  struct colshuf_map_writer_options options = test_map_options(&hash, 0);
  test_shuffle_and_check(&input, &options, NULL);
  CHECK_PARTITION(0, "{x, 1} {x, 2} {x, 3} {x, 4} {x, 5}");
  test_input_close(&input);
}

/* Whether there are rows is a matter of their number, never of their bytes. */
static void a_partition_of_rows_without_bytes_is_not_empty(void) {
  static const char *const types[] = {"null", "fixed_size_binary(0)", ""};
  struct colshuf_error err;
  for (int i = 0; i < 3; i++) {
    struct test_table table = test_table(types[i], i == 0 ? "null | null | null | null | null | null" : i == 1 ? "'' | '' | '' | '' | '' | ''" : "");
    table.batch.length = 6;
    struct colshuf_partitioner_options robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 3};
    struct colshuf_map_writer_options options = test_map_options(&robin, 0);
    struct colshuf_map_writer *writer;
    REQUIRE_OK(colshuf_map_writer_new(&table.c_schema, &options, &writer, &err));
    REQUIRE_OK(colshuf_map_writer_write_partition(writer, &table.batch, 1, &err));
    if (i % 2) REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    uint64_t sizes[3];
    REQUIRE_OK(colshuf_map_writer_commit(writer, sizes, &err));
    colshuf_map_writer_free(writer);
    CHECK(sizes[0] == 0 && sizes[1] > 0 && sizes[2] == 0);
    CHECK_INT(count_rows(0, 1), 0);
    CHECK_INT(count_rows(1, 2), 6);
    CHECK_INT(count_rows(2, 3), 0);
    test_table_clear(&table);
  }
}

static void rows_without_columns_are_hashed_and_counted(void) {
  struct test_input input;
  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 4);
  hash.n_keys = 0;
  for (int codec = 0; codec < 4; codec++) {
    struct test_table a = test_table("", ""), b = test_table("", "");
    a.batch.length = 7;
    b.batch.length = 5;
    struct ArrowArray batches[] = {a.batch, b.batch};
    a.c_schema.release(&a.c_schema);
    b.c_schema.release(&b.c_schema);
    csf_schema_release(b.schema);
    test_input_take(&input, a.schema, &hash, batches, 2);
    struct colshuf_map_writer_options options = test_map_options(&hash, 0);
    options.encoder.codec = (enum colshuf_codec)codec;
    test_shuffle_and_check(&input, &options, NULL);
    CHECK_INT(file_size(".index"), 5 * 8);
    CHECK_INT(count_rows(0, 4), 12);
    test_input_close(&input);
  }
}

static void neither_columns_nor_rows_make_an_output_without_rows(void) {
  struct test_input input;
  struct colshuf_partitioner_options hash = by(COLSHUF_PARTITION_HASH, 4);
  hash.n_keys = 0;
  for (int32_t n_batches = 0; n_batches < 2; n_batches++) {
    struct test_table table = test_table("", "");
    table.c_schema.release(&table.c_schema);
    test_input_take(&input, table.schema, &hash, &table.batch, n_batches);
    struct colshuf_map_writer_options options = test_map_options(&hash, 0);
    test_shuffle_and_check(&input, &options, NULL);
    CHECK_INT(count_rows(0, 4), 0);
    if (n_batches == 0) table.batch.release(&table.batch);
    test_input_close(&input);
  }
}

/* --- what is read --- */

static void a_block_of_which_no_column_is_wanted_has_its_rows(void) {
  struct test_input input;
  struct colshuf_partitioner_options single = {.kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  open_table(&input, "int32, utf8, bool", "1 'a' true | 2 'b' null | 3 'c' false | 4 '' true | 5 null true | 6 'f' true | 7 'g' true | 8 'h' true | 9 'i' true",
             &single);
  int32_t none = 0;
  for (int codec = 0; codec < 4; codec++) {
    struct colshuf_map_writer_options options = test_map_options(&single, 0);
    options.encoder.codec = (enum colshuf_codec)codec;
    test_shuffle_and_check(&input, &options, NULL);
    read_partitions(0, 1, &(struct colshuf_read_options){.columns = &none, .n_columns = 0});
    REQUIRE(reading.n == 1);
    CHECK_INT(reading.batches[0].length, 9);
    CHECK_INT(reading.batches[0].n_children, 0);
    test_reading_clear(&reading);
  }
  test_input_close(&input);
}

static void a_wanted_column_brings_its_own_dictionary(void) {
  static const int32_t wanted[][2] = {{1, 1}, {0, 0}, {0, 1}};
  static const char *const texts[] = {"{'world'}", "{'hello'}", "{'hello', 'world'}"};
  struct test_input input;
  struct colshuf_partitioner_options single = {.kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  open_table(&input, "dictionary<int32, large_utf8>, dictionary<int8, utf8>", "'hello' 'world'", &single);
  struct colshuf_map_writer_options options = test_map_options(&single, 0);
  test_shuffle_and_check(&input, &options, NULL);
  for (int i = 0; i < 6; i++) {
    struct colshuf_read_options reads = {.columns = wanted[i / 2], .n_columns = i / 2 == 2 ? 2 : 1, .keep_dictionaries = i % 2};
    read_partitions(0, 1, &reads);
    REQUIRE(reading.n == 1);
    CHECK_VALUES(&reading.schema->root, &reading.batches[0], texts[i / 2]);
    for (int c = 0; c < reads.n_columns; c++) CHECK_INT(reading.schema->root.children[c].dictionary != NULL, i % 2);
    test_reading_clear(&reading);
  }
  test_input_close(&input);
}

static void null_structs_keep_their_children_in_step_in_every_partition(void) {
  struct test_input input;
  struct colshuf_partitioner_options by_id = by(COLSHUF_PARTITION_ID, 3);
  open_table(&input, "int32, struct<int32, utf8>", "0 null | 1 {1 'x'} | 2 null | 0 {2 null}", &by_id);
  struct colshuf_map_writer_options options = test_map_options(&by_id, 0);
  test_shuffle_and_check(&input, &options, NULL);
  CHECK_PARTITION(0, "{0, null} {0, {2, null}}");
  CHECK_PARTITION(1, "{1, {1, 'x'}}");
  CHECK_PARTITION(2, "{2, null}");
  test_input_close(&input);
}

static void an_empty_partition_reads_as_nothing_under_a_known_schema(void) {
  struct test_input input;
  struct colshuf_partitioner_options by_id = by(COLSHUF_PARTITION_ID, 8);
  open_table(&input, "int32, utf8", "3 'a' | 3 'b'", &by_id);
  struct colshuf_map_writer_options options = test_map_options(&by_id, 0);
  test_shuffle_and_check(&input, &options, NULL);
  for (int32_t p = 0; p < 8; p++) {
    read_partitions(p, p + 1, &(struct colshuf_read_options){.expected_schema = &input.exported, .verify_checksums = 1});
    CHECK_INT(reading.n, p == 3);
    CHECK_INT(reading.schema->root.n_children, 2);
    test_reading_clear(&reading);
  }
  char path[600];
  snprintf(path, sizeof path, "%s.checksum.ADLER32", test_output_name());
  struct csf_buffer sums = test_read_file(path);
  REQUIRE(sums.size == 8 * 8);
  for (size_t p = 0; p < 8; p++) CHECK_INT(csf_load_be64(sums.data + 8 * p) == 1, p != 3);
  csf_buffer_clear(&sums);
  test_input_close(&input);
}

/* --- sizes --- */

static void one_row_each_of_many_partitions_comes_back(void) {
  static const int32_t partitions[] = {1025, 5000};
  for (int i = 0; i < 2; i++) {
    struct test_input input;
    struct colshuf_partitioner_options by_id = by(COLSHUF_PARTITION_ID, partitions[i]);
    struct csf_buffer rows = test_buffer();
    for (int32_t p = 0; p < partitions[i]; p++) {
      char row[32];
      test_append(&rows, row, (size_t)snprintf(row, sizeof row, "%s%d", p > 0 ? " | " : "", (p * 7) % partitions[i]));
    }
    test_append(&rows, "", 1);
    open_table(&input, "int32", (char *)rows.data, &by_id);
    csf_buffer_clear(&rows);
    struct colshuf_map_writer_options options = test_map_options(&by_id, 0);
    test_shuffle_and_check(&input, &options, NULL);
    CHECK_INT(file_size(".index"), 8 * (partitions[i] + 1));
    read_partitions(0, partitions[i], NULL);
    int32_t at = 0; /* 7 divides neither number: every id comes once */
    for (int b = 0; b < reading.n; b++) {
      const struct ArrowArray *column = reading.batches[b].children[0];
      for (int64_t row = 0; row < column->length; row++) {
        CHECK_INT(csf_load_i32((const uint8_t *)column->buffers[1] + 4 * (column->offset + row)), at++);
      }
    }
    CHECK_INT(at, partitions[i]);
    test_reading_clear(&reading);
    test_input_close(&input);
  }
}

static void the_last_block_of_fewer_rows_is_not_lost(void) {
  static const int64_t rows[] = {2055, 7, 4096};
  static const uint64_t blocks[] = {2, 1, 2};
  struct colshuf_partitioner_options single = {.kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  struct test_random random = {61};
  for (int i = 0; i < 3; i++) {
    struct test_input input;
    struct ArrowArray batch;
    struct csf_schema *schema = test_schema("a: int64, b: utf8");
    test_random_array(&random, &schema->root, &(struct test_array_options){.rows = rows[i]}, &batch);
    test_input_take(&input, schema, &single, &batch, 1);
    struct colshuf_map_writer_options options = test_map_options(&single, 0);
    struct colshuf_map_metrics metrics;
    options.block_rows = 2048;
    test_shuffle_and_check(&input, &options, &metrics);
    CHECK_INT(metrics.blocks, blocks[i]);
    for (int64_t target = 2047; target < 2050; target++) {
      read_partitions(0, 1, &(struct colshuf_read_options){.target_rows = target});
      CHECK_INT(reading.n_rows, rows[i]);
      test_reading_clear(&reading);
    }
    test_input_close(&input);
  }
}

/* 100 strings of 10 bytes, one of 5 MiB, 100 of 10 bytes; blocks of 64 KiB, read in pieces of 64 KiB. */
static void a_row_wider_than_every_buffer_comes_back(void) {
  enum { ROWS = 201, WIDE = 5 << 20 };
  char *bytes = malloc(WIDE + 10 * ROWS);
  REQUIRE(bytes != NULL);
  int32_t offsets[ROWS + 1] = {0};
  for (int i = 0; i < ROWS; i++) offsets[i + 1] = offsets[i] + (i == 100 ? WIDE : 10);
  for (int32_t i = 0; i < offsets[ROWS]; i++) bytes[i] = (char)('a' + i % 23);
  const void *buffers[3] = {NULL, offsets, bytes}, *none[1] = {NULL};
  struct ArrowArray column = {.length = ROWS, .n_buffers = 3, .buffers = buffers}, *columns[] = {&column};
  struct ArrowArray batch = {.length = ROWS, .n_buffers = 1, .buffers = none, .n_children = 1, .children = columns};
  struct test_table table = test_table("utf8", "");
  column.release = batch.release = table.batch.release; /* never called */
  struct colshuf_partitioner_options single = {.kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  for (int codec = 0; codec < 4; codec++) {
    struct colshuf_error err;
    struct colshuf_map_writer *writer;
    struct colshuf_map_writer_options options = test_map_options(&single, 4 << 20);
    options.encoder.codec = (enum colshuf_codec)codec;
    options.block_size = 64 << 10;
    REQUIRE_OK(colshuf_map_writer_new(&table.c_schema, &options, &writer, &err));
    REQUIRE_OK(colshuf_map_writer_write(writer, &batch, &err));
    REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
    colshuf_map_writer_free(writer);
    char path[600];
    snprintf(path, sizeof path, "%s.data", options.output);
    struct csf_buffer data = test_read_file(path);
    struct test_drip drip = {.data = data.data, .size = data.size, .step = 64 << 10};
    struct colshuf_source source = test_drip_source(&drip);
    test_read_all(&source, 1, &(struct colshuf_read_options){.target_rows = 50}, &reading);
    CHECK_STRING(reading.message, "");
    CHECK_INT(reading.n_rows, ROWS);
    int64_t row = 0;
    for (int b = 0; b < reading.n; b++) {
      int64_t n = reading.batches[b].length;
      CHECK_ROWS(&table.schema->root, &batch, row, &reading.schema->root, &reading.batches[b], 0, n);
      row += n;
    }
    test_reading_clear(&reading);
    /* Memory that the caller has set lower than the row is another matter: what is before it comes, then a limit is told. */
    source = (struct colshuf_source){.bytes = data.data, .size = data.size};
    test_read_all(&source, 1, &(struct colshuf_read_options){.memory_limit = 64 << 10}, &reading);
    CHECK_INT(reading.status, COLSHUF_LIMIT);
    CHECK_INT(reading.n_rows, 100);
    CHECK_CONTAINS(reading.message, "65536");
    test_reading_clear(&reading);
    csf_buffer_clear(&data);
  }
  test_table_clear(&table);
  free(bytes);
}

/* --- spills --- */

/* Where the rows of each round go: nothing to 0 at all, little to 1 and not in every round, much to 2, in no order to 3. */
static const struct {
  int32_t n;
  int32_t ids[6];
} rounds[] = {{1, {1}}, {5, {3, 2, 2, 2, 3}}, {3, {3, 1, 2}}, {2, {1, 3}}, {6, {2, 2, 2, 2, 2, 2}}, {0, {0}}, {2, {3, 1}}};
enum { N_ROUNDS = sizeof rounds / sizeof *rounds };

static void pieces_of_many_spills_come_back_in_the_order_of_writing(void) {
  struct colshuf_partitioner_options by_id = by(COLSHUF_PARTITION_ID, 4);
  struct test_random random = {62};
  for (int as_rows = 0; as_rows < 2; as_rows++) {
    struct colshuf_error err;
    struct test_input input;
    struct ArrowArray batches[N_ROUNDS];
    struct csf_schema *schema = test_schema("p: int32 not null, t: utf8");
    for (int i = 0; i < N_ROUNDS; i++) {
      test_random_array(&random, &schema->root, &(struct test_array_options){.rows = rounds[i].n * 40}, &batches[i]);
      int32_t *ids = (int32_t *)(uintptr_t)batches[i].children[0]->buffers[1];
      for (int64_t row = 0; row < batches[i].length; row++) ids[row] = rounds[i].ids[row % rounds[i].n];
    }
    test_input_take(&input, schema, &by_id, batches, N_ROUNDS);
    struct colshuf_map_writer_options options = test_map_options(&by_id, 8 << 20);
    struct colshuf_map_writer *writer;
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    if (as_rows) writer->sizes.small_block = UINT64_MAX;
    for (int i = 0; i < N_ROUNDS; i++) {
      REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[i], &err));
      REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    }
    uint64_t sizes[4];
    REQUIRE_OK(colshuf_map_writer_commit(writer, sizes, &err));
    colshuf_map_writer_free(writer);
    test_check_output(&input, options.output, options.checksum, sizes);
    CHECK_INT(sizes[0], 0);
    CHECK(sizes[1] > 0 && sizes[2] > sizes[1]);
    CHECK_INT(sizes[1] + sizes[2] + sizes[3], (uint64_t)file_size(".data"));
    test_input_close(&input);
  }
}

static const struct test_case tests[] = {
    TEST(zeros_of_both_signs_meet_and_keep_their_sign),
    TEST(every_row_of_a_partition_has_its_id),
    TEST(columns_of_one_name_are_told_apart_by_their_place),
    TEST(a_column_of_nulls_is_dealt_out_hashed_and_read),
    TEST(nulls_in_lists_structs_and_maps_keep_their_lengths),
    TEST(values_of_no_bytes_can_be_keys),
    TEST(a_partition_of_rows_without_bytes_is_not_empty),
    TEST(rows_without_columns_are_hashed_and_counted),
    TEST(neither_columns_nor_rows_make_an_output_without_rows),
    TEST(a_block_of_which_no_column_is_wanted_has_its_rows),
    TEST(a_wanted_column_brings_its_own_dictionary),
    TEST(null_structs_keep_their_children_in_step_in_every_partition),
    TEST(an_empty_partition_reads_as_nothing_under_a_known_schema),
    TEST(one_row_each_of_many_partitions_comes_back),
    TEST(the_last_block_of_fewer_rows_is_not_lost),
    TEST(a_row_wider_than_every_buffer_comes_back),
    TEST(pieces_of_many_spills_come_back_in_the_order_of_writing),
};
TEST_MAIN(tests)
