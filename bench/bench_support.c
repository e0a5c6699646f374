/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_support.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct bench_codec bench_codecs[4] = {
    {"none", COLSHUF_NONE, 0}, {"lz4", COLSHUF_LZ4, 0}, {"zstd:1", COLSHUF_ZSTD, 1}, {"snappy", COLSHUF_SNAPPY, 0}};

struct bench_plan bench_arguments(int *argc, char **argv) {
  struct bench_plan plan = {.n_samples = 9, .sample_ms = 20, .cells = ""};
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    if (strncmp(argv[i], "--", 2) != 0) {
      argv[kept++] = argv[i];
      continue;
    }
    const char *value = i + 1 < *argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--samples") == 0) plan.n_samples = atoi(value);
    else if (strcmp(argv[i], "--sample-ms") == 0) plan.sample_ms = atof(value);
    else if (strcmp(argv[i], "--cells") == 0) plan.cells = value;
    else {
      fprintf(stderr, "%s: unknown option %s\n", argv[0], argv[i]);
      exit(2);
    }
    i++;
  }
  if (plan.n_samples < 1) plan.n_samples = 1;
  *argc = kept;
  return plan;
}

int bench_wanted(const struct bench_plan *plan, const char *cell) {
  return strstr(cell, plan->cells) != NULL;
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A sample of warm-up, which also finds out how many passes make one. */
static void warm_up(const struct bench_plan *plan, struct bench_turn *turn) {
  double start = now_ns();
  turn->n_passes = 0;
  while (turn->n_passes == 0 || now_ns() - start < plan->sample_ms * 1e6) {
    turn->pass(turn->ctx);
    turn->n_passes++;
  }
}

static double take_sample(const struct bench_turn *turn) {
  double start = now_ns();
  for (long i = 0; i < turn->n_passes; i++) turn->pass(turn->ctx);
  return (now_ns() - start) / (double)turn->n_passes;
}

void bench_take_turns(const struct bench_plan *plan, struct bench_turn *turns, int n_turns) {
  size_t n = (size_t)plan->n_samples;
  double *samples = bench_alloc(sizeof *samples * n * (size_t)n_turns);
  for (int t = 0; t < n_turns; t++) warm_up(plan, &turns[t]);
  for (size_t s = 0; s < n; s++) {
    for (int t = 0; t < n_turns; t++) samples[(size_t)t * n + s] = take_sample(&turns[t]);
  }
  for (int t = 0; t < n_turns; t++) {
    double *own = samples + (size_t)t * n;
    qsort(own, n, sizeof *own, compare_doubles);
    turns[t].timing = (struct bench_timing){.median = own[n / 2], .least = own[0], .most = own[n - 1], .n_samples = plan->n_samples};
  }
  free(samples);
}

struct bench_timing bench_measure(const struct bench_plan *plan, void (*pass)(void *ctx), void *ctx) {
  struct bench_turn turn = {.pass = pass, .ctx = ctx};
  bench_take_turns(plan, &turn, 1);
  return turn.timing;
}

void bench_report(const char *operation, const char *cell, const char *mode, const struct bench_timing *timing, double n_blocks,
                  const char *extra) {
  printf("{\"program\": \"colshuf\", \"operation\": \"%s\", \"cell\": \"%s\", \"mode\": \"%s\", \"ns_per_block\": %.1f, "
         "\"ns_min\": %.1f, \"ns_max\": %.1f, \"samples\": %d%s}\n",
         operation, cell, mode, timing->median / n_blocks, timing->least / n_blocks, timing->most / n_blocks, timing->n_samples,
         extra);
  fflush(stdout);
}

void bench_need(enum colshuf_status status, const struct colshuf_error *err, const char *what) {
  if (status == COLSHUF_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, colshuf_status_name(status), err->message);
  exit(1);
}

void *bench_alloc(size_t size) {
  void *pointer = aligned_alloc(64, (size + 127) & ~(size_t)63);
  if (pointer == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", size);
    exit(3);
  }
  return pointer;
}

struct bench_table bench_read_table(const char *path) {
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  bench_need(colshuf_ipc_reader_open_path(path, NULL, &stream, &err), &err, path);
  struct bench_table table = {0};
  int capacity = 0;
  int failed = stream.get_schema(&stream, &table.schema);
  while (failed == 0) {
    struct ArrowArray batch = {0};
    failed = stream.get_next(&stream, &batch);
    if (failed != 0 || batch.release == NULL) break;
    if (table.n_batches == capacity) {
      capacity = capacity * 2 + 8;
      table.batches = realloc(table.batches, sizeof batch * (size_t)capacity);
      if (table.batches == NULL) abort();
    }
    table.batches[table.n_batches++] = batch;
  }
  if (failed != 0) {
    fprintf(stderr, "%s: %s\n", path, stream.get_last_error(&stream));
    exit(1);
  }
  stream.release(&stream);
  return table;
}

void bench_table_clear(struct bench_table *table) {
  for (int i = 0; i < table->n_batches; i++) table->batches[i].release(&table->batches[i]);
  free(table->batches);
  table->schema.release(&table->schema);
}

static int compare_strings(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

char **bench_list(const char *folder, const char *ending, int *n) {
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    fprintf(stderr, "no folder %s\n", folder);
    exit(2);
  }
  char **paths = NULL;
  *n = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    size_t size = strlen(entry->d_name), end = strlen(ending);
    if (size <= end || strcmp(entry->d_name + size - end, ending) != 0) continue;
    paths = realloc(paths, sizeof *paths * (size_t)(*n + 1));
    if (paths == NULL || asprintf(&paths[*n], "%s/%s", folder, entry->d_name) < 0) abort();
    (*n)++;
  }
  closedir(directory);
  if (*n > 0) qsort(paths, (size_t)*n, sizeof *paths, compare_strings);
  return paths;
}

const char *bench_stem(const char *path) {
  static char stem[256];
  const char *slash = strrchr(path, '/');
  snprintf(stem, sizeof stem, "%s", slash == NULL ? path : slash + 1);
  char *dot = strrchr(stem, '.');
  if (dot != NULL) *dot = '\0';
  return stem;
}
