/* SPDX-License-Identifier: Apache-2.0 */
/* What the levels of trust have in common, and what each leaves out. */
#include <stdlib.h>

#include "support/decoding.h"
#include "support/messages.h"

enum { N_LEVELS = COLSHUF_TRUSTED_VERIFIED + 1 };

/* A block of a random schema. */
static struct csf_buffer some_block(struct test_random *random, enum colshuf_codec codec) {
  struct csf_schema *schema = test_random_schema(random, &(struct test_schema_options){0});
  struct csf_buffer block = test_random_block(random, schema, (int64_t)test_random_below(random, 40) + 1, codec);
  csf_schema_release(schema);
  return block;
}

struct outcome {
  enum colshuf_status status;
  struct colshuf_error err;
  size_t consumed;
  struct ArrowSchema schema;
  struct ArrowArray batch;
};

static struct outcome decode(struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size) {
  struct outcome o = {.err = {.message = ""}};
  o.status = colshuf_block_decoder_decode(decoder, data, size, NULL, &o.consumed, &o.schema, &o.batch, &o.err);
  return o;
}

static void outcome_clear(struct outcome *o) {
  if (o->status != COLSHUF_OK) return;
  o->schema.release(&o->schema);
  o->batch.release(&o->batch);
}

static void rows_of(const struct outcome *o, struct csf_buffer *text) {
  struct colshuf_error err;
  struct csf_schema *schema;
  REQUIRE_OK(csf_schema_import(&o->schema, &test_heap, NULL, &schema, &err));
  for (int64_t i = 0; i < o->batch.length; i++) test_value_text(&schema->root, &o->batch, i, text);
  test_append(text, "", 1);
  csf_schema_release(schema);
}

static void good_blocks_give_the_same_rows_at_every_level(void) {
  struct test_random random = {41};
  struct colshuf_block_decoder *decoders[N_LEVELS];
  for (int trust = 0; trust < N_LEVELS; trust++) decoders[trust] = test_decoder((enum colshuf_trust)trust);
  for (int round = 0; round < 400; round++) {
    struct csf_buffer block = some_block(&random, (enum colshuf_codec)(round % 4)), wanted = test_buffer();
    for (int trust = 0; trust < N_LEVELS; trust++) {
      struct outcome o = decode(decoders[trust], block.data, block.size);
      struct csf_buffer text = test_buffer();
      if (o.status != COLSHUF_OK) test_fail(__FILE__, __LINE__, "round %d, level %d: %s", round, trust, o.err.message);
      REQUIRE(o.status == COLSHUF_OK);
      rows_of(&o, trust == 0 ? &wanted : &text);
      if (trust > 0) CHECK_STRING((char *)text.data, (char *)wanted.data);
      outcome_clear(&o);
      csf_buffer_clear(&text);
    }
    csf_buffer_clear(&wanted);
    csf_buffer_clear(&block);
  }
  for (int trust = 0; trust < N_LEVELS; trust++) colshuf_block_decoder_free(decoders[trust]);
}

/* What each level accepts, the one that trusts more accepts as well; and a decoder that has seen much judges as one that has
 * seen nothing. */
static void check_levels(struct colshuf_block_decoder *warm[N_LEVELS], const uint8_t *data, size_t size, const char *name) {
  bool accepted = false;
  for (int trust = 0; trust < N_LEVELS; trust++) {
    struct colshuf_block_decoder *fresh = test_decoder((enum colshuf_trust)trust);
    struct outcome a = decode(warm[trust], data, size), b = decode(fresh, data, size);
    if (a.status != b.status || a.consumed != b.consumed || strcmp(a.err.message, b.err.message) != 0) {
      test_fail(__FILE__, __LINE__, "%s, level %d: warm \"%s\", fresh \"%s\"", name, trust, a.err.message, b.err.message);
    }
    if (accepted && a.status != COLSHUF_OK)
      test_fail(__FILE__, __LINE__, "%s: level %d refuses: %s", name, trust, a.err.message);
    accepted = a.status == COLSHUF_OK;
    struct colshuf_error err;
    if (accepted) CHECK(colshuf_array_validate(&a.schema, &a.batch, trust == COLSHUF_UNTRUSTED, &err) == COLSHUF_OK);
    outcome_clear(&a);
    outcome_clear(&b);
    colshuf_block_decoder_free(fresh);
  }
}

static void damaged_blocks_are_judged_by_structure_at_every_level(void) {
  struct test_random random = {43};
  struct colshuf_block_decoder *warm[N_LEVELS];
  for (int trust = 0; trust < N_LEVELS; trust++) warm[trust] = test_decoder((enum colshuf_trust)trust);
  for (int round = 0; round < test_cases(200); round++) {
    struct csf_buffer block = some_block(&random, (enum colshuf_codec)(round % 4));
    uint8_t *exact = malloc(block.size); /* so that a sanitizer sees one byte too many */
    memcpy(exact, block.data, block.size);
    for (int i = 0; i < 60; i++) {
      size_t place = test_random_below(&random, block.size);
      uint8_t before = exact[place];
      if (i % 4 > 0) exact[place] ^= (uint8_t)(1u << test_random_below(&random, 8));
      check_levels(warm, exact, block.size, "damaged block");
      exact[place] = before;
    }
    free(exact);
    csf_buffer_clear(&block);
  }
  for (int trust = 0; trust < N_LEVELS; trust++) colshuf_block_decoder_free(warm[trust]);
}

static void check_file(void *warm, const char *name, const struct csf_buffer *bytes) {
  if (bytes->size > 0) check_levels(warm, bytes->data, bytes->size, name);
}

static void comets_odd_blocks_are_judged_alike_warm_and_fresh_at_every_level(void) {
  test_data("comet/guards");
  struct colshuf_block_decoder *warm[N_LEVELS];
  for (int trust = 0; trust < N_LEVELS; trust++) warm[trust] = test_decoder((enum colshuf_trust)trust);
  for (int round = 0; round < 2; round++) {
    CHECK(test_each_file("comet/guards", check_file, warm) > 40);
    CHECK(test_each_file("comet/probes", check_file, warm) > 40);
  }
  for (int trust = 0; trust < N_LEVELS; trust++) colshuf_block_decoder_free(warm[trust]);
}

static void release_nothing(struct ArrowArray *array) {
  array->release = NULL;
}

/* Four rows of text, uncompressed; the offsets of its batch are found by their values. */
static struct csf_buffer text_block(size_t *offsets) {
  static const int32_t places[] = {0, 2, 4, 6, 8};
  struct colshuf_error err;
  const void *buffers[] = {NULL, places, "aabbccdd"}, *none[] = {NULL};
  struct ArrowArray column = {.length = 4, .n_buffers = 3, .buffers = buffers, .release = release_nothing},
                    *columns[] = {&column};
  struct ArrowArray batch = {
      .length = 4, .n_buffers = 1, .n_children = 1, .buffers = none, .children = columns, .release = release_nothing};
  struct csf_schema *schema = test_schema("a: utf8");
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  struct colshuf_block_encoder_options options = {
      .allocator = test_heap, .codec = COLSHUF_NONE, .offsets = COLSHUF_OFFSETS_PLAIN};
  struct colshuf_block_encoder *encoder;
  REQUIRE_OK(colshuf_block_encoder_new(&exported, &options, &encoder, &err));
  const uint8_t *bytes;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(encoder, &batch, 0, 4, &bytes, &size, &err));
  struct csf_buffer block = test_buffer();
  test_append(&block, bytes, size);
  const uint8_t *found = memmem(block.data, block.size, places, sizeof places);
  REQUIRE(found != NULL);
  *offsets = (size_t)(found - block.data);
  colshuf_block_encoder_free(encoder);
  exported.release(&exported);
  csf_schema_release(schema);
  return block;
}

/* Offset `which` becomes value; the levels from `from` on accept it. */
static void check_offset(int line, size_t which, int32_t value, int from) {
  size_t offsets;
  struct csf_buffer block = text_block(&offsets);
  memcpy(block.data + offsets + 4 * which, &value, sizeof value);
  for (int trust = 0; trust < N_LEVELS; trust++) {
    struct colshuf_block_decoder *decoder = test_decoder((enum colshuf_trust)trust);
    struct outcome o = decode(decoder, block.data, block.size);
    if ((o.status == COLSHUF_OK) != (trust >= from)) test_fail(__FILE__, line, "level %d: %s", trust, o.err.message);
    outcome_clear(&o);
    colshuf_block_decoder_free(decoder);
  }
  csf_buffer_clear(&block);
}

static void verified_bytes_have_their_first_and_last_offset_checked_and_no_other(void) {
  check_offset(__LINE__, 1, 2, COLSHUF_UNTRUSTED);
  check_offset(__LINE__, 1, 7, COLSHUF_TRUSTED_VERIFIED); /* falls to 4 behind it */
  check_offset(__LINE__, 2, -1, COLSHUF_TRUSTED_VERIFIED);
  check_offset(__LINE__, 4, 1 << 20, N_LEVELS);
  check_offset(__LINE__, 4, -1, N_LEVELS);
  check_offset(__LINE__, 0, -1, N_LEVELS);
  check_offset(__LINE__, 0, 9, N_LEVELS);
}

static void an_unknown_level_is_no_trust(void) {
  size_t offsets;
  struct csf_buffer block = text_block(&offsets);
  block.data[offsets + 4] = 7;
  struct colshuf_block_decoder *decoder = test_decoder((enum colshuf_trust)77);
  struct outcome o = decode(decoder, block.data, block.size);
  CHECK_INT(o.status, COLSHUF_CORRUPT);
  outcome_clear(&o);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
}

static const struct test_case tests[] = {
    TEST(good_blocks_give_the_same_rows_at_every_level),
    TEST(damaged_blocks_are_judged_by_structure_at_every_level),
    TEST(comets_odd_blocks_are_judged_alike_warm_and_fresh_at_every_level),
    TEST(verified_bytes_have_their_first_and_last_offset_checked_and_no_other),
    TEST(an_unknown_level_is_no_trust),
};
TEST_MAIN(tests)
