/* SPDX-License-Identifier: Apache-2.0 */
/* The Schema message: between csf_schema and flatbuffer metadata. formats.md B.2-B.5, B.9. */
#ifndef CSF_IPC_SCHEMA_MESSAGE_H
#define CSF_IPC_SCHEMA_MESSAGE_H

#include "arrow/schema.h"
#include "ipc/flatbuf_read.h"

/* Appends the whole framed message (continuation, size, metadata, padding to alignment 8 or 64), as arrow-rs builds it. */
enum colshuf_status csf_schema_message_write(const struct csf_schema *schema, uint32_t alignment, struct csf_buffer *out,
                                             struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Reads a verified Message flatbuffer (metadata alone, no framing) whose header is a Schema.
 * Errors: CORRUPT, UNSUPPORTED (big endian, V1-V3), LIMIT, NO_MEMORY.
 */
enum colshuf_status csf_schema_message_read(struct csf_span metadata, const struct colshuf_allocator *allocator,
                                            const struct colshuf_limits *limits, struct csf_schema **out,
                                            struct colshuf_error *err) COLSHUF_MUST_USE;

/* The same from the Schema table alone, which a file's footer holds as well. */
enum colshuf_status csf_schema_table_read(struct csf_fb_table table, const struct colshuf_allocator *allocator,
                                          const struct colshuf_limits *limits, struct csf_schema **out,
                                          struct colshuf_error *err) COLSHUF_MUST_USE;

/* Gives every dictionary of the schema its wire id: 0, 1, … in arrow-rs' order (a field's own after those nested inside its values). */
void csf_schema_number_dictionaries(struct csf_schema *schema);

#endif
