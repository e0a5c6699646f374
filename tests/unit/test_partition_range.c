/* SPDX-License-Identifier: Apache-2.0 */
/* Range partitioning: the order of every type, keys at bounds, nulls, refusals. */
#include "arrow/array.h"
#include "colshuf/partition.h"
#include "partition/compare.h"
#include "partition/keys.h"
#include "partition/search.h"
#include "partition/sort.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"

enum { MAX_KEYS = 4 };

/* How a range is asked for in these tests: the direction of up to four keys, "a" ascending, "d" descending, capital = nulls
 * last. */
struct request {
  const char *directions;
  enum colshuf_rules rules;
  int32_t n_partitions;
};

static struct colshuf_partitioner_options range_options(const struct request *request, const struct test_table *bounds,
                                                        struct colshuf_key *keys) {
  int32_t n_keys = (int32_t)strlen(request->directions);
  for (int32_t i = 0; i < n_keys; i++) {
    char d = request->directions[i];
    keys[i] = (struct colshuf_key){.column = i, .descending = d == 'd' || d == 'D', .nulls_last = d == 'A' || d == 'D'};
  }
  return (struct colshuf_partitioner_options){.allocator = test_heap,
                                              .kind = COLSHUF_PARTITION_RANGE,
                                              .n_partitions = request->n_partitions,
                                              .keys = keys,
                                              .n_keys = n_keys,
                                              .rules = request->rules,
                                              .bounds_schema = &bounds->c_schema,
                                              .bounds = &bounds->batch};
}

static void check_ranges(const char *types, const char *rows, const char *bounds, struct request request,
                         const int32_t *wanted) {
  struct colshuf_error err;
  struct test_table table = test_table(types, rows), limits = test_table(types, bounds);
  struct colshuf_key keys[MAX_KEYS];
  if (request.n_partitions == 0) request.n_partitions = (int32_t)limits.batch.length + 1;
  struct colshuf_partitioner_options options = range_options(&request, &limits, keys);
  struct colshuf_partitioner *partitioner;
  int32_t ids[64];
  REQUIRE(table.batch.length <= 64);
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
  for (int64_t i = 0; i < table.batch.length; i++) {
    if (ids[i] != wanted[i])
      test_fail(__FILE__, __LINE__, "row %" PRId64 " of %s between %s: %d, not %d", i, rows, bounds, ids[i], wanted[i]);
  }
  colshuf_partitioner_free(partitioner);
  test_table_clear(&limits);
  test_table_clear(&table);
}
#define SPARK(directions_) ((struct request){.directions = directions_})
#define COMET(directions_) ((struct request){.directions = directions_, .rules = COLSHUF_RULES_COMET})
#define CHECK_RANGES(types, rows, bounds, request, ...) \
  check_ranges(types, rows, bounds, request, (const int32_t[]){__VA_ARGS__})

static void a_key_equal_to_a_bound_goes_down_in_spark_and_up_in_comet(void) {
  CHECK_RANGES("int32", "9 | 10 | 11 | 20 | 21", "10 | 20", SPARK("a"), 0, 0, 1, 1, 2);
  CHECK_RANGES("int32", "9 | 10 | 11 | 20 | 21", "10 | 20", COMET("a"), 0, 1, 1, 2, 2);
  CHECK_RANGES("utf8", "'a' | 'b' | 'ba' | 'c'", "'b'", SPARK("a"), 0, 0, 1, 1);
  CHECK_RANGES("utf8", "'a' | 'b' | 'ba' | 'c'", "'b'", COMET("a"), 0, 1, 1, 1);
  CHECK_RANGES("int64", "9223372036854775807 | -9223372036854775808", "-9223372036854775808 | 9223372036854775807", SPARK("a"),
               1, 0);
  CHECK_RANGES("int64", "9223372036854775807 | -9223372036854775808", "-9223372036854775808 | 9223372036854775807", COMET("a"),
               2, 1);
}

static void descending_partition_0_holds_the_first_rows(void) {
  CHECK_RANGES("int32", "10 | 9 | 8 | 7 | 6 | 5 | 4 | 3 | 2 | 1", "7 | 4", SPARK("d"), 0, 0, 0, 0, 1, 1, 1, 2, 2, 2);
  CHECK_RANGES("utf8", "'c' | 'b' | 'a'", "'b'", SPARK("d"), 0, 0, 1);
  CHECK_RANGES("int64", "9223372036854775807 | -9223372036854775808", "0", SPARK("d"), 0, 1);
}

static void zeros_are_equal_and_nan_is_largest_in_spark(void) {
  static const char rows[] = "-inf | -0.0 | 0.0 | 1.0 | inf | nan | xfff8000000000000";
  CHECK_RANGES("float64", rows, "-0.0", SPARK("a"), 0, 0, 0, 1, 1, 1, 1);
  CHECK_RANGES("float64", rows, "0.0", SPARK("a"), 0, 0, 0, 1, 1, 1, 1);
  CHECK_RANGES("float64", rows, "inf", SPARK("a"), 0, 0, 0, 0, 0, 1, 1);
  CHECK_RANGES("float64", rows, "nan", SPARK("a"), 0, 0, 0, 0, 0, 0, 0);
  CHECK_RANGES("float32", "-inf | -0.0 | 0.0 | inf | nan | xffc00000", "0.0 | inf", SPARK("a"), 0, 0, 0, 1, 2, 2);
  CHECK_RANGES("float32", "-inf | -0.0 | 0.0 | inf | nan | xffc00000", "inf | 0.0", SPARK("d"), 2, 1, 1, 0, 0, 0);
}

static void comet_orders_floats_by_their_bits(void) {
  CHECK_RANGES("float64", "-inf | -0.0 | 0.0 | nan | xfff8000000000000", "-inf | 0.0 | inf", COMET("a"), 1, 1, 2, 3, 0);
  CHECK_RANGES("float32", "-0.0 | 0.0 | xffc00000 | x7fc00001", "0.0 | x7fc00000", COMET("a"), 0, 1, 0, 2);
}

static void nulls_keep_together_where_the_flag_puts_them(void) {
  CHECK_RANGES("int32", "null | 1 | 5 | null", "1 | 3", SPARK("a"), 0, 0, 2, 0);
  CHECK_RANGES("int32", "null | 1 | 5 | null", "1 | 3", SPARK("A"), 2, 0, 2, 2);
  CHECK_RANGES("int32", "null | 1 | 5 | null", "3 | 1", SPARK("d"), 0, 1, 0, 0);
  CHECK_RANGES("int32", "null | 1 | 5 | null", "3 | 1", SPARK("D"), 2, 1, 0, 2);
  CHECK_RANGES("int32", "null | 1", "null | 3", SPARK("a"), 0, 1);
  CHECK_RANGES("int32", "null | 1", "null | 3", COMET("a"), 1, 1);
  CHECK_RANGES("int32", "null | 1", "0 | null", SPARK("A"), 1, 1);
  CHECK_RANGES("int32", "null | 1", "0 | null", COMET("A"), 2, 1);
  CHECK_RANGES("null", "null | null", "null", SPARK("a"), 0, 0);
  CHECK_RANGES("dictionary<int8, int32>", "null | ~ | 1 | 5", "1 | 3", SPARK("A"), 2, 2, 0, 2);
}

static void several_keys_order_one_after_another(void) {
  static const char rows[] = "1 'a' | 1 'b' | 1 null | 2 'a' | null 'x' | null null | 2 'zzzzzzzzzz'";
  CHECK_RANGES("int32, utf8", rows, "1 'a' | 2 'b'", SPARK("aa"), 0, 1, 0, 1, 0, 0, 2);
  CHECK_RANGES("int32, utf8", rows, "1 'a' | 2 'b'", SPARK("aA"), 0, 1, 1, 1, 0, 0, 2);
  CHECK_RANGES("int32, utf8", rows, "null 'm' | 1 'b' | 1 'a'", SPARK("aD"), 2, 1, 3, 3, 0, 1, 3);
  CHECK_RANGES("int32, utf8", rows, "null null | null 'x' | 1 'b'", COMET("aa"), 2, 3, 2, 3, 2, 1, 3);
}

static void every_ordered_type_has_its_order(void) {
  CHECK_RANGES("bool", "false | true", "false", SPARK("a"), 0, 1);
  CHECK_RANGES("int8", "-128 | -1 | 0 | 127", "-1", SPARK("a"), 0, 0, 1, 1);
  CHECK_RANGES("uint8", "0 | 127 | 128 | 255", "127", SPARK("a"), 0, 0, 1, 1);
  CHECK_RANGES("uint32", "1 | 4294967295", "2147483648", SPARK("a"), 0, 1);
  CHECK_RANGES("uint64", "1 | 18446744073709551615", "9223372036854775808", SPARK("a"), 0, 1);
  CHECK_RANGES("float16", "xfc00 | x8000 | x0001 | x7e00", "x0000", SPARK("a"), 0, 0, 1, 1);
  CHECK_RANGES("date32, timestamp(us)", "1 5 | 1 6 | 2 0", "1 5", SPARK("aa"), 0, 1, 1);
  CHECK_RANGES("decimal128(10,2)", "-100 | 99 | 100 | 101", "100", SPARK("a"), 0, 0, 0, 1);
  CHECK_RANGES("decimal128(38,2)",
               "-99999999999999999999999999999999999999 | -18446744073709551616 | -1 | 0 | 1 | 18446744073709551616 | "
               "36893488147419103233",
               "-18446744073709551616 | 0 | 36893488147419103232", SPARK("a"), 0, 0, 1, 1, 2, 2, 3);
  CHECK_RANGES("decimal256(60,2)", "-5 | 5 | 18446744073709551617", "-5 | 18446744073709551616", SPARK("a"), 0, 1, 2);
  CHECK_RANGES("interval_day_time", "{1 0} | {0 86400001}", "{1 0}", SPARK("a"), 0, 1);
  CHECK_RANGES("interval_year_month", "-1 | 1", "0", SPARK("a"), 0, 1);
  CHECK_RANGES("binary", "'' | '\\x00' | '\\x7f' | '\\x80' | '\\xff'", "'\\x7f'", SPARK("a"), 0, 0, 0, 1, 1);
  CHECK_RANGES("large_utf8", "'longerthan8' | 'longertham8' | 'longerthan'", "'longerthan'", SPARK("a"), 1, 0, 0);
  CHECK_RANGES("utf8_view", "'longer than twelve bytes' | 'longer than twelve' | 'l'", "'longer than twelve'", SPARK("a"), 1, 0,
               0);
  CHECK_RANGES("fixed_size_binary(2)", "'ab' | 'ac' | 'bb'", "'ab'", SPARK("a"), 0, 1, 1);
  CHECK_RANGES("dictionary<int32, utf8>", "'a' | 'b' | 'c'", "'b'", SPARK("a"), 0, 0, 1);
  CHECK_RANGES("list<int32>", "null | [] | [null] | [1] | [1 null] | [1 2] | [2]", "[1]", SPARK("a"), 0, 0, 0, 0, 1, 1, 1);
  CHECK_RANGES("list<int32>", "null | [] | [1] | [2]", "[1]", SPARK("D"), 1, 1, 0, 0);
  CHECK_RANGES("struct<int32, utf8>", "null | {null 'z'} | {1 null} | {1 'a'} | {1 'b'}", "{1 'a'}", SPARK("a"), 0, 0, 0, 0, 1);
  CHECK_RANGES("fixed_size_list<float32>(2)", "[0.0 nan] | [-0.0 1.0]", "[0.0 inf]", SPARK("a"), 1, 0);
}

static void check_refused(const char *types, const char *bound_types, const char *bounds, struct request request,
                          enum colshuf_status wanted, const char *reason) {
  struct colshuf_error err;
  struct test_table table = test_table(types, ""), limits = test_table(bound_types, bounds);
  struct colshuf_key keys[MAX_KEYS];
  struct colshuf_partitioner_options options = range_options(&request, &limits, keys);
  struct colshuf_partitioner *partitioner;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err), wanted);
  CHECK_CONTAINS(err.message, reason);
  test_table_clear(&limits);
  test_table_clear(&table);
}

static void bounds_that_cannot_be_right_are_refused(void) {
  struct request ten = {.directions = "a", .n_partitions = 10}, two = {.directions = "a", .n_partitions = 2};
  check_refused("int32", "int32", "2 | 1", ten, COLSHUF_INVALID_ARGUMENT, "not in the order");
  check_refused("int32", "int32", "1 | 2 | 2", ten, COLSHUF_INVALID_ARGUMENT, "bounds 1 and 2 are equal");
  check_refused("float64", "float64", "-0.0 | 0.0", ten, COLSHUF_INVALID_ARGUMENT, "equal");
  check_refused("int32", "int32", "1 | null", ten, COLSHUF_INVALID_ARGUMENT, "not in the order");
  check_refused("int32", "int32", "1 | 2", two, COLSHUF_INVALID_ARGUMENT, "2 bounds");
  check_refused("int32", "int64", "1", ten, COLSHUF_INVALID_ARGUMENT, "int64");
  check_refused("decimal128(10,2)", "decimal128(10,3)", "1", ten, COLSHUF_INVALID_ARGUMENT, "10,");
  check_refused("int32", "int32, int32", "1 2", ten, COLSHUF_INVALID_ARGUMENT, "2 columns");
  check_refused("map<int32, int32>", "map<int32, int32>", "", ten, COLSHUF_UNSUPPORTED, "maps");
  check_refused("interval_month_day_nano", "interval_month_day_nano", "", ten, COLSHUF_UNSUPPORTED, "interval");
  check_refused("list<map<int32, int32>>", "int32", "", ten, COLSHUF_UNSUPPORTED, "maps");
}

static void without_bounds_there_is_one_partition(void) {
  struct colshuf_error err;
  CHECK_RANGES("int32", "1 | null | 3", "", ((struct request){.directions = "a", .n_partitions = 7}), 0, 0, 0);
  struct test_table table = test_table("int32", "1 | 2");
  struct colshuf_key key = {0};
  struct colshuf_partitioner_options options = {
      .allocator = test_heap, .kind = COLSHUF_PARTITION_RANGE, .n_partitions = 1, .keys = &key, .n_keys = 1};
  struct colshuf_partitioner *partitioner;
  int32_t ids[2] = {7, 7};
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
  CHECK_INT(ids[0] + ids[1], 0);
  colshuf_partitioner_free(partitioner);
  options.n_partitions = 2;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "bounds");
  test_table_clear(&table);
}

static void every_search_finds_its_place(void) {
  struct colshuf_error err;
  struct test_random random = {43};
  for (size_t n = 0; n < 300; n += n < 40 ? 1 : 37) {
    struct csf_search search;
    REQUIRE_OK(csf_search_init(&search, n, &test_heap, &err));
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++) search.numbers[i] = number += test_random_below(&random, 3);
    if (n > 3) search.numbers[n - 1] = UINT64_MAX;
    uint64_t wanted[133];
    int32_t places[133];
    for (size_t i = 0; i < 133; i++) wanted[i] = test_random_below(&random, 2 * n + 3);
    wanted[0] = UINT64_MAX;
    wanted[132] = UINT64_MAX;
    for (int upper = 0; upper < 2; upper++) {
      csf_search_run(&search, wanted, 133, upper, places);
      for (size_t i = 0; i < 133; i++) {
        int32_t count = 0;
        for (size_t j = 0; j < n; j++) count += upper ? search.numbers[j] <= wanted[i] : search.numbers[j] < wanted[i];
        CHECK_INT(places[i], count);
      }
    }
    csf_search_clear(&search);
  }
}

/* --- random arrays: the search against a count over all bounds, and the laws of an order --- */

static int compare_key_rows(void *ctx, uint32_t a, uint32_t b);

struct ordered {
  const struct csf_keys *keys;
  const struct csf_order *orders;
  enum colshuf_rules rules;
};

static int compare_key_rows(void *ctx, uint32_t a, uint32_t b) {
  const struct ordered *ordered = ctx;
  return csf_compare_rows(ordered->keys->columns, a, ordered->keys->columns, b, ordered->orders, ordered->keys->n_columns,
                          ordered->rules);
}

/* Sorted distinct rows of batch, some of them, as bounds. */
static void pick_bounds(struct test_random *random, const struct csf_keys *keys, const struct ArrowArray *batch,
                        struct ordered *ordered, struct ArrowArray *bounds) {
  struct colshuf_error err;
  uint32_t items[400], spare[400];
  int64_t rows[400], n = 0;
  for (uint32_t i = 0; i < batch->length; i++) items[i] = i;
  csf_sort_by(items, spare, (size_t)batch->length, compare_key_rows, ordered);
  for (int64_t i = 0; i < batch->length; i++) {
    if (n > 0 && compare_key_rows(ordered, (uint32_t)rows[n - 1], items[i]) == 0) continue;
    if (n > 0) CHECK(compare_key_rows(ordered, (uint32_t)rows[n - 1], items[i]) < 0);
    if (test_random_below(random, 3) == 0) rows[n++] = items[i];
  }
  REQUIRE_OK(csf_array_take(&keys->schema->root, batch, rows, n, &test_heap, bounds, &err));
}

static void check_against_a_count(const struct ordered *ordered, struct csf_keys *bounds, const struct ArrowArray *batch,
                                  const int32_t *ids) {
  int64_t n_bounds = bounds->n_columns > 0 ? bounds->columns[0].length : 0;
  for (int64_t row = 0; row < batch->length; row++) {
    int32_t before = 0;
    for (int64_t i = 0; i < n_bounds; i++) {
      int order =
          csf_compare_rows(bounds->columns, i, ordered->keys->columns, row, ordered->orders, bounds->n_columns, ordered->rules);
      before += ordered->rules == COLSHUF_RULES_COMET ? order <= 0 : order < 0;
    }
    CHECK_INT(ids[row], before);
  }
}

static void try_random_range(struct test_random *random, int i) {
  struct colshuf_error err;
  uint64_t refused = TEST_TYPE(CSF_SPARSE_UNION) | TEST_TYPE(CSF_DENSE_UNION) | TEST_TYPE(CSF_RUN_END_ENCODED) |
                     TEST_TYPE(CSF_MAP) | TEST_TYPE(CSF_INTERVAL_MONTH_DAY_NANO);
  struct test_schema_options types = {.types = TEST_ALL_TYPES & ~refused, .n_columns = 1 + i % 3, .plain_names = true};
  struct csf_schema *schema = test_random_schema(random, &types);
  struct test_array_options array_options = test_random_options(random, 400);
  array_options.repeat_percent = i % 4 == 0 ? 80 : 0;
  struct ArrowArray batch, bounds;
  struct ArrowSchema c_schema;
  test_random_array(random, &schema->root, &array_options, &batch);
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
  struct csf_order orders[3];
  struct colshuf_key key_options[3];
  for (int32_t c = 0; c < 3; c++) {
    orders[c] = (struct csf_order){test_random_below(random, 2) == 0, test_random_below(random, 2) == 0};
    key_options[c] = (struct colshuf_key){.column = c, .descending = orders[c].descending, .nulls_last = orders[c].nulls_last};
  }
  struct csf_keys keys, bound_keys;
  REQUIRE_OK(csf_keys_init(&keys, &c_schema, NULL, -1, CSF_USE_ORDER, &test_heap, &err));
  REQUIRE_OK(csf_keys_bind(&keys, &batch, &err));
  struct ordered ordered = {&keys, orders, i % 2 ? COLSHUF_RULES_SPARK : COLSHUF_RULES_COMET};
  pick_bounds(random, &keys, &batch, &ordered, &bounds);
  struct colshuf_partitioner_options options = {.allocator = test_heap,
                                                .kind = COLSHUF_PARTITION_RANGE,
                                                .n_partitions = 500,
                                                .keys = key_options,
                                                .n_keys = schema->root.n_children,
                                                .rules = ordered.rules,
                                                .bounds_schema = &c_schema,
                                                .bounds = &bounds};
  struct colshuf_partitioner *partitioner;
  int32_t ids[400];
  REQUIRE_OK(colshuf_partitioner_new(&c_schema, &options, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &batch, ids, &err));
  REQUIRE_OK(csf_keys_init(&bound_keys, &c_schema, NULL, -1, CSF_USE_ORDER, &test_heap, &err));
  REQUIRE_OK(csf_keys_bind(&bound_keys, &bounds, &err));
  check_against_a_count(&ordered, &bound_keys, &batch, ids);
  colshuf_partitioner_free(partitioner);
  csf_keys_clear(&bound_keys);
  csf_keys_clear(&keys);
  bounds.release(&bounds);
  batch.release(&batch);
  c_schema.release(&c_schema);
  csf_schema_release(schema);
}

static void ids_count_the_bounds_before_a_row_for_every_type(void) {
  struct test_random random = {47};
  for (int i = 0; i < test_cases(400); i++) try_random_range(&random, i);
}

/* Ascending and reversed batches against the same bounds. */
static void ranges_do_not_overlap_and_equal_keys_meet(void) {
  struct colshuf_error err;
  enum { N = 1000, STEP = 100 };
  struct test_table bounds = test_table("int64", "9999 | 19999 | 29999 | 39999 | 49999 | 59999 | 69999 | 79999 | 89999");
  struct request request = {.directions = "a", .n_partitions = 10};
  struct colshuf_key keys[MAX_KEYS];
  struct colshuf_partitioner_options options = range_options(&request, &bounds, keys);
  struct colshuf_partitioner *up, *down;
  REQUIRE_OK(colshuf_partitioner_new(&bounds.c_schema, &options, &up, &err));
  REQUIRE_OK(colshuf_partitioner_new(&bounds.c_schema, &options, &down, &err));
  int64_t forward[N], backward[N];
  int32_t up_ids[N], down_ids[N];
  for (int64_t batch = 0; batch < STEP; batch++) {
    for (int64_t i = 0; i < N; i++) {
      forward[i] = batch * N + i;
      backward[N - 1 - i] = forward[i];
    }
    const void *buffers[2] = {NULL, forward}, *no_buffer[1] = {NULL};
    struct ArrowArray column = {.length = N, .n_buffers = 2, .buffers = buffers, .release = bounds.batch.release};
    struct ArrowArray *columns[1] = {&column};
    struct ArrowArray root = {.length = N,
                              .n_buffers = 1,
                              .buffers = no_buffer,
                              .n_children = 1,
                              .children = columns,
                              .release = bounds.batch.release};
    REQUIRE_OK(colshuf_partitioner_ids(up, &root, up_ids, &err));
    buffers[1] = backward;
    REQUIRE_OK(colshuf_partitioner_ids(down, &root, down_ids, &err));
    for (int64_t i = 0; i < N; i++) {
      CHECK_INT(up_ids[i], forward[i] / 10000);
      CHECK_INT(down_ids[N - 1 - i], up_ids[i]);
    }
  }
  colshuf_partitioner_free(up);
  colshuf_partitioner_free(down);
  test_table_clear(&bounds);
}

static enum colshuf_status make_ranges(void *ctx) {
  struct colshuf_error err;
  const struct test_table *bounds = ctx;
  struct request request = {.directions = "aa", .n_partitions = 10};
  struct colshuf_key keys[MAX_KEYS];
  struct colshuf_partitioner_options options = range_options(&request, bounds, keys);
  struct colshuf_partitioner *partitioner;
  int32_t ids[8];
  CSF_TRY(colshuf_partitioner_new(&bounds->c_schema, &options, &partitioner, &err));
  enum colshuf_status status = colshuf_partitioner_ids(partitioner, &bounds->batch, ids, &err);
  colshuf_partitioner_free(partitioner);
  return status;
}

static void a_refused_allocation_leaves_nothing_behind(void) {
  struct test_table bounds = test_table("utf8, list<int32>", "'a' [1] | 'a' [2] | 'b' null");
  CHECK(test_oom_sweep(make_ranges, &bounds) >= 6);
  test_table_clear(&bounds);
}

static const struct test_case tests[] = {
    TEST(a_key_equal_to_a_bound_goes_down_in_spark_and_up_in_comet),
    TEST(descending_partition_0_holds_the_first_rows),
    TEST(zeros_are_equal_and_nan_is_largest_in_spark),
    TEST(comet_orders_floats_by_their_bits),
    TEST(nulls_keep_together_where_the_flag_puts_them),
    TEST(several_keys_order_one_after_another),
    TEST(every_ordered_type_has_its_order),
    TEST(bounds_that_cannot_be_right_are_refused),
    TEST(without_bounds_there_is_one_partition),
    TEST(every_search_finds_its_place),
    TEST(ids_count_the_bounds_before_a_row_for_every_type),
    TEST(ranges_do_not_overlap_and_equal_keys_meet),
    TEST(a_refused_allocation_leaves_nothing_behind),
};
TEST_MAIN(tests)
