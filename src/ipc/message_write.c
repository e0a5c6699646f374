/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message_write.h"

#include "ipc/format_tables.h"

csf_flatbuf_ref csf_message_table(struct csf_flatbuf *b, uint8_t header_code, csf_flatbuf_ref header, int64_t body_size) {
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i16(b, CSF_MESSAGE_VERSION, CSF_VERSION_V5, 0);
  csf_flatbuf_field_u8(b, CSF_MESSAGE_HEADER_TYPE, header_code, 0);
  csf_flatbuf_field_i64(b, CSF_MESSAGE_BODY_LENGTH, body_size, 0);
  csf_flatbuf_field_ref(b, CSF_MESSAGE_HEADER, header);
  return csf_flatbuf_table_end(b);
}

enum colshuf_status csf_frame_append(struct csf_buffer *out, struct csf_span metadata, uint32_t alignment,
                                     struct colshuf_error *err) {
  size_t size = (size_t)csf_round_up(8 + metadata.size, alignment);
  CSF_TRY(csf_buffer_reserve(out, out->size + size, err));
  uint8_t prefix[8];
  csf_store_u32(prefix, UINT32_MAX);
  csf_store_u32(prefix + 4, (uint32_t)(size - 8));
  CSF_TRY(csf_buffer_append(out, prefix, sizeof prefix, err));
  CSF_TRY(csf_buffer_append(out, metadata.data, metadata.size, err));
  return csf_buffer_append_zero(out, size - 8 - metadata.size, err);
}
