/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordBatch and DictionaryBatch messages read: verified metadata and a body become an ArrowArray. formats.md B.6, B.8-B.11.
 * What a schema implies is worked out once, in a plan; a batch is then one pass over nodes and buffers.
 */
#ifndef CSF_IPC_BATCH_READ_H
#define CSF_IPC_BATCH_READ_H

#include "arrow/array.h"
#include "codec/codec.h"
#include "ipc/message.h"

struct csf_batch_plan; /* for one schema; immutable; shares the schema */

enum colshuf_status csf_batch_plan_new(struct csf_schema *schema, const struct colshuf_allocator *allocator,
                                       struct csf_batch_plan **out, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_batch_plan_free(struct csf_batch_plan *plan);
size_t csf_batch_plan_n_dictionaries(const struct csf_batch_plan *plan); /* different ids */

/* The dictionaries of one stream or block, by id. */
struct csf_dictionaries;
enum colshuf_status csf_dictionaries_new(const struct csf_batch_plan *plan, const struct colshuf_allocator *allocator,
                                         struct csf_dictionaries **out, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_dictionaries_reset(struct csf_dictionaries *dictionaries); /* forgets all values */
void csf_dictionaries_free(struct csf_dictionaries *dictionaries);

/* Which columns of a batch are wanted: those whose place in wanted[0..n) is not 0. wanted NULL = all. */
struct csf_column_set {
  const uint8_t *wanted;
  int32_t n;
};

/* How to read; borrowed by the calls. */
struct csf_batch_read_options {
  struct colshuf_allocator allocator;
  enum colshuf_trust trust;
  const struct colshuf_limits *limits;
  struct csf_codec *codec; /* for body compression */
  bool copy; /* true: the body is copied into the array's own memory; false: the array borrows body (aligned copies are made of misaligned buffers only) */
  bool any_alignment; /* what is borrowed may stand at any address: the caller copies values, and does so bytewise */
  struct csf_column_set columns; /* the others are neither copied nor looked at: they come out empty, with no buffers */
  bool offsets_as_lengths; /* the body holds transposed lengths: they are turned into offsets in new memory */
};

/*
 * Decodes one RecordBatch message into *out (a struct array, offset 0). *slab (may be NULL) lets the caller attach what the
 * body borrows from. Guards G16, G20, G21. Errors: CORRUPT, LIMIT, UNSUPPORTED, NO_MEMORY.
 */
enum colshuf_status csf_batch_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                   struct csf_dictionaries *dictionaries, const struct csf_batch_read_options *options,
                                   struct ArrowArray *out, struct csf_slab **slab, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Takes a DictionaryBatch message: replaces, or appends a delta. Guard G19. The values are always copied. */
enum colshuf_status csf_dictionary_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                        const struct csf_batch_read_options *options, struct csf_dictionaries *dictionaries,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
