/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says on standard error, its exit codes, and numbers in units that people read. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <colshuf/colshuf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum exit_code { EXIT_WELL = 0, EXIT_BAD_DATA = 1, EXIT_USAGE = 2, EXIT_SYSTEM = 3, EXIT_INTERRUPTED = 130, EXIT_CLOSED_PIPE = 141 };

/* The exit code for a status of the library. */
int exit_code_of(enum colshuf_status status);

/* "colshuf: COMMAND: sentence (see colshuf COMMAND --help)"; returns EXIT_USAGE. */
int fail_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "colshuf: sentence"; returns code. */
int fail_with(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "colshuf: message of err", with "place: " before it unless place is NULL; returns the exit code of status. */
int fail_error(enum colshuf_status status, const struct colshuf_error *err, const char *place);
int fail_error_hint(enum colshuf_status status, const struct colshuf_error *err, const char *place, const char *hint);

/* The same for a stream whose call gave an errno value. hint: what to do where its bytes are corrupt, or NULL. */
int fail_stream(struct ArrowArrayStream *stream, int error, const char *place, const char *hint);

/*
 * "place: cause of the errno value"; returns EXIT_SYSTEM. Nothing is said of a standard output that nobody reads any more (head has seen
 * enough): EXIT_CLOSED_PIPE, by which main dies of SIGPIPE as others do.
 */
int fail_errno(int error, const char *place);

/* The same for an output that cannot be made, with what to do about its folder. */
int fail_output(int error, const char *path);

/* A remark on standard error that is no failure. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory for the command's own small things; ends the process when there is none. */
void *need_memory(void *pointer, size_t size);

/* "1.2 MiB", "1,234,567", "3.4 s", each in one of a few static places: good for the next seven calls. */
const char *size_text(uint64_t size);
const char *count_text(uint64_t n);
const char *time_text(uint64_t nanoseconds);

/* Nanoseconds of a clock that only goes forward; most resident memory of the process in bytes. */
uint64_t clock_ns(void);
uint64_t peak_resident(void);

/*
 * SIGINT and SIGTERM: commands that make files ask to be told (catch_interrupts), clean up when interrupted() is not 0, and return
 * EXIT_INTERRUPTED; main ends by die_interrupted, which says so and dies of the same signal. A second signal ends at once.
 */
void catch_interrupts(void);
int interrupted(void);
int die_interrupted(void);

/* SIGPIPE gives EPIPE from here on. Where the caller has silenced the signal, a closed pipe is an error like another. */
void catch_closed_pipe(void);
int die_of_closed_pipe(void);

/* Flushes standard output, and remembers the cause when that fails. */
void flush_stdout(void);

/* Flushes standard output; EXIT_SYSTEM with a sentence when what was written did not arrive, else code. */
int finish_stdout(int code);

#endif
