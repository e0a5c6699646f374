/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of blocks on disk. A run is what one spill writes: the blocks of all partitions, in the order of partitions, and behind
 * them a list of (gap to the next partition that has blocks, bytes) as varints: what is remembered of a run in memory
 * does not grow with partitions. Runs share one file until it is large; then the next folder gets the next file. At the end the
 * runs are read side by side, and their bytes are copied as they are; what has been copied is given back to the file system on the way, so
 * that a merge needs hardly more place than its output.
 */
#ifndef CSF_SHUFFLE_SPILL_H
#define CSF_SHUFFLE_SPILL_H

#include "file/checksum.h"
#include "file/output.h"

struct csf_run {
  int32_t file;
  uint64_t data_offset;
  uint64_t sizes_offset; /* = end of the data */
  uint64_t sizes_size;
  /* while reading: */
  int32_t partition;     /* the next that has blocks; INT32_MAX at the end */
  uint64_t size;         /* its bytes */
  uint64_t data_place;   /* where they stand in the file */
  uint64_t sizes_place;
  struct csf_buffer data, sizes; /* read ahead: from data_start and sizes_start on */
  uint64_t data_start, sizes_start;
  uint64_t kept_from;            /* what lies before it was copied, and its place on disk given back */
};

struct csf_spills {
  struct colshuf_allocator allocator;
  const char *const *directories; /* borrowed */
  int32_t n_directories;
  const char *name;               /* borrowed: readable part of the file names */
  uint64_t file_size;             /* a file that is as large is not used for the next run */
  struct csf_temp_file *files;
  int32_t n_files, files_capacity;
  struct csf_run *runs;
  int32_t n_runs, runs_capacity;
  struct csf_buffer sizes;        /* of the run being written */
  int32_t last_partition;
};

/* Nothing is made on disk before the first run. */
void csf_spills_init(struct csf_spills *spills, const struct colshuf_allocator *allocator, const char *const *directories,
                     int32_t n_directories, const char *name);
/* Closes and removes the files, frees everything. */
void csf_spills_clear(struct csf_spills *spills);

/* One run: begin, then for each partition that has blocks, in rising order, its bytes and their number; end. */
enum colshuf_status csf_spills_begin(struct csf_spills *spills, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_spills_append(struct csf_spills *spills, const void *data, size_t size, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_spills_end_partition(struct csf_spills *spills, int32_t partition, uint64_t size,
                                             struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_spills_end(struct csf_spills *spills, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Puts all runs before their first partition; memory: bytes for reading ahead, all runs together. */
enum colshuf_status csf_spills_rewind(struct csf_spills *spills, uint64_t memory, struct colshuf_error *err) COLSHUF_MUST_USE;
/* The same for the run written last, while the others are being read; without reading ahead. */
enum colshuf_status csf_spills_rewind_last(struct csf_spills *spills, struct colshuf_error *err) COLSHUF_MUST_USE;
/* The lowest partition that a run has next; INT32_MAX = none. */
int32_t csf_spills_next(const struct csf_spills *spills);
/* Appends the bytes of partition from all runs that have it next to *out, oldest first, and goes on; adds their number to *size. */
enum colshuf_status csf_spills_copy(struct csf_spills *spills, int32_t partition, struct csf_temp_file *out, uint64_t *size,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Reading the pieces of one run by oneself: the next size bytes of what it has of its partition, as the content of *out (CORRUPT
 * when there are not so many); passing over them; and going on to its next partition.
 */
enum colshuf_status csf_spills_peek(struct csf_spills *spills, int32_t run, uint64_t size, struct csf_buffer *out,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_spills_skip(struct csf_spills *spills, int32_t run, uint64_t size);
enum colshuf_status csf_spills_advance(struct csf_spills *spills, int32_t run, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
