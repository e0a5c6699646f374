/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/map_lane.h"

#include "block/encoder.h"
#include "shuffle/map_writer.h"

static enum colshuf_status make_encoder(struct colshuf_map_writer *writer, struct csf_lane *lane, struct colshuf_error *err) {
  colshuf_block_encoder_free(lane->encoder);
  lane->encoder = NULL;
  return colshuf_block_encoder_new(&writer->exported, &writer->encoder_options, &lane->encoder, err);
}

static enum colshuf_status init_lane(struct colshuf_map_writer *writer, struct csf_lane *lane, struct colshuf_error *err) {
  const struct colshuf_allocator *allocator = &writer->budget.allocator;
  const struct csf_field *root = &writer->schema->root;
  csf_buffer_init(&lane->slices, allocator);
  lane->has_dictionary = writer->schema->has_dictionary;
  CSF_TRY(csf_columns_init(&lane->block, root, allocator, csf_column_heap(allocator), err));
  lane->tree = csf_alloc(allocator, writer->tree_size);
  if (lane->tree == NULL) return csf_fail_memory(err, writer->tree_size);
  lane->array = csf_array_tree_build(root, lane->tree);
  return make_encoder(writer, lane, err);
}

static void clear_lane(struct colshuf_map_writer *writer, struct csf_lane *lane) {
  csf_columns_clear(&lane->block);
  csf_buffer_clear(&lane->slices);
  csf_free(&writer->budget.allocator, lane->tree, writer->tree_size);
  colshuf_block_encoder_free(lane->encoder);
}

/* Rows of one chunk are encoded where they lie; but a chunk does not know its dictionaries. */
static bool lies_together(const struct csf_lane *lane) {
  return lane->slices.size == sizeof(struct csf_slice) && !lane->has_dictionary;
}

static enum colshuf_status encode(struct csf_lane *lane, const struct csf_sources *sources, struct colshuf_error *err) {
  const struct csf_slice *slices = (const struct csf_slice *)(const void *)lane->slices.data;
  if (lies_together(lane)) {
    return colshuf_block_encoder_encode(lane->encoder, slices->chunk, slices->start, slices->n, &lane->bytes, &lane->size, err);
  }
  csf_columns_reset(&lane->block);
  CSF_TRY(csf_columns_append_slices(&lane->block, sources, slices, lane->slices.size / sizeof *slices, err));
  csf_columns_show(&lane->block, lane->array);
  return colshuf_block_encoder_encode(lane->encoder, lane->array, 0, lane->n_rows, &lane->bytes, &lane->size, err);
}

static void *run_thread(void *ctx) {
  struct csf_lane *lane = ctx;
  struct csf_crew *crew = lane->crew;
  pthread_mutex_lock(&crew->mutex);
  for (;;) {
    while (!crew->stop && lane->state != CSF_LANE_BUSY) pthread_cond_wait(&crew->work, &crew->mutex);
    if (crew->stop) break;
    pthread_mutex_unlock(&crew->mutex);
    lane->status = encode(lane, crew->sources, &lane->err);
    pthread_mutex_lock(&crew->mutex);
    lane->state = CSF_LANE_DONE;
    pthread_cond_signal(&crew->done);
  }
  pthread_mutex_unlock(&crew->mutex);
  return NULL;
}

/* What the system refuses goes without a thread: fewer of them change nothing but the time. */
static void start_threads(struct csf_crew *crew) {
  if (crew->n_lanes == 1 || pthread_mutex_init(&crew->mutex, NULL) != 0) return;
  crew->has_mutex = true;
  pthread_cond_init(&crew->work, NULL);
  pthread_cond_init(&crew->done, NULL);
  while (crew->n_threads + 1 < crew->n_lanes) {
    struct csf_lane *lane = &crew->lanes[crew->n_threads + 1];
    lane->crew = crew;
    if (pthread_create(&lane->thread, NULL, run_thread, lane) != 0) return;
    crew->n_threads++;
  }
}

static enum colshuf_status make_lanes(struct colshuf_map_writer *writer, int32_t n, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  size_t size = (size_t)n * sizeof *crew->lanes;
  crew->sources = &writer->sources;
  crew->lanes = csf_alloc_zero(&writer->budget.allocator, size);
  if (crew->lanes == NULL) return csf_fail_memory(err, size);
  crew->n_lanes = n;
  for (int32_t i = 0; i < n; i++) CSF_TRY(init_lane(writer, &crew->lanes[i], err));
  return COLSHUF_OK;
}

enum colshuf_status csf_crew_init(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  return make_lanes(writer, 1, err);
}

enum colshuf_status csf_crew_add_threads(struct colshuf_map_writer *writer, int32_t n, struct colshuf_error *err) {
  csf_crew_clear(writer);
  CSF_TRY(make_lanes(writer, n + 1, err));
  start_threads(&writer->crew);
  return COLSHUF_OK;
}

static void stop_threads(struct csf_crew *crew) {
  if (!crew->has_mutex) return;
  pthread_mutex_lock(&crew->mutex);
  crew->stop = true;
  pthread_cond_broadcast(&crew->work);
  pthread_mutex_unlock(&crew->mutex);
  for (int32_t i = 1; i <= crew->n_threads; i++) pthread_join(crew->lanes[i].thread, NULL);
  pthread_cond_destroy(&crew->work);
  pthread_cond_destroy(&crew->done);
  pthread_mutex_destroy(&crew->mutex);
}

void csf_crew_clear(struct colshuf_map_writer *writer) {
  struct csf_crew *crew = &writer->crew;
  stop_threads(crew);
  for (int32_t i = 0; i < crew->n_lanes; i++) clear_lane(writer, &crew->lanes[i]);
  csf_free(&writer->budget.allocator, crew->lanes, (size_t)crew->n_lanes * sizeof *crew->lanes);
  *crew = (struct csf_crew){0};
}

enum colshuf_status csf_crew_shrink(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  for (int32_t i = 0; i < crew->n_lanes; i++) {
    csf_columns_free_memory(&crew->lanes[i].block);
    CSF_TRY(make_encoder(writer, &crew->lanes[i], err));
  }
  return COLSHUF_OK;
}

static void fill_lane(struct csf_lane *lane, struct csf_buffer *slices, int32_t partition, int64_t n_rows, uint64_t raw_bytes) {
  struct csf_buffer empty = lane->slices;
  lane->slices = *slices;
  *slices = empty;
  slices->size = 0;
  lane->partition = partition;
  lane->n_rows = n_rows;
  lane->raw_bytes = raw_bytes;
}

/* Waits for the lane to be done, and emits its block. */
static enum colshuf_status collect(struct colshuf_map_writer *writer, struct csf_lane *lane, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  pthread_mutex_lock(&crew->mutex);
  while (lane->state == CSF_LANE_BUSY) pthread_cond_wait(&crew->done, &crew->mutex);
  bool done = lane->state == CSF_LANE_DONE;
  lane->state = CSF_LANE_IDLE;
  pthread_mutex_unlock(&crew->mutex);
  if (!done) return COLSHUF_OK;
  crew->in_flight--;
  if (lane->status != COLSHUF_OK) {
    *err = lane->err;
    return lane->status;
  }
  return csf_map_emit(writer, lane, err);
}

enum colshuf_status csf_crew_drain(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  while (crew->in_flight > 0) {
    CSF_TRY(collect(writer, &crew->lanes[1 + crew->next], err));
    crew->next = (crew->next + 1) % crew->n_threads;
  }
  return COLSHUF_OK;
}

/* In the submitter's lane. It leads: the others follow what it finds. */
static enum colshuf_status encode_here(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  CSF_TRY(encode(&crew->lanes[0], crew->sources, err));
  for (int32_t i = 1; i <= crew->n_threads; i++) csf_block_encoder_follow(crew->lanes[i].encoder, crew->lanes[0].encoder);
  return csf_map_emit(writer, &crew->lanes[0], err);
}

static enum colshuf_status hand_over(struct colshuf_map_writer *writer, struct csf_buffer *slices, int32_t partition, int64_t n_rows,
                                     uint64_t raw_bytes, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  struct csf_lane *lane = &crew->lanes[1 + crew->next];
  CSF_TRY(collect(writer, lane, err));
  csf_block_encoder_pass(crew->lanes[0].encoder, n_rows);
  fill_lane(lane, slices, partition, n_rows, raw_bytes);
  pthread_mutex_lock(&crew->mutex);
  lane->state = CSF_LANE_BUSY;
  pthread_cond_broadcast(&crew->work);
  pthread_mutex_unlock(&crew->mutex);
  crew->in_flight++;
  crew->next = (crew->next + 1) % crew->n_threads;
  return COLSHUF_OK;
}

enum colshuf_status csf_crew_submit(struct colshuf_map_writer *writer, struct csf_buffer *slices, int32_t partition, int64_t n_rows,
                                    uint64_t raw_bytes, struct colshuf_error *err) {
  struct csf_crew *crew = &writer->crew;
  bool alone = crew->n_threads == 0 || csf_block_encoder_is_due(crew->lanes[0].encoder, n_rows);
  if (!alone) return hand_over(writer, slices, partition, n_rows, raw_bytes, err);
  CSF_TRY(csf_crew_drain(writer, err));
  fill_lane(&crew->lanes[0], slices, partition, n_rows, raw_bytes);
  return encode_here(writer, err);
}
