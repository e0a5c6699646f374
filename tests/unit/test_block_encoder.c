/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>

#include "block/block_format.h"
#include "codec/codec.h"
#include "support/encoding.h"
#include "support/golden_bytes.h"
#include "support/random.h"
#include "support/table.h"
#include "support/types.h"
#include "support/value.h"

static struct colshuf_error err;

/* --- bytes --- */

/* A golden stream behind a header is a block: decoded and encoded again in arrow-rs' layout it is the same. */
static void check_golden(const char *hex) {
  struct csf_buffer stream = test_hex(hex), block;
  csf_buffer_init(&block, &test_heap);
  REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
  REQUIRE_OK(csf_buffer_append(&block, stream.data, stream.size, &err));
  csf_block_header_write(block.data, block.size, 0, COLSHUF_NONE, false);
  struct test_decoded decoded = test_decode(block.data, block.size);
  csf_block_header_write(block.data, block.size, (uint64_t)decoded.schema->root.n_children, COLSHUF_NONE, false);
  struct test_encoder setup = test_encoder_new(csf_schema_retain(decoded.schema), (struct colshuf_block_encoder_options){
                                                                       .codec = COLSHUF_NONE, .layout = COLSHUF_LAYOUT_ARROW_RS});
  for (int round = 0; round < 2; round++) {
    const uint8_t *again;
    size_t size;
    REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &decoded.batch, 0, decoded.batch.length, &again, &size, &err));
    CHECK(size == block.size && memcmp(again, block.data, size) == 0);
  }
  test_encoder_clear(&setup);
  test_decoded_clear(&decoded);
  csf_buffer_clear(&block);
  csf_buffer_clear(&stream);
}

static void golden_streams_become_the_same_blocks_again(void) {
  check_golden(TEST_GOLDEN_T1);
  check_golden(TEST_GOLDEN_T3);
  check_golden(TEST_GOLDEN_T4);
}

/* The IPC stream inside a block, and a block around it without a codec. */
static struct csf_buffer unwrap(const uint8_t *block, const struct colshuf_block_header *header) {
  struct csf_buffer plain, stream;
  struct csf_span body = {block + COLSHUF_BLOCK_HEADER_SIZE, (size_t)header->block_size - COLSHUF_BLOCK_HEADER_SIZE};
  csf_buffer_init(&plain, &test_heap);
  csf_buffer_init(&stream, &test_heap);
  REQUIRE_OK(csf_buffer_append_zero(&plain, COLSHUF_BLOCK_HEADER_SIZE, &err));
  if (header->codec != COLSHUF_NONE) {
    struct csf_codec *codec;
    REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
    REQUIRE_OK(csf_codec_decompress(codec, header->codec, body, 1 << 30, 0, &stream, &err));
    csf_codec_free(codec);
    body = (struct csf_span){stream.data, stream.size};
  }
  REQUIRE_OK(csf_buffer_append(&plain, body.data, body.size, &err));
  csf_block_header_write(plain.data, plain.size, header->n_columns, COLSHUF_NONE, header->offsets_as_lengths != 0);
  csf_buffer_clear(&stream);
  return plain;
}

/* Decodes a block of the real Comet and encodes it again without a codec, in its layout: the stream must be the same. */
static void check_reencoding(const uint8_t *block, const struct colshuf_block_header *header, const char *path) {
  struct csf_buffer wanted = unwrap(block, header);
  struct test_decoded decoded = test_decode(block, (size_t)header->block_size);
  struct colshuf_block_encoder_options options = {.codec = COLSHUF_NONE, .layout = COLSHUF_LAYOUT_ARROW_RS};
  options.offsets = header->offsets_as_lengths ? COLSHUF_OFFSETS_LENGTHS : COLSHUF_OFFSETS_PLAIN;
  struct test_encoder setup = test_encoder_new(csf_schema_retain(decoded.schema), options);
  const uint8_t *again;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &decoded.batch, 0, decoded.batch.length, &again, &size, &err));
  if (size != wanted.size || memcmp(again, wanted.data, size) != 0) {
    size_t at = 0;
    while (at < size && at < wanted.size && again[at] == wanted.data[at]) at++;
    test_fail(__FILE__, __LINE__, "%s: %zu bytes against %zu, the first other one at %zu", path, size, wanted.size, at);
  }
  test_encoder_clear(&setup);
  test_decoded_clear(&decoded);
  csf_buffer_clear(&wanted);
}

static int64_t check_file(const char *path) {
  struct csf_buffer file = test_read_file(path);
  int64_t n = 0;
  for (size_t at = 0; at < file.size; n++) {
    struct colshuf_block_header header;
    REQUIRE_OK(colshuf_block_header_read(file.data + at, file.size - at, &header, &err));
    check_reencoding(file.data + at, &header, path);
    at += (size_t)header.block_size;
  }
  csf_buffer_clear(&file);
  return n;
}

/* Every data file below comet/folder. */
static void check_folder(const char *folder) {
  char root[512], path[2048];
  snprintf(root, sizeof root, "%s", test_data(folder));
  DIR *cases = opendir(root);
  REQUIRE(cases != NULL);
  int64_t n = 0;
  for (struct dirent *entry; (entry = readdir(cases)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%.255s", root, entry->d_name);
    DIR *files = opendir(path);
    if (files == NULL) continue;
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
      size_t length = strlen(file->d_name);
      if (length < 5 || strcmp(file->d_name + length - 5, ".data") != 0) continue;
      snprintf(path, sizeof path, "%s/%.255s/%.255s", root, entry->d_name, file->d_name);
      n += check_file(path);
    }
    closedir(files);
  }
  closedir(cases);
  CHECK(n > 0);
}

static void blocks_of_the_real_comet_are_encoded_to_the_same_bytes(void) {
  check_folder("comet/native-none");
}

static void compressed_blocks_of_the_real_comet_have_the_same_streams(void) {
  check_folder("comet/native-lz4");
  check_folder("comet/native-lz4-spill");
  check_folder("comet/native-snappy");
  check_folder("comet/native-zstd");
}

static void blocks_of_comets_row_writer_have_the_same_streams(void) {
  check_folder("comet/jvm-lz4");
  check_folder("comet/jvm-zstd");
}

/* --- round trips --- */

/* Comet has timestamps in microseconds alone. */
static void use_microseconds(struct csf_field *field) {
  if (field->type == CSF_TIMESTAMP) field->unit = CSF_MICROSECOND;
  if (field->dictionary != NULL) use_microseconds(field->dictionary);
  for (int32_t i = 0; i < field->n_children; i++) use_microseconds(&field->children[i]);
}

/* Which Comet does not have. */
static bool has_empty_struct(const struct csf_field *field) {
  if (field->type == CSF_STRUCT && field->n_children == 0 && field->dictionary == NULL) return true;
  if (field->dictionary != NULL && has_empty_struct(field->dictionary)) return true;
  for (int32_t i = 0; i < field->n_children; i++) {
    if (has_empty_struct(&field->children[i])) return true;
  }
  return false;
}

static void random_rows_come_back(uint64_t seed, enum colshuf_compat compat, uint64_t types, int64_t rows) {
  struct test_random random = {seed};
  struct test_schema_options schema_options = {.types = types};
  struct colshuf_block_encoder_options options = {.compat = compat};
  options.codec = test_codecs[test_random_below(&random, 4)];
  options.layout = (enum colshuf_layout)test_random_below(&random, 2);
  options.offsets = (enum colshuf_offsets)test_random_below(&random, 2);
  struct csf_schema *schema = test_random_schema(&random, &schema_options);
  bool fits = true;
  if (compat != COLSHUF_COMPAT_ARROW) {
    use_microseconds(&schema->root);
    for (int32_t i = 0; i < schema->root.n_children; i++) fits &= !has_empty_struct(&schema->root.children[i]);
  }
  if (!fits) {
    csf_schema_release(schema);
    return;
  }
  struct test_encoder setup = test_encoder_new(schema, options);
  for (int i = 0; i < 3; i++) {
    struct test_array_options array_options = test_random_options(&random, rows);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &array_options, &batch);
    int64_t start = (int64_t)test_random_below(&random, (uint64_t)batch.length + 1);
    int64_t length = (int64_t)test_random_below(&random, (uint64_t)(batch.length - start) + 1);
    if (length > 0) {
      struct colshuf_block_header header = test_check_block(&setup, &batch, start, length);
      CHECK_INT(header.codec, options.codec);
      CHECK_INT(header.n_columns, schema->root.n_children);
      if (compat == COLSHUF_COMPAT_COMET_1_1) CHECK(!header.offsets_as_lengths);
    }
    batch.release(&batch);
  }
  test_encoder_clear(&setup);
}

static void rows_of_every_type_come_back_in_every_codec(void) {
  for (uint64_t seed = 1; seed <= 400; seed++) random_rows_come_back(seed, COLSHUF_COMPAT_ARROW, 0, 60);
}

static void rows_come_back_from_what_comet_reads(void) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    random_rows_come_back(seed, seed % 3 == 0 ? COLSHUF_COMPAT_COMET_1_1 : COLSHUF_COMPAT_COMET, TEST_COMET_TYPES, 60);
  }
  for (uint64_t seed = 1; seed <= 30; seed++) random_rows_come_back(seed, COLSHUF_COMPAT_COMET, TEST_COMET_TYPES, 2000);
}

static void no_rows_make_no_block(void) {
  struct test_table table = test_table("int32, utf8", "1 'a' | 2 'b'");
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block = (const uint8_t *)"";
  size_t size = 1;
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 0, &block, &size, &err));
  CHECK_INT(size, 0);
  test_check_block(&setup, &table.batch, 1, 1);
  test_encoder_clear(&setup);
  test_table_clear(&table);
}

/* One column of longs that rise by 1 to 120 each. */
static void rising_longs(struct csf_schema *schema, int64_t rows, struct ArrowArray *batch) {
  struct test_random random = {5};
  struct test_array_options options = {.rows = rows};
  test_random_array(&random, &schema->root, &options, batch);
  int64_t *values = (int64_t *)(uintptr_t)batch->children[0]->buffers[1], last = 0;
  for (int64_t i = 0; i < rows; i++) values[i] = last += 1 + (int64_t)test_random_below(&random, 120);
}

/* Where zstd starts from decides what it makes of small numbers: what the compact layout leaves out must not cost more than it is. */
static void the_compact_layout_is_the_smaller_one_under_zstd_too(void) {
  size_t sums[2] = {0};
  for (int i = 0; i < 2; i++) {
    struct colshuf_block_encoder_options options = {.codec = COLSHUF_ZSTD, .layout = i == 0 ? COLSHUF_LAYOUT_COMPACT : COLSHUF_LAYOUT_ARROW_RS};
    struct test_encoder setup = test_encoder_new(test_schema("k: int64"), options);
    for (int64_t rows = 1600; rows <= 2400; rows += 100) {
      struct ArrowArray batch;
      const uint8_t *block;
      size_t size;
      rising_longs(setup.schema, rows, &batch);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, rows, &block, &size, &err));
      sums[i] += size;
      test_check_block(&setup, &batch, 0, rows);
      batch.release(&batch);
    }
    test_encoder_clear(&setup);
  }
  printf("  compact %zu bytes, arrow-rs %zu\n", sums[0], sums[1]);
  CHECK(sums[0] <= sums[1]);
}

static void rows_without_columns_are_counted(void) {
  for (int codec = 0; codec < 4; codec++) {
    struct test_encoder setup = test_encoder_new(test_schema(""), (struct colshuf_block_encoder_options){.codec = test_codecs[codec]});
    struct ArrowArray batch;
    struct test_array_options options = {.rows = 7};
    struct test_random random = {1};
    test_random_array(&random, &setup.schema->root, &options, &batch);
    struct colshuf_block_header header = test_check_block(&setup, &batch, 2, 5);
    CHECK_INT(header.n_columns, 0);
    batch.release(&batch);
    test_encoder_clear(&setup);
  }
}

/* Values that take no bytes are rows all the same. */
static void columns_without_bytes_have_rows(void) {
  struct test_table table = test_table("null, fixed_size_binary(0), list<null>, struct<null>",
                                       "null '' [null null] {null} | null '' [] {null} | null '' null null");
  for (int codec = 0; codec < 4; codec++) {
    struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){.codec = test_codecs[codec]});
    test_check_block(&setup, &table.batch, 0, 3);
    test_check_block(&setup, &table.batch, 1, 1);
    test_encoder_clear(&setup);
  }
  test_table_clear(&table);
}

static void null_structs_keep_their_children_in_step(void) {
  struct test_table table = test_table("struct<int32, utf8>", "null | {1 'x'} | null | {2 null}");
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  for (int64_t start = 0; start < 4; start++) {
    for (int64_t n = 1; start + n <= 4; n++) test_check_block(&setup, &table.batch, start, n);
  }
  test_encoder_clear(&setup);
  test_table_clear(&table);
}

/* --- modes --- */

static enum colshuf_status new_for(const char *schema_text, struct colshuf_block_encoder_options options) {
  struct csf_schema *schema = test_schema(schema_text);
  struct ArrowSchema c_schema;
  struct colshuf_block_encoder *encoder = NULL;
  options.allocator = test_heap;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
  enum colshuf_status status = colshuf_block_encoder_new(&c_schema, &options, &encoder, &err);
  CHECK((encoder != NULL) == (status == COLSHUF_OK));
  colshuf_block_encoder_free(encoder);
  c_schema.release(&c_schema);
  csf_schema_release(schema);
  return status;
}

static void types_that_comet_lacks_are_refused_by_name(void) {
  static const char *const refused[][2] = {
      {"a: int32, b: uint8", "uint8"},
      {"a: int32, b: float16", "float16"},
      {"a: int32, b: decimal64(10, 2)", "decimal64"},
      {"a: int32, b: decimal256(60, 2)", "decimal256"},
      {"a: int32, b: date64", "date64"},
      {"a: int32, b: time32(ms)", "time32"},
      {"a: int32, b: time64(us)", "time64"},
      {"a: int32, b: timestamp(ns, UTC)", "timestamp"},
      {"a: int32, b: duration(ms)", "duration"},
      {"a: int32, b: utf8_view", "utf8_view"},
      {"a: int32, b: binary_view", "binary_view"},
      {"a: int32, b: large_list<int32>", "large_list"},
      {"a: int32, b: list_view<int32>", "list_view"},
      {"a: int32, b: struct<x: list<item: uint16>>", "uint16"},
      {"a: int32, b: map<utf8, float16>", "float16"},
      {"a: int32, b: dictionary<int32, utf8_view>", "utf8_view"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    CHECK_STATUS(new_for(refused[i][0], (struct colshuf_block_encoder_options){0}), COLSHUF_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "column 1 \"b\"");
    CHECK_CONTAINS(err.message, refused[i][1]);
    CHECK_STATUS(new_for(refused[i][0], (struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_ARROW}), COLSHUF_OK);
  }
  CHECK_STATUS(new_for("a: timestamp(us, Europe/Berlin), b: timestamp(us), c: duration(us), d: time64(ns), e: large_utf8, f: "
                       "large_binary, g: fixed_size_binary(3), h: interval_month_day_nano, i: decimal128(38, 10), j: null",
                       (struct colshuf_block_encoder_options){0}),
               COLSHUF_OK);
}

static void lengths_that_cannot_be_are_refused(void) {
  struct colshuf_block_encoder_options options = {.offsets = COLSHUF_OFFSETS_LENGTHS};
  CHECK_STATUS(new_for("a: utf8", options), COLSHUF_OK);
  CHECK_STATUS(new_for("a: utf8, b: dictionary<int32, utf8>", options), COLSHUF_UNSUPPORTED);
  options.compat = COLSHUF_COMPAT_COMET_1_1;
  CHECK_STATUS(new_for("a: utf8", options), COLSHUF_INVALID_ARGUMENT);
  options.compat = COLSHUF_COMPAT_ARROW;
  CHECK_STATUS(new_for("a: list<item: utf8_view>", options), COLSHUF_UNSUPPORTED);
  options = (struct colshuf_block_encoder_options){.codec = COLSHUF_ZSTD, .level = 99};
  CHECK_STATUS(new_for("a: utf8", options), COLSHUF_INVALID_ARGUMENT);
  options = (struct colshuf_block_encoder_options){.compat = (enum colshuf_compat)7};
  CHECK_STATUS(new_for("a: utf8", options), COLSHUF_INVALID_ARGUMENT);
}

/* Which blocks carry the flag, by schema, codec, mode and layout. */
static int flag_of(const char *types, const char *rows, struct colshuf_block_encoder_options options) {
  struct test_table table = test_table(types, rows);
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), options);
  int flag = test_check_block(&setup, &table.batch, 0, table.batch.length).offsets_as_lengths;
  test_encoder_clear(&setup);
  test_table_clear(&table);
  return flag;
}

static void the_flag_stands_where_it_helps_and_readers_know_it(void) {
  struct colshuf_block_encoder_options options = {0};
  for (int codec = 0; codec < 4; codec++) {
    options.codec = test_codecs[codec];
    CHECK_INT(flag_of("utf8, list<binary>", "'ab' ['x' 'yy'] | null []", options), test_codecs[codec] != COLSHUF_NONE);
    CHECK_INT(flag_of("int32", "1 | 2", options), 0);
    CHECK_INT(flag_of("utf8, dictionary<int8, utf8>", "'a' 'b'", options), 0);
    options.layout = COLSHUF_LAYOUT_ARROW_RS;
    CHECK_INT(flag_of("utf8", "'ab' | 'x'", options), test_codecs[codec] == COLSHUF_ZSTD);
    options = (struct colshuf_block_encoder_options){.codec = test_codecs[codec], .compat = COLSHUF_COMPAT_COMET_1_1};
    CHECK_INT(flag_of("utf8", "'ab' | 'x'", options), 0);
    options = (struct colshuf_block_encoder_options){.codec = test_codecs[codec], .offsets = COLSHUF_OFFSETS_LENGTHS};
    CHECK_INT(flag_of("large_utf8, map<utf8, int32>", "'ab' [{'k' 1}] | '' null", options), 1);
    options = (struct colshuf_block_encoder_options){0};
  }
}

/* What a column is in the block. */
static void check_column(const char *types, const char *rows, enum colshuf_compat compat, const char *wanted) {
  struct test_table table = test_table(types, rows);
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){.compat = compat});
  const uint8_t *block;
  size_t size;
  char type[256];
  for (int64_t start = 0; start < table.batch.length; start++) {
    test_check_block(&setup, &table.batch, start, table.batch.length - start);
    REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, start, table.batch.length - start, &block, &size, &err));
    struct test_decoded decoded = test_decode(block, size);
    csf_field_describe(&decoded.schema->root.children[0], type, sizeof type);
    CHECK_STRING(type, wanted);
    test_decoded_clear(&decoded);
  }
  test_encoder_clear(&setup);
  test_table_clear(&table);
}

static void dictionaries_are_made_fit_for_comet(void) {
  static const char *const index_types[] = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"};
  for (int i = 0; i < 8; i++) {
    char types[64], kept[64];
    snprintf(types, sizeof types, "dictionary<%s, utf8>", index_types[i]);
    snprintf(kept, sizeof kept, "dictionary<%s, utf8>", index_types[i]);
    check_column(types, "'a' | 'b' | null | 'a' | 'c'", COLSHUF_COMPAT_COMET, "dictionary<int32, utf8>");
    check_column(types, "'a' | 'b' | null | 'a' | 'c'", COLSHUF_COMPAT_COMET_1_1, "dictionary<int32, utf8>");
    check_column(types, "'a' | 'b' | null | 'a' | 'c'", COLSHUF_COMPAT_ARROW, kept);
  }
  check_column("dictionary<int8, decimal128(10,2)>", "100 | null | 100 | 7", COLSHUF_COMPAT_COMET,
               "dictionary<int32, decimal128(10, 2)>");
  check_column("dictionary<int8, large_utf8>", "'x' | null | 'y'", COLSHUF_COMPAT_COMET, "large_utf8");
  check_column("dictionary<int16, list<int32>>", "[1 2] | null | [1 2] | []", COLSHUF_COMPAT_COMET, "list<a: int32>");
}

static void dictionaries_below_the_top_level_are_unpacked_for_comet(void) {
  check_column("list<dictionary<int32, utf8>>", "['fields1' 'fields2'] | null | ['fields1' null]", COLSHUF_COMPAT_COMET,
               "list<a: utf8>");
  check_column("list<dictionary<int8, utf8>>", "['fields1' 'fields2'] | null | ['fields1' null]", COLSHUF_COMPAT_ARROW,
               "list<a: dictionary<int8, utf8>>");
  static const char *const index_types[] = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"};
  for (int i = 0; i < 8; i++) {
    char types[96], kept[96];
    snprintf(types, sizeof types, "list<dictionary<%s, utf8>>", index_types[i]);
    snprintf(kept, sizeof kept, "list<a: dictionary<%s, utf8>>", index_types[i]);
    check_column(types, "['x' 'y'] | null | ['y' null]", COLSHUF_COMPAT_ARROW, kept);
    check_column(types, "['x' 'y'] | null | ['y' null]", COLSHUF_COMPAT_COMET, "list<a: utf8>");
    snprintf(types, sizeof types, "struct<int32, dictionary<%s, utf8>>", index_types[i]);
    snprintf(kept, sizeof kept, "struct<a: int32, b: dictionary<%s, utf8>>", index_types[i]);
    check_column(types, "{1 'x'} | null | {2 null}", COLSHUF_COMPAT_ARROW, kept);
    check_column(types, "{1 'x'} | null | {2 null}", COLSHUF_COMPAT_COMET, "struct<a: int32, b: utf8>");
    snprintf(types, sizeof types, "map<int32, dictionary<%s, utf8>>", index_types[i]);
    snprintf(kept, sizeof kept, "map<int32, dictionary<%s, utf8>>", index_types[i]);
    check_column(types, "[{1 'x'} {2 'y'}] | [] | [{3 null}]", COLSHUF_COMPAT_ARROW, kept);
  }
  check_column("dictionary<int32, int32>", "7 | null | 8", COLSHUF_COMPAT_COMET, "dictionary<int32, int32>");
  check_column("map<int32, dictionary<int32, utf8>>", "[{1 'a'} {2 'b'}] | [] | [{3 'a'}]", COLSHUF_COMPAT_COMET, "map<int32, utf8>");
}

/* Comet looks for nulls in the rows alone. */
static void nulls_in_a_dictionary_become_nulls_of_rows_for_comet(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | ~ | 'b' | null | 'a' | ~");
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  test_check_block(&setup, &table.batch, 0, 6);
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 5, &block, &size, &err));
  struct test_decoded decoded = test_decode(block, size);
  const struct ArrowArray *column = decoded.batch.children[0];
  CHECK_INT(csf_array_null_count(&decoded.schema->root.children[0], column, 0, 5), 3);
  CHECK_INT(csf_array_null_count(decoded.schema->root.children[0].dictionary, column->dictionary, 0, column->dictionary->length), 0);
  CHECK_INT(column->dictionary->length, 2);
  test_decoded_clear(&decoded);
  test_encoder_clear(&setup);
  test_table_clear(&table);
}

/* 100,000 values of which a block of 3 rows uses 2: in order of first use, or in the dictionary's order where it has one. */
static void a_block_takes_along_only_the_values_that_it_uses(void) {
  enum { VALUES = 100000 };
  struct csf_schema *schema = test_schema("d: dictionary<int32, int64>");
  static int64_t values[VALUES];
  for (int64_t i = 0; i < VALUES; i++) values[i] = 10 * i;
  const int32_t indices[4] = {5, 99999, 7, 99999};
  for (int ordered = 0; ordered < 2; ordered++) {
    schema->root.children[0].dictionary_ordered = ordered != 0;
    const void *value_buffers[2] = {NULL, values}, *index_buffers[2] = {NULL, indices}, *no_buffers[1] = {NULL};
    struct ArrowArray dictionary = {.length = VALUES, .n_buffers = 2, .buffers = value_buffers, .release = (void (*)(struct ArrowArray *))abort};
    struct ArrowArray column = {.length = 4, .n_buffers = 2, .buffers = index_buffers, .dictionary = &dictionary};
    column.release = dictionary.release;
    struct ArrowArray *children[1] = {&column};
    struct ArrowArray batch = {.length = 4, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = children};
    batch.release = dictionary.release;
    for (int compat = 0; compat < 3; compat++) {
      struct test_encoder setup = test_encoder_new(csf_schema_retain(schema), (struct colshuf_block_encoder_options){
                                                                   .compat = (enum colshuf_compat)compat, .codec = COLSHUF_NONE});
      const uint8_t *block;
      size_t size;
      CHECK(test_check_block(&setup, &batch, 1, 3).block_size < 2000);
      CHECK(test_check_block(&setup, &batch, 0, 1).block_size < 2000);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 1, 3, &block, &size, &err));
      struct test_decoded decoded = test_decode(block, size);
      const struct ArrowArray *made = decoded.batch.children[0]->dictionary;
      REQUIRE(made->length == 2);
      CHECK_INT(csf_load_i64(made->buffers[1]), ordered ? 70 : 999990);
      test_decoded_clear(&decoded);
      test_encoder_clear(&setup);
    }
  }
  csf_schema_release(schema);
}

/* --- refusals --- */

static void batches_that_do_not_fit_are_refused_and_the_encoder_goes_on(void) {
  struct test_table table = test_table("int32, utf8", "1 'a' | 2 'b'"), other = test_table("int32", "1");
  struct test_table broken = test_table("int32, dictionary<int32, utf8>", "1 'a' | 2 'b'");
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &other.batch, 0, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, -1, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 2, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, INT64_MAX, 1, &block, &size, &err),
               COLSHUF_INVALID_ARGUMENT);
  test_check_block(&setup, &table.batch, 0, 2);
  test_encoder_clear(&setup);
  /* An index outside its dictionary, where indices are looked at because they change. */
  setup = test_encoder_new(csf_schema_retain(broken.schema), (struct colshuf_block_encoder_options){0});
  broken.batch.children[1]->dictionary->length = 1;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &broken.batch, 1, 1, &block, &size, &err), COLSHUF_OK);
  broken.batch.children[1]->dictionary->length = 2;
  test_encoder_clear(&setup);
  test_table_clear(&table);
  test_table_clear(&other);
  test_table_clear(&broken);
}

static void indices_outside_their_dictionary_are_refused_where_they_change(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | 'b' | 'c'");
  struct test_encoder setup = test_encoder_new(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  table.batch.children[0]->dictionary->length = 2;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 0, 3, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "row 2 has index 2 into a dictionary of 2");
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 2, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  table.batch.children[0]->dictionary->length = 3;
  test_check_block(&setup, &table.batch, 0, 3);
  test_encoder_clear(&setup);
  test_table_clear(&table);
}

static void too_many_bytes_are_a_limit_that_costs_no_memory(void) {
  struct csf_schema *schema = test_schema("b: fixed_size_binary(1000000)");
  struct test_encoder setup = test_encoder_new(schema, (struct colshuf_block_encoder_options){.codec = COLSHUF_NONE});
  const void *buffers[2] = {NULL, ""}, *no_buffers[1] = {NULL};
  struct ArrowArray column = {.length = 3000, .n_buffers = 2, .buffers = buffers, .release = (void (*)(struct ArrowArray *))abort};
  struct ArrowArray *children[1] = {&column};
  struct ArrowArray batch = {.length = 3000, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = children};
  batch.release = column.release;
  const uint8_t *block;
  size_t size;
  test_heap_reset_peak();
  uint64_t before = test_heap_bytes();
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 3000, &block, &size, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "2147483647");
  CHECK(test_heap_peak() < before + 100000);
  test_encoder_clear(&setup);
}

static const struct test_case tests[] = {
    TEST(golden_streams_become_the_same_blocks_again),
    TEST(blocks_of_the_real_comet_are_encoded_to_the_same_bytes),
    TEST(compressed_blocks_of_the_real_comet_have_the_same_streams),
    TEST(blocks_of_comets_row_writer_have_the_same_streams),
    TEST(rows_of_every_type_come_back_in_every_codec),
    TEST(rows_come_back_from_what_comet_reads),
    TEST(no_rows_make_no_block),
    TEST(the_compact_layout_is_the_smaller_one_under_zstd_too),
    TEST(rows_without_columns_are_counted),
    TEST(columns_without_bytes_have_rows),
    TEST(null_structs_keep_their_children_in_step),
    TEST(types_that_comet_lacks_are_refused_by_name),
    TEST(lengths_that_cannot_be_are_refused),
    TEST(the_flag_stands_where_it_helps_and_readers_know_it),
    TEST(dictionaries_are_made_fit_for_comet),
    TEST(dictionaries_below_the_top_level_are_unpacked_for_comet),
    TEST(nulls_in_a_dictionary_become_nulls_of_rows_for_comet),
    TEST(a_block_takes_along_only_the_values_that_it_uses),
    TEST(batches_that_do_not_fit_are_refused_and_the_encoder_goes_on),
    TEST(indices_outside_their_dictionary_are_refused_where_they_change),
    TEST(too_many_bytes_are_a_limit_that_costs_no_memory),
};
TEST_MAIN(tests)
