/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays. Inside colshuf an array is what crosses its border: a struct ArrowArray, read together with its csf_field.
 * There is no second model. This header makes arrays (one slab each) and holds the kernels.
 *
 * Kernels take rows as [start, start + length) counted from the array's own `offset`; they add the offset themselves.
 */
#ifndef CSF_ARROW_ARRAY_H
#define CSF_ARROW_ARRAY_H

#include "arrow/schema.h"

/*
 * The owner of exported arrays: every ArrowArray struct, buffer table and child table of one tree, with the bytes attached
 * to it, freed when the last array of the tree is released (children may be moved out and live on).
 */
struct csf_slab;

/*
 * Makes the whole tree of arrays for field in one allocation, with body_size more bytes behind it, 64-byte aligned
 * (*body; not set to any value). Lengths, null counts and offsets are 0, buffers NULL, n_buffers and children set, views with
 * no data buffers (n_buffers 3, sizes NULL). out->dictionary trees are made too, where with_dictionaries.
 * The tree is released by out->release as the C Data Interface says. out->private_data is the slab.
 */
enum colshuf_status csf_array_new(const struct colshuf_allocator *allocator, const struct csf_field *field,
                                  bool with_dictionaries, size_t body_size, struct ArrowArray *out, uint8_t **body,
                                  struct csf_slab **slab, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * The same, worked out once for those who make many arrays of one field: making one is then a copy of a template. A shape is
 * immutable, needs the field no more once it is made, and serves any number of threads.
 */
struct csf_array_shape;
enum colshuf_status csf_array_shape_new(const struct colshuf_allocator *allocator, const struct csf_field *field,
                                        bool with_dictionaries, struct csf_array_shape **out, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_array_shape_free(struct csf_array_shape *shape); /* NULL is fine */
enum colshuf_status csf_array_new_shaped(const struct colshuf_allocator *allocator, const struct csf_array_shape *shape, size_t body_size,
                                         struct ArrowArray *out, uint8_t **body, struct csf_slab **slab, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/*
 * More bytes that live as long as the slab: allocated here (64-byte aligned; never NULL), or anything else with its own way to be
 * freed, the last attached first. While a tree is being made one thread alone may attach to it; nobody may once it is handed out.
 */
enum colshuf_status csf_slab_alloc(struct csf_slab *slab, size_t size, void **out, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_slab_attach(struct csf_slab *slab, void (*release)(void *ctx), void *ctx, struct colshuf_error *err)
    COLSHUF_MUST_USE; /* on failure ctx stays the caller's */

/* Keeps another array alive with the slab: moves *array in. */
enum colshuf_status csf_slab_attach_array(struct csf_slab *slab, struct ArrowArray *array, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Moves *source into a new array that shows the same, and whose own struct and those of its children may be changed (offset, length,
 * null count), whoever made source. Children have been checked to be there. On failure *source stays the caller's.
 */
enum colshuf_status csf_array_wrap(const struct colshuf_allocator *allocator, struct ArrowArray *source, struct ArrowArray *out,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;

/* Gives a view array n data buffers: a new buffer table of 3 + n places whose last is an i64[n] of sizes to fill. */
enum colshuf_status csf_array_set_variadic(struct csf_slab *slab, struct ArrowArray *array, int64_t n, int64_t **sizes,
                                           struct colshuf_error *err) COLSHUF_MUST_USE;

/* Fixed number of buffers of a layout in the C Data Interface (views: 3 = validity, views, sizes). */
int64_t csf_layout_n_buffers(enum csf_layout layout);

/* The value at place i of an array of dictionary indices of this type, or of run ends. */
static inline int64_t csf_index_at(const void *data, enum csf_type type, int64_t i) {
  const uint8_t *bytes = data;
  switch (type) {
    case CSF_INT8:
      return (int8_t)bytes[i];
    case CSF_UINT8:
      return bytes[i];
    case CSF_INT16:
      return csf_load_i16(bytes + 2 * i);
    case CSF_UINT16:
      return csf_load_u16(bytes + 2 * i);
    case CSF_INT32:
      return csf_load_i32(bytes + 4 * i);
    case CSF_UINT32:
      return csf_load_u32(bytes + 4 * i);
    default:
      return csf_load_i64(bytes + 8 * i); /* an unsigned one above 2^63 becomes negative: no valid index */
  }
}

/* Whether arrays of the layout have a validity bitmap: unions, run ends and nulls have none. */
static inline bool csf_layout_has_bitmap(enum csf_layout layout) {
  return layout != CSF_LAYOUT_NULL && layout < CSF_LAYOUT_SPARSE_UNION;
}

/* The validity bitmap, or NULL when no value is null (null_count 0, or no bitmap; unions, run ends and nulls have none). */
const uint8_t *csf_array_validity(const struct csf_field *field, const struct ArrowArray *array);

/* Nulls among rows [start, start + length) by the validity bitmap (null type: all). */
int64_t csf_array_null_count(const struct csf_field *field, const struct ArrowArray *array, int64_t start, int64_t length);

/*
 * What is known of an array's buffers beyond the C Data Interface: bytes of each, in the order of a walk through the
 * tree in pre-order (dictionaries not entered), data buffers of views included (their table of sizes is not). sizes NULL = unknown,
 * trust the producer.
 */
struct csf_buffer_sizes {
  const int64_t *sizes;
  int64_t n;
};

/* How deep csf_array_validate looks. */
enum csf_validate_level {
  CSF_VALIDATE_STRUCTURE, /* counts, lengths, pointers, sizes: what memory safety of O(columns) needs */
  CSF_VALIDATE_ENDS,      /* + the first and the last offset. Verified bytes stop here */
  CSF_VALIDATE_MEMORY,    /* + every offset, view, index, run end and type id: nothing can be read outside. Trusted bytes stop here */
  CSF_VALIDATE_FULL       /* + null counts, nulls in non-nullable fields, UTF-8, inline view padding: formats.md B.11 */
};

/*
 * Checks array against field. What it leaves open, so that every kernel must stand it:
 *   - an array of no rows may have any offset and no buffers at all: no row, no read;
 *   - indices under null slots may be anything (offsets, views and type ids may not);
 *   - a null_count of 0 means that the bitmap is not to be looked at, -1 that nobody has counted;
 *   - buffers may lie at any address: read them by csf_load_...;
 *   - children may be longer than their parent needs, and hold anything there that is valid by itself.
 * With sizes known (bytes off the wire): dictionaries are not entered, because their values were checked when they were read; children of
 * structs and sparse unions must be exactly as long; contradictions in the structure are CORRUPT. Otherwise they are INVALID_ARGUMENT.
 * Values that break a rule are always CORRUPT. Messages: column "path.of.names": row N: both numbers.
 */
enum colshuf_status csf_array_validate(const struct csf_field *field, const struct ArrowArray *array,
                                       const struct csf_buffer_sizes *sizes, enum csf_validate_level level,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * The same with an allocator (NULL = the C heap) for the one case that needs memory: views that mean the same bytes over and over, in data
 * that is not text as a whole. It then takes a fifth of what the data takes; NO_MEMORY when that is refused.
 */
enum colshuf_status csf_array_validate_with(const struct csf_field *field, const struct ArrowArray *array,
                                            const struct csf_buffer_sizes *sizes, enum csf_validate_level level,
                                            const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;

/* True when text[0..size) is well-formed UTF-8 (Unicode 15, table 3-7). SIMD where the machine has it. */
bool csf_utf8_valid(const uint8_t *text, size_t size);

/* rows[0..n_rows), each counted from the array's offset and within its length (not checked here), as a new array. */
enum colshuf_status csf_array_take(const struct csf_field *field, const struct ArrowArray *array, const int64_t *rows,
                                   int64_t n_rows, const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;

/* The ranges [starts[i], starts[i] + lengths[i]) of arrays[i], one after another, as a new array. */
enum colshuf_status csf_array_concat(const struct csf_field *field, const struct ArrowArray *const *arrays,
                                     const int64_t *starts, const int64_t *lengths, int64_t n_arrays,
                                     const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;

/* The array of dictionary-encoded field with every dictionary, at any depth, replaced by the values it points to. */
enum colshuf_status csf_array_unpack_dictionaries(const struct csf_field *field, const struct ArrowArray *array,
                                                  const struct colshuf_allocator *allocator, struct ArrowArray *out,
                                                  struct colshuf_error *err) COLSHUF_MUST_USE;

/* Whether rows [a_start, +n) and [b_start, +n) hold the same values (NaNs by bits, dictionaries by value, null content ignored). */
bool csf_array_equal(const struct csf_field *field, const struct ArrowArray *a, int64_t a_start, const struct ArrowArray *b,
                     int64_t b_start, int64_t n);

/*
 * The same for those who can do without: false also when finding out takes much longer than looking at both arrays once. List views and
 * dictionaries may mean the same values over and over, at every level again.
 */
bool csf_array_found_equal(const struct csf_field *field, const struct ArrowArray *a, int64_t a_start, const struct ArrowArray *b,
                           int64_t b_start, int64_t n);

/*
 * Checks that array (any producer's) fits field before anything looks inside: csf_array_validate at STRUCTURE level, plus that nothing
 * has been released, and that a batch (a non-nullable struct) has no null rows. Errors: INVALID_ARGUMENT.
 */
enum colshuf_status csf_array_import_check(const struct csf_field *field, const struct ArrowArray *array, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
