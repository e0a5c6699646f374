/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Whether name stands as a whole word in the comma-separated list. */
static bool listed(const char *list, const char *name) {
  size_t size = strlen(name);
  while (list != NULL && *list != '\0') {
    size_t word = strcspn(list, ",");
    if (word == size && memcmp(list, name, size) == 0) return true;
    list += word + (list[word] == ',');
  }
  return false;
}

static struct csf_cpu detect(void) {
  struct csf_cpu cpu = {0};
#if defined(__x86_64__)
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  cpu.crc32c = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  cpu.vpclmul = __builtin_cpu_supports("vpclmulqdq");
#elif defined(__aarch64__)
  cpu.neon = true;
#if defined(__ARM_FEATURE_CRC32)
  cpu.crc32c = true;
#endif
#endif
  const char *disabled = getenv("COLSHUF_DISABLE_CPU");
  if (listed(disabled, "avx2")) cpu.avx2 = false;
  if (listed(disabled, "avx512") || !cpu.avx2) cpu.avx512 = false;
  if (listed(disabled, "crc32c")) cpu.crc32c = false;
  if (!cpu.avx512 || !cpu.crc32c) cpu.vpclmul = false;
  if (listed(disabled, "neon")) cpu.neon = false;
  return cpu;
}

/* Two threads may detect at once: both find the same, and the state is published after the value. */
const struct csf_cpu *csf_cpu(void) {
  static struct csf_cpu found;
  static _Atomic int state; /* 0 unknown, 1 being written, 2 ready */
  if (atomic_load_explicit(&state, memory_order_acquire) == 2) return &found;
  struct csf_cpu cpu = detect();
  int expected = 0;
  if (atomic_compare_exchange_strong(&state, &expected, 1)) {
    found = cpu;
    atomic_store_explicit(&state, 2, memory_order_release);
  }
  while (atomic_load_explicit(&state, memory_order_acquire) != 2) {
  }
  return &found;
}
