/* SPDX-License-Identifier: Apache-2.0 */
/* From sources to decoded blocks that wait: one by one, or ahead by other threads. */
#include "block/decoder.h"
#include "shuffle/clock.h"
#include "shuffle/reader.h"

/* Plain blocks above this size are read in place; below it a copy is cheap, and the block is likely to be joined. */
enum { DEFER_ABOVE = 1 << 16 };

static bool is_cancelled(const struct csf_reader *r) {
  return r->options.cancelled != NULL && __atomic_load_n(r->options.cancelled, __ATOMIC_RELAXED) != 0;
}

/*
 * A block that is as large as the whole limit is let through where nobody asked for a limit: blocks cannot be read in parts. A
 * quarter of the limit is for reading ahead, a quarter for what waits; the rest is for the block being decoded and what is
 * made.
 */
static enum colshuf_status open_source(struct csf_reader *r, struct colshuf_error *err) {
  struct csf_source_options options = {
      .allocator = r->allocator, .window = &r->window, .verify_checksums = r->options.verify_checksums != 0};
  options.exact_size = true;
  options.defer_above = DEFER_ABOVE;
  if (r->memory_limit / 4 < (1u << 20)) options.read_ahead = (size_t)(r->memory_limit / 4 + 1);
  if (r->options.memory_limit != 0) options.max_block_size = r->memory_limit;
  const struct colshuf_source *spec = &r->sources[r->next_source++];
  CSF_TRY(csf_source_open(&r->source, spec, &options, err));
  r->is_open = true;
  r->metrics->sources++;
  return COLSHUF_OK;
}

/* The next block of whatever source; size 0 = there is none any more. */
static enum colshuf_status fetch_block(struct csf_reader *r, struct csf_source_block *block, struct colshuf_error *err) {
  for (;;) {
    if (!r->is_open) {
      block->size = 0;
      if (r->next_source == r->n_sources) return COLSHUF_OK;
      CSF_TRY(open_source(r, err));
    }
    enum colshuf_status status = csf_source_next(&r->source, block, err);
    if (status == COLSHUF_OK && block->size > 0) return COLSHUF_OK;
    if (status == COLSHUF_OK) {
      csf_source_close(&r->source);
      r->is_open = false;
    } else if (status == COLSHUF_CORRUPT && r->options.skip_corrupt && !r->source.mismatched) {
      r->metrics->skipped_blocks++;
      csf_source_skip(&r->source);
    } else {
      return csf_source_fail_context(r->source.name, block, status, err);
    }
  }
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
  r->metrics->rows += (uint64_t)job->batch.length;
  uint64_t before = r->waiting.n_bytes;
  if (job->batch.length > 0) status = csf_waiting_add(&r->waiting, &job->batch, fit, job->is_borrowed, err);
  r->usual_size = r->waiting.n_bytes - before;
  if (job->batch.release != NULL) csf_block_fit_release(&r->schema, fit); /* nobody took it */
  return status;
}

static void keep_bytes(void *ctx) {
  (void)ctx; /* the caller does until the stream is released, and nothing borrowed is handed out */
}

/* Gives the job the bytes of its block. A window moves on, so that those who decode later need a copy. */
static enum colshuf_status load_job(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  const struct csf_source_block *block = &job->place;
  job->source_name = r->source.name;
  job->size = block->size;
  job->is_deferred = block->data == NULL;
  if (job->is_deferred) {
    /* A batch of a few of its columns must not keep all of the block in memory: those are copied when they are handed out. */
    job->is_borrowed = r->options.columns != NULL;
    return csf_plain_read(&r->plain, &r->source, block, &job->data, &job->owner, err);
  }
  job->data = block->data;
  if (r->source.bytes != NULL) {
    /* Small blocks will be joined, that is copied: no need to do so twice. */
    job->is_borrowed = block->size <= DEFER_ABOVE;
    if (job->is_borrowed) job->owner = (struct colshuf_bytes_owner){.retain = keep_bytes, .release = keep_bytes};
  } else if (r->ahead != NULL) {
    CSF_TRY(csf_buffer_append(&job->bytes, block->data, block->size, err));
    job->data = job->bytes.data;
  }
  return COLSHUF_OK;
}

static bool is_skipped(const struct csf_reader *r, enum colshuf_status status) {
  return status == COLSHUF_CORRUPT && r->options.skip_corrupt;
}

/* The next block becomes the job's; size 0 at the end. */
static enum colshuf_status fetch_job(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  uint64_t start = csf_now_ns();
  for (;;) {
    enum colshuf_status status = fetch_block(r, &job->place, err);
    if (status == COLSHUF_OK && job->place.size > 0) {
      status = load_job(r, job, err);
      if (is_skipped(r, status)) {
        r->metrics->skipped_blocks++;
        csf_source_forgive(&r->source);
        csf_job_clear(job);
        continue;
      }
      if (status != COLSHUF_OK) csf_source_fail_context(r->source.name, &job->place, status, err);
    }
    r->metrics->fetch_ns += csf_now_ns() - start;
    return status;
  }
}

/* Takes over what a decoded job has. */
static enum colshuf_status finish_job(struct csf_reader *r, struct csf_job *job, struct colshuf_error *err) {
  r->metrics->blocks++;
  r->metrics->bytes += job->size;
  enum colshuf_status status = job->status;
  if (status != COLSHUF_OK && err != NULL) *err = job->err;
  if (status == COLSHUF_OK) status = keep_batch(r, job, err);
  if (status == COLSHUF_OK && job->is_deferred) status = csf_plain_remember(&r->plain, job->data, job->size, job->schema, err);
  if (status == COLSHUF_OK) return COLSHUF_OK;
  if (!is_skipped(r, status)) return csf_source_fail_context(job->source_name, &job->place, status, err);
  r->metrics->skipped_blocks++;
  if (r->ahead == NULL) csf_source_forgive(&r->source);
  return COLSHUF_OK;
}

static enum colshuf_status read_one(struct csf_reader *r, struct colshuf_error *err) {
  struct csf_job job = {.bytes = {.allocator = r->allocator}};
  enum colshuf_status status = fetch_job(r, &job, err);
  r->ended = status == COLSHUF_OK && job.place.size == 0;
  if (status == COLSHUF_OK && !r->ended) {
    uint64_t start = csf_now_ns();
    csf_job_decode(r->decoder, &job);
    uint64_t decoded = csf_now_ns();
    r->metrics->decode_ns += decoded - start;
    status = finish_job(r, &job, err);
    r->metrics->coalesce_ns += csf_now_ns() - decoded;
  }
  csf_job_clear(&job);
  return status;
}

/* Keeps the threads busy, within the limit for reading ahead. */
static void fetch_ahead(struct csf_reader *r) {
  bool none = csf_ahead_weight(r->ahead) == 0; /* one is always let through */
  while (!r->fetched_all && (none || csf_ahead_weight(r->ahead) + r->usual_size <= r->memory_limit / 4)) {
    struct csf_job *job = csf_ahead_claim(r->ahead);
    if (job == NULL) return;
    enum colshuf_status status = fetch_job(r, job, &r->fetch_err);
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
  if (job == NULL) {
    r->ended = true;
    if (r->fetch_err.status != COLSHUF_OK && err != NULL) *err = r->fetch_err;
    return r->fetch_err.status;
  }
  enum colshuf_status status = finish_job(r, job, err);
  csf_ahead_give_back(r->ahead, job);
  r->metrics->decode_ns += csf_now_ns() - start;
  return status;
}

enum colshuf_status csf_reader_read_block(struct csf_reader *r, struct colshuf_error *err) {
  if (is_cancelled(r)) return csf_fail(err, COLSHUF_CANCELLED, "reading was cancelled");
  return r->ahead == NULL ? read_one(r, err) : read_ahead(r, err);
}
