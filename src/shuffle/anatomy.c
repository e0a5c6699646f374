/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/anatomy.h"

#include <inttypes.h>

#include "ipc/format_tables.h"
#include "ipc/limits.h"
#include "ipc/message.h"
#include "ipc/schema_message.h"

enum colshuf_status csf_anatomy_init(struct csf_anatomy *anatomy, const struct colshuf_allocator *allocator,
                                     const struct colshuf_limits *limits, struct colshuf_error *err) {
  *anatomy = (struct csf_anatomy){.allocator = csf_allocator(allocator), .limits = csf_limits(limits)};
  csf_buffer_init(&anatomy->content, allocator);
  csf_buffer_init(&anatomy->framing, allocator);
  return csf_codec_new(allocator, &anatomy->codec, err);
}

static void drop_schema(struct csf_anatomy *anatomy) {
  if (anatomy->column_bytes != NULL) {
    csf_free(&anatomy->allocator, anatomy->column_bytes,
             (size_t)anatomy->schema->root.n_children * sizeof *anatomy->column_bytes);
  }
  if (anatomy->exported.release != NULL) anatomy->exported.release(&anatomy->exported);
  csf_schema_release(anatomy->schema);
  anatomy->column_bytes = NULL;
  anatomy->schema = NULL;
  anatomy->framing.size = 0;
}

void csf_anatomy_clear(struct csf_anatomy *anatomy) {
  drop_schema(anatomy);
  csf_codec_free(anatomy->codec);
  csf_buffer_clear(&anatomy->content);
  csf_buffer_clear(&anatomy->framing);
}

static enum colshuf_status parse_schema(struct csf_anatomy *anatomy, const struct csf_message *message,
                                        struct colshuf_error *err) {
  drop_schema(anatomy);
  CSF_TRY(csf_schema_message_read(message->metadata, &anatomy->allocator, &anatomy->limits, &anatomy->schema, err));
  CSF_TRY(csf_field_export(&anatomy->schema->root, &anatomy->allocator, &anatomy->exported, err));
  size_t size = (size_t)anatomy->schema->root.n_children * sizeof *anatomy->column_bytes;
  if (size > 0) anatomy->column_bytes = csf_alloc(&anatomy->allocator, size);
  if (size > 0 && anatomy->column_bytes == NULL) return csf_fail_memory(err, size);
  return csf_buffer_append(&anatomy->framing, message->framing.data, message->framing.size, err);
}

static enum colshuf_status know_schema(struct csf_anatomy *anatomy, const struct csf_message *message,
                                       struct colshuf_block_info *info, struct colshuf_error *err) {
  bool known = anatomy->framing.size > 0 && anatomy->framing.size == message->framing.size &&
               memcmp(anatomy->framing.data, message->framing.data, message->framing.size) == 0;
  if (!known) {
    enum colshuf_status status = parse_schema(anatomy, message, err);
    if (status != COLSHUF_OK) {
      drop_schema(anatomy);
      return status;
    }
  }
  size_t size = (size_t)anatomy->schema->root.n_children * sizeof *anatomy->column_bytes;
  if (size > 0) memset(anatomy->column_bytes, 0, size);
  info->schema = &anatomy->exported;
  info->column_bytes = anatomy->column_bytes;
  return COLSHUF_OK;
}

/* The buffers of a batch, taken one after another as the fields want them. */
struct walk {
  struct csf_fb_vector buffers, variadic;
  bool is_v4;
  uint64_t body_size;
  uint64_t used;                    /* bytes of the buffers taken */
  uint64_t *column;                 /* that they belong to */
  struct colshuf_byte_kinds *kinds; /* of a batch; dictionaries count as a whole */
  struct colshuf_error *err;
};

static enum colshuf_status take(struct walk *walk, uint64_t *kind) {
  if (walk->buffers.count == 0)
    return csf_fail(walk->err, COLSHUF_CORRUPT, "the batch has fewer buffers than its schema needs");
  int64_t offset = csf_load_i64(walk->buffers.data), size = csf_load_i64(walk->buffers.data + 8);
  walk->buffers.data += CSF_BUFFER_SIZE;
  walk->buffers.count--;
  if (offset < 0 || size < 0 ||
      (size > 0 && ((uint64_t)offset > walk->body_size || (uint64_t)size > walk->body_size - (uint64_t)offset))) {
    return csf_fail(walk->err, COLSHUF_CORRUPT,
                    "a buffer of %" PRId64 " bytes at %" PRId64 ", outside of the body of %" PRIu64 " bytes", size, offset,
                    walk->body_size);
  }
  *kind += (uint64_t)size;
  *walk->column += (uint64_t)size;
  walk->used += (uint64_t)size;
  return COLSHUF_OK;
}

static enum colshuf_status take_view(struct walk *walk) {
  if (walk->variadic.count == 0)
    return csf_fail(walk->err, COLSHUF_CORRUPT, "the batch has fewer variadic counts than its schema needs");
  int64_t n = csf_load_i64(walk->variadic.data);
  walk->variadic.data += 8;
  walk->variadic.count--;
  if (n < 0 || n > walk->buffers.count) {
    return csf_fail(walk->err, COLSHUF_CORRUPT, "%" PRId64 " data buffers of views, %" PRIu32 " are left", n,
                    walk->buffers.count);
  }
  for (int64_t i = 0; i <= n; i++) CSF_TRY(take(walk, &walk->kinds->data)); /* the views, and so many more */
  return COLSHUF_OK;
}

/* Buffers behind the validity. */
static enum colshuf_status take_content(struct walk *walk, enum csf_layout layout) {
  switch (layout) {
    case CSF_LAYOUT_BITS:
    case CSF_LAYOUT_FIXED:
    case CSF_LAYOUT_SPARSE_UNION:
      return take(walk, &walk->kinds->data);
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      CSF_TRY(take(walk, &walk->kinds->offsets));
      return take(walk, &walk->kinds->data);
    case CSF_LAYOUT_VIEW:
      return take_view(walk);
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64:
      return take(walk, &walk->kinds->offsets);
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64:
      CSF_TRY(take(walk, &walk->kinds->offsets));
      return take(walk, &walk->kinds->offsets);
    case CSF_LAYOUT_DENSE_UNION:
      CSF_TRY(take(walk, &walk->kinds->data));
      return take(walk, &walk->kinds->offsets);
    default:
      return COLSHUF_OK;
  }
}

static enum colshuf_status walk_field(struct walk *walk, const struct csf_field *field) {
  bool is_union = field->layout == CSF_LAYOUT_SPARSE_UNION || field->layout == CSF_LAYOUT_DENSE_UNION;
  bool has_validity = field->layout != CSF_LAYOUT_NULL && field->layout != CSF_LAYOUT_RUN_END && (!is_union || walk->is_v4);
  if (has_validity) CSF_TRY(take(walk, &walk->kinds->validity));
  CSF_TRY(take_content(walk, field->layout));
  for (int32_t c = 0; c < field->n_children; c++) CSF_TRY(walk_field(walk, &field->children[c]));
  return COLSHUF_OK;
}

static struct walk start_walk(const struct csf_message *message, struct csf_fb_table batch, struct colshuf_error *err) {
  return (struct walk){.buffers = csf_fb_elements(batch, CSF_BATCH_BUFFERS),
                       .variadic = csf_fb_elements(batch, CSF_BATCH_VARIADIC),
                       .is_v4 = message->is_v4,
                       .body_size = message->body.size,
                       .err = err};
}

static void count_padding(const struct walk *walk, struct colshuf_block_info *info) {
  info->kinds.padding += walk->body_size > walk->used ? walk->body_size - walk->used : 0;
}

static enum colshuf_status walk_batch(struct csf_anatomy *anatomy, const struct csf_message *message,
                                      struct colshuf_block_info *info, struct colshuf_error *err) {
  struct csf_fb_table batch = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  struct walk walk = start_walk(message, batch, err);
  walk.kinds = &info->kinds;
  info->rows = csf_fb_i64(batch, CSF_BATCH_LENGTH, 0);
  const struct csf_field *root = &anatomy->schema->root;
  for (int32_t c = 0; c < root->n_children; c++) {
    walk.column = &anatomy->column_bytes[c];
    CSF_TRY(walk_field(&walk, &root->children[c]));
  }
  count_padding(&walk, info);
  return COLSHUF_OK;
}

static const struct csf_field *find_dictionary(const struct csf_field *field, int64_t id) {
  const struct csf_field *found = NULL;
  for (int32_t c = 0; c < field->n_children && found == NULL; c++) found = find_dictionary(&field->children[c], id);
  if (found != NULL || field->dictionary == NULL) return found;
  return field->dictionary_id == id ? field->dictionary : find_dictionary(field->dictionary, id);
}

/* A dictionary counts for the first column that uses it. */
static enum colshuf_status walk_dictionary(struct csf_anatomy *anatomy, const struct csf_message *message,
                                           struct colshuf_block_info *info, struct colshuf_error *err) {
  struct csf_fb_table dictionary = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  struct colshuf_byte_kinds kinds = {0};
  struct walk walk = start_walk(message, csf_fb_child(dictionary, CSF_DICTIONARY_DATA), err);
  int64_t id = csf_fb_i64(dictionary, CSF_DICTIONARY_ID, 0);
  walk.kinds = &kinds;
  const struct csf_field *root = &anatomy->schema->root, *values = NULL;
  for (int32_t c = 0; c < root->n_children && values == NULL; c++) {
    values = find_dictionary(&root->children[c], id);
    walk.column = &anatomy->column_bytes[c];
  }
  if (values == NULL) return csf_fail(err, COLSHUF_CORRUPT, "a dictionary with id %" PRId64 ", which no field has", id);
  CSF_TRY(walk_field(&walk, values));
  info->kinds.dictionaries += walk.used;
  count_padding(&walk, info);
  return COLSHUF_OK;
}

static enum colshuf_status walk_message(struct csf_anatomy *anatomy, const struct csf_message *message,
                                        struct colshuf_block_info *info, struct colshuf_error *err) {
  if (message->kind == CSF_MESSAGE_SCHEMA) {
    info->kinds.schema += message->framing.size;
    info->kinds.padding += message->body.size;
    if (info->schema != NULL) return csf_fail(err, COLSHUF_CORRUPT, "a second schema");
    return know_schema(anatomy, message, info, err);
  }
  info->kinds.metadata += message->framing.size;
  if (info->schema == NULL) return csf_fail(err, COLSHUF_CORRUPT, "a batch or dictionary before the schema");
  if (message->kind == CSF_MESSAGE_BATCH) return walk_batch(anatomy, message, info, err);
  return walk_dictionary(anatomy, message, info, err);
}

static enum colshuf_status walk_stream(struct csf_anatomy *anatomy, struct csf_span stream, struct colshuf_block_info *info,
                                       struct colshuf_error *err) {
  struct csf_cursor cursor = {stream.data, stream.size};
  info->raw_size = stream.size;
  for (;;) {
    struct csf_message message;
    bool end_marker = false;
    size_t before = cursor.size;
    CSF_TRY(csf_message_take(&cursor, stream.data, &anatomy->limits, &message, &end_marker, err));
    if (message.kind == CSF_MESSAGE_END) {
      info->kinds.metadata += before - cursor.size;
      info->kinds.padding += cursor.size; /* nothing may be there; a full decode says so */
      break;
    }
    CSF_TRY(walk_message(anatomy, &message, info, err));
  }
  return info->schema != NULL ? COLSHUF_OK : csf_fail(err, COLSHUF_CORRUPT, "empty IPC stream: no schema");
}

enum colshuf_status csf_anatomy_of(struct csf_anatomy *anatomy, const uint8_t *block, size_t size,
                                   struct colshuf_block_info *info, struct colshuf_error *err) {
  CSF_TRY(colshuf_block_header_read(block, size, &info->header, err));
  if (info->header.block_size > size) {
    return csf_fail(err, COLSHUF_CORRUPT, "truncated block: %zu of %" PRIu64 " bytes", size, info->header.block_size);
  }
  info->kinds.header = COLSHUF_BLOCK_HEADER_SIZE;
  struct csf_span body = {block + COLSHUF_BLOCK_HEADER_SIZE, (size_t)info->header.block_size - COLSHUF_BLOCK_HEADER_SIZE};
  if (info->header.codec != COLSHUF_NONE) {
    CSF_TRY(csf_codec_decompress(anatomy->codec, info->header.codec, body, anatomy->limits.max_decompressed_size, 0,
                                 &anatomy->content, err));
    body = (struct csf_span){anatomy->content.data, anatomy->content.size};
  }
  return walk_stream(anatomy, body, info, err);
}
