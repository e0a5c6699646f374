/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation, the values that lead to other memory: offsets, sizes, indices, views, type ids and run ends of one array (formats.md
 * B.11). Each is first asked as a whole, as fast as the machine can; the row is sought only when the answer is no.
 */
#include "arrow/scan.h"
#include "arrow/validate.h"

static enum colshuf_status fail_offsets(const struct csf_place *at, const uint8_t *offsets, bool wide) {
  int64_t last = 0;
  for (int64_t i = 0; i <= at->array->length; i++) {
    int64_t next = csf_offset_at(offsets, i, wide);
    if (next < 0) return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": offset %" PRId64 " is negative", i, next);
    if (next < last) {
      return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": offset falls from %" PRId64 " to %" PRId64, i - 1, last, next);
    }
    last = next;
  }
  return COLSHUF_OK;
}

static bool offsets_rise(const uint8_t *offsets, int64_t n, bool wide, bool ends_only) {
  int64_t first = csf_offset_at(offsets, 0, wide);
  if (ends_only) return first >= 0 && first <= csf_offset_at(offsets, n, wide);
  return wide ? csf_scan()->rises64(offsets, n) : csf_scan()->rises32(offsets, n);
}

/* Offsets never fall and end within limit (bytes, or rows of the child). */
static enum colshuf_status check_offsets(const struct csf_place *at, bool wide, int64_t limit, const char *what) {
  const struct ArrowArray *array = at->array;
  const uint8_t *offsets = (const uint8_t *)array->buffers[1] + array->offset * (wide ? 8 : 4);
  bool ends_only = at->validation->level == CSF_VALIDATE_ENDS;
  if (!offsets_rise(offsets, array->length, wide, ends_only)) return fail_offsets(at, offsets, wide);
  int64_t last = csf_offset_at(offsets, array->length, wide);
  if (last <= limit) return COLSHUF_OK;
  return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": offset %" PRId64 " is past the %" PRId64 " %s", array->length - 1, last,
                     limit, what);
}

static enum colshuf_status check_list_views(const struct csf_place *at, bool wide) {
  const struct ArrowArray *array = at->array;
  int64_t limit = array->children[0]->length, width = wide ? 8 : 4;
  const uint8_t *offsets = (const uint8_t *)array->buffers[1] + array->offset * width;
  const uint8_t *sizes = (const uint8_t *)array->buffers[2] + array->offset * width;
  for (int64_t i = 0; i < array->length; i++) {
    int64_t start = csf_offset_at(offsets, i, wide), size = csf_offset_at(sizes, i, wide);
    if (CSF_LIKELY(start >= 0 && size >= 0 && start <= limit && size <= limit - start)) continue;
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": list of %" PRId64 " values at %" PRId64 " is outside of %" PRId64, i, size,
                       start, limit);
  }
  return COLSHUF_OK;
}

/* A view that does not fit: says why. */
static enum colshuf_status fail_view(const struct csf_place *at, int64_t row, const uint8_t *view) {
  int32_t length = csf_load_i32(view), buffer = csf_load_i32(view + 8), offset = csf_load_i32(view + 12);
  int64_t n = at->array->n_buffers - 3;
  if (length < 0) return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": view has length %" PRId32, row, length);
  if (buffer < 0 || buffer >= n) {
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": view points to data buffer %" PRId32 " of %" PRId64, row, buffer, n);
  }
  const uint8_t *sizes = at->array->buffers[n + 2];
  return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": view of %" PRId32 " bytes at %" PRId32 " is outside of data buffer %" PRId32
                     " of %" PRId64 " bytes", row, length, offset, buffer, csf_load_i64(sizes + 8 * (int64_t)buffer));
}

enum { INLINE_VIEW = 12 };

static enum colshuf_status check_views(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  const uint8_t *view = (const uint8_t *)array->buffers[1] + array->offset * 16;
  const uint8_t *sizes = array->buffers[array->n_buffers - 1];
  uint64_t n = (uint64_t)array->n_buffers - 3;
  for (int64_t i = 0; i < array->length; i++, view += 16) {
    uint32_t length = csf_load_u32(view);
    if (length <= INLINE_VIEW) continue;
    uint32_t buffer = csf_load_u32(view + 8), offset = csf_load_u32(view + 12);
    if (length > INT32_MAX || offset > INT32_MAX || buffer >= n) return fail_view(at, i, view);
    if ((int64_t)offset + length > csf_load_i64(sizes + 8 * (int64_t)buffer)) return fail_view(at, i, view);
  }
  return COLSHUF_OK;
}

static bool indices_below(const uint8_t *values, int32_t width, int64_t n, uint64_t limit) {
  const struct csf_scan *scan = csf_scan();
  switch (width) {
    case 1: return scan->below8(values, n, limit);
    case 2: return scan->below16(values, n, limit);
    case 4: return scan->below32(values, n, limit);
    default: return scan->below64(values, n, limit);
  }
}

/* Indices under null slots may be anything: they are looked at one by one only when not all are right. */
static enum colshuf_status check_indices(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  const struct csf_field *field = at->field;
  const uint8_t *values = (const uint8_t *)array->buffers[1] + array->offset * field->width;
  uint64_t limit = (uint64_t)array->dictionary->length;
  /* Read as unsigned, a negative index is the half of the range that a signed type cannot reach. */
  bool is_signed = field->type >= CSF_INT8 && field->type <= CSF_INT64;
  uint64_t most = UINT64_MAX >> (64 - 8 * field->width + is_signed);
  if (limit > 0 && indices_below(values, field->width, array->length, limit > most ? most + (most < UINT64_MAX) : limit)) {
    return COLSHUF_OK;
  }
  for (int64_t i = 0; i < array->length; i++) {
    int64_t index = csf_index_at(values, field->type, i);
    if ((uint64_t)index < limit || csf_row_is_null(at, i)) continue;
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": index %" PRId64 " into a dictionary of %" PRIu64 " values", i, index, limit);
  }
  return COLSHUF_OK;
}

/* The child of every type id, or -1. */
static void map_type_ids(const struct csf_field *field, int16_t child_of[256]) {
  for (int i = 0; i < 256; i++) child_of[i] = -1;
  for (int32_t i = 0; i < field->n_children; i++) child_of[(uint8_t)field->type_ids[i]] = (int16_t)i;
}

static enum colshuf_status check_union(const struct csf_place *at, bool dense) {
  const struct ArrowArray *array = at->array;
  const uint8_t *ids = (const uint8_t *)array->buffers[0] + array->offset;
  const uint8_t *offsets = dense ? (const uint8_t *)array->buffers[1] + 4 * array->offset : NULL;
  int16_t child_of[256];
  map_type_ids(at->field, child_of);
  for (int64_t i = 0; i < array->length; i++) {
    int16_t child = child_of[ids[i]];
    if (child < 0) return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": type id %d is not declared", i, (int8_t)ids[i]);
    if (!dense) continue;
    int32_t offset = csf_load_i32(offsets + 4 * i);
    if (offset >= 0 && offset < array->children[child]->length) continue;
    return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": offset %" PRId32 " into child %d of %" PRId64 " values", i, offset, child,
                       array->children[child]->length);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_run_ends(const struct csf_place *at) {
  const struct ArrowArray *ends = at->array->children[0];
  const struct csf_field *field = &at->field->children[0];
  int64_t nulls = csf_array_null_count(field, ends, 0, ends->length), end = at->array->offset + at->array->length;
  if (nulls > 0) return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "%" PRId64 " of %" PRId64 " run ends are null", nulls, ends->length);
  const uint8_t *values = ends->length == 0 ? NULL : (const uint8_t *)ends->buffers[1] + ends->offset * field->width;
  int64_t last = 0;
  for (int64_t i = 0; i < ends->length; i++) {
    int64_t next = csf_index_at(values, field->type, i);
    if (next <= last) {
      return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "run %" PRId64 " ends at %" PRId64 ", the one before it at %" PRId64, i, next, last);
    }
    last = next;
  }
  if (last >= end) return COLSHUF_OK;
  return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "the last run ends at %" PRId64 ", but there are %" PRId64 " rows", last, end);
}

enum colshuf_status csf_validate_memory(const struct csf_place *at) {
  enum csf_layout layout = at->field->layout;
  /* No rows: no buffer is looked at, neither here nor by any kernel. Run ends alone are checked whole, like any other child. */
  if (at->array->length == 0 && layout != CSF_LAYOUT_RUN_END) return COLSHUF_OK;
  if (layout == CSF_LAYOUT_BINARY32 || layout == CSF_LAYOUT_BINARY64) {
    return check_offsets(at, layout == CSF_LAYOUT_BINARY64, csf_buffer_room(at, 2), "bytes");
  }
  if (layout == CSF_LAYOUT_LIST32 || layout == CSF_LAYOUT_LIST64) {
    return check_offsets(at, layout == CSF_LAYOUT_LIST64, at->array->children[0]->length, "values");
  }
  if (at->validation->level == CSF_VALIDATE_ENDS) return COLSHUF_OK;
  switch (layout) {
    case CSF_LAYOUT_FIXED:
      return at->field->dictionary == NULL ? COLSHUF_OK : check_indices(at);
    case CSF_LAYOUT_VIEW:
      return check_views(at);
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      return check_list_views(at, at->field->layout == CSF_LAYOUT_LIST_VIEW64);
    case CSF_LAYOUT_SPARSE_UNION:
    case CSF_LAYOUT_DENSE_UNION:
      return check_union(at, at->field->layout == CSF_LAYOUT_DENSE_UNION);
    case CSF_LAYOUT_RUN_END:
      return check_run_ends(at);
    default:
      return COLSHUF_OK;
  }
}
