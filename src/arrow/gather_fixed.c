/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering bits (validity, booleans) and values of one width. */
#include "arrow/gather.h"

/* Up to 64 bits of source, at first + rows[i]; a hole gives 0. source NULL stands for all ones. */
static inline uint64_t pick_bits(const uint8_t *source, int64_t first, const int64_t *rows, int64_t n) {
  uint64_t word = 0;
  for (int64_t i = 0; i < n; i++) word |= (uint64_t)csf_bit_get(source, first + rows[i]) << i;
  return word;
}

static inline uint64_t pick_bits_holes(const uint8_t *source, int64_t first, const int64_t *rows, int64_t n) {
  uint64_t word = 0;
  for (int64_t i = 0; i < n; i++) {
    bool bit = rows[i] >= 0 && (source == NULL || csf_bit_get(source, first + rows[i]));
    word |= (uint64_t)bit << i;
  }
  return word;
}

static void pick_rows(uint8_t *target, int64_t place, const uint8_t *source, const struct csf_piece *piece) {
  int64_t first = csf_piece_first(piece);
  for (int64_t i = 0; i < piece->length; i += 64) {
    int64_t n = piece->length - i < 64 ? piece->length - i : 64;
    const int64_t *rows = piece->rows + i;
    uint64_t word = piece->holes ? pick_bits_holes(source, first, rows, n) : pick_bits(source, first, rows, n);
    csf_bits_copy(target, place + i, (const uint8_t *)&word, 0, n);
  }
}

static void pick_piece(uint8_t *target, int64_t place, const uint8_t *source, const struct csf_piece *piece) {
  if (piece->rows != NULL && (source != NULL || piece->holes)) {
    pick_rows(target, place, source, piece);
  } else if (source != NULL) {
    csf_bits_copy(target, place, source, csf_piece_first(piece), piece->length);
  } else {
    csf_bits_fill(target, place, piece->length, true);
  }
}

static bool has_null(const struct csf_piece *piece) {
  if (piece->rows != NULL) return piece->holes || csf_array_validity(piece->field, piece->array) != NULL;
  return csf_array_null_count(piece->field, piece->array, piece->start, piece->length) > 0;
}

enum colshuf_status csf_gather_validity(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) {
  bool any = false;
  for (int64_t p = 0; p < pieces.n && !any; p++) any = has_null(&pieces.items[p]);
  if (!any) return COLSHUF_OK;
  uint8_t *bits;
  int64_t size = csf_bit_bytes(pieces.n_rows), place = 0;
  CSF_TRY(csf_gather_buffer(g, out, 0, size, &bits));
  memset(bits, 0, (size_t)size);
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    pick_piece(bits, place, csf_array_validity(piece->field, piece->array), piece);
    place += piece->length;
  }
  out->null_count = pieces.n_rows - csf_bits_count(bits, 0, pieces.n_rows);
  if (out->null_count == 0) out->buffers[0] = NULL;
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_bits(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) {
  uint8_t *bits;
  int64_t size = csf_bit_bytes(pieces.n_rows), place = 0;
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &bits));
  if (size > 0) memset(bits, 0, (size_t)size);
  for (int64_t p = 0; p < pieces.n; p++) {
    pick_piece(bits, place, pieces.items[p].array->buffers[1], &pieces.items[p]);
    place += pieces.items[p].length;
  }
  return COLSHUF_OK;
}

/* The same loop for each width that is known when it is compiled: the copy becomes one load and one store. */
static inline __attribute__((always_inline)) void take_rows(uint8_t *target, const uint8_t *source, const int64_t *rows,
                                                            int64_t n, size_t width, bool holes) {
  for (int64_t i = 0; i < n; i++) {
    if (holes && rows[i] < 0) {
      memset(target + (size_t)i * width, 0, width);
    } else {
      memcpy(target + (size_t)i * width, source + rows[i] * (int64_t)width, width);
    }
  }
}

static void take_width(uint8_t *target, const uint8_t *source, const int64_t *rows, int64_t n, size_t width) {
  switch (width) {
    case 1:
      take_rows(target, source, rows, n, 1, false);
      break;
    case 2:
      take_rows(target, source, rows, n, 2, false);
      break;
    case 4:
      take_rows(target, source, rows, n, 4, false);
      break;
    case 8:
      take_rows(target, source, rows, n, 8, false);
      break;
    case 16:
      take_rows(target, source, rows, n, 16, false);
      break;
    case 32:
      take_rows(target, source, rows, n, 32, false);
      break;
    default:
      take_rows(target, source, rows, n, width, false);
  }
}

static void copy_fixed(uint8_t *target, const struct csf_piece *piece, size_t width) {
  const uint8_t *source = piece->array->buffers[1];
  if (source != NULL) source += csf_piece_first(piece) * (int64_t)width; /* NULL: nothing but holes */
  if (piece->rows == NULL) {
    memcpy(target, source, (size_t)piece->length * width);
  } else if (piece->holes) {
    take_rows(target, source, piece->rows, piece->length, width, true);
  } else {
    take_width(target, source, piece->rows, piece->length, width);
  }
}

enum colshuf_status csf_gather_fixed(struct csf_gather *g, int32_t width, struct csf_pieces pieces, struct ArrowArray *out) {
  uint8_t *data;
  int64_t size;
  if (csf_multiply_overflow(pieces.n_rows, width, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &data));
  if (size == 0) return COLSHUF_OK;
  for (int64_t p = 0; p < pieces.n; p++) {
    copy_fixed(data, &pieces.items[p], (size_t)width);
    data += pieces.items[p].length * width;
  }
  return COLSHUF_OK;
}
