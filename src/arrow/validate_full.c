/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation, what no memory access depends on: null counts, nulls where a field forbids them, UTF-8 (formats.md B.11). Everything here has
 * passed csf_validate_memory.
 */
#include "arrow/utf8.h"
#include "arrow/validate.h"

/* Whether a null at row is no value of anybody: an ancestor is null there, or does not reach it. */
static bool is_hidden(const struct csf_place *at, int64_t row) {
  for (const struct csf_place *up = at->up; up != NULL && up->field->dictionary == NULL; at = up, up = up->up) {
    if (up->field->layout == CSF_LAYOUT_FIXED_LIST) row = up->field->width == 0 ? INT64_MAX : row / up->field->width;
    else if (up->field->layout != CSF_LAYOUT_STRUCT && up->field->layout != CSF_LAYOUT_SPARSE_UNION) return false;
    row -= up->array->offset;
    if (row < 0 || row >= up->array->length || csf_row_is_null(up, row)) return true;
    if (up->field->layout != CSF_LAYOUT_SPARSE_UNION) continue;
    int8_t id = ((const int8_t *)up->array->buffers[0])[up->array->offset + row];
    if (id != up->field->type_ids[at->field - up->field->children]) return true;
  }
  return false;
}

static enum colshuf_status check_required(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  for (int64_t i = 0; i < array->length; i++) {
    if (!csf_row_is_null(at, i) || is_hidden(at, i)) continue;
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": null in a non-nullable field", i);
  }
  return COLSHUF_OK;
}

/* The entries and keys of a map are never null, whatever the schema says of them. */
static bool is_required(const struct csf_place *at) {
  if (!at->field->nullable) return true;
  const struct csf_place *up = at->up;
  if (up == NULL) return false;
  if (up->field->type == CSF_MAP) return true;
  return up->up != NULL && up->up->field->type == CSF_MAP && at->field == up->field->children;
}

static enum colshuf_status check_nulls(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  if (csf_array_validity(at->field, array) == NULL) return COLSHUF_OK;
  int64_t nulls = csf_array_null_count(at->field, array, 0, array->length);
  if (array->null_count >= 0 && array->null_count != nulls) {
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "null count %" PRId64 ", but %" PRId64 " nulls", array->null_count, nulls);
  }
  return nulls > 0 && is_required(at) ? check_required(at) : COLSHUF_OK;
}

static enum colshuf_status fail_text(const struct csf_place *at, const uint8_t *offsets, bool wide, const uint8_t *text) {
  for (int64_t i = 0; i < at->array->length; i++) {
    int64_t start = csf_offset_at(offsets, i, wide), end = csf_offset_at(offsets, i + 1, wide);
    if (csf_utf8_valid(text + start, (size_t)(end - start))) continue;
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": its %" PRId64 " bytes at %" PRId64 " are not UTF-8", i, end - start, start);
  }
  return COLSHUF_OK;
}

/* Negative where byte continues a character: those alone lie below -64 when read as signed. */
static inline int continues(const uint8_t *text, int64_t offset) {
  return (int8_t)text[offset] + 64;
}

/* Whether no offset falls inside a character of well-formed text. Offsets at the very end have no byte to look at. */
static bool start_characters(const uint8_t *offsets, bool wide, int64_t n, const uint8_t *text) {
  int64_t end = csf_offset_at(offsets, n, wide), i = 0;
  while (n > 0 && csf_offset_at(offsets, n - 1, wide) == end) n--;
  int inside = 0;
  if (wide) {
    for (; i < n; i++) inside |= continues(text, csf_load_i64(offsets + 8 * i));
    return inside >= 0;
  }
  for (; i + 2 <= n; i += 2) { /* two at a load: offsets are known not to be negative */
    uint64_t two = csf_load_u64(offsets + 4 * i);
    inside |= continues(text, (int64_t)(two & UINT32_MAX)) | continues(text, (int64_t)(two >> 32));
  }
  if (i < n) inside |= continues(text, csf_load_i32(offsets + 4 * i));
  return inside >= 0;
}

/* All texts lie side by side: they are well-formed when the whole is, and each starts with a character. Texts of null rows count. */
static enum colshuf_status check_texts(const struct csf_place *at, bool wide) {
  const struct ArrowArray *array = at->array;
  const uint8_t *offsets = (const uint8_t *)array->buffers[1] + array->offset * (wide ? 8 : 4);
  const uint8_t *text = array->buffers[2];
  int64_t start = csf_offset_at(offsets, 0, wide), end = csf_offset_at(offsets, array->length, wide);
  if (start == end) return COLSHUF_OK;
  enum csf_utf8 whole = csf_utf8_check(text + start, (size_t)(end - start));
  if (whole == CSF_UTF8_ASCII) return COLSHUF_OK;
  bool good = whole == CSF_UTF8_WIDE && start_characters(offsets, wide, array->length, text);
  return good ? COLSHUF_OK : fail_text(at, offsets, wide, text);
}

enum colshuf_status csf_validate_full(const struct csf_place *at) {
  if (at->array->length == 0) return COLSHUF_OK;
  CSF_TRY(check_nulls(at));
  switch (at->field->layout) {
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      if (at->field->type != CSF_UTF8 && at->field->type != CSF_LARGE_UTF8) return COLSHUF_OK;
      return check_texts(at, at->field->layout == CSF_LAYOUT_BINARY64);
    case CSF_LAYOUT_VIEW:
      return csf_validate_views(at);
    default:
      return COLSHUF_OK;
  }
}
