/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *heap_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  (void)ctx;
  (void)old_size;
  if (new_size == 0) {
    free(pointer);
    return NULL;
  }
  return realloc(pointer, new_size);
}

struct colshuf_allocator csf_allocator(const struct colshuf_allocator *wanted) {
  if (wanted != NULL && wanted->resize != NULL) return *wanted;
  return (struct colshuf_allocator){.resize = heap_resize};
}

enum { LARGE_PAGE = 2 << 20 };

/* Whole pages, also of neighbours: where they are not large it is a hint about nothing. */
void csf_prefer_large_pages(void *pointer, size_t size) {
#if defined(MADV_HUGEPAGE)
  long page = sysconf(_SC_PAGESIZE);
  if (size < LARGE_PAGE || page <= 0) return;
  size_t before = (uintptr_t)pointer % (size_t)page;
  (void)madvise((uint8_t *)pointer - before, size + before, MADV_HUGEPAGE);
#else
  (void)pointer, (void)size;
#endif
}

/*
 * An aligned block lies inside a raw one: raw ... [aligned - 8] holds the distance back to raw ... aligned. The raw block
 * has room for the worst case, so that its size is a pure function of the size asked for.
 */
static size_t raw_size(size_t size) {
  return size + CSF_ALIGNMENT + sizeof(uint64_t);
}

static size_t distance_of(const void *raw) {
  uintptr_t place = (uintptr_t)raw + sizeof(uint64_t);
  place = (place + CSF_ALIGNMENT - 1) & ~(uintptr_t)(CSF_ALIGNMENT - 1);
  return place - (uintptr_t)raw;
}

static void *set_distance(void *raw, uint64_t distance) {
  uint8_t *aligned = (uint8_t *)raw + distance;
  memcpy(aligned - sizeof distance, &distance, sizeof distance);
  return aligned;
}

static void *raw_of(void *aligned) {
  uint64_t distance;
  memcpy(&distance, (uint8_t *)aligned - sizeof distance, sizeof distance);
  return (uint8_t *)aligned - distance;
}

void *csf_alloc(const struct colshuf_allocator *allocator, size_t size) {
  if (size == 0 || size > SIZE_MAX / 2) return NULL;
  void *raw = allocator->resize(allocator->ctx, NULL, 0, raw_size(size));
  return raw == NULL ? NULL : set_distance(raw, distance_of(raw));
}

void *csf_alloc_zero(const struct colshuf_allocator *allocator, size_t size) {
  void *pointer = csf_alloc(allocator, size);
  if (pointer != NULL) memset(pointer, 0, size);
  return pointer;
}

void csf_free(const struct colshuf_allocator *allocator, void *pointer, size_t size) {
  if (pointer == NULL) return;
  allocator->resize(allocator->ctx, raw_of(pointer), raw_size(size), 0);
}

void *csf_realloc(const struct colshuf_allocator *allocator, void *pointer, size_t old_size, size_t new_size) {
  if (pointer == NULL) return csf_alloc(allocator, new_size);
  if (new_size == 0 || new_size > SIZE_MAX / 2) return NULL;
  uint8_t *old_raw = raw_of(pointer);
  size_t old_distance = (size_t)((uint8_t *)pointer - old_raw);
  uint8_t *raw = allocator->resize(allocator->ctx, old_raw, raw_size(old_size), raw_size(new_size));
  if (raw == NULL) return NULL;
  /* The content moved with the raw block and stands at the old distance; the distance word comes last, it may overlap it. */
  size_t distance = distance_of(raw);
  if (distance != old_distance) {
    memmove(raw + distance, raw + old_distance, old_size < new_size ? old_size : new_size);
  }
  return set_distance(raw, distance);
}

void csf_buffer_init(struct csf_buffer *buffer, const struct colshuf_allocator *allocator) {
  *buffer = (struct csf_buffer){.allocator = csf_allocator(allocator)};
}

void csf_buffer_clear(struct csf_buffer *buffer) {
  csf_free(&buffer->allocator, buffer->data, buffer->capacity);
  buffer->data = NULL;
  buffer->size = 0;
  buffer->capacity = 0;
}

enum colshuf_status csf_buffer_reserve(struct csf_buffer *buffer, size_t size, struct colshuf_error *err) {
  if (size <= buffer->capacity) return COLSHUF_OK;
  size_t capacity = buffer->capacity + buffer->capacity / 2;
  if (capacity < size) capacity = size;
  if (capacity < 64) capacity = 64;
  uint8_t *data = csf_realloc(&buffer->allocator, buffer->data, buffer->capacity, capacity);
  if (data == NULL) return csf_fail_memory(err, capacity);
  buffer->data = data;
  buffer->capacity = capacity;
  return COLSHUF_OK;
}

static enum colshuf_status reserve_more(struct csf_buffer *buffer, size_t more, struct colshuf_error *err) {
  size_t size;
  if (__builtin_add_overflow(buffer->size, more, &size)) return csf_fail_memory(err, more);
  return csf_buffer_reserve(buffer, size, err);
}

enum colshuf_status csf_buffer_append(struct csf_buffer *buffer, const void *data, size_t size, struct colshuf_error *err) {
  if (size == 0) return COLSHUF_OK;
  CSF_TRY(reserve_more(buffer, size, err));
  memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  return COLSHUF_OK;
}

enum colshuf_status csf_buffer_append_zero(struct csf_buffer *buffer, size_t size, struct colshuf_error *err) {
  if (size == 0) return COLSHUF_OK;
  CSF_TRY(reserve_more(buffer, size, err));
  memset(buffer->data + buffer->size, 0, size);
  buffer->size += size;
  return COLSHUF_OK;
}

struct csf_arena_chunk {
  struct csf_arena_chunk *next;
  size_t size; /* bytes of the whole chunk */
  size_t used;
  uint8_t padding[CSF_ALIGNMENT - sizeof(void *) - 2 * sizeof(size_t)];
};

enum { ARENA_CHUNK_SIZE = 4096 };

void csf_arena_init(struct csf_arena *arena, const struct colshuf_allocator *allocator) {
  *arena = (struct csf_arena){.allocator = csf_allocator(allocator)};
}

void csf_arena_clear(struct csf_arena *arena) {
  while (arena->chunks != NULL) {
    struct csf_arena_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    csf_free(&arena->allocator, chunk, chunk->size);
  }
}

static struct csf_arena_chunk *add_chunk(struct csf_arena *arena, size_t size) {
  size_t whole = sizeof(struct csf_arena_chunk) + size;
  if (whole < ARENA_CHUNK_SIZE) whole = ARENA_CHUNK_SIZE;
  struct csf_arena_chunk *chunk = csf_alloc(&arena->allocator, whole);
  if (chunk == NULL) return NULL;
  *chunk = (struct csf_arena_chunk){.next = arena->chunks, .size = whole, .used = sizeof *chunk};
  arena->chunks = chunk;
  return chunk;
}

void *csf_arena_alloc(struct csf_arena *arena, size_t size) {
  if (size > SIZE_MAX / 4) return NULL;
  size = (size + 15) & ~(size_t)15;
  if (size == 0) size = 16;
  struct csf_arena_chunk *chunk = arena->chunks;
  if (chunk == NULL || chunk->size - chunk->used < size) chunk = add_chunk(arena, size);
  if (chunk == NULL) return NULL;
  void *pointer = (uint8_t *)chunk + chunk->used;
  chunk->used += size;
  return memset(pointer, 0, size);
}

char *csf_arena_string(struct csf_arena *arena, const char *text, size_t size) {
  if (size >= SIZE_MAX / 4) return NULL;
  char *copy = csf_arena_alloc(arena, size + 1);
  if (copy != NULL && size > 0) memcpy(copy, text, size);
  return copy;
}
