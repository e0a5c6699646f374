/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record and dictionary batches of schemas that are fixed: the metadata is always a sound flatbuffer, and the input chooses the numbers in it
 * (lengths, null counts, buffers, variadic counts, compression) and the body. So the fuzzer spends itself on what the reader must
 * check, not on finding a flatbuffer. The stream is read as one, and as a block at each level of trust.
 */
#include "support.h"

#include "block/block_format.h"
#include "support/messages.h"

static const char *const schemas[] = {
    "a: int32, b: utf8",
    "a: bool, b: decimal128(20, 2), c: large_binary, d: int64 not null",
    "a: list<int32>, b: struct<x: utf8, y: int8>, c: map<utf8, int64>",
    "a: utf8_view, b: binary_view",
    "a: dictionary<int32, utf8>, b: dictionary<int8, int64>",
    "a: fixed_size_list<int16, 3>, b: fixed_size_binary(5), c: null",
    "a: run_end_encoded<int32, utf8>",
    "a: dense_union<0: int32, 5: utf8>, b: sparse_union<1: int8, 2: bool>",
    "a: list_view<int32>, b: large_list<utf8>",
    "a: dictionary<int8, list<utf8_view>>, b: dictionary<int8, bool>",
    "a: dictionary<int8, struct<x: dictionary<int8, int8>, y: large_list<null>>>",
    "a: dictionary<int16, dense_union<0=x: int32, 5=y: utf8>>, b: dictionary<uint8, run_end_encoded<int16, int8>>",
};
enum { N_SCHEMAS = sizeof schemas / sizeof schemas[0], MOST = 24 };

struct bytes {
  const uint8_t *data;
  size_t size;
};

static uint8_t take(struct bytes *in) {
  if (in->size == 0) return 0;
  in->size--;
  return *in->data++;
}

/* Small ones are a byte; behind 0xff stands any number, behind 0xfe one of the edges. */
static int64_t take_number(struct bytes *in) {
  static const int64_t edges[] = {-1, INT32_MAX, INT64_MAX, INT64_MIN, 1 << 20, INT64_C(1) << 32, INT64_MAX - 7, 1 << 30};
  uint8_t first = take(in);
  if (first < 0xfe) return first;
  if (first == 0xfe) return edges[take(in) % 8];
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value = value << 8 | take(in);
  return (int64_t)value;
}

static void append_message(struct bytes *in, struct csf_buffer *out, bool is_dictionary) {
  int64_t nodes[MOST][2], buffers[MOST][2], variadic[4], place = 0;
  uint8_t flags = take(in);
  struct test_message m = {.length = take_number(in), .is_dictionary = is_dictionary, .is_delta = (flags & 1) != 0, .is_v4 = (flags & 2) != 0};
  m.compression = (flags >> 2 & 3) == 3 ? 9 : flags >> 2 & 3;
  if (is_dictionary) m.id = take(in) % 4;
  m.n_nodes = take(in) % MOST;
  m.n_buffers = take(in) % MOST;
  m.n_variadic = take(in) % 4;
  for (size_t i = 0; i < m.n_nodes; i++) {
    nodes[i][0] = (flags & 16) != 0 ? take_number(in) : m.length;
    nodes[i][1] = take_number(in);
  }
  for (size_t i = 0; i < m.n_buffers; i++) {
    buffers[i][1] = take_number(in);
    buffers[i][0] = (flags & 32) != 0 ? take_number(in) : place;
    place += buffers[i][1] > 0 && buffers[i][1] < 1 << 20 ? (buffers[i][1] + 7) / 8 * 8 : 0;
  }
  for (size_t i = 0; i < m.n_variadic; i++) variadic[i] = take_number(in);
  m.nodes = (const int64_t (*)[2])nodes;
  m.buffers = (const int64_t (*)[2])buffers;
  m.variadic = variadic;
  size_t wanted = (size_t)place + ((flags & 64) != 0 ? take(in) : 0);
  m.body = in->data;
  m.body_size = wanted < in->size ? wanted : in->size;
  test_message_append(out, &m);
  in->data += m.body_size;
  in->size -= m.body_size;
}

static void read_block(const struct csf_buffer *stream, enum colshuf_trust trust, bool as_lengths) {
  struct csf_buffer block = test_buffer();
  if (csf_buffer_append_zero(&block, COLSHUF_BLOCK_HEADER_SIZE, NULL) != COLSHUF_OK) abort();
  test_append(&block, stream->data, stream->size);
  csf_block_header_write(block.data, block.size, 0, COLSHUF_NONE, as_lengths);
  struct colshuf_block_decoder_options options = {.trust = trust, .limits = fuzz_limits()};
  struct colshuf_block_decoder *decoder;
  struct colshuf_error err = {0};
  PROMISE(colshuf_block_decoder_new(&options, &decoder, &err) == COLSHUF_OK);
  struct ArrowSchema schema;
  struct ArrowArray batch;
  size_t consumed;
  for (int round = 0; round < 2; round++) { /* the schema is cached the second time */
    enum colshuf_status status = colshuf_block_decoder_decode(decoder, block.data, block.size, NULL, &consumed, &schema, &batch, &err);
    if (status != COLSHUF_OK) {
      fuzz_check_failure(status, &err);
      continue;
    }
    fuzz_check_batch(&schema, &batch, trust);
    schema.release(&schema);
    batch.release(&batch);
  }
  colshuf_block_decoder_free(decoder);
  csf_buffer_clear(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes in = {data, size};
  uint8_t how = take(&in);
  const char *schema = schemas[take(&in) % N_SCHEMAS];
  struct csf_buffer stream = test_buffer();
  test_schema_append(&stream, schema);
  for (int i = 0; i < (how >> 2 & 3); i++) append_message(&in, &stream, true);
  append_message(&in, &stream, false);
  if ((how & 32) != 0) { /* what was read stays as it was when more values come */
    append_message(&in, &stream, true);
    append_message(&in, &stream, false);
  }
  test_end_append(&stream);
  struct fuzz_memory memory = {.data = stream.data, .size = stream.size};
  struct colshuf_input input = {.read = fuzz_read, .ctx = &memory};
  fuzz_read_ipc(&input, fuzz_trust(how));
  read_block(&stream, fuzz_trust(how), (how & 16) != 0);
  csf_buffer_clear(&stream);
  return 0;
}
