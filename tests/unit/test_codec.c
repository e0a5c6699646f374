/* SPDX-License-Identifier: Apache-2.0 */
#include <lz4frame.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/bytes.h"
#include "codec/codec.h"
#include "support/harness.h"

enum { ROOM = 1 << 30 };

static const enum colshuf_codec kinds[] = {COLSHUF_LZ4, COLSHUF_ZSTD, COLSHUF_SNAPPY};

static struct csf_codec *new_codec(void) {
  struct colshuf_error err;
  struct csf_codec *codec;
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  return codec;
}

static struct csf_buffer new_buffer(void) {
  struct csf_buffer buffer;
  csf_buffer_init(&buffer, &test_heap);
  return buffer;
}

static struct csf_span span_of(const struct csf_buffer *buffer) {
  return (struct csf_span){buffer->data, buffer->size};
}

/* mode 0 zeros, 1 noise, 2 small numbers as columns have them */
static struct csf_buffer make_data(size_t size, int mode) {
  struct test_random random = {size + 1};
  struct csf_buffer data = new_buffer();
  REQUIRE(csf_buffer_append_zero(&data, size, NULL) == COLSHUF_OK);
  for (size_t i = 0; i < size && mode > 0; i++) {
    if (mode == 1) data.data[i] = (uint8_t)test_random_next(&random);
    if (mode == 2 && i % 4 == 0) data.data[i] = (uint8_t)test_random_below(&random, 50);
  }
  return data;
}

/* The status of decoding alone; what comes out goes away. */
static enum colshuf_status decode_status(enum colshuf_codec kind, struct csf_span input, uint64_t max_size,
                                         struct colshuf_error *err) {
  struct csf_codec *codec = new_codec();
  struct csf_buffer out = new_buffer();
  enum colshuf_status status = csf_codec_decompress(codec, kind, input, max_size, 0, &out, err);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
  return status;
}

static void check_decodes_to(enum colshuf_codec kind, struct csf_span input, const void *data, size_t size) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer out = new_buffer();
  REQUIRE_OK(csf_codec_decompress(codec, kind, input, ROOM, 0, &out, &err));
  CHECK_INT(out.size, size);
  CHECK(out.size == size && (size == 0 || memcmp(out.data, data, size) == 0));
  csf_buffer_clear(&out);
  csf_codec_free(codec);
}

static void check_hex(enum colshuf_codec kind, const char *hex, const char *text) {
  struct csf_buffer input = test_hex(hex);
  check_decodes_to(kind, span_of(&input), text, strlen(text));
  csf_buffer_clear(&input);
}

static void check_hex_fails(enum colshuf_codec kind, const char *hex, enum colshuf_status status, const char *part) {
  struct colshuf_error err;
  struct csf_buffer input = test_hex(hex);
  CHECK_STATUS(decode_status(kind, span_of(&input), ROOM, &err), status);
  CHECK_CONTAINS(err.message, part);
  csf_buffer_clear(&input);
}

static void round_trip(struct csf_codec *codec, enum colshuf_codec kind, int level, const struct csf_buffer *data) {
  struct colshuf_error err;
  struct csf_buffer packed = new_buffer(), out = new_buffer();
  REQUIRE_OK(csf_buffer_append(&packed, "before", 6, &err));
  REQUIRE_OK(csf_codec_compress(codec, kind, level, span_of(data), &packed, &err));
  CHECK(memcmp(packed.data, "before", 6) == 0);
  struct csf_span stream = {packed.data + 6, packed.size - 6};
  REQUIRE_OK(csf_codec_decompress(codec, kind, stream, data->size, 0, &out, &err));
  CHECK(out.size == data->size && (data->size == 0 || memcmp(out.data, data->data, data->size) == 0));
  uint64_t announced = csf_codec_announced_size(kind, stream);
  CHECK(announced == 0 || announced == data->size);
  REQUIRE_OK(csf_buffer_reserve(&out, data->size + 1, &err));
  memset(out.data, 0, data->size);
  REQUIRE_OK(csf_codec_decompress_exact(codec, kind, stream, out.data, data->size, &err));
  CHECK(data->size == 0 || memcmp(out.data, data->data, data->size) == 0);
  CHECK_STATUS(csf_codec_decompress_exact(codec, kind, stream, out.data, data->size + 1, &err), COLSHUF_CORRUPT);
  if (data->size > 0) {
    CHECK_STATUS(csf_codec_decompress_exact(codec, kind, stream, out.data, data->size - 1, &err), COLSHUF_CORRUPT);
    CHECK_STATUS(csf_codec_decompress(codec, kind, stream, data->size - 1, 0, &out, &err), COLSHUF_LIMIT);
  }
  csf_buffer_clear(&packed);
  csf_buffer_clear(&out);
}

static void what_is_compressed_comes_back_with_one_reused_context(void) {
  static const size_t sizes[] = {0, 1, 12, 100, 4096, 65535, 65536, 65537, 262144, 300000, 1048577, 9000000};
  struct csf_codec *codec = new_codec();
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    for (int mode = 0; mode < 3; mode++) {
      struct csf_buffer data = make_data(sizes[s], mode);
      for (int k = 0; k < 3; k++) round_trip(codec, kinds[k], 0, &data);
      if (sizes[s] < 400000) {
        round_trip(codec, COLSHUF_ZSTD, 9, &data);
        round_trip(codec, COLSHUF_ZSTD, -5, &data);
        round_trip(codec, COLSHUF_LZ4, 9, &data);
      }
      csf_buffer_clear(&data);
    }
  }
  csf_codec_free(codec);
}

/* Columns of other nature one after another, told and not told: one stream either way, and the told one is smaller with zstd. */
static void parts_make_a_stream_that_decodes_as_a_whole(void) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer data = new_buffer(), told = new_buffer(), untold = new_buffer(), out = new_buffer();
  size_t starts[4];
  for (int i = 0; i < 5; i++) {
    struct csf_buffer part = make_data(20000 + 1000 * (size_t)i, 1 + i % 2);
    for (size_t j = 0; j < part.size && i % 4 == 0; j++) part.data[j] &= 0x1f; /* 5 bits of noise a byte */
    REQUIRE_OK(csf_buffer_append(&data, part.data, part.size, &err));
    if (i < 4) starts[i] = data.size;
    csf_buffer_clear(&part);
  }
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 3; k++) {
      told.size = untold.size = 0;
      REQUIRE_OK(csf_codec_compress_parts(codec, kinds[k], 0, span_of(&data), starts, 4, &told, &err));
      REQUIRE_OK(csf_codec_compress(codec, kinds[k], 0, span_of(&data), &untold, &err));
      if (kinds[k] == COLSHUF_ZSTD) CHECK(told.size < untold.size);
      REQUIRE_OK(csf_codec_decompress(codec, kinds[k], span_of(&told), ROOM, 0, &out, &err));
      CHECK(out.size == data.size && memcmp(out.data, data.data, data.size) == 0);
    }
  }
  csf_buffer_clear(&data);
  csf_buffer_clear(&told);
  csf_buffer_clear(&untold);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
}

static enum colshuf_status compress_parts_once(void *ctx) {
  const struct csf_buffer *data = ctx;
  struct csf_codec *codec;
  struct csf_buffer out = new_buffer();
  enum colshuf_status status = csf_codec_new(&test_heap, &codec, NULL);
  if (status != COLSHUF_OK) return status;
  size_t start = 100;
  status = csf_codec_compress_parts(codec, COLSHUF_ZSTD, 0, span_of(data), &start, 1, &out, NULL);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
  return status;
}

static void parts_report_refused_memory(void) {
  struct csf_buffer data = make_data(5000, 2);
  CHECK(test_oom_sweep(compress_parts_once, &data) > 0);
  csf_buffer_clear(&data);
}

static void levels_outside_a_codecs_range_are_refused(void) {
  struct colshuf_error err;
  CHECK_STATUS(csf_codec_check(COLSHUF_ZSTD, 22, &err), COLSHUF_OK);
  CHECK_STATUS(csf_codec_check(COLSHUF_ZSTD, 23, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "zstd has no level 23");
  CHECK_STATUS(csf_codec_check(COLSHUF_LZ4, 12, &err), COLSHUF_OK);
  CHECK_STATUS(csf_codec_check(COLSHUF_LZ4, -1, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(csf_codec_check(COLSHUF_SNAPPY, 1, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(csf_codec_check((enum colshuf_codec)9, 0, &err), COLSHUF_INVALID_ARGUMENT);
}

static void golden_streams_decode(void) {
  check_hex(COLSHUF_LZ4, "04224d18604082 05000080 68656c6c6f 00000000", "hello");
  check_hex(COLSHUF_LZ4, "04224d186440a7 05000080 68656c6c6f 00000000 f97700fb", "hello");
  check_hex(COLSHUF_ZSTD, "28b52ffd 20 05 290000 68656c6c6f", "hello");
  check_hex(COLSHUF_SNAPPY, "ff060000734e61507059 01090000 bb1f1c19 68656c6c6f", "hello");
  check_hex(COLSHUF_SNAPPY, "", "");
}

static void an_empty_stored_lz4_block_is_skipped(void) {
  check_hex(COLSHUF_LZ4, "04224d18604082 00000080 05000080 68656c6c6f 00000080 00000000", "hello");
}

/* Each truncation of each golden stream is an error, except where Snappy may end between chunks. */
static void every_truncation_is_found(void) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer data = make_data(70000, 2);
  for (int k = 0; k < 3; k++) {
    struct csf_buffer packed = new_buffer();
    REQUIRE_OK(csf_codec_compress(codec, kinds[k], 0, span_of(&data), &packed, &err));
    size_t second_chunk = kinds[k] == COLSHUF_SNAPPY ? 14 + (csf_load_u32(packed.data + 10) >> 8) : 0;
    for (size_t size = 0; size < packed.size; size = size < 300 || size + 300 > packed.size ? size + 1 : size + 97) {
      struct csf_span part = {packed.data, size};
      bool legal = kinds[k] == COLSHUF_SNAPPY && (size == 0 || size == 10 || size == second_chunk);
      enum colshuf_status status = decode_status(kinds[k], part, ROOM, &err);
      if (status != (legal ? COLSHUF_OK : COLSHUF_CORRUPT)) test_fail(__FILE__, __LINE__, "kind %d size %zu", k, size);
    }
    csf_buffer_clear(&packed);
  }
  csf_buffer_clear(&data);
  csf_codec_free(codec);
}

static void trailing_bytes_are_found(void) {
  check_hex_fails(COLSHUF_LZ4, "04224d18604082 00000000 00", COLSHUF_CORRUPT, "trailing data: 1 bytes");
  check_hex_fails(COLSHUF_LZ4, "04224d18604082 00000000 04224d18604082 00000000", COLSHUF_CORRUPT, "trailing data: 11 bytes");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 20 05 290000 68656c6c6f 00", COLSHUF_CORRUPT, "trailing data: 1 bytes at offset 14");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 20 05 290000 68656c6c6f 00000000", COLSHUF_CORRUPT, "trailing data: 00000000 at offset 14");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 00", COLSHUF_CORRUPT, "chunk header of 4 bytes at offset 10, 1 left");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 010900", COLSHUF_CORRUPT, "chunk header of 4 bytes at offset 10, 3 left");
}

static void what_an_lz4_header_may_not_say_is_refused(void) {
  check_hex_fails(COLSHUF_LZ4, "02214c18 00000000", COLSHUF_CORRUPT, "not an LZ4 frame");
  check_hex_fails(COLSHUF_LZ4, "502a4d18 00000000", COLSHUF_CORRUPT, "not an LZ4 frame");
  check_hex_fails(COLSHUF_LZ4, "04224d18 2040 00 00000000", COLSHUF_CORRUPT, "version 0");
  check_hex_fails(COLSHUF_LZ4, "04224d18 6240 00 00000000", COLSHUF_CORRUPT, "reserved bits");
  check_hex_fails(COLSHUF_LZ4, "04224d18 6030 00 00000000", COLSHUF_CORRUPT, "no block size");
  check_hex_fails(COLSHUF_LZ4, "04224d18 60c0 00 00000000", COLSHUF_CORRUPT, "reserved bits");
  check_hex_fails(COLSHUF_LZ4, "04224d18 6140 01000000 00 00000000", COLSHUF_UNSUPPORTED, "dictionary");
  check_hex_fails(COLSHUF_LZ4, "04224d18 604083 00000000", COLSHUF_CORRUPT, "header checksum at offset 6 is 83, the header's is 82");
  check_hex_fails(COLSHUF_LZ4, "04224d18604082 01000180 00", COLSHUF_CORRUPT, "65537 bytes, the frame allows 65536");
  check_hex_fails(COLSHUF_LZ4, "04224d186440a7 05000080 68656c6c6f 00000000 f97700fc", COLSHUF_CORRUPT, "content checksum is fc0077f9");
}

/* liblz4's own frames with every option: linked and independent, checksums, sizes. */
static void frames_of_the_reference_encoder_decode_whole_and_cut_do_not(void) {
  struct colshuf_error err;
  struct csf_buffer data = make_data(200000, 2);
  for (int options = 0; options < 32; options++) {
    LZ4F_preferences_t preferences = {0};
    preferences.frameInfo.blockSizeID = options & 1 ? LZ4F_max64KB : LZ4F_max256KB;
    preferences.frameInfo.blockMode = options & 2 ? LZ4F_blockIndependent : LZ4F_blockLinked;
    preferences.frameInfo.contentChecksumFlag = options & 4 ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
    preferences.frameInfo.blockChecksumFlag = options & 8 ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
    preferences.frameInfo.contentSize = options & 16 ? data.size : 0;
    size_t bound = LZ4F_compressFrameBound(data.size, &preferences);
    uint8_t *frame = malloc(bound);
    size_t size = LZ4F_compressFrame(frame, bound, data.data, data.size, &preferences);
    REQUIRE(!LZ4F_isError(size));
    check_decodes_to(COLSHUF_LZ4, (struct csf_span){frame, size}, data.data, data.size);
    for (size_t cut = 1; cut <= 8; cut++) { /* the end marker, a content checksum, both */
      CHECK_STATUS(decode_status(COLSHUF_LZ4, (struct csf_span){frame, size - cut}, ROOM, &err), COLSHUF_CORRUPT);
    }
    free(frame);
  }
  csf_buffer_clear(&data);
}

static void our_lz4_frames_decode_with_the_reference_decoder(void) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  static const size_t sizes[] = {0, 5, 65536, 65537, 1 << 20, 5 << 20};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    struct csf_buffer data = make_data(sizes[s], (int)s % 3), packed = new_buffer();
    REQUIRE_OK(csf_codec_compress(codec, COLSHUF_LZ4, 0, span_of(&data), &packed, &err));
    LZ4F_dctx *context;
    REQUIRE(!LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
    uint8_t *out = malloc(data.size + 1);
    size_t out_size = data.size + 1, in_size = packed.size;
    CHECK_INT(LZ4F_decompress(context, out, &out_size, packed.data, &in_size, NULL), 0);
    CHECK(in_size == packed.size && out_size == data.size && memcmp(out, data.data == NULL ? out : data.data, data.size) == 0);
    LZ4F_freeDecompressionContext(context);
    free(out);
    csf_buffer_clear(&data);
    csf_buffer_clear(&packed);
  }
  csf_codec_free(codec);
}

/* The content size of a frame whose header checksum is right again. */
static void a_wrong_content_size_is_found(void) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer data = make_data(100000, 2), packed = new_buffer();
  REQUIRE_OK(csf_codec_compress(codec, COLSHUF_LZ4, 0, span_of(&data), &packed, &err));
  static const int64_t shifts[] = {-1, 1, 100000, INT64_MAX / 2};
  for (int i = 0; i < 4; i++) {
    csf_store_u64(packed.data + 6, data.size + (uint64_t)shifts[i]);
    packed.data[14] = (uint8_t)(XXH32(packed.data + 4, 10, 0) >> 8);
    CHECK_STATUS(decode_status(COLSHUF_LZ4, span_of(&packed), UINT64_MAX, &err), COLSHUF_CORRUPT);
    CHECK_CONTAINS(err.message, "bytes and has 100000");
  }
  csf_buffer_clear(&data);
  csf_buffer_clear(&packed);
  csf_codec_free(codec);
}

static struct csf_buffer zstd_frames(const struct csf_buffer *data, size_t cut, bool checksum, bool streamed) {
  struct colshuf_error err;
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  struct csf_buffer packed = new_buffer();
  REQUIRE_OK(csf_buffer_reserve(&packed, 2 * ZSTD_compressBound(data->size), &err));
  ZSTD_outBuffer out = {packed.data, packed.capacity, 0};
  size_t ends[3] = {0, cut, data->size};
  for (int i = 0; i < 2; i++) {
    ZSTD_inBuffer in = {data->data + ends[i], ends[i + 1] - ends[i], 0};
    /* Given in pieces, the frame cannot announce its size: as Comet's encoder does it. */
    while (streamed && in.pos < in.size) {
      ZSTD_inBuffer piece = {in.src, in.pos + 999 < in.size ? in.pos + 999 : in.size, in.pos};
      ZSTD_compressStream2(context, &out, &piece, ZSTD_e_continue);
      in.pos = piece.pos;
    }
    while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) {
    }
  }
  packed.size = out.pos;
  ZSTD_freeCCtx(context);
  return packed;
}

static void zstd_frames_one_after_another_are_one_stream(void) {
  struct csf_buffer data = make_data(400000, 2);
  for (int options = 0; options < 4; options++) {
    for (size_t cut = 0; cut <= 400000; cut += 133333) {
      struct csf_buffer packed = zstd_frames(&data, cut, options & 1, options & 2);
      check_decodes_to(COLSHUF_ZSTD, span_of(&packed), data.data, data.size);
      struct csf_buffer skippable = test_hex("502a4d18 04000000 39300000");
      REQUIRE(csf_buffer_append(&packed, skippable.data, skippable.size, NULL) == COLSHUF_OK);
      check_decodes_to(COLSHUF_ZSTD, span_of(&packed), data.data, data.size);
      csf_buffer_clear(&skippable);
      csf_buffer_clear(&packed);
    }
  }
  csf_buffer_clear(&data);
}

static void a_skippable_zstd_frame_alone_is_an_empty_stream(void) {
  check_hex(COLSHUF_ZSTD, "5e2a4d18 04000000 01020304", "");
  check_hex(COLSHUF_ZSTD, "5e2a4d18 28000000 0000000000000000000000000000000000000000 0000000000000000000000000000000000000000", "");
  check_hex_fails(COLSHUF_ZSTD, "5e2a4d18 05000000 01020304", COLSHUF_CORRUPT, "skippable frame of 5 bytes at offset 8, 4 left");
  check_hex_fails(COLSHUF_ZSTD, "", COLSHUF_CORRUPT, "0 bytes");
}

static void what_a_zstd_frame_may_not_say_is_refused(void) {
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 28 05 290000 68656c6c6f", COLSHUF_CORRUPT, "reserved bit");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 21 07 05 290000 68656c6c6f", COLSHUF_UNSUPPORTED, "dictionary");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 00 90 010000", COLSHUF_UNSUPPORTED, "window of 268435456 bytes");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 20 06 290000 68656c6c6f", COLSHUF_CORRUPT, "announces 6 bytes, its blocks hold at most 5");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 20 04 290000 68656c6c6f", COLSHUF_CORRUPT, "allowed");
  check_hex_fails(COLSHUF_ZSTD, "28b52ffd 20 05 2f0000 68656c6c6f", COLSHUF_CORRUPT, "type 3");
  check_hex_fails(COLSHUF_ZSTD, "1eb52ffd 20 05 290000 68656c6c6f", COLSHUF_CORRUPT, "not a zstd frame");
}

static void a_flipped_bit_under_a_checksum_is_found(void) {
  struct colshuf_error err;
  struct csf_buffer data = make_data(3000, 2);
  struct csf_buffer packed = zstd_frames(&data, 0, true, false);
  for (size_t bit = 0; bit < packed.size * 8; bit++) {
    packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    enum colshuf_status status = decode_status(COLSHUF_ZSTD, span_of(&packed), 1 << 20, &err);
    /* The unused bit of the frame header, or a flip that turns the empty first frame into a shorter way to say the same. */
    if (status == COLSHUF_OK) check_decodes_to(COLSHUF_ZSTD, span_of(&packed), data.data, data.size);
    packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  csf_buffer_clear(&packed);
  struct csf_codec *codec = new_codec();
  REQUIRE_OK(csf_codec_compress(codec, COLSHUF_SNAPPY, 0, span_of(&data), &packed, &err));
  for (size_t bit = 0; bit < packed.size * 8; bit++) {
    packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    enum colshuf_status status = decode_status(COLSHUF_SNAPPY, span_of(&packed), 1 << 20, &err);
    /* The type of the data chunk turned into a skippable one: the format has no guard against that. */
    bool skipped = bit / 8 == 10 && (packed.data[10] & 0x80) != 0;
    if (status == COLSHUF_OK && !skipped) check_decodes_to(COLSHUF_SNAPPY, span_of(&packed), data.data, data.size);
    packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  csf_codec_free(codec);
  csf_buffer_clear(&packed);
  csf_buffer_clear(&data);
}

static void what_a_snappy_chunk_may_not_say_is_refused(void) {
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 00000000 2601ff00", COLSHUF_CORRUPT, "has 0 bytes");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 01030000 2601ff", COLSHUF_CORRUPT, "has 3 bytes");
  check_hex_fails(COLSHUF_SNAPPY, "01090000 bb1f1c19 68656c6c6f", COLSHUF_CORRUPT, "not Snappy's framing format");
  check_hex_fails(COLSHUF_SNAPPY, "e0ff7f0000", COLSHUF_CORRUPT, "not Snappy's framing format");
  check_hex_fails(COLSHUF_SNAPPY, "e0", COLSHUF_CORRUPT, "not Snappy's framing format");
  check_hex_fails(COLSHUF_SNAPPY, "e0010000aa", COLSHUF_CORRUPT, "not Snappy's framing format");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507058", COLSHUF_CORRUPT, "identifier");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 010900 00 bb1f1c18 68656c6c6f", COLSHUF_CORRUPT, "checksum");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 02010000 00", COLSHUF_CORRUPT, "reserved type 02");
  check_hex_fails(COLSHUF_SNAPPY, "ff060000734e61507059 7f010000 00", COLSHUF_CORRUPT, "reserved type 7f");
  check_hex(COLSHUF_SNAPPY, "ff060000734e61507059 80010000 00 fe020000 0000 01090000 bb1f1c19 68656c6c6f ff060000734e61507059", "hello");
}

/* One chunk of noise with a right checksum, but of 70000 bytes. */
static void a_snappy_chunk_of_more_than_65536_bytes_is_refused(void) {
  struct colshuf_error err;
  struct csf_buffer data = test_hex("ff060000734e61507059 01000000 00000000");
  REQUIRE_OK(csf_buffer_append_zero(&data, 70000, &err));
  csf_store_u32(data.data + 10, 1u | (70000u + 4) << 8);
  CHECK_STATUS(decode_status(COLSHUF_SNAPPY, span_of(&data), ROOM, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "70000");
  csf_buffer_clear(&data);
}

/* 1 GiB of zeros in little, against a limit of 16 MiB. */
static void make_bomb(enum colshuf_codec kind, struct csf_buffer *bomb) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer zeros = make_data(1 << 22, 0);
  struct csf_buffer piece = new_buffer();
  REQUIRE_OK(csf_codec_compress(codec, kind, 0, span_of(&zeros), &piece, &err));
  size_t head = kind == COLSHUF_LZ4 ? 15 : kind == COLSHUF_SNAPPY ? 10 : 0;
  size_t tail = kind == COLSHUF_LZ4 ? 4 : 0;
  if (kind == COLSHUF_LZ4) {
    struct csf_buffer header = test_hex("04224d18607073");
    REQUIRE_OK(csf_buffer_append(bomb, header.data, header.size, &err));
    csf_buffer_clear(&header);
  } else {
    REQUIRE_OK(csf_buffer_append(bomb, piece.data, head, &err));
  }
  for (int i = 0; i < 256; i++) REQUIRE_OK(csf_buffer_append(bomb, piece.data + head, piece.size - head - tail, &err));
  REQUIRE_OK(csf_buffer_append_zero(bomb, tail, &err));
  csf_buffer_clear(&piece);
  csf_buffer_clear(&zeros);
  csf_codec_free(codec);
}

static void a_bomb_is_refused_within_little_memory(void) {
  struct colshuf_error err;
  for (int k = 0; k < 3; k++) {
    struct csf_buffer bomb = new_buffer();
    make_bomb(kinds[k], &bomb);
    uint64_t before = test_heap_bytes();
    test_heap_reset_peak();
    CHECK_STATUS(decode_status(kinds[k], span_of(&bomb), 16 << 20, &err), COLSHUF_LIMIT);
    CHECK_CONTAINS(err.message, "16777216");
    CHECK(test_heap_peak() - before < (64 << 20));
    csf_buffer_clear(&bomb);
  }
}

/* A zstd frame that announces nothing and yields 64 MiB from 2 KiB: memory follows what came out. */
static void implausible_sizes_take_memory_in_steps(void) {
  struct colshuf_error err;
  struct csf_buffer bomb = test_hex("28b52ffd 00 58");
  for (int i = 0; i < 512; i++) {
    uint8_t block[4] = {0x02, 0x00, 0x10, 0x00}; /* one byte, 131072 times */
    block[0] |= i == 511;
    REQUIRE_OK(csf_buffer_append(&bomb, block, 4, &err));
  }
  struct csf_codec *codec = new_codec();
  struct csf_buffer out = new_buffer();
  REQUIRE_OK(csf_codec_decompress(codec, COLSHUF_ZSTD, span_of(&bomb), 64 << 20, 0, &out, &err));
  CHECK_INT(out.size, 64 << 20);
  csf_buffer_clear(&out);
  test_heap_reset_peak();
  uint64_t before = test_heap_bytes();
  CHECK_STATUS(csf_codec_decompress(codec, COLSHUF_ZSTD, span_of(&bomb), 1 << 20, 0, &out, &err), COLSHUF_LIMIT);
  CHECK(test_heap_peak() - before < (2 << 20));
  csf_buffer_clear(&out);
  csf_buffer_clear(&bomb);
  csf_codec_free(codec);
}

static enum colshuf_status compress_and_back(void *ctx) {
  enum colshuf_codec kind = *(enum colshuf_codec *)ctx;
  struct csf_codec *codec = NULL;
  struct csf_buffer packed = new_buffer(), out = new_buffer();
  static const uint8_t data[100000] = {1, 2, 3};
  enum colshuf_status status = csf_codec_new(&test_heap, &codec, NULL);
  if (status == COLSHUF_OK) status = csf_codec_compress(codec, kind, 0, (struct csf_span){data, sizeof data}, &packed, NULL);
  if (status == COLSHUF_OK) status = csf_codec_decompress(codec, kind, span_of(&packed), sizeof data, 0, &out, NULL);
  csf_buffer_clear(&packed);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
  return status;
}

static void every_refused_allocation_is_reported(void) {
  for (int k = 0; k < 3; k++) {
    enum colshuf_codec kind = kinds[k];
    CHECK(test_oom_sweep(compress_and_back, &kind) >= 2);
  }
}

/* Random changes of valid streams: any answer but a crash. Limits hold. */
static void damaged_streams_never_do_worse_than_fail(void) {
  struct colshuf_error err;
  struct test_random random = {77};
  struct csf_codec *codec = new_codec();
  struct csf_buffer data = make_data(5000, 2), out = new_buffer();
  for (int k = 0; k < 3; k++) {
    struct csf_buffer packed = new_buffer();
    REQUIRE_OK(csf_codec_compress(codec, kinds[k], 0, span_of(&data), &packed, &err));
    for (int round = 0; round < 3000; round++) {
      struct csf_buffer damaged = new_buffer();
      REQUIRE_OK(csf_buffer_append(&damaged, packed.data, packed.size, &err));
      for (uint64_t n = 1 + test_random_below(&random, 3); n > 0; n--) {
        damaged.data[test_random_below(&random, packed.size)] = (uint8_t)test_random_next(&random);
      }
      enum colshuf_status status = csf_codec_decompress(codec, kinds[k], span_of(&damaged), 100000, 0, &out, &err);
      CHECK(status != COLSHUF_OK || out.size <= 100000);
      CHECK(status != COLSHUF_NO_MEMORY && status != COLSHUF_IO && status != COLSHUF_INVALID_ARGUMENT);
      csf_buffer_clear(&damaged);
    }
    csf_buffer_clear(&packed);
  }
  csf_buffer_clear(&data);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
}

static void steady_state_allocates_nothing(void) {
  struct colshuf_error err;
  struct csf_codec *codec = new_codec();
  struct csf_buffer data = make_data(100000, 2), packed = new_buffer(), out = new_buffer();
  for (int k = 0; k < 3; k++) {
    uint64_t calls = 0;
    for (int round = 0; round < 20; round++) {
      if (round == 2) calls = test_heap_calls();
      packed.size = 0;
      REQUIRE_OK(csf_codec_compress(codec, kinds[k], 0, span_of(&data), &packed, &err));
      REQUIRE_OK(csf_codec_decompress(codec, kinds[k], span_of(&packed), ROOM, 0, &out, &err));
    }
    CHECK_INT(test_heap_calls(), calls);
  }
  csf_buffer_clear(&data);
  csf_buffer_clear(&packed);
  csf_buffer_clear(&out);
  csf_codec_free(codec);
}

static const struct test_case tests[] = {
    TEST(what_is_compressed_comes_back_with_one_reused_context),
    TEST(parts_make_a_stream_that_decodes_as_a_whole),
    TEST(parts_report_refused_memory),
    TEST(levels_outside_a_codecs_range_are_refused),
    TEST(golden_streams_decode),
    TEST(an_empty_stored_lz4_block_is_skipped),
    TEST(every_truncation_is_found),
    TEST(trailing_bytes_are_found),
    TEST(what_an_lz4_header_may_not_say_is_refused),
    TEST(frames_of_the_reference_encoder_decode_whole_and_cut_do_not),
    TEST(our_lz4_frames_decode_with_the_reference_decoder),
    TEST(a_wrong_content_size_is_found),
    TEST(zstd_frames_one_after_another_are_one_stream),
    TEST(a_skippable_zstd_frame_alone_is_an_empty_stream),
    TEST(what_a_zstd_frame_may_not_say_is_refused),
    TEST(a_flipped_bit_under_a_checksum_is_found),
    TEST(what_a_snappy_chunk_may_not_say_is_refused),
    TEST(a_snappy_chunk_of_more_than_65536_bytes_is_refused),
    TEST(a_bomb_is_refused_within_little_memory),
    TEST(implausible_sizes_take_memory_in_steps),
    TEST(every_refused_allocation_is_reported),
    TEST(damaged_streams_never_do_worse_than_fail),
    TEST(steady_state_allocates_nothing),
};
TEST_MAIN(tests)
