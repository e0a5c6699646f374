/* SPDX-License-Identifier: Apache-2.0 */
#include "block/dictionary_build.h"

void csf_dictionary_build_init(struct csf_dictionary_build *b, const struct colshuf_allocator *allocator) {
  *b = (struct csf_dictionary_build){0};
  struct csf_buffer *buffers[] = {&b->slots, &b->keys, &b->indices, &b->validity, &b->values, &b->offsets};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_init(buffers[i], allocator);
}

void csf_dictionary_build_clear(struct csf_dictionary_build *b) {
  struct csf_buffer *buffers[] = {&b->slots, &b->keys, &b->indices, &b->validity, &b->values, &b->offsets};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_clear(buffers[i]);
}

bool csf_dictionary_build_takes(const struct csf_field *field) {
  if (field->dictionary != NULL) return false;
  if (field->layout == CSF_LAYOUT_FIXED) return field->width == 8 || field->width == 16;
  return field->layout == CSF_LAYOUT_BINARY32;
}

/* The rows at work, and the hash table: at most half full. */
struct work {
  struct csf_dictionary_build *build;
  const uint8_t *validity; /* of the rows; NULL = no nulls */
  const uint8_t *offsets;  /* of the first row's */
  const uint8_t *data;     /* fixed: the first row's value; strings: the bytes that offsets count in */
  int64_t row, n, max_values;
  int64_t collisions_left; /* bytes made to collide must not cost more than giving up does */
  uint32_t *slots;
  int32_t *indices;
  int shift; /* 64 - log2(number of slots) */
};

static const uint64_t mix_a = 0x9e3779b97f4a7c15u, mix_b = 0xd6e8feb86659fd93u;

/* All bits of both words reach the high bits, which choose the slot. */
static inline uint64_t hash_words(uint64_t a, uint64_t b) {
  uint64_t hash = a ^ (b * mix_b);
  return (hash ^ (hash >> 29)) * mix_a;
}

static inline bool row_is_null(const struct work *w, int64_t i) {
  return w->validity != NULL && !csf_bit_get(w->validity, w->row + i);
}

/* Values of 8 or 16 bytes; `width` is a constant where this is inlined. false: too many. */
static inline bool index_fixed(struct work *w, int width) {
  /* What the loop needs stands in variables of its own: its stores go through bytes, which might be anything. */
  uint8_t *const values = w->build->values.data;
  const uint8_t *const data = w->data;
  uint32_t *const slots = w->slots;
  int32_t *const indices = w->indices;
  const uint64_t mask = UINT64_MAX >> w->shift;
  const int shift = w->shift;
  int64_t n_values = 0;
  for (int64_t i = 0; i < w->n; i++) {
    if (row_is_null(w, i)) {
      indices[i] = 0;
      continue;
    }
    uint64_t low = csf_load_u64(data + i * width), high = width == 16 ? csf_load_u64(data + i * width + 8) : 0;
    for (uint64_t slot = hash_words(low, high) >> shift;; slot = (slot + 1) & mask) {
      uint32_t found = slots[slot];
      if (CSF_UNLIKELY(found == 0)) {
        if (n_values == w->max_values) return false;
        memcpy(values + n_values * width, data + i * width, (size_t)width);
        slots[slot] = found = (uint32_t)++n_values;
      }
      const uint8_t *known = values + (int64_t)(found - 1) * width;
      if (csf_load_u64(known) == low && (width == 8 || csf_load_u64(known + 8) == high)) {
        indices[i] = (int32_t)(found - 1);
        break;
      }
      if (--w->collisions_left < 0) return false;
    }
  }
  w->build->n_values = n_values;
  return true;
}

static bool index_fixed8(struct work *w) {
  return index_fixed(w, 8);
}
static bool index_fixed16(struct work *w) {
  return index_fixed(w, 16);
}

/*
 * A string as the table compares it: its first 32 bytes as words, zeros behind its end, and its size. Lengths of strings are hard to
 * foresee, so there is no branch on them: bytes behind the end are loaded and masked away. Longer ones are compared in full.
 */
enum { KEY_WORDS = 4, KEY_BYTES = 32 };
struct key {
  uint64_t words[KEY_WORDS];
  uint64_t size;
};

/* From place 32 - n on: n bytes of ones, then zeros. */
static const uint8_t mask_bytes[2 * KEY_BYTES] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

static inline struct key make_key(const uint8_t *text, size_t size, size_t readable) {
  uint8_t copy[KEY_BYTES] = {0};
  struct key key = {.size = size};
  if (CSF_UNLIKELY(readable < KEY_BYTES)) {
    memcpy(copy, text, readable);
    text = copy;
  }
  const uint8_t *mask = mask_bytes + KEY_BYTES - (size < KEY_BYTES ? size : KEY_BYTES);
  for (size_t i = 0; i < KEY_WORDS; i++) key.words[i] = csf_load_u64(text + 8 * i) & csf_load_u64(mask + 8 * i);
  return key;
}

static uint64_t hash_rest(const uint8_t *text, size_t size) {
  uint64_t hash = 0;
  for (size_t i = KEY_BYTES; i + 8 < size; i += 8) hash = (hash ^ csf_load_u64(text + i)) * mix_b + (hash >> 31);
  return (hash ^ csf_load_u64(text + size - 8)) * mix_b;
}

static inline uint64_t hash_key(const struct key *key, const uint8_t *text) {
  uint64_t rest = CSF_UNLIKELY(key->size > KEY_BYTES) ? hash_rest(text, key->size) : 0;
  return hash_words(key->words[0] ^ key->words[2] * mix_a, (key->words[1] ^ key->words[3] * mix_a) + key->size + rest);
}

static inline bool same_key(const struct key *a, const struct key *b) {
  uint64_t other = a->size ^ b->size;
  for (int i = 0; i < KEY_WORDS; i++) other |= a->words[i] ^ b->words[i];
  return other == 0;
}

/* Adds a string to the values; room for a key and an offset has been made. */
static enum colshuf_status add_text(struct csf_dictionary_build *b, const struct key *key, const uint8_t *text,
                                    struct colshuf_error *err) {
  CSF_TRY(csf_buffer_append(&b->values, text, (size_t)key->size, err));
  memcpy(b->keys.data + (size_t)b->n_values * sizeof *key, key, sizeof *key);
  b->n_values++;
  csf_store_i32(b->offsets.data + 4 * b->n_values, (int32_t)b->values.size);
  return COLSHUF_OK;
}

/* Whether value `index` goes on behind its key as text does. */
static bool same_rest(const struct csf_dictionary_build *b, uint32_t index, const struct key *key, const uint8_t *text) {
  if (CSF_LIKELY(key->size <= KEY_BYTES)) return true;
  const uint8_t *known = b->values.data + csf_load_u32(b->offsets.data + 4 * (size_t)index);
  return memcmp(known + KEY_BYTES, text + KEY_BYTES, (size_t)key->size - KEY_BYTES) == 0;
}

/* The place of a string among the values, added where it is new. *index is -1 when there is no place for it. */
static inline enum colshuf_status find_text(struct work *w, const struct key *key, const uint8_t *text, int32_t *index,
                                            struct colshuf_error *err) {
  struct csf_dictionary_build *b = w->build;
  const struct key *keys = (const struct key *)(const void *)b->keys.data;
  uint64_t mask = UINT64_MAX >> w->shift;
  *index = -1;
  for (uint64_t slot = hash_key(key, text) >> w->shift;; slot = (slot + 1) & mask) {
    uint32_t found = w->slots[slot];
    if (CSF_UNLIKELY(found == 0)) {
      if (b->n_values == w->max_values) return COLSHUF_OK;
      CSF_TRY(add_text(b, key, text, err));
      w->slots[slot] = found = (uint32_t)b->n_values;
    }
    if (CSF_LIKELY(same_key(&keys[found - 1], key)) && same_rest(b, found - 1, key, text)) {
      *index = (int32_t)(found - 1);
      return COLSHUF_OK;
    }
    if (--w->collisions_left < 0) return COLSHUF_OK;
  }
}

/* Strings. *fits is false when there are too many. */
static enum colshuf_status index_text(struct work *w, bool *fits, struct colshuf_error *err) {
  int32_t last = csf_load_i32(w->offsets + 4 * w->n);
  *fits = false;
  for (int64_t i = 0; i < w->n; i++) {
    if (row_is_null(w, i)) {
      w->indices[i] = 0;
      continue;
    }
    int32_t begin = csf_load_i32(w->offsets + 4 * i), end = csf_load_i32(w->offsets + 4 * i + 4), index;
    if (CSF_UNLIKELY(begin < 0 || end < begin || last < end)) return COLSHUF_OK;
    const uint8_t *text = w->data + begin;
    struct key key = make_key(text, (size_t)(end - begin), (size_t)(last - begin));
    CSF_TRY(find_text(w, &key, text, &index, err));
    if (CSF_UNLIKELY(index < 0)) return COLSHUF_OK;
    w->indices[i] = index;
  }
  *fits = true;
  return COLSHUF_OK;
}

static enum colshuf_status open_table(struct work *w, struct colshuf_error *err) {
  int bits = 6;
  while (((int64_t)1 << bits) < 2 * w->max_values) bits++;
  size_t size = sizeof(uint32_t) << bits;
  CSF_TRY(csf_buffer_reserve(&w->build->slots, size, err));
  memset(w->build->slots.data, 0, size);
  w->slots = (uint32_t *)(void *)w->build->slots.data;
  w->shift = 64 - bits;
  CSF_TRY(csf_buffer_reserve(&w->build->indices, (size_t)w->n * 4, err));
  w->indices = (int32_t *)(void *)w->build->indices.data;
  return COLSHUF_OK;
}

static enum colshuf_status index_rows(struct work *w, const struct csf_field *field, bool *fits, struct colshuf_error *err) {
  struct csf_dictionary_build *b = w->build;
  b->n_values = 0;
  b->values.size = 0;
  if (field->layout == CSF_LAYOUT_BINARY32) {
    CSF_TRY(csf_buffer_reserve(&b->offsets, 4 * (size_t)(w->max_values + 1), err));
    CSF_TRY(csf_buffer_reserve(&b->keys, (size_t)w->max_values * sizeof(struct key), err));
    csf_store_i32(b->offsets.data, 0);
    return index_text(w, fits, err);
  }
  CSF_TRY(csf_buffer_reserve(&b->values, (size_t)w->max_values * (size_t)field->width, err));
  *fits = field->width == 8 ? index_fixed8(w) : index_fixed16(w);
  return COLSHUF_OK;
}

/* The bitmap of the rows, from bit 0. */
static enum colshuf_status copy_validity(const struct work *w, struct colshuf_error *err) {
  if (w->validity == NULL) return COLSHUF_OK;
  size_t size = (size_t)csf_bit_bytes(w->n);
  CSF_TRY(csf_buffer_reserve(&w->build->validity, size, err));
  memset(w->build->validity.data, 0, size);
  csf_bits_copy(w->build->validity.data, 0, w->validity, w->row, w->n);
  return COLSHUF_OK;
}

static void make_arrays(const struct work *w, const struct csf_field *field) {
  struct csf_dictionary_build *b = w->build;
  bool text = field->layout == CSF_LAYOUT_BINARY32;
  b->values_buffers[0] = NULL;
  b->values_buffers[1] = text ? b->offsets.data : b->values.data;
  b->values_buffers[2] = b->values.data;
  b->values_array = (struct ArrowArray){.length = b->n_values, .n_buffers = text ? 3 : 2, .buffers = b->values_buffers};
  b->buffers[0] = w->validity == NULL ? NULL : b->validity.data;
  b->buffers[1] = b->indices.data;
  b->array = (struct ArrowArray){.length = w->n,
                                 .null_count = w->validity == NULL ? 0 : -1,
                                 .n_buffers = 2,
                                 .buffers = b->buffers,
                                 .dictionary = &b->values_array};
}

enum colshuf_status csf_dictionary_build_run(struct csf_dictionary_build *b, const struct csf_field *field,
                                             const struct ArrowArray *array, int64_t start, int64_t length, int64_t max_values,
                                             bool *built, struct colshuf_error *err) {
  struct work w = {.build = b, .validity = csf_array_validity(field, array), .n = length, .max_values = max_values};
  w.row = array->offset + start;
  w.collisions_left = 4 * length;
  const uint8_t *second = array->buffers[1];
  if (field->layout == CSF_LAYOUT_BINARY32) {
    w.offsets = second + 4 * w.row;
    w.data = array->buffers[2] != NULL ? array->buffers[2] : (const void *)""; /* all strings empty */
  } else {
    w.data = second + field->width * w.row;
  }
  *built = false;
  CSF_TRY(open_table(&w, err));
  bool fits;
  CSF_TRY(index_rows(&w, field, &fits, err));
  if (!fits || b->n_values == 0) return COLSHUF_OK;
  CSF_TRY(copy_validity(&w, err));
  make_arrays(&w, field);
  *built = true;
  return COLSHUF_OK;
}
