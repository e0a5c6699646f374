/* SPDX-License-Identifier: Apache-2.0 */
#include "support/shuffle.h"

#include <dirent.h>

#include "base/bytes.h"
#include "file/checksum.h"
#include "file/output.h"

static void find_ids(struct test_input *input, const struct colshuf_partitioner_options *options) {
  struct colshuf_error err;
  struct colshuf_partitioner *partitioner;
  struct colshuf_partitioner_options own = *options;
  own.allocator = test_heap;
  REQUIRE_OK(colshuf_partitioner_new(&input->exported, &own, &partitioner, &err));
  input->ids = csf_alloc_zero(&test_heap, (size_t)(input->n_batches + 1) * sizeof *input->ids);
  for (int32_t i = 0; i < input->n_batches; i++) {
    size_t size = ((size_t)input->batches[i].length + 1) * sizeof(int32_t);
    input->ids[i] = csf_alloc(&test_heap, size);
    REQUIRE_OK(colshuf_partitioner_ids(partitioner, &input->batches[i], input->ids[i], &err));
  }
  colshuf_partitioner_free(partitioner);
}

void test_input_take(struct test_input *input, struct csf_schema *schema, const struct colshuf_partitioner_options *partitioner,
                     struct ArrowArray *batches, int32_t n_batches) {
  struct colshuf_error err;
  *input = (struct test_input){.schema = schema, .n_batches = n_batches, .n_partitions = partitioner->n_partitions};
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &input->exported, &err));
  input->batches = csf_alloc(&test_heap, (size_t)(n_batches + 1) * sizeof *batches);
  if (n_batches > 0) memcpy(input->batches, batches, (size_t)n_batches * sizeof *batches);
  find_ids(input, partitioner);
}

void test_input_open(struct test_input *input, struct csf_schema *schema, const struct colshuf_partitioner_options *partitioner,
                     struct test_random *random, int32_t n_batches, const struct test_array_options *arrays) {
  struct ArrowArray batches[64];
  REQUIRE(n_batches <= 64);
  for (int32_t i = 0; i < n_batches; i++) {
    struct test_array_options options = *arrays;
    options.rows = (int64_t)test_random_below(random, (uint64_t)arrays->rows + 1);
    test_random_array(random, &schema->root, &options, &batches[i]);
  }
  test_input_take(input, schema, partitioner, batches, n_batches);
}

void test_input_close(struct test_input *input) {
  for (int32_t i = 0; i < input->n_batches; i++) {
    csf_free(&test_heap, input->ids[i], ((size_t)input->batches[i].length + 1) * sizeof(int32_t));
    input->batches[i].release(&input->batches[i]);
  }
  csf_free(&test_heap, input->ids, (size_t)(input->n_batches + 1) * sizeof *input->ids);
  csf_free(&test_heap, input->batches, (size_t)(input->n_batches + 1) * sizeof *input->batches);
  input->exported.release(&input->exported);
  csf_schema_release(input->schema);
}

enum colshuf_status test_shuffle(const struct test_input *input, const struct colshuf_map_writer_options *options,
                                 struct colshuf_map_metrics *metrics, struct colshuf_error *err) {
  struct colshuf_map_writer *writer;
  CSF_TRY(colshuf_map_writer_new(&input->exported, options, &writer, err));
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t i = 0; status == COLSHUF_OK && i < input->n_batches; i++) {
    status = colshuf_map_writer_write(writer, &input->batches[i], err);
  }
  if (status == COLSHUF_OK) status = colshuf_map_writer_commit(writer, NULL, err);
  if (metrics != NULL) colshuf_map_writer_metrics(writer, metrics);
  colshuf_map_writer_free(writer);
  return status;
}

/* The next row of partition in the input, from (batch, row) on; false at the end. */
static bool next_row(const struct test_input *input, int32_t partition, int32_t *batch, int64_t *row) {
  for (; *batch < input->n_batches; ++*batch, *row = 0) {
    for (; *row < input->batches[*batch].length; ++*row) {
      if (input->ids[*batch][*row] == partition) return true;
    }
  }
  return false;
}

void test_check_partition(const struct test_input *input, int32_t partition, const uint8_t *bytes, size_t size) {
  struct colshuf_error err;
  struct colshuf_block_decoder *decoder;
  struct colshuf_block_decoder_options options = {.allocator = test_heap};
  int32_t at_batch = 0;
  int64_t at_row = 0;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  while (size > 0) {
    size_t consumed;
    struct ArrowSchema exported;
    struct ArrowArray block;
    struct csf_schema *schema;
    REQUIRE_OK(colshuf_block_decoder_decode(decoder, bytes, size, NULL, &consumed, &exported, &block, &err));
    REQUIRE_OK(csf_schema_import(&exported, &test_heap, NULL, &schema, &err));
    CHECK(block.length > 0);
    for (int64_t i = 0; i < block.length; i++, at_row++) {
      REQUIRE(next_row(input, partition, &at_batch, &at_row));
      CHECK_ROWS(&schema->root, &block, i, &input->schema->root, &input->batches[at_batch], at_row, 1);
    }
    bytes += consumed;
    size -= consumed;
    csf_schema_release(schema);
    exported.release(&exported);
    block.release(&block);
  }
  CHECK(!next_row(input, partition, &at_batch, &at_row));
  colshuf_block_decoder_free(decoder);
}

static void check_checksums(const struct test_input *input, const char *data_path, const struct csf_buffer *data,
                            const uint64_t *offsets, enum colshuf_checksum wanted) {
  struct colshuf_error err;
  enum colshuf_checksum algorithm;
  uint32_t *checksums;
  REQUIRE_OK(csf_checksums_read(data_path, input->n_partitions, &test_heap, &algorithm, &checksums, &err));
  CHECK_INT(algorithm, wanted);
  for (int32_t p = 0; checksums != NULL && p < input->n_partitions; p++) {
    uint32_t sum = csf_checksum_update(algorithm, csf_checksum_start(algorithm), data->data + offsets[p], offsets[p + 1] - offsets[p]);
    CHECK_INT(checksums[p], sum);
  }
  csf_free(&test_heap, checksums, (size_t)input->n_partitions * sizeof *checksums);
}

void test_check_output(const struct test_input *input, const char *output, enum colshuf_checksum checksum, const uint64_t *sizes) {
  struct colshuf_error err;
  struct colshuf_index_info index;
  char data_path[600], index_path[600];
  snprintf(data_path, sizeof data_path, "%s.data", output);
  snprintf(index_path, sizeof index_path, "%s.index", output);
  REQUIRE_OK(colshuf_index_read(index_path, &index, &err));
  struct csf_buffer data = test_read_file(data_path);
  CHECK_INT(index.n_partitions, input->n_partitions);
  REQUIRE(index.offsets[index.n_partitions] == data.size);
  for (int32_t p = 0; p < input->n_partitions; p++) {
    size_t size = (size_t)(index.offsets[p + 1] - index.offsets[p]);
    if (sizes != NULL) CHECK_INT(sizes[p], size);
    test_check_partition(input, p, data.data + index.offsets[p], size);
  }
  check_checksums(input, data_path, &data, index.offsets, checksum);
  csf_buffer_clear(&data);
  colshuf_index_clear(&index);
}

int32_t test_count_files(const char *directory, const char *part) {
  int32_t n = 0;
  DIR *entries = opendir(directory);
  REQUIRE(entries != NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) n += strstr(entry->d_name, part) != NULL;
  closedir(entries);
  return n;
}

int32_t test_open_descriptors(void) {
  int32_t n = -3; /* ".", ".." and the one that reads the folder */
  DIR *entries = opendir("/proc/self/fd");
  if (entries == NULL) return 0;
  while (readdir(entries) != NULL) n++;
  closedir(entries);
  return n;
}
