/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a dictionary that deltas are added to. Buffers grow with room to spare, and arrays of the values share them: a delta costs
 * what it brings, however much is there already and however many batches have been read in between.
 */
#ifndef CSF_IPC_DICTIONARY_GROWTH_H
#define CSF_IPC_DICTIONARY_GROWTH_H

#include "arrow/array.h"

struct csf_growth;

/* Whether values of this type can grow: not those that hold dictionaries themselves, which may be replaced in between. */
bool csf_growth_suits(const struct csf_field *field);

enum colshuf_status csf_growth_new(const struct csf_field *field, const struct colshuf_allocator *allocator, struct csf_growth **out,
                                   struct colshuf_error *err) COLSHUF_MUST_USE;
void csf_growth_free(struct csf_growth *growth); /* NULL is fine; arrays shown before live on */

/*
 * Adds the rows of an array of the field. On failure what was added is undefined, and the growth may only be freed.
 * Errors: NO_MEMORY; LIMIT (32-bit offsets or run ends cannot count the values).
 */
enum colshuf_status csf_growth_append(struct csf_growth *growth, const struct csf_field *field, const struct ArrowArray *array,
                                      struct colshuf_error *err) COLSHUF_MUST_USE;

/* All values so far as an array, which no later append changes. */
enum colshuf_status csf_growth_show(struct csf_growth *growth, const struct csf_field *field, struct ArrowArray *out,
                                    struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
