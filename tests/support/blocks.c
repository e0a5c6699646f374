/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"

#include <stdlib.h>

#include "file/checksum.h"

void test_output_init(struct test_output *output) {
  memset(output, 0, sizeof *output);
  csf_buffer_init(&output->data, &test_heap);
}

void test_output_clear(struct test_output *output) {
  csf_buffer_clear(&output->data);
}

static uint64_t end_of_partitions(const struct test_output *output) {
  uint64_t end = 0;
  for (int32_t p = 0; p < output->n_partitions; p++) end += output->sizes[p];
  return end;
}

void test_output_end_partition(struct test_output *output) {
  REQUIRE(output->n_partitions < TEST_MOST_BLOCKS);
  uint64_t start = end_of_partitions(output);
  output->sizes[output->n_partitions++] = output->data.size - start;
}

void test_output_add(struct test_output *output, const struct csf_field *field, const struct ArrowArray *batch, int64_t start,
                     int64_t n, enum colshuf_codec codec) {
  struct colshuf_error err = {0};
  struct ArrowSchema schema;
  struct colshuf_block_encoder *encoder;
  struct colshuf_block_encoder_options options = {.allocator = test_heap, .codec = codec, .compat = COLSHUF_COMPAT_ARROW};
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(csf_field_export(field, &test_heap, &schema, &err));
  REQUIRE_OK(colshuf_block_encoder_new(&schema, &options, &encoder, &err));
  REQUIRE_OK(colshuf_block_encoder_encode(encoder, batch, start, n, &block, &size, &err));
  REQUIRE(output->n_blocks < TEST_MOST_BLOCKS);
  if (size > 0) {
    output->blocks[output->n_blocks] = output->data.size;
    output->block_partitions[output->n_blocks++] = output->n_partitions;
    REQUIRE_OK(csf_buffer_append(&output->data, block, size, &err));
  }
  colshuf_block_encoder_free(encoder);
  schema.release(&schema);
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file != NULL);
  REQUIRE(size == 0 || fwrite(data, 1, size, file) == size);
  REQUIRE(fclose(file) == 0);
}

const char *test_output_write(const struct test_output *output, const char *name, enum colshuf_checksum checksum) {
  static char paths[8][256];
  static int next;
  char *path = paths[next++ % 8], other[256];
  static uint8_t index[8 * (TEST_MOST_BLOCKS + 1)], sums[8 * TEST_MOST_BLOCKS];
  uint64_t end = 0;
  memset(index, 0, 8);
  for (int32_t p = 0; p < output->n_partitions; p++) {
    uint32_t sum = csf_checksum_start(checksum);
    if (output->sizes[p] > 0) sum = csf_checksum_update(checksum, sum, output->data.data + end, output->sizes[p]);
    csf_store_be64(sums + 8 * p, sum);
    end += output->sizes[p];
    csf_store_be64(index + 8 * (p + 1), end);
  }
  snprintf(other, sizeof other, "%s/%s.index", test_directory(), name);
  write_file(other, index, 8 * ((size_t)output->n_partitions + 1));
  if (checksum != COLSHUF_CHECKSUM_NONE) {
    snprintf(other, sizeof other, "%s/%s.checksum.%s", test_directory(), name, csf_checksum_name(checksum));
    write_file(other, sums, 8 * (size_t)output->n_partitions);
  }
  snprintf(path, sizeof paths[0], "%s/%s.data", test_directory(), name);
  write_file(path, output->data.data, output->data.size);
  return path;
}
