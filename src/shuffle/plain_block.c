/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/plain_block.h"

#include <stdatomic.h>

#include "ipc/format_tables.h"
#include "ipc/message.h"

/* Enough for the metadata of most batches; what lies closer together than GAP is read at once. */
enum { FIRST_READ = 16 << 10, GAP = 8 << 10 };

/* The block's memory: this, then bytes placed so that the stream behind the block's header is 64-byte aligned. */
struct held_block {
  atomic_size_t references;
  struct colshuf_allocator allocator;
  size_t size;
};

enum { BEFORE_BLOCK = 2 * CSF_ALIGNMENT - COLSHUF_BLOCK_HEADER_SIZE };
_Static_assert(sizeof(struct held_block) <= BEFORE_BLOCK, "the head lies before the block");

void csf_plain_reader_init(struct csf_plain_reader *reader, const struct colshuf_allocator *allocator,
                           struct csf_column_set columns) {
  *reader = (struct csf_plain_reader){.allocator = *allocator, .columns = columns};
  csf_buffer_init(&reader->framing, allocator);
}

static void forget(struct csf_plain_reader *reader) {
  csf_schema_release(reader->schema);
  reader->schema = NULL;
}

void csf_plain_reader_clear(struct csf_plain_reader *reader) {
  forget(reader);
  csf_buffer_clear(&reader->framing);
}

static void retain_block(void *ctx) {
  struct held_block *held = ctx;
  atomic_fetch_add_explicit(&held->references, 1, memory_order_relaxed);
}

static void release_block(void *ctx) {
  struct held_block *held = ctx;
  if (atomic_fetch_sub_explicit(&held->references, 1, memory_order_acq_rel) != 1) return;
  struct colshuf_allocator allocator = held->allocator;
  csf_free(&allocator, held, held->size);
}

/* A block being read in parts. */
struct partial {
  struct csf_plain_reader *reader;
  struct csf_source *source;
  uint64_t offset; /* of the block in the file */
  uint8_t *data;
  size_t size;
  size_t have;     /* bytes read from the start on */
  size_t from, to; /* a range that is to be read, not yet */
  struct colshuf_error *err;
};

static enum colshuf_status read_range(struct partial *p, size_t from, size_t to) {
  if (from < p->have) from = p->have;
  if (to <= from) return COLSHUF_OK;
  return csf_source_read_at(p->source, p->offset + from, p->data + from, to - from, p->err);
}

/* Ranges come in rising order, mostly: neighbours become one. */
static enum colshuf_status want_range(struct partial *p, size_t from, size_t to) {
  if (from >= p->from && from <= p->to + GAP) {
    if (to > p->to) p->to = to;
    return COLSHUF_OK;
  }
  CSF_TRY(read_range(p, p->from, p->to));
  p->from = from;
  p->to = to;
  return COLSHUF_OK;
}

static enum colshuf_status read_start(struct partial *p, size_t size) {
  if (size > p->size) size = p->size;
  if (size <= p->have) return COLSHUF_OK;
  CSF_TRY(csf_source_read_at(p->source, p->offset + p->have, p->data + p->have, size - p->have, p->err));
  p->have = size;
  return COLSHUF_OK;
}

/* The batch's metadata, in place: its message must come right behind a schema message that is known. */
static bool find_batch(struct partial *p, struct csf_message *batch, size_t *body, enum colshuf_status *status) {
  size_t schema_size = p->reader->framing.size, at = COLSHUF_BLOCK_HEADER_SIZE + schema_size;
  if (p->reader->schema == NULL || at + CSF_PREFIX_SIZE > p->have) return false;
  if (memcmp(p->data + COLSHUF_BLOCK_HEADER_SIZE, p->reader->framing.data, schema_size) != 0) return false;
  if (csf_load_u32(p->data + at) != CSF_CONTINUATION) return false;
  uint32_t metadata_size = csf_load_u32(p->data + at + 4);
  if (metadata_size > p->size - at - CSF_PREFIX_SIZE || metadata_size > (1u << 24)) return false;
  *body = at + CSF_PREFIX_SIZE + metadata_size;
  *status = read_start(p, *body);
  if (*status != COLSHUF_OK) return false;
  batch->metadata = (struct csf_span){p->data + at + CSF_PREFIX_SIZE, metadata_size};
  int64_t body_size;
  if (csf_message_verify(batch->metadata, NULL, &batch->kind, &batch->is_v4, &body_size, NULL) != COLSHUF_OK) return false;
  if (batch->kind != CSF_MESSAGE_BATCH || body_size < 0 || (uint64_t)body_size > p->size - *body) return false;
  batch->body = (struct csf_span){p->data + *body, (size_t)body_size};
  return true;
}

/* Buffers and variadic counts as the fields take them. False: there are not as many as the schema needs; the decoder will say
 * so. */
struct walk {
  struct csf_fb_vector buffers, variadic;
  bool is_v4;
  size_t body, body_size;
  struct partial *partial; /* NULL = pass over */
  enum colshuf_status status;
};

static bool take_buffers(struct walk *walk, int64_t n) {
  if (n < 0 || n > walk->buffers.count) return false;
  for (int64_t i = 0; i < n; i++, walk->buffers.data += CSF_BUFFER_SIZE) {
    uint64_t offset = csf_load_u64(walk->buffers.data), size = csf_load_u64(walk->buffers.data + 8);
    if (walk->partial == NULL || size == 0) continue;
    if (offset > walk->body_size || size > walk->body_size - offset) return false;
    walk->status = want_range(walk->partial, walk->body + (size_t)offset, walk->body + (size_t)(offset + size));
    if (walk->status != COLSHUF_OK) return false;
  }
  walk->buffers.count -= (uint32_t)n;
  return true;
}

static bool take_field(struct walk *walk, const struct csf_field *field) {
  bool is_union = field->layout == CSF_LAYOUT_SPARSE_UNION || field->layout == CSF_LAYOUT_DENSE_UNION;
  int64_t n = csf_layout_n_buffers(field->layout) + (is_union && walk->is_v4);
  if (field->layout == CSF_LAYOUT_VIEW) {
    if (walk->variadic.count == 0) return false;
    n = 2 + csf_load_i64(walk->variadic.data);
    walk->variadic.data += 8;
    walk->variadic.count--;
    if (n < 2) return false;
  }
  if (!take_buffers(walk, n)) return false;
  for (int32_t c = 0; c < field->n_children; c++) {
    if (!take_field(walk, &field->children[c])) return false;
  }
  return true;
}

/* The buffers of wanted columns, and what is behind the body. False: not understood (or *status). */
static bool read_wanted(struct partial *p, const struct csf_message *batch, size_t body, enum colshuf_status *status) {
  struct csf_fb_table table = csf_fb_child(csf_fb_root(batch->metadata), CSF_MESSAGE_HEADER);
  struct walk walk = {.buffers = csf_fb_elements(table, CSF_BATCH_BUFFERS),
                      .variadic = csf_fb_elements(table, CSF_BATCH_VARIADIC),
                      .is_v4 = batch->is_v4,
                      .body = body,
                      .body_size = batch->body.size};
  const struct csf_column_set *columns = &p->reader->columns;
  const struct csf_field *root = &p->reader->schema->root;
  for (int32_t c = 0; c < root->n_children; c++) {
    walk.partial = c < columns->n && columns->wanted[c] != 0 ? p : NULL;
    bool understood = take_field(&walk, &root->children[c]);
    *status = walk.status;
    if (!understood) return false;
  }
  *status = want_range(p, body + batch->body.size, p->size);
  if (*status == COLSHUF_OK) *status = read_range(p, p->from, p->to);
  return *status == COLSHUF_OK;
}

static enum colshuf_status fill(struct partial *p) {
  struct csf_message batch = {0};
  size_t body;
  enum colshuf_status status = COLSHUF_OK;
  if (p->reader->columns.wanted == NULL) return read_start(p, p->size);
  CSF_TRY(read_start(p, p->reader->framing.size + FIRST_READ));
  bool done = find_batch(p, &batch, &body, &status) && read_wanted(p, &batch, body, &status);
  CSF_TRY(status);
  return done ? COLSHUF_OK : read_start(p, p->size);
}

enum colshuf_status csf_plain_read(struct csf_plain_reader *reader, struct csf_source *source,
                                   const struct csf_source_block *block, const uint8_t **data,
                                   struct colshuf_bytes_owner *owner, struct colshuf_error *err) {
  size_t size = BEFORE_BLOCK + block->size;
  struct held_block *held = csf_alloc(&reader->allocator, size);
  if (held == NULL) return csf_fail_memory(err, size);
  atomic_init(&held->references, 1);
  held->allocator = reader->allocator;
  held->size = size;
  uint8_t *start = (uint8_t *)held + BEFORE_BLOCK;
  struct partial partial = {
      .reader = reader, .source = source, .offset = block->offset, .data = start, .size = block->size, .err = err};
  enum colshuf_status status = fill(&partial);
  if (status != COLSHUF_OK) {
    release_block(held);
    return status;
  }
  *data = start;
  *owner = (struct colshuf_bytes_owner){.retain = retain_block, .release = release_block, .ctx = held};
  return COLSHUF_OK;
}

enum colshuf_status csf_plain_remember(struct csf_plain_reader *reader, const uint8_t *data, size_t size,
                                       struct csf_schema *schema, struct colshuf_error *err) {
  if (reader->columns.wanted == NULL || schema == reader->schema) return COLSHUF_OK;
  forget(reader);
  struct csf_cursor cursor = {data + COLSHUF_BLOCK_HEADER_SIZE, size - COLSHUF_BLOCK_HEADER_SIZE};
  struct csf_message message;
  bool end_marker;
  CSF_TRY(csf_message_take(&cursor, cursor.data, NULL, &message, &end_marker, err));
  if (message.kind != CSF_MESSAGE_SCHEMA || message.body.size > 0) return COLSHUF_OK;
  reader->framing.size = 0;
  CSF_TRY(csf_buffer_append(&reader->framing, message.framing.data, message.framing.size, err));
  reader->schema = csf_schema_retain(schema);
  return COLSHUF_OK;
}
