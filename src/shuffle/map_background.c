/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle/map_background.h"

#include "shuffle/map_writer.h"

static void *run_thread(void *ctx) {
  struct colshuf_map_writer *writer = ctx;
  struct csf_background *background = &writer->background;
  pthread_mutex_lock(&background->mutex);
  for (;;) {
    while (background->stock == NULL && !background->stop) pthread_cond_wait(&background->changed, &background->mutex);
    if (background->stock == NULL) break;
    pthread_mutex_unlock(&background->mutex);
    background->status = csf_map_spill_stock(writer, background->stock, &background->err);
    csf_areas_lend(&writer->areas, false); /* who still waits for room waits in vain */
    pthread_mutex_lock(&background->mutex);
    background->stock = NULL;
    pthread_cond_broadcast(&background->changed);
  }
  pthread_mutex_unlock(&background->mutex);
  return NULL;
}

void csf_background_start(struct colshuf_map_writer *writer) {
  struct csf_background *background = &writer->background;
  if (!writer->areas.has_mutex || pthread_mutex_init(&background->mutex, NULL) != 0) return;
  background->runs = pthread_cond_init(&background->changed, NULL) == 0;
  if (background->runs && pthread_create(&background->thread, NULL, run_thread, writer) == 0) return;
  if (background->runs) pthread_cond_destroy(&background->changed);
  pthread_mutex_destroy(&background->mutex);
  background->runs = false;
}

void csf_background_clear(struct colshuf_map_writer *writer) {
  struct csf_background *background = &writer->background;
  if (!background->runs) return;
  pthread_mutex_lock(&background->mutex);
  background->stop = true;
  pthread_cond_broadcast(&background->changed);
  pthread_mutex_unlock(&background->mutex);
  pthread_join(background->thread, NULL);
  pthread_cond_destroy(&background->changed);
  pthread_mutex_destroy(&background->mutex);
  *background = (struct csf_background){0};
}

void csf_background_write(struct colshuf_map_writer *writer, struct csf_stock *stock) {
  struct csf_background *background = &writer->background;
  csf_areas_lend(&writer->areas, true);
  background->busy = true;
  pthread_mutex_lock(&background->mutex);
  background->stock = stock;
  pthread_cond_broadcast(&background->changed);
  pthread_mutex_unlock(&background->mutex);
}

enum colshuf_status csf_background_wait(struct colshuf_map_writer *writer, struct colshuf_error *err) {
  struct csf_background *background = &writer->background;
  if (!background->busy) return COLSHUF_OK;
  pthread_mutex_lock(&background->mutex);
  while (background->stock != NULL) pthread_cond_wait(&background->changed, &background->mutex);
  pthread_mutex_unlock(&background->mutex);
  background->busy = false;
  csf_map_settle_metrics(writer);
  if (background->status != COLSHUF_OK) *err = background->err;
  return background->status;
}
