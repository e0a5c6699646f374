/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that every written message is made of: the Message table around a header, the frame around metadata. formats.md B.1. */
#ifndef CSF_IPC_MESSAGE_WRITE_H
#define CSF_IPC_MESSAGE_WRITE_H

#include "arrow/schema.h"
#include "ipc/flatbuf_build.h"

/* The Message table, version V5, around a header of the given code. */
csf_flatbuf_ref csf_message_table(struct csf_flatbuf *b, uint8_t header_code, csf_flatbuf_ref header, int64_t body_size);

/* The Schema table: header of the Schema message, and part of a file's footer. */
csf_flatbuf_ref csf_schema_table(struct csf_flatbuf *b, const struct csf_schema *schema);

/* Appends continuation word, size, metadata and zeros up to a multiple of alignment (8 or 64). Errors: NO_MEMORY. */
enum colshuf_status csf_frame_append(struct csf_buffer *out, struct csf_span metadata, uint32_t alignment,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
