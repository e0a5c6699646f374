/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of values of one width, of bits, and the validity of every column. */
#include "arrow/array.h"
#include "shuffle/columns.h"

/* One gather loop for each width that has a register of its own; a width known to the compiler makes memcpy a move. */
static inline __attribute__((always_inline)) void gather(uint8_t *to, const uint8_t *from, const uint32_t *rows, int64_t n,
                                                         size_t width) {
  for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * width, from + (size_t)rows[i] * width, width);
}

static void gather_values(uint8_t *to, const uint8_t *from, const uint32_t *rows, int64_t n, size_t width) {
  switch (width) {
    case 1: gather(to, from, rows, n, 1); break;
    case 2: gather(to, from, rows, n, 2); break;
    case 4: gather(to, from, rows, n, 4); break;
    case 8: gather(to, from, rows, n, 8); break;
    case 12: gather(to, from, rows, n, 12); break;
    case 16: gather(to, from, rows, n, 16); break;
    case 32: gather(to, from, rows, n, 32); break;
    default: gather(to, from, rows, n, width); break;
  }
}

static uint64_t load_index(const uint8_t *from, int64_t i, size_t width) {
  switch (width) {
    case 1: return from[i];
    case 2: return csf_load_u16(from + 2 * i);
    case 4: return csf_load_u32(from + 4 * i);
    default: return csf_load_u64(from + 8 * i);
  }
}

/*
 * Indices into a dictionary that was joined with others. Behind a null an index may be anything: one that points nowhere
 * becomes 0. A signed negative index is, as unsigned, too large as well.
 */
static void map_indices(const struct csf_column *column, uint8_t *to, const uint8_t *from, struct csf_rows rows,
                        size_t width) {
  for (int64_t i = 0; i < rows.n; i++) {
    uint64_t old = load_index(from, csf_rows_at(rows, i), width);
    uint64_t index = old < (uint64_t)column->map_length ? column->map[old] : 0;
    memcpy(to + (size_t)i * width, &index, width);
  }
}

enum colshuf_status csf_column_add_fixed(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                         struct colshuf_error *err) {
  size_t width = (size_t)column->field->width;
  size_t size;
  if (width == 0) return COLSHUF_OK;
  if (csf_multiply_overflow((size_t)rows.n, width, &size)) return csf_column_fail_limit(column, err);
  CSF_TRY(csf_column_need(column, &column->main, size, err));
  uint8_t *to = column->main.data + column->main.size;
  const uint8_t *from = array->buffers[1];
  if (column->map != NULL) map_indices(column, to, from, rows, width);
  else if (rows.rows == NULL) memcpy(to, from + (size_t)rows.base * width, size);
  else gather_values(to, from + (size_t)rows.base * width, rows.rows, rows.n, width);
  column->main.size += size;
  return COLSHUF_OK;
}

/* n bits of from at base + rows[i] to the bits of `to` from bit_offset on; what stands in `to` before bit_offset stays. */
static void gather_bits(uint8_t *to, int64_t bit_offset, const uint8_t *from, struct csf_rows rows) {
  int64_t i = 0;
  for (; i < rows.n && ((bit_offset + i) & 7) != 0; i++) {
    csf_bits_fill(to, bit_offset + i, 1, csf_bit_get(from, csf_rows_at(rows, i)));
  }
  uint8_t *place = to + (bit_offset + i) / 8;
  for (; rows.n - i >= 8; i += 8) {
    unsigned byte = 0;
    for (unsigned j = 0; j < 8; j++) byte |= (unsigned)csf_bit_get(from, rows.base + rows.rows[i + j]) << j;
    *place++ = (uint8_t)byte;
  }
  for (; i < rows.n; i++) csf_bits_fill(to, bit_offset + i, 1, csf_bit_get(from, csf_rows_at(rows, i)));
}

static void add_bits(uint8_t *to, int64_t bit_offset, const uint8_t *from, struct csf_rows rows) {
  if (rows.rows == NULL) csf_bits_copy(to, bit_offset, from, rows.base, rows.n);
  else gather_bits(to, bit_offset, from, rows);
}

/* Makes bytes hold the bits of length + n values. */
static enum colshuf_status need_bits(struct csf_column *column, struct csf_column_bytes *bytes, int64_t n,
                                     struct colshuf_error *err) {
  size_t size = (size_t)csf_bit_bytes(column->length + n);
  CSF_TRY(csf_column_need(column, bytes, size - bytes->size, err));
  bytes->size = size;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_need_bits(struct csf_column *column, int64_t n, struct colshuf_error *err) {
  return need_bits(column, &column->main, n, err);
}

enum colshuf_status csf_column_add_bits(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) {
  CSF_TRY(need_bits(column, &column->main, rows.n, err));
  add_bits(column->main.data, column->length, array->buffers[1], rows);
  return COLSHUF_OK;
}

/* The first null: all values before it are valid. */
static enum colshuf_status start_validity(struct csf_column *column, int64_t n, struct colshuf_error *err) {
  column->validity.size = 0;
  CSF_TRY(need_bits(column, &column->validity, n, err));
  csf_bits_fill(column->validity.data, 0, column->length, true);
  return COLSHUF_OK;
}

enum colshuf_status csf_column_need_validity(struct csf_column *column, int64_t n, struct colshuf_error *err) {
  return column->has_validity ? need_bits(column, &column->validity, n, err) : start_validity(column, n, err);
}

void csf_column_end_validity(struct csf_column *column, int64_t n) {
  int64_t nulls = n - csf_bits_count(column->validity.data, column->length, n);
  column->null_count += nulls;
  if (nulls > 0) column->has_validity = true;
}

enum colshuf_status csf_column_add_validity(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                            struct colshuf_error *err) {
  const uint8_t *bits = csf_array_validity(column->field, array);
  bool some = bits != NULL && (rows.rows != NULL || csf_bits_count(bits, rows.base, rows.n) < rows.n);
  if (!some && !column->has_validity) return COLSHUF_OK;
  CSF_TRY(csf_column_need_validity(column, rows.n, err));
  if (!some) {
    csf_bits_fill(column->validity.data, column->length, rows.n, true);
    return COLSHUF_OK;
  }
  add_bits(column->validity.data, column->length, bits, rows);
  csf_column_end_validity(column, rows.n);
  return COLSHUF_OK;
}
