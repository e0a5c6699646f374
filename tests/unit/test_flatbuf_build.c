/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/flatbuf_build.h"
#include "support/harness.h"

/* { 0: u8 = one, 1: string, 2: [i64], 3: i32 }, twice, in a vector, under a root. */
static csf_flatbuf_ref build_table(struct csf_flatbuf *b, uint8_t one, const char *text, int64_t n) {
  int64_t numbers[3] = {1, -1, n};
  csf_flatbuf_ref string = csf_flatbuf_string(b, text, strlen(text));
  csf_flatbuf_ref vector = csf_flatbuf_vector(b, numbers, 3, 8, 8);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_u8(b, 0, one, 0);
  csf_flatbuf_field_ref(b, 1, string);
  csf_flatbuf_field_ref(b, 2, vector);
  csf_flatbuf_field_i32(b, 3, 77, 77);
  return csf_flatbuf_table_end(b);
}

static enum colshuf_status build(struct csf_flatbuf *b, struct csf_span *out, struct colshuf_error *err) {
  csf_flatbuf_reset(b);
  csf_flatbuf_ref tables[2] = {build_table(b, 5, "hello", 3), build_table(b, 6, "", 4)};
  csf_flatbuf_ref vector = csf_flatbuf_vector_of_refs(b, tables, 2);
  csf_flatbuf_table_start(b);
  csf_flatbuf_field_ref(b, 0, vector);
  csf_flatbuf_field_i64(b, 1, INT64_MIN, 0);
  csf_flatbuf_field_i16(b, 2, -2, 0);
  return csf_flatbuf_finish(b, csf_flatbuf_table_end(b), out, err);
}

/* Reads by the rules of flatbuffers alone. */
static const uint8_t *vtable_of(const uint8_t *table) {
  return table - csf_load_i32(table);
}
static const uint8_t *field(const uint8_t *table, int id) {
  const uint8_t *vtable = vtable_of(table);
  if (4 + 2 * id >= csf_load_u16(vtable)) return NULL;
  uint16_t offset = csf_load_u16(vtable + 4 + 2 * id);
  return offset == 0 ? NULL : table + offset;
}
static const uint8_t *target(const uint8_t *place) {
  return place + csf_load_u32(place);
}

static void check_table(const uint8_t *start, const uint8_t *table, uint8_t one, const char *text, int64_t n) {
  CHECK_INT(*field(table, 0), one);
  const uint8_t *string = target(field(table, 1));
  CHECK_INT(csf_load_u32(string), strlen(text));
  CHECK_STRING((const char *)string + 4, text);
  const uint8_t *numbers = target(field(table, 2));
  CHECK_INT(csf_load_u32(numbers), 3);
  CHECK_INT((numbers + 4 - start) % 8, 0);
  CHECK_INT(csf_load_i64(numbers + 12), -1);
  CHECK_INT(csf_load_i64(numbers + 20), n);
  CHECK(field(table, 3) == NULL);
}

static void what_was_built_is_read_back(void) {
  struct colshuf_error err;
  struct csf_flatbuf b;
  struct csf_span out;
  csf_flatbuf_init(&b, &test_heap);
  REQUIRE_OK(build(&b, &out, &err));
  const uint8_t *root = target(out.data);
  CHECK_INT(csf_load_i64(field(root, 1)), INT64_MIN);
  CHECK_INT((field(root, 1) - out.data) % 8, 0);
  CHECK_INT((int16_t)csf_load_u16(field(root, 2)), -2);
  const uint8_t *tables = target(field(root, 0));
  CHECK_INT(csf_load_u32(tables), 2);
  check_table(out.data, target(tables + 4), 5, "hello", 3);
  check_table(out.data, target(tables + 8), 6, "", 4);
  csf_flatbuf_clear(&b);
}

static void equal_vtables_are_written_once(void) {
  struct colshuf_error err;
  struct csf_flatbuf b;
  struct csf_span out;
  csf_flatbuf_init(&b, &test_heap);
  REQUIRE_OK(build(&b, &out, &err));
  const uint8_t *root = target(out.data), *tables = target(field(root, 0));
  CHECK(vtable_of(target(tables + 4)) == vtable_of(target(tables + 8)));
  CHECK(vtable_of(target(tables + 4)) != vtable_of(root));
  csf_flatbuf_clear(&b);
}

static void a_builder_is_used_again_without_allocating(void) {
  struct colshuf_error err;
  struct csf_flatbuf b;
  struct csf_span out;
  uint8_t first[512];
  csf_flatbuf_init(&b, &test_heap);
  REQUIRE_OK(build(&b, &out, &err));
  REQUIRE(out.size < sizeof first);
  memcpy(first, out.data, out.size);
  size_t size = out.size;
  uint64_t calls = test_heap_calls();
  for (int i = 0; i < 100; i++) REQUIRE_OK(build(&b, &out, &err));
  CHECK_INT(test_heap_calls(), calls);
  CHECK(out.size == size && memcmp(out.data, first, size) == 0);
  csf_flatbuf_clear(&b);
}

static enum colshuf_status build_much(void *ctx) {
  (void)ctx;
  struct csf_flatbuf b;
  struct csf_span out;
  csf_flatbuf_init(&b, &test_heap);
  for (int i = 0; i < 500; i++) build_table(&b, (uint8_t)i, "many strings need room", i);
  enum colshuf_status status = csf_flatbuf_finish(&b, build_table(&b, 1, "", 0), &out, NULL);
  csf_flatbuf_clear(&b);
  return status;
}

static void content_survives_growth(void) {
  struct colshuf_error err;
  struct csf_flatbuf b;
  struct csf_span out;
  csf_flatbuf_init(&b, &test_heap);
  csf_flatbuf_ref refs[200];
  for (uint32_t i = 0; i < 200; i++) refs[i] = build_table(&b, (uint8_t)(i + 1), "growing", i);
  csf_flatbuf_ref vector = csf_flatbuf_vector_of_refs(&b, refs, 200);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_ref(&b, 0, vector);
  REQUIRE_OK(csf_flatbuf_finish(&b, csf_flatbuf_table_end(&b), &out, &err));
  const uint8_t *tables = target(field(target(out.data), 0));
  for (uint32_t i = 0; i < 200; i++) check_table(out.data, target(tables + 4 + 4 * i), (uint8_t)(i + 1), "growing", i);
  csf_flatbuf_clear(&b);
}

static void refused_memory_is_reported_at_the_end(void) {
  CHECK(test_oom_sweep(build_much, NULL) > 2);
}

static const struct test_case tests[] = {
    TEST(what_was_built_is_read_back),
    TEST(equal_vtables_are_written_once),
    TEST(a_builder_is_used_again_without_allocating),
    TEST(content_survives_growth),
    TEST(refused_memory_is_reported_at_the_end),
};
TEST_MAIN(tests)
