/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the lookup method, for utf8_avx2.c and utf8_avx512.c. A bit stands for one kind of fault between a first byte and the
 * one after it; the comment says which pairs of bytes have it.
 */
#ifndef CSF_ARROW_UTF8_TABLES_H
#define CSF_ARROW_UTF8_TABLES_H

#include <stdint.h>

enum csf_utf8_fault {
  CSF_SHORT = 1,        /* 11…… then no continuation */
  CSF_LONG = 2,         /* 0……… then a continuation */
  CSF_OVERLONG3 = 4,    /* e0, then 80 to 9f */
  CSF_BEYOND = 8,       /* f4, then 90 to bf; f5 to ff, then 90 to bf */
  CSF_SURROGATE = 16,   /* ed, then a0 to bf */
  CSF_OVERLONG2 = 32,   /* c0 or c1, then a continuation */
  CSF_EDGE = 64,        /* f0, then 80 to 8f: overlong; f5 to ff, then 80 to 8f: beyond */
  CSF_PAIR = 128,       /* two continuations: a fault unless they are third or fourth bytes */
  CSF_ANY_LOW = CSF_SHORT | CSF_LONG | CSF_PAIR /* whatever the first byte's lower half */
};

static const uint8_t csf_utf8_first_high[16] = {
    CSF_LONG, CSF_LONG, CSF_LONG, CSF_LONG, CSF_LONG, CSF_LONG, CSF_LONG, CSF_LONG, /* 0…7 */
    CSF_PAIR, CSF_PAIR, CSF_PAIR, CSF_PAIR,                                         /* 8…b */
    CSF_SHORT | CSF_OVERLONG2,                                                      /* c */
    CSF_SHORT,                                                                      /* d */
    CSF_SHORT | CSF_OVERLONG3 | CSF_SURROGATE,                                      /* e */
    CSF_SHORT | CSF_BEYOND | CSF_EDGE,                                              /* f */
};

static const uint8_t csf_utf8_first_low[16] = {
    CSF_ANY_LOW | CSF_OVERLONG2 | CSF_OVERLONG3 | CSF_EDGE, /* c0, e0, f0 */
    CSF_ANY_LOW | CSF_OVERLONG2,                            /* c1 */
    CSF_ANY_LOW,
    CSF_ANY_LOW,
    CSF_ANY_LOW | CSF_BEYOND, /* f4 */
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE | CSF_SURROGATE, /* ed */
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
    CSF_ANY_LOW | CSF_BEYOND | CSF_EDGE,
};

static const uint8_t csf_utf8_second_high[16] = {
    CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT, /* 0…7 */
    CSF_LONG | CSF_OVERLONG2 | CSF_PAIR | CSF_OVERLONG3 | CSF_EDGE,                         /* 8 */
    CSF_LONG | CSF_OVERLONG2 | CSF_PAIR | CSF_OVERLONG3 | CSF_BEYOND,                       /* 9 */
    CSF_LONG | CSF_OVERLONG2 | CSF_PAIR | CSF_SURROGATE | CSF_BEYOND,                       /* a */
    CSF_LONG | CSF_OVERLONG2 | CSF_PAIR | CSF_SURROGATE | CSF_BEYOND,                       /* b */
    CSF_SHORT, CSF_SHORT, CSF_SHORT, CSF_SHORT,                                             /* c…f */
};

#endif
