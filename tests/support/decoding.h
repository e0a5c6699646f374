/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the block decoder share: blocks around any content, and decoding as text. */
#ifndef CSF_TEST_DECODING_H
#define CSF_TEST_DECODING_H

#include "colshuf/block.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

/* A block around any content. Length word and codec stream are right; the content may be anything. */
struct csf_buffer test_block_of(enum colshuf_codec kind, uint64_t n_columns, const void *content, size_t size, bool flagged);

/* The golden stream T1 in a block, and its rows. */
struct csf_buffer test_golden_block(enum colshuf_codec kind);
#define TEST_T1_ROWS "{1, 'a'} {2, null} {3, 'ccc'}"

/* A block of random rows, by our own encoder; and of a schema in words. */
struct csf_buffer test_random_block(struct test_random *random, const struct csf_schema *schema, int64_t rows, enum colshuf_codec codec);
struct csf_buffer test_encoded_block(const char *schema_text, int64_t rows, enum colshuf_codec codec, uint64_t seed);

struct colshuf_block_decoder *test_decoder(enum colshuf_trust trust);

/* Decodes the first block from a copy of exactly its size, into a text of its rows. */
enum colshuf_status test_decode_text(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size, struct csf_buffer *text,
                                     size_t *consumed, struct colshuf_error *err);
/* The same, checked: the block is decoded as a whole and gives the wanted text. */
void test_check_decodes(int line, struct colshuf_block_decoder *decoder, const struct csf_buffer *block, const char *wanted);

/* Calls visit for each file in a folder of reference data (skips the test where that is not there); returns how many. */
int test_each_file(const char *folder, void (*visit)(void *ctx, const char *name, const struct csf_buffer *bytes), void *ctx);

#endif
