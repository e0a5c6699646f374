/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf verify */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choices.h"
#include "commands.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"

struct fault {
  char *path, *problem, *diagnosis;
  enum colshuf_status status;
  int32_t partition;
  int64_t block, offset;
};

/* One file and what came of it. */
struct checked {
  const char *path;
  int code;     /* GO_ON until it is done */
  bool foreign; /* no shuffle file: nothing to count */
  struct colshuf_error err;
  struct colshuf_verify_summary summary;
  struct fault *faults;
  size_t n_faults;
};

struct request {
  struct strings files;
  bool json;
  int64_t threads;
};

struct work {
  struct checked *files;
  int n;
  atomic_int next;
  atomic_int done;
};

static char *copy_of(const char *text) {
  if (text == NULL) return NULL;
  return strcpy(need_memory(NULL, strlen(text) + 1), text);
}

static void take_fault(void *ctx, const struct colshuf_fault *fault) {
  struct checked *file = ctx;
  file->faults = need_memory(file->faults, (file->n_faults + 1) * sizeof *file->faults);
  file->faults[file->n_faults++] = (struct fault){.path = copy_of(fault->path),
                                                  .problem = copy_of(fault->problem),
                                                  .diagnosis = copy_of(fault->diagnosis),
                                                  .status = fault->status,
                                                  .partition = fault->partition,
                                                  .block = fault->block,
                                                  .offset = fault->offset};
}

/* To look for blocks in a Parquet file would end in a riddle. */
static bool is_foreign(struct checked *file) {
  struct file_kind kind = {0};
  char problem[128];
  if (!input_is_foreign(file->path, &kind)) return false;
  snprintf(problem, sizeof problem, "no shuffle file but %s", kind.what);
  take_fault(file, &(struct colshuf_fault){.status = COLSHUF_CORRUPT,
                                           .path = file->path,
                                           .problem = problem,
                                           .diagnosis = kind.advice,
                                           .partition = -1,
                                           .block = -1,
                                           .offset = -1});
  file->summary.faults = 1;
  file->code = EXIT_BAD_DATA;
  return file->foreign = true;
}

static void check_file(struct checked *file) {
  if (is_foreign(file)) return;
  enum colshuf_status status = colshuf_verify(file->path, NULL, take_fault, file, &file->summary, &file->err);
  file->code = status != COLSHUF_OK ? exit_code_of(status) : file->summary.faults > 0 ? EXIT_BAD_DATA : EXIT_WELL;
}

/* What each thread does; the first one also shows how far all are. */
static void check_files(struct work *work, bool shows) {
  for (int i; (i = atomic_fetch_add(&work->next, 1)) < work->n;) {
    check_file(&work->files[i]);
    int done = atomic_fetch_add(&work->done, 1) + 1;
    if (shows) progress_count("files", (uint64_t)done, (uint64_t)work->n);
  }
  if (shows) progress_end();
}

static void *run_thread(void *work) {
  check_files(work, false);
  return NULL;
}

static int64_t count_threads(const struct request *r) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t threads = r->threads > 0 ? r->threads : cores > 0 ? cores : 1;
  return threads < r->files.n ? threads : r->files.n;
}

static void check_all(const struct request *r, struct work *work) {
  int64_t n = count_threads(r);
  pthread_t *threads = need_memory(NULL, (size_t)n * sizeof *threads);
  int64_t started = 0;
  while (started < n - 1 && pthread_create(&threads[started], NULL, run_thread, work) == 0) started++;
  check_files(work, true);
  for (int64_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  free(threads);
}

static void print_fault(const struct checked *file, const struct fault *fault) {
  bool of_block = fault->partition >= 0 || fault->block >= 0 || fault->offset >= 0;
  printf("%s: ", fault->path != NULL ? fault->path : file->path);
  if (fault->partition >= 0) printf("partition %" PRId32 "%s", fault->partition, fault->block >= 0 || fault->offset >= 0 ? ", " : "");
  if (fault->block >= 0) printf("block %" PRId64 "%s", fault->block, fault->offset >= 0 ? ", " : "");
  if (fault->offset >= 0) printf("offset %" PRId64, fault->offset);
  printf("%s%s", of_block ? ": " : "", fault->problem);
  if (fault->diagnosis != NULL) printf(" (%s)", fault->diagnosis);
  putchar('\n');
}

static void print_file(const struct checked *file) {
  const struct colshuf_verify_summary *s = &file->summary;
  for (size_t i = 0; i < file->n_faults; i++) print_fault(file, &file->faults[i]);
  if (file->foreign || (file->code != EXIT_WELL && file->code != EXIT_BAD_DATA)) return;
  printf("%s: %s", file->path, file->n_faults == 0 ? "ok" : count_text(s->faults));
  if (file->n_faults > 0) printf(" fault%s", s->faults == 1 ? "" : "s");
  printf("; %s partitions, %s blocks, %s rows, %s", count_text(s->partitions), count_text(s->blocks), count_text(s->rows),
         size_text(s->bytes));
  if (!s->has_index) {
    printf("; no index: blocks missing at the end, or changed values, would not be noticed\n");
  } else if (s->checksum == COLSHUF_CHECKSUM_NONE) {
    printf("; no checksum file: changed values would not be noticed\n");
  } else {
    printf("; %s compared\n", checksum_name(s->checksum));
  }
}

static void print_fault_json(struct json *json, const struct checked *file, const struct fault *fault) {
  json_object(json, NULL);
  json_string(json, "path", fault->path != NULL ? fault->path : file->path);
  if (fault->partition >= 0) json_integer(json, "partition", fault->partition);
  if (fault->block >= 0) json_integer(json, "block", fault->block);
  if (fault->offset >= 0) json_integer(json, "offset", fault->offset);
  json_string(json, "status", colshuf_status_name(fault->status));
  json_string(json, "problem", fault->problem);
  json_string(json, "diagnosis", fault->diagnosis);
  json_close(json);
}

static void print_file_json(struct json *json, const struct checked *file) {
  const struct colshuf_verify_summary *s = &file->summary;
  json_object(json, NULL);
  json_string(json, "file", file->path);
  json_bool(json, "ok", file->code == EXIT_WELL);
  if (file->code != EXIT_WELL && file->code != EXIT_BAD_DATA) json_string(json, "error", file->err.message);
  json_unsigned(json, "partitions", s->partitions);
  json_unsigned(json, "blocks", s->blocks);
  json_unsigned(json, "rows", s->rows);
  json_unsigned(json, "bytes", s->bytes);
  json_bool(json, "index", s->has_index);
  json_string(json, "checksum", checksum_name(s->checksum));
  json_array(json, "faults");
  for (size_t i = 0; i < file->n_faults; i++) print_fault_json(json, file, &file->faults[i]);
  json_close(json);
  json_close(json);
}

/* All files together. */
struct totals {
  uint64_t files, well, bad, unread; /* unread: the machine refused, nothing is known of them */
  uint64_t blocks, rows, bytes, faults;
};

static struct totals sum_up(const struct work *work) {
  struct totals sum = {.files = (uint64_t)work->n};
  for (int i = 0; i < work->n; i++) {
    const struct checked *file = &work->files[i];
    sum.well += file->code == EXIT_WELL;
    sum.bad += file->code == EXIT_BAD_DATA;
    sum.unread += file->code != EXIT_WELL && file->code != EXIT_BAD_DATA;
    sum.blocks += file->summary.blocks;
    sum.rows += file->summary.rows;
    sum.bytes += file->summary.bytes;
    sum.faults += file->summary.faults;
  }
  return sum;
}

static void print_totals(const struct totals *sum) {
  printf("%s files: %s ok", count_text(sum->files), count_text(sum->well));
  if (sum->bad > 0) printf(", %s with faults (%s)", count_text(sum->bad), count_text(sum->faults));
  if (sum->unread > 0) printf(", %s not read", count_text(sum->unread));
  printf("; %s blocks, %s rows, %s\n", count_text(sum->blocks), count_text(sum->rows), size_text(sum->bytes));
}

static void print_totals_json(struct json *json, const struct totals *sum) {
  json_object(json, "summary");
  json_unsigned(json, "files", sum->files);
  json_unsigned(json, "ok", sum->well);
  json_unsigned(json, "with_faults", sum->bad);
  json_unsigned(json, "not_read", sum->unread);
  json_unsigned(json, "faults", sum->faults);
  json_unsigned(json, "blocks", sum->blocks);
  json_unsigned(json, "rows", sum->rows);
  json_unsigned(json, "bytes", sum->bytes);
  json_close(json);
}

static void print_all(const struct request *r, const struct work *work) {
  struct totals sum = sum_up(work);
  struct json json;
  if (r->json) {
    json_start(&json, stdout);
    json_array(&json, "files");
  }
  for (int i = 0; i < work->n; i++) {
    if (r->json) {
      print_file_json(&json, &work->files[i]);
    } else {
      print_file(&work->files[i]);
    }
  }
  if (r->json) {
    json_close(&json);
    print_totals_json(&json, &sum);
    json_end(&json);
  } else if (work->n > 1) {
    print_totals(&sum);
  }
  flush_stdout();
}

/* What the machine refused is worse than bad data: nothing is known then. */
static int end_code(const struct work *work) {
  int worst = EXIT_WELL;
  for (int i = 0; i < work->n; i++) {
    const struct checked *file = &work->files[i];
    if (file->code != EXIT_WELL && file->code != EXIT_BAD_DATA) fail_with(file->code, "%s", file->err.message);
    if (file->code > worst) worst = file->code;
  }
  return worst;
}

static void free_files(struct work *work) {
  for (int i = 0; i < work->n; i++) {
    for (size_t f = 0; f < work->files[i].n_faults; f++) {
      free(work->files[i].faults[f].path);
      free(work->files[i].faults[f].problem);
      free(work->files[i].faults[f].diagnosis);
    }
    free(work->files[i].faults);
  }
  free(work->files);
}

static int run(const struct request *r) {
  struct work work = {.n = r->files.n};
  work.files = need_memory(NULL, (size_t)work.n * sizeof *work.files);
  for (int i = 0; i < work.n; i++) work.files[i] = (struct checked){.path = r->files.items[i], .code = GO_ON};
  check_all(r, &work);
  print_all(r, &work);
  int code = end_code(&work);
  free_files(&work);
  return finish_stdout(code);
}

int command_verify(int argc, char **argv) {
  struct request r = {0};
  const struct option options[] = {
      {"json", 0, OPTION_FLAG, NULL, "everything as JSON", &r.json, 0, 0},
      {"threads", 0, OPTION_NUMBER, "N", "files checked at the same time [one a processor]", &r.threads, 1, 1024},
  };
  const struct usage usage = {"verify", "FILE.data... [--json]",
                              "Checks index against data, checksums, and every block with full validation. Names file, partition, block,\n"
                              "offset and reason of each fault, and what it probably comes from. Exit code 1 when there is any.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.files);
  if (code == GO_ON && r.files.n == 0) code = fail_usage("verify", "no file is named");
  for (int i = 0; i < r.files.n && code == GO_ON; i++) code = input_check_named("verify", r.files.items[i]);
  if (code == GO_ON) code = run(&r);
  strings_free(&r.files);
  return code;
}
