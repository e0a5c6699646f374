/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/schema.h"

#include <stdlib.h>

#include "support/harness.h"

/* Schemas as a foreign producer makes them: structs of this file, so that every mistake can be made. Released by drop(). */
static void release_made(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i] != NULL && schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  if (schema->dictionary != NULL) {
    if (schema->dictionary->release != NULL) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
  }
  schema->release = NULL;
}

static struct ArrowSchema *make(const char *format, const char *name, int64_t n_children) {
  struct ArrowSchema *schema = calloc(1, sizeof *schema);
  *schema = (struct ArrowSchema){.format = format, .name = name, .flags = ARROW_FLAG_NULLABLE, .n_children = n_children,
                                 .release = release_made};
  schema->children = calloc((size_t)n_children + 1, sizeof *schema->children);
  return schema;
}

static struct ArrowSchema *make_list(const char *format, struct ArrowSchema *child) {
  struct ArrowSchema *list = make(format, "l", 1);
  list->children[0] = child;
  return list;
}

static struct ArrowSchema *make_pair(const char *format, struct ArrowSchema *a, struct ArrowSchema *b) {
  struct ArrowSchema *pair = make(format, "p", 2);
  pair->children[0] = a;
  pair->children[1] = b;
  return pair;
}

static struct ArrowSchema *make_batch(struct ArrowSchema *column) {
  struct ArrowSchema *batch = make_list("+s", column);
  batch->name = NULL;
  return batch;
}

static struct ArrowSchema *make_map(void) {
  struct ArrowSchema *entries = make_pair("+s", make("u", "some_key", 0), make("i", "some_value", 0));
  entries->name = "some_entries";
  entries->flags = 0;
  entries->children[0]->flags = 0;
  return make_list("+m", entries);
}

static struct ArrowSchema *make_dictionary(const char *index, struct ArrowSchema *values) {
  struct ArrowSchema *schema = make(index, "d", 0);
  schema->dictionary = values;
  return schema;
}

static void drop(struct ArrowSchema *schema) {
  if (schema->release != NULL) schema->release(schema);
  free(schema);
}

static struct csf_schema *import_column(struct ArrowSchema *column) {
  struct colshuf_error err;
  struct ArrowSchema *batch = make_batch(column);
  struct csf_schema *schema = NULL;
  REQUIRE_OK(csf_schema_import(batch, &test_heap, NULL, &schema, &err));
  drop(batch);
  return schema;
}

static enum colshuf_status try_column(struct ArrowSchema *column, struct colshuf_error *err) {
  struct ArrowSchema *batch = make_batch(column);
  struct csf_schema *schema = NULL;
  enum colshuf_status status = csf_schema_import(batch, &test_heap, NULL, &schema, err);
  if (status == COLSHUF_OK) csf_schema_release(schema);
  else CHECK(schema == NULL);
  drop(batch);
  return status;
}

static const struct {
  const char *format;
  const char *words;
} flat_formats[] = {
    {"n", "null"}, {"b", "bool"}, {"c", "int8"}, {"C", "uint8"}, {"s", "int16"}, {"S", "uint16"}, {"i", "int32"}, {"I", "uint32"},
    {"l", "int64"}, {"L", "uint64"}, {"e", "float16"}, {"f", "float32"}, {"g", "float64"}, {"z", "binary"}, {"Z", "large_binary"},
    {"vz", "binary_view"}, {"u", "utf8"}, {"U", "large_utf8"}, {"vu", "utf8_view"}, {"tdD", "date32"}, {"tdm", "date64"},
    {"tts", "time32(s)"}, {"ttm", "time32(ms)"}, {"ttu", "time64(us)"}, {"ttn", "time64(ns)"}, {"tDs", "duration(s)"},
    {"tDm", "duration(ms)"}, {"tDu", "duration(us)"}, {"tDn", "duration(ns)"}, {"tiM", "interval_year_month"},
    {"tiD", "interval_day_time"}, {"tin", "interval_month_day_nano"}, {"tss:", "timestamp(s)"}, {"tsm:UTC", "timestamp(ms, UTC)"},
    {"tsu:Europe/Berlin", "timestamp(us, Europe/Berlin)"}, {"tsn:+05:30", "timestamp(ns, +05:30)"},
    {"w:0", "fixed_size_binary(0)"}, {"w:16", "fixed_size_binary(16)"}, {"w:2147483647", "fixed_size_binary(2147483647)"},
    {"d:38,10", "decimal128(38, 10)"}, {"d:5,-3", "decimal128(5, -3)"}, {"d:9,2,32", "decimal32(9, 2)"},
    {"d:10,4,64", "decimal64(10, 4)"}, {"d:76,0,256", "decimal256(76, 0)"}, {"+s", "struct<>"}, {"+ud:", "dense_union<>"},
};

static void every_flat_format_survives_import_and_export(void) {
  struct colshuf_error err;
  for (size_t i = 0; i < sizeof flat_formats / sizeof flat_formats[0]; i++) {
    struct csf_schema *schema = import_column(make(flat_formats[i].format, "c", 0));
    char words[100];
    csf_field_describe(&schema->root.children[0], words, sizeof words);
    CHECK_STRING(words, flat_formats[i].words);
    struct ArrowSchema out;
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &out, &err));
    csf_schema_release(schema);
    CHECK_STRING(out.format, "+s");
    CHECK_INT(out.n_children, 1);
    CHECK_STRING(out.children[0]->format, flat_formats[i].format);
    CHECK_STRING(out.children[0]->name, "c");
    CHECK_INT(out.children[0]->flags, ARROW_FLAG_NULLABLE);
    out.release(&out);
    CHECK(out.release == NULL);
  }
}

static void a_decimal_with_its_bits_spelt_out_is_the_same_type(void) {
  struct csf_schema *a = import_column(make("d:10,2", "c", 0)), *b = import_column(make("d:10,2,128", "c", 0));
  CHECK(csf_field_equal(&a->root, &b->root, CSF_MATCH_EXACT));
  csf_schema_release(a);
  csf_schema_release(b);
}

enum { N_NESTED = 13 };
static struct ArrowSchema *nested(int which) {
  struct ArrowSchema *ends, *values;
  switch (which) {
    case 0: return make_list("+l", make("i", "item", 0));
    case 1: return make_list("+L", make("u", "element", 0));
    case 2: return make_list("+vl", make("b", "item", 0));
    case 3: return make_list("+vL", make("n", "item", 0));
    case 4: return make_list("+w:3", make("g", "item", 0));
    case 5: return make_list("+w:0", make("n", "item", 0));
    case 6: return make_pair("+s", make("c", "a", 0), make("C", "b", 0));
    case 7: return make_pair("+ud:7,3", make("i", "a", 0), make("u", "b", 0));
    case 8: return make_pair("+us:0,127", make("i", "a", 0), make("u", "b", 0));
    case 9:
      ends = make("s", "run_ends", 0);
      ends->flags = 0;
      return make_pair("+r", ends, make("u", "values", 0));
    case 10: return make_map();
    case 11: return make_dictionary("c", make("u", "", 0));
    case 12:
      values = make_list("+l", make_dictionary("i", make("z", "", 0)));
      values->name = ""; /* what a dictionary's values are called is not kept */
      return make_dictionary("L", values);
    default: return NULL;
  }
}

static const char *const nested_words[] = {
    "list<item: int32>", "large_list<element: utf8>", "list_view<item: bool>", "large_list_view<item: null>",
    "fixed_size_list<item: float64, 3>", "fixed_size_list<item: null, 0>", "struct<a: int8, b: uint8>",
    "dense_union<7=a: int32, 3=b: utf8>", "sparse_union<0=a: int32, 127=b: utf8>",
    "run_end_encoded<run_ends: int16 not null, values: utf8>", "map<utf8, int32>", "dictionary<int8, utf8>",
    "dictionary<uint64, list<d: dictionary<int32, binary>>>",
};

static void check_same_struct(const struct ArrowSchema *a, const struct ArrowSchema *b) {
  CHECK_STRING(a->format, b->format);
  CHECK_STRING(a->name == NULL ? "" : a->name, b->name);
  CHECK_INT(a->flags, b->flags);
  REQUIRE(a->n_children == b->n_children);
  for (int64_t i = 0; i < a->n_children; i++) check_same_struct(a->children[i], b->children[i]);
  REQUIRE((a->dictionary == NULL) == (b->dictionary == NULL));
  if (a->dictionary != NULL) check_same_struct(a->dictionary, b->dictionary);
}

static void every_nested_format_survives_import_and_export(void) {
  struct colshuf_error err;
  for (int i = 0; i < N_NESTED; i++) {
    struct ArrowSchema *source = make_batch(nested(i));
    source->flags = 0;
    struct csf_schema *schema;
    REQUIRE_OK(csf_schema_import(source, &test_heap, NULL, &schema, &err));
    char words[100];
    csf_field_describe(&schema->root.children[0], words, sizeof words);
    CHECK_STRING(words, nested_words[i]);
    struct ArrowSchema out;
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &out, &err));
    check_same_struct(source, &out);
    drop(source);
    out.release(&out);
    csf_schema_release(schema);
  }
}

static const struct {
  const char *format;
  enum colshuf_status status;
  const char *part; /* of the message */
} bad_formats[] = {
    {"", COLSHUF_UNSUPPORTED, "\"\""}, {"x", COLSHUF_UNSUPPORTED, "\"x\""}, {"ii", COLSHUF_UNSUPPORTED, "ii"},
    {"+", COLSHUF_UNSUPPORTED, "+"}, {"+x", COLSHUF_UNSUPPORTED, "+x"}, {"v", COLSHUF_UNSUPPORTED, "v"},
    {"w", COLSHUF_UNSUPPORTED, "\"w\""}, {"w:", COLSHUF_INVALID_ARGUMENT, "malformed"}, {"w:-1", COLSHUF_INVALID_ARGUMENT, "w:-1"},
    {"w:+1", COLSHUF_INVALID_ARGUMENT, "w:+1"}, {"w: 1", COLSHUF_INVALID_ARGUMENT, "w: 1"}, {"w:1 ", COLSHUF_INVALID_ARGUMENT, "w:1 "},
    {"w:1x", COLSHUF_INVALID_ARGUMENT, "w:1x"}, {"w:2147483648", COLSHUF_INVALID_ARGUMENT, "w:2147483648"},
    {"w:99999999999999999999999", COLSHUF_INVALID_ARGUMENT, "malformed"}, {"d", COLSHUF_UNSUPPORTED, "\"d\""},
    {"d:", COLSHUF_INVALID_ARGUMENT, "malformed"}, {"d:5", COLSHUF_INVALID_ARGUMENT, "d:5"}, {"d:5,", COLSHUF_INVALID_ARGUMENT, "d:5,"},
    {"d:,1", COLSHUF_INVALID_ARGUMENT, "d:,1"}, {"d:5,1,", COLSHUF_INVALID_ARGUMENT, "d:5,1,"},
    {"d:5,1,128,", COLSHUF_INVALID_ARGUMENT, "malformed"}, {"d:5,1,100", COLSHUF_UNSUPPORTED, "100 bits"},
    {"d:5,1,-128", COLSHUF_UNSUPPORTED, "-128 bits"}, {"d:39,0,128", COLSHUF_INVALID_ARGUMENT, "precision 39, must be 1 to 38"},
    {"d:39,0", COLSHUF_INVALID_ARGUMENT, "precision 39"}, {"d:10,0,32", COLSHUF_INVALID_ARGUMENT, "precision 10, must be 1 to 9"},
    {"d:19,0,64", COLSHUF_INVALID_ARGUMENT, "must be 1 to 18"}, {"d:77,0,256", COLSHUF_INVALID_ARGUMENT, "must be 1 to 76"},
    {"d:0,0", COLSHUF_INVALID_ARGUMENT, "precision 0"}, {"d:-5,0", COLSHUF_INVALID_ARGUMENT, "precision -5"},
    {"d:5,128", COLSHUF_INVALID_ARGUMENT, "scale 128"}, {"d:5,-129", COLSHUF_INVALID_ARGUMENT, "scale -129"},
    {"t", COLSHUF_UNSUPPORTED, "t"}, {"td", COLSHUF_UNSUPPORTED, "td"}, {"tdx", COLSHUF_UNSUPPORTED, "tdx"},
    {"ttx", COLSHUF_UNSUPPORTED, "ttx"}, {"tDx", COLSHUF_UNSUPPORTED, "tDx"}, {"tix", COLSHUF_UNSUPPORTED, "tix"},
    {"ts", COLSHUF_INVALID_ARGUMENT, "ts"}, {"tsu", COLSHUF_INVALID_ARGUMENT, "tsu"}, {"tsx:", COLSHUF_INVALID_ARGUMENT, "tsx:"},
    {"tsu;", COLSHUF_INVALID_ARGUMENT, "tsu;"}, {"tsu:\xff", COLSHUF_INVALID_ARGUMENT, "timezone is not UTF-8"},
    {"+l", COLSHUF_INVALID_ARGUMENT, "0 children, must have 1"}, {"+w", COLSHUF_UNSUPPORTED, "+w"},
    {"+w:", COLSHUF_INVALID_ARGUMENT, "+w:"}, {"+w:-1", COLSHUF_INVALID_ARGUMENT, "+w:-1"},
    {"+w:1", COLSHUF_INVALID_ARGUMENT, "0 children"}, {"+m", COLSHUF_INVALID_ARGUMENT, "0 children"},
    {"+r", COLSHUF_INVALID_ARGUMENT, "must have 2"}, {"+ud", COLSHUF_UNSUPPORTED, "+ud"}, {"+ux:", COLSHUF_UNSUPPORTED, "+ux:"},
    {"+ud:0", COLSHUF_INVALID_ARGUMENT, "0 children, but 1 type ids"},
};

static void every_malformed_format_is_refused_with_its_text(void) {
  struct colshuf_error err;
  for (size_t i = 0; i < sizeof bad_formats / sizeof bad_formats[0]; i++) {
    CHECK_STATUS(try_column(make(bad_formats[i].format, "c", 0), &err), bad_formats[i].status);
    CHECK_CONTAINS(err.message, bad_formats[i].part);
  }
}

static void union_type_ids_must_be_distinct_and_in_range(void) {
  static const char *const formats[] = {"+ud:0,0", "+us:0,128", "+us:-1,0", "+us:0,", "+us:,0", "+us:0;1", "+us:0", "+us:0,1,2"};
  struct colshuf_error err;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    CHECK_STATUS(try_column(make_pair(formats[i], make("i", "a", 0), make("i", "b", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  }
}

static void a_leaf_with_children_is_refused(void) {
  struct colshuf_error err;
  CHECK_STATUS(try_column(make_list("i", make("i", "x", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "int32 has 1 children, must have 0");
  CHECK_STATUS(try_column(make_list("u", make("i", "x", 0)), &err), COLSHUF_INVALID_ARGUMENT);
}

static void nested_types_of_a_wrong_shape_are_refused(void) {
  struct colshuf_error err;
  CHECK_STATUS(try_column(make_pair("+l", make("i", "a", 0), make("i", "b", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(try_column(make_list("+m", make("i", "a", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "must be a struct of 2");
  CHECK_STATUS(try_column(make_list("+m", make_list("+s", make("i", "a", 0))), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(try_column(make_list("+r", make("i", "a", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(try_column(make_pair("+r", make("c", "a", 0), make("i", "b", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "run ends are int8");
  CHECK_STATUS(try_column(make_pair("+r", make("u", "a", 0), make("i", "b", 0)), &err), COLSHUF_INVALID_ARGUMENT);
  struct ArrowSchema *ends = make_dictionary("i", make("i", "", 0));
  CHECK_STATUS(try_column(make_pair("+r", ends, make("i", "b", 0)), &err), COLSHUF_INVALID_ARGUMENT);
}

static void dictionary_indices_are_integers_and_values_no_dictionary(void) {
  static const char *const bad[] = {"u", "g", "b", "+s", "tdD", "d:5,2"};
  static const char *const good[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
  struct colshuf_error err;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    CHECK_STATUS(try_column(make_dictionary(bad[i], make("u", "", 0)), &err), COLSHUF_INVALID_ARGUMENT);
    CHECK_CONTAINS(err.message, "must be an integer type");
  }
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    CHECK_STATUS(try_column(make_dictionary(good[i], make("u", "", 0)), &err), COLSHUF_OK);
  }
  CHECK_STATUS(try_column(make_dictionary("i", make_dictionary("c", make("u", "", 0))), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "themselves dictionary-encoded");
}

static void released_and_missing_structs_are_refused(void) {
  struct colshuf_error err;
  struct csf_schema *schema = NULL;
  CHECK_STATUS(csf_schema_import(NULL, &test_heap, NULL, &schema, &err), COLSHUF_INVALID_ARGUMENT);
  struct ArrowSchema released = {.format = "+s"};
  CHECK_STATUS(csf_schema_import(&released, &test_heap, NULL, &schema, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "released");
  CHECK_STATUS(try_column(NULL, &err), COLSHUF_INVALID_ARGUMENT);
  struct ArrowSchema *child = make("i", "c", 0);
  child->release(child);
  CHECK_STATUS(try_column(child, &err), COLSHUF_INVALID_ARGUMENT);
  struct ArrowSchema *values = make("u", "", 0);
  values->release(values);
  CHECK_STATUS(try_column(make_dictionary("i", values), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(try_column(make(NULL, "c", 0), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "no format string");
  struct ArrowSchema childless = {.format = "+s", .n_children = 3, .release = release_made};
  CHECK_STATUS(csf_schema_import(&childless, &test_heap, NULL, &schema, &err), COLSHUF_INVALID_ARGUMENT);
  childless.n_children = -1;
  CHECK_STATUS(csf_schema_import(&childless, &test_heap, NULL, &schema, &err), COLSHUF_INVALID_ARGUMENT);
  struct ArrowSchema plain = {.format = "i", .release = release_made};
  CHECK_STATUS(csf_schema_import(&plain, &test_heap, NULL, &schema, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "is a struct");
}

static void an_announced_number_of_children_sizes_nothing(void) {
  struct colshuf_error err;
  struct csf_schema *schema = NULL;
  struct ArrowSchema *table[1] = {NULL};
  struct ArrowSchema huge = {.format = "+s", .n_children = INT64_MAX, .children = table, .release = release_made};
  CHECK_STATUS(csf_schema_import(&huge, &test_heap, NULL, &schema, &err), COLSHUF_LIMIT);
  CHECK(test_heap_peak() < 100000);
  struct colshuf_limits limits = {.max_fields = 2};
  struct ArrowSchema *three = make_batch(make_pair("+s", make("i", "a", 0), make("i", "b", 0)));
  CHECK_STATUS(csf_schema_import(three, &test_heap, &limits, &schema, &err), COLSHUF_LIMIT);
  limits.max_fields = 3;
  REQUIRE_OK(csf_schema_import(three, &test_heap, &limits, &schema, &err));
  CHECK_INT(schema->n_fields, 3);
  CHECK_INT(schema->depth, 2);
  csf_schema_release(schema);
  drop(three);
}

static struct ArrowSchema *deep_lists(int n) {
  struct ArrowSchema *schema = make("i", "leaf", 0);
  for (int i = 0; i < n; i++) schema = make_list("+l", schema);
  return schema;
}

static void nesting_of_64_is_fine_and_beyond_it_is_a_limit(void) {
  struct colshuf_error err;
  struct csf_schema *schema = import_column(deep_lists(64));
  CHECK_INT(schema->depth, 65);
  csf_schema_release(schema);
  CHECK_STATUS(try_column(deep_lists(65), &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "more than 64 deep");
  CHECK_STATUS(try_column(deep_lists(10000), &err), COLSHUF_LIMIT);
  struct ArrowSchema *values = make("i", "", 0);
  for (int i = 0; i < 65; i++) values = make_list("+l", make_dictionary("i", values));
  CHECK_STATUS(try_column(values, &err), COLSHUF_LIMIT);
}

static void a_raised_depth_limit_stays_below_the_ceiling(void) {
  struct colshuf_error err;
  struct colshuf_limits limits = {.max_depth = UINT32_MAX};
  struct ArrowSchema *batch = make_batch(deep_lists(256));
  struct csf_schema *schema;
  REQUIRE_OK(csf_schema_import(batch, &test_heap, &limits, &schema, &err));
  csf_schema_release(schema);
  drop(batch);
  batch = make_batch(deep_lists(10000));
  CHECK_STATUS(csf_schema_import(batch, &test_heap, &limits, &schema, &err), COLSHUF_LIMIT);
  drop(batch);
}

static void a_schema_built_too_deep_by_hand_is_a_limit(void) {
  struct colshuf_error err;
  struct csf_schema *schema = csf_schema_new(&test_heap);
  struct csf_field *field = &schema->root;
  for (int i = 0; i < 10000; i++) {
    field->n_children = 1;
    field->children = csf_arena_alloc(&schema->arena, sizeof *field);
    field = field->children;
    field->type = CSF_LIST;
  }
  field->type = CSF_INT32;
  CHECK_STATUS(csf_schema_finish(schema, NULL, &err), COLSHUF_LIMIT);
  csf_schema_release(schema);
}

/* One pair: key "ARROW:extension:name" = "my.type". */
static const char extension_name[] = "\x01\x00\x00\x00\x14\x00\x00\x00" "ARROW:extension:name" "\x07\x00\x00\x00" "my.type";

static void an_extension_name_without_metadata_is_kept(void) {
  struct colshuf_error err;
  struct ArrowSchema *column = make("u", "c", 0);
  column->metadata = extension_name;
  struct csf_schema *schema = import_column(column);
  const struct csf_field *field = &schema->root.children[0];
  REQUIRE(field->n_metadata == 1);
  CHECK_INT(field->metadata[0].key.size, 20);
  CHECK_INT(memcmp(field->metadata[0].value.data, "my.type", 7), 0);
  struct ArrowSchema out;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &out, &err));
  csf_schema_release(schema);
  CHECK_INT(memcmp(out.children[0]->metadata, extension_name, sizeof extension_name - 1), 0);
  out.release(&out);
}

static void metadata_with_negative_counts_or_lengths_is_refused(void) {
  static const char *const bad[] = {
      "\xff\xff\xff\xff", "\x01\x00\x00\x00\xff\xff\xff\xff", "\x01\x00\x00\x00\x01\x00\x00\x00k\xfe\xff\xff\xff",
      "\x00\x00\x00\x80",
  };
  struct colshuf_error err;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct ArrowSchema *column = make("u", "c", 0);
    column->metadata = bad[i];
    CHECK_STATUS(try_column(column, &err), COLSHUF_INVALID_ARGUMENT);
  }
  struct ArrowSchema *column = make("u", "c", 0);
  column->metadata = "\x01\x00\x00\x00\xff\xff\xff\x7f";
  CHECK_STATUS(try_column(column, &err), COLSHUF_LIMIT);
  column = make("u", "c", 0);
  column->metadata = "\x00\x00\x00\x00";
  CHECK_STATUS(try_column(column, &err), COLSHUF_OK);
}

static void a_name_that_is_not_utf8_is_refused(void) {
  struct colshuf_error err;
  CHECK_STATUS(try_column(make("i", "\xc0\x80", 0), &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "not UTF-8");
  CHECK_STATUS(try_column(make("i", NULL, 0), &err), COLSHUF_OK);
}

static void custom_names_of_map_children_and_the_sorted_flag_are_kept(void) {
  struct colshuf_error err;
  struct ArrowSchema *map = make_map();
  map->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  map->children[0]->children[0]->metadata = extension_name;
  struct csf_schema *schema = import_column(map);
  struct ArrowSchema out;
  REQUIRE_OK(csf_field_export(&schema->root.children[0], &test_heap, &out, &err));
  csf_schema_release(schema);
  CHECK_INT(out.flags, ARROW_FLAG_MAP_KEYS_SORTED | ARROW_FLAG_NULLABLE);
  CHECK_STRING(out.children[0]->name, "some_entries");
  CHECK_STRING(out.children[0]->children[0]->name, "some_key");
  CHECK_STRING(out.children[0]->children[1]->name, "some_value");
  CHECK_INT(memcmp(out.children[0]->children[0]->metadata, extension_name, sizeof extension_name - 1), 0);
  out.release(&out);
}

static void a_child_moved_out_outlives_its_parent(void) {
  struct colshuf_error err;
  struct csf_schema *schema = import_column(make_map());
  struct ArrowSchema out;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &out, &err));
  csf_schema_release(schema);
  struct ArrowSchema moved = *out.children[0];
  out.children[0]->release = NULL;
  out.release(&out);
  CHECK_STRING(moved.format, "+m");
  CHECK_STRING(moved.children[0]->children[0]->name, "some_key");
  struct ArrowSchema key = *moved.children[0]->children[0];
  moved.children[0]->children[0]->release = NULL;
  moved.release(&moved);
  CHECK_STRING(key.name, "some_key");
  key.release(&key);
}

static void columns_are_found_by_name_unless_it_is_ambiguous(void) {
  struct colshuf_error err;
  struct ArrowSchema *batch = make("+s", "", 4);
  static const char *const names[] = {"dupe_col", "dupe_col", "Column1", "column1"};
  for (int i = 0; i < 4; i++) batch->children[i] = make("i", names[i], 0);
  struct csf_schema *schema;
  REQUIRE_OK(csf_schema_import(batch, &test_heap, NULL, &schema, &err));
  int32_t found = -1;
  CHECK_STATUS(csf_schema_find(schema, "dupe_col", &found, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "ambiguous");
  REQUIRE_OK(csf_schema_find(schema, "Column1", &found, &err));
  CHECK_INT(found, 2);
  REQUIRE_OK(csf_schema_find(schema, "column1", &found, &err));
  CHECK_INT(found, 3);
  CHECK_STATUS(csf_schema_find(schema, "COLUMN1", &found, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "\"dupe_col\", \"dupe_col\", \"Column1\", \"column1\"");
  csf_schema_release(schema);
  drop(batch);
}

static bool equal(struct ArrowSchema *a, struct ArrowSchema *b, unsigned overlook) {
  struct csf_schema *x = import_column(a), *y = import_column(b);
  bool same = csf_field_equal(&x->root.children[0], &y->root.children[0], overlook);
  CHECK(csf_field_equal(&y->root.children[0], &x->root.children[0], overlook) == same);
  csf_schema_release(x);
  csf_schema_release(y);
  return same;
}

static void every_nested_type_equals_itself_alone(void) {
  for (int i = 0; i < N_NESTED; i++) {
    for (int j = 0; j < N_NESTED; j++) CHECK(equal(nested(i), nested(j), CSF_MATCH_EXACT) == (i == j));
  }
  for (size_t i = 0; i < sizeof flat_formats / sizeof flat_formats[0]; i++) {
    for (size_t j = 0; j < sizeof flat_formats / sizeof flat_formats[0]; j++) {
      bool same = equal(make(flat_formats[i].format, "c", 0), make(flat_formats[j].format, "c", 0), 15);
      CHECK(same == (i == j));
    }
  }
}

static struct ArrowSchema *required(struct ArrowSchema *schema) {
  schema->flags = 0;
  return schema;
}

static void equality_overlooks_what_it_is_told_to_and_nothing_else(void) {
  CHECK(!equal(make("i", "a", 0), make("i", "b", 0), CSF_MATCH_EXACT));
  CHECK(equal(make("i", "a", 0), make("i", "b", 0), CSF_MATCH_NAMES));
  CHECK(!equal(make_list("+l", make("i", "a", 0)), make_list("+l", make("i", "b", 0)), CSF_MATCH_EXACT));
  CHECK(equal(make_list("+l", make("i", "a", 0)), make_list("+l", make("i", "b", 0)), CSF_MATCH_NAMES));
  CHECK(!equal(make_list("+s", make("i", "a", 0)), make_list("+s", make("i", "b", 0)), CSF_MATCH_NAMES));
  struct ArrowSchema *renamed = make_map();
  renamed->children[0]->name = "entries";
  renamed->children[0]->children[0]->name = "key";
  CHECK(equal(make_map(), renamed, CSF_MATCH_NAMES));
  CHECK(!equal(make("i", "a", 0), required(make("i", "a", 0)), CSF_MATCH_EXACT));
  CHECK(equal(make_list("+s", make("i", "a", 0)), make_list("+s", required(make("i", "a", 0))), CSF_MATCH_NULLABLE));
  struct ArrowSchema *extended = make("u", "a", 0);
  extended->metadata = extension_name;
  CHECK(equal(make("u", "a", 0), extended, CSF_MATCH_METADATA));
  extended = make("u", "a", 0);
  extended->metadata = extension_name;
  CHECK(!equal(make("u", "a", 0), extended, CSF_MATCH_EXACT));
  CHECK(!equal(make("u", "a", 0), make_dictionary("i", make("u", "", 0)), CSF_MATCH_NAMES));
  CHECK(equal(make("u", "a", 0), make_dictionary("i", make("u", "", 0)), CSF_MATCH_NAMES | CSF_MATCH_DICTIONARY));
  CHECK(equal(make_dictionary("c", make("u", "", 0)), make_dictionary("i", make("u", "", 0)), CSF_MATCH_DICTIONARY));
  CHECK(!equal(make_dictionary("c", make("u", "", 0)), make_dictionary("c", make("z", "", 0)), CSF_MATCH_DICTIONARY));
  CHECK(equal(make_list("+l", make("u", "i", 0)), make_list("+l", make_dictionary("s", make("u", "", 0))),
              CSF_MATCH_DICTIONARY | CSF_MATCH_NAMES));
}

static void metadata_is_compared_without_its_order(void) {
#define PAIR(k, v) "\x01\x00\x00\x00" k "\x01\x00\x00\x00" v
#define ONE_OF(text) (m = make("u", "a", 0), m->metadata = (text), m)
  struct ArrowSchema *m, *x, *y;
  x = ONE_OF("\x02\x00\x00\x00" PAIR("a", "1") PAIR("b", "2"));
  y = ONE_OF("\x02\x00\x00\x00" PAIR("b", "2") PAIR("a", "1"));
  CHECK(equal(x, y, CSF_MATCH_EXACT));
  x = ONE_OF("\x02\x00\x00\x00" PAIR("a", "1") PAIR("b", "2"));
  y = ONE_OF("\x02\x00\x00\x00" PAIR("b", "2") PAIR("a", "2"));
  CHECK(!equal(x, y, CSF_MATCH_EXACT));
  x = ONE_OF("\x03\x00\x00\x00" PAIR("a", "1") PAIR("a", "1") PAIR("b", "2"));
  y = ONE_OF("\x03\x00\x00\x00" PAIR("b", "2") PAIR("a", "1") PAIR("b", "2"));
  CHECK(!equal(x, y, CSF_MATCH_EXACT));
}

static enum colshuf_status expect(struct ArrowSchema *found, struct ArrowSchema *expected, struct colshuf_error *err) {
  struct csf_schema *x = import_column(found), *y = import_column(expected);
  enum colshuf_status status = csf_schema_check_expected(x, y, err);
  csf_schema_release(x);
  csf_schema_release(y);
  return status;
}

static void blocks_may_differ_from_the_expected_schema_as_comet_allows(void) {
  struct colshuf_error err;
  CHECK_STATUS(expect(make("u", "a", 0), required(make("u", "b", 0)), &err), COLSHUF_OK);
  CHECK_STATUS(expect(make_dictionary("c", make("u", "", 0)), make("u", "b", 0), &err), COLSHUF_OK);
  CHECK_STATUS(expect(make_list("+l", make_dictionary("i", make("u", "", 0))), make_list("+l", required(make("u", "x", 0))), &err),
               COLSHUF_OK);
  CHECK_STATUS(expect(make_list("+s", make("i", "a", 0)), make_list("+s", required(make("i", "a", 0))), &err), COLSHUF_OK);
  CHECK_STATUS(expect(make_map(), make_map(), &err), COLSHUF_OK);
  for (int i = 0; i < N_NESTED; i++) CHECK_STATUS(expect(nested(i), nested(i), &err), COLSHUF_OK);
}

static void blocks_of_another_type_than_expected_are_refused(void) {
  struct colshuf_error err;
  CHECK_STATUS(expect(make("u", "a", 0), make("z", "a", 0), &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "column 0 (\"a\") is utf8, expected binary");
  static const char *const pairs[][2] = {{"i", "I"}, {"i", "l"}, {"u", "U"}, {"u", "vu"}, {"tsu:", "tsu:UTC"}, {"tsu:", "tsm:"},
                                         {"d:10,2", "d:10,3"}, {"d:10,2", "d:11,2"}, {"w:3", "w:4"}, {"tDs", "tDm"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    CHECK_STATUS(expect(make(pairs[i][0], "a", 0), make(pairs[i][1], "a", 0), &err), COLSHUF_CORRUPT);
  }
  CHECK_STATUS(expect(make_list("+s", make("i", "a", 0)), make_list("+s", make("i", "b", 0)), &err), COLSHUF_CORRUPT);
  CHECK_STATUS(expect(make_list("+l", make("i", "a", 0)), make_list("+L", make("i", "a", 0)), &err), COLSHUF_CORRUPT);
  CHECK_STATUS(expect(make_list("+w:2", make("i", "a", 0)), make_list("+w:3", make("i", "a", 0)), &err), COLSHUF_CORRUPT);
  struct ArrowSchema *sorted = make_map();
  sorted->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  CHECK_STATUS(expect(make_map(), sorted, &err), COLSHUF_CORRUPT);
  struct ArrowSchema *loose = make_map();
  loose->children[0]->children[0]->flags = ARROW_FLAG_NULLABLE;
  CHECK_STATUS(expect(loose, make_map(), &err), COLSHUF_CORRUPT);
}

static void another_number_of_columns_is_refused(void) {
  struct colshuf_error err;
  struct csf_schema *one = import_column(make("i", "a", 0)), *none = csf_schema_new(&test_heap);
  REQUIRE_OK(csf_schema_finish(none, NULL, &err));
  CHECK_STATUS(csf_schema_check_expected(one, none, &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "1 columns found, 0 expected");
  csf_schema_release(one);
  csf_schema_release(none);
}

static void words_are_cut_between_characters(void) {
  struct csf_schema *schema = import_column(make_list("+s", make("i", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0)));
  char whole[64], cut[64];
  csf_field_describe(&schema->root.children[0], whole, sizeof whole);
  CHECK_STRING(whole, "struct<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80: int32>");
  for (size_t size = 1; size <= sizeof whole; size++) {
    memset(cut, 'x', sizeof cut);
    csf_field_describe(&schema->root.children[0], cut, size);
    CHECK(memchr(cut, '\0', size) != NULL);
    CHECK(strncmp(whole, cut, strlen(cut)) == 0);
    size_t used = strlen(cut);
    CHECK((whole[used] & 0xc0) != 0x80);
    CHECK(used + 4 >= (size - 1 < strlen(whole) ? size - 1 : strlen(whole)));
  }
  csf_schema_release(schema);
}

static enum colshuf_status everything_once(void *ctx) {
  struct colshuf_error err;
  struct csf_schema *schema;
  CSF_TRY(csf_schema_import(ctx, &test_heap, NULL, &schema, &err));
  struct ArrowSchema out;
  enum colshuf_status status = csf_field_export(&schema->root, &test_heap, &out, &err);
  if (status == COLSHUF_OK) out.release(&out);
  struct csf_schema *copy = status == COLSHUF_OK ? csf_schema_new(&test_heap) : NULL;
  if (copy != NULL && csf_field_copy(&copy->arena, &schema->root, &copy->root)) {
    CHECK(csf_field_equal(&schema->root, &copy->root, CSF_MATCH_EXACT));
  } else {
    status = COLSHUF_NO_MEMORY;
  }
  csf_schema_release(copy);
  csf_schema_release(schema);
  return status;
}

static void every_refused_allocation_is_survived(void) {
  struct ArrowSchema *batch = make("+s", "", 40);
  for (int i = 0; i < 40; i++) batch->children[i] = nested(i % N_NESTED);
  batch->metadata = extension_name;
  CHECK(test_oom_sweep(everything_once, batch) > 5);
  drop(batch);
}

static void a_schema_lives_as_long_as_its_last_reference(void) {
  struct csf_schema *schema = import_column(make("u", "kept", 0));
  CHECK(csf_schema_retain(schema) == schema);
  csf_schema_release(schema);
  CHECK_STRING(schema->root.children[0].name, "kept");
  csf_schema_release(schema);
  csf_schema_release(NULL);
  CHECK_INT(test_heap_bytes(), 0);
}

static void a_schema_says_what_stands_in_it(void) {
  struct csf_schema *schema = import_column(make_list("+l", make_dictionary("i", make("vu", "", 0))));
  CHECK(schema->has_dictionary);
  CHECK(schema->has_view);
  CHECK_INT(schema->n_fields, 3);
  CHECK_INT(schema->depth, 3);
  const struct csf_field *list = &schema->root.children[0];
  CHECK_INT(list->layout, CSF_LAYOUT_LIST32);
  CHECK_INT(list->children[0].layout, CSF_LAYOUT_FIXED);
  CHECK_INT(list->children[0].width, 4);
  CHECK_INT(list->children[0].dictionary->layout, CSF_LAYOUT_VIEW);
  csf_schema_release(schema);
  schema = import_column(make("w:7", "c", 0));
  CHECK(!schema->has_dictionary && !schema->has_view);
  CHECK_INT(schema->root.children[0].width, 7);
  csf_schema_release(schema);
}

static void a_schema_of_any_type_can_be_imported_as_one_column(void) {
  struct colshuf_error err;
  struct ArrowSchema *plain = make("i", "c", 0);
  struct csf_schema *schema;
  REQUIRE_OK(csf_schema_import_column(plain, &test_heap, NULL, &schema, &err));
  CHECK_INT(schema->root.n_children, 1);
  CHECK_INT(schema->root.children[0].type, CSF_INT32);
  csf_schema_release(schema);
  drop(plain);
}

static const struct test_case tests[] = {
    TEST(every_flat_format_survives_import_and_export),
    TEST(a_decimal_with_its_bits_spelt_out_is_the_same_type),
    TEST(every_nested_format_survives_import_and_export),
    TEST(every_malformed_format_is_refused_with_its_text),
    TEST(union_type_ids_must_be_distinct_and_in_range),
    TEST(a_leaf_with_children_is_refused),
    TEST(nested_types_of_a_wrong_shape_are_refused),
    TEST(dictionary_indices_are_integers_and_values_no_dictionary),
    TEST(released_and_missing_structs_are_refused),
    TEST(an_announced_number_of_children_sizes_nothing),
    TEST(nesting_of_64_is_fine_and_beyond_it_is_a_limit),
    TEST(a_raised_depth_limit_stays_below_the_ceiling),
    TEST(a_schema_built_too_deep_by_hand_is_a_limit),
    TEST(an_extension_name_without_metadata_is_kept),
    TEST(metadata_with_negative_counts_or_lengths_is_refused),
    TEST(a_name_that_is_not_utf8_is_refused),
    TEST(custom_names_of_map_children_and_the_sorted_flag_are_kept),
    TEST(a_child_moved_out_outlives_its_parent),
    TEST(columns_are_found_by_name_unless_it_is_ambiguous),
    TEST(every_nested_type_equals_itself_alone),
    TEST(equality_overlooks_what_it_is_told_to_and_nothing_else),
    TEST(metadata_is_compared_without_its_order),
    TEST(blocks_may_differ_from_the_expected_schema_as_comet_allows),
    TEST(blocks_of_another_type_than_expected_are_refused),
    TEST(another_number_of_columns_is_refused),
    TEST(words_are_cut_between_characters),
    TEST(every_refused_allocation_is_survived),
    TEST(a_schema_lives_as_long_as_its_last_reference),
    TEST(a_schema_says_what_stands_in_it),
    TEST(a_schema_of_any_type_can_be_imported_as_one_column),
};
TEST_MAIN(tests)
