/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf stats */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "field.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "row_hash.h"
#include "table.h"
#include "value.h"

/* The smallest or largest value so far: as it compares, and as it is shown. */
struct extreme {
  bool set;
  int64_t integer;
  double real;
  unsigned char decimal[32]; /* sign-extended, little-endian */
  struct text bytes;
  struct text shown;
};

/*
 * Distinct values are estimated by the greatest run of leading zeros that the hashes of each of 4096 groups show (HyperLogLog; the
 * error is about 1.6 %). Few values are counted by the groups that stay empty.
 */
enum { GROUP_BITS = 12, N_GROUPS = 1 << GROUP_BITS };

struct column {
  uint64_t nulls, bytes;
  unsigned char groups[N_GROUPS];
  struct extreme least, most;
};

static double estimate_distinct(const struct column *column) {
  double sum = 0;
  int empty = 0;
  for (int g = 0; g < N_GROUPS; g++) {
    sum += ldexp(1, -column->groups[g]);
    empty += column->groups[g] == 0;
  }
  double m = N_GROUPS, raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  return raw <= 2.5 * m && empty > 0 ? m * log(m / empty) : raw;
}

static void count_distinct(struct column *column, uint64_t hash) {
  uint64_t rest = hash << GROUP_BITS | 1u << (GROUP_BITS - 1);
  unsigned char zeros = (unsigned char)(__builtin_clzll(rest) + 1);
  unsigned char *group = &column->groups[hash >> (64 - GROUP_BITS)];
  if (zeros > *group) *group = zeros;
}

static int compare_decimal(const unsigned char *a, const unsigned char *b) {
  if (((a[31] ^ b[31]) & 0x80) != 0) return (a[31] & 0x80) != 0 ? -1 : 1;
  for (int i = 31; i >= 0; i--) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size) {
  size_t least = a_size < b_size ? a_size : b_size;
  int order = least == 0 ? 0 : memcmp(a, b, least);
  return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* What of a value compares; false for kinds that have no order. */
static bool load(const struct field *field, const struct ArrowArray *array, int64_t i, struct extreme *out) {
  if (field->kind == KIND_FLOAT) {
    out->real = value_real(field, array, i);
    return !isnan(out->real);
  }
  if (field->kind == KIND_DECIMAL) {
    const unsigned char *place = (const unsigned char *)array->buffers[1] + (array->offset + i) * field->width;
    memset(out->decimal, (place[field->width - 1] & 0x80) != 0 ? 0xff : 0, sizeof out->decimal);
    memcpy(out->decimal, place, (size_t)field->width);
    return true;
  }
  if (field->kind >= KIND_FIXED_BINARY && field->kind <= KIND_UTF8_VIEW) {
    const char *bytes;
    int64_t size;
    value_bytes(field, array, i, &bytes, &size);
    text_clear(&out->bytes);
    text_add(&out->bytes, bytes, (size_t)size);
    return true;
  }
  bool ordered = field->kind >= KIND_BOOL && field->kind <= KIND_DURATION;
  if (ordered) out->integer = value_integer(field, array, i);
  return ordered;
}

static int compare(const struct field *field, const struct extreme *a, const struct extreme *b) {
  if (field->kind == KIND_FLOAT) return (a->real > b->real) - (a->real < b->real);
  if (field->kind == KIND_DECIMAL) return compare_decimal(a->decimal, b->decimal);
  if (field->kind >= KIND_FIXED_BINARY) return compare_bytes(a->bytes.data, a->bytes.size, b->bytes.data, b->bytes.size);
  if (field->kind == KIND_UINT) return ((uint64_t)a->integer > (uint64_t)b->integer) - ((uint64_t)a->integer < (uint64_t)b->integer);
  return (a->integer > b->integer) - (a->integer < b->integer);
}

static void keep(struct extreme *extreme, const struct field *field, const struct ArrowArray *array, int64_t i,
                 const struct extreme *value) {
  extreme->set = true;
  extreme->integer = value->integer;
  extreme->real = value->real;
  memcpy(extreme->decimal, value->decimal, sizeof extreme->decimal);
  text_clear(&extreme->bytes);
  text_add(&extreme->bytes, value->bytes.data, value->bytes.size);
  text_clear(&extreme->shown);
  value_text(field, array, i, &extreme->shown);
}

static void take_value(struct column *column, const struct field *field, const struct ArrowArray *array, int64_t i,
                       struct extreme *scratch) {
  if (!value_resolve(&field, &array, &i)) {
    column->nulls++;
    return;
  }
  count_distinct(column, hash_value(field, array, i, 1));
  if (!load(field, array, i, scratch)) return;
  if (!column->least.set || compare(field, scratch, &column->least) < 0) keep(&column->least, field, array, i, scratch);
  if (!column->most.set || compare(field, scratch, &column->most) > 0) keep(&column->most, field, array, i, scratch);
}

/* Bytes of the values as they stand in Arrow, nested ones by what their items take; dictionaries by their indices. */
static uint64_t bytes_of(const struct field *field, const struct ArrowArray *array, int64_t first, int64_t n) {
  uint64_t bytes = array->n_buffers > 0 && array->buffers[0] != NULL ? (uint64_t)(n + 7) / 8 : 0;
  int64_t start = 0, size = 0, items = 0, item = 0;
  const char *place;
  if (field->kind == KIND_BOOL) return bytes + (uint64_t)(n + 7) / 8;
  if (field->kind <= KIND_FIXED_BINARY) return bytes + (uint64_t)n * (uint64_t)field->width;
  if (field->kind <= KIND_UTF8_VIEW) {
    for (int64_t i = 0; i < n; i++) {
      if (!value_valid(field, array, first + i)) continue;
      value_bytes(field, array, first + i, &place, &size);
      bytes += (uint64_t)size;
    }
    bool narrow = field->kind == KIND_BINARY || field->kind == KIND_UTF8;
    bool view = field->kind == KIND_BINARY_VIEW || field->kind == KIND_UTF8_VIEW;
    return bytes + (uint64_t)n * (view ? 16 : narrow ? 4 : 8);
  }
  if (field->kind == KIND_STRUCT || field->kind == KIND_SPARSE_UNION) {
    for (int c = 0; c < field->n_children; c++) bytes += bytes_of(&field->children[c], array->children[c], array->offset + first, n);
    return bytes;
  }
  if (field->kind <= KIND_MAP) {
    for (int64_t i = 0; i < n; i++) {
      if (!value_valid(field, array, first + i)) continue;
      value_items(field, array, first + i, &item, &size);
      if (items == 0) start = item;
      items += size;
    }
    return bytes + (field->kind == KIND_FIXED_LIST ? 0 : (uint64_t)n * 4) + bytes_of(&field->children[0], array->children[0], start, items);
  }
  return bytes + (uint64_t)n;
}

static void take_batch(struct column *columns, const struct field *root, const struct ArrowArray *batch, struct extreme *scratch) {
  for (int c = 0; c < root->n_children; c++) {
    const struct field *field = &root->children[c];
    const struct ArrowArray *array = batch->children[c];
    for (int64_t row = 0; row < batch->length; row++) take_value(&columns[c], field, array, batch->offset + row, scratch);
    columns[c].bytes += bytes_of(field, array, batch->offset, batch->length);
  }
}

/* Never more than there are rows with a value. */
static uint64_t distinct_of(const struct column *column, uint64_t n_rows) {
  double estimate = estimate_distinct(column) + 0.5;
  uint64_t most = n_rows - column->nulls;
  return estimate < (double)most ? (uint64_t)estimate : most;
}

static void print_table(const struct field *root, const struct column *columns, uint64_t n_rows) {
  static const char *const heads[] = {"column", "type", "nulls", "distinct", "least", "most", "bytes"};
  struct table table;
  table_start(&table, N_ELEMENTS(heads), 32);
  for (int c = 0; c < N_ELEMENTS(heads); c++) {
    table.to_right[c] = c == 2 || c == 3 || c == 6;
    table_put(&table, heads[c]);
  }
  for (int c = 0; c < root->n_children; c++) {
    struct text type = {0};
    uint64_t distinct = distinct_of(&columns[c], n_rows);
    field_describe(&root->children[c], &type);
    table_put(&table, root->children[c].name);
    table_put(&table, type.data);
    table_put(&table, count_text(columns[c].nulls));
    char about[40];
    snprintf(about, sizeof about, "%s%s", distinct > 200 ? "~" : "", count_text(distinct));
    table_put(&table, about);
    table_add(&table, columns[c].least.shown.data, columns[c].least.shown.size);
    table_add(&table, columns[c].most.shown.data, columns[c].most.shown.size);
    table_put(&table, size_text(columns[c].bytes));
    text_free(&type);
  }
  printf("%s rows\n", count_text(n_rows));
  table_print(&table, stdout, true);
  table_free(&table);
}

static void put_extreme(struct json *json, const char *key, const struct extreme *extreme) {
  json_string(json, key, !extreme->set ? NULL : extreme->shown.size == 0 ? "" : extreme->shown.data);
}

static void print_json(const struct field *root, const struct column *columns, uint64_t n_rows) {
  struct json json;
  json_start(&json, stdout);
  json_unsigned(&json, "rows", n_rows);
  json_array(&json, "columns");
  for (int c = 0; c < root->n_children; c++) {
    struct text type = {0};
    field_describe(&root->children[c], &type);
    json_object(&json, NULL);
    json_string(&json, "name", root->children[c].name);
    json_string(&json, "type", type.data);
    json_unsigned(&json, "nulls", columns[c].nulls);
    json_unsigned(&json, "distinct_estimate", distinct_of(&columns[c], n_rows));
    put_extreme(&json, "least", &columns[c].least);
    put_extreme(&json, "most", &columns[c].most);
    json_unsigned(&json, "bytes", columns[c].bytes);
    json_close(&json);
    text_free(&type);
  }
  json_end(&json);
}

static int read_all(struct input *input, const struct field *root, struct column *columns, uint64_t *n_rows) {
  struct extreme scratch = {0};
  int code = GO_ON;
  while (code == GO_ON) {
    struct ArrowArray batch;
    code = input_next(input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    take_batch(columns, root, &batch, &scratch);
    *n_rows += (uint64_t)batch.length;
    batch.release(&batch);
    progress_show("reading", input->kind == INPUT_ARROW ? input->progress->taken : input->metrics->bytes, input->progress->whole);
  }
  progress_end();
  text_free(&scratch.bytes);
  return code;
}

static void free_columns(struct column *columns, int n) {
  for (int c = 0; c < n; c++) {
    text_free(&columns[c].least.bytes);
    text_free(&columns[c].least.shown);
    text_free(&columns[c].most.bytes);
    text_free(&columns[c].most.shown);
  }
  free(columns);
}

static int run(const struct strings *files, const struct selection *selection, bool as_json) {
  struct input input;
  struct field root;
  uint64_t n_rows = 0;
  int code = input_open("stats", files->items, files->n, selection, &input);
  if (code != GO_ON) return code;
  field_init(&root, &input.schema);
  struct column *columns = need_memory(NULL, (size_t)root.n_children * sizeof *columns);
  memset(columns, 0, (size_t)root.n_children * sizeof *columns);
  code = read_all(&input, &root, columns, &n_rows);
  if (code == GO_ON && as_json) print_json(&root, columns, n_rows);
  if (code == GO_ON && !as_json) print_table(&root, columns, n_rows);
  free_columns(columns, root.n_children);
  field_clear(&root);
  input_close(&input);
  return finish_stdout(code == GO_ON ? EXIT_WELL : code);
}

int command_stats(int argc, char **argv) {
  struct strings files = {0};
  struct selection selection = {0};
  bool as_json = false;
  const struct option options[] = {
      {"partition", 'p', OPTION_TEXT, "P", "this partition only", &selection.partition, 0, 0},
      {"partitions", 0, OPTION_TEXT, "A-B", "partitions A to B, both included", &selection.partitions, 0, 0},
      {"columns", 'c', OPTION_TEXT, "COLS", "these columns only: a,b", &selection.columns, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "everything as JSON", &as_json, 0, 0},
  };
  const struct usage usage = {"stats", "FILE... [options]",
                              "Shows of each column the nulls, how many distinct values there are (an estimate beyond 200), the\n"
                              "smallest and the largest value, and its bytes in Arrow.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &files);
  if (code == GO_ON && files.n == 0) code = fail_usage("stats", "no file is named");
  if (code == GO_ON) code = run(&files, &selection, as_json);
  strings_free(&files);
  return code;
}
