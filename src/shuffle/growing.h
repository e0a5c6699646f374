/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch that grows block by block: small blocks of flat columns are copied behind one another while they are still in the
 * nearest cache, instead of waiting side by side until all are joined. All of it is one slab; the next batch takes as much room
 * as the last one needed, so that it gets the same memory back.
 */
#ifndef CSF_SHUFFLE_GROWING_H
#define CSF_SHUFFLE_GROWING_H

#include "arrow/array.h"

struct csf_growing_column {
  enum csf_layout layout;
  int64_t width; /* bytes of a value or of an offset; 0 = bits */
  uint8_t *validity; /* set from the first null on */
  uint8_t *main;
  uint8_t *text; /* what offsets point into */
  int64_t null_count;
  int64_t text_size;
  int64_t text_capacity;
  int64_t text_usual;  /* capacity to begin with */
  int64_t text_coming; /* bytes of the block being appended */
};

/* All zero but the first five is one that has not begun. For one thread. */
struct csf_growing {
  struct colshuf_allocator allocator;  /* of what is handed out */
  const struct csf_schema *schema;     /* of what grows: all columns pass csf_growing_suits */
  const struct csf_array_shape *shape; /* of schema */
  int64_t target_rows;                 /* about as far as it will grow, by rows */
  uint64_t target_bytes;               /* and by bytes */
  struct ArrowArray batch; /* release NULL = not begun */
  struct csf_growing_column *columns;
  int64_t n_rows;
  int64_t capacity; /* rows */
  int64_t usual;    /* capacity to begin with */
};

/* Whether columns of this field can grow: plain values of at least a bit each, with or without offsets. */
bool csf_growing_suits(const struct csf_field *field);

/*
 * Copies the rows of batch, one at least, whose column columns[c] is the c-th of what grows, behind those that are there. Errors,
 * which leave what is there as it was: LIMIT (32-bit offsets cannot hold it), NO_MEMORY.
 */
enum colshuf_status csf_growing_append(struct csf_growing *growing, const struct ArrowArray *batch, const int32_t *columns,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/* Bytes of the rows that are there, as they will be handed out. */
uint64_t csf_growing_size(const struct csf_growing *growing);

/* What has grown, which must be something, becomes *out; the next begins with nothing. */
void csf_growing_take(struct csf_growing *growing, struct ArrowArray *out);

void csf_growing_clear(struct csf_growing *growing); /* frees all; it may begin again */

#endif
