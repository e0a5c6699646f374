/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a map writer, as the commands that run one print them. */
#ifndef CLI_MAP_FIGURES_H
#define CLI_MAP_FIGURES_H

#include <colshuf/colshuf.h>

#include "json.h"

/* Members "rows" to "peak_resident". */
void map_counts_json(struct json *json, const struct colshuf_map_metrics *m, uint64_t peak_resident);
/* The object "ns", which is left open for more. */
void map_times_json(struct json *json, const struct colshuf_map_metrics *m, uint64_t elapsed);
/* The lines "time" and "memory"; labels take label_width. */
void print_map_times(const struct colshuf_map_metrics *m, uint64_t elapsed, uint64_t peak_resident, int label_width);

#endif
