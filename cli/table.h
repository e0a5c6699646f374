/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: aligned columns, numbers to the right, long cells cut. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "text.h"

struct table {
  int n_columns;
  int n_cells;
  size_t widest; /* a cell takes at most this many columns of the terminal */
  bool *to_right;
  char **cells;    /* row by row, the header first */
  size_t *widths;  /* grow with the cells */
  int capacity;
};

void table_start(struct table *table, int n_columns, size_t widest);
/* Cells are added row by row, from the left. Control characters are shown as escapes. */
void table_add(struct table *table, const char *bytes, size_t size);
void table_put(struct table *table, const char *cell);
/* Prints header (when there is one), a rule and the rows, and forgets the rows but not the widths. */
void table_print(struct table *table, FILE *file, bool with_header);
void table_free(struct table *table);

#endif
