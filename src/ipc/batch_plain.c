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

/* What the loop over the columns needs, in registers as far as there are any. */
struct plain_reader {
  const uint8_t *node;  /* to be taken next */
  const uint8_t *entry; /* the same of buffers */
  const uint8_t *body;
  uint64_t body_size;
  uint64_t n; /* rows */
  uint64_t bitmap_size;
  uint8_t *lengths_memory;
  const struct csf_scan *scan;
  bool as_lengths;
  enum csf_validate_level level;
  uintptr_t address_mask; /* the bits of addresses that alignment may ask for */
};

struct buffer {
  const uint8_t *data;
  uint64_t size;
};

/* Buffer i of those to be taken next. False: not within the body. */
static inline bool peek(const struct plain_reader *p, int i, struct buffer *out) {
  const uint8_t *entry = p->entry + (size_t)i * CSF_BUFFER_SIZE;
  uint64_t offset = csf_load_u64(entry), size = csf_load_u64(entry + 8);
  if (CSF_UNLIKELY(size > p->body_size || offset > p->body_size - size)) return false; /* negative ones are too large */
  out->data = size == 0 ? csf_body_zeros : p->body + offset;
  out->size = size;
  return true;
}

static bool nulls_and_text_are_right(const struct csf_field *field, const struct ArrowArray *column) {
  struct csf_validation validation = {.level = CSF_VALIDATE_FULL, .structural = COLSHUF_CORRUPT};
  struct csf_place place = {.field = field, .array = column, .validation = &validation};
  return csf_validate_full(&place) == COLSHUF_OK;
}

static inline bool offsets_are_right(const struct plain_reader *p, bool wide, const uint8_t *offsets, uint64_t data_size) {
  uint64_t first = wide ? csf_load_u64(offsets) : csf_load_u32(offsets);
  uint64_t last = wide ? csf_load_u64(offsets + 8 * p->n) : csf_load_u32(offsets + 4 * p->n);
  if (first > last || last > data_size) return false; /* and so neither is negative */
  if (p->level == CSF_VALIDATE_ENDS) return true;
  return wide ? p->scan->rises64(offsets, (int64_t)p->n) : p->scan->rises32(offsets, (int64_t)p->n);
}

/* Transposed lengths into the room that was set aside for them; *offsets moves there. */
static bool restore_offsets(const struct plain_reader *p, int width, const uint8_t **offsets) {
  if (p->lengths_memory == NULL) return false;
  bool ok = csf_offsets_from_lengths(p->lengths_memory, *offsets, (int64_t)p->n + 1, width, INT64_MAX, NULL) == COLSHUF_OK;
  *offsets = p->lengths_memory;
  return ok;
}

/* Offsets and the bytes they point into. */
static inline bool take_binary(const struct plain_reader *p, const struct csf_column_plan *plan, struct ArrowArray *column) {
  struct buffer offsets, data;
  if (!peek(p, 1, &offsets) || !peek(p, 2, &data) || offsets.size < (p->n + 1) * (uint64_t)plan->width) return false;
  if (CSF_UNLIKELY(p->as_lengths)) {
    if (!restore_offsets(p, plan->width, &offsets.data)) return false;
  } else if (((uintptr_t)offsets.data & (plan->alignment - 1u) & p->address_mask) != 0) {
    return false;
  }
  if (!offsets_are_right(p, plan->kind == CSF_COLUMN_OFFSETS64, offsets.data, data.size)) return false;
  column->buffers[1] = offsets.data;
  column->buffers[2] = data.data;
  return true;
}

static inline bool take_values(const struct plain_reader *p, const struct csf_column_plan *plan, struct ArrowArray *column) {
  struct buffer values;
  uint64_t needed = plan->kind == CSF_COLUMN_BITS ? p->bitmap_size : p->n * (uint64_t)plan->width;
  if (!peek(p, 1, &values) || values.size < needed || ((uintptr_t)values.data & (plan->alignment - 1u) & p->address_mask) != 0) return false;
  column->buffers[1] = values.data;
  return true;
}

/* Node and validity, then the rest. */
static inline bool take_column(const struct plain_reader *p, const struct csf_column_plan *plan, const struct csf_field *field,
                               struct ArrowArray *column) {
  uint64_t null_count = csf_load_u64(p->node + 8);
  struct buffer validity;
  if (csf_load_u64(p->node) != p->n || null_count > p->n || !peek(p, 0, &validity)) return false;
  if (null_count > 0 && validity.size < p->bitmap_size) return false;
  column->length = (int64_t)p->n;
  column->null_count = (int64_t)null_count;
  column->buffers[0] = null_count == 0 ? NULL : validity.data;
  if (!(plan->kind >= CSF_COLUMN_OFFSETS32 ? take_binary(p, plan, column) : take_values(p, plan, column))) return false;
  return !(p->level == CSF_VALIDATE_FULL && (null_count > 0 || plan->is_text)) || nulls_and_text_are_right(field, column);
}

int32_t csf_plain_columns_read(struct csf_batch_reader *r, const struct csf_column_plan *plans, const struct csf_field *fields,
                               struct ArrowArray *const *columns, int32_t n) {
  if (r->body.compression != CSF_BODY_PLAIN || r->body.copy || r->length == 0 || r->length > INT32_MAX) return 0;
  struct plain_reader p = {.node = r->nodes.data, .entry = r->body.entry, .body = r->body.body.data, .body_size = r->body.body.size,
                           .n = (uint64_t)r->length, .bitmap_size = ((uint64_t)r->length + 7) / 8, .lengths_memory = r->lengths_memory,
                           .scan = csf_scan(), .as_lengths = r->options->offsets_as_lengths,
                           .level = csf_validate_level_of(r->options->trust),
                           .address_mask = r->options->any_alignment ? 0 : UINTPTR_MAX};
  uint32_t n_left = r->body.n_left;
  if ((uint32_t)n > r->nodes.count) n = (int32_t)r->nodes.count;
  int32_t i = 0;
  for (; i < n; i++) {
    const struct csf_column_plan *plan = &plans[i];
    if (plan->kind == CSF_COLUMN_GENERAL || plan->n_buffers > n_left || !take_column(&p, plan, &fields[i], columns[i])) break;
    p.node += CSF_NODE_SIZE;
    p.entry += (size_t)plan->n_buffers * CSF_BUFFER_SIZE;
    n_left -= plan->n_buffers;
    if (p.as_lengths && plan->kind >= CSF_COLUMN_OFFSETS32) {
      p.lengths_memory += csf_round_up((p.n + 1) * (uint64_t)plan->width, CSF_ALIGNMENT);
    }
  }
  r->nodes.data = p.node;
  r->nodes.count -= (uint32_t)i;
  r->body.entry = p.entry;
  r->body.n_taken += r->body.n_left - n_left;
  r->body.n_left = n_left;
  r->lengths_memory = p.lengths_memory;
  return i;
}
