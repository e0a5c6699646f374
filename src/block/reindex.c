/* SPDX-License-Identifier: Apache-2.0 */
#include "block/reindex.h"

#include <inttypes.h>
#include <stdlib.h>

void csf_reindex_init(struct csf_reindex *r, const struct colshuf_allocator *allocator) {
  *r = (struct csf_reindex){0};
  csf_buffer_init(&r->indices, allocator);
  csf_buffer_init(&r->validity, allocator);
  csf_buffer_init(&r->table, allocator);
  csf_buffer_init(&r->used, allocator);
}

static void release_values(struct csf_reindex *r) {
  if (r->values.release != NULL) r->values.release(&r->values);
}

void csf_reindex_clear(struct csf_reindex *r) {
  release_values(r);
  csf_buffer_clear(&r->indices);
  csf_buffer_clear(&r->validity);
  csf_buffer_clear(&r->table);
  csf_buffer_clear(&r->used);
}

/* Column of one call. */
struct source {
  const struct csf_field *field;
  const struct ArrowArray *array;
  const uint8_t *validity;        /* of the rows; NULL = no nulls */
  const uint8_t *values_validity; /* of the dictionary, where its nulls are to be resolved; else NULL */
  int64_t row, n; /* row counts from the start of the buffers */
};

static int64_t index_at(const struct source *s, int64_t row) {
  const uint8_t *indices = s->array->buffers[1];
  switch (s->field->type) {
    case CSF_INT8: return (int8_t)indices[row];
    case CSF_UINT8: return indices[row];
    case CSF_INT16: return csf_load_i16(indices + 2 * row);
    case CSF_UINT16: return csf_load_u16(indices + 2 * row);
    case CSF_INT32: return csf_load_i32(indices + 4 * row);
    case CSF_UINT32: return csf_load_u32(indices + 4 * row);
    default: return csf_load_i64(indices + 8 * row); /* a uint64 beyond 2^63 comes out negative: refused all the same */
  }
}

static bool is_null(const struct source *s, int64_t row) {
  return s->validity != NULL && !csf_bit_get(s->validity, row);
}

static enum colshuf_status check_index(const struct source *s, int64_t row, int64_t index, struct colshuf_error *err) {
  int64_t n_values = s->array->dictionary->length;
  if (CSF_LIKELY(index >= 0 && index < n_values)) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "row %" PRId64 " has index %" PRId64 " into a dictionary of %" PRId64,
                  row - s->array->offset, index, n_values);
}

/* Whether the result needs a bitmap. */
static bool has_nulls(const struct source *s) {
  return s->validity != NULL || s->values_validity != NULL;
}

static void store_index(uint8_t *indices, int32_t width, int64_t i, int64_t index) {
  memcpy(indices + i * width, &index, (size_t)width);
}

/* Indices of another width, same dictionary. */
static enum colshuf_status convert_indices(struct csf_reindex *r, const struct source *s, int32_t width, struct colshuf_error *err) {
  for (int64_t i = 0; i < s->n; i++) {
    int64_t index = is_null(s, s->row + i) ? 0 : index_at(s, s->row + i);
    if (!is_null(s, s->row + i)) CSF_TRY(check_index(s, s->row + i, index, err));
    store_index(r->indices.data, width, i, index);
  }
  return COLSHUF_OK;
}

static enum colshuf_status reserve_table(struct csf_reindex *r, int64_t n_values, struct colshuf_error *err) {
  size_t old = r->table.size, wanted = 4 * (size_t)n_values;
  if (wanted <= old) return COLSHUF_OK;
  CSF_TRY(csf_buffer_reserve(&r->table, wanted, err));
  memset(r->table.data + old, 0xff, wanted - old);
  r->table.size = wanted;
  return COLSHUF_OK;
}

/* Collects the used values in order of first use; table marks them. */
static enum colshuf_status collect(struct csf_reindex *r, const struct source *s, struct colshuf_error *err) {
  int32_t next = 0;
  CSF_TRY(csf_buffer_reserve(&r->used, 8 * (size_t)s->n, err));
  for (int64_t i = 0; i < s->n; i++) {
    if (is_null(s, s->row + i)) continue;
    int64_t index = index_at(s, s->row + i);
    CSF_TRY(check_index(s, s->row + i, index, err));
    if (s->values_validity != NULL && !csf_bit_get(s->values_validity, s->array->dictionary->offset + index)) {
      csf_bit_clear(r->validity.data, i);
      continue;
    }
    uint8_t *place = r->table.data + 4 * index;
    if (csf_load_i32(place) >= 0) continue;
    csf_store_i32(place, next++);
    csf_store_i64(r->used.data + r->used.size, index);
    r->used.size += 8;
  }
  return COLSHUF_OK;
}

static int compare_i64(const void *a, const void *b) {
  int64_t left = csf_load_i64(a), right = csf_load_i64(b);
  return (left > right) - (left < right);
}

static void renumber_in_order(struct csf_reindex *r) {
  size_t n = r->used.size / 8;
  if (n > 0) qsort(r->used.data, n, 8, compare_i64);
  for (size_t i = 0; i < n; i++) csf_store_i32(r->table.data + 4 * csf_load_i64(r->used.data + 8 * i), (int32_t)i);
}

static void forget_marks(struct csf_reindex *r) {
  for (size_t i = 0; i < r->used.size; i += 8) csf_store_i32(r->table.data + 4 * csf_load_i64(r->used.data + i), -1);
  r->used.size = 0;
}

static enum colshuf_status take_used(struct csf_reindex *r, const struct source *s, int32_t width, struct colshuf_error *err) {
  CSF_TRY(collect(r, s, err));
  if (s->field->dictionary_ordered) renumber_in_order(r);
  const uint8_t *validity = has_nulls(s) ? r->validity.data : NULL;
  for (int64_t i = 0; i < s->n; i++) {
    bool null = validity != NULL && !csf_bit_get(validity, i);
    store_index(r->indices.data, width, i, null ? 0 : csf_load_i32(r->table.data + 4 * index_at(s, s->row + i)));
  }
  return csf_array_take(s->field->dictionary, s->array->dictionary, (const int64_t *)(const void *)r->used.data,
                        (int64_t)(r->used.size / 8), &r->used.allocator, &r->values, err);
}

static enum colshuf_status copy_validity(struct csf_reindex *r, const struct source *s, struct colshuf_error *err) {
  if (!has_nulls(s)) return COLSHUF_OK;
  size_t size = (size_t)csf_bit_bytes(s->n);
  CSF_TRY(csf_buffer_reserve(&r->validity, size, err));
  memset(r->validity.data, s->validity == NULL ? 0xff : 0, size);
  if (s->validity != NULL) csf_bits_copy(r->validity.data, 0, s->validity, s->row, s->n);
  return COLSHUF_OK;
}

/* The dictionary of *out is set by the caller. */
static enum colshuf_status make_indices(struct csf_reindex *r, const struct source *s, int32_t width, bool compact,
                                        struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&r->indices, (size_t)s->n * (size_t)width, err));
  CSF_TRY(copy_validity(r, s, err));
  if (!compact) return convert_indices(r, s, width, err);
  CSF_TRY(reserve_table(r, s->array->dictionary->length, err));
  enum colshuf_status status = take_used(r, s, width, err);
  forget_marks(r);
  return status;
}

enum colshuf_status csf_reindex_column(struct csf_reindex *r, const struct csf_field *field, const struct ArrowArray *array,
                                       int64_t start, int64_t length, int32_t width, bool resolve_nulls, struct ArrowArray *out,
                                       struct colshuf_error *err) {
  struct ArrowArray *values = array->dictionary;
  struct source s = {field, array, csf_array_validity(field, array), NULL, array->offset + start, length};
  if (resolve_nulls && csf_array_null_count(field->dictionary, values, 0, values->length) > 0) {
    s.values_validity = csf_array_validity(field->dictionary, values);
  }
  bool compact = values->length > length || s.values_validity != NULL;
  release_values(r);
  if (!compact && field->width == width) {
    *out = *array;
    out->offset += start;
    out->length = length;
    out->null_count = s.validity == NULL ? 0 : -1;
    out->release = NULL;
    return COLSHUF_OK;
  }
  if (values->length > INT32_MAX) return csf_fail(err, COLSHUF_LIMIT, "a dictionary of %" PRId64 " values", values->length);
  CSF_TRY(make_indices(r, &s, width, compact, err));
  r->buffers[0] = has_nulls(&s) ? r->validity.data : NULL;
  r->buffers[1] = r->indices.data;
  *out = (struct ArrowArray){.length = length,
                             .null_count = has_nulls(&s) ? -1 : 0,
                             .n_buffers = 2,
                             .buffers = r->buffers,
                             .dictionary = compact ? &r->values : values};
  return COLSHUF_OK;
}
