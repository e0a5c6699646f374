/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for the tests of the command. Usage: make_table plain ROWS [BATCH_ROWS] | make_table types | make_table other
 * Writes an Arrow stream to standard output.
 */
#include <colshuf/ipc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing here is ever freed: a leak check would only say so. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "detect_leaks=0";
}

static void no_schema_release(struct ArrowSchema *schema) {
  schema->release = NULL;
}
static void no_array_release(struct ArrowArray *array) {
  array->release = NULL;
}

/* A column as it is declared here. Everything is static or leaks: the process ends soon. */
struct column {
  struct ArrowSchema schema;
  struct ArrowArray array;
};

static void *keep(const void *bytes, size_t size) {
  void *copy = malloc(size == 0 ? 1 : size);
  if (copy == NULL) exit(3);
  if (size > 0) memcpy(copy, bytes, size);
  return copy;
}

static struct column *new_column(const char *name, const char *format, int64_t length, int64_t n_buffers) {
  struct column *column = keep(&(struct column){0}, sizeof *column);
  column->schema = (struct ArrowSchema){.format = format, .name = name, .flags = ARROW_FLAG_NULLABLE, .release = no_schema_release};
  column->array = (struct ArrowArray){.length = length, .n_buffers = n_buffers, .null_count = -1, .release = no_array_release};
  column->array.buffers = calloc((size_t)n_buffers + 1, sizeof(void *));
  return column;
}

/* valid: a string of '1' and '0', or NULL. */
static void set_validity(struct column *column, const char *valid) {
  if (valid == NULL) {
    column->array.null_count = 0;
    return;
  }
  unsigned char *bits = calloc(strlen(valid) / 8 + 1, 1);
  for (size_t i = 0; valid[i] != '\0'; i++) {
    if (valid[i] == '1') bits[i / 8] |= (unsigned char)(1u << i % 8);
  }
  column->array.buffers[0] = bits;
}

static struct column *fixed(const char *name, const char *format, int64_t n, const char *valid, const void *values, size_t width) {
  struct column *column = new_column(name, format, n, 2);
  set_validity(column, valid);
  column->array.buffers[1] = keep(values, (size_t)n * width);
  return column;
}

static struct column *text(const char *name, const char *format, int64_t n, const char *valid, const char *const *values) {
  struct column *column = new_column(name, format, n, 3);
  int32_t *offsets = calloc((size_t)n + 1, 4);
  int64_t *large = calloc((size_t)n + 1, 8);
  char *bytes = calloc(1, 1 << 20);
  int large_offsets = format[0] == 'U' || format[0] == 'Z';
  set_validity(column, valid);
  for (int64_t i = 0; i < n; i++) {
    size_t size = values[i] == NULL ? 0 : strlen(values[i]);
    if (size > 0) memcpy(bytes + large[i], values[i], size);
    large[i + 1] = large[i] + (int64_t)size;
    offsets[i + 1] = (int32_t)large[i + 1];
  }
  column->array.buffers[1] = large_offsets ? (void *)large : (void *)offsets;
  column->array.buffers[2] = bytes;
  return column;
}

static struct column *nested(const char *name, const char *format, int64_t n, int64_t n_buffers, struct column **children, int64_t n_children) {
  struct column *column = new_column(name, format, n, n_buffers);
  column->array.null_count = 0;
  column->schema.n_children = column->array.n_children = n_children;
  column->schema.children = calloc((size_t)n_children + 1, sizeof(void *));
  column->array.children = calloc((size_t)n_children + 1, sizeof(void *));
  for (int64_t c = 0; c < n_children; c++) {
    column->schema.children[c] = &children[c]->schema;
    column->array.children[c] = &children[c]->array;
  }
  return column;
}

static int write_stdout(void *ctx, const void *data, size_t size) {
  (void)ctx;
  return fwrite(data, 1, size, stdout) == size ? 0 : 5;
}

static void check(enum colshuf_status status, const struct colshuf_error *err) {
  if (status == COLSHUF_OK) return;
  fprintf(stderr, "make_table: %s\n", err->message);
  exit(3);
}

static struct colshuf_ipc_writer *writer;
static void write_batch(struct column **columns, int64_t n_columns, int64_t n_rows) {
  struct colshuf_error err;
  struct column *root = nested("", "+s", n_rows, 1, columns, n_columns);
  root->schema.flags = 0;
  const struct colshuf_output output = {write_stdout, NULL};
  if (writer == NULL) check(colshuf_ipc_writer_new(&root->schema, &output, NULL, &writer, &err), &err);
  check(colshuf_ipc_writer_write(writer, &root->array, 0, n_rows, &err), &err);
}

/* id 0, 1, 2 ...; k with nulls; s, x; the same for the same number of rows whatever the batches. */
static void write_plain(int64_t first, int64_t n) {
  static char words[1 << 20][16];
  const char **values = calloc((size_t)n + 1, sizeof *values);
  int64_t *ids = calloc((size_t)n + 1, 8);
  int32_t *keys = calloc((size_t)n + 1, 4);
  double *reals = calloc((size_t)n + 1, 8);
  char *valid = calloc((size_t)n + 1, 1);
  for (int64_t i = 0; i < n; i++) {
    uint64_t mixed = (uint64_t)(first + i) * 0x9e3779b97f4a7c15u;
    ids[i] = first + i;
    keys[i] = (int32_t)(mixed >> 50);
    reals[i] = (double)(mixed >> 40) / 16;
    valid[i] = (first + i) % 10 == 3 ? '0' : '1';
    snprintf(words[i % (1 << 20)], sizeof words[0], "word_%d", (int)(mixed >> 58));
    values[i] = words[i % (1 << 20)];
  }
  struct column *columns[] = {fixed("id", "l", n, NULL, ids, 8), fixed("k", "i", n, valid, keys, 4),
                              text("s", "u", n, NULL, values), fixed("x", "g", n, NULL, reals, 8)};
  write_batch(columns, 4, n);
}

/* The same names, another type. */
static void write_other(void) {
  double ids[3] = {1, 2, 3};
  int32_t keys[3] = {1, 2, 3};
  const char *words[3] = {"a", "b", "c"};
  struct column *columns[] = {fixed("id", "g", 3, NULL, ids, 8), fixed("k", "i", 3, NULL, keys, 4),
                              text("s", "u", 3, NULL, words), fixed("x", "g", 3, NULL, ids, 8)};
  write_batch(columns, 4, 3);
}

static void write_types(void) {
  enum { N = 3 };
  const char *valid = "110"; /* the third value of most columns is null */
  const uint8_t bits[N] = {1, 0, 0}; /* one bit a value, the first is set */
  const int8_t i8[N] = {-128, 127, 0};
  const uint16_t u16[N] = {0, 65535, 0};
  const uint64_t u64[N] = {0, UINT64_MAX, 0};
  const uint16_t halves[N] = {0x3c00, 0xfc00, 0};
  const float floats[N] = {0.1f, -1e30f, 0};
  const double doubles[N] = {0.1, 1e300 * 1e300, 0};
  const int32_t d32[N] = {-12345, 5, 0};
  const int64_t d128[2 * N] = {-1, -1, 123456789012345678, 0, 0, 0};
  const int32_t days[N] = {0, -719163, 0};
  const int64_t ms_days[N] = {86400000, -86400000, 0};
  const int32_t seconds[N] = {0, 86399, 0};
  const int64_t nanoseconds[N] = {1, 86399999999999, 0};
  const int64_t micros[N] = {0, 1719829861123456, 0};
  const int64_t durations[N] = {1500, -1, 0};
  const int32_t months[N] = {14, -1, 0};
  const int32_t day_times[2 * N] = {3, 4005, 0, -1, 0, 0};
  const int32_t month_day_nanos[4 * N] = {1, 2, 3, 0, -13, 0, 0, 0, 0, 0, 0, 0};
  const char *words[N] = {"he said \"hi\", ok", "line\nbreak\t\xc3\xa9", NULL};
  const char *blobs[N] = {"\x01\xff", "", NULL};
  const int32_t indices[N] = {1, 0, 0}; /* one bit a value, the first is set */
  const char *colours[2] = {"red", "green"};
  const int32_t lists[N + 1] = {0, 2, 2, 3};
  const int64_t items[3] = {10, 20, 30};
  const int64_t inner[N] = {7, 8, 9};
  const int32_t run_ends[2] = {2, 3};
  const double runs[2] = {1.5, -2.5};
  const int8_t type_ids[N] = {5, 7, 5};
  const int32_t union_offsets[N] = {0, 0, 1};
  const int64_t numbers[2] = {42, 43};
  const char *union_words[1] = {"u"};

  struct column *dictionary = fixed("dict", "i", N, valid, indices, 4), *values = text("", "u", 2, NULL, colours);
  dictionary->schema.dictionary = &values->schema;
  dictionary->array.dictionary = &values->array;
  struct column *list = nested("list", "+l", N, 2, (struct column *[]){fixed("item", "l", 3, "101", items, 8)}, 1);
  list->array.buffers[1] = keep(lists, sizeof lists);
  struct column *structure = nested("struct", "+s", N, 1, (struct column *[]){fixed("a", "l", N, NULL, inner, 8), text("b", "u", N, valid, words)}, 2);
  struct column *key = text("key", "u", 3, NULL, (const char *[]){"x", "y", "z"});
  key->schema.flags = 0;
  struct column *entries = nested("entries", "+s", 3, 1, (struct column *[]){key, fixed("value", "l", 3, "101", items, 8)}, 2);
  entries->schema.flags = 0;
  struct column *map = nested("map", "+m", N, 2, &entries, 1);
  map->array.buffers[1] = keep(lists, sizeof lists);
  struct column *ends = fixed("run_ends", "i", 2, NULL, run_ends, 4);
  ends->schema.flags = 0;
  struct column *runs_column = nested("ree", "+r", N, 0, (struct column *[]){ends, fixed("values", "g", 2, NULL, runs, 8)}, 2);
  struct column *choice = nested("union", "+ud:5,7", N, 2, (struct column *[]){fixed("n", "l", 2, NULL, numbers, 8), text("w", "u", 1, NULL, union_words)}, 2);
  choice->array.buffers[0] = keep(type_ids, sizeof type_ids);
  choice->array.buffers[1] = keep(union_offsets, sizeof union_offsets);
  struct column *nothing = new_column("null", "n", N, 0);
  nothing->array.null_count = N;

  struct column *columns[] = {
      fixed("bool", "b", N, valid, bits, 1) , fixed("i8", "c", N, valid, i8, 1), fixed("u16", "S", N, valid, u16, 2),
      fixed("u64", "L", N, valid, u64, 8), fixed("half", "e", N, valid, halves, 2), fixed("float", "f", N, valid, floats, 4),
      fixed("double", "g", N, valid, doubles, 8), fixed("d32", "d:7,2,32", N, valid, d32, 4),
      fixed("d128", "d:38,20", N, valid, d128, 16), fixed("dneg", "d:9,-2,32", N, valid, d32, 4),
      fixed("date32", "tdD", N, valid, days, 4), fixed("date64", "tdm", N, valid, ms_days, 8),
      fixed("time32", "tts", N, valid, seconds, 4), fixed("time64", "ttn", N, valid, nanoseconds, 8),
      fixed("ts", "tsu:", N, valid, micros, 8), fixed("ts_utc", "tsu:UTC", N, valid, micros, 8),
      fixed("ts_fixed", "tsu:-05:30", N, valid, micros, 8), fixed("duration", "tDm", N, valid, durations, 8),
      fixed("months", "tiM", N, valid, months, 4), fixed("day_time", "tiD", N, valid, day_times, 8),
      fixed("mdn", "tin", N, valid, month_day_nanos, 16), text("utf8", "u", N, valid, words),
      text("large", "U", N, valid, words), text("binary", "z", N, valid, blobs), fixed("fsb", "w:2", N, valid, "abcdef", 2),
      dictionary, list, structure, map, runs_column, choice, nothing};
  write_batch(columns, sizeof columns / sizeof columns[0], N);
}

int main(int argc, char **argv) {
  const char *kind = argc > 1 ? argv[1] : "";
  struct colshuf_error err;
  if (strcmp(kind, "plain") == 0 && argc > 2) {
    int64_t n = atoll(argv[2]), step = argc > 3 ? atoll(argv[3]) : n;
    for (int64_t first = 0; first < n || first == 0; first += step > 0 ? step : 1) write_plain(first, n - first < step ? n - first : step);
  } else if (strcmp(kind, "types") == 0) {
    write_types();
  } else if (strcmp(kind, "other") == 0) {
    write_other();
  } else {
    fprintf(stderr, "usage: make_table plain ROWS [BATCH_ROWS] | types | other\n");
    return 2;
  }
  check(colshuf_ipc_writer_finish(writer, &err), &err);
  colshuf_ipc_writer_free(writer);
  return fflush(stdout) == 0 ? 0 : 3;
}
