/* SPDX-License-Identifier: Apache-2.0 */
/* Fields and arrays made by hand for tests of validation, and checks of the level at which a fault is seen. */
#ifndef CSF_TEST_HANDMADE_H
#define CSF_TEST_HANDMADE_H

#include "arrow/array.h"
#include "support/harness.h"

/* On the stack: nothing here is released. */
static inline struct csf_field field_of(enum csf_type type) {
  return (struct csf_field){.name = "c", .type = type, .layout = csf_type_layout(type), .width = csf_type_width(type), .nullable = true};
}

static inline struct csf_field field_over(enum csf_type type, struct csf_field *children, int32_t n) {
  struct csf_field field = field_of(type);
  field.children = children;
  field.n_children = n;
  return field;
}

#define ARRAY(rows, table) ((struct ArrowArray){.length = (rows), .n_buffers = sizeof(table) / sizeof(table)[0], .buffers = (table)})
#define PARENT(rows, table, below) \
  ((struct ArrowArray){.length = (rows), .n_buffers = sizeof(table) / sizeof(table)[0], .buffers = (table), \
                       .n_children = sizeof(below) / sizeof(below)[0], .children = (below)})
#define BUFFERS(...) ((const void *[]){__VA_ARGS__})
#define I32(...) ((const int32_t[]){__VA_ARGS__})
#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define BITS(...) ((const uint8_t[]){__VA_ARGS__})

static inline enum colshuf_status at_level(const struct csf_field *field, const struct ArrowArray *array, int level, struct colshuf_error *err) {
  return csf_array_validate(field, array, NULL, (enum csf_validate_level)level, err);
}

static inline void good(const char *file, int line, const struct csf_field *field, const struct ArrowArray *array) {
  struct colshuf_error err;
  for (int level = 0; level <= CSF_VALIDATE_FULL; level++) {
    if (at_level(field, array, level, &err) != COLSHUF_OK) test_fail(file, line, "level %d: %s", level, err.message);
  }
}

/* Passes below level, fails from it on, with a message that contains part. */
static inline void bad(const char *file, int line, const struct csf_field *field, const struct ArrowArray *array, int level, const char *part) {
  struct colshuf_error err;
  for (int i = 0; i <= CSF_VALIDATE_FULL; i++) {
    enum colshuf_status wanted = i < level ? COLSHUF_OK : level == CSF_VALIDATE_STRUCTURE ? COLSHUF_INVALID_ARGUMENT : COLSHUF_CORRUPT;
    enum colshuf_status status = at_level(field, array, i, &err);
    if (status != wanted) test_fail(file, line, "level %d gives %s, not %s", i, colshuf_status_name(status), colshuf_status_name(wanted));
    if (status != COLSHUF_OK && strstr(err.message, part) == NULL) test_fail(file, line, "\"%s\" lacks \"%s\"", err.message, part);
  }
}
#define GOOD(field, array) good(__FILE__, __LINE__, (field), (array))
#define BAD(field, array, level, part) bad(__FILE__, __LINE__, (field), (array), CSF_VALIDATE_##level, (part))

#endif
