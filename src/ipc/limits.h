/* SPDX-License-Identifier: Apache-2.0 */
/* Limits with their defaults filled in. */
#ifndef CSF_IPC_LIMITS_H
#define CSF_IPC_LIMITS_H

#include "colshuf/base.h"

/* *wanted (NULL = none) with every zero field replaced by the default that colshuf/base.h names. Idempotent. */
struct colshuf_limits csf_limits(const struct colshuf_limits *wanted);

#endif
