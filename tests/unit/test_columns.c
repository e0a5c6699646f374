/* SPDX-License-Identifier: Apache-2.0 */
/* Growable columns, the pool behind them, joined dictionaries, and the order of rows. */
#include "arrow/array.h"
#include "shuffle/dictionaries.h"
#include "shuffle/order.h"
#include "shuffle/areas.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

enum { ROUNDS = 400 };

/* Columns of one schema with their array. */
struct fixture {
  struct csf_schema *schema;
  struct csf_columns columns;
  void *tree;
  size_t tree_size;
  struct ArrowArray *array;
};

static void open_fixture(struct fixture *fixture, struct csf_schema *schema, struct csf_column_memory memory) {
  struct colshuf_error err;
  fixture->schema = schema;
  REQUIRE_OK(csf_columns_init(&fixture->columns, &schema->root, &test_heap, memory, &err));
  fixture->tree_size = csf_array_tree_size(&schema->root);
  fixture->tree = csf_alloc(&test_heap, fixture->tree_size);
  fixture->array = csf_array_tree_build(&schema->root, fixture->tree);
}

static void close_fixture(struct fixture *fixture) {
  csf_columns_clear(&fixture->columns);
  csf_free(&test_heap, fixture->tree, fixture->tree_size);
}

/* Lets the columns show the dictionaries of an array. */
static void borrow_dictionaries(struct csf_column *column, const struct ArrowArray *array) {
  column->dictionary = array->dictionary;
  for (int32_t i = 0; i < column->n_children; i++) borrow_dictionaries(&column->children[i], array->children[i]);
}

/* Some rows of 0 .. n in any order: all once, or any number of times. */
static uint32_t *random_rows(struct test_random *random, int64_t n, bool permutation, int64_t *n_rows) {
  *n_rows = permutation || n == 0 ? n : (int64_t)test_random_below(random, (uint64_t)(2 * n));
  uint32_t *rows = csf_alloc(&test_heap, (size_t)(*n_rows + 1) * sizeof *rows);
  for (int64_t i = 0; i < *n_rows; i++) rows[i] = (uint32_t)(permutation ? (uint64_t)i : test_random_below(random, (uint64_t)n));
  for (int64_t i = *n_rows - 1; permutation && i > 0; i--) {
    int64_t j = (int64_t)test_random_below(random, (uint64_t)i + 1);
    uint32_t swap = rows[i];
    rows[i] = rows[j];
    rows[j] = swap;
  }
  return rows;
}

static void free_rows(uint32_t *rows, int64_t n_rows) {
  csf_free(&test_heap, rows, (size_t)(n_rows + 1) * sizeof *rows);
}

static void check_valid(const struct fixture *fixture) {
  struct colshuf_error err;
  REQUIRE_OK(csf_array_validate(&fixture->schema->root, fixture->array, NULL, CSF_VALIDATE_FULL, &err));
}

static void append_listed_rows(struct fixture *fixture, struct test_random *random, const struct ArrowArray *source) {
  struct colshuf_error err;
  const struct csf_field *root = &fixture->schema->root;
  int64_t before = fixture->columns.root.length, n;
  uint32_t *rows = random_rows(random, source->length, test_random_below(random, 2) == 0, &n);
  REQUIRE_OK(csf_columns_append(&fixture->columns, source, (struct csf_rows){source->offset, rows, n}, &err));
  csf_columns_show(&fixture->columns, fixture->array);
  check_valid(fixture);
  for (int64_t i = 0; i < n; i++) CHECK_ROWS(root, fixture->array, before + i, root, source, rows[i], 1);
  free_rows(rows, n);
}

static void append_range(struct fixture *fixture, struct test_random *random, const struct ArrowArray *source) {
  struct colshuf_error err;
  const struct csf_field *root = &fixture->schema->root;
  int64_t before = fixture->columns.root.length;
  int64_t start = (int64_t)test_random_below(random, (uint64_t)source->length + 1);
  int64_t n = (int64_t)test_random_below(random, (uint64_t)(source->length - start) + 1);
  REQUIRE_OK(csf_columns_append(&fixture->columns, source, (struct csf_rows){source->offset + start, NULL, n}, &err));
  csf_columns_show(&fixture->columns, fixture->array);
  check_valid(fixture);
  CHECK_ROWS(root, fixture->array, before, root, source, start, n);
}

/* One random batch, appended several times in both ways. */
static void check_appends(struct test_random *random, struct fixture *fixture) {
  struct ArrowArray source;
  struct test_array_options options = test_random_options(random, 60);
  test_random_array(random, &fixture->schema->root, &options, &source);
  borrow_dictionaries(&fixture->columns.root, &source);
  for (int i = 0; i < 3; i++) {
    if (test_random_below(random, 2) == 0) append_range(fixture, random, &source);
    else append_listed_rows(fixture, random, &source);
  }
  csf_columns_reset(&fixture->columns);
  source.release(&source);
}

static void rows_of_every_type_come_out_as_they_went_in(void) {
  struct test_random random = {1};
  for (int round = 0; round < ROUNDS; round++) {
    struct fixture fixture;
    struct test_schema_options any = {0};
    open_fixture(&fixture, test_random_schema(&random, &any), csf_column_heap(&test_heap));
    for (int i = 0; i < 3; i++) check_appends(&random, &fixture);
    csf_schema_release(fixture.schema);
    close_fixture(&fixture);
  }
}

static void columns_in_a_pool_hold_the_same_rows(void) {
  struct test_random random = {2};
  struct csf_budget budget;
  struct csf_areas pool;
  csf_budget_init(&budget, &test_heap, NULL, (uint64_t)64 << 20, 0);
  csf_areas_init(&pool, &budget, 4096);
  for (int round = 0; round < ROUNDS / 4; round++) {
    struct fixture fixture;
    struct test_schema_options any = {0};
    open_fixture(&fixture, test_random_schema(&random, &any), csf_areas_memory(&pool));
    check_appends(&random, &fixture);
    csf_columns_forget(&fixture.columns);
    csf_areas_reset(&pool);
    csf_schema_release(fixture.schema);
    close_fixture(&fixture);
  }
  csf_areas_clear(&pool);
  CHECK_INT(budget.bulk, 0);
}

static bool same_in_parts(const struct csf_field *root, const struct ArrowArray *array, uint64_t *sum) {
  *sum = 0;
  for (int64_t i = 0; i < array->length; i++) *sum += csf_columns_measure(root, array, i, 1, false).bytes;
  uint64_t whole = csf_columns_measure(root, array, 0, array->length, false).bytes;
  return whole <= *sum + 64 * (uint64_t)array->length && *sum <= whole + 64 * (uint64_t)array->length;
}

static void a_measure_of_rows_is_near_what_they_take(void) {
  struct test_random random = {3};
  struct colshuf_error err;
  for (int round = 0; round < ROUNDS / 4; round++) {
    struct fixture fixture;
    struct test_schema_options schema = {.no_dictionaries = true};
    struct test_array_options options = test_random_options(&random, 100);
    struct ArrowArray source;
    uint64_t sum;
    open_fixture(&fixture, test_random_schema(&random, &schema), csf_column_heap(&test_heap));
    test_random_array(&random, &fixture.schema->root, &options, &source);
    REQUIRE_OK(csf_columns_append(&fixture.columns, &source, (struct csf_rows){source.offset, NULL, source.length}, &err));
    csf_columns_show(&fixture.columns, fixture.array);
    CHECK(same_in_parts(&fixture.schema->root, fixture.array, &sum));
    source.release(&source);
    csf_schema_release(fixture.schema);
    close_fixture(&fixture);
  }
}

static void no_validity_before_the_first_null(void) {
  struct colshuf_error err;
  struct test_random random = {4};
  struct fixture fixture;
  struct ArrowArray whole, holes;
  struct test_array_options none = {.rows = 50}, some = {.rows = 50, .null_percent = 30};
  struct csf_schema *schema = test_schema("a: int32, b: utf8, c: list<item: int64>, d: bool, e: struct<x: float64>");
  open_fixture(&fixture, schema, csf_column_heap(&test_heap));
  test_random_array(&random, &schema->root, &none, &whole);
  test_random_array(&random, &schema->root, &some, &holes);
  REQUIRE_OK(csf_columns_append(&fixture.columns, &whole, (struct csf_rows){whole.offset, NULL, 50}, &err));
  csf_columns_show(&fixture.columns, fixture.array);
  for (int i = 0; i < 5; i++) CHECK(fixture.array->children[i]->buffers[0] == NULL);
  REQUIRE_OK(csf_columns_append(&fixture.columns, &holes, (struct csf_rows){holes.offset, NULL, 50}, &err));
  REQUIRE_OK(csf_columns_append(&fixture.columns, &whole, (struct csf_rows){whole.offset, NULL, 50}, &err));
  csf_columns_show(&fixture.columns, fixture.array);
  for (int i = 0; i < 5; i++) CHECK(fixture.array->children[i]->buffers[0] != NULL);
  CHECK_ROWS(&schema->root, fixture.array, 0, &schema->root, &whole, 0, 50);
  CHECK_ROWS(&schema->root, fixture.array, 50, &schema->root, &holes, 0, 50);
  CHECK_ROWS(&schema->root, fixture.array, 100, &schema->root, &whole, 0, 50);
  whole.release(&whole);
  holes.release(&holes);
  csf_schema_release(schema);
  close_fixture(&fixture);
}

static void run_ends_too_many_for_their_type_are_refused(void) {
  struct colshuf_error err;
  struct test_random random = {5};
  struct fixture fixture;
  struct ArrowArray source;
  struct test_array_options options = {.rows = 20000, .repeat_percent = 99};
  struct csf_schema *schema = test_schema("a: run_end_encoded<run_ends: int16 not null, values: int32>");
  CHECK_INT(csf_columns_max_values(&schema->root), INT16_MAX);
  open_fixture(&fixture, schema, csf_column_heap(&test_heap));
  test_random_array(&random, &schema->root, &options, &source);
  struct csf_rows all = {source.offset, NULL, source.length};
  REQUIRE_OK(csf_columns_append(&fixture.columns, &source, all, &err));
  CHECK_STATUS(csf_columns_append(&fixture.columns, &source, all, &err), COLSHUF_LIMIT);
  csf_columns_reset(&fixture.columns);
  REQUIRE_OK(csf_columns_append(&fixture.columns, &source, all, &err));
  source.release(&source);
  csf_schema_release(schema);
  close_fixture(&fixture);
}

/* Appends batches with dictionaries of their own, mapped to the joined ones; compares all rows at the end. */
static void check_joined(struct test_random *random, struct csf_schema *schema, int64_t *n_full) {
  enum { BATCHES = 4 };
  struct colshuf_error err;
  struct fixture fixture;
  struct csf_dictionaries_joined joined;
  struct ArrowArray batches[BATCHES];
  int64_t starts[BATCHES];
  open_fixture(&fixture, schema, csf_column_heap(&test_heap));
  REQUIRE_OK(csf_joined_init(&joined, &schema->root, 1 << 20, &test_heap, &err));
  for (int i = 0; i < BATCHES; i++) {
    struct test_array_options options = test_random_options(random, 30);
    bool full;
    test_random_array(random, &schema->root, &options, &batches[i]);
    REQUIRE_OK(csf_joined_add(&joined, &schema->root, &batches[i], &full, &err));
    if (full) {
      csf_joined_reset(&joined);
      csf_columns_reset(&fixture.columns);
      for (int j = 0; j < i; j++) starts[j] = -1;
      REQUIRE_OK(csf_joined_add(&joined, &schema->root, &batches[i], &full, &err));
      CHECK(!full);
      (*n_full)++;
    }
    csf_joined_map(&joined, &fixture.columns, true);
    starts[i] = fixture.columns.root.length;
    struct csf_rows rows = {batches[i].offset, NULL, batches[i].length};
    REQUIRE_OK(csf_columns_append(&fixture.columns, &batches[i], rows, &err));
  }
  csf_joined_show(&joined, &fixture.columns);
  csf_columns_show(&fixture.columns, fixture.array);
  check_valid(&fixture);
  for (int i = 0; i < BATCHES; i++) {
    if (starts[i] >= 0) {
      CHECK_ROWS(&schema->root, fixture.array, starts[i], &schema->root, &batches[i], 0, batches[i].length);
    }
    batches[i].release(&batches[i]);
  }
  csf_joined_clear(&joined);
  close_fixture(&fixture);
}

static void batches_with_other_dictionaries_share_one(void) {
  struct test_random random = {6};
  int64_t n_full = 0;
  for (int round = 0; round < ROUNDS / 4; round++) {
    struct csf_schema *schema = test_schema(
        "a: dictionary<int16, utf8>, b: dictionary<uint16, int32>, c: list<item: dictionary<int32, binary>>, "
        "d: struct<x: dictionary<int64, utf8_view>, y: int8>, e: dictionary<int32, large_utf8>");
    check_joined(&random, schema, &n_full);
    csf_schema_release(schema);
  }
  CHECK_INT(n_full, 0);
}

static void dictionaries_that_cannot_be_joined_are_called_full(void) {
  struct test_random random = {7};
  int64_t n_full = 0;
  for (int round = 0; round < ROUNDS / 8; round++) {
    struct csf_schema *schema = test_schema("a: dictionary<int8, list<item: utf8>>, b: dictionary<int32, bool>");
    check_joined(&random, schema, &n_full);
    csf_schema_release(schema);
  }
  CHECK(n_full > 0);
}

static void check_order(struct test_random *random, struct csf_order *order, uint32_t n, int32_t n_partitions) {
  struct colshuf_error err;
  int32_t *ids = csf_alloc(&test_heap, ((size_t)n + 1) * sizeof *ids);
  for (uint32_t i = 0; i < n; i++) ids[i] = (int32_t)test_random_below(random, (uint64_t)n_partitions);
  REQUIRE_OK(csf_order_rows(order, ids, n, n_partitions, &err));
  const uint32_t *rows = (const uint32_t *)(const void *)order->rows.data;
  const uint32_t *starts = (const uint32_t *)(const void *)order->starts.data;
  const int32_t *parts = (const int32_t *)(const void *)order->parts.data;
  CHECK_INT(starts[order->n_parts], n);
  for (int32_t p = 0; p < order->n_parts; p++) {
    CHECK(starts[p] < starts[p + 1]);
    CHECK(p == 0 || parts[p] > parts[p - 1]);
    for (uint32_t i = starts[p]; i < starts[p + 1]; i++) {
      CHECK_INT(ids[rows[i]], parts[p]);
      CHECK(i == starts[p] || rows[i] > rows[i - 1]);
    }
  }
  csf_free(&test_heap, ids, ((size_t)n + 1) * sizeof *ids);
}

static void rows_are_ordered_by_partition_and_stay_in_order_within(void) {
  static const int32_t partitions[] = {1, 2, 7, 200, 2048, 2049, 100000, INT32_MAX};
  struct test_random random = {8};
  struct csf_order order;
  csf_order_init(&order, &test_heap);
  for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++) {
    check_order(&random, &order, 0, partitions[i]);
    check_order(&random, &order, 1, partitions[i]);
    check_order(&random, &order, 5000, partitions[i]);
  }
  csf_order_clear(&order);
}

static void a_pool_goes_back_to_a_mark_and_uses_its_areas_again(void) {
  struct csf_budget budget;
  struct csf_areas pool;
  csf_budget_init(&budget, &test_heap, NULL, 100 << 10, 10 << 10);
  csf_areas_init(&pool, &budget, 16 << 10);
  uint8_t *first = csf_areas_alloc(&pool, 1000);
  REQUIRE(first != NULL);
  CHECK_INT((uintptr_t)first % CSF_ALIGNMENT, 0);
  struct csf_areas_mark mark = csf_areas_select(&pool, 0);
  int n = 0;
  while (csf_areas_alloc(&pool, 5000) != NULL) n++;
  CHECK(pool.refused);
  CHECK_INT(budget.bulk, 5 * (16 << 10)); /* the sixth would leave less than is held back */
  CHECK_INT(n, 15);
  csf_areas_rewind(&pool, mark);
  CHECK(csf_areas_alloc(&pool, 64) == first + 1024);
  csf_areas_reset(&pool);
  CHECK_INT(csf_areas_trim(&pool), 5 * (16 << 10));
  CHECK(csf_areas_alloc(&pool, 1 << 20) == NULL);
  pool.forced = true;
  CHECK(csf_areas_alloc(&pool, 1 << 20) != NULL);
  csf_areas_clear(&pool);
  CHECK_INT(budget.bulk, 0);
}

struct sweep {
  struct csf_schema *schema;
  struct ArrowArray source;
};

static enum colshuf_status append_for_sweep(void *ctx) {
  struct sweep *sweep = ctx;
  struct colshuf_error err;
  struct csf_columns columns;
  struct csf_dictionaries_joined joined = {0};
  bool full;
  struct csf_rows rows = {sweep->source.offset, NULL, sweep->source.length};
  enum colshuf_status status = csf_columns_init(&columns, &sweep->schema->root, &test_heap, csf_column_heap(&test_heap), &err);
  if (status == COLSHUF_OK) status = csf_joined_init(&joined, &sweep->schema->root, 1 << 20, &test_heap, &err);
  if (status == COLSHUF_OK) status = csf_joined_add(&joined, &sweep->schema->root, &sweep->source, &full, &err);
  if (status == COLSHUF_OK) status = csf_columns_append(&columns, &sweep->source, rows, &err);
  csf_columns_clear(&columns);
  csf_joined_clear(&joined);
  return status;
}

static void every_refused_allocation_is_an_error_without_leaks(void) {
  struct test_random random = {9};
  for (int round = 0; round < 20; round++) {
    struct test_schema_options any = {0};
    struct test_array_options options = {.rows = 20, .null_percent = 20, .shape = TEST_WILD};
    struct sweep sweep = {.schema = test_random_schema(&random, &any)};
    test_random_array(&random, &sweep.schema->root, &options, &sweep.source);
    test_oom_sweep(append_for_sweep, &sweep);
    sweep.source.release(&sweep.source);
    csf_schema_release(sweep.schema);
  }
}

static const struct test_case tests[] = {
    TEST(rows_of_every_type_come_out_as_they_went_in),
    TEST(columns_in_a_pool_hold_the_same_rows),
    TEST(a_measure_of_rows_is_near_what_they_take),
    TEST(no_validity_before_the_first_null),
    TEST(run_ends_too_many_for_their_type_are_refused),
    TEST(batches_with_other_dictionaries_share_one),
    TEST(dictionaries_that_cannot_be_joined_are_called_full),
    TEST(rows_are_ordered_by_partition_and_stay_in_order_within),
    TEST(a_pool_goes_back_to_a_mark_and_uses_its_areas_again),
    TEST(every_refused_allocation_is_an_error_without_leaks),
};
TEST_MAIN(tests)
