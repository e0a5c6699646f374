/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several encoders for the blocks of one writer. Which blocks carry dictionaries is found by trials, now and then, and holds for the
 * blocks that follow; so that the bytes do not depend on who encodes what, one encoder leads: it makes the trials, in order, and
 * the others are told.
 */
#ifndef CSF_BLOCK_ENCODER_H
#define CSF_BLOCK_ENCODER_H

#include <stdbool.h>

#include "base/status.h"
#include "colshuf/block.h"

/* Whether the next block, of n_rows, is one that the leader must make. */
bool csf_block_encoder_is_due(const struct colshuf_block_encoder *leader, int64_t n_rows);

/* The next block, of n_rows, is made by another. */
void csf_block_encoder_pass(struct colshuf_block_encoder *leader, int64_t n_rows);

/* follower, of the same schema and options, makes its blocks as the leader would until its next trial; none of its own. */
void csf_block_encoder_follow(struct colshuf_block_encoder *follower, const struct colshuf_block_encoder *leader);

#endif
