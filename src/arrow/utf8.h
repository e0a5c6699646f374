/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 behind csf_utf8_valid (array.h): how well-formed a text is, and the variants for the choice among them and for tests. */
#ifndef CSF_ARROW_UTF8_H
#define CSF_ARROW_UTF8_H

#include "arrow/array.h"

enum csf_utf8 { CSF_UTF8_BROKEN, CSF_UTF8_WIDE /* well-formed, not all ASCII */, CSF_UTF8_ASCII };

/* Well-formed UTF-8 (Unicode 15, table 3-7) or not, and whether it is ASCII alone. text may be NULL where size is 0. */
enum csf_utf8 csf_utf8_check(const uint8_t *text, size_t size);

/*
 * Sets bit i of bad[0 .. size / 64] (zeroed by the caller) where at text[i] nothing well-formed starts, and nothing that starts before it covers it.
 * A part of text is then well-formed when it starts with no continuation byte, holds no bad byte, and does not end inside a character.
 */
void csf_utf8_mark_bad(const uint8_t *text, size_t size, uint64_t *bad);

enum csf_utf8 csf_utf8_check_scalar(const uint8_t *text, size_t size);
#if defined(__x86_64__)
enum csf_utf8 csf_utf8_check_avx2(const uint8_t *text, size_t size);
enum csf_utf8 csf_utf8_check_avx512(const uint8_t *text, size_t size);
#endif

#endif
