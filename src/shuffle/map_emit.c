/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of encoded blocks to where they go. Blocks come in the order of partitions; whatever must stand before the first block of
 * a partition (what runs on disk hold of it), or be noted behind the last, is seen to when the partition changes.
 */
#include <inttypes.h>

#include "shuffle/clock.h"
#include "shuffle/map_writer.h"

/* Copies what the runs hold of a partition. */
static enum colshuf_status copy_runs(struct colshuf_map_writer *writer, int32_t partition, uint64_t *copied,
                                     struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  CSF_TRY(csf_spills_copy(&writer->spills, partition, &writer->data, copied, err));
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  return COLSHUF_OK;
}

/* The bytes that the index will announce for a partition, and those that went to the file: a spill file may have been touched. */
static enum colshuf_status check_copied(const struct colshuf_map_writer *writer, int32_t partition, uint64_t copied,
                                        struct colshuf_error *err) {
  if (copied == writer->partition_sizes[partition]) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_CORRUPT, "partition %d: %" PRIu64 " bytes written of %" PRIu64 ": a spill file was changed",
                  (int)partition, copied, writer->partition_sizes[partition]);
}

/* Partitions below this one that only runs have. */
static enum colshuf_status copy_runs_before(struct colshuf_map_writer *writer, int32_t partition, struct colshuf_error *err) {
  for (int32_t next; (next = csf_spills_next(&writer->spills)) < partition;) {
    uint64_t copied = 0;
    CSF_TRY(copy_runs(writer, next, &copied, err));
    CSF_TRY(check_copied(writer, next, copied, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_map_close_partition(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_map_emission *emission = &writer->emission;
  int32_t partition = emission->partition;
  emission->partition = -1;
  if (partition < 0) return COLSHUF_OK;
  if (emission->target == CSF_TARGET_DATA) return check_copied(writer, partition, emission->size, err);
  if (emission->target == CSF_TARGET_SPILL) return csf_spills_end_partition(&writer->spills, partition, emission->size, err);
  return COLSHUF_OK;
}

static enum colshuf_status open_partition(struct colshuf_map_writer *writer, int32_t partition, struct colshuf_error *err) {
  struct csf_map_emission *emission = &writer->emission;
  if (emission->partition == partition) return COLSHUF_OK;
  CSF_TRY(csf_map_close_partition(writer, err));
  emission->partition = partition;
  emission->size = 0;
  if (emission->target != CSF_TARGET_DATA) return COLSHUF_OK;
  CSF_TRY(copy_runs_before(writer, partition, err));
  return copy_runs(writer, partition, &emission->size, err);
}

static enum colshuf_status put(struct colshuf_map_writer *writer, int32_t partition, const uint8_t *bytes, size_t size,
                               struct colshuf_error *err) {
  switch (writer->emission.target) {
    case CSF_TARGET_SPILL: return csf_spills_append(&writer->spills, bytes, size, err);
    case CSF_TARGET_DATA: return csf_temp_write(&writer->data, bytes, size, err);
    default: break;
  }
  int code = writer->sink.emit(writer->sink.ctx, partition, bytes, size);
  if (code != 0) return csf_fail_errno(err, code, "partition %d: the sink refused a block of %zu bytes", (int)partition, size);
  writer->written_metrics.written_bytes += size;
  return COLSHUF_OK;
}

enum colshuf_status csf_map_emit(struct colshuf_map_writer *writer, const struct csf_lane *lane, struct colshuf_error *err) {
  int32_t partition = lane->partition;
  CSF_TRY(open_partition(writer, partition, err));
  writer->written_metrics.blocks++;
  writer->written_metrics.raw_bytes += lane->raw_bytes;
  writer->partition_sizes[partition] += lane->size;
  writer->emission.size += lane->size;
  if (writer->checksums != NULL) {
    writer->checksums[partition] = csf_checksum_update(writer->checksum, writer->checksums[partition], lane->bytes, lane->size);
  }
  uint64_t begin = csf_now_ns();
  enum colshuf_status status = put(writer, partition, lane->bytes, lane->size, err);
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  return status;
}

enum colshuf_status csf_map_begin_target(struct colshuf_map_writer *writer, enum csf_map_target target, struct colshuf_error *err) {
  writer->emission = (struct csf_map_emission){target, -1, 0};
  if (target == CSF_TARGET_SPILL) return csf_spills_begin(&writer->spills, err);
  /* While runs are read there are no gathered rows: theirs is the memory to read ahead. */
  if (target == CSF_TARGET_DATA) return csf_spills_rewind(&writer->spills, writer->sizes.piece_bytes, err);
  return COLSHUF_OK;
}

static enum colshuf_status end_spill(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  uint64_t begin = csf_now_ns();
  CSF_TRY(csf_spills_end(&writer->spills, err));
  const struct csf_run *run = &writer->spills.runs[writer->spills.n_runs - 1];
  writer->written_metrics.spills++;
  writer->written_metrics.spilled_bytes += run->sizes_offset - run->data_offset;
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  return COLSHUF_OK;
}

enum colshuf_status csf_map_end_target(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  CSF_TRY(csf_map_close_partition(writer, err));
  if (writer->emission.target == CSF_TARGET_SPILL) return end_spill(writer, err);
  if (writer->emission.target == CSF_TARGET_SINK) return COLSHUF_OK;
  CSF_TRY(copy_runs_before(writer, INT32_MAX, err));
  uint64_t begin = csf_now_ns();
  enum colshuf_status status = csf_temp_flush(&writer->data, err);
  writer->written_metrics.write_ns += csf_now_ns() - begin;
  return status;
}
