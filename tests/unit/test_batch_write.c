/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/batch_write.h"

#include "ipc/format_tables.h"
#include "ipc/lengths.h"
#include "ipc/message.h"
#include "ipc/schema_message.h"
#include "support/golden_bytes.h"
#include "support/harness.h"
#include "support/random.h"

/* Fields and arrays by hand. */
static struct csf_field field_of(enum csf_type type) {
  return (struct csf_field){
      .name = "c", .type = type, .layout = csf_type_layout(type), .width = csf_type_width(type), .nullable = true};
}

static struct csf_field nested(enum csf_type type, struct csf_field *children, int32_t n) {
  struct csf_field field = field_of(type);
  field.children = children;
  field.n_children = n;
  return field;
}

struct made {
  struct ArrowArray array;
  const void *buffers[4];
  struct ArrowArray *children[4];
};

/* NULL-terminated children. */
static struct ArrowArray *make(struct made *made, int64_t length, int64_t offset, const void *b0, const void *b1, const void *b2) {
  *made = (struct made){.buffers = {b0, b1, b2}};
  made->array = (struct ArrowArray){.length = length,
                                    .offset = offset,
                                    .null_count = -1,
                                    .n_buffers = 3,
                                    .buffers = made->buffers,
                                    .children = made->children};
  return &made->array;
}

static void add_child(struct made *made, struct ArrowArray *child) {
  made->children[made->array.n_children++] = child;
}

/* A written message, read with the verified accessors. */
struct parsed {
  struct csf_buffer out;
  struct csf_span body;
  int64_t length;
  uint32_t n_nodes, n_buffers, n_variadic;
  const uint8_t *nodes, *buffers, *variadic;
};

static void parse(struct parsed *parsed) {
  struct colshuf_error err;
  struct csf_cursor cursor = {parsed->out.data, parsed->out.size};
  struct csf_message message;
  bool end_marker;
  REQUIRE_OK(csf_message_take(&cursor, parsed->out.data, NULL, &message, &end_marker, &err));
  CHECK_INT(cursor.size, 0);
  struct csf_fb_table batch = csf_fb_child(csf_fb_root(message.metadata), CSF_MESSAGE_HEADER);
  if (message.kind == CSF_MESSAGE_DICTIONARY) batch = csf_fb_child(batch, CSF_DICTIONARY_DATA);
  struct csf_fb_vector nodes = csf_fb_elements(batch, CSF_BATCH_NODES), buffers = csf_fb_elements(batch, CSF_BATCH_BUFFERS);
  struct csf_fb_vector variadic = csf_fb_elements(batch, CSF_BATCH_VARIADIC);
  parsed->length = csf_fb_i64(batch, CSF_BATCH_LENGTH, 0);
  parsed->n_nodes = nodes.count;
  parsed->n_buffers = buffers.count;
  parsed->n_variadic = variadic.count;
  parsed->nodes = nodes.data;
  parsed->buffers = buffers.data;
  parsed->variadic = variadic.data;
  parsed->body = message.body;
}

static int64_t node_length(const struct parsed *parsed, uint32_t i) {
  return csf_load_i64(parsed->nodes + 16 * i);
}
static int64_t node_nulls(const struct parsed *parsed, uint32_t i) {
  return csf_load_i64(parsed->nodes + 16 * i + 8);
}
static int64_t buffer_size(const struct parsed *parsed, uint32_t i) {
  return csf_load_i64(parsed->buffers + 16 * i + 8);
}
static const uint8_t *buffer_data(const struct parsed *parsed, uint32_t i) {
  return parsed->body.data + csf_load_i64(parsed->buffers + 16 * i);
}

#define CHECK_BUFFER(parsed, i, ...)                                                             \
  do {                                                                                           \
    CHECK_INT(buffer_size((parsed), (i)), sizeof(__VA_ARGS__));                                  \
    if (buffer_size((parsed), (i)) == (int64_t)sizeof(__VA_ARGS__))                              \
      CHECK(memcmp(buffer_data((parsed), (i)), (__VA_ARGS__), sizeof(__VA_ARGS__)) == 0);        \
  } while (0)
#define I32(...) ((const int32_t[]){__VA_ARGS__})
#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define U8(...) ((const uint8_t[]){__VA_ARGS__})

/* Writes rows [start, + length) of one column with the compact settings. */
static void write_column(struct parsed *parsed, struct csf_field *column, struct ArrowArray *array, int64_t start, int64_t length) {
  struct colshuf_error err;
  struct csf_field root = nested(CSF_STRUCT, column, 1);
  struct made batch;
  make(&batch, array->length, 0, NULL, NULL, NULL);
  add_child(&batch, array);
  struct csf_batch_writer writer;
  csf_batch_writer_init(&writer, &test_heap);
  csf_buffer_init(&parsed->out, &test_heap);
  REQUIRE_OK(csf_batch_write(&writer, &root, &batch.array, start, length, &parsed->out, &err));
  csf_batch_writer_clear(&writer);
  parse(parsed);
  CHECK_INT(parsed->length, length);
  for (uint32_t i = 0; i < parsed->n_buffers; i++) CHECK_INT(csf_load_i64(parsed->buffers + 16 * i) % 8, 0);
}

static void a_lead_stands_before_the_buffers_of_large_batches_only(void) {
  static int32_t values[CSF_LEAD_MIN_ROWS];
  struct csf_field field = field_of(CSF_INT32), root = nested(CSF_STRUCT, &field, 1);
  struct made made, batch;
  struct colshuf_error err;
  struct csf_batch_writer writer;
  values[0] = 7;
  make(&batch, CSF_LEAD_MIN_ROWS, 0, NULL, NULL, NULL);
  add_child(&batch, make(&made, CSF_LEAD_MIN_ROWS, 0, NULL, values, NULL));
  csf_batch_writer_init(&writer, &test_heap);
  for (int lead = 0; lead < 2; lead++) {
    for (int64_t length = CSF_LEAD_MIN_ROWS - 1; length <= CSF_LEAD_MIN_ROWS; length++) {
      struct parsed parsed;
      writer.lead = lead != 0;
      csf_buffer_init(&parsed.out, &test_heap);
      REQUIRE_OK(csf_batch_write(&writer, &root, &batch.array, 0, length, &parsed.out, &err));
      parse(&parsed);
      CHECK_INT(parsed.n_buffers, 2);
      CHECK_INT(buffer_data(&parsed, 1) - parsed.body.data, lead && length == CSF_LEAD_MIN_ROWS ? 16 : 0);
      CHECK_INT(buffer_size(&parsed, 1), 4 * length);
      CHECK_INT(csf_load_i32(buffer_data(&parsed, 1)), 7);
      csf_buffer_clear(&parsed.out);
    }
  }
  csf_batch_writer_clear(&writer);
}

/* What arrow-rs' settings give for a batch and its dictionaries, between a schema message and an end marker. */
static void check_golden(struct csf_field *columns, int32_t n, struct ArrowArray *batch, const char *hex) {
  struct colshuf_error err;
  struct csf_schema schema = {.root = nested(CSF_STRUCT, columns, n)};
  struct csf_buffer golden = test_hex(hex), out;
  struct csf_batch_writer writer;
  csf_schema_number_dictionaries(&schema);
  csf_batch_writer_init(&writer, &test_heap);
  writer.alignment = 64;
  writer.always_validity = true;
  csf_buffer_init(&out, &test_heap);
  for (int round = 0; round < 2; round++) {
    out.size = 0;
    REQUIRE_OK(csf_schema_message_write(&schema, 64, &out, &err));
    REQUIRE_OK(csf_dictionaries_write(&writer, &schema.root, batch, &out, &err));
    REQUIRE_OK(csf_batch_write(&writer, &schema.root, batch, 0, batch->length, &out, &err));
    REQUIRE_OK(csf_buffer_append(&out, csf_end_marker, sizeof csf_end_marker, &err));
    CHECK_INT(out.size, golden.size);
    CHECK(out.size == golden.size && memcmp(out.data, golden.data, out.size) == 0);
  }
  csf_batch_writer_clear(&writer);
  csf_buffer_clear(&out);
  csf_buffer_clear(&golden);
}

static void t1_has_the_bytes_of_arrow_rs(void) {
  struct csf_field columns[2] = {field_of(CSF_INT32), field_of(CSF_UTF8)};
  columns[0].name = "id";
  columns[0].nullable = false;
  columns[1].name = "name";
  struct made batch, id, name;
  make(&batch, 3, 0, NULL, NULL, NULL);
  add_child(&batch, make(&id, 3, 0, NULL, I32(1, 2, 3), NULL));
  add_child(&batch, make(&name, 3, 0, U8(5), I32(0, 1, 1, 4), "accc"));
  check_golden(columns, 2, &batch.array, TEST_GOLDEN_T1);
}

static void t3_has_the_bytes_of_arrow_rs(void) {
  struct csf_field values = field_of(CSF_UTF8), column = field_of(CSF_INT32);
  column.name = "d";
  column.dictionary = &values;
  struct made batch, indices, dictionary;
  make(&batch, 5, 0, NULL, NULL, NULL);
  add_child(&batch, make(&indices, 5, 0, U8(0x17), I32(0, 1, 0, 0, 1), NULL));
  indices.array.dictionary = make(&dictionary, 2, 0, NULL, I32(0, 1, 2), "xy");
  check_golden(&column, 1, &batch.array, TEST_GOLDEN_T3);
}

static void t4_has_the_bytes_of_arrow_rs(void) {
  struct made batch;
  make(&batch, 5, 0, NULL, NULL, NULL);
  check_golden(NULL, 0, &batch.array, TEST_GOLDEN_T4);
}

static void bits_of_a_sliced_bool_column_start_at_bit_0(void) {
  struct csf_field field = field_of(CSF_BOOL);
  struct made made;
  struct parsed parsed;
  write_column(&parsed, &field, make(&made, 2, 0, NULL, U8(1), NULL), 1, 1);
  CHECK_BUFFER(&parsed, 1, U8(0));
  csf_buffer_clear(&parsed.out);
  const uint8_t bits[4] = {0xa5, 0x3c, 0x0f, 0xff};
  for (int64_t offset = 1; offset <= 9; offset++) {
    write_column(&parsed, &field, make(&made, 20, offset, bits, bits, NULL), 1, 17);
    int64_t nulls = 0;
    for (int64_t i = 0; i < 17; i++) {
      bool wanted = csf_bit_get(bits, offset + 1 + i);
      nulls += !wanted;
      CHECK(csf_bit_get(buffer_data(&parsed, 0), i) == wanted);
      CHECK(csf_bit_get(buffer_data(&parsed, 1), i) == wanted);
    }
    CHECK_INT(node_nulls(&parsed, 0), nulls);
    CHECK_INT(buffer_size(&parsed, 1), 3);
    CHECK_INT(buffer_data(&parsed, 1)[2] & ~1, 0);
    csf_buffer_clear(&parsed.out);
  }
}

static void a_validity_bitmap_has_a_bit_for_every_row(void) {
  static int32_t values[518];
  static uint8_t validity[65];
  memset(validity, 0xff, sizeof validity);
  csf_bit_clear(validity, 517);
  struct csf_field field = field_of(CSF_INT32);
  struct made made;
  struct parsed parsed;
  write_column(&parsed, &field, make(&made, 518, 0, validity, values, NULL), 0, 518);
  CHECK_INT(node_nulls(&parsed, 0), 1);
  CHECK_INT(buffer_size(&parsed, 0), 65);
  csf_buffer_clear(&parsed.out);
  /* The same without its last row: no null is left, and no bitmap. */
  write_column(&parsed, &field, &made.array, 0, 517);
  CHECK_INT(node_nulls(&parsed, 0), 0);
  CHECK_INT(buffer_size(&parsed, 0), 0);
  csf_buffer_clear(&parsed.out);
}

static void a_sliced_list_carries_only_its_values(void) {
  struct csf_field item = field_of(CSF_UINT32), field = nested(CSF_LIST, &item, 1);
  struct made lists, values;
  struct parsed parsed;
  make(&lists, 2, 0, NULL, I32(0, 0, 2), NULL);
  add_child(&lists, make(&values, 2, 0, NULL, I32(35, 42), NULL));
  write_column(&parsed, &field, &lists.array, 1, 1);
  CHECK_BUFFER(&parsed, 1, I32(0, 2));
  CHECK_INT(node_length(&parsed, 1), 2);
  CHECK_BUFFER(&parsed, 3, I32(35, 42));
  csf_buffer_clear(&parsed.out);
}

static void offsets_that_do_not_start_at_0_are_rebased(void) {
  struct csf_field item = field_of(CSF_INT32), list = nested(CSF_LIST, &item, 1), text = field_of(CSF_UTF8);
  struct made lists, values, strings;
  struct parsed parsed;
  make(&lists, 2, 0, NULL, I32(3, 5, 6), NULL);
  add_child(&lists, make(&values, 6, 0, NULL, I32(0, 1, 2, 3, 4, 5), NULL));
  write_column(&parsed, &list, &lists.array, 0, 2);
  CHECK_BUFFER(&parsed, 1, I32(0, 2, 3));
  CHECK_BUFFER(&parsed, 3, I32(3, 4, 5));
  csf_buffer_clear(&parsed.out);
  write_column(&parsed, &text, make(&strings, 2, 0, NULL, I32(4, 7, 9), "abcdefghi"), 0, 2);
  CHECK_BUFFER(&parsed, 1, I32(0, 3, 5));
  CHECK_INT(buffer_size(&parsed, 2), 5);
  CHECK(memcmp(buffer_data(&parsed, 2), "efghi", 5) == 0);
  csf_buffer_clear(&parsed.out);
}

static void every_count_of_offsets_is_rebased_in_both_widths(void) {
  enum { MOST = 40 };
  int32_t narrow[MOST + 1];
  int64_t wide[MOST + 1];
  static const char bytes[4 * MOST];
  for (int i = 0; i <= MOST; i++) wide[i] = narrow[i] = 3 * i + 5;
  struct csf_field fields[2] = {field_of(CSF_BINARY), field_of(CSF_LARGE_BINARY)};
  for (int64_t start = 0; start < 4; start++) {
    for (int64_t n = 1; n + start <= MOST; n++) {
      for (int kind = 0; kind < 2; kind++) {
        struct made made;
        struct parsed parsed;
        make(&made, MOST, 0, NULL, kind == 0 ? (const void *)narrow : wide, bytes);
        write_column(&parsed, &fields[kind], &made.array, start, n);
        for (int64_t i = 0; i <= n; i++) {
          const uint8_t *offsets = buffer_data(&parsed, 1);
          CHECK_INT(kind == 0 ? csf_load_i32(offsets + 4 * i) : csf_load_i64(offsets + 8 * i), 3 * i);
        }
        CHECK_INT(buffer_size(&parsed, 1), (kind == 0 ? 4 : 8) * (n + 1));
        CHECK_INT(buffer_size(&parsed, 2), 3 * n);
        csf_buffer_clear(&parsed.out);
      }
    }
  }
}

static void a_slice_of_a_list_of_strings_does_not_repeat_earlier_rows(void) {
  struct csf_field item = field_of(CSF_UTF8), field = nested(CSF_LIST, &item, 1);
  struct made lists, values;
  struct parsed parsed;
  make(&lists, 3, 0, NULL, I32(0, 3, 6, 9), NULL);
  add_child(&lists, make(&values, 9, 0, NULL, I32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), "abcdefghi"));
  write_column(&parsed, &field, &lists.array, 1, 2);
  CHECK_BUFFER(&parsed, 1, I32(0, 3, 6));
  CHECK_BUFFER(&parsed, 3, I32(0, 1, 2, 3, 4, 5, 6));
  CHECK(memcmp(buffer_data(&parsed, 4), "defghi", 6) == 0);
  csf_buffer_clear(&parsed.out);
}

static void a_slice_of_a_map_holds_its_own_entries(void) {
  struct csf_field pair[2] = {field_of(CSF_UTF8), field_of(CSF_INT32)};
  struct csf_field entries = nested(CSF_STRUCT, pair, 2), field = nested(CSF_MAP, &entries, 1);
  struct made map, structs, keys, values;
  struct parsed parsed;
  make(&structs, 4, 0, NULL, NULL, NULL);
  add_child(&structs, make(&keys, 4, 0, NULL, I32(0, 1, 2, 3, 4), "abcd"));
  add_child(&structs, make(&values, 4, 0, NULL, I32(1, 2, 3, 4), NULL));
  make(&map, 3, 0, NULL, I32(0, 1, 3, 4), NULL);
  add_child(&map, &structs.array);
  write_column(&parsed, &field, &map.array, 1, 1);
  CHECK_BUFFER(&parsed, 1, I32(0, 2));
  CHECK_INT(node_length(&parsed, 1), 2);
  CHECK(memcmp(buffer_data(&parsed, 5), "bc", 2) == 0);
  CHECK_BUFFER(&parsed, 7, I32(2, 3));
  csf_buffer_clear(&parsed.out);
}

static void the_offset_of_a_struct_counts_for_its_children(void) {
  struct csf_field children[2] = {field_of(CSF_INT64), field_of(CSF_BOOL)}, field = nested(CSF_STRUCT, children, 2);
  struct made structs, numbers, flags;
  struct parsed parsed;
  make(&structs, 7, 3, NULL, NULL, NULL);
  add_child(&structs, make(&numbers, 10, 1, NULL, I64(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), NULL));
  add_child(&structs, make(&flags, 10, 0, NULL, U8(0x50, 0), NULL));
  write_column(&parsed, &field, &structs.array, 1, 3);
  CHECK_BUFFER(&parsed, 2, I64(4, 5, 6));
  CHECK_BUFFER(&parsed, 4, U8(5));
  csf_buffer_clear(&parsed.out);
}

static void a_fixed_size_list_takes_its_children_times_its_size(void) {
  struct csf_field item = field_of(CSF_INT32), field = nested(CSF_FIXED_SIZE_LIST, &item, 1);
  field.width = 2;
  struct made lists, values;
  struct parsed parsed;
  make(&lists, 3, 1, NULL, NULL, NULL);
  add_child(&lists, make(&values, 8, 1, NULL, I32(-1, 0, 1, 2, 3, 4, 5, 6, 7), NULL));
  write_column(&parsed, &field, &lists.array, 1, 2);
  CHECK_BUFFER(&parsed, 2, I32(4, 5, 6, 7));
  csf_buffer_clear(&parsed.out);
}

static void a_sliced_sparse_union_keeps_to_its_rows(void) {
  static const int8_t ids[1] = {0};
  struct csf_field child = field_of(CSF_INT32), field = nested(CSF_SPARSE_UNION, &child, 1);
  field.type_ids = ids;
  struct made unions, values;
  struct parsed parsed;
  make(&unions, 1, 2, U8(0, 0, 0), NULL, NULL);
  add_child(&unions, make(&values, 3, 0, U8(6), I32(0, 20, 30), NULL));
  write_column(&parsed, &field, &unions.array, 0, 1);
  CHECK_BUFFER(&parsed, 0, U8(0));
  CHECK_BUFFER(&parsed, 2, I32(30));
  CHECK_INT(node_nulls(&parsed, 1), 0);
  csf_buffer_clear(&parsed.out);
}

static void a_sliced_dense_union_cuts_its_children(void) {
  static const int8_t ids[2] = {5, 9};
  struct csf_field children[2] = {field_of(CSF_INT32), field_of(CSF_UTF8)}, field = nested(CSF_DENSE_UNION, children, 2);
  field.type_ids = ids;
  struct made unions, numbers, strings;
  struct parsed parsed;
  make(&unions, 6, 0, U8(5, 9, 5, 9, 9, 5), I32(0, 0, 1, 1, 2, 2), NULL);
  add_child(&unions, make(&numbers, 3, 0, NULL, I32(10, 11, 12), NULL));
  add_child(&unions, make(&strings, 3, 0, NULL, I32(0, 1, 2, 3), "abc"));
  write_column(&parsed, &field, &unions.array, 2, 3);
  CHECK_BUFFER(&parsed, 0, U8(5, 9, 9));
  CHECK_BUFFER(&parsed, 1, I32(0, 0, 1));
  CHECK_BUFFER(&parsed, 3, I32(11));
  CHECK_BUFFER(&parsed, 5, I32(0, 1, 2));
  CHECK(memcmp(buffer_data(&parsed, 6), "bc", 2) == 0);
  csf_buffer_clear(&parsed.out);
}

static void run_ends_are_cut_and_rebased(void) {
  struct csf_field children[2] = {field_of(CSF_INT32), field_of(CSF_UTF8)}, field = nested(CSF_RUN_END_ENCODED, children, 2);
  struct made runs, ends, values;
  struct parsed parsed;
  make(&runs, 9, 1, NULL, NULL, NULL);
  add_child(&runs, make(&ends, 4, 0, NULL, I32(2, 5, 6, 10), NULL));
  add_child(&runs, make(&values, 4, 0, NULL, I32(0, 1, 2, 3, 4), "abcd"));
  write_column(&parsed, &field, &runs.array, 2, 4); /* rows 3 to 7 of the runs: b b c d */
  CHECK_INT(node_length(&parsed, 0), 4);
  CHECK_BUFFER(&parsed, 1, I32(2, 3, 4));
  CHECK_BUFFER(&parsed, 3, I32(0, 1, 2, 3));
  CHECK(memcmp(buffer_data(&parsed, 4), "bcd", 3) == 0);
  csf_buffer_clear(&parsed.out);
  write_column(&parsed, &field, &runs.array, 2, 0);
  CHECK_INT(node_length(&parsed, 1), 0);
  CHECK_INT(buffer_size(&parsed, 1), 0);
  csf_buffer_clear(&parsed.out);
}

static void list_views_lose_the_values_that_no_row_uses(void) {
  struct csf_field item = field_of(CSF_INT32), field = nested(CSF_LIST_VIEW, &item, 1);
  struct made lists, values;
  struct parsed parsed;
  /* Row 1 is null over nonsense, row 2 is empty with a far offset. */
  make(&lists, 5, 0, U8(0x1d), I32(0, 99, 7, 5, 4), I32(8, 99, 0, 2, 3));
  add_child(&lists, make(&values, 8, 0, NULL, I32(0, 1, 2, 3, 4, 5, 6, 7), NULL));
  write_column(&parsed, &field, &lists.array, 1, 4);
  CHECK_BUFFER(&parsed, 1, I32(0, 0, 1, 0));
  CHECK_BUFFER(&parsed, 2, I32(0, 0, 2, 3));
  CHECK_BUFFER(&parsed, 4, I32(4, 5, 6));
  csf_buffer_clear(&parsed.out);
}

static void put_view(uint8_t *view, const char *text, int32_t buffer, int32_t at) {
  int32_t size = (int32_t)strlen(text);
  memset(view, 0, 16);
  csf_store_i32(view, size);
  memcpy(view + 4, text, size <= 12 ? (size_t)size : 4);
  if (size <= 12) return;
  csf_store_i32(view + 8, buffer);
  csf_store_i32(view + 12, at);
}

static void views_of_a_slice_take_only_their_own_bytes_along(void) {
  struct csf_field field = field_of(CSF_UTF8_VIEW);
  static const char first[] = "a text of the first buffer", second[] = "unused, then: what the second one holds";
  uint8_t views[64];
  put_view(views, first, 0, 0);
  put_view(views + 16, "short", 0, 0);
  put_view(views + 32, second + 14, 1, 14);
  memset(views + 48, 0xff, 16); /* null */
  const int64_t sizes[2] = {sizeof first - 1, sizeof second - 1};
  const void *buffers[5] = {U8(7), views, first, second, sizes};
  struct ArrowArray array = {.length = 4, .null_count = 1, .n_buffers = 5, .buffers = buffers};
  struct parsed parsed;
  write_column(&parsed, &field, &array, 1, 3);
  CHECK_INT(parsed.n_variadic, 1);
  CHECK_INT(csf_load_i64(parsed.variadic), 1);
  CHECK_INT(buffer_size(&parsed, 2), 25);
  CHECK(memcmp(buffer_data(&parsed, 2), second + 14, 25) == 0);
  uint8_t wanted[48] = {0};
  put_view(wanted, "short", 0, 0);
  put_view(wanted + 16, second + 14, 0, 0);
  CHECK_BUFFER(&parsed, 1, wanted);
  csf_buffer_clear(&parsed.out);
  write_column(&parsed, &field, &array, 2, 0);
  CHECK_INT(csf_load_i64(parsed.variadic), 0);
  CHECK_INT(parsed.body.size, 0);
  csf_buffer_clear(&parsed.out);
}

static void a_slice_without_rows_writes_one_offset(void) {
  enum { ROWS = 1000000 };
  int32_t *offsets = csf_alloc(&test_heap, (ROWS + 1) * sizeof *offsets);
  char *bytes = csf_alloc_zero(&test_heap, 10 * ROWS);
  for (int32_t i = 0; i <= ROWS; i++) offsets[i] = 10 * i;
  struct csf_field field = field_of(CSF_UTF8);
  struct made made;
  struct parsed parsed;
  make(&made, ROWS, 0, NULL, offsets, bytes);
  write_column(&parsed, &field, &made.array, ROWS / 2, 0);
  CHECK_BUFFER(&parsed, 1, I32(0));
  CHECK_INT(parsed.body.size, 8);
  csf_buffer_clear(&parsed.out);
  write_column(&parsed, &field, &made.array, ROWS / 2, 1);
  CHECK_BUFFER(&parsed, 1, I32(0, 10));
  CHECK_INT(buffer_size(&parsed, 2), 10);
  CHECK(parsed.out.size < 512);
  csf_buffer_clear(&parsed.out);
  csf_free(&test_heap, offsets, (ROWS + 1) * sizeof *offsets);
  csf_free(&test_heap, bytes, 10 * ROWS);
}

/* Arrays of no rows may have no buffers at all, whatever their offset. */
static void arrays_without_rows_need_no_buffers(void) {
  static const int8_t ids[2] = {0, 1};
  for (int type = 0; type < CSF_N_TYPES; type++) {
    struct csf_field children[2] = {field_of(CSF_INT32), field_of(CSF_INT32)};
    struct csf_field entries = nested(CSF_STRUCT, children, 2), field = field_of((enum csf_type)type);
    struct made made, first, second, pair;
    struct parsed parsed;
    make(&pair, 0, 0, NULL, NULL, NULL);
    add_child(&pair, make(&first, 0, 0, NULL, NULL, NULL));
    add_child(&pair, make(&second, 0, 0, NULL, NULL, NULL));
    make(&made, 0, 3, NULL, NULL, NULL);
    field.type_ids = ids;
    if (type >= CSF_LIST) {
      field.children = type == CSF_MAP ? &entries : children;
      field.n_children = type < CSF_STRUCT || type == CSF_MAP ? 1 : 2;
      if (type == CSF_MAP) add_child(&made, &pair.array);
      else add_child(&made, &first.array);
      add_child(&made, &second.array);
    }
    /* A struct's offset counts for its children, so they too must have that many rows: leave it out there. */
    if (type == CSF_STRUCT || type == CSF_SPARSE_UNION) made.array.offset = 0;
    if (type == CSF_FIXED_SIZE_LIST) made.array.offset = 0;
    write_column(&parsed, &field, &made.array, 0, 0);
    CHECK(parsed.body.size <= 8);
    csf_buffer_clear(&parsed.out);
  }
}

static void offsets_go_out_as_lengths_where_that_is_wanted(void) {
  struct colshuf_error err;
  struct csf_field text = field_of(CSF_UTF8), root = nested(CSF_STRUCT, &text, 1);
  struct made batch, strings;
  make(&batch, 3, 0, NULL, NULL, NULL);
  add_child(&batch, make(&strings, 3, 0, NULL, I32(2, 3, 3, 6), "--abcd"));
  struct parsed parsed;
  struct csf_batch_writer writer;
  csf_batch_writer_init(&writer, &test_heap);
  writer.offsets_as_lengths = true;
  csf_buffer_init(&parsed.out, &test_heap);
  REQUIRE_OK(csf_batch_write(&writer, &root, &batch.array, 0, 3, &parsed.out, &err));
  parse(&parsed);
  CHECK_BUFFER(&parsed, 1, U8(0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  parsed.out.size = 0;
  REQUIRE_OK(csf_batch_write(&writer, &root, &batch.array, 1, 0, &parsed.out, &err));
  parse(&parsed);
  CHECK_BUFFER(&parsed, 1, U8(0, 0, 0, 0));
  csf_buffer_clear(&parsed.out);
  csf_batch_writer_clear(&writer);
}

/* Broken arrays must not lead the writer astray, although callers are to validate them. */
static void references_that_lead_nowhere_are_refused(void) {
  struct colshuf_error err;
  struct csf_field item = field_of(CSF_INT32), list = nested(CSF_LIST, &item, 1), text = field_of(CSF_UTF8);
  struct made batch, column, values;
  struct csf_buffer out;
  struct csf_batch_writer writer;
  csf_batch_writer_init(&writer, &test_heap);
  csf_buffer_init(&out, &test_heap);
  make(&batch, 2, 0, NULL, NULL, NULL);
  add_child(&batch, &column.array);
  struct csf_field root = nested(CSF_STRUCT, &text, 1);
  make(&column, 2, 0, NULL, I32(0, 7, 4), "abcdefg");
  REQUIRE_OK(csf_batch_write(&writer, &root, &batch.array, 0, 2, &out, &err));
  CHECK_STATUS(csf_batch_write(&writer, &root, &batch.array, 1, 1, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "from 7 to 4");
  make(&column, 2, 0, NULL, NULL, NULL);
  CHECK_STATUS(csf_batch_write(&writer, &root, &batch.array, 0, 2, &out, &err), COLSHUF_INVALID_ARGUMENT);
  root = nested(CSF_STRUCT, &list, 1);
  make(&column, 2, 0, NULL, I32(0, 1, 4), NULL);
  add_child(&column, make(&values, 3, 0, NULL, I32(1, 2, 3), NULL));
  CHECK_STATUS(csf_batch_write(&writer, &root, &batch.array, 0, 2, &out, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "column 0 \"c\"");
  CHECK_STATUS(csf_batch_write(&writer, &root, &batch.array, 1, 2, &out, &err), COLSHUF_INVALID_ARGUMENT);
  csf_buffer_clear(&out);
  csf_batch_writer_clear(&writer);
}

static void a_limit_is_found_before_memory_is_asked_for(void) {
  struct colshuf_error err;
  struct csf_field field = field_of(CSF_FIXED_SIZE_BINARY), root = nested(CSF_STRUCT, &field, 1);
  field.width = INT32_MAX;
  struct made batch, values;
  make(&batch, 1000, 0, NULL, NULL, NULL);
  add_child(&batch, make(&values, 1000, 0, NULL, "", NULL));
  struct csf_buffer out;
  struct csf_batch_writer writer;
  csf_batch_writer_init(&writer, &test_heap);
  csf_buffer_init(&out, &test_heap);
  writer.max_body_size = INT32_MAX;
  test_heap_reset_peak();
  CHECK_STATUS(csf_batch_write(&writer, &root, &batch.array, 0, 1000, &out, &err), COLSHUF_LIMIT);
  CHECK(test_heap_peak() < 100000);
  csf_buffer_clear(&out);
  csf_batch_writer_clear(&writer);
}

struct random_batch {
  struct csf_schema *schema;
  struct ArrowArray batch;
};

static struct random_batch random_batch(uint64_t seed, int64_t rows) {
  struct test_random random = {seed};
  struct test_schema_options schema_options = {.n_columns = 8};
  struct random_batch made = {.schema = test_random_schema(&random, &schema_options)};
  struct test_array_options options = {.rows = rows, .null_percent = 20, .shape = TEST_WILD};
  test_random_array(&random, &made.schema->root, &options, &made.batch);
  return made;
}

static void random_batch_clear(struct random_batch *made) {
  made->batch.release(&made->batch);
  csf_schema_release(made->schema);
}

static enum colshuf_status write_random(void *ctx) {
  struct random_batch *made = ctx;
  struct csf_batch_writer writer;
  struct csf_buffer out;
  csf_batch_writer_init(&writer, &test_heap);
  csf_buffer_init(&out, &test_heap);
  enum colshuf_status status = csf_dictionaries_write(&writer, &made->schema->root, &made->batch, &out, NULL);
  if (status == COLSHUF_OK) status = csf_batch_write(&writer, &made->schema->root, &made->batch, 0, made->batch.length, &out, NULL);
  csf_buffer_clear(&out);
  csf_batch_writer_clear(&writer);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    struct random_batch made = random_batch(seed, 20);
    CHECK(test_oom_sweep(write_random, &made) > 0);
    random_batch_clear(&made);
  }
}

/* Messages with bodies compressed and not; the writer and its output have grown as far as they need to after the first. */
static void a_writer_is_used_again_without_allocating(void) {
  struct colshuf_error err;
  struct random_batch made = random_batch(3, 50);
  struct csf_batch_writer writer;
  struct csf_buffer out;
  csf_batch_writer_init(&writer, &test_heap);
  csf_buffer_init(&out, &test_heap);
  uint64_t calls = 0;
  for (int round = 0; round < 10; round++) {
    out.size = 0;
    REQUIRE_OK(csf_batch_write(&writer, &made.schema->root, &made.batch, 0, made.batch.length, &out, &err));
    if (round == 0) calls = test_heap_calls();
  }
  CHECK_INT(test_heap_calls(), calls);
  csf_buffer_clear(&out);
  csf_batch_writer_clear(&writer);
  random_batch_clear(&made);
}

static const struct test_case tests[] = {
    TEST(a_lead_stands_before_the_buffers_of_large_batches_only),
    TEST(t1_has_the_bytes_of_arrow_rs),
    TEST(t3_has_the_bytes_of_arrow_rs),
    TEST(t4_has_the_bytes_of_arrow_rs),
    TEST(bits_of_a_sliced_bool_column_start_at_bit_0),
    TEST(a_validity_bitmap_has_a_bit_for_every_row),
    TEST(a_sliced_list_carries_only_its_values),
    TEST(offsets_that_do_not_start_at_0_are_rebased),
    TEST(every_count_of_offsets_is_rebased_in_both_widths),
    TEST(a_slice_of_a_list_of_strings_does_not_repeat_earlier_rows),
    TEST(a_slice_of_a_map_holds_its_own_entries),
    TEST(the_offset_of_a_struct_counts_for_its_children),
    TEST(a_fixed_size_list_takes_its_children_times_its_size),
    TEST(a_sliced_sparse_union_keeps_to_its_rows),
    TEST(a_sliced_dense_union_cuts_its_children),
    TEST(run_ends_are_cut_and_rebased),
    TEST(list_views_lose_the_values_that_no_row_uses),
    TEST(views_of_a_slice_take_only_their_own_bytes_along),
    TEST(a_slice_without_rows_writes_one_offset),
    TEST(arrays_without_rows_need_no_buffers),
    TEST(offsets_go_out_as_lengths_where_that_is_wanted),
    TEST(references_that_lead_nowhere_are_refused),
    TEST(a_limit_is_found_before_memory_is_asked_for),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(a_writer_is_used_again_without_allocating),
};
TEST_MAIN(tests)
