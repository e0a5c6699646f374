/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/column.h"

#include "arrow/array.h"

uint32_t csf_half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 31u;
  uint32_t fraction = half & 0x3ffu;
  if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
  if (exponent == 0) {
    if (fraction == 0) return sign;
    /* A subnormal half is a normal float: move its leading one to the hidden place. */
    uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21;
    return sign | (113 - shift) << 23 | ((fraction << shift) & 0x3ffu) << 13;
  }
  return sign | (exponent + 112) << 23 | fraction << 13;
}

/* kind < 0: Spark has nothing like it. */
struct type_rule {
  int kind;
  bool is_signed;
};

static const struct type_rule type_rules[CSF_N_TYPES] = {
    [CSF_NULL] = {CSF_KIND_NULL, false},
    [CSF_BOOL] = {CSF_KIND_BOOL, false},
    [CSF_INT8] = {CSF_KIND_INT, true},
    [CSF_INT16] = {CSF_KIND_INT, true},
    [CSF_INT32] = {CSF_KIND_INT, true},
    [CSF_INT64] = {CSF_KIND_LONG, true},
    [CSF_UINT8] = {CSF_KIND_INT, false},
    [CSF_UINT16] = {CSF_KIND_INT, false},
    [CSF_UINT32] = {CSF_KIND_LONG, false},
    [CSF_UINT64] = {CSF_KIND_DECIMAL_WIDE, false},
    [CSF_FLOAT16] = {CSF_KIND_FLOAT, true},
    [CSF_FLOAT32] = {CSF_KIND_FLOAT, true},
    [CSF_FLOAT64] = {CSF_KIND_DOUBLE, true},
    [CSF_DECIMAL32] = {CSF_KIND_DECIMAL_LONG, true},
    [CSF_DECIMAL64] = {CSF_KIND_DECIMAL_LONG, true},
    [CSF_DECIMAL128] = {CSF_KIND_DECIMAL_WIDE, true},
    [CSF_DECIMAL256] = {CSF_KIND_DECIMAL_WIDE, true},
    [CSF_DATE32] = {CSF_KIND_INT, true},
    [CSF_DATE64] = {CSF_KIND_LONG, true},
    [CSF_TIME32] = {CSF_KIND_LONG, true},
    [CSF_TIME64] = {CSF_KIND_LONG, true},
    [CSF_TIMESTAMP] = {CSF_KIND_LONG, true},
    [CSF_DURATION] = {CSF_KIND_LONG, true},
    [CSF_INTERVAL_YEAR_MONTH] = {CSF_KIND_INT, true},
    [CSF_INTERVAL_DAY_TIME] = {CSF_KIND_DAY_TIME, true},
    [CSF_INTERVAL_MONTH_DAY_NANO] = {CSF_KIND_CALENDAR, true},
    [CSF_FIXED_SIZE_BINARY] = {CSF_KIND_BYTES, false},
    [CSF_BINARY] = {CSF_KIND_BYTES, false},
    [CSF_UTF8] = {CSF_KIND_BYTES, false},
    [CSF_LARGE_BINARY] = {CSF_KIND_BYTES, false},
    [CSF_LARGE_UTF8] = {CSF_KIND_BYTES, false},
    [CSF_BINARY_VIEW] = {CSF_KIND_BYTES, false},
    [CSF_UTF8_VIEW] = {CSF_KIND_BYTES, false},
    [CSF_LIST] = {CSF_KIND_LIST, false},
    [CSF_LARGE_LIST] = {CSF_KIND_LIST, false},
    [CSF_LIST_VIEW] = {CSF_KIND_LIST, false},
    [CSF_LARGE_LIST_VIEW] = {CSF_KIND_LIST, false},
    [CSF_FIXED_SIZE_LIST] = {CSF_KIND_LIST, false},
    [CSF_STRUCT] = {CSF_KIND_STRUCT, false},
    [CSF_MAP] = {CSF_KIND_MAP, false},
    [CSF_SPARSE_UNION] = {-1, false},
    [CSF_DENSE_UNION] = {-1, false},
    [CSF_RUN_END_ENCODED] = {-1, false},
};

enum { SPARK_LONG_DIGITS = 18 }; /* decimals of more do not fit Spark's long */

static bool span_is(struct csf_span span, const char *text) {
  return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

static const struct csf_span *find_metadata(const struct csf_field *field, const char *key) {
  for (int32_t i = 0; i < field->n_metadata; i++) {
    if (span_is(field->metadata[i].key, key)) return &field->metadata[i].value;
  }
  return NULL;
}

/* Spark writes a collation into a field's metadata only where it is not the binary one; Arrow has no other place for it. */
static bool is_collated(const struct csf_field *field) {
  if (find_metadata(field, "__COLLATIONS") != NULL) return true;
  const struct csf_span *collation = find_metadata(field, "collation");
  return collation != NULL && !span_is(*collation, "UTF8_BINARY") && !span_is(*collation, "spark.UTF8_BINARY");
}

/* Spark marks a variant on the second of its two members. */
static bool is_variant(const struct csf_field *field) {
  if (field->type != CSF_STRUCT) return false;
  for (int32_t i = 0; i < field->n_children; i++) {
    const struct csf_span *mark = find_metadata(&field->children[i], "variant");
    if (mark != NULL && span_is(*mark, "true")) return true;
  }
  return false;
}

/* Why a column of this field cannot be used so; NULL when it can. */
static const char *objection(const struct csf_field *field, enum csf_use use) {
  const struct type_rule *rule = &type_rules[field->type];
  if (rule->kind < 0) return "Spark has no such type";
  if (use == CSF_USE_ROW) return NULL;
  if (is_collated(field)) return "only the binary collation is understood";
  if (is_variant(field)) return "Spark neither hashes nor orders variants";
  if (use == CSF_USE_HASH && rule->kind == CSF_KIND_MAP) {
    return "Spark refuses maps as hash keys, equal maps may differ in their order (set allow_map_keys to hash them as they "
           "stand)";
  }
  if (use == CSF_USE_ORDER && rule->kind == CSF_KIND_MAP) return "Spark does not order maps";
  if (use == CSF_USE_ORDER && rule->kind == CSF_KIND_CALENDAR) return "Spark does not order calendar intervals";
  return NULL;
}

static enum csf_kind kind_of(const struct csf_field *field) {
  if (field->dictionary != NULL) return CSF_KIND_DICTIONARY;
  enum csf_kind kind = (enum csf_kind)type_rules[field->type].kind;
  bool is_decimal = field->type >= CSF_DECIMAL32 && field->type <= CSF_DECIMAL256;
  if (!is_decimal) return kind;
  return field->precision <= SPARK_LONG_DIGITS ? CSF_KIND_DECIMAL_LONG : CSF_KIND_DECIMAL_WIDE;
}

static enum colshuf_status build(struct csf_column *column, const struct csf_field *field, const struct csf_field *top,
                                 enum csf_use use, struct csf_arena *arena, struct colshuf_error *err) {
  const char *reason = objection(field, use);
  if (reason != NULL) {
    char type[256];
    csf_field_describe(top, type, sizeof type);
    return csf_fail(err, COLSHUF_UNSUPPORTED, "column \"%s\" of type %s: %s (%s)", top->name, type, reason,
                    csf_type_name(field->type));
  }
  *column = (struct csf_column){
      .field = field,
      .kind = kind_of(field),
      .is_signed = type_rules[field->type].is_signed,
      .width = field->width,
      .n_children = field->dictionary != NULL ? 1 : field->n_children,
  };
  if (column->n_children == 0) return COLSHUF_OK;
  size_t size = (size_t)column->n_children * sizeof *column->children;
  column->children = csf_arena_alloc(arena, size);
  if (column->children == NULL) return csf_fail_memory(err, size);
  const struct csf_field *children = field->dictionary != NULL ? field->dictionary : field->children;
  for (int32_t i = 0; i < column->n_children; i++) {
    CSF_TRY(build(&column->children[i], &children[i], top, use, arena, err));
  }
  return COLSHUF_OK;
}

/* The schema has been imported under a depth limit: recursion over its fields ends. */
enum colshuf_status csf_column_build(struct csf_column *column, const struct csf_field *field, enum csf_use use,
                                     struct csf_arena *arena, struct colshuf_error *err) {
  return build(column, field, field, use, arena, err);
}

static const void *buffer_at(const struct ArrowArray *array, int64_t i) {
  return i < array->n_buffers && array->buffers != NULL ? array->buffers[i] : NULL;
}

void csf_column_bind(struct csf_column *column, const struct ArrowArray *array, int64_t row_base) {
  column->base = array->offset + row_base;
  column->length = array->length;
  column->validity = csf_array_validity(column->field, array);
  column->values = buffer_at(array, 1);
  column->more = buffer_at(array, 2);
  column->buffers = (const void *const *)array->buffers;
  if (column->kind == CSF_KIND_DICTIONARY) {
    csf_column_bind(&column->children[0], array->dictionary, 0);
    return;
  }
  /* Only structs pass their own rows on: lists name the rows of their child by offsets that know nothing of the list's offset.
   */
  int64_t child_base = column->kind == CSF_KIND_STRUCT ? column->base : 0;
  for (int32_t i = 0; i < column->n_children; i++) csf_column_bind(&column->children[i], array->children[i], child_base);
}

static struct csf_span view_bytes(const struct csf_column *column, int64_t at) {
  const uint8_t *view = column->values + 16 * at;
  size_t size = csf_load_u32(view);
  if (size <= 12) return (struct csf_span){view + 4, size};
  const uint8_t *data = column->buffers[2 + csf_load_u32(view + 8)];
  return (struct csf_span){data + csf_load_u32(view + 12), size};
}

struct csf_span csf_column_bytes(const struct csf_column *column, int64_t row) {
  int64_t at = column->base + row;
  switch (column->field->layout) {
    case CSF_LAYOUT_BINARY32: {
      int32_t begin = csf_load_i32(column->values + 4 * at);
      return (struct csf_span){column->more + begin, (size_t)(csf_load_i32(column->values + 4 * at + 4) - begin)};
    }
    case CSF_LAYOUT_BINARY64: {
      int64_t begin = csf_load_i64(column->values + 8 * at);
      return (struct csf_span){column->more + begin, (size_t)(csf_load_i64(column->values + 8 * at + 8) - begin)};
    }
    case CSF_LAYOUT_VIEW:
      return view_bytes(column, at);
    default:
      return (struct csf_span){column->values + at * column->width, (size_t)column->width};
  }
}

void csf_column_items(const struct csf_column *column, int64_t row, int64_t *from, int64_t *to) {
  int64_t at = column->base + row;
  switch (column->field->layout) {
    case CSF_LAYOUT_LIST32:
      *from = csf_load_i32(column->values + 4 * at);
      *to = csf_load_i32(column->values + 4 * at + 4);
      return;
    case CSF_LAYOUT_LIST64:
      *from = csf_load_i64(column->values + 8 * at);
      *to = csf_load_i64(column->values + 8 * at + 8);
      return;
    case CSF_LAYOUT_LIST_VIEW32:
      *from = csf_load_i32(column->values + 4 * at);
      *to = *from + csf_load_i32(column->more + 4 * at);
      return;
    case CSF_LAYOUT_LIST_VIEW64:
      *from = csf_load_i64(column->values + 8 * at);
      *to = *from + csf_load_i64(column->more + 8 * at);
      return;
    default:
      *from = at * column->width;
      *to = *from + column->width;
      return;
  }
}

/* Drops the leading bytes that only repeat the sign. out holds the value big-endian, size > 0. */
static size_t drop_sign_bytes(uint8_t *out, size_t size) {
  size_t skip = 0;
  while (skip + 1 < size && out[skip] == ((out[skip + 1] & 0x80) ? 0xff : 0)) skip++;
  memmove(out, out + skip, size - skip);
  return size - skip;
}

/* Sixteen bytes are the common case: the size comes from the leading zeros of the magnitude bits. */
static size_t bytes_of_128(const uint8_t *place, uint8_t *out) {
  uint64_t low = csf_load_u64(place), high = csf_load_u64(place + 8);
  uint64_t sign = (uint64_t)((int64_t)high >> 63);
  uint64_t magnitude = (high ^ sign) != 0 ? high ^ sign : low ^ sign;
  int bits = (high ^ sign) != 0 ? 64 : 0;
  if (magnitude != 0) bits += 64 - __builtin_clzll(magnitude);
  size_t size = (size_t)bits / 8 + 1; /* one bit more, for the sign */
  uint8_t whole[16];
  csf_store_u64(whole, __builtin_bswap64(high));
  csf_store_u64(whole + 8, __builtin_bswap64(low));
  memcpy(out, whole + 16 - size, size);
  return size;
}

size_t csf_column_decimal_bytes(const struct csf_column *column, int64_t row, uint8_t out[CSF_DECIMAL_BYTES_MAX]) {
  const uint8_t *place = csf_column_value(column, row);
  if (column->width == 16) return bytes_of_128(place, out);
  size_t width = (size_t)column->width;
  out[0] = column->is_signed && (place[width - 1] & 0x80) ? 0xff : 0;
  for (size_t i = 0; i < width; i++) out[1 + i] = place[width - 1 - i];
  return drop_sign_bytes(out, width + 1);
}
