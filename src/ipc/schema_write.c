/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/flatbuf_build.h"
#include "ipc/format_tables.h"
#include "ipc/message_write.h"
#include "ipc/schema_message.h"

/* Fields of the type tables; those with one field have it at 0. */
enum { INT_BIT_WIDTH, INT_IS_SIGNED };
enum { DECIMAL_PRECISION, DECIMAL_SCALE, DECIMAL_BIT_WIDTH };
enum { TIME_UNIT, TIME_BIT_WIDTH };
enum { TIMESTAMP_UNIT, TIMESTAMP_TIMEZONE };
enum { UNION_MODE, UNION_TYPE_IDS };
enum { MAP_KEYS_SORTED };

static const uint8_t type_codes[CSF_N_TYPES] = {
    [CSF_NULL] = CSF_CODE_NULL,
    [CSF_BOOL] = CSF_CODE_BOOL,
    [CSF_INT8] = CSF_CODE_INT,
    [CSF_INT16] = CSF_CODE_INT,
    [CSF_INT32] = CSF_CODE_INT,
    [CSF_INT64] = CSF_CODE_INT,
    [CSF_UINT8] = CSF_CODE_INT,
    [CSF_UINT16] = CSF_CODE_INT,
    [CSF_UINT32] = CSF_CODE_INT,
    [CSF_UINT64] = CSF_CODE_INT,
    [CSF_FLOAT16] = CSF_CODE_FLOAT,
    [CSF_FLOAT32] = CSF_CODE_FLOAT,
    [CSF_FLOAT64] = CSF_CODE_FLOAT,
    [CSF_DECIMAL32] = CSF_CODE_DECIMAL,
    [CSF_DECIMAL64] = CSF_CODE_DECIMAL,
    [CSF_DECIMAL128] = CSF_CODE_DECIMAL,
    [CSF_DECIMAL256] = CSF_CODE_DECIMAL,
    [CSF_DATE32] = CSF_CODE_DATE,
    [CSF_DATE64] = CSF_CODE_DATE,
    [CSF_TIME32] = CSF_CODE_TIME,
    [CSF_TIME64] = CSF_CODE_TIME,
    [CSF_TIMESTAMP] = CSF_CODE_TIMESTAMP,
    [CSF_DURATION] = CSF_CODE_DURATION,
    [CSF_INTERVAL_YEAR_MONTH] = CSF_CODE_INTERVAL,
    [CSF_INTERVAL_DAY_TIME] = CSF_CODE_INTERVAL,
    [CSF_INTERVAL_MONTH_DAY_NANO] = CSF_CODE_INTERVAL,
    [CSF_FIXED_SIZE_BINARY] = CSF_CODE_FIXED_SIZE_BINARY,
    [CSF_BINARY] = CSF_CODE_BINARY,
    [CSF_UTF8] = CSF_CODE_UTF8,
    [CSF_LARGE_BINARY] = CSF_CODE_LARGE_BINARY,
    [CSF_LARGE_UTF8] = CSF_CODE_LARGE_UTF8,
    [CSF_BINARY_VIEW] = CSF_CODE_BINARY_VIEW,
    [CSF_UTF8_VIEW] = CSF_CODE_UTF8_VIEW,
    [CSF_LIST] = CSF_CODE_LIST,
    [CSF_LARGE_LIST] = CSF_CODE_LARGE_LIST,
    [CSF_LIST_VIEW] = CSF_CODE_LIST_VIEW,
    [CSF_LARGE_LIST_VIEW] = CSF_CODE_LARGE_LIST_VIEW,
    [CSF_FIXED_SIZE_LIST] = CSF_CODE_FIXED_SIZE_LIST,
    [CSF_STRUCT] = CSF_CODE_STRUCT,
    [CSF_MAP] = CSF_CODE_MAP,
    [CSF_SPARSE_UNION] = CSF_CODE_UNION,
    [CSF_DENSE_UNION] = CSF_CODE_UNION,
    [CSF_RUN_END_ENCODED] = CSF_CODE_RUN_END_ENCODED,
};

struct writer {
  struct csf_flatbuf b;
  struct csf_buffer stack; /* references to siblings, until their vector is built */
};

static void push_ref(struct writer *w, csf_flatbuf_ref ref) {
  enum colshuf_status status = csf_buffer_append(&w->stack, &ref, sizeof ref, NULL);
  if (status != COLSHUF_OK) w->b.status = status;
}

/* The vector of all references that were pushed since the stack held `base` bytes; takes them off. */
static csf_flatbuf_ref pop_vector(struct writer *w, size_t base) {
  if (w->b.status != COLSHUF_OK) return 0;
  const csf_flatbuf_ref *refs = w->stack.size == base ? NULL : (const void *)(w->stack.data + base);
  csf_flatbuf_ref vector = csf_flatbuf_vector_of_refs(&w->b, refs, (w->stack.size - base) / sizeof *refs);
  w->stack.size = base;
  return vector;
}

static int compare_keys(const struct csf_key_value *a, const struct csf_key_value *b) {
  size_t shorter = a->key.size < b->key.size ? a->key.size : b->key.size;
  int order = shorter == 0 ? 0 : memcmp(a->key.data, b->key.data, shorter);
  if (order != 0) return order;
  return a->key.size < b->key.size ? -1 : a->key.size > b->key.size;
}

/*
 * The pair that comes after the last one when all are sorted by key, equal keys by place; -1 = none. Metadata has a handful of
 * pairs, and looking through them again needs no memory.
 */
static int32_t next_pair(const struct csf_key_value *pairs, int32_t n, int32_t last) {
  int32_t best = -1;
  for (int32_t i = 0; i < n; i++) {
    if (last >= 0) {
      int order = compare_keys(&pairs[i], &pairs[last]);
      if (order < 0 || (order == 0 && i <= last)) continue;
    }
    if (best < 0 || compare_keys(&pairs[i], &pairs[best]) < 0) best = i;
  }
  return best;
}

/* The custom_metadata vector of a field or schema, 0 where there is none. */
static csf_flatbuf_ref metadata(struct writer *w, const struct csf_field *field) {
  if (field->n_metadata == 0) return 0;
  size_t base = w->stack.size;
  int32_t i = -1;
  while ((i = next_pair(field->metadata, field->n_metadata, i)) >= 0) {
    const struct csf_key_value *pair = &field->metadata[i];
    csf_flatbuf_ref key = csf_flatbuf_string(&w->b, pair->key.data, pair->key.size);
    csf_flatbuf_ref value = csf_flatbuf_string(&w->b, pair->value.data, pair->value.size);
    csf_flatbuf_table_start(&w->b);
    csf_flatbuf_field_ref(&w->b, CSF_KEY_VALUE_KEY, key);
    csf_flatbuf_field_ref(&w->b, CSF_KEY_VALUE_VALUE, value);
    push_ref(w, csf_flatbuf_table_end(&w->b));
  }
  return pop_vector(w, base);
}

static csf_flatbuf_ref int_type(struct writer *w, int32_t bit_width, bool is_signed) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_u8(&w->b, INT_IS_SIGNED, is_signed, 0);
  csf_flatbuf_field_i32(&w->b, INT_BIT_WIDTH, bit_width, 0);
  return csf_flatbuf_table_end(&w->b);
}

static bool is_signed(enum csf_type type) {
  return type >= CSF_INT8 && type <= CSF_INT64;
}

/* Tables of one i16 or i32 field, and of none. */
static csf_flatbuf_ref i16_type(struct writer *w, int value, int16_t default_value) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i16(&w->b, 0, (int16_t)value, default_value);
  return csf_flatbuf_table_end(&w->b);
}
static csf_flatbuf_ref i32_type(struct writer *w, int32_t value) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i32(&w->b, 0, value, 0);
  return csf_flatbuf_table_end(&w->b);
}
static csf_flatbuf_ref empty_type(struct writer *w) {
  csf_flatbuf_table_start(&w->b);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref decimal_type(struct writer *w, const struct csf_field *field) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i32(&w->b, DECIMAL_PRECISION, field->precision, 0);
  csf_flatbuf_field_i32(&w->b, DECIMAL_SCALE, field->scale, 0);
  csf_flatbuf_field_i32(&w->b, DECIMAL_BIT_WIDTH, csf_type_width(field->type) * 8, 128);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref time_type(struct writer *w, const struct csf_field *field) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i32(&w->b, TIME_BIT_WIDTH, csf_type_width(field->type) * 8, 32);
  csf_flatbuf_field_i16(&w->b, TIME_UNIT, (int16_t)field->unit, CSF_MILLISECOND);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref timestamp_type(struct writer *w, const struct csf_field *field) {
  /* arrow-rs makes the string even where nothing refers to it. */
  const char *timezone = field->timezone == NULL ? "" : field->timezone;
  csf_flatbuf_ref text = csf_flatbuf_string(&w->b, timezone, strlen(timezone));
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i16(&w->b, TIMESTAMP_UNIT, (int16_t)field->unit, CSF_SECOND);
  if (*timezone != '\0') csf_flatbuf_field_ref(&w->b, TIMESTAMP_TIMEZONE, text);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref map_type(struct writer *w, const struct csf_field *field) {
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_u8(&w->b, MAP_KEYS_SORTED, field->keys_sorted, 0);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref union_type(struct writer *w, const struct csf_field *field) {
  int32_t ids[128];
  for (int32_t i = 0; i < field->n_children; i++) ids[i] = (int32_t)field->type_ids[i];
  csf_flatbuf_ref type_ids = csf_flatbuf_vector(&w->b, ids, (size_t)field->n_children, 4, 4);
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i16(&w->b, UNION_MODE, (int16_t)(field->type == CSF_DENSE_UNION), 0);
  csf_flatbuf_field_ref(&w->b, UNION_TYPE_IDS, type_ids);
  return csf_flatbuf_table_end(&w->b);
}

/* The type table; ints and floats are not for here: their empty children come first. */
static csf_flatbuf_ref type_table(struct writer *w, const struct csf_field *field) {
  switch (field->type) {
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256: return decimal_type(w, field);
    case CSF_DATE32: return i16_type(w, 0, 1);
    case CSF_DATE64: return i16_type(w, 1, 1);
    case CSF_TIME32:
    case CSF_TIME64: return time_type(w, field);
    case CSF_TIMESTAMP: return timestamp_type(w, field);
    case CSF_DURATION: return i16_type(w, (int)field->unit, CSF_MILLISECOND);
    case CSF_INTERVAL_YEAR_MONTH: return i16_type(w, 0, 0);
    case CSF_INTERVAL_DAY_TIME: return i16_type(w, 1, 0);
    case CSF_INTERVAL_MONTH_DAY_NANO: return i16_type(w, 2, 0);
    case CSF_FIXED_SIZE_BINARY:
    case CSF_FIXED_SIZE_LIST: return i32_type(w, field->width);
    case CSF_MAP: return map_type(w, field);
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION: return union_type(w, field);
    default: return empty_type(w);
  }
}

static csf_flatbuf_ref number_type(struct writer *w, enum csf_type type) {
  switch (type) {
    case CSF_FLOAT16: return i16_type(w, 0, 0);
    case CSF_FLOAT32: return i16_type(w, 1, 0);
    case CSF_FLOAT64: return i16_type(w, 2, 0);
    default: return int_type(w, csf_type_width(type) * 8, is_signed(type));
  }
}

static bool is_number(enum csf_type type) {
  return type >= CSF_INT8 && type <= CSF_FLOAT64;
}

static csf_flatbuf_ref field_table(struct writer *w, const struct csf_field *field);

/* Type and children of a field (of its values where it has a dictionary), in arrow-rs' order. */
static void type_and_children(struct writer *w, const struct csf_field *values, csf_flatbuf_ref *type, csf_flatbuf_ref *children) {
  size_t base = w->stack.size;
  if (is_number(values->type)) {
    *children = pop_vector(w, base);
    *type = number_type(w, values->type);
    return;
  }
  for (int32_t i = 0; i < values->n_children; i++) push_ref(w, field_table(w, &values->children[i]));
  *type = type_table(w, values);
  *children = pop_vector(w, base);
}

static csf_flatbuf_ref dictionary_encoding(struct writer *w, const struct csf_field *field) {
  if (field->dictionary == NULL) return 0;
  csf_flatbuf_ref index_type = int_type(w, csf_type_width(field->type) * 8, is_signed(field->type));
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_i64(&w->b, CSF_ENCODING_ID, field->dictionary_id, 0);
  csf_flatbuf_field_ref(&w->b, CSF_ENCODING_INDEX_TYPE, index_type);
  csf_flatbuf_field_u8(&w->b, CSF_ENCODING_ORDERED, field->dictionary_ordered, 0);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref field_table(struct writer *w, const struct csf_field *field) {
  const struct csf_field *values = field->dictionary != NULL ? field->dictionary : field;
  csf_flatbuf_ref pairs = metadata(w, field), type, children;
  csf_flatbuf_ref name = csf_flatbuf_string(&w->b, field->name, strlen(field->name));
  type_and_children(w, values, &type, &children);
  csf_flatbuf_ref dictionary = dictionary_encoding(w, field);
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_ref(&w->b, CSF_FIELD_NAME, name);
  csf_flatbuf_field_ref(&w->b, CSF_FIELD_DICTIONARY, dictionary);
  csf_flatbuf_field_u8(&w->b, CSF_FIELD_TYPE_TYPE, type_codes[values->type], 0);
  csf_flatbuf_field_u8(&w->b, CSF_FIELD_NULLABLE, field->nullable, 0);
  csf_flatbuf_field_ref(&w->b, CSF_FIELD_CHILDREN, children);
  csf_flatbuf_field_ref(&w->b, CSF_FIELD_TYPE, type);
  csf_flatbuf_field_ref(&w->b, CSF_FIELD_METADATA, pairs);
  return csf_flatbuf_table_end(&w->b);
}

static csf_flatbuf_ref schema_table(struct writer *w, const struct csf_schema *schema) {
  size_t base = w->stack.size;
  for (int32_t i = 0; i < schema->root.n_children; i++) push_ref(w, field_table(w, &schema->root.children[i]));
  csf_flatbuf_ref fields = pop_vector(w, base);
  csf_flatbuf_ref pairs = metadata(w, &schema->root);
  csf_flatbuf_table_start(&w->b);
  csf_flatbuf_field_ref(&w->b, CSF_SCHEMA_FIELDS, fields);
  csf_flatbuf_field_ref(&w->b, CSF_SCHEMA_METADATA, pairs);
  return csf_flatbuf_table_end(&w->b);
}

csf_flatbuf_ref csf_schema_table(struct csf_flatbuf *b, const struct csf_schema *schema) {
  struct writer w = {.b = *b};
  csf_buffer_init(&w.stack, &b->memory.allocator);
  csf_flatbuf_ref table = schema_table(&w, schema);
  csf_buffer_clear(&w.stack);
  *b = w.b;
  return table;
}

enum colshuf_status csf_schema_message_write(const struct csf_schema *schema, uint32_t alignment, struct csf_buffer *out,
                                             struct colshuf_error *err) {
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &out->allocator);
  csf_flatbuf_ref table = csf_schema_table(&b, schema);
  struct csf_span metadata_bytes;
  enum colshuf_status status = csf_flatbuf_finish(&b, csf_message_table(&b, CSF_HEADER_SCHEMA, table, 0), &metadata_bytes, err);
  if (status == COLSHUF_OK) status = csf_frame_append(out, metadata_bytes, alignment, err);
  csf_flatbuf_clear(&b);
  return status;
}

static void number(struct csf_field *field, int64_t *next) {
  struct csf_field *values = field->dictionary != NULL ? field->dictionary : field;
  for (int32_t i = 0; i < values->n_children; i++) number(&values->children[i], next);
  if (field->dictionary != NULL) field->dictionary_id = (*next)++;
}

void csf_schema_number_dictionaries(struct csf_schema *schema) {
  int64_t next = 0;
  number(&schema->root, &next);
}
