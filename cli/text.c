/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "report.h"

static void reserve(struct text *text, size_t more) {
  if (text->capacity - text->size > more) return;
  size_t capacity = text->capacity * 2 + more + 64;
  text->data = need_memory(text->data, capacity);
  text->capacity = capacity;
}

void text_add(struct text *text, const char *bytes, size_t size) {
  reserve(text, size);
  if (size > 0) memcpy(text->data + text->size, bytes, size);
  text->size += size;
  text->data[text->size] = '\0';
}

void text_put(struct text *text, const char *string) {
  text_add(text, string, strlen(string));
}

void text_char(struct text *text, char c) {
  text_add(text, &c, 1);
}

void text_format(struct text *text, const char *format, ...) {
  char small[256];
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(small, sizeof small, format, arguments);
  if (length >= 0 && (size_t)length < sizeof small) {
    text_add(text, small, (size_t)length);
  } else if (length >= 0) {
    reserve(text, (size_t)length);
    vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
    text->size += (size_t)length;
  }
  va_end(again);
  va_end(arguments);
}

void text_clear(struct text *text) {
  text->size = 0;
  if (text->data != NULL) text->data[0] = '\0';
}

void text_free(struct text *text) {
  free(text->data);
  *text = (struct text){0};
}

size_t text_width(const char *bytes, size_t size) {
  size_t width = 0;
  mbstate_t state;
  memset(&state, 0, sizeof state);
  for (size_t i = 0; i < size;) {
    if ((unsigned char)bytes[i] < 0x80) {
      width++;
      i++;
      continue;
    }
    wchar_t c;
    size_t n = mbrtowc(&c, bytes + i, size - i, &state);
    if (n == 0 || n > size - i) {
      memset(&state, 0, sizeof state);
      n = 1;
      c = L'?';
    }
    int columns = wcwidth(c);
    width += columns > 0 ? (size_t)columns : 0;
    i += n;
  }
  return width;
}
