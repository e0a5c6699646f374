/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the schema in pre-order fills the arrays of a slab from nodes and buffers (B.6, B.8); what the values must satisfy is
 * then left to csf_array_validate, which is told the size of every buffer.
 */
#include "ipc/batch_read.h"

#include <inttypes.h>

#include "ipc/batch_reader.h"
#include "ipc/format_tables.h"
#include "ipc/lengths.h"
#include "ipc/limits.h"
#include "ipc/message_shape.h"

static enum colshuf_status read_array(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array);

static enum colshuf_status take_node(struct csf_batch_reader *r, struct ArrowArray *array) {
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
static inline enum colshuf_status take_buffer(struct csf_batch_reader *r, struct ArrowArray *array, int i, uint32_t alignment) {
  struct csf_span span = {0};
  CSF_TRY(csf_body_take(&r->body, alignment, &span));
  array->buffers[i] = span.data;
  r->sizes[r->n_sizes++] = (int64_t)span.size;
  return COLSHUF_OK;
}

/* A bitmap of an array without nulls says nothing: it is taken, and dropped. */
static inline enum colshuf_status take_validity(struct csf_batch_reader *r, struct ArrowArray *array) {
  CSF_TRY(take_buffer(r, array, 0, 1));
  if (array->null_count != 0) return COLSHUF_OK;
  array->buffers[0] = NULL;
  r->sizes[r->n_sizes - 1] = 0;
  return COLSHUF_OK;
}

/* Transposed lengths become offsets in memory of the slab. */
static enum colshuf_status offsets_from_lengths(struct csf_batch_reader *r, struct ArrowArray *array, int width) {
  int64_t size = r->sizes[r->n_sizes - 1], needed;
  if (csf_multiply_overflow(array->length, (int64_t)width, &needed) || csf_add_overflow(needed, (int64_t)width, &needed) ||
      needed > size) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "offsets of %" PRId64 " values take more than the buffer's %" PRId64 " bytes", array->length,
                    size);
  }
  void *offsets = array->length == r->length ? r->lengths_memory : NULL; /* whose room is for columns of that length */
  if (offsets == NULL) CSF_TRY(csf_slab_alloc(r->body.slab, (size_t)needed, &offsets, r->err));
  else r->lengths_memory += csf_round_up((uint64_t)needed, CSF_ALIGNMENT);
  /* Whether the end lies within the data is checked with the offsets themselves, later. */
  CSF_TRY(csf_offsets_from_lengths(offsets, array->buffers[1], array->length + 1, width, INT64_MAX, r->err));
  array->buffers[1] = offsets;
  r->sizes[r->n_sizes - 1] = needed;
  return COLSHUF_OK;
}

/*
 * The offset of no values is nobody's: writers leave there what a slice began at. What is handed out has a 0, for whoever looks at it all the same;
 * a negative one is damage.
 */
static enum colshuf_status lone_offset(struct csf_batch_reader *r, struct ArrowArray *array, int width) {
  int64_t size = r->sizes[r->n_sizes - 1], offset = size < width ? 0 : csf_offset_at(array->buffers[1], 0, width == 8);
  if (offset < 0) return csf_fail(r->err, COLSHUF_CORRUPT, "no values, but offset %" PRId64, offset);
  array->buffers[1] = csf_body_zeros;
  r->sizes[r->n_sizes - 1] = width;
  return COLSHUF_OK;
}

/* n + 1 offsets; for no values, none may stand there, which means one 0. */
static enum colshuf_status take_offsets(struct csf_batch_reader *r, struct ArrowArray *array, int width) {
  uint32_t alignment = r->options->offsets_as_lengths ? 1 : (uint32_t)width;
  CSF_TRY(take_buffer(r, array, 1, alignment));
  if (array->length == 0) return lone_offset(r, array, width);
  return r->options->offsets_as_lengths ? offsets_from_lengths(r, array, width) : COLSHUF_OK;
}

static enum colshuf_status read_fixed(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(take_validity(r, array));
  return take_buffer(r, array, 1, csf_value_alignment(field));
}

static enum colshuf_status read_bits(struct csf_batch_reader *r, struct ArrowArray *array) {
  CSF_TRY(take_validity(r, array));
  return take_buffer(r, array, 1, 1);
}

static enum colshuf_status read_binary(struct csf_batch_reader *r, struct ArrowArray *array, int width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_offsets(r, array, width));
  return take_buffer(r, array, 2, 1);
}

static enum colshuf_status take_variadic_count(struct csf_batch_reader *r, int64_t *out) {
  if (r->variadic.count == 0) return csf_fail(r->err, COLSHUF_CORRUPT, "no variadic buffer count is left for it");
  *out = csf_load_i64(r->variadic.data);
  r->variadic.data += 8;
  r->variadic.count--;
  if (*out >= 0 && *out <= r->body.n_left) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "variadic buffer count %" PRId64 ", %" PRIu32 " buffers are left", *out, r->body.n_left);
}

static enum colshuf_status read_view(struct csf_batch_reader *r, struct ArrowArray *array) {
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

static enum colshuf_status read_children(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(read_array(r, &field->children[i], array->children[i]));
  return COLSHUF_OK;
}

/* Children of structs and sparse unions have the parent's rows, no more (the C Data Interface would allow it). */
static enum colshuf_status read_equal_children(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(read_children(r, field, array));
  for (int32_t i = 0; i < field->n_children; i++) {
    if (array->children[i]->length == array->length) continue;
    return csf_fail(r->err, COLSHUF_CORRUPT, "child %" PRId32 " \"%.64s\" has %" PRId64 " values, its parent %" PRId64, i,
                    field->children[i].name, array->children[i]->length, array->length);
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_list(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array, int width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_offsets(r, array, width));
  return read_children(r, field, array);
}

static enum colshuf_status read_list_view(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array,
                                          uint32_t width) {
  CSF_TRY(take_validity(r, array));
  CSF_TRY(take_buffer(r, array, 1, width));
  CSF_TRY(take_buffer(r, array, 2, width));
  return read_children(r, field, array);
}

static enum colshuf_status no_nulls_here(struct csf_batch_reader *r, const struct csf_field *field, const struct ArrowArray *array) {
  if (array->null_count == 0) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "%s has no validity, but null count %" PRId64, csf_type_name(field->type), array->null_count);
}

static enum colshuf_status read_union(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
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

static enum colshuf_status read_run_ends(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(no_nulls_here(r, field, array));
  return read_children(r, field, array);
}

static enum colshuf_status read_layout(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
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

static enum colshuf_status attach_dictionary(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  size_t place = csf_batch_plan_find(r->plan, field->dictionary_id);
  struct csf_dictionary *dictionary = place < r->plan->n_dictionaries ? &r->dictionaries->items[place] : NULL;
  if (dictionary == NULL || !csf_dictionary_is_known(dictionary)) {
    return csf_fail(r->err, COLSHUF_CORRUPT, "no dictionary of id %" PRId64 " came before it", field->dictionary_id);
  }
  struct csf_dictionary_values *values;
  CSF_TRY(csf_dictionary_show(dictionary, field->dictionary, &r->options->allocator, &values, r->err));
  CSF_TRY(csf_slab_attach(r->body.slab, csf_dictionary_values_release, values, r->err));
  atomic_fetch_add_explicit(&values->references, 1, memory_order_relaxed);
  share_values(&values->array, array->dictionary);
  return COLSHUF_OK;
}

static enum colshuf_status read_array(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *array) {
  CSF_TRY(take_node(r, array));
  CSF_TRY(read_layout(r, field, array));
  return field->dictionary == NULL ? COLSHUF_OK : attach_dictionary(r, field, array);
}

static enum colshuf_status validate(struct csf_batch_reader *r, const struct csf_field *field, const struct ArrowArray *array) {
  struct csf_buffer_sizes sizes = {r->sizes, (int64_t)r->n_sizes};
  enum csf_validate_level level = csf_validate_level_of(r->options->trust);
  enum colshuf_status status = csf_array_validate_with(field, array, &sizes, level, &r->options->allocator, r->err);
  if (status != COLSHUF_INVALID_ARGUMENT) return status;
  if (r->err != NULL) r->err->status = COLSHUF_CORRUPT; /* the arrays are made of bytes: theirs is the fault */
  return COLSHUF_CORRUPT;
}

/* Passes over an array that nobody wants. */
static enum colshuf_status skip_array(struct csf_batch_reader *r, const struct csf_field *field) {
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

static bool is_wanted(const struct csf_batch_reader *r, int32_t column) {
  const struct csf_column_set *columns = &r->options->columns;
  return columns->wanted == NULL || (column < columns->n && columns->wanted[column] != 0);
}

static enum colshuf_status read_column(struct csf_batch_reader *r, const struct csf_field *field, struct ArrowArray *column) {
  r->n_sizes = 0;
  CSF_TRY(read_array(r, field, column));
  if (column->length == r->length) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT, "%" PRId64 " values in a batch of %" PRId64 " rows", column->length, r->length);
}

/* The general way for one column, wanted or not. */
static enum colshuf_status take_column(struct csf_batch_reader *r, const struct csf_field *root, int32_t i, struct ArrowArray *column) {
  const struct csf_field *field = &root->children[i];
  bool wanted = is_wanted(r, i);
  enum colshuf_status status = wanted ? read_column(r, field, column) : skip_array(r, field);
  if (status != COLSHUF_OK) return csf_fail_context(r->err, status, "column %" PRId32 " \"%.64s\"", i, field->name);
  return wanted ? validate(r, field, column) : COLSHUF_OK; /* which names the column itself */
}

/* How many columns from i on are wanted. */
static int32_t count_wanted(const struct csf_batch_reader *r, int32_t i, int32_t n) {
  if (r->options->columns.wanted == NULL) return n - i;
  int32_t end = i;
  while (end < n && end - i < 64 && is_wanted(r, end)) end++; /* not all, lest odd columns in between make it quadratic */
  return end - i;
}

static enum colshuf_status read_columns(struct csf_batch_reader *r, const struct csf_field *root, const struct csf_column_plan *columns,
                                        struct ArrowArray *batch) {
  int32_t n = root->n_children, i = 0;
  batch->length = r->length;
  while (i < n) {
    i += csf_plain_columns_read(r, columns + i, root->children + i, batch->children + i, count_wanted(r, i, n));
    if (i == n) break;
    CSF_TRY(take_column(r, root, i, batch->children[i]));
    i++;
  }
  if (r->nodes.count == 0 && r->body.n_left == 0 && r->variadic.count == 0) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_CORRUPT,
                  "%" PRIu32 " field nodes, %" PRIu32 " buffers and %" PRIu32 " variadic counts are left over after the last column",
                  r->nodes.count, r->body.n_left, r->variadic.count);
}

void csf_batch_reader_init(struct csf_batch_reader *r, const struct csf_batch_plan *plan, const struct csf_message *message,
                           struct csf_dictionaries *dictionaries, const struct csf_batch_read_options *options,
                           int64_t *sizes_at_hand, struct colshuf_error *err) {
  *r = (struct csf_batch_reader){.plan = plan, .dictionaries = dictionaries, .options = options, .is_v4 = message->is_v4,
                                 .sizes = sizes_at_hand, .sizes_capacity = CSF_SIZES_AT_HAND, .err = err};
}

void csf_batch_reader_clear(struct csf_batch_reader *r, const int64_t *sizes_at_hand) {
  if (r->sizes != sizes_at_hand) csf_free(&r->options->allocator, r->sizes, r->sizes_capacity * sizeof *r->sizes);
}

/*
 * Buffers may lie anywhere in the body, on one another too, and what is checked or copied of each would then have no bound but their number. So
 * together they may be no more than a body may have.
 */
static enum colshuf_status check_overlap(struct csf_batch_reader *r, struct csf_fb_vector buffers, uint64_t body_size) {
  uint64_t most = csf_limit_decompressed_size(r->options->limits), sum = 0;
  if (CSF_LIKELY(!csf_multiply_overflow(body_size, (uint64_t)buffers.count, &sum) && sum <= most)) return COLSHUF_OK;
  sum = 0;
  for (uint32_t i = 0; i < buffers.count && sum <= most; i++) {
    uint64_t size = csf_load_u64(buffers.data + (size_t)i * CSF_BUFFER_SIZE + 8);
    if (size <= body_size) sum += size; /* a larger one is refused when it is taken */
  }
  if (sum <= most) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_LIMIT, "buffers that overlap: more than %" PRIu64 " bytes together (limits.max_decompressed_size) in a body of %" PRIu64,
                  most, body_size);
}

/* The same for every way to the numbers. */
static enum colshuf_status open_numbers(struct csf_batch_reader *r, int64_t length, struct csf_fb_vector nodes, struct csf_fb_vector buffers,
                                        struct csf_span body) {
  if (length < 0) return csf_fail(r->err, COLSHUF_CORRUPT, "record batch of %" PRId64 " rows", length);
  r->length = length;
  r->nodes = nodes;
  r->body.entry = buffers.data;
  r->body.n_left = buffers.count;
  r->body.body = body;
  r->body.codec = r->options->codec;
  r->body.allocator = r->options->allocator;
  r->body.max_size = csf_limit_decompressed_size(r->options->limits);
  r->body.err = r->err;
  CSF_TRY(check_overlap(r, buffers, body.size));
  /* Each buffer gives one size. */
  if (buffers.count <= r->sizes_capacity) return COLSHUF_OK;
  r->sizes = csf_alloc(&r->options->allocator, buffers.count * sizeof *r->sizes);
  r->sizes_capacity = buffers.count;
  return r->sizes == NULL ? csf_fail_memory(r->err, buffers.count * sizeof *r->sizes) : COLSHUF_OK;
}

enum colshuf_status csf_batch_reader_open(struct csf_batch_reader *r, const struct csf_message *message, struct csf_fb_table batch) {
  const struct csf_batch_places *places = message->places;
  if (places != NULL) {
    const uint8_t *start = message->framing.data;
    struct csf_fb_vector nodes = {start + places->nodes, places->n_nodes}, buffers = {start + places->buffers, places->n_buffers};
    return open_numbers(r, csf_load_i64(start + places->length), nodes, buffers, message->body);
  }
  CSF_TRY(csf_body_compression_read(csf_fb_child(batch, CSF_BATCH_COMPRESSION), &r->body.compression, r->err));
  r->variadic = csf_fb_elements(batch, CSF_BATCH_VARIADIC);
  return open_numbers(r, csf_fb_i64(batch, CSF_BATCH_LENGTH, 0), csf_fb_elements(batch, CSF_BATCH_NODES),
                      csf_fb_elements(batch, CSF_BATCH_BUFFERS), message->body);
}

/* Bytes for all offsets of the batch that are stored as lengths, or 0 where the columns had better ask one by one. */
static size_t lengths_size(const struct csf_batch_reader *r, const struct csf_field *root, const struct csf_column_plan *columns) {
  if (!r->options->offsets_as_lengths || r->length > INT32_MAX) return 0;
  uint64_t size = 0;
  for (int32_t i = 0; i < root->n_children; i++) {
    if (!is_wanted(r, i)) continue;
    if (columns[i].kind == CSF_COLUMN_GENERAL && root->children[i].n_children > 0) return 0; /* nested ones: lengths of their own */
    if (columns[i].kind < CSF_COLUMN_OFFSETS32) continue;
    size += csf_round_up(((uint64_t)r->length + 1) * (uint64_t)columns[i].width, CSF_ALIGNMENT);
    /* They stand in the body in as many bytes: more than it has is a lie, and is refused at its column. */
    if (size > r->body.body.size + (uint64_t)CSF_ALIGNMENT * (uint64_t)root->n_children) return 0;
  }
  return (size_t)size;
}

static enum colshuf_status new_arrays(struct csf_batch_reader *r, const struct csf_array_shape *shape, bool copy, size_t lengths,
                                      struct ArrowArray *batch) {
  uint8_t *memory = NULL;
  bool all = r->options->columns.wanted == NULL;
  bool whole = copy && all && r->body.compression == CSF_BODY_PLAIN && r->body.body.size > 0;
  r->body.copy = copy && !all; /* buffer by buffer */
  size_t body_size = whole ? csf_round_up(r->body.body.size, CSF_ALIGNMENT) : 0;
  CSF_TRY(csf_array_new_shaped(&r->options->allocator, shape, body_size + lengths, batch, &memory, &r->body.slab, r->err));
  if (whole) {
    memcpy(memory, r->body.body.data, r->body.body.size);
    r->body.body.data = memory;
  }
  if (lengths > 0) r->lengths_memory = memory + body_size;
  return COLSHUF_OK;
}

/*
 * Asked last: a number of rows that the columns do not have is damage, and no question of limits. Nothing is allocated by the number alone, and what
 * there is to be looked at, the body holds.
 */
static enum colshuf_status check_row_limit(const struct csf_batch_reader *r) {
  int64_t most = csf_limit_rows(r->options->limits);
  if (CSF_LIKELY(r->length <= most)) return COLSHUF_OK;
  return csf_fail(r->err, COLSHUF_LIMIT, "record batch of %" PRId64 " rows, the limit is %" PRId64, r->length, most);
}

enum colshuf_status csf_batch_reader_read(struct csf_batch_reader *r, const struct csf_field *root, const struct csf_column_plan *columns,
                                          const struct csf_array_shape *shape, bool copy, struct ArrowArray *out) {
  struct ArrowArray batch;
  CSF_TRY(new_arrays(r, shape, copy, lengths_size(r, root, columns), &batch));
  enum colshuf_status status = read_columns(r, root, columns, &batch);
  if (status == COLSHUF_OK) status = check_row_limit(r);
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  *out = batch;
  return COLSHUF_OK;
}

enum colshuf_status csf_batch_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                   struct csf_dictionaries *dictionaries, const struct csf_batch_read_options *options,
                                   struct ArrowArray *out, struct csf_slab **slab, struct colshuf_error *err) {
  if (message->kind != CSF_MESSAGE_BATCH) return csf_fail(err, COLSHUF_CORRUPT, "the message is not a record batch");
  const struct csf_schema *schema = plan->schema;
  if (options->offsets_as_lengths && (schema->has_dictionary || schema->has_view)) {
    return csf_fail(err, COLSHUF_CORRUPT, "offsets stored as lengths in a schema with a %s", schema->has_view ? "view" : "dictionary");
  }
  struct csf_batch_reader r;
  int64_t sizes[CSF_SIZES_AT_HAND];
  csf_batch_reader_init(&r, plan, message, dictionaries, options, sizes, err);
  struct csf_fb_table batch = {NULL, NULL, 0};
  if (message->places == NULL) batch = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  enum colshuf_status status = csf_batch_reader_open(&r, message, batch);
  if (status == COLSHUF_OK) status = csf_batch_reader_read(&r, &schema->root, plan->columns, plan->shape, options->copy, out);
  if (status == COLSHUF_OK && slab != NULL) *slab = r.body.slab;
  csf_batch_reader_clear(&r, sizes);
  return status;
}
