/* SPDX-License-Identifier: Apache-2.0 */
/* Rows written out as Arrow stream, Arrow file, CSV or JSON lines. */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include <colshuf/colshuf.h>

#include "field.h"
#include "output.h"

enum rows_format { ROWS_STREAM, ROWS_FILE, ROWS_CSV, ROWS_JSON };

struct rows_writer {
  enum rows_format format;
  struct output *output;
  struct colshuf_ipc_writer *arrow;
  struct field root;
  bool has_root;
  struct text line;
  uint64_t n_rows;
};

/*
 * The format called text ("stream", "file", "csv", "json"), or where text is NULL what the ending of path says (.arrow and
 * .feather = file, .csv, .json .jsonl .ndjson), else stream. Returns GO_ON or an exit code.
 */
int rows_format_of(const char *command, const char *text, const char *path, enum rows_format *format);

/* compress: 0 none, 1 LZ4, 2 zstd (Arrow only). output must outlive the writer. Each returns GO_ON or an exit code. */
int rows_open(struct rows_writer *writer, enum rows_format format, int compress, const struct ArrowSchema *schema,
              struct output *output);
int rows_write(struct rows_writer *writer, const struct ArrowArray *batch);
int rows_finish(struct rows_writer *writer);
void rows_close(struct rows_writer *writer);

#endif
