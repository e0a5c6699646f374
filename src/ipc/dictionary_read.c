/* SPDX-License-Identifier: Apache-2.0 */
/* DictionaryBatch messages: values that replace those of their id, or are appended to them. formats.md B.9; guard G19. */
#include <inttypes.h>

#include "ipc/batch_reader.h"
#include "ipc/format_tables.h"
#include "ipc/limits.h"

static enum colshuf_status check_dictionary_size(const struct csf_batch_read_options *options, uint64_t size, struct colshuf_error *err) {
  uint64_t most = csf_limit_dictionary_size(options->limits);
  if (size <= most) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_LIMIT, "dictionaries of %" PRIu64 " bytes, the limit is %" PRIu64, size, most);
}

/* Wraps *array, which is moved in, or released on failure. */
static enum colshuf_status wrap_values(const struct colshuf_allocator *wanted, struct ArrowArray *array, struct csf_dictionary_values **out,
                                       struct colshuf_error *err) {
  struct colshuf_allocator allocator = csf_allocator(wanted);
  struct csf_dictionary_values *values = csf_alloc(&allocator, sizeof *values);
  if (values == NULL) {
    array->release(array);
    return csf_fail_memory(err, sizeof *values);
  }
  *values = (struct csf_dictionary_values){.allocator = allocator, .array = *array};
  atomic_init(&values->references, 1);
  *out = values;
  return COLSHUF_OK;
}

enum colshuf_status csf_dictionary_show(struct csf_dictionary *dictionary, const struct csf_field *field,
                                        const struct colshuf_allocator *allocator, struct csf_dictionary_values **out,
                                        struct colshuf_error *err) {
  if (dictionary->values == NULL) {
    struct ArrowArray array;
    CSF_TRY(csf_growth_show(dictionary->growth, field, &array, err));
    CSF_TRY(wrap_values(allocator, &array, &dictionary->values, err));
  }
  *out = dictionary->values;
  return COLSHUF_OK;
}

/* The values that are there become the first of those that grow. */
static enum colshuf_status start_growth(const struct csf_field *field, const struct csf_batch_read_options *options,
                                        struct csf_dictionary *dictionary, struct colshuf_error *err) {
  if (dictionary->growth != NULL) return COLSHUF_OK;
  CSF_TRY(csf_growth_new(field, &options->allocator, &dictionary->growth, err));
  return csf_growth_append(dictionary->growth, field, &dictionary->values->array, err);
}

static enum colshuf_status grow(const struct csf_field *field, const struct csf_batch_read_options *options, struct csf_dictionary *dictionary,
                                const struct ArrowArray *delta, struct colshuf_error *err) {
  CSF_TRY(start_growth(field, options, dictionary, err));
  csf_dictionary_values_release(dictionary->values);
  dictionary->values = NULL;
  return csf_growth_append(dictionary->growth, field, delta, err);
}

/* How often the bytes of all dictionaries may be copied by deltas of values that cannot grow in place. */
enum { MOST_JOINS = 4 };

static enum colshuf_status check_joined(const struct csf_batch_read_options *options, uint64_t size, struct colshuf_error *err) {
  uint64_t most;
  if (csf_multiply_overflow(csf_limit_dictionary_size(options->limits), (uint64_t)MOST_JOINS, &most) || size <= most) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_LIMIT,
                  "its values hold dictionaries of their own, and its deltas have made colshuf join %" PRIu64 " bytes, the limit is %" PRIu64
                  " (%d times max_dictionary_size)", size, most, (int)MOST_JOINS);
}

/* Old values and new ones in an array of their own, for values that hold dictionaries: those are joined too. */
static enum colshuf_status join(const struct csf_field *field, const struct csf_batch_read_options *options, struct csf_dictionary *dictionary,
                                const struct ArrowArray *delta, uint64_t size, struct colshuf_error *err) {
  struct ArrowArray whole;
  struct csf_dictionary_values *values;
  const struct ArrowArray *arrays[2] = {&dictionary->values->array, delta};
  int64_t starts[2] = {0, 0}, lengths[2] = {arrays[0]->length, delta->length};
  if (csf_add_overflow(dictionary->joined_size, dictionary->size + size, &dictionary->joined_size)) dictionary->joined_size = UINT64_MAX;
  CSF_TRY(check_joined(options, dictionary->joined_size, err));
  CSF_TRY(csf_array_concat(field, arrays, starts, lengths, 2, &options->allocator, &whole, err));
  CSF_TRY(wrap_values(&options->allocator, &whole, &values, err));
  csf_dictionary_values_release(dictionary->values);
  dictionary->values = values;
  return COLSHUF_OK;
}

/* *delta is released in any case. After a failure the dictionary is unknown. */
static enum colshuf_status add_delta(const struct csf_field *field, const struct csf_batch_read_options *options,
                                     struct csf_dictionaries *dictionaries, size_t place, struct ArrowArray *delta, uint64_t size,
                                     struct colshuf_error *err) {
  struct csf_dictionary *dictionary = &dictionaries->items[place];
  enum colshuf_status status = csf_growth_suits(field) ? grow(field, options, dictionary, delta, err)
                                                       : join(field, options, dictionary, delta, size, err);
  delta->release(delta);
  if (status == COLSHUF_OK) {
    dictionary->size += size;
    dictionaries->size += size;
  } else {
    dictionaries->size -= dictionary->size;
    csf_dictionary_clear(dictionary);
  }
  return status;
}

/* Values that stood there before are let go. *values is moved in, or released on failure. */
static enum colshuf_status replace(const struct csf_batch_read_options *options, struct csf_dictionaries *dictionaries, size_t place,
                                   struct ArrowArray *values, uint64_t size, struct colshuf_error *err) {
  struct csf_dictionary *dictionary = &dictionaries->items[place];
  struct csf_dictionary_values *kept;
  CSF_TRY(wrap_values(&options->allocator, values, &kept, err));
  dictionaries->size += size - dictionary->size;
  csf_dictionary_clear(dictionary);
  dictionary->values = kept;
  dictionary->size = size;
  return COLSHUF_OK;
}

/* The one column of *batch, moved out of it. */
static struct ArrowArray only_column(struct ArrowArray *batch) {
  struct ArrowArray column = *batch->children[0];
  batch->children[0]->release = NULL;
  batch->release(batch);
  return column;
}

/* Bytes that the values take: those of the body, and what came out of compressed buffers. */
static uint64_t values_size(const struct csf_batch_reader *r, uint64_t body_size) {
  return body_size + (csf_limit_decompressed_size(r->options->limits) - r->body.max_size);
}

static enum colshuf_status read_dictionary(struct csf_batch_reader *r, struct csf_fb_table data, const struct csf_message *message,
                                           size_t place, bool is_delta, struct csf_dictionaries *dictionaries) {
  const struct csf_dictionary_plan *plan = &r->plan->dictionaries[place];
  uint64_t others = dictionaries->size - (is_delta ? 0 : dictionaries->items[place].size);
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
  struct ArrowArray values = only_column(&batch);
  return is_delta ? add_delta(plan->root.children, r->options, dictionaries, place, &values, size, r->err)
                  : replace(r->options, dictionaries, place, &values, size, r->err);
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
  if (is_delta && !csf_dictionary_is_known(&dictionaries->items[place])) {
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
