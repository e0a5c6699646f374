# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines that `tools/bench write` gathers and holds them against the goals of the map writer.

    report_write.py sizes COLSHUF SCRATCH PARTITIONS TABLE.arrow...   JSON lines: bytes of colshuf's output, by codec and layout
    report_write.py print FILE                                        the goals, met or not
    report_write.py document FILE                                     the same with all tables: docs/performance-write.md
"""
import json
import os
import subprocess
import sys

from bench_report import machine_line

MIB = 1 << 20
LIMIT_SLACK_MIB = 16
# lineitem at scale 1, MiB: what goal 3 allows.
LINEITEM_BYTES = {"lz4": 300, "zstd": 172}
RAW_RATIO = {"lz4": 1.6, "zstd": 1.35}
LAYOUTS = {"colshuf": [], "comet": ["--no-dictionary", "--layout", "arrow-rs", "--block-rows", "8192"]}


def sizes(colshuf, scratch, n_partitions, *tables):
    output = os.path.join(scratch, "sizes")
    for table in tables:
        for codec in ("lz4", "zstd"):
            for layout, options in LAYOUTS.items():
                done = subprocess.run([colshuf, "write", table, "-o", output, "-n", n_partitions, "--hash", "k", "--codec", codec, "--json", *options],
                                      check=True, capture_output=True, text=True)
                figures = json.loads(done.stdout)
                print(json.dumps({"program": "colshuf", "operation": "size", "cell": os.path.basename(table).split(".")[0], "codec": codec,
                                  "side": layout, "bytes": figures["written_bytes"], "rows": figures["rows"]}), flush=True)
    for ending in (".data", ".index", ".checksum.ADLER32"):
        if os.path.exists(output + ending):
            os.unlink(output + ending)


class Results:
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file if line.startswith("{")]
        self.machine = next((row for row in self.rows if row["program"] == "machine"), {})
        self.writes = [row for row in self.rows if row.get("operation") == "map_write"]
        self.shapes = [row for row in self.rows if row.get("operation") == "map_shapes"]
        self.peers = [row for row in self.rows if row["program"] == "peer_write"]

    def write(self, codec, limit=256, partitions=200, threads=0):
        return next((row for row in self.writes if (row["cell"], row["limit_mib"], row["partitions"], row["threads"]) ==
                     (codec, limit, partitions, threads)), None)

    def bytes_by_side(self):
        """{(table, codec): {side: bytes}}; a side that did not take its own shuffle is left out."""
        found = {}
        for row in self.rows:
            if row.get("operation") not in ("size", "shuffle_size"):
                continue
            side = row["side"] if row["program"] == "colshuf" else f"spark {row['side']}"
            if side in ("spark native", "spark jvm") and not row["exchange"].startswith("Comet"):
                continue
            found.setdefault((row["cell"], row["codec"]), {})[side] = row["bytes"]
        return found


def goals(results):
    """Rows: goal, what was found, bound, met."""
    for codec, bound in RAW_RATIO.items():
        if (row := results.write(codec)) and "ratio" in row:
            yield f"1 {codec}: time to that of the raw codec", f"{row['ratio']:.2f}", f"≤ {bound}", row["ratio"] <= bound
    if (row := results.write("none")) and "raw_write_s" in row:
        floor = row["raw_codec_s"] + row["raw_write_s"]
        yield "1 none: time to a memcpy and a write of the same bytes", f"{row['seconds'] / floor:.2f}", "≤ 4", row["seconds"] <= 4 * floor
    for codec in RAW_RATIO:
        for limit in (64, 256, 1024):
            if row := results.write(codec, limit):
                over = row["resident_mib"] - limit
                yield f"2 {codec}, limit {limit} MiB: resident beyond it, MiB", f"{over:.1f}", f"≤ {LIMIT_SLACK_MIB}", over <= LIMIT_SLACK_MIB
        small, large = results.write(codec, 64), results.write(codec, 1024)
        if small and large:
            ratio = small["seconds"] / large["seconds"]
            yield f"2 {codec}: time at 64 MiB to that at 1 GiB", f"{ratio:.2f}", "≤ 1.5", ratio <= 1.5
    for codec, bound in LINEITEM_BYTES.items():
        if row := results.write(codec):
            yield f"3 lineitem {codec}: MiB", f"{row['written_mib']:.1f}", f"≤ {bound}", row["written_mib"] <= bound
    for (table, codec), sides in sorted(results.bytes_by_side().items()):
        for side, bound in (("comet", 1), ("spark native", 1), ("spark rows", 1.02)):
            if side in sides and "colshuf" in sides:
                ratio = sides["colshuf"] / sides[side]
                name = {"comet": "Comet's layout", "spark native": "Comet's files", "spark rows": "Spark's rows"}[side]
                yield f"3 {table} {codec}: bytes to {name}", f"{ratio:.3f}", f"≤ {bound}", ratio <= bound
    few, many = results.write("lz4"), results.write("lz4", 256, 100000)
    if few and many:
        growth = many["ns_per_row"] / few["ns_per_row"]
        yield "4 time a row, 100,000 partitions to 200", f"{growth:.2f}", "< 3", growth < 3
    for row in results.writes:
        if row["partitions"] > 200:
            over = row["resident_mib"] - row["limit_mib"]
            yield f"4 {row['partitions']:,} partitions: resident beyond the limit, MiB", f"{over:.1f}", f"≤ {LIMIT_SLACK_MIB}", over <= LIMIT_SLACK_MIB


def print_goals(results):
    rows = list(goals(results))
    for goal, found, bound, met in rows:
        print(f"{goal:64} {found:>9}  {bound:8} {'met' if met else 'NOT MET'}")
    print(f"{sum(row[3] for row in rows)} of {len(rows)} met")


def table(head, rows):
    if not rows:
        return ["Not measured in this run.", ""]
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows), ""]


def time_table(rows):
    head = ("codec", "partitions", "limit MiB", "threads", "s", "partition", "route", "encode", "write", "ns a row", "spilled MiB", "out MiB", "resident MiB", "to raw codec")
    return table(head, [(row["cell"], f"{row['partitions']:,}", str(row["limit_mib"]), str(row["threads"]), f"{row['seconds']:.2f}", f"{row['partition_s']:.2f}",
                         f"{row['route_s']:.2f}", f"{row['encode_s']:.2f}", f"{row['write_s']:.2f}", f"{row['ns_per_row']:.0f}", f"{row['spilled_mib']:.0f}",
                         f"{row['written_mib']:.1f}", f"{row['resident_mib']:.0f}", f"{row['ratio']:.2f}" if "ratio" in row else "") for row in rows])


def size_table(results):
    sides = ("colshuf", "comet", "spark native", "spark jvm", "spark rows")
    rows = [(name, codec, *(f"{found[side]:,}" if side in found else "" for side in sides)) for (name, codec), found in sorted(results.bytes_by_side().items())]
    return table(("table", "codec", "colshuf", "colshuf in Comet's layout", "Comet, native writer", "Comet, row writer", "Spark's rows"), rows)


def document(results):
    by_partitions = sorted((row for row in results.writes if row["limit_mib"] == 256 and row["cell"] == "lz4" and row["threads"] == 0), key=lambda row: row["partitions"])
    others = [row for row in results.writes if row not in by_partitions or row["partitions"] == 200]
    lines = ["# The map writer", "",
             "Made by `make bench-write`: TPC-H lineitem at scale 1, hashed by `l_orderkey`, one thread on one pinned core where nothing else is said. Seconds are "
             "those inside the writer, the least of some runs; partition, route, encode and write are its parts. The raw codec compresses the very column bytes "
             "of the same blocks in the same run and does nothing else.", "",
             machine_line(results.machine), "",
             "## The goals", "", *table(("goal", "found", "bound", ""), [(goal, found, bound, "met" if met else "**not met**") for goal, found, bound, met in goals(results)]),
             "## Codecs, limits, threads", "", *time_table(others), "## Partitions", "", *time_table(by_partitions)]
    if results.peers:
        lines += ["## Ballista's sort-shuffle writer", "", "The same batches, codec and partitions, input held in memory.", "",
                  *table(("codec", "partitions", "s", "out MiB", "resident MiB"),
                         [(row["codec"], str(row["partitions"]), f"{row['seconds']:.2f}", f"{row['bytes'] / MIB:.1f}", f"{row['peak_memory'] / MIB:.0f}") for row in results.peers])]
    lines += ["## Shapes", "", *table(("shape", "s", "ns a row", "ns a value", "out MiB", "counted MiB"),
                                      [(row["cell"], f"{row['seconds']:.2f}", f"{row['ns_per_row']:,.0f}", f"{row['ns_per_value']:.1f}", f"{row['written_mib']:.1f}",
                                        f"{row['counted_mib']:.1f}") for row in results.shapes])]
    lines += ["## Sizes of other tables, bytes", "", "Tables of `bench/make_write_tables.py`, hashed by `k` into 60 partitions; Spark and Comet wrote theirs in one map task "
              "(`bench/spark_sizes.py`).", "", *size_table(results)]
    with open("docs/performance-write.md", "w") as file:
        file.write("\n".join(lines))


def main():
    command, *words = sys.argv[1:]
    if command == "sizes":
        sizes(*words)
    else:
        {"print": print_goals, "document": document}[command](Results(*words))


if __name__ == "__main__":
    main()
