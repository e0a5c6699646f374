/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers that are killed. A child writes over an output that exists, spilling on its way, and gets SIGKILL at any moment: then
 * the old output stands there, or none, or the new one, and what the child left is removed by cleaning.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/shuffle.h"

enum { KILLS = 200 };

static const struct colshuf_partitioner_options round_robin = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 20};
static const char *const endings[] = {".data", ".index", ".checksum.ADLER32"};
enum { N_FILES = 3 };

/* The bytes of all files of an output. */
struct outcome {
  struct csf_buffer files[N_FILES];
};

static const char *path_of(const char *ending) {
  static char path[600];
  snprintf(path, sizeof path, "%s/out%s", test_directory(), ending);
  return path;
}

static bool exists(const char *ending) {
  return access(path_of(ending), F_OK) == 0;
}

static struct outcome read_outcome(void) {
  struct outcome outcome;
  for (int i = 0; i < N_FILES; i++) outcome.files[i] = test_read_file(path_of(endings[i]));
  return outcome;
}

static void clear_outcome(struct outcome *outcome) {
  for (int i = 0; i < N_FILES; i++) csf_buffer_clear(&outcome->files[i]);
}

static bool same_outcome(const struct outcome *a, const struct outcome *b) {
  bool same = true;
  for (int i = 0; i < N_FILES; i++) {
    const struct csf_buffer *x = &a->files[i], *y = &b->files[i];
    same &= x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
  }
  return same;
}

static enum colshuf_status write_output(const struct test_input *input) {
  struct colshuf_error err;
  char output[600];
  snprintf(output, sizeof output, "%s/out", test_directory());
  struct colshuf_map_writer_options options = {.allocator = test_heap, .partitioner = round_robin, .memory_limit = 2 << 20,
                                               .output = output};
  return test_shuffle(input, &options, NULL, &err);
}

static int64_t elapsed_us(const struct timespec *since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - since->tv_sec) * 1000000 + (now.tv_nsec - since->tv_nsec) / 1000;
}

/* Lets a child write for delay_us and kills it. */
static void write_and_kill(const struct test_input *input, int64_t delay_us) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(write_output(input) == COLSHUF_OK ? 0 : 1);
  struct timespec delay = {delay_us / 1000000, delay_us % 1000000 * 1000};
  nanosleep(&delay, NULL);
  kill(child, SIGKILL);
  int status;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

static struct test_input open_input(uint64_t seed) {
  struct test_random random = {seed};
  struct test_input input;
  struct test_array_options arrays = {.rows = 12000};
  test_input_open(&input, test_schema("a: int64, b: utf8, c: decimal128(15, 2)"), &round_robin, &random, 30, &arrays);
  return input;
}

static void a_killed_writer_leaves_the_old_output_none_or_the_new(void) {
  struct test_input inputs[2] = {open_input(1), open_input(2)};
  struct outcome wanted[2];
  struct test_random random = {3};
  int64_t n_old = 0, n_none = 0, n_new = 0;
  struct timespec start;
  for (int i = 0; i < 2; i++) {
    clock_gettime(CLOCK_MONOTONIC, &start);
    REQUIRE(write_output(&inputs[i]) == COLSHUF_OK);
    wanted[i] = read_outcome();
  }
  int64_t usual_us = elapsed_us(&start);
  CHECK(!same_outcome(&wanted[0], &wanted[1]));
  for (int kill_at = 0; kill_at < KILLS; kill_at++) {
    int now = kill_at % 2, before = 1 - now;
    struct colshuf_error err;

    if (!exists(".index")) REQUIRE(write_output(&inputs[before]) == COLSHUF_OK);
    struct outcome old = read_outcome();
    /* Half of the kills come near the end, where files change places. */
    int64_t from = kill_at % 4 < 2 ? 0 : usual_us * 9 / 10, span = kill_at % 4 < 2 ? usual_us : usual_us / 4;
    write_and_kill(&inputs[now], from + (int64_t)test_random_below(&random, (uint64_t)span));
    if (!exists(".index")) {
      n_none++;
    } else {
      struct outcome found = read_outcome();
      bool is_new = same_outcome(&found, &wanted[now]), is_old = same_outcome(&found, &old);
      CHECK(is_new || is_old);
      n_new += is_new;
      n_old += is_old && !is_new;
      clear_outcome(&found);
    }
    clear_outcome(&old);
    uint64_t removed;
    REQUIRE_OK(colshuf_clean(test_directory(), &removed, &err));
    CHECK_INT(test_count_files(test_directory(), "colshuf-tmp"), 0);
  }
  printf("  %d kills: %" PRId64 " times the old output, %" PRId64 " none, %" PRId64 " the new one\n", KILLS, n_old, n_none, n_new);
  CHECK(n_old > 0);
  CHECK(n_old + n_none + n_new == KILLS);
  for (int i = 0; i < 2; i++) {
    clear_outcome(&wanted[i]);
    test_input_close(&inputs[i]);
  }
}

static const struct test_case tests[] = {
    TEST(a_killed_writer_leaves_the_old_output_none_or_the_new),
};
TEST_MAIN(tests)
