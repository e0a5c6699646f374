/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C (Castagnoli): Snappy framing and Spark's checksum files both need it. */
#ifndef CSF_BASE_CRC32C_H
#define CSF_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues running (0 at the start) over data; hardware where there is one. */
uint32_t csf_crc32c(uint32_t running, const void *data, size_t size);

/* The variants behind it, for tests: every one gives the same. The x86 ones need csf_cpu()->crc32c and ->vpclmul. */
uint32_t csf_crc32c_scalar(uint32_t running, const void *data, size_t size);
#if defined(__x86_64__)
uint32_t csf_crc32c_sse42(uint32_t running, const void *data, size_t size);
uint32_t csf_crc32c_avx512(uint32_t running, const void *data, size_t size);
#endif

#endif
