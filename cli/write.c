/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf write */
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "field.h"
#include "input.h"
#include "map_figures.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "rows.h"

static const char NAME[] = "write";

/* The command line. */
struct request {
  struct strings inputs;
  const char *output;
  char *base; /* output without ".data" */
  int64_t n_partitions;
  const char *hash, *range, *partition_id;
  bool round_robin, single;
  const char *bounds, *save_bounds, *rules;
  int64_t task_id, seed;
  bool sort_first, allow_map_keys;
  const char *codec, *checksum, *compat, *offsets, *layout;
  bool no_dictionary, native_index, json;
  uint64_t memory_limit, block_size;
  int64_t block_rows, threads;
  struct strings spill_dirs;
};

/* What is made of it, and what must stay alive while the writer is made. */
struct job {
  const struct request *request;
  struct input input; /* the one being read */
  struct ArrowSchema schema;
  struct colshuf_key *keys;
  int32_t n_keys;
  struct ArrowSchema bounds_schema;
  struct ArrowArray bounds;
  struct colshuf_map_writer_options options;
  struct colshuf_map_writer *writer;
  uint64_t bytes_before, bytes_whole; /* of inputs, for progress */
};

static int read_request(int argc, char **argv, struct request *r) {
  const struct option options[] = {
      {"output", 'o', OPTION_TEXT, "NAME", "makes NAME.data, NAME.index and NAME.checksum.ALGORITHM", &r->output, 0, 0},
      {"partitions", 'n', OPTION_NUMBER, "N", "number of partitions", &r->n_partitions, 1, INT32_MAX},
      {"hash", 0, OPTION_TEXT, "COLS", "by Spark's hash of these columns: a,b", &r->hash, 0, 0},
      {"range", 0, OPTION_TEXT, "COLS", "by ranges of these columns: a:desc:nulls-last,b; bounds are sampled from the input, "
       "which is read twice", &r->range, 0, 0},
      {"round-robin", 0, OPTION_FLAG, NULL, "one row after another", &r->round_robin, 0, 0},
      {"single", 0, OPTION_FLAG, NULL, "everything to one partition", &r->single, 0, 0},
      {"partition-id", 0, OPTION_TEXT, "COL", "by the numbers in this column", &r->partition_id, 0, 0},
      {"codec", 0, OPTION_TEXT, "CODEC", "lz4 (default), zstd, snappy or none; zstd:LEVEL 1 to 22, lz4:LEVEL 2 to 12", &r->codec, 0, 0},
      {"memory-limit", 'm', OPTION_SIZE, "SIZE", "what the writer may hold [256M]; the rest is spilled", &r->memory_limit, 0, 0},
      {"block-size", 0, OPTION_SIZE, "SIZE", "uncompressed bytes that make a block [1M]", &r->block_size, 0, 0},
      {"block-rows", 0, OPTION_NUMBER, "N", "rows that make a block", &r->block_rows, 1, INT32_MAX},
      {"checksum", 0, OPTION_TEXT, "NAME", "adler32 (default), crc32, crc32c or none", &r->checksum, 0, 0},
      {"spill-dir", 0, OPTION_LIST, "DIR", "where spill files go [beside the output]; may be given several times", &r->spill_dirs, 0, 0},
      {"threads", 0, OPTION_NUMBER, "N", "threads that compress, beside the one that routes rows [0]", &r->threads, 0, 1024},
      {"compat", 0, OPTION_TEXT, "NAME", "who must read it: comet (default), comet-1.1, or arrow for every Arrow type", &r->compat, 0, 0},
      {"offsets", 0, OPTION_TEXT, "FORM", "auto (default), plain or lengths", &r->offsets, 0, 0},
      {"layout", 0, OPTION_TEXT, "FORM", "compact (default) or arrow-rs", &r->layout, 0, 0},
      {"no-dictionary", 0, OPTION_FLAG, NULL, "never turn a plain column into a dictionary", &r->no_dictionary, 0, 0},
      {"rules", 0, OPTION_TEXT, "NAME", "whose partition rules: spark (default) or comet", &r->rules, 0, 0},
      {"bounds", 0, OPTION_TEXT, "FILE", "bounds of the ranges, one row of the key columns each", &r->bounds, 0, 0},
      {"save-bounds", 0, OPTION_TEXT, "FILE", "writes the sampled bounds, for --bounds of other writers", &r->save_bounds, 0, 0},
      {"seed", 0, OPTION_NUMBER, "N", "of the sample [0]", &r->seed, INT64_MIN, INT64_MAX},
      {"task-id", 0, OPTION_NUMBER, "N", "map task, which fixes where round robin starts [0]", &r->task_id, 0, INT64_MAX},
      {"sort-first", 0, OPTION_FLAG, NULL, "round robin over sorted batches: a retry gives the same partitions", &r->sort_first, 0, 0},
      {"allow-map-keys", 0, OPTION_FLAG, NULL, "hash map columns too, which Spark refuses by default", &r->allow_map_keys, 0, 0},
      {"native-index", 0, OPTION_FLAG, NULL, "little-endian index, as Comet's native writer leaves it", &r->native_index, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "figures as JSON", &r->json, 0, 0},
  };
  const struct usage usage = {
      NAME, "INPUT... -o NAME -n PARTITIONS (--hash COLS | --range COLS | --round-robin | --single | --partition-id COL)",
      "Splits the rows of Arrow IPC files or streams into partitions and writes them as one shuffle output.", options,
      N_ELEMENTS(options)};
  return parse_options(&usage, argc, argv, &r->inputs);
}

/* Options of one way of partitioning, given with another. */
static int check_ways(const struct request *r) {
  const struct {
    bool given, fits;
    const char *option, *way;
  } pairs[] = {{r->bounds != NULL, r->range != NULL, "--bounds", "--range"},
               {r->save_bounds != NULL, r->range != NULL, "--save-bounds", "--range"},
               {r->seed != 0, r->range != NULL, "--seed", "--range"},
               {r->task_id != 0, r->round_robin, "--task-id", "--round-robin"},
               {r->sort_first, r->round_robin, "--sort-first", "--round-robin"},
               {r->allow_map_keys, r->hash != NULL, "--allow-map-keys", "--hash"}};
  for (int i = 0; i < N_ELEMENTS(pairs); i++) {
    if (pairs[i].given && !pairs[i].fits) return fail_usage(NAME, "%s is for %s only", pairs[i].option, pairs[i].way);
  }
  return GO_ON;
}

static int check_request(struct request *r) {
  int ways = (r->hash != NULL) + (r->range != NULL) + r->round_robin + r->single + (r->partition_id != NULL);
  if (r->inputs.n == 0) return fail_usage(NAME, "no input is named (\"-\" is standard input)");
  if (r->output == NULL) return fail_usage(NAME, "no output is named: -o NAME");
  if (ways != 1) return fail_usage(NAME, "exactly one of --hash, --range, --round-robin, --single, --partition-id is wanted");
  if (r->n_partitions == 0 && !r->single) return fail_usage(NAME, "how many partitions? -n N");
  if (r->single && r->n_partitions > 1) return fail_usage(NAME, "--single makes one partition, not %" PRId64, r->n_partitions);
  if (r->n_partitions == 0) r->n_partitions = 1;
  int code = check_ways(r);
  if (code == GO_ON) code = check_output_name(NAME, r->output);
  for (int i = 0; i < r->spill_dirs.n && code == GO_ON; i++) code = check_spill_folder(r->spill_dirs.items[i]);
  if (code == GO_ON) code = input_check_repeats(NAME, &r->inputs);
  if (code != GO_ON) return code;
  size_t size = strlen(r->output);
  r->base = need_memory(NULL, size + 1);
  memcpy(r->base, r->output, size + 1);
  if (size > 5 && strcmp(r->output + size - 5, ".data") == 0) r->base[size - 5] = '\0';
  bool twice = r->range != NULL && r->bounds == NULL;
  for (int i = 0; i < r->inputs.n && twice && code == GO_ON; i++) {
    code = input_check_twice(NAME, r->inputs.items[i], "--range reads its input twice (unless --bounds are given)");
  }
  return code;
}

static int make_options(struct job *job) {
  const struct request *r = job->request;
  struct colshuf_map_writer_options *o = &job->options;
  o->memory_limit = r->memory_limit;
  o->block_size = r->block_size;
  o->block_rows = r->block_rows;
  o->output = r->base;
  o->spill_dirs = r->spill_dirs.items;
  o->n_spill_dirs = r->spill_dirs.n;
  o->compress_threads = (int)r->threads;
  o->native_index = r->native_index;
  o->encoder.dictionary = r->no_dictionary ? COLSHUF_DICTIONARY_OFF : COLSHUF_DICTIONARY_AUTO;
  o->partitioner.n_partitions = (int32_t)r->n_partitions;
  o->partitioner.allow_map_keys = r->allow_map_keys;
  o->partitioner.task_id = r->task_id;
  o->partitioner.sort_first = r->sort_first;
  o->partitioner.kind = r->hash != NULL    ? COLSHUF_PARTITION_HASH
                        : r->range != NULL ? COLSHUF_PARTITION_RANGE
                        : r->round_robin   ? COLSHUF_PARTITION_ROUND_ROBIN
                        : r->single        ? COLSHUF_PARTITION_SINGLE
                                           : COLSHUF_PARTITION_ID;
  int code = parse_codec(NAME, r->codec, &o->encoder.codec, &o->encoder.level);
  if (code == GO_ON) code = parse_checksum(NAME, r->checksum, &o->checksum);
  if (code == GO_ON) code = parse_compat(NAME, r->compat, &o->encoder.compat);
  if (code == GO_ON) code = parse_offsets(NAME, r->offsets, &o->encoder.offsets);
  if (code == GO_ON) code = parse_layout(NAME, r->layout, &o->encoder.layout);
  if (code == GO_ON) code = parse_rules(NAME, r->rules, &o->partitioner.rules);
  return code;
}

/* Opens input i; the first gives the schema, the others must have the same. */
static int open_input(struct job *job, int i) {
  const struct selection all = {0};
  int code = input_open(NAME, &job->request->inputs.items[i], 1, &all, &job->input);
  if (code != GO_ON) return code;
  if (job->schema.release == NULL) {
    int error = job->input.stream.get_schema(&job->input.stream, &job->schema);
    return error == 0 ? GO_ON : fail_stream(&job->input.stream, error, job->input.name, NULL);
  }
  struct text why = {0};
  if (!schemas_match(&job->schema, &job->input.schema, &why)) {
    code = fail_with(EXIT_BAD_DATA, "%s does not fit %s: %s", job->input.name, job->request->inputs.items[0], why.data);
  }
  text_free(&why);
  return code;
}

/* Calls each for every batch of every input. What stands open as the first input is used up first. */
static int for_all_batches(struct job *job, const char *what, int (*each)(struct job *job, struct ArrowArray *batch),
                           int (*next_input)(struct job *job)) {
  int code = GO_ON;
  job->bytes_before = 0;
  for (int i = 0; i < job->request->inputs.n && code == GO_ON; i++) {
    if (job->input.stream.release == NULL) code = open_input(job, i);
    while (code == GO_ON) {
      struct ArrowArray batch;
      code = input_next(&job->input, &batch);
      if (code != GO_ON || batch.release == NULL) break;
      code = each(job, &batch);
      batch.release(&batch);
      progress_show(what, job->bytes_before + job->input.progress->taken, job->bytes_whole);
    }
    if (job->input.progress != NULL) job->bytes_before += job->input.progress->taken;
    if (job->input.stream.release != NULL) input_close(&job->input);
    if (code == GO_ON && next_input != NULL) code = next_input(job);
  }
  progress_end();
  return code;
}

static struct colshuf_bounds_sampler *sampler;

static int sample_batch(struct job *job, struct ArrowArray *batch) {
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_bounds_sampler_add(sampler, batch, &err);
  return status == COLSHUF_OK ? GO_ON : fail_error(status, &err, job->input.name);
}

static int sample_next(struct job *job) {
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_bounds_sampler_next_input(sampler, &err);
  return status == COLSHUF_OK ? GO_ON : fail_error(status, &err, job->request->inputs.items[0]);
}

static int sample_bounds(struct job *job) {
  const struct request *r = job->request;
  struct colshuf_error err = {0};
  const struct colshuf_bounds_sampler_options options = {.n_partitions = (int32_t)r->n_partitions,
                                                         .keys = job->keys,
                                                         .n_keys = job->n_keys,
                                                         .rules = job->options.partitioner.rules,
                                                         .seed = r->seed};
  enum colshuf_status status = colshuf_bounds_sampler_new(&job->schema, &options, &sampler, &err);
  if (status != COLSHUF_OK) return fail_error(status, &err, NULL);
  int code = for_all_batches(job, "sampling", sample_batch, sample_next);
  if (code == GO_ON) {
    status = colshuf_bounds_sampler_finish(sampler, &job->bounds_schema, &job->bounds, &err);
    if (status != COLSHUF_OK) code = fail_error(status, &err, NULL);
  }
  colshuf_bounds_sampler_free(sampler);
  return code;
}

/* All rows of the file; more than one batch is joined. */
static int load_bounds(struct job *job) {
  const struct selection all = {0};
  struct input input;
  int code = input_open(NAME, &job->request->bounds, 1, &all, &input);
  if (code != GO_ON) return code;
  if (input.schema.n_children != job->n_keys) {
    code = fail_usage(NAME, "--bounds %s has %" PRId64 " columns, --range names %" PRId32, job->request->bounds, input.schema.n_children,
                      job->n_keys);
  }
  struct ArrowArray *batches = NULL;
  const struct ArrowArray **pointers = NULL;
  int64_t n = 0;
  while (code == GO_ON) {
    batches = need_memory(batches, (size_t)(n + 1) * sizeof *batches);
    code = input_next(&input, &batches[n]);
    if (code != GO_ON || batches[n].release == NULL) break;
    n++;
  }
  pointers = need_memory(NULL, (size_t)(n + 1) * sizeof(void *));
  for (int64_t i = 0; i < n; i++) pointers[i] = &batches[i];
  struct colshuf_error err = {0};
  if (code == GO_ON) {
    enum colshuf_status status = colshuf_array_concat(&input.schema, pointers, n, NULL, &job->bounds, &err);
    if (status != COLSHUF_OK) code = fail_error(status, &err, job->request->bounds);
  }
  for (int64_t i = 0; i < n; i++) batches[i].release(&batches[i]);
  free(pointers);
  free(batches);
  if (code == GO_ON) {
    job->bounds_schema = input.schema;
    input.schema.release = NULL;
  }
  input_close(&input);
  return code;
}

static int save_bounds(struct job *job) {
  struct output output;
  struct rows_writer rows;
  int code = output_open(&output, job->request->save_bounds);
  if (code != GO_ON) return code;
  code = rows_open(&rows, ROWS_FILE, 0, &job->bounds_schema, &output);
  if (code == GO_ON) code = rows_write(&rows, &job->bounds);
  if (code == GO_ON) code = rows_finish(&rows);
  rows_close(&rows);
  return output_finish(&output, code);
}

static int prepare_keys(struct job *job) {
  const struct request *r = job->request;
  const char *text = r->hash != NULL ? r->hash : r->range != NULL ? r->range : r->partition_id;
  if (text == NULL) return GO_ON;
  int code = parse_keys(NAME, text, r->range != NULL, &job->schema, job->input.name, &job->keys, &job->n_keys);
  if (code != GO_ON || r->range == NULL) return code;
  code = r->bounds != NULL ? load_bounds(job) : sample_bounds(job);
  if (code == GO_ON && r->save_bounds != NULL) code = save_bounds(job);
  job->options.partitioner.bounds_schema = &job->bounds_schema;
  job->options.partitioner.bounds = &job->bounds;
  return code;
}

static int write_batch(struct job *job, struct ArrowArray *batch) {
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_map_writer_write(job->writer, batch, &err);
  if (status == COLSHUF_OK) return GO_ON;
  bool about_data = status == COLSHUF_CORRUPT || status == COLSHUF_INVALID_ARGUMENT || status == COLSHUF_UNSUPPORTED;
  fail_error(status, &err, about_data ? job->input.name : NULL);
  return about_data ? EXIT_BAD_DATA : EXIT_SYSTEM;
}

static int write_all(struct job *job) {
  struct colshuf_error err = {0};
  job->options.partitioner.keys = job->keys;
  job->options.partitioner.n_keys = job->n_keys;
  enum colshuf_status status = colshuf_map_writer_new(&job->schema, &job->options, &job->writer, &err);
  if (status != COLSHUF_OK) return fail_error(status, &err, NULL);
  int code = for_all_batches(job, "writing", write_batch, NULL);
  if (code != GO_ON) return code;
  if (interrupted()) return EXIT_INTERRUPTED;
  status = colshuf_map_writer_commit(job->writer, NULL, &err);
  return status == COLSHUF_OK ? GO_ON : fail_error(status, &err, NULL);
}

static void print_json(const struct job *job, const struct colshuf_map_metrics *m, uint64_t elapsed) {
  struct json json;
  json_start(&json, stdout);
  json_string(&json, "output", job->request->base);
  json_integer(&json, "partitions", job->request->n_partitions);
  map_counts_json(&json, m, peak_resident());
  json_string(&json, "codec", codec_name(job->options.encoder.codec));
  json_string(&json, "checksum", checksum_name(job->options.checksum));
  map_times_json(&json, m, elapsed);
  json_end(&json);
}

static void print_figures(const struct job *job, const struct colshuf_map_metrics *m, uint64_t elapsed) {
  printf("%s.data: %s rows in %s blocks, %s partitions\n", job->request->base, count_text(m->rows), count_text(m->blocks),
         count_text((uint64_t)job->request->n_partitions));
  printf("  bytes   %s (%s before dictionaries and compression", size_text(m->written_bytes), size_text(m->raw_bytes));
  if (m->written_bytes > 0) printf(", ratio %.2f", (double)m->raw_bytes / (double)m->written_bytes);
  printf(")\n  spills  %s", count_text(m->spills));
  if (m->spills > 0) printf(" (%s)", size_text(m->spilled_bytes));
  putchar('\n');
  print_map_times(m, elapsed, peak_resident(), 8);
}

static int run(struct job *job) {
  uint64_t start = clock_ns();
  int code = make_options(job);
  if (code == GO_ON) code = open_input(job, 0);
  if (code == GO_ON) job->bytes_whole = job->request->inputs.n == 1 ? job->input.progress->whole : 0;
  if (code == GO_ON) code = prepare_keys(job);
  if (code == GO_ON) code = write_all(job);
  if (code != GO_ON) return code;
  struct colshuf_map_metrics metrics;
  colshuf_map_writer_metrics(job->writer, &metrics);
  if (job->request->json) {
    print_json(job, &metrics, clock_ns() - start);
  } else {
    print_figures(job, &metrics, clock_ns() - start);
  }
  return finish_stdout(EXIT_WELL);
}

static void clear_job(struct job *job) {
  colshuf_map_writer_free(job->writer);
  input_close(&job->input);
  if (job->bounds.release != NULL) job->bounds.release(&job->bounds);
  if (job->bounds_schema.release != NULL) job->bounds_schema.release(&job->bounds_schema);
  if (job->schema.release != NULL) job->schema.release(&job->schema);
  free(job->keys);
}

int command_write(int argc, char **argv) {
  struct request request = {0};
  struct job job = {.request = &request};
  int code = read_request(argc, argv, &request);
  if (code == GO_ON) code = check_request(&request);
  if (code == GO_ON) {
    catch_interrupts();
    code = run(&job);
  }
  clear_job(&job);
  free(request.base);
  strings_free(&request.inputs);
  strings_free(&request.spill_dirs);
  return code;
}
