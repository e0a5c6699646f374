/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs on which writers fall off a cliff: a thousand columns, batches of one row, one string of a GiB, one partition that gets
 * everything. Made here, no file is read; each in a process of its own, whose resident memory before the first row is that of the input.
 * JSON lines on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_child.h"
#include "bench_support.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A table of n_columns: int64, and utf8 in every fourth place. Its structs and bytes are never freed: the program ends soon. */
static void never_released_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}
static void never_released(struct ArrowArray *array) {
  array->release = NULL;
}

static struct ArrowSchema make_schema(int n_columns) {
  struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = n_columns, .release = never_released_schema};
  schema.children = bench_alloc((size_t)n_columns * sizeof *schema.children);
  for (int i = 0; i < n_columns; i++) {
    char *name = bench_alloc(16);
    snprintf(name, 16, "c%d", i);
    schema.children[i] = bench_alloc(sizeof *schema.children[i]);
    *schema.children[i] = (struct ArrowSchema){.format = i % 4 == 3 ? "u" : "l", .name = name, .flags = ARROW_FLAG_NULLABLE, .release = never_released_schema};
  }
  return schema;
}

static struct ArrowArray *make_longs(int64_t n_rows, uint64_t *seed, int64_t below) {
  struct ArrowArray *array = bench_alloc(sizeof *array);
  const void **buffers = bench_alloc(2 * sizeof *buffers);
  int64_t *values = bench_alloc((size_t)n_rows * sizeof *values);
  for (int64_t i = 0; i < n_rows; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = (int64_t)((*seed >> 33) % (uint64_t)below);
  }
  buffers[0] = NULL;
  buffers[1] = values;
  *array = (struct ArrowArray){.length = n_rows, .n_buffers = 2, .buffers = buffers, .release = never_released};
  return array;
}

/* One value in eight is null. */
static void add_nulls(struct ArrowArray *array) {
  uint8_t *bits = bench_alloc((size_t)array->length / 8 + 1);
  for (int64_t i = 0; i <= array->length / 8; i++) bits[i] = (uint8_t)~(1u << (i * 5 % 8));
  array->buffers[0] = bits;
  array->null_count = -1;
}

static struct ArrowArray *make_texts(int64_t n_rows, int32_t size) {
  struct ArrowArray *array = bench_alloc(sizeof *array);
  const void **buffers = bench_alloc(3 * sizeof *buffers);
  int32_t *offsets = bench_alloc(((size_t)n_rows + 1) * sizeof *offsets);
  char *bytes = bench_alloc((size_t)n_rows * (size_t)size);
  for (int64_t i = 0; i <= n_rows; i++) offsets[i] = (int32_t)(i * size);
  for (int64_t i = 0; i < n_rows * size; i++) bytes[i] = (char)('a' + (i * 7 + i / 13) % 26);
  buffers[0] = NULL;
  buffers[1] = offsets;
  buffers[2] = bytes;
  *array = (struct ArrowArray){.length = n_rows, .n_buffers = 3, .buffers = buffers, .release = never_released};
  return array;
}

static struct ArrowArray make_batch(int n_columns, int64_t n_rows, int32_t text_size, int64_t below, int nulls) {
  uint64_t seed = 1;
  const void **buffers = bench_alloc(sizeof *buffers);
  struct ArrowArray batch = {.length = n_rows, .n_buffers = 1, .n_children = n_columns, .release = never_released};
  buffers[0] = NULL;
  batch.buffers = buffers;
  batch.children = bench_alloc((size_t)n_columns * sizeof *batch.children);
  for (int i = 0; i < n_columns; i++) {
    batch.children[i] = i % 4 == 3 ? make_texts(n_rows, text_size) : make_longs(n_rows, &seed, i == 0 ? below : 1 << 30);
    if (nulls && i > 0) add_nulls(batch.children[i]);
  }
  return batch;
}

struct shape {
  const char *name;
  int n_columns;
  int64_t n_rows;      /* of the batch that is made */
  int32_t text_size;
  int64_t below;       /* different keys */
  int64_t step;        /* rows handed over at a time; 0 = all */
  int repeats;
  int n_partitions;
  int nulls;
};

/* What is found out about a shape. */
struct outcome {
  double seconds, input_mib, resident_mib;
  struct colshuf_map_metrics metrics;
};

static void write_shape(const struct shape *shape, const struct ArrowArray *batch, struct colshuf_map_writer *writer) {
  struct colshuf_error err;
  int64_t step = shape->step == 0 ? shape->n_rows : shape->step;
  for (int i = 0; i < shape->repeats; i++) {
    for (int64_t row = 0; row < shape->n_rows; row += step) {
      struct ArrowArray part = *batch;
      part.offset = row;
      part.length = shape->n_rows - row < step ? shape->n_rows - row : step;
      bench_need(colshuf_map_writer_write(writer, &part, &err), &err, shape->name);
    }
  }
  bench_need(colshuf_map_writer_commit(writer, NULL, &err), &err, "commit");
}

/* In a child: struct shape -> struct outcome. */
static void run_shape(const void *ctx, void *result) {
  const struct shape *shape = ctx;
  struct outcome *outcome = result;
  struct colshuf_error err;
  struct colshuf_map_writer *writer;
  struct colshuf_key key = {.column = 0};
  struct ArrowSchema schema = make_schema(shape->n_columns);
  struct ArrowArray batch = make_batch(shape->n_columns, shape->n_rows, shape->text_size, shape->below, shape->nulls);
  struct colshuf_map_writer_options options = {.output = "/tmp/colshuf-shapes"};
  options.partitioner = (struct colshuf_partitioner_options){
      .kind = COLSHUF_PARTITION_HASH, .n_partitions = shape->n_partitions, .keys = &key, .n_keys = 1};
  outcome->input_mib = bench_resident_mib();
  double start = now();
  bench_need(colshuf_map_writer_new(&schema, &options, &writer, &err), &err, "writer");
  write_shape(shape, &batch, writer);
  outcome->seconds = now() - start;
  colshuf_map_writer_metrics(writer, &outcome->metrics);
  outcome->resident_mib = bench_peak_mib();
  colshuf_map_writer_free(writer);
}

static void report_shape(const struct shape *shape, const struct outcome *outcome) {
  const struct colshuf_map_metrics *metrics = &outcome->metrics;
  double values = (double)metrics->rows * shape->n_columns;
  printf("{\"program\": \"colshuf\", \"operation\": \"map_shapes\", \"cell\": \"%s\", \"seconds\": %.4f, \"ns_per_row\": %.1f, "
         "\"ns_per_value\": %.2f, \"rows\": %llu, \"blocks\": %llu, \"spills\": %llu, \"raw_mib\": %.1f, \"written_mib\": %.1f, "
         "\"counted_mib\": %.1f, \"input_mib\": %.1f, \"resident_mib\": %.1f}\n",
         shape->name, outcome->seconds, outcome->seconds * 1e9 / (double)metrics->rows, outcome->seconds * 1e9 / values,
         (unsigned long long)metrics->rows, (unsigned long long)metrics->blocks, (unsigned long long)metrics->spills,
         (double)metrics->raw_bytes / 1048576, (double)metrics->written_bytes / 1048576, (double)metrics->peak_memory / 1048576,
         outcome->input_mib, outcome->resident_mib);
  fflush(stdout);
}

static void remove_output(void) {
  unlink("/tmp/colshuf-shapes.data");
  unlink("/tmp/colshuf-shapes.index");
  unlink("/tmp/colshuf-shapes.checksum.ADLER32");
}

int main(int argc, char **argv) {
  static const struct shape shapes[] = {
      {"8 columns, 8192 rows a batch", 8, 1 << 16, 12, 1 << 30, 8192, 40, 200, 0},
      {"8 columns, nulls in all but the key", 8, 1 << 16, 12, 1 << 30, 8192, 40, 200, 1},
      {"8 columns, 64 rows a batch", 8, 1 << 16, 12, 1 << 30, 64, 40, 200, 0},
      {"8 columns, 1 row a batch", 8, 1 << 16, 12, 1 << 30, 1, 8, 200, 0},
      {"8 columns, all rows in one batch", 8, 1 << 21, 12, 1 << 30, 0, 1, 200, 0},
      {"8 columns, one partition of 200 gets all", 8, 1 << 16, 12, 1, 8192, 40, 200, 0},
      {"8 columns, one partition", 8, 1 << 16, 12, 1 << 30, 8192, 40, 1, 0},
      {"1000 columns", 1000, 8192, 12, 1 << 30, 0, 8, 200, 0},
      {"one string of 1 GiB", 4, 1, 1 << 30, 1 << 30, 0, 1, 200, 0},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (argc > 1 && strstr(shapes[i].name, argv[1]) == NULL) continue;
    struct outcome outcome = {0};
    bench_in_child(run_shape, &shapes[i], &outcome, sizeof outcome);
    report_shape(&shapes[i], &outcome);
  }
  remove_output();
  return 0;
}
