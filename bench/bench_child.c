/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what) {
  perror(what);
  exit(1);
}

static _Noreturn void run_child(void (*job)(const void *ctx, void *result), const void *ctx, void *result, size_t size, int out) {
  job(ctx, result);
  fflush(NULL);
  for (size_t at = 0; at < size;) {
    ssize_t n = write(out, (const char *)result + at, size - at);
    if (n <= 0) _exit(1);
    at += (size_t)n;
  }
  _exit(0);
}

static size_t read_result(int in, void *result, size_t size) {
  size_t at = 0;
  for (ssize_t n; at < size && (n = read(in, (char *)result + at, size - at)) > 0;) at += (size_t)n;
  return at;
}

void bench_in_child(void (*job)(const void *ctx, void *result), const void *ctx, void *result, size_t size) {
  int ends[2], state;
  fflush(NULL); /* else the child would print it once more */
  if (pipe(ends) != 0) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(ends[0]);
    run_child(job, ctx, result, size, ends[1]);
  }
  close(ends[1]);
  size_t got = read_result(ends[0], result, size);
  close(ends[0]);
  if (waitpid(child, &state, 0) != child) fail("waitpid");
  if (got == size && WIFEXITED(state) && WEXITSTATUS(state) == 0) return;
  fprintf(stderr, "a measurement ended with %s %d\n", WIFSIGNALED(state) ? "signal" : "exit code", WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
  exit(1);
}

static double status_mib(const char *name) {
  char line[256];
  double kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  if (status == NULL) return 0;
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kib = atof(line + strlen(name));
  }
  fclose(status);
  return kib / 1024;
}

double bench_peak_mib(void) {
  return status_mib("VmHWM:");
}

double bench_resident_mib(void) {
  return status_mib("VmRSS:");
}
