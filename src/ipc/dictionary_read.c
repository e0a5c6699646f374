/* SPDX-License-Identifier: Apache-2.0 */
/* DictionaryBatch messages: values that replace those of their id, or are appended to them. formats.md B.9; guard G19. */
#include <inttypes.h>

#include "ipc/batch_reader.h"
#include "ipc/format_tables.h"
#include "ipc/limits.h"

/* Values that stood there before are let go. */
static void put_values(struct csf_dictionaries *dictionaries, size_t place, struct csf_dictionary_values *values) {
  struct csf_dictionary_values *before = dictionaries->values[place];
  if (before != NULL) dictionaries->size -= before->size;
  dictionaries->size += values->size;
  dictionaries->values[place] = values;
  csf_dictionary_values_release(before);
}

static enum colshuf_status check_dictionary_size(const struct csf_batch_read_options *options, uint64_t size, struct colshuf_error *err) {
  uint64_t most = csf_limit_dictionary_size(options->limits);
  if (size <= most) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_LIMIT, "dictionaries of %" PRIu64 " bytes, the limit is %" PRIu64, size, most);
}

/* Wraps *array, which is moved in, or released on failure. */
static enum colshuf_status wrap_values(const struct csf_batch_read_options *options, struct ArrowArray *array, uint64_t size,
                                       struct csf_dictionary_values **out, struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct csf_dictionary_values *values = csf_alloc(&allocator, sizeof *values);
  if (values == NULL) {
    array->release(array);
    return csf_fail_memory(err, sizeof *values);
  }
  *values = (struct csf_dictionary_values){.allocator = allocator, .array = *array, .size = size};
  atomic_init(&values->references, 1);
  *out = values;
  return COLSHUF_OK;
}

/* *delta is released in any case. */
static enum colshuf_status append_delta(const struct csf_field *field, const struct csf_batch_read_options *options,
                                        const struct ArrowArray *before, struct ArrowArray *delta, struct ArrowArray *out,
                                        struct colshuf_error *err) {
  const struct ArrowArray *arrays[2] = {before, delta};
  int64_t starts[2] = {0, 0}, lengths[2] = {before->length, delta->length};
  enum colshuf_status status = csf_array_concat(field, arrays, starts, lengths, 2, &options->allocator, out, err);
  delta->release(delta);
  return status;
}

/* The one column of *batch, moved out of it. */
static struct ArrowArray only_column(struct ArrowArray *batch) {
  struct ArrowArray column = *batch->children[0];
  batch->children[0]->release = NULL;
  batch->release(batch);
  return column;
}

static enum colshuf_status keep_values(const struct csf_dictionary_plan *plan, struct csf_dictionaries *dictionaries, size_t place,
                                       bool is_delta, const struct csf_batch_read_options *options, struct ArrowArray *batch,
                                       uint64_t size, struct colshuf_error *err) {
  struct ArrowArray values = only_column(batch);
  const struct csf_dictionary_values *before = dictionaries->values[place];
  if (is_delta) {
    struct ArrowArray whole;
    CSF_TRY(append_delta(plan->root.children, options, &before->array, &values, &whole, err));
    values = whole;
    size += before->size;
  }
  struct csf_dictionary_values *kept;
  CSF_TRY(wrap_values(options, &values, size, &kept, err));
  put_values(dictionaries, place, kept);
  return COLSHUF_OK;
}

/* Bytes that the values take: those of the body, and what came out of compressed buffers. */
static uint64_t values_size(const struct csf_batch_reader *r, uint64_t body_size) {
  return body_size + (csf_limit_decompressed_size(r->options->limits) - r->body.max_size);
}

static enum colshuf_status read_dictionary(struct csf_batch_reader *r, struct csf_fb_table data, const struct csf_message *message,
                                           size_t place, bool is_delta, struct csf_dictionaries *dictionaries) {
  const struct csf_dictionary_plan *plan = &r->plan->dictionaries[place];
  const struct csf_dictionary_values *before = dictionaries->values[place];
  uint64_t others = dictionaries->size - (before != NULL && !is_delta ? before->size : 0);
  CSF_TRY(check_dictionary_size(r->options, others + message->body.size, r->err));
  CSF_TRY(csf_batch_reader_open(r, message, data));
  struct ArrowArray batch;
  CSF_TRY(csf_batch_reader_read(r, &plan->root, &plan->column, plan->shape, true, &batch));
  uint64_t size = values_size(r, message->body.size);
  enum colshuf_status status = check_dictionary_size(r->options, others + size, r->err);
  if (status != COLSHUF_OK) {
    batch.release(&batch);
    return status;
  }
  return keep_values(plan, dictionaries, place, is_delta, r->options, &batch, size, r->err);
}

static bool uses_dictionary(const struct csf_field *field, int64_t id) {
  for (int32_t i = 0; i < field->n_children; i++) {
    if (uses_dictionary(&field->children[i], id)) return true;
  }
  return field->dictionary != NULL && (field->dictionary_id == id || uses_dictionary(field->dictionary, id));
}

static bool is_dictionary_wanted(const struct csf_batch_plan *plan, const struct csf_column_set *columns, int64_t id) {
  const struct csf_field *root = &plan->schema->root;
  if (columns->wanted == NULL) return true;
  for (int32_t i = 0; i < root->n_children && i < columns->n; i++) {
    if (columns->wanted[i] != 0 && uses_dictionary(&root->children[i], id)) return true;
  }
  return false;
}

enum colshuf_status csf_dictionary_read(const struct csf_batch_plan *plan, const struct csf_message *message,
                                        const struct csf_batch_read_options *wanted, struct csf_dictionaries *dictionaries,
                                        struct colshuf_error *err) {
  struct csf_batch_read_options whole = *wanted; /* of the values, that is */
  const struct csf_batch_read_options *options = &whole;
  whole.columns = (struct csf_column_set){0};
  whole.trust = csf_trust_to_copy(wanted->trust); /* as deltas are */
  if (message->kind != CSF_MESSAGE_DICTIONARY) return csf_fail(err, COLSHUF_CORRUPT, "the message is not a dictionary batch");
  struct csf_fb_table table = csf_fb_child(csf_fb_root(message->metadata), CSF_MESSAGE_HEADER);
  int64_t id = csf_fb_i64(table, CSF_DICTIONARY_ID, 0);
  bool is_delta = csf_fb_u8(table, CSF_DICTIONARY_IS_DELTA, 0) != 0;
  size_t place = csf_batch_plan_find(plan, id);
  if (place == plan->n_dictionaries) {
    return csf_fail(err, COLSHUF_CORRUPT, "dictionary of id %" PRId64 ", which the schema does not name", id);
  }
  if (is_delta && dictionaries->values[place] == NULL) {
    return csf_fail(err, COLSHUF_CORRUPT, "delta for the dictionary of id %" PRId64 ", which has not come yet", id);
  }
  if (options->offsets_as_lengths) return csf_fail(err, COLSHUF_CORRUPT, "offsets stored as lengths in a schema with a dictionary");
  if (!is_dictionary_wanted(plan, &wanted->columns, id)) return COLSHUF_OK;
  struct csf_fb_table data = csf_fb_child(table, CSF_DICTIONARY_DATA);
  struct csf_batch_reader r;
  int64_t sizes[CSF_SIZES_AT_HAND];
  csf_batch_reader_init(&r, plan, message, dictionaries, options, sizes, err);
  enum colshuf_status status = read_dictionary(&r, data, message, place, is_delta, dictionaries);
  csf_batch_reader_clear(&r, sizes);
  return status == COLSHUF_OK ? status : csf_fail_context(err, status, "dictionary of id %" PRId64, id);
}
