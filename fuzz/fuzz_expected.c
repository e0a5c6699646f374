/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a found schema against an expected one. Input: u16 size of the first Schema metadata, it, then the second. */
#include "support.h"

#include "ipc/message.h"
#include "ipc/schema_message.h"

static struct csf_schema *read_schema(struct csf_span metadata) {
  struct colshuf_limits limits = fuzz_limits();
  enum csf_message_kind kind;
  bool is_v4;
  int64_t body_size;
  struct csf_schema *schema = NULL;
  if (csf_message_verify(metadata, &limits, &kind, &is_v4, &body_size, NULL) != COLSHUF_OK) return NULL;
  if (kind != CSF_MESSAGE_SCHEMA) return NULL;
  if (csf_schema_message_read(metadata, NULL, &limits, &schema, NULL) != COLSHUF_OK) return NULL;
  return schema;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  size_t first = (size_t)data[0] | (size_t)data[1] << 8;
  if (first > size - 2) first = size - 2;
  /* Metadata is read 8-aligned: copies of their own. */
  uint8_t *a_bytes = aligned_alloc(64, (first + 64) & ~(size_t)63), *b_bytes = aligned_alloc(64, (size - first + 64) & ~(size_t)63);
  memcpy(a_bytes, data + 2, first);
  memcpy(b_bytes, data + 2 + first, size - 2 - first);
  struct csf_schema *a = read_schema((struct csf_span){a_bytes, first});
  struct csf_schema *b = read_schema((struct csf_span){b_bytes, size - 2 - first});
  struct colshuf_error err = {0};
  if (a != NULL) PROMISE(csf_schema_check_expected(a, a, &err) == COLSHUF_OK || err.message[0] != '\0');
  if (a != NULL && b != NULL) {
    enum colshuf_status forth = csf_schema_check_expected(a, b, &err);
    if (forth != COLSHUF_OK) fuzz_check_failure(forth, &err);
    if (csf_field_equal(&a->root, &b->root, CSF_MATCH_EXACT)) PROMISE(forth == csf_schema_check_expected(a, a, &err));
  }
  csf_schema_release(a);
  csf_schema_release(b);
  free(a_bytes);
  free(b_bytes);
  return 0;
}
