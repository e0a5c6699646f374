/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
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

/* Input decides parts of a message (names, paths): control characters would let it forge lines on a terminal. */
static void make_one_line(char *text) {
  for (; *text != '\0'; text++) {
    if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
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
  return status;
}

enum colshuf_status (csf_fail_memory)(struct colshuf_error *err, size_t size) {
  return csf_fail(err, COLSHUF_NO_MEMORY, "an allocation of %zu bytes was refused", size);
}
