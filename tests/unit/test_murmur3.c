/* SPDX-License-Identifier: Apache-2.0 */
/* The hash primitives and each variant of the kernels. */
#include "base/cpu.h"
#include "partition/murmur3.h"
#include "support/harness.h"

#include <sys/mman.h>
#include <unistd.h>

/* What this machine can run and COLSHUF_DISABLE_CPU leaves. */
static const struct csf_murmur3 *variants[4];
static size_t n_variants;

static void list_variants(void) {
  n_variants = 0;
  variants[n_variants++] = &csf_murmur3_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) variants[n_variants++] = &csf_murmur3_avx2;
  if (csf_cpu()->avx512) variants[n_variants++] = &csf_murmur3_avx512;
#elif defined(__aarch64__)
  if (csf_cpu()->neon) variants[n_variants++] = &csf_murmur3_neon;
#endif
}

static void the_best_variant_left_is_chosen(void) {
  list_variants();
  CHECK_STRING(csf_murmur3_get()->name, variants[n_variants - 1]->name);
}

/* Memory that ends where a page ends that cannot be touched: what is read beyond the end is a crash. */
struct page_end {
  uint8_t *map;
  size_t map_size;
  uint8_t *end;
};

static struct page_end page_end_new(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = (size + page - 1) / page * page;
  uint8_t *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(map != MAP_FAILED);
  REQUIRE(mprotect(map + room, page, PROT_NONE) == 0);
  return (struct page_end){map, room + page, map + room};
}

static void page_end_free(struct page_end *memory) {
  munmap(memory->map, memory->map_size);
}

enum { MAX_ROWS = 257, N_KERNELS = 7 };

/* Inputs of one comparison; values and validity stand at the end of a page, less `shift` bytes. */
struct trial {
  const uint8_t *values;
  struct csf_rows rows;
  uint32_t before[MAX_ROWS];
  bool in_place; /* the seeds are the hashes' own storage */
};

static void run_kernel(const struct csf_murmur3 *kernels, int kernel, const struct trial *trial, uint32_t *h) {
  const uint32_t *seeds = trial->before;
  memset(h, 0x55, sizeof trial->before);
  if (trial->in_place) seeds = memcpy(h, trial->before, sizeof trial->before);
  switch (kernel) {
    case 0:
      kernels->ints(trial->values, &trial->rows, seeds, h);
      return;
    case 1:
      kernels->longs(trial->values, &trial->rows, seeds, h);
      return;
    case 2:
      kernels->floats(trial->values, &trial->rows, true, seeds, h);
      return;
    case 3:
      kernels->floats(trial->values, &trial->rows, false, seeds, h);
      return;
    case 4:
      kernels->doubles(trial->values, &trial->rows, true, seeds, h);
      return;
    case 5:
      kernels->decimals(trial->values, &trial->rows, seeds, h);
      return;
    default:
      kernels->doubles(trial->values, &trial->rows, false, seeds, h);
      return;
  }
}

static size_t kernel_width(int kernel) {
  return kernel == 0 || kernel == 2 || kernel == 3 ? 4 : kernel == 5 ? 16 : 8;
}

/* Floats that take every path: zeros, infinities, NaNs of both signs, and anything. */
static uint64_t odd_value(struct test_random *random, size_t width) {
  static const uint32_t floats[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 1};
  uint64_t any = test_random_next(random);
  if (any % 2 == 0) return any >> 1;
  uint64_t bits = floats[(any >> 8) % 9];
  if (width == 4) return bits;
  return (bits & 0x80000000) << 32 | (bits & 0x7f800000) << 29 | ((bits & 0x7f800000) == 0x7f800000 ? UINT64_C(0x7) << 52 : 0) |
         (bits & 0x7fffff ? any >> 40 | 1 : 0);
}

/* pattern: 0 no bitmap, 1 all valid, 2 all null, 3 tenth null, 4 half null. */
static void fill_validity(struct test_random *random, uint8_t *bits, size_t size, int pattern) {
  for (size_t i = 0; i < size * 8; i++) {
    bool valid = pattern == 1 || (pattern == 3 && test_random_below(random, 10) > 0) ||
                 (pattern == 4 && test_random_below(random, 2) > 0);
    csf_bits_fill(bits, (int64_t)i, 1, valid);
  }
}

static void compare_variants(int kernel, const struct trial *trial) {
  uint32_t wanted[MAX_ROWS], h[MAX_ROWS];
  run_kernel(&csf_murmur3_scalar, kernel, trial, wanted);
  for (size_t v = 1; v < n_variants; v++) {
    run_kernel(variants[v], kernel, trial, h);
    if (memcmp(h, wanted, sizeof wanted) == 0) continue;
    test_fail(__FILE__, __LINE__, "%s, kernel %d, %zu rows, bit %d", variants[v]->name, kernel, trial->rows.n,
              (int)trial->rows.bit);
    test_abandon();
  }
}

static void variants_equal_scalar_for_fixed_widths(void) {
  list_variants();
  struct test_random random = {17};
  struct page_end values = page_end_new(MAX_ROWS * 16 + 64), validity = page_end_new(MAX_ROWS / 8 + 8);
  struct trial trial;
  for (size_t i = 0; i < MAX_ROWS; i++) trial.before[i] = (uint32_t)test_random_next(&random);
  for (size_t n = 0; n <= MAX_ROWS; n++) {
    for (int kernel = 0; kernel < N_KERNELS; kernel++) {
      int pattern = (int)((n + (size_t)kernel) % 5);
      size_t width = kernel_width(kernel), shift = test_random_below(&random, 2) ? 0 : test_random_below(&random, 64);
      int64_t bit = (int64_t)test_random_below(&random, 8);
      size_t bitmap = (size_t)csf_bit_bytes(bit + (int64_t)n);
      trial.values = values.end - n * width - shift;
      for (size_t i = 0; i < n; i++) {
        uint64_t value = odd_value(&random, width);
        memcpy(values.end - n * width - shift + i * width, &value, width < 8 ? width : 8);
      }
      fill_validity(&random, validity.end - bitmap, bitmap, pattern);
      trial.rows = (struct csf_rows){pattern == 0 ? NULL : validity.end - bitmap, bit, n};
      for (int in_place = 0; in_place < 2; in_place++) {
        trial.in_place = in_place != 0;
        compare_variants(kernel, &trial);
      }
    }
  }
  page_end_free(&values);
  page_end_free(&validity);
}

/* Strings whose bytes end with the page; lengths around each change of path, with gaps between them at times. */
static void compare_strings(struct test_random *random, struct page_end *memory, size_t n, uint32_t longest, int pattern,
                            uint8_t *bits) {
  uint32_t begin[MAX_ROWS], stop[MAX_ROWS], wanted[MAX_ROWS], h[MAX_ROWS], before[MAX_ROWS], total = 0;
  for (size_t i = 0; i < n; i++) {
    begin[i] = total + (uint32_t)(test_random_below(random, 4) == 0);
    stop[i] = total = begin[i] + (uint32_t)test_random_below(random, longest + 1);
    before[i] = (uint32_t)test_random_next(random);
  }
  uint8_t *data = memory->end - total;
  for (uint32_t i = 0; i < total; i++) data[i] = (uint8_t)test_random_next(random);
  struct csf_strings strings = {data, total, (const uint8_t *)begin, (const uint8_t *)stop};
  int64_t bit = (int64_t)test_random_below(random, 8);
  fill_validity(random, bits, MAX_ROWS / 8 + 2, pattern);
  struct csf_rows rows = {pattern == 0 ? NULL : bits, bit, n};
  csf_murmur3_scalar.strings(&strings, &rows, before, wanted);
  for (size_t v = 1; v < n_variants; v++) {
    memset(h, 0x55, sizeof h);
    variants[v]->strings(&strings, &rows, before, h);
    if (memcmp(h, wanted, n * sizeof *h) != 0)
      test_fail(__FILE__, __LINE__, "%s, %zu strings of up to %u", variants[v]->name, n, longest);
  }
}

static void variants_equal_scalar_for_strings(void) {
  list_variants();
  struct test_random random = {19};
  struct page_end memory = page_end_new(MAX_ROWS * 202);
  uint8_t bits[MAX_ROWS / 8 + 2];
  static const uint32_t longest[] = {0, 1, 3, 4, 5, 7, 16, 24, 49, 64, 65, 200};
  for (size_t n = 0; n <= MAX_ROWS; n += n < 70 ? 1 : 17) {
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
      compare_strings(&random, &memory, n, longest[i], (int)((n + i) % 5), bits);
    }
  }
  page_end_free(&memory);
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

static void ids_out_of_range_are_seen_at_every_place(void) {
  list_variants();
  static const int32_t bad[] = {200, -1, INT32_MIN, INT32_MAX};
  int32_t ids[MAX_ROWS];
  for (size_t v = 0; v < n_variants; v++) {
    for (size_t n = 0; n <= MAX_ROWS; n++) {
      for (size_t i = 0; i < n; i++) ids[i] = (int32_t)(i % 200);
      CHECK(variants[v]->in_range(ids, n, 200));
      CHECK(variants[v]->in_range(ids, n, INT32_MAX));
      for (size_t i = 0; i < n; i += 3) {
        ids[i] = bad[i % 4];
        CHECK(!variants[v]->in_range(ids, n, 200));
        ids[i] = 0;
      }
    }
  }
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

static void the_remainder_is_exact_at_every_length(void) {
  list_variants();
  struct test_random random = {23};
  struct csf_divisor by = csf_divisor_of(200);
  uint32_t h[MAX_ROWS + 1], before[MAX_ROWS + 1];
  for (size_t n = 0; n <= MAX_ROWS; n++) {
    for (size_t i = 0; i <= MAX_ROWS; i++) before[i] = (uint32_t)test_random_next(&random);
    for (size_t v = 0; v < n_variants; v++) {
      memcpy(h, before, sizeof h);
      variants[v]->pmod(h, n, &by);
      for (size_t i = 0; i < n; i++) CHECK_INT(h[i], floored((int32_t)before[i], 200));
      CHECK(memcmp(h + n, before + n, (MAX_ROWS + 1 - n) * sizeof *h) == 0);
    }
  }
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
    TEST(the_textbook_tail_is_not_used),          TEST(tail_bytes_are_sign_extended),
    TEST(the_best_variant_left_is_chosen),        TEST(variants_equal_scalar_for_fixed_widths),
    TEST(variants_equal_scalar_for_strings),      TEST(ids_out_of_range_are_seen_at_every_place),
    TEST(the_remainder_is_exact_at_every_length), TEST(the_remainder_is_exact_without_a_division),
};
TEST_MAIN(tests)
