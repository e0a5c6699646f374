/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks encoded and decoded, for the tests of the encoder. */
#ifndef CSF_TEST_ENCODING_H
#define CSF_TEST_ENCODING_H

#include "arrow/array.h"
#include "colshuf/block.h"
#include "support/harness.h"

/* The codecs in the order in which tests go through them. */
extern const enum colshuf_codec test_codecs[4];

/* A schema with its C form, and an encoder for it in test_heap. */
struct test_encoder {
  struct csf_schema *schema;
  struct ArrowSchema c_schema;
  struct colshuf_block_encoder *encoder;
};

/* Takes schema over. */
struct test_encoder test_encoder_new(struct csf_schema *schema, struct colshuf_block_encoder_options options);
void test_encoder_clear(struct test_encoder *setup);

/* A decoded block, fully validated. */
struct test_decoded {
  struct ArrowSchema c_schema;
  struct csf_schema *schema;
  struct ArrowArray batch;
};
struct test_decoded test_decode(const uint8_t *block, size_t size);
void test_decoded_clear(struct test_decoded *decoded);

struct colshuf_block_header test_header(const uint8_t *block, size_t size);

/* Encodes rows of batch and checks that they come back; returns the block's header. */
struct colshuf_block_header test_check_block(struct test_encoder *setup, const struct ArrowArray *batch, int64_t start, int64_t length);

#endif
