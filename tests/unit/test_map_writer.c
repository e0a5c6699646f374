/* SPDX-License-Identifier: Apache-2.0 */
/* The map writer: every type, every way through it (in memory, spilled, gathered, cut), and its refusals. */
#include <sys/stat.h>
#include <unistd.h>

#include "support/shuffle.h"

static char output[512];

static const char *make_output(void) {
  snprintf(output, sizeof output, "%s/out", test_directory());
  return output;
}

static struct colshuf_map_writer_options options_for(const struct colshuf_partitioner_options *partitioner, uint64_t limit) {
  struct colshuf_map_writer_options options = {.allocator = test_heap, .partitioner = *partitioner, .memory_limit = limit,
                                               .output = make_output()};
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  return options;
}

static const struct colshuf_partitioner_options round_robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 5};

static void shuffle_and_check(const struct test_input *input, const struct colshuf_map_writer_options *options,
                              struct colshuf_map_metrics *metrics) {
  struct colshuf_error err;
  REQUIRE_OK(test_shuffle(input, options, metrics, &err));
  test_check_output(input, options->output, options->checksum, NULL);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
}

static void rows_of_every_type_come_back_in_order(void) {
  struct test_random random = {11};
  int n = test_cases(200);
  for (int round = 0; round < n; round++) {
    struct test_input input;
    struct test_schema_options any = {.no_dictionaries = round % 2 == 0};
    struct test_array_options arrays = test_random_options(&random, 100);
    struct colshuf_map_metrics metrics;
    test_input_open(&input, test_random_schema(&random, &any), &round_robin, &random, 5, &arrays);
    struct colshuf_map_writer_options options = options_for(&round_robin, 0);
    options.checksum = (enum colshuf_checksum)(round % 4);
    shuffle_and_check(&input, &options, &metrics);
    if (any.no_dictionaries) CHECK_INT(metrics.spills, 0); /* with them, only what cannot be joined is spilled */
    test_input_close(&input);
  }
}

static const struct test_case tests[] = {
    TEST(rows_of_every_type_come_back_in_order),
};
TEST_MAIN(tests)
