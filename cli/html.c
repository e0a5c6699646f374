/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf inspect --html: one page, charts as SVG, no script, no network; readable on a phone, in the dark and on paper. */
#include <math.h>
#include <string.h>

#include "advice.h"
#include "choices.h"
#include "inspect.h"
#include "options.h"
#include "output.h"
#include "report.h"

/* clang-format off */
static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7b; --line: #d9e0e7; --paper: #ffffff; --card:\n"
    "  #eef2f6; --bar: #2f6fb2; --good: #22784d; --bad: #c0392b; }\n"
    "@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa8b5; --line: #33404d;\n"
    "  --paper: #12181f; --card: #1f2933; --bar: #5b9bdc; --good: #58c48b; --bad: #f0796b; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--paper); color:\n"
    "  var(--ink); font: 1rem/1.5 system-ui, -apple-system, \"Segoe UI\", Roboto, sans-serif; }\n"
    "h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }\n"
    "h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }\n"
    "p { margin: .4rem 0; overflow-wrap: anywhere; } .soft { color: var(--soft); } .bad { color: var(--bad); }\n"
    ".good { color: var(--good); }\n"
    ".cards { display: grid; grid-template-columns: repeat(6, 1fr); gap: .75rem; margin: 1.25rem 0; }\n"
    ".card { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }\n"
    ".card b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }\n"
    ".card span { color: var(--soft); font-size: .85rem; } .wide { overflow-x: auto; }\n"
    "table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }\n"
    "th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: middle; }\n"
    "th { font-weight: 600; color: var(--soft); vertical-align: bottom; }\n"
    ".n { text-align: right; white-space: nowrap; } th.n { white-space: normal; }\n"
    "td.name { width: 46%; min-width: 9rem; overflow-wrap: anywhere; }\n"
    ".pair { display: grid; grid-template-columns: minmax(6rem, 2fr) 3fr; gap: 0 .8rem; align-items: baseline; }\n"
    ".track { background: var(--card); border-radius: 3px; height: .8rem; min-width: 7rem; }\n"
    ".track i { display: block; height: 100%; background: var(--bar); border-radius: 3px; }\n"
    "svg { display: block; width: 100%; height: 12.5rem; }\n"
    ".axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .8rem; }\n"
    "@media screen and (max-width: 40rem) { body { padding: 1.25rem 1rem 3rem; }\n"
    "  h1 { font-size: 1.35rem; } h2 { margin-top: 2rem; }\n"
    "  .cards { grid-template-columns: repeat(3, 1fr); gap: .5rem; } .card { padding: .45rem .55rem; }\n"
    "  .card b { font-size: 1.05rem; } svg { height: 9rem; } th, td { padding: .3rem .25rem; }\n"
    "  th { font-size: .8rem; } td.name { width: auto; min-width: 7.5rem; }\n"
    "  .pair { grid-template-columns: 1fr; } .track-cell { display: none; } }\n"
    "@page { margin: 14mm; }\n"
    "@media print { html { font-size: 13.5px; }\n"
    "  body { max-width: none; padding: 0; } h2 { break-after: avoid; margin-top: 1.5rem; }\n"
    "  thead { display: table-header-group; } tr, figure, .cards { break-inside: avoid; }\n"
    "  .wide { overflow: visible; } svg { height: 9rem; } .track { min-width: 4rem; }\n"
    "  .track, .card { border: 1px solid var(--line); }\n"
    "  svg, .track { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }\n"
    "figure { margin: .5rem 0; }\n"
    "</style>\n";
/* clang-format on */

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
        if ((unsigned char)*string < 0x20) text_char(out, '?');
        else text_char(out, *string);
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
  text_format(out, "<td class=\"track-cell\"><div class=\"track\"><i style=\"width:%.2f%%\"></i></div></td>",
              percent > 100 ? 100 : percent);
}

/* One cell with a name and what there is to say of it: beside each other, on a narrow screen one below the other. */
static void pair_cell(struct text *out, const char *name, const char *about) {
  text_put(out, "<tr><td class=\"name\"><div class=\"pair\"><span>");
  escape(out, name);
  text_put(out, "</span><span class=\"soft\">");
  escape(out, about);
  text_put(out, "</span></div></td>");
}

static void put_head(struct text *out, const struct inspection *i) {
  const char *name = strrchr(i->path, '/');
  text_put(out, head);
  text_put(out, "<title>");
  escape(out, name == NULL ? i->path : name + 1);
  text_put(out, "</title>\n</head>\n<body>\n<h1>");
  escape(out, name == NULL ? i->path : name + 1);
  text_put(out, "</h1>\n");
  if (name != NULL) {
    text_put(out, "<p class=\"soft\">");
    escape(out, i->path);
    text_put(out, "</p>\n");
  }
  text_format(out, "<p class=\"soft\">Shuffle file, inspected by colshuf %s. ", colshuf_version());
  for (int codec = 0; codec < 4; codec++) {
    if (i->codec_blocks[codec] > 0)
      text_format(out, "%s: %s blocks. ", codec_name((enum colshuf_codec)codec), count_text(i->codec_blocks[codec]));
  }
  if (i->lengths_blocks > 0) text_format(out, "Offsets as lengths in %s blocks. ", count_text(i->lengths_blocks));
  if (!i->has_index) text_put(out, "No index: taken as blocks one after another.");
  text_put(out, "</p>\n<div class=\"cards\">\n");
  card(out, size_text(i->size), "in the file");
  card(out, size_text(i->raw), "uncompressed");
  char ratio[32];
  snprintf(ratio, sizeof ratio, "%.2f", i->size == 0 ? 0 : (double)i->raw / (double)i->size);
  card(out, ratio, "ratio");
  card(out, count_text(i->n_rows), "rows");
  card(out, count_text(i->n_blocks), "blocks");
  card(out, count_text((uint64_t)i->n_partitions), "partitions");
  text_put(out, "</div>\n");
}

/* A chart of bars: values[0..n), the largest fills the height, each bar says labels[i] to a pointer that rests on it. */
struct chart {
  const char *title;
  int n;
  const double *values;
  char (*labels)[64];
  double mean;                     /* a dashed line; 0: none */
  const char *most, *first, *last; /* what the height is; what stands under the first and the last bar */
};

static void put_line(struct text *out, double width, double y, const char *style) {
  text_format(out, "<line x1=\"0\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\" vector-effect=\"non-scaling-stroke\" %s/>\n", width, y,
              y, style);
}

/* Drawn in a box that is stretched to the page's width: no text in it, that would be stretched as well. */
static void put_chart(struct text *out, const struct chart *chart) {
  enum { WIDTH = 900, HEIGHT = 200, FEWEST = 12 }; /* a few bars stay narrow */
  double largest = 0, step = (double)WIDTH / (chart->n < FEWEST ? FEWEST : chart->n), gap = step > 4 ? 1 : step * 0.15;
  for (int i = 0; i < chart->n; i++) largest = chart->values[i] > largest ? chart->values[i] : largest;
  double width = chart->n * step;
  text_format(out,
              "<figure>\n<div class=\"axis\">%s</div>\n<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
              "aria-label=\"%s\">\n",
              chart->most, WIDTH, HEIGHT, chart->title);
  for (int i = 0; i < chart->n && largest > 0; i++) {
    double height = chart->values[i] / largest * HEIGHT;
    if (height > 0 && height < 1) height = 1;
    text_format(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"var(--bar)\"><title>%s</title></rect>\n",
                i * step, HEIGHT - height, step - gap, height, chart->labels[i]);
  }
  if (chart->mean > 0 && largest > 0) {
    put_line(out, width, HEIGHT - chart->mean / largest * HEIGHT,
             "stroke=\"var(--bad)\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"");
  }
  put_line(out, width, HEIGHT, "stroke=\"var(--soft)\"");
  text_format(out, "</svg>\n<div class=\"axis\" style=\"width:%.2f%%;min-width:9rem\"><span>%s</span>", 100 * width / WIDTH,
              chart->first);
  text_format(out, "<span>%s</span></div>\n</figure>\n", chart->last);
}

/* At most so many bars: more partitions than that are shown by the largest of each group. */
enum { MOST_BARS = 300 };

static int partition_bars(const struct inspection *i, double *bars, char (*labels)[64]) {
  int n = i->n_partitions < MOST_BARS ? i->n_partitions : MOST_BARS;
  for (int bar = 0; bar < n; bar++) {
    int32_t first = (int32_t)((int64_t)bar * i->n_partitions / n), end = (int32_t)((int64_t)(bar + 1) * i->n_partitions / n);
    uint64_t most = 0;
    for (int32_t p = first; p < end; p++) most = i->partitions[p].bytes > most ? i->partitions[p].bytes : most;
    bars[bar] = (double)most;
    if (end - first == 1) snprintf(labels[bar], sizeof labels[bar], "partition %" PRId32 ": %s", first, size_text(most));
    else
      snprintf(labels[bar], sizeof labels[bar], "partitions %" PRId32 " to %" PRId32 ": at most %s", first, end - 1,
               size_text(most));
  }
  return n;
}

static void put_partitions(struct text *out, const struct inspection *i) {
  double bars[MOST_BARS];
  char labels[MOST_BARS][64], last[48] = "";
  struct skew skew = skew_of(i);
  if (i->n_partitions == 0) return;
  if (i->n_partitions > 1) snprintf(last, sizeof last, "partition %" PRId32, i->n_partitions - 1);
  text_put(out, "<h2>Partition sizes</h2>\n");
  int n_bars = partition_bars(i, bars, labels);
  if (skew.largest > 0) {
    put_chart(out, &(struct chart){"Bytes of each partition", n_bars, bars, labels, skew.mean, size_text(skew.largest),
                                   "partition 0", last});
  }
  text_format(out, "<p>%s to %s; median %s, mean %s%s, 95 %% at most %s.", size_text(skew.least), size_text(skew.largest),
              size_text(skew.median), size_text((uint64_t)skew.mean), skew.largest > 0 ? " (dashed)" : "", size_text(skew.p95));
  if (skew.mean > 0) {
    text_format(out, " The largest, partition %" PRId32 ", is %.2f times the mean.", skew.largest_partition,
                (double)skew.largest / skew.mean);
  }
  if (skew.n_empty > 0) text_format(out, " Empty: %s.", count_text((uint64_t)skew.n_empty));
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
  char labels[40][64], highest[48];
  for (int k = first; k <= last; k++) {
    uint64_t n = i->size_histogram[k];
    bars[k - first] = (double)n;
    most = n > most ? n : most;
    snprintf(labels[k - first], sizeof labels[0], "%s to %s: %s block%s", size_text((uint64_t)1 << k),
             size_text((uint64_t)2 << k), count_text(n), n == 1 ? "" : "s");
  }
  snprintf(highest, sizeof highest, "%s block%s", count_text(most), most == 1 ? "" : "s");
  text_put(out, "<h2>Block sizes</h2>\n");
  put_chart(out, &(struct chart){"Blocks of each size", last - first + 1, bars, labels, 0, highest,
                                 size_text((uint64_t)1 << first), size_text((uint64_t)2 << last)});
  text_format(out,
              "<p>%s to %s compressed, %s on average; one bar for each power of two. A block has %s rows on average.</p>\n",
              size_text(i->smallest_block), size_text(i->largest_block), size_text(i->size / i->n_blocks),
              count_text(i->n_blocks == i->n_bad ? 0 : i->n_rows / (i->n_blocks - i->n_bad)));
}

static void put_kinds(struct text *out, const struct inspection *i) {
  static const char *const meanings[N_BYTE_KINDS] = {"20 bytes a block, not compressed",
                                                     "the schema, in every block",
                                                     "where the buffers are",
                                                     "values of dictionary columns",
                                                     "which values are null",
                                                     "where strings and lists begin",
                                                     "the values themselves",
                                                     "to align buffers"};
  struct byte_kind kinds[N_BYTE_KINDS];
  byte_kinds(i, kinds);
  text_put(
      out,
      "<h2>What the bytes are</h2>\n<div class=\"wide\"><table><thead><tr><th>kind</th><th class=\"n\">uncom&shy;pressed</th>"
      "<th class=\"track-cell\"></th><th class=\"n\">share</th></tr></thead>\n<tbody>\n");
  for (int k = 0; k < N_BYTE_KINDS; k++) {
    double percent = share(kinds[k].bytes, i->raw + kinds[0].bytes);
    pair_cell(out, kinds[k].name, meanings[k]);
    text_format(out, "<td class=\"n\">%s</td>", size_text(kinds[k].bytes));
    bar_cell(out, percent);
    text_format(out, "<td class=\"n\">%.1f%%</td></tr>\n", percent);
  }
  text_put(out, "</tbody></table></div>\n");
}

static void put_columns(struct text *out, const struct inspection *i, const struct advice *advice) {
  uint64_t most = 0;
  if (i->n_columns == 0) return;
  for (int c = 0; c < i->n_columns; c++) most = i->columns[c].raw > most ? i->columns[c].raw : most;
  text_put(
      out,
      "<h2>Columns</h2>\n<div class=\"wide\"><table><thead><tr><th>column and type</th><th class=\"n\">uncom&shy;pressed</th>"
      "<th class=\"track-cell\"></th><th class=\"n\">share</th>");
  if (advice->sample_raw > 0) text_put(out, "<th class=\"n\">alone*</th>");
  text_put(out, "</tr></thead>\n<tbody>\n");
  for (int c = 0; c < i->n_columns; c++) {
    pair_cell(out, i->columns[c].name, i->columns[c].type);
    text_format(out, "<td class=\"n\">%s</td>", size_text(i->columns[c].raw));
    bar_cell(out, share(i->columns[c].raw, most));
    text_format(out, "<td class=\"n\">%.1f%%</td>", share(i->columns[c].raw, i->raw));
    if (advice->sample_raw > 0) {
      double scale = (double)i->raw / (double)advice->sample_raw;
      text_format(out, "<td class=\"n\">~ %s</td>", size_text((uint64_t)((double)advice->column_bytes[c] * scale)));
    }
    text_put(out, "</tr>\n");
  }
  text_put(out, "</tbody></table></div>\n");
  if (advice->sample_raw > 0) {
    text_put(out,
             "<p class=\"soft\">* Estimate: the column alone in blocks, as many rows to a block and compressed as now, with "
             "headers and a "
             "schema of its own.</p>\n");
  }
}

static void put_advice(struct text *out, const struct inspection *i, const struct advice *advice) {
  text_put(out, "<h2>What would make it smaller</h2>\n");
  if (advice->sample_bytes == 0) {
    text_put(out, "<p class=\"soft\">Nothing could be tried: the file has no rows, or is damaged.</p>\n");
    return;
  }
  double scale = (double)i->size / (double)advice->sample_bytes, most = 100;
  for (int t = 0; t < N_TRIALS; t++) {
    double percent = advice->trials[t].possible ? share(advice->trials[t].bytes, advice->sample_bytes) : 0;
    most = percent > most ? percent : most;
  }
  text_format(out,
              "<p>Tried on %s of the file (%s rows), each by itself, then all together. Estimates for the whole file:</p>\n",
              size_text(advice->sample_bytes), count_text(advice->sample_rows));
  text_put(out,
           "<div class=\"wide\"><table><thead><tr><th>what</th><th class=\"n\">size</th><th class=\"n\">change</th>"
           "<th class=\"track-cell\"></th></tr></thead>\n<tbody>\n");
  text_format(out, "<tr><td class=\"name\">as it is</td><td class=\"n\">%s</td><td class=\"n\"></td>", size_text(i->size));
  bar_cell(out, 100 * 100 / most);
  text_put(out, "</tr>\n");
  for (int t = 0; t < N_TRIALS; t++) {
    const struct trial *trial = &advice->trials[t];
    text_format(out, "<tr><td class=\"name\">%s</td>", trial->name);
    if (!trial->possible) {
      text_put(out, "<td class=\"n soft\" colspan=\"3\">not possible with these types</td></tr>\n");
      continue;
    }
    double percent = share(trial->bytes, advice->sample_bytes);
    text_format(out, "<td class=\"n\">%s</td><td class=\"n %s\">%+.1f%%</td>",
                size_text((uint64_t)((double)trial->bytes * scale)), percent < 98 ? "good" : "soft",
                fabs(percent - 100) < 0.05 ? 0 : percent - 100);
    bar_cell(out, 100 * percent / most);
    text_put(out, "</tr>\n");
  }
  text_put(out,
           "</tbody></table></div>\n<p class=\"soft\">colshuf repack FILE.data -o NAME writes the file anew; Comet before "
           "1.2.0 reads no offsets as "
           "lengths.</p>\n");
}

static void put_problems(struct text *out, const struct inspection *i) {
  enum { MOST = 100 };
  uint64_t shown = 0;
  if (i->n_bad == 0) return;
  text_format(out,
              "<h2 class=\"bad\">Damaged blocks: %s</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"n\">partition</th>"
              "<th class=\"n\">block</th><th class=\"n\">offset</th><th>problem</th></tr></thead>\n<tbody>\n",
              count_text(i->n_bad));
  for (uint64_t b = 0; b < i->n_blocks && shown < MOST; b++) {
    const struct block_figures *block = &i->blocks[b];
    if (block->problem == NULL) continue;
    shown++;
    text_format(
        out, "<tr><td class=\"n\">%d</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"name\">",
        block->partition, block->in_partition, block->offset);
    escape(out, block->problem);
    text_put(out, "</td></tr>\n");
  }
  text_put(out, "</tbody></table></div>\n");
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
