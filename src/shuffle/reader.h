/* SPDX-License-Identifier: Apache-2.0 */
/* The reader behind colshuf_read: read.c makes it and is its stream, read_blocks.c brings the blocks. */
#ifndef CSF_SHUFFLE_READER_H
#define CSF_SHUFFLE_READER_H

#include "arrow/stream.h"
#include "shuffle/ahead.h"
#include "shuffle/arrival.h"
#include "shuffle/coalesce.h"

enum { CSF_READ_FITS = 80 }; /* each of 64 threads may have a schema of its own, and a few more */

struct csf_reader {
  struct csf_stream common; /* first: see arrow/stream.h */
  struct colshuf_allocator allocator;
  struct colshuf_read_options options; /* pointers in it are the reader's own */
  struct csf_arena arena;
  struct csf_source_list list;
  struct csf_fetcher fetcher;
  struct colshuf_block_decoder *decoder;
  struct csf_column_set wanted;    /* what is decoded of a block */
  struct csf_ahead *ahead;         /* NULL = blocks are decoded when they are needed */
  struct csf_arrival *arrival;     /* NULL = in the order of their sources */
  struct csf_read_schema schema; /* announced NULL = not known yet */
  struct csf_waiting waiting;
  struct csf_block_fit *fits[CSF_READ_FITS]; /* of the schemas met last */
  uint64_t memory_limit;
  uint64_t usual_size;            /* what the next block will take, decoded: csf_expect_size */
  bool fetched_all;               /* the sources have no more */
  struct colshuf_error fetch_err; /* status: they ended with this; told behind the blocks that came before */
  bool ended;                     /* no more blocks */
  enum colshuf_status failed;     /* told when what waits has been handed out, and ever after */
  struct colshuf_error failure;   /* its text; without failed, what was passed over last */
  struct colshuf_read_metrics *metrics;
  struct colshuf_read_metrics own_metrics;
};

/* reference: what all blocks must match. */
enum colshuf_status csf_reader_set_schema(struct csf_reader *r, struct csf_schema *reference, bool is_expected,
                                          struct colshuf_error *err) COLSHUF_MUST_USE;

/* Lets one block more wait, or sets r->ended. A block that is skipped is neither. */
enum colshuf_status csf_reader_read_block(struct csf_reader *r, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
