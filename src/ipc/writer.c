/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and files written: schema, dictionaries where they changed, batches, end marker, footer. */
#include <inttypes.h>

#include "colshuf/ipc.h"
#include "ipc/batch_write.h"
#include "ipc/format_tables.h"
#include "ipc/message.h"
#include "ipc/message_write.h"
#include "ipc/schema_message.h"

static const uint8_t file_magic[8] = "ARROW1\0"; /* and its padding; six bytes at the end of the file */

enum { ALIGNMENT = 64 };

/* What readers hold for one dictionary at this point of the output. */
struct dictionary {
  struct csf_buffer message; /* all its values as one message: equal values give equal bytes */
  struct csf_buffer next;    /* the same for the batch being written */
  int64_t length, next_length;
  bool known, changed;
};

struct colshuf_ipc_writer {
  struct colshuf_allocator allocator;
  struct colshuf_output output;
  struct csf_schema *schema;
  struct csf_codec *codec; /* with body compression */
  struct csf_batch_writer batches;
  int compress;
  bool file_format, finished;
  enum colshuf_status dead; /* not OK once the output has failed: what it took is not known */
  uint64_t position;        /* bytes that went out */
  struct csf_buffer out;    /* messages on their way */
  struct csf_buffer dictionary_blocks, batch_blocks; /* Block structs of the footer */
  struct dictionary *dictionaries; /* by id */
  int32_t n_dictionaries;
};

static enum colshuf_status flush(struct colshuf_ipc_writer *writer, struct colshuf_error *err) {
  int problem = writer->output.write(writer->output.ctx, writer->out.data, writer->out.size);
  if (problem != 0) {
    writer->dead = COLSHUF_IO;
    return csf_fail_errno(err, problem, "IPC output at byte %" PRIu64, writer->position);
  }
  writer->position += writer->out.size;
  writer->out.size = 0;
  return COLSHUF_OK;
}

static int32_t count_dictionaries(const struct csf_field *field) {
  const struct csf_field *values = field->dictionary != NULL ? field->dictionary : field;
  int32_t n = field->dictionary != NULL;
  for (int32_t i = 0; i < values->n_children; i++) n += count_dictionaries(&values->children[i]);
  return n;
}

static enum colshuf_status open_dictionaries(struct colshuf_ipc_writer *writer, struct colshuf_error *err) {
  int32_t n = count_dictionaries(&writer->schema->root);
  if (n == 0) return COLSHUF_OK;
  csf_schema_number_dictionaries(writer->schema);
  writer->dictionaries = csf_alloc_zero(&writer->allocator, (size_t)n * sizeof *writer->dictionaries);
  if (writer->dictionaries == NULL) return csf_fail_memory(err, (size_t)n * sizeof *writer->dictionaries);
  writer->n_dictionaries = n;
  for (int32_t i = 0; i < n; i++) {
    csf_buffer_init(&writer->dictionaries[i].message, &writer->allocator);
    csf_buffer_init(&writer->dictionaries[i].next, &writer->allocator);
  }
  return COLSHUF_OK;
}

/* The schema message, long enough that what follows is aligned in the output. */
static enum colshuf_status append_schema(struct colshuf_ipc_writer *writer, struct colshuf_error *err) {
  size_t start = writer->out.size;
  CSF_TRY(csf_schema_message_write(writer->schema, 8, &writer->out, err));
  size_t padding = (size_t)csf_round_up(writer->out.size, ALIGNMENT) - writer->out.size;
  CSF_TRY(csf_buffer_append_zero(&writer->out, padding, err));
  uint8_t *metadata_size = writer->out.data + start + 4;
  csf_store_u32(metadata_size, csf_load_u32(metadata_size) + (uint32_t)padding);
  return COLSHUF_OK;
}

static enum colshuf_status open_writer(struct colshuf_ipc_writer *writer, const struct ArrowSchema *schema,
                                       struct colshuf_error *err) {
  CSF_TRY(csf_schema_import(schema, &writer->allocator, NULL, &writer->schema, err));
  CSF_TRY(open_dictionaries(writer, err));
  if (writer->compress != 0) CSF_TRY(csf_codec_new(&writer->allocator, &writer->codec, err));
  writer->batches.codec = writer->codec;
  if (writer->file_format) CSF_TRY(csf_buffer_append(&writer->out, file_magic, sizeof file_magic, err));
  CSF_TRY(append_schema(writer, err));
  return flush(writer, err);
}

enum colshuf_status colshuf_ipc_writer_new(const struct ArrowSchema *schema, const struct colshuf_output *output,
                                           const struct colshuf_ipc_writer_options *options, struct colshuf_ipc_writer **out,
                                           struct colshuf_error *err) {
  static const struct colshuf_ipc_writer_options defaults;
  if (options == NULL) options = &defaults;
  if (schema == NULL || output == NULL || output->write == NULL || out == NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "an IPC writer needs a schema and an output");
  }
  if (options->compress < 0 || options->compress > 2) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "body compression %d: 0 is none, 1 LZ4, 2 zstd", options->compress);
  }
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_ipc_writer *writer = csf_alloc_zero(&allocator, sizeof *writer);
  if (writer == NULL) return csf_fail_memory(err, sizeof *writer);
  writer->allocator = allocator;
  writer->output = *output;
  writer->file_format = options->file_format != 0;
  writer->compress = options->compress;
  csf_batch_writer_init(&writer->batches, &allocator);
  writer->batches.alignment = ALIGNMENT;
  writer->batches.always_validity = options->layout == COLSHUF_LAYOUT_ARROW_RS;
  csf_buffer_init(&writer->out, &allocator);
  csf_buffer_init(&writer->dictionary_blocks, &allocator);
  csf_buffer_init(&writer->batch_blocks, &allocator);
  enum colshuf_status status = open_writer(writer, schema, err);
  if (status != COLSHUF_OK) {
    colshuf_ipc_writer_free(writer);
    return status;
  }
  *out = writer;
  return COLSHUF_OK;
}

/* Notes the message at `start` of writer->out for the footer. */
static enum colshuf_status add_block(struct colshuf_ipc_writer *writer, struct csf_buffer *blocks, size_t start,
                                     struct colshuf_error *err) {
  if (!writer->file_format) return COLSHUF_OK;
  uint8_t block[CSF_BLOCK_SIZE] = {0};
  uint32_t metadata_size = 8 + csf_load_u32(writer->out.data + start + 4);
  csf_store_u64(block, writer->position + start);
  csf_store_u32(block + 8, metadata_size);
  csf_store_u64(block + 16, writer->out.size - start - metadata_size);
  return csf_buffer_append(blocks, block, sizeof block, err);
}

/* Writes a dictionary as it goes to the readers: all of it, or what has come behind what they hold. */
static enum colshuf_status emit_dictionary(struct colshuf_ipc_writer *writer, const struct csf_field *field,
                                           const struct ArrowArray *values, bool delta, struct colshuf_error *err) {
  size_t before = writer->out.size;
  int64_t start = delta ? writer->dictionaries[field->dictionary_id].length : 0;
  writer->batches.compress = writer->compress;
  enum colshuf_status status = csf_dictionary_write(&writer->batches, field->dictionary, values, start, values->length - start,
                                                    field->dictionary_id, delta, &writer->out, err);
  writer->batches.compress = 0;
  CSF_TRY(status);
  return add_block(writer, &writer->dictionary_blocks, before, err);
}

static bool equal_bytes(const struct csf_buffer *a, const struct csf_buffer *b) {
  return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Puts the message of the first n values into *next. */
static enum colshuf_status image(struct colshuf_ipc_writer *writer, const struct csf_field *field, const struct ArrowArray *values,
                                 int64_t n, struct csf_buffer *next, struct colshuf_error *err) {
  next->size = 0;
  return csf_dictionary_write(&writer->batches, field->dictionary, values, 0, n, field->dictionary_id, false, next, err);
}

/* Whether values begin with what the readers hold. */
static enum colshuf_status extends(struct colshuf_ipc_writer *writer, const struct csf_field *field,
                                   const struct ArrowArray *values, bool *result, struct colshuf_error *err) {
  struct dictionary *dictionary = &writer->dictionaries[field->dictionary_id];
  *result = false;
  if (values->length < dictionary->length) return COLSHUF_OK;
  CSF_TRY(image(writer, field, values, dictionary->length, &dictionary->next, err));
  *result = equal_bytes(&dictionary->next, &dictionary->message);
  return COLSHUF_OK;
}

/* Decides whether readers need to hear of a dictionary, and tells them. inner = a dictionary inside its values changed. */
static enum colshuf_status update_dictionary(struct colshuf_ipc_writer *writer, const struct csf_field *field,
                                             const struct ArrowArray *values, bool inner, struct colshuf_error *err) {
  struct dictionary *dictionary = &writer->dictionaries[field->dictionary_id];
  bool extended = false;
  if (dictionary->known && writer->file_format) CSF_TRY(extends(writer, field, values, &extended, err));
  if (extended && inner) extended = false;
  CSF_TRY(image(writer, field, values, values->length, &dictionary->next, err));
  if (dictionary->known && !inner && equal_bytes(&dictionary->next, &dictionary->message)) return COLSHUF_OK;
  if (dictionary->known && writer->file_format && !extended) {
    return csf_fail(err, COLSHUF_UNSUPPORTED,
                    "dictionary of \"%s\": its %" PRId64 " values do not begin with the %" PRId64
                    " of the batch before; a file cannot hold that, a stream can",
                    field->name, values->length, dictionary->length);
  }
  dictionary->changed = true;
  dictionary->next_length = values->length;
  return emit_dictionary(writer, field, values, extended, err);
}

static enum colshuf_status update_dictionaries(struct colshuf_ipc_writer *writer, const struct csf_field *field,
                                               const struct ArrowArray *array, bool *changed, struct colshuf_error *err) {
  const struct csf_field *values_field = field->dictionary != NULL ? field->dictionary : field;
  const struct ArrowArray *values = field->dictionary != NULL ? array->dictionary : array;
  bool inner = false;
  for (int32_t i = 0; i < values_field->n_children; i++) {
    CSF_TRY(update_dictionaries(writer, &values_field->children[i], values->children[i], &inner, err));
  }
  if (field->dictionary != NULL) {
    CSF_TRY(update_dictionary(writer, field, values, inner, err));
    inner |= writer->dictionaries[field->dictionary_id].changed;
  }
  *changed |= inner;
  return COLSHUF_OK;
}

/* What was written has gone out: the readers now hold the new dictionaries. */
static void commit_dictionaries(struct colshuf_ipc_writer *writer) {
  for (int32_t i = 0; i < writer->n_dictionaries; i++) {
    struct dictionary *dictionary = &writer->dictionaries[i];
    if (!dictionary->changed) continue;
    struct csf_buffer old = dictionary->message;
    dictionary->message = dictionary->next;
    dictionary->next = old;
    dictionary->length = dictionary->next_length;
    dictionary->known = true;
  }
}

static enum colshuf_status write_batch(struct colshuf_ipc_writer *writer, const struct ArrowArray *batch, int64_t offset,
                                       int64_t length, struct colshuf_error *err) {
  bool changed = false;
  for (int32_t i = 0; i < writer->n_dictionaries; i++) writer->dictionaries[i].changed = false;
  if (writer->n_dictionaries > 0) CSF_TRY(update_dictionaries(writer, &writer->schema->root, batch, &changed, err));
  size_t start = writer->out.size;
  writer->batches.compress = writer->compress;
  enum colshuf_status status = csf_batch_write(&writer->batches, &writer->schema->root, batch, offset, length, &writer->out, err);
  writer->batches.compress = 0;
  CSF_TRY(status);
  return add_block(writer, &writer->batch_blocks, start, err);
}

static enum colshuf_status check_alive(const struct colshuf_ipc_writer *writer, struct colshuf_error *err) {
  if (writer->finished) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "the IPC writer has been finished");
  if (writer->dead != COLSHUF_OK) {
    return csf_fail(err, writer->dead, "the IPC output failed before, at byte %" PRIu64, writer->position);
  }
  return COLSHUF_OK;
}

enum colshuf_status colshuf_ipc_writer_write(struct colshuf_ipc_writer *writer, const struct ArrowArray *batch, int64_t offset,
                                             int64_t length, struct colshuf_error *err) {
  if (writer == NULL || batch == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "no writer or no batch");
  CSF_TRY(check_alive(writer, err));
  CSF_TRY(csf_array_import_check(&writer->schema->root, batch, err));
  if (offset < 0 || length < 0 || offset > batch->length || length > batch->length - offset) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "rows %" PRId64 " + %" PRId64 " of a batch of %" PRId64, offset, length,
                    batch->length);
  }
  size_t n_dictionary_blocks = writer->dictionary_blocks.size, n_batch_blocks = writer->batch_blocks.size;
  enum colshuf_status status = write_batch(writer, batch, offset, length, err);
  if (status == COLSHUF_OK) status = flush(writer, err);
  if (status == COLSHUF_OK) {
    commit_dictionaries(writer);
    return COLSHUF_OK;
  }
  writer->out.size = 0;
  writer->dictionary_blocks.size = n_dictionary_blocks;
  writer->batch_blocks.size = n_batch_blocks;
  return status;
}

static csf_flatbuf_ref blocks_vector(struct csf_flatbuf *b, const struct csf_buffer *blocks) {
  return csf_flatbuf_vector(b, blocks->data, blocks->size / CSF_BLOCK_SIZE, CSF_BLOCK_SIZE, 8);
}

static enum colshuf_status append_footer(struct colshuf_ipc_writer *writer, struct csf_flatbuf *b, struct colshuf_error *err) {
  csf_flatbuf_ref batch_blocks = blocks_vector(b, &writer->batch_blocks);
  csf_flatbuf_ref dictionary_blocks = blocks_vector(b, &writer->dictionary_blocks);
  csf_flatbuf_ref schema = csf_schema_table(b, writer->schema);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_i16(b, CSF_FOOTER_VERSION, CSF_VERSION_V5, 0);
  csf_flatbuf_field_ref(b, CSF_FOOTER_SCHEMA, schema);
  csf_flatbuf_field_ref(b, CSF_FOOTER_DICTIONARIES, dictionary_blocks);
  csf_flatbuf_field_ref(b, CSF_FOOTER_BATCHES, batch_blocks);
  struct csf_span footer;
  CSF_TRY(csf_flatbuf_finish(b, csf_flatbuf_table_end(b), &footer, err));
  uint32_t size = (uint32_t)footer.size;
  CSF_TRY(csf_buffer_append(&writer->out, footer.data, footer.size, err));
  CSF_TRY(csf_buffer_append(&writer->out, &size, sizeof size, err));
  return csf_buffer_append(&writer->out, file_magic, 6, err);
}

enum colshuf_status colshuf_ipc_writer_finish(struct colshuf_ipc_writer *writer, struct colshuf_error *err) {
  if (writer == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "no writer");
  CSF_TRY(check_alive(writer, err));
  enum colshuf_status status = csf_buffer_append(&writer->out, csf_end_marker, sizeof csf_end_marker, err);
  if (status == COLSHUF_OK && writer->file_format) {
    struct csf_flatbuf b;
    csf_flatbuf_init(&b, &writer->allocator);
    status = append_footer(writer, &b, err);
    csf_flatbuf_clear(&b);
  }
  if (status == COLSHUF_OK) status = flush(writer, err);
  writer->out.size = 0;
  writer->finished = status == COLSHUF_OK;
  return status;
}

void colshuf_ipc_writer_free(struct colshuf_ipc_writer *writer) {
  if (writer == NULL) return;
  for (int32_t i = 0; i < writer->n_dictionaries; i++) {
    csf_buffer_clear(&writer->dictionaries[i].message);
    csf_buffer_clear(&writer->dictionaries[i].next);
  }
  struct colshuf_allocator allocator = writer->allocator;
  csf_free(&allocator, writer->dictionaries, (size_t)writer->n_dictionaries * sizeof *writer->dictionaries);
  csf_buffer_clear(&writer->dictionary_blocks);
  csf_buffer_clear(&writer->batch_blocks);
  csf_buffer_clear(&writer->out);
  csf_batch_writer_clear(&writer->batches);
  csf_codec_free(writer->codec);
  csf_schema_release(writer->schema);
  csf_free(&allocator, writer, sizeof *writer);
}
