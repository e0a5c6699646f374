/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "support/random.h"

struct builder {
  struct test_random *random;
  struct csf_arena *arena;
  uint64_t types;
  bool dictionaries;
  bool plain_names;
};

static int64_t below(struct builder *b, int64_t n) {
  return (int64_t)test_random_below(b->random, (uint64_t)n);
}

static void *arena_alloc(struct builder *b, size_t size) {
  void *place = csf_arena_alloc(b->arena, size);
  if (place == NULL) abort();
  return place;
}

static const char *copy_text(struct builder *b, const char *text) {
  const char *copy = csf_arena_string(b->arena, text, strlen(text));
  if (copy == NULL) abort();
  return copy;
}

static const char *random_name(struct builder *b, int32_t i) {
  static const char *const odd[] = {"",    "a",  "A", "naïve", "日本", "with space", "quo\"te", "item", "\xf0\x9f\x8c\xb0",
                                    "dup", "dup"};
  if (!b->plain_names && below(b, 3) == 0) return odd[below(b, (int64_t)(sizeof odd / sizeof odd[0]))];
  char name[16];
  snprintf(name, sizeof name, "c%d", i);
  return copy_text(b, name);
}

static void add_metadata(struct builder *b, struct csf_field *field) {
  static const char *const keys[] = {"ARROW:extension:name", "key", "PARQUET:field_id", "\xc3\xa9"};
  if (b->plain_names || below(b, 5) != 0) return;
  int32_t n = (int32_t)below(b, 3) + 1;
  struct csf_key_value *pairs = arena_alloc(b, (size_t)n * sizeof *pairs);
  int64_t first = below(b, 2); /* different keys, in the order of keys[] */
  for (int32_t i = 0; i < n; i++) {
    const char *value = i == 0 ? "colshuf.test" : i == 1 ? "" : "3";
    pairs[i].key = (struct csf_span){(const uint8_t *)keys[first + i], strlen(keys[first + i])};
    pairs[i].value = (struct csf_span){(const uint8_t *)value, strlen(value)};
  }
  field->metadata = pairs;
  field->n_metadata = n;
}

static struct csf_field *add_children(struct builder *b, struct csf_field *field, int32_t n) {
  field->n_children = n;
  field->children = n == 0 ? NULL : arena_alloc(b, (size_t)n * sizeof *field->children);
  for (int32_t c = 0; c < n; c++) {
    field->children[c].name = "";
    field->children[c].nullable = true;
  }
  return field->children;
}

static void random_field(struct builder *b, struct csf_field *field, int32_t depth, uint64_t without);

static enum csf_type random_type(struct builder *b, uint64_t allowed) {
  if (allowed == 0) return CSF_INT32;
  int64_t skip = below(b, __builtin_popcountll(allowed));
  while (skip-- > 0) allowed &= allowed - 1;
  return (enum csf_type)__builtin_ctzll(allowed);
}

static void set_decimal(struct builder *b, struct csf_field *field) {
  static const int32_t digits[] = {9, 18, 38, 76};
  int32_t most = digits[field->type - CSF_DECIMAL32];
  field->precision = 1 + (int32_t)below(b, most);
  if (below(b, 3) == 0) field->precision = most;
  field->scale = (int32_t)below(b, field->precision + 1);
  if (below(b, 8) == 0) field->scale = -(int32_t)below(b, 5);
}

static void set_parameters(struct builder *b, struct csf_field *field) {
  static const char *const zones[] = {NULL, "UTC", "+02:00", "Europe/Berlin"};
  switch (field->type) {
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256:
      set_decimal(b, field);
      break;
    case CSF_TIME32:
      field->unit = below(b, 2) ? CSF_SECOND : CSF_MILLISECOND;
      break;
    case CSF_TIME64:
      field->unit = below(b, 2) ? CSF_MICROSECOND : CSF_NANOSECOND;
      break;
    case CSF_TIMESTAMP:
      field->timezone = zones[below(b, 4)];
      field->unit = (enum csf_time_unit)below(b, 4);
      break;
    case CSF_DURATION:
      field->unit = (enum csf_time_unit)below(b, 4);
      break;
    case CSF_FIXED_SIZE_BINARY:
      field->width = below(b, 4) == 0 ? 0 : (int32_t)below(b, 40);
      break;
    case CSF_FIXED_SIZE_LIST:
      field->width = (int32_t)below(b, 4);
      break;
    default:
      break;
  }
}

static void set_map(struct builder *b, struct csf_field *field, int32_t depth) {
  struct csf_field *entries = add_children(b, field, 1);
  entries->type = CSF_STRUCT;
  entries->name = b->plain_names ? "entries" : "some_entries";
  entries->nullable = false;
  struct csf_field *pair = add_children(b, entries, 2);
  random_field(b, &pair[0], depth - 1, TEST_TYPE(CSF_NULL));
  random_field(b, &pair[1], depth - 1, 0);
  pair[0].name = b->plain_names ? "key" : "some_key";
  pair[1].name = b->plain_names ? "value" : "some_value";
  pair[0].nullable = false;
  field->keys_sorted = below(b, 4) == 0;
}

static void set_union(struct builder *b, struct csf_field *field, int32_t depth) {
  int32_t n = 1 + (int32_t)below(b, 3);
  int8_t *ids = arena_alloc(b, (size_t)n);
  int64_t id = below(b, 2) ? 0 : below(b, 100);
  struct csf_field *members = add_children(b, field, n);
  for (int32_t c = 0; c < n; c++) {
    random_field(b, &members[c], depth - 1, 0);
    members[c].name = random_name(b, c);
    ids[c] = (int8_t)id;
    id += 1 + below(b, 2) * below(b, 9);
  }
  field->type_ids = ids;
  field->nullable = true; /* a union has no nulls of its own, its members may */
}

static void set_run_end(struct builder *b, struct csf_field *field, int32_t depth) {
  static const enum csf_type ends[] = {CSF_INT16, CSF_INT32, CSF_INT64};
  struct csf_field *children = add_children(b, field, 2);
  children[0].name = "run_ends";
  children[0].type = ends[below(b, 3)];
  children[0].nullable = false;
  random_field(b, &children[1], depth - 1, TEST_TYPE(CSF_RUN_END_ENCODED));
  children[1].name = "values";
  field->nullable = children[1].nullable; /* nulls are in the values */
}

static void set_children(struct builder *b, struct csf_field *field, int32_t depth) {
  int32_t n = 1;
  switch (field->type) {
    case CSF_STRUCT:
      n = (int32_t)below(b, 4); /* none at times */
      break;
    case CSF_MAP:
      set_map(b, field, depth);
      return;
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION:
      set_union(b, field, depth);
      return;
    case CSF_RUN_END_ENCODED:
      set_run_end(b, field, depth);
      return;
    default:
      break;
  }
  add_children(b, field, n);
  for (int32_t c = 0; c < n; c++) {
    random_field(b, &field->children[c], depth - 1, 0);
    field->children[c].name = field->type == CSF_STRUCT ? random_name(b, c) : "item";
  }
}

static bool needs_values(const struct csf_field *field) {
  return field->type != CSF_RUN_END_ENCODED && field->type != CSF_SPARSE_UNION && field->type != CSF_DENSE_UNION;
}

/* Turns field into indices of a dictionary whose values are what field was. */
static void make_dictionary(struct builder *b, struct csf_field *field) {
  struct csf_field *values = arena_alloc(b, sizeof *values);
  *values = *field;
  values->name = "";
  values->metadata = NULL;
  values->n_metadata = 0;
  *field = (struct csf_field){.name = field->name,
                              .nullable = field->nullable,
                              .metadata = field->metadata,
                              .n_metadata = field->n_metadata,
                              .type = CSF_INT8 + (enum csf_type)below(b, 8),
                              .dictionary = values,
                              .dictionary_ordered = below(b, 4) == 0};
  values->nullable = true;
}

static void random_field(struct builder *b, struct csf_field *field, int32_t depth, uint64_t without) {
  uint64_t allowed = b->types & ~without;
  if (depth <= 0) allowed &= TEST_FLAT_TYPES;
  field->nullable = below(b, 4) != 0;
  field->type = random_type(b, allowed);
  if (field->type == CSF_NULL) field->nullable = true;
  set_parameters(b, field);
  if (field->type >= CSF_LIST) set_children(b, field, depth);
  add_metadata(b, field);
  bool can = b->dictionaries && field->type != CSF_NULL && needs_values(field);
  if (can && below(b, 5) == 0) make_dictionary(b, field);
}

struct csf_schema *test_random_schema(struct test_random *random, const struct test_schema_options *options) {
  struct csf_schema *schema = csf_schema_new(&test_heap);
  if (schema == NULL) abort();
  struct builder b = {.random = random,
                      .arena = &schema->arena,
                      .types = options->types == 0 ? TEST_ALL_TYPES : options->types,
                      .dictionaries = !options->no_dictionaries,
                      .plain_names = options->plain_names};
  schema->root.type = CSF_STRUCT;
  schema->root.name = "";
  schema->root.nullable = false;
  int32_t n = options->n_columns > 0 ? options->n_columns : (int32_t)below(&b, 7);
  int32_t depth = options->max_depth == 0 ? 3 : options->max_depth;
  struct csf_field *columns = add_children(&b, &schema->root, n);
  for (int32_t c = 0; c < n; c++) {
    random_field(&b, &columns[c], (int32_t)below(&b, depth > 0 ? depth + 1 : 1), 0);
    columns[c].name = random_name(&b, c);
  }
  add_metadata(&b, &schema->root);
  struct colshuf_error err = {0};
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  return schema;
}
