/* SPDX-License-Identifier: Apache-2.0 */
/* The way of chunks into blocks, and of blocks to where they go. */
#include <inttypes.h>

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

static enum colshuf_status emit_to_data(struct colshuf_map_writer *writer, const uint8_t *bytes, size_t size,
                                        struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  enum colshuf_status status = csf_temp_write(&writer->data, bytes, size, err);
  writer->metrics.write_ns += csf_now_ns() - begin;
  return status;
}

static enum colshuf_status emit_to_sink(struct colshuf_map_writer *writer, int32_t partition, const uint8_t *bytes, size_t size,
                                        struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  int code = writer->sink.emit(writer->sink.ctx, partition, bytes, size);
  writer->metrics.write_ns += csf_now_ns() - begin;
  if (code != 0) return csf_fail_errno(err, code, "partition %d: the sink refused a block of %zu bytes", (int)partition, size);
  writer->metrics.written_bytes += size;
  return COLSHUF_OK;
}

static enum colshuf_status emit(struct colshuf_map_writer *writer, int32_t partition, enum csf_map_target target,
                                const uint8_t *bytes, size_t size, struct colshuf_error *err) {
  switch (target) {
    case CSF_TARGET_SPILL: return csf_spills_append(&writer->spills, bytes, size, err);
    case CSF_TARGET_DATA: return emit_to_data(writer, bytes, size, err);
    default: return emit_to_sink(writer, partition, bytes, size, err);
  }
}

/* The block being planned: slices, or parts of them. */
struct plan {
  int64_t rows;
  uint64_t bytes;
  uint64_t values;
};

static enum colshuf_status assemble_block(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  const struct csf_slice *slices = (const struct csf_slice *)(const void *)writer->planned.data;
  csf_columns_reset(&writer->block);
  CSF_TRY(csf_columns_append_slices(&writer->block, &writer->sources, slices, writer->planned.size / sizeof *slices, err));
  csf_columns_show(&writer->block, writer->block_array);
  return COLSHUF_OK;
}

static enum colshuf_status encode_block(struct colshuf_map_writer *writer, int32_t partition, enum csf_map_target target,
                                        struct plan *plan, struct colshuf_error *err) {
  const uint8_t *bytes;
  size_t size;
  if (plan->rows == 0) return COLSHUF_OK;
  CSF_TRY(assemble_block(writer, err));
  CSF_TRY(colshuf_block_encoder_encode(writer->encoder, writer->block_array, 0, plan->rows, &bytes, &size, err));
  writer->metrics.blocks++;
  writer->metrics.raw_bytes += plan->bytes;
  writer->partition_sizes[partition] += size;
  writer->flushed_size += size;
  if (writer->checksums != NULL) {
    writer->checksums[partition] = csf_checksum_update(writer->checksum, writer->checksums[partition], bytes, size);
  }
  CSF_TRY(emit(writer, partition, target, bytes, size, err));
  writer->planned.size = 0;
  *plan = (struct plan){0};
  return COLSHUF_OK;
}

static bool fits(const struct colshuf_map_writer *writer, const struct plan *plan, const struct csf_slice *slice) {
  const struct csf_map_sizes *sizes = &writer->sizes;
  return plan->bytes + slice->bytes <= sizes->block_bytes + sizes->block_bytes / 2 &&
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

static enum colshuf_status flush_slice(struct colshuf_map_writer *writer, int32_t partition, enum csf_map_target target,
                                       struct csf_slice *slice, int64_t block_rows, struct plan *plan,
                                       struct colshuf_error *err) {
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
    if (part.n == 0 || plan->rows >= block_rows) CSF_TRY(encode_block(writer, partition, target, plan, err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status flush_partition(struct colshuf_map_writer *writer, int32_t partition, enum csf_map_target target,
                                           struct colshuf_error *err) {
  int64_t n_rows;
  struct plan plan = {0};
  CSF_TRY(collect_slices(writer, partition, &n_rows, err));
  int64_t block_rows = rows_per_block(writer, n_rows);
  struct csf_slice *slices = (struct csf_slice *)(void *)writer->slices.data;
  size_t n = writer->slices.size / sizeof *slices;
  writer->flushed_size = 0;
  for (size_t i = 0; i < n; i++) CSF_TRY(flush_slice(writer, partition, target, &slices[i], block_rows, &plan, err));
  return encode_block(writer, partition, target, &plan, err);
}

/* Forgets the chunks that were written. After rows far larger than the limit, what grew with them is made anew. */
static enum colshuf_status drop_chunks(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  writer->chunks.size = 0;
  writer->buffered_rows = 0;
  writer->buffered_bytes = 0;
  bool oversized = writer->pool.forced;
  csf_pool_reset(&writer->pool);
  if (!oversized) return COLSHUF_OK;
  csf_pool_trim(&writer->pool);
  csf_columns_free_memory(&writer->block);
  CSF_TRY(csf_map_make_encoder(writer, err));
  csf_budget_release_unused(&writer->budget);
  return COLSHUF_OK;
}

/* Time of everything but the writes, which are timed where they are made. */
static void note_times(struct colshuf_map_writer *writer, uint64_t begin, uint64_t write_ns) {
  writer->metrics.encode_ns += csf_now_ns() - begin - (writer->metrics.write_ns - write_ns);
}

/* Sets up what walking through the chunks needs. */
static enum colshuf_status begin_flush(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  size_t n;
  const struct csf_chunk *chunks = chunks_of(writer, &n);
  writer->planned.size = 0;
  csf_joined_show(&writer->dictionaries, &writer->block);
  CSF_TRY(csf_buffer_reserve(&writer->slices, (n + 1) * sizeof(struct csf_slice), err));
  const struct ArrowArray **arrays = (const struct ArrowArray **)(void *)writer->slices.data;
  for (size_t i = 0; i < n; i++) arrays[i] = chunks[i].array;
  return csf_sources_set(&writer->sources, arrays, (int32_t)n, err);
}

static enum colshuf_status flush_all(struct colshuf_map_writer *writer, enum csf_map_target target, struct colshuf_error *err) {
  int32_t partition;
  CSF_TRY(begin_flush(writer, err));
  while ((partition = next_partition(writer)) != INT32_MAX) {
    CSF_TRY(flush_partition(writer, partition, target, err));
    if (target == CSF_TARGET_SPILL) {
      CSF_TRY(csf_spills_end_partition(&writer->spills, partition, writer->flushed_size, err));
    }
  }
  return COLSHUF_OK;
}

static enum colshuf_status spill_all(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  CSF_TRY(csf_spills_begin(&writer->spills, err));
  CSF_TRY(flush_all(writer, CSF_TARGET_SPILL, err));
  CSF_TRY(csf_spills_end(&writer->spills, err));
  const struct csf_run *run = &writer->spills.runs[writer->spills.n_runs - 1];
  writer->metrics.spills++;
  writer->metrics.spilled_bytes += run->sizes_offset - run->data_offset;
  return COLSHUF_OK;
}

enum colshuf_status csf_map_flush(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  if (writer->chunks.size == 0) return COLSHUF_OK;
  uint64_t begin = csf_now_ns(), write_ns = writer->metrics.write_ns, spill_ns = writer->spills.write_ns;
  if (writer->sink.emit != NULL) CSF_TRY(flush_all(writer, CSF_TARGET_SINK, err));
  else CSF_TRY(spill_all(writer, err));
  writer->metrics.write_ns += writer->spills.write_ns - spill_ns;
  note_times(writer, begin, write_ns);
  return drop_chunks(writer, err);
}

/* The bytes that the index will announce for a partition, and those that went to the file: a spill file may have been touched. */
static enum colshuf_status check_copied(const struct colshuf_map_writer *writer, int32_t partition, uint64_t copied,
                                        struct colshuf_error *err) {
  if (copied == writer->partition_sizes[partition]) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "partition %d: %" PRIu64 " bytes written of %" PRIu64 ": a spill file was changed",
                  (int)partition, copied, writer->partition_sizes[partition]);
}

static enum colshuf_status merge_partition(struct colshuf_map_writer *writer, int32_t partition, struct colshuf_error *err) {
  uint64_t size = 0;
  CSF_TRY(csf_spills_copy(&writer->spills, partition, &writer->data, &size, err));
  CSF_TRY(flush_partition(writer, partition, CSF_TARGET_DATA, err));
  return check_copied(writer, partition, size + writer->flushed_size, err);
}

enum colshuf_status csf_map_flush_to_data(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns(), write_ns = writer->metrics.write_ns, copy_ns = writer->spills.write_ns;
  uint64_t ahead = writer->sizes.piece_bytes; /* that of the gathered rows, of which there are none now */
  CSF_TRY(begin_flush(writer, err));
  CSF_TRY(csf_spills_rewind(&writer->spills, ahead, err));
  for (;;) {
    int32_t chunk_next = next_partition(writer), run_next = csf_spills_next(&writer->spills);
    int32_t partition = chunk_next < run_next ? chunk_next : run_next;
    if (partition == INT32_MAX) break;
    CSF_TRY(merge_partition(writer, partition, err));
  }
  CSF_TRY(csf_temp_flush(&writer->data, err));
  writer->metrics.write_ns += writer->spills.write_ns - copy_ns;
  note_times(writer, begin, write_ns);
  return drop_chunks(writer, err);
}
