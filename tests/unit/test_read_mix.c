/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything of the reduce side at random at once: blocks of any size, codec and schema variant, some damaged, in sources of every kind,
 * read with any options. The oracle decodes each block by itself and says which rows come, in which order, and how the reading ends.
 */
#include <stdlib.h>
#include <unistd.h>

#include "block/decoder.h"
#include "ipc/limits.h"
#include "support/reading.h"
#include "support/value.h"

enum { MOST_SOURCES = 6, MOST_VARIANTS = 3, MOST_COLUMNS = 6, MOST_ROWS = 1 << 18, MOST_KEPT = 24 };

enum kind { INDEXED, BARE, MEMORY, DRIP, N_KINDS };

struct mix_source {
  struct test_output output;
  enum kind kind;
  size_t size; /* of what the reader sees: less than the output where that is cut off */
  struct test_drip drip;
  char path[300];
};

struct mix {
  struct test_random random;
  struct csf_schema *variants[MOST_VARIANTS]; /* the first: what all are made from */
  int n_variants;
  struct mix_source sources[MOST_SOURCES];
  int32_t n_sources;
  struct colshuf_read_options options;
  struct ArrowSchema expected;
  int32_t columns[MOST_COLUMNS];
  bool damaged;
};

/* What must come: rows by their hashes. */
struct oracle {
  uint64_t rows[MOST_ROWS];
  int64_t n_rows;
  uint64_t n_blocks, n_skipped;
  enum colshuf_status status;
  char place[80]; /* of the block that ends it */
};

static int64_t below(struct mix *mix, int64_t n) {
  return (int64_t)test_random_below(&mix->random, (uint64_t)n);
}

/* Another name, a null or none, a dictionary: what the columns of blocks of one shuffle may differ in. */
static void vary(struct mix *mix, struct csf_arena *arena, struct csf_field *column) {
  if (below(mix, 3) == 0) column->name = "other";
  if (below(mix, 3) == 0) column->nullable = true;
  if (below(mix, 3) != 0 || column->n_children > 0 || column->type == CSF_NULL) return;
  if (column->dictionary != NULL) {
    if (column->dictionary->n_children > 0) return;
    struct csf_field plain = *column->dictionary;
    plain.name = column->name;
    plain.nullable = column->nullable;
    *column = plain;
    return;
  }
  struct csf_field *values = csf_arena_alloc(arena, sizeof *values);
  REQUIRE(values != NULL);
  *values = *column;
  values->nullable = true;
  *column = (struct csf_field){.name = column->name, .nullable = column->nullable, .type = CSF_INT16, .dictionary = values};
}

static struct csf_schema *make_variant(struct mix *mix, const struct csf_schema *base) {
  struct colshuf_error err = {0};
  struct csf_schema *schema = csf_schema_new(&test_heap);
  REQUIRE(schema != NULL && csf_field_copy(&schema->arena, &base->root, &schema->root));
  for (int32_t c = 0; c < schema->root.n_children; c++) vary(mix, &schema->arena, &schema->root.children[c]);
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  return schema;
}

static void make_schemas(struct mix *mix) {
  struct test_schema_options options = {.n_columns = below(mix, 12) == 0 ? 0 : 1 + (int32_t)below(mix, MOST_COLUMNS)};
  if (below(mix, 3) > 0) {
    options.max_depth = -1;
    options.no_dictionaries = true;
    options.types = TEST_FLAT_TYPES & ~(TEST_TYPE(CSF_UTF8_VIEW) | TEST_TYPE(CSF_BINARY_VIEW) | TEST_TYPE(CSF_NULL));
  }
  mix->n_variants = 1 + (int)below(mix, MOST_VARIANTS);
  mix->variants[0] = test_random_schema(&mix->random, &options);
  for (int v = 1; v < mix->n_variants; v++) mix->variants[v] = make_variant(mix, mix->variants[0]);
}

static void add_batch(struct mix *mix, struct test_output *output) {
  const struct csf_field *field = &mix->variants[below(mix, 3) ? 0 : below(mix, mix->n_variants)]->root;
  struct test_array_options options = test_random_options(&mix->random, below(mix, 25) == 0 ? 3000 : 40);
  struct ArrowArray batch;
  test_random_array(&mix->random, field, &options, &batch);
  enum colshuf_codec codec = (enum colshuf_codec)below(mix, 4);
  for (int64_t at = 0; at < batch.length;) {
    int64_t n = 1 + below(mix, batch.length - at);
    test_output_add(output, field, &batch, at, n, codec);
    at += n;
  }
  batch.release(&batch);
}

/* Never a header: where blocks begin stays known. */
static void damage(struct mix *mix, struct mix_source *source) {
  if (source->output.n_blocks == 0) return;
  size_t last = source->output.n_blocks - 1, block = (size_t)below(mix, (int64_t)last + 1);
  size_t start = source->output.blocks[block], end = block == last ? source->size : source->output.blocks[block + 1];
  mix->damaged = true;
  if (source->kind != INDEXED && below(mix, 4) == 0) {
    source->size -= 1 + (size_t)below(mix, (int64_t)(source->size - source->output.blocks[last]) - 1);
    return;
  }
  size_t from = start + COLSHUF_BLOCK_HEADER_SIZE;
  if (end == from) return;
  size_t place = from + (size_t)below(mix, (int64_t)(end - from));
  source->output.data.data[place] ^= (uint8_t)(1u << below(mix, 8));
}

static void make_source(struct mix *mix, struct mix_source *source, int32_t number) {
  test_output_init(&source->output);
  int64_t n = below(mix, 6);
  for (int64_t i = 0; i < n; i++) {
    add_batch(mix, &source->output);
    while (below(mix, 3) == 0) test_output_end_partition(&source->output);
  }
  test_output_end_partition(&source->output);
  source->kind = (enum kind)below(mix, N_KINDS);
  source->size = source->output.data.size;
  if (below(mix, 5) == 0) damage(mix, source);
  char name[20];
  snprintf(name, sizeof name, "out%d", (int)number);
  snprintf(source->path, sizeof source->path, "%s", test_output_write(&source->output, name, COLSHUF_CHECKSUM_CRC32C));
  if (source->kind == BARE) {
    char bare[320];
    snprintf(bare, sizeof bare, "%s.bare", source->path);
    unlink(bare);
    REQUIRE(link(source->path, bare) == 0);
    REQUIRE(truncate(bare, (off_t)source->size) == 0);
    memcpy(source->path, bare, sizeof source->path);
  }
  source->drip = (struct test_drip){.data = source->output.data.data, .size = source->size, .step = 1 + (size_t)below(mix, 3000)};
}

static void make_options(struct mix *mix) {
  static const int64_t targets[] = {0, 1, 7, 40, 1000};
  struct colshuf_error err = {0};
  struct colshuf_read_options *o = &mix->options;
  *o = (struct colshuf_read_options){.allocator = test_heap, .target_rows = targets[below(mix, 5)], .threads = (int)below(mix, 6) - 1};
  o->trust = mix->damaged || below(mix, 2) ? COLSHUF_UNTRUSTED : (enum colshuf_trust)below(mix, 3);
  o->keep_dictionaries = below(mix, 4) == 0;
  o->verify_checksums = below(mix, 2) == 0;
  o->skip_corrupt = below(mix, 2) == 0;
  if (below(mix, 2) == 0) o->memory_limit = (uint64_t)(16 + below(mix, 4) * 300) << 10;
  int32_t n_columns = mix->variants[0]->root.n_children;
  if (below(mix, 3) == 0 && n_columns > 0) {
    o->columns = mix->columns;
    o->n_columns = (int32_t)below(mix, MOST_COLUMNS + 1);
    for (int32_t c = 0; c < o->n_columns; c++) mix->columns[c] = (int32_t)below(mix, n_columns);
  }
  /* Which schema counts must be certain: where blocks are damaged, so may be the schema of the one that arrives first. */
  bool expects = below(mix, 2) == 0;
  o->any_order = below(mix, 2) == 0 && o->threads > 0 && (expects || !mix->damaged);
  mix->expected = (struct ArrowSchema){0};
  if (!expects) return;
  struct csf_schema *wide = csf_schema_new(&test_heap);
  REQUIRE(wide != NULL && csf_field_copy(&wide->arena, &mix->variants[0]->root, &wide->root));
  for (int32_t c = 0; c < n_columns; c++) wide->root.children[c].nullable = true;
  REQUIRE_OK(csf_schema_finish(wide, NULL, &err));
  REQUIRE_OK(csf_field_export(&wide->root, &test_heap, &mix->expected, &err));
  csf_schema_release(wide);
  o->expected_schema = &mix->expected;
}

static void make_mix(struct mix *mix, uint64_t seed) {
  mix->random = (struct test_random){seed};
  mix->damaged = false;
  make_schemas(mix);
  mix->n_sources = 1 + (int32_t)below(mix, MOST_SOURCES);
  for (int32_t s = 0; s < mix->n_sources; s++) make_source(mix, &mix->sources[s], s);
  make_options(mix);
}

static void clear_mix(struct mix *mix) {
  for (int v = 0; v < mix->n_variants; v++) csf_schema_release(mix->variants[v]);
  for (int32_t s = 0; s < mix->n_sources; s++) test_output_clear(&mix->sources[s].output);
  if (mix->expected.release != NULL) mix->expected.release(&mix->expected);
}

/* Row of batch, whose column columns[c] (NULL: c) is the c-th of n: the same number whatever dictionaries it went through. */
static uint64_t hash_row(const struct csf_field *root, const struct ArrowArray *batch, const int32_t *columns, int32_t n, int64_t row) {
  uint64_t hash = 1;
  for (int32_t c = 0; c < n; c++) {
    int32_t column = columns == NULL ? c : columns[c];
    hash = hash * 0x9e3779b97f4a7c15u + test_rows_hash(&root->children[column], batch->children[column], batch->offset + row, 1);
  }
  return hash ^ hash >> 29;
}

static struct colshuf_block_decoder *new_oracle_decoder(const struct mix *mix, uint8_t *wanted) {
  struct colshuf_error err = {0};
  struct colshuf_block_decoder *decoder;
  const struct colshuf_read_options *o = &mix->options;
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .trust = csf_trust_to_copy(o->trust)};
  options.limits.max_decompressed_size = o->memory_limit;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  if (o->columns == NULL) return decoder;
  memset(wanted, 0, MOST_COLUMNS);
  for (int32_t c = 0; c < o->n_columns; c++) wanted[o->columns[c]] = 1;
  csf_block_decoder_project(decoder, wanted, MOST_COLUMNS);
  return decoder;
}

/* One block's rows, if it has any right to be read. *reference NULL: this may be the block that says what is announced. */
static enum colshuf_status ask_block(const struct mix *mix, struct colshuf_block_decoder *decoder, const uint8_t *data, size_t size,
                                     bool is_cut, struct csf_schema **reference, struct oracle *oracle) {
  const struct colshuf_read_options *o = &mix->options;
  struct ArrowArray batch;
  size_t consumed;
  if (o->memory_limit > 0 && size > o->memory_limit) return COLSHUF_LIMIT;
  if (is_cut) return COLSHUF_CORRUPT;
  oracle->n_blocks++;
  CSF_TRY(colshuf_block_decoder_decode(decoder, data, size, NULL, &consumed, NULL, &batch, NULL));
  struct csf_schema *schema = csf_block_decoder_schema(decoder);
  if (*reference == NULL) *reference = csf_schema_retain(schema);
  enum colshuf_status status = csf_schema_check_expected(schema, *reference, NULL);
  if (status == COLSHUF_OK) {
    int32_t n = o->columns == NULL ? schema->root.n_children : o->n_columns;
    REQUIRE(oracle->n_rows + batch.length <= MOST_ROWS);
    for (int64_t row = 0; row < batch.length; row++) {
      oracle->rows[oracle->n_rows++] = hash_row(&schema->root, &batch, o->columns, n, row);
    }
  }
  batch.release(&batch);
  return status;
}

static void ask_source(const struct mix *mix, const struct mix_source *source, struct csf_schema **reference, struct oracle *oracle) {
  uint8_t wanted[MOST_COLUMNS];
  struct colshuf_block_decoder *decoder = new_oracle_decoder(mix, wanted);
  const struct test_output *output = &source->output;
  for (size_t b = 0; b < output->n_blocks && oracle->status == COLSHUF_OK; b++) {
    uint64_t end = b + 1 < output->n_blocks ? output->blocks[b + 1] : output->data.size;
    enum colshuf_status status = ask_block(mix, decoder, output->data.data + output->blocks[b], (size_t)(end - output->blocks[b]),
                                           end > source->size, reference, oracle);
    if (status == COLSHUF_CORRUPT && mix->options.skip_corrupt) oracle->n_skipped++;
    else oracle->status = status;
    snprintf(oracle->place, sizeof oracle->place, "at offset %" PRIu64 ": ", output->blocks[b]);
  }
  colshuf_block_decoder_free(decoder);
}

static void ask(const struct mix *mix, struct oracle *oracle) {
  struct colshuf_error err = {0};
  struct csf_schema *reference = NULL;
  oracle->n_rows = 0;
  oracle->n_blocks = oracle->n_skipped = 0;
  oracle->status = COLSHUF_OK;
  if (mix->options.expected_schema != NULL) REQUIRE_OK(csf_schema_import(&mix->expected, &test_heap, NULL, &reference, &err));
  for (int32_t s = 0; s < mix->n_sources && oracle->status == COLSHUF_OK; s++) ask_source(mix, &mix->sources[s], &reference, oracle);
  csf_schema_release(reference);
}

static void list_sources(struct mix *mix, struct colshuf_source *out) {
  for (int32_t s = 0; s < mix->n_sources; s++) {
    struct mix_source *source = &mix->sources[s];
    out[s] = (struct colshuf_source){0};
    if (source->kind == MEMORY) out[s] = (struct colshuf_source){.bytes = source->output.data.data, .size = source->size};
    if (source->kind == DRIP) out[s] = test_drip_source(&source->drip);
    if (source->kind <= BARE) out[s].data_path = source->path;
  }
}

/* What was read. Some batches are kept, to be looked at when stream and sources are gone. */
struct heard {
  uint64_t rows[MOST_ROWS];
  int64_t n_rows;
  struct csf_schema *schema;
  struct ArrowArray kept[MOST_KEPT];
  uint64_t kept_hashes[MOST_KEPT];
  int n_kept;
  enum colshuf_status status;
  char message[1008];
};

static uint64_t hash_batch(const struct csf_schema *schema, const struct ArrowArray *batch) {
  uint64_t hash = 0;
  for (int64_t row = 0; row < batch->length; row++) hash = hash * 31 + hash_row(&schema->root, batch, NULL, schema->root.n_children, row);
  return hash;
}

static void hear_batch(struct heard *heard, struct ArrowArray *batch) {
  struct colshuf_error err = {0};
  enum colshuf_status valid = csf_array_validate(&heard->schema->root, batch, NULL, CSF_VALIDATE_FULL, &err);
  if (valid != COLSHUF_OK) test_fail(__FILE__, __LINE__, "a batch is not valid: %s", err.message);
  CHECK(batch->length > 0);
  REQUIRE(heard->n_rows + batch->length <= MOST_ROWS);
  for (int64_t row = 0; row < batch->length; row++) {
    heard->rows[heard->n_rows++] = hash_row(&heard->schema->root, batch, NULL, heard->schema->root.n_children, row);
  }
  if (heard->n_kept == MOST_KEPT) {
    batch->release(batch);
    return;
  }
  heard->kept_hashes[heard->n_kept] = hash_batch(heard->schema, batch);
  heard->kept[heard->n_kept++] = *batch;
}

/* The same error, however often it is asked for. */
static void check_end(struct ArrowArrayStream *stream, int error, struct heard *heard) {
  struct ArrowArray batch;
  heard->status = colshuf_stream_status(stream);
  snprintf(heard->message, sizeof heard->message, "%s", error == 0 ? "" : stream->get_last_error(stream));
  CHECK((error == 0) == (heard->status == COLSHUF_OK));
  for (int i = 0; i < 2; i++) {
    CHECK_INT(stream->get_next(stream, &batch), error);
    if (error == 0) CHECK(batch.release == NULL);
    else CHECK_STRING(stream->get_last_error(stream), heard->message);
  }
}

static void hear(struct ArrowArrayStream *stream, int64_t most_batches, struct heard *heard) {
  struct colshuf_error err = {0};
  struct ArrowSchema schema;
  struct ArrowArray batch;
  heard->schema = NULL;
  heard->n_rows = heard->n_kept = 0;
  int error = stream->get_schema(stream, &schema);
  if (error == 0) {
    REQUIRE_OK(csf_schema_import(&schema, &test_heap, NULL, &heard->schema, &err));
    schema.release(&schema);
    for (; most_batches-- > 0; hear_batch(heard, &batch)) {
      error = stream->get_next(stream, &batch);
      if (error != 0 || batch.release == NULL) break;
    }
  }
  if (most_batches >= 0) check_end(stream, error, heard);
  stream->release(stream);
}

static void forget(struct heard *heard) {
  for (int i = 0; i < heard->n_kept; i++) {
    CHECK(hash_batch(heard->schema, &heard->kept[i]) == heard->kept_hashes[i]);
    heard->kept[i].release(&heard->kept[i]);
  }
  csf_schema_release(heard->schema);
}

static int by_value(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

static void check_rows(const struct mix *mix, struct heard *heard, struct oracle *oracle) {
  if (mix->options.any_order && oracle->status != COLSHUF_OK) return; /* which rows came before is anybody's guess */
  CHECK_INT(heard->n_rows, oracle->n_rows);
  if (heard->n_rows != oracle->n_rows) return;
  if (mix->options.any_order) {
    qsort(heard->rows, (size_t)heard->n_rows, sizeof heard->rows[0], by_value);
    qsort(oracle->rows, (size_t)oracle->n_rows, sizeof oracle->rows[0], by_value);
  }
  for (int64_t row = 0; row < heard->n_rows; row++) {
    if (heard->rows[row] == oracle->rows[row]) continue;
    test_fail(__FILE__, __LINE__, "row %" PRId64 " of %" PRId64 " is another", row, heard->n_rows);
    return;
  }
}

static void check(const struct mix *mix, const struct colshuf_read_metrics *metrics, struct heard *heard, struct oracle *oracle) {
  if (mix->options.any_order && oracle->status != COLSHUF_OK) CHECK(heard->status != COLSHUF_OK);
  else CHECK_INT(heard->status, oracle->status);
  check_rows(mix, heard, oracle);
  if (heard->status != COLSHUF_OK) {
    CHECK_CONTAINS(heard->message, "block ");
    if (!mix->options.any_order) CHECK_CONTAINS(heard->message, oracle->place);
    return;
  }
  CHECK_INT(metrics->rows, oracle->n_rows);
  CHECK_INT(metrics->blocks, oracle->n_blocks);
  CHECK_INT(metrics->skipped_blocks, oracle->n_skipped);
  CHECK_INT(metrics->sources, mix->n_sources);
}

static int64_t run(struct mix *mix, struct heard *heard, struct oracle *oracle) {
  struct colshuf_error err = {0};
  struct colshuf_source sources[MOST_SOURCES];
  struct colshuf_read_metrics metrics;
  struct ArrowArrayStream stream;
  int64_t most_batches = below(mix, 8) == 0 ? below(mix, 3) : INT64_MAX - 1;
  list_sources(mix, sources);
  ask(mix, oracle);
  REQUIRE_OK(colshuf_read(sources, mix->n_sources, &mix->options, &metrics, &stream, &err));
  hear(&stream, most_batches, heard);
  for (int32_t s = 0; s < mix->n_sources; s++) {
    struct csf_buffer *data = &mix->sources[s].output.data;
    if (data->size > 0) memset(data->data, 0xee, data->size); /* nothing of it may live on */
    if (mix->sources[s].kind == DRIP) CHECK_INT(mix->sources[s].drip.released, 1);
  }
  if (most_batches > 2) check(mix, &metrics, heard, oracle);
  forget(heard);
  return heard->n_rows;
}

static void run_cases(uint64_t first, int n) {
  static struct mix mix;
  static struct heard heard;
  static struct oracle oracle;
  int64_t n_rows = 0;
  int n_failed = 0, n_skipping = 0;
  for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
    if (getenv("TRACE") != NULL) fprintf(stderr, "seed %" PRIu64 "\n", seed);
    make_mix(&mix, seed);
    n_rows += run(&mix, &heard, &oracle);
    n_failed += oracle.status != COLSHUF_OK;
    n_skipping += oracle.n_skipped > 0;
    clear_mix(&mix);
  }
  printf("     %d readings, %" PRId64 " rows, %d end with an error, %d leave blocks out\n", n, n_rows, n_failed, n_skipping);
}

static void whatever_is_mixed_the_rows_and_the_end_are_those_of_the_oracle(void) {
  const char *seed = getenv("SEED"), *n = getenv("CASES");
  run_cases(seed == NULL ? 1 : strtoull(seed, NULL, 10), n == NULL ? test_cases(600) : atoi(n));
}

static const struct test_case tests[] = {
    TEST(whatever_is_mixed_the_rows_and_the_end_are_those_of_the_oracle),
};
TEST_MAIN(tests)
