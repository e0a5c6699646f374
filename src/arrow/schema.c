/* SPDX-License-Identifier: Apache-2.0 */
/* Life and rules of a schema: the table of types, reference counting, and what csf_schema_finish demands of every tree. */
#include "arrow/schema.h"

#include <inttypes.h>
#include <stdio.h>

#include "arrow/array.h"

struct type_facts {
  const char *name;
  enum csf_layout layout;
  int8_t width;
};

static const struct type_facts type_table[CSF_N_TYPES] = {
    [CSF_NULL] = {"null", CSF_LAYOUT_NULL, 0},
    [CSF_BOOL] = {"bool", CSF_LAYOUT_BITS, 0},
    [CSF_INT8] = {"int8", CSF_LAYOUT_FIXED, 1},
    [CSF_INT16] = {"int16", CSF_LAYOUT_FIXED, 2},
    [CSF_INT32] = {"int32", CSF_LAYOUT_FIXED, 4},
    [CSF_INT64] = {"int64", CSF_LAYOUT_FIXED, 8},
    [CSF_UINT8] = {"uint8", CSF_LAYOUT_FIXED, 1},
    [CSF_UINT16] = {"uint16", CSF_LAYOUT_FIXED, 2},
    [CSF_UINT32] = {"uint32", CSF_LAYOUT_FIXED, 4},
    [CSF_UINT64] = {"uint64", CSF_LAYOUT_FIXED, 8},
    [CSF_FLOAT16] = {"float16", CSF_LAYOUT_FIXED, 2},
    [CSF_FLOAT32] = {"float32", CSF_LAYOUT_FIXED, 4},
    [CSF_FLOAT64] = {"float64", CSF_LAYOUT_FIXED, 8},
    [CSF_DECIMAL32] = {"decimal32", CSF_LAYOUT_FIXED, 4},
    [CSF_DECIMAL64] = {"decimal64", CSF_LAYOUT_FIXED, 8},
    [CSF_DECIMAL128] = {"decimal128", CSF_LAYOUT_FIXED, 16},
    [CSF_DECIMAL256] = {"decimal256", CSF_LAYOUT_FIXED, 32},
    [CSF_DATE32] = {"date32", CSF_LAYOUT_FIXED, 4},
    [CSF_DATE64] = {"date64", CSF_LAYOUT_FIXED, 8},
    [CSF_TIME32] = {"time32", CSF_LAYOUT_FIXED, 4},
    [CSF_TIME64] = {"time64", CSF_LAYOUT_FIXED, 8},
    [CSF_TIMESTAMP] = {"timestamp", CSF_LAYOUT_FIXED, 8},
    [CSF_DURATION] = {"duration", CSF_LAYOUT_FIXED, 8},
    [CSF_INTERVAL_YEAR_MONTH] = {"interval_year_month", CSF_LAYOUT_FIXED, 4},
    [CSF_INTERVAL_DAY_TIME] = {"interval_day_time", CSF_LAYOUT_FIXED, 8},
    [CSF_INTERVAL_MONTH_DAY_NANO] = {"interval_month_day_nano", CSF_LAYOUT_FIXED, 16},
    [CSF_FIXED_SIZE_BINARY] = {"fixed_size_binary", CSF_LAYOUT_FIXED, 0},
    [CSF_BINARY] = {"binary", CSF_LAYOUT_BINARY32, 0},
    [CSF_UTF8] = {"utf8", CSF_LAYOUT_BINARY32, 0},
    [CSF_LARGE_BINARY] = {"large_binary", CSF_LAYOUT_BINARY64, 0},
    [CSF_LARGE_UTF8] = {"large_utf8", CSF_LAYOUT_BINARY64, 0},
    [CSF_BINARY_VIEW] = {"binary_view", CSF_LAYOUT_VIEW, 0},
    [CSF_UTF8_VIEW] = {"utf8_view", CSF_LAYOUT_VIEW, 0},
    [CSF_LIST] = {"list", CSF_LAYOUT_LIST32, 0},
    [CSF_LARGE_LIST] = {"large_list", CSF_LAYOUT_LIST64, 0},
    [CSF_LIST_VIEW] = {"list_view", CSF_LAYOUT_LIST_VIEW32, 0},
    [CSF_LARGE_LIST_VIEW] = {"large_list_view", CSF_LAYOUT_LIST_VIEW64, 0},
    [CSF_FIXED_SIZE_LIST] = {"fixed_size_list", CSF_LAYOUT_FIXED_LIST, 0},
    [CSF_STRUCT] = {"struct", CSF_LAYOUT_STRUCT, 0},
    [CSF_MAP] = {"map", CSF_LAYOUT_LIST32, 0},
    [CSF_SPARSE_UNION] = {"sparse_union", CSF_LAYOUT_SPARSE_UNION, 0},
    [CSF_DENSE_UNION] = {"dense_union", CSF_LAYOUT_DENSE_UNION, 0},
    [CSF_RUN_END_ENCODED] = {"run_end_encoded", CSF_LAYOUT_RUN_END, 0},
};

enum csf_layout csf_type_layout(enum csf_type type) {
  return type_table[type].layout;
}

int32_t csf_type_width(enum csf_type type) {
  return type_table[type].width;
}

const char *csf_type_name(enum csf_type type) {
  return type_table[type].name;
}

struct csf_schema *csf_schema_new(const struct colshuf_allocator *wanted) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_schema *schema = csf_alloc_zero(&allocator, sizeof *schema);
  if (schema == NULL) return NULL;
  csf_arena_init(&schema->arena, &allocator);
  atomic_init(&schema->references, 1);
  schema->root.name = "";
  schema->root.type = CSF_STRUCT;
  return schema;
}

struct csf_schema *csf_schema_retain(struct csf_schema *schema) {
  atomic_fetch_add_explicit(&schema->references, 1, memory_order_relaxed);
  return schema;
}

void csf_schema_release(struct csf_schema *schema) {
  if (schema == NULL) return;
  if (atomic_fetch_sub_explicit(&schema->references, 1, memory_order_acq_rel) != 1) return;
  struct colshuf_allocator allocator = schema->arena.allocator;
  csf_arena_clear(&schema->arena);
  csf_free(&allocator, schema, sizeof *schema);
}

struct csf_schema_bounds csf_schema_bounds(const struct colshuf_limits *limits) {
  struct csf_schema_bounds bounds = {.max_depth = 64, .max_fields = 100000, .max_metadata_size = 1u << 28};
  if (limits == NULL) return bounds;
  if (limits->max_depth != 0) bounds.max_depth = limits->max_depth;
  if (bounds.max_depth > CSF_DEPTH_CEILING) bounds.max_depth = CSF_DEPTH_CEILING;
  if (limits->max_fields != 0) bounds.max_fields = limits->max_fields;
  if (bounds.max_fields > INT32_MAX) bounds.max_fields = INT32_MAX;
  if (limits->max_metadata_size != 0) bounds.max_metadata_size = limits->max_metadata_size;
  return bounds;
}

enum colshuf_status csf_fail_depth(struct colshuf_error *err, uint32_t max_depth) {
  return csf_fail(err, COLSHUF_LIMIT, "types are nested more than %" PRIu32 " deep (limits.max_depth)", max_depth);
}

struct finishing {
  struct csf_schema *schema;
  struct csf_schema_bounds bounds;
  struct colshuf_error *err;
};

static bool is_integer(enum csf_type type) {
  return type >= CSF_INT8 && type <= CSF_UINT64;
}

static enum colshuf_status expect_children(const struct csf_field *field, int32_t wanted, struct colshuf_error *err) {
  if (field->n_children == wanted) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s has %" PRId32 " children, must have %" PRId32, csf_type_name(field->type),
                  field->n_children, wanted);
}

static enum colshuf_status check_map(const struct csf_field *field, struct colshuf_error *err) {
  const struct csf_field *entries = field->children;
  if (entries->type == CSF_STRUCT && entries->dictionary == NULL && entries->n_children == 2) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "map entries are %s with %" PRId32 " children, must be a struct of 2",
                  csf_type_name(entries->type), entries->n_children);
}

static enum colshuf_status check_run_ends(const struct csf_field *field, struct colshuf_error *err) {
  const struct csf_field *ends = field->children;
  bool fits = ends->type == CSF_INT16 || ends->type == CSF_INT32 || ends->type == CSF_INT64;
  if (fits && ends->dictionary == NULL) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "run ends are %s%s, must be int16, int32 or int64",
                  ends->dictionary == NULL ? "" : "dictionary of ", csf_type_name(ends->type));
}

static enum colshuf_status check_union(const struct csf_field *field, struct colshuf_error *err) {
  if (field->n_children > 128) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "union has %" PRId32 " children, at most 128", field->n_children);
  }
  if (field->n_children > 0 && field->type_ids == NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "union of %" PRId32 " children has no type ids", field->n_children);
  }
  bool taken[128] = {false};
  for (int32_t i = 0; i < field->n_children; i++) {
    int8_t id = field->type_ids[i];
    if (id < 0) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "union child %" PRId32 " has type id %d, must be 0 to 127", i, id);
    if (taken[id]) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "union child %" PRId32 " repeats type id %d", i, id);
    taken[id] = true;
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_decimal(const struct csf_field *field, struct colshuf_error *err) {
  static const int32_t most[] = {9, 18, 38, 76};
  int32_t limit = most[field->type - CSF_DECIMAL32];
  if (field->precision < 1 || field->precision > limit) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s has precision %" PRId32 ", must be 1 to %" PRId32,
                    csf_type_name(field->type), field->precision, limit);
  }
  if (field->scale < INT8_MIN || field->scale > INT8_MAX) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s has scale %" PRId32 ", must be -128 to 127", csf_type_name(field->type),
                    field->scale);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_unit(const struct csf_field *field, struct colshuf_error *err) {
  bool fits = field->unit >= CSF_SECOND && field->unit <= CSF_NANOSECOND;
  if (field->type == CSF_TIME32) fits = field->unit == CSF_SECOND || field->unit == CSF_MILLISECOND;
  if (field->type == CSF_TIME64) fits = field->unit == CSF_MICROSECOND || field->unit == CSF_NANOSECOND;
  if (fits) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s cannot have time unit %d", csf_type_name(field->type), (int)field->unit);
}

static enum colshuf_status check_width(const struct csf_field *field, struct colshuf_error *err) {
  if (field->width >= 0) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s has size %" PRId32 ", must not be negative", csf_type_name(field->type),
                  field->width);
}

/* What the type itself demands; children have not been looked at yet, but stand there. */
static enum colshuf_status check_type(const struct csf_field *field, struct colshuf_error *err) {
  switch (field->type) {
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256:
      CSF_TRY(check_decimal(field, err));
      break;
    case CSF_TIME32:
    case CSF_TIME64:
    case CSF_TIMESTAMP:
    case CSF_DURATION:
      CSF_TRY(check_unit(field, err));
      break;
    case CSF_FIXED_SIZE_BINARY:
      CSF_TRY(check_width(field, err));
      break;
    case CSF_LIST:
    case CSF_LARGE_LIST:
    case CSF_LIST_VIEW:
    case CSF_LARGE_LIST_VIEW:
      return expect_children(field, 1, err);
    case CSF_FIXED_SIZE_LIST:
      CSF_TRY(expect_children(field, 1, err));
      return check_width(field, err);
    case CSF_MAP:
      CSF_TRY(expect_children(field, 1, err));
      return check_map(field, err);
    case CSF_RUN_END_ENCODED:
      CSF_TRY(expect_children(field, 2, err));
      return check_run_ends(field, err);
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION:
      return check_union(field, err);
    case CSF_STRUCT:
      return COLSHUF_OK;
    default:
      break;
  }
  return expect_children(field, 0, err);
}

static enum colshuf_status check_text(const char *what, const char *text, struct colshuf_error *err) {
  if (text == NULL || csf_utf8_valid((const uint8_t *)text, strlen(text))) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s is not UTF-8", what);
}

static enum colshuf_status check_dictionary(const struct csf_field *field, struct colshuf_error *err) {
  if (field->dictionary == NULL) return COLSHUF_OK;
  if (!is_integer(field->type)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "dictionary indices are %s, must be an integer type",
                    csf_type_name(field->type));
  }
  if (field->dictionary->dictionary != NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the values of a dictionary are themselves dictionary-encoded");
  }
  return COLSHUF_OK;
}

/* The facts that follow from the type. */
static void derive(struct csf_field *field) {
  if (field->name == NULL) field->name = "";
  field->layout = csf_type_layout(field->type);
  bool own_width = field->type == CSF_FIXED_SIZE_BINARY || field->type == CSF_FIXED_SIZE_LIST;
  if (!own_width) field->width = csf_type_width(field->type);
  if (field->timezone != NULL && field->timezone[0] == '\0') field->timezone = NULL;
  if (field->dictionary == NULL) return;
  /* Nulls may stand among the values whatever a producer says about them, and the wire has no place for these two facts. */
  field->dictionary->nullable = true;
  field->dictionary->name = "";
}

static enum colshuf_status count_field(struct finishing *state, const struct csf_field *field) {
  struct csf_schema *schema = state->schema;
  if ((uint32_t)schema->n_fields >= state->bounds.max_fields) {
    return csf_fail(state->err, COLSHUF_LIMIT, "the schema has more than %" PRIu32 " fields (limits.max_fields)",
                    state->bounds.max_fields);
  }
  schema->n_fields++;
  schema->has_dictionary |= field->dictionary != NULL;
  schema->has_view |= field->type == CSF_BINARY_VIEW || field->type == CSF_UTF8_VIEW;
  return COLSHUF_OK;
}

static enum colshuf_status finish_field(struct finishing *state, struct csf_field *field, uint32_t depth);

static enum colshuf_status finish_children(struct finishing *state, struct csf_field *field, uint32_t depth) {
  if (field->n_children < 0 || (field->n_children > 0 && field->children == NULL)) {
    return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " children announced, none there", field->n_children);
  }
  CSF_TRY(check_type(field, state->err));
  CSF_TRY(check_dictionary(field, state->err));
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(finish_field(state, &field->children[i], depth));
  return field->dictionary == NULL ? COLSHUF_OK : finish_field(state, field->dictionary, depth);
}

/* depth counts the fields on the way from the root: a column has 1. */
static enum colshuf_status finish_field(struct finishing *state, struct csf_field *field, uint32_t depth) {
  if (depth > state->bounds.max_depth + 1) return csf_fail_depth(state->err, state->bounds.max_depth);
  if ((int32_t)depth > state->schema->depth) state->schema->depth = (int32_t)depth;
  if ((unsigned)field->type >= CSF_N_TYPES) {
    return csf_fail(state->err, COLSHUF_INVALID_ARGUMENT, "type number %d is not one of %d", (int)field->type, CSF_N_TYPES);
  }
  CSF_TRY(count_field(state, field));
  derive(field);
  enum colshuf_status status = check_text("name", field->name, state->err);
  if (status == COLSHUF_OK) status = check_text("timezone", field->timezone, state->err);
  if (status == COLSHUF_OK) status = finish_children(state, field, depth + 1);
  if (status != COLSHUF_OK && depth <= 8 && status != COLSHUF_LIMIT) {
    return csf_fail_context(state->err, status, "field \"%.64s\"", field->name);
  }
  return status;
}

enum colshuf_status csf_schema_finish(struct csf_schema *schema, const struct colshuf_limits *limits,
                                      struct colshuf_error *err) {
  struct finishing state = {schema, csf_schema_bounds(limits), err};
  schema->n_fields = 0;
  schema->depth = 0;
  schema->has_dictionary = false;
  schema->has_view = false;
  struct csf_field *root = &schema->root;
  if (root->type != CSF_STRUCT || root->dictionary != NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a schema's root is a struct");
  }
  root->nullable = false;
  derive(root);
  return finish_children(&state, root, 1);
}

/* Room for a few names in an error message. */
struct name_list {
  char text[512];
  size_t used;
};

static void list_name(struct name_list *list, const char *name) {
  int n = snprintf(list->text + list->used, sizeof list->text - list->used, "%s\"%.48s\"", list->used == 0 ? "" : ", ", name);
  if (n > 0 && (size_t)n < sizeof list->text - list->used) list->used += (size_t)n;
  else list->text[list->used] = '\0';
}

static enum colshuf_status fail_unknown_column(const struct csf_schema *schema, const char *name, struct colshuf_error *err) {
  struct name_list names = {.used = 0, .text = ""};
  for (int32_t i = 0; i < schema->root.n_children; i++) list_name(&names, schema->root.children[i].name);
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "no column \"%.64s\" among %" PRId32 ": %s", name, schema->root.n_children,
                  names.text);
}

enum colshuf_status csf_schema_find(const struct csf_schema *schema, const char *name, int32_t *out, struct colshuf_error *err) {
  int32_t found = -1;
  for (int32_t i = 0; i < schema->root.n_children; i++) {
    if (strcmp(schema->root.children[i].name, name) != 0) continue;
    if (found >= 0) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "column \"%.64s\" is ambiguous: number %" PRId32 " and number %" PRId32,
                      name, found, i);
    }
    found = i;
  }
  if (found < 0) return fail_unknown_column(schema, name, err);
  *out = found;
  return COLSHUF_OK;
}
