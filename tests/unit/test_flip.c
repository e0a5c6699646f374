/* SPDX-License-Identifier: Apache-2.0 */
/* Where one flipped bit explains a checksum that differs. */
#include <stdlib.h>

#include "file/checksum.h"
#include "file/flip.h"
#include "support/harness.h"
#include "support/random.h"

enum { LARGEST = 200000, ADLER_MODULUS = 65521 };

static uint8_t *random_bytes(struct test_random *random, size_t size) {
  uint8_t *bytes = malloc(size + 1);
  REQUIRE(bytes != NULL);
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)test_random_below(random, 256);
  return bytes;
}

static uint32_t checksum_of(enum colshuf_checksum algorithm, const uint8_t *bytes, size_t size) {
  return csf_checksum_update(algorithm, csf_checksum_start(algorithm), bytes, size);
}

static struct csf_flips flips_after(enum colshuf_checksum algorithm, uint8_t *bytes, size_t size, uint64_t bit,
                                    uint64_t other) {
  uint32_t wanted = checksum_of(algorithm, bytes, size);
  bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  if (other != bit) bytes[other / 8] ^= (uint8_t)(1u << other % 8);
  return csf_flips_find(algorithm, checksum_of(algorithm, bytes, size), wanted, size);
}

static void a_flipped_bit_is_found_at_its_place(void) {
  struct test_random random = {41};
  static const size_t sizes[] = {1,      2, 20, 1000, ADLER_MODULUS - 1, ADLER_MODULUS, ADLER_MODULUS + 1, 2 * ADLER_MODULUS,
                                 LARGEST};
  for (int algorithm = 0; algorithm < 3; algorithm++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 20; i++) {
      size_t size = sizes[i / 20];
      uint8_t *bytes = random_bytes(&random, size);
      uint64_t bit = i % 20 == 0 ? 0 : i % 20 == 1 ? 8 * size - 1 : test_random_below(&random, 8 * size);
      struct csf_flips flips = flips_after((enum colshuf_checksum)algorithm, bytes, size, bit, bit);
      CHECK_INT(flips.bit, bit % 8);
      if (algorithm == COLSHUF_CHECKSUM_ADLER32) {
        CHECK_INT(flips.stride, ADLER_MODULUS);
        CHECK_INT(flips.byte, bit / 8 % ADLER_MODULUS);
        CHECK_INT(flips.n, (size - flips.byte + ADLER_MODULUS - 1) / ADLER_MODULUS);
        CHECK_INT(flips.value, bytes[bit / 8] >> bit % 8 & 1);
      } else {
        CHECK_INT(flips.n, 1);
        CHECK_INT(flips.byte, bit / 8);
        CHECK_INT(flips.value, -1);
      }
      free(bytes);
    }
  }
}

/* Two bits are never one for the CRCs (at such sizes), and seldom for Adler-32. */
static void two_flipped_bits_are_not_taken_for_one(void) {
  struct test_random random = {42};
  for (int algorithm = 0; algorithm < 3; algorithm++) {
    int taken = 0;
    for (int i = 0; i < 300; i++) {
      size_t size = 2 + test_random_below(&random, 3000);
      uint8_t *bytes = random_bytes(&random, size);
      uint64_t bit = test_random_below(&random, 8 * size),
               other = (bit + 1 + test_random_below(&random, 8 * size - 1)) % (8 * size);
      taken += flips_after((enum colshuf_checksum)algorithm, bytes, size, bit, other).n > 0;
      free(bytes);
    }
    CHECK(algorithm == COLSHUF_CHECKSUM_ADLER32 ? taken < 40 : taken == 0);
  }
}

static void no_bytes_have_no_flipped_bit(void) {
  for (int algorithm = 0; algorithm < 4; algorithm++) {
    CHECK_INT(csf_flips_find((enum colshuf_checksum)algorithm, 1, 2, 0).n, 0);
    CHECK_INT(csf_flips_find((enum colshuf_checksum)algorithm, 0x12345678, 0x87654321,
                             algorithm == COLSHUF_CHECKSUM_ADLER32 ? 5000 : 5)
                  .n,
              0);
  }
}

static const struct test_case tests[] = {
    TEST(a_flipped_bit_is_found_at_its_place),
    TEST(two_flipped_bits_are_not_taken_for_one),
    TEST(no_bytes_have_no_flipped_bit),
};

TEST_MAIN(tests)
