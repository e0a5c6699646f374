/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schemas met last, by the raw bytes of their messages: a hit needs every byte equal, and then everything that parsing and
 * checking those bytes would give is there already.
 */
#ifndef CSF_BLOCK_SCHEMA_CACHE_H
#define CSF_BLOCK_SCHEMA_CACHE_H

#include "ipc/batch_read.h"
#include "ipc/message_shape.h"
#include "ipc/schema_message.h"

struct csf_cached_schema {
  struct csf_buffer framing; /* the whole message; size 0 = never found again */
  struct csf_schema *schema;
  struct csf_batch_plan *plan;
  struct csf_dictionaries *dictionaries; /* of the block at hand */
  struct csf_message_shape *shapes;      /* of the messages behind the schema, by their place, as met last */
  size_t n_shapes;
  size_t decompressed_size;              /* of the last block: where the next one's buffer starts */
};

enum { CSF_SCHEMA_CACHE_SIZE = 4 };

/* Most recently used first. All zero but the allocator is empty. */
struct csf_schema_cache {
  struct colshuf_allocator allocator;
  struct csf_cached_schema *entries[CSF_SCHEMA_CACHE_SIZE];
  uint64_t n_parsed; /* messages that were not found */
};

void csf_schema_cache_clear(struct csf_schema_cache *cache);

/*
 * Takes the Schema message that must stand first in *cursor. start as for csf_message_take. *out is good until four other schemas
 * have come. expected (may be NULL): A.8, guard G22. Errors: CORRUPT, UNSUPPORTED, LIMIT, NO_MEMORY.
 */
enum colshuf_status csf_schema_cache_take(struct csf_schema_cache *cache, struct csf_cursor *cursor, const uint8_t *start,
                                          const struct colshuf_limits *limits, const struct csf_schema *expected,
                                          struct csf_cached_schema **out, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
