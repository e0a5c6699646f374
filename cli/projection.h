/* SPDX-License-Identifier: Apache-2.0 */
/* Some columns of a schema or batch whose producer gives all of them. */
#ifndef CLI_PROJECTION_H
#define CLI_PROJECTION_H

#include <colshuf/colshuf.h>

/* *schema and *batch keep the columns of these numbers, in this order; the others go when what is left is released. */
void project_schema(struct ArrowSchema *schema, const int32_t *columns, int32_t n);
void project_batch(struct ArrowArray *batch, const int32_t *columns, int32_t n);

#endif
