/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/utf8.h"

#include <sys/mman.h>
#include <unistd.h>

#include "arrow/scan.h"
#include "base/cpu.h"
#include "support/harness.h"

typedef enum csf_utf8 check_fn(const uint8_t *text, size_t size);

/* The variants of this machine. */
static size_t variants(check_fn *out[4]) {
  size_t n = 0;
  out[n++] = csf_utf8_check_scalar;
  out[n++] = csf_utf8_check;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) out[n++] = csf_utf8_check_avx2;
  if (csf_cpu()->avx512) out[n++] = csf_utf8_check_avx512;
#endif
  return n;
}

/* Unicode's definition, by way of the code point: nothing shared with the code under test. */
static bool is_character(const uint8_t *b, size_t size) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (size == 1) return b[0] < 0x80;
  uint32_t lead = size == 2 ? b[0] ^ 0xc0u : size == 3 ? b[0] ^ 0xe0u : b[0] ^ 0xf0u;
  if (lead >= 1u << (7 - size)) return false;
  uint32_t code = lead;
  for (size_t i = 1; i < size; i++) {
    if (b[i] >> 6 != 2) return false;
    code = code << 6 | (b[i] & 0x3f);
  }
  return code >= least[size] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static enum csf_utf8 oracle(const uint8_t *text, size_t size) {
  enum csf_utf8 found = CSF_UTF8_ASCII;
  size_t i = 0;
  while (i < size) {
    size_t n = 1;
    while (n <= 4 && n <= size - i && !is_character(text + i, n)) n++;
    if (n > 4 || n > size - i) return CSF_UTF8_BROKEN;
    if (n > 1) found = CSF_UTF8_WIDE;
    i += n;
  }
  return found;
}

static void check_all(const uint8_t *text, size_t size, enum csf_utf8 wanted) {
  check_fn *checks[4];
  size_t n = variants(checks);
  for (size_t i = 0; i < n; i++) {
    if (checks[i](text, size) != wanted) test_fail(__FILE__, __LINE__, "variant %zu says %d, not %d", i, checks[i](text, size), wanted);
  }
  CHECK(csf_utf8_valid(text, size) == (wanted != CSF_UTF8_BROKEN));
}

/* Every byte that some rule draws a line at, and its neighbours. */
static const uint8_t edges[] = {0x00, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xa1, 0xbf, 0xc0, 0xc1, 0xc2, 0xc3, 0xdf,
                                0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xfb, 0xfc, 0xfe, 0xff};
enum { N_EDGES = sizeof edges };

/* At every distance from the end of a vector at which a sequence can straddle it. */
static void check_at_seams(const uint8_t *bytes, size_t n) {
  static const size_t starts[] = {0, 29, 30, 31, 62, 63, 127};
  enum csf_utf8 alone = oracle(bytes, n);
  uint8_t text[160];
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    memset(text, 'a', sizeof text);
    memcpy(text + starts[i], bytes, n);
    check_all(text, starts[i] + n, alone);
  }
  memset(text, 'a', sizeof text);
  memcpy(text + 61, bytes, n);
  check_all(text, sizeof text, alone);
}

static void every_pair_of_bytes_is_judged_as_unicode_says(void) {
  for (unsigned a = 0; a < 256; a++) {
    uint8_t one[1] = {(uint8_t)a};
    check_at_seams(one, 1);
    for (unsigned b = 0; b < 256; b++) {
      uint8_t two[2] = {(uint8_t)a, (uint8_t)b};
      check_at_seams(two, 2);
    }
  }
}

static void every_three_bytes_at_the_boundaries_are_judged_as_unicode_says(void) {
  for (unsigned i = 0; i < N_EDGES * N_EDGES * N_EDGES; i++) {
    uint8_t three[3] = {edges[i % N_EDGES], edges[i / N_EDGES % N_EDGES], edges[i / N_EDGES / N_EDGES]};
    check_at_seams(three, 3);
  }
}

static void every_four_bytes_at_the_boundaries_are_judged_as_unicode_says(void) {
  uint8_t text[64];
  memset(text, 'a', sizeof text);
  for (unsigned i = 0; i < N_EDGES * N_EDGES * N_EDGES * N_EDGES; i++) {
    uint8_t *four = text + 30;
    four[0] = edges[i % N_EDGES];
    four[1] = edges[i / N_EDGES % N_EDGES];
    four[2] = edges[i / N_EDGES / N_EDGES % N_EDGES];
    four[3] = edges[i / N_EDGES / N_EDGES / N_EDGES];
    enum csf_utf8 wanted = oracle(four, 4);
    check_all(four, 4, wanted);
    check_all(text, 34, wanted);
    check_all(text, sizeof text, wanted);
  }
}

static void every_code_point_is_accepted_and_nothing_else_of_its_length(void) {
  uint8_t text[40];
  memset(text, 'z', sizeof text);
  for (uint32_t code = 0; code <= 0x110000; code++) {
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    uint32_t rest = code;
    for (size_t i = n; i-- > 1; rest >>= 6) text[30 + i] = (uint8_t)(0x80 | (rest & 0x3f));
    text[30] = (uint8_t)(leads[n] | rest);
    bool wanted = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    if (csf_utf8_valid(text, 30 + n) != wanted || (csf_utf8_check_scalar(text, 30 + n) != CSF_UTF8_BROKEN) != wanted) {
      test_fail(__FILE__, __LINE__, "code point %x", code);
    }
  }
}

/* Random text, mostly well-formed: pieces of ASCII and characters of every length; sometimes one byte is then broken. */
static void make_text(struct test_random *random, uint8_t *text, size_t size) {
  size_t i = 0;
  while (i < size) {
    uint64_t kind = test_random_below(random, 8);
    uint32_t code = (uint32_t)test_random_below(random, kind < 4 ? 0x80 : kind < 5 ? 0x800 : kind < 7 ? 0xd800 : 0x110000);
    if (kind < 4) {
      size_t run = test_random_below(random, 70);
      while (run-- > 0 && i < size) text[i++] = (uint8_t)(code ^ (run & 1));
      continue;
    }
    uint8_t b[4] = {(uint8_t)(0xf0 | code >> 18), (uint8_t)(0x80 | (code >> 12 & 0x3f)), (uint8_t)(0x80 | (code >> 6 & 0x3f)),
                    (uint8_t)(0x80 | (code & 0x3f))};
    for (int j = 0; j < 4 && i < size; j++) text[i++] = b[j];
  }
  if (size > 0 && test_random_below(random, 3) == 0) text[test_random_below(random, size)] = (uint8_t)test_random_next(random);
}

static void every_variant_agrees_on_random_texts_that_end_at_a_page(void) {
  struct test_random random = {7};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
  for (int round = 0; round < 40; round++) {
    for (size_t size = 0; size <= 300; size++) {
      uint8_t *text = pages + page - size;
      make_text(&random, text, size);
      check_all(text, size, oracle(text, size));
    }
  }
  munmap(pages, 2 * page);
}

static void a_sequence_cut_anywhere_is_refused(void) {
  static const char *const whole[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  uint8_t text[300];
  for (size_t w = 0; w < 3; w++) {
    for (size_t start = 0; start < 280; start++) {
      memset(text, 'a', sizeof text);
      size_t n = strlen(whole[w]);
      memcpy(text + start, whole[w], n);
      check_all(text, start + n, CSF_UTF8_WIDE);
      for (size_t cut = 1; cut < n; cut++) check_all(text, start + cut, CSF_UTF8_BROKEN);
      text[start] = 'a';
      check_all(text, sizeof text, CSF_UTF8_BROKEN);
    }
  }
}

static void no_text_at_all_is_ascii(void) {
  check_all(NULL, 0, CSF_UTF8_ASCII);
}

/* Those that this machine runs; the first is scalar. */
static size_t scans(const struct csf_scan *out[3]) {
  size_t n = 0;
  out[n++] = &csf_scan_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) out[n++] = &csf_scan_avx2;
  if (csf_cpu()->avx512) out[n++] = &csf_scan_avx512;
#endif
  return n;
}

static void check_scan(const struct csf_scan *scan, const uint8_t *at, int64_t n, uint64_t limit) {
  const struct csf_scan *plain = &csf_scan_scalar;
  if (n > 0) {
    CHECK(scan->below8(at, n, limit) == plain->below8(at, n, limit));
    if (n >= 8) {
      CHECK(scan->below16(at, n / 2, limit) == plain->below16(at, n / 2, limit));
      CHECK(scan->below32(at, n / 4, limit) == plain->below32(at, n / 4, limit));
      CHECK(scan->below64(at, n / 8, limit) == plain->below64(at, n / 8, limit));
      CHECK(scan->rises32(at, n / 4 - 1) == plain->rises32(at, n / 4 - 1));
      CHECK(scan->rises64(at, n / 8 - 1) == plain->rises64(at, n / 8 - 1));
    }
  }
}

static void integer_scans_agree_at_every_length_up_to_a_page_end(void) {
  struct test_random random = {9};
  const struct csf_scan *all[3];
  size_t n_scans = scans(all);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
  for (int64_t n = 1; n <= 2056; n++) {
    uint8_t *at = pages + page - n;
    for (int64_t i = 0; i < n; i++) at[i] = (uint8_t)test_random_below(&random, 100);
    for (int64_t i = 3; i < n && n % 3 == 0; i += 4) at[i] = 0;
    static const uint64_t limits[] = {1, 100, 101, 255, 256, 65535, 65536, 1677721599, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
      for (size_t j = 0; j < n_scans; j++) check_scan(all[j], at, n, limits[i]);
    }
  }
  munmap(pages, 2 * page);
}

static void a_single_fall_is_found_wherever_it_is(void) {
  const struct csf_scan *all[3];
  size_t n_scans = scans(all);
  int32_t narrow[101];
  int64_t wide[101];
  for (int n = 0; n <= 100; n++) {
    for (int bad = 0; bad <= n; bad++) {
      for (int i = 0; i <= n; i++) wide[i] = narrow[i] = 1000 + 3 * i;
      for (size_t j = 0; j < n_scans; j++) CHECK(all[j]->rises32(narrow, n) && all[j]->rises64(wide, n));
      static const int64_t values[] = {-1, INT32_MIN, 0};
      for (int v = 0; v < 3; v++) {
        narrow[bad] = (int32_t)values[v];
        wide[bad] = v == 1 ? INT64_MIN : values[v];
        bool rises = v == 2 && bad == 0;
        for (size_t j = 0; j < n_scans; j++) CHECK(all[j]->rises32(narrow, n) == rises && all[j]->rises64(wide, n) == rises);
      }
    }
  }
}

static const struct test_case tests[] = {
    TEST(every_pair_of_bytes_is_judged_as_unicode_says),
    TEST(every_three_bytes_at_the_boundaries_are_judged_as_unicode_says),
    TEST(every_four_bytes_at_the_boundaries_are_judged_as_unicode_says),
    TEST(every_code_point_is_accepted_and_nothing_else_of_its_length),
    TEST(every_variant_agrees_on_random_texts_that_end_at_a_page),
    TEST(a_sequence_cut_anywhere_is_refused),
    TEST(no_text_at_all_is_ascii),
    TEST(integer_scans_agree_at_every_length_up_to_a_page_end),
    TEST(a_single_fall_is_found_wherever_it_is),
};
TEST_MAIN(tests)
