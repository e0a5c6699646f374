/* SPDX-License-Identifier: Apache-2.0 */
/* One record batch being read: shared by the walk over its columns (batch_read.c), the quick way (batch_plain.c) and dictionaries. */
#ifndef CSF_IPC_BATCH_READER_H
#define CSF_IPC_BATCH_READER_H

#include "ipc/batch_plan.h"
#include "ipc/body_read.h"

enum { CSF_SIZES_AT_HAND = 128 };

struct csf_batch_reader {
  const struct csf_batch_plan *plan;
  struct csf_dictionaries *dictionaries;
  const struct csf_batch_read_options *options;
  bool is_v4;
  int64_t length;
  struct csf_fb_vector nodes, variadic; /* data and count move on as they are taken */
  struct csf_body_reader body;
  uint8_t *lengths_memory; /* room in the slab for offsets that were lengths; NULL = allocate each */
  int64_t *sizes;          /* of the buffers taken, for csf_array_validate */
  size_t n_sizes;
  size_t sizes_capacity;
  struct colshuf_error *err;
};

/* An unknown level of trust is none. */
static inline enum csf_validate_level csf_validate_level_of(enum colshuf_trust trust) {
  if (trust == COLSHUF_TRUSTED_VERIFIED) return CSF_VALIDATE_ENDS;
  return trust == COLSHUF_TRUSTED_LOCAL ? CSF_VALIDATE_MEMORY : CSF_VALIDATE_FULL;
}

/* Prepares *reader for a message: everything but what open_batch finds out. sizes_at_hand has room for CSF_SIZES_AT_HAND. */
void csf_batch_reader_init(struct csf_batch_reader *reader, const struct csf_batch_plan *plan, const struct csf_message *message,
                           struct csf_dictionaries *dictionaries, const struct csf_batch_read_options *options,
                           int64_t *sizes_at_hand, struct colshuf_error *err);
void csf_batch_reader_clear(struct csf_batch_reader *reader, const int64_t *sizes_at_hand);

/* Takes rows, nodes and buffers of a message; batch is its RecordBatch table, which is not looked at where their places are known. */
enum colshuf_status csf_batch_reader_open(struct csf_batch_reader *reader, const struct csf_message *message,
                                          struct csf_fb_table batch) COLSHUF_MUST_USE;

/* Reads the opened batch, whose columns are those of root, into *out. copy: see struct csf_batch_read_options. */
enum colshuf_status csf_batch_reader_read(struct csf_batch_reader *reader, const struct csf_field *root,
                                          const struct csf_column_plan *columns, const struct csf_array_shape *shape, bool copy,
                                          struct ArrowArray *out) COLSHUF_MUST_USE;

/*
 * Reads and checks columns one after another as long as there is nothing odd about them; gives the number of those that are done. Of the next
 * one nothing was taken, and nothing is said about it: it is to be read the general way, which also finds the words for what
 * may be wrong. plans, fields and columns start at the first of n columns.
 */
int32_t csf_plain_columns_read(struct csf_batch_reader *reader, const struct csf_column_plan *plans, const struct csf_field *fields,
                               struct ArrowArray *const *columns, int32_t n);

#endif
