/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader holds, at its most, when blocks are not alike: few large ones among many small ones, or small ones that become large. */
#include "support/reading.h"
#include "support/types.h"

enum { LIMIT = 8 << 20, LARGE = 3 << 19, N_SOURCES = 12, ROUNDS = 12 };

static struct test_output output; /* large */

/* Blocks of one column: random bytes, which no codec makes smaller, or zeros, of which hardly anything is left. */
static void add_block(struct test_random *random, int64_t size, bool zeros, enum colshuf_codec codec) {
  struct csf_schema *schema = test_schema("a: int64");
  struct ArrowArray batch;
  struct test_array_options array = {.rows = size / 8, .repeat_percent = 0};
  test_random_array(random, &schema->root, &array, &batch);
  int64_t *values = (int64_t *)(uintptr_t)batch.children[0]->buffers[1];
  for (int64_t i = 0; i < array.rows; i++) values[i] = zeros ? 0 : (int64_t)test_random_next(random);
  test_output_add(&output, &schema->root, &batch, 0, array.rows, codec);
  batch.release(&batch);
  csf_schema_release(schema);
}

/* Reads all sources, each the whole output, and gives the most that was held beside the batch handed out last. */
static uint64_t peak_of(int threads, int any_order, int n_sources) {
  static struct test_drip drips[N_SOURCES];
  struct colshuf_source sources[N_SOURCES];
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct colshuf_read_metrics metrics;
  for (int s = 0; s < n_sources; s++) {
    drips[s] = (struct test_drip){.data = output.data.data, .size = output.data.size, .step = 1 << 20};
    sources[s] = test_drip_source(&drips[s]);
  }
  struct colshuf_read_options options = {.allocator = test_heap, .threads = threads, .any_order = any_order, .memory_limit = LIMIT};
  uint64_t before = test_heap_bytes();
  test_heap_reset_peak();
  REQUIRE_OK(colshuf_read(sources, n_sources, &options, &metrics, &stream, &err));
  while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) batch.release(&batch);
  CHECK_INT(colshuf_stream_status(&stream), COLSHUF_OK);
  CHECK_INT(metrics.blocks, (uint64_t)n_sources * output.n_blocks);
  stream.release(&stream);
  return test_heap_peak() - before;
}

static void memory_of_large_blocks_does_not_stay_where_they_passed(void) {
  struct test_random random = {1};
  test_output_init(&output);
  for (int i = 0; i < ROUNDS; i++) {
    add_block(&random, LARGE, false, COLSHUF_LZ4);
    for (int k = 0; k < 4; k++) add_block(&random, 1000, false, COLSHUF_LZ4);
  }
  for (int threads = 0; threads <= 8; threads += 2) {
    CHECK(peak_of(threads, 0, 1) < LIMIT + LIMIT / 4);
    if (threads > 0) CHECK(peak_of(threads, 1, N_SOURCES) < 3 * LIMIT); /* each source has a window, which a block passes through */
  }
  test_output_clear(&output);
}

static void blocks_that_become_large_are_not_all_decoded_at_once(void) {
  struct test_random random = {2};
  test_output_init(&output);
  for (int i = 0; i < ROUNDS; i++) add_block(&random, LARGE, true, COLSHUF_ZSTD);
  for (int threads = 0; threads <= 8; threads += 2) {
    CHECK(peak_of(threads, 0, 1) < LIMIT);
    if (threads > 0) CHECK(peak_of(threads, 1, N_SOURCES) < LIMIT);
  }
  test_output_clear(&output);
}

static const struct test_case tests[] = {
    TEST(memory_of_large_blocks_does_not_stay_where_they_passed),
    TEST(blocks_that_become_large_are_not_all_decoded_at_once),
};
TEST_MAIN(tests)
