/* SPDX-License-Identifier: Apache-2.0 */
#include "block/choice.h"

#include "block/compat.h"
#include "ipc/schema_message.h"

enum {
  SAMPLE_ROWS = 1024,
  SAMPLE_SHARE = 4, /* of the sampled rows, at most one in four may bring a new value */
  BLOCK_SHARE = 8   /* of a block's rows, one in eight */
};

static enum colshuf_status open_columns(struct csf_choice *c, size_t n, struct colshuf_error *err) {
  c->eligible = csf_alloc_zero(&c->allocator, 4 * n);
  c->builds = csf_alloc_zero(&c->allocator, n * sizeof *c->builds);
  if (c->eligible == NULL || c->builds == NULL) return csf_fail_memory(err, n * sizeof *c->builds);
  c->candidate = c->eligible + n;
  c->built = c->candidate + n;
  c->named = c->built + n;
  for (size_t i = 0; i < n; i++) csf_dictionary_build_init(&c->builds[i], &c->allocator);
  return COLSHUF_OK;
}

enum colshuf_status csf_choice_init(struct csf_choice *c, const struct csf_schema *schema, enum colshuf_compat compat,
                                    const struct colshuf_allocator *allocator, struct colshuf_error *err) {
  *c = (struct csf_choice){.allocator = *allocator, .schema = schema};
  size_t n = (size_t)schema->root.n_children;
  if (n == 0) return COLSHUF_OK;
  CSF_TRY(open_columns(c, n, err));
  for (size_t i = 0; i < n; i++) {
    const struct csf_field *field = &schema->root.children[i];
    c->eligible[i] = (uint8_t)(csf_dictionary_build_takes(field) && csf_compat_dictionary_of(compat, field));
    if (c->eligible[i]) c->enabled = true;
  }
  return COLSHUF_OK;
}

void csf_choice_clear(struct csf_choice *c) {
  size_t n = c->schema == NULL ? 0 : (size_t)c->schema->root.n_children;
  for (size_t i = 0; c->builds != NULL && i < n; i++) csf_dictionary_build_clear(&c->builds[i]);
  csf_free(&c->allocator, c->builds, n * sizeof *c->builds);
  csf_free(&c->allocator, c->eligible, 4 * n);
  csf_schema_release(c->variant);
  *c = (struct csf_choice){0};
}

void csf_choice_forget(struct csf_choice *c) {
  csf_schema_release(c->variant);
  c->variant = NULL;
}

enum colshuf_status csf_choice_sample(struct csf_choice *c, const struct ArrowArray *batch, int64_t start, int64_t length, bool *any,
                                      struct colshuf_error *err) {
  int64_t n = length < SAMPLE_ROWS ? length : SAMPLE_ROWS;
  *any = false;
  for (int32_t i = 0; i < c->schema->root.n_children; i++) {
    c->candidate[i] = 0;
    if (!c->eligible[i]) continue;
    bool few;
    CSF_TRY(csf_dictionary_build_run(&c->builds[i], &c->schema->root.children[i], batch->children[i], batch->offset + start, n,
                                     n / SAMPLE_SHARE, &few, err));
    c->candidate[i] = (uint8_t)few;
    *any |= few;
  }
  return COLSHUF_OK;
}

/* The column of a schema being built becomes a dictionary of what it was. */
static bool name_dictionary(struct csf_arena *arena, struct csf_field *column) {
  struct csf_field *values = csf_arena_alloc(arena, sizeof *values);
  if (values == NULL) return false;
  *values = *column;
  values->name = "";
  values->n_metadata = 0;
  values->metadata = NULL;
  column->type = CSF_INT32;
  column->timezone = NULL;
  column->precision = column->scale = 0;
  column->dictionary = values;
  return true;
}

static enum colshuf_status make_variant(struct csf_choice *c, struct colshuf_error *err) {
  struct csf_schema *schema = csf_schema_new(&c->allocator);
  bool refused = schema == NULL || !csf_field_copy(&schema->arena, &c->schema->root, &schema->root);
  for (size_t i = 0; !refused && i < (size_t)c->schema->root.n_children; i++) {
    if (c->built[i]) refused = !name_dictionary(&schema->arena, &schema->root.children[i]);
  }
  enum colshuf_status status;
  if (refused) {
    status = csf_fail_memory(err, sizeof *schema);
  } else {
    status = csf_schema_finish(schema, NULL, err);
  }
  if (status != COLSHUF_OK) {
    csf_schema_release(schema);
    return status;
  }
  csf_schema_number_dictionaries(schema);
  csf_schema_release(c->variant);
  c->variant = schema;
  memcpy(c->named, c->built, (size_t)c->schema->root.n_children);
  return COLSHUF_OK;
}

enum colshuf_status csf_choice_apply(struct csf_choice *c, const struct ArrowArray *batch, int64_t start, int64_t length,
                                     struct ArrowArray *columns, bool *any, bool *schema_changed, struct colshuf_error *err) {
  int32_t n = c->schema->root.n_children;
  *any = *schema_changed = false;
  for (int32_t i = 0; i < n; i++) {
    bool built = false;
    if (c->candidate[i]) {
      CSF_TRY(csf_dictionary_build_run(&c->builds[i], &c->schema->root.children[i], batch->children[i], batch->offset + start,
                                       length, length / BLOCK_SHARE, &built, err));
    }
    c->built[i] = (uint8_t)built;
    if (built) columns[i] = c->builds[i].array;
    *any |= built;
  }
  if (!*any || (c->variant != NULL && memcmp(c->named, c->built, (size_t)n) == 0)) return COLSHUF_OK;
  *schema_changed = true;
  return make_variant(c, err);
}
