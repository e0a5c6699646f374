/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf merge: many outputs become one, block by block and undecoded. */
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"

static const char NAME[] = "merge";

struct request {
  struct strings files;
  const char *output, *partitions, *checksum;
  bool native_index, json;
};

static int show_progress(void *ctx, uint64_t done, uint64_t total) {
  (void)ctx;
  progress_show("merging", done, total);
  return interrupted();
}

static void print_summary(const struct request *r, const char *base, const struct colshuf_merge_summary *summary,
                          uint64_t elapsed) {
  if (!r->json) {
    printf("%s.data: %s blocks of %s files in %s partitions, %s in %s\n", base, count_text(summary->blocks),
           count_text((uint64_t)r->files.n), count_text((uint64_t)summary->n_partitions), size_text(summary->bytes),
           time_text(elapsed));
    return;
  }
  struct json json;
  json_start(&json, stdout);
  json_string(&json, "output", base);
  json_unsigned(&json, "sources", (uint64_t)r->files.n);
  json_unsigned(&json, "partitions", (uint64_t)summary->n_partitions);
  json_unsigned(&json, "blocks", summary->blocks);
  json_unsigned(&json, "written_bytes", summary->bytes);
  json_unsigned(&json, "elapsed_ns", elapsed);
  json_end(&json);
}

static int run(const struct request *r, const char *base, struct colshuf_merge_options *options) {
  struct colshuf_merge_summary summary;
  struct colshuf_error err = {0};
  uint64_t start = clock_ns();
  options->output = base;
  options->progress = show_progress;
  enum colshuf_status status = colshuf_merge((const char *const *)r->files.items, r->files.n, options, &summary, &err);
  progress_end();
  if (status == COLSHUF_CANCELLED) return EXIT_INTERRUPTED;
  if (status != COLSHUF_OK) return fail_error(status, &err, NULL);
  print_summary(r, base, &summary, clock_ns() - start);
  return finish_stdout(EXIT_WELL);
}

static int check(const struct request *r, const char *base, struct colshuf_merge_options *options) {
  int code = check_output_name(NAME, r->output);
  if (code == GO_ON) code = parse_checksum(NAME, r->checksum, &options->checksum);
  if (code == GO_ON && r->partitions != NULL &&
      !parse_partitions(r->partitions, &options->first_partition, &options->end_partition)) {
    code = fail_usage(NAME, "%s is no partition range such as 0-9", r->partitions);
  }
  for (int i = 0; i < r->files.n && code == GO_ON; i++) {
    const char *file = r->files.items[i];
    code = input_check_output(NAME, file);
    if (code == GO_ON && strncmp(file, base, strlen(base)) == 0 && strcmp(file + strlen(base), ".data") == 0) {
      code = fail_usage(NAME, "the output is one of the inputs, %s", file);
    }
  }
  return code;
}

int command_merge(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {
      {"output", 'o', OPTION_TEXT, "NAME", "makes NAME.data, NAME.index and NAME.checksum.ALGORITHM", &r.output, 0, 0},
      {"partitions", 0, OPTION_TEXT, "A-B", "partitions A to B only, both included; the others come out empty", &r.partitions,
       0, 0},
      {"checksum", 0, OPTION_TEXT, "NAME", "adler32 (default), crc32, crc32c or none", &r.checksum, 0, 0},
      {"native-index", 0, OPTION_FLAG, NULL, "little-endian index, as Comet's native writer leaves it", &r.native_index, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "figures as JSON", &r.json, 0, 0},
  };
  const struct usage usage = {
      NAME, "FILE.data... -o NAME [options]",
      "Makes one shuffle output of many that have the same partitions: each partition holds the blocks of the first\n"
      "file, then of the second, and so on, copied as they are. Checksums are verified on the way.",
      options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.files);
  if (code == GO_ON && r.files.n == 0) code = fail_usage(NAME, "no file is named");
  if (code == GO_ON && r.output == NULL) code = fail_usage(NAME, "no output is named: -o NAME");
  if (code == GO_ON) {
    struct colshuf_merge_options merging = {.native_index = r.native_index};
    char *base = with_ending(r.output, "");
    code = check(&r, base, &merging);
    if (code == GO_ON) {
      catch_interrupts();
      code = run(&r, base, &merging);
    }
    free(base);
  }
  strings_free(&r.files);
  return code;
}
