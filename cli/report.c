/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int exit_code_of(enum colshuf_status status) {
  switch (status) {
    case COLSHUF_OK:
      return EXIT_WELL;
    case COLSHUF_CORRUPT:
    case COLSHUF_UNSUPPORTED:
      return EXIT_BAD_DATA;
    case COLSHUF_INVALID_ARGUMENT:
      return EXIT_USAGE;
    case COLSHUF_LIMIT:
    case COLSHUF_NO_MEMORY:
    case COLSHUF_IO:
    case COLSHUF_CANCELLED:
      break;
  }
  return EXIT_SYSTEM;
}

/* Names of files and columns may hold anything: nothing of it may steer a terminal or fake a line. */
static void say(const char *prefix, const char *format, va_list arguments, const char *suffix) {
  char sentence[2048];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  for (char *place = sentence; *place != '\0'; place++) {
    if ((unsigned char)*place < 0x20 || *place == 0x7f) *place = '?';
  }
  fprintf(stderr, "colshuf: %s%s%s\n", prefix, sentence, suffix);
}

int fail_usage(const char *command, const char *format, ...) {
  char prefix[64], suffix[96];
  snprintf(prefix, sizeof prefix, "%s%s", command, *command == '\0' ? "" : ": ");
  snprintf(suffix, sizeof suffix, " (see colshuf %s%s--help)", command, *command == '\0' ? "" : " ");
  va_list arguments;
  va_start(arguments, format);
  say(prefix, format, arguments, suffix);
  va_end(arguments);
  return EXIT_USAGE;
}

int fail_with(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("", format, arguments, "");
  va_end(arguments);
  return code;
}

void warn(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("", format, arguments, "");
  va_end(arguments);
}

/* The library names the file where it knows it; saying it twice helps nobody. */
static bool names(const char *message, const char *place) {
  return place == NULL || strstr(message, place) != NULL;
}

static int fail_message(enum colshuf_status status, const char *message, const char *place, const char *hint) {
  bool named = names(message, place), hinted = hint != NULL && status == COLSHUF_CORRUPT;
  return fail_with(exit_code_of(status), "%s%s%s%s%s%s", named ? "" : place, named ? "" : ": ", message, hinted ? " (" : "", hinted ? hint : "",
                   hinted ? ")" : "");
}

int fail_error(enum colshuf_status status, const struct colshuf_error *err, const char *place) {
  return fail_message(status, err->message, place, NULL);
}

int fail_error_hint(enum colshuf_status status, const struct colshuf_error *err, const char *place, const char *hint) {
  return fail_message(status, err->message, place, hint);
}

int fail_stream(struct ArrowArrayStream *stream, int error, const char *place, const char *hint) {
  enum colshuf_status status = colshuf_stream_status(stream);
  const char *message = stream->get_last_error(stream);
  return fail_message(status, message == NULL ? strerror(error) : message, place, hint);
}

static bool closed_pipe_is_error;

int fail_errno(int error, const char *place) {
  if (error == EPIPE && !closed_pipe_is_error && strcmp(place, "standard output") == 0) return EXIT_CLOSED_PIPE;
  return fail_with(EXIT_SYSTEM, "%s: %s", place, strerror(error));
}

int fail_output(int error, const char *path) {
  const char *slash = strrchr(path, '/');
  int size = slash == NULL ? 1 : (int)(slash - path) + (slash == path);
  const char *folder = slash == NULL ? "." : path;
  if (error == ENOENT) return fail_with(EXIT_SYSTEM, "%s: %s; make the folder %.*s first", path, strerror(error), size, folder);
  if (error == EACCES) return fail_with(EXIT_SYSTEM, "%s: %s in the folder %.*s", path, strerror(error), size, folder);
  return fail_errno(error, path);
}

void *need_memory(void *pointer, size_t size) {
  void *result = realloc(pointer, size == 0 ? 1 : size);
  if (result == NULL) exit(fail_with(EXIT_SYSTEM, "no memory for %zu bytes", size));
  return result;
}

static char *next_place(void) {
  static char places[8][32];
  static unsigned next;
  return places[next++ % 8];
}

const char *size_text(uint64_t size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  char *place = next_place();
  double value = (double)size;
  int unit = 0;
  while (value >= 1023.95 && unit < 6) {
    value /= 1024;
    unit++;
  }
  snprintf(place, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return place;
}

const char *count_text(uint64_t n) {
  char digits[24], *place = next_place(), *out = place;
  int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) *out++ = ',';
    *out++ = digits[i];
  }
  *out = '\0';
  return place;
}

const char *time_text(uint64_t nanoseconds) {
  char *place = next_place();
  double seconds = (double)nanoseconds / 1e9;
  if (seconds < 1e-3) {
    snprintf(place, 32, "%.1f µs", seconds * 1e6);
  } else if (seconds < 1) {
    snprintf(place, 32, "%.1f ms", seconds * 1e3);
  } else if (seconds < 120) {
    snprintf(place, 32, "%.2f s", seconds);
  } else {
    snprintf(place, 32, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
  }
  return place;
}

uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t peak_resident(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return (uint64_t)usage.ru_maxrss;
#else
  return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

static volatile sig_atomic_t signal_seen;

/* The second signal finds the default again and ends the process at once. */
static void on_signal(int number) {
  signal_seen = number;
  signal(number, SIG_DFL);
}

/* Without SA_RESTART: a read that waits for a pipe returns. Signals that the caller has silenced (nohup) stay so. */
void catch_interrupts(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (int i = 0; i < 3; i++) {
    struct sigaction action = {.sa_handler = on_signal}, old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(numbers[i], &action, NULL);
  }
}

int interrupted(void) {
  return signal_seen;
}

int die_interrupted(void) {
  int number = signal_seen;
  fail_with(EXIT_SYSTEM, "interrupted; no output was left");
  signal(number, SIG_DFL);
  raise(number);
  return EXIT_SYSTEM;
}

void catch_closed_pipe(void) {
  closed_pipe_is_error = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
}

int die_of_closed_pipe(void) {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  return EXIT_CLOSED_PIPE;
}

static int stdout_errno; /* of the first flush that failed */

void flush_stdout(void) {
  errno = 0;
  if (fflush(stdout) != 0 && stdout_errno == 0) stdout_errno = errno;
}

/* What was printed between two flushes may have failed without a trace of the cause: a closed pipe says so itself. */
static int cause_of_loss(void) {
  struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};
  if (stdout_errno != 0) return stdout_errno;
  return poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0 ? EPIPE : 0;
}

int finish_stdout(int code) {
  bool lost = ferror(stdout) != 0;
  flush_stdout();
  if (stdout_errno == 0 && !lost) return code;
  int cause = cause_of_loss();
  return cause != 0 ? fail_errno(cause, "standard output") : fail_with(EXIT_SYSTEM, "standard output did not take everything");
}
