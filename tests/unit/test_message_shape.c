/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message_shape.h"

#include "ipc/format_tables.h"
#include "support/golden_bytes.h"
#include "support/harness.h"

/* Golden streams: message `i`, framing and body, by itself. */
static struct csf_buffer message_of(const char *hex, int i) {
  struct colshuf_error err;
  struct csf_buffer stream = test_hex(hex), out;
  csf_buffer_init(&out, &test_heap);
  struct csf_cursor cursor = {stream.data, stream.size};
  struct csf_message message;
  bool end_marker;
  for (int j = 0; j <= i; j++) REQUIRE_OK(csf_message_take(&cursor, stream.data, NULL, &message, &end_marker, &err));
  REQUIRE_OK(csf_buffer_append(&out, message.framing.data, message.framing.size, &err));
  REQUIRE_OK(csf_buffer_append(&out, message.body.data, message.body.size, &err));
  csf_buffer_clear(&stream);
  return out;
}

static bool verify(const struct csf_buffer *bytes, struct csf_message *out) {
  struct csf_cursor cursor = {bytes->data, bytes->size};
  bool end_marker;
  return csf_message_take(&cursor, bytes->data, NULL, out, &end_marker, NULL) == COLSHUF_OK;
}

static struct csf_message_shape learn(const struct csf_buffer *bytes) {
  struct csf_message_shape shape = {.bytes = {.allocator = test_heap}};
  struct csf_message message;
  REQUIRE(verify(bytes, &message));
  csf_message_shape_learn(&shape, &message);
  return shape;
}

static bool take(const struct csf_message_shape *shape, const struct csf_buffer *bytes, struct csf_message *out) {
  struct csf_cursor cursor = {bytes->data, bytes->size};
  bool taken = csf_message_shape_take(shape, &cursor, 1 << 20, out);
  CHECK(taken ? cursor.size == bytes->size - out->framing.size - out->body.size : cursor.size == bytes->size);
  return taken;
}

static void a_message_of_the_shape_is_taken_as_by_verification(void) {
  const struct { const char *hex; int message; } cases[] = {{TEST_GOLDEN_T1, 1}, {TEST_GOLDEN_T3, 1}, {TEST_GOLDEN_T3, 2}};
  for (size_t i = 0; i < 3; i++) {
    struct csf_buffer bytes = message_of(cases[i].hex, cases[i].message);
    struct csf_message_shape shape = learn(&bytes);
    struct csf_message verified, taken;
    REQUIRE(verify(&bytes, &verified));
    REQUIRE(take(&shape, &bytes, &taken));
    CHECK_INT(taken.kind, verified.kind);
    CHECK_INT(taken.is_v4, verified.is_v4);
    CHECK(taken.metadata.data == verified.metadata.data && taken.metadata.size == verified.metadata.size);
    CHECK(taken.framing.data == verified.framing.data && taken.framing.size == verified.framing.size);
    CHECK(taken.body.data == verified.body.data && taken.body.size == verified.body.size);
    csf_buffer_clear(&shape.bytes);
    csf_buffer_clear(&bytes);
  }
}

/* A change outside of the numbers is never taken; one inside never changes where things are. */
static void every_flipped_bit_is_taken_only_inside_the_numbers(void) {
  struct csf_buffer bytes = message_of(TEST_GOLDEN_T1, 1);
  struct csf_message_shape shape = learn(&bytes);
  REQUIRE(shape.bytes.size > 0);
  size_t n_taken = 0;
  for (size_t bit = 0; bit < shape.bytes.size * 8; bit++) {
    bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    struct csf_message taken, verified;
    if (take(&shape, &bytes, &taken)) {
      n_taken++;
      REQUIRE(verify(&bytes, &verified)); /* what is taken would also have been verified, with the same result */
      CHECK(taken.body.size == verified.body.size && taken.kind == verified.kind);
      struct csf_fb_table batch = csf_fb_child(csf_fb_root(verified.metadata), CSF_MESSAGE_HEADER);
      CHECK(csf_fb_elements(batch, CSF_BATCH_NODES).data == bytes.data + taken.places->nodes);
      CHECK(csf_fb_elements(batch, CSF_BATCH_BUFFERS).data == bytes.data + taken.places->buffers);
      CHECK(csf_fb_field(batch, CSF_BATCH_LENGTH) == bytes.data + taken.places->length);
    }
    bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  CHECK(n_taken >= 8 * (8 + 2 * 16 + 5 * 16)); /* rows, nodes, buffers */
  csf_buffer_clear(&shape.bytes);
  csf_buffer_clear(&bytes);
}

static void a_body_that_is_not_there_is_left_to_verification(void) {
  struct csf_buffer bytes = message_of(TEST_GOLDEN_T1, 1);
  struct csf_message_shape shape = learn(&bytes);
  struct csf_message taken;
  for (size_t size = 0; size < bytes.size; size++) {
    struct csf_buffer cut = {.data = bytes.data, .size = size};
    CHECK(!take(&shape, &cut, &taken));
  }
  const int64_t sizes[] = {-1, -320, INT64_MIN, INT64_MAX, 321, 1 << 21};
  for (size_t i = 0; i < 6; i++) {
    csf_store_i64(bytes.data + shape.places.body_size, sizes[i]);
    CHECK(!take(&shape, &bytes, &taken));
  }
  csf_buffer_clear(&shape.bytes);
  csf_buffer_clear(&bytes);
}

/* The offset field `id` of the batch table, moved so that it leads to target. */
static void point(const struct csf_buffer *bytes, uint32_t id, const uint8_t *target) {
  struct csf_message message;
  REQUIRE(verify(bytes, &message));
  struct csf_fb_table batch = csf_fb_child(csf_fb_root(message.metadata), CSF_MESSAGE_HEADER);
  uint8_t *field = bytes->data + (csf_fb_field(batch, id) - bytes->data);
  csf_store_u32(field, (uint32_t)(target - field));
}

static void numbers_that_lie_over_each_other_or_over_structure_make_no_shape(void) {
  struct csf_message message;
  struct csf_buffer bytes = message_of(TEST_GOLDEN_T1, 1);
  REQUIRE(verify(&bytes, &message));
  struct csf_fb_table batch = csf_fb_child(csf_fb_root(message.metadata), CSF_MESSAGE_HEADER);
  const uint8_t *buffers = csf_fb_elements(batch, CSF_BATCH_BUFFERS).data - 4, *nodes = csf_fb_elements(batch, CSF_BATCH_NODES).data - 4;
  point(&bytes, CSF_BATCH_NODES, buffers); /* one vector for both */
  struct csf_message_shape shape = learn(&bytes);
  CHECK_INT(shape.bytes.size, 0);
  csf_buffer_clear(&shape.bytes);
  /* Part of the first node becomes the count of the buffers: a change there would move the end of the vector. */
  point(&bytes, CSF_BATCH_NODES, nodes);
  point(&bytes, CSF_BATCH_BUFFERS, nodes + 16);
  csf_store_u32(bytes.data + (nodes + 16 - bytes.data), 1);
  shape = learn(&bytes);
  CHECK_INT(shape.bytes.size, 0);
  csf_buffer_clear(&shape.bytes);
  csf_buffer_clear(&bytes);
}

static void a_schema_makes_no_shape(void) {
  struct csf_buffer bytes = message_of(TEST_GOLDEN_T1, 0), without = message_of(TEST_GOLDEN_T4, 1);
  struct csf_message_shape shape = learn(&bytes), empty = learn(&without);
  CHECK_INT(shape.bytes.size, 0);
  CHECK_INT(empty.bytes.size, 0); /* no nodes, no buffers: nothing to gain */
  csf_buffer_clear(&shape.bytes);
  csf_buffer_clear(&empty.bytes);
  csf_buffer_clear(&bytes);
  csf_buffer_clear(&without);
}

static const struct test_case tests[] = {
    TEST(a_message_of_the_shape_is_taken_as_by_verification),
    TEST(every_flipped_bit_is_taken_only_inside_the_numbers),
    TEST(a_body_that_is_not_there_is_left_to_verification),
    TEST(numbers_that_lie_over_each_other_or_over_structure_make_no_shape),
    TEST(a_schema_makes_no_shape),
};
TEST_MAIN(tests)
