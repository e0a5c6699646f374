/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/keys.h"

#include <inttypes.h>

#include "arrow/array.h"

static enum colshuf_status check_index(const struct csf_keys *keys, const int32_t *indices, int32_t i,
                                       struct colshuf_error *err) {
  int32_t n_fields = keys->schema->root.n_children;
  if (indices[i] < 0 || indices[i] >= n_fields) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "key %d is column %d, but the schema has %d columns", i, indices[i],
                    n_fields);
  }
  for (int32_t j = 0; j < i; j++) {
    if (indices[j] == indices[i]) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "keys %d and %d are both column %d", j, i, indices[i]);
    }
  }
  return COLSHUF_OK;
}

static enum colshuf_status choose_columns(struct csf_keys *keys, const int32_t *indices, int32_t n_columns, enum csf_use use,
                                          struct colshuf_error *err) {
  const struct csf_field *root = &keys->schema->root;
  keys->n_columns = n_columns < 0 ? root->n_children : n_columns;
  keys->indices = csf_arena_alloc(&keys->arena, (size_t)keys->n_columns * sizeof *keys->indices);
  keys->columns = csf_arena_alloc(&keys->arena, (size_t)keys->n_columns * sizeof *keys->columns);
  if (keys->indices == NULL || keys->columns == NULL) {
    return csf_fail_memory(err, (size_t)keys->n_columns * (sizeof *keys->indices + sizeof *keys->columns));
  }
  for (int32_t i = 0; i < keys->n_columns; i++) {
    keys->indices[i] = indices != NULL ? indices[i] : i;
    CSF_TRY(check_index(keys, keys->indices, i, err));
    CSF_TRY(csf_column_build(&keys->columns[i], &root->children[keys->indices[i]], use, &keys->arena, err));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_keys_init(struct csf_keys *keys, const struct ArrowSchema *schema, const int32_t *indices,
                                  int32_t n_columns, enum csf_use use, const struct colshuf_allocator *allocator,
                                  struct colshuf_error *err) {
  *keys = (struct csf_keys){0};
  CSF_TRY(csf_schema_import(schema, allocator, NULL, &keys->schema, err));
  csf_arena_init(&keys->arena, allocator);
  enum colshuf_status status = choose_columns(keys, indices, n_columns, use, err);
  if (status != COLSHUF_OK) csf_keys_clear(keys);
  return status;
}

void csf_keys_clear(struct csf_keys *keys) {
  if (keys->schema == NULL) return;
  csf_arena_clear(&keys->arena);
  csf_schema_release(keys->schema);
  *keys = (struct csf_keys){0};
}

enum colshuf_status csf_keys_bind(struct csf_keys *keys, const struct ArrowArray *batch, struct colshuf_error *err) {
  if (batch == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there is no batch");
  CSF_TRY(csf_array_import_check(&keys->schema->root, batch, err));
  for (int32_t i = 0; i < keys->n_columns; i++) {
    csf_column_bind(&keys->columns[i], batch->children[keys->indices[i]], batch->offset);
  }
  return COLSHUF_OK;
}
