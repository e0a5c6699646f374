/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spilling behind the caller's back: a thread that has the crew encode one stock of chunks and writes the run, while the caller routes rows
 * into the other stock. One stock at a time.
 */
#ifndef CSF_SHUFFLE_MAP_BACKGROUND_H
#define CSF_SHUFFLE_MAP_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

struct colshuf_map_writer;
struct csf_stock;

struct csf_background {
  bool runs;                 /* there is a thread */
  bool busy;                 /* a stock was handed over and not waited for: the caller's */
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct csf_stock *stock;   /* under the mutex: to be written; NULL = idle */
  bool stop;
  enum colshuf_status status; /* of the stock written last */
  struct colshuf_error err;
};

/* Where the system gives no thread, none runs, and nothing can be handed over. */
void csf_background_start(struct colshuf_map_writer *writer);
/* Ends the thread, once it has written what it was given. */
void csf_background_clear(struct colshuf_map_writer *writer);

/* Has *stock written; none may be on its way. */
void csf_background_write(struct colshuf_map_writer *writer, struct csf_stock *stock);
/* Waits for the stock on its way, if any, and says what became of it. */
enum colshuf_status csf_background_wait(struct colshuf_map_writer *writer, struct colshuf_error *err) COLSHUF_MUST_USE;

#endif
