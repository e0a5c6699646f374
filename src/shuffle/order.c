/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/order.h"

#include "colshuf/partition.h"

void csf_order_init(struct csf_order *order, const struct colshuf_allocator *allocator) {
  *order = (struct csf_order){.allocator = *allocator};
  csf_buffer_init(&order->rows, allocator);
  csf_buffer_init(&order->parts, allocator);
  csf_buffer_init(&order->starts, allocator);
  csf_buffer_init(&order->scratch, allocator);
}

void csf_order_clear(struct csf_order *order) {
  csf_buffer_clear(&order->rows);
  csf_buffer_clear(&order->parts);
  csf_buffer_clear(&order->starts);
  csf_buffer_clear(&order->scratch);
}

static enum colshuf_status order_by_counting(struct csf_order *order, const int32_t *ids, uint32_t n, int32_t n_partitions,
                                             struct colshuf_error *err) {
  size_t size = ((size_t)n_partitions + 1) * sizeof(uint32_t);
  CSF_TRY(csf_buffer_reserve(&order->scratch, size, err));
  uint32_t *offsets = (uint32_t *)(void *)order->scratch.data;
  CSF_TRY(colshuf_partition_rows(ids, n, n_partitions, offsets, (uint32_t *)(void *)order->rows.data, err));
  int32_t *parts = (int32_t *)(void *)order->parts.data;
  uint32_t *starts = (uint32_t *)(void *)order->starts.data;
  int32_t n_parts = 0;
  for (int32_t p = 0; p < n_partitions; p++) {
    if (offsets[p] == offsets[p + 1]) continue;
    parts[n_parts] = p;
    starts[n_parts++] = offsets[p];
  }
  starts[n_parts] = n;
  order->n_parts = n_parts;
  return COLSHUF_OK;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One pass of a stable sort by the digit of the partition at shift. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, uint32_t n, unsigned shift) {
  uint32_t places[DIGITS] = {0};
  for (uint32_t i = 0; i < n; i++) places[(from[i] >> shift) & (DIGITS - 1)]++;
  uint32_t sum = 0;
  for (int32_t i = 0; i < DIGITS; i++) {
    uint32_t count = places[i];
    places[i] = sum;
    sum += count;
  }
  for (uint32_t i = 0; i < n; i++) to[places[(from[i] >> shift) & (DIGITS - 1)]++] = from[i];
}

/* Keys are partition << 32 | row. Returns the sorted ones: keys or other. */
static const uint64_t *sort_keys(uint64_t *keys, uint64_t *other, uint32_t n, int32_t n_partitions) {
  for (unsigned shift = 0; ((uint64_t)n_partitions - 1) >> shift != 0; shift += DIGIT_BITS) {
    sort_by_digit(keys, other, n, 32 + shift);
    uint64_t *swap = keys;
    keys = other;
    other = swap;
  }
  return keys;
}

static void read_keys(struct csf_order *order, const uint64_t *keys, uint32_t n) {
  uint32_t *rows = (uint32_t *)(void *)order->rows.data;
  int32_t *parts = (int32_t *)(void *)order->parts.data;
  uint32_t *starts = (uint32_t *)(void *)order->starts.data;
  int32_t n_parts = 0;
  for (uint32_t i = 0; i < n; i++) {
    int32_t partition = (int32_t)(keys[i] >> 32);
    rows[i] = (uint32_t)keys[i];
    if (i > 0 && parts[n_parts - 1] == partition) continue;
    parts[n_parts] = partition;
    starts[n_parts++] = i;
  }
  starts[n_parts] = n;
  order->n_parts = n_parts;
}

static enum colshuf_status order_by_sorting(struct csf_order *order, const int32_t *ids, uint32_t n, int32_t n_partitions,
                                            struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&order->scratch, ((size_t)n + 1) * 2 * sizeof(uint64_t), err));
  uint64_t *keys = (uint64_t *)(void *)order->scratch.data;
  for (uint32_t i = 0; i < n; i++) {
    if (ids[i] < 0 || ids[i] >= n_partitions) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "row %u: partition %d of %d", (unsigned)i, (int)ids[i], (int)n_partitions);
    }
    keys[i] = (uint64_t)ids[i] << 32 | i;
  }
  read_keys(order, sort_keys(keys, keys + n, n, n_partitions), n);
  return COLSHUF_OK;
}

enum colshuf_status csf_order_rows(struct csf_order *order, const int32_t *ids, uint32_t n, int32_t n_partitions,
                                   struct colshuf_error *err) {
  uint32_t most = (uint32_t)n_partitions < n ? (uint32_t)n_partitions : n;
  CSF_TRY(csf_buffer_reserve(&order->rows, ((size_t)n + 1) * sizeof(uint32_t), err));
  CSF_TRY(csf_buffer_reserve(&order->parts, ((size_t)most + 1) * sizeof(int32_t), err));
  CSF_TRY(csf_buffer_reserve(&order->starts, ((size_t)most + 1) * sizeof(uint32_t), err));
  if ((uint64_t)n_partitions <= 4 * (uint64_t)n) return order_by_counting(order, ids, n, n_partitions, err);
  return order_by_sorting(order, ids, n, n_partitions, err);
}
