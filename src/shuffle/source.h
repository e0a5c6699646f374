/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as they lie in a source, one after another: partitions of an output, a bare file of blocks, memory, or whatever a
 * callback delivers. Only headers are looked at.
 */
#ifndef CSF_SHUFFLE_SOURCE_H
#define CSF_SHUFFLE_SOURCE_H

#include "colshuf/shuffle.h"
#include "file/io.h"

struct csf_source_options {
  struct colshuf_allocator allocator;
  struct csf_buffer *window; /* where bytes are read to: the caller's, for one source after another. Until the close */
  size_t read_ahead;         /* bytes asked for at a time; 0 = default [1 MiB]. A larger block is read whole */
  uint64_t max_block_size;   /* LIMIT above; 0 = what the format allows */
  size_t
      defer_above;   /* of a file, blocks without compression and larger than this are not read, only found; 0 = all are read */
  void (*reserve)(void *ctx, size_t size); /* may be NULL: called before the rest of a block is read, to wait for room */
  void *reserve_ctx;
  bool ignore_index; /* read the file as one run of blocks whatever lies beside it */
  bool exact_size;   /* bytes behind the last partition of the index are CORRUPT at its end */
  bool verify_checksums; /* a partition that differs from the checksum file, where there is one, is CORRUPT at its end */
};

/* One block. */
struct csf_source_block {
  const uint8_t *data; /* in memory of the source, until its next call; NULL = deferred: read it by csf_source_read_at */
  size_t size;         /* 0 = the source has ended */
  int32_t partition;   /* -1 = the source has no partitions */
  uint64_t block;      /* number in the partition */
  uint64_t offset;     /* in the file, memory or stream */
};

struct csf_source {
  struct colshuf_allocator allocator;
  const char *name; /* for messages; borrowed */
  int fd;           /* -1 = no file */
  const uint8_t *bytes;
  struct colshuf_input input;
  struct colshuf_index_info index; /* offsets NULL = none */
  uint64_t data_size;              /* of file or memory */
  size_t read_ahead;
  size_t defer_above; /* 0 = nothing is deferred */
  bool deferring;     /* the last block was: little is read ahead of the next */
  uint64_t max_block_size;
  int32_t partition; /* being read; first - 1 before the first */
  int32_t end_partition;
  uint64_t partition_end; /* place where it ends */
  uint64_t block;         /* number of the next one in it */
  uint64_t offset;        /* place of the next one */
  bool ended;             /* the callback has said so */
  bool exact_size;
  bool overlong;          /* the partition is the last one, and the file goes on behind it */
  bool checked;           /* the partition is to be compared with its checksum */
  bool mismatched;        /* and the last failure was that it differs */
  enum colshuf_checksum algorithm;
  uint32_t *checksums; /* of all partitions; NULL = not to be compared */
  uint32_t running;
  void (*reserve)(void *ctx, size_t size);
  void *reserve_ctx;
  struct csf_buffer *window; /* bytes of the source from window_start on */
  uint64_t window_start;
};

/*
 * Opens spec, which is borrowed until the close (its input is released by the close, also after a failed open).
 * Errors: INVALID_ARGUMENT (no such partitions), IO, CORRUPT (index, checksum file), NO_MEMORY.
 */
enum colshuf_status csf_source_open(struct csf_source *source, const struct colshuf_source *spec,
                                    const struct csf_source_options *options, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Sets what partitions are compared with, where there is a checksum file; before the first block. Errors: CORRUPT, IO,
 * NO_MEMORY. */
enum colshuf_status csf_source_load_checksums(struct csf_source *source, struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * The next block; size 0 at the end. *out says where it is, also when that fails.
 * Errors: CORRUPT (header, truncation, checksum), LIMIT, IO, NO_MEMORY; the message does not say where: see
 * csf_source_fail_context. After an error csf_source_skip goes on behind the partition.
 */
enum colshuf_status csf_source_next(struct csf_source *source, struct csf_source_block *out,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_source_skip(struct csf_source *source);

/* Bytes of a deferred block. Errors: CORRUPT (the file ends), IO. */
enum colshuf_status csf_source_read_at(struct csf_source *source, uint64_t offset, uint8_t *out, size_t size,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/* The window becomes as small as what it has of the next blocks; the data of the last one is not good any more. */
void csf_source_trim(struct csf_source *source);

/* From now on nothing is compared in this partition: what is wrong with it is known. */
void csf_source_forgive(struct csf_source *source);

/*
 * As csf_source_skip, but the bytes that are passed over count for the checksum, which is then compared. Files and memory only.
 */
enum colshuf_status csf_source_skip_checked(struct csf_source *source, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Puts "NAME, partition P, block B at offset O: " before the message; name is a source's. */
enum colshuf_status csf_source_fail_context(const char *name, const struct csf_source_block *block, enum colshuf_status status,
                                            struct colshuf_error *err);

void csf_source_close(struct csf_source *source); /* harmless when repeated */

#endif
