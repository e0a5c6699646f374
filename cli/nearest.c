/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 31, TOO_FAR = 99 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Letters that must be changed, put in, taken out or swapped with their neighbour: row by row, the last three rows kept. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size) {
  size_t rows[3][LONGEST + 1];
  if (a_size > LONGEST || b_size > LONGEST) return TOO_FAR;
  for (size_t j = 0; j <= b_size; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= b_size; j++) {
      now[j] = least(least(above[j], now[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = least(now[j], two_above[j - 2] + 1);
    }
  }
  return rows[a_size % 3][b_size];
}

void nearest_see(struct nearest *nearest, const char *candidate) {
  size_t size = strlen(candidate), far = distance(nearest->word, nearest->size, candidate, size);
  size_t most = least(nearest->size, size) < 5 ? 1 : 2;
  if (far > most || (nearest->best != NULL && far >= nearest->distance)) return;
  nearest->best = candidate;
  nearest->distance = far;
}
