/* SPDX-License-Identifier: Apache-2.0 */
#include "support/types.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_MEMBERS = 64 };

struct parser {
  const char *text; /* all of it, for messages */
  const char *at;
  struct csf_arena *arena;
};

static void refuse(struct parser *p, const char *wanted) {
  test_fail(__FILE__, __LINE__, "%s wanted at \"%s\" in \"%s\"", wanted, p->at, p->text);
  test_abandon();
}

static void skip_spaces(struct parser *p) {
  while (*p->at == ' ') p->at++;
}

static bool accept(struct parser *p, const char *token) {
  skip_spaces(p);
  size_t size = strlen(token);
  if (strncmp(p->at, token, size) != 0) return false;
  p->at += size;
  return true;
}

static void expect(struct parser *p, const char *token) {
  if (!accept(p, token)) refuse(p, token);
}

static int32_t parse_number(struct parser *p) {
  skip_spaces(p);
  char *end;
  long value = strtol(p->at, &end, 10);
  if (end == p->at) refuse(p, "a number");
  p->at = end;
  return (int32_t)value;
}

static const char *copy(struct parser *p, const char *start, const char *end) {
  const char *text = csf_arena_string(p->arena, start, (size_t)(end - start));
  if (text == NULL) abort();
  return text;
}

static void parse_type(struct parser *p, struct csf_field *field);

/* A name before a colon, if there is one before the type goes on. */
static void parse_name(struct parser *p, struct csf_field *field, const char *otherwise) {
  skip_spaces(p);
  size_t size = strcspn(p->at, ":<>(),");
  field->name = otherwise;
  if (p->at[size] != ':') return;
  field->name = copy(p, p->at, p->at + size);
  p->at += size + 1;
}

static void parse_member(struct parser *p, struct csf_field *field, const char *name) {
  *field = (struct csf_field){.nullable = true};
  parse_name(p, field, name);
  parse_type(p, field);
  if (accept(p, "not null")) field->nullable = false;
}

static enum csf_type parse_type_name(struct parser *p) {
  skip_spaces(p);
  size_t size = 0;
  while (isalnum((unsigned char)p->at[size]) || p->at[size] == '_') size++;
  for (int type = 0; type < CSF_N_TYPES; type++) {
    const char *name = csf_type_name((enum csf_type)type);
    if (strlen(name) != size || strncmp(name, p->at, size) != 0) continue;
    p->at += size;
    return (enum csf_type)type;
  }
  refuse(p, "a type");
  return CSF_NULL;
}

static enum csf_time_unit parse_unit(struct parser *p) {
  if (accept(p, "s")) return CSF_SECOND;
  if (accept(p, "ms")) return CSF_MILLISECOND;
  if (accept(p, "us")) return CSF_MICROSECOND;
  expect(p, "ns");
  return CSF_NANOSECOND;
}

static void parse_parameters(struct parser *p, struct csf_field *field) {
  bool is_decimal = field->type >= CSF_DECIMAL32 && field->type <= CSF_DECIMAL256;
  bool is_time = field->type >= CSF_TIME32 && field->type <= CSF_DURATION;
  if (!is_decimal && !is_time && field->type != CSF_FIXED_SIZE_BINARY) return;
  expect(p, "(");
  if (is_decimal) {
    field->precision = parse_number(p);
    expect(p, ",");
    field->scale = parse_number(p);
  } else if (is_time) {
    field->unit = parse_unit(p);
    if (accept(p, ",")) {
      skip_spaces(p);
      field->timezone = copy(p, p->at, p->at + strcspn(p->at, ")"));
      p->at += strlen(field->timezone);
    }
  } else {
    field->width = parse_number(p);
  }
  expect(p, ")");
}

static void parse_members(struct parser *p, struct csf_field *field, char end) {
  struct csf_field members[MOST_MEMBERS];
  int8_t ids[MOST_MEMBERS];
  int32_t n = 0;
  char name[16];
  for (skip_spaces(p); *p->at != end && n < MOST_MEMBERS; n++) {
    if (n > 0) expect(p, ",");
    skip_spaces(p);
    size_t digits = strspn(p->at, "0123456789");
    ids[n] = (int8_t)(p->at[digits] == '=' ? parse_number(p) : n);
    if (*p->at == '=') p->at++;
    snprintf(name, sizeof name, "c%d", n);
    parse_member(p, &members[n], copy(p, name, name + strlen(name)));
    skip_spaces(p);
  }
  field->n_children = n;
  if (n == 0) return;
  field->children = csf_arena_alloc(p->arena, (size_t)n * sizeof *members);
  int8_t *kept = csf_arena_alloc(p->arena, (size_t)n);
  if (field->children == NULL || kept == NULL) abort();
  memcpy(field->children, members, (size_t)n * sizeof *members);
  memcpy(kept, ids, (size_t)n);
  if (field->type == CSF_SPARSE_UNION || field->type == CSF_DENSE_UNION) field->type_ids = kept;
}

static struct csf_field *add_children(struct parser *p, struct csf_field *field, int32_t n) {
  field->n_children = n;
  field->children = csf_arena_alloc(p->arena, (size_t)n * sizeof *field->children);
  if (field->children == NULL) abort();
  return field->children;
}

static void parse_pair(struct parser *p, struct csf_field *pair, const char *first, const char *second) {
  parse_member(p, &pair[0], first);
  pair[0].nullable = false;
  expect(p, ",");
  parse_member(p, &pair[1], second);
}

static void parse_map(struct parser *p, struct csf_field *field) {
  struct csf_field *entries = add_children(p, field, 1);
  *entries = (struct csf_field){.name = "entries", .type = CSF_STRUCT};
  parse_pair(p, add_children(p, entries, 2), "key", "value");
  if (accept(p, ", keys sorted")) field->keys_sorted = true;
}

static void parse_nested(struct parser *p, struct csf_field *field) {
  expect(p, "<");
  switch (field->type) {
    case CSF_MAP:
      parse_map(p, field);
      break;
    case CSF_STRUCT:
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION:
      parse_members(p, field, '>');
      break;
    case CSF_RUN_END_ENCODED:
      parse_pair(p, add_children(p, field, 2), "run_ends", "values");
      break;
    default:
      parse_member(p, add_children(p, field, 1), "item");
      if (field->type != CSF_FIXED_SIZE_LIST) break;
      expect(p, ",");
      field->width = parse_number(p);
  }
  expect(p, ">");
}

static void parse_dictionary(struct parser *p, struct csf_field *field) {
  field->type = parse_type_name(p);
  expect(p, ",");
  field->dictionary = csf_arena_alloc(p->arena, sizeof *field->dictionary);
  if (field->dictionary == NULL) abort();
  *field->dictionary = (struct csf_field){.name = "", .nullable = true};
  parse_type(p, field->dictionary);
  if (accept(p, ", ordered")) field->dictionary_ordered = true;
  expect(p, ">");
}

static void parse_type(struct parser *p, struct csf_field *field) {
  if (accept(p, "dictionary<")) {
    parse_dictionary(p, field);
    return;
  }
  field->type = parse_type_name(p);
  if (field->type >= CSF_LIST) {
    parse_nested(p, field);
  } else {
    parse_parameters(p, field);
  }
}

struct csf_schema *test_schema(const char *text) {
  struct csf_schema *schema = csf_schema_new(&test_heap);
  if (schema == NULL) abort();
  struct parser p = {.text = text, .at = text, .arena = &schema->arena};
  schema->root = (struct csf_field){.name = "", .type = CSF_STRUCT};
  parse_members(&p, &schema->root, '\0');
  struct colshuf_error err = {0};
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  return schema;
}
