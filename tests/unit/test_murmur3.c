/* SPDX-License-Identifier: Apache-2.0 */
/* The hash primitives and each variant of the kernels. */
#include "base/cpu.h"
#include "partition/murmur3.h"
#include "support/harness.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct csf_murmur3 *variants[4];
static size_t n_variants;

/* All that this machine can run, whatever COLSHUF_DISABLE_CPU says about the choice. */
static void list_variants(void) {
  n_variants = 0;
  variants[n_variants++] = csf_murmur3_get();
}

static void the_textbook_tail_is_not_used(void) {
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"", 0, 42), 142593372);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"a", 1, 42), 1485273170);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"ab", 2, 42), -97053317);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"abc", 3, 42), 1322437556);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"abcd", 4, 42), -396302900);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"abcde", 5, 42), 814637928);
}

/* Whatever the compiler takes plain char for. */
static void tail_bytes_are_sign_extended(void) {
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"\xc3\xa9", 2, 42), 2119106806);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"\xc3\x9f", 2, 42), 165980698);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"\xff", 1, 42), 1398487324);
  CHECK_INT((int32_t)csf_hash_bytes((const uint8_t *)"\xff\xff\xff\xff\xff", 5, 42), 404268946);
}

static int32_t floored(int32_t h, int32_t n) {
  int64_t r = (int64_t)h % n;
  return (int32_t)(r < 0 ? r + n : r);
}

static void check_pmod(const struct csf_murmur3 *kernels, const int32_t *h, size_t n, int32_t by) {
  uint32_t ids[64];
  struct csf_divisor divisor = csf_divisor_of((uint32_t)by);
  memcpy(ids, h, n * sizeof *h);
  kernels->pmod(ids, n, &divisor);
  for (size_t i = 0; i < n; i++) {
    if (ids[i] != (uint32_t)floored(h[i], by)) {
      test_fail(__FILE__, __LINE__, "%s: pmod(%d, %d) is %u, not %d", kernels->name, h[i], by, ids[i], floored(h[i], by));
      return;
    }
  }
}

/* Around every multiple of the divisor near the ends, the middle and zero: where a wrong quotient would show. */
static size_t edge_hashes(struct test_random *random, int32_t by, int32_t *h) {
  const int64_t middles[] = {INT32_MIN, -1, 0, INT32_MAX, INT32_MIN / by * (int64_t)by, INT32_MAX / by * (int64_t)by};
  size_t n = 0;
  for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
    for (int64_t d = -2; d <= 2; d++) h[n++] = (int32_t)(uint32_t)(uint64_t)(middles[i] + d);
  }
  while (n < 64) h[n++] = (int32_t)(uint32_t)test_random_next(random);
  return n;
}

static void the_remainder_is_exact_without_a_division(void) {
  list_variants();
  struct test_random random = {7};
  int32_t h[64];
  for (size_t v = 0; v < n_variants; v++) {
    for (int32_t by = 1; by <= 3000; by++) check_pmod(variants[v], h, edge_hashes(&random, by, h), by);
    for (int shift = 0; shift < 31; shift++) {
      for (int64_t by = ((int64_t)1 << shift) - 2; by <= ((int64_t)1 << shift) + 2; by++) {
        if (by >= 1 && by <= INT32_MAX) check_pmod(variants[v], h, edge_hashes(&random, (int32_t)by, h), (int32_t)by);
      }
    }
    check_pmod(variants[v], h, edge_hashes(&random, INT32_MAX, h), INT32_MAX);
    for (int i = 0; i < test_cases(100000); i++) {
      int32_t by = (int32_t)(1 + test_random_below(&random, INT32_MAX));
      check_pmod(variants[v], h, edge_hashes(&random, by, h), by);
    }
  }
}

static const struct test_case tests[] = {
    TEST(the_textbook_tail_is_not_used),
    TEST(tail_bytes_are_sign_extended),
    TEST(the_remainder_is_exact_without_a_division),
};
TEST_MAIN(tests)
