/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bulk memory of a writer: areas of some MiB in which things are laid one behind another, and which are emptied together when the rows in
 * them have been written. There are several lists of areas, each emptied by itself; emptied areas are used again, for any list: their
 * pages stay, nothing goes back to the system between one spill and the next.
 *
 * One thread lays things into lists. While others are lent to a second thread, that one may empty them (csf_areas_release), and who
 * finds no room waits for it.
 */
#ifndef CSF_SHUFFLE_AREAS_H
#define CSF_SHUFFLE_AREAS_H

#include <pthread.h>

#include "shuffle/budget.h"
#include "shuffle/columns.h"

struct csf_area;

enum { CSF_AREA_LISTS = 8 };

struct csf_areas {
  struct csf_budget *budget;
  size_t area_size;
  struct csf_area *used[CSF_AREA_LISTS]; /* of each the first is the one being filled */
  uint64_t taken[CSF_AREA_LISTS];        /* bytes of the areas of each */
  int list;       /* that things are laid into */
  int first_list; /* its stock: */
  int n_lists;    /* lists that may have `room` bytes together */
  uint64_t room;
  bool forced;    /* take memory beyond the limit */
  bool refused;   /* since the last reset: something was not given */
  uint64_t waited_ns;
  bool has_mutex;
  pthread_mutex_t mutex;
  pthread_cond_t released;
  struct csf_area *empty; /* under the mutex, as is: */
  bool lent;              /* another thread will release lists */
};

/* A place of one list to go back to. */
struct csf_areas_mark {
  struct csf_area *area;
  size_t used;
  int list;
};

/* One list (the first), and no bound to it but the budget's. */
void csf_areas_init(struct csf_areas *areas, struct csf_budget *budget, size_t area_size);
void csf_areas_clear(struct csf_areas *areas);

/* 64-byte aligned, not set to anything. NULL when there is no room (refused is set). */
void *csf_areas_alloc(struct csf_areas *areas, size_t size);

/* As memory of columns: growth copies, unless it is the last thing in its area; giving back does nothing. */
struct csf_column_memory csf_areas_memory(struct csf_areas *areas);

/* Marks list and goes on there. */
struct csf_areas_mark csf_areas_select(struct csf_areas *areas, int list);
void csf_areas_rewind(struct csf_areas *areas, struct csf_areas_mark mark);

/* Empties one list; all of them. */
void csf_areas_release(struct csf_areas *areas, int list);
void csf_areas_reset(struct csf_areas *areas);

/* While lent, csf_areas_alloc waits for room that is not there. */
void csf_areas_lend(struct csf_areas *areas, bool lent);

/* Gives the memory of empty areas back; returns how much it was. */
uint64_t csf_areas_trim(struct csf_areas *areas);

#endif
