/* SPDX-License-Identifier: Apache-2.0 */
#include "block/encoder.h"

#include <inttypes.h>

#include "arrow/gather.h"
#include "block/block_format.h"
#include "block/choice.h"
#include "block/compat.h"
#include "block/reindex.h"
#include "ipc/batch_write.h"
#include "ipc/message.h"
#include "ipc/schema_message.h"

/* A column on its way from the caller's batch into the block. */
struct column {
  enum csf_column_change change;
  struct csf_reindex reindex;
  struct ArrowArray unpacked; /* owned */
};

/* One way in which blocks are written. */
struct form {
  const struct csf_schema *schema;
  struct csf_buffer schema_message; /* written once, replayed in every block */
  bool lengths;                     /* offsets as lengths */
};

struct colshuf_block_encoder {
  struct colshuf_allocator allocator;
  struct colshuf_block_encoder_options options;
  struct csf_schema *schema; /* the caller's */
  struct csf_schema *wire;   /* as it stands in blocks */
  struct column *columns;
  struct ArrowArray *arrays;    /* by column: what is written, where that is not the caller's batch as it is; not owned */
  struct ArrowArray **children; /* &arrays[i] */
  bool changes;                 /* some column is not written as it comes */
  struct csf_codec *codec;
  struct csf_batch_writer writer;
  struct form plain;        /* schema = wire */
  struct form dictionaries; /* schema = choice.variant */
  struct csf_choice choice;
  struct csf_buffer stream; /* the IPC stream to be compressed */
  struct csf_buffer parts;  /* size_t: where in it the large buffers start */
  struct csf_buffer block, other_block;
};

enum { BLOCKS_BETWEEN_TRIALS = 64 };

/* A buffer of so many bytes is worth tables of its own in a codec that makes tables; what lies between two such, a quarter of it. */
enum { LARGE_BUFFER = 12288, LARGE_REST = LARGE_BUFFER / 4 };

/* --- opening --- */

static enum colshuf_status plan_columns(struct colshuf_block_encoder *e, struct colshuf_error *err) {
  int32_t n = e->schema->root.n_children;
  if (n == 0) return COLSHUF_OK;
  e->columns = csf_alloc_zero(&e->allocator, (size_t)n * sizeof *e->columns);
  e->arrays = csf_alloc_zero(&e->allocator, (size_t)n * sizeof *e->arrays);
  e->children = csf_alloc(&e->allocator, (size_t)n * sizeof *e->children);
  if (e->columns == NULL || e->arrays == NULL || e->children == NULL) {
    return csf_fail_memory(err, (size_t)n * sizeof *e->columns);
  }
  for (int32_t i = 0; i < n; i++) {
    csf_reindex_init(&e->columns[i].reindex, &e->allocator);
    e->children[i] = &e->arrays[i];
  }
  for (int32_t i = 0; i < n; i++) {
    const struct csf_field *field = &e->schema->root.children[i];
    struct column *column = &e->columns[i];
    CSF_TRY(csf_compat_column(e->options.compat, field, i, &column->change, err));
    /* Also where nothing must change, a dictionary may hold more than a block needs. */
    if (column->change == CSF_COLUMN_KEEP && field->dictionary != NULL) column->change = CSF_COLUMN_REINDEX;
    e->changes |= column->change != CSF_COLUMN_KEEP;
  }
  return COLSHUF_OK;
}

static bool comet(const struct colshuf_block_encoder *e) {
  return e->options.compat != COLSHUF_COMPAT_ARROW;
}

static enum colshuf_status make_wire_schema(struct colshuf_block_encoder *e, struct colshuf_error *err) {
  e->wire = csf_schema_new(&e->allocator);
  if (e->wire == NULL || !csf_field_copy(&e->wire->arena, &e->schema->root, &e->wire->root)) {
    return csf_fail_memory(err, sizeof *e->wire);
  }
  for (int32_t i = 0; comet(e) && i < e->wire->root.n_children; i++) {
    csf_column_change_field(&e->wire->root.children[i], e->columns[i].change);
  }
  CSF_TRY(csf_schema_finish(e->wire, NULL, err));
  csf_schema_number_dictionaries(e->wire);
  e->plain.schema = e->wire;
  return csf_schema_message_write(e->wire, e->writer.alignment, &e->plain.schema_message, err);
}

/*
 * Whether offsets go out as lengths: formats.md A.11. Without a codec nothing would shrink; the layout of arrow-rs goes with what
 * Comet 1.2.0 does, which is lengths under zstd alone.
 */
static bool lengths_wanted(const struct colshuf_block_encoder_options *options) {
  if (options->layout == COLSHUF_LAYOUT_ARROW_RS && options->codec != COLSHUF_ZSTD) return false;
  return options->compat != COLSHUF_COMPAT_COMET_1_1 && options->codec != COLSHUF_NONE;
}

static enum colshuf_status choose_lengths(struct colshuf_block_encoder *e, struct colshuf_error *err) {
  bool has_offsets, possible = csf_schema_takes_lengths(e->wire, &has_offsets);
  if (e->options.offsets == COLSHUF_OFFSETS_AUTO) e->plain.lengths = possible && has_offsets && lengths_wanted(&e->options);
  if (e->options.offsets != COLSHUF_OFFSETS_LENGTHS) return COLSHUF_OK;
  if (e->options.compat == COLSHUF_COMPAT_COMET_1_1) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "offsets as lengths: Comet before 1.2.0 does not read them");
  }
  if (!possible) return csf_fail(err, COLSHUF_UNSUPPORTED, "offsets as lengths: not with a dictionary or a view in the schema");
  e->plain.lengths = true;
  return COLSHUF_OK;
}

/* Whether plain columns may become dictionaries: for Comet's readers, where a codec is to be fed less, and no form is prescribed. */
static enum colshuf_status open_choice(struct colshuf_block_encoder *e, struct colshuf_error *err) {
  const struct colshuf_block_encoder_options *options = &e->options;
  if (options->dictionary == COLSHUF_DICTIONARY_OFF || options->offsets == COLSHUF_OFFSETS_LENGTHS || !comet(e) ||
      options->layout == COLSHUF_LAYOUT_ARROW_RS || options->codec == COLSHUF_NONE) {
    return COLSHUF_OK;
  }
  CSF_TRY(csf_choice_init(&e->choice, e->wire, options->compat, &e->allocator, err));
  /* The choice looks at the caller's columns: only those that go out as they come are what the wire's schema says. */
  for (int32_t i = 0; i < e->schema->root.n_children; i++) {
    if (e->columns[i].change != CSF_COLUMN_KEEP) e->choice.eligible[i] = 0;
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_options(const struct colshuf_block_encoder_options *options, struct colshuf_error *err) {
  CSF_TRY(csf_codec_check(options->codec, options->level, err));
  if ((unsigned)options->compat > COLSHUF_COMPAT_ARROW || (unsigned)options->offsets > COLSHUF_OFFSETS_LENGTHS ||
      (unsigned)options->layout > COLSHUF_LAYOUT_ARROW_RS || (unsigned)options->dictionary > COLSHUF_DICTIONARY_OFF) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "block encoder options: compat %d, offsets %d, layout %d, dictionary %d",
                    options->compat, options->offsets, options->layout, options->dictionary);
  }
  return COLSHUF_OK;
}

static enum colshuf_status open_encoder(struct colshuf_block_encoder *e, const struct ArrowSchema *schema, struct colshuf_error *err) {
  CSF_TRY(check_options(&e->options, err));
  CSF_TRY(csf_schema_import(schema, &e->allocator, NULL, &e->schema, err));
  bool arrow_rs = e->options.layout == COLSHUF_LAYOUT_ARROW_RS;
  e->writer.always_validity = arrow_rs;
  e->writer.alignment = arrow_rs || e->options.codec == COLSHUF_NONE ? 64 : 8;
  e->writer.lead = e->options.codec == COLSHUF_ZSTD && !arrow_rs;
  e->writer.max_body_size = CSF_BLOCK_MAX_LENGTH;
  CSF_TRY(plan_columns(e, err));
  CSF_TRY(make_wire_schema(e, err));
  CSF_TRY(choose_lengths(e, err));
  CSF_TRY(open_choice(e, err));
  return csf_codec_new(&e->allocator, &e->codec, err);
}

enum colshuf_status colshuf_block_encoder_new(const struct ArrowSchema *schema, const struct colshuf_block_encoder_options *options,
                                              struct colshuf_block_encoder **out, struct colshuf_error *err) {
  static const struct colshuf_block_encoder_options defaults;
  if (options == NULL) options = &defaults;
  if (schema == NULL || out == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "a block encoder needs a schema");
  struct colshuf_allocator allocator = csf_allocator(&options->allocator);
  struct colshuf_block_encoder *e = csf_alloc_zero(&allocator, sizeof *e);
  if (e == NULL) return csf_fail_memory(err, sizeof *e);
  e->allocator = allocator;
  e->options = *options;
  csf_batch_writer_init(&e->writer, &allocator);
  csf_buffer_init(&e->plain.schema_message, &allocator);
  csf_buffer_init(&e->dictionaries.schema_message, &allocator);
  csf_buffer_init(&e->stream, &allocator);
  csf_buffer_init(&e->parts, &allocator);
  csf_buffer_init(&e->block, &allocator);
  csf_buffer_init(&e->other_block, &allocator);
  enum colshuf_status status = open_encoder(e, schema, err);
  if (status != COLSHUF_OK) {
    colshuf_block_encoder_free(e);
    return status;
  }
  *out = e;
  return COLSHUF_OK;
}

static void release_unpacked(struct column *column) {
  if (column->unpacked.release != NULL) column->unpacked.release(&column->unpacked);
}

void colshuf_block_encoder_free(struct colshuf_block_encoder *e) {
  if (e == NULL) return;
  struct colshuf_allocator allocator = e->allocator;
  size_t n = e->schema == NULL ? 0 : (size_t)e->schema->root.n_children;
  for (size_t i = 0; e->columns != NULL && i < n; i++) {
    csf_reindex_clear(&e->columns[i].reindex);
    release_unpacked(&e->columns[i]);
  }
  csf_choice_clear(&e->choice);
  csf_free(&allocator, e->columns, n * sizeof *e->columns);
  csf_free(&allocator, e->arrays, n * sizeof *e->arrays);
  csf_free(&allocator, e->children, n * sizeof *e->children);
  csf_schema_release(e->schema);
  csf_schema_release(e->wire);
  csf_codec_free(e->codec);
  csf_batch_writer_clear(&e->writer);
  csf_buffer_clear(&e->plain.schema_message);
  csf_buffer_clear(&e->dictionaries.schema_message);
  csf_buffer_clear(&e->stream);
  csf_buffer_clear(&e->parts);
  csf_buffer_clear(&e->block);
  csf_buffer_clear(&e->other_block);
  csf_free(&allocator, e, sizeof *e);
}

/* --- encoding --- */

static enum colshuf_status change_column(struct colshuf_block_encoder *e, int32_t i, const struct ArrowArray *array, int64_t start,
                                         int64_t length, struct colshuf_error *err) {
  struct column *column = &e->columns[i];
  const struct csf_field *field = &e->schema->root.children[i];
  if (column->change == CSF_COLUMN_REINDEX) {
    int32_t width = comet(e) ? 4 : field->width;
    return csf_reindex_column(&column->reindex, field, array, start, length, width, comet(e), &e->arrays[i], err);
  }
  if (column->change == CSF_COLUMN_UNPACK) {
    struct csf_piece piece = {.field = field, .array = array, .start = start, .length = length};
    release_unpacked(column);
    CSF_TRY(csf_array_gather(&e->wire->root.children[i], &piece, 1, &e->allocator, &column->unpacked, err));
    e->arrays[i] = column->unpacked;
    return COLSHUF_OK;
  }
  e->arrays[i] = *array;
  e->arrays[i].offset += start;
  e->arrays[i].length = length;
  if (array->null_count > 0) e->arrays[i].null_count = -1;
  return COLSHUF_OK;
}

/* The rows as they are to be written: *changed refers to the columns' own arrays. */
static enum colshuf_status change_columns(struct colshuf_block_encoder *e, const struct ArrowArray *batch, int64_t start,
                                          int64_t length, struct ArrowArray *changed, struct colshuf_error *err) {
  int32_t n = e->schema->root.n_children;
  for (int32_t i = 0; i < n; i++) {
    enum colshuf_status status = change_column(e, i, batch->children[i], batch->offset + start, length, err);
    if (status != COLSHUF_OK) {
      return csf_fail_context(err, status, "column %" PRId32 " \"%s\"", i, e->schema->root.children[i].name);
    }
  }
  *changed = (struct ArrowArray){.length = length, .n_children = n, .children = e->children};
  return COLSHUF_OK;
}

/* Rows on their way into a block. */
struct rows {
  const struct ArrowArray *batch;
  int64_t start, length;
};

/* Appends the IPC stream of one record batch to *out. */
static enum colshuf_status append_stream(struct colshuf_block_encoder *e, const struct form *form, const struct rows *rows,
                                         struct csf_buffer *out, struct colshuf_error *err) {
  const struct csf_field *root = &form->schema->root;
  e->writer.offsets_as_lengths = form->lengths;
  CSF_TRY(csf_buffer_append(out, form->schema_message.data, form->schema_message.size, err));
  if (form->schema->has_dictionary) CSF_TRY(csf_dictionaries_write(&e->writer, root, rows->batch, out, err));
  CSF_TRY(csf_batch_write(&e->writer, root, rows->batch, rows->start, rows->length, out, err));
  return csf_buffer_append(out, csf_end_marker, sizeof csf_end_marker, err);
}

/* Finds where the codec's parts start: before and behind each large buffer of the batch; small ones go with their neighbours. */
static enum colshuf_status find_parts(struct colshuf_block_encoder *e, struct colshuf_error *err) {
  const struct csf_buffer *buffers = &e->writer.buffers;
  size_t body = e->stream.size - sizeof csf_end_marker - (size_t)e->writer.body_size, last = 0;
  e->parts.size = 0;
  for (size_t i = 0; i < buffers->size; i += 16) {
    size_t start = body + (size_t)csf_load_u64(buffers->data + i), size = (size_t)csf_load_u64(buffers->data + i + 8);
    size_t end = start + (size_t)csf_round_up(size, e->writer.alignment);
    if (size < LARGE_BUFFER) continue;
    if (start - last >= LARGE_REST) CSF_TRY(csf_buffer_append(&e->parts, &start, sizeof start, err));
    if (e->stream.size - end >= LARGE_REST) CSF_TRY(csf_buffer_append(&e->parts, &end, sizeof end, err));
    last = end;
  }
  return COLSHUF_OK;
}

static enum colshuf_status fill_block(struct colshuf_block_encoder *e, const struct form *form, const struct rows *rows,
                                      struct csf_buffer *block, struct colshuf_error *err) {
  block->size = 0;
  CSF_TRY(csf_buffer_append_zero(block, COLSHUF_BLOCK_HEADER_SIZE, err));
  if (e->options.codec == COLSHUF_NONE) return append_stream(e, form, rows, block, err);
  e->stream.size = 0;
  CSF_TRY(append_stream(e, form, rows, &e->stream, err));
  struct csf_span stream = {e->stream.data, e->stream.size};
  if (e->options.codec == COLSHUF_ZSTD) CSF_TRY(find_parts(e, err));
  return csf_codec_compress_parts(e->codec, e->options.codec, e->options.level, stream, (const size_t *)(const void *)e->parts.data,
                                  e->parts.size / sizeof(size_t), block, err);
}

static enum colshuf_status make_block(struct colshuf_block_encoder *e, const struct form *form, const struct rows *rows,
                                      struct csf_buffer *block, struct colshuf_error *err) {
  CSF_TRY(fill_block(e, form, rows, block, err));
  if (block->size - 8 > CSF_BLOCK_MAX_LENGTH) {
    return csf_fail(err, COLSHUF_LIMIT, "a block of %zu bytes, more than %" PRIu64, block->size, CSF_BLOCK_MAX_LENGTH + 8);
  }
  csf_block_header_write(block->data, block->size, (uint64_t)form->schema->root.n_children, e->options.codec, form->lengths);
  return COLSHUF_OK;
}

/* Makes the block with dictionaries; *made is false when no column was left for one. */
static enum colshuf_status make_dictionary_block(struct colshuf_block_encoder *e, const struct rows *rows, struct csf_buffer *block,
                                                 bool *made, struct colshuf_error *err) {
  struct ArrowArray changed;
  bool schema_changed;
  CSF_TRY(change_columns(e, rows->batch, rows->start, rows->length, &changed, err));
  CSF_TRY(csf_choice_apply(&e->choice, rows->batch, rows->start, rows->length, e->arrays, made, &schema_changed, err));
  if (!*made) return COLSHUF_OK;
  if (schema_changed) {
    e->dictionaries.schema = e->choice.variant;
    e->dictionaries.schema_message.size = 0;
    enum colshuf_status status =
        csf_schema_message_write(e->choice.variant, e->writer.alignment, &e->dictionaries.schema_message, err);
    if (status != COLSHUF_OK) {
      csf_choice_forget(&e->choice);
      return status;
    }
  }
  struct rows turned = {&changed, 0, rows->length};
  return make_block(e, &e->dictionaries, &turned, block, err);
}

static enum colshuf_status make_plain_block(struct colshuf_block_encoder *e, const struct rows *rows, struct csf_buffer *block,
                                            struct colshuf_error *err) {
  if (!e->changes) return make_block(e, &e->plain, rows, block, err);
  struct ArrowArray changed;
  CSF_TRY(change_columns(e, rows->batch, rows->start, rows->length, &changed, err));
  struct rows turned = {&changed, 0, rows->length};
  return make_block(e, &e->plain, &turned, block, err);
}

/* Makes the block both ways and keeps the smaller one, and its way for the blocks that follow. */
static enum colshuf_status try_both(struct colshuf_block_encoder *e, const struct rows *rows, struct colshuf_error *err) {
  bool any, made = false;
  e->choice.blocks_left = BLOCKS_BETWEEN_TRIALS;
  e->choice.dictionaries = false;
  CSF_TRY(csf_choice_sample(&e->choice, rows->batch, rows->start, rows->length, &any, err));
  if (any) CSF_TRY(make_dictionary_block(e, rows, &e->other_block, &made, err));
  CSF_TRY(make_plain_block(e, rows, &e->block, err));
  e->choice.dictionaries = made && e->other_block.size < e->block.size;
  if (!e->choice.dictionaries) return COLSHUF_OK;
  struct csf_buffer larger = e->block;
  e->block = e->other_block;
  e->other_block = larger;
  return COLSHUF_OK;
}

static enum colshuf_status encode(struct colshuf_block_encoder *e, const struct rows *rows, struct colshuf_error *err) {
  if (!e->choice.enabled || rows->length < CSF_CHOICE_MIN_ROWS) return make_plain_block(e, rows, &e->block, err);
  if (e->choice.blocks_left == 0) return try_both(e, rows, err);
  e->choice.blocks_left--;
  if (e->choice.dictionaries) {
    bool made;
    CSF_TRY(make_dictionary_block(e, rows, &e->block, &made, err));
    if (made) return COLSHUF_OK;
  }
  return make_plain_block(e, rows, &e->block, err);
}

/* --- several encoders --- */

static bool chooses(const struct colshuf_block_encoder *e, int64_t n_rows) {
  return e->choice.enabled && n_rows >= CSF_CHOICE_MIN_ROWS;
}

bool csf_block_encoder_is_due(const struct colshuf_block_encoder *leader, int64_t n_rows) {
  return chooses(leader, n_rows) && leader->choice.blocks_left == 0;
}

void csf_block_encoder_pass(struct colshuf_block_encoder *leader, int64_t n_rows) {
  if (chooses(leader, n_rows)) leader->choice.blocks_left--;
}

void csf_block_encoder_follow(struct colshuf_block_encoder *follower, const struct colshuf_block_encoder *leader) {
  if (!leader->choice.enabled) return;
  follower->choice.dictionaries = leader->choice.dictionaries;
  follower->choice.blocks_left = INT32_MAX;
  memcpy(follower->choice.candidate, leader->choice.candidate, (size_t)leader->schema->root.n_children);
}

static enum colshuf_status check_batch(const struct colshuf_block_encoder *e, const struct ArrowArray *batch, int64_t offset,
                                       int64_t length, struct colshuf_error *err) {
  CSF_TRY(csf_array_import_check(&e->schema->root, batch, err));
  if (offset < 0 || length < 0 || offset > batch->length || length > batch->length - offset) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "rows %" PRId64 " + %" PRId64 " of a batch of %" PRId64, offset, length,
                    batch->length);
  }
  return COLSHUF_OK;
}

enum colshuf_status colshuf_block_encoder_encode(struct colshuf_block_encoder *e, const struct ArrowArray *batch, int64_t offset,
                                                 int64_t length, const uint8_t **block, size_t *size, struct colshuf_error *err) {
  if (e == NULL || batch == NULL || block == NULL || size == NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "no encoder, no batch or no place for the block");
  }
  CSF_TRY(check_batch(e, batch, offset, length, err));
  if (length == 0) {
    *block = NULL;
    *size = 0;
    return COLSHUF_OK;
  }
  struct rows rows = {batch, offset, length};
  CSF_TRY(encode(e, &rows, err));
  *block = e->block.data;
  *size = e->block.size;
  return COLSHUF_OK;
}
