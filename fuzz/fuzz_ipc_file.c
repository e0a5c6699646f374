/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow IPC file: magic, messages, footer. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_memory memory = {.data = data, .size = size};
  struct colshuf_input input = {.read = fuzz_read, .read_at = fuzz_read_at, .size = fuzz_size, .ctx = &memory};
  fuzz_read_ipc(&input, COLSHUF_UNTRUSTED);
  return 0;
}
