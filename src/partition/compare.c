/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/compare.h"

#include "partition/murmur3.h"

#define SIGN64 0x8000000000000000u

/*
 * Floats as numbers that order as Spark orders them: both zeros equal, all NaNs equal and above infinity; or as Comet does, by
 * IEEE's total order. A negative float's bits grow as it falls, a positive one's as it rises.
 */
static uint32_t float_order(uint32_t bits, enum colshuf_rules rules) {
  if (rules != COLSHUF_RULES_COMET) bits = csf_float_bits(bits, true);
  return bits ^ (bits >> 31 ? UINT32_MAX : 0x80000000u);
}

static uint64_t double_order(uint64_t bits, enum colshuf_rules rules) {
  if (rules != COLSHUF_RULES_COMET) bits = csf_double_bits(bits, true);
  return bits ^ (bits >> 63 ? UINT64_MAX : SIGN64);
}

static int compare_unsigned(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_bytes(struct csf_span a, struct csf_span b) {
  size_t size = a.size < b.size ? a.size : b.size;
  int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
  return order != 0 ? order : compare_unsigned(a.size, b.size);
}

/* Sixty-four bits of a two's complement number of any width, from bit 64 * word on; beyond the width the sign. */
static uint64_t decimal_word(const struct csf_column *column, int64_t row, int32_t word) {
  const uint8_t *place = csf_column_value(column, row);
  if (8 * word < column->width) return csf_load_u64(place + 8 * (int64_t)word);
  return column->is_signed && (place[column->width - 1] & 0x80) ? UINT64_MAX : 0;
}

static int compare_decimals(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row) {
  int32_t top = (a->width > b->width ? a->width : b->width) / 8 - 1;
  uint64_t flip = a->is_signed ? SIGN64 : 0;
  int order = compare_unsigned(decimal_word(a, a_row, top) ^ flip, decimal_word(b, b_row, top) ^ flip);
  for (int32_t word = top - 1; word >= 0 && order == 0; word--) {
    order = compare_unsigned(decimal_word(a, a_row, word), decimal_word(b, b_row, word));
  }
  return order;
}

static const struct csf_order nested_order = {.descending = false, .nulls_last = false};

static int compare_nullable(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                            struct csf_order order, enum colshuf_rules rules);

static int compare_lists(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                         enum colshuf_rules rules) {
  int64_t a_at, a_end, b_at, b_end;
  csf_column_items(a, a_row, &a_at, &a_end);
  csf_column_items(b, b_row, &b_at, &b_end);
  for (; a_at < a_end && b_at < b_end; a_at++, b_at++) {
    int order = compare_nullable(&a->children[0], a_at, &b->children[0], b_at, nested_order, rules);
    if (order != 0) return order;
  }
  return (a_at < a_end) - (b_at < b_end);
}

static int compare_structs(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                           enum colshuf_rules rules) {
  for (int32_t i = 0; i < a->n_children; i++) {
    int order = compare_nullable(&a->children[i], a_row, &b->children[i], b_row, nested_order, rules);
    if (order != 0) return order;
  }
  return 0;
}

/* Through dictionaries to the value; false when it is null. */
static bool resolve(const struct csf_column **column, int64_t *row) {
  while (csf_column_valid(*column, *row)) {
    if ((*column)->kind != CSF_KIND_DICTIONARY) return true;
    *row = csf_column_integer(*column, *row);
    *column = &(*column)->children[0];
  }
  return false;
}

bool csf_order_is_null(const struct csf_column *column, int64_t row) {
  return !resolve(&column, &row);
}

bool csf_order_may_be_null(const struct csf_column *column) {
  if (column->kind == CSF_KIND_NULL || column->validity != NULL) return true;
  return column->kind == CSF_KIND_DICTIONARY && csf_order_may_be_null(&column->children[0]);
}

static int compare_resolved(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                            enum colshuf_rules rules) {
  switch (a->kind) {
    case CSF_KIND_BYTES:
      return compare_bytes(csf_column_bytes(a, a_row), csf_column_bytes(b, b_row));
    case CSF_KIND_DECIMAL_WIDE:
      return compare_decimals(a, a_row, b, b_row);
    case CSF_KIND_LIST:
      return compare_lists(a, a_row, b, b_row, rules);
    case CSF_KIND_STRUCT:
      return compare_structs(a, a_row, b, b_row, rules);
    default:
      return compare_unsigned(csf_order_prefix(a, a_row, rules), csf_order_prefix(b, b_row, rules));
  }
}

int csf_compare_values(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                       enum colshuf_rules rules) {
  return compare_nullable(a, a_row, b, b_row, nested_order, rules);
}

static int compare_nullable(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                            struct csf_order order, enum colshuf_rules rules) {
  bool a_valid = resolve(&a, &a_row), b_valid = resolve(&b, &b_row);
  if (!a_valid || !b_valid) {
    int first = (b_valid ? 0 : 1) - (a_valid ? 0 : 1); /* the null one is less */
    return order.nulls_last ? -first : first;
  }
  int result = compare_resolved(a, a_row, b, b_row, rules);
  return order.descending ? -((result > 0) - (result < 0)) : result;
}

int csf_compare_rows(const struct csf_column *a, int64_t a_row, const struct csf_column *b, int64_t b_row,
                     const struct csf_order *orders, int32_t n_keys, enum colshuf_rules rules) {
  for (int32_t i = 0; i < n_keys; i++) {
    int order = compare_nullable(&a[i], a_row, &b[i], b_row, orders[i], rules);
    if (order != 0) return order;
  }
  return 0;
}

/* The first eight bytes, the first being the most significant; what is missing counts as zero. */
static uint64_t bytes_prefix(struct csf_span bytes) {
  if (bytes.size >= 8) return csf_load_be64(bytes.data);
  uint8_t padded[8] = {0};
  if (bytes.size > 0) memcpy(padded, bytes.data, bytes.size);
  return csf_load_be64(padded);
}

/*
 * Wide decimals of any size in 64 bits, as a float does it: sign, count of bits, then the bits below the leading one. Of a
 * negative number the complement is taken, before and after.
 */
static uint64_t decimal_prefix(const struct csf_column *column, int64_t row) {
  if (!column->is_signed) return csf_load_u64(csf_column_value(column, row));
  int32_t word = column->width / 8 - 1;
  uint64_t sign = decimal_word(column, row, word) >> 63 ? UINT64_MAX : 0;
  while (word > 0 && (decimal_word(column, row, word) ^ sign) == 0) word--;
  uint64_t high = decimal_word(column, row, word) ^ sign;
  if (high == 0) return SIGN64 ^ sign;
  int zeros = __builtin_clzll(high);
  uint64_t low = word > 0 ? decimal_word(column, row, word - 1) ^ sign : 0;
  uint64_t bits = zeros > 0 ? high << zeros | low >> (64 - zeros) : high;
  uint64_t size = (uint64_t)(64 * word + 64 - zeros); /* 1 .. 255: the sign takes a bit */
  return (SIGN64 | size << 55 | (bits << 1) >> 9) ^ sign;
}

uint64_t csf_order_prefix(const struct csf_column *column, int64_t row, enum colshuf_rules rules) {
  switch (column->kind) {
    case CSF_KIND_BOOL:
      return csf_column_bool(column, row);
    case CSF_KIND_INT:
    case CSF_KIND_LONG:
      return (uint64_t)csf_column_integer(column, row) ^ SIGN64;
    case CSF_KIND_DECIMAL_LONG:
      return (uint64_t)csf_column_decimal_long(column, row) ^ SIGN64;
    case CSF_KIND_DAY_TIME:
      return (uint64_t)csf_column_day_time(column, row) ^ SIGN64;
    case CSF_KIND_FLOAT:
      return float_order(csf_column_float(column, row), rules);
    case CSF_KIND_DOUBLE:
      return double_order(csf_column_double(column, row), rules);
    case CSF_KIND_DECIMAL_WIDE:
      return decimal_prefix(column, row);
    case CSF_KIND_BYTES:
      return bytes_prefix(csf_column_bytes(column, row));
    case CSF_KIND_DICTIONARY: {
      int64_t value_row = csf_column_integer(column, row);
      const struct csf_column *values = &column->children[0];
      return csf_column_valid(values, value_row) ? csf_order_prefix(values, value_row, rules) : 0;
    }
    default:
      return 0;
  }
}

bool csf_order_prefix_is_exact(const struct csf_column *column) {
  switch (column->kind) {
    case CSF_KIND_BOOL:
    case CSF_KIND_INT:
    case CSF_KIND_LONG:
    case CSF_KIND_DECIMAL_LONG:
    case CSF_KIND_DAY_TIME:
    case CSF_KIND_FLOAT:
    case CSF_KIND_DOUBLE:
      return true;
    case CSF_KIND_DECIMAL_WIDE:
      return !column->is_signed;
    case CSF_KIND_DICTIONARY:
      return csf_order_prefix_is_exact(&column->children[0]);
    default:
      return false;
  }
}

static void prefixes_of_4(const uint8_t *place, size_t n, bool is_signed, uint64_t *out) {
  if (is_signed) {
    for (size_t i = 0; i < n; i++) out[i] = (uint64_t)(int64_t)csf_load_i32(place + 4 * i) ^ SIGN64;
  } else {
    for (size_t i = 0; i < n; i++) out[i] = csf_load_u32(place + 4 * i) ^ SIGN64;
  }
}

/* The types that are keys most often, in loops without a switch; then any. */
void csf_order_prefixes(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint64_t *out) {
  const uint8_t *place = column->values + (column->base + start) * column->width;
  enum csf_kind kind = column->kind;
  if ((kind == CSF_KIND_INT || kind == CSF_KIND_LONG) && column->width == 4) {
    prefixes_of_4(place, n, column->is_signed, out);
  } else if ((kind == CSF_KIND_LONG || kind == CSF_KIND_DECIMAL_LONG) && column->width == 8) {
    for (size_t i = 0; i < n; i++) out[i] = csf_load_u64(place + 8 * i) ^ SIGN64;
  } else if (kind == CSF_KIND_FLOAT && column->width == 4) {
    for (size_t i = 0; i < n; i++) out[i] = float_order(csf_load_u32(place + 4 * i), rules);
  } else if (kind == CSF_KIND_DOUBLE) {
    for (size_t i = 0; i < n; i++) out[i] = double_order(csf_load_u64(place + 8 * i), rules);
  } else {
    for (size_t i = 0; i < n; i++) {
      int64_t row = start + (int64_t)i;
      out[i] = csf_column_valid(column, row) ? csf_order_prefix(column, row, rules) : 0;
    }
  }
}
