/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schemas over every Arrow type, and random valid arrays of any field: what property tests, round trips and fuzz seeds
 * are fed with. The same seed gives the same schema and the same arrays.
 */
#ifndef CSF_TEST_RANDOM_H
#define CSF_TEST_RANDOM_H

#include "arrow/array.h"
#include "support/harness.h"

/* Sets of types: the bits 1 << type. */
#define TEST_TYPE(type) ((uint64_t)1 << (type))
#define TEST_ALL_TYPES (TEST_TYPE(CSF_N_TYPES) - 1)
/* Types that nest nothing. */
#define TEST_FLAT_TYPES (TEST_TYPE(CSF_LIST) - 1)
/* What Comet itself writes: no views, large or fixed-size forms, no unions, no run ends. */
#define TEST_COMET_TYPES                                                                                                  \
  (TEST_TYPE(CSF_NULL) | TEST_TYPE(CSF_BOOL) | TEST_TYPE(CSF_INT8) | TEST_TYPE(CSF_INT16) | TEST_TYPE(CSF_INT32) |        \
   TEST_TYPE(CSF_INT64) | TEST_TYPE(CSF_FLOAT32) | TEST_TYPE(CSF_FLOAT64) | TEST_TYPE(CSF_DECIMAL128) |                   \
   TEST_TYPE(CSF_DATE32) | TEST_TYPE(CSF_TIMESTAMP) | TEST_TYPE(CSF_UTF8) | TEST_TYPE(CSF_BINARY) | TEST_TYPE(CSF_LIST) | \
   TEST_TYPE(CSF_MAP) | TEST_TYPE(CSF_STRUCT))

/* All zero: every type, up to 6 columns (0 at times), up to 3 levels below a column, dictionaries, odd names, metadata. */
struct test_schema_options {
  uint64_t types;    /* 0 = all; LIST64 and so on are taken out by their bits, nested types too */
  int32_t n_columns; /* 0 = random; else exactly so many */
  int32_t max_depth; /* levels below a column; 0 = 3; -1 = flat types only */
  bool no_dictionaries;
  bool plain_names; /* c0, c1, ... and no metadata */
};

/* A finished schema, released by csf_schema_release. Fails the test when it cannot be made. */
struct csf_schema *test_random_schema(struct test_random *random, const struct test_schema_options *options);

/* What makes an array unlike what a simple producer would make; all of it is valid. 0 = as simple as can be. */
enum test_shape {
  TEST_SLICED = 1,      /* array offsets at every level below the root */
  TEST_SLICED_ROOT = 2, /* and at the root: a sliced batch */
  TEST_LOOSE =
      4, /* offsets that do not start at 0, gaps, unreferenced bytes, values and bits, longer children, values under nulls */
  TEST_UNCOUNTED = 8,   /* null_count -1 at places */
  TEST_MISALIGNED = 16, /* buffers at any address */
  TEST_NO_BUFFERS = 32, /* NULL for buffers of no bytes, and all of them NULL where there are no rows */
  TEST_WILD = 63
};

struct test_array_options {
  int64_t rows;
  int null_percent;   /* of the values of nullable fields */
  int64_t max_text;   /* bytes of the longest string; 0 = 24 */
  int64_t max_list;   /* values of the longest list; 0 = 4 */
  unsigned shape;     /* enum test_shape */
  int repeat_percent; /* of fixed and string values: the value before once more (for runs and low cardinality) */
};

/*
 * An array of field (a batch, where field is a schema's root) in memory of test_heap, every buffer exactly as large as it must
 * be, so that an address sanitizer sees every read beyond. It passes csf_array_validate at FULL.
 */
void test_random_array(struct test_random *random, const struct csf_field *field, const struct test_array_options *options,
                       struct ArrowArray *out);

/* Options at random: rows in [0, max_rows], often few; any nulls, any shape. */
struct test_array_options test_random_options(struct test_random *random, int64_t max_rows);

#endif
