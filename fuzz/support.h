/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: limits that keep one input cheap, and the promises that every accepted batch must keep. */
#ifndef CSF_FUZZ_SUPPORT_H
#define CSF_FUZZ_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colshuf/colshuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small enough that no input takes long or much memory, large enough that no seed is refused for it. */
static inline struct colshuf_limits fuzz_limits(void) {
  return (struct colshuf_limits){.max_decompressed_size = 16u << 20, .max_rows = 1 << 22, .max_dictionary_size = 16u << 20};
}

/* Stops the fuzzer where a promise is broken. */
#define PROMISE(condition)                                                       \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);    \
      abort();                                                                   \
    }                                                                            \
  } while (0)

/* A failure has a status and a text; nothing else may come out of it. */
static inline void fuzz_check_failure(enum colshuf_status status, const struct colshuf_error *err) {
  PROMISE(status > COLSHUF_OK && status <= COLSHUF_CANCELLED);
  PROMISE(err->status == status);
  PROMISE(err->message[0] != '\0' && memchr(err->message, '\0', sizeof err->message) != NULL);
}

/* A level of trust out of a byte of the input. */
static inline enum colshuf_trust fuzz_trust(uint8_t byte) {
  if ((byte & 1) != 0) return COLSHUF_TRUSTED_LOCAL;
  return (byte & 2) != 0 ? COLSHUF_TRUSTED_VERIFIED : COLSHUF_UNTRUSTED;
}

/*
 * Every accepted batch is valid (in full when the bytes counted as untrusted), and every row of it can be copied: that touches all
 * memory which the batch refers to. Of bytes that counted as verified nobody has looked at the values: only their structure is.
 */
static inline void fuzz_check_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, enum colshuf_trust trust) {
  struct colshuf_error err = {0};
  if (trust == COLSHUF_TRUSTED_VERIFIED) {
    PROMISE(colshuf_array_validate(schema, batch, 0, &err) == COLSHUF_OK);
    return;
  }
  if (trust == COLSHUF_UNTRUSTED) PROMISE(colshuf_array_validate(schema, batch, 1, &err) == COLSHUF_OK);
  struct ArrowArray copy = {0};
  const struct ArrowArray *arrays[2] = {batch, batch};
  enum colshuf_status status = colshuf_array_concat(schema, arrays, 2, NULL, &copy, &err);
  if (status == COLSHUF_OK) {
    PROMISE(copy.length == 2 * batch->length);
    copy.release(&copy);
  } else {
    fuzz_check_failure(status, &err);
  }
}

/* Reads a stream to its end or its first failure. */
static inline void fuzz_drain(struct ArrowArrayStream *stream, enum colshuf_trust trust) {
  struct ArrowSchema schema = {0};
  if (stream->get_schema(stream, &schema) == 0) {
    for (;;) {
      struct ArrowArray batch = {0};
      if (stream->get_next(stream, &batch) != 0) {
        PROMISE(batch.release == NULL);
        PROMISE(colshuf_stream_status(stream) != COLSHUF_OK);
        break;
      }
      if (batch.release == NULL) break;
      fuzz_check_batch(&schema, &batch, trust);
      batch.release(&batch);
    }
    schema.release(&schema);
  }
  stream->release(stream);
}

/* A colshuf_input over memory; every read gives at most `step` bytes (0 = all). */
struct fuzz_memory {
  const uint8_t *data;
  size_t size, at, step;
};
static inline int64_t fuzz_read(void *ctx, void *buffer, size_t size) {
  struct fuzz_memory *memory = ctx;
  size_t n = memory->size - memory->at;
  if (n > size) n = size;
  if (memory->step != 0 && n > memory->step) n = memory->step;
  if (n > 0) memcpy(buffer, memory->data + memory->at, n);
  memory->at += n;
  return (int64_t)n;
}
static inline int64_t fuzz_read_at(void *ctx, uint64_t position, void *buffer, size_t size) {
  struct fuzz_memory *memory = ctx;
  if (position >= memory->size) return 0;
  size_t n = memory->size - (size_t)position;
  if (n > size) n = size;
  if (n > 0) memcpy(buffer, memory->data + position, n);
  return (int64_t)n;
}
static inline int64_t fuzz_size(void *ctx) {
  return (int64_t)((struct fuzz_memory *)ctx)->size;
}

/* Opens an Arrow IPC stream, or a file where the input can seek, and reads it to its end or first failure. */
static inline void fuzz_read_ipc(const struct colshuf_input *input, enum colshuf_trust trust) {
  struct colshuf_ipc_reader_options options = {.trust = trust, .limits = fuzz_limits()};
  struct ArrowArrayStream stream = {0};
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_ipc_reader_open(input, &options, &stream, &err);
  if (status == COLSHUF_OK) fuzz_drain(&stream, trust);
  else fuzz_check_failure(status, &err);
}

#endif
