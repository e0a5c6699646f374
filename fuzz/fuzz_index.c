/* SPDX-License-Identifier: Apache-2.0 */
/* An index file, either byte order. */
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 1 << 16) return 0;
  int fd = memfd_create("index", 0);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) return 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct colshuf_index_info index = {0};
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_index_read(path, &index, &err);
  if (status != COLSHUF_OK) {
    fuzz_check_failure(status, &err);
    PROMISE(index.offsets == NULL);
  } else {
    PROMISE(index.n_partitions >= 0 && (size_t)(index.n_partitions + 1) * 8 == size && index.offsets[0] == 0);
    for (int32_t p = 0; p < index.n_partitions; p++) PROMISE(index.offsets[p] <= index.offsets[p + 1]);
    colshuf_index_clear(&index);
  }
  close(fd);
  return 0;
}
