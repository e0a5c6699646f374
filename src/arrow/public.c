/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of colshuf/arrow.h: foreign structs are checked, then handed to the kernels. */
#include <inttypes.h>

#include "arrow/array.h"

/* Imports schema as one column; its field is what the array is read by. */
static enum colshuf_status import_field(const struct ArrowSchema *schema, const struct colshuf_allocator *allocator,
                                        struct csf_schema **out, struct colshuf_error *err) {
  return csf_schema_import_column(schema, allocator, NULL, out, err);
}

static enum colshuf_status validate_array(const struct csf_field *field, const struct ArrowArray *array, bool deep,
                                          struct colshuf_error *err) {
  CSF_TRY(csf_array_import_check(field, array, err));
  return deep ? csf_array_validate(field, array, NULL, CSF_VALIDATE_FULL, err) : COLSHUF_OK;
}

enum colshuf_status colshuf_array_validate(const struct ArrowSchema *schema, const struct ArrowArray *array, int deep,
                                           struct colshuf_error *err) {
  struct csf_schema *imported;
  CSF_TRY(import_field(schema, NULL, &imported, err));
  enum colshuf_status status = validate_array(imported->root.children, array, deep != 0, err);
  csf_schema_release(imported);
  return status;
}

static enum colshuf_status take_rows(const struct csf_field *field, const struct ArrowArray *array, const int64_t *rows, int64_t n_rows,
                                     const struct colshuf_allocator *allocator, struct ArrowArray *out, struct colshuf_error *err) {
  CSF_TRY(csf_array_import_check(field, array, err));
  if (n_rows < 0) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " rows wanted", n_rows);
  for (int64_t i = 0; i < n_rows; i++) {
    if (rows[i] >= 0 && rows[i] < array->length) continue;
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "rows[%" PRId64 "] is %" PRId64 ", the array has %" PRId64 " rows", i, rows[i],
                    array->length);
  }
  return csf_array_take(field, array, rows, n_rows, allocator, out, err);
}

enum colshuf_status colshuf_array_take(const struct ArrowSchema *schema, const struct ArrowArray *array, const int64_t *rows,
                                       int64_t n_rows, const struct colshuf_allocator *wanted, struct ArrowArray *out,
                                       struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_schema *imported;
  CSF_TRY(import_field(schema, &allocator, &imported, err));
  enum colshuf_status status = take_rows(imported->root.children, array, rows, n_rows, &allocator, out, err);
  csf_schema_release(imported);
  return status;
}

/* starts and lengths in one piece: whole arrays, from their first row. */
static enum colshuf_status concat_whole(const struct csf_field *field, const struct ArrowArray *const *arrays, int64_t n_arrays,
                                        const struct colshuf_allocator *allocator, struct ArrowArray *out, struct colshuf_error *err) {
  size_t size = 2 * (size_t)n_arrays * sizeof(int64_t);
  int64_t *starts = csf_alloc_zero(allocator, size);
  if (starts == NULL && n_arrays > 0) return csf_fail_memory(err, size);
  int64_t *lengths = starts == NULL ? NULL : starts + n_arrays;
  for (int64_t i = 0; i < n_arrays; i++) lengths[i] = arrays[i]->length;
  enum colshuf_status status = csf_array_concat(field, arrays, starts, lengths, n_arrays, allocator, out, err);
  csf_free(allocator, starts, size);
  return status;
}

static enum colshuf_status check_and_concat(const struct csf_field *field, const struct ArrowArray *const *arrays, int64_t n_arrays,
                                            const struct colshuf_allocator *allocator, struct ArrowArray *out, struct colshuf_error *err) {
  if (n_arrays < 0 || n_arrays > INT32_MAX) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " arrays to concatenate, 0 to %d can be", n_arrays, INT32_MAX);
  }
  for (int64_t i = 0; i < n_arrays; i++) {
    enum colshuf_status status = csf_array_import_check(field, arrays[i], err);
    if (status != COLSHUF_OK) return csf_fail_context(err, status, "array %" PRId64 " of %" PRId64, i, n_arrays);
  }
  return concat_whole(field, arrays, n_arrays, allocator, out, err);
}

enum colshuf_status colshuf_array_concat(const struct ArrowSchema *schema, const struct ArrowArray *const *arrays, int64_t n_arrays,
                                         const struct colshuf_allocator *wanted, struct ArrowArray *out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_schema *imported;
  CSF_TRY(import_field(schema, &allocator, &imported, err));
  enum colshuf_status status = check_and_concat(imported->root.children, arrays, n_arrays, &allocator, out, err);
  csf_schema_release(imported);
  return status;
}

/* Cuts one array struct to rows [offset, offset + length) of what it was. Its null count is worked out: many consumers want it known. */
static void cut(const struct csf_field *field, struct ArrowArray *array, int64_t offset, int64_t length) {
  int64_t nulls = csf_array_null_count(field, array, offset, length);
  array->offset += offset;
  array->length = length;
  array->null_count = nulls;
}

/*
 * A batch's offset goes into its columns: consumers that take a struct for a batch refuse an offset of its own, or overlook it. A struct
 * with a bitmap keeps it, because the bitmap needs it.
 */
static void cut_tree(const struct csf_field *field, struct ArrowArray *array, int64_t offset, int64_t length) {
  cut(field, array, offset, length);
  if (field->layout != CSF_LAYOUT_STRUCT || array->buffers[0] != NULL) return;
  for (int64_t i = 0; i < array->n_children; i++) cut(&field->children[i], array->children[i], array->offset, length);
  array->offset = 0;
}

static enum colshuf_status slice(const struct csf_field *field, struct ArrowArray *array, int64_t offset, int64_t length,
                                 const struct colshuf_allocator *allocator, struct ArrowArray *out, struct colshuf_error *err) {
  CSF_TRY(csf_array_import_check(field, array, err));
  if (offset < 0 || length < 0 || offset > array->length || length > array->length - offset) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " rows from row %" PRId64 " on are not all among %" PRId64, length, offset,
                    array->length);
  }
  struct ArrowArray made;
  CSF_TRY(csf_array_wrap(allocator, array, &made, err));
  cut_tree(field, &made, offset, length);
  *out = made;
  return COLSHUF_OK;
}

enum colshuf_status colshuf_array_slice(const struct ArrowSchema *schema, struct ArrowArray *array, int64_t offset, int64_t length,
                                        const struct colshuf_allocator *wanted, struct ArrowArray *out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_schema *imported;
  CSF_TRY(import_field(schema, &allocator, &imported, err));
  enum colshuf_status status = slice(imported->root.children, array, offset, length, &allocator, out, err);
  csf_schema_release(imported);
  return status;
}
