/* SPDX-License-Identifier: Apache-2.0 */
#include "advice.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Enough for estimates, little enough for a second. */
enum { MOST_PARTITIONS = 16 };
static const uint64_t SAMPLE_RAW = (uint64_t)32 << 20;
static const uint64_t LARGE_BLOCK = (uint64_t)1 << 20;

/* How the sample is packed in one trial. */
struct way {
  const char *name;
  struct colshuf_block_encoder_options options;
  bool large;   /* blocks of LARGE_BLOCK, not as they are now */
  int64_t rows; /* of a block of the partition at hand */
  struct colshuf_block_encoder *encoder;
};

struct sampling {
  const struct inspection *inspection;
  struct advice *advice;
  struct way now; /* as the file is packed */
  struct way ways[N_TRIALS];
  struct way *columns; /* one a column: the file's codec */
  int64_t rows_large;
};

static enum colshuf_codec codec_of(const struct inspection *inspection) {
  int best = 0;
  for (int codec = 1; codec < 4; codec++) {
    if (inspection->codec_blocks[codec] > inspection->codec_blocks[best]) best = codec;
  }
  return (enum colshuf_codec)best;
}

/* Each trial starts from how the file is packed now and changes one thing, or nothing: another writer may
 * compress better or worse with the same settings. The last changes all. */
static void choose_ways(struct sampling *sampling) {
  const struct inspection *i = sampling->inspection;
  uint64_t raw_row = i->n_rows == 0 ? 1 : i->raw / i->n_rows + 1;
  sampling->rows_large = (int64_t)(LARGE_BLOCK / raw_row) + 1;
  struct way now = {.options = {.codec = codec_of(i)}};
  now.options.offsets = 2 * i->lengths_blocks > i->n_blocks ? COLSHUF_OFFSETS_AUTO : COLSHUF_OFFSETS_PLAIN;
  now.options.dictionary = i->kinds.dictionaries > 0 ? COLSHUF_DICTIONARY_AUTO : COLSHUF_DICTIONARY_OFF;
  struct way *ways = sampling->ways;
  for (int t = 0; t < N_TRIALS; t++) ways[t] = now;
  sampling->now = now;
  ways[0].name = "written anew, nothing changed";
  ways[1].name = "offsets as lengths";
  ways[1].options.offsets = COLSHUF_OFFSETS_LENGTHS;
  ways[1].options.dictionary = COLSHUF_DICTIONARY_OFF;
  ways[2].name = "dictionaries where they pay";
  ways[2].options.dictionary = COLSHUF_DICTIONARY_AUTO;
  ways[3].name = "blocks of 1 MiB before compression";
  ways[3].large = true;
  bool zstd = now.options.codec == COLSHUF_ZSTD;
  ways[4].name = zstd ? "zstd, level 3" : "zstd, level 1";
  ways[4].options.codec = COLSHUF_ZSTD;
  ways[4].options.level = zstd ? 3 : 1;
  ways[5] = ways[4];
  ways[5].name =
      zstd ? "all of it: level 3, 1 MiB, the best form of each block" : "all of it: zstd, 1 MiB, the best form of each block";
  ways[5].large = true;
  ways[5].options.offsets = COLSHUF_OFFSETS_AUTO;
  ways[5].options.dictionary = COLSHUF_DICTIONARY_AUTO;
}

/* For Comet's readers, who alone are sent dictionaries of what was plain; types that they do not know go out for Arrow's. */
static bool make_encoder(struct way *way, const struct ArrowSchema *schema) {
  struct colshuf_error err;
  way->options.compat = COLSHUF_COMPAT_COMET;
  enum colshuf_status status = colshuf_block_encoder_new(schema, &way->options, &way->encoder, &err);
  if (status == COLSHUF_UNSUPPORTED) {
    way->options.compat = COLSHUF_COMPAT_ARROW;
    status = colshuf_block_encoder_new(schema, &way->options, &way->encoder, &err);
  }
  return status == COLSHUF_OK;
}

/* Rows [0, length) of batch in blocks; adds up their sizes. False when the encoder will not. */
static bool pack(struct way *way, const struct ArrowSchema *schema, const struct ArrowArray *batch, uint64_t *bytes) {
  struct colshuf_error err;
  if (way->encoder == NULL && !make_encoder(way, schema)) return false;
  for (int64_t start = 0; start < batch->length; start += way->rows) {
    const uint8_t *block;
    size_t size;
    int64_t n = batch->length - start < way->rows ? batch->length - start : way->rows;
    if (colshuf_block_encoder_encode(way->encoder, batch, start, n, &block, &size, &err) != COLSHUF_OK) return false;
    *bytes += size;
  }
  return true;
}

/* A batch of one column, which borrows everything. */
static void pack_column(struct sampling *sampling, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        int column) {
  struct ArrowSchema *one_schema[1] = {schema->children[column]};
  struct ArrowArray *one_array[1] = {batch->children[column]};
  struct ArrowSchema root_schema = *schema;
  struct ArrowArray root = *batch;
  root_schema.n_children = root.n_children = 1;
  root_schema.children = one_schema;
  root.children = one_array;
  pack(&sampling->columns[column], &root_schema, &root, &sampling->advice->column_bytes[column]);
}

static void take_batch(struct sampling *sampling, const struct ArrowSchema *schema, const struct ArrowArray *batch) {
  struct advice *advice = sampling->advice;
  for (int t = 0; t < N_TRIALS; t++) {
    struct trial *trial = &advice->trials[t];
    if (trial->possible) trial->possible = pack(&sampling->ways[t], schema, batch, &trial->bytes);
  }
  for (int c = 0; c < advice->n_columns && c < batch->n_children; c++) pack_column(sampling, schema, batch, c);
  advice->sample_rows += (uint64_t)batch->length;
}

/* As many blocks as the partition has now, or large ones: never smaller than now. What is the same is packed in the same number
 * of blocks, so that a trial shows nothing but its change. Returns the rows of the largest blocks that are tried. */
static int64_t choose_rows(struct sampling *sampling, int32_t partition) {
  const struct partition_figures *figures = &sampling->inspection->partitions[partition];
  int64_t now = (int64_t)((figures->rows + figures->blocks - 1) / figures->blocks);
  if (now == 0) now = 1;
  int64_t large = sampling->rows_large > now ? sampling->rows_large : now;
  for (int t = 0; t < N_TRIALS; t++) sampling->ways[t].rows = sampling->ways[t].large ? large : now;
  for (int c = 0; c < sampling->advice->n_columns; c++) sampling->columns[c].rows = now;
  return large;
}

static bool read_partition(struct sampling *sampling, int32_t partition) {
  struct colshuf_error err;
  const struct colshuf_source source = {.data_path = sampling->inspection->path,
                                        .first_partition = sampling->inspection->has_index ? partition : 0,
                                        .end_partition = sampling->inspection->has_index ? partition + 1 : 0};
  const struct colshuf_read_options options = {.target_rows = choose_rows(sampling, partition)};
  struct ArrowArrayStream stream;
  struct ArrowSchema schema = {0}; /* stays so where the first block cannot be read */
  struct ArrowArray batch;
  if (colshuf_read(&source, 1, &options, NULL, &stream, &err) != COLSHUF_OK) return false;
  bool well = stream.get_schema(&stream, &schema) == 0;
  while (well) {
    well = stream.get_next(&stream, &batch) == 0;
    if (!well || batch.release == NULL) break;
    take_batch(sampling, &schema, &batch);
    batch.release(&batch);
  }
  if (schema.release != NULL) schema.release(&schema);
  stream.release(&stream);
  return well;
}

/* Partitions all over the file, until there is enough. */
static bool read_sample(struct sampling *sampling) {
  const struct inspection *i = sampling->inspection;
  struct advice *advice = sampling->advice;
  int32_t n = i->n_partitions, step = n <= MOST_PARTITIONS ? 1 : n / MOST_PARTITIONS;
  for (int32_t p = 0; p < n && advice->sample_raw < SAMPLE_RAW; p += step) {
    if (i->partitions[p].blocks == 0) continue;
    if (!read_partition(sampling, p)) return false;
    advice->sample_bytes += i->partitions[p].bytes;
    advice->sample_raw += i->partitions[p].raw;
  }
  return advice->sample_rows > 0;
}

bool take_advice(const struct inspection *inspection, struct advice *advice) {
  struct sampling sampling = {.inspection = inspection, .advice = advice};
  size_t n = (size_t)inspection->n_columns;
  *advice = (struct advice){.n_columns = inspection->n_columns};
  advice->column_bytes = need_memory(NULL, n * sizeof(uint64_t));
  memset(advice->column_bytes, 0, n * sizeof(uint64_t));
  sampling.columns = need_memory(NULL, n * sizeof *sampling.columns);
  choose_ways(&sampling);
  for (size_t c = 0; c < n; c++) sampling.columns[c] = sampling.now;
  for (int t = 0; t < N_TRIALS; t++) advice->trials[t] = (struct trial){sampling.ways[t].name, 0, true};
  bool well = inspection->n_bad == 0 && inspection->n_rows > 0 && read_sample(&sampling);
  for (int t = 0; t < N_TRIALS; t++) colshuf_block_encoder_free(sampling.ways[t].encoder);
  for (size_t c = 0; c < n; c++) colshuf_block_encoder_free(sampling.columns[c].encoder);
  free(sampling.columns);
  if (!well) advice_clear(advice);
  return well;
}

void advice_clear(struct advice *advice) {
  free(advice->column_bytes);
  *advice = (struct advice){0};
}
