# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines of the block benchmarks and holds them against the goals.

    bench_report.py machine BUILD      one JSON line: processor, compiler, library versions
    bench_report.py print FILE         tables of ratios, goals met or not
    bench_report.py document FILE      the same as Markdown, and a plot as SVG: docs/performance-blocks.md, docs/performance-blocks.svg

Times are nanoseconds a block: of each side the median of its rounds' medians.
"""
import collections
import json
import platform
import re
import statistics
import subprocess
import sys

CODECS = ("none", "lz4", "zstd", "snappy")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "?"


def machine(build):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    versions = {name: output_of("pkg-config", "--modversion", name) for name in ("liblz4", "libzstd", "libxxhash", "zlib")}
    print(json.dumps({"program": "machine", "cpu": cpu, "kernel": platform.release(), "compiler": output_of("gcc", "-dumpfullversion"),
                      "rustc": output_of("rustc", "--version"), "build": build, **versions}))


class Results:
    """ns[(program, operation, mode, cell)] = median over rounds."""

    def __init__(self, path):
        rounds = collections.defaultdict(list)
        self.machine = {}
        self.memory = {}
        for line in open(path):
            row = json.loads(line)
            if row["program"] == "machine":
                self.machine = row
                continue
            cell = row["cell"]
            if row["operation"] == "memory":
                self.memory[cell] = row
                continue
            if row["operation"] == "encode" and row["program"] == "peer":
                cell = re.sub(r"-(none|lz4|zstd|snappy)(:\d+)?$", "", cell) + "-" + row["codec"].split(":")[0]
            rounds[row["program"], row["operation"], row.get("mode") or row.get("schema", ""), cell].append(row["ns_per_block"])
        self.ns = {key: statistics.median(values) for key, values in rounds.items()}

    def get(self, program, operation, mode, cell):
        return self.ns.get((program, operation, mode, cell))

    def cells(self, pattern):
        found = {key[3] for key in self.ns if re.fullmatch(pattern, key[3])}
        return sorted(found, key=lambda cell: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", cell)])


def goals(results):
    """Rows: goal, cell, ours, other, ratio, bound, met. A ratio is other/ours where faster is wanted, ours/other otherwise."""
    flat_small, flat_large = r"\d+x(64|512)-none", r"\d+x8192-none"
    # The peers' readers skip validation here: so does ours, at the level that looks at no value.
    yield from speedups(results, "1 NONE, cached, verified, vs Comet-style", flat_small, "verified", "trusted", 20)
    yield from speedups(results, "1 NONE, cached, verified, vs arrow-rs cached", flat_small, "verified", "cached", 10)
    for columns in (5, 20, 50, 200):
        ours, small = results.get("colshuf", "decode", "verified", f"{columns}x8192-none"), results.get("colshuf", "decode", "verified", f"{columns}x512-none")
        if ours and small:
            yield "1 NONE, verified, 8192 rows as 512 (no copy)", f"{columns}x8192-none", ours, small, ours / small, "≤ 1.25", ours / small <= 1.25
    for cell in results.cells(r"four-.*"):
        ours, apart = results.get("colshuf", "alternating", "validated", cell), results.get("colshuf", "apart", "validated", cell)
        if ours and apart:
            yield "2 four schemas in turn, one decoder vs one for each", cell, ours, apart, ours / apart, "≤ 1.1", ours / apart <= 1.1
    for cell in results.cells(r"\d+x\d+-(lz4|zstd|snappy)"):
        ours, raw = results.get("colshuf", "decode", "trusted", cell), results.get("colshuf", "raw", "", cell)
        bound = 1.15 if re.match(r"\d+x64-", cell) else 1.05
        if ours and raw:
            yield "3 compressed, trusted, vs raw codec", cell, ours, raw, ours / raw, f"≤ {bound}", ours / raw <= bound
    yield from speedups(results, "3 never slower than the Comet-style peer", r".*-(lz4|zstd|snappy)", "trusted", "trusted", 1)
    for cell in results.cells(r"\d+x\d+-(lz4|zstd|snappy)"):
        full, trusted = results.get("colshuf", "decode", "validated", cell), results.get("colshuf", "decode", "trusted", cell)
        if full and trusted:
            yield "4 validated vs trusted", cell, full, trusted, full / trusted, "≤ 1.2", full / trusted <= 1.2
    yield from speedups(results, "4 NONE validated vs validated peer", r"\d+x\d+-none", "validated", "validated", 5)
    for cell in results.cells(r"\d+x\d+-none"):
        ours, peer = results.get("colshuf", "encode", "pre", cell), results.get("peer", "encode", "pre", cell)
        bound = 2 if "x8192-" in cell else 5 if "x64-" in cell else None
        if ours and peer and bound:
            yield "5 encode NONE vs peer", cell, ours, peer, peer / ours, f"≥ {bound}", peer / ours >= bound
    for cell in results.cells(r"\d+x\d+-(lz4|zstd|snappy)"):
        ours, raw = results.get("colshuf", "encode", "pre", cell), results.get("colshuf", "raw-compress", "", cell)
        if ours and raw:
            yield "5 encode vs raw compressor", cell, ours, raw, ours / raw, "≤ 1.1", ours / raw <= 1.1
    for cell, row in results.memory.items():
        few, many = row["resident_kib"]
        yield "6 resident KiB after 10^6 blocks vs after 10^3", cell, many, few, many / few, "≤ 1.01", many / few <= 1.01


def speedups(results, title, pattern, our_mode, peer_mode, bound):
    for cell in results.cells(pattern):
        ours, peer = results.get("colshuf", "decode", our_mode, cell), results.get("peer", "decode", peer_mode, cell)
        if ours and peer:
            yield title, cell, ours, peer, peer / ours, f"≥ {bound}", peer / ours >= bound


def print_goals(results):
    title = None
    met = total = 0
    for goal, cell, ours, other, ratio, bound, good in goals(results):
        if goal != title:
            print(f"\n{goal}")
            title = goal
        print(f"  {cell:20} {ours:12,.0f} ns {other:12,.0f} ns {ratio:8.2f}x  {bound:7} {'met' if good else 'NOT MET'}")
        met += good
        total += 1
    print(f"\n{met} of {total} met")


def machine_line(machine):
    return ", ".join(f"{name} {value}" for name, value in machine.items() if name not in ("program", "build"))


def grouped(rows):
    """{goal: [(cell, ours, other, ratio, bound, met)]}, in order."""
    groups = collections.defaultdict(list)
    for goal, *row in rows:
        groups[goal].append(row)
    return groups


def summary_lines(groups):
    lines = ["| goal | met | median ratio | worst cell | bound |", "|---|---|---|---|---|"]
    for goal, rows in groups.items():
        worst = (min if rows[0][4].startswith("≥") else max)(rows, key=lambda row: row[3])
        lines.append(f"| {goal} | {sum(row[5] for row in rows)} of {len(rows)} | {statistics.median(row[3] for row in rows):.2f} "
                     f"| {worst[0]}: {worst[3]:.2f} | {rows[0][4]} |")
    return [*lines, ""]


def cell_lines(groups):
    lines = []
    for goal, rows in groups.items():
        lines += [f"## {goal}", "", "| cell | colshuf | other | ratio | goal | |", "|---|---|---|---|---|---|"]
        lines += [f"| {cell} | {ours:,.0f} | {other:,.0f} | {ratio:.2f} | {bound} | {'met' if good else '**not met**'} |"
                  for cell, ours, other, ratio, bound, good in rows]
        lines.append("")
    return lines


def document(results):
    groups = grouped(goals(results))
    lines = ["# Blocks", "", "Made by `make bench`; nanoseconds a block, one thread, pinned; medians of nine samples in each round.", "",
             machine_line(results.machine), "", "![decode times](performance-blocks.svg)", "", "## The goals", "", *summary_lines(groups),
             *parts(results), *cell_lines(groups)]
    with open("docs/performance-blocks.md", "w") as file:
        file.write("\n".join(lines))
    plot(results)


def parts(results):
    """What one decode is made of, uncompressed and cached, and what it would cost otherwise; no goals."""
    columns = [("verified", "decode", "verified"), ("trusted", "decode", "trusted"), ("validated", "decode", "validated"), ("borrowed view", "view", "validated"),
               ("first block", "first", "validated"), ("schema parse alone", "schema", ""), ("memcpy of the stream", "memcpy", "")]
    lines = ["## Uncompressed blocks, ns", "", "| cell | " + " | ".join(name for name, *_ in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for cell in results.cells(r".*-none"):
        values = [results.get("colshuf", operation, mode, cell) for _, operation, mode in columns]
        if all(values):
            lines.append(f"| {cell} | " + " | ".join(f"{value:,.0f}" for value in values) + " |")
    return lines + [""]


def plot(results):
    """Bars on a logarithmic scale: Comet-style peer, arrow-rs with the schema cached, colshuf validated and trusted."""
    import math
    cells = results.cells(r"(5|50)x(64|512|8192)-(none|lz4|zstd)")
    series = [("Comet-style peer", "peer", "trusted", "#999999"), ("arrow-rs, schema cached", "peer", "cached", "#5b8db8"),
              ("colshuf, validated", "colshuf", "validated", "#e0a030"), ("colshuf, verified", "colshuf", "verified", "#c0392b")]
    width, row, left = 900, 58, 130
    height = 60 + row * len(cells)
    scale = (width - left - 90) / 5.5
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, (name, _, _, colour) in enumerate(series):
        out.append(f'<rect x="{left + i * 185}" y="12" width="12" height="12" fill="{colour}"/><text x="{left + 18 + i * 185}" y="22">{name}</text>')
    for i, cell in enumerate(cells):
        y = 44 + i * row
        out.append(f'<text x="{left - 10}" y="{y + 28}" text-anchor="end">{cell}</text>')
        for j, (_, program, mode, colour) in enumerate(series):
            ns = results.get(program, "decode", mode, cell)
            if ns:
                length = max(1, (math.log10(ns) - 1.5) * scale)
                out.append(f'<rect x="{left}" y="{y + j * 12}" width="{length:.0f}" height="10" fill="{colour}"/>'
                           f'<text x="{left + length + 4:.0f}" y="{y + j * 12 + 9}" font-size="10">{ns:,.0f} ns</text>')
    out.append("</svg>")
    with open("docs/performance-blocks.svg", "w") as file:
        file.write("\n".join(out))


def main(command, argument):
    if command == "machine":
        machine(argument)
    elif command == "print":
        print_goals(Results(argument))
    else:
        document(Results(argument))


if __name__ == "__main__":
    main(*sys.argv[1:])
