/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <errno.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "report.h"
#include "value.h"

static const struct {
  const char *name;
  enum rows_format format;
} names[] = {{"stream", ROWS_STREAM}, {"file", ROWS_FILE}, {"csv", ROWS_CSV}, {"json", ROWS_JSON}};

static const struct {
  const char *ending;
  enum rows_format format;
} endings[] = {{".arrow", ROWS_FILE}, {".feather", ROWS_FILE}, {".csv", ROWS_CSV},
               {".json", ROWS_JSON},  {".jsonl", ROWS_JSON},   {".ndjson", ROWS_JSON}};

int rows_format_of(const char *command, const char *text, const char *path, enum rows_format *format) {
  *format = ROWS_STREAM;
  for (int i = 0; text != NULL && i < N_ELEMENTS(names); i++) {
    if (strcmp(text, names[i].name) != 0) continue;
    *format = names[i].format;
    return GO_ON;
  }
  if (text != NULL) return fail_usage(command, "--format %s is none of stream, file, csv, json", text);
  size_t size = path == NULL ? 0 : strlen(path);
  for (int i = 0; i < N_ELEMENTS(endings); i++) {
    size_t ending = strlen(endings[i].ending);
    if (size > ending && strcmp(path + size - ending, endings[i].ending) == 0) *format = endings[i].format;
  }
  return GO_ON;
}

static int write_output(void *ctx, const void *data, size_t size) {
  return output_write(ctx, data, size);
}

/* What the output or the library says went wrong. */
static int failed(const struct rows_writer *writer, enum colshuf_status status, const struct colshuf_error *err) {
  if (writer->output->error == EINTR && interrupted()) return EXIT_INTERRUPTED;
  if (writer->output->error != 0) return fail_errno(writer->output->error, writer->output->name);
  return fail_error(status, err, writer->output->name);
}

/* A field of CSV is quoted when it holds what would end it, or nothing (null is nothing without quotes). */
static void csv_field(struct text *line, const char *bytes, size_t size) {
  bool quote = size == 0 || bytes[0] == ' ' || bytes[size - 1] == ' ';
  for (size_t i = 0; i < size && !quote; i++) quote = strchr(",\"\r\n", bytes[i]) != NULL;
  if (!quote) {
    text_add(line, bytes, size);
    return;
  }
  text_char(line, '"');
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == '"') text_char(line, '"');
    text_char(line, bytes[i]);
  }
  text_char(line, '"');
}

static int put_line(struct rows_writer *writer) {
  text_char(&writer->line, '\n');
  int error = output_write(writer->output, writer->line.data, writer->line.size);
  text_clear(&writer->line);
  return error == 0 ? GO_ON : failed(writer, COLSHUF_IO, NULL);
}

static int write_csv_header(struct rows_writer *writer) {
  for (int c = 0; c < writer->root.n_children; c++) {
    if (c > 0) text_char(&writer->line, ',');
    csv_field(&writer->line, writer->root.children[c].name, strlen(writer->root.children[c].name));
  }
  return put_line(writer);
}

int rows_open(struct rows_writer *writer, enum rows_format format, int compress, const struct ArrowSchema *schema,
              struct output *output) {
  *writer = (struct rows_writer){.format = format, .output = output};
  bool arrow = format == ROWS_STREAM || format == ROWS_FILE;
  if (arrow && output_is_terminal(output)) {
    return fail_with(EXIT_USAGE, "Arrow data is nothing for a terminal: choose --format csv, -o FILE, or colshuf cat");
  }
  if (arrow) {
    struct colshuf_error err = {0};
    struct colshuf_output sink = {write_output, output};
    struct colshuf_ipc_writer_options options = {.file_format = format == ROWS_FILE, .compress = compress};
    enum colshuf_status status = colshuf_ipc_writer_new(schema, &sink, &options, &writer->arrow, &err);
    return status == COLSHUF_OK ? GO_ON : failed(writer, status, &err);
  }
  field_init(&writer->root, schema);
  writer->has_root = true;
  return format == ROWS_CSV ? write_csv_header(writer) : GO_ON;
}

static int write_csv_row(struct rows_writer *writer, const struct ArrowArray *batch, int64_t row, struct text *value) {
  for (int c = 0; c < writer->root.n_children; c++) {
    if (c > 0) text_char(&writer->line, ',');
    text_clear(value);
    if (value_text(&writer->root.children[c], batch->children[c], batch->offset + row, value)) {
      csv_field(&writer->line, value->size == 0 ? "" : value->data, value->size);
    }
  }
  return put_line(writer);
}

static int write_json_row(struct rows_writer *writer, const struct ArrowArray *batch, int64_t row) {
  text_char(&writer->line, '{');
  for (int c = 0; c < writer->root.n_children; c++) {
    if (c > 0) text_char(&writer->line, ',');
    json_quote(&writer->line, writer->root.children[c].name, strlen(writer->root.children[c].name));
    text_char(&writer->line, ':');
    value_json(&writer->root.children[c], batch->children[c], batch->offset + row, &writer->line);
  }
  text_char(&writer->line, '}');
  return put_line(writer);
}

static int write_arrow(struct rows_writer *writer, const struct ArrowArray *batch) {
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_ipc_writer_write(writer->arrow, batch, 0, batch->length, &err);
  return status == COLSHUF_OK ? GO_ON : failed(writer, status, &err);
}

int rows_write(struct rows_writer *writer, const struct ArrowArray *batch) {
  writer->n_rows += (uint64_t)batch->length;
  if (writer->arrow != NULL) return write_arrow(writer, batch);
  struct text value = {0};
  int code = GO_ON;
  for (int64_t row = 0; row < batch->length && code == GO_ON; row++) {
    code = writer->format == ROWS_CSV ? write_csv_row(writer, batch, row, &value) : write_json_row(writer, batch, row);
    if (code == GO_ON && row % 1024 == 0 && interrupted()) code = EXIT_INTERRUPTED;
  }
  text_free(&value);
  return code;
}

int rows_finish(struct rows_writer *writer) {
  if (writer->arrow == NULL) return GO_ON;
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_ipc_writer_finish(writer->arrow, &err);
  return status == COLSHUF_OK ? GO_ON : failed(writer, status, &err);
}

void rows_close(struct rows_writer *writer) {
  colshuf_ipc_writer_free(writer->arrow);
  if (writer->has_root) field_clear(&writer->root);
  text_free(&writer->line);
  *writer = (struct rows_writer){0};
}
