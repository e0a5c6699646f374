/* SPDX-License-Identifier: Apache-2.0 */
#include "block/block_format.h"
#include "block/dictionary_build.h"
#include "codec/codec.h"
#include "colshuf/block.h"
#include "support/golden_bytes.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"
#include "support/types.h"
#include "support/value.h"

#include <dirent.h>
#include <stdlib.h>

static struct colshuf_error err;

/* A schema with its C form, and an encoder for it. */
struct setup {
  struct csf_schema *schema;
  struct ArrowSchema c_schema;
  struct colshuf_block_encoder *encoder;
};

static struct setup setup_of(struct csf_schema *schema, struct colshuf_block_encoder_options options) {
  struct setup setup = {.schema = schema};
  options.allocator = test_heap;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &setup.c_schema, &err));
  REQUIRE_OK(colshuf_block_encoder_new(&setup.c_schema, &options, &setup.encoder, &err));
  return setup;
}

static void setup_clear(struct setup *setup) {
  colshuf_block_encoder_free(setup->encoder);
  setup->c_schema.release(&setup->c_schema);
  csf_schema_release(setup->schema);
}

/* A decoded block. */
struct decoded {
  struct ArrowSchema c_schema;
  struct csf_schema *schema;
  struct ArrowArray batch;
};

static struct decoded decode(const uint8_t *block, size_t size) {
  struct decoded decoded;
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .pool_size = UINT64_MAX};
  struct colshuf_block_decoder *decoder;
  size_t consumed;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  REQUIRE_OK(colshuf_block_decoder_decode(decoder, block, size, NULL, &consumed, &decoded.c_schema, &decoded.batch, &err));
  CHECK_INT(consumed, size);
  REQUIRE_OK(csf_schema_import(&decoded.c_schema, &test_heap, NULL, &decoded.schema, &err));
  colshuf_block_decoder_free(decoder);
  return decoded;
}

static void decoded_clear(struct decoded *decoded) {
  decoded->batch.release(&decoded->batch);
  decoded->c_schema.release(&decoded->c_schema);
  csf_schema_release(decoded->schema);
}

static struct colshuf_block_header header_of(const uint8_t *block, size_t size) {
  struct colshuf_block_header header;
  REQUIRE_OK(colshuf_block_header_read(block, size, &header, &err));
  CHECK_INT(header.block_size, size);
  return header;
}

/* Encodes rows of batch and checks that they come back; returns the block's header. */
static struct colshuf_block_header check_rows(struct setup *setup, const struct ArrowArray *batch, int64_t start, int64_t length) {
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup->encoder, batch, start, length, &block, &size, &err));
  struct decoded decoded = decode(block, size);
  struct colshuf_block_header header = header_of(block, size);
  CHECK_INT(decoded.batch.length, length);
  CHECK_ROWS(&setup->schema->root, batch, start, &decoded.schema->root, &decoded.batch, 0, length);
  decoded_clear(&decoded);
  return header;
}

/* --- bytes --- */

/* A golden stream behind a header is a block: decoded and encoded again in arrow-rs' layout it is the same. */
static void check_golden(const char *hex) {
  struct csf_buffer stream = test_hex(hex), block;
  csf_buffer_init(&block, &test_heap);
  REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
  REQUIRE_OK(csf_buffer_append(&block, stream.data, stream.size, &err));
  csf_block_header_write(block.data, block.size, 0, COLSHUF_NONE, false);
  struct decoded decoded = decode(block.data, block.size);
  csf_block_header_write(block.data, block.size, (uint64_t)decoded.schema->root.n_children, COLSHUF_NONE, false);
  struct setup setup = setup_of(csf_schema_retain(decoded.schema), (struct colshuf_block_encoder_options){
                                                                       .codec = COLSHUF_NONE, .layout = COLSHUF_LAYOUT_ARROW_RS});
  for (int round = 0; round < 2; round++) {
    const uint8_t *again;
    size_t size;
    REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &decoded.batch, 0, decoded.batch.length, &again, &size, &err));
    CHECK(size == block.size && memcmp(again, block.data, size) == 0);
  }
  setup_clear(&setup);
  decoded_clear(&decoded);
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
  struct decoded decoded = decode(block, (size_t)header->block_size);
  struct colshuf_block_encoder_options options = {.codec = COLSHUF_NONE, .layout = COLSHUF_LAYOUT_ARROW_RS};
  options.offsets = header->offsets_as_lengths ? COLSHUF_OFFSETS_LENGTHS : COLSHUF_OFFSETS_PLAIN;
  struct setup setup = setup_of(csf_schema_retain(decoded.schema), options);
  const uint8_t *again;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &decoded.batch, 0, decoded.batch.length, &again, &size, &err));
  if (size != wanted.size || memcmp(again, wanted.data, size) != 0) {
    size_t at = 0;
    while (at < size && at < wanted.size && again[at] == wanted.data[at]) at++;
    test_fail(__FILE__, __LINE__, "%s: %zu bytes against %zu, the first other one at %zu", path, size, wanted.size, at);
  }
  setup_clear(&setup);
  decoded_clear(&decoded);
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

static const enum colshuf_codec codecs[] = {COLSHUF_NONE, COLSHUF_LZ4, COLSHUF_ZSTD, COLSHUF_SNAPPY};

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
  options.codec = codecs[test_random_below(&random, 4)];
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
  struct setup setup = setup_of(schema, options);
  for (int i = 0; i < 3; i++) {
    struct test_array_options array_options = test_random_options(&random, rows);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &array_options, &batch);
    int64_t start = (int64_t)test_random_below(&random, (uint64_t)batch.length + 1);
    int64_t length = (int64_t)test_random_below(&random, (uint64_t)(batch.length - start) + 1);
    if (length > 0) {
      struct colshuf_block_header header = check_rows(&setup, &batch, start, length);
      CHECK_INT(header.codec, options.codec);
      CHECK_INT(header.n_columns, schema->root.n_children);
      if (compat == COLSHUF_COMPAT_COMET_1_1) CHECK(!header.offsets_as_lengths);
    }
    batch.release(&batch);
  }
  setup_clear(&setup);
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
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block = (const uint8_t *)"";
  size_t size = 1;
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 0, &block, &size, &err));
  CHECK_INT(size, 0);
  check_rows(&setup, &table.batch, 1, 1);
  setup_clear(&setup);
  test_table_clear(&table);
}

static void rows_without_columns_are_counted(void) {
  for (int codec = 0; codec < 4; codec++) {
    struct setup setup = setup_of(test_schema(""), (struct colshuf_block_encoder_options){.codec = codecs[codec]});
    struct ArrowArray batch;
    struct test_array_options options = {.rows = 7};
    struct test_random random = {1};
    test_random_array(&random, &setup.schema->root, &options, &batch);
    struct colshuf_block_header header = check_rows(&setup, &batch, 2, 5);
    CHECK_INT(header.n_columns, 0);
    batch.release(&batch);
    setup_clear(&setup);
  }
}

/* Values that take no bytes are rows all the same. */
static void columns_without_bytes_have_rows(void) {
  struct test_table table = test_table("null, fixed_size_binary(0), list<null>, struct<null>",
                                       "null '' [null null] {null} | null '' [] {null} | null '' null null");
  for (int codec = 0; codec < 4; codec++) {
    struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){.codec = codecs[codec]});
    check_rows(&setup, &table.batch, 0, 3);
    check_rows(&setup, &table.batch, 1, 1);
    setup_clear(&setup);
  }
  test_table_clear(&table);
}

static void null_structs_keep_their_children_in_step(void) {
  struct test_table table = test_table("struct<int32, utf8>", "null | {1 'x'} | null | {2 null}");
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  for (int64_t start = 0; start < 4; start++) {
    for (int64_t n = 1; start + n <= 4; n++) check_rows(&setup, &table.batch, start, n);
  }
  setup_clear(&setup);
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
  struct setup setup = setup_of(csf_schema_retain(table.schema), options);
  int flag = check_rows(&setup, &table.batch, 0, table.batch.length).offsets_as_lengths;
  setup_clear(&setup);
  test_table_clear(&table);
  return flag;
}

static void the_flag_stands_where_it_helps_and_readers_know_it(void) {
  struct colshuf_block_encoder_options options = {0};
  for (int codec = 0; codec < 4; codec++) {
    options.codec = codecs[codec];
    CHECK_INT(flag_of("utf8, list<binary>", "'ab' ['x' 'yy'] | null []", options), codecs[codec] != COLSHUF_NONE);
    CHECK_INT(flag_of("int32", "1 | 2", options), 0);
    CHECK_INT(flag_of("utf8, dictionary<int8, utf8>", "'a' 'b'", options), 0);
    options.layout = COLSHUF_LAYOUT_ARROW_RS;
    CHECK_INT(flag_of("utf8", "'ab' | 'x'", options), codecs[codec] == COLSHUF_ZSTD);
    options = (struct colshuf_block_encoder_options){.codec = codecs[codec], .compat = COLSHUF_COMPAT_COMET_1_1};
    CHECK_INT(flag_of("utf8", "'ab' | 'x'", options), 0);
    options = (struct colshuf_block_encoder_options){.codec = codecs[codec], .offsets = COLSHUF_OFFSETS_LENGTHS};
    CHECK_INT(flag_of("large_utf8, map<utf8, int32>", "'ab' [{'k' 1}] | '' null", options), 1);
    options = (struct colshuf_block_encoder_options){0};
  }
}

/* What a column is in the block. */
static void check_column(const char *types, const char *rows, enum colshuf_compat compat, const char *wanted) {
  struct test_table table = test_table(types, rows);
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){.compat = compat});
  const uint8_t *block;
  size_t size;
  char type[256];
  for (int64_t start = 0; start < table.batch.length; start++) {
    check_rows(&setup, &table.batch, start, table.batch.length - start);
    REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, start, table.batch.length - start, &block, &size, &err));
    struct decoded decoded = decode(block, size);
    csf_field_describe(&decoded.schema->root.children[0], type, sizeof type);
    CHECK_STRING(type, wanted);
    decoded_clear(&decoded);
  }
  setup_clear(&setup);
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
  check_column("map<int32, dictionary<int32, utf8>>", "[{1 'a'} {2 'b'}] | [] | [{3 'a'}]", COLSHUF_COMPAT_COMET, "map<int32, utf8>");
}

/* Comet looks for nulls in the rows alone. */
static void nulls_in_a_dictionary_become_nulls_of_rows_for_comet(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | ~ | 'b' | null | 'a' | ~");
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  check_rows(&setup, &table.batch, 0, 6);
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 5, &block, &size, &err));
  struct decoded decoded = decode(block, size);
  const struct ArrowArray *column = decoded.batch.children[0];
  CHECK_INT(csf_array_null_count(&decoded.schema->root.children[0], column, 0, 5), 3);
  CHECK_INT(csf_array_null_count(decoded.schema->root.children[0].dictionary, column->dictionary, 0, column->dictionary->length), 0);
  CHECK_INT(column->dictionary->length, 2);
  decoded_clear(&decoded);
  setup_clear(&setup);
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
      struct setup setup = setup_of(csf_schema_retain(schema), (struct colshuf_block_encoder_options){
                                                                   .compat = (enum colshuf_compat)compat, .codec = COLSHUF_NONE});
      const uint8_t *block;
      size_t size;
      CHECK(check_rows(&setup, &batch, 1, 3).block_size < 2000);
      CHECK(check_rows(&setup, &batch, 0, 1).block_size < 2000);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 1, 3, &block, &size, &err));
      struct decoded decoded = decode(block, size);
      const struct ArrowArray *made = decoded.batch.children[0]->dictionary;
      REQUIRE(made->length == 2);
      CHECK_INT(csf_load_i64(made->buffers[1]), ordered ? 70 : 999990);
      decoded_clear(&decoded);
      setup_clear(&setup);
    }
  }
  csf_schema_release(schema);
}

/* --- refusals --- */

static void batches_that_do_not_fit_are_refused_and_the_encoder_goes_on(void) {
  struct test_table table = test_table("int32, utf8", "1 'a' | 2 'b'"), other = test_table("int32", "1");
  struct test_table broken = test_table("int32, dictionary<int32, utf8>", "1 'a' | 2 'b'");
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &other.batch, 0, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, -1, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 1, 2, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, INT64_MAX, 1, &block, &size, &err),
               COLSHUF_INVALID_ARGUMENT);
  check_rows(&setup, &table.batch, 0, 2);
  setup_clear(&setup);
  /* An index outside its dictionary, where indices are looked at because they change. */
  setup = setup_of(csf_schema_retain(broken.schema), (struct colshuf_block_encoder_options){0});
  broken.batch.children[1]->dictionary->length = 1;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &broken.batch, 1, 1, &block, &size, &err), COLSHUF_OK);
  broken.batch.children[1]->dictionary->length = 2;
  setup_clear(&setup);
  test_table_clear(&table);
  test_table_clear(&other);
  test_table_clear(&broken);
}

static void indices_outside_their_dictionary_are_refused_where_they_change(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | 'b' | 'c'");
  struct setup setup = setup_of(csf_schema_retain(table.schema), (struct colshuf_block_encoder_options){0});
  const uint8_t *block;
  size_t size;
  table.batch.children[0]->dictionary->length = 2;
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 0, 3, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "row 2 has index 2 into a dictionary of 2");
  CHECK_STATUS(colshuf_block_encoder_encode(setup.encoder, &table.batch, 2, 1, &block, &size, &err), COLSHUF_INVALID_ARGUMENT);
  table.batch.children[0]->dictionary->length = 3;
  check_rows(&setup, &table.batch, 0, 3);
  setup_clear(&setup);
  test_table_clear(&table);
}

static void too_many_bytes_are_a_limit_that_costs_no_memory(void) {
  struct csf_schema *schema = test_schema("b: fixed_size_binary(1000000)");
  struct setup setup = setup_of(schema, (struct colshuf_block_encoder_options){.codec = COLSHUF_NONE});
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
  setup_clear(&setup);
}

/* --- dictionaries for columns of few values --- */

static struct setup lineitem_like(struct colshuf_block_encoder_options options) {
  return setup_of(test_schema("flag: utf8, price: decimal128(15, 2), key: int64, comment: utf8, day: date32"), options);
}

/* few: flag and price have few values; else all columns have many. */
static void make_rows(struct setup *setup, uint64_t seed, int64_t rows, bool few, int null_percent, struct ArrowArray *batch) {
  struct test_random random = {seed};
  struct test_array_options options = {.rows = rows, .null_percent = null_percent, .max_text = 40, .shape = TEST_SLICED};
  test_random_array(&random, &setup->schema->root, &options, batch);
  if (!few) return;
  static const char words[] = "AIRMAILSHIPTRUCKRAIL";
  struct ArrowArray *flag = batch->children[0], *price = batch->children[1];
  int32_t *offsets = (int32_t *)(uintptr_t)flag->buffers[1];
  char *text = (char *)(uintptr_t)flag->buffers[2];
  int64_t n = flag->offset + flag->length;
  int32_t first = offsets[flag->offset], room = offsets[n] - first;
  for (int64_t i = flag->offset; i < n; i++) {
    int32_t word = (int32_t)test_random_below(&random, 4);
    int32_t used = offsets[i] - first;
    if (used + 4 <= room) memcpy(text + offsets[i], words + 4 * word, 4);
    offsets[i + 1] = used + 4 <= room ? offsets[i] + 4 : offsets[i];
  }
  uint8_t *values = (uint8_t *)(uintptr_t)price->buffers[1];
  for (int64_t i = price->offset; i < price->offset + price->length; i++) {
    csf_store_i64(values + 16 * i, (int64_t)test_random_below(&random, 11));
    csf_store_i64(values + 16 * i + 8, 0);
  }
}

/* Columns of the block that are dictionaries, as a bit set. */
static unsigned dictionaries_in(struct setup *setup, const struct ArrowArray *batch, int64_t start, int64_t length) {
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup->encoder, batch, start, length, &block, &size, &err));
  struct decoded decoded = decode(block, size);
  unsigned found = 0;
  for (int32_t i = 0; i < decoded.schema->root.n_children; i++) {
    if (decoded.schema->root.children[i].dictionary != NULL) found |= 1u << i;
  }
  CHECK(found == 0 || header_of(block, size).offsets_as_lengths == 0);
  CHECK_ROWS(&setup->schema->root, batch, start, &decoded.schema->root, &decoded.batch, 0, length);
  decoded_clear(&decoded);
  return found;
}

static void columns_of_few_values_become_dictionaries_where_that_is_smaller(void) {
  /* Without lengths, strings of few values are always smaller as a dictionary. */
  struct setup setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  struct ArrowArray few, many;
  make_rows(&setup, 1, 3000, true, 0, &few);
  make_rows(&setup, 2, 3000, false, 0, &many);
  CHECK_INT(dictionaries_in(&setup, &few, 0, 3000), 3);
  CHECK_INT(dictionaries_in(&setup, &few, 100, 2000), 3);
  /* Now columns have many values: the blocks are plain until the next look. */
  CHECK_INT(dictionaries_in(&setup, &many, 0, 3000), 0);
  CHECK_INT(dictionaries_in(&setup, &few, 7, 2900), 3);
  CHECK_INT(dictionaries_in(&setup, &few, 0, 100), 0);
  setup_clear(&setup);
  setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  unsigned last = 0;
  for (int i = 0; i < 70; i++) {
    last = dictionaries_in(&setup, i == 0 ? &many : &few, 0, 1000);
    if (i < 60) CHECK_INT(last, 0);
  }
  CHECK_INT(last, 3);
  many.release(&many);
  few.release(&few);
  setup_clear(&setup);
}

static void dictionaries_are_left_alone_where_they_are_not_wanted(void) {
  static const struct colshuf_block_encoder_options options[] = {
      {.dictionary = COLSHUF_DICTIONARY_OFF, .compat = COLSHUF_COMPAT_COMET_1_1},
      {.offsets = COLSHUF_OFFSETS_LENGTHS},
      {.layout = COLSHUF_LAYOUT_ARROW_RS},
      {.compat = COLSHUF_COMPAT_ARROW},
      {.codec = COLSHUF_NONE},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    struct setup setup = lineitem_like(options[i]);
    struct ArrowArray few;
    make_rows(&setup, 1, 2000, true, 0, &few);
    CHECK_INT(dictionaries_in(&setup, &few, 0, 2000), 0);
    few.release(&few);
    setup_clear(&setup);
  }
}

static void nulls_stay_nulls_in_columns_that_become_dictionaries(void) {
  for (int codec = 1; codec < 4; codec++) {
    struct setup setup =
        lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1, .codec = codecs[codec]});
    for (int null_percent = 10; null_percent <= 100; null_percent += 45) {
      struct ArrowArray batch;
      make_rows(&setup, (uint64_t)null_percent, 2000, true, null_percent, &batch);
      for (int64_t start = 0; start < 9; start++) dictionaries_in(&setup, &batch, start, 1900);
      batch.release(&batch);
    }
    setup_clear(&setup);
  }
}

/* Made both ways, the block that is kept is the smaller one. */
static void the_first_block_is_no_larger_than_either_way(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    size_t sizes[3];
    for (int way = 0; way < 3; way++) {
      struct colshuf_block_encoder_options options = {.codec = seed % 2 ? COLSHUF_LZ4 : COLSHUF_ZSTD};
      if (way == 1) options.dictionary = COLSHUF_DICTIONARY_OFF;
      if (way == 2) options.offsets = COLSHUF_OFFSETS_PLAIN;
      struct setup setup = lineitem_like(options);
      struct ArrowArray batch;
      const uint8_t *block;
      make_rows(&setup, seed, 4000, true, 0, &batch);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 4000, &block, &sizes[way], &err));
      batch.release(&batch);
      setup_clear(&setup);
    }
    CHECK(sizes[0] <= sizes[1] && sizes[0] <= sizes[2]);
  }
}

static void equal_input_gives_equal_blocks(void) {
  struct csf_buffer first;
  csf_buffer_init(&first, &test_heap);
  for (int round = 0; round < 2; round++) {
    struct setup setup = lineitem_like((struct colshuf_block_encoder_options){0});
    size_t at = 0;
    for (uint64_t i = 0; i < 100; i++) {
      struct ArrowArray batch;
      const uint8_t *block;
      size_t size;
      make_rows(&setup, i, 600, i % 50 < 25, 5, &batch);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 600, &block, &size, &err));
      if (round == 0) REQUIRE_OK(csf_buffer_append(&first, block, size, &err));
      REQUIRE(at + size <= first.size);
      CHECK(memcmp(first.data + at, block, size) == 0);
      at += size;
      batch.release(&batch);
    }
    CHECK_INT(at, first.size);
    setup_clear(&setup);
  }
  csf_buffer_clear(&first);
}

/* Strings that all fall into one slot of the table cost what giving up costs, not rows times values. */
static void a_table_that_collides_is_given_up(void) {
  enum { ROWS = 20000 };
  static int64_t values[ROWS];
  for (int64_t i = 0; i < ROWS; i++) values[i] = i % 2000;
  const void *buffers[2] = {NULL, values};
  struct ArrowArray array = {.length = ROWS, .n_buffers = 2, .buffers = buffers};
  struct csf_field field = {.name = "", .type = CSF_INT64, .layout = CSF_LAYOUT_FIXED, .width = 8};
  struct csf_dictionary_build build;
  bool built;
  csf_dictionary_build_init(&build, &test_heap);
  REQUIRE_OK(csf_dictionary_build_run(&build, &field, &array, 0, ROWS, 2000, &built, &err));
  CHECK(built);
  CHECK_INT(build.n_values, 2000);
  for (int64_t i = 0; i < ROWS; i++) {
    CHECK_INT(csf_load_i64((const uint8_t *)build.values_array.buffers[1] + 8 * ((const int32_t *)build.array.buffers[1])[i]), i % 2000);
  }
  REQUIRE_OK(csf_dictionary_build_run(&build, &field, &array, 0, ROWS, 1999, &built, &err));
  CHECK(!built);
  csf_dictionary_build_clear(&build);
}

/* --- memory --- */

struct attempt {
  const struct ArrowSchema *c_schema;
  const struct ArrowArray *batch;
  struct colshuf_block_encoder_options options;
};

static enum colshuf_status encode_twice(void *ctx) {
  struct attempt *attempt = ctx;
  struct colshuf_block_encoder *encoder;
  enum colshuf_status status = colshuf_block_encoder_new(attempt->c_schema, &attempt->options, &encoder, NULL);
  if (status != COLSHUF_OK) return status;
  const uint8_t *block;
  size_t size;
  for (int i = 0; i < 2 && status == COLSHUF_OK; i++) {
    status = colshuf_block_encoder_encode(encoder, attempt->batch, 0, attempt->batch->length, &block, &size, NULL);
  }
  colshuf_block_encoder_free(encoder);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct test_table table = test_table("utf8, dictionary<int8, utf8>, list<dictionary<int8, utf8>>", "'a' 'b' ['c'] | 'd' 'e' ['f']");
  for (int codec = 0; codec < 4; codec++) {
    for (int compat = 0; compat < 3; compat += 2) {
      struct attempt attempt = {&table.c_schema, &table.batch,
                                {.allocator = test_heap, .codec = codecs[codec], .compat = (enum colshuf_compat)compat}};
      CHECK(test_oom_sweep(encode_twice, &attempt) > 10);
    }
  }
  test_table_clear(&table);
  struct setup setup = lineitem_like((struct colshuf_block_encoder_options){0});
  struct ArrowArray batch;
  make_rows(&setup, 1, 600, true, 5, &batch);
  struct attempt attempt = {&setup.c_schema, &batch, {.allocator = test_heap, .compat = COLSHUF_COMPAT_COMET_1_1}};
  CHECK(test_oom_sweep(encode_twice, &attempt) > 20);
  batch.release(&batch);
  setup_clear(&setup);
}

/* An allocation refused in the middle of the choice must not leave a schema without its message. */
static void an_encoder_goes_on_after_refused_memory(void) {
  struct setup setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  struct ArrowArray batch;
  make_rows(&setup, 1, 1000, true, 0, &batch);
  for (uint64_t nth = 1; nth < 60; nth++) {
    const uint8_t *block;
    size_t size;
    test_heap_refuse_at(nth);
    enum colshuf_status status = colshuf_block_encoder_encode(setup.encoder, &batch, 0, 1000, &block, &size, &err);
    test_heap_refuse_at(0);
    CHECK(status == COLSHUF_OK || status == COLSHUF_NO_MEMORY);
    dictionaries_in(&setup, &batch, 0, 1000);
  }
  batch.release(&batch);
  setup_clear(&setup);
}

static void steady_state_allocates_nothing(void) {
  for (int codec = 0; codec < 4; codec++) {
    struct setup setup =
        lineitem_like((struct colshuf_block_encoder_options){.codec = codecs[codec], .compat = COLSHUF_COMPAT_COMET_1_1});
    struct ArrowArray batch;
    const uint8_t *block;
    size_t size;
    make_rows(&setup, 1, 1000, true, 5, &batch);
    uint64_t calls = 0;
    for (int i = 0; i < 60; i++) {
      if (i == 3) calls = test_heap_calls();
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 1000, &block, &size, &err));
    }
    CHECK_INT(test_heap_calls(), calls);
    batch.release(&batch);
    setup_clear(&setup);
  }
}

static const struct test_case tests[] = {
    TEST(golden_streams_become_the_same_blocks_again),
    TEST(blocks_of_the_real_comet_are_encoded_to_the_same_bytes),
    TEST(compressed_blocks_of_the_real_comet_have_the_same_streams),
    TEST(blocks_of_comets_row_writer_have_the_same_streams),
    TEST(rows_of_every_type_come_back_in_every_codec),
    TEST(rows_come_back_from_what_comet_reads),
    TEST(no_rows_make_no_block),
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
    TEST(columns_of_few_values_become_dictionaries_where_that_is_smaller),
    TEST(dictionaries_are_left_alone_where_they_are_not_wanted),
    TEST(nulls_stay_nulls_in_columns_that_become_dictionaries),
    TEST(the_first_block_is_no_larger_than_either_way),
    TEST(equal_input_gives_equal_blocks),
    TEST(a_table_that_collides_is_given_up),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(an_encoder_goes_on_after_refused_memory),
    TEST(steady_state_allocates_nothing),
};
TEST_MAIN(tests)
