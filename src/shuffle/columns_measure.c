/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory rows will take: for cutting batches before they are routed, and partitions into blocks. */
#include "arrow/array.h"
#include "shuffle/columns.h"

/* Sums that stick to the top instead of turning over: hostile list views may mean any number of values. */
static uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return csf_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return csf_multiply_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void measure_node(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                         struct csf_measure *sum);

/*
 * n values of a child: the range from first on, where they were seen to follow one another (colshuf's own chunks are like that);
 * else they may be anywhere, and the average of all counts.
 */
static void measure_values(const struct csf_field *field, const struct ArrowArray *array, int64_t first, uint64_t n,
                           bool in_order, struct csf_measure *sum) {
  if (n == 0 || array->length == 0) return;
  if (in_order) {
    measure_node(field, array, array->offset + first, (int64_t)n, sum);
    return;
  }
  struct csf_measure all = {.scattered = sum->scattered};
  measure_node(field, array, array->offset, array->length, &all);
  uint64_t length = (uint64_t)array->length;
  sum->bytes = add(sum->bytes, times(all.bytes / length + 1, n));
  uint64_t values = times(all.values / length + 1, n);
  if (values > sum->values) sum->values = values;
}

static uint64_t view_bytes(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n) {
  const uint8_t *views = array->buffers[1];
  const uint8_t *validity = csf_array_validity(field, array);
  uint64_t bytes = 0;
  for (int64_t i = base; i < base + n; i++) {
    int32_t size = csf_load_i32(views + 16 * i);
    if (size > 12 && (validity == NULL || csf_bit_get(validity, i))) bytes += (uint64_t)size;
  }
  return bytes;
}

static void measure_list_view(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                              struct csf_measure *sum) {
  bool wide = field->layout == CSF_LAYOUT_LIST_VIEW64, in_order = true;
  const uint8_t *validity = csf_array_validity(field, array);
  uint64_t values = 0;
  int64_t first = 0;
  for (int64_t i = base; i < base + n; i++) {
    if (validity != NULL && !csf_bit_get(validity, i)) continue;
    uint64_t size = (uint64_t)csf_offset_at(array->buffers[2], i, wide);
    int64_t offset = csf_offset_at(array->buffers[1], i, wide);
    if (values == 0) first = offset;
    else if (size > 0 && (uint64_t)offset != (uint64_t)first + values) in_order = false;
    values = add(values, size);
  }
  sum->bytes = add(sum->bytes, (uint64_t)n * (wide ? 16 : 8));
  measure_values(&field->children[0], array->children[0], first, values, in_order, sum);
}

static void measure_list(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                         struct csf_measure *sum) {
  bool wide = field->layout == CSF_LAYOUT_LIST64;
  int64_t first = csf_offset_at(array->buffers[1], base, wide);
  int64_t values = csf_offset_at(array->buffers[1], base + n, wide) - first;
  sum->bytes = add(sum->bytes, (uint64_t)n * (wide ? 8 : 4));
  measure_node(&field->children[0], array->children[0], array->children[0]->offset + first, values, sum);
}

static void measure_struct(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                           struct csf_measure *sum) {
  for (int32_t i = 0; i < field->n_children; i++) {
    measure_node(&field->children[i], array->children[i], array->children[i]->offset + base, n, sum);
  }
}

struct union_part {
  uint64_t n;
  int64_t first;
  bool scattered;
};

static void measure_dense_union(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                                struct csf_measure *sum) {
  const int8_t *ids = array->buffers[0];
  const uint8_t *offsets = array->buffers[1];
  struct union_part parts[128] = {0};
  for (int64_t i = base; i < base + n; i++) {
    struct union_part *part = &parts[ids[i] & 127];
    int64_t offset = csf_load_i32(offsets + 4 * i);
    if (part->n == 0) part->first = offset;
    else if (offset != part->first + (int64_t)part->n) part->scattered = true;
    part->n++;
  }
  sum->bytes = add(sum->bytes, (uint64_t)n * 5);
  for (int32_t i = 0; i < field->n_children; i++) {
    const struct union_part *part = &parts[field->type_ids[i] & 127];
    measure_values(&field->children[i], array->children[i], part->first, part->n, !part->scattered, sum);
  }
}

/* The number of runs that end at or before row. */
static int64_t runs_before(const struct ArrowArray *ends, int64_t row, int32_t width) {
  const uint8_t *values = ends->buffers[1];
  int64_t low = 0, high = ends->length;
  while (low < high) {
    int64_t middle = low + (high - low) / 2, at = middle + ends->offset;
    int64_t end = width == 2 ? csf_load_i16(values + 2 * at) : csf_offset_at(values, at, width == 8);
    if (end <= row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Taken out of their order, rows of one run may make as many runs as there are rows. */
static void measure_run_end(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                            struct csf_measure *sum) {
  int32_t width = field->children[0].width;
  int64_t first = runs_before(array->children[0], base, width);
  int64_t last = runs_before(array->children[0], base + n - 1, width);
  uint64_t runs = sum->scattered ? (uint64_t)n : (uint64_t)(last - first + 1);
  sum->bytes = add(sum->bytes, runs * (uint64_t)width);
  measure_values(&field->children[1], array->children[1], first, runs, !sum->scattered, sum);
}

static void measure_node(const struct csf_field *field, const struct ArrowArray *array, int64_t base, int64_t n,
                         struct csf_measure *sum) {
  if (n <= 0) return;
  uint64_t rows = (uint64_t)n, bytes = 0;
  if (rows > sum->values) sum->values = rows;
  if (csf_array_validity(field, array) != NULL) bytes = rows / 8;
  switch (field->layout) {
    case CSF_LAYOUT_NULL: break;
    case CSF_LAYOUT_BITS: bytes += rows / 8; break;
    case CSF_LAYOUT_FIXED: bytes += times(rows, (uint64_t)field->width); break;
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64: {
      bool wide = field->layout == CSF_LAYOUT_BINARY64;
      int64_t first = csf_offset_at(array->buffers[1], base, wide);
      bytes += rows * (wide ? 8 : 4) + (uint64_t)(csf_offset_at(array->buffers[1], base + n, wide) - first);
      break;
    }
    case CSF_LAYOUT_VIEW: bytes += rows * 16 + view_bytes(field, array, base, n); break;
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64: measure_list(field, array, base, n, sum); break;
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64: measure_list_view(field, array, base, n, sum); break;
    case CSF_LAYOUT_FIXED_LIST:
      measure_node(&field->children[0], array->children[0], array->children[0]->offset + base * field->width, n * field->width,
                   sum);
      break;
    case CSF_LAYOUT_SPARSE_UNION: bytes += rows; measure_struct(field, array, base, n, sum); break;
    case CSF_LAYOUT_STRUCT: measure_struct(field, array, base, n, sum); break;
    case CSF_LAYOUT_DENSE_UNION: measure_dense_union(field, array, base, n, sum); break;
    case CSF_LAYOUT_RUN_END: measure_run_end(field, array, base, n, sum); break;
  }
  sum->bytes = add(sum->bytes, bytes);
}

struct csf_measure csf_columns_measure(const struct csf_field *root, const struct ArrowArray *batch, int64_t base, int64_t n,
                                       bool scattered) {
  struct csf_measure sum = {.scattered = scattered};
  measure_node(root, batch, base, n, &sum);
  return sum;
}

uint64_t csf_columns_max_values(const struct csf_field *root) {
  uint64_t most = INT32_MAX;
  if (root->layout == CSF_LAYOUT_RUN_END && root->children[0].width == 2) most = INT16_MAX;
  for (int32_t i = 0; i < root->n_children; i++) {
    uint64_t child = csf_columns_max_values(&root->children[i]);
    if (child < most) most = child;
  }
  return most;
}
