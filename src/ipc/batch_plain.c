/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quick way for the columns that most batches are made of: flat, uncompressed, aligned, nothing missing. Here only a yes counts: all
 * rules of the general way that could apply are checked, and at the first doubt the column is left to it.
 */
#include "arrow/scan.h"
#include "arrow/validate.h"
#include "ipc/batch_reader.h"
#include "ipc/format_tables.h"
#include "ipc/lengths.h"

struct buffer {
  const uint8_t *data;
  uint64_t size;
};

/* Buffer i of those to be taken next. False: not within the body. */
static inline bool peek(const struct csf_batch_reader *r, int i, struct buffer *out) {
  const uint8_t *entry = r->body.entry + (size_t)i * CSF_BUFFER_SIZE;
  uint64_t offset = csf_load_u64(entry), size = csf_load_u64(entry + 8), body_size = r->body.body.size;
  if (size > body_size || offset > body_size - size) return false; /* negative ones are too large */
  out->data = size == 0 ? csf_body_zeros : r->body.body.data + offset;
  out->size = size;
  return true;
}

static bool nulls_and_text_are_right(const struct csf_field *field, const struct ArrowArray *column) {
  struct csf_validation validation = {.level = CSF_VALIDATE_FULL, .structural = COLSHUF_CORRUPT};
  struct csf_place place = {.field = field, .array = column, .validation = &validation};
  return csf_validate_full(&place) == COLSHUF_OK;
}

static bool offsets_are_right(const struct csf_column_plan *plan, const uint8_t *offsets, int64_t n, uint64_t data_size) {
  if (plan->kind == CSF_COLUMN_OFFSETS32) {
    return csf_scan()->rises32(offsets, n) && csf_load_u32(offsets + 4 * n) <= data_size;
  }
  return csf_scan()->rises64(offsets, n) && csf_load_u64(offsets + 8 * n) <= data_size;
}

/* Transposed lengths into the room that was set aside for them; *offsets moves there. */
static bool restore_offsets(struct csf_batch_reader *r, const struct csf_column_plan *plan, uint64_t size, const uint8_t **offsets) {
  if (r->lengths_memory == NULL) return false;
  uint8_t *target = r->lengths_memory;
  if (csf_offsets_from_lengths(target, *offsets, r->length + 1, plan->width, INT64_MAX, NULL) != COLSHUF_OK) return false;
  r->lengths_memory += csf_round_up(size, CSF_ALIGNMENT);
  *offsets = target;
  return true;
}

/* The second buffer, and the third where there is one. */
static bool take_values(struct csf_batch_reader *r, const struct csf_column_plan *plan, struct ArrowArray *column) {
  struct buffer values, data;
  uint64_t n = (uint64_t)r->length, needed = n * (uint64_t)plan->width;
  bool has_offsets = plan->kind >= CSF_COLUMN_OFFSETS32, as_lengths = has_offsets && r->options->offsets_as_lengths;
  if (plan->kind == CSF_COLUMN_BITS) needed = (n + 7) / 8;
  if (has_offsets) needed += (uint64_t)plan->width;
  if (!peek(r, 1, &values) || values.size < needed) return false;
  if (((uintptr_t)values.data & (plan->alignment - 1u)) != 0 && !as_lengths) return false;
  if (has_offsets) {
    if (!peek(r, 2, &data)) return false;
    if (as_lengths && !restore_offsets(r, plan, needed, &values.data)) return false;
    if (!offsets_are_right(plan, values.data, r->length, data.size)) return false;
    column->buffers[2] = data.data;
  }
  column->buffers[1] = values.data;
  return true;
}

bool csf_plain_column_read(struct csf_batch_reader *r, const struct csf_column_plan *plan, const struct csf_field *field,
                           struct ArrowArray *column) {
  if (plan->kind == CSF_COLUMN_GENERAL || r->body.compression != CSF_BODY_PLAIN || r->body.copy || r->length == 0) return false;
  if (r->nodes.count == 0 || r->body.n_left < plan->n_buffers) return false;
  uint64_t length = csf_load_u64(r->nodes.data), null_count = csf_load_u64(r->nodes.data + 8);
  struct buffer validity;
  uint8_t *lengths_memory = r->lengths_memory;
  if (length != (uint64_t)r->length || length > INT32_MAX || null_count > length || !peek(r, 0, &validity)) return false;
  if (null_count > 0 && validity.size < (length + 7) / 8) return false;
  column->length = (int64_t)length;
  column->null_count = (int64_t)null_count;
  column->buffers[0] = null_count == 0 ? NULL : validity.data;
  bool right = take_values(r, plan, column);
  if (right && r->options->trust == COLSHUF_UNTRUSTED && (null_count > 0 || plan->is_text)) right = nulls_and_text_are_right(field, column);
  if (!right) {
    r->lengths_memory = lengths_memory; /* the general way starts afresh */
    return false;
  }
  r->nodes.data += CSF_NODE_SIZE;
  r->nodes.count--;
  r->body.entry += (size_t)plan->n_buffers * CSF_BUFFER_SIZE;
  r->body.n_left -= plan->n_buffers;
  r->body.n_taken += plan->n_buffers;
  return true;
}
