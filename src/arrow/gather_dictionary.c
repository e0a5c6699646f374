/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathering dictionary-encoded arrays: the dictionaries of the pieces become one. Where values are flat, equal ones become one;
 * others are appended as they come.
 */
#include "arrow/gather.h"

/* The dictionaries of the pieces, each once. */
struct dictionaries {
  struct csf_piece *values; /* what the new dictionary is made of */
  int64_t *bases;           /* of each of values: the number of its first value */
  int64_t *of_piece;        /* base of each piece */
  int64_t n;
  int64_t n_values;
  int64_t *renumber; /* index of each value by its number, equal ones sharing one; NULL = its number */
};

static struct csf_piece values_of(const struct csf_piece *piece) {
  if (piece->field->dictionary == NULL) return *piece; /* plain: its values become values of the dictionary, one by one */
  const struct ArrowArray *array = piece->array->dictionary;
  return (struct csf_piece){.field = piece->field->dictionary, .array = array, .length = array->length};
}

static bool same_values(const struct csf_piece *a, const struct csf_piece *b) {
  if (a->array == b->array) return a->rows == NULL && b->rows == NULL && a->start == b->start && a->length == b->length;
  return a->length == b->length && a->rows == NULL && b->rows == NULL &&
         csf_field_equal(a->field, b->field, CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA) &&
         csf_array_found_equal(a->field, a->array, a->start, b->array, b->start, a->length);
}

/* Blocks of one writer often carry the same dictionary: it is looked for among the last few, in vain at little cost. */
enum { LOOK_BACK = 8 };

static int64_t find_base(const struct dictionaries *to, const struct csf_piece *values) {
  for (int64_t d = to->n; d-- > 0 && d >= to->n - LOOK_BACK;) {
    if (same_values(&to->values[d], values)) return to->bases[d];
  }
  return -1;
}

static void collect_dictionaries(struct dictionaries *to, struct csf_pieces pieces) {
  for (int64_t p = 0; p < pieces.n; p++) {
    struct csf_piece values = values_of(&pieces.items[p]);
    int64_t base = find_base(to, &values);
    if (base < 0) {
      base = to->n_values;
      to->values[to->n] = values;
      to->bases[to->n++] = base;
      to->n_values += values.length;
    }
    to->of_piece[p] = base;
  }
}

/* A value that is known, in a table twice as large as there can be values. */
struct entry {
  const uint8_t *bytes; /* NULL = the place is free */
  int64_t size;
  uint64_t hash;
  int64_t index;
};

struct value_table {
  struct entry *entries;
  uint64_t mask;
  int64_t null_index; /* -1 = no null came up */
  int64_t n;          /* different values so far */
};

static bool is_hashable(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_FIXED || field->layout == CSF_LAYOUT_BINARY32 || field->layout == CSF_LAYOUT_BINARY64 ||
         field->layout == CSF_LAYOUT_VIEW;
}

/* Bytes of the value at a place of array, which is not null. An empty value has an address, too. */
static const uint8_t *value_bytes(const struct csf_field *field, const struct ArrowArray *array, int64_t place, int64_t *size) {
  static const uint8_t nothing[1];
  const uint8_t *data = array->buffers[1];
  if (field->layout == CSF_LAYOUT_FIXED) {
    *size = field->width;
    return *size == 0 ? nothing : data + place * field->width;
  }
  if (field->layout == CSF_LAYOUT_VIEW) {
    const uint8_t *view = data + 16 * place;
    *size = csf_load_i32(view);
    return *size <= 12 ? view + 4 : (const uint8_t *)array->buffers[2 + csf_load_i32(view + 8)] + csf_load_i32(view + 12);
  }
  bool wide = field->layout == CSF_LAYOUT_BINARY64;
  int64_t start = csf_offset_at(data, place, wide);
  *size = csf_offset_at(data, place + 1, wide) - start;
  return *size == 0 ? nothing : (const uint8_t *)array->buffers[2] + start;
}

static uint64_t hash_bytes(const uint8_t *bytes, int64_t size) {
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio: every bit moves the upper ones */
  uint64_t hash = (uint64_t)size, rest = 0;
  for (; size >= 8; bytes += 8, size -= 8) {
    hash = (hash ^ csf_load_u64(bytes)) * factor;
    hash ^= hash >> 29;
  }
  memcpy(&rest, bytes, (size_t)size);
  hash = (hash ^ rest) * factor;
  return hash ^ (hash >> 32);
}

/*
 * Values may have been chosen to share a hash. One that meets too many others is not sought further: it then stands twice, which costs
 * a place and not the time of them all.
 */
enum { MOST_PROBES = 128 };

/* The index of a value; *is_new: it is the next. */
static int64_t find_value(struct value_table *table, const uint8_t *bytes, int64_t size, bool *is_new) {
  uint64_t hash = hash_bytes(bytes, size), at = hash & table->mask;
  int probes = 0;
  for (; table->entries[at].bytes != NULL && probes < MOST_PROBES; at = (at + 1) & table->mask, probes++) {
    const struct entry *entry = &table->entries[at];
    if (entry->hash == hash && entry->size == size && memcmp(entry->bytes, bytes, (size_t)size) == 0) return entry->index;
  }
  *is_new = true;
  if (probes < MOST_PROBES) table->entries[at] = (struct entry){bytes, size, hash, table->n};
  return table->n++;
}

static int64_t find_null(struct value_table *table, bool *is_new) {
  *is_new = table->null_index < 0;
  if (*is_new) table->null_index = table->n++;
  return table->null_index;
}

/* Numbers the values of one dictionary; rows[0..result) are those that no dictionary before had. */
static int64_t number_new_values(struct value_table *table, const struct csf_piece *values, int64_t *renumber, int64_t *rows) {
  const uint8_t *valid = csf_array_validity(values->field, values->array);
  int64_t n = 0;
  for (int64_t i = 0; i < values->length; i++) {
    int64_t row = values->rows == NULL ? i : values->rows[i], place = csf_piece_first(values) + row, size;
    bool is_new = false;
    if (row < 0 || (valid != NULL && !csf_bit_get(valid, place))) {
      renumber[i] = find_null(table, &is_new);
    } else {
      const uint8_t *bytes = value_bytes(values->field, values->array, place, &size);
      renumber[i] = find_value(table, bytes, size, &is_new);
    }
    if (is_new) rows[n++] = row;
  }
  return n;
}

static void number_values_once(struct dictionaries *all, struct value_table *table, int64_t *rows) {
  for (int64_t d = 0; d < all->n; d++) {
    struct csf_piece *values = &all->values[d];
    int64_t n = number_new_values(table, values, all->renumber + all->bases[d], rows);
    values->rows = rows;
    values->length = n;
    rows += n;
  }
  all->n_values = table->n;
}

static enum colshuf_status make_table(struct csf_gather *g, int64_t n_values, struct value_table *table) {
  uint64_t size = 16;
  while (size < 2 * (uint64_t)n_values) size *= 2;
  *table = (struct value_table){.mask = size - 1, .null_index = -1};
  CSF_TRY(csf_gather_scratch(g, (int64_t)size, sizeof *table->entries, &table->entries));
  memset(table->entries, 0, size * sizeof *table->entries);
  return COLSHUF_OK;
}

static uint64_t most_index(enum csf_type type) {
  static const uint64_t most[] = {INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX, UINT8_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX};
  return most[type - CSF_INT8];
}

static int64_t index_of(const struct dictionaries *all, int64_t number) {
  return all->renumber == NULL ? number : all->renumber[number];
}

/* Indices of an encoded piece whose dictionary starts at base; null slots may hold anything and become 0. */
static void move_indices(const struct dictionaries *all, const struct csf_piece *piece, int64_t base, int32_t width,
                         uint8_t *out) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t row = piece->rows == NULL ? i : piece->rows[i], index = 0;
    if (row >= 0) row += csf_piece_first(piece);
    if (row >= 0 && (valid == NULL || csf_bit_get(valid, row))) {
      index = index_of(all, base + csf_index_at(piece->array->buffers[1], piece->field->type, row));
    }
    memcpy(out + i * width, &index, (size_t)width);
  }
}

static void number_rows(const struct dictionaries *all, int64_t base, int64_t n, int32_t width, uint8_t *out) {
  for (int64_t i = 0; i < n; i++) {
    int64_t index = index_of(all, base + i);
    memcpy(out + i * width, &index, (size_t)width);
  }
}

/* Plain pieces have no indices: the nulls of their values stay in the values. */
static enum colshuf_status gather_index_validity(struct csf_gather *g, struct csf_pieces pieces, struct ArrowArray *out) {
  bool plain = false;
  for (int64_t p = 0; p < pieces.n; p++) plain |= pieces.items[p].field->dictionary == NULL;
  if (!plain) return csf_gather_validity(g, pieces, out);
  struct csf_piece *encoded;
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *encoded, &encoded));
  static const int64_t no_buffer[1];
  static const void *no_buffers[3] = {NULL, no_buffer, NULL};
  static const struct ArrowArray no_nulls = {.buffers = (const void **)no_buffers};
  for (int64_t p = 0; p < pieces.n; p++) {
    encoded[p] = pieces.items[p];
    if (encoded[p].field->dictionary != NULL) continue;
    encoded[p].array = &no_nulls;
    encoded[p].rows = NULL;
    encoded[p].start = 0;
    encoded[p].holes = false;
  }
  enum colshuf_status status = csf_gather_validity(g, (struct csf_pieces){encoded, pieces.n, pieces.n_rows}, out);
  csf_gather_scratch_free(g, encoded, pieces.n, sizeof *encoded);
  return status;
}

static enum colshuf_status write_indices(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         const struct dictionaries *all, struct ArrowArray *out) {
  if (all->n_values > 0 && (uint64_t)all->n_values - 1 > most_index(field->type)) {
    return csf_gather_limit(g, field, "more dictionary values than its indices can count: join fewer rows, or unpack");
  }
  uint8_t *data;
  int64_t size;
  if (csf_multiply_overflow(pieces.n_rows, field->width, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  CSF_TRY(csf_gather_buffer(g, out, 1, size, &data));
  for (int64_t p = 0; p < pieces.n; p++) {
    const struct csf_piece *piece = &pieces.items[p];
    if (piece->field->dictionary != NULL) move_indices(all, piece, all->of_piece[p], field->width, data);
    if (piece->field->dictionary == NULL) number_rows(all, all->of_piece[p], piece->length, field->width, data);
    data += piece->length * field->width;
  }
  return COLSHUF_OK;
}

static enum colshuf_status gather_indices(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          const struct dictionaries *all, struct ArrowArray *out) {
  CSF_TRY(gather_index_validity(g, pieces, out));
  CSF_TRY(write_indices(g, field, pieces, all, out));
  return csf_gather_field(g, field->dictionary, all->values, all->n, out->dictionary);
}

/* Several dictionaries become one in which every value stands once. */
static enum colshuf_status gather_unified(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct dictionaries *all, struct ArrowArray *out) {
  struct value_table table;
  int64_t *numbers, n_values = all->n_values;
  CSF_TRY(make_table(g, n_values, &table));
  enum colshuf_status status = csf_gather_scratch(g, n_values, 2 * sizeof *numbers, &numbers);
  if (status == COLSHUF_OK) {
    all->renumber = numbers;
    number_values_once(all, &table, numbers + n_values);
    status = gather_indices(g, field, pieces, all, out);
    csf_gather_scratch_free(g, numbers, n_values, 2 * sizeof *numbers);
  }
  csf_gather_scratch_free(g, table.entries, (int64_t)table.mask + 1, sizeof *table.entries);
  return status;
}

static enum colshuf_status gather_joined(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                         struct dictionaries *all, struct ArrowArray *out) {
  collect_dictionaries(all, pieces);
  bool unify = all->n > 1 && all->n_values > 0 && is_hashable(field->dictionary);
  return unify ? gather_unified(g, field, pieces, all, out) : gather_indices(g, field, pieces, all, out);
}

enum colshuf_status csf_gather_dictionary(struct csf_gather *g, const struct csf_field *field, struct csf_pieces pieces,
                                          struct ArrowArray *out) {
  struct dictionaries all = {0};
  CSF_TRY(csf_gather_scratch(g, pieces.n, sizeof *all.values, &all.values));
  enum colshuf_status status = csf_gather_scratch(g, pieces.n, 2 * sizeof *all.bases, &all.bases);
  if (status == COLSHUF_OK) {
    all.of_piece = all.bases == NULL ? NULL : all.bases + pieces.n;
    status = gather_joined(g, field, pieces, &all, out);
    csf_gather_scratch_free(g, all.bases, pieces.n, 2 * sizeof *all.bases);
  }
  csf_gather_scratch_free(g, all.values, pieces.n, sizeof *all.values);
  return status;
}

static bool is_hole(const struct csf_piece *piece, const uint8_t *valid, int64_t i, int64_t *place) {
  int64_t row = piece->rows == NULL ? i : piece->rows[i];
  if (row < 0) return true;
  *place = csf_piece_first(piece) + row;
  return valid != NULL && !csf_bit_get(valid, *place);
}

void csf_gather_lookup(const struct csf_piece *piece, int64_t *rows, bool *holes) {
  const uint8_t *valid = csf_array_validity(piece->field, piece->array);
  *holes = false;
  for (int64_t i = 0; i < piece->length; i++) {
    int64_t place = 0;
    if (is_hole(piece, valid, i, &place)) {
      rows[i] = -1;
      *holes = true;
    } else {
      rows[i] = csf_index_at(piece->array->buffers[1], piece->field->type, place);
    }
  }
}
