/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one map output: written under temporary names, put in place together; and read back. formats.md D. */
#ifndef CSF_FILE_OUTPUT_H
#define CSF_FILE_OUTPUT_H

#include "colshuf/shuffle.h"
#include "file/io.h"

/* A buffered file being written under a temporary name beside its final one (".NAME.PID-N.colshuf-tmp"; `colshuf clean` finds those). */
struct csf_temp_file {
  int fd; /* -1 = not open */
  char *path;
  size_t path_size;
  uint64_t size; /* bytes written so far */
  struct colshuf_allocator allocator;
};

/* Creates it in directory; name is the readable part. Unlinked by csf_temp_discard; renamed by csf_temp_keep. */
enum colshuf_status csf_temp_create(struct csf_temp_file *file, const char *directory, const char *name,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_temp_write(struct csf_temp_file *file, const void *data, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Closes and renames to final_path. On failure the file is still there to be discarded. */
enum colshuf_status csf_temp_keep(struct csf_temp_file *file, const char *final_path, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_temp_discard(struct csf_temp_file *file); /* closes, unlinks, frees; harmless when repeated or all zero with fd -1 */

/*
 * Commits a whole output NAME.data / NAME.index / NAME.checksum.ALGO so that no reader sees a mix of two attempts: the old index goes
 * first (from then on: no output), then old data and checksums, then the new data and checksum come, the new index last.
 * sizes: bytes of each partition; checksums NULL = none. data->size must be the sum of sizes.
 */
struct csf_commit {
  const char *output;
  struct csf_temp_file *data;
  const uint64_t *sizes;
  int32_t n_partitions;
  enum colshuf_checksum checksum;
  const uint32_t *checksums;
  int native_index;
  struct colshuf_allocator allocator;
};
enum colshuf_status csf_commit_output(const struct csf_commit *commit, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Removes left-over temporary files of dead processes in directory; *removed counts them. */
enum colshuf_status csf_clean_directory(const char *directory, uint64_t *removed, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Reads a checksum file beside data_path: tries ADLER32, CRC32, CRC32C. *algorithm NONE and *checksums NULL when there is none.
 * An entry of 0x8000000000000000 (no checksum) becomes the start value. A file of another length than n_partitions x 8 is CORRUPT.
 * *checksums: n_partitions values, to be freed by csf_free with that size.
 */
enum colshuf_status csf_checksums_read(const char *data_path, int32_t n_partitions, const struct colshuf_allocator *allocator,
                                       enum colshuf_checksum *algorithm, uint32_t **checksums, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
