/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/crc_fold.h"

typedef uint32_t crc32c_fn(uint32_t running, const void *data, size_t size);

/* x^32 + ... of Castagnoli, bit-reversed. */
#define POLYNOMIAL 0x82f63b78u

/*
 * tables[k][b] = what byte b contributes when k more bytes of the same step follow it. Slicing by eight: a step looks all eight
 * bytes of a word up at once instead of waiting for the result of each.
 */
static uint32_t tables[8][256];
static _Atomic int tables_state; /* 0 none, 1 being filled, 2 ready */

static void fill_tables(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
    tables[0][byte] = value;
  }
  for (int k = 1; k < 8; k++) {
    for (int byte = 0; byte < 256; byte++) {
      uint32_t previous = tables[k - 1][byte];
      tables[k][byte] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  }
}

/* The first thread fills, the others wait the few microseconds that it takes. */
static void need_tables(void) {
  if (atomic_load_explicit(&tables_state, memory_order_acquire) == 2) return;
  int expected = 0;
  if (atomic_compare_exchange_strong(&tables_state, &expected, 1)) {
    fill_tables();
    atomic_store_explicit(&tables_state, 2, memory_order_release);
  }
  while (atomic_load_explicit(&tables_state, memory_order_acquire) != 2) {
  }
}

uint32_t csf_crc32c_scalar(uint32_t running, const void *data, size_t size) {
  need_tables();
  const uint8_t *place = data;
  uint32_t crc = ~running;
  for (; size >= 8; place += 8, size -= 8) {
    uint64_t word = csf_load_u64(place) ^ crc;
    crc = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^ tables[4][word >> 24 & 0xff] ^
          tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^ tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
  }
  for (; size > 0; place++, size--) crc = (crc >> 8) ^ tables[0][(crc ^ *place) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)
/* Below this the folding does not pay. */
enum { FOLD_FROM = 1024 };

uint32_t csf_crc32c_avx512(uint32_t running, const void *data, size_t size) {
  if (size < FOLD_FROM) return csf_crc32c_sse42(running, data, size);
  size_t folded = size & ~(size_t)15;
  uint8_t rest[16];
  csf_crc_fold_avx512(&csf_crc_fold_crc32c, ~running, data, folded, rest);
  running = csf_crc32c_sse42(UINT32_MAX, rest, sizeof rest); /* a register of 0 */
  return csf_crc32c_sse42(running, (const uint8_t *)data + folded, size - folded);
}
#endif

static crc32c_fn choose;
static crc32c_fn *_Atomic chosen = choose;

static uint32_t choose(uint32_t running, const void *data, size_t size) {
  crc32c_fn *best = csf_crc32c_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->crc32c) best = csf_crc32c_sse42;
  if (csf_cpu()->vpclmul) best = csf_crc32c_avx512;
#endif
  atomic_store_explicit(&chosen, best, memory_order_relaxed);
  return best(running, data, size);
}

uint32_t csf_crc32c(uint32_t running, const void *data, size_t size) {
  return atomic_load_explicit(&chosen, memory_order_relaxed)(running, data, size);
}
