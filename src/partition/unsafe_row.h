/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in the bytes that Spark's UnsafeRow has: their hash is the order in which Spark sorts before a round robin. */
#ifndef CSF_PARTITION_UNSAFE_ROW_H
#define CSF_PARTITION_UNSAFE_ROW_H

#include "partition/column.h"

/*
 * Appends row `row` of columns[0..n_columns) to out, whose size must be a multiple of 8.
 * Errors: LIMIT (Spark's rows hold at most 2^31 - 1 bytes), NO_MEMORY.
 */
enum colshuf_status csf_unsafe_row_append(const struct csf_column *columns, int32_t n_columns, int64_t row,
                                          struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
