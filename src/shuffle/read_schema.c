/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/read_schema.h"

#include <inttypes.h>

#include "arrow/gather.h"
#include "shuffle/growing.h"

/* Lets field and everything below it be null, but what the format says never is: entries and keys of maps, run ends. */
static void widen(struct csf_field *field, bool is_fixed) {
  if (!is_fixed) field->nullable = true;
  for (int32_t c = 0; c < field->n_children; c++) {
    bool entries = field->type == CSF_MAP, ends = field->type == CSF_RUN_END_ENCODED && c == 0;
    widen(&field->children[c], entries || ends);
    if (entries) field->children[c].children[0].nullable = false;
  }
  if (field->dictionary != NULL) widen(field->dictionary, false);
}

static enum colshuf_status add_column(struct csf_read_schema *schema, const struct csf_field *source, bool keep_dictionaries,
                                      struct csf_field *out, struct colshuf_error *err) {
  struct csf_arena *arena = &schema->announced->arena;
  struct csf_field plain = *source;
  if (!keep_dictionaries && !csf_field_unpack(arena, source, &plain)) return csf_fail_memory(err, sizeof plain);
  if (!csf_field_copy(arena, &plain, out)) return csf_fail_memory(err, sizeof plain);
  if (!schema->is_expected) widen(out, false);
  return COLSHUF_OK;
}

static enum colshuf_status announce(struct csf_read_schema *schema, bool keep_dictionaries, struct colshuf_error *err) {
  const struct csf_field *source = &schema->reference->root;
  schema->announced = csf_schema_new(&schema->allocator);
  if (schema->announced == NULL) return csf_fail_memory(err, sizeof *schema->announced);
  struct csf_field *root = &schema->announced->root, copy;
  struct csf_field without_columns = *source; /* its name and metadata are copied by the same means as any field's */
  without_columns.n_children = 0;
  without_columns.children = NULL;
  if (!csf_field_copy(&schema->announced->arena, &without_columns, &copy)) return csf_fail_memory(err, sizeof copy);
  copy.n_children = schema->n_columns;
  if (schema->n_columns > 0)
    copy.children = csf_arena_alloc(&schema->announced->arena, (size_t)schema->n_columns * sizeof copy);
  if (schema->n_columns > 0 && copy.children == NULL) return csf_fail_memory(err, (size_t)schema->n_columns * sizeof copy);
  *root = copy;
  for (int32_t c = 0; c < schema->n_columns; c++) {
    CSF_TRY(add_column(schema, &source->children[schema->columns[c]], keep_dictionaries, &root->children[c], err));
  }
  /* The reference passed the reader's limits: what is made of it is not larger. */
  struct colshuf_limits none = {.max_depth = UINT32_MAX, .max_fields = UINT32_MAX};
  CSF_TRY(csf_schema_finish(schema->announced, &none, err));
  return csf_array_shape_new(&schema->allocator, root, true, &schema->shape, err);
}

/* Which columns came before, in one pass: there may be very many. */
static enum colshuf_status find_repeats(struct csf_read_schema *schema, int32_t n_found, struct colshuf_error *err) {
  size_t size = (size_t)n_found * sizeof(bool);
  if (schema->n_columns == 0) return COLSHUF_OK;
  bool *met = csf_alloc_zero(&schema->allocator, size);
  schema->repeats = csf_alloc_zero(&schema->allocator, (size_t)schema->n_columns * sizeof *schema->repeats);
  bool done = met != NULL && schema->repeats != NULL;
  for (int32_t c = 0; done && c < schema->n_columns; c++) {
    schema->repeats[c] = met[schema->columns[c]];
    met[schema->columns[c]] = true;
  }
  csf_free(&schema->allocator, met, size);
  return done ? COLSHUF_OK : csf_fail_memory(err, size);
}

static enum colshuf_status choose_columns(struct csf_read_schema *schema, const struct csf_read_columns *wanted,
                                          struct colshuf_error *err) {
  int32_t n_found = schema->reference->root.n_children;
  int32_t n = wanted->columns == NULL ? n_found : wanted->n_columns;
  if (n < 0) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%" PRId32 " columns are wanted", n);
  if (n > 0) schema->columns = csf_alloc(&schema->allocator, (size_t)n * sizeof *schema->columns);
  if (n > 0 && schema->columns == NULL) return csf_fail_memory(err, (size_t)n * sizeof *schema->columns);
  schema->n_columns = n;
  for (int32_t c = 0; c < n; c++) {
    int32_t column = wanted->columns == NULL ? c : wanted->columns[c];
    if (column < 0 || column >= n_found) {
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "column %" PRId32 " is wanted, there are %" PRId32, column, n_found);
    }
    schema->columns[c] = column;
  }
  return find_repeats(schema, n_found, err);
}

enum colshuf_status csf_read_schema_init(struct csf_read_schema *schema, struct csf_schema *reference, bool is_expected,
                                         bool keep_dictionaries, const struct csf_read_columns *wanted,
                                         const struct colshuf_allocator *allocator, struct colshuf_error *err) {
  struct csf_read_schema made = {
      .reference = csf_schema_retain(reference), .is_expected = is_expected, .allocator = csf_allocator(allocator)};
  enum colshuf_status status = choose_columns(&made, wanted, err);
  if (status == COLSHUF_OK) status = announce(&made, keep_dictionaries, err);
  if (status != COLSHUF_OK) {
    csf_read_schema_clear(&made);
    return status;
  }
  *schema = made;
  return COLSHUF_OK;
}

void csf_read_schema_clear(struct csf_read_schema *schema) {
  if (schema->columns != NULL)
    csf_free(&schema->allocator, schema->columns, (size_t)schema->n_columns * sizeof *schema->columns);
  csf_free(&schema->allocator, schema->repeats, (size_t)schema->n_columns * sizeof *schema->repeats);
  csf_array_shape_free(schema->shape);
  csf_schema_release(schema->announced);
  csf_schema_release(schema->reference);
  *schema = (struct csf_read_schema){.allocator = schema->allocator};
}

/* Whether found may hold nulls where announced does not. */
static bool is_narrowed(const struct csf_field *found, const struct csf_field *announced) {
  if (found->nullable && !announced->nullable) return true;
  if (found->dictionary != NULL && announced->dictionary == NULL) return is_narrowed(found->dictionary, announced);
  for (int32_t c = 0; c < announced->n_children; c++) {
    if (is_narrowed(&found->children[c], &announced->children[c])) return true;
  }
  return false;
}

static void fit_column(const struct csf_read_schema *schema, int32_t c, struct csf_block_fit *fit) {
  const struct csf_field *found = &fit->schema->root.children[schema->columns[c]],
                         *announced = &schema->announced->root.children[c];
  struct csf_column_fit *column = &fit->columns[c];
  column->direct =
      csf_field_equal(found, announced, CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA) && !schema->repeats[c];
  column->recheck = is_narrowed(found, announced);
  fit->recheck |= column->recheck;
  fit->is_flat &= csf_growing_suits(found) && csf_growing_suits(announced);
  fit->whole &= column->direct && schema->columns[c] == c;
}

static size_t fit_size(const struct csf_read_schema *schema) {
  return sizeof(struct csf_block_fit) + (size_t)schema->n_columns * sizeof(struct csf_column_fit);
}

enum colshuf_status csf_block_fit_new(const struct csf_read_schema *schema, struct csf_schema *found,
                                      struct csf_block_fit **out, struct colshuf_error *err) {
  CSF_TRY(csf_schema_check_expected(found, schema->reference, err));
  struct csf_block_fit *fit = csf_alloc_zero(&schema->allocator, fit_size(schema));
  if (fit == NULL) return csf_fail_memory(err, fit_size(schema));
  fit->references = 1;
  fit->schema = csf_schema_retain(found);
  fit->whole = schema->n_columns == found->root.n_children;
  fit->is_flat = schema->n_columns > 0;
  for (int32_t c = 0; c < schema->n_columns; c++) fit_column(schema, c, fit);
  *out = fit;
  return COLSHUF_OK;
}

void csf_block_fit_release(const struct csf_read_schema *schema, struct csf_block_fit *fit) {
  if (fit == NULL || --fit->references > 0) return;
  csf_schema_release(fit->schema);
  csf_free(&schema->allocator, fit, fit_size(schema));
}
