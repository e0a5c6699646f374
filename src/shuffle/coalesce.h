/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoded blocks that wait to be handed out, and what is made of them: one block as it is, several as one batch, copied once.
 */
#ifndef CSF_SHUFFLE_COALESCE_H
#define CSF_SHUFFLE_COALESCE_H

#include "shuffle/read_schema.h"

struct csf_waiting_block {
  struct ArrowArray batch;
  bool is_borrowed; /* from memory that must not go on living in what is handed out */
  struct csf_block_fit *fit;
};

struct csf_waiting {
  const struct csf_read_schema *schema;
  struct colshuf_allocator allocator; /* of what is handed out */
  struct csf_waiting_block *blocks;
  size_t n;
  size_t capacity;
  int64_t n_rows;
  uint64_t n_bytes; /* about what the batches hold */
  uint64_t max_made; /* bytes of one batch handed out, as far as they are copied */
};

/* Takes batch and a reference of fit over; on failure (NO_MEMORY) both stay the caller's. */
enum colshuf_status csf_waiting_add(struct csf_waiting *waiting, struct ArrowArray *batch, struct csf_block_fit *fit,
                                    bool is_borrowed, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Makes *out of all that waits; of fewer blocks, if all would not fit 32-bit offsets or an index type: the rest goes on
 * waiting. Errors: CORRUPT (a null where none is announced), LIMIT (a single block that does not fit), NO_MEMORY.
 */
enum colshuf_status csf_waiting_emit(struct csf_waiting *waiting, struct ArrowArray *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;

void csf_waiting_clear(struct csf_waiting *waiting);

#endif
