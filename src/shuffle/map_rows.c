/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spilling with very many partitions. When memory holds only a few rows of each partition, a block for each would be mostly
 * overhead, in time and in bytes. Then rows are spilled as they are, by groups of neighbouring partitions, with their
 * partition ids; at the end one group after another is read back, whole, ordered again, and cut into blocks of full size. A group
 * that does not fit is spilled once more, as blocks.
 *
 * A piece of a group on disk is a sequence of segments: u32 rows, u32 bytes of the block, i32 id of each row, padding, a
 * block without compression; the padding puts the buffers in the block on addresses that need no copy.
 */
#include "arrow/array.h"
#include "shuffle/clock.h"
#include "shuffle/map_writer.h"

enum { SEGMENT_HEAD = 8 };

static uint64_t segment_padding(uint64_t n_rows) {
  uint64_t before = SEGMENT_HEAD + n_rows * sizeof(int32_t) + COLSHUF_BLOCK_HEADER_SIZE;
  return csf_round_up(before, CSF_ALIGNMENT) - before;
}

static struct csf_chunk *chunks_of(struct colshuf_map_writer *writer, size_t *n) {
  *n = writer->all_chunks.size / sizeof(struct csf_chunk);
  return (struct csf_chunk *)(void *)writer->all_chunks.data;
}

/* The chunks of all groups that wait, one group after another. */
static enum colshuf_status list_chunks(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  writer->all_chunks.size = 0;
  for (int32_t group = 0; group < writer->sizes.n_groups; group++) {
    const struct csf_buffer *chunks = &writer->filled->chunks[group];
    CSF_TRY(csf_buffer_append(&writer->all_chunks, chunks->data, chunks->size, err));
  }
  writer->walk = &writer->all_chunks;
  return COLSHUF_OK;
}

static void drop_chunks(struct colshuf_map_writer *writer) {
  struct csf_stock *stock = writer->filled;
  for (int32_t group = 0; group < writer->sizes.n_groups; group++) {
    stock->chunks[group].size = 0;
    csf_areas_release(&writer->areas, stock->first_list + group);
  }
  stock->n_rows = 0;
  stock->bytes = 0;
}

static void mark_partitions(const struct csf_buffer *list, uint8_t *seen) {
  const struct csf_chunk *chunks = (const struct csf_chunk *)(const void *)list->data;
  for (size_t i = 0; i < list->size / sizeof *chunks; i++) {
    for (int32_t at = 0; at < chunks[i].n_parts; at++) csf_bit_set(seen, chunks[i].parts[at]);
  }
}

/* How many partitions have rows in memory; as many as there are when that cannot be found out. */
static uint64_t count_partitions(struct colshuf_map_writer *writer) {
  size_t size = (size_t)csf_bit_bytes(writer->n_partitions);
  uint8_t *seen = csf_alloc_zero(&writer->budget.allocator, size);
  if (seen == NULL) return (uint64_t)writer->n_partitions;
  for (int32_t group = 0; group < writer->sizes.n_groups; group++) mark_partitions(&writer->filled->chunks[group], seen);
  int64_t count = csf_bits_count(seen, 0, writer->n_partitions);
  csf_free(&writer->budget.allocator, seen, size);
  return (uint64_t)count;
}

bool csf_map_spills_rows(struct colshuf_map_writer *writer) {
  if (writer->merging || writer->sink.emit != NULL || writer->schema->has_dictionary) return false;
  if (writer->rows.n_runs > 0) return true; /* blocks made now would have to come after rows that are on disk */
  if (writer->filled->bytes / (uint64_t)writer->n_partitions >= writer->sizes.small_block) return false;
  return writer->filled->bytes / count_partitions(writer) < writer->sizes.small_block;
}

/* Once, at the first run: all have the same groups. */
static void choose_width(struct colshuf_map_writer *writer) {
  if (writer->group_width > 0) return;
  uint64_t groups = writer->filled->bytes / writer->sizes.group_bytes + 1;
  if (groups > (uint64_t)writer->n_partitions) groups = (uint64_t)writer->n_partitions;
  writer->group_width = (int32_t)(((uint64_t)writer->n_partitions + groups - 1) / groups);
}

static enum colshuf_status prepare(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  choose_width(writer);
  struct colshuf_block_encoder_options options = {.allocator = writer->budget.allocator,
                                                  .codec = COLSHUF_NONE,
                                                  .compat = COLSHUF_COMPAT_ARROW,
                                                  .offsets = COLSHUF_OFFSETS_PLAIN,
                                                  .dictionary = COLSHUF_DICTIONARY_OFF};
  /* Trusted: what the writer took without looking (text that is no UTF-8) it must take again. */
  struct colshuf_block_decoder_options decoding = {
      .allocator = writer->budget.allocator, .trust = COLSHUF_TRUSTED_LOCAL, .pool_size = UINT64_MAX};
  if (writer->rows_decoder == NULL) CSF_TRY(colshuf_block_decoder_new(&decoding, &writer->rows_decoder, err));
  if (writer->rows_encoder != NULL) return COLSHUF_OK;
  return colshuf_block_encoder_new(&writer->exported, &options, &writer->rows_encoder, err);
}

/* The ids of the rows of a slice, from what its chunk knows of where partitions begin. */
static int32_t *put_ids(const struct csf_chunk *chunk, const struct csf_slice *slice, int32_t *to) {
  int32_t low = 0, high = chunk->n_parts - 1;
  while (low < high) {
    int32_t middle = low + (high - low + 1) / 2;
    if (chunk->starts[middle] <= slice->start) low = middle;
    else high = middle - 1;
  }
  for (int64_t row = slice->start, end = slice->start + slice->n; row < end; low++) {
    int64_t last = chunk->starts[low + 1] < end ? chunk->starts[low + 1] : end;
    for (; row < last; row++) *to++ = chunk->parts[low];
  }
  return to;
}

static enum colshuf_status put_head(struct colshuf_map_writer *writer, int64_t n_rows, size_t block_size,
                                    struct colshuf_error *err) {
  size_t n_chunks, size = SEGMENT_HEAD + (size_t)n_rows * sizeof(int32_t) + segment_padding((uint64_t)n_rows);
  const struct csf_chunk *chunks = chunks_of(writer, &n_chunks);
  struct csf_buffer *head = &writer->segment;
  head->size = 0;
  CSF_TRY(csf_buffer_append_zero(head, size, err));
  csf_store_u32(head->data, (uint32_t)n_rows);
  csf_store_u32(head->data + 4, (uint32_t)block_size);
  int32_t *ids = (int32_t *)(void *)(head->data + SEGMENT_HEAD);
  const struct csf_slice *slices = (const struct csf_slice *)(const void *)writer->planned.data;
  for (size_t i = 0; i < writer->planned.size / sizeof *slices; i++) {
    ids = put_ids(&chunks[slices[i].chunk_index], &slices[i], ids);
  }
  writer->group_size += size + block_size;
  return csf_spills_append(&writer->rows, head->data, head->size, err);
}

enum colshuf_status csf_map_put_rows(struct colshuf_map_writer *writer, int64_t n_rows, struct colshuf_error *err) {
  struct csf_lane *lane = &writer->crew.lanes[0];
  const struct csf_slice *slices = (const struct csf_slice *)(const void *)writer->planned.data;
  const uint8_t *bytes;
  size_t size;
  csf_columns_reset(&lane->block);
  CSF_TRY(csf_columns_append_slices(&lane->block, &writer->sources, slices, writer->planned.size / sizeof *slices, err));
  csf_columns_show(&lane->block, lane->array);
  CSF_TRY(colshuf_block_encoder_encode(writer->rows_encoder, lane->array, 0, n_rows, &bytes, &size, err));
  uint64_t begin = csf_now_ns();
  CSF_TRY(put_head(writer, n_rows, size, err));
  CSF_TRY(csf_spills_append(&writer->rows, bytes, size, err));
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  writer->planned.size = 0;
  return COLSHUF_OK;
}

/* The rows of a group: in each chunk they follow one another. */
static enum colshuf_status collect_group(struct colshuf_map_writer *writer, int64_t end_partition, struct colshuf_error *err) {
  size_t n;
  struct csf_chunk *chunks = chunks_of(writer, &n);
  writer->slices.size = 0;
  for (size_t i = 0; i < n; i++) {
    struct csf_chunk *chunk = &chunks[i];
    struct csf_slice slice = {.chunk = chunk->array, .chunk_index = (int32_t)i, .start = chunk->starts[chunk->at]};
    while (chunk->at < chunk->n_parts && chunk->parts[chunk->at] < end_partition) chunk->at++;
    slice.n = chunk->starts[chunk->at] - slice.start;
    if (slice.n > 0) CSF_TRY(csf_buffer_append(&writer->slices, &slice, sizeof slice, err));
  }
  csf_slices_measure(&writer->sources, (struct csf_slice *)(void *)writer->slices.data, writer->slices.size / sizeof(struct csf_slice));
  return COLSHUF_OK;
}

enum colshuf_status csf_map_spill_rows(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns(), write_ns = writer->written_metrics.write_ns;
  CSF_TRY(prepare(writer, err));
  CSF_TRY(list_chunks(writer, err));
  CSF_TRY(csf_map_set_sources(writer, err));
  CSF_TRY(csf_spills_begin(&writer->rows, err));
  writer->cut_bytes = writer->sizes.group_bytes;
  for (int32_t group = 0; (int64_t)group * writer->group_width < writer->n_partitions; group++) {
    CSF_TRY(collect_group(writer, ((int64_t)group + 1) * writer->group_width, err));
    if (writer->slices.size == 0) continue;
    writer->group_size = 0;
    CSF_TRY(csf_map_cut_slices(writer, -1, INT64_MAX, err));
    CSF_TRY(csf_spills_end_partition(&writer->rows, group, writer->group_size, err));
  }
  CSF_TRY(csf_spills_end(&writer->rows, err));
  const struct csf_run *run = &writer->rows.runs[writer->rows.n_runs - 1];
  writer->written_metrics.spills++;
  writer->written_metrics.spilled_bytes += run->sizes_offset - run->data_offset;
  writer->written_metrics.encode_ns += csf_now_ns() - begin - (writer->written_metrics.write_ns - write_ns);
  drop_chunks(writer);
  return COLSHUF_OK;
}

/* Reads one segment of what a run has of the group and routes its rows once more. */
static enum colshuf_status route_segment(struct colshuf_map_writer *writer, int32_t run, struct colshuf_error *err) {
  struct csf_buffer *segment = &writer->segment;
  uint64_t begin = csf_now_ns();
  CSF_TRY(csf_spills_peek(&writer->rows, run, SEGMENT_HEAD, segment, err));
  uint64_t n_rows = csf_load_u32(segment->data), block_size = csf_load_u32(segment->data + 4);
  uint64_t before = SEGMENT_HEAD + n_rows * sizeof(int32_t) + segment_padding(n_rows);
  CSF_TRY(csf_spills_peek(&writer->rows, run, before + block_size, segment, err));
  csf_spills_skip(&writer->rows, run, before + block_size);
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  struct ArrowArray batch;
  size_t consumed;
  CSF_TRY(colshuf_block_decoder_view(writer->rows_decoder, segment->data + before, (size_t)block_size, &consumed, &batch, err));
  enum colshuf_status status = COLSHUF_OK;
  if ((uint64_t)batch.length != n_rows || consumed != block_size) {
    status = csf_fail(err, COLSHUF_CORRUPT, "a spill file was changed: a segment of %llu rows holds %lld", (unsigned long long)n_rows,
                      (long long)batch.length);
  }
  if (status == COLSHUF_OK) status = csf_map_route_ordered(writer, &batch, (const int32_t *)(const void *)(segment->data + SEGMENT_HEAD), err);
  batch.release(&batch);
  return status;
}

/* All rows of the group from all runs as chunks, oldest first. */
static enum colshuf_status load_group(struct colshuf_map_writer *writer, int32_t group, struct colshuf_error *err) {
  for (int32_t run = 0; run < writer->rows.n_runs; run++) {
    if (writer->rows.runs[run].partition != group) continue;
    while (writer->rows.runs[run].size > 0) CSF_TRY(route_segment(writer, run, err));
    CSF_TRY(csf_spills_advance(&writer->rows, run, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_map_merge_rows(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  CSF_TRY(csf_map_flush(writer, err));
  writer->merging = true;
  /* Groups are read a segment at a time: no reading ahead, but for the sizes. */
  CSF_TRY(csf_spills_rewind(&writer->rows, 0, err));
  CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_DATA, err));
  for (int32_t group; (group = csf_spills_next(&writer->rows)) != INT32_MAX;) {
    CSF_TRY(load_group(writer, group, err));
    CSF_TRY(csf_map_flush_stock(writer, writer->filled, err));
    CSF_TRY(csf_map_close_partition(writer, err));
  }
  return csf_map_end_target(writer, err);
}

enum colshuf_status csf_map_flush_overflow(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_map_emission emission = writer->emission;
  CSF_TRY(csf_map_begin_target(writer, CSF_TARGET_SPILL, err));
  CSF_TRY(csf_map_flush_stock(writer, writer->filled, err));
  CSF_TRY(csf_map_end_target(writer, err));
  writer->emission = emission;
  return csf_spills_rewind_last(&writer->spills, err);
}
