/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/scan.h"

#include <stdatomic.h>

#include "base/cpu.h"

/* A place that falls, or is negative, leaves a sign bit. Subtraction wraps only where a negative place has left one already. */
static bool rises32(const void *places, int64_t n) {
  const uint8_t *at = places;
  uint32_t last = csf_load_u32(at), signs = last;
  for (int64_t i = 1; i <= n; i++) {
    uint32_t next = csf_load_u32(at + 4 * i);
    signs |= next | (next - last);
    last = next;
  }
  return signs >> 31 == 0;
}

static bool rises64(const void *places, int64_t n) {
  const uint8_t *at = places;
  uint64_t last = csf_load_u64(at), signs = last;
  for (int64_t i = 1; i <= n; i++) {
    uint64_t next = csf_load_u64(at + 8 * i);
    signs |= next | (next - last);
    last = next;
  }
  return signs >> 63 == 0;
}

static bool below8(const void *values, int64_t n, uint64_t limit) {
  const uint8_t *at = values;
  uint8_t most = 0;
  for (int64_t i = 0; i < n; i++) most = at[i] > most ? at[i] : most;
  return most < limit;
}

static bool below16(const void *values, int64_t n, uint64_t limit) {
  const uint8_t *at = values;
  uint16_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    uint16_t value = csf_load_u16(at + 2 * i);
    most = value > most ? value : most;
  }
  return most < limit;
}

static bool below32(const void *values, int64_t n, uint64_t limit) {
  const uint8_t *at = values;
  uint32_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t value = csf_load_u32(at + 4 * i);
    most = value > most ? value : most;
  }
  return most < limit;
}

static bool below64(const void *values, int64_t n, uint64_t limit) {
  const uint8_t *at = values;
  uint64_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t value = csf_load_u64(at + 8 * i);
    most = value > most ? value : most;
  }
  return most < limit;
}

const struct csf_scan csf_scan_scalar = {rises32, rises64, below8, below16, below32, below64};

const struct csf_scan *csf_scan(void) {
  static _Atomic(const struct csf_scan *) chosen;
  const struct csf_scan *scan = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (CSF_LIKELY(scan != NULL)) return scan;
  scan = &csf_scan_scalar;
#if defined(__x86_64__)
  if (csf_cpu()->avx2) scan = &csf_scan_avx2;
  if (csf_cpu()->avx512) scan = &csf_scan_avx512;
#endif
  atomic_store_explicit(&chosen, scan, memory_order_relaxed);
  return scan;
}
