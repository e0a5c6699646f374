/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the input. The first writes a shuffle output, which is thrown away; only the time inside the writer counts. The second
 * routes the same rows without compression, as plain columns, and gives each block's bytes to the codec library alone.
 */
#include "bench_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_raw.h"
#include "choices.h"
#include "input.h"
#include "map_figures.h"
#include "report.h"

static const char NAME[] = "bench";

struct run {
  const struct bench_write_request *request;
  char *folder, *output; /* of this run only */
  struct input input;
  struct colshuf_key *keys;
  int32_t n_keys;
  struct colshuf_map_writer_options options;
  struct colshuf_map_writer *writer;
  struct colshuf_map_metrics metrics;
  uint64_t elapsed_ns, peak_resident;
  struct bench_raw *raw;
  enum colshuf_codec codec;
  int level;
  uint64_t raw_ns, raw_bytes, raw_written;
};

static int make_folder(struct run *run) {
  const char *parent = run->request->scratch != NULL ? run->request->scratch : getenv("TMPDIR");
  if (parent == NULL || *parent == '\0') parent = "/tmp";
  size_t size = strlen(parent) + sizeof "/colshuf-bench-XXXXXX/output.checksum.ADLER32";
  run->folder = need_memory(NULL, size);
  run->output = need_memory(NULL, size);
  snprintf(run->folder, size, "%s/colshuf-bench-XXXXXX", parent);
  if (mkdtemp(run->folder) == NULL) {
    int error = errno;
    free(run->folder);
    run->folder = NULL;
    return fail_errno(error, parent);
  }
  snprintf(run->output, size, "%s/output", run->folder);
  return GO_ON;
}

static void remove_folder(struct run *run) {
  static const char *const endings[] = {".data", ".index", ".checksum.ADLER32"};
  if (run->folder == NULL) return;
  size_t size = strlen(run->output) + 32;
  char *path = need_memory(NULL, size);
  for (int i = 0; i < N_ELEMENTS(endings); i++) {
    snprintf(path, size, "%s%s", run->output, endings[i]);
    unlink(path);
  }
  free(path);
  rmdir(run->folder);
}

static int open_input(struct run *run) {
  const struct selection all = {.trusted = true};
  return input_open(NAME, &run->request->input, 1, &all, &run->input);
}

static int prepare(struct run *run) {
  const struct bench_write_request *request = run->request;
  struct colshuf_map_writer_options *options = &run->options;
  int code = parse_codec(NAME, request->codec, &options->encoder.codec, &options->encoder.level);
  if (code == GO_ON && request->hash != NULL) {
    code = parse_keys(NAME, request->hash, 0, &run->input.schema, run->input.name, &run->keys, &run->n_keys);
  }
  options->partitioner = (struct colshuf_partitioner_options){
      .kind = request->hash != NULL ? COLSHUF_PARTITION_HASH : COLSHUF_PARTITION_ROUND_ROBIN,
      .n_partitions = (int32_t)request->n_partitions,
      .keys = run->keys,
      .n_keys = run->n_keys};
  options->memory_limit = request->memory_limit;
  options->compress_threads = (int)request->threads;
  options->output = run->output;
  run->codec = options->encoder.codec;
  run->level = options->encoder.level == 0 && run->codec == COLSHUF_ZSTD ? 1 : options->encoder.level;
  return code;
}

/* All rows of the open input through a writer; *ns: the time inside it. */
static int write_rows(struct run *run, uint64_t *ns) {
  struct colshuf_error err = {0};
  uint64_t begin = clock_ns();
  enum colshuf_status status = colshuf_map_writer_new(&run->input.schema, &run->options, &run->writer, &err);
  *ns = clock_ns() - begin;
  if (status != COLSHUF_OK) return fail_error(status, &err, NULL);
  for (;;) {
    struct ArrowArray batch;
    if (interrupted()) return EXIT_INTERRUPTED;
    int code = input_next(&run->input, &batch);
    if (code != GO_ON) return code;
    if (batch.release == NULL) break;
    begin = clock_ns();
    status = colshuf_map_writer_write(run->writer, &batch, &err);
    *ns += clock_ns() - begin;
    batch.release(&batch);
    if (status != COLSHUF_OK) return fail_error(status, &err, run->input.name);
  }
  begin = clock_ns();
  status = colshuf_map_writer_commit(run->writer, NULL, &err);
  *ns += clock_ns() - begin;
  return status == COLSHUF_OK ? GO_ON : fail_error(status, &err, NULL);
}

static int measure_writer(struct run *run) {
  int code = write_rows(run, &run->elapsed_ns);
  if (code != GO_ON) return code;
  colshuf_map_writer_metrics(run->writer, &run->metrics);
  run->peak_resident = peak_resident();
  colshuf_map_writer_free(run->writer);
  run->writer = NULL;
  return GO_ON;
}

static int compress_block(void *ctx, int32_t partition, const void *bytes, size_t size) {
  struct run *run = ctx;
  (void)partition;
  const uint8_t *content = (const uint8_t *)bytes + COLSHUF_BLOCK_HEADER_SIZE;
  size -= COLSHUF_BLOCK_HEADER_SIZE;
  uint64_t begin = clock_ns();
  size_t written = bench_raw_compress(run->raw, run->codec, run->level, content, size);
  run->raw_ns += clock_ns() - begin;
  run->raw_bytes += size;
  run->raw_written += written;
  return 0;
}

static int measure_raw_codec(struct run *run) {
  uint64_t ns;
  run->raw = bench_raw_new();
  run->options.encoder = (struct colshuf_block_encoder_options){
      .codec = COLSHUF_NONE, .offsets = COLSHUF_OFFSETS_PLAIN, .dictionary = COLSHUF_DICTIONARY_OFF};
  run->options.output = NULL;
  run->options.sink = (struct colshuf_sink){compress_block, run};
  run->options.compress_threads = 0;
  return write_rows(run, &ns);
}

static void print_json(const struct run *run) {
  const struct colshuf_map_metrics *m = &run->metrics;
  struct json json;
  json_start(&json, stdout);
  json_string(&json, "file", run->request->input);
  json_integer(&json, "partitions", run->request->n_partitions);
  json_string(&json, "codec", codec_name(run->codec));
  map_counts_json(&json, m, run->peak_resident);
  map_times_json(&json, m, run->elapsed_ns);
  json_close(&json);
  json_object(&json, "raw_codec");
  json_unsigned(&json, "ns", run->raw_ns);
  json_unsigned(&json, "raw_bytes", run->raw_bytes);
  json_unsigned(&json, "written_bytes", run->raw_written);
  json_close(&json);
  json_real(&json, "ratio", (double)run->elapsed_ns / (double)(run->raw_ns + 1));
  json_end(&json);
}

static void print_figures(const struct run *run) {
  const struct colshuf_map_metrics *m = &run->metrics;
  printf("%s: %s rows in %s batches -> %s blocks, %s partitions, %s\n", run->request->input, count_text(m->rows), count_text(m->batches),
         count_text(m->blocks), count_text((uint64_t)run->request->n_partitions), codec_name(run->codec));
  printf("  bytes      %s (%s before dictionaries and compression)\n", size_text(m->written_bytes), size_text(m->raw_bytes));
  printf("  spills     %s (%s)\n", count_text(m->spills), size_text(m->spilled_bytes));
  print_map_times(m, run->elapsed_ns, run->peak_resident, 11);
  printf("  raw codec  %s, %s -> %s\n", time_text(run->raw_ns), size_text(run->raw_bytes), size_text(run->raw_written));
  printf("  %.2f x the time of the raw codec over the same column bytes\n", (double)run->elapsed_ns / (double)(run->raw_ns + 1));
}

int bench_write(const struct bench_write_request *request) {
  struct run run = {.request = request};
  int code = input_check_twice(NAME, request->input, "the input is read twice");
  if (code == GO_ON) code = make_folder(&run);
  catch_interrupts();
  if (code == GO_ON) code = open_input(&run);
  if (code == GO_ON) code = prepare(&run);
  if (code == GO_ON) code = measure_writer(&run);
  input_close(&run.input);
  if (code == GO_ON) code = open_input(&run);
  if (code == GO_ON) code = measure_raw_codec(&run);
  if (code == GO_ON) {
    if (request->as_json) print_json(&run);
    else print_figures(&run);
    code = EXIT_WELL;
  }
  colshuf_map_writer_free(run.writer);
  input_close(&run.input);
  if (run.raw != NULL) bench_raw_free(run.raw);
  remove_folder(&run);
  free(run.keys);
  free(run.folder);
  free(run.output);
  return code;
}
