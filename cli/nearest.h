/* SPDX-License-Identifier: Apache-2.0 */
/* What a mistyped word was probably meant to be. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* One word after another is shown to it; all zero but for the first two is the start. */
struct nearest {
  const char *word; /* as it was typed */
  size_t size;
  const char *best; /* of those seen, NULL = none is near enough */
  size_t distance;  /* of best: letters wrong, missing, too many or swapped */
};

void nearest_see(struct nearest *nearest, const char *candidate);

#endif
