/* SPDX-License-Identifier: Apache-2.0 */
/* Message framing: continuation word, metadata size, metadata, body. formats.md B.1; guards G15-G19. */
#ifndef CSF_IPC_MESSAGE_H
#define CSF_IPC_MESSAGE_H

#include "base/bytes.h"

enum csf_message_kind { CSF_MESSAGE_END, CSF_MESSAGE_SCHEMA, CSF_MESSAGE_DICTIONARY, CSF_MESSAGE_BATCH };

struct csf_batch_places; /* message_shape.h */

/* A framed message in memory: spans borrow from where it was read. */
struct csf_message {
  enum csf_message_kind kind;
  bool is_v4;               /* metadata version V4 (unions carry a validity buffer) */
  struct csf_span framing;  /* the message from its first byte to the end of its metadata: raw bytes for comparing */
  struct csf_span metadata; /* the flatbuffer, verified */
  struct csf_span body;
  const struct csf_batch_places *places; /* of a batch whose numbers' places are known already; NULL = look for them */
};

/*
 * Takes one message from memory. At the very end of the cursor, or at an end marker (which is taken), kind = END.
 * Errors: CORRUPT (partial prefix, negative or too large sizes, unverifiable metadata, unknown header), LIMIT, UNSUPPORTED (V1-V3);
 * messages give the byte offset counted from start. On failure the cursor stays.
 */
enum colshuf_status csf_message_take(struct csf_cursor *cursor, const uint8_t *start, const struct colshuf_limits *limits,
                                     struct csf_message *out, bool *end_marker, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Verifies a Message flatbuffer: everything in bounds, version and header known, body size not negative. For streams on disk, whose body is
 * read afterwards: when it is known to be there, csf_message_check_body says whether it may be.
 */
enum colshuf_status csf_message_verify(struct csf_span metadata, const struct colshuf_limits *limits, enum csf_message_kind *kind,
                                       bool *is_v4, int64_t *body_size, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Checks a metadata size as it stands on the wire against max_metadata_size (limits NULL = defaults). Error: CORRUPT (negative), LIMIT. */
enum colshuf_status csf_message_check_size(uint32_t metadata_size, const struct colshuf_limits *limits,
                                           struct colshuf_error *err) COLSHUF_MUST_USE;

/* Checks a body size against max_decompressed_size (limits NULL = defaults). Error: LIMIT. */
enum colshuf_status csf_message_check_body(uint64_t size, const struct colshuf_limits *limits, struct colshuf_error *err) COLSHUF_MUST_USE;

/* FF FF FF FF 00 00 00 00 */
extern const uint8_t csf_end_marker[8];
enum { CSF_PREFIX_SIZE = 8 }; /* continuation word and metadata size; 4 without the former */
#define CSF_CONTINUATION UINT32_C(0xffffffff)

#endif
