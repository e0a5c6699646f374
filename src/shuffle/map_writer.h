/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map writer from inside. Rows wait as chunks: a chunk is one piece of input (some thousand rows) whose rows were put in the
 * order of their partitions, column by column, in the pool. When the pool is full, all chunks are walked through partition by
 * partition: the rows of one partition, a slice of each chunk, are put together, cut into blocks, encoded, and appended to a
 * spill run; at the end, the same goes straight to the data file, after what the runs hold of the partition.
 *
 *   batch -> (gather, when small) -> ids -> order -> chunk in the pool -> slices of a partition -> block -> spill | data | sink
 *
 * With threads, one more of them walks through a full stock of chunks while the caller fills the next one, in memory that becomes free as
 * groups of partitions are written. When a stock is full does not depend on that, and so the bytes do not.
 *
 * So memory is what the rows take and no more, whatever the number of partitions; an empty partition costs nothing here; every
 * write to memory is sequential; and how blocks are cut depends on options and input alone.
 */
#ifndef CSF_SHUFFLE_MAP_WRITER_H
#define CSF_SHUFFLE_MAP_WRITER_H

#include "shuffle/dictionaries.h"
#include "shuffle/map_background.h"
#include "shuffle/map_lane.h"
#include "shuffle/order.h"
#include "shuffle/areas.h"
#include "shuffle/slices.h"
#include "shuffle/spill.h"

struct csf_chunk {
  const struct ArrowArray *array; /* a batch, its rows in the order of partitions */
  int64_t n_rows;
  const int32_t *parts;    /* partitions that have rows here, rising */
  const uint32_t *starts;  /* where each begins, and the end: n_parts + 1 */
  int32_t n_parts;
  int32_t at;              /* of parts: the next to be written */
};

/*
 * Rows that wait in memory and will be written together: their chunks, each of rows of one group of neighbouring partitions. The
 * chunks of a group lie in areas of their own, which are free as soon as the group is written.
 */
enum { CSF_GROUPS = CSF_AREA_LISTS / 2 };

struct csf_stock {
  struct csf_buffer chunks[CSF_GROUPS]; /* struct csf_chunk */
  int first_list;                       /* of the areas: that of the first group */
  int64_t n_rows;
  uint64_t bytes;
};

/* Sizes that follow from the options. */
struct csf_map_sizes {
  uint64_t block_bytes;  /* raw bytes of a block */
  int64_t block_rows;    /* INT64_MAX = no limit */
  uint64_t small_block;  /* when spilled blocks would be smaller, rows are spilled instead */
  uint64_t group_bytes;  /* of rows spilled for one group of partitions, about; of a segment at most */
  uint64_t block_values; /* csf_columns_max_values */
  uint64_t piece_bytes;  /* of input that is routed at a time */
  int64_t piece_rows;
  int64_t gather_rows;   /* fewer are gathered first */
  int64_t ids_rows;      /* ids are found for so many rows at a time */
  int32_t n_groups;      /* of a stock, at most CSF_GROUPS */
  size_t area_bytes;
};

enum csf_map_target { CSF_TARGET_SPILL, CSF_TARGET_DATA, CSF_TARGET_SINK };

/* Where blocks go at the moment, and how far the partition has come that they belong to. */
struct csf_map_emission {
  enum csf_map_target target;
  int32_t partition; /* -1 = none */
  uint64_t size;
};

struct colshuf_map_writer {
  struct csf_budget budget;
  struct csf_map_sizes sizes;
  uint64_t spare;               /* of what is held back: not needed by one lane */
  struct csf_schema *schema;
  struct ArrowSchema exported;  /* the same, for making encoders */
  int32_t n_partitions;
  enum colshuf_partitioning partitioning;
  int32_t destination;          /* of every row of the running call; -1 = as the partitioner says */
  bool sort_first;
  struct colshuf_partitioner *partitioner;
  struct colshuf_block_encoder_options encoder_options;
  enum colshuf_checksum checksum;
  int native_index;
  struct colshuf_sink sink;
  char *output;                 /* NULL with a sink */
  struct csf_output_place place; /* of output */
  char **spill_directories;
  int32_t n_spill_directories;

  struct ArrowArray **narrow_children; /* the columns of a batch, cut to its rows */
  struct csf_areas areas;
  struct csf_stock stocks[2];   /* one is filled while the other may still be written */
  struct csf_stock *filled;
  struct csf_stock *written;
  struct csf_columns chunk;     /* the chunk being made; its bytes are the pool's */
  struct csf_columns pending;   /* small batches, gathered */
  struct ArrowArray *pending_array;
  uint64_t pending_bytes;
  struct csf_buffer pending_ids;
  struct csf_buffer ids;
  struct csf_order order;
  struct csf_dictionaries_joined dictionaries;
  void *pending_tree;
  size_t tree_size;

  struct csf_crew crew;
  struct csf_background background;
  struct csf_buffer *walk;      /* chunks being walked through: those of a group, or */
  struct csf_buffer all_chunks; /* of all groups */
  struct csf_sources sources;
  struct csf_buffer slices;     /* struct csf_slice: of one partition */
  struct csf_buffer planned;    /* of one block */

  struct csf_map_emission emission;
  struct csf_spills spills;     /* blocks on disk */
  struct csf_temp_file data;
  uint64_t *partition_sizes;
  uint32_t *checksums;

  struct csf_spills rows;       /* rows on disk, by groups of partitions: map_rows.c */
  uint64_t cut_bytes;           /* where slices are being cut: block_bytes or group_bytes */
  bool merging;                 /* they are being read back */
  int32_t group_width;          /* partitions in a group */
  uint64_t group_size;          /* bytes of the group being written */
  struct colshuf_block_encoder *rows_encoder;
  struct colshuf_block_decoder *rows_decoder;
  struct csf_buffer segment;

  struct colshuf_map_metrics metrics;
  struct colshuf_map_metrics written_metrics; /* of the blocks, until csf_map_settle_metrics: whoever writes counts here */
  uint64_t flush_ns;            /* of csf_map_flush */
  bool busy;                    /* a call is running: a memory manager may call back */
  bool committed;
  enum colshuf_status dead;     /* not OK: why every call fails */
  char dead_reason[512];
};

/* map_route.c: all rows of batch, which is valid and not empty; ids in range. Errors are fatal. */
enum colshuf_status csf_map_route(struct colshuf_map_writer *writer, const struct ArrowArray *batch, struct colshuf_error *err)
    COLSHUF_MUST_USE;
/* Refuses a batch whose column of partition ids holds one that is out of range. */
enum colshuf_status csf_map_check_ids(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                      struct colshuf_error *err) COLSHUF_MUST_USE;
/* Makes a chunk of what was gathered. */
enum colshuf_status csf_map_route_pending(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Makes a chunk of a batch whose ids are known and whose dictionaries are the joined ones. */
enum colshuf_status csf_map_route_ordered(struct colshuf_map_writer *writer, const struct ArrowArray *batch, const int32_t *ids,
                                          struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * map_flush.c: spills all chunks, or gives them to the sink; with threads maybe in the background, the next chunks going to the other stock.
 * Errors are also those of the flush before.
 */
enum colshuf_status csf_map_flush(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Writes everything, merged, to the data file. */
enum colshuf_status csf_map_flush_to_data(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
/* All chunks of a stock as blocks to the target that was begun; empties it. */
enum colshuf_status csf_map_flush_stock(struct colshuf_map_writer *writer, struct csf_stock *stock, struct colshuf_error *err)
    COLSHUF_MUST_USE;
/* The same as a spill run. */
enum colshuf_status csf_map_spill_stock(struct colshuf_map_writer *writer, struct csf_stock *stock, struct colshuf_error *err)
    COLSHUF_MUST_USE;
/* What was counted while writing, to the metrics that the caller sees. Not while the background is at work. */
void csf_map_settle_metrics(struct colshuf_map_writer *writer);
/* Sets up what walking through the chunks needs. */
enum colshuf_status csf_map_set_sources(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Cuts writer->slices into blocks of at most block_rows rows and submits them; partition -1: as rows, csf_map_put_rows. */
enum colshuf_status csf_map_cut_slices(struct colshuf_map_writer *writer, int32_t partition, int64_t block_rows,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/* map_emit.c: blocks to a target, between begin and end, in rising order of partitions. */
enum colshuf_status csf_map_begin_target(struct colshuf_map_writer *writer, enum csf_map_target target, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_map_emit(struct colshuf_map_writer *writer, const struct csf_lane *lane, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_map_close_partition(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_map_end_target(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

/* map_rows.c: whether chunks should be spilled as rows; doing so; planned rows to the run; all runs back, to the data file. */
bool csf_map_spills_rows(struct colshuf_map_writer *writer);
enum colshuf_status csf_map_spill_rows(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_map_put_rows(struct colshuf_map_writer *writer, int64_t n_rows, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_map_merge_rows(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;
/* While merging: a group that does not fit into memory is spilled as blocks. */
enum colshuf_status csf_map_flush_overflow(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
