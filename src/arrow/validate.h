/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of csf_array_validate (array.h): validate.c walks the tree and checks its structure, validate_values.c looks at the
 * values of one array.
 */
#ifndef CSF_ARROW_VALIDATE_H
#define CSF_ARROW_VALIDATE_H

#include <inttypes.h>

#include "arrow/array.h"

struct csf_validation {
  enum csf_validate_level level;
  enum colshuf_status structural; /* status of contradictions: INVALID_ARGUMENT for a caller's structs, CORRUPT for bytes */
  bool check_release;             /* the structs come from outside */
  const int64_t *sizes;           /* of the buffers still to come; NULL = unknown */
  const int64_t *sizes_end;
  const struct colshuf_allocator *allocator; /* for scratch; NULL = the C heap */
  struct colshuf_error *err;
};

/* One array on the way down. */
struct csf_place {
  const struct csf_place *up; /* NULL at the top, and for the values of a dictionary */
  const struct csf_field *field;
  const struct ArrowArray *array;
  const int64_t *sizes; /* of its buffers; NULL = unknown */
  struct csf_validation *validation;
};

/* Bytes that may be read at buffer i: 0 behind a NULL pointer, INT64_MAX where the size is unknown. */
static inline int64_t csf_buffer_room(const struct csf_place *at, int64_t i) {
  if (at->array->buffers[i] == NULL) return 0;
  return at->sizes == NULL ? INT64_MAX : at->sizes[i];
}

/* Puts the column's path before the message of a failure. */
enum colshuf_status csf_fail_place(const struct csf_place *at, enum colshuf_status status) __attribute__((cold));
#define CSF_FAIL_AT(at, status, ...) \
  ((void)csf_fail((at)->validation->err, (status), __VA_ARGS__), (void)csf_fail_place((at), (status)), (status))

/* Whether row (counted from the array's offset) is null by its bitmap. */
static inline bool csf_row_is_null(const struct csf_place *at, int64_t row) {
  const uint8_t *validity = csf_array_validity(at->field, at->array);
  return validity != NULL && !csf_bit_get(validity, at->array->offset + row);
}

/* Checks of one array whose structure is right; its children's structure is right as well. */
enum colshuf_status csf_validate_memory(const struct csf_place *at) COLSHUF_MUST_USE;
enum colshuf_status csf_validate_full(const struct csf_place *at) COLSHUF_MUST_USE; /* after csf_validate_memory */
enum colshuf_status csf_validate_views(const struct csf_place *at) COLSHUF_MUST_USE; /* the part of it for view arrays */

#endif
