/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas met last: when one is found again, and when it must not be. */
#include "block/schema_cache.h"
#include "support/decoding.h"
#include "support/messages.h"

static const char *const schemas[] = {"a: int32, b: utf8", "a: int32, b: binary", "z: map<utf8, int64>", "a: list<struct<x: int8>>",
                                      "a: dictionary<int8, utf8>"};

static struct csf_buffer message_of(const char *schema) {
  struct csf_buffer message = test_buffer();
  test_schema_append(&message, schema);
  return message;
}

static enum colshuf_status take(struct csf_schema_cache *cache, const struct csf_buffer *message, struct csf_cached_schema **out) {
  struct csf_cursor cursor = {message->data, message->size};
  return csf_schema_cache_take(cache, &cursor, message->data, NULL, NULL, out, NULL);
}

static void four_schemas_in_turn_are_parsed_once_each_and_a_fifth_pushes_one_out(void) {
  struct csf_schema_cache cache = {.allocator = test_heap};
  struct csf_buffer messages[5];
  struct csf_cached_schema *entry;
  for (int i = 0; i < 5; i++) messages[i] = message_of(schemas[i]);
  for (int round = 0; round < 1000; round++) {
    REQUIRE(take(&cache, &messages[round % 4], &entry) == COLSHUF_OK);
    CHECK_INT(entry->schema->root.n_children, round % 4 < 2 ? 2 : 1);
  }
  CHECK_INT(cache.n_parsed, 4);
  REQUIRE(take(&cache, &messages[4], &entry) == COLSHUF_OK); /* in place of schema 0, which was met longest ago */
  for (int i = 1; i < 5; i++) REQUIRE(take(&cache, &messages[i], &entry) == COLSHUF_OK);
  CHECK_INT(cache.n_parsed, 5);
  REQUIRE(take(&cache, &messages[0], &entry) == COLSHUF_OK);
  CHECK_INT(cache.n_parsed, 6);
  for (int i = 0; i < 5; i++) csf_buffer_clear(&messages[i]);
  csf_schema_cache_clear(&cache);
}

/* Whatever byte differs, the message is looked at anew. */
static void a_schema_is_found_again_by_all_of_its_bytes_only(void) {
  struct csf_buffer message = message_of(schemas[0]);
  struct csf_cached_schema *entry;
  for (size_t place = 0; place < message.size; place++) {
    struct csf_schema_cache cache = {.allocator = test_heap};
    REQUIRE(take(&cache, &message, &entry) == COLSHUF_OK);
    message.data[place] ^= 1;
    uint64_t before = cache.n_parsed;
    if (take(&cache, &message, &entry) == COLSHUF_OK) CHECK_INT(cache.n_parsed, before + 1);
    message.data[place] ^= 1;
    csf_schema_cache_clear(&cache);
  }
  csf_buffer_clear(&message);
}

static const struct test_case tests[] = {
    TEST(four_schemas_in_turn_are_parsed_once_each_and_a_fifth_pushes_one_out),
    TEST(a_schema_is_found_again_by_all_of_its_bytes_only),
};
TEST_MAIN(tests)
