/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array trees in one allocation each. A slab is laid out as
 *
 *   struct csf_slab | ArrowArray[] in order of the walk, root first | child tables | buffer tables | reserve | body
 *
 * and counts the arrays of it that have not been released. Whoever releases an array counts what still hangs below it and belongs
 * to the same slab, and subtracts that at once: a whole tree costs one atomic operation, and a child that has been moved out
 * (its release is NULL in the table) keeps the slab alive by itself.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "arrow/array.h"

struct attachment {
  struct attachment *next;
  void (*release)(void *ctx);
  void *ctx;
};

struct attached_array {
  struct attachment link;
  struct ArrowArray array;
};

/* Memory of csf_slab_alloc: this header, then the bytes. */
struct block {
  struct block *next;
  size_t size; /* of the whole */
  uint8_t padding[CSF_ALIGNMENT - sizeof(void *) - sizeof(size_t)];
};

struct csf_slab {
  atomic_size_t n_alive;
  size_t size;
  struct colshuf_allocator allocator;
  struct attachment *attachments;
  struct block *blocks;
  uint8_t *reserve; /* small things that need no alignment beyond 8 */
  size_t reserve_left;
};

/* What a tree needs; sizes derive from it. */
struct counts {
  size_t arrays;
  size_t children;
  size_t buffers;
  size_t views;
};

static void free_slab(struct csf_slab *slab) {
  while (slab->attachments != NULL) {
    struct attachment *attachment = slab->attachments;
    slab->attachments = attachment->next;
    attachment->release(attachment->ctx);
  }
  struct colshuf_allocator allocator = slab->allocator;
  while (slab->blocks != NULL) {
    struct block *block = slab->blocks;
    slab->blocks = block->next;
    csf_free(&allocator, block, block->size);
  }
  csf_free(&allocator, slab, slab->size);
}

static void release_array(struct ArrowArray *array);

/* Releases what hangs below array; returns how many of them, array included, belong to slab. */
static size_t release_below(struct ArrowArray *array, const struct csf_slab *slab);

static inline size_t release_one(struct ArrowArray *array, const struct csf_slab *slab) {
  if (array->release == NULL) return 0;
  if (array->release == release_array && array->private_data == slab) {
    array->release = NULL;
    return array->n_children == 0 && array->dictionary == NULL ? 1 : release_below(array, slab);
  }
  array->release(array);
  return 0;
}

static size_t release_below(struct ArrowArray *array, const struct csf_slab *slab) {
  size_t n = 1;
  for (int64_t i = 0; i < array->n_children; i++) n += release_one(array->children[i], slab);
  if (array->dictionary != NULL) n += release_one(array->dictionary, slab);
  return n;
}

static void release_array(struct ArrowArray *array) {
  struct csf_slab *slab = array->private_data;
  array->release = NULL;
  size_t n = release_below(array, slab);
  /* The last one needs no read-modify-write: nobody else can be counting any more. */
  if (atomic_load_explicit(&slab->n_alive, memory_order_acquire) == n) {
    free_slab(slab);
    return;
  }
  if (atomic_fetch_sub_explicit(&slab->n_alive, n, memory_order_acq_rel) == n) free_slab(slab);
}

int64_t csf_layout_n_buffers(enum csf_layout layout) {
  static const int8_t n_buffers[] = {
      [CSF_LAYOUT_NULL] = 0,        [CSF_LAYOUT_BITS] = 2,         [CSF_LAYOUT_FIXED] = 2,      [CSF_LAYOUT_BINARY32] = 3,
      [CSF_LAYOUT_BINARY64] = 3,    [CSF_LAYOUT_VIEW] = 3,         [CSF_LAYOUT_LIST32] = 2,     [CSF_LAYOUT_LIST64] = 2,
      [CSF_LAYOUT_LIST_VIEW32] = 3, [CSF_LAYOUT_LIST_VIEW64] = 3,  [CSF_LAYOUT_FIXED_LIST] = 1, [CSF_LAYOUT_STRUCT] = 1,
      [CSF_LAYOUT_SPARSE_UNION] = 1, [CSF_LAYOUT_DENSE_UNION] = 2, [CSF_LAYOUT_RUN_END] = 0,
  };
  return n_buffers[layout];
}

static void count_tree(const struct csf_field *field, bool with_dictionaries, struct counts *counts) {
  counts->arrays++;
  counts->children += (size_t)field->n_children;
  counts->buffers += (size_t)csf_layout_n_buffers(field->layout);
  counts->views += field->layout == CSF_LAYOUT_VIEW;
  for (int32_t i = 0; i < field->n_children; i++) count_tree(&field->children[i], with_dictionaries, counts);
  if (with_dictionaries && field->dictionary != NULL) count_tree(field->dictionary, true, counts);
}

static size_t tables_size(const struct counts *counts) {
  return counts->arrays * sizeof(struct ArrowArray) + (counts->children + counts->buffers) * sizeof(void *);
}

/* Room for two attachments, and for the tables of views with a few data buffers. */
static size_t reserve_size(const struct counts *counts) {
  return 2 * sizeof(struct attachment) + counts->views * 12 * sizeof(void *);
}

static struct ArrowArray *first_array(struct csf_slab *slab) {
  return (struct ArrowArray *)(void *)(slab + 1);
}

/* Where the next array, child place and buffer place of the tree being laid out lie. */
struct layout {
  struct csf_slab *slab;
  struct ArrowArray *array;
  struct ArrowArray **child;
  const void **buffer;
  bool with_dictionaries;
};

static struct ArrowArray *lay_out(struct layout *at, const struct csf_field *field, struct ArrowArray *array) {
  int64_t n_buffers = csf_layout_n_buffers(field->layout);
  *array = (struct ArrowArray){.n_buffers = n_buffers, .n_children = field->n_children, .buffers = at->buffer, .children = at->child,
                               .release = release_array, .private_data = at->slab};
  memset((void *)at->buffer, 0, (size_t)n_buffers * sizeof *at->buffer);
  at->buffer += n_buffers;
  at->child += field->n_children;
  struct ArrowArray *children = at->array; /* side by side */
  at->array += field->n_children;
  for (int32_t i = 0; i < field->n_children; i++) array->children[i] = lay_out(at, &field->children[i], &children[i]);
  if (at->with_dictionaries && field->dictionary != NULL) array->dictionary = lay_out(at, field->dictionary, at->array++);
  return array;
}

static void lay_out_tree(struct csf_slab *slab, const struct csf_field *field, const struct counts *counts, bool with_dictionaries) {
  struct ArrowArray *arrays = first_array(slab);
  struct ArrowArray **children = (struct ArrowArray **)(void *)(arrays + counts->arrays);
  struct layout at = {slab, arrays + 1, children, (const void **)(void *)(children + counts->children), with_dictionaries};
  (void)lay_out(&at, field, arrays);
}

/* Everything of a slab but its arrays and tables. */
static struct csf_slab *new_slab(const struct colshuf_allocator *wanted, const struct counts *counts, size_t body_size, uint8_t **body) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  size_t reserve = sizeof(struct csf_slab) + tables_size(counts);
  size_t head = csf_round_up(reserve + reserve_size(counts), CSF_ALIGNMENT), size;
  if (csf_add_overflow(head, body_size, &size)) return NULL;
  struct csf_slab *slab = csf_alloc(&allocator, size);
  if (slab == NULL) return NULL;
  atomic_init(&slab->n_alive, counts->arrays);
  slab->size = size;
  slab->allocator = allocator;
  slab->attachments = NULL;
  slab->blocks = NULL;
  slab->reserve = (uint8_t *)slab + reserve;
  slab->reserve_left = head - reserve;
  if (body != NULL) *body = (uint8_t *)slab + head;
  return slab;
}

enum colshuf_status csf_array_new(const struct colshuf_allocator *allocator, const struct csf_field *field, bool with_dictionaries,
                                  size_t body_size, struct ArrowArray *out, uint8_t **body, struct csf_slab **slab,
                                  struct colshuf_error *err) {
  struct counts counts = {0};
  count_tree(field, with_dictionaries, &counts);
  struct csf_slab *made = new_slab(allocator, &counts, body_size, body);
  if (made == NULL) return csf_fail_memory(err, body_size);
  lay_out_tree(made, field, &counts, with_dictionaries);
  *out = *first_array(made);
  if (slab != NULL) *slab = made;
  return COLSHUF_OK;
}

/* image is a slab as lay_out_tree leaves it, at its own place: a copy of it needs its pointers moved by the distance. */
struct csf_array_shape {
  struct colshuf_allocator allocator;
  struct counts counts;
  size_t n_dictionaries;
  struct csf_slab *image;
};

enum colshuf_status csf_array_shape_new(const struct colshuf_allocator *wanted, const struct csf_field *field, bool with_dictionaries,
                                        struct csf_array_shape **out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_array_shape *shape = csf_alloc_zero(&allocator, sizeof *shape);
  if (shape == NULL) return csf_fail_memory(err, sizeof *shape);
  shape->allocator = allocator;
  count_tree(field, with_dictionaries, &shape->counts);
  shape->n_dictionaries = shape->counts.arrays - 1 - shape->counts.children;
  shape->image = new_slab(&allocator, &shape->counts, 0, NULL);
  if (shape->image == NULL) {
    size_t size = tables_size(&shape->counts);
    csf_free(&allocator, shape, sizeof *shape);
    return csf_fail_memory(err, size);
  }
  lay_out_tree(shape->image, field, &shape->counts, with_dictionaries);
  *out = shape;
  return COLSHUF_OK;
}

void csf_array_shape_free(struct csf_array_shape *shape) {
  if (shape == NULL) return;
  struct colshuf_allocator allocator = shape->allocator;
  free_slab(shape->image);
  csf_free(&allocator, shape, sizeof *shape);
}

#define MOVE(pointer, distance) ((pointer) = (void *)((uintptr_t)(pointer) + (distance)))

/* Points a copied tree at its new place. The tables of childless arrays are never read: they are moved all the same, without asking. */
static void relocate(struct csf_slab *slab, const struct csf_array_shape *shape) {
  uintptr_t distance = (uintptr_t)slab - (uintptr_t)shape->image;
  struct ArrowArray *arrays = first_array(slab);
  for (size_t i = 0; i < shape->counts.arrays; i++) {
    MOVE(arrays[i].buffers, distance);
    MOVE(arrays[i].children, distance);
    arrays[i].private_data = slab;
  }
  struct ArrowArray **children = (struct ArrowArray **)(void *)(arrays + shape->counts.arrays);
  for (size_t i = 0; i < shape->counts.children; i++) MOVE(children[i], distance);
  if (shape->n_dictionaries == 0) return;
  for (size_t i = 0; i < shape->counts.arrays; i++) {
    if (arrays[i].dictionary != NULL) MOVE(arrays[i].dictionary, distance);
  }
}

enum colshuf_status csf_array_new_shaped(const struct colshuf_allocator *allocator, const struct csf_array_shape *shape, size_t body_size,
                                         struct ArrowArray *out, uint8_t **body, struct csf_slab **slab, struct colshuf_error *err) {
  struct csf_slab *made = new_slab(allocator, &shape->counts, body_size, body);
  if (made == NULL) return csf_fail_memory(err, body_size);
  memcpy((void *)first_array(made), (const void *)first_array(shape->image), tables_size(&shape->counts));
  relocate(made, shape);
  *out = *first_array(made);
  if (slab != NULL) *slab = made;
  return COLSHUF_OK;
}

enum colshuf_status csf_slab_alloc(struct csf_slab *slab, size_t size, void **out, struct colshuf_error *err) {
  size_t whole;
  if (csf_add_overflow(size, sizeof(struct block), &whole)) return csf_fail_memory(err, size);
  struct block *block = csf_alloc(&slab->allocator, whole);
  if (block == NULL) return csf_fail_memory(err, size);
  block->next = slab->blocks;
  block->size = whole;
  slab->blocks = block;
  *out = block + 1;
  return COLSHUF_OK;
}

/* For attachments and tables: from the reserve while it lasts. */
static enum colshuf_status alloc_small(struct csf_slab *slab, size_t size, void **out, struct colshuf_error *err) {
  size = csf_round_up(size, sizeof(void *));
  if (size > slab->reserve_left) return csf_slab_alloc(slab, size, out, err);
  *out = slab->reserve;
  slab->reserve += size;
  slab->reserve_left -= size;
  return COLSHUF_OK;
}

static void link_attachment(struct csf_slab *slab, struct attachment *attachment, void (*release)(void *ctx), void *ctx) {
  *attachment = (struct attachment){slab->attachments, release, ctx};
  slab->attachments = attachment;
}

enum colshuf_status csf_slab_attach(struct csf_slab *slab, void (*release)(void *ctx), void *ctx, struct colshuf_error *err) {
  void *place;
  CSF_TRY(alloc_small(slab, sizeof(struct attachment), &place, err));
  link_attachment(slab, place, release, ctx);
  return COLSHUF_OK;
}

static void release_attached_array(void *ctx) {
  struct ArrowArray *array = ctx;
  array->release(array);
}

enum colshuf_status csf_slab_attach_array(struct csf_slab *slab, struct ArrowArray *array, struct colshuf_error *err) {
  void *place;
  CSF_TRY(alloc_small(slab, sizeof(struct attached_array), &place, err));
  struct attached_array *attached = place;
  attached->array = *array;
  link_attachment(slab, &attached->link, release_attached_array, &attached->array);
  array->release = NULL;
  return COLSHUF_OK;
}

/* An array of slab that shows what source shows: its tables, and through them all that hangs below. */
static struct ArrowArray shown(struct csf_slab *slab, const struct ArrowArray *source) {
  struct ArrowArray array = *source;
  array.release = release_array;
  array.private_data = slab;
  return array;
}

enum colshuf_status csf_array_wrap(const struct colshuf_allocator *allocator, struct ArrowArray *source, struct ArrowArray *out,
                                   struct colshuf_error *err) {
  size_t n = (size_t)source->n_children;
  struct counts counts = {.arrays = 1 + n, .children = n};
  struct csf_slab *slab = new_slab(allocator, &counts, sizeof(struct attached_array), NULL);
  if (slab == NULL) return csf_fail_memory(err, tables_size(&counts));
  struct ArrowArray *arrays = first_array(slab);
  struct ArrowArray **children = (struct ArrowArray **)(void *)(arrays + counts.arrays);
  for (size_t i = 0; i < n; i++) {
    arrays[1 + i] = shown(slab, source->children[i]);
    children[i] = &arrays[1 + i];
  }
  *out = shown(slab, source);
  out->children = children;
  out->dictionary = source->dictionary;
  struct attached_array *attached = (struct attached_array *)(void *)((uint8_t *)slab + slab->size - sizeof *attached);
  attached->array = *source;
  link_attachment(slab, &attached->link, release_attached_array, &attached->array);
  source->release = NULL;
  return COLSHUF_OK;
}

enum colshuf_status csf_array_set_variadic(struct csf_slab *slab, struct ArrowArray *array, int64_t n, int64_t **sizes,
                                           struct colshuf_error *err) {
  if (n < 0 || n > INT64_MAX / 16 - 4) return csf_fail(err, COLSHUF_LIMIT, "%" PRId64 " data buffers of a view array", n);
  size_t places = 3 + (size_t)n, size = (places + (size_t)n) * sizeof(void *);
  void *place;
  CSF_TRY(alloc_small(slab, size, &place, err));
  memset(place, 0, size);
  const void **buffers = place;
  buffers[0] = array->buffers[0];
  buffers[1] = array->buffers[1];
  *sizes = (int64_t *)(void *)(buffers + places);
  buffers[places - 1] = *sizes;
  array->buffers = buffers;
  array->n_buffers = (int64_t)places;
  return COLSHUF_OK;
}

const uint8_t *csf_array_validity(const struct csf_field *field, const struct ArrowArray *array) {
  if (array->null_count == 0 || !csf_layout_has_bitmap(field->layout)) return NULL;
  return array->buffers[0];
}

int64_t csf_array_null_count(const struct csf_field *field, const struct ArrowArray *array, int64_t start, int64_t length) {
  if (field->layout == CSF_LAYOUT_NULL) return length;
  const uint8_t *validity = csf_array_validity(field, array);
  return validity == NULL ? 0 : length - csf_bits_count(validity, array->offset + start, length);
}
