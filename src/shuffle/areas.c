/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/areas.h"

#include "base/bytes.h"
#include "shuffle/clock.h"

struct csf_area {
  struct csf_area *next;
  size_t size; /* of the whole, this head included */
  size_t used;
  uint8_t padding[CSF_ALIGNMENT - sizeof(void *) - 2 * sizeof(size_t)];
};

/* Without a mutex, which the system hardly ever refuses, nothing can be lent. */
void csf_areas_init(struct csf_areas *areas, struct csf_budget *budget, size_t area_size) {
  *areas = (struct csf_areas){.budget = budget, .area_size = area_size, .n_lists = 1, .room = UINT64_MAX};
  if (pthread_mutex_init(&areas->mutex, NULL) != 0) return;
  areas->has_mutex = pthread_cond_init(&areas->released, NULL) == 0;
  if (!areas->has_mutex) pthread_mutex_destroy(&areas->mutex);
}

static void lock(struct csf_areas *areas) {
  if (areas->has_mutex) pthread_mutex_lock(&areas->mutex);
}

static void unlock(struct csf_areas *areas) {
  if (areas->has_mutex) pthread_mutex_unlock(&areas->mutex);
}

/* Under the mutex. */
static void move_to_empty(struct csf_areas *areas, int list) {
  struct csf_area *area = areas->used[list];
  areas->used[list] = area->next;
  areas->taken[list] -= area->size;
  area->next = areas->empty;
  area->used = sizeof *area;
  areas->empty = area;
}

/* The first empty area of at least size bytes; those of one row larger than an area are of any size. */
static struct csf_area *reuse_area(struct csf_areas *areas, size_t size) {
  for (struct csf_area **link = &areas->empty; *link != NULL; link = &(*link)->next) {
    struct csf_area *area = *link;
    if (area->size < size) continue;
    *link = area->next;
    return area;
  }
  return NULL;
}

static uint64_t trim(struct csf_areas *areas) {
  uint64_t freed = 0;
  while (areas->empty != NULL) {
    struct csf_area *area = areas->empty;
    areas->empty = area->next;
    freed += area->size;
    csf_budget_give(areas->budget, area, area->size);
  }
  return freed;
}

static struct csf_area *make_area(struct csf_areas *areas, size_t size) {
  struct csf_area *area = csf_budget_take(areas->budget, size, areas->forced);
  if (area == NULL && trim(areas) > 0) area = csf_budget_take(areas->budget, size, areas->forced);
  if (area == NULL) return NULL;
  csf_prefer_large_pages(area, size);
  *area = (struct csf_area){.size = size, .used = sizeof *area};
  return area;
}

/* Under the mutex. */
static struct csf_area *find_area(struct csf_areas *areas, size_t size) {
  for (;;) {
    struct csf_area *area = reuse_area(areas, size);
    if (area == NULL) area = make_area(areas, size);
    if (area != NULL || !areas->lent) return area;
    uint64_t begin = csf_now_ns();
    pthread_cond_wait(&areas->released, &areas->mutex);
    areas->waited_ns += csf_now_ns() - begin;
  }
}

/* Whether the stock may have so much more. What others hold does not count: how rows are cut into stocks must not depend on it. */
static bool has_room(const struct csf_areas *areas, size_t size) {
  uint64_t taken = 0;
  for (int i = 0; i < areas->n_lists; i++) taken += areas->taken[areas->first_list + i];
  return areas->forced || (taken <= areas->room && size <= areas->room - taken);
}

static bool add_area(struct csf_areas *areas, size_t size) {
  size_t whole = size + sizeof(struct csf_area);
  if (whole < areas->area_size) whole = areas->area_size;
  if (!has_room(areas, whole)) return false;
  lock(areas);
  struct csf_area *area = find_area(areas, whole);
  unlock(areas);
  if (area == NULL) return false;
  area->next = areas->used[areas->list];
  areas->used[areas->list] = area;
  areas->taken[areas->list] += area->size;
  return true;
}

void *csf_areas_alloc(struct csf_areas *areas, size_t size) {
  if (size > SIZE_MAX / 4) return NULL;
  size = csf_round_up(size, CSF_ALIGNMENT);
  struct csf_area *area = areas->used[areas->list];
  if (area == NULL || area->size - area->used < size) {
    if (!add_area(areas, size)) {
      areas->refused = true;
      return NULL;
    }
    area = areas->used[areas->list];
  }
  void *pointer = (uint8_t *)area + area->used;
  area->used += size;
  return pointer;
}

static bool is_last(const struct csf_area *area, const void *pointer, size_t size) {
  return area != NULL && (const uint8_t *)pointer + size == (const uint8_t *)area + area->used;
}

static void *areas_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  struct csf_areas *areas = ctx;
  struct csf_area *area = areas->used[areas->list];
  if (new_size == 0) return NULL;
  size_t old_whole = csf_round_up(old_size, CSF_ALIGNMENT), new_whole = csf_round_up(new_size, CSF_ALIGNMENT);
  if (pointer != NULL && new_whole >= old_whole && is_last(area, pointer, old_whole) &&
      area->size - area->used >= new_whole - old_whole) {
    area->used += new_whole - old_whole;
    return pointer;
  }
  void *result = csf_areas_alloc(areas, new_size);
  if (result != NULL && old_size > 0) memcpy(result, pointer, old_size < new_size ? old_size : new_size);
  return result;
}

struct csf_column_memory csf_areas_memory(struct csf_areas *areas) {
  return (struct csf_column_memory){areas_resize, areas};
}

struct csf_areas_mark csf_areas_select(struct csf_areas *areas, int list) {
  struct csf_area *area = areas->used[list];
  areas->list = list;
  return (struct csf_areas_mark){area, area == NULL ? 0 : area->used, list};
}

void csf_areas_rewind(struct csf_areas *areas, struct csf_areas_mark mark) {
  lock(areas);
  while (areas->used[mark.list] != mark.area) move_to_empty(areas, mark.list);
  unlock(areas);
  if (mark.area != NULL) mark.area->used = mark.used;
}

void csf_areas_release(struct csf_areas *areas, int list) {
  lock(areas);
  while (areas->used[list] != NULL) move_to_empty(areas, list);
  if (areas->has_mutex) pthread_cond_signal(&areas->released);
  unlock(areas);
}

void csf_areas_reset(struct csf_areas *areas) {
  for (int list = 0; list < CSF_AREA_LISTS; list++) csf_areas_release(areas, list);
  areas->forced = false;
  areas->refused = false;
}

void csf_areas_lend(struct csf_areas *areas, bool lent) {
  lock(areas);
  areas->lent = lent && areas->has_mutex;
  if (areas->has_mutex) pthread_cond_signal(&areas->released);
  unlock(areas);
}

uint64_t csf_areas_trim(struct csf_areas *areas) {
  lock(areas);
  uint64_t freed = trim(areas);
  unlock(areas);
  return freed;
}

void csf_areas_clear(struct csf_areas *areas) {
  csf_areas_reset(areas);
  csf_areas_trim(areas);
  if (areas->has_mutex) {
    pthread_cond_destroy(&areas->released);
    pthread_mutex_destroy(&areas->mutex);
  }
  areas->has_mutex = false;
}
