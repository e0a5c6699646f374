/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring in processes of their own: what an earlier measurement left in the heap is then part of no later one, and the peak of
 * resident memory is that of one measurement.
 */
#ifndef COLSHUF_BENCH_CHILD_H
#define COLSHUF_BENCH_CHILD_H

#include <stddef.h>

/*
 * Runs job(ctx, result) in a child of this process, which should hold nothing of size itself, and brings size bytes of *result back. Ends
 * the program when the child ends in any other way than by returning from job.
 */
void bench_in_child(void (*job)(const void *ctx, void *result), const void *ctx, void *result, size_t size);

/* Resident memory of this process in MiB: its peak since it began, and now. */
double bench_peak_mib(void);
double bench_resident_mib(void);

#endif
