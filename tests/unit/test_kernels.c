/* SPDX-License-Identifier: Apache-2.0 */
/* take, concat, unpacking and equality against the oracle of support/value.h, over random arrays of every type. */
#include "arrow/gather.h"
#include "support/random.h"
#include "support/value.h"

enum { MAX_ROWS = 40 };

/* A random field with a random array of it: a whole batch or one column. */
struct subject {
  struct csf_schema *schema;
  const struct csf_field *field;
  struct ArrowArray array;
};

static struct csf_schema *make_schema(struct test_random *random) {
  struct test_schema_options options = {.plain_names = true};
  if (test_random_below(random, 3) == 0) options.n_columns = 1;
  return test_random_schema(random, &options);
}

static void make_array(struct test_random *random, const struct csf_field *field, struct ArrowArray *out) {
  struct test_array_options options = test_random_options(random, MAX_ROWS);
  test_random_array(random, field, &options, out);
}

static struct subject make_subject(struct test_random *random) {
  struct subject s = {.schema = make_schema(random)};
  s.field = &s.schema->root;
  make_array(random, s.field, &s.array);
  return s;
}

static void drop(struct subject *s) {
  s->array.release(&s->array);
  csf_schema_release(s->schema);
}

static void check_valid(const struct csf_field *field, const struct ArrowArray *array) {
  struct colshuf_error err;
  CHECK_STATUS(csf_array_validate(field, array, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_OK);
}

static int64_t random_rows(struct test_random *random, int64_t n_rows, int64_t *rows) {
  int64_t n = n_rows == 0 ? 0 : (int64_t)test_random_below(random, 2 * MAX_ROWS);
  bool rising = test_random_below(random, 4) == 0;
  for (int64_t i = 0; i < n; i++) rows[i] = rising ? i % n_rows : (int64_t)test_random_below(random, (uint64_t)n_rows);
  return n;
}

static void take_gives_the_rows_that_were_asked_for(void) {
  struct test_random random = {11};
  struct colshuf_error err;
  int64_t rows[2 * MAX_ROWS];
  for (int i = 0; i < 1500; i++) {
    struct subject s = make_subject(&random);
    int64_t n = random_rows(&random, s.array.length, rows);
    struct ArrowArray out;
    REQUIRE_OK(csf_array_take(s.field, &s.array, rows, n, &test_heap, &out, &err));
    CHECK_INT(out.length, n);
    CHECK_INT(out.offset, 0);
    check_valid(s.field, &out);
    for (int64_t r = 0; r < n; r++) CHECK_ROWS(s.field, &out, r, s.field, &s.array, rows[r], 1);
    out.release(&out);
    drop(&s);
  }
}

static void concat_gives_all_ranges_in_order(void) {
  struct test_random random = {12};
  struct colshuf_error err;
  for (int i = 0; i < 1000; i++) {
    struct csf_schema *schema = make_schema(&random);
    struct ArrowArray arrays[5], out;
    const struct ArrowArray *sources[5];
    int64_t starts[5], lengths[5], n = (int64_t)test_random_below(&random, 6);
    for (int64_t k = 0; k < n; k++) {
      make_array(&random, &schema->root, &arrays[k]);
      sources[k] = &arrays[k];
      starts[k] = (int64_t)test_random_below(&random, (uint64_t)arrays[k].length + 1);
      lengths[k] = (int64_t)test_random_below(&random, (uint64_t)(arrays[k].length - starts[k]) + 1);
    }
    enum colshuf_status status = csf_array_concat(&schema->root, sources, starts, lengths, n, &test_heap, &out, &err);
    if (status == COLSHUF_LIMIT) {
      CHECK_CONTAINS(err.message, "indices"); /* five dictionaries of 100 values may be too much for 8 bits */
    } else {
      REQUIRE_OK(status);
      int64_t at = 0;
      for (int64_t k = 0; k < n; at += lengths[k++]) {
        CHECK_ROWS(&schema->root, &out, at, &schema->root, &arrays[k], starts[k], lengths[k]);
      }
      CHECK_INT(out.length, at);
      check_valid(&schema->root, &out);
      out.release(&out);
    }
    for (int64_t k = 0; k < n; k++) arrays[k].release(&arrays[k]);
    csf_schema_release(schema);
  }
}

static void unpacking_changes_the_type_and_no_value(void) {
  struct test_random random = {13};
  struct colshuf_error err;
  for (int i = 0; i < 1000; i++) {
    struct subject s = make_subject(&random);
    struct csf_arena arena;
    struct csf_field plain;
    struct ArrowArray out;
    csf_arena_init(&arena, &test_heap);
    REQUIRE(csf_field_unpack(&arena, s.field, &plain));
    REQUIRE_OK(csf_array_unpack_dictionaries(s.field, &s.array, &test_heap, &out, &err));
    CHECK_INT(out.length, s.array.length);
    check_valid(&plain, &out);
    CHECK_ROWS(&plain, &out, 0, s.field, &s.array, 0, s.array.length);
    out.release(&out);
    csf_arena_clear(&arena);
    drop(&s);
  }
}

/* Blocks of one partition may hold a column plain and dictionary-encoded by turns. */
static void plain_and_encoded_pieces_can_be_joined(void) {
  struct test_random random = {14};
  struct colshuf_error err;
  for (int i = 0; i < 500; i++) {
    struct subject s = make_subject(&random);
    struct csf_arena arena;
    struct csf_field plain;
    struct ArrowArray unpacked, out;
    csf_arena_init(&arena, &test_heap);
    REQUIRE(csf_field_unpack(&arena, s.field, &plain));
    REQUIRE_OK(csf_array_unpack_dictionaries(s.field, &s.array, &test_heap, &unpacked, &err));
    struct csf_piece pieces[3] = {{.field = s.field, .array = &s.array, .length = s.array.length},
                                  {.field = &plain, .array = &unpacked, .length = s.array.length},
                                  {.field = s.field, .array = &s.array, .length = s.array.length}};
    for (int encoded = 0; encoded < 2; encoded++) {
      const struct csf_field *field = encoded ? s.field : &plain;
      enum colshuf_status status = csf_array_gather(field, pieces, 3, &test_heap, &out, &err);
      if (status == COLSHUF_LIMIT && encoded) continue;
      REQUIRE_OK(status);
      CHECK_INT(out.length, 3 * s.array.length);
      check_valid(field, &out);
      for (int64_t k = 0; k < 3; k++) CHECK_ROWS(field, &out, k * s.array.length, s.field, &s.array, 0, s.array.length);
      out.release(&out);
    }
    unpacked.release(&unpacked);
    csf_arena_clear(&arena);
    drop(&s);
  }
}

static bool same_text(const struct csf_field *field, const struct ArrowArray *array, int64_t a, int64_t b) {
  return test_rows_hash(field, array, a, 1) == test_rows_hash(field, array, b, 1);
}

static void equality_of_two_rows_is_equality_of_their_texts(void) {
  struct test_random random = {15};
  for (int i = 0; i < 1500; i++) {
    struct subject s = make_subject(&random);
    if (s.field->n_children > 0 && s.array.length > 0) {
      int64_t c = (int64_t)test_random_below(&random, (uint64_t)s.field->n_children);
      const struct csf_field *field = &s.field->children[c];
      const struct ArrowArray *array = s.array.children[c];
      for (int pair = 0; pair < 20; pair++) {
        int64_t a = (int64_t)test_random_below(&random, (uint64_t)array->length);
        int64_t b = (int64_t)test_random_below(&random, (uint64_t)array->length);
        CHECK_INT(csf_array_equal(field, array, a, array, b, 1), same_text(field, array, a, b));
      }
    }
    drop(&s);
  }
}

static void a_copy_is_equal_and_one_changed_row_is_found(void) {
  struct test_random random = {16};
  struct colshuf_error err;
  int64_t rows[MAX_ROWS];
  for (int i = 0; i < 1000; i++) {
    struct subject s = make_subject(&random);
    int64_t n = s.array.length;
    for (int64_t r = 0; r < n; r++) rows[r] = r;
    if (n > 1 && i % 2) rows[test_random_below(&random, (uint64_t)n)] = (int64_t)test_random_below(&random, (uint64_t)n);
    struct ArrowArray out;
    REQUIRE_OK(csf_array_take(s.field, &s.array, rows, n, &test_heap, &out, &err));
    bool same = test_rows_hash(s.field, &out, 0, n) == test_rows_hash(s.field, &s.array, 0, n);
    CHECK_INT(csf_array_equal(s.field, &out, 0, &s.array, 0, n), same);
    out.release(&out);
    drop(&s);
  }
}

struct sweep {
  const struct subject *subject;
  int kernel;
};

static enum colshuf_status run_kernel(void *ctx) {
  const struct sweep *sweep = ctx;
  const struct subject *s = sweep->subject;
  const struct ArrowArray *twice[] = {&s->array, &s->array};
  int64_t n = s->array.length, starts[] = {0, n / 2}, lengths[] = {n, n - n / 2}, rows[] = {n - 1, 0, n / 2, 0};
  struct colshuf_error err;
  struct ArrowArray out;
  enum colshuf_status status = sweep->kernel == 0 ? csf_array_take(s->field, &s->array, rows, 4, &test_heap, &out, &err)
                               : sweep->kernel == 1
                                   ? csf_array_concat(s->field, twice, starts, lengths, 2, &test_heap, &out, &err)
                                   : csf_array_unpack_dictionaries(s->field, &s->array, &test_heap, &out, &err);
  if (status == COLSHUF_OK) out.release(&out);
  return status;
}

static void every_kernel_survives_every_refusal(void) {
  struct test_random random = {17};
  for (int i = 0; i < 60; i++) {
    struct subject s = {.schema = make_schema(&random)};
    s.field = &s.schema->root;
    struct test_array_options options = test_random_options(&random, 8);
    options.rows++;
    test_random_array(&random, s.field, &options, &s.array);
    for (int kernel = 0; kernel < 3; kernel++) {
      struct sweep sweep = {&s, kernel};
      CHECK(test_oom_sweep(run_kernel, &sweep) > 0);
    }
    drop(&s);
  }
}

static const struct test_case tests[] = {
    TEST(take_gives_the_rows_that_were_asked_for),
    TEST(concat_gives_all_ranges_in_order),
    TEST(unpacking_changes_the_type_and_no_value),
    TEST(plain_and_encoded_pieces_can_be_joined),
    TEST(equality_of_two_rows_is_equality_of_their_texts),
    TEST(a_copy_is_equal_and_one_changed_row_is_found),
    TEST(every_kernel_survives_every_refusal),
};
TEST_MAIN(tests)
