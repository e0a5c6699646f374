/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field tree written into the C Data Interface. All structs of one export live in one arena; each of them holds a reference, so
 * that a child that a consumer has moved out lives on after its parent's release.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arrow/schema.h"

struct export {
  struct csf_arena arena;
  atomic_int references;
};

static void unreference(struct export *owner) {
  if (atomic_fetch_sub_explicit(&owner->references, 1, memory_order_acq_rel) != 1) return;
  struct csf_arena arena = owner->arena; /* the owner lies in its own arena */
  csf_arena_clear(&arena);
}

static void release_schema(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    struct ArrowSchema *child = schema->children[i];
    if (child->release != NULL) child->release(child);
  }
  if (schema->dictionary != NULL && schema->dictionary->release != NULL) schema->dictionary->release(schema->dictionary);
  schema->release = NULL;
  unreference(schema->private_data);
}

enum { FORMAT_SIZE = 4 + 4 * 128 + 1 };

static void format_union(const struct csf_field *field, char *out) {
  int used = snprintf(out, FORMAT_SIZE, "+u%c:", field->type == CSF_DENSE_UNION ? 'd' : 's');
  for (int32_t i = 0; i < field->n_children; i++) {
    used += snprintf(out + used, (size_t)(FORMAT_SIZE - used), "%s%d", i == 0 ? "" : ",", field->type_ids[i]);
  }
}

static void format_decimal(const struct csf_field *field, char *out) {
  if (field->type == CSF_DECIMAL128) {
    snprintf(out, FORMAT_SIZE, "d:%" PRId32 ",%" PRId32, field->precision, field->scale);
  } else {
    snprintf(out, FORMAT_SIZE, "d:%" PRId32 ",%" PRId32 ",%" PRId32, field->precision, field->scale,
             8 * csf_type_width(field->type));
  }
}

/* The format strings without parameters; a '?' stands for the unit's letter. */
static const char *const plain_formats[CSF_N_TYPES] = {
    [CSF_NULL] = "n",           [CSF_BOOL] = "b",          [CSF_INT8] = "c",
    [CSF_INT16] = "s",          [CSF_INT32] = "i",         [CSF_INT64] = "l",
    [CSF_UINT8] = "C",          [CSF_UINT16] = "S",        [CSF_UINT32] = "I",
    [CSF_UINT64] = "L",         [CSF_FLOAT16] = "e",       [CSF_FLOAT32] = "f",
    [CSF_FLOAT64] = "g",        [CSF_DATE32] = "tdD",      [CSF_DATE64] = "tdm",
    [CSF_TIME32] = "tt?",       [CSF_TIME64] = "tt?",      [CSF_DURATION] = "tD?",
    [CSF_BINARY] = "z",         [CSF_UTF8] = "u",          [CSF_LARGE_BINARY] = "Z",
    [CSF_LARGE_UTF8] = "U",     [CSF_BINARY_VIEW] = "vz",  [CSF_UTF8_VIEW] = "vu",
    [CSF_LIST] = "+l",          [CSF_LARGE_LIST] = "+L",   [CSF_LIST_VIEW] = "+vl",
    [CSF_LARGE_LIST_VIEW] = "+vL", [CSF_STRUCT] = "+s",    [CSF_MAP] = "+m",
    [CSF_RUN_END_ENCODED] = "+r", [CSF_INTERVAL_YEAR_MONTH] = "tiM", [CSF_INTERVAL_DAY_TIME] = "tiD",
    [CSF_INTERVAL_MONTH_DAY_NANO] = "tin",
};
static const char unit_letters[] = "smun";

/* Everything but the timezone, which has no bound. */
static void format_type(const struct csf_field *field, char *out) {
  switch (field->type) {
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256:
      format_decimal(field, out);
      return;
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION:
      format_union(field, out);
      return;
    case CSF_FIXED_SIZE_BINARY:
      snprintf(out, FORMAT_SIZE, "w:%" PRId32, field->width);
      return;
    case CSF_FIXED_SIZE_LIST:
      snprintf(out, FORMAT_SIZE, "+w:%" PRId32, field->width);
      return;
    case CSF_TIMESTAMP:
      snprintf(out, FORMAT_SIZE, "ts%c:", unit_letters[field->unit]);
      return;
    default:
      break;
  }
  strcpy(out, plain_formats[field->type]);
  char *unit = strchr(out, '?');
  if (unit != NULL) *unit = unit_letters[field->unit];
}

static const char *export_format(struct csf_arena *arena, const struct csf_field *field) {
  char format[FORMAT_SIZE];
  format_type(field, format);
  size_t size = strlen(format), zone_size = 0;
  if (field->type == CSF_TIMESTAMP && field->timezone != NULL) zone_size = strlen(field->timezone);
  char *out = csf_arena_alloc(arena, size + zone_size + 1);
  if (out == NULL) return NULL;
  memcpy(out, format, size);
  if (zone_size > 0) memcpy(out + size, field->timezone, zone_size);
  return out;
}

static char *put_text(char *at, struct csf_span text) {
  csf_store_i32(at, (int32_t)text.size);
  if (text.size > 0) memcpy(at + 4, text.data, text.size);
  return at + 4 + text.size;
}

static const char *export_metadata(struct csf_arena *arena, const struct csf_field *field) {
  size_t size = 4;
  for (int32_t i = 0; i < field->n_metadata; i++) size += 8 + field->metadata[i].key.size + field->metadata[i].value.size;
  char *out = csf_arena_alloc(arena, size);
  if (out == NULL) return NULL;
  csf_store_i32(out, field->n_metadata);
  char *at = out + 4;
  for (int32_t i = 0; i < field->n_metadata; i++) {
    at = put_text(at, field->metadata[i].key);
    at = put_text(at, field->metadata[i].value);
  }
  return out;
}

static bool export_field(struct export *owner, const struct csf_field *field, struct ArrowSchema *out);

/* The table of children and the structs it points to, in one piece. */
static bool export_children(struct export *owner, const struct csf_field *field, struct ArrowSchema *out) {
  size_t n = (size_t)field->n_children;
  if (n == 0) return true;
  struct ArrowSchema *children = csf_arena_alloc(&owner->arena, n * sizeof *children);
  out->children = csf_arena_alloc(&owner->arena, n * sizeof *out->children);
  if (children == NULL || out->children == NULL) return false;
  for (size_t i = 0; i < n; i++) {
    out->children[i] = &children[i];
    if (!export_field(owner, &field->children[i], &children[i])) return false;
  }
  out->n_children = (int64_t)n;
  return true;
}

static int64_t export_flags(const struct csf_field *field) {
  int64_t flags = field->nullable ? ARROW_FLAG_NULLABLE : 0;
  if (field->dictionary != NULL && field->dictionary_ordered) flags |= ARROW_FLAG_DICTIONARY_ORDERED;
  if (field->type == CSF_MAP && field->keys_sorted) flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  return flags;
}

/* On failure the whole arena goes; nothing needs to be taken back one by one. */
static bool export_field(struct export *owner, const struct csf_field *field, struct ArrowSchema *out) {
  *out = (struct ArrowSchema){.flags = export_flags(field), .release = release_schema, .private_data = owner};
  atomic_fetch_add_explicit(&owner->references, 1, memory_order_relaxed);
  out->format = export_format(&owner->arena, field);
  out->name = csf_arena_string(&owner->arena, field->name, strlen(field->name));
  if (out->format == NULL || out->name == NULL) return false;
  if (field->n_metadata > 0) {
    out->metadata = export_metadata(&owner->arena, field);
    if (out->metadata == NULL) return false;
  }
  if (!export_children(owner, field, out)) return false;
  if (field->dictionary == NULL) return true;
  out->dictionary = csf_arena_alloc(&owner->arena, sizeof *out->dictionary);
  return out->dictionary != NULL && export_field(owner, field->dictionary, out->dictionary);
}

enum colshuf_status csf_field_export(const struct csf_field *field, const struct colshuf_allocator *allocator,
                                     struct ArrowSchema *out, struct colshuf_error *err) {
  struct csf_arena arena;
  csf_arena_init(&arena, allocator);
  struct export *owner = csf_arena_alloc(&arena, sizeof *owner);
  if (owner == NULL) return csf_fail_memory(err, sizeof *owner);
  owner->arena = arena;
  atomic_init(&owner->references, 0);
  struct ArrowSchema exported;
  if (!export_field(owner, field, &exported)) {
    arena = owner->arena;
    csf_arena_clear(&arena);
    return csf_fail_memory(err, sizeof exported);
  }
  *out = exported;
  return COLSHUF_OK;
}
