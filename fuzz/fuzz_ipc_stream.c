/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow IPC stream, trusted or not by its first byte, in reads of 1, 7 or all bytes by its second. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  enum colshuf_trust trust = fuzz_trust(data[0]);
  static const size_t steps[] = {0, 0, 7, 1};
  struct fuzz_memory memory = {.data = data + 2, .size = size - 2, .step = steps[data[1] & 3]};
  struct colshuf_input input = {.read = fuzz_read, .ctx = &memory};
  struct colshuf_ipc_reader_options options = {.trust = trust, .limits = fuzz_limits()};
  struct ArrowArrayStream stream = {0};
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_ipc_reader_open(&input, &options, &stream, &err);
  if (status == COLSHUF_OK) fuzz_drain(&stream, trust);
  else fuzz_check_failure(status, &err);
  return 0;
}
