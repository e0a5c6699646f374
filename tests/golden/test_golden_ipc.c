/* SPDX-License-Identifier: Apache-2.0 */
/* The streams that arrow-rs 59.3 wrote, as streams and as the content of blocks. */
#include "block/block_format.h"
#include "codec/codec.h"
#include "colshuf/ipc.h"
#include "support/messages.h"
#include "support/types.h"
#include "support/value.h"

struct golden {
  const char *file;
  const char *schema;
  const char *rows[7]; /* by column */
  int64_t n_rows;
};

static const struct golden goldens[] = {
    {"spec/golden/t1.ipc", "id: int32 not null, name: utf8", {"1 2 3", "'a' null 'ccc'"}, 3},
    {"spec/golden/t2.ipc",
     "b: bool, ts: timestamp(us, UTC), d: date32, dec: decimal128(10, 2), l: list<item: int32>, st: struct<x: int64>, n: null",
     {"true false null true true false true true true",
      "0 1000000 2000000 3000000 4000000 5000000 6000000 7000000 8000000", "0 1 2 3 4 5 6 7 8", NULL,
      "[1, 2] [] null [3] [4] [5] [6] [7] [8]", "{0} {0} {0} {0} {0} {0} {0} {0} {0}",
      "null null null null null null null null null"},
     9},
    {"spec/golden/t3.ipc", "d: dictionary<int32, utf8>", {"'x' 'y' 'x' null 'y'"}, 5},
    {"spec/golden/t4.ipc", "", {NULL}, 5},
};

static void check_batch(const struct golden *golden, const struct ArrowSchema *exported, const struct ArrowArray *batch) {
  struct colshuf_error err;
  struct csf_schema *found, *wanted = test_schema(golden->schema);
  REQUIRE_OK(csf_schema_import(exported, &test_heap, NULL, &found, &err));
  CHECK(csf_field_equal(&found->root, &wanted->root, CSF_MATCH_EXACT));
  CHECK_INT(batch->length, golden->n_rows);
  for (int32_t i = 0; i < found->root.n_children; i++) {
    if (golden->rows[i] != NULL) CHECK_VALUES(&found->root.children[i], batch->children[i], golden->rows[i]);
  }
  csf_schema_release(found);
  csf_schema_release(wanted);
}

/* Decimal128 is told by its bytes elsewhere; here by its value: row i is 4 i hundredths. */
static void check_decimals(const struct ArrowArray *column) {
  for (int64_t i = 0; i < column->length; i++) {
    const uint8_t *value = (const uint8_t *)column->buffers[1] + 16 * i;
    CHECK_INT(csf_load_i64(value), 4 * i);
    CHECK_INT(csf_load_i64(value + 8), 0);
  }
}

static void streams_of_arrow_rs_have_their_values(void) {
  for (size_t i = 0; i < 4; i++) {
    struct colshuf_error err;
    struct ArrowArrayStream stream;
    struct colshuf_ipc_reader_options options = {.allocator = test_heap};
    REQUIRE_OK(colshuf_ipc_reader_open_path(test_data(goldens[i].file), &options, &stream, &err));
    struct ArrowSchema schema;
    struct ArrowArray batch, end;
    REQUIRE(stream.get_schema(&stream, &schema) == 0);
    REQUIRE(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
    REQUIRE(stream.get_next(&stream, &end) == 0 && end.release == NULL);
    check_batch(&goldens[i], &schema, &batch);
    if (i == 1) check_decimals(batch.children[3]);
    batch.release(&batch);
    schema.release(&schema);
    stream.release(&stream);
  }
}

static void blocks_of_them_have_their_values_with_every_codec(void) {
  struct colshuf_error err;
  struct csf_codec *codec;
  struct colshuf_block_decoder *decoder;
  struct colshuf_block_decoder_options options = {.allocator = test_heap};
  test_data("spec/golden/t1.ipc");
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  for (int i = 0; i < 16; i++) {
    const struct golden *golden = &goldens[i % 4];
    enum colshuf_codec kind = (enum colshuf_codec)(i / 4);
    struct csf_buffer stream = test_read_file(test_data(golden->file)), block = test_buffer();
    REQUIRE_OK(csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, &err));
    REQUIRE_OK(csf_codec_compress(codec, kind, 0, (struct csf_span){stream.data, stream.size}, &block, &err));
    struct ArrowSchema schema;
    struct ArrowArray batch;
    size_t consumed;
    csf_block_header_write(block.data, block.size, 0, kind, false);
    REQUIRE_OK(colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, &schema, &batch, &err));
    check_batch(golden, &schema, &batch);
    schema.release(&schema);
    batch.release(&batch);
    csf_buffer_clear(&stream);
    csf_buffer_clear(&block);
  }
  colshuf_block_decoder_free(decoder);
  csf_codec_free(codec);
}

static const struct test_case tests[] = {
    TEST(streams_of_arrow_rs_have_their_values),
    TEST(blocks_of_them_have_their_values_with_every_codec),
};
TEST_MAIN(tests)
