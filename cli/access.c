/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of arrays. Slow and plain: for people, samples and comparisons, never for the data path. */
#include <math.h>
#include <string.h>

#include "field.h"

static bool bit(const void *bits, int64_t i) {
  return (((const unsigned char *)bits)[i >> 3] >> (i & 7) & 1) != 0;
}

bool value_valid(const struct field *field, const struct ArrowArray *array, int64_t i) {
  if (field->kind == KIND_NULL) return false;
  if (field->kind == KIND_SPARSE_UNION || field->kind == KIND_DENSE_UNION || field->kind == KIND_RUN_END) return true;
  if (array->null_count == 0 || array->n_buffers == 0 || array->buffers[0] == NULL) return true;
  return bit(array->buffers[0], array->offset + i);
}

static int64_t load_integer(const void *data, int64_t i, int width, bool is_signed) {
  const unsigned char *place = (const unsigned char *)data + i * width;
  switch (width) {
    case 1:
      return is_signed ? (int64_t)(signed char)*place : (int64_t)*place;
    case 2: {
      uint16_t value;
      memcpy(&value, place, 2);
      return is_signed ? (int64_t)(int16_t)value : (int64_t)value;
    }
    case 4: {
      uint32_t value;
      memcpy(&value, place, 4);
      return is_signed ? (int64_t)(int32_t)value : (int64_t)value;
    }
    default: {
      int64_t value;
      memcpy(&value, place, 8);
      return value;
    }
  }
}

int64_t value_integer(const struct field *field, const struct ArrowArray *array, int64_t i) {
  if (field->kind == KIND_BOOL) return bit(array->buffers[1], array->offset + i);
  return load_integer(array->buffers[1], array->offset + i, field->width, field->kind != KIND_UINT);
}

static double half_to_double(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double value = exponent == 0 ? ldexp(fraction, -24) : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                                                       : ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double value_real(const struct field *field, const struct ArrowArray *array, int64_t i) {
  const unsigned char *place = (const unsigned char *)array->buffers[1] + (array->offset + i) * field->width;
  if (field->width == 2) {
    uint16_t half;
    memcpy(&half, place, 2);
    return half_to_double(half);
  }
  if (field->width == 4) {
    float value;
    memcpy(&value, place, 4);
    return (double)value;
  }
  double value;
  memcpy(&value, place, 8);
  return value;
}

/* The run that row i of a run-end encoded array lies in: the first whose end is behind it. */
static int64_t find_run(const struct field *field, const struct ArrowArray *array, int64_t i) {
  const struct field *ends = &field->children[0];
  int64_t row = array->offset + i, low = 0, high = array->children[0]->length - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (value_integer(ends, array->children[0], middle) > row) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* Goes to the child and its row that row i of a union stands for; false when there is no such type id. */
static bool enter_union(const struct field **field, const struct ArrowArray **array, int64_t *i) {
  int64_t place = (*array)->offset + *i;
  signed char id = ((const signed char *)(*array)->buffers[0])[place];
  int number = id < 0 ? -1 : (*field)->type_ids[id];
  if (number < 0 || number >= (*field)->n_children) return false;
  *i = (*field)->kind == KIND_DENSE_UNION ? load_integer((*array)->buffers[1], place, 4, true) : place;
  *array = (*array)->children[number];
  *field = &(*field)->children[number];
  return true;
}

bool value_resolve(const struct field **field, const struct ArrowArray **array, int64_t *i) {
  for (;;) {
    if (!value_valid(*field, *array, *i)) return false;
    if ((*field)->dictionary != NULL) {
      *i = value_integer(*field, *array, *i);
      *array = (*array)->dictionary;
      *field = (*field)->dictionary;
    } else if ((*field)->kind == KIND_RUN_END) {
      *i = find_run(*field, *array, *i);
      *array = (*array)->children[1];
      *field = &(*field)->children[1];
    } else if ((*field)->kind == KIND_SPARSE_UNION || (*field)->kind == KIND_DENSE_UNION) {
      if (!enter_union(field, array, i)) return false;
    } else {
      return true;
    }
  }
}

static void view_bytes(const struct ArrowArray *array, int64_t row, const char **bytes, int64_t *size) {
  const char *view = (const char *)array->buffers[1] + 16 * row;
  int32_t parts[4];
  memcpy(parts, view, 16);
  *size = parts[0];
  *bytes = parts[0] <= 12 ? view + 4 : (const char *)array->buffers[2 + parts[2]] + parts[3];
}

void value_bytes(const struct field *field, const struct ArrowArray *array, int64_t i, const char **bytes, int64_t *size) {
  int64_t row = array->offset + i;
  if (field->kind == KIND_BINARY_VIEW || field->kind == KIND_UTF8_VIEW) {
    view_bytes(array, row, bytes, size);
    return;
  }
  if (field->kind == KIND_FIXED_BINARY) {
    *bytes = (const char *)array->buffers[1] + row * field->width;
    *size = field->width;
    return;
  }
  int width = field->kind == KIND_LARGE_BINARY || field->kind == KIND_LARGE_UTF8 ? 8 : 4;
  int64_t start = load_integer(array->buffers[1], row, width, true);
  *size = load_integer(array->buffers[1], row + 1, width, true) - start;
  *bytes = *size == 0 ? "" : (const char *)array->buffers[2] + start;
}

void value_items(const struct field *field, const struct ArrowArray *array, int64_t i, int64_t *first, int64_t *n) {
  int64_t row = array->offset + i;
  bool large = field->kind == KIND_LARGE_LIST || field->kind == KIND_LARGE_LIST_VIEW;
  int width = large ? 8 : 4;
  if (field->kind == KIND_FIXED_LIST) {
    *first = row * field->width;
    *n = field->width;
    return;
  }
  *first = load_integer(array->buffers[1], row, width, true);
  if (field->kind == KIND_LIST_VIEW || field->kind == KIND_LARGE_LIST_VIEW) {
    *n = load_integer(array->buffers[2], row, width, true);
  } else {
    *n = load_integer(array->buffers[1], row + 1, width, true) - *first;
  }
}
