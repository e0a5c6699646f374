/* SPDX-License-Identifier: Apache-2.0 */
#include "projection.h"

#include <stdlib.h>

#include "report.h"

/* What came from the producer stays as it is, behind a struct that shows some of its children. */
struct held_schema {
  struct ArrowSchema whole;
  struct ArrowSchema *children[];
};

struct held_batch {
  struct ArrowArray whole;
  struct ArrowArray *children[];
};

static void release_schema(struct ArrowSchema *schema) {
  struct held_schema *held = schema->private_data;
  held->whole.release(&held->whole);
  free(held);
  schema->release = NULL;
}

static void release_batch(struct ArrowArray *batch) {
  struct held_batch *held = batch->private_data;
  held->whole.release(&held->whole);
  free(held);
  batch->release = NULL;
}

void project_schema(struct ArrowSchema *schema, const int32_t *columns, int32_t n) {
  struct held_schema *held = need_memory(NULL, sizeof *held + (size_t)n * sizeof *held->children);
  held->whole = *schema;
  for (int32_t i = 0; i < n; i++) held->children[i] = schema->children[columns[i]];
  schema->n_children = n;
  schema->children = held->children;
  schema->private_data = held;
  schema->release = release_schema;
}

void project_batch(struct ArrowArray *batch, const int32_t *columns, int32_t n) {
  struct held_batch *held = need_memory(NULL, sizeof *held + (size_t)n * sizeof *held->children);
  held->whole = *batch;
  for (int32_t i = 0; i < n; i++) held->children[i] = batch->children[columns[i]];
  batch->n_children = n;
  batch->children = held->children;
  batch->private_data = held;
  batch->release = release_batch;
}
