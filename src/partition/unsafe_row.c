/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/formats/partitioning.md describes the layout. A row, nested or not, is: null bits (words of 64), one slot of 8 bytes for
 * each field, then what does not fit into a slot, each padded to 8. An array: its count, null bits, slots of the elements' own
 * width, then the same. Slots point with offsets from the start of the row or array they belong to.
 */
#include "partition/unsafe_row.h"

#include <inttypes.h>

/* Where the row or array being written begins in the buffer, and where its slots do. Places, since the buffer may move. */
struct frame {
  size_t start;
  size_t slots;
};

static enum colshuf_status append_value(const struct csf_column *column, int64_t row, struct frame frame, size_t slot,
                                        struct csf_buffer *out, struct colshuf_error *err);

static size_t null_bytes(uint64_t n) {
  return (size_t)((n + 63) / 64 * 8);
}

static void point_slot(struct csf_buffer *out, struct frame frame, size_t slot, size_t place, size_t size) {
  csf_store_u64(out->data + slot, (uint64_t)(place - frame.start) << 32 | (uint64_t)size);
}

static enum colshuf_status append_padded(struct csf_buffer *out, const uint8_t *data, size_t size, struct colshuf_error *err) {
  CSF_TRY(csf_buffer_append(out, data, size, err));
  return csf_buffer_append_zero(out, (size_t)csf_round_up(size, 8) - size, err);
}

static enum colshuf_status append_bytes(struct frame frame, size_t slot, const uint8_t *data, size_t size,
                                        struct csf_buffer *out, struct colshuf_error *err) {
  size_t place = out->size;
  CSF_TRY(append_padded(out, data, size, err));
  point_slot(out, frame, slot, place, size);
  return COLSHUF_OK;
}

/* In a row a wide decimal always takes 16 bytes, so that it can be updated in place; even a null does. In an array it takes
 * what it needs. */
static enum colshuf_status append_decimal(const struct csf_column *column, int64_t row, struct frame frame, size_t slot,
                                          bool reserve, struct csf_buffer *out, struct colshuf_error *err) {
  uint8_t bytes[CSF_DECIMAL_BYTES_MAX + 16] = {0};
  size_t size = csf_column_decimal_bytes(column, row, bytes);
  if (!reserve || size > 16) return append_bytes(frame, slot, bytes, size, out, err);
  memset(bytes + size, 0, 16 - size);
  size_t place = out->size;
  CSF_TRY(csf_buffer_append(out, bytes, 16, err));
  point_slot(out, frame, slot, place, size);
  return COLSHUF_OK;
}

static enum colshuf_status append_calendar(const struct csf_column *column, int64_t row, struct frame frame, size_t slot,
                                           struct csf_buffer *out, struct colshuf_error *err) {
  struct csf_calendar value = csf_column_calendar(column, row);
  uint8_t bytes[16];
  csf_store_i32(bytes, value.months);
  csf_store_i32(bytes + 4, value.days);
  csf_store_i64(bytes + 8, value.microseconds);
  return append_bytes(frame, slot, bytes, sizeof bytes, out, err);
}

/* The values that stand in a slot themselves. */
static uint64_t slot_bits(const struct csf_column *column, int64_t row) {
  switch (column->kind) {
    case CSF_KIND_BOOL:
      return csf_column_bool(column, row);
    case CSF_KIND_INT:
    case CSF_KIND_LONG:
      return (uint64_t)csf_column_integer(column, row);
    case CSF_KIND_FLOAT:
      return csf_column_float(column, row);
    case CSF_KIND_DOUBLE:
      return csf_column_double(column, row);
    case CSF_KIND_DECIMAL_LONG:
      return (uint64_t)csf_column_decimal_long(column, row);
    case CSF_KIND_DAY_TIME:
      return (uint64_t)csf_column_day_time(column, row);
    default:
      return 0;
  }
}

/* Bytes of a value in Spark: the width of an array's slot, and what of a row's slot is used (the rest is zero). */
static size_t value_width(const struct csf_column *column) {
  switch (column->kind) {
    case CSF_KIND_BOOL:
      return 1;
    case CSF_KIND_INT:
      return column->is_signed ? (size_t)column->width : (size_t)column->width * 2;
    case CSF_KIND_FLOAT:
      return 4;
    case CSF_KIND_DICTIONARY:
      return value_width(&column->children[0]);
    default:
      return 8;
  }
}

static void set_null(struct csf_buffer *out, size_t bits, int64_t i) {
  csf_bit_set(out->data + bits, i);
}

/* The value behind any dictionaries; false when it is null. */
static bool resolve(const struct csf_column **column, int64_t *row) {
  while (csf_column_valid(*column, *row)) {
    if ((*column)->kind != CSF_KIND_DICTIONARY) return true;
    *row = csf_column_integer(*column, *row);
    *column = &(*column)->children[0];
  }
  return false;
}

/*
 * A null in a row keeps the room of the types that Spark updates in place: decimals with the size 0, intervals with their own.
 * (In that room Spark leaves what the row before had there; zeros are the only choice that depends on the row alone.)
 */
static enum colshuf_status append_null_field(const struct csf_column *column, struct frame frame, size_t slot,
                                             struct csf_buffer *out, struct colshuf_error *err) {
  while (column->kind == CSF_KIND_DICTIONARY) column = &column->children[0];
  if (column->kind != CSF_KIND_DECIMAL_WIDE && column->kind != CSF_KIND_CALENDAR) return COLSHUF_OK;
  size_t place = out->size;
  CSF_TRY(csf_buffer_append_zero(out, 16, err));
  point_slot(out, frame, slot, place, column->kind == CSF_KIND_CALENDAR ? 16 : 0);
  return COLSHUF_OK;
}

static enum colshuf_status append_field(const struct csf_column *column, int64_t row, struct frame frame, int32_t i,
                                        struct csf_buffer *out, struct colshuf_error *err) {
  size_t slot = frame.slots + 8 * (size_t)i;
  const struct csf_column *value = column;
  int64_t value_row = row;
  if (!resolve(&value, &value_row)) {
    set_null(out, frame.start, i);
    return append_null_field(column, frame, slot, out, err);
  }
  if (value->kind == CSF_KIND_DECIMAL_WIDE) return append_decimal(value, value_row, frame, slot, true, out, err);
  return append_value(value, value_row, frame, slot, out, err);
}

static enum colshuf_status append_row(const struct csf_column *columns, int32_t n_columns, int64_t row, struct csf_buffer *out,
                                      struct colshuf_error *err) {
  struct frame frame = {out->size, out->size + null_bytes((uint64_t)n_columns)};
  CSF_TRY(csf_buffer_append_zero(out, null_bytes((uint64_t)n_columns) + 8 * (size_t)n_columns, err));
  for (int32_t i = 0; i < n_columns; i++) CSF_TRY(append_field(&columns[i], row, frame, i, out, err));
  return COLSHUF_OK;
}

static enum colshuf_status append_element(const struct csf_column *column, int64_t row, struct frame frame, size_t width,
                                          int64_t i, struct csf_buffer *out, struct colshuf_error *err) {
  if (!resolve(&column, &row)) {
    set_null(out, frame.start + 8, i);
    return COLSHUF_OK;
  }
  size_t slot = frame.slots + width * (size_t)i;
  if (column->kind == CSF_KIND_DECIMAL_WIDE) return append_decimal(column, row, frame, slot, false, out, err);
  return append_value(column, row, frame, slot, out, err);
}

/* Elements [from, to) of a column as an UnsafeArray. */
static enum colshuf_status append_array(const struct csf_column *column, int64_t from, int64_t to, struct csf_buffer *out,
                                        struct colshuf_error *err) {
  uint64_t n = (uint64_t)(to - from);
  size_t width = value_width(column);
  struct frame frame = {out->size, out->size + 8 + null_bytes(n)};
  CSF_TRY(csf_buffer_append_zero(out, 8 + null_bytes(n) + (size_t)csf_round_up(n * width, 8), err));
  csf_store_u64(out->data + frame.start, n);
  for (int64_t i = from; i < to; i++) CSF_TRY(append_element(column, i, frame, width, i - from, out, err));
  return COLSHUF_OK;
}

/* The size of the keys' array, the keys, the values. */
static enum colshuf_status append_map(const struct csf_column *column, int64_t row, struct csf_buffer *out,
                                      struct colshuf_error *err) {
  int64_t from, to;
  csf_column_items(column, row, &from, &to);
  const struct csf_column *entries = &column->children[0];
  size_t head = out->size;
  CSF_TRY(csf_buffer_append_zero(out, 8, err));
  CSF_TRY(append_array(&entries->children[0], from, to, out, err));
  csf_store_u64(out->data + head, out->size - head - 8);
  return append_array(&entries->children[1], from, to, out, err);
}

static enum colshuf_status append_nested(const struct csf_column *column, int64_t row, struct csf_buffer *out,
                                         struct colshuf_error *err) {
  if (column->kind == CSF_KIND_STRUCT) return append_row(column->children, column->n_children, row, out, err);
  if (column->kind == CSF_KIND_MAP) return append_map(column, row, out, err);
  int64_t from, to;
  csf_column_items(column, row, &from, &to);
  return append_array(&column->children[0], from, to, out, err);
}

/* A valid value that is not a dictionary; its slot is zero already, and as wide as the type needs. */
static enum colshuf_status append_value(const struct csf_column *column, int64_t row, struct frame frame, size_t slot,
                                        struct csf_buffer *out, struct colshuf_error *err) {
  switch (column->kind) {
    case CSF_KIND_BYTES: {
      struct csf_span bytes = csf_column_bytes(column, row);
      return append_bytes(frame, slot, bytes.data, bytes.size, out, err);
    }
    case CSF_KIND_CALENDAR:
      return append_calendar(column, row, frame, slot, out, err);
    case CSF_KIND_STRUCT:
    case CSF_KIND_LIST:
    case CSF_KIND_MAP: {
      size_t place = out->size;
      CSF_TRY(append_nested(column, row, out, err));
      point_slot(out, frame, slot, place, out->size - place);
      return COLSHUF_OK;
    }
    default: {
      uint64_t bits = slot_bits(column, row);
      memcpy(out->data + slot, &bits, value_width(column));
      return COLSHUF_OK;
    }
  }
}

enum colshuf_status csf_unsafe_row_append(const struct csf_column *columns, int32_t n_columns, int64_t row,
                                          struct csf_buffer *out, struct colshuf_error *err) {
  size_t start = out->size;
  CSF_TRY(append_row(columns, n_columns, row, out, err));
  if (out->size - start > INT32_MAX) {
    return csf_fail(err, COLSHUF_LIMIT, "row %" PRId64 " has %zu bytes as a Spark row, which holds at most %d", row,
                    out->size - start, INT32_MAX);
  }
  return COLSHUF_OK;
}
