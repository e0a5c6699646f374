/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a Schema message; what is accepted is written again, and that must be read as an equal schema. */
#include "support.h"

#include "ipc/message.h"
#include "ipc/schema_message.h"

static void check_written_again(struct csf_schema *schema) {
  struct colshuf_error err = {0};
  struct csf_buffer bytes;
  csf_buffer_init(&bytes, NULL);
  csf_schema_number_dictionaries(schema);
  PROMISE(csf_schema_message_write(schema, 8, &bytes, &err) == COLSHUF_OK);
  struct csf_cursor cursor = {bytes.data, bytes.size};
  struct csf_message message;
  bool end = false;
  PROMISE(csf_message_take(&cursor, bytes.data, NULL, &message, &end, &err) == COLSHUF_OK);
  struct csf_schema *again = NULL;
  PROMISE(csf_schema_message_read(message.metadata, NULL, NULL, &again, &err) == COLSHUF_OK);
  PROMISE(csf_field_equal(&schema->root, &again->root, CSF_MATCH_EXACT));
  csf_schema_release(again);
  csf_buffer_clear(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct colshuf_error err = {0};
  struct colshuf_limits limits = fuzz_limits();
  enum csf_message_kind kind;
  bool is_v4;
  int64_t body_size;
  struct csf_span metadata = {data, size};
  enum colshuf_status status = csf_message_verify(metadata, &limits, &kind, &is_v4, &body_size, &err);
  if (status != COLSHUF_OK) {
    fuzz_check_failure(status, &err);
    return 0;
  }
  if (kind != CSF_MESSAGE_SCHEMA) return 0;
  struct csf_schema *schema = NULL;
  status = csf_schema_message_read(metadata, NULL, &limits, &schema, &err);
  if (status != COLSHUF_OK) {
    fuzz_check_failure(status, &err);
    return 0;
  }
  check_written_again(schema);
  csf_schema_release(schema);
  return 0;
}
