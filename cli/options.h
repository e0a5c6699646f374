/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a subcommand: one table says how they are read and what --help prints. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
  OPTION_FLAG,   /* target: bool */
  OPTION_TEXT,   /* target: const char * */
  OPTION_LIST,   /* target: struct strings; may be given again and again */
  OPTION_SIZE,   /* target: uint64_t; 64M, 1GiB, 10kB */
  OPTION_NUMBER  /* target: int64_t in [least, most] */
};

struct option {
  const char *name; /* without the dashes */
  char letter;      /* 0 = none */
  enum option_kind kind;
  const char *argument; /* its name in the help */
  const char *help;
  void *target;
  int64_t least, most;
};

struct strings {
  const char **items;
  int n;
  char *pieces; /* what strings_split cut; NULL = the items are others' */
};

struct usage {
  const char *command;
  const char *arguments;   /* behind the command's name */
  const char *description; /* what it does; lines of at most 100 characters */
  const struct option *options;
  int n_options;
};

/* Prints the help. */
void print_usage(const struct usage *usage);

enum { GO_ON = -1 };

/* Fills the targets and *arguments (what is no option). Returns GO_ON, or the exit code: 0 after --help. */
int parse_options(const struct usage *usage, int argc, char **argv, struct strings *arguments);

/* "64M", "1.5GiB", "10kB", "100": K, M, G, T are powers of 1024, with B alone behind them powers of 1000. */
bool parse_size(const char *text, uint64_t *out);
bool parse_number(const char *text, int64_t *out);

void strings_add(struct strings *strings, const char *item);
/* Splits at commas, into empty strings; \, is a comma in a name. */
void strings_split(struct strings *strings, const char *text);
void strings_free(struct strings *strings);

#define N_ELEMENTS(array) ((int)(sizeof(array) / sizeof(array)[0]))

#endif
