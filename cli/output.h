/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where results go: standard output, or a file that appears under its name only when it is whole (written as
 * ".NAME.PID-N.colshuf-tmp" beside it, which `colshuf clean` would remove).
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
  const char *name; /* for messages */
  const char *path; /* NULL = standard output */
  char *resolved;   /* path behind symbolic links, where there are any */
  char *temporary;  /* NULL = written in place (pipes and devices) */
  int fd;
  int error; /* errno value of the first failure */
  char *buffer;
  size_t used;
  uint64_t written;
};

/* path NULL or "-" = standard output. Returns GO_ON or an exit code. */
int output_open(struct output *output, const char *path);

/* 0 or an errno value, which is remembered. */
int output_write(struct output *output, const void *data, size_t size);

/* Puts the file in place. Returns code, or another exit code when that failed. With a code other than GO_ON nothing appears. */
int output_finish(struct output *output, int code);

/* GO_ON when name can be the first part of the names of a shuffle output, and its folder stands ready. */
int check_output_name(const char *command, const char *name);

/* GO_ON when files can be made in the folder. */
int check_spill_folder(const char *folder);

bool output_is_terminal(const struct output *output);

/* path without ".data", with ending; allocated. */
char *with_ending(const char *path, const char *ending);

#endif
