/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow data at the border of colshuf: the structs of the Arrow C Data and C Stream interfaces (an ABI that the Arrow
 * project fixed; several headers may define them, guarded by the shared macros), and the operations on arrays that
 * colshuf lets others use.
 */
#ifndef COLSHUF_ARROW_H
#define COLSHUF_ARROW_H

#include "colshuf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};
#endif

/*
 * Checks that array is a valid array of schema.
 * Input:   schema and array of any producer, borrowed; a batch is a struct. Buffers are trusted to be as large as the
 *          lengths and offsets in them require: the C Data Interface carries no sizes.
 * deep:    false = structure only (counts, lengths, nulls of pointers; O(columns)); true = also every offset, view, index, run end,
 *          type id, null count and UTF-8 sequence (O(bytes)).
 * Returns: OK; INVALID_ARGUMENT (the structs contradict each other); CORRUPT (values break a rule; the message names
 *          column path, row and both numbers); UNSUPPORTED (unknown format string); LIMIT (nesting); NO_MEMORY.
 * Threads: any.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_array_validate(const struct ArrowSchema *schema,
                                                                        const struct ArrowArray *array, int deep,
                                                                        struct colshuf_error *err);

/*
 * A copy of rows[0..n_rows) of array, in that order, repeats allowed (Arrow's "take"), with offset 0 everywhere.
 * Input:   all borrowed; array must be valid (deep). A row < 0 or >= array->length is INVALID_ARGUMENT.
 * Output:  *out belongs to the caller; untouched on failure. Dictionaries are shared values: copied as they are.
 * Returns: OK; INVALID_ARGUMENT; UNSUPPORTED; LIMIT (32-bit offsets overflow); NO_MEMORY.
 * Threads: any; array is only read.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_array_take(const struct ArrowSchema *schema,
                                                                    const struct ArrowArray *array, const int64_t *rows,
                                                                    int64_t n_rows, const struct colshuf_allocator *allocator,
                                                                    struct ArrowArray *out, struct colshuf_error *err);

/*
 * A copy of all rows of arrays[0..n_arrays), one after another, with offset 0. Dictionaries that differ are unified:
 * equal numbers, strings and binaries become one value, others are appended (LIMIT when the index type cannot hold them).
 * Input, output, errors and threads as for colshuf_array_take; n_arrays may be 0 (an empty array of schema).
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_array_concat(const struct ArrowSchema *schema,
                                                                      const struct ArrowArray *const *arrays, int64_t n_arrays,
                                                                      const struct colshuf_allocator *allocator,
                                                                      struct ArrowArray *out, struct colshuf_error *err);

/*
 * rows [offset, offset + length) of *array without a copy: *array is moved in (its release becomes NULL) on success and
 * lives until *out is released.
 * Returns: OK; INVALID_ARGUMENT (range outside the array); NO_MEMORY. On failure *array stays the caller's.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_array_slice(const struct ArrowSchema *schema, struct ArrowArray *array,
                                                                     int64_t offset, int64_t length,
                                                                     const struct colshuf_allocator *allocator,
                                                                     struct ArrowArray *out, struct colshuf_error *err);

#ifdef __cplusplus
}
#endif
#endif
