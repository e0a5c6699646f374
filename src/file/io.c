/* SPDX-License-Identifier: Apache-2.0 */
#include "file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int open_path(const char *path, int flags, mode_t mode) {
  return open(path, flags, mode);
}

static ssize_t copy_range(int in, off_t *in_offset, int out, size_t size) {
#if defined(__linux__)
  return copy_file_range(in, in_offset, out, NULL, size, 0);
#else
  (void)in, (void)in_offset, (void)out, (void)size;
  errno = ENOSYS;
  return -1;
#endif
}

static int discard(int fd, uint64_t offset, uint64_t size) {
#if defined(__linux__)
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
#else
  (void)fd, (void)offset, (void)size;
  errno = EOPNOTSUPP;
  return -1;
#endif
}

const struct csf_io csf_io_system = {
    .open = open_path,
    .close = close,
    .read = read,
    .pread = pread,
    .write = write,
    .pwrite = pwrite,
    .copy_range = copy_range,
    .discard = discard,
    .rename = rename,
    .unlink = unlink,
    .fstat = fstat,
    .stat = stat,
    .fsync = fsync,
    .flock = flock,
};

const struct csf_io *csf_io_current = &csf_io_system;

/* Linux moves at most about 2 GiB at a time; less keeps a signal from waiting long. */
enum { LARGEST_CALL = 1 << 30, COPY_CHUNK = 1 << 16 };

/*
 * From half a MiB on the page cache looks for contiguous pages as large as the write: on a virtual machine that reports its free memory to
 * the host those are the ones that the host took back, and a write of 1 MiB may take five times as long as four of 256 KiB. Elsewhere
 * these cost nothing more.
 */
enum { LARGEST_WRITE = 256 << 10 };

static size_t call_size(uint64_t size) {
  return size < LARGEST_CALL ? (size_t)size : LARGEST_CALL;
}

static enum colshuf_status check_not_directory(int fd, const char *path, struct stat *found, struct colshuf_error *err) {
  if (csf_io_current->fstat(fd, found) != 0) return csf_fail_errno(err, errno, "cannot look at %s", path);
  if (S_ISDIR(found->st_mode)) return csf_fail_errno(err, EISDIR, "cannot read %s", path);
  return COLSHUF_OK;
}

enum colshuf_status csf_open_read(const char *path, int *fd, struct stat *found, struct colshuf_error *err) {
  struct stat unused;
  int opened;
  do {
    opened = csf_io_current->open(path, O_RDONLY | O_CLOEXEC, 0);
  } while (opened < 0 && errno == EINTR);
  if (opened < 0) return csf_fail_errno(err, errno, "cannot open %s", path);
  enum colshuf_status status = check_not_directory(opened, path, found == NULL ? &unused : found, err);
  if (status != COLSHUF_OK) {
    csf_io_current->close(opened);
    return status;
  }
  *fd = opened;
  return COLSHUF_OK;
}

enum colshuf_status csf_file_size(const struct stat *found, const char *path, uint64_t *size, struct colshuf_error *err) {
  if (!S_ISREG(found->st_mode)) return csf_fail_errno(err, ESPIPE, "%s has no size", path);
  *size = (uint64_t)found->st_size;
  return COLSHUF_OK;
}

enum colshuf_status csf_pread_all(int fd, const char *path, uint64_t offset, void *buffer, size_t size, struct colshuf_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = csf_io_current->pread(fd, (uint8_t *)buffer + done, call_size(size - done), (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return csf_fail_errno(err, errno, "cannot read %zu bytes of %s at %" PRIu64, size, path, offset);
    if (n == 0) {
      return csf_fail(err, COLSHUF_CORRUPT, "%s ends at %" PRIu64 ", %zu bytes wanted at %" PRIu64, path, offset + done, size,
                      offset);
    }
    done += (size_t)n;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_pwrite_all(int fd, const char *path, uint64_t offset, const void *data, size_t size,
                                   struct colshuf_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = csf_io_current->pwrite(fd, (const uint8_t *)data + done, call_size(size - done), (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return csf_fail_errno(err, n < 0 ? errno : EIO, "cannot write %zu bytes to %s", size - done, path);
    done += (size_t)n;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_write_all(int fd, const char *path, const void *data, size_t size, struct colshuf_error *err) {
  for (size_t done = 0; done < size;) {
    size_t wanted = size - done < LARGEST_WRITE ? size - done : LARGEST_WRITE;
    ssize_t n = csf_io_current->write(fd, (const uint8_t *)data + done, wanted);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return csf_fail_errno(err, n < 0 ? errno : EIO, "cannot write %zu bytes to %s", size - done, path);
    done += (size_t)n;
  }
  return COLSHUF_OK;
}

/* Where the system does not copy by itself: other file systems, old kernels, special files. */
static bool copy_unsupported(int error) {
  return error == ENOSYS || error == EXDEV || error == EINVAL || error == EOPNOTSUPP || error == EBADF || error == ETXTBSY ||
         error == EPERM;
}

static enum colshuf_status copy_by_hand(int in, const char *in_path, uint64_t offset, int out, const char *out_path,
                                        uint64_t size, struct colshuf_error *err) {
  uint8_t chunk[COPY_CHUNK];
  while (size > 0) {
    size_t n = size < sizeof chunk ? (size_t)size : sizeof chunk;
    CSF_TRY(csf_pread_all(in, in_path, offset, chunk, n, err));
    CSF_TRY(csf_write_all(out, out_path, chunk, n, err));
    offset += n;
    size -= n;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_copy_all(int in, const char *in_path, uint64_t offset, int out, const char *out_path, uint64_t size,
                                 struct colshuf_error *err) {
  off_t place = (off_t)offset;
  while (size > 0) {
    ssize_t n = csf_io_current->copy_range(in, &place, out, call_size(size));
    if (n < 0 && errno == EINTR) continue;
    /* 0 is the end of the file, or a file system that pretends so: reading tells. */
    if (n == 0 || (n < 0 && copy_unsupported(errno))) {
      return copy_by_hand(in, in_path, (uint64_t)place, out, out_path, size, err);
    }
    if (n < 0) return csf_fail_errno(err, errno, "cannot copy %" PRIu64 " bytes of %s to %s", size, in_path, out_path);
    size -= (uint64_t)n;
  }
  return COLSHUF_OK;
}

/* After EINTR Linux has closed the descriptor all the same: calling again could close someone else's. */
enum colshuf_status csf_close(int fd, const char *path, struct colshuf_error *err) {
  if (fd < 0) return COLSHUF_OK;
  if (csf_io_current->close(fd) == 0 || errno == EINTR) return COLSHUF_OK;
  return csf_fail_errno(err, errno, "cannot close %s", path);
}
