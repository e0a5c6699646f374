/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitioning: nanoseconds a row for hashes, ids, row lists and ranges, beside memcpy and beside Comet's own crate and Arrow's
 * row converter (bench/peer_hash), in one run on one core.
 *
 *   bench_partitioning [--peer PROGRAM] [--json FILE] [--sample-ms N] [NAME…]
 *
 * Each case is generated here, written as an Arrow IPC file for the peer, and checked: both must find the same sum of hashes or
 * ids.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "colshuf/colshuf.h"

enum {
  N_BATCHES = 16,
  BATCH_ROWS = 8192,
  N_ROWS = N_BATCHES * BATCH_ROWS,
  MAX_COLUMNS = 4,
  N_SAMPLES = 41,
  N_PARTITIONS = 200
};

static void die(const char *what, const char *detail) {
  fprintf(stderr, "bench_partitioning: %s: %s\n", what, detail);
  exit(1);
}

static void require(enum colshuf_status status, const struct colshuf_error *err) {
  if (status != COLSHUF_OK) die(colshuf_status_name(status), err->message);
}

static void *allocate(size_t size) {
  void *pointer = aligned_alloc(64, (size + 127) / 64 * 64);
  if (pointer == NULL) die("no memory", "");
  return memset(pointer, 0, (size + 127) / 64 * 64);
}

static uint64_t random_next(void) {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1d;
}

/* --- columns --- */

enum column_kind { INT32, INT64, FLOAT64, DECIMAL18, DECIMAL38, TEXT, DICTIONARY };

struct column {
  enum column_kind kind;
  int null_percent;
  int max_text;
};

static const char *const formats[] = {"i", "l", "g", "d:18,2", "d:38,10", "u", "i"};
static const int widths[] = {4, 8, 8, 16, 16, 0, 4};
enum { N_WORDS = 1000 };

static void keep_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}
static void keep_array(struct ArrowArray *array) {
  array->release = NULL;
}

static struct ArrowSchema *new_schema(const char *format, const char *name, int64_t n_children) {
  struct ArrowSchema *schema = allocate(sizeof *schema);
  *schema = (struct ArrowSchema){
      .format = format, .name = name, .flags = ARROW_FLAG_NULLABLE, .n_children = n_children, .release = keep_schema};
  schema->children = allocate((size_t)n_children * sizeof *schema->children);
  return schema;
}

static struct ArrowArray *new_array(int64_t n, int64_t n_buffers, int64_t n_children) {
  struct ArrowArray *array = allocate(sizeof *array);
  *array = (struct ArrowArray){.length = n, .n_buffers = n_buffers, .n_children = n_children, .release = keep_array};
  array->buffers = allocate((size_t)n_buffers * sizeof *array->buffers);
  array->children = allocate((size_t)n_children * sizeof *array->children);
  return array;
}

static struct ArrowArray *text_array(int64_t n, int max_text) {
  struct ArrowArray *array = new_array(n, 3, 0);
  int32_t *offsets = allocate((size_t)(n + 1) * sizeof *offsets);
  char *bytes = allocate((size_t)(n * max_text));
  for (int64_t i = 0; i < n; i++) {
    int32_t size = (int32_t)(random_next() >> 33) % (max_text + 1);
    for (int32_t j = 0; j < size; j++) bytes[offsets[i] + j] = (char)('a' + (random_next() >> 40) % 26);
    offsets[i + 1] = offsets[i] + size;
  }
  array->buffers[1] = offsets;
  array->buffers[2] = bytes;
  return array;
}

static void fill_value(uint8_t *place, enum column_kind kind) {
  int64_t value = (int64_t)random_next();
  int64_t wide[2] = {value, (int64_t)random_next() >> 40};
  double real = (double)value / 1e6;
  int32_t narrow = (int32_t)value, index = (int32_t)((uint64_t)value >> 33) % N_WORDS;
  switch (kind) {
    case INT32:
      memcpy(place, &narrow, 4);
      return;
    case FLOAT64:
      memcpy(place, &real, 8);
      return;
    case DECIMAL18:
      wide[0] = value % 1000000000000000000;
      wide[1] = wide[0] >> 63;
      memcpy(place, wide, 16);
      return;
    case DECIMAL38:
      memcpy(place, wide, 16);
      return;
    case DICTIONARY:
      memcpy(place, &index, 4);
      return;
    default:
      memcpy(place, &value, 8);
      return;
  }
}

static void add_nulls(struct ArrowArray *array, int percent) {
  if (percent == 0) return;
  uint8_t *bits = allocate((size_t)array->length / 8 + 8);
  for (int64_t i = 0; i < array->length; i++) {
    bool valid = random_next() % 100 >= (uint64_t)percent;
    bits[i / 8] = (uint8_t)(bits[i / 8] | valid << (i % 8));
    array->null_count += !valid;
  }
  array->buffers[0] = bits;
}

static struct ArrowArray *column_array(const struct column *column, int64_t n, struct ArrowArray *words) {
  struct ArrowArray *array;
  if (column->kind == TEXT) {
    array = text_array(n, column->max_text);
  } else {
    size_t width = (size_t)widths[column->kind];
    uint8_t *values = allocate((size_t)n * width);
    array = new_array(n, 2, 0);
    array->buffers[1] = values;
    for (int64_t i = 0; i < n; i++) fill_value(values + (size_t)i * width, column->kind);
    if (column->kind == DICTIONARY) array->dictionary = words;
  }
  add_nulls(array, column->null_percent);
  return array;
}

/* --- cases --- */

enum operation { HASH, IDS, ROWS, RANGE };

struct bench_case {
  const char *name;
  enum operation operation;
  int n_columns;
  struct column columns[MAX_COLUMNS];
  int n_bounds;
  double goal;      /* least ratio to the peer; 0 = none */
  double goal_ns;   /* most nanoseconds a row; 0 = none */
  double goal_rate; /* least keys in a nanosecond; 0 = none */
};

static const struct bench_case cases[] = {
    {"int32", HASH, 1, {{INT32, 0, 0}}, 0, 4, 0, 1.5},
    {"int64", HASH, 1, {{INT64, 0, 0}}, 0, 4, 0, 1.5},
    {"double", HASH, 1, {{FLOAT64, 0, 0}}, 0, 4, 0, 1.5},
    {"int32, 10 % nulls", HASH, 1, {{INT32, 10, 0}}, 0, 3, 0, 0},
    {"int64, 10 % nulls", HASH, 1, {{INT64, 10, 0}}, 0, 3, 0, 0},
    {"double, 10 % nulls", HASH, 1, {{FLOAT64, 10, 0}}, 0, 3, 0, 0},
    {"decimal(18,2)", HASH, 1, {{DECIMAL18, 0, 0}}, 0, 0, 0, 0},
    {"text <= 16", HASH, 1, {{TEXT, 0, 16}}, 0, 2, 0, 0},
    {"text <= 16, 10 % nulls", HASH, 1, {{TEXT, 10, 16}}, 0, 2, 0, 0},
    {"text <= 64", HASH, 1, {{TEXT, 0, 64}}, 0, 0, 0, 0},
    {"dictionary of text", HASH, 1, {{DICTIONARY, 0, 0}}, 0, 0, 0, 0},
    {"4 keys int32", HASH, 4, {{INT32, 0, 0}, {INT32, 0, 0}, {INT32, 0, 0}, {INT32, 0, 0}}, 0, 0, 0, 0},
    {"4 keys int64, 10 % nulls", HASH, 4, {{INT64, 10, 0}, {INT64, 10, 0}, {INT64, 10, 0}, {INT64, 10, 0}}, 0, 0, 0, 0},
    {"int64, text", HASH, 2, {{INT64, 0, 0}, {TEXT, 0, 16}}, 0, 0, 0, 0},
    {"ids of int64", IDS, 1, {{INT64, 0, 0}}, 0, 4, 0, 0},
    {"ids and rows of int64", ROWS, 1, {{INT64, 0, 0}}, 0, 0, 2, 0},
    {"ids and rows of 4 keys", ROWS, 4, {{INT32, 0, 0}, {INT64, 0, 0}, {FLOAT64, 0, 0}, {INT32, 0, 0}}, 0, 0, 0, 0},
    {"range int64, 200 bounds", RANGE, 1, {{INT64, 0, 0}}, 200, 3, 0, 0},
    {"range int64, 10000 bounds", RANGE, 1, {{INT64, 0, 0}}, 10000, 3, 0, 0},
    {"range int64, 10 % nulls, 200 bounds", RANGE, 1, {{INT64, 10, 0}}, 200, 3, 0, 0},
    {"range text, 200 bounds", RANGE, 1, {{TEXT, 0, 16}}, 200, 3, 0, 0},
    {"range text, 10000 bounds", RANGE, 1, {{TEXT, 0, 16}}, 10000, 3, 0, 0},
    {"range int32 and text, 200 bounds", RANGE, 2, {{INT32, 0, 0}, {TEXT, 0, 16}}, 200, 3, 0, 0},
};

struct work {
  const struct bench_case *test;
  struct ArrowSchema *schema;
  struct ArrowArray *batches[N_BATCHES];
  struct ArrowArray bounds;
  struct colshuf_partitioner *partitioner;
  int32_t *ids;
  uint32_t *offsets;
  uint32_t *rows;
};

static const char *const names[] = {"a", "b", "c", "d"};

static void generate(struct work *work) {
  const struct bench_case *test = work->test;
  work->schema = new_schema("+s", "", test->n_columns);
  struct ArrowArray *words = text_array(N_WORDS, 16);
  for (int c = 0; c < test->n_columns; c++) {
    work->schema->children[c] = new_schema(formats[test->columns[c].kind], names[c], 0);
    if (test->columns[c].kind == DICTIONARY) work->schema->children[c]->dictionary = new_schema("u", "", 0);
  }
  for (int b = 0; b < N_BATCHES; b++) {
    work->batches[b] = new_array(BATCH_ROWS, 1, test->n_columns);
    for (int c = 0; c < test->n_columns; c++)
      work->batches[b]->children[c] = column_array(&test->columns[c], BATCH_ROWS, words);
  }
}

/* Bounds from the data itself, by the library's sampler where it can, so that partitions are of one size. */
static void sample_bounds(struct work *work) {
  struct colshuf_error err;
  struct colshuf_key keys[MAX_COLUMNS];
  for (int c = 0; c < work->test->n_columns; c++) keys[c] = (struct colshuf_key){.column = c};
  struct colshuf_bounds_sampler_options options = {
      .n_partitions = work->test->n_bounds + 1, .keys = keys, .n_keys = work->test->n_columns, .sample_size = N_ROWS / 2};
  struct colshuf_bounds_sampler *sampler;
  struct ArrowSchema schema;
  require(colshuf_bounds_sampler_new(work->schema, &options, &sampler, &err), &err);
  for (int b = 0; b < N_BATCHES; b++) require(colshuf_bounds_sampler_add(sampler, work->batches[b], &err), &err);
  require(colshuf_bounds_sampler_finish(sampler, &schema, &work->bounds, &err), &err);
  colshuf_bounds_sampler_free(sampler);
  schema.release(&schema);
}

static void make_partitioner(struct work *work) {
  struct colshuf_error err;
  struct colshuf_key keys[MAX_COLUMNS];
  for (int c = 0; c < work->test->n_columns; c++) keys[c] = (struct colshuf_key){.column = c};
  struct colshuf_partitioner_options options = {.kind = COLSHUF_PARTITION_HASH,
                                                .n_partitions = N_PARTITIONS,
                                                .keys = keys,
                                                .n_keys = work->test->n_columns,
                                                .rules = COLSHUF_RULES_COMET};
  if (work->test->operation == RANGE) {
    sample_bounds(work);
    options.kind = COLSHUF_PARTITION_RANGE;
    options.n_partitions = work->test->n_bounds + 1;
    options.bounds_schema = work->schema;
    options.bounds = &work->bounds;
  }
  require(colshuf_partitioner_new(work->schema, &options, &work->partitioner, &err), &err);
  work->ids = allocate(BATCH_ROWS * sizeof *work->ids);
  work->offsets = allocate((N_PARTITIONS + 1) * sizeof *work->offsets);
  work->rows = allocate(BATCH_ROWS * sizeof *work->rows);
}

static uint64_t sum_of(const int32_t *values) {
  uint64_t sum = 0;
  for (int i = 0; i < BATCH_ROWS; i++) sum += (uint32_t)values[i];
  return sum;
}

/* One pass over all batches; with_sum: and the sum of what it found, which must be the peer's. */
static uint64_t pass(struct work *work, bool with_sum) {
  static const int32_t columns[] = {0, 1, 2, 3};
  struct colshuf_error err;
  uint64_t sum = 0;
  for (int b = 0; b < N_BATCHES; b++) {
    const struct ArrowArray *batch = work->batches[b];
    if (work->test->operation == HASH) {
      require(colshuf_murmur3(work->schema, batch, columns, work->test->n_columns, 42, COLSHUF_RULES_COMET, work->ids, &err),
              &err);
    } else {
      require(colshuf_partitioner_ids(work->partitioner, batch, work->ids, &err), &err);
    }
    if (work->test->operation == ROWS) {
      require(colshuf_partition_rows(work->ids, BATCH_ROWS, N_PARTITIONS, work->offsets, work->rows, &err), &err);
    }
    if (with_sum) sum += sum_of(work->ids);
  }
  return sum;
}

static uint64_t pass_alone(struct work *work) {
  return pass(work, false);
}

/* --- measuring --- */

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The least time of one pass, over samples shorter than a turn of the scheduler: on a machine with other work it is the one
 * that says most. */
static double measure(struct work *work, double sample_ns, uint64_t (*run)(struct work *)) {
  double best = 1e300, start = now_ns();
  int n_passes = 0;
  while (n_passes == 0 || now_ns() - start < sample_ns) {
    run(work);
    n_passes++;
  }
  for (int i = 0; i < N_SAMPLES; i++) {
    start = now_ns();
    for (int p = 0; p < n_passes; p++) run(work);
    double time = (now_ns() - start) / n_passes;
    best = time < best ? time : best;
  }
  return best;
}

/* What any pass over the keys must cost: reading them and writing four bytes a row. */
static uint64_t copy_pass(struct work *work) {
  static uint8_t target[BATCH_ROWS * 16];
  for (int b = 0; b < N_BATCHES; b++) {
    for (int c = 0; c < work->test->n_columns; c++) {
      const struct ArrowArray *array = work->batches[b]->children[c];
      enum column_kind kind = work->test->columns[c].kind;
      size_t size =
          kind == TEXT ? (size_t)((const int32_t *)array->buffers[1])[BATCH_ROWS] : (size_t)BATCH_ROWS * (size_t)widths[kind];
      memcpy(target, array->buffers[kind == TEXT ? 2 : 1], size < sizeof target ? size : sizeof target);
      __asm__ volatile("" : : "r"(target) : "memory");
    }
  }
  return target[0];
}

/* --- the peer --- */

static int write_to_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? 0 : errno;
}

static void write_file(const char *path, const struct ArrowSchema *schema, struct ArrowArray *const *batches, int n) {
  struct colshuf_error err;
  FILE *file = fopen(path, "wb");
  if (file == NULL) die(path, strerror(errno));
  struct colshuf_output output = {.write = write_to_file, .ctx = file};
  struct colshuf_ipc_writer_options options = {.file_format = 1};
  struct colshuf_ipc_writer *writer;
  require(colshuf_ipc_writer_new(schema, &output, &options, &writer, &err), &err);
  for (int i = 0; i < n; i++) require(colshuf_ipc_writer_write(writer, batches[i], 0, batches[i]->length, &err), &err);
  require(colshuf_ipc_writer_finish(writer, &err), &err);
  colshuf_ipc_writer_free(writer);
  if (fclose(file) != 0) die(path, strerror(errno));
}

static double number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at == NULL ? 0 : strtod(at + strlen(key), NULL);
}

/* Nanoseconds a row; 0 when there is no peer for the case. The sums must agree. */
static double run_peer(const struct work *work, const char *peer, const char *folder, int sample_ms, uint64_t sum) {
  if (peer == NULL || work->test->operation == ROWS) return 0;
  char input[256], bounds[256], command[1200], columns[16] = "a";
  snprintf(input, sizeof input, "%s/keys.arrow", folder);
  snprintf(bounds, sizeof bounds, "%s/bounds.arrow", folder);
  for (int c = 1; c < work->test->n_columns; c++) {
    strcat(columns, ",");
    strcat(columns, names[c]);
  }
  write_file(input, work->schema, work->batches, N_BATCHES);
  int used = snprintf(command, sizeof command, "%s %s --columns %s --samples %d --sample-ms %d", peer, input, columns,
                      N_SAMPLES, sample_ms);
  if (work->test->operation == IDS) snprintf(command + used, sizeof command - (size_t)used, " --partitions %d", N_PARTITIONS);
  if (work->test->operation == RANGE) {
    struct ArrowArray copy = work->bounds, *const one = &copy;
    write_file(bounds, work->schema, &one, 1);
    snprintf(command + used, sizeof command - (size_t)used, " --range %s --rule comet", bounds);
  }
  char answer[1024] = "";
  FILE *pipe = popen(command, "r");
  if (pipe == NULL || fgets(answer, sizeof answer, pipe) == NULL || pclose(pipe) != 0) {
    fprintf(stderr, "the peer does not do \"%s\"\n", work->test->name);
    return 0;
  }
  remove(input);
  remove(bounds);
  const char *theirs = strstr(answer, "\"checksum\": ");
  if (theirs == NULL || strtoull(theirs + 12, NULL, 10) != sum) die("the peer finds another sum", answer);
  return number_after(answer, "\"ns_min\": ");
}

/* --- report --- */

struct result {
  double ns;
  double copy_ns;
  double peer_ns;
};

static bool is_met(const struct bench_case *test, const struct result *result) {
  if (test->goal > 0 && result->peer_ns > 0 && result->peer_ns < test->goal * result->ns) return false;
  if (test->goal_ns > 0 && result->ns > test->goal_ns) return false;
  return test->goal_rate <= 0 || 1 / result->ns >= test->goal_rate;
}

static void print_goal(const struct bench_case *test, const struct result *result) {
  if (test->goal > 0) printf(" >= %.0fx", test->goal);
  if (test->goal_ns > 0) printf(" <= %.0f ns", test->goal_ns);
  if (test->goal_rate > 0) printf(" >= %.1f G/s", test->goal_rate);
  bool has_goal = (test->goal > 0 && result->peer_ns > 0) || test->goal_ns > 0 || test->goal_rate > 0;
  printf("%s\n", !has_goal ? "" : is_met(test, result) ? ": met" : ": NOT met");
}

static void print_result(const struct bench_case *test, const struct result *result) {
  printf("%-36s %8.3f %8.2f %8.3f ", test->name, result->ns, 1 / result->ns, result->copy_ns);
  if (result->peer_ns > 0) printf("%8.3f %7.2fx", result->peer_ns, result->peer_ns / result->ns);
  else printf("%8s %8s", "-", "-");
  print_goal(test, result);
}

static void write_json(FILE *json, const struct bench_case *test, const struct result *result, bool first) {
  fprintf(json,
          "%s\n  {\"case\": \"%s\", \"ns_per_row\": %.4f, \"memcpy_ns_per_row\": %.4f, "
          "\"peer_ns_per_row\": %.4f, \"ratio\": %.3f, "
          "\"met\": %s}",
          first ? "" : ",", test->name, result->ns, result->copy_ns, result->peer_ns,
          result->peer_ns / result->ns, is_met(test, result) ? "true" : "false");
}

static struct result run_case(const struct bench_case *test, const char *peer, const char *folder, int sample_ms) {
  struct work work = {.test = test};
  generate(&work);
  make_partitioner(&work);
  uint64_t sum = pass(&work, true);
  struct result result;
  result.ns = measure(&work, sample_ms * 1e6, pass_alone) / N_ROWS;
  result.copy_ns = measure(&work, sample_ms * 1e6, copy_pass) / N_ROWS;
  result.peer_ns = run_peer(&work, peer, folder, sample_ms, sum);
  colshuf_partitioner_free(work.partitioner);
  return result;
}

static bool is_wanted(const char *name, char **wanted, int n) {
  for (int i = 0; i < n; i++) {
    if (strstr(name, wanted[i]) != NULL) return true;
  }
  return n == 0;
}

int main(int argc, char **argv) {
  const char *peer = getenv("COLSHUF_PEER_HASH"), *json_path = NULL;
  int sample_ms = 2, at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--peer") == 0) peer = argv[at + 1];
    else if (strcmp(argv[at], "--json") == 0) json_path = argv[at + 1];
    else if (strcmp(argv[at], "--sample-ms") == 0) sample_ms = atoi(argv[at + 1]);
    else die("unknown option", argv[at]);
  }
  char folder[] = "/tmp/bench_partitioning_XXXXXX";
  if (mkdtemp(folder) == NULL) die(folder, strerror(errno));
  FILE *json = json_path != NULL ? fopen(json_path, "w") : NULL;
  if (json != NULL) fprintf(json, "[");
  printf("%-36s %8s %8s %8s %8s %8s goal\n", "case", "ns/row", "G rows/s", "memcpy", "peer", "ratio");
  double one_key = 0;
  int n_missed = 0;
  bool first = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!is_wanted(cases[i].name, argv + at, argc - at)) continue;
    struct result result = run_case(&cases[i], peer, folder, sample_ms);
    print_result(&cases[i], &result);
    if (strcmp(cases[i].name, "int32") == 0) one_key = result.ns;
    if (strcmp(cases[i].name, "4 keys int32") == 0 && one_key > 0) {
      bool met = result.ns <= 4.5 * one_key;
      printf("  four keys cost %.2f x one key, goal <= 4.5: %s\n", result.ns / one_key, met ? "met" : "NOT met");
      n_missed += !met;
    }
    if (json != NULL) write_json(json, &cases[i], &result, first);
    n_missed += !is_met(&cases[i], &result);
    first = false;
    fflush(stdout);
  }
  if (json != NULL) {
    fprintf(json, "\n]\n");
    fclose(json);
  }
  rmdir(folder);
  printf("%d goals not met%s\n", n_missed, peer == NULL ? " (no peer: ratios not measured)" : "");
  return 0;
}
