/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reduce task reads its partition from many map outputs.
 * Usage: bench_reduce_read FOLDER [--outputs N] [--samples N] [--sample-ms N] [--cells TEXT]
 *
 * For each FOLDER/NAME.arrow (one block a batch) and codec the blocks are dealt out to N outputs (data and index of one
 * partition each; default 2000, at most one a block) in FOLDER/reduce, which are then read as one stream, and written once
 * more in a row to FOLDER/reduce-blocks/NAME.blocks, for a peer. A line of JSON each:
 *   read trusted | validated     files to batches of at least 8192 rows
 *   memory trusted | validated   the same blocks from memory
 *   two columns files | memory   two columns only, validated
 *   verify                       outputs verified, checksums and all blocks in full, by one thread and by two
 *   raw                          the codec library alone on the same blocks
 *   raw and checksum             and zlib's ADLER32 of the same bytes
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "bench_support.h"

enum { MOST_RAW_BYTES = 64 << 20, N_SHARES = 4, HALF = N_SHARES / 2 };

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
  uint64_t checksums; /* so that they are not left out */
  struct share {
    char path[4600]; /* the blocks once more, as N_SHARES outputs with checksums: what is verified */
    size_t start, size;
  } shares[N_SHARES];
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

static void big_endian(uint8_t out[8], uint64_t value) {
  for (int i = 0; i < 8; i++) out[7 - i] = (uint8_t)(value >> (8 * i));
}

static void write_beside(const char *data_path, const char *ending, const void *bytes, size_t size) {
  char path[4700];
  snprintf(path, sizeof path, "%.*s%s", (int)(strlen(data_path) - strlen(".data")), data_path, ending);
  write_file(path, bytes, size);
}

/* Outputs of one partition, each of neighbouring blocks. */
static void make_files(const char *folder, int n_wanted, struct cell *cell) {
  char path[4600];
  cell->n_files = n_wanted < cell->n_blocks ? n_wanted : cell->n_blocks;
  cell->files = calloc((size_t)cell->n_files, sizeof *cell->files);
  if (cell->files == NULL) exit(3);
  mkdir(folder, 0777);
  for (int f = 0; f < cell->n_files; f++) {
    int first = (int)((long)f * cell->n_blocks / cell->n_files), end = (int)((long)(f + 1) * cell->n_blocks / cell->n_files);
    size_t start = cell->blocks[first].start, size = cell->blocks[end - 1].start + cell->blocks[end - 1].size - start;
    uint8_t index[16] = {0};
    big_endian(index + 8, size);
    snprintf(path, sizeof path, "%s/m%05d.data", folder, f);
    write_file(path, cell->data + start, size);
    write_beside(path, ".index", index, sizeof index);
    cell->files[f].data_path = strdup(path);
  }
}

static void make_shares(const char *folder, struct cell *cell) {
  for (int i = 0; i < N_SHARES; i++) {
    struct share *share = &cell->shares[i];
    int first = i * cell->n_blocks / N_SHARES, end = (i + 1) * cell->n_blocks / N_SHARES;
    share->start = cell->blocks[first].start;
    share->size = cell->blocks[end - 1].start + cell->blocks[end - 1].size - share->start;
    uint8_t index[16] = {0}, checksum[8];
    big_endian(index + 8, share->size);
    big_endian(checksum, adler32_z(1, cell->data + share->start, share->size));
    snprintf(share->path, sizeof share->path, "%s/v%d.data", folder, i);
    write_file(share->path, cell->data + share->start, share->size);
    write_beside(share->path, ".index", index, sizeof index);
    write_beside(share->path, ".checksum.ADLER32", checksum, sizeof checksum);
  }
}

static void count_fault(void *ctx, const struct colshuf_fault *fault) {
  (void)ctx;
  fprintf(stderr, "verify: %s\n", fault->problem);
  exit(3);
}

static void verify_shares(const struct cell *cell, int first, int end) {
  for (int i = first; i < end; i++) {
    struct colshuf_verify_summary summary;
    struct colshuf_error err;
    bench_need(colshuf_verify(cell->shares[i].path, NULL, count_fault, NULL, &summary, &err), &err, "verify");
    if (summary.checksum != COLSHUF_CHECKSUM_ADLER32) exit(3);
  }
}

static void pass_verify_alone(void *ctx) {
  verify_shares(ctx, 0, N_SHARES);
}

static void *verify_half(void *ctx) {
  verify_shares(ctx, 0, HALF);
  return NULL;
}

static void pass_verify_together(void *ctx) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, verify_half, ctx) != 0) exit(3);
  verify_shares(ctx, HALF, N_SHARES);
  pthread_join(thread, NULL);
}

/* The codec and the checksum, each by its library, over the same bytes. */
static void pass_raw_and_checksum(void *ctx) {
  struct cell *cell = ctx;
  pass_raw(cell);
  for (int i = 0; i < N_SHARES; i++) cell->checksums += adler32_z(1, cell->data + cell->shares[i].start, cell->shares[i].size);
}

/* One way of reading the cell. */
struct reading {
  struct cell *cell;
  const struct colshuf_source *sources;
  int n_sources;
  struct colshuf_read_options options;
};

static void pass_reading(void *ctx) {
  struct reading *reading = ctx;
  struct cell *cell = reading->cell;
  cell->sources = reading->sources;
  cell->n_sources = reading->n_sources;
  cell->options = reading->options;
  pass_read(cell);
}

static void report(const struct bench_turn *turn, const char *name, const struct cell *cell) {
  char extra[200];
  snprintf(extra, sizeof extra, ", \"files\": %d, \"rows\": %llu, \"batches\": %llu, \"ns_per_row\": %.3f", cell->n_files,
           (unsigned long long)cell->rows, (unsigned long long)cell->batches, turn->timing.median / (double)cell->rows);
  bench_report(turn->operation, name, turn->mode, &turn->timing, cell->n_blocks, extra);
}

static void time_cell(const struct bench_plan *plan, const char *name, struct cell *cell) {
  static const int32_t two[] = {0, 1};
  struct colshuf_source memory = {.bytes = cell->data, .size = cell->size};
  struct colshuf_read_options trusted = {.trust = COLSHUF_TRUSTED_LOCAL}, validated = {0},
                              few = {.columns = two, .n_columns = 2};
  struct reading readings[] = {{cell, cell->files, cell->n_files, trusted},
                               {cell, cell->files, cell->n_files, validated},
                               {cell, &memory, 1, trusted},
                               {cell, &memory, 1, validated},
                               {cell, cell->files, cell->n_files, few},
                               {cell, &memory, 1, few}};
  struct bench_turn turns[] = {{.operation = "read", .mode = "trusted", .pass = pass_reading, .ctx = &readings[0]},
                               {.operation = "read", .mode = "validated", .pass = pass_reading, .ctx = &readings[1]},
                               {.operation = "memory", .mode = "trusted", .pass = pass_reading, .ctx = &readings[2]},
                               {.operation = "memory", .mode = "validated", .pass = pass_reading, .ctx = &readings[3]},
                               {.operation = "two columns", .mode = "files", .pass = pass_reading, .ctx = &readings[4]},
                               {.operation = "two columns", .mode = "memory", .pass = pass_reading, .ctx = &readings[5]},
                               {.operation = "raw", .mode = "", .pass = pass_raw, .ctx = cell},
                               {.operation = "raw and checksum", .mode = "", .pass = pass_raw_and_checksum, .ctx = cell},
                               {.operation = "verify", .mode = "one thread", .pass = pass_verify_alone, .ctx = cell},
                               {.operation = "verify", .mode = "two threads", .pass = pass_verify_together, .ctx = cell}};
  enum { N_TURNS = sizeof turns / sizeof turns[0] };
  bench_take_turns(plan, turns, N_TURNS);
  for (int i = 0; i < N_TURNS; i++) report(&turns[i], name, cell);
}

static void run_cell(const struct bench_plan *plan, const char *folder, const char *name, int n_outputs,
                     const struct bench_table *table, const struct bench_codec *codec) {
  char path[4400];
  struct cell cell = {.codec = codec->codec, .raw = bench_raw_new()};
  make_blocks(table, codec, n_outputs, &cell);
  snprintf(path, sizeof path, "%s/reduce-blocks", folder);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/reduce-blocks/%s.blocks", folder, name);
  write_file(path, cell.data, cell.size);
  snprintf(path, sizeof path, "%s/reduce", folder);
  make_files(path, n_outputs, &cell);
  make_shares(path, &cell);
  time_cell(plan, name, &cell);
  for (int i = 0; i < N_SHARES; i++) remove(cell.shares[i].path);
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
  char **paths = bench_list(argv[1], ".arrow", &n);
  for (int i = 0; i < n; i++) {
    struct bench_table table = bench_read_table(paths[i]);
    for (int c = 0; c < 4; c++) {
      char name[300];
      snprintf(name, sizeof name, "%s-%.*s", bench_stem(paths[i]), (int)strcspn(bench_codecs[c].name, ":"),
               bench_codecs[c].name);
      if (bench_wanted(&plan, name)) run_cell(&plan, argv[1], name, n_outputs, &table, &bench_codecs[c]);
    }
    bench_table_clear(&table);
    free(paths[i]);
  }
  free(paths);
  return 0;
}
