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
# What a whole run measures: bench/map_write.c, bench/map_shapes.c, bench/make_write_tables.py.
CODECS = ("lz4", "zstd", "snappy", "none")
LIMITS_MIB = (64, 256, 1024)
PARTITIONS = (1, 200, 1000, 10000, 100000, 1000000)
THREADS = (1, 2)
TABLES = ("flights", "nested", "random", "sorted", "sparse", "strings")
SHAPES = ("8 columns, 8192 rows a batch", "8 columns, nulls in all but the key", "8 columns, 64 rows a batch", "8 columns, 1 row a batch",
          "8 columns, all rows in one batch", "8 columns, one partition of 200 gets all", "8 columns, one partition", "1000 columns", "one string of 1 GiB")
# What the goals allow; bytes are of lineitem at scale 1, MiB.
LIMIT_SLACK_MIB = 16
LINEITEM_BYTES = {"lz4": 300, "zstd": 172}
RAW_RATIO = {"lz4": 1.6, "zstd": 1.35}
NONE_RATIO = 4
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
        """{(table, codec): {side: bytes}}; None for a side of Comet's that left the shuffle to Spark."""
        found = {}
        for row in self.rows:
            if row.get("operation") not in ("size", "shuffle_size"):
                continue
            side = row["side"] if row["program"] == "colshuf" else f"spark {row['side']}"
            own = side not in ("spark native", "spark jvm") or row["exchange"].startswith("Comet")
            found.setdefault((row["cell"], row["codec"]), {})[side] = row["bytes"] if own else None
        return found


MISSING = "not measured"


def goal(name, found, bound, text=None):
    """One row: name, what was found as text, bound as text, how it stands. found None: it was not measured."""
    if found is None:
        return name, MISSING, f"≤ {bound}", MISSING
    return name, text or f"{found:.2f}", f"≤ {bound}", "met" if found <= bound else "not met"


def time_goals(results):
    for codec in CODECS:
        row = results.write(codec)
        if codec in RAW_RATIO:
            yield goal(f"1 {codec}: time to that of the raw codec", row and row.get("ratio"), RAW_RATIO[codec])
        if codec == "none":
            floor = row and row.get("raw_write_s") and row["raw_codec_s"] + row["raw_write_s"]
            yield goal("1 none: time to a memcpy and a write of the same bytes", floor and row["seconds"] / floor, NONE_RATIO)


def beyond(row):
    return row and row["resident_mib"] - row["limit_mib"]


def limit_goals(results):
    for codec in CODECS:
        for limit in LIMITS_MIB:
            yield goal(f"2 {codec}, limit {limit} MiB: resident beyond it, MiB", beyond(results.write(codec, limit)), LIMIT_SLACK_MIB)
        small, large = results.write(codec, min(LIMITS_MIB)), results.write(codec, max(LIMITS_MIB))
        yield goal(f"2 {codec}: time at 64 MiB to that at 1 GiB", small and large and small["seconds"] / large["seconds"], 1.5)


def size_goals(results):
    for codec, bound in LINEITEM_BYTES.items():
        row = results.write(codec)
        yield goal(f"3 lineitem {codec}: MiB", row and row["written_mib"], bound, row and f"{row['written_mib']:.1f}")
    found = results.bytes_by_side()
    for table in TABLES:
        for codec in LINEITEM_BYTES:
            sides = found.get((table, codec), {})
            for side, bound, name in (("comet", 1, "Comet's layout"), ("spark native", 1, "Comet's files"), ("spark rows", 1.02, "Spark's rows")):
                if side in sides and sides[side] is None:
                    continue
                ratio = sides["colshuf"] / sides[side] if side in sides and "colshuf" in sides else None
                yield goal(f"3 {table} {codec}: bytes to {name}", ratio, bound, ratio and f"{ratio:.3f}")


def partition_goals(results):
    few = results.write("lz4")
    for n in PARTITIONS[1:]:
        many = results.write("lz4", partitions=n)
        if n == 100000:
            yield goal("4 time a row, 100,000 partitions to 200", few and many and many["ns_per_row"] / few["ns_per_row"], 3)
        yield goal(f"4 {n:,} partitions: resident beyond the limit, MiB", beyond(many), LIMIT_SLACK_MIB)


def goals(results):
    for part in (time_goals, limit_goals, size_goals, partition_goals):
        yield from part(results)


def summary(rows):
    count = [sum(row[3] == how for row in rows) for how in ("met", "not met", MISSING)]
    return f"{count[0]} of {len(rows)} goals met, {count[1]} not met, {count[2]} {MISSING}"


def print_goals(results):
    rows = list(goals(results))
    print(summary(rows))
    for name, found, bound, how in rows:
        print(f"{name:64} {found:>12}  {bound:8} {how.upper() if how == 'not met' else how}")


def table(head, rows):
    if not rows:
        return [f"{MISSING.capitalize()} in this run.", ""]
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows), ""]


def time_cells(row):
    floor = row["raw_codec_s"] + row.get("raw_write_s", 0) if "raw_codec_s" in row else None
    return (f"{row['seconds']:.2f}", f"{row['partition_s']:.2f}", f"{row['route_s']:.2f}", f"{row['encode_s']:.2f}", f"{row['write_s']:.2f}",
            f"{row['ns_per_row']:.0f}", f"{row['spilled_mib']:.0f}", f"{row['written_mib']:.1f}", f"{row['counted_mib']:.0f}", f"{row['resident_mib']:.0f}",
            f"{row['seconds'] / floor:.2f}" if floor else "")


def time_table(results, wanted):
    """wanted: (codec, limit, partitions, threads) in the order of the rows; what was not measured is said in its row."""
    head = ("codec", "limit MiB", "partitions", "threads", "s", "partition", "route", "encode", "write", "ns a row", "spilled MiB", "out MiB", "counted MiB",
            "resident MiB", "to raw codec")
    rows = []
    for codec, limit, partitions, threads in wanted:
        row = results.write(codec, limit, partitions, threads)
        rows.append((codec, f"{limit:,}", f"{partitions:,}", str(threads), *(time_cells(row) if row else (MISSING, *[""] * 10))))
    return table(head, rows)


def peer_table(results):
    ours = {codec: results.write(codec) for codec in LINEITEM_BYTES}
    rows = []
    for codec in LINEITEM_BYTES:
        runs = [row for row in results.peers if row["codec"] == codec]
        best = min(runs, key=lambda row: row["seconds"], default=None)
        mine = ours[codec]
        if best is None:
            rows.append((codec, MISSING, "", "", "", ""))
            continue
        rows.append((codec, f"{best['partitions']:,}", f"{best['seconds']:.2f}", f"{best['bytes'] / MIB:.1f}",
                     f"{max(row['peak_memory'] for row in runs) / MIB:.0f}", f"{best['seconds'] / mine['seconds']:.2f}" if mine else MISSING))
    return table(("codec", "partitions", "s", "out MiB", "resident MiB", "time to colshuf's"), rows)


def shape_table(results):
    measured = {row["cell"]: row for row in results.shapes}
    rows = []
    for name in SHAPES:
        row = measured.get(name)
        if row is None:
            rows.append((name, MISSING, *[""] * 6))
            continue
        rows.append((name, f"{row['seconds']:.2f}", f"{row['ns_per_row']:,.0f}", f"{row['ns_per_value']:,.1f}", f"{row['raw_mib']:,.0f}", f"{row['written_mib']:.1f}",
                     f"{row['counted_mib']:,.0f}", f"{row['resident_mib'] - row['input_mib']:,.0f}"))
    return table(("shape", "s", "ns a row", "ns a value", "in MiB", "out MiB", "counted MiB", "resident beyond the input, MiB"), rows)


def size_cell(sides, side):
    if side not in sides:
        return MISSING
    return "left to Spark" if sides[side] is None else f"{sides[side]:,}"


def size_table(results):
    sides, found = ("colshuf", "comet", "spark native", "spark jvm", "spark rows"), results.bytes_by_side()
    rows = [(name, codec, *(size_cell(found.get((name, codec), {}), side) for side in sides)) for name in TABLES for codec in LINEITEM_BYTES]
    return table(("table", "codec", "colshuf", "colshuf in Comet's layout", "Comet, native writer", "Comet, row writer", "Spark's rows"), rows)


def marked(rows):
    return [(*row[:3], row[3] if row[3] == "met" else f"**{row[3]}**") for row in rows]


def document(results):
    rows = list(goals(results))
    n_rows = max((row["rows"] for row in results.writes), default=0)
    limits = [(codec, limit, 200, 0) for codec in CODECS for limit in LIMITS_MIB]
    threads = [(codec, 256, 200, n) for codec in LINEITEM_BYTES for n in (0, *THREADS)]
    lines = ["# The map writer", "",
             f"Made by `make bench-write`: TPC-H lineitem, {f'{n_rows:,} rows, ' if n_rows else ''}hashed by `l_orderkey`, one thread on one pinned core where nothing else is said. Seconds are "
             "those inside the writer, the least of some runs; partition, route, encode and write are its parts. Every run is a process of its own; counted is "
             "what the writer accounts for, resident the process's peak (VmHWM), both the most of the runs. The raw codec compresses the very column bytes of the same blocks in the same "
             "run and does nothing else; for `none` it is a memcpy of them and a write to a file.", "",
             machine_line(results.machine), "",
             "## The goals", "", summary(rows) + ".", "", *table(("goal", "found", "bound", ""), marked(rows)),
             "## Codecs and limits", "", *time_table(results, limits),
             "## Threads that encode in the background", "", "Not pinned; 0 is pinned, as above. What is spilled is encoded and written while the caller reads and routes the next batches, so that the parts add up to "
             "more than the whole, which is what the caller waits for.", "",
             *time_table(results, threads),
             "## Partitions", "", *time_table(results, [("lz4", 256, n, 0) for n in PARTITIONS]),
             "## Ballista's sort-shuffle writer", "", "The same batches, codec and partitions, input held in memory (its resident memory holds it too).", "",
             *peer_table(results),
             "## Shapes", "", "LZ4, 256 MiB, 200 partitions; processor time. A row larger than the limit takes several times its own size.", "", *shape_table(results),
             "## Sizes of other tables, bytes", "", "Tables of `bench/make_write_tables.py`, hashed by `k` into 60 partitions; Spark and Comet wrote theirs in one map task "
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
