/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the map writer share: options, input that it spills, and a look at its files. */
#ifndef CSF_TEST_MAP_WRITER_H
#define CSF_TEST_MAP_WRITER_H

#include "shuffle/map_writer.h"
#include "support/shuffle.h"

/* A limit that a few thousand rows go beyond. */
enum { TEST_TIGHT = 512 << 10 };

extern const struct colshuf_partitioner_options test_round_robin; /* 5 partitions */

/* First part of the output's name, in the directory of the test (one static buffer). */
const char *test_output_name(void);
/* Options of every Arrow type for that output. */
struct colshuf_map_writer_options test_map_options(const struct colshuf_partitioner_options *partitioner, uint64_t limit);

/* Batches of five plain columns. */
void test_plain_input(struct test_input *input, uint64_t seed, int32_t n_batches, int64_t rows);

/* A shuffle that must succeed; its output compared with the input, and no temporary file left. metrics may be NULL. */
void test_shuffle_and_check(const struct test_input *input, const struct colshuf_map_writer_options *options,
                            struct colshuf_map_metrics *metrics);
/* The bytes of the data file of a shuffle that must succeed. */
struct csf_buffer test_shuffle_to_bytes(const struct test_input *input, const struct colshuf_map_writer_options *options);

/* Opens a writer and feeds it until it has spilled at least once. */
struct colshuf_map_writer *test_spilled_writer(const struct test_input *input, const struct colshuf_map_writer_options *options);
/* The path of a file of a folder whose name contains part; there must be one. */
void test_file_in(const char *folder, const char *part, char *path, size_t size);
/* The same for a temporary file in the directory of the test. */
void test_spill_file(char *path, size_t size);

/* A memory manager that refuses the nth request and gives at most `total`. */
struct test_memory_manager {
  uint64_t total, granted, peak;
  uint64_t requests, refuse_at;
  struct colshuf_map_writer **writer; /* asked to spill when memory is short: not NULL, but it may point to NULL */
};
struct colshuf_memory_manager test_memory_manager(struct test_memory_manager *manager);

/* What stands under the final name after a failed attempt: nothing, or what was there before. */
bool test_output_exists(void);
void test_remove_output(void);
/* What stays when the call that removes it fails. */
void test_remove_left_over(void);

#endif
