/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the reduce side share: batches written to blocks, streams read to the end, and whether the rows are the same.
 */
#ifndef CSF_TEST_READING_H
#define CSF_TEST_READING_H

#include "colshuf/shuffle.h"
#include "support/blocks.h"
#include "support/random.h"

enum { TEST_MOST_BATCHES = 32, TEST_MOST_READ = 1024 };

/* Batches, each with its field: blocks of one partition may have others. */
struct test_written {
  const struct csf_field *fields[TEST_MOST_BATCHES];
  struct ArrowArray batches[TEST_MOST_BATCHES];
  int n;
};
void test_written_add(struct test_written *written, const struct csf_field *field, struct test_random *random,
                      int64_t max_rows);
void test_written_clear(struct test_written *written);

/* Random batches of so many rows, each a block of LZ4 and a partition of *output. */
void test_write_plain(struct test_output *output, struct test_written *written, const struct csf_schema *schema, int n_batches,
                      int64_t rows);

/* What a stream gave, all of it and found valid, and how it ended. */
struct test_reading {
  struct csf_schema *schema;
  struct ArrowArray batches[TEST_MOST_READ];
  int n;
  int64_t n_rows;
  enum colshuf_status status;
  char message[1008];
};
void test_read_stream(struct ArrowArrayStream *stream, struct test_reading *out); /* releases the stream */
void test_read_all(const struct colshuf_source *sources, int32_t n, const struct colshuf_read_options *options,
                   struct test_reading *out);
void test_reading_clear(struct test_reading *reading);

/* Checks that the rows read are those of batches [first, end), in order; columns as in the options of the reading. */
void test_check_read(const struct test_reading *reading, const struct test_written *written, int first, int end,
                     const int32_t *columns);

/* A source that gives at most step bytes a call. */
struct test_drip {
  const uint8_t *data;
  size_t size, step, at;
  int released;
  int64_t fail_at; /* byte at which reading fails; 0 = never */
};
struct colshuf_source test_drip_source(struct test_drip *drip);

/* Options at random that change no row. */
struct colshuf_read_options test_read_options(struct test_random *random);

#endif
