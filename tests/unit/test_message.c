/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message.h"

#include "ipc/format_tables.h"
#include "support/golden_bytes.h"
#include "support/harness.h"

static struct csf_cursor cursor_of(const struct csf_buffer *stream) {
  return (struct csf_cursor){stream->data, stream->size};
}

static enum colshuf_status take_all(const uint8_t *data, size_t size, int counts[4], bool *end_marker, struct colshuf_error *err) {
  struct csf_cursor cursor = {data, size};
  struct csf_message message;
  do {
    CSF_TRY(csf_message_take(&cursor, data, NULL, &message, end_marker, err));
    counts[message.kind]++;
  } while (message.kind != CSF_MESSAGE_END);
  return COLSHUF_OK;
}

static void messages_are_taken_one_by_one_with_their_bodies(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T3);
  struct csf_cursor cursor = cursor_of(&stream);
  struct csf_message message;
  bool end_marker;
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK_INT(message.kind, CSF_MESSAGE_SCHEMA);
  CHECK_INT(message.framing.size, 0xc0);
  CHECK_INT(message.body.size, 0);
  CHECK(!message.is_v4);
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK_INT(message.kind, CSF_MESSAGE_DICTIONARY);
  CHECK_INT(message.framing.data - stream.data, 0xc0);
  CHECK_INT(message.body.size, 192);
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK_INT(message.kind, CSF_MESSAGE_BATCH);
  CHECK_INT(message.metadata.size, 0xb8);
  CHECK_INT(message.body.data - stream.data, 0x300);
  CHECK(!end_marker);
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK_INT(message.kind, CSF_MESSAGE_END);
  CHECK(end_marker);
  CHECK_INT(cursor.size, 0);
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK(!end_marker);
  csf_buffer_clear(&stream);
}

static void G15_G16_a_cut_anywhere_but_between_messages_is_refused(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  for (size_t size = 0; size <= stream.size; size++) {
    int counts[4] = {0};
    bool end_marker = false;
    bool between = size == 0 || size == 0xc0 || size == 0x300 || size == stream.size;
    enum colshuf_status status = take_all(stream.data, size, counts, &end_marker, &err);
    CHECK_INT(status, between ? COLSHUF_OK : COLSHUF_CORRUPT);
    if (!between) CHECK_CONTAINS(err.message, "message at byte ");
    CHECK_INT(end_marker, size == stream.size);
  }
  csf_buffer_clear(&stream);
}

static void a_failure_leaves_the_cursor_where_it_was(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  struct csf_cursor cursor = {stream.data, 0xc0 + 9};
  struct csf_message message;
  bool end_marker;
  REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  CHECK_STATUS(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "message at byte 192: message metadata of 248 bytes, only 1 are left");
  CHECK_INT(cursor.size, 9);
  csf_buffer_clear(&stream);
}

/* Where the bodyLength of golden t1's record batch stands (formats.md B.13). */
enum { T1_BODY_LENGTH = 0xe0, T1_HEADER_TYPE = 0xef, T1_VERSION = 0xf0 };

static void G16_negative_and_huge_sizes_are_refused(void) {
  struct colshuf_error err;
  const int64_t body_sizes[] = {-8, -1, INT64_MIN, INT64_C(1) << 62, INT64_MAX, 321}; /* what is not there is no question of limits */
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  bool end_marker;
  for (size_t i = 0; i < 6; i++) {
    int counts[4] = {0};
    csf_store_i64(stream.data + T1_BODY_LENGTH, body_sizes[i]);
    CHECK_STATUS(take_all(stream.data, stream.size, counts, &end_marker, &err), COLSHUF_CORRUPT);
  }
  csf_store_i64(stream.data + T1_BODY_LENGTH, 320);
  const uint32_t metadata_sizes[] = {0x80000000, 0xfffffffe, 0x7fffffff, 0x20000000, 0x300};
  for (size_t i = 0; i < 5; i++) {
    int counts[4] = {0};
    csf_store_u32(stream.data + 0xc4, metadata_sizes[i]);
    /* Beyond the limit too, some of them; but what is not there is first of all not there. */
    CHECK_STATUS(take_all(stream.data, stream.size, counts, &end_marker, &err), COLSHUF_CORRUPT);
  }
  csf_buffer_clear(&stream);
}

static void G19_unknown_headers_and_old_versions_are_refused(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  bool end_marker;
  const uint8_t headers[] = {0, 4, 5, 6, 255};
  REQUIRE(stream.data[T1_HEADER_TYPE] == CSF_HEADER_BATCH);
  for (size_t i = 0; i < 5; i++) {
    int counts[4] = {0};
    stream.data[T1_HEADER_TYPE] = headers[i];
    CHECK_STATUS(take_all(stream.data, stream.size, counts, &end_marker, &err), COLSHUF_CORRUPT);
  }
  stream.data[T1_HEADER_TYPE] = CSF_HEADER_BATCH;
  REQUIRE(csf_load_u16(stream.data + T1_VERSION) == CSF_VERSION_V5);
  const uint16_t versions[] = {0, 1, 2, 5, 0xffff};
  for (size_t i = 0; i < 5; i++) {
    int counts[4] = {0};
    csf_store_u16(stream.data + T1_VERSION, versions[i]);
    CHECK_STATUS(take_all(stream.data, stream.size, counts, &end_marker, &err), COLSHUF_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "only V4 and V5");
  }
  csf_store_u16(stream.data + T1_VERSION, CSF_VERSION_V4);
  int counts[4] = {0};
  REQUIRE_OK(take_all(stream.data, stream.size, counts, &end_marker, &err));
  csf_buffer_clear(&stream);
}

static void legacy_framing_without_continuation_words_is_read(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1), legacy;
  csf_buffer_init(&legacy, &test_heap);
  REQUIRE_OK(csf_buffer_append(&legacy, stream.data + 4, 0xc0 - 4, &err));
  REQUIRE_OK(csf_buffer_append(&legacy, stream.data + 0xc4, 0x300 - 0xc4, &err));
  REQUIRE_OK(csf_buffer_append(&legacy, "\0\0\0\0", 4, &err));
  int counts[4] = {0};
  bool end_marker = false;
  REQUIRE_OK(take_all(legacy.data, legacy.size, counts, &end_marker, &err));
  CHECK(end_marker);
  CHECK_INT(counts[CSF_MESSAGE_BATCH], 1);
  csf_buffer_clear(&stream);
  csf_buffer_clear(&legacy);
}

static void limits_are_those_of_the_caller(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T1);
  struct csf_cursor cursor = cursor_of(&stream);
  struct csf_message message;
  bool end_marker;
  struct colshuf_limits limits = {.max_metadata_size = 0xb7};
  CHECK_STATUS(csf_message_take(&cursor, stream.data, &limits, &message, &end_marker, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "metadata of 184 bytes, the limit is 183");
  limits = (struct colshuf_limits){.max_decompressed_size = 319};
  REQUIRE_OK(csf_message_take(&cursor, stream.data, &limits, &message, &end_marker, &err));
  CHECK_STATUS(csf_message_take(&cursor, stream.data, &limits, &message, &end_marker, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "320 bytes, the limit is 319");
  csf_buffer_clear(&stream);
}

static const struct test_case tests[] = {
    TEST(messages_are_taken_one_by_one_with_their_bodies),
    TEST(G15_G16_a_cut_anywhere_but_between_messages_is_refused),
    TEST(a_failure_leaves_the_cursor_where_it_was),
    TEST(G16_negative_and_huge_sizes_are_refused),
    TEST(G19_unknown_headers_and_old_versions_are_refused),
    TEST(legacy_framing_without_continuation_words_is_read),
    TEST(limits_are_those_of_the_caller),
};
TEST_MAIN(tests)
