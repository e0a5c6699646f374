/* SPDX-License-Identifier: Apache-2.0 */
/* A plain column turned into int32 indices and its distinct values, as long as these are few. */
#ifndef CSF_BLOCK_DICTIONARY_BUILD_H
#define CSF_BLOCK_DICTIONARY_BUILD_H

#include "arrow/array.h"

/* Scratch for one column, and the arrays that it made last. */
struct csf_dictionary_build {
  struct csf_buffer slots;   /* hash table: index + 1, 0 = free */
  struct csf_buffer keys;    /* strings as the table compares them */
  struct csf_buffer indices, validity, values, offsets;
  int64_t n_values;
  struct ArrowArray array, values_array;
  const void *buffers[2], *values_buffers[3];
};

void csf_dictionary_build_init(struct csf_dictionary_build *build, const struct colshuf_allocator *allocator);
void csf_dictionary_build_clear(struct csf_dictionary_build *build);

/* Whether columns of this field can be turned: values of 8 or 16 bytes, and 32-bit strings and binaries. */
bool csf_dictionary_build_takes(const struct csf_field *field);

/*
 * Makes build->array of rows [start, start + length) of a valid array, values in order of first appearance, nulls only in the rows.
 * *built is false, and the array is not made, when there are more than max_values of them, or none.
 * Input is borrowed; the array is good until the next call. Errors: NO_MEMORY.
 */
enum colshuf_status csf_dictionary_build_run(struct csf_dictionary_build *build, const struct csf_field *field,
                                             const struct ArrowArray *array, int64_t start, int64_t length, int64_t max_values,
                                             bool *built, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
