/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding of blocks, small and large, of every codec. Usage: bench_shuffle_reader FOLDER [--samples N] [--sample-ms N] [--cells TEXT]
 *
 * For each FOLDER/NAME.arrow and codec it writes FOLDER/NAME-CODEC.blocks (one block a batch, laid out as arrow-rs does, offsets
 * plain, so that a peer can read the same bytes) and times, a line of JSON each:
 *   decode verified | trusted | validated   schema cached: full decode to C Data and release
 *   first, view                             so: a decoder that has not seen the schema; decode to a borrowed view
 *   raw                                     the codec library alone on the same bytes, into a warm buffer
 *   schema                                  uncompressed: a stream reader opened, its schema parsed, and closed again
 *   memcpy                                  uncompressed: a copy of the stream
 * Blocks lie in memory so that the bodies of uncompressed ones are aligned, as a reader of a mapped file can place them.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_support.h"

struct block {
  uint8_t *data;
  size_t size;
  size_t raw_size;
};

struct cell {
  struct block *blocks;
  int n_blocks;
  enum colshuf_codec codec;
  const struct colshuf_bytes_owner *owner;
  struct bench_raw *raw;
  uint8_t *target;
  uint64_t rows;
};

/* A cell at one level of trust. */
struct level {
  struct cell *cell;
  struct colshuf_block_decoder_options options;
  struct colshuf_block_decoder *decoder;
};

static void keep(void *ctx) {
  (void)ctx; /* blocks outlive every batch here */
}
static const struct colshuf_bytes_owner owner = {.retain = keep, .release = keep};

static void decode_block(struct cell *cell, struct colshuf_block_decoder *decoder, const struct block *block) {
  struct colshuf_error err;
  struct ArrowArray batch;
  size_t consumed;
  bench_need(colshuf_block_decoder_decode(decoder, block->data, block->size, cell->owner, &consumed, NULL, &batch, &err), &err,
             "decode");
  cell->rows += (uint64_t)batch.length;
  batch.release(&batch);
}

static void pass_decode(void *ctx) {
  struct level *level = ctx;
  for (int i = 0; i < level->cell->n_blocks; i++) decode_block(level->cell, level->decoder, &level->cell->blocks[i]);
}

static void pass_first(void *ctx) {
  struct level *level = ctx;
  struct cell *cell = level->cell;
  struct colshuf_error err;
  for (int i = 0; i < cell->n_blocks; i++) {
    struct colshuf_block_decoder *decoder;
    bench_need(colshuf_block_decoder_new(&level->options, &decoder, &err), &err, "decoder");
    decode_block(cell, decoder, &cell->blocks[i]);
    colshuf_block_decoder_free(decoder);
  }
}

static void pass_view(void *ctx) {
  struct level *level = ctx;
  struct cell *cell = level->cell;
  struct colshuf_error err;
  for (int i = 0; i < cell->n_blocks; i++) {
    struct ArrowArray batch;
    size_t consumed;
    bench_need(colshuf_block_decoder_view(level->decoder, cell->blocks[i].data, cell->blocks[i].size, &consumed, &batch, &err), &err,
               "view");
    cell->rows += (uint64_t)batch.length;
    batch.release(&batch);
  }
}

static void pass_raw(void *ctx) {
  struct cell *cell = ctx;
  for (int i = 0; i < cell->n_blocks; i++) {
    const struct block *block = &cell->blocks[i];
    bench_raw_decompress(cell->raw, cell->codec, block->data + COLSHUF_BLOCK_HEADER_SIZE, block->size - COLSHUF_BLOCK_HEADER_SIZE,
                         block->raw_size);
  }
}

static void pass_memcpy(void *ctx) {
  struct cell *cell = ctx;
  for (int i = 0; i < cell->n_blocks; i++) memcpy(cell->target, cell->blocks[i].data, cell->blocks[i].raw_size);
}

struct memory {
  const uint8_t *data;
  size_t left;
};

static int64_t read_memory(void *ctx, void *buffer, size_t size) {
  struct memory *memory = ctx;
  if (size > memory->left) size = memory->left;
  memcpy(buffer, memory->data, size);
  memory->data += size;
  memory->left -= size;
  return (int64_t)size;
}

static void pass_schema(void *ctx) {
  struct cell *cell = ctx;
  struct colshuf_error err;
  for (int i = 0; i < cell->n_blocks; i++) {
    struct memory memory = {cell->blocks[i].data + COLSHUF_BLOCK_HEADER_SIZE, cell->blocks[i].size - COLSHUF_BLOCK_HEADER_SIZE};
    struct colshuf_input input = {.read = read_memory, .ctx = &memory};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    bench_need(colshuf_ipc_reader_open(&input, NULL, &stream, &err), &err, "stream");
    if (stream.get_schema(&stream, &schema) != 0) exit(3);
    schema.release(&schema);
    stream.release(&stream);
  }
}

/* Encodes every batch; the copy starts 20 bytes before a 64-byte border. The uncompressed twin tells the raw size. */
static void make_blocks(const struct bench_table *table, const struct bench_codec *codec, struct cell *cell) {
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = {.codec = codec->codec,
                                                  .level = codec->level,
                                                  .compat = COLSHUF_COMPAT_ARROW,
                                                  .offsets = COLSHUF_OFFSETS_PLAIN,
                                                  .layout = COLSHUF_LAYOUT_ARROW_RS,
                                                  .dictionary = COLSHUF_DICTIONARY_OFF};
  struct colshuf_block_encoder *encoder, *plain;
  bench_need(colshuf_block_encoder_new(&table->schema, &options, &encoder, &err), &err, "encoder");
  options.codec = COLSHUF_NONE;
  options.level = 0;
  bench_need(colshuf_block_encoder_new(&table->schema, &options, &plain, &err), &err, "encoder");
  cell->blocks = bench_alloc(sizeof *cell->blocks * (size_t)table->n_batches);
  cell->n_blocks = 0;
  for (int i = 0; i < table->n_batches; i++) {
    const struct ArrowArray *batch = &table->batches[i];
    struct block *block = &cell->blocks[cell->n_blocks++];
    const uint8_t *bytes;
    bench_need(colshuf_block_encoder_encode(plain, batch, 0, batch->length, &bytes, &block->raw_size, &err), &err, "encode");
    bench_need(colshuf_block_encoder_encode(encoder, batch, 0, batch->length, &bytes, &block->size, &err), &err, "encode");
    block->data = (uint8_t *)bench_alloc(block->raw_size + block->size + 64) + 44;
    memcpy(block->data, bytes, block->size);
  }
  colshuf_block_encoder_free(encoder);
  colshuf_block_encoder_free(plain);
}

static void save_blocks(const char *folder, const char *name, const struct cell *cell) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.blocks", folder, name);
  FILE *file = fopen(path, "wb");
  if (file == NULL) exit(3);
  for (int i = 0; i < cell->n_blocks; i++) {
    if (fwrite(cell->blocks[i].data, 1, cell->blocks[i].size, file) != cell->blocks[i].size) exit(3);
  }
  if (fclose(file) != 0) exit(3);
}

enum { N_LEVELS = COLSHUF_TRUSTED_VERIFIED + 1 };

static void time_cell(const struct bench_plan *plan, const char *name, struct cell *cell) {
  static const char *const modes[N_LEVELS] = {"validated", "trusted", "verified"};
  struct colshuf_error err;
  struct level levels[N_LEVELS];
  struct bench_turn turns[3 * N_LEVELS + 3];
  int n = 0;
  for (int i = 0; i < N_LEVELS; i++) {
    levels[i] = (struct level){.cell = cell, .options = {.trust = (enum colshuf_trust)i}};
    bench_need(colshuf_block_decoder_new(&levels[i].options, &levels[i].decoder, &err), &err, "decoder");
    turns[n++] = (struct bench_turn){.operation = "decode", .mode = modes[i], .pass = pass_decode, .ctx = &levels[i]};
    turns[n++] = (struct bench_turn){.operation = "view", .mode = modes[i], .pass = pass_view, .ctx = &levels[i]};
    turns[n++] = (struct bench_turn){.operation = "first", .mode = modes[i], .pass = pass_first, .ctx = &levels[i]};
  }
  turns[n++] = (struct bench_turn){.operation = "raw", .mode = "", .pass = pass_raw, .ctx = cell};
  if (cell->codec == COLSHUF_NONE) {
    turns[n++] = (struct bench_turn){.operation = "memcpy", .mode = "", .pass = pass_memcpy, .ctx = cell};
    turns[n++] = (struct bench_turn){.operation = "schema", .mode = "", .pass = pass_schema, .ctx = cell};
  }
  bench_take_turns(plan, turns, n);
  for (int i = 0; i < n; i++) bench_report(turns[i].operation, name, turns[i].mode, &turns[i].timing, cell->n_blocks, "");
  for (int i = 0; i < N_LEVELS; i++) colshuf_block_decoder_free(levels[i].decoder);
}

static void run_cell(const struct bench_plan *plan, const char *folder, const char *name, const struct bench_table *table,
                     const struct bench_codec *codec) {
  struct cell cell = {.codec = codec->codec, .owner = codec->codec == COLSHUF_NONE ? &owner : NULL, .raw = bench_raw_new()};
  make_blocks(table, codec, &cell);
  save_blocks(folder, name, &cell);
  size_t largest = 0;
  for (int i = 0; i < cell.n_blocks; i++) largest = cell.blocks[i].raw_size > largest ? cell.blocks[i].raw_size : largest;
  cell.target = bench_alloc(largest);
  memset(cell.target, 1, largest);
  time_cell(plan, name, &cell);
  for (int i = 0; i < cell.n_blocks; i++) free(cell.blocks[i].data - 44);
  free(cell.blocks);
  free(cell.target);
  bench_raw_free(cell.raw);
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
      if (bench_wanted(&plan, name)) run_cell(&plan, argv[1], name, &table, &bench_codecs[c]);
    }
    bench_table_clear(&table);
    free(paths[i]);
  }
  free(paths);
  return 0;
}
