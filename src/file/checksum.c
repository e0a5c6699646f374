/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum.h"

#include <stdatomic.h>
#include <zlib.h>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/crc_fold.h"
#include "file/checksum_x86.h"

typedef uint32_t update_fn(uint32_t running, const void *data, size_t size);

/* zlib takes a NULL pointer for a wish to start anew, whatever the size. */
static uint32_t adler32_scalar(uint32_t running, const void *data, size_t size) {
  return size == 0 ? running : (uint32_t)adler32_z(running, data, size);
}
static uint32_t crc32_scalar(uint32_t running, const void *data, size_t size) {
  return size == 0 ? running : (uint32_t)crc32_z(running, data, size);
}

#if defined(__x86_64__)
uint32_t csf_crc32_pclmul(uint32_t running, const void *data, size_t size) {
  if (size < 64) return crc32_scalar(running, data, size);
  size_t folded = size & ~(size_t)15;
  uint8_t rest[16];
  if (csf_cpu()->vpclmul) {
    csf_crc_fold_avx512(&csf_crc_fold_crc32, ~running, data, folded, rest);
  } else {
    csf_crc_fold_pclmul(&csf_crc_fold_crc32, ~running, data, folded, rest);
  }
  running = crc32_scalar(UINT32_MAX, rest, sizeof rest); /* a register of 0 */
  return crc32_scalar(running, (const uint8_t *)data + folded, size - folded);
}
#endif

static update_fn choose_adler32, choose_crc32;
static update_fn *_Atomic adler32_chosen = choose_adler32;
static update_fn *_Atomic crc32_chosen = choose_crc32;

static uint32_t choose_adler32(uint32_t running, const void *data, size_t size) {
  update_fn *best = adler32_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) best = csf_adler32_avx2;
#endif
  atomic_store_explicit(&adler32_chosen, best, memory_order_relaxed);
  return best(running, data, size);
}

static uint32_t choose_crc32(uint32_t running, const void *data, size_t size) {
  update_fn *best = crc32_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->crc32c) best = csf_crc32_pclmul;
#endif
  atomic_store_explicit(&crc32_chosen, best, memory_order_relaxed);
  return best(running, data, size);
}

uint32_t csf_checksum_start(enum colshuf_checksum algorithm) {
  return algorithm == COLSHUF_CHECKSUM_ADLER32 ? 1 : 0;
}

uint32_t csf_checksum_update(enum colshuf_checksum algorithm, uint32_t running, const void *data, size_t size) {
  switch (algorithm) {
    case COLSHUF_CHECKSUM_ADLER32:
      return atomic_load_explicit(&adler32_chosen, memory_order_relaxed)(running, data, size);
    case COLSHUF_CHECKSUM_CRC32:
      return atomic_load_explicit(&crc32_chosen, memory_order_relaxed)(running, data, size);
    case COLSHUF_CHECKSUM_CRC32C:
      return csf_crc32c(running, data, size);
    case COLSHUF_CHECKSUM_NONE:
      break;
  }
  return 0;
}

enum colshuf_status csf_checksum_check(enum colshuf_checksum algorithm, struct colshuf_error *err) {
  if (algorithm >= COLSHUF_CHECKSUM_ADLER32 && algorithm <= COLSHUF_CHECKSUM_NONE) return COLSHUF_OK;
  return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "there is no checksum %d", (int)algorithm);
}

const char *csf_checksum_name(enum colshuf_checksum algorithm) {
  switch (algorithm) {
    case COLSHUF_CHECKSUM_ADLER32:
      return "ADLER32";
    case COLSHUF_CHECKSUM_CRC32:
      return "CRC32";
    case COLSHUF_CHECKSUM_CRC32C:
      return "CRC32C";
    case COLSHUF_CHECKSUM_NONE:
      break;
  }
  return NULL;
}
