/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources side by side: some threads each fetch and decode one source after another, and blocks are taken as they arrive, those
 * of one source in their order. A slow source holds up its own thread alone; a slow reader holds up all.
 */
#ifndef CSF_SHUFFLE_ARRIVAL_H
#define CSF_SHUFFLE_ARRIVAL_H

#include "shuffle/fetch.h"

struct csf_arrival;

/*
 * n_threads: CSF_MOST_THREADS at most. model: what the fetcher of each thread is like. decoder: options of the decoder of each
 * thread, columns what it decodes. most: bytes on their way, above which no further block is read unless it is the only one.
 * Errors: IO (no thread can be made), NO_MEMORY, those of a decoder.
 */
enum colshuf_status csf_arrival_new(int n_threads, const struct csf_fetcher *model, const struct colshuf_block_decoder_options *decoder,
                                    struct csf_column_set columns, uint64_t most, struct csf_arrival **out,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_arrival_start(struct csf_arrival *arrival); /* before that no source is touched */
void csf_arrival_free(struct csf_arrival *arrival); /* waits for reads that have begun, drops what was not taken; NULL is fine */

/*
 * The job that arrived first, decoded or failed: waits for it, in vain once *cancelled (may be NULL) is not 0. NULL then, or at the end
 * of all sources; a job that is not loaded has nothing but counts, or a failure. The caller takes what it wants of it and gives it back.
 */
struct csf_job *csf_arrival_take(struct csf_arrival *arrival, const int *cancelled);
void csf_arrival_give_back(struct csf_arrival *arrival, struct csf_job *job);

#endif
