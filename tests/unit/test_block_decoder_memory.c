/* SPDX-License-Identifier: Apache-2.0 */
/* The block decoder and memory: what it keeps, lends, outlives and refuses to take. */
#include <pthread.h>

#include "base/pool.h"
#include "block/block_format.h"
#include "support/decoding.h"
#include "support/encoding.h"
#include "support/messages.h"

static const char *const wide_schema = "a: int64, b: utf8, c: decimal128(20, 2), d: list<int32>, e: bool, f: struct<x: int16, y: binary>";

static void steady_state_takes_no_memory_from_the_heap(void) {
  struct colshuf_error err;
  const char *schemas[] = {wide_schema, "a: int64, b: utf8", "z: map<int32, utf8>", "a: int64, b: binary"};
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
    struct csf_buffer blocks[4];
    for (size_t j = 0; j < 4; j++) blocks[j] = test_encoded_block(schemas[j], 300, test_codecs[i], j);
    uint64_t calls = 0, bytes = 0;
    for (int round = 0; round < 50; round++) {
      if (round == 2) {
        calls = test_heap_calls();
        bytes = test_heap_bytes();
      }
      for (size_t j = 0; j < 4; j++) { /* four schemas in turn: all stay cached */
        struct ArrowArray batch;
        size_t consumed;
        REQUIRE_OK(colshuf_block_decoder_decode(decoder, blocks[j].data, blocks[j].size, NULL, &consumed, NULL, &batch, &err));
        batch.release(&batch);
      }
    }
    CHECK_INT(test_heap_calls(), calls);
    CHECK_INT(test_heap_bytes(), bytes);
    for (size_t j = 0; j < 4; j++) csf_buffer_clear(&blocks[j]);
    colshuf_block_decoder_free(decoder);
  }
}

static void kept_memory_stays_within_the_pools_size(void) {
  struct colshuf_error err;
  struct csf_buffer block = test_encoded_block(wide_schema, 3000, COLSHUF_LZ4, 1);
  const uint64_t sizes[] = {UINT64_MAX, 1, 100000, 0};
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_block_decoder_options options = {.allocator = test_heap, .pool_size = sizes[i]};
    struct colshuf_block_decoder *decoder;
    REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
    struct ArrowArray batches[8];
    size_t consumed;
    for (int j = 0; j < 8; j++) REQUIRE_OK(colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, NULL, &batches[j], &err));
    uint64_t held = test_heap_bytes();
    for (int j = 0; j < 8; j++) batches[j].release(&batches[j]);
    uint64_t freed = held - test_heap_bytes();
    if (sizes[i] == 0) CHECK_INT(freed, 0);
    else CHECK(freed > 200000);
    colshuf_block_decoder_free(decoder);
  }
  csf_buffer_clear(&block);
}

static void *release_elsewhere(void *ctx) {
  struct ArrowArray *batches = ctx;
  for (int i = 0; i < 64; i++) batches[i].release(&batches[i]);
  return NULL;
}

static void batches_outlive_the_decoder_and_are_released_on_any_thread(void) {
  struct colshuf_error err;
  for (size_t i = 0; i < 4; i++) {
    struct csf_buffer block = test_encoded_block(wide_schema, 100, test_codecs[i], 2);
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_TRUSTED_LOCAL);
    struct ArrowArray batches[2][64];
    size_t consumed;
    pthread_t threads[2];
    for (int t = 0; t < 2; t++) {
      for (int j = 0; j < 64; j++) {
        REQUIRE_OK(colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, NULL, &batches[t][j], &err));
      }
      REQUIRE(pthread_create(&threads[t], NULL, release_elsewhere, batches[t]) == 0); /* while the next ones are decoded */
    }
    colshuf_block_decoder_free(decoder);
    for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    csf_buffer_clear(&block);
  }
}

static int owner_count;
static void retain_owner(void *ctx) {
  *(int *)ctx += 1;
}

static void release_owner(void *ctx) {
  *(int *)ctx -= 1;
}

static bool points_into(const struct ArrowArray *array, const uint8_t *data, size_t size) {
  bool inside = false;
  for (int64_t i = 0; i < array->n_buffers; i++) {
    const uint8_t *place = array->buffers[i];
    inside |= place >= data && place < data + size;
  }
  for (int64_t i = 0; i < array->n_children; i++) inside |= points_into(array->children[i], data, size);
  return inside;
}

static void an_aligned_block_without_compression_is_not_copied_where_its_bytes_have_an_owner(void) {
  struct colshuf_error err;
  struct csf_buffer block = test_golden_block(COLSHUF_NONE), compressed = test_golden_block(COLSHUF_LZ4);
  struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
  struct colshuf_bytes_owner owner = {retain_owner, release_owner, &owner_count};
  struct csf_schema *schema = test_schema("id: int32 not null, name: utf8");
  uint8_t *memory = csf_alloc(&test_heap, 1024);
  for (size_t shift = 0; shift < 64; shift++) {
    memcpy(memory + shift, block.data, block.size);
    struct ArrowArray batch;
    size_t consumed;
    owner_count = 0;
    REQUIRE_OK(colshuf_block_decoder_decode(decoder, memory + shift, block.size, &owner, &consumed, NULL, &batch, &err));
    bool borrowed = (shift + COLSHUF_BLOCK_HEADER_SIZE) % 8 == 0;
    CHECK_INT(owner_count, borrowed);
    CHECK_INT(points_into(&batch, memory, 1024), borrowed);
    CHECK_VALUES(&schema->root, &batch, TEST_T1_ROWS);
    CHECK_INT((uintptr_t)batch.children[0]->buffers[1] % 4, 0);
    batch.release(&batch);
    CHECK_INT(owner_count, 0);
    REQUIRE_OK(colshuf_block_decoder_decode(decoder, memory + shift, block.size, NULL, &consumed, NULL, &batch, &err));
    CHECK(!points_into(&batch, memory, 1024));
    batch.release(&batch);
  }
  struct ArrowArray batch;
  size_t consumed;
  REQUIRE_OK(colshuf_block_decoder_decode(decoder, compressed.data, compressed.size, &owner, &consumed, NULL, &batch, &err));
  CHECK_INT(owner_count, 0);
  batch.release(&batch);
  csf_free(&test_heap, memory, 1024);
  csf_schema_release(schema);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
  csf_buffer_clear(&compressed);
}

static void a_view_lasts_until_the_next_call(void) {
  struct colshuf_error err;
  struct csf_schema *schema = test_schema("id: int32 not null, name: utf8");
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_block_decoder *decoder = test_decoder(COLSHUF_UNTRUSTED);
    struct csf_buffer block = test_golden_block(test_codecs[i]);
    uint64_t calls = 0;
    for (int round = 0; round < 10; round++) {
      if (round == 2) calls = test_heap_calls();
      struct ArrowArray batch;
      size_t consumed;
      REQUIRE_OK(colshuf_block_decoder_view(decoder, block.data, block.size, &consumed, &batch, &err));
      CHECK_INT(consumed, block.size);
      if (round < 2) CHECK_VALUES(&schema->root, &batch, TEST_T1_ROWS);
      if (round % 2 == 0) batch.release(&batch);
    }
    CHECK_INT(test_heap_calls(), calls);
    csf_buffer_clear(&block);
    colshuf_block_decoder_free(decoder);
  }
  csf_schema_release(schema);
}

/* Codec streams of n times the same zeros, far larger than the limit. */
static struct csf_buffer bomb(enum colshuf_codec kind) {
  struct csf_buffer block = test_buffer(), zeros = test_buffer();
  struct colshuf_error err;
  REQUIRE_OK(csf_buffer_append_zero(&zeros, (size_t)4 << 20, &err));
  struct csf_buffer one = test_block_of(kind, 2, zeros.data, zeros.size, false);
  size_t from = COLSHUF_BLOCK_HEADER_SIZE, to = one.size;
  if (kind == COLSHUF_LZ4) { /* one frame of many blocks: its header without content size, then the blocks */
    struct csf_buffer head = test_hex("04224d18 60 70 73");
    from = COLSHUF_BLOCK_HEADER_SIZE + ((one.data[COLSHUF_BLOCK_HEADER_SIZE + 4] & 8) ? 15 : 7);
    to = one.size - 4;
    REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
    test_append(&block, head.data, head.size);
    csf_buffer_clear(&head);
  } else {
    test_append(&block, one.data, one.size);
  }
  for (int i = 0; i < 255; i++) test_append(&block, one.data + from, to - from);
  if (kind == COLSHUF_LZ4) test_append(&block, "\0\0\0\0", 4);
  csf_block_header_write(block.data, block.size, 2, kind, false);
  csf_buffer_clear(&one);
  csf_buffer_clear(&zeros);
  return block;
}

static void a_bomb_is_refused_within_the_limit_and_in_little_memory(void) {
  struct colshuf_error err;
  for (size_t i = 0; i < 4; i++) {
    if (test_codecs[i] == COLSHUF_NONE) continue;
    struct csf_buffer block = test_codecs[i] == COLSHUF_SNAPPY ? test_block_of(COLSHUF_SNAPPY, 2, "", 0, false) : bomb(test_codecs[i]);
    struct csf_buffer zeros = test_buffer();
    if (test_codecs[i] == COLSHUF_SNAPPY) {
      REQUIRE_OK(csf_buffer_append_zero(&zeros, (size_t)40 << 20, &err));
      csf_buffer_clear(&block);
      block = test_block_of(COLSHUF_SNAPPY, 2, zeros.data, zeros.size, false);
      csf_buffer_clear(&zeros);
    }
    struct colshuf_block_decoder_options options = {.allocator = test_heap, .limits = {.max_decompressed_size = UINT64_C(24) << 20}};
    struct colshuf_block_decoder *decoder;
    REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
    uint64_t before = test_heap_bytes();
    test_heap_reset_peak();
    struct ArrowArray batch;
    size_t consumed;
    CHECK_STATUS(colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, NULL, &batch, &err), COLSHUF_LIMIT);
    CHECK(test_heap_peak() - before < UINT64_C(64) << 20);
    colshuf_block_decoder_free(decoder);
    csf_buffer_clear(&block);
  }
}

static void the_memory_limit_is_the_decoders_and_told_as_such(void) {
  struct colshuf_error err;
  struct csf_buffer block = test_encoded_block(wide_schema, 3000, COLSHUF_ZSTD, 8);
  struct colshuf_block_decoder_options options = {.allocator = test_heap, .limits = {.max_memory = 1 << 20}};
  struct colshuf_block_decoder *decoder;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  struct ArrowArray batches[32];
  size_t consumed;
  int n = 0;
  enum colshuf_status status = COLSHUF_OK;
  while (n < 32 && status == COLSHUF_OK) {
    status = colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, NULL, &batches[n], &err);
    n += status == COLSHUF_OK;
  }
  CHECK_INT(status, COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "max_memory");
  REQUIRE(n > 0 && n < 32);
  batches[n - 1].release(&batches[n - 1]);
  REQUIRE_OK(colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, NULL, &batches[n - 1], &err));
  while (n-- > 0) batches[n].release(&batches[n]);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
}

static enum colshuf_status decode_again(void *ctx) {
  const struct csf_buffer *block = ctx;
  struct colshuf_block_decoder_options options = {.allocator = test_heap};
  struct colshuf_block_decoder *decoder;
  CSF_TRY(colshuf_block_decoder_new(&options, &decoder, NULL));
  enum colshuf_status status = COLSHUF_OK;
  for (int i = 0; i < 2 && status == COLSHUF_OK; i++) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    size_t consumed;
    status = colshuf_block_decoder_decode(decoder, block->data, block->size, NULL, &consumed, &schema, &batch, NULL);
    if (status != COLSHUF_OK) break;
    schema.release(&schema);
    batch.release(&batch);
  }
  colshuf_block_decoder_free(decoder);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  for (size_t i = 0; i < 4; i++) {
    struct csf_buffer block = test_encoded_block(wide_schema, 50, test_codecs[i], 3);
    CHECK(test_oom_sweep(decode_again, &block) > 10);
    csf_buffer_clear(&block);
    block = test_encoded_block("a: dictionary<int8, utf8>, b: list<dictionary<int32, binary>>, c: utf8_view", 50, test_codecs[i], 3);
    CHECK(test_oom_sweep(decode_again, &block) > 10);
    csf_buffer_clear(&block);
  }
}

static void the_pool_gives_back_what_fits_and_counts_right(void) {
  struct colshuf_error err;
  struct csf_pool *pool;
  REQUIRE_OK(csf_pool_new(&test_heap, 1 << 20, 4 << 20, &pool, &err));
  struct colshuf_allocator allocator = csf_pool_allocator(pool);
  struct test_random random = {6};
  struct { uint8_t *data; size_t size; uint8_t mark; } live[40] = {{0}};
  for (int round = 0; round < 20000; round++) {
    size_t i = test_random_below(&random, 40);
    if (live[i].data != NULL) {
      CHECK(live[i].data[0] == live[i].mark && live[i].data[live[i].size - 1] == live[i].mark);
      csf_free(&allocator, live[i].data, live[i].size);
      live[i].data = NULL;
    } else {
      live[i].size = 1 + test_random_below(&random, (size_t)1 << (test_random_below(&random, 18)));
      live[i].data = csf_alloc(&allocator, live[i].size);
      live[i].mark = (uint8_t)round;
      if (live[i].data == NULL) {
        CHECK(csf_pool_hit_limit(pool));
        continue;
      }
      live[i].data[0] = live[i].data[live[i].size - 1] = live[i].mark;
    }
    CHECK(csf_pool_kept(pool) <= 1 << 20);
    CHECK(csf_pool_kept(pool) + csf_pool_used(pool) <= 4 << 20);
  }
  csf_pool_close(pool);
  for (size_t i = 0; i < 40; i++) csf_free(&allocator, live[i].data, live[i].size); /* the last one takes the pool along */
}

static const struct test_case tests[] = {
    TEST(steady_state_takes_no_memory_from_the_heap),
    TEST(kept_memory_stays_within_the_pools_size),
    TEST(batches_outlive_the_decoder_and_are_released_on_any_thread),
    TEST(an_aligned_block_without_compression_is_not_copied_where_its_bytes_have_an_owner),
    TEST(a_view_lasts_until_the_next_call),
    TEST(a_bomb_is_refused_within_the_limit_and_in_little_memory),
    TEST(the_memory_limit_is_the_decoders_and_told_as_such),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(the_pool_gives_back_what_fits_and_counts_right),
};
TEST_MAIN(tests)
