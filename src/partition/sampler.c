/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds by sampling. Rows of the current input that enter its reservoir are copied out of their batch, as one piece for each
 * batch; a slot of the reservoir names its piece and row. What was displaced stays in the pieces until they are more than half
 * waste. At the end of an input the reservoir becomes one sample, in the order of its slots; bounds come from all samples
 * sorted.
 */
#include <inttypes.h>
#include <math.h>

#include "arrow/array.h"
#include "partition/compare.h"
#include "partition/keys.h"
#include "partition/round_robin.h"
#include "partition/sort.h"

enum { SPARK_SAMPLE_PER_PARTITION = 100, SPARK_SAMPLE_MAX = 1000000, SPARK_OVERSAMPLING = 3, WASTE_MIN = 4096 };

/* piece -1: the row is still in the batch being added. */
struct slot {
  int64_t piece;
  int64_t row;
};

struct sample {
  struct ArrowArray array;
  float weight;
};

struct colshuf_bounds_sampler {
  struct colshuf_allocator allocator;
  enum colshuf_rules rules;
  int32_t n_partitions;
  int64_t seed;
  int64_t reservoir_size;
  int64_t input;
  struct csf_random random;
  struct csf_keys keys;            /* of the batches */
  struct csf_schema *batch_schema; /* the key columns alone, as they come */
  struct csf_schema *key_schema;   /* and without dictionaries: of pieces, samples and bounds */
  struct csf_column *columns;      /* of key_schema, bound to the candidates at the end */
  struct csf_buffer orders;        /* struct csf_order of each key */
  bool failed;                     /* slots may name a piece that was never made */
  int64_t n_seen;                  /* rows of the current input */
  int64_t n_kept;                  /* rows in its pieces, displaced ones included */
  struct csf_buffer slots;         /* struct slot */
  struct csf_buffer touched;       /* int64_t: slots that took rows of the batch, some twice */
  struct csf_buffer rows;          /* int64_t */
  struct csf_buffer pieces;        /* struct ArrowArray */
  struct csf_buffer samples;       /* struct sample */
};

static struct slot *slots_of(const struct colshuf_bounds_sampler *sampler) {
  return (struct slot *)(void *)sampler->slots.data;
}
static struct ArrowArray *pieces_of(const struct colshuf_bounds_sampler *sampler) {
  return (struct ArrowArray *)(void *)sampler->pieces.data;
}
static struct sample *samples_of(const struct colshuf_bounds_sampler *sampler) {
  return (struct sample *)(void *)sampler->samples.data;
}
static const struct csf_order *orders_of(const struct colshuf_bounds_sampler *sampler) {
  return (const struct csf_order *)(const void *)sampler->orders.data;
}
static int64_t count_of(const struct csf_buffer *buffer, size_t item) {
  return (int64_t)(buffer->size / item);
}

/* Scala's byteswap32 of the number of the input and the RDD: what Spark seeds the reservoir with. */
static void seed_input(struct colshuf_bounds_sampler *sampler) {
  uint32_t number = (uint32_t)sampler->input ^ ((uint32_t)sampler->seed << 16);
  uint32_t swapped = __builtin_bswap32(number * 0x9e3775cdu) * 0x9e3775cdu;
  sampler->random = csf_random_seeded((int32_t)swapped);
}

/* --- making and ending --- */

/* Turns dictionary-encoded fields into fields of their values, at any depth. */
static void strip_dictionaries(struct csf_field *field) {
  if (field->dictionary != NULL) {
    struct csf_field values = *field->dictionary;
    values.name = field->name;
    values.nullable = field->nullable || values.nullable;
    *field = values;
  }
  for (int32_t i = 0; i < field->n_children; i++) strip_dictionaries(&field->children[i]);
}

/* A schema of the key columns alone. On failure *out may be set; it is released with the sampler. */
static enum colshuf_status make_schema(const struct colshuf_bounds_sampler *sampler, bool strip, struct csf_schema **out,
                                       struct colshuf_error *err) {
  const struct csf_keys *keys = &sampler->keys;
  struct csf_schema *schema = csf_schema_new(&sampler->allocator);
  if (schema == NULL) return csf_fail_memory(err, sizeof *schema);
  *out = schema;
  size_t size = (size_t)keys->n_columns * sizeof *schema->root.children;
  schema->root.children = csf_arena_alloc(&schema->arena, size);
  if (schema->root.children == NULL) return csf_fail_memory(err, size);
  for (int32_t i = 0; i < keys->n_columns; i++) {
    struct csf_field *field = &schema->root.children[i];
    if (!csf_field_copy(&schema->arena, keys->columns[i].field, field)) return csf_fail_memory(err, size);
    if (strip) strip_dictionaries(field);
    schema->root.n_children++;
  }
  return csf_schema_finish(schema, NULL, err);
}

static enum colshuf_status take_keys(struct colshuf_bounds_sampler *sampler, const struct ArrowSchema *schema,
                                     const struct colshuf_bounds_sampler_options *options, struct colshuf_error *err) {
  for (int32_t i = 0; i < options->n_keys; i++) {
    int32_t column = options->keys[i].column;
    struct csf_order order = {options->keys[i].descending != 0, options->keys[i].nulls_last != 0};
    CSF_TRY(csf_buffer_append(&sampler->rows, &column, sizeof column, err));
    CSF_TRY(csf_buffer_append(&sampler->orders, &order, sizeof order, err));
  }
  const int32_t *columns = (const int32_t *)(const void *)sampler->rows.data;
  CSF_TRY(csf_keys_init(&sampler->keys, schema, columns, options->n_keys, CSF_USE_ORDER, &sampler->allocator, err));
  CSF_TRY(make_schema(sampler, false, &sampler->batch_schema, err));
  CSF_TRY(make_schema(sampler, true, &sampler->key_schema, err));
  size_t size = (size_t)options->n_keys * sizeof *sampler->columns;
  sampler->columns = csf_arena_alloc(&sampler->keys.arena, size);
  if (sampler->columns == NULL) return csf_fail_memory(err, size);
  for (int32_t i = 0; i < options->n_keys; i++) {
    const struct csf_field *field = &sampler->key_schema->root.children[i];
    CSF_TRY(csf_column_build(&sampler->columns[i], field, CSF_USE_ORDER, &sampler->keys.arena, err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_options(const struct colshuf_bounds_sampler_options *options, struct colshuf_error *err) {
  if (options->n_partitions < 1) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there are %d partitions, at least 1 is needed", options->n_partitions);
  }
  if (options->n_keys < 1 || options->keys == NULL)
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "bounds need at least 1 key");
  if (options->sample_size < 0 || options->n_inputs < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "sample_size is %" PRId64 ", n_inputs is %" PRId64, options->sample_size,
                    options->n_inputs);
  }
  return COLSHUF_OK;
}

/* Three times an input's share, since inputs are of different sizes. */
static int64_t reservoir_size(const struct colshuf_bounds_sampler_options *options) {
  double sample = (double)options->sample_size;
  if (sample == 0) sample = fmin((double)SPARK_SAMPLE_PER_PARTITION * options->n_partitions, SPARK_SAMPLE_MAX);
  double n_inputs = options->n_inputs > 0 ? (double)options->n_inputs : 1;
  return (int64_t)fmin(ceil(SPARK_OVERSAMPLING * sample / n_inputs), INT32_MAX);
}

enum colshuf_status colshuf_bounds_sampler_new(const struct ArrowSchema *schema,
                                               const struct colshuf_bounds_sampler_options *options,
                                               struct colshuf_bounds_sampler **out, struct colshuf_error *err) {
  if (schema == NULL || options == NULL || out == NULL)
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "schema, options and out are needed");
  CSF_TRY(check_options(options, err));
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_bounds_sampler *sampler = csf_alloc_zero(&allocator, sizeof *sampler);
  if (sampler == NULL) return csf_fail_memory(err, sizeof *sampler);
  sampler->allocator = allocator;
  sampler->rules = options->rules;
  sampler->n_partitions = options->n_partitions;
  sampler->seed = options->seed;
  sampler->reservoir_size = reservoir_size(options);
  struct csf_buffer *buffers[] = {&sampler->orders, &sampler->slots,  &sampler->touched,
                                  &sampler->rows,   &sampler->pieces, &sampler->samples};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_init(buffers[i], &allocator);
  seed_input(sampler);
  enum colshuf_status status = take_keys(sampler, schema, options, err);
  if (status != COLSHUF_OK) {
    colshuf_bounds_sampler_free(sampler);
    return status;
  }
  *out = sampler;
  return COLSHUF_OK;
}

static void drop_pieces(struct colshuf_bounds_sampler *sampler) {
  int64_t n = count_of(&sampler->pieces, sizeof(struct ArrowArray));
  for (int64_t i = 0; i < n; i++) pieces_of(sampler)[i].release(&pieces_of(sampler)[i]);
  sampler->pieces.size = 0;
  sampler->n_kept = 0;
}

void colshuf_bounds_sampler_free(struct colshuf_bounds_sampler *sampler) {
  if (sampler == NULL) return;
  struct colshuf_allocator allocator = sampler->allocator;
  drop_pieces(sampler);
  int64_t n = count_of(&sampler->samples, sizeof(struct sample));
  for (int64_t i = 0; i < n; i++) samples_of(sampler)[i].array.release(&samples_of(sampler)[i].array);
  struct csf_buffer *buffers[] = {&sampler->orders, &sampler->slots,  &sampler->touched,
                                  &sampler->rows,   &sampler->pieces, &sampler->samples};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) csf_buffer_clear(buffers[i]);
  csf_keys_clear(&sampler->keys);
  csf_schema_release(sampler->batch_schema);
  csf_schema_release(sampler->key_schema);
  csf_free(&allocator, sampler, sizeof *sampler);
}

/* --- the reservoir --- */

/* Puts a row of the batch into a slot, a new one or one that is taken. */
static enum colshuf_status put_row(struct colshuf_bounds_sampler *sampler, int64_t slot, int64_t row,
                                   struct colshuf_error *err) {
  struct slot value = {-1, row};
  CSF_TRY(csf_buffer_append(&sampler->touched, &slot, sizeof slot, err));
  if (slot == count_of(&sampler->slots, sizeof value)) return csf_buffer_append(&sampler->slots, &value, sizeof value, err);
  slots_of(sampler)[slot] = value;
  return COLSHUF_OK;
}

/* The l-th row of an input takes a slot with the probability reservoir_size / l. */
static enum colshuf_status choose_rows(struct colshuf_bounds_sampler *sampler, int64_t n_rows, struct colshuf_error *err) {
  sampler->touched.size = 0;
  for (int64_t row = 0; row < n_rows; row++) {
    int64_t seen = sampler->n_seen + row;
    int64_t slot = seen;
    if (seen >= sampler->reservoir_size) slot = (int64_t)(csf_random_double(&sampler->random) * (double)(seen + 1));
    if (slot < sampler->reservoir_size) CSF_TRY(put_row(sampler, slot, row, err));
  }
  return COLSHUF_OK;
}

/* The rows of the batch that are in slots now, each once; the slots point into the piece they will make. */
static enum colshuf_status number_rows(struct colshuf_bounds_sampler *sampler, struct colshuf_error *err) {
  int64_t piece = count_of(&sampler->pieces, sizeof(struct ArrowArray));
  const int64_t *touched = (const int64_t *)(const void *)sampler->touched.data;
  sampler->rows.size = 0;
  CSF_TRY(csf_buffer_reserve(&sampler->rows, sampler->touched.size, err));
  for (int64_t i = 0; i < count_of(&sampler->touched, sizeof *touched); i++) {
    struct slot *slot = &slots_of(sampler)[touched[i]];
    if (slot->piece >= 0) continue;
    int64_t row = slot->row;
    *slot = (struct slot){piece, count_of(&sampler->rows, sizeof row)};
    CSF_TRY(csf_buffer_append(&sampler->rows, &row, sizeof row, err));
  }
  return COLSHUF_OK;
}

/* The chosen rows of the key columns, without dictionaries: those of different batches could outgrow their indices together. */
static enum colshuf_status take_rows(struct colshuf_bounds_sampler *sampler, const struct ArrowArray *keys,
                                     struct ArrowArray *out, struct colshuf_error *err) {
  const struct csf_schema *schema = sampler->batch_schema;
  const int64_t *rows = (const int64_t *)(const void *)sampler->rows.data;
  int64_t n = count_of(&sampler->rows, sizeof *rows);
  struct ArrowArray taken;
  CSF_TRY(csf_array_take(&schema->root, keys, rows, n, &sampler->allocator, &taken, err));
  if (!schema->has_dictionary) {
    *out = taken;
    return COLSHUF_OK;
  }
  enum colshuf_status status = csf_array_unpack_dictionaries(&schema->root, &taken, &sampler->allocator, out, err);
  taken.release(&taken);
  return status;
}

/* Copies the chosen rows' keys out of the batch. */
static enum colshuf_status keep_rows(struct colshuf_bounds_sampler *sampler, const struct ArrowArray *batch,
                                     struct colshuf_error *err) {
  int32_t n_keys = sampler->keys.n_columns;
  struct ArrowArray **children = csf_alloc(&sampler->allocator, (size_t)n_keys * sizeof *children);
  if (children == NULL) return csf_fail_memory(err, (size_t)n_keys * sizeof *children);
  for (int32_t i = 0; i < n_keys; i++) children[i] = batch->children[sampler->keys.indices[i]];
  struct ArrowArray view = *batch, piece;
  view.n_children = n_keys;
  view.children = children;
  enum colshuf_status status = take_rows(sampler, &view, &piece, err);
  csf_free(&sampler->allocator, children, (size_t)n_keys * sizeof *children);
  CSF_TRY(status);
  status = csf_buffer_append(&sampler->pieces, &piece, sizeof piece, err);
  if (status != COLSHUF_OK) piece.release(&piece);
  else sampler->n_kept += piece.length;
  return status;
}

/* rows = where each slot's row is, pieces counted through; then all pieces in one. */
static enum colshuf_status join_pieces(struct colshuf_bounds_sampler *sampler, struct ArrowArray *out,
                                       struct colshuf_error *err) {
  int64_t n = count_of(&sampler->pieces, sizeof(struct ArrowArray));
  size_t size = (size_t)n * (sizeof(void *) + 2 * sizeof(int64_t)) + 1;
  uint8_t *table = csf_alloc(&sampler->allocator, size);
  if (table == NULL) return csf_fail_memory(err, size);
  const struct ArrowArray **arrays = (const struct ArrowArray **)(void *)table;
  int64_t *starts = (int64_t *)(void *)(arrays + n), *lengths = starts + n, before = 0;
  for (int64_t i = 0; i < n; i++) {
    arrays[i] = &pieces_of(sampler)[i];
    starts[i] = before;
    lengths[i] = arrays[i]->length;
    before += lengths[i];
  }
  int64_t n_slots = count_of(&sampler->slots, sizeof(struct slot));
  sampler->rows.size = 0;
  enum colshuf_status status = csf_buffer_reserve(&sampler->rows, (size_t)n_slots * sizeof(int64_t) + 1, err);
  for (int64_t i = 0; i < n_slots && status == COLSHUF_OK; i++) {
    int64_t row = starts[slots_of(sampler)[i].piece] + slots_of(sampler)[i].row;
    status = csf_buffer_append(&sampler->rows, &row, sizeof row, err);
  }
  memset(starts, 0, (size_t)n * sizeof *starts);
  if (status == COLSHUF_OK) {
    status = csf_array_concat(&sampler->key_schema->root, arrays, starts, lengths, n, &sampler->allocator, out, err);
  }
  csf_free(&sampler->allocator, table, size);
  return status;
}

/* The reservoir as one array, in the order of its slots. */
static enum colshuf_status gather_slots(struct colshuf_bounds_sampler *sampler, struct ArrowArray *out,
                                        struct colshuf_error *err) {
  struct ArrowArray joined;
  CSF_TRY(join_pieces(sampler, &joined, err));
  const int64_t *rows = (const int64_t *)(const void *)sampler->rows.data;
  int64_t n = count_of(&sampler->rows, sizeof *rows);
  enum colshuf_status status = csf_array_take(&sampler->key_schema->root, &joined, rows, n, &sampler->allocator, out, err);
  joined.release(&joined);
  return status;
}

/* Pieces that are mostly displaced rows are replaced by one without. */
static enum colshuf_status remove_waste(struct colshuf_bounds_sampler *sampler, struct colshuf_error *err) {
  int64_t n_slots = count_of(&sampler->slots, sizeof(struct slot));
  if (sampler->n_kept < 2 * n_slots + WASTE_MIN) return COLSHUF_OK;
  struct ArrowArray piece;
  CSF_TRY(gather_slots(sampler, &piece, err));
  drop_pieces(sampler);
  for (int64_t i = 0; i < n_slots; i++) slots_of(sampler)[i] = (struct slot){0, i};
  memcpy(sampler->pieces.data, &piece, sizeof piece); /* there was a piece: there is room */
  sampler->pieces.size = sizeof piece;
  sampler->n_kept = n_slots;
  return COLSHUF_OK;
}

static enum colshuf_status check_usable(const struct colshuf_bounds_sampler *sampler, struct colshuf_error *err) {
  if (!sampler->failed) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the sampler has failed before");
}

static enum colshuf_status add_rows(struct colshuf_bounds_sampler *sampler, const struct ArrowArray *batch,
                                    struct colshuf_error *err) {
  CSF_TRY(choose_rows(sampler, batch->length, err));
  sampler->n_seen += batch->length;
  if (sampler->touched.size == 0) return COLSHUF_OK;
  CSF_TRY(number_rows(sampler, err));
  CSF_TRY(keep_rows(sampler, batch, err));
  return remove_waste(sampler, err);
}

enum colshuf_status colshuf_bounds_sampler_add(struct colshuf_bounds_sampler *sampler, const struct ArrowArray *batch,
                                               struct colshuf_error *err) {
  CSF_TRY(check_usable(sampler, err));
  CSF_TRY(csf_keys_bind(&sampler->keys, batch, err));
  enum colshuf_status status = add_rows(sampler, batch, err);
  sampler->failed = status != COLSHUF_OK;
  return status;
}

enum colshuf_status colshuf_bounds_sampler_next_input(struct colshuf_bounds_sampler *sampler, struct colshuf_error *err) {
  CSF_TRY(check_usable(sampler, err));
  int64_t n_slots = count_of(&sampler->slots, sizeof(struct slot));
  if (n_slots > 0) {
    struct sample sample = {.weight = (float)((double)sampler->n_seen / (double)n_slots)};
    CSF_TRY(csf_buffer_reserve(&sampler->samples, sampler->samples.size + sizeof sample, err));
    CSF_TRY(gather_slots(sampler, &sample.array, err));
    CSF_TRY(csf_buffer_append(&sampler->samples, &sample, sizeof sample, err));
  }
  drop_pieces(sampler);
  sampler->slots.size = 0;
  sampler->n_seen = 0;
  sampler->input++;
  seed_input(sampler);
  return COLSHUF_OK;
}

/* --- bounds --- */

/* All samples in one array, the weight of each row, and their order. */
struct candidates {
  struct colshuf_allocator allocator;
  struct ArrowArray array;
  uint32_t n;
  size_t size; /* bytes of what follows, one block */
  float *weights;
  uint32_t *order;
  uint32_t *spare;
  const struct colshuf_bounds_sampler *sampler;
};

static int compare_candidates(void *ctx, uint32_t a, uint32_t b) {
  const struct candidates *candidates = ctx;
  const struct colshuf_bounds_sampler *sampler = candidates->sampler;
  return csf_compare_rows(sampler->columns, a, sampler->columns, b, orders_of(sampler), sampler->keys.n_columns,
                          sampler->rules);
}

static enum colshuf_status join_samples(const struct colshuf_bounds_sampler *sampler, struct candidates *candidates,
                                        struct colshuf_error *err) {
  int64_t n = count_of(&sampler->samples, sizeof(struct sample)), total = 0;
  size_t size = (size_t)n * (sizeof(void *) + 2 * sizeof(int64_t)) + 1;
  uint8_t *table = csf_alloc_zero(&sampler->allocator, size);
  if (table == NULL) return csf_fail_memory(err, size);
  const struct ArrowArray **arrays = (const struct ArrowArray **)(void *)table;
  int64_t *starts = (int64_t *)(void *)(arrays + n), *lengths = starts + n;
  for (int64_t i = 0; i < n; i++) {
    arrays[i] = &samples_of(sampler)[i].array;
    lengths[i] = arrays[i]->length;
    total += lengths[i];
  }
  enum colshuf_status status;
  if (total > UINT32_MAX) status = csf_fail(err, COLSHUF_LIMIT, "%" PRId64 " sampled rows are too many to sort", total);
  else
    status =
        csf_array_concat(&sampler->key_schema->root, arrays, starts, lengths, n, &sampler->allocator, &candidates->array, err);
  csf_free(&sampler->allocator, table, size);
  candidates->n = (uint32_t)total;
  return status;
}

static enum colshuf_status sort_candidates(struct colshuf_bounds_sampler *sampler, struct candidates *candidates,
                                           struct colshuf_error *err) {
  size_t n = candidates->n;
  candidates->size = n * (sizeof(float) + 2 * sizeof(uint32_t)) + 1;
  candidates->weights = csf_alloc(&candidates->allocator, candidates->size);
  if (candidates->weights == NULL) return csf_fail_memory(err, candidates->size);
  for (int32_t i = 0; i < sampler->keys.n_columns; i++) {
    csf_column_bind(&sampler->columns[i], candidates->array.children[i], candidates->array.offset);
  }
  candidates->order = (uint32_t *)(void *)(candidates->weights + n);
  candidates->spare = candidates->order + n;
  size_t at = 0;
  for (int64_t i = 0; i < count_of(&sampler->samples, sizeof(struct sample)); i++) {
    for (int64_t row = 0; row < samples_of(sampler)[i].array.length; row++)
      candidates->weights[at++] = samples_of(sampler)[i].weight;
  }
  for (uint32_t i = 0; i < candidates->n; i++) candidates->order[i] = i;
  csf_sort_by(candidates->order, candidates->spare, n, compare_candidates, candidates);
  return COLSHUF_OK;
}

static int64_t n_ranges(const struct colshuf_bounds_sampler *sampler, const struct candidates *candidates) {
  int64_t n_partitions = sampler->n_partitions, n = candidates->n;
  return n_partitions < n ? n_partitions : n;
}

/* A bound each time the weights add up to another share of their sum, if it is greater than the bound before. */
static int64_t pick_bounds(const struct colshuf_bounds_sampler *sampler, struct candidates *candidates, int64_t *rows) {
  double sum = 0, passed = 0;
  for (uint32_t i = 0; i < candidates->n; i++) sum += (double)candidates->weights[candidates->order[i]];
  int64_t n_partitions = n_ranges(sampler, candidates), n = 0;
  double step = sum / (double)n_partitions, target = step;
  for (uint32_t i = 0; i < candidates->n && n < n_partitions - 1; i++) {
    uint32_t row = candidates->order[i];
    passed += (double)candidates->weights[row];
    if (passed < target) continue;
    if (n > 0 && compare_candidates(candidates, row, (uint32_t)rows[n - 1]) <= 0) continue;
    rows[n++] = row;
    target += step;
  }
  return n;
}

static enum colshuf_status find_bounds(struct colshuf_bounds_sampler *sampler, struct candidates *candidates,
                                       struct ArrowArray *bounds, struct colshuf_error *err) {
  CSF_TRY(join_samples(sampler, candidates, err));
  CSF_TRY(sort_candidates(sampler, candidates, err));
  CSF_TRY(csf_buffer_reserve(&sampler->rows, (size_t)n_ranges(sampler, candidates) * sizeof(int64_t) + 1, err));
  int64_t *rows = (int64_t *)(void *)sampler->rows.data;
  int64_t n = pick_bounds(sampler, candidates, rows);
  return csf_array_take(&sampler->key_schema->root, &candidates->array, rows, n, &sampler->allocator, bounds, err);
}

enum colshuf_status colshuf_bounds_sampler_finish(struct colshuf_bounds_sampler *sampler, struct ArrowSchema *schema,
                                                  struct ArrowArray *bounds, struct colshuf_error *err) {
  CSF_TRY(colshuf_bounds_sampler_next_input(sampler, err));
  struct candidates candidates = {.allocator = sampler->allocator, .sampler = sampler};
  struct ArrowArray found;
  enum colshuf_status status = find_bounds(sampler, &candidates, &found, err);
  if (candidates.array.release != NULL) candidates.array.release(&candidates.array);
  csf_free(&candidates.allocator, candidates.weights, candidates.size);
  CSF_TRY(status);
  status = csf_field_export(&sampler->key_schema->root, &sampler->allocator, schema, err);
  if (status != COLSHUF_OK) {
    found.release(&found);
    return status;
  }
  *bounds = found;
  return COLSHUF_OK;
}
