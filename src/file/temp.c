/* SPDX-License-Identifier: Apache-2.0 */
/* Files under temporary names. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "file/output.h"

/* Writes below a quarter of what may be gathered are. */
enum { LEAST_CAPACITY = 1 << 16, GATHERED_SHARE = 4 };

/*
 * Between ext4 files whose pages are in memory, copy_file_range takes 1.5 times as long as reading into a warm buffer of some 100 KiB and
 * writing that: it goes by pipes of 64 KiB, and the pages that it leaves are small ones. From here on it is used all the same.
 */
enum { LARGE_COPY = 8 << 20 };

/* Other containers may share the directory and our process id, so the name may be taken: then the next number. */
enum { MOST_ATTEMPTS = 1000 };

static enum colshuf_status make_path(struct csf_temp_file *file, const char *directory, const char *name, uint64_t number,
                                     struct colshuf_error *err) {
  const char *format = "%s/.%s.%ld-%" PRIu64 ".colshuf-tmp";
  int length = snprintf(NULL, 0, format, directory, name, (long)getpid(), number);
  if (length < 0) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the name %s cannot be made into a path", name);
  size_t size = (size_t)length + 1;
  char *path = csf_alloc(&file->allocator, size);
  if (path == NULL) return csf_fail_memory(err, size);
  snprintf(path, size, format, directory, name, (long)getpid(), number);
  file->path = path;
  file->path_size = size;
  return COLSHUF_OK;
}

static void forget_path(struct csf_temp_file *file) {
  csf_free(&file->allocator, file->path, file->path_size);
  file->path = NULL;
  file->path_size = 0;
}

enum colshuf_status csf_temp_create(struct csf_temp_file *file, const char *directory, const char *name,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) {
  static _Atomic uint64_t counter;
  struct csf_temp_file made = {.fd = -1, .pending_capacity = LEAST_CAPACITY, .allocator = csf_allocator(allocator)};
  for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    CSF_TRY(make_path(&made, directory, name, atomic_fetch_add(&counter, 1), err));
    made.fd = csf_io_current->open(made.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made.fd >= 0) break;
    int error = errno;
    if (error != EEXIST && error != EINTR) csf_fail_errno(err, error, "cannot create %s", made.path);
    forget_path(&made);
    if (error != EEXIST && error != EINTR) return error == ENOMEM ? COLSHUF_NO_MEMORY : COLSHUF_IO;
  }
  if (made.fd < 0) return csf_fail_errno(err, EEXIST, "cannot find a free temporary name for %s in %s", name, directory);
  /* A file system without locks is no reason to fail: cleaning then goes by the process id alone. */
  (void)csf_io_current->flock(made.fd, LOCK_EX | LOCK_NB);
  *file = made;
  return COLSHUF_OK;
}

enum colshuf_status csf_temp_flush(struct csf_temp_file *file, struct colshuf_error *err) {
  if (file->pending_size == 0) return COLSHUF_OK;
  CSF_TRY(csf_write_all(file->fd, file->path, file->pending, file->pending_size, err));
  file->pending_size = 0;
  return COLSHUF_OK;
}

void csf_temp_gather(struct csf_temp_file *file, size_t capacity) {
  if (file->pending == NULL && capacity > LEAST_CAPACITY) file->pending_capacity = capacity;
}

static enum colshuf_status need_pending(struct csf_temp_file *file, struct colshuf_error *err) {
  if (file->pending == NULL) file->pending = csf_alloc(&file->allocator, file->pending_capacity);
  return file->pending == NULL ? csf_fail_memory(err, file->pending_capacity) : COLSHUF_OK;
}

static enum colshuf_status gather(struct csf_temp_file *file, const void *data, size_t size, struct colshuf_error *err) {
  CSF_TRY(need_pending(file, err));
  if (size > file->pending_capacity - file->pending_size) CSF_TRY(csf_temp_flush(file, err));
  if (size > 0) memcpy(file->pending + file->pending_size, data, size);
  file->pending_size += size;
  return COLSHUF_OK;
}

enum colshuf_status csf_temp_write(struct csf_temp_file *file, const void *data, size_t size, struct colshuf_error *err) {
  if (size < file->pending_capacity / GATHERED_SHARE) {
    CSF_TRY(gather(file, data, size, err));
  } else {
    CSF_TRY(csf_temp_flush(file, err));
    CSF_TRY(csf_write_all(file->fd, file->path, data, size, err));
  }
  file->size += size;
  return COLSHUF_OK;
}

enum colshuf_status csf_temp_write_at(struct csf_temp_file *file, uint64_t offset, const void *data, size_t size,
                                      struct colshuf_error *err) {
  CSF_TRY(csf_pwrite_all(file->fd, file->path, offset, data, size, err));
  if (offset + size > file->size) file->size = offset + size;
  return COLSHUF_OK;
}

/* Ranges that are read into the gathered bytes: whole writes of many short ones, no page touched that is not in a cache. */
static enum colshuf_status gather_range(struct csf_temp_file *file, int in, const char *in_path, uint64_t offset, uint64_t size,
                                        struct colshuf_error *err) {
  CSF_TRY(need_pending(file, err));
  while (size > 0) {
    if (file->pending_size == file->pending_capacity) CSF_TRY(csf_temp_flush(file, err));
    size_t room = file->pending_capacity - file->pending_size, n = size < room ? (size_t)size : room;
    CSF_TRY(csf_pread_all(in, in_path, offset, file->pending + file->pending_size, n, err));
    file->pending_size += n;
    offset += n;
    size -= n;
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_temp_copy(struct csf_temp_file *file, int in, const char *in_path, uint64_t offset, uint64_t size,
                                  struct colshuf_error *err) {
  uint64_t gathered_below = file->pending_capacity > LEAST_CAPACITY ? LARGE_COPY : LEAST_CAPACITY / GATHERED_SHARE;
  if (size < gathered_below) {
    CSF_TRY(gather_range(file, in, in_path, offset, size, err));
  } else {
    CSF_TRY(csf_temp_flush(file, err));
    CSF_TRY(csf_copy_all(in, in_path, offset, file->fd, file->path, size, err));
  }
  file->size += size;
  return COLSHUF_OK;
}

static void free_memory(struct csf_temp_file *file) {
  if (file->pending != NULL) csf_free(&file->allocator, file->pending, file->pending_capacity);
  file->pending = NULL;
  file->pending_size = 0;
  if (file->path != NULL) forget_path(file);
}

enum colshuf_status csf_temp_keep(struct csf_temp_file *file, const char *final_path, struct colshuf_error *err) {
  CSF_TRY(csf_temp_flush(file, err));
  int fd = file->fd;
  file->fd = -1;
  CSF_TRY(csf_close(fd, file->path, err));
  if (csf_io_current->rename(file->path, final_path) != 0) {
    return csf_fail_errno(err, errno, "cannot rename %s to %s", file->path, final_path);
  }
  free_memory(file);
  return COLSHUF_OK;
}

void csf_temp_discard(struct csf_temp_file *file) {
  if (file->fd >= 0) csf_io_current->close(file->fd);
  file->fd = -1;
  if (file->path != NULL) csf_io_current->unlink(file->path);
  free_memory(file);
  file->size = 0;
}
