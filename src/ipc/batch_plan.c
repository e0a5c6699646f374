/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/batch_plan.h"

#include <inttypes.h>
#include <stdlib.h>

uint32_t csf_value_alignment(const struct csf_field *field) {
  if (field->type == CSF_FIXED_SIZE_BINARY) return 1;
  if (field->type == CSF_INTERVAL_DAY_TIME) return 4;
  if (field->type == CSF_INTERVAL_MONTH_DAY_NANO) return 8;
  return field->width > 16 ? 16 : (uint32_t)field->width;
}

static struct csf_column_plan plan_column(const struct csf_field *field) {
  struct csf_column_plan plan = {.kind = CSF_COLUMN_GENERAL};
  if (field->dictionary != NULL) return plan;
  plan.n_buffers = (uint8_t)csf_layout_n_buffers(field->layout);
  switch (field->layout) {
    case CSF_LAYOUT_BITS:
      plan.kind = CSF_COLUMN_BITS;
      plan.alignment = 1;
      break;
    case CSF_LAYOUT_FIXED:
      plan.kind = CSF_COLUMN_FIXED;
      plan.width = field->width;
      plan.alignment = (uint8_t)csf_value_alignment(field);
      break;
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
      plan.kind = field->layout == CSF_LAYOUT_BINARY32 ? CSF_COLUMN_OFFSETS32 : CSF_COLUMN_OFFSETS64;
      plan.width = field->layout == CSF_LAYOUT_BINARY32 ? 4 : 8;
      plan.alignment = (uint8_t)plan.width;
      plan.is_text = field->type == CSF_UTF8 || field->type == CSF_LARGE_UTF8;
      break;
    default:
      break;
  }
  return plan;
}

static enum colshuf_status add_dictionary(struct csf_batch_plan *plan, const struct csf_field *field, struct colshuf_error *err) {
  if (plan->n_dictionaries == plan->dictionaries_capacity) {
    size_t capacity = plan->dictionaries_capacity * 2 + 4;
    struct csf_dictionary_plan *grown = csf_realloc(&plan->allocator, plan->dictionaries,
                                                    plan->dictionaries_capacity * sizeof *grown, capacity * sizeof *grown);
    if (grown == NULL) return csf_fail_memory(err, capacity * sizeof *grown);
    plan->dictionaries = grown;
    plan->dictionaries_capacity = capacity;
  }
  plan->dictionaries[plan->n_dictionaries++] = (struct csf_dictionary_plan){
      .id = field->dictionary_id,
      .root = {.name = "", .type = CSF_STRUCT, .layout = CSF_LAYOUT_STRUCT, .n_children = 1, .children = field->dictionary},
      .column = plan_column(field->dictionary)};
  return COLSHUF_OK;
}

static enum colshuf_status collect(struct csf_batch_plan *plan, const struct csf_field *field, struct colshuf_error *err) {
  for (int32_t i = 0; i < field->n_children; i++) CSF_TRY(collect(plan, &field->children[i], err));
  if (field->dictionary == NULL) return COLSHUF_OK;
  CSF_TRY(collect(plan, field->dictionary, err));
  return add_dictionary(plan, field, err);
}

static int compare_ids(const void *a, const void *b) {
  int64_t x = ((const struct csf_dictionary_plan *)a)->id, y = ((const struct csf_dictionary_plan *)b)->id;
  return (x > y) - (x < y);
}

/* An id may be shared, by fields whose values are of one type: then one dictionary serves them all. */
static enum colshuf_status merge_shared(struct csf_batch_plan *plan, struct colshuf_error *err) {
  struct csf_dictionary_plan *all = plan->dictionaries;
  if (plan->n_dictionaries < 2) return COLSHUF_OK;
  qsort(all, plan->n_dictionaries, sizeof *all, compare_ids);
  size_t kept = 0;
  for (size_t i = 1; i < plan->n_dictionaries; i++) {
    if (all[i].id != all[kept].id) {
      all[++kept] = all[i];
      continue;
    }
    unsigned overlook = CSF_MATCH_NAMES | CSF_MATCH_NULLABLE | CSF_MATCH_METADATA;
    if (csf_field_equal(all[i].root.children, all[kept].root.children, overlook)) continue;
    char one[128], other[128];
    csf_field_describe(all[kept].root.children, one, sizeof one);
    csf_field_describe(all[i].root.children, other, sizeof other);
    return csf_fail(err, COLSHUF_CORRUPT, "dictionary id %" PRId64 " stands for %s and for %s", all[i].id, one, other);
  }
  plan->n_dictionaries = kept + 1;
  return COLSHUF_OK;
}

static enum colshuf_status plan_columns(struct csf_batch_plan *plan, struct colshuf_error *err) {
  const struct csf_field *root = &plan->schema->root;
  if (root->n_children == 0) return COLSHUF_OK;
  size_t size = (size_t)root->n_children * sizeof *plan->columns;
  plan->columns = csf_alloc(&plan->allocator, size);
  if (plan->columns == NULL) return csf_fail_memory(err, size);
  for (int32_t i = 0; i < root->n_children; i++) plan->columns[i] = plan_column(&root->children[i]);
  return COLSHUF_OK;
}

static enum colshuf_status build(struct csf_batch_plan *plan, struct colshuf_error *err) {
  const struct csf_field *root = &plan->schema->root;
  CSF_TRY(plan_columns(plan, err));
  if (plan->schema->has_dictionary) CSF_TRY(collect(plan, root, err));
  CSF_TRY(merge_shared(plan, err));
  for (size_t i = 0; i < plan->n_dictionaries; i++) {
    struct csf_dictionary_plan *dictionary = &plan->dictionaries[i];
    CSF_TRY(csf_array_shape_new(&plan->allocator, &dictionary->root, true, &dictionary->shape, err));
  }
  return csf_array_shape_new(&plan->allocator, root, true, &plan->shape, err);
}

enum colshuf_status csf_batch_plan_new(struct csf_schema *schema, const struct colshuf_allocator *wanted,
                                       struct csf_batch_plan **out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_batch_plan *plan = csf_alloc_zero(&allocator, sizeof *plan);
  if (plan == NULL) return csf_fail_memory(err, sizeof *plan);
  plan->allocator = allocator;
  plan->schema = csf_schema_retain(schema);
  enum colshuf_status status = build(plan, err);
  if (status != COLSHUF_OK) {
    csf_batch_plan_free(plan);
    return status;
  }
  *out = plan;
  return COLSHUF_OK;
}

void csf_batch_plan_free(struct csf_batch_plan *plan) {
  if (plan == NULL) return;
  for (size_t i = 0; i < plan->n_dictionaries; i++) csf_array_shape_free(plan->dictionaries[i].shape);
  csf_free(&plan->allocator, plan->dictionaries, plan->dictionaries_capacity * sizeof *plan->dictionaries);
  csf_array_shape_free(plan->shape);
  csf_free(&plan->allocator, plan->columns, (size_t)plan->schema->root.n_children * sizeof *plan->columns);
  csf_schema_release(plan->schema);
  struct colshuf_allocator allocator = plan->allocator;
  csf_free(&allocator, plan, sizeof *plan);
}

size_t csf_batch_plan_n_dictionaries(const struct csf_batch_plan *plan) {
  return plan->n_dictionaries;
}

size_t csf_batch_plan_find(const struct csf_batch_plan *plan, int64_t id) {
  size_t low = 0, high = plan->n_dictionaries;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (plan->dictionaries[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return low < plan->n_dictionaries && plan->dictionaries[low].id == id ? low : plan->n_dictionaries;
}

static size_t dictionaries_size(size_t n) {
  return sizeof(struct csf_dictionaries) + n * sizeof(struct csf_dictionary);
}

enum colshuf_status csf_dictionaries_new(const struct csf_batch_plan *plan, const struct colshuf_allocator *wanted,
                                         struct csf_dictionaries **out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_dictionaries *dictionaries = csf_alloc_zero(&allocator, dictionaries_size(plan->n_dictionaries));
  if (dictionaries == NULL) return csf_fail_memory(err, dictionaries_size(plan->n_dictionaries));
  dictionaries->allocator = allocator;
  dictionaries->n = plan->n_dictionaries;
  *out = dictionaries;
  return COLSHUF_OK;
}

void csf_dictionary_values_release(void *ctx) {
  struct csf_dictionary_values *values = ctx;
  if (values == NULL || atomic_fetch_sub_explicit(&values->references, 1, memory_order_acq_rel) != 1) return;
  if (values->array.release != NULL) values->array.release(&values->array);
  struct colshuf_allocator allocator = values->allocator;
  csf_free(&allocator, values, sizeof *values);
}

void csf_dictionary_clear(struct csf_dictionary *dictionary) {
  csf_dictionary_values_release(dictionary->values);
  csf_growth_free(dictionary->growth);
  *dictionary = (struct csf_dictionary){0};
}

void csf_dictionaries_reset(struct csf_dictionaries *dictionaries) {
  dictionaries->size = 0;
  for (size_t i = 0; i < dictionaries->n; i++) csf_dictionary_clear(&dictionaries->items[i]);
}

void csf_dictionaries_free(struct csf_dictionaries *dictionaries) {
  if (dictionaries == NULL) return;
  csf_dictionaries_reset(dictionaries);
  struct colshuf_allocator allocator = dictionaries->allocator;
  csf_free(&allocator, dictionaries, dictionaries_size(dictionaries->n));
}
