/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other implementations wrote, decoded and written again, has the same bytes: arrow-rs' golden streams, and the IPC stream of every
 * block that the real Comet wrote (with arrow-rs' layout options).
 */
#include <dirent.h>

#include "codec/codec.h"
#include "colshuf/colshuf.h"
#include "support/harness.h"

static struct colshuf_error err;

static int append(void *ctx, const void *data, size_t size) {
  return csf_buffer_append(ctx, data, size, NULL) == COLSHUF_OK ? 0 : 12;
}

struct memory {
  struct csf_buffer bytes;
  size_t at;
};
static int64_t read_memory(void *ctx, void *buffer, size_t size) {
  struct memory *memory = ctx;
  size_t n = memory->bytes.size - memory->at < size ? memory->bytes.size - memory->at : size;
  memcpy(buffer, memory->bytes.data + memory->at, n);
  memory->at += n;
  return (int64_t)n;
}

static void rewrite_stream(const char *path) {
  struct memory memory = {.bytes = test_read_file(test_data(path))};
  struct colshuf_input input = {.read = read_memory, .ctx = &memory};
  struct colshuf_ipc_reader_options read_options = {.allocator = test_heap};
  struct ArrowArrayStream stream;
  REQUIRE_OK(colshuf_ipc_reader_open(&input, &read_options, &stream, &err));
  struct ArrowSchema schema;
  REQUIRE(stream.get_schema(&stream, &schema) == 0);

  struct csf_buffer written;
  csf_buffer_init(&written, &test_heap);
  struct colshuf_output output = {.write = append, .ctx = &written};
  struct colshuf_ipc_writer_options options = {.allocator = test_heap, .layout = COLSHUF_LAYOUT_ARROW_RS};
  struct colshuf_ipc_writer *writer;
  REQUIRE_OK(colshuf_ipc_writer_new(&schema, &output, &options, &writer, &err));
  for (;;) {
    struct ArrowArray batch = {0};
    REQUIRE(stream.get_next(&stream, &batch) == 0);
    if (batch.release == NULL) break;
    REQUIRE_OK(colshuf_ipc_writer_write(writer, &batch, 0, batch.length, &err));
    batch.release(&batch);
  }
  REQUIRE_OK(colshuf_ipc_writer_finish(writer, &err));
  colshuf_ipc_writer_free(writer);
  stream.release(&stream);
  schema.release(&schema);
  CHECK_INT(written.size, memory.bytes.size);
  CHECK(written.size == memory.bytes.size && memcmp(written.data, memory.bytes.data, written.size) == 0);
  csf_buffer_clear(&written);
  csf_buffer_clear(&memory.bytes);
}

static void golden_streams_are_written_again_byte_for_byte(void) {
  rewrite_stream("spec/golden/t1.ipc");
  rewrite_stream("spec/golden/t3.ipc");
  rewrite_stream("spec/golden/t4.ipc");
}

/* The uncompressed IPC stream of a block. */
static struct csf_buffer stream_of(struct csf_codec *codec, const uint8_t *block, size_t size) {
  struct colshuf_block_header header;
  REQUIRE_OK(colshuf_block_header_read(block, size, &header, &err));
  struct csf_span body = {block + COLSHUF_BLOCK_HEADER_SIZE, size - COLSHUF_BLOCK_HEADER_SIZE};
  struct csf_buffer stream;
  csf_buffer_init(&stream, &test_heap);
  if (header.codec == COLSHUF_NONE) REQUIRE_OK(csf_buffer_append(&stream, body.data, body.size, &err));
  else REQUIRE_OK(csf_codec_decompress(codec, header.codec, body, 1u << 30, 0, &stream, &err));
  return stream;
}

static void rewrite_block(struct colshuf_block_decoder *decoder, struct csf_codec *codec, const uint8_t *block, size_t size) {
  struct colshuf_block_header header;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  size_t consumed;
  REQUIRE_OK(colshuf_block_header_read(block, size, &header, &err));
  REQUIRE_OK(colshuf_block_decoder_decode(decoder, block, size, NULL, &consumed, &schema, &batch, &err));
  struct colshuf_block_encoder_options options = {
      .allocator = test_heap,
      .codec = header.codec,
      .compat = COLSHUF_COMPAT_ARROW,
      .layout = COLSHUF_LAYOUT_ARROW_RS,
      .offsets = header.offsets_as_lengths ? COLSHUF_OFFSETS_LENGTHS : COLSHUF_OFFSETS_PLAIN,
      .dictionary = COLSHUF_DICTIONARY_OFF};
  struct colshuf_block_encoder *encoder;
  REQUIRE_OK(colshuf_block_encoder_new(&schema, &options, &encoder, &err));
  const uint8_t *again;
  size_t again_size;
  REQUIRE_OK(colshuf_block_encoder_encode(encoder, &batch, 0, batch.length, &again, &again_size, &err));
  CHECK(memcmp(again + 8, block + 8, 12) == 0);
  if (header.codec == COLSHUF_NONE) CHECK(again_size == consumed && memcmp(again, block, consumed) == 0);
  struct csf_buffer theirs = stream_of(codec, block, consumed), ours = stream_of(codec, again, again_size);
  CHECK_INT(ours.size, theirs.size);
  CHECK(ours.size == theirs.size && memcmp(ours.data, theirs.data, ours.size) == 0);
  csf_buffer_clear(&theirs);
  csf_buffer_clear(&ours);
  colshuf_block_encoder_free(encoder);
  schema.release(&schema);
  batch.release(&batch);
}

/* All blocks of one data file; how many. */
static int rewrite_file(const char *path) {
  struct csf_buffer data = test_read_file(path);
  struct colshuf_block_decoder_options options = {.allocator = test_heap};
  struct colshuf_block_decoder *decoder;
  struct csf_codec *codec;
  REQUIRE_OK(colshuf_block_decoder_new(&options, &decoder, &err));
  REQUIRE_OK(csf_codec_new(&test_heap, &codec, &err));
  int n = 0;
  for (size_t at = 0; at < data.size; n++) {
    struct colshuf_block_header header;
    REQUIRE_OK(colshuf_block_header_read(data.data + at, data.size - at, &header, &err));
    rewrite_block(decoder, codec, data.data + at, (size_t)header.block_size);
    at += (size_t)header.block_size;
  }
  csf_codec_free(codec);
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&data);
  return n;
}

/* Every .data file two folders below mode, such as comet/native-none. */
static int rewrite_mode(const char *mode) {
  char root[4096];
  snprintf(root, sizeof root, "%s", test_data(mode));
  int n = 0;
  DIR *cases = opendir(root);
  REQUIRE(cases != NULL);
  for (struct dirent *entry; (entry = readdir(cases)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char folder[4500];
    snprintf(folder, sizeof folder, "%s/%s", root, entry->d_name);
    DIR *files = opendir(folder);
    REQUIRE(files != NULL);
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
      const char *dot = strrchr(file->d_name, '.');
      if (dot == NULL || strcmp(dot, ".data") != 0) continue;
      char path[5000];
      snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
      n += rewrite_file(path);
    }
    closedir(files);
  }
  closedir(cases);
  return n;
}

static void comets_uncompressed_blocks_are_written_again_byte_for_byte(void) {
  CHECK(rewrite_mode("comet/native-none") > 0);
}
static void the_streams_in_comets_lz4_blocks_are_written_again_byte_for_byte(void) {
  CHECK(rewrite_mode("comet/native-lz4") > 0);
  CHECK(rewrite_mode("comet/native-lz4-spill") > 0);
}
static void the_streams_in_comets_snappy_blocks_are_written_again_byte_for_byte(void) {
  CHECK(rewrite_mode("comet/native-snappy") > 0);
}
static void the_flagged_streams_in_comets_zstd_blocks_are_written_again_byte_for_byte(void) {
  CHECK(rewrite_mode("comet/native-zstd") > 0);
}

static const struct test_case tests[] = {
    TEST(golden_streams_are_written_again_byte_for_byte),
    TEST(comets_uncompressed_blocks_are_written_again_byte_for_byte),
    TEST(the_streams_in_comets_lz4_blocks_are_written_again_byte_for_byte),
    TEST(the_streams_in_comets_snappy_blocks_are_written_again_byte_for_byte),
    TEST(the_flagged_streams_in_comets_zstd_blocks_are_written_again_byte_for_byte),
};
TEST_MAIN(tests)
