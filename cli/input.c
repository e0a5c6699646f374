/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choices.h"
#include "field.h"
#include "output.h"
#include "projection.h"
#include "report.h"

/*
 * Bytes of a file or a pipe for the library. Of our own, so that a signal ends a read that waits, progress can be shown, and
 * the first bytes can be looked at before somebody reads them.
 */
struct bytes {
  int fd;
  unsigned char head[KIND_HEAD];
  size_t head_size;
  uint64_t position; /* of the next read */
  struct input_progress *progress;
};

/* The library calls again after EINTR, as one should. */
static int64_t failure(void) {
  return errno == EINTR ? -ECANCELED : -errno;
}

static int64_t read_bytes(void *ctx, void *buffer, size_t size) {
  struct bytes *bytes = ctx;
  int64_t n;
  if (bytes->position < bytes->head_size) {
    size_t left = bytes->head_size - (size_t)bytes->position;
    n = (int64_t)(size < left ? size : left);
    memcpy(buffer, bytes->head + bytes->position, (size_t)n);
  } else {
    do {
      n = read(bytes->fd, buffer, size);
    } while (n < 0 && errno == EINTR && !interrupted());
    if (n < 0) return failure();
  }
  bytes->position += (uint64_t)n;
  bytes->progress->taken = bytes->position;
  return n;
}

static int64_t read_bytes_at(void *ctx, uint64_t position, void *buffer, size_t size) {
  struct bytes *bytes = ctx;
  ssize_t n;
  do {
    n = pread(bytes->fd, buffer, size, (off_t)position);
  } while (n < 0 && errno == EINTR && !interrupted());
  if (n < 0) return failure();
  bytes->progress->taken = position + (uint64_t)n;
  return n;
}

static int64_t size_of_bytes(void *ctx) {
  struct bytes *bytes = ctx;
  return (int64_t)bytes->progress->whole;
}

static void release_bytes(void *ctx) {
  struct bytes *bytes = ctx;
  if (bytes->fd != STDIN_FILENO) close(bytes->fd);
  free(bytes);
}

static const char *shown(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int fill_head(struct bytes *bytes, const char *path) {
  while (bytes->head_size < sizeof bytes->head) {
    ssize_t n = read(bytes->fd, bytes->head + bytes->head_size, sizeof bytes->head - bytes->head_size);
    if (n < 0 && errno == EINTR && !interrupted()) continue;
    if (n < 0) return interrupted() ? EXIT_INTERRUPTED : fail_errno(errno, shown(path));
    if (n == 0) break;
    bytes->head_size += (size_t)n;
  }
  return GO_ON;
}

/* An output is written by its name alone, and read by that of its data file. */
static int fail_open(int error, const char *path) {
  char *data = need_memory(NULL, strlen(path) + sizeof ".data");
  sprintf(data, "%s.data", path);
  bool meant = error == ENOENT && access(data, F_OK) == 0;
  int code = meant ? fail_with(EXIT_SYSTEM, "%s: %s; there is %s", path, strerror(error), data) : fail_errno(error, path);
  free(data);
  return code;
}

static int open_descriptor(const char *path, int *fd) {
  struct stat status;
  *fd = STDIN_FILENO;
  if (strcmp(path, "-") == 0) return GO_ON;
  do {
    *fd = open(path, O_RDONLY | O_CLOEXEC);
  } while (*fd < 0 && errno == EINTR && !interrupted());
  if (*fd < 0) return interrupted() ? EXIT_INTERRUPTED : fail_open(errno, path);
  if (fstat(*fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(*fd);
    return fail_errno(EISDIR, path);
  }
  return GO_ON;
}

static int open_bytes(const char *path, struct input_progress *progress, struct bytes **out) {
  int fd;
  int code = open_descriptor(path, &fd);
  if (code != GO_ON) return code;
  struct bytes *bytes = need_memory(NULL, sizeof *bytes);
  *bytes = (struct bytes){.fd = fd, .progress = progress};
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) progress->whole = (uint64_t)status.st_size;
  code = fill_head(bytes, path);
  if (code == GO_ON) {
    *out = bytes;
  } else {
    release_bytes(bytes);
  }
  return code;
}

static bool ends_with(const char *text, const char *ending) {
  size_t size = strlen(text), ending_size = strlen(ending);
  return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

/* A file that ends with .data, or has blocks in it, is a shuffle file: an empty one has no bytes to tell by. */
static enum input_kind kind_of(const char *path, const struct bytes *bytes) {
  if (head_is_block(bytes->head, bytes->head_size)) return INPUT_BLOCKS;
  return ends_with(path, ".data") && !head_is_arrow(bytes->head, bytes->head_size) ? INPUT_BLOCKS : INPUT_ARROW;
}

/* Old streams begin with the size of the schema message, without the word that says so: some kilobytes at most. */
static bool looks_like_arrow(const unsigned char *head, size_t size) {
  uint32_t word;
  if (size < 8 || head_is_arrow(head, size)) return size >= 8;
  memcpy(&word, head, 4);
  return word > 0 && word < 1 << 24;
}

/* Before the library reports some offset in a text file: what is it? */
static int check_arrow(const char *name, const struct bytes *bytes) {
  if (bytes->head_size == 0) return fail_with(EXIT_BAD_DATA, "%s is empty: no Arrow data, and no block", name);
  struct file_kind kind = kind_of_foreign(name, bytes->head, bytes->head_size);
  if (kind.what != NULL) return fail_with(EXIT_BAD_DATA, "%s is %s, neither Arrow data nor a shuffle file: %s", name, kind.what, kind.advice);
  if (looks_like_arrow(bytes->head, bytes->head_size)) return GO_ON;
  return fail_with(EXIT_BAD_DATA, "%s is neither Arrow data nor a shuffle file: it begins with %02x %02x %02x %02x", name,
                   bytes->head[0], bytes->head[1], bytes->head[2], bytes->head[3]);
}

int input_probe(const char *path, enum input_kind *kind) {
  struct input_progress progress = {0};
  struct bytes *bytes;
  int code = open_bytes(path, &progress, &bytes);
  if (code != GO_ON) return code;
  *kind = kind_of(path, bytes);
  release_bytes(bytes);
  return GO_ON;
}

int input_check_named(const char *command, const char *path) {
  if (strcmp(path, "-") != 0) return GO_ON;
  return fail_usage(command, "shuffle files are read by name, not from standard input");
}

int input_check_twice(const char *command, const char *path, const char *why) {
  struct stat status;
  bool once = strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
  if (!once) return GO_ON;
  return fail_usage(command, "%s, and %s can be read only once", why, shown(path));
}

int input_check_repeats(const char *command, const struct strings *paths) {
  int n = 0;
  for (int i = 0; i < paths->n; i++) n += strcmp(paths->items[i], "-") == 0;
  return n < 2 ? GO_ON : fail_usage(command, "standard input can be read only once, and is named %d times", n);
}

static struct file_kind kind_beside_blocks(const char *path, const unsigned char *head, size_t size) {
  if (head_is_arrow(head, size) && !head_is_block(head, size)) return (struct file_kind){"Arrow data", "cat, stats, convert and write take it"};
  return kind_of_foreign(path, head, size);
}

static int refuse_as_blocks(const char *path, const struct bytes *bytes) {
  if (bytes->head_size == 0) return fail_with(EXIT_BAD_DATA, "%s is no shuffle file: it is empty", path);
  struct file_kind kind = kind_beside_blocks(path, bytes->head, bytes->head_size);
  if (kind.what == NULL) return fail_with(EXIT_BAD_DATA, "%s is no shuffle file: it does not begin with a block", path);
  return fail_with(EXIT_BAD_DATA, "%s is no shuffle file but %s: %s", path, kind.what, kind.advice);
}

int input_check_blocks(const char *command, const char *path) {
  struct input_progress progress = {0};
  struct bytes *bytes;
  int code = input_check_named(command, path);
  if (code == GO_ON) code = open_bytes(path, &progress, &bytes);
  if (code != GO_ON) return code;
  if (kind_of(path, bytes) != INPUT_BLOCKS) code = refuse_as_blocks(path, bytes);
  release_bytes(bytes);
  return code;
}

static bool has_index(const char *path, char **index) {
  *index = with_ending(path, ".index");
  return access(*index, F_OK) == 0 || errno != ENOENT;
}

bool input_is_foreign(const char *path, struct file_kind *kind) {
  unsigned char head[KIND_HEAD];
  struct stat status;
  char *index;
  bool indexed = has_index(path, &index);
  free(index);
  if (indexed || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
  if (fd >= 0) close(fd);
  if (size > 0) *kind = kind_beside_blocks(path, head, (size_t)size);
  return size > 0 && kind->what != NULL;
}

int input_check_output(const char *command, const char *path) {
  int code = input_check_blocks(command, path);
  if (code != GO_ON) return code;
  char *index;
  if (!has_index(path, &index)) {
    code = fail_with(EXIT_SYSTEM, "%s: there is no %s to say where its partitions are; read and cat take it whole without one", path, index);
  }
  free(index);
  return code;
}

bool parse_partitions(const char *text, int32_t *first, int32_t *end) {
  int64_t a, b;
  char copy[64];
  if (strlen(text) >= sizeof copy) return false;
  strcpy(copy, text);
  char *dash = strchr(copy, '-');
  if (dash != NULL) *dash = '\0';
  if (!parse_number(copy, &a) || a < 0 || a >= INT32_MAX) return false;
  b = a;
  if (dash != NULL && (!parse_number(dash + 1, &b) || b < a || b >= INT32_MAX)) return false;
  *first = (int32_t)a;
  *end = (int32_t)(b + 1);
  return true;
}

static int find_partitions(const char *command, const struct selection *selection, int32_t *first, int32_t *end) {
  *first = *end = 0;
  if (selection->partition != NULL && selection->partitions != NULL) {
    return fail_usage(command, "--partition and --partitions exclude each other");
  }
  const char *text = selection->partition != NULL ? selection->partition : selection->partitions;
  if (text == NULL) return GO_ON;
  bool single = selection->partition != NULL && strchr(text, '-') != NULL && text[0] != '-';
  if (!single && parse_partitions(text, first, end)) return GO_ON;
  return fail_usage(command, "%s is no partition%s", text, selection->partition != NULL ? "" : " range such as 0-9");
}

/* Column numbers of the schema, by name. names may repeat; *out is allocated. */
static int find_columns(const char *command, const char *text, const struct ArrowSchema *schema, const char *place,
                        int32_t **out, int32_t *n) {
  struct strings names = {0};
  strings_split(&names, text);
  *out = need_memory(NULL, (size_t)names.n * sizeof **out);
  *n = names.n;
  int code = GO_ON;
  for (int i = 0; i < names.n && code == GO_ON; i++) {
    code = need_column(command, schema, names.items[i], place, &(*out)[i]);
  }
  strings_free(&names);
  return code;
}

static struct colshuf_read_options read_options(const struct selection *selection) {
  return (struct colshuf_read_options){
      .trust = selection->trusted ? COLSHUF_TRUSTED_LOCAL : COLSHUF_UNTRUSTED,
      .target_rows = selection->target_rows,
      .memory_limit = selection->memory_limit,
      .keep_dictionaries = selection->keep_dictionaries,
      .verify_checksums = selection->verify_checksums,
      .skip_corrupt = selection->skip_corrupt,
      .threads = (int)selection->threads,
      .any_order = selection->any_order,
  };
}

/* A reader stops at the first fault; verify goes on and says where it may come from. */
static const char *hint(const struct input *input) {
  return input->kind == INPUT_BLOCKS ? "colshuf verify tells more" : NULL;
}

static int get_schema(struct input *input) {
  int error = input->stream.get_schema(&input->stream, &input->schema);
  return error == 0 ? GO_ON : fail_stream(&input->stream, error, input->name, hint(input));
}

static int open_sources(struct input *input, const struct colshuf_source *sources, int n,
                        const struct colshuf_read_options *options) {
  struct colshuf_error err = {0};
  enum colshuf_status status = colshuf_read(sources, n, options, input->metrics, &input->stream, &err);
  if (status != COLSHUF_OK) return fail_error_hint(status, &err, n == 1 ? input->name : NULL, hint(input));
  return get_schema(input);
}

/* Columns are named, the library takes numbers: the files are opened once to ask for the schema. */
static int open_projected(const char *command, struct input *input, const struct colshuf_source *sources, int n,
                          const struct selection *selection) {
  struct colshuf_read_options options = read_options(selection);
  int code = open_sources(input, sources, n, &options);
  if (code != GO_ON || selection->columns == NULL) return code;
  int32_t *columns, n_columns;
  code = find_columns(command, selection->columns, &input->schema, input->name, &columns, &n_columns);
  if (code == GO_ON) {
    input->stream.release(&input->stream);
    input->schema.release(&input->schema);
    *input->metrics = (struct colshuf_read_metrics){0};
    options.columns = columns;
    options.n_columns = n_columns;
    code = open_sources(input, sources, n, &options);
  }
  free(columns);
  return code;
}

/* Partitions can be chosen only where an index says what they are. */
static int check_index(const char *command, const char *path) {
  char *index;
  int code = has_index(path, &index) ? GO_ON : fail_usage(command, "%s: there is no %s to say where partitions are: read it whole", path, index);
  free(index);
  return code;
}

static int open_blocks(const char *command, const char *const *paths, int n, const struct selection *selection,
                       struct input *input) {
  struct colshuf_source *sources = need_memory(NULL, (size_t)n * sizeof *sources);
  int32_t first, end;
  int code = find_partitions(command, selection, &first, &end);
  for (int i = 0; i < n && code == GO_ON && end > 0; i++) code = check_index(command, paths[i]);
  for (int i = 0; i < n; i++) {
    sources[i] = (struct colshuf_source){.data_path = paths[i], .first_partition = first, .end_partition = end};
  }
  if (code == GO_ON) code = open_projected(command, input, sources, n, selection);
  free(sources);
  return code;
}

/* Arrow data is read whole, and the columns are chosen of what comes. */
static int choose_columns(const char *command, const char *names, struct input *input) {
  int code = find_columns(command, names, &input->schema, input->name, &input->columns, &input->n_columns);
  if (code == GO_ON) project_schema(&input->schema, input->columns, input->n_columns);
  return code;
}

static int open_arrow(const char *command, const struct selection *selection, struct input *input, struct bytes *bytes) {
  struct colshuf_error err = {0};
  int code = check_arrow(input->name, bytes);
  if (code != GO_ON) {
    release_bytes(bytes);
    return code;
  }
  bool can_seek = bytes->progress->whole > 0;
  struct colshuf_input source = {.read = read_bytes, .release = release_bytes, .ctx = bytes};
  if (can_seek) {
    source.read_at = read_bytes_at;
    source.size = size_of_bytes;
  }
  enum colshuf_status status = colshuf_ipc_reader_open(&source, NULL, &input->stream, &err);
  if (status != COLSHUF_OK) return interrupted() ? EXIT_INTERRUPTED : fail_error(status, &err, input->name);
  code = get_schema(input);
  return code == GO_ON && selection->columns != NULL ? choose_columns(command, selection->columns, input) : code;
}

static int open_one(const char *command, const char *path, const struct selection *selection, struct input *input) {
  struct bytes *bytes;
  int code = open_bytes(path, input->progress, &bytes);
  if (code != GO_ON) return code;
  input->kind = kind_of(path, bytes);
  if (input->kind == INPUT_ARROW) {
    if (selection->partition == NULL && selection->partitions == NULL) return open_arrow(command, selection, input, bytes);
    code = check_arrow(input->name, bytes);
    release_bytes(bytes);
    if (code != GO_ON) return code;
    return fail_usage(command, "%s is Arrow data: partitions are chosen of shuffle files", input->name);
  }
  bool pipe = strcmp(path, "-") == 0;
  release_bytes(bytes);
  if (pipe) return fail_usage(command, "shuffle files are read by name, not from standard input");
  return open_blocks(command, &path, 1, selection, input);
}

int input_open(const char *command, const char *const *paths, int n, const struct selection *selection, struct input *input) {
  *input = (struct input){.name = shown(paths[0])};
  input->progress = need_memory(NULL, sizeof *input->progress);
  *input->progress = (struct input_progress){0};
  input->metrics = need_memory(NULL, sizeof *input->metrics);
  *input->metrics = (struct colshuf_read_metrics){0};
  int code = GO_ON;
  if (n == 1) {
    code = open_one(command, paths[0], selection, input);
  } else {
    input->kind = INPUT_BLOCKS;
    for (int i = 0; i < n && code == GO_ON; i++) {
      enum input_kind kind;
      code = input_probe(paths[i], &kind);
      if (code == GO_ON && kind != INPUT_BLOCKS) code = fail_usage(command, "%s is no shuffle file; only those are joined", paths[i]);
    }
    if (code == GO_ON) code = open_blocks(command, paths, n, selection, input);
  }
  if (code != GO_ON) input_close(input);
  return code;
}

int input_next(struct input *input, struct ArrowArray *batch) {
  batch->release = NULL;
  if (interrupted()) return EXIT_INTERRUPTED;
  int error = input->stream.get_next(&input->stream, batch);
  if (error == 0 && batch->release != NULL && input->columns != NULL) project_batch(batch, input->columns, input->n_columns);
  if (error == 0) return GO_ON;
  if (interrupted()) return EXIT_INTERRUPTED;
  return fail_stream(&input->stream, error, input->name, hint(input));
}

int input_remarks(const struct input *input) {
  uint64_t skipped = input->metrics->skipped_blocks;
  if (skipped == 0) return GO_ON;
  return fail_with(EXIT_BAD_DATA, "%s: %s corrupt block%s left out", input->name, count_text(skipped), skipped == 1 ? " was" : "s were");
}

void input_close(struct input *input) {
  if (input->schema.release != NULL) input->schema.release(&input->schema);
  if (input->stream.release != NULL) input->stream.release(&input->stream);
  free(input->columns);
  free(input->progress);
  free(input->metrics);
  *input = (struct input){0};
}
