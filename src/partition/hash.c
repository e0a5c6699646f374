/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are hashed in chunks of rows, all key columns of one chunk before the next, so that the running hashes stay in the first
 * level of cache. Types with a kernel go straight to it; narrow and odd ones are widened into a small array that a kernel takes; nested
 * ones are folded value by value.
 */
#include "partition/hash.h"

#include "partition/murmur3.h"

enum { CHUNK = 1024 };

static uint32_t fold(const struct csf_column *column, int64_t from, int64_t to, uint32_t h, enum colshuf_rules rules);

static uint32_t hash_wide_decimal(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  /* Comet hashes the sixteen bytes as they are stored. */
  if (rules == COLSHUF_RULES_COMET && column->width == 16) return csf_hash_bytes(csf_column_value(column, row), 16, h);
  uint8_t bytes[CSF_DECIMAL_BYTES_MAX];
  size_t size = csf_column_decimal_bytes(column, row, bytes);
  return csf_hash_bytes(bytes, size, h);
}

static uint32_t hash_calendar(const struct csf_column *column, int64_t row, uint32_t h) {
  struct csf_calendar value = csf_column_calendar(column, row);
  h = csf_hash_long((uint64_t)value.microseconds, h);
  return csf_hash_int((uint32_t)value.months, csf_hash_int((uint32_t)value.days, h));
}

static uint32_t hash_struct(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  for (int32_t i = 0; i < column->n_children; i++) h = fold(&column->children[i], row, row + 1, h, rules);
  return h;
}

/* Entries one after another: the key, then the value. */
static uint32_t hash_map(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  int64_t from, to;
  csf_column_items(column, row, &from, &to);
  return fold(&column->children[0], from, to, h, rules);
}

static uint32_t hash_list(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  int64_t from, to;
  csf_column_items(column, row, &from, &to);
  return fold(&column->children[0], from, to, h, rules);
}

static uint32_t hash_valid(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  bool one_nan = rules == COLSHUF_RULES_SPARK;
  switch (column->kind) {
    case CSF_KIND_NULL: return h;
    case CSF_KIND_BOOL: return csf_hash_int(csf_column_bool(column, row), h);
    case CSF_KIND_INT: return csf_hash_int((uint32_t)csf_column_integer(column, row), h);
    case CSF_KIND_LONG: return csf_hash_long((uint64_t)csf_column_integer(column, row), h);
    case CSF_KIND_FLOAT: return csf_hash_int(csf_float_bits(csf_column_float(column, row), one_nan), h);
    case CSF_KIND_DOUBLE: return csf_hash_long(csf_double_bits(csf_column_double(column, row), one_nan), h);
    case CSF_KIND_DECIMAL_LONG: return csf_hash_long((uint64_t)csf_column_decimal_long(column, row), h);
    case CSF_KIND_DECIMAL_WIDE: return hash_wide_decimal(column, row, h, rules);
    case CSF_KIND_DAY_TIME: return csf_hash_long((uint64_t)csf_column_day_time(column, row), h);
    case CSF_KIND_CALENDAR: return hash_calendar(column, row, h);
    case CSF_KIND_BYTES: {
      struct csf_span bytes = csf_column_bytes(column, row);
      return csf_hash_bytes(bytes.data, bytes.size, h);
    }
    case CSF_KIND_LIST: return hash_list(column, row, h, rules);
    case CSF_KIND_MAP: return hash_map(column, row, h, rules);
    case CSF_KIND_STRUCT: return hash_struct(column, row, h, rules);
    case CSF_KIND_DICTIONARY: return csf_hash_value(&column->children[0], csf_column_integer(column, row), h, rules);
  }
  return h;
}

uint32_t csf_hash_value(const struct csf_column *column, int64_t row, uint32_t seed, enum colshuf_rules rules) {
  return csf_column_valid(column, row) ? hash_valid(column, row, seed, rules) : seed;
}

/* One row after another into one hash, as the elements of a list are. The types that fill lists most have their own loops. */
static uint32_t fold(const struct csf_column *column, int64_t from, int64_t to, uint32_t h, enum colshuf_rules rules) {
  if (column->kind == CSF_KIND_INT && column->width == 4 && column->validity == NULL) {
    const uint8_t *place = column->values + 4 * column->base;
    for (int64_t i = from; i < to; i++) h = csf_hash_int(csf_load_u32(place + 4 * i), h);
    return h;
  }
  if (column->kind == CSF_KIND_LONG && column->width == 8 && column->validity == NULL) {
    const uint8_t *place = column->values + 8 * column->base;
    for (int64_t i = from; i < to; i++) h = csf_hash_long(csf_load_u64(place + 8 * i), h);
    return h;
  }
  for (int64_t i = from; i < to; i++) h = csf_hash_value(column, i, h, rules);
  return h;
}

/* Rows start .. start + n of a column that no kernel takes. */
static void hash_each(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint32_t *h) {
  for (size_t i = 0; i < n; i++) h[i] = csf_hash_value(column, start + (int64_t)i, h[i], rules);
}

static struct csf_rows rows_of(const struct csf_column *column, int64_t start, size_t n) {
  return (struct csf_rows){column->validity, column->base + start, n};
}

static void hash_ints(const struct csf_column *column, int64_t start, size_t n, uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->kind == CSF_KIND_INT && column->width == 4) {
    csf_murmur3_get()->ints(csf_column_value(column, start), &rows, h);
    return;
  }
  uint32_t wide[CHUNK];
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    wide[i] = column->kind == CSF_KIND_BOOL ? csf_column_bool(column, row) : (uint32_t)csf_column_integer(column, row);
  }
  csf_murmur3_get()->ints(wide, &rows, h);
}

static int64_t long_of(const struct csf_column *column, int64_t row) {
  switch (column->kind) {
    case CSF_KIND_DECIMAL_LONG: return csf_column_decimal_long(column, row);
    case CSF_KIND_DAY_TIME: return csf_column_day_time(column, row);
    default: return csf_column_integer(column, row);
  }
}

static void hash_longs(const struct csf_column *column, int64_t start, size_t n, uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->width == 8 && column->kind != CSF_KIND_DAY_TIME) {
    csf_murmur3_get()->longs(csf_column_value(column, start), &rows, h);
    return;
  }
  int64_t wide[CHUNK];
  if (column->width == 16) {
    const uint8_t *place = csf_column_value(column, start);
    for (size_t i = 0; i < n; i++) wide[i] = csf_load_i64(place + 16 * i);
  } else {
    for (size_t i = 0; i < n; i++) wide[i] = long_of(column, start + (int64_t)i);
  }
  csf_murmur3_get()->longs(wide, &rows, h);
}

static void hash_floats(const struct csf_column *column, int64_t start, size_t n, bool one_nan, uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->width == 4) {
    csf_murmur3_get()->floats(csf_column_value(column, start), &rows, one_nan, h);
    return;
  }
  uint32_t wide[CHUNK];
  for (size_t i = 0; i < n; i++) wide[i] = csf_column_float(column, start + (int64_t)i);
  csf_murmur3_get()->floats(wide, &rows, one_nan, h);
}

/* Where the strings of a chunk lie. False when they do not lie within 2^31 - 1 bytes of one buffer. */
static bool locate_strings(const struct csf_column *column, int64_t start, size_t n, uint32_t *begin, uint32_t *size,
                           struct csf_strings *out) {
  if (column->field->layout != CSF_LAYOUT_BINARY32) return false;
  const uint8_t *offsets = column->values + 4 * (column->base + start);
  uint32_t last = csf_load_u32(offsets);
  for (size_t i = 0; i < n; i++) {
    uint32_t next = csf_load_u32(offsets + 4 * i + 4);
    begin[i] = last;
    size[i] = next - last;
    last = next;
  }
  *out = (struct csf_strings){.data = column->more, .end = last, .begin = begin, .size = size};
  return true;
}

static void hash_strings(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint32_t *h) {
  uint32_t begin[CHUNK], size[CHUNK];
  struct csf_strings strings;
  if (!locate_strings(column, start, n, begin, size, &strings)) {
    hash_each(column, start, n, rules, h);
    return;
  }
  struct csf_rows rows = rows_of(column, start, n);
  csf_murmur3_get()->strings(&strings, &rows, h);
}

static void hash_chunk(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint32_t *h);

/* Member by member where every row has its members; a null struct leaves the hash, whatever stands beneath it. */
static void hash_structs(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint32_t *h) {
  const uint8_t *validity = column->validity;
  if (validity != NULL && csf_bits_count(validity, column->base + start, (int64_t)n) != (int64_t)n) {
    hash_each(column, start, n, rules, h);
    return;
  }
  for (int32_t i = 0; i < column->n_children; i++) hash_chunk(&column->children[i], start, n, rules, h);
}

/* At most CHUNK rows. */
static void hash_chunk(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, uint32_t *h) {
  bool one_nan = rules == COLSHUF_RULES_SPARK;
  switch (column->kind) {
    case CSF_KIND_NULL:
      return;
    case CSF_KIND_BOOL:
    case CSF_KIND_INT:
      hash_ints(column, start, n, h);
      return;
    case CSF_KIND_LONG:
    case CSF_KIND_DECIMAL_LONG:
    case CSF_KIND_DAY_TIME:
      hash_longs(column, start, n, h);
      return;
    case CSF_KIND_FLOAT:
      hash_floats(column, start, n, one_nan, h);
      return;
    case CSF_KIND_DOUBLE: {
      struct csf_rows rows = rows_of(column, start, n);
      csf_murmur3_get()->doubles(csf_column_value(column, start), &rows, one_nan, h);
      return;
    }
    case CSF_KIND_BYTES:
      hash_strings(column, start, n, rules, h);
      return;
    case CSF_KIND_STRUCT:
      hash_structs(column, start, n, rules, h);
      return;
    case CSF_KIND_DECIMAL_WIDE:
    case CSF_KIND_CALENDAR:
    case CSF_KIND_LIST:
    case CSF_KIND_MAP:
    case CSF_KIND_DICTIONARY:
      hash_each(column, start, n, rules, h);
      return;
  }
}

static void fill(uint32_t *h, size_t n, uint32_t value) {
  for (size_t i = 0; i < n; i++) h[i] = value;
}

static size_t chunk_at(int64_t start, int64_t n_rows) {
  return n_rows - start < CHUNK ? (size_t)(n_rows - start) : CHUNK;
}

/*
 * The hashes of a dictionary's values, all from the same seed; only the first key column has one. Left out (*table NULL) when the
 * dictionary has more values than there are rows to save.
 */
static enum colshuf_status hash_distinct(const struct csf_column *first, int64_t n_rows, uint32_t seed, enum colshuf_rules rules,
                                         struct csf_buffer *scratch, uint32_t **table, struct colshuf_error *err) {
  *table = NULL;
  if (first->kind != CSF_KIND_DICTIONARY || first->children[0].length > n_rows) return COLSHUF_OK;
  const struct csf_column *values = &first->children[0];
  CSF_TRY(csf_buffer_reserve(scratch, (size_t)values->length * sizeof **table + 1, err));
  *table = (uint32_t *)(void *)scratch->data;
  for (int64_t start = 0; start < values->length; start += CHUNK) {
    size_t n = chunk_at(start, values->length);
    fill(*table + start, n, seed);
    hash_chunk(values, start, n, rules, *table + start);
  }
  return COLSHUF_OK;
}

static void look_up(const struct csf_column *column, int64_t start, size_t n, const uint32_t *table, uint32_t *h) {
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    if (csf_column_valid(column, row)) h[i] = table[csf_column_integer(column, row)];
  }
}

enum colshuf_status csf_hash_columns(const struct csf_column *columns, int32_t n_columns, int64_t n_rows, uint32_t seed,
                                     enum colshuf_rules rules, struct csf_buffer *scratch, uint32_t *h,
                                     struct colshuf_error *err) {
  uint32_t *table = NULL;
  if (n_columns > 0) CSF_TRY(hash_distinct(&columns[0], n_rows, seed, rules, scratch, &table, err));
  for (int64_t start = 0; start < n_rows; start += CHUNK) {
    size_t n = chunk_at(start, n_rows);
    fill(h + start, n, seed);
    for (int32_t i = 0; i < n_columns; i++) {
      if (i == 0 && table != NULL) look_up(&columns[0], start, n, table, h + start);
      else hash_chunk(&columns[i], start, n, rules, h + start);
    }
  }
  return COLSHUF_OK;
}
