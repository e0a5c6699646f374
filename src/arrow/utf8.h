/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of csf_utf8_valid (array.h), for the choice among them and for tests. text may be NULL only where size is 0. */
#ifndef CSF_ARROW_UTF8_H
#define CSF_ARROW_UTF8_H

#include "arrow/array.h"

bool csf_utf8_valid_scalar(const uint8_t *text, size_t size);

#endif
