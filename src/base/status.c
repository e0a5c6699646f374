/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [COLSHUF_OK] = "ok",
    [COLSHUF_INVALID_ARGUMENT] = "invalid argument",
    [COLSHUF_CORRUPT] = "corrupt",
    [COLSHUF_UNSUPPORTED] = "unsupported",
    [COLSHUF_LIMIT] = "limit",
    [COLSHUF_NO_MEMORY] = "no memory",
    [COLSHUF_IO] = "i/o",
    [COLSHUF_CANCELLED] = "cancelled",
};

const char *colshuf_version(void) {
  return COLSHUF_VERSION;
}

const char *colshuf_status_name(enum colshuf_status status) {
  size_t i = (size_t)status;
  return i < sizeof status_names / sizeof status_names[0] ? status_names[i] : "unknown";
}

/* Bytes of the UTF-8 sequence at text, 0 when there is none (RFC 3629: no overlong forms, no surrogates). */
static size_t sequence_at(const unsigned char *text) {
  unsigned char a = text[0];
  if (a < 0x80) return 1;
  size_t size = a >= 0xf0 ? 4 : a >= 0xe0 ? 3 : 2;
  if (a < 0xc2 || a > 0xf4) return 0;
  for (size_t i = 1; i < size; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0; /* the final NUL ends it here as well */
  }
  bool overlong = (a == 0xe0 && text[1] < 0xa0) || (a == 0xf0 && text[1] < 0x90);
  bool no_character = (a == 0xed && text[1] > 0x9f) || (a == 0xf4 && text[1] > 0x8f);
  return overlong || no_character ? 0 : size;
}

/*
 * Input decides parts of a message (names, paths): control characters would let it forge lines on a terminal, and a name that is not
 * UTF-8, or cut in the middle of a character, would make the whole text unreadable to those who must decode it.
 */
static void make_one_line(char *text) {
  for (size_t i = 0; text[i] != '\0';) {
    size_t size = sequence_at((const unsigned char *)text + i);
    bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
    if (size == 0 || control) text[i] = '?';
    i += size == 0 ? 1 : size;
  }
}

enum colshuf_status (csf_fail)(struct colshuf_error *err, enum colshuf_status status, const char *format, ...) {
  if (err == NULL) return status;
  err->status = status;
  err->system_errno = 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  make_one_line(err->message);
  return status;
}

enum colshuf_status csf_fail_errno(struct colshuf_error *err, int system_errno, const char *format, ...) {
  enum colshuf_status status = system_errno == ENOMEM ? COLSHUF_NO_MEMORY : COLSHUF_IO;
  if (err == NULL) return status;
  err->status = status;
  err->system_errno = system_errno;
  va_list arguments;
  va_start(arguments, format);
  int used = vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  if (used >= 0 && (size_t)used < sizeof err->message) {
    char reason[128];
    const char *text = strerror_r(system_errno, reason, sizeof reason);
    snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", text);
  }
  make_one_line(err->message);
  return status;
}

enum colshuf_status csf_fail_context(struct colshuf_error *err, enum colshuf_status status, const char *format, ...) {
  if (err == NULL) return status;
  char context[sizeof err->message];
  va_list arguments;
  va_start(arguments, format);
  int used = vsnprintf(context, sizeof context, format, arguments);
  va_end(arguments);
  make_one_line(context);
  if (used < 0 || (size_t)used + 3 >= sizeof err->message) return status;
  size_t shift = (size_t)used + 2;
  size_t keep = strlen(err->message);
  if (keep > sizeof err->message - 1 - shift) keep = sizeof err->message - 1 - shift;
  memmove(err->message + shift, err->message, keep);
  err->message[shift + keep] = '\0';
  memcpy(err->message, context, (size_t)used);
  memcpy(err->message + used, ": ", 2);
  make_one_line(err->message); /* the end may have been cut */
  return status;
}

enum colshuf_status (csf_fail_memory)(struct colshuf_error *err, size_t size) {
  return csf_fail(err, COLSHUF_NO_MEMORY, "an allocation of %zu bytes was refused", size);
}
