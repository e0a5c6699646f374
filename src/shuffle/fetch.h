/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From sources to jobs: one job is one block with all that is needed to decode it, by whom and when ever. Whoever fetches takes one
 * source after another from a list that several may share.
 */
#ifndef CSF_SHUFFLE_FETCH_H
#define CSF_SHUFFLE_FETCH_H

#include <stdatomic.h>

#include "shuffle/plain_block.h"

enum { CSF_MOST_THREADS = 64 }; /* of one reader */

struct csf_job {
  struct csf_source_block place; /* where the block came from; its data is not good any more */
  const char *source_name;
  const uint8_t *data;
  size_t size;
  struct csf_buffer bytes;          /* what data points into, unless it has an owner */
  struct colshuf_bytes_owner owner; /* retain NULL = none */
  uint64_t weight;                  /* bytes that it will take, about */
  bool is_borrowed;                 /* as csf_waiting_block says */
  bool is_deferred;
  bool is_loaded; /* all that is above is there */
  /* What it took to get it. */
  uint64_t fetch_ns;
  uint64_t n_opened;  /* sources */
  uint64_t n_skipped; /* corrupt blocks */
  /* What became of it. */
  enum colshuf_status status;
  struct colshuf_error err;
  struct ArrowArray batch;   /* release NULL = none */
  struct csf_schema *schema; /* retained; NULL = none */
  uint64_t decoded_size;     /* of batch, about; 0 = none */
};

/* What the next block will take, decoded, by what the last ones did: as much as they, until that is long ago. 0 = not known. */
static inline uint64_t csf_expect_size(uint64_t usual, uint64_t size) {
  uint64_t less = usual - usual / 8;
  return size > less ? size : less;
}

/* Decodes a job whose bytes are there; frees all that a job has but the memory of its bytes. */
void csf_job_decode(struct colshuf_block_decoder *decoder, struct csf_job *job);
void csf_job_clear(struct csf_job *job);

/* Sources that nobody has taken yet: [next, n). */
struct csf_source_list {
  struct colshuf_source *sources;
  int32_t n;
  atomic_int next;
};

/* Of one thread. Those up to reserve_ctx are set by its owner, the rest by csf_fetcher_init. */
struct csf_fetcher {
  struct csf_source_list *list;
  const struct colshuf_read_options *options;
  size_t read_ahead;       /* as csf_source_options says */
  uint64_t max_block_size; /* the same */
  bool is_handed_on;     /* jobs are decoded after the next one is fetched: they get bytes of their own */
  void (*reserve)(void *ctx, size_t size); /* may be NULL: waits till there is room for a block of this size */
  void *reserve_ctx;
  bool is_open; /* source is */
  struct csf_source source;
  struct csf_buffer window; /* of source */
  struct csf_plain_reader plain;
};

/* batches: whose memory large plain blocks are read into; columns: the decoder's. */
void csf_fetcher_init(struct csf_fetcher *fetcher, const struct colshuf_allocator *batches, struct csf_column_set columns);
/* Memory that large blocks left behind is given back, but for bytes read ahead. */
void csf_fetcher_trim(struct csf_fetcher *fetcher);
void csf_fetcher_clear(struct csf_fetcher *fetcher); /* all zero is fine */

/*
 * The next block of whatever source becomes the job's, which was clear; place.size 0 at the end of all. Errors, with their place:
 * those of csf_source_open and csf_source_next, NO_MEMORY. What is skipped is counted.
 */
enum colshuf_status csf_fetch_job(struct csf_fetcher *fetcher, struct csf_job *job, struct colshuf_error *err) COLSHUF_MUST_USE;

/* After a job was decoded, by the thread that fetched it: what that teaches about the next. Errors: NO_MEMORY. */
enum colshuf_status csf_fetch_learn(struct csf_fetcher *fetcher, const struct csf_job *job, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Whether a failure of this status is to be passed over. */
static inline bool csf_fetch_skips(const struct csf_fetcher *fetcher, enum colshuf_status status) {
  return status == COLSHUF_CORRUPT && fetcher->options->skip_corrupt;
}

#endif
