/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of validation over plain integers. Branch-free: they say whether all is right, and somebody slower finds the place when not.
 * No pointer needs alignment.
 */
#ifndef CSF_ARROW_SCAN_H
#define CSF_ARROW_SCAN_H

#include "base/bytes.h"

struct csf_scan {
  /* Whether places[0..n] (n + 1 of them) are none negative and never fall. */
  bool (*rises32)(const void *places, int64_t n);
  bool (*rises64)(const void *places, int64_t n);
  /* Whether values[0..n), read as unsigned, are all below limit; limit > 0. */
  bool (*below8)(const void *values, int64_t n, uint64_t limit);
  bool (*below16)(const void *values, int64_t n, uint64_t limit);
  bool (*below32)(const void *values, int64_t n, uint64_t limit);
  bool (*below64)(const void *values, int64_t n, uint64_t limit);
};

/* The best one of this machine. */
const struct csf_scan *csf_scan(void);

extern const struct csf_scan csf_scan_scalar;
#if defined(__x86_64__)
extern const struct csf_scan csf_scan_avx2;
extern const struct csf_scan csf_scan_avx512;
#endif

#endif
