/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/flatbuf_read.h"

#include <inttypes.h>

/*
 * Offsets between objects only ever point forward, so a walk ends; but many offsets may share one target, and a small buffer could
 * then cost exponential work. The two budgets bound it, as in the Rust verifier.
 */
enum { MAX_TABLES = 1000000 };
static const uint64_t max_apparent_bytes = UINT64_C(1) << 31;

struct verifier {
  const uint8_t *data;
  size_t size;
  uint32_t max_depth;
  uint32_t n_tables;
  uint64_t n_bytes;
  struct colshuf_error *err;
};

static enum colshuf_status verify_table(struct verifier *v, size_t place, const struct csf_fb_shape *shape, uint32_t depth);

/* Whether [place, place + size) lies inside and is aligned; counts the bytes as visited. */
static enum colshuf_status visit(struct verifier *v, size_t place, uint64_t size, uint32_t alignment, const char *what) {
  if (place > v->size || size > v->size - place) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: %s at byte %zu needs %" PRIu64 " bytes, the metadata has %zu", what, place,
                    size, v->size);
  }
  if (place % alignment != 0) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: %s at byte %zu is not aligned to %u", what, place, alignment);
  }
  v->n_bytes += size;
  if (v->n_bytes > max_apparent_bytes) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: its %zu bytes are referred to so often that they look like more than %" PRIu64,
                    v->size, max_apparent_bytes);
  }
  return COLSHUF_OK;
}

/* Follows the offset that stands at place. */
static enum colshuf_status follow(struct verifier *v, size_t place, size_t *target, const char *what) {
  CSF_TRY(visit(v, place, 4, 4, what));
  uint32_t offset = csf_load_u32(v->data + place);
  if (offset == 0 || offset > v->size - place) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: %s at byte %zu points %" PRIu32 " bytes on, only %zu are left", what, place,
                    offset, v->size - place);
  }
  *target = place + offset;
  return COLSHUF_OK;
}

static enum colshuf_status verify_vector(struct verifier *v, size_t place, uint32_t size, uint32_t alignment, const char *what) {
  CSF_TRY(visit(v, place, 4, 4, what));
  uint64_t n_bytes = (uint64_t)csf_load_u32(v->data + place) * size;
  if (n_bytes == 0) return COLSHUF_OK; /* an empty vector's elements need no place and no alignment */
  return visit(v, place + 4, n_bytes, alignment, what);
}

static enum colshuf_status verify_string(struct verifier *v, size_t place) {
  CSF_TRY(visit(v, place, 4, 4, "string"));
  uint64_t length = csf_load_u32(v->data + place);
  CSF_TRY(visit(v, place + 4, length + 1, 1, "string"));
  if (v->data[place + 4 + length] != 0) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: string at byte %zu of length %" PRIu64 " does not end with a zero byte", place,
                    length);
  }
  return COLSHUF_OK;
}

static enum colshuf_status verify_tables(struct verifier *v, size_t place, const struct csf_fb_shape *shape, uint32_t depth) {
  CSF_TRY(verify_vector(v, place, 4, 4, shape->name));
  uint32_t count = csf_load_u32(v->data + place);
  for (uint32_t i = 0; i < count; i++) {
    size_t target;
    CSF_TRY(follow(v, place + 4 + 4 * (size_t)i, &target, shape->name));
    CSF_TRY(verify_table(v, target, shape, depth));
  }
  return COLSHUF_OK;
}

/* code: what the slot before says, for a union. */
static enum colshuf_status verify_slot(struct verifier *v, size_t place, const struct csf_fb_slot *slot, uint8_t code, uint32_t depth) {
  size_t target;
  if (slot->kind == CSF_FB_SCALAR) return visit(v, place, slot->size, slot->size, "scalar");
  CSF_TRY(follow(v, place, &target, "offset"));
  switch (slot->kind) {
    case CSF_FB_STRING:
      return verify_string(v, target);
    case CSF_FB_TABLE:
      return verify_table(v, target, slot->shape, depth + 1);
    case CSF_FB_TABLES:
      return verify_tables(v, target, slot->shape, depth + 1);
    case CSF_FB_UNION:
      if (code >= slot->n_variants || slot->variants[code] == NULL) return COLSHUF_OK;
      return verify_table(v, target, slot->variants[code], depth + 1);
    default:
      return verify_vector(v, target, slot->size, slot->alignment, "vector");
  }
}

struct place_of_table {
  size_t table;
  size_t vtable;
  uint32_t vtable_size;
  uint32_t table_size;
};

static enum colshuf_status verify_vtable(struct verifier *v, size_t place, const char *name, struct place_of_table *out) {
  CSF_TRY(visit(v, place, 4, 4, name));
  int64_t vtable = (int64_t)place - csf_load_i32(v->data + place);
  if (vtable < 0 || (uint64_t)vtable > v->size) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: table %s at byte %zu has its vtable at %" PRId64 ", outside of %zu bytes", name,
                    place, vtable, v->size);
  }
  *out = (struct place_of_table){.table = place, .vtable = (size_t)vtable};
  CSF_TRY(visit(v, out->vtable, 4, 2, "vtable"));
  out->vtable_size = csf_load_u16(v->data + out->vtable);
  out->table_size = csf_load_u16(v->data + out->vtable + 2);
  if (out->vtable_size < 4 || out->vtable_size % 2 != 0 || out->table_size < 4) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: vtable of %s at byte %zu has size %" PRIu32 " and table size %" PRIu32, name,
                    out->vtable, out->vtable_size, out->table_size);
  }
  CSF_TRY(visit(v, out->vtable, out->vtable_size, 2, "vtable"));
  return visit(v, place, out->table_size, 4, name);
}

/* The offset of field id in its table, 0 when absent, checked against the table's inline size. */
static enum colshuf_status find_field(const struct verifier *v, const struct place_of_table *table, uint32_t id, uint32_t size,
                                      const char *name, uint32_t *out) {
  *out = 4 + 2 * id < table->vtable_size ? csf_load_u16(v->data + table->vtable + 4 + 2 * (size_t)id) : 0;
  if (*out == 0) return COLSHUF_OK;
  if (*out < 4 || *out + size > table->table_size) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: field %" PRIu32 " of %s at byte %zu stands at %" PRIu32 "..%" PRIu32
                    " of a table of %" PRIu32 " bytes", id, name, table->table, *out, *out + size, table->table_size);
  }
  return COLSHUF_OK;
}

/* A union's code and value are both present or both absent. */
static enum colshuf_status union_code(const struct verifier *v, const struct place_of_table *table, uint32_t id, uint32_t offset,
                                      const char *name, uint8_t *code) {
  uint32_t code_offset = 0;
  CSF_TRY(find_field(v, table, id - 1, 1, name, &code_offset));
  *code = code_offset == 0 ? 0 : v->data[table->table + code_offset];
  if ((*code == 0) != (offset == 0)) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: union field %" PRIu32 " of %s at byte %zu has code %d and %s value", id, name,
                    table->table, *code, offset == 0 ? "no" : "a");
  }
  return COLSHUF_OK;
}

static enum colshuf_status verify_table(struct verifier *v, size_t place, const struct csf_fb_shape *shape, uint32_t depth) {
  if (depth > v->max_depth) {
    return csf_fail(v->err, COLSHUF_LIMIT, "metadata: %s at byte %zu is nested %" PRIu32 " tables deep, the limit is %" PRIu32,
                    shape->name, place, depth, v->max_depth);
  }
  if (++v->n_tables > MAX_TABLES) {
    return csf_fail(v->err, COLSHUF_CORRUPT, "metadata: more than %d tables in %zu bytes", MAX_TABLES, v->size);
  }
  struct place_of_table table = {0};
  CSF_TRY(verify_vtable(v, place, shape->name, &table));
  for (uint32_t id = 0; id < shape->n_slots; id++) {
    const struct csf_fb_slot *slot = &shape->slots[id];
    uint32_t offset;
    uint8_t code = 0;
    CSF_TRY(find_field(v, &table, id, slot->kind == CSF_FB_SCALAR ? slot->size : 4, shape->name, &offset));
    if (slot->kind == CSF_FB_UNION) CSF_TRY(union_code(v, &table, id, offset, shape->name, &code));
    if (offset != 0) CSF_TRY(verify_slot(v, place + offset, slot, code, depth));
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_fb_verify(struct csf_span data, const struct csf_fb_shape *root, uint32_t max_depth,
                                  struct colshuf_error *err) {
  struct verifier v = {.data = data.data, .size = data.size, .max_depth = max_depth, .err = err};
  size_t place;
  CSF_TRY(follow(&v, 0, &place, "root"));
  return verify_table(&v, place, root, 1);
}
