/* SPDX-License-Identifier: Apache-2.0 */
/* Small inputs that could cost much, and odd ones that could be taken for something else: what they cost, and what they give. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "block/block_format.h"
#include "codec/codec.h"
#include "ipc/flatbuf_build.h"
#include "ipc/format_tables.h"
#include "ipc/message.h"
#include "ipc/schema_message.h"
#include "shuffle/map_writer.h"
#include "support/messages.h"
#include "support/reading.h"
#include "support/table.h"
#include "support/types.h"

static double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

/* A block without compression around a stream. */
static void append_block(struct csf_buffer *out, const struct csf_buffer *stream, uint64_t n_columns) {
  uint8_t header[COLSHUF_BLOCK_HEADER_SIZE];
  csf_block_header_write(header, sizeof header + stream->size, n_columns, COLSHUF_NONE, false);
  test_append(out, header, sizeof header);
  test_append(out, stream->data, stream->size);
}

static enum colshuf_status read_bytes(const struct csf_buffer *bytes, struct colshuf_read_options options, struct test_reading *reading) {
  struct colshuf_source source = {.bytes = bytes->data, .size = bytes->size};
  test_read_all(&source, 1, &options, reading);
  enum colshuf_status status = reading->status;
  test_reading_clear(reading);
  return status;
}

/* --- dictionaries that are much when they are unpacked --- */

/* Rows that all mean the one value of a dictionary; null: or none of them. */
static void append_indices(struct csf_buffer *stream, int64_t rows, bool null) {
  uint8_t *body = calloc(1, (size_t)rows);
  const int64_t nodes[][2] = {{rows, null ? rows : 0}}, buffers[][2] = {{0, null ? (rows + 7) / 8 : 0}, {0, rows}};
  test_message_append(stream, &(struct test_message){.length = rows, .nodes = nodes, .n_nodes = 1, .buffers = buffers, .n_buffers = 2,
                                                     .body = body, .body_size = (size_t)rows});
  free(body);
  test_end_append(stream);
}

static struct csf_buffer long_string_many_times(int64_t size, int64_t rows) {
  struct csf_buffer stream = test_buffer(), block = test_buffer();
  uint8_t *body = calloc(1, (size_t)size + 16);
  memcpy(body + 8, &size, 8);
  const int64_t buffers[][2] = {{0, 0}, {0, 16}, {16, size}};
  test_schema_append(&stream, "s: dictionary<int8, large_utf8>");
  test_message_append(&stream, &(struct test_message){.is_dictionary = true, .length = 1, TEST_NODES({1, 0}), .buffers = buffers,
                                                      .n_buffers = 3, .body = body, .body_size = (size_t)size + 16});
  append_indices(&stream, rows, false);
  append_block(&block, &stream, 1);
  csf_buffer_clear(&stream);
  free(body);
  return block;
}

static struct csf_buffer null_of_a_wide_list(void) {
  struct csf_buffer stream = test_buffer(), block = test_buffer();
  test_schema_append(&stream, "l: dictionary<int8, fixed_size_list<item: null, 50000000>>");
  test_message_append(&stream, &(struct test_message){.is_dictionary = true, .length = 1, TEST_NODES({1, 0}, {50000000, 0}),
                                                      TEST_BUFFERS({0, 0}), .body = "", .body_size = 0});
  append_indices(&stream, 8, true);
  append_block(&block, &stream, 1);
  csf_buffer_clear(&stream);
  return block;
}

static void dictionaries_that_unpack_to_more_than_the_limit_are_refused_in_little_memory(void) {
  static struct test_reading reading;
  struct colshuf_read_options options = {.memory_limit = 4 << 20, .limits = {.max_decompressed_size = 4 << 20}};
  struct csf_buffer blocks[] = {long_string_many_times(1 << 20, 200), null_of_a_wide_list()};
  for (int i = 0; i < 2; i++) {
    uint64_t before = test_heap_bytes();
    test_heap_reset_peak();
    CHECK_INT(read_bytes(&blocks[i], options, &reading), COLSHUF_LIMIT);
    CHECK(test_heap_peak() - before < 32 << 20);
    csf_buffer_clear(&blocks[i]);
  }
  struct csf_buffer modest = long_string_many_times(1 << 20, 5);
  CHECK_INT(read_bytes(&modest, options, &reading), COLSHUF_OK);
  csf_buffer_clear(&modest);
}

/* --- values that are slow to compare --- */

enum { LIST_LEVELS = 40 };

/* A dictionary of one value: each list means the two lists below it, and so does the one beside it. */
static void append_nested_views(struct csf_buffer *stream) {
  static const int32_t places[] = {0, 0, 2, 2};
  int64_t nodes[LIST_LEVELS + 1][2], buffers[3 * LIST_LEVELS + 2][2];
  for (int i = 0; i < LIST_LEVELS; i++) {
    nodes[i][0] = i == 0 ? 1 : 2;
    nodes[i][1] = 0;
    memcpy(buffers[3 * i], (int64_t[3][2]){{0, 0}, {0, 8}, {8, 8}}, sizeof(int64_t[3][2]));
  }
  memcpy(nodes[LIST_LEVELS], (int64_t[]){2, 0}, sizeof nodes[0]);
  memcpy(buffers[3 * LIST_LEVELS], (int64_t[2][2]){{0, 0}, {0, 2}}, sizeof(int64_t[2][2]));
  test_message_append(stream, &(struct test_message){.is_dictionary = true, .length = 1, .nodes = (const int64_t(*)[2])nodes,
                                                     .n_nodes = LIST_LEVELS + 1, .buffers = (const int64_t(*)[2])buffers,
                                                     .n_buffers = 3 * LIST_LEVELS + 2, TEST_BODY(places)});
}

static void dictionaries_of_lists_that_share_their_values_are_joined_quickly(void) {
  static struct test_reading reading;
  char schema[LIST_LEVELS * 20 + 40] = "d: dictionary<int8, ";
  for (int i = 0; i < LIST_LEVELS; i++) strcat(schema, "list_view<item: ");
  strcat(schema, "int8");
  for (int i = 0; i <= LIST_LEVELS; i++) strcat(schema, ">");
  struct csf_buffer stream = test_buffer(), blocks = test_buffer();
  test_schema_append(&stream, schema);
  append_nested_views(&stream);
  append_indices(&stream, 1, false);
  append_block(&blocks, &stream, 1);
  append_block(&blocks, &stream, 1);
  CHECK_INT(read_bytes(&blocks, (struct colshuf_read_options){.keep_dictionaries = 1}, &reading), COLSHUF_OK);
  csf_buffer_clear(&stream);
  csf_buffer_clear(&blocks);
}

static void values_of_one_hash_are_joined_quickly(void) {
  enum { N = 60000 };
  struct colshuf_error err;
  struct csf_schema *schema = test_schema("d: dictionary<int32, int64>");
  const struct csf_field *field = schema->root.children;
  uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), inverse = factor;
  for (int i = 0; i < 5; i++) inverse *= 2 - factor * inverse;
  uint64_t *values = malloc(2 * N * sizeof *values);
  for (uint64_t i = 0; i < 2 * N; i++) { /* the hash of the dictionaries' table, backwards from one that ends in zeros */
    uint64_t hash = i << 24;
    hash = (hash ^ hash >> 32) * inverse;
    hash ^= hash >> 29 ^ hash >> 58;
    values[i] = (hash * inverse) ^ 8;
  }
  struct ArrowArray dictionaries[2], arrays[2], joined;
  const void *buffers[2][2], *index_buffers[] = {NULL, (const int32_t[]){0, N - 1}};
  const struct ArrowArray *both[] = {&arrays[0], &arrays[1]};
  for (int i = 0; i < 2; i++) {
    buffers[i][0] = NULL;
    buffers[i][1] = values + i * N;
    dictionaries[i] = (struct ArrowArray){.length = N, .n_buffers = 2, .buffers = buffers[i]};
    arrays[i] = (struct ArrowArray){.length = 2, .n_buffers = 2, .buffers = index_buffers, .dictionary = &dictionaries[i]};
  }
  double start = seconds();
  REQUIRE_OK(csf_array_concat(field, both, (const int64_t[]){0, 0}, (const int64_t[]){2, 2}, 2, &test_heap, &joined, &err));
  CHECK(seconds() - start < 1);
  for (int i = 0; i < 4; i++) {
    int64_t index = csf_load_i32((const uint8_t *)joined.buffers[1] + 4 * i);
    uint64_t value = csf_load_u64((const uint8_t *)joined.dictionary->buffers[1] + 8 * index);
    CHECK(value == values[(i / 2) * N + (i % 2) * (N - 1)]);
  }
  joined.release(&joined);
  csf_schema_release(schema);
  free(values);
}

/* --- schemas --- */

static void a_name_that_many_fields_share_takes_no_more_than_the_metadata_limit(void) {
  enum { FIELDS = 2000, NAME = 50000 };
  struct colshuf_error err;
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  char *name = malloc(NAME);
  memset(name, 'x', NAME);
  csf_flatbuf_ref text = csf_flatbuf_string(&b, name, NAME), refs[FIELDS];
  free(name);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_ref type = csf_flatbuf_table_end(&b);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_ref(&b, CSF_FIELD_NAME, text);
  csf_flatbuf_field_u8(&b, CSF_FIELD_TYPE_TYPE, CSF_CODE_BOOL, 0);
  csf_flatbuf_field_ref(&b, CSF_FIELD_TYPE, type);
  csf_flatbuf_ref field = csf_flatbuf_table_end(&b);
  for (int i = 0; i < FIELDS; i++) refs[i] = field;
  csf_flatbuf_ref fields = csf_flatbuf_vector_of_refs(&b, refs, FIELDS);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_ref(&b, CSF_SCHEMA_FIELDS, fields);
  csf_flatbuf_ref header = csf_flatbuf_table_end(&b);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_i16(&b, CSF_MESSAGE_VERSION, CSF_VERSION_V5, 0);
  csf_flatbuf_field_u8(&b, CSF_MESSAGE_HEADER_TYPE, CSF_HEADER_SCHEMA, 0);
  csf_flatbuf_field_ref(&b, CSF_MESSAGE_HEADER, header);
  csf_flatbuf_ref message = csf_flatbuf_table_end(&b);
  struct csf_span metadata;
  REQUIRE_OK(csf_flatbuf_finish(&b, message, &metadata, &err));
  enum csf_message_kind kind;
  bool is_v4;
  int64_t body_size;
  REQUIRE_OK(csf_message_verify(metadata, NULL, &kind, &is_v4, &body_size, &err));
  uint64_t before = test_heap_bytes();
  test_heap_reset_peak();
  struct csf_schema *schema = NULL;
  struct colshuf_limits limits = {.max_metadata_size = 1 << 20};
  CHECK_STATUS(csf_schema_message_read(metadata, &test_heap, &limits, &schema, &err), COLSHUF_LIMIT);
  CHECK(test_heap_peak() - before < 4 << 20);
  csf_schema_release(schema);
  csf_flatbuf_clear(&b);
}

/* --- what one block leaves for the next --- */

static struct csf_buffer zstd_block(int64_t rows) {
  struct test_random random = {7};
  struct csf_schema *schema = test_schema("a: int64");
  struct ArrowArray batch;
  struct test_array_options array = {.rows = rows};
  static struct test_output output;
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&output);
  test_output_add(&output, &schema->root, &batch, 0, rows, COLSHUF_ZSTD);
  struct csf_buffer block = test_buffer();
  test_append(&block, output.data.data, output.data.size);
  test_output_clear(&output);
  batch.release(&batch);
  csf_schema_release(schema);
  return block;
}

/* Decodes both, the first one held, with so much memory. */
static enum colshuf_status decode_both(const struct csf_buffer *blocks, uint64_t max_memory, int *n) {
  struct colshuf_error err;
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .limits = {.max_memory = max_memory}};
  struct colshuf_block_decoder *decoder;
  struct ArrowArray batches[2];
  size_t consumed;
  enum colshuf_status status = COLSHUF_OK;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  for (*n = 0; *n < 2 && status == COLSHUF_OK; *n += status == COLSHUF_OK) {
    const struct csf_buffer *block = &blocks[*n];
    status = colshuf_block_decoder_decode(decoder, block->data, block->size, NULL, &consumed, NULL, &batches[*n], &err);
  }
  for (int i = 0; i < *n; i++) batches[i].release(&batches[i]);
  colshuf_block_decoder_free(decoder);
  return status;
}

static void a_small_block_is_decoded_where_a_large_one_before_it_has_taken_most_of_the_memory(void) {
  struct csf_buffer blocks[] = {zstd_block(100000), zstd_block(10)};
  uint64_t enough = 1 << 19; /* for the large one */
  int n = 0;
  for (; n == 0; enough += 1 << 16) (void)decode_both(blocks, enough, &n);
  CHECK_INT(decode_both(blocks, enough, &n), COLSHUF_OK);
  csf_buffer_clear(&blocks[0]);
  csf_buffer_clear(&blocks[1]);
}

/* --- readers and writers --- */

static void sources_that_are_not_there_are_an_error(void) {
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct colshuf_read_options options = {.allocator = test_heap};
  CHECK_STATUS(colshuf_read(NULL, 1, &options, NULL, &stream, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_read(NULL, -1, &options, NULL, &stream, &err), COLSHUF_INVALID_ARGUMENT);
}

static void a_memory_limit_of_a_byte_is_an_error_and_not_the_end(void) {
  static struct test_reading reading;
  struct csf_buffer block = zstd_block(10);
  struct csf_schema *schema = test_schema("a: int64");
  struct colshuf_error err;
  struct ArrowSchema expected;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &expected, &err));
  for (uint64_t limit = 1; limit < 6; limit++) {
    struct colshuf_read_options options = {.memory_limit = limit, .expected_schema = &expected};
    CHECK_INT(read_bytes(&block, options, &reading), COLSHUF_LIMIT);
  }
  expected.release(&expected);
  csf_schema_release(schema);
  csf_buffer_clear(&block);
}

static void strings_that_are_no_text_are_written_whether_rows_are_spilled_or_not(void) {
  struct colshuf_error err;
  char output[512];
  snprintf(output, sizeof output, "%s/out", test_directory());
  struct test_table table = test_table("utf8", "'a' 'b' 'c' 'd'");
  ((uint8_t *)(uintptr_t)table.batch.children[0]->buffers[2])[2] = 0xff;
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    struct colshuf_map_writer *writer;
    struct colshuf_map_metrics metrics;
    struct colshuf_map_writer_options options = {
        .allocator = test_heap, .partitioner = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 3}, .output = output};
    REQUIRE_OK(colshuf_map_writer_new(&table.c_schema, &options, &writer, &err));
    if (by_rows != 0) writer->sizes.small_block = UINT64_MAX;
    REQUIRE_OK(colshuf_map_writer_write(writer, &table.batch, &err));
    if (by_rows != 0) REQUIRE_OK(colshuf_map_writer_spill(writer, NULL, &err));
    CHECK_STATUS(colshuf_map_writer_commit(writer, NULL, &err), COLSHUF_OK);
    colshuf_map_writer_metrics(writer, &metrics);
    CHECK_INT(metrics.spills, by_rows);
    colshuf_map_writer_free(writer);
  }
  test_table_clear(&table);
}

/* --- buffers that lie on one another --- */

/* n columns that are all the same text of the body, compressed or not (then as it is, behind a -1). */
static struct csf_buffer columns_of_one_text(int32_t n, int64_t size, bool compressed) {
  struct csf_buffer stream = test_buffer(), block = test_buffer();
  char *schema = malloc((size_t)n * 16 + 1), *at = schema;
  for (int32_t i = 0; i < n; i++) at += sprintf(at, "%sc%d: utf8", i > 0 ? ", " : "", i);
  test_schema_append(&stream, schema);
  int64_t(*nodes)[2] = malloc((size_t)n * sizeof *nodes), (*buffers)[2] = malloc((size_t)n * 3 * sizeof *buffers);
  int64_t head = compressed ? 8 : 0;
  uint8_t *body = calloc(1, (size_t)size + 32);
  memset(body, compressed ? 0xff : 0, 8);
  csf_store_i32(body + head + 4, (int32_t)size);
  memset(body + 16, compressed ? 0xff : 0, 8);
  for (int32_t i = 0; i < n; i++) {
    memcpy(nodes[i], (int64_t[]){1, 0}, 16);
    memcpy(buffers[3 * i], (int64_t[3][2]){{0, 0}, {0, 8 + head}, {16, size + head}}, 48);
  }
  test_message_append(&stream, &(struct test_message){.length = 1, .nodes = (const int64_t(*)[2])nodes, .n_nodes = (size_t)n, .compression = compressed ? 2 : 0,
                                                      .buffers = (const int64_t(*)[2])buffers, .n_buffers = 3 * (size_t)n, .body = body,
                                                      .body_size = (size_t)size + 32});
  test_end_append(&stream);
  append_block(&block, &stream, (uint64_t)n);
  csf_buffer_clear(&stream);
  free(schema);
  free(nodes);
  free(buffers);
  free(body);
  return block;
}

static void buffers_on_one_another_are_read_up_to_the_limit_of_a_body(void) {
  static struct test_reading reading;
  struct colshuf_read_options options = {.limits = {.max_decompressed_size = 16 << 20}};
  for (int compressed = 0; compressed < 2; compressed++) {
    struct csf_buffer two = columns_of_one_text(2, 1 << 20, compressed != 0), many = columns_of_one_text(60, 1 << 20, compressed != 0);
    uint64_t before = test_heap_bytes();
    CHECK_INT(read_bytes(&two, options, &reading), COLSHUF_OK);
    test_heap_reset_peak();
    struct colshuf_source source = {.bytes = many.data, .size = many.size};
    test_read_all(&source, 1, &options, &reading);
    CHECK_INT(reading.status, COLSHUF_LIMIT);
    CHECK_CONTAINS(reading.message, "buffers that overlap");
    test_reading_clear(&reading);
    CHECK(test_heap_peak() - before < 32 << 20);
    csf_buffer_clear(&two);
    csf_buffer_clear(&many);
  }
}

static const struct test_case tests[] = {
    TEST(dictionaries_that_unpack_to_more_than_the_limit_are_refused_in_little_memory),
    TEST(dictionaries_of_lists_that_share_their_values_are_joined_quickly),
    TEST(values_of_one_hash_are_joined_quickly),
    TEST(a_name_that_many_fields_share_takes_no_more_than_the_metadata_limit),
    TEST(a_small_block_is_decoded_where_a_large_one_before_it_has_taken_most_of_the_memory),
    TEST(sources_that_are_not_there_are_an_error),
    TEST(a_memory_limit_of_a_byte_is_an_error_and_not_the_end),
    TEST(strings_that_are_no_text_are_written_whether_rows_are_spilled_or_not),
    TEST(buffers_on_one_another_are_read_up_to_the_limit_of_a_body),
};
TEST_MAIN(tests)
