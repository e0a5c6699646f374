/* SPDX-License-Identifier: Apache-2.0 */
/* How a failure is made and passed on: csf_fail() at its origin, CSF_TRY() on the way up. */
#ifndef CSF_BASE_STATUS_H
#define CSF_BASE_STATUS_H

#include "colshuf/base.h"

/* Fills *err (may be NULL) with status and the printf-style text, and returns status. */
enum colshuf_status csf_fail(struct colshuf_error *err, enum colshuf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* As csf_fail with COLSHUF_IO (COLSHUF_NO_MEMORY for ENOMEM): appends ": " and the description of system_errno, which is kept. */
enum colshuf_status csf_fail_errno(struct colshuf_error *err, int system_errno, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Puts "text: " before the message of a failure on its way up (file, partition, block); returns err's status or status. */
enum colshuf_status csf_fail_context(struct colshuf_error *err, enum colshuf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The one text for a refused allocation. */
enum colshuf_status csf_fail_memory(struct colshuf_error *err, size_t size) __attribute__((cold));

/*
 * The compiler cannot see that these return a failure, and would warn of every output that stays unset on that way. So it is told.
 * (status is named twice: give it a constant or a variable.)
 */
#define csf_fail(err, status, ...) ((void)csf_fail((err), (status), __VA_ARGS__), (status))
#define csf_fail_memory(err, size) ((void)csf_fail_memory((err), (size)), COLSHUF_NO_MEMORY)

#define CSF_LIKELY(x) __builtin_expect(!!(x), 1)
#define CSF_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Returns from the calling function when call does not give COLSHUF_OK. */
#define CSF_TRY(call)                             \
  do {                                            \
    enum colshuf_status csf_try_status = (call);  \
    if (CSF_UNLIKELY(csf_try_status != COLSHUF_OK)) return csf_try_status; \
  } while (0)

#endif
