# SPDX-License-Identifier: Apache-2.0
"""Holds the results of the reduce side against its goals: report_reduce.py FILE writes docs/performance-reduce.md and prints the goals.

FILE: JSON lines of bench_reduce_read, of the Rust peer's `reduce`, and one line about the machine. Times are medians, nanoseconds a block.
"""
import collections
import json
import statistics
import sys

from bench_report import cell_lines, grouped, machine_line, summary_lines


def read(path):
    rounds, machine, files = collections.defaultdict(list), {}, {}
    for line in open(path):
        row = json.loads(line)
        if row["program"] == "machine":
            machine = row
            continue
        rounds[row["program"], row["operation"], row.get("mode", ""), row["cell"]].append(row["ns_per_block"])
        files[row["cell"]] = row.get("files", files.get(row["cell"]))
    return {key: statistics.median(values) for key, values in rounds.items()}, machine, files


def goals(ns):
    """(goal, cell, ours, other, ratio, bound, met)"""
    cells = sorted({key[3] for key in ns}, key=lambda cell: (int(cell.split("x")[0]), int(cell.split("x")[1].split("-")[0]), cell))
    for cell in cells:
        for operation, mode, theirs, title in (("memory", "trusted", "", "1 vs the Comet-style peer, both from memory, trusted"),
                                               ("memory", "validated", "", "1 vs the Comet-style peer, both from memory, ours validated in full"),
                                               ("read", "trusted", "files", "1 vs the Comet-style peer, both from an output (data and index) for each block")):
            peer, ours = ns.get(("peer", "reduce", theirs, cell)), ns.get(("colshuf", operation, mode, cell))
            if peer and ours and cell.startswith("20x"):
                yield title, cell, ours, peer, peer / ours, "≥ 5", peer / ours >= 5
        peer, raw, ours = (ns.get(key + (cell,)) for key in (("peer", "reduce", ""), ("colshuf", "raw", ""), ("colshuf", "memory", "validated")))
        if peer and ours and raw and not cell.endswith("-none") and cell.startswith("20x"):
            # Both need the codec: what is left of each when the library's own time is taken off. Never less than a hundredth of it: noise.
            ours, other = max(ours - raw, raw / 100), max(peer - raw, raw / 100)
            yield "1 the same, what each takes beside the raw codec, compressed, validated", cell, ours, other, other / ours, "≥ 5", other / ours >= 5
    for cell in cells:
        raw = ns.get(("colshuf", "raw", "", cell))
        for how, where in (("memory", "from memory"), ("read", "from a file a block")):
            whole, two = ns.get(("colshuf", how, "validated", cell)), ns.get(("colshuf", "two columns", how.replace("read", "files"), cell))
            if not (two and whole and cell.startswith("50x")):
                continue
            if cell.endswith("-none"):
                yield f"2 two of 50 columns vs all, NONE, {where}", cell, two, whole, two / whole, "≤ 0.3", two / whole <= 0.3
            else:
                yield f"2 two of 50 columns vs the raw codec, {where}", cell, two, raw, two / raw, "≤ 1.05", two / raw <= 1.05
    for cell in cells:
        one, both, raw = (ns.get(("colshuf", *key, cell)) for key in (("verify", "one thread"), ("verify", "two threads"), ("raw and checksum", "")))
        if one and raw:
            yield "4 verify vs raw codec and checksum, speed", cell, one, raw, raw / one, "≥ 0.8", raw / one >= 0.8
            yield "4 verify with two threads vs one", cell, both, one, one / both, "≥ 1.6", one / both >= 1.6


def document(ns, machine, files):
    groups = grouped(goals(ns))
    summary = summary_lines(groups)
    lines = ["# The reduce side", "", "Made by `make bench-read`; nanoseconds a block, medians of samples that take turns. One partition of up to 2,000 map outputs, a block each",
             "(fewer where the blocks are large), is read as one stream of batches of at least 8192 rows. The peer, `bench/peer`, decodes block by block as Comet does and",
             "concatenates at 8192 rows. The raw codec, which both need, bounds what can be won.", "", machine_line(machine), "", *summary,
             "| cell | files | from files | from memory | two columns, from files | from memory | raw codec | peer, from files | from memory |", "|---|---|---|---|---|---|---|---|---|"]
    for cell in sorted({key[3] for key in ns if key[1] == "memory"}):
        values = [ns.get(key + (cell,)) for key in (("colshuf", "read", "validated"), ("colshuf", "memory", "validated"), ("colshuf", "two columns", "files"),
                                                    ("colshuf", "two columns", "memory"), ("colshuf", "raw", ""), ("peer", "reduce", "files"), ("peer", "reduce", ""))]
        lines.append(f"| {cell} | {files[cell]} | " + " | ".join(f"{value:,.0f}" if value else "" for value in values) + " |")
    lines += ["", *cell_lines(groups)]
    with open("docs/performance-reduce.md", "w") as file:
        file.write("\n".join(lines))
    print("\n".join(summary))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: report_reduce.py FILE")
    document(*read(sys.argv[1]))
