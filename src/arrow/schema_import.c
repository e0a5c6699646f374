/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema read from the C Data Interface (formats.md G.2, G.5). The structs may be any producer's: they are checked for what
 * can be checked (the interface carries no sizes), and everything is copied.
 */
#include <inttypes.h>

#include "arrow/schema.h"

struct import {
  struct csf_arena *arena;
  struct csf_schema_bounds bounds;
  uint32_t n_fields;
  struct colshuf_error *err;
};

static enum colshuf_status out_of_memory(struct import *state, size_t size) {
  return csf_fail_memory(state->err, size);
}

static enum colshuf_status bad_format(struct import *state, const char *format) {
  return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "format string \"%.64s\" is malformed", format);
}

struct simple_format {
  char text[4];
  uint8_t type;
  uint8_t unit;
};

static const struct simple_format simple_formats[] = {
    {"n", CSF_NULL, 0},
    {"b", CSF_BOOL, 0},
    {"c", CSF_INT8, 0},
    {"C", CSF_UINT8, 0},
    {"s", CSF_INT16, 0},
    {"S", CSF_UINT16, 0},
    {"i", CSF_INT32, 0},
    {"I", CSF_UINT32, 0},
    {"l", CSF_INT64, 0},
    {"L", CSF_UINT64, 0},
    {"e", CSF_FLOAT16, 0},
    {"f", CSF_FLOAT32, 0},
    {"g", CSF_FLOAT64, 0},
    {"z", CSF_BINARY, 0},
    {"Z", CSF_LARGE_BINARY, 0},
    {"vz", CSF_BINARY_VIEW, 0},
    {"u", CSF_UTF8, 0},
    {"U", CSF_LARGE_UTF8, 0},
    {"vu", CSF_UTF8_VIEW, 0},
    {"tdD", CSF_DATE32, 0},
    {"tdm", CSF_DATE64, 0},
    {"tts", CSF_TIME32, CSF_SECOND},
    {"ttm", CSF_TIME32, CSF_MILLISECOND},
    {"ttu", CSF_TIME64, CSF_MICROSECOND},
    {"ttn", CSF_TIME64, CSF_NANOSECOND},
    {"tDs", CSF_DURATION, CSF_SECOND},
    {"tDm", CSF_DURATION, CSF_MILLISECOND},
    {"tDu", CSF_DURATION, CSF_MICROSECOND},
    {"tDn", CSF_DURATION, CSF_NANOSECOND},
    {"tiM", CSF_INTERVAL_YEAR_MONTH, 0},
    {"tiD", CSF_INTERVAL_DAY_TIME, 0},
    {"tin", CSF_INTERVAL_MONTH_DAY_NANO, 0},
    {"+l", CSF_LIST, 0},
    {"+L", CSF_LARGE_LIST, 0},
    {"+vl", CSF_LIST_VIEW, 0},
    {"+vL", CSF_LARGE_LIST_VIEW, 0},
    {"+s", CSF_STRUCT, 0},
    {"+m", CSF_MAP, 0},
    {"+r", CSF_RUN_END_ENCODED, 0},
};

/* Takes a decimal number from *text: an optional minus, digits, within 32 bits. Nothing else: no space, no plus. */
static bool take_number(const char **text, int32_t *out) {
  const char *at = *text;
  bool negative = *at == '-';
  at += negative;
  if (*at < '0' || *at > '9') return false;
  int64_t value = 0;
  for (; *at >= '0' && *at <= '9'; at++) {
    value = value * 10 + (*at - '0');
    if (value > INT32_MAX) return false;
  }
  *out = (int32_t)(negative ? -value : value);
  *text = at;
  return true;
}

static bool take_char(const char **text, char wanted) {
  if (**text != wanted) return false;
  (*text)++;
  return true;
}

static enum colshuf_status read_decimal(struct import *state, const char *format, struct csf_field *field) {
  const char *at = format + 2;
  int32_t bits = 128;
  bool good = take_number(&at, &field->precision) && take_char(&at, ',') && take_number(&at, &field->scale);
  if (good && *at != '\0') good = take_char(&at, ',') && take_number(&at, &bits) && *at == '\0';
  if (!good) return bad_format(state, format);
  switch (bits) {
    case 32: field->type = CSF_DECIMAL32; return COLSHUF_OK;
    case 64: field->type = CSF_DECIMAL64; return COLSHUF_OK;
    case 128: field->type = CSF_DECIMAL128; return COLSHUF_OK;
    case 256: field->type = CSF_DECIMAL256; return COLSHUF_OK;
    default: return csf_fail(state->err, COLSHUF_UNSUPPORTED, "decimals of %" PRId32 " bits (32, 64, 128 or 256 are known)", bits);
  }
}

static enum colshuf_status read_width(struct import *state, const char *format, const char *at, enum csf_type type,
                                      struct csf_field *field) {
  field->type = type;
  if (!take_number(&at, &field->width) || *at != '\0' || field->width < 0) return bad_format(state, format);
  return COLSHUF_OK;
}

static enum colshuf_status read_timestamp(struct import *state, const char *format, struct csf_field *field) {
  static const char letters[] = "smun"; /* in the order of csf_time_unit */
  const char *letter = strchr(letters, format[2]);
  if (format[2] == '\0' || letter == NULL || format[3] != ':') return bad_format(state, format);
  field->type = CSF_TIMESTAMP;
  field->unit = (enum csf_time_unit)(letter - letters);
  if (format[4] == '\0') return COLSHUF_OK;
  size_t size = strlen(format + 4);
  field->timezone = csf_arena_string(state->arena, format + 4, size);
  return field->timezone == NULL ? out_of_memory(state, size) : COLSHUF_OK;
}

static enum colshuf_status read_union(struct import *state, const char *format, struct csf_field *field) {
  enum { MOST_IDS = 128 };
  field->type = format[2] == 'd' ? CSF_DENSE_UNION : CSF_SPARSE_UNION;
  int8_t ids[MOST_IDS];
  int32_t n = 0;
  const char *at = format + 4;
  while (*at != '\0') {
    int32_t id;
    if (n > 0 && !take_char(&at, ',')) return bad_format(state, format);
    if (!take_number(&at, &id) || id < 0 || id > INT8_MAX || n == MOST_IDS) return bad_format(state, format);
    ids[n++] = (int8_t)id;
  }
  if (n != field->n_children) {
    return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "union has %" PRId32 " children, but %" PRId32 " type ids", field->n_children,
                    n);
  }
  field->type_ids = (const int8_t *)csf_arena_string(state->arena, (const char *)ids, (size_t)n);
  return field->type_ids == NULL ? out_of_memory(state, MOST_IDS) : COLSHUF_OK;
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* Sets the type and its parameters. n_children is known already. */
static enum colshuf_status read_format(struct import *state, const char *format, struct csf_field *field) {
  for (size_t i = 0; i < sizeof simple_formats / sizeof simple_formats[0]; i++) {
    if (strcmp(format, simple_formats[i].text) != 0) continue;
    field->type = (enum csf_type)simple_formats[i].type;
    field->unit = (enum csf_time_unit)simple_formats[i].unit;
    return COLSHUF_OK;
  }
  if (starts_with(format, "d:")) return read_decimal(state, format, field);
  if (starts_with(format, "w:")) return read_width(state, format, format + 2, CSF_FIXED_SIZE_BINARY, field);
  if (starts_with(format, "+w:")) return read_width(state, format, format + 3, CSF_FIXED_SIZE_LIST, field);
  if (starts_with(format, "ts")) return read_timestamp(state, format, field);
  if (starts_with(format, "+ud:") || starts_with(format, "+us:")) return read_union(state, format, field);
  return csf_fail(state->err, COLSHUF_UNSUPPORTED, "format string \"%.64s\" is not known", format);
}

/* Takes one length-prefixed text. The producer alone knows where the metadata ends; negative lengths and the total are guarded. */
static bool take_text(const char **at, size_t *left, struct csf_span *out) {
  if (*left < 4) return false;
  int32_t size = csf_load_i32(*at);
  if (size < 0 || (size_t)size > *left - 4) return false;
  *out = (struct csf_span){(const uint8_t *)*at + 4, (size_t)size};
  *at += 4 + (size_t)size;
  *left -= 4 + (size_t)size;
  return true;
}

/* The number of pairs is believed only after a walk over all of them: nothing is allocated from an announced count. */
static enum colshuf_status walk_metadata(struct import *state, const char *metadata, int32_t n) {
  const char *at = metadata + 4;
  size_t left = state->bounds.max_metadata_size;
  struct csf_span text;
  for (int32_t i = 0; i < 2 * (int64_t)n; i++) {
    if (take_text(&at, &left, &text)) continue;
    if (left >= 4 && csf_load_i32(at) < 0) {
      return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "metadata pair %d of %" PRId32 " has length %" PRId32, i / 2, n,
                      csf_load_i32(at));
    }
    return csf_fail(state->err, COLSHUF_LIMIT, "metadata takes more than %" PRIu32 " bytes (limits.max_metadata_size)",
                    state->bounds.max_metadata_size);
  }
  return COLSHUF_OK;
}

static enum colshuf_status copy_text(struct import *state, struct csf_span source, struct csf_span *out) {
  out->size = source.size;
  out->data = (const uint8_t *)csf_arena_string(state->arena, (const char *)source.data, source.size);
  return out->data == NULL ? out_of_memory(state, source.size) : COLSHUF_OK;
}

static enum colshuf_status read_metadata(struct import *state, const char *metadata, struct csf_field *field) {
  if (metadata == NULL) return COLSHUF_OK;
  int32_t n = csf_load_i32(metadata);
  if (n < 0) return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "metadata announces %" PRId32 " pairs", n);
  if (n == 0) return COLSHUF_OK;
  if ((uint32_t)n > state->bounds.max_metadata_size / 8) n = (int32_t)(state->bounds.max_metadata_size / 8) + 1;
  CSF_TRY(walk_metadata(state, metadata, n));
  struct csf_key_value *pairs = csf_arena_alloc(state->arena, (size_t)n * sizeof *pairs);
  if (pairs == NULL) return out_of_memory(state, (size_t)n * sizeof *pairs);
  const char *at = metadata + 4;
  size_t left = SIZE_MAX;
  for (int32_t i = 0; i < n; i++) {
    struct csf_span key, value;
    if (!take_text(&at, &left, &key) || !take_text(&at, &left, &value)) break;
    CSF_TRY(copy_text(state, key, &pairs[i].key));
    CSF_TRY(copy_text(state, value, &pairs[i].value));
  }
  field->metadata = pairs;
  field->n_metadata = n;
  return COLSHUF_OK;
}

static enum colshuf_status read_field(struct import *state, const struct ArrowSchema *source, uint32_t depth,
                                      struct csf_field *field);

static enum colshuf_status check_struct(struct import *state, const struct ArrowSchema *source) {
  if (source == NULL) return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "schema struct is NULL");
  if (source->release == NULL) return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "schema struct has been released");
  if (source->format == NULL) return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "schema struct has no format string");
  if (source->n_children < 0 || (source->n_children > 0 && source->children == NULL)) {
    return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "schema struct announces %" PRId64 " children, but has %s",
                    source->n_children, source->children == NULL ? "no table of them" : "a table");
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_children(struct import *state, const struct ArrowSchema *source, uint32_t depth,
                                         struct csf_field *field) {
  /* The announced count is bounded by what may still come before it sizes anything. */
  if ((uint64_t)source->n_children > state->bounds.max_fields - state->n_fields) {
    return csf_fail(state->err, COLSHUF_LIMIT, "the schema has more than %" PRIu32 " fields (limits.max_fields): %" PRId64
                    " children here", state->bounds.max_fields, source->n_children);
  }
  field->n_children = (int32_t)source->n_children;
  if (field->n_children == 0) return COLSHUF_OK;
  if (depth > state->bounds.max_depth) return csf_fail_depth(state->err, state->bounds.max_depth);
  size_t size = (size_t)field->n_children * sizeof *field->children;
  field->children = csf_arena_alloc(state->arena, size);
  if (field->children == NULL) return out_of_memory(state, size);
  for (int32_t i = 0; i < field->n_children; i++) {
    CSF_TRY(read_field(state, source->children[i], depth + 1, &field->children[i]));
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_dictionary(struct import *state, const struct ArrowSchema *source, uint32_t depth,
                                           struct csf_field *field) {
  if (source->dictionary == NULL) return COLSHUF_OK;
  if (depth > state->bounds.max_depth) return csf_fail_depth(state->err, state->bounds.max_depth);
  field->dictionary_ordered = (source->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  field->dictionary = csf_arena_alloc(state->arena, sizeof *field->dictionary);
  if (field->dictionary == NULL) return out_of_memory(state, sizeof *field->dictionary);
  return read_field(state, source->dictionary, depth + 1, field->dictionary);
}

static enum colshuf_status read_parts(struct import *state, const struct ArrowSchema *source, uint32_t depth,
                                      struct csf_field *field) {
  CSF_TRY(read_metadata(state, source->metadata, field));
  CSF_TRY(read_children(state, source, depth, field));
  CSF_TRY(read_format(state, source->format, field));
  return read_dictionary(state, source, depth, field);
}

/* depth counts the fields on the way down: a column has 1, and may have depth <= max_depth + 1. */
static enum colshuf_status read_field(struct import *state, const struct ArrowSchema *source, uint32_t depth,
                                      struct csf_field *field) {
  CSF_TRY(check_struct(state, source));
  if (state->n_fields >= state->bounds.max_fields) {
    return csf_fail(state->err, COLSHUF_LIMIT, "the schema has more than %" PRIu32 " fields (limits.max_fields)",
                    state->bounds.max_fields);
  }
  state->n_fields++;
  const char *name = source->name == NULL ? "" : source->name;
  field->name = csf_arena_string(state->arena, name, strlen(name));
  if (field->name == NULL) return out_of_memory(state, strlen(name));
  field->nullable = (source->flags & ARROW_FLAG_NULLABLE) != 0;
  field->keys_sorted = (source->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0;
  enum colshuf_status status = read_parts(state, source, depth, field);
  if (field->type != CSF_MAP) field->keys_sorted = false;
  if (status == COLSHUF_OK || status == COLSHUF_LIMIT || depth > 8) return status;
  return csf_fail_context(state->err, status, "field \"%.64s\"", name);
}

static enum colshuf_status read_root(struct import *state, const struct ArrowSchema *source, struct csf_field *root) {
  CSF_TRY(check_struct(state, source));
  if (strcmp(source->format, "+s") != 0 || source->dictionary != NULL) {
    return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "a schema of columns is a struct (\"+s\"), not %s\"%.64s\"",
                    source->dictionary == NULL ? "" : "a dictionary of ", source->format);
  }
  CSF_TRY(read_metadata(state, source->metadata, root));
  return read_children(state, source, 0, root);
}

static enum colshuf_status read_column(struct import *state, const struct ArrowSchema *source, struct csf_field *root) {
  root->n_children = 1;
  root->children = csf_arena_alloc(state->arena, sizeof *root->children);
  if (root->children == NULL) return out_of_memory(state, sizeof *root->children);
  return read_field(state, source, 1, root->children);
}

typedef enum colshuf_status read_fn(struct import *state, const struct ArrowSchema *source, struct csf_field *root);

static enum colshuf_status import_by(read_fn *read, const struct ArrowSchema *source, const struct colshuf_allocator *allocator,
                                     const struct colshuf_limits *limits, struct csf_schema **out, struct colshuf_error *err) {
  struct csf_schema *schema = csf_schema_new(allocator);
  if (schema == NULL) return csf_fail_memory(err, sizeof *schema);
  struct import state = {.arena = &schema->arena, .bounds = csf_schema_bounds(limits), .err = err};
  enum colshuf_status status = read(&state, source, &schema->root);
  if (status == COLSHUF_OK) status = csf_schema_finish(schema, limits, err);
  if (status == COLSHUF_OK) *out = schema;
  else csf_schema_release(schema);
  return status;
}

enum colshuf_status csf_schema_import(const struct ArrowSchema *source, const struct colshuf_allocator *allocator,
                                      const struct colshuf_limits *limits, struct csf_schema **out, struct colshuf_error *err) {
  return import_by(read_root, source, allocator, limits, out, err);
}

enum colshuf_status csf_schema_import_column(const struct ArrowSchema *source, const struct colshuf_allocator *allocator,
                                             const struct colshuf_limits *limits, struct csf_schema **out,
                                             struct colshuf_error *err) {
  return import_by(read_column, source, allocator, limits, out, err);
}
