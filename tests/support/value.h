/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: what a row of an array means, as text, found out row by row in the plainest way and without the library's
 * kernels. Two arrays hold the same values when their texts are the same, whatever their offsets, dictionaries or runs.
 */
#ifndef CSF_TEST_VALUE_H
#define CSF_TEST_VALUE_H

#include "arrow/array.h"
#include "support/harness.h"

/*
 * Appends the text of row (counted from the array's offset): null, true, 17, x7fc00000 (floats, decimals and other wide values
 * by their bytes), 'text' (\xNN for what is not printable), [a, b] for lists, {a, b} for structs, 5:a for a union's type id 5.
 * A dictionary-encoded value or one in a run is written as the value.
 */
void test_value_text(const struct csf_field *field, const struct ArrowArray *array, int64_t row, struct csf_buffer *out);

/* A hash of the texts of rows [start, start + n). */
uint64_t test_rows_hash(const struct csf_field *field, const struct ArrowArray *array, int64_t start, int64_t n);

/*
 * Whether rows [a_start, +n) of a and [b_start, +n) of b have the same texts; a failed check with the first difference if not.
 */
bool test_rows_same(const char *file, int line, const struct csf_field *a_field, const struct ArrowArray *a, int64_t a_start,
                    const struct csf_field *b_field, const struct ArrowArray *b, int64_t b_start, int64_t n);
#define CHECK_ROWS(a_field, a, a_start, b_field, b, b_start, n) \
  test_rows_same(__FILE__, __LINE__, (a_field), (a), (a_start), (b_field), (b), (b_start), (n))

/* Checks that array has these rows, written as test_value_text does, separated by spaces: "1 null [2, 3]". */
void test_check_text(const char *file, int line, const struct csf_field *field, const struct ArrowArray *array,
                     const char *wanted);
#define CHECK_VALUES(field, array, wanted) test_check_text(__FILE__, __LINE__, (field), (array), (wanted))

#endif
