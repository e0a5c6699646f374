/* SPDX-License-Identifier: Apache-2.0 */
#include "support/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* Values of one field as they are read: one byte of validity a row, packed at the end. */
struct column {
  const struct csf_field *field;
  int64_t n_rows;
  int64_t n_nulls;
  struct csf_buffer valid;
  struct csf_buffer values;
  struct csf_buffer bytes;
  int32_t n_children;
  struct column *children;
};

struct owner {
  struct csf_arena arena;
};

static void fail_at(const char *what, const char *text) {
  test_fail(__FILE__, __LINE__, "%s at \"%.40s\"", what, text);
  test_abandon();
}

static void skip_space(const char **text) {
  while (isspace((unsigned char)**text)) ++*text;
}

static bool accept(const char **text, const char *token) {
  skip_space(text);
  size_t size = strlen(token);
  if (strncmp(*text, token, size) != 0) return false;
  *text += size;
  return true;
}

static void expect(const char **text, const char *token) {
  if (!accept(text, token)) fail_at(token, *text);
}

static void *arena(struct csf_arena *from, size_t size) {
  void *pointer = csf_arena_alloc(from, size);
  REQUIRE(pointer != NULL);
  return pointer;
}

/* --- types --- */

static void parse_type(const char **text, struct csf_arena *from, struct csf_field *field);

static enum csf_type type_named(const char **text) {
  skip_space(text);
  size_t size = strspn(*text, "abcdefghijklmnopqrstuvwxyz_0123456789");
  for (int type = 0; type < CSF_N_TYPES; type++) {
    const char *name = csf_type_name((enum csf_type)type);
    if (strlen(name) == size && strncmp(name, *text, size) == 0) {
      *text += size;
      return (enum csf_type)type;
    }
  }
  fail_at("a type was expected", *text);
  return CSF_NULL;
}

static void parse_children(const char **text, struct csf_arena *from, struct csf_field *field) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  field->children = arena(from, 8 * sizeof *field->children);
  do {
    struct csf_field *child = &field->children[field->n_children];
    parse_type(text, from, child);
    child->name = names[field->n_children++];
  } while (field->n_children < 8 && accept(text, ","));
  expect(text, ">");
}

/* map<k, v> becomes map<entries: struct<k not null, v>>. */
static void wrap_entries(struct csf_arena *from, struct csf_field *map) {
  struct csf_field *entries = arena(from, sizeof *entries);
  *entries = (struct csf_field){.name = "entries", .type = CSF_STRUCT, .n_children = 2, .children = map->children};
  entries->children[0].nullable = false;
  map->children = entries;
  map->n_children = 1;
}

static void parse_parameters(const char **text, struct csf_field *field) {
  if (!accept(text, "(")) return;
  static const char *const units[] = {"s", "ms", "us", "ns"};
  for (int unit = 0; unit < 4; unit++) {
    if (accept(text, units[unit])) field->unit = (enum csf_time_unit)unit;
  }
  char *end;
  int32_t first = (int32_t)strtol(*text, &end, 10);
  *text = end;
  if (accept(text, ",")) {
    field->precision = first;
    field->scale = (int32_t)strtol(*text, &end, 10);
    *text = end;
  } else if (field->type == CSF_FIXED_SIZE_BINARY || field->type == CSF_FIXED_SIZE_LIST) {
    field->width = first;
  }
  expect(text, ")");
}

static void parse_dictionary(const char **text, struct csf_arena *from, struct csf_field *field) {
  expect(text, "<");
  field->type = type_named(text);
  expect(text, ",");
  field->dictionary = arena(from, sizeof *field->dictionary);
  parse_type(text, from, field->dictionary);
  field->dictionary->name = "";
  expect(text, ">");
}

static void parse_type(const char **text, struct csf_arena *from, struct csf_field *field) {
  field->nullable = true;
  if (accept(text, "dictionary")) {
    parse_dictionary(text, from, field);
    return;
  }
  field->type = type_named(text);
  if (accept(text, "<")) parse_children(text, from, field);
  if (field->type == CSF_MAP) wrap_entries(from, field);
  parse_parameters(text, field);
}

static struct csf_schema *parse_schema(const char *types) {
  struct colshuf_error err;
  struct csf_schema *schema = csf_schema_new(&test_heap);
  REQUIRE(schema != NULL);
  struct csf_field *root = &schema->root;
  root->children = arena(&schema->arena, 32 * sizeof *root->children);
  skip_space(&types);
  while (*types != '\0') {
    struct csf_field *field = &root->children[root->n_children];
    parse_type(&types, &schema->arena, field);
    char name[8];
    int size = snprintf(name, sizeof name, "c%d", root->n_children++);
    field->name = csf_arena_string(&schema->arena, name, (size_t)size);
    if (!accept(&types, ",")) skip_space(&types);
  }
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  return schema;
}

/* --- values --- */

static void column_init(struct column *column, const struct csf_field *field, struct csf_arena *from) {
  *column = (struct column){.field = field};
  csf_buffer_init(&column->valid, &test_heap);
  csf_buffer_init(&column->values, &test_heap);
  csf_buffer_init(&column->bytes, &test_heap);
  const struct csf_field *children = field->dictionary != NULL ? field->dictionary : field->children;
  column->n_children = field->dictionary != NULL ? 1 : field->n_children;
  if (column->n_children == 0) return;
  column->children = arena(from, (size_t)column->n_children * sizeof *column->children);
  for (int32_t i = 0; i < column->n_children; i++) column_init(&column->children[i], &children[i], from);
}

static void put(struct csf_buffer *buffer, const void *data, size_t size) {
  struct colshuf_error err;
  REQUIRE_OK(csf_buffer_append(buffer, data, size, &err));
}

static void put_integer(struct column *column, __int128 value, size_t width) {
  uint8_t bytes[32];
  memset(bytes, value < 0 ? 0xff : 0, sizeof bytes);
  memcpy(bytes, &value, sizeof value);
  put(&column->values, bytes, width);
}

static void parse_integer(const char **text, struct column *column) {
  skip_space(text);
  bool negative = accept(text, "-");
  if (!isdigit((unsigned char)**text)) fail_at("a number was expected", *text);
  unsigned __int128 value = 0;
  for (; isdigit((unsigned char)**text); ++*text) value = value * 10 + (unsigned)(**text - '0');
  put_integer(column, (__int128)(negative ? -value : value), (size_t)column->field->width);
}

static void parse_float(const char **text, struct column *column) {
  size_t width = (size_t)column->field->width;
  char *end;
  if (accept(text, "x")) {
    uint64_t bits = strtoull(*text, &end, 16);
    put(&column->values, &bits, width);
  } else {
    double value = strtod(*text, &end);
    float narrow = (float)value;
    REQUIRE(width >= 4);
    put(&column->values, width == 4 ? (void *)&narrow : (void *)&value, width);
  }
  if (end == *text) fail_at("a number was expected", *text);
  *text = end;
}

static uint8_t parse_escape(const char **text) {
  char c = *(*text)++;
  if (c == 'n') return '\n';
  if (c != 'x') return (uint8_t)c;
  char hex[3] = {(*text)[0], (*text)[1], '\0'};
  *text += 2;
  return (uint8_t)strtoul(hex, NULL, 16);
}

static void parse_text(const char **text, struct column *column) {
  expect(text, "'");
  struct csf_buffer *bytes = column->field->layout == CSF_LAYOUT_FIXED ? &column->values : &column->bytes;
  while (**text != '\'') {
    uint8_t c = (uint8_t) * (*text)++;
    if (c == '\0') fail_at("a text does not end", *text - 1);
    if (c == '\\') c = parse_escape(text);
    put(bytes, &c, 1);
  }
  ++*text;
}

/* Members side by side: {a b} with the widths of an interval's parts. */
static void parse_interval(const char **text, struct column *column) {
  bool is_day_time = column->field->type == CSF_INTERVAL_DAY_TIME;
  expect(text, "{");
  for (int i = 0; i < (is_day_time ? 2 : 3); i++) {
    char *end;
    int64_t part = strtoll(*text, &end, 10);
    *text = end;
    put(&column->values, &part, i == 2 ? 8 : 4);
  }
  expect(text, "}");
}

static void parse_value(const char **text, struct column *column);

static void put_offset(struct column *column) {
  const struct column *child = column->n_children > 0 ? &column->children[0] : NULL;
  int64_t end = child != NULL ? child->n_rows : (int64_t)column->bytes.size;
  bool wide = column->field->layout == CSF_LAYOUT_BINARY64 || column->field->layout == CSF_LAYOUT_LIST64;
  if (column->field->layout != CSF_LAYOUT_FIXED_LIST) put(&column->values, &end, wide ? 8 : 4);
}

static void put_view(struct column *column, size_t begin) {
  uint8_t view[16] = {0};
  uint32_t size = (uint32_t)(column->bytes.size - begin);
  csf_store_u32(view, size);
  memcpy(view + 4, column->bytes.data + begin, size < 12 ? size : 12);
  if (size > 12) {
    csf_store_u32(view + 8, 0);
    csf_store_u32(view + 12, (uint32_t)begin);
  }
  put(&column->values, view, sizeof view);
}

static void put_null_value(struct column *column) {
  static const uint8_t zero[64];
  switch (column->field->layout) {
    case CSF_LAYOUT_NULL:
      return;
    case CSF_LAYOUT_BITS:
      put(&column->values, zero, 1);
      return;
    case CSF_LAYOUT_FIXED:
      put(&column->values, zero, (size_t)column->field->width);
      return;
    case CSF_LAYOUT_VIEW:
      put(&column->values, zero, 16);
      return;
    case CSF_LAYOUT_STRUCT:
    case CSF_LAYOUT_FIXED_LIST:
      for (int32_t i = 0; i < column->n_children; i++) {
        int32_t n = column->field->layout == CSF_LAYOUT_STRUCT ? 1 : column->field->width;
        const char *null = "null";
        for (; n > 0; n--, null = "null") parse_value(&null, &column->children[i]);
      }
      return;
    default:
      put_offset(column);
      return;
  }
}

static void parse_nested(const char **text, struct column *column) {
  if (column->field->layout == CSF_LAYOUT_STRUCT) {
    expect(text, "{");
    for (int32_t i = 0; i < column->n_children; i++) parse_value(text, &column->children[i]);
    expect(text, "}");
    return;
  }
  expect(text, "[");
  while (!accept(text, "]")) parse_value(text, &column->children[0]);
  put_offset(column);
}

/* Every row gets a value of its own in the dictionary, unless it repeats the row before. */
static void parse_indexed(const char **text, struct column *column) {
  struct column *values = &column->children[0];
  if (accept(text, "^")) {
    put_integer(column, values->n_rows - 1, (size_t)column->field->width);
    return;
  }
  put_integer(column, values->n_rows, (size_t)column->field->width);
  const char *null = "null";
  parse_value(accept(text, "~") ? &null : text, values);
}

static void parse_valid(const char **text, struct column *column) {
  if (column->field->dictionary != NULL) {
    parse_indexed(text, column);
    return;
  }
  size_t begin = column->bytes.size;
  switch (column->field->type) {
    case CSF_BOOL: {
      uint8_t is_true = accept(text, "true");
      if (!is_true) expect(text, "false");
      put(&column->values, &is_true, 1);
      return;
    }
    case CSF_FLOAT16:
    case CSF_FLOAT32:
    case CSF_FLOAT64:
      parse_float(text, column);
      return;
    case CSF_INTERVAL_DAY_TIME:
    case CSF_INTERVAL_MONTH_DAY_NANO:
      parse_interval(text, column);
      return;
    case CSF_FIXED_SIZE_BINARY:
      parse_text(text, column);
      return;
    default:
      break;
  }
  switch (column->field->layout) {
    case CSF_LAYOUT_FIXED:
      parse_integer(text, column);
      return;
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      parse_text(text, column);
      put_offset(column);
      return;
    case CSF_LAYOUT_VIEW:
      parse_text(text, column);
      put_view(column, begin);
      return;
    default:
      parse_nested(text, column);
      return;
  }
}

static void parse_value(const char **text, struct column *column) {
  enum csf_layout layout = column->field->layout;
  bool has_offsets = layout == CSF_LAYOUT_BINARY32 || layout == CSF_LAYOUT_BINARY64 || layout == CSF_LAYOUT_LIST32 ||
                     layout == CSF_LAYOUT_LIST64;
  if (column->n_rows == 0 && has_offsets) put_offset(column);
  uint8_t valid = !accept(text, "null");
  put(&column->valid, &valid, 1);
  column->n_nulls += !valid;
  if (valid) parse_valid(text, column);
  else put_null_value(column);
  column->n_rows++;
}

/* --- arrays --- */

static void release_nested(struct ArrowArray *array) {
  array->release = NULL;
}

static void release_root(struct ArrowArray *array) {
  struct owner *owner = array->private_data;
  csf_arena_clear(&owner->arena);
  csf_free(&test_heap, owner, sizeof *owner);
  array->release = NULL;
}

static const void *keep(struct csf_arena *owner, struct csf_buffer *buffer) {
  const void *copy = NULL;
  if (buffer->size > 0) copy = memcpy(arena(owner, buffer->size), buffer->data, buffer->size);
  csf_buffer_clear(buffer);
  return copy;
}

static const void *keep_bits(struct csf_arena *owner, struct csf_buffer *buffer) {
  uint8_t *bits = arena(owner, buffer->size / 8 + 1);
  for (size_t i = 0; i < buffer->size; i++) csf_bits_fill(bits, (int64_t)i, 1, buffer->data[i] != 0);
  csf_buffer_clear(buffer);
  return bits;
}

static void export_column(struct csf_arena *owner, struct column *column, struct ArrowArray *out) {
  enum csf_layout layout = column->field->layout;
  const void **buffers = arena(owner, 4 * sizeof *buffers);
  int64_t *sizes = arena(owner, sizeof *sizes);
  *sizes = (int64_t)column->bytes.size;
  *out = (struct ArrowArray){.length = column->n_rows, .buffers = buffers, .release = release_nested};
  out->n_buffers = layout == CSF_LAYOUT_NULL ? 0 : layout == CSF_LAYOUT_STRUCT || layout == CSF_LAYOUT_FIXED_LIST ? 1 : 2;
  if (layout == CSF_LAYOUT_BINARY32 || layout == CSF_LAYOUT_BINARY64) out->n_buffers = 3;
  if (layout == CSF_LAYOUT_VIEW) out->n_buffers = 4;
  out->null_count = column->n_nulls;
  buffers[0] = keep_bits(owner, &column->valid);
  buffers[1] = layout == CSF_LAYOUT_BITS ? keep_bits(owner, &column->values) : keep(owner, &column->values);
  buffers[2] = keep(owner, &column->bytes);
  if (layout == CSF_LAYOUT_VIEW) buffers[3] = sizes;
  if (layout == CSF_LAYOUT_NULL) buffers[0] = NULL;
  if (column->n_children == 0) return;
  struct ArrowArray *children = arena(owner, (size_t)column->n_children * sizeof *children);
  out->children = arena(owner, (size_t)column->n_children * sizeof *out->children);
  for (int32_t i = 0; i < column->n_children; i++) {
    export_column(owner, &column->children[i], &children[i]);
    out->children[i] = &children[i];
  }
  if (column->field->dictionary != NULL) out->dictionary = &children[0];
  else out->n_children = column->n_children;
}

struct test_table test_table(const char *types, const char *rows) {
  struct colshuf_error err;
  struct test_table table = {.schema = parse_schema(types)};
  REQUIRE_OK(csf_field_export(&table.schema->root, &test_heap, &table.c_schema, &err));
  struct owner *owner = csf_alloc_zero(&test_heap, sizeof *owner);
  REQUIRE(owner != NULL);
  csf_arena_init(&owner->arena, &test_heap);
  struct column root;
  column_init(&root, &table.schema->root, &owner->arena);
  skip_space(&rows);
  while (*rows != '\0') {
    uint8_t valid = 1;
    put(&root.valid, &valid, 1);
    for (int32_t i = 0; i < root.n_children; i++) parse_value(&rows, &root.children[i]);
    root.n_rows++;
    if (!accept(&rows, "|")) skip_space(&rows);
  }
  export_column(&owner->arena, &root, &table.batch);
  table.batch.release = release_root;
  table.batch.private_data = owner;
  return table;
}

void test_table_clear(struct test_table *table) {
  table->batch.release(&table->batch);
  table->c_schema.release(&table->c_schema);
  csf_schema_release(table->schema);
}
