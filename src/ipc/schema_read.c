/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schema tables to csf_schema. The verifier has bounded depth and sharing; what is left to bound is memory: a field costs far
 * more here than its bytes there, and text that is shared there is copied here. So both are counted before they are allocated.
 */
#include <inttypes.h>

#include "ipc/format_tables.h"
#include "ipc/limits.h"
#include "ipc/schema_message.h"

struct schema_reader {
  struct csf_arena *arena;
  uint32_t fields_left;
  uint32_t max_fields;
  uint64_t text_left; /* bytes of names and metadata */
  uint64_t max_text;
  struct colshuf_error *err;
};

/* Strings may be shared by many fields there; here each has its copy. */
static enum colshuf_status count_text(struct schema_reader *r, size_t size) {
  if (size > r->text_left) {
    return csf_fail(r->err, COLSHUF_LIMIT, "names and metadata of more than %" PRIu64 " bytes (limits.max_metadata_size)", r->max_text);
  }
  r->text_left -= size;
  return COLSHUF_OK;
}

/* Strings become C strings, which cannot hold a zero byte: cutting one there would silently rename a column. */
static enum colshuf_status read_text(struct schema_reader *r, struct csf_span text, const char *what, const char **out) {
  if (text.size > 0 && memchr(text.data, 0, text.size) != NULL) {
    return csf_fail(r->err, COLSHUF_UNSUPPORTED, "%s of %zu bytes holds a zero byte", what, text.size);
  }
  CSF_TRY(count_text(r, text.size));
  *out = csf_arena_string(r->arena, (const char *)text.data, text.size);
  return *out == NULL ? csf_fail_memory(r->err, text.size + 1) : COLSHUF_OK;
}

static enum colshuf_status read_bytes(struct schema_reader *r, struct csf_span source, struct csf_span *out) {
  CSF_TRY(count_text(r, source.size));
  char *copy = csf_arena_string(r->arena, (const char *)source.data, source.size);
  if (copy == NULL) return csf_fail_memory(r->err, source.size + 1);
  *out = (struct csf_span){(const uint8_t *)copy, source.size};
  return COLSHUF_OK;
}

static enum colshuf_status read_metadata(struct schema_reader *r, struct csf_fb_vector pairs, struct csf_field *out) {
  if (pairs.count == 0) return COLSHUF_OK;
  if (pairs.count > r->max_fields) {
    return csf_fail(r->err, COLSHUF_LIMIT, "%" PRIu32 " metadata pairs, the limit (that of fields) is %" PRIu32, pairs.count,
                    r->max_fields);
  }
  struct csf_key_value *metadata = csf_arena_alloc(r->arena, pairs.count * sizeof *metadata);
  if (metadata == NULL) return csf_fail_memory(r->err, pairs.count * sizeof *metadata);
  for (uint32_t i = 0; i < pairs.count; i++) {
    struct csf_fb_table pair = csf_fb_element(pairs, i);
    CSF_TRY(read_bytes(r, csf_fb_string(pair, CSF_KEY_VALUE_KEY), &metadata[i].key));
    CSF_TRY(read_bytes(r, csf_fb_string(pair, CSF_KEY_VALUE_VALUE), &metadata[i].value));
  }
  out->metadata = metadata;
  out->n_metadata = (int32_t)pairs.count;
  return COLSHUF_OK;
}

static enum colshuf_status bad_value(struct schema_reader *r, const char *type, const char *what, int64_t value) {
  return csf_fail(r->err, COLSHUF_CORRUPT, "%s with %s %" PRId64, type, what, value);
}

static enum colshuf_status read_int(struct schema_reader *r, int32_t width, bool is_signed, enum csf_type *out) {
  switch (width) {
    case 8: *out = is_signed ? CSF_INT8 : CSF_UINT8; return COLSHUF_OK;
    case 16: *out = is_signed ? CSF_INT16 : CSF_UINT16; return COLSHUF_OK;
    case 32: *out = is_signed ? CSF_INT32 : CSF_UINT32; return COLSHUF_OK;
    case 64: *out = is_signed ? CSF_INT64 : CSF_UINT64; return COLSHUF_OK;
    default: return bad_value(r, "Int", "bit width", width);
  }
}

static enum colshuf_status read_int_type(struct schema_reader *r, struct csf_fb_table type, enum csf_type *out) {
  return read_int(r, csf_fb_i32(type, 0, 0), csf_fb_u8(type, 1, 0) != 0, out);
}

static enum colshuf_status read_float(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  static const enum csf_type types[] = {CSF_FLOAT16, CSF_FLOAT32, CSF_FLOAT64};
  int16_t precision = csf_fb_i16(type, 0, 0);
  if (precision < 0 || precision > 2) return bad_value(r, "FloatingPoint", "precision", precision);
  out->type = types[precision];
  return COLSHUF_OK;
}

static enum colshuf_status read_decimal(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  int32_t width = csf_fb_i32(type, 2, 128);
  out->precision = csf_fb_i32(type, 0, 0);
  out->scale = csf_fb_i32(type, 1, 0);
  switch (width) {
    case 32: out->type = CSF_DECIMAL32; return COLSHUF_OK;
    case 64: out->type = CSF_DECIMAL64; return COLSHUF_OK;
    case 128: out->type = CSF_DECIMAL128; return COLSHUF_OK;
    case 256: out->type = CSF_DECIMAL256; return COLSHUF_OK;
    default: return bad_value(r, "Decimal", "bit width", width);
  }
}

static enum colshuf_status read_unit(struct schema_reader *r, struct csf_fb_table type, int16_t otherwise, struct csf_field *out) {
  int16_t unit = csf_fb_i16(type, 0, otherwise);
  if (unit < CSF_SECOND || unit > CSF_NANOSECOND) return bad_value(r, "type", "time unit", unit);
  out->unit = (enum csf_time_unit)unit;
  return COLSHUF_OK;
}

static enum colshuf_status read_date(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  int16_t unit = csf_fb_i16(type, 0, 1);
  if (unit != 0 && unit != 1) return bad_value(r, "Date", "unit", unit);
  out->type = unit == 0 ? CSF_DATE32 : CSF_DATE64;
  return COLSHUF_OK;
}

static enum colshuf_status read_time(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  int32_t width = csf_fb_i32(type, 1, 32);
  CSF_TRY(read_unit(r, type, CSF_MILLISECOND, out));
  bool is_fine = out->unit == CSF_MICROSECOND || out->unit == CSF_NANOSECOND;
  if (width != (is_fine ? 64 : 32)) return bad_value(r, is_fine ? "Time in us or ns" : "Time in s or ms", "bit width", width);
  out->type = is_fine ? CSF_TIME64 : CSF_TIME32;
  return COLSHUF_OK;
}

static enum colshuf_status read_timestamp(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  out->type = CSF_TIMESTAMP;
  CSF_TRY(read_unit(r, type, CSF_SECOND, out));
  struct csf_span timezone = csf_fb_string(type, 1);
  return timezone.size == 0 ? COLSHUF_OK : read_text(r, timezone, "timezone", &out->timezone);
}

static enum colshuf_status read_interval(struct schema_reader *r, struct csf_fb_table type, struct csf_field *out) {
  static const enum csf_type types[] = {CSF_INTERVAL_YEAR_MONTH, CSF_INTERVAL_DAY_TIME, CSF_INTERVAL_MONTH_DAY_NANO};
  int16_t unit = csf_fb_i16(type, 0, 0);
  if (unit < 0 || unit > 2) return bad_value(r, "Interval", "unit", unit);
  out->type = types[unit];
  return COLSHUF_OK;
}

static enum colshuf_status read_union(struct schema_reader *r, struct csf_fb_table type, uint32_t n_children, struct csf_field *out) {
  int16_t mode = csf_fb_i16(type, 0, 0);
  if (mode != 0 && mode != 1) return bad_value(r, "Union", "mode", mode);
  out->type = mode == 0 ? CSF_SPARSE_UNION : CSF_DENSE_UNION;
  bool listed = csf_fb_field(type, 1) != NULL;
  struct csf_fb_vector ids = csf_fb_elements(type, 1);
  if (n_children > 128 || (listed && ids.count != n_children)) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "Union with %" PRIu32 " children and %" PRIu32 " type ids", n_children, ids.count);
  }
  int8_t *type_ids = csf_arena_alloc(r->arena, n_children + 1);
  if (type_ids == NULL) return csf_fail_memory(r->err, n_children + 1);
  for (uint32_t i = 0; i < n_children; i++) {
    int32_t id = listed ? csf_load_i32(ids.data + 4 * (size_t)i) : (int32_t)i;
    if (id < 0 || id > 127) return bad_value(r, "Union", "type id", id);
    type_ids[i] = (int8_t)id;
  }
  out->type_ids = type_ids;
  return COLSHUF_OK;
}

static enum colshuf_status read_size(struct schema_reader *r, struct csf_fb_table type, enum csf_type kind, struct csf_field *out) {
  out->type = kind;
  out->width = csf_fb_i32(type, 0, 0);
  if (out->width < 0) return bad_value(r, csf_type_name(kind), "size", out->width);
  return COLSHUF_OK;
}

/* Types without anything to read. */
static const enum csf_type plain_types[CSF_N_CODES] = {
    [CSF_CODE_NULL] = CSF_NULL,
    [CSF_CODE_BINARY] = CSF_BINARY,
    [CSF_CODE_UTF8] = CSF_UTF8,
    [CSF_CODE_BOOL] = CSF_BOOL,
    [CSF_CODE_LIST] = CSF_LIST,
    [CSF_CODE_STRUCT] = CSF_STRUCT,
    [CSF_CODE_LARGE_BINARY] = CSF_LARGE_BINARY,
    [CSF_CODE_LARGE_UTF8] = CSF_LARGE_UTF8,
    [CSF_CODE_LARGE_LIST] = CSF_LARGE_LIST,
    [CSF_CODE_RUN_END_ENCODED] = CSF_RUN_END_ENCODED,
    [CSF_CODE_BINARY_VIEW] = CSF_BINARY_VIEW,
    [CSF_CODE_UTF8_VIEW] = CSF_UTF8_VIEW,
    [CSF_CODE_LIST_VIEW] = CSF_LIST_VIEW,
    [CSF_CODE_LARGE_LIST_VIEW] = CSF_LARGE_LIST_VIEW,
};

static enum colshuf_status read_type(struct schema_reader *r, struct csf_fb_table field, uint32_t n_children, struct csf_field *out) {
  uint8_t code = csf_fb_u8(field, CSF_FIELD_TYPE_TYPE, 0);
  if (code == 0 || code >= CSF_N_CODES) return bad_value(r, "field", "type code", code);
  struct csf_fb_table type = csf_fb_child(field, CSF_FIELD_TYPE);
  switch (code) {
    case CSF_CODE_INT: return read_int_type(r, type, &out->type);
    case CSF_CODE_FLOAT: return read_float(r, type, out);
    case CSF_CODE_DECIMAL: return read_decimal(r, type, out);
    case CSF_CODE_DATE: return read_date(r, type, out);
    case CSF_CODE_TIME: return read_time(r, type, out);
    case CSF_CODE_TIMESTAMP: return read_timestamp(r, type, out);
    case CSF_CODE_INTERVAL: return read_interval(r, type, out);
    case CSF_CODE_UNION: return read_union(r, type, n_children, out);
    case CSF_CODE_FIXED_SIZE_BINARY: return read_size(r, type, CSF_FIXED_SIZE_BINARY, out);
    case CSF_CODE_FIXED_SIZE_LIST: return read_size(r, type, CSF_FIXED_SIZE_LIST, out);
    case CSF_CODE_MAP:
      out->type = CSF_MAP;
      out->keys_sorted = csf_fb_u8(type, 0, 0) != 0;
      return COLSHUF_OK;
    case CSF_CODE_DURATION:
      out->type = CSF_DURATION;
      return read_unit(r, type, CSF_MILLISECOND, out);
    default:
      out->type = plain_types[code];
      return COLSHUF_OK;
  }
}

static enum colshuf_status read_field(struct schema_reader *r, struct csf_fb_table table, struct csf_field *out);

static enum colshuf_status read_fields(struct schema_reader *r, struct csf_fb_vector tables, struct csf_field *parent) {
  if (tables.count == 0) return COLSHUF_OK;
  if (tables.count > r->fields_left) {
    return csf_fail(r->err, COLSHUF_LIMIT, "the schema has more than %" PRIu32 " fields (limits.max_fields)", r->max_fields);
  }
  r->fields_left -= tables.count;
  parent->children = csf_arena_alloc(r->arena, tables.count * sizeof *parent->children);
  if (parent->children == NULL) return csf_fail_memory(r->err, tables.count * sizeof *parent->children);
  parent->n_children = (int32_t)tables.count;
  for (uint32_t i = 0; i < tables.count; i++) CSF_TRY(read_field(r, csf_fb_element(tables, i), &parent->children[i]));
  return COLSHUF_OK;
}

/* Turns a field, read as its values, into indices with the values below: that is how the model has it. */
static enum colshuf_status read_encoding(struct schema_reader *r, struct csf_fb_table encoding, struct csf_field *field) {
  int16_t kind = csf_fb_i16(encoding, CSF_ENCODING_KIND, 0);
  if (kind != 0) return bad_value(r, "dictionary", "kind", kind);
  if (r->fields_left == 0) {
    return csf_fail(r->err, COLSHUF_LIMIT, "the schema has more than %" PRIu32 " fields (limits.max_fields)", r->max_fields);
  }
  r->fields_left--;
  struct csf_field *values = csf_arena_alloc(r->arena, sizeof *values);
  if (values == NULL) return csf_fail_memory(r->err, sizeof *values);
  *values = *field;
  values->name = "";
  values->nullable = true;
  values->metadata = NULL;
  values->n_metadata = 0;
  *field = (struct csf_field){.name = field->name, .nullable = field->nullable, .metadata = field->metadata,
                              .n_metadata = field->n_metadata, .dictionary = values};
  field->dictionary_id = csf_fb_i64(encoding, CSF_ENCODING_ID, 0);
  field->dictionary_ordered = csf_fb_u8(encoding, CSF_ENCODING_ORDERED, 0) != 0;
  struct csf_fb_table index = csf_fb_child(encoding, CSF_ENCODING_INDEX_TYPE);
  field->type = CSF_INT32; /* what an absent index type means */
  return index.place == NULL ? COLSHUF_OK : read_int_type(r, index, &field->type);
}

static enum colshuf_status read_field(struct schema_reader *r, struct csf_fb_table table, struct csf_field *out) {
  CSF_TRY(read_text(r, csf_fb_string(table, CSF_FIELD_NAME), "field name", &out->name));
  out->nullable = csf_fb_u8(table, CSF_FIELD_NULLABLE, 0) != 0;
  struct csf_fb_vector children = csf_fb_elements(table, CSF_FIELD_CHILDREN);
  enum colshuf_status status = read_type(r, table, children.count, out);
  if (status == COLSHUF_OK) status = read_fields(r, children, out);
  if (status == COLSHUF_OK) status = read_metadata(r, csf_fb_elements(table, CSF_FIELD_METADATA), out);
  struct csf_fb_table encoding = csf_fb_child(table, CSF_FIELD_DICTIONARY);
  if (status == COLSHUF_OK && encoding.place != NULL) status = read_encoding(r, encoding, out);
  if (status == COLSHUF_CORRUPT) csf_fail_context(r->err, status, "field \"%.64s\"", out->name);
  return status;
}

static enum colshuf_status read_schema(struct csf_fb_table table, const struct colshuf_limits *limits, struct csf_schema *schema,
                                       struct colshuf_error *err) {
  int16_t endianness = csf_fb_i16(table, CSF_SCHEMA_ENDIANNESS, 0);
  if (endianness != 0) return csf_fail(err, COLSHUF_UNSUPPORTED, "endianness %d, only little-endian (0) is read", endianness);
  struct schema_reader reader = {.arena = &schema->arena, .fields_left = limits->max_fields, .max_fields = limits->max_fields,
                                 .text_left = limits->max_metadata_size, .max_text = limits->max_metadata_size, .err = err};
  CSF_TRY(read_fields(&reader, csf_fb_elements(table, CSF_SCHEMA_FIELDS), &schema->root));
  CSF_TRY(read_metadata(&reader, csf_fb_elements(table, CSF_SCHEMA_METADATA), &schema->root));
  enum colshuf_status status = csf_schema_finish(schema, limits, err);
  if (status != COLSHUF_INVALID_ARGUMENT) return status;
  /* The caller's argument is a table of bytes: what is wrong with the schema is wrong with them. */
  if (err != NULL) err->status = COLSHUF_CORRUPT;
  return COLSHUF_CORRUPT;
}

enum colshuf_status csf_schema_table_read(struct csf_fb_table table, const struct colshuf_allocator *allocator,
                                          const struct colshuf_limits *limits, struct csf_schema **out,
                                          struct colshuf_error *err) {
  struct colshuf_limits full = csf_limits(limits);
  struct csf_schema *schema = csf_schema_new(allocator);
  if (schema == NULL) return csf_fail_memory(err, sizeof *schema);
  enum colshuf_status status = read_schema(table, &full, schema, err);
  if (status != COLSHUF_OK) {
    csf_schema_release(schema);
    return csf_fail_context(err, status, "schema");
  }
  *out = schema;
  return COLSHUF_OK;
}

enum colshuf_status csf_schema_message_read(struct csf_span metadata, const struct colshuf_allocator *allocator,
                                            const struct colshuf_limits *limits, struct csf_schema **out,
                                            struct colshuf_error *err) {
  struct csf_fb_table message = csf_fb_root(metadata);
  if (csf_fb_u8(message, CSF_MESSAGE_HEADER_TYPE, 0) != CSF_HEADER_SCHEMA) {
    return csf_fail(err, COLSHUF_CORRUPT, "message header type %d where a schema (1) must stand",
                    csf_fb_u8(message, CSF_MESSAGE_HEADER_TYPE, 0));
  }
  return csf_schema_table_read(csf_fb_child(message, CSF_MESSAGE_HEADER), allocator, limits, out, err);
}
