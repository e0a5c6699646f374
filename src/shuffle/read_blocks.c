/* SPDX-License-Identifier: Apache-2.0 */
/* From sources to decoded blocks that wait: one by one, or ahead by other threads. */
#include "block/decoder.h"
#include "shuffle/clock.h"
#include "shuffle/reader.h"

static bool is_cancelled(const struct csf_reader *r) {
  return r->options.cancelled != NULL && __atomic_load_n(r->options.cancelled, __ATOMIC_RELAXED) != 0;
}

enum colshuf_status csf_reader_set_schema(struct csf_reader *r, struct csf_schema *reference, bool is_expected,
                                          struct colshuf_error *err) {
  struct csf_read_columns wanted = {r->options.columns, r->options.n_columns};
  bool keep = r->options.keep_dictionaries != 0;
  CSF_TRY(csf_read_schema_init(&r->schema, reference, is_expected, keep, &wanted, &r->allocator, err));
  csf_waiting_init(&r->waiting, &r->schema, r->options.target_rows, r->memory_limit / 4);
  return COLSHUF_OK;
}

/* How blocks of this schema fit: known for the last few. *out is one more reference. */
static enum colshuf_status find_fit(struct csf_reader *r, struct csf_schema *found, struct csf_block_fit **out,
                                    struct colshuf_error *err) {
  int i = 0;
  while (i < CSF_READ_FITS - 1 && r->fits[i] != NULL && r->fits[i]->schema != found) i++;
  struct csf_block_fit *fit = r->fits[i];
  if (fit == NULL || fit->schema != found) {
    CSF_TRY(csf_block_fit_new(&r->schema, found, &fit, err));
    csf_block_fit_release(&r->schema, r->fits[i]);
  }
  memmove(&r->fits[1], &r->fits[0], (size_t)i * sizeof fit); /* the one used last comes first */
  r->fits[0] = fit;
  fit->references++;
  *out = fit;
  return COLSHUF_OK;
}

static enum colshuf_status keep_batch(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  if (r->schema.announced == NULL) CSF_TRY(csf_reader_set_schema(r, job->schema, false, err));
  struct csf_block_fit *fit;
  CSF_TRY(find_fit(r, job->schema, &fit, err));
  enum colshuf_status status = COLSHUF_OK;
  uint64_t n_rows = (uint64_t)job->batch.length;
  if (n_rows > 0) status = csf_waiting_add(&r->waiting, &job->batch, fit, job->is_borrowed, err);
  if (status == COLSHUF_OK) r->metrics->rows += n_rows;
  r->usual_size = csf_expect_size(r->usual_size, job->decoded_size);
  if (job->batch.release != NULL) csf_block_fit_release(&r->schema, fit); /* nobody took it */
  return status;
}

/* What it took to get a job; also of one that came to nothing. */
static void count_fetch(struct csf_reader *r, const struct csf_job *job) {
  r->metrics->fetch_ns += job->fetch_ns;
  r->metrics->sources += job->n_opened;
  r->metrics->skipped_blocks += job->n_skipped;
}

/* Takes over what a decoded job has. */
static enum colshuf_status finish_job(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  r->metrics->blocks++;
  r->metrics->bytes += job->size;
  enum colshuf_status status = job->status;
  if (status != COLSHUF_OK && err != NULL) *err = job->err;
  if (status == COLSHUF_OK) status = keep_batch(r, job, err);
  if (status == COLSHUF_OK) return COLSHUF_OK;
  if (!csf_fetch_skips(&r->fetcher, status)) return csf_source_fail_context(job->source_name, &job->place, status, err);
  r->metrics->skipped_blocks++;
  return COLSHUF_OK;
}

static enum colshuf_status decode_one(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  uint64_t start = csf_now_ns();
  csf_job_decode(r->decoder, job);
  enum colshuf_status status = csf_fetch_learn(&r->fetcher, job, err);
  uint64_t decoded = csf_now_ns();
  if (status == COLSHUF_OK) status = finish_job(r, job, err);
  r->metrics->decode_ns += decoded - start;
  r->metrics->coalesce_ns += csf_now_ns() - decoded;
  return status;
}

static enum colshuf_status read_one(struct csf_reader *r, struct colshuf_error *err) {
  struct csf_job job = {.bytes = {.allocator = r->allocator}};
  enum colshuf_status status = csf_fetch_job(&r->fetcher, &job, err);
  count_fetch(r, &job);
  r->ended = status == COLSHUF_OK && job.place.size == 0;
  if (status == COLSHUF_OK && !r->ended) status = decode_one(r, &job, err);
  csf_job_clear(&job);
  return status;
}

/* Keeps the threads busy, within the limit for reading ahead. */
static void fetch_ahead(struct csf_reader *r) {
  bool none = csf_ahead_weight(r->ahead) == 0; /* one is always let through */
  /* What blocks become is not known before the first one is decoded: till then there is one alone. */
  while (!r->fetched_all && (none || r->usual_size > 0) && (none || csf_ahead_weight(r->ahead) + r->usual_size <= r->memory_limit / 4)) {
    struct csf_job *job = csf_ahead_claim(r->ahead);
    if (job == NULL) return;
    enum colshuf_status status = csf_fetch_job(&r->fetcher, job, &r->fetch_err);
    count_fetch(r, job);
    r->fetched_all = status != COLSHUF_OK || job->place.size == 0;
    if (r->fetched_all) {
      r->fetch_err.status = status;
      csf_job_clear(job);
    } else {
      job->weight = job->size > r->usual_size ? job->size : r->usual_size;
      csf_ahead_submit(r->ahead);
      none = false;
    }
  }
}

static enum colshuf_status read_ahead(struct csf_reader *r, struct colshuf_error *err) {
  fetch_ahead(r);
  uint64_t start = csf_now_ns();
  struct csf_job *job = csf_ahead_take(r->ahead);
  uint64_t taken = csf_now_ns();
  r->metrics->decode_ns += taken - start;
  if (job == NULL) {
    r->ended = true;
    if (r->fetch_err.status != COLSHUF_OK && err != NULL) *err = r->fetch_err;
    return r->fetch_err.status;
  }
  enum colshuf_status status = csf_fetch_learn(&r->fetcher, job, err);
  if (status == COLSHUF_OK) status = finish_job(r, job, err);
  csf_ahead_give_back(r->ahead, job);
  r->metrics->coalesce_ns += csf_now_ns() - taken;
  return status;
}

static enum colshuf_status fail_cancelled(struct colshuf_error *err) {
  return csf_fail(err, COLSHUF_CANCELLED, "reading was cancelled");
}

/* A job without a block tells that its thread is done, or why it gave up: that is told behind what was taken before. */
static enum colshuf_status take_arrived(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  count_fetch(r, job);
  if (job->is_loaded) return finish_job(r, job, err);
  if (job->status != COLSHUF_OK && err != NULL) *err = job->err;
  return job->status;
}

static enum colshuf_status read_arrived(struct csf_reader *r, struct colshuf_error *err) {
  uint64_t start = csf_now_ns();
  struct csf_job *job = csf_arrival_take(r->arrival, r->options.cancelled);
  uint64_t taken = csf_now_ns();
  r->metrics->decode_ns += taken - start;
  if (job == NULL && is_cancelled(r)) return fail_cancelled(err);
  r->ended = job == NULL;
  if (r->ended) return COLSHUF_OK;
  enum colshuf_status status = take_arrived(r, job, err);
  csf_arrival_give_back(r->arrival, job);
  r->metrics->coalesce_ns += csf_now_ns() - taken;
  return status;
}

enum colshuf_status csf_reader_read_block(struct csf_reader *r, struct colshuf_error *err) {
  if (is_cancelled(r)) return fail_cancelled(err);
  if (r->arrival != NULL) return read_arrived(r, err);
  return r->ahead == NULL ? read_one(r, err) : read_ahead(r, err);
}
