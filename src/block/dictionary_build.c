/* SPDX-License-Identifier: Apache-2.0 */
#include "block/dictionary_build.h"

void csf_dictionary_build_init(struct csf_dictionary_build *b, const struct colshuf_allocator *allocator) {
  *b = (struct csf_dictionary_build){0};
  struct csf_buffer *buffers[] = {&b->slots, &b->indices, &b->validity, &b->values, &b->offsets};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_init(buffers[i], allocator);
}

void csf_dictionary_build_clear(struct csf_dictionary_build *b) {
  struct csf_buffer *buffers[] = {&b->slots, &b->indices, &b->validity, &b->values, &b->offsets};
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

static inline uint64_t slot_of(const struct work *w, uint64_t hash) {
  return (hash * mix_a) >> w->shift;
}

/* All bits of both words reach the high bits that slot_of takes. */
static inline uint64_t hash_words(uint64_t a, uint64_t b) {
  uint64_t hash = a ^ (b * mix_b);
  return hash ^ (hash >> 29);
}

static uint64_t hash_text(const uint8_t *text, size_t size) {
  uint64_t a = size, b = 0;
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) a = (a ^ csf_load_u64(text + i)) * mix_b + (a >> 31);
    b = csf_load_u64(text + size - 8);
  } else if (size >= 4) {
    b = (uint64_t)csf_load_u32(text) << 32 | csf_load_u32(text + size - 4);
  } else if (size > 0) {
    b = (uint64_t)text[0] << 16 | (uint64_t)text[size / 2] << 8 | text[size - 1];
  }
  return hash_words(b, a);
}

static inline bool row_is_null(const struct work *w, int64_t i) {
  return w->validity != NULL && !csf_bit_get(w->validity, w->row + i);
}

/* Values of 8 or 16 bytes; `width` is a constant where this is inlined. false: too many. */
static inline bool index_fixed(struct work *w, int width) {
  uint8_t *values = w->build->values.data;
  uint64_t mask = UINT64_MAX >> w->shift;
  int64_t n_values = 0;
  for (int64_t i = 0; i < w->n; i++) {
    if (row_is_null(w, i)) {
      w->indices[i] = 0;
      continue;
    }
    const uint8_t *value = w->data + i * width;
    uint64_t low = csf_load_u64(value), high = width == 16 ? csf_load_u64(value + 8) : 0;
    uint64_t slot = slot_of(w, hash_words(low, high));
    for (;; slot = (slot + 1) & mask) {
      uint32_t found = w->slots[slot];
      if (found == 0) {
        if (n_values == w->max_values) return false;
        memcpy(values + n_values * width, value, (size_t)width);
        w->slots[slot] = (uint32_t)++n_values;
        w->indices[i] = (int32_t)(n_values - 1);
        break;
      }
      const uint8_t *known = values + (int64_t)(found - 1) * width;
      if (csf_load_u64(known) == low && (width == 8 || csf_load_u64(known + 8) == high)) {
        w->indices[i] = (int32_t)(found - 1);
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

/* Appends a string to the values. The caller has made room for an offset. */
static enum colshuf_status add_text(struct csf_dictionary_build *b, const uint8_t *text, size_t size, struct colshuf_error *err) {
  CSF_TRY(csf_buffer_append(&b->values, text, size, err));
  b->n_values++;
  csf_store_i32(b->offsets.data + 4 * b->n_values, (int32_t)b->values.size);
  return COLSHUF_OK;
}

static inline bool is_text(const struct csf_dictionary_build *b, uint32_t index, const uint8_t *text, size_t size) {
  const uint8_t *offsets = b->offsets.data + 4 * (size_t)index;
  uint32_t begin = csf_load_u32(offsets);
  return csf_load_u32(offsets + 4) - begin == size && memcmp(b->values.data + begin, text, size) == 0;
}

/* Strings. *fits is false when there are too many. */
static enum colshuf_status index_text(struct work *w, bool *fits, struct colshuf_error *err) {
  struct csf_dictionary_build *b = w->build;
  uint64_t mask = UINT64_MAX >> w->shift;
  *fits = false;
  for (int64_t i = 0; i < w->n; i++) {
    if (row_is_null(w, i)) {
      w->indices[i] = 0;
      continue;
    }
    int32_t begin = csf_load_i32(w->offsets + 4 * i);
    int32_t end = csf_load_i32(w->offsets + 4 * i + 4);
    if (begin < 0 || end < begin) return COLSHUF_OK;
    const uint8_t *text = w->data + begin;
    size_t size = (size_t)(end - begin);
    uint64_t slot = slot_of(w, hash_text(text, size));
    while (w->slots[slot] != 0 && !is_text(b, w->slots[slot] - 1, text, size)) {
      slot = (slot + 1) & mask;
      if (--w->collisions_left < 0) return COLSHUF_OK;
    }
    if (w->slots[slot] == 0) {
      if (b->n_values == w->max_values) return COLSHUF_OK;
      CSF_TRY(add_text(b, text, size, err));
      w->slots[slot] = (uint32_t)b->n_values;
    }
    w->indices[i] = (int32_t)w->slots[slot] - 1;
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
