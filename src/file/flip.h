/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checksum that differs says more than that: it is linear enough to tell where one flipped bit would make this difference and
 * no other. CRC32 and CRC32C name one bit of up to 256 MiB; Adler-32 sums up modulo 65521, so that every 65521st byte would do.
 */
#ifndef CSF_FILE_FLIP_H
#define CSF_FILE_FLIP_H

#include "colshuf/shuffle.h"

/* Bytes byte, byte + stride, … (n of them), each with the same bit. */
struct csf_flips {
  uint64_t n; /* 0: one flipped bit does not explain the difference */
  uint64_t byte, stride;
  int bit;   /* 0 = the lowest */
  int value; /* what it is now; -1 = either */
};

/* found: the checksum of the size bytes as they are; wanted: what it was. Takes some nanoseconds a byte for the CRCs. */
struct csf_flips csf_flips_find(enum colshuf_checksum algorithm, uint32_t found, uint32_t wanted, uint64_t size);

#endif
