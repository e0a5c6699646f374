/* SPDX-License-Identifier: Apache-2.0 */
/* The way of chunks into blocks, and of blocks to where they go. */
#include "arrow/array.h"
#include "shuffle/clock.h"
#include "shuffle/map_writer.h"

static struct csf_chunk *chunks_of(struct colshuf_map_writer *writer, size_t *n) {
  *n = writer->chunks.size / sizeof(struct csf_chunk);
  return (struct csf_chunk *)(void *)writer->chunks.data;
}

static int32_t next_partition(struct colshuf_map_writer *writer) {
  size_t n;
  struct csf_chunk *chunks = chunks_of(writer, &n);
  int32_t next = INT32_MAX;
  for (size_t i = 0; i < n; i++) {
    if (chunks[i].at < chunks[i].n_parts && chunks[i].parts[chunks[i].at] < next) next = chunks[i].parts[chunks[i].at];
  }
  return next;
}

/* The slices of partition in writer->slices, measured, and how many rows they have together. */
static enum colshuf_status collect_slices(struct colshuf_map_writer *writer, int32_t partition, int64_t *n_rows,
                                          struct colshuf_error *err) {
  size_t n;
  struct csf_chunk *chunks = chunks_of(writer, &n);
  writer->slices.size = 0;
  *n_rows = 0;
  for (size_t i = 0; i < n; i++) {
    struct csf_chunk *chunk = &chunks[i];
    if (chunk->at >= chunk->n_parts || chunk->parts[chunk->at] != partition) continue;
    struct csf_slice slice = {.chunk = chunk->array, .chunk_index = (int32_t)i, .start = chunk->starts[chunk->at]};
    slice.n = chunk->starts[chunk->at + 1] - slice.start;
    chunk->at++;
    *n_rows += slice.n;
    CSF_TRY(csf_buffer_append(&writer->slices, &slice, sizeof slice, err));
  }
  csf_slices_measure(&writer->sources, (struct csf_slice *)(void *)writer->slices.data, writer->slices.size / sizeof(struct csf_slice));
  return COLSHUF_OK;
}

/* Rows of each block when n_rows are to be cut into blocks of about the same size, none far from what was asked for. */
static int64_t rows_per_block(const struct colshuf_map_writer *writer, int64_t n_rows) {
  uint64_t average = writer->buffered_rows == 0 ? 0 : writer->buffered_bytes / (uint64_t)writer->buffered_rows;
  uint64_t bytes, block = writer->sizes.block_bytes;
  if (csf_multiply_overflow((uint64_t)n_rows, average, &bytes)) bytes = INT64_MAX;
  int64_t n_blocks = (int64_t)((bytes + block / 2) / block);
  if (n_blocks < 1) n_blocks = 1;
  int64_t rows = n_rows / n_blocks + (n_rows % n_blocks != 0);
  if (rows <= writer->sizes.block_rows) return rows;
  n_blocks = n_rows / writer->sizes.block_rows + (n_rows % writer->sizes.block_rows != 0);
  return n_rows / n_blocks + (n_rows % n_blocks != 0);
}

/* The block being planned: slices in writer->planned, or parts of them. */
struct plan {
  int64_t rows;
  uint64_t bytes;
  uint64_t values;
};

static enum colshuf_status submit(struct colshuf_map_writer *writer, int32_t partition, struct plan *plan,
                                  struct colshuf_error *err) {
  if (plan->rows == 0) return COLSHUF_OK;
  struct plan planned = *plan;
  *plan = (struct plan){0};
  if (partition < 0) return csf_map_put_rows(writer, planned.rows, err);
  return csf_crew_submit(writer, &writer->planned, partition, planned.rows, planned.bytes, err);
}

static bool fits(const struct colshuf_map_writer *writer, const struct plan *plan, const struct csf_slice *slice) {
  const struct csf_map_sizes *sizes = &writer->sizes;
  return plan->bytes + slice->bytes <= writer->cut_bytes + writer->cut_bytes / 2 &&
         plan->values + slice->values <= sizes->block_values;
}

/* As much of the slice as goes into the block: n rows at most; none, where it is not empty and they do not fit. */
static struct csf_slice fit_part(const struct colshuf_map_writer *writer, const struct plan *plan, const struct csf_slice *slice,
                                 int64_t n) {
  struct csf_slice part = *slice;
  for (; n > 0; n = n == 1 ? 0 : (n + 1) / 2) {
    part.n = n;
    if (n != slice->n) csf_slices_measure(&writer->sources, &part, 1);
    if (fits(writer, plan, &part) || (n == 1 && plan->rows == 0)) return part;
    if (plan->rows > 0) break;
  }
  part.n = 0;
  return part;
}

static enum colshuf_status flush_slice(struct colshuf_map_writer *writer, int32_t partition, struct csf_slice *slice,
                                       int64_t block_rows, struct plan *plan, struct colshuf_error *err) {
  while (slice->n > 0) {
    int64_t wanted = block_rows - plan->rows;
    struct csf_slice part = fit_part(writer, plan, slice, wanted < slice->n ? wanted : slice->n);
    if (part.n > 0) {
      CSF_TRY(csf_buffer_append(&writer->planned, &part, sizeof part, err));
      plan->rows += part.n;
      plan->bytes += part.bytes;
      plan->values += part.values;
      slice->start += part.n;
      slice->n -= part.n;
      if (slice->n > 0) csf_slices_measure(&writer->sources, slice, 1);
    }
    if (part.n == 0 || plan->rows >= block_rows) CSF_TRY(submit(writer, partition, plan, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_map_cut_slices(struct colshuf_map_writer *writer, int32_t partition, int64_t block_rows,
                                       struct colshuf_error *err) {
  struct plan plan = {0};
  struct csf_slice *slices = (struct csf_slice *)(void *)writer->slices.data;
  size_t n = writer->slices.size / sizeof *slices;
  for (size_t i = 0; i < n; i++) CSF_TRY(flush_slice(writer, partition, &slices[i], block_rows, &plan, err));
  return submit(writer, partition, &plan, err);
}

static enum colshuf_status flush_partition(struct colshuf_map_writer *writer, int32_t partition, struct colshuf_error *err) {
  int64_t n_rows;
  CSF_TRY(collect_slices(writer, partition, &n_rows, err));
  return csf_map_cut_slices(writer, partition, rows_per_block(writer, n_rows), err);
}

/* Forgets the chunks that were written. After rows far larger than the limit, what grew with them is made anew. */
static enum colshuf_status drop_chunks(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  writer->chunks.size = 0;
  writer->buffered_rows = 0;
  writer->buffered_bytes = 0;
  bool oversized = writer->areas.forced;
  csf_areas_reset(&writer->areas);
  if (!oversized) return COLSHUF_OK;
  csf_areas_trim(&writer->areas);
  CSF_TRY(csf_crew_shrink(writer, err));
  csf_budget_release_unused(&writer->budget);
  return COLSHUF_OK;
}

enum colshuf_status csf_map_set_sources(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  size_t n;
  const struct csf_chunk *chunks = chunks_of(writer, &n);
  writer->planned.size = 0;
  for (int32_t i = 0; i < writer->crew.n_lanes; i++) csf_joined_show(&writer->dictionaries, &writer->crew.lanes[i].block);
  CSF_TRY(csf_buffer_reserve(&writer->slices, (n + 1) * sizeof(struct csf_slice), err));
  const struct ArrowArray **arrays = (const struct ArrowArray **)(void *)writer->slices.data;
  for (size_t i = 0; i < n; i++) arrays[i] = chunks[i].array;
  return csf_sources_set(&writer->sources, arrays, (int32_t)n, err);
}

enum colshuf_status csf_map_flush_chunks(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  int32_t partition;
  uint64_t begin = csf_now_ns(), write_ns = writer->metrics.write_ns;
  CSF_TRY(csf_map_set_sources(writer, err));
  writer->cut_bytes = writer->sizes.block_bytes;
  while ((partition = next_partition(writer)) != INT32_MAX) CSF_TRY(flush_partition(writer, partition, err));
  CSF_TRY(csf_crew_drain(writer, err));
  writer->metrics.encode_ns += csf_now_ns() - begin - (writer->metrics.write_ns - write_ns);
  return drop_chunks(writer, err);
}

enum colshuf_status csf_map_flush(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (writer->chunks.size == 0) return COLSHUF_OK;
  if (writer->merging) return csf_map_flush_overflow(writer, err);
  if (csf_map_spills_rows(writer)) {
    CSF_TRY(csf_map_spill_rows(writer, err));
    return drop_chunks(writer, err);
  }
  CSF_TRY(csf_map_begin_target(writer, writer->sink.emit != NULL ? CSF_TARGET_SINK : CSF_TARGET_SPILL, err));
  CSF_TRY(csf_map_flush_chunks(writer, err));
  return csf_map_end_target(writer, err);
}

enum colshuf_status csf_map_flush_to_data(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (writer->rows.n_runs > 0) return csf_map_merge_rows(writer, err);
  CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_DATA, err));
  CSF_TRY(csf_map_flush_chunks(writer, err));
  return csf_map_end_target(writer, err);
}
