/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf inspect: the walk. */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "field.h"
#include "input.h"
#include "options.h"
#include "report.h"

static char *copy_of(const char *text) {
  return strcpy(need_memory(NULL, strlen(text) + 1), text);
}

static struct partition_figures *partition_of(struct inspection *inspection, int32_t partition) {
  int32_t number = partition < 0 ? 0 : partition;
  while (inspection->n_partitions <= number) {
    size_t n = (size_t)inspection->n_partitions + 1;
    inspection->partitions = need_memory(inspection->partitions, n * sizeof *inspection->partitions);
    inspection->partitions[inspection->n_partitions++] = (struct partition_figures){0};
  }
  return &inspection->partitions[number];
}

static void add_columns(struct inspection *inspection, const struct field *root) {
  inspection->n_columns = root->n_children;
  inspection->columns = need_memory(NULL, (size_t)root->n_children * sizeof *inspection->columns);
  for (int c = 0; c < root->n_children; c++) {
    struct text type = {0};
    field_describe(&root->children[c], &type);
    inspection->columns[c] = (struct column_figures){copy_of(root->children[c].name), type.data, 0};
  }
}

/* Each different schema once; the columns' bytes are added up while the schema has as many columns as the first. */
static void take_schema(struct inspection *inspection, const struct colshuf_block_info *block) {
  struct field root;
  struct text text = {0};
  field_init(&root, block->schema);
  if (inspection->columns == NULL) add_columns(inspection, &root);
  for (int c = 0; c < root.n_children && c < inspection->n_columns; c++) {
    if (block->column_bytes != NULL) inspection->columns[c].raw += block->column_bytes[c];
  }
  field_describe(&root, &text);
  bool known = false;
  for (int i = 0; i < inspection->n_schemas; i++) known |= strcmp(inspection->schemas[i], text.data) == 0;
  enum { MOST_SCHEMAS = 100 };
  if (!known && inspection->n_schemas < MOST_SCHEMAS) {
    size_t n = (size_t)inspection->n_schemas + 1;
    inspection->schemas = need_memory(inspection->schemas, n * sizeof *inspection->schemas);
    inspection->schemas[inspection->n_schemas++] = copy_of(text.data);
  }
  text_free(&text);
  field_clear(&root);
}

static void add_kinds(struct colshuf_byte_kinds *sum, const struct colshuf_byte_kinds *more) {
  sum->header += more->header;
  sum->schema += more->schema;
  sum->metadata += more->metadata;
  sum->dictionaries += more->dictionaries;
  sum->validity += more->validity;
  sum->offsets += more->offsets;
  sum->data += more->data;
  sum->padding += more->padding;
}

static void remember_block(struct inspection *inspection, const struct colshuf_block_info *block) {
  size_t n = (size_t)inspection->n_blocks;
  if ((n & (n - 1)) == 0) { /* a power of two, or none: double */
    inspection->blocks = need_memory(inspection->blocks, (n == 0 ? 1 : 2 * n) * sizeof *inspection->blocks);
  }
  inspection->blocks[n] = (struct block_figures){
      .partition = block->partition,
      .in_partition = block->block_in_partition,
      .offset = block->offset,
      .size = block->header.block_size,
      .raw = block->raw_size,
      .rows = block->rows,
      .codec = block->header.codec,
      .lengths = block->header.offsets_as_lengths != 0,
      .problem = block->status == COLSHUF_OK ? NULL : copy_of(block->problem == NULL ? "damaged" : block->problem),
  };
}

static void take_size(struct inspection *inspection, uint64_t size) {
  int power = 0;
  while (power < 39 && size >> (power + 1) != 0) power++;
  inspection->size_histogram[power]++;
  if (inspection->n_blocks == 1 || size < inspection->smallest_block) inspection->smallest_block = size;
  if (size > inspection->largest_block) inspection->largest_block = size;
}

static int take_block(void *ctx, const struct colshuf_block_info *block) {
  struct inspection *inspection = ctx;
  struct partition_figures *partition = partition_of(inspection, block->partition);
  remember_block(inspection, block);
  inspection->n_blocks++;
  take_size(inspection, block->header.block_size);
  partition->blocks++;
  if (!inspection->has_index) partition->bytes += block->header.block_size;
  inspection->size += inspection->has_index ? 0 : block->header.block_size;
  if (block->status != COLSHUF_OK) {
    inspection->n_bad++;
    return 0;
  }
  partition->rows += (uint64_t)block->rows;
  partition->raw += block->raw_size;
  inspection->n_rows += (uint64_t)block->rows;
  inspection->raw += block->raw_size;
  if ((unsigned)block->header.codec < 4) inspection->codec_blocks[block->header.codec]++;
  inspection->lengths_blocks += block->header.offsets_as_lengths != 0;
  add_kinds(&inspection->kinds, &block->kinds);
  if (block->schema != NULL) take_schema(inspection, block);
  return 0;
}

/* Partition sizes come from the index where there is one: empty partitions have no block to tell of them. */
static void take_index(struct inspection *inspection, const char *index_path) {
  struct colshuf_error err;
  struct colshuf_index_info index;
  char *path = NULL;
  size_t size = strlen(inspection->path);
  if (index_path == NULL && size > 5 && strcmp(inspection->path + size - 5, ".data") == 0) {
    path = need_memory(NULL, size + 2);
    memcpy(path, inspection->path, size - 5);
    strcpy(path + size - 5, ".index");
    index_path = path;
  }
  if (index_path != NULL && colshuf_index_read(index_path, &index, &err) == COLSHUF_OK) {
    inspection->has_index = true;
    inspection->little_endian = index.little_endian != 0;
    if (index.n_partitions > 0) partition_of(inspection, index.n_partitions - 1);
    for (int32_t p = 0; p < index.n_partitions; p++) inspection->partitions[p].bytes = index.offsets[p + 1] - index.offsets[p];
    inspection->size = index.offsets[index.n_partitions];
    colshuf_index_clear(&index);
  }
  free(path);
}

static void clear_inspection(struct inspection *inspection) {
  for (int i = 0; i < inspection->n_columns; i++) {
    free(inspection->columns[i].name);
    free(inspection->columns[i].type);
  }
  for (int i = 0; i < inspection->n_schemas; i++) free(inspection->schemas[i]);
  for (uint64_t i = 0; i < inspection->n_blocks; i++) free(inspection->blocks[i].problem);
  free(inspection->columns);
  free(inspection->schemas);
  free(inspection->blocks);
  free(inspection->partitions);
}

static int compare_sizes(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

struct skew skew_of(const struct inspection *inspection) {
  struct skew skew = {0};
  size_t n = (size_t)inspection->n_partitions;
  if (n == 0) return skew;
  uint64_t *sizes = need_memory(NULL, n * sizeof *sizes);
  for (size_t p = 0; p < n; p++) {
    sizes[p] = inspection->partitions[p].bytes;
    skew.n_empty += sizes[p] == 0;
    skew.mean += (double)sizes[p] / (double)n;
    if (sizes[p] > inspection->partitions[skew.largest_partition].bytes) skew.largest_partition = (int32_t)p;
  }
  qsort(sizes, n, sizeof *sizes, compare_sizes);
  skew.least = sizes[0];
  skew.median = sizes[n / 2];
  skew.p95 = sizes[n * 95 / 100];
  skew.largest = sizes[n - 1];
  free(sizes);
  return skew;
}

void byte_kinds(const struct inspection *inspection, struct byte_kind out[N_BYTE_KINDS]) {
  const struct colshuf_byte_kinds *kinds = &inspection->kinds;
  const struct byte_kind all[N_BYTE_KINDS] = {
      {"header", kinds->header},     {"schema", kinds->schema},   {"metadata", kinds->metadata}, {"dictionaries", kinds->dictionaries},
      {"validity", kinds->validity}, {"offsets", kinds->offsets}, {"data", kinds->data},         {"padding", kinds->padding}};
  memcpy(out, all, sizeof all);
}

static int run(const char *path, const char *index_path, const char *html, bool deep, bool with_blocks, bool as_json) {
  struct inspection inspection = {.path = path};
  struct colshuf_error err = {0};
  int code = input_check_blocks("inspect", path);
  if (code != GO_ON) return code;
  take_index(&inspection, index_path);
  enum colshuf_status status = colshuf_inspect(path, index_path, deep, take_block, &inspection, &err);
  if (status == COLSHUF_OK && as_json) inspection_print_json(&inspection, with_blocks);
  if (status == COLSHUF_OK && !as_json) inspection_print(&inspection, with_blocks);
  code = status != COLSHUF_OK ? fail_error(status, &err, path) : EXIT_WELL;
  if (status == COLSHUF_OK && html != NULL) {
    int written = inspection_write_html(&inspection, html);
    if (written != GO_ON) code = written;
  }
  if (code == EXIT_WELL && inspection.n_bad > 0) {
    code = fail_with(EXIT_BAD_DATA, "%s: %s damaged block%s", path, count_text(inspection.n_bad), inspection.n_bad == 1 ? "" : "s");
  }
  clear_inspection(&inspection);
  return finish_stdout(code);
}

int command_inspect(int argc, char **argv) {
  struct strings files = {0};
  const char *index_path = NULL, *html = NULL;
  bool with_blocks = false, as_json = false, deep = false;
  const struct option options[] = {
      {"blocks", 'b', OPTION_FLAG, NULL, "list every block", &with_blocks, 0, 0},
      {"deep", 0, OPTION_FLAG, NULL, "decode and validate every block, not only its header and metadata", &deep, 0, 0},
      {"index", 0, OPTION_TEXT, "FILE", "the index file [NAME.index beside NAME.data]", &index_path, 0, 0},
      {"html", 0, OPTION_TEXT, "FILE", "writes a report with charts and advice as one page", &html, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "everything as JSON", &as_json, 0, 0},
  };
  const struct usage usage = {"inspect", "FILE.data [--blocks] [--html FILE] [--json]",
                              "Shows partitions, blocks, rows, codec, schema, and what the bytes are made of.", options,
                              N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &files);
  if (code == GO_ON && files.n != 1) code = fail_usage("inspect", "one file is wanted, not %d", files.n);
  if (code == GO_ON) code = run(files.items[0], index_path, html, deep, with_blocks, as_json);
  strings_free(&files);
  return code;
}
