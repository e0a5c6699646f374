/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "support/handmade.h"
#include "support/value.h"

/* Values. */

static void offsets_are_never_negative_never_fall_and_end_within_the_bytes(void) {
  struct colshuf_error err;
  struct csf_field field = field_of(CSF_BINARY);
  struct ArrowArray array = ARRAY(2, BUFFERS(NULL, I32(0, 3, 9), "abcdefghi"));
  GOOD(&field, &array);
  int64_t sizes[3] = {0, 12, 6};
  struct csf_buffer_sizes known = {sizes, 3};
  CHECK_STATUS(csf_array_validate(&field, &array, &known, CSF_VALIDATE_STRUCTURE, &err), COLSHUF_OK);
  CHECK_STATUS(csf_array_validate(&field, &array, &known, CSF_VALIDATE_MEMORY, &err), COLSHUF_CORRUPT);
  CHECK_STRING(err.message, "column \"c\": row 1: offset 9 is past the 6 bytes");
  array.buffers[1] = I32(0, 5, 4);
  BAD(&field, &array, MEMORY, "row 1: offset falls from 5 to 4");
  array.buffers[1] = I32(-1, 3, 9);
  BAD(&field, &array, ENDS, "row 0: offset -1 is negative");
  array.buffers[1] = I32(0, INT32_MIN, 9);
  BAD(&field, &array, MEMORY, "negative");
  array = ARRAY(2, BUFFERS(NULL, I32(0, 0, 1), NULL));
  BAD(&field, &array, ENDS, "past the 0 bytes");
}

static void large_offsets_follow_the_same_rules(void) {
  struct csf_field field = field_of(CSF_LARGE_BINARY);
  struct ArrowArray array = ARRAY(2, BUFFERS(NULL, I64(0, 3, 9), "abcdefghi"));
  GOOD(&field, &array);
  array.buffers[1] = I64(0, (int64_t)1 << 40, 9);
  BAD(&field, &array, MEMORY, "offset falls from 1099511627776 to 9");
  array.buffers[1] = I64(0, INT64_MIN, 9);
  BAD(&field, &array, MEMORY, "negative");
}

static void offsets_must_not_fall_under_null_slots_either(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(3, BUFFERS(BITS(2), I32(2, 0, 2, 2), "ab"));
  array.null_count = 2;
  BAD(&field, &array, MEMORY, "offset falls from 2 to 0");
}

static void an_empty_array_at_an_offset_reads_nothing(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(0, BUFFERS(NULL, I32(0, 1, 2, 3), "abc"));
  array.offset = 3;
  GOOD(&field, &array);
}

static void list_offsets_end_within_the_child(void) {
  struct csf_field child_field = field_of(CSF_INT32), field = field_over(CSF_LIST, &child_field, 1);
  struct ArrowArray child = ARRAY(3, BUFFERS(NULL, I32(0, 1, 2)));
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(2, BUFFERS(NULL, I32(0, 1, 3)), children);
  GOOD(&field, &array);
  child.length = 2;
  BAD(&field, &array, ENDS, "row 1: offset 3 is past the 2 values");
  array.buffers[1] = I32(2, 1, 1);
  BAD(&field, &array, ENDS, "offset falls");
  field = field_over(CSF_LARGE_LIST, &child_field, 1);
  array.buffers[1] = I64(0, 1, 3);
  BAD(&field, &array, ENDS, "offset 3 is past the 2 values");
}

static void list_views_lie_within_the_child(void) {
  static const int32_t wrong[][2] = {{-1, 1}, {0, -1}, {0, 4}, {3, 1}, {4, 0}, {INT32_MAX, INT32_MAX}, {INT32_MIN, 1}};
  struct csf_field child_field = field_of(CSF_INT32);
  struct csf_field narrow = field_over(CSF_LIST_VIEW, &child_field, 1), wide = field_over(CSF_LARGE_LIST_VIEW, &child_field, 1);
  struct ArrowArray child = ARRAY(3, BUFFERS(NULL, I32(0, 1, 2)));
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(2, BUFFERS(NULL, I32(3, 0), I32(0, 3)), children);
  GOOD(&narrow, &array);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    array = PARENT(2, BUFFERS(NULL, I32(3, wrong[i][0]), I32(0, wrong[i][1])), children);
    BAD(&narrow, &array, MEMORY, "row 1: list of");
    array = PARENT(2, BUFFERS(NULL, I64(3, wrong[i][0]), I64(0, wrong[i][1])), children);
    BAD(&wide, &array, MEMORY, "row 1: list of");
  }
  array = PARENT(1, BUFFERS(NULL, I64(INT64_MAX), I64(INT64_MAX)), children);
  BAD(&wide, &array, MEMORY, "row 0: list of");
}

static void fixed_lists_need_their_share_of_the_child(void) {
  struct csf_field child_field = field_of(CSF_INT32), field = field_over(CSF_FIXED_SIZE_LIST, &child_field, 1);
  struct ArrowArray child = ARRAY(6, BUFFERS(NULL, I32(0, 1, 2, 3, 4, 5)));
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(2, BUFFERS(NULL), children);
  field.width = 3;
  GOOD(&field, &array);
  array.offset = 1;
  BAD(&field, &array, STRUCTURE, "3 rows of 3 values, but 6 values");
  field.width = INT32_MAX;
  array = PARENT(INT64_MAX / 4, BUFFERS(NULL), children);
  BAD(&field, &array, STRUCTURE, "but 6 values");
}

static void lists_of_size_zero_keep_null_and_empty_apart(void) {
  struct csf_field child_field = field_of(CSF_NULL), field = field_over(CSF_FIXED_SIZE_LIST, &child_field, 1);
  struct ArrowArray child = {.length = 0};
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(1, BUFFERS(BITS(1)), children);
  array.offset = 1;
  array.null_count = 1;
  GOOD(&field, &array);
  CHECK_VALUES(&field, &array, "null");
  field = field_of(CSF_FIXED_SIZE_BINARY);
  struct ArrowArray empty = ARRAY(5, BUFFERS(NULL, NULL));
  GOOD(&field, &empty);
}

static const char far[] = "a value of more than twelve bytes";

static void view_of(uint8_t *view, int32_t length, const char *prefix, int32_t buffer, int32_t offset) {
  memset(view, 0, 16);
  csf_store_i32(view, length);
  memcpy(view + 4, prefix, strlen(prefix));
  if (length <= 12) return;
  csf_store_i32(view + 8, buffer);
  csf_store_i32(view + 12, offset);
}

static void views_point_into_their_data(void) {
  struct csf_field field = field_of(CSF_BINARY_VIEW);
  uint8_t views[32];
  view_of(views, 12, "twelve bytes", 0, 0);
  view_of(views + 16, 33, "a va", 0, 0);
  struct ArrowArray array = ARRAY(2, BUFFERS(NULL, views, far, I64(33)));
  GOOD(&field, &array);
  view_of(views + 16, 33, "a va", 5, 0);
  BAD(&field, &array, MEMORY, "row 1: view points to data buffer 5 of 1");
  view_of(views + 16, 33, "a va", -1, 0);
  BAD(&field, &array, MEMORY, "data buffer -1 of 1");
  view_of(views + 16, 33, "a va", 0, INT32_MAX);
  BAD(&field, &array, MEMORY, "view of 33 bytes at 2147483647 is outside of data buffer 0 of 33 bytes");
  view_of(views + 16, 33, "a va", 0, 1);
  BAD(&field, &array, MEMORY, "outside of data buffer 0 of 33 bytes");
  view_of(views + 16, 33, "a va", 0, -1);
  BAD(&field, &array, MEMORY, "outside of data buffer");
  view_of(views + 16, 33, "a va", 0, 0);
  csf_store_i32(views + 16, -1);
  BAD(&field, &array, MEMORY, "view has length -1");
  view_of(views + 16, 33, "b va", 0, 0);
  BAD(&field, &array, FULL, "row 1: view of 33 bytes: prefix is not that of its data");
}

static void spare_bytes_of_short_views_are_zero(void) {
  struct csf_field field = field_of(CSF_BINARY_VIEW);
  for (int32_t length = 0; length <= 12; length++) {
    for (int place = 0; place < 12; place++) {
      uint8_t view[16];
      view_of(view, length, "", 0, 0);
      view[4 + place] = 0x80;
      struct ArrowArray array = ARRAY(1, BUFFERS(NULL, view, NULL));
      if (place < length) GOOD(&field, &array);
      else BAD(&field, &array, FULL, "spare bytes are not zero");
    }
  }
}

static void data_buffers_of_views_have_sizes_and_pointers(void) {
  struct csf_field field = field_of(CSF_BINARY_VIEW);
  uint8_t views[32];
  view_of(views, 1, "a", 0, 0);
  view_of(views + 16, 1, "e", 0, 0);
  struct ArrowArray array = ARRAY(2, BUFFERS(NULL, views, NULL, I64(0)));
  GOOD(&field, &array);
  array.buffers[3] = I64(1);
  BAD(&field, &array, STRUCTURE, "data buffer 0 has 0 bytes, its size is given as 1");
  array.buffers[3] = I64(-1);
  BAD(&field, &array, STRUCTURE, "its size is given as -1");
  array.buffers[3] = NULL;
  BAD(&field, &array, STRUCTURE, "no table of the sizes of 1 data buffers");
}

static void indices_of_valid_slots_lie_within_the_dictionary(void) {
  struct csf_field values_field = field_of(CSF_UTF8), field = field_of(CSF_INT8);
  field.dictionary = &values_field;
  struct ArrowArray values = ARRAY(2, BUFFERS(NULL, I32(0, 1, 2), "ab"));
  struct ArrowArray array = ARRAY(2, BUFFERS(BITS(1), "\0\2"));
  array.dictionary = &values;
  BAD(&field, &array, MEMORY, "row 1: index 2 into a dictionary of 2 values");
  array.null_count = 1;
  GOOD(&field, &array);
  array.null_count = 0;
  array.buffers[1] = "\0\xff";
  BAD(&field, &array, MEMORY, "row 1: index -1 into");
  array.null_count = 1;
  GOOD(&field, &array);
  values.length = 0;
  BAD(&field, &array, MEMORY, "row 0: index 0 into a dictionary of 0 values");
}

static void indices_of_every_width_are_judged_by_their_sign(void) {
  static const struct {
    enum csf_type type;
    uint64_t bad, good;
    int64_t n;
  } cases[] = {
      {CSF_INT8, 0x9c, 127, 200}, {CSF_UINT8, 200, 199, 200}, {CSF_INT16, 0x9000, 0x7fff, 0xa000}, {CSF_UINT16, 0xa000, 0x9fff, 0xa000},
      {CSF_INT32, 0x90000000, 0x7fffffff, 0xa0000000}, {CSF_UINT32, 0xa0000000, 0x9fffffff, 0xa0000000},
      {CSF_INT64, UINT64_MAX, 4, 5}, {CSF_UINT64, UINT64_MAX, 4, 5}, {CSF_INT64, 5, 4, 5}, {CSF_UINT64, (uint64_t)1 << 63, 4, 5},
      {CSF_UINT8, 255, 254, 255}, {CSF_INT8, 0x80, 127, 1000},
  };
  struct csf_field values_field = field_of(CSF_NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct csf_field field = field_of(cases[i].type);
    field.dictionary = &values_field;
    struct ArrowArray values = {.length = cases[i].n};
    for (int64_t n = 1; n < 70; n++) {
      uint8_t indices[8 * 70] = {0};
      struct ArrowArray array = ARRAY(n, BUFFERS(NULL, indices));
      array.dictionary = &values;
      memcpy(indices + (n - 1) * field.width, &cases[i].good, (size_t)field.width);
      GOOD(&field, &array);
      memcpy(indices + (n - 1) * field.width, &cases[i].bad, (size_t)field.width);
      BAD(&field, &array, MEMORY, "into a dictionary of");
    }
  }
}

static void union_type_ids_are_declared_and_dense_offsets_in_range(void) {
  struct csf_field members[2] = {field_of(CSF_INT32), field_of(CSF_INT32)};
  static const int8_t ids[2] = {5, 127};
  struct ArrowArray a = ARRAY(2, BUFFERS(NULL, I32(0, 1))), b = ARRAY(3, BUFFERS(NULL, I32(7, 8, 9)));
  struct ArrowArray *children[2] = {&a, &b};
  struct csf_field dense = field_over(CSF_DENSE_UNION, members, 2), sparse = field_over(CSF_SPARSE_UNION, members, 2);
  dense.type_ids = sparse.type_ids = ids;
  struct ArrowArray array = PARENT(3, BUFFERS("\x05\x7f\x7f", I32(1, 2, 0)), children);
  GOOD(&dense, &array);
  array.buffers[0] = "\x05\x06\x7f";
  BAD(&dense, &array, MEMORY, "row 1: type id 6 is not declared");
  array.buffers[0] = "\x05\xff\x7f";
  BAD(&dense, &array, MEMORY, "row 1: type id -1 is not declared");
  array.buffers[0] = "\x05\x7f\x7f";
  array.buffers[1] = I32(2, 2, 0);
  BAD(&dense, &array, MEMORY, "row 0: offset 2 into child 0 of 2 values");
  array.buffers[1] = I32(1, -1, 0);
  BAD(&dense, &array, MEMORY, "row 1: offset -1 into child 1 of 3 values");
  array.null_count = 1;
  BAD(&dense, &array, STRUCTURE, "no nulls of its own");
  struct ArrowArray rows = PARENT(2, BUFFERS("\x05\x7f"), children);
  GOOD(&sparse, &rows);
  rows.length = 3;
  BAD(&sparse, &rows, STRUCTURE, "2 rows, its parent has 3");
}

static void run_ends_rise_and_reach_the_last_row(void) {
  static const struct {
    int32_t ends[3];
    int64_t n, length, offset;
    const char *part; /* NULL = valid */
  } cases[] = {
      {{2, 5}, 2, 3, 2, NULL}, {{2, 5}, 2, 5, 0, NULL}, {{2, 7}, 2, 5, 0, NULL}, {{2, 4}, 2, 5, 0, "ends at 4, but there are 5 rows"},
      {{2, 2, 5}, 3, 5, 0, "run 1 ends at 2, the one before it at 2"}, {{0, 3}, 2, 3, 0, "run 0 ends at 0"}, {{-1, 3}, 2, 3, 0, "ends at -1"},
      {{5, 3}, 2, 3, 0, "run 1 ends at 3"}, {{2, 5}, 2, 3, 3, "ends at 5, but there are 6 rows"},
  };
  struct csf_field members[2] = {field_of(CSF_INT32), field_of(CSF_UTF8)}, field = field_over(CSF_RUN_END_ENCODED, members, 2);
  members[0].nullable = false;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct ArrowArray ends = ARRAY(cases[i].n, BUFFERS(NULL, cases[i].ends));
    struct ArrowArray values = ARRAY(cases[i].n, BUFFERS(NULL, I32(0, 1, 2, 3), "abc"));
    struct ArrowArray *children[2] = {&ends, &values};
    struct ArrowArray array = {.length = cases[i].length, .offset = cases[i].offset, .n_children = 2, .children = children};
    if (cases[i].part == NULL) GOOD(&field, &array);
    else BAD(&field, &array, MEMORY, cases[i].part);
    if (i == 0) CHECK_VALUES(&field, &array, "'b' 'b' 'b'");
  }
}

static void run_ends_and_values_are_as_many_and_none_is_null(void) {
  struct csf_field members[2] = {field_of(CSF_INT16), field_of(CSF_INT32)}, field = field_over(CSF_RUN_END_ENCODED, members, 2);
  struct ArrowArray ends = ARRAY(2, BUFFERS(NULL, ((const int16_t[]){1, 2}))), values = ARRAY(2, BUFFERS(NULL, I32(0, 1)));
  struct ArrowArray *children[2] = {&ends, &values};
  struct ArrowArray array = {.length = 2, .n_children = 2, .children = children};
  GOOD(&field, &array);
  values.length = 1;
  BAD(&field, &array, STRUCTURE, "2 run ends, but 1 values");
  values.length = 2;
  ends.buffers[0] = BITS(1);
  ends.null_count = 1;
  BAD(&field, &array, MEMORY, "1 of 2 run ends are null");
  ends.null_count = 0;
  array.null_count = 1;
  BAD(&field, &array, STRUCTURE, "no nulls of its own");
  array.null_count = 0;
  array.n_buffers = 1;
  array.buffers = BUFFERS(BITS(3));
  BAD(&field, &array, STRUCTURE, "1 buffers, run_end_encoded has 0");
  array.n_buffers = 0;
  ends.length = values.length = 0;
  BAD(&field, &array, STRUCTURE, "2 rows, but 0 runs");
  array.length = 0;
  GOOD(&field, &array);
}

static void a_short_bitmap_below_a_run_end_array_is_not_read(void) {
  struct colshuf_error err;
  struct csf_field members[2] = {field_of(CSF_INT32), field_of(CSF_INT32)}, field = field_over(CSF_RUN_END_ENCODED, members, 2);
  int32_t numbers[100];
  for (int i = 0; i < 100; i++) numbers[i] = i + 1;
  struct ArrowArray ends = ARRAY(100, BUFFERS(NULL, numbers)), values = ARRAY(100, BUFFERS(BITS(1), numbers));
  values.null_count = 5;
  struct ArrowArray *children[2] = {&ends, &values};
  struct ArrowArray array = {.length = 100, .n_children = 2, .children = children};
  int64_t sizes[4] = {0, 400, 1, 400};
  struct csf_buffer_sizes known = {sizes, 4};
  CHECK_STATUS(csf_array_validate(&field, &array, &known, CSF_VALIDATE_STRUCTURE, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, "buffer of validity has 1 bytes, needs 13");
}

/* What only the full level sees. */

static void a_wrong_null_count_is_found(void) {
  struct csf_field field = field_of(CSF_INT32);
  struct ArrowArray array = ARRAY(3, BUFFERS(BITS(0xfd), I32(1, 2, 3)));
  array.null_count = 1;
  GOOD(&field, &array);
  array.null_count = 2;
  BAD(&field, &array, FULL, "null count 2, but 1 nulls");
  array.null_count = -1;
  GOOD(&field, &array);
  array.null_count = 0; /* says that the bitmap is not to be looked at */
  GOOD(&field, &array);
}

static void a_null_in_a_non_nullable_field_is_found(void) {
  struct csf_field field = field_of(CSF_INT32);
  field.nullable = false;
  struct ArrowArray array = ARRAY(3, BUFFERS(BITS(0xfd), I32(1, 2, 3)));
  array.null_count = 1;
  BAD(&field, &array, FULL, "row 1: null in a non-nullable field");
}

static void a_null_child_under_a_null_parent_is_no_fault(void) {
  struct csf_field leaf = field_of(CSF_INT32), middle = field_over(CSF_STRUCT, &leaf, 1), top = field_over(CSF_STRUCT, &middle, 1);
  leaf.nullable = false;
  middle.nullable = false;
  struct ArrowArray a = ARRAY(4, BUFFERS(BITS(0xd), I32(1, 2, 3, 4)));
  a.null_count = 1;
  struct ArrowArray *leaves[1] = {&a};
  struct ArrowArray b = PARENT(3, BUFFERS(NULL), leaves);
  struct ArrowArray *middles[1] = {&b};
  struct ArrowArray c = PARENT(3, BUFFERS(BITS(0x6)), middles);
  c.null_count = 1;
  b.offset = 1;
  GOOD(&top, &c);
  c.buffers[0] = BITS(0x5);
  BAD(&top, &c, FULL, "column \"c.c.c\": row 1: null in a non-nullable field");
}

static void a_null_element_under_a_null_fixed_list_is_no_fault(void) {
  struct csf_field leaf = field_of(CSF_INT32), field = field_over(CSF_FIXED_SIZE_LIST, &leaf, 1);
  leaf.nullable = false;
  field.width = 2;
  struct ArrowArray child = ARRAY(4, BUFFERS(BITS(0x7), I32(1, 2, 3, 4)));
  child.null_count = 1;
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(2, BUFFERS(BITS(0x1)), children);
  array.null_count = 1;
  GOOD(&field, &array);
  array.buffers[0] = BITS(0x2);
  BAD(&field, &array, FULL, "row 3: null in a non-nullable field");
}

static void list_elements_that_must_not_be_null_are_none(void) {
  struct csf_field leaf = field_of(CSF_INT32), field = field_over(CSF_LIST, &leaf, 1);
  leaf.nullable = false;
  struct ArrowArray child = ARRAY(2, BUFFERS(BITS(0x1), I32(1, 2)));
  child.null_count = 1;
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = PARENT(1, BUFFERS(NULL, I32(0, 2)), children);
  BAD(&field, &array, FULL, "row 1: null in a non-nullable field");
}

static void map_entries_and_keys_are_never_null(void) {
  struct csf_field members[2] = {field_of(CSF_INT32), field_of(CSF_INT32)};
  struct csf_field entries = field_over(CSF_STRUCT, members, 2), field = field_over(CSF_MAP, &entries, 1);
  struct ArrowArray key = ARRAY(2, BUFFERS(BITS(0x1), I32(1, 2))), value = ARRAY(2, BUFFERS(BITS(0x1), I32(1, 2)));
  struct ArrowArray *pair[2] = {&key, &value};
  struct ArrowArray entry = PARENT(2, BUFFERS(BITS(0x2)), pair);
  struct ArrowArray *children[1] = {&entry};
  struct ArrowArray array = PARENT(1, BUFFERS(NULL, I32(0, 2)), children);
  value.null_count = 1;
  GOOD(&field, &array);
  key.null_count = 1;
  BAD(&field, &array, FULL, "column \"c.c.c\": row 1: null in a non-nullable field");
  key.null_count = 0;
  entry.null_count = 1;
  BAD(&field, &array, FULL, "column \"c.c\": row 0: null in a non-nullable field");
}

static void text_must_be_utf8_and_bytes_need_not(void) {
  static const char *const wrong[] = {"abc\xff", "abc\xc0\x80", "abc\xed\xa0\x80", "abc\xe2\x82"};
  struct csf_field text = field_of(CSF_UTF8), bytes = field_of(CSF_BINARY), large = field_of(CSF_LARGE_UTF8);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    int32_t end = (int32_t)strlen(wrong[i]);
    struct ArrowArray array = ARRAY(3, BUFFERS(NULL, I32(0, 2, 3, end), wrong[i]));
    GOOD(&bytes, &array);
    BAD(&text, &array, FULL, "row 2: its");
    array.buffers[1] = I64(0, 2, 3, end);
    BAD(&large, &array, FULL, "are not UTF-8");
  }
}

static void a_character_split_over_two_rows_is_refused(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(3, BUFFERS(NULL, I32(0, 2, 4, 4), "a\xc3\xa9z"));
  BAD(&field, &array, FULL, "row 0: its 2 bytes at 0 are not UTF-8");
  array.buffers[1] = I32(0, 3, 4, 4);
  GOOD(&field, &array);
  array.buffers[1] = I32(0, 1, 3, 3);
  GOOD(&field, &array);
  array.buffers[1] = I32(2, 3, 3, 3);
  BAD(&field, &array, FULL, "row 0: its 1 bytes at 2");
}

static void text_under_null_slots_is_checked_and_outside_of_the_slice_is_not(void) {
  struct csf_field field = field_of(CSF_UTF8);
  struct ArrowArray array = ARRAY(2, BUFFERS(BITS(0x1), I32(0, 1, 2), "a\xff"));
  array.null_count = 1;
  BAD(&field, &array, FULL, "row 1");
  array.length = 1;
  array.null_count = 0;
  GOOD(&field, &array);
}

static void view_text_must_be_utf8_near_and_far(void) {
  struct csf_field text = field_of(CSF_UTF8_VIEW), bytes = field_of(CSF_BINARY_VIEW);
  uint8_t view[16];
  view_of(view, 3, "a\xc3\xa9", 0, 0);
  struct ArrowArray array = ARRAY(1, BUFFERS(NULL, view, NULL));
  GOOD(&text, &array);
  view_of(view, 2, "a\xc3", 0, 0);
  BAD(&text, &array, FULL, "is not UTF-8");
  GOOD(&bytes, &array);
  char data[] = "a value of more than twelve byt\xc3\xa9";
  view_of(view, 33, "a va", 0, 0);
  struct ArrowArray long_array = ARRAY(1, BUFFERS(NULL, view, data, I64(33)));
  GOOD(&text, &long_array);
  data[32] = 'x';
  BAD(&text, &long_array, FULL, "is not UTF-8");
  GOOD(&bytes, &long_array);
  view_of(view, 31, "a va", 0, 0);
  GOOD(&text, &long_array);
}

static void values_of_a_dictionary_are_validated_with_it(void) {
  struct csf_field values_field = field_of(CSF_UTF8), field = field_of(CSF_INT8);
  field.dictionary = &values_field;
  struct ArrowArray values = ARRAY(2, BUFFERS(NULL, I32(0, 1, 2), "a\xff")), array = ARRAY(2, BUFFERS(NULL, "\0\0"));
  array.dictionary = &values;
  BAD(&field, &array, FULL, "not UTF-8");
  values.buffers[1] = I32(0, -1, 2);
  BAD(&field, &array, MEMORY, "negative");
}

static void buffers_at_any_address_are_read(void) {
  struct csf_field field = field_of(CSF_DECIMAL128);
  uint8_t place[64] = {0};
  for (int shift = 0; shift < 16; shift++) {
    csf_store_u64(place + shift, 5);
    struct ArrowArray array = ARRAY(1, BUFFERS(NULL, place + shift));
    GOOD(&field, &array);
    place[shift] = 0;
    struct csf_field text = field_of(CSF_LARGE_UTF8);
    array = ARRAY(1, BUFFERS(NULL, place + shift, NULL));
    GOOD(&text, &array);
  }
}

/* --- views that mean the same bytes over and over --- */

/* Views [start, start + length) of one data buffer, each checked by itself and all of them together. */
static void check_parts(const uint8_t *text, int64_t size, struct test_random *random) {
  enum { N = 40 };
  struct csf_field field = field_of(CSF_UTF8_VIEW);
  struct colshuf_error err;
  uint8_t views[16 * N];
  int32_t first_bad = -1;
  for (int32_t i = 0; i < N; i++) {
    int32_t length = 13 + (int32_t)test_random_below(random, (uint64_t)size - 12);
    int32_t start = (int32_t)test_random_below(random, (uint64_t)(size - length) + 1);
    view_of(views + 16 * i, length, "", 0, start);
    memcpy(views + 16 * i + 4, text + start, 4);
    if (first_bad < 0 && !csf_utf8_valid(text + start, (size_t)length)) first_bad = i;
  }
  struct ArrowArray array = ARRAY(N, BUFFERS(NULL, views, text, (&size)));
  enum colshuf_status status = csf_array_validate(&field, &array, NULL, CSF_VALIDATE_FULL, &err);
  CHECK_INT(status, first_bad < 0 ? COLSHUF_OK : COLSHUF_CORRUPT);
  if (first_bad < 0 || status == COLSHUF_OK) return;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "row %d: ", first_bad);
  CHECK_CONTAINS(err.message, wanted);
  CHECK_CONTAINS(err.message, "is not UTF-8");
}

/* Pieces of text, most of them characters, at times a part of one. */
static void parts_of_any_data_are_text_or_not_as_if_each_were_looked_at(void) {
  static const char *const pieces[] = {"abcdefgh", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "x", "\xc3", "\x80", "\xe2\x82", "\xf0\x9f", "\xed\xa0\x80", "\xff"};
  struct test_random random = {21};
  for (int round = 0; round < test_cases(4000); round++) {
    uint64_t kinds = round % 4 == 0 ? 11 : 5, room = 13 + test_random_below(&random, 300), n = 0;
    uint8_t *text = malloc(room);
    while (n < room) {
      const char *piece = pieces[test_random_below(&random, kinds == 11 && test_random_below(&random, 30) > 0 ? 5 : kinds)];
      for (; *piece != '\0' && n < room; piece++) text[n++] = (uint8_t)*piece;
    }
    check_parts(text, (int64_t)room, &random);
    free(text);
  }
}

/* A million views of a mebibyte each would be a tebibyte to look at: minutes. Looked at once, it is nothing. */
static void a_million_views_of_one_text_cost_one_look(void) {
  enum { N = 1000000, SIZE = 1 << 20 };
  struct csf_field field = field_of(CSF_UTF8_VIEW);
  struct colshuf_error err;
  uint8_t *text = malloc(SIZE), *views = malloc((size_t)16 * N);
  int64_t size = SIZE;
  for (int i = 0; i < SIZE; i += 4) memcpy(text + i, "\xc3\xa9zz", 4);
  struct ArrowArray array = ARRAY(N, BUFFERS(NULL, views, text, (&size)));
  for (int broken = 0; broken < 2; broken++) {
    int32_t half = SIZE / 2;
    if (broken) text[half - 1] = 0xff; /* between two texts, and part of none */
    for (int32_t i = 0; i < N; i++) {
      int32_t length = broken ? half - 4 : SIZE;
      view_of(views + (size_t)16 * (size_t)i, length, "\xc3\xa9zz", 0, i % 2 == 0 || !broken ? 0 : half);
    }
    REQUIRE_OK(csf_array_validate(&field, &array, NULL, CSF_VALIDATE_FULL, &err));
    csf_store_i32(views + (size_t)16 * (N - 1), broken ? half + 1 : SIZE - 3);
    csf_store_i32(views + (size_t)16 * (N - 1) + 12, 0);
    CHECK_STATUS(csf_array_validate(&field, &array, NULL, CSF_VALIDATE_FULL, &err), COLSHUF_CORRUPT);
    CHECK_CONTAINS(err.message, "row 999999: view of");
  }
  free(views);
  free(text);
}

struct many_views {
  struct csf_field field;
  struct ArrowArray array;
};

static enum colshuf_status validate_again(void *ctx) {
  struct colshuf_error err;
  const struct many_views *many = ctx;
  return csf_array_validate_with(&many->field, &many->array, NULL, CSF_VALIDATE_FULL, &test_heap, &err);
}

static void the_index_of_broken_data_can_be_refused_its_memory(void) {
  static const char text[] = "a text of some length\xff, and another one of that";
  uint8_t views[32];
  view_of(views, 21, "a te", 0, 0);
  view_of(views + 16, 20, ", an", 0, 22);
  struct many_views many = {field_of(CSF_UTF8_VIEW), ARRAY(2, BUFFERS(NULL, views, text, I64(sizeof text - 1)))};
  CHECK_INT(test_oom_sweep(validate_again, &many), 2);
}

static const struct test_case tests[] = {
    TEST(offsets_are_never_negative_never_fall_and_end_within_the_bytes),
    TEST(large_offsets_follow_the_same_rules),
    TEST(offsets_must_not_fall_under_null_slots_either),
    TEST(an_empty_array_at_an_offset_reads_nothing),
    TEST(list_offsets_end_within_the_child),
    TEST(list_views_lie_within_the_child),
    TEST(fixed_lists_need_their_share_of_the_child),
    TEST(lists_of_size_zero_keep_null_and_empty_apart),
    TEST(views_point_into_their_data),
    TEST(spare_bytes_of_short_views_are_zero),
    TEST(data_buffers_of_views_have_sizes_and_pointers),
    TEST(indices_of_valid_slots_lie_within_the_dictionary),
    TEST(indices_of_every_width_are_judged_by_their_sign),
    TEST(union_type_ids_are_declared_and_dense_offsets_in_range),
    TEST(run_ends_rise_and_reach_the_last_row),
    TEST(run_ends_and_values_are_as_many_and_none_is_null),
    TEST(a_short_bitmap_below_a_run_end_array_is_not_read),
    TEST(a_wrong_null_count_is_found),
    TEST(a_null_in_a_non_nullable_field_is_found),
    TEST(a_null_child_under_a_null_parent_is_no_fault),
    TEST(a_null_element_under_a_null_fixed_list_is_no_fault),
    TEST(list_elements_that_must_not_be_null_are_none),
    TEST(map_entries_and_keys_are_never_null),
    TEST(text_must_be_utf8_and_bytes_need_not),
    TEST(a_character_split_over_two_rows_is_refused),
    TEST(text_under_null_slots_is_checked_and_outside_of_the_slice_is_not),
    TEST(view_text_must_be_utf8_near_and_far),
    TEST(parts_of_any_data_are_text_or_not_as_if_each_were_looked_at),
    TEST(a_million_views_of_one_text_cost_one_look),
    TEST(the_index_of_broken_data_can_be_refused_its_memory),
    TEST(values_of_a_dictionary_are_validated_with_it),
    TEST(buffers_at_any_address_are_read),
};
TEST_MAIN(tests)
