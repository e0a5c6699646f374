/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/budget.h"

#include "base/bytes.h"

static uint64_t load(_Atomic uint64_t *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static void note_peak(struct csf_budget *budget) {
  uint64_t now = load(&budget->working) + budget->bulk;
  uint64_t peak = load(&budget->peak);
  while (now > peak && !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, now, memory_order_relaxed,
                                                              memory_order_relaxed)) {
  }
}

static void *counting_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  struct csf_budget *budget = ctx;
  void *result = budget->below.resize(budget->below.ctx, pointer, old_size, new_size);
  if (result == NULL && new_size != 0) return NULL;
  /* Unsigned: a shrinking size wraps around and so subtracts. */
  atomic_fetch_add_explicit(&budget->working, (uint64_t)new_size - (uint64_t)old_size, memory_order_relaxed);
  if (new_size > old_size) note_peak(budget);
  return result;
}

void csf_budget_init(struct csf_budget *budget, const struct colshuf_allocator *below,
                     const struct colshuf_memory_manager *manager, uint64_t limit, uint64_t held_back) {
  *budget = (struct csf_budget){.below = csf_allocator(below), .limit = limit, .held_back = held_back};
  budget->allocator = (struct colshuf_allocator){counting_resize, budget};
  if (manager != NULL) budget->manager = *manager;
}

void csf_budget_clear(struct csf_budget *budget) {
  if (budget->manager.release != NULL && budget->granted > 0) budget->manager.release(budget->manager.ctx, budget->granted);
  budget->granted = 0;
}

static uint64_t working_share(struct csf_budget *budget) {
  uint64_t working = load(&budget->working);
  return working > budget->held_back ? working : budget->held_back;
}

/* Asking costs the engine a lock and sometimes other tasks their memory: it is asked in steps. */
enum { GRANT_STEP = 1 << 20 };

static bool acquire_up_to(struct csf_budget *budget, uint64_t wanted) {
  if (budget->manager.acquire == NULL || wanted <= budget->granted) return true;
  uint64_t missing = wanted - budget->granted;
  uint64_t step = missing < GRANT_STEP ? GRANT_STEP : missing;
  uint64_t got = budget->manager.acquire(budget->manager.ctx, step);
  budget->granted += got < step ? got : step;
  return wanted <= budget->granted;
}

bool csf_budget_grant_working(struct csf_budget *budget) {
  return acquire_up_to(budget, budget->bulk + working_share(budget));
}

void *csf_budget_take(struct csf_budget *budget, size_t size, bool forced) {
  uint64_t wanted;
  if (csf_add_overflow(budget->bulk + working_share(budget), (uint64_t)size, &wanted)) return NULL;
  if (wanted > budget->limit && !forced) return NULL;
  if (!acquire_up_to(budget, wanted)) return NULL;
  void *pointer = csf_alloc(&budget->below, size);
  if (pointer == NULL) return NULL;
  budget->bulk += size;
  note_peak(budget);
  return pointer;
}

void csf_budget_give(struct csf_budget *budget, void *pointer, size_t size) {
  csf_free(&budget->below, pointer, size);
  budget->bulk -= size;
}

void csf_budget_release_unused(struct csf_budget *budget) {
  uint64_t needed = budget->bulk + working_share(budget);
  if (budget->manager.acquire == NULL || budget->granted <= needed) return;
  if (budget->manager.release != NULL) budget->manager.release(budget->manager.ctx, budget->granted - needed);
  budget->granted = needed;
}
