/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random.h"

#include <stdlib.h>

/* What an array owns: blocks of exact size, one after another in a list, found through private_data. */
struct block {
  struct block *next;
  size_t size; /* with this head */
};

struct maker {
  struct test_random *random;
  const struct test_array_options *options;
  struct ArrowArray *array; /* that blocks are added to */
};

static int64_t below(struct maker *m, int64_t n) {
  return (int64_t)test_random_below(m->random, (uint64_t)n);
}

static bool shaped(struct maker *m, enum test_shape shape) {
  return (m->options->shape & (unsigned)shape) != 0;
}

static bool percent(struct maker *m, int64_t n) {
  return below(m, 100) < n;
}

static void *add_block(struct maker *m, size_t size, size_t shift) {
  size_t whole = sizeof(struct block) + shift + size;
  struct block *block = test_heap.resize(test_heap.ctx, NULL, 0, whole);
  if (block == NULL) abort();
  *block = (struct block){.next = m->array->private_data, .size = whole};
  m->array->private_data = block;
  return (uint8_t *)(block + 1) + shift;
}

/* A buffer of random bytes, for values to be written over. */
static void *add_buffer(struct maker *m, int64_t size) {
  if (size == 0 && shaped(m, TEST_NO_BUFFERS) && below(m, 2)) return NULL;
  size_t shift = shaped(m, TEST_MISALIGNED) && below(m, 2) ? (size_t)below(m, 16) : 0;
  uint8_t *bytes = add_block(m, (size_t)size, shift);
  for (int64_t i = 0; i < size; i++) bytes[i] = shaped(m, TEST_LOOSE) ? (uint8_t)test_random_next(m->random) : 0;
  return bytes;
}

static void release_array(struct ArrowArray *array) {
  for (int64_t c = 0; c < array->n_children; c++) {
    if (array->children[c]->release != NULL) array->children[c]->release(array->children[c]);
  }
  if (array->dictionary != NULL && array->dictionary->release != NULL) array->dictionary->release(array->dictionary);
  struct block *block = array->private_data;
  array->release = NULL;
  while (block != NULL) {
    struct block *next = block->next;
    test_heap.resize(test_heap.ctx, block, block->size, 0);
    block = next;
  }
}

static void make_array(struct maker *m, const struct csf_field *field, int64_t length, bool nulls, struct ArrowArray *out);

static void make_child(struct maker *m, struct ArrowArray *parent, int32_t c, const struct csf_field *field, int64_t length,
                       bool nulls) {
  struct ArrowArray *child = parent->children[c];
  int64_t more = shaped(m, TEST_LOOSE) ? below(m, 4) * below(m, 2) : 0;
  make_array(m, field, length + more, nulls, child);
  m->array = parent;
}

static void set_integer(void *data, int64_t i, int32_t width, int64_t value) {
  memcpy((uint8_t *)data + i * width, &value, (size_t)width);
}

/* Bits of a signed value of so many bits; edges often. */
static int64_t random_integer(struct maker *m, int32_t bits) {
  int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
  switch (below(m, 8)) {
    case 0:
      return below(m, 3) - 1;
    case 1:
      return below(m, 2) ? most : -most - 1;
    case 2:
      return (int64_t)test_random_next(m->random) >> (64 - bits);
    default:
      return below(m, 200) - 50;
  }
}

/* A decimal that its precision allows: 10^p > 2^(3 p). */
static void random_decimal(struct maker *m, const struct csf_field *field, uint8_t *out) {
  int32_t bits = 3 * field->precision;
  if (bits > 8 * field->width - 1) bits = 8 * field->width - 1;
  int64_t low = random_integer(m, bits + 1 < 64 ? bits + 1 : 64);
  memset(out, low < 0 ? 0xff : 0, (size_t)field->width);
  memcpy(out, &low, (size_t)(field->width < 8 ? field->width : 8));
  for (int32_t b = 8; b < bits / 8 && below(m, 3) != 0; b++) out[b] = (uint8_t)test_random_next(m->random);
}

static void random_float(struct maker *m, int32_t width, uint8_t *out) {
  static const uint64_t edges[3][8] = {{0x8000, 0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x0001, 0x7bff, 0x7c01},
                                       {0x80000000, 0x7fc00000, 0xffc00000, 0x7f800000, 0xff800000, 1, 0x7f7fffff, 0x7f800001},
                                       {0x8000000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000000,
                                        0xfff0000000000000, 1, 0x7fefffffffffffff, 0x7ff0000000000001}};
  uint64_t bits = test_random_next(m->random);
  if (below(m, 2)) bits = edges[width == 2 ? 0 : width == 4 ? 1 : 2][below(m, 8)];
  if (below(m, 6) == 0) bits = 0;
  memcpy(out, &bits, (size_t)width);
}

static void random_fixed(struct maker *m, const struct csf_field *field, uint8_t *out) {
  switch (field->type) {
    case CSF_FLOAT16:
    case CSF_FLOAT32:
    case CSF_FLOAT64:
      random_float(m, field->width, out);
      break;
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256:
      random_decimal(m, field, out);
      break;
    case CSF_FIXED_SIZE_BINARY:
    case CSF_INTERVAL_DAY_TIME:
    case CSF_INTERVAL_MONTH_DAY_NANO:
      for (int32_t i = 0; i < field->width; i++) out[i] = (uint8_t)test_random_next(m->random);
      break;
    default:
      set_integer(out, 0, field->width, random_integer(m, 8 * field->width));
      break;
  }
}

/* size bytes of UTF-8, code points of every length. */
static void random_text(struct maker *m, uint8_t *out, int64_t size) {
  static const char *const wide[] = {"é", "ß", "日", "\xed\x9f\xbf", "\xee\x80\x80", "🌰", "\xf4\x8f\xbf\xbf", "\xc2\x80"};
  for (int64_t i = 0; i < size;) {
    const char *text = wide[below(m, 8)];
    int64_t length = (int64_t)strlen(text);
    if (below(m, 6) != 0 || length > size - i) {
      out[i++] = (uint8_t)(below(m, 40) == 0 ? below(m, 128) : 'a' + below(m, 26));
    } else {
      memcpy(out + i, text, (size_t)length);
      i += length;
    }
  }
}

static bool is_text(const struct csf_field *field) {
  return field->type == CSF_UTF8 || field->type == CSF_LARGE_UTF8 || field->type == CSF_UTF8_VIEW;
}

static void random_bytes(struct maker *m, const struct csf_field *field, uint8_t *out, int64_t size) {
  if (is_text(field)) {
    random_text(m, out, size);
  } else {
    for (int64_t i = 0; i < size; i++) out[i] = (uint8_t)test_random_next(m->random);
  }
}

/* Often short, often around 12 (the longest inline view), at times as long as can be. */
static int64_t random_size(struct maker *m) {
  int64_t most = m->options->max_text > 0 ? m->options->max_text : 24;
  int64_t size = below(m, 3) == 0 ? 10 + below(m, 6) : below(m, 4) == 0 ? below(m, most + 1) : below(m, 10);
  return size > most ? most : size;
}

/* Validity of n rows at random, in buffer 0; returns it, or NULL where no row is null. */
static const uint8_t *make_validity(struct maker *m, struct ArrowArray *array, int64_t n, bool nulls) {
  int64_t share = nulls ? m->options->null_percent : 0;
  if (share == 0 && below(m, 2)) return NULL;
  uint8_t *bits = add_buffer(m, csf_bit_bytes(n));
  for (int64_t i = 0; i < n; i++) {
    if (percent(m, share)) {
      csf_bit_clear(bits, i);
    } else {
      csf_bit_set(bits, i);
    }
  }
  array->buffers[0] = bits;
  int64_t count = 0;
  for (int64_t i = 0; i < array->length; i++) count += !csf_bit_get(bits, array->offset + i);
  array->null_count = shaped(m, TEST_UNCOUNTED) && below(m, 2) ? -1 : count;
  return bits;
}

static bool valid_at(const uint8_t *bits, int64_t i) {
  return bits == NULL || csf_bit_get(bits, i);
}

static void make_bits(struct maker *m, struct ArrowArray *array, int64_t n) {
  uint8_t *bits = add_buffer(m, csf_bit_bytes(n));
  bool last = false;
  for (int64_t i = 0; i < n; i++) {
    if (!percent(m, m->options->repeat_percent)) last = below(m, 2);
    if (last) csf_bit_set(bits, i);
    if (!last) csf_bit_clear(bits, i);
  }
  array->buffers[1] = bits;
}

static void make_fixed(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n,
                       const uint8_t *valid) {
  uint8_t *data = add_buffer(m, n * field->width);
  array->buffers[1] = data;
  if (field->width == 0) return;
  for (int64_t i = 0; i < n; i++) {
    uint8_t *place = data + i * field->width;
    if (!valid_at(valid, i) && below(m, 2)) continue;
    if (i > 0 && percent(m, m->options->repeat_percent)) {
      memcpy(place, place - field->width, (size_t)field->width);
    } else {
      random_fixed(m, field, place);
    }
  }
}

/* n + 1 offsets over things of the sizes that size_of gives, in buffer 1; *end = where the last thing ends. */
static void *make_offsets(struct maker *m, struct ArrowArray *array, int64_t n, int32_t width, const uint8_t *valid,
                          int64_t (*size_of)(struct maker *m), int64_t *first, int64_t *end) {
  bool loose = shaped(m, TEST_LOOSE);
  int64_t offset = loose ? below(m, 20) * below(m, 2) : 0;
  uint8_t *offsets = add_buffer(m, (n + 1) * width);
  *first = offset;
  for (int64_t i = 0; i <= n; i++) {
    set_integer(offsets, i, width, offset);
    if (i < n && (valid_at(valid, i) || (loose && below(m, 3) == 0))) offset += size_of(m);
  }
  array->buffers[1] = offsets;
  *end = offset;
  return offsets;
}

static int64_t offset_at(const void *offsets, int64_t i, int32_t width) {
  if (width == 8) return csf_load_i64((const uint8_t *)offsets + 8 * i);
  return csf_load_i32((const uint8_t *)offsets + 4 * i);
}

static void make_binary(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n,
                        const uint8_t *valid) {
  int32_t width = field->layout == CSF_LAYOUT_BINARY64 ? 8 : 4;
  int64_t first, end;
  void *offsets = make_offsets(m, array, n, width, valid, random_size, &first, &end);
  uint8_t *data = add_buffer(m, end + (shaped(m, TEST_LOOSE) ? below(m, 9) : 0));
  array->buffers[2] = data;
  for (int64_t i = 0; i < n; i++) {
    int64_t start = offset_at(offsets, i, width), size = offset_at(offsets, i + 1, width) - start;
    int64_t before = i == 0 ? -1 : start - offset_at(offsets, i - 1, width);
    if (size > 0 && size == before && percent(m, m->options->repeat_percent)) {
      memcpy(data + start, data + start - size, (size_t)size);
    } else if (size > 0) {
      random_bytes(m, field, data + start, size);
    }
  }
}

enum { MAX_VARIADIC = 4 };

/* Writes the view of a new value at i: inline, or into one of the data buffers. */
static void make_view(struct maker *m, const struct csf_field *field, uint8_t *view, struct csf_buffer *data, int64_t n_data) {
  uint8_t text[4096];
  int64_t size = random_size(m);
  if (size > (int64_t)sizeof text) size = sizeof text;
  if (n_data == 0 && size > 12) size = 12;
  random_bytes(m, field, text, size);
  memset(view, 0, 16);
  set_integer(view, 0, 4, size);
  if (size <= 12) {
    memcpy(view + 4, text, (size_t)size);
    return;
  }
  int64_t b = below(m, n_data);
  if (shaped(m, TEST_LOOSE) && below(m, 3) == 0 && csf_buffer_append(&data[b], "\xff???", (size_t)below(m, 4), NULL)) abort();
  memcpy(view + 4, text, 4);
  set_integer(view, 2, 4, b);
  set_integer(view, 3, 4, (int64_t)data[b].size);
  if (csf_buffer_append(&data[b], text, (size_t)size, NULL) != COLSHUF_OK) abort();
}

static void make_views(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n,
                       const uint8_t *valid) {
  struct csf_buffer data[MAX_VARIADIC];
  int64_t n_data = below(m, MAX_VARIADIC + 1);
  for (int64_t b = 0; b < n_data; b++) csf_buffer_init(&data[b], NULL);
  uint8_t *views = add_buffer(m, 16 * n);
  if (n > 0) memset(views, 0, (size_t)(16 * n));
  for (int64_t i = 0; i < n; i++) {
    if (!valid_at(valid, i) && below(m, 2)) continue;
    if (i > 0 && (percent(m, m->options->repeat_percent) || (shaped(m, TEST_LOOSE) && below(m, 8) == 0))) {
      memcpy(views + 16 * i, views + 16 * below(m, i), 16); /* several views of the same bytes */
    } else {
      make_view(m, field, views + 16 * i, data, n_data);
    }
  }
  array->n_buffers = 3 + n_data;
  array->buffers[1] = views;
  int64_t *sizes = add_block(m, (size_t)n_data * sizeof *sizes, 0);
  for (int64_t b = 0; b < n_data; b++) {
    sizes[b] = (int64_t)data[b].size;
    uint8_t *bytes = add_buffer(m, sizes[b]);
    if (sizes[b] > 0) memcpy(bytes, data[b].data, data[b].size);
    array->buffers[2 + b] = bytes;
    csf_buffer_clear(&data[b]);
  }
  array->buffers[2 + n_data] = n_data == 0 && shaped(m, TEST_NO_BUFFERS) ? NULL : sizes;
}

static int64_t random_list_size(struct maker *m) {
  return below(m, (m->options->max_list > 0 ? m->options->max_list : 4) + 1);
}

static void make_list(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n,
                      const uint8_t *valid) {
  int64_t first, end;
  make_offsets(m, array, n, field->layout == CSF_LAYOUT_LIST64 ? 8 : 4, valid, random_list_size, &first, &end);
  make_child(m, array, 0, &field->children[0], end, field->children[0].nullable);
}

/* Lists in any order, overlapping, or with values between them that no list has. */
static void make_list_view(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n) {
  int32_t width = field->layout == CSF_LAYOUT_LIST_VIEW64 ? 8 : 4;
  int64_t total = n * random_list_size(m);
  uint8_t *offsets = add_buffer(m, n * width), *sizes = add_buffer(m, n * width);
  array->buffers[1] = offsets;
  array->buffers[2] = sizes;
  int64_t next = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t offset = shaped(m, TEST_LOOSE) ? below(m, total + 1) : next;
    int64_t size = random_list_size(m);
    if (size > total - offset) size = total - offset;
    set_integer(offsets, i, width, offset);
    set_integer(sizes, i, width, size);
    next = offset + size;
  }
  make_child(m, array, 0, &field->children[0], total, field->children[0].nullable);
}

static void make_union(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n) {
  bool dense = field->layout == CSF_LAYOUT_DENSE_UNION, loose = shaped(m, TEST_LOOSE);
  int64_t *used = add_block(m, (size_t)field->n_children * sizeof *used, 0);
  for (int32_t c = 0; c < field->n_children; c++) used[c] = !dense ? n : loose ? below(m, 3) : 0;
  int8_t *ids = add_buffer(m, n);
  uint8_t *offsets = dense ? add_buffer(m, 4 * n) : NULL;
  array->buffers[0] = ids;
  if (dense) array->buffers[1] = offsets;
  for (int64_t i = 0; i < n; i++) {
    int64_t c = below(m, field->n_children);
    ids[i] = field->type_ids[c];
    if (!dense) continue;
    set_integer(offsets, i, 4, used[c]);
    used[c] += 1 + (loose && below(m, 6) == 0);
  }
  for (int32_t c = 0; c < field->n_children; c++)
    make_child(m, array, c, &field->children[c], used[c], field->children[c].nullable);
}

/* Run ends that reach n at least, with an offset of their own. */
static void make_run_end(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n, bool nulls) {
  struct ArrowArray *ends = array->children[0];
  int64_t values[512], runs = 0, end = 0;
  int64_t longest = 1 + below(m, 6) + n / 100;
  for (; end < n; runs++) {
    end += 1 + below(m, longest);
    values[runs] = end;
  }
  int64_t before = shaped(m, TEST_SLICED) ? below(m, 5) : 0;
  *ends = (struct ArrowArray){.length = runs, .offset = before, .n_buffers = 2, .release = release_array};
  m->array = ends;
  ends->buffers = add_block(m, 2 * sizeof(void *), 0);
  int32_t width = field->children[0].width;
  uint8_t *data = add_buffer(m, (before + runs) * width);
  ends->buffers[0] = NULL;
  ends->buffers[1] = data;
  for (int64_t r = 0; r < runs; r++) set_integer(data, before + r, width, values[r]);
  m->array = array;
  make_array(m, &field->children[1], runs, nulls && field->children[1].nullable, array->children[1]);
  m->array = array;
}

static void make_indices(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n, bool nulls,
                         const uint8_t *valid) {
  int64_t n_values = 1 + below(m, below(m, 4) == 0 ? 100 : 8);
  bool all_null = valid != NULL;
  for (int64_t i = 0; i < n; i++) all_null &= !valid_at(valid, i);
  if ((all_null || n == 0) && below(m, 2)) n_values = 0;
  uint8_t *data = add_buffer(m, n * field->width);
  array->buffers[1] = data;
  for (int64_t i = 0; i < n; i++) {
    if (!valid_at(valid, i)) continue; /* whatever add_buffer left, no index in all likelihood */
    if (i > 0 && valid_at(valid, i - 1) && percent(m, m->options->repeat_percent)) {
      memcpy(data + i * field->width, data + (i - 1) * field->width, (size_t)field->width);
    } else {
      set_integer(data, i, field->width, below(m, n_values));
    }
  }
  make_array(m, field->dictionary, n_values, nulls, array->dictionary);
  m->array = array;
}

static int32_t buffers_of(const struct csf_field *field) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL:
    case CSF_LAYOUT_RUN_END:
      return 0;
    case CSF_LAYOUT_FIXED_LIST:
    case CSF_LAYOUT_STRUCT:
    case CSF_LAYOUT_SPARSE_UNION:
      return 1;
    case CSF_LAYOUT_BITS:
    case CSF_LAYOUT_FIXED:
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
    case CSF_LAYOUT_DENSE_UNION:
      return 2;
    default:
      return 3;
  }
}

/* The structs of an array and of its children, nothing in them yet. */
static void make_structs(struct maker *m, const struct csf_field *field, struct ArrowArray *array) {
  array->release = release_array;
  m->array = array;
  array->n_buffers = buffers_of(field);
  array->buffers = add_block(m, (3 + MAX_VARIADIC) * sizeof(void *), 0);
  for (int64_t b = 0; b < 3 + MAX_VARIADIC; b++) array->buffers[b] = NULL;
  array->n_children = field->n_children;
  array->children = add_block(m, (size_t)field->n_children * sizeof(void *), 0);
  for (int32_t c = 0; c < field->n_children; c++) {
    array->children[c] = add_block(m, sizeof(struct ArrowArray), 0);
    *array->children[c] = (struct ArrowArray){0};
  }
  if (field->dictionary == NULL) return;
  array->dictionary = add_block(m, sizeof(struct ArrowArray), 0);
  *array->dictionary = (struct ArrowArray){0};
}

/* Zero rows and no memory at all, down to the last child. */
static void make_empty(struct maker *m, const struct csf_field *field, struct ArrowArray *array) {
  for (int32_t c = 0; c < field->n_children; c++) {
    struct ArrowArray *child = array->children[c];
    make_structs(m, &field->children[c], child);
    make_empty(m, &field->children[c], child);
  }
  if (field->dictionary == NULL) return;
  make_structs(m, field->dictionary, array->dictionary);
  make_empty(m, field->dictionary, array->dictionary);
}

static bool has_validity(enum csf_layout layout) {
  return layout != CSF_LAYOUT_NULL && layout != CSF_LAYOUT_SPARSE_UNION && layout != CSF_LAYOUT_DENSE_UNION &&
         layout != CSF_LAYOUT_RUN_END;
}

static void make_content(struct maker *m, const struct csf_field *field, struct ArrowArray *array, int64_t n, bool nulls,
                         const uint8_t *valid) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL:
      array->null_count = array->length;
      break;
    case CSF_LAYOUT_BITS:
      make_bits(m, array, n);
      break;
    case CSF_LAYOUT_FIXED:
      make_fixed(m, field, array, n, valid);
      break;
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      make_binary(m, field, array, n, valid);
      break;
    case CSF_LAYOUT_VIEW:
      make_views(m, field, array, n, valid);
      break;
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
      make_list(m, field, array, n, valid);
      break;
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      make_list_view(m, field, array, n);
      break;
    case CSF_LAYOUT_FIXED_LIST:
      make_child(m, array, 0, &field->children[0], n * field->width, field->children[0].nullable);
      break;
    case CSF_LAYOUT_STRUCT:
      for (int32_t c = 0; c < field->n_children; c++)
        make_child(m, array, c, &field->children[c], n, field->children[c].nullable);
      break;
    case CSF_LAYOUT_SPARSE_UNION:
    case CSF_LAYOUT_DENSE_UNION:
      make_union(m, field, array, n);
      break;
    case CSF_LAYOUT_RUN_END:
      make_run_end(m, field, array, n, nulls);
      break;
  }
}

static void make_rows(struct maker *m, const struct csf_field *field, int64_t length, bool nulls, bool sliced,
                      struct ArrowArray *out) {
  *out = (struct ArrowArray){.length = length};
  make_structs(m, field, out);
  if (length == 0 && shaped(m, TEST_NO_BUFFERS) && below(m, 2)) {
    make_empty(m, field, out);
    return;
  }
  out->offset = sliced ? below(m, 12) * below(m, 2) : 0;
  int64_t n = out->offset + length;
  if (shaped(m, TEST_LOOSE)) n += below(m, 3) * below(m, 2);
  const uint8_t *valid = has_validity(field->layout) ? make_validity(m, out, n, nulls) : NULL;
  if (field->dictionary != NULL) {
    make_indices(m, field, out, n, nulls, valid);
  } else {
    make_content(m, field, out, n, nulls, valid);
  }
}

static void make_array(struct maker *m, const struct csf_field *field, int64_t length, bool nulls, struct ArrowArray *out) {
  make_rows(m, field, length, nulls && field->nullable, shaped(m, TEST_SLICED), out);
}

void test_random_array(struct test_random *random, const struct csf_field *field, const struct test_array_options *options,
                       struct ArrowArray *out) {
  struct maker m = {.random = random, .options = options};
  make_rows(&m, field, options->rows, field->nullable, shaped(&m, TEST_SLICED_ROOT), out);
}

struct test_array_options test_random_options(struct test_random *random, int64_t max_rows) {
  struct test_array_options options = {.rows = (int64_t)test_random_below(random, (uint64_t)max_rows + 1)};
  if (test_random_below(random, 3) == 0 && options.rows > 3) options.rows = (int64_t)test_random_below(random, 4);
  static const int nulls[] = {0, 5, 30, 100};
  options.null_percent = nulls[test_random_below(random, 4)];
  options.shape = test_random_below(random, 4) == 0 ? 0 : (unsigned)test_random_below(random, TEST_WILD + 1);
  options.repeat_percent = (int)test_random_below(random, 3) * 40;
  return options;
}
