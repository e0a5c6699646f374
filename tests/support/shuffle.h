/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of whole shuffles: input kept beside a plain routing of it, and outputs compared with that. */
#ifndef CSF_TEST_SHUFFLE_H
#define CSF_TEST_SHUFFLE_H

#include "colshuf/shuffle.h"
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

struct test_row {
  int32_t batch;
  int64_t row;
};

/* Batches of one schema, and where each row belongs. */
struct test_input {
  struct csf_schema *schema;
  struct ArrowSchema exported;
  struct ArrowArray *batches;
  int32_t n_batches;
  int32_t n_partitions;
  int64_t n_rows;
  struct test_row *rows; /* partition after partition, each in the order of the input */
  int64_t *starts;       /* n_partitions + 1 */
};

/* schema is taken over; ids by a partitioner of these options. */
void test_input_open(struct test_input *input, struct csf_schema *schema, const struct colshuf_partitioner_options *partitioner,
                     struct test_random *random, int32_t n_batches, const struct test_array_options *arrays);
/* The same with batches that exist: moved in. */
void test_input_take(struct test_input *input, struct csf_schema *schema, const struct colshuf_partitioner_options *partitioner,
                     struct ArrowArray *batches, int32_t n_batches);
void test_input_close(struct test_input *input);

/* A new writer, all batches, commit. */
enum colshuf_status test_shuffle(const struct test_input *input, const struct colshuf_map_writer_options *options,
                                 struct colshuf_map_metrics *metrics, struct colshuf_error *err);

/*
 * Checks that output (first part of the name) holds exactly the rows of input, each in its partition and in order; index, data size
 * and checksums too. sizes may be NULL, else they must be those of the index.
 */
void test_check_output(const struct test_input *input, const char *output, enum colshuf_checksum checksum, const uint64_t *sizes);

/* The same for the bytes of one partition. */
void test_check_partition(const struct test_input *input, int32_t partition, const uint8_t *bytes, size_t size);

/* Files in a folder whose names contain part. */
int32_t test_count_files(const char *directory, const char *part);
/* Descriptors that this process has open. */
int32_t test_open_descriptors(void);

#endif
