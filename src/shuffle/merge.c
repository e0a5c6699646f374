/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several outputs become one. All indexes are read first: from then on the place of every block in the result is known, and
 * each source is read through once, in order, however many there are.
 */
#include <inttypes.h>
#include <string.h>

#include "block/decoder.h"
#include "file/checksum.h"
#include "file/output.h"
#include "shuffle/source.h"

struct merging {
  const struct colshuf_merge_options *options;
  struct colshuf_allocator allocator;
  const char *const *paths;
  int32_t n_paths;
  int32_t n_partitions, first, end;
  uint64_t *sizes;     /* of partitions */
  uint64_t *places;    /* where the next block of a partition goes */
  uint64_t *left;      /* bytes of a partition that are still to come */
  uint32_t *checksums; /* running */
  uint64_t done, total;
  struct csf_output_place place;
  struct csf_temp_file data;
  struct csf_buffer window;
  struct colshuf_block_decoder *decoder;
  struct csf_schema *schema; /* of the first block of all */
  const char *schema_path;
  struct colshuf_merge_summary summary;
  struct colshuf_error *err;
};

static enum colshuf_status choose_partitions(struct merging *m, int32_t n) {
  bool all = m->options->first_partition == 0 && m->options->end_partition == 0;
  m->n_partitions = n;
  m->first = m->options->first_partition;
  m->end = all ? n : m->options->end_partition;
  if (m->first < 0 || m->end < m->first || m->end > n) {
    return csf_fail(m->err, COLSHUF_INVALID_ARGUMENT,
                    "partitions %" PRId32 " to %" PRId32 " of %" PRId32 ", which are counted from 0", m->first, m->end - 1, n);
  }
  size_t places = n == 0 ? 1 : (size_t)n;
  m->sizes = csf_alloc_zero(&m->allocator, places * sizeof *m->sizes);
  m->places = csf_alloc_zero(&m->allocator, places * sizeof *m->places);
  m->left = csf_alloc_zero(&m->allocator, places * sizeof *m->left);
  m->checksums = csf_alloc_zero(&m->allocator, places * sizeof *m->checksums);
  if (m->sizes == NULL || m->places == NULL || m->left == NULL || m->checksums == NULL)
    return csf_fail_memory(m->err, places * sizeof *m->sizes);
  for (int32_t p = 0; p < n; p++) m->checksums[p] = csf_checksum_start(m->options->checksum);
  return COLSHUF_OK;
}

static enum colshuf_status add_sizes(struct merging *m, const char *path, const struct colshuf_index_info *index) {
  if (m->sizes == NULL) CSF_TRY(choose_partitions(m, index->n_partitions));
  if (index->n_partitions != m->n_partitions) {
    return csf_fail(m->err, COLSHUF_CORRUPT, "%s has %" PRId32 " partitions, %s has %" PRId32, path, index->n_partitions,
                    m->paths[0], m->n_partitions);
  }
  for (int32_t p = m->first; p < m->end; p++) {
    uint64_t size = index->offsets[p + 1] - index->offsets[p];
    if (csf_add_overflow(m->total, size, &m->total) || m->total > INT64_MAX) {
      return csf_fail(m->err, COLSHUF_LIMIT, "%s: all together have more than 2^63 bytes", path);
    }
    m->sizes[p] += size;
  }
  return COLSHUF_OK;
}

static enum colshuf_status read_index(struct merging *m, const char *path) {
  size_t size;
  char *index_path = csf_sibling_path(path, ".index", &m->allocator, &size);
  if (index_path == NULL) return csf_fail_memory(m->err, size);
  struct colshuf_index_info index;
  enum colshuf_status status = colshuf_index_read(index_path, &index, m->err);
  if (status == COLSHUF_OK) {
    status = add_sizes(m, path, &index);
    colshuf_index_clear(&index);
  }
  csf_free(&m->allocator, index_path, size);
  return status;
}

static enum colshuf_status read_indexes(struct merging *m) {
  for (int32_t i = 0; i < m->n_paths; i++) CSF_TRY(read_index(m, m->paths[i]));
  uint64_t place = 0;
  for (int32_t p = 0; p < m->n_partitions; p++) {
    m->places[p] = place;
    m->left[p] = m->sizes[p];
    place += m->sizes[p];
  }
  return COLSHUF_OK;
}

/* The first block of a source says what all of it is. */
static enum colshuf_status check_schema(struct merging *m, const char *path, const struct csf_source_block *block) {
  struct ArrowArray batch;
  size_t consumed;
  CSF_TRY(colshuf_block_decoder_view(m->decoder, block->data, block->size, &consumed, &batch, m->err));
  batch.release(&batch);
  struct csf_schema *found = csf_block_decoder_schema(m->decoder);
  if (m->schema == NULL) {
    m->schema = csf_schema_retain(found);
    m->schema_path = path;
    return COLSHUF_OK;
  }
  enum colshuf_status status = csf_schema_check_expected(found, m->schema, m->err);
  return status == COLSHUF_OK ? status : csf_fail_context(m->err, status, "does not fit %s", m->schema_path);
}

/* Between the two looks at a source it may have been replaced. */
static enum colshuf_status fail_changed(struct merging *m, int32_t p) {
  return csf_fail(m->err, COLSHUF_CORRUPT,
                  "a source was replaced while it was merged: partition %" PRId32 " should have %" PRIu64 " bytes", p,
                  m->sizes[p]);
}

static enum colshuf_status put_block(struct merging *m, const struct csf_source_block *block) {
  int32_t p = block->partition;
  if (block->size > m->left[p]) return fail_changed(m, p);
  CSF_TRY(csf_temp_write_at(&m->data, m->places[p], block->data, block->size, m->err));
  m->checksums[p] = csf_checksum_update(m->options->checksum, m->checksums[p], block->data, block->size);
  m->places[p] += block->size;
  m->left[p] -= block->size;
  m->done += block->size;
  m->summary.blocks++;
  return COLSHUF_OK;
}

static enum colshuf_status tell_progress(const struct merging *m) {
  if (m->options->progress == NULL || m->options->progress(m->options->ctx, m->done, m->total) == 0) return COLSHUF_OK;
  return csf_fail(m->err, COLSHUF_CANCELLED, "merging was cancelled after %" PRIu64 " of %" PRIu64 " bytes", m->done, m->total);
}

static enum colshuf_status copy_blocks(struct merging *m, struct csf_source *source) {
  for (bool first = true;; first = false) {
    struct csf_source_block block;
    enum colshuf_status status = csf_source_next(source, &block, m->err);
    if (status == COLSHUF_OK && block.size == 0) return COLSHUF_OK;
    if (status == COLSHUF_OK && first) status = check_schema(m, source->name, &block);
    if (status != COLSHUF_OK) return csf_source_fail_context(source->name, &block, status, m->err);
    CSF_TRY(put_block(m, &block));
    CSF_TRY(tell_progress(m));
  }
}

static enum colshuf_status copy_source(struct merging *m, const char *path) {
  struct csf_source_options options = {
      .allocator = m->allocator, .window = &m->window, .exact_size = true, .verify_checksums = true};
  struct colshuf_source spec = {.data_path = path, .first_partition = m->first, .end_partition = m->end};
  struct csf_source source;
  if (m->first == m->end) return COLSHUF_OK;
  enum colshuf_status status = csf_source_open(&source, &spec, &options, m->err);
  if (status != COLSHUF_OK) return status;
  bool fits = source.index.offsets != NULL && source.index.n_partitions == m->n_partitions;
  status = fits ? copy_blocks(m, &source) : fail_changed(m, m->first);
  csf_source_close(&source);
  return status;
}

static enum colshuf_status copy_sources(struct merging *m) {
  for (int32_t i = 0; i < m->n_paths; i++) CSF_TRY(copy_source(m, m->paths[i]));
  for (int32_t p = m->first; p < m->end; p++) {
    if (m->left[p] > 0) return fail_changed(m, p);
  }
  return COLSHUF_OK;
}

static enum colshuf_status merge(struct merging *m) {
  CSF_TRY(csf_output_place(m->options->output, &m->allocator, &m->place, m->err));
  CSF_TRY(read_indexes(m));
  CSF_TRY(colshuf_block_decoder_new(&(struct colshuf_block_decoder_options){.allocator = m->allocator}, &m->decoder, m->err));
  CSF_TRY(csf_temp_create(&m->data, m->place.directory, m->place.name, &m->allocator, m->err));
  CSF_TRY(copy_sources(m));
  struct csf_commit commit = {.output = m->options->output,
                              .data = &m->data,
                              .sizes = m->sizes,
                              .n_partitions = m->n_partitions,
                              .checksum = m->options->checksum,
                              .checksums = m->checksums,
                              .native_index = m->options->native_index,
                              .allocator = m->allocator};
  return csf_commit_output(&commit, m->err);
}

static void clear(struct merging *m) {
  size_t places = m->n_partitions == 0 ? 1 : (size_t)m->n_partitions;
  csf_temp_discard(&m->data);
  csf_output_place_clear(&m->place, &m->allocator);
  csf_schema_release(m->schema);
  colshuf_block_decoder_free(m->decoder);
  csf_buffer_clear(&m->window);
  csf_free(&m->allocator, m->sizes, places * sizeof *m->sizes);
  csf_free(&m->allocator, m->places, places * sizeof *m->places);
  csf_free(&m->allocator, m->left, places * sizeof *m->left);
  csf_free(&m->allocator, m->checksums, places * sizeof *m->checksums);
}

enum colshuf_status colshuf_merge(const char *const *data_paths, int32_t n_sources, const struct colshuf_merge_options *options,
                                  struct colshuf_merge_summary *summary, struct colshuf_error *err) {
  if (n_sources < 1 || options == NULL || options->output == NULL) {
    return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "%s", n_sources < 1 ? "nothing to merge" : "no output is named");
  }
  CSF_TRY(csf_checksum_check(options->checksum, err));
  struct merging m = {.options = options,
                      .allocator = csf_allocator(&options->allocator),
                      .paths = data_paths,
                      .n_paths = n_sources,
                      .data = {.fd = -1},
                      .err = err};
  csf_buffer_init(&m.window, &m.allocator);
  enum colshuf_status status = merge(&m);
  if (status == COLSHUF_OK && summary != NULL) {
    *summary = (struct colshuf_merge_summary){.blocks = m.summary.blocks, .bytes = m.total, .n_partitions = m.n_partitions};
  }
  clear(&m);
  return status;
}
