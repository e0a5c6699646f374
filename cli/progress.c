/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "report.h"

static uint64_t started, shown;

static void show(const char *what, uint64_t done, uint64_t whole, const char *(*form)(uint64_t)) {
  static int terminal = -1;
  enum { FIRST_NS = 500000000, STEP_NS = 100000000 };
  if (terminal < 0) terminal = isatty(STDERR_FILENO);
  if (!terminal) return;
  uint64_t now = clock_ns();
  if (started == 0) started = now;
  if (now - started < FIRST_NS || now - shown < STEP_NS) return;
  shown = now;
  fprintf(stderr, "\r%s: %s", what, form(done));
  if (whole > 0) fprintf(stderr, " of %s (%d%%)", form(whole), (int)(100.0 * (double)done / (double)whole));
  fputs("\x1b[K", stderr);
  fflush(stderr);
}

void progress_show(const char *what, uint64_t done, uint64_t whole) {
  show(what, done, whole, size_text);
}

void progress_count(const char *what, uint64_t done, uint64_t whole) {
  show(what, done, whole, count_text);
}

void progress_end(void) {
  if (shown != 0) fputs("\r\x1b[K", stderr);
  started = shown = 0;
}
