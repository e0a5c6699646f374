/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding of blocks. Usage: bench_block_schema_encoding FOLDER [--samples N] [--sample-ms N] [--cells TEXT]
 *
 * For each FOLDER/NAME.arrow and codec, a line of JSON each:
 *   encode pre    the schema message encoded once and replayed (offsets plain, laid out as arrow-rs does: the peer's bytes)
 *   encode each   a new encoder, and so a new schema message, for every block
 *   encode auto   colshuf's own defaults: compact layout, offsets as lengths, dictionaries where they win
 *   raw           the codec library alone over the same uncompressed stream
 * with the bytes of a block.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_support.h"

struct cell {
  const struct bench_table *table;
  struct colshuf_block_encoder_options options;
  struct colshuf_block_encoder *encoder;
  struct bench_raw *raw;
  uint8_t **streams; /* uncompressed, for raw */
  size_t *stream_sizes;
  uint64_t bytes;
};

static void encode_all(struct cell *cell, struct colshuf_block_encoder *encoder, int i) {
  struct colshuf_error err;
  const uint8_t *block;
  size_t size;
  const struct ArrowArray *batch = &cell->table->batches[i];
  bench_need(colshuf_block_encoder_encode(encoder, batch, 0, batch->length, &block, &size, &err), &err, "encode");
  cell->bytes += size;
}

static void pass_pre(void *ctx) {
  struct cell *cell = ctx;
  cell->bytes = 0;
  for (int i = 0; i < cell->table->n_batches; i++) encode_all(cell, cell->encoder, i);
}

static void pass_each(void *ctx) {
  struct cell *cell = ctx;
  struct colshuf_error err;
  cell->bytes = 0;
  for (int i = 0; i < cell->table->n_batches; i++) {
    struct colshuf_block_encoder *encoder;
    bench_need(colshuf_block_encoder_new(&cell->table->schema, &cell->options, &encoder, &err), &err, "encoder");
    encode_all(cell, encoder, i);
    colshuf_block_encoder_free(encoder);
  }
}

static void pass_raw(void *ctx) {
  struct cell *cell = ctx;
  cell->bytes = 0;
  for (int i = 0; i < cell->table->n_batches; i++) {
    cell->bytes += bench_raw_compress(cell->raw, cell->options.codec, cell->options.level, cell->streams[i], cell->stream_sizes[i]);
  }
}

static void report(const char *operation, const char *name, const char *mode, const struct bench_timing *timing,
                   const struct cell *cell) {
  char extra[64];
  snprintf(extra, sizeof extra, ", \"bytes_per_block\": %.0f", (double)cell->bytes / cell->table->n_batches);
  bench_report(operation, name, mode, timing, cell->table->n_batches, extra);
}

/* The uncompressed streams: blocks without compression, less their headers. */
static void make_streams(struct cell *cell) {
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = cell->options;
  options.codec = COLSHUF_NONE;
  options.level = 0;
  struct colshuf_block_encoder *encoder;
  bench_need(colshuf_block_encoder_new(&cell->table->schema, &options, &encoder, &err), &err, "encoder");
  size_t n = (size_t)cell->table->n_batches;
  cell->streams = bench_alloc(n * sizeof *cell->streams);
  cell->stream_sizes = bench_alloc(n * sizeof *cell->stream_sizes);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block;
    size_t size;
    const struct ArrowArray *batch = &cell->table->batches[i];
    bench_need(colshuf_block_encoder_encode(encoder, batch, 0, batch->length, &block, &size, &err), &err, "encode");
    cell->stream_sizes[i] = size - COLSHUF_BLOCK_HEADER_SIZE;
    cell->streams[i] = bench_alloc(size);
    memcpy(cell->streams[i], block + COLSHUF_BLOCK_HEADER_SIZE, cell->stream_sizes[i]);
  }
  colshuf_block_encoder_free(encoder);
}

static void run_cell(const struct bench_plan *plan, const char *name, const struct bench_table *table,
                     const struct bench_codec *codec) {
  struct colshuf_error err;
  struct cell chosen = {.table = table, .raw = bench_raw_new()};
  chosen.options = (struct colshuf_block_encoder_options){.codec = codec->codec, .level = codec->level, .compat = COLSHUF_COMPAT_ARROW};
  struct cell plain = chosen;
  plain.options.offsets = COLSHUF_OFFSETS_PLAIN;
  plain.options.layout = COLSHUF_LAYOUT_ARROW_RS;
  plain.options.dictionary = COLSHUF_DICTIONARY_OFF;
  make_streams(&plain);
  bench_need(colshuf_block_encoder_new(&table->schema, &chosen.options, &chosen.encoder, &err), &err, "encoder");
  bench_need(colshuf_block_encoder_new(&table->schema, &plain.options, &plain.encoder, &err), &err, "encoder");
  struct cell each = plain, raw = plain;
  struct bench_turn turns[] = {{.operation = "encode", .mode = "auto", .pass = pass_pre, .ctx = &chosen},
                               {.operation = "encode", .mode = "pre", .pass = pass_pre, .ctx = &plain},
                               {.operation = "encode", .mode = "each", .pass = pass_each, .ctx = &each},
                               {.operation = "raw-compress", .mode = "", .pass = pass_raw, .ctx = &raw}};
  bench_take_turns(plan, turns, 4);
  for (int i = 0; i < 4; i++) report(turns[i].operation, name, turns[i].mode, &turns[i].timing, turns[i].ctx);
  colshuf_block_encoder_free(chosen.encoder);
  colshuf_block_encoder_free(plain.encoder);
  for (int i = 0; i < table->n_batches; i++) free(plain.streams[i]);
  free(plain.streams);
  free(plain.stream_sizes);
  bench_raw_free(plain.raw);
}

int main(int argc, char **argv) {
  struct bench_plan plan = bench_arguments(&argc, argv);
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER [--samples N] [--sample-ms N] [--cells TEXT]\n", argv[0]);
    return 2;
  }
  int n;
  char **paths = bench_list(argv[1], ".arrow", &n);
  for (int i = 0; i < n; i++) {
    struct bench_table table = bench_read_table(paths[i]);
    for (int c = 0; c < 4; c++) {
      char name[300];
      snprintf(name, sizeof name, "%s-%.*s", bench_stem(paths[i]), (int)strcspn(bench_codecs[c].name, ":"), bench_codecs[c].name);
      if (bench_wanted(&plan, name)) run_cell(&plan, name, &table, &bench_codecs[c]);
    }
    bench_table_clear(&table);
    free(paths[i]);
  }
  free(paths);
  return 0;
}
