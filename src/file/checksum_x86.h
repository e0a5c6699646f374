/* SPDX-License-Identifier: Apache-2.0 */
/* Faster ways to the checksums; each equals zlib's. size 0 is fine. */
#ifndef CSF_FILE_CHECKSUM_X86_H
#define CSF_FILE_CHECKSUM_X86_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
uint32_t csf_adler32_avx2(uint32_t running, const void *data, size_t size); /* needs csf_cpu()->avx2 */
uint32_t csf_crc32_pclmul(uint32_t running, const void *data, size_t size); /* needs csf_cpu()->crc32c */
#endif

#endif
