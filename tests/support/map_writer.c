/* SPDX-License-Identifier: Apache-2.0 */
#include "support/map_writer.h"

#include <dirent.h>
#include <unistd.h>

static char output[512];

const struct colshuf_partitioner_options test_round_robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 5};

const char *test_output_name(void) {
  snprintf(output, sizeof output, "%s/out", test_directory());
  return output;
}

struct colshuf_map_writer_options test_map_options(const struct colshuf_partitioner_options *partitioner, uint64_t limit) {
  struct colshuf_map_writer_options options = {.allocator = test_heap, .partitioner = *partitioner, .memory_limit = limit,
                                               .output = test_output_name()};
  options.encoder.compat = COLSHUF_COMPAT_ARROW;
  return options;
}

void test_shuffle_and_check(const struct test_input *input, const struct colshuf_map_writer_options *options,
                            struct colshuf_map_metrics *metrics) {
  struct colshuf_error err;
  REQUIRE_OK(test_shuffle(input, options, metrics, &err));
  test_check_output(input, options->output, options->checksum, NULL);
  CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
}

void test_plain_input(struct test_input *input, uint64_t seed, int32_t n_batches, int64_t rows) {
  struct test_random random = {seed};
  struct test_array_options arrays = {.rows = rows, .null_percent = 10};
  struct csf_schema *schema = test_schema("a: int64, b: utf8, c: list<item: utf8>, d: bool, e: int32");
  test_input_open(input, schema, &test_round_robin, &random, n_batches, &arrays);
}

bool test_output_exists(void) {
  char path[600];
  snprintf(path, sizeof path, "%s.index", output);
  return access(path, F_OK) == 0;
}

void test_remove_output(void) {
  static const char *const endings[] = {".data", ".index", ".checksum.ADLER32"};
  char path[600];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", test_output_name(), endings[i]);
    unlink(path);
  }
}

void test_remove_left_over(void) {
  char path[800];
  DIR *entries = opendir(test_directory());
  REQUIRE(entries != NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", test_directory(), entry->d_name);
    if (strstr(entry->d_name, "colshuf-tmp") != NULL) unlink(path);
  }
  closedir(entries);
}

struct colshuf_map_writer *test_spilled_writer(const struct test_input *input, const struct colshuf_map_writer_options *options) {
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct colshuf_map_metrics metrics;
  REQUIRE_OK(colshuf_map_writer_new(&input->exported, options, &writer, &err));
  for (int32_t i = 0; i < input->n_batches; i++) REQUIRE_OK(colshuf_map_writer_write(writer, &input->batches[i], &err));
  colshuf_map_writer_metrics(writer, &metrics);
  REQUIRE(metrics.spills > 0);
  return writer;
}

void test_file_in(const char *folder, const char *part, char *path, size_t size) {
  DIR *entries = opendir(folder);
  REQUIRE(entries != NULL);
  *path = 0;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (strstr(entry->d_name, part) != NULL) snprintf(path, size, "%s/%s", folder, entry->d_name);
  }
  closedir(entries);
  REQUIRE(*path != 0);
}

void test_spill_file(char *path, size_t size) {
  test_file_in(test_directory(), "colshuf-tmp", path, size);
}

static uint64_t acquire(void *ctx, uint64_t size) {
  struct test_memory_manager *manager = ctx;
  uint64_t freed;
  if (manager->writer != NULL && *manager->writer != NULL) {
    CHECK_INT(colshuf_map_writer_spill(*manager->writer, &freed, NULL), COLSHUF_OK);
    CHECK_INT(freed, 0); /* it is in the middle of a call */
  }
  if (++manager->requests == manager->refuse_at) return 0;
  uint64_t left = manager->total - manager->granted;
  uint64_t given = size < left ? size : left;
  manager->granted += given;
  if (manager->granted > manager->peak) manager->peak = manager->granted;
  return given;
}

static void release(void *ctx, uint64_t size) {
  struct test_memory_manager *manager = ctx;
  CHECK(size <= manager->granted);
  manager->granted -= size;
}

struct colshuf_memory_manager test_memory_manager(struct test_memory_manager *manager) {
  return (struct colshuf_memory_manager){acquire, release, manager};
}

struct csf_buffer test_shuffle_to_bytes(const struct test_input *input, const struct colshuf_map_writer_options *options) {
  struct colshuf_error err;
  char path[600];
  snprintf(path, sizeof path, "%s.data", options->output);
  REQUIRE_OK(test_shuffle(input, options, NULL, &err));
  return test_read_file(path);
}
