/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow IPC streams and files, read and written: docs/formats/ipc.md. */
#ifndef COLSHUF_IPC_H
#define COLSHUF_IPC_H

#include "colshuf/block.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where bytes come from. read fills buffer with up to size bytes and returns how many (0 = end, short reads are fine) or
 * -errno. read_at and size, where given, allow the file format; release (may be NULL) is called once when the reader is done.
 */
struct colshuf_input {
  int64_t (*read)(void *ctx, void *buffer, size_t size);
  int64_t (*read_at)(void *ctx, uint64_t position, void *buffer, size_t size);
  int64_t (*size)(void *ctx);
  void (*release)(void *ctx);
  void *ctx;
};

struct colshuf_ipc_reader_options {
  struct colshuf_allocator allocator;
  enum colshuf_trust trust;
  struct colshuf_limits limits;
  int ignore_trailing; /* not 0: bytes after a stream's end marker are not looked at, and the input is left right behind it */
};

/*
 * Reads an Arrow IPC stream or, where the input can read_at and starts with ARROW1, a file, as *out: legacy framing, metadata
 * V4 and V5, body compression, dictionaries with deltas and replacement. Each batch is validated as options->trust says.
 * Takes *input over (released with *out, or on failure). The caller releases *out.
 * get_next gives an errno value and get_last_error the text; colshuf_stream_status tells the status.
 * Errors here (schema): CORRUPT, UNSUPPORTED, LIMIT, IO, NO_MEMORY. Threads: one at a time.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_ipc_reader_open(const struct colshuf_input *input,
                                                                         const struct colshuf_ipc_reader_options *options,
                                                                         struct ArrowArrayStream *out,
                                                                         struct colshuf_error *err);

/* The same over a file of this path ("-" = standard input, streams only). */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_ipc_reader_open_path(const char *path,
                                                                              const struct colshuf_ipc_reader_options *options,
                                                                              struct ArrowArrayStream *out,
                                                                              struct colshuf_error *err);

/* The status of the last failure of a stream that colshuf made; INVALID_ARGUMENT for any other stream. */
COLSHUF_API enum colshuf_status colshuf_stream_status(const struct ArrowArrayStream *stream);

/* Where bytes go. Returns 0 or an errno value; must take all size bytes. */
struct colshuf_output {
  int (*write)(void *ctx, const void *data, size_t size);
  void *ctx;
};

struct colshuf_ipc_writer_options {
  struct colshuf_allocator allocator;
  int file_format;             /* 0 = stream, else file with footer */
  enum colshuf_layout layout;  /* COMPACT here means 64-byte padding without needless validity buffers */
  int compress;                /* body compression: 0 none, 1 LZ4 frame, 2 zstd */
};

struct colshuf_ipc_writer;

/* Writes the schema message (and magic) at once. *output is copied; ctx must outlive the writer. Errors: as usual, IO from output. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_ipc_writer_new(const struct ArrowSchema *schema,
                                                                        const struct colshuf_output *output,
                                                                        const struct colshuf_ipc_writer_options *options,
                                                                        struct colshuf_ipc_writer **out,
                                                                        struct colshuf_error *err);

/*
 * Writes rows [offset, offset + length) of batch as one message, its dictionaries before it where they changed (in a file a
 * changed dictionary that does not extend the old one is UNSUPPORTED). batch is borrowed and must be valid.
 */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_ipc_writer_write(struct colshuf_ipc_writer *writer,
                                                                          const struct ArrowArray *batch, int64_t offset,
                                                                          int64_t length, struct colshuf_error *err);

/* Writes the end marker (and footer). Without it the output has no end. The writer takes no batch afterwards. */
COLSHUF_API COLSHUF_MUST_USE enum colshuf_status colshuf_ipc_writer_finish(struct colshuf_ipc_writer *writer,
                                                                           struct colshuf_error *err);
COLSHUF_API void colshuf_ipc_writer_free(struct colshuf_ipc_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
