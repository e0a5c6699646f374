/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one block again and again, for counting instructions: bench_instructions COLUMNS ROWS validated|trusted|verified TIMES. int64 and
 * utf8 columns in turn, no compression, schema cached, aligned and not copied. tools/check_instructions runs it under callgrind.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_support.h"

static void keep(void *ctx) {
  (void)ctx;
}

static void release_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}
static void release_array(struct ArrowArray *array) {
  array->release = NULL;
}

/* Column i of rows rows; its memory is never freed. */
static void make_column(int i, int64_t rows, struct ArrowSchema *schema, struct ArrowArray *array) {
  bool text = i % 2 == 1;
  *schema = (struct ArrowSchema){.format = text ? "u" : "l", .name = "column", .release = release_schema};
  const void **buffers = calloc(3, sizeof *buffers);
  int64_t *values = bench_alloc(sizeof *values * (size_t)(rows + 1));
  char *bytes = bench_alloc((size_t)rows * 8 + 1);
  memset(bytes, 'x', (size_t)rows * 8);
  if (buffers == NULL) abort();
  for (int64_t r = 0; r <= rows; r++) {
    if (text) ((int32_t *)values)[r] = (int32_t)(r * 8);
    else values[r] = r * 7919;
  }
  buffers[1] = values;
  buffers[2] = text ? bytes : NULL;
  *array = (struct ArrowArray){.length = rows, .n_buffers = text ? 3 : 2, .buffers = buffers, .release = release_array};
}

static enum colshuf_trust trust_of(const char *name) {
  if (strcmp(name, "verified") == 0) return COLSHUF_TRUSTED_VERIFIED;
  return strcmp(name, "trusted") == 0 ? COLSHUF_TRUSTED_LOCAL : COLSHUF_UNTRUSTED;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  int columns = atoi(argv[1]), times = atoi(argv[4]);
  int64_t rows = atoi(argv[2]);
  struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = columns, .release = release_schema};
  struct ArrowArray batch = {.length = rows, .n_buffers = 1, .n_children = columns, .release = release_array};
  const void *none[1] = {NULL};
  batch.buffers = none;
  schema.children = bench_alloc(sizeof *schema.children * (size_t)columns);
  batch.children = bench_alloc(sizeof *batch.children * (size_t)columns);
  for (int i = 0; i < columns; i++) {
    schema.children[i] = bench_alloc(sizeof **schema.children);
    batch.children[i] = bench_alloc(sizeof **batch.children);
    make_column(i, rows, schema.children[i], batch.children[i]);
  }
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = {.codec = COLSHUF_NONE};
  struct colshuf_block_encoder *encoder;
  bench_need(colshuf_block_encoder_new(&schema, &options, &encoder, &err), &err, "encoder");
  const uint8_t *bytes;
  size_t size;
  bench_need(colshuf_block_encoder_encode(encoder, &batch, 0, rows, &bytes, &size, &err), &err, "encode");
  uint8_t *block = (uint8_t *)bench_alloc(size + 64) + 44; /* so that the body is aligned */
  memcpy(block, bytes, size);

  const struct colshuf_bytes_owner owner = {.retain = keep, .release = keep};
  struct colshuf_block_decoder_options wanted = {.trust = trust_of(argv[3])};
  struct colshuf_block_decoder *decoder;
  bench_need(colshuf_block_decoder_new(&wanted, &decoder, &err), &err, "decoder");
  for (int i = 0; i < times; i++) {
    struct ArrowArray out;
    size_t consumed;
    bench_need(colshuf_block_decoder_decode(decoder, block, size, &owner, &consumed, NULL, &out, &err), &err, "decode");
    out.release(&out);
  }
  colshuf_block_decoder_free(decoder);
  colshuf_block_encoder_free(encoder);
  return 0;
}
