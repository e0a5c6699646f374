/* SPDX-License-Identifier: Apache-2.0 */
/* The schema model: a tree of fields in one arena, reference-counted, immutable once built. */
#ifndef CSF_ARROW_SCHEMA_H
#define CSF_ARROW_SCHEMA_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "colshuf/arrow.h"

/* Every type of the Arrow columnar format. A dictionary is not a type: see csf_field.dictionary. */
enum csf_type {
  CSF_NULL, CSF_BOOL,
  CSF_INT8, CSF_INT16, CSF_INT32, CSF_INT64, CSF_UINT8, CSF_UINT16, CSF_UINT32, CSF_UINT64,
  CSF_FLOAT16, CSF_FLOAT32, CSF_FLOAT64,
  CSF_DECIMAL32, CSF_DECIMAL64, CSF_DECIMAL128, CSF_DECIMAL256,
  CSF_DATE32, CSF_DATE64, CSF_TIME32, CSF_TIME64, CSF_TIMESTAMP, CSF_DURATION,
  CSF_INTERVAL_YEAR_MONTH, CSF_INTERVAL_DAY_TIME, CSF_INTERVAL_MONTH_DAY_NANO,
  CSF_FIXED_SIZE_BINARY, CSF_BINARY, CSF_UTF8, CSF_LARGE_BINARY, CSF_LARGE_UTF8, CSF_BINARY_VIEW, CSF_UTF8_VIEW,
  CSF_LIST, CSF_LARGE_LIST, CSF_LIST_VIEW, CSF_LARGE_LIST_VIEW, CSF_FIXED_SIZE_LIST, CSF_STRUCT, CSF_MAP,
  CSF_SPARSE_UNION, CSF_DENSE_UNION, CSF_RUN_END_ENCODED,
  CSF_N_TYPES
};

/* How an array of a type is laid out: the buffers in order, then the children. Kernels switch on this, not on the type. */
enum csf_layout {
  CSF_LAYOUT_NULL,         /* no buffers */
  CSF_LAYOUT_BITS,         /* validity, bits */
  CSF_LAYOUT_FIXED,        /* validity, width bytes a value (width may be 0); dictionary indices too */
  CSF_LAYOUT_BINARY32,     /* validity, i32 offsets[n + 1], bytes: Binary, Utf8 */
  CSF_LAYOUT_BINARY64,     /* validity, i64 offsets[n + 1], bytes */
  CSF_LAYOUT_VIEW,         /* validity, 16-byte views, data buffers ... (C Data: and their i64 sizes last) */
  CSF_LAYOUT_LIST32,       /* validity, i32 offsets[n + 1]; one child: List, Map */
  CSF_LAYOUT_LIST64,       /* validity, i64 offsets[n + 1]; one child */
  CSF_LAYOUT_LIST_VIEW32,  /* validity, i32 offsets[n], i32 sizes[n]; one child */
  CSF_LAYOUT_LIST_VIEW64,  /* validity, i64 offsets[n], i64 sizes[n]; one child */
  CSF_LAYOUT_FIXED_LIST,   /* validity; one child of n x width values */
  CSF_LAYOUT_STRUCT,       /* validity; children of n values */
  CSF_LAYOUT_SPARSE_UNION, /* i8 type ids; children of n values */
  CSF_LAYOUT_DENSE_UNION,  /* i8 type ids, i32 offsets; children of any length */
  CSF_LAYOUT_RUN_END       /* no buffers; children run ends and values */
};

enum csf_time_unit { CSF_SECOND, CSF_MILLISECOND, CSF_MICROSECOND, CSF_NANOSECOND };

struct csf_key_value {
  struct csf_span key;
  struct csf_span value;
};

/*
 * One column or nested field. With dictionary != NULL, type, layout and width are those of the indices, n_children is 0,
 * and dictionary describes the values (its name is empty).
 */
struct csf_field {
  const char *name; /* UTF-8, never NULL */
  enum csf_type type;
  enum csf_layout layout;
  enum csf_time_unit unit; /* Time, Timestamp, Duration */
  int32_t width;           /* LAYOUT_FIXED: bytes a value; FIXED_LIST: values a list; else 0 */
  int32_t precision;       /* decimals */
  int32_t scale;
  bool nullable;
  bool keys_sorted;        /* Map */
  bool dictionary_ordered;
  const char *timezone;    /* Timestamp: NULL = none */
  const int8_t *type_ids;  /* unions: one a child */
  int32_t n_children;
  int32_t n_metadata;
  struct csf_field *children; /* n_children of them, side by side */
  struct csf_field *dictionary;
  int64_t dictionary_id;      /* as on the wire; meaningless elsewhere */
  const struct csf_key_value *metadata;
};

/* root is a non-nullable struct whose children are the columns and whose metadata is the schema's. */
struct csf_schema {
  struct csf_field root;
  atomic_int references;
  bool has_dictionary; /* at any depth */
  bool has_view;       /* a view type at any depth */
  int32_t n_fields;    /* all fields, nested and dictionary values included, without root */
  int32_t depth;       /* most fields on a way down from root: 1 when all columns are flat */
  struct csf_arena arena;
};

/* An empty schema to build in: fields come from csf_arena_alloc(&schema->arena, …). One reference. NULL when refused. */
struct csf_schema *csf_schema_new(const struct colshuf_allocator *allocator);
struct csf_schema *csf_schema_retain(struct csf_schema *schema);
void csf_schema_release(struct csf_schema *schema); /* NULL is fine */

/*
 * Ends the building: sets layouts, counts and has_… from the types, and checks what every schema must satisfy (children
 * counts, widths, precisions, Map shape, run-end types, no dictionary of a dictionary, limits; NULL = defaults).
 * Errors: INVALID_ARGUMENT, LIMIT; source of the rules: Arrow columnar format, formats.md B.5.
 */
enum colshuf_status csf_schema_finish(struct csf_schema *schema, const struct colshuf_limits *limits, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/*
 * The limits that concern a schema, with the defaults filled in. Whoever builds a schema from bytes checks depth and number of
 * fields by these before it goes down or allocates. A type may be nested max_depth deep, that is, max_depth + 1 fields may stand on
 * a way down from root; never more than CSF_DEPTH_CEILING, because the kernels recurse.
 */
enum { CSF_DEPTH_CEILING = 256 };
struct csf_schema_bounds {
  uint32_t max_depth;
  uint32_t max_fields;
  uint32_t max_metadata_size;
};
struct csf_schema_bounds csf_schema_bounds(const struct colshuf_limits *limits);
enum colshuf_status csf_fail_depth(struct colshuf_error *err, uint32_t max_depth); /* the one text for it: LIMIT */

/* The layout and fixed byte width (0 = has none or its own) of a type. */
enum csf_layout csf_type_layout(enum csf_type type);
int32_t csf_type_width(enum csf_type type);
const char *csf_type_name(enum csf_type type); /* "int32", "utf8_view", … */

/* From and to the C Data Interface. Import accepts a struct (its children become the columns) and copies everything. */
enum colshuf_status csf_schema_import(const struct ArrowSchema *source, const struct colshuf_allocator *allocator,
                                      const struct colshuf_limits *limits, struct csf_schema **out,
                                      struct colshuf_error *err) COLSHUF_MUST_USE;
/* The same for a schema of any type, which becomes the one column root.children[0]: arrays that need not be batches. */
enum colshuf_status csf_schema_import_column(const struct ArrowSchema *source, const struct colshuf_allocator *allocator,
                                             const struct colshuf_limits *limits, struct csf_schema **out,
                                             struct colshuf_error *err) COLSHUF_MUST_USE;
/* Everything that *out points to is owned by it and its children, each of which may be moved out and lives on. */
enum colshuf_status csf_field_export(const struct csf_field *field, const struct colshuf_allocator *allocator,
                                     struct ArrowSchema *out, struct colshuf_error *err) COLSHUF_MUST_USE;

/* A deep copy of a field tree into an arena (of another schema). False when memory is refused. */
bool csf_field_copy(struct csf_arena *arena, const struct csf_field *source, struct csf_field *target);

/* Which differences csf_field_equal overlooks. */
enum csf_field_match { /* metadata has no order; a dictionary's id is never compared */
  CSF_MATCH_EXACT = 0,
  CSF_MATCH_NAMES = 1,       /* names of this field and of list and map children may differ (never those of struct members) */
  CSF_MATCH_NULLABLE = 2,    /* nullability may differ at any depth */
  CSF_MATCH_METADATA = 4,    /* metadata may differ */
  CSF_MATCH_DICTIONARY = 8,  /* dictionary<k, v> equals v, at any depth */
};
bool csf_field_equal(const struct csf_field *a, const struct csf_field *b, unsigned overlook);

/*
 * Whether blocks of schema `found` may stand where `expected` was announced: formats.md A.8 (source: Comet's remote check).
 * Error: CORRUPT, names the column and both types.
 */
enum colshuf_status csf_schema_check_expected(const struct csf_schema *found, const struct csf_schema *expected,
                                              struct colshuf_error *err) COLSHUF_MUST_USE;

/* The type in words, such as "list<item: dictionary<int32, utf8>>"; cut at size; always ends with NUL. */
void csf_field_describe(const struct csf_field *field, char *out, size_t size);

/* Index of the one column with this name; INVALID_ARGUMENT when there is none (lists the names) or more than one. */
enum colshuf_status csf_schema_find(const struct csf_schema *schema, const char *name, int32_t *out, struct colshuf_error *err)
    COLSHUF_MUST_USE;

#endif
