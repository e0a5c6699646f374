/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole shuffles: the map writer (rows of one map task -> NAME.data, NAME.index, NAME.checksum.ALGO), readers of partitions,
 * inspection and verification. Files as Spark's IndexShuffleBlockResolver lays them out: docs/formats/files.md.
 */
#ifndef COLSHUF_SHUFFLE_H
#define COLSHUF_SHUFFLE_H

#include "colshuf/block.h"
#include "colshuf/ipc.h"
#include "colshuf/partition.h"

#ifdef __cplusplus
extern "C" {
#endif

enum colshuf_checksum { COLSHUF_CHECKSUM_ADLER32 = 0, COLSHUF_CHECKSUM_CRC32 = 1, COLSHUF_CHECKSUM_CRC32C = 2, COLSHUF_CHECKSUM_NONE = 3 };

/*
 * Memory granted by the engine around colshuf, in steps. acquire asks for size more bytes and returns how many it grants (0
 * ... size); release gives back. The writer spills when it gets less than it needs, and fails with NO_MEMORY when even an empty
 * writer cannot go on. Called on the writer's thread.
 */
struct colshuf_memory_manager {
  uint64_t (*acquire)(void *ctx, uint64_t size);
  void (*release)(void *ctx, uint64_t size);
  void *ctx;
};

/* Where finished partitions go instead of a file (remote shuffle services): whole blocks, partitions in any order. 0 or errno. */
struct colshuf_sink {
  int (*emit)(void *ctx, int32_t partition, const void *bytes, size_t size);
  void *ctx;
};

struct colshuf_map_writer_options {
  struct colshuf_allocator allocator;
  struct colshuf_partitioner_options partitioner;
  struct colshuf_block_encoder_options encoder;
  uint64_t memory_limit;    /* bytes for everything that the writer holds; 0 = default [256 MiB]. One row that is larger takes several
                               times its own size while it is written, and then the limit holds again; its dictionaries, until the next batch */
  uint64_t block_size;      /* raw bytes that make a block; 0 = default [1 MiB]; less when memory is short */
  int64_t block_rows;       /* rows that make a block; 0 = no limit */
  enum colshuf_checksum checksum;
  const char *output;       /* path and first part of the name: output + ".data" and so on; NULL with sink */
  const char *const *spill_dirs; /* where spill files may lie; NULL = the folder of output */
  int32_t n_spill_dirs;
  /*
   * 0 = the caller's thread only; else up to so many encode blocks, as their memory fits the limit, and one more writes what is spilled while
   * the caller goes on, within the same limit. Same bytes. The caller waits all the same with a sink (called on its thread alone),
   * dictionaries in the schema, or rows spilled as rows. The allocator must be thread-safe.
   */
  int compress_threads;
  int native_index;         /* not 0: output + ".index" is little-endian, as Comet's native writer leaves it for its JVM side */
  struct colshuf_memory_manager memory_manager; /* all zero = none */
  struct colshuf_sink sink;                     /* all zero = files */
};

struct colshuf_map_writer;

/* Figures of one map writer, reader or verification; times in nanoseconds. */
struct colshuf_map_metrics {
  uint64_t rows, batches, blocks;
  uint64_t raw_bytes;       /* bytes of block bodies before compression */
  uint64_t written_bytes;   /* bytes of the data file */
  uint64_t spills, spilled_bytes;
  uint64_t peak_memory;     /* of what the writer accounts for */
  uint64_t partition_ns, route_ns, encode_ns, write_ns;
};

/*
 * Opens a writer for one map task. Nothing appears under the final names before commit. Input is borrowed and copied.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (types, keys), LIMIT (memory limit too small for the partitions: names the least), IO, NO_MEMORY.
 * Threads: one at a time.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_map_writer_new(const struct ArrowSchema *schema,
                                                                        const struct colshuf_map_writer_options *options,
                                                                        struct colshuf_map_writer **out,
                                                                        struct colshuf_error *err);

/*
 * Routes all rows of batch (borrowed, any producer's, checked in structure; any number of rows).
 * Rows of a partition keep the order in which they came. A batch that is refused (INVALID_ARGUMENT, CORRUPT) is refused whole, before
 * any row is routed, and the writer goes on. After IO or NO_MEMORY the writer is dead: every later call says so.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_map_writer_write(struct colshuf_map_writer *writer,
                                                                          const struct ArrowArray *batch,
                                                                          struct colshuf_error *err);

/*
 * The same, but all rows of batch go to this partition, whatever the partitioner says: for rows that were partitioned before.
 * INVALID_ARGUMENT also when there is no such partition.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_map_writer_write_partition(struct colshuf_map_writer *writer,
                                                                                    const struct ArrowArray *batch,
                                                                                    int32_t partition,
                                                                                    struct colshuf_error *err);

/* Spills what can be spilled and gives memory back; *freed (may be NULL) says how much. For memory managers under pressure. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_map_writer_spill(struct colshuf_map_writer *writer, uint64_t *freed,
                                                                          struct colshuf_error *err);

/*
 * Writes the rest and puts data, index and checksum in place: a reader sees the old output, none, or the new one, never a mix.
 * partition_sizes (may be NULL): n_partitions places, bytes of each partition. The writer takes nothing afterwards.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_map_writer_commit(struct colshuf_map_writer *writer,
                                                                           uint64_t *partition_sizes,
                                                                           struct colshuf_error *err);

COLSHUF_API void colshuf_map_writer_metrics(const struct colshuf_map_writer *writer, struct colshuf_map_metrics *out);

/* Frees the writer; without a commit before, everything it wrote is removed. NULL is fine. */
COLSHUF_API void colshuf_map_writer_free(struct colshuf_map_writer *writer);

/*
 * Where a reader finds blocks: a byte range of a file, bytes in memory, or a callback. The first member that is set counts.
 */
struct colshuf_source {
  const char *data_path;     /* NAME.data, or a bare file of blocks */
  const char *index_path;    /* NULL = data_path with .index for .data where that exists, else the whole file is one run of blocks */
  int32_t first_partition;   /* [first, end) of the index; both 0 = all */
  int32_t end_partition;
  const uint8_t *bytes;      /* memory, borrowed until the stream is released */
  size_t size;
  struct colshuf_input input; /* read only; released with the stream, also when colshuf_read fails */
};

struct colshuf_read_options {
  struct colshuf_allocator allocator;
  enum colshuf_trust trust;
  struct colshuf_limits limits;
  /*
   * What the stream announces, and every block must match as Comet's remote check demands (docs/formats/block.md); a null where none is
   * announced is CORRUPT. NULL: the first block's schema counts, with everything nullable, since a later block may be. Dictionaries: see below.
   */
  const struct ArrowSchema *expected_schema;
  const int32_t *columns;    /* NULL = all; else only these, in this order: the others are neither copied nor validated */
  int32_t n_columns;         /* with columns set, 0 means no columns: batches that have only a length */
  int64_t target_rows;       /* small blocks are joined to at least this many rows; 0 = default [8192]; 1 = every block by itself */
  uint64_t memory_limit;     /* bytes held at a time, read-ahead included, batches handed out not; 0 = default [64 MiB]. A block above it
                                is LIMIT, but not above the default: then it is held alone. So is a batch whose dictionaries unpack
                                to more than twice this and limits.max_decompressed_size together */
  int keep_dictionaries;     /* 0 = dictionary columns are unpacked; else they stay where the first block has them */
  int verify_checksums;      /* compare each partition with the checksum file where there is one */
  int skip_corrupt;          /* leave corrupt blocks out, count them, go on; behind a header that is corrupt, with the next partition */
  int threads;               /* decode-ahead; 0 = none, as with both skip_corrupt and verify_checksums. The allocator must be thread-safe */
  int any_order;             /* with threads: each reads sources of its own and decodes them, so that a slow source holds nobody else up.
                                Rows come as their blocks arrive, those of one source in their order; inputs are read and released from
                                those threads, each by one at a time. Releasing the stream waits for reads that have begun. The first block
                                to arrive says what the stream announces: expected_schema makes that certain */
  const int *cancelled;      /* may be NULL; checked between blocks: not 0 ends with CANCELLED. Read atomically */
};

struct colshuf_read_metrics {
  uint64_t sources, blocks, rows, bytes;
  uint64_t skipped_blocks;
  uint64_t fetch_ns;    /* reading; with any_order the sum over all threads */
  uint64_t decode_ns;   /* decoding, or waiting for threads that do */
  uint64_t coalesce_ns; /* making batches of blocks */
};

/*
 * Reads sources one after another, in order, as one stream of struct arrays. Files are opened when their turn comes.
 * A file that goes on behind the end of its index is CORRUPT at the end of the last partition.
 * A source that is empty gives no batch. With no block and no expected_schema the stream has no columns.
 * *metrics (may be NULL) is kept up to date as the stream is read and must outlive it.
 * Errors here and in the stream (colshuf_stream_status): CORRUPT (names source, partition, block, offset), IO, LIMIT, UNSUPPORTED,
 * INVALID_ARGUMENT (column, partition), NO_MEMORY, CANCELLED. Threads: one at a time.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_read(const struct colshuf_source *sources, int32_t n_sources,
                                                              const struct colshuf_read_options *options,
                                                              struct colshuf_read_metrics *metrics, struct ArrowArrayStream *out,
                                                              struct colshuf_error *err);

/* Bytes by what they are, before compression. */
struct colshuf_byte_kinds {
  uint64_t header, schema, metadata, dictionaries, validity, offsets, data, padding;
};

struct colshuf_block_info {
  int32_t partition;
  uint64_t block_in_partition;
  uint64_t offset;            /* in the data file */
  struct colshuf_block_header header;
  int64_t rows;
  uint64_t raw_size;          /* of the decompressed stream */
  struct colshuf_byte_kinds kinds;
  const struct ArrowSchema *schema;   /* borrowed until the callback returns; NULL when the block is bad */
  const uint64_t *column_bytes;       /* raw bytes of each top-level column's buffers, dictionaries included; schema's n_children places */
  enum colshuf_status status;         /* of decoding this block */
  const char *problem;                /* its message when status is not OK */
};

/*
 * Looks into a shuffle file or bare file of blocks: calls visit for every block, in file order; visit returns 0 to go on.
 * deep: 0 = header and metadata only; 1 = decoded and validated in full. A bad block is reported, not fatal: the walk goes on where
 * its length allows. index_path as in colshuf_source.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_inspect(const char *data_path, const char *index_path, int deep,
                                                                 int (*visit)(void *ctx, const struct colshuf_block_info *block),
                                                                 void *ctx, struct colshuf_error *err);

/* The partition sizes that an index file gives. */
struct colshuf_index_info {
  int32_t n_partitions;
  uint64_t *offsets;     /* n_partitions + 1; freed by colshuf_index_clear */
  int little_endian;     /* Comet's native form */
};
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_index_read(const char *path, struct colshuf_index_info *out,
                                                                    struct colshuf_error *err);
COLSHUF_API void colshuf_index_clear(struct colshuf_index_info *index);

struct colshuf_merge_options {
  struct colshuf_allocator allocator;
  const char *output;      /* as in colshuf_map_writer_options */
  int32_t first_partition; /* [first, end): the others come out empty; both 0 = all */
  int32_t end_partition;
  enum colshuf_checksum checksum;
  int native_index;
  int (*progress)(void *ctx, uint64_t done, uint64_t total); /* bytes; not 0 = stop with CANCELLED. NULL = none */
  void *ctx;
};

struct colshuf_merge_summary {
  uint64_t blocks, bytes;
  int32_t n_partitions; /* of every source, and of the output */
};

/*
 * Makes one output of n_sources outputs of as many partitions: each partition holds the blocks of the first source, then of the second,
 * and so on, as they are (nothing is decoded but the first block of each source, whose schema must fit: docs/formats/block.md). Checksums of the
 * sources are verified on the way where there are any. The sources are read once, one after another; memory is that of a block and some
 * 20 bytes a partition. The output appears whole or not at all.
 * Errors: INVALID_ARGUMENT (no source, partitions, checksum or name), CORRUPT (names source, partition and block, or both sources that do not fit
 * together), LIMIT, IO, NO_MEMORY, CANCELLED.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_merge(const char *const *data_paths, int32_t n_sources,
                                                               const struct colshuf_merge_options *options,
                                                               struct colshuf_merge_summary *summary,
                                                               struct colshuf_error *err);

/*
 * Removes the temporary files (".NAME.PID-N.colshuf-tmp") that dead processes left in directory; those in use stay.
 * *removed counts them, also when an error ends it. Errors: IO.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_clean(const char *directory, uint64_t *removed,
                                                               struct colshuf_error *err);

/* One fault that colshuf_verify found. Strings are good until the callback returns. */
struct colshuf_fault {
  enum colshuf_status status;
  const char *path;      /* the file that is wrong */
  int32_t partition;     /* -1 = not of one partition */
  int64_t block;         /* in the partition; -1 = not of one block */
  int64_t offset;        /* in the file; -1 = none */
  const char *problem;   /* what is wrong, with both numbers */
  const char *diagnosis; /* what it probably comes from (truncated write, flipped bit, index of another attempt, …), or NULL */
};

struct colshuf_verify_summary {
  uint64_t partitions, blocks, rows, bytes, faults;
  enum colshuf_checksum checksum; /* the algorithm that was compared; NONE when there was no file */
  int has_index; /* 0: there was none to compare with, so that blocks missing at the end could not be noticed */
};

/*
 * Checks one output: index against data, checksums, every block decoded with full validation. report is called for each fault.
 * Returns OK when the check ran to its end, whatever it found (summary->faults counts); CORRUPT is never returned.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_verify(const char *data_path, const struct colshuf_limits *limits,
                                                                void (*report)(void *ctx, const struct colshuf_fault *fault),
                                                                void *ctx, struct colshuf_verify_summary *summary,
                                                                struct colshuf_error *err);

#ifdef __cplusplus
}
#endif
#endif
