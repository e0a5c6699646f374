/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reduce task reads its partition from many map outputs. Usage: bench_reduce_read FOLDER [--outputs N] [--samples N]
 * [--sample-ms N]
 * [--cells TEXT]
 *
 * For each FOLDER/NAME.arrow (one block a batch) and codec the blocks are dealt out to N outputs (data and index of one
 * partition each; default 2000, at most one a block) in FOLDER/reduce, which are then read as one stream. A line of JSON each:
 *   read trusted | validated     files to batches of at least 8192 rows
 *   memory                       the same blocks from memory, validated
 *   two columns                  as "read validated", of two columns only
 *   raw                          the codec library alone on the same blocks
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench_support.h"

enum { MOST_RAW_BYTES = 64 << 20 };

struct span {
  size_t start, size, raw_size;
};

struct cell {
  enum colshuf_codec codec;
  uint8_t *data; /* all blocks */
  size_t size;
  struct span *blocks;
  int n_blocks;
  struct colshuf_source *files;
  int n_files;
  const struct colshuf_source *sources; /* to be read */
  int n_sources;
  struct colshuf_read_options options;
  struct bench_raw *raw;
  uint64_t rows, batches;
};

static void pass_read(void *ctx) {
  struct cell *cell = ctx;
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  cell->rows = cell->batches = 0;
  bench_need(colshuf_read(cell->sources, cell->n_sources, &cell->options, NULL, &stream, &err), &err, "read");
  for (;;) {
    if (stream.get_next(&stream, &batch) != 0) {
      fprintf(stderr, "read: %s\n", stream.get_last_error(&stream));
      exit(3);
    }
    if (batch.release == NULL) break;
    cell->rows += (uint64_t)batch.length;
    cell->batches++;
    batch.release(&batch);
  }
  stream.release(&stream);
}

static void pass_raw(void *ctx) {
  struct cell *cell = ctx;
  for (int i = 0; i < cell->n_blocks; i++) {
    const struct span *block = &cell->blocks[i];
    bench_raw_decompress(cell->raw, cell->codec, cell->data + block->start + COLSHUF_BLOCK_HEADER_SIZE,
                         block->size - COLSHUF_BLOCK_HEADER_SIZE, block->raw_size);
  }
}

/* The table's batches over and over: as many blocks as there are to be outputs, within some memory. */
static void make_blocks(const struct bench_table *table, const struct bench_codec *codec, int n_outputs, struct cell *cell) {
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = {.codec = codec->codec,
                                                  .level = codec->level,
                                                  .offsets = COLSHUF_OFFSETS_PLAIN,
                                                  .compat = COLSHUF_COMPAT_ARROW,
                                                  .dictionary = COLSHUF_DICTIONARY_OFF};
  struct colshuf_block_encoder *encoder, *plain;
  bench_need(colshuf_block_encoder_new(&table->schema, &options, &encoder, &err), &err, "encoder");
  options.codec = COLSHUF_NONE;
  options.level = 0;
  bench_need(colshuf_block_encoder_new(&table->schema, &options, &plain, &err), &err, "encoder");
  int most = n_outputs > table->n_batches ? n_outputs : table->n_batches;
  cell->blocks = bench_alloc(sizeof *cell->blocks * (size_t)most);
  size_t capacity = 0, raw_size = 0;
  for (int i = 0; i < most && (i < table->n_batches || raw_size < MOST_RAW_BYTES); i++, cell->n_blocks++) {
    const struct ArrowArray *batch = &table->batches[i % table->n_batches];
    struct span *block = &cell->blocks[i];
    const uint8_t *bytes;
    bench_need(colshuf_block_encoder_encode(plain, batch, 0, batch->length, &bytes, &block->raw_size, &err), &err, "encode");
    bench_need(colshuf_block_encoder_encode(encoder, batch, 0, batch->length, &bytes, &block->size, &err), &err, "encode");
    block->start = cell->size;
    raw_size += block->raw_size;
    if (cell->size + block->size > capacity) {
      capacity = 2 * capacity + block->size;
      cell->data = realloc(cell->data, capacity);
      if (cell->data == NULL) exit(3);
    }
    memcpy(cell->data + cell->size, bytes, block->size);
    cell->size += block->size;
  }
  colshuf_block_encoder_free(encoder);
  colshuf_block_encoder_free(plain);
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(3);
  }
}

/* Outputs of one partition, each of neighbouring blocks. */
static void make_files(const char *folder, int n_wanted, struct cell *cell) {
  char path[4200];
  cell->n_files = n_wanted < cell->n_blocks ? n_wanted : cell->n_blocks;
  cell->files = calloc((size_t)cell->n_files, sizeof *cell->files);
  if (cell->files == NULL) exit(3);
  mkdir(folder, 0777);
  for (int f = 0; f < cell->n_files; f++) {
    int first = (int)((long)f * cell->n_blocks / cell->n_files), end = (int)((long)(f + 1) * cell->n_blocks / cell->n_files);
    size_t start = cell->blocks[first].start, size = cell->blocks[end - 1].start + cell->blocks[end - 1].size - start;
    uint8_t index[16] = {0};
    for (int i = 0; i < 8; i++) index[15 - i] = (uint8_t)(size >> (8 * i));
    snprintf(path, sizeof path, "%s/m%05d.index", folder, f);
    write_file(path, index, sizeof index);
    snprintf(path, sizeof path, "%s/m%05d.data", folder, f);
    write_file(path, cell->data + start, size);
    cell->files[f].data_path = strdup(path);
  }
}

static void report(const struct bench_plan *plan, const char *operation, const char *name, const char *mode, struct cell *cell,
                   void (*pass)(void *ctx)) {
  struct bench_timing timing = bench_measure(plan, pass, cell);
  char extra[200];
  snprintf(extra, sizeof extra, ", \"files\": %d, \"rows\": %llu, \"batches\": %llu, \"ns_per_row\": %.3f", cell->n_files,
           (unsigned long long)cell->rows, (unsigned long long)cell->batches, timing.median / (double)cell->rows);
  bench_report(operation, name, mode, &timing, cell->n_blocks, extra);
}

static void run_cell(const struct bench_plan *plan, const char *folder, const char *name, int n_outputs,
                     const struct bench_table *table, const struct bench_codec *codec) {
  struct cell cell = {.codec = codec->codec, .raw = bench_raw_new()};
  static const int32_t two[] = {0, 1};
  make_blocks(table, codec, n_outputs, &cell);
  make_files(folder, n_outputs, &cell);
  cell.sources = cell.files;
  cell.n_sources = cell.n_files;
  cell.options.trust = COLSHUF_TRUSTED_LOCAL;
  report(plan, "read", name, "trusted", &cell, pass_read);
  cell.options.trust = COLSHUF_UNTRUSTED;
  report(plan, "read", name, "validated", &cell, pass_read);
  cell.options.columns = two;
  cell.options.n_columns = 2;
  report(plan, "two columns", name, "validated", &cell, pass_read);
  cell.options.columns = NULL;
  struct colshuf_source memory = {.bytes = cell.data, .size = cell.size};
  cell.sources = &memory;
  cell.n_sources = 1;
  report(plan, "memory", name, "validated", &cell, pass_read);
  report(plan, "raw", name, "", &cell, pass_raw);
  for (int f = 0; f < cell.n_files; f++) {
    remove(cell.files[f].data_path);
    free((char *)cell.files[f].data_path);
  }
  free(cell.files);
  free(cell.data);
  free(cell.blocks);
  bench_raw_free(cell.raw);
}

static int take_outputs(int *argc, char **argv) {
  int n = 2000, kept = 1;
  for (int i = 1; i < *argc; i++) {
    if (strcmp(argv[i], "--outputs") == 0 && i + 1 < *argc) {
      n = atoi(argv[++i]);
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  return n;
}

int main(int argc, char **argv) {
  int n_outputs = take_outputs(&argc, argv), n;
  struct bench_plan plan = bench_arguments(&argc, argv);
  if (argc != 2 || n_outputs < 1) {
    fprintf(stderr, "usage: %s FOLDER [--outputs N] [--samples N] [--sample-ms N] [--cells TEXT]\n", argv[0]);
    return 2;
  }
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/reduce", argv[1]);
  char **paths = bench_list(argv[1], ".arrow", &n);
  for (int i = 0; i < n; i++) {
    struct bench_table table = bench_read_table(paths[i]);
    for (int c = 0; c < 4; c++) {
      char name[300];
      snprintf(name, sizeof name, "%s-%.*s", bench_stem(paths[i]), (int)strcspn(bench_codecs[c].name, ":"),
               bench_codecs[c].name);
      if (bench_wanted(&plan, name)) run_cell(&plan, folder, name, n_outputs, &table, &bench_codecs[c]);
    }
    bench_table_clear(&table);
    free(paths[i]);
  }
  free(paths);
  return 0;
}
