/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call of colshuf, through one table, so that tests can let each of them fail; and the loops around them. */
#ifndef CSF_FILE_IO_H
#define CSF_FILE_IO_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/memory.h"

/* As the system calls of the same name: -1 and errno on failure. */
struct csf_io {
  int (*open)(const char *path, int flags, mode_t mode);
  int (*close)(int fd);
  ssize_t (*read)(int fd, void *buffer, size_t size);
  ssize_t (*pread)(int fd, void *buffer, size_t size, off_t offset);
  ssize_t (*write)(int fd, const void *buffer, size_t size);
  ssize_t (*pwrite)(int fd, const void *buffer, size_t size, off_t offset);
  ssize_t (*copy_range)(int in, off_t *in_offset, int out, size_t size); /* copy_file_range */
  int (*discard)(int fd, uint64_t offset, uint64_t size); /* fallocate: the range reads as zeros, its blocks are free */
  int (*rename)(const char *from, const char *to);
  int (*unlink)(const char *path);
  int (*fstat)(int fd, struct stat *out);
  int (*stat)(const char *path, struct stat *out);
  int (*fsync)(int fd);
  int (*flock)(int fd, int operation);
};

/* The table in use. Tests put their own here (csf_io_system is the real one); nobody else writes it. */
extern const struct csf_io csf_io_system;
extern const struct csf_io *csf_io_current;

/* Loops over EINTR and short results. path is for messages only. csf_open_read refuses directories; found may be NULL. */
enum colshuf_status csf_open_read(const char *path, int *fd, struct stat *found, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Regular files only: IO (ESPIPE) for pipes and the like. */
enum colshuf_status csf_file_size(const struct stat *found, const char *path, uint64_t *size, struct colshuf_error *err) COLSHUF_MUST_USE;
/* Exactly size bytes at offset; fewer is CORRUPT ("file ends at …, … bytes wanted at …"). */
enum colshuf_status csf_pread_all(int fd, const char *path, uint64_t offset, void *buffer, size_t size, struct colshuf_error *err)
    COLSHUF_MUST_USE;
enum colshuf_status csf_write_all(int fd, const char *path, const void *data, size_t size, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_pwrite_all(int fd, const char *path, uint64_t offset, const void *data, size_t size,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;
/* Copies size bytes at offset of in to the place of out: copy_file_range where it works, else read and write. Short in = CORRUPT. */
enum colshuf_status csf_copy_all(int in, const char *in_path, uint64_t offset, int out, const char *out_path, uint64_t size,
                                 struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_close(int fd, const char *path, struct colshuf_error *err) COLSHUF_MUST_USE; /* fd < 0 is fine */

#endif
