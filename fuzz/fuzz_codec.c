/* SPDX-License-Identifier: Apache-2.0 */
/* One codec stream: the first byte chooses LZ4 frame, zstd or Snappy framing, and whether the rest is to be decoded or first encoded. */
#include "support.h"

#include "codec/codec.h"

static void round_trip(struct csf_codec *codec, enum colshuf_codec kind, int level, struct csf_span input) {
  struct colshuf_error err = {0};
  struct csf_buffer packed, back;
  csf_buffer_init(&packed, NULL);
  csf_buffer_init(&back, NULL);
  PROMISE(csf_codec_compress(codec, kind, level, input, &packed, &err) == COLSHUF_OK);
  struct csf_span stream = {packed.data, packed.size};
  PROMISE(csf_codec_decompress(codec, kind, stream, input.size, 0, &back, &err) == COLSHUF_OK);
  PROMISE(back.size == input.size && (input.size == 0 || memcmp(back.data, input.data, input.size) == 0));
  if (input.size > 0) PROMISE(csf_codec_decompress(codec, kind, stream, input.size - 1, 0, &back, &err) == COLSHUF_LIMIT);
  csf_buffer_clear(&packed);
  csf_buffer_clear(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  static const enum colshuf_codec kinds[] = {COLSHUF_LZ4, COLSHUF_ZSTD, COLSHUF_SNAPPY};
  enum colshuf_codec kind = kinds[data[0] % 3];
  struct csf_codec *codec;
  struct colshuf_error err = {0};
  PROMISE(csf_codec_new(NULL, &codec, &err) == COLSHUF_OK);
  struct csf_span input = {data + 1, size - 1};
  if ((data[0] & 0x80) != 0) {
    round_trip(codec, kind, 0, input);
  } else {
    struct csf_buffer out;
    csf_buffer_init(&out, NULL);
    enum colshuf_status status = csf_codec_decompress(codec, kind, input, 16u << 20, 0, &out, &err);
    if (status != COLSHUF_OK) fuzz_check_failure(status, &err);
    else PROMISE(out.size <= 16u << 20);
    csf_buffer_clear(&out);
  }
  csf_codec_free(codec);
  return 0;
}
