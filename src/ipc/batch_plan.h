/* SPDX-License-Identifier: Apache-2.0 */
/* What reading batches of one schema needs to know, worked out once; and the dictionaries read so far. */
#ifndef CSF_IPC_BATCH_PLAN_H
#define CSF_IPC_BATCH_PLAN_H

#include "ipc/batch_read.h"
#include "ipc/dictionary_growth.h"

/* How a column is read: kind CSF_COLUMN_GENERAL, or one of the flat layouts for which there is a quick way. */
enum csf_column_kind { CSF_COLUMN_GENERAL, CSF_COLUMN_BITS, CSF_COLUMN_FIXED, CSF_COLUMN_OFFSETS32, CSF_COLUMN_OFFSETS64 };
struct csf_column_plan {
  uint8_t kind;
  uint8_t n_buffers;
  uint8_t alignment; /* of the second buffer */
  bool is_text;      /* must be UTF-8 */
  int32_t width;     /* bytes a value, or an offset */
};

/* 64-bit values on 8 bytes, 128-bit and wider ones on 16; intervals as the structs that they are. */
uint32_t csf_value_alignment(const struct csf_field *field);

/* The dictionary of one id. Its batch is a struct of one column: the values. */
struct csf_dictionary_plan {
  int64_t id;
  struct csf_field root;
  struct csf_column_plan column;
  struct csf_array_shape *shape;
};

struct csf_batch_plan {
  struct colshuf_allocator allocator;
  struct csf_schema *schema;
  struct csf_array_shape *shape;
  struct csf_column_plan *columns;
  struct csf_dictionary_plan *dictionaries; /* sorted by id */
  size_t n_dictionaries;
  size_t dictionaries_capacity;
};

/* Values that batches share: reference-counted, immutable. */
struct csf_dictionary_values {
  atomic_size_t references;
  struct colshuf_allocator allocator;
  struct ArrowArray array; /* the values */
};

/* What has come of one id: nothing while both are NULL. */
struct csf_dictionary {
  struct csf_dictionary_values *values; /* NULL where growth has taken them over, until a batch asks for them */
  struct csf_growth *growth;            /* NULL before the first delta */
  uint64_t size;                        /* bytes, as max_dictionary_size counts them */
  uint64_t joined_size;                 /* bytes that deltas have copied for which growth does not suit */
};

struct csf_dictionaries {
  struct colshuf_allocator allocator;
  uint64_t size; /* of all */
  size_t n; /* as in the plan, in its order */
  struct csf_dictionary items[];
};

static inline bool csf_dictionary_is_known(const struct csf_dictionary *dictionary) {
  return dictionary->values != NULL || dictionary->growth != NULL;
}

/* Forgets what has come of it. */
void csf_dictionary_clear(struct csf_dictionary *dictionary);

/* The values of a dictionary that is known, as they are now; the caller takes a reference of its own. field: theirs. */
enum colshuf_status csf_dictionary_show(struct csf_dictionary *dictionary, const struct csf_field *field,
                                        const struct colshuf_allocator *allocator, struct csf_dictionary_values **out,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;

/* The place of an id among plan->dictionaries, or n_dictionaries. */
size_t csf_batch_plan_find(const struct csf_batch_plan *plan, int64_t id);

void csf_dictionary_values_release(void *values); /* as csf_slab_attach calls it */

#endif
