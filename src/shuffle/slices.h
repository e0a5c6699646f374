/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of many chunks put together, column by column. A slice of a chunk is short (some dozen rows when there are hundreds of
 * partitions) and lies anywhere in memory: what costs is waiting for it. So the places of the buffers stand side by side for each
 * column, and while one slice is copied the next ones are already on their way into the cache.
 */
#ifndef CSF_SHUFFLE_SLICES_H
#define CSF_SHUFFLE_SLICES_H

#include "shuffle/columns.h"

/* The buffers of one column of one chunk. Behind each there are CSF_COLUMN_SLACK bytes that may be read. */
struct csf_chunk_source {
  const uint8_t *validity; /* NULL = no null */
  const uint8_t *main;
  const uint8_t *extra;
};

/* All columns of all chunks; the chunks are batches that csf_columns_show made. */
struct csf_sources {
  const struct csf_field *root;
  struct csf_buffer table; /* struct csf_chunk_source: column by column, a chunk beside the next */
  int32_t n_chunks;
};

struct csf_slice {
  const struct ArrowArray *chunk;
  int32_t chunk_index;
  int64_t start;
  int64_t n;
  uint64_t bytes;  /* set by csf_slices_measure */
  uint64_t values;
};

void csf_sources_init(struct csf_sources *sources, const struct csf_field *root, const struct colshuf_allocator *allocator);
void csf_sources_clear(struct csf_sources *sources);
enum colshuf_status csf_sources_set(struct csf_sources *sources, const struct ArrowArray *const *chunks, int32_t n_chunks,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;

/* As csf_columns_measure, for each of slices[0..n). */
void csf_slices_measure(const struct csf_sources *sources, struct csf_slice *slices, size_t n);

/* Appends the rows of slices[0..n), one slice after another. Errors as csf_columns_append. */
enum colshuf_status csf_columns_append_slices(struct csf_columns *columns, const struct csf_sources *sources,
                                              const struct csf_slice *slices, size_t n, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
