/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader announces, and how the blocks it meets fit that: blocks of one shuffle may differ in more than their rows. */
#ifndef CSF_SHUFFLE_READ_SCHEMA_H
#define CSF_SHUFFLE_READ_SCHEMA_H

#include "arrow/array.h"
#include "colshuf/shuffle.h"

/*
 * Made of the expected schema, or of the first block's. In the latter case everything may be null (a later block may say so),
 * and in both dictionaries are unpacked unless they are to be kept.
 */
struct csf_read_schema {
  struct csf_schema *reference;  /* what blocks must match; all columns */
  struct csf_schema *announced;  /* the columns asked for */
  struct csf_array_shape *shape; /* of a batch of announced */
  bool is_expected;
  int32_t *columns; /* of a block, one for each of announced */
  bool *repeats;    /* of those: whether the same one came before */
  int32_t n_columns;
  struct colshuf_allocator allocator;
};

struct csf_read_columns {
  const int32_t *columns; /* NULL = all */
  int32_t n_columns;
};

/* reference is shared (retained). Errors: INVALID_ARGUMENT (no such column), LIMIT, NO_MEMORY. */
enum colshuf_status csf_read_schema_init(struct csf_read_schema *schema, struct csf_schema *reference, bool is_expected,
                                         bool keep_dictionaries, const struct csf_read_columns *wanted,
                                         const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_read_schema_clear(struct csf_read_schema *schema); /* all zero is fine */

/* What is to be done with one column of a block. */
struct csf_column_fit {
  bool direct;  /* its array can be handed out as it is, once */
  bool recheck; /* it may hold nulls where none are announced */
};

/* How blocks of one schema fit. Reference-counted, for one thread. */
struct csf_block_fit {
  int32_t references;
  struct csf_schema *schema;
  bool whole;   /* the batch can be handed out as it is */
  bool recheck; /* any column */
  bool is_flat; /* the columns wanted can be appended to a growing batch */
  struct csf_column_fit columns[];
};

/* *out has one reference. Errors: CORRUPT (another type: names column and types), NO_MEMORY. */
enum colshuf_status csf_block_fit_new(const struct csf_read_schema *schema, struct csf_schema *found,
                                      struct csf_block_fit **out, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_block_fit_release(const struct csf_read_schema *schema, struct csf_block_fit *fit); /* NULL is fine */

#endif
