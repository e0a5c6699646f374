/* SPDX-License-Identifier: Apache-2.0 */
/* What this processor can do, less what COLSHUF_DISABLE_CPU takes away (a list of avx512, avx2, neon, crc32c). */
#ifndef CSF_BASE_CPU_H
#define CSF_BASE_CPU_H

#include <stdbool.h>

struct csf_cpu {
  bool avx2;   /* with bmi1, bmi2 */
  bool avx512; /* F, BW, DQ, VL; implies avx2 */
  bool vpclmul; /* VPCLMULQDQ; implies avx512 and crc32c */
  bool crc32c; /* SSE 4.2 and PCLMUL, or the ARMv8 CRC extension */
  bool neon;
};

/* Found at the first call, the same ever after. Any thread. */
const struct csf_cpu *csf_cpu(void);

#endif
