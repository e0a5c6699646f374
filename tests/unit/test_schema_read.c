/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/schema_message.h"

#include <stdlib.h>

#include "ipc/flatbuf_build.h"
#include "ipc/format_tables.h"
#include "ipc/message.h"
#include "support/golden_bytes.h"
#include "support/harness.h"

/* What one Field table is made of; zero = absent. */
struct field_parts {
  const char *name;
  uint8_t code;
  csf_flatbuf_ref type, children, dictionary;
};

static csf_flatbuf_ref build_field(struct csf_flatbuf *b, const struct field_parts *parts) {
  csf_flatbuf_ref name = parts->name == NULL ? 0 : csf_flatbuf_string(b, parts->name, strlen(parts->name));
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_ref(b, CSF_FIELD_NAME, name);
  csf_flatbuf_field_ref(b, CSF_FIELD_DICTIONARY, parts->dictionary);
  csf_flatbuf_field_u8(b, CSF_FIELD_TYPE_TYPE, parts->code, 0);
  csf_flatbuf_field_ref(b, CSF_FIELD_CHILDREN, parts->children);
  csf_flatbuf_field_ref(b, CSF_FIELD_TYPE, parts->type);
  return csf_flatbuf_table_end(b);
}

static csf_flatbuf_ref empty_table(struct csf_flatbuf *b) {
  csf_flatbuf_table_start(b);
  return csf_flatbuf_table_end(b);
}

/* A table of up to three i32, or (halves) i16 followed by i32 fields; ABSENT = left out. */
enum { ABSENT = INT32_MIN };
static csf_flatbuf_ref table_of(struct csf_flatbuf *b, int32_t a, int32_t second, int32_t third, bool first_is_i16) {
  csf_flatbuf_table_start(b);
  if (third != ABSENT) csf_flatbuf_field_i32(b, 2, third, ABSENT);
  if (second != ABSENT) csf_flatbuf_field_i32(b, 1, second, ABSENT);
  if (a != ABSENT && first_is_i16) csf_flatbuf_field_i16(b, 0, (int16_t)a, INT16_MIN);
  if (a != ABSENT && !first_is_i16) csf_flatbuf_field_i32(b, 0, a, ABSENT);
  return csf_flatbuf_table_end(b);
}

static enum colshuf_status read_one(struct csf_flatbuf *b, csf_flatbuf_ref field, int16_t endianness,
                                    const struct colshuf_limits *limits, struct csf_schema **schema, struct colshuf_error *err) {
  csf_flatbuf_ref fields = csf_flatbuf_vector_of_refs(b, &field, 1);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_ref(b, CSF_SCHEMA_FIELDS, fields);
  csf_flatbuf_field_i16(b, CSF_SCHEMA_ENDIANNESS, endianness, 0);
  csf_flatbuf_ref table = csf_flatbuf_table_end(b);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i16(b, CSF_MESSAGE_VERSION, CSF_VERSION_V5, 0);
  csf_flatbuf_field_u8(b, CSF_MESSAGE_HEADER_TYPE, CSF_HEADER_SCHEMA, 0);
  csf_flatbuf_field_ref(b, CSF_MESSAGE_HEADER, table);
  csf_flatbuf_ref message = csf_flatbuf_table_end(b);
  struct csf_span metadata;
  CSF_TRY(csf_flatbuf_finish(b, message, &metadata, err));
  enum csf_message_kind kind;
  bool is_v4;
  int64_t body_size;
  CSF_TRY(csf_message_verify(metadata, limits, &kind, &is_v4, &body_size, err));
  return csf_schema_message_read(metadata, &test_heap, limits, schema, err);
}

static struct csf_schema *golden_schema(const char *hex) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(hex);
  struct csf_cursor cursor = {stream.data, stream.size};
  struct csf_message message;
  struct csf_schema *schema;
  bool end_marker;
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  REQUIRE_OK(csf_schema_message_read(message.metadata, &test_heap, NULL, &schema, &err));
  csf_buffer_clear(&stream);
  return schema;
}

static void schemas_of_arrow_rs_are_read(void) {
  struct csf_schema *schema = golden_schema(TEST_GOLDEN_T1);
  REQUIRE(schema->root.n_children == 2);
  CHECK_STRING(schema->root.children[0].name, "id");
  CHECK_INT(schema->root.children[0].type, CSF_INT32);
  CHECK(!schema->root.children[0].nullable);
  CHECK_STRING(schema->root.children[1].name, "name");
  CHECK_INT(schema->root.children[1].type, CSF_UTF8);
  CHECK(schema->root.children[1].nullable);
  csf_schema_release(schema);
  schema = golden_schema(TEST_GOLDEN_T3);
  const struct csf_field *d = &schema->root.children[0];
  CHECK_INT(d->type, CSF_INT32);
  REQUIRE(d->dictionary != NULL);
  CHECK_INT(d->dictionary->type, CSF_UTF8);
  CHECK_INT(d->dictionary_id, 0);
  csf_schema_release(schema);
  schema = golden_schema(TEST_GOLDEN_T4);
  CHECK_INT(schema->root.n_children, 0);
  csf_schema_release(schema);
}

struct type_case {
  uint8_t code;
  int32_t first, second, third;
  bool first_is_i16;
  enum colshuf_status status;
  enum csf_type type; /* when OK */
};

static void every_type_parameter_is_checked(void) {
  static const struct type_case cases[] = {
      {CSF_CODE_INT, 32, ABSENT, ABSENT, false, COLSHUF_OK, CSF_UINT32},
      {CSF_CODE_INT, 7, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_INT, 0, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_INT, 128, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_FLOAT, 0, ABSENT, ABSENT, true, COLSHUF_OK, CSF_FLOAT16},
      {CSF_CODE_FLOAT, 2, ABSENT, ABSENT, true, COLSHUF_OK, CSF_FLOAT64},
      {CSF_CODE_FLOAT, 9, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_FLOAT, -1, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_TIME, ABSENT, ABSENT, ABSENT, true, COLSHUF_OK, CSF_TIME32},
      {CSF_CODE_TIME, 2, 32, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_TIME, 0, 64, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_TIME, 3, 64, ABSENT, true, COLSHUF_OK, CSF_TIME64},
      {CSF_CODE_TIME, 4, 64, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_DATE, ABSENT, ABSENT, ABSENT, true, COLSHUF_OK, CSF_DATE64},
      {CSF_CODE_DATE, 0, ABSENT, ABSENT, true, COLSHUF_OK, CSF_DATE32},
      {CSF_CODE_DATE, 2, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_DECIMAL, 10, 2, 100, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_DECIMAL, 10, 2, ABSENT, false, COLSHUF_OK, CSF_DECIMAL128},
      {CSF_CODE_DECIMAL, 39, 0, 128, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_DECIMAL, 10, 4, 64, false, COLSHUF_OK, CSF_DECIMAL64},
      {CSF_CODE_DECIMAL, 9, -2, 32, false, COLSHUF_OK, CSF_DECIMAL32},
      {CSF_CODE_DECIMAL, 76, 0, 256, false, COLSHUF_OK, CSF_DECIMAL256},
      {CSF_CODE_TIMESTAMP, 5, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_DURATION, ABSENT, ABSENT, ABSENT, true, COLSHUF_OK, CSF_DURATION},
      {CSF_CODE_INTERVAL, 2, ABSENT, ABSENT, true, COLSHUF_OK, CSF_INTERVAL_MONTH_DAY_NANO},
      {CSF_CODE_INTERVAL, 3, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_FIXED_SIZE_BINARY, 0, ABSENT, ABSENT, false, COLSHUF_OK, CSF_FIXED_SIZE_BINARY},
      {CSF_CODE_FIXED_SIZE_BINARY, -1, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_FIXED_SIZE_LIST, 3, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0}, /* no child */
      {CSF_CODE_LIST, ABSENT, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_MAP, ABSENT, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_RUN_END_ENCODED, ABSENT, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {CSF_CODE_STRUCT, ABSENT, ABSENT, ABSENT, false, COLSHUF_OK, CSF_STRUCT},
      {CSF_CODE_UNION, 2, ABSENT, ABSENT, true, COLSHUF_CORRUPT, 0},
      {CSF_CODE_UTF8_VIEW, ABSENT, ABSENT, ABSENT, false, COLSHUF_OK, CSF_UTF8_VIEW},
      {27, ABSENT, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
      {255, ABSENT, ABSENT, ABSENT, false, COLSHUF_CORRUPT, 0},
  };
  struct colshuf_error err;
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct type_case *c = &cases[i];
    csf_flatbuf_reset(&b);
    struct field_parts parts = {.name = "x", .code = c->code};
    parts.type = table_of(&b, c->first, c->second, c->third, c->first_is_i16);
    struct csf_schema *schema = NULL;
    CHECK_STATUS(read_one(&b, build_field(&b, &parts), 0, NULL, &schema, &err), c->status);
    if (schema != NULL) CHECK_INT(schema->root.children[0].type, c->type);
    csf_schema_release(schema);
  }
  csf_flatbuf_clear(&b);
}

static void a_field_without_a_type_is_refused_and_without_a_name_is_nameless(void) {
  struct colshuf_error err;
  struct csf_schema *schema = NULL;
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  CHECK_STATUS(read_one(&b, build_field(&b, &(struct field_parts){.name = "x"}), 0, NULL, &schema, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "\"x\"");
  csf_flatbuf_reset(&b);
  struct field_parts parts = {.code = CSF_CODE_BOOL, .type = empty_table(&b)};
  REQUIRE_OK(read_one(&b, build_field(&b, &parts), 0, NULL, &schema, &err));
  CHECK_STRING(schema->root.children[0].name, "");
  csf_schema_release(schema);
  csf_flatbuf_clear(&b);
}

static void a_dictionary_without_index_type_has_signed_32_bit_indices(void) {
  struct colshuf_error err;
  struct csf_schema *schema = NULL;
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  struct field_parts parts = {.name = "d", .code = CSF_CODE_UTF8, .type = empty_table(&b)};
  parts.dictionary = empty_table(&b);
  REQUIRE_OK(read_one(&b, build_field(&b, &parts), 0, NULL, &schema, &err));
  CHECK_INT(schema->root.children[0].type, CSF_INT32);
  CHECK_INT(schema->root.children[0].dictionary->type, CSF_UTF8);
  CHECK(schema->has_dictionary);
  csf_schema_release(schema);
  csf_flatbuf_clear(&b);
}

static void big_endian_is_refused_and_absent_endianness_is_little(void) {
  struct colshuf_error err;
  struct csf_schema *schema = NULL;
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  for (int16_t endianness = -1; endianness < 3; endianness++) {
    csf_flatbuf_reset(&b);
    struct field_parts parts = {.name = "x", .code = CSF_CODE_BOOL, .type = empty_table(&b)};
    CHECK_STATUS(read_one(&b, build_field(&b, &parts), endianness, NULL, &schema, &err),
                 endianness == 0 ? COLSHUF_OK : COLSHUF_UNSUPPORTED);
  }
  csf_schema_release(schema);
  csf_flatbuf_clear(&b);
}

static enum colshuf_status read_nested_lists(uint32_t levels, const struct colshuf_limits *limits, struct colshuf_error *err) {
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  struct field_parts parts = {.name = "x", .code = CSF_CODE_BOOL, .type = empty_table(&b)};
  csf_flatbuf_ref field = build_field(&b, &parts);
  for (uint32_t i = 0; i < levels; i++) {
    struct field_parts list = {.name = "x", .code = CSF_CODE_LIST, .children = csf_flatbuf_vector_of_refs(&b, &field, 1)};
    list.type = empty_table(&b);
    field = build_field(&b, &list);
  }
  struct csf_schema *schema = NULL;
  enum colshuf_status status = read_one(&b, field, 0, limits, &schema, err);
  csf_schema_release(schema);
  csf_flatbuf_clear(&b);
  return status;
}

static void nesting_of_64_levels_is_fine_and_of_10000_too_deep(void) {
  struct colshuf_error err;
  REQUIRE_OK(read_nested_lists(64, NULL, &err));
  CHECK_STATUS(read_nested_lists(65, NULL, &err), COLSHUF_LIMIT);
  CHECK_STATUS(read_nested_lists(10000, NULL, &err), COLSHUF_LIMIT);
  struct colshuf_limits limits = {.max_depth = UINT32_MAX};
  REQUIRE_OK(read_nested_lists(200, &limits, &err));
  CHECK_STATUS(read_nested_lists(10000, &limits, &err), COLSHUF_LIMIT); /* no option makes the stack overflow */
  limits = (struct colshuf_limits){.max_fields = 10};
  CHECK_STATUS(read_nested_lists(10, &limits, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "more than 10 fields");
}

static enum colshuf_status read_golden_three(void *ctx) {
  struct csf_buffer *stream = ctx;
  struct csf_cursor cursor = {stream->data, stream->size};
  struct csf_message message;
  struct csf_schema *schema;
  bool end_marker;
  CSF_TRY(csf_message_take(&cursor, stream->data, NULL, &message, &end_marker, NULL));
  CSF_TRY(csf_schema_message_read(message.metadata, &test_heap, NULL, &schema, NULL));
  csf_schema_release(schema);
  return COLSHUF_OK;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T3);
  CHECK(test_oom_sweep(read_golden_three, &stream) >= 2);
  csf_buffer_clear(&stream);
}

static void every_flipped_bit_of_a_schema_is_refused_or_read(void) {
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T3);
  for (size_t bit = 0; bit < 0xc0 * 8; bit++) {
    stream.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    uint64_t before = test_heap_bytes();
    enum colshuf_status status = read_golden_three(&stream);
    CHECK(status != COLSHUF_NO_MEMORY && status != COLSHUF_INVALID_ARGUMENT);
    CHECK_INT(test_heap_bytes(), before);
    stream.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  csf_buffer_clear(&stream);
}

static const struct test_case tests[] = {
    TEST(schemas_of_arrow_rs_are_read),
    TEST(every_type_parameter_is_checked),
    TEST(a_field_without_a_type_is_refused_and_without_a_name_is_nameless),
    TEST(a_dictionary_without_index_type_has_signed_32_bit_indices),
    TEST(big_endian_is_refused_and_absent_endianness_is_little),
    TEST(nesting_of_64_levels_is_fine_and_of_10000_too_deep),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(every_flipped_bit_of_a_schema_is_refused_or_read),
};
TEST_MAIN(tests)
