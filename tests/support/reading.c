/* SPDX-License-Identifier: Apache-2.0 */
#include "support/reading.h"

#include <errno.h>

#include "support/value.h"

void test_written_add(struct test_written *written, const struct csf_field *field, struct test_random *random,
                      int64_t max_rows) {
  struct test_array_options options = test_random_options(random, max_rows);
  written->fields[written->n] = field;
  test_random_array(random, field, &options, &written->batches[written->n++]);
}

void test_written_clear(struct test_written *written) {
  for (int i = 0; i < written->n; i++) written->batches[i].release(&written->batches[i]);
  written->n = 0;
}

void test_read_stream(struct ArrowArrayStream *stream, struct test_reading *out) {
  struct colshuf_error err = {0};
  struct ArrowSchema schema;
  memset(out, 0, sizeof *out);
  if (stream->get_schema(stream, &schema) == 0) {
    REQUIRE_OK(csf_schema_import(&schema, &test_heap, NULL, &out->schema, &err));
    schema.release(&schema);
    for (; out->n < TEST_MOST_READ; out->n++) {
      struct ArrowArray *batch = &out->batches[out->n];
      if (stream->get_next(stream, batch) != 0) break;
      if (batch->release == NULL) {
        stream->release(stream);
        return;
      }
      enum colshuf_status valid = csf_array_validate(&out->schema->root, batch, NULL, CSF_VALIDATE_FULL, &err);
      if (valid != COLSHUF_OK) test_fail(__FILE__, __LINE__, "a batch is not valid: %s", err.message);
      out->n_rows += batch->length;
    }
  }
  out->status = colshuf_stream_status(stream);
  const char *text = stream->get_last_error(stream);
  snprintf(out->message, sizeof out->message, "%s", text == NULL ? "" : text);
  stream->release(stream);
}

void test_reading_clear(struct test_reading *reading) {
  for (int i = 0; i < reading->n; i++) reading->batches[i].release(&reading->batches[i]);
  csf_schema_release(reading->schema);
}

void test_read_all(const struct colshuf_source *sources, int32_t n, const struct colshuf_read_options *options,
                   struct test_reading *out) {
  struct colshuf_error err = {0};
  struct ArrowArrayStream stream;
  struct colshuf_read_options mine = options != NULL ? *options : (struct colshuf_read_options){0};
  mine.allocator = test_heap;
  REQUIRE_OK(colshuf_read(sources, n, &mine, NULL, &stream, &err));
  test_read_stream(&stream, out);
}

void test_check_read(const struct test_reading *reading, const struct test_written *written, int first, int end,
                     const int32_t *columns) {
  int batch = 0;
  int64_t at = 0;
  for (int w = first; w < end; w++) {
    const struct ArrowArray *source = &written->batches[w];
    for (int64_t row = 0; row < source->length; row++, at++) {
      while (batch < reading->n && at == reading->batches[batch].length) {
        batch++;
        at = 0;
      }
      REQUIRE(batch < reading->n);
      for (int32_t c = 0; c < reading->schema->root.n_children; c++) {
        int32_t column = columns == NULL ? c : columns[c];
        bool same = CHECK_ROWS(&reading->schema->root.children[c], reading->batches[batch].children[c],
                               at + reading->batches[batch].offset, &written->fields[w]->children[column],
                               source->children[column], row + source->offset, 1);
        if (!same) return;
      }
    }
  }
  CHECK(reading->n == 0 ? at == 0 : batch == reading->n - 1 && at == reading->batches[batch].length);
}

static int64_t drip_read(void *ctx, void *buffer, size_t size) {
  struct test_drip *drip = ctx;
  if (drip->fail_at > 0 && (int64_t)drip->at >= drip->fail_at) return -ECONNRESET;
  size_t n = drip->size - drip->at;
  if (n > size) n = size;
  if (n > drip->step) n = drip->step;
  if (n > 0) memcpy(buffer, drip->data + drip->at, n);
  drip->at += n;
  return (int64_t)n;
}

static void drip_release(void *ctx) {
  ((struct test_drip *)ctx)->released++;
}

struct colshuf_source test_drip_source(struct test_drip *drip) {
  return (struct colshuf_source){.input = {.read = drip_read, .release = drip_release, .ctx = drip}};
}

struct colshuf_read_options test_read_options(struct test_random *random) {
  struct colshuf_read_options options = {.keep_dictionaries = (int)test_random_below(random, 2),
                                         .verify_checksums = (int)test_random_below(random, 2)};
  options.trust = test_random_below(random, 2) ? COLSHUF_TRUSTED_LOCAL : COLSHUF_UNTRUSTED;
  static const int64_t targets[] = {0, 1, 7, 40};
  options.target_rows = targets[test_random_below(random, 4)];
  if (test_random_below(random, 3) == 0) options.memory_limit = 1 << 20;
  if (test_random_below(random, 3) == 0) options.threads = 1 + (int)test_random_below(random, 3);
  options.any_order = (int)test_random_below(random, 2); /* of one source the rows keep their order */
  return options;
}

void test_write_plain(struct test_output *output, struct test_written *written, const struct csf_schema *schema, int n_batches,
                      int64_t rows) {
  struct test_random random = {8};
  written->n = 0;
  test_output_init(output);
  for (int i = 0; i < n_batches; i++) {
    struct test_array_options options = {.rows = rows};
    written->fields[i] = &schema->root;
    test_random_array(&random, &schema->root, &options, &written->batches[written->n++]);
    test_output_add(output, &schema->root, &written->batches[i], 0, rows, COLSHUF_LZ4);
    test_output_end_partition(output);
  }
}
