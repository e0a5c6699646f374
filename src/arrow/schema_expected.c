/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether blocks may stand where another schema was announced (formats.md A.8). The rule is Comet's: what may differ between blocks of
 * one shuffle (dictionary or plain, nullability, names of columns and list items) is overlooked, everything else is not.
 */
#include <inttypes.h>

#include "arrow/schema.h"

static bool same_logical_type(const struct csf_field *a, const struct csf_field *b);

static bool same_map(const struct csf_field *a, const struct csf_field *b) {
  const struct csf_field *x = &a->children[0], *y = &b->children[0];
  if (x->nullable || y->nullable || x->children[0].nullable || y->children[0].nullable) return false;
  if (a->keys_sorted != b->keys_sorted) return false;
  return same_logical_type(&x->children[0], &y->children[0]) && same_logical_type(&x->children[1], &y->children[1]);
}

static bool same_struct(const struct csf_field *a, const struct csf_field *b) {
  if (a->n_children != b->n_children) return false;
  for (int32_t i = 0; i < a->n_children; i++) {
    if (strcmp(a->children[i].name, b->children[i].name) != 0) return false;
    if (!same_logical_type(&a->children[i], &b->children[i])) return false;
  }
  return true;
}

/* Equal in everything but what a field says about itself besides its type. */
static bool same_exact_type(const struct csf_field *a, const struct csf_field *b) {
  struct csf_field x = *a, y = *b;
  x.name = y.name = "";
  x.nullable = y.nullable = true;
  x.n_metadata = y.n_metadata = 0;
  return csf_field_equal(&x, &y, CSF_MATCH_EXACT);
}

static bool same_logical_type(const struct csf_field *a, const struct csf_field *b) {
  if (a->dictionary != NULL) a = a->dictionary;
  if (b->dictionary != NULL) b = b->dictionary;
  if (a->type != b->type) return false;
  switch (a->type) {
    case CSF_FIXED_SIZE_LIST:
      if (a->width != b->width) return false;
      return same_logical_type(&a->children[0], &b->children[0]);
    case CSF_LIST:
    case CSF_LARGE_LIST:
      return same_logical_type(&a->children[0], &b->children[0]);
    case CSF_MAP:
      return same_map(a, b);
    case CSF_STRUCT:
      return same_struct(a, b);
    default:
      return same_exact_type(a, b);
  }
}

enum colshuf_status csf_schema_check_expected(const struct csf_schema *found, const struct csf_schema *expected,
                                              struct colshuf_error *err) {
  const struct csf_field *a = &found->root, *b = &expected->root;
  if (a->n_children != b->n_children) {
    return csf_fail(err, COLSHUF_CORRUPT, "%" PRId32 " columns found, %" PRId32 " expected", a->n_children, b->n_children);
  }
  for (int32_t i = 0; i < a->n_children; i++) {
    if (same_logical_type(&a->children[i], &b->children[i])) continue;
    char x[320], y[320];
    csf_field_describe(&a->children[i], x, sizeof x);
    csf_field_describe(&b->children[i], y, sizeof y);
    return csf_fail(err, COLSHUF_CORRUPT, "column %" PRId32 " (\"%.64s\") is %s, expected %s", i, a->children[i].name, x, y);
  }
  return COLSHUF_OK;
}
