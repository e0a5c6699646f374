/* SPDX-License-Identifier: Apache-2.0 */
/* Putting the files of one map output in place, and opening them as one. */
#include "file/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes.h"
#include "file/checksum.h"

static const enum colshuf_checksum algorithms[] = {COLSHUF_CHECKSUM_ADLER32, COLSHUF_CHECKSUM_CRC32, COLSHUF_CHECKSUM_CRC32C};
enum { N_ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

/* Before + after + NUL, allocated. */
static char *join(const char *before, size_t before_size, const char *after, const struct colshuf_allocator *allocator,
                  size_t *size) {
  size_t after_size = strlen(after);
  *size = before_size + after_size + 1;
  char *path = csf_alloc(allocator, *size);
  if (path == NULL) return NULL;
  memcpy(path, before, before_size);
  memcpy(path + before_size, after, after_size + 1);
  return path;
}

char *csf_sibling_path(const char *data_path, const char *suffix, const struct colshuf_allocator *allocator, size_t *size) {
  size_t base = strlen(data_path);
  if (base >= 5 && strcmp(data_path + base - 5, ".data") == 0) base -= 5;
  return join(data_path, base, suffix, allocator, size);
}

enum colshuf_status csf_output_place(const char *output, const struct colshuf_allocator *allocator, struct csf_output_place *out,
                                     struct colshuf_error *err) {
  const char *slash = strrchr(output, '/'), *name = slash == NULL ? output : slash + 1;
  if (*name == '\0') return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "output \"%s\" ends without a name", output);
  size_t size;
  const char *start = slash == NULL ? "." : output;
  char *directory = join(start, slash == NULL || slash == output ? 1 : (size_t)(slash - output), "", allocator, &size);
  if (directory == NULL) return csf_fail_memory(err, size);
  *out = (struct csf_output_place){directory, name};
  return COLSHUF_OK;
}

void csf_output_place_clear(struct csf_output_place *place, const struct colshuf_allocator *allocator) {
  if (place->directory != NULL) csf_free(allocator, place->directory, strlen(place->directory) + 1);
  *place = (struct csf_output_place){0};
}

/* The final names of one output, side by side in one allocation. */
struct names {
  char *memory;
  size_t memory_size;
  const char *data, *index;
  const char *checksums[N_ALGORITHMS];
  struct csf_output_place place;
};

static char *put_name(char **place, const char *output, const char *suffix, const char *algorithm) {
  char *name = *place;
  *place += sprintf(name, "%s%s%s", output, suffix, algorithm) + 1;
  return name;
}

static enum colshuf_status make_names(struct names *names, const char *output, const struct colshuf_allocator *allocator,
                                      struct colshuf_error *err) {
  enum { LONGEST_SUFFIX = sizeof ".checksum.ADLER32", N_NAMES = 2 + N_ALGORITHMS };
  CSF_TRY(csf_output_place(output, allocator, &names->place, err));
  names->memory_size = N_NAMES * (strlen(output) + LONGEST_SUFFIX);
  names->memory = csf_alloc(allocator, names->memory_size);
  if (names->memory == NULL) return csf_fail_memory(err, names->memory_size);
  char *place = names->memory;
  names->data = put_name(&place, output, ".data", "");
  names->index = put_name(&place, output, ".index", "");
  for (int i = 0; i < N_ALGORITHMS; i++) {
    names->checksums[i] = put_name(&place, output, ".checksum.", csf_checksum_name(algorithms[i]));
  }
  return COLSHUF_OK;
}

static void names_clear(struct names *names, const struct colshuf_allocator *allocator) {
  csf_free(allocator, names->memory, names->memory_size);
  csf_output_place_clear(&names->place, allocator);
}

static enum colshuf_status write_index(struct csf_temp_file *file, const struct csf_commit *commit, struct colshuf_error *err) {
  uint64_t offset = 0;
  for (int64_t p = 0; p <= commit->n_partitions; p++) {
    uint8_t place[8];
    if (commit->native_index) {
      csf_store_u64(place, offset);
    } else {
      csf_store_be64(place, offset);
    }
    CSF_TRY(csf_temp_write(file, place, sizeof place, err));
    if (p < commit->n_partitions) offset += commit->sizes[p];
  }
  if (offset == commit->data->size) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the partitions have %" PRIu64 " bytes, the data file %" PRIu64, offset,
                  commit->data->size);
}

static enum colshuf_status write_checksums(struct csf_temp_file *file, const struct csf_commit *commit, struct colshuf_error *err) {
  for (int32_t p = 0; p < commit->n_partitions; p++) {
    uint8_t place[8];
    csf_store_be64(place, commit->checksums[p]);
    CSF_TRY(csf_temp_write(file, place, sizeof place, err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status sync_file(struct csf_temp_file *file, const struct csf_commit *commit, struct colshuf_error *err) {
  CSF_TRY(csf_temp_flush(file, err));
  if (!commit->durable) return COLSHUF_OK;
  if (csf_io_current->fsync(file->fd) != 0) return csf_fail_errno(err, errno, "cannot sync %s", file->path);
  return COLSHUF_OK;
}

static enum colshuf_status remove_old(const char *path, struct colshuf_error *err) {
  if (csf_io_current->unlink(path) == 0 || errno == ENOENT) return COLSHUF_OK;
  return csf_fail_errno(err, errno, "cannot remove the old %s", path);
}

/* The two files beside the data, ready to be put in place; the lock that makes commits take turns. */
struct pending {
  struct names names;
  struct csf_temp_file index;
  struct csf_temp_file checksums;
  int directory_fd; /* -1 = not open */
};

static bool has_checksums(const struct csf_commit *commit) {
  return commit->checksums != NULL && commit->checksum != COLSHUF_CHECKSUM_NONE;
}

static enum colshuf_status prepare(struct pending *pending, const struct csf_commit *commit, struct colshuf_error *err) {
  const struct names *names = &pending->names;
  CSF_TRY(csf_temp_create(&pending->index, names->place.directory, names->place.name, &commit->allocator, err));
  CSF_TRY(write_index(&pending->index, commit, err));
  CSF_TRY(sync_file(&pending->index, commit, err));
  if (has_checksums(commit)) {
    CSF_TRY(csf_temp_create(&pending->checksums, names->place.directory, names->place.name, &commit->allocator, err));
    CSF_TRY(write_checksums(&pending->checksums, commit, err));
    CSF_TRY(sync_file(&pending->checksums, commit, err));
  }
  return sync_file(commit->data, commit, err);
}

/* Network file systems may not lock directories: then two attempts at once are for the scheduler to avoid. */
static enum colshuf_status lock_directory(struct pending *pending, struct colshuf_error *err) {
  pending->directory_fd = csf_io_current->open(pending->names.place.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (pending->directory_fd < 0) return csf_fail_errno(err, errno, "cannot open directory %s", pending->names.place.directory);
  while (csf_io_current->flock(pending->directory_fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  return COLSHUF_OK;
}

static enum colshuf_status remove_output(const struct names *names, struct colshuf_error *err) {
  CSF_TRY(remove_old(names->index, err));
  CSF_TRY(remove_old(names->data, err));
  for (int i = 0; i < N_ALGORITHMS; i++) CSF_TRY(remove_old(names->checksums[i], err));
  return COLSHUF_OK;
}

static enum colshuf_status sync_directory(const struct pending *pending, const struct csf_commit *commit,
                                          struct colshuf_error *err) {
  if (!commit->durable || csf_io_current->fsync(pending->directory_fd) == 0) return COLSHUF_OK;
  return csf_fail_errno(err, errno, "cannot sync directory %s", pending->names.place.directory);
}

static enum colshuf_status place_files(struct pending *pending, const struct csf_commit *commit, struct colshuf_error *err) {
  const struct names *names = &pending->names;
  CSF_TRY(csf_temp_keep(commit->data, names->data, err));
  if (has_checksums(commit)) CSF_TRY(csf_temp_keep(&pending->checksums, names->checksums[commit->checksum], err));
  CSF_TRY(sync_directory(pending, commit, err));
  CSF_TRY(csf_temp_keep(&pending->index, names->index, err));
  return sync_directory(pending, commit, err);
}

static enum colshuf_status replace(struct pending *pending, const struct csf_commit *commit, struct colshuf_error *err) {
  CSF_TRY(prepare(pending, commit, err));
  CSF_TRY(lock_directory(pending, err));
  CSF_TRY(remove_output(&pending->names, err));
  enum colshuf_status status = place_files(pending, commit, err);
  if (status != COLSHUF_OK) {
    enum colshuf_status removed = remove_output(&pending->names, NULL); /* what came first is worth reporting, not this */
    (void)removed;
  }
  return status;
}

enum colshuf_status csf_commit_output(const struct csf_commit *commit, struct colshuf_error *err) {
  struct pending pending = {.index = {.fd = -1}, .checksums = {.fd = -1}, .directory_fd = -1};
  struct csf_commit copy = *commit;
  copy.allocator = csf_allocator(&commit->allocator);
  enum colshuf_status status = make_names(&pending.names, copy.output, &copy.allocator, err);
  if (status == COLSHUF_OK) status = replace(&pending, &copy, err);
  csf_temp_discard(&pending.index);
  csf_temp_discard(&pending.checksums);
  if (pending.directory_fd >= 0) csf_io_current->close(pending.directory_fd);
  names_clear(&pending.names, &copy.allocator);
  return status;
}

static bool is_start_mark(uint64_t value) {
  return value == (uint64_t)1 << 63; /* what some writers leave for a partition that got no bytes */
}

static enum colshuf_status parse_checksums(int fd, const char *path, int32_t n_partitions, enum colshuf_checksum algorithm,
                                           uint32_t *out, struct colshuf_error *err) {
  uint8_t chunk[4096];
  for (int64_t p = 0; p < n_partitions; p++) {
    uint64_t in_chunk = (uint64_t)p * 8 % sizeof chunk;
    uint64_t left = (uint64_t)(n_partitions - p) * 8;
    if (in_chunk == 0) {
      CSF_TRY(csf_pread_all(fd, path, (uint64_t)p * 8, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk, err));
    }
    uint64_t value = csf_load_be64(chunk + in_chunk);
    if (is_start_mark(value)) value = csf_checksum_start(algorithm);
    if (value > UINT32_MAX) {
      return csf_fail(err, COLSHUF_CORRUPT, "%s: the checksum of partition %" PRId64 " is %016" PRIx64 ", more than 32 bits", path, p,
                      value);
    }
    out[p] = (uint32_t)value;
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_checksums(int fd, const struct stat *found, const char *path, int32_t n_partitions,
                                          const struct colshuf_allocator *allocator, enum colshuf_checksum algorithm,
                                          uint32_t **out, struct colshuf_error *err) {
  uint64_t size, wanted = (uint64_t)n_partitions * 8;
  CSF_TRY(csf_file_size(found, path, &size, err));
  if (size != wanted) {
    return csf_fail(err, COLSHUF_CORRUPT, "%s has %" PRIu64 " bytes, %" PRId32 " partitions make %" PRIu64, path, size, n_partitions,
                    wanted);
  }
  *out = NULL;
  if (n_partitions == 0) return COLSHUF_OK;
  uint32_t *checksums = csf_alloc(allocator, (size_t)wanted / 2);
  if (checksums == NULL) return csf_fail_memory(err, (size_t)wanted / 2);
  enum colshuf_status status = parse_checksums(fd, path, n_partitions, algorithm, checksums, err);
  if (status == COLSHUF_OK) {
    *out = checksums;
  } else {
    csf_free(allocator, checksums, (size_t)wanted / 2);
  }
  return status;
}

/* OK with *found false when there is no such file. */
static enum colshuf_status try_checksums(const char *path, int32_t n_partitions, const struct colshuf_allocator *allocator,
                                         enum colshuf_checksum algorithm, bool *found, uint32_t **out,
                                         struct colshuf_error *err) {
  struct colshuf_error local = {0};
  int fd;
  struct stat opened;
  enum colshuf_status status = csf_open_read(path, &fd, &opened, &local);
  *found = status == COLSHUF_OK;
  if (status != COLSHUF_OK && local.system_errno == ENOENT) return COLSHUF_OK;
  if (status != COLSHUF_OK) {
    if (err != NULL) *err = local;
    return status;
  }
  status = read_checksums(fd, &opened, path, n_partitions, allocator, algorithm, out, err);
  csf_io_current->close(fd);
  return status;
}

enum colshuf_status csf_checksums_read(const char *data_path, int32_t n_partitions, const struct colshuf_allocator *allocator,
                                       enum colshuf_checksum *algorithm, uint32_t **checksums, struct colshuf_error *err) {
  struct colshuf_allocator chosen = csf_allocator(allocator);
  *algorithm = COLSHUF_CHECKSUM_NONE;
  *checksums = NULL;
  for (int i = 0; i < N_ALGORITHMS; i++) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".checksum.%s", csf_checksum_name(algorithms[i]));
    size_t path_size;
    char *path = csf_sibling_path(data_path, suffix, &chosen, &path_size);
    if (path == NULL) return csf_fail_memory(err, path_size);
    bool found;
    enum colshuf_status status = try_checksums(path, n_partitions, &chosen, algorithms[i], &found, checksums, err);
    csf_free(&chosen, path, path_size);
    if (status == COLSHUF_OK && found) *algorithm = algorithms[i];
    if (status != COLSHUF_OK || found) return status;
  }
  return COLSHUF_OK;
}
