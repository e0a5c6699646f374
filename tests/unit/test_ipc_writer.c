/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/bytes.h"
#include "colshuf/ipc.h"
#include "support/harness.h"
#include "support/random.h"
#include "support/table.h"
#include "support/types.h"
#include "support/value.h"

static struct colshuf_error err;

/* An output into memory that fails once it holds `limit` bytes. */
struct memory {
  struct csf_buffer bytes;
  size_t limit;
  int calls;
};

static int memory_write(void *ctx, const void *data, size_t size) {
  struct memory *memory = ctx;
  memory->calls++;
  if (memory->bytes.size + size > memory->limit) return ENOSPC;
  /* Not memory of the sweep's: a refusal belongs to the writer. */
  return csf_buffer_append(&memory->bytes, data, size, NULL) == COLSHUF_OK ? 0 : EIO;
}

static void memory_init(struct memory *memory) {
  *memory = (struct memory){.limit = SIZE_MAX};
  csf_buffer_init(&memory->bytes, NULL);
}

static struct colshuf_ipc_writer *open_writer(const struct ArrowSchema *schema, struct memory *memory,
                                              struct colshuf_ipc_writer_options options) {
  struct colshuf_ipc_writer *writer;
  struct colshuf_output output = {memory_write, memory};
  options.allocator = test_heap;
  memory_init(memory);
  REQUIRE_OK(colshuf_ipc_writer_new(schema, &output, &options, &writer, &err));
  return writer;
}

/* An input over memory, seekable or not. */
struct source {
  const uint8_t *data;
  size_t size, at;
};
static int64_t source_read(void *ctx, void *buffer, size_t size) {
  struct source *source = ctx;
  size_t n = source->size - source->at < size ? source->size - source->at : size;
  memcpy(buffer, source->data + source->at, n);
  source->at += n;
  return (int64_t)n;
}
static int64_t source_read_at(void *ctx, uint64_t position, void *buffer, size_t size) {
  struct source *source = ctx;
  if (position > source->size) return 0;
  source->at = (size_t)position;
  return source_read(ctx, buffer, size);
}
static int64_t source_size(void *ctx) {
  return (int64_t)((struct source *)ctx)->size;
}

static struct ArrowArrayStream open_reader(struct source *source, bool seekable) {
  struct colshuf_input input = {.read = source_read, .ctx = source};
  /* A file read as a stream has its footer behind the end. */
  struct colshuf_ipc_reader_options options = {.allocator = test_heap, .ignore_trailing = 1};
  struct ArrowArrayStream stream;
  if (seekable) {
    input.read_at = source_read_at;
    input.size = source_size;
  }
  REQUIRE_OK(colshuf_ipc_reader_open(&input, &options, &stream, &err));
  return stream;
}

/* Rows that must come next from a stream. */
static void check_next(struct ArrowArrayStream *stream, const struct csf_field *root, const struct ArrowArray *batch, int64_t start,
                       int64_t length) {
  struct ArrowSchema c_schema;
  struct csf_schema *schema;
  struct ArrowArray found;
  REQUIRE(stream->get_schema(stream, &c_schema) == 0);
  REQUIRE_OK(csf_schema_import(&c_schema, &test_heap, NULL, &schema, &err));
  CHECK(csf_field_equal(&schema->root, root, CSF_MATCH_METADATA));
  int problem = stream->get_next(stream, &found);
  if (problem != 0) test_fail(__FILE__, __LINE__, "%s", stream->get_last_error(stream));
  REQUIRE(problem == 0 && found.release != NULL);
  CHECK_INT(found.length, length);
  CHECK_ROWS(root, batch, start, &schema->root, &found, 0, length);
  found.release(&found);
  csf_schema_release(schema);
  c_schema.release(&c_schema);
}

static void check_end(struct ArrowArrayStream *stream) {
  struct ArrowArray found;
  REQUIRE(stream->get_next(stream, &found) == 0);
  CHECK(found.release == NULL);
}

static void write_rows(struct colshuf_ipc_writer *writer, const struct ArrowArray *batch, int64_t start, int64_t length) {
  REQUIRE_OK(colshuf_ipc_writer_write(writer, batch, start, length, &err));
}

/* --- round trips --- */

static void random_round_trip(uint64_t seed) {
  struct test_random random = {seed};
  struct colshuf_ipc_writer_options options = {.file_format = (int)test_random_below(&random, 2),
                                               .layout = (enum colshuf_layout)test_random_below(&random, 2),
                                               .compress = (int)test_random_below(&random, 3)};
  struct test_schema_options schema_options = {0};
  struct csf_schema *schema = test_random_schema(&random, &schema_options);
  struct ArrowSchema c_schema;
  struct ArrowArray batch;
  struct memory memory;
  int64_t starts[3], lengths[3];
  struct test_array_options array_options = test_random_options(&random, 100);
  test_random_array(&random, &schema->root, &array_options, &batch);
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
  struct colshuf_ipc_writer *writer = open_writer(&c_schema, &memory, options);
  for (int i = 0; i < 3; i++) {
    starts[i] = (int64_t)test_random_below(&random, (uint64_t)batch.length + 1);
    lengths[i] = (int64_t)test_random_below(&random, (uint64_t)(batch.length - starts[i]) + 1);
    write_rows(writer, &batch, starts[i], lengths[i]);
  }
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  struct source source = {memory.bytes.data, memory.bytes.size, 0};
  struct ArrowArrayStream stream = open_reader(&source, options.file_format != 0);
  for (int i = 0; i < 3; i++) check_next(&stream, &schema->root, &batch, starts[i], lengths[i]);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  batch.release(&batch);
  c_schema.release(&c_schema);
  csf_schema_release(schema);
}

static void rows_of_every_type_come_back_from_streams_and_files(void) {
  for (uint64_t seed = 1; seed <= 400; seed++) random_round_trip(seed);
}

static void an_output_without_batches_has_a_schema(void) {
  struct test_table table = test_table("int32, dictionary<int8, utf8>", "1 'a'");
  for (int file_format = 0; file_format < 2; file_format++) {
    struct memory memory;
    struct colshuf_ipc_writer *writer =
        open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = file_format});
    REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
    struct source source = {memory.bytes.data, memory.bytes.size, 0};
    struct ArrowArrayStream stream = open_reader(&source, file_format != 0);
    struct ArrowSchema c_schema;
    REQUIRE(stream.get_schema(&stream, &c_schema) == 0);
    CHECK_INT(c_schema.n_children, 2);
    check_end(&stream);
    c_schema.release(&c_schema);
    stream.release(&stream);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
  }
  test_table_clear(&table);
}

static void a_file_less_its_magic_is_a_stream(void) {
  struct test_table table = test_table("utf8, bool", "'a' true | null false | 'ccc' null");
  struct memory memory;
  struct colshuf_ipc_writer *writer = open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = 1});
  write_rows(writer, &table.batch, 0, 2);
  write_rows(writer, &table.batch, 2, 1);
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  CHECK(memcmp(memory.bytes.data, "ARROW1\0", 8) == 0);
  CHECK(memcmp(memory.bytes.data + memory.bytes.size - 6, "ARROW1", 6) == 0);
  struct source source = {memory.bytes.data + 8, memory.bytes.size - 8, 0};
  struct ArrowArrayStream stream = open_reader(&source, false);
  check_next(&stream, &table.schema->root, &table.batch, 0, 2);
  check_next(&stream, &table.schema->root, &table.batch, 2, 1);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&table);
}

/* Every message starts at a multiple of 64 of the output, and so does every buffer. */
static void messages_lie_aligned_in_streams_and_files(void) {
  struct test_table table = test_table("bool, decimal128(20,3)", "true 1 | false 2 | true 3");
  for (int file_format = 0; file_format < 2; file_format++) {
    struct memory memory;
    struct colshuf_ipc_writer *writer =
        open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = file_format});
    size_t first = memory.bytes.size;
    write_rows(writer, &table.batch, 0, 3);
    CHECK_INT(first % 64, 0);
    CHECK_INT(memory.bytes.size % 64, 0);
    CHECK_INT((8 + csf_load_u32(memory.bytes.data + first + 4)) % 64, 0);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
  }
  test_table_clear(&table);
}

/* --- dictionaries --- */

/* Messages between two sizes of the output. */
static int messages_between(const struct memory *memory, size_t at, size_t end) {
  int n = 0;
  while (at < end) {
    uint32_t size = csf_load_u32(memory->bytes.data + at + 4);
    /* All bodies here are found by looking for the next continuation word at a multiple of 64. */
    at += 8 + size;
    while (at < end && csf_load_u32(memory->bytes.data + at) != UINT32_MAX) at += 64;
    n++;
  }
  CHECK_INT(at, end);
  return n;
}

static void a_dictionary_goes_out_only_when_it_has_changed(void) {
  struct test_table one = test_table("dictionary<int32, utf8>", "'a' | 'b' | 'a'");
  struct test_table two = test_table("dictionary<int32, utf8>", "'c' | 'd' | 'c'");
  const struct test_table *order[6] = {&one, &one, &two, &two, &one, &one};
  const int messages[6] = {2, 1, 2, 1, 2, 1};
  struct memory memory;
  struct colshuf_ipc_writer *writer = open_writer(&one.c_schema, &memory, (struct colshuf_ipc_writer_options){0});
  for (int i = 0; i < 6; i++) {
    size_t before = memory.bytes.size;
    write_rows(writer, &order[i]->batch, i % 2, 2);
    CHECK_INT(messages_between(&memory, before, memory.bytes.size), messages[i]);
  }
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  struct source source = {memory.bytes.data, memory.bytes.size, 0};
  struct ArrowArrayStream stream = open_reader(&source, false);
  for (int i = 0; i < 6; i++) check_next(&stream, &one.schema->root, &order[i]->batch, i % 2, 2);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&one);
  test_table_clear(&two);
}

static void a_file_takes_dictionaries_that_grow_and_refuses_others(void) {
  struct test_table small = test_table("dictionary<int32, utf8>", "'a' | 'b'");
  struct test_table grown = test_table("dictionary<int32, utf8>", "'a' | 'b' | 'c' | 'd'");
  struct test_table other = test_table("dictionary<int32, utf8>", "'c' | 'd'");
  for (int compress = 0; compress < 3; compress++) {
    struct memory memory;
    struct colshuf_ipc_writer *writer =
        open_writer(&small.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = 1, .compress = compress});
    write_rows(writer, &small.batch, 0, 2);
    write_rows(writer, &grown.batch, 1, 3);
    size_t before = memory.bytes.size;
    CHECK_STATUS(colshuf_ipc_writer_write(writer, &other.batch, 0, 2, &err), COLSHUF_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "do not begin with");
    CHECK_INT(memory.bytes.size, before);
    /* The refusal has changed nothing. */
    write_rows(writer, &grown.batch, 0, 4);
    REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
    struct source source = {memory.bytes.data, memory.bytes.size, 0};
    struct ArrowArrayStream stream = open_reader(&source, true);
    check_next(&stream, &small.schema->root, &small.batch, 0, 2);
    check_next(&stream, &small.schema->root, &grown.batch, 1, 3);
    check_next(&stream, &small.schema->root, &grown.batch, 0, 4);
    check_end(&stream);
    stream.release(&stream);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
  }
  test_table_clear(&small);
  test_table_clear(&grown);
  test_table_clear(&other);
}

static void an_empty_first_dictionary_is_followed_by_a_full_one(void) {
  struct test_table empty = test_table("dictionary<int32, utf8>", "");
  struct test_table full = test_table("dictionary<int32, utf8>", "'Foo' | 'Bar' | 'Baz'");
  for (int file_format = 0; file_format < 2; file_format++) {
    struct memory memory;
    struct colshuf_ipc_writer *writer =
        open_writer(&empty.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = file_format});
    write_rows(writer, &empty.batch, 0, 0);
    write_rows(writer, &full.batch, 0, 3);
    REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
    struct source source = {memory.bytes.data, memory.bytes.size, 0};
    struct ArrowArrayStream stream = open_reader(&source, file_format != 0);
    check_next(&stream, &empty.schema->root, &empty.batch, 0, 0);
    check_next(&stream, &empty.schema->root, &full.batch, 0, 3);
    check_end(&stream);
    stream.release(&stream);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
  }
  test_table_clear(&empty);
  test_table_clear(&full);
}

/* A dictionary whose values hold another: when the inner one changes, the outer one goes out again. */
static void a_changed_inner_dictionary_brings_the_outer_one_along(void) {
  struct test_table one = test_table("dictionary<int8, list<dictionary<int8, utf8>>>", "['a' 'b'] | ['a']");
  struct test_table two = test_table("dictionary<int8, list<dictionary<int8, utf8>>>", "['x' 'y'] | ['x']");
  struct memory memory;
  struct colshuf_ipc_writer *writer = open_writer(&one.c_schema, &memory, (struct colshuf_ipc_writer_options){0});
  write_rows(writer, &one.batch, 0, 2);
  size_t before = memory.bytes.size;
  write_rows(writer, &two.batch, 0, 2);
  CHECK_INT(messages_between(&memory, before, memory.bytes.size), 3);
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  struct source source = {memory.bytes.data, memory.bytes.size, 0};
  struct ArrowArrayStream stream = open_reader(&source, false);
  check_next(&stream, &one.schema->root, &one.batch, 0, 2);
  check_next(&stream, &one.schema->root, &two.batch, 0, 2);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&one);
  test_table_clear(&two);
}

/* Columns written alone and together: each keeps the dictionary that is its own. */
static void every_column_has_its_own_dictionary(void) {
  static const char *const types[3] = {"dictionary<int32, large_utf8>", "dictionary<int8, utf8>",
                                       "dictionary<int32, large_utf8>, dictionary<int8, utf8>"};
  static const char *const rows[3] = {"'hello'", "'world'", "'hello' 'world'"};
  for (int i = 0; i < 3; i++) {
    struct test_table table = test_table(types[i], rows[i]);
    struct memory memory;
    struct colshuf_ipc_writer *writer = open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){0});
    write_rows(writer, &table.batch, 0, 1);
    REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
    struct source source = {memory.bytes.data, memory.bytes.size, 0};
    struct ArrowArrayStream stream = open_reader(&source, false);
    check_next(&stream, &table.schema->root, &table.batch, 0, 1);
    check_end(&stream);
    stream.release(&stream);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
    test_table_clear(&table);
  }
}

/* --- what a schema says beside its types --- */

/* Names of a map's children, its keys' order, an extension's name without its metadata, a column's name that comes twice. */
static void names_flags_and_extensions_go_through_streams_and_files(void) {
  static const char extension[] = "\1\0\0\0\24\0\0\0" "ARROW:extension:name" "\7\0\0\0" "my.type";
  struct test_table table = test_table("map<utf8, int32>, int32, int32", "[{'k' 1}] 1 4 | null 2 5 | [] 3 6");
  struct ArrowSchema *map = table.c_schema.children[0], *entries = map->children[0], *key = entries->children[0];
  const char *names[] = {map->name, entries->name, key->name, entries->children[1]->name, table.c_schema.children[1]->name,
                         table.c_schema.children[2]->name};
  const char *metadata = key->metadata;
  map->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  entries->name = "some_entries";
  key->name = "some_key";
  key->metadata = extension;
  entries->children[1]->name = "some_value";
  table.c_schema.children[1]->name = table.c_schema.children[2]->name = "dupe_col";
  for (int file_format = 0; file_format < 2; file_format++) {
    struct memory memory;
    struct colshuf_ipc_writer *writer =
        open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = file_format});
    write_rows(writer, &table.batch, 0, 3);
    REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
    struct source source = {memory.bytes.data, memory.bytes.size, 0};
    struct ArrowArrayStream stream = open_reader(&source, file_format != 0);
    struct ArrowSchema found;
    REQUIRE(stream.get_schema(&stream, &found) == 0);
    struct ArrowSchema *found_map = found.children[0], *found_entries = found_map->children[0], *found_key = found_entries->children[0];
    CHECK((found_map->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0);
    CHECK_STRING(found_entries->name, "some_entries");
    CHECK_STRING(found_key->name, "some_key");
    CHECK_STRING(found_entries->children[1]->name, "some_value");
    REQUIRE(found_key->metadata != NULL);
    CHECK(memcmp(found_key->metadata, extension, sizeof extension - 1) == 0);
    for (int i = 1; i < 3; i++) CHECK_STRING(found.children[i]->name, "dupe_col");
    struct ArrowArray batch;
    REQUIRE(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
    CHECK_ROWS(&table.schema->root, &table.batch, 0, &table.schema->root, &batch, 0, 3);
    batch.release(&batch);
    found.release(&found);
    stream.release(&stream);
    colshuf_ipc_writer_free(writer);
    csf_buffer_clear(&memory.bytes);
  }
  map->name = names[0];
  entries->name = names[1];
  key->name = names[2];
  key->metadata = metadata;
  entries->children[1]->name = names[3];
  for (int i = 1; i < 3; i++) table.c_schema.children[i]->name = names[3 + i];
  test_table_clear(&table);
}

/* --- compression --- */

static void compression_makes_bodies_smaller_and_never_much_larger(void) {
  struct csf_schema *schema = test_schema("a: int64, b: utf8");
  struct ArrowSchema c_schema;
  REQUIRE_OK(csf_field_export(&schema->root, &test_heap, &c_schema, &err));
  for (int repeat = 0; repeat <= 100; repeat += 100) {
    size_t sizes[3];
    for (int compress = 0; compress < 3; compress++) {
      struct test_random random = {7};
      struct test_array_options options = {.rows = 5000, .repeat_percent = repeat};
      struct ArrowArray batch;
      struct memory memory;
      test_random_array(&random, &schema->root, &options, &batch);
      struct colshuf_ipc_writer *writer =
          open_writer(&c_schema, &memory, (struct colshuf_ipc_writer_options){.compress = compress});
      write_rows(writer, &batch, 0, 5000);
      sizes[compress] = memory.bytes.size;
      colshuf_ipc_writer_free(writer);
      csf_buffer_clear(&memory.bytes);
      batch.release(&batch);
    }
    for (int compress = 1; compress < 3; compress++) {
      CHECK(sizes[compress] < sizes[0] + 1000);
      if (repeat == 100) CHECK(sizes[compress] < sizes[0]);
    }
  }
  c_schema.release(&c_schema);
  csf_schema_release(schema);
}

/* --- refusals --- */

static void wrong_calls_are_refused_and_the_writer_goes_on(void) {
  struct test_table table = test_table("int32, utf8", "1 'a' | 2 'b'"), other = test_table("int32", "1");
  struct memory memory;
  struct colshuf_output output = {memory_write, &memory};
  struct colshuf_ipc_writer *writer;
  struct colshuf_ipc_writer_options bad = {.allocator = test_heap, .compress = 3};
  memory_init(&memory);
  CHECK_STATUS(colshuf_ipc_writer_new(&table.c_schema, &output, &bad, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_ipc_writer_new(NULL, &output, NULL, &writer, &err), COLSHUF_INVALID_ARGUMENT);
  writer = open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){0});
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &other.batch, 0, 1, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &table.batch, 1, 2, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &table.batch, -1, 1, &err), COLSHUF_INVALID_ARGUMENT);
  write_rows(writer, &table.batch, 0, 2);
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &table.batch, 0, 2, &err), COLSHUF_INVALID_ARGUMENT);
  CHECK_STATUS(colshuf_ipc_writer_finish(writer, &err), COLSHUF_INVALID_ARGUMENT);
  struct source source = {memory.bytes.data, memory.bytes.size, 0};
  struct ArrowArrayStream stream = open_reader(&source, false);
  check_next(&stream, &table.schema->root, &table.batch, 0, 2);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&table);
  test_table_clear(&other);
}

/* An output that is full at every size: the error says so, later calls say so too, and nothing is written again. */
static void a_full_output_is_reported_and_final(void) {
  struct test_table table = test_table("dictionary<int8, utf8>", "'a' | 'b'");
  struct memory memory;
  struct colshuf_ipc_writer *writer = open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){0});
  write_rows(writer, &table.batch, 0, 2);
  memory.limit = memory.bytes.size + 10;
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &table.batch, 0, 2, &err), COLSHUF_IO);
  CHECK_INT(err.system_errno, ENOSPC);
  memory.limit = SIZE_MAX;
  int calls = memory.calls;
  CHECK_STATUS(colshuf_ipc_writer_write(writer, &table.batch, 0, 2, &err), COLSHUF_IO);
  CHECK_STATUS(colshuf_ipc_writer_finish(writer, &err), COLSHUF_IO);
  CHECK_INT(memory.calls, calls);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  struct colshuf_output output = {memory_write, &memory};
  struct colshuf_ipc_writer_options options = {.allocator = test_heap};
  memory_init(&memory);
  memory.limit = 20;
  CHECK_STATUS(colshuf_ipc_writer_new(&table.c_schema, &output, &options, &writer, &err), COLSHUF_IO);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&table);
}

/* --- memory --- */

struct attempt {
  struct test_table *table;
  struct colshuf_ipc_writer_options options;
};

static enum colshuf_status write_all(void *ctx) {
  struct attempt *attempt = ctx;
  struct memory memory;
  struct colshuf_output output = {memory_write, &memory};
  struct colshuf_ipc_writer *writer;
  memory_init(&memory);
  enum colshuf_status status = colshuf_ipc_writer_new(&attempt->table->c_schema, &output, &attempt->options, &writer, NULL);
  if (status == COLSHUF_OK) {
    status = colshuf_ipc_writer_write(writer, &attempt->table->batch, 0, 2, NULL);
    if (status == COLSHUF_OK) status = colshuf_ipc_writer_write(writer, &attempt->table->batch, 1, 1, NULL);
    if (status == COLSHUF_OK) status = colshuf_ipc_writer_finish(writer, NULL);
    colshuf_ipc_writer_free(writer);
  }
  csf_buffer_clear(&memory.bytes);
  return status;
}

static void refused_memory_leaves_nothing_behind(void) {
  struct test_table table = test_table("utf8, dictionary<int8, list<dictionary<int8, utf8>>>", "'a' ['x'] | 'b' ['y' 'z']");
  for (int file_format = 0; file_format < 2; file_format++) {
    for (int compress = 0; compress < 3; compress++) {
      struct attempt attempt = {&table, {.allocator = test_heap, .file_format = file_format, .compress = compress}};
      CHECK(test_oom_sweep(write_all, &attempt) > 10);
    }
  }
  test_table_clear(&table);
}

/* After a refused allocation the batch can be written again, with its dictionary, once. */
static void a_writer_goes_on_after_refused_memory(void) {
  struct test_table table = test_table("dictionary<int8, utf8>, int64", "'a' 1 | 'b' 2");
  struct memory memory;
  struct colshuf_ipc_writer *writer = open_writer(&table.c_schema, &memory, (struct colshuf_ipc_writer_options){.file_format = 1});
  int written = 0;
  for (uint64_t nth = 1; nth < 30; nth++) {
    size_t before = memory.bytes.size;
    test_heap_refuse_at(nth);
    enum colshuf_status status = colshuf_ipc_writer_write(writer, &table.batch, 0, 2, &err);
    test_heap_refuse_at(0);
    written += status == COLSHUF_OK;
    if (status != COLSHUF_OK) CHECK_INT(memory.bytes.size, before);
  }
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  struct source source = {memory.bytes.data, memory.bytes.size, 0};
  struct ArrowArrayStream stream = open_reader(&source, true);
  for (int i = 0; i < written; i++) check_next(&stream, &table.schema->root, &table.batch, 0, 2);
  check_end(&stream);
  stream.release(&stream);
  colshuf_ipc_writer_free(writer);
  csf_buffer_clear(&memory.bytes);
  test_table_clear(&table);
}

static const struct test_case tests[] = {
    TEST(rows_of_every_type_come_back_from_streams_and_files),
    TEST(an_output_without_batches_has_a_schema),
    TEST(a_file_less_its_magic_is_a_stream),
    TEST(messages_lie_aligned_in_streams_and_files),
    TEST(a_dictionary_goes_out_only_when_it_has_changed),
    TEST(a_file_takes_dictionaries_that_grow_and_refuses_others),
    TEST(an_empty_first_dictionary_is_followed_by_a_full_one),
    TEST(a_changed_inner_dictionary_brings_the_outer_one_along),
    TEST(every_column_has_its_own_dictionary),
    TEST(names_flags_and_extensions_go_through_streams_and_files),
    TEST(compression_makes_bodies_smaller_and_never_much_larger),
    TEST(wrong_calls_are_refused_and_the_writer_goes_on),
    TEST(a_full_output_is_reported_and_final),
    TEST(refused_memory_leaves_nothing_behind),
    TEST(a_writer_goes_on_after_refused_memory),
};
TEST_MAIN(tests)
