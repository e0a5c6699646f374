/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds sampled from inputs as Spark's RangePartitioner samples them. */
#include "arrow/array.h"
#include "colshuf/partition.h"
#include "partition/round_robin.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"

static const struct colshuf_key key_0 = {.column = 0};

static struct colshuf_bounds_sampler_options sampler_options(int32_t n_partitions) {
  return (struct colshuf_bounds_sampler_options){
      .allocator = test_heap, .n_partitions = n_partitions, .keys = &key_0, .n_keys = 1};
}

/* An int64 batch over the test's own memory. */
struct numbers {
  const void *buffers[2];
  const void *no_buffer[1];
  struct ArrowArray column, root, *columns[1];
};

static void keep(struct ArrowArray *array) {
  array->release = NULL;
}

static const struct ArrowArray *numbers_of(struct numbers *numbers, const int64_t *values, int64_t n) {
  *numbers = (struct numbers){.buffers = {NULL, values}};
  numbers->column = (struct ArrowArray){.length = n, .n_buffers = 2, .buffers = numbers->buffers, .release = keep};
  numbers->columns[0] = &numbers->column;
  numbers->root = (struct ArrowArray){.length = n,
                                      .n_buffers = 1,
                                      .buffers = numbers->no_buffer,
                                      .n_children = 1,
                                      .children = numbers->columns,
                                      .release = keep};
  return &numbers->root;
}

static struct colshuf_bounds_sampler *sampler_new(const struct ArrowSchema *schema,
                                                  const struct colshuf_bounds_sampler_options *options) {
  struct colshuf_error err;
  struct colshuf_bounds_sampler *sampler;
  REQUIRE_OK(colshuf_bounds_sampler_new(schema, options, &sampler, &err));
  return sampler;
}

/* The bounds as int64 values; returns how many. */
static int64_t finish(struct colshuf_bounds_sampler *sampler, int64_t *bounds) {
  struct colshuf_error err;
  struct ArrowSchema schema;
  struct ArrowArray array;
  REQUIRE_OK(colshuf_bounds_sampler_finish(sampler, &schema, &array, &err));
  int64_t n = array.length;
  if (n > 0) memcpy(bounds, array.children[0]->buffers[1], (size_t)n * sizeof *bounds);
  schema.release(&schema);
  array.release(&array);
  colshuf_bounds_sampler_free(sampler);
  return n;
}

/* All rows of one input fit the sample: the bounds are the exact quantiles. */
static void a_whole_input_gives_its_quantiles(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int64", "");
  struct colshuf_bounds_sampler_options options = sampler_options(4);
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  int64_t values[100], bounds[3];
  struct numbers numbers;
  for (int64_t i = 0; i < 100; i++) values[i] = (i * 37) % 100;
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, numbers_of(&numbers, values, 60), &err));
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, numbers_of(&numbers, values + 60, 40), &err));
  CHECK_INT(finish(sampler, bounds), 3);
  CHECK_INT(bounds[0], 24);
  CHECK_INT(bounds[1], 49);
  CHECK_INT(bounds[2], 74);
  test_table_clear(&table);
}

static void equal_candidates_make_one_bound(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int64", "5 | 5 | 5 | 5 | 5 | 5 | 7 | 7");
  struct colshuf_bounds_sampler_options options = sampler_options(8);
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  int64_t bounds[8];
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, &table.batch, &err));
  CHECK_INT(finish(sampler, bounds), 2);
  CHECK_INT(bounds[0], 5);
  CHECK_INT(bounds[1], 7);
  test_table_clear(&table);
}

static void nothing_gives_no_bounds(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int64", "");
  struct colshuf_bounds_sampler_options options = sampler_options(8);
  int64_t bounds[8];
  CHECK_INT(finish(sampler_new(&table.c_schema, &options), bounds), 0);
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, &table.batch, &err));
  REQUIRE_OK(colshuf_bounds_sampler_next_input(sampler, &err));
  CHECK_INT(finish(sampler, bounds), 0);
  test_table_clear(&table);
}

/*
 * The same written as plainly as it can be: a reservoir of numbers for each input, the candidates sorted, a bound at each share
 * of the weights.
 */
struct plain {
  int64_t keys[4096];
  float weights[4096];
  int64_t n;
};

static void plain_input(struct plain *plain, const int64_t *values, int64_t n, int64_t size, uint32_t input, uint32_t seed) {
  uint32_t hashed = (input ^ seed << 16) * 0x9e3775cdu;
  struct csf_random random = csf_random_seeded((int32_t)(__builtin_bswap32(hashed) * 0x9e3775cdu));
  int64_t *reservoir = plain->keys + plain->n, kept = n < size ? n : size;
  for (int64_t i = 0; i < n; i++) {
    int64_t slot = i < size ? i : (int64_t)(csf_random_double(&random) * (double)(i + 1));
    if (slot < size) reservoir[slot] = values[i];
  }
  for (int64_t i = 0; i < kept; i++) plain->weights[plain->n + i] = (float)((double)n / (double)kept);
  plain->n += kept;
}

static int64_t plain_bounds(struct plain *plain, int64_t n_partitions, int64_t *bounds) {
  for (int64_t i = 1; i < plain->n; i++) {
    for (int64_t j = i; j > 0 && plain->keys[j - 1] > plain->keys[j]; j--) {
      int64_t key = plain->keys[j];
      float weight = plain->weights[j];
      plain->keys[j] = plain->keys[j - 1];
      plain->weights[j] = plain->weights[j - 1];
      plain->keys[j - 1] = key;
      plain->weights[j - 1] = weight;
    }
  }
  double sum = 0, passed = 0;
  for (int64_t i = 0; i < plain->n; i++) sum += (double)plain->weights[i];
  if (n_partitions > plain->n) n_partitions = plain->n;
  double step = sum / (double)n_partitions, target = step;
  int64_t n = 0;
  for (int64_t i = 0; i < plain->n && n < n_partitions - 1; i++) {
    passed += (double)plain->weights[i];
    if (passed >= target && (n == 0 || plain->keys[i] > bounds[n - 1])) {
      bounds[n++] = plain->keys[i];
      target += step;
    }
  }
  return n;
}

static void reservoirs_and_weights_are_those_of_spark(void) {
  struct colshuf_error err;
  struct test_random random = {53};
  struct test_table table = test_table("int64", "");
  static struct plain plain;
  static int64_t values[40000];
  for (int round = 0; round < 20; round++) {
    int64_t n_inputs = 1 + round % 4, wanted[64], bounds[64];
    struct colshuf_bounds_sampler_options options = sampler_options(2 + (int32_t)test_random_below(&random, 60));
    options.seed = round;
    options.sample_size = 100 + round * 10;
    options.n_inputs = n_inputs;
    int64_t size = (3 * options.sample_size + n_inputs - 1) / n_inputs;
    struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
    plain.n = 0;
    for (int64_t input = 0; input < n_inputs; input++) {
      int64_t n = (int64_t)test_random_below(&random, round % 3 == 0 ? 200 : 40000);
      uint64_t range = round % 5 == 0 ? 30 : UINT32_MAX;
      for (int64_t i = 0; i < n; i++) values[i] = (int64_t)test_random_below(&random, range);
      for (int64_t at = 0, step; at < n; at += step) {
        struct numbers numbers;
        step = 1 + (int64_t)test_random_below(&random, 3000);
        if (step > n - at) step = n - at;
        REQUIRE_OK(colshuf_bounds_sampler_add(sampler, numbers_of(&numbers, values + at, step), &err));
      }
      if (input + 1 < n_inputs) REQUIRE_OK(colshuf_bounds_sampler_next_input(sampler, &err));
      plain_input(&plain, values, n, size, (uint32_t)input, (uint32_t)round);
    }
    int64_t n_wanted = plain_bounds(&plain, options.n_partitions, wanted), n = finish(sampler, bounds);
    CHECK_INT(n, n_wanted);
    CHECK(n == n_wanted && memcmp(bounds, wanted, (size_t)n * sizeof *bounds) == 0);
  }
  test_table_clear(&table);
}

/* Half NaN: the order holds, the bounds are good for a partitioner, and all NaNs meet in the last partition. */
static void nans_do_not_break_the_order(void) {
  struct colshuf_error err;
  struct test_random random = {59};
  struct test_table table = test_table("float32", "");
  static float values[10000];
  static int32_t ids[10000];
  for (int i = 0; i < 10000; i++)
    values[i] = test_random_below(&random, 2) ? __builtin_nanf("") : (float)test_random_below(&random, 1000);
  struct numbers numbers;
  const struct ArrowArray *batch = numbers_of(&numbers, (const int64_t *)(const void *)values, 10000);
  struct colshuf_bounds_sampler_options options = sampler_options(9);
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, batch, &err));
  struct ArrowSchema schema;
  struct ArrowArray bounds;
  REQUIRE_OK(colshuf_bounds_sampler_finish(sampler, &schema, &bounds, &err));
  colshuf_bounds_sampler_free(sampler);
  struct colshuf_partitioner_options range = {.allocator = test_heap,
                                              .kind = COLSHUF_PARTITION_RANGE,
                                              .n_partitions = 9,
                                              .keys = &key_0,
                                              .n_keys = 1,
                                              .bounds_schema = &schema,
                                              .bounds = &bounds};
  struct colshuf_partitioner *partitioner;
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &range, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, batch, ids, &err));
  int32_t last = 0, nan_id = -1;
  for (int i = 0; i < 10000; i++) last = ids[i] > last ? ids[i] : last;
  for (int i = 0; i < 10000; i++) {
    if (values[i] != values[i]) {
      if (nan_id < 0) nan_id = ids[i];
      CHECK_INT(ids[i], nan_id);
    }
  }
  CHECK_INT(nan_id, last);
  colshuf_partitioner_free(partitioner);
  schema.release(&schema);
  bounds.release(&bounds);
  test_table_clear(&table);
}

/* A thousand nulls and the numbers 1 to 1000 in four ranges, in batches. */
static void check_null_run(bool nulls_last) {
  struct colshuf_error err;
  static char rows[2000 * 8];
  char *at = rows;
  for (int i = 0; i < 2000; i++) at += i < 1000 ? sprintf(at, "null ") : sprintf(at, "%d ", i - 999);
  struct test_table table = test_table("int32", rows);
  struct colshuf_key key = {.column = 0, .nulls_last = nulls_last};
  struct colshuf_bounds_sampler_options options = sampler_options(4);
  options.keys = &key;
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  REQUIRE_OK(colshuf_bounds_sampler_add(sampler, &table.batch, &err));
  struct ArrowSchema schema;
  struct ArrowArray bounds;
  REQUIRE_OK(colshuf_bounds_sampler_finish(sampler, &schema, &bounds, &err));
  colshuf_bounds_sampler_free(sampler);
  struct colshuf_partitioner_options range = {.allocator = test_heap,
                                              .kind = COLSHUF_PARTITION_RANGE,
                                              .n_partitions = 4,
                                              .keys = &key,
                                              .n_keys = 1,
                                              .bounds_schema = &schema,
                                              .bounds = &bounds};
  struct colshuf_partitioner *partitioner;
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &range, &partitioner, &err));
  static int32_t ids[2000];
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
  for (int i = 0; i < 1000; i++) CHECK_INT(ids[i], nulls_last ? ids[0] : 0);
  for (int i = 1001; i < 2000; i++) CHECK(ids[i - 1] <= ids[i]);
  CHECK(nulls_last ? ids[0] >= ids[1999] : ids[1000] > 0);
  colshuf_partitioner_free(partitioner);
  schema.release(&schema);
  bounds.release(&bounds);
  test_table_clear(&table);
}

static void a_run_of_nulls_is_not_split(void) {
  check_null_run(false);
  check_null_run(true);
}

/* Bounds of any orderable type fit a partitioner of the same keys, dictionaries of many batches too. */
static void bounds_of_every_type_can_be_given_to_a_partitioner(void) {
  struct colshuf_error err;
  struct test_random random = {61};
  uint64_t refused = TEST_TYPE(CSF_SPARSE_UNION) | TEST_TYPE(CSF_DENSE_UNION) | TEST_TYPE(CSF_RUN_END_ENCODED) |
                     TEST_TYPE(CSF_MAP) | TEST_TYPE(CSF_INTERVAL_MONTH_DAY_NANO);
  for (int i = 0; i < test_cases(150); i++) {
    struct test_schema_options types = {.types = TEST_ALL_TYPES & ~refused, .n_columns = 2, .plain_names = true};
    struct csf_schema *schema = test_random_schema(&random, &types);
    struct ArrowSchema c_schema, bounds_schema;
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
    struct colshuf_key keys[2] = {{.column = 1, .descending = i % 2}, {.column = 0, .nulls_last = i % 3 == 0}};
    struct colshuf_bounds_sampler_options options = sampler_options(20);
    options.keys = keys;
    options.n_keys = 2;
    options.sample_size = 40;
    struct colshuf_bounds_sampler *sampler = sampler_new(&c_schema, &options);
    struct ArrowArray batch, bounds;
    for (int b = 0; b < 5; b++) {
      struct test_array_options array_options = test_random_options(&random, 300);
      test_random_array(&random, &schema->root, &array_options, &batch);
      REQUIRE_OK(colshuf_bounds_sampler_add(sampler, &batch, &err));
      if (b % 2) REQUIRE_OK(colshuf_bounds_sampler_next_input(sampler, &err));
      batch.release(&batch);
    }
    REQUIRE_OK(colshuf_bounds_sampler_finish(sampler, &bounds_schema, &bounds, &err));
    colshuf_bounds_sampler_free(sampler);
    struct colshuf_partitioner_options range = {.allocator = test_heap,
                                                .kind = COLSHUF_PARTITION_RANGE,
                                                .n_partitions = 20,
                                                .keys = keys,
                                                .n_keys = 2,
                                                .bounds_schema = &bounds_schema,
                                                .bounds = &bounds};
    struct colshuf_partitioner *partitioner;
    REQUIRE_OK(colshuf_partitioner_new(&c_schema, &range, &partitioner, &err));
    colshuf_partitioner_free(partitioner);
    bounds_schema.release(&bounds_schema);
    bounds.release(&bounds);
    c_schema.release(&c_schema);
    csf_schema_release(schema);
  }
}

static enum colshuf_status sample(void *ctx) {
  struct colshuf_error err;
  const struct test_table *table = ctx;
  struct colshuf_bounds_sampler_options options = sampler_options(3);
  options.sample_size = 1;
  struct colshuf_bounds_sampler *sampler;
  struct ArrowSchema schema;
  struct ArrowArray bounds;
  CSF_TRY(colshuf_bounds_sampler_new(&table->c_schema, &options, &sampler, &err));
  enum colshuf_status status = COLSHUF_OK;
  for (int i = 0; i < 4 && status == COLSHUF_OK; i++) {
    status = colshuf_bounds_sampler_add(sampler, &table->batch, &err);
    if (status == COLSHUF_OK && i == 2) status = colshuf_bounds_sampler_next_input(sampler, &err);
  }
  if (status == COLSHUF_OK) status = colshuf_bounds_sampler_finish(sampler, &schema, &bounds, &err);
  if (status == COLSHUF_OK) {
    schema.release(&schema);
    bounds.release(&bounds);
  }
  colshuf_bounds_sampler_free(sampler);
  return status;
}

static void a_refused_allocation_leaves_nothing_behind(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | 'b' | 'c' | 'd' | null");
  CHECK(test_oom_sweep(sample, &table) >= 20);
  test_table_clear(&table);
}

static void a_sampler_that_failed_says_so(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int64", "1 | 2");
  struct colshuf_bounds_sampler_options options = sampler_options(3);
  struct colshuf_bounds_sampler *sampler = sampler_new(&table.c_schema, &options);
  test_heap_refuse_at(1);
  CHECK_STATUS(colshuf_bounds_sampler_add(sampler, &table.batch, &err), COLSHUF_NO_MEMORY);
  CHECK_STATUS(colshuf_bounds_sampler_add(sampler, &table.batch, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "failed before");
  colshuf_bounds_sampler_free(sampler);
  options.n_keys = 0;
  CHECK_STATUS(colshuf_bounds_sampler_new(&table.c_schema, &options, &sampler, &err), COLSHUF_INVALID_ARGUMENT);
  options = sampler_options(0);
  CHECK_STATUS(colshuf_bounds_sampler_new(&table.c_schema, &options, &sampler, &err), COLSHUF_INVALID_ARGUMENT);
  test_table_clear(&table);
}

static const struct test_case tests[] = {
    TEST(a_whole_input_gives_its_quantiles),
    TEST(equal_candidates_make_one_bound),
    TEST(nothing_gives_no_bounds),
    TEST(reservoirs_and_weights_are_those_of_spark),
    TEST(nans_do_not_break_the_order),
    TEST(a_run_of_nulls_is_not_split),
    TEST(bounds_of_every_type_can_be_given_to_a_partitioner),
    TEST(a_refused_allocation_leaves_nothing_behind),
    TEST(a_sampler_that_failed_says_so),
};
TEST_MAIN(tests)
