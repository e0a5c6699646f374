/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness. A test program lists its tests in one table and calls test_main. Each test runs with a counting heap: a leak
 * fails it. CHECK goes on after a failure, REQUIRE ends the test.
 */
#ifndef CSF_TEST_HARNESS_H
#define CSF_TEST_HARNESS_H

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"

struct test_case {
  const char *name; /* the property that it guards */
  void (*run)(void);
};

#define TEST(function) {#function, function}

/* Runs all (or those named on the command line), prints one line each and "N passed, N failed, N skipped"; the exit code. */
int test_main(int argc, char **argv, const struct test_case *tests, size_t n_tests);
#define TEST_MAIN(tests)                                                   \
  int main(int argc, char **argv) {                                        \
    return test_main(argc, argv, (tests), sizeof(tests) / sizeof(tests)[0]); \
  }

void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void test_abandon(void) __attribute__((noreturn));

/* Counts the test as skipped, with the reason in one line, and ends it. */
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) test_fail(__FILE__, __LINE__, "%s", #condition);     \
  } while (0)
#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      test_fail(__FILE__, __LINE__, "%s", #condition);                     \
      test_abandon();                                                      \
    }                                                                      \
  } while (0)
#define CHECK_INT(actual, expected)                                        \
  do {                                                                     \
    long long check_a = (long long)(actual), check_e = (long long)(expected); \
    if (check_a != check_e) test_fail(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, check_a, check_e); \
  } while (0)
#define CHECK_STRING(actual, expected)                                     \
  do {                                                                     \
    const char *check_a = (actual), *check_e = (expected);                 \
    if (strcmp(check_a, check_e) != 0) test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #actual, check_a, check_e); \
  } while (0)
#define CHECK_CONTAINS(text, part)                                         \
  do {                                                                     \
    const char *check_t = (text), *check_p = (part);                       \
    if (strstr(check_t, check_p) == NULL) test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", check_t, check_p); \
  } while (0)
/* A call that must succeed: prints the error's message and ends the test when it does not. Needs `struct colshuf_error err`. */
#define REQUIRE_OK(call)                                                   \
  do {                                                                     \
    enum colshuf_status require_status = (call);                           \
    if (require_status != COLSHUF_OK) {                                    \
      test_fail(__FILE__, __LINE__, "%s: %s: %s", #call, colshuf_status_name(require_status), err.message); \
      test_abandon();                                                      \
    }                                                                      \
  } while (0)
#define CHECK_STATUS(call, wanted)                                         \
  do {                                                                     \
    enum colshuf_status check_status = (call);                             \
    if (check_status != (wanted))                                          \
      test_fail(__FILE__, __LINE__, "%s gives %s (%s), not %s", #call, colshuf_status_name(check_status), err.message, \
                colshuf_status_name(wanted));                              \
  } while (0)

/* The heap of the running test: counts blocks and bytes, poisons, can be told to refuse. Thread-safe. */
extern const struct colshuf_allocator test_heap;
uint64_t test_heap_bytes(void);  /* bytes allocated now */
uint64_t test_heap_peak(void);   /* most bytes at a time since test_heap_reset_peak */
uint64_t test_heap_calls(void);  /* allocations and growths so far in this test */
void test_heap_reset_peak(void);
void test_heap_refuse_at(uint64_t nth); /* the nth allocation from now on fails, once; 0 = none */
bool test_heap_refused(void);           /* whether that has happened */

/*
 * Runs attempt(ctx) with the 1st, 2nd, … allocation refused until it runs through without reaching the refusal. attempt must return
 * COLSHUF_NO_MEMORY (or OK, when it can do without) and leave nothing behind: a leak fails the test. Returns the number of refusals.
 */
uint64_t test_oom_sweep(enum colshuf_status (*attempt)(void *ctx), void *ctx);

/* n, or a tenth of it (at least 1) where COLSHUF_QUICK is set: the number of random cases under a slow checker. */
int test_cases(int n);

/* The folder of reference data (COLSHUF_TEST_DATA, default ../shared), or skips the test with one line when path is not in it. */
const char *test_data(const char *path);
/* The whole file, in test_heap; REQUIREs that it can be read. Freed by csf_buffer_clear. */
struct csf_buffer test_read_file(const char *path);
/* A new empty directory for this test, removed with its content afterwards. */
const char *test_directory(void);
/* The bytes of "04 22 4d 18", spaces ignored. */
struct csf_buffer test_hex(const char *text);
/* A small deterministic random generator. */
struct test_random { uint64_t state; };
uint64_t test_random_next(struct test_random *random);
uint64_t test_random_below(struct test_random *random, uint64_t n);

#endif
