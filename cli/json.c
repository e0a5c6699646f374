/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at the start, 0 when it is none. */
static size_t sequence_size(const unsigned char *bytes, size_t size) {
  static const struct {
    unsigned char first, last, second_first, second_last;
    size_t size;
  } rows[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
              {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
              {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    if (bytes[0] < rows[r].first || bytes[0] > rows[r].last) continue;
    if (size < rows[r].size || bytes[1] < rows[r].second_first || bytes[1] > rows[r].second_last) return 0;
    for (size_t i = 2; i < rows[r].size; i++) {
      if ((bytes[i] & 0xc0) != 0x80) return 0;
    }
    return rows[r].size;
  }
  return 0;
}

static void quote_ascii(struct text *out, unsigned char c) {
  static const char names[] = "btn?fr"; /* from 8 on */
  if (c == '"' || c == '\\') {
    text_char(out, '\\');
    text_char(out, (char)c);
  } else if (c >= 8 && c <= 13 && c != 11) {
    text_char(out, '\\');
    text_char(out, names[c - 8]);
  } else if (c < 0x20 || c == 0x7f) {
    text_format(out, "\\u%04x", c);
  } else {
    text_char(out, (char)c);
  }
}

void json_quote(struct text *out, const char *bytes, size_t size) {
  text_char(out, '"');
  for (size_t i = 0; i < size;) {
    unsigned char c = (unsigned char)bytes[i];
    if (c < 0x80) {
      quote_ascii(out, c);
      i++;
      continue;
    }
    size_t sequence = sequence_size((const unsigned char *)bytes + i, size - i);
    text_add(out, sequence > 0 ? bytes + i : "\xef\xbf\xbd", sequence > 0 ? sequence : 3);
    i += sequence > 0 ? sequence : 1;
  }
  text_char(out, '"');
}

static void put_quoted(struct json *json, const char *string) {
  struct text text = {0};
  json_quote(&text, string, strlen(string));
  fwrite(text.data, 1, text.size, json->file);
  text_free(&text);
}

static void start_member(struct json *json, const char *key) {
  if (json->depth > 0) {
    fputs(json->filled[json->depth] ? ",\n" : "\n", json->file);
    json->filled[json->depth] = true;
    fprintf(json->file, "%*s", 2 * json->depth, "");
  }
  if (key != NULL) {
    put_quoted(json, key);
    fputs(": ", json->file);
  }
}

static void open_bracket(struct json *json, const char *key, bool array) {
  start_member(json, key);
  fputc(array ? '[' : '{', json->file);
  json->depth++;
  json->filled[json->depth] = false;
  json->array[json->depth] = array;
}

void json_object(struct json *json, const char *key) {
  open_bracket(json, key, false);
}

void json_array(struct json *json, const char *key) {
  open_bracket(json, key, true);
}

void json_close(struct json *json) {
  bool array = json->array[json->depth];
  bool filled = json->filled[json->depth];
  json->depth--;
  if (filled) fprintf(json->file, "\n%*s", 2 * json->depth, "");
  fputc(array ? ']' : '}', json->file);
}

void json_start(struct json *json, FILE *file) {
  *json = (struct json){.file = file};
  json_object(json, NULL);
  json_integer(json, "version", 1);
}

void json_end(struct json *json) {
  while (json->depth > 0) json_close(json);
  fputc('\n', json->file);
}

void json_raw(struct json *json, const char *key, const char *value) {
  start_member(json, key);
  fputs(value, json->file);
}

void json_integer(struct json *json, const char *key, int64_t value) {
  start_member(json, key);
  fprintf(json->file, "%" PRId64, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value) {
  start_member(json, key);
  fprintf(json->file, "%" PRIu64, value);
}

void json_real(struct json *json, const char *key, double value) {
  start_member(json, key);
  if (isfinite(value)) {
    fprintf(json->file, "%.6g", value);
  } else {
    fputs("null", json->file);
  }
}

void json_bool(struct json *json, const char *key, bool value) {
  json_raw(json, key, value ? "true" : "false");
}

void json_string(struct json *json, const char *key, const char *value) {
  start_member(json, key);
  if (value == NULL) {
    fputs("null", json->file);
  } else {
    put_quoted(json, value);
  }
}
