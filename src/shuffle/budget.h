/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one writer, counted byte by byte. Two kinds: bulk (the rows that wait, in the areas of a pool), which the
 * writer asks for and can give up by spilling; and working memory (codec contexts, scratch, tables), which it needs to do
 * anything at all. A share of the limit is held back for working memory, so that it need not be asked for while spilling.
 */
#ifndef CSF_SHUFFLE_BUDGET_H
#define CSF_SHUFFLE_BUDGET_H

#include <stdatomic.h>

#include "base/memory.h"
#include "colshuf/shuffle.h"

struct csf_budget {
  struct colshuf_allocator below;     /* where memory comes from */
  struct colshuf_allocator allocator; /* working memory: counts, never refuses by itself. Any thread */
  struct colshuf_memory_manager manager;
  uint64_t limit;
  uint64_t held_back;  /* for working memory; more, where more is in use */
  _Atomic uint64_t bulk; /* in use; one thread at a time takes and gives */
  uint64_t granted;    /* by the manager */
  _Atomic uint64_t working;
  _Atomic uint64_t peak; /* of both kinds together */
};

/* In place: allocator refers to *budget, which must not move. limit > 0. */
void csf_budget_init(struct csf_budget *budget, const struct colshuf_allocator *below,
                     const struct colshuf_memory_manager *manager, uint64_t limit, uint64_t held_back);

/* Gives everything back to the manager; all memory must be free. */
void csf_budget_clear(struct csf_budget *budget);

/* Has the share for working memory granted: false when the manager does not give it. */
bool csf_budget_grant_working(struct csf_budget *budget);

/*
 * Bulk memory: NULL when the limit, the manager or the allocator refuses. forced: the limit does not count (one row that is
 * larger than the limit must go somewhere).
 */
void *csf_budget_take(struct csf_budget *budget, size_t size, bool forced);
void csf_budget_give(struct csf_budget *budget, void *pointer, size_t size);

/* Gives the manager what is granted but neither used nor held back. */
void csf_budget_release_unused(struct csf_budget *budget);

#endif
