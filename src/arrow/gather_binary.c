/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering strings and binaries: with offsets, and as views. */
#include "arrow/gather.h"

/*
 * Values are copied in order, so that whatever is written beyond the end of one is overwritten by the next: short ones by whole
 * words, given room behind the last. 32 bytes cover most strings of real tables.
 */
enum { SLACK = 32 };

/* Everything that 64-bit offsets may reach: far above any memory, far below an overflow. */
#define MOST_BYTES (INT64_C(1) << 60)

static bool is_wide(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_BINARY64;
}

/* Writes the ends of a range's values, the first of which starts at end; returns where the last one ends. */
static int64_t range_ends(const struct csf_piece *piece, bool wide, int64_t end, void *ends) {
  const void *offsets = piece->array->buffers[1];
  int64_t first = csf_piece_first(piece);
  int64_t shift = end - csf_offset_at(offsets, first, wide);
  int64_t width = wide ? 8 : 4;
  csf_offsets_shift(ends, (const uint8_t *)offsets + width * (first + 1), piece->length, shift, wide);
  return csf_offset_at(offsets, first + piece->length, wide) + shift;
}

/* The same for a list of rows; nulls become empty. Stops above most. */
static int64_t row_ends(const struct csf_piece *piece, bool wide, int64_t most, int64_t end, void *ends) {
  const void *offsets = piece->array->buffers[1];
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  int64_t first = csf_piece_first(piece);
  for (int64_t i = 0; i < piece->length && end <= most; i++) {
    int64_t row = first + piece->rows[i];
    bool counts = (!piece->holes || piece->rows[i] >= 0) && (valid == NULL || csf_bit_get(valid, row));
    if (counts) end += csf_offset_at(offsets, row + 1, wide) - csf_offset_at(offsets, row, wide);
    csf_offset_set(ends, i, wide, end);
  }
  return end;
}

static enum colshuf_status gather_ends(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                       uint8_t *offsets) {
  bool wide = is_wide(field);
  int64_t width = wide ? 8 : 4, most = wide ? MOST_BYTES : INT32_MAX, end = 0;
  csf_offset_set(offsets, 0, wide, 0);
  offsets += width;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    end = piece->rows == NULL ? range_ends(piece, wide, end, offsets) : row_ends(piece, wide, most, end, offsets);
    if (end > most) return csf_gather_limit(g, field, "more bytes than its offsets can count: join or take fewer rows");
    offsets += piece->length * width;
  }
  return COLSHUF_OK;
}

/*
 * Copies size bytes from source + start to target, perhaps some more: up to SLACK in all, where source has them (before end).
 */
static inline void copy_value(uint8_t *target, const uint8_t *source, int64_t start, int64_t size, int64_t end) {
  if (size <= 16 && start + 16 <= end) {
    memcpy(target, source + start, 16);
  } else if (size <= SLACK && start + SLACK <= end) {
    memcpy(target, source + start, SLACK);
  } else if (size > 0) {
    memcpy(target, source + start, (size_t)size);
  }
}

static inline __attribute__((always_inline)) void copy_rows(const struct csf_piece *piece, bool wide, const void *ends,
                                                            int64_t from, uint8_t *data) {
  const void *offsets = piece->array->buffers[1];
  const uint8_t *source = piece->array->buffers[2];
  if (piece->array->length == 0) return; /* nothing but holes; the offsets of no rows, if there are any, are not to be read */
  int64_t first = csf_piece_first(piece);
  int64_t source_end = csf_offset_at(offsets, piece->array->offset + piece->array->length, wide);
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t end = csf_offset_at(ends, i, wide);
    if (end > from)
      copy_value(data + from, source, csf_offset_at(offsets, first + piece->rows[i], wide), end - from, source_end);
    from = end;
  }
}

/* Copies the bytes of piece, whose values end at ends[0], ends[1], … of data and start at from. */
static void copy_piece(const struct csf_piece *piece, bool wide, const void *ends, int64_t from, uint8_t *data) {
  if (piece->rows != NULL) {
    if (wide) copy_rows(piece, true, ends, from, data);
    if (!wide) copy_rows(piece, false, ends, from, data);
    return;
  }
  int64_t size = csf_offset_at(ends, piece->length - 1, wide) - from;
  if (size == 0) return;
  int64_t start = csf_offset_at(piece->array->buffers[1], csf_piece_first(piece), wide);
  memcpy(data + from, (const uint8_t *)piece->array->buffers[2] + start, (size_t)size);
}

enum colshuf_status csf_gather_binary(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                      struct ArrowArray *out) {
  bool wide = is_wide(field);
  int64_t width = wide ? 8 : 4, size;
  uint8_t *offsets, *data;
  if (csf_multiply_overflow(pieces.n_rows + 1, width, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &offsets));
  CSF_TRY(gather_ends(g, field, pieces, offsets));
  int64_t n_bytes = csf_offset_at(offsets, pieces.n_rows, wide), from = 0;
  CSF_TRY(csf_gather_buffer(g, out, 2, n_bytes > 0 ? n_bytes + SLACK : 0, &data));
  for (int64_t p = 0; p < pieces.n; p++) {
    offsets += width;
    copy_piece(&pieces.items[p], wide, offsets, from, data);
    offsets += (pieces.items[p].length - 1) * width;
    from = csf_offset_at(offsets, 0, wide);
  }
  return COLSHUF_OK;
}

/*
 * Views. Either the bytes of long values are copied one by one into new data buffers, or, where that would take more than the
 * data buffers of the pieces hold (many views of the same bytes), those are copied whole: the result never outgrows its
 * sources.
 */
struct view_copy {
  struct csf_gather *g;
  struct ArrowArray *out;
  int64_t *sizes; /* of the new data buffers */
  int64_t buffer; /* compact: the data buffer being filled; whole: the first of the array at hand */
  uint8_t *views;
};

static int32_t view_size(const uint8_t *view) {
  return csf_load_i32(view);
}

/* The view of a row, or NULL for null. */
static inline const uint8_t *view_at(const struct csf_piece *piece, const uint8_t *valid, int64_t i) {
  int64_t row = piece->rows == NULL ? i : piece->rows[i];
  if (row < 0) return NULL;
  row += csf_piece_first(piece);
  if (valid != NULL && !csf_bit_get(valid, row)) return NULL;
  return (const uint8_t *)piece->array->buffers[1] + 16 * row;
}

static int64_t n_data_buffers(const struct ArrowArray *array) {
  return array->n_buffers > 3 ? array->n_buffers - 3 : 0;
}

static int64_t data_size(const struct ArrowArray *array, int64_t b) {
  return csf_load_i64((const uint8_t *)array->buffers[array->n_buffers - 1] + 8 * b);
}

/* Data buffers of the arrays of all pieces, and their bytes; neighbours of one array count once. */
static void count_sources(struct csf_pieces pieces, int64_t *n_buffers, int64_t *n_bytes) {
  *n_buffers = *n_bytes = 0;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct ArrowArray *array = pieces.items[p].array;
    if (p > 0 && array == pieces.items[p - 1].array) continue;
    int64_t n = n_data_buffers(array);
    *n_buffers += n;
    for (int64_t b = 0; b < n; b++) *n_bytes += data_size(array, b);
  }
}

/* Bytes of long values, cut to data buffers that 32-bit offsets can reach. Counts until there are more than most. */
static void count_values(struct csf_pieces pieces, int64_t most, int64_t *n_buffers, int64_t *n_bytes) {
  int64_t room = 0;
  *n_buffers = *n_bytes = 0;
  for (int64_t p = 0; p < pieces.n && *n_bytes <= most; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    const uint8_t *valid = csf_array_validity(piece->field, piece->array);
    for (int64_t i = 0; i < piece->length && *n_bytes <= most; i++) {
      const uint8_t *view = view_at(piece, valid, i);
      int32_t size = view == NULL ? 0 : view_size(view);
      if (size <= 12) continue;
      if (size > room) {
        ++*n_buffers;
        room = INT32_MAX;
      }
      room -= size;
      *n_bytes += size;
    }
  }
}

static enum colshuf_status add_data(struct view_copy *copy, int64_t buffer, int64_t size, uint8_t **data) {
  copy->sizes[buffer] = size;
  return csf_gather_buffer(copy->g, copy->out, 2 + (int32_t)buffer, size, data);
}

/* Copies a value to *end of data buffer copy->buffer, and its view. */
static void copy_view(struct view_copy *copy, const uint8_t *view, const struct ArrowArray *source, uint8_t *data,
                      int64_t *end) {
  memcpy(copy->views, view, 16);
  int32_t size = view_size(view);
  if (size > 12) {
    int32_t buffer = csf_load_i32(view + 8), offset = csf_load_i32(view + 12);
    memcpy(data + *end, (const uint8_t *)source->buffers[2 + buffer] + offset, (size_t)size);
    csf_store_i32(copy->views + 8, (int32_t)copy->buffer);
    csf_store_i32(copy->views + 12, (int32_t)*end);
    *end += size;
  }
}

/* left: bytes that are still to be copied: the size of a new data buffer where they fit one. */
static enum colshuf_status copy_values(struct view_copy *copy, struct csf_pieces pieces, int64_t left) {
  uint8_t *data = NULL;
  int64_t end = 0, room = 0;
  copy->buffer = -1;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    const uint8_t *valid = csf_array_validity(piece->field, piece->array);
    for (int64_t i = 0; i < piece->length; i++, copy->views += 16) {
      const uint8_t *view = view_at(piece, valid, i);
      if (view == NULL) {
        memset(copy->views, 0, 16);
        continue;
      }
      if (view_size(view) > 12 && view_size(view) > room - end) {
        if (data != NULL) copy->sizes[copy->buffer] = end;
        left -= end;
        end = 0;
        room = left < INT32_MAX ? left : INT32_MAX;
        CSF_TRY(add_data(copy, ++copy->buffer, room, &data));
      }
      copy_view(copy, view, piece->array, data, &end);
    }
  }
  if (data != NULL) copy->sizes[copy->buffer] = end;
  return COLSHUF_OK;
}

static enum colshuf_status copy_data(struct view_copy *copy, const struct ArrowArray *array) {
  for (int64_t b = 0; b < n_data_buffers(array); b++) {
    uint8_t *data;
    int64_t size = data_size(array, b);
    CSF_TRY(add_data(copy, copy->buffer + b, size, &data));
    if (size > 0) memcpy(data, array->buffers[2 + b], (size_t)size);
  }
  return COLSHUF_OK;
}

static void shift_views(struct view_copy *copy, const struct csf_piece *piece) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  for (int64_t i = 0; i < piece->length; i++, copy->views += 16) {
    const uint8_t *view = view_at(piece, valid, i);
    if (view == NULL) {
      memset(copy->views, 0, 16);
      continue;
    }
    memcpy(copy->views, view, 16);
    if (view_size(view) > 12) csf_store_i32(copy->views + 8, csf_load_i32(view + 8) + (int32_t)copy->buffer);
  }
}

static enum colshuf_status copy_whole(struct view_copy *copy, struct csf_pieces pieces) {
  copy->buffer = 0;
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct ArrowArray *array = pieces.items[p].array;
    bool is_new = p == 0 || array != pieces.items[p - 1].array;
    if (is_new) CSF_TRY(copy_data(copy, array));
    shift_views(copy, &pieces.items[p]);
    bool is_last = p + 1 == pieces.n || array != pieces.items[p + 1].array;
    if (is_last) copy->buffer += n_data_buffers(array);
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_gather_views(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) {
  struct view_copy copy = {.g = g, .out = out};
  int64_t size, source_buffers, source_bytes, n_buffers, n_bytes;
  if (csf_multiply_overflow(pieces.n_rows, (int64_t)16, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &copy.views));
  count_sources(pieces, &source_buffers, &source_bytes);
  count_values(pieces, source_bytes, &n_buffers, &n_bytes);
  bool whole = n_bytes > source_bytes;
  if (whole) n_buffers = source_buffers;
  if (n_buffers == 0) return copy_values(&copy, pieces, 0);
  CSF_TRY(csf_array_set_variadic(g->slab, out, n_buffers, &copy.sizes, g->err));
  return whole ? copy_whole(&copy, pieces) : copy_values(&copy, pieces, n_bytes);
}
