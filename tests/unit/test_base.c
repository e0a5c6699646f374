/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "support/harness.h"

static void a_message_is_one_line_and_keeps_its_context(void) {
  struct colshuf_error err;
  CHECK_INT(csf_fail(&err, COLSHUF_CORRUPT, "length %d\nof %s", 5, "x"), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "length 5?of x");
  CHECK_INT(csf_fail_context(&err, COLSHUF_CORRUPT, "block %d", 7), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "block 7: length 5?of x");
  CHECK_INT(csf_fail(NULL, COLSHUF_IO, "nobody listens"), COLSHUF_IO);
}

static void a_message_is_utf8_whatever_it_quotes(void) {
  struct colshuf_error err;
  CHECK_INT(csf_fail(&err, COLSHUF_CORRUPT, "%s", "name \xc3\xa9\xf0\x9f\x98\x80 \xff\xc0\x80 \xed\xa0\x80 \xe2\x82"), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "name \xc3\xa9\xf0\x9f\x98\x80 ??? ??? ??");
  CHECK_INT(csf_fail(&err, COLSHUF_CORRUPT, "%.3s", "ab\xc3\xa9"), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "ab?");
}

static void a_buffer_keeps_its_content_when_it_grows_and_when_it_cannot(void) {
  struct colshuf_error err;
  struct csf_buffer buffer;
  csf_buffer_init(&buffer, &test_heap);
  for (uint32_t i = 0; i < 10000; i++) REQUIRE_OK(csf_buffer_append(&buffer, &i, sizeof i, &err));
  CHECK_INT((uintptr_t)buffer.data % CSF_ALIGNMENT, 0);
  test_heap_refuse_at(1);
  CHECK_STATUS(csf_buffer_reserve(&buffer, buffer.capacity + 1, &err), COLSHUF_NO_MEMORY);
  for (uint32_t i = 0; i < 10000; i++) CHECK_INT(csf_load_u32(buffer.data + 4 * i), i);
  csf_buffer_clear(&buffer);
}

static void bits_are_copied_at_every_pair_of_offsets(void) {
  struct test_random random = {1};
  uint8_t source[64], target[64], before[64];
  for (int64_t from = 0; from < 16; from++) {
    for (int64_t to = 0; to < 16; to++) {
      for (int64_t n = 0; n < 300; n += 7) {
        for (size_t i = 0; i < 64; i++) source[i] = (uint8_t)test_random_next(&random);
        for (size_t i = 0; i < 64; i++) before[i] = target[i] = (uint8_t)test_random_next(&random);
        csf_bits_copy(target, to, source, from, n);
        int64_t ones = 0;
        for (int64_t i = 0; i < 512; i++) {
          bool inside = i >= to && i < to + n;
          bool wanted = inside ? csf_bit_get(source, from + i - to) : csf_bit_get(before, i);
          ones += inside && wanted;
          CHECK(csf_bit_get(target, i) == wanted);
        }
        CHECK_INT(csf_bits_count(target, to, n), ones);
      }
    }
  }
}

static enum colshuf_status grow_an_arena(void *ctx) {
  (void)ctx;
  struct csf_arena arena;
  csf_arena_init(&arena, &test_heap);
  bool ok = true;
  for (int i = 0; i < 100 && ok; i++) ok = csf_arena_alloc(&arena, 1000) != NULL;
  csf_arena_clear(&arena);
  return ok ? COLSHUF_OK : COLSHUF_NO_MEMORY;
}

static void an_arena_survives_every_refusal(void) {
  CHECK(test_oom_sweep(grow_an_arena, NULL) > 10);
}

static const struct test_case tests[] = {
    TEST(a_message_is_one_line_and_keeps_its_context),
    TEST(a_message_is_utf8_whatever_it_quotes),
    TEST(a_buffer_keeps_its_content_when_it_grows_and_when_it_cannot),
    TEST(bits_are_copied_at_every_pair_of_offsets),
    TEST(an_arena_survives_every_refusal),
};
TEST_MAIN(tests)
