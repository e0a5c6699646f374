/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit hashes of values, the same however the value is stored: dictionaries, run ends, 32-bit, 64-bit and view forms and
 * widths of integers make no difference. All not-a-numbers are one; 0.0 and -0.0 are two.
 */
#ifndef CLI_ROW_HASH_H
#define CLI_ROW_HASH_H

#include "field.h"

uint64_t hash_bytes(const char *bytes, size_t size, uint64_t seed);
uint64_t hash_value(const struct field *field, const struct ArrowArray *array, int64_t i, uint64_t seed);

/* All columns of a row of a batch. */
uint64_t hash_row(const struct field *root, const struct ArrowArray *batch, int64_t row);

#endif
