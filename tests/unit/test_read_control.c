/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce side as it is steered and watched from outside: cancellation by another thread, and figures. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "support/reading.h"
#include "support/types.h"

static struct test_output output; /* large */
static struct test_written written;

/* A source that gives the same blocks for ever. */
struct endless {
  size_t at;
  int64_t pause_ns; /* before each read */
  bool once;        /* no: only once */
  int cancelled;
  int64_t n_reads;
};

static int64_t read_endless(void *ctx, void *buffer, size_t size) {
  struct endless *endless = ctx;
  const struct timespec pause = {0, endless->pause_ns};
  if (endless->pause_ns > 0) nanosleep(&pause, NULL);
  if (endless->at == output.data.size) {
    if (endless->once) return 0;
    endless->at = 0;
  }
  size_t n = output.data.size - endless->at;
  if (n > size) n = size;
  memcpy(buffer, output.data.data + endless->at, n);
  endless->at += n;
  __atomic_add_fetch(&endless->n_reads, 1, __ATOMIC_RELAXED);
  return (int64_t)n;
}

static void *cancel_soon(void *ctx) {
  struct endless *endless = ctx;
  while (__atomic_load_n(&endless->n_reads, __ATOMIC_RELAXED) < 5) {
    const struct timespec moment = {0, 100000};
    nanosleep(&moment, NULL);
  }
  __atomic_store_n(&endless->cancelled, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void another_thread_ends_the_reading_of_an_endless_source(void) {
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 3, 50);
  for (int threads = 0; threads < 3; threads++) {
    struct endless endless = {0};
    struct colshuf_error err;
    struct ArrowArrayStream stream;
    struct colshuf_source source = {.input = {.read = read_endless, .ctx = &endless}};
    struct colshuf_read_options options = {.allocator = test_heap, .threads = threads, .target_rows = 1000000, .cancelled = &endless.cancelled};
    REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
    pthread_t canceller;
    REQUIRE(pthread_create(&canceller, NULL, cancel_soon, &endless) == 0);
    int error = 0;
    for (struct ArrowArray batch; (error = stream.get_next(&stream, &batch)) == 0;) {
      REQUIRE(batch.release != NULL); /* it has no end */
      batch.release(&batch);
    }
    CHECK_INT(error, ECANCELED);
    CHECK_INT(colshuf_stream_status(&stream), COLSHUF_CANCELLED);
    pthread_join(canceller, NULL);
    stream.release(&stream);
  }
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void figures_tell_waiting_from_decoding_and_joining(void) {
  enum { PAUSE_NS = 20000000 };
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 20, 300);
  struct endless slow = {.once = true, .pause_ns = PAUSE_NS};
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct colshuf_read_metrics metrics = {0};
  struct colshuf_source source = {.input = {.read = read_endless, .ctx = &slow}};
  struct colshuf_read_options options = {.allocator = test_heap};
  REQUIRE_OK(colshuf_read(&source, 1, &options, &metrics, &stream, &err));
  REQUIRE(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
  CHECK_INT(batch.length, 6000);
  batch.release(&batch);
  stream.release(&stream);
  CHECK_INT(metrics.sources, 1);
  CHECK_INT(metrics.blocks, 20);
  CHECK_INT(metrics.rows, 6000);
  CHECK_INT(metrics.bytes, output.data.size);
  CHECK(metrics.fetch_ns >= PAUSE_NS); /* it did wait, and that is not put down to decoding */
  CHECK(metrics.decode_ns > 0 && metrics.coalesce_ns > 0);
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static void any_number_of_threads_may_be_wanted(void) {
  static struct test_reading reading;
  struct csf_schema *schema = test_schema("k: int32, s: utf8");
  test_write_plain(&output, &written, schema, 20, 30);
  struct colshuf_source source = {.bytes = output.data.data, .size = output.data.size};
  for (int any_order = 0; any_order < 2; any_order++) {
    struct colshuf_read_options options = {.threads = INT32_MAX, .any_order = any_order};
    test_read_all(&source, 1, &options, &reading);
    CHECK_STRING(reading.message, "");
    test_check_read(&reading, &written, 0, 20, NULL);
    test_reading_clear(&reading);
  }
  test_written_clear(&written);
  test_output_clear(&output);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(another_thread_ends_the_reading_of_an_endless_source),
    TEST(figures_tell_waiting_from_decoding_and_joining),
    TEST(any_number_of_threads_may_be_wanted),
};
TEST_MAIN(tests)
