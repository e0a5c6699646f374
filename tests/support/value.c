/* SPDX-License-Identifier: Apache-2.0 */
#include "support/value.h"

#include <stdarg.h>
#include <stdlib.h>

static void put_text(struct csf_buffer *out, const char *text, size_t size) {
  if (csf_buffer_append(out, text, size, NULL) != COLSHUF_OK) abort();
}

static void put(struct csf_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct csf_buffer *out, const char *format, ...) {
  char text[64];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  put_text(out, text, (size_t)size);
}

/* A signed or unsigned integer of width bytes at place i, which need not be aligned. */
static int64_t integer_at(const void *data, int64_t i, int32_t width, bool is_signed) {
  uint64_t value = 0;
  memcpy(&value, (const uint8_t *)data + i * width, (size_t)width);
  int unused = 64 - 8 * width;
  return is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static bool is_signed_integer(enum csf_type type) {
  return type >= CSF_INT8 && type <= CSF_INT64;
}

static bool is_integer(enum csf_type type) {
  return (type >= CSF_INT8 && type <= CSF_UINT64) || type == CSF_DATE32 || type == CSF_DATE64 || type == CSF_TIME32 ||
         type == CSF_TIME64 || type == CSF_TIMESTAMP || type == CSF_DURATION || type == CSF_INTERVAL_YEAR_MONTH;
}

/* data may be NULL where there are no bytes. */
static void put_bytes(struct csf_buffer *out, const void *data, int64_t start, int64_t size) {
  const uint8_t *bytes = size == 0 ? NULL : (const uint8_t *)data + start;
  put(out, "'");
  for (int64_t i = 0; i < size; i++) {
    if (bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '\'' && bytes[i] != '\\') {
      put_text(out, (const char *)&bytes[i], 1);
    } else {
      put(out, "\\x%02x", bytes[i]);
    }
  }
  put(out, "'");
}

static void put_fixed(const struct csf_field *field, const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  const uint8_t *data = array->buffers[1];
  if (is_integer(field->type)) {
    bool is_signed = field->type < CSF_UINT8 || field->type > CSF_UINT64;
    int64_t value = integer_at(data, i, field->width, is_signed);
    if (is_signed) put(out, "%" PRId64, value);
    if (!is_signed) put(out, "%" PRIu64, (uint64_t)value);
  } else {
    put(out, "x");
    for (int32_t b = field->width; b-- > 0;) put(out, "%02x", data[i * field->width + b]);
  }
}

static void put_view(const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  const uint8_t *view = (const uint8_t *)array->buffers[1] + 16 * i;
  int64_t size = integer_at(view, 0, 4, true);
  if (size <= 12) {
    put_bytes(out, view, 4, size);
  } else {
    int64_t buffer = integer_at(view, 2, 4, true), offset = integer_at(view, 3, 4, true);
    put_bytes(out, array->buffers[2 + buffer], offset, size);
  }
}

static void put_list(const struct csf_field *field, const struct ArrowArray *array, int64_t start, int64_t size,
                     struct csf_buffer *out) {
  put(out, "[");
  for (int64_t i = 0; i < size; i++) {
    if (i > 0) put(out, ", ");
    test_value_text(&field->children[0], array->children[0], start + i, out);
  }
  put(out, "]");
}

static void put_struct(const struct csf_field *field, const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  put(out, "{");
  for (int32_t c = 0; c < field->n_children; c++) {
    if (c > 0) put(out, ", ");
    test_value_text(&field->children[c], array->children[c], i, out);
  }
  put(out, "}");
}

static void put_union(const struct csf_field *field, const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  int8_t id = ((const int8_t *)array->buffers[0])[i];
  int64_t row = field->layout == CSF_LAYOUT_DENSE_UNION ? integer_at(array->buffers[1], i, 4, true) : i;
  for (int32_t c = 0; c < field->n_children; c++) {
    if (field->type_ids[c] != id) continue;
    put(out, "%d:", id);
    test_value_text(&field->children[c], array->children[c], row, out);
    return;
  }
  put(out, "(no member %d)", id);
}

static void put_run(const struct csf_field *field, const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  const struct ArrowArray *ends = array->children[0];
  for (int64_t run = 0; run < ends->length; run++) {
    if (integer_at(ends->buffers[1], ends->offset + run, field->children[0].width, true) <= i) continue;
    test_value_text(&field->children[1], array->children[1], run, out);
    return;
  }
  put(out, "(no run)");
}

static void put_index(const struct csf_field *field, const struct ArrowArray *array, int64_t i, struct csf_buffer *out) {
  int64_t index = integer_at(array->buffers[1], i, field->width, is_signed_integer(field->type));
  if (index < 0 || index >= array->dictionary->length) {
    put(out, "(no value %" PRId64 ")", index);
  } else {
    test_value_text(field->dictionary, array->dictionary, index, out);
  }
}

static bool has_validity(enum csf_layout layout) {
  return layout != CSF_LAYOUT_NULL && layout != CSF_LAYOUT_SPARSE_UNION && layout != CSF_LAYOUT_DENSE_UNION &&
         layout != CSF_LAYOUT_RUN_END;
}

static bool is_null(const struct csf_field *field, const struct ArrowArray *array, int64_t i) {
  if (field->layout == CSF_LAYOUT_NULL) return true;
  if (!has_validity(field->layout) || array->null_count == 0 || array->buffers[0] == NULL) return false;
  return (((const uint8_t *)array->buffers[0])[i / 8] >> (i % 8) & 1) == 0;
}

void test_value_text(const struct csf_field *field, const struct ArrowArray *array, int64_t row, struct csf_buffer *out) {
  int64_t i = array->offset + row;
  const void *const *buffers = array->buffers;
  if (is_null(field, array, i)) {
    put(out, "null");
    return;
  }
  if (field->dictionary != NULL) {
    put_index(field, array, i, out);
    return;
  }
  int32_t wide =
      field->layout == CSF_LAYOUT_BINARY64 || field->layout == CSF_LAYOUT_LIST64 || field->layout == CSF_LAYOUT_LIST_VIEW64 ? 8
                                                                                                                            : 4;
  int64_t start, end;
  switch (field->layout) {
    case CSF_LAYOUT_BITS:
      put(out, "%s", ((const uint8_t *)buffers[1])[i / 8] >> (i % 8) & 1 ? "true" : "false");
      break;
    case CSF_LAYOUT_FIXED:
      put_fixed(field, array, i, out);
      break;
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
      start = integer_at(buffers[1], i, wide, true);
      end = integer_at(buffers[1], i + 1, wide, true);
      if (field->n_children == 0) put_bytes(out, buffers[2], start, end - start);
      if (field->n_children > 0) put_list(field, array, start, end - start, out);
      break;
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      put_list(field, array, integer_at(buffers[1], i, wide, true), integer_at(buffers[2], i, wide, true), out);
      break;
    case CSF_LAYOUT_VIEW:
      put_view(array, i, out);
      break;
    case CSF_LAYOUT_FIXED_LIST:
      put_list(field, array, i * field->width, field->width, out);
      break;
    case CSF_LAYOUT_STRUCT:
      put_struct(field, array, i, out);
      break;
    case CSF_LAYOUT_SPARSE_UNION:
    case CSF_LAYOUT_DENSE_UNION:
      put_union(field, array, i, out);
      break;
    case CSF_LAYOUT_RUN_END:
      put_run(field, array, i, out);
      break;
    case CSF_LAYOUT_NULL:
      break;
  }
}

uint64_t test_rows_hash(const struct csf_field *field, const struct ArrowArray *array, int64_t start, int64_t n) {
  struct csf_buffer text;
  csf_buffer_init(&text, NULL);
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t row = start; row < start + n; row++) {
    text.size = 0;
    test_value_text(field, array, row, &text);
    put(&text, "\n");
    for (size_t i = 0; i < text.size; i++) hash = (hash ^ text.data[i]) * 0x100000001b3u;
  }
  csf_buffer_clear(&text);
  return hash;
}

bool test_rows_same(const char *file, int line, const struct csf_field *a_field, const struct ArrowArray *a, int64_t a_start,
                    const struct csf_field *b_field, const struct ArrowArray *b, int64_t b_start, int64_t n) {
  struct csf_buffer a_text, b_text;
  csf_buffer_init(&a_text, NULL);
  csf_buffer_init(&b_text, NULL);
  bool same = true;
  for (int64_t row = 0; row < n && same; row++) {
    a_text.size = b_text.size = 0;
    test_value_text(a_field, a, a_start + row, &a_text);
    test_value_text(b_field, b, b_start + row, &b_text);
    same = a_text.size == b_text.size && memcmp(a_text.data, b_text.data, a_text.size) == 0;
    if (same) continue;
    char type[200];
    csf_field_describe(a_field, type, sizeof type);
    test_fail(file, line, "row %" PRId64 " of %s is %.*s, not %.*s", row, type, (int)a_text.size, (const char *)a_text.data,
              (int)b_text.size, (const char *)b_text.data);
  }
  csf_buffer_clear(&a_text);
  csf_buffer_clear(&b_text);
  return same;
}

void test_check_text(const char *file, int line, const struct csf_field *field, const struct ArrowArray *array,
                     const char *wanted) {
  struct csf_buffer text;
  csf_buffer_init(&text, NULL);
  for (int64_t row = 0; row < array->length; row++) {
    if (row > 0) put(&text, " ");
    test_value_text(field, array, row, &text);
  }
  put_text(&text, "", 1);
  if (strcmp((const char *)text.data, wanted) != 0)
    test_fail(file, line, "values are %s, not %s", (const char *)text.data, wanted);
  csf_buffer_clear(&text);
}
