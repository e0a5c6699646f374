/* SPDX-License-Identifier: Apache-2.0 */
#include "field.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static int unit_digits(char c) {
  return c == 's' ? 0 : c == 'm' ? 3 : c == 'u' ? 6 : 9;
}

/* The number at *place, which moves behind it and a comma; 0 where there is none. */
static int take_number(const char **place) {
  char *end;
  long value = strtol(*place, &end, 10);
  *place = *end == ',' ? end + 1 : end;
  return value < INT_MIN || value > INT_MAX ? 0 : (int)value;
}

static int number_at(const char *place) {
  return take_number(&place);
}

static void set_number(struct field *field, enum kind kind, int width) {
  field->kind = kind;
  field->width = width;
}

static void parse_time(struct field *field, const char *format) {
  char type = format[1], unit = '\0';
  if (type != '\0') unit = format[2];
  field->unit = unit_digits(unit);
  if (type == 'd') set_number(field, unit == 'D' ? KIND_DATE32 : KIND_DATE64, unit == 'D' ? 4 : 8);
  if (type == 't') set_number(field, KIND_TIME, unit == 's' || unit == 'm' ? 4 : 8);
  if (type == 's') set_number(field, KIND_TIMESTAMP, 8);
  if (type == 'D') set_number(field, KIND_DURATION, 8);
  if (type == 's' && unit != '\0' && format[3] == ':' && format[4] != '\0') field->timezone = format + 4;
  if (type == 'i' && unit == 'M') set_number(field, KIND_INTERVAL_MONTHS, 4);
  if (type == 'i' && unit == 'D') set_number(field, KIND_INTERVAL_DAY_TIME, 8);
  if (type == 'i' && unit == 'n') set_number(field, KIND_INTERVAL_MONTH_DAY_NANO, 16);
}

static void parse_union(struct field *field, const char *format) {
  field->kind = format[2] == 'd' ? KIND_DENSE_UNION : KIND_SPARSE_UNION;
  memset(field->type_ids, -1, sizeof field->type_ids);
  const char *place = strchr(format, ':');
  for (signed char child = 0; place != NULL && *place != '\0' && child < 127; child++) {
    char *end;
    long id = strtol(place + 1, &end, 10);
    if (end == place + 1) return;
    if (id >= 0 && id < 128) field->type_ids[id] = child;
    place = *end == ',' ? end : NULL;
  }
}

static void parse_nested(struct field *field, const char *format) {
  switch (format[1]) {
    case 'l':
      field->kind = KIND_LIST;
      break;
    case 'L':
      field->kind = KIND_LARGE_LIST;
      break;
    case 'v':
      field->kind = format[2] == 'l' ? KIND_LIST_VIEW : KIND_LARGE_LIST_VIEW;
      break;
    case 'w':
      field->kind = KIND_FIXED_LIST;
      field->width = number_at(format + 3);
      break;
    case 's':
      field->kind = KIND_STRUCT;
      break;
    case 'm':
      field->kind = KIND_MAP;
      break;
    case 'r':
      field->kind = KIND_RUN_END;
      break;
    case 'u':
      parse_union(field, format);
      break;
    default:
      break;
  }
}

/* d:PRECISION,SCALE or d:PRECISION,SCALE,BITS */
static void parse_decimal(struct field *field, const char *format) {
  const char *place = format + 2;
  field->precision = take_number(&place);
  field->scale = take_number(&place);
  set_number(field, KIND_DECIMAL, *place == '\0' ? 16 : number_at(place) / 8);
}

static void parse_primitive(struct field *field, const char *format) {
  static const struct {
    const char *format;
    enum kind kind;
    int width;
  } rows[] = {{"n", KIND_NULL, 0},         {"b", KIND_BOOL, 0},          {"c", KIND_INT, 1},          {"C", KIND_UINT, 1},
              {"s", KIND_INT, 2},          {"S", KIND_UINT, 2},          {"i", KIND_INT, 4},          {"I", KIND_UINT, 4},
              {"l", KIND_INT, 8},          {"L", KIND_UINT, 8},          {"e", KIND_FLOAT, 2},        {"f", KIND_FLOAT, 4},
              {"g", KIND_FLOAT, 8},        {"z", KIND_BINARY, 0},        {"Z", KIND_LARGE_BINARY, 0}, {"u", KIND_UTF8, 0},
              {"U", KIND_LARGE_UTF8, 0},   {"vz", KIND_BINARY_VIEW, 0},  {"vu", KIND_UTF8_VIEW, 0}};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    if (strcmp(format, rows[r].format) == 0) set_number(field, rows[r].kind, rows[r].width);
  }
  if (strncmp(format, "w:", 2) == 0) set_number(field, KIND_FIXED_BINARY, number_at(format + 2));
  if (strncmp(format, "d:", 2) == 0) parse_decimal(field, format);
}

void field_init(struct field *field, const struct ArrowSchema *schema) {
  *field = (struct field){.name = schema->name == NULL ? "" : schema->name};
  field->nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
  if (schema->format[0] == 't') {
    parse_time(field, schema->format);
  } else if (schema->format[0] == '+') {
    parse_nested(field, schema->format);
  } else {
    parse_primitive(field, schema->format);
  }
  field->n_children = (int)schema->n_children;
  field->children = need_memory(NULL, (size_t)field->n_children * sizeof *field->children);
  for (int c = 0; c < field->n_children; c++) field_init(&field->children[c], schema->children[c]);
  if (schema->dictionary == NULL) return;
  field->dictionary = need_memory(NULL, sizeof *field->dictionary);
  field_init(field->dictionary, schema->dictionary);
}

void field_clear(struct field *field) {
  for (int c = 0; c < field->n_children; c++) field_clear(&field->children[c]);
  free(field->children);
  if (field->dictionary != NULL) field_clear(field->dictionary);
  free(field->dictionary);
  *field = (struct field){0};
}

static void describe_children(const struct field *field, const char *name, struct text *out) {
  text_format(out, "%s<", name);
  for (int c = 0; c < field->n_children; c++) {
    if (c > 0) text_put(out, ", ");
    text_format(out, "%s: ", field->children[c].name);
    field_describe(&field->children[c], out);
  }
  text_char(out, '>');
}

static void describe_plain(const struct field *field, struct text *out) {
  static const char *const names[] = {
      [KIND_UNKNOWN] = "unknown", [KIND_NULL] = "null", [KIND_BOOL] = "bool", [KIND_DATE32] = "date32",
      [KIND_DATE64] = "date64", [KIND_INTERVAL_MONTHS] = "interval[months]", [KIND_INTERVAL_DAY_TIME] = "interval[day, ms]",
      [KIND_INTERVAL_MONTH_DAY_NANO] = "interval[month, day, ns]", [KIND_BINARY] = "binary", [KIND_UTF8] = "utf8",
      [KIND_LARGE_BINARY] = "large_binary", [KIND_LARGE_UTF8] = "large_utf8", [KIND_BINARY_VIEW] = "binary_view",
      [KIND_UTF8_VIEW] = "utf8_view", [KIND_LIST] = "list", [KIND_LARGE_LIST] = "large_list", [KIND_LIST_VIEW] = "list_view",
      [KIND_LARGE_LIST_VIEW] = "large_list_view", [KIND_STRUCT] = "struct", [KIND_MAP] = "map",
      [KIND_SPARSE_UNION] = "sparse_union", [KIND_DENSE_UNION] = "dense_union", [KIND_RUN_END] = "run_end_encoded"};
  if (field->n_children > 0) {
    describe_children(field, names[field->kind], out);
  } else {
    text_put(out, names[field->kind]);
  }
}

void field_describe(const struct field *field, struct text *out) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  const char *unit = units[field->unit / 3];
  if (field->dictionary != NULL) text_put(out, "dictionary<");
  switch (field->kind) {
    case KIND_INT:
      text_format(out, "int%d", 8 * field->width);
      break;
    case KIND_UINT:
      text_format(out, "uint%d", 8 * field->width);
      break;
    case KIND_FLOAT:
      text_format(out, "float%d", 8 * field->width);
      break;
    case KIND_DECIMAL:
      text_format(out, "decimal%d(%d, %d)", 8 * field->width, field->precision, field->scale);
      break;
    case KIND_TIME:
      text_format(out, "time%d[%s]", 8 * field->width, unit);
      break;
    case KIND_TIMESTAMP:
      text_format(out, "timestamp[%s%s%s]", unit, field->timezone == NULL ? "" : ", ",
                  field->timezone == NULL ? "" : field->timezone);
      break;
    case KIND_DURATION:
      text_format(out, "duration[%s]", unit);
      break;
    case KIND_FIXED_BINARY:
      text_format(out, "fixed_size_binary(%d)", field->width);
      break;
    case KIND_FIXED_LIST:
      describe_children(field, "fixed_size_list", out);
      text_format(out, "[%d]", field->width);
      break;
    default:
      describe_plain(field, out);
  }
  if (field->dictionary == NULL) return;
  text_put(out, ", ");
  field_describe(field->dictionary, out);
  text_char(out, '>');
}

static bool match(const struct ArrowSchema *a, const struct ArrowSchema *b, const char *path, struct text *why) {
  struct field left, right;
  bool same = strcmp(a->format, b->format) == 0 && a->n_children == b->n_children &&
              (a->dictionary == NULL) == (b->dictionary == NULL) &&
              ((a->flags & ARROW_FLAG_NULLABLE) != 0 || (b->flags & ARROW_FLAG_NULLABLE) == 0);
  if (!same) {
    field_init(&left, a);
    field_init(&right, b);
    text_format(why, "column %s is ", path);
    field_describe(&right, why);
    text_put(why, right.nullable ? " (nullable), not " : " (not null), not ");
    field_describe(&left, why);
    text_put(why, left.nullable ? " (nullable)" : " (not null)");
    field_clear(&left);
    field_clear(&right);
    return false;
  }
  for (int64_t c = 0; c < a->n_children; c++) {
    const char *name = a->children[c]->name == NULL ? "" : a->children[c]->name;
    struct text child = {0};
    text_format(&child, "%s%s%s", path, *path == '\0' ? "" : ".", name);
    bool equal = match(a->children[c], b->children[c], child.data, why);
    text_free(&child);
    if (!equal) return false;
  }
  return a->dictionary == NULL || match(a->dictionary, b->dictionary, path, why);
}

bool schemas_match(const struct ArrowSchema *first, const struct ArrowSchema *other, struct text *why) {
  if (first->n_children != other->n_children) {
    text_format(why, "it has %" PRId64 " columns, not %" PRId64, other->n_children, first->n_children);
    return false;
  }
  for (int64_t c = 0; c < first->n_children; c++) {
    const char *a = first->children[c]->name, *b = other->children[c]->name;
    if (strcmp(a == NULL ? "" : a, b == NULL ? "" : b) != 0) {
      text_format(why, "column %" PRId64 " is named %s, not %s", c, b, a);
      return false;
    }
  }
  return match(first, other, "", why);
}

int find_column(const struct ArrowSchema *schema, const char *name) {
  int found = -1;
  for (int64_t c = 0; c < schema->n_children; c++) {
    if (schema->children[c]->name == NULL || strcmp(schema->children[c]->name, name) != 0) continue;
    if (found >= 0) return -1;
    found = (int)c;
  }
  return found;
}
