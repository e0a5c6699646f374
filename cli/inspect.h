/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a shuffle file after a walk through it; printed in three ways. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include <colshuf/colshuf.h>
#include <stdbool.h>

#include "text.h"

struct partition_figures {
  uint64_t bytes, blocks, rows, raw;
};

struct column_figures {
  char *name;
  char *type;
  uint64_t raw;
};

struct block_figures {
  int32_t partition;
  uint64_t in_partition, offset, size, raw;
  int64_t rows;
  enum colshuf_codec codec;
  bool lengths;
  char *problem; /* NULL = well */
};

struct inspection {
  const char *path;
  bool has_index, little_endian;
  int32_t n_partitions;
  struct partition_figures *partitions;
  uint64_t size, n_blocks, n_rows, raw, n_bad;
  uint64_t codec_blocks[4];
  uint64_t lengths_blocks; /* with offsets as lengths */
  struct colshuf_byte_kinds kinds;
  int n_columns;
  struct column_figures *columns; /* of the first block */
  int n_schemas;
  char **schemas; /* described, each once */
  struct block_figures *blocks;
  uint64_t smallest_block, largest_block;
  uint64_t size_histogram[40]; /* blocks of [2^i, 2^(i+1)) bytes */
};

/* Sizes of partitions, sorted. */
struct skew {
  uint64_t least, median, p95, largest;
  double mean;
  int32_t largest_partition, n_empty;
};
struct skew skew_of(const struct inspection *inspection);

/* The parts of colshuf_byte_kinds by name, in the order of a block. */
enum { N_BYTE_KINDS = 8 };
struct byte_kind {
  const char *name;
  uint64_t bytes;
};
void byte_kinds(const struct inspection *inspection, struct byte_kind out[N_BYTE_KINDS]);

void inspection_print(const struct inspection *inspection, bool with_blocks);
void inspection_print_json(const struct inspection *inspection, bool with_blocks);

/* A report as one HTML page that needs nothing else. Returns GO_ON or an exit code. */
int inspection_write_html(const struct inspection *inspection, const char *path);

#endif
