/* SPDX-License-Identifier: Apache-2.0 */
/* Reading from a colshuf_input: exact sizes, and memory that grows with the bytes that really come. */
#ifndef CSF_IPC_INPUT_H
#define CSF_IPC_INPUT_H

#include "base/bytes.h"
#include "colshuf/ipc.h"

/* Reads until size bytes are there or the input ends; *got tells. Error: IO. */
enum colshuf_status csf_input_read(const struct colshuf_input *input, void *buffer, size_t size, size_t *got,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;

/* Replaces the content of *out by the next size bytes. Fewer is CORRUPT; what names the thing. Grows in steps of at most 64 MiB as the bytes come. */
enum colshuf_status csf_input_take(const struct colshuf_input *input, uint64_t size, const char *what, struct csf_buffer *out,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;

/* The same from a place. */
enum colshuf_status csf_input_take_at(const struct colshuf_input *input, uint64_t position, uint64_t size, const char *what,
                                      struct csf_buffer *out, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Opens path ("-" = standard input) as an input; regular files can read_at. Errors: IO, NO_MEMORY. */
enum colshuf_status csf_input_open_path(const char *path, const struct colshuf_allocator *allocator, struct colshuf_input *out,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
