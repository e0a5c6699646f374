/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/slices.h"

#include "arrow/array.h"

/* How many slices ahead memory is asked for: enough to hide its delay, few enough for what a core can wait for at a time. */
enum { AHEAD = 6, LINE = 64, SHORT_COPY = 16 * LINE };

void csf_sources_init(struct csf_sources *sources, const struct csf_field *root, const struct colshuf_allocator *allocator) {
  *sources = (struct csf_sources){.root = root};
  csf_buffer_init(&sources->table, allocator);
}

void csf_sources_clear(struct csf_sources *sources) {
  csf_buffer_clear(&sources->table);
}

static bool is_binary(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_BINARY32 || field->layout == CSF_LAYOUT_BINARY64;
}

/* Columns that are copied from the table; others go through their arrays. */
static bool is_simple(const struct csf_field *field) {
  return is_binary(field) || field->layout == CSF_LAYOUT_BITS || (field->layout == CSF_LAYOUT_FIXED && field->width > 0);
}

static struct csf_chunk_source source_of(const struct csf_field *field, const struct ArrowArray *array) {
  if (!is_simple(field) || array->length == 0) return (struct csf_chunk_source){0};
  return (struct csf_chunk_source){csf_array_validity(field, array), array->buffers[1], is_binary(field) ? array->buffers[2] : NULL};
}

enum colshuf_status csf_sources_set(struct csf_sources *sources, const struct ArrowArray *const *chunks, int32_t n_chunks,
                                    struct colshuf_error *err) {
  int32_t n_columns = sources->root->n_children;
  size_t size = (size_t)n_columns * (size_t)n_chunks * sizeof(struct csf_chunk_source);
  CSF_TRY(csf_buffer_reserve(&sources->table, size, err));
  struct csf_chunk_source *place = (struct csf_chunk_source *)(void *)sources->table.data;
  sources->n_chunks = n_chunks;
  for (int32_t column = 0; column < n_columns; column++) {
    const struct csf_field *field = &sources->root->children[column];
    for (int32_t i = 0; i < n_chunks; i++) *place++ = source_of(field, chunks[i]->children[column]);
  }
  return COLSHUF_OK;
}

static const struct csf_chunk_source *sources_of(const struct csf_sources *sources, int32_t column) {
  return (const struct csf_chunk_source *)(const void *)sources->table.data + (size_t)column * (size_t)sources->n_chunks;
}

static inline void prefetch(const uint8_t *place, int64_t size) {
  for (int64_t at = 0; at < size; at += LINE) __builtin_prefetch(place + at);
}

/* Both sides have CSF_COLUMN_SLACK bytes of room: whole steps, no tail. */
static inline void copy_lines(uint8_t *to, const uint8_t *from, int64_t size) {
  for (int64_t at = 0; at < size; at += LINE) memcpy(to + at, from + at, LINE);
}

static inline void copy_bytes(uint8_t *to, const uint8_t *from, int64_t size) {
  if (size <= SHORT_COPY) copy_lines(to, from, size);
  else memcpy(to, from, (size_t)size);
}

static void measure_binary(const struct csf_chunk_source *table, struct csf_slice *slices, size_t n, bool wide) {
  int64_t width = wide ? 8 : 4;
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) {
      const struct csf_slice *next = &slices[i + AHEAD];
      prefetch(table[next->chunk_index].main + next->start * width, (next->n + 1) * width);
    }
    struct csf_slice *slice = &slices[i];
    const uint8_t *offsets = table[slice->chunk_index].main;
    int64_t size = csf_offset_at(offsets, slice->start + slice->n, wide) - csf_offset_at(offsets, slice->start, wide);
    slice->bytes += (uint64_t)(size + slice->n * width);
  }
}

static void measure_any(const struct csf_field *field, int32_t column, struct csf_slice *slices, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const struct ArrowArray *array = slices[i].chunk->children[column];
    struct csf_measure size = csf_columns_measure(field, array, slices[i].start, slices[i].n, false);
    slices[i].bytes += size.bytes;
    if (size.values > slices[i].values) slices[i].values = size.values;
  }
}

void csf_slices_measure(const struct csf_sources *sources, struct csf_slice *slices, size_t n) {
  const struct csf_field *root = sources->root;
  uint64_t row_bits = 0;
  for (int32_t column = 0; column < root->n_children; column++) {
    const struct csf_field *field = &root->children[column];
    if (field->layout == CSF_LAYOUT_FIXED) row_bits += 8 * (uint64_t)field->width;
    if (field->layout == CSF_LAYOUT_BITS) row_bits++;
  }
  for (size_t i = 0; i < n; i++) {
    slices[i].bytes = row_bits * (uint64_t)slices[i].n / 8;
    slices[i].values = (uint64_t)slices[i].n;
  }
  for (int32_t column = 0; column < root->n_children; column++) {
    const struct csf_field *field = &root->children[column];
    if (is_binary(field)) measure_binary(sources_of(sources, column), slices, n, field->layout == CSF_LAYOUT_BINARY64);
    else if (!is_simple(field) && field->layout != CSF_LAYOUT_FIXED) measure_any(field, column, slices, n);
  }
}

static enum colshuf_status append_fixed(struct csf_column *column, const struct csf_chunk_source *table,
                                        const struct csf_slice *slices, size_t n, int64_t n_rows, struct colshuf_error *err) {
  int64_t width = column->field->width;
  CSF_TRY(csf_column_need(column, &column->main, (size_t)(n_rows * width), err));
  uint8_t *to = column->main.data + column->main.size;
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) {
      const struct csf_slice *next = &slices[i + AHEAD];
      prefetch(table[next->chunk_index].main + next->start * width, next->n * width);
    }
    copy_bytes(to, table[slices[i].chunk_index].main + slices[i].start * width, slices[i].n * width);
    to += slices[i].n * width;
  }
  column->main.size += (size_t)(n_rows * width);
  return COLSHUF_OK;
}

struct text {
  const uint8_t *from;
  int64_t size;
};

/* The offsets of all slices, and where their texts lie; returns the end of all texts. */
static inline __attribute__((always_inline)) int64_t append_offsets(struct csf_column *column, const struct csf_chunk_source *table,
                                                                    const struct csf_slice *slices, size_t n,
                                                                    struct text *texts, bool wide) {
  int64_t width = wide ? 8 : 4, end = (int64_t)column->extra.size;
  uint8_t *to = column->main.data + column->main.size;
  for (size_t i = 0; i < n; i++) {
    const struct csf_chunk_source *source = &table[slices[i].chunk_index];
    const uint8_t *offsets = source->main + slices[i].start * width;
    if (i + AHEAD < n) {
      const struct csf_slice *next = &slices[i + AHEAD];
      prefetch(table[next->chunk_index].main + next->start * width, (next->n + 1) * width);
    }
    int64_t start = csf_offset_at(offsets, 0, wide);
    texts[i] = (struct text){source->extra == NULL ? NULL : source->extra + start, csf_offset_at(offsets, slices[i].n, wide) - start};
    csf_offsets_shift(to, offsets + width, slices[i].n, end - start, wide);
    to += slices[i].n * width;
    end += texts[i].size;
  }
  return end;
}

static void append_texts(uint8_t *to, const struct text *texts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) prefetch(texts[i + AHEAD].from, texts[i + AHEAD].size);
    if (texts[i].size > 0) copy_bytes(to, texts[i].from, texts[i].size);
    to += texts[i].size;
  }
}

static enum colshuf_status append_binary(struct csf_column *column, const struct csf_chunk_source *table,
                                         const struct csf_slice *slices, size_t n, int64_t n_rows, struct colshuf_error *err) {
  bool wide = column->field->layout == CSF_LAYOUT_BINARY64;
  size_t width = wide ? 8 : 4;
  CSF_TRY(csf_buffer_reserve(&column->rows, n * sizeof(struct text), err));
  struct text *texts = (struct text *)(void *)column->rows.data;
  CSF_TRY(csf_column_need(column, &column->main, ((size_t)n_rows + 1) * width, err));
  if (column->main.size == 0) {
    memset(column->main.data, 0, width);
    column->main.size = width;
  }
  int64_t end = wide ? append_offsets(column, table, slices, n, texts, true) : append_offsets(column, table, slices, n, texts, false);
  if (!wide && end > INT32_MAX) return csf_column_fail_limit(column, err);
  CSF_TRY(csf_column_need(column, &column->extra, (size_t)end - column->extra.size, err));
  append_texts(column->extra.data + column->extra.size, texts, n);
  column->main.size += (size_t)n_rows * width;
  column->extra.size = (size_t)end;
  return COLSHUF_OK;
}

static bool has_nulls(const struct csf_chunk_source *table, const struct csf_slice *slices, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (table[slices[i].chunk_index].validity != NULL) return true;
  }
  return false;
}

/* Bits being put behind one another, 64 at a time. */
struct bit_sink {
  uint8_t *place; /* of the next word */
  uint64_t word;
  unsigned n;     /* bits in word, below 64 */
};

static struct bit_sink open_sink(uint8_t *bits, int64_t length) {
  struct bit_sink sink = {bits + length / 64 * 8, 0, (unsigned)(length % 64)};
  if (sink.n > 0) sink.word = csf_load_u64(sink.place) & (((uint64_t)1 << sink.n) - 1);
  return sink;
}

/* n bits, 1 to 57 of them; the others of value are 0. */
static inline void put_bits(struct bit_sink *sink, uint64_t value, unsigned n) {
  sink->word |= value << sink->n;
  sink->n += n;
  if (sink->n < 64) return;
  csf_store_u64(sink->place, sink->word);
  sink->place += 8;
  sink->n -= 64;
  sink->word = sink->n == 0 ? 0 : value >> (n - sink->n);
}

/* Bits [start, start + n) of bits, which may be read a word beyond their end; all ones where bits is NULL. */
static inline void put_range(struct bit_sink *sink, const uint8_t *bits, int64_t start, int64_t n) {
  enum { STEP = 56 };
  for (; n > 0; start += STEP, n -= STEP) {
    unsigned step = n < STEP ? (unsigned)n : STEP;
    uint64_t value = bits == NULL ? UINT64_MAX : csf_load_u64(bits + start / 8) >> (start & 7);
    put_bits(sink, value & (((uint64_t)1 << step) - 1), step);
  }
}

/* The bits of all slices, of validity or of values, behind `length` bits of `to`. */
static void append_bits(uint8_t *to, int64_t length, const struct csf_chunk_source *table, const struct csf_slice *slices, size_t n,
                        bool validity) {
  struct bit_sink sink = open_sink(to, length);
  for (size_t i = 0; i < n; i++) {
    const struct csf_chunk_source *source = &table[slices[i].chunk_index];
    if (i + AHEAD < n) {
      const struct csf_chunk_source *next = &table[slices[i + AHEAD].chunk_index];
      const uint8_t *bits = validity ? next->validity : next->main;
      if (bits != NULL) prefetch(bits + slices[i + AHEAD].start / 8, slices[i + AHEAD].n / 8 + 1);
    }
    put_range(&sink, validity ? source->validity : source->main, slices[i].start, slices[i].n);
  }
  csf_store_u64(sink.place, sink.word);
}

static enum colshuf_status append_validity(struct csf_column *column, const struct csf_chunk_source *table,
                                           const struct csf_slice *slices, size_t n, int64_t n_rows, struct colshuf_error *err) {
  if (!column->has_validity && !has_nulls(table, slices, n)) return COLSHUF_OK;
  CSF_TRY(csf_column_need_validity(column, n_rows, err));
  append_bits(column->validity.data, column->length, table, slices, n, true);
  csf_column_end_validity(column, n_rows);
  return COLSHUF_OK;
}

static enum colshuf_status append_bools(struct csf_column *column, const struct csf_chunk_source *table, const struct csf_slice *slices,
                                        size_t n, int64_t n_rows, struct colshuf_error *err) {
  CSF_TRY(csf_column_need_bits(column, n_rows, err));
  append_bits(column->main.data, column->length, table, slices, n, false);
  return COLSHUF_OK;
}

static enum colshuf_status append_simple(struct csf_column *column, const struct csf_chunk_source *table, const struct csf_slice *slices,
                                         size_t n, int64_t n_rows, struct colshuf_error *err) {
  CSF_TRY(append_validity(column, table, slices, n, n_rows, err));
  if (is_binary(column->field)) CSF_TRY(append_binary(column, table, slices, n, n_rows, err));
  else if (column->field->layout == CSF_LAYOUT_BITS) CSF_TRY(append_bools(column, table, slices, n, n_rows, err));
  else CSF_TRY(append_fixed(column, table, slices, n, n_rows, err));
  column->length += n_rows;
  return COLSHUF_OK;
}

static enum colshuf_status append_any(struct csf_column *column, int32_t index, const struct csf_slice *slices, size_t n,
                                      struct colshuf_error *err) {
  for (size_t i = 0; i < n; i++) {
    struct csf_rows rows = {slices[i].start, NULL, slices[i].n};
    CSF_TRY(csf_column_add(column, slices[i].chunk->children[index], rows, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_columns_append_slices(struct csf_columns *columns, const struct csf_sources *sources,
                                              const struct csf_slice *slices, size_t n, struct colshuf_error *err) {
  int64_t n_rows = 0;
  for (size_t i = 0; i < n; i++) n_rows += slices[i].n;
  for (int32_t index = 0; index < columns->root.n_children; index++) {
    struct csf_column *column = &columns->root.children[index];
    if (is_simple(column->field)) CSF_TRY(append_simple(column, sources_of(sources, index), slices, n, n_rows, err));
    else CSF_TRY(append_any(column, index, slices, n, err));
  }
  columns->root.length += n_rows;
  return COLSHUF_OK;
}
