/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: medians of timed passes, one line of JSON for each result, tables from Arrow files. */
#ifndef COLSHUF_BENCH_SUPPORT_H
#define COLSHUF_BENCH_SUPPORT_H

#include <colshuf/colshuf.h>
#include <stdio.h>

#include "bench_raw.h"

/* How long to measure: --samples N, --sample-ms N; and --cells TEXT: only cells whose name has that text. */
struct bench_plan {
  int n_samples;
  double sample_ms;
  const char *cells;
};

/* Takes the common options out of argv; what is left are operands. Ends the program with 2 on anything it does not know. */
struct bench_plan bench_arguments(int *argc, char **argv);
int bench_wanted(const struct bench_plan *plan, const char *cell);

struct bench_timing {
  double median, least, most; /* nanoseconds of one pass */
  int n_samples;
};

/* One of several things that are held against each other. */
struct bench_turn {
  const char *operation, *mode;
  void (*pass)(void *ctx);
  void *ctx;
  long n_passes;              /* in one sample */
  struct bench_timing timing; /* the result */
};

/*
 * Medians of samples, each as many passes as fill plan->sample_ms, after one sample of warm-up. The samples of all turns take turns: when
 * the machine is slower for a while, it is so for all.
 */
void bench_take_turns(const struct bench_plan *plan, struct bench_turn *turns, int n_turns);
struct bench_timing bench_measure(const struct bench_plan *plan, void (*pass)(void *ctx), void *ctx); /* one alone */

/*
 * Prints {"program": "colshuf", "operation": …, "cell": …, "mode": …, "ns_per_block": …} for passes of n_blocks blocks each.
 * extra (may be "") is more JSON members, beginning with a comma.
 */
void bench_report(const char *operation, const char *cell, const char *mode, const struct bench_timing *timing, double n_blocks,
                  const char *extra);

/* All batches of an Arrow file or stream, with their schema. Ends the program with a message when that fails. */
struct bench_table {
  struct ArrowSchema schema;
  struct ArrowArray *batches;
  int n_batches;
};
struct bench_table bench_read_table(const char *path);
void bench_table_clear(struct bench_table *table);

/* Ends the program with err's message unless status is OK. */
void bench_need(enum colshuf_status status, const struct colshuf_error *err, const char *what);
void *bench_alloc(size_t size); /* 64-byte aligned; never NULL */

/* The paths of folder/ *.ENDING, sorted; and the name between folder and ENDING. */
char **bench_list(const char *folder, const char *ending, int *n);
const char *bench_stem(const char *path);

extern const struct bench_codec {
  const char *name;
  enum colshuf_codec codec;
  int level;
} bench_codecs[4];

#endif
