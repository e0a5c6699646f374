/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf read, convert and extract: rows from anywhere to an output. */
#include <string.h>

#include "commands.h"
#include "input.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "rows.h"

/* The command line of all three. */
struct request {
  struct strings inputs;
  struct selection selection;
  const char *output, *format, *compress;
};

#define SELECTION_OPTIONS(r)                                                                                                     \
  {"partition", 'p', OPTION_TEXT, "P", "this partition only", &(r)->selection.partition, 0, 0},                                \
      {"partitions", 0, OPTION_TEXT, "A-B", "partitions A to B, both included", &(r)->selection.partitions, 0, 0},             \
      {"columns", 'c', OPTION_TEXT, "COLS", "these columns only, in this order: a,b", &(r)->selection.columns, 0, 0}

#define READING_OPTIONS(r)                                                                                                       \
  {"memory-limit", 'm', OPTION_SIZE, "SIZE", "what the reader may hold [64M]", &(r)->selection.memory_limit, 0, 0},            \
      {"target-rows", 0, OPTION_NUMBER, "N", "small blocks are joined to batches of at least N rows [8192]",                   \
       &(r)->selection.target_rows, 1, INT32_MAX},                                                                               \
      {"threads", 0, OPTION_NUMBER, "N", "threads that decode ahead [0]", &(r)->selection.threads, 0, 1024},                   \
      {"any-order", 0, OPTION_FLAG, NULL, "with threads: each reads inputs of its own, rows come as they arrive",              \
       &(r)->selection.any_order, 0, 0},                                                                                         \
      {"keep-dictionaries", 0, OPTION_FLAG, NULL, "leave dictionary columns as they are", &(r)->selection.keep_dictionaries,   \
       0, 0},                                                                                                                    \
      {"verify-checksums", 0, OPTION_FLAG, NULL, "compare each partition with the checksum file",                              \
       &(r)->selection.verify_checksums, 0, 0},                                                                                  \
      {"skip-corrupt", 0, OPTION_FLAG, NULL, "leave corrupt blocks out and go on (exit code 1)", &(r)->selection.skip_corrupt, \
       0, 0},                                                                                                                    \
      {"trusted", 0, OPTION_FLAG, NULL, "skip deep checks of values: files of this machine and user", &(r)->selection.trusted, \
       0, 0}

#define OUTPUT_OPTIONS(r, where)                                                                                                 \
  {"output", 'o', OPTION_TEXT, "OUT", where, &(r)->output, 0, 0},                                                              \
      {"format", 'f', OPTION_TEXT, "FORMAT", "stream, file, csv or json [by the ending of OUT, else stream]", &(r)->format, 0, \
       0},                                                                                                                       \
      {"compress", 0, OPTION_TEXT, "CODEC", "compress Arrow output: none (default), lz4 or zstd", &(r)->compress, 0, 0}

static int parse_compress(const char *command, const char *text, int *compress) {
  static const char *const names[] = {"none", "lz4", "zstd"};
  *compress = 0;
  for (int i = 0; text != NULL && i < N_ELEMENTS(names); i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *compress = i;
    return GO_ON;
  }
  return text == NULL ? GO_ON : fail_usage(command, "--compress %s is none of none, lz4, zstd", text);
}

static int copy_batches(struct input *input, struct rows_writer *rows) {
  int code = GO_ON;
  while (code == GO_ON) {
    struct ArrowArray batch;
    code = input_next(input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    code = rows_write(rows, &batch);
    batch.release(&batch);
    uint64_t done = input->kind == INPUT_ARROW ? input->progress->taken : input->metrics->bytes;
    progress_show("reading", done, input->kind == INPUT_ARROW ? input->progress->whole : 0);
  }
  progress_end();
  return code;
}

static int copy_rows(const char *command, const struct request *r, enum rows_format format, int compress) {
  struct input input;
  struct output output;
  struct rows_writer rows = {0};
  int code = input_open(command, r->inputs.items, r->inputs.n, &r->selection, &input);
  if (code != GO_ON) return code;
  code = output_open(&output, r->output);
  if (code != GO_ON) {
    input_close(&input);
    return code;
  }
  code = rows_open(&rows, format, compress, &input.schema, &output);
  if (code == GO_ON) code = copy_batches(&input, &rows);
  if (code == GO_ON) code = rows_finish(&rows);
  rows_close(&rows);
  code = output_finish(&output, code);
  if (code == GO_ON) code = input_remarks(&input);
  input_close(&input);
  return code == GO_ON ? EXIT_WELL : code;
}

static int run(const char *command, struct request *r) {
  enum rows_format format;
  int compress;
  int code = rows_format_of(command, r->format, r->output, &format);
  if (code == GO_ON) code = parse_compress(command, r->compress, &compress);
  if (code == GO_ON && r->inputs.n == 0) code = fail_usage(command, "no file is named");
  if (code == GO_ON && r->output != NULL && *r->output == '\0') code = fail_usage(command, "the output has an empty name");
  if (code == GO_ON) {
    catch_interrupts();
    code = copy_rows(command, r, format, compress);
  }
  strings_free(&r->inputs);
  return code;
}

int command_read(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {SELECTION_OPTIONS(&r), OUTPUT_OPTIONS(&r, "where to [standard output]"), READING_OPTIONS(&r)};
  const struct usage usage = {"read", "FILE.data... [options]",
                              "Reads partitions of shuffle files, all by default, as one Arrow stream, Arrow file, CSV or JSON lines.\n"
                              "A file without an index beside it is read as blocks one after another. Several files are joined in order.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.inputs);
  if (code == GO_ON) return run("read", &r);
  strings_free(&r.inputs);
  return code;
}

int command_convert(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {OUTPUT_OPTIONS(&r, "where to; \"-\" is standard output"), SELECTION_OPTIONS(&r), READING_OPTIONS(&r)};
  const struct usage usage = {"convert", "FILE -o OUT [options]",
                              "Writes the rows of an Arrow stream, an Arrow file or a shuffle file in another form.", options,
                              N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.inputs);
  if (code == GO_ON && r.output == NULL) code = fail_usage("convert", "no output is named: -o OUT (\"-\" is standard output)");
  if (code == GO_ON) return run("convert", &r);
  strings_free(&r.inputs);
  return code;
}

int command_extract(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {SELECTION_OPTIONS(&r), OUTPUT_OPTIONS(&r, "where to; \"-\" is standard output"), READING_OPTIONS(&r)};
  const struct usage usage = {"extract", "FILE.data --partition P -o OUT [options]",
                              "Writes one partition (or a range) to an Arrow file of its own.", options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.inputs);
  if (code == GO_ON && r.output == NULL) code = fail_usage("extract", "no output is named: -o OUT");
  if (code == GO_ON && r.selection.partition == NULL && r.selection.partitions == NULL) {
    code = fail_usage("extract", "which partition? --partition P or --partitions A-B");
  }
  if (code == GO_ON && r.format == NULL && strchr(r.output, '.') == NULL) r.format = "file";
  if (code == GO_ON) return run("extract", &r);
  strings_free(&r.inputs);
  return code;
}
