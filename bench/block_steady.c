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

static void run_codec(const struct bench_plan *plan, const char *folder, const struct bench_codec *codec) {
  struct steady s;
  char cell[64];
  snprintf(cell, sizeof cell, "four-%.*s", (int)strcspn(codec->name, ":"), codec->name);
  for (int i = 0; i < N_SCHEMAS; i++) make_block(folder, codec, &s, i);
  for (int i = 0; i < N_SCHEMAS; i++) s.decoders[i] = i == 0 ? new_decoder() : s.decoders[0];
  for (int n = 0; n < FEW; n++) decode(&s, n % N_SCHEMAS);
  long few = resident_kilobytes();
  struct bench_timing timing = bench_measure(plan, pass_all, &s);
  bench_report("alternating", cell, "validated", &timing, N_SCHEMAS, "");
  for (int n = FEW; n < MANY; n++) decode(&s, n % N_SCHEMAS);
  printf("{\"program\": \"colshuf\", \"operation\": \"memory\", \"cell\": \"%s\", \"blocks\": [%d, %d], \"resident_kib\": [%ld, %ld]}\n", cell, FEW,
         MANY, few, resident_kilobytes());
  for (int i = 1; i < N_SCHEMAS; i++) s.decoders[i] = new_decoder();
  timing = bench_measure(plan, pass_all, &s);
  bench_report("apart", cell, "validated", &timing, N_SCHEMAS, "");
  for (int i = 0; i < N_SCHEMAS; i++) {
    colshuf_block_decoder_free(s.decoders[i]);
    free(s.blocks[i]);
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
