/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "options.h"
#include "report.h"

struct choice {
  const char *name;
  int value;
};

/* The value whose name is text[0..size), -1 when there is none. */
static int find(const struct choice *choices, int n, const char *text, size_t size) {
  for (int i = 0; i < n; i++) {
    if (strlen(choices[i].name) == size && memcmp(choices[i].name, text, size) == 0) return choices[i].value;
  }
  return -1;
}

static int choose(const char *command, const char *option, const struct choice *choices, int n, const char *text, int *value) {
  if (text == NULL) return GO_ON;
  int found = find(choices, n, text, strlen(text));
  if (found >= 0) {
    *value = found;
    return GO_ON;
  }
  struct text list = {0};
  for (int i = 0; i < n; i++) text_format(&list, "%s%s", i == 0 ? "" : ", ", choices[i].name);
  fail_usage(command, "%s %s is none of %s", option, text, list.data);
  text_free(&list);
  return EXIT_USAGE;
}

static const struct choice codecs[] = {
    {"lz4", COLSHUF_LZ4}, {"zstd", COLSHUF_ZSTD}, {"snappy", COLSHUF_SNAPPY}, {"none", COLSHUF_NONE}};
static const struct choice checksums[] = {{"adler32", COLSHUF_CHECKSUM_ADLER32},
                                          {"crc32", COLSHUF_CHECKSUM_CRC32},
                                          {"crc32c", COLSHUF_CHECKSUM_CRC32C},
                                          {"none", COLSHUF_CHECKSUM_NONE}};
static const struct choice compats[] = {
    {"comet", COLSHUF_COMPAT_COMET}, {"comet-1.1", COLSHUF_COMPAT_COMET_1_1}, {"arrow", COLSHUF_COMPAT_ARROW}};
static const struct choice offset_forms[] = {
    {"auto", COLSHUF_OFFSETS_AUTO}, {"plain", COLSHUF_OFFSETS_PLAIN}, {"lengths", COLSHUF_OFFSETS_LENGTHS}};
static const struct choice layouts[] = {{"compact", COLSHUF_LAYOUT_COMPACT}, {"arrow-rs", COLSHUF_LAYOUT_ARROW_RS}};
static const struct choice rule_sets[] = {{"spark", COLSHUF_RULES_SPARK}, {"comet", COLSHUF_RULES_COMET}};

int parse_codec(const char *command, const char *text, enum colshuf_codec *codec, int *level) {
  if (text == NULL) return GO_ON;
  size_t size = strcspn(text, ":");
  int found = find(codecs, N_ELEMENTS(codecs), text, size);
  int64_t number = 0;
  if (found < 0) return fail_usage(command, "--codec %s is none of lz4, zstd, snappy, none", text);
  if (text[size] == ':' && (!parse_number(text + size + 1, &number) || number < -1000000 || number > 1000)) {
    return fail_usage(command, "--codec %s has no level such as zstd:3", text);
  }
  *codec = (enum colshuf_codec)found;
  *level = (int)number;
  return GO_ON;
}

#define PARSE(function, type, option, choices)                                                       \
  int function(const char *command, const char *text, type *out) {                                   \
    int value = (int)*out;                                                                           \
    int code = choose(command, option, choices, N_ELEMENTS(choices), text, &value);                  \
    *out = (type)value;                                                                              \
    return code;                                                                                     \
  }
PARSE(parse_checksum, enum colshuf_checksum, "--checksum", checksums)
PARSE(parse_compat, enum colshuf_compat, "--compat", compats)
PARSE(parse_offsets, enum colshuf_offsets, "--offsets", offset_forms)
PARSE(parse_layout, enum colshuf_layout, "--layout", layouts)
PARSE(parse_rules, enum colshuf_rules, "--rules", rule_sets)

static const char *name_of(const struct choice *choices, int n, int value) {
  for (int i = 0; i < n; i++) {
    if (choices[i].value == value) return choices[i].name;
  }
  return "unknown";
}

const char *codec_name(enum colshuf_codec codec) {
  return name_of(codecs, N_ELEMENTS(codecs), (int)codec);
}

const char *checksum_name(enum colshuf_checksum checksum) {
  return name_of(checksums, N_ELEMENTS(checksums), (int)checksum);
}

static bool has_column(const struct ArrowSchema *schema, const char *name) {
  for (int64_t c = 0; c < schema->n_children; c++) {
    if (schema->children[c]->name != NULL && strcmp(schema->children[c]->name, name) == 0) return true;
  }
  return false;
}

static void list_columns(const struct ArrowSchema *schema, struct text *out) {
  enum { MOST = 20 };
  for (int64_t c = 0; c < schema->n_children && c < MOST; c++) {
    text_format(out, "%s%s", c == 0 ? "" : ", ", schema->children[c]->name);
  }
  if (schema->n_children > MOST) text_format(out, " and %" PRId64 " more", schema->n_children - MOST);
  if (schema->n_children == 0) text_put(out, "none");
}

int need_column(const char *command, const struct ArrowSchema *schema, const char *name, const char *place, int32_t *column) {
  *column = find_column(schema, name);
  if (*column >= 0) return GO_ON;
  struct text list = {0};
  list_columns(schema, &list);
  const char *problem = has_column(schema, name) ? "more than one" : "no";
  fail_usage(command, "%s has %s column \"%s\"; it has %s", place, problem, name, list.data);
  text_free(&list);
  return EXIT_USAGE;
}

/* Takes ":desc", ":nulls-last" and their opposites off the end of name. Spark's default: nulls first when ascending. */
static void take_order(char *name, struct colshuf_key *key) {
  bool nulls_said = false;
  for (char *colon; (colon = strrchr(name, ':')) != NULL; *colon = '\0') {
    const char *word = colon + 1;
    bool first = strcmp(word, "nulls-first") == 0, last = strcmp(word, "nulls-last") == 0;
    bool down = strcmp(word, "desc") == 0, up = strcmp(word, "asc") == 0;
    if (!first && !last && !down && !up) break;
    if (down) key->descending = 1;
    if (first || last) key->nulls_last = last;
    nulls_said |= first || last;
  }
  if (!nulls_said) key->nulls_last = key->descending;
}

int parse_keys(const char *command, const char *text, int with_order, const struct ArrowSchema *schema, const char *place,
               struct colshuf_key **keys, int32_t *n_keys) {
  struct strings names = {0};
  strings_split(&names, text);
  *keys = need_memory(NULL, (size_t)names.n * sizeof **keys);
  *n_keys = names.n;
  int code = GO_ON;
  for (int i = 0; i < names.n && code == GO_ON; i++) {
    struct colshuf_key key = {0};
    char *name = need_memory(NULL, strlen(names.items[i]) + 1);
    strcpy(name, names.items[i]);
    if (with_order) take_order(name, &key);
    code = need_column(command, schema, name, place, &key.column);
    (*keys)[i] = key;
    free(name);
  }
  strings_free(&names);
  return code;
}
