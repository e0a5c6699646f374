/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include "field.h"

/*
 * Appends row i. As text: numbers, dates and strings plain, binary as hex, nested values as JSON; false (and nothing appended) when
 * the value is null. As JSON: always a JSON value; not-a-number and infinities as strings, decimals with all digits.
 */
bool value_text(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out);
void value_json(const struct field *field, const struct ArrowArray *array, int64_t i, struct text *out);

#endif
