/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the metrics. */
#ifndef CSF_SHUFFLE_CLOCK_H
#define CSF_SHUFFLE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t csf_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
