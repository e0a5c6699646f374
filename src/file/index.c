/* SPDX-License-Identifier: Apache-2.0 */
/* Index files: n + 1 offsets of 64 bits, big-endian as Spark has them, or little-endian as Comet's native writer leaves them. */
#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "file/output.h"

static void swap_all(uint64_t *offsets, size_t n) {
  for (size_t i = 0; i < n; i++) offsets[i] = __builtin_bswap64(offsets[i]);
}

/* The first offset that is not as it must be; n when all are. */
static size_t first_bad(const uint64_t *offsets, size_t n) {
  if (offsets[0] != 0) return 0;
  for (size_t i = 1; i < n; i++) {
    if (offsets[i] < offsets[i - 1] || offsets[i] > INT64_MAX) return i;
  }
  return n;
}

/*
 * Which byte order: the one in which the offsets rise. Small numbers rise in both (1, 2, 3 is then 2^56, 2^57, ...): the
 * one with the smaller total. Leaves the offsets in that order.
 */
static enum colshuf_status choose_order(const char *path, uint64_t *offsets, size_t n, int *little_endian,
                                        struct colshuf_error *err) {
  bool little = first_bad(offsets, n) == n;
  uint64_t little_total = offsets[n - 1];
  swap_all(offsets, n);
  size_t bad = first_bad(offsets, n);
  *little_endian = little && (bad < n || little_total < offsets[n - 1]);
  if (*little_endian) swap_all(offsets, n);
  if (*little_endian || bad == n) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "%s: offset %zu is %" PRIu64 ", at least %" PRIu64 " and (for the first) 0 is wanted", path,
                  bad, offsets[bad], bad == 0 ? 0 : offsets[bad - 1]);
}

static enum colshuf_status check_size(const char *path, uint64_t size, struct colshuf_error *err) {
  if (size >= 8 && size % 8 == 0 && size / 8 <= INT32_MAX) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "%s is no index: it has %" PRIu64 " bytes, not 8 x (partitions + 1)", path, size);
}

static enum colshuf_status read_index(int fd, const struct stat *found, const char *path, struct colshuf_index_info *out,
                                      struct colshuf_error *err) {
  struct colshuf_allocator heap = csf_allocator(NULL);
  uint64_t size;
  CSF_TRY(csf_file_size(found, path, &size, err));
  CSF_TRY(check_size(path, size, err));
  uint64_t *offsets = csf_alloc(&heap, (size_t)size);
  if (offsets == NULL) return csf_fail_memory(err, (size_t)size);
  int little_endian = 0;
  enum colshuf_status status = csf_pread_all(fd, path, 0, offsets, (size_t)size, err);
  if (status == COLSHUF_OK) status = choose_order(path, offsets, (size_t)size / 8, &little_endian, err);
  if (status != COLSHUF_OK) {
    csf_free(&heap, offsets, (size_t)size);
    return status;
  }
  *out = (struct colshuf_index_info){(int32_t)(size / 8 - 1), offsets, little_endian};
  return COLSHUF_OK;
}

enum colshuf_status colshuf_index_read(const char *path, struct colshuf_index_info *out, struct colshuf_error *err) {
  int fd;
  struct stat found;
  CSF_TRY(csf_open_read(path, &fd, &found, err));
  enum colshuf_status status = read_index(fd, &found, path, out, err);
  csf_io_current->close(fd);
  return status;
}

void colshuf_index_clear(struct colshuf_index_info *index) {
  struct colshuf_allocator heap = csf_allocator(NULL);
  csf_free(&heap, index->offsets, ((size_t)index->n_partitions + 1) * 8);
  *index = (struct colshuf_index_info){0};
}

/* The size of the data (data NULL: there is none), which must be the index's total unless *data_size is asked for. */
static enum colshuf_status check_total(const struct stat *data, const char *data_path, const char *index_path,
                                       const struct colshuf_index_info *index, uint64_t *data_size, struct colshuf_error *err) {
  uint64_t size = 0, total = index->offsets[index->n_partitions];
  if (data != NULL) CSF_TRY(csf_file_size(data, data_path, &size, err));
  if (data_size != NULL) *data_size = size;
  if (data_size != NULL || size == total) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "%s has %" PRIu64 " bytes, %s says %" PRIu64, data_path, size, index_path, total);
}

static enum colshuf_status open_data(const char *data_path, const struct colshuf_index_info *index, int *fd, struct stat *found,
                                     struct colshuf_error *err) {
  struct colshuf_error local = {0};
  enum colshuf_status status = csf_open_read(data_path, fd, found, &local);
  if (status == COLSHUF_OK) return COLSHUF_OK;
  *fd = -1;
  if (local.system_errno == ENOENT && index->offsets[index->n_partitions] == 0) return COLSHUF_OK;
  if (err != NULL) *err = local;
  return status;
}

/*
 * A commit removes the old index before it touches the data, and brings the new one after. So when the path still leads to
 * the index that was read, the data opened meanwhile is its own. The index is kept open: its inode cannot be another's.
 */
static bool still_the_same(const struct stat *before, const char *index_path) {
  struct stat after;
  return csf_io_current->stat(index_path, &after) == 0 && before->st_ino == after.st_ino && before->st_dev == after.st_dev;
}

static enum colshuf_status try_open(const char *data_path, const char *index_path, int index_fd, const struct stat *index_found, int *fd,
                                    struct colshuf_index_info *index, uint64_t *data_size, bool *changed, struct colshuf_error *err) {
  struct stat data_found;
  CSF_TRY(read_index(index_fd, index_found, index_path, index, err));
  enum colshuf_status status = open_data(data_path, index, fd, &data_found, err);
  *changed = !still_the_same(index_found, index_path);
  if (status == COLSHUF_OK) status = check_total(*fd < 0 ? NULL : &data_found, data_path, index_path, index, data_size, err);
  if (status == COLSHUF_OK && !*changed) return COLSHUF_OK;
  if (*fd >= 0) csf_io_current->close(*fd);
  colshuf_index_clear(index);
  return status;
}

static enum colshuf_status open_both(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                     uint64_t *data_size, struct colshuf_error *err) {
  enum { MOST_ATTEMPTS = 100 };
  for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    int index_fd, data_fd = -1;
    struct stat index_found;
    struct colshuf_index_info found;
    bool changed = false;
    CSF_TRY(csf_open_read(index_path, &index_fd, &index_found, err));
    enum colshuf_status status = try_open(data_path, index_path, index_fd, &index_found, &data_fd, &found, data_size, &changed, err);
    csf_io_current->close(index_fd);
    if (changed) continue;
    if (status != COLSHUF_OK) return status;
    *fd = data_fd;
    *index = found;
    return COLSHUF_OK;
  }
  return csf_fail(err, COLSHUF_IO, "%s was replaced %d times while it was being opened", index_path, MOST_ATTEMPTS);
}

static enum colshuf_status open_output(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                       uint64_t *data_size, struct colshuf_error *err) {
  if (index_path != NULL) return open_both(data_path, index_path, fd, index, data_size, err);
  struct colshuf_allocator heap = csf_allocator(NULL);
  size_t size;
  char *sibling = csf_sibling_path(data_path, ".index", &heap, &size);
  if (sibling == NULL) return csf_fail_memory(err, size);
  enum colshuf_status status = open_both(data_path, sibling, fd, index, data_size, err);
  csf_free(&heap, sibling, size);
  return status;
}

enum colshuf_status csf_output_open(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                    struct colshuf_error *err) {
  return open_output(data_path, index_path, fd, index, NULL, err);
}

enum colshuf_status csf_output_open_any(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                        uint64_t *data_size, struct colshuf_error *err) {
  return open_output(data_path, index_path, fd, index, data_size, err);
}
