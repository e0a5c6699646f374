/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a plan put into the output. */
#include "ipc/body_plan.h"
#include "ipc/lengths.h"

static void write_bits(const struct csf_body_piece *piece, uint8_t *target) {
  if (piece->first % 8 == 0) {
    memcpy(target, piece->source + piece->first / 8, piece->size);
    if (piece->raw) return;
  } else {
    target[piece->size - 1] = 0;
    csf_bits_copy(target, 0, piece->source, piece->first, piece->count);
  }
  /* What stands behind the last bit is nobody's: equal rows give equal bytes. */
  if (piece->count % 8 != 0) target[piece->size - 1] &= (uint8_t)((1u << (piece->count % 8)) - 1);
}

/* 16 bytes at a time: what the compiler makes of the plain loop depends on its optimisation level. */
typedef int32_t lanes32 __attribute__((vector_size(16)));
typedef int64_t lanes64 __attribute__((vector_size(16)));

static void write_offsets32(const struct csf_body_piece *piece, uint8_t *target) {
  int32_t base = (int32_t)piece->base;
  int64_t i = 0;
  for (; i + 4 <= piece->count; i += 4) {
    lanes32 lanes;
    memcpy(&lanes, piece->source + 4 * i, 16);
    lanes -= (lanes32){base, base, base, base};
    memcpy(target + 4 * i, &lanes, 16);
  }
  for (; i < piece->count; i++) csf_store_i32(target + 4 * i, csf_load_i32(piece->source + 4 * i) - base);
}

static void write_offsets64(const struct csf_body_piece *piece, uint8_t *target) {
  int64_t i = 0;
  for (; i + 2 <= piece->count; i += 2) {
    lanes64 lanes;
    memcpy(&lanes, piece->source + 8 * i, 16);
    lanes -= (lanes64){piece->base, piece->base};
    memcpy(target + 8 * i, &lanes, 16);
  }
  for (; i < piece->count; i++) csf_store_i64(target + 8 * i, csf_load_i64(piece->source + 8 * i) - piece->base);
}

static int64_t load_value(const uint8_t *values, int32_t width, int64_t i) {
  const uint8_t *place = values + i * width;
  return width == 2 ? csf_load_i16(place) : width == 4 ? csf_load_i32(place) : csf_load_i64(place);
}

static void store_value(uint8_t *values, int32_t width, int64_t i, int64_t value) {
  memcpy(values + i * width, &value, (size_t)width);
}

static void write_run_ends(const struct csf_body_piece *piece, uint8_t *target) {
  for (int64_t i = 0; i < piece->count; i++) {
    int64_t end = load_value(piece->source, piece->width, i);
    store_value(target, piece->width, i, (end < piece->limit ? end : piece->limit) - piece->base);
  }
}

static const uint8_t *validity_of(const struct ArrowArray *array) {
  return array->null_count == 0 ? NULL : array->buffers[0];
}

static void write_list_view(const struct csf_body_piece *piece, uint8_t *target) {
  const uint8_t *validity = validity_of(piece->array);
  for (int64_t i = 0; i < piece->count; i++) {
    int64_t row = piece->first + i;
    int64_t size = csf_row_is_null(validity, row) ? 0 : load_value(piece->array->buffers[2], piece->width, row);
    int64_t value = size;
    if (piece->op == CSF_PIECE_LIST_VIEW && size > 0) {
      value = load_value(piece->array->buffers[1], piece->width, row) - piece->base;
    }
    store_value(target, piece->width, i, value);
  }
}

static void write_union_offsets(const struct csf_batch_writer *w, const struct csf_body_piece *piece, uint8_t *target) {
  const uint8_t *bases = w->scratch.data + piece->base;
  const int8_t *ids = piece->array->buffers[0];
  const uint8_t *offsets = piece->array->buffers[1];
  for (int64_t i = 0; i < piece->count; i++) {
    int64_t row = piece->first + i;
    csf_store_i32(target + 4 * i, csf_load_i32(offsets + 4 * row) - csf_load_i32(bases + 4 * ids[row]));
  }
}

static void write_views(const struct csf_body_piece *piece, uint8_t *target) {
  const uint8_t *validity = validity_of(piece->array);
  const uint8_t *views = piece->array->buffers[1];
  int32_t used = 0;
  for (int64_t i = 0; i < piece->count; i++, target += 16) {
    int64_t row = piece->first + i;
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

static void write_view_data(const struct csf_body_piece *piece, uint8_t *target) {
  const uint8_t *validity = validity_of(piece->array);
  const uint8_t *views = piece->array->buffers[1];
  for (int64_t row = piece->first; row < piece->first + piece->count; row++) {
    const uint8_t *view = views + 16 * row;
    int32_t length = csf_load_i32(view);
    if (length <= 12 || csf_row_is_null(validity, row)) continue;
    const uint8_t *data = piece->array->buffers[2 + csf_load_i32(view + 8)];
    memcpy(target, data + csf_load_i32(view + 12), (size_t)length);
    target += length;
  }
}

void csf_body_piece_write(const struct csf_batch_writer *w, const struct csf_body_piece *piece, uint8_t *target) {
  switch (piece->op) {
    case CSF_PIECE_COPY: memcpy(target, piece->source, piece->size); return;
    case CSF_PIECE_ONES: memset(target, 0xff, piece->size); return;
    case CSF_PIECE_ZEROS: memset(target, 0, piece->size); return;
    case CSF_PIECE_BITS: write_bits(piece, target); return;
    case CSF_PIECE_OFFSETS32: write_offsets32(piece, target); return;
    case CSF_PIECE_OFFSETS64: write_offsets64(piece, target); return;
    case CSF_PIECE_LENGTHS32: csf_lengths_from_offsets(target, piece->source, piece->count, 4); return;
    case CSF_PIECE_LENGTHS64: csf_lengths_from_offsets(target, piece->source, piece->count, 8); return;
    case CSF_PIECE_RUN_ENDS: write_run_ends(piece, target); return;
    case CSF_PIECE_LIST_VIEW:
    case CSF_PIECE_LIST_SIZES: write_list_view(piece, target); return;
    case CSF_PIECE_UNION: write_union_offsets(w, piece, target); return;
    case CSF_PIECE_VIEWS: write_views(piece, target); return;
    case CSF_PIECE_VIEW_DATA: write_view_data(piece, target); return;
  }
}
