/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the allocator behind 64-byte alignment, the buffer that owns, the span that borrows, the arena. */
#ifndef CSF_BASE_MEMORY_H
#define CSF_BASE_MEMORY_H

#include <stdbool.h>
#include <string.h>

#include "base/status.h"

#define CSF_ALIGNMENT 64u

/* The allocator to use for an options field: *wanted, or the C heap where its function is NULL. */
struct colshuf_allocator csf_allocator(const struct colshuf_allocator *wanted);

/* 64-byte aligned memory. Sizes must be told again as they were given. size 0 gives NULL. Content is not set. */
void *csf_alloc(const struct colshuf_allocator *allocator, size_t size) __attribute__((malloc));
void *csf_alloc_zero(const struct colshuf_allocator *allocator, size_t size) __attribute__((malloc));
void csf_free(const struct colshuf_allocator *allocator, void *pointer, size_t size);

/* Resizes to new_size > 0, keeping the content; on failure NULL and the old block stays. */
void *csf_realloc(const struct colshuf_allocator *allocator, void *pointer, size_t old_size, size_t new_size);

/*
 * Tells the system that so much memory will soon be written all over: it may then give it in pages of some MiB, which come at once instead
 * of at 500 faults each and are found faster later. Where it is not known how to tell, or the memory is small, nothing happens.
 */
void csf_prefer_large_pages(void *pointer, size_t size);

/* Borrowed bytes, passed by value. */
struct csf_span {
  const uint8_t *data;
  size_t size;
};

/* Owned bytes that grow. All zero but the allocator is a valid empty buffer. */
struct csf_buffer {
  uint8_t *data;
  size_t size;
  size_t capacity;
  struct colshuf_allocator allocator;
};

void csf_buffer_init(struct csf_buffer *buffer, const struct colshuf_allocator *allocator);
void csf_buffer_clear(struct csf_buffer *buffer); /* frees; usable again */

/* Makes room for size bytes in all (not: more). Growth is geometric. On failure the content stays. */
enum colshuf_status csf_buffer_reserve(struct csf_buffer *buffer, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_buffer_append(struct csf_buffer *buffer, const void *data, size_t size, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_buffer_append_zero(struct csf_buffer *buffer, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Many small objects that die together. All zero but the allocator is a valid empty arena. */
struct csf_arena {
  struct csf_arena_chunk *chunks;
  struct colshuf_allocator allocator;
};

void csf_arena_init(struct csf_arena *arena, const struct colshuf_allocator *allocator);
void csf_arena_clear(struct csf_arena *arena);
void *csf_arena_alloc(struct csf_arena *arena, size_t size); /* zeroed, 16-byte aligned; NULL when refused */
char *csf_arena_string(struct csf_arena *arena, const char *text, size_t size); /* copy with a final NUL; NULL when refused */

#endif
