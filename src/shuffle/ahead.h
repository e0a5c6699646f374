/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks decoded ahead, by some threads, handed back in the order in which they came. One thread (the reader's) claims,
 * submits, takes and gives back; the others decode. A full queue holds the reader back, a slow reader the threads.
 */
#ifndef CSF_SHUFFLE_AHEAD_H
#define CSF_SHUFFLE_AHEAD_H

#include "shuffle/plain_block.h"

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
  /* What became of it. */
  enum colshuf_status status;
  struct colshuf_error err;
  struct ArrowArray batch;   /* release NULL = none */
  struct csf_schema *schema; /* retained; NULL = none */
};

/* Decodes a job whose bytes are there; frees all that a job has but the memory of its bytes. */
void csf_job_decode(struct colshuf_block_decoder *decoder, struct csf_job *job);
void csf_job_clear(struct csf_job *job);

struct csf_ahead;

/* Errors: IO (no thread can be made), NO_MEMORY, those of a decoder. options and wanted are for the decoder of each thread. */
enum colshuf_status csf_ahead_new(int n_threads, const struct colshuf_block_decoder_options *options,
                                  struct csf_column_set columns, struct csf_ahead **out,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_ahead_free(struct csf_ahead *ahead); /* drops what was not taken; NULL is fine */

/*
 * A place for a job, or NULL while there is none. It is the caller's until it is submitted; claiming again gives the same one.
 */
struct csf_job *csf_ahead_claim(struct csf_ahead *ahead);
void csf_ahead_submit(struct csf_ahead *ahead);

/* The weight of all that is on its way. */
uint64_t csf_ahead_weight(const struct csf_ahead *ahead);

/* The oldest job, decoded: waits for it. NULL when none was submitted. The caller takes its batch and schema, and gives it
 * back. */
struct csf_job *csf_ahead_take(struct csf_ahead *ahead);
void csf_ahead_give_back(struct csf_ahead *ahead, struct csf_job *job);

#endif
