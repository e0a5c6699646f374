/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum.h"

#include <zlib.h>

#include "base/crc32c.h"

uint32_t csf_checksum_start(enum colshuf_checksum algorithm) {
  return algorithm == COLSHUF_CHECKSUM_ADLER32 ? 1 : 0;
}

uint32_t csf_checksum_update(enum colshuf_checksum algorithm, uint32_t running, const void *data, size_t size) {
  if (size == 0) return running; /* zlib takes a NULL pointer for a wish to start anew */
  switch (algorithm) {
    case COLSHUF_CHECKSUM_ADLER32:
      return (uint32_t)adler32_z(running, data, size);
    case COLSHUF_CHECKSUM_CRC32:
      return (uint32_t)crc32_z(running, data, size);
    case COLSHUF_CHECKSUM_CRC32C:
      return csf_crc32c(running, data, size);
    case COLSHUF_CHECKSUM_NONE:
      break;
  }
  return 0;
}

const char *csf_checksum_name(enum colshuf_checksum algorithm) {
  switch (algorithm) {
    case COLSHUF_CHECKSUM_ADLER32:
      return "ADLER32";
    case COLSHUF_CHECKSUM_CRC32:
      return "CRC32";
    case COLSHUF_CHECKSUM_CRC32C:
      return "CRC32C";
    case COLSHUF_CHECKSUM_NONE:
      break;
  }
  return NULL;
}
