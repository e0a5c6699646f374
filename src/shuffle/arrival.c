/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/arrival.h"

#include <pthread.h>
#include <time.h>

#include "block/decoder.h"

enum { CANCEL_POLL_NS = 20 * 1000 * 1000 };

struct worker {
  struct csf_arrival *arrival;
  struct csf_fetcher fetcher;
  struct colshuf_block_decoder *decoder;
  struct csf_job *job; /* being made */
  size_t window_size;  /* memory of the fetcher's window, as counted */
  pthread_t thread;
};

/* Places for jobs are free, with a worker, ready in the order of their arrival, or with the reader. */
struct csf_arrival {
  struct colshuf_allocator allocator;
  pthread_mutex_t lock;
  pthread_cond_t room; /* a place is free, or weight has become less */
  pthread_cond_t arrived;
  bool stopping;
  uint64_t most, weight; /* of all jobs that are not free */
  uint64_t usual;        /* weight of one, at least; 0 = none was decoded yet */
  uint64_t windows;      /* memory of all windows */
  int n_workers, n_working, n_decoding;
  size_t n_places, n_free, n_ready;
  struct csf_job *jobs;
  struct csf_job **free_jobs;
  struct csf_job **ready; /* a queue */
  struct worker workers[CSF_MOST_THREADS];
};

/* A place for the next job; NULL when there will be no more. */
static struct csf_job *claim(struct csf_arrival *arrival) {
  struct csf_job *job = NULL;
  pthread_mutex_lock(&arrival->lock);
  while (arrival->n_free == 0 && !arrival->stopping) pthread_cond_wait(&arrival->room, &arrival->lock);
  if (!arrival->stopping) job = arrival->free_jobs[--arrival->n_free];
  pthread_mutex_unlock(&arrival->lock);
  return job;
}

/*
 * Waits till a block of this size may be read: one is always let through, lest nobody ever goes on. A job has one place: what it
 * reserved for a block that came to nothing is given back.
 */
static void reserve_locked(struct worker *worker, size_t size) {
  struct csf_arrival *arrival = worker->arrival;
  if (worker->job->weight > 0) pthread_cond_broadcast(&arrival->room);
  arrival->weight -= worker->job->weight;
  uint64_t weight = size > arrival->usual ? size : arrival->usual;
  while (arrival->weight > 0 && arrival->weight + weight > arrival->most && !arrival->stopping) {
    pthread_cond_wait(&arrival->room, &arrival->lock);
    weight = size > arrival->usual ? size : arrival->usual;
  }
  worker->job->weight = weight;
  arrival->weight += weight;
}

static void reserve(void *ctx, size_t size) {
  struct worker *worker = ctx;
  pthread_mutex_lock(&worker->arrival->lock);
  reserve_locked(worker, size);
  pthread_mutex_unlock(&worker->arrival->lock);
}

/*
 * What blocks become is not known before one of them is decoded: the first one is so alone (it is not read alone, since its source may be
 * slow). By now it may also be known that there is less room than was thought.
 */
static void begin_decoding(struct worker *worker, struct csf_job *job) {
  struct csf_arrival *arrival = worker->arrival;
  pthread_mutex_lock(&arrival->lock);
  while (arrival->usual == 0 && arrival->n_decoding > 0 && !arrival->stopping) pthread_cond_wait(&arrival->room, &arrival->lock);
  if (arrival->usual > job->weight) reserve_locked(worker, job->size);
  arrival->n_decoding++;
  pthread_mutex_unlock(&arrival->lock);
}

static void end_decoding(struct worker *worker, struct csf_job *job) {
  struct csf_arrival *arrival = worker->arrival;
  pthread_mutex_lock(&arrival->lock);
  if (arrival->usual == 0) pthread_cond_broadcast(&arrival->room);
  arrival->usual = csf_expect_size(arrival->usual, job->decoded_size);
  if (job->decoded_size > job->weight) {
    arrival->weight += job->decoded_size - job->weight;
    job->weight = job->decoded_size;
  }
  arrival->n_decoding--;
  pthread_mutex_unlock(&arrival->lock);
}

static bool count_window(struct worker *worker) {
  struct csf_arrival *arrival = worker->arrival;
  size_t size = worker->fetcher.window.capacity;
  if (size == worker->window_size) return false;
  pthread_mutex_lock(&arrival->lock);
  arrival->windows = arrival->windows - worker->window_size + size;
  worker->window_size = size;
  bool too_much = arrival->windows > arrival->most && size > arrival->most / (uint64_t)arrival->n_places;
  pthread_mutex_unlock(&arrival->lock);
  return too_much;
}

/* Memory that a large block has passed through is not kept by each thread that met one. */
static void trim_window(struct worker *worker) {
  if (!count_window(worker)) return;
  csf_fetcher_trim(&worker->fetcher);
  count_window(worker);
}

static void hand_in(struct csf_arrival *arrival, struct csf_job *job) {
  pthread_mutex_lock(&arrival->lock);
  arrival->ready[arrival->n_ready++] = job;
  pthread_cond_signal(&arrival->arrived);
  pthread_mutex_unlock(&arrival->lock);
}

/* Whether there may be more after this job. */
static bool make_job(struct worker *worker, struct csf_job *job) {
  worker->job = job;
  job->status = csf_fetch_job(&worker->fetcher, job, &job->err);
  if (!job->is_loaded) return false;
  begin_decoding(worker, job);
  csf_job_decode(worker->decoder, job);
  end_decoding(worker, job);
  struct colshuf_error err;
  enum colshuf_status status = csf_fetch_learn(&worker->fetcher, job, &err);
  if (status != COLSHUF_OK) {
    job->status = status;
    job->err = err;
  }
  trim_window(worker);
  return job->status == COLSHUF_OK || csf_fetch_skips(&worker->fetcher, job->status);
}

static void *work(void *ctx) {
  struct worker *worker = ctx;
  struct csf_arrival *arrival = worker->arrival;
  struct csf_job *job;
  bool more = true;
  while (more && (job = claim(arrival)) != NULL) {
    more = make_job(worker, job);
    hand_in(arrival, job);
  }
  pthread_mutex_lock(&arrival->lock);
  arrival->n_working--;
  pthread_cond_signal(&arrival->arrived);
  pthread_mutex_unlock(&arrival->lock);
  return NULL;
}

static enum colshuf_status start_worker(struct csf_arrival *arrival, const struct csf_fetcher *model,
                                        const struct colshuf_block_decoder_options *options, struct csf_column_set columns,
                                        struct colshuf_error *err) {
  struct worker *worker = &arrival->workers[arrival->n_workers];
  worker->arrival = arrival;
  CSF_TRY(colshuf_block_decoder_new(options, &worker->decoder, err));
  csf_block_decoder_project(worker->decoder, columns.wanted, columns.n);
  struct colshuf_allocator batches = csf_block_decoder_allocator(worker->decoder);
  worker->fetcher = *model;
  worker->fetcher.reserve = reserve;
  worker->fetcher.reserve_ctx = worker;
  csf_fetcher_init(&worker->fetcher, &batches, columns);
  arrival->n_working++;
  int error = pthread_create(&worker->thread, NULL, work, worker);
  if (error != 0) {
    arrival->n_working--;
    csf_fetcher_clear(&worker->fetcher);
    colshuf_block_decoder_free(worker->decoder);
    return csf_fail_errno(err, error, "cannot start thread %d of those that read sources", arrival->n_workers);
  }
  arrival->n_workers++;
  return COLSHUF_OK;
}

static enum colshuf_status make_places(struct csf_arrival *arrival, struct colshuf_error *err) {
  size_t n = arrival->n_places, pointers = n * sizeof *arrival->ready;
  arrival->jobs = csf_alloc_zero(&arrival->allocator, n * sizeof *arrival->jobs);
  arrival->free_jobs = csf_alloc(&arrival->allocator, pointers);
  arrival->ready = csf_alloc(&arrival->allocator, pointers);
  if (arrival->jobs == NULL || arrival->free_jobs == NULL || arrival->ready == NULL) {
    return csf_fail_memory(err, n * sizeof *arrival->jobs);
  }
  for (size_t i = 0; i < n; i++) csf_buffer_init(&arrival->jobs[i].bytes, &arrival->allocator);
  return COLSHUF_OK;
}

enum colshuf_status csf_arrival_new(int n_threads, const struct csf_fetcher *model, const struct colshuf_block_decoder_options *decoder,
                                    struct csf_column_set columns, uint64_t most, struct csf_arrival **out,
                                    struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(&decoder->allocator);
  struct csf_arrival *arrival = csf_alloc_zero(&allocator, sizeof *arrival);
  if (arrival == NULL) return csf_fail_memory(err, sizeof *arrival);
  arrival->allocator = allocator;
  arrival->most = most;
  arrival->n_places = 2 * (size_t)n_threads + 2;
  pthread_mutex_init(&arrival->lock, NULL);
  pthread_cond_init(&arrival->room, NULL);
  pthread_cond_init(&arrival->arrived, NULL);
  enum colshuf_status status = make_places(arrival, err);
  for (int i = 0; i < n_threads && status == COLSHUF_OK; i++) status = start_worker(arrival, model, decoder, columns, err);
  if (status != COLSHUF_OK) {
    csf_arrival_free(arrival);
    return status;
  }
  *out = arrival;
  return COLSHUF_OK;
}

void csf_arrival_start(struct csf_arrival *arrival) {
  pthread_mutex_lock(&arrival->lock);
  for (size_t i = 0; i < arrival->n_places; i++) arrival->free_jobs[arrival->n_free++] = &arrival->jobs[i];
  pthread_cond_broadcast(&arrival->room);
  pthread_mutex_unlock(&arrival->lock);
}

static void stop_workers(struct csf_arrival *arrival) {
  pthread_mutex_lock(&arrival->lock);
  arrival->stopping = true;
  pthread_cond_broadcast(&arrival->room);
  pthread_mutex_unlock(&arrival->lock);
  for (int i = 0; i < arrival->n_workers; i++) pthread_join(arrival->workers[i].thread, NULL);
}

void csf_arrival_free(struct csf_arrival *arrival) {
  if (arrival == NULL) return;
  stop_workers(arrival);
  for (size_t i = 0; arrival->jobs != NULL && i < arrival->n_places; i++) {
    csf_job_clear(&arrival->jobs[i]);
    csf_buffer_clear(&arrival->jobs[i].bytes);
  }
  for (int i = 0; i < arrival->n_workers; i++) {
    csf_fetcher_clear(&arrival->workers[i].fetcher);
    colshuf_block_decoder_free(arrival->workers[i].decoder);
  }
  pthread_cond_destroy(&arrival->arrived);
  pthread_cond_destroy(&arrival->room);
  pthread_mutex_destroy(&arrival->lock);
  struct colshuf_allocator allocator = arrival->allocator;
  size_t pointers = arrival->n_places * sizeof *arrival->ready;
  csf_free(&allocator, arrival->jobs, arrival->n_places * sizeof *arrival->jobs);
  csf_free(&allocator, arrival->free_jobs, pointers);
  csf_free(&allocator, arrival->ready, pointers);
  csf_free(&allocator, arrival, sizeof *arrival);
}

/* Waits for an arrival; for a moment only where somebody may cancel. */
static void wait_for_arrival(struct csf_arrival *arrival, bool briefly) {
  if (!briefly) {
    pthread_cond_wait(&arrival->arrived, &arrival->lock);
    return;
  }
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += CANCEL_POLL_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&arrival->arrived, &arrival->lock, &until);
}

struct csf_job *csf_arrival_take(struct csf_arrival *arrival, const int *cancelled) {
  struct csf_job *job = NULL;
  pthread_mutex_lock(&arrival->lock);
  while (arrival->n_ready == 0 && arrival->n_working > 0 && !(cancelled != NULL && __atomic_load_n(cancelled, __ATOMIC_RELAXED) != 0)) {
    wait_for_arrival(arrival, cancelled != NULL);
  }
  if (arrival->n_ready > 0) {
    job = arrival->ready[0];
    arrival->n_ready--;
    memmove(arrival->ready, arrival->ready + 1, arrival->n_ready * sizeof *arrival->ready);
  }
  pthread_mutex_unlock(&arrival->lock);
  return job;
}

void csf_arrival_give_back(struct csf_arrival *arrival, struct csf_job *job) {
  uint64_t weight = job->weight;
  csf_job_clear(job);
  pthread_mutex_lock(&arrival->lock);
  arrival->weight -= weight;
  arrival->free_jobs[arrival->n_free++] = job;
  pthread_cond_broadcast(&arrival->room);
  pthread_mutex_unlock(&arrival->lock);
}
