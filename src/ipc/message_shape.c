/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message_shape.h"

#include "ipc/format_tables.h"

/* A run of bytes of the metadata. */
struct range {
  uint32_t start, size;
};

/* What verification looked at, and what varies. */
struct layout {
  const uint8_t *start; /* of the metadata */
  struct range fixed[24];
  int n_fixed;
  struct range varying[4];
};

static struct range range_at(const struct layout *layout, const uint8_t *place, size_t size) {
  return (struct range){(uint32_t)(place - layout->start), (uint32_t)size};
}

static void add_fixed(struct layout *layout, const uint8_t *place, size_t size) {
  if (place != NULL) layout->fixed[layout->n_fixed++] = range_at(layout, place, size);
}

/* A table's vtable, and of its inline part the offset to the vtable: fields are added by those who know them. */
static void add_table(struct layout *layout, struct csf_fb_table table) {
  add_fixed(layout, table.vtable, table.vtable_size);
  add_fixed(layout, table.place, 4);
}

static bool overlap(struct range a, struct range b) {
  return a.start < b.start + b.size && b.start < a.start + a.size;
}

/* Changing what varies must change nothing that was verified: a hostile writer may have laid one over the other. */
static bool stands_apart(const struct layout *layout) {
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < layout->n_fixed; j++) {
      if (overlap(layout->varying[i], layout->fixed[j])) return false;
    }
    for (int j = 0; j < i; j++) {
      if (overlap(layout->varying[i], layout->varying[j])) return false;
    }
  }
  return true;
}

/* The vector behind the offset field `id`: the offset and the count are fixed, the elements vary. */
static bool add_vector(struct layout *layout, struct csf_fb_table table, uint32_t id, struct range *elements, uint32_t *count) {
  const uint8_t *field = csf_fb_field(table, id);
  if (field == NULL) return false;
  struct csf_fb_vector vector = csf_fb_elements(table, id);
  if (vector.count == 0) return false; /* nothing to gain, and the place of no elements may be anywhere */
  add_fixed(layout, field, 4);
  add_fixed(layout, vector.data - 4, 4);
  *elements = range_at(layout, vector.data, (size_t)vector.count * 16);
  *count = vector.count;
  return true;
}

static struct csf_fb_table add_dictionary(struct layout *layout, struct csf_fb_table dictionary) {
  add_table(layout, dictionary);
  add_fixed(layout, csf_fb_field(dictionary, CSF_DICTIONARY_ID), 8);
  add_fixed(layout, csf_fb_field(dictionary, CSF_DICTIONARY_DATA), 4);
  add_fixed(layout, csf_fb_field(dictionary, CSF_DICTIONARY_IS_DELTA), 1);
  return csf_fb_child(dictionary, CSF_DICTIONARY_DATA);
}

static struct csf_fb_table add_message(struct layout *layout, const struct csf_message *message) {
  struct csf_fb_table root = csf_fb_root(message->metadata), header = csf_fb_child(root, CSF_MESSAGE_HEADER);
  add_fixed(layout, message->metadata.data, 4);
  add_table(layout, root);
  add_fixed(layout, csf_fb_field(root, CSF_MESSAGE_VERSION), 2);
  add_fixed(layout, csf_fb_field(root, CSF_MESSAGE_HEADER_TYPE), 1);
  add_fixed(layout, csf_fb_field(root, CSF_MESSAGE_HEADER), 4);
  return message->kind == CSF_MESSAGE_DICTIONARY ? add_dictionary(layout, header) : header;
}

static bool find_layout(const struct csf_message *message, struct layout *layout, uint32_t *n_nodes, uint32_t *n_buffers) {
  layout->start = message->metadata.data;
  struct csf_fb_table root = csf_fb_root(message->metadata), batch = add_message(layout, message);
  const uint8_t *body_size = csf_fb_field(root, CSF_MESSAGE_BODY_LENGTH), *length = csf_fb_field(batch, CSF_BATCH_LENGTH);
  if (body_size == NULL || length == NULL || csf_fb_field(root, CSF_MESSAGE_METADATA) != NULL) return false;
  if (csf_fb_field(batch, CSF_BATCH_COMPRESSION) != NULL || csf_fb_field(batch, CSF_BATCH_VARIADIC) != NULL) return false;
  add_table(layout, batch);
  layout->varying[0] = range_at(layout, body_size, 8);
  layout->varying[1] = range_at(layout, length, 8);
  if (!add_vector(layout, batch, CSF_BATCH_NODES, &layout->varying[2], n_nodes)) return false;
  if (!add_vector(layout, batch, CSF_BATCH_BUFFERS, &layout->varying[3], n_buffers)) return false;
  return stands_apart(layout);
}

/* The varying ranges in ascending order leave five segments between them. */
static void set_segments(struct csf_message_shape *shape, const struct layout *layout, uint32_t whole) {
  struct range sorted[4];
  for (int i = 0; i < 4; i++) {
    struct range range = layout->varying[i];
    range.start += shape->prefix_size;
    int j = i;
    for (; j > 0 && sorted[j - 1].start > range.start; j--) sorted[j] = sorted[j - 1];
    sorted[j] = range;
  }
  uint32_t at = 0;
  for (int i = 0; i < 4; i++) {
    shape->segments[i].start = at;
    shape->segments[i].size = sorted[i].start - at;
    at = sorted[i].start + sorted[i].size;
  }
  shape->segments[4].start = at;
  shape->segments[4].size = whole - at;
}

void csf_message_shape_learn(struct csf_message_shape *shape, const struct csf_message *message) {
  struct layout layout = {.n_fixed = 0};
  uint32_t n_nodes = 0, n_buffers = 0;
  if (message->kind != CSF_MESSAGE_BATCH && message->kind != CSF_MESSAGE_DICTIONARY) return;
  if (message->framing.size > UINT32_MAX || !find_layout(message, &layout, &n_nodes, &n_buffers)) return;
  shape->bytes.size = 0;
  /* Without memory there is no shape: messages are then verified one by one, as before. */
  if (csf_buffer_append(&shape->bytes, message->framing.data, message->framing.size, NULL) != COLSHUF_OK) return;
  uint32_t prefix = (uint32_t)(message->framing.size - message->metadata.size);
  shape->prefix_size = prefix;
  shape->kind = message->kind;
  shape->is_v4 = message->is_v4;
  shape->places = (struct csf_batch_places){.body_size = prefix + layout.varying[0].start,
                                            .length = prefix + layout.varying[1].start,
                                            .nodes = prefix + layout.varying[2].start,
                                            .buffers = prefix + layout.varying[3].start,
                                            .n_nodes = n_nodes,
                                            .n_buffers = n_buffers};
  set_segments(shape, &layout, (uint32_t)message->framing.size);
}

bool csf_message_shape_take(const struct csf_message_shape *shape, struct csf_cursor *cursor, uint64_t max_body_size,
                            struct csf_message *out) {
  size_t size = shape->bytes.size;
  if (size == 0 || size > cursor->size) return false;
  const uint8_t *data = cursor->data;
  for (int i = 0; i < CSF_SHAPE_SEGMENTS; i++) {
    uint32_t start = shape->segments[i].start;
    if (memcmp(data + start, shape->bytes.data + start, shape->segments[i].size) != 0) return false;
  }
  uint64_t body_size = csf_load_u64(data + shape->places.body_size); /* negative ones are too large */
  if (body_size > max_body_size || body_size > cursor->size - size) return false;
  *out = (struct csf_message){.kind = shape->kind,
                              .is_v4 = shape->is_v4,
                              .framing = {data, size},
                              .metadata = {data + shape->prefix_size, size - shape->prefix_size},
                              .body = {data + size, (size_t)body_size},
                              .places = &shape->places};
  cursor->data += size + (size_t)body_size;
  cursor->size -= size + (size_t)body_size;
  return true;
}
