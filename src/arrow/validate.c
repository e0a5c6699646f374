/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation, the structure: counts, lengths, pointers and sizes of every array of a tree against its field (formats.md B.11, G.3, G.4).
 * All arithmetic is checked; no array is looked into before its own structure and that of its children is known to be right.
 */
#include "arrow/validate.h"

#include <stdio.h>

/* The names on the way down, joined by dots, into out. */
static void write_path(const struct csf_place *at, char *out, size_t size) {
  const struct csf_place *way[CSF_DEPTH_CEILING + 2];
  size_t n = 0, used = 0;
  for (; at != NULL && n < sizeof way / sizeof way[0]; at = at->up) way[n++] = at;
  out[0] = '\0';
  while (n > 0 && used + 1 < size) {
    const char *name = way[--n]->field->name;
    if (used == 0 && *name == '\0') continue; /* the batch itself */
    int more = snprintf(out + used, size - used, "%s%.64s", used == 0 ? "" : ".", *name == '\0' ? "values" : name);
    used += more < 0 ? 0 : (size_t)more;
  }
}

enum colshuf_status csf_fail_place(const struct csf_place *at, enum colshuf_status status) {
  char path[256];
  write_path(at, path, sizeof path);
  if (path[0] == '\0') return status;
  return csf_fail_context(at->validation->err, status, "column \"%s\"", path);
}

static enum colshuf_status check_counts(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  enum colshuf_status bad = at->validation->structural;
  if (array->length < 0 || array->offset < 0) {
    return CSF_FAIL_AT(at, bad, "length %" PRId64 ", offset %" PRId64 ": negative", array->length, array->offset);
  }
  int64_t end;
  if (csf_add_overflow(array->length, array->offset, &end)) {
    return CSF_FAIL_AT(at, bad, "length %" PRId64 " and offset %" PRId64 " together are too large", array->length, array->offset);
  }
  if (array->null_count < -1 || array->null_count > array->length) {
    return CSF_FAIL_AT(at, bad, "null count %" PRId64 " of %" PRId64 " rows", array->null_count, array->length);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_tables(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  const struct csf_field *field = at->field;
  enum colshuf_status bad = at->validation->structural;
  int64_t n_buffers = csf_layout_n_buffers(field->layout);
  bool fits = field->layout == CSF_LAYOUT_VIEW ? array->n_buffers >= n_buffers && array->n_buffers <= INT32_MAX
                                               : array->n_buffers == n_buffers;
  if (!fits) {
    return CSF_FAIL_AT(at, bad, "%" PRId64 " buffers, %s has %" PRId64, array->n_buffers, csf_type_name(field->type), n_buffers);
  }
  if (n_buffers > 0 && array->buffers == NULL) return CSF_FAIL_AT(at, bad, "no table of its %" PRId64 " buffers", array->n_buffers);
  if (array->n_children != field->n_children) {
    return CSF_FAIL_AT(at, bad, "%" PRId64 " children, its type has %" PRId32, array->n_children, field->n_children);
  }
  if (field->n_children > 0 && array->children == NULL) {
    return CSF_FAIL_AT(at, bad, "no table of its %" PRId64 " children", array->n_children);
  }
  if ((array->dictionary != NULL) != (field->dictionary != NULL)) {
    return CSF_FAIL_AT(at, bad, "%s", field->dictionary != NULL ? "no dictionary" : "a dictionary, its type has none");
  }
  return COLSHUF_OK;
}

static enum colshuf_status take_sizes(struct csf_place *at) {
  struct csf_validation *validation = at->validation;
  at->sizes = validation->sizes;
  if (at->sizes == NULL) return COLSHUF_OK;
  /* The last buffer of a view array in the C Data Interface is the table of sizes: it is nowhere else. */
  int64_t n = at->array->n_buffers - (at->field->layout == CSF_LAYOUT_VIEW);
  if (n > validation->sizes_end - validation->sizes) {
    return CSF_FAIL_AT(at, validation->structural, "%" PRId64 " buffers, sizes of %" PRId64 " are known", n,
                       (int64_t)(validation->sizes_end - validation->sizes));
  }
  validation->sizes += n;
  return COLSHUF_OK;
}

/* Buffer i holds at least n items of width bytes. */
static enum colshuf_status need(const struct csf_place *at, int64_t i, const char *what, int64_t n, int64_t width) {
  int64_t size;
  enum colshuf_status bad = at->validation->structural;
  if (csf_multiply_overflow(n, width, &size)) {
    return CSF_FAIL_AT(at, bad, "%s of %" PRId64 " times %" PRId64 " bytes are too large", what, n, width);
  }
  int64_t room = csf_buffer_room(at, i);
  if (CSF_LIKELY(size <= room)) return COLSHUF_OK;
  if (at->array->buffers[i] == NULL) return CSF_FAIL_AT(at, bad, "no buffer of %s, needs %" PRId64 " bytes", what, size);
  return CSF_FAIL_AT(at, bad, "buffer of %s has %" PRId64 " bytes, needs %" PRId64, what, room, size);
}

static enum colshuf_status check_validity_room(const struct csf_place *at, int64_t end) {
  const struct ArrowArray *array = at->array;
  if (array->null_count == 0) return COLSHUF_OK;
  if (array->buffers[0] == NULL) {
    if (array->null_count < 0) return COLSHUF_OK;
    return CSF_FAIL_AT(at, at->validation->structural, "null count %" PRId64 ", but no validity bitmap", array->null_count);
  }
  return need(at, 0, "validity", csf_bit_bytes(end), 1);
}

static enum colshuf_status check_no_nulls(const struct csf_place *at) {
  if (at->array->null_count <= 0) return COLSHUF_OK;
  return CSF_FAIL_AT(at, at->validation->structural, "null count %" PRId64 ", %s has no nulls of its own", at->array->null_count,
                     csf_type_name(at->field->type));
}

static enum colshuf_status check_view_room(const struct csf_place *at, int64_t end) {
  const struct ArrowArray *array = at->array;
  enum colshuf_status bad = at->validation->structural;
  CSF_TRY(need(at, 1, "views", end, 16));
  int64_t n = array->n_buffers - 3;
  const char *sizes = array->buffers[array->n_buffers - 1];
  if (n > 0 && sizes == NULL) return CSF_FAIL_AT(at, bad, "no table of the sizes of %" PRId64 " data buffers", n);
  for (int64_t i = 0; i < n; i++) {
    int64_t size = csf_load_i64(sizes + 8 * i), room = csf_buffer_room(at, 2 + i);
    if (size >= 0 && size <= room) continue;
    return CSF_FAIL_AT(at, bad, "data buffer %" PRId64 " has %" PRId64 " bytes, its size is given as %" PRId64, i,
                       room == INT64_MAX ? (int64_t)0 : room, size);
  }
  return COLSHUF_OK;
}

/* Buffers long enough for rows [0, end) with end = offset + length. An array of no rows needs none of them. */
static enum colshuf_status check_room(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  enum csf_layout layout = at->field->layout;
  if (layout == CSF_LAYOUT_NULL) return COLSHUF_OK;
  if (layout >= CSF_LAYOUT_SPARSE_UNION) CSF_TRY(check_no_nulls(at));
  if (array->length == 0) return layout == CSF_LAYOUT_VIEW ? check_view_room(at, 0) : COLSHUF_OK;
  int64_t end = array->offset + array->length;
  if (end == INT64_MAX) return CSF_FAIL_AT(at, at->validation->structural, "%" PRId64 " rows are too many", end);
  if (layout < CSF_LAYOUT_SPARSE_UNION) CSF_TRY(check_validity_room(at, end));
  switch (layout) {
    case CSF_LAYOUT_BITS:
      return need(at, 1, "values", csf_bit_bytes(end), 1);
    case CSF_LAYOUT_FIXED:
      return need(at, 1, "values", end, at->field->width);
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_LIST32:
      return need(at, 1, "offsets", end + 1, 4);
    case CSF_LAYOUT_BINARY64:
    case CSF_LAYOUT_LIST64:
      return need(at, 1, "offsets", end + 1, 8);
    case CSF_LAYOUT_VIEW:
      return check_view_room(at, end);
    case CSF_LAYOUT_LIST_VIEW32:
      CSF_TRY(need(at, 1, "offsets", end, 4));
      return need(at, 2, "sizes", end, 4);
    case CSF_LAYOUT_LIST_VIEW64:
      CSF_TRY(need(at, 1, "offsets", end, 8));
      return need(at, 2, "sizes", end, 8);
    case CSF_LAYOUT_SPARSE_UNION:
      return need(at, 0, "type ids", end, 1);
    case CSF_LAYOUT_DENSE_UNION:
      CSF_TRY(need(at, 0, "type ids", end, 1));
      return need(at, 1, "offsets", end, 4);
    default:
      return COLSHUF_OK;
  }
}

static enum colshuf_status check_self(struct csf_place *at) {
  if (at->array == NULL) return CSF_FAIL_AT(at, at->validation->structural, "its array struct is NULL");
  if (at->validation->check_release && at->array->release == NULL) {
    return CSF_FAIL_AT(at, at->validation->structural, "its array struct has been released");
  }
  CSF_TRY(check_counts(at));
  CSF_TRY(check_tables(at));
  CSF_TRY(take_sizes(at));
  return check_room(at);
}

/* Row r of a struct or sparse union is row r + offset of every child. On the wire they are of one length. */
static enum colshuf_status check_row_children(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  int64_t end = array->offset + array->length;
  for (int64_t i = 0; i < array->n_children; i++) {
    int64_t length = array->children[i]->length;
    if (length >= end && (at->sizes == NULL || length == end)) continue;
    struct csf_place child = {at, &at->field->children[i], array->children[i], NULL, at->validation};
    return CSF_FAIL_AT(&child, at->validation->structural, "%" PRId64 " rows, its parent has %" PRId64, length, end);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_fixed_list_child(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  int64_t end = array->offset + array->length, wanted, length = array->children[0]->length;
  if (!csf_multiply_overflow(end, (int64_t)at->field->width, &wanted) && length >= wanted) return COLSHUF_OK;
  return CSF_FAIL_AT(at, at->validation->structural, "%" PRId64 " rows of %" PRId32 " values, but %" PRId64 " values", end,
                     at->field->width, length);
}

static enum colshuf_status check_run_children(const struct csf_place *at) {
  int64_t n_ends = at->array->children[0]->length, n_values = at->array->children[1]->length;
  if (n_ends != n_values) {
    return CSF_FAIL_AT(at, at->validation->structural, "%" PRId64 " run ends, but %" PRId64 " values", n_ends, n_values);
  }
  if (at->array->length > 0 && n_ends == 0) {
    return CSF_FAIL_AT(at, at->validation->structural, "%" PRId64 " rows, but 0 runs", at->array->length);
  }
  return COLSHUF_OK;
}

/* What an array's own lengths demand of its children's. */
static enum colshuf_status check_child_lengths(const struct csf_place *at) {
  switch (at->field->layout) {
    case CSF_LAYOUT_STRUCT:
    case CSF_LAYOUT_SPARSE_UNION:
      return check_row_children(at);
    case CSF_LAYOUT_FIXED_LIST:
      return check_fixed_list_child(at);
    case CSF_LAYOUT_RUN_END:
      return check_run_children(at);
    default:
      return COLSHUF_OK;
  }
}

static enum colshuf_status check_tree(struct csf_place *at);

/* The values were checked when they were read, where their sizes are known: they are not part of this walk's sizes. */
static enum colshuf_status check_values_of_dictionary(const struct csf_place *at) {
  if (at->field->dictionary == NULL) return COLSHUF_OK;
  struct csf_place values = {at, at->field->dictionary, at->array->dictionary, NULL, at->validation};
  if (at->sizes == NULL) return check_tree(&values);
  return check_counts(&values);
}

/* Small enough that no sum of two, and no product with a width, overflows. */
static inline bool is_modest(int64_t n) {
  return (uint64_t)n < (uint64_t)1 << 31;
}

/* Whether buffer i has size bytes. sizes as in struct csf_place. */
static inline bool has_room(const struct ArrowArray *array, const int64_t *sizes, int i, int64_t size) {
  return size <= (array->buffers[i] == NULL ? 0 : sizes == NULL ? INT64_MAX : sizes[i]);
}

static inline bool plain_buffers_fit(const struct csf_field *field, const struct ArrowArray *array, const int64_t *sizes) {
  int64_t end = array->offset + array->length;
  bool no_bitmap = array->null_count == 0 || (array->null_count < 0 && array->buffers[0] == NULL);
  if (!no_bitmap && !has_room(array, sizes, 0, csf_bit_bytes(end))) return false;
  switch (field->layout) {
    case CSF_LAYOUT_BITS:
      return has_room(array, sizes, 1, csf_bit_bytes(end));
    case CSF_LAYOUT_FIXED:
      return has_room(array, sizes, 1, end * field->width);
    default:
      return has_room(array, sizes, 1, (end + 1) * (field->layout == CSF_LAYOUT_BINARY32 ? 4 : 8));
  }
}

/*
 * The usual column, flat and with nothing odd about it, told by a few comparisons: batches are small and many. False says nothing: then
 * every rule is looked at one by one, and the words for what is wrong are found.
 */
static bool plainly_fits(struct csf_validation *validation, const struct csf_field *field, const struct ArrowArray *array) {
  if (field->layout < CSF_LAYOUT_BITS || field->layout > CSF_LAYOUT_BINARY64 || field->dictionary != NULL) return false;
  int64_t n_buffers = field->layout >= CSF_LAYOUT_BINARY32 ? 3 : 2;
  if (array == NULL || array->buffers == NULL || array->n_buffers != n_buffers) return false;
  if (array->n_children != 0 || array->dictionary != NULL || (validation->check_release && array->release == NULL)) return false;
  if (!is_modest(array->length) || !is_modest(array->offset) || array->length == 0) return false;
  if (array->null_count < -1 || array->null_count > array->length) return false;
  const int64_t *sizes = validation->sizes;
  if (sizes != NULL && validation->sizes_end - sizes < n_buffers) return false;
  if (!plain_buffers_fit(field, array, sizes)) return false;
  if (sizes != NULL) validation->sizes += n_buffers;
  return true;
}

static enum colshuf_status check_values(const struct csf_place *at) {
  if (at->validation->level >= CSF_VALIDATE_ENDS) CSF_TRY(csf_validate_memory(at));
  return at->validation->level >= CSF_VALIDATE_FULL ? csf_validate_full(at) : COLSHUF_OK;
}

static enum colshuf_status check_child(const struct csf_place *at, int64_t i) {
  struct csf_validation *validation = at->validation;
  struct csf_place child = {at, &at->field->children[i], at->array->children[i], validation->sizes, validation};
  if (!plainly_fits(validation, child.field, child.array)) return check_tree(&child);
  bool has_values = child.field->layout >= CSF_LAYOUT_BINARY32 || child.array->null_count != 0;
  return has_values && validation->level > CSF_VALIDATE_STRUCTURE ? check_values(&child) : COLSHUF_OK;
}

/* Children first: what an array says about itself is looked at only when the children that it points into are known to be right. */
static enum colshuf_status check_tree(struct csf_place *at) {
  CSF_TRY(check_self(at));
  for (int64_t i = 0; i < at->array->n_children; i++) CSF_TRY(check_child(at, i));
  CSF_TRY(check_child_lengths(at));
  CSF_TRY(check_values_of_dictionary(at));
  return check_values(at);
}

enum colshuf_status csf_array_validate_with(const struct csf_field *field, const struct ArrowArray *array, const struct csf_buffer_sizes *sizes,
                                            enum csf_validate_level level, const struct colshuf_allocator *allocator,
                                            struct colshuf_error *err) {
  bool known = sizes != NULL && sizes->sizes != NULL;
  struct csf_validation validation = {
      .level = level,
      .structural = known ? COLSHUF_CORRUPT : COLSHUF_INVALID_ARGUMENT,
      .sizes = known ? sizes->sizes : NULL,
      .sizes_end = known ? sizes->sizes + sizes->n : NULL,
      .allocator = allocator,
      .err = err,
  };
  struct csf_place top = {NULL, field, array, NULL, &validation};
  return check_tree(&top);
}

enum colshuf_status csf_array_validate(const struct csf_field *field, const struct ArrowArray *array, const struct csf_buffer_sizes *sizes,
                                       enum csf_validate_level level, struct colshuf_error *err) {
  return csf_array_validate_with(field, array, sizes, level, NULL, err);
}

enum colshuf_status csf_array_import_check(const struct csf_field *field, const struct ArrowArray *array, struct colshuf_error *err) {
  struct csf_validation validation = {
      .level = CSF_VALIDATE_STRUCTURE, .structural = COLSHUF_INVALID_ARGUMENT, .check_release = true, .err = err};
  struct csf_place top = {NULL, field, array, NULL, &validation};
  CSF_TRY(check_tree(&top));
  /* Nobody looks at the bitmap of a batch: its nulls would turn into rows. */
  if (field->layout != CSF_LAYOUT_STRUCT || field->nullable) return COLSHUF_OK;
  int64_t nulls = csf_array_null_count(field, array, 0, array->length);
  if (nulls == 0) return COLSHUF_OK;
  return CSF_FAIL_AT(&top, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " of %" PRId64 " rows are null, a batch has none", nulls, array->length);
}
