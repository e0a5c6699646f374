/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small batches written down as text, for tests that are about values:
 *
 *   struct test_table table = test_table("int32, list<utf8>", "1 ['a' null] | null []");
 *
 * Types:  the names of csf_type_name; decimal128(18,2), timestamp and duration(us), fixed_size_binary(3), list<t>,
 * large_list<t>, fixed_size_list<t>(2), struct<t, t>, map<k, v>, dictionary<index, t>. Values: null; numbers (floats also as
 * bits, x7fc00000, and nan, inf, -inf); true, false; 'text' with \xNN, \n, \' and \\; [a b] for lists, {a b} for structs, [{k
 * v} {k v}] for maps, {months days nanoseconds} and {days milliseconds} for intervals; of a dictionary, ~ is an index to a
 * null. Numbers of more than 64 bits are written in decimal as well.
 */
#ifndef CSF_TEST_TABLE_H
#define CSF_TEST_TABLE_H

#include "arrow/schema.h"
#include "support/harness.h"

struct test_table {
  struct csf_schema *schema;
  struct ArrowSchema c_schema;
  struct ArrowArray batch;
};

struct test_table test_table(const char *types, const char *rows);
void test_table_clear(struct test_table *table);

#endif
