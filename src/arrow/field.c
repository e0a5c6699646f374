/* SPDX-License-Identifier: Apache-2.0 */
/* One field tree: deep copy, comparison, and its type in words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arrow/schema.h"

static const char *copy_text(struct csf_arena *arena, const char *text) {
  return text == NULL ? NULL : csf_arena_string(arena, text, strlen(text));
}

static bool copy_span(struct csf_arena *arena, struct csf_span source, struct csf_span *target) {
  target->size = source.size;
  target->data = (const uint8_t *)csf_arena_string(arena, (const char *)source.data, source.size);
  return target->data != NULL;
}

static bool copy_metadata(struct csf_arena *arena, const struct csf_field *source, struct csf_field *target) {
  if (source->n_metadata == 0) return true;
  struct csf_key_value *pairs = csf_arena_alloc(arena, (size_t)source->n_metadata * sizeof *pairs);
  if (pairs == NULL) return false;
  for (int32_t i = 0; i < source->n_metadata; i++) {
    if (!copy_span(arena, source->metadata[i].key, &pairs[i].key)) return false;
    if (!copy_span(arena, source->metadata[i].value, &pairs[i].value)) return false;
  }
  target->metadata = pairs;
  return true;
}

static bool copy_children(struct csf_arena *arena, const struct csf_field *source, struct csf_field *target) {
  if (source->n_children == 0) return true;
  target->children = csf_arena_alloc(arena, (size_t)source->n_children * sizeof *target->children);
  if (target->children == NULL) return false;
  for (int32_t i = 0; i < source->n_children; i++) {
    if (!csf_field_copy(arena, &source->children[i], &target->children[i])) return false;
  }
  if (source->type_ids == NULL) return true;
  target->type_ids = (const int8_t *)csf_arena_string(arena, (const char *)source->type_ids, (size_t)source->n_children);
  return target->type_ids != NULL;
}

bool csf_field_copy(struct csf_arena *arena, const struct csf_field *source, struct csf_field *target) {
  struct csf_field copy = *source;
  copy.children = NULL;
  copy.metadata = NULL;
  copy.type_ids = NULL;
  copy.dictionary = NULL;
  copy.name = copy_text(arena, source->name);
  copy.timezone = copy_text(arena, source->timezone);
  if (copy.name == NULL || (copy.timezone == NULL) != (source->timezone == NULL)) return false;
  if (!copy_metadata(arena, source, &copy) || !copy_children(arena, source, &copy)) return false;
  if (source->dictionary != NULL) {
    copy.dictionary = csf_arena_alloc(arena, sizeof *copy.dictionary);
    if (copy.dictionary == NULL || !csf_field_copy(arena, source->dictionary, copy.dictionary)) return false;
  }
  *target = copy;
  return true;
}

static bool text_equal(const char *a, const char *b) {
  if (a == NULL || b == NULL) return a == b;
  return strcmp(a, b) == 0;
}

static bool span_equal(struct csf_span a, struct csf_span b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool pair_equal(const struct csf_key_value *a, const struct csf_key_value *b) {
  return span_equal(a->key, b->key) && span_equal(a->value, b->value);
}

static int32_t count_pair(const struct csf_key_value *wanted, const struct csf_field *field, int32_t from) {
  int32_t count = 0;
  for (int32_t i = from; i < field->n_metadata; i++) count += pair_equal(wanted, &field->metadata[i]);
  return count;
}

/* Metadata has no order. Equal order is the common case; beyond it the comparison is quadratic, so it is bounded. */
static bool metadata_equal(const struct csf_field *a, const struct csf_field *b) {
  enum { MOST_UNORDERED = 4096 };
  if (a->n_metadata != b->n_metadata) return false;
  int32_t same = 0;
  while (same < a->n_metadata && pair_equal(&a->metadata[same], &b->metadata[same])) same++;
  if (a->n_metadata - same > MOST_UNORDERED) return false;
  for (int32_t i = same; i < a->n_metadata; i++) {
    if (count_pair(&a->metadata[i], a, same) != count_pair(&a->metadata[i], b, same)) return false;
  }
  return true;
}

/* Whether the names of a type's children say something (members), or are mere habit ("item", "entries", "run_ends"). */
static bool child_names_matter(enum csf_type type) {
  return type == CSF_STRUCT || type == CSF_SPARSE_UNION || type == CSF_DENSE_UNION;
}

static bool parameters_equal(const struct csf_field *a, const struct csf_field *b) {
  if (a->type != b->type || a->width != b->width || a->n_children != b->n_children) return false;
  switch (a->type) {
    case CSF_DECIMAL32:
    case CSF_DECIMAL64:
    case CSF_DECIMAL128:
    case CSF_DECIMAL256:
      return a->precision == b->precision && a->scale == b->scale;
    case CSF_TIME32:
    case CSF_TIME64:
    case CSF_DURATION:
      return a->unit == b->unit;
    case CSF_TIMESTAMP:
      return a->unit == b->unit && text_equal(a->timezone, b->timezone);
    case CSF_MAP:
      return a->keys_sorted == b->keys_sorted;
    case CSF_SPARSE_UNION:
    case CSF_DENSE_UNION:
      return a->n_children == 0 || memcmp(a->type_ids, b->type_ids, (size_t)a->n_children) == 0;
    default:
      return true;
  }
}

/* What the place of a field in its parent decides about the comparison. */
enum place { MEMBER, HABITUAL, MAP_ENTRIES };

static bool fields_equal(const struct csf_field *a, const struct csf_field *b, unsigned overlook, enum place place);

static enum place place_of_children(const struct csf_field *parent, enum place place) {
  if (parent->type == CSF_MAP) return MAP_ENTRIES;
  if (place == MAP_ENTRIES || !child_names_matter(parent->type)) return HABITUAL;
  return MEMBER;
}

static bool types_equal(const struct csf_field *a, const struct csf_field *b, unsigned overlook, enum place place) {
  if (overlook & CSF_MATCH_DICTIONARY) {
    if (a->dictionary != NULL) a = a->dictionary;
    if (b->dictionary != NULL) b = b->dictionary;
  }
  if (!parameters_equal(a, b) || (a->dictionary == NULL) != (b->dictionary == NULL)) return false;
  if (a->dictionary != NULL) {
    return a->dictionary_ordered == b->dictionary_ordered && types_equal(a->dictionary, b->dictionary, overlook, MEMBER);
  }
  enum place below = place_of_children(a, place);
  for (int32_t i = 0; i < a->n_children; i++) {
    if (!fields_equal(&a->children[i], &b->children[i], overlook, below)) return false;
  }
  return true;
}

static bool fields_equal(const struct csf_field *a, const struct csf_field *b, unsigned overlook, enum place place) {
  bool any_name = (overlook & CSF_MATCH_NAMES) && place != MEMBER;
  if (!any_name && strcmp(a->name, b->name) != 0) return false;
  if (!(overlook & CSF_MATCH_NULLABLE) && a->nullable != b->nullable) return false;
  if (!(overlook & CSF_MATCH_METADATA) && !metadata_equal(a, b)) return false;
  return types_equal(a, b, overlook, place);
}

bool csf_field_equal(const struct csf_field *a, const struct csf_field *b, unsigned overlook) {
  return fields_equal(a, b, overlook, HABITUAL);
}

/* Text being written into a fixed place; what does not fit is cut. */
struct words {
  char *out;
  size_t size;
  size_t used; /* without the final NUL; < size */
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *words, const char *format, ...) {
  size_t room = words->size - words->used;
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(words->out + words->used, room, format, arguments);
  va_end(arguments);
  if (n > 0) words->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void say_field(struct words *words, const struct csf_field *field);

static void say_children(struct words *words, const struct csf_field *field) {
  say(words, "%s<", csf_type_name(field->type));
  for (int32_t i = 0; i < field->n_children && words->used + 1 < words->size; i++) {
    const struct csf_field *child = &field->children[i];
    say(words, "%s", i == 0 ? "" : ", ");
    if (field->type == CSF_SPARSE_UNION || field->type == CSF_DENSE_UNION) say(words, "%d=", field->type_ids[i]);
    say(words, "%s: ", child->name);
    say_field(words, child);
    if (!child->nullable) say(words, " not null");
  }
  if (field->type == CSF_FIXED_SIZE_LIST) say(words, ", %" PRId32, field->width);
  say(words, ">");
}

static void say_map(struct words *words, const struct csf_field *field) {
  const struct csf_field *members = field->children[0].children;
  say(words, "map<");
  say_field(words, &members[0]);
  say(words, ", ");
  say_field(words, &members[1]);
  say(words, "%s%s>", members[1].nullable ? "" : " not null", field->keys_sorted ? ", keys sorted" : "");
}

static void say_leaf(struct words *words, const struct csf_field *field) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  const char *name = csf_type_name(field->type);
  if (field->type >= CSF_DECIMAL32 && field->type <= CSF_DECIMAL256) {
    say(words, "%s(%" PRId32 ", %" PRId32 ")", name, field->precision, field->scale);
  } else if (field->type >= CSF_TIME32 && field->type <= CSF_DURATION) {
    bool zone = field->type == CSF_TIMESTAMP && field->timezone != NULL;
    say(words, "%s(%s%s%s)", name, units[field->unit], zone ? ", " : "", zone ? field->timezone : "");
  } else if (field->type == CSF_FIXED_SIZE_BINARY) {
    say(words, "%s(%" PRId32 ")", name, field->width);
  } else {
    say(words, "%s", name);
  }
}

static void say_field(struct words *words, const struct csf_field *field) {
  if (words->used + 1 >= words->size) return;
  if (field->dictionary != NULL) {
    say(words, "dictionary<%s, ", csf_type_name(field->type));
    say_field(words, field->dictionary);
    say(words, "%s>", field->dictionary_ordered ? ", ordered" : "");
  } else if (field->type == CSF_MAP) {
    say_map(words, field);
  } else if (csf_type_layout(field->type) >= CSF_LAYOUT_LIST32) {
    say_children(words, field);
  } else {
    say_leaf(words, field);
  }
}

/* A cut may fall inside a character of a name: its first bytes are dropped too. */
static void drop_half_character(struct words *words) {
  size_t end = words->used;
  while (end > 0 && words->used - end < 3 && ((uint8_t)words->out[end - 1] & 0xc0) == 0x80) end--;
  if (end == 0) return;
  uint8_t lead = (uint8_t)words->out[end - 1];
  size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (wanted > words->used - end + 1) words->out[end - 1] = '\0';
}

void csf_field_describe(const struct csf_field *field, char *out, size_t size) {
  if (size == 0) return;
  struct words words = {.out = out, .size = size};
  out[0] = '\0';
  say_field(&words, field);
  if (words.used + 1 == size) drop_half_character(&words);
}
