/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that comes back: blocks freed here are kept, by size class, for the next allocation. Page faults of fresh memory cost as
 * much as decoding into it. The pool is an allocator like any other; it lives until its owner has closed it and the last
 * block has been freed, from whatever thread.
 */
#ifndef CSF_BASE_POOL_H
#define CSF_BASE_POOL_H

#include "base/memory.h"

struct csf_pool;

/* max_kept: bytes of freed blocks that stay; max_held: bytes in use and kept together, beyond which allocations are refused. */
enum colshuf_status csf_pool_new(const struct colshuf_allocator *allocator, uint64_t max_kept, uint64_t max_held, struct csf_pool **out,
                                 struct colshuf_error *err) COLSHUF_MUST_USE;

/* Its allocator, thread-safe. */
struct colshuf_allocator csf_pool_allocator(struct csf_pool *pool);

/* Whether the last refusal was due to max_held, and forgets it. */
bool csf_pool_hit_limit(struct csf_pool *pool);

/* Bytes in use by others; bytes kept. */
uint64_t csf_pool_used(struct csf_pool *pool);
uint64_t csf_pool_kept(struct csf_pool *pool);

/* The owner is done: keeps nothing any more. NULL is fine. */
void csf_pool_close(struct csf_pool *pool);

#endif
