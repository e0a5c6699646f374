/* SPDX-License-Identifier: Apache-2.0 */
#include "support/encoding.h"

#include "support/value.h"

const enum colshuf_codec test_codecs[4] = {COLSHUF_NONE, COLSHUF_LZ4, COLSHUF_ZSTD, COLSHUF_SNAPPY};

static struct colshuf_error err;

struct test_encoder test_encoder_new(struct csf_schema *schema, struct colshuf_block_encoder_options options) {
  struct test_encoder setup = {.schema = schema};
  options.allocator = test_heap;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &setup.c_schema, &err));
  REQUIRE_OK(colshuf_block_encoder_new(&setup.c_schema, &options, &setup.encoder, &err));
  return setup;
}

void test_encoder_clear(struct test_encoder *setup) {
  colshuf_block_encoder_free(setup->encoder);
  setup->c_schema.release(&setup->c_schema);
  csf_schema_release(setup->schema);
}

struct test_decoded test_decode(const uint8_t *block, size_t size) {
  struct test_decoded decoded;
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .pool_size = UINT64_MAX};
  struct colshuf_block_decoder *decoder;
  size_t consumed;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  REQUIRE_OK(colshuf_block_decoder_decode(decoder, block, size, NULL, &consumed, &decoded.c_schema, &decoded.batch, &err));
  CHECK_INT(consumed, size);
  REQUIRE_OK(csf_schema_import(&decoded.c_schema, &test_heap, NULL, &decoded.schema, &err));
  colshuf_block_decoder_free(decoder);
  return decoded;
}

void test_decoded_clear(struct test_decoded *decoded) {
  decoded->batch.release(&decoded->batch);
  decoded->c_schema.release(&decoded->c_schema);
  csf_schema_release(decoded->schema);
}

struct colshuf_block_header test_header(const uint8_t *block, size_t size) {
  struct colshuf_block_header header;
  REQUIRE_OK(colshuf_block_header_read(block, size, &header, &err));
  CHECK_INT(header.block_size, size);
  return header;
}

struct colshuf_block_header test_check_block(struct test_encoder *setup, const struct ArrowArray *batch, int64_t start, int64_t length) {
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup->encoder, batch, start, length, &block, &size, &err));
  struct test_decoded decoded = test_decode(block, size);
  struct colshuf_block_header header = test_header(block, size);
  CHECK_INT(decoded.batch.length, length);
  CHECK_ROWS(&setup->schema->root, batch, start, &decoded.schema->root, &decoded.batch, 0, length);
  test_decoded_clear(&decoded);
  return header;
}
