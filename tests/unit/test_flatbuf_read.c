/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/flatbuf_read.h"

#include <stdlib.h>

#include "ipc/format_tables.h"
#include "support/golden_bytes.h"
#include "support/harness.h"

/* The metadata of the first message of a stream in hex. */
static struct csf_buffer schema_metadata(const char *hex) {
  struct csf_buffer stream = test_hex(hex), metadata;
  csf_buffer_init(&metadata, &test_heap);
  if (csf_buffer_append(&metadata, stream.data + 8, csf_load_u32(stream.data + 4), NULL) != COLSHUF_OK) abort();
  csf_buffer_clear(&stream);
  return metadata;
}

static struct csf_span span_of(const struct csf_buffer *buffer) {
  return (struct csf_span){buffer->data, buffer->size};
}

static void put_u16(struct csf_buffer *out, uint16_t value) {
  if (csf_buffer_append(out, &value, 2, NULL) != COLSHUF_OK) abort();
}
static void put_u32(struct csf_buffer *out, uint32_t value) {
  if (csf_buffer_append(out, &value, 4, NULL) != COLSHUF_OK) abort();
}

/*
 * A Message whose schema nests `levels` fields, each the child of the one before, every level referring `fan` times to the
 * next one. 8 root and padding, 12 + 16 + 16 bytes of vtables, then Message, Schema, fields.
 */
static struct csf_buffer nested_fields(uint32_t levels, uint32_t fan) {
  struct csf_buffer out;
  csf_buffer_init(&out, &test_heap);
  put_u32(&out, 52); /* root: the Message behind the vtables */
  put_u32(&out, 0);
  const uint16_t message[] = {10, 16, 0, 8, 12}; /* at 8: header type, header */
  const uint16_t schema[] = {8, 8, 0, 4};        /* at 18 */
  const uint16_t field[] = {16, 8, 0, 0, 0, 0, 0, 4}; /* at 26: children */
  for (size_t i = 0; i < 5; i++) put_u16(&out, message[i]);
  for (size_t i = 0; i < 4; i++) put_u16(&out, schema[i]);
  for (size_t i = 0; i < 8; i++) put_u16(&out, field[i]);
  while (out.size < 52) put_u16(&out, 0);
  put_u32(&out, 52 - 8);
  put_u32(&out, 0);
  put_u32(&out, CSF_HEADER_SCHEMA);
  put_u32(&out, 4); /* the Schema follows */
  put_u32(&out, (uint32_t)out.size - 18);
  for (uint32_t level = 0; level < levels; level++) {
    put_u32(&out, 4); /* vector of the next level */
    put_u32(&out, fan);
    for (uint32_t i = 0; i < fan; i++) put_u32(&out, 4 * (fan - i));
    put_u32(&out, (uint32_t)out.size - 26);
  }
  put_u32(&out, 4);
  put_u32(&out, 0);
  return out;
}

static void a_message_of_arrow_rs_verifies_and_reads(void) {
  struct colshuf_error err;
  struct csf_buffer metadata = schema_metadata(TEST_GOLDEN_T1);
  REQUIRE_OK(csf_fb_verify(span_of(&metadata), &csf_shape_message, 64, &err));
  struct csf_fb_table message = csf_fb_root(span_of(&metadata));
  CHECK_INT(csf_fb_i16(message, CSF_MESSAGE_VERSION, 0), CSF_VERSION_V5);
  CHECK_INT(csf_fb_i64(message, CSF_MESSAGE_BODY_LENGTH, -7), -7);
  struct csf_fb_vector fields = csf_fb_elements(csf_fb_child(message, CSF_MESSAGE_HEADER), CSF_SCHEMA_FIELDS);
  REQUIRE(fields.count == 2);
  struct csf_span name = csf_fb_string(csf_fb_element(fields, 1), CSF_FIELD_NAME);
  CHECK_INT(name.size, 4);
  CHECK(memcmp(name.data, "name", 5) == 0);
  CHECK_INT(csf_fb_u8(csf_fb_element(fields, 1), CSF_FIELD_NULLABLE, 0), 1);
  struct csf_fb_table type = csf_fb_child(csf_fb_element(fields, 0), CSF_FIELD_TYPE);
  CHECK_INT(csf_fb_i32(type, 0, 0), 32);
  CHECK(csf_fb_field(type, 60000) == NULL);
  csf_buffer_clear(&metadata);
}

/* Reads all that the verifier vouches for in a Schema message: an over-read is for the sanitizer to find. */
static uint32_t touch(const uint8_t *data, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; data != NULL && i < size; i++) sum += data[i];
  return sum;
}
static uint32_t touch_fields(struct csf_fb_vector fields) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < fields.count; i++) {
    struct csf_fb_table field = csf_fb_element(fields, i);
    struct csf_span name = csf_fb_string(field, CSF_FIELD_NAME);
    sum += touch(name.data, name.size) + csf_fb_u8(field, CSF_FIELD_NULLABLE, 0);
    sum += touch_fields(csf_fb_elements(field, CSF_FIELD_CHILDREN));
    if (csf_fb_u8(field, CSF_FIELD_TYPE_TYPE, 0) == CSF_CODE_INT) sum += (uint32_t)csf_fb_i32(csf_fb_child(field, CSF_FIELD_TYPE), 0, 0);
  }
  return sum;
}

static bool verify_and_touch(const uint8_t *data, size_t size) {
  uint8_t *exact = malloc(size == 0 ? 1 : size);
  if (size > 0) memcpy(exact, data, size);
  struct colshuf_error err;
  struct csf_span span = {exact, size};
  bool ok = csf_fb_verify(span, &csf_shape_message, 64, &err) == COLSHUF_OK;
  if (ok && csf_fb_u8(csf_fb_root(span), CSF_MESSAGE_HEADER_TYPE, 0) == CSF_HEADER_SCHEMA) {
    touch_fields(csf_fb_elements(csf_fb_child(csf_fb_root(span), CSF_MESSAGE_HEADER), CSF_SCHEMA_FIELDS));
  }
  free(exact);
  return ok;
}

static void every_cut_and_every_flipped_bit_is_refused_or_safe_to_read(void) {
  const char *streams[] = {TEST_GOLDEN_T1, TEST_GOLDEN_T3, TEST_GOLDEN_T4};
  for (size_t s = 0; s < 3; s++) {
    struct csf_buffer metadata = schema_metadata(streams[s]);
    size_t accepted = 0;
    for (size_t size = 0; size < metadata.size; size++) accepted += verify_and_touch(metadata.data, size);
    CHECK(accepted < 64); /* only the padding may go */
    for (size_t bit = 0; bit < metadata.size * 8; bit++) {
      metadata.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      verify_and_touch(metadata.data, metadata.size);
      metadata.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(verify_and_touch(metadata.data, metadata.size));
    csf_buffer_clear(&metadata);
  }
}

static void random_bytes_are_refused_or_safe_to_read(void) {
  struct test_random random = {7};
  struct csf_buffer metadata = schema_metadata(TEST_GOLDEN_T3);
  uint8_t copy[512];
  for (int round = 0; round < 20000; round++) {
    memcpy(copy, metadata.data, metadata.size);
    for (int change = 0; change < 4; change++) {
      copy[test_random_below(&random, metadata.size)] = (uint8_t)test_random_next(&random);
    }
    verify_and_touch(copy, metadata.size);
  }
  csf_buffer_clear(&metadata);
}

static void nesting_beyond_the_limit_is_refused_without_deep_recursion(void) {
  struct colshuf_error err;
  struct csf_buffer fine = nested_fields(62, 1), deep = nested_fields(63, 1), very_deep = nested_fields(100000, 1);
  REQUIRE_OK(csf_fb_verify(span_of(&fine), &csf_shape_message, 64, &err));
  CHECK_STATUS(csf_fb_verify(span_of(&deep), &csf_shape_message, 64, &err), COLSHUF_LIMIT);
  CHECK_STATUS(csf_fb_verify(span_of(&very_deep), &csf_shape_message, 64, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "65 tables deep, the limit is 64");
  csf_buffer_clear(&fine);
  csf_buffer_clear(&deep);
  csf_buffer_clear(&very_deep);
}

static void shared_subtrees_cannot_multiply_the_work(void) {
  struct colshuf_error err;
  struct csf_buffer bomb = nested_fields(40, 2); /* 2^40 fields in under 1 KiB */
  CHECK(bomb.size < 1024);
  CHECK_STATUS(csf_fb_verify(span_of(&bomb), &csf_shape_message, 64, &err), COLSHUF_CORRUPT);
  csf_buffer_clear(&bomb);
}

static void a_table_that_is_its_own_child_is_refused(void) {
  struct colshuf_error err;
  struct csf_buffer loop = nested_fields(3, 1);
  size_t last = loop.size - 4; /* the children of the innermost field: an offset of 0 would be itself, others run off the end */
  const uint32_t offsets[] = {1, 4, 0x7fffffff, 0xfffffffc, 0x80000000};
  for (size_t i = 0; i < 5; i++) {
    csf_store_u32(loop.data + last, offsets[i]);
    csf_store_u16(loop.data + 26 + 14, 4);
    CHECK_STATUS(csf_fb_verify(span_of(&loop), &csf_shape_message, 64, &err), COLSHUF_CORRUPT);
  }
  csf_buffer_clear(&loop);
}

static void a_broken_vtable_is_named(void) {
  struct colshuf_error err;
  struct csf_buffer metadata = nested_fields(1, 1);
  struct { size_t place; uint16_t value; const char *message; } cases[] = {
      {26, 3, "vtable"}, {26, 17, "vtable"}, {26, 0xfffe, "vtable"}, {28, 2, "table size"}, {28, 0xffff, "needs"},
      {40, 2, "stands at"}, {40, 6, "stands at"}, {40, 0xffff, "stands at"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint16_t before = csf_load_u16(metadata.data + cases[i].place);
    csf_store_u16(metadata.data + cases[i].place, cases[i].value);
    CHECK_STATUS(csf_fb_verify(span_of(&metadata), &csf_shape_message, 64, &err), COLSHUF_CORRUPT);
    CHECK_CONTAINS(err.message, cases[i].message);
    csf_store_u16(metadata.data + cases[i].place, before);
  }
  REQUIRE_OK(csf_fb_verify(span_of(&metadata), &csf_shape_message, 64, &err));
  csf_buffer_clear(&metadata);
}

static const struct test_case tests[] = {
    TEST(a_message_of_arrow_rs_verifies_and_reads),
    TEST(every_cut_and_every_flipped_bit_is_refused_or_safe_to_read),
    TEST(random_bytes_are_refused_or_safe_to_read),
    TEST(nesting_beyond_the_limit_is_refused_without_deep_recursion),
    TEST(shared_subtrees_cannot_multiply_the_work),
    TEST(a_table_that_is_its_own_child_is_refused),
    TEST(a_broken_vtable_is_named),
};
TEST_MAIN(tests)
