/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition each row goes to, exactly as Spark (or, where they differ and it is asked for, Comet) decides it: docs/formats/partitioning.md. */
#ifndef COLSHUF_PARTITION_H
#define COLSHUF_PARTITION_H

#include "colshuf/arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

enum colshuf_partitioning {
  COLSHUF_PARTITION_SINGLE = 0,
  COLSHUF_PARTITION_HASH = 1,        /* pmod(murmur3(keys, seed 42), n) */
  COLSHUF_PARTITION_RANGE = 2,
  COLSHUF_PARTITION_ROUND_ROBIN = 3, /* Spark's: start from task id, then one after another */
  COLSHUF_PARTITION_ID = 4           /* ids stand in a column: keys[0], any integer type, no nulls */
};

/*
 * Whose rule where Spark and Comet's native code differ (NaN and wide decimals hashed, keys equal to a bound, order of floats;
 * round robin by hash). Spark is of two minds about one type, calendar intervals: its interpreter hashes months, days and
 * microseconds, the code that it generates (and that moves rows, unless generation is off) leaves the days out. A partitioner with
 * SPARK does as the generated code; colshuf_murmur3 with SPARK as the interpreter.
 */
enum colshuf_rules {
  COLSHUF_RULES_SPARK = 0,
  COLSHUF_RULES_COMET = 1,
  COLSHUF_RULES_SPARK_GENERATED = 2 /* as SPARK, but calendar intervals hash without their days */
};

struct colshuf_key {
  int32_t column; /* top-level column */
  int descending;
  int nulls_last; /* range only; where nulls go, whatever descending says. Spark's defaults: first when ascending, last when descending */
};

struct colshuf_partitioner_options {
  struct colshuf_allocator allocator;
  enum colshuf_partitioning kind;
  int32_t n_partitions;          /* 1 .. 2^31 - 1 */
  const struct colshuf_key *keys; /* borrowed until _new returns */
  int32_t n_keys;
  enum colshuf_rules rules;
  int allow_map_keys;            /* Spark refuses maps as hash keys unless told otherwise; so does colshuf */
  int64_t task_id;               /* round robin: the map partition id that fixes the start */
  int sort_first;                /* round robin: rows of a batch are ordered by their content first, so that a retry gives the same partitions */
  int32_t max_hash_columns;      /* round robin by RULES_COMET: 0 = all columns */
  const struct ArrowSchema *bounds_schema; /* range: a struct of the key columns, in order */
  const struct ArrowArray *bounds;         /* range: sorted distinct rows; both borrowed until _new returns, copied */
  int64_t group_rows; /* round robin by position, so many rows in a row to one partition, counted on from batch to batch: cheap to
                         cut, and no column is looked at. 0 = row by row (RULES_COMET: by hash) */
};

struct colshuf_partitioner;

/*
 * Errors: INVALID_ARGUMENT (n_partitions, unknown or repeated key column, bounds that are unsorted, of other types or too many),
 *         UNSUPPORTED (a key type that Spark cannot hash or order: the message names column and type), LIMIT, NO_MEMORY.
 * Threads: one at a time (round robin keeps its position; scratch is reused).
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_partitioner_new(const struct ArrowSchema *schema,
                                                                         const struct colshuf_partitioner_options *options,
                                                                         struct colshuf_partitioner **out,
                                                                         struct colshuf_error *err);
COLSHUF_API void colshuf_partitioner_free(struct colshuf_partitioner *partitioner);

/*
 * The partition of each row: ids[0..batch->length), the caller's storage, each in [0, n_partitions).
 * batch: a valid struct array of the schema, borrowed. Errors: INVALID_ARGUMENT (batch does not fit; an id column with a null or an
 * id out of range: the message names the row and both numbers), NO_MEMORY. No allocation in steady state.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_partitioner_ids(struct colshuf_partitioner *partitioner,
                                                                         const struct ArrowArray *batch, int32_t *ids,
                                                                         struct colshuf_error *err);

/*
 * The rows of each partition, by a stable counting sort: rows of partition p are rows[offsets[p] .. offsets[p + 1]).
 * ids[0..n_rows) each in [0, n_partitions) (checked: INVALID_ARGUMENT); offsets[n_partitions + 1] and rows[n_rows]: the caller's storage.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_partition_rows(const int32_t *ids, uint32_t n_rows, int32_t n_partitions,
                                                                        uint32_t *offsets, uint32_t *rows,
                                                                        struct colshuf_error *err);

/*
 * Spark's murmur3 of the key columns, row by row: hashes[0..batch->length). seed is 42 in Spark. rules as above.
 * Errors as colshuf_partitioner_new and _ids.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_murmur3(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                                                 const int32_t *columns, int32_t n_columns, int32_t seed,
                                                                 enum colshuf_rules rules, int32_t *hashes,
                                                                 struct colshuf_error *err);

/*
 * Bounds for range partitioning, sampled from any number of inputs as Spark's RangePartitioner does it: per input a
 * reservoir, then candidates weighted by the inverse of the sampling rate. Deterministic for a seed and an order of inputs.
 * (Spark reads an input again that is far larger than the others; here, where rows pass once, its reservoir weighs more.)
 */
struct colshuf_bounds_sampler;
struct colshuf_bounds_sampler_options {
  struct colshuf_allocator allocator;
  int32_t n_partitions;
  const struct colshuf_key *keys;
  int32_t n_keys;
  enum colshuf_rules rules;
  int64_t seed;        /* of Spark's generator: with the id of the RDD that Spark samples, its reservoirs are reproduced */
  int64_t sample_size; /* rows wanted in all; 0 = 100 for each partition, at most 10^6 */
  int64_t n_inputs;    /* how many there will be: three times its share is kept of each; 0 = not known, each keeps as the only one would */
};
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_bounds_sampler_new(const struct ArrowSchema *schema,
                                                                            const struct colshuf_bounds_sampler_options *options,
                                                                            struct colshuf_bounds_sampler **out,
                                                                            struct colshuf_error *err);
COLSHUF_API void colshuf_bounds_sampler_free(struct colshuf_bounds_sampler *sampler);
/* Offers all rows of a batch of the current input. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_bounds_sampler_add(struct colshuf_bounds_sampler *sampler,
                                                                            const struct ArrowArray *batch,
                                                                            struct colshuf_error *err);
/* What is added from now on belongs to the next input. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_bounds_sampler_next_input(struct colshuf_bounds_sampler *sampler,
                                                                                   struct colshuf_error *err);
/* Up to n_partitions - 1 sorted distinct bounds as a struct array of the key columns, and its schema: the caller's. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_bounds_sampler_finish(struct colshuf_bounds_sampler *sampler,
                                                                               struct ArrowSchema *schema,
                                                                               struct ArrowArray *bounds,
                                                                               struct colshuf_error *err);

#ifdef __cplusplus
}
#endif
#endif
