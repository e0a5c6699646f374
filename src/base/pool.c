/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <sched.h>
#include <stdatomic.h>

/*
 * Classes: four to each power of two, from 1 KiB to 2 GiB, so that at most a quarter of a block is unused. Larger blocks are not kept.
 */
enum { SMALLEST_SHIFT = 10, STEPS = 4, N_CLASSES = 21 * STEPS };

struct free_block {
  struct free_block *next;
};

/* All is behind one lock, held for a few instructions: a spin is cheaper than a mutex (one atomic operation to take it, none to leave). */
struct csf_pool {
  atomic_flag lock;
  bool closed;
  bool hit_limit;
  uint64_t used;
  uint64_t kept;
  uint64_t n_used; /* blocks */
  uint64_t max_kept;
  uint64_t max_held;
  struct colshuf_allocator allocator;
  struct free_block *free[N_CLASSES];
};

static void lock_pool(struct csf_pool *pool) {
  for (int turns = 0; atomic_flag_test_and_set_explicit(&pool->lock, memory_order_acquire); turns++) {
    if (turns >= 64) sched_yield();
  }
}

static void unlock_pool(struct csf_pool *pool) {
  atomic_flag_clear_explicit(&pool->lock, memory_order_release);
}

/* The class whose blocks take size bytes, or N_CLASSES. */
static int class_of(size_t size) {
  if (size <= (size_t)1 << SMALLEST_SHIFT) return 0;
  int shift = 63 - __builtin_clzll(size - 1);        /* 2^shift < size <= 2^(shift + 1) */
  size_t step = ((size - 1) >> (shift - 2)) & 3;     /* which quarter above 2^shift */
  int index = (shift - SMALLEST_SHIFT) * STEPS + (int)step + 1;
  return index < N_CLASSES ? index : N_CLASSES;
}

static size_t size_of_class(int index) {
  size_t base = (size_t)1 << (SMALLEST_SHIFT + index / STEPS);
  return base + (base / STEPS) * (size_t)(index % STEPS);
}

/* What a block for size bytes really takes. */
static size_t block_size(size_t size) {
  int index = class_of(size);
  return index == N_CLASSES ? size : size_of_class(index);
}

static void free_raw(struct csf_pool *pool, void *pointer, size_t size) {
  pool->allocator.resize(pool->allocator.ctx, pointer, size, 0);
}

/* Takes every kept block out; they are freed by the caller, without the lock. */
static struct free_block *take_all(struct csf_pool *pool, int *index) {
  for (; *index < N_CLASSES; ++*index) {
    struct free_block *first = pool->free[*index];
    if (first == NULL) continue;
    pool->free[*index] = first->next;
    pool->kept -= size_of_class(*index);
    return first;
  }
  return NULL;
}

static void drop_kept(struct csf_pool *pool) {
  int index = 0;
  for (;;) {
    lock_pool(pool);
    struct free_block *block = take_all(pool, &index);
    unlock_pool(pool);
    if (block == NULL) return;
    free_raw(pool, block, size_of_class(index));
  }
}

static void destroy(struct csf_pool *pool) {
  struct colshuf_allocator allocator = pool->allocator;
  csf_free(&allocator, pool, sizeof *pool);
}

/* Books size bytes as used, from a kept block where there is one (*out). False: beyond max_held. */
static bool book(struct csf_pool *pool, int index, size_t size, void **out) {
  lock_pool(pool);
  struct free_block *block = index < N_CLASSES ? pool->free[index] : NULL;
  if (block != NULL) {
    pool->free[index] = block->next;
    pool->kept -= size;
  }
  bool fits = pool->used + pool->kept + size <= pool->max_held;
  if (fits) {
    pool->used += size;
    pool->n_used++;
  } else {
    pool->hit_limit = true;
  }
  unlock_pool(pool);
  *out = block;
  return fits;
}

static void unbook(struct csf_pool *pool, size_t size) {
  lock_pool(pool);
  pool->used -= size;
  bool last = --pool->n_used == 0 && pool->closed;
  unlock_pool(pool);
  if (last) destroy(pool);
}

/* The last refusal is then not the limit's. */
static void refused_by_heap(struct csf_pool *pool, size_t size) {
  lock_pool(pool);
  pool->hit_limit = false;
  unlock_pool(pool);
  unbook(pool, size);
}

static void *allocate(struct csf_pool *pool, size_t wanted) {
  int index = class_of(wanted);
  size_t size = block_size(wanted);
  void *block;
  if (!book(pool, index, size, &block)) {
    drop_kept(pool); /* what is kept must not be the reason */
    if (!book(pool, index, size, &block)) return NULL;
  }
  if (block != NULL) return block;
  block = pool->allocator.resize(pool->allocator.ctx, NULL, 0, size);
  if (block == NULL) refused_by_heap(pool, size);
  return block;
}

static void release(struct csf_pool *pool, void *pointer, size_t wanted) {
  int index = class_of(wanted);
  size_t size = block_size(wanted);
  lock_pool(pool);
  bool keep = !pool->closed && index < N_CLASSES && pool->kept + size <= pool->max_kept;
  if (keep) {
    struct free_block *block = pointer;
    block->next = pool->free[index];
    pool->free[index] = block;
    pool->kept += size;
    pool->used -= size;
    pool->n_used--;
  }
  unlock_pool(pool);
  if (keep) return;
  free_raw(pool, pointer, size); /* still booked: the pool stays */
  unbook(pool, size);
}

static bool rebook(struct csf_pool *pool, size_t old_size, size_t new_size) {
  lock_pool(pool);
  bool fits = pool->used + pool->kept - old_size + new_size <= pool->max_held;
  if (fits) pool->used += new_size - old_size; /* wraps when it shrinks, and that is right */
  else pool->hit_limit = true;
  unlock_pool(pool);
  return fits;
}

/* Changes the size of a block in use by the machine's own means, which need not copy it and leave no smaller block behind. */
static void *resize_raw(struct csf_pool *pool, void *pointer, size_t old_size, size_t new_size) {
  if (!rebook(pool, old_size, new_size)) {
    drop_kept(pool);
    if (!rebook(pool, old_size, new_size)) return NULL;
  }
  void *moved = pool->allocator.resize(pool->allocator.ctx, pointer, old_size, new_size);
  if (moved != NULL) return moved;
  lock_pool(pool);
  pool->used -= new_size - old_size;
  unlock_pool(pool);
  return NULL;
}

/* A growing buffer asks for this: of large ones every step would else be kept. */
enum { COPIED_AT_MOST = 64 * 1024 };

static void *reallocate(struct csf_pool *pool, void *pointer, size_t old_size, size_t new_size) {
  size_t old_block = block_size(old_size), new_block = block_size(new_size);
  if (old_block == new_block) return pointer;
  if (old_block > COPIED_AT_MOST) return resize_raw(pool, pointer, old_block, new_block);
  void *moved = allocate(pool, new_size);
  if (moved == NULL) return NULL;
  memcpy(moved, pointer, old_size < new_size ? old_size : new_size);
  release(pool, pointer, old_size);
  return moved;
}

static void *pool_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  if (pointer == NULL) return new_size == 0 ? NULL : allocate(ctx, new_size);
  if (new_size != 0) return reallocate(ctx, pointer, old_size, new_size);
  release(ctx, pointer, old_size);
  return NULL;
}

enum colshuf_status csf_pool_new(const struct colshuf_allocator *wanted, uint64_t max_kept, uint64_t max_held, struct csf_pool **out,
                                 struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_pool *pool = csf_alloc_zero(&allocator, sizeof *pool);
  if (pool == NULL) return csf_fail_memory(err, sizeof *pool);
  pool->allocator = allocator;
  pool->max_kept = max_kept;
  pool->max_held = max_held;
  atomic_flag_clear(&pool->lock);
  *out = pool;
  return COLSHUF_OK;
}

struct colshuf_allocator csf_pool_allocator(struct csf_pool *pool) {
  return (struct colshuf_allocator){pool_resize, pool};
}

bool csf_pool_hit_limit(struct csf_pool *pool) {
  lock_pool(pool);
  bool hit = pool->hit_limit;
  pool->hit_limit = false;
  unlock_pool(pool);
  return hit;
}

uint64_t csf_pool_used(struct csf_pool *pool) {
  lock_pool(pool);
  uint64_t used = pool->used;
  unlock_pool(pool);
  return used;
}

uint64_t csf_pool_kept(struct csf_pool *pool) {
  lock_pool(pool);
  uint64_t kept = pool->kept;
  unlock_pool(pool);
  return kept;
}

void csf_pool_close(struct csf_pool *pool) {
  if (pool == NULL) return;
  lock_pool(pool);
  pool->closed = true;
  bool idle = pool->n_used == 0;
  if (!idle) pool->n_used++; /* so that the pool stays while the kept blocks go */
  unlock_pool(pool);
  drop_kept(pool);
  if (idle) destroy(pool);
  else unbook(pool, 0);
}
