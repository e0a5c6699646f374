/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random.h"
#include "support/value.h"

/* A random schema with its export, and an array of it. */
struct fixture {
  struct csf_schema *schema;
  struct ArrowSchema exported;
  struct ArrowArray array;
};

static void set_up(struct fixture *fixture, uint64_t seed, int64_t rows, unsigned shape) {
  struct colshuf_error err;
  struct test_random random = {seed * 6151};
  struct test_schema_options schema_options = {0};
  struct test_array_options options = {.rows = rows, .null_percent = 25, .shape = shape};
  fixture->schema = test_random_schema(&random, &schema_options);
  REQUIRE_OK(csf_field_export(&fixture->schema->root, &test_heap, &fixture->exported, &err));
  test_random_array(&random, &fixture->schema->root, &options, &fixture->array);
}

static void tear_down(struct fixture *fixture) {
  if (fixture->array.release != NULL) fixture->array.release(&fixture->array);
  fixture->exported.release(&fixture->exported);
  csf_schema_release(fixture->schema);
}

static void random_arrays_pass_both_depths(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct fixture f;
    set_up(&f, seed, (int64_t)(seed % 30), TEST_WILD);
    CHECK_STATUS(colshuf_array_validate(&f.exported, &f.array, 0, &err), COLSHUF_OK);
    CHECK_STATUS(colshuf_array_validate(&f.exported, &f.array, 1, &err), COLSHUF_OK);
    tear_down(&f);
  }
}

static void a_plain_array_that_is_no_batch_can_be_validated(void) {
  struct colshuf_error err;
  struct fixture f;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    set_up(&f, seed, 9, 0);
    for (int64_t i = 0; i < f.array.n_children; i++) {
      CHECK_STATUS(colshuf_array_validate(f.exported.children[i], f.array.children[i], 1, &err), COLSHUF_OK);
    }
    tear_down(&f);
  }
}

static void null_pointers_and_released_structs_are_invalid_arguments(void) {
  struct colshuf_error err;
  struct fixture f;
  set_up(&f, 1, 3, 0);
  struct ArrowArray released = f.array, out;
  released.release = NULL;
  CHECK_STATUS(colshuf_array_validate(NULL, &f.array, 0, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_array_validate(&f.exported, NULL, 0, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_array_validate(&f.exported, &released, 0, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_array_slice(&f.exported, &released, 0, 0, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_array_take(&f.exported, &released, NULL, 0, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  const struct ArrowArray *none[2] = {&f.array, NULL};
  CHECK_STATUS(colshuf_array_concat(&f.exported, none, 2, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "array 1 of 2");
  CHECK_STATUS(colshuf_array_concat(&f.exported, none, -1, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  tear_down(&f);
}

static void only_the_deep_look_reads_values(void) {
  struct colshuf_error err;
  int32_t offsets[3] = {0, 2, 1};
  const void *buffers[3] = {NULL, offsets, "ab"};
  struct csf_field field = {.name = "text", .type = CSF_UTF8, .layout = CSF_LAYOUT_BINARY32, .nullable = true};
  struct ArrowSchema schema;
  REQUIRE_OK(csf_field_export(&field, &test_heap, &schema, &err));
  struct ArrowArray array = {.length = 2, .n_buffers = 3, .buffers = buffers, .release = (void (*)(struct ArrowArray *))(uintptr_t)1};
  CHECK_STATUS(colshuf_array_validate(&schema, &array, 0, &err), COLSHUF_OK);
  CHECK_STATUS(colshuf_array_validate(&schema, &array, 1, &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "column \"text\": row 1: offset falls from 2 to 1");
  schema.release(&schema);
}

static void a_slice_shows_its_rows_without_a_copy_and_owns_the_whole(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 80; seed++) {
    struct fixture f;
    struct test_random random = {seed};
    set_up(&f, seed, 40, seed % 2 == 0 ? TEST_WILD : 0);
    int64_t start = (int64_t)test_random_below(&random, 40), length = (int64_t)test_random_below(&random, (uint64_t)(41 - start));
    uint64_t wanted = test_rows_hash(&f.schema->root, &f.array, start, length), before = test_heap_bytes();
    struct ArrowArray out;
    REQUIRE_OK(colshuf_array_slice(&f.exported, &f.array, start, length, &test_heap, &out, &err));
    CHECK(f.array.release == NULL);
    CHECK(test_heap_bytes() - before < 2000);
    CHECK_INT(out.length, length);
    CHECK(test_rows_hash(&f.schema->root, &out, 0, length) == wanted);
    REQUIRE_OK(csf_array_validate(&f.schema->root, &out, NULL, CSF_VALIDATE_FULL, &err));
    out.release(&out);
    tear_down(&f);
  }
}

static void a_slice_of_a_batch_has_its_offset_in_the_columns(void) {
  struct colshuf_error err;
  struct fixture f;
  set_up(&f, 5, 20, 0);
  REQUIRE(f.array.n_children > 0);
  struct ArrowArray out;
  REQUIRE_OK(colshuf_array_slice(&f.exported, &f.array, 3, 5, &test_heap, &out, &err));
  CHECK_INT(out.offset, 0);
  for (int64_t i = 0; i < out.n_children; i++) {
    CHECK_INT(out.children[i]->offset, 3);
    CHECK_INT(out.children[i]->length, 5);
    CHECK(out.children[i]->null_count >= 0);
  }
  out.release(&out);
  tear_down(&f);
}

static void a_slice_of_a_slice_counts_its_own_nulls(void) {
  struct colshuf_error err;
  uint8_t bits[4] = {0xff, 0xff, 0xff, 0xff};
  csf_bit_clear(bits, 3);
  csf_bit_clear(bits, 9);
  csf_bit_clear(bits, 17);
  static const int32_t values[32];
  struct csf_schema *schema = csf_schema_new(&test_heap);
  schema->root.children = csf_arena_alloc(&schema->arena, sizeof(struct csf_field));
  schema->root.n_children = 1;
  schema->root.children->type = CSF_INT32;
  schema->root.children->nullable = true;
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  struct ArrowSchema exported;
  REQUIRE_OK(csf_field_export(schema->root.children, &test_heap, &exported, &err));
  struct ArrowArray array, first, second;
  REQUIRE_OK(csf_array_new(&test_heap, schema->root.children, true, 0, &array, NULL, NULL, &err));
  array.length = 32;
  array.null_count = -1;
  array.buffers[0] = bits;
  array.buffers[1] = values;
  REQUIRE_OK(colshuf_array_slice(&exported, &array, 8, 16, &test_heap, &first, &err));
  CHECK_INT(first.null_count, 2);
  REQUIRE_OK(colshuf_array_slice(&exported, &first, 1, 4, &test_heap, &second, &err));
  CHECK_INT(second.null_count, 1);
  CHECK_INT(second.offset, 9);
  second.release(&second);
  exported.release(&exported);
  csf_schema_release(schema);
}

static void a_column_moved_out_of_a_slice_outlives_it(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct fixture f;
    set_up(&f, seed, 20, 0);
    struct ArrowArray out, child;
    REQUIRE_OK(colshuf_array_slice(&f.exported, &f.array, 3, 5, &test_heap, &out, &err));
    if (out.n_children == 0) {
      out.release(&out);
      tear_down(&f);
      continue;
    }
    int64_t which = out.n_children - 1;
    const struct csf_field *field = &f.schema->root.children[which];
    uint64_t wanted = test_rows_hash(field, out.children[which], 0, 5);
    child = *out.children[which];
    out.children[which]->release = NULL;
    out.release(&out);
    CHECK(test_rows_hash(field, &child, 0, 5) == wanted);
    child.release(&child);
    tear_down(&f);
  }
}

static void a_slice_outside_of_the_array_is_refused_and_leaves_it(void) {
  static const int64_t wrong[][2] = {{-1, 1}, {0, -1}, {0, 11}, {10, 1}, {11, 0}, {INT64_MAX, INT64_MAX}, {5, INT64_MAX}};
  struct colshuf_error err;
  struct fixture f;
  set_up(&f, 2, 10, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct ArrowArray out;
    CHECK_STATUS(colshuf_array_slice(&f.exported, &f.array, wrong[i][0], wrong[i][1], &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
    CHECK(f.array.release != NULL);
  }
  CHECK_CONTAINS(err.message, "9223372036854775807 rows from row 5 on are not all among 10");
  tear_down(&f);
}

static void rows_are_taken_in_the_order_asked_for(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct fixture f;
    set_up(&f, seed, 25, TEST_WILD);
    struct test_random random = {seed};
    int64_t rows[50];
    for (int i = 0; i < 50; i++) rows[i] = (int64_t)test_random_below(&random, 25);
    struct ArrowArray out;
    REQUIRE_OK(colshuf_array_take(&f.exported, &f.array, rows, 50, &test_heap, &out, &err));
    CHECK_INT(out.length, 50);
    for (int i = 0; i < 50; i++) CHECK_ROWS(&f.schema->root, &out, i, &f.schema->root, &f.array, rows[i], 1);
    out.release(&out);
    tear_down(&f);
  }
}

static void rows_outside_of_the_array_are_refused(void) {
  struct colshuf_error err;
  struct fixture f;
  set_up(&f, 2, 10, 0);
  struct ArrowArray out;
  CHECK_STATUS(colshuf_array_take(&f.exported, &f.array, (int64_t[]){0, 10}, 2, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STRING(err.message, "rows[1] is 10, the array has 10 rows");
  CHECK_STATUS(colshuf_array_take(&f.exported, &f.array, (int64_t[]){-1}, 1, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_array_take(&f.exported, &f.array, NULL, -1, &test_heap, &out, &err), COLSHUF_INVALID_ARGUMENT);
  tear_down(&f);
}

static void arrays_are_joined_one_after_another(void) {
  struct colshuf_error err;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct fixture f;
    set_up(&f, seed, 12, TEST_WILD);
    const struct ArrowArray *arrays[3] = {&f.array, &f.array, &f.array};
    for (int64_t n = 0; n <= 3; n++) {
      struct ArrowArray out;
      REQUIRE_OK(colshuf_array_concat(&f.exported, arrays, n, &test_heap, &out, &err));
      CHECK_INT(out.length, 12 * n);
      for (int64_t i = 0; i < n; i++) CHECK_ROWS(&f.schema->root, &out, 12 * i, &f.schema->root, &f.array, 0, 12);
      out.release(&out);
    }
    tear_down(&f);
  }
}

static enum colshuf_status slice_once(void *ctx) {
  struct fixture *f = ctx;
  struct colshuf_error err;
  struct ArrowArray source, out;
  CSF_TRY(csf_array_new(&test_heap, &f->schema->root, true, 0, &source, NULL, NULL, &err));
  enum colshuf_status status = colshuf_array_slice(&f->exported, &source, 0, 0, &test_heap, &out, &err);
  CHECK((source.release == NULL) == (status == COLSHUF_OK));
  if (status == COLSHUF_OK) out.release(&out);
  else source.release(&source);
  return status;
}

static enum colshuf_status take_and_join(void *ctx) {
  struct fixture *f = ctx;
  struct colshuf_error err;
  struct ArrowArray out;
  CSF_TRY(colshuf_array_take(&f->exported, &f->array, (int64_t[]){1, 0}, 2, &test_heap, &out, &err));
  out.release(&out);
  CSF_TRY(colshuf_array_concat(&f->exported, (const struct ArrowArray *[]){&f->array, &f->array}, 2, &test_heap, &out, &err));
  out.release(&out);
  return COLSHUF_OK;
}

static void every_refused_allocation_is_survived(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct fixture f;
    set_up(&f, seed, 5, 0);
    CHECK(test_oom_sweep(take_and_join, &f) > 2);
    CHECK(test_oom_sweep(slice_once, &f) >= 2);
    tear_down(&f);
  }
}

static const struct test_case tests[] = {
    TEST(random_arrays_pass_both_depths),
    TEST(a_plain_array_that_is_no_batch_can_be_validated),
    TEST(null_pointers_and_released_structs_are_invalid_arguments),
    TEST(only_the_deep_look_reads_values),
    TEST(a_slice_shows_its_rows_without_a_copy_and_owns_the_whole),
    TEST(a_slice_of_a_batch_has_its_offset_in_the_columns),
    TEST(a_slice_of_a_slice_counts_its_own_nulls),
    TEST(a_column_moved_out_of_a_slice_outlives_it),
    TEST(a_slice_outside_of_the_array_is_refused_and_leaves_it),
    TEST(rows_are_taken_in_the_order_asked_for),
    TEST(rows_outside_of_the_array_are_refused),
    TEST(arrays_are_joined_one_after_another),
    TEST(every_refused_allocation_is_survived),
};
TEST_MAIN(tests)
