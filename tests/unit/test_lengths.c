/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "ipc/lengths.h"
#include "support/harness.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LONGEST = 300 };

/* Plain words for what the kernels do: the oracle of this file. */
static void planes_of(uint8_t *planes, const int64_t *offsets, int64_t count, int width) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t length = i == 0 ? 0 : (uint64_t)(offsets[i] - offsets[i - 1]);
    for (int plane = 0; plane < width; plane++) planes[plane * count + i] = (uint8_t)(length >> (8 * plane));
  }
}

static void store_offsets(uint8_t *target, const int64_t *offsets, int64_t count, int width) {
  for (int64_t i = 0; i < count; i++) memcpy(target + i * width, &offsets[i], (size_t)width);
}

/* Lengths of up to `bits` bits, from a first offset. */
static void random_offsets(struct test_random *random, int64_t *offsets, int64_t count, int bits) {
  int64_t at = (int64_t)test_random_below(random, 100);
  for (int64_t i = 0; i < count; i++) {
    offsets[i] = at;
    at += (int64_t)(test_random_next(random) >> (64 - bits));
  }
}

static void the_example_of_the_format_is_met(void) {
  const int32_t offsets[5] = {0, 255, 512, 66047, 66050};
  const uint8_t wanted[20] = {0, 255, 1, 255, 3, 0, 0, 1, 255, 0};
  uint8_t planes[20];
  csf_lengths_from_offsets(planes, offsets, 5, 4);
  CHECK(memcmp(planes, wanted, 20) == 0);
  int32_t back[5];
  struct colshuf_error err;
  REQUIRE_OK(csf_offsets_from_lengths(back, planes, 5, 4, 66050, &err));
  CHECK(memcmp(back, offsets, sizeof offsets) == 0);
  CHECK_STATUS(csf_offsets_from_lengths(back, planes, 5, 4, 66049, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "66050");
  CHECK_CONTAINS(err.message, "66049");
}

static void check_kernels(const struct csf_lengths_kernels *kernels, int width, int bits, int64_t shift) {
  struct test_random random = {(uint64_t)(width * 100 + bits)};
  static int64_t offsets[LONGEST];
  static uint8_t plain[8 * LONGEST + 16], planes[8 * LONGEST + 16], wanted[8 * LONGEST + 16], back[8 * LONGEST + 16];
  for (int64_t count = 1; count < LONGEST; count++) {
    random_offsets(&random, offsets, count, bits);
    store_offsets(plain + shift, offsets, count, width);
    planes_of(wanted, offsets, count, width);
    memset(planes, 0xee, sizeof planes);
    memset(back, 0xee, sizeof back);
    size_t size = (size_t)(count * width);
    (width == 4 ? kernels->encode32 : kernels->encode64)(planes + shift, plain + shift, count);
    CHECK(memcmp(planes + shift, wanted, size) == 0);
    CHECK_INT(planes[(size_t)shift + size], 0xee);
    CHECK((width == 4 ? kernels->decode32 : kernels->decode64)(back + shift, planes + shift, count));
    for (int64_t i = 0; i < count; i++) offsets[i] -= csf_load_i32(plain + shift) & INT32_MAX;
    store_offsets(plain + shift, offsets, count, width);
    CHECK(memcmp(back + shift, plain + shift, size) == 0);
    CHECK_INT(back[(size_t)shift + size], 0xee);
  }
}

static void every_kernel_equals_the_definition(void) {
  for (int bits = 1; bits <= 20; bits++) {
    for (int64_t shift = 0; shift < 8; shift += 3) {
      check_kernels(&csf_lengths_scalar, 4, bits, shift);
      check_kernels(&csf_lengths_scalar, 8, 2 * bits, shift);
#if defined(__x86_64__)
      if (!csf_cpu()->avx2) continue;
      check_kernels(&csf_lengths_avx2, 4, bits, shift);
      check_kernels(&csf_lengths_avx2, 8, 2 * bits, shift);
#endif
    }
  }
}

/* Puts `value` at place `at` of count otherwise small lengths and decodes. */
static enum colshuf_status decode_with(int64_t count, int64_t at, int64_t value, int width, int64_t limit,
                                       struct colshuf_error *err) {
  static uint8_t planes[8 * LONGEST], target[8 * LONGEST];
  for (int64_t i = 0; i < count; i++) {
    uint64_t length = i == at ? (uint64_t)value : 1;
    for (int plane = 0; plane < width; plane++) planes[plane * count + i] = (uint8_t)(length >> (8 * plane));
  }
  return csf_offsets_from_lengths(target, planes, count, width, limit, err);
}

static void negative_lengths_and_sums_beyond_the_type_are_found_at_every_place(void) {
  struct colshuf_error err;
  for (int64_t count = 2; count < 150; count += 7) {
    for (int64_t at = 0; at < count; at++) {
      CHECK_STATUS(decode_with(count, at, -1, 4, INT32_MAX, &err), COLSHUF_CORRUPT);
      CHECK_CONTAINS(err.message, "negative");
      CHECK_STATUS(decode_with(count, at, INT64_MIN, 8, INT64_MAX, &err), COLSHUF_CORRUPT);
      CHECK_CONTAINS(err.message, "negative");
      CHECK_STATUS(decode_with(count, at, INT32_MAX - count + 2, 4, INT32_MAX, &err), COLSHUF_CORRUPT);
      CHECK_CONTAINS(err.message, "beyond 31 bits");
      CHECK_STATUS(decode_with(count, at, INT64_MAX - count + 2, 8, INT64_MAX, &err), COLSHUF_CORRUPT);
      CHECK_CONTAINS(err.message, "beyond 63 bits");
      CHECK_STATUS(decode_with(count, at, INT32_MAX - count + 1, 4, INT32_MAX, &err), COLSHUF_OK);
      CHECK_STATUS(decode_with(count, at, INT64_MAX - count + 1, 8, INT64_MAX, &err), COLSHUF_OK);
    }
  }
}

static void no_values_need_no_bytes(void) {
  struct colshuf_error err;
  csf_lengths_from_offsets(NULL, NULL, 0, 4);
  REQUIRE_OK(csf_offsets_from_lengths(NULL, NULL, 0, 8, 0, &err));
}

/* The last byte of every area is the last of a page; the next page cannot be touched. */
static void nothing_behind_a_buffer_is_touched(void) {
  const size_t page = 65536;
  uint8_t *area = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  REQUIRE(mprotect(area + page, page, PROT_NONE) == 0 && mprotect(area + 3 * page, page, PROT_NONE) == 0);
  struct colshuf_error err;
  for (int width = 4; width <= 8; width += 4) {
    for (int64_t count = 1; count < LONGEST; count++) {
      size_t size = (size_t)(count * width);
      uint8_t *offsets = area + page - size, *planes = area + 3 * page - size;
      memset(offsets, 0, size);
      csf_lengths_from_offsets(planes, offsets, count, width);
      REQUIRE_OK(csf_offsets_from_lengths(offsets, planes, count, width, 0, &err));
    }
  }
  munmap(area, 4 * page);
}

static const struct test_case tests[] = {
    TEST(the_example_of_the_format_is_met),
    TEST(every_kernel_equals_the_definition),
    TEST(negative_lengths_and_sums_beyond_the_type_are_found_at_every_place),
    TEST(no_values_need_no_bytes),
    TEST(nothing_behind_a_buffer_is_touched),
};
TEST_MAIN(tests)
