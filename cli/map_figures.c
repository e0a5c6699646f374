/* SPDX-License-Identifier: Apache-2.0 */
#include "map_figures.h"

#include <stdio.h>

#include "report.h"

void map_counts_json(struct json *json, const struct colshuf_map_metrics *m, uint64_t peak_resident) {
  json_unsigned(json, "rows", m->rows);
  json_unsigned(json, "batches", m->batches);
  json_unsigned(json, "blocks", m->blocks);
  json_unsigned(json, "raw_bytes", m->raw_bytes);
  json_unsigned(json, "written_bytes", m->written_bytes);
  json_unsigned(json, "spills", m->spills);
  json_unsigned(json, "spilled_bytes", m->spilled_bytes);
  json_unsigned(json, "peak_memory", m->peak_memory);
  json_unsigned(json, "peak_resident", peak_resident);
}

void map_times_json(struct json *json, const struct colshuf_map_metrics *m, uint64_t elapsed) {
  json_object(json, "ns");
  json_unsigned(json, "elapsed", elapsed);
  json_unsigned(json, "partition", m->partition_ns);
  json_unsigned(json, "route", m->route_ns);
  json_unsigned(json, "encode", m->encode_ns);
  json_unsigned(json, "write", m->write_ns);
}

void print_map_times(const struct colshuf_map_metrics *m, uint64_t elapsed, uint64_t peak_resident, int label_width) {
  printf("  %-*s%s (partition %s, route %s, encode %s, write %s)\n", label_width, "time", time_text(elapsed), time_text(m->partition_ns),
         time_text(m->route_ns), time_text(m->encode_ns), time_text(m->write_ns));
  printf("  %-*s%s of the writer at most, %s resident\n", label_width, "memory", size_text(m->peak_memory), size_text(peak_resident));
}
