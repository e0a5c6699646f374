/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable columns: what rows are routed into, and what a block is put together in. One tree of nodes for one schema, every
 * Arrow layout. Rows come in as a range of an array or as a list of its rows; they go out as an ArrowArray that points into
 * the columns. What comes out is compact: offset 0, offsets from 0, no bytes that no row uses, at most one data buffer of a view.
 *
 * Two uses: a chunk takes all rows of a batch in the order of their partitions, in memory that is thrown away as a whole
 * (shuffle/areas.h); a block takes ranges of many chunks, in memory that stays for the next block.
 */
#ifndef CSF_SHUFFLE_COLUMNS_H
#define CSF_SHUFFLE_COLUMNS_H

#include "arrow/schema.h"

/* Where the bytes of columns come from: as an allocator, but 64-byte aligned. Giving back may do nothing (a pool). */
struct csf_column_memory {
  void *(*resize)(void *ctx, void *pointer, size_t old_size, size_t new_size);
  void *ctx;
};

/* csf_alloc and its kin as a csf_column_memory; allocator is borrowed. */
struct csf_column_memory csf_column_heap(const struct colshuf_allocator *allocator);

/*
 * Rows of an array: with rows NULL the range [base, base + n), else base + rows[0], base + rows[1], … (n of them).
 * base counts from the start of the buffers: it includes the array's own offset.
 */
struct csf_rows {
  int64_t base;
  const uint32_t *rows;
  int64_t n;
};

struct csf_column_bytes {
  uint8_t *data;
  size_t size;
  size_t capacity;
};

struct csf_column {
  const struct csf_field *field;
  int64_t length;
  int64_t null_count;
  bool has_validity; /* from the first null on; otherwise validity holds nothing of worth */
  struct csf_column_bytes validity;
  struct csf_column_bytes main;  /* values, bits, offsets, views, type ids */
  struct csf_column_bytes extra; /* bytes of strings and views, sizes of list views, offsets of dense unions */
  int32_t n_children;
  struct csf_column *children;
  struct csf_buffer rows;  /* scratch: which rows of the child the rows of the parent mean */
  const uint32_t *map;     /* dictionary: new index for each old one; NULL = as they are */
  int64_t map_length;
  const struct ArrowArray *dictionary; /* what the array that goes out shows as its dictionary; borrowed */
  const struct csf_column_memory *memory;
};

struct csf_columns {
  struct csf_column root;
  struct csf_column_memory memory;
  struct csf_arena arena; /* the nodes */
};

/*
 * An empty tree for root (a struct; borrowed, must live on). allocator serves nodes and scratch, memory the contents.
 * The struct must not move afterwards. After a failure it is still to be cleared.
 */
enum colshuf_status csf_columns_init(struct csf_columns *columns, const struct csf_field *root,
                                     const struct colshuf_allocator *allocator, struct csf_column_memory memory,
                                     struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_columns_clear(struct csf_columns *columns);

/* No rows, memory kept. */
void csf_columns_reset(struct csf_columns *columns);

/* No rows, and the memory given back. */
void csf_columns_free_memory(struct csf_columns *columns);

/* No rows, and the memory is not ours any more: it belongs to an exported array, or its pool was emptied. */
void csf_columns_forget(struct csf_columns *columns);

/*
 * Appends rows of batch, a valid struct array (memory level) of the schema.
 * Errors: NO_MEMORY; LIMIT: 32-bit offsets, 16-bit run ends or the like would overflow. After an error the content is good for
 * nothing but reset or forget.
 */
enum colshuf_status csf_columns_append(struct csf_columns *columns, const struct ArrowArray *batch, struct csf_rows rows,
                                       struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * What rows [base, base + n) of batch will take in columns: bytes, near enough (exact for what colshuf itself put together),
 * and the most values that any node of the tree gets, rows included. scattered: the rows will be taken out of their order
 * (run ends: each row may become a run).
 */
struct csf_measure {
  uint64_t bytes;
  uint64_t values;
  bool scattered;
};
struct csf_measure csf_columns_measure(const struct csf_field *root, const struct ArrowArray *batch, int64_t base, int64_t n,
                                       bool scattered);

/* The most values that a node may hold: 2^31 - 1, or less where run ends are narrower. */
uint64_t csf_columns_max_values(const struct csf_field *root);

/* Bytes that csf_array_tree_build wants for field. */
size_t csf_array_tree_size(const struct csf_field *field);

/*
 * The structs of an array tree of field in place (csf_array_tree_size bytes, 16-byte aligned): set up but for lengths and
 * buffers, dictionaries not included. release marks and does nothing else.
 */
struct ArrowArray *csf_array_tree_build(const struct csf_field *field, void *place);

/* Shows the content as array (from csf_array_tree_build): a view, good until the columns change. */
void csf_columns_show(struct csf_columns *columns, struct ArrowArray *array);

/* For the files of columns*.c: appends to one node; and growth. */
enum colshuf_status csf_column_add(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_fixed(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                         struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_bits(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_validity(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                            struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_binary(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                          struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_view(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_list(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                        struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_list_view(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                             struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_fixed_list(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                              struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_struct(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                          struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_sparse_union(struct csf_column *column, const struct ArrowArray *array,
                                                struct csf_rows rows, struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_dense_union(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                               struct colshuf_error *err) COLSHUF_MUST_USE;
enum colshuf_status csf_column_add_run_end(struct csf_column *column, const struct ArrowArray *array, struct csf_rows rows,
                                           struct colshuf_error *err) COLSHUF_MUST_USE;

/* Makes room for more bytes behind what is there, and CSF_COLUMN_SLACK that may be written over but do not count. */
#define CSF_COLUMN_SLACK 64u
enum colshuf_status csf_column_need(struct csf_column *column, struct csf_column_bytes *bytes, size_t more,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;

/*
 * Validity of n values more: room for their bits behind those of column->length values, and, when the bits are in place, the count of the
 * nulls among them. Where there was no null and there is none now, the bits count for nothing.
 */
enum colshuf_status csf_column_need_validity(struct csf_column *column, int64_t n, struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_column_end_validity(struct csf_column *column, int64_t n);

/* The same for the values of a column of bits. */
enum colshuf_status csf_column_need_bits(struct csf_column *column, int64_t n, struct colshuf_error *err) COLSHUF_MUST_USE;

/* The column has more values than its layout can count. */
enum colshuf_status csf_column_fail_limit(const struct csf_column *column, struct colshuf_error *err) __attribute__((cold));

/* Where row i of rows stands. */
static inline int64_t csf_rows_at(struct csf_rows rows, int64_t i) {
  return rows.rows == NULL ? rows.base + i : rows.base + rows.rows[i];
}

#endif
