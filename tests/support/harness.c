/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ftw.h>

static jmp_buf escape;
static const char *current_name;
static int failures;      /* of the running test */
static bool skipped;
static char directory[64]; /* of the running test; "" = none yet */

void test_fail(const char *file, int line, const char *format, ...) {
  failures++;
  if (failures > 20) return;
  printf("  %s:%d: in %s: ", file, line, current_name);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
}

void test_abandon(void) {
  longjmp(escape, 1);
}

void test_skip(const char *format, ...) {
  skipped = true;
  printf("  skip %s: ", current_name);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  longjmp(escape, 1);
}

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t heap_bytes, heap_blocks, heap_peak, heap_calls, heap_refuse;
static bool heap_refused;
static uint64_t n_refusals; /* of all tests */

static bool refuse_now(void) {
  heap_calls++;
  if (heap_refuse == 0 || --heap_refuse != 0) return false;
  heap_refused = true;
  n_refusals++;
  return true;
}

static void *heap_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  (void)ctx;
  pthread_mutex_lock(&heap_lock);
  void *result = NULL;
  if (new_size == 0) {
    if (pointer != NULL) {
      memset(pointer, 0xdd, old_size);
      free(pointer);
      heap_blocks--;
      heap_bytes -= old_size;
    }
  } else if (!refuse_now()) {
    /* Always a new block: whoever keeps a pointer into the old one is found out. */
    result = malloc(new_size);
    memset(result, 0xcd, new_size);
    if (pointer != NULL) {
      memcpy(result, pointer, old_size < new_size ? old_size : new_size);
      memset(pointer, 0xdd, old_size);
      free(pointer);
      heap_blocks--;
      heap_bytes -= old_size;
    }
    heap_blocks++;
    heap_bytes += new_size;
    if (heap_bytes > heap_peak) heap_peak = heap_bytes;
  }
  pthread_mutex_unlock(&heap_lock);
  return result;
}

const struct colshuf_allocator test_heap = {.resize = heap_resize};

uint64_t test_heap_bytes(void) {
  return heap_bytes;
}
uint64_t test_heap_peak(void) {
  return heap_peak;
}
uint64_t test_heap_calls(void) {
  return heap_calls;
}
void test_heap_reset_peak(void) {
  heap_peak = heap_bytes;
}
void test_heap_refuse_at(uint64_t nth) {
  heap_refuse = nth;
  heap_refused = false;
}
bool test_heap_refused(void) {
  return heap_refused;
}

uint64_t test_oom_sweep(enum colshuf_status (*attempt)(void *ctx), void *ctx) {
  for (uint64_t nth = 1; nth < 1000000; nth++) {
    uint64_t bytes = heap_bytes;
    test_heap_refuse_at(nth);
    enum colshuf_status status = attempt(ctx);
    bool reached = heap_refused;
    test_heap_refuse_at(0);
    if (heap_bytes != bytes) {
      test_fail(__FILE__, __LINE__, "refusal %" PRIu64 " leaked %" PRIu64 " bytes", nth, heap_bytes - bytes);
      return nth;
    }
    if (!reached) {
      if (status != COLSHUF_OK) test_fail(__FILE__, __LINE__, "without a refusal: %s", colshuf_status_name(status));
      return nth - 1;
    }
    if (status != COLSHUF_OK && status != COLSHUF_NO_MEMORY) {
      test_fail(__FILE__, __LINE__, "refusal %" PRIu64 " gives %s", nth, colshuf_status_name(status));
    }
  }
  return 0;
}

int test_cases(int n) {
  const char *quick = getenv("COLSHUF_QUICK");
  return quick == NULL || *quick == '\0' || n < 10 ? n : n / 10;
}

const char *test_data(const char *path) {
  static char full[4096];
  const char *root = getenv("COLSHUF_TEST_DATA");
  snprintf(full, sizeof full, "%s/%s", root != NULL && *root != '\0' ? root : "../shared", path);
  if (access(full, R_OK) != 0) test_skip("no %s (set COLSHUF_TEST_DATA to the folder of reference data)", full);
  return full;
}

struct csf_buffer test_read_file(const char *path) {
  struct csf_buffer buffer;
  csf_buffer_init(&buffer, &test_heap);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    test_fail(__FILE__, __LINE__, "cannot open %s", path);
    test_abandon();
  }
  uint8_t chunk[65536];
  size_t n;
  while ((n = fread(chunk, 1, sizeof chunk, file)) > 0) {
    if (csf_buffer_append(&buffer, chunk, n, NULL) != COLSHUF_OK) abort();
  }
  fclose(file);
  return buffer;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

const char *test_directory(void) {
  if (directory[0] == '\0') {
    snprintf(directory, sizeof directory, "/tmp/colshuf-test-XXXXXX");
    if (mkdtemp(directory) == NULL) {
      test_fail(__FILE__, __LINE__, "mkdtemp failed");
      test_abandon();
    }
  }
  return directory;
}

struct csf_buffer test_hex(const char *text) {
  struct csf_buffer buffer;
  csf_buffer_init(&buffer, &test_heap);
  int high = -1;
  for (; *text != '\0'; text++) {
    const char *digits = "0123456789abcdef";
    const char *found = strchr(digits, *text | 0x20);
    if (*text == ' ' || found == NULL) continue;
    int digit = (int)(found - digits);
    if (high < 0) {
      high = digit;
    } else {
      uint8_t byte = (uint8_t)(high * 16 + digit);
      if (csf_buffer_append(&buffer, &byte, 1, NULL) != COLSHUF_OK) abort();
      high = -1;
    }
  }
  return buffer;
}

/* splitmix64 */
uint64_t test_random_next(struct test_random *random) {
  uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t test_random_below(struct test_random *random, uint64_t n) {
  return n == 0 ? 0 : test_random_next(random) % n;
}

static void run_one(const struct test_case *test, int counts[3]) {
  current_name = test->name;
  failures = 0;
  skipped = false;
  directory[0] = '\0';
  heap_calls = 0;
  test_heap_refuse_at(0);
  uint64_t blocks = heap_blocks;
  bool finished = setjmp(escape) == 0;
  if (finished) test->run();
  if (finished && failures == 0 && heap_blocks != blocks) {
    test_fail(__FILE__, __LINE__, "%" PRIu64 " blocks leaked", heap_blocks - blocks);
  }
  if (directory[0] != '\0') nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  counts[skipped ? 2 : failures > 0]++;
  if (!skipped) printf("%s %s\n", failures > 0 ? "FAIL" : "ok  ", test->name);
  fflush(stdout);
}

int test_main(int argc, char **argv, const struct test_case *tests, size_t n_tests) {
  int counts[3] = {0, 0, 0}; /* passed, failed, skipped */
  for (size_t i = 0; i < n_tests; i++) {
    bool wanted = argc < 2;
    for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], tests[i].name) == 0;
    if (wanted) run_one(&tests[i], counts);
  }
  if (n_refusals > 0) printf("%" PRIu64 " allocations refused\n", n_refusals);
  printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
  if (counts[1] > 0) return 1;
  return counts[0] == 0 && counts[2] > 0 ? 77 : 0;
}
