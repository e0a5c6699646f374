/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoded blocks that wait to be handed out, and what is made of them: one block as it is, several as one batch, copied once: small
 * flat ones as they come, any others when all of them are there.
 */
#ifndef CSF_SHUFFLE_COALESCE_H
#define CSF_SHUFFLE_COALESCE_H

#include "shuffle/growing.h"
#include "shuffle/read_schema.h"

struct csf_waiting_block {
  struct ArrowArray batch;
  bool is_borrowed; /* from memory that must not go on living in what is handed out */
  struct csf_block_fit *fit; /* NULL: of the announced schema itself */
};

struct csf_waiting {
  const struct csf_read_schema *schema;
  struct colshuf_allocator allocator; /* of what is handed out */
  struct csf_growing growing;         /* its rows come before those of the blocks; there is one or there are the others */
  struct csf_waiting_block *blocks;
  size_t n;
  size_t capacity;
  int64_t n_rows;
  uint64_t n_bytes; /* about what the batches hold */
  uint64_t max_made; /* bytes of one batch handed out, as far as they are copied */
};

/* Ready for blocks that fit schema; target_rows or target_bytes, whichever comes first, are handed out at a time, about. */
void csf_waiting_init(struct csf_waiting *waiting, const struct csf_read_schema *schema, int64_t target_rows,
                      uint64_t target_bytes);

/* About what a decoded array takes: its offset is 0. */
uint64_t csf_decoded_bytes(const struct csf_field *field, const struct ArrowArray *array);

static inline bool csf_waiting_any(const struct csf_waiting *waiting) {
  return waiting->n_rows > 0;
}

/*
 * Takes batch and a reference of fit over; on failure both stay the caller's. Errors: CORRUPT (a null where none is announced), LIMIT (it
 * means more bytes than may be made), NO_MEMORY.
 */
enum colshuf_status csf_waiting_add(struct csf_waiting *waiting, struct ArrowArray *batch, struct csf_block_fit *fit,
                                    bool is_borrowed, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Makes *out of all that waits; of fewer blocks, if all would not fit 32-bit offsets or an index type: the rest goes on
 * waiting. Errors: LIMIT (a single block that does not fit), NO_MEMORY.
 */
enum colshuf_status csf_waiting_emit(struct csf_waiting *waiting, struct ArrowArray *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;

void csf_waiting_clear(struct csf_waiting *waiting);

#endif
