/* SPDX-License-Identifier: Apache-2.0 */
/* The three checksums of Spark's shuffle files: formats.md D.4. */
#ifndef CSF_FILE_CHECKSUM_H
#define CSF_FILE_CHECKSUM_H

#include "base/memory.h"
#include "colshuf/shuffle.h"

/* Start value of a running checksum (what an empty partition has), and its continuation over more bytes. NONE stays 0. */
uint32_t csf_checksum_start(enum colshuf_checksum algorithm);
uint32_t csf_checksum_update(enum colshuf_checksum algorithm, uint32_t running, const void *data, size_t size);

/* INVALID_ARGUMENT when there is no such algorithm. */
enum colshuf_status csf_checksum_check(enum colshuf_checksum algorithm, struct colshuf_error *err) COLSHUF_MUST_USE;

/* "ADLER32", "CRC32", "CRC32C": the ending of the checksum file; NULL for NONE. */
const char *csf_checksum_name(enum colshuf_checksum algorithm);

#endif
