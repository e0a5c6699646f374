/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "colshuf/ipc.h"
#include "ipc/flatbuf_read.h"
#include "ipc/format_tables.h"
#include "ipc/message_write.h"
#include "ipc/schema_message.h"
#include "support/golden_bytes.h"
#include "support/messages.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

/* Bytes in memory as an input that gives at most `chunk` bytes a call and can be told to fail. */
struct memory_input {
  const uint8_t *data;
  size_t size, position, chunk;
  bool can_seek;
  size_t fail_at; /* byte before which a read fails with EIO; 0 = never */
  int n_released;
};

static int64_t memory_read_at(void *ctx, uint64_t position, void *buffer, size_t size) {
  struct memory_input *m = ctx;
  if (position >= m->size) return 0;
  size_t left = m->size - (size_t)position;
  if (size > left) size = left;
  if (m->chunk > 0 && size > m->chunk) size = m->chunk;
  if (m->fail_at > 0 && position + size > m->fail_at) return -EIO;
  memcpy(buffer, m->data + position, size);
  return (int64_t)size;
}

static int64_t memory_read(void *ctx, void *buffer, size_t size) {
  struct memory_input *m = ctx;
  int64_t n = memory_read_at(ctx, m->position, buffer, size);
  if (n > 0) m->position += (size_t)n;
  return n;
}

static int64_t memory_size(void *ctx) {
  return (int64_t)((struct memory_input *)ctx)->size;
}

static void memory_release(void *ctx) {
  ((struct memory_input *)ctx)->n_released++;
}

static enum colshuf_status open_memory(struct memory_input *m, const struct colshuf_ipc_reader_options *options,
                                       struct ArrowArrayStream *out, struct colshuf_error *err) {
  struct colshuf_input input = {.read = memory_read, .release = memory_release, .ctx = m};
  if (m->can_seek) input.read_at = memory_read_at;
  if (m->can_seek) input.size = memory_size;
  struct colshuf_ipc_reader_options own = options == NULL ? (struct colshuf_ipc_reader_options){0} : *options;
  own.allocator = test_heap;
  return colshuf_ipc_reader_open(&input, &own, out, err);
}

/* All rows of a stream as texts, one batch after another, separated by "|"; the status and message of the failure that ended it. */
static enum colshuf_status read_all(struct memory_input *m, const struct colshuf_ipc_reader_options *options, struct csf_buffer *text,
                                    struct colshuf_error *err) {
  struct ArrowArrayStream stream;
  enum colshuf_status status = open_memory(m, options, &stream, err);
  if (status != COLSHUF_OK) return status;
  struct ArrowSchema exported;
  struct csf_schema *schema = NULL;
  CHECK_INT(stream.get_schema(&stream, &exported), 0);
  REQUIRE(csf_schema_import(&exported, &test_heap, NULL, &schema, err) == COLSHUF_OK);
  exported.release(&exported);
  for (;;) {
    struct ArrowArray batch;
    int code = stream.get_next(&stream, &batch);
    status = code == 0 ? COLSHUF_OK : colshuf_stream_status(&stream);
    CHECK((code == 0) == (status == COLSHUF_OK));
    if (code != 0) snprintf(err->message, sizeof err->message, "%s", stream.get_last_error(&stream));
    if (code != 0 || batch.release == NULL) break;
    for (int64_t i = 0; text != NULL && i < batch.length; i++) {
      if (i > 0) test_append(text, " ", 1);
      test_value_text(&schema->root, &batch, i, text);
    }
    if (text != NULL) test_append(text, "|", 1);
    batch.release(&batch);
  }
  csf_schema_release(schema);
  stream.release(&stream);
  CHECK(stream.release == NULL);
  return status;
}

static void check_reads(int line, const struct csf_buffer *bytes, bool can_seek, const char *wanted) {
  const size_t chunks[] = {0, 1, 7};
  for (size_t i = 0; i < 3; i++) {
    struct colshuf_error err = {.message = ""};
    struct memory_input m = {.data = bytes->data, .size = bytes->size, .chunk = chunks[i], .can_seek = can_seek};
    struct csf_buffer text = test_buffer();
    enum colshuf_status status = read_all(&m, NULL, &text, &err);
    test_append(&text, "", 1);
    if (status != COLSHUF_OK) test_fail(__FILE__, line, "%s: %s", colshuf_status_name(status), err.message);
    else if (strcmp((char *)text.data, wanted) != 0) test_fail(__FILE__, line, "\"%s\", not \"%s\"", (char *)text.data, wanted);
    CHECK_INT(m.n_released, 1);
    csf_buffer_clear(&text);
  }
}
#define CHECK_READS(bytes, can_seek, wanted) check_reads(__LINE__, bytes, can_seek, wanted)

static void check_refuses(int line, const struct csf_buffer *bytes, bool can_seek, enum colshuf_status wanted, const char *reason) {
  struct colshuf_error err = {.message = ""};
  struct memory_input m = {.data = bytes->data, .size = bytes->size, .can_seek = can_seek};
  enum colshuf_status status = read_all(&m, NULL, NULL, &err);
  if (status != wanted || strstr(err.message, reason) == NULL) {
    test_fail(__FILE__, line, "%s: %s, wanted %s: %s", colshuf_status_name(status), err.message, colshuf_status_name(wanted), reason);
  }
  CHECK_INT(m.n_released, 1);
}
#define CHECK_REFUSES(bytes, can_seek, wanted, reason) check_refuses(__LINE__, bytes, can_seek, wanted, reason)

static const int32_t ints[4] = {7, 8, 9};

static void append_ints(struct csf_buffer *out, int64_t n) {
  const int64_t nodes[][2] = {{n, 0}}, buffers[][2] = {{0, 0}, {0, 4 * n}};
  struct test_message m = {.length = n, .nodes = nodes, .n_nodes = 1, .buffers = buffers, .n_buffers = 2, .body = ints, .body_size = (size_t)(4 * n)};
  test_message_append(out, &m);
}

static struct csf_buffer int_stream(void) {
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: int32");
  append_ints(&stream, 3);
  append_ints(&stream, 1);
  test_end_append(&stream);
  return stream;
}

static void streams_are_read_however_the_bytes_come(void) {
  struct csf_buffer t1 = test_hex(TEST_GOLDEN_T1), t3 = test_hex(TEST_GOLDEN_T3), t4 = test_hex(TEST_GOLDEN_T4), two = int_stream();
  CHECK_READS(&t1, false, "{1, 'a'} {2, null} {3, 'ccc'}|");
  CHECK_READS(&t1, true, "{1, 'a'} {2, null} {3, 'ccc'}|");
  CHECK_READS(&t3, false, "{'x'} {'y'} {'x'} {null} {'y'}|");
  CHECK_READS(&t4, true, "{} {} {} {} {}|");
  CHECK_READS(&two, false, "{7} {8} {9}|{7}|");
  csf_buffer_clear(&t1);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&t4);
  csf_buffer_clear(&two);
}

static void a_batch_without_rows_is_not_the_end(void) {
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: int32");
  const int64_t rows[] = {0, 3, 0, 2};
  for (size_t i = 0; i < 4; i++) append_ints(&stream, rows[i]);
  test_end_append(&stream);
  CHECK_READS(&stream, false, "|{7} {8} {9}||{7} {8}|");
  csf_buffer_clear(&stream);
}

static void a_stream_may_have_no_batches_and_no_end_marker(void) {
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: int32");
  CHECK_READS(&stream, false, "");
  append_ints(&stream, 2);
  CHECK_READS(&stream, false, "{7} {8}|");
  test_end_append(&stream);
  CHECK_READS(&stream, false, "{7} {8}|");
  csf_buffer_clear(&stream);
}

static void legacy_framing_is_read(void) {
  struct csf_buffer stream = int_stream(), legacy = test_buffer();
  for (size_t at = 0; at + 8 < stream.size;) { /* every message without its continuation word */
    size_t size = csf_load_u32(stream.data + at + 4);
    struct csf_fb_table message = csf_fb_root((struct csf_span){stream.data + at + 8, size});
    size += (size_t)csf_fb_i64(message, CSF_MESSAGE_BODY_LENGTH, 0);
    test_append(&legacy, stream.data + at + 4, 4 + size);
    at += 8 + size;
  }
  CHECK_READS(&legacy, false, "{7} {8} {9}|{7}|");
  test_append(&legacy, "\0\0\0\0", 4);
  CHECK_READS(&legacy, false, "{7} {8} {9}|{7}|");
  csf_buffer_clear(&stream);
  csf_buffer_clear(&legacy);
}

static void garbage_and_nothing_are_clean_errors(void) {
  struct csf_buffer bytes = test_buffer();
  CHECK_REFUSES(&bytes, false, COLSHUF_CORRUPT, "no data where a schema must stand");
  test_append(&bytes, "abcd", 4);
  CHECK_REFUSES(&bytes, false, COLSHUF_LIMIT, "");
  bytes.size = 0;
  test_end_append(&bytes);
  CHECK_REFUSES(&bytes, false, COLSHUF_CORRUPT, "an end marker where a schema must stand");
  struct test_random random = {3};
  for (int round = 0; round < 300; round++) {
    bytes.size = 0;
    for (int i = 0; i < 128; i++) {
      uint64_t word = test_random_next(&random);
      test_append(&bytes, &word, 8);
    }
    struct colshuf_error err;
    struct memory_input m = {.data = bytes.data, .size = bytes.size, .can_seek = round % 2 == 0};
    CHECK(read_all(&m, NULL, NULL, &err) != COLSHUF_OK);
  }
  csf_buffer_clear(&bytes);
  append_ints(&bytes, 3);
  CHECK_REFUSES(&bytes, false, COLSHUF_CORRUPT, "a record batch where a schema must stand");
  csf_buffer_clear(&bytes);
}

static void G15_a_cut_inside_a_message_is_truncation(void) {
  struct csf_buffer stream = int_stream();
  for (size_t size = 0; size < stream.size; size++) {
    struct colshuf_error err = {.message = ""};
    struct memory_input m = {.data = stream.data, .size = size};
    enum colshuf_status status = read_all(&m, NULL, NULL, &err);
    if (status == COLSHUF_OK) continue; /* between two messages */
    CHECK_INT(status, COLSHUF_CORRUPT);
    CHECK(strstr(err.message, "truncated") != NULL || size == 0);
    CHECK(strstr(err.message, "message at byte ") != NULL);
  }
  csf_buffer_clear(&stream);
}

static void every_dropped_byte_is_an_error_or_harmless(void) {
  struct csf_buffer stream = test_hex(TEST_GOLDEN_T3);
  uint8_t *without = malloc(stream.size);
  for (size_t i = 0; i < stream.size; i++) {
    memcpy(without, stream.data, i);
    memcpy(without + i, stream.data + i + 1, stream.size - i - 1);
    struct colshuf_error err;
    struct csf_buffer text = test_buffer();
    struct memory_input m = {.data = without, .size = stream.size - 1, .can_seek = i % 2 == 0};
    (void)read_all(&m, NULL, &text, &err);
    csf_buffer_clear(&text);
  }
  free(without);
  csf_buffer_clear(&stream);
}

static void G17_G19_what_follows_the_end_or_repeats_the_schema_is_refused(void) {
  struct csf_buffer stream = int_stream();
  test_append(&stream, "\0", 1);
  CHECK_REFUSES(&stream, false, COLSHUF_CORRUPT, "trailing data");
  csf_buffer_clear(&stream);
  test_schema_append(&stream, "a: int32");
  test_schema_append(&stream, "a: int32");
  CHECK_REFUSES(&stream, false, COLSHUF_CORRUPT, "a second schema");
  csf_buffer_clear(&stream);
}

static void streams_one_after_another_are_read_by_one_reader_each(void) {
  struct csf_buffer stream = int_stream(), three = test_buffer();
  for (int i = 0; i < 3; i++) test_append(&three, stream.data, stream.size);
  struct memory_input m = {.data = three.data, .size = three.size};
  struct colshuf_ipc_reader_options options = {.ignore_trailing = 1};
  for (size_t i = 1; i <= 3; i++) {
    struct colshuf_error err;
    struct csf_buffer text = test_buffer();
    REQUIRE_OK(read_all(&m, &options, &text, &err));
    test_append(&text, "", 1);
    CHECK_STRING((char *)text.data, "{7} {8} {9}|{7}|");
    CHECK_INT(m.position, i * stream.size);
    csf_buffer_clear(&text);
  }
  csf_buffer_clear(&stream);
  csf_buffer_clear(&three);
}

static int write_buffer(void *ctx, const void *data, size_t size) {
  return csf_buffer_append(ctx, data, size, NULL) == COLSHUF_OK ? 0 : ENOMEM;
}

/* The batches of a stream in the file format. */
static struct csf_buffer as_file(const struct csf_buffer *stream) {
  struct colshuf_error err;
  struct csf_buffer file = test_buffer();
  struct memory_input m = {.data = stream->data, .size = stream->size};
  struct ArrowArrayStream source;
  REQUIRE_OK(open_memory(&m, NULL, &source, &err));
  struct ArrowSchema schema;
  REQUIRE(source.get_schema(&source, &schema) == 0);
  struct colshuf_output output = {write_buffer, &file};
  struct colshuf_ipc_writer_options options = {.allocator = test_heap, .file_format = 1};
  struct colshuf_ipc_writer *writer;
  REQUIRE_OK(colshuf_ipc_writer_new(&schema, &output, &options, &writer, &err));
  schema.release(&schema);
  struct ArrowArray batch;
  while (source.get_next(&source, &batch) == 0 && batch.release != NULL) {
    REQUIRE_OK(colshuf_ipc_writer_write(writer, &batch, 0, batch.length, &err));
    batch.release(&batch);
  }
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  colshuf_ipc_writer_free(writer);
  source.release(&source);
  return file;
}

static void files_are_read_by_their_footer_and_as_streams(void) {
  struct csf_buffer stream = int_stream(), t3 = test_hex(TEST_GOLDEN_T3), t4 = test_hex(TEST_GOLDEN_T4), empty = test_buffer();
  test_schema_append(&empty, "a: int32, b: utf8");
  struct csf_buffer files[] = {as_file(&stream), as_file(&t3), as_file(&t4), as_file(&empty)};
  const char *wanted[] = {"{7} {8} {9}|{7}|", "{'x'} {'y'} {'x'} {null} {'y'}|", "{} {} {} {} {}|", ""};
  for (size_t i = 0; i < 4; i++) {
    CHECK_READS(&files[i], true, wanted[i]);
    CHECK_READS(&files[i], false, wanted[i]);
    csf_buffer_clear(&files[i]);
  }
  csf_buffer_clear(&stream);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&t4);
  csf_buffer_clear(&empty);
}

static void every_cut_of_a_file_is_an_error(void) {
  struct csf_buffer stream = int_stream(), file = as_file(&stream);
  for (size_t size = 0; size < file.size; size++) {
    for (int can_seek = 0; can_seek < 2; can_seek++) {
      struct colshuf_error err;
      struct memory_input m = {.data = file.data, .size = size, .can_seek = can_seek != 0};
      CHECK(read_all(&m, NULL, NULL, &err) == COLSHUF_CORRUPT);
    }
  }
  csf_buffer_clear(&stream);
  csf_buffer_clear(&file);
}

/* Where the Block struct of the first batch stands in a file. */
static size_t first_block(const struct csf_buffer *file, size_t *n) {
  uint32_t footer_size = csf_load_u32(file->data + file->size - 10);
  const uint8_t *footer = file->data + file->size - 10 - footer_size;
  struct csf_fb_vector blocks = csf_fb_elements(csf_fb_root((struct csf_span){footer, footer_size}), CSF_FOOTER_BATCHES);
  *n = blocks.count;
  return (size_t)(blocks.data - file->data);
}

static void footer_and_message_must_agree(void) {
  struct csf_buffer stream = int_stream(), file = as_file(&stream);
  size_t n, block = first_block(&file, &n);
  REQUIRE(n == 2);
  int64_t offset = csf_load_i64(file.data + block), body = csf_load_i64(file.data + block + 16);
  int32_t metadata = csf_load_i32(file.data + block + 8);
  const int64_t offsets[] = {offset + 8, offset - 8, -8, INT64_MAX, INT64_MIN, (int64_t)file.size, 0, 8};
  for (size_t i = 0; i < 8; i++) {
    csf_store_i64(file.data + block, offsets[i]);
    CHECK_REFUSES(&file, true, COLSHUF_CORRUPT, "");
  }
  csf_store_i64(file.data + block, offset);
  const int32_t sizes[] = {metadata + 8, metadata - 8, 0, 4, -8, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < 7; i++) {
    csf_store_i32(file.data + block + 8, sizes[i]);
    CHECK_REFUSES(&file, true, COLSHUF_CORRUPT, "");
  }
  csf_store_i32(file.data + block + 8, metadata);
  const int64_t bodies[] = {body + 8, body - 8, -8, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < 5; i++) {
    csf_store_i64(file.data + block + 16, bodies[i]);
    CHECK_REFUSES(&file, true, COLSHUF_CORRUPT, "");
  }
  csf_store_i64(file.data + block + 16, body);
  CHECK_READS(&file, true, "{7} {8} {9}|{7}|");
  /* A block that points at the end marker. */
  for (size_t i = 8; i + 8 < file.size - 10; i += 8) {
    if (csf_load_u64(file.data + i) != UINT64_C(0xffffffff)) continue;
    csf_store_i64(file.data + block, (int64_t)i);
    CHECK_REFUSES(&file, true, COLSHUF_CORRUPT, "");
    break;
  }
  csf_buffer_clear(&stream);
  csf_buffer_clear(&file);
}

/* What a flipped bit makes of a size or a count is damage, not a request for more than the limits allow: a command's exit code hangs on it. */
static void no_flipped_bit_of_a_stream_or_file_is_taken_for_a_limit(void) {
  struct csf_buffer streams[] = {test_hex(TEST_GOLDEN_T1), test_hex(TEST_GOLDEN_T3), int_stream()};
  for (int i = 0; i < 6; i++) {
    struct csf_buffer file = as_file(&streams[i / 2]), *bytes = i % 2 == 0 ? &streams[i / 2] : &file;
    for (size_t bit = 0; bit < bytes->size * 8; bit++) {
      bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      struct colshuf_error err;
      struct memory_input m = {.data = bytes->data, .size = bytes->size, .can_seek = true};
      enum colshuf_status status = read_all(&m, NULL, NULL, &err);
      if (status != COLSHUF_OK && status != COLSHUF_CORRUPT && status != COLSHUF_UNSUPPORTED) {
        test_fail(__FILE__, __LINE__, "input %d, bit %zu: %s: %s", i, bit, colshuf_status_name(status), err.message);
      }
      bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    csf_buffer_clear(&file);
    if (i % 2 == 1) csf_buffer_clear(&streams[i / 2]);
  }
}

static void every_flipped_bit_of_a_file_is_an_error_or_harmless(void) {
  struct csf_buffer t3 = test_hex(TEST_GOLDEN_T3), file = as_file(&t3);
  for (size_t bit = 0; bit < file.size * 8; bit += 3) {
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    struct colshuf_error err;
    struct csf_buffer text = test_buffer();
    struct memory_input m = {.data = file.data, .size = file.size, .can_seek = true};
    (void)read_all(&m, NULL, &text, &err);
    csf_buffer_clear(&text);
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  csf_buffer_clear(&t3);
  csf_buffer_clear(&file);
}

static void a_file_of_changing_length_of_metadata_keeps_its_batches_apart(void) {
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: utf8_view");
  static const struct { int32_t length; char text[12]; } inlined = {1, "A"};
  static const struct { int32_t length; char prefix[4]; int32_t buffer, offset; char text[16]; } referred = {13, {'B', 'B', 'B', 'B'}, 0, 0, "BBBBBBBBBBBBB"};
  test_message_append(&stream, &(struct test_message){.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}), TEST_VARIADIC(0), .body = &inlined, .body_size = 16});
  test_message_append(&stream, &(struct test_message){.length = 1, TEST_NODES({1, 0}), TEST_BUFFERS({0, 0}, {0, 16}, {16, 13}), TEST_VARIADIC(1), .body = &referred, .body_size = sizeof referred});
  test_end_append(&stream);
  CHECK_READS(&stream, false, "{'A'}|{'BBBBBBBBBBBBB'}|");
  struct csf_buffer file = as_file(&stream);
  CHECK_READS(&file, true, "{'A'}|{'BBBBBBBBBBBBB'}|");
  csf_buffer_clear(&stream);
  csf_buffer_clear(&file);
}

/* A file of the messages of a stream, with a footer that lists them all; `text` describes the schema. */
static struct csf_buffer file_of_messages(const char *text, const struct csf_buffer *stream) {
  struct { int64_t offset; int32_t metadata_size, padding; int64_t body_size; } blocks[2][4];
  size_t n[2] = {0, 0};
  struct csf_buffer file = test_buffer();
  test_append(&file, "ARROW1\0\0", 8);
  for (size_t at = 0; at + 8 < stream->size;) {
    int32_t size = csf_load_i32(stream->data + at + 4);
    struct csf_fb_table message = csf_fb_root((struct csf_span){stream->data + at + 8, (size_t)size});
    int64_t body_size = csf_fb_i64(message, CSF_MESSAGE_BODY_LENGTH, 0);
    size_t whole = 8 + (size_t)size + (size_t)body_size;
    uint8_t header = csf_fb_u8(message, CSF_MESSAGE_HEADER_TYPE, 0);
    if (header != CSF_HEADER_SCHEMA) {
      int which = header == CSF_HEADER_BATCH;
      blocks[which][n[which]].offset = (int64_t)file.size;
      blocks[which][n[which]].metadata_size = size + 8;
      blocks[which][n[which]].padding = 0;
      blocks[which][n[which]++].body_size = body_size;
    }
    test_append(&file, stream->data + at, whole);
    at += whole;
  }
  struct csf_schema *schema = test_schema(text);
  csf_schema_number_dictionaries(schema);
  struct csf_flatbuf b;
  csf_flatbuf_init(&b, &test_heap);
  csf_flatbuf_ref table = csf_schema_table(&b, schema);
  csf_flatbuf_ref dictionaries = csf_flatbuf_vector(&b, blocks[0], n[0], CSF_BLOCK_SIZE, 8);
  csf_flatbuf_ref batches = csf_flatbuf_vector(&b, blocks[1], n[1], CSF_BLOCK_SIZE, 8);
  csf_flatbuf_table_start(&b);
  csf_flatbuf_field_i16(&b, CSF_FOOTER_VERSION, CSF_VERSION_V5, 0);
  csf_flatbuf_field_ref(&b, CSF_FOOTER_SCHEMA, table);
  csf_flatbuf_field_ref(&b, CSF_FOOTER_DICTIONARIES, dictionaries);
  csf_flatbuf_field_ref(&b, CSF_FOOTER_BATCHES, batches);
  csf_flatbuf_ref root = csf_flatbuf_table_end(&b);
  struct csf_span footer;
  REQUIRE(csf_flatbuf_finish(&b, root, &footer, NULL) == COLSHUF_OK);
  uint32_t size = (uint32_t)footer.size;
  test_append(&file, footer.data, footer.size);
  test_append(&file, &size, 4);
  test_append(&file, "ARROW1", 6);
  csf_flatbuf_clear(&b);
  csf_schema_release(schema);
  return file;
}

static void append_bytes(struct csf_buffer *out, bool is_dictionary, bool is_delta, const char *bytes) {
  int64_t n = (int64_t)strlen(bytes);
  const int64_t nodes[][2] = {{n, 0}}, buffers[][2] = {{0, 0}, {0, n}};
  test_message_append(out, &(struct test_message){.is_dictionary = is_dictionary, .is_delta = is_delta, .length = n, .nodes = nodes, .n_nodes = 1, .buffers = buffers, .n_buffers = 2, .body = bytes, .body_size = (size_t)n});
}

/* In a file a dictionary cannot change: a second one of an id, unless it is a delta, is refused rather than used for the wrong batch. */
static void a_file_that_redefines_a_dictionary_is_refused_and_one_that_extends_it_is_read(void) {
  const char *schema = "a: dictionary<int8, int8>";
  for (int is_delta = 0; is_delta < 2; is_delta++) {
    struct csf_buffer stream = test_buffer();
    test_schema_append(&stream, schema);
    append_bytes(&stream, true, false, "\x0a\x14");
    append_bytes(&stream, false, false, "\x01");
    append_bytes(&stream, true, is_delta != 0, "\x1e");
    append_bytes(&stream, false, false, is_delta ? "\x02\x01" : "\x00");
    test_end_append(&stream);
    struct csf_buffer file = file_of_messages(schema, &stream);
    if (is_delta) {
      CHECK_READS(&stream, false, "{20}|{30} {20}|");
      CHECK_READS(&file, true, "{20}|{30} {20}|");
    } else {
      CHECK_REFUSES(&file, true, COLSHUF_CORRUPT, "a second dictionary of id 0");
    }
    csf_buffer_clear(&file);
    csf_buffer_clear(&stream);
  }
}

static void a_failure_is_told_again_and_its_status_too(void) {
  struct colshuf_error err;
  struct csf_buffer stream = int_stream();
  struct memory_input m = {.data = stream.data, .size = stream.size - 30};
  struct ArrowArrayStream source;
  REQUIRE_OK(open_memory(&m, NULL, &source, &err));
  struct ArrowArray batch;
  CHECK(source.get_last_error(&source) == NULL);
  CHECK_INT(colshuf_stream_status(&source), COLSHUF_OK);
  REQUIRE(source.get_next(&source, &batch) == 0);
  CHECK_INT(source.get_next(&source, &batch), EINVAL);
  CHECK_INT(source.get_next(&source, &batch), EINVAL);
  CHECK_CONTAINS(source.get_last_error(&source), "truncated");
  CHECK_INT(colshuf_stream_status(&source), COLSHUF_CORRUPT);
  batch.release(&batch); /* the first one, which is still good */
  source.release(&source);
  CHECK_INT(colshuf_stream_status(&source), COLSHUF_INVALID_ARGUMENT);
  csf_buffer_clear(&stream);
}

static void failing_reads_are_io_errors_wherever_they_happen(void) {
  struct csf_buffer stream = int_stream(), file = as_file(&stream);
  const struct csf_buffer *all[] = {&stream, &file};
  for (int which = 0; which < 2; which++) {
    for (size_t at = 1; at < all[which]->size; at += 5) {
      struct colshuf_error err;
      struct memory_input m = {.data = all[which]->data, .size = all[which]->size, .fail_at = at, .can_seek = which == 1, .chunk = 3};
      CHECK_INT(read_all(&m, NULL, NULL, &err), COLSHUF_IO);
      CHECK_INT(m.n_released, 1);
    }
  }
  csf_buffer_clear(&stream);
  csf_buffer_clear(&file);
}

static void announced_sizes_take_no_memory_before_the_bytes_are_there(void) {
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: int32");
  test_message_append(&stream, &(struct test_message){.length = 3, TEST_NODES({3, 0}), TEST_BUFFERS({0, 0}, {0, 12}), .body = ints, .body_size = 16, .announced = INT64_C(2000000000)});
  uint64_t before = test_heap_bytes();
  test_heap_reset_peak();
  CHECK_REFUSES(&stream, false, COLSHUF_CORRUPT, "truncated: message body of 2000000000 bytes");
  CHECK(test_heap_peak() - before < (UINT64_C(65) << 20));
  csf_buffer_clear(&stream);
}

static void paths_are_opened_and_refused_by_name(void) {
  struct colshuf_error err;
  struct ArrowArrayStream stream;
  struct colshuf_ipc_reader_options options = {.allocator = test_heap};
  char path[128];
  CHECK_STATUS(colshuf_ipc_reader_open_path("/nowhere/at/all", &options, &stream, &err), COLSHUF_IO);
  CHECK_CONTAINS(err.message, "/nowhere/at/all");
  CHECK_INT(err.system_errno, ENOENT);
  CHECK_STATUS(colshuf_ipc_reader_open_path("/tmp", &options, &stream, &err), COLSHUF_IO);
  snprintf(path, sizeof path, "%s/x.arrow", test_directory());
  struct csf_buffer bytes = int_stream(), file = as_file(&bytes);
  for (int i = 0; i < 2; i++) {
    const struct csf_buffer *content = i == 0 ? &bytes : &file;
    FILE *out = fopen(path, "wb");
    REQUIRE(out != NULL && fwrite(content->data, 1, content->size, out) == content->size);
    fclose(out);
    REQUIRE_OK(colshuf_ipc_reader_open_path(path, &options, &stream, &err));
    struct ArrowArray batch;
    int64_t rows = 0;
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
      rows += batch.length;
      batch.release(&batch);
    }
    CHECK_INT(rows, 4);
    stream.release(&stream);
  }
  REQUIRE(truncate(path, (off_t)file.size - 20) == 0);
  CHECK_STATUS(colshuf_ipc_reader_open_path(path, &options, &stream, &err), COLSHUF_CORRUPT);
  CHECK_CONTAINS(err.message, path);
  csf_buffer_clear(&bytes);
  csf_buffer_clear(&file);
}

static enum colshuf_status read_again(void *ctx) {
  struct colshuf_error err;
  const struct csf_buffer *bytes = ctx;
  struct memory_input m = {.data = bytes->data, .size = bytes->size, .can_seek = true};
  struct ArrowArrayStream stream;
  CSF_TRY(open_memory(&m, NULL, &stream, &err));
  struct ArrowSchema schema = {.release = NULL};
  int code = stream.get_schema(&stream, &schema);
  if (code == 0) schema.release(&schema);
  struct ArrowArray batch = {.release = NULL};
  while (code == 0 && (code = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL) batch.release(&batch);
  enum colshuf_status status = code == 0 ? COLSHUF_OK : colshuf_stream_status(&stream);
  stream.release(&stream);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct csf_buffer t1 = test_hex(TEST_GOLDEN_T1), t3 = test_hex(TEST_GOLDEN_T3), file = as_file(&t3);
  CHECK(test_oom_sweep(read_again, &t1) > 8);
  CHECK(test_oom_sweep(read_again, &t3) > 8);
  CHECK(test_oom_sweep(read_again, &file) > 8);
  struct csf_buffer deltas = test_buffer();
  test_schema_append(&deltas, "a: dictionary<int8, int8>");
  for (int i = 0; i < 3; i++) {
    append_bytes(&deltas, true, i > 0, "\x0a\x14");
    append_bytes(&deltas, false, false, "\x01");
  }
  CHECK(test_oom_sweep(read_again, &deltas) > 16);
  csf_buffer_clear(&deltas);
  csf_buffer_clear(&t1);
  csf_buffer_clear(&t3);
  csf_buffer_clear(&file);
}

static void the_memory_limit_is_the_readers_and_told_as_such(void) {
  struct colshuf_error err;
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, "a: int8");
  uint8_t *values = calloc(1, 100000);
  for (int i = 0; i < 20; i++) {
    test_message_append(&stream, &(struct test_message){.length = 100000, TEST_NODES({100000, 0}), TEST_BUFFERS({0, 0}, {0, 100000}), .body = values, .body_size = 100000});
  }
  free(values);
  test_end_append(&stream);
  struct colshuf_ipc_reader_options options = {.limits = {.max_memory = 500000}};
  struct memory_input m = {.data = stream.data, .size = stream.size};
  REQUIRE_OK(read_all(&m, &options, NULL, &err)); /* one batch at a time: no matter how many */
  m.position = 0;
  struct ArrowArrayStream source;
  REQUIRE_OK(open_memory(&m, &options, &source, &err));
  struct ArrowArray batches[20];
  int n = 0;
  while (n < 20 && source.get_next(&source, &batches[n]) == 0) n++;
  CHECK(n > 2 && n < 5);
  CHECK_INT(colshuf_stream_status(&source), COLSHUF_LIMIT);
  CHECK_CONTAINS(source.get_last_error(&source), "max_memory");
  source.release(&source);
  while (n-- > 0) batches[n].release(&batches[n]);
  csf_buffer_clear(&stream);
}

static void check_fuzz_folder(const char *folder) {
  const char *path = test_data(folder);
  DIR *directory = opendir(path);
  REQUIRE(directory != NULL);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char name[1024];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    struct csf_buffer bytes = test_read_file(name);
    for (int can_seek = 0; can_seek < 2; can_seek++) {
      struct colshuf_error err;
      struct csf_buffer text = test_buffer();
      struct memory_input m = {.data = bytes.data, .size = bytes.size, .can_seek = can_seek != 0};
      struct timespec start, end;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
      test_heap_reset_peak();
      (void)read_all(&m, NULL, &text, &err);
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
      CHECK(end.tv_sec - start.tv_sec < 2);
      CHECK(test_heap_peak() < UINT64_C(1) << 30);
      csf_buffer_clear(&text);
    }
    csf_buffer_clear(&bytes);
    n++;
  }
  closedir(directory);
  CHECK(n > 20);
}

static void found_crashers_of_arrow_end_quickly_in_little_memory(void) {
  check_fuzz_folder("arrow-testing/fuzz-stream");
  check_fuzz_folder("arrow-testing/fuzz-file");
}

static const struct test_case tests[] = {
    TEST(streams_are_read_however_the_bytes_come),
    TEST(a_batch_without_rows_is_not_the_end),
    TEST(a_stream_may_have_no_batches_and_no_end_marker),
    TEST(legacy_framing_is_read),
    TEST(garbage_and_nothing_are_clean_errors),
    TEST(G15_a_cut_inside_a_message_is_truncation),
    TEST(every_dropped_byte_is_an_error_or_harmless),
    TEST(G17_G19_what_follows_the_end_or_repeats_the_schema_is_refused),
    TEST(streams_one_after_another_are_read_by_one_reader_each),
    TEST(files_are_read_by_their_footer_and_as_streams),
    TEST(every_cut_of_a_file_is_an_error),
    TEST(footer_and_message_must_agree),
    TEST(no_flipped_bit_of_a_stream_or_file_is_taken_for_a_limit),
    TEST(every_flipped_bit_of_a_file_is_an_error_or_harmless),
    TEST(a_file_of_changing_length_of_metadata_keeps_its_batches_apart),
    TEST(a_file_that_redefines_a_dictionary_is_refused_and_one_that_extends_it_is_read),
    TEST(a_failure_is_told_again_and_its_status_too),
    TEST(failing_reads_are_io_errors_wherever_they_happen),
    TEST(announced_sizes_take_no_memory_before_the_bytes_are_there),
    TEST(paths_are_opened_and_refused_by_name),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(the_memory_limit_is_the_readers_and_told_as_such),
    TEST(found_crashers_of_arrow_end_quickly_in_little_memory),
};
TEST_MAIN(tests)
