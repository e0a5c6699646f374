/* SPDX-License-Identifier: Apache-2.0 */
/* A small JSON writer: indented, members in the order in which they are written. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "text.h"

struct json {
  FILE *file;
  int depth;
  bool filled[32]; /* whether the object or array of each depth has a member */
  bool array[32];  /* whether a depth is an array */
};

/* Opens the outermost object and writes "version": 1; json_end closes what is open and ends the line. */
void json_start(struct json *json, FILE *file);
void json_end(struct json *json);

/* key NULL inside arrays. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close(struct json *json);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value); /* null when not finite */
void json_bool(struct json *json, const char *key, bool value);
void json_string(struct json *json, const char *key, const char *value); /* NULL = null */
void json_raw(struct json *json, const char *key, const char *value);    /* JSON already */

/* Appends bytes as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD. */
void json_quote(struct text *out, const char *bytes, size_t size);

#endif
