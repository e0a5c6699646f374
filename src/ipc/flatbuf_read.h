/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flatbuffers read without generated code. A buffer is verified once against a description of its tables; after that the
 * accessors below only follow offsets. formats.md B.2.
 */
#ifndef CSF_IPC_FLATBUF_READ_H
#define CSF_IPC_FLATBUF_READ_H

#include "base/bytes.h"

struct csf_fb_shape;

enum csf_fb_kind {
  CSF_FB_SCALAR, /* size bytes inline, aligned to their size */
  CSF_FB_STRING,
  CSF_FB_TABLE,  /* of shape */
  CSF_FB_TABLES, /* vector of tables of shape */
  CSF_FB_VECTOR, /* vector of scalars or structs of size bytes, aligned to alignment */
  CSF_FB_UNION   /* table of variants[code]; the code is the u8 of the slot before. Codes beyond n_variants are not looked into */
};

struct csf_fb_slot {
  enum csf_fb_kind kind;
  uint8_t size;
  uint8_t alignment;
  uint8_t n_variants;
  const struct csf_fb_shape *shape;
  const struct csf_fb_shape *const *variants;
};

/* What the verifier knows of a table: its fields by id. Fields with higher ids are newer than this program and skipped. */
struct csf_fb_shape {
  const char *name;
  uint32_t n_slots;
  const struct csf_fb_slot *slots;
};

/*
 * Checks that everything the accessors may touch, starting at the root table, lies inside data, aligned relative to its start;
 * that nesting is at most max_depth tables deep; and that sharing of subtrees does not blow up the work (tables, bytes).
 * Errors: CORRUPT (names the byte offset), LIMIT (max_depth).
 */
enum colshuf_status csf_fb_verify(struct csf_span data, const struct csf_fb_shape *root, uint32_t max_depth,
                                  struct colshuf_error *err) COLSHUF_MUST_USE;

/* A table of a verified buffer. place NULL = absent: then every field is. */
struct csf_fb_table {
  const uint8_t *place;
  const uint8_t *vtable;
  uint32_t vtable_size;
};

/* count elements; data is the first. Absent = no elements and data NULL. */
struct csf_fb_vector {
  const uint8_t *data;
  uint32_t count;
};

static inline struct csf_fb_table csf_fb_table_at(const uint8_t *place) {
  const uint8_t *vtable = place - csf_load_i32(place);
  return (struct csf_fb_table){place, vtable, csf_load_u16(vtable)};
}

static inline struct csf_fb_table csf_fb_root(struct csf_span data) {
  return csf_fb_table_at(data.data + csf_load_u32(data.data));
}

/* Where field id stands, or NULL when it is absent. */
static inline const uint8_t *csf_fb_field(struct csf_fb_table table, uint32_t id) {
  uint32_t at = 4 + 2 * id;
  if (at >= table.vtable_size) return NULL;
  uint16_t offset = csf_load_u16(table.vtable + at);
  return offset == 0 ? NULL : table.place + offset;
}

static inline int64_t csf_fb_i64(struct csf_fb_table table, uint32_t id, int64_t otherwise) {
  const uint8_t *place = csf_fb_field(table, id);
  return place == NULL ? otherwise : csf_load_i64(place);
}
static inline int32_t csf_fb_i32(struct csf_fb_table table, uint32_t id, int32_t otherwise) {
  const uint8_t *place = csf_fb_field(table, id);
  return place == NULL ? otherwise : csf_load_i32(place);
}
static inline int16_t csf_fb_i16(struct csf_fb_table table, uint32_t id, int16_t otherwise) {
  const uint8_t *place = csf_fb_field(table, id);
  return place == NULL ? otherwise : csf_load_i16(place);
}
static inline uint8_t csf_fb_u8(struct csf_fb_table table, uint32_t id, uint8_t otherwise) {
  const uint8_t *place = csf_fb_field(table, id);
  return place == NULL ? otherwise : *place;
}

static inline const uint8_t *csf_fb_target(const uint8_t *place) {
  return place + csf_load_u32(place);
}

static inline struct csf_fb_table csf_fb_child(struct csf_fb_table table, uint32_t id) {
  const uint8_t *place = csf_fb_field(table, id);
  if (place == NULL) return (struct csf_fb_table){NULL, NULL, 0};
  return csf_fb_table_at(csf_fb_target(place));
}

static inline struct csf_fb_vector csf_fb_elements(struct csf_fb_table table, uint32_t id) {
  const uint8_t *place = csf_fb_field(table, id);
  if (place == NULL) return (struct csf_fb_vector){NULL, 0};
  const uint8_t *vector = csf_fb_target(place);
  return (struct csf_fb_vector){vector + 4, csf_load_u32(vector)};
}

/* Table i of a vector of tables. */
static inline struct csf_fb_table csf_fb_element(struct csf_fb_vector tables, uint32_t i) {
  return csf_fb_table_at(csf_fb_target(tables.data + 4 * (size_t)i));
}

/* Bytes of a string; absent = data NULL. */
static inline struct csf_span csf_fb_string(struct csf_fb_table table, uint32_t id) {
  struct csf_fb_vector vector = csf_fb_elements(table, id);
  return (struct csf_span){vector.data, vector.count};
}

#endif
