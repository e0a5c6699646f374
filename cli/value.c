/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calendar.h"
#include "json.h"

static void hex(struct text *out, const char *bytes, int64_t size) {
  static const char digits[] = "0123456789abcdef";
  for (int64_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    text_char(out, digits[byte >> 4]);
    text_char(out, digits[byte & 15]);
  }
}

/* Whether `back`, rounded to the width, is value again. */
static bool same_real(double back, double value, int width) {
  if (width == 8) return back == value;
  if (width == 4) return (float)back == (float)value;
  int exponent = value == 0 ? -14 : ilogb(value);
  double half_step = ldexp(1, (exponent < -14 ? -14 : exponent) - 11);
  return fabs(back - value) < half_step;
}

/* The fewest digits that give the same number again. */
static void real_text(struct text *out, double value, int width) {
  char digits[40];
  int precision = width == 2 ? 3 : width == 4 ? 6 : 15, most = width == 2 ? 5 : width == 4 ? 9 : 17;
  if (isnan(value)) {
    text_put(out, "NaN");
    return;
  }
  if (isinf(value)) {
    text_put(out, value < 0 ? "-Infinity" : "Infinity");
    return;
  }
  for (; precision <= most; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (same_real(strtod(digits, NULL), value, width)) break;
  }
  text_put(out, digits);
  if (strpbrk(digits, ".e") == NULL) text_put(out, ".0");
}

/* Divides the little-endian number by ten in place; the remainder. */
static unsigned divide_by_ten(uint32_t *limbs, int n) {
  uint64_t remainder = 0;
  for (int i = n - 1; i >= 0; i--) {
    uint64_t part = remainder << 32 | limbs[i];
    limbs[i] = (uint32_t)(part / 10);
    remainder = part % 10;
  }
  return (unsigned)remainder;
}

static bool is_zero(const uint32_t *limbs, int n) {
  for (int i = 0; i < n; i++) {
    if (limbs[i] != 0) return false;
  }
  return true;
}

static void negate(uint32_t *limbs, int n) {
  uint64_t carry = 1;
  for (int i = 0; i < n; i++) {
    carry += (uint32_t)~limbs[i];
    limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

static void decimal_text(struct text *out, const unsigned char *bytes, int width, int scale) {
  uint32_t limbs[8] = {0};
  char digits[90]; /* 2^255 has 77, and a scale may ask for more zeros than that */
  int n = width / 4, count = 0;
  memcpy(limbs, bytes, (size_t)width);
  bool negative = (limbs[n - 1] >> 31) != 0;
  if (negative) negate(limbs, n);
  while (!is_zero(limbs, n) || count == 0) digits[count++] = (char)('0' + divide_by_ten(limbs, n));
  if (negative) text_char(out, '-');
  int whole = count - (scale > 0 ? scale : 0);
  if (whole <= 0) text_char(out, '0');
  for (int i = count - 1; i >= count - whole && i >= 0; i--) text_char(out, digits[i]);
  bool zero = count == 1 && digits[0] == '0';
  for (int i = 0; i < -scale && !zero; i++) text_char(out, '0');
  if (scale <= 0) return;
  text_char(out, '.');
  for (int i = scale - 1; i >= 0; i--) {
    if (i < count) text_char(out, digits[i]);
    else text_char(out, '0');
  }
}

static void interval(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  const char *place = (const char *)array->buffers[1] + (array->offset + i) * field->width;
  int32_t parts[2];
  memcpy(parts, place, field->width == 4 ? 4 : 8);
  if (field->kind == KIND_INTERVAL_MONTHS) {
    interval_text(out, parts[0], 0, 0, 0);
  } else if (field->kind == KIND_INTERVAL_DAY_TIME) {
    interval_text(out, 0, parts[0], parts[1], 3);
  } else {
    int64_t nanoseconds;
    memcpy(&nanoseconds, place + 8, 8);
    interval_text(out, parts[0], parts[1], nanoseconds, 9);
  }
}

/* A date that is given in milliseconds and is no whole day shows its time too. */
static void date64(int64_t milliseconds, struct text *out) {
  if (milliseconds % 86400000 == 0) {
    date_text(out, milliseconds / 86400000);
  } else {
    timestamp_text(out, milliseconds, 3, NULL, ' ');
  }
}

/* Everything that is not nested and neither text nor binary. */
static void scalar(const struct field *field, const struct ArrowArray *array, int64_t i, char between, struct text *out) {
  switch (field->kind) {
    case KIND_BOOL:
      text_put(out, value_integer(field, array, i) != 0 ? "true" : "false");
      break;
    case KIND_INT:
      text_format(out, "%" PRId64, value_integer(field, array, i));
      break;
    case KIND_UINT:
      text_format(out, "%" PRIu64, (uint64_t)value_integer(field, array, i));
      break;
    case KIND_FLOAT:
      real_text(out, value_real(field, array, i), field->width);
      break;
    case KIND_DECIMAL:
      decimal_text(out, (const unsigned char *)array->buffers[1] + (array->offset + i) * field->width, field->width, field->scale);
      break;
    case KIND_DATE32:
      date_text(out, value_integer(field, array, i));
      break;
    case KIND_DATE64:
      date64(value_integer(field, array, i), out);
      break;
    case KIND_TIME:
      time_of_day_text(out, value_integer(field, array, i), field->unit);
      break;
    case KIND_TIMESTAMP:
      timestamp_text(out, value_integer(field, array, i), field->unit, field->timezone, between);
      break;
    case KIND_DURATION:
      duration_text(out, value_integer(field, array, i), field->unit);
      break;
    case KIND_INTERVAL_MONTHS:
    case KIND_INTERVAL_DAY_TIME:
    case KIND_INTERVAL_MONTH_DAY_NANO:
      interval(field, array, i, out);
      break;
    default:
      text_put(out, "?");
  }
}

static bool is_text(enum kind kind) {
  return kind == KIND_UTF8 || kind == KIND_LARGE_UTF8 || kind == KIND_UTF8_VIEW;
}

static bool is_binary(enum kind kind) {
  return kind == KIND_BINARY || kind == KIND_LARGE_BINARY || kind == KIND_BINARY_VIEW || kind == KIND_FIXED_BINARY;
}

static bool is_nested(enum kind kind) {
  return kind >= KIND_LIST;
}

static void list_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  int64_t first, n;
  value_items(field, array, i, &first, &n);
  text_char(out, '[');
  for (int64_t k = 0; k < n; k++) {
    if (k > 0) text_char(out, ',');
    value_json(&field->children[0], array->children[0], first + k, out);
  }
  text_char(out, ']');
}

static void struct_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  text_char(out, '{');
  for (int c = 0; c < field->n_children; c++) {
    if (c > 0) text_char(out, ',');
    json_quote(out, field->children[c].name, strlen(field->children[c].name));
    text_char(out, ':');
    value_json(&field->children[c], array->children[c], array->offset + i, out);
  }
  text_char(out, '}');
}

/* An object whose keys are the text of the map's keys; repeated ones stay. */
static void map_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  const struct field *entries = &field->children[0];
  const struct ArrowArray *pairs = array->children[0];
  int64_t first, n;
  value_items(field, array, i, &first, &n);
  text_char(out, '{');
  for (int64_t k = 0; k < n; k++) {
    struct text key = {0};
    int64_t row = pairs->offset + first + k;
    if (k > 0) text_char(out, ',');
    if (!value_text(&entries->children[0], pairs->children[0], row, &key)) text_put(&key, "null");
    json_quote(out, key.data == NULL ? "" : key.data, key.size);
    text_char(out, ':');
    value_json(&entries->children[1], pairs->children[1], row, out);
    text_free(&key);
  }
  text_char(out, '}');
}

static void nested_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  if (field->kind == KIND_STRUCT) {
    struct_json(field, array, i, out);
  } else if (field->kind == KIND_MAP) {
    map_json(field, array, i, out);
  } else {
    list_json(field, array, i, out);
  }
}

/* JSON has no word for these three. */
static bool is_json_number(const struct field *field, const struct ArrowArray *array, int64_t i) {
  if (field->kind == KIND_FLOAT) return isfinite(value_real(field, array, i));
  return field->kind == KIND_BOOL || field->kind == KIND_INT || field->kind == KIND_UINT || field->kind == KIND_DECIMAL;
}

void value_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  const char *bytes;
  int64_t size;
  if (!value_resolve(&field, &array, &i)) {
    text_put(out, "null");
  } else if (is_nested(field->kind)) {
    nested_json(field, array, i, out);
  } else if (is_text(field->kind)) {
    value_bytes(field, array, i, &bytes, &size);
    json_quote(out, bytes, (size_t)size);
  } else if (is_binary(field->kind)) {
    value_bytes(field, array, i, &bytes, &size);
    text_char(out, '"');
    hex(out, bytes, size);
    text_char(out, '"');
  } else {
    bool bare = is_json_number(field, array, i);
    if (!bare) text_char(out, '"');
    scalar(field, array, i, 'T', out);
    if (!bare) text_char(out, '"');
  }
}

bool value_text(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out) {
  const char *bytes;
  int64_t size;
  if (!value_resolve(&field, &array, &i)) return false;
  if (is_nested(field->kind)) {
    nested_json(field, array, i, out);
  } else if (is_text(field->kind)) {
    value_bytes(field, array, i, &bytes, &size);
    text_add(out, bytes, (size_t)size);
  } else if (is_binary(field->kind)) {
    value_bytes(field, array, i, &bytes, &size);
    hex(out, bytes, size);
  } else {
    scalar(field, array, i, ' ', out);
  }
  return true;
}
