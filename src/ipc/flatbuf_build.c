/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/flatbuf_build.h"

/* References are signed 32-bit on the wire. */
static const size_t max_size = INT32_MAX;

void csf_flatbuf_init(struct csf_flatbuf *b, const struct colshuf_allocator *allocator) {
  *b = (struct csf_flatbuf){0};
  csf_buffer_init(&b->memory, allocator);
  csf_buffer_init(&b->vtables, allocator);
  csf_flatbuf_reset(b);
}

void csf_flatbuf_clear(struct csf_flatbuf *b) {
  csf_buffer_clear(&b->memory);
  csf_buffer_clear(&b->vtables);
  csf_flatbuf_reset(b);
}

void csf_flatbuf_reset(struct csf_flatbuf *b) {
  b->used = 0;
  b->alignment = 1;
  b->status = COLSHUF_OK;
  b->vtables.size = 0;
}

/* More memory is added in front: what is there moves to the new end. */
static bool grow(struct csf_flatbuf *b, size_t size) {
  struct csf_buffer *memory = &b->memory;
  size_t old = memory->capacity;
  memory->size = old; /* all of it is content to be kept */
  size_t wanted = (size_t)b->used + size;
  if (wanted > max_size) {
    b->status = COLSHUF_LIMIT;
    return false;
  }
  b->status = csf_buffer_reserve(memory, wanted < 1024 ? 1024 : wanted, NULL);
  if (b->status != COLSHUF_OK) return false;
  if (b->used > 0) memmove(memory->data + memory->capacity - b->used, memory->data + old - b->used, b->used);
  return true;
}

/* size more bytes in front, unset; NULL when refused. */
static uint8_t *prepend(struct csf_flatbuf *b, size_t size) {
  if (b->status != COLSHUF_OK || (size > b->memory.capacity - b->used && !grow(b, size))) return NULL;
  b->used += (uint32_t)size;
  return size == 0 ? b->memory.data : b->memory.data + b->memory.capacity - b->used;
}

static void prepend_bytes(struct csf_flatbuf *b, const void *bytes, size_t size) {
  uint8_t *place = prepend(b, size);
  if (place == NULL || size == 0) return;
  if (bytes != NULL) {
    memcpy(place, bytes, size);
  } else {
    memset(place, 0, size);
  }
}

/* Pads so that after size more bytes the position is a multiple of alignment. */
static void align(struct csf_flatbuf *b, size_t size, size_t alignment) {
  if (alignment > b->alignment) b->alignment = (uint32_t)alignment;
  prepend_bytes(b, NULL, (size_t)(0 - (b->used + size)) & (alignment - 1));
}

static csf_flatbuf_ref prepend_u32(struct csf_flatbuf *b, uint32_t value) {
  align(b, 4, 4);
  prepend_bytes(b, &value, 4);
  return b->used;
}

static csf_flatbuf_ref prepend_ref(struct csf_flatbuf *b, csf_flatbuf_ref target) {
  align(b, 4, 4);
  uint32_t distance = b->used + 4 - target;
  prepend_bytes(b, &distance, 4);
  return b->used;
}

csf_flatbuf_ref csf_flatbuf_string(struct csf_flatbuf *b, const void *text, size_t size) {
  if (size > max_size) b->status = COLSHUF_LIMIT;
  align(b, size + 1, 4);
  prepend_bytes(b, NULL, 1);
  prepend_bytes(b, text, size);
  return prepend_u32(b, (uint32_t)size);
}

csf_flatbuf_ref csf_flatbuf_vector(struct csf_flatbuf *b, const void *content, size_t count, size_t element_size,
                                   size_t alignment) {
  size_t size;
  if (csf_multiply_overflow(count, element_size, &size) || size > max_size) {
    b->status = COLSHUF_LIMIT;
    return 0;
  }
  align(b, size, alignment < 4 ? 4 : alignment);
  prepend_bytes(b, content, size);
  return prepend_u32(b, (uint32_t)count);
}

csf_flatbuf_ref csf_flatbuf_vector_of_refs(struct csf_flatbuf *b, const csf_flatbuf_ref *refs, size_t count) {
  align(b, count * 4, 4);
  for (size_t i = count; i-- > 0;) prepend_ref(b, refs[i]);
  return prepend_u32(b, (uint32_t)count);
}

void csf_flatbuf_table_start(struct csf_flatbuf *b) {
  b->table_tail = b->used;
  b->table_size = 0;
  memset(b->table_fields, 0, sizeof b->table_fields);
}

static void track(struct csf_flatbuf *b, int id) {
  b->table_fields[id] = b->used;
  if (id >= b->table_size) b->table_size = id + 1;
}

static void scalar(struct csf_flatbuf *b, int id, const void *value, size_t size) {
  align(b, size, size);
  prepend_bytes(b, value, size);
  track(b, id);
}

void csf_flatbuf_field_u8(struct csf_flatbuf *b, int id, uint8_t value, uint8_t default_value) {
  if (value != default_value) scalar(b, id, &value, sizeof value);
}
void csf_flatbuf_field_i16(struct csf_flatbuf *b, int id, int16_t value, int16_t default_value) {
  if (value != default_value) scalar(b, id, &value, sizeof value);
}
void csf_flatbuf_field_i32(struct csf_flatbuf *b, int id, int32_t value, int32_t default_value) {
  if (value != default_value) scalar(b, id, &value, sizeof value);
}
void csf_flatbuf_field_i64(struct csf_flatbuf *b, int id, int64_t value, int64_t default_value) {
  if (value != default_value) scalar(b, id, &value, sizeof value);
}
void csf_flatbuf_field_ref(struct csf_flatbuf *b, int id, csf_flatbuf_ref target) {
  if (target == 0) return;
  prepend_ref(b, target);
  track(b, id);
}

static const uint8_t *at(const struct csf_flatbuf *b, csf_flatbuf_ref ref) {
  return b->memory.data + b->memory.capacity - ref;
}

/* An equal vtable that stands in the buffer already, or 0. */
static csf_flatbuf_ref find_vtable(const struct csf_flatbuf *b, const uint8_t *vtable, size_t size) {
  for (size_t i = 0; i < b->vtables.size; i += sizeof(csf_flatbuf_ref)) {
    csf_flatbuf_ref ref = csf_load_u32(b->vtables.data + i);
    if (csf_load_u16(at(b, ref)) == size && memcmp(at(b, ref), vtable, size) == 0) return ref;
  }
  return 0;
}

static csf_flatbuf_ref add_vtable(struct csf_flatbuf *b, const uint8_t *vtable, size_t size) {
  csf_flatbuf_ref ref = find_vtable(b, vtable, size);
  if (ref != 0) return ref;
  prepend_bytes(b, vtable, size);
  ref = b->used;
  if (csf_buffer_append(&b->vtables, &ref, sizeof ref, NULL) != COLSHUF_OK) b->status = COLSHUF_NO_MEMORY;
  return ref;
}

csf_flatbuf_ref csf_flatbuf_table_end(struct csf_flatbuf *b) {
  csf_flatbuf_ref object = prepend_u32(b, 0);
  if (b->status != COLSHUF_OK) return 0;
  uint8_t vtable[4 + 2 * CSF_FLATBUF_MAX_FIELDS];
  size_t size = 4 + 2 * (size_t)b->table_size;
  csf_store_u16(vtable, (uint16_t)size);
  csf_store_u16(vtable + 2, (uint16_t)(object - b->table_tail));
  for (int id = 0; id < b->table_size; id++) {
    uint32_t field = b->table_fields[id];
    csf_store_u16(vtable + 4 + 2 * (size_t)id, (uint16_t)(field == 0 ? 0 : object - field));
  }
  csf_flatbuf_ref vtable_ref = add_vtable(b, vtable, size);
  if (b->status != COLSHUF_OK) return 0;
  csf_store_i32(b->memory.data + b->memory.capacity - object, (int32_t)(vtable_ref - object));
  return object;
}

enum colshuf_status csf_flatbuf_finish(struct csf_flatbuf *b, csf_flatbuf_ref root, struct csf_span *out,
                                       struct colshuf_error *err) {
  align(b, 4, b->alignment);
  prepend_ref(b, root);
  if (b->status == COLSHUF_LIMIT) return csf_fail(err, COLSHUF_LIMIT, "IPC metadata of more than %zu bytes", max_size);
  if (b->status != COLSHUF_OK) return csf_fail_memory(err, b->memory.capacity);
  *out = (struct csf_span){at(b, b->used), b->used};
  return COLSHUF_OK;
}
