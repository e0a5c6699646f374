/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/fetch.h"

#include "block/decoder.h"
#include "shuffle/clock.h"
#include "shuffle/coalesce.h"

/* Plain blocks above this size are read in place; below it a copy is cheap, and the block is likely to be joined. */
enum { DEFER_ABOVE = 1 << 16 };

void csf_job_decode(struct colshuf_block_decoder *decoder, struct csf_job *job) {
  size_t consumed;
  const struct colshuf_bytes_owner *owner = job->owner.retain != NULL ? &job->owner : NULL;
  job->status = job->is_borrowed /* and so joined */
                    ? csf_block_decoder_decode_to_copy(decoder, job->data, job->size, owner, &job->batch, &job->err)
                    : colshuf_block_decoder_decode(decoder, job->data, job->size, owner, &consumed, NULL, &job->batch, &job->err);
  if (job->status != COLSHUF_OK) return;
  job->schema = csf_schema_retain(csf_block_decoder_schema(decoder));
  job->decoded_size = csf_decoded_bytes(&job->schema->root, &job->batch);
}

void csf_job_clear(struct csf_job *job) {
  if (job->batch.release != NULL) job->batch.release(&job->batch);
  if (job->is_deferred && job->owner.release != NULL) job->owner.release(job->owner.ctx);
  csf_schema_release(job->schema);
  *job = (struct csf_job){.bytes = job->bytes};
  job->bytes.size = 0;
}

void csf_fetcher_init(struct csf_fetcher *fetcher, const struct colshuf_allocator *batches, struct csf_column_set columns) {
  csf_buffer_init(&fetcher->window, &fetcher->options->allocator);
  csf_plain_reader_init(&fetcher->plain, batches, columns);
}

void csf_fetcher_clear(struct csf_fetcher *fetcher) {
  csf_plain_reader_clear(&fetcher->plain);
  if (fetcher->is_open) csf_source_close(&fetcher->source);
  fetcher->is_open = false;
  csf_buffer_clear(&fetcher->window);
}

void csf_fetcher_trim(struct csf_fetcher *fetcher) {
  if (fetcher->is_open) csf_source_trim(&fetcher->source);
  else csf_buffer_clear(&fetcher->window);
}

static enum colshuf_status open_source(struct csf_fetcher *f, int32_t number, struct colshuf_error *err) {
  struct csf_source_options options = {.allocator = f->options->allocator,
                                       .window = &f->window,
                                       .read_ahead = f->read_ahead,
                                       .max_block_size = f->max_block_size,
                                       .defer_above = DEFER_ABOVE,
                                       .exact_size = true,
                                       .verify_checksums = f->options->verify_checksums != 0,
                                       .reserve = f->reserve,
                                       .reserve_ctx = f->reserve_ctx};
  CSF_TRY(csf_source_open(&f->source, &f->list->sources[number], &options, err));
  f->is_open = true;
  return COLSHUF_OK;
}

/* Sources are taken once each, by whomever. */
static bool take_source(struct csf_source_list *list, int32_t *number) {
  int next = atomic_load_explicit(&list->next, memory_order_relaxed);
  do {
    if (next >= list->n) return false;
  } while (!atomic_compare_exchange_weak_explicit(&list->next, &next, next + 1, memory_order_relaxed, memory_order_relaxed));
  *number = next;
  return true;
}

/* The next block of whatever source; size 0 = there is none any more. */
static enum colshuf_status fetch_block(struct csf_fetcher *f, struct csf_job *job, struct colshuf_error *err) {
  for (;;) {
    int32_t number;
    if (!f->is_open) {
      job->place.size = 0;
      if (!take_source(f->list, &number)) return COLSHUF_OK;
      CSF_TRY(open_source(f, number, err));
      job->n_opened++;
    }
    enum colshuf_status status = csf_source_next(&f->source, &job->place, err);
    if (status == COLSHUF_OK && job->place.size > 0) return COLSHUF_OK;
    if (status == COLSHUF_OK) {
      csf_source_close(&f->source);
      f->is_open = false;
    } else if (csf_fetch_skips(f, status) && !f->source.mismatched) {
      job->n_skipped++;
      csf_source_skip(&f->source);
    } else {
      return csf_source_fail_context(f->source.name, &job->place, status, err);
    }
  }
}

static void keep_bytes(void *ctx) {
  (void)ctx; /* the caller does until the stream is released, and nothing borrowed is handed out */
}

/* Gives the job the bytes of its block. A window moves on, so that those who decode later need a copy. */
static enum colshuf_status load_job(struct csf_fetcher *f, struct csf_job *job, struct colshuf_error *err) {
  const struct csf_source_block *block = &job->place;
  job->source_name = f->source.name;
  job->size = block->size;
  job->is_deferred = block->data == NULL;
  if (job->is_deferred) {
    /* A batch of a few of its columns must not keep all of the block in memory: those are copied when they are handed out. */
    job->is_borrowed = f->options->columns != NULL;
    return csf_plain_read(&f->plain, &f->source, block, &job->data, &job->owner, err);
  }
  job->data = block->data;
  if (f->source.bytes != NULL) {
    /* Small blocks will be joined, that is copied: no need to do so twice. */
    job->is_borrowed = block->size <= DEFER_ABOVE;
    if (job->is_borrowed) job->owner = (struct colshuf_bytes_owner){.retain = keep_bytes, .release = keep_bytes};
  } else if (f->is_handed_on) {
    CSF_TRY(csf_buffer_append(&job->bytes, block->data, block->size, err));
    job->data = job->bytes.data;
  }
  return COLSHUF_OK;
}

/* What a job counted so far outlives its being cleared, and so does what was reserved for it. */
static void clear_skipped(struct csf_job *job) {
  uint64_t n_opened = job->n_opened, n_skipped = job->n_skipped + 1, weight = job->weight;
  csf_job_clear(job);
  job->weight = weight;
  job->n_opened = n_opened;
  job->n_skipped = n_skipped;
}

enum colshuf_status csf_fetch_job(struct csf_fetcher *f, struct csf_job *job, struct colshuf_error *err) {
  uint64_t start = csf_now_ns();
  for (;;) {
    enum colshuf_status status = fetch_block(f, job, err);
    if (status == COLSHUF_OK && job->place.size > 0) {
      status = load_job(f, job, err);
      if (csf_fetch_skips(f, status)) {
        csf_source_forgive(&f->source);
        clear_skipped(job);
        continue;
      }
      if (status != COLSHUF_OK) csf_source_fail_context(f->source.name, &job->place, status, err);
      job->is_loaded = status == COLSHUF_OK;
    }
    job->fetch_ns = csf_now_ns() - start;
    return status;
  }
}

enum colshuf_status csf_fetch_learn(struct csf_fetcher *f, const struct csf_job *job, struct colshuf_error *err) {
  /* Its checksum cannot be right. Where others decode, the source may be in another partition by now. */
  if (csf_fetch_skips(f, job->status) && !f->is_handed_on) csf_source_forgive(&f->source);
  if (job->status != COLSHUF_OK || !job->is_deferred) return COLSHUF_OK;
  return csf_plain_remember(&f->plain, job->data, job->size, job->schema, err);
}
