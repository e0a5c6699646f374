/* SPDX-License-Identifier: Apache-2.0 */
#include "support/messages.h"

#include <stdlib.h>

#include "ipc/flatbuf_build.h"
#include "ipc/format_tables.h"
#include "ipc/message.h"
#include "ipc/message_write.h"
#include "ipc/schema_message.h"
#include "support/types.h"

struct csf_buffer test_buffer(void) {
  struct csf_buffer buffer;
  csf_buffer_init(&buffer, &test_heap);
  return buffer;
}

void test_append(struct csf_buffer *out, const void *data, size_t size) {
  if (csf_buffer_append(out, data, size, NULL) != COLSHUF_OK) abort();
}

void test_end_append(struct csf_buffer *out) {
  test_append(out, csf_end_marker, sizeof csf_end_marker);
}

static csf_flatbuf_ref build_batch(struct csf_flatbuf *b, const struct test_message *m) {
  csf_flatbuf_ref compression = 0, variadic = 0;
  if (m->compression > 0) {
    csf_flatbuf_table_start(b);
    csf_flatbuf_field_u8(b, CSF_COMPRESSION_CODEC, (uint8_t)(m->compression - 1), 0);
    compression = csf_flatbuf_table_end(b);
  }
  csf_flatbuf_ref buffers = csf_flatbuf_vector(b, m->buffers, m->n_buffers, 16, 8);
  csf_flatbuf_ref nodes = csf_flatbuf_vector(b, m->nodes, m->n_nodes, 16, 8);
  if (m->n_variadic > 0) variadic = csf_flatbuf_vector(b, m->variadic, m->n_variadic, 8, 8);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i64(b, CSF_BATCH_LENGTH, m->length, 0);
  csf_flatbuf_field_ref(b, CSF_BATCH_NODES, nodes);
  csf_flatbuf_field_ref(b, CSF_BATCH_BUFFERS, buffers);
  csf_flatbuf_field_ref(b, CSF_BATCH_COMPRESSION, compression);
  csf_flatbuf_field_ref(b, CSF_BATCH_VARIADIC, variadic);
  return csf_flatbuf_table_end(b);
}

static csf_flatbuf_ref build_header(struct csf_flatbuf *b, const struct test_message *m) {
  csf_flatbuf_ref batch = build_batch(b, m);
  if (!m->is_dictionary) return batch;
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i64(b, CSF_DICTIONARY_ID, m->id, 0);
  csf_flatbuf_field_ref(b, CSF_DICTIONARY_DATA, batch);
  csf_flatbuf_field_u8(b, CSF_DICTIONARY_IS_DELTA, m->is_delta, 0);
  return csf_flatbuf_table_end(b);
}

void test_message_append(struct csf_buffer *out, const struct test_message *m) {
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  csf_flatbuf_ref header = build_header(&b, m);
  size_t padded = csf_round_up(m->body_size, 8);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_i16(&b, CSF_MESSAGE_VERSION, m->is_v4 ? CSF_VERSION_V4 : CSF_VERSION_V5, 0);
  csf_flatbuf_field_u8(&b, CSF_MESSAGE_HEADER_TYPE, m->is_dictionary ? CSF_HEADER_DICTIONARY : CSF_HEADER_BATCH, 0);
  csf_flatbuf_field_i64(&b, CSF_MESSAGE_BODY_LENGTH, m->announced != 0 ? m->announced : (int64_t)padded, 0);
  csf_flatbuf_field_ref(&b, CSF_MESSAGE_HEADER, header);
  csf_flatbuf_ref message = csf_flatbuf_table_end(&b);
  struct csf_span metadata;
  if (csf_flatbuf_finish(&b, message, &metadata, NULL) != COLSHUF_OK) abort();
  if (csf_frame_append(out, metadata, 8, NULL) != COLSHUF_OK) abort();
  test_append(out, m->body, m->body_size);
  if (csf_buffer_append_zero(out, padded - m->body_size, NULL) != COLSHUF_OK) abort();
  csf_flatbuf_clear(&b);
}

void test_schema_append(struct csf_buffer *out, const char *text) {
  struct csf_schema *schema = test_schema(text);
  csf_schema_number_dictionaries(schema);
  if (csf_schema_message_write(schema, 8, out, NULL) != COLSHUF_OK) abort();
  csf_schema_release(schema);
}
