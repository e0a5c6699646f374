/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "support/harness.h"

static void published_check_values_come_out(void) {
  CHECK_INT(csf_crc32c(0, "123456789", 9), 0xe3069283);
  CHECK_INT(csf_crc32c(0, "", 0), 0);
  uint8_t bytes[32] = {0};
  CHECK_INT(csf_crc32c(0, bytes, 32), 0x8a9136aa); /* RFC 3720, B.4 */
  memset(bytes, 0xff, 32);
  CHECK_INT(csf_crc32c(0, bytes, 32), 0x62a8ab43);
  for (uint8_t i = 0; i < 32; i++) bytes[i] = i;
  CHECK_INT(csf_crc32c(0, bytes, 32), 0x46dd794e);
}

static uint32_t bit_by_bit(uint32_t running, const uint8_t *data, size_t size) {
  uint32_t crc = ~running;
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

static void every_variant_equals_the_definition(void) {
  struct test_random random = {3};
  static uint8_t data[40000];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_random_next(&random);
  for (size_t size = 0; size < 2600; size++) {
    size_t start = size % 9;
    uint32_t running = (uint32_t)test_random_next(&random);
    uint32_t wanted = bit_by_bit(running, data + start, size);
    CHECK_INT(csf_crc32c_scalar(running, data + start, size), wanted);
#if defined(__x86_64__)
    if (csf_cpu()->crc32c) CHECK_INT(csf_crc32c_sse42(running, data + start, size), wanted);
    if (csf_cpu()->vpclmul) CHECK_INT(csf_crc32c_avx512(running, data + start, size), wanted);
#endif
  }
  uint32_t wanted = bit_by_bit(7, data, sizeof data);
  CHECK_INT(csf_crc32c_scalar(7, data, sizeof data), wanted);
  CHECK_INT(csf_crc32c(7, data, sizeof data), wanted);
  CHECK_INT(csf_crc32c(csf_crc32c(7, data, 12345), data + 12345, sizeof data - 12345), wanted);
}

static void nothing_behind_the_end_of_a_page_is_read(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages + 2 * page, page, PROT_NONE) == 0);
  memset(pages, 0x5a, 2 * page);
  for (size_t size = 0; size < 1000; size++) {
    CHECK_INT(csf_crc32c(0, pages + 2 * page - size, size), bit_by_bit(0, pages, size));
  }
  munmap(pages, 3 * page);
}

static const struct test_case tests[] = {
    TEST(published_check_values_come_out),
    TEST(every_variant_equals_the_definition),
    TEST(nothing_behind_the_end_of_a_page_is_read),
};
TEST_MAIN(tests)
