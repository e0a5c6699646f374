/* SPDX-License-Identifier: Apache-2.0 */
/* IPC messages by hand, valid or not: what readers are fed with. */
#ifndef CSF_TEST_MESSAGES_H
#define CSF_TEST_MESSAGES_H

#include "arrow/schema.h"
#include "support/harness.h"

/* The parts of a RecordBatch or DictionaryBatch message. */
struct test_message {
  int64_t length;
  const int64_t (*nodes)[2]; /* length, null count */
  size_t n_nodes;
  const int64_t (*buffers)[2]; /* offset, size */
  size_t n_buffers;
  const int64_t *variadic;
  size_t n_variadic;
  int compression; /* 0 none, 1 LZ4, 2 zstd, 9 a codec that does not exist */
  bool is_dictionary, is_delta;
  int64_t id;
  bool is_v4;
  const void *body;
  size_t body_size;     /* a multiple of 8, or padded to one */
  int64_t announced;    /* bodyLength; 0 = as it is */
};

#define TEST_NODES(...) .nodes = (const int64_t[][2]){__VA_ARGS__}, .n_nodes = sizeof(const int64_t[][2]){__VA_ARGS__} / 16
#define TEST_BUFFERS(...) .buffers = (const int64_t[][2]){__VA_ARGS__}, .n_buffers = sizeof(const int64_t[][2]){__VA_ARGS__} / 16
#define TEST_VARIADIC(...) .variadic = (const int64_t[]){__VA_ARGS__}, .n_variadic = sizeof(const int64_t[]){__VA_ARGS__} / 8
#define TEST_BODY(bytes) .body = (bytes), .body_size = sizeof(bytes)

/* Appends the framed message and its body; alignment 8. */
void test_message_append(struct csf_buffer *out, const struct test_message *message);

/* Appends the schema message of the schema that text describes (support/types.h). */
void test_schema_append(struct csf_buffer *out, const char *text);

/* Appends FF FF FF FF 00 00 00 00. */
void test_end_append(struct csf_buffer *out);

/* An empty buffer in test_heap. */
struct csf_buffer test_buffer(void);
void test_append(struct csf_buffer *out, const void *data, size_t size);

#endif
