/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/batch_write.h"

#include <inttypes.h>

#include "ipc/body_plan.h"
#include "ipc/format_tables.h"
#include "ipc/message_write.h"

void csf_batch_writer_init(struct csf_batch_writer *w, const struct colshuf_allocator *allocator) {
  *w = (struct csf_batch_writer){.alignment = 8};
  struct csf_buffer *buffers[] = {&w->nodes, &w->buffers, &w->variadic, &w->pieces, &w->odd,
                                  &w->scratch, &w->raw, &w->body};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_init(buffers[i], allocator);
  for (int i = 0; i < 2; i++) csf_flatbuf_init(&w->templates[i].b, allocator);
}

void csf_batch_writer_clear(struct csf_batch_writer *w) {
  struct csf_buffer *buffers[] = {&w->nodes, &w->buffers, &w->variadic, &w->pieces, &w->odd,
                                  &w->scratch, &w->raw, &w->body};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_clear(buffers[i]);
  for (int i = 0; i < 2; i++) {
    csf_flatbuf_clear(&w->templates[i].b);
    w->templates[i].bytes.size = 0;
  }
}

/* What the message at hand is, beside its plan. */
struct heading {
  uint8_t code; /* CSF_HEADER_BATCH or CSF_HEADER_DICTIONARY */
  int64_t length;
  int64_t id;
  bool is_delta;
};

static bool template_fits(const struct csf_metadata_template *t, const struct csf_batch_writer *w, const struct heading *h) {
  return t->bytes.size > 0 && t->n_nodes == w->nodes.size / CSF_NODE_SIZE && t->n_buffers == w->buffers.size / CSF_BUFFER_SIZE &&
         t->n_variadic == w->variadic.size / 8 && t->id == h->id && t->is_delta == h->is_delta &&
         t->has_rows == (h->length != 0) && t->has_body == (w->body_size != 0) && t->compressed == (w->compress != 0);
}

static csf_flatbuf_ref compression_table(struct csf_flatbuf *b, int compress) {
  if (compress == 0) return 0;
  csf_flatbuf_table_start(b);
  /* Method BUFFER is the default; codec 0 = LZ4 frame, 1 = zstd. */
  csf_flatbuf_field_u8(b, CSF_COMPRESSION_CODEC, (uint8_t)(compress - 1), 0);
  return csf_flatbuf_table_end(b);
}

static csf_flatbuf_ref batch_table(struct csf_flatbuf *b, const struct csf_batch_writer *w, const struct heading *h) {
  csf_flatbuf_ref compression = compression_table(b, w->compress);
  csf_flatbuf_ref buffers = csf_flatbuf_vector(b, NULL, w->buffers.size / CSF_BUFFER_SIZE, CSF_BUFFER_SIZE, 8);
  csf_flatbuf_ref nodes = csf_flatbuf_vector(b, NULL, w->nodes.size / CSF_NODE_SIZE, CSF_NODE_SIZE, 8);
  csf_flatbuf_ref variadic = w->variadic.size == 0 ? 0 : csf_flatbuf_vector(b, NULL, w->variadic.size / 8, 8, 8);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i64(b, CSF_BATCH_LENGTH, h->length, 0);
  csf_flatbuf_field_ref(b, CSF_BATCH_NODES, nodes);
  csf_flatbuf_field_ref(b, CSF_BATCH_BUFFERS, buffers);
  csf_flatbuf_field_ref(b, CSF_BATCH_COMPRESSION, compression);
  csf_flatbuf_field_ref(b, CSF_BATCH_VARIADIC, variadic);
  return csf_flatbuf_table_end(b);
}

static enum colshuf_status template_build(struct csf_metadata_template *t, const struct csf_batch_writer *w,
                                          const struct heading *h, struct colshuf_error *err) {
  struct csf_flatbuf *b = &t->b;
  t->bytes.size = 0;
  csf_flatbuf_reset(b);
  csf_flatbuf_ref header = batch_table(b, w, h);
  if (h->code == CSF_HEADER_DICTIONARY) {
    csf_flatbuf_table_start(b);
    csf_flatbuf_field_i64(b, CSF_DICTIONARY_ID, h->id, 0);
    csf_flatbuf_field_ref(b, CSF_DICTIONARY_DATA, header);
    csf_flatbuf_field_u8(b, CSF_DICTIONARY_IS_DELTA, h->is_delta, 0);
    header = csf_flatbuf_table_end(b);
  }
  CSF_TRY(csf_flatbuf_finish(b, csf_message_table(b, h->code, header, (int64_t)w->body_size), &t->bytes, err));
  t->n_nodes = w->nodes.size / CSF_NODE_SIZE;
  t->n_buffers = w->buffers.size / CSF_BUFFER_SIZE;
  t->n_variadic = w->variadic.size / 8;
  t->id = h->id;
  t->is_delta = h->is_delta;
  t->has_rows = h->length != 0;
  t->has_body = w->body_size != 0;
  t->compressed = w->compress != 0;
  return COLSHUF_OK;
}

/* The place of a field that the builder laid in memory of its own. */
static uint8_t *mutable(const uint8_t *place) {
  return (uint8_t *)(uintptr_t)place;
}

static void fill_vector(struct csf_fb_table batch, uint32_t id, const struct csf_buffer *content) {
  if (content->size > 0) memcpy(mutable(csf_fb_elements(batch, id).data), content->data, content->size);
}

/* Puts the numbers of the plan into a template of its shape. */
static void template_fill(struct csf_metadata_template *t, const struct csf_batch_writer *w, const struct heading *h) {
  struct csf_fb_table message = csf_fb_root(t->bytes);
  struct csf_fb_table batch = csf_fb_child(message, CSF_MESSAGE_HEADER);
  if (h->code == CSF_HEADER_DICTIONARY) batch = csf_fb_child(batch, CSF_DICTIONARY_DATA);
  if (t->has_body) csf_store_i64(mutable(csf_fb_field(message, CSF_MESSAGE_BODY_LENGTH)), (int64_t)w->body_size);
  if (t->has_rows) csf_store_i64(mutable(csf_fb_field(batch, CSF_BATCH_LENGTH)), h->length);
  fill_vector(batch, CSF_BATCH_NODES, &w->nodes);
  fill_vector(batch, CSF_BATCH_BUFFERS, &w->buffers);
  fill_vector(batch, CSF_BATCH_VARIADIC, &w->variadic);
}

static enum colshuf_status write_metadata(struct csf_batch_writer *w, const struct heading *h, struct csf_buffer *out,
                                          struct colshuf_error *err) {
  struct csf_metadata_template *t = &w->templates[h->code == CSF_HEADER_DICTIONARY];
  if (!template_fits(t, w, h)) CSF_TRY(template_build(t, w, h, err));
  template_fill(t, w, h);
  size_t framed = (size_t)csf_round_up(8 + t->bytes.size, w->alignment);
  CSF_TRY(csf_buffer_reserve(out, out->size + framed + (size_t)w->body_size, err));
  return csf_frame_append(out, t->bytes, w->alignment, err);
}

/* The bytes of a piece's last alignment unit are zeroed first, then the piece is laid over them: that is its padding. */
static void write_body(const struct csf_batch_writer *w, struct csf_buffer *out) {
  const struct csf_body_piece *pieces = (const void *)w->pieces.data;
  size_t n = w->pieces.size / sizeof *pieces;
  uint8_t *target = out->data + out->size;
  for (size_t i = 0; i < n; i++) {
    const struct csf_body_piece *piece = &pieces[i];
    uint8_t *end = target + csf_round_up(piece->size, w->alignment);
    if (w->alignment == 8) {
      memset(end - 8, 0, 8);
    } else {
      memset(end - 64, 0, 64);
    }
    if (CSF_LIKELY(piece->op == CSF_BODY_COPY)) {
      memcpy(target, piece->source, piece->size);
    } else {
      csf_body_write(w, piece, target);
    }
    target = end;
  }
  out->size += (size_t)w->body_size;
}

/* Arrow body compression of one buffer: its size, then the codec's stream, or -1 and the bytes where that is not smaller. */
static enum colshuf_status compress_piece(struct csf_batch_writer *w, const struct csf_body_piece *piece, size_t buffer,
                                          struct colshuf_error *err) {
  w->raw.size = 0;
  CSF_TRY(csf_buffer_reserve(&w->raw, (size_t)piece->size, err));
  csf_body_write(w, piece, w->raw.data);
  size_t start = w->body.size;
  int64_t prefix = (int64_t)piece->size;
  CSF_TRY(csf_buffer_append(&w->body, &prefix, sizeof prefix, err));
  enum colshuf_codec kind = w->compress == 1 ? COLSHUF_LZ4 : COLSHUF_ZSTD;
  CSF_TRY(csf_codec_compress(w->codec, kind, 0, (struct csf_span){w->raw.data, (size_t)piece->size}, &w->body, err));
  if (w->body.size - start - 8 >= piece->size) {
    w->body.size = start;
    prefix = -1;
    CSF_TRY(csf_buffer_append(&w->body, &prefix, sizeof prefix, err));
    CSF_TRY(csf_buffer_append(&w->body, w->raw.data, (size_t)piece->size, err));
  }
  csf_store_u64(w->buffers.data + CSF_BUFFER_SIZE * buffer + 8, w->body.size - start);
  return csf_buffer_append_zero(&w->body, (size_t)(csf_round_up(w->body.size, w->alignment) - w->body.size), err);
}

/* The body is made apart, since its sizes stand in the metadata before it. */
static enum colshuf_status compress_body(struct csf_batch_writer *w, struct colshuf_error *err) {
  const struct csf_body_piece *piece = (const void *)w->pieces.data;
  w->body.size = 0;
  for (size_t i = 0; i < w->buffers.size / CSF_BUFFER_SIZE; i++) {
    uint8_t *buffer = w->buffers.data + CSF_BUFFER_SIZE * i;
    csf_store_u64(buffer, w->body.size);
    if (csf_load_u64(buffer + 8) > 0) CSF_TRY(compress_piece(w, piece++, i, err));
  }
  w->body_size = w->body.size;
  return COLSHUF_OK;
}

/* Writes what was planned. */
static enum colshuf_status write_message(struct csf_batch_writer *w, const struct heading *h, struct csf_buffer *out,
                                         struct colshuf_error *err) {
  if (w->max_body_size != 0 && w->body_size > w->max_body_size) {
    return csf_fail(err, COLSHUF_LIMIT, "%" PRIu64 " bytes in one record batch, more than %" PRIu64, w->body_size,
                    w->max_body_size);
  }
  if (w->compress == 0) {
    CSF_TRY(write_metadata(w, h, out, err));
    write_body(w, out);
    return COLSHUF_OK;
  }
  CSF_TRY(compress_body(w, err));
  size_t before = out->size;
  CSF_TRY(write_metadata(w, h, out, err));
  enum colshuf_status status = csf_buffer_append(out, w->body.data, w->body.size, err);
  if (status != COLSHUF_OK) out->size = before;
  return status;
}

/*
 * Of the patterns tried (runs, periods of 4 and 8, none) this one made all tables of bench/make_write_tables.py and lineitem smaller than
 * none did: it repeats at 8, and nothing in it looks like the metadata.
 */
static const uint8_t lead[] = {0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255, 255};

/* A piece without a buffer that refers to it. */
static enum colshuf_status plan_lead(struct csf_batch_writer *w, struct colshuf_error *err) {
  CSF_TRY(csf_plan_room(w, 1, err));
  csf_plan_put(w, CSF_BODY_COPY, lead, sizeof lead);
  w->buffers.size = 0;
  return COLSHUF_OK;
}

enum colshuf_status csf_batch_write(struct csf_batch_writer *w, const struct csf_field *root, const struct ArrowArray *batch,
                                    int64_t start, int64_t length, struct csf_buffer *out, struct colshuf_error *err) {
  csf_plan_reset(w);
  if (w->lead && length >= CSF_LEAD_MIN_ROWS) CSF_TRY(plan_lead(w, err));
  for (int32_t i = 0; i < root->n_children; i++) {
    const struct csf_field *field = &root->children[i];
    enum colshuf_status status = csf_plan_array(w, field, batch->children[i], batch->offset + start, length, err);
    if (CSF_UNLIKELY(status != COLSHUF_OK)) return csf_fail_context(err, status, "column %" PRId32 " \"%s\"", i, field->name);
  }
  struct heading heading = {.code = CSF_HEADER_BATCH, .length = length};
  return write_message(w, &heading, out, err);
}

enum colshuf_status csf_dictionary_write(struct csf_batch_writer *w, const struct csf_field *values_field,
                                         const struct ArrowArray *values, int64_t start, int64_t length, int64_t id, bool is_delta,
                                         struct csf_buffer *out, struct colshuf_error *err) {
  csf_plan_reset(w);
  enum colshuf_status status = csf_plan_array(w, values_field, values, start, length, err);
  if (CSF_UNLIKELY(status != COLSHUF_OK)) return csf_fail_context(err, status, "dictionary %" PRId64, id);
  struct heading heading = {.code = CSF_HEADER_DICTIONARY, .length = length, .id = id, .is_delta = is_delta};
  return write_message(w, &heading, out, err);
}

enum colshuf_status csf_dictionaries_write(struct csf_batch_writer *w, const struct csf_field *field, const struct ArrowArray *array,
                                           struct csf_buffer *out, struct colshuf_error *err) {
  if (field->dictionary != NULL) {
    CSF_TRY(csf_dictionaries_write(w, field->dictionary, array->dictionary, out, err));
    return csf_dictionary_write(w, field->dictionary, array->dictionary, 0, array->dictionary->length, field->dictionary_id, false,
                                out, err);
  }
  for (int32_t i = 0; i < field->n_children; i++) {
    CSF_TRY(csf_dictionaries_write(w, &field->children[i], array->children[i], out, err));
  }
  return COLSHUF_OK;
}
