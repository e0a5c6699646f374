/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns as Spark sees them: which of Spark's types a field stands for, and where its values are in the batch at hand. Built
 * once for a schema, bound to each batch; hashing, ordering and row building read columns only through this.
 */
#ifndef CSF_PARTITION_COLUMN_H
#define CSF_PARTITION_COLUMN_H

#include "arrow/schema.h"

/* The type of Spark that a field is, or the nearest one that holds all its values: docs/formats/partitioning.md. */
enum csf_kind {
  CSF_KIND_NULL,
  CSF_KIND_BOOL,
  CSF_KIND_INT,   /* Spark's 32 bits and below: signed 1, 2, 4 bytes, unsigned 1, 2 */
  CSF_KIND_LONG,  /* Spark's 64 bits: signed 8 bytes, unsigned 4, signed 4 where Spark has a long (times) */
  CSF_KIND_FLOAT, /* half floats too */
  CSF_KIND_DOUBLE,
  CSF_KIND_DECIMAL_LONG, /* precision up to 18: an unscaled long, whatever the width */
  CSF_KIND_DECIMAL_WIDE, /* two's complement of `width` bytes; unsigned 64 bits too, as decimal(20, 0) */
  CSF_KIND_DAY_TIME,     /* Arrow's days and milliseconds: Spark's long of microseconds */
  CSF_KIND_CALENDAR,     /* months, days, nanoseconds */
  CSF_KIND_BYTES,        /* strings and binary of every layout */
  CSF_KIND_LIST,         /* of every layout */
  CSF_KIND_MAP,
  CSF_KIND_STRUCT,
  CSF_KIND_DICTIONARY /* children[0] is the values */
};

struct csf_column {
  const struct csf_field *field;
  enum csf_kind kind;
  bool is_signed; /* INT, LONG, DICTIONARY: how narrow values widen */
  int32_t width;  /* bytes a value, or values of a FIXED_LIST */
  int32_t n_children;
  struct csf_column *children;
  /* Of the batch that is bound: */
  const uint8_t *validity; /* row i is valid when bit base + i is set; NULL = all are */
  int64_t base;
  int64_t length;        /* rows of the array */
  const uint8_t *values; /* buffer 1: values, bits, offsets or views */
  const uint8_t *more;   /* buffer 2: bytes, or sizes of list views */
  const void *const *buffers;
};

/* What a column is used for decides which types are refused, and why. */
enum csf_use { CSF_USE_HASH, CSF_USE_HASH_WITH_MAPS, CSF_USE_ORDER, CSF_USE_ROW };

/* Fills *column and its children (in the arena). UNSUPPORTED names the column and its type, and says what Spark has against it.
 */
enum colshuf_status csf_column_build(struct csf_column *column, const struct csf_field *field, enum csf_use use,
                                     struct csf_arena *arena, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Points the column at array, a valid one of its field. row_base: the row of array (without its own offset) that is row 0. */
void csf_column_bind(struct csf_column *column, const struct ArrowArray *array, int64_t row_base);

static inline bool csf_column_valid(const struct csf_column *column, int64_t row) {
  if (column->kind == CSF_KIND_NULL) return false;
  return column->validity == NULL || csf_bit_get(column->validity, column->base + row);
}

static inline const uint8_t *csf_column_value(const struct csf_column *column, int64_t row) {
  return column->values + (column->base + row) * column->width;
}

/* Values of LAYOUT_FIXED of up to 8 bytes, widened as is_signed says. */
static inline int64_t csf_load_widened(const uint8_t *place, int32_t width, bool is_signed) {
  switch (width) {
    case 1:
      return is_signed ? (int64_t)(int8_t)*place : (int64_t)*place;
    case 2:
      return is_signed ? (int64_t)csf_load_i16(place) : (int64_t)csf_load_u16(place);
    case 4:
      return is_signed ? (int64_t)csf_load_i32(place) : (int64_t)csf_load_u32(place);
    default:
      return csf_load_i64(place);
  }
}

static inline bool csf_column_bool(const struct csf_column *column, int64_t row) {
  return csf_bit_get(column->values, column->base + row);
}

/* INT, LONG; and the index of a DICTIONARY. */
static inline int64_t csf_column_integer(const struct csf_column *column, int64_t row) {
  return csf_load_widened(csf_column_value(column, row), column->width, column->is_signed);
}

/* DECIMAL_LONG: the low 64 bits are the whole value. */
static inline int64_t csf_column_decimal_long(const struct csf_column *column, int64_t row) {
  return csf_load_widened(csf_column_value(column, row), column->width, true);
}

/* The bits of a FLOAT. */
uint32_t csf_half_to_float(uint16_t half);
static inline uint32_t csf_column_float(const struct csf_column *column, int64_t row) {
  const uint8_t *place = csf_column_value(column, row);
  return column->width == 2 ? csf_half_to_float(csf_load_u16(place)) : csf_load_u32(place);
}

static inline uint64_t csf_column_double(const struct csf_column *column, int64_t row) {
  return csf_load_u64(csf_column_value(column, row));
}

/* Days beyond the range of Spark's microseconds wrap: they have no value there. */
static inline int64_t csf_column_day_time(const struct csf_column *column, int64_t row) {
  const uint8_t *place = csf_column_value(column, row);
  uint64_t days = (uint64_t)(int64_t)csf_load_i32(place);
  return (int64_t)(days * UINT64_C(86400000000) + (uint64_t)(csf_load_i32(place + 4) * INT64_C(1000)));
}

/* Spark's interval counts microseconds; what an Arrow interval has below them is cut off. */
struct csf_calendar {
  int32_t months;
  int32_t days;
  int64_t microseconds;
};
static inline struct csf_calendar csf_column_calendar(const struct csf_column *column, int64_t row) {
  const uint8_t *place = csf_column_value(column, row);
  return (struct csf_calendar){csf_load_i32(place), csf_load_i32(place + 4), csf_load_i64(place + 8) / 1000};
}

/* BYTES: the content of a row. */
struct csf_span csf_column_bytes(const struct csf_column *column, int64_t row);

/* LIST and MAP: the rows [*from, *to) of children[0] that a row holds. */
void csf_column_items(const struct csf_column *column, int64_t row, int64_t *from, int64_t *to);

/* DECIMAL_WIDE: the shortest big-endian two's complement (Java's BigInteger.toByteArray); returns its size, 1 .. 33. */
enum { CSF_DECIMAL_BYTES_MAX = 33 };
size_t csf_column_decimal_bytes(const struct csf_column *column, int64_t row, uint8_t out[CSF_DECIMAL_BYTES_MAX]);

#endif
