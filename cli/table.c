/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

void table_start(struct table *table, int n_columns, size_t widest) {
  *table = (struct table){.n_columns = n_columns, .widest = widest};
  table->to_right = need_memory(NULL, (size_t)n_columns * sizeof *table->to_right);
  table->widths = need_memory(NULL, (size_t)n_columns * sizeof *table->widths);
  for (int c = 0; c < n_columns; c++) {
    table->to_right[c] = false;
    table->widths[c] = 0;
  }
}

/* Newlines, tabs and everything that could steer the terminal. */
static void escape(struct text *out, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    bool c1 = c == 0xc2 && i + 1 < size && (unsigned char)bytes[i + 1] >= 0x80 && (unsigned char)bytes[i + 1] < 0xa0;
    if (c == '\n') {
      text_put(out, "\\n");
    } else if (c == '\t') {
      text_put(out, "\\t");
    } else if (c < 0x20 || c == 0x7f) {
      text_format(out, "\\x%02x", c);
    } else if (c1) {
      text_format(out, "\\x%02x", (unsigned char)bytes[++i]);
    } else {
      text_char(out, (char)c);
    }
  }
}

/* Cut at a character, with an ellipsis. */
static void cut(struct text *cell, size_t widest) {
  if (widest < 2 || cell->size == 0 || text_width(cell->data, cell->size) <= widest) return;
  size_t size = 0, next = 0;
  while (next < cell->size) {
    next++;
    while (next < cell->size && ((unsigned char)cell->data[next] & 0xc0) == 0x80) next++;
    if (text_width(cell->data, next) > widest - 1) break;
    size = next;
  }
  cell->size = size;
  text_put(cell, "…");
}

void table_add(struct table *table, const char *bytes, size_t size) {
  if (table->n_cells == table->capacity) {
    table->capacity = table->capacity * 2 + 64;
    table->cells = need_memory(table->cells, (size_t)table->capacity * sizeof *table->cells);
  }
  struct text cell = {0};
  size_t most = 4 * table->widest + 64; /* enough bytes for any cell that is shown */
  escape(&cell, bytes, table->widest > 0 && size > most ? most : size);
  cut(&cell, table->widest);
  if (cell.data == NULL) text_put(&cell, "");
  int column = table->n_cells % table->n_columns;
  size_t width = text_width(cell.data, cell.size);
  if (width > table->widths[column]) table->widths[column] = width;
  table->cells[table->n_cells++] = cell.data;
}

void table_put(struct table *table, const char *cell) {
  table_add(table, cell, strlen(cell));
}

static void print_row(const struct table *table, char *const *cells, FILE *file) {
  for (int c = 0; c < table->n_columns; c++) {
    size_t width = text_width(cells[c], strlen(cells[c]));
    int padding = (int)(table->widths[c] > width ? table->widths[c] - width : 0);
    bool last = c == table->n_columns - 1;
    if (table->to_right[c]) fprintf(file, "%*s", padding, "");
    fputs(cells[c], file);
    if (!table->to_right[c] && !last) fprintf(file, "%*s", padding, "");
    fputs(last ? "\n" : "  ", file);
  }
}

static void print_rule(const struct table *table, FILE *file) {
  for (int c = 0; c < table->n_columns; c++) {
    for (size_t i = 0; i < table->widths[c]; i++) fputs("─", file);
    fputs(c == table->n_columns - 1 ? "\n" : "  ", file);
  }
}

void table_print(struct table *table, FILE *file, bool with_header) {
  int n_rows = table->n_columns == 0 ? 0 : table->n_cells / table->n_columns;
  for (int row = 0; row < n_rows; row++) {
    print_row(table, table->cells + (size_t)row * (size_t)table->n_columns, file);
    if (row == 0 && with_header) print_rule(table, file);
  }
  for (int i = 0; i < table->n_cells; i++) free(table->cells[i]);
  table->n_cells = 0;
}

void table_free(struct table *table) {
  for (int i = 0; i < table->n_cells; i++) free(table->cells[i]);
  free(table->cells);
  free(table->widths);
  free(table->to_right);
  *table = (struct table){0};
}
