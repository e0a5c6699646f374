/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bulk memory of a writer: areas of some MiB in which things are laid one behind another, and which are emptied all together
 * when the rows in them have been written. Emptied areas are used again: their pages stay, nothing goes back to the system between
 * one spill and the next.
 */
#ifndef CSF_SHUFFLE_AREAS_H
#define CSF_SHUFFLE_AREAS_H

#include "shuffle/budget.h"
#include "shuffle/columns.h"

struct csf_area;

struct csf_areas {
  struct csf_budget *budget;
  size_t area_size;
  struct csf_area *used;  /* the first is the one being filled */
  struct csf_area *empty;
  bool forced;  /* take memory beyond the limit */
  bool refused; /* since the last reset: something was not given */
};

/* A place to go back to. */
struct csf_areas_mark {
  struct csf_area *area;
  size_t used;
};

void csf_areas_init(struct csf_areas *areas, struct csf_budget *budget, size_t area_size);
void csf_areas_clear(struct csf_areas *areas);

/* 64-byte aligned, not set to anything. NULL when there is no room (refused is set). */
void *csf_areas_alloc(struct csf_areas *areas, size_t size);

/* As memory of columns: growth copies, unless it is the last thing in its area; giving back does nothing. */
struct csf_column_memory csf_areas_memory(struct csf_areas *areas);

struct csf_areas_mark csf_areas_mark(const struct csf_areas *areas);
void csf_areas_rewind(struct csf_areas *areas, struct csf_areas_mark mark);
void csf_areas_reset(struct csf_areas *areas);

/* Gives the memory of empty areas back; returns how much it was. */
uint64_t csf_areas_trim(struct csf_areas *areas);

#endif
