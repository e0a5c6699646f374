/* SPDX-License-Identifier: Apache-2.0 */
/* Hash partitioning, single, given ids, and the row lists. */
#include "colshuf/partition.h"
#include "golden/murmur3_vectors.h"
#include "partition/hash.h"
#include "partition/keys.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"

/* The hashes of columns of a table, all together or one by one. */
static void hash_table(const struct test_table *table, const int32_t *columns, int32_t n_columns, int32_t seed,
                       enum colshuf_rules rules, int32_t *hashes) {
  struct colshuf_error err;
  REQUIRE_OK(colshuf_murmur3(&table->c_schema, &table->batch, columns, n_columns, seed, rules, hashes, &err));
}

static void every_vector_is_reproduced(void) {
  int n_checked = 0;
  for (size_t i = 0; i < sizeof murmur3_vectors / sizeof *murmur3_vectors; i++, n_checked++) {
    const struct murmur3_vector *vector = &murmur3_vectors[i];
    struct test_table table = test_table(vector->types, vector->row);
    int32_t n_columns = table.schema->root.n_children, hash, all[32];
    for (int32_t c = 0; c < n_columns; c++) all[c] = c;
    for (int32_t c = 0; c < (vector->each ? n_columns : 1); c++) {
      hash_table(&table, all + c, vector->each ? 1 : n_columns, vector->seed, vector->rules, &hash);
      if (hash != vector->hash)
        test_fail(__FILE__, __LINE__, "%s of %s is %d, not %d", vector->row, vector->types, hash, vector->hash);
    }
    test_table_clear(&table);
  }
  CHECK_INT(n_checked, 131);
}

static void check_hashes(const char *types, const char *rows, enum colshuf_rules rules, const int32_t *wanted) {
  struct test_table table = test_table(types, rows);
  int32_t columns[] = {0, 1, 2, 3}, hashes[64];
  REQUIRE(table.batch.length <= 64);
  hash_table(&table, columns, table.schema->root.n_children, 42, rules, hashes);
  for (int64_t i = 0; i < table.batch.length; i++) CHECK_INT(hashes[i], wanted[i]);
  test_table_clear(&table);
}
#define CHECK_HASHES(types, rows, rules, ...) check_hashes(types, rows, rules, (const int32_t[]){__VA_ARGS__})

static void every_nan_hashes_as_the_canonical_one(void) {
  CHECK_HASHES("float32", "x7fc00000 | xffc00000 | x7f800001 | x7fffffff", COLSHUF_RULES_SPARK, -349261430, -349261430,
               -349261430, -349261430);
  CHECK_HASHES("float64", "x7ff8000000000000 | xfff8000000000000 | x7ff0000000000001", COLSHUF_RULES_SPARK, -1281358385,
               -1281358385, -1281358385);
}

static void comet_hashes_the_bits_of_a_nan(void) {
  CHECK_HASHES("float32", "x7fc00000 | xffc00000", COLSHUF_RULES_COMET, -349261430, 299915115);
  CHECK_HASHES("float64", "x7ff8000000000000 | xfff8000000000000", COLSHUF_RULES_COMET, -1281358385, -1489914710);
}

static void zeros_of_both_signs_hash_alike(void) {
  CHECK_HASHES("float32", "0.0 | null | -0.0", COLSHUF_RULES_SPARK, 933211791, 42, 933211791);
  CHECK_HASHES("float64", "0.0 | null | -0.0", COLSHUF_RULES_SPARK, -1670924195, 42, -1670924195);
  CHECK_HASHES("float64", "0.0 | -0.0", COLSHUF_RULES_COMET, -1670924195, -1670924195);
}

static void a_null_leaves_the_running_hash(void) {
  CHECK_HASHES("float32", "1.0 | null | -1.0", COLSHUF_RULES_SPARK, -466301895, 42, -603084565);
  CHECK_HASHES("list<int32>", "[1 null] | [null 1] | [1] | [] | [null null] | null | [1 2]", COLSHUF_RULES_SPARK, -559580957,
               -559580957, -559580957, 42, 42, 42, -222940379);
  CHECK_HASHES("null", "null | null", COLSHUF_RULES_SPARK, 42, 42);
  CHECK_HASHES("struct<int32, int32>", "{1 null} | null | {null 1}", COLSHUF_RULES_SPARK, -559580957, 42, -559580957);
}

static void a_dictionary_hashes_as_its_values(void) {
  CHECK_HASHES("dictionary<int32, utf8>", "'hello' | 'bar' | null | 'hello' | ~", COLSHUF_RULES_SPARK, -1008564952, -1808790533,
               42, -1008564952, 42);
  CHECK_HASHES("int32, dictionary<uint8, utf8>", "null 'hello' | null 'bar' | 1 null | 1 ~", COLSHUF_RULES_SPARK, -1008564952,
               -1808790533, -559580957, -559580957);
  CHECK_HASHES("list<dictionary<int8, int32>>", "[1 2] | [1] | [~]", COLSHUF_RULES_SPARK, -222940379, -559580957, 42);
}

/* Two float keys, each of zeros, NaNs and one, in all pairs, behind rows that are sliced off. */
static void a_slice_hashes_as_the_rows_it_shows(void) {
  static const char *const singles[] = {"0.0", "-0.0", "x7fc00000", "xffc00000", "1.0"};
  static const char *const doubles[] = {"0.0", "-0.0", "x7ff8000000000000", "xfff8000000000000", "1.0"};
  char rows[25 * 64] = "";
  for (int i = 0; i < 25; i++) {
    snprintf(rows + strlen(rows), 64, "%s%s %s", i > 0 ? " | " : "", singles[i / 5], doubles[i % 5]);
  }
  struct test_table table = test_table("float32, float64", rows);
  const int32_t columns[] = {0, 1};
  int32_t whole[25], slice[22];
  hash_table(&table, columns, 2, 42, COLSHUF_RULES_SPARK, whole);
  table.batch.length = 22;
  table.batch.offset = 3;
  hash_table(&table, columns, 2, 42, COLSHUF_RULES_SPARK, slice);
  for (int i = 0; i < 22; i++) CHECK_INT(slice[i], whole[i + 3]);
  table.batch.offset = 0;
  for (int32_t c = 0; c < 2; c++) table.batch.children[c]->offset = 3;
  for (int32_t c = 0; c < 2; c++) table.batch.children[c]->length = 22;
  hash_table(&table, columns, 2, 42, COLSHUF_RULES_SPARK, slice);
  for (int i = 0; i < 22; i++) CHECK_INT(slice[i], whole[i + 3]);
  CHECK_INT(whole[0], whole[6]);   /* zeros */
  CHECK_INT(whole[12], whole[18]); /* NaNs */
  test_table_clear(&table);
}

static void decimals_hash_as_longs_or_as_their_shortest_bytes(void) {
  CHECK_HASHES("decimal128(18,2)", "-123 | 0 | 123 | null", COLSHUF_RULES_SPARK, 1993430267, -1670924195, -46242105, 42);
  CHECK_HASHES("decimal64(18,2)", "-123 | 0 | 123 | null", COLSHUF_RULES_SPARK, 1993430267, -1670924195, -46242105, 42);
  CHECK_HASHES("decimal32(9,2)", "-123 | 0 | 123 | null", COLSHUF_RULES_SPARK, 1993430267, -1670924195, -46242105, 42);
  CHECK_HASHES("decimal256(18,2)", "-123 | 0 | 123 | null", COLSHUF_RULES_SPARK, 1993430267, -1670924195, -46242105, 42);
  CHECK_HASHES("decimal128(20,2)", "123 | -123 | 0 | null", COLSHUF_RULES_SPARK, -1536290115, 1285747285, -783713497, 42);
  CHECK_HASHES("decimal256(40,2)", "123 | -123 | 0 | null", COLSHUF_RULES_SPARK, -1536290115, 1285747285, -783713497, 42);
}

static void the_days_of_an_interval_count_unless_spark_generated_the_code(void) {
  static const char rows[] = "{1 2 3000} | {1 3 3000} | {0 0 0} | null";
  CHECK_HASHES("interval_month_day_nano", "{1 2 3000}", COLSHUF_RULES_SPARK, 2116328997);
  CHECK_HASHES("interval_month_day_nano", "{1 2 3000}", COLSHUF_RULES_COMET, 2116328997);
  CHECK_HASHES("interval_month_day_nano", rows, COLSHUF_RULES_SPARK_GENERATED, -85556545, -85556545, 1081828689, 42);
}

/* Each as the Spark type that holds all its values. */
static void types_that_spark_lacks_hash_as_the_nearest_type(void) {
  CHECK_HASHES("uint8", "1 | 127", COLSHUF_RULES_SPARK, -559580957, 1135925485);
  CHECK_HASHES("uint16", "1 | 32767", COLSHUF_RULES_SPARK, -559580957, 1249274084);
  CHECK_HASHES("uint32", "1 | 0", COLSHUF_RULES_SPARK, -1712319331, -1670924195);
  CHECK_HASHES("uint64", "123 | 0", COLSHUF_RULES_SPARK, -1536290115, -783713497);
  CHECK_HASHES("float16", "x3c00 | xbc00 | x8000 | xfe00", COLSHUF_RULES_SPARK, -466301895, -603084565, 933211791, -349261430);
  CHECK_HASHES("time32(ms), time64(us), date64, duration(us)",
               "1 null null null | null 1 null null | null null 1 null | null null null 1", COLSHUF_RULES_SPARK, -1712319331,
               -1712319331, -1712319331, -1712319331);
  CHECK_HASHES("large_utf8", "'hello' | ''", COLSHUF_RULES_SPARK, -1008564952, 142593372);
  CHECK_HASHES("utf8_view", "'hello' | '' | 'The quick brown fox'", COLSHUF_RULES_SPARK, -1008564952, 142593372, 1217302703);
  CHECK_HASHES("fixed_size_binary(3)", "'abc' | 'abc'", COLSHUF_RULES_SPARK, 1322437556, 1322437556);
  CHECK_HASHES("fixed_size_list<int32>(2)", "[1 2] | null", COLSHUF_RULES_SPARK, -222940379, 42);
  CHECK_HASHES("interval_day_time", "{0 0} | {1 -86400000}", COLSHUF_RULES_SPARK, -1670924195, -1670924195);
}

/* A row of a random array hashed by the kernels, against the value-by-value fold. */
static void the_kernels_agree_with_the_fold_for_every_type(void) {
  struct test_random random = {11};
  struct test_schema_options types = {
      .types = TEST_ALL_TYPES & ~(TEST_TYPE(CSF_SPARSE_UNION) | TEST_TYPE(CSF_DENSE_UNION) | TEST_TYPE(CSF_RUN_END_ENCODED)),
      .plain_names = true};
  struct colshuf_error err;
  for (int i = 0; i < test_cases(400); i++) {
    struct csf_schema *schema = test_random_schema(&random, &types);
    struct test_array_options options = test_random_options(&random, i % 20 == 0 ? 3000 : 300);
    struct ArrowArray batch;
    struct ArrowSchema c_schema;
    test_random_array(&random, &schema->root, &options, &batch);
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
    enum colshuf_rules rules = i % 2 == 0 ? COLSHUF_RULES_SPARK : COLSHUF_RULES_COMET;
    struct csf_keys keys;
    REQUIRE_OK(csf_keys_init(&keys, &c_schema, NULL, -1, CSF_USE_HASH_WITH_MAPS, &test_heap, &err));
    REQUIRE_OK(csf_keys_bind(&keys, &batch, &err));
    int32_t columns[64], hashes[3000];
    for (int32_t c = 0; c < keys.n_columns; c++) columns[c] = c;
    REQUIRE_OK(colshuf_murmur3(&c_schema, &batch, columns, keys.n_columns, 42, rules, hashes, &err));
    for (int64_t row = 0; row < batch.length; row++) {
      uint32_t h = 42;
      for (int32_t c = 0; c < keys.n_columns; c++) h = csf_hash_value(&keys.columns[c], row, h, rules);
      if ((int32_t)h != hashes[row])
        test_fail(__FILE__, __LINE__, "case %d, row %" PRId64 ": %d, not %d", i, row, hashes[row], (int32_t)h);
    }
    csf_keys_clear(&keys);
    c_schema.release(&c_schema);
    batch.release(&batch);
    csf_schema_release(schema);
  }
}

/* --- partition ids --- */

static void check_ids(const struct test_table *table, const struct colshuf_partitioner_options *options,
                      const int32_t *wanted) {
  struct colshuf_error err;
  struct colshuf_partitioner *partitioner;
  int32_t ids[1024];
  REQUIRE(table->batch.length <= 1024);
  REQUIRE_OK(colshuf_partitioner_new(&table->c_schema, options, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table->batch, ids, &err));
  for (int64_t i = 0; i < table->batch.length; i++) CHECK_INT(ids[i], wanted[i]);
  colshuf_partitioner_free(partitioner);
}

static const struct colshuf_key key_0 = {.column = 0};

static struct colshuf_partitioner_options hash_options(int32_t n_partitions) {
  return (struct colshuf_partitioner_options){
      .allocator = test_heap, .kind = COLSHUF_PARTITION_HASH, .n_partitions = n_partitions, .keys = &key_0, .n_keys = 1};
}

/* -85556545 mod 1000 = 455, 1081828689 mod 1000 = 689: the days do not move a row. */
static void intervals_go_where_sparks_generated_code_sends_them(void) {
  struct test_table table = test_table("interval_month_day_nano", "{1 2 3000} | {1 3 3000} | {0 0 0} | null");
  struct colshuf_partitioner_options options = hash_options(1000);
  check_ids(&table, &options, (const int32_t[]){455, 455, 689, 42});
  test_table_clear(&table);
}

static void ids_are_never_negative_nor_too_large(void) {
  struct test_table table = test_table("int32", "-1206686999 | -1703619863 | -1693959553 | 2131931348");
  struct colshuf_partitioner_options options = hash_options(3);
  check_ids(&table, &options, (const int32_t[]){1, 2, 0, 1});
  options.n_partitions = 10;
  check_ids(&table, &options, (const int32_t[]){2, 9, 0, 7});
  options.n_partitions = 1;
  check_ids(&table, &options, (const int32_t[]){0, 0, 0, 0});
  options.n_partitions = INT32_MAX;
  check_ids(&table, &options, (const int32_t[]){INT32_MAX - 1, INT32_MAX - 1, 0, 0});
  test_table_clear(&table);
}

static void null_keys_go_to_42_modulo_the_partitions(void) {
  struct test_table table = test_table("utf8, int64", "null 1 | null 2 | '' 3");
  struct colshuf_partitioner_options options = hash_options(200);
  check_ids(&table, &options, (const int32_t[]){42, 42, 172});
  test_table_clear(&table);
}

static void a_hash_of_no_columns_is_the_seed(void) {
  struct test_table table = test_table("int32", "1 | 2");
  struct colshuf_partitioner_options options = hash_options(10);
  options.n_keys = 0;
  check_ids(&table, &options, (const int32_t[]){2, 2});
  test_table_clear(&table);
}

static void rows_without_columns_have_a_partition(void) {
  struct test_table table = test_table("", "");
  struct colshuf_partitioner_options options = hash_options(4);
  options.n_keys = 0;
  table.batch.length = 7;
  check_ids(&table, &options, (const int32_t[]){2, 2, 2, 2, 2, 2, 2});
  test_table_clear(&table);
}

static void an_empty_batch_has_no_ids(void) {
  struct test_table table = test_table("int32", "");
  struct colshuf_partitioner_options options = hash_options(10);
  check_ids(&table, &options, NULL);
  options.kind = COLSHUF_PARTITION_ID;
  check_ids(&table, &options, NULL);
  test_table_clear(&table);
}

static void single_is_one_partition(void) {
  struct test_table table = test_table("int32", "1 | 2");
  struct colshuf_partitioner_options options = {.allocator = test_heap, .kind = COLSHUF_PARTITION_SINGLE, .n_partitions = 1};
  struct colshuf_partitioner *partitioner;
  struct colshuf_error err;
  check_ids(&table, &options, (const int32_t[]){0, 0});
  options.n_partitions = 2;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err), COLSHUF_INVALID_ARGUMENT);
  test_table_clear(&table);
}

static void check_refused_ids(const char *types, const char *rows, const char *reason) {
  struct colshuf_error err;
  struct test_table table = test_table(types, rows);
  struct colshuf_partitioner_options options = hash_options(3);
  options.kind = COLSHUF_PARTITION_ID;
  struct colshuf_partitioner *partitioner;
  int32_t ids[64];
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err));
  CHECK_STATUS(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, reason);
  colshuf_partitioner_free(partitioner);
  test_table_clear(&table);
}

static void given_ids_are_checked(void) {
  struct colshuf_partitioner_options options = hash_options(3);
  options.kind = COLSHUF_PARTITION_ID;
  static const char *const types[] = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    struct test_table table = test_table(types[i], "2 | 0 | 1");
    check_ids(&table, &options, (const int32_t[]){2, 0, 1});
    test_table_clear(&table);
    check_refused_ids(types[i], "0 | 3", "row 1: partition id 3");
  }
  check_refused_ids("int32", "0 | 1 | null", "row 2");
  check_refused_ids("int64", "-1", "-1");
  check_refused_ids("int64", "4294967296", "4294967296");
  check_refused_ids("uint64", "18446744073709551615", "18446744073709551615");
}

static void check_refused_key(const char *types, const struct colshuf_partitioner_options *options, enum colshuf_status wanted,
                              const char *reason) {
  struct colshuf_error err;
  struct test_table table = test_table(types, "");
  struct colshuf_partitioner *partitioner;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, options, &partitioner, &err), wanted);
  CHECK_CONTAINS(err.message, reason);
  test_table_clear(&table);
}

static void keys_without_a_meaning_in_spark_are_refused(void) {
  struct colshuf_partitioner_options options = hash_options(10);
  check_refused_key("map<int32, int32>", &options, COLSHUF_UNSUPPORTED, "map");
  check_refused_key("list<map<int32, int32>>", &options, COLSHUF_UNSUPPORTED, "allow_map_keys");
  struct colshuf_key keys[] = {{.column = 1}, {.column = 0}, {.column = 1}};
  options.keys = keys;
  check_refused_key("int32", &options, COLSHUF_INVALID_ARGUMENT, "column 1");
  options.n_keys = 3;
  check_refused_key("int32, int32", &options, COLSHUF_INVALID_ARGUMENT, "keys 0 and 2");
  keys[0].column = -1;
  check_refused_key("int32, int32", &options, COLSHUF_INVALID_ARGUMENT, "-1");
  options = hash_options(0);
  check_refused_key("int32", &options, COLSHUF_INVALID_ARGUMENT, "0 partitions");
  options = hash_options(5);
  options.kind = COLSHUF_PARTITION_ID;
  check_refused_key("utf8", &options, COLSHUF_INVALID_ARGUMENT, "integer");
}

/* Unions and runs, made by the random schemas; and text under a collation. */
static void unions_runs_and_collations_are_refused(void) {
  static const enum csf_type refused[] = {CSF_SPARSE_UNION, CSF_DENSE_UNION, CSF_RUN_END_ENCODED};
  struct colshuf_error err;
  struct colshuf_partitioner *partitioner;
  struct colshuf_partitioner_options options = hash_options(10);
  struct test_random random = {3};
  for (size_t i = 0; i < 3; i++) {
    struct test_schema_options types = {
        .types = TEST_TYPE(refused[i]) | TEST_TYPE(CSF_INT32), .n_columns = 20, .no_dictionaries = true};
    struct csf_schema *schema = test_random_schema(&random, &types);
    struct ArrowSchema c_schema;
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
    for (int32_t c = 0; c < 20; c++) {
      struct colshuf_key key = {.column = c};
      options.keys = &key;
      bool is_refused = schema->root.children[c].type == refused[i];
      CHECK_STATUS(colshuf_partitioner_new(&c_schema, &options, &partitioner, &err),
                   is_refused ? COLSHUF_UNSUPPORTED : COLSHUF_OK);
      if (is_refused) CHECK_CONTAINS(err.message, csf_type_name(refused[i]));
      else colshuf_partitioner_free(partitioner);
    }
    c_schema.release(&c_schema);
    csf_schema_release(schema);
  }
}

static void a_collated_string_is_refused_with_the_reason(void) {
  struct colshuf_error err;
  struct test_table table = test_table("utf8", "");
  static const char metadata[] = "\1\0\0\0\11\0\0\0collation\16\0\0\0spark.UTF8_LCA";
  struct colshuf_partitioner *partitioner;
  struct colshuf_partitioner_options options = hash_options(10);
  options.keys = &key_0;
  const char *before = table.c_schema.children[0]->metadata;
  table.c_schema.children[0]->metadata = metadata;
  CHECK_STATUS(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err), COLSHUF_UNSUPPORTED);
  CHECK_CONTAINS(err.message, "collation");
  table.c_schema.children[0]->metadata = before;
  test_table_clear(&table);
}

/* --- row lists --- */

/* run: how many rows in a row have one partition. */
static void check_rows(struct test_random *random, uint32_t n_rows, int32_t n_partitions, uint32_t run) {
  struct colshuf_error err;
  int32_t *ids = csf_alloc_zero(&test_heap, n_rows * sizeof *ids + 1);
  uint32_t *rows = csf_alloc_zero(&test_heap, n_rows * sizeof *rows + 1);
  size_t offsets_size = ((size_t)n_partitions + 1) * sizeof(uint32_t);
  uint32_t *offsets = csf_alloc(&test_heap, offsets_size);
  for (uint32_t i = 0; i < n_rows; i++) {
    ids[i] = i % run == 0 ? (int32_t)test_random_below(random, (uint64_t)n_partitions) : ids[i - 1];
  }
  REQUIRE_OK(colshuf_partition_rows(ids, n_rows, n_partitions, offsets, rows, &err));
  CHECK_INT(offsets[0], 0);
  CHECK_INT(offsets[n_partitions], n_rows);
  bool ok = true;
  for (int32_t p = 0; p < n_partitions; p++) {
    ok = ok && offsets[p] <= offsets[p + 1];
    for (uint32_t i = offsets[p]; i < offsets[p + 1]; i++) {
      ok = ok && rows[i] < n_rows && ids[rows[i]] == p && (i == offsets[p] || rows[i - 1] < rows[i]);
    }
  }
  CHECK(ok);
  csf_free(&test_heap, ids, n_rows * sizeof *ids + 1);
  csf_free(&test_heap, rows, n_rows * sizeof *rows + 1);
  csf_free(&test_heap, offsets, offsets_size);
}

static void the_rows_of_a_partition_keep_their_order(void) {
  struct test_random random = {5};
  static const int32_t partitions[] = {1, 2, 3, 200, 2048, 2049, 100000};
  for (size_t p = 0; p < sizeof partitions / sizeof *partitions; p++) {
    static const uint32_t rows[] = {0, 1, 2, 3, 255, 256, 257, 258, 259, 1000, 20001};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
      check_rows(&random, rows[r], partitions[p], 1);
      check_rows(&random, rows[r], partitions[p], 7);
      check_rows(&random, rows[r], partitions[p], UINT32_MAX);
    }
  }
}

static void ids_out_of_range_are_refused(void) {
  struct colshuf_error err;
  int32_t ids[300] = {0};
  uint32_t offsets[4], rows[300] = {0};
  static const int32_t bad[] = {3, -1, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < 4; i++) {
    ids[299] = bad[i];
    CHECK_STATUS(colshuf_partition_rows(ids, 300, 3, offsets, rows, &err), COLSHUF_INVALID_ARGUMENT);
    CHECK_CONTAINS(err.message, "row 299");
    CHECK_STATUS(colshuf_partition_rows(ids + 298, 2, 3, offsets, rows, &err), COLSHUF_INVALID_ARGUMENT);
    CHECK_CONTAINS(err.message, "row 1");
  }
  CHECK_STATUS(colshuf_partition_rows(ids, 0, 0, offsets, rows, &err), COLSHUF_INVALID_ARGUMENT);
}

/* --- memory --- */

static enum colshuf_status hash_a_batch(void *ctx) {
  struct colshuf_error err;
  const struct test_table *table = ctx;
  static const struct colshuf_key keys[] = {{.column = 0}, {.column = 1}};
  struct colshuf_partitioner_options options = hash_options(10);
  options.keys = keys;
  options.n_keys = 2;
  struct colshuf_partitioner *partitioner;
  int32_t ids[8];
  CSF_TRY(colshuf_partitioner_new(&table->c_schema, &options, &partitioner, &err));
  enum colshuf_status status = colshuf_partitioner_ids(partitioner, &table->batch, ids, &err);
  colshuf_partitioner_free(partitioner);
  return status;
}

static void a_refused_allocation_leaves_nothing_behind(void) {
  struct test_table table =
      test_table("dictionary<int32, utf8>, struct<int32, list<int64>>", "'a' {1 [2]} | 'b' {3 [4]} | ^ null");
  CHECK(test_oom_sweep(hash_a_batch, &table) >= 4);
  test_table_clear(&table);
}

static void nothing_is_allocated_in_steady_state(void) {
  struct colshuf_error err;
  struct test_table table =
      test_table("dictionary<int32, utf8>, struct<int32, list<int64>>", "'a' {1 [2]} | 'b' {3 [4]} | ^ null");
  struct colshuf_partitioner_options options = hash_options(10);
  struct colshuf_partitioner *partitioner;
  int32_t ids[8];
  REQUIRE_OK(colshuf_partitioner_new(&table.c_schema, &options, &partitioner, &err));
  REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
  uint64_t calls = test_heap_calls();
  for (int i = 0; i < 10; i++) REQUIRE_OK(colshuf_partitioner_ids(partitioner, &table.batch, ids, &err));
  CHECK_INT(test_heap_calls(), calls);
  colshuf_partitioner_free(partitioner);
  test_table_clear(&table);
}

static const struct test_case tests[] = {
    TEST(every_vector_is_reproduced),
    TEST(every_nan_hashes_as_the_canonical_one),
    TEST(comet_hashes_the_bits_of_a_nan),
    TEST(zeros_of_both_signs_hash_alike),
    TEST(a_null_leaves_the_running_hash),
    TEST(a_dictionary_hashes_as_its_values),
    TEST(a_slice_hashes_as_the_rows_it_shows),
    TEST(decimals_hash_as_longs_or_as_their_shortest_bytes),
    TEST(the_days_of_an_interval_count_unless_spark_generated_the_code),
    TEST(types_that_spark_lacks_hash_as_the_nearest_type),
    TEST(the_kernels_agree_with_the_fold_for_every_type),
    TEST(intervals_go_where_sparks_generated_code_sends_them),
    TEST(ids_are_never_negative_nor_too_large),
    TEST(null_keys_go_to_42_modulo_the_partitions),
    TEST(a_hash_of_no_columns_is_the_seed),
    TEST(rows_without_columns_have_a_partition),
    TEST(an_empty_batch_has_no_ids),
    TEST(single_is_one_partition),
    TEST(given_ids_are_checked),
    TEST(keys_without_a_meaning_in_spark_are_refused),
    TEST(unions_runs_and_collations_are_refused),
    TEST(a_collated_string_is_refused_with_the_reason),
    TEST(the_rows_of_a_partition_keep_their_order),
    TEST(ids_out_of_range_are_refused),
    TEST(a_refused_allocation_leaves_nothing_behind),
    TEST(nothing_is_allocated_in_steady_state),
};
TEST_MAIN(tests)
