/* SPDX-License-Identifier: Apache-2.0 */
/* The key columns of a schema: chosen, checked, and bound to batch after batch. */
#ifndef CSF_PARTITION_KEYS_H
#define CSF_PARTITION_KEYS_H

#include "colshuf/partition.h"
#include "partition/column.h"

struct csf_keys {
  struct csf_schema *schema;
  int32_t *indices; /* of the top-level columns */
  int32_t n_columns;
  struct csf_column *columns;
  struct csf_arena arena;
};

/*
 * Imports the schema and builds the columns indices[0..n_columns); indices NULL = the first n_columns, n_columns -1 = all.
 * Errors: INVALID_ARGUMENT (unknown or repeated column), UNSUPPORTED, LIMIT, NO_MEMORY. On failure nothing is left to clear.
 */
enum colshuf_status csf_keys_init(struct csf_keys *keys, const struct ArrowSchema *schema, const int32_t *indices,
                                  int32_t n_columns, enum csf_use use, const struct colshuf_allocator *allocator,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_keys_clear(struct csf_keys *keys); /* all-zero is fine */

/* Checks that batch fits the schema (not its values) and binds the columns to it. Errors: as csf_array_import_check. */
enum colshuf_status csf_keys_bind(struct csf_keys *keys, const struct ArrowArray *batch,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
