/* SPDX-License-Identifier: Apache-2.0 */
/* The codec libraries by themselves: the floor under every compressed block. For the benchmarks and `colshuf bench`. */
#ifndef COLSHUF_BENCH_RAW_H
#define COLSHUF_BENCH_RAW_H

#include <colshuf/block.h>

/*
 * The raw codec libraries on the same bytes, contexts reused, into warm buffers: what colshuf is measured against. The content of blocks is
 * their codec stream without the 20 bytes of header.
 */
struct bench_raw;
struct bench_raw *bench_raw_new(void);
void bench_raw_free(struct bench_raw *raw);
/* Bytes that came out; the output is thrown away. */
size_t bench_raw_decompress(struct bench_raw *raw, enum colshuf_codec codec, const uint8_t *data, size_t size, size_t raw_size);
size_t bench_raw_compress(struct bench_raw *raw, enum colshuf_codec codec, int level, const uint8_t *data, size_t size);

#endif
