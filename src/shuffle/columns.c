/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of columns: made, emptied, shown as an array; the choice of what appends to a layout is made here. */
#include "shuffle/columns.h"

#include "arrow/array.h"

static void *heap_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  const struct colshuf_allocator *allocator = ctx;
  if (new_size != 0) return csf_realloc(allocator, pointer, old_size, new_size);
  csf_free(allocator, pointer, old_size);
  return NULL;
}

struct csf_column_memory csf_column_heap(const struct colshuf_allocator *allocator) {
  return (struct csf_column_memory){heap_resize, (void *)allocator};
}

static enum colshuf_status init_node(struct csf_columns *columns, struct csf_column *node, const struct csf_field *field,
                                     struct colshuf_error *err) {
  node->field = field;
  node->memory = &columns->memory;
  csf_buffer_init(&node->rows, &columns->arena.allocator);
  if (field->n_children == 0) return COLSHUF_OK;
  size_t size = (size_t)field->n_children * sizeof *node->children;
  node->children = csf_arena_alloc(&columns->arena, size);
  if (node->children == NULL) return csf_fail_memory(err, size);
  node->n_children = field->n_children;
  for (int32_t i = 0; i < node->n_children; i++) {
    CSF_TRY(init_node(columns, &node->children[i], &field->children[i], err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_columns_init(struct csf_columns *columns, const struct csf_field *root,
                                     const struct colshuf_allocator *allocator, struct csf_column_memory memory,
                                     struct colshuf_error *err) {
  *columns = (struct csf_columns){.memory = memory};
  csf_arena_init(&columns->arena, allocator);
  return init_node(columns, &columns->root, root, err);
}

static void free_bytes(const struct csf_column_memory *memory, struct csf_column_bytes *bytes) {
  if (bytes->data != NULL) memory->resize(memory->ctx, bytes->data, bytes->capacity, 0);
  *bytes = (struct csf_column_bytes){0};
}

static void clear_node(struct csf_column *node) {
  if (node->memory == NULL) return; /* the making of the tree failed before it came here */
  free_bytes(node->memory, &node->validity);
  free_bytes(node->memory, &node->main);
  free_bytes(node->memory, &node->extra);
  csf_buffer_clear(&node->rows);
  for (int32_t i = 0; i < node->n_children; i++) clear_node(&node->children[i]);
}

void csf_columns_free_memory(struct csf_columns *columns) {
  clear_node(&columns->root);
  csf_columns_reset(columns);
}

void csf_columns_clear(struct csf_columns *columns) {
  clear_node(&columns->root);
  csf_arena_clear(&columns->arena);
  columns->root = (struct csf_column){0};
}

static void reset_node(struct csf_column *node) {
  node->length = 0;
  node->null_count = 0;
  node->has_validity = false;
  node->validity.size = node->main.size = node->extra.size = 0;
  for (int32_t i = 0; i < node->n_children; i++) reset_node(&node->children[i]);
}

void csf_columns_reset(struct csf_columns *columns) {
  reset_node(&columns->root);
}

static void forget_node(struct csf_column *node) {
  node->validity = node->main = node->extra = (struct csf_column_bytes){0};
  for (int32_t i = 0; i < node->n_children; i++) forget_node(&node->children[i]);
}

void csf_columns_forget(struct csf_columns *columns) {
  reset_node(&columns->root);
  forget_node(&columns->root);
}

enum colshuf_status csf_column_need(struct csf_column *column, struct csf_column_bytes *bytes, size_t more,
                                    struct colshuf_error *err) {
  if (more > SIZE_MAX / 4) return csf_fail_memory(err, more);
  size_t wanted = bytes->size + more + CSF_COLUMN_SLACK;
  if (wanted <= bytes->capacity) return COLSHUF_OK;
  size_t capacity = bytes->capacity + bytes->capacity / 2;
  if (capacity < wanted) capacity = wanted;
  capacity = csf_round_up(capacity, CSF_ALIGNMENT);
  void *data = column->memory->resize(column->memory->ctx, bytes->data, bytes->capacity, capacity);
  if (data == NULL) return csf_fail_memory(err, capacity);
  bytes->data = data;
  bytes->capacity = capacity;
  return COLSHUF_OK;
}

enum colshuf_status csf_column_fail_limit(const struct csf_column *column, struct colshuf_error *err) {
  char type[96];
  csf_field_describe(column->field, type, sizeof type);
  return csf_fail(err, COLSHUF_LIMIT, "column \"%s\" (%s): more values or bytes in one array than its type can count",
                  column->field->name, type);
}

typedef enum colshuf_status add_fn(struct csf_column *, const struct ArrowArray *, struct csf_rows, struct colshuf_error *);

static enum colshuf_status add_null(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                    struct colshuf_error *err) {
  (void)array, (void)err;
  column->null_count += rows.n;
  return COLSHUF_OK;
}

static add_fn *const add_to_layout[] = {
    [CSF_LAYOUT_NULL] = add_null,
    [CSF_LAYOUT_BITS] = csf_column_add_bits,
    [CSF_LAYOUT_FIXED] = csf_column_add_fixed,
    [CSF_LAYOUT_BINARY32] = csf_column_add_binary,
    [CSF_LAYOUT_BINARY64] = csf_column_add_binary,
    [CSF_LAYOUT_VIEW] = csf_column_add_view,
    [CSF_LAYOUT_LIST32] = csf_column_add_list,
    [CSF_LAYOUT_LIST64] = csf_column_add_list,
    [CSF_LAYOUT_LIST_VIEW32] = csf_column_add_list_view,
    [CSF_LAYOUT_LIST_VIEW64] = csf_column_add_list_view,
    [CSF_LAYOUT_FIXED_LIST] = csf_column_add_fixed_list,
    [CSF_LAYOUT_STRUCT] = csf_column_add_struct,
    [CSF_LAYOUT_SPARSE_UNION] = csf_column_add_sparse_union,
    [CSF_LAYOUT_DENSE_UNION] = csf_column_add_dense_union,
    [CSF_LAYOUT_RUN_END] = csf_column_add_run_end,
};

enum colshuf_status csf_column_add(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                   struct colshuf_error *err) {
  enum csf_layout layout = column->field->layout;
  if (rows.n == 0) return COLSHUF_OK;
  if (csf_layout_has_bitmap(layout)) CSF_TRY(csf_column_add_validity(column, array, rows, err));
  CSF_TRY(add_to_layout[layout](column, array, rows, err));
  column->length += rows.n;
  return COLSHUF_OK;
}

enum colshuf_status csf_columns_append(struct csf_columns *columns, const struct ArrowArray *batch, struct csf_rows rows,
                                       struct colshuf_error *err) {
  return csf_column_add(&columns->root, batch, rows, err);
}

/*
 * An array tree in one piece of memory: for each node its struct, its buffer pointers, its child pointers, and for views the
 * place of the sizes of its data buffers.
 */
enum { MAX_BUFFERS = 4 };

struct tree_node {
  struct ArrowArray array;
  const void *buffers[MAX_BUFFERS];
  int64_t variadic_size;
  int64_t padding;
};

static size_t children_size(const struct csf_field *field) {
  return csf_round_up((uint64_t)field->n_children * sizeof(struct ArrowArray *), 16);
}

size_t csf_array_tree_size(const struct csf_field *field) {
  size_t size = sizeof(struct tree_node) + children_size(field);
  for (int32_t i = 0; i < field->n_children; i++) size += csf_array_tree_size(&field->children[i]);
  return size;
}

static void release_view(struct ArrowArray *array) {
  array->release = NULL;
}

static struct ArrowArray *build_node(const struct csf_field *field, uint8_t **place) {
  struct tree_node *node = (struct tree_node *)(void *)*place;
  *place += sizeof *node;
  *node = (struct tree_node){.array = {.release = release_view, .n_children = field->n_children}};
  node->array.buffers = node->buffers;
  node->array.n_buffers = csf_layout_n_buffers(field->layout);
  if (field->n_children > 0) node->array.children = (struct ArrowArray **)(void *)*place;
  *place += children_size(field);
  for (int32_t i = 0; i < field->n_children; i++) node->array.children[i] = build_node(&field->children[i], place);
  return &node->array;
}

struct ArrowArray *csf_array_tree_build(const struct csf_field *field, void *place) {
  uint8_t *cursor = place;
  return build_node(field, &cursor);
}

/* validity, views, (data buffer,) sizes of the data buffers */
static void show_view_buffers(struct csf_column *column, struct ArrowArray *array) {
  struct tree_node *node = (struct tree_node *)(void *)array;
  bool has_data = column->extra.size > 0;
  node->variadic_size = (int64_t)column->extra.size;
  node->buffers[1] = column->main.data;
  node->buffers[2] = has_data ? (const void *)column->extra.data : NULL;
  node->buffers[has_data ? 3 : 2] = has_data ? &node->variadic_size : NULL;
  array->n_buffers = has_data ? 4 : 3;
}

static void show_buffers(struct csf_column *column, struct ArrowArray *array) {
  const void **buffers = array->buffers;
  int64_t at = 0;
  if (csf_layout_has_bitmap(column->field->layout)) {
    buffers[at++] = column->has_validity ? column->validity.data : NULL;
  }
  if (column->field->layout == CSF_LAYOUT_VIEW) {
    show_view_buffers(column, array);
    return;
  }
  if (at < array->n_buffers) buffers[at++] = column->main.data;
  if (at < array->n_buffers) buffers[at++] = column->extra.data;
}

static void show_node(struct csf_column *column, struct ArrowArray *array) {
  array->length = column->length;
  array->null_count = column->null_count;
  array->offset = 0;
  array->dictionary = (struct ArrowArray *)column->dictionary;
  show_buffers(column, array);
  for (int32_t i = 0; i < column->n_children; i++) show_node(&column->children[i], array->children[i]);
}

void csf_columns_show(struct csf_columns *columns, struct ArrowArray *array) {
  show_node(&columns->root, array);
}
