/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes every block of a file and prints its rows and columns. cc decode_block.c $(pkg-config --cflags --libs colshuf) */
#include <colshuf/colshuf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: decode_block FILE, such as NAME.data of a shuffle output\n");
    return 2;
  }
  FILE *file = fopen(argv[1], "rb");
  if (file == NULL) {
    perror(argv[1]);
    return 2;
  }
  static uint8_t data[1 << 24];
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);

  struct colshuf_error err;
  struct colshuf_block_decoder *decoder;
  if (colshuf_block_decoder_new(NULL, &decoder, &err) != COLSHUF_OK) return 3;
  int failed = 0;
  for (size_t at = 0, consumed; at < size && !failed; at += consumed) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    failed = colshuf_block_decoder_decode(decoder, data + at, size - at, NULL, &consumed, &schema, &batch, &err) != COLSHUF_OK;
    if (failed) {
      fprintf(stderr, "block at byte %zu: %s\n", at, err.message);
      break;
    }
    printf("%lld rows, %lld columns\n", (long long)batch.length, (long long)batch.n_children);
    schema.release(&schema);
    batch.release(&batch);
  }
  colshuf_block_decoder_free(decoder);
  return failed;
}
