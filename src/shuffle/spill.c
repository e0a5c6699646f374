/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/spill.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "file/io.h"

enum {
  LARGE = 32 << 10, /* bytes that are worth a copy of their own, from file to file */
  DATA_AHEAD_MIN = 1 << 10, /* less is not worth reading ahead */
  DATA_AHEAD_MAX = 256 << 10,
  KEPT_BEHIND = 1 << 20,    /* so much of a run is given back at a time, in whole pages */
  PAGE = 4096,
  SIZES_AHEAD_MIN = 64,     /* two numbers and more */
  SIZES_AHEAD_MAX = 4 << 10,
  VARINT_MAX = 10,
  VARINT_PAIR = 2 * VARINT_MAX
};

/* So large that few files stay open, so small that several disks get their share. */
static const uint64_t FILE_SIZE = (uint64_t)2 << 30;

void csf_spills_init(struct csf_spills *spills, const struct colshuf_allocator *allocator, const char *const *directories,
                     int32_t n_directories, const char *name) {
  *spills = (struct csf_spills){.allocator = *allocator, .directories = directories, .n_directories = n_directories,
                                .name = name, .file_size = FILE_SIZE};
  csf_buffer_init(&spills->sizes, allocator);
}

void csf_spills_clear(struct csf_spills *spills) {
  for (int32_t i = 0; i < spills->n_files; i++) csf_temp_discard(&spills->files[i]);
  for (int32_t i = 0; i < spills->n_runs; i++) {
    csf_buffer_clear(&spills->runs[i].data);
    csf_buffer_clear(&spills->runs[i].sizes);
  }
  csf_free(&spills->allocator, spills->files, (size_t)spills->files_capacity * sizeof *spills->files);
  csf_free(&spills->allocator, spills->runs, (size_t)spills->runs_capacity * sizeof *spills->runs);
  csf_buffer_clear(&spills->sizes);
  spills->files = NULL;
  spills->runs = NULL;
  spills->n_files = spills->files_capacity = spills->n_runs = spills->runs_capacity = 0;
}

/* Room for one more in a list of n things of size bytes each. */
static enum colshuf_status grow_list(const struct colshuf_allocator *allocator, void **list, int32_t n, int32_t *capacity,
                                     size_t size, struct colshuf_error *err) {
  if (n < *capacity) return COLSHUF_OK;
  int32_t wanted = *capacity == 0 ? 4 : *capacity * 2;
  void *larger = csf_realloc(allocator, *list, (size_t)*capacity * size, (size_t)wanted * size);
  if (larger == NULL) return csf_fail_memory(err, (size_t)wanted * size);
  *list = larger;
  *capacity = wanted;
  return COLSHUF_OK;
}

static enum colshuf_status add_file(struct csf_spills *spills, struct colshuf_error *err) {
  void *list = spills->files;
  CSF_TRY(grow_list(&spills->allocator, &list, spills->n_files, &spills->files_capacity, sizeof *spills->files, err));
  spills->files = list;
  const char *directory = spills->directories[spills->n_files % spills->n_directories];
  CSF_TRY(csf_temp_create(&spills->files[spills->n_files], directory, spills->name, &spills->allocator, err));
  spills->n_files++;
  return COLSHUF_OK;
}

enum colshuf_status csf_spills_begin(struct csf_spills *spills, struct colshuf_error *err) {
  if (spills->n_files == 0 || spills->files[spills->n_files - 1].size >= spills->file_size) CSF_TRY(add_file(spills, err));
  void *list = spills->runs;
  CSF_TRY(grow_list(&spills->allocator, &list, spills->n_runs, &spills->runs_capacity, sizeof *spills->runs, err));
  spills->runs = list;
  struct csf_run *run = &spills->runs[spills->n_runs];
  *run = (struct csf_run){.file = spills->n_files - 1, .data_offset = spills->files[spills->n_files - 1].size};
  csf_buffer_init(&run->data, &spills->allocator);
  csf_buffer_init(&run->sizes, &spills->allocator);
  spills->sizes.size = 0;
  spills->last_partition = -1;
  return COLSHUF_OK;
}

enum colshuf_status csf_spills_append(struct csf_spills *spills, const void *data, size_t size, struct colshuf_error *err) {
  return csf_temp_write(&spills->files[spills->n_files - 1], data, size, err);
}

static size_t put_varint(uint8_t *to, uint64_t value) {
  size_t n = 0;
  for (; value >= 128; value >>= 7) to[n++] = (uint8_t)(value | 128);
  to[n++] = (uint8_t)value;
  return n;
}

enum colshuf_status csf_spills_end_partition(struct csf_spills *spills, int32_t partition, uint64_t size,
                                             struct colshuf_error *err) {
  uint8_t bytes[VARINT_PAIR];
  size_t n = put_varint(bytes, (uint64_t)(partition - spills->last_partition));
  n += put_varint(bytes + n, size);
  spills->last_partition = partition;
  return csf_buffer_append(&spills->sizes, bytes, n, err);
}

enum colshuf_status csf_spills_end(struct csf_spills *spills, struct colshuf_error *err) {
  struct csf_run *run = &spills->runs[spills->n_runs];
  run->sizes_offset = spills->files[run->file].size;
  run->sizes_size = spills->sizes.size;
  CSF_TRY(csf_spills_append(spills, spills->sizes.data, spills->sizes.size, err));
  CSF_TRY(csf_temp_flush(&spills->files[run->file], err));
  spills->n_runs++;
  csf_buffer_clear(&spills->sizes);
  return COLSHUF_OK;
}

/* The window of a run's sizes that starts at sizes_place; it is read in pieces and stays small. */
static enum colshuf_status fill_sizes(struct csf_spills *spills, struct csf_run *run, struct colshuf_error *err) {
  const struct csf_temp_file *file = &spills->files[run->file];
  uint64_t left = run->sizes_offset + run->sizes_size - run->sizes_place;
  size_t size = left < run->sizes.capacity ? (size_t)left : run->sizes.capacity;
  CSF_TRY(csf_pread_all(file->fd, file->path, run->sizes_place, run->sizes.data, size, err));
  run->sizes_start = run->sizes_place;
  run->sizes.size = size;
  return COLSHUF_OK;
}

/* The next number; false when there is none: only a file that somebody changed has that. */
static bool take_varint(struct csf_run *run, uint64_t *value) {
  size_t at = (size_t)(run->sizes_place - run->sizes_start);
  *value = 0;
  for (unsigned shift = 0; shift < 64 && at < run->sizes.size; shift += 7) {
    uint8_t byte = run->sizes.data[at++];
    *value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      run->sizes_place = run->sizes_start + at;
      return true;
    }
  }
  return false;
}

static enum colshuf_status next_partition(struct csf_spills *spills, struct csf_run *run, struct colshuf_error *err) {
  uint64_t end = run->sizes_offset + run->sizes_size, gap, size;
  if (run->sizes_place == end) {
    run->partition = INT32_MAX;
    return COLSHUF_OK;
  }
  uint64_t left = run->sizes_start + run->sizes.size - run->sizes_place;
  if (left < VARINT_PAIR && run->sizes_place + left < end) CSF_TRY(fill_sizes(spills, run, err));
  bool good = take_varint(run, &gap) && take_varint(run, &size);
  if (!good || gap == 0 || gap >= (uint64_t)(INT32_MAX - (int64_t)run->partition) || size > run->sizes_offset - run->data_place) {
    return csf_fail(err, COLSHUF_CORRUPT, "%s: the list of a spill's partitions at byte %" PRIu64 " was changed",
                    spills->files[run->file].path, run->sizes_place);
  }
  run->partition += (int32_t)gap;
  run->size = size;
  return COLSHUF_OK;
}

static enum colshuf_status rewind_run(struct csf_spills *spills, struct csf_run *run, size_t data_ahead, size_t sizes_ahead,
                                      struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&run->data, data_ahead, err));
  CSF_TRY(csf_buffer_reserve(&run->sizes, sizes_ahead, err));
  run->data.size = run->sizes.size = 0;
  run->data_place = run->data_start = run->data_offset;
  run->sizes_place = run->sizes_start = run->sizes_offset;
  run->kept_from = csf_round_up(run->data_offset, PAGE);
  run->partition = -1;
  return next_partition(spills, run, err);
}

static size_t clamp(uint64_t value, size_t low, size_t high) {
  return value < low ? low : value > high ? high : (size_t)value;
}

/* Many runs in little memory: then nothing is read ahead but the sizes. */
enum colshuf_status csf_spills_rewind(struct csf_spills *spills, uint64_t memory, struct colshuf_error *err) {
  uint64_t share = spills->n_runs == 0 ? 0 : memory / (uint64_t)spills->n_runs;
  size_t sizes_ahead = clamp(share / 8, SIZES_AHEAD_MIN, SIZES_AHEAD_MAX);
  size_t data_ahead = share < DATA_AHEAD_MIN ? 0 : clamp(share - sizes_ahead, 0, DATA_AHEAD_MAX);
  for (int32_t i = 0; i < spills->n_runs; i++) CSF_TRY(rewind_run(spills, &spills->runs[i], data_ahead, sizes_ahead, err));
  return COLSHUF_OK;
}

enum colshuf_status csf_spills_rewind_last(struct csf_spills *spills, struct colshuf_error *err) {
  return rewind_run(spills, &spills->runs[spills->n_runs - 1], 0, SIZES_AHEAD_MIN, err);
}

int32_t csf_spills_next(const struct csf_spills *spills) {
  int32_t next = INT32_MAX;
  for (int32_t i = 0; i < spills->n_runs; i++) {
    if (spills->runs[i].partition < next) next = spills->runs[i].partition;
  }
  return next;
}

/* Few bytes: from the window that is read ahead. */
static enum colshuf_status copy_small(struct csf_spills *spills, struct csf_run *run, struct csf_temp_file *out,
                                      struct colshuf_error *err) {
  if (run->data_place + run->size > run->data_start + run->data.size) {
    const struct csf_temp_file *file = &spills->files[run->file];
    uint64_t left = run->sizes_offset - run->data_place;
    size_t size = left < run->data.capacity ? (size_t)left : run->data.capacity;
    CSF_TRY(csf_pread_all(file->fd, file->path, run->data_place, run->data.data, size, err));
    run->data_start = run->data_place;
    run->data.size = size;
  }
  return csf_temp_write(out, run->data.data + (run->data_place - run->data_start), (size_t)run->size, err);
}

static enum colshuf_status copy_run(struct csf_spills *spills, struct csf_run *run, struct csf_temp_file *out,
                                    struct colshuf_error *err) {
  const struct csf_temp_file *file = &spills->files[run->file];
  if (run->size < LARGE && run->size <= run->data.capacity) return copy_small(spills, run, out, err);
  return csf_temp_copy(out, file->fd, file->path, run->data_place, run->size, err);
}

/*
 * Gives back what has been read. That is a favour: a file system that cannot do it costs nothing but place, until the file goes as a whole.
 * The next pages that are written are then those that were just read, which are in the cache.
 */
static void give_back(const struct csf_spills *spills, struct csf_run *run) {
  uint64_t end = run->data_place / PAGE * PAGE;
  if (end < run->kept_from + KEPT_BEHIND) return;
  (void)csf_io_current->discard(spills->files[run->file].fd, run->kept_from, end - run->kept_from);
  run->kept_from = end;
}

enum colshuf_status csf_spills_copy(struct csf_spills *spills, int32_t partition, struct csf_temp_file *out, uint64_t *size,
                                    struct colshuf_error *err) {
  for (int32_t i = 0; i < spills->n_runs; i++) {
    struct csf_run *run = &spills->runs[i];
    if (run->partition != partition) continue;
    CSF_TRY(copy_run(spills, run, out, err));
    *size += run->size;
    run->data_place += run->size;
    give_back(spills, run);
    CSF_TRY(next_partition(spills, run, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_spills_peek(struct csf_spills *spills, int32_t run, uint64_t size, struct csf_buffer *out,
                                    struct colshuf_error *err) {
  const struct csf_run *from = &spills->runs[run];
  const struct csf_temp_file *file = &spills->files[from->file];
  if (size > from->size) {
    return csf_fail(err, COLSHUF_CORRUPT, "%s: %" PRIu64 " bytes wanted at %" PRIu64 " where %" PRIu64 " are left: it was changed",
                    file->path, size, from->data_place, from->size);
  }
  out->size = 0;
  CSF_TRY(csf_buffer_reserve(out, (size_t)size, err));
  CSF_TRY(csf_pread_all(file->fd, file->path, from->data_place, out->data, (size_t)size, err));
  out->size = (size_t)size;
  return COLSHUF_OK;
}

void csf_spills_skip(struct csf_spills *spills, int32_t run, uint64_t size) {
  spills->runs[run].data_place += size;
  spills->runs[run].size -= size;
  give_back(spills, &spills->runs[run]);
}

enum colshuf_status csf_spills_advance(struct csf_spills *spills, int32_t run, struct colshuf_error *err) {
  return next_partition(spills, &spills->runs[run], err);
}
