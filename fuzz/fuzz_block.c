/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of blocks of any codec. The first byte chooses trust; all blocks of the input go through one decoder (its schema cache warm
 * from the blocks before) and through a fresh one: both must say the same.
 */
#include "support.h"

static struct colshuf_block_decoder *new_decoder(enum colshuf_trust trust) {
  struct colshuf_block_decoder_options options = {.trust = trust, .limits = fuzz_limits()};
  struct colshuf_block_decoder *decoder;
  struct colshuf_error err;
  PROMISE(colshuf_block_decoder_new(&options, &decoder, &err) == COLSHUF_OK);
  return decoder;
}

/* Bytes of the block that both decoders took, 0 when they refused it. */
static size_t decode_both(struct colshuf_block_decoder *warm, enum colshuf_trust trust, const uint8_t *data, size_t size) {
  struct colshuf_error warm_err = {0}, fresh_err = {0};
  struct ArrowSchema schema = {0}, fresh_schema = {0};
  struct ArrowArray batch = {0}, fresh_batch = {0};
  size_t consumed = 0, fresh_consumed = 0;
  struct colshuf_block_decoder *fresh = new_decoder(trust);
  enum colshuf_status a = colshuf_block_decoder_decode(warm, data, size, NULL, &consumed, &schema, &batch, &warm_err);
  enum colshuf_status b =
      colshuf_block_decoder_decode(fresh, data, size, NULL, &fresh_consumed, &fresh_schema, &fresh_batch, &fresh_err);
  PROMISE(a == b);
  if (a != COLSHUF_OK) {
    fuzz_check_failure(a, &warm_err);
    PROMISE(strcmp(warm_err.message, fresh_err.message) == 0);
    PROMISE(batch.release == NULL && schema.release == NULL);
    consumed = 0;
  } else {
    PROMISE(consumed == fresh_consumed && consumed >= COLSHUF_BLOCK_HEADER_SIZE && consumed <= size);
    PROMISE(batch.length == fresh_batch.length && batch.n_children == fresh_batch.n_children);
    fuzz_check_batch(&schema, &batch, trust);
    schema.release(&schema);
    fresh_schema.release(&fresh_schema);
    batch.release(&batch);
    fresh_batch.release(&fresh_batch);
  }
  colshuf_block_decoder_free(fresh);
  return consumed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  enum colshuf_trust trust = fuzz_trust(data[0]);
  struct colshuf_block_decoder *decoder = new_decoder(trust);
  size_t at = 1;
  for (int i = 0; i < 8 && at < size; i++) {
    size_t consumed = decode_both(decoder, trust, data + at, size - at);
    if (consumed == 0) break;
    at += consumed;
  }
  colshuf_block_decoder_free(decoder);
  return 0;
}
