/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/round_robin.h"

#include "partition/murmur3.h"
#include "partition/sort.h"
#include "partition/unsafe_row.h"

/* The seed is scrambled by the textbook murmur3 of its 8 big-endian bytes: seeds of neighbouring tasks differ in few bits. */
struct csf_random csf_random_seeded(int64_t seed) {
  uint8_t bytes[8];
  csf_store_be64(bytes, (uint64_t)seed);
  uint64_t value = csf_load_u64(bytes);
  uint32_t low = csf_hash_long(value, 0x3c074a61u);
  uint32_t high = csf_hash_long(value, low);
  return (struct csf_random){(uint64_t)high << 32 | low};
}

static int32_t next_bits(struct csf_random *random, unsigned bits) {
  uint64_t s = random->state;
  s ^= s << 21;
  s ^= s >> 35;
  s ^= s << 4;
  random->state = s;
  return (int32_t)(uint32_t)(s & ((UINT64_C(1) << bits) - 1));
}

/* java.util.Random's nextInt(bound): the last, incomplete stretch of bound numbers below 2^31 is drawn again. */
int32_t csf_random_below(struct csf_random *random, int32_t n) {
  int32_t r = next_bits(random, 31);
  if ((n & (n - 1)) == 0) return (int32_t)(((int64_t)n * r) >> 31);
  int32_t u = r;
  while ((int64_t)u - (r = u % n) + (n - 1) > INT32_MAX) u = next_bits(random, 31);
  return r;
}

double csf_random_double(struct csf_random *random) {
  int64_t high = next_bits(random, 26);
  int64_t low = next_bits(random, 27);
  return (double)((high << 27) + low) * 0x1p-53;
}

void csf_row_sorter_init(struct csf_row_sorter *sorter, const struct colshuf_allocator *allocator) {
  csf_buffer_init(&sorter->entries, allocator);
  csf_buffer_init(&sorter->bytes, allocator);
  csf_buffer_init(&sorter->ties, allocator);
}

void csf_row_sorter_clear(struct csf_row_sorter *sorter) {
  csf_buffer_clear(&sorter->entries);
  csf_buffer_clear(&sorter->bytes);
  csf_buffer_clear(&sorter->ties);
}

/* entries[i] = the hash of row i, ordered as a signed number, above the row's number. The bytes are not kept. */
static enum colshuf_status hash_rows(struct csf_row_sorter *sorter, const struct csf_column *columns, int32_t n_columns,
                                     uint32_t n_rows, uint64_t *entries, struct colshuf_error *err) {
  for (uint32_t i = 0; i < n_rows; i++) {
    sorter->bytes.size = 0;
    CSF_TRY(csf_unsafe_row_append(columns, n_columns, i, &sorter->bytes, err));
    uint32_t hash = csf_hash_bytes(sorter->bytes.data, sorter->bytes.size, 42);
    entries[i] = (uint64_t)(hash ^ 0x80000000u) << 32 | i;
  }
  return COLSHUF_OK;
}

/* Rows of one hash: where the bytes of each lie, its place among them being its number in the sort. */
struct tie {
  uint64_t entry;
  size_t start;
  size_t size;
};

struct tied_rows {
  const struct tie *ties;
  const uint8_t *bytes;
};

static int compare_ties(void *ctx, uint32_t a, uint32_t b) {
  const struct tied_rows *rows = ctx;
  const struct tie *x = &rows->ties[a], *y = &rows->ties[b];
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  return memcmp(rows->bytes + x->start, rows->bytes + y->start, x->size);
}

/* Rows with one hash are built again, this time all at once, and compared byte by byte. */
static enum colshuf_status sort_ties(struct csf_row_sorter *sorter, const struct csf_column *columns, int32_t n_columns,
                                     uint64_t *entries, size_t n, struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&sorter->ties, n * (sizeof(struct tie) + 2 * sizeof(uint32_t)), err));
  struct tie *ties = (struct tie *)(void *)sorter->ties.data;
  uint32_t *order = (uint32_t *)(void *)(ties + n);
  sorter->bytes.size = 0;
  for (size_t i = 0; i < n; i++) {
    size_t start = sorter->bytes.size;
    CSF_TRY(csf_unsafe_row_append(columns, n_columns, csf_row_sorter_row(entries[i]), &sorter->bytes, err));
    ties[i] = (struct tie){entries[i], start, sorter->bytes.size - start};
    order[i] = (uint32_t)i;
  }
  struct tied_rows rows = {ties, sorter->bytes.data};
  csf_sort_by(order, order + n, n, compare_ties, &rows);
  for (size_t i = 0; i < n; i++) entries[i] = ties[order[i]].entry;
  return COLSHUF_OK;
}

static size_t equal_keys(const uint64_t *entries, size_t n) {
  size_t i = 1;
  while (i < n && entries[i] >> 32 == entries[0] >> 32) i++;
  return i;
}

enum colshuf_status csf_row_sorter_run(struct csf_row_sorter *sorter, const struct csf_column *columns, int32_t n_columns,
                                       uint32_t n_rows, const uint64_t **order, struct colshuf_error *err) {
  CSF_TRY(csf_buffer_reserve(&sorter->entries, 2 * sizeof(uint64_t) * (size_t)n_rows + 1, err));
  uint64_t *entries = (uint64_t *)(void *)sorter->entries.data;
  CSF_TRY(hash_rows(sorter, columns, n_columns, n_rows, entries, err));
  csf_sort_by_key(entries, entries + n_rows, n_rows);
  for (size_t i = 0; i < n_rows;) {
    size_t n = equal_keys(entries + i, n_rows - i);
    if (n > 1) CSF_TRY(sort_ties(sorter, columns, n_columns, entries + i, n, err));
    i += n;
  }
  *order = entries;
  return COLSHUF_OK;
}
