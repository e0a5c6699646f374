/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one map output: written under temporary names, put in place together; and read back. formats.md D. */
#ifndef CSF_FILE_OUTPUT_H
#define CSF_FILE_OUTPUT_H

#include "colshuf/shuffle.h"
#include "file/io.h"

/*
 * A file being written under a temporary name beside its final one (".NAME.PID-N.colshuf-tmp"; `colshuf clean` finds those). It is locked
 * (flock) as long as it is open: that is how a left-over is told from one in use. Small writes are gathered.
 */
struct csf_temp_file {
  int fd; /* -1 = not open */
  char *path;
  size_t path_size;
  uint64_t size; /* bytes written so far, gathered ones included */
  uint8_t *pending; /* gathered bytes; allocated at the first small write */
  size_t pending_size;
  size_t pending_capacity;
  struct colshuf_allocator allocator;
};

/* Creates it in directory; name is the readable part. Unlinked by csf_temp_discard; renamed by csf_temp_keep. */
enum colshuf_status csf_temp_create(struct csf_temp_file *file, const char *directory, const char *name,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_temp_write(struct csf_temp_file *file, const void *data, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Gathers up to capacity bytes, at least 64 KiB [the default], before it writes. Only before the first write. */
void csf_temp_gather(struct csf_temp_file *file, size_t capacity);
/*
 * Appends size bytes at offset of another file. Short in = CORRUPT. Large ranges are left to the system, which may have means of its own
 * (file systems that share or move blocks); others are read into what is gathered, where that is more than the default.
 */
enum colshuf_status csf_temp_copy(struct csf_temp_file *file, int in, const char *in_path, uint64_t offset, uint64_t size,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;
/*
 * Writes at a place, which may lie behind the end; size becomes the end of what was written so far, not the sum. For files that are
 * written so from the start: not to be mixed with the two above.
 */
enum colshuf_status csf_temp_write_at(struct csf_temp_file *file, uint64_t offset, const void *data, size_t size,
                                      struct colshuf_error *err) COLSHUF_MUST_USE;
/* Hands gathered bytes to the system: before the file is read back, or written to by its fd. */
enum colshuf_status csf_temp_flush(struct csf_temp_file *file, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Flushes, closes and renames to final_path. On failure the file is still there to be discarded. */
enum colshuf_status csf_temp_keep(struct csf_temp_file *file, const char *final_path, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_temp_discard(struct csf_temp_file *file); /* closes, unlinks, frees; harmless when repeated or all zero with fd -1 */

/* Where an output lies: "a/b/name" is "name" in "a/b", "name" in ".", "/name" in "/". */
struct csf_output_place {
  char *directory; /* allocated; NULL = nothing to clear */
  const char *name; /* the end of the output's own text, which is borrowed */
};
/* Errors: INVALID_ARGUMENT (it ends without a name), NO_MEMORY. */
enum colshuf_status csf_output_place(const char *output, const struct colshuf_allocator *allocator, struct csf_output_place *out,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_output_place_clear(struct csf_output_place *place, const struct colshuf_allocator *allocator);

/*
 * Commits a whole output NAME.data / NAME.index / NAME.checksum.ALGO so that no reader sees a mix of two attempts: the old index goes
 * first (from then on: no output), then old data and checksums, then the new data and checksum come, the new index last. Commits into
 * one directory take turns (flock). After a failure the old output stands there, or none; data remains to be discarded.
 * sizes: bytes of each partition; checksums NULL = none. data->size must be the sum of sizes.
 *
 * Killing the process at any moment leaves the old output, none, or the new one. Against a crash of the machine nothing is
 * promised unless `durable`: then every file and the directory are synced before the index appears. Shuffle files do not
 * outlive their job, and syncing costs more than writing, so that the default is not to (as in Spark).
 */
struct csf_commit {
  const char *output;
  struct csf_temp_file *data;
  const uint64_t *sizes;
  int32_t n_partitions;
  enum colshuf_checksum checksum;
  const uint32_t *checksums;
  int native_index;
  int durable;
  struct colshuf_allocator allocator;
};
enum colshuf_status csf_commit_output(const struct csf_commit *commit, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Opens the data file that belongs to an index: a commit in between is noticed, and both are opened again. index_path NULL: the one
 * beside data_path (which must end with .data). The sum of the partitions must be the size of the file (CORRUPT); *fd is -1
 * when that is 0 and the file is missing. Spark's rule: such an output is valid.
 */
enum colshuf_status csf_output_open(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;

/* The same for readers that want what there is: *data_size need not be what the index says. 0 and *fd -1 where there is no file. */
enum colshuf_status csf_output_open_any(const char *data_path, const char *index_path, int *fd, struct colshuf_index_info *index,
                                        uint64_t *data_size, struct colshuf_error *err) COLSHUF_MUST_USE;

/* data_path with suffix for its ".data" (or behind it); allocated, *size bytes with the NUL. NULL when refused. */
char *csf_sibling_path(const char *data_path, const char *suffix, const struct colshuf_allocator *allocator, size_t *size);

/*
 * Reads a checksum file beside data_path: tries ADLER32, CRC32, CRC32C. *algorithm NONE and *checksums NULL when there is none.
 * An entry of 0x8000000000000000 (no checksum) becomes the start value. A file of another length than n_partitions x 8 is CORRUPT.
 * *checksums: n_partitions values, to be freed by csf_free with that size.
 */
enum colshuf_status csf_checksums_read(const char *data_path, int32_t n_partitions, const struct colshuf_allocator *allocator,
                                       enum colshuf_checksum *algorithm, uint32_t **checksums, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
