/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every other header of colshuf builds on: status values, the error text, the allocator, limits and trust.
 */
#ifndef COLSHUF_BASE_H
#define COLSHUF_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLSHUF_VERSION "0.1.0"

#if defined(__GNUC__)
#define COLSHUF_API __attribute__((visibility("default")))
#define COLSHUF_MUST_USE __attribute__((warn_unused_result))
#else
#define COLSHUF_API
#define COLSHUF_MUST_USE
#endif

/*
 * One value for each thing that a caller can do about a failure. The numbers are fixed for ever.
 */
enum colshuf_status {
  COLSHUF_OK = 0,
  COLSHUF_INVALID_ARGUMENT = 1, /* the call is wrong: mend the caller */
  COLSHUF_CORRUPT = 2,          /* bytes break their format: fetch or write them again */
  COLSHUF_UNSUPPORTED = 3,      /* well-formed, but this build or mode does not do it */
  COLSHUF_LIMIT = 4,            /* a limit of the options was reached: raise it if the source is trusted */
  COLSHUF_NO_MEMORY = 5,        /* an allocation was refused */
  COLSHUF_IO = 6,               /* the operating system refused; see colshuf_error.system_errno */
  COLSHUF_CANCELLED = 7         /* the caller, or one of its callbacks, asked to stop */
};

/*
 * Where a failure is described; the caller's storage, may be NULL in every call. Written only on failure.
 * The message names the place (file, partition, block, column, byte offset) and both numbers; it is one line of UTF-8.
 */
struct colshuf_error {
  enum colshuf_status status;
  int system_errno; /* errno for COLSHUF_IO, else 0 */
  char message[1008];
};

/*
 * The allocator: one function. pointer NULL (old_size 0) allocates; new_size 0 frees and returns NULL; otherwise
 * resizes. On failure it returns NULL and leaves the old block as it is. The result is aligned as by malloc; colshuf
 * adds its own 64-byte alignment. Must be thread-safe when handles that share it are used from several threads.
 * The all-zero value means the C heap.
 */
struct colshuf_allocator {
  void *(*resize)(void *ctx, void *pointer, size_t old_size, size_t new_size);
  void *ctx;
};

/*
 * Where bytes come from, and so what is checked of the values in them. Structure (counts, lengths, extents) is checked always, and no
 * decoder ever reads outside of its input. Zero is the safe one.
 *
 * UNTRUSTED         from anywhere: every rule of the format, UTF-8 and null counts included.
 * TRUSTED_LOCAL     of this machine and user: whatever leads to other memory (offsets, indices, views, type ids, run ends) is still
 *                   checked, so that whoever reads the batch stays inside of it; other values are not.
 * TRUSTED_VERIFIED  written by this machine, and a checksum of them has been verified since: of offsets the first and the last are
 *                   checked, of other values none, so that the time does not depend on the rows. If that is wrong, whoever reads the batch
 *                   may be led outside of it, as with any Arrow array of a faulty producer.
 *                   Where colshuf itself copies values (dictionaries, the shuffle reader), this counts as TRUSTED_LOCAL.
 */
enum colshuf_trust { COLSHUF_UNTRUSTED = 0, COLSHUF_TRUSTED_LOCAL = 1, COLSHUF_TRUSTED_VERIFIED = 2 };

/*
 * What a reader accepts at most; a zero field means the default in brackets.
 */
struct colshuf_limits {
  uint64_t max_decompressed_size; /* bytes of one block, message body or buffer after decompression [2^31 - 1 + 2^20] */
  int64_t max_rows;               /* rows of one batch [2^31 - 1] */
  uint32_t max_depth;             /* nesting of types [64] */
  uint32_t max_fields;            /* fields of a schema, nested ones included [100000] */
  uint32_t max_metadata_size;     /* bytes of one IPC metadata message [2^28] */
  uint64_t max_dictionary_size;   /* bytes of all dictionaries of one stream [2^31 - 1] */
  uint64_t max_memory;            /* bytes that one handle may hold at a time [no limit] */
};

/* The version of the library that is linked, "major.minor.patch". Any thread. */
COLSHUF_API const char *colshuf_version(void);

/* The name of a status in lower case, such as "corrupt"; "unknown" for any other number. Any thread. */
COLSHUF_API const char *colshuf_status_name(enum colshuf_status status);

#ifdef __cplusplus
}
#endif
#endif
