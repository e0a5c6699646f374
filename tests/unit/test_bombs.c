/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1 GiB of zeros in as little as each codec makes of it, in files: refused by a limit, in a process that never held 64 MiB, code and stack and
 * file included (VmHWM, as the kernel counts it).
 */
#include <fcntl.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "block/block_format.h"
#include "codec/codec.h"
#include "colshuf/shuffle.h"
#include "support/messages.h"

enum { MOST_KIB = 64 << 10 };
#define BOMB_SIZE ((size_t)1 << 30)

static char path[128];

static void write_path(const char *name, const struct csf_buffer *bytes) {
  snprintf(path, sizeof path, "%s/%s", test_directory(), name);
  FILE *file = fopen(path, "wb");
  REQUIRE(file != NULL && fwrite(bytes->data, 1, bytes->size, file) == bytes->size && fclose(file) == 0);
}

/* As their own libraries make them, without a word about the size of what is in them. */
static void pack(enum colshuf_codec kind, const void *zeros, struct csf_buffer *out) {
  struct colshuf_error err;
  if (kind == COLSHUF_SNAPPY) { /* the framed format is colshuf's own work; it has no such word */
    struct csf_codec *codec;
    REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
    REQUIRE_OK(csf_codec_compress(codec, kind, 0, (struct csf_span){zeros, BOMB_SIZE}, out, &err));
    csf_codec_free(codec);
    return;
  }
  size_t room = kind == COLSHUF_ZSTD ? ZSTD_compressBound(BOMB_SIZE) : LZ4F_compressFrameBound(BOMB_SIZE, NULL);
  void *memory = malloc(room);
  ZSTD_CCtx *zstd = ZSTD_createCCtx();
  REQUIRE(memory != NULL && zstd != NULL);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0);
  size_t size = kind == COLSHUF_ZSTD ? ZSTD_compress2(zstd, memory, room, zeros, BOMB_SIZE) : LZ4F_compressFrame(memory, room, zeros, BOMB_SIZE, NULL);
  REQUIRE(size < room);
  test_append(out, memory, size);
  ZSTD_freeCCtx(zstd);
  free(memory);
}

/* The zeros take no memory: one page of them is there as often as it is asked for. Appends what the codec makes of them. */
static void append_zeros(struct csf_buffer *out, enum colshuf_codec kind) {
  struct csf_buffer packed = test_buffer();
  void *zeros = mmap(NULL, BOMB_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(zeros != MAP_FAILED);
  pack(kind, zeros, &packed);
  test_append(out, packed.data, packed.size);
  csf_buffer_clear(&packed);
  munmap(zeros, BOMB_SIZE);
}

/* Reads a stream to its end in a process of its own, which tells status and peak. */
struct outcome {
  enum colshuf_status status;
  char message[256];
  long peak; /* KiB */
};

static long peak_kib(void) {
  char line[256];
  long peak = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmHWM: %ld", &peak);
  if (status != NULL) fclose(status);
  return peak;
}

static void forget_peak(void) {
  int fd = open("/proc/self/clear_refs", O_WRONLY);
  if (fd < 0) return;
  ssize_t written = write(fd, "5", 1); /* where that is not allowed, the peak is too high and the test fails */
  (void)written;
  close(fd);
}

static enum colshuf_status drain(struct ArrowArrayStream *stream, struct outcome *out) {
  struct ArrowArray batch = {.release = NULL};
  while (stream->get_next(stream, &batch) == 0) {
    if (batch.release == NULL) return COLSHUF_OK;
    batch.release(&batch);
  }
  snprintf(out->message, sizeof out->message, "%.200s", stream->get_last_error(stream));
  return colshuf_stream_status(stream);
}

static void read_path(bool is_block, uint64_t limit, struct outcome *out) {
  struct colshuf_error err = {.message = ""};
  struct ArrowArrayStream stream;
  struct colshuf_limits limits = {.max_decompressed_size = limit};
  if (is_block) {
    struct colshuf_source source = {.data_path = path};
    struct colshuf_read_options options = {.limits = limits};
    out->status = colshuf_read(&source, 1, &options, NULL, &stream, &err);
  } else {
    struct colshuf_ipc_reader_options options = {.limits = limits};
    out->status = colshuf_ipc_reader_open_path(path, &options, &stream, &err);
  }
  if (out->status == COLSHUF_OK) out->status = drain(&stream, out);
  else snprintf(out->message, sizeof out->message, "%.200s", err.message);
}

static struct outcome read_apart(bool is_block, uint64_t limit) {
  struct outcome outcome = {.peak = -1};
  int ends[2];
  fflush(stdout);
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    forget_peak();
    read_path(is_block, limit, &outcome);
    outcome.peak = peak_kib();
    _exit(write(ends[1], &outcome, sizeof outcome) == sizeof outcome ? 0 : 1);
  }
  close(ends[1]);
  CHECK(read(ends[0], &outcome, sizeof outcome) == sizeof outcome);
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return outcome;
}

static void check_refused(const char *what, bool is_block, uint64_t limit, size_t size, enum colshuf_status wanted, const char *reason) {
  struct outcome outcome = read_apart(is_block, limit);
  printf("  %s: %zu bytes for %zu; peak %ld KiB; %s\n", what, size, BOMB_SIZE, outcome.peak, outcome.message);
  CHECK_INT(outcome.status, wanted);
  CHECK_CONTAINS(outcome.message, reason);
  CHECK(outcome.peak > 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(outcome.peak < MOST_KIB);
#endif
}

static void blocks_of_a_gibibyte_of_zeros_are_refused_below_64_mebibytes(void) {
  /* Of Snappy the block itself is 48 MiB: there the limit is lower. */
  static const struct { enum colshuf_codec kind; uint64_t limit; const char *name, *reason; } kinds[] = {
      {COLSHUF_ZSTD, 16 << 20, "zstd", "over the limit of 16777216"},
      {COLSHUF_LZ4, 16 << 20, "lz4", "over the limit of 16777216"},
      {COLSHUF_SNAPPY, 4 << 20, "snappy", "over the limit of 4194304"},
  };
  for (size_t i = 0; i < 3; i++) {
    struct csf_buffer block = test_buffer();
    REQUIRE(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, NULL) == COLSHUF_OK);
    append_zeros(&block, kinds[i].kind);
    csf_block_header_write(block.data, block.size, 1, kinds[i].kind, false);
    write_path(kinds[i].name, &block);
    size_t size = block.size;
    csf_buffer_clear(&block);
    check_refused(kinds[i].name, true, kinds[i].limit, size, COLSHUF_LIMIT, kinds[i].reason);
  }
}

/* One column of as many zeros, its buffer compressed; announced: what is written before it. */
static void check_body(const char *what, enum colshuf_codec kind, int64_t announced, int64_t rows, enum colshuf_status wanted, const char *reason) {
  struct csf_buffer stream = test_buffer(), body = test_buffer();
  test_append(&body, &announced, 8);
  append_zeros(&body, kind);
  const int64_t nodes[][2] = {{rows, 0}}, buffers[][2] = {{0, 0}, {0, (int64_t)body.size}};
  test_schema_append(&stream, "a: int8");
  test_message_append(&stream, &(struct test_message){.length = rows, .nodes = nodes, .n_nodes = 1, .buffers = buffers, .n_buffers = 2,
                                                      .compression = kind == COLSHUF_LZ4 ? 1 : 2, .body = body.data, .body_size = body.size});
  size_t size = body.size;
  csf_buffer_clear(&body);
  write_path("stream", &stream);
  csf_buffer_clear(&stream);
  check_refused(what, false, 16 << 20, size, wanted, reason);
}

static void bodies_of_a_gibibyte_of_zeros_are_refused_below_64_mebibytes(void) {
  static const enum colshuf_codec kinds[] = {COLSHUF_ZSTD, COLSHUF_LZ4};
  for (int i = 0; i < 2; i++) {
    check_body(i == 0 ? "zstd body" : "lz4 body", kinds[i], (int64_t)BOMB_SIZE, (int64_t)BOMB_SIZE, COLSHUF_LIMIT, "announces 1073741824 bytes");
    check_body(i == 0 ? "zstd body that announces less" : "lz4 body that announces less", kinds[i], 1000, 1000, COLSHUF_CORRUPT, "1000");
  }
}

static const struct test_case tests[] = {
    TEST(blocks_of_a_gibibyte_of_zeros_are_refused_below_64_mebibytes),
    TEST(bodies_of_a_gibibyte_of_zeros_are_refused_below_64_mebibytes),
};
TEST_MAIN(tests)
