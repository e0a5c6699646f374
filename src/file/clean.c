/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what killed processes left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#include "file/output.h"

/* ".NAME.PID-N.colshuf-tmp": the process id, or 0 for any other name. */
static long owner_of(const char *name) {
  static const char ending[] = ".colshuf-tmp";
  size_t size = strlen(name);
  if (name[0] != '.' || size < sizeof ending || strcmp(name + size - (sizeof ending - 1), ending) != 0) return 0;
  const char *place = name + size - (sizeof ending - 1);
  const char *digits = "0123456789";
  while (place > name && strchr(digits, place[-1]) != NULL) place--;
  if (place == name || *--place != '-') return 0;
  while (place > name && strchr(digits, place[-1]) != NULL) place--;
  if (place <= name + 1 || place[-1] != '.') return 0;
  return strtol(place, NULL, 10);
}

static bool process_lives(long pid) {
  return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/*
 * A file in use is locked. One that is not, and whose process lives (here, or another one by the same number), may just have been
 * created and not locked yet, or lie where locks do not work: only time tells.
 */
static bool is_left_over(int fd, long pid) {
  enum { OLD_ENOUGH_S = 3600 };
  struct stat status;
  if (csf_io_current->flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  if (!process_lives(pid)) return true;
  return csf_io_current->fstat(fd, &status) == 0 && status.st_mtime + OLD_ENOUGH_S < time(NULL);
}

static enum colshuf_status clean_one(const char *directory, const char *name, uint64_t *removed, struct colshuf_error *err) {
  long pid = owner_of(name);
  if (pid <= 0) return COLSHUF_OK;
  struct colshuf_allocator heap = csf_allocator(NULL);
  size_t size = strlen(directory) + strlen(name) + 2;
  char *path = csf_alloc(&heap, size);
  if (path == NULL) return csf_fail_memory(err, size);
  snprintf(path, size, "%s/%s", directory, name);
  int fd = csf_io_current->open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
  enum colshuf_status status = COLSHUF_OK;
  if (fd >= 0 && is_left_over(fd, pid)) {
    if (csf_io_current->unlink(path) == 0) {
      ++*removed;
    } else if (errno != ENOENT) {
      status = csf_fail_errno(err, errno, "cannot remove %s", path);
    }
  }
  if (fd >= 0) csf_io_current->close(fd);
  csf_free(&heap, path, size);
  return status;
}

enum colshuf_status colshuf_clean(const char *directory, uint64_t *removed, struct colshuf_error *err) {
  *removed = 0;
  DIR *entries = opendir(directory);
  if (entries == NULL) return csf_fail_errno(err, errno, "cannot list %s", directory);
  enum colshuf_status status = COLSHUF_OK;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(entries);
    if (entry == NULL && errno != 0) status = csf_fail_errno(err, errno, "cannot list %s", directory);
    if (entry == NULL || status != COLSHUF_OK) break;
    status = clean_one(directory, entry->d_name, removed, err);
  }
  closedir(entries);
  return status;
}
