/* SPDX-License-Identifier: Apache-2.0 */
/* Round robin: Spark's generator and start, the order by UnsafeRow bytes, Comet's by hash. */
#include "colshuf/partition.h"
#include "partition/keys.h"
#include "partition/round_robin.h"
#include "partition/sort.h"
#include "partition/unsafe_row.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"

/* Starts that Spark's XORShiftRandom gives for the tasks 0 to 5. */
static void tasks_start_where_spark_starts_them(void) {
  static const int32_t n[] = {2, 3, 8, 10, 200};
  static const int32_t wanted[][6] = {
      {0, 0, 1, 1, 1, 1}, {2, 0, 1, 2, 1, 1}, {1, 1, 7, 5, 4, 7}, {8, 3, 8, 7, 3, 5}, {28, 103, 28, 47, 53, 25}};
  for (size_t i = 0; i < 5; i++) {
    for (int64_t task = 0; task < 6; task++) {
      struct csf_random random = csf_random_seeded(task);
      CHECK_INT(csf_random_below(&random, n[i]), wanted[i][task]);
    }
  }
}

static struct colshuf_partitioner_options round_robin(int32_t n_partitions, int64_t task_id) {
  return (struct colshuf_partitioner_options){
      .allocator = test_heap, .kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = n_partitions, .task_id = task_id};
}

static struct colshuf_partitioner *partitioner_new(const struct test_table *table,
                                                   const struct colshuf_partitioner_options *options) {
  struct colshuf_error err;
  struct colshuf_partitioner *partitioner;
  REQUIRE_OK(colshuf_partitioner_new(&table->c_schema, options, &partitioner, &err));
  return partitioner;
}

static void the_first_row_goes_one_past_the_start_and_batches_go_on(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int32", "1 | 2 | 3");
  struct colshuf_partitioner_options options = round_robin(10, 0);
  struct colshuf_partitioner *partitioner = partitioner_new(&table, &options);
  for (int32_t batch = 0; batch < 5; batch++) {
    int32_t ids[3];
    REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
    for (int32_t i = 0; i < 3; i++) CHECK_INT(ids[i], (9 + batch * 3 + i) % 10);
  }
  colshuf_partitioner_free(partitioner);
  test_table_clear(&table);
}

static void groups_of_rows_go_on_from_batch_to_batch(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int32", "1 | 2 | 3");
  struct colshuf_partitioner_options options = round_robin(10, 0);
  options.group_rows = 4;
  for (int rules = COLSHUF_RULES_SPARK; rules <= COLSHUF_RULES_COMET; rules++) {
    options.rules = (enum colshuf_rules)rules;
    struct colshuf_partitioner *partitioner = partitioner_new(&table, &options);
    for (int32_t batch = 0; batch < 20; batch++) {
      int32_t ids[3];
      REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
      for (int32_t i = 0; i < 3; i++) CHECK_INT(ids[i], (9 + (batch * 3 + i) / 4) % 10);
    }
    colshuf_partitioner_free(partitioner);
  }
  options.group_rows = -1;
  struct colshuf_partitioner *partitioner;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err), COLSHUF_INVALID_ARGUMENT);
  test_table_clear(&table);
}

/* Sixteen tasks of six or seven rows fill all of ten partitions. */
static void tasks_do_not_all_start_at_the_same_partition(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int32", "1 | 2 | 3 | 4 | 5 | 6 | 7");
  bool used[10] = {false};
  for (int64_t task = 0; task < 16; task++) {
    struct colshuf_partitioner_options options = round_robin(10, task);
    struct colshuf_partitioner *partitioner = partitioner_new(&table, &options);
    int32_t ids[7], sizes[10] = {0};
    table.batch.length = 6 + task % 2;
    REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
    for (int64_t i = 0; i < table.batch.length; i++) {
      used[ids[i]] = true;
      CHECK_INT(sizes[ids[i]]++, 0);
    }
    colshuf_partitioner_free(partitioner);
  }
  for (int i = 0; i < 10; i++) CHECK(used[i]);
  table.batch.length = 7;
  test_table_clear(&table);
}

static void check_row(const char *types, const char *row, const char *wanted) {
  struct colshuf_error err;
  struct test_table table = test_table(types, row);
  struct csf_keys keys;
  struct csf_buffer bytes;
  csf_buffer_init(&bytes, &test_heap);
  REQUIRE_OK(csf_keys_init(&keys, &table.c_schema, NULL, -1, CSF_USE_ROW, &test_heap, &err));
  REQUIRE_OK(csf_keys_bind(&keys, &table.batch, &err));
  REQUIRE_OK(csf_unsafe_row_append(keys.columns, keys.n_columns, 0, &bytes, &err));
  struct csf_buffer hex = test_hex(wanted);
  CHECK_INT(bytes.size, hex.size);
  CHECK(bytes.size == hex.size && memcmp(bytes.data, hex.data, hex.size) == 0);
  csf_buffer_clear(&hex);
  csf_buffer_clear(&bytes);
  csf_keys_clear(&keys);
  test_table_clear(&table);
}

static void rows_have_the_bytes_of_an_unsafe_row(void) {
  check_row("int32, utf8, int64", "7 'hello' null",
            "0400000000000000 0700000000000000 0500000020000000 0000000000000000 68656c6c6f000000");
  check_row("bool, int8, int16, float32, float64", "true -1 -2 1.0 1.0",
            "0000000000000000 0100000000000000 ff00000000000000 feff000000000000 0000803f00000000 000000000000f03f");
  check_row("decimal128(18,2), decimal128(20,2), decimal128(20,2)", "-1 -129 null",
            "0400000000000000 ffffffffffffffff 0200000020000000 0000000030000000 ff7f000000000000 0000000000000000 "
            "0000000000000000 0000000000000000");
  check_row("interval_month_day_nano", "{1 2 3000}", "0000000000000000 1000000010000000 0100000002000000 0300000000000000");
  check_row("interval_month_day_nano", "null", "0100000000000000 1000000010000000 0000000000000000 0000000000000000");
  check_row("struct<int8, utf8>", "{5 'x'}",
            "0000000000000000 2000000010000000 0000000000000000 0500000000000000 0100000018000000 7800000000000000");
  check_row("list<int16>, list<utf8>", "[1 null 3] ['ab']",
            "0000000000000000 1800000018000000 2000000030000000 0300000000000000 0200000000000000 0100000003000000 "
            "0100000000000000 0000000000000000 0200000018000000 6162000000000000");
  check_row("map<int32, bool>", "[{1 true}]",
            "0000000000000000 3800000010000000 1800000000000000 0100000000000000 0000000000000000 0100000000000000 "
            "0100000000000000 0000000000000000 0100000000000000");
  check_row("dictionary<int8, utf8>, dictionary<int32, decimal128(20,0)>", "'hello' null",
            "0200000000000000 0500000018000000 0000000020000000 68656c6c6f000000 0000000000000000 0000000000000000");
}

/* The ids of table with sort_first. */
static void sorted_ids(const struct test_table *table, int32_t n_partitions, int32_t *ids) {
  struct colshuf_error err;
  struct colshuf_partitioner_options options = round_robin(n_partitions, 3);
  options.sort_first = 1;
  struct colshuf_partitioner *partitioner = partitioner_new(table, &options);
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table->batch, ids, &err));
  colshuf_partitioner_free(partitioner);
}

enum { N_SHUFFLED = 1000 };

/* A table of the numbers in `order`, each with a text of its own. */
static struct test_table table_of(const int32_t *order) {
  struct csf_buffer text;
  struct colshuf_error err;
  csf_buffer_init(&text, &test_heap);
  for (int i = 0; i < N_SHUFFLED; i++) {
    char row[64];
    int size = snprintf(row, sizeof row, "%d 'text %d' | ", order[i], order[i] * 7);
    REQUIRE_OK(csf_buffer_append(&text, row, (size_t)size, &err));
  }
  REQUIRE_OK(csf_buffer_append(&text, "", 1, &err));
  text.data[text.size - 3] = '\0';
  struct test_table table = test_table("int32, utf8", (const char *)text.data);
  csf_buffer_clear(&text);
  return table;
}

static void sorting_first_gives_a_retry_the_same_partitions(void) {
  struct test_random random = {31};
  int32_t order[N_SHUFFLED], ids[N_SHUFFLED], again[N_SHUFFLED];
  for (int32_t i = 0; i < N_SHUFFLED; i++) order[i] = i;
  struct test_table table = table_of(order);
  sorted_ids(&table, 7, ids);
  test_table_clear(&table);
  for (int32_t i = N_SHUFFLED - 1; i > 0; i--) {
    size_t j = test_random_below(&random, (uint64_t)i + 1);
    int32_t swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  table = table_of(order);
  sorted_ids(&table, 7, again);
  for (int32_t i = 0; i < N_SHUFFLED; i++) CHECK_INT(again[i], ids[order[i]]);
  test_table_clear(&table);
}

static void a_null_column_is_dealt_out_as_any_other(void) {
  struct test_table table = test_table("int32, null", "1 null | 2 null | 3 null");
  int32_t ids[3];
  sorted_ids(&table, 2, ids);
  CHECK_INT(ids[0] + ids[1] + ids[2], 1 + (ids[0] + ids[1] + ids[2] == 2));
  test_table_clear(&table);
}

/* Rows of one hash: 16 rows, of which many are the same. */
static void equal_rows_keep_their_order_among_themselves(void) {
  struct test_table table = test_table("int32", "5 | 5 | 5 | 5 | 5 | 5");
  int32_t ids[6];
  sorted_ids(&table, 4, ids);
  for (int i = 1; i < 6; i++) CHECK_INT(ids[i], (ids[i - 1] + 1) % 4);
  test_table_clear(&table);
}

static void comets_round_robin_hashes_the_first_columns(void) {
  struct colshuf_error err;
  struct test_table table = test_table("int32, utf8, int64", "1 'x' 5 | null 'x' 6 | 1 'x' 7");
  struct colshuf_partitioner_options options = round_robin(1000, 0);
  options.rules = COLSHUF_RULES_COMET;
  int32_t columns[] = {0, 1, 2}, hashes[3], ids[3];
  for (int32_t max = 0; max <= 4; max++) {
    options.max_hash_columns = max;
    struct colshuf_partitioner *partitioner = partitioner_new(&table, &options);
    REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
    int32_t n = max == 0 || max > 3 ? 3 : max;
    REQUIRE_OK(colshuf_murmur3(&table.c_schema, &table.batch, columns, n, 42, COLSHUF_RULES_COMET, hashes, &err));
    for (int i = 0; i < 3; i++) CHECK_INT(ids[i], ((int64_t)hashes[i] % 1000 + 1000) % 1000);
    colshuf_partitioner_free(partitioner);
  }
  test_table_clear(&table);
}

static int compare_numbers(void *ctx, uint32_t a, uint32_t b) {
  const uint32_t *keys = ctx;
  return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

static void sorts_are_stable(void) {
  struct test_random random = {37};
  uint32_t keys[600], items[600], spare[600];
  uint64_t entries[600], spare_entries[600];
  for (size_t n = 0; n <= 600; n += n < 40 ? 1 : 28) {
    for (uint32_t i = 0; i < n; i++) {
      keys[i] = (uint32_t)test_random_below(&random, n % 2 ? 50 : UINT32_MAX);
      items[i] = i;
      entries[i] = (uint64_t)keys[i] << 32 | i;
    }
    csf_sort_by(items, spare, n, compare_numbers, keys);
    csf_sort_by_key(entries, spare_entries, n);
    for (uint32_t i = 0; i < n; i++) {
      CHECK_INT((uint32_t)entries[i], items[i]);
      if (i > 0)
        CHECK(keys[items[i - 1]] < keys[items[i]] || (keys[items[i - 1]] == keys[items[i]] && items[i - 1] < items[i]));
    }
  }
}

/* Rows can be made of every type but unions and runs, whatever the array's shape: equal values make equal bytes. */
static void rows_depend_on_values_only(void) {
  struct test_random random = {41};
  struct test_schema_options types = {
      .types = TEST_ALL_TYPES & ~(TEST_TYPE(CSF_SPARSE_UNION) | TEST_TYPE(CSF_DENSE_UNION) | TEST_TYPE(CSF_RUN_END_ENCODED)),
      .plain_names = true};
  struct colshuf_error err;
  for (int i = 0; i < test_cases(200); i++) {
    struct csf_schema *schema = test_random_schema(&random, &types);
    struct test_array_options options = test_random_options(&random, 50);
    struct ArrowArray batch, copy;
    struct ArrowSchema c_schema;
    test_random_array(&random, &schema->root, &options, &batch);
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
    int64_t rows[50];
    for (int64_t row = 0; row < batch.length; row++) rows[row] = row;
    REQUIRE_OK(csf_array_take(&schema->root, &batch, rows, batch.length, &test_heap, &copy, &err));
    struct csf_keys a, b;
    struct csf_buffer a_bytes, b_bytes;
    csf_buffer_init(&a_bytes, &test_heap);
    csf_buffer_init(&b_bytes, &test_heap);
    REQUIRE_OK(csf_keys_init(&a, &c_schema, NULL, -1, CSF_USE_ROW, &test_heap, &err));
    REQUIRE_OK(csf_keys_init(&b, &c_schema, NULL, -1, CSF_USE_ROW, &test_heap, &err));
    REQUIRE_OK(csf_keys_bind(&a, &batch, &err));
    REQUIRE_OK(csf_keys_bind(&b, &copy, &err));
    for (int64_t row = 0; row < batch.length; row++) {
      a_bytes.size = b_bytes.size = 0;
      REQUIRE_OK(csf_unsafe_row_append(a.columns, a.n_columns, row, &a_bytes, &err));
      REQUIRE_OK(csf_unsafe_row_append(b.columns, b.n_columns, row, &b_bytes, &err));
      CHECK_INT(a_bytes.size % 8, 0);
      CHECK(a_bytes.size == b_bytes.size);
      CHECK(a_bytes.size == 0 || memcmp(a_bytes.data, b_bytes.data, a_bytes.size) == 0);
    }
    csf_buffer_clear(&a_bytes);
    csf_buffer_clear(&b_bytes);
    csf_keys_clear(&a);
    csf_keys_clear(&b);
    batch.release(&batch);
    copy.release(&copy);
    c_schema.release(&c_schema);
    csf_schema_release(schema);
  }
}

static enum colshuf_status deal_out(void *ctx) {
  struct colshuf_error err;
  const struct test_table *table = ctx;
  struct colshuf_partitioner_options options = round_robin(10, 1);
  options.sort_first = 1;
  struct colshuf_partitioner *partitioner;
  int32_t ids[8];
  CSF_TRY(colshuf_partitioner_new(&table->c_schema, &options, &partitioner, &err));
  enum colshuf_status status = colshuf_partitioner_ids(partitioner, &table->batch, ids, &err);
  colshuf_partitioner_free(partitioner);
  return status;
}

static void a_refused_allocation_leaves_nothing_behind(void) {
  struct test_table table = test_table("utf8, list<int32>", "'a' [1] | 'a' [1] | 'b' null");
  CHECK(test_oom_sweep(deal_out, &table) >= 6);
  test_table_clear(&table);
}

static const struct test_case tests[] = {
    TEST(tasks_start_where_spark_starts_them),
    TEST(the_first_row_goes_one_past_the_start_and_batches_go_on),
    TEST(groups_of_rows_go_on_from_batch_to_batch),
    TEST(tasks_do_not_all_start_at_the_same_partition),
    TEST(rows_have_the_bytes_of_an_unsafe_row),
    TEST(rows_depend_on_values_only),
    TEST(sorting_first_gives_a_retry_the_same_partitions),
    TEST(a_null_column_is_dealt_out_as_any_other),
    TEST(equal_rows_keep_their_order_among_themselves),
    TEST(comets_round_robin_hashes_the_first_columns),
    TEST(sorts_are_stable),
    TEST(a_refused_allocation_leaves_nothing_behind),
};
TEST_MAIN(tests)
