/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow IPC file: magic, messages, footer. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_memory memory = {.data = data, .size = size};
  struct colshuf_input input = {.read = fuzz_read, .read_at = fuzz_read_at, .size = fuzz_size, .ctx = &memory};
  struct colshuf_ipc_reader_options options = {.limits = fuzz_limits()};
  struct ArrowArrayStream stream = {0};
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_ipc_reader_open(&input, &options, &stream, &err);
  if (status == COLSHUF_OK) fuzz_drain(&stream, COLSHUF_UNTRUSTED);
  else fuzz_check_failure(status, &err);
  return 0;
}
