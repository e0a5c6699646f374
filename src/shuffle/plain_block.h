/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks without compression, read from a file straight to where their batch will lie: nothing is copied afterwards, and
 * of columns that nobody wants not even the bytes are read.
 */
#ifndef CSF_SHUFFLE_PLAIN_BLOCK_H
#define CSF_SHUFFLE_PLAIN_BLOCK_H

#include "arrow/schema.h"
#include "ipc/batch_read.h"
#include "shuffle/source.h"

/* Of one reader. */
struct csf_plain_reader {
  struct colshuf_allocator allocator; /* of the memory of blocks */
  struct csf_column_set columns;      /* wanted NULL = all */
  struct csf_buffer framing;          /* the schema message of the block before */
  struct csf_schema *schema;          /* what that says; shared, retained; NULL = not known */
};

void csf_plain_reader_init(struct csf_plain_reader *reader, const struct colshuf_allocator *allocator,
                           struct csf_column_set columns);
void csf_plain_reader_clear(struct csf_plain_reader *reader);

/*
 * Memory for, and the bytes of, a block that csf_source_next has deferred. *data is good for the decoder (whose columns must be
 * the reader's) with *owner, until that is released; the caller releases it once, whatever became of the block. Errors: CORRUPT
 * (the file ends), IO, NO_MEMORY.
 */
enum colshuf_status csf_plain_read(struct csf_plain_reader *reader, struct csf_source *source,
                                   const struct csf_source_block *block, const uint8_t **data,
                                   struct colshuf_bytes_owner *owner, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Tells the schema of the block that was read last and decoded: the next one is then likely to be read in parts. */
enum colshuf_status csf_plain_remember(struct csf_plain_reader *reader, const uint8_t *data, size_t size,
                                       struct csf_schema *schema, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
