/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionaries of the rows that wait in a writer. All batches share one dictionary for each dictionary-encoded field: as long
 * as they bring the same values nothing happens; new values are put behind the known ones, and the indices of that batch are
 * mapped. Where that cannot be (the index type is too narrow, the order has a meaning, the values are nested), the waiting rows
 * have to be written first, and the next dictionary starts afresh.
 */
#ifndef CSF_SHUFFLE_DICTIONARIES_H
#define CSF_SHUFFLE_DICTIONARIES_H

#include "shuffle/columns.h"

struct csf_dictionary;

struct csf_dictionaries_joined {
  struct csf_dictionary *list; /* in the order of a walk through the fields */
  int32_t n;
  uint64_t max_size; /* bytes of the values of one of them; beyond, it is called full */
  struct colshuf_allocator allocator;
};

enum colshuf_status csf_joined_init(struct csf_dictionaries_joined *joined, const struct csf_field *root, uint64_t max_size,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_joined_clear(struct csf_dictionaries_joined *joined);

/* Forgets all values: no row that waits refers to them any more. */
void csf_joined_reset(struct csf_dictionaries_joined *joined);

/*
 * Takes in the dictionaries of batch (valid, with rows). *full: that is not possible before a reset; after one it always is.
 * Values known until now keep their indices in every case.
 */
enum colshuf_status csf_joined_add(struct csf_dictionaries_joined *joined, const struct csf_field *root,
                                   const struct ArrowArray *batch, bool *full, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Makes columns map the indices of the batch last added (mapped), or take them as they are. */
void csf_joined_map(const struct csf_dictionaries_joined *joined, struct csf_columns *columns, bool mapped);

/* Makes columns show the joined dictionaries. */
void csf_joined_show(struct csf_dictionaries_joined *joined, struct csf_columns *columns);

#endif
