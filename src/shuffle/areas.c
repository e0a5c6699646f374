/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/areas.h"

#include "base/bytes.h"

struct csf_area {
  struct csf_area *next;
  size_t size; /* of the whole, this head included */
  size_t used;
  uint8_t padding[CSF_ALIGNMENT - sizeof(void *) - 2 * sizeof(size_t)];
};

void csf_areas_init(struct csf_areas *areas, struct csf_budget *budget, size_t area_size) {
  *areas = (struct csf_areas){.budget = budget, .area_size = area_size};
}

static void move_to_empty(struct csf_areas *areas) {
  struct csf_area *area = areas->used;
  areas->used = area->next;
  area->next = areas->empty;
  area->used = sizeof *area;
  areas->empty = area;
}

/* The first empty area of at least size bytes; those of one row larger than an area are of any size. */
static bool reuse_area(struct csf_areas *areas, size_t size) {
  for (struct csf_area **link = &areas->empty; *link != NULL; link = &(*link)->next) {
    struct csf_area *area = *link;
    if (area->size < size) continue;
    *link = area->next;
    area->next = areas->used;
    areas->used = area;
    return true;
  }
  return false;
}

static bool add_area(struct csf_areas *areas, size_t size) {
  size_t whole = size + sizeof(struct csf_area);
  if (whole < areas->area_size) whole = areas->area_size;
  if (reuse_area(areas, whole)) return true;
  struct csf_area *area = csf_budget_take(areas->budget, whole, areas->forced);
  if (area == NULL && csf_areas_trim(areas) > 0) area = csf_budget_take(areas->budget, whole, areas->forced);
  if (area == NULL) return false;
  csf_prefer_large_pages(area, whole);
  *area = (struct csf_area){.next = areas->used, .size = whole, .used = sizeof *area};
  areas->used = area;
  return true;
}

void *csf_areas_alloc(struct csf_areas *areas, size_t size) {
  if (size > SIZE_MAX / 4) return NULL;
  size = csf_round_up(size, CSF_ALIGNMENT);
  if (areas->used == NULL || areas->used->size - areas->used->used < size) {
    if (!add_area(areas, size)) {
      areas->refused = true;
      return NULL;
    }
  }
  void *pointer = (uint8_t *)areas->used + areas->used->used;
  areas->used->used += size;
  return pointer;
}

static bool is_last(const struct csf_areas *areas, const void *pointer, size_t size) {
  return areas->used != NULL && (const uint8_t *)pointer + size == (const uint8_t *)areas->used + areas->used->used;
}

static void *areas_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  struct csf_areas *areas = ctx;
  if (new_size == 0) return NULL;
  size_t old_whole = csf_round_up(old_size, CSF_ALIGNMENT), new_whole = csf_round_up(new_size, CSF_ALIGNMENT);
  if (pointer != NULL && new_whole >= old_whole && is_last(areas, pointer, old_whole) &&
      areas->used->size - areas->used->used >= new_whole - old_whole) {
    areas->used->used += new_whole - old_whole;
    return pointer;
  }
  void *result = csf_areas_alloc(areas, new_size);
  if (result != NULL && old_size > 0) memcpy(result, pointer, old_size < new_size ? old_size : new_size);
  return result;
}

struct csf_column_memory csf_areas_memory(struct csf_areas *areas) {
  return (struct csf_column_memory){areas_resize, areas};
}

struct csf_areas_mark csf_areas_mark(const struct csf_areas *areas) {
  return (struct csf_areas_mark){areas->used, areas->used == NULL ? 0 : areas->used->used};
}

void csf_areas_rewind(struct csf_areas *areas, struct csf_areas_mark mark) {
  while (areas->used != mark.area) move_to_empty(areas);
  if (areas->used != NULL) areas->used->used = mark.used;
}

void csf_areas_reset(struct csf_areas *areas) {
  while (areas->used != NULL) move_to_empty(areas);
  areas->forced = false;
  areas->refused = false;
}

uint64_t csf_areas_trim(struct csf_areas *areas) {
  uint64_t freed = 0;
  while (areas->empty != NULL) {
    struct csf_area *area = areas->empty;
    areas->empty = area->next;
    freed += area->size;
    csf_budget_give(areas->budget, area, area->size);
  }
  return freed;
}

void csf_areas_clear(struct csf_areas *areas) {
  csf_areas_reset(areas);
  csf_areas_trim(areas);
}
