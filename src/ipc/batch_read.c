/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the schema in pre-order fills the arrays of a slab from nodes and buffers (B.6, B.8); what the values must satisfy is
 * then left to csf_array_validate, which is told the size of every buffer.
 */
#include "ipc/batch_read.h"

#include <inttypes.h>

#include "ipc/batch_plan.h"
#include "ipc/body_read.h"
#include "ipc/format_tables.h"
#include "ipc/lengths.h"
#include "ipc/limits.h"

enum { SIZES_ON_STACK = 256 };

struct batch_reader {
  const struct csf_batch_plan *plan;
  const struct csf_dictionaries *dictionaries;
  const struct csf_batch_read_options *options;
  bool is_v4;
  int64_t length;
  struct csf_fb_vector nodes, variadic; /* data and count move on as they are taken */
  struct csf_body_reader body;
  int64_t *sizes; /* of the buffers taken, for csf_array_validate */
  size_t n_sizes;
  size_t sizes_capacity;
  int64_t sizes_on_stack[SIZES_ON_STACK];
  struct colshuf_error *err;
};

static enum colshuf_status read_array(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array);

static enum colshuf_status take_node(struct batch_reader *r, struct ArrowArray *array) {
  if (CSF_UNLIKELY(r->nodes.count == 0)) return csf_fail(r->err, COLSHUF_CORRUPT, "no field node is left for it");
  int64_t length = csf_load_i64(r->nodes.data), null_count = csf_load_i64(r->nodes.data + 8);
  r->nodes.data += CSF_NODE_SIZE;
  r->nodes.count--;
  if (CSF_UNLIKELY(length < 0 || null_count < 0 || null_count > length)) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "field node with length %" PRId64 " and null count %" PRId64, length, null_count);
  }
  array->length = length;
  array->null_count = null_count;
  return COLSHUF_OK;
}

/* Takes a buffer into array->buffers[i]. Its size goes behind those of the buffers before, in the order of the walk. */
static inline enum colshuf_status take_buffer(struct batch_reader *r, struct ArrowArray *array, int i, uint32_t alignment) {
  struct csf_span span = {0};
  CSF_TRY(csf_body_take(&r->body, alignment, &span));
  array->buffers[i] = span.data;
  r->sizes[r->n_sizes++] = (int64_t)span.size;
  return COLSHUF_OK;
}

/* A bitmap of an array without nulls says nothing: it is taken, and dropped. */
static inline enum colshuf_status take_validity(struct batch_reader *r, struct ArrowArray *array) {
  CSF_TRY(take_buffer(r, array, 0, 1));
  if (array->null_count != 0) return COLSHUF_OK;
  array->buffers[0] = NULL;
  r->sizes[r->n_sizes - 1] = 0;
  return COLSHUF_OK;
}

/* Transposed lengths become offsets in memory of the slab. */
static enum colshuf_status offsets_from_lengths(struct batch_reader *r, struct ArrowArray *array, int width) {
  int64_t size = r->sizes[r->n_sizes - 1], needed;
  if (csf_multiply_overflow(array->length, (int64_t)width, &needed) || csf_add_overflow(needed, (int64_t)width, &needed) ||
      needed > size) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "offsets of %" PRId64 " values take more than the buffer's %" PRId64 " bytes", array->length,
                    size);
  }
  void *offsets;
  CSF_TRY(csf_slab_alloc(r->body.slab, (size_t)needed, &offsets, r->err));
  /* Whether the end lies within the data is checked with the offsets themselves, later. */
  CSF_TRY(csf_offsets_from_lengths(offsets, array->buffers[1], array->length + 1, width, INT64_MAX, r->err));
  array->buffers[1] = offsets;
  r->sizes[r->n_sizes - 1] = needed;
  return COLSHUF_OK;
}

/* n + 1 offsets; for no values, none may stand there, which means one 0. */
static enum colshuf_status take_offsets(struct batch_reader *r, struct ArrowArray *array, int width) {
  uint32_t alignment = r->options->offsets_as_lengths ? 1 : (uint32_t)width;
  CSF_TRY(take_buffer(r, array, 1, alignment));
  if (array->length == 0 && r->sizes[r->n_sizes - 1] == 0) {
    r->sizes[r->n_sizes - 1] = width;
    return COLSHUF_OK;
  }
  return r->options->offsets_as_lengths ? offsets_from_lengths(r, array, width) : COLSHUF_OK;
}

/* 64-bit values on 8 bytes, 128-bit and wider ones on 16; intervals as the structs that they are. */
static uint32_t value_alignment(const struct csf_field *field) {
  if (field->type == CSF_FIXED_SIZE_BINARY) return 1;
  if (field->type == CSF_INTERVAL_DAY_TIME) return 4;
  if (field->type == CSF_INTERVAL_MONTH_DAY_NANO) return 8;
  return field->width > 16 ? 16 : (uint32_t)field->width;
}

static enum colshuf_status read_fixed(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(take_validity(r, array));
  return take_buffer(r, array, 1, value_alignment(field));
}

static enum colshuf_status read_bits(struct batch_reader *r, struct ArrowArray *array) {
  CSF_TRY(take_validity(r, array));
  return take_buffer(r, array, 1, 1);
}

static enum colshuf_status read_binary(struct batch_reader *r, struct ArrowArray *array, int width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_offsets(r, array, width));
  return take_buffer(r, array, 2, 1);
}

static enum colshuf_status take_variadic_count(struct batch_reader *r, int64_t *out) {
  if (r->variadic.count == 0) return csf_fail(r->err, COLSHUF_CORRUPT, "no variadic buffer count is left for it");
  *out = csf_load_i64(r->variadic.data);
  r->variadic.data += 8;
  r->variadic.count--;
  if (*out >= 0 && *out <= r->body.n_left) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "variadic buffer count %" PRId64 ", %" PRIu32 " buffers are left", *out, r->body.n_left);
}

static enum colshuf_status read_view(struct batch_reader *r, struct ArrowArray *array) {
  int64_t n, *data_sizes;
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_buffer(r, array, 1, 16));
  CSF_TRY(take_variadic_count(r, &n));
  CSF_TRY(csf_array_set_variadic(r->body.slab, array, n, &data_sizes, r->err));
  for (int64_t i = 0; i < n; i++) {
    struct csf_span data = {0};
    CSF_TRY(csf_body_take(&r->body, 1, &data));
    array->buffers[2 + i] = data.data;
    data_sizes[i] = r->sizes[r->n_sizes++] = (int64_t)data.size;
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_children(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(read_array(r, &field->children[i], array->children[i]));
  return COLSHUF_OK;
}

/* Children of structs and sparse unions have the parent's rows, no more (the C Data Interface would allow it). */
static enum colshuf_status read_equal_children(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(read_children(r, field, array));
  for (int32_t i = 0; i < field->n_children; i++) {
    if (array->children[i]->length == array->length) continue;
    return csf_fail(r->err, COLSHUF_CORRUPT, "child %" PRId32 " \"%.64s\" has %" PRId64 " values, its parent %" PRId64, i,
                    field->children[i].name, array->children[i]->length, array->length);
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_list(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array, int width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_offsets(r, array, width));
  return read_children(r, field, array);
}

static enum colshuf_status read_list_view(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array,
                                          uint32_t width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_buffer(r, array, 1, width));
  CSF_TRY(take_buffer(r, array, 2, width));
  return read_children(r, field, array);
}

static enum colshuf_status no_nulls_here(struct batch_reader *r, const struct csf_field *field, const struct ArrowArray *array) {
  if (array->null_count == 0) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "%s has no validity, but null count %" PRId64, csf_type_name(field->type), array->null_count);
}

static enum colshuf_status read_union(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(no_nulls_here(r, field, array));
  if (r->is_v4) { /* a bitmap that says nothing, since there are no nulls */
    struct csf_span bitmap;
    CSF_TRY(csf_body_take(&r->body, 1, &bitmap));
  }
  CSF_TRY(take_buffer(r, array, 0, 1));
  if (field->layout == CSF_LAYOUT_SPARSE_UNION) return read_equal_children(r, field, array);
  CSF_TRY(take_buffer(r, array, 1, 4));
  return read_children(r, field, array);
}

static enum colshuf_status read_run_ends(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(no_nulls_here(r, field, array));
  return read_children(r, field, array);
}

static enum colshuf_status read_layout(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  switch (field->layout) {
    case CSF_LAYOUT_NULL:
      array->null_count = array->length;
      return COLSHUF_OK;
    case CSF_LAYOUT_BITS: return read_bits(r, array);
    case CSF_LAYOUT_FIXED: return read_fixed(r, field, array);
    case CSF_LAYOUT_BINARY32: return read_binary(r, array, 4);
    case CSF_LAYOUT_BINARY64: return read_binary(r, array, 8);
    case CSF_LAYOUT_VIEW: return read_view(r, array);
    case CSF_LAYOUT_LIST32: return read_list(r, field, array, 4);
    case CSF_LAYOUT_LIST64: return read_list(r, field, array, 8);
    case CSF_LAYOUT_LIST_VIEW32: return read_list_view(r, field, array, 4);
    case CSF_LAYOUT_LIST_VIEW64: return read_list_view(r, field, array, 8);
    case CSF_LAYOUT_FIXED_LIST:
      CSF_TRY(take_validity(r, array));
      return read_children(r, field, array);
    case CSF_LAYOUT_STRUCT:
      CSF_TRY(take_validity(r, array));
      return read_equal_children(r, field, array);
    case CSF_LAYOUT_SPARSE_UNION:
    case CSF_LAYOUT_DENSE_UNION: return read_union(r, field, array);
    case CSF_LAYOUT_RUN_END: return read_run_ends(r, field, array);
  }
  return csf_fail(r->err, COLSHUF_UNSUPPORTED, "layout %d", (int)field->layout);
}

/* Makes target, a tree of the slab, show the same values as source. Whoever calls it keeps source alive. */
static void share_values(const struct ArrowArray *source, struct ArrowArray *target) {
  target->length = source->length;
  target->null_count = source->null_count;
  target->offset = source->offset;
  target->n_buffers = source->n_buffers; /* of views, more than the tree has room for: so the table is shared, too */
  target->buffers = source->buffers;
  for (int64_t i = 0; i < source->n_children; i++) share_values(source->children[i], target->children[i]);
  if (source->dictionary != NULL) share_values(source->dictionary, target->dictionary);
}

static enum colshuf_status attach_dictionary(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  size_t place = csf_batch_plan_find(r->plan, field->dictionary_id);
  struct csf_dictionary_values *values = place < r->plan->n_dictionaries ? r->dictionaries->values[place] : NULL;
  if (values == NULL) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "no dictionary of id %" PRId64 " came before it", field->dictionary_id);
  }
  CSF_TRY(csf_slab_attach(r->body.slab, csf_dictionary_values_release, values, r->err));
  atomic_fetch_add_explicit(&values->references, 1, memory_order_relaxed);
  share_values(&values->array, array->dictionary);
  return COLSHUF_OK;
}

static enum colshuf_status read_array(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(take_node(r, array));
  CSF_TRY(read_layout(r, field, array));
  return field->dictionary == NULL ? COLSHUF_OK : attach_dictionary(r, field, array);
}

static enum colshuf_status in_column(struct batch_reader *r, enum colshuf_status status, const struct csf_field *root, int32_t i) {
  return csf_fail_context(r->err, status, "column %" PRId32 " \"%.64s\"", i, root->children[i].name);
}

static enum colshuf_status validate(struct batch_reader *r, const struct csf_field *field, const struct ArrowArray *array,
                                    size_t first_size) {
  struct csf_buffer_sizes sizes = {r->sizes + first_size, (int64_t)(r->n_sizes - first_size)};
  enum csf_validate_level level = r->options->trust == COLSHUF_UNTRUSTED ? CSF_VALIDATE_FULL : CSF_VALIDATE_MEMORY;
  enum colshuf_status status = csf_array_validate(field, array, &sizes, level, r->err);
  if (status != COLSHUF_INVALID_ARGUMENT) return status;
  if (r->err != NULL) r->err->status = COLSHUF_CORRUPT; /* the arrays are made of bytes: theirs is the fault */
  return COLSHUF_CORRUPT;
}

/* Passes over an array that nobody wants. */
static enum colshuf_status skip_array(struct batch_reader *r, const struct csf_field *field) {
  struct ArrowArray unused;
  CSF_TRY(take_node(r, &unused));
  bool is_union = field->layout == CSF_LAYOUT_SPARSE_UNION || field->layout == CSF_LAYOUT_DENSE_UNION;
  int64_t n_buffers = csf_layout_n_buffers(field->layout) + (is_union && r->is_v4), n_data;
  if (field->layout == CSF_LAYOUT_VIEW) {
    CSF_TRY(take_variadic_count(r, &n_data));
    n_buffers += n_data - 1; /* the sizes are no buffer here */
  }
  CSF_TRY(csf_body_skip(&r->body, n_buffers));
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(skip_array(r, &field->children[i]));
  return COLSHUF_OK;
}

static bool is_wanted(const struct batch_reader *r, int32_t column) {
  const struct csf_column_set *columns = &r->options->columns;
  return columns->wanted == NULL || (column < columns->n && columns->wanted[column] != 0);
}

static enum colshuf_status read_column(struct batch_reader *r, const struct csf_field *field, struct ArrowArray *column) {
  size_t first_size = r->n_sizes;
  CSF_TRY(read_array(r, field, column));
  if (column->length != r->length) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "%" PRId64 " values in a batch of %" PRId64 " rows", column->length, r->length);
  }
  /* Where all columns are wanted they are validated together, which is faster. */
  return r->options->columns.wanted == NULL ? COLSHUF_OK : validate(r, field, column, first_size);
}

static enum colshuf_status read_columns(struct batch_reader *r, const struct csf_field *root, struct ArrowArray *batch) {
  batch->length = r->length;
  r->sizes[r->n_sizes++] = 0; /* the root's validity */
  for (int32_t i = 0; i < root->n_children; i++) {
    const struct csf_field *field = &root->children[i];
    enum colshuf_status status = is_wanted(r, i) ? read_column(r, field, batch->children[i]) : skip_array(r, field);
    if (status != COLSHUF_OK) return in_column(r, status, root, i);
  }
  if (r->nodes.count == 0 && r->body.n_left == 0 && r->variadic.count == 0) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT,
                  "%" PRIu32 " field nodes, %" PRIu32 " buffers and %" PRIu32 " variadic counts are left over after the last column",
                  r->nodes.count, r->body.n_left, r->variadic.count);
}

/* Everything that the RecordBatch table says. */
static enum colshuf_status open_batch(struct batch_reader *r, struct csf_fb_table table, struct csf_span body) {
  struct colshuf_limits limits = csf_limits(r->options->limits);
  r->length = csf_fb_i64(table, CSF_BATCH_LENGTH, 0);
  if (r->length < 0) return csf_fail(r->err, COLSHUF_CORRUPT, "record batch of %" PRId64 " rows", r->length);
  if (r->length > limits.max_rows) {
    return csf_fail(r->err, COLSHUF_LIMIT, "record batch of %" PRId64 " rows, the limit is %" PRId64, r->length, limits.max_rows);
  }
  r->nodes = csf_fb_elements(table, CSF_BATCH_NODES);
  r->variadic = csf_fb_elements(table, CSF_BATCH_VARIADIC);
  struct csf_fb_vector buffers = csf_fb_elements(table, CSF_BATCH_BUFFERS);
  r->body = (struct csf_body_reader){.entry = buffers.data, .n_left = buffers.count, .body = body, .codec = r->options->codec,
                                     .allocator = r->options->allocator, .max_size = limits.max_decompressed_size, .err = r->err};
  CSF_TRY(csf_body_compression_read(csf_fb_child(table, CSF_BATCH_COMPRESSION), &r->body.compression, r->err));
  /* Each buffer gives one size, and the root one more. */
  r->sizes_capacity = (size_t)buffers.count + 1;
  r->sizes = r->sizes_on_stack;
  if (r->sizes_capacity <= SIZES_ON_STACK) return COLSHUF_OK;
  r->sizes = csf_alloc(&r->options->allocator, r->sizes_capacity * sizeof *r->sizes);
  return r->sizes == NULL ? csf_fail_memory(r->err, r->sizes_capacity * sizeof *r->sizes) : COLSHUF_OK;
}

static void close_batch(struct batch_reader *r) {
  if (r->sizes != r->sizes_on_stack) csf_free(&r->options->allocator, r->sizes, r->sizes_capacity * sizeof *r->sizes);
}

static enum colshuf_status fill_and_validate(struct batch_reader *r, const struct csf_field *root, struct ArrowArray *batch) {
  CSF_TRY(read_columns(r, root, batch));
  return r->options->columns.wanted == NULL ? validate(r, root, batch, 0) : COLSHUF_OK;
}

/* Reads one RecordBatch table whose columns are those of root. */
static enum colshuf_status read_tree(struct batch_reader *r, const struct csf_field *root, const struct csf_array_shape *shape, bool copy,
                                     struct ArrowArray *out, struct csf_slab **slab) {
  uint8_t *memory = NULL;
  bool all = r->options->columns.wanted == NULL;
  bool whole = copy && all && r->body.compression == CSF_BODY_PLAIN && r->body.body.size > 0;
  r->body.copy = copy && !all; /* buffer by buffer */
  size_t memory_size = whole ? r->body.body.size : 0;
  struct ArrowArray batch;
  CSF_TRY(csf_array_new_shaped(&r->options->allocator, shape, memory_size, &batch, &memory, &r->body.slab, r->err));
  if (whole) {
    memcpy(memory, r->body.body.data, memory_size);
    r->body.body.data = memory;
  }
  enum colshuf_status status = fill_and_validate(r, root, &batch);
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  if (slab != NULL) *slab = r->body.slab;
  *out = batch;
  return COLSHUF_OK;
}

static enum colshuf_status fail_header(struct colshuf_error *err, const char *wanted) {
  return csf_fail(err, COLSHUF_CORRUPT, "the message is not a %s", wanted);
}

enum colshuf_status csf_batch_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                   struct csf_dictionaries *dictionaries, const struct csf_batch_read_options *options,
                                   struct ArrowArray *out, struct csf_slab **slab, struct colshuf_error *err) {
  if (message->kind != CSF_MESSAGE_BATCH) return fail_header(err, "record batch");
  const struct csf_schema *schema = plan->schema;
  if (options->offsets_as_lengths && (schema->has_dictionary || schema->has_view)) {
    return csf_fail(err, COLSHUF_CORRUPT, "offsets stored as lengths in a schema with a %s", schema->has_view ? "view" : "dictionary");
  }
  struct batch_reader r = {.plan = plan, .dictionaries = dictionaries, .options = options, .is_v4 = message->is_v4, .err = err};
  r.sizes = r.sizes_on_stack;
  struct csf_fb_table table = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  enum colshuf_status status = open_batch(&r, table, message->body);
  if (status == COLSHUF_OK) status = read_tree(&r, &schema->root, plan->shape, options->copy, out, slab);
  close_batch(&r);
  return status;
}

/* Values that stood there before are let go. */
static void put_values(struct csf_dictionaries *dictionaries, size_t place, struct csf_dictionary_values *values) {
  struct csf_dictionary_values *before = dictionaries->values[place];
  if (before != NULL) dictionaries->size -= before->size;
  dictionaries->size += values->size;
  dictionaries->values[place] = values;
  csf_dictionary_values_release(before);
}

static enum colshuf_status check_dictionary_size(const struct csf_batch_read_options *options, uint64_t size, struct colshuf_error *err) {
  uint64_t most = csf_limits(options->limits).max_dictionary_size;
  if (size <= most) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_LIMIT, "dictionaries of %" PRIu64 " bytes, the limit is %" PRIu64, size, most);
}

/* Wraps *array, which is moved in, or released on failure. */
static enum colshuf_status wrap_values(const struct csf_batch_read_options *options, struct ArrowArray *array, uint64_t size,
                                       struct csf_dictionary_values **out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct csf_dictionary_values *values = csf_alloc(&allocator, sizeof *values);
  if (values == NULL) {
    array->release(array);
    return csf_fail_memory(err, sizeof *values);
  }
  *values = (struct csf_dictionary_values){.allocator = allocator, .array = *array, .size = size};
  atomic_init(&values->references, 1);
  *out = values;
  return COLSHUF_OK;
}

/* *delta is released in any case. */
static enum colshuf_status append_delta(const struct csf_field *field, const struct csf_batch_read_options *options,
                                        const struct ArrowArray *before, struct ArrowArray *delta, struct ArrowArray *out,
                                        struct colshuf_error *err) {
  const struct ArrowArray *arrays[2] = {before, delta};
  int64_t starts[2] = {0, 0}, lengths[2] = {before->length, delta->length};
  enum colshuf_status status = csf_array_concat(field, arrays, starts, lengths, 2, &options->allocator, out, err);
  delta->release(delta);
  return status;
}

/* The one column of *batch, moved out of it. */
static struct ArrowArray only_column(struct ArrowArray *batch) {
  struct ArrowArray column = *batch->children[0];
  batch->children[0]->release = NULL;
  batch->release(batch);
  return column;
}

static enum colshuf_status keep_values(const struct csf_dictionary_plan *plan, struct csf_dictionaries *dictionaries, size_t place,
                                       bool is_delta, const struct csf_batch_read_options *options, struct ArrowArray *batch,
                                       uint64_t size, struct colshuf_error *err) {
  struct ArrowArray values = only_column(batch);
  const struct csf_dictionary_values *before = dictionaries->values[place];
  if (is_delta) {
    struct ArrowArray whole;
    CSF_TRY(append_delta(plan->root.children, options, &before->array, &values, &whole, err));
    values = whole;
    size += before->size;
  }
  struct csf_dictionary_values *kept;
  CSF_TRY(wrap_values(options, &values, size, &kept, err));
  put_values(dictionaries, place, kept);
  return COLSHUF_OK;
}

/* Bytes that the values take: those of the body, and what came out of compressed buffers. */
static uint64_t values_size(const struct batch_reader *r, uint64_t body_size) {
  return body_size + (csf_limits(r->options->limits).max_decompressed_size - r->body.max_size);
}

static enum colshuf_status read_dictionary(struct batch_reader *r, struct csf_fb_table data, const struct csf_message *message,
                                           size_t place, bool is_delta, struct csf_dictionaries *dictionaries) {
  const struct csf_dictionary_plan *plan = &r->plan->dictionaries[place];
  const struct csf_dictionary_values *before = dictionaries->values[place];
  uint64_t others = dictionaries->size - (before != NULL && !is_delta ? before->size : 0);
  CSF_TRY(check_dictionary_size(r->options, others + message->body.size, r->err));
  CSF_TRY(open_batch(r, data, message->body));
  struct ArrowArray batch;
  CSF_TRY(read_tree(r, &plan->root, plan->shape, true, &batch, NULL));
  uint64_t size = values_size(r, message->body.size);
  enum colshuf_status status = check_dictionary_size(r->options, others + size, r->err);
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  return keep_values(plan, dictionaries, place, is_delta, r->options, &batch, size, r->err);
}

static bool uses_dictionary(const struct csf_field *field, int64_t id) {
  for (int32_t i = 0; i < field->n_children; i++) {
    if (uses_dictionary(&field->children[i], id)) return true;
  }
  return field->dictionary != NULL && (field->dictionary_id == id || uses_dictionary(field->dictionary, id));
}

static bool is_dictionary_wanted(const struct csf_batch_plan *plan, const struct csf_column_set *columns, int64_t id) {
  const struct csf_field *root = &plan->schema->root;
  if (columns->wanted == NULL) return true;
  for (int32_t i = 0; i < root->n_children && i < columns->n; i++) {
    if (columns->wanted[i] != 0 && uses_dictionary(&root->children[i], id)) return true;
  }
  return false;
}

enum colshuf_status csf_dictionary_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                        const struct csf_batch_read_options *wanted, struct csf_dictionaries *dictionaries,
                                        struct colshuf_error *err) {
  struct csf_batch_read_options whole = *wanted; /* of the values, that is */
  const struct csf_batch_read_options *options = &whole;
  whole.columns = (struct csf_column_set){0};
  if (message->kind != CSF_MESSAGE_DICTIONARY) return fail_header(err, "dictionary batch");
  struct csf_fb_table table = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  int64_t id = csf_fb_i64(table, CSF_DICTIONARY_ID, 0);
  bool is_delta = csf_fb_u8(table, CSF_DICTIONARY_IS_DELTA, 0) != 0;
  size_t place = csf_batch_plan_find(plan, id);
  if (place == plan->n_dictionaries) {
    return csf_fail(err, COLSHUF_CORRUPT, "dictionary of id %" PRId64 ", which the schema does not name", id);
  }
  if (is_delta && dictionaries->values[place] == NULL) {
    return csf_fail(err, COLSHUF_CORRUPT, "delta for the dictionary of id %" PRId64 ", which has not come yet", id);
  }
  if (options->offsets_as_lengths) return csf_fail(err, COLSHUF_CORRUPT, "offsets stored as lengths in a schema with a dictionary");
  if (!is_dictionary_wanted(plan, &wanted->columns, id)) return COLSHUF_OK;
  struct csf_fb_table data = csf_fb_child(table, CSF_DICTIONARY_DATA);
  struct batch_reader r = {.plan = plan, .dictionaries = dictionaries, .options = options, .is_v4 = message->is_v4, .err = err};
  r.sizes = r.sizes_on_stack;
  enum colshuf_status status = read_dictionary(&r, data, message, place, is_delta, dictionaries);
  close_batch(&r);
  return status == COLSHUF_OK ? status : csf_fail_context(err, status, "dictionary of id %" PRId64, id);
}
