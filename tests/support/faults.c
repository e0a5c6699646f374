/* SPDX-License-Identifier: Apache-2.0 */
#include "support/faults.h"

#include <errno.h>
#include <string.h>

struct test_fault test_fault;
int test_open_files;

static bool strikes(const char *call) {
  if (test_fault.at == 0 || (test_fault.call != NULL && strcmp(test_fault.call, call) != 0)) return false;
  test_fault.seen++;
  bool now = test_fault.seen == test_fault.at || (test_fault.effect == TEST_FAIL_FOREVER && test_fault.seen > test_fault.at);
  test_fault.hit |= now;
  if (now && test_fault.effect != TEST_SHORT) errno = test_fault.error;
  return now && test_fault.effect != TEST_SHORT;
}
static size_t shortened(const char *call, size_t size) {
  if (test_fault.effect != TEST_SHORT || (test_fault.call != NULL && strcmp(test_fault.call, call) != 0) || test_fault.seen != test_fault.at || size < 2) return size;
  return size / 2;
}

static int faulty_open(const char *path, int flags, mode_t mode) {
  if (strikes("open")) return -1;
  int fd = csf_io_system.open(path, flags, mode);
  test_open_files += fd >= 0;
  return fd;
}
/* As Linux: the descriptor is gone whatever close says. */
static int faulty_close(int fd) {
  bool struck = strikes("close");
  int error = errno;
  test_open_files--;
  int result = csf_io_system.close(fd);
  errno = error;
  return struck ? -1 : result;
}
static ssize_t faulty_read(int fd, void *buffer, size_t size) {
  return strikes("read") ? -1 : csf_io_system.read(fd, buffer, shortened("read", size));
}
static ssize_t faulty_pread(int fd, void *buffer, size_t size, off_t offset) {
  return strikes("pread") ? -1 : csf_io_system.pread(fd, buffer, shortened("pread", size), offset);
}
static ssize_t faulty_write(int fd, const void *buffer, size_t size) {
  return strikes("write") ? -1 : csf_io_system.write(fd, buffer, shortened("write", size));
}
static ssize_t faulty_pwrite(int fd, const void *buffer, size_t size, off_t offset) {
  return strikes("pwrite") ? -1 : csf_io_system.pwrite(fd, buffer, shortened("pwrite", size), offset);
}
static ssize_t faulty_copy(int in, off_t *in_offset, int out, size_t size) {
  return strikes("copy_range") ? -1 : csf_io_system.copy_range(in, in_offset, out, shortened("copy_range", size));
}
static int faulty_discard(int fd, uint64_t offset, uint64_t size) {
  return strikes("discard") ? -1 : csf_io_system.discard(fd, offset, size);
}
static int faulty_rename(const char *from, const char *to) {
  return strikes("rename") ? -1 : csf_io_system.rename(from, to);
}
static int faulty_unlink(const char *path) {
  return strikes("unlink") ? -1 : csf_io_system.unlink(path);
}
static int faulty_fstat(int fd, struct stat *out) {
  return strikes("fstat") ? -1 : csf_io_system.fstat(fd, out);
}
static int faulty_stat(const char *path, struct stat *out) {
  return strikes("stat") ? -1 : csf_io_system.stat(path, out);
}
static int faulty_fsync(int fd) {
  return strikes("fsync") ? -1 : csf_io_system.fsync(fd);
}
static int faulty_flock(int fd, int operation) {
  return strikes("flock") ? -1 : csf_io_system.flock(fd, operation);
}
const struct csf_io test_faulty_io = {.open = faulty_open,
                                     .close = faulty_close,
                                     .read = faulty_read,
                                     .pread = faulty_pread,
                                     .write = faulty_write,
                                     .pwrite = faulty_pwrite,
                                     .copy_range = faulty_copy,
                                     .discard = faulty_discard,
                                     .rename = faulty_rename,
                                     .unlink = faulty_unlink,
                                     .fstat = faulty_fstat,
                                     .stat = faulty_stat,
                                     .fsync = faulty_fsync,
                                     .flock = faulty_flock};
