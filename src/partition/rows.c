/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of each partition by a stable counting sort.
 *
 * Both passes of a counting sort are chains through memory: a row waits until the counter of its partition, just written by an
 * earlier row, can be read again. The input is therefore cut into LANES equal stretches with counters of their own, which are walked side by
 * side; since the counters of a partition are laid out in the order of the stretches, the sort stays stable.
 */
#include "base/bytes.h"
#include "colshuf/partition.h"

enum {
  LANES = 4,
  LANES_MAX_PARTITIONS = 2048, /* so that all counters fit the first level of cache, and the stack */
  LANES_MIN_ROWS = 256
};

static enum colshuf_status check_ids(const int32_t *ids, uint32_t n_rows, int32_t n_partitions, struct colshuf_error *err) {
  uint32_t largest = 0; /* negative ids are the largest of all as unsigned numbers */
  for (uint32_t i = 0; i < n_rows; i++) largest = (uint32_t)ids[i] > largest ? (uint32_t)ids[i] : largest;
  if (n_rows == 0 || largest < (uint32_t)n_partitions) return COLSHUF_OK;
  uint32_t row = 0;
  while ((uint32_t)ids[row] < (uint32_t)n_partitions) row++;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "row %u has partition id %d, but there are %d partitions", row, ids[row], n_partitions);
}

static void sort_in_lanes(const int32_t *ids, uint32_t n_rows, uint32_t n_partitions, uint32_t *offsets, uint32_t *rows) {
  uint32_t next[LANES_MAX_PARTITIONS][LANES];
  memset(next, 0, n_partitions * sizeof next[0]);
  uint32_t n = n_rows / LANES;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t lane = 0; lane < LANES; lane++) next[ids[lane * n + i]][lane]++;
  }
  for (uint32_t i = LANES * n; i < n_rows; i++) next[ids[i]][LANES - 1]++;
  uint32_t sum = 0;
  for (uint32_t p = 0; p < n_partitions; p++) {
    offsets[p] = sum;
    for (uint32_t lane = 0; lane < LANES; lane++) {
      uint32_t count = next[p][lane];
      next[p][lane] = sum;
      sum += count;
    }
  }
  offsets[n_partitions] = sum;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t lane = 0; lane < LANES; lane++) rows[next[ids[lane * n + i]][lane]++] = lane * n + i;
  }
  for (uint32_t i = LANES * n; i < n_rows; i++) rows[next[ids[i]][LANES - 1]++] = i;
}

/* Any number of partitions, no storage beside the caller's: offsets[p + 1] counts, then offsets[p] walks from start to end of p. */
static void sort_in_place(const int32_t *ids, uint32_t n_rows, uint32_t n_partitions, uint32_t *offsets, uint32_t *rows) {
  memset(offsets, 0, ((size_t)n_partitions + 1) * sizeof *offsets);
  for (uint32_t i = 0; i < n_rows; i++) offsets[(size_t)(uint32_t)ids[i] + 1]++;
  for (size_t p = 1; p <= n_partitions; p++) offsets[p] += offsets[p - 1];
  for (uint32_t i = 0; i < n_rows; i++) rows[offsets[ids[i]]++] = i;
  memmove(offsets + 1, offsets, (size_t)n_partitions * sizeof *offsets);
  offsets[0] = 0;
}

enum colshuf_status colshuf_partition_rows(const int32_t *ids, uint32_t n_rows, int32_t n_partitions, uint32_t *offsets, uint32_t *rows,
                                           struct colshuf_error *err) {
  if (n_partitions < 1) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there are %d partitions, at least 1 is needed", n_partitions);
  CSF_TRY(check_ids(ids, n_rows, n_partitions, err));
  if (n_partitions <= LANES_MAX_PARTITIONS && n_rows >= LANES_MIN_ROWS) {
    sort_in_lanes(ids, n_rows, (uint32_t)n_partitions, offsets, rows);
  } else {
    sort_in_place(ids, n_rows, (uint32_t)n_partitions, offsets, rows);
  }
  return COLSHUF_OK;
}
