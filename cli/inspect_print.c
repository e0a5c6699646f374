/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf inspect: for people and for programs. */
#include <string.h>

#include "choices.h"
#include "inspect.h"
#include "json.h"
#include "report.h"
#include "table.h"

static double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void print_head(const struct inspection *i) {
  printf("%s\n  %s, %s rows in %s blocks, %s partition%s", i->path, size_text(i->size), count_text(i->n_rows),
         count_text(i->n_blocks), count_text((uint64_t)i->n_partitions), i->n_partitions == 1 ? "" : "s");
  printf("%s\n", !i->has_index ? ", no index" : i->little_endian ? ", little-endian index (Comet's native form)" : "");
  printf("  %s before compression", size_text(i->raw));
  if (i->size > 0) printf(", ratio %.2f", (double)i->raw / (double)i->size);
  printf("\n  codec");
  for (int codec = 0; codec < 4; codec++) {
    if (i->codec_blocks[codec] == i->n_blocks) printf(" %s", codec_name((enum colshuf_codec)codec));
    else if (i->codec_blocks[codec] > 0) printf(" %s (%s blocks)", codec_name((enum colshuf_codec)codec), count_text(i->codec_blocks[codec]));
  }
  if (i->lengths_blocks == i->n_blocks && i->n_blocks > 0) {
    printf(", offsets as lengths");
  } else if (i->lengths_blocks > 0) {
    printf(", offsets as lengths in %s blocks", count_text(i->lengths_blocks));
  }
  if (i->n_schemas > 1) printf("\n  %d different schemas", i->n_schemas);
  printf("\n");
}

static void print_skew(const struct inspection *i) {
  struct skew skew = skew_of(i);
  if (i->n_partitions < 2) return;
  printf("\nPartitions\n  %s to %s, median %s, mean %s, 95%% at most %s", size_text(skew.least), size_text(skew.largest),
         size_text(skew.median), size_text((uint64_t)skew.mean), size_text(skew.p95));
  if (skew.n_empty > 0) printf(", %s empty", count_text((uint64_t)skew.n_empty));
  if (skew.mean > 0) printf("\n  the largest, %" PRId32 ", is %.2f times the mean", skew.largest_partition, (double)skew.largest / skew.mean);
  printf("\n");
}

static void print_kinds(const struct inspection *i) {
  struct byte_kind kinds[N_BYTE_KINDS];
  struct table table;
  byte_kinds(i, kinds);
  printf("\nBytes before compression\n");
  table_start(&table, 4, 0);
  table.to_right[2] = table.to_right[3] = true;
  for (int k = 0; k < N_BYTE_KINDS; k++) {
    if (kinds[k].bytes == 0) continue;
    char share[16];
    snprintf(share, sizeof share, "%.1f%%", percent(kinds[k].bytes, i->raw + kinds[0].bytes)); /* headers are not among the raw bytes */
    table_put(&table, "");
    table_put(&table, kinds[k].name);
    table_put(&table, size_text(kinds[k].bytes));
    table_put(&table, share);
  }
  table_print(&table, stdout, false);
  table_free(&table);
}

static void print_columns(const struct inspection *i) {
  struct table table;
  if (i->n_columns == 0) return;
  printf("\nColumns\n");
  table_start(&table, 5, 48);
  table.to_right[3] = table.to_right[4] = true;
  for (int c = 0; c < i->n_columns; c++) {
    char share[16];
    snprintf(share, sizeof share, "%.1f%%", percent(i->columns[c].raw, i->raw));
    table_put(&table, "");
    table_put(&table, i->columns[c].name);
    table_put(&table, i->columns[c].type);
    table_put(&table, size_text(i->columns[c].raw));
    table_put(&table, share);
  }
  table_print(&table, stdout, false);
  table_free(&table);
}

static void print_blocks(const struct inspection *i) {
  static const char *const heads[] = {"partition", "block", "offset", "bytes", "raw", "ratio", "rows", "codec", ""};
  enum { N = 9 };
  struct table table;
  printf("\nBlocks\n");
  table_start(&table, N, 0);
  for (int c = 0; c < N; c++) {
    table.to_right[c] = c < 7;
    table_put(&table, heads[c]);
  }
  for (uint64_t b = 0; b < i->n_blocks; b++) {
    const struct block_figures *block = &i->blocks[b];
    char cell[N - 2][24];
    snprintf(cell[0], 24, "%" PRId32, block->partition);
    snprintf(cell[1], 24, "%" PRIu64, block->in_partition);
    snprintf(cell[2], 24, "%" PRIu64, block->offset);
    snprintf(cell[3], 24, "%" PRIu64, block->size);
    snprintf(cell[4], 24, "%" PRIu64, block->raw);
    snprintf(cell[5], 24, "%.2f", block->size == 0 ? 0 : (double)block->raw / (double)block->size);
    snprintf(cell[6], 24, "%" PRId64, block->rows);
    for (int c = 0; c < N - 2; c++) table_put(&table, cell[c]);
    table_put(&table, codec_name(block->codec));
    table_put(&table, block->problem != NULL ? block->problem : block->lengths ? "offsets as lengths" : "");
  }
  table_print(&table, stdout, true);
  table_free(&table);
}

/* Without --blocks the bad ones are shown all the same. */
static void print_problems(const struct inspection *i) {
  for (uint64_t b = 0; b < i->n_blocks; b++) {
    const struct block_figures *block = &i->blocks[b];
    if (block->problem == NULL) continue;
    printf("  partition %" PRId32 ", block %" PRIu64 ", offset %" PRIu64 ": %s\n", block->partition, block->in_partition, block->offset,
           block->problem);
  }
}

void inspection_print(const struct inspection *inspection, bool with_blocks) {
  print_head(inspection);
  print_skew(inspection);
  print_kinds(inspection);
  print_columns(inspection);
  if (with_blocks) {
    print_blocks(inspection);
  } else if (inspection->n_bad > 0) {
    printf("\nDamaged\n");
    print_problems(inspection);
  }
}

static void json_head(struct json *json, const struct inspection *i) {
  json_string(json, "file", i->path);
  json_unsigned(json, "bytes", i->size);
  json_unsigned(json, "raw_bytes", i->raw);
  json_unsigned(json, "rows", i->n_rows);
  json_unsigned(json, "blocks", i->n_blocks);
  json_unsigned(json, "damaged_blocks", i->n_bad);
  json_integer(json, "partitions", i->n_partitions);
  json_string(json, "index", !i->has_index ? NULL : i->little_endian ? "little-endian" : "big-endian");
  json_object(json, "codecs");
  for (int codec = 0; codec < 4; codec++) json_unsigned(json, codec_name((enum colshuf_codec)codec), i->codec_blocks[codec]);
  json_close(json);
  json_unsigned(json, "blocks_with_offsets_as_lengths", i->lengths_blocks);
  struct byte_kind kinds[N_BYTE_KINDS];
  byte_kinds(i, kinds);
  json_object(json, "raw_bytes_by_kind");
  for (int k = 0; k < N_BYTE_KINDS; k++) json_unsigned(json, kinds[k].name, kinds[k].bytes);
  json_close(json);
}

static void json_skew(struct json *json, const struct inspection *i) {
  struct skew skew = skew_of(i);
  json_object(json, "skew");
  json_unsigned(json, "least", skew.least);
  json_unsigned(json, "median", skew.median);
  json_unsigned(json, "p95", skew.p95);
  json_unsigned(json, "largest", skew.largest);
  json_real(json, "mean", skew.mean);
  json_integer(json, "largest_partition", skew.largest_partition);
  json_integer(json, "empty", skew.n_empty);
  json_close(json);
}

static void json_columns(struct json *json, const struct inspection *i) {
  json_array(json, "columns");
  for (int c = 0; c < i->n_columns; c++) {
    json_object(json, NULL);
    json_string(json, "name", i->columns[c].name);
    json_string(json, "type", i->columns[c].type);
    json_unsigned(json, "raw_bytes", i->columns[c].raw);
    json_close(json);
  }
  json_close(json);
  json_array(json, "schemas");
  for (int s = 0; s < i->n_schemas; s++) json_string(json, NULL, i->schemas[s]);
  json_close(json);
}

static void json_partitions(struct json *json, const struct inspection *i) {
  json_array(json, "partition_list");
  for (int32_t p = 0; p < i->n_partitions; p++) {
    json_object(json, NULL);
    json_integer(json, "partition", p);
    json_unsigned(json, "bytes", i->partitions[p].bytes);
    json_unsigned(json, "raw_bytes", i->partitions[p].raw);
    json_unsigned(json, "blocks", i->partitions[p].blocks);
    json_unsigned(json, "rows", i->partitions[p].rows);
    json_close(json);
  }
  json_close(json);
}

static void json_blocks(struct json *json, const struct inspection *i) {
  json_array(json, "block_list");
  for (uint64_t b = 0; b < i->n_blocks; b++) {
    const struct block_figures *block = &i->blocks[b];
    json_object(json, NULL);
    json_integer(json, "partition", block->partition);
    json_unsigned(json, "block", block->in_partition);
    json_unsigned(json, "offset", block->offset);
    json_unsigned(json, "bytes", block->size);
    json_unsigned(json, "raw_bytes", block->raw);
    json_integer(json, "rows", block->rows);
    json_string(json, "codec", codec_name(block->codec));
    json_bool(json, "offsets_as_lengths", block->lengths);
    json_string(json, "problem", block->problem);
    json_close(json);
  }
  json_close(json);
}

void inspection_print_json(const struct inspection *inspection, bool with_blocks) {
  struct json json;
  json_start(&json, stdout);
  json_head(&json, inspection);
  json_skew(&json, inspection);
  json_columns(&json, inspection);
  json_partitions(&json, inspection);
  if (with_blocks) json_blocks(&json, inspection);
  json_end(&json);
}
