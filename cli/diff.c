/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf diff: whether two outputs hold the same rows in each partition. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "field.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "row_hash.h"
#include "value.h"

struct request {
  struct strings files;
  int64_t n_shown;
  bool ordered, as_json, whole;
};

/*
 * What identifies the rows of a partition: their number, and two sums of independent functions of their hashes, which do not depend
 * on the order (or, with --ordered, one chain of hashes that does).
 */
struct digest {
  uint64_t rows, sum, mixed_sum;
};

struct difference {
  int64_t partition; /* -1 = all */
  struct digest sides[2];
  struct text only[2]; /* rows that stand on one side only, a line each */
};

struct comparison {
  const struct request *request;
  struct text schema; /* in words; empty = none */
  bool types_differ;
  int64_t n_partitions;
  struct difference *differences;
  size_t n_differences;
  uint64_t rows[2];
};

static int open_side(const struct request *r, int side, int64_t partition, struct input *input) {
  char number[24];
  struct selection selection = {0};
  snprintf(number, sizeof number, "%" PRId64, partition);
  if (partition >= 0) selection.partition = number;
  return input_open("diff", &r->files.items[side], 1, &selection, input);
}

static void take_rows(struct digest *digest, const struct field *root, const struct ArrowArray *batch, bool ordered) {
  for (int64_t row = 0; row < batch->length; row++) {
    uint64_t hash = hash_row(root, batch, row);
    digest->rows++;
    if (ordered) {
      digest->sum = hash_bytes((const char *)&hash, sizeof hash, digest->sum);
    } else {
      digest->sum += hash;
      digest->mixed_sum += hash_bytes((const char *)&hash, sizeof hash, 7);
    }
  }
}

/* Calls each for the batches of one side of a partition. */
static int for_batches(const struct request *r, int side, int64_t partition, void *ctx,
                       void (*each)(void *ctx, const struct field *root, const struct ArrowArray *batch)) {
  struct input input;
  struct field root;
  int code = open_side(r, side, partition, &input);
  if (code != GO_ON) return code;
  field_init(&root, &input.schema);
  while (code == GO_ON) {
    struct ArrowArray batch;
    code = input_next(&input, &batch);
    if (code != GO_ON || batch.release == NULL) break;
    each(ctx, &root, &batch);
    batch.release(&batch);
  }
  field_clear(&root);
  input_close(&input);
  return code;
}

struct digesting {
  struct digest *digest;
  bool ordered;
};
static void digest_batch(void *ctx, const struct field *root, const struct ArrowArray *batch) {
  struct digesting *digesting = ctx;
  take_rows(digesting->digest, root, batch, digesting->ordered);
}

/* Hashes of rows with how often they stand in A less how often in B: open addressing, at most half full. */
struct counts {
  struct count {
    uint64_t hash;
    int64_t n;
  } *slots;
  size_t n_slots, n_used;
};

static struct count *slot_of(struct counts *counts, uint64_t hash) {
  size_t i = hash & (counts->n_slots - 1);
  while (counts->slots[i].hash != 0 && counts->slots[i].hash != hash) i = (i + 1) & (counts->n_slots - 1);
  return &counts->slots[i];
}

static void grow(struct counts *counts) {
  struct counts larger = {.n_slots = counts->n_slots == 0 ? 1024 : counts->n_slots * 2};
  larger.slots = need_memory(NULL, larger.n_slots * sizeof *larger.slots);
  memset(larger.slots, 0, larger.n_slots * sizeof *larger.slots);
  for (size_t i = 0; i < counts->n_slots; i++) {
    if (counts->slots[i].hash != 0) *slot_of(&larger, counts->slots[i].hash) = counts->slots[i];
  }
  larger.n_used = counts->n_used;
  free(counts->slots);
  *counts = larger;
}

static struct count *count_of(struct counts *counts, uint64_t hash) {
  if (counts->n_used * 2 >= counts->n_slots) grow(counts);
  hash |= hash == 0;
  struct count *slot = slot_of(counts, hash);
  counts->n_used += slot->hash == 0;
  slot->hash = hash;
  return slot;
}

static void add_hashes(void *ctx, const struct field *root, const struct ArrowArray *batch) {
  for (int64_t row = 0; row < batch->length; row++) count_of(ctx, hash_row(root, batch, row))->n++;
}
static void subtract_hashes(void *ctx, const struct field *root, const struct ArrowArray *batch) {
  for (int64_t row = 0; row < batch->length; row++) count_of(ctx, hash_row(root, batch, row))->n--;
}

struct showing {
  struct counts *counts;
  int sign; /* 1 = rows that A has too many of */
  int64_t left;
  struct text *out;
};

static void show_row(struct text *out, const struct field *root, const struct ArrowArray *batch, int64_t row) {
  text_char(out, '{');
  for (int c = 0; c < root->n_children; c++) {
    if (c > 0) text_put(out, ", ");
    json_quote(out, root->children[c].name, strlen(root->children[c].name));
    text_put(out, ": ");
    value_json(&root->children[c], batch->children[c], batch->offset + row, out);
  }
  text_put(out, "}\n");
}

static void show_rows(void *ctx, const struct field *root, const struct ArrowArray *batch) {
  struct showing *showing = ctx;
  for (int64_t row = 0; row < batch->length && showing->left > 0; row++) {
    struct count *count = count_of(showing->counts, hash_row(root, batch, row));
    if (count->n * showing->sign <= 0) continue;
    count->n -= showing->sign;
    showing->left--;
    show_row(showing->out, root, batch, row);
  }
}

static int find_rows(const struct request *r, struct difference *difference) {
  struct counts counts = {0};
  int code = for_batches(r, 0, difference->partition, &counts, add_hashes);
  if (code == GO_ON) code = for_batches(r, 1, difference->partition, &counts, subtract_hashes);
  for (int side = 0; side < 2 && code == GO_ON; side++) {
    struct showing showing = {&counts, side == 0 ? 1 : -1, r->n_shown, &difference->only[side]};
    code = for_batches(r, side, difference->partition, &showing, show_rows);
  }
  free(counts.slots);
  return code;
}

static int compare_partition(struct comparison *comparison, int64_t partition) {
  const struct request *r = comparison->request;
  struct difference found = {.partition = partition};
  int code = GO_ON;
  for (int side = 0; side < 2 && code == GO_ON; side++) {
    struct digesting digesting = {&found.sides[side], r->ordered};
    code = for_batches(r, side, partition, &digesting, digest_batch);
    comparison->rows[side] += found.sides[side].rows;
  }
  if (code != GO_ON || memcmp(&found.sides[0], &found.sides[1], sizeof found.sides[0]) == 0) return code;
  if (comparison->n_differences == 0 && r->n_shown > 0) code = find_rows(r, &found);
  size_t n = comparison->n_differences + 1;
  comparison->differences = need_memory(comparison->differences, n * sizeof *comparison->differences);
  comparison->differences[comparison->n_differences++] = found;
  return code;
}

static void compare_columns(struct comparison *comparison, const struct field *a, const struct field *b) {
  struct text left = {0}, right = {0};
  for (int c = 0; c < a->n_children; c++) {
    text_clear(&left);
    text_clear(&right);
    field_describe(&a->children[c], &left);
    field_describe(&b->children[c], &right);
    if (strcmp(a->children[c].name, b->children[c].name) != 0) {
      text_format(&comparison->schema, "column %d is named %s and %s\n", c, a->children[c].name, b->children[c].name);
    }
    if (strcmp(left.data, right.data) != 0) {
      text_format(&comparison->schema, "column %d (%s) is %s and %s\n", c, a->children[c].name, left.data, right.data);
    }
  }
  text_free(&left);
  text_free(&right);
}

static int compare_schemas(struct comparison *comparison) {
  struct input sides[2] = {0};
  struct field roots[2] = {0};
  int code = open_side(comparison->request, 0, -1, &sides[0]);
  if (code == GO_ON) code = open_side(comparison->request, 1, -1, &sides[1]);
  if (code == GO_ON) {
    field_init(&roots[0], &sides[0].schema);
    field_init(&roots[1], &sides[1].schema);
    /* Where nothing at all was written, there is no schema either. */
    comparison->types_differ = roots[0].n_children != roots[1].n_children && roots[0].n_children > 0 && roots[1].n_children > 0;
    if (roots[0].n_children == roots[1].n_children) {
      compare_columns(comparison, &roots[0], &roots[1]);
    } else if (comparison->types_differ) {
      text_format(&comparison->schema, "%d columns and %d columns\n", roots[0].n_children, roots[1].n_children);
    }
    field_clear(&roots[0]);
    field_clear(&roots[1]);
  }
  for (int side = 0; side < 2; side++) {
    if (sides[side].stream.release != NULL) input_close(&sides[side]);
  }
  return code;
}

/* Partitions of the index beside path, 0 when there is none. */
static int64_t count_partitions(const char *path) {
  struct colshuf_error err;
  struct colshuf_index_info index;
  size_t size = strlen(path);
  if (size <= 5 || strcmp(path + size - 5, ".data") != 0) return 0;
  struct text name = {0};
  text_add(&name, path, size - 5);
  text_put(&name, ".index");
  int64_t n = 0;
  if (colshuf_index_read(name.data, &index, &err) == COLSHUF_OK) {
    n = index.n_partitions;
    colshuf_index_clear(&index);
  }
  text_free(&name);
  return n;
}

static int compare(struct comparison *comparison) {
  const struct request *r = comparison->request;
  int64_t n[2] = {count_partitions(r->files.items[0]), count_partitions(r->files.items[1])};
  bool whole = r->whole || n[0] == 0 || n[1] == 0;
  int code = compare_schemas(comparison);
  if (code != GO_ON || comparison->types_differ) return code;
  if (!whole && n[0] != n[1]) {
    text_format(&comparison->schema, "%" PRId64 " partitions and %" PRId64 " partitions: compared as a whole\n", n[0], n[1]);
    whole = true;
  }
  comparison->n_partitions = whole ? 1 : n[0];
  if (whole) return compare_partition(comparison, -1);
  for (int64_t p = 0; p < n[0] && code == GO_ON; p++) {
    code = compare_partition(comparison, p);
    progress_count("partitions", (uint64_t)p, (uint64_t)n[0]);
  }
  progress_end();
  return code;
}

static void print_difference(const struct comparison *comparison, const struct difference *d) {
  if (d->partition < 0) {
    printf("the rows differ: ");
  } else {
    printf("partition %" PRId64 " differs: ", d->partition);
  }
  printf("%s and %s rows\n", count_text(d->sides[0].rows), count_text(d->sides[1].rows));
  for (int side = 0; side < 2; side++) {
    if (d->only[side].size > 0) printf("  only in %s:\n", comparison->request->files.items[side]);
    for (const char *line = d->only[side].data; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
      printf("    %.*s\n", (int)strcspn(line, "\n"), line);
    }
  }
  bool order_only = d->only[0].size == 0 && d->only[1].size == 0 && d->sides[0].rows == d->sides[1].rows;
  if (order_only && comparison->request->ordered && comparison->request->n_shown > 0 && d == comparison->differences) {
    printf("  the same rows in another order\n");
  }
}

static void print_text(const struct comparison *comparison, bool equal) {
  enum { MOST = 20 };
  if (comparison->schema.size > 0) fputs(comparison->schema.data, stdout);
  for (size_t i = 0; i < comparison->n_differences && i < MOST; i++) print_difference(comparison, &comparison->differences[i]);
  if (comparison->n_differences > MOST) printf("and %s more\n", count_text(comparison->n_differences - MOST));
  if (equal) printf("equal: %s rows in %s partition%s\n", count_text(comparison->rows[0]), count_text((uint64_t)comparison->n_partitions),
                    comparison->n_partitions == 1 ? "" : "s");
}

/* Shown rows are JSON objects already. */
static void print_only(struct json *json, const char *key, const struct text *lines) {
  struct text line = {0};
  json_array(json, key);
  for (const char *place = lines->data; place != NULL && *place != '\0'; place = strchr(place, '\n') + 1) {
    text_clear(&line);
    text_add(&line, place, strcspn(place, "\n"));
    json_raw(json, NULL, line.data);
  }
  json_close(json);
  text_free(&line);
}

static void print_json(const struct comparison *comparison, bool equal) {
  struct json json;
  json_start(&json, stdout);
  json_bool(&json, "equal", equal);
  json_integer(&json, "partitions", comparison->n_partitions);
  json_unsigned(&json, "rows_a", comparison->rows[0]);
  json_unsigned(&json, "rows_b", comparison->rows[1]);
  json_string(&json, "schema", comparison->schema.size > 0 ? comparison->schema.data : NULL);
  json_array(&json, "differences");
  for (size_t i = 0; i < comparison->n_differences; i++) {
    const struct difference *d = &comparison->differences[i];
    json_object(&json, NULL);
    json_integer(&json, "partition", d->partition);
    json_unsigned(&json, "rows_a", d->sides[0].rows);
    json_unsigned(&json, "rows_b", d->sides[1].rows);
    print_only(&json, "only_a", &d->only[0]);
    print_only(&json, "only_b", &d->only[1]);
    json_close(&json);
  }
  json_end(&json);
}

static int run(const struct request *r) {
  struct comparison comparison = {.request = r};
  int code = compare(&comparison);
  bool equal = code == GO_ON && !comparison.types_differ && comparison.n_differences == 0;
  if (code == GO_ON && r->as_json) print_json(&comparison, equal);
  if (code == GO_ON && !r->as_json) print_text(&comparison, equal);
  for (size_t i = 0; i < comparison.n_differences; i++) {
    text_free(&comparison.differences[i].only[0]);
    text_free(&comparison.differences[i].only[1]);
  }
  free(comparison.differences);
  text_free(&comparison.schema);
  return finish_stdout(code != GO_ON ? code : equal ? EXIT_WELL : EXIT_BAD_DATA);
}

int command_diff(int argc, char **argv) {
  struct request r = {.n_shown = 5};
  const struct option options[] = {
      {"rows", 'n', OPTION_NUMBER, "N", "differing rows that are shown of each side [5]", &r.n_shown, 0, 1000000},
      {"ordered", 0, OPTION_FLAG, NULL, "the order of rows within a partition counts too", &r.ordered, 0, 0},
      {"whole", 0, OPTION_FLAG, NULL, "partitions do not matter, only the rows", &r.whole, 0, 0},
      {"json", 0, OPTION_FLAG, NULL, "everything as JSON", &r.as_json, 0, 0},
  };
  const struct usage usage = {"diff", "A B [options]",
                              "Tells whether two shuffle outputs (or Arrow files) hold the same rows, partition by partition, whatever\n"
                              "codec, block size and writer they have. Exit code 1 when rows differ; names and types that differ are said.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &r.files);
  if (code == GO_ON && r.files.n != 2) code = fail_usage("diff", "two files are wanted, not %d", r.files.n);
  for (int i = 0; i < r.files.n && code == GO_ON; i++) code = input_check_twice("diff", r.files.items[i], "rows are read more than once");
  if (code == GO_ON) code = run(&r);
  strings_free(&r.files);
  return code;
}
