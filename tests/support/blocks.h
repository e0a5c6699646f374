/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffle outputs made in memory, block by block, and put on disk. */
#ifndef CSF_TEST_BLOCKS_H
#define CSF_TEST_BLOCKS_H

#include "arrow/array.h"
#include "colshuf/shuffle.h"
#include "support/harness.h"

enum { TEST_MOST_BLOCKS = 4096 };

struct test_output {
  struct csf_buffer data;           /* all blocks, partition after partition */
  uint64_t sizes[TEST_MOST_BLOCKS]; /* of partitions */
  int32_t n_partitions;
  uint64_t blocks[TEST_MOST_BLOCKS];          /* where each block starts */
  int32_t block_partitions[TEST_MOST_BLOCKS]; /* and of which partition it is */
  size_t n_blocks;
};

void test_output_init(struct test_output *output);
void test_output_clear(struct test_output *output);

/* Ends the partition at hand. The blocks added before are in it. */
void test_output_end_partition(struct test_output *output);

/* Encodes rows [start, start + n) of batch (of field, a schema's root) and adds the block to the partition at hand. */
void test_output_add(struct test_output *output, const struct csf_field *field, const struct ArrowArray *batch, int64_t start,
                     int64_t n, enum colshuf_codec codec);

/* Writes NAME.data, NAME.index and a checksum file into the directory of the test; returns the path of the data (a static
 * buffer each for 8). */
const char *test_output_write(const struct test_output *output, const char *name, enum colshuf_checksum checksum);

#endif
