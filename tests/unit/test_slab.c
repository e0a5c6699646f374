/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "arrow/array.h"
#include "support/harness.h"

/* A batch of one column of each kind: int32, utf8, list<utf8>, struct<int32, dictionary<int8, list<int32>>>, utf8_view. */
static struct csf_schema *make_schema(void) {
  struct colshuf_error err;
  struct csf_schema *schema = csf_schema_new(&test_heap);
  struct csf_arena *arena = &schema->arena;
  struct csf_field *columns = csf_arena_alloc(arena, 5 * sizeof *columns);
  static const enum csf_type types[] = {CSF_INT32, CSF_UTF8, CSF_LIST, CSF_STRUCT, CSF_UTF8_VIEW};
  for (int i = 0; i < 5; i++) columns[i].type = types[i];
  columns[2].n_children = 1;
  columns[2].children = csf_arena_alloc(arena, sizeof *columns);
  columns[2].children[0].type = CSF_UTF8;
  columns[3].n_children = 2;
  columns[3].children = csf_arena_alloc(arena, 2 * sizeof *columns);
  columns[3].children[0].type = CSF_INT32;
  struct csf_field *coded = &columns[3].children[1];
  coded->type = CSF_INT8;
  coded->dictionary = csf_arena_alloc(arena, sizeof *columns);
  coded->dictionary->type = CSF_LIST;
  coded->dictionary->n_children = 1;
  coded->dictionary->children = csf_arena_alloc(arena, sizeof *columns);
  coded->dictionary->children[0].type = CSF_INT32;
  schema->root.n_children = 5;
  schema->root.children = columns;
  REQUIRE_OK(csf_schema_finish(schema, NULL, &err));
  return schema;
}

/* The tree fits field, with everything zero that is to be zero. */
static void check_tree(const struct csf_field *field, const struct ArrowArray *array, bool with_dictionaries, const void *slab) {
  CHECK_INT(array->length, 0);
  CHECK_INT(array->null_count, 0);
  CHECK_INT(array->offset, 0);
  CHECK_INT(array->n_buffers, csf_layout_n_buffers(field->layout));
  for (int64_t i = 0; i < array->n_buffers; i++) CHECK(array->buffers[i] == NULL);
  CHECK(array->release != NULL);
  CHECK(array->private_data == slab);
  REQUIRE(array->n_children == field->n_children);
  for (int32_t i = 0; i < field->n_children; i++) check_tree(&field->children[i], array->children[i], with_dictionaries, slab);
  bool wanted = with_dictionaries && field->dictionary != NULL;
  REQUIRE((array->dictionary != NULL) == wanted);
  if (wanted) check_tree(field->dictionary, array->dictionary, true, slab);
}

/* Marks every place that a tree may write to, so that overlaps show. */
static void scribble(struct ArrowArray *array, int64_t *serial) {
  array->length = ++*serial;
  for (int64_t i = 0; i < array->n_buffers; i++) array->buffers[i] = (const void *)(uintptr_t)++*serial;
  for (int64_t i = 0; i < array->n_children; i++) scribble(array->children[i], serial);
  if (array->dictionary != NULL) scribble(array->dictionary, serial);
}
static void check_scribbled(const struct ArrowArray *array, int64_t *serial) {
  CHECK_INT(array->length, ++*serial);
  for (int64_t i = 0; i < array->n_buffers; i++) CHECK_INT((uintptr_t)array->buffers[i], ++*serial);
  for (int64_t i = 0; i < array->n_children; i++) check_scribbled(array->children[i], serial);
  if (array->dictionary != NULL) check_scribbled(array->dictionary, serial);
}

static void check_made(const struct csf_field *field, struct ArrowArray *array, bool with_dictionaries, uint8_t *body, size_t size,
                       struct csf_slab *slab) {
  check_tree(field, array, with_dictionaries, slab);
  CHECK(body != NULL);
  CHECK_INT((uintptr_t)body % CSF_ALIGNMENT, 0);
  if (size > 0) memset(body, 0xee, size);
  int64_t serial = 0;
  scribble(array, &serial);
  serial = 0;
  check_scribbled(array, &serial);
  for (size_t i = 0; i < size; i++) CHECK(body[i] == 0xee);
  array->release(array);
  CHECK(array->release == NULL);
}

static void a_tree_fits_its_field_and_takes_one_allocation(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  for (int dictionaries = 0; dictionaries < 2; dictionaries++) {
    for (size_t size = 0; size < 200; size += 33) {
      struct ArrowArray array;
      uint8_t *body;
      struct csf_slab *slab;
      uint64_t calls = test_heap_calls();
      REQUIRE_OK(csf_array_new(&test_heap, &schema->root, dictionaries, size, &array, &body, &slab, &err));
      CHECK_INT(test_heap_calls() - calls, 1);
      check_made(&schema->root, &array, dictionaries, body, size, slab);
    }
  }
  csf_schema_release(schema);
}

static void a_shaped_tree_equals_one_made_from_its_field(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  for (int dictionaries = 0; dictionaries < 2; dictionaries++) {
    struct csf_array_shape *shape;
    REQUIRE_OK(csf_array_shape_new(&test_heap, &schema->root, dictionaries, &shape, &err));
    for (size_t size = 0; size < 200; size += 33) {
      struct ArrowArray array, other;
      uint8_t *body;
      struct csf_slab *slab;
      uint64_t calls = test_heap_calls();
      REQUIRE_OK(csf_array_new_shaped(&test_heap, shape, 0, &other, NULL, NULL, &err));
      REQUIRE_OK(csf_array_new_shaped(&test_heap, shape, size, &array, &body, &slab, &err));
      CHECK_INT(test_heap_calls() - calls, 2);
      check_made(&schema->root, &array, dictionaries, body, size, slab);
      other.release(&other);
    }
    csf_array_shape_free(shape);
  }
  csf_array_shape_free(NULL);
  csf_schema_release(schema);
}

static void children_moved_out_outlive_the_rest(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  for (unsigned moved = 0; moved < 128; moved++) {
    struct ArrowArray array, kept[7];
    uint8_t *body;
    REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 64, &array, &body, NULL, &err));
    struct ArrowArray *coded = array.children[3]->children[1];
    struct ArrowArray *places[7] = {array.children[0], array.children[1], array.children[2], array.children[3], coded,
                                    coded->dictionary, coded->dictionary->children[0]};
    int n = 0;
    for (int i = 6; i >= 0; i--) { /* from below, so that a moved parent leaves its moved child out */
      if (!(moved >> i & 1)) continue;
      kept[n++] = *places[i];
      places[i]->release = NULL;
    }
    array.release(&array);
    while (n > 0) {
      CHECK(test_heap_bytes() > 64);
      memset(body, 1, 64);
      n--;
      kept[n].release(&kept[n]);
    }
  }
  csf_schema_release(schema);
  CHECK_INT(test_heap_bytes(), 0);
}

static int n_released;
static int released_order[4];
static void note_release(void *ctx) {
  released_order[n_released++] = *(int *)ctx;
}
static void note_array_release(struct ArrowArray *array) {
  array->release = NULL;
  note_release(array->private_data);
}

static void what_is_attached_is_released_once_with_the_last_array(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  struct ArrowArray array;
  struct csf_slab *slab;
  static int numbers[] = {0, 1, 2, 3};
  n_released = 0;
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, false, 0, &array, NULL, &slab, &err));
  for (int i = 0; i < 3; i++) REQUIRE_OK(csf_slab_attach(slab, note_release, &numbers[i], &err));
  struct ArrowArray foreign = {.release = note_array_release, .private_data = &numbers[3]};
  REQUIRE_OK(csf_slab_attach_array(slab, &foreign, &err));
  CHECK(foreign.release == NULL);
  void *bytes;
  REQUIRE_OK(csf_slab_alloc(slab, 0, &bytes, &err));
  CHECK(bytes != NULL);
  REQUIRE_OK(csf_slab_alloc(slab, 1000, &bytes, &err));
  CHECK_INT((uintptr_t)bytes % CSF_ALIGNMENT, 0);
  memset(bytes, 7, 1000);
  struct ArrowArray child = *array.children[0];
  array.children[0]->release = NULL;
  array.release(&array);
  CHECK_INT(n_released, 0);
  child.release(&child);
  CHECK_INT(n_released, 4);
  for (int i = 0; i < 4; i++) CHECK_INT(released_order[i], 3 - i);
  csf_schema_release(schema);
}

static void a_foreign_child_put_into_the_tree_is_released_with_it(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  struct ArrowArray array, other;
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 0, &array, NULL, NULL, &err));
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 0, &other, NULL, NULL, &err));
  struct ArrowArray *coded = array.children[3]->children[1];
  coded->dictionary->release(coded->dictionary);
  *coded->dictionary = *other.children[3]->children[1]->dictionary;
  other.children[3]->children[1]->dictionary->release = NULL;
  static int number = 5;
  n_released = 0;
  array.children[0]->release(array.children[0]);
  *array.children[0] = (struct ArrowArray){.release = note_array_release, .private_data = &number};
  other.release(&other);
  CHECK_INT(coded->dictionary->n_children, 1);
  array.release(&array);
  CHECK_INT(n_released, 1);
  csf_schema_release(schema);
}

static void view_tables_grow_with_the_number_of_data_buffers(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  for (int64_t n = 0; n < 40; n++) {
    struct ArrowArray array;
    struct csf_slab *slab;
    REQUIRE_OK(csf_array_new(&test_heap, &schema->root, false, 0, &array, NULL, &slab, &err));
    struct ArrowArray *view = array.children[4];
    view->buffers[0] = &n;
    view->buffers[1] = &array;
    int64_t *sizes;
    uint64_t calls = test_heap_calls();
    REQUIRE_OK(csf_array_set_variadic(slab, view, n, &sizes, &err));
    if (n <= 4) CHECK_INT(test_heap_calls() - calls, 0);
    CHECK_INT(view->n_buffers, 3 + n);
    CHECK(view->buffers[0] == &n && view->buffers[1] == &array && view->buffers[2 + n] == sizes);
    for (int64_t i = 0; i < n; i++) {
      CHECK(view->buffers[2 + i] == NULL);
      sizes[i] = i;
    }
    array.release(&array);
  }
  csf_schema_release(schema);
}

static void a_number_of_data_buffers_beyond_memory_is_refused(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  struct ArrowArray array;
  struct csf_slab *slab;
  int64_t *sizes;
  REQUIRE_OK(csf_array_new(&test_heap, &schema->root, false, 0, &array, NULL, &slab, &err));
  CHECK_STATUS(csf_array_set_variadic(slab, array.children[4], -1, &sizes, &err), COLSHUF_LIMIT);
  CHECK_STATUS(csf_array_set_variadic(slab, array.children[4], INT64_MAX, &sizes, &err), COLSHUF_LIMIT);
  CHECK_STATUS(csf_array_set_variadic(slab, array.children[4], INT64_MAX / 16 - 4, &sizes, &err), COLSHUF_NO_MEMORY);
  CHECK_INT(array.children[4]->n_buffers, 3);
  array.release(&array);
  csf_schema_release(schema);
  schema = make_schema();
  CHECK_STATUS(csf_array_new(&test_heap, &schema->root, false, SIZE_MAX, &array, NULL, NULL, &err), COLSHUF_NO_MEMORY);
  CHECK_STATUS(csf_array_new(&test_heap, &schema->root, false, SIZE_MAX - 64, &array, NULL, NULL, &err), COLSHUF_NO_MEMORY);
  csf_schema_release(schema);
}

static void nulls_are_counted_in_a_slice_of_a_slice(void) {
  uint8_t bits[4] = {0xff, 0xff, 0xff, 0xff};
  csf_bit_clear(bits, 3);
  csf_bit_clear(bits, 9);
  csf_bit_clear(bits, 17);
  const void *buffers[2] = {bits, NULL};
  struct ArrowArray array = {.length = 16, .null_count = -1, .offset = 8, .n_buffers = 2, .buffers = buffers};
  struct csf_field field = {.type = CSF_INT32, .layout = CSF_LAYOUT_FIXED, .width = 4};
  CHECK_INT(csf_array_null_count(&field, &array, 1, 4), 1);
  CHECK_INT(csf_array_null_count(&field, &array, 0, 16), 2);
  array.null_count = 0;
  CHECK(csf_array_validity(&field, &array) == NULL);
  CHECK_INT(csf_array_null_count(&field, &array, 0, 16), 0);
  struct csf_field null_field = {.type = CSF_NULL, .layout = CSF_LAYOUT_NULL};
  CHECK_INT(csf_array_null_count(&null_field, &array, 2, 5), 5);
}

static void *release_in_thread(void *ctx) {
  struct ArrowArray *array = ctx;
  array->release(array);
  return NULL;
}

static void children_may_be_released_by_different_threads(void) {
  struct colshuf_error err;
  struct csf_schema *schema = make_schema();
  for (int round = 0; round < 50; round++) {
    struct ArrowArray array, child[5];
    REQUIRE_OK(csf_array_new(&test_heap, &schema->root, true, 100, &array, NULL, NULL, &err));
    for (int i = 0; i < 5; i++) {
      child[i] = *array.children[i];
      array.children[i]->release = NULL;
    }
    array.release(&array);
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) REQUIRE(pthread_create(&threads[i], NULL, release_in_thread, &child[i]) == 0);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
  }
  csf_schema_release(schema);
  CHECK_INT(test_heap_bytes(), 0);
}

static enum colshuf_status make_everything(void *ctx) {
  struct csf_schema *schema = ctx;
  struct colshuf_error err;
  struct csf_array_shape *shape;
  CSF_TRY(csf_array_shape_new(&test_heap, &schema->root, true, &shape, &err));
  struct ArrowArray array = {0};
  struct csf_slab *slab;
  static int number = 0;
  enum colshuf_status status = csf_array_new_shaped(&test_heap, shape, 10, &array, NULL, &slab, &err);
  int64_t *sizes;
  if (status == COLSHUF_OK) status = csf_array_set_variadic(slab, array.children[4], 100, &sizes, &err);
  void *bytes;
  if (status == COLSHUF_OK) status = csf_slab_alloc(slab, 10, &bytes, &err);
  n_released = 0;
  for (int i = 0; i < 4 && status == COLSHUF_OK; i++) status = csf_slab_attach(slab, note_release, &number, &err);
  struct ArrowArray other = {0};
  if (status == COLSHUF_OK) status = csf_array_new(&test_heap, &schema->root, true, 0, &other, NULL, NULL, &err);
  if (status == COLSHUF_OK) status = csf_slab_attach_array(slab, &other, &err);
  if (other.release != NULL) other.release(&other);
  if (array.release != NULL) array.release(&array);
  csf_array_shape_free(shape);
  return status;
}

static void every_refused_allocation_is_survived(void) {
  struct csf_schema *schema = make_schema();
  CHECK(test_oom_sweep(make_everything, schema) >= 7);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(a_tree_fits_its_field_and_takes_one_allocation),
    TEST(a_shaped_tree_equals_one_made_from_its_field),
    TEST(children_moved_out_outlive_the_rest),
    TEST(what_is_attached_is_released_once_with_the_last_array),
    TEST(a_foreign_child_put_into_the_tree_is_released_with_it),
    TEST(view_tables_grow_with_the_number_of_data_buffers),
    TEST(a_number_of_data_buffers_beyond_memory_is_refused),
    TEST(nulls_are_counted_in_a_slice_of_a_slice),
    TEST(children_may_be_released_by_different_threads),
    TEST(every_refused_allocation_is_survived),
};
TEST_MAIN(tests)
