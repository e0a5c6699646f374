/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf repack: the same rows in the same partitions and order, packed in another way. */
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "field.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"

static const char NAME[] = "repack";

struct request {
  struct strings files;
  const char *output;
  const char *codec, *checksum, *compat, *offsets, *layout;
  bool no_dictionary, native_index, json;
  uint64_t memory_limit, block_size;
  int64_t block_rows;
};

static int make_options(const struct request *r, const char *base, int32_t n_partitions, struct colshuf_map_writer_options *o) {
  *o = (struct colshuf_map_writer_options){.output = base,
                                           .memory_limit = r->memory_limit,
                                           .block_size = r->block_size,
                                           .block_rows = r->block_rows,
                                           .native_index = r->native_index};
  o->partitioner.kind = COLSHUF_PARTITION_ROUND_ROBIN; /* never asked: each batch is sent to its partition */
  o->partitioner.n_partitions = n_partitions;
  o->encoder.dictionary = r->no_dictionary ? COLSHUF_DICTIONARY_OFF : COLSHUF_DICTIONARY_AUTO;
  int code = parse_codec(NAME, r->codec, &o->encoder.codec, &o->encoder.level);
  if (code == GO_ON) code = parse_checksum(NAME, r->checksum, &o->checksum);
  if (code == GO_ON) code = parse_compat(NAME, r->compat, &o->encoder.compat);
  if (code == GO_ON) code = parse_offsets(NAME, r->offsets, &o->encoder.offsets);
  if (code == GO_ON) code = parse_layout(NAME, r->layout, &o->encoder.layout);
  return code;
}

static int copy_partition(const struct request *r, const struct ArrowSchema *schema, int32_t partition,
                          struct colshuf_map_writer *writer) {
  char number[16];
  snprintf(number, sizeof number, "%" PRId32, partition);
  const struct selection selection = {.partition = number};
  struct input input;
  struct colshuf_error err = {0};
  int code = input_open(NAME, r->files.items, 1, &selection, &input);
  if (code != GO_ON) return code;
  struct text why = {0};
  while (code == GO_ON) {
    struct ArrowArray batch;
    code = input_next(&input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    if (!schemas_match(schema, &input.schema, &why)) {
      code = fail_with(EXIT_BAD_DATA, "%s: partition %" PRId32 " does not fit the first: %s", input.name, partition, why.data);
    } else {
      enum colshuf_status status = colshuf_map_writer_write_partition(writer, &batch, partition, &err);
      if (status != COLSHUF_OK) code = fail_error(status, &err, NULL);
    }
    batch.release(&batch);
  }
  text_free(&why);
  input_close(&input);
  return code;
}

static void print_figures(const struct request *r, const char *base, const struct colshuf_map_metrics *m, uint64_t before,
                          uint64_t elapsed) {
  struct json json;
  if (!r->json) {
    printf("%s.data: %s rows in %s blocks, %s (before: %s) in %s\n", base, count_text(m->rows), count_text(m->blocks),
           size_text(m->written_bytes), size_text(before), time_text(elapsed));
    return;
  }
  json_start(&json, stdout);
  json_string(&json, "output", base);
  json_unsigned(&json, "rows", m->rows);
  json_unsigned(&json, "blocks", m->blocks);
  json_unsigned(&json, "bytes_before", before);
  json_unsigned(&json, "written_bytes", m->written_bytes);
  json_unsigned(&json, "spills", m->spills);
  json_unsigned(&json, "peak_memory", m->peak_memory);
  json_unsigned(&json, "elapsed_ns", elapsed);
  json_end(&json);
}

static int copy_all(const struct request *r, const char *base, const struct ArrowSchema *schema,
                    const struct colshuf_index_info *index) {
  struct colshuf_map_writer_options options;
  struct colshuf_map_writer *writer = NULL;
  struct colshuf_map_metrics metrics;
  struct colshuf_error err = {0};
  uint64_t start = clock_ns();
  int code = make_options(r, base, index->n_partitions, &options);
  if (code != GO_ON) return code;
  enum colshuf_status status = colshuf_map_writer_new(schema, &options, &writer, &err);
  if (status != COLSHUF_OK) return fail_error(status, &err, NULL);
  for (int32_t p = 0; p < index->n_partitions && code == GO_ON; p++) {
    if (index->offsets[p + 1] > index->offsets[p]) code = copy_partition(r, schema, p, writer);
    progress_show("repacking", index->offsets[p + 1], index->offsets[index->n_partitions]);
  }
  progress_end();
  if (code == GO_ON && interrupted()) code = EXIT_INTERRUPTED;
  if (code == GO_ON && (status = colshuf_map_writer_commit(writer, NULL, &err)) != COLSHUF_OK) code = fail_error(status, &err, NULL);
  if (code == GO_ON) {
    colshuf_map_writer_metrics(writer, &metrics);
    print_figures(r, base, &metrics, index->offsets[index->n_partitions], clock_ns() - start);
  }
  colshuf_map_writer_free(writer);
  return code;
}

static int run(const struct request *r, const char *base, const char *index_path) {
  const struct selection all = {0};
  struct colshuf_index_info index;
  struct colshuf_error err = {0};
  struct input input;
  enum colshuf_status status = colshuf_index_read(index_path, &index, &err);
  if (status != COLSHUF_OK) return fail_error(status, &err, index_path);
  int code = input_open(NAME, r->files.items, 1, &all, &input);
  if (code == GO_ON) {
    code = copy_all(r, base, &input.schema, &index);
    input_close(&input);
  }
  colshuf_index_clear(&index);
  return code == GO_ON ? finish_stdout(EXIT_WELL) : code;
}

static int check_and_run(const struct request *r) {
  if (r->files.n != 1) return fail_usage(NAME, "one file is wanted, not %d", r->files.n);
  if (r->output == NULL) return fail_usage(NAME, "no output is named: -o NAME");
  int code = check_output_name(NAME, r->output);
  if (code == GO_ON) code = input_check_output(NAME, r->files.items[0]);
  if (code != GO_ON) return code;
  char *base = with_ending(r->output, ""), *source = with_ending(r->files.items[0], ""), *index = with_ending(source, ".index");
  code = strcmp(base, source) == 0 ? fail_usage(NAME, "the output is the input, %s", source) : GO_ON;
  if (code == GO_ON) {
    catch_interrupts();
    code = run(r, base, index);
  }
  free(base);
  free(source);
  free(index);
  return code;
}

int command_repack(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {
      {"output", 'o', OPTION_TEXT, "NAME", "makes NAME.data, NAME.index and NAME.checksum.ALGORITHM", &r.output, 0, 0},
      {"codec", 0, OPTION_TEXT, "CODEC", "lz4 (default), zstd, snappy or none; zstd:LEVEL 1 to 22, lz4:LEVEL 2 to 12", &r.codec, 0, 0},
      {"memory-limit", 'm', OPTION_SIZE, "SIZE", "what the writer may hold [256M]; the rest is spilled", &r.memory_limit, 0, 0},
      {"block-size", 0, OPTION_SIZE, "SIZE", "uncompressed bytes that make a block [1M]", &r.block_size, 0, 0},
      {"block-rows", 0, OPTION_NUMBER, "N", "rows that make a block", &r.block_rows, 1, INT32_MAX},
      {"checksum", 0, OPTION_TEXT, "NAME", "adler32 (default), crc32, crc32c or none", &r.checksum, 0, 0},
      {"compat", 0, OPTION_TEXT, "NAME", "who must read it: comet (default), comet-1.1, or arrow for every Arrow type", &r.compat, 0, 0},
      {"offsets", 0, OPTION_TEXT, "FORM", "auto (default), plain or lengths", &r.offsets, 0, 0},
      {"layout", 0, OPTION_TEXT, "FORM", "compact (default) or arrow-rs", &r.layout, 0, 0},
      {"no-dictionary", 0, OPTION_FLAG, NULL, "never turn a plain column into a dictionary", &r.no_dictionary, 0, 0},
      {"native-index", 0, OPTION_FLAG, NULL, "little-endian index, as Comet's native writer leaves it", &r.native_index, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "figures as JSON", &r.json, 0, 0},
  };
  const struct usage usage = {NAME, "FILE.data -o NAME [options]",
                              "Writes the rows of a shuffle output again, in the same partitions and order, with another codec, block size\n"
                              "or compatibility.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.files);
  if (code == GO_ON) code = check_and_run(&r);
  strings_free(&r.files);
  return code;
}
