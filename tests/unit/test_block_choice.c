/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that the encoder turns into dictionaries, and its memory. */
#include "block/dictionary_build.h"
#include "support/encoding.h"
#include "support/random.h"
#include "support/table.h"
#include "support/types.h"
#include "support/value.h"

static struct colshuf_error err;

static struct test_encoder lineitem_like(struct colshuf_block_encoder_options options) {
  return test_encoder_new(test_schema("flag: utf8, price: decimal128(15, 2), key: int64, comment: utf8, day: date32"), options);
}

/* few: flag and price have few values; else all columns have many. */
static void make_rows(struct test_encoder *setup, uint64_t seed, int64_t rows, bool few, int null_percent, struct ArrowArray *batch) {
  struct test_random random = {seed};
  struct test_array_options options = {.rows = rows, .null_percent = null_percent, .max_text = 40, .shape = TEST_SLICED};
  test_random_array(&random, &setup->schema->root, &options, batch);
  if (!few) return;
  static const char words[] = "AIRMAILSHIPTRUCKRAIL";
  struct ArrowArray *flag = batch->children[0], *price = batch->children[1];
  int32_t *offsets = (int32_t *)(uintptr_t)flag->buffers[1];
  char *text = (char *)(uintptr_t)flag->buffers[2];
  int64_t n = flag->offset + flag->length;
  int32_t first = offsets[flag->offset], room = offsets[n] - first;
  for (int64_t i = flag->offset; i < n; i++) {
    int32_t word = (int32_t)test_random_below(&random, 4);
    int32_t used = offsets[i] - first;
    if (used + 4 <= room) memcpy(text + offsets[i], words + 4 * word, 4);
    offsets[i + 1] = used + 4 <= room ? offsets[i] + 4 : offsets[i];
  }
  uint8_t *values = (uint8_t *)(uintptr_t)price->buffers[1];
  for (int64_t i = price->offset; i < price->offset + price->length; i++) {
    csf_store_i64(values + 16 * i, (int64_t)test_random_below(&random, 11));
    csf_store_i64(values + 16 * i + 8, 0);
  }
}

/* Columns of the block that are dictionaries, as a bit set. */
static unsigned dictionaries_in(struct test_encoder *setup, const struct ArrowArray *batch, int64_t start, int64_t length) {
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup->encoder, batch, start, length, &block, &size, &err));
  struct test_decoded decoded = test_decode(block, size);
  unsigned found = 0;
  for (int32_t i = 0; i < decoded.schema->root.n_children; i++) {
    if (decoded.schema->root.children[i].dictionary != NULL) found |= 1u << i;
  }
  CHECK(found == 0 || test_header(block, size).offsets_as_lengths == 0);
  CHECK_ROWS(&setup->schema->root, batch, start, &decoded.schema->root, &decoded.batch, 0, length);
  test_decoded_clear(&decoded);
  return found;
}

static void columns_of_few_values_become_dictionaries_where_that_is_smaller(void) {
  /* Without lengths, strings of few values are always smaller as a dictionary. */
  struct test_encoder setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  struct ArrowArray few, many;
  make_rows(&setup, 1, 3000, true, 0, &few);
  make_rows(&setup, 2, 3000, false, 0, &many);
  CHECK_INT(dictionaries_in(&setup, &few, 0, 3000), 3);
  CHECK_INT(dictionaries_in(&setup, &few, 100, 2000), 3);
  /* Now columns have many values: the blocks are plain until the next look. */
  CHECK_INT(dictionaries_in(&setup, &many, 0, 3000), 0);
  CHECK_INT(dictionaries_in(&setup, &few, 7, 2900), 3);
  CHECK_INT(dictionaries_in(&setup, &few, 0, 100), 0);
  test_encoder_clear(&setup);
  setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  unsigned last = 0;
  for (int i = 0; i < 70; i++) {
    last = dictionaries_in(&setup, i == 0 ? &many : &few, 0, 1000);
    if (i < 60) CHECK_INT(last, 0);
  }
  CHECK_INT(last, 3);
  many.release(&many);
  few.release(&few);
  test_encoder_clear(&setup);
}

static void dictionaries_are_left_alone_where_they_are_not_wanted(void) {
  static const struct colshuf_block_encoder_options options[] = {
      {.dictionary = COLSHUF_DICTIONARY_OFF, .compat = COLSHUF_COMPAT_COMET_1_1},
      {.offsets = COLSHUF_OFFSETS_LENGTHS},
      {.layout = COLSHUF_LAYOUT_ARROW_RS},
      {.compat = COLSHUF_COMPAT_ARROW},
      {.codec = COLSHUF_NONE},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    struct test_encoder setup = lineitem_like(options[i]);
    struct ArrowArray few;
    make_rows(&setup, 1, 2000, true, 0, &few);
    CHECK_INT(dictionaries_in(&setup, &few, 0, 2000), 0);
    few.release(&few);
    test_encoder_clear(&setup);
  }
}

static void nulls_stay_nulls_in_columns_that_become_dictionaries(void) {
  for (int codec = 1; codec < 4; codec++) {
    struct test_encoder setup =
        lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1, .codec = test_codecs[codec]});
    for (int null_percent = 10; null_percent <= 100; null_percent += 45) {
      struct ArrowArray batch;
      make_rows(&setup, (uint64_t)null_percent, 2000, true, null_percent, &batch);
      for (int64_t start = 0; start < 9; start++) dictionaries_in(&setup, &batch, start, 1900);
      batch.release(&batch);
    }
    test_encoder_clear(&setup);
  }
}

/* Made both ways, the block that is kept is the smaller one. */
static void the_first_block_is_no_larger_than_either_way(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    size_t sizes[3];
    for (int way = 0; way < 3; way++) {
      struct colshuf_block_encoder_options options = {.codec = seed % 2 ? COLSHUF_LZ4 : COLSHUF_ZSTD};
      if (way == 1) options.dictionary = COLSHUF_DICTIONARY_OFF;
      if (way == 2) options.offsets = COLSHUF_OFFSETS_PLAIN;
      struct test_encoder setup = lineitem_like(options);
      struct ArrowArray batch;
      const uint8_t *block;
      make_rows(&setup, seed, 4000, true, 0, &batch);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 4000, &block, &sizes[way], &err));
      batch.release(&batch);
      test_encoder_clear(&setup);
    }
    CHECK(sizes[0] <= sizes[1] && sizes[0] <= sizes[2]);
  }
}

static void equal_input_gives_equal_blocks(void) {
  struct csf_buffer first;
  csf_buffer_init(&first, &test_heap);
  for (int round = 0; round < 2; round++) {
    struct test_encoder setup = lineitem_like((struct colshuf_block_encoder_options){0});
    size_t at = 0;
    for (uint64_t i = 0; i < 100; i++) {
      struct ArrowArray batch;
      const uint8_t *block;
      size_t size;
      make_rows(&setup, i, 600, i % 50 < 25, 5, &batch);
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 600, &block, &size, &err));
      if (round == 0) REQUIRE_OK(csf_buffer_append(&first, block, size, &err));
      REQUIRE(at + size <= first.size);
      CHECK(memcmp(first.data + at, block, size) == 0);
      at += size;
      batch.release(&batch);
    }
    CHECK_INT(at, first.size);
    test_encoder_clear(&setup);
  }
  csf_buffer_clear(&first);
}

/* Strings that all fall into one slot of the table cost what giving up costs, not rows times values. */
static void a_table_that_collides_is_given_up(void) {
  enum { ROWS = 20000 };
  static int64_t values[ROWS];
  for (int64_t i = 0; i < ROWS; i++) values[i] = i % 2000;
  const void *buffers[2] = {NULL, values};
  struct ArrowArray array = {.length = ROWS, .n_buffers = 2, .buffers = buffers};
  struct csf_field field = {.name = "", .type = CSF_INT64, .layout = CSF_LAYOUT_FIXED, .width = 8};
  struct csf_dictionary_build build;
  bool built;
  csf_dictionary_build_init(&build, &test_heap);
  REQUIRE_OK(csf_dictionary_build_run(&build, &field, &array, 0, ROWS, 2000, &built, &err));
  CHECK(built);
  CHECK_INT(build.n_values, 2000);
  for (int64_t i = 0; i < ROWS; i++) {
    CHECK_INT(csf_load_i64((const uint8_t *)build.values_array.buffers[1] + 8 * ((const int32_t *)build.array.buffers[1])[i]), i % 2000);
  }
  REQUIRE_OK(csf_dictionary_build_run(&build, &field, &array, 0, ROWS, 1999, &built, &err));
  CHECK(!built);
  csf_dictionary_build_clear(&build);
}

/* --- memory --- */

struct attempt {
  const struct ArrowSchema *c_schema;
  const struct ArrowArray *batch;
  struct colshuf_block_encoder_options options;
};

static enum colshuf_status encode_twice(void *ctx) {
  struct attempt *attempt = ctx;
  struct colshuf_block_encoder *encoder;
  enum colshuf_status status = colshuf_block_encoder_new(attempt->c_schema, &attempt->options, &encoder, NULL);
  if (status != COLSHUF_OK) return status;
  const uint8_t *block;
  size_t size;
  for (int i = 0; i < 2 && status == COLSHUF_OK; i++) {
    status = colshuf_block_encoder_encode(encoder, attempt->batch, 0, attempt->batch->length, &block, &size, NULL);
  }
  colshuf_block_encoder_free(encoder);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct test_table table = test_table("utf8, dictionary<int8, utf8>, list<dictionary<int8, utf8>>", "'a' 'b' ['c'] | 'd' 'e' ['f']");
  for (int codec = 0; codec < 4; codec++) {
    for (int compat = 0; compat < 3; compat += 2) {
      struct attempt attempt = {&table.c_schema, &table.batch,
                                {.allocator = test_heap, .codec = test_codecs[codec], .compat = (enum colshuf_compat)compat}};
      CHECK(test_oom_sweep(encode_twice, &attempt) > 10);
    }
  }
  test_table_clear(&table);
  struct test_encoder setup = lineitem_like((struct colshuf_block_encoder_options){0});
  struct ArrowArray batch;
  make_rows(&setup, 1, 600, true, 5, &batch);
  struct attempt attempt = {&setup.c_schema, &batch, {.allocator = test_heap, .compat = COLSHUF_COMPAT_COMET_1_1}};
  CHECK(test_oom_sweep(encode_twice, &attempt) > 20);
  batch.release(&batch);
  test_encoder_clear(&setup);
}

/* An allocation refused in the middle of the choice must not leave a schema without its message. */
static void an_encoder_goes_on_after_refused_memory(void) {
  struct test_encoder setup = lineitem_like((struct colshuf_block_encoder_options){.compat = COLSHUF_COMPAT_COMET_1_1});
  struct ArrowArray batch;
  make_rows(&setup, 1, 1000, true, 0, &batch);
  for (uint64_t nth = 1; nth < 60; nth++) {
    const uint8_t *block;
    size_t size;
    test_heap_refuse_at(nth);
    enum colshuf_status status = colshuf_block_encoder_encode(setup.encoder, &batch, 0, 1000, &block, &size, &err);
    test_heap_refuse_at(0);
    CHECK(status == COLSHUF_OK || status == COLSHUF_NO_MEMORY);
    dictionaries_in(&setup, &batch, 0, 1000);
  }
  batch.release(&batch);
  test_encoder_clear(&setup);
}

static void steady_state_allocates_nothing(void) {
  for (int codec = 0; codec < 4; codec++) {
    struct test_encoder setup =
        lineitem_like((struct colshuf_block_encoder_options){.codec = test_codecs[codec], .compat = COLSHUF_COMPAT_COMET_1_1});
    struct ArrowArray batch;
    const uint8_t *block;
    size_t size;
    make_rows(&setup, 1, 1000, true, 5, &batch);
    uint64_t calls = 0;
    for (int i = 0; i < 60; i++) {
      if (i == 3) calls = test_heap_calls();
      REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, &batch, 0, 1000, &block, &size, &err));
    }
    CHECK_INT(test_heap_calls(), calls);
    batch.release(&batch);
    test_encoder_clear(&setup);
  }
}

static const struct test_case tests[] = {
    TEST(columns_of_few_values_become_dictionaries_where_that_is_smaller),
    TEST(dictionaries_are_left_alone_where_they_are_not_wanted),
    TEST(nulls_stay_nulls_in_columns_that_become_dictionaries),
    TEST(the_first_block_is_no_larger_than_either_way),
    TEST(equal_input_gives_equal_blocks),
    TEST(a_table_that_collides_is_given_up),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(an_encoder_goes_on_after_refused_memory),
    TEST(steady_state_allocates_nothing),
};
TEST_MAIN(tests)
