/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes are only ever written behind those that an array shows. Where there is no room left, a larger chunk takes over, and the old one stays
 * with the arrays that show it. What is added is first brought into the form that gathering gives (offsets from 0, children as long as they are
 * used), so that every layout is added whole: its bytes, and numbers shifted by what is there.
 */
#include "ipc/dictionary_growth.h"

#include <stdatomic.h>

struct chunk {
  atomic_size_t references;
  size_t capacity;
  struct colshuf_allocator allocator;
};

/* The bytes of a chunk stand behind it, aligned as all memory is. */
enum { CHUNK_HEAD = CSF_ALIGNMENT };
_Static_assert(sizeof(struct chunk) <= CHUNK_HEAD, "the head of a chunk fits before its bytes");

struct grown {
  struct chunk *chunk; /* NULL = no bytes yet */
  size_t size;
};

struct level {
  int64_t length, null_count;
  struct grown buffers[3]; /* as in the array; of views the third is the data buffer being filled */
  struct grown *full;      /* of views: the data buffers before it */
  int32_t n_full, n_children;
  struct level *children;
};

struct csf_growth {
  struct colshuf_allocator allocator;
  struct level root;
  struct colshuf_error *err; /* of the call at hand */
};

static uint8_t *chunk_bytes(struct chunk *chunk) {
  return (uint8_t *)chunk + CHUNK_HEAD;
}

static void release_chunk(void *ctx) {
  struct chunk *chunk = ctx;
  if (chunk == NULL || atomic_fetch_sub_explicit(&chunk->references, 1, memory_order_acq_rel) != 1) return;
  struct colshuf_allocator allocator = chunk->allocator;
  csf_free(&allocator, chunk, CHUNK_HEAD + chunk->capacity);
}

static enum colshuf_status fail_count(struct csf_growth *g, const char *what) {
  return csf_fail(g->err, COLSHUF_LIMIT, "its deltas bring more %s", what);
}

/* Makes room for size bytes in all, half as much again where there is too little. */
static enum colshuf_status reserve(struct csf_growth *g, struct grown *bytes, size_t size) {
  size_t room = bytes->chunk == NULL ? 0 : bytes->chunk->capacity, whole;
  if (size <= room) return COLSHUF_OK;
  if (size - room < room / 2) size = room + room / 2;
  if (csf_add_overflow(size, (size_t)CHUNK_HEAD + CSF_ALIGNMENT, &whole)) return csf_fail_memory(g->err, size);
  size = csf_round_up(size, CSF_ALIGNMENT);
  struct chunk *chunk = csf_alloc(&g->allocator, CHUNK_HEAD + size);
  if (chunk == NULL) return csf_fail_memory(g->err, CHUNK_HEAD + size);
  *chunk = (struct chunk){.capacity = size, .allocator = g->allocator};
  atomic_init(&chunk->references, 1);
  if (bytes->size > 0) memcpy(chunk_bytes(chunk), chunk_bytes(bytes->chunk), bytes->size);
  release_chunk(bytes->chunk);
  bytes->chunk = chunk;
  return COLSHUF_OK;
}

/* size > 0 bytes more, to be filled by the caller. */
static enum colshuf_status extend(struct csf_growth *g, struct grown *bytes, size_t size, uint8_t **place) {
  size_t whole;
  if (csf_add_overflow(bytes->size, size, &whole)) return csf_fail_memory(g->err, size);
  CSF_TRY(reserve(g, bytes, whole));
  *place = chunk_bytes(bytes->chunk) + bytes->size;
  bytes->size = whole;
  return COLSHUF_OK;
}

static enum colshuf_status add_bytes(struct csf_growth *g, struct grown *bytes, const void *source, size_t size) {
  uint8_t *place;
  if (size == 0) return COLSHUF_OK;
  CSF_TRY(extend(g, bytes, size, &place));
  memcpy(place, source, size);
  return COLSHUF_OK;
}

static enum colshuf_status add_items(struct csf_growth *g, struct grown *bytes, const void *source, int64_t n, int64_t width) {
  int64_t size;
  if (csf_multiply_overflow(n, width, &size)) return csf_fail_memory(g->err, SIZE_MAX);
  return add_bytes(g, bytes, source, (size_t)size);
}

/*
 * n bits behind the first `before`; source NULL stands for ones. The byte that both share is written in one store: arrays shown before, which
 * others may be reading, look at its other bits, and those stay.
 */
static enum colshuf_status add_bits(struct csf_growth *g, struct grown *bytes, int64_t before, const uint8_t *source, int64_t n) {
  size_t size = (size_t)csf_bit_bytes(before + n);
  CSF_TRY(reserve(g, bytes, size));
  uint8_t *bits = chunk_bytes(bytes->chunk);
  memset(bits + bytes->size, 0, size - bytes->size);
  bytes->size = size;
  int64_t shared = before % 8 == 0 ? 0 : 8 - before % 8;
  if (shared > n) shared = n;
  uint8_t byte = bits[before / 8];
  for (int64_t i = 0; i < shared; i++) {
    if (source == NULL || csf_bit_get(source, i)) byte |= (uint8_t)(1u << (before + i) % 8);
  }
  if (shared > 0) __atomic_store_n(&bits[before / 8], byte, __ATOMIC_RELAXED);
  if (source != NULL) csf_bits_copy(bits, before + shared, source, shared, n - shared);
  else csf_bits_fill(bits, before + shared, n - shared, true);
  return COLSHUF_OK;
}

/* n numbers of width bytes, each more by base: the caller knows that none overflows. */
static enum colshuf_status add_shifted(struct csf_growth *g, struct grown *numbers, const void *source, int64_t n, int64_t width, int64_t base) {
  size_t before = numbers->size;
  CSF_TRY(add_items(g, numbers, source, n, width));
  if (base == 0) return COLSHUF_OK;
  uint8_t *place = chunk_bytes(numbers->chunk) + before;
  for (int64_t i = 0; i < n; i++, place += width) {
    if (width == 2) csf_store_u16(place, (uint16_t)(csf_load_u16(place) + (uint16_t)base));
    else csf_offset_set(place, 0, width == 8, csf_offset_at(place, 0, width == 8) + base);
  }
  return COLSHUF_OK;
}

/* Whether offsets of this width can count to the sum. */
static bool can_count(int64_t a, int64_t b, bool wide) {
  int64_t sum;
  return !csf_add_overflow(a, b, &sum) && (wide || sum <= INT32_MAX);
}

static enum colshuf_status add_validity(struct csf_growth *g, struct level *to, const struct ArrowArray *array) {
  if (to->null_count == 0 && array->null_count == 0) return COLSHUF_OK;
  struct grown *validity = &to->buffers[0];
  if (validity->size == 0 && to->length > 0) CSF_TRY(add_bits(g, validity, 0, NULL, to->length));
  CSF_TRY(add_bits(g, validity, to->length, array->null_count == 0 ? NULL : array->buffers[0], array->length));
  to->null_count += array->null_count;
  return COLSHUF_OK;
}

/* The n + 1 offsets of array behind those that are there, which end at `end`; *count: what the new ones add. */
static enum colshuf_status add_offsets(struct csf_growth *g, struct level *to, const struct ArrowArray *array, bool wide, const char *what,
                                       int64_t *count) {
  int64_t width = wide ? 8 : 4, end = 0;
  struct grown *offsets = &to->buffers[1];
  const uint8_t *source = array->buffers[1];
  if (offsets->size == 0) CSF_TRY(add_bytes(g, offsets, &(int64_t){0}, (size_t)width));
  else end = csf_offset_at(chunk_bytes(offsets->chunk), (int64_t)offsets->size / width - 1, wide);
  *count = csf_offset_at(source, array->length, wide);
  if (!can_count(end, *count, wide)) return fail_count(g, what);
  return add_shifted(g, offsets, source + width, array->length, width, end);
}

static enum colshuf_status append(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array);

static enum colshuf_status add_children(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array) {
  for (int32_t i = 0; i < to->n_children; i++) CSF_TRY(append(g, &to->children[i], &field->children[i], array->children[i]));
  return COLSHUF_OK;
}

static enum colshuf_status add_binary(struct csf_growth *g, struct level *to, const struct ArrowArray *array, bool wide) {
  int64_t n_bytes;
  CSF_TRY(add_offsets(g, to, array, wide, "bytes than its 32-bit offsets can count", &n_bytes));
  return add_bytes(g, &to->buffers[2], array->buffers[2], (size_t)n_bytes);
}

static enum colshuf_status add_list(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array,
                                    bool wide) {
  int64_t n_values;
  CSF_TRY(add_offsets(g, to, array, wide, "list values than its 32-bit offsets can count", &n_values));
  return add_children(g, to, field, array);
}

static enum colshuf_status add_list_view(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array,
                                         bool wide) {
  int64_t width = wide ? 8 : 4, before = to->children[0].length;
  if (!can_count(before, array->children[0]->length, wide)) return fail_count(g, "list values than its 32-bit offsets can count");
  CSF_TRY(add_shifted(g, &to->buffers[1], array->buffers[1], array->length, width, before));
  CSF_TRY(add_items(g, &to->buffers[2], array->buffers[2], array->length, width));
  return add_children(g, to, field, array);
}

/* The offsets of a dense union are shifted by what their own child holds already. */
static enum colshuf_status add_dense_union(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array) {
  const uint8_t *ids = array->buffers[0];
  int32_t bases[256] = {0};
  for (int32_t i = 0; i < to->n_children; i++) {
    if (!can_count(to->children[i].length, array->children[i]->length, false)) return fail_count(g, "rows of one member than offsets can count");
    bases[(uint8_t)field->type_ids[i]] = (int32_t)to->children[i].length;
  }
  uint8_t *offsets;
  CSF_TRY(add_items(g, &to->buffers[0], ids, array->length, 1));
  CSF_TRY(extend(g, &to->buffers[1], (size_t)array->length * 4, &offsets));
  for (int64_t i = 0; i < array->length; i++) {
    csf_store_i32(offsets + 4 * i, csf_load_i32((const uint8_t *)array->buffers[1] + 4 * i) + bases[ids[i]]);
  }
  return add_children(g, to, field, array);
}

/* Run ends count rows: those of array start behind the rows that are there. */
static enum colshuf_status add_runs(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array) {
  int64_t width = field->children[0].width, most = width == 2 ? INT16_MAX : width == 4 ? INT32_MAX : INT64_MAX;
  if (array->length > most - to->length) return fail_count(g, "rows than its run ends can count");
  const struct ArrowArray *ends = array->children[0];
  CSF_TRY(add_shifted(g, &to->children[0].buffers[1], ends->buffers[1], ends->length, width, to->length));
  to->children[0].length += ends->length;
  return append(g, &to->children[1], &field->children[1], array->children[1]);
}

/* The data buffer being filled is put among the full ones. */
static enum colshuf_status close_data(struct csf_growth *g, struct level *to) {
  size_t size = (size_t)to->n_full * sizeof *to->full;
  if (to->n_full == INT32_MAX / 2) return fail_count(g, "data buffers than its views can count");
  struct grown *full = csf_alloc(&g->allocator, size + sizeof *full);
  if (full == NULL) return csf_fail_memory(g->err, size + sizeof *full);
  if (size > 0) memcpy(full, to->full, size);
  csf_free(&g->allocator, to->full, size);
  full[to->n_full++] = to->buffers[2];
  to->full = full;
  to->buffers[2] = (struct grown){0};
  return COLSHUF_OK;
}

/* Where the views of array that point to data buffer b of it are to point. */
struct moved {
  int32_t buffer, base;
};

static enum colshuf_status add_data(struct csf_growth *g, struct level *to, const struct ArrowArray *array, struct moved *moved) {
  const uint8_t *sizes = array->buffers[array->n_buffers - 1];
  for (int64_t b = 0; b < array->n_buffers - 3; b++) {
    int64_t size = csf_load_i64(sizes + 8 * b);
    if ((int64_t)to->buffers[2].size > INT32_MAX - (size < INT32_MAX ? size : INT32_MAX) && to->buffers[2].size > 0) CSF_TRY(close_data(g, to));
    moved[b] = (struct moved){to->n_full, (int32_t)to->buffers[2].size};
    CSF_TRY(add_bytes(g, &to->buffers[2], array->buffers[2 + b], (size_t)size));
  }
  return COLSHUF_OK;
}

enum { INLINE_VIEW = 12 };

static enum colshuf_status add_moved_views(struct csf_growth *g, struct level *to, const struct ArrowArray *array, struct moved *moved) {
  CSF_TRY(add_data(g, to, array, moved));
  size_t before = to->buffers[1].size;
  CSF_TRY(add_items(g, &to->buffers[1], array->buffers[1], array->length, 16));
  uint8_t *view = chunk_bytes(to->buffers[1].chunk) + before;
  for (int64_t i = 0; i < array->length; i++, view += 16) {
    if (csf_load_u32(view) <= INLINE_VIEW) continue;
    struct moved place = moved[csf_load_u32(view + 8)];
    csf_store_i32(view + 8, place.buffer);
    csf_store_i32(view + 12, csf_load_i32(view + 12) + place.base);
  }
  return COLSHUF_OK;
}

static enum colshuf_status add_views(struct csf_growth *g, struct level *to, const struct ArrowArray *array) {
  size_t size = (size_t)(array->n_buffers - 3) * sizeof(struct moved);
  struct moved *moved = csf_alloc(&g->allocator, size);
  if (moved == NULL && size > 0) return csf_fail_memory(g->err, size);
  enum colshuf_status status = add_moved_views(g, to, array, moved);
  csf_free(&g->allocator, moved, size);
  return status;
}

static enum colshuf_status add_layout(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL: return COLSHUF_OK;
    case CSF_LAYOUT_BITS: return add_bits(g, &to->buffers[1], to->length, array->buffers[1], array->length);
    case CSF_LAYOUT_FIXED: return add_items(g, &to->buffers[1], array->buffers[1], array->length, field->width);
    case CSF_LAYOUT_BINARY32: return add_binary(g, to, array, false);
    case CSF_LAYOUT_BINARY64: return add_binary(g, to, array, true);
    case CSF_LAYOUT_VIEW: return add_views(g, to, array);
    case CSF_LAYOUT_LIST32: return add_list(g, to, field, array, false);
    case CSF_LAYOUT_LIST64: return add_list(g, to, field, array, true);
    case CSF_LAYOUT_LIST_VIEW32: return add_list_view(g, to, field, array, false);
    case CSF_LAYOUT_LIST_VIEW64: return add_list_view(g, to, field, array, true);
    case CSF_LAYOUT_FIXED_LIST:
    case CSF_LAYOUT_STRUCT: return add_children(g, to, field, array);
    case CSF_LAYOUT_SPARSE_UNION:
      CSF_TRY(add_items(g, &to->buffers[0], array->buffers[0], array->length, 1));
      return add_children(g, to, field, array);
    case CSF_LAYOUT_DENSE_UNION: return add_dense_union(g, to, field, array);
    case CSF_LAYOUT_RUN_END: return add_runs(g, to, field, array);
  }
  return csf_fail(g->err, COLSHUF_UNSUPPORTED, "layout %d", (int)field->layout);
}

/* array in the form that gathering gives. */
static enum colshuf_status append(struct csf_growth *g, struct level *to, const struct csf_field *field, const struct ArrowArray *array) {
  int64_t length;
  if (array->length == 0) return COLSHUF_OK;
  if (csf_add_overflow(to->length, array->length, &length)) return fail_count(g, "rows than can be counted");
  if (csf_layout_has_bitmap(field->layout)) CSF_TRY(add_validity(g, to, array));
  CSF_TRY(add_layout(g, to, field, array));
  to->length = length;
  return COLSHUF_OK;
}

enum colshuf_status csf_growth_append(struct csf_growth *g, const struct csf_field *field, const struct ArrowArray *array,
                                      struct colshuf_error *err) {
  struct ArrowArray gathered;
  int64_t start = 0;
  g->err = err;
  CSF_TRY(csf_array_concat(field, &array, &start, &array->length, 1, &g->allocator, &gathered, err));
  enum colshuf_status status = append(g, &g->root, field, &gathered);
  gathered.release(&gathered);
  return status;
}

/* What show works with: the arrays being made. */
static enum colshuf_status show_bytes(struct csf_growth *g, struct csf_slab *slab, const struct grown *bytes, const void **out) {
  if (bytes->size == 0) return COLSHUF_OK;
  CSF_TRY(csf_slab_attach(slab, release_chunk, bytes->chunk, g->err));
  atomic_fetch_add_explicit(&bytes->chunk->references, 1, memory_order_relaxed);
  *out = chunk_bytes(bytes->chunk);
  return COLSHUF_OK;
}

static enum colshuf_status show_data(struct csf_growth *g, struct csf_slab *slab, const struct level *from, struct ArrowArray *out) {
  int64_t n = from->n_full + (from->buffers[2].size > 0), *sizes;
  if (n == 0) return COLSHUF_OK;
  CSF_TRY(csf_array_set_variadic(slab, out, n, &sizes, g->err));
  for (int64_t b = 0; b < n; b++) {
    const struct grown *data = b < from->n_full ? &from->full[b] : &from->buffers[2];
    sizes[b] = (int64_t)data->size;
    CSF_TRY(show_bytes(g, slab, data, &out->buffers[2 + b]));
  }
  return COLSHUF_OK;
}

static enum colshuf_status show(struct csf_growth *g, struct csf_slab *slab, const struct csf_field *field, const struct level *from,
                                struct ArrowArray *out) {
  bool is_view = field->layout == CSF_LAYOUT_VIEW;
  out->length = from->length;
  out->null_count = field->layout == CSF_LAYOUT_NULL ? from->length : from->null_count;
  for (int64_t i = 0; i < csf_layout_n_buffers(field->layout) - is_view; i++) CSF_TRY(show_bytes(g, slab, &from->buffers[i], &out->buffers[i]));
  if (is_view) CSF_TRY(show_data(g, slab, from, out));
  for (int32_t i = 0; i < from->n_children; i++) CSF_TRY(show(g, slab, &field->children[i], &from->children[i], out->children[i]));
  return COLSHUF_OK;
}

enum colshuf_status csf_growth_show(struct csf_growth *g, const struct csf_field *field, struct ArrowArray *out, struct colshuf_error *err) {
  struct ArrowArray array;
  struct csf_slab *slab;
  g->err = err;
  CSF_TRY(csf_array_new(&g->allocator, field, true, 0, &array, NULL, &slab, err));
  enum colshuf_status status = show(g, slab, field, &g->root, &array);
  if (status != COLSHUF_OK) {
    array.release(&array);
    return status;
  }
  *out = array;
  return COLSHUF_OK;
}

bool csf_growth_suits(const struct csf_field *field) {
  if (field->dictionary != NULL) return false;
  for (int32_t i = 0; i < field->n_children; i++) {
    if (!csf_growth_suits(&field->children[i])) return false;
  }
  return true;
}

static enum colshuf_status open_level(struct csf_growth *g, const struct csf_field *field, struct level *level) {
  if (field->n_children == 0) return COLSHUF_OK;
  size_t size = (size_t)field->n_children * sizeof *level->children;
  level->children = csf_alloc_zero(&g->allocator, size);
  if (level->children == NULL) return csf_fail_memory(g->err, size);
  level->n_children = field->n_children;
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(open_level(g, &field->children[i], &level->children[i]));
  return COLSHUF_OK;
}

enum colshuf_status csf_growth_new(const struct csf_field *field, const struct colshuf_allocator *wanted, struct csf_growth **out,
                                   struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_growth *g = csf_alloc_zero(&allocator, sizeof *g);
  if (g == NULL) return csf_fail_memory(err, sizeof *g);
  g->allocator = allocator;
  g->err = err;
  enum colshuf_status status = open_level(g, field, &g->root);
  if (status != COLSHUF_OK) {
    csf_growth_free(g);
    return status;
  }
  *out = g;
  return COLSHUF_OK;
}

static void close_level(struct csf_growth *g, struct level *level) {
  for (int i = 0; i < 3; i++) release_chunk(level->buffers[i].chunk);
  for (int32_t i = 0; i < level->n_full; i++) release_chunk(level->full[i].chunk);
  csf_free(&g->allocator, level->full, (size_t)level->n_full * sizeof *level->full);
  for (int32_t i = 0; i < level->n_children; i++) close_level(g, &level->children[i]);
  csf_free(&g->allocator, level->children, (size_t)level->n_children * sizeof *level->children);
}

void csf_growth_free(struct csf_growth *g) {
  if (g == NULL) return;
  close_level(g, &g->root);
  struct colshuf_allocator allocator = g->allocator;
  csf_free(&allocator, g, sizeof *g);
}
