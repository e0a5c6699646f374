/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of a block can take: which types, and which dictionaries. formats.md A.12, H. */
#ifndef CSF_BLOCK_COMPAT_H
#define CSF_BLOCK_COMPAT_H

#include "arrow/schema.h"
#include "colshuf/block.h"

/* What has to happen to a column before it is written. */
enum csf_column_change {
  CSF_COLUMN_KEEP,
  CSF_COLUMN_REINDEX, /* a dictionary at the top level whose indices become int32 (values with nulls: unpacked for Comet) */
  CSF_COLUMN_UNPACK   /* dictionaries, at any depth, are replaced by the values */
};

/* The change that readers need for this column. Error: UNSUPPORTED, names column and type. */
enum colshuf_status csf_compat_column(enum colshuf_compat compat, const struct csf_field *column, int32_t index,
                                      enum csf_column_change *change, struct colshuf_error *err) COLSHUF_MUST_USE;

/* Whether readers take a dictionary of values of this type at the top level. */
bool csf_compat_dictionary_of(enum colshuf_compat compat, const struct csf_field *values);

/* Applies a change to a column of a schema that is being built. */
void csf_column_change_field(struct csf_field *column, enum csf_column_change change);

/* Whether a schema has offsets, and nothing that keeps them from being written as lengths (formats.md A.11). */
bool csf_schema_takes_lengths(const struct csf_schema *schema, bool *has_offsets);

#endif
