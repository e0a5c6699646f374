/* SPDX-License-Identifier: Apache-2.0 */
/* A string that grows. All zero is a valid empty one; data ends with NUL once anything was added. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stddef.h>

struct text {
  char *data;
  size_t size; /* without the NUL */
  size_t capacity;
};

void text_add(struct text *text, const char *bytes, size_t size);
void text_put(struct text *text, const char *string);
void text_char(struct text *text, char c);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text); /* empty, memory kept */
void text_free(struct text *text);

/* Columns of a terminal that the UTF-8 text takes. */
size_t text_width(const char *bytes, size_t size);

#endif
