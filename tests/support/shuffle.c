/* SPDX-License-Identifier: Apache-2.0 */
#include "support/shuffle.h"

#include <dirent.h>

#include "base/bytes.h"
#include "file/checksum.h"
#include "file/output.h"

static void note_rows(struct test_input *input, int32_t *const *ids) {
  int64_t *next = csf_alloc_zero(&test_heap, (size_t)(input->n_partitions + 2) * sizeof *next);
  input->rows = csf_alloc(&test_heap, (size_t)(input->n_rows + 1) * sizeof *input->rows);
  input->starts = csf_alloc(&test_heap, (size_t)(input->n_partitions + 1) * sizeof *input->starts);
  for (int32_t i = 0; i < input->n_batches; i++) {
    for (int64_t row = 0; row < input->batches[i].length; row++) next[ids[i][row] + 1]++;
  }
  for (int32_t p = 0; p < input->n_partitions; p++) next[p + 1] += next[p];
  memcpy(input->starts, next, (size_t)(input->n_partitions + 1) * sizeof *next);
  for (int32_t i = 0; i < input->n_batches; i++) {
    for (int64_t row = 0; row < input->batches[i].length; row++) input->rows[next[ids[i][row]]++] = (struct test_row){i, row};
  }
  csf_free(&test_heap, next, (size_t)(input->n_partitions + 2) * sizeof *next);
}

static void route_plainly(struct test_input *input, const struct colshuf_partitioner_options *options) {
  struct colshuf_error err;
  struct colshuf_partitioner *partitioner;
  struct colshuf_partitioner_options own = *options;
  int32_t *ids[64];
  own.allocator = test_heap;
  REQUIRE(input->n_batches <= 64);
  REQUIRE_OK(colshuf_partitioner_new(&input->exported, &own, &partitioner, &err));
  for (int32_t i = 0; i < input->n_batches; i++) {
    input->n_rows += input->batches[i].length;
    ids[i] = csf_alloc(&test_heap, ((size_t)input->batches[i].length + 1) * sizeof(int32_t));
    REQUIRE_OK(colshuf_partitioner_ids(partitioner, &input->batches[i], ids[i], &err));
  }
  colshuf_partitioner_free(partitioner);
  note_rows(input, ids);
  for (int32_t i = 0; i < input->n_batches; i++) {
    csf_free(&test_heap, ids[i], ((size_t)input->batches[i].length + 1) * sizeof(int32_t));
  }
}

void test_input_take(struct test_input *input, struct csf_schema *schema, const struct colshuf_partitioner_options *partitioner,
                     struct ArrowArray *batches, int32_t n_batches) {
  struct colshuf_error err;
  *input = (struct test_input){.schema = schema, .n_batches = n_batches, .n_partitions = partitioner->n_partitions};
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &input->exported, &err));
  input->batches = csf_alloc(&test_heap, (size_t)(n_batches + 1) * sizeof *batches);
  if (n_batches > 0) memcpy(input->batches, batches, (size_t)n_batches * sizeof *batches);
  route_plainly(input, partitioner);
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
  for (int32_t i = 0; i < input->n_batches; i++) input->batches[i].release(&input->batches[i]);
  csf_free(&test_heap, input->rows, (size_t)(input->n_rows + 1) * sizeof *input->rows);
  csf_free(&test_heap, input->starts, (size_t)(input->n_partitions + 1) * sizeof *input->starts);
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

/* The rows of one block, from rows[0] on; returns how many. */
static int64_t check_block(const struct test_input *input, const struct ArrowSchema *exported, const struct ArrowArray *block,
                           const struct test_row *rows, int64_t left) {
  struct colshuf_error err;
  struct csf_schema *schema;
  REQUIRE_OK(csf_schema_import(exported, &test_heap, NULL, &schema, &err));
  REQUIRE(block->length > 0 && block->length <= left);
  for (int64_t i = 0; i < block->length; i++) {
    CHECK_ROWS(&schema->root, block, i, &input->schema->root, &input->batches[rows[i].batch], rows[i].row, 1);
  }
  csf_schema_release(schema);
  return block->length;
}

static void check_partition(const struct test_input *input, struct colshuf_block_decoder *decoder, int32_t partition,
                            const uint8_t *bytes, size_t size) {
  struct colshuf_error err;
  int64_t at = input->starts[partition], end = input->starts[partition + 1];
  while (size > 0) {
    size_t consumed;
    struct ArrowSchema exported;
    struct ArrowArray block;
    REQUIRE_OK(colshuf_block_decoder_decode(decoder, bytes, size, NULL, &consumed, &exported, &block, &err));
    at += check_block(input, &exported, &block, input->rows + at, end - at);
    bytes += consumed;
    size -= consumed;
    exported.release(&exported);
    block.release(&block);
  }
  CHECK_INT(at, end);
}

static struct colshuf_block_decoder *new_decoder(void) {
  struct colshuf_error err;
  struct colshuf_block_decoder *decoder;
  struct colshuf_block_decoder_options options = {.allocator = test_heap};
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  return decoder;
}

void test_check_partition(const struct test_input *input, int32_t partition, const uint8_t *bytes, size_t size) {
  struct colshuf_block_decoder *decoder = new_decoder();
  check_partition(input, decoder, partition, bytes, size);
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
    uint32_t sum = csf_checksum_start(algorithm);
    uint64_t size = offsets[p + 1] - offsets[p];
    if (size > 0) sum = csf_checksum_update(algorithm, sum, data->data + offsets[p], size);
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
  struct colshuf_block_decoder *decoder = new_decoder();
  REQUIRE(index.n_partitions == input->n_partitions);
  REQUIRE(index.offsets[index.n_partitions] == data.size);
  for (int32_t p = 0; p < input->n_partitions; p++) {
    size_t size = (size_t)(index.offsets[p + 1] - index.offsets[p]);
    if (sizes != NULL) CHECK_INT(sizes[p], size);
    check_partition(input, decoder, p, size == 0 ? NULL : data.data + index.offsets[p], size);
  }
  colshuf_block_decoder_free(decoder);
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
