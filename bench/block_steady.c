/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decoder does in the long run. Usage: bench_block_steady FOLDER [--samples N] [--sample-ms N]
 *
 * Blocks of four schemas (FOLDER/NAME.arrow for 5x64, 50x64, nested-4x64, lineitem-16x64), uncompressed and LZ4:
 *   alternating    one decoder, a block of each in turn
 *   apart          the same blocks, a decoder for each schema
 *   memory         resident kilobytes after 10^3 and after 10^6 blocks that alternate so
 */
#include <stdlib.h>
#include <string.h>

#include "bench_support.h"

enum { N_SCHEMAS = 4, FEW = 1000, MANY = 1000000 };
static const char *const names[N_SCHEMAS] = {"5x64", "50x64", "nested-4x64", "lineitem-16x64"};

struct steady {
  struct colshuf_block_decoder *decoders[N_SCHEMAS]; /* when alternating, all the same one */
  uint8_t *blocks[N_SCHEMAS];
  size_t sizes[N_SCHEMAS];
};

static void decode(struct steady *s, int i) {
  struct colshuf_error err;
  struct ArrowArray batch;
  size_t consumed;
  bench_need(colshuf_block_decoder_decode(s->decoders[i], s->blocks[i], s->sizes[i], NULL, &consumed, NULL, &batch, &err), &err, "decode");
  batch.release(&batch);
}

static void pass_all(void *ctx) {
  for (int i = 0; i < N_SCHEMAS; i++) decode(ctx, i);
}

static void make_block(const char *folder, const struct bench_codec *codec, struct steady *s, int i) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.arrow", folder, names[i]);
  struct bench_table table = bench_read_table(path);
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = {.codec = codec->codec, .level = codec->level, .compat = COLSHUF_COMPAT_ARROW};
  struct colshuf_block_encoder *encoder;
  bench_need(colshuf_block_encoder_new(&table.schema, &options, &encoder, &err), &err, "encoder");
  const uint8_t *bytes;
  bench_need(colshuf_block_encoder_encode(encoder, &table.batches[0], 0, table.batches[0].length, &bytes, &s->sizes[i], &err), &err, "encode");
  s->blocks[i] = bench_alloc(s->sizes[i]);
  memcpy(s->blocks[i], bytes, s->sizes[i]);
  colshuf_block_encoder_free(encoder);
  bench_table_clear(&table);
}

static struct colshuf_block_decoder *new_decoder(void) {
  struct colshuf_error err;
  struct colshuf_block_decoder *decoder;
  bench_need(colshuf_block_decoder_new(NULL, &decoder, &err), &err, "decoder");
  return decoder;
}

static long resident_kilobytes(void) {
  long size, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) exit(3);
  fclose(file);
  return resident * 4;
}

/* In the state of a long run: what was printed before has had its memory. */
static void measure_memory(struct steady *s, const char *cell) {
  for (int n = 0; n < FEW; n++) decode(s, n % N_SCHEMAS);
  long few = resident_kilobytes();
  for (int n = FEW; n < MANY; n++) decode(s, n % N_SCHEMAS);
  printf("{\"program\": \"colshuf\", \"operation\": \"memory\", \"cell\": \"%s\", \"blocks\": [%d, %d], \"resident_kib\": [%ld, %ld]}\n", cell, FEW,
         MANY, few, resident_kilobytes());
}

static void run_codec(const struct bench_plan *plan, const char *folder, const struct bench_codec *codec) {
  struct steady one, apart;
  char cell[64];
  snprintf(cell, sizeof cell, "four-%.*s", (int)strcspn(codec->name, ":"), codec->name);
  for (int i = 0; i < N_SCHEMAS; i++) make_block(folder, codec, &one, i);
  apart = one;
  one.decoders[0] = new_decoder();
  for (int i = 0; i < N_SCHEMAS; i++) {
    one.decoders[i] = one.decoders[0];
    apart.decoders[i] = new_decoder();
  }
  struct bench_turn turns[] = {{.operation = "alternating", .mode = "validated", .pass = pass_all, .ctx = &one},
                               {.operation = "apart", .mode = "validated", .pass = pass_all, .ctx = &apart}};
  bench_take_turns(plan, turns, 2);
  for (int i = 0; i < 2; i++) bench_report(turns[i].operation, cell, turns[i].mode, &turns[i].timing, N_SCHEMAS, "");
  measure_memory(&one, cell);
  colshuf_block_decoder_free(one.decoders[0]);
  for (int i = 0; i < N_SCHEMAS; i++) {
    colshuf_block_decoder_free(apart.decoders[i]);
    free(one.blocks[i]);
  }
}

int main(int argc, char **argv) {
  struct bench_plan plan = bench_arguments(&argc, argv);
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER [--samples N] [--sample-ms N]\n", argv[0]);
    return 2;
  }
  for (int c = 0; c < 4; c++) {
    if (bench_codecs[c].codec == COLSHUF_NONE || bench_codecs[c].codec == COLSHUF_LZ4) run_codec(&plan, argv[1], &bench_codecs[c]);
  }
  return 0;
}
