/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/growing.h"

/*
 * Room for so many times what has come: little is known at first, and what is moved to a larger slab costs. Beyond the target
 * there is no more growing than by the last block.
 */
enum { GROWTH = 8, FIRST_GROWTH = 16 };

bool csf_growing_suits(const struct csf_field *field) {
  if (field->dictionary != NULL) return false;
  switch (field->layout) {
    case CSF_LAYOUT_BITS:
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      return true;
    case CSF_LAYOUT_FIXED:
      return field->width > 0; /* rows that take no bytes could be any number */
    default:
      return false;
  }
}

static bool has_text(const struct csf_growing_column *column) {
  return column->layout == CSF_LAYOUT_BINARY32 || column->layout == CSF_LAYOUT_BINARY64;
}

static size_t columns_size(const struct csf_growing *growing) {
  return (size_t)growing->schema->root.n_children * sizeof *growing->columns;
}

static enum colshuf_status make_columns(struct csf_growing *growing, struct colshuf_error *err) {
  growing->columns = csf_alloc_zero(&growing->allocator, columns_size(growing));
  if (growing->columns == NULL) return csf_fail_memory(err, columns_size(growing));
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    const struct csf_field *field = &growing->schema->root.children[c];
    struct csf_growing_column *column = &growing->columns[c];
    column->layout = field->layout;
    column->width = field->width;
    if (has_text(column)) column->width = column->layout == CSF_LAYOUT_BINARY64 ? 8 : 4;
  }
  return COLSHUF_OK;
}

/* The array of column c of batch, and the place of the batch's first row in its buffers. */
struct source {
  const struct ArrowArray *array;
  int64_t first;
};

static struct source source_at(const struct ArrowArray *batch, const int32_t *columns, int32_t c) {
  const struct ArrowArray *array = batch->children[columns[c]];
  return (struct source){array, array->offset + batch->offset};
}

/* How much text is to come, and whether everything fits the room there is. */
static enum colshuf_status measure(struct csf_growing *growing, const struct ArrowArray *batch, const int32_t *columns,
                                   bool *fits, struct colshuf_error *err) {
  *fits = growing->batch.release != NULL && growing->capacity - growing->n_rows >= batch->length;
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    struct csf_growing_column *column = &growing->columns[c];
    if (!has_text(column)) continue;
    struct source source = source_at(batch, columns, c);
    bool wide = column->width == 8;
    const void *offsets = source.array->buffers[1];
    column->text_coming = csf_offset_at(offsets, source.first + batch->length, wide) - csf_offset_at(offsets, source.first, wide);
    if (!wide && column->text_size + column->text_coming > INT32_MAX) {
      return csf_fail(err, COLSHUF_LIMIT, "column \"%s\" has more bytes than 32-bit offsets can hold",
                      growing->schema->root.children[c].name);
    }
    *fits &= column->text_capacity - column->text_size >= column->text_coming;
  }
  return COLSHUF_OK;
}

static size_t validity_size(int64_t rows) {
  return csf_round_up((uint64_t)csf_bit_bytes(rows), CSF_ALIGNMENT);
}
static size_t main_size(const struct csf_growing_column *column, int64_t rows) {
  if (column->width == 0) return validity_size(rows);
  return csf_round_up((uint64_t)column->width * (uint64_t)(rows + has_text(column)), CSF_ALIGNMENT);
}

/* Cuts a slab's body into the regions of the columns; returns its size. body NULL: only the size. */
static size_t lay_out(struct csf_growing_column *columns, int32_t n, int64_t rows, uint8_t *body) {
  size_t size = 0;
  for (int32_t c = 0; c < n; c++) {
    struct csf_growing_column *column = &columns[c];
    size_t validity = size, values = validity + validity_size(rows), text = values + main_size(column, rows);
    size = text + csf_round_up((uint64_t)column->text_capacity, CSF_ALIGNMENT);
    if (body == NULL) continue;
    column->validity = body + validity;
    column->main = body + values;
    column->text = body + text;
  }
  return size;
}

static size_t main_used(const struct csf_growing_column *column, int64_t rows) {
  if (column->width == 0) return (size_t)csf_bit_bytes(rows);
  return (size_t)(column->width * (rows + has_text(column)));
}

/* What is there goes to the regions of to. */
static void move_columns(const struct csf_growing *growing, const struct csf_growing_column *to) {
  if (growing->n_rows == 0) return;
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    const struct csf_growing_column *from = &growing->columns[c];
    if (from->null_count > 0) memcpy(to[c].validity, from->validity, (size_t)csf_bit_bytes(growing->n_rows));
    memcpy(to[c].main, from->main, main_used(from, growing->n_rows));
    if (from->text_size > 0) memcpy(to[c].text, from->text, (size_t)from->text_size);
  }
}

/* A new slab for so many rows and the text_capacity that to, the columns as they will be, asks for. */
static enum colshuf_status move_into(struct csf_growing *growing, int64_t rows, struct csf_growing_column *to,
                                     struct colshuf_error *err) {
  int32_t n = growing->schema->root.n_children;
  struct ArrowArray batch;
  uint8_t *body;
  CSF_TRY(csf_array_new_shaped(&growing->allocator, growing->shape, lay_out(to, n, rows, NULL), &batch, &body, NULL, err));
  lay_out(to, n, rows, body);
  move_columns(growing, to);
  memcpy(growing->columns, to, columns_size(growing));
  if (growing->batch.release != NULL) growing->batch.release(&growing->batch);
  growing->batch = batch;
  growing->capacity = rows;
  return COLSHUF_OK;
}

static int64_t choose_rows(const struct csf_growing *growing, int64_t coming) {
  int64_t needed = growing->n_rows + coming, most, wanted;
  if (needed <= growing->capacity) return growing->capacity; /* text alone wants room */
  if (needed <= growing->usual) return growing->usual;
  if (csf_add_overflow(growing->target_rows, 2 * coming, &most)) most = INT64_MAX;
  int growth = growing->n_rows == 0 ? FIRST_GROWTH : GROWTH;
  if (csf_multiply_overflow(needed, growth, &wanted) || wanted > most) wanted = most;
  return wanted > needed ? wanted : needed;
}

/* As much for each of the rows as for those known, and a quarter more. */
static int64_t choose_text(const struct csf_growing_column *column, int64_t known_rows, int64_t rows) {
  int64_t needed = column->text_size + column->text_coming;
  double expected = (double)needed * 1.25 * (double)rows / (double)known_rows;
  int64_t wanted = expected < (double)INT32_MAX || column->width == 8 ? (int64_t)expected : INT32_MAX;
  if (wanted < needed) wanted = needed;
  return wanted > column->text_usual ? wanted : column->text_usual;
}

/* Chooses the capacities of to for so many rows; returns the bytes of all. */
static size_t plan(const struct csf_growing *growing, int64_t known_rows, int64_t rows, struct csf_growing_column *to) {
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    if (has_text(&to[c])) to[c].text_capacity = choose_text(&growing->columns[c], known_rows, rows);
  }
  return lay_out(to, growing->schema->root.n_children, rows, NULL);
}

static enum colshuf_status make_room(struct csf_growing *growing, int64_t coming, struct colshuf_error *err) {
  struct csf_growing_column *to = csf_alloc(&growing->allocator, columns_size(growing));
  if (to == NULL) return csf_fail_memory(err, columns_size(growing));
  memcpy(to, growing->columns, columns_size(growing));
  int64_t needed = growing->n_rows + coming, rows = choose_rows(growing, coming), modest = needed + needed / 2;
  if (plan(growing, needed, rows, to) > growing->target_bytes && rows > modest) plan(growing, needed, rows = modest, to);
  enum colshuf_status status = move_into(growing, rows, to, err);
  csf_free(&growing->allocator, to, columns_size(growing));
  return status;
}

/* Bits are written from the first null on: till then all that is there is valid. */
static void add_validity(struct csf_growing_column *column, int64_t n_rows, const struct source *source, int64_t n) {
  const uint8_t *valid = source->array->null_count == 0 ? NULL : source->array->buffers[0];
  int64_t nulls = valid == NULL ? 0 : n - csf_bits_count(valid, source->first, n);
  if (nulls == 0 && column->null_count == 0) return;
  if (column->null_count == 0) csf_bits_fill(column->validity, 0, n_rows, true);
  if (nulls == 0) csf_bits_fill(column->validity, n_rows, n, true);
  else csf_bits_copy(column->validity, n_rows, valid, source->first, n);
  column->null_count += nulls;
}

static inline __attribute__((always_inline)) void add_text(struct csf_growing_column *column, int64_t n_rows,
                                                           const struct source *source, int64_t n, bool wide) {
  const uint8_t *offsets = source->array->buffers[1], *text = source->array->buffers[2];
  int64_t width = wide ? 8 : 4, start = csf_offset_at(offsets, source->first, wide);
  csf_offset_set(column->main, 0, wide, 0);
  csf_offsets_shift(column->main + width * (n_rows + 1), offsets + width * (source->first + 1), n, column->text_size - start, wide);
  if (column->text_coming > 0) memcpy(column->text + column->text_size, text + start, (size_t)column->text_coming);
  column->text_size += column->text_coming;
}

static void add_column(struct csf_growing_column *column, int64_t n_rows, const struct source *source, int64_t n) {
  const uint8_t *values = source->array->buffers[1];
  int64_t width = column->width;
  add_validity(column, n_rows, source, n);
  if (column->layout == CSF_LAYOUT_FIXED) {
    memcpy(column->main + width * n_rows, values + width * source->first, (size_t)(width * n));
  } else if (column->layout == CSF_LAYOUT_BITS) {
    csf_bits_copy(column->main, n_rows, values, source->first, n);
  } else if (width == 4) {
    add_text(column, n_rows, source, n, false);
  } else {
    add_text(column, n_rows, source, n, true);
  }
}

enum colshuf_status csf_growing_append(struct csf_growing *growing, const struct ArrowArray *batch, const int32_t *columns,
                                       struct colshuf_error *err) {
  bool fits;
  if (growing->columns == NULL) CSF_TRY(make_columns(growing, err));
  CSF_TRY(measure(growing, batch, columns, &fits, err));
  if (!fits) CSF_TRY(make_room(growing, batch->length, err));
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    struct source source = source_at(batch, columns, c);
    add_column(&growing->columns[c], growing->n_rows, &source, batch->length);
  }
  growing->n_rows += batch->length;
  return COLSHUF_OK;
}

uint64_t csf_growing_size(const struct csf_growing *growing) {
  uint64_t size = 0;
  for (int32_t c = 0; growing->n_rows > 0 && c < growing->schema->root.n_children; c++) {
    const struct csf_growing_column *column = &growing->columns[c];
    size += main_used(column, growing->n_rows) + (uint64_t)column->text_size;
    if (column->null_count > 0) size += (uint64_t)csf_bit_bytes(growing->n_rows);
  }
  return size;
}

/* The bits behind the last row are zero, so that equal batches are equal bytes. */
static void end_bits(uint8_t *bits, int64_t n) {
  csf_bits_fill(bits, n, -n & 7, false);
}

static void hand_over(struct csf_growing_column *column, int64_t n_rows, struct ArrowArray *out) {
  out->length = n_rows;
  out->null_count = column->null_count;
  out->buffers[0] = column->null_count > 0 ? column->validity : NULL;
  out->buffers[1] = column->main;
  if (has_text(column)) out->buffers[2] = column->text;
  if (column->null_count > 0) end_bits(column->validity, n_rows);
  if (column->width == 0) end_bits(column->main, n_rows);
}

/* As much room as last time, unless hardly any of it was used. */
static int64_t usual_room(int64_t capacity, int64_t used) {
  return used >= capacity / 4 ? capacity : 2 * used;
}

void csf_growing_take(struct csf_growing *growing, struct ArrowArray *out) {
  for (int32_t c = 0; c < growing->schema->root.n_children; c++) {
    struct csf_growing_column *column = &growing->columns[c];
    hand_over(column, growing->n_rows, growing->batch.children[c]);
    column->text_usual = usual_room(column->text_capacity, column->text_size);
    column->text_size = column->text_capacity = column->null_count = 0;
  }
  growing->usual = usual_room(growing->capacity, growing->n_rows);
  *out = growing->batch;
  out->length = growing->n_rows;
  growing->batch.release = NULL;
  growing->n_rows = growing->capacity = 0;
}

void csf_growing_clear(struct csf_growing *growing) {
  if (growing->batch.release != NULL) growing->batch.release(&growing->batch);
  if (growing->columns != NULL) csf_free(&growing->allocator, growing->columns, columns_size(growing));
  growing->batch.release = NULL;
  growing->columns = NULL;
  growing->n_rows = growing->capacity = growing->usual = 0;
}
