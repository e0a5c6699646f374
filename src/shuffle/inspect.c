/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/anatomy.h"
#include "shuffle/source.h"

struct inspection {
  struct csf_source source;
  struct csf_buffer window;
  struct csf_anatomy anatomy;
  struct colshuf_block_decoder *decoder; /* NULL = values are not looked at */
};

static void close_inspection(struct inspection *i) {
  colshuf_block_decoder_free(i->decoder);
  csf_anatomy_clear(&i->anatomy);
  csf_source_close(&i->source);
  csf_buffer_clear(&i->window);
}

static enum colshuf_status open_inspection(struct inspection *i, const char *data_path, const char *index_path, bool deep,
                                           struct colshuf_error *err) {
  struct csf_source_options options = {.window = &i->window};
  struct colshuf_source spec = {.data_path = data_path, .index_path = index_path};
  csf_buffer_init(&i->window, NULL);
  CSF_TRY(csf_source_open(&i->source, &spec, &options, err));
  enum colshuf_status status = csf_anatomy_init(&i->anatomy, NULL, NULL, err);
  if (status == COLSHUF_OK && deep) status = colshuf_block_decoder_new(NULL, &i->decoder, err);
  if (status != COLSHUF_OK) close_inspection(i);
  return status;
}

static enum colshuf_status look_at_block(struct inspection *i, const struct csf_source_block *block,
                                         struct colshuf_block_info *info, struct colshuf_error *err) {
  CSF_TRY(csf_anatomy_of(&i->anatomy, block->data, block->size, info, err));
  if (i->decoder == NULL) return COLSHUF_OK;
  struct ArrowArray batch;
  size_t consumed;
  CSF_TRY(colshuf_block_decoder_view(i->decoder, block->data, block->size, &consumed, &batch, err));
  batch.release(&batch);
  return COLSHUF_OK;
}

/* What is wrong with a block is told to the visitor; what is wrong with the machine ends the walk. */
static bool is_fault_of_block(enum colshuf_status status) {
  return status == COLSHUF_CORRUPT || status == COLSHUF_LIMIT || status == COLSHUF_UNSUPPORTED;
}

static enum colshuf_status walk(struct inspection *i, int (*visit)(void *ctx, const struct colshuf_block_info *block),
                                void *ctx, struct colshuf_error *err) {
  for (;;) {
    struct csf_source_block block;
    struct colshuf_error problem = {0};
    enum colshuf_status status = csf_source_next(&i->source, &block, &problem);
    if (status == COLSHUF_OK && block.size == 0) return COLSHUF_OK;
    struct colshuf_block_info info = {.partition = block.partition, .block_in_partition = block.block, .offset = block.offset};
    bool readable = status == COLSHUF_OK;
    if (readable) status = look_at_block(i, &block, &info, &problem);
    if (status != COLSHUF_OK && !is_fault_of_block(status)) {
      if (err != NULL) *err = problem;
      return status;
    }
    info.status = status;
    if (status != COLSHUF_OK) {
      info.problem = problem.message;
      info.schema = NULL; /* perhaps not what the block was to have */
      info.column_bytes = NULL;
    }
    if (visit(ctx, &info) != 0) return COLSHUF_OK;
    if (!readable) csf_source_skip(&i->source);
  }
}

enum colshuf_status colshuf_inspect(const char *data_path, const char *index_path, int deep,
                                    int (*visit)(void *ctx, const struct colshuf_block_info *block), void *ctx,
                                    struct colshuf_error *err) {
  struct inspection inspection = {0};
  if (data_path == NULL || visit == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "an inspection needs a path and somebody to tell");
  CSF_TRY(open_inspection(&inspection, data_path, index_path, deep != 0, err));
  enum colshuf_status status = walk(&inspection, visit, ctx, err);
  close_inspection(&inspection);
  return status;
}
