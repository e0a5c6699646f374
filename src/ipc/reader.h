/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream reader and a file reader share: one struct behind the ArrowArrayStream. */
#ifndef CSF_IPC_READER_H
#define CSF_IPC_READER_H

#include "arrow/stream.h"
#include "base/pool.h"
#include "colshuf/ipc.h"
#include "ipc/batch_read.h"
#include "ipc/schema_message.h"

enum csf_reader_state { CSF_READER_OPEN, CSF_READER_ENDED, CSF_READER_FAILED };

struct csf_ipc_reader {
  struct csf_stream common; /* first: colshuf_stream_status finds it */
  struct colshuf_allocator allocator;
  struct csf_pool *pool; /* of batches and their bodies */
  struct colshuf_limits limits; /* defaults filled in */
  enum colshuf_trust trust;
  bool ignore_trailing;
  struct colshuf_input input;
  uint64_t input_size; /* as the input tells it; UINT64_MAX = it does not */
  char *name; /* for messages; NULL = none */
  size_t name_size;
  enum csf_reader_state state;
  struct csf_codec *codec;
  struct csf_schema *schema;
  struct csf_batch_plan *plan;
  struct csf_dictionaries *dictionaries;
  struct csf_buffer metadata; /* of the message at hand */
  struct csf_buffer body;
  uint64_t position; /* bytes taken from the input so far: where the next message starts */

  bool is_inside_file; /* a stream found behind the magic of a file that cannot be read from its end */

  /* Files only. */
  bool is_file;
  bool has_dictionaries;     /* read, before the first batch */
  struct csf_buffer footer;  /* verified; the two vectors of Block structs point into it */
  struct csf_fb_vector dictionary_blocks, batch_blocks;
  uint32_t next_batch;
  uint64_t blocks_end; /* blocks end at or before this byte */
};

/* "ARROW1" */
enum { CSF_MAGIC_SIZE = 6, CSF_FILE_HEAD_SIZE = 8 };
extern const uint8_t csf_file_magic[CSF_MAGIC_SIZE];

/* Sets schema, plan and dictionaries from a schema, which is taken over (released on failure). */
enum colshuf_status csf_ipc_reader_set_schema(struct csf_ipc_reader *reader, struct csf_schema *schema, struct colshuf_error *err)
    COLSHUF_MUST_USE;

/* A batch message, its body in reader->body, becomes *out. A dictionary message is kept. */
enum colshuf_status csf_ipc_reader_batch(struct csf_ipc_reader *reader, const struct csf_message *message, struct ArrowArray *out,
                                         struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_ipc_reader_dictionary(struct csf_ipc_reader *reader, const struct csf_message *message,
                                              struct colshuf_error *err) COLSHUF_MUST_USE;

/* Files: the footer and its schema; then one batch after another (*out->release NULL = no more). */
enum colshuf_status csf_file_open(struct csf_ipc_reader *reader, uint64_t file_size, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_file_next(struct csf_ipc_reader *reader, struct ArrowArray *out, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
