#!/usr/bin/env python3
"""
Checks the harness itself on files that the real Comet wrote: tests/interop/comet/decode must give back, for every case
under FOLDER/MODE-CODEC/CASE, the ids of each partition in the order that expected.json states, and for every row the
values of the input row with that id; and for the guard and probe blocks the verdicts of the tables beside them.

    comet_cases.py FOLDER            run with the python of the environment that tests/interop/setup made

Ends with 'N passed, N failed'; exit 1 on any failure.
"""
import glob
import json
import os
import subprocess
import sys

import canon

HERE = os.path.dirname(os.path.abspath(__file__))
DECODE = os.path.join(HERE, "comet", "decode")
INPUT_OF_CASE = {"many2": "many", "many200": "many", "longs2": "longs"}

# Verdicts that the tables word otherwise: what the JVM side refuses though the native side decodes it, and the value
# that only an attempt to read it shows as broken.
PROBES_SEEN_FROM_THE_JVM = {"flag_large_list": "rejects", "flag_negative": "rejects"}


def decode(*arguments):
    run = subprocess.run([DECODE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1):
        sys.exit("comet_cases: decoder ended with %d: %s" % (run.returncode, run.stderr.strip()))
    return run.stdout.splitlines()


def partitions_of(lines):
    """{file: {partition: [row lines]}}; an error line is kept as a row, so that it can't pass unseen."""
    found = {}
    current = None
    for line in lines:
        marker = json.loads(line) if line.startswith('{"file"') else None
        if marker:
            current = found.setdefault(marker["file"], {}).setdefault(marker.get("partition", 0), [])
        else:
            current.append(line)
    return found


class Inputs:
    """Canonical lines of an input by id, made once per input and choice of columns."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = {}

    def by_id(self, name, columns):
        key = (name, columns)
        if key not in self.cache:
            table = canon.open_table(os.path.join(self.folder, name + ".arrow"))
            names = table.schema.names[:] if columns is None else list(columns)
            lines = canon.rows(table.select(names))
            self.cache[key] = dict(zip(table.column("id").to_pylist(), lines))
        return self.cache[key]


def check_case(inputs, case, seen, ids_by_partition):
    """A sentence on the first difference, or None."""
    columns = ("id", "k", "s") if case == "rr4" else None
    right = inputs.by_id(INPUT_OF_CASE.get(case, "alltypes"), columns)
    for partition, ids in ids_by_partition.items():
        rows = seen.get(int(partition), [])
        expected = [right[at] for at in ids]
        if rows != expected:
            place = next((at for at, pair in enumerate(zip(rows, expected)) if pair[0] != pair[1]), min(len(rows), len(expected)))
            return "partition %s, row %d: %d rows for %d, %.300s for %.300s" % (
                partition, place, len(rows), len(expected), rows[place:place + 1], expected[place:place + 1])
    n_rows = sum(map(len, seen.values()))
    n_expected = sum(map(len, ids_by_partition.values()))
    return None if n_rows == n_expected else "%d rows for %d" % (n_rows, n_expected)


def check_values(folder):
    inputs = Inputs(folder)
    cases = sorted(glob.glob(os.path.join(folder, "*-*", "*", "expected.json")))
    files = {os.path.dirname(case): sorted(glob.glob(os.path.join(os.path.dirname(case), "*.data"))) for case in cases}
    seen = partitions_of(decode(*[name for names in files.values() for name in names]))
    for directory, names in files.items():
        with open(os.path.join(directory, "expected.json")) as file:
            ids_by_partition = json.load(file)["ids_by_partition"]
        merged = {}
        for name in names:
            for partition, rows in seen[name].items():
                merged.setdefault(partition, []).extend(rows)
        problem = check_case(inputs, os.path.basename(directory), merged, ids_by_partition)
        yield os.path.relpath(directory, folder), problem


def check_verdicts(folder, kind, flags, exceptions):
    with open(os.path.join(folder, kind + ".tsv")) as file:
        table = [line.rstrip("\n").split("\t") for line in file][1:]
    blocks = [os.path.join(folder, kind, row[0]) for row in table]
    seen = dict(line.split("\t", 1) for line in decode("--verdicts", *flags, *blocks))
    for name, verdict, *_ in table:
        verdict = exceptions.get(name, verdict)
        got = seen[os.path.join(folder, kind, name)].split("\t")
        yield kind + "/" + name, None if got[0] == verdict else "%s for %s" % ("\t".join(got), verdict)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: comet_cases.py FOLDER")
    folder = sys.argv[1]
    passed = failed = 0
    results = [check_values(folder), check_verdicts(folder, "guards", [], {}),
               check_verdicts(folder, "probes", ["--touch"], PROBES_SEEN_FROM_THE_JVM)]
    for name, problem in (pair for result in results for pair in result):
        passed += problem is None
        failed += problem is not None
        if problem is not None:
            print("FAILED %s: %s" % (name, problem))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
