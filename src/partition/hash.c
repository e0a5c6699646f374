/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are hashed in chunks of rows, all key columns of one chunk before the next, so that the running hashes stay in the
 * first level of cache. Types with a kernel go straight to it; narrow and odd ones are widened into a small array that a kernel
 * takes; nested ones are folded value by value.
 */
#include "partition/hash.h"

#include "partition/murmur3.h"

enum { CHUNK = 1024 }; /* a power of two */

static uint32_t fold(const struct csf_column *column, int64_t from, int64_t to, uint32_t h, enum colshuf_rules rules);

static uint32_t hash_wide_decimal(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  /* Comet hashes the sixteen bytes as they are stored. */
  if (rules == COLSHUF_RULES_COMET && column->width == 16) return csf_hash_bytes(csf_column_value(column, row), 16, h);
  uint8_t bytes[CSF_DECIMAL_BYTES_MAX];
  size_t size = csf_column_decimal_bytes(column, row, bytes);
  return csf_hash_bytes(bytes, size, h);
}

static uint32_t hash_calendar(const struct csf_column *column, int64_t row, uint32_t h, enum colshuf_rules rules) {
  struct csf_calendar value = csf_column_calendar(column, row);
  h = csf_hash_long((uint64_t)value.microseconds, h);
  if (rules != COLSHUF_RULES_SPARK_GENERATED) h = csf_hash_int((uint32_t)value.days, h);
  return csf_hash_int((uint32_t)value.months, h);
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
  bool one_nan = rules != COLSHUF_RULES_COMET;
  switch (column->kind) {
    case CSF_KIND_NULL:
      return h;
    case CSF_KIND_BOOL:
      return csf_hash_int(csf_column_bool(column, row), h);
    case CSF_KIND_INT:
      return csf_hash_int((uint32_t)csf_column_integer(column, row), h);
    case CSF_KIND_LONG:
      return csf_hash_long((uint64_t)csf_column_integer(column, row), h);
    case CSF_KIND_FLOAT:
      return csf_hash_int(csf_float_bits(csf_column_float(column, row), one_nan), h);
    case CSF_KIND_DOUBLE:
      return csf_hash_long(csf_double_bits(csf_column_double(column, row), one_nan), h);
    case CSF_KIND_DECIMAL_LONG:
      return csf_hash_long((uint64_t)csf_column_decimal_long(column, row), h);
    case CSF_KIND_DECIMAL_WIDE:
      return hash_wide_decimal(column, row, h, rules);
    case CSF_KIND_DAY_TIME:
      return csf_hash_long((uint64_t)csf_column_day_time(column, row), h);
    case CSF_KIND_CALENDAR:
      return hash_calendar(column, row, h, rules);
    case CSF_KIND_BYTES: {
      struct csf_span bytes = csf_column_bytes(column, row);
      return csf_hash_bytes(bytes.data, bytes.size, h);
    }
    case CSF_KIND_LIST:
      return hash_list(column, row, h, rules);
    case CSF_KIND_MAP:
      return hash_map(column, row, h, rules);
    case CSF_KIND_STRUCT:
      return hash_struct(column, row, h, rules);
    case CSF_KIND_DICTIONARY:
      return csf_hash_value(&column->children[0], csf_column_integer(column, row), h, rules);
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
static void hash_each(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules, const uint32_t *seeds,
                      uint32_t *h) {
  for (size_t i = 0; i < n; i++) h[i] = csf_hash_value(column, start + (int64_t)i, seeds[i], rules);
}

static struct csf_rows rows_of(const struct csf_column *column, int64_t start, size_t n) {
  return (struct csf_rows){column->validity, column->base + start, n};
}

static void hash_ints(const struct csf_column *column, int64_t start, size_t n, const uint32_t *seeds, uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->kind == CSF_KIND_INT && column->width == 4) {
    csf_murmur3_get()->ints(csf_column_value(column, start), &rows, seeds, h);
    return;
  }
  uint32_t wide[CHUNK];
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    wide[i] = column->kind == CSF_KIND_BOOL ? csf_column_bool(column, row) : (uint32_t)csf_column_integer(column, row);
  }
  csf_murmur3_get()->ints(wide, &rows, seeds, h);
}

static int64_t long_of(const struct csf_column *column, int64_t row) {
  switch (column->kind) {
    case CSF_KIND_DECIMAL_LONG:
      return csf_column_decimal_long(column, row);
    case CSF_KIND_DAY_TIME:
      return csf_column_day_time(column, row);
    default:
      return csf_column_integer(column, row);
  }
}

static void hash_longs(const struct csf_column *column, int64_t start, size_t n, const uint32_t *seeds, uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->width == 8 && column->kind != CSF_KIND_DAY_TIME) {
    csf_murmur3_get()->longs(csf_column_value(column, start), &rows, seeds, h);
    return;
  }
  if (column->width == 16) {
    csf_murmur3_get()->decimals(csf_column_value(column, start), &rows, seeds, h);
    return;
  }
  int64_t wide[CHUNK];
  for (size_t i = 0; i < n; i++) wide[i] = long_of(column, start + (int64_t)i);
  csf_murmur3_get()->longs(wide, &rows, seeds, h);
}

static void hash_floats(const struct csf_column *column, int64_t start, size_t n, bool one_nan, const uint32_t *seeds,
                        uint32_t *h) {
  struct csf_rows rows = rows_of(column, start, n);
  if (column->width == 4) {
    csf_murmur3_get()->floats(csf_column_value(column, start), &rows, one_nan, seeds, h);
    return;
  }
  uint32_t wide[CHUNK];
  for (size_t i = 0; i < n; i++) wide[i] = csf_column_float(column, start + (int64_t)i);
  csf_murmur3_get()->floats(wide, &rows, one_nan, seeds, h);
}

/* Room to say where the strings of a chunk lie, for layouts that do not say it themselves. */
struct places {
  uint32_t begin[CHUNK];
  uint32_t stop[CHUNK];
};

/* The offsets of the array as they are. */
static void locate_binary32(const struct csf_column *column, int64_t start, size_t n, struct csf_strings *out) {
  const uint8_t *offsets = column->values + 4 * (column->base + start);
  *out = (struct csf_strings){column->more, csf_load_u32(offsets + 4 * n), offsets, offsets + 4};
}

static bool locate_binary64(const struct csf_column *column, int64_t start, size_t n, struct places *places,
                            struct csf_strings *out) {
  const uint8_t *offsets = column->values + 8 * (column->base + start);
  int64_t first = csf_load_i64(offsets), end = csf_load_i64(offsets + 8 * n) - first;
  if (end > INT32_MAX) return false;
  for (size_t i = 0; i < n; i++) {
    places->begin[i] = (uint32_t)(csf_load_i64(offsets + 8 * i) - first);
    places->stop[i] = (uint32_t)(csf_load_i64(offsets + 8 * i + 8) - first);
  }
  *out = (struct csf_strings){column->more + first, (size_t)end, (const uint8_t *)places->begin, (const uint8_t *)places->stop};
  return true;
}

/* Short views hold their text themselves: when all do, the views are one stretch of texts with gaps. */
static bool locate_views(const struct csf_column *column, int64_t start, size_t n, struct places *places,
                         struct csf_strings *out) {
  const uint8_t *views = column->values + 16 * (column->base + start);
  uint32_t longest = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t size = csf_load_u32(views + 16 * i);
    longest = size > longest ? size : longest;
    places->begin[i] = (uint32_t)(16 * i + 4);
    places->stop[i] = places->begin[i] + size;
  }
  *out = (struct csf_strings){views, 16 * n, (const uint8_t *)places->begin, (const uint8_t *)places->stop};
  return longest <= 12;
}

static bool locate_fixed(const struct csf_column *column, int64_t start, size_t n, struct places *places,
                         struct csf_strings *out) {
  if (column->width > INT32_MAX / CHUNK) return false;
  for (size_t i = 0; i < n; i++) {
    places->begin[i] = (uint32_t)i * (uint32_t)column->width;
    places->stop[i] = places->begin[i] + (uint32_t)column->width;
  }
  size_t end = n * (size_t)column->width;
  *out =
      (struct csf_strings){csf_column_value(column, start), end, (const uint8_t *)places->begin, (const uint8_t *)places->stop};
  return true;
}

/* Strings behind indices, where no value of the dictionary is null. An index under a null may be anything. */
static bool locate_indexed(const struct csf_column *column, int64_t start, size_t n, struct places *places,
                           struct csf_strings *out) {
  const struct csf_column *values = &column->children[0];
  if (values->kind != CSF_KIND_BYTES || values->field->layout != CSF_LAYOUT_BINARY32 || values->validity != NULL) return false;
  const uint8_t *offsets = values->values + 4 * values->base;
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    bool valid = csf_column_valid(column, row);
    int64_t index = valid ? csf_column_integer(column, row) : 0;
    places->begin[i] = valid ? csf_load_u32(offsets + 4 * index) : 0;
    places->stop[i] = valid ? csf_load_u32(offsets + 4 * index + 4) : 0;
  }
  size_t end = values->length > 0 ? csf_load_u32(offsets + 4 * values->length) : 0;
  *out = (struct csf_strings){values->more, end, (const uint8_t *)places->begin, (const uint8_t *)places->stop};
  return true;
}

/* False where the strings of a chunk do not lie within 2^31 - 1 bytes of one buffer. */
static bool locate_strings(const struct csf_column *column, int64_t start, size_t n, struct places *places,
                           struct csf_strings *out) {
  if (column->kind == CSF_KIND_DICTIONARY) return locate_indexed(column, start, n, places, out);
  switch (column->field->layout) {
    case CSF_LAYOUT_BINARY32:
      locate_binary32(column, start, n, out);
      return true;
    case CSF_LAYOUT_BINARY64:
      return locate_binary64(column, start, n, places, out);
    case CSF_LAYOUT_VIEW:
      return locate_views(column, start, n, places, out);
    default:
      return locate_fixed(column, start, n, places, out);
  }
}

static void hash_strings(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules,
                         const uint32_t *seeds, uint32_t *h) {
  struct places places;
  struct csf_strings strings;
  if (!locate_strings(column, start, n, &places, &strings)) {
    hash_each(column, start, n, rules, seeds, h);
    return;
  }
  struct csf_rows rows = rows_of(column, start, n);
  csf_murmur3_get()->strings(&strings, &rows, seeds, h);
}

/* Wide decimals are strings, too: their bytes are written out, each at the end of 16, and hashed side by side. */
static void hash_wide_decimals(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules,
                               const uint32_t *seeds, uint32_t *h) {
  if (column->width != 16) {
    hash_each(column, start, n, rules, seeds, h);
    return;
  }
  uint8_t bytes[16 * CHUNK];
  struct places places;
  for (size_t i = 0; i < n; i++) {
    uint8_t shortest[CSF_DECIMAL_BYTES_MAX];
    size_t size = 16;
    places.stop[i] = 16 * (uint32_t)i + 16;
    if (rules == COLSHUF_RULES_COMET) {
      memcpy(bytes + 16 * i, csf_column_value(column, start + (int64_t)i), 16);
    } else {
      size = csf_column_decimal_bytes(column, start + (int64_t)i, shortest);
      memcpy(bytes + 16 * i + 16 - size, shortest, size);
    }
    places.begin[i] = places.stop[i] - (uint32_t)size;
  }
  struct csf_strings strings = {bytes, 16 * n, (const uint8_t *)places.begin, (const uint8_t *)places.stop};
  struct csf_rows rows = rows_of(column, start, n);
  csf_murmur3_get()->strings(&strings, &rows, seeds, h);
}

static void hash_chunk(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules,
                       const uint32_t *seeds, uint32_t *h);

static void keep(const uint32_t *seeds, size_t n, uint32_t *h) {
  if (seeds != h) memcpy(h, seeds, n * sizeof *h);
}

/* Member by member where every row has its members; a null struct leaves the hash, whatever stands beneath it. */
static void hash_structs(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules,
                         const uint32_t *seeds, uint32_t *h) {
  const uint8_t *validity = column->validity;
  if (validity != NULL && csf_bits_count(validity, column->base + start, (int64_t)n) != (int64_t)n) {
    hash_each(column, start, n, rules, seeds, h);
    return;
  }
  if (column->n_children == 0) keep(seeds, n, h);
  for (int32_t i = 0; i < column->n_children; i++) hash_chunk(&column->children[i], start, n, rules, i == 0 ? seeds : h, h);
}

/* At most CHUNK rows; seeds may be h. */
static void hash_chunk(const struct csf_column *column, int64_t start, size_t n, enum colshuf_rules rules,
                       const uint32_t *seeds, uint32_t *h) {
  bool one_nan = rules != COLSHUF_RULES_COMET;
  switch (column->kind) {
    case CSF_KIND_NULL:
      keep(seeds, n, h);
      return;
    case CSF_KIND_BOOL:
    case CSF_KIND_INT:
      hash_ints(column, start, n, seeds, h);
      return;
    case CSF_KIND_LONG:
    case CSF_KIND_DECIMAL_LONG:
    case CSF_KIND_DAY_TIME:
      hash_longs(column, start, n, seeds, h);
      return;
    case CSF_KIND_FLOAT:
      hash_floats(column, start, n, one_nan, seeds, h);
      return;
    case CSF_KIND_DOUBLE: {
      struct csf_rows rows = rows_of(column, start, n);
      csf_murmur3_get()->doubles(csf_column_value(column, start), &rows, one_nan, seeds, h);
      return;
    }
    case CSF_KIND_BYTES:
    case CSF_KIND_DICTIONARY:
      hash_strings(column, start, n, rules, seeds, h);
      return;
    case CSF_KIND_DECIMAL_WIDE:
      hash_wide_decimals(column, start, n, rules, seeds, h);
      return;
    case CSF_KIND_STRUCT:
      hash_structs(column, start, n, rules, seeds, h);
      return;
    case CSF_KIND_CALENDAR:
    case CSF_KIND_LIST:
    case CSF_KIND_MAP:
      hash_each(column, start, n, rules, seeds, h);
      return;
  }
}

/* A chunk of the first column's seeds, all the same. */
struct seeds {
  uint32_t values[CHUNK];
};

static void seeds_init(struct seeds *seeds, uint32_t seed, int64_t n_rows) {
  seeds->values[0] = seed;
  for (size_t n = 1; n < CHUNK && (int64_t)n < n_rows; n *= 2) memcpy(seeds->values + n, seeds->values, n * sizeof seed);
}

static size_t chunk_at(int64_t start, int64_t n_rows) {
  return n_rows - start < CHUNK ? (size_t)(n_rows - start) : CHUNK;
}

/*
 * The hashes of a dictionary's values, all from the same seed; only the first key column has one. Left out (*table NULL) when
 * the dictionary has more values than there are rows to save.
 */
static enum colshuf_status hash_distinct(const struct csf_column *first, int64_t n_rows, const struct seeds *seeds,
                                         enum colshuf_rules rules, struct csf_buffer *scratch, uint32_t **table,
                                         struct colshuf_error *err) {
  *table = NULL;
  if (first->kind != CSF_KIND_DICTIONARY || first->children[0].length > n_rows) return COLSHUF_OK;
  const struct csf_column *values = &first->children[0];
  CSF_TRY(csf_buffer_reserve(scratch, (size_t)values->length * sizeof **table + 1, err));
  *table = (uint32_t *)(void *)scratch->data;
  for (int64_t start = 0; start < values->length; start += CHUNK) {
    size_t n = chunk_at(start, values->length);
    hash_chunk(values, start, n, rules, seeds->values, *table + start);
  }
  return COLSHUF_OK;
}

static void look_up(const struct csf_column *column, int64_t start, size_t n, const uint32_t *table, uint32_t seed,
                    uint32_t *h) {
  if (column->validity == NULL && column->width == 4) {
    const uint8_t *indices = csf_column_value(column, start);
    for (size_t i = 0; i < n; i++) h[i] = table[csf_load_u32(indices + 4 * i)];
    return;
  }
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    h[i] = csf_column_valid(column, row) ? table[csf_column_integer(column, row)] : seed;
  }
}

enum colshuf_status csf_hash_columns(const struct csf_column *columns, int32_t n_columns, int64_t n_rows, uint32_t seed,
                                     enum colshuf_rules rules, const struct csf_divisor *by, struct csf_buffer *scratch,
                                     uint32_t *h, struct colshuf_error *err) {
  uint32_t *table = NULL;
  struct seeds seeds;
  seeds_init(&seeds, seed, n_rows);
  if (n_columns > 0) CSF_TRY(hash_distinct(&columns[0], n_rows, &seeds, rules, scratch, &table, err));
  for (int64_t start = 0; start < n_rows; start += CHUNK) {
    size_t n = chunk_at(start, n_rows);
    if (n_columns == 0) keep(seeds.values, n, h + start);
    for (int32_t i = 0; i < n_columns; i++) {
      if (i == 0 && table != NULL) look_up(&columns[0], start, n, table, seed, h + start);
      else hash_chunk(&columns[i], start, n, rules, i == 0 ? seeds.values : h + start, h + start);
    }
    if (by != NULL) csf_murmur3_get()->pmod(h + start, n, by);
  }
  return COLSHUF_OK;
}
