/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRCs by folding: a long message is replaced by 16 bytes of the same remainder, with carry-less multiplications. For any
 * bit-reversed polynomial of 32 bits.
 */
#ifndef CSF_BASE_CRC_FOLD_H
#define CSF_BASE_CRC_FOLD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Moving 128 bits forward by D bits multiplies their first half by x^(D + 64) and their second half by x^D. A product of two
 * bit-reversed words stands one place too low, which is a factor of x, so the factors are x^(D + 63) and x^(D - 1),
 * modulo the polynomial, bit-reversed, in the upper half of a word.
 */
struct csf_crc_fold {
  uint64_t by_128[2];
  uint64_t by_512[2];
  uint64_t by_2048[2];
};
extern const struct csf_crc_fold csf_crc_fold_crc32;  /* 0xedb88320 */
extern const struct csf_crc_fold csf_crc_fold_crc32c; /* 0x82f63b78 */

#if defined(__x86_64__)
/*
 * state: the register before data (inverted where the CRC inverts it). size: at least 64 and a multiple of 16. The CRC of the 16
 * bytes of out, from a register of 0, is that of the message. The first needs PCLMUL, the second csf_cpu()->vpclmul.
 */
void csf_crc_fold_pclmul(const struct csf_crc_fold *fold, uint32_t state, const uint8_t *data, size_t size, uint8_t out[16]);
void csf_crc_fold_avx512(const struct csf_crc_fold *fold, uint32_t state, const uint8_t *data, size_t size, uint8_t out[16]);
#endif

#endif
