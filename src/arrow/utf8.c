/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 checked byte by byte, with a shortcut over ASCII: the oracle of the SIMD siblings, and the choice among them. */
#include "arrow/utf8.h"

#include <stdatomic.h>

#include "base/cpu.h"

/* Bytes of the well-formed sequence at text (Unicode table 3-7), or 0. Its first byte is not ASCII; left > 0. */
static size_t sequence_size(const uint8_t *text, size_t left) {
  uint8_t lead = text[0];
  if (lead < 0xc2 || lead > 0xf4) return 0; /* continuation, overlong pair, beyond U+10FFFF */
  size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (left < size) return 0;
  /* The second byte rules out overlong forms, surrogates and what lies beyond U+10FFFF. */
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (text[1] < low || text[1] > high) return 0;
  for (size_t i = 2; i < size; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  return size;
}

static size_t ascii_run(const uint8_t *text, size_t size) {
  size_t i = 0;
  while (size - i >= 8 && (csf_load_u64(text + i) & 0x8080808080808080u) == 0) i += 8;
  while (i < size && text[i] < 0x80) i++;
  return i;
}

enum csf_utf8 csf_utf8_check_scalar(const uint8_t *text, size_t size) {
  size_t i = ascii_run(text, size);
  if (i == size) return CSF_UTF8_ASCII;
  while (i < size) {
    size_t sequence = sequence_size(text + i, size - i);
    if (sequence == 0) return CSF_UTF8_BROKEN;
    i += sequence;
    i += ascii_run(text + i, size - i);
  }
  return CSF_UTF8_WIDE;
}

void csf_utf8_mark_bad(const uint8_t *text, size_t size, uint64_t *bad) {
  for (size_t i = 0; (i += ascii_run(text + i, size - i)) < size;) {
    size_t sequence = sequence_size(text + i, size - i);
    if (sequence == 0) bad[i / 64] |= UINT64_C(1) << i % 64;
    i += sequence == 0 ? 1 : sequence;
  }
}

typedef enum csf_utf8 check_fn(const uint8_t *text, size_t size);

static check_fn *choose(void) {
#if defined(__x86_64__)
  if (csf_cpu()->avx512) return csf_utf8_check_avx512;
  if (csf_cpu()->avx2) return csf_utf8_check_avx2;
#endif
  return csf_utf8_check_scalar;
}

enum csf_utf8 csf_utf8_check(const uint8_t *text, size_t size) {
  enum { SHORT = 32 }; /* below it, setting up costs more than it brings */
  static _Atomic(check_fn *) chosen;
  if (size < SHORT) return size == 0 ? CSF_UTF8_ASCII : csf_utf8_check_scalar(text, size);
  check_fn *check = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (CSF_UNLIKELY(check == NULL)) {
    check = choose();
    atomic_store_explicit(&chosen, check, memory_order_relaxed);
  }
  return check(text, size);
}

bool csf_utf8_valid(const uint8_t *text, size_t size) {
  return csf_utf8_check(text, size) != CSF_UTF8_BROKEN;
}
