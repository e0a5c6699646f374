/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "base/bytes.h"
#include "file/checksum.h"
#include "file/output.h"
#include "support/faults.h"
#include "support/harness.h"

static const char *path_of(const char *name) {
  static char paths[8][512];
  static int next;
  next = (next + 1) % 8;
  snprintf(paths[next], sizeof paths[next], "%s/%s", test_directory(), name);
  return paths[next];
}

static void put_file(const char *name, const void *data, size_t size) {
  FILE *file = fopen(path_of(name), "wb");
  REQUIRE(file != NULL);
  REQUIRE(fwrite(data, 1, size, file) == size);
  REQUIRE(fclose(file) == 0);
}

static bool exists(const char *name) {
  return access(path_of(name), F_OK) == 0;
}

static int count_temporaries(void) {
  int n = 0;
  DIR *entries = opendir(test_directory());
  REQUIRE(entries != NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) n += strstr(entry->d_name, ".colshuf-tmp") != NULL;
  closedir(entries);
  return n;
}

static void check_values_of_checksums_come_out(void) {
  static const struct {
    enum colshuf_checksum algorithm;
    uint32_t empty, digits;
  } rows[] = {{COLSHUF_CHECKSUM_ADLER32, 1, 0x091e01de},
              {COLSHUF_CHECKSUM_CRC32, 0, 0xcbf43926},
              {COLSHUF_CHECKSUM_CRC32C, 0, 0xe3069283},
              {COLSHUF_CHECKSUM_NONE, 0, 0}};
  for (int i = 0; i < 4; i++) {
    uint32_t start = csf_checksum_start(rows[i].algorithm);
    CHECK_INT(start, rows[i].empty);
    CHECK_INT(csf_checksum_update(rows[i].algorithm, start, NULL, 0), rows[i].empty);
    CHECK_INT(csf_checksum_update(rows[i].algorithm, start, "123456789", 9), rows[i].digits);
    uint32_t half = csf_checksum_update(rows[i].algorithm, start, "1234", 4);
    CHECK_INT(csf_checksum_update(rows[i].algorithm, half, "56789", 5), rows[i].digits);
  }
  CHECK_STRING(csf_checksum_name(COLSHUF_CHECKSUM_CRC32C), "CRC32C");
  CHECK(csf_checksum_name(COLSHUF_CHECKSUM_NONE) == NULL);
}

/* Both by their definitions, one byte at a time. */
static uint32_t adler_by_definition(uint32_t running, const uint8_t *data, size_t size) {
  uint32_t a = running & 0xffff, b = running >> 16;
  for (size_t i = 0; i < size; i++) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}
static uint32_t crc_by_definition(uint32_t running, const uint8_t *data, size_t size) {
  uint32_t crc = ~running;
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

static void checksums_equal_their_definitions_at_every_length(void) {
  enum { SIZE = 200000 };
  uint8_t *data = malloc(SIZE);
  struct test_random random = {5};
  for (size_t i = 0; i < SIZE; i++) data[i] = (uint8_t)(test_random_next(&random) | (i < SIZE / 2 ? 0xf0 : 0));
  for (size_t size = 0; size < 1200; size++) {
    size_t start = size % 7;
    CHECK_INT(csf_checksum_update(COLSHUF_CHECKSUM_ADLER32, 0xfff0fff0, data + start, size),
              adler_by_definition(0xfff0fff0, data + start, size));
    CHECK_INT(csf_checksum_update(COLSHUF_CHECKSUM_CRC32, 12345, data + start, size), crc_by_definition(12345, data + start, size));
  }
  for (size_t size = SIZE - 5; size <= SIZE; size++) {
    CHECK_INT(csf_checksum_update(COLSHUF_CHECKSUM_ADLER32, 1, data, size), adler_by_definition(1, data, size));
    CHECK_INT(csf_checksum_update(COLSHUF_CHECKSUM_CRC32, 0, data, size), crc_by_definition(0, data, size));
  }
  memset(data, 0xff, SIZE);
  CHECK_INT(csf_checksum_update(COLSHUF_CHECKSUM_ADLER32, 1, data, SIZE), adler_by_definition(1, data, SIZE));
  free(data);
}

/* One output of 4 partitions whose bytes are all `mark`. */
struct attempt {
  uint8_t mark;
  enum colshuf_checksum checksum;
  int native_index;
  int durable;
};
static const uint64_t sizes[4] = {100, 0, 70000, 5};
enum { TOTAL = 70105 };

static enum colshuf_status fill(struct csf_temp_file *data, uint8_t mark, struct colshuf_error *err) {
  uint8_t bytes[70000];
  memset(bytes, mark, sizeof bytes);
  CSF_TRY(csf_temp_write(data, bytes, 100, err));
  int fd;
  CSF_TRY(csf_open_read(path_of("source"), &fd, NULL, err));
  enum colshuf_status status = csf_temp_copy(data, fd, "source", mark == 'b' ? 70000 : 0, 70000, err);
  if (status == COLSHUF_OK) status = csf_temp_copy(data, fd, "source", mark == 'b' ? 70000 : 0, 5, err);
  csf_io_current->close(fd);
  return status;
}

static uint64_t copied_by_system;

static ssize_t count_copy(int in, off_t *in_offset, int out, size_t size) {
  ssize_t n = csf_io_system.copy_range(in, in_offset, out, size);
  if (n > 0) copied_by_system += (uint64_t)n;
  return n;
}

/* Ranges of a file of growing numbers, and writes between them, of sizes on either side of every bound. */
static void copy_ranges(struct csf_temp_file *file, const uint8_t *all, int fd, struct csf_buffer *expected) {
  struct colshuf_error err;
  static const size_t ranges[] = {1, 16383, 16384, 65536, 100000, 262143, 262144, 262145, 9 << 20};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    REQUIRE_OK(csf_temp_copy(file, fd, "source", 1000 * i, ranges[i], &err));
    REQUIRE_OK(csf_buffer_append(expected, all + 1000 * i, ranges[i], &err));
    REQUIRE_OK(csf_temp_write(file, all, ranges[i] / 2, &err));
    REQUIRE_OK(csf_buffer_append(expected, all, ranges[i] / 2, &err));
    CHECK_INT(file->size, expected->size);
  }
}

static void ranges_are_gathered_or_left_to_the_system(void) {
  struct colshuf_error err;
  enum { SIZE = 10 << 20 };
  static const uint64_t by_system[] = {16384 + 65536 + 100000 + 262143 + 262144 + 262145 + (9 << 20), 9 << 20};
  uint8_t *all = malloc(SIZE), *got = malloc(2 * SIZE);
  REQUIRE(all != NULL && got != NULL);
  for (uint32_t i = 0; i < SIZE; i++) all[i] = (uint8_t)(i * 2654435761u >> 24);
  struct csf_io counting = csf_io_system;
  counting.copy_range = count_copy;
  for (int wide = 0; wide < 2; wide++) {
    struct csf_temp_file source, file;
    struct csf_buffer expected;
    csf_buffer_init(&expected, &test_heap);
    REQUIRE_OK(csf_temp_create(&source, test_directory(), "source", &test_heap, &err));
    REQUIRE_OK(csf_temp_write(&source, all, SIZE, &err));
    REQUIRE_OK(csf_temp_create(&file, test_directory(), "ranges", &test_heap, &err));
    if (wide) csf_temp_gather(&file, 256 << 10);
    copied_by_system = 0;
    csf_io_current = &counting;
    copy_ranges(&file, all, source.fd, &expected);
    csf_io_current = &csf_io_system;
    CHECK_INT(copied_by_system, by_system[wide]);
    REQUIRE_OK(csf_temp_flush(&file, &err));
    CHECK_STATUS(csf_temp_copy(&file, source.fd, "source", SIZE - 10, 11, &err), COLSHUF_CORRUPT);
    REQUIRE_OK(csf_pread_all(file.fd, "ranges", 0, got, expected.size, &err));
    CHECK(memcmp(got, expected.data, expected.size) == 0);
    csf_temp_discard(&file);
    csf_temp_discard(&source);
    csf_buffer_clear(&expected);
  }
  free(all);
  free(got);
}

static enum colshuf_status commit_attempt(const struct attempt *attempt, struct colshuf_error *err) {
  char output[512];
  snprintf(output, sizeof output, "%s", path_of("out"));
  struct csf_temp_file data;
  CSF_TRY(csf_temp_create(&data, test_directory(), "out", &test_heap, err));
  enum colshuf_status status = fill(&data, attempt->mark, err);
  uint32_t checksums[4] = {attempt->mark, 1, 2, 3};
  struct csf_commit commit = {output,  &data,     sizes, 4, attempt->checksum, checksums, attempt->native_index, attempt->durable,
                              test_heap};
  if (status == COLSHUF_OK) status = csf_commit_output(&commit, err);
  csf_temp_discard(&data);
  csf_temp_discard(&data);
  return status;
}

static void make_source(void) {
  uint8_t *bytes = malloc(140000);
  memset(bytes, 'a', 70000);
  memset(bytes + 70000, 'b', 70000);
  put_file("source", bytes, 140000);
  free(bytes);
}

/* What stands under the final names: 0 nothing, else the mark of the one attempt that all of it belongs to. */
static int output_state(void) {
  struct colshuf_error err;
  struct colshuf_index_info index;
  int fd;
  if (!exists("out.index")) return 0;
  REQUIRE_OK(csf_output_open(path_of("out.data"), NULL, &fd, &index, &err));
  CHECK_INT(index.n_partitions, 4);
  for (int p = 0; p < 4; p++) CHECK_INT(index.offsets[p + 1] - index.offsets[p], sizes[p]);
  static uint8_t bytes[TOTAL];
  REQUIRE_OK(csf_pread_all(fd, "out.data", 0, bytes, TOTAL, &err));
  for (size_t i = 0; i < TOTAL; i++) REQUIRE(bytes[i] == bytes[0]);
  enum colshuf_checksum algorithm;
  uint32_t *checksums;
  REQUIRE_OK(csf_checksums_read(path_of("out.data"), 4, &test_heap, &algorithm, &checksums, &err));
  if (checksums != NULL) {
    CHECK_INT(checksums[0], bytes[0]);
    CHECK_INT(checksums[3], 3);
    csf_free(&test_heap, checksums, 16);
  }
  CHECK_INT(csf_close(fd, "out.data", &err), COLSHUF_OK);
  colshuf_index_clear(&index);
  return bytes[0];
}

static void a_commit_can_be_read_back_in_every_form(void) {
  struct colshuf_error err;
  make_source();
  for (int form = 0; form < 16; form++) {
    struct attempt attempt = {form & 1 ? 'a' : 'b', (enum colshuf_checksum)(form / 4), form & 1, form & 2};
    REQUIRE_OK(commit_attempt(&attempt, &err));
    CHECK_INT(output_state(), attempt.mark);
    int files = exists("out.checksum.ADLER32") + exists("out.checksum.CRC32") + exists("out.checksum.CRC32C");
    CHECK_INT(files, attempt.checksum != COLSHUF_CHECKSUM_NONE); /* those of the attempt before are gone */
    struct colshuf_index_info index;
    REQUIRE_OK(colshuf_index_read(path_of("out.index"), &index, &err));
    CHECK_INT(index.little_endian, attempt.native_index);
    colshuf_index_clear(&index);
  }
  CHECK_INT(count_temporaries(), 0);
}

/* Every call fails in every way: the old output, none, or the new one stands there; no descriptor, memory or file is lost. */
static void sweep(const char *call, enum test_effect effect, int error, bool must_succeed, uint64_t *injected) {
  struct colshuf_error err;
  for (uint64_t at = 1; at < 1000; at++) {
    struct attempt before = {'a', COLSHUF_CHECKSUM_CRC32, 0, 0}, after = {'b', COLSHUF_CHECKSUM_ADLER32, 0, 1};
    REQUIRE_OK(commit_attempt(&before, &err));
    test_fault = (struct test_fault){call, effect, error, at, 0, false};
    csf_io_current = &test_faulty_io;
    test_open_files = 0;
    enum colshuf_status status = commit_attempt(&after, &err);
    csf_io_current = &csf_io_system;
    test_fault.at = 0;
    CHECK_INT(test_open_files, 0);
    int state = output_state();
    CHECK(status == COLSHUF_OK ? state == 'b' : state == 0 || state == 'a' || state == 'b');
    CHECK(status == COLSHUF_OK || status == COLSHUF_IO || (error == ENOMEM && status == COLSHUF_NO_MEMORY));
    if (status == COLSHUF_IO) CHECK_INT(err.system_errno, error);
    if (must_succeed) CHECK_INT(status, COLSHUF_OK);
    /* A file that cannot be removed is the one thing that may stay. */
    bool unlink_failed = effect == TEST_FAIL_FOREVER || call == NULL || strcmp(call, "unlink") == 0;
    CHECK(count_temporaries() <= (unlink_failed ? 3 : 0));
    for (DIR *entries = opendir(test_directory()); entries != NULL; closedir(entries), entries = NULL) {
      for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strstr(entry->d_name, ".colshuf-tmp") != NULL) unlink(path_of(entry->d_name));
      }
    }
    if (!test_fault.hit) return;
    ++*injected;
  }
}

static void every_system_call_may_fail_and_no_mix_appears(void) {
  make_source();
  uint64_t injected = 0;
  sweep(NULL, TEST_FAIL, EIO, false, &injected);
  sweep(NULL, TEST_FAIL, ENOMEM, false, &injected);
  sweep(NULL, TEST_FAIL_FOREVER, EIO, false, &injected);
  sweep("write", TEST_FAIL, ENOSPC, false, &injected);
  sweep("copy_range", TEST_FAIL, ENOSPC, false, &injected);
  sweep("open", TEST_FAIL, EMFILE, false, &injected);
  sweep("rename", TEST_FAIL, EACCES, false, &injected);
  sweep("unlink", TEST_FAIL, EPERM, false, &injected);
  sweep("write", TEST_FAIL, EINTR, true, &injected);
  sweep("open", TEST_FAIL, EINTR, false, &injected);
  sweep("close", TEST_FAIL, EINTR, true, &injected);
  sweep("flock", TEST_FAIL, EINTR, true, &injected);
  sweep("flock", TEST_FAIL, ENOLCK, true, &injected);
  sweep("copy_range", TEST_FAIL, EINTR, true, &injected);
  sweep("copy_range", TEST_FAIL, EXDEV, true, &injected);
  sweep("copy_range", TEST_FAIL, ENOSYS, true, &injected);
  sweep("pread", TEST_FAIL, EINTR, true, &injected);
  sweep("write", TEST_SHORT, 0, true, &injected);
  sweep("pread", TEST_SHORT, 0, true, &injected);
  sweep("copy_range", TEST_SHORT, 0, true, &injected);
  printf("  %" PRIu64 " faults injected\n", injected);
  CHECK(injected > 100);
}

static void reading_survives_every_failing_call(void) {
  struct colshuf_error err;
  make_source();
  struct attempt attempt = {'a', COLSHUF_CHECKSUM_CRC32C, 0, 0};
  REQUIRE_OK(commit_attempt(&attempt, &err));
  for (uint64_t at = 1; at < 100; at++) {
    test_fault = (struct test_fault){NULL, TEST_FAIL, EIO, at, 0, false};
    csf_io_current = &test_faulty_io;
    test_open_files = 0;
    int fd = -1;
    struct colshuf_index_info index;
    enum colshuf_status status = csf_output_open(path_of("out.data"), NULL, &fd, &index, &err);
    CHECK(status == COLSHUF_OK || status == COLSHUF_IO);
    if (status == COLSHUF_OK) {
      CHECK_INT(index.offsets[4], TOTAL);
      colshuf_index_clear(&index);
      if (fd >= 0 && csf_close(fd, "data", &err) != COLSHUF_OK) CHECK(test_fault.hit);
    }
    enum colshuf_checksum algorithm;
    uint32_t *checksums;
    status = csf_checksums_read(path_of("out.data"), 4, &test_heap, &algorithm, &checksums, &err);
    CHECK(status == COLSHUF_OK || status == COLSHUF_IO);
    if (status == COLSHUF_OK && checksums != NULL) csf_free(&test_heap, checksums, 16);
    csf_io_current = &csf_io_system;
    test_fault.at = 0;
    CHECK_INT(test_open_files, 0);
    if (!test_fault.hit) return;
  }
}

static void a_file_that_is_too_short_says_where_it_ends(void) {
  struct colshuf_error err;
  put_file("short", "0123456789", 10);
  int fd;
  uint8_t bytes[16];
  REQUIRE_OK(csf_open_read(path_of("short"), &fd, NULL, &err));
  CHECK_STATUS(csf_pread_all(fd, "short", 4, bytes, 8, &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "short ends at 10, 8 bytes wanted at 4");
  int out = open(path_of("copy"), O_RDWR | O_CREAT, 0666);
  CHECK_STATUS(csf_copy_all(fd, "short", 2, out, "copy", 9, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "short ends at 10");
  close(out);
  CHECK_INT(csf_close(fd, "short", &err), COLSHUF_OK);
  CHECK_STATUS(csf_open_read(test_directory(), &fd, NULL, &err), COLSHUF_IO);
  CHECK_INT(err.system_errno, EISDIR);
  CHECK_STATUS(csf_open_read(path_of("nothing"), &fd, NULL, &err), COLSHUF_IO);
  CHECK_CONTAINS(err.message, "No such file or directory");
}

static void check_index(const void *bytes, size_t size, enum colshuf_status wanted, const char *message) {
  struct colshuf_error err;
  put_file("some.index", bytes, size);
  struct colshuf_index_info index;
  enum colshuf_status status = colshuf_index_read(path_of("some.index"), &index, &err);
  CHECK_STATUS(status, wanted);
  if (status == COLSHUF_OK) colshuf_index_clear(&index);
  if (status != COLSHUF_OK) CHECK_CONTAINS(err.message, message);
}

static void an_index_that_cannot_be_one_is_refused(void) {
  check_index("", 0, COLSHUF_CORRUPT, "has 0 bytes");
  check_index("1234567", 7, COLSHUF_CORRUPT, "has 7 bytes");
  check_index("\0\0\0\0\0\0\0\0", 8, COLSHUF_OK, "");
  uint8_t bytes[24] = {0};
  check_index(bytes, 24, COLSHUF_OK, "");
  csf_store_be64(bytes + 8, 500);
  csf_store_be64(bytes + 16, 499);
  check_index(bytes, 24, COLSHUF_CORRUPT, "offset 2 is 499, at least 500");
  csf_store_be64(bytes, 1);
  check_index(bytes, 24, COLSHUF_CORRUPT, "offset 0 is 1");
  csf_store_be64(bytes, 0);
  csf_store_u64(bytes + 16, UINT64_MAX);
  check_index(bytes, 24, COLSHUF_CORRUPT, "offset 2 is 18446744073709551615");
}

/* 1, 2, 3 rise in both byte orders. */
static void small_offsets_are_read_in_the_right_byte_order(void) {
  struct colshuf_error err;
  for (int native = 0; native < 2; native++) {
    uint8_t bytes[32] = {0};
    for (uint64_t i = 1; i < 4; i++) {
      if (native) {
        csf_store_u64(bytes + 8 * i, i * 257);
      } else {
        csf_store_be64(bytes + 8 * i, i * 257);
      }
    }
    put_file("some.index", bytes, sizeof bytes);
    struct colshuf_index_info index;
    REQUIRE_OK(colshuf_index_read(path_of("some.index"), &index, &err));
    CHECK_INT(index.little_endian, native);
    CHECK_INT(index.n_partitions, 3);
    for (uint64_t i = 0; i < 4; i++) CHECK_INT(index.offsets[i], i * 257);
    colshuf_index_clear(&index);
  }
}

static void data_of_another_size_than_the_index_says_is_refused(void) {
  struct colshuf_error err;
  struct colshuf_index_info index;
  int fd = -2;
  uint8_t bytes[16] = {0};
  csf_store_be64(bytes + 8, 10);
  put_file("some.index", bytes, 16);
  put_file("some.data", "012345678", 9);
  CHECK_STATUS(csf_output_open(path_of("some.data"), NULL, &fd, &index, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "some.data has 9 bytes");
  CHECK_CONTAINS(err.message, "some.index says 10");
  put_file("some.data", "01234567890", 11);
  CHECK_STATUS(csf_output_open(path_of("some.data"), NULL, &fd, &index, &err), COLSHUF_CORRUPT);
  REQUIRE(unlink(path_of("some.data")) == 0);
  CHECK_STATUS(csf_output_open(path_of("some.data"), NULL, &fd, &index, &err), COLSHUF_IO);
  CHECK_INT(fd, -2);
  csf_store_be64(bytes + 8, 0);
  put_file("some.index", bytes, 16);
  REQUIRE_OK(csf_output_open(path_of("some.data"), NULL, &fd, &index, &err));
  CHECK_INT(fd, -1);
  colshuf_index_clear(&index);
}

static void the_mark_of_partitions_without_checksum_is_understood(void) {
  struct colshuf_error err;
  uint8_t bytes[16];
  csf_store_be64(bytes, (uint64_t)1 << 63);
  csf_store_be64(bytes + 8, 0xfedcba98);
  put_file("x.checksum.ADLER32", bytes, 16);
  enum colshuf_checksum algorithm;
  uint32_t *checksums;
  REQUIRE_OK(csf_checksums_read(path_of("x.data"), 2, &test_heap, &algorithm, &checksums, &err));
  CHECK_INT(algorithm, COLSHUF_CHECKSUM_ADLER32);
  CHECK_INT(checksums[0], 1);
  CHECK_INT(checksums[1], 0xfedcba98);
  csf_free(&test_heap, checksums, 8);
  CHECK_STATUS(csf_checksums_read(path_of("x.data"), 3, &test_heap, &algorithm, &checksums, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "has 16 bytes, 3 partitions make 24");
  csf_store_be64(bytes, (uint64_t)1 << 32);
  put_file("x.checksum.ADLER32", bytes, 16);
  CHECK_STATUS(csf_checksums_read(path_of("x.data"), 2, &test_heap, &algorithm, &checksums, &err), COLSHUF_CORRUPT);
  REQUIRE_OK(csf_checksums_read(path_of("y.data"), 2, &test_heap, &algorithm, &checksums, &err));
  CHECK_INT(algorithm, COLSHUF_CHECKSUM_NONE);
  CHECK(checksums == NULL);
}

static void sizes_that_do_not_add_up_are_not_committed(void) {
  struct colshuf_error err;
  struct csf_temp_file data;
  REQUIRE_OK(csf_temp_create(&data, test_directory(), "out", &test_heap, &err));
  REQUIRE_OK(csf_temp_write(&data, "12345", 5, &err));
  uint64_t wrong[2] = {3, 3};
  char output[512];
  snprintf(output, sizeof output, "%s", path_of("out"));
  struct csf_commit commit = {.output = output, .data = &data, .sizes = wrong, .n_partitions = 2, .allocator = test_heap};
  CHECK_STATUS(csf_commit_output(&commit, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "the partitions have 6 bytes, the data file 5");
  csf_temp_discard(&data);
  CHECK(!exists("out.index") && !exists("out.data"));
  CHECK_INT(count_temporaries(), 0);
}

static void a_missing_directory_is_named(void) {
  struct colshuf_error err;
  struct csf_temp_file data = {.fd = -1};
  CHECK_STATUS(csf_temp_create(&data, "/nonexistent/folder", "out", &test_heap, &err), COLSHUF_IO);
  CHECK_CONTAINS(err.message, "/nonexistent/folder/.out.");
  csf_temp_discard(&data);
}

/* 5000 partitions: more bytes than are gathered at once. */
static void many_partitions_have_a_whole_index(void) {
  struct colshuf_error err;
  enum { N = 5000 };
  struct csf_temp_file data;
  REQUIRE_OK(csf_temp_create(&data, test_directory(), "out", &test_heap, &err));
  uint64_t many[N];
  uint32_t checksums[N];
  for (uint32_t p = 0; p < N; p++) {
    many[p] = p % 7;
    checksums[p] = p * 77777u;
    REQUIRE_OK(csf_temp_write(&data, "abcdef", p % 7, &err));
  }
  char output[512];
  snprintf(output, sizeof output, "%s", path_of("out"));
  struct csf_commit commit = {output, &data, many, N, COLSHUF_CHECKSUM_CRC32, checksums, 0, 0, test_heap};
  REQUIRE_OK(csf_commit_output(&commit, &err));
  int fd;
  struct colshuf_index_info index;
  REQUIRE_OK(csf_output_open(path_of("out.data"), NULL, &fd, &index, &err));
  CHECK_INT(index.n_partitions, N);
  enum colshuf_checksum algorithm;
  uint32_t *found;
  REQUIRE_OK(csf_checksums_read(path_of("out.data"), N, &test_heap, &algorithm, &found, &err));
  for (uint32_t p = 0; p < N; p++) {
    CHECK_INT(index.offsets[p + 1] - index.offsets[p], p % 7);
    CHECK_INT(found[p], checksums[p]);
  }
  csf_free(&test_heap, found, N * sizeof *found);
  CHECK_INT(csf_close(fd, "data", &err), COLSHUF_OK);
  colshuf_index_clear(&index);
}

static enum colshuf_status commit_small(void *ctx) {
  struct attempt *attempt = ctx;
  return commit_attempt(attempt, NULL);
}

static void every_refused_allocation_leaves_nothing(void) {
  make_source();
  struct attempt attempt = {'a', COLSHUF_CHECKSUM_CRC32, 0, 0};
  CHECK(test_oom_sweep(commit_small, &attempt) > 5);
  CHECK_INT(count_temporaries(), 0);
  CHECK_INT(output_state(), 'a');
}

static void only_what_dead_processes_left_is_cleaned(void) {
  struct colshuf_error err;
  char name[64];
  pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, NULL, 0) == child);
  snprintf(name, sizeof name, ".out.%ld-7.colshuf-tmp", (long)child);
  put_file(name, "x", 1);
  put_file(".out.0-7.colshuf-tmp", "x", 1);
  put_file(".colshuf-tmp", "x", 1);
  put_file("out.999999999-1.colshuf-tmp", "x", 1);
  struct csf_temp_file mine;
  REQUIRE_OK(csf_temp_create(&mine, test_directory(), "out", &test_heap, &err));
  struct utimbuf old = {1, 1};
  REQUIRE(utime(mine.path, &old) == 0);
  char fresh[64], stale[64];
  snprintf(fresh, sizeof fresh, ".fresh.%ld-9.colshuf-tmp", (long)getpid());
  snprintf(stale, sizeof stale, ".stale.%ld-9.colshuf-tmp", (long)getpid());
  put_file(fresh, "x", 1);
  put_file(stale, "x", 1);
  REQUIRE(utime(path_of(stale), &old) == 0);
  uint64_t removed;
  REQUIRE_OK(colshuf_clean(test_directory(), &removed, &err));
  CHECK_INT(removed, 2);
  CHECK(!exists(name) && !exists(stale) && exists(fresh) && access(mine.path, F_OK) == 0);
  CHECK(exists(".out.0-7.colshuf-tmp") && exists(".colshuf-tmp") && exists("out.999999999-1.colshuf-tmp"));
  csf_temp_discard(&mine);
  CHECK_STATUS(colshuf_clean(path_of("nothing"), &removed, &err), COLSHUF_IO);
}

/* Readers while two writers replace one output again and again: always one attempt, or none. */
static atomic_bool stop;
static void *commit_repeatedly(void *ctx) {
  struct attempt *attempt = ctx;
  uintptr_t failures = 0;
  while (!stop) {
    struct csf_temp_file data;
    char output[512];
    snprintf(output, sizeof output, "%s/out", test_directory());
    uint8_t bytes[200];
    memset(bytes, attempt->mark, sizeof bytes);
    uint64_t part[2] = {attempt->mark, 200u - attempt->mark}; /* the index tells attempts apart too */
    if (csf_temp_create(&data, test_directory(), "out", &test_heap, NULL) != COLSHUF_OK) return (void *)1;
    struct csf_commit commit = {.output = output, .data = &data, .sizes = part, .n_partitions = 2, .allocator = test_heap};
    failures += csf_temp_write(&data, bytes, 200, NULL) != COLSHUF_OK || csf_commit_output(&commit, NULL) != COLSHUF_OK;
    csf_temp_discard(&data);
  }
  return (void *)failures;
}

static void readers_never_see_a_mix_of_two_attempts(void) {
  struct colshuf_error err;
  struct attempt attempts[2] = {{.mark = 50}, {.mark = 90}};
  pthread_t threads[2];
  stop = false;
  test_directory();
  for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&threads[i], NULL, commit_repeatedly, &attempts[i]) == 0);
  uint64_t seen[256] = {0};
  /* A busy machine may let one writer wait for long. */
  time_t end = time(NULL) + 30;
  for (int round = 0; (round < 1000 || seen[50] == 0 || seen[90] == 0) && time(NULL) < end; round++) {
    int fd;
    struct colshuf_index_info index;
    enum colshuf_status status = csf_output_open(path_of("out.data"), NULL, &fd, &index, &err);
    CHECK(status == COLSHUF_OK || (status == COLSHUF_IO && (err.system_errno == ENOENT || err.system_errno == 0)));
    if (status != COLSHUF_OK) continue;
    uint8_t bytes[200];
    REQUIRE_OK(csf_pread_all(fd, "data", 0, bytes, 200, &err));
    CHECK_INT(index.offsets[1], bytes[0]);
    CHECK_INT(bytes[199], bytes[0]);
    seen[bytes[0]]++;
    close(fd);
    colshuf_index_clear(&index);
  }
  stop = true;
  for (int i = 0; i < 2; i++) {
    void *failures;
    pthread_join(threads[i], &failures);
    CHECK(failures == NULL);
  }
  CHECK(seen[50] > 0 && seen[90] > 0);
}

static const struct test_case tests[] = {
    TEST(check_values_of_checksums_come_out),
    TEST(checksums_equal_their_definitions_at_every_length),
    TEST(ranges_are_gathered_or_left_to_the_system),
    TEST(a_commit_can_be_read_back_in_every_form),
    TEST(every_system_call_may_fail_and_no_mix_appears),
    TEST(reading_survives_every_failing_call),
    TEST(a_file_that_is_too_short_says_where_it_ends),
    TEST(an_index_that_cannot_be_one_is_refused),
    TEST(small_offsets_are_read_in_the_right_byte_order),
    TEST(data_of_another_size_than_the_index_says_is_refused),
    TEST(the_mark_of_partitions_without_checksum_is_understood),
    TEST(sizes_that_do_not_add_up_are_not_committed),
    TEST(a_missing_directory_is_named),
    TEST(many_partitions_have_a_whole_index),
    TEST(every_refused_allocation_leaves_nothing),
    TEST(only_what_dead_processes_left_is_cleaned),
    TEST(readers_never_see_a_mix_of_two_attempts),
};
TEST_MAIN(tests)
