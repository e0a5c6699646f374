/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message.h"

#include <inttypes.h>

#include "ipc/format_tables.h"
#include "ipc/limits.h"

enum { DEPTH_CEILING = 256 }; /* readers recurse: no option makes them go deeper */

const uint8_t csf_end_marker[8] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};

struct colshuf_limits csf_limits(const struct colshuf_limits *wanted) {
  struct colshuf_limits limits = {0};
  if (wanted != NULL) limits = *wanted;
  if (limits.max_decompressed_size == 0) limits.max_decompressed_size = CSF_DEFAULT_DECOMPRESSED_SIZE;
  if (limits.max_rows == 0) limits.max_rows = CSF_DEFAULT_ROWS;
  if (limits.max_depth == 0) limits.max_depth = 64;
  if (limits.max_depth > DEPTH_CEILING) limits.max_depth = DEPTH_CEILING;
  if (limits.max_fields == 0) limits.max_fields = 100000;
  if (limits.max_metadata_size == 0) limits.max_metadata_size = UINT32_C(1) << 28;
  if (limits.max_dictionary_size == 0) limits.max_dictionary_size = CSF_DEFAULT_DICTIONARY_SIZE;
  if (limits.max_memory == 0) limits.max_memory = UINT64_MAX;
  return limits;
}

enum colshuf_status csf_message_check_size(uint32_t metadata_size, const struct colshuf_limits *limits,
                                           struct colshuf_error *err) {
  uint32_t most = csf_limits(limits).max_metadata_size;
  if (metadata_size > INT32_MAX) {
    return csf_fail(err, COLSHUF_CORRUPT, "metadata size %" PRId32 " is negative", (int32_t)metadata_size);
  }
  if (metadata_size > most) {
    return csf_fail(err, COLSHUF_LIMIT, "metadata of %" PRIu32 " bytes, the limit is %" PRIu32, metadata_size, most);
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_version(int16_t version, struct colshuf_error *err) {
  if (version == CSF_VERSION_V4 || version == CSF_VERSION_V5) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_UNSUPPORTED, "metadata version V%d, only V4 and V5 are read", version + 1);
}

static enum colshuf_status check_header(uint8_t code, enum csf_message_kind *kind, struct colshuf_error *err) {
  switch (code) {
    case CSF_HEADER_SCHEMA: *kind = CSF_MESSAGE_SCHEMA; return COLSHUF_OK;
    case CSF_HEADER_DICTIONARY: *kind = CSF_MESSAGE_DICTIONARY; return COLSHUF_OK;
    case CSF_HEADER_BATCH: *kind = CSF_MESSAGE_BATCH; return COLSHUF_OK;
    default: return csf_fail(err, COLSHUF_CORRUPT, "message header type %d, not a schema, dictionary or record batch (1 to 3)", code);
  }
}

enum colshuf_status csf_message_check_body(uint64_t size, const struct colshuf_limits *limits, struct colshuf_error *err) {
  uint64_t most = csf_limit_decompressed_size(limits);
  if (size <= most) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_LIMIT, "message body of %" PRIu64 " bytes, the limit is %" PRIu64, size, most);
}

enum colshuf_status csf_message_verify(struct csf_span metadata, const struct colshuf_limits *limits, enum csf_message_kind *kind,
                                       bool *is_v4, int64_t *body_size, struct colshuf_error *err) {
  struct colshuf_limits full = csf_limits(limits);
  CSF_TRY(csf_fb_verify(metadata, &csf_shape_message, full.max_depth + CSF_DEPTH_BEYOND_TYPES, err));
  struct csf_fb_table message = csf_fb_root(metadata);
  int16_t version = csf_fb_i16(message, CSF_MESSAGE_VERSION, 0);
  CSF_TRY(check_version(version, err));
  CSF_TRY(check_header(csf_fb_u8(message, CSF_MESSAGE_HEADER_TYPE, 0), kind, err));
  *is_v4 = version == CSF_VERSION_V4;
  *body_size = csf_fb_i64(message, CSF_MESSAGE_BODY_LENGTH, 0);
  return *body_size >= 0 ? COLSHUF_OK : csf_fail(err, COLSHUF_CORRUPT, "body length %" PRId64 " is negative", *body_size);
}

static enum colshuf_status take_word(struct csf_cursor *cursor, const char *what, uint32_t *out, struct colshuf_error *err) {
  if (csf_cursor_take_u32(cursor, out)) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "the %s needs 4 bytes, %zu are left", what, cursor->size);
}

/* The prefix; metadata_size 0 = end marker. */
static enum colshuf_status take_prefix(struct csf_cursor *cursor, uint32_t *metadata_size, struct colshuf_error *err) {
  CSF_TRY(take_word(cursor, "message prefix", metadata_size, err));
  if (*metadata_size != CSF_CONTINUATION) return COLSHUF_OK; /* legacy framing: the size comes first */
  return take_word(cursor, "metadata size", metadata_size, err);
}

static enum colshuf_status take_part(struct csf_cursor *cursor, uint64_t size, const char *what, struct csf_span *out,
                                     struct colshuf_error *err) {
  if (size > cursor->size) {
    return csf_fail(err, COLSHUF_CORRUPT, "message %s of %" PRIu64 " bytes, only %zu are left", what, size, cursor->size);
  }
  out->size = (size_t)size;
  return csf_cursor_take(cursor, out->size, &out->data) ? COLSHUF_OK : COLSHUF_CORRUPT;
}

static enum colshuf_status take(struct csf_cursor *cursor, const struct colshuf_limits *limits, struct csf_message *out,
                                bool *end_marker, struct colshuf_error *err) {
  *out = (struct csf_message){.kind = CSF_MESSAGE_END};
  *end_marker = false;
  if (cursor->size == 0) return COLSHUF_OK;
  const uint8_t *first = cursor->data;
  uint32_t metadata_size = 0;
  CSF_TRY(take_prefix(cursor, &metadata_size, err));
  if (metadata_size == 0) {
    *end_marker = true;
    return COLSHUF_OK;
  }
  /* More than there is, is no question of limits. */
  if (metadata_size <= cursor->size || metadata_size > INT32_MAX) CSF_TRY(csf_message_check_size(metadata_size, limits, err));
  CSF_TRY(take_part(cursor, metadata_size, "metadata", &out->metadata, err));
  out->framing = (struct csf_span){first, (size_t)(cursor->data - first)};
  int64_t body_size = 0;
  CSF_TRY(csf_message_verify(out->metadata, limits, &out->kind, &out->is_v4, &body_size, err));
  CSF_TRY(take_part(cursor, (uint64_t)body_size, "body", &out->body, err));
  return csf_message_check_body((uint64_t)body_size, limits, err);
}

enum colshuf_status csf_message_take(struct csf_cursor *cursor, const uint8_t *start, const struct colshuf_limits *limits,
                                     struct csf_message *out, bool *end_marker, struct colshuf_error *err) {
  struct csf_cursor after = *cursor;
  enum colshuf_status status = take(&after, limits, out, end_marker, err);
  if (status != COLSHUF_OK) {
    return csf_fail_context(err, status, "message at byte %zu", (size_t)(cursor->data - start));
  }
  *cursor = after;
  return COLSHUF_OK;
}
