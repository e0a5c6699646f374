/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a plan put into the output. */
#include "ipc/body_plan.h"
#include "ipc/lengths.h"

static void write_bits(const struct csf_body_piece *piece, uint8_t *target) {
  if (piece->first == 0) {
    memcpy(target, piece->source, piece->size);
  } else {
    int64_t n = 8 * (int64_t)piece->size - (piece->tail == 0 ? 0 : 8 - piece->tail);
    csf_bits_copy(target, 0, piece->source, piece->first, n);
  }
  /* What stands behind the last bit is nobody's: equal rows give equal bytes. */
  if (piece->tail != 0) target[piece->size - 1] &= (uint8_t)((1u << piece->tail) - 1);
}

/* 16 bytes at a time: what the compiler makes of the plain loop depends on its optimisation level. */
typedef int32_t lanes32 __attribute__((vector_size(16)));
typedef int64_t lanes64 __attribute__((vector_size(16)));

static void write_offsets32(const struct csf_body_piece *piece, uint8_t *target) {
  int64_t i = 0, count = (int64_t)(piece->size / 4);
  int32_t base = csf_load_i32(piece->source);
  for (; i + 4 <= count; i += 4) {
    lanes32 lanes;
    memcpy(&lanes, piece->source + 4 * i, 16);
    lanes -= (lanes32){base, base, base, base};
    memcpy(target + 4 * i, &lanes, 16);
  }
  for (; i < count; i++) csf_store_i32(target + 4 * i, csf_load_i32(piece->source + 4 * i) - base);
}

static void write_offsets64(const struct csf_body_piece *piece, uint8_t *target) {
  int64_t i = 0, count = (int64_t)(piece->size / 8), base = csf_load_i64(piece->source);
  for (; i + 2 <= count; i += 2) {
    lanes64 lanes;
    memcpy(&lanes, piece->source + 8 * i, 16);
    lanes -= (lanes64){base, base};
    memcpy(target + 8 * i, &lanes, 16);
  }
  for (; i < count; i++) csf_store_i64(target + 8 * i, csf_load_i64(piece->source + 8 * i) - base);
}

static int64_t load_value(const uint8_t *values, int32_t width, int64_t i) {
  const uint8_t *place = values + i * width;
  return width == 2 ? csf_load_i16(place) : width == 4 ? csf_load_i32(place) : csf_load_i64(place);
}

static void store_value(uint8_t *values, int32_t width, int64_t i, int64_t value) {
  memcpy(values + i * width, &value, (size_t)width);
}

static const struct csf_body_odd *odd_of(const struct csf_batch_writer *w, const struct csf_body_piece *piece) {
  return (const struct csf_body_odd *)(const void *)w->odd.data + piece->odd;
}

static void write_run_ends(const struct csf_body_odd *odd, const struct csf_body_piece *piece, uint8_t *target) {
  for (int64_t i = 0; i < odd->n; i++) {
    int64_t end = load_value(piece->source, piece->width, i);
    store_value(target, piece->width, i, (end < odd->limit ? end : odd->limit) - odd->base);
  }
}

static const uint8_t *validity_of(const struct ArrowArray *array) {
  return array->null_count == 0 ? NULL : array->buffers[0];
}

static void write_list_view(const struct csf_body_odd *odd, const struct csf_body_piece *piece, uint8_t *target) {
  const uint8_t *validity = validity_of(odd->array);
  for (int64_t i = 0; i < odd->n; i++) {
    int64_t row = odd->row + i;
    int64_t size = csf_row_is_null(validity, row) ? 0 : load_value(odd->array->buffers[2], piece->width, row);
    int64_t value = size;
    if (piece->op == CSF_BODY_LIST_VIEW && size > 0) {
      value = load_value(odd->array->buffers[1], piece->width, row) - odd->base;
    }
    store_value(target, piece->width, i, value);
  }
}

static void write_union_offsets(const struct csf_body_odd *odd, const uint8_t *bases, uint8_t *target) {
  const int8_t *ids = odd->array->buffers[0];
  const uint8_t *offsets = odd->array->buffers[1];
  for (int64_t i = 0; i < odd->n; i++) {
    int64_t row = odd->row + i;
    csf_store_i32(target + 4 * i, csf_load_i32(offsets + 4 * row) - csf_load_i32(bases + 4 * (int64_t)ids[row]));
  }
}

static void write_views(const struct csf_body_odd *odd, uint8_t *target) {
  const uint8_t *validity = validity_of(odd->array);
  const uint8_t *views = odd->array->buffers[1];
  int32_t used = 0;
  for (int64_t row = odd->row; row < odd->row + odd->n; row++, target += 16) {
    if (csf_row_is_null(validity, row)) {
      memset(target, 0, 16);
      continue;
    }
    memcpy(target, views + 16 * row, 16);
    int32_t length = csf_load_i32(target);
    if (length <= 12) continue;
    csf_store_i32(target + 8, 0);
    csf_store_i32(target + 12, used);
    used += length;
  }
}

static void write_view_data(const struct csf_body_odd *odd, uint8_t *target) {
  const uint8_t *validity = validity_of(odd->array);
  const uint8_t *views = odd->array->buffers[1];
  for (int64_t row = odd->row; row < odd->row + odd->n; row++) {
    const uint8_t *view = views + 16 * row;
    int32_t length = csf_load_i32(view);
    if (length <= 12 || csf_row_is_null(validity, row)) continue;
    const uint8_t *data = odd->array->buffers[2 + csf_load_i32(view + 8)];
    memcpy(target, data + csf_load_i32(view + 12), (size_t)length);
    target += length;
  }
}

void csf_body_write(const struct csf_batch_writer *w, const struct csf_body_piece *piece, uint8_t *target) {
  switch ((enum csf_body_op)piece->op) {
    case CSF_BODY_COPY: memcpy(target, piece->source, piece->size); return;
    case CSF_BODY_ONES: memset(target, 0xff, piece->size); return;
    case CSF_BODY_ZEROS: memset(target, 0, piece->size); return;
    case CSF_BODY_BITS: write_bits(piece, target); return;
    case CSF_BODY_OFFSETS32: write_offsets32(piece, target); return;
    case CSF_BODY_OFFSETS64: write_offsets64(piece, target); return;
    case CSF_BODY_LENGTHS32: csf_lengths_from_offsets(target, piece->source, (int64_t)(piece->size / 4), 4); return;
    case CSF_BODY_LENGTHS64: csf_lengths_from_offsets(target, piece->source, (int64_t)(piece->size / 8), 8); return;
    case CSF_BODY_RUN_ENDS: write_run_ends(odd_of(w, piece), piece, target); return;
    case CSF_BODY_LIST_VIEW:
    case CSF_BODY_LIST_SIZES: write_list_view(odd_of(w, piece), piece, target); return;
    case CSF_BODY_UNION: write_union_offsets(odd_of(w, piece), w->scratch.data + odd_of(w, piece)->base, target); return;
    case CSF_BODY_VIEWS: write_views(odd_of(w, piece), target); return;
    case CSF_BODY_VIEW_DATA: write_view_data(odd_of(w, piece), target); return;
  }
}
