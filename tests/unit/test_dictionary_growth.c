/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionaries that deltas are added to: what they hold, what was handed out before, and what a delta costs. */
#include "ipc/dictionary_growth.h"

#include <stdlib.h>

#include "ipc/batch_read.h"
#include "ipc/message.h"
#include "ipc/schema_message.h"
#include "support/messages.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

enum { MOST_DELTAS = 12 };

static void append_array(struct csf_growth *growth, const struct csf_field *field, const struct ArrowArray *array) {
  struct colshuf_error err;
  REQUIRE_OK(csf_growth_append(growth, field, array, &err));
}

static struct ArrowArray shown(struct csf_growth *growth, const struct csf_field *field) {
  struct colshuf_error err;
  struct ArrowArray array;
  REQUIRE_OK(csf_growth_show(growth, field, &array, &err));
  CHECK_STATUS(csf_array_validate(field, &array, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_OK);
  return array;
}

/* Deltas of one field; after each, all that came so far is there, and what was shown before is as it was. */
static void check_deltas(const struct csf_field *field, struct test_random *random) {
  struct colshuf_error err;
  struct ArrowArray deltas[MOST_DELTAS], all[MOST_DELTAS];
  int n = 1 + (int)test_random_below(random, MOST_DELTAS);
  struct csf_growth *growth;
  REQUIRE_OK(csf_growth_new(field, &test_heap, &growth, &err));
  for (int i = 0; i < n; i++) {
    struct test_array_options options = test_random_options(random, 40);
    test_random_array(random, field, &options, &deltas[i]);
    append_array(growth, field, &deltas[i]);
    all[i] = shown(growth, field);
  }
  csf_growth_free(growth); /* arrays live on */
  for (int i = 0; i < n; i++) {
    int64_t row = 0;
    for (int d = 0; d <= i; d++) {
      CHECK_ROWS(field, &all[i], row, field, &deltas[d], 0, deltas[d].length);
      row += deltas[d].length;
    }
    CHECK_INT(all[i].length, row);
  }
  for (int i = 0; i < n; i++) {
    all[i].release(&all[i]);
    deltas[i].release(&deltas[i]);
  }
}

static void values_of_every_type_grow_and_what_was_shown_before_stays(void) {
  struct test_random random = {11};
  struct test_schema_options options = {.no_dictionaries = true, .n_columns = 1};
  for (int round = 0; round < test_cases(600); round++) {
    struct csf_schema *schema = test_random_schema(&random, &options);
    CHECK(csf_growth_suits(schema->root.children));
    check_deltas(schema->root.children, &random);
    csf_schema_release(schema);
  }
}

static void bits_and_nulls_join_inside_a_byte(void) {
  struct csf_schema *schema = test_schema("a: bool");
  const struct csf_field *field = schema->root.children;
  const void *buffers[][2] = {{NULL, "\x05"}, {"\x01", "\x01"}, {NULL, "\xff\x01"}};
  struct ArrowArray deltas[] = {{.length = 3, .n_buffers = 2, .buffers = buffers[0]},
                                {.length = 2, .null_count = 1, .n_buffers = 2, .buffers = buffers[1]},
                                {.length = 9, .n_buffers = 2, .buffers = buffers[2]}};
  struct colshuf_error err;
  struct csf_growth *growth;
  struct ArrowArray all[3];
  REQUIRE_OK(csf_growth_new(field, &test_heap, &growth, &err));
  for (int i = 0; i < 3; i++) {
    append_array(growth, field, &deltas[i]);
    all[i] = shown(growth, field);
  }
  CHECK(all[0].buffers[0] == NULL);
  CHECK_VALUES(field, &all[0], "true false true");
  CHECK_VALUES(field, &all[1], "true false true true null");
  CHECK_VALUES(field, &all[2], "true false true true null true true true true true true true true true");
  for (int i = 0; i < 3; i++) all[i].release(&all[i]);
  csf_growth_free(growth);
  csf_schema_release(schema);
}

/* Two times the same array, the second time more than the type can count. */
static void check_too_many(const char *type, struct ArrowArray *array, const char *reason) {
  struct colshuf_error err;
  struct csf_schema *schema = test_schema(type);
  const struct csf_field *field = schema->root.children;
  struct csf_growth *growth;
  REQUIRE_OK(csf_growth_new(field, &test_heap, &growth, &err));
  append_array(growth, field, array);
  CHECK_STATUS(csf_growth_append(growth, field, array, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, reason);
  csf_growth_free(growth);
  csf_schema_release(schema);
}

static void more_than_offsets_or_run_ends_can_count_is_a_limit(void) {
  static const int32_t half[] = {0, 1 << 30}, zero[] = {0};
  static const int16_t end[] = {20000};
  struct ArrowArray nulls = {.length = 1 << 30, .null_count = 1 << 30}, one = {.length = 1, .n_buffers = 2, .buffers = (const void *[]){NULL, zero}};
  struct ArrowArray ends = {.length = 1, .n_buffers = 2, .buffers = (const void *[]){NULL, end}};
  struct ArrowArray list = {.length = 1, .n_buffers = 2, .buffers = (const void *[]){NULL, half}, .n_children = 1, .children = (struct ArrowArray *[]){&nulls}};
  struct ArrowArray view = {.length = 1, .n_buffers = 3, .buffers = (const void *[]){NULL, zero, half + 1}, .n_children = 1, .children = (struct ArrowArray *[]){&nulls}};
  struct ArrowArray runs = {.length = 20000, .n_children = 2, .children = (struct ArrowArray *[]){&ends, &one}};
  check_too_many("a: list<null>", &list, "list values");
  check_too_many("a: list_view<null>", &view, "list values");
  check_too_many("a: run_end_encoded<int16, int32>", &runs, "run ends");
}

struct values {
  const struct csf_field *field;
  struct ArrowArray array;
};

static enum colshuf_status grow_again(void *ctx) {
  struct colshuf_error err;
  const struct values *values = ctx;
  struct ArrowArray all;
  struct csf_growth *growth;
  CSF_TRY(csf_growth_new(values->field, &test_heap, &growth, &err));
  enum colshuf_status status = COLSHUF_OK;
  for (int i = 0; i < 2 && status == COLSHUF_OK; i++) {
    status = csf_growth_append(growth, values->field, &values->array, &err);
    if (status == COLSHUF_OK) status = csf_growth_show(growth, values->field, &all, &err);
    if (status == COLSHUF_OK) all.release(&all);
  }
  csf_growth_free(growth);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct csf_schema *schema = test_schema("a: utf8_view, b: struct<x: list<item: utf8>, y: bool>, c: dense_union<0: int32, 1: utf8>");
  struct test_random random = {5};
  struct test_array_options options = {.rows = 20, .null_percent = 20, .max_text = 40};
  for (int32_t i = 0; i < schema->root.n_children; i++) {
    struct values values = {.field = &schema->root.children[i]};
    test_random_array(&random, values.field, &options, &values.array);
    CHECK(test_oom_sweep(grow_again, &values) > 10);
    values.array.release(&values.array);
  }
  csf_schema_release(schema);
}

/* --- through messages --- */

/* An allocator that adds up what it is asked for: every byte that is copied anew is asked for first. */
struct asked {
  uint64_t bytes;
};
static void *count_asked(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  ((struct asked *)ctx)->bytes += new_size > old_size ? new_size : 0;
  return test_heap.resize(test_heap.ctx, pointer, old_size, new_size);
}

/* A delta (or first values) of one text, or of n texts. */
static void append_texts(struct csf_buffer *out, bool is_delta, int32_t n) {
  int32_t *body = calloc((size_t)(2 * n + 2), 8);
  for (int32_t i = 0; i <= n; i++) body[i] = 4 * i;
  size_t offsets_size = csf_round_up(4 * (size_t)(n + 1), 8);
  memset((uint8_t *)body + offsets_size, 'x', 4 * (size_t)n);
  const int64_t nodes[][2] = {{n, 0}}, buffers[][2] = {{0, 0}, {0, 4 * (n + 1)}, {(int64_t)offsets_size, 4 * n}};
  test_message_append(out, &(struct test_message){.is_dictionary = true, .is_delta = is_delta, .length = n, .nodes = nodes, .n_nodes = 1,
                                                  .buffers = buffers, .n_buffers = 3, .body = body, .body_size = offsets_size + 4 * (size_t)n});
  free(body);
}

static void append_index(struct csf_buffer *out, int32_t index) {
  int32_t body[2] = {index, 0};
  test_message_append(out, &(struct test_message){.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 4}), TEST_BODY(body)});
}

/* What reading a stream of dictionaries and batches gives. The last batch is *out, where it was read to the end. */
struct outcome {
  enum colshuf_status status;
  char message[1008];
  uint64_t asked;
  int64_t n_values; /* of the last batch's dictionary */
};

static enum colshuf_status read_messages(struct csf_batch_plan *plan, struct csf_dictionaries *dictionaries, struct csf_cursor cursor,
                                         const uint8_t *start, const struct csf_batch_read_options *options, struct outcome *out,
                                         struct colshuf_error *err) {
  for (;;) {
    struct csf_message message;
    struct ArrowArray batch;
    bool end_marker;
    CSF_TRY(csf_message_take(&cursor, start, options->limits, &message, &end_marker, err));
    if (message.kind == CSF_MESSAGE_END) return COLSHUF_OK;
    if (message.kind == CSF_MESSAGE_DICTIONARY) {
      CSF_TRY(csf_dictionary_read(plan, &message, options, dictionaries, err));
      continue;
    }
    CSF_TRY(csf_batch_read(plan, &message, dictionaries, options, &batch, NULL, err));
    out->n_values = batch.children[0]->dictionary->length;
    batch.release(&batch);
  }
}

static struct outcome read_stream(const char *type, const struct csf_buffer *stream, struct colshuf_limits limits) {
  struct colshuf_error err = {.message = ""};
  struct outcome outcome = {.status = COLSHUF_OK};
  struct asked asked = {0};
  struct csf_schema *schema = test_schema(type);
  struct csf_batch_plan *plan;
  struct csf_dictionaries *dictionaries;
  csf_schema_number_dictionaries(schema);
  REQUIRE_OK(csf_batch_plan_new(schema, &test_heap, &plan, &err));
  REQUIRE_OK(csf_dictionaries_new(plan, &test_heap, &dictionaries, &err));
  struct csf_batch_read_options options = {.allocator = {count_asked, &asked}, .limits = &limits, .copy = true};
  outcome.status = read_messages(plan, dictionaries, (struct csf_cursor){stream->data, stream->size}, stream->data, &options, &outcome, &err);
  snprintf(outcome.message, sizeof outcome.message, "%s", err.message);
  outcome.asked = asked.bytes;
  csf_dictionaries_free(dictionaries);
  csf_batch_plan_free(plan);
  csf_schema_release(schema);
  return outcome;
}

enum { MANY = 20000 };
static const char *const text_type = "a: dictionary<int32, utf8>";

/* Copied anew for each, 20,000 texts would be 1.6 GB; what a message takes is some 2 KB. */
static void many_deltas_cost_what_they_bring(void) {
  for (int with_batches = 0; with_batches < 2; with_batches++) {
    struct csf_buffer stream = test_buffer();
    for (int i = 0; i < MANY; i++) {
      append_texts(&stream, i > 0, 1);
      if (with_batches) append_index(&stream, i);
    }
    append_index(&stream, MANY - 1);
    test_end_append(&stream);
    struct outcome outcome = read_stream(text_type, &stream, (struct colshuf_limits){0});
    CHECK_INT(outcome.status, COLSHUF_OK);
    CHECK_INT(outcome.n_values, MANY);
    CHECK(outcome.asked < (UINT64_C(4) << 10) * MANY);
    csf_buffer_clear(&stream);
  }
}

/* A large dictionary and small deltas, each with a batch: the large one is not copied again and again. */
static void a_large_dictionary_is_not_copied_for_every_delta(void) {
  struct csf_buffer stream = test_buffer();
  append_texts(&stream, false, 1 << 20);
  for (int i = 0; i < 500; i++) {
    append_texts(&stream, true, 1);
    append_index(&stream, (1 << 20) + i);
  }
  test_end_append(&stream);
  struct outcome outcome = read_stream(text_type, &stream, (struct colshuf_limits){0});
  CHECK_INT(outcome.status, COLSHUF_OK);
  CHECK_INT(outcome.n_values, (1 << 20) + 500);
  CHECK(outcome.asked < UINT64_C(64) << 20); /* 8 MiB: as read, as gathered, as grown and grown once more; not 500 times */
  csf_buffer_clear(&stream);
}

static void a_replacement_ends_the_growth(void) {
  struct csf_buffer stream = test_buffer();
  append_texts(&stream, false, 3);
  append_texts(&stream, true, 2);
  append_texts(&stream, false, 2);
  append_index(&stream, 1);
  test_end_append(&stream);
  CHECK_INT(read_stream(text_type, &stream, (struct colshuf_limits){0}).n_values, 2);
  csf_buffer_clear(&stream);
  append_texts(&stream, false, 3);
  append_texts(&stream, true, 2);
  append_texts(&stream, false, 2);
  append_texts(&stream, true, 2);
  append_index(&stream, 4);
  test_end_append(&stream);
  struct outcome outcome = read_stream(text_type, &stream, (struct colshuf_limits){0});
  CHECK_INT(outcome.status, COLSHUF_CORRUPT);
  CHECK_CONTAINS(outcome.message, "index 4 into a dictionary of 4 values");
  csf_buffer_clear(&stream);
}

static void deltas_count_against_the_limit_of_dictionaries(void) {
  struct csf_buffer stream = test_buffer();
  for (int i = 0; i < 1000; i++) append_texts(&stream, i > 0, 1); /* 16 bytes of body each */
  test_end_append(&stream);
  CHECK_INT(read_stream(text_type, &stream, (struct colshuf_limits){.max_dictionary_size = 16000}).status, COLSHUF_OK);
  struct outcome outcome = read_stream(text_type, &stream, (struct colshuf_limits){.max_dictionary_size = 15999});
  CHECK_INT(outcome.status, COLSHUF_LIMIT);
  CHECK_CONTAINS(outcome.message, "dictionary of id 0: dictionaries of 16000 bytes, the limit is 15999");
  csf_buffer_clear(&stream);
}

/* Values that are indices into another dictionary are joined by copying, a bounded number of times. */
static void deltas_that_must_be_joined_are_bounded(void) {
  const char *type = "a: dictionary<int32, struct<x: dictionary<int32, utf8>>>";
  struct csf_buffer stream = test_buffer();
  append_texts(&stream, false, 2);
  for (int i = 0; i < 40; i++) {
    const int32_t body[2] = {1, 0};
    test_message_append(&stream, &(struct test_message){.is_dictionary = true, .id = 1, .is_delta = i > 0, .length = 1, TEST_NODES({1, 0}, {1, 0}),
                                                        TEST_BUFFERS({0, 0}, {0, 0}, {0, 4}), TEST_BODY(body)});
  }
  append_index(&stream, 39);
  test_end_append(&stream);
  struct outcome outcome = read_stream(type, &stream, (struct colshuf_limits){0});
  CHECK_INT(outcome.status, COLSHUF_OK);
  CHECK_INT(outcome.n_values, 40);
  outcome = read_stream(type, &stream, (struct colshuf_limits){.max_dictionary_size = 400});
  CHECK_INT(outcome.status, COLSHUF_LIMIT);
  CHECK_CONTAINS(outcome.message, "the limit is 1600 (4 times max_dictionary_size)");
  csf_buffer_clear(&stream);
}

static const struct test_case tests[] = {
    TEST(values_of_every_type_grow_and_what_was_shown_before_stays),
    TEST(bits_and_nulls_join_inside_a_byte),
    TEST(more_than_offsets_or_run_ends_can_count_is_a_limit),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(many_deltas_cost_what_they_bring),
    TEST(a_large_dictionary_is_not_copied_for_every_delta),
    TEST(a_replacement_ends_the_growth),
    TEST(deltas_count_against_the_limit_of_dictionaries),
    TEST(deltas_that_must_be_joined_are_bounded),
};
TEST_MAIN(tests)
