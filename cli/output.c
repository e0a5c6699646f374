/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "report.h"

enum { BUFFER_SIZE = 1 << 18 };

static char *temporary_name(const char *path, int number) {
  const char *slash = strrchr(path, '/');
  int directory = slash == NULL ? 0 : (int)(slash + 1 - path);
  size_t size = strlen(path) + 64;
  char *name = need_memory(NULL, size);
  snprintf(name, size, "%.*s.%s.%ld-%d.colshuf-tmp", directory, path, path + directory, (long)getpid(), number);
  return name;
}

static int create_temporary(struct output *output, const char *path) {
  enum { MOST_ATTEMPTS = 100 };
  for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    output->temporary = temporary_name(path, attempt);
    output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->fd >= 0) {
      (void)flock(output->fd, LOCK_EX | LOCK_NB); /* tells `clean` that the file is in use */
      return GO_ON;
    }
    free(output->temporary);
    output->temporary = NULL;
    if (errno != EEXIST) return fail_output(errno, path);
  }
  return fail_output(EEXIST, path);
}

/* A symbolic link stays, and what it leads to is replaced; one that leads nowhere is replaced itself. */
static const char *follow_links(struct output *output, const char *path) {
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) output->resolved = realpath(path, NULL);
  return output->resolved != NULL ? output->resolved : path;
}

/* Nothing is put in place among devices: /dev/stdout may lead to a regular file, which stands open already. */
static int open_target(struct output *output, const char *path) {
  struct stat status;
  bool exists = stat(path, &status) == 0, device = strncmp(path, "/dev/", 5) == 0;
  output->path = output->name = path;
  if (exists && S_ISDIR(status.st_mode)) return fail_errno(EISDIR, path);
  if (!device && (!exists || S_ISREG(status.st_mode))) {
    output->path = follow_links(output, path);
    return create_temporary(output, output->path);
  }
  output->fd = open(path, O_WRONLY | O_CLOEXEC);
  return output->fd >= 0 ? GO_ON : fail_errno(errno, path);
}

static bool is_stdout(const char *path) {
  return path == NULL || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

int output_open(struct output *output, const char *path) {
  *output = (struct output){.fd = STDOUT_FILENO, .name = "standard output"};
  int code = is_stdout(path) ? GO_ON : open_target(output, path);
  if (code == GO_ON) output->buffer = need_memory(NULL, BUFFER_SIZE);
  return code;
}

static int write_through(struct output *output, const char *data, size_t size) {
  while (size > 0 && output->error == 0) {
    ssize_t n = write(output->fd, data, size);
    if (n < 0 && errno == EINTR) {
      if (interrupted()) output->error = EINTR;
      continue;
    }
    if (n < 0) {
      output->error = errno;
    } else {
      data += n;
      size -= (size_t)n;
      output->written += (uint64_t)n;
    }
  }
  return output->error;
}

static int flush(struct output *output) {
  size_t used = output->used;
  output->used = 0;
  return write_through(output, output->buffer, used);
}

int output_write(struct output *output, const void *data, size_t size) {
  if (size > BUFFER_SIZE - output->used && flush(output) != 0) return output->error;
  if (size >= BUFFER_SIZE) return write_through(output, data, size);
  if (size > 0) memcpy(output->buffer + output->used, data, size);
  output->used += size;
  return output->error;
}

static int put_in_place(struct output *output) {
  if (flush(output) != 0) return interrupted() ? EXIT_INTERRUPTED : fail_errno(output->error, output->name);
  if (output->path == NULL) return GO_ON;
  int closed = close(output->fd);
  output->fd = -1;
  if (closed != 0 && errno != EINTR) return fail_errno(errno, output->name);
  if (output->temporary == NULL) return GO_ON;
  if (rename(output->temporary, output->path) != 0) return fail_errno(errno, output->path);
  free(output->temporary);
  output->temporary = NULL;
  return GO_ON;
}

int output_finish(struct output *output, int code) {
  if (code == GO_ON && interrupted()) code = EXIT_INTERRUPTED;
  if (code == GO_ON) code = put_in_place(output);
  if (output->path != NULL && output->fd >= 0) close(output->fd);
  if (output->temporary != NULL) unlink(output->temporary);
  free(output->temporary);
  free(output->buffer);
  free(output->resolved);
  *output = (struct output){.fd = -1};
  return code;
}

/* Asked before the work: a folder for spills that is not there might be noticed after an hour. */
static int check_folder(const char *folder, const char *output) {
  struct stat status;
  int error = stat(folder, &status) != 0 ? errno : !S_ISDIR(status.st_mode) ? ENOTDIR : access(folder, W_OK | X_OK) != 0 ? errno : 0;
  return error == 0 ? GO_ON : fail_output(error, output);
}

int check_output_name(const char *command, const char *name) {
  size_t size = strlen(name);
  if (size == 0 || name[size - 1] == '/' || strcmp(name, "-") == 0) {
    return fail_usage(command, "-o %s is no name of an output, which are several files", size == 0 ? "\"\"" : name);
  }
  char *folder = need_memory(NULL, size + 2);
  strcpy(folder, name);
  char *slash = strrchr(folder, '/');
  if (slash == NULL) strcpy(folder, ".");
  else slash[slash == folder] = '\0';
  int code = check_folder(folder, name);
  free(folder);
  return code;
}

int check_spill_folder(const char *folder) {
  char *inside = need_memory(NULL, strlen(folder) + 2);
  sprintf(inside, "%s/", folder);
  int code = check_folder(folder, inside);
  free(inside);
  return code;
}

bool output_is_terminal(const struct output *output) {
  return isatty(output->fd);
}

char *with_ending(const char *path, const char *ending) {
  size_t size = strlen(path);
  if (size > 5 && strcmp(path + size - 5, ".data") == 0) size -= 5;
  char *name = need_memory(NULL, size + strlen(ending) + 1);
  memcpy(name, path, size);
  strcpy(name + size, ending);
  return name;
}
