/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* An announced size is believed this far at a time; what the allocator adds on top stays below 64 MiB, too. */
static const size_t step = (size_t)32 << 20;

/* Where bytes come from next: the place in a file, or simply the next ones. */
struct source {
  const struct colshuf_input *input;
  bool at;
  uint64_t position;
};

static enum colshuf_status read_some(struct source *source, void *buffer, size_t size, size_t *got, struct colshuf_error *err) {
  const struct colshuf_input *input = source->input;
  *got = 0;
  while (*got < size) {
    uint8_t *place = (uint8_t *)buffer + *got;
    size_t wanted = size - *got;
    int64_t n = source->at ? input->read_at(input->ctx, source->position, place, wanted) : input->read(input->ctx, place, wanted);
    if (n == -EINTR) continue;
    if (n < 0) return csf_fail_errno(err, (int)-n, "reading %zu bytes", wanted);
    if (n == 0) break;
    if ((uint64_t)n > wanted) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the input gave %" PRId64 " bytes for %zu", n, wanted);
    *got += (size_t)n;
    source->position += (uint64_t)n;
  }
  return COLSHUF_OK;
}

static enum colshuf_status take(struct source *source, uint64_t size, const char *what, struct csf_buffer *out,
                                struct colshuf_error *err) {
  out->size = 0;
  while (out->size < size) {
    uint64_t left = size - out->size;
    size_t wanted = left < step ? (size_t)left : step, got = 0;
    CSF_TRY(csf_buffer_reserve(out, out->size + wanted, err));
    CSF_TRY(read_some(source, out->data + out->size, wanted, &got, err));
    out->size += got;
    if (got < wanted) {
      return csf_fail(err, COLSHUF_CORRUPT, "truncated: %s of %" PRIu64 " bytes, the input ends after %zu", what, size, out->size);
    }
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_input_read(const struct colshuf_input *input, void *buffer, size_t size, size_t *got,
                                   struct colshuf_error *err) {
  struct source source = {.input = input};
  return read_some(&source, buffer, size, got, err);
}

enum colshuf_status csf_input_take(const struct colshuf_input *input, uint64_t size, const char *what, struct csf_buffer *out,
                                   struct colshuf_error *err) {
  struct source source = {.input = input};
  return take(&source, size, what, out, err);
}

enum colshuf_status csf_input_take_at(const struct colshuf_input *input, uint64_t position, uint64_t size, const char *what,
                                      struct csf_buffer *out, struct colshuf_error *err) {
  struct source source = {.input = input, .at = true, .position = position};
  return take(&source, size, what, out, err);
}

struct path_input {
  int fd;
  bool close;
  int64_t size;
  struct colshuf_allocator allocator;
};

static int64_t path_read(void *ctx, void *buffer, size_t size) {
  ssize_t n = read(((struct path_input *)ctx)->fd, buffer, size);
  return n < 0 ? -(int64_t)errno : (int64_t)n;
}

static int64_t path_read_at(void *ctx, uint64_t position, void *buffer, size_t size) {
  if (position > INT64_MAX) return 0;
  ssize_t n = pread(((struct path_input *)ctx)->fd, buffer, size, (off_t)position);
  return n < 0 ? -(int64_t)errno : (int64_t)n;
}

static int64_t path_size(void *ctx) {
  return ((struct path_input *)ctx)->size;
}

static void path_release(void *ctx) {
  struct path_input *path = ctx;
  if (path->close) close(path->fd);
  struct colshuf_allocator allocator = path->allocator;
  csf_free(&allocator, path, sizeof *path);
}

static enum colshuf_status open_descriptor(const char *path, struct path_input *out, struct stat *status, struct colshuf_error *err) {
  bool standard = strcmp(path, "-") == 0;
  out->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (out->fd < 0) return csf_fail_errno(err, errno, "cannot open %s", path);
  out->close = !standard;
  if (fstat(out->fd, status) == 0 && !S_ISDIR(status->st_mode)) return COLSHUF_OK;
  int cause = S_ISDIR(status->st_mode) ? EISDIR : errno;
  if (out->close) close(out->fd);
  return csf_fail_errno(err, cause, "cannot read %s", path);
}

enum colshuf_status csf_input_open_path(const char *path, const struct colshuf_allocator *wanted, struct colshuf_input *out,
                                        struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct path_input *input = csf_alloc_zero(&allocator, sizeof *input);
  if (input == NULL) return csf_fail_memory(err, sizeof *input);
  input->allocator = allocator;
  struct stat file = {0};
  enum colshuf_status status = open_descriptor(path, input, &file, err);
  if (status != COLSHUF_OK) {
    csf_free(&allocator, input, sizeof *input);
    return status;
  }
  *out = (struct colshuf_input){.read = path_read, .release = path_release, .ctx = input};
  /* Standard input may stand in the middle of a file: it is read from where it is. */
  if (!input->close || !S_ISREG(file.st_mode)) return COLSHUF_OK;
  input->size = (int64_t)file.st_size;
  out->read_at = path_read_at;
  out->size = path_size;
  return COLSHUF_OK;
}
