/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer where memory holds a row or two of each partition, with a sink and with dictionaries; and a row that memory does not hold. */
#include <stdlib.h>

#include "support/map_writer.h"

enum { MANY = 100000 };

static const struct colshuf_key first_column = {.column = 0};
static const struct colshuf_partitioner_options many = {
    .kind = COLSHUF_PARTITION_HASH, .n_partitions = MANY, .keys = &first_column, .n_keys = 1};

/* What a sink got: blocks behind one another, and whose each is. */
struct block {
  int32_t partition;
  size_t at, size;
};
struct collected {
  struct csf_buffer bytes, blocks;
  int rounds; /* how often partitions started from below */
  int32_t last;
};

static int collect(void *ctx, int32_t partition, const void *bytes, size_t size) {
  struct collected *collected = ctx;
  struct block block = {partition, collected->bytes.size, size};
  collected->rounds += partition < collected->last;
  collected->last = partition;
  bool kept = csf_buffer_append(&collected->bytes, bytes, size, NULL) == COLSHUF_OK &&
              csf_buffer_append(&collected->blocks, &block, sizeof block, NULL) == COLSHUF_OK;
  return kept ? 0 : 12;
}

/* By partition, and as they came. */
static int compare_blocks(const void *a, const void *b) {
  const struct block *x = a, *y = b;
  if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static void check_collected(const struct test_input *input, struct collected *collected) {
  struct colshuf_error err;
  struct block *blocks = (struct block *)(void *)collected->blocks.data;
  size_t n = collected->blocks.size / sizeof *blocks, i = 0;
  struct csf_buffer one;
  csf_buffer_init(&one, &test_heap);
  qsort(blocks, n, sizeof *blocks, compare_blocks);
  for (int32_t partition = 0; partition < MANY; partition++) {
    one.size = 0;
    for (; i < n && blocks[i].partition == partition; i++) {
      REQUIRE_OK(csf_buffer_append(&one, collected->bytes.data + blocks[i].at, blocks[i].size, &err));
    }
    if (input->starts[partition] == input->starts[partition + 1]) CHECK_INT(one.size, 0);
    else test_check_partition(input, partition, one.data, one.size);
  }
  CHECK_INT(i, n);
  csf_buffer_clear(&one);
}

static void open_many(struct test_input *input, uint64_t seed, const char *types, int32_t n_batches) {
  struct test_random random = {seed};
  struct test_array_options arrays = {.rows = 9000, .max_text = 120};
  test_input_open(input, test_schema(types), &many, &random, n_batches, &arrays);
}

static void a_sink_of_many_partitions_gets_every_row_within_a_small_limit(void) {
  struct test_input input;
  struct colshuf_error err;
  struct colshuf_map_metrics metrics;
  struct collected collected = {0};
  csf_buffer_init(&collected.bytes, &test_heap);
  csf_buffer_init(&collected.blocks, &test_heap);
  open_many(&input, 61, "t: utf8 not null, n: int64", 8);
  struct colshuf_map_writer_options options = test_map_options(&many, 4 << 20);
  options.output = NULL;
  options.sink = (struct colshuf_sink){collect, &collected};
  REQUIRE_OK(test_shuffle(&input, &options, &metrics, &err));
  printf("  %" PRIu64 " blocks in %d rounds, %" PRIu64 " KiB of memory\n", metrics.blocks, collected.rounds + 1, metrics.peak_memory >> 10);
  CHECK(collected.rounds > 0);
  CHECK(metrics.peak_memory <= options.memory_limit);
  CHECK_INT(metrics.blocks, collected.blocks.size / sizeof(struct block));
  CHECK_INT(metrics.written_bytes, collected.bytes.size);
  CHECK_INT(metrics.spills, 0);
  check_collected(&input, &collected);
  csf_buffer_clear(&collected.bytes);
  csf_buffer_clear(&collected.blocks);
  test_input_close(&input);
}

static void dictionaries_of_many_partitions_come_back_within_a_small_limit(void) {
  struct test_input input;
  struct colshuf_map_metrics metrics;
  open_many(&input, 62, "t: utf8 not null, d: dictionary<int32, utf8>, e: dictionary<int8, int64>", 8);
  for (int threads = 0; threads < 3; threads += 2) {
    struct colshuf_map_writer_options options = test_map_options(&many, 4 << 20);
    options.compress_threads = threads;
    test_shuffle_and_check(&input, &options, &metrics);
    printf("  %" PRIu64 " spills, %" PRIu64 " KiB of memory\n", metrics.spills, metrics.peak_memory >> 10);
    CHECK(metrics.spills > 0);
    CHECK(metrics.peak_memory <= options.memory_limit);
  }
  test_input_close(&input);
}

/* One row whose first column, a string, has at least half of size bytes. */
static void make_large_row(struct test_random *random, const struct csf_schema *schema, int64_t size, struct ArrowArray *batch) {
  for (;;) {
    struct test_array_options arrays = {.rows = 1, .max_text = size};
    test_random_array(random, &schema->root, &arrays, batch);
    const struct ArrowArray *texts = batch->children[0];
    const int32_t *offsets = (const int32_t *)texts->buffers[1] + texts->offset + batch->offset;
    if (offsets[1] - offsets[0] >= size / 2) return;
    batch->release(batch);
  }
}

/* Rows of some bytes, and in the second of three batches a large one. */
static void open_with_large_row(struct test_input *input, const char *types, int64_t size) {
  struct test_random random = {63};
  struct ArrowArray batches[3];
  struct csf_schema *schema = test_schema(types);
  struct test_array_options arrays = {.rows = 4000, .max_text = 10};
  test_random_array(&random, &schema->root, &arrays, &batches[0]);
  make_large_row(&random, schema, size, &batches[1]);
  test_random_array(&random, &schema->root, &arrays, &batches[2]);
  test_input_take(input, schema, &test_round_robin, batches, 3);
}

static uint64_t held(const struct colshuf_map_writer *writer) {
  return atomic_load(&writer->budget.bulk) + atomic_load(&writer->budget.working);
}

/* It takes what it must, and right after it nothing is left of that; of its dictionary, after the next batch. */
static void after_a_row_larger_than_the_limit_the_limit_holds_again(void) {
  static const char *const types[] = {"a: utf8 not null, b: binary_view", "a: utf8 not null, d: dictionary<int32, utf8>"};
  for (int i = 0; i < 4; i++) {
    struct test_input input;
    struct colshuf_error err;
    struct colshuf_map_writer *writer;
    open_with_large_row(&input, types[i / 2], 6 << 20);
    struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 2 << 20);
    options.compress_threads = i % 2 * 2;
    REQUIRE_OK(colshuf_map_writer_new(&input.exported, &options, &writer, &err));
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[0], &err));
    CHECK(held(writer) <= options.memory_limit);
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[1], &err));
    CHECK(atomic_load(&writer->budget.peak) > options.memory_limit);
    printf("  limit %d KiB: %" PRIu64 " KiB at most, %" PRIu64 " KiB after the row\n", 2 << 10, atomic_load(&writer->budget.peak) >> 10, held(writer) >> 10);
    if (i < 2) CHECK(held(writer) <= options.memory_limit);
    REQUIRE_OK(colshuf_map_writer_write(writer, &input.batches[2], &err));
    CHECK(held(writer) <= options.memory_limit);
    REQUIRE_OK(colshuf_map_writer_commit(writer, NULL, &err));
    colshuf_map_writer_free(writer);
    test_check_output(&input, options.output, options.checksum, NULL);
    test_input_close(&input);
  }
}

static void a_row_for_which_a_manager_has_no_memory_is_an_error_with_its_size(void) {
  struct test_input input;
  struct colshuf_error err;
  struct test_memory_manager manager = {.total = 6 << 20};
  open_with_large_row(&input, "a: utf8 not null", 10 << 20);
  struct colshuf_map_writer_options options = test_map_options(&test_round_robin, 4 << 20);
  options.memory_manager = test_memory_manager(&manager);
  test_remove_output();
  CHECK_STATUS(test_shuffle(&input, &options, NULL, &err), COLSHUF_NO_MEMORY);
  CHECK_CONTAINS(err.message, "no memory for 1 row of ");
  CHECK_CONTAINS(err.message, "nothing left to spill");
  CHECK_INT(manager.granted, 0);
  CHECK(!test_output_exists());
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  test_input_close(&input);
}

static const struct test_case tests[] = {
    TEST(a_sink_of_many_partitions_gets_every_row_within_a_small_limit),
    TEST(dictionaries_of_many_partitions_come_back_within_a_small_limit),
    TEST(after_a_row_larger_than_the_limit_the_limit_holds_again),
    TEST(a_row_for_which_a_manager_has_no_memory_is_an_error_with_its_size),
};
TEST_MAIN(tests)
