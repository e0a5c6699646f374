/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices and odd arrays, laid out by hand, through the kernels, an IPC stream, an IPC file and a block. Each array here is of a shape that
 * some program got wrong.
 */
#include <errno.h>

#include "arrow/gather.h"
#include "colshuf/ipc.h"
#include "support/encoding.h"
#include "support/messages.h"
#include "support/types.h"
#include "support/value.h"

#define BUFFERS(...) ((const void *[]){__VA_ARGS__})
#define CHILDREN(...) ((struct ArrowArray *[]){__VA_ARGS__})

static void stay(struct ArrowArray *array) {
  array->release = NULL; /* everything lies on the stack */
}

static struct ArrowArray flat(int64_t length, int64_t offset, int64_t null_count, int64_t n_buffers, const void **buffers) {
  return (struct ArrowArray){.length = length,
                             .offset = offset,
                             .null_count = null_count,
                             .n_buffers = n_buffers,
                             .buffers = buffers,
                             .release = stay};
}

static struct ArrowArray nested(struct ArrowArray parent, int64_t n_children, struct ArrowArray **children) {
  parent.n_children = n_children;
  parent.children = children;
  return parent;
}

static int append_bytes(void *ctx, const void *data, size_t size) {
  return csf_buffer_append(ctx, data, size, NULL) == COLSHUF_OK ? 0 : ENOMEM;
}

struct cursor {
  const struct csf_buffer *bytes;
  size_t at;
};

static int64_t take_at(void *ctx, uint64_t position, void *data, size_t size) {
  struct cursor *cursor = ctx;
  size_t left = position < cursor->bytes->size ? cursor->bytes->size - (size_t)position : 0;
  if (size > left) size = left;
  memcpy(data, cursor->bytes->data + position, size);
  return (int64_t)size;
}

static int64_t take_bytes(void *ctx, void *data, size_t size) {
  struct cursor *cursor = ctx;
  int64_t n = take_at(ctx, cursor->at, data, size);
  cursor->at += (size_t)n;
  return n;
}

static int64_t size_of(void *ctx) {
  return (int64_t)((struct cursor *)ctx)->bytes->size;
}

/* Writes the rows as one message of a stream or file, reads them back. */
static void check_ipc(const struct csf_schema *schema, const struct ArrowArray *batch, int64_t start, int64_t length,
                      const struct colshuf_ipc_writer_options *options, const char *wanted) {
  struct colshuf_error err;
  struct csf_buffer bytes = test_buffer();
  struct ArrowSchema exported;
  struct colshuf_output output = {append_bytes, &bytes};
  struct colshuf_ipc_writer *writer;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &exported, &err));
  REQUIRE_OK(colshuf_ipc_writer_new(&exported, &output, options, &writer, &err));
  REQUIRE_OK(colshuf_ipc_writer_write(writer, batch, start, length, &err));
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  colshuf_ipc_writer_free(writer);
  exported.release(&exported);
  struct cursor cursor = {&bytes, 0};
  struct colshuf_input input = {.read = take_bytes, .ctx = &cursor};
  if (options->file_format) input.read_at = take_at;
  if (options->file_format) input.size = size_of;
  struct colshuf_ipc_reader_options reading = {.allocator = test_heap};
  struct ArrowArrayStream stream;
  struct ArrowArray found;
  REQUIRE_OK(colshuf_ipc_reader_open(&input, &reading, &stream, &err));
  REQUIRE(stream.get_next(&stream, &found) == 0 && found.release != NULL);
  CHECK_INT(found.length, length);
  CHECK_VALUES(&schema->root.children[0], found.children[0], wanted);
  found.release(&found);
  stream.release(&stream);
  csf_buffer_clear(&bytes);
}

/* Encodes the rows as a block and decodes it wherever it lies. */
static void check_block(struct csf_schema *schema, const struct ArrowArray *batch, int64_t start, int64_t length,
                        enum colshuf_codec codec, const char *wanted) {
  struct colshuf_error err;
  struct colshuf_block_encoder_options options = {.codec = codec, .compat = COLSHUF_COMPAT_ARROW};
  struct test_encoder setup = test_encoder_new(csf_schema_retain(schema), options);
  const uint8_t *block;
  size_t size;
  REQUIRE_OK(colshuf_block_encoder_encode(setup.encoder, batch, start, length, &block, &size, &err));
  CHECK_INT(size > 0, length > 0);
  uint8_t *place = csf_alloc(&test_heap, size + 16);
  for (size_t shift = 0; length > 0 && shift < (codec == COLSHUF_NONE ? 16 : 1); shift++) {
    memcpy(place + shift, block, size);
    struct test_decoded decoded = test_decode(place + shift, size);
    CHECK_VALUES(&decoded.schema->root.children[0], decoded.batch.children[0], wanted);
    test_decoded_clear(&decoded);
  }
  csf_free(&test_heap, place, size + 16);
  test_encoder_clear(&setup);
}

/* The same rows as a column, out and in again in every form. */
static void check_written(struct csf_schema *schema, const struct ArrowArray *array, int64_t start, int64_t length, const char *wanted) {
  struct ArrowArray column = *array, *columns[] = {&column};
  struct ArrowArray batch = nested(flat(array->length, 0, 0, 1, BUFFERS(NULL)), 1, columns);
  for (int i = 0; i < 6; i++) {
    struct colshuf_ipc_writer_options options = {.allocator = test_heap, .file_format = i % 2, .compress = i / 2};
    check_ipc(schema, &batch, start, length, &options, wanted);
  }
  for (int i = 0; i < 4; i++) check_block(schema, &batch, start, length, test_codecs[i], wanted);
}

/*
 * Checks the values of rows [start, +length) of array when copied as a range, again when taken row by row, and when written and read.
 */
static void check_slice(const char *type, const struct ArrowArray *array, int64_t start, int64_t length, const char *wanted) {
  struct csf_schema *schema = test_schema(type);
  const struct csf_field *field = &schema->root.children[0];
  struct colshuf_error err;
  struct ArrowArray out;
  REQUIRE_OK(csf_array_concat(field, &array, &start, &length, 1, &test_heap, &out, &err));
  CHECK_VALUES(field, &out, wanted);
  CHECK(csf_array_equal(field, &out, 0, array, start, length));
  out.release(&out);
  int64_t rows[64];
  for (int64_t i = 0; i < length; i++) rows[length - 1 - i] = start + i; /* backwards, or it would be taken for a range */
  REQUIRE_OK(csf_array_take(field, array, rows, length, &test_heap, &out, &err));
  for (int64_t i = 0; i < length; i++) CHECK_ROWS(field, &out, length - 1 - i, field, array, start + i, 1);
  out.release(&out);
  check_written(schema, array, start, length, wanted);
  csf_schema_release(schema);
}

static void sliced_booleans_move_to_bit_0(void) {
  uint8_t two[] = {0x01};
  struct ArrowArray array = flat(2, 0, 0, 2, BUFFERS(NULL, two));
  check_slice("bool", &array, 1, 1, "false");
  uint8_t twenty[] = {0xb5, 0x3c, 0x0a};
  array = flat(20, 0, 0, 2, BUFFERS(NULL, twenty));
  for (int64_t offset = 1; offset < 10; offset++) {
    char wanted[200] = "";
    for (int64_t i = offset; i < 20; i++) {
      strcat(wanted, i == offset ? "" : " ");
      strcat(wanted, twenty[i / 8] >> (i % 8) & 1 ? "true" : "false");
    }
    check_slice("bool", &array, offset, 20 - offset, wanted);
  }
}

static void an_offset_counts_for_booleans_and_for_their_validity(void) {
  uint8_t bits[4] = {0, 0xf8, 0x55, 0x3f}, valid[4] = {0xff, 0x7f, 0xf7, 0xff};
  struct ArrowArray array = flat(10, 11, -1, 2, BUFFERS(valid, bits));
  check_slice("bool", &array, 0, 10, "true true true true null true false true null true");
}

static void a_slice_of_lists_has_its_own_values_only(void) {
  uint32_t values[] = {35, 42};
  int32_t offsets[] = {0, 0, 2};
  struct ArrowArray child = flat(2, 0, 0, 2, BUFFERS(NULL, values));
  struct ArrowArray array = nested(flat(2, 0, 0, 2, BUFFERS(NULL, offsets)), 1, CHILDREN(&child));
  check_slice("list<uint32>", &array, 1, 1, "[35, 42]");

  int32_t later[] = {3, 5, 6}, numbers[] = {0, 1, 2, 3, 4, 5};
  child = flat(6, 0, 0, 2, BUFFERS(NULL, numbers));
  array = nested(flat(2, 0, 0, 2, BUFFERS(NULL, later)), 1, CHILDREN(&child));
  check_slice("list<int32>", &array, 0, 2, "[3, 4] [5]");
  struct csf_schema *schema = test_schema("list<int32>");
  struct colshuf_error err;
  struct ArrowArray out;
  int64_t start = 0, length = 2;
  const struct ArrowArray *source = &array;
  REQUIRE_OK(csf_array_concat(&schema->root.children[0], &source, &start, &length, 1, &test_heap, &out, &err));
  CHECK_INT(csf_load_i32(out.buffers[1]), 0);
  CHECK_INT(out.children[0]->length, 3);
  out.release(&out);
  csf_schema_release(schema);
}

static void strings_may_start_anywhere_in_their_bytes(void) {
  int32_t offsets[] = {4, 7, 9};
  struct ArrowArray array = flat(2, 0, 0, 3, BUFFERS(NULL, offsets, "abcdefghi"));
  check_slice("utf8", &array, 0, 2, "'efg' 'hi'");
  int32_t pairs[] = {0, 2, 4, 6, 8, 10};
  array = flat(5, 0, 0, 3, BUFFERS(NULL, pairs, "aabbccddee"));
  check_slice("utf8", &array, 1, 2, "'bb' 'cc'");
  int32_t thirds[] = {0, 1, 2, 3};
  array = flat(0, 3, 0, 3, BUFFERS(NULL, thirds, "abc"));
  check_slice("utf8", &array, 0, 0, "");
}

/* Offsets are one more than rows, whatever padding lies behind them. */
static void padding_is_no_offset_for_any_number_of_rows(void) {
  int32_t offsets[] = {0, 1, 3, 3, 6, 7, 9};
  static const char *const wanted[] = {"'a' 'bb' '' 'ccc'", "'a' 'bb' '' 'ccc' 'd'", "'a' 'bb' '' 'ccc' 'd' 'ee'"};
  for (int64_t n = 4; n <= 6; n++) {
    struct ArrowArray array = flat(n, 0, 0, 3, BUFFERS(NULL, offsets, "abbcccdee"));
    check_slice("utf8", &array, 0, n, wanted[n - 4]);
  }
}

static void slices_of_one_list_column_follow_one_another(void) {
  int32_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, offsets[] = {0, 3, 6, 9};
  struct ArrowArray child = flat(9, 0, 0, 3, BUFFERS(NULL, text, "abcdefghi"));
  struct ArrowArray array = nested(flat(3, 0, 0, 2, BUFFERS(NULL, offsets)), 1, CHILDREN(&child));
  check_slice("list<utf8>", &array, 0, 1, "['a', 'b', 'c']");
  check_slice("list<utf8>", &array, 1, 2, "['d', 'e', 'f'] ['g', 'h', 'i']");
}

static void a_slice_of_a_map_has_its_own_entries_only(void) {
  int32_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, offsets[] = {0, 1, 3, 4, 6, 7, 9};
  struct ArrowArray key = flat(9, 0, 0, 3, BUFFERS(NULL, text, "abcdefghi")),
                    value = flat(9, 0, 0, 3, BUFFERS(NULL, text, "ABCDEFGHI"));
  struct ArrowArray entries = nested(flat(9, 0, 0, 1, BUFFERS(NULL)), 2, CHILDREN(&key, &value));
  struct ArrowArray array = nested(flat(6, 0, 0, 2, BUFFERS(NULL, offsets)), 1, CHILDREN(&entries));
  check_slice("map<utf8, utf8>", &array, 1, 1, "[{'b', 'B'}, {'c', 'C'}]");
}

static void the_offset_of_a_struct_counts_for_its_children(void) {
  int32_t values[] = {0, 1, 2, 3, 4, 5};
  struct ArrowArray child = flat(6, 0, 0, 2, BUFFERS(NULL, values));
  struct ArrowArray array = nested(flat(5, 1, 0, 1, BUFFERS(NULL)), 1, CHILDREN(&child));
  check_slice("struct<a: int32>", &array, 0, 5, "{1} {2} {3} {4} {5}");
  check_slice("struct<a: int32>", &array, 2, 2, "{3} {4}");

  int32_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, offsets[] = {0, 1, 2, 3, 4, 6, 6, 7, 8, 9, 10};
  uint8_t bits[] = {0x28, 0x00};
  struct ArrowArray strings = flat(10, 0, 0, 3, BUFFERS(NULL, text, "abcdefghij")),
                    flag = flat(10, 0, 0, 2, BUFFERS(NULL, bits));
  struct ArrowArray list = nested(flat(10, 0, 0, 2, BUFFERS(NULL, offsets)), 1, CHILDREN(&strings));
  struct ArrowArray inner = nested(flat(10, 0, 0, 1, BUFFERS(NULL)), 1, CHILDREN(&flag));
  array = nested(flat(4, 3, 0, 1, BUFFERS(NULL)), 2, CHILDREN(&list, &inner));
  check_slice("struct<a: list<utf8>, b: struct<f: bool>>", &array, 0, 4,
              "{['d'], {true}} {['e', 'f'], {false}} {[], {true}} {['g'], {false}}");
}

static void the_second_of_two_structs_that_share_children_goes_on(void) {
  enum { ROWS = 131075, CUT = 131072 };
  static double values[ROWS];
  for (int i = 0; i < ROWS; i++) values[i] = i;
  struct ArrowArray child = flat(ROWS, 0, 0, 2, BUFFERS(NULL, values));
  struct ArrowArray first = nested(flat(CUT, 0, 0, 1, BUFFERS(NULL)), 1, CHILDREN(&child));
  struct ArrowArray second = nested(flat(ROWS - CUT, CUT, 0, 1, BUFFERS(NULL)), 1, CHILDREN(&child));
  struct csf_schema *schema = test_schema("struct<a: float64>");
  struct colshuf_error err;
  const struct ArrowArray *both[] = {&first, &second};
  int64_t starts[] = {0, 0}, lengths[] = {CUT, ROWS - CUT};
  struct ArrowArray out;
  REQUIRE_OK(csf_array_concat(&schema->root.children[0], both, starts, lengths, 2, &test_heap, &out, &err));
  CHECK(memcmp(out.children[0]->buffers[1], values, sizeof values) == 0);
  out.release(&out);
  check_slice("struct<a: float64>", &second, 0, 3, "{x4100000000000000} {x4100000800000000} {x4100001000000000}");
  csf_schema_release(schema);
}

static void the_offset_of_a_sparse_union_counts_for_its_members(void) {
  int8_t ids[] = {0, 0, 0};
  int32_t values[] = {0, 20, 30};
  uint8_t valid[] = {6};
  struct ArrowArray member = flat(3, 0, 1, 2, BUFFERS(valid, values));
  struct ArrowArray array = nested(flat(3, 0, 0, 1, BUFFERS(ids)), 1, CHILDREN(&member));
  check_slice("sparse_union<0=a: int32>", &array, 2, 1, "0:30");
  array.offset = 2;
  array.length = 1;
  check_slice("sparse_union<0=a: int32>", &array, 0, 1, "0:30");
}

static void the_offset_of_indices_is_not_that_of_their_dictionary(void) {
  int8_t indices[] = {0, 1, 2, 2, 1, 0, 1};
  int32_t text[] = {0, 1, 3, 6};
  struct ArrowArray values = flat(3, 0, 0, 3, BUFFERS(NULL, text, "xyyzzz"));
  const char *const wanted[] = {"'x' 'yy'", "'zzz' 'zzz'", "'yy' 'x'", "'yy'"};
  for (int64_t at = 0; at < 7; at += 2) {
    struct ArrowArray array = flat(at == 6 ? 1 : 2, at, 0, 2, BUFFERS(NULL, indices));
    array.dictionary = &values;
    check_slice("dictionary<int8, utf8>", &array, 0, array.length, wanted[at / 2]);
  }
}

static void an_index_under_a_null_may_be_anything(void) {
  int8_t indices[] = {0, -7, 100, 1};
  uint8_t valid[] = {0x09};
  int32_t values[] = {5, 6};
  struct ArrowArray dictionary = flat(2, 0, 0, 2, BUFFERS(NULL, values));
  struct ArrowArray array = flat(4, 0, 2, 2, BUFFERS(valid, indices));
  array.dictionary = &dictionary;
  check_slice("dictionary<int8, int32>", &array, 0, 4, "5 null null 6");
  struct csf_schema *schema = test_schema("dictionary<int8, int32>"), *plain = test_schema("int32");
  struct colshuf_error err;
  struct ArrowArray out;
  REQUIRE_OK(csf_array_unpack_dictionaries(&schema->root.children[0], &array, &test_heap, &out, &err));
  CHECK_VALUES(&plain->root.children[0], &out, "5 null null 6");
  CHECK_INT(out.null_count, 2);
  out.release(&out);
  csf_schema_release(schema);
  csf_schema_release(plain);
}

static void a_dictionary_without_values_is_not_read(void) {
  int8_t indices[] = {3, -7};
  uint8_t valid[] = {0x00};
  int32_t offsets[] = {0};
  struct ArrowArray dictionary = flat(0, (int64_t)1 << 40, 0, 3, BUFFERS(NULL, offsets, NULL));
  struct ArrowArray array = flat(2, 0, 2, 2, BUFFERS(valid, indices));
  array.dictionary = &dictionary;
  struct csf_schema *schema = test_schema("dictionary<int8, utf8>"), *plain = test_schema("utf8");
  struct colshuf_error err;
  struct ArrowArray out;
  REQUIRE_OK(csf_array_validate(&schema->root.children[0], &array, NULL, CSF_VALIDATE_FULL, &err));
  check_slice("dictionary<int8, utf8>", &array, 0, 2, "null null");
  REQUIRE_OK(csf_array_unpack_dictionaries(&schema->root.children[0], &array, &test_heap, &out, &err));
  CHECK_VALUES(&plain->root.children[0], &out, "null null");
  out.release(&out);
  csf_schema_release(schema);
  csf_schema_release(plain);
}

static void values_of_no_bytes_are_counted_all_the_same(void) {
  struct ArrowArray array = flat(5, 0, 0, 2, BUFFERS(NULL, NULL));
  check_slice("fixed_size_binary(0)", &array, 1, 4, "x x x x");
  uint8_t valid[] = {0x0d};
  struct ArrowArray none = flat(0, 0, 0, 2, BUFFERS(NULL, NULL));
  array = nested(flat(4, 0, 1, 1, BUFFERS(valid)), 1, CHILDREN(&none));
  check_slice("fixed_size_list<int32, 0>", &array, 0, 4, "[] null [] []");
  uint8_t second[] = {0x02};
  struct ArrowArray nulls = flat(0, 0, 0, 0, NULL);
  array = nested(flat(2, 1, 1, 1, BUFFERS(second)), 1, CHILDREN(&nulls));
  check_slice("fixed_size_list<null, 0>", &array, 0, 2, "[] null");
  array = nested(flat(7, 0, 0, 1, BUFFERS(NULL)), 0, NULL);
  check_slice("struct<>", &array, 2, 3, "{} {} {}");
}

static void a_null_data_buffer_of_inline_views_is_not_read(void) {
  uint8_t views[32] = {1, 0, 0, 0, 'a', [16] = 1, 0, 0, 0, 'e'};
  int64_t sizes[] = {0};
  struct ArrowArray array = flat(2, 0, 0, 4, BUFFERS(NULL, views, NULL, sizes));
  check_slice("binary_view", &array, 0, 2, "'a' 'e'");
}

static void a_slice_inside_a_run_repeats_its_value(void) {
  int32_t ends[] = {2, 5}, values[] = {10, 20};
  struct ArrowArray runs = flat(2, 0, 0, 2, BUFFERS(NULL, ends)), what = flat(2, 0, 0, 2, BUFFERS(NULL, values));
  struct ArrowArray array = nested(flat(3, 2, 0, 0, NULL), 2, CHILDREN(&runs, &what));
  check_slice("run_end_encoded<int32, int32>", &array, 0, 3, "20 20 20");
}

static void decimals_may_lie_at_any_address(void) {
  uint8_t bytes[16 * 3 + 16] = {0};
  for (size_t shift = 0; shift < 16; shift++) {
    for (uint8_t i = 0; i < 48; i++) bytes[shift + i] = i;
    struct ArrowArray array = flat(3, 0, 0, 2, BUFFERS(NULL, bytes + shift));
    check_slice("decimal128(38, 0)", &array, 1, 2, "x1f1e1d1c1b1a19181716151413121110 x2f2e2d2c2b2a29282726252423222120");
  }
}

static void decimals_of_every_width_keep_their_values(void) {
  uint8_t bytes[64] = {0};
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(0xf0 + i);
  struct ArrowArray array = flat(2, 0, 0, 2, BUFFERS(NULL, bytes));
  check_slice("decimal32(9, 2)", &array, 0, 2, "xf3f2f1f0 xf7f6f5f4");
  check_slice("decimal64(10, 4)", &array, 0, 2, "xf7f6f5f4f3f2f1f0 xfffefdfcfbfaf9f8");
  check_slice("decimal128(38, 0)", &array, 1, 1, "x0f0e0d0c0b0a09080706050403020100");
  check_slice("decimal256(76, 0)", &array, 1, 1, "x2f2e2d2c2b2a292827262524232221201f1e1d1c1b1a19181716151413121110");
}

static void nulls_are_counted_anew_in_a_slice_of_a_slice(void) {
  int32_t offsets[] = {0, 1, 3, 6};
  struct ArrowArray strings = flat(2, 1, -1, 3, BUFFERS(NULL, offsets, "abbccc"));
  check_slice("utf8", &strings, 0, 2, "'bb' 'ccc'");
  uint8_t valid[] = {0xf7, 0xfd, 0xfd, 0xff}; /* nulls at 3, 9, 17 */
  int8_t values[32] = {0};
  struct ArrowArray array = flat(4, 8 + 1, -1, 2, BUFFERS(valid, values));
  check_slice("int8", &array, 0, 4, "null 0 0 0");
  struct csf_schema *schema = test_schema("int8");
  CHECK_INT(csf_array_null_count(&schema->root.children[0], &array, 0, 4), 1);
  csf_schema_release(schema);
}

static void the_last_bit_of_518_rows_is_kept(void) {
  uint8_t valid[65];
  int32_t values[518] = {0};
  memset(valid, 0xff, sizeof valid);
  csf_bit_clear(valid, 517);
  struct ArrowArray array = flat(518, 0, 1, 2, BUFFERS(valid, values));
  check_slice("int32", &array, 515, 3, "0 0 null");
}

static int64_t n_buffers_of(const char *type) {
  struct csf_schema *schema = test_schema(type);
  int64_t n = csf_layout_n_buffers(schema->root.children[0].layout);
  csf_schema_release(schema);
  return n;
}

static void no_rows_need_no_buffers(void) {
  static const char *const types[] = {"bool",      "int32",  "utf8", "large_binary",
                                      "utf8_view", "date64", "null", "decimal256(5, 1)"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    struct ArrowArray array = flat(0, 0, 0, n_buffers_of(types[i]), BUFFERS(NULL, NULL, NULL));
    check_slice(types[i], &array, 0, 0, "");
    static const char *const lists[] = {"list", "large_list", "list_view", "large_list_view"};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
      char type[64];
      snprintf(type, sizeof type, "%s<%s>", lists[l], types[i]);
      struct ArrowArray list = nested(flat(0, 0, 0, n_buffers_of(type), BUFFERS(NULL, NULL, NULL)), 1, CHILDREN(&array));
      check_slice(type, &list, 0, 0, "");
    }
  }
}

/* Bytes that a copy of rows [start, +length) takes. */
static uint64_t copy_size(const char *type, const struct ArrowArray *array, int64_t start, int64_t length) {
  struct csf_schema *schema = test_schema(type);
  struct colshuf_error err;
  struct ArrowArray out;
  uint64_t before = test_heap_bytes();
  REQUIRE_OK(csf_array_concat(&schema->root.children[0], &array, &start, &length, 1, &test_heap, &out, &err));
  uint64_t size = test_heap_bytes() - before;
  out.release(&out);
  csf_schema_release(schema);
  return size;
}

static void a_small_slice_takes_little_memory(void) {
  enum { ROWS = 10000 };
  static int32_t offsets[ROWS + 1];
  static uint8_t bytes[ROWS * 100];
  for (int i = 0; i <= ROWS; i++) offsets[i] = 100 * i;
  struct ArrowArray array = flat(ROWS, 0, 0, 3, BUFFERS(NULL, offsets, bytes));
  CHECK(copy_size("utf8", &array, ROWS / 2, 0) < 1000);
  CHECK(copy_size("utf8", &array, ROWS / 2, 1) < 1200);
}

static void views_of_the_same_bytes_do_not_multiply_them(void) {
  enum { ROWS = 1000, SIZE = 100000 };
  static uint8_t views[16 * ROWS], bytes[SIZE];
  for (int i = 0; i < ROWS; i++) csf_store_i32(views + 16 * i, SIZE); /* each is all of buffer 0 */
  int64_t sizes[] = {SIZE};
  struct ArrowArray array = flat(ROWS, 0, 0, 4, BUFFERS(NULL, views, bytes, sizes));
  CHECK(copy_size("binary_view", &array, 0, ROWS) < 16 * ROWS + SIZE + 2000);

  static int64_t starts[ROWS], lengths[ROWS];
  for (int i = 0; i < ROWS; i++) lengths[i] = SIZE;
  struct ArrowArray child = flat(SIZE, 0, 0, 2, BUFFERS(NULL, bytes));
  array = nested(flat(ROWS, 0, 0, 3, BUFFERS(NULL, starts, lengths)), 1, CHILDREN(&child));
  CHECK(copy_size("large_list_view<int8>", &array, 0, ROWS) < 16 * ROWS + SIZE + 2000);
}

static void check_limit(const char *type, const struct ArrowArray *array, const int64_t *rows, int64_t n, const char *message) {
  struct csf_schema *schema = test_schema(type);
  struct colshuf_error err;
  struct ArrowArray out;
  CHECK_STATUS(csf_array_take(&schema->root.children[0], array, rows, n, &test_heap, &out, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, message);
  csf_schema_release(schema);
}

static void what_32_bits_cannot_count_is_refused(void) {
  int32_t offsets[] = {0, 1 << 30};
  int64_t rows[] = {0, 0, 0, 0};
  struct ArrowArray array = flat(1, 0, 0, 3, BUFFERS(NULL, offsets, "never read"));
  check_limit("s: utf8", &array, rows, 2, "\"s\"");
  struct ArrowArray child = flat(1 << 30, 0, 0, 0, NULL);
  array = nested(flat(1, 0, 0, 2, BUFFERS(NULL, offsets)), 1, CHILDREN(&child));
  check_limit("l: list<null>", &array, rows, 2, "\"l\"");
  int16_t ends[] = {INT16_MAX};
  struct ArrowArray runs = flat(1, 0, 0, 2, BUFFERS(NULL, ends)), nulls = flat(1, 0, 0, 0, NULL);
  array = nested(flat(INT16_MAX, 0, 0, 0, NULL), 2, CHILDREN(&runs, &nulls));
  static int64_t many[INT16_MAX + 1];
  check_limit("r: run_end_encoded<int16, null>", &array, many, INT16_MAX + 1, "run ends");
}

static void dictionaries_that_outgrow_their_indices_are_refused(void) {
  int8_t indices[] = {99};
  int32_t left[100], right[100];
  for (int i = 0; i < 100; i++) left[i] = i;
  for (int i = 0; i < 100; i++) right[i] = -i;
  struct ArrowArray a = flat(100, 0, 0, 2, BUFFERS(NULL, left)), b = flat(100, 0, 0, 2, BUFFERS(NULL, right));
  struct ArrowArray one = flat(1, 0, 0, 2, BUFFERS(NULL, indices)), two = one;
  one.dictionary = &a;
  two.dictionary = &b;
  struct csf_schema *schema = test_schema("d: dictionary<int8, int32>");
  const struct ArrowArray *arrays[] = {&one, &two};
  int64_t starts[] = {0, 0}, lengths[] = {1, 1};
  struct colshuf_error err;
  struct ArrowArray out;
  CHECK_STATUS(csf_array_concat(&schema->root.children[0], arrays, starts, lengths, 2, &test_heap, &out, &err), COLSHUF_LIMIT);
  CHECK_CONTAINS(err.message, "\"d\"");
  memcpy(right, left, sizeof left); /* the same values: one dictionary */
  REQUIRE_OK(csf_array_concat(&schema->root.children[0], arrays, starts, lengths, 2, &test_heap, &out, &err));
  CHECK_INT(out.dictionary->length, 100);
  CHECK_VALUES(&schema->root.children[0], &out, "99 99");
  out.release(&out);
  csf_schema_release(schema);
}

static void equal_values_of_several_dictionaries_become_one(void) {
  int8_t indices[] = {0, 1, 2, 3};
  int32_t left_text[] = {0, 1, 3, 3, 3}, right_text[] = {0, 2, 2, 3, 4};
  uint8_t left_valid[] = {0x07}, right_valid[] = {0x0d};
  struct ArrowArray left = flat(4, 0, 1, 3, BUFFERS(left_valid, left_text, "abb"));     /* a bb '' null */
  struct ArrowArray right = flat(4, 0, 1, 3, BUFFERS(right_valid, right_text, "bbac")); /* bb null a c */
  struct ArrowArray one = flat(4, 0, 0, 2, BUFFERS(NULL, indices)), two = one;
  one.dictionary = &left;
  two.dictionary = &right;
  struct csf_schema *schema = test_schema("dictionary<int8, utf8>");
  const struct ArrowArray *arrays[] = {&one, &two, &one};
  int64_t starts[] = {0, 0, 1}, lengths[] = {4, 4, 3};
  struct colshuf_error err;
  struct ArrowArray out;
  REQUIRE_OK(csf_array_concat(&schema->root.children[0], arrays, starts, lengths, 3, &test_heap, &out, &err));
  CHECK_VALUES(&schema->root.children[0], &out, "'a' 'bb' '' null 'bb' null 'a' 'c' 'bb' '' null");
  CHECK_VALUES(schema->root.children[0].dictionary, out.dictionary, "'a' 'bb' '' null 'c'");
  out.release(&out);
  csf_schema_release(schema);
}

static const struct test_case tests[] = {
    TEST(sliced_booleans_move_to_bit_0),
    TEST(an_offset_counts_for_booleans_and_for_their_validity),
    TEST(a_slice_of_lists_has_its_own_values_only),
    TEST(strings_may_start_anywhere_in_their_bytes),
    TEST(padding_is_no_offset_for_any_number_of_rows),
    TEST(slices_of_one_list_column_follow_one_another),
    TEST(a_slice_of_a_map_has_its_own_entries_only),
    TEST(the_offset_of_a_struct_counts_for_its_children),
    TEST(the_second_of_two_structs_that_share_children_goes_on),
    TEST(the_offset_of_a_sparse_union_counts_for_its_members),
    TEST(the_offset_of_indices_is_not_that_of_their_dictionary),
    TEST(an_index_under_a_null_may_be_anything),
    TEST(a_dictionary_without_values_is_not_read),
    TEST(values_of_no_bytes_are_counted_all_the_same),
    TEST(a_null_data_buffer_of_inline_views_is_not_read),
    TEST(a_slice_inside_a_run_repeats_its_value),
    TEST(decimals_may_lie_at_any_address),
    TEST(decimals_of_every_width_keep_their_values),
    TEST(nulls_are_counted_anew_in_a_slice_of_a_slice),
    TEST(the_last_bit_of_518_rows_is_kept),
    TEST(no_rows_need_no_buffers),
    TEST(a_small_slice_takes_little_memory),
    TEST(views_of_the_same_bytes_do_not_multiply_them),
    TEST(what_32_bits_cannot_count_is_refused),
    TEST(equal_values_of_several_dictionaries_become_one),
    TEST(dictionaries_that_outgrow_their_indices_are_refused),
};
TEST_MAIN(tests)
