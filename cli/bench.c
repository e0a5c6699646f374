/* SPDX-License-Identifier: Apache-2.0 */
/*
 * colshuf bench: how fast a user's own blocks are decoded and encoded, beside the codec library alone on the same bytes. What it says of the
 * map writer is in bench_write.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_raw.h"
#include "bench_write.h"
#include "choices.h"
#include "commands.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "report.h"

enum { N_SAMPLES = 9 };

struct block {
  const uint8_t *data;
  size_t size;
  struct colshuf_block_header header;
  struct ArrowArray batch;
  struct ArrowSchema schema;
  struct colshuf_block_encoder *encoder, *plain; /* the first block of a schema has them; others point at them */
  bool owns_encoder;
  uint8_t *stream; /* the uncompressed IPC stream as the encoder lays it out */
  size_t stream_size;
  size_t raw_size; /* of the stream that the file has */
};

struct bench {
  uint8_t *data;
  size_t size;
  struct block *blocks;
  size_t n_blocks;
  uint64_t rows, raw_bytes, again_bytes;
  enum colshuf_codec codec;
  int level;
  struct colshuf_block_decoder *trusted, *validated;
  struct bench_raw *raw;
  struct colshuf_error err;
};

static int read_whole(const char *path, struct bench *b) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail_errno(errno, path);
  for (size_t room = 1 << 20;; room *= 2) {
    b->data = need_memory(b->data, room);
    b->size += fread(b->data + b->size, 1, room - b->size, file);
    if (b->size < room) break;
  }
  int error = ferror(file);
  fclose(file);
  return error ? fail_with(EXIT_SYSTEM, "%s cannot be read", path) : GO_ON;
}

/* Finds the blocks, decodes each once and keeps it. */
static int load(const char *path, struct bench *b) {
  int code = input_check_blocks("bench", path);
  if (code == GO_ON) code = read_whole(path, b);
  if (code != GO_ON) return code;
  for (size_t at = 0; at < b->size;) {
    struct block block = {.data = b->data + at};
    size_t consumed = 0;
    enum colshuf_status status = colshuf_block_header_read(block.data, b->size - at, &block.header, &b->err);
    if (status == COLSHUF_OK) {
      status = colshuf_block_decoder_decode(b->validated, block.data, b->size - at, NULL, &consumed, &block.schema, &block.batch, &b->err);
    }
    if (status != COLSHUF_OK) {
      char place[4200];
      snprintf(place, sizeof place, "%s: block at offset %zu", path, at);
      return fail_error(status, &b->err, place);
    }
    block.size = consumed;
    at += consumed;
    b->rows += (uint64_t)block.batch.length;
    b->blocks = need_memory(b->blocks, (b->n_blocks + 1) * sizeof block);
    b->blocks[b->n_blocks++] = block;
  }
  return b->n_blocks > 0 ? GO_ON : fail_with(EXIT_BAD_DATA, "%s holds no block", path);
}

struct sizes {
  struct bench *bench;
  size_t n;
};

static int take_size(void *ctx, const struct colshuf_block_info *info) {
  struct sizes *sizes = ctx;
  if (sizes->n < sizes->bench->n_blocks) sizes->bench->blocks[sizes->n++].raw_size = (size_t)info->raw_size;
  return 0;
}

/* The size of each block's decompressed stream, which the raw codec needs room for. */
static int load_sizes(const char *path, struct bench *b) {
  struct sizes sizes = {.bench = b};
  enum colshuf_status status = colshuf_inspect(path, NULL, 0, take_size, &sizes, &b->err);
  if (status != COLSHUF_OK) return fail_error(status, &b->err, path);
  return sizes.n == b->n_blocks ? GO_ON : fail_with(EXIT_BAD_DATA, "%s changed while it was read", path);
}

static enum colshuf_status decode_all(struct bench *b, struct colshuf_block_decoder *decoder) {
  for (size_t i = 0; i < b->n_blocks; i++) {
    struct ArrowArray batch;
    size_t consumed;
    enum colshuf_status status =
        colshuf_block_decoder_decode(decoder, b->blocks[i].data, b->blocks[i].size, NULL, &consumed, NULL, &batch, &b->err);
    if (status != COLSHUF_OK) return status;
    batch.release(&batch);
  }
  return COLSHUF_OK;
}

static enum colshuf_status decode_trusted(struct bench *b) {
  return decode_all(b, b->trusted);
}
static enum colshuf_status decode_validated(struct bench *b) {
  return decode_all(b, b->validated);
}

static enum colshuf_status raw_decompress(struct bench *b) {
  for (size_t i = 0; i < b->n_blocks; i++) {
    const struct block *block = &b->blocks[i];
    bench_raw_decompress(b->raw, block->header.codec, block->data + COLSHUF_BLOCK_HEADER_SIZE, block->size - COLSHUF_BLOCK_HEADER_SIZE,
                         block->raw_size);
  }
  return COLSHUF_OK;
}

static enum colshuf_status encode_all(struct bench *b) {
  b->again_bytes = 0;
  for (size_t i = 0; i < b->n_blocks; i++) {
    const uint8_t *again;
    size_t size;
    struct block *block = &b->blocks[i];
    enum colshuf_status status =
        colshuf_block_encoder_encode(block->encoder, &block->batch, 0, block->batch.length, &again, &size, &b->err);
    if (status != COLSHUF_OK) return status;
    b->again_bytes += size;
  }
  return COLSHUF_OK;
}

static enum colshuf_status raw_compress(struct bench *b) {
  for (size_t i = 0; i < b->n_blocks; i++) {
    bench_raw_compress(b->raw, b->codec, b->level, b->blocks[i].stream, b->blocks[i].stream_size);
  }
  return COLSHUF_OK;
}

static bool same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b) {
  if (a->n_children != b->n_children || strcmp(a->format, b->format) != 0 || a->flags != b->flags) return false;
  if ((a->dictionary == NULL) != (b->dictionary == NULL)) return false;
  if (a->dictionary != NULL && !same_schema(a->dictionary, b->dictionary)) return false;
  for (int64_t i = 0; i < a->n_children; i++) {
    if (!same_schema(a->children[i], b->children[i])) return false;
  }
  return true;
}

/* One encoder, and one without compression, for each schema; and every block's stream as the encoder lays it out. */
static enum colshuf_status prepare_encoders(struct bench *b) {
  for (size_t i = 0; i < b->n_blocks; i++) {
    struct block *block = &b->blocks[i], *before = i > 0 ? &b->blocks[i - 1] : NULL;
    if (before != NULL && same_schema(&before->schema, &block->schema)) {
      block->encoder = before->encoder;
      block->plain = before->plain;
    } else {
      struct colshuf_block_encoder_options options = {.codec = b->codec, .level = b->level, .compat = COLSHUF_COMPAT_ARROW};
      enum colshuf_status status = colshuf_block_encoder_new(&block->schema, &options, &block->encoder, &b->err);
      options = (struct colshuf_block_encoder_options){.codec = COLSHUF_NONE, .compat = COLSHUF_COMPAT_ARROW};
      if (status == COLSHUF_OK) status = colshuf_block_encoder_new(&block->schema, &options, &block->plain, &b->err);
      block->owns_encoder = true;
      if (status != COLSHUF_OK) return status;
    }
    const uint8_t *bytes;
    size_t size;
    enum colshuf_status status = colshuf_block_encoder_encode(block->plain, &block->batch, 0, block->batch.length, &bytes, &size, &b->err);
    if (status != COLSHUF_OK) return status;
    block->stream_size = size > 0 ? size - COLSHUF_BLOCK_HEADER_SIZE : 0;
    block->stream = need_memory(NULL, block->stream_size + 1);
    if (size > 0) memcpy(block->stream, bytes + COLSHUF_BLOCK_HEADER_SIZE, block->stream_size);
    b->raw_bytes += block->stream_size;
  }
  return COLSHUF_OK;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The median of N_SAMPLES passes over all blocks, after one of warm-up. */
static enum colshuf_status measure(struct bench *b, enum colshuf_status (*pass)(struct bench *), uint64_t *ns) {
  uint64_t samples[N_SAMPLES];
  enum colshuf_status status = pass(b);
  for (int i = 0; i < N_SAMPLES && status == COLSHUF_OK; i++) {
    uint64_t start = clock_ns();
    status = pass(b);
    samples[i] = clock_ns() - start;
  }
  if (status != COLSHUF_OK) return status;
  qsort(samples, N_SAMPLES, sizeof samples[0], compare_u64);
  *ns = samples[N_SAMPLES / 2];
  return COLSHUF_OK;
}

struct figure {
  const char *name;
  uint64_t ns;
};

static void print_figures(const struct bench *b, const char *path, const struct figure *figures, int n, bool as_json) {
  if (as_json) {
    struct json json;
    json_start(&json, stdout);
    json_string(&json, "file", path);
    json_unsigned(&json, "blocks", b->n_blocks);
    json_unsigned(&json, "rows", b->rows);
    json_unsigned(&json, "bytes", b->size);
    json_unsigned(&json, "raw_bytes", b->raw_bytes);
    if (b->again_bytes > 0) json_unsigned(&json, "encoded_bytes", b->again_bytes);
    json_array(&json, "times");
    for (int i = 0; i < n; i++) {
      json_object(&json, NULL);
      json_string(&json, "what", figures[i].name);
      json_real(&json, "ns_per_block", (double)figures[i].ns / (double)b->n_blocks);
      json_real(&json, "raw_bytes_per_second", (double)b->raw_bytes * 1e9 / (double)(figures[i].ns + 1));
      json_close(&json);
    }
    json_close(&json);
    json_end(&json);
    return;
  }
  printf("%s: %s blocks, %s rows, %s, %s before compression\n", path, count_text(b->n_blocks), count_text(b->rows), size_text(b->size),
         size_text(b->raw_bytes));
  if (b->again_bytes > 0) printf("  encoded again: %s\n", size_text(b->again_bytes));
  for (int i = 0; i < n; i++) {
    uint64_t rate = (uint64_t)((double)b->raw_bytes * 1e9 / (double)(figures[i].ns + 1));
    printf("  %-20s %10s a block  %10s/s  %5.2f x the raw codec\n", figures[i].name, time_text(figures[i].ns / b->n_blocks), size_text(rate),
           (double)figures[i].ns / (double)(figures[n - 1].ns + 1));
  }
}

static void clear(struct bench *b) {
  for (size_t i = 0; i < b->n_blocks; i++) {
    struct block *block = &b->blocks[i];
    block->batch.release(&block->batch);
    block->schema.release(&block->schema);
    if (block->owns_encoder) {
      colshuf_block_encoder_free(block->encoder);
      colshuf_block_encoder_free(block->plain);
    }
    free(block->stream);
  }
  free(b->blocks);
  free(b->data);
  colshuf_block_decoder_free(b->trusted);
  colshuf_block_decoder_free(b->validated);
  if (b->raw != NULL) bench_raw_free(b->raw);
}

/* bench decode: three times. bench encode: two; the codec is the first block's unless another is wanted. */
static int run(struct bench *b, const char *path, bool encode, const char *codec, bool as_json) {
  struct colshuf_block_decoder_options trusted = {.trust = COLSHUF_TRUSTED_LOCAL};
  enum colshuf_status status = colshuf_block_decoder_new(&trusted, &b->trusted, &b->err);
  if (status == COLSHUF_OK) status = colshuf_block_decoder_new(NULL, &b->validated, &b->err);
  if (status != COLSHUF_OK) return fail_error(status, &b->err, NULL);
  int code = load(path, b);
  if (code == GO_ON) code = load_sizes(path, b);
  if (code != GO_ON) return code;
  b->codec = b->blocks[0].header.codec;
  b->level = b->codec == COLSHUF_ZSTD ? 1 : 0;
  if (codec != NULL && (code = parse_codec("bench", codec, &b->codec, &b->level)) != GO_ON) return code;
  b->raw = bench_raw_new();
  status = prepare_encoders(b);
  struct figure figures[3] = {{"decode, trusted", 0}, {"decode, validated", 0}, {"raw codec", 0}};
  int n = 3;
  if (status == COLSHUF_OK && !encode) {
    status = measure(b, decode_trusted, &figures[0].ns);
    if (status == COLSHUF_OK) status = measure(b, decode_validated, &figures[1].ns);
    if (status == COLSHUF_OK) status = measure(b, raw_decompress, &figures[2].ns);
  } else if (status == COLSHUF_OK) {
    n = 2;
    figures[0].name = "encode";
    figures[1].name = "raw codec";
    status = measure(b, encode_all, &figures[0].ns);
    if (status == COLSHUF_OK) status = measure(b, raw_compress, &figures[1].ns);
  }
  if (status != COLSHUF_OK) return fail_error(status, &b->err, path);
  print_figures(b, path, figures, n, as_json);
  return EXIT_WELL;
}

static int bench_blocks(const char *path, bool encode, const char *codec, bool as_json) {
  struct bench bench = {0};
  int code = run(&bench, path, encode, codec, as_json);
  clear(&bench);
  return code;
}

/* What only bench write takes. */
static bool names_writing(const struct bench_write_request *request) {
  return request->n_partitions > 0 || request->hash != NULL || request->memory_limit > 0 || request->threads > 0 || request->scratch != NULL;
}

static int choose(const struct strings *words, struct bench_write_request *request) {
  const char *what = words->n > 0 ? words->items[0] : "";
  bool write = strcmp(what, "write") == 0, encode = strcmp(what, "encode") == 0;
  if (words->n != 2 || (!write && !encode && strcmp(what, "decode") != 0)) {
    return fail_usage("bench", "wants decode, encode or write, and one file");
  }
  request->input = words->items[1];
  if (write && request->n_partitions == 0) return fail_usage("bench", "write: how many partitions? -n N");
  if (write) return bench_write(request);
  if (names_writing(request)) return fail_usage("bench", "%s takes only --codec and --json", what);
  return bench_blocks(request->input, encode, request->codec, request->as_json);
}

int command_bench(int argc, char **argv) {
  struct bench_write_request request = {0};
  const struct option options[] = {
      {"codec", 0, OPTION_TEXT, "CODEC", "encode, write: lz4, zstd[:LEVEL], snappy or none [that of the first block; lz4]", &request.codec, 0, 0},
      {"partitions", 'n', OPTION_NUMBER, "N", "write: number of partitions", &request.n_partitions, 1, INT32_MAX},
      {"hash", 0, OPTION_TEXT, "COLS", "write: by Spark's hash of these columns [one row after another]", &request.hash, 0, 0},
      {"memory-limit", 'm', OPTION_SIZE, "SIZE", "write: what the writer may hold [256M]; the rest is spilled", &request.memory_limit, 0, 0},
      {"threads", 0, OPTION_NUMBER, "N", "write: threads that compress, beside the one that routes rows [0]", &request.threads, 0, 1024},
      {"scratch", 0, OPTION_TEXT, "DIR", "write: where output and spills come and go [$TMPDIR or /tmp]", &request.scratch, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "figures as JSON", &request.as_json, 0, 0},
  };
  const struct usage usage = {.command = "bench",
                              .arguments = "decode|encode|write FILE",
                              .description = "decode, encode: times all blocks of a shuffle file or bare file of blocks, in memory, on one thread,\n"
                                             "beside the codec library alone: medians of nine passes. write: the map writer on the rows of FILE, once,\n"
                                             "beside the codec library alone over the same columns; the output is thrown away.",
                              .options = options,
                              .n_options = N_ELEMENTS(options)};
  struct strings words = {0};
  int code = parse_options(&usage, argc, argv, &words);
  if (code == GO_ON) code = finish_stdout(choose(&words, &request));
  strings_free(&words);
  return code;
}
