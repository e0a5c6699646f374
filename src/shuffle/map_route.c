/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a batch into chunks. */
#include "arrow/array.h"
#include "shuffle/clock.h"
#include "shuffle/map_writer.h"

/* Rows [start, start + n) of batch for those who take a whole batch: its columns are shared, only the head is new. */
static struct ArrowArray head_of(const struct ArrowArray *batch, int64_t start, int64_t n) {
  struct ArrowArray head = *batch;
  head.offset += start;
  head.length = n;
  head.null_count = 0;
  return head;
}

static enum colshuf_status find_ids(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start, int64_t n,
                                    struct colshuf_error *err) {
  struct ArrowArray head = head_of(batch, start, n);
  CSF_TRY(csf_buffer_reserve(&writer->ids, (size_t)n * sizeof(int32_t), err));
  if (writer->destination >= 0) {
    int32_t *ids = (int32_t *)(void *)writer->ids.data;
    for (int64_t i = 0; i < n; i++) ids[i] = writer->destination;
    return COLSHUF_OK;
  }
  uint64_t begin = csf_now_ns();
  enum colshuf_status status = colshuf_partitioner_ids(writer->partitioner, &head, (int32_t *)(void *)writer->ids.data, err);
  writer->metrics.partition_ns += csf_now_ns() - begin;
  return status;
}

enum colshuf_status csf_map_check_ids(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                      struct colshuf_error *err) {
  if (writer->partitioning != COLSHUF_PARTITION_ID || writer->destination >= 0) return COLSHUF_OK;
  for (int64_t start = 0; start < batch->length; start += writer->sizes.ids_rows) {
    int64_t n = batch->length - start;
    if (n > writer->sizes.ids_rows) n = writer->sizes.ids_rows;
    enum colshuf_status status = find_ids(writer, batch, start, n, err);
    if (status == COLSHUF_OK) continue;
    return start == 0 ? status : csf_fail_context(err, status, "rows from %lld on", (long long)start);
  }
  return COLSHUF_OK;
}

/* Partitions parts[from, to) of the order: a chunk's. */
struct span_of_order {
  int32_t from, to;
};

/* Copies what describes the chunk into the pool; false when there is no room. */
static bool describe_chunk(struct colshuf_map_writer *writer, struct span_of_order span, int64_t n_rows, struct csf_chunk *chunk) {
  const int32_t *all_parts = (const int32_t *)(const void *)writer->order.parts.data;
  const uint32_t *all_starts = (const uint32_t *)(const void *)writer->order.starts.data;
  int32_t n_parts = span.to - span.from;
  void *tree = csf_areas_alloc(&writer->areas, writer->tree_size);
  int32_t *parts = csf_areas_alloc(&writer->areas, (size_t)n_parts * sizeof *parts);
  uint32_t *starts = csf_areas_alloc(&writer->areas, ((size_t)n_parts + 1) * sizeof *starts);
  if (tree == NULL || parts == NULL || starts == NULL) return false;
  memcpy(parts, all_parts + span.from, (size_t)n_parts * sizeof *parts);
  for (int32_t i = 0; i <= n_parts; i++) starts[i] = all_starts[span.from + i] - all_starts[span.from];
  struct ArrowArray *array = csf_array_tree_build(&writer->schema->root, tree);
  csf_columns_show(&writer->chunk, array);
  *chunk = (struct csf_chunk){.array = array, .n_rows = n_rows, .parts = parts, .starts = starts, .n_parts = n_parts};
  return true;
}

/* Appends the rows in their order; rows that all go to one partition are in order as they stand. */
static enum colshuf_status fill_chunk(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                      struct span_of_order span, struct csf_chunk *chunk, struct colshuf_error *err) {
  const uint32_t *starts = (const uint32_t *)(const void *)writer->order.starts.data;
  int64_t n = starts[span.to] - starts[span.from];
  struct csf_rows rows = {batch->offset + start, (const uint32_t *)(const void *)writer->order.rows.data + starts[span.from], n};
  if (writer->order.n_parts == 1) rows.rows = NULL;
  CSF_TRY(csf_columns_append(&writer->chunk, batch, rows, err));
  return describe_chunk(writer, span, n, chunk) ? COLSHUF_OK : csf_fail_memory(err, writer->tree_size);
}

/* The next chunk of the stock's group. */
static enum colshuf_status make_chunk(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                      struct span_of_order span, int32_t group, struct colshuf_error *err) {
  struct csf_chunk chunk;
  enum colshuf_status status = fill_chunk(writer, batch, start, span, &chunk, err);
  csf_columns_forget(&writer->chunk);
  CSF_TRY(status);
  return csf_buffer_append(&writer->filled->chunks[group], &chunk, sizeof chunk, err);
}

/* Of the partitions of the order from `from` on, those of the group. */
static struct span_of_order find_span(const struct colshuf_map_writer *writer, int32_t from, int32_t group) {
  const int32_t *parts = (const int32_t *)(const void *)writer->order.parts.data;
  int64_t end = (int64_t)writer->n_partitions * (group + 1) / writer->sizes.n_groups;
  struct span_of_order span = {from, from};
  while (span.to < writer->order.n_parts && parts[span.to] < end) span.to++;
  return span;
}

static enum colshuf_status make_chunks(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                       struct colshuf_error *err) {
  struct span_of_order span = {0, 0};
  for (int32_t group = 0; group < writer->sizes.n_groups; group++) {
    span = find_span(writer, span.to, group);
    if (span.from == span.to) continue;
    csf_areas_select(&writer->areas, writer->filled->first_list + group);
    CSF_TRY(make_chunk(writer, batch, start, span, group, err));
  }
  return COLSHUF_OK;
}

/* *full: the pool had no room, and nothing has changed. */
static enum colshuf_status try_chunks(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start, int64_t n,
                                      uint64_t bytes, bool *full, struct colshuf_error *err) {
  struct csf_stock *stock = writer->filled;
  struct csf_areas_mark marks[CSF_GROUPS];
  size_t sizes[CSF_GROUPS];
  for (int32_t i = 0; i < writer->sizes.n_groups; i++) {
    marks[i] = csf_areas_select(&writer->areas, stock->first_list + i);
    sizes[i] = stock->chunks[i].size;
  }
  writer->areas.refused = false;
  enum colshuf_status status = make_chunks(writer, batch, start, err);
  *full = status != COLSHUF_OK && writer->areas.refused;
  if (status == COLSHUF_OK) {
    stock->n_rows += n;
    stock->bytes += bytes;
    return COLSHUF_OK;
  }
  for (int32_t i = 0; i < writer->sizes.n_groups; i++) {
    csf_areas_rewind(&writer->areas, marks[i]);
    stock->chunks[i].size = sizes[i];
  }
  return *full ? COLSHUF_OK : status;
}

/* Makes chunks; writes out those that wait when there is no room; takes more than the limit when a piece alone is larger. */
static enum colshuf_status add_chunks(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start, int64_t n,
                                      uint64_t bytes, struct colshuf_error *err) {
  bool full;
  CSF_TRY(try_chunks(writer, batch, start, n, bytes, &full, err));
  if (full && writer->filled->n_rows > 0) {
    CSF_TRY(csf_map_flush(writer, err));
    CSF_TRY(try_chunks(writer, batch, start, n, bytes, &full, err));
  }
  if (!full) return COLSHUF_OK;
  CSF_TRY(csf_background_wait(writer, err));
  writer->areas.forced = true; /* one row may be larger than the limit */
  CSF_TRY(try_chunks(writer, batch, start, n, bytes, &full, err));
  if (full) {
    return csf_fail(err, COLSHUF_NO_MEMORY, "no memory for %lld row%s of %llu bytes, with nothing left to spill", (long long)n,
                    n == 1 ? "" : "s", (unsigned long long)bytes);
  }
  return csf_map_flush(writer, err);
}

static enum colshuf_status route_rows(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                      int64_t n, const int32_t *ids, uint64_t bytes, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns(), elsewhere_ns = writer->flush_ns + writer->areas.waited_ns;
  CSF_TRY(csf_order_rows(&writer->order, ids, (uint32_t)n, writer->n_partitions, err));
  CSF_TRY(add_chunks(writer, batch, start, n, bytes, err));
  writer->metrics.route_ns += csf_now_ns() - begin - (writer->flush_ns + writer->areas.waited_ns - elsewhere_ns);
  return COLSHUF_OK;
}

enum colshuf_status csf_map_route_ordered(struct colshuf_map_writer *writer, const struct ArrowArray *batch, const int32_t *ids,
                                          struct colshuf_error *err) {
  uint64_t bytes = csf_columns_measure(&writer->schema->root, batch, batch->offset, batch->length, false).bytes;
  csf_joined_map(&writer->dictionaries, &writer->chunk, false);
  enum colshuf_status status = route_rows(writer, batch, 0, batch->length, ids, bytes, err);
  /* Ids were in range when they were written to the spill file. */
  return status == COLSHUF_INVALID_ARGUMENT ? COLSHUF_CORRUPT : status;
}

enum colshuf_status csf_map_route_pending(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  int64_t n = writer->pending.root.length;
  if (n == 0) return COLSHUF_OK;
  csf_joined_map(&writer->dictionaries, &writer->chunk, false);
  csf_columns_show(&writer->pending, writer->pending_array);
  CSF_TRY(route_rows(writer, writer->pending_array, 0, n, (const int32_t *)(const void *)writer->pending_ids.data,
                     writer->pending_bytes, err));
  csf_columns_reset(&writer->pending);
  writer->pending_ids.size = 0;
  writer->pending_bytes = 0;
  return COLSHUF_OK;
}

static enum colshuf_status gather_rows(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                       int64_t n, const int32_t *ids, uint64_t bytes, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  struct csf_rows rows = {batch->offset + start, NULL, n};
  CSF_TRY(csf_columns_append(&writer->pending, batch, rows, err));
  CSF_TRY(csf_buffer_append(&writer->pending_ids, ids, (size_t)n * sizeof *ids, err));
  writer->pending_bytes += bytes;
  writer->metrics.route_ns += csf_now_ns() - begin;
  bool enough = writer->pending.root.length >= writer->sizes.gather_rows || writer->pending_bytes >= writer->sizes.piece_bytes / 2;
  return enough ? csf_map_route_pending(writer, err) : COLSHUF_OK;
}

/* One piece: gathered with others when it is small, or when others wait that came before it. */
static enum colshuf_status route_piece(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                       int64_t n, const int32_t *ids, const struct csf_measure *size,
                                       struct colshuf_error *err) {
  const struct csf_map_sizes *sizes = &writer->sizes;
  bool small = n < sizes->gather_rows && size->bytes < sizes->piece_bytes / 2;
  int64_t waiting = writer->pending.root.length;
  bool fits = waiting + n <= sizes->piece_rows && writer->pending_bytes + size->bytes <= sizes->piece_bytes &&
              size->values <= sizes->block_values / 2;
  if (!fits || (!small && waiting > sizes->gather_rows / 2)) CSF_TRY(csf_map_route_pending(writer, err));
  waiting = writer->pending.root.length;
  if (fits && (small || waiting > 0)) return gather_rows(writer, batch, start, n, ids, size->bytes, err);
  csf_joined_map(&writer->dictionaries, &writer->chunk, true);
  return route_rows(writer, batch, start, n, ids, size->bytes, err);
}

/* How many of the rows from start on make a piece. */
static int64_t cut_piece(const struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start, int64_t left,
                         struct csf_measure *size) {
  int64_t n = left < writer->sizes.piece_rows ? left : writer->sizes.piece_rows;
  for (;; n = (n + 1) / 2) {
    *size = csf_columns_measure(&writer->schema->root, batch, batch->offset + start, n, true);
    bool fits = size->bytes <= writer->sizes.piece_bytes && size->values <= writer->sizes.block_values;
    if (fits || n <= 1) return n;
  }
}

/* Rows [start, start + n) of batch whose ids stand in writer->ids. */
static enum colshuf_status route_pieces(struct colshuf_map_writer *writer, const struct ArrowArray *batch, int64_t start,
                                        int64_t n, struct colshuf_error *err) {
  const int32_t *ids = (const int32_t *)(const void *)writer->ids.data;
  for (int64_t at = 0; at < n;) {
    struct csf_measure size;
    int64_t piece = cut_piece(writer, batch, start + at, n - at, &size);
    CSF_TRY(route_piece(writer, batch, start + at, piece, ids + at, &size, err));
    at += piece;
  }
  return COLSHUF_OK;
}

/* Learns the dictionaries of batch; writes out all rows that wait when they cannot be joined. */
static enum colshuf_status join_dictionaries(struct colshuf_map_writer *writer, const struct ArrowArray *batch,
                                             struct colshuf_error *err) {
  bool full;
  CSF_TRY(csf_joined_add(&writer->dictionaries, &writer->schema->root, batch, &full, err));
  if (full) {
    CSF_TRY(csf_map_route_pending(writer, err));
    CSF_TRY(csf_map_flush(writer, err));
    csf_joined_reset(&writer->dictionaries);
    CSF_TRY(csf_joined_add(&writer->dictionaries, &writer->schema->root, batch, &full, err));
  }
  csf_joined_map(&writer->dictionaries, &writer->pending, true);
  return COLSHUF_OK;
}

enum colshuf_status csf_map_route(struct colshuf_map_writer *writer, const struct ArrowArray *batch, struct colshuf_error *err) {
  int64_t step = writer->sort_first ? batch->length : writer->sizes.ids_rows;
  CSF_TRY(join_dictionaries(writer, batch, err));
  for (int64_t start = 0; start < batch->length; start += step) {
    int64_t n = batch->length - start < step ? batch->length - start : step;
    CSF_TRY(find_ids(writer, batch, start, n, err));
    CSF_TRY(route_pieces(writer, batch, start, n, err));
  }
  return COLSHUF_OK;
}
