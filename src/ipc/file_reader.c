/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPC files: the footer lists where dictionaries and batches stand. Footer and message say some things twice; where they disagree
 * the file is refused, since either might be the one that somebody changed.
 */
#include <inttypes.h>

#include "ipc/batch_plan.h"
#include "ipc/format_tables.h"
#include "ipc/input.h"
#include "ipc/reader.h"

enum { FOOTER_TAIL_SIZE = 4 + CSF_MAGIC_SIZE }; /* footer size, magic */

struct block {
  uint64_t offset;
  uint64_t metadata_size; /* with the prefix */
  uint64_t body_size;
};

static enum colshuf_status check_version(int16_t version, struct colshuf_error *err) {
  if (version == CSF_VERSION_V4 || version == CSF_VERSION_V5) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_UNSUPPORTED, "metadata version V%d, only V4 and V5 are read", version + 1);
}

/* Where the footer stands, from the last bytes of the file. */
static enum colshuf_status find_footer(struct csf_ipc_reader *r, uint64_t file_size, uint64_t *place, uint32_t *size,
                                       struct colshuf_error *err) {
  if (file_size < CSF_FILE_HEAD_SIZE + FOOTER_TAIL_SIZE) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated: a file of %" PRIu64 " bytes has no room for a footer", file_size);
  }
  CSF_TRY(csf_input_take_at(&r->input, file_size - FOOTER_TAIL_SIZE, FOOTER_TAIL_SIZE, "file tail", &r->metadata, err));
  if (memcmp(r->metadata.data + 4, csf_file_magic, CSF_MAGIC_SIZE) != 0) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated: the file of %" PRIu64 " bytes does not end with ARROW1", file_size);
  }
  *size = csf_load_u32(r->metadata.data);
  uint64_t room = file_size - CSF_FILE_HEAD_SIZE - FOOTER_TAIL_SIZE;
  if (*size == 0 || *size > room) {
    return csf_fail(err, COLSHUF_CORRUPT, "footer of %" PRIu32 " bytes in a file with room for %" PRIu64, *size, room);
  }
  *place = file_size - FOOTER_TAIL_SIZE - *size;
  return COLSHUF_OK;
}

enum colshuf_status csf_file_open(struct csf_ipc_reader *r, uint64_t file_size, struct colshuf_error *err) {
  uint32_t size = 0;
  CSF_TRY(find_footer(r, file_size, &r->blocks_end, &size, err));
  CSF_TRY(csf_message_check_size(size, &r->limits, err));
  CSF_TRY(csf_input_take_at(&r->input, r->blocks_end, size, "footer", &r->footer, err));
  struct csf_span footer = {r->footer.data, r->footer.size};
  enum colshuf_status status = csf_fb_verify(footer, &csf_shape_footer, r->limits.max_depth + CSF_DEPTH_BEYOND_TYPES, err);
  if (status != COLSHUF_OK) return csf_fail_context(err, status, "footer");
  struct csf_fb_table table = csf_fb_root(footer);
  CSF_TRY(check_version(csf_fb_i16(table, CSF_FOOTER_VERSION, 0), err));
  struct csf_fb_table schema_table = csf_fb_child(table, CSF_FOOTER_SCHEMA);
  if (schema_table.place == NULL) return csf_fail(err, COLSHUF_CORRUPT, "the footer has no schema");
  r->dictionary_blocks = csf_fb_elements(table, CSF_FOOTER_DICTIONARIES);
  r->batch_blocks = csf_fb_elements(table, CSF_FOOTER_BATCHES);
  struct csf_schema *schema;
  CSF_TRY(csf_schema_table_read(schema_table, &r->allocator, &r->limits, &schema, err));
  return csf_ipc_reader_set_schema(r, schema, err);
}

static enum colshuf_status read_block(const struct csf_ipc_reader *r, struct csf_fb_vector blocks, uint32_t i, struct block *out,
                                      struct colshuf_error *err) {
  const uint8_t *place = blocks.data + (size_t)i * CSF_BLOCK_SIZE;
  int64_t offset = csf_load_i64(place), body_size = csf_load_i64(place + 16);
  int32_t metadata_size = csf_load_i32(place + 8);
  uint64_t end = 0;
  bool fits = offset >= CSF_FILE_HEAD_SIZE && metadata_size >= CSF_PREFIX_SIZE && body_size >= 0;
  fits = fits && !csf_add_overflow((uint64_t)offset, (uint64_t)metadata_size, &end) &&
         !csf_add_overflow(end, (uint64_t)body_size, &end) && end <= r->blocks_end;
  if (!fits) {
    return csf_fail(err, COLSHUF_CORRUPT,
                    "footer: %" PRId32 " bytes of metadata and %" PRId64 " of body at byte %" PRId64 ", blocks end at %" PRIu64,
                    metadata_size, body_size, offset, r->blocks_end);
  }
  *out = (struct block){(uint64_t)offset, (uint64_t)metadata_size, (uint64_t)body_size};
  return COLSHUF_OK;
}

/* The flatbuffer behind the prefix, whose size must be what the footer says. */
static enum colshuf_status open_metadata(const struct csf_ipc_reader *r, const struct block *block, struct csf_span *out,
                                         struct colshuf_error *err) {
  const uint8_t *bytes = r->metadata.data;
  uint32_t size = csf_load_u32(bytes), prefix = 4;
  if (size == CSF_CONTINUATION) {
    size = csf_load_u32(bytes + 4);
    prefix = CSF_PREFIX_SIZE;
  }
  if ((uint64_t)size + prefix != block->metadata_size || size == 0) {
    return csf_fail(err, COLSHUF_CORRUPT, "the message has %" PRIu32 " bytes of metadata, the footer says %" PRIu64 " with its prefix",
                    size, block->metadata_size);
  }
  *out = (struct csf_span){bytes + prefix, size};
  return COLSHUF_OK;
}

static enum colshuf_status read_block_message(struct csf_ipc_reader *r, const struct block *block, enum csf_message_kind wanted,
                                              struct csf_message *out, struct colshuf_error *err) {
  *out = (struct csf_message){.kind = CSF_MESSAGE_END};
  CSF_TRY(csf_message_check_size((uint32_t)block->metadata_size, &r->limits, err));
  CSF_TRY(csf_input_take_at(&r->input, block->offset, block->metadata_size, "message metadata", &r->metadata, err));
  CSF_TRY(open_metadata(r, block, &out->metadata, err));
  int64_t body_size = 0;
  CSF_TRY(csf_message_verify(out->metadata, &r->limits, &out->kind, &out->is_v4, &body_size, err));
  if (out->kind != wanted) {
    return csf_fail(err, COLSHUF_CORRUPT, "the footer lists a %s where none stands",
                    wanted == CSF_MESSAGE_BATCH ? "record batch" : "dictionary");
  }
  if ((uint64_t)body_size != block->body_size) {
    return csf_fail(err, COLSHUF_CORRUPT, "the message has a body of %" PRId64 " bytes, the footer says %" PRIu64, body_size,
                    block->body_size);
  }
  CSF_TRY(csf_message_check_body(block->body_size, &r->limits, err));
  CSF_TRY(csf_input_take_at(&r->input, block->offset + block->metadata_size, block->body_size, "message body", &r->body, err));
  out->body = (struct csf_span){r->body.data, r->body.size};
  return COLSHUF_OK;
}

/* In a file dictionaries do not change, they only grow: batches may be read in any order, with all of it. */
static enum colshuf_status check_first_or_delta(const struct csf_ipc_reader *r, const struct csf_message *message, struct colshuf_error *err) {
  struct csf_fb_table table = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  int64_t id = csf_fb_i64(table, CSF_DICTIONARY_ID, 0);
  size_t place = csf_batch_plan_find(r->plan, id);
  bool is_known = place < r->plan->n_dictionaries && csf_dictionary_is_known(&r->dictionaries->items[place]);
  if (!is_known || csf_fb_u8(table, CSF_DICTIONARY_IS_DELTA, 0) != 0) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "a second dictionary of id %" PRId64 ", which in a file may only be a delta", id);
}

static enum colshuf_status read_dictionary(struct csf_ipc_reader *r, uint32_t i, struct colshuf_error *err) {
  struct block block = {0};
  struct csf_message message;
  CSF_TRY(read_block(r, r->dictionary_blocks, i, &block, err));
  enum colshuf_status status = read_block_message(r, &block, CSF_MESSAGE_DICTIONARY, &message, err);
  if (status == COLSHUF_OK) status = check_first_or_delta(r, &message, err);
  if (status == COLSHUF_OK) status = csf_ipc_reader_dictionary(r, &message, err);
  if (status != COLSHUF_OK) return csf_fail_context(err, status, "dictionary %" PRIu32 " at byte %" PRIu64, i, block.offset);
  return COLSHUF_OK;
}

static enum colshuf_status read_dictionaries(struct csf_ipc_reader *r, struct colshuf_error *err) {
  for (uint32_t i = 0; i < r->dictionary_blocks.count; i++) CSF_TRY(read_dictionary(r, i, err));
  r->has_dictionaries = true;
  return COLSHUF_OK;
}

enum colshuf_status csf_file_next(struct csf_ipc_reader *r, struct ArrowArray *out, struct colshuf_error *err) {
  if (!r->has_dictionaries) CSF_TRY(read_dictionaries(r, err));
  if (r->next_batch == r->batch_blocks.count) {
    r->state = CSF_READER_ENDED;
    return COLSHUF_OK;
  }
  struct block block = {0};
  struct csf_message message;
  uint32_t i = r->next_batch++;
  CSF_TRY(read_block(r, r->batch_blocks, i, &block, err));
  enum colshuf_status status = read_block_message(r, &block, CSF_MESSAGE_BATCH, &message, err);
  if (status == COLSHUF_OK) status = csf_ipc_reader_batch(r, &message, out, err);
  if (status != COLSHUF_OK) return csf_fail_context(err, status, "record batch %" PRIu32 " at byte %" PRIu64, i, block.offset);
  return COLSHUF_OK;
}
