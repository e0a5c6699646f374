/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message.h"
#include "ipc/schema_message.h"
#include "support/harness.h"

/* Schemas by hand: fields are plain data. */
static struct csf_field int32_type = {.name = "", .type = CSF_INT32, .nullable = true};
static struct csf_field utf8_type = {.name = "", .type = CSF_UTF8, .nullable = true};

static struct csf_field named(struct csf_field field, const char *name) {
  field.name = name;
  return field;
}

static struct csf_field nested(enum csf_type type, const char *name, struct csf_field *children, int32_t n) {
  return (struct csf_field){.name = name, .type = type, .nullable = true, .children = children, .n_children = n};
}

static struct csf_schema schema_of(struct csf_field *columns, int32_t n) {
  struct csf_schema schema = {.root = nested(CSF_STRUCT, "", columns, n)};
  csf_schema_number_dictionaries(&schema);
  return schema;
}

/* The first message of a golden stream is what is written for schema. */
static void check_golden(const struct csf_schema *schema, const char *path) {
  struct colshuf_error err;
  struct csf_buffer golden = test_read_file(test_data(path)), out;
  csf_buffer_init(&out, &test_heap);
  REQUIRE_OK(csf_schema_message_write(schema, 64, &out, &err));
  size_t size = 8 + csf_load_u32(golden.data + 4);
  CHECK_INT(out.size, size);
  CHECK(out.size == size && memcmp(out.data, golden.data, size) == 0);
  csf_buffer_clear(&out);
  csf_buffer_clear(&golden);
}

static void t1_has_the_bytes_of_arrow_rs(void) {
  struct csf_field columns[2] = {named(int32_type, "id"), named(utf8_type, "name")};
  columns[0].nullable = false;
  struct csf_schema schema = schema_of(columns, 2);
  check_golden(&schema, "spec/golden/t1.ipc");
}

static void t2_has_the_bytes_of_arrow_rs(void) {
  struct csf_field item = named(int32_type, "item");
  struct csf_field x = {.name = "x", .type = CSF_INT64, .nullable = true};
  struct csf_field columns[7] = {
      {.name = "b", .type = CSF_BOOL, .nullable = true},
      {.name = "ts", .type = CSF_TIMESTAMP, .unit = CSF_MICROSECOND, .timezone = "UTC", .nullable = true},
      {.name = "d", .type = CSF_DATE32, .nullable = true},
      {.name = "dec", .type = CSF_DECIMAL128, .precision = 10, .scale = 2, .nullable = true},
      nested(CSF_LIST, "l", &item, 1),
      nested(CSF_STRUCT, "st", &x, 1),
      {.name = "n", .type = CSF_NULL, .nullable = true},
  };
  struct csf_schema schema = schema_of(columns, 7);
  check_golden(&schema, "spec/golden/t2.ipc");
}

static void t3_has_the_bytes_of_arrow_rs(void) {
  struct csf_field column = named(int32_type, "d");
  column.dictionary = &utf8_type;
  struct csf_schema schema = schema_of(&column, 1);
  check_golden(&schema, "spec/golden/t3.ipc");
}

static void t4_has_the_bytes_of_arrow_rs(void) {
  struct csf_schema schema = schema_of(NULL, 0);
  check_golden(&schema, "spec/golden/t4.ipc");
}

/* dictionary<list<dictionary<utf8>>>, struct<dictionary, dictionary>: inner before outer, in order of fields. */
static void dictionaries_are_numbered_inner_before_outer(void) {
  struct csf_field leaf = named(int32_type, "item");
  leaf.dictionary = &utf8_type;
  struct csf_field list = nested(CSF_LIST, "", &leaf, 1);
  struct csf_field pair[2] = {named(int32_type, "a"), named(int32_type, "b")};
  pair[0].dictionary = pair[1].dictionary = &utf8_type;
  struct csf_field columns[3] = {named(utf8_type, "plain"), named(int32_type, "outer"), nested(CSF_STRUCT, "st", pair, 2)};
  columns[1].dictionary = &list;
  struct csf_schema schema = schema_of(columns, 3);
  CHECK_INT(leaf.dictionary_id, 0);
  CHECK_INT(schema.root.children[1].dictionary_id, 1);
  CHECK_INT(pair[0].dictionary_id, 2);
  CHECK_INT(pair[1].dictionary_id, 3);
}

static struct csf_span text(const char *string) {
  return (struct csf_span){(const uint8_t *)string, strlen(string)};
}

/* Where the first and the second occurrence of words stand: metadata must be sorted, strings lie in reverse order of building. */
static void metadata_is_written_sorted_by_key_whatever_its_order(void) {
  struct colshuf_error err;
  struct csf_key_value forward[3] = {{text("a"), text("1")}, {text("ab"), text("")}, {text("b"), text("3")}};
  struct csf_key_value backward[3] = {forward[2], forward[1], forward[0]};
  struct csf_buffer one, two;
  csf_buffer_init(&one, &test_heap);
  csf_buffer_init(&two, &test_heap);
  struct csf_schema schema = schema_of(NULL, 0);
  schema.root.n_metadata = 3;
  schema.root.metadata = forward;
  REQUIRE_OK(csf_schema_message_write(&schema, 8, &one, &err));
  schema.root.metadata = backward;
  REQUIRE_OK(csf_schema_message_write(&schema, 8, &two, &err));
  CHECK_INT(one.size, two.size);
  CHECK(memcmp(one.data, two.data, one.size) == 0);
  csf_buffer_clear(&one);
  csf_buffer_clear(&two);
}

/* Every type passes the verifier of the reader, with its message header and no body. */
static void messages_of_every_type_are_well_formed(void) {
  struct colshuf_error err;
  static const int8_t ids[2] = {5, 7};
  for (int type = 0; type < CSF_N_TYPES; type++) {
    struct csf_field children[2] = {named(int32_type, "k"), named(utf8_type, "v")};
    struct csf_field entries = nested(CSF_STRUCT, "entries", children, 2);
    struct csf_field column = {.name = "c", .type = (enum csf_type)type, .precision = 5, .scale = -1, .width = 3, .type_ids = ids};
    if (type >= CSF_LIST) {
      column.children = type == CSF_MAP ? &entries : children;
      column.n_children = type < CSF_STRUCT || type == CSF_MAP ? 1 : 2;
    }
    struct csf_schema schema = schema_of(&column, 1);
    struct csf_buffer out;
    csf_buffer_init(&out, &test_heap);
    REQUIRE_OK(csf_schema_message_write(&schema, 8, &out, &err));
    CHECK_INT(out.size % 8, 0);
    struct csf_cursor cursor = {out.data, out.size};
    struct csf_message message;
    bool end_marker;
    REQUIRE_OK(csf_message_take(&cursor, out.data, NULL, &message, &end_marker, &err));
    CHECK_INT(message.kind, CSF_MESSAGE_SCHEMA);
    CHECK_INT(message.body.size, 0);
    CHECK_INT(cursor.size, 0);
    csf_buffer_clear(&out);
  }
}

static enum colshuf_status write_once(void *ctx) {
  struct csf_buffer out;
  csf_buffer_init(&out, &test_heap);
  enum colshuf_status status = csf_schema_message_write(ctx, 8, &out, NULL);
  csf_buffer_clear(&out);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct csf_key_value pair = {text("key"), text("value")};
  struct csf_field columns[40];
  for (int i = 0; i < 40; i++) {
    columns[i] = named(int32_type, "a column with a long name");
    columns[i].metadata = &pair;
    columns[i].n_metadata = 1;
  }
  struct csf_schema schema = schema_of(columns, 40);
  CHECK(test_oom_sweep(write_once, &schema) > 3);
}

static const struct test_case tests[] = {
    TEST(t1_has_the_bytes_of_arrow_rs),
    TEST(t2_has_the_bytes_of_arrow_rs),
    TEST(t3_has_the_bytes_of_arrow_rs),
    TEST(t4_has_the_bytes_of_arrow_rs),
    TEST(dictionaries_are_numbered_inner_before_outer),
    TEST(metadata_is_written_sorted_by_key_whatever_its_order),
    TEST(messages_of_every_type_are_well_formed),
    TEST(refused_memory_leaves_nothing_behind),
};
TEST_MAIN(tests)
