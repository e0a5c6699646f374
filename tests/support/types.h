/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas written as text, for tests of certain cases. */
#ifndef CSF_TEST_TYPES_H
#define CSF_TEST_TYPES_H

#include "arrow/array.h"
#include "support/harness.h"

/*
 * A finished schema in test_heap from the members of a struct as csf_field_describe writes them:
 *   "a: int32 not null, b: list<item: decimal128(10, 2)>, c: dictionary<int8, utf8>, d: timestamp(us, UTC), e: map<utf8,
 * int32>" Names may be left out (list<int32>). Ends the test when the text cannot be read.
 */
struct csf_schema *test_schema(const char *text);

#endif
