/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/dictionaries.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "arrow/array.h"

struct csf_dictionary {
  const struct csf_field *field; /* of the indices */
  struct ArrowArray values;      /* release NULL = none yet */
  struct csf_buffer slots;       /* hash table of the values: u32 places + 1, 0 = free; made when it is first needed */
  uint64_t n_hashed;
  struct csf_buffer map;         /* u32 for each value of the batch last added */
  bool identity;                 /* that batch needs no map */
};

static int32_t count_dictionaries(const struct csf_field *field) {
  int32_t n = field->dictionary != NULL;
  for (int32_t i = 0; i < field->n_children; i++) n += count_dictionaries(&field->children[i]);
  return n;
}

static void init_in_order(struct csf_dictionaries_joined *joined, const struct csf_field *field) {
  if (field->dictionary != NULL) {
    struct csf_dictionary *dictionary = &joined->list[joined->n++];
    dictionary->field = field;
    dictionary->identity = true;
    csf_buffer_init(&dictionary->slots, &joined->allocator);
    csf_buffer_init(&dictionary->map, &joined->allocator);
  }
  for (int32_t i = 0; i < field->n_children; i++) init_in_order(joined, &field->children[i]);
}

static size_t list_size(int32_t n) {
  return (size_t)n * sizeof(struct csf_dictionary);
}

enum colshuf_status csf_joined_init(struct csf_dictionaries_joined *joined, const struct csf_field *root, uint64_t max_size,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) {
  *joined = (struct csf_dictionaries_joined){.max_size = max_size, .allocator = *allocator};
  int32_t n = count_dictionaries(root);
  if (n == 0) return COLSHUF_OK;
  joined->list = csf_alloc_zero(allocator, list_size(n));
  if (joined->list == NULL) return csf_fail_memory(err, list_size(n));
  init_in_order(joined, root);
  return COLSHUF_OK;
}

static void reset_dictionary(struct csf_dictionary *dictionary) {
  if (dictionary->values.release != NULL) dictionary->values.release(&dictionary->values);
  csf_buffer_clear(&dictionary->slots);
  dictionary->n_hashed = 0;
  dictionary->identity = true;
}

void csf_joined_reset(struct csf_dictionaries_joined *joined) {
  for (int32_t i = 0; i < joined->n; i++) reset_dictionary(&joined->list[i]);
}

void csf_joined_clear(struct csf_dictionaries_joined *joined) {
  csf_joined_reset(joined);
  for (int32_t i = 0; i < joined->n; i++) csf_buffer_clear(&joined->list[i].map);
  csf_free(&joined->allocator, joined->list, list_size(joined->n));
  joined->list = NULL;
  joined->n = 0;
}

/* How many values an index of field can tell apart. */
static uint64_t max_values(const struct csf_field *field) {
  bool is_signed = field->type == CSF_INT8 || field->type == CSF_INT16 || field->type == CSF_INT32 || field->type == CSF_INT64;
  int bits = 8 * field->width - (is_signed ? 1 : 0);
  return bits >= 31 ? INT32_MAX : (uint64_t)1 << bits;
}

static bool can_hash(const struct csf_field *values) {
  if (values->dictionary != NULL) return false;
  return values->layout == CSF_LAYOUT_FIXED || values->layout == CSF_LAYOUT_BINARY32 || values->layout == CSF_LAYOUT_BINARY64 ||
         values->layout == CSF_LAYOUT_VIEW;
}

static struct csf_span view_text(const struct ArrowArray *values, int64_t row) {
  const uint8_t *view = (const uint8_t *)values->buffers[1] + 16 * row;
  int32_t size = csf_load_i32(view);
  if (size <= 12) return (struct csf_span){view + 4, (size_t)size};
  return (struct csf_span){(const uint8_t *)values->buffers[2 + csf_load_i32(view + 8)] + csf_load_i32(view + 12), (size_t)size};
}

/* Texts of no bytes may lie nowhere. */
static struct csf_span text_at(const struct ArrowArray *values, int64_t start, int64_t end) {
  if (start == end) return (struct csf_span){NULL, 0};
  return (struct csf_span){(const uint8_t *)values->buffers[2] + start, (size_t)(end - start)};
}

/* The bytes of value i, which is not null, of a field that can be hashed. */
static struct csf_span value_bytes(const struct csf_field *field, const struct ArrowArray *values, int64_t i) {
  int64_t row = values->offset + i;
  const uint8_t *first = values->buffers[1];
  switch (field->layout) {
    case CSF_LAYOUT_BINARY32: return text_at(values, csf_load_i32(first + 4 * row), csf_load_i32(first + 4 * row + 4));
    case CSF_LAYOUT_BINARY64: return text_at(values, csf_load_i64(first + 8 * row), csf_load_i64(first + 8 * row + 8));
    case CSF_LAYOUT_VIEW: return view_text(values, row);
    default: return (struct csf_span){first + row * field->width, (size_t)field->width};
  }
}

static uint64_t hash_value(const struct csf_field *field, const struct ArrowArray *values, int64_t i) {
  const uint8_t *validity = csf_array_validity(field, values);
  if (validity != NULL && !csf_bit_get(validity, values->offset + i)) return 0;
  struct csf_span bytes = value_bytes(field, values, i);
  return bytes.size == 0 ? 1 : XXH3_64bits(bytes.data, bytes.size);
}

/* Values may have been chosen to share a hash: one that meets so many others is taken for new. */
enum { MOST_PROBES = 128 };

/* The slot that holds the place of a value equal to value i of `values`, or the free one where it would go; NULL: both too far away. */
static uint32_t *find_slot(const struct csf_dictionary *dictionary, const struct ArrowArray *values, int64_t i) {
  const struct csf_field *field = dictionary->field->dictionary;
  uint32_t *slots = (uint32_t *)(void *)dictionary->slots.data;
  uint64_t mask = dictionary->slots.size / sizeof *slots - 1;
  uint64_t at = hash_value(field, values, i) & mask;
  for (int probes = 0; probes < MOST_PROBES; probes++, at = (at + 1) & mask) {
    if (slots[at] == 0) return &slots[at];
    if (csf_array_equal(field, &dictionary->values, slots[at] - 1, values, i, 1)) return &slots[at];
  }
  return NULL;
}

/* A table at most half full with n values more than are known, holding all known ones. */
static enum colshuf_status make_table(struct csf_dictionary *dictionary, int64_t more, struct colshuf_error *err) {
  uint64_t wanted = 2 * (uint64_t)(dictionary->values.length + more), n = 64;
  while (n < wanted) n *= 2;
  if (n * sizeof(uint32_t) > dictionary->slots.size) {
    csf_buffer_clear(&dictionary->slots);
    dictionary->n_hashed = 0;
    CSF_TRY(csf_buffer_append_zero(&dictionary->slots, n * sizeof(uint32_t), err));
  }
  for (; dictionary->n_hashed < (uint64_t)dictionary->values.length; dictionary->n_hashed++) {
    uint32_t *slot = find_slot(dictionary, &dictionary->values, (int64_t)dictionary->n_hashed);
    if (slot != NULL && *slot == 0) *slot = (uint32_t)dictionary->n_hashed + 1;
  }
  return COLSHUF_OK;
}

/* Puts rows of `more` behind the known values. */
static enum colshuf_status append_values(struct csf_dictionary *dictionary, const struct colshuf_allocator *allocator,
                                         const struct ArrowArray *more, int64_t start, int64_t n, struct colshuf_error *err) {
  struct ArrowArray joined;
  const struct ArrowArray *parts[] = {&dictionary->values, more};
  int64_t starts[] = {0, start}, lengths[] = {dictionary->values.length, n};
  bool first = dictionary->values.release == NULL;
  CSF_TRY(csf_array_concat(dictionary->field->dictionary, parts + first, starts + first, lengths + first, first ? 1 : 2,
                           allocator, &joined, err));
  if (!first) dictionary->values.release(&dictionary->values);
  dictionary->values = joined;
  return COLSHUF_OK;
}

/* map[i] = place of value i of `values`; new ones get the places behind the known, their rows are gathered in `fresh`. */
static int64_t map_values(struct csf_dictionary *dictionary, const struct ArrowArray *values, int64_t *fresh) {
  uint32_t *map = (uint32_t *)(void *)dictionary->map.data;
  const int64_t unknown = dictionary->values.length;
  int64_t n = 0;
  for (int64_t i = 0; i < values->length; i++) {
    const uint32_t *slot = find_slot(dictionary, values, i);
    uint32_t place = slot == NULL ? 0 : *slot;
    /* Two equal new values of one dictionary both become new: rare, and allowed. */
    map[i] = place != 0 ? place - 1 : (uint32_t)(unknown + n);
    if (place == 0) fresh[n++] = i;
  }
  return n;
}

static enum colshuf_status take_fresh(struct csf_dictionary *dictionary, const struct colshuf_allocator *allocator,
                                      const struct ArrowArray *values, const int64_t *fresh, int64_t n,
                                      struct colshuf_error *err) {
  struct ArrowArray taken;
  CSF_TRY(csf_array_take(dictionary->field->dictionary, values, fresh, n, allocator, &taken, err));
  enum colshuf_status status = append_values(dictionary, allocator, &taken, 0, n, err);
  taken.release(&taken);
  return status;
}

static enum colshuf_status join_by_hash(struct csf_dictionary *dictionary, const struct colshuf_allocator *allocator,
                                        const struct ArrowArray *values, bool *full, struct colshuf_error *err) {
  struct csf_buffer fresh;
  csf_buffer_init(&fresh, allocator);
  size_t map_size = (size_t)values->length * sizeof(uint32_t);
  CSF_TRY(csf_buffer_reserve(&dictionary->map, map_size, err));
  dictionary->map.size = map_size;
  CSF_TRY(make_table(dictionary, values->length, err));
  CSF_TRY(csf_buffer_reserve(&fresh, (size_t)values->length * sizeof(int64_t), err));
  int64_t n = map_values(dictionary, values, (int64_t *)(void *)fresh.data);
  enum colshuf_status status = COLSHUF_OK;
  if ((uint64_t)(dictionary->values.length + n) > max_values(dictionary->field)) *full = true;
  else if (n > 0) status = take_fresh(dictionary, allocator, values, (const int64_t *)(void *)fresh.data, n, err);
  dictionary->identity = false;
  csf_buffer_clear(&fresh);
  return status;
}

static bool is_too_large(const struct csf_dictionaries_joined *joined, const struct csf_dictionary *dictionary) {
  const struct ArrowArray *values = &dictionary->values;
  struct csf_measure size = csf_columns_measure(dictionary->field->dictionary, values, values->offset, values->length, false);
  return size.bytes > joined->max_size;
}

static enum colshuf_status add_dictionary(struct csf_dictionaries_joined *joined, struct csf_dictionary *dictionary,
                                          const struct ArrowArray *values, bool *full, struct colshuf_error *err) {
  const struct csf_field *field = dictionary->field->dictionary;
  dictionary->identity = true;
  if (dictionary->values.release == NULL) {
    return append_values(dictionary, &joined->allocator, values, 0, values->length, err);
  }
  int64_t known = dictionary->values.length;
  int64_t same = values->length < known ? values->length : known;
  if (csf_array_found_equal(field, &dictionary->values, 0, values, 0, same)) {
    if (values->length == same) return COLSHUF_OK;
    return append_values(dictionary, &joined->allocator, values, same, values->length - same, err);
  }
  if (dictionary->field->dictionary_ordered || !can_hash(field) || is_too_large(joined, dictionary)) {
    *full = true;
    return COLSHUF_OK;
  }
  return join_by_hash(dictionary, &joined->allocator, values, full, err);
}

static enum colshuf_status add_in_order(struct csf_dictionaries_joined *joined, int32_t *at, const struct csf_field *field,
                                        const struct ArrowArray *array, bool *full, struct colshuf_error *err) {
  if (field->dictionary != NULL) CSF_TRY(add_dictionary(joined, &joined->list[(*at)++], array->dictionary, full, err));
  for (int32_t i = 0; i < field->n_children; i++) {
    CSF_TRY(add_in_order(joined, at, &field->children[i], array->children[i], full, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_joined_add(struct csf_dictionaries_joined *joined, const struct csf_field *root,
                                   const struct ArrowArray *batch, bool *full, struct colshuf_error *err) {
  int32_t at = 0;
  *full = false;
  return joined->n == 0 ? COLSHUF_OK : add_in_order(joined, &at, root, batch, full, err);
}

static void map_in_order(const struct csf_dictionaries_joined *joined, int32_t *at, struct csf_column *column, bool mapped) {
  if (column->field->dictionary != NULL) {
    const struct csf_dictionary *dictionary = &joined->list[(*at)++];
    bool use = mapped && !dictionary->identity;
    column->map = use ? (const uint32_t *)(const void *)dictionary->map.data : NULL;
    column->map_length = use ? (int64_t)(dictionary->map.size / sizeof(uint32_t)) : 0;
  }
  for (int32_t i = 0; i < column->n_children; i++) map_in_order(joined, at, &column->children[i], mapped);
}

void csf_joined_map(const struct csf_dictionaries_joined *joined, struct csf_columns *columns, bool mapped) {
  int32_t at = 0;
  if (joined->n > 0) map_in_order(joined, &at, &columns->root, mapped);
}

static void show_in_order(struct csf_dictionaries_joined *joined, int32_t *at, struct csf_column *column) {
  if (column->field->dictionary != NULL) column->dictionary = &joined->list[(*at)++].values;
  for (int32_t i = 0; i < column->n_children; i++) show_in_order(joined, at, &column->children[i]);
}

void csf_joined_show(struct csf_dictionaries_joined *joined, struct csf_columns *columns) {
  int32_t at = 0;
  if (joined->n > 0) show_in_order(joined, &at, &columns->root);
}
