/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/coalesce.h"

#include "arrow/gather.h"

static uint64_t data_bytes(const struct csf_field *field, const struct ArrowArray *array) {
  uint64_t n = (uint64_t)array->length, size = 0;
  switch (field->layout) {
    case CSF_LAYOUT_BITS:
      return n / 8;
    case CSF_LAYOUT_FIXED:
      return n * (uint64_t)field->width;
    case CSF_LAYOUT_BINARY32:
      return 4 * n + (n == 0 ? 0 : (uint64_t)csf_offset_at(array->buffers[1], array->length, false));
    case CSF_LAYOUT_BINARY64:
      return 8 * n + (n == 0 ? 0 : (uint64_t)csf_offset_at(array->buffers[1], array->length, true));
    case CSF_LAYOUT_VIEW:
      for (int64_t b = 0; b < array->n_buffers - 3; b++)
        size += (uint64_t)((const int64_t *)array->buffers[array->n_buffers - 1])[b];
      return 16 * n + size;
    case CSF_LAYOUT_LIST_VIEW64:
      return 16 * n;
    case CSF_LAYOUT_LIST64:
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_DENSE_UNION:
      return 8 * n;
    default:
      return 4 * n;
  }
}

uint64_t csf_decoded_bytes(const struct csf_field *field, const struct ArrowArray *array) {
  uint64_t size = sizeof *array + (uint64_t)array->length / 8 + data_bytes(field, array);
  for (int32_t c = 0; c < field->n_children; c++) size += csf_decoded_bytes(&field->children[c], array->children[c]);
  if (field->dictionary != NULL) size += csf_decoded_bytes(field->dictionary, array->dictionary);
  return size;
}

/* The schema of a block's batch, and which of its columns is the c-th announced. */
static const struct csf_field *block_root(const struct csf_waiting *waiting, const struct csf_waiting_block *block) {
  return block->fit == NULL ? &waiting->schema->announced->root : &block->fit->schema->root;
}
static int32_t block_column(const struct csf_waiting *waiting, const struct csf_waiting_block *block, int32_t c) {
  return block->fit == NULL ? c : waiting->schema->columns[c];
}

void csf_waiting_init(struct csf_waiting *waiting, const struct csf_read_schema *schema, int64_t target_rows,
                      uint64_t target_bytes) {
  waiting->schema = schema;
  waiting->growing = (struct csf_growing){.allocator = waiting->allocator,
                                          .schema = schema->announced,
                                          .shape = schema->shape,
                                          .target_rows = target_rows,
                                          .target_bytes = target_bytes};
}

static enum colshuf_status push(struct csf_waiting *waiting, struct csf_waiting_block block, struct colshuf_error *err) {
  const struct colshuf_allocator *allocator = &waiting->schema->allocator;
  if (waiting->n == waiting->capacity) {
    size_t capacity = 2 * waiting->capacity + 16, item = sizeof *waiting->blocks;
    struct csf_waiting_block *blocks = csf_realloc(allocator, waiting->blocks, waiting->capacity * item, capacity * item);
    if (blocks == NULL) return csf_fail_memory(err, capacity * item);
    waiting->blocks = blocks;
    waiting->capacity = capacity;
  }
  waiting->blocks[waiting->n++] = block;
  return COLSHUF_OK;
}

static void drop(struct csf_waiting *waiting, struct csf_waiting_block *block) {
  if (block->batch.release != NULL) block->batch.release(&block->batch);
  csf_block_fit_release(waiting->schema, block->fit);
}

static void count(struct csf_waiting *waiting, const struct csf_field *root, const struct ArrowArray *batch) {
  waiting->n_rows += batch->length;
  waiting->n_bytes += csf_decoded_bytes(root, batch);
}

/* Whether a block can be appended to what grows, or could be if that began with the one block that waits. */
static bool can_append(const struct csf_waiting *waiting, const struct ArrowArray *batch, const struct csf_block_fit *fit) {
  if (!fit->is_flat || batch->length >= waiting->growing.target_rows) return false;
  if (waiting->n == 0) return waiting->growing.n_rows > 0;
  return waiting->n == 1 && waiting->blocks[0].fit != NULL && waiting->blocks[0].fit->is_flat;
}

static enum colshuf_status append(struct csf_waiting *waiting, const struct ArrowArray *batch, struct colshuf_error *err) {
  const int32_t *columns = waiting->schema->columns;
  if (waiting->n == 1) {
    CSF_TRY(csf_growing_append(&waiting->growing, &waiting->blocks[0].batch, columns, err));
    drop(waiting, &waiting->blocks[--waiting->n]);
  }
  return csf_growing_append(&waiting->growing, batch, columns, err);
}

/* What has grown waits as a block of its own: others will be joined with it. */
static enum colshuf_status stop_growing(struct csf_waiting *waiting, struct colshuf_error *err) {
  if (waiting->growing.n_rows == 0) return COLSHUF_OK;
  CSF_TRY(push(waiting, (struct csf_waiting_block){0}, err));
  csf_growing_take(&waiting->growing, &waiting->blocks[waiting->n - 1].batch);
  return COLSHUF_OK;
}

static enum colshuf_status join(const struct csf_waiting *waiting, size_t n, struct ArrowArray *out, struct colshuf_error *err);

/* The rows of one block as they will be handed out, all copied. */
static enum colshuf_status make_alone(const struct csf_waiting *waiting, struct csf_waiting_block block, struct ArrowArray *out,
                                      struct colshuf_error *err) {
  struct csf_waiting alone = *waiting;
  block.is_borrowed = true; /* so that it keeps its columns */
  alone.blocks = &block;
  alone.n = 1;
  return join(&alone, 1, out, err);
}

/*
 * Nulls where none are announced, told while it is known which block they are in. In a dictionary they may be anywhere: there it is
 * the values unpacked that are looked at.
 */
static enum colshuf_status check_nulls(const struct csf_waiting *waiting, const struct ArrowArray *batch, struct csf_block_fit *fit,
                                       struct colshuf_error *err) {
  const struct csf_read_schema *schema = waiting->schema;
  const unsigned overlook = CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA;
  struct ArrowArray made = {0};
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t c = 0; c < schema->n_columns && status == COLSHUF_OK; c++) {
    if (!fit->columns[c].recheck) continue;
    const struct csf_field *field = &schema->announced->root.children[c];
    bool as_it_is = csf_field_equal(&fit->schema->root.children[schema->columns[c]], field, overlook);
    if (!as_it_is && made.release == NULL) {
      CSF_TRY(make_alone(waiting, (struct csf_waiting_block){.batch = *batch, .fit = fit}, &made, err));
    }
    const struct ArrowArray *array = as_it_is ? batch->children[schema->columns[c]] : made.children[c];
    status = csf_array_validate(field, array, NULL, CSF_VALIDATE_FULL, err);
  }
  if (made.release != NULL) made.release(&made);
  return status;
}

enum colshuf_status csf_waiting_add(struct csf_waiting *waiting, struct ArrowArray *batch, struct csf_block_fit *fit,
                                    bool is_borrowed, struct colshuf_error *err) {
  enum colshuf_status status = COLSHUF_LIMIT;
  if (fit->recheck) CSF_TRY(check_nulls(waiting, batch, fit, err));
  if (can_append(waiting, batch, fit)) status = append(waiting, batch, err);
  if (status == COLSHUF_OK) {
    waiting->n_rows += batch->length;
    waiting->n_bytes = csf_growing_size(&waiting->growing); /* of many columns with few rows much less than the blocks were */
    batch->release(batch);
    csf_block_fit_release(waiting->schema, fit);
    return COLSHUF_OK;
  }
  if (status != COLSHUF_LIMIT) return status;
  CSF_TRY(stop_growing(waiting, err)); /* what one batch cannot hold is parted when it is handed out */
  CSF_TRY(push(waiting, (struct csf_waiting_block){*batch, is_borrowed, fit}, err));
  count(waiting, &fit->schema->root, batch);
  batch->release = NULL;
  return COLSHUF_OK;
}

/* The first n blocks are done with. */
static void drop_first(struct csf_waiting *waiting, size_t n) {
  for (size_t i = 0; i < n; i++) drop(waiting, &waiting->blocks[i]);
  waiting->n -= n;
  memmove(waiting->blocks, waiting->blocks + n, waiting->n * sizeof *waiting->blocks);
  waiting->n_rows = 0;
  waiting->n_bytes = 0;
  for (size_t i = 0; i < waiting->n; i++) count(waiting, block_root(waiting, &waiting->blocks[i]), &waiting->blocks[i].batch);
}

void csf_waiting_clear(struct csf_waiting *waiting) {
  for (size_t i = 0; i < waiting->n; i++) drop(waiting, &waiting->blocks[i]);
  if (waiting->schema != NULL) {
    csf_free(&waiting->schema->allocator, waiting->blocks, waiting->capacity * sizeof *waiting->blocks);
  }
  csf_growing_clear(&waiting->growing);
  waiting->blocks = NULL;
  waiting->n = waiting->capacity = 0;
  waiting->n_rows = 0;
}

static enum colshuf_status join_column(struct csf_gather *g, const struct csf_waiting *waiting, size_t n, int32_t c,
                                       struct csf_piece *pieces, struct ArrowArray *out) {
  for (size_t i = 0; i < n; i++) {
    const struct csf_waiting_block *block = &waiting->blocks[i];
    int32_t column = block_column(waiting, block, c);
    pieces[i] = (struct csf_piece){.field = &block_root(waiting, block)->children[column],
                                   .array = block->batch.children[column],
                                   .start = block->batch.offset,
                                   .length = block->batch.length};
  }
  return csf_gather_field(g, &waiting->schema->announced->root.children[c], pieces, (int64_t)n, out->children[c]);
}

/* Whether column c of n blocks needs no copy. */
static bool moves(const struct csf_waiting *waiting, size_t n, int32_t c) {
  const struct csf_waiting_block *first = &waiting->blocks[0];
  return n == 1 && !first->is_borrowed && (first->fit == NULL || first->fit->columns[c].direct);
}

/* Columns that must be copied. */
static enum colshuf_status join_columns(struct csf_gather *g, const struct csf_waiting *waiting, size_t n,
                                        struct ArrowArray *out) {
  struct csf_piece *pieces;
  CSF_TRY(csf_gather_scratch(g, (int64_t)n, sizeof *pieces, &pieces));
  enum colshuf_status status = COLSHUF_OK;
  for (int32_t c = 0; c < waiting->schema->n_columns && status == COLSHUF_OK; c++) {
    if (!moves(waiting, n, c)) status = join_column(g, waiting, n, c, pieces, out);
  }
  csf_gather_scratch_free(g, pieces, (int64_t)n, sizeof *pieces);
  return status;
}

/* Columns that can be handed on as they are: they leave their batch, which may then go. */
static void move_columns(const struct csf_waiting *waiting, size_t n, struct ArrowArray *out) {
  struct csf_waiting_block *block = &waiting->blocks[0];
  for (int32_t c = 0; c < waiting->schema->n_columns; c++) {
    if (!moves(waiting, n, c)) continue;
    struct ArrowArray *source = block->batch.children[block_column(waiting, block, c)];
    out->children[c]->release(out->children[c]);
    *out->children[c] = *source;
    source->release = NULL;
  }
}

/* One batch of the first n blocks. */
static enum colshuf_status join(const struct csf_waiting *waiting, size_t n, struct ArrowArray *out, struct colshuf_error *err) {
  const struct csf_read_schema *schema = waiting->schema;
  struct csf_gather g = {.allocator = waiting->allocator, .left = waiting->max_made, .err = err};
  struct ArrowArray made;
  uint8_t *body;
  CSF_TRY(csf_array_new_shaped(&waiting->allocator, schema->shape, 0, &made, &body, &g.slab, err));
  for (size_t i = 0; i < n; i++) made.length += waiting->blocks[i].batch.length;
  enum colshuf_status status = join_columns(&g, waiting, n, &made);
  if (status == COLSHUF_OK) move_columns(waiting, n, &made);
  if (status != COLSHUF_OK) {
    made.release(&made);
    return status;
  }
  *out = made;
  return COLSHUF_OK;
}

static bool goes_whole(const struct csf_waiting_block *block) {
  const struct csf_block_fit *fit = block->fit;
  return !block->is_borrowed && (fit == NULL || fit->whole);
}

enum colshuf_status csf_waiting_emit(struct csf_waiting *waiting, struct ArrowArray *out, struct colshuf_error *err) {
  size_t n = waiting->n;
  if (n == 0) {
    csf_growing_take(&waiting->growing, out);
  } else if (n == 1 && goes_whole(&waiting->blocks[0])) {
    *out = waiting->blocks[0].batch;
    waiting->blocks[0].batch.release = NULL;
  } else {
    enum colshuf_status status = join(waiting, n, out, err);
    while (status == COLSHUF_LIMIT && n > 1) status = join(waiting, n /= 2, out, err);
    CSF_TRY(status);
  }
  drop_first(waiting, n);
  return COLSHUF_OK;
}
