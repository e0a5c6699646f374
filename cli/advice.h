/* SPDX-License-Identifier: Apache-2.0 */
/* What would shrink a shuffle file, tried out on a sample of its partitions. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "inspect.h"

enum { N_TRIALS = 6 };

struct trial {
  const char *name;
  uint64_t bytes; /* of the sample, packed in this way */
  bool possible;  /* false: the types do not allow it, or it failed */
};

struct advice {
  uint64_t sample_bytes, sample_raw; /* as they stand in the file */
  uint64_t sample_rows;
  struct trial trials[N_TRIALS];
  int n_columns;
  uint64_t *column_bytes; /* each column packed by itself with the file's codec */
};

/* Reads a few partitions and encodes them again. False when nothing could be read; then *advice is empty. */
bool take_advice(const struct inspection *inspection, struct advice *advice);
void advice_clear(struct advice *advice);

#endif
