/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf bench write: the map writer on a user's own rows, beside the codec library alone over the same column bytes. */
#ifndef CLI_BENCH_WRITE_H
#define CLI_BENCH_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct bench_write_request {
  const char *input;
  int64_t n_partitions; /* 0 = not said */
  const char *hash;     /* NULL = round robin */
  const char *codec;    /* NULL = lz4 */
  uint64_t memory_limit;
  int64_t threads;
  const char *scratch;  /* folder where output and spills come and go; NULL = $TMPDIR or /tmp */
  bool as_json;
};

/* Returns the exit code, with the sentence said. */
int bench_write(const struct bench_write_request *request);

#endif
