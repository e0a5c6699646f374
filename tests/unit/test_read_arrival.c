/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sources side by side: every row once, those of a source in their order, and nobody waits for a source that is slow. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "support/reading.h"
#include "support/types.h"

enum { N_SOURCES = 9, BLOCKS = 12, ROWS = 7 };

static struct test_output outputs[N_SOURCES]; /* large */

static void release_nothing(struct ArrowArray *array) {
  array->release = NULL;
}

/* Row i of source s is (s, i). */
static void write_numbered(struct test_output *output, int32_t source) {
  struct csf_schema *schema = test_schema("source: int32, place: int32");
  int32_t sources[ROWS], places[ROWS];
  const void *source_buffers[] = {NULL, sources}, *place_buffers[] = {NULL, places}, *none[] = {NULL};
  struct ArrowArray columns[] = {{.length = ROWS, .n_buffers = 2, .buffers = source_buffers, .release = release_nothing},
                                 {.length = ROWS, .n_buffers = 2, .buffers = place_buffers, .release = release_nothing}};
  struct ArrowArray *children[] = {&columns[0], &columns[1]};
  struct ArrowArray batch = {.length = ROWS, .n_buffers = 1, .buffers = none, .n_children = 2, .children = children, .release = release_nothing};
  test_output_init(output);
  for (int32_t b = 0; b < BLOCKS; b++) {
    for (int32_t i = 0; i < ROWS; i++) {
      sources[i] = source;
      places[i] = b * ROWS + i;
    }
    test_output_add(output, &schema->root, &batch, 0, ROWS, (enum colshuf_codec)(b % 4));
  }
  test_output_end_partition(output);
  csf_schema_release(schema);
}

static void write_outputs(void) {
  for (int32_t s = 0; s < N_SOURCES; s++) write_numbered(&outputs[s], s);
}
static void clear_outputs(void) {
  for (int32_t s = 0; s < N_SOURCES; s++) test_output_clear(&outputs[s]);
}

/* How many rows of each source have come, checked for their order. */
struct tally {
  int32_t n[N_SOURCES];
};

static void count_batch(struct tally *tally, const struct ArrowArray *batch) {
  const int32_t *sources = batch->children[0]->buffers[1], *places = batch->children[1]->buffers[1];
  for (int64_t i = 0; i < batch->length; i++) {
    REQUIRE(sources[i] >= 0 && sources[i] < N_SOURCES);
    CHECK_INT(places[i], tally->n[sources[i]]);
    tally->n[sources[i]]++;
  }
}

/* Reads to the end; the error number of the last call. */
static int drain(struct ArrowArrayStream *stream, struct tally *tally) {
  struct ArrowArray batch;
  for (;;) {
    int error = stream->get_next(stream, &batch);
    if (error != 0 || batch.release == NULL) return error;
    count_batch(tally, &batch);
    batch.release(&batch);
  }
}

static void every_row_comes_once_and_each_source_in_its_order(void) {
  static struct test_drip drips[N_SOURCES];
  static const int64_t targets[] = {1, 10, 50, 0};
  write_outputs();
  for (int round = 0; round < test_cases(60); round++) {
    struct colshuf_source sources[N_SOURCES];
    for (int s = 0; s < N_SOURCES; s++) {
      char name[20];
      snprintf(name, sizeof name, "out%d", s);
      drips[s] = (struct test_drip){.data = outputs[s].data.data, .size = outputs[s].data.size, .step = 1 + (size_t)(round * 37 % 500)};
      if (s % 3 == 0) sources[s] = test_drip_source(&drips[s]);
      if (s % 3 == 1) sources[s] = (struct colshuf_source){.bytes = outputs[s].data.data, .size = outputs[s].data.size};
      if (s % 3 == 2) sources[s] = (struct colshuf_source){.data_path = strdup(test_output_write(&outputs[s], name, COLSHUF_CHECKSUM_CRC32C))};
    }
    struct colshuf_error err = {0};
    struct ArrowArrayStream stream;
    struct colshuf_read_metrics metrics;
    struct tally tally = {{0}};
    struct colshuf_read_options options = {.allocator = test_heap,
                                           .threads = 1 + round % 12,
                                           .any_order = 1,
                                           .target_rows = targets[round % 4],
                                           .verify_checksums = round % 2,
                                           .memory_limit = round % 3 == 0 ? 1 << 16 : 0};
    REQUIRE_OK(colshuf_read(sources, N_SOURCES, &options, &metrics, &stream, &err));
    CHECK_INT(drain(&stream, &tally), 0);
    stream.release(&stream);
    for (int s = 0; s < N_SOURCES; s++) CHECK_INT(tally.n[s], BLOCKS * ROWS);
    CHECK_INT(metrics.sources, N_SOURCES);
    CHECK_INT(metrics.blocks, N_SOURCES * BLOCKS);
    CHECK_INT(metrics.rows, N_SOURCES * BLOCKS * ROWS);
    CHECK(metrics.decode_ns > 0); /* it waited for those who decode */
    for (int s = 0; s < N_SOURCES; s += 3) CHECK_INT(drips[s].released, 1);
    for (int s = 2; s < N_SOURCES; s += 3) free((char *)sources[s].data_path);
  }
  clear_outputs();
}

/* A source that gives nothing until its gate is opened. */
struct gated {
  struct test_drip drip;
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool open;
};

static int64_t read_gated(void *ctx, void *buffer, size_t size) {
  struct gated *gated = ctx;
  pthread_mutex_lock(&gated->lock);
  while (!gated->open) pthread_cond_wait(&gated->opened, &gated->lock);
  pthread_mutex_unlock(&gated->lock);
  size_t n = gated->drip.size - gated->drip.at;
  if (n > size) n = size;
  if (n > 0) memcpy(buffer, gated->drip.data + gated->drip.at, n);
  gated->drip.at += n;
  return (int64_t)n;
}

static void release_gated(void *ctx) {
  ((struct gated *)ctx)->drip.released++;
}

static void open_gate(struct gated *gated) {
  pthread_mutex_lock(&gated->lock);
  gated->open = true;
  pthread_cond_broadcast(&gated->opened);
  pthread_mutex_unlock(&gated->lock);
}

static void init_gated(struct gated *gated, const struct test_output *output, struct colshuf_source *source) {
  *gated = (struct gated){.drip = {.data = output->data.data, .size = output->data.size}};
  pthread_mutex_init(&gated->lock, NULL);
  pthread_cond_init(&gated->opened, NULL);
  *source = (struct colshuf_source){.input = {.read = read_gated, .release = release_gated, .ctx = gated}};
}

static void nobody_waits_for_a_slow_source(void) {
  struct gated gated;
  struct colshuf_source sources[3];
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct tally tally = {{0}};
  write_outputs();
  init_gated(&gated, &outputs[0], &sources[0]);
  for (int s = 1; s < 3; s++) sources[s] = (struct colshuf_source){.bytes = outputs[s].data.data, .size = outputs[s].data.size};
  struct colshuf_read_options options = {.allocator = test_heap, .threads = 2, .any_order = 1, .target_rows = 1};
  REQUIRE_OK(colshuf_read(sources, 3, &options, NULL, &stream, &err));
  for (int i = 0; i < 2 * BLOCKS; i++) { /* all of the two others, while the first one has given nothing */
    REQUIRE(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
    count_batch(&tally, &batch);
    batch.release(&batch);
  }
  CHECK_INT(tally.n[0], 0);
  CHECK_INT(tally.n[1] + tally.n[2], 2 * BLOCKS * ROWS);
  open_gate(&gated);
  CHECK_INT(drain(&stream, &tally), 0);
  CHECK_INT(tally.n[0], BLOCKS * ROWS);
  stream.release(&stream);
  CHECK_INT(gated.drip.released, 1);
  clear_outputs();
}

static void *open_soon(void *ctx) {
  const struct timespec moment = {0, 50 * 1000 * 1000};
  nanosleep(&moment, NULL);
  open_gate(ctx);
  return NULL;
}

static void cancelling_does_not_wait_for_a_slow_source(void) {
  struct gated gated;
  struct colshuf_source source;
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  int cancelled = 0;
  write_outputs();
  init_gated(&gated, &outputs[0], &source);
  struct colshuf_read_options options = {.allocator = test_heap, .threads = 2, .any_order = 1, .cancelled = &cancelled};
  REQUIRE_OK(colshuf_read(&source, 1, &options, NULL, &stream, &err));
  __atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
  CHECK_INT(stream.get_next(&stream, &batch), ECANCELED); /* the gate is still shut */
  pthread_t opener;
  REQUIRE(pthread_create(&opener, NULL, open_soon, &gated) == 0);
  stream.release(&stream); /* waits for the read that has begun */
  pthread_join(opener, NULL);
  CHECK_INT(gated.drip.released, 1);
  clear_outputs();
}

/* A source that breaks off in its last block: what else had arrived is delivered, every source is released once. */
static void a_broken_source_is_named_and_all_are_released(void) {
  static struct test_drip drips[N_SOURCES];
  write_outputs();
  for (int skip = 0; skip < 2; skip++) {
    struct colshuf_source sources[N_SOURCES];
    for (int s = 0; s < N_SOURCES; s++) {
      drips[s] = (struct test_drip){.data = outputs[s].data.data, .size = outputs[s].data.size - (s == 4), .step = 100};
      sources[s] = test_drip_source(&drips[s]);
    }
    struct colshuf_error err = {0};
    struct ArrowArrayStream stream;
    struct colshuf_read_metrics metrics;
    struct tally tally = {{0}};
    struct colshuf_read_options options = {.allocator = test_heap, .threads = 3, .any_order = 1, .target_rows = 1, .skip_corrupt = skip};
    REQUIRE_OK(colshuf_read(sources, N_SOURCES, &options, &metrics, &stream, &err));
    int error = drain(&stream, &tally);
    CHECK((error != 0) == !skip);
    CHECK_INT(colshuf_stream_status(&stream), skip ? COLSHUF_OK : COLSHUF_CORRUPT);
    if (!skip) CHECK_CONTAINS(stream.get_last_error(&stream), "input, block 11 at offset ");
    for (int s = 0; skip && s < N_SOURCES; s++) CHECK_INT(tally.n[s], s == 4 ? (BLOCKS - 1) * ROWS : BLOCKS * ROWS);
    if (skip) CHECK_INT(metrics.skipped_blocks, 1);
    stream.release(&stream);
    for (int s = 0; s < N_SOURCES; s++) CHECK_INT(drips[s].released, 1);
  }
  clear_outputs();
}

/* What was set aside for a block that did not come must not keep the next one out, when there is room for one of them. */
static void a_block_left_out_gives_its_room_back(void) {
  enum { SIZE = 8000, LIMIT = 3 * SIZE }; /* a quarter is for what is on its way */
  static struct test_output one;
  static struct test_drip drips[N_SOURCES];
  struct csf_schema *schema = test_schema("a: int64");
  struct test_random random = {5};
  struct ArrowArray batch;
  struct test_array_options array = {.rows = SIZE / 8};
  test_random_array(&random, &schema->root, &array, &batch);
  test_output_init(&one);
  test_output_add(&one, &schema->root, &batch, 0, array.rows, COLSHUF_NONE);
  for (int threads = 1; threads < 4; threads++) {
    struct colshuf_source sources[N_SOURCES];
    struct colshuf_error err = {0};
    struct ArrowArrayStream stream;
    struct ArrowArray out;
    struct colshuf_read_metrics metrics;
    for (int s = 0; s < N_SOURCES; s++) {
      drips[s] = (struct test_drip){.data = one.data.data, .size = one.data.size - (s % 2 == 0), .step = 1000};
      sources[s] = test_drip_source(&drips[s]);
    }
    struct colshuf_read_options options = {.allocator = test_heap, .threads = threads, .any_order = 1, .skip_corrupt = 1, .memory_limit = LIMIT};
    REQUIRE_OK(colshuf_read(sources, N_SOURCES, &options, &metrics, &stream, &err));
    while (stream.get_next(&stream, &out) == 0 && out.release != NULL) out.release(&out);
    CHECK_INT(colshuf_stream_status(&stream), COLSHUF_OK);
    CHECK_INT(metrics.rows, N_SOURCES / 2 * array.rows);
    CHECK_INT(metrics.skipped_blocks, (N_SOURCES + 1) / 2);
    stream.release(&stream);
  }
  batch.release(&batch);
  test_output_clear(&one);
  csf_schema_release(schema);
}

static void a_consumer_that_stops_early_releases_all(void) {
  static struct test_drip drips[N_SOURCES];
  write_outputs();
  for (int taken = 0; taken < 4; taken++) {
    struct colshuf_source sources[N_SOURCES];
    struct colshuf_error err = {0};
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    for (int s = 0; s < N_SOURCES; s++) {
      drips[s] = (struct test_drip){.data = outputs[s].data.data, .size = outputs[s].data.size, .step = 50};
      sources[s] = test_drip_source(&drips[s]);
    }
    struct colshuf_read_options options = {.allocator = test_heap, .threads = 3, .any_order = 1, .target_rows = 1};
    REQUIRE_OK(colshuf_read(sources, N_SOURCES, &options, NULL, &stream, &err));
    for (int i = 0; i < taken; i++) {
      REQUIRE(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
      batch.release(&batch);
    }
    stream.release(&stream);
    for (int s = 0; s < N_SOURCES; s++) CHECK_INT(drips[s].released, 1);
  }
  clear_outputs();
}

static enum colshuf_status read_once(void *ctx) {
  struct colshuf_source *sources = ctx;
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct colshuf_read_options options = {.allocator = test_heap, .threads = 2, .any_order = 1, .target_rows = 20};
  enum colshuf_status status = colshuf_read(sources, 3, &options, NULL, &stream, &err);
  if (status != COLSHUF_OK) return status;
  while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) batch.release(&batch);
  status = colshuf_stream_status(&stream);
  stream.release(&stream);
  return status;
}

static void every_refused_allocation_is_survived(void) {
  struct colshuf_source sources[3];
  write_outputs();
  for (int s = 0; s < 3; s++) sources[s] = (struct colshuf_source){.bytes = outputs[s].data.data, .size = outputs[s].data.size};
  CHECK(test_oom_sweep(read_once, sources) > 20);
  clear_outputs();
}

static const struct test_case tests[] = {
    TEST(every_row_comes_once_and_each_source_in_its_order),
    TEST(nobody_waits_for_a_slow_source),
    TEST(cancelling_does_not_wait_for_a_slow_source),
    TEST(a_broken_source_is_named_and_all_are_released),
    TEST(a_block_left_out_gives_its_room_back),
    TEST(a_consumer_that_stops_early_releases_all),
    TEST(every_refused_allocation_is_survived),
};
TEST_MAIN(tests)
