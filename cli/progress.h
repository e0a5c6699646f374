/* SPDX-License-Identifier: Apache-2.0 */
/* One line on standard error while work goes on, when that is a terminal and the work is long. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* Shows "what: done of whole (42%)", at most ten times a second; whole 0 = unknown. */
void progress_show(const char *what, uint64_t done, uint64_t whole);

/* The same for things that are counted, not bytes. */
void progress_count(const char *what, uint64_t done, uint64_t whole);

/* Removes the line. */
void progress_end(void);

#endif
