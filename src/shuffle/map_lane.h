/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where blocks are put together and encoded: the lane of whoever submits blocks, and behind it lanes with a thread each. Blocks are dealt to the
 * lanes in turn and come back in the same turn, so that what is written does not depend on which is faster.
 */
#ifndef CSF_SHUFFLE_MAP_LANE_H
#define CSF_SHUFFLE_MAP_LANE_H

#include <pthread.h>

#include "shuffle/slices.h"

struct colshuf_map_writer;

enum csf_lane_state { CSF_LANE_IDLE, CSF_LANE_BUSY, CSF_LANE_DONE };

struct csf_lane {
  struct colshuf_block_encoder *encoder;
  struct csf_columns block;
  void *tree;
  struct ArrowArray *array;
  bool has_dictionary;       /* in the schema, at any depth */
  struct csf_buffer slices;  /* of the block: struct csf_slice */
  int32_t partition;
  int64_t n_rows;
  uint64_t raw_bytes;
  const uint8_t *bytes;      /* the block encoded; the encoder's */
  size_t size;
  enum colshuf_status status;
  struct colshuf_error err;
  enum csf_lane_state state; /* under the crew's mutex */
  struct csf_crew *crew;     /* of lanes with a thread */
  pthread_t thread;
};

struct csf_crew {
  struct csf_lane *lanes; /* the first is the submitter's */
  int32_t n_lanes;
  int32_t n_threads;      /* that run: lanes 1 .. n_threads */
  int32_t next;           /* thread whose turn it is */
  int32_t in_flight;
  bool stop;
  bool has_mutex;
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  const struct csf_sources *sources;
};

/* The submitter's lane alone; and lanes with threads behind it, fewer where the system gives no more. */
enum colshuf_status csf_crew_init(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_crew_add_threads(struct colshuf_map_writer *writer, int32_t n, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_crew_clear(struct colshuf_map_writer *writer);

/* Makes anew what grew with rows far beyond the limit. No block may be in flight. */
enum colshuf_status csf_crew_shrink(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Encodes the block planned in *slices (emptied) and emits it (csf_map_emit), now or while later ones are planned. drain emits
 * what is in flight.
 */
enum colshuf_status csf_crew_submit(struct colshuf_map_writer *writer, struct csf_buffer *slices, int32_t partition, int64_t n_rows,
                                    uint64_t raw_bytes, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_crew_drain(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
