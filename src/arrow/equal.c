/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing rows by value. Content of null rows, unreferenced bytes, offsets, runs and dictionaries do not count. */
#include "arrow/gather.h"

/* Two arrays of one field, each with the place of its first row. */
struct sides {
  const struct csf_field *field;
  const struct ArrowArray *a, *b;
  int64_t a_at, b_at; /* places in the buffers */
  int64_t *left;      /* steps that may still be taken */
};

static bool equal_rows(const struct sides *s, int64_t n);

static bool equal_bits(const struct sides *s, int64_t n) {
  const uint8_t *a = s->a->buffers[1], *b = s->b->buffers[1];
  for (int64_t i = 0; i < n; i++) {
    if (csf_bit_get(a, s->a_at + i) != csf_bit_get(b, s->b_at + i)) return false;
  }
  return true;
}

static bool equal_bytes(const uint8_t *a, const uint8_t *b, int64_t size) {
  return size == 0 || memcmp(a, b, (size_t)size) == 0;
}

static bool equal_fixed(const struct sides *s, int64_t n) {
  int64_t width = s->field->width;
  if (width == 0) return true;
  return equal_bytes((const uint8_t *)s->a->buffers[1] + s->a_at * width, (const uint8_t *)s->b->buffers[1] + s->b_at * width,
                     n * width);
}

static bool equal_binary(const struct sides *s, int64_t n) {
  bool wide = s->field->layout == CSF_LAYOUT_BINARY64;
  const uint8_t *a = s->a->buffers[2], *b = s->b->buffers[2];
  for (int64_t i = 0; i < n; i++) {
    int64_t a_start = csf_offset_at(s->a->buffers[1], s->a_at + i, wide),
            b_start = csf_offset_at(s->b->buffers[1], s->b_at + i, wide);
    int64_t size = csf_offset_at(s->a->buffers[1], s->a_at + i + 1, wide) - a_start;
    if (size != csf_offset_at(s->b->buffers[1], s->b_at + i + 1, wide) - b_start) return false;
    if (size > 0 && memcmp(a + a_start, b + b_start, (size_t)size) != 0) return false;
  }
  return true;
}

static const uint8_t *view_bytes(const struct ArrowArray *array, const uint8_t *view, int32_t size) {
  if (size <= 12) return view + 4;
  return (const uint8_t *)array->buffers[2 + csf_load_i32(view + 8)] + csf_load_i32(view + 12);
}

static bool equal_views(const struct sides *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *a = (const uint8_t *)s->a->buffers[1] + 16 * (s->a_at + i),
                  *b = (const uint8_t *)s->b->buffers[1] + 16 * (s->b_at + i);
    int32_t size = csf_load_i32(a);
    if (size != csf_load_i32(b)) return false;
    if (!equal_bytes(view_bytes(s->a, a, size), view_bytes(s->b, b, size), size)) return false;
  }
  return true;
}

/* Where the list at i starts in the child, and how many values it has. */
static int64_t list_at(const struct csf_field *field, const struct ArrowArray *array, int64_t i, int64_t *size) {
  bool wide = field->layout == CSF_LAYOUT_LIST64 || field->layout == CSF_LAYOUT_LIST_VIEW64;
  int64_t start = csf_offset_at(array->buffers[1], i, wide);
  bool is_view = field->layout == CSF_LAYOUT_LIST_VIEW32 || field->layout == CSF_LAYOUT_LIST_VIEW64;
  *size = is_view ? csf_offset_at(array->buffers[2], i, wide) : csf_offset_at(array->buffers[1], i + 1, wide) - start;
  return start;
}

static bool equal_child(const struct sides *s, int32_t c, int64_t a_row, int64_t b_row, int64_t n) {
  const struct ArrowArray *a = s->a->children[c], *b = s->b->children[c];
  return equal_rows(&(struct sides){&s->field->children[c], a, b, a->offset + a_row, b->offset + b_row, s->left}, n);
}

static bool equal_lists(const struct sides *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t a_size, b_size;
    int64_t a_start = list_at(s->field, s->a, s->a_at + i, &a_size), b_start = list_at(s->field, s->b, s->b_at + i, &b_size);
    if (a_size != b_size || !equal_child(s, 0, a_start, b_start, a_size)) return false;
  }
  return true;
}

static bool equal_structs(const struct sides *s, int64_t n) {
  for (int32_t c = 0; c < s->field->n_children; c++) {
    if (!equal_child(s, c, s->a_at, s->b_at, n)) return false;
  }
  return true;
}

static int32_t member_of(const struct csf_field *field, int8_t id) {
  for (int32_t c = 0; c < field->n_children; c++) {
    if (field->type_ids[c] == id) return c;
  }
  return 0;
}

static bool equal_unions(const struct sides *s, int64_t n) {
  bool dense = s->field->layout == CSF_LAYOUT_DENSE_UNION;
  for (int64_t i = 0; i < n; i++) {
    int64_t a = s->a_at + i, b = s->b_at + i;
    int8_t id = ((const int8_t *)s->a->buffers[0])[a];
    if (((const int8_t *)s->b->buffers[0])[b] != id) return false;
    if (dense) a = csf_offset_at(s->a->buffers[1], a, false);
    if (dense) b = csf_offset_at(s->b->buffers[1], b, false);
    if (!equal_child(s, member_of(s->field, id), a, b, 1)) return false;
  }
  return true;
}

/* How many of n rows from place i on lie in this run. */
static int64_t rows_of_run(const struct csf_field *field, const struct ArrowArray *array, int64_t run, int64_t i, int64_t n) {
  const struct ArrowArray *ends = array->children[0];
  int64_t left = csf_index_at(ends->buffers[1], field->children[0].type, ends->offset + run) - i;
  return left < n ? left : n;
}

static bool equal_runs(const struct sides *s, int64_t n) {
  for (int64_t i = 0; i < n;) {
    int64_t a = csf_run_find(s->field, s->a, s->a_at + i), b = csf_run_find(s->field, s->b, s->b_at + i);
    if (!equal_child(s, 1, a, b, 1)) return false;
    int64_t step = rows_of_run(s->field, s->a, a, s->a_at + i, n - i);
    i += rows_of_run(s->field, s->b, b, s->b_at + i, step);
  }
  return true;
}

static bool equal_indices(const struct sides *s, int64_t n) {
  const struct ArrowArray *a = s->a->dictionary, *b = s->b->dictionary;
  for (int64_t i = 0; i < n; i++) {
    int64_t a_index = csf_index_at(s->a->buffers[1], s->field->type, s->a_at + i);
    int64_t b_index = csf_index_at(s->b->buffers[1], s->field->type, s->b_at + i);
    if (a == b && a_index == b_index) continue;
    struct sides values = {s->field->dictionary, a, b, a->offset + a_index, b->offset + b_index, s->left};
    if (!equal_rows(&values, 1)) return false;
  }
  return true;
}

/* n rows of which none is null. */
static bool equal_valid(const struct sides *s, int64_t n) {
  switch (s->field->layout) {
    case CSF_LAYOUT_BITS:
      return equal_bits(s, n);
    case CSF_LAYOUT_FIXED:
      return s->field->dictionary != NULL ? equal_indices(s, n) : equal_fixed(s, n);
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      return equal_binary(s, n);
    case CSF_LAYOUT_VIEW:
      return equal_views(s, n);
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      return equal_lists(s, n);
    case CSF_LAYOUT_FIXED_LIST:
      return equal_child(s, 0, s->a_at * s->field->width, s->b_at * s->field->width, n * s->field->width);
    case CSF_LAYOUT_STRUCT:
      return equal_structs(s, n);
    case CSF_LAYOUT_SPARSE_UNION:
    case CSF_LAYOUT_DENSE_UNION:
      return equal_unions(s, n);
    case CSF_LAYOUT_RUN_END:
      return equal_runs(s, n);
    case CSF_LAYOUT_NULL:
      break;
  }
  return true;
}

/* Whether a place is null, where a dictionary's null value is one as well. */
static bool null_at(const struct csf_field *field, const struct ArrowArray *array, const uint8_t *valid, int64_t i) {
  if (valid != NULL && !csf_bit_get(valid, i)) return true;
  if (field->dictionary == NULL) return false;
  const struct ArrowArray *values = array->dictionary;
  int64_t place = values->offset + csf_index_at(array->buffers[1], field->type, i);
  return null_at(field->dictionary, values, csf_array_validity(field->dictionary, values), place);
}

/* Whether rows of this field take bytes. Those of the others may be any number at no cost, to say and to compare. */
static bool has_bytes(const struct csf_field *field) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL:
    case CSF_LAYOUT_STRUCT:
    case CSF_LAYOUT_FIXED_LIST:
    case CSF_LAYOUT_RUN_END:
      return false;
    default:
      return field->layout != CSF_LAYOUT_FIXED || field->width > 0;
  }
}

static bool take_steps(const struct sides *s, int64_t n) {
  *s->left -= 1 + (has_bytes(s->field) ? n : 0);
  return *s->left >= 0;
}

/* Rows from i on up to the next null; -1 where only one side is null before that. */
static int64_t rows_to_null(const struct sides *s, const uint8_t *a_valid, const uint8_t *b_valid, int64_t i, int64_t n) {
  for (int64_t run = 0; i + run < n; run++) {
    bool a_null = null_at(s->field, s->a, a_valid, s->a_at + i + run);
    if (a_null != null_at(s->field, s->b, b_valid, s->b_at + i + run)) return -1;
    if (a_null) return run;
  }
  return n - i;
}

static bool equal_rows(const struct sides *s, int64_t n) {
  if (n == 0) return true;
  if (!take_steps(s, n)) return false;
  const uint8_t *a_valid = csf_array_validity(s->field, s->a), *b_valid = csf_array_validity(s->field, s->b);
  bool may_be_null = a_valid != NULL || b_valid != NULL || s->field->dictionary != NULL;
  if (!may_be_null) return equal_valid(s, n);
  for (int64_t i = 0, run; i < n; i += run + 1) { /* rows up to the next null, and that one */
    run = rows_to_null(s, a_valid, b_valid, i, n);
    if (run < 0) return false;
    if (run > 0 && !equal_valid(&(struct sides){s->field, s->a, s->b, s->a_at + i, s->b_at + i, s->left}, run)) return false;
  }
  return true;
}

static bool equal_within(const struct csf_field *field, const struct ArrowArray *a, int64_t a_start, const struct ArrowArray *b,
                         int64_t b_start, int64_t n, int64_t steps) {
  return equal_rows(&(struct sides){field, a, b, a->offset + a_start, b->offset + b_start, &steps}, n);
}

bool csf_array_equal(const struct csf_field *field, const struct ArrowArray *a, int64_t a_start, const struct ArrowArray *b,
                     int64_t b_start, int64_t n) {
  return equal_within(field, a, a_start, b, b_start, n, INT64_MAX);
}

/* What comparing everything once takes, about. */
static int64_t count_steps(const struct csf_field *field, const struct ArrowArray *array) {
  int64_t steps = 2 + (has_bytes(field) ? 2 * array->length : 0);
  for (int32_t c = 0; c < field->n_children; c++) steps += count_steps(&field->children[c], array->children[c]);
  return field->dictionary == NULL ? steps : steps + count_steps(field->dictionary, array->dictionary);
}

bool csf_array_found_equal(const struct csf_field *field, const struct ArrowArray *a, int64_t a_start, const struct ArrowArray *b,
                           int64_t b_start, int64_t n) {
  return equal_within(field, a, a_start, b, b_start, n, count_steps(field, a) + count_steps(field, b));
}
