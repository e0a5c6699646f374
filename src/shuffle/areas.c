/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/areas.h"

#include "base/bytes.h"

struct csf_area {
  struct csf_area *next;
  size_t size; /* of the whole, this head included */
  size_t used;
  uint8_t padding[CSF_ALIGNMENT - sizeof(void *) - 2 * sizeof(size_t)];
};

void csf_areas_init(struct csf_areas *pool, struct csf_budget *budget, size_t area_size) {
  *pool = (struct csf_areas){.budget = budget, .area_size = area_size};
}

static void move_to_empty(struct csf_areas *pool) {
  struct csf_area *area = pool->used;
  pool->used = area->next;
  area->next = pool->empty;
  area->used = sizeof *area;
  pool->empty = area;
}

/* The first empty area of at least size bytes; those of one row larger than an area are of any size. */
static bool reuse_area(struct csf_areas *pool, size_t size) {
  for (struct csf_area **link = &pool->empty; *link != NULL; link = &(*link)->next) {
    struct csf_area *area = *link;
    if (area->size < size) continue;
    *link = area->next;
    area->next = pool->used;
    pool->used = area;
    return true;
  }
  return false;
}

static bool add_area(struct csf_areas *pool, size_t size) {
  size_t whole = size + sizeof(struct csf_area);
  if (whole < pool->area_size) whole = pool->area_size;
  if (reuse_area(pool, whole)) return true;
  struct csf_area *area = csf_budget_take(pool->budget, whole, pool->forced);
  if (area == NULL && csf_areas_trim(pool) > 0) area = csf_budget_take(pool->budget, whole, pool->forced);
  if (area == NULL) return false;
  *area = (struct csf_area){.next = pool->used, .size = whole, .used = sizeof *area};
  pool->used = area;
  return true;
}

void *csf_areas_alloc(struct csf_areas *pool, size_t size) {
  if (size > SIZE_MAX / 4) return NULL;
  size = csf_round_up(size, CSF_ALIGNMENT);
  if (pool->used == NULL || pool->used->size - pool->used->used < size) {
    if (!add_area(pool, size)) {
      pool->refused = true;
      return NULL;
    }
  }
  void *pointer = (uint8_t *)pool->used + pool->used->used;
  pool->used->used += size;
  return pointer;
}

static bool is_last(const struct csf_areas *pool, const void *pointer, size_t size) {
  return pool->used != NULL && (const uint8_t *)pointer + size == (const uint8_t *)pool->used + pool->used->used;
}

static void *pool_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  struct csf_areas *pool = ctx;
  if (new_size == 0) return NULL;
  size_t old_whole = csf_round_up(old_size, CSF_ALIGNMENT), new_whole = csf_round_up(new_size, CSF_ALIGNMENT);
  if (pointer != NULL && new_whole >= old_whole && is_last(pool, pointer, old_whole) &&
      pool->used->size - pool->used->used >= new_whole - old_whole) {
    pool->used->used += new_whole - old_whole;
    return pointer;
  }
  void *result = csf_areas_alloc(pool, new_size);
  if (result != NULL && old_size > 0) memcpy(result, pointer, old_size < new_size ? old_size : new_size);
  return result;
}

struct csf_column_memory csf_areas_memory(struct csf_areas *pool) {
  return (struct csf_column_memory){pool_resize, pool};
}

struct csf_areas_mark csf_areas_mark(const struct csf_areas *pool) {
  return (struct csf_areas_mark){pool->used, pool->used == NULL ? 0 : pool->used->used};
}

void csf_areas_rewind(struct csf_areas *pool, struct csf_areas_mark mark) {
  while (pool->used != mark.area) move_to_empty(pool);
  if (pool->used != NULL) pool->used->used = mark.used;
}

void csf_areas_reset(struct csf_areas *pool) {
  while (pool->used != NULL) move_to_empty(pool);
  pool->forced = false;
  pool->refused = false;
}

uint64_t csf_areas_trim(struct csf_areas *pool) {
  uint64_t freed = 0;
  while (pool->empty != NULL) {
    struct csf_area *area = pool->empty;
    pool->empty = area->next;
    freed += area->size;
    csf_budget_give(pool->budget, area, area->size);
  }
  return freed;
}

void csf_areas_clear(struct csf_areas *pool) {
  csf_areas_reset(pool);
  csf_areas_trim(pool);
}
