/* SPDX-License-Identifier: Apache-2.0 */
#include "block/compat.h"

#include <inttypes.h>

/* Types that both sides of Comet 1.2.0 read, native and JVM; parameters are looked at apart. */
static bool comet_has_type(const struct csf_field *field) {
  switch (field->type) {
    case CSF_NULL:
    case CSF_BOOL:
    case CSF_INT8:
    case CSF_INT16:
    case CSF_INT32:
    case CSF_INT64:
    case CSF_FLOAT32:
    case CSF_FLOAT64:
    case CSF_DECIMAL128:
    case CSF_DATE32:
    case CSF_INTERVAL_YEAR_MONTH:
    case CSF_INTERVAL_DAY_TIME:
    case CSF_INTERVAL_MONTH_DAY_NANO:
    case CSF_FIXED_SIZE_BINARY:
    case CSF_BINARY:
    case CSF_UTF8:
    case CSF_LARGE_BINARY:
    case CSF_LARGE_UTF8:
    case CSF_LIST:
    case CSF_MAP: return true;
    case CSF_STRUCT: return field->n_children > 0;
    case CSF_TIMESTAMP:
    case CSF_DURATION: return field->unit == CSF_MICROSECOND;
    case CSF_TIME64: return field->unit == CSF_NANOSECOND;
    default: return false;
  }
}

/* The first field at or below this one that Comet lacks, dictionaries seen through; NULL = none. */
static const struct csf_field *find_foreign(const struct csf_field *field) {
  const struct csf_field *values = field->dictionary != NULL ? field->dictionary : field;
  if (!comet_has_type(values)) return values;
  for (int32_t i = 0; i < values->n_children; i++) {
    const struct csf_field *found = find_foreign(&values->children[i]);
    if (found != NULL) return found;
  }
  return NULL;
}

static bool has_dictionary(const struct csf_field *field) {
  if (field->dictionary != NULL) return true;
  for (int32_t i = 0; i < field->n_children; i++) {
    if (has_dictionary(&field->children[i])) return true;
  }
  return false;
}

/* Value types whose dictionaries Comet's JVM side was seen to read right, or that it reads by the same getters. */
bool csf_compat_dictionary_of(enum colshuf_compat compat, const struct csf_field *values) {
  if (compat == COLSHUF_COMPAT_ARROW) return true;
  switch (values->type) {
    case CSF_INT8:
    case CSF_INT16:
    case CSF_INT32:
    case CSF_INT64:
    case CSF_FLOAT32:
    case CSF_FLOAT64:
    case CSF_DECIMAL128:
    case CSF_DATE32:
    case CSF_BINARY:
    case CSF_UTF8: return true;
    case CSF_TIMESTAMP: return values->unit == CSF_MICROSECOND;
    default: return false;
  }
}

enum colshuf_status csf_compat_column(enum colshuf_compat compat, const struct csf_field *column, int32_t index,
                                      enum csf_column_change *change, struct colshuf_error *err) {
  *change = CSF_COLUMN_KEEP;
  if (compat == COLSHUF_COMPAT_ARROW) return COLSHUF_OK;
  const struct csf_field *foreign = find_foreign(column);
  if (foreign != NULL) {
    char whole[256], part[256];
    csf_field_describe(column, whole, sizeof whole);
    csf_field_describe(foreign, part, sizeof part);
    return csf_fail(err, COLSHUF_UNSUPPORTED, "column %" PRId32 " \"%s\" is %s: Comet has no %s", index, column->name, whole, part);
  }
  if (has_dictionary(column)) {
    bool taken = column->dictionary != NULL && csf_compat_dictionary_of(compat, column->dictionary);
    *change = taken ? CSF_COLUMN_REINDEX : CSF_COLUMN_UNPACK;
  }
  return COLSHUF_OK;
}

static void strip_dictionaries(struct csf_field *field) {
  if (field->dictionary != NULL) {
    struct csf_field outer = *field;
    *field = *outer.dictionary;
    field->name = outer.name;
    field->nullable = outer.nullable;
    field->metadata = outer.metadata;
    field->n_metadata = outer.n_metadata;
  }
  for (int32_t i = 0; i < field->n_children; i++) strip_dictionaries(&field->children[i]);
}

void csf_column_change_field(struct csf_field *column, enum csf_column_change change) {
  if (change == CSF_COLUMN_UNPACK) strip_dictionaries(column);
  if (change == CSF_COLUMN_REINDEX) column->type = CSF_INT32;
}

static bool takes_lengths(const struct csf_field *field, bool *has_offsets) {
  switch (field->layout) {
    case CSF_LAYOUT_BINARY32:
    case CSF_LAYOUT_BINARY64:
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64: *has_offsets = true; break;
    case CSF_LAYOUT_VIEW:
    case CSF_LAYOUT_LIST_VIEW32:
    case CSF_LAYOUT_LIST_VIEW64: return false;
    default: break;
  }
  if (field->dictionary != NULL) return false;
  for (int32_t i = 0; i < field->n_children; i++) {
    if (!takes_lengths(&field->children[i], has_offsets)) return false;
  }
  return true;
}

bool csf_schema_takes_lengths(const struct csf_schema *schema, bool *has_offsets) {
  *has_offsets = false;
  return takes_lengths(&schema->root, has_offsets);
}
