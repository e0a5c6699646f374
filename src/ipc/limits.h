/* SPDX-License-Identifier: Apache-2.0 */
/* Limits with their defaults filled in. */
#ifndef CSF_IPC_LIMITS_H
#define CSF_IPC_LIMITS_H

#include "colshuf/base.h"

#define CSF_DEFAULT_DECOMPRESSED_SIZE ((UINT64_C(1) << 31) - 1 + (UINT64_C(1) << 20))
#define CSF_DEFAULT_ROWS ((int64_t)INT32_MAX)
#define CSF_DEFAULT_DICTIONARY_SIZE ((uint64_t)INT32_MAX)

/* *wanted (NULL = none) with every zero field replaced by the default that colshuf/base.h names. Idempotent. */
struct colshuf_limits csf_limits(const struct colshuf_limits *wanted);

/* Single ones, for those in a hurry. */
static inline uint64_t csf_limit_decompressed_size(const struct colshuf_limits *limits) {
  return limits == NULL || limits->max_decompressed_size == 0 ? CSF_DEFAULT_DECOMPRESSED_SIZE : limits->max_decompressed_size;
}
static inline int64_t csf_limit_rows(const struct colshuf_limits *limits) {
  return limits == NULL || limits->max_rows == 0 ? CSF_DEFAULT_ROWS : limits->max_rows;
}
static inline uint64_t csf_limit_dictionary_size(const struct colshuf_limits *limits) {
  return limits == NULL || limits->max_dictionary_size == 0 ? CSF_DEFAULT_DICTIONARY_SIZE : limits->max_dictionary_size;
}

/* Where colshuf itself copies values, they must not lead it astray. */
static inline enum colshuf_trust csf_trust_to_copy(enum colshuf_trust trust) {
  return trust == COLSHUF_TRUSTED_VERIFIED ? COLSHUF_TRUSTED_LOCAL : trust;
}

#endif
