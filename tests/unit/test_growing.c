/* SPDX-License-Identifier: Apache-2.0 */
/* A growing batch holds what joining the same batches gives, in as much memory as the last one needed. */
#include "shuffle/growing.h"
#include "support/random.h"
#include "support/types.h"

enum { MOST_BATCHES = 12 };

static const int32_t in_order[] = {0, 1, 2, 3, 4, 5};

struct setup {
  struct csf_schema *schema;
  struct csf_array_shape *shape;
  struct csf_growing growing;
};

static struct setup begin(const char *columns, int64_t target_rows) {
  struct colshuf_error err;
  struct setup s = {.schema = test_schema(columns)};
  REQUIRE_OK(csf_array_shape_new(&test_heap, &s.schema->root, true, &s.shape, &err));
  s.growing = (struct csf_growing){
      .allocator = test_heap, .schema = s.schema, .shape = s.shape, .target_rows = target_rows, .target_bytes = 1 << 20};
  return s;
}

static void end(struct setup *s) {
  csf_growing_clear(&s->growing);
  csf_array_shape_free(s->shape);
  csf_schema_release(s->schema);
}

/* Of one row at least. */
static void random_batch(struct test_random *random, const struct setup *s, int64_t max_rows, struct ArrowArray *out) {
  struct test_array_options options = test_random_options(random, max_rows);
  if (options.rows == 0) options.rows = 1;
  test_random_array(random, &s->schema->root, &options, out);
}

/* Appends up to MOST_BATCHES random batches and takes what became of them. */
static void grow_and_compare(struct test_random *random, struct setup *s) {
  struct colshuf_error err;
  struct ArrowArray batches[MOST_BATCHES], joined, grown;
  const struct ArrowArray *pointers[MOST_BATCHES];
  int64_t starts[MOST_BATCHES] = {0}, lengths[MOST_BATCHES];
  int n = 1 + (int)test_random_below(random, MOST_BATCHES);
  for (int i = 0; i < n; i++) {
    random_batch(random, s, test_random_below(random, 3) == 0 ? 300 : 20, &batches[i]);
    pointers[i] = &batches[i];
    lengths[i] = batches[i].length;
    REQUIRE_OK(csf_growing_append(&s->growing, &batches[i], in_order, &err));
  }
  csf_growing_take(&s->growing, &grown);
  REQUIRE_OK(csf_array_concat(&s->schema->root, pointers, starts, lengths, n, &test_heap, &joined, &err));
  REQUIRE(grown.length == joined.length);
  CHECK(csf_array_equal(&s->schema->root, &grown, 0, &joined, 0, joined.length));
  CHECK_STATUS(csf_array_validate(&s->schema->root, &grown, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_OK);
  for (int32_t c = 0; c < s->schema->root.n_children; c++) {
    CHECK_INT(grown.children[c]->null_count, joined.children[c]->null_count);
    CHECK((grown.children[c]->buffers[0] == NULL) == (joined.children[c]->null_count == 0));
  }
  for (int i = 0; i < n; i++) batches[i].release(&batches[i]);
  joined.release(&joined);
  grown.release(&grown);
}

static void what_grows_equals_what_is_joined(void) {
  struct test_random random = {91};
  for (int i = 0; i < test_cases(60); i++) {
    int64_t targets[] = {1, 50, 8192, INT64_MAX};
    struct setup s = begin("b: bool, k: int32, d: decimal128(15, 2), s: utf8, l: large_binary, n: int64 not null", targets[i % 4]);
    if (i % 3 == 0) s.growing.target_bytes = 1000;
    for (int batch = 0; batch < 5; batch++) grow_and_compare(&random, &s);
    end(&s);
  }
}

/* One column of one row whose text is said to have so many bytes; nobody may look at them. */
static void claim(struct ArrowArray *batch, struct ArrowArray *column, struct ArrowArray **children, const void **buffers,
                  int32_t *offsets, int32_t size) {
  offsets[0] = 0;
  offsets[1] = size;
  buffers[0] = NULL;
  buffers[1] = offsets;
  buffers[2] = offsets;
  *column = (struct ArrowArray){.length = 1, .n_buffers = 3, .buffers = buffers};
  children[0] = column;
  *batch = (struct ArrowArray){.length = 1, .n_children = 1, .children = children};
}

static void more_text_than_offsets_hold_is_refused_before_anything_is_copied(void) {
  struct colshuf_error err;
  struct setup s = begin("s: utf8", 100);
  struct ArrowArray batch, column, *children[1], grown;
  const void *buffers[3];
  int32_t offsets[2];
  claim(&batch, &column, children, buffers, offsets, 8);
  REQUIRE_OK(csf_growing_append(&s.growing, &batch, in_order, &err));
  offsets[1] = INT32_MAX - 7;
  CHECK_STATUS(csf_growing_append(&s.growing, &batch, in_order, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "column \"s\"");
  offsets[1] = 8;
  REQUIRE_OK(csf_growing_append(&s.growing, &batch, in_order, &err));
  csf_growing_take(&s.growing, &grown);
  CHECK_INT(grown.length, 2);
  CHECK_INT(csf_offset_at(grown.children[0]->buffers[1], 2, false), 16);
  grown.release(&grown);
  end(&s);
}

static void the_next_batch_takes_the_room_of_the_last_one_at_once(void) {
  struct colshuf_error err;
  struct test_random random = {92};
  struct setup s = begin("k: int32, s: utf8", 1000);
  struct ArrowArray batch, grown;
  struct test_array_options options = {.rows = 10};
  test_random_array(&random, &s.schema->root, &options, &batch);
  uint64_t slabs[2];
  for (int round = 0; round < 2; round++) {
    uint64_t before = test_heap_calls();
    for (int i = 0; i < 100; i++) REQUIRE_OK(csf_growing_append(&s.growing, &batch, in_order, &err));
    slabs[round] = test_heap_calls() - before;
    csf_growing_take(&s.growing, &grown);
    CHECK_INT(grown.length, 1000);
    grown.release(&grown);
  }
  CHECK(slabs[0] >= 1 + 2 * 2); /* the columns, and two slabs at least, each beside its plan */
  CHECK_INT(slabs[1], 2);
  batch.release(&batch);
  end(&s);
}

static void rows_that_take_no_bytes_do_not_grow(void) {
  struct csf_schema *schema = test_schema("n: null, w: fixed_size_binary(0), v: utf8_view, l: list<int32>, k: int8");
  for (int32_t c = 0; c < 4; c++) CHECK(!csf_growing_suits(&schema->root.children[c]));
  CHECK(csf_growing_suits(&schema->root.children[4]));
  csf_schema_release(schema);
}

struct pressure {
  struct setup s;
  struct ArrowArray batches[8];
};

/* Whatever is refused, the rows that were there before still are. */
static enum colshuf_status grow_under_pressure(void *ctx) {
  struct pressure *p = ctx;
  struct csf_growing *growing = &p->s.growing;
  struct colshuf_error err;
  struct ArrowArray grown;
  enum colshuf_status status = COLSHUF_OK;
  int64_t n_rows = 0;
  for (int i = 0; i < 8 && status == COLSHUF_OK; i++) {
    status = csf_growing_append(growing, &p->batches[i], in_order, &err);
    if (status == COLSHUF_OK) n_rows += p->batches[i].length;
  }
  CHECK_INT(growing->n_rows, n_rows);
  if (n_rows > 0) {
    csf_growing_take(growing, &grown);
    CHECK_STATUS(csf_array_validate(&p->s.schema->root, &grown, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_OK);
    grown.release(&grown);
  }
  csf_growing_clear(growing);
  return status;
}

static void every_refused_allocation_is_survived(void) {
  struct test_random random = {93};
  struct pressure p = {.s = begin("k: int32, s: utf8, b: bool", 1 << 20)};
  for (int i = 0; i < 8; i++) {
    struct test_array_options options = {.rows = 1 << i, .null_percent = 20};
    test_random_array(&random, &p.s.schema->root, &options, &p.batches[i]);
  }
  CHECK(test_oom_sweep(grow_under_pressure, &p) >= 5);
  for (int i = 0; i < 8; i++) p.batches[i].release(&p.batches[i]);
  end(&p.s);
}

static const struct test_case tests[] = {
    TEST(what_grows_equals_what_is_joined),
    TEST(more_text_than_offsets_hold_is_refused_before_anything_is_copied),
    TEST(the_next_batch_takes_the_room_of_the_last_one_at_once),
    TEST(rows_that_take_no_bytes_do_not_grow),
    TEST(every_refused_allocation_is_survived),
};
TEST_MAIN(tests)
