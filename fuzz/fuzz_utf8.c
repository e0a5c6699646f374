/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: every variant of this machine says of any bytes what the scalar one says, at any alignment, and so does every cut of them. */
#include <stdlib.h>

#include "arrow/utf8.h"
#include "base/cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const uint8_t *text, size_t size) {
  enum csf_utf8 wanted = csf_utf8_check_scalar(text, size);
  if (csf_utf8_check(text, size) != wanted) abort();
  if (csf_utf8_valid(text, size) != (wanted != CSF_UTF8_BROKEN)) abort();
#if defined(__x86_64__)
  if (csf_cpu()->avx2 && csf_utf8_check_avx2(text, size) != wanted) abort();
  if (csf_cpu()->avx512 && csf_utf8_check_avx512(text, size) != wanted) abort();
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  compare(data, size);
  compare(data + 1, size - 1);
  compare(data, size / 2);
  /* Behind a run of ASCII, so that short inputs reach the vector loops; the block is exactly as long, for the sanitizer. */
  size_t run = 32 + data[0] % 130;
  uint8_t *text = malloc(run + size);
  if (text == NULL) return 0;
  memset(text, 'a', run);
  memcpy(text + run, data, size);
  compare(text, run + size);
  free(text);
  return 0;
}
