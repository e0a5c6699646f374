/* SPDX-License-Identifier: Apache-2.0 */
/* The block decoder: every codec, every guard, every flipped bit, and the same verdict whatever it has seen before. */

#include "block/block_format.h"
#include "codec/codec.h"
#include "support/decoding.h"
#include "support/encoding.h"
#include "support/golden_bytes.h"
#include "support/messages.h"
#include "support/random.h"

static void check_refuses(int line, const void *data, size_t size, enum colshuf_status wanted, const char *reason) {
  for (int trust = COLSHUF_UNTRUSTED; trust <= COLSHUF_TRUSTED_VERIFIED; trust++) {
    struct colshuf_error err = {.message = ""};
    struct csf_buffer text = test_buffer();
    struct colshuf_block_decoder *decoder = test_decoder((enum colshuf_trust)trust);
    size_t consumed;
    enum colshuf_status status = test_decode_text(decoder, data, size, &text, &consumed, &err);
    if (status != wanted || strstr(err.message, reason) == NULL) {
      test_fail(__FILE__, line, "%s: %s; wanted %s: %s", colshuf_status_name(status), err.message, colshuf_status_name(wanted), reason);
    }
    colshuf_block_decoder_free(decoder);
    csf_buffer_clear(&text);
  }
}
#define REFUSES(block, reason) check_refuses(__LINE__, (block).data, (block).size, COLSHUF_CORRUPT, reason)

static void check_content(int line, enum colshuf_codec kind, uint64_t n_columns, const struct csf_buffer *content, const char *reason) {
  struct csf_buffer block = test_block_of(kind, n_columns, content->data, content->size, false);
  check_refuses(line, block.data, block.size, COLSHUF_CORRUPT, reason);
  csf_buffer_clear(&block);
}

static void a_block_of_each_codec_is_decoded(void) {
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
    struct csf_buffer block = test_golden_block(test_codecs[i]);
    test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
    test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
    csf_buffer_clear(&block);
    colshuf_block_decoder_free(decoder);
  }
}

static void a_block_ends_where_its_length_says_whatever_follows(void) {
  struct colshuf_error err;
  struct csf_buffer run = test_buffer();
  for (size_t i = 0; i < 4; i++) {
    struct csf_buffer block = test_golden_block(test_codecs[i]);
    test_append(&run, block.data, block.size);
    csf_buffer_clear(&block);
  }
  test_append(&run, "rest", 4);
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  size_t at = 0, n = 0;
  for (; run.size - at > 4; n++) {
    struct csf_buffer text = test_buffer();
    size_t consumed = 0;
    REQUIRE_OK(test_decode_text(decoder, run.data + at, run.size - at, &text, &consumed, &err));
    test_append(&text, "", 1);
    CHECK_STRING((char *)text.data, TEST_T1_ROWS);
    csf_buffer_clear(&text);
    at += consumed;
  }
  CHECK_INT(n, 4);
  CHECK_INT(run.size - at, 4);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&run);
}

static void G1_no_bytes_are_the_callers_to_see(void) {
  check_refuses(__LINE__, "", 0, COLSHUF_INVALID_ARGUMENT, "no bytes");
}

static void G2_a_partial_header_is_truncation(void) {
  struct csf_buffer block = test_golden_block(COLSHUF_LZ4);
  for (size_t size = 1; size < COLSHUF_BLOCK_HEADER_SIZE; size++) check_refuses(__LINE__, block.data, size, COLSHUF_CORRUPT, "truncated block header");
  csf_buffer_clear(&block);
}

static void G3_G4_lengths_outside_of_12_to_2_31_and_7_are_refused(void) {
  struct csf_buffer block = test_golden_block(COLSHUF_NONE);
  const uint64_t bad[] = {0, 1, 8, 11, (UINT64_C(1) << 31) + 8, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 40};
  for (size_t i = 0; i < 8; i++) {
    csf_store_u64(block.data, bad[i]);
    REFUSES(block, "block length");
  }
  csf_store_u64(block.data, (UINT64_C(1) << 31) + 7);
  REFUSES(block, "truncated block: 2147483663 bytes announced");
  csf_buffer_clear(&block);
}

static void G5_G23_column_counts_must_be_those_of_the_schema(void) {
  struct csf_buffer block = test_golden_block(COLSHUF_ZSTD);
  const uint64_t bad[] = {1, 3, INT32_MAX, (UINT64_C(1) << 31), UINT64_MAX, (UINT64_C(1) << 32) + 2};
  for (size_t i = 0; i < 6; i++) {
    csf_store_u64(block.data + 8, bad[i]);
    REFUSES(block, "columns");
  }
  csf_store_u64(block.data + 8, 0); /* says nothing */
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
}

static void G6_G7_a_short_body_is_truncation(void) {
  for (size_t i = 0; i < 4; i++) {
    struct csf_buffer block = test_golden_block(test_codecs[i]);
    for (size_t size = COLSHUF_BLOCK_HEADER_SIZE; size < block.size; size++) {
      check_refuses(__LINE__, block.data, size, COLSHUF_CORRUPT, "truncated block");
    }
    csf_buffer_clear(&block);
  }
}

static void G8_unknown_tags_are_refused(void) {
  struct csf_buffer block = test_golden_block(COLSHUF_NONE);
  const char *bad[] = {"GZIP", "zstd", "LZ4-", "\0\0\0\0", "NON\xc5"};
  for (size_t i = 0; i < 5; i++) {
    memcpy(block.data + 16, bad[i], 4);
    REFUSES(block, "codec tag");
  }
  csf_buffer_clear(&block);
}

/* The announced length shrinks with the body: what is cut is the codec's stream, not the block. */
static void G9_G10_G11_a_cut_codec_stream_never_gives_rows(void) {
  for (size_t i = 0; i < 4; i++) {
    struct csf_buffer block = test_golden_block(test_codecs[i]);
    for (size_t size = COLSHUF_BLOCK_HEADER_SIZE; size < block.size; size++) {
      csf_store_u64(block.data, size - 8);
      /* The end marker may be missing (G18): its bytes are the last eight of the stream with no codec. */
      bool whole = test_codecs[i] == COLSHUF_NONE && size == block.size - 8;
      if (!whole) check_refuses(__LINE__, block.data, size, COLSHUF_CORRUPT, "");
    }
    csf_buffer_clear(&block);
  }
}

static void G12_bytes_after_the_codec_stream_are_refused(void) {
  struct csf_buffer skippable = test_hex("502a4d18 04000000 39300000");
  for (size_t i = 0; i < 4; i++) {
    const char *tails[] = {"\0", "\0\0\0\0", "junk"};
    for (size_t t = 0; t < 3; t++) {
      struct csf_buffer block = test_golden_block(test_codecs[i]);
      test_append(&block, tails[t], t == 0 ? 1 : 4);
      csf_store_u64(block.data, block.size - 8);
      REFUSES(block, "");
      csf_buffer_clear(&block);
    }
    struct csf_buffer twice = test_golden_block(test_codecs[i]), other = test_golden_block(test_codecs[i]);
    test_append(&twice, other.data + COLSHUF_BLOCK_HEADER_SIZE, other.size - COLSHUF_BLOCK_HEADER_SIZE);
    csf_store_u64(twice.data, twice.size - 8);
    REFUSES(twice, ""); /* a second frame: trailing data, or for those that join frames a second stream */
    csf_buffer_clear(&twice);
    csf_buffer_clear(&other);
  }
  struct csf_buffer block = test_golden_block(COLSHUF_ZSTD);
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  test_append(&block, skippable.data, skippable.size);
  csf_store_u64(block.data, block.size - 8);
  test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS); /* a skippable frame is part of a zstd stream */
  csf_buffer_clear(&block);
  csf_buffer_clear(&skippable);
  skippable = test_hex("5e2a4d18 28000000 0000000000000000000000000000000000000000 0000000000000000000000000000000000000000");
  block = test_buffer();
  REQUIRE(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, NULL) == COLSHUF_OK);
  test_append(&block, skippable.data, skippable.size);
  csf_block_header_write(block.data, block.size, 2, COLSHUF_ZSTD, false);
  REFUSES(block, "no schema");
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
  csf_buffer_clear(&skippable);
}

static void two_zstd_frames_are_one_stream(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  struct csf_codec *codec;
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  for (size_t cut = 0; cut <= stream.size; cut += 37) {
    struct csf_buffer block = test_buffer();
    REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
    REQUIRE_OK(csf_codec_compress(codec, COLSHUF_ZSTD, 0, (struct csf_span){stream.data, cut}, &block, &err));
    REQUIRE_OK(csf_codec_compress(codec, COLSHUF_ZSTD, 0, (struct csf_span){stream.data + cut, stream.size - cut}, &block, &err));
    csf_block_header_write(block.data, block.size, 2, COLSHUF_ZSTD, false);
    test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
    csf_buffer_clear(&block);
  }
  colshuf_block_decoder_free(decoder);
  csf_codec_free(codec);
  csf_buffer_clear(&stream);
}

enum { T1_SCHEMA = 0xc0, T1_END = 0x300 };

static void G13_G14_G17_G19_the_stream_holds_one_schema_one_batch_and_nothing_else(void) {
  struct csf_buffer t1 = test_hex(TEST_GOLDEN_T1), t3 = test_hex(TEST_GOLDEN_T3), content = test_buffer();
  for (size_t i = 0; i < 4; i++) {
    check_content(__LINE__, test_codecs[i], 2, &content, ""); /* nothing at all */
    test_append(&content, t1.data, T1_SCHEMA);
    check_content(__LINE__, test_codecs[i], 2, &content, "no record batch"); /* G13 */
    test_end_append(&content);
    check_content(__LINE__, test_codecs[i], 2, &content, "no record batch");
    content.size = 0;
    test_append(&content, t1.data, T1_END);
    test_append(&content, t1.data + T1_SCHEMA, t1.size - T1_SCHEMA);
    check_content(__LINE__, test_codecs[i], 2, &content, "a second record batch"); /* G14 */
    content.size = 0;
    test_append(&content, t1.data, t1.size);
    test_append(&content, "\0", 1);
    check_content(__LINE__, test_codecs[i], 2, &content, "trailing data"); /* G17 */
    content.size = 0;
    test_append(&content, t1.data, T1_SCHEMA);
    test_append(&content, t1.data, t1.size);
    check_content(__LINE__, test_codecs[i], 2, &content, "a second schema"); /* G19 */
    content.size = 0;
    test_append(&content, t1.data, T1_SCHEMA);
    test_append(&content, t3.data + T1_SCHEMA, 0x240 - 0xc0); /* the dictionary of another schema */
    test_append(&content, t1.data + T1_SCHEMA, t1.size - T1_SCHEMA);
    check_content(__LINE__, test_codecs[i], 2, &content, "does not name");
    content.size = 0;
    test_append(&content, t3.data, T1_SCHEMA);
    test_append(&content, t3.data + 0x240, t3.size - 0x240); /* no dictionary */
    check_content(__LINE__, test_codecs[i], 1, &content, "no dictionary of id 0");
    content.size = 0;
    test_append(&content, t3.data, T1_SCHEMA);
    test_append(&content, t3.data + 0x240, 0x380 - 0x240); /* batch first */
    test_append(&content, t3.data + T1_SCHEMA, 0x240 - 0xc0);
    check_content(__LINE__, test_codecs[i], 1, &content, "");
    content.size = 0;
    test_append(&content, t1.data + T1_SCHEMA, t1.size - T1_SCHEMA);
    check_content(__LINE__, test_codecs[i], 2, &content, "where the schema must stand");
    content.size = 0;
  }
  csf_buffer_clear(&t1);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&content);
}

static void G15_G18_the_end_marker_may_be_missing_but_not_be_cut(void) {
  struct csf_buffer t1 = test_hex(TEST_GOLDEN_T1);
  for (size_t i = 0; i < 4; i++) {
    for (size_t end = 1; end < 8; end++) {
      struct csf_buffer content = {.data = t1.data, .size = T1_END + end};
      check_content(__LINE__, test_codecs[i], 2, &content, end < 4 ? "message prefix needs 4 bytes" : "metadata size needs 4 bytes");
    }
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
    struct csf_buffer block = test_block_of(test_codecs[i], 2, t1.data, T1_END, false);
    test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
    colshuf_block_decoder_free(decoder);
    csf_buffer_clear(&block);
  }
  csf_buffer_clear(&t1);
}

/* Offsets 0 1 1 4 as lengths in planes. */
static struct csf_buffer flagged_block(enum colshuf_codec kind) {
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  static const uint8_t lengths[16] = {0, 1, 0, 3};
  memcpy(stream.data + 0x1c0 + 192, lengths, 16);
  struct csf_buffer block = test_block_of(kind, 2, stream.data, stream.size, true);
  csf_buffer_clear(&stream);
  return block;
}

static void offsets_as_lengths_are_read_with_every_codec(void) {
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
    struct csf_buffer block = flagged_block(test_codecs[i]), plain = test_golden_block(test_codecs[i]);
    test_check_decodes(__LINE__, decoder, &block, TEST_T1_ROWS);
    test_check_decodes(__LINE__, decoder, &plain, TEST_T1_ROWS); /* the same schema, without the flag */
    csf_buffer_clear(&block);
    csf_buffer_clear(&plain);
    colshuf_block_decoder_free(decoder);
  }
  struct csf_buffer t3 = test_hex(TEST_GOLDEN_T3), block = test_block_of(COLSHUF_ZSTD, 1, t3.data, t3.size, true);
  REFUSES(block, "offsets stored as lengths in a schema with a dictionary");
  csf_buffer_clear(&t3);
  csf_buffer_clear(&block);
}

/* Each bit of a small block: an error, or rows that pass every check (only a codec with a checksum could promise the same rows). */
static void every_flipped_bit_gives_an_error_or_valid_rows(void) {
  uint64_t same = 0, refused = 0, other = 0;
  for (size_t which = 0; which < 8; which++) {
    struct csf_buffer block = which % 2 == 0 ? test_golden_block(test_codecs[which / 2]) : flagged_block(test_codecs[which / 2]);
    struct colshuf_block_decoder *warm = test_decoder(COLSHUF_UNTRUSTED);
    test_check_decodes(__LINE__, warm, &block, TEST_T1_ROWS);
    for (size_t bit = 0; bit < block.size * 8; bit++) {
      block.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      struct colshuf_error err;
      struct csf_buffer text = test_buffer();
      size_t consumed;
      enum colshuf_status status = test_decode_text(warm, block.data, block.size, &text, &consumed, &err);
      test_append(&text, "", 1);
      if (status != COLSHUF_OK) refused++;
      else if (strcmp((char *)text.data, TEST_T1_ROWS) == 0) same++;
      else other++;
      if (status == COLSHUF_OK) CHECK(consumed <= block.size);
      csf_buffer_clear(&text);
      block.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    test_check_decodes(__LINE__, warm, &block, TEST_T1_ROWS); /* the decoder took no harm */
    colshuf_block_decoder_free(warm);
    csf_buffer_clear(&block);
  }
  CHECK(refused > 5000);
  CHECK(same > 0);
  CHECK(other > 0);
}

/* The verdict of a decoder that has seen much must be that of one that has seen nothing: text on success, message on failure. */
static void check_same_verdict(struct colshuf_block_decoder *warm, const uint8_t *data, size_t size, const char *name) {
  struct colshuf_error errors[2] = {{.message = ""}, {.message = ""}};
  struct csf_buffer texts[2] = {test_buffer(), test_buffer()};
  struct colshuf_block_decoder *decoders[2] = {warm, test_decoder(COLSHUF_UNTRUSTED)};
  enum colshuf_status statuses[2];
  size_t consumed[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    statuses[i] = test_decode_text(decoders[i], data, size, &texts[i], &consumed[i], &errors[i]);
    test_append(&texts[i], "", 1);
  }
  if (statuses[0] != statuses[1] || strcmp(errors[0].message, errors[1].message) != 0 || consumed[0] != consumed[1] ||
      strcmp((char *)texts[0].data, (char *)texts[1].data) != 0) {
    test_fail(__FILE__, __LINE__, "%s: warm %s (%s), fresh %s (%s)", name, colshuf_status_name(statuses[0]), errors[0].message,
              colshuf_status_name(statuses[1]), errors[1].message);
  }
  colshuf_block_decoder_free(decoders[1]);
  csf_buffer_clear(&texts[0]);
  csf_buffer_clear(&texts[1]);
}

static void a_warm_decoder_judges_damaged_blocks_like_a_fresh_one(void) {
  struct test_random random = {9};
  struct colshuf_block_decoder *warm = test_decoder(COLSHUF_UNTRUSTED);
  struct csf_buffer t3 = test_hex(TEST_GOLDEN_T3);
  struct csf_buffer blocks[] = {test_golden_block(COLSHUF_NONE), flagged_block(COLSHUF_NONE), test_golden_block(COLSHUF_LZ4),
                                test_block_of(COLSHUF_NONE, 1, t3.data, t3.size, false)};
  for (int round = 0; round < 6000; round++) {
    struct csf_buffer *block = &blocks[test_random_below(&random, 4)];
    size_t place = test_random_below(&random, block->size);
    uint8_t before = block->data[place];
    if (round % 4 > 0) block->data[place] = (uint8_t)test_random_next(&random); /* else whole: the caches stay warm */
    check_same_verdict(warm, block->data, block->size, "damaged block");
    block->data[place] = before;
  }
  for (size_t i = 0; i < 4; i++) csf_buffer_clear(&blocks[i]);
  csf_buffer_clear(&t3);
  colshuf_block_decoder_free(warm);
}

/* Block by block, also behind refused ones. */
static void check_file(void *warm, const char *name, const struct csf_buffer *bytes) {
  for (size_t at = 0, taken = 0; at < bytes->size; at += taken) {
    check_same_verdict(warm, bytes->data + at, bytes->size - at, name);
    struct colshuf_block_header header;
    bool ok = colshuf_block_header_read(bytes->data + at, bytes->size - at, &header, NULL) == COLSHUF_OK;
    taken = ok && header.block_size <= bytes->size - at ? (size_t)header.block_size : bytes->size - at;
  }
}

static void a_warm_decoder_judges_comets_odd_blocks_like_a_fresh_one(void) {
  test_data("comet/guards");
  struct colshuf_block_decoder *warm = test_decoder(COLSHUF_UNTRUSTED);
  struct csf_buffer block = test_golden_block(COLSHUF_NONE);
  test_check_decodes(__LINE__, warm, &block, TEST_T1_ROWS);
  for (int round = 0; round < 2; round++) {
    CHECK(test_each_file("comet/guards", check_file, warm) > 40);
    CHECK(test_each_file("comet/probes", check_file, warm) > 40);
  }
  csf_buffer_clear(&block);
  colshuf_block_decoder_free(warm);
}

static void dictionaries_do_not_pass_from_block_to_block(void) {
  struct csf_buffer t3 = test_hex(TEST_GOLDEN_T3), content = test_buffer();
  test_append(&content, t3.data, T1_SCHEMA);
  test_append(&content, t3.data + 0x240, t3.size - 0x240);
  struct csf_buffer whole = test_block_of(COLSHUF_NONE, 1, t3.data, t3.size, false), lacking = test_block_of(COLSHUF_NONE, 1, content.data, content.size, false);
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  struct colshuf_error err;
  for (int round = 0; round < 3; round++) {
    struct csf_buffer text = test_buffer();
    size_t consumed;
    test_check_decodes(__LINE__, decoder, &whole, "{'x'} {'y'} {'x'} {null} {'y'}");
    CHECK_STATUS(test_decode_text(decoder, lacking.data, lacking.size, &text, &consumed, &err), COLSHUF_CORRUPT);
    csf_buffer_clear(&text);
  }
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&content);
  csf_buffer_clear(&whole);
  csf_buffer_clear(&lacking);
}

static enum colshuf_status decode_expecting(const char *expected_text, const struct csf_buffer *block, struct colshuf_error *err) {
  struct csf_schema *expected = test_schema(expected_text);
  struct ArrowSchema exported;
  REQUIRE(csf_field_export(&expected->root, &test_heap, &exported, err) == COLSHUF_OK);
  csf_schema_release(expected);
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .expected_schema = &exported};
  struct colshuf_block_decoder *decoder;
  REQUIRE(colshuf_block_decoder_new(&options, &decoder, err) == COLSHUF_OK);
  exported.release(&exported);
  enum colshuf_status status = COLSHUF_OK;
  for (int i = 0; i < 2; i++) { /* refused again, too: a schema that does not fit is not cached */
    struct ArrowArray batch;
    size_t consumed;
    status = colshuf_block_decoder_decode(decoder, block->data, block->size, NULL, &consumed, NULL, &batch, err);
    if (status == COLSHUF_OK) batch.release(&batch);
  }
  colshuf_block_decoder_free(decoder);
  return status;
}

static void G22_blocks_must_have_the_expected_schema(void) {
  struct colshuf_error err;
  struct csf_buffer block = test_golden_block(COLSHUF_LZ4), t3 = test_hex(TEST_GOLDEN_T3), encoded_text = test_block_of(COLSHUF_LZ4, 1, t3.data, t3.size, false);
  REQUIRE_OK(decode_expecting("other: int32, names: utf8 not null", &block, &err));
  REQUIRE_OK(decode_expecting("x: utf8", &encoded_text, &err)); /* a dictionary of the values will do */
  CHECK_STATUS(decode_expecting("id: int64, name: utf8", &block, &err), COLSHUF_CORRUPT);
  CHECK_STATUS(decode_expecting("id: int32, name: binary", &block, &err), COLSHUF_CORRUPT);
  CHECK_STATUS(decode_expecting("id: int32", &block, &err), COLSHUF_CORRUPT);
  CHECK_STATUS(decode_expecting("id: int32, name: utf8, more: utf8", &block, &err), COLSHUF_CORRUPT);
  csf_buffer_clear(&block);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&encoded_text);
}

static void random_blocks_of_every_type_come_back(void) {
  struct test_random random = {4};
  struct colshuf_error err;
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  for (int round = 0; round < 200; round++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    struct test_array_options shape = test_random_options(&random, 150);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &shape, &batch);
    struct ArrowSchema exported;
    REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
    struct colshuf_block_encoder_options options = {.allocator = test_heap, .codec = test_codecs[round % 4], .compat = COLSHUF_COMPAT_ARROW,
                                                    .layout = (enum colshuf_layout)(round / 4 % 2)};
    struct colshuf_block_encoder *encoder;
    REQUIRE_OK(colshuf_block_encoder_new(&exported, &options, &encoder, &err));
    exported.release(&exported);
    const uint8_t *bytes;
    size_t size, consumed;
    REQUIRE_OK(colshuf_block_encoder_encode(encoder, &batch, 0, batch.length, &bytes, &size, &err));
    if (size > 0) {
      struct ArrowArray found;
      REQUIRE_OK(colshuf_block_decoder_decode(decoder, bytes, size, NULL, &consumed, &exported, &found, &err));
      struct csf_schema *found_schema;
      REQUIRE_OK(csf_schema_import(&exported, &test_heap, NULL, &found_schema, &err));
      exported.release(&exported);
      CHECK_INT(consumed, size);
      CHECK_ROWS(&schema->root, &batch, 0, &found_schema->root, &found, 0, batch.length);
      csf_schema_release(found_schema);
      found.release(&found);
    } else {
      CHECK_INT(batch.length, 0);
    }
    colshuf_block_encoder_free(encoder);
    batch.release(&batch);
    csf_schema_release(schema);
  }
  colshuf_block_decoder_free(decoder);
}

static const struct test_case tests[] = {
    TEST(a_block_of_each_codec_is_decoded),
    TEST(a_block_ends_where_its_length_says_whatever_follows),
    TEST(G1_no_bytes_are_the_callers_to_see),
    TEST(G2_a_partial_header_is_truncation),
    TEST(G3_G4_lengths_outside_of_12_to_2_31_and_7_are_refused),
    TEST(G5_G23_column_counts_must_be_those_of_the_schema),
    TEST(G6_G7_a_short_body_is_truncation),
    TEST(G8_unknown_tags_are_refused),
    TEST(G9_G10_G11_a_cut_codec_stream_never_gives_rows),
    TEST(G12_bytes_after_the_codec_stream_are_refused),
    TEST(two_zstd_frames_are_one_stream),
    TEST(G13_G14_G17_G19_the_stream_holds_one_schema_one_batch_and_nothing_else),
    TEST(G15_G18_the_end_marker_may_be_missing_but_not_be_cut),
    TEST(offsets_as_lengths_are_read_with_every_codec),
    TEST(every_flipped_bit_gives_an_error_or_valid_rows),
    TEST(a_warm_decoder_judges_damaged_blocks_like_a_fresh_one),
    TEST(a_warm_decoder_judges_comets_odd_blocks_like_a_fresh_one),
    TEST(dictionaries_do_not_pass_from_block_to_block),
    TEST(G22_blocks_must_have_the_expected_schema),
    TEST(random_blocks_of_every_type_come_back),
};
TEST_MAIN(tests)
