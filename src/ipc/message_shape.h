/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of one writer and schema look alike: only the rows, the nodes, the buffers and the body's length of batches and dictionaries
 * differ from one to the next. A shape is a message that was verified, and where these numbers stand in it; a message that equals it in every
 * other byte needs no second verification.
 */
#ifndef CSF_IPC_MESSAGE_SHAPE_H
#define CSF_IPC_MESSAGE_SHAPE_H

#include "ipc/message.h"

/* Places counted from the first byte of a framed message. Size of each: 8, 8, 16 n_nodes, 16 n_buffers. */
struct csf_batch_places {
  uint32_t body_size;
  uint32_t length;
  uint32_t nodes;
  uint32_t buffers;
  uint32_t n_nodes;
  uint32_t n_buffers;
};

enum { CSF_SHAPE_SEGMENTS = 5 };

/* All zero but the allocator of bytes: no shape, nothing fits. */
struct csf_message_shape {
  struct csf_buffer bytes; /* prefix and metadata; size 0 = none */
  uint32_t prefix_size;
  enum csf_message_kind kind;
  bool is_v4;
  struct csf_batch_places places;
  struct {
    uint32_t start, size;
  } segments[CSF_SHAPE_SEGMENTS]; /* the bytes in between, which must be equal */
};

/*
 * Remembers a verified batch or dictionary message, if its metadata is of the simple kind: no compression, no variadic buffers, no metadata of its
 * own, and its numbers stand apart from everything that verification looked at. Otherwise the shape stays as it was.
 */
void csf_message_shape_learn(struct csf_message_shape *shape, const struct csf_message *message);

/*
 * Takes the message at the cursor if it has the shape and its body is there and within max_body_size. False says nothing about the
 * message, and the cursor stays.
 */
bool csf_message_shape_take(const struct csf_message_shape *shape, struct csf_cursor *cursor, uint64_t max_body_size,
                            struct csf_message *out);

#endif
