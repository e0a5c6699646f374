/* SPDX-License-Identifier: Apache-2.0 */
/* The partitioner: one handle that decides by any of the partitionings. */
#include <inttypes.h>

#include "colshuf/partition.h"
#include "partition/hash.h"
#include "partition/keys.h"
#include "partition/murmur3.h"
#include "partition/range.h"
#include "partition/round_robin.h"

enum { SPARK_SEED = 42 };

struct colshuf_partitioner {
  struct colshuf_allocator allocator;
  enum colshuf_partitioning kind;
  enum colshuf_rules rules;
  int32_t n_partitions;
  bool by_hash;
  bool sort_first;
  struct csf_divisor divisor;
  struct csf_keys keys;
  struct csf_buffer scratch;
  struct csf_row_sorter sorter;
  struct csf_range *range; /* NULL: one partition */
  int64_t group_rows;
  int64_t left_in_group; /* rows that still go where the last one went */
  uint32_t position;     /* round robin: of the last row dealt out; wraps as Spark's int does */
};

static enum colshuf_status check_options(const struct colshuf_partitioner_options *options, struct colshuf_error *err) {
  if (options->n_partitions < 1) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there are %d partitions, at least 1 is needed", options->n_partitions);
  }
  if (options->n_keys < 0 || (options->n_keys > 0 && options->keys == NULL)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%d keys are announced, but none are given", options->n_keys);
  }
  if (options->max_hash_columns < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "max_hash_columns is %d", options->max_hash_columns);
  }
  if (options->group_rows < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "group_rows is %" PRId64, options->group_rows);
  }
  if (options->kind == COLSHUF_PARTITION_ID && options->n_keys != 1) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the column of partition ids is 1 key, not %d", options->n_keys);
  }
  return COLSHUF_OK;
}

/* The keys of the options as column numbers, in out (size n_keys, freed by the caller). */
static enum colshuf_status key_columns(struct colshuf_partitioner *partitioner,
                                       const struct colshuf_partitioner_options *options, enum csf_use use,
                                       const struct ArrowSchema *schema, struct colshuf_error *err) {
  size_t size = (size_t)options->n_keys * sizeof(int32_t) + 1;
  int32_t *columns = csf_alloc(&partitioner->allocator, size);
  if (columns == NULL) return csf_fail_memory(err, size);
  for (int32_t i = 0; i < options->n_keys; i++) columns[i] = options->keys[i].column;
  enum colshuf_status status =
      csf_keys_init(&partitioner->keys, schema, columns, options->n_keys, use, &partitioner->allocator, err);
  csf_free(&partitioner->allocator, columns, size);
  return status;
}

static enum colshuf_status check_id_column(const struct csf_column *column, struct colshuf_error *err) {
  const struct csf_field *field = column->field;
  if (field->type >= CSF_INT8 && field->type <= CSF_UINT64 && field->dictionary == NULL) return COLSHUF_OK;
  char type[256];
  csf_field_describe(field, type, sizeof type);
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the column of partition ids \"%s\" is %s, not an integer", field->name, type);
}

/* Comet's round robin hashes the first columns; Spark's needs columns only to sort by them. */
static enum colshuf_status init_round_robin(struct colshuf_partitioner *partitioner, const struct ArrowSchema *schema,
                                            const struct colshuf_partitioner_options *options, struct colshuf_error *err) {
  if (options->rules == COLSHUF_RULES_COMET && options->group_rows == 0) {
    partitioner->by_hash = true;
    CSF_TRY(csf_keys_init(&partitioner->keys, schema, NULL, -1, CSF_USE_HASH_WITH_MAPS, &partitioner->allocator, err));
    int32_t n = options->max_hash_columns;
    if (n > 0 && n < partitioner->keys.n_columns) partitioner->keys.n_columns = n;
    return COLSHUF_OK;
  }
  partitioner->sort_first = options->sort_first && options->n_partitions > 1;
  partitioner->group_rows = options->group_rows > 0 ? options->group_rows : 1;
  struct csf_random random = csf_random_seeded(options->task_id);
  partitioner->position = (uint32_t)csf_random_below(&random, options->n_partitions);
  int32_t n_columns = partitioner->sort_first ? -1 : 0;
  return csf_keys_init(&partitioner->keys, schema, NULL, n_columns, CSF_USE_ROW, &partitioner->allocator, err);
}

static enum colshuf_status init_range(struct colshuf_partitioner *partitioner, const struct ArrowSchema *schema,
                                      const struct colshuf_partitioner_options *options, struct colshuf_error *err) {
  if (options->n_keys == 0) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "ranges need at least 1 key");
  CSF_TRY(key_columns(partitioner, options, CSF_USE_ORDER, schema, err));
  bool has_bounds = options->bounds != NULL && options->bounds_schema != NULL;
  if (has_bounds) return csf_range_new(&partitioner->keys, options, &partitioner->allocator, &partitioner->range, err);
  if (options->n_partitions == 1) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%d ranges need bounds and their schema", options->n_partitions);
}

static enum colshuf_status init(struct colshuf_partitioner *partitioner, const struct ArrowSchema *schema,
                                const struct colshuf_partitioner_options *options, struct colshuf_error *err) {
  switch (options->kind) {
    case COLSHUF_PARTITION_SINGLE:
      if (options->n_partitions == 1)
        return csf_keys_init(&partitioner->keys, schema, NULL, 0, CSF_USE_ROW, &partitioner->allocator, err);
      return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a single partition was asked for, and %d partitions",
                      options->n_partitions);
    case COLSHUF_PARTITION_HASH:
      partitioner->by_hash = true;
      return key_columns(partitioner, options, options->allow_map_keys ? CSF_USE_HASH_WITH_MAPS : CSF_USE_HASH, schema, err);
    case COLSHUF_PARTITION_ROUND_ROBIN:
      return init_round_robin(partitioner, schema, options, err);
    case COLSHUF_PARTITION_ID:
      CSF_TRY(key_columns(partitioner, options, CSF_USE_ROW, schema, err));
      return check_id_column(&partitioner->keys.columns[0], err);
    case COLSHUF_PARTITION_RANGE:
      return init_range(partitioner, schema, options, err);
  }
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there is no partitioning %d", (int)options->kind);
}

enum colshuf_status colshuf_partitioner_new(const struct ArrowSchema *schema, const struct colshuf_partitioner_options *options,
                                            struct colshuf_partitioner **out, struct colshuf_error *err) {
  if (schema == NULL || options == NULL || out == NULL)
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "schema, options and out are needed");
  CSF_TRY(check_options(options, err));
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_partitioner *partitioner = csf_alloc_zero(&allocator, sizeof *partitioner);
  if (partitioner == NULL) return csf_fail_memory(err, sizeof *partitioner);
  partitioner->allocator = allocator;
  partitioner->kind = options->kind;
  /* Rows go where Spark's generated code sends them. */
  partitioner->rules = options->rules == COLSHUF_RULES_SPARK ? COLSHUF_RULES_SPARK_GENERATED : options->rules;
  partitioner->n_partitions = options->n_partitions;
  partitioner->divisor = csf_divisor_of((uint32_t)options->n_partitions);
  csf_buffer_init(&partitioner->scratch, &allocator);
  csf_row_sorter_init(&partitioner->sorter, &allocator);
  enum colshuf_status status = init(partitioner, schema, options, err);
  if (status != COLSHUF_OK) {
    colshuf_partitioner_free(partitioner);
    return status;
  }
  *out = partitioner;
  return COLSHUF_OK;
}

void colshuf_partitioner_free(struct colshuf_partitioner *partitioner) {
  if (partitioner == NULL) return;
  struct colshuf_allocator allocator = partitioner->allocator;
  csf_range_free(partitioner->range);
  csf_keys_clear(&partitioner->keys);
  csf_row_sorter_clear(&partitioner->sorter);
  csf_buffer_clear(&partitioner->scratch);
  csf_free(&allocator, partitioner, sizeof *partitioner);
}

/* With one partition no column is looked at. */
static enum colshuf_status ids_by_hash(struct colshuf_partitioner *partitioner, int64_t n_rows, int32_t *ids,
                                       struct colshuf_error *err) {
  const struct csf_keys *keys = &partitioner->keys;
  if (partitioner->n_partitions == 1) {
    memset(ids, 0, (size_t)n_rows * sizeof *ids);
    return COLSHUF_OK;
  }
  return csf_hash_columns(keys->columns, keys->n_columns, n_rows, SPARK_SEED, partitioner->rules, &partitioner->divisor,
                          &partitioner->scratch, (uint32_t *)ids, err);
}

/* Spark keeps the position in an int that wraps; its pmod then jumps, and so must ours. */
static int32_t next_partition(struct colshuf_partitioner *partitioner) {
  if (partitioner->left_in_group == 0) {
    partitioner->left_in_group = partitioner->group_rows;
    partitioner->position++;
  }
  partitioner->left_in_group--;
  return (int32_t)csf_pmod(partitioner->position, &partitioner->divisor);
}

static enum colshuf_status ids_round_robin(struct colshuf_partitioner *partitioner, int64_t n_rows, int32_t *ids,
                                           struct colshuf_error *err) {
  if (!partitioner->sort_first) {
    for (int64_t i = 0; i < n_rows; i++) ids[i] = next_partition(partitioner);
    return COLSHUF_OK;
  }
  if (n_rows > UINT32_MAX) return csf_fail(err, COLSHUF_LIMIT, "a batch of %" PRId64 " rows is too large to sort", n_rows);
  const uint64_t *order;
  const struct csf_keys *keys = &partitioner->keys;
  CSF_TRY(csf_row_sorter_run(&partitioner->sorter, keys->columns, keys->n_columns, (uint32_t)n_rows, &order, err));
  for (int64_t i = 0; i < n_rows; i++) ids[csf_row_sorter_row(order[i])] = next_partition(partitioner);
  return COLSHUF_OK;
}

static enum colshuf_status fail_id(const struct colshuf_partitioner *partitioner, int64_t row, struct colshuf_error *err) {
  const struct csf_column *column = &partitioner->keys.columns[0];
  if (!csf_column_valid(column, row)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "row %" PRId64 ": the partition id in column \"%s\" is null", row,
                    column->field->name);
  }
  int64_t id = csf_column_integer(column, row);
  if (!column->is_signed && id < 0) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT,
                    "row %" PRId64 ": partition id %" PRIu64 " in column \"%s\", but there are %d partitions", row,
                    (uint64_t)id, column->field->name, partitioner->n_partitions);
  }
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT,
                  "row %" PRId64 ": partition id %" PRId64 " in column \"%s\", but there are %d partitions", row, id,
                  column->field->name, partitioner->n_partitions);
}

static enum colshuf_status ids_given(const struct colshuf_partitioner *partitioner, int64_t n_rows, int32_t *ids,
                                     struct colshuf_error *err) {
  const struct csf_column *column = &partitioner->keys.columns[0];
  for (int64_t i = 0; i < n_rows; i++) {
    uint64_t id = csf_column_valid(column, i) ? (uint64_t)csf_column_integer(column, i) : UINT64_MAX;
    if (id >= (uint64_t)partitioner->n_partitions) return fail_id(partitioner, i, err);
    ids[i] = (int32_t)id;
  }
  return COLSHUF_OK;
}

enum colshuf_status colshuf_partitioner_ids(struct colshuf_partitioner *partitioner, const struct ArrowArray *batch,
                                            int32_t *ids, struct colshuf_error *err) {
  CSF_TRY(csf_keys_bind(&partitioner->keys, batch, err));
  if (partitioner->by_hash) return ids_by_hash(partitioner, batch->length, ids, err);
  if (partitioner->kind == COLSHUF_PARTITION_ROUND_ROBIN) return ids_round_robin(partitioner, batch->length, ids, err);
  if (partitioner->kind == COLSHUF_PARTITION_ID) return ids_given(partitioner, batch->length, ids, err);
  if (partitioner->range != NULL) csf_range_ids(partitioner->range, &partitioner->keys, batch->length, ids);
  else memset(ids, 0, (size_t)batch->length * sizeof *ids);
  return COLSHUF_OK;
}

enum colshuf_status colshuf_murmur3(const struct ArrowSchema *schema, const struct ArrowArray *batch, const int32_t *columns,
                                    int32_t n_columns, int32_t seed, enum colshuf_rules rules, int32_t *hashes,
                                    struct colshuf_error *err) {
  if (schema == NULL || n_columns < 0 || (n_columns > 0 && columns == NULL)) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a schema and columns (%d) are needed", n_columns);
  }
  struct colshuf_allocator allocator = csf_allocator(NULL);
  struct csf_keys keys;
  CSF_TRY(csf_keys_init(&keys, schema, columns, n_columns, CSF_USE_HASH_WITH_MAPS, &allocator, err));
  struct csf_buffer scratch;
  csf_buffer_init(&scratch, &allocator);
  enum colshuf_status status = csf_keys_bind(&keys, batch, err);
  if (status == COLSHUF_OK) {
    status = csf_hash_columns(keys.columns, n_columns, batch->length, (uint32_t)seed, rules, NULL, &scratch, (uint32_t *)hashes,
                              err);
  }
  csf_buffer_clear(&scratch);
  csf_keys_clear(&keys);
  return status;
}
