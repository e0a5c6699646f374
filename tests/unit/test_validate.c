/* SPDX-License-Identifier: Apache-2.0 */
#include "support/handmade.h"
#include "support/random.h"
#include "support/value.h"

/* Structure, for every type. */

static struct csf_schema *schema_of(uint64_t seed, uint64_t types) {
  struct test_random random = {seed};
  struct test_schema_options options = {.types = types};
  return test_random_schema(&random, &options);
}

static void every_random_array_is_valid(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    struct test_random random = {seed * 7919};
    struct csf_schema *schema = schema_of(seed, 0);
    struct test_array_options options = test_random_options(&random, 200);
    struct ArrowArray array;
    test_random_array(&random, &schema->root, &options, &array);
    for (int level = 0; level <= CSF_VALIDATE_FULL; level++) REQUIRE_OK(at_level(&schema->root, &array, level, &err));
    REQUIRE_OK(csf_array_import_check(&schema->root, &array, &err));
    array.release(&array);
    csf_schema_release(schema);
  }
}

static int64_t least_size(const struct csf_field *field, const struct ArrowArray *array, int64_t i) {
  int64_t n = array->length;
  if (n == 0) return 0;
  REQUIRE(array->offset == 0);
  bool first = i == 0 && field->layout < CSF_LAYOUT_SPARSE_UNION;
  if (first) return array->null_count == 0 || array->buffers[0] == NULL ? 0 : (n + 7) / 8;
  switch (field->layout) {
    case CSF_LAYOUT_BITS: return (n + 7) / 8;
    case CSF_LAYOUT_FIXED: return n * field->width;
    case CSF_LAYOUT_BINARY32: return i == 1 ? 4 * (n + 1) : csf_load_i32((const char *)array->buffers[1] + 4 * n);
    case CSF_LAYOUT_BINARY64: return i == 1 ? 8 * (n + 1) : csf_load_i64((const char *)array->buffers[1] + 8 * n);
    case CSF_LAYOUT_VIEW: return i == 1 ? 16 * n : csf_load_i64((const char *)array->buffers[array->n_buffers - 1] + 8 * (i - 2));
    case CSF_LAYOUT_LIST32: return 4 * (n + 1);
    case CSF_LAYOUT_LIST64: return 8 * (n + 1);
    case CSF_LAYOUT_LIST_VIEW32: return 4 * n;
    case CSF_LAYOUT_LIST_VIEW64: return 8 * n;
    case CSF_LAYOUT_SPARSE_UNION: return n;
    case CSF_LAYOUT_DENSE_UNION: return i == 0 ? n : 4 * n;
    default: return 0;
  }
}

/* The least sizes of all buffers, worked out here in the plainest way. Returns how many. */
static int64_t least_sizes(const struct csf_field *field, const struct ArrowArray *array, int64_t *out) {
  int64_t n = 0;
  for (int64_t i = 0; i < array->n_buffers - (field->layout == CSF_LAYOUT_VIEW); i++) out[n++] = least_size(field, array, i);
  for (int64_t i = 0; i < array->n_children; i++) n += least_sizes(&field->children[i], array->children[i], out + n);
  return n;
}

enum { MOST_SIZES = 1000 };

static void one_byte_less_in_any_buffer_is_refused(void) {
  struct colshuf_error err;
  int64_t refused = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct test_random random = {seed * 31};
    struct csf_schema *schema = schema_of(seed, 0);
    struct test_array_options options = {.rows = (int64_t)(seed % 40), .null_percent = 20};
    struct ArrowArray array;
    test_random_array(&random, &schema->root, &options, &array);
    int64_t sizes[MOST_SIZES];
    struct csf_buffer_sizes known = {sizes, least_sizes(&schema->root, &array, sizes)};
    REQUIRE(known.n <= MOST_SIZES);
    REQUIRE_OK(csf_array_validate(&schema->root, &array, &known, CSF_VALIDATE_FULL, &err));
    for (int64_t i = 0; i < known.n; i++) {
      if (sizes[i] == 0) continue;
      sizes[i]--;
      CHECK_STATUS(csf_array_validate(&schema->root, &array, &known, CSF_VALIDATE_MEMORY, &err), COLSHUF_CORRUPT);
      sizes[i]++;
      refused++;
    }
    known.n--;
    if (known.n > 0) CHECK_STATUS(csf_array_validate(&schema->root, &array, &known, CSF_VALIDATE_STRUCTURE, &err), COLSHUF_CORRUPT);
    array.release(&array);
    csf_schema_release(schema);
  }
  CHECK(refused > 500);
}

static void every_layout_refuses_another_number_of_buffers(void) {
  const void *buffers[6] = {NULL};
  for (int type = 0; type < CSF_N_TYPES; type++) {
    struct csf_field field = field_of((enum csf_type)type);
    bool view = field.layout == CSF_LAYOUT_VIEW;
    int64_t wanted = csf_layout_n_buffers(field.layout);
    for (int64_t n = -1; n <= 6; n++) {
      struct ArrowArray array = {.n_buffers = n, .buffers = buffers};
      static const int64_t zeros[6] = {0};
      if (view && n > 3) buffers[n - 1] = zeros;
      bool childless = field.layout == CSF_LAYOUT_RUN_END || field.layout == CSF_LAYOUT_FIXED_LIST;
      if (childless && n == wanted) continue; /* not valid without their children */
      if (n == wanted || (view && n > wanted)) GOOD(&field, &array);
      else BAD(&field, &array, STRUCTURE, "buffers");
      memset(buffers, 0, sizeof buffers);
    }
    struct ArrowArray array = {.n_buffers = wanted, .buffers = NULL};
    if (wanted > 0) BAD(&field, &array, STRUCTURE, "no table of its");
  }
}

static void no_rows_need_no_buffers_whatever_the_type(void) {
  const void *buffers[4] = {NULL};
  for (int type = 0; type < CSF_N_TYPES; type++) {
    for (int64_t offset = 0; offset < 4; offset += 3) {
      struct csf_field field = field_of((enum csf_type)type);
      struct ArrowArray array = {.offset = offset, .n_buffers = csf_layout_n_buffers(field.layout), .buffers = buffers};
      if (field.layout == CSF_LAYOUT_RUN_END || field.layout == CSF_LAYOUT_FIXED_LIST) continue; /* need children */
      GOOD(&field, &array);
    }
  }
}

static void missing_buffers_are_refused_where_there_are_rows(void) {
  const void *buffers[4] = {NULL};
  for (int type = 0; type < CSF_N_TYPES; type++) {
    struct csf_field field = field_of((enum csf_type)type);
    if (type == CSF_FIXED_SIZE_BINARY) field.width = 3;
    struct ArrowArray array = {.length = 1, .n_buffers = csf_layout_n_buffers(field.layout), .buffers = buffers};
    if (array.n_buffers < 2 && field.layout != CSF_LAYOUT_SPARSE_UNION) continue;
    BAD(&field, &array, STRUCTURE, "no buffer of");
  }
}

static void lengths_and_counts_that_contradict_each_other_are_refused(void) {
  struct csf_field field = field_of(CSF_INT32);
  static const int64_t wrong[][3] = {/* length, offset, null count */
                                     {-1, 0, 0}, {1, -1, 0}, {INT64_MAX, 1, 0}, {2, INT64_MAX - 1, 0}, {2, 0, 3}, {2, 0, -2},
                                     {INT64_MIN, INT64_MIN, 0}, {INT64_MAX, 0, 0}, {INT64_MAX / 2, 0, 0}, {1, 0, INT64_MIN}};
  int32_t values[4] = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct ArrowArray array = ARRAY(wrong[i][0], BUFFERS(values, values));
    array.offset = wrong[i][1];
    array.null_count = wrong[i][2];
    BAD(&field, &array, STRUCTURE, "column \"c\": ");
  }
}

static void a_null_count_without_a_bitmap_is_refused_unless_it_is_unknown(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(2, BUFFERS(NULL, I32(0, 1, 3, 6), "abbccc"));
  array.offset = 1;
  array.null_count = -1;
  GOOD(&field, &array);
  CHECK_INT(csf_array_null_count(&field, &array, 0, 2), 0);
  array.null_count = 1;
  BAD(&field, &array, STRUCTURE, "null count 1, but no validity bitmap");
}

static void children_are_there_as_many_as_the_type_says(void) {
  struct csf_field child_field = field_of(CSF_INT32), field = field_over(CSF_STRUCT, &child_field, 1);
  struct ArrowArray child = ARRAY(2, BUFFERS(NULL, I32(1, 2)));
  struct ArrowArray *children[1] = {&child}, *none[1] = {NULL};
  struct ArrowArray array = PARENT(2, BUFFERS(NULL), children);
  GOOD(&field, &array);
  array.n_children = 0;
  BAD(&field, &array, STRUCTURE, "0 children, its type has 1");
  array.n_children = INT64_MAX;
  BAD(&field, &array, STRUCTURE, "children");
  array.n_children = 1;
  array.children = NULL;
  BAD(&field, &array, STRUCTURE, "no table of its 1 children");
  array.children = none;
  BAD(&field, &array, STRUCTURE, "column \"c.c\": its array struct is NULL");
}

static void dictionaries_stand_where_the_type_says_and_nowhere_else(void) {
  struct csf_field values_field = field_of(CSF_UTF8), field = field_of(CSF_INT8), plain = field;
  field.dictionary = &values_field;
  struct ArrowArray values = ARRAY(2, BUFFERS(NULL, I32(0, 1, 2), "ab")), array = ARRAY(2, BUFFERS(NULL, "\0\1"));
  BAD(&field, &array, STRUCTURE, "no dictionary");
  array.dictionary = &values;
  GOOD(&field, &array);
  BAD(&plain, &array, STRUCTURE, "its type has none");
  values.n_buffers = 2;
  BAD(&field, &array, STRUCTURE, "column \"c.c\": 2 buffers");
}

static void a_struct_starts_at_its_offset_in_every_child(void) {
  struct csf_field child_field = field_of(CSF_INT32), field = field_over(CSF_STRUCT, &child_field, 1);
  struct ArrowArray child = ARRAY(6, BUFFERS(NULL, I32(0, 1, 2, 3, 4, 5)));
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(5, BUFFERS(NULL), children);
  array.offset = 1;
  GOOD(&field, &array);
  CHECK_VALUES(&field, &array, "{1} {2} {3} {4} {5}");
  child.length = 5;
  BAD(&field, &array, STRUCTURE, "5 rows, its parent has 6");
}

static void on_the_wire_children_are_as_long_as_their_struct(void) {
  struct colshuf_error err;
  struct csf_field child_field = field_of(CSF_INT32), field = field_over(CSF_STRUCT, &child_field, 1);
  struct ArrowArray child = ARRAY(3, BUFFERS(NULL, I32(0, 1, 2)));
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(2, BUFFERS(NULL), children);
  GOOD(&field, &array);
  int64_t sizes[3] = {0, 0, 12};
  struct csf_buffer_sizes known = {sizes, 3};
  CHECK_STATUS(csf_array_validate(&field, &array, &known, CSF_VALIDATE_STRUCTURE, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "3 rows, its parent has 2");
}

static void a_batch_without_columns_keeps_its_rows(void) {
  struct colshuf_error err;
  struct csf_field field = field_of(CSF_STRUCT);
  field.nullable = false;
  struct ArrowArray array = ARRAY(7, BUFFERS(NULL));
  GOOD(&field, &array);
  struct csf_schema *schema = csf_schema_new(&test_heap);
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 0, &array, NULL, NULL, &err));
  array.length = 7;
  REQUIRE_OK(csf_array_import_check(&schema->root, &array, &err));
  array.release(&array);
  CHECK_STATUS(csf_array_import_check(&schema->root, &array, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "released");
  csf_schema_release(schema);
}

static void a_batch_with_null_rows_is_refused(void) {
  struct colshuf_error err;
  struct csf_schema *schema = csf_schema_new(&test_heap);
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  struct ArrowArray array;
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 0, &array, NULL, NULL, &err));
  array.length = 7;
  array.null_count = -1;
  array.buffers[0] = BITS(0x7f);
  REQUIRE_OK(csf_array_import_check(&schema->root, &array, &err));
  array.buffers[0] = BITS(0x3f);
  CHECK_STATUS(csf_array_import_check(&schema->root, &array, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "1 of 7 rows are null");
  array.release(&array);
  csf_schema_release(schema);
}

static void a_released_child_is_refused_on_import(void) {
  struct colshuf_error err;
  struct csf_schema *schema = schema_of(3, TEST_TYPE(CSF_INT32));
  struct ArrowArray array;
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 0, &array, NULL, NULL, &err));
  REQUIRE(array.n_children > 0);
  REQUIRE_OK(csf_array_import_check(&schema->root, &array, &err));
  array.children[0]->release(array.children[0]);
  CHECK_STATUS(csf_array_import_check(&schema->root, &array, &err), COLSHUF_INVALID_ARGUMENT);
  array.release(&array);
  csf_schema_release(schema);
}

/* Whatever is accepted at the memory level can be read, row by row, without leaving its buffers: an address sanitizer sees it. */
static void flip(struct test_random *random, const struct csf_field *field, struct ArrowArray *array, const int64_t **sizes) {
  int64_t n = array->n_buffers - (field->layout == CSF_LAYOUT_VIEW);
  for (int64_t i = 0; i < n; i++, ++*sizes) {
    if (**sizes == 0 || test_random_below(random, 6) != 0) continue;
    uint8_t *bytes = (uint8_t *)(uintptr_t)array->buffers[i];
    uint64_t at = test_random_below(random, (uint64_t)**sizes);
    bytes[at] ^= (uint8_t)(1u << test_random_below(random, 8));
  }
  for (int64_t i = 0; i < array->n_children; i++) flip(random, &field->children[i], array->children[i], sizes);
}

static void what_passes_the_memory_level_can_be_read_without_leaving_its_buffers(void) {
  struct colshuf_error err;
  int64_t accepted = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct test_random random = {seed * 104729};
    struct csf_schema *schema = schema_of(seed, 0);
    struct test_array_options options = {.rows = 1 + (int64_t)(seed % 20), .null_percent = 20};
    struct ArrowArray array;
    test_random_array(&random, &schema->root, &options, &array);
    int64_t sizes[MOST_SIZES];
    struct csf_buffer_sizes known = {sizes, least_sizes(&schema->root, &array, sizes)};
    const int64_t *next = sizes;
    flip(&random, &schema->root, &array, &next);
    if (csf_array_validate(&schema->root, &array, &known, CSF_VALIDATE_MEMORY, &err) == COLSHUF_OK) {
      struct csf_buffer text;
      csf_buffer_init(&text, &test_heap);
      for (int64_t row = 0; row < array.length; row++) test_value_text(&schema->root, &array, row, &text);
      csf_buffer_clear(&text);
      accepted++;
    } else {
      CHECK_INT(err.status, COLSHUF_CORRUPT);
      refused++;
    }
    array.release(&array);
    csf_schema_release(schema);
  }
  CHECK(accepted > 20);
  CHECK(refused > 20);
}

static void an_error_may_be_overlooked(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(1, BUFFERS(NULL, I32(0, -1), "a"));
  CHECK_INT(csf_array_validate(&field, &array, NULL, CSF_VALIDATE_MEMORY, NULL), COLSHUF_CORRUPT);
}

static const struct test_case tests[] = {
    TEST(every_random_array_is_valid),
    TEST(one_byte_less_in_any_buffer_is_refused),
    TEST(every_layout_refuses_another_number_of_buffers),
    TEST(no_rows_need_no_buffers_whatever_the_type),
    TEST(missing_buffers_are_refused_where_there_are_rows),
    TEST(lengths_and_counts_that_contradict_each_other_are_refused),
    TEST(a_null_count_without_a_bitmap_is_refused_unless_it_is_unknown),
    TEST(children_are_there_as_many_as_the_type_says),
    TEST(dictionaries_stand_where_the_type_says_and_nowhere_else),
    TEST(a_struct_starts_at_its_offset_in_every_child),
    TEST(on_the_wire_children_are_as_long_as_their_struct),
    TEST(a_batch_without_columns_keeps_its_rows),
    TEST(a_batch_with_null_rows_is_refused),
    TEST(a_released_child_is_refused_on_import),
    TEST(what_passes_the_memory_level_can_be_read_without_leaving_its_buffers),
    TEST(an_error_may_be_overlooked),
};
TEST_MAIN(tests)
