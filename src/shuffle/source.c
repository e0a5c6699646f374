/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/source.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "file/checksum.h"
#include "file/output.h"

/* Large enough for few system calls, small enough to be in the cache when it is decoded. */
enum { DEFAULT_READ_AHEAD = 1 << 20, HEADER_READ_AHEAD = 1 << 15, INPUT_STEP = 1 << 16 };

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), n = strlen(end);
  return size >= n && strcmp(text + size - n, end) == 0;
}

/* Whether there is no index beside a file: then it is a bare run of blocks. */
static bool has_no_index(struct csf_source *source, const char *data_path) {
  size_t size;
  char *path = csf_sibling_path(data_path, ".index", &source->allocator, &size);
  if (path == NULL) return false;
  int fd = -1;
  struct colshuf_error local = {0};
  bool found = csf_open_read(path, &fd, NULL, &local) == COLSHUF_OK;
  if (found) csf_io_current->close(fd);
  csf_free(&source->allocator, path, size);
  return !found && local.system_errno == ENOENT;
}

static enum colshuf_status choose_partitions(struct csf_source *source, const struct colshuf_source *spec,
                                             struct colshuf_error *err) {
  int32_t first = spec->first_partition, end = spec->end_partition,
          n = source->index.offsets == NULL ? 0 : source->index.n_partitions;
  bool all = first == 0 && end == 0;
  if (!all && (first < 0 || first > end || end > n)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s: partitions %" PRId32 " to %" PRId32 " of %" PRId32 "%s", source->name,
                    first, end > first ? end - 1 : end, n,
                    source->index.offsets == NULL ? " (there is no index)" : ", which are counted from 0");
  }
  source->partition = first - 1;
  source->end_partition = source->index.offsets == NULL ? 1 : all ? n : end;
  return COLSHUF_OK;
}

enum colshuf_status csf_source_load_checksums(struct csf_source *source, struct colshuf_error *err) {
  if (source->index.offsets == NULL) return COLSHUF_OK;
  return csf_checksums_read(source->name, source->index.n_partitions, &source->allocator, &source->algorithm,
                            &source->checksums, err);
}

static enum colshuf_status open_bare(struct csf_source *source, const char *path, struct colshuf_error *err) {
  struct stat found;
  CSF_TRY(csf_open_read(path, &source->fd, &found, err));
  return csf_file_size(&found, path, &source->data_size, err);
}

static enum colshuf_status open_file(struct csf_source *source, const struct colshuf_source *spec, bool ignore_index,
                                     struct colshuf_error *err) {
  bool may_have_index = !ignore_index && (spec->index_path != NULL || ends_with(spec->data_path, ".data"));
  if (!may_have_index) return open_bare(source, spec->data_path, err);
  struct colshuf_error local = {0};
  enum colshuf_status status =
      csf_output_open_any(spec->data_path, spec->index_path, &source->fd, &source->index, &source->data_size, &local);
  if (status == COLSHUF_OK) return COLSHUF_OK;
  bool is_missing = local.system_errno == ENOENT && spec->index_path == NULL;
  if (is_missing && has_no_index(source, spec->data_path)) return open_bare(source, spec->data_path, err);
  if (err != NULL) *err = local;
  return status;
}

static enum colshuf_status open_spec(struct csf_source *source, const struct colshuf_source *spec,
                                     const struct csf_source_options *options, struct colshuf_error *err) {
  if (spec->data_path != NULL) {
    source->name = spec->data_path;
    CSF_TRY(open_file(source, spec, options->ignore_index, err));
    if (options->verify_checksums) CSF_TRY(csf_source_load_checksums(source, err));
  } else if (spec->bytes != NULL || spec->input.read == NULL) { /* nothing at all is no bytes */
    source->name = "memory";
    source->bytes = spec->bytes;
    source->data_size = spec->bytes == NULL ? 0 : spec->size;
  } else {
    source->name = "input";
    source->data_size = UINT64_MAX;
  }
  return choose_partitions(source, spec, err);
}

enum colshuf_status csf_source_open(struct csf_source *source, const struct colshuf_source *spec,
                                    const struct csf_source_options *options, struct colshuf_error *err) {
  *source = (struct csf_source){.allocator = csf_allocator(&options->allocator), .fd = -1, .algorithm = COLSHUF_CHECKSUM_NONE};
  source->read_ahead = options->read_ahead != 0 ? options->read_ahead : DEFAULT_READ_AHEAD;
  source->max_block_size = options->max_block_size != 0 ? options->max_block_size : UINT64_MAX;
  source->defer_above = options->verify_checksums ? 0 : options->defer_above;
  source->deferring = source->defer_above > 0;
  source->exact_size = options->exact_size;
  source->reserve = options->reserve;
  source->reserve_ctx = options->reserve_ctx;
  source->window = options->window;
  source->window->size = 0;
  if (spec->data_path == NULL && spec->bytes == NULL) source->input = spec->input;
  enum colshuf_status status = open_spec(source, spec, options, err);
  if (status != COLSHUF_OK) csf_source_close(source);
  return status;
}

void csf_source_close(struct csf_source *source) {
  if (source->fd >= 0) csf_io_current->close(source->fd);
  source->fd = -1;
  if (source->checksums != NULL) {
    csf_free(&source->allocator, source->checksums, (size_t)source->index.n_partitions * sizeof *source->checksums);
    source->checksums = NULL;
  }
  if (source->index.offsets != NULL) colshuf_index_clear(&source->index);
  if (source->input.release != NULL) source->input.release(source->input.ctx);
  source->input = (struct colshuf_input){0};
  source->end_partition = source->partition;
}

/* Makes the window start at offset, keeping what it has of it, with room for size bytes. */
static enum colshuf_status move_window(struct csf_source *source, uint64_t offset, size_t size, struct colshuf_error *err) {
  struct csf_buffer *window = source->window;
  uint64_t end = source->window_start + window->size;
  size_t kept = offset >= source->window_start && offset < end ? (size_t)(end - offset) : 0;
  if (kept > 0 && offset > source->window_start) memmove(window->data, window->data + (offset - source->window_start), kept);
  source->window_start = offset;
  window->size = kept;
  return csf_buffer_reserve(window, size, err);
}

/* Reads ahead so that the window has size bytes from its start; the file is known to have them. */
static enum colshuf_status fill_from_file(struct csf_source *source, uint64_t offset, size_t size, struct colshuf_error *err) {
  uint64_t left = source->data_size - offset;
  size_t wanted = source->deferring ? HEADER_READ_AHEAD : source->read_ahead;
  if (wanted < size) wanted = size;
  uint64_t last = source->index.offsets == NULL ? source->data_size : source->index.offsets[source->end_partition];
  if (last - offset < left) left = last - offset; /* what other tasks read is left to them */
  if (wanted > left) wanted = (size_t)left;
  CSF_TRY(move_window(source, offset, wanted, err));
  struct csf_buffer *window = source->window;
  uint64_t place = source->window_start + window->size;
  CSF_TRY(csf_pread_all(source->fd, source->name, place, window->data + window->size, wanted - window->size, err));
  window->size = wanted;
  return COLSHUF_OK;
}

/*
 * Reads until the window has size bytes from offset, or the end. Memory grows with what has come, not with what is announced.
 */
static enum colshuf_status fill_from_input(struct csf_source *source, uint64_t offset, size_t size, struct colshuf_error *err) {
  struct csf_buffer *window = source->window;
  CSF_TRY(move_window(source, offset, INPUT_STEP, err));
  while (window->size < size && !source->ended) {
    if (window->size == window->capacity) CSF_TRY(csf_buffer_reserve(window, 2 * window->capacity, err));
    size_t room = window->capacity - window->size, missing = size - window->size;
    if (missing < INPUT_STEP) missing = INPUT_STEP; /* a window that was large once is no reason to read that far ahead */
    if (room > missing) room = missing;
    int64_t n = source->input.read(source->input.ctx, window->data + window->size, room);
    if (n == -EINTR) continue;
    if (n < 0) return csf_fail_errno(err, (int)-n, "reading failed at byte %" PRIu64, offset + window->size);
    if ((uint64_t)n > room) return csf_fail(err, COLSHUF_IO, "the input gave %" PRId64 " bytes, asked for %zu", n, room);
    window->size += (size_t)n;
    source->ended = n == 0;
  }
  return COLSHUF_OK;
}

/* *have of size bytes at offset, fewer only where the source ends. */
static enum colshuf_status fetch(struct csf_source *source, uint64_t offset, size_t size, const uint8_t **data, size_t *have,
                                 struct colshuf_error *err) {
  uint64_t left = offset < source->data_size ? source->data_size - offset : 0;
  if (size > left) size = (size_t)left;
  *have = size;
  *data = NULL;
  if (size == 0) return COLSHUF_OK;
  if (source->bytes != NULL) {
    *data = source->bytes + offset;
    return COLSHUF_OK;
  }
  const struct csf_buffer *window = source->window;
  bool inside = offset >= source->window_start && offset - source->window_start <= window->size &&
                size <= window->size - (size_t)(offset - source->window_start);
  if (!inside) {
    CSF_TRY(source->fd >= 0 ? fill_from_file(source, offset, size, err) : fill_from_input(source, offset, size, err));
    if (size > window->size) *have = window->size;
  }
  *data = window->data + (offset - source->window_start);
  return COLSHUF_OK;
}

static enum colshuf_status fail_truncated(const struct csf_source *source, const char *what, uint64_t have, uint64_t wanted,
                                          struct colshuf_error *err) {
  if (source->index.offsets != NULL && source->data_size < source->partition_end) {
    return csf_fail(err, COLSHUF_CORRUPT,
                    "truncated %s: %" PRIu64 " of %" PRIu64 " bytes; the file has %" PRIu64
                    " bytes, the partition ends at %" PRIu64,
                    what, have, wanted, source->data_size, source->partition_end);
  }
  return csf_fail(err, COLSHUF_CORRUPT, "truncated %s: %" PRIu64 " of %" PRIu64 " bytes", what, have, wanted);
}

static bool is_deferred(const struct csf_source *source, const struct colshuf_block_header *header) {
  return source->defer_above > 0 && source->fd >= 0 && header->codec == COLSHUF_NONE &&
         header->block_size > source->defer_above && source->data_size - source->offset >= header->block_size;
}

/* The block at source->offset, of which at most `left` bytes are there. size 0 where a callback ends in peace. */
static enum colshuf_status read_block(struct csf_source *source, uint64_t left, struct csf_source_block *out,
                                      struct colshuf_error *err) {
  const uint8_t *data;
  size_t have, wanted = left < COLSHUF_BLOCK_HEADER_SIZE ? (size_t)left : COLSHUF_BLOCK_HEADER_SIZE;
  CSF_TRY(fetch(source, source->offset, wanted, &data, &have, err));
  if (have == 0 && source->ended) return COLSHUF_OK;
  if (have < COLSHUF_BLOCK_HEADER_SIZE) return fail_truncated(source, "block header", have, COLSHUF_BLOCK_HEADER_SIZE, err);
  struct colshuf_block_header header;
  CSF_TRY(colshuf_block_header_read(data, have, &header, err));
  if (header.block_size > left) return fail_truncated(source, "block", left, header.block_size, err);
  if (header.block_size > source->max_block_size) {
    return csf_fail(err, COLSHUF_LIMIT, "a block of %" PRIu64 " bytes, at most %" PRIu64 " may be held", header.block_size,
                    source->max_block_size);
  }
  if (source->reserve != NULL) source->reserve(source->reserve_ctx, (size_t)header.block_size);
  out->size = (size_t)header.block_size;
  source->deferring = is_deferred(source, &header);
  if (source->deferring) return COLSHUF_OK;
  CSF_TRY(fetch(source, source->offset, out->size, &out->data, &have, err));
  return have == header.block_size ? COLSHUF_OK : fail_truncated(source, "block", have, header.block_size, err);
}

static void start_partition(struct csf_source *source) {
  source->partition++;
  source->block = 0;
  source->offset = source->index.offsets == NULL ? 0 : source->index.offsets[source->partition];
  source->partition_end = source->index.offsets == NULL ? source->data_size : source->index.offsets[source->partition + 1];
  source->overlong = source->exact_size && source->index.offsets != NULL &&
                     source->partition + 1 == source->index.n_partitions && source->data_size > source->partition_end;
  source->checked = source->checksums != NULL;
  source->running = csf_checksum_start(source->algorithm);
}

static enum colshuf_status end_partition(struct csf_source *source, struct colshuf_error *err) {
  if (source->overlong) {
    source->overlong = false; /* said once */
    return csf_fail(err, COLSHUF_CORRUPT, "the file has %" PRIu64 " bytes, the index ends at %" PRIu64, source->data_size,
                    source->partition_end);
  }
  if (!source->checked) return COLSHUF_OK;
  source->checked = false;
  uint32_t wanted = source->checksums[source->partition];
  source->mismatched = source->running != wanted;
  if (!source->mismatched) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT,
                  "the checksum of the partition is %08" PRIx32 ", the checksum file says %08" PRIx32 " (%s)", source->running,
                  wanted, csf_checksum_name(source->algorithm));
}

static bool at_end(const struct csf_source *source) {
  return source->ended ? source->window_start + source->window->size <= source->offset
                       : source->offset >= source->partition_end;
}

enum colshuf_status csf_source_next(struct csf_source *source, struct csf_source_block *out, struct colshuf_error *err) {
  for (;;) {
    *out = (struct csf_source_block){
        .partition = source->index.offsets == NULL ? -1 : source->partition, .block = source->block, .offset = source->offset};
    if (!at_end(source)) {
      CSF_TRY(read_block(source, source->partition_end - source->offset, out, err));
      if (out->size == 0) continue; /* a callback that had no more */
      if (source->checked) source->running = csf_checksum_update(source->algorithm, source->running, out->data, out->size);
      source->offset += out->size;
      source->block++;
      return COLSHUF_OK;
    }
    CSF_TRY(end_partition(source, err));
    if (source->partition + 1 >= source->end_partition) return COLSHUF_OK;
    start_partition(source);
  }
}

enum colshuf_status csf_source_read_at(struct csf_source *source, uint64_t offset, uint8_t *out, size_t size,
                                       struct colshuf_error *err) {
  const struct csf_buffer *window = source->window;
  uint64_t end = source->window_start + window->size;
  if (offset >= source->window_start && offset < end) { /* it came with the header */
    size_t n = end - offset < size ? (size_t)(end - offset) : size;
    memcpy(out, window->data + (offset - source->window_start), n);
    out += n;
    offset += n;
    size -= n;
  }
  return size == 0 ? COLSHUF_OK : csf_pread_all(source->fd, source->name, offset, out, size, err);
}

void csf_source_trim(struct csf_source *source) {
  struct csf_buffer *window = source->window, smaller;
  uint64_t end = source->window_start + window->size;
  size_t left = source->offset >= source->window_start && source->offset < end ? (size_t)(end - source->offset) : 0;
  csf_buffer_init(&smaller, &window->allocator);
  if (csf_buffer_append(&smaller, window->data + (window->size - left), left, NULL) != COLSHUF_OK) return; /* then it stays */
  csf_buffer_clear(window);
  *window = smaller;
  source->window_start = source->offset;
}

void csf_source_forgive(struct csf_source *source) {
  source->checked = false;
}

void csf_source_skip(struct csf_source *source) {
  csf_source_forgive(source);
  source->ended = source->input.read != NULL;
  source->window->size = 0;
  source->window_start = source->offset = source->partition_end;
}

enum colshuf_status csf_source_skip_checked(struct csf_source *source, struct colshuf_error *err) {
  uint64_t end = source->partition_end < source->data_size ? source->partition_end : source->data_size;
  while (source->checked && source->offset < end) {
    uint64_t left = end - source->offset;
    const uint8_t *data;
    size_t have, wanted = left < source->read_ahead ? (size_t)left : source->read_ahead;
    CSF_TRY(fetch(source, source->offset, wanted, &data, &have, err));
    source->running = csf_checksum_update(source->algorithm, source->running, data, have);
    source->offset += have;
  }
  source->offset = source->partition_end;
  return COLSHUF_OK;
}

enum colshuf_status csf_source_fail_context(const char *name, const struct csf_source_block *block, enum colshuf_status status,
                                            struct colshuf_error *err) {
  if (block->partition < 0) {
    return csf_fail_context(err, status, "%s, block %" PRIu64 " at offset %" PRIu64, name, block->block, block->offset);
  }
  return csf_fail_context(err, status, "%s, partition %" PRId32 ", block %" PRIu64 " at offset %" PRIu64, name,
                          block->partition, block->block, block->offset);
}
