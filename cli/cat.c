/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf cat and head: rows as a table. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "field.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "report.h"
#include "table.h"
#include "value.h"

struct request {
  struct strings inputs;
  struct selection selection;
  int64_t n_rows; /* -1 = all */
  bool wide, as_json;
};

/* Rows are gathered to find how wide the columns are; later ones go by what was found, and widen it. */
enum { ROWS_AT_A_TIME = 500, WIDEST_CELL = 48 };

static bool is_number(const struct field *field) {
  while (field->dictionary != NULL) field = field->dictionary;
  return field->kind == KIND_INT || field->kind == KIND_UINT || field->kind == KIND_FLOAT || field->kind == KIND_DECIMAL;
}

static void add_row(struct table *table, const struct field *root, const struct ArrowArray *batch, int64_t row, struct text *cell) {
  for (int c = 0; c < root->n_children; c++) {
    text_clear(cell);
    if (!value_text(&root->children[c], batch->children[c], batch->offset + row, cell)) text_put(cell, "null");
    table_add(table, cell->size == 0 ? "" : cell->data, cell->size);
  }
}

static int print_rows(const struct request *r, struct input *input, const struct field *root, struct table *table) {
  struct text cell = {0};
  int64_t left = r->n_rows < 0 ? INT64_MAX : r->n_rows;
  bool first = true;
  int code = GO_ON;
  while (code == GO_ON && left > 0) {
    struct ArrowArray batch;
    code = input_next(input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    for (int64_t row = 0; row < batch.length && left > 0; row++, left--) {
      add_row(table, root, &batch, row, &cell);
      if (table->n_cells / (root->n_children > 0 ? root->n_children : 1) < ROWS_AT_A_TIME) continue;
      table_print(table, stdout, first);
      first = false;
    }
    batch.release(&batch);
    if (ferror(stdout)) break;
  }
  table_print(table, stdout, first);
  text_free(&cell);
  return code;
}

static void put_json_columns(struct json *json, const struct field *root) {
  struct text type = {0};
  json_array(json, "columns");
  for (int c = 0; c < root->n_children; c++) {
    text_clear(&type);
    field_describe(&root->children[c], &type);
    json_object(json, NULL);
    json_string(json, "name", root->children[c].name);
    json_string(json, "type", type.data);
    json_close(json);
  }
  json_close(json);
  text_free(&type);
}

static void put_json_row(struct json *json, const struct field *root, const struct ArrowArray *batch, int64_t row, struct text *line) {
  text_clear(line);
  text_char(line, '{');
  for (int c = 0; c < root->n_children; c++) {
    if (c > 0) text_put(line, ", ");
    json_quote(line, root->children[c].name, strlen(root->children[c].name));
    text_put(line, ": ");
    value_json(&root->children[c], batch->children[c], batch->offset + row, line);
  }
  text_char(line, '}');
  json_raw(json, NULL, line->data);
}

static int print_json(const struct request *r, struct input *input, const struct field *root) {
  struct json json;
  struct text line = {0};
  int64_t left = r->n_rows < 0 ? INT64_MAX : r->n_rows;
  int code = GO_ON;
  json_start(&json, stdout);
  put_json_columns(&json, root);
  json_array(&json, "rows");
  while (code == GO_ON && left > 0 && !ferror(stdout)) {
    struct ArrowArray batch;
    code = input_next(input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    for (int64_t row = 0; row < batch.length && left > 0; row++, left--) put_json_row(&json, root, &batch, row, &line);
    batch.release(&batch);
  }
  json_end(&json);
  text_free(&line);
  return code;
}

static int count_rows(const struct request *r, struct input *input) {
  int64_t n = 0;
  int code = GO_ON;
  while (code == GO_ON) {
    struct ArrowArray batch;
    code = input_next(input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    n += batch.length;
    batch.release(&batch);
  }
  if (r->n_rows >= 0 && n > r->n_rows) n = r->n_rows;
  if (code == GO_ON) printf("%s row%s without columns\n", count_text((uint64_t)n), n == 1 ? "" : "s");
  return code;
}

static int print_table(const struct request *r, struct input *input) {
  struct field root;
  struct table table;
  field_init(&root, &input->schema);
  int code;
  if (r->as_json) {
    code = print_json(r, input, &root);
  } else if (root.n_children == 0) {
    code = count_rows(r, input);
  } else {
    table_start(&table, root.n_children, r->wide ? 0 : WIDEST_CELL);
    for (int c = 0; c < root.n_children; c++) {
      table.to_right[c] = is_number(&root.children[c]);
      table_put(&table, root.children[c].name);
    }
    code = print_rows(r, input, &root, &table);
    table_free(&table);
  }
  field_clear(&root);
  return code;
}

static int run(const char *command, const struct request *r) {
  struct input input;
  if (r->inputs.n == 0) return fail_usage(command, "no file is named");
  int code = input_open(command, r->inputs.items, r->inputs.n, &r->selection, &input);
  if (code != GO_ON) return code;
  code = print_table(r, &input);
  if (code == GO_ON) code = input_remarks(&input);
  input_close(&input);
  return finish_stdout(code == GO_ON ? EXIT_WELL : code);
}

static int start(const char *command, int argc, char **argv, int64_t n_rows, const char *description) {
  struct request r = {.n_rows = n_rows};
  const struct option options[] = {
      {"rows", 'n', OPTION_NUMBER, "ROWS", n_rows < 0 ? "at most so many rows" : "so many rows [10]", &r.n_rows, 0, INT64_MAX},
      {"partition", 'p', OPTION_TEXT, "P", "this partition only", &r.selection.partition, 0, 0},
      {"partitions", 0, OPTION_TEXT, "A-B", "partitions A to B, both included", &r.selection.partitions, 0, 0},
      {"columns", 'c', OPTION_TEXT, "COLS", "these columns only, in this order: a,b", &r.selection.columns, 0, 0},
      {"skip-corrupt", 0, OPTION_FLAG, NULL, "leave corrupt blocks out and go on (exit code 1)", &r.selection.skip_corrupt, 0, 0},
      {"wide", 'w', OPTION_FLAG, NULL, "do not cut long values", &r.wide, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "columns and rows as JSON", &r.as_json, 0, 0},
  };
  const struct usage usage = {command, "FILE [options]", description, options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.inputs);
  if (code == GO_ON) code = run(command, &r);
  strings_free(&r.inputs);
  return code;
}

int command_cat(int argc, char **argv) {
  return start("cat", argc, argv, -1, "Shows the rows of a shuffle file, an Arrow stream or an Arrow file as a table.");
}

int command_head(int argc, char **argv) {
  return start("head", argc, argv, 10, "Shows the first rows of a shuffle file, an Arrow stream or an Arrow file as a table.");
}
