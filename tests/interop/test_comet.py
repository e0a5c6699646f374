# SPDX-License-Identifier: Apache-2.0
"""colshuf and the real Apache DataFusion Comet, both ways.

Comet's files (reference data): every partition read by colshuf holds the right rows in the right order; verify finds nothing wrong; the guard
and probe blocks get the documented verdicts. colshuf's files: the same partitioning as Comet's for the same input and keys; and, where
tests/interop/setup has brought Comet 1.2.0, its own decoder reads every type in every codec, with and without offsets as lengths
and dictionaries.
"""
import glob
import json
import os
import re
import subprocess
import tempfile

import canon
import pyarrow as pa

from harness import Skip, Suite, colshuf, data

INPUT_OF_CASE = {"many2": "many", "many200": "many", "longs2": "longs"}
CODECS = ("none", "lz4", "zstd", "snappy")
DECODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "comet", "decode")
# Where colshuf decides otherwise than Comet's table says, and why.
OUR_VERDICTS = {
    "guards/noeos_LZ4": "accepts",  # a whole frame, only the end marker is missing: nothing is lost
    "probes/noeos": "accepts",
    "probes/flag_negative": "rejects",
    "probes/flag_large_untouched": "rejects",  # offsets that were not turned into lengths: garbage, which Comet reads as empty strings
    "probes/view": "accepts", "probes/flag_large_list": "accepts",  # Comet's native side reads them, its JVM side has no such types
    "probes/dict_index_int8": "accepts", "probes/dict_index_int16": "accepts", "probes/dict_index_int64": "accepts",
    "probes/dict_index_uint8": "accepts",  # Comet's JVM side lacks them, Arrow does not
}


class Inputs:
    """The canonical lines of an input by the id of its row."""

    def __init__(self):
        self.lines = {}

    def of(self, case):
        name = INPUT_OF_CASE.get(case, "alltypes")
        columns = ("id", "k", "s") if case == "rr4" else None
        if (name, columns) not in self.lines:
            table = canon.open_table(data(f"comet/{name}.arrow"))
            chosen = table.select(list(columns)) if columns else table
            self.lines[name, columns] = dict(zip(table.column("id").to_pylist(), canon.rows(chosen)))
        return self.lines[name, columns]


def partition_lines(path, partition):
    stream = colshuf("read", path, "--partition", partition)
    return canon.rows(pa.ipc.open_stream(stream).read_all())


def comets_files_read_right(inputs, directory):
    case = os.path.basename(directory)
    with open(os.path.join(directory, "expected.json")) as file:
        wanted = json.load(file)["ids_by_partition"]
    total = 0
    files = sorted(glob.glob(os.path.join(directory, "*.data")))
    for path in files:
        colshuf("verify", path)
    for partition, ids in wanted.items():
        lines = [line for path in files for line in partition_lines(path, partition)]
        assert lines == [inputs.of(case)[i] for i in ids], f"partition {partition} differs"
        total += len(ids)
    everything = sum(pa.ipc.open_stream(colshuf("read", path)).read_all().num_rows for path in files)
    assert everything == total, f"{everything} rows for {total}"


def our_partitions_are_comets(inputs, directory, codec, scratch):
    """The three inputs, hashed on the same columns: the same rows in the same partitions in the same order."""
    case = os.path.basename(directory)
    with open(os.path.join(directory, "expected.json")) as file:
        expected = json.load(file)
    columns, n = re.search(r"hashpartitioning\((.*), (\d+)\)", expected["exchange"]).groups()
    output = os.path.join(scratch, f"ours-{case}-{codec}")
    source = data(f"comet/{INPUT_OF_CASE.get(case, 'alltypes')}.arrow")
    colshuf("write", source, "-o", output, "-n", n, "--hash", columns.replace(" ", ""), "--codec", codec)
    wanted = {int(p): ids for p, ids in expected["ids_by_partition"].items()}
    for partition in range(int(n)):
        lines = partition_lines(output + ".data", partition)
        assert lines == [inputs.of(case)[i] for i in wanted.get(partition, [])], f"partition {partition} differs"


def verdict_is_documented(kind, name, verdict):
    path = data(f"comet/{kind}/{name}")
    wanted = OUR_VERDICTS.get(f"{kind}/{name}", verdict)
    colshuf("verify", path, status=0 if wanted == "accepts" else 1)


def needs_comet():
    peers = os.environ.get("COLSHUF_PEERS", "build/peers")
    if not os.path.exists(os.path.join(peers, ".ready")):
        raise Skip(f"no Comet in {peers} (run tests/interop/setup)")


def comet_reads_ours(inputs, case, options, scratch):
    needs_comet()
    source = data(f"comet/{case}.arrow")
    output = os.path.join(scratch, "for-comet")
    for old in glob.glob(output + ".*"):
        os.unlink(old)
    colshuf("write", source, "-o", output, "-n", 5, "--hash", "id", *options)
    done = subprocess.run([DECODE, output + ".data"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    lines = [line for line in done.stdout.splitlines() if not line.startswith('{"file"')]
    table = canon.open_table(source)
    assert sorted(lines) == sorted(canon.rows(table)), "Comet sees other values"


def main():
    suite, inputs = Suite(), Inputs()
    try:
        root = data("comet")
    except Skip:
        root = None
    with tempfile.TemporaryDirectory() as scratch:
        for directory in sorted(glob.glob(os.path.join(root or "/nonexistent", "*-*", "*"))):
            name = os.path.relpath(directory, root)
            suite.check(f"Comet's {name} reads right", comets_files_read_right, inputs, directory)
            with open(os.path.join(directory, "expected.json")) as file:
                hashed = "hashpartitioning" in file.read(200) and "empty_parts" not in name  # that one's input is a part of the table
            if hashed and name.startswith(("native-lz4/", "jvm-lz4/")):
                for codec in CODECS:
                    suite.check(f"our partitions are Comet's: {name} {codec}", our_partitions_are_comets, inputs, directory, codec,
                                scratch)
        for kind in ("guards", "probes"):
            for line in open(os.path.join(root, kind + ".tsv")).read().splitlines()[1:] if root else []:
                name, verdict = line.split("\t")[:2]
                suite.check(f"verdict {kind}/{name}", verdict_is_documented, kind, name, verdict)
        for case in ("alltypes", "many", "longs"):
            for codec in CODECS:
                for offsets in ("plain", "lengths"):
                    for dictionary in ("off", "auto"):
                        if offsets == "lengths" and dictionary == "auto":
                            continue  # a block cannot have both
                        options = ["--codec", codec, "--offsets", offsets, *(["--no-dictionary"] if dictionary == "off" else [])]
                        suite.check(f"Comet reads our {case} {' '.join(options)}", comet_reads_ours, inputs, case, options, scratch)
    suite.finish()


if __name__ == "__main__":
    main()
