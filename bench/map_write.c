/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map writer beside the raw codec. INPUT (an Arrow IPC stream or file) is read batch by batch; only the time inside the
 * writer counts. The raw codec then compresses the very column bytes of the same blocks (codec none, plain offsets, no
 * dictionaries), without anything else, in the same run.
 *
 * With codec none the raw side is a memcpy, and the same blocks are also written to a file by themselves, outside the time of the memcpy.
 *
 * Every run is a process of its own, so that its peak of resident memory is its own. With nothing but INPUT: codecs, limits and numbers of
 * partitions, one after another. JSON lines on stdout, words on stderr.
 *
 *   bench_map_write INPUT [-n PARTITIONS] [-m LIMIT_MIB] [-c none|lz4|zstd|snappy] [-l LEVEL] [-k KEY_COLUMN]
 *                   [-b BLOCK_KIB] [-s SPILL_DIR] [-o OUTPUT] [-t THREADS] [-r REPEATS] [-x (no raw codec)] [-R (round robin)] [-u (processor
 *                   time of this thread instead of the wall's: for a machine that others use)]
 */
#include <fcntl.h>
#include <lz4.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "bench_child.h"
#include "colshuf/colshuf.h"

struct arguments {
  const char *input;
  int partitions;
  long limit_mib;
  const char *codec;
  int level;
  int key;
  long block_kib;
  const char *spill_dir;
  const char *output;
  int threads;
  int repeats;
  int no_raw;
  int round_robin;
};

static void fail(const char *what, const struct colshuf_error *err) {
  fprintf(stderr, "%s: %s\n", what, err == NULL ? "failed" : err->message);
  exit(1);
}

static clockid_t the_clock = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec time;
  clock_gettime(the_clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static enum colshuf_codec codec_of(const char *name) {
  if (strcmp(name, "none") == 0) return COLSHUF_NONE;
  if (strcmp(name, "zstd") == 0) return COLSHUF_ZSTD;
  return strcmp(name, "snappy") == 0 ? COLSHUF_SNAPPY : COLSHUF_LZ4;
}

static struct colshuf_map_writer_options options_of(const struct arguments *arguments, const struct colshuf_key *key) {
  struct colshuf_map_writer_options options = {0};
  options.partitioner.kind = arguments->round_robin ? COLSHUF_PARTITION_ROUND_ROBIN : COLSHUF_PARTITION_HASH;
  options.partitioner.n_partitions = arguments->partitions;
  options.partitioner.keys = key;
  options.partitioner.n_keys = arguments->round_robin ? 0 : 1;
  options.encoder.codec = codec_of(arguments->codec);
  options.encoder.level = arguments->level;
  options.memory_limit = (uint64_t)arguments->limit_mib << 20;
  options.block_size = (uint64_t)arguments->block_kib << 10;
  options.compress_threads = arguments->threads;
  if (arguments->spill_dir != NULL) {
    options.spill_dirs = &arguments->spill_dir;
    options.n_spill_dirs = 1;
  }
  options.output = arguments->output;
  return options;
}

/* Feeds the whole input to a writer; returns the seconds spent in the writer. */
static double run_writer(const struct arguments *arguments, const struct colshuf_map_writer_options *options,
                         struct colshuf_map_metrics *metrics) {
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct colshuf_map_writer *writer;
  struct colshuf_ipc_reader_options reading = {.trust = COLSHUF_TRUSTED_LOCAL};
  if (colshuf_ipc_reader_open_path(arguments->input, &reading, &stream, &err) != COLSHUF_OK) fail(arguments->input, &err);
  if (stream.get_schema(&stream, &schema) != 0) fail("schema", NULL);
  double spent = -now();
  if (colshuf_map_writer_new(&schema, options, &writer, &err) != COLSHUF_OK) fail("writer", &err);
  spent += now();
  for (;;) {
    struct ArrowArray batch;
    if (stream.get_next(&stream, &batch) != 0) fail(stream.get_last_error(&stream), NULL);
    if (batch.release == NULL) break;
    spent -= now();
    if (colshuf_map_writer_write(writer, &batch, &err) != COLSHUF_OK) fail("write", &err);
    spent += now();
    batch.release(&batch);
  }
  spent -= now();
  if (colshuf_map_writer_commit(writer, NULL, &err) != COLSHUF_OK) fail("commit", &err);
  colshuf_map_writer_metrics(writer, metrics);
  colshuf_map_writer_free(writer);
  spent += now();
  schema.release(&schema);
  stream.release(&stream);
  return spent;
}

/* The raw codec, with one context for all blocks. */
struct raw {
  enum colshuf_codec codec;
  int level;
  void *lz4;
  ZSTD_CCtx *zstd;
  char *out;
  size_t capacity;
  uint64_t raw_bytes, compressed_bytes;
  double seconds;
  int fd;               /* codec none: where the blocks are written; else -1 */
  double write_seconds;
};

static size_t bound(const struct raw *raw, size_t size) {
  if (raw->codec == COLSHUF_ZSTD) return ZSTD_compressBound(size);
  if (raw->codec == COLSHUF_SNAPPY) return snappy_max_compressed_length(size);
  return (size_t)LZ4_compressBound((int)size);
}

static size_t compress_raw(struct raw *raw, const char *data, size_t size) {
  size_t written = raw->capacity;
  switch (raw->codec) {
    case COLSHUF_ZSTD: return ZSTD_compressCCtx(raw->zstd, raw->out, raw->capacity, data, size, raw->level == 0 ? 1 : raw->level);
    case COLSHUF_SNAPPY: snappy_compress(data, size, raw->out, &written); return written;
    case COLSHUF_NONE: memcpy(raw->out, data, size); return size;
    default: return (size_t)LZ4_compress_fast_extState(raw->lz4, data, raw->out, (int)size, (int)raw->capacity, 1);
  }
}

/* In pieces for which the system finds pages at once: much larger ones were slower on some machines, on none faster. */
enum { LARGEST_WRITE = 256 << 10 };

static int take_block(void *ctx, int32_t partition, const void *bytes, size_t size) {
  struct raw *raw = ctx;
  (void)partition;
  const char *body = (const char *)bytes + COLSHUF_BLOCK_HEADER_SIZE;
  size -= COLSHUF_BLOCK_HEADER_SIZE;
  if (bound(raw, size) > raw->capacity) {
    raw->capacity = 2 * bound(raw, size);
    free(raw->out);
    raw->out = malloc(raw->capacity);
    if (raw->out == NULL) return 12;
    memset(raw->out, 0, raw->capacity);
  }
  double start = now();
  size_t compressed = compress_raw(raw, body, size);
  raw->seconds += now() - start;
  raw->raw_bytes += size;
  raw->compressed_bytes += compressed;
  if (raw->fd < 0) return 0;
  start = now();
  for (size_t at = 0; at < size;) {
    ssize_t n = write(raw->fd, body + at, size - at < LARGEST_WRITE ? size - at : LARGEST_WRITE);
    if (n < 0) return 5;
    at += (size_t)n;
  }
  raw->write_seconds += now() - start;
  return 0;
}

/* A run of the raw codec, in a child: arguments -> struct raw, of which only the figures are of use. */
static void run_raw(const void *ctx, void *result) {
  const struct arguments *arguments = ctx;
  struct raw *raw = result;
  struct colshuf_key key = {.column = arguments->key};
  struct colshuf_map_metrics metrics;
  struct colshuf_map_writer_options options = options_of(arguments, &key);
  options.sink = (struct colshuf_sink){take_block, raw};
  options.output = NULL;
  options.encoder = (struct colshuf_block_encoder_options){
      .codec = COLSHUF_NONE, .offsets = COLSHUF_OFFSETS_PLAIN, .dictionary = COLSHUF_DICTIONARY_OFF};
  raw->codec = codec_of(arguments->codec);
  raw->level = arguments->level;
  raw->lz4 = malloc((size_t)LZ4_sizeofState());
  raw->zstd = ZSTD_createCCtx();
  char path[1024];
  snprintf(path, sizeof path, "%s.raw", arguments->output);
  raw->fd = raw->codec == COLSHUF_NONE ? open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600) : -1;
  run_writer(arguments, &options, &metrics);
  if (raw->fd >= 0) {
    close(raw->fd);
    unlink(path);
  }
  free(raw->lz4);
  ZSTD_freeCCtx(raw->zstd);
  free(raw->out);
}

static struct arguments parse(int argc, char **argv) {
  struct arguments arguments = {.partitions = 200, .limit_mib = 256, .codec = "lz4", .output = "/tmp/colshuf-bench", .repeats = 1};
  for (int option; (option = getopt(argc, argv, "n:m:c:l:k:b:s:o:t:r:xRu")) != -1;) {
    switch (option) {
      case 'n': arguments.partitions = atoi(optarg); break;
      case 'm': arguments.limit_mib = atol(optarg); break;
      case 'c': arguments.codec = optarg; break;
      case 'l': arguments.level = atoi(optarg); break;
      case 'k': arguments.key = atoi(optarg); break;
      case 'b': arguments.block_kib = atol(optarg); break;
      case 's': arguments.spill_dir = optarg; break;
      case 'o': arguments.output = optarg; break;
      case 't': arguments.threads = atoi(optarg); break;
      case 'r': arguments.repeats = atoi(optarg); break;
      case 'x': arguments.no_raw = 1; break;
      case 'u': the_clock = CLOCK_THREAD_CPUTIME_ID; break;
      case 'R': arguments.round_robin = 1; break;
      default: exit(2);
    }
  }
  if (optind >= argc) {
    fprintf(stderr, "usage: bench_map_write INPUT [options]: see the head of bench/map_write.c\n");
    exit(2);
  }
  arguments.input = argv[optind];
  return arguments;
}

static void remove_output(const char *output) {
  static const char *const endings[] = {".data", ".index", ".checksum.ADLER32"};
  char path[1024];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", output, endings[i]);
    unlink(path);
  }
}

static double seconds(uint64_t ns) {
  return (double)ns * 1e-9;
}

static const double mib = 1048576;

/* What is found out about the writer in one run, and of several the best. */
struct outcome {
  double seconds, resident_mib;
  struct colshuf_map_metrics metrics;
};

/* A run of the writer, in a child: arguments -> struct outcome. */
static void run_outcome(const void *ctx, void *result) {
  const struct arguments *arguments = ctx;
  struct outcome *outcome = result;
  struct colshuf_key key = {.column = arguments->key};
  struct colshuf_map_writer_options options = options_of(arguments, &key);
  outcome->seconds = run_writer(arguments, &options, &outcome->metrics);
  outcome->resident_mib = bench_peak_mib();
  remove_output(arguments->output);
}

/* For people, on stderr. */
static void print_run(const struct arguments *arguments, const struct outcome *outcome) {
  const struct colshuf_map_metrics *m = &outcome->metrics;
  fprintf(stderr, "%s n=%d limit=%ld MiB threads=%d: %.3f s = partition %.3f + route %.3f + encode %.3f + write %.3f\n",
          arguments->codec, arguments->partitions, arguments->limit_mib, arguments->threads, outcome->seconds, seconds(m->partition_ns),
          seconds(m->route_ns), seconds(m->encode_ns), seconds(m->write_ns));
  fprintf(stderr, "  %.0f ns a row; %llu rows, %llu blocks, %.1f MiB raw -> %.1f MiB; %llu spills of %.1f MiB; peak %.1f MiB counted, %.1f MiB resident\n",
          outcome->seconds * 1e9 / (double)m->rows, (unsigned long long)m->rows, (unsigned long long)m->blocks, (double)m->raw_bytes / mib,
          (double)m->written_bytes / mib, (unsigned long long)m->spills, (double)m->spilled_bytes / mib,
          (double)m->peak_memory / mib, outcome->resident_mib);
}

static void print_raw(const struct raw *raw, double spent) {
  fprintf(stderr, "  raw codec over the same column bytes: %.3f s, %.1f MiB -> %.1f MiB; the writer takes %.2fx\n", raw->seconds,
          (double)raw->raw_bytes / mib, (double)raw->compressed_bytes / mib, spent / raw->seconds);
  if (raw->write_seconds > 0) fprintf(stderr, "  writing them: %.3f s\n", raw->write_seconds);
}

/* For tables, on stdout. raw->seconds 0 = not measured. */
static void report_run(const struct arguments *arguments, const struct outcome *outcome, const struct raw *raw) {
  const struct colshuf_map_metrics *m = &outcome->metrics;
  printf("{\"program\": \"colshuf\", \"operation\": \"map_write\", \"cell\": \"%s\", \"partitions\": %d, \"limit_mib\": %ld, "
         "\"threads\": %d, \"seconds\": %.4f, \"partition_s\": %.4f, \"route_s\": %.4f, \"encode_s\": %.4f, \"write_s\": %.4f, "
         "\"ns_per_row\": %.1f, \"rows\": %llu, \"blocks\": %llu, \"raw_mib\": %.1f, \"written_mib\": %.1f, \"spills\": %llu, "
         "\"spilled_mib\": %.1f, \"counted_mib\": %.1f, \"resident_mib\": %.1f",
         arguments->codec, arguments->partitions, arguments->limit_mib, arguments->threads, outcome->seconds, seconds(m->partition_ns),
         seconds(m->route_ns), seconds(m->encode_ns), seconds(m->write_ns), outcome->seconds * 1e9 / (double)m->rows,
         (unsigned long long)m->rows, (unsigned long long)m->blocks, (double)m->raw_bytes / mib, (double)m->written_bytes / mib,
         (unsigned long long)m->spills, (double)m->spilled_bytes / mib, (double)m->peak_memory / mib, outcome->resident_mib);
  if (raw->seconds > 0) printf(", \"raw_codec_s\": %.4f, \"ratio\": %.3f", raw->seconds, outcome->seconds / raw->seconds);
  if (raw->write_seconds > 0) printf(", \"raw_write_s\": %.4f", raw->write_seconds);
  printf("}\n");
  fflush(stdout);
}

static void keep_best(struct outcome *best, const struct outcome *run) {
  double most = run->resident_mib > best->resident_mib ? run->resident_mib : best->resident_mib;
  if (best->seconds == 0 || run->seconds < best->seconds) *best = *run;
  best->resident_mib = most;
}

static void keep_best_raw(struct raw *best, const struct raw *run) {
  struct raw before = *best;
  *best = *run;
  if (before.seconds == 0) return;
  if (before.seconds < run->seconds) best->seconds = before.seconds;
  if (before.write_seconds < run->write_seconds) best->write_seconds = before.write_seconds;
}

/* The least time of some runs, the most memory; and the raw codec's least time, in runs that take turns with those. */
static void measure(const struct arguments *arguments) {
  struct outcome best = {0};
  struct raw raw = {0};
  for (int i = 0; i < arguments->repeats; i++) {
    struct outcome outcome = {0};
    bench_in_child(run_outcome, arguments, &outcome, sizeof outcome);
    print_run(arguments, &outcome);
    keep_best(&best, &outcome);
    if (arguments->no_raw) continue;
    struct raw run = {0};
    bench_in_child(run_raw, arguments, &run, sizeof run);
    keep_best_raw(&raw, &run);
  }
  if (!arguments->no_raw) print_raw(&raw, best.seconds);
  report_run(arguments, &best, &raw);
}

/* All that docs/performance-write.md shows of one thread: every codec at every limit, then numbers of partitions. */
static void measure_all(struct arguments arguments) {
  static const char *const codecs[] = {"lz4", "zstd", "snappy", "none"};
  static const long limits[] = {256, 64, 1024};
  static const int partitions[] = {1, 1000, 10000, 100000, 1000000};
  for (int i = 0; i < 12; i++) {
    arguments.codec = codecs[i % 4];
    arguments.limit_mib = limits[i / 4];
    arguments.repeats = arguments.limit_mib == 256 ? 4 : 2;
    measure(&arguments);
  }
  arguments.no_raw = 1;
  arguments.repeats = 2;
  arguments.codec = "lz4";
  arguments.limit_mib = 256;
  for (int i = 0; i < 5; i++) {
    arguments.partitions = partitions[i];
    measure(&arguments);
  }
}

int main(int argc, char **argv) {
  struct arguments arguments = parse(argc, argv);
  if (argc == 2) measure_all(arguments);
  else measure(&arguments);
  return 0;
}
