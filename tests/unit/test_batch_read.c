/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/batch_read.h"

#include "ipc/batch_write.h"
#include "ipc/schema_message.h"
#include "support/messages.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

/* How a stream is read in these tests. */
struct how {
  enum colshuf_trust trust;
  bool copy;
  bool lengths;
  struct colshuf_limits limits;
};

/*
 * Reads a whole stream from memory: the last batch becomes *out (with its schema, both the caller's). Everything that is not handed out
 * is released.
 */
static enum colshuf_status read_stream(struct csf_span stream, const struct how *how, struct csf_schema **schema, struct ArrowArray *out,
                                       struct colshuf_error *err);

struct reading {
  const struct how *how;
  struct csf_cursor cursor;
  const uint8_t *start;
  struct csf_schema *schema;
  struct csf_batch_plan *plan;
  struct csf_dictionaries *dictionaries;
  struct csf_codec *codec;
  struct ArrowArray batch;
};

static enum colshuf_status read_first(struct reading *r, struct colshuf_error *err) {
  struct csf_message message;
  bool end_marker;
  CSF_TRY(csf_message_take(&r->cursor, r->start, &r->how->limits, &message, &end_marker, err));
  if (message.kind != CSF_MESSAGE_SCHEMA) return csf_fail(err, COLSHUF_CORRUPT, "no schema");
  CSF_TRY(csf_schema_message_read(message.metadata, &test_heap, &r->how->limits, &r->schema, err));
  CSF_TRY(csf_codec_new(&test_heap, &r->codec, err));
  CSF_TRY(csf_batch_plan_new(r->schema, &test_heap, &r->plan, err));
  return csf_dictionaries_new(r->plan, &test_heap, &r->dictionaries, err);
}

static enum colshuf_status read_rest(struct reading *r, struct colshuf_error *err) {
  struct csf_batch_read_options options = {.allocator = test_heap, .trust = r->how->trust, .limits = &r->how->limits, .codec = r->codec,
                                           .copy = r->how->copy, .offsets_as_lengths = r->how->lengths};
  for (;;) {
    struct csf_message message;
    bool end_marker;
    CSF_TRY(csf_message_take(&r->cursor, r->start, &r->how->limits, &message, &end_marker, err));
    if (message.kind == CSF_MESSAGE_END) return COLSHUF_OK;
    if (message.kind == CSF_MESSAGE_DICTIONARY) {
      CSF_TRY(csf_dictionary_read(r->plan, &message, &options, r->dictionaries, err));
      continue;
    }
    if (r->batch.release != NULL) r->batch.release(&r->batch);
    CSF_TRY(csf_batch_read(r->plan, &message, r->dictionaries, &options, &r->batch, NULL, err));
  }
}

static enum colshuf_status read_stream(struct csf_span stream, const struct how *how, struct csf_schema **schema, struct ArrowArray *out,
                                       struct colshuf_error *err) {
  struct reading r = {.how = how, .cursor = {stream.data, stream.size}, .start = stream.data};
  enum colshuf_status status = read_first(&r, err);
  if (status == COLSHUF_OK) status = read_rest(&r, err);
  csf_dictionaries_free(r.dictionaries); /* before the batch: it must not need them any more */
  csf_batch_plan_free(r.plan);
  csf_codec_free(r.codec);
  if (status != COLSHUF_OK) {
    if (r.batch.release != NULL) r.batch.release(&r.batch);
    csf_schema_release(r.schema);
    return status;
  }
  *schema = r.schema;
  *out = r.batch;
  return COLSHUF_OK;
}

/* Whether a stream of this schema and these messages is read, and to which rows of the first column. NULL = refused. */
static void check_messages(int line, const char *schema_text, const struct test_message *messages, size_t n, const struct how *how,
                           const char *values, enum colshuf_status status, const char *reason) {
  struct colshuf_error err = {.message = ""};
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, schema_text);
  for (size_t i = 0; i < n; i++) test_message_append(&stream, &messages[i]);
  test_end_append(&stream);
  struct csf_schema *schema;
  struct ArrowArray batch;
  enum colshuf_status found = read_stream((struct csf_span){stream.data, stream.size}, how, &schema, &batch, &err);
  if (found != status) {
    test_fail(__FILE__, line, "%s: %s (%s), wanted %s", schema_text, colshuf_status_name(found), err.message, colshuf_status_name(status));
  }
  if (found == COLSHUF_OK) {
    if (n > 0) CHECK_INT(batch.length, messages[n - 1].length);
    if (values != NULL && batch.n_children > 0) test_check_text(__FILE__, line, &schema->root.children[0], batch.children[0], values);
    batch.release(&batch);
    csf_schema_release(schema);
  } else if (reason != NULL) {
    CHECK_CONTAINS(err.message, reason);
  }
  csf_buffer_clear(&stream);
}

static const struct how untrusted = {.copy = true};
static const struct how trusted = {.copy = true, .trust = COLSHUF_TRUSTED_LOCAL};

#define READS(schema, values, ...)                                                                                              \
  check_messages(__LINE__, schema, (const struct test_message[]){__VA_ARGS__}, sizeof(const struct test_message[]){__VA_ARGS__} / \
                 sizeof(struct test_message), &untrusted, values, COLSHUF_OK, NULL)
#define REFUSES(schema, reason, ...)                                                                                            \
  check_messages(__LINE__, schema, (const struct test_message[]){__VA_ARGS__}, sizeof(const struct test_message[]){__VA_ARGS__} / \
                 sizeof(struct test_message), &untrusted, NULL, COLSHUF_CORRUPT, reason)
/* Refused in both levels of trust: memory safety depends on it. */
#define REFUSES_ALWAYS(schema, reason, ...)                                                                                     \
  do {                                                                                                                          \
    const struct test_message refused[] = {__VA_ARGS__};                                                                        \
    size_t n_refused = sizeof refused / sizeof refused[0];                                                                      \
    check_messages(__LINE__, schema, refused, n_refused, &untrusted, NULL, COLSHUF_CORRUPT, reason);                            \
    check_messages(__LINE__, schema, refused, n_refused, &trusted, NULL, COLSHUF_CORRUPT, reason);                              \
  } while (0)

static const int32_t three_ints[] = {7, 8, 9, 0};

static void a_column_of_ints_is_read(void) {
  READS("a: int32", "7 8 9", {.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
}

static void G20_counts_must_be_those_of_the_schema(void) {
  const char *schema = "a: int32";
  REFUSES_ALWAYS(schema, "no field node", {.length = 3, TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
  REFUSES_ALWAYS(schema, "buffer 1 is missing", {.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}), TEST_BODY(three_ints)});
  REFUSES_ALWAYS(schema, "left over", {.length = 3, TEST_NODES({3, 0}, {3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
  REFUSES_ALWAYS(schema, "left over",
                 {.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}, {0, 0}), TEST_BODY(three_ints)});
  REFUSES_ALWAYS(schema, "left over",
                 {.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_VARIADIC(0), TEST_BODY(three_ints)});
  REFUSES_ALWAYS(schema, "batch of 4 rows", {.length = 4, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
  REFUSES_ALWAYS("", "left over", {.length = 3, TEST_NODES({3, 0})});
  READS("", "", {.length = 100});
}

static void G20_nodes_must_make_sense(void) {
  const char *schema = "a: int32";
  const int64_t bad[][2] = {{-1, 0}, {3, -1}, {3, 4}, {INT64_MIN, 0}, {3, INT64_MAX}, {-3, -3}};
  for (size_t i = 0; i < 6; i++) {
    REFUSES_ALWAYS(schema, "field node", {.length = 3, .nodes = &bad[i], .n_nodes = 1, TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
  }
  REFUSES_ALWAYS(schema, "-3 rows", {.length = -3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)});
}

static void G20_buffers_must_lie_within_the_body(void) {
  const int64_t bad[][2] = {{8, 12}, {-8, 12}, {0, -12}, {0, 17}, {16, 12}, {INT64_MAX, 12}, {INT64_MAX, INT64_MAX}, {24, 1}};
  for (size_t i = 0; i < 8; i++) {
    const int64_t buffers[][2] = {{0, 0}, {bad[i][0], bad[i][1]}};
    REFUSES_ALWAYS("a: int32", "outside of the body",
                   {.length = 3, TEST_NODES({3, 0}), .buffers = buffers, .n_buffers = 2, TEST_BODY(three_ints)});
  }
  /* An empty buffer has no place; a larger one than needed is fine. */
  READS("a: int32", "7 8 9", {.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({-99, 0}, {0, 16}), TEST_BODY(three_ints)});
}

static void many_rows_over_a_few_bytes_are_refused(void) {
  REFUSES_ALWAYS("a: int64", "16 bytes, needs 8388608",
                 {.length = 1 << 20, TEST_NODES({1 << 20, 0}), TEST_BUFFERS({0, 0}, {0, 16}), TEST_BODY(three_ints)});
}

/* Whether or not the number is above the limit of rows: what the columns do not have is damage. */
static void rows_that_the_columns_do_not_have_are_damage_and_no_question_of_limits(void) {
  const int64_t counts[] = {INT64_C(1) << 30, INT64_C(1) << 32 | 3, INT64_C(1) << 62 | 3, INT64_MAX - 1, INT64_MAX};
  const char *types[] = {"a: int32", "a: bool", "a: utf8", "a: dictionary<int32, utf8>", "a: struct<x: int32>", "a: list<item: int32>",
                         "a: fixed_size_list<item: int32, 1>", "a: run_end_encoded<int32, int32>", "a: null, b: int32"};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    for (size_t i = 0; i < 5; i++) {
      bool all = t == 2 || t == 5;
      const int64_t nodes[][2] = {{counts[i], 0}, {t >= 4 && t != 8 ? 3 : counts[i], 0}, {3, 0}};
      const int64_t buffers[][2] = {{0, 0}, {0, 12}, {0, all ? 12 : 0}, {0, 12}};
      struct test_message message = {.length = counts[i], .nodes = nodes, .n_nodes = t < 4 ? 1 : t == 7 ? 3 : 2, .buffers = buffers,
                                     .n_buffers = t == 2 || t == 4 ? 3 : t == 5 || t == 7 ? 4 : t == 6 ? 3 : 2, TEST_BODY(three_ints)};
      struct test_message dictionary = {.is_dictionary = true, .length = 0, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {0, 0})};
      struct test_message both[] = {dictionary, message};
      for (int trust = 0; trust < 2; trust++) {
        check_messages(__LINE__, types[t], t == 3 ? both : &message, t == 3 ? 2 : 1, trust == 0 ? &untrusted : &trusted, NULL, COLSHUF_CORRUPT, NULL);
      }
    }
  }
  /* The columns are right, the batch is not. */
  check_messages(__LINE__, "a: int32", &(struct test_message){.length = INT64_C(1) << 40, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), TEST_BODY(three_ints)},
                 1, &untrusted, NULL, COLSHUF_CORRUPT, "3 values in a batch of 1099511627776 rows");
  /* Rows that are there without any bytes are as many as the limit says. */
  check_messages(__LINE__, "a: null", &(struct test_message){.length = INT64_C(1) << 40, TEST_NODES({INT64_C(1) << 40, 0})}, 1, &untrusted, NULL,
                 COLSHUF_LIMIT, "record batch of 1099511627776 rows, the limit is 2147483647");
}

static void a_bitmap_must_hold_every_row_when_there_are_nulls(void) {
  static const uint8_t body[160] = {0x05};
  READS("a: int8", NULL, {.length = 3, TEST_NODES({3, 1}), TEST_BUFFERS({0, 1}, {8, 3}), TEST_BODY(body)});
  REFUSES_ALWAYS("a: int8", "validity", {.length = 9, TEST_NODES({9, 7}), TEST_BUFFERS({0, 1}, {8, 9}), TEST_BODY(body)});
  REFUSES_ALWAYS("a: int8", NULL, {.length = 3, TEST_NODES({3, 1}), TEST_BUFFERS({0, 0}, {8, 3}), TEST_BODY(body)});
  REFUSES("a: int8", "null count", {.length = 3, TEST_NODES({3, 2}), TEST_BUFFERS({0, 1}, {8, 3}), TEST_BODY(body)});
  REFUSES("a: int8 not null", NULL, {.length = 3, TEST_NODES({3, 1}), TEST_BUFFERS({0, 1}, {8, 3}), TEST_BODY(body)});
  /* With no nulls the bitmap is not looked at, however short. */
  READS("a: int8", NULL, {.length = 90, TEST_NODES({90, 0}), TEST_BUFFERS({0, 1}, {8, 90}), TEST_BODY(body)});
  /* 518 rows need 65 bytes. */
  static const uint8_t large[640] = {0};
  REFUSES_ALWAYS("a: int8", "64 bytes, needs 65",
                 {.length = 518, TEST_NODES({518, 518}), TEST_BUFFERS({0, 64}, {72, 518}), TEST_BODY(large)});
}

struct text_body {
  int32_t offsets[8];
  char text[16];
};

#define TEXT(schema_text, check, reason, rows, valid, ...)                                                               \
  do {                                                                                                                   \
    static const struct text_body body = {{__VA_ARGS__}, "abcdef"};                                                      \
    check(schema_text, reason,                                                                                           \
          {.length = rows, TEST_NODES({rows, 0}), TEST_BUFFERS({0, 0}, {0, 4 * (rows + 1)}, {32, valid}), .body = &body, \
           .body_size = sizeof body});                                                                                   \
  } while (0)

static void offsets_must_rise_and_end_within_the_data(void) {
  TEXT("a: utf8", READS, "'abc' 'def'", 2, 6, 0, 3, 6);
  TEXT("a: utf8", READS, "'bc' ''", 2, 6, 1, 3, 3);
  TEXT("a: utf8", REFUSES_ALWAYS, NULL, 2, 6, 0, 3, 9);
  TEXT("a: utf8", REFUSES_ALWAYS, NULL, 2, 6, 0, 3, 2);
  TEXT("a: utf8", REFUSES_ALWAYS, NULL, 2, 6, -1, 3, 6);
  TEXT("a: utf8", REFUSES_ALWAYS, NULL, 3, 6, 0, 9, 6, 6);
  TEXT("a: binary", REFUSES_ALWAYS, NULL, 2, 2, 0, 1, 3);
  TEXT("a: list<int8>", REFUSES_ALWAYS, NULL, 2, 2, 0, 1, 3); /* the list's child takes the third buffer: no buffer is left */
}

static void offsets_do_not_fall_even_under_nulls(void) {
  static const struct { uint8_t valid[8]; int32_t offsets[4]; char text[8]; } body = {{0x02}, {2, 0, 2, 2}, "ab"};
  REFUSES_ALWAYS("a: utf8", NULL,
                 {.length = 3, TEST_NODES({3, 2}), TEST_BUFFERS({0, 1}, {8, 16}, {24, 2}), .body = &body, .body_size = sizeof body});
}

static void no_rows_need_no_offsets(void) {
  const char *schemas[] = {"a: utf8", "a: large_utf8"};
  for (int i = 0; i < 2; i++) READS(schemas[i], "", {.length = 0, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {0, 0})});
  READS("a: list<int8>", "", {.length = 0, TEST_NODES({0, 0}, {0, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {0, 0}, {0, 0})});
  READS("a: list_view<int8>", "", {.length = 0, TEST_NODES({0, 0}, {0, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0})});
  READS("a: utf8", "", {.length = 0, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 4}, {8, 0}), TEST_BODY(three_ints)});
}

static void the_offset_of_no_rows_leads_nowhere(void) {
  static const int64_t offsets[][2] = {{6, 0}, {-1, 0}, {INT64_MIN, 0}};
  static const char *const types[] = {"a: large_utf8", "a: large_list<int8>"};
  for (int t = 0; t < 2; t++) {
    for (int i = 0; i < 3; i++) {
      struct test_message message = {.length = 0, TEST_NODES({0, 0}, {0, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {0, 0}), TEST_BODY(offsets[i])};
      message.n_nodes = t == 0 ? 1 : 2;
      message.n_buffers = t == 0 ? 3 : 4;
      check_messages(__LINE__, types[t], &message, 1, &trusted, i == 0 ? "" : NULL, i == 0 ? COLSHUF_OK : COLSHUF_CORRUPT, i == 0 ? NULL : "no values, but offset -");
      struct colshuf_error err;
      struct csf_buffer stream = test_buffer();
      test_schema_append(&stream, types[t]);
      test_message_append(&stream, &message);
      struct csf_schema *schema;
      struct ArrowArray batch;
      if (i == 0) {
        REQUIRE_OK(read_stream((struct csf_span){stream.data, stream.size}, &untrusted, &schema, &batch, &err));
        CHECK_INT(csf_load_i64(batch.children[0]->buffers[1]), 0);
        batch.release(&batch);
        csf_schema_release(schema);
      }
      csf_buffer_clear(&stream);
    }
  }
}

static void text_must_be_utf8_in_full_validation_only(void) {
  static const struct { int32_t offsets[2]; char text[8]; } bad[] = {
      {{0, 1}, "\xff"}, {{0, 2}, "\xc0\x80"}, {{0, 3}, "\xed\xa0\x80"}, {{0, 1}, "\xc3\xa9"}};
  for (size_t i = 0; i < 4; i++) {
    const int64_t buffers[][2] = {{0, 0}, {0, 8}, {8, bad[i].offsets[1]}};
    struct test_message message = {.length = 1, TEST_NODES({1, 0}), .buffers = buffers, .n_buffers = 3, .body = &bad[i], .body_size = 16};
    check_messages(__LINE__, "a: utf8", &message, 1, &untrusted, NULL, COLSHUF_CORRUPT, "UTF-8");
    check_messages(__LINE__, "a: utf8", &message, 1, &trusted, NULL, COLSHUF_OK, NULL);
    check_messages(__LINE__, "a: binary", &message, 1, &untrusted, NULL, COLSHUF_OK, NULL);
  }
}

struct view_body {
  int32_t length;
  char prefix[4];
  int32_t buffer, offset;
  char data[24];
};

#define VIEW(check, reason, ...)                                                                                      \
  do {                                                                                                                \
    static const struct view_body body = {__VA_ARGS__, "abcdefghijklmnopqrst"};                                       \
    check("a: utf8_view", reason,                                                                                     \
          {.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}, {16, 20}), TEST_VARIADIC(1), .body = &body, \
           .body_size = sizeof body});                                                                                \
  } while (0)

static void views_must_point_into_buffers_that_are_there(void) {
  VIEW(READS, "'abcdefghijklmnopqrst'", 20, {'a', 'b', 'c', 'd'}, 0, 0);
  VIEW(READS, "'bcdefghijklmnopqr'", 17, {'b', 'c', 'd', 'e'}, 0, 1);
  VIEW(REFUSES_ALWAYS, NULL, 20, {'a', 'b', 'c', 'd'}, 5, 0);
  VIEW(REFUSES_ALWAYS, NULL, 20, {'a', 'b', 'c', 'd'}, -1, 0);
  VIEW(REFUSES_ALWAYS, NULL, 20, {'a', 'b', 'c', 'd'}, 0, INT32_MAX);
  VIEW(REFUSES_ALWAYS, NULL, 20, {'a', 'b', 'c', 'd'}, 0, 1);
  VIEW(REFUSES_ALWAYS, NULL, 20, {'a', 'b', 'c', 'd'}, 0, -1);
  VIEW(REFUSES_ALWAYS, NULL, -1, {'a', 'b', 'c', 'd'}, 0, 0);
  VIEW(REFUSES, NULL, 20, {'x', 'b', 'c', 'd'}, 0, 0);
  VIEW(REFUSES, NULL, 3, {'a', 'b', 'c', 'd'}, 0, 0); /* bytes behind an inline value are not zero */
}

static void variadic_counts_must_be_there_and_right(void) {
  const int64_t bad[] = {0, 2, -1, INT32_MAX, INT64_MAX, INT64_MIN};
  static const struct view_body body = {20, {'a', 'b', 'c', 'd'}, 0, 0, "abcdefghijklmnopqrst"};
  for (size_t i = 0; i < 6; i++) {
    REFUSES_ALWAYS("a: utf8_view", NULL,
                   {.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}, {16, 20}), .variadic = &bad[i], .n_variadic = 1,
                    .body = &body, .body_size = sizeof body});
  }
  REFUSES_ALWAYS("a: utf8_view", "no variadic",
                 {.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}, {16, 20}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS("a: utf8_view", "left over",
                 {.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}, {16, 20}), TEST_VARIADIC(1, 0), .body = &body,
                  .body_size = sizeof body});
}

static void run_ends_and_unions_have_no_nulls_of_their_own(void) {
  static const struct { int32_t ends[2]; int64_t values[2]; } body = {{2, 5}, {7, 8}};
  const char *schema = "a: run_end_encoded<int32, int64>";
  READS(schema, "7 7 8 8 8", {.length = 5, TEST_NODES({5, 0}, {2, 0}, {2, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {8, 16}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS(schema, "null count 1", {.length = 5, TEST_NODES({5, 1}, {2, 0}, {2, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {8, 16}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS(schema, NULL, {.length = 6, TEST_NODES({6, 0}, {2, 0}, {2, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {8, 16}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS(schema, NULL, {.length = 5, TEST_NODES({5, 0}, {2, 0}, {1, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {8, 8}), .body = &body, .body_size = sizeof body});
}

static void the_values_of_runs_must_have_a_whole_bitmap(void) {
  static struct { int32_t ends[100]; uint8_t valid[8]; int8_t values[100]; } body;
  for (int i = 0; i < 100; i++) body.ends[i] = i + 1;
  REFUSES_ALWAYS("a: run_end_encoded<int32, int8>", "validity",
                 {.length = 100, TEST_NODES({100, 0}, {100, 0}, {100, 50}), TEST_BUFFERS({0, 0}, {0, 400}, {400, 1}, {408, 100}),
                  .body = &body, .body_size = sizeof body});
}

static void a_V4_union_brings_a_bitmap_that_is_skipped(void) {
  static const struct { uint8_t valid[8]; int8_t types[8]; int32_t ints[2]; } body = {{3}, {0, 0}, {7, 8}};
  const char *schema = "a: sparse_union<int32>";
  READS(schema, "0:7 0:8", {.length = 2, .is_v4 = true, TEST_NODES({2, 0}, {2, 0}), TEST_BUFFERS({0, 1}, {8, 2}, {0, 0}, {16, 8}), .body = &body, .body_size = sizeof body});
  READS(schema, "0:7 0:8", {.length = 2, TEST_NODES({2, 0}, {2, 0}), TEST_BUFFERS({8, 2}, {0, 0}, {16, 8}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS(schema, NULL, {.length = 2, TEST_NODES({2, 0}, {2, 0}), TEST_BUFFERS({0, 1}, {8, 2}, {0, 0}, {16, 8}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS(schema, "null count 1", {.length = 2, .is_v4 = true, TEST_NODES({2, 1}, {2, 0}), TEST_BUFFERS({0, 1}, {8, 2}, {0, 0}, {16, 8}), .body = &body, .body_size = sizeof body});
}

static void children_must_be_as_long_as_their_parents_need(void) {
  static const struct { int32_t offsets[4]; int8_t values[8]; } body = {{0, 2, 4}, {1, 2, 3, 4}};
  READS("a: list<int8>", "[1, 2] [3, 4]", {.length = 2, TEST_NODES({2, 0}, {4, 0}), TEST_BUFFERS({0, 0}, {0, 12}, {0, 0}, {16, 4}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS("a: list<int8>", NULL, {.length = 2, TEST_NODES({2, 0}, {3, 0}), TEST_BUFFERS({0, 0}, {0, 12}, {0, 0}, {16, 3}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS("a: fixed_size_list<int8, 2>", NULL, {.length = 2, TEST_NODES({2, 0}, {3, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {16, 3}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS("a: struct<x: int8>", "its parent 2", {.length = 2, TEST_NODES({2, 0}, {3, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {16, 3}), .body = &body, .body_size = sizeof body});
  REFUSES_ALWAYS("a: struct<x: int8>", "its parent 4", {.length = 4, TEST_NODES({4, 0}, {3, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {16, 3}), .body = &body, .body_size = sizeof body});
}

#define DICTIONARY(is_delta_, n, ...)                                                                          \
  {.is_dictionary = true, .is_delta = is_delta_, .length = n, TEST_NODES({n, 0}), TEST_BUFFERS({0, 0}, {0, n}), \
   .body = (const int8_t[]){__VA_ARGS__}, .body_size = n}
#define INDICES(n, ...) \
  {.length = n, TEST_NODES({n, 0}), TEST_BUFFERS({0, 0}, {0, n}), .body = (const int8_t[]){__VA_ARGS__}, .body_size = n}
static const char *const dictionary_schema = "a: dictionary<int8, int8>";

static void dictionaries_are_replaced_and_grow_by_deltas(void) {
  READS(dictionary_schema, "20 10", DICTIONARY(false, 2, 10, 20), INDICES(2, 1, 0));
  READS("a: list<dictionary<int8, int8>>", "[20, 10]", DICTIONARY(false, 2, 10, 20),
        {.length = 1, TEST_NODES({1, 0}, {2, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {0, 0}, {8, 2}), .body = "\0\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0", .body_size = 16});
  READS("a: list_view<dictionary<int8, int8>>", "[10] [20, 10]", DICTIONARY(false, 2, 10, 20),
        {.length = 2, TEST_NODES({2, 0}, {2, 0}), TEST_BUFFERS({0, 0}, {0, 8}, {8, 8}, {0, 0}, {16, 2}),
         .body = "\1\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0", .body_size = 24});
  READS(dictionary_schema, "40 30", DICTIONARY(false, 2, 10, 20), INDICES(2, 0, 1), DICTIONARY(false, 2, 30, 40), INDICES(2, 1, 0));
  READS(dictionary_schema, "30 10 40", DICTIONARY(false, 2, 10, 20), DICTIONARY(true, 1, 30), DICTIONARY(true, 1, 40), INDICES(3, 2, 0, 3));
  READS(dictionary_schema, "10 30", DICTIONARY(false, 0, 0), INDICES(0, 0), DICTIONARY(false, 3, 10, 20, 30), INDICES(2, 0, 2));
}

static void G19_dictionaries_that_are_not_there_are_refused(void) {
  REFUSES_ALWAYS(dictionary_schema, "no dictionary of id 0", INDICES(2, 0, 1));
  REFUSES_ALWAYS(dictionary_schema, "has not come yet", DICTIONARY(true, 2, 10, 20), INDICES(2, 0, 1));
  REFUSES_ALWAYS(dictionary_schema, "does not name", {.is_dictionary = true, .id = 1, .length = 0, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 0})});
  REFUSES_ALWAYS("a: int8", "does not name", DICTIONARY(false, 2, 10, 20));
  REFUSES_ALWAYS(dictionary_schema, NULL, {.is_dictionary = true, .length = 2, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 3}), .body = "abc", .body_size = 3});
}

static void indices_must_point_into_the_dictionary_where_they_are_valid(void) {
  REFUSES_ALWAYS(dictionary_schema, NULL, DICTIONARY(false, 2, 10, 20), INDICES(2, 0, 2));
  REFUSES_ALWAYS(dictionary_schema, NULL, DICTIONARY(false, 2, 10, 20), INDICES(1, -1));
  static const struct { uint8_t valid[8]; int8_t indices[8]; } under_null = {{1}, {1, 99}};
  READS(dictionary_schema, "20 null", DICTIONARY(false, 2, 10, 20),
        {.length = 2, TEST_NODES({2, 1}), TEST_BUFFERS({0, 1}, {8, 2}), .body = &under_null, .body_size = sizeof under_null});
}

static void a_batch_keeps_its_dictionary_after_it_was_replaced(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, dictionary_schema);
  struct test_message messages[] = {DICTIONARY(false, 2, 10, 20), INDICES(2, 0, 1)};
  for (int i = 0; i < 2; i++) test_message_append(&stream, &messages[i]);
  struct csf_schema *schema;
  struct ArrowArray batch;
  REQUIRE_OK(read_stream((struct csf_span){stream.data, stream.size}, &untrusted, &schema, &batch, &err)); /* the dictionaries are gone */
  struct ArrowArray column = *batch.children[0];
  batch.children[0]->release = NULL;
  batch.release(&batch);
  CHECK_VALUES(&schema->root.children[0], &column, "10 20");
  column.release(&column);
  csf_schema_release(schema);
  csf_buffer_clear(&stream);
}

static void limits_hold_for_dictionaries_and_rows(void) {
  const struct test_message messages[] = {DICTIONARY(false, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), INDICES(2, 0, 1)};
  struct how how = {.copy = true, .limits = {.max_dictionary_size = 15}};
  check_messages(__LINE__, dictionary_schema, messages, 2, &how, NULL, COLSHUF_LIMIT, "the limit is 15");
  how.limits = (struct colshuf_limits){.max_dictionary_size = 16};
  check_messages(__LINE__, dictionary_schema, messages, 2, &how, NULL, COLSHUF_OK, NULL);
  how.limits = (struct colshuf_limits){.max_rows = 1};
  check_messages(__LINE__, "a: int8", &messages[1], 1, &how, NULL, COLSHUF_LIMIT, "the limit is 1");
}

/* Body compression by hand: the LZ4 frame of 16 zero bytes, from liblz4. */
static void compressed_buffers_say_their_size(void) {
  static const struct { int64_t size; int32_t values[4]; } raw = {-1, {7, 8, 9}};
  static const struct { int64_t size; int32_t values[4]; } huge = {INT64_C(1) << 40, {7, 8, 9}}, negative = {-2, {7, 8, 9}};
  static const int64_t empty = 0;
  for (int codec = 1; codec <= 2; codec++) {
    READS("a: int32", "7 8 9", {.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 20}), .body = &raw, .body_size = sizeof raw});
    REFUSES_ALWAYS("a: int32", "announces -2", {.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 20}), .body = &negative, .body_size = sizeof negative});
    check_messages(__LINE__, "a: int32", &(struct test_message){.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 20}), .body = &huge, .body_size = sizeof huge},
                   1, &untrusted, NULL, COLSHUF_CORRUPT, "announces 1099511627776 bytes, far more than its 12 bytes can hold");
    for (int64_t size = 1; size < 8; size++) {
      const int64_t buffers[][2] = {{0, 0}, {0, size}};
      REFUSES_ALWAYS("a: int32", "no room for its 8-byte size", {.length = 3, .compression = codec, TEST_NODES({3, 0}), .buffers = buffers, .n_buffers = 2, .body = &raw, .body_size = sizeof raw});
    }
    READS("a: utf8", "", {.length = 0, .compression = codec, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 0}, {0, 8}), .body = &empty, .body_size = 8});
    READS("a: bool", "", {.length = 0, .compression = codec, TEST_NODES({0, 0}), TEST_BUFFERS({0, 0}, {0, 0})});
    REFUSES_ALWAYS("a: int32", NULL, {.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 8}), .body = &empty, .body_size = 8});
  }
  check_messages(__LINE__, "a: int32", &(struct test_message){.length = 3, .compression = 9, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 20}), .body = &raw, .body_size = sizeof raw},
                 1, &untrusted, NULL, COLSHUF_UNSUPPORTED, "codec 8");
}

static void empty_buffers_of_a_compressed_batch_may_have_a_size_or_none(void) {
  static const struct { int64_t raw; int32_t offsets[4]; int64_t nothing; } body = {-1, {0}, 0}; /* three empty strings */
  for (int codec = 1; codec <= 2; codec++) {
    READS("a: utf8", "'' '' ''", {.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 24}, {24, 0}), .body = &body, .body_size = sizeof body});
    READS("a: utf8", "'' '' ''", {.length = 3, .compression = codec, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 24}, {24, 8}), .body = &body, .body_size = sizeof body});
  }
}

/* A LZ4 frame of 64 MiB of zeros behind a size of 16, and behind one of 1 GiB. */
static void a_compressed_buffer_that_gives_more_or_less_than_announced_is_refused_early(void) {
  struct colshuf_error err;
  struct csf_codec *codec;
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  struct csf_buffer zeros = test_buffer(), body = test_buffer();
  REQUIRE_OK(csf_buffer_append_zero(&zeros, (size_t)64 << 20, &err));
  const enum colshuf_codec kinds[] = {COLSHUF_LZ4, COLSHUF_ZSTD};
  const int64_t announced[] = {16, 1 << 30, ((int64_t)64 << 20) + 1};
  for (int i = 0; i < 2; i++) {
    body.size = 8;
    REQUIRE_OK(csf_buffer_reserve(&body, 8, &err));
    REQUIRE_OK(csf_codec_compress(codec, kinds[i], 0, (struct csf_span){zeros.data, zeros.size}, &body, &err));
    for (int j = 0; j < 3; j++) {
      csf_store_i64(body.data, announced[j]);
      const int64_t buffers[][2] = {{0, 0}, {0, (int64_t)body.size}};
      test_heap_reset_peak();
      uint64_t before = test_heap_bytes();
      REFUSES_ALWAYS("a: int32", NULL, {.length = 3, .compression = i + 1, TEST_NODES({3, 0}), .buffers = buffers, .n_buffers = 2, .body = body.data, .body_size = body.size});
      CHECK(test_heap_peak() - before < (j == 0 ? UINT64_C(4) << 20 : UINT64_C(200) << 20));
    }
  }
  csf_buffer_clear(&zeros);
  csf_buffer_clear(&body);
  csf_codec_free(codec);
}

/* Writes schema and batch as a stream. */
static struct csf_buffer written(const struct csf_schema *schema, const struct ArrowArray *batch, uint32_t alignment, int compress,
                                 bool lengths) {
  struct colshuf_error err;
  struct csf_buffer stream = test_buffer();
  struct csf_batch_writer writer;
  struct csf_codec *codec;
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  csf_batch_writer_init(&writer, &test_heap);
  writer.alignment = alignment;
  writer.compress = compress;
  writer.codec = codec;
  writer.offsets_as_lengths = lengths;
  REQUIRE_OK(csf_schema_message_write(schema, alignment, &stream, &err));
  if (schema->has_dictionary) REQUIRE_OK(csf_dictionaries_write(&writer, &schema->root, batch, &stream, &err));
  REQUIRE_OK(csf_batch_write(&writer, &schema->root, batch, 0, batch->length, &stream, &err));
  test_end_append(&stream);
  csf_batch_writer_clear(&writer);
  csf_codec_free(codec);
  return stream;
}

static void check_round_trip(const struct csf_schema *schema, const struct ArrowArray *batch, const struct csf_buffer *stream,
                             size_t shift, const struct how *how) {
  struct colshuf_error err;
  uint8_t *place = csf_alloc(&test_heap, stream->size + shift);
  memcpy(place + shift, stream->data, stream->size);
  struct csf_schema *found_schema;
  struct ArrowArray found;
  enum colshuf_status status = read_stream((struct csf_span){place + shift, stream->size}, how, &found_schema, &found, &err);
  if (how->copy) memset(place, 0xdd, stream->size + shift); /* nothing of it may be needed now */
  if (status != COLSHUF_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s", colshuf_status_name(status), err.message);
  } else {
    CHECK(csf_field_equal(&schema->root, &found_schema->root, CSF_MATCH_EXACT));
    CHECK_ROWS(&schema->root, batch, 0, &found_schema->root, &found, 0, batch->length);
    CHECK_INT(csf_array_validate(&found_schema->root, &found, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_OK);
    found.release(&found);
    csf_schema_release(found_schema);
  }
  csf_free(&test_heap, place, stream->size + shift);
}

static void random_batches_of_every_type_come_back_at_any_address(void) {
  struct test_random random = {2026};
  for (int round = 0; round < 300; round++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    csf_schema_number_dictionaries(schema);
    struct test_array_options options = test_random_options(&random, 200);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &options, &batch);
    int compress = round % 3;
    struct csf_buffer stream = written(schema, &batch, round % 2 == 0 ? 8 : 64, compress, false);
    struct how how = {.copy = test_random_below(&random, 2) == 0, .trust = (enum colshuf_trust)test_random_below(&random, 2)};
    check_round_trip(schema, &batch, &stream, test_random_below(&random, 64), &how);
    csf_buffer_clear(&stream);
    batch.release(&batch);
    csf_schema_release(schema);
  }
}

static void random_batches_with_offsets_as_lengths_come_back(void) {
  struct test_random random = {77};
  uint64_t types = TEST_ALL_TYPES & ~(TEST_TYPE(CSF_BINARY_VIEW) | TEST_TYPE(CSF_UTF8_VIEW));
  for (int round = 0; round < 200; round++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.types = types, .no_dictionaries = true});
    struct test_array_options options = test_random_options(&random, 300);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &options, &batch);
    struct csf_buffer stream = written(schema, &batch, 8, 0, true);
    struct how how = {.copy = round % 2 == 0, .lengths = true, .trust = (enum colshuf_trust)(round / 2 % 2)};
    check_round_trip(schema, &batch, &stream, test_random_below(&random, 64), &how);
    csf_buffer_clear(&stream);
    batch.release(&batch);
    csf_schema_release(schema);
  }
}

/* Changes bytes of a valid stream: whatever is accepted must be readable everywhere (an address sanitizer watches). */
static void damaged_batches_are_refused_or_safe_to_read(void) {
  struct test_random random = {5};
  uint64_t accepted = 0, refused = 0;
  for (int round = 0; round < 120; round++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.plain_names = true});
    csf_schema_number_dictionaries(schema);
    struct test_array_options options = test_random_options(&random, 20);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &options, &batch);
    struct csf_buffer stream = written(schema, &batch, 8, round % 3, false);
    uint8_t *damaged = csf_alloc(&test_heap, stream.size);
    for (int change = 0; change < 40; change++) {
      memcpy(damaged, stream.data, stream.size);
      for (int i = 0; i <= change % 3; i++) damaged[test_random_below(&random, stream.size)] ^= (uint8_t)(1u << test_random_below(&random, 8));
      struct csf_schema *found_schema;
      struct ArrowArray found;
      struct how how = {.copy = change % 2 == 0, .trust = (enum colshuf_trust)(change / 2 % 2), .limits = {.max_rows = 10000}};
      bool ok = read_stream((struct csf_span){damaged, stream.size}, &how, &found_schema, &found, NULL) == COLSHUF_OK;
      *(ok ? &accepted : &refused) += 1;
      if (!ok) continue;
      (void)test_rows_hash(&found_schema->root, &found, 0, found.length);
      found.release(&found);
      csf_schema_release(found_schema);
    }
    csf_free(&test_heap, damaged, stream.size);
    csf_buffer_clear(&stream);
    batch.release(&batch);
    csf_schema_release(schema);
  }
  CHECK(accepted > 0);
  CHECK(refused > accepted / 4);
}

static enum colshuf_status read_again(void *ctx) {
  const struct csf_buffer *stream = ctx;
  struct csf_schema *schema;
  struct ArrowArray batch;
  struct how how = {.copy = false};
  CSF_TRY(read_stream((struct csf_span){stream->data + 1, stream->size - 1}, &how, &schema, &batch, NULL));
  batch.release(&batch);
  csf_schema_release(schema);
  return COLSHUF_OK;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct test_random random = {11};
  const char *texts[] = {"a: int64, b: utf8, c: list<int32>, d: utf8_view, e: dictionary<int16, utf8>",
                         "a: list<dictionary<int8, struct<x: int32, y: dictionary<int32, binary>>>>, b: dense_union<int8, utf8>"};
  for (int i = 0; i < 4; i++) {
    struct csf_schema *schema = test_schema(texts[i % 2]);
    csf_schema_number_dictionaries(schema);
    struct ArrowArray batch;
    test_random_array(&random, &schema->root, &(struct test_array_options){.rows = 20, .null_percent = 20}, &batch);
    struct csf_buffer stream = written(schema, &batch, 8, i % 3, false), shifted = test_buffer();
    test_append(&shifted, "x", 1); /* misaligned: every buffer is copied by itself */
    test_append(&shifted, stream.data, stream.size);
    CHECK(test_oom_sweep(read_again, &shifted) > 8);
    csf_buffer_clear(&stream);
    csf_buffer_clear(&shifted);
    batch.release(&batch);
    csf_schema_release(schema);
  }
}

static void fixed_size_values_of_no_bytes_keep_their_rows(void) {
  READS("a: fixed_size_binary(0)", NULL, {.length = 5, TEST_NODES({5, 0}), TEST_BUFFERS({0, 0}, {0, 0})});
  static const uint8_t valid[8] = {0x0b};
  READS("a: fixed_size_list<int32, 0>", "[] [] null []", {.length = 4, TEST_NODES({4, 1}, {0, 0}), TEST_BUFFERS({0, 1}, {0, 0}, {0, 0}), .body = valid, .body_size = 8});
  READS("a: null", "null null", {.length = 2, TEST_NODES({2, 2})});
  READS("a: null", "null null", {.length = 2, TEST_NODES({2, 0})});
}

static const struct test_case tests[] = {
    TEST(a_column_of_ints_is_read),
    TEST(G20_counts_must_be_those_of_the_schema),
    TEST(G20_nodes_must_make_sense),
    TEST(G20_buffers_must_lie_within_the_body),
    TEST(many_rows_over_a_few_bytes_are_refused),
    TEST(rows_that_the_columns_do_not_have_are_damage_and_no_question_of_limits),
    TEST(a_bitmap_must_hold_every_row_when_there_are_nulls),
    TEST(offsets_must_rise_and_end_within_the_data),
    TEST(offsets_do_not_fall_even_under_nulls),
    TEST(no_rows_need_no_offsets),
    TEST(the_offset_of_no_rows_leads_nowhere),
    TEST(text_must_be_utf8_in_full_validation_only),
    TEST(views_must_point_into_buffers_that_are_there),
    TEST(variadic_counts_must_be_there_and_right),
    TEST(run_ends_and_unions_have_no_nulls_of_their_own),
    TEST(the_values_of_runs_must_have_a_whole_bitmap),
    TEST(a_V4_union_brings_a_bitmap_that_is_skipped),
    TEST(children_must_be_as_long_as_their_parents_need),
    TEST(dictionaries_are_replaced_and_grow_by_deltas),
    TEST(G19_dictionaries_that_are_not_there_are_refused),
    TEST(indices_must_point_into_the_dictionary_where_they_are_valid),
    TEST(a_batch_keeps_its_dictionary_after_it_was_replaced),
    TEST(limits_hold_for_dictionaries_and_rows),
    TEST(compressed_buffers_say_their_size),
    TEST(empty_buffers_of_a_compressed_batch_may_have_a_size_or_none),
    TEST(a_compressed_buffer_that_gives_more_or_less_than_announced_is_refused_early),
    TEST(random_batches_of_every_type_come_back_at_any_address),
    TEST(random_batches_with_offsets_as_lengths_come_back),
    TEST(damaged_batches_are_refused_or_safe_to_read),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(fixed_size_values_of_no_bytes_keep_their_rows),
};
TEST_MAIN(tests)
