/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/ahead.h"

#include <pthread.h>

#include "block/decoder.h"

struct worker {
  struct csf_ahead *ahead;
  struct colshuf_block_decoder *decoder;
  pthread_t thread;
};

/*
 * A ring of places: [first, next) are submitted, of which [first, started) are being decoded or done. Places are the reader's
 * but between submission and the end of decoding.
 */
struct csf_ahead {
  struct colshuf_allocator allocator;
  pthread_mutex_t lock;
  pthread_cond_t submitted, decoded;
  bool stopping;
  uint64_t first, started, next;
  uint64_t weight; /* of all that are submitted; what it was found to be, of those decoded */
  uint64_t most;
  int n_workers;
  size_t n_places;
  bool *done; /* one for each place */
  struct csf_job *jobs;
  struct worker workers[CSF_MOST_THREADS];
};

/* Blocks can become larger than was thought: then only the oldest goes on, which is waited for. */
static bool may_decode(const struct csf_ahead *ahead) {
  if (ahead->started == ahead->next) return false;
  return ahead->started == ahead->first || ahead->weight <= ahead->most;
}

static void finish(struct csf_ahead *ahead, size_t place) {
  struct csf_job *job = &ahead->jobs[place];
  if (job->decoded_size > job->weight) {
    ahead->weight += job->decoded_size - job->weight;
    job->weight = job->decoded_size;
  }
  ahead->done[place] = true;
  pthread_cond_signal(&ahead->decoded);
}

static void *work(void *ctx) {
  struct worker *worker = ctx;
  struct csf_ahead *ahead = worker->ahead;
  pthread_mutex_lock(&ahead->lock);
  for (;;) {
    while (!may_decode(ahead) && !ahead->stopping) pthread_cond_wait(&ahead->submitted, &ahead->lock);
    if (ahead->stopping) break;
    size_t place = ahead->started++ % ahead->n_places;
    pthread_mutex_unlock(&ahead->lock);
    csf_job_decode(worker->decoder, &ahead->jobs[place]);
    pthread_mutex_lock(&ahead->lock);
    finish(ahead, place);
  }
  pthread_mutex_unlock(&ahead->lock);
  return NULL;
}

static enum colshuf_status start_worker(struct csf_ahead *ahead, const struct colshuf_block_decoder_options *options,
                                        struct csf_column_set columns, struct colshuf_error *err) {
  struct worker *worker = &ahead->workers[ahead->n_workers];
  worker->ahead = ahead;
  CSF_TRY(colshuf_block_decoder_new(options, &worker->decoder, err));
  csf_block_decoder_project(worker->decoder, columns.wanted, columns.n);
  int error = pthread_create(&worker->thread, NULL, work, worker);
  if (error != 0) {
    colshuf_block_decoder_free(worker->decoder);
    return csf_fail_errno(err, error, "cannot start thread %d of those that decode ahead", ahead->n_workers);
  }
  ahead->n_workers++;
  return COLSHUF_OK;
}

static enum colshuf_status build(struct csf_ahead *ahead, int n_threads, const struct colshuf_block_decoder_options *options,
                                 struct csf_column_set columns, struct colshuf_error *err) {
  size_t size = ahead->n_places * sizeof *ahead->jobs;
  ahead->jobs = csf_alloc_zero(&ahead->allocator, size);
  ahead->done = csf_alloc_zero(&ahead->allocator, ahead->n_places * sizeof *ahead->done);
  if (ahead->jobs == NULL || ahead->done == NULL) return csf_fail_memory(err, size);
  for (size_t i = 0; i < ahead->n_places; i++) csf_buffer_init(&ahead->jobs[i].bytes, &ahead->allocator);
  for (int i = 0; i < n_threads; i++) CSF_TRY(start_worker(ahead, options, columns, err));
  return COLSHUF_OK;
}

enum colshuf_status csf_ahead_new(int n_threads, const struct colshuf_block_decoder_options *options,
                                  struct csf_column_set columns, uint64_t most, struct csf_ahead **out,
                                  struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct csf_ahead *ahead = csf_alloc_zero(&allocator, sizeof *ahead);
  if (ahead == NULL) return csf_fail_memory(err, sizeof *ahead);
  ahead->allocator = allocator;
  ahead->most = most;
  ahead->n_places = 2 * (size_t)n_threads + 2;
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->submitted, NULL);
  pthread_cond_init(&ahead->decoded, NULL);
  enum colshuf_status status = build(ahead, n_threads, options, columns, err);
  if (status != COLSHUF_OK) {
    csf_ahead_free(ahead);
    return status;
  }
  *out = ahead;
  return COLSHUF_OK;
}

static void stop_workers(struct csf_ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  ahead->stopping = true;
  pthread_cond_broadcast(&ahead->submitted);
  pthread_mutex_unlock(&ahead->lock);
  for (int i = 0; i < ahead->n_workers; i++) {
    pthread_join(ahead->workers[i].thread, NULL);
    colshuf_block_decoder_free(ahead->workers[i].decoder);
  }
}

void csf_ahead_free(struct csf_ahead *ahead) {
  if (ahead == NULL) return;
  stop_workers(ahead);
  for (size_t i = 0; ahead->jobs != NULL && i < ahead->n_places; i++) {
    csf_job_clear(&ahead->jobs[i]);
    csf_buffer_clear(&ahead->jobs[i].bytes);
  }
  pthread_cond_destroy(&ahead->decoded);
  pthread_cond_destroy(&ahead->submitted);
  pthread_mutex_destroy(&ahead->lock);
  struct colshuf_allocator allocator = ahead->allocator;
  csf_free(&allocator, ahead->done, ahead->n_places * sizeof *ahead->done);
  csf_free(&allocator, ahead->jobs, ahead->n_places * sizeof *ahead->jobs);
  csf_free(&allocator, ahead, sizeof *ahead);
}

struct csf_job *csf_ahead_claim(struct csf_ahead *ahead) {
  /* first and next are written by the reader's thread alone. */
  return ahead->next - ahead->first == ahead->n_places ? NULL : &ahead->jobs[ahead->next % ahead->n_places];
}

void csf_ahead_submit(struct csf_ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  ahead->weight += ahead->jobs[ahead->next % ahead->n_places].weight;
  ahead->done[ahead->next % ahead->n_places] = false;
  ahead->next++;
  pthread_cond_signal(&ahead->submitted);
  pthread_mutex_unlock(&ahead->lock);
}

uint64_t csf_ahead_weight(struct csf_ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  uint64_t weight = ahead->weight;
  pthread_mutex_unlock(&ahead->lock);
  return weight;
}

struct csf_job *csf_ahead_take(struct csf_ahead *ahead) {
  if (ahead->first == ahead->next) return NULL;
  size_t place = ahead->first % ahead->n_places;
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->done[place]) pthread_cond_wait(&ahead->decoded, &ahead->lock);
  pthread_mutex_unlock(&ahead->lock);
  return &ahead->jobs[place];
}

/* Memory that a large block has passed through is not kept in each place that it came to. Bytes of jobs are the reader's alone. */
static void trim(struct csf_ahead *ahead, struct csf_job *job) {
  uint64_t held = 0;
  if (job->bytes.capacity <= ahead->most / ahead->n_places) return;
  for (size_t i = 0; i < ahead->n_places; i++) held += ahead->jobs[i].bytes.capacity;
  if (held > ahead->most) csf_buffer_clear(&job->bytes);
}

void csf_ahead_give_back(struct csf_ahead *ahead, struct csf_job *job) {
  uint64_t weight = job->weight;
  csf_job_clear(job);
  trim(ahead, job);
  pthread_mutex_lock(&ahead->lock);
  ahead->weight -= weight;
  ahead->first++;
  pthread_cond_broadcast(&ahead->submitted);
  pthread_mutex_unlock(&ahead->lock);
}
