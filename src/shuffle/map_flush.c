/* SPDX-License-Identifier: Apache-2.0 */
/* The way of chunks into blocks, and of blocks to where they go. */
#include "arrow/array.h"
#include "shuffle/clock.h"
#include "shuffle/map_writer.h"

static struct csf_chunk *chunks_of(struct colshuf_map_writer *writer, size_t *n) {
  *n = writer->walk->size / sizeof(struct csf_chunk);
  return (struct csf_chunk *)(void *)writer->walk->data;
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
  const struct csf_stock *stock = writer->written;
  uint64_t average = stock->n_rows == 0 ? 0 : stock->bytes / (uint64_t)stock->n_rows;
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

/* After rows far larger than the limit, what grew with them is made anew. The background is idle. */
static enum colshuf_status shrink_after_large_rows(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (!writer->areas.forced) return COLSHUF_OK;
  writer->areas.forced = false;
  csf_areas_trim(&writer->areas);
  colshuf_block_encoder_free(writer->rows_encoder);
  writer->rows_encoder = NULL;
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

static enum colshuf_status flush_group(struct colshuf_map_writer *writer, struct csf_stock *stock, int32_t group,
                                       struct colshuf_error *err) {
  int32_t partition;
  writer->walk = &stock->chunks[group];
  if (writer->walk->size == 0) return COLSHUF_OK;
  CSF_TRY(csf_map_set_sources(writer, err));
  while ((partition = next_partition(writer)) != INT32_MAX) CSF_TRY(flush_partition(writer, partition, err));
  CSF_TRY(csf_crew_drain(writer, err));
  writer->walk->size = 0;
  csf_areas_release(&writer->areas, stock->first_list + group);
  return COLSHUF_OK;
}

enum colshuf_status csf_map_flush_stock(struct colshuf_map_writer *writer, struct csf_stock *stock, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns(), write_ns = writer->written_metrics.write_ns;
  writer->written = stock;
  writer->cut_bytes = writer->sizes.block_bytes;
  for (int32_t group = 0; group < writer->sizes.n_groups; group++) CSF_TRY(flush_group(writer, stock, group, err));
  writer->written_metrics.encode_ns += csf_now_ns() - begin - (writer->written_metrics.write_ns - write_ns);
  stock->n_rows = 0;
  stock->bytes = 0;
  return COLSHUF_OK;
}

enum colshuf_status csf_map_spill_stock(struct colshuf_map_writer *writer, struct csf_stock *stock, struct colshuf_error *err) {
  CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_SPILL, err));
  CSF_TRY(csf_map_flush_stock(writer, stock, err));
  return csf_map_end_target(writer, err);
}

void csf_map_settle_metrics(struct colshuf_map_writer *writer) {
  const struct colshuf_map_metrics *written = &writer->written_metrics;
  struct colshuf_map_metrics *metrics = &writer->metrics;
  metrics->blocks = written->blocks;
  metrics->raw_bytes = written->raw_bytes;
  metrics->written_bytes = written->written_bytes;
  metrics->spills = written->spills;
  metrics->spilled_bytes = written->spilled_bytes;
  metrics->encode_ns = written->encode_ns;
  metrics->write_ns = written->write_ns;
}

/*
 * A sink is called on the caller's thread alone. Dictionaries grow while rows are routed, and blocks refer to them. Rows beyond the limit
 * are to be gone at once.
 */
static bool may_go_behind(const struct colshuf_map_writer *writer) {
  return writer->background.runs && writer->sink.emit == NULL && !writer->schema->has_dictionary && !writer->areas.forced;
}

static void turn_stocks(struct colshuf_map_writer *writer) {
  writer->filled = writer->filled == &writer->stocks[0] ? &writer->stocks[1] : &writer->stocks[0];
  writer->areas.first_list = writer->filled->first_list;
}

static enum colshuf_status flush(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_stock *stock = writer->filled;
  if (stock->n_rows == 0) return COLSHUF_OK;
  CSF_TRY(csf_background_wait(writer, err));
  if (writer->merging) {
    CSF_TRY(csf_map_flush_overflow(writer, err));
    return shrink_after_large_rows(writer, err);
  }
  if (csf_map_spills_rows(writer)) {
    CSF_TRY(csf_map_spill_rows(writer, err));
    return shrink_after_large_rows(writer, err);
  }
  if (may_go_behind(writer)) {
    turn_stocks(writer);
    csf_background_write(writer, stock);
    return COLSHUF_OK;
  }
  if (writer->sink.emit == NULL) {
    CSF_TRY(csf_map_spill_stock(writer, stock, err));
  } else {
    CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_SINK, err));
    CSF_TRY(csf_map_flush_stock(writer, stock, err));
    CSF_TRY(csf_map_end_target(writer, err));
  }
  return shrink_after_large_rows(writer, err);
}

enum colshuf_status csf_map_flush(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  enum colshuf_status status = flush(writer, err);
  if (!writer->background.busy) csf_map_settle_metrics(writer);
  writer->flush_ns += csf_now_ns() - begin;
  return status;
}

enum colshuf_status csf_map_flush_to_data(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (writer->rows.n_runs > 0) return csf_map_merge_rows(writer, err);
  CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_DATA, err));
  CSF_TRY(csf_map_flush_stock(writer, writer->filled, err));
  return csf_map_end_target(writer, err);
}
