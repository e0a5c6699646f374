/* SPDX-License-Identifier: Apache-2.0 */
/* What a file that colshuf cannot take is, by its first bytes and its name, and what to do with it. */
#ifndef CLI_KIND_H
#define CLI_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum { KIND_HEAD = 24 }; /* bytes that are looked at */

/* "a Parquet file", and "write it as Arrow IPC first"; what is NULL for none that is known. Both are static. */
struct file_kind {
  const char *what;
  const char *advice;
};

/* Shuffle blocks: head names a codec where a block has it. */
bool head_is_block(const unsigned char *head, size_t size);

/* Arrow file or stream of today's format. */
bool head_is_arrow(const unsigned char *head, size_t size);

/* Of a file that has no Arrow data in it. An index or a checksum file is known by its name. */
struct file_kind kind_of_foreign(const char *path, const unsigned char *head, size_t size);

#endif
