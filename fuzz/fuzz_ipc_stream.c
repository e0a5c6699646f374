/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow IPC stream, its trust by its first byte, in reads of 1, 7 or all bytes by its second. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  static const size_t steps[] = {0, 0, 7, 1};
  struct fuzz_memory memory = {.data = data + 2, .size = size - 2, .step = steps[data[1] & 3]};
  struct colshuf_input input = {.read = fuzz_read, .ctx = &memory};
  fuzz_read_ipc(&input, fuzz_trust(data[0]));
  return 0;
}
