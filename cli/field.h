/* SPDX-License-Identifier: Apache-2.0 */
/* What the command needs to know of a column to show its values: the format strings of the C Data Interface, taken apart. */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include <colshuf/arrow.h>
#include <stdbool.h>

#include "text.h"

enum kind {
  KIND_UNKNOWN, KIND_NULL, KIND_BOOL, KIND_INT, KIND_UINT, KIND_FLOAT, KIND_DECIMAL, KIND_DATE32, KIND_DATE64, KIND_TIME,
  KIND_TIMESTAMP, KIND_DURATION, KIND_INTERVAL_MONTHS, KIND_INTERVAL_DAY_TIME, KIND_INTERVAL_MONTH_DAY_NANO,
  KIND_FIXED_BINARY, KIND_BINARY, KIND_UTF8, KIND_LARGE_BINARY, KIND_LARGE_UTF8, KIND_BINARY_VIEW, KIND_UTF8_VIEW,
  KIND_LIST, KIND_LARGE_LIST, KIND_LIST_VIEW, KIND_LARGE_LIST_VIEW, KIND_FIXED_LIST, KIND_STRUCT, KIND_MAP,
  KIND_SPARSE_UNION, KIND_DENSE_UNION, KIND_RUN_END
};

struct field {
  const char *name;
  enum kind kind;
  int width;            /* bytes of a value (numbers, times, fixed binary); values of a fixed-size list */
  int unit;             /* digits behind the second: 0, 3, 6, 9 */
  int precision, scale; /* decimals */
  const char *timezone; /* NULL = none; points into the schema */
  bool nullable;
  signed char type_ids[128]; /* unions: child of each type id, -1 = none */
  int n_children;
  struct field *children;
  struct field *dictionary;
};

/* schema must outlive the field. Unknown formats become KIND_UNKNOWN, whose values show as "?". */
void field_init(struct field *field, const struct ArrowSchema *schema);
void field_clear(struct field *field);

/* "list<item: int32>", "timestamp[us, UTC]", "dictionary<int32, utf8>". */
void field_describe(const struct field *field, struct text *out);

/* Where row i of the array (counted from its offset) is not null. Dictionary indices, not values, are asked. */
bool value_valid(const struct field *field, const struct ArrowArray *array, int64_t i);

/* The value that row i stands for, dictionaries, run ends and unions followed; false when it is null. */
bool value_resolve(const struct field **field, const struct ArrowArray **array, int64_t *i);

/* Bytes of row i of a binary or text column of any form. */
void value_bytes(const struct field *field, const struct ArrowArray *array, int64_t i, const char **bytes, int64_t *size);

/* Row i of an integer, date, time, timestamp or duration column of any width. */
int64_t value_integer(const struct field *field, const struct ArrowArray *array, int64_t i);
double value_real(const struct field *field, const struct ArrowArray *array, int64_t i); /* KIND_FLOAT */

/* Rows [*first, *first + *n) of child 0 that row i of a list or map of any form holds, counted from the child's offset. */
void value_items(const struct field *field, const struct ArrowArray *array, int64_t i, int64_t *first, int64_t *n);

/* Whether two schemas describe the same columns; else says in *why where they differ. */
bool schemas_match(const struct ArrowSchema *first, const struct ArrowSchema *other, struct text *why);

/* The top-level column of this name; -1 when there is none or (ambiguous) more than one. */
int find_column(const struct ArrowSchema *schema, const char *name);

#endif
