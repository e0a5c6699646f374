/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks decoded ahead, by some threads, handed back in the order in which they came. One thread (the reader's) claims,
 * submits, takes and gives back; the others decode. A full queue holds the reader back, a slow reader the threads.
 */
#ifndef CSF_SHUFFLE_AHEAD_H
#define CSF_SHUFFLE_AHEAD_H

#include "shuffle/fetch.h"

struct csf_ahead;

/*
 * n_threads: CSF_MOST_THREADS at most. options and columns are for the decoder of each thread. most: weight above which no further job is
 * decoded but the oldest one, whatever was submitted. Errors: IO (no thread can be made),
 * NO_MEMORY, those of a decoder.
 */
enum colshuf_status csf_ahead_new(int n_threads, const struct colshuf_block_decoder_options *options,
                                  struct csf_column_set columns, uint64_t most, struct csf_ahead **out,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_ahead_free(struct csf_ahead *ahead); /* drops what was not taken; NULL is fine */

/*
 * A place for a job, or NULL while there is none. It is the caller's until it is submitted; claiming again gives the same one.
 */
struct csf_job *csf_ahead_claim(struct csf_ahead *ahead);
void csf_ahead_submit(struct csf_ahead *ahead);

/* The weight of all that is on its way. */
uint64_t csf_ahead_weight(struct csf_ahead *ahead);

/* The oldest job, decoded: waits for it. NULL when none was submitted. The caller takes its batch and schema, and gives it
 * back. */
struct csf_job *csf_ahead_take(struct csf_ahead *ahead);
void csf_ahead_give_back(struct csf_ahead *ahead, struct csf_job *job);

#endif
