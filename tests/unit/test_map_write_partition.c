/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that were partitioned before: they go where they are sent. */
#include "support/shuffle.h"

/* One int64 column of n values from first on, without nulls. */
static void make_batch(int64_t *values, int64_t first, int64_t n, struct ArrowArray *column, struct ArrowArray *batch,
                       const void **column_buffers, const void **batch_buffers, struct ArrowArray **children) {
  for (int64_t i = 0; i < n; i++) values[i] = first + i;
  column_buffers[0] = NULL;
  column_buffers[1] = values;
  *column = (struct ArrowArray){.length = n, .n_buffers = 2, .buffers = column_buffers};
  batch_buffers[0] = NULL;
  children[0] = column;
  *batch = (struct ArrowArray){.length = n, .n_buffers = 1, .buffers = batch_buffers, .n_children = 1, .children = children};
}

static struct ArrowSchema number = {.format = "l", .name = "n"};
static struct ArrowSchema *columns[] = {&number};
static void release_nothing(struct ArrowSchema *schema) {
  (void)schema;
}
static void release_no_array(struct ArrowArray *array) {
  (void)array;
}

static void every_row_goes_to_the_partition_that_is_named(void) {
  struct colshuf_error err;
  char output[512];
  snprintf(output, sizeof output, "%s/out", test_directory());
  number.release = release_nothing;
  struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = columns, .release = release_nothing};
  struct colshuf_map_writer_options options = {
      .allocator = test_heap,
      .output = output,
      .partitioner = {.kind = COLSHUF_PARTITION_ROUND_ROBIN, .n_partitions = 3},
  };
  struct colshuf_map_writer *writer;
  REQUIRE_OK(colshuf_map_writer_new(&schema, &options, &writer, &err));
  int64_t values[100];
  struct ArrowArray column, batch, *children[1];
  const void *column_buffers[2], *batch_buffers[1];
  static const int32_t order[] = {2, 0, 2, 0};
  for (int64_t i = 0; i < 4; i++) {
    make_batch(values, i * 100, 100, &column, &batch, column_buffers, batch_buffers, children);
    column.release = batch.release = release_no_array;
    REQUIRE_OK(colshuf_map_writer_write_partition(writer, &batch, order[i], &err));
  }
  CHECK_STATUS(colshuf_map_writer_write_partition(writer, &batch, 3, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_CONTAINS(err.message, "there is no partition 3, only 3");
  CHECK_STATUS(colshuf_map_writer_write_partition(writer, &batch, -1, &err), COLSHUF_INVALID_ARGUMENT);
  uint64_t sizes[3];
  REQUIRE_OK(colshuf_map_writer_commit(writer, sizes, &err));
  colshuf_map_writer_free(writer);
  CHECK(sizes[0] > 0 && sizes[1] == 0 && sizes[2] > 0);
  char data[600];
  snprintf(data, sizeof data, "%s.data", output);
  for (int32_t p = 0; p < 3; p += 2) {
    struct colshuf_source source = {.data_path = data, .first_partition = p, .end_partition = p + 1};
    struct colshuf_read_options reading = {.allocator = test_heap};
    struct ArrowArrayStream stream;
    REQUIRE_OK(colshuf_read(&source, 1, &reading, NULL, &stream, &err));
    struct ArrowArray rows;
    REQUIRE(stream.get_next(&stream, &rows) == 0 && rows.release != NULL);
    CHECK_INT(rows.length, 200);
    const int64_t *read = rows.children[0]->buffers[1];
    for (int64_t i = 0; i < 200; i++) CHECK_INT(read[rows.children[0]->offset + i], (p == 2 ? 0 : 100) + i + (i >= 100 ? 100 : 0));
    rows.release(&rows);
    stream.release(&stream);
  }
}

static const struct test_case tests[] = {
    TEST(every_row_goes_to_the_partition_that_is_named),
};
TEST_MAIN(tests)
