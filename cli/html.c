/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf inspect --html: one page, charts as SVG, no script, no network; readable on a phone, in the dark and on paper. */
#include <string.h>

#include "advice.h"
#include "choices.h"
#include "inspect.h"
#include "options.h"
#include "output.h"
#include "report.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root { --ink: #1c2733; --soft: #5b6b7b; --line: #d9e0e7; --paper: #ffffff; --card: #f5f7fa; --bar: #2f6fb2; --bar2: #9fc1e4;\n"
    "  --good: #2b8a5a; --bad: #c0392b; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa8b5; --line: #33404d; --paper: #12181f;\n"
    "  --card: #1b232c; --bar: #5b9bdc; --bar2: #2d4f73; --good: #58c48b; --bad: #f0796b; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);\n"
    "  font: 16px/1.5 system-ui, -apple-system, \"Segoe UI\", Roboto, sans-serif; }\n"
    "h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }\n"
    "h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }\n"
    "p { margin: .4rem 0; } .soft { color: var(--soft); } .bad { color: var(--bad); } .good { color: var(--good); }\n"
    ".cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }\n"
    ".card { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }\n"
    ".card b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; } .card span { color: var(--soft); font-size: .85rem; }\n"
    ".wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }\n"
    "th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: middle; white-space: nowrap; }\n"
    "th { font-weight: 600; color: var(--soft); } .n { text-align: right; } td.name { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }\n"
    ".track { background: var(--card); border-radius: 3px; height: .8rem; min-width: 7rem; } .track i { display: block; height: 100%;\n"
    "  background: var(--bar); border-radius: 3px; }\n"
    "svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 12px; }\n"
    "@media print { body { max-width: none; padding: 0; font-size: 12px; } h2 { break-after: avoid; } tr, svg, .card { break-inside: avoid; }\n"
    "  .track, .card { border: 1px solid var(--line); print-color-adjust: exact; -webkit-print-color-adjust: exact; } }\n"
    "</style>\n";

/* Text between tags and in attributes. */
static void escape(struct text *out, const char *string) {
  for (; *string != '\0'; string++) {
    switch (*string) {
      case '&':
        text_put(out, "&amp;");
        break;
      case '<':
        text_put(out, "&lt;");
        break;
      case '>':
        text_put(out, "&gt;");
        break;
      case '"':
        text_put(out, "&quot;");
        break;
      default:
        text_char(out, (unsigned char)*string < 0x20 ? '?' : *string);
    }
  }
}

static void card(struct text *out, const char *value, const char *what) {
  text_format(out, "<div class=\"card\"><b>%s</b><span>%s</span></div>\n", value, what);
}

static double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void bar_cell(struct text *out, double percent) {
  text_format(out, "<td><div class=\"track\"><i style=\"width:%.2f%%\"></i></div></td>", percent > 100 ? 100 : percent);
}

static void put_head(struct text *out, const struct inspection *i) {
  const char *name = strrchr(i->path, '/');
  text_put(out, head);
  text_put(out, "<title>");
  escape(out, name == NULL ? i->path : name + 1);
  text_put(out, "</title>\n</head>\n<body>\n<h1>");
  escape(out, i->path);
  text_format(out, "</h1>\n<p class=\"soft\">Shuffle file, inspected by colshuf %s. ", colshuf_version());
  for (int codec = 0; codec < 4; codec++) {
    if (i->codec_blocks[codec] > 0) text_format(out, "%s: %s blocks. ", codec_name((enum colshuf_codec)codec), count_text(i->codec_blocks[codec]));
  }
  if (i->lengths_blocks > 0) text_format(out, "Offsets as lengths in %s blocks. ", count_text(i->lengths_blocks));
  if (!i->has_index) text_put(out, "No index: taken as blocks one after another.");
  text_put(out, "</p>\n<div class=\"cards\">\n");
  card(out, size_text(i->size), "in the file");
  card(out, size_text(i->raw), "before compression");
  char ratio[32];
  snprintf(ratio, sizeof ratio, "%.2f", i->size == 0 ? 0 : (double)i->raw / (double)i->size);
  card(out, ratio, "ratio");
  card(out, count_text(i->n_rows), "rows");
  card(out, count_text(i->n_blocks), "blocks");
  card(out, count_text((uint64_t)i->n_partitions), "partitions");
  text_put(out, "</div>\n");
}

/* Bars of a chart: values[0..n), the largest fills the height. labels under the first and last. */
static void bar_chart(struct text *out, const double *values, int n, double mean, const char *first, const char *last, const char *most) {
  enum { WIDTH = 900, HEIGHT = 200, TOP = 18, BOTTOM = 20, FEWEST = 12 }; /* a few bars stay narrow */
  double largest = 0;
  for (int i = 0; i < n; i++) largest = values[i] > largest ? values[i] : largest;
  double step = (double)WIDTH / (n < FEWEST ? FEWEST : n), gap = step > 4 ? 1 : step * 0.15;
  text_format(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, TOP + HEIGHT + BOTTOM);
  for (int i = 0; i < n && largest > 0; i++) {
    double height = values[i] / largest * HEIGHT;
    if (height > 0 && height < 1) height = 1;
    text_format(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"var(--bar)\"/>\n", i * step, TOP + HEIGHT - height,
                step - gap, height);
  }
  if (mean > 0 && largest > 0) {
    double y = TOP + HEIGHT - mean / largest * HEIGHT;
    text_format(out, "<line x1=\"0\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\" stroke=\"var(--bad)\" stroke-dasharray=\"4 3\"/>\n", WIDTH, y, y);
  }
  text_format(out, "<line x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/>\n", WIDTH, TOP + HEIGHT, TOP + HEIGHT);
  text_format(out, "<text x=\"0\" y=\"12\">%s</text>\n<text x=\"0\" y=\"%d\">%s</text>\n", most, TOP + HEIGHT + 15, first);
  text_format(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"end\">%s</text>\n</svg>\n", n < FEWEST && n * step < 150 ? 150 : n * step, TOP + HEIGHT + 15, last);
}

/* At most so many bars: more partitions than that are shown by the largest of each group. */
static void put_partitions(struct text *out, const struct inspection *i) {
  enum { MOST_BARS = 300 };
  double bars[MOST_BARS] = {0};
  struct skew skew = skew_of(i);
  int n = i->n_partitions < MOST_BARS ? i->n_partitions : MOST_BARS;
  if (n == 0) return;
  for (int32_t p = 0; p < i->n_partitions; p++) {
    int bar = (int)((int64_t)p * n / i->n_partitions);
    double bytes = (double)i->partitions[p].bytes;
    if (bytes > bars[bar]) bars[bar] = bytes;
  }
  char last[48];
  snprintf(last, sizeof last, "partition %d", i->n_partitions - 1);
  text_put(out, "<h2>Partition sizes</h2>\n");
  bar_chart(out, bars, n, skew.mean, "partition 0", last, size_text(skew.largest));
  text_format(out, "<p>%s to %s; median %s, mean %s (dashed), 95 %% at most %s.", size_text(skew.least), size_text(skew.largest),
              size_text(skew.median), size_text((uint64_t)skew.mean), size_text(skew.p95));
  if (skew.mean > 0) text_format(out, " The largest, %d, is %.2f times the mean.", skew.largest_partition, (double)skew.largest / skew.mean);
  if (skew.n_empty > 0) text_format(out, " %s are empty.", count_text((uint64_t)skew.n_empty));
  if (i->n_partitions > MOST_BARS) text_put(out, " Each bar is the largest of several.");
  text_put(out, "</p>\n");
}

static void put_histogram(struct text *out, const struct inspection *i) {
  int first = 0, last = 39;
  if (i->n_blocks == 0) return;
  while (first < 39 && i->size_histogram[first] == 0) first++;
  while (last > first && i->size_histogram[last] == 0) last--;
  uint64_t most = 0;
  double bars[40];
  for (int k = first; k <= last; k++) {
    bars[k - first] = (double)i->size_histogram[k];
    most = i->size_histogram[k] > most ? i->size_histogram[k] : most;
  }
  char label[48];
  snprintf(label, sizeof label, "%s block%s", count_text(most), most == 1 ? "" : "s");
  text_put(out, "<h2>Block sizes</h2>\n");
  bar_chart(out, bars, last - first + 1, 0, size_text((uint64_t)1 << first), size_text((uint64_t)2 << last), label);
  text_format(out, "<p>%s to %s compressed, %s on average; one bar for each power of two. A block has %s rows on average.</p>\n",
              size_text(i->smallest_block), size_text(i->largest_block), size_text(i->size / i->n_blocks), count_text(i->n_rows / i->n_blocks));
}

static void put_kinds(struct text *out, const struct inspection *i) {
  static const char *const meanings[N_BYTE_KINDS] = {
      "20 bytes a block, not compressed", "the schema, in every block", "where the buffers are", "values of dictionary columns",
      "which values are null", "where strings and lists begin", "the values themselves", "to align buffers"};
  struct byte_kind kinds[N_BYTE_KINDS];
  byte_kinds(i, kinds);
  text_put(out, "<h2>What the bytes are</h2>\n<div class=\"wide\"><table><tr><th>kind</th><th class=\"n\">before compression</th>"
                "<th class=\"n\">share</th><th></th><th></th></tr>\n");
  for (int k = 0; k < N_BYTE_KINDS; k++) {
    double percent = share(kinds[k].bytes, i->raw + kinds[0].bytes);
    text_format(out, "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%.1f%%</td>", kinds[k].name, size_text(kinds[k].bytes), percent);
    bar_cell(out, percent);
    text_format(out, "<td class=\"soft\">%s</td></tr>\n", meanings[k]);
  }
  text_put(out, "</table></div>\n");
}

static void put_columns(struct text *out, const struct inspection *i, const struct advice *advice) {
  uint64_t most = 0;
  if (i->n_columns == 0) return;
  for (int c = 0; c < i->n_columns; c++) most = i->columns[c].raw > most ? i->columns[c].raw : most;
  text_put(out, "<h2>Columns</h2>\n<div class=\"wide\"><table><tr><th>column</th><th>type</th><th class=\"n\">before compression</th><th></th>"
                "<th class=\"n\">share</th><th class=\"n\">compressed alone</th></tr>\n");
  for (int c = 0; c < i->n_columns; c++) {
    text_put(out, "<tr><td class=\"name\">");
    escape(out, i->columns[c].name);
    text_put(out, "</td><td class=\"name soft\">");
    escape(out, i->columns[c].type);
    text_format(out, "</td><td class=\"n\">%s</td>", size_text(i->columns[c].raw));
    bar_cell(out, share(i->columns[c].raw, most));
    text_format(out, "<td class=\"n\">%.1f%%</td><td class=\"n\">", share(i->columns[c].raw, i->raw));
    if (advice->sample_raw > 0) {
      double scale = (double)i->raw / (double)advice->sample_raw;
      text_format(out, "about %s", size_text((uint64_t)((double)advice->column_bytes[c] * scale)));
    }
    text_put(out, "</td></tr>\n");
  }
  text_put(out, "</table></div>\n");
}

static void put_advice(struct text *out, const struct inspection *i, const struct advice *advice) {
  text_put(out, "<h2>What would make it smaller</h2>\n");
  if (advice->sample_bytes == 0) {
    text_put(out, "<p class=\"soft\">Nothing could be tried: the file has no rows, or is damaged.</p>\n");
    return;
  }
  double scale = (double)i->size / (double)advice->sample_bytes;
  text_format(out, "<p>Tried on %s of the file (%s rows), each by itself, then all together. Estimates for the whole file:</p>\n",
              size_text(advice->sample_bytes), count_text(advice->sample_rows));
  text_put(out, "<div class=\"wide\"><table><tr><th>change</th><th class=\"n\">size</th><th class=\"n\">change</th><th></th></tr>\n");
  text_format(out, "<tr><td class=\"name\">as it is</td><td class=\"n\">%s</td><td class=\"n\"></td>", size_text(i->size));
  bar_cell(out, 100);
  text_put(out, "</tr>\n");
  for (int t = 0; t < N_TRIALS; t++) {
    const struct trial *trial = &advice->trials[t];
    text_format(out, "<tr><td class=\"name\">%s</td>", trial->name);
    if (!trial->possible) {
      text_put(out, "<td class=\"n soft\" colspan=\"3\">not possible with these types</td></tr>\n");
      continue;
    }
    double percent = share(trial->bytes, advice->sample_bytes);
    text_format(out, "<td class=\"n\">%s</td><td class=\"n %s\">%+.1f%%</td>", size_text((uint64_t)((double)trial->bytes * scale)),
                percent < 98 ? "good" : "soft", percent - 100);
    bar_cell(out, percent);
    text_put(out, "</tr>\n");
  }
  text_put(out, "</table></div>\n<p class=\"soft\">colshuf repack FILE.data -o NAME writes the file anew; Comet before 1.2.0 reads no offsets as "
                "lengths.</p>\n");
}

static void put_problems(struct text *out, const struct inspection *i) {
  enum { MOST = 100 };
  uint64_t shown = 0;
  if (i->n_bad == 0) return;
  text_format(out, "<h2 class=\"bad\">Damaged blocks: %s</h2>\n<div class=\"wide\"><table><tr><th class=\"n\">partition</th><th class=\"n\">block"
                   "</th><th class=\"n\">offset</th><th>problem</th></tr>\n", count_text(i->n_bad));
  for (uint64_t b = 0; b < i->n_blocks && shown < MOST; b++) {
    const struct block_figures *block = &i->blocks[b];
    if (block->problem == NULL) continue;
    shown++;
    text_format(out, "<tr><td class=\"n\">%d</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"name\">", block->partition,
                block->in_partition, block->offset);
    escape(out, block->problem);
    text_put(out, "</td></tr>\n");
  }
  text_put(out, "</table></div>\n");
}

int inspection_write_html(const struct inspection *inspection, const char *path) {
  struct output output;
  struct advice advice;
  struct text page = {0};
  int code = output_open(&output, path);
  if (code != GO_ON) return code;
  bool advised = take_advice(inspection, &advice);
  put_head(&page, inspection);
  put_problems(&page, inspection);
  put_partitions(&page, inspection);
  put_histogram(&page, inspection);
  put_kinds(&page, inspection);
  put_columns(&page, inspection, &advice);
  put_advice(&page, inspection, &advice);
  text_put(&page, "</body>\n</html>\n");
  if (advised) advice_clear(&advice);
  int error = output_write(&output, page.data, page.size);
  text_free(&page);
  if (error != 0) code = fail_errno(error, output.name);
  return output_finish(&output, code);
}
