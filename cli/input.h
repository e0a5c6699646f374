/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows come from: Arrow streams, Arrow files, shuffle files, blocks; "-" is standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <colshuf/colshuf.h>
#include <stdbool.h>

#include "kind.h"
#include "options.h"

enum input_kind { INPUT_ARROW, INPUT_BLOCKS };

/* Bytes taken so far and, where it is known (else 0), their number: for progress. */
struct input_progress {
  uint64_t taken;
  uint64_t whole;
};

/* An opened source of rows. All zero is a valid closed one. */
struct input {
  const char *name; /* for messages */
  enum input_kind kind;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct input_progress *progress; /* kept up to date for Arrow input; the struct is the input's */
  struct colshuf_read_metrics *metrics;
  int32_t *columns; /* those of Arrow data that are shown; NULL = all. Shuffle files are read with no others */
  int32_t n_columns;
};

/* How shuffle files are read. All zero: everything. */
struct selection {
  const char *partition;  /* "7" */
  const char *partitions; /* "3-9" */
  const char *columns;    /* "a,b" */
  uint64_t memory_limit;
  int64_t target_rows;
  int64_t threads;
  bool any_order, keep_dictionaries;
  bool verify_checksums;
  bool skip_corrupt;
  bool trusted;
};

/* Opens paths[0..n): one of any kind, or several shuffle files. Returns GO_ON or an exit code, with the sentence said. */
int input_open(const char *command, const char *const *paths, int n, const struct selection *selection, struct input *input);

/* The next batch; batch->release NULL = end. Returns GO_ON or an exit code. */
int input_next(struct input *input, struct ArrowArray *batch);

/* Says on standard error what was left out (skip_corrupt), and returns the exit code for that: bad data, or GO_ON. */
int input_remarks(const struct input *input);

void input_close(struct input *input);

/* Whether path is a shuffle file or a file of blocks (by its first bytes), or Arrow. Returns GO_ON or an exit code. */
int input_probe(const char *path, enum input_kind *kind);

/* GO_ON when path is a shuffle file or a file of blocks; else an exit code, with the sentence said. */
int input_check_blocks(const char *command, const char *path);

/* The same for the data file of an output whose index stands beside it. */
int input_check_output(const char *command, const char *path);

/*
 * Whether path is a regular file without an index that is of another kind, as its first bytes or its name tell; then *kind says which. What
 * cannot be opened is not. Says nothing, and may be called by several threads.
 */
bool input_is_foreign(const char *path, struct file_kind *kind);

/* GO_ON unless path is standard input: shuffle files are several, found by name. */
int input_check_named(const char *command, const char *path);

/* GO_ON when path can be read again from its beginning: no standard input, pipe or device. why begins the sentence otherwise. */
int input_check_twice(const char *command, const char *path, const char *why);

/* GO_ON unless standard input is named more than once. */
int input_check_repeats(const char *command, const struct strings *paths);

/* "7" or "3-9" as first and end (exclusive). */
bool parse_partitions(const char *text, int32_t *first, int32_t *end);

#endif
