/* SPDX-License-Identifier: Apache-2.0 */
#include "block/schema_cache.h"

static void free_entry(struct csf_cached_schema *entry, const struct colshuf_allocator *allocator) {
  if (entry == NULL) return;
  csf_dictionaries_free(entry->dictionaries);
  csf_batch_plan_free(entry->plan);
  csf_schema_release(entry->schema);
  csf_buffer_clear(&entry->framing);
  for (size_t i = 0; i < entry->n_shapes; i++) csf_buffer_clear(&entry->shapes[i].bytes);
  csf_free(allocator, entry->shapes, entry->n_shapes * sizeof *entry->shapes);
  csf_free(allocator, entry, sizeof *entry);
}

void csf_schema_cache_clear(struct csf_schema_cache *cache) {
  for (int i = 0; i < CSF_SCHEMA_CACHE_SIZE; i++) {
    free_entry(cache->entries[i], &cache->allocator);
    cache->entries[i] = NULL;
  }
}

static bool starts_with(const struct csf_cursor *cursor, const struct csf_buffer *bytes) {
  return bytes->size > 0 && bytes->size <= cursor->size && memcmp(cursor->data, bytes->data, bytes->size) == 0;
}

/* Moves entry i to the front. */
static struct csf_cached_schema *use(struct csf_schema_cache *cache, int i) {
  struct csf_cached_schema *entry = cache->entries[i];
  memmove(&cache->entries[1], &cache->entries[0], (size_t)i * sizeof entry);
  cache->entries[0] = entry;
  return entry;
}

/* One for each dictionary and one for the batch; of schemas with very many dictionaries, for the first ones. */
enum { SHAPES_AT_MOST = 64 };

static enum colshuf_status add_shapes(const struct csf_schema_cache *cache, struct csf_cached_schema *entry, struct colshuf_error *err) {
  size_t n = csf_batch_plan_n_dictionaries(entry->plan) + 1;
  if (n > SHAPES_AT_MOST) n = SHAPES_AT_MOST;
  entry->shapes = csf_alloc_zero(&cache->allocator, n * sizeof *entry->shapes);
  if (entry->shapes == NULL) return csf_fail_memory(err, n * sizeof *entry->shapes);
  for (size_t i = 0; i < n; i++) csf_buffer_init(&entry->shapes[i].bytes, &cache->allocator);
  entry->n_shapes = n;
  return COLSHUF_OK;
}

static enum colshuf_status fill_entry(const struct csf_schema_cache *cache, const struct csf_message *message,
                                      const struct colshuf_limits *limits, const struct csf_schema *expected,
                                      struct csf_cached_schema *entry, struct colshuf_error *err) {
  csf_buffer_init(&entry->framing, &cache->allocator);
  CSF_TRY(csf_schema_message_read(message->metadata, &cache->allocator, limits, &entry->schema, err));
  if (expected != NULL) CSF_TRY(csf_schema_check_expected(entry->schema, expected, err));
  CSF_TRY(csf_batch_plan_new(entry->schema, &cache->allocator, &entry->plan, err));
  CSF_TRY(csf_dictionaries_new(entry->plan, &cache->allocator, &entry->dictionaries, err));
  CSF_TRY(add_shapes(cache, entry, err));
  if (message->body.size > 0) return COLSHUF_OK; /* a body is not part of the bytes compared: such an oddity is parsed each time */
  return csf_buffer_append(&entry->framing, message->framing.data, message->framing.size, err);
}

static enum colshuf_status take_schema_message(struct csf_cursor *cursor, const uint8_t *start, const struct colshuf_limits *limits,
                                               struct csf_message *out, struct colshuf_error *err) {
  bool end_marker;
  size_t place = (size_t)(cursor->data - start);
  CSF_TRY(csf_message_take(cursor, start, limits, out, &end_marker, err));
  if (out->kind == CSF_MESSAGE_SCHEMA) return COLSHUF_OK;
  if (out->kind == CSF_MESSAGE_END) return csf_fail(err, COLSHUF_CORRUPT, "empty IPC stream: no schema at byte %zu", place);
  return csf_fail(err, COLSHUF_CORRUPT, "a %s at byte %zu, where the schema must stand",
                  out->kind == CSF_MESSAGE_BATCH ? "record batch" : "dictionary", place);
}

static enum colshuf_status add(struct csf_schema_cache *cache, const struct csf_message *message, const struct colshuf_limits *limits,
                               const struct csf_schema *expected, struct colshuf_error *err) {
  struct csf_cached_schema *entry = csf_alloc_zero(&cache->allocator, sizeof *entry);
  if (entry == NULL) return csf_fail_memory(err, sizeof *entry);
  enum colshuf_status status = fill_entry(cache, message, limits, expected, entry, err);
  if (status != COLSHUF_OK) {
    free_entry(entry, &cache->allocator);
    return status;
  }
  int last = CSF_SCHEMA_CACHE_SIZE - 1;
  free_entry(cache->entries[last], &cache->allocator);
  cache->entries[last] = entry;
  use(cache, last);
  cache->n_parsed++;
  return COLSHUF_OK;
}

enum colshuf_status csf_schema_cache_take(struct csf_schema_cache *cache, struct csf_cursor *cursor, const uint8_t *start,
                                          const struct colshuf_limits *limits, const struct csf_schema *expected,
                                          struct csf_cached_schema **out, struct colshuf_error *err) {
  for (int i = 0; i < CSF_SCHEMA_CACHE_SIZE && cache->entries[i] != NULL; i++) {
    if (!starts_with(cursor, &cache->entries[i]->framing)) continue;
    *out = i == 0 ? cache->entries[0] : use(cache, i);
    size_t size = (*out)->framing.size;
    cursor->data += size;
    cursor->size -= size;
    return COLSHUF_OK;
  }
  struct csf_message message;
  CSF_TRY(take_schema_message(cursor, start, limits, &message, err));
  CSF_TRY(add(cache, &message, limits, expected, err));
  *out = cache->entries[0];
  return COLSHUF_OK;
}
