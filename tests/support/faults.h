/* SPDX-License-Identifier: Apache-2.0 */
/* A table of system calls that fails the nth call of one kind, for tests that let everything go wrong once. */
#ifndef CSF_TEST_FAULTS_H
#define CSF_TEST_FAULTS_H

#include "file/io.h"

enum test_effect { TEST_FAIL, TEST_SHORT, TEST_FAIL_FOREVER };

struct test_fault {
  const char *call; /* NULL = any */
  enum test_effect effect;
  int error;     /* errno of the failure */
  uint64_t at;   /* the at-th of these calls; 0 = none */
  uint64_t seen;
  bool hit;      /* it has happened */
};

extern struct test_fault test_fault;
extern int test_open_files; /* opened less closed through the table */

/* csf_io_current = &test_faulty_io while the fault may strike. */
extern const struct csf_io test_faulty_io;

#endif
