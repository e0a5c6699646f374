/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of each partition by a stable counting sort: count, sum up, deal out.
 *
 * Counting is a chain through memory where rows in a row have one partition: each waits for the counter that the one before has
 * just written. TABLES tables of counters take turns. In dealing out, one cursor a partition keeps the fewest lines in use at a
 * time, which is what counts where partitions alternate; where they do not, whole runs are written at once.
 */
#include "base/bytes.h"
#include "colshuf/partition.h"
#include "partition/murmur3.h"

enum {
  TABLES = 4,
  TABLES_MAX_PARTITIONS = 2048, /* so that all counters fit the first level of cache, and the stack */
  TABLES_MIN_ROWS = 256,
  SAMPLE = 64,       /* rows looked at ... */
  SAMPLE_EVERY = 512 /* ... of so many, to see whether partitions come in runs */
};

static enum colshuf_status fail_ids(const int32_t *ids, uint32_t n_partitions, struct colshuf_error *err) {
  uint32_t row = 0;
  while ((uint32_t)ids[row] < n_partitions) row++;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "row %u has partition id %d, but there are %u partitions", row, ids[row],
                  n_partitions);
}

static void count_in_tables(const int32_t *ids, size_t n_rows, uint32_t n, uint32_t *counts) {
  uint32_t tables[TABLES * (TABLES_MAX_PARTITIONS + 8)];
  size_t apart = n + 8; /* never a power of two: places 4 KiB apart are mistaken for one another by processors */
  uint32_t *t0 = tables, *t1 = t0 + apart, *t2 = t1 + apart, *t3 = t2 + apart;
  memset(tables, 0, TABLES * apart * sizeof *tables);
  size_t i = 0;
  for (; n_rows - i >= TABLES; i += TABLES) {
    t0[ids[i]]++;
    t1[ids[i + 1]]++;
    t2[ids[i + 2]]++;
    t3[ids[i + 3]]++;
  }
  for (; i < n_rows; i++) t0[ids[i]]++;
  for (uint32_t p = 0; p < n; p++) counts[p] = t0[p] + t1[p] + t2[p] + t3[p];
}

static void count(const int32_t *ids, size_t n_rows, uint32_t n, uint32_t *counts) {
  if (n <= TABLES_MAX_PARTITIONS && n_rows >= TABLES_MIN_ROWS) {
    count_in_tables(ids, n_rows, n, counts);
    return;
  }
  memset(counts, 0, (size_t)n * sizeof *counts);
  for (size_t i = 0; i < n_rows; i++) counts[ids[i]]++;
}

/* Whether most rows of a sample go where the row before them went. */
static bool comes_in_runs(const int32_t *ids, size_t n_rows) {
  uint32_t n_repeats = 0, n_seen = 0;
  for (size_t i = 0; i + SAMPLE < n_rows; i += SAMPLE_EVERY) {
    for (size_t j = 0; j < SAMPLE; j++) n_repeats += ids[i + j] == ids[i + j + 1];
    n_seen += SAMPLE;
  }
  return n_repeats > n_seen / 2;
}

/* Stores wait for their lines in order, so the next line of a partition is asked for a few rows before it is reached. */
static inline __attribute__((always_inline)) void deal_row(int32_t id, size_t row, uint32_t *next, uint32_t *rows) {
  enum { AHEAD = 4 * sizeof *rows };
  uint32_t *place = rows + next[id]++;
  __builtin_prefetch((const void *)((uintptr_t)place + AHEAD), 1);
  *place = (uint32_t)row;
}

#if defined(__x86_64__)
__attribute__((target("prfchw")))
#endif
static void
deal_rows(const int32_t *ids, size_t n_rows, uint32_t *next, uint32_t *rows) {
  size_t i = 0;
  for (; n_rows - i >= 4; i += 4) {
    deal_row(ids[i], i, next, rows);
    deal_row(ids[i + 1], i + 1, next, rows);
    deal_row(ids[i + 2], i + 2, next, rows);
    deal_row(ids[i + 3], i + 3, next, rows);
  }
  for (; i < n_rows; i++) deal_row(ids[i], i, next, rows);
}

static void deal_runs(const int32_t *ids, uint32_t n_rows, uint32_t *next, uint32_t *rows) {
  for (uint32_t i = 0; i < n_rows;) {
    int32_t id = ids[i];
    uint32_t at = next[id];
    do {
      rows[at++] = i++;
    } while (i < n_rows && ids[i] == id);
    next[id] = at;
  }
}

/* Counts become starts, each one place further on: next[p] = offsets[p + 1] walks from the start of p to its end as rows are
 * dealt. */
static void sum_up(uint32_t n_rows, uint32_t n, uint32_t *offsets) {
  uint32_t start = n_rows;
  for (size_t p = n; p > 0; p--) {
    start -= offsets[p - 1];
    offsets[p] = start;
  }
  offsets[0] = 0;
}

enum colshuf_status colshuf_partition_rows(const int32_t *ids, uint32_t n_rows, int32_t n_partitions, uint32_t *offsets,
                                           uint32_t *rows, struct colshuf_error *err) {
  if (n_partitions < 1)
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there are %d partitions, at least 1 is needed", n_partitions);
  uint32_t n = (uint32_t)n_partitions;
  if (!csf_murmur3_get()->in_range(ids, n_rows, n)) return fail_ids(ids, n, err);
  count(ids, n_rows, n, offsets);
  sum_up(n_rows, n, offsets);
  if (comes_in_runs(ids, n_rows)) deal_runs(ids, n_rows, offsets + 1, rows);
  else deal_rows(ids, n_rows, offsets + 1, rows);
  return COLSHUF_OK;
}
