/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row is first placed by its first key alone, made a 64-bit number that orders as the key does (compare.h). Where that number
 * says all there is to say (one key, of a fixed width), the place is the answer. Otherwise the bounds that share the number are
 * searched by comparing whole rows; most rows meet none. Rows and bounds whose first key is null stand apart: at one end,
 * whatever the others are.
 */
#include "partition/range.h"

#include <inttypes.h>

#include "arrow/array.h"
#include "partition/search.h"

enum { CHUNK = 512 };

struct csf_range {
  struct colshuf_allocator allocator;
  enum colshuf_rules rules;
  int32_t n_keys;
  bool exact; /* one key, told whole by its number */
  struct csf_order *orders;
  struct csf_keys bounds;
  struct ArrowArray array;
  int64_t n_bounds;
  int64_t null_from, null_to; /* bounds whose first key is null */
  int64_t from, to;           /* the others */
  struct csf_search search;   /* over their numbers */
};

static enum colshuf_status check_field(const struct csf_field *key, const struct csf_field *bound, int32_t i,
                                       struct colshuf_error *err) {
  unsigned overlook = CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA | CSF_MATCH_DICTIONARY;
  if (csf_field_equal(key, bound, overlook)) return COLSHUF_OK;
  char key_type[256], bound_type[256];
  csf_field_describe(key, key_type, sizeof key_type);
  csf_field_describe(bound, bound_type, sizeof bound_type);
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "key %d is %s, but its bounds are %s", i, key_type, bound_type);
}

static enum colshuf_status check_bounds_schema(const struct csf_keys *keys, const struct csf_keys *bounds,
                                               struct colshuf_error *err) {
  if (bounds->n_columns != keys->n_columns) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the bounds have %d columns, but there are %d keys", bounds->n_columns,
                    keys->n_columns);
  }
  for (int32_t i = 0; i < keys->n_columns; i++) CSF_TRY(check_field(keys->columns[i].field, bounds->columns[i].field, i, err));
  return COLSHUF_OK;
}

/* The caller's bounds may go away, and may be dictionary-encoded, sliced, or wrong. */
static enum colshuf_status copy_bounds(struct csf_range *range, const struct ArrowArray *bounds, struct colshuf_error *err) {
  const struct csf_field *root = &range->bounds.schema->root;
  CSF_TRY(csf_array_import_check(root, bounds, err));
  CSF_TRY(csf_array_validate(root, bounds, NULL, CSF_VALIDATE_FULL, err));
  int64_t start = 0;
  CSF_TRY(csf_array_concat(root, &bounds, &start, &bounds->length, 1, &range->allocator, &range->array, err));
  range->n_bounds = range->array.length;
  return csf_keys_bind(&range->bounds, &range->array, err);
}

static int compare_bounds(const struct csf_range *range, int64_t a, int64_t b) {
  const struct csf_column *columns = range->bounds.columns;
  return csf_compare_rows(columns, a, columns, b, range->orders, range->n_keys, range->rules);
}

static enum colshuf_status check_order(const struct csf_range *range, struct colshuf_error *err) {
  for (int64_t i = 1; i < range->n_bounds; i++) {
    int order = compare_bounds(range, i - 1, i);
    if (order < 0) continue;
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "bounds %" PRId64 " and %" PRId64 " are %s", i - 1, i,
                    order == 0 ? "equal" : "not in the order of the keys");
  }
  return COLSHUF_OK;
}

static uint64_t directed(const struct csf_range *range, uint64_t number) {
  return range->orders[0].descending ? ~number : number;
}

static void find_null_bounds(struct csf_range *range) {
  const struct csf_column *first = &range->bounds.columns[0];
  int64_t n_null = 0;
  for (int64_t i = 0; i < range->n_bounds; i++) n_null += csf_order_is_null(first, i);
  bool last = range->orders[0].nulls_last;
  range->null_from = last ? range->n_bounds - n_null : 0;
  range->null_to = range->null_from + n_null;
  range->from = last ? 0 : n_null;
  range->to = last ? range->null_from : range->n_bounds;
}

static enum colshuf_status number_bounds(struct csf_range *range, struct colshuf_error *err) {
  find_null_bounds(range);
  const struct csf_column *first = &range->bounds.columns[0];
  range->exact = range->n_keys == 1 && csf_order_prefix_is_exact(first);
  CSF_TRY(csf_search_init(&range->search, (size_t)(range->to - range->from), &range->allocator, err));
  for (int64_t i = range->from; i < range->to; i++) {
    range->search.numbers[i - range->from] = directed(range, csf_order_prefix(first, i, range->rules));
  }
  return COLSHUF_OK;
}

static enum colshuf_status init(struct csf_range *range, const struct csf_keys *keys,
                                const struct colshuf_partitioner_options *options, struct colshuf_error *err) {
  size_t size = (size_t)keys->n_columns * sizeof *range->orders;
  range->orders = csf_alloc(&range->allocator, size);
  if (range->orders == NULL) return csf_fail_memory(err, size);
  range->n_keys = keys->n_columns;
  for (int32_t i = 0; i < range->n_keys; i++) {
    range->orders[i] = (struct csf_order){options->keys[i].descending != 0, options->keys[i].nulls_last != 0};
  }
  CSF_TRY(csf_keys_init(&range->bounds, options->bounds_schema, NULL, -1, CSF_USE_ORDER, &range->allocator, err));
  CSF_TRY(check_bounds_schema(keys, &range->bounds, err));
  CSF_TRY(copy_bounds(range, options->bounds, err));
  if (range->n_bounds >= options->n_partitions) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId64 " bounds make %" PRId64 " partitions, but there are %d",
                    range->n_bounds, range->n_bounds + 1, options->n_partitions);
  }
  CSF_TRY(check_order(range, err));
  return number_bounds(range, err);
}

enum colshuf_status csf_range_new(const struct csf_keys *keys, const struct colshuf_partitioner_options *options,
                                  const struct colshuf_allocator *allocator, struct csf_range **out,
                                  struct colshuf_error *err) {
  struct csf_range *range = csf_alloc_zero(allocator, sizeof *range);
  if (range == NULL) return csf_fail_memory(err, sizeof *range);
  range->allocator = *allocator;
  range->rules = options->rules;
  enum colshuf_status status = init(range, keys, options, err);
  if (status != COLSHUF_OK) {
    csf_range_free(range);
    return status;
  }
  *out = range;
  return COLSHUF_OK;
}

void csf_range_free(struct csf_range *range) {
  if (range == NULL) return;
  struct colshuf_allocator allocator = range->allocator;
  csf_search_clear(&range->search);
  csf_keys_clear(&range->bounds);
  if (range->array.release != NULL) range->array.release(&range->array);
  csf_free(&allocator, range->orders, (size_t)range->n_keys * sizeof *range->orders);
  csf_free(&allocator, range, sizeof *range);
}

/* Whether a bound that compares so with a row stands before its place: it is less, or, by Comet's rule, equal. */
static bool is_before(const struct csf_range *range, int order) {
  return range->rules == COLSHUF_RULES_COMET ? order <= 0 : order < 0;
}

/* The place of a row among bounds [from, to), by whole rows. */
static int64_t place_among(const struct csf_range *range, const struct csf_keys *keys, int64_t row, int64_t from, int64_t to) {
  while (from < to) {
    int64_t middle = from + (to - from) / 2;
    int order = csf_compare_rows(range->bounds.columns, middle, keys->columns, row, range->orders, range->n_keys, range->rules);
    if (is_before(range, order)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/* Places rows whose number is shared by bounds, from the first of those that number `places` found. */
static void settle_ties(const struct csf_range *range, const struct csf_keys *keys, int64_t start, size_t n,
                        const uint64_t *numbers, int32_t *places) {
  const struct csf_search *search = &range->search;
  for (size_t i = 0; i < n; i++) {
    size_t first = (size_t)places[i];
    if (first >= search->n || search->numbers[first] != numbers[i]) continue;
    size_t last = csf_search_after(search, first, numbers[i]);
    int64_t place = place_among(range, keys, start + (int64_t)i, range->from + (int64_t)first, range->from + (int64_t)last);
    places[i] = (int32_t)(place - range->from);
  }
}

static void place_nulls(const struct csf_range *range, const struct csf_keys *keys, int64_t start, size_t n, int32_t *ids) {
  const struct csf_column *first = &keys->columns[0];
  if (!csf_order_may_be_null(first)) return;
  int64_t only_key = range->rules == COLSHUF_RULES_COMET ? range->null_to : range->null_from;
  for (size_t i = 0; i < n; i++) {
    int64_t row = start + (int64_t)i;
    bool is_null = first->kind == CSF_KIND_DICTIONARY ? csf_order_is_null(first, row) : !csf_column_valid(first, row);
    if (!is_null) continue;
    ids[i] = (int32_t)(range->n_keys == 1 ? only_key : place_among(range, keys, row, range->null_from, range->null_to));
  }
}

static void ids_of_chunk(const struct csf_range *range, const struct csf_keys *keys, int64_t start, size_t n, int32_t *ids) {
  uint64_t numbers[CHUNK];
  csf_order_prefixes(&keys->columns[0], start, n, range->rules, numbers);
  if (range->orders[0].descending) {
    for (size_t i = 0; i < n; i++) numbers[i] = ~numbers[i];
  }
  bool upper = range->exact && range->rules == COLSHUF_RULES_COMET;
  csf_search_run(&range->search, numbers, n, upper, ids);
  if (!range->exact) settle_ties(range, keys, start, n, numbers, ids);
  for (size_t i = 0; i < n; i++) ids[i] += (int32_t)range->from;
  place_nulls(range, keys, start, n, ids);
}

void csf_range_ids(const struct csf_range *range, const struct csf_keys *keys, int64_t n_rows, int32_t *ids) {
  for (int64_t start = 0; start < n_rows; start += CHUNK) {
    size_t n = n_rows - start < CHUNK ? (size_t)(n_rows - start) : CHUNK;
    ids_of_chunk(range, keys, start, n, ids + start);
  }
}
