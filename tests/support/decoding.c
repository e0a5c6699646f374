/* SPDX-License-Identifier: Apache-2.0 */
#include "support/decoding.h"

#include <dirent.h>

#include <stdlib.h>

#include "block/block_format.h"
#include "codec/codec.h"
#include "support/golden_bytes.h"
#include "support/messages.h"
#include "support/random.h"

struct csf_buffer test_block_of(enum colshuf_codec kind, uint64_t n_columns, const void *content, size_t size, bool flagged) {
  struct colshuf_error err;
  struct csf_buffer block = test_buffer();
  struct csf_codec *codec;
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
  REQUIRE_OK(csf_codec_compress(codec, kind, 0, (struct csf_span){content, size}, &block, &err));
  csf_codec_free(codec);
  csf_block_header_write(block.data, block.size, n_columns, kind, flagged);
  return block;
}

struct csf_buffer test_golden_block(enum colshuf_codec kind) {
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1), block = test_block_of(kind, 2, stream.data, stream.size, false);
  csf_buffer_clear(&stream);
  return block;
}

struct colshuf_block_decoder *test_decoder(enum colshuf_trust trust) {
  struct colshuf_error err;
  struct colshuf_block_decoder *decoder;
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .trust = trust};
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  return decoder;
}

enum colshuf_status test_decode_text(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size, struct csf_buffer *text,
                                     size_t *consumed, struct colshuf_error *err) {
  uint8_t *exact = malloc(size + (size == 0));
  memcpy(exact, data, size);
  struct ArrowSchema exported;
  struct ArrowArray batch;
  enum colshuf_status status = colshuf_block_decoder_decode(decoder, exact, size, NULL, consumed, &exported, &batch, err);
  memset(exact, 0xdd, size);
  free(exact);
  if (status != COLSHUF_OK) return status;
  struct csf_schema *schema;
  REQUIRE(csf_schema_import(&exported, &test_heap, NULL, &schema, err) == COLSHUF_OK);
  exported.release(&exported);
  for (int64_t i = 0; i < batch.length; i++) {
    if (i > 0) test_append(text, " ", 1);
    test_value_text(&schema->root, &batch, i, text);
  }
  csf_schema_release(schema);
  batch.release(&batch);
  return COLSHUF_OK;
}

void test_check_decodes(int line, struct colshuf_block_decoder *decoder, const struct csf_buffer *block, const char *wanted) {
  struct colshuf_error err;
  struct csf_buffer text = test_buffer();
  size_t consumed = 0;
  enum colshuf_status status = test_decode_text(decoder, block->data, block->size, &text, &consumed, &err);
  test_append(&text, "", 1);
  if (status != COLSHUF_OK) test_fail(__FILE__, line, "%s: %s", colshuf_status_name(status), err.message);
  else if (strcmp((char *)text.data, wanted) != 0) test_fail(__FILE__, line, "\"%s\", not \"%s\"", (char *)text.data, wanted);
  if (status == COLSHUF_OK) CHECK_INT(consumed, block->size);
  csf_buffer_clear(&text);
}

struct csf_buffer test_random_block(struct test_random *random, const struct csf_schema *schema, int64_t rows, enum colshuf_codec codec) {
  struct colshuf_error err;
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  struct ArrowArray batch;
  test_random_array(random, &schema->root, &(struct test_array_options){.rows = rows, .null_percent = 10}, &batch);
  struct colshuf_block_encoder_options options = {.allocator = test_heap, .codec = codec, .compat = COLSHUF_COMPAT_ARROW};
  struct colshuf_block_encoder *encoder;
  REQUIRE_OK(colshuf_block_encoder_new(&exported, &options, &encoder, &err));
  const uint8_t *bytes;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(encoder, &batch, 0, rows, &bytes, &size, &err));
  struct csf_buffer block = test_buffer();
  test_append(&block, bytes, size);
  colshuf_block_encoder_free(encoder);
  exported.release(&exported);
  batch.release(&batch);
  return block;
}

struct csf_buffer test_encoded_block(const char *schema_text, int64_t rows, enum colshuf_codec codec, uint64_t seed) {
  struct test_random random = {seed};
  struct csf_schema *schema = test_schema(schema_text);
  struct csf_buffer block = test_random_block(&random, schema, rows, codec);
  csf_schema_release(schema);
  return block;
}

int test_each_file(const char *folder, void (*visit)(void *ctx, const char *name, const struct csf_buffer *bytes), void *ctx) {
  const char *path = test_data(folder);
  DIR *directory = opendir(path);
  REQUIRE(directory != NULL);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char name[1024];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    struct csf_buffer bytes = test_read_file(name);
    visit(ctx, entry->d_name, &bytes);
    csf_buffer_clear(&bytes);
    n++;
  }
  closedir(directory);
  return n;
}
