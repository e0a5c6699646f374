/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which plain columns of a block go out as dictionaries: the few that have few distinct values, and only where the whole block was
 * found smaller that way. A block with a dictionary cannot have offsets as lengths, so it is one or the other for a block. Now and
 * then a block is made both ways and the smaller kind is kept for those that follow; in between the choice costs nothing.
 */
#ifndef CSF_BLOCK_CHOICE_H
#define CSF_BLOCK_CHOICE_H

#include "block/dictionary_build.h"
#include "colshuf/block.h"

struct csf_choice {
  struct colshuf_allocator allocator;
  const struct csf_schema *schema; /* as blocks without a choice have it; borrowed */
  bool enabled;                    /* some column can be turned */
  bool dictionaries;               /* what was found better last */
  int32_t blocks_left;             /* until both are tried again */
  uint8_t *eligible;               /* by column: type and place allow it */
  uint8_t *candidate;              /* by column: had few distinct values when last looked at */
  uint8_t *built;                  /* by column: turned in this block */
  struct csf_dictionary_build *builds; /* by column */
  uint8_t *named;                  /* by column: a dictionary in variant */
  struct csf_schema *variant;      /* schema with those; NULL = none yet */
};

enum { CSF_CHOICE_MIN_ROWS = 512 }; /* smaller blocks go out plain: a dictionary and its message have their own price */

enum colshuf_status csf_choice_init(struct csf_choice *choice, const struct csf_schema *schema, enum colshuf_compat compat,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_choice_clear(struct csf_choice *choice);

/* Makes the next csf_choice_apply say that the schema has changed. */
void csf_choice_forget(struct csf_choice *choice);

/* Looks at the first rows of each eligible column of batch; false when none is a candidate. */
enum colshuf_status csf_choice_sample(struct csf_choice *choice, const struct ArrowArray *batch, int64_t start, int64_t length,
                                      bool *any, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Turns the candidates: columns[i] of those that still have few distinct values is pointed to their dictionary array, and
 * choice->variant is the schema of that. *any is false when none was left.
 */
enum colshuf_status csf_choice_apply(struct csf_choice *choice, const struct ArrowArray *batch, int64_t start, int64_t length,
                                     struct ArrowArray *columns, bool *any, bool *schema_changed, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
