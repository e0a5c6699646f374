# SPDX-License-Identifier: Apache-2.0
"""What each path of the map writer leaves is read back by others: every block by the real Comet, index and checksums by Spark's own
IndexShuffleBlockResolver and ShuffleChecksumUtils; and by colshuf verify. The paths: rows as they are, offsets as lengths, dictionaries, blocks spilled, rows
spilled (many partitions), threads that compress; each in every codec; and runs spilled while later rows were routed.
"""
import json
import os
import re
import subprocess
import tempfile

import canon
import numpy as np
import pyarrow as pa

from harness import COLSHUF, Skip, Suite, colshuf

HERE = os.path.dirname(os.path.abspath(__file__))
CODECS = ("none", "lz4", "zstd", "snappy")
CHECKSUMS = ("adler32", "crc32", "crc32c", "none")
N_ROWS = 40_000
TIMES = 8
PLAIN = ["--no-dictionary", "--offsets", "plain"]
# name, partitions, options, whether memory is the least that is enough
PATHS = (
    ("plain", 5, PLAIN, False),
    ("lengths", 5, ["--no-dictionary", "--offsets", "lengths"], False),
    ("dictionary", 5, ["--offsets", "plain"], False),
    ("spilled", 5, ["--block-size", "16K"], True),
    ("many", 3000, [], True),
    ("threads", 5, ["--threads", "2", "--memory-limit", "64M", "--block-size", "64K"], False),
)


def make_table():
    random = np.random.default_rng(7)
    ids = np.arange(N_ROWS)
    colours = np.array(["red", "green", "blue", "a longer name of a colour"])[random.integers(0, 4, N_ROWS)]
    sizes = random.integers(0, 4, N_ROWS)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.table({
        "id": pa.array(ids),
        "colour": pa.array(colours, mask=ids % 11 == 0),
        "text": pa.array(["".join(chr(97 + (i * j) % 26) for j in range(i % 120)) for i in ids.tolist()]),
        "number": pa.array(random.random(N_ROWS), mask=ids % 5 == 0),
        "list": pa.ListArray.from_arrays(pa.array(offsets), pa.array(random.integers(0, 9, int(offsets[-1])).astype(np.int32))),
        "constant": pa.array([20260822] * N_ROWS, pa.int32()),
    })


def least_memory(arguments):
    """The least limit that the writer takes. What it names grows with what it got, as its parts are shares of that."""
    limit = "1K"
    while True:
        done = subprocess.run([COLSHUF, *arguments, "--memory-limit", limit], capture_output=True, text=True, check=False)
        named = re.search(r"at least (\d+)", done.stderr)
        if named is None:
            return limit
        limit = named.group(1)


def write(source, scratch, name, codec, path, outputs):
    """One output; fails where the path was not taken."""
    _, n, options, least = path
    output = os.path.join(scratch, f"{name}-{codec}")
    arguments = ["write", source, "-o", output, "-n", str(n), "--hash", "id", "--codec", codec, "--json",
                 "--checksum", CHECKSUMS[CODECS.index(codec)], *options]
    if least:
        arguments += ["--memory-limit", least_memory(arguments)]
    figures = json.loads(colshuf(*arguments))
    assert figures["rows"] == N_ROWS, figures
    assert (figures["spills"] > 0) == least, f"{figures['spills']} spills"
    summary = json.loads(colshuf("inspect", output + ".data", "--json"))
    has_dictionary = summary["raw_bytes_by_kind"]["dictionaries"] > 0
    if name in ("plain", "lengths"):
        assert not has_dictionary
    if name == "dictionary":
        assert has_dictionary or codec == "none", "no block has a dictionary"
    colshuf("verify", output + ".data")
    outputs.append(output + ".data")


def threads_change_nothing(source, scratch):
    output = os.path.join(scratch, "no-threads")
    colshuf("write", source, "-o", output, "-n", 5, "--hash", "id", "--codec", "zstd", "--checksum", "crc32c", *PATHS[-1][2][2:])
    with open(output + ".data", "rb") as alone, open(os.path.join(scratch, "threads-zstd.data"), "rb") as together:
        assert alone.read() == together.read()


def write_behind(source, scratch, outputs):
    """Runs that were spilled while later rows were routed; the same bytes as without."""
    for threads in (0, 2):
        output = os.path.join(scratch, f"behind-{threads}-lz4")
        figures = json.loads(colshuf("write", *[source] * TIMES, "-o", output, "-n", 5, "--hash", "id", "--codec", "lz4", "--checksum", "crc32", "--json",
                                     "--memory-limit", "16M", "--block-size", "32K", "--threads", threads))
        assert figures["spills"] > 1, f"{figures['spills']} spills"
        outputs.append(output + ".data")
    with open(outputs[0], "rb") as alone, open(outputs[1], "rb") as behind:
        assert alone.read() == behind.read()
    colshuf("verify", outputs[1])


def run_peer(program, outputs):
    peers = os.environ.get("COLSHUF_PEERS", "build/peers")
    if not os.path.exists(os.path.join(peers, ".ready")):
        raise Skip(f"no {program} in {peers} (run tests/interop/setup)")
    done = subprocess.run([os.path.join(HERE, "comet", program), *outputs], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    return done.stdout


def comet_reads_all(outputs, wanted):
    lines, name = {path: [] for path in outputs}, None
    for line in run_peer("decode", outputs).splitlines():
        if line.startswith('{"file"'):
            name = json.loads(line)["file"]
        else:
            lines[name].append(line)
    for path in outputs:
        assert sorted(lines[path]) == wanted, f"Comet sees other values in {os.path.basename(path)}"


def spark_reads_all(outputs):
    verdicts = [line.split("\t") for line in run_peer("spark-files", outputs).splitlines() if "\t" in line]
    assert len(verdicts) == len(outputs), f"{len(verdicts)} verdicts for {len(outputs)} files"
    for path, verdict in verdicts:
        codec = os.path.basename(path).rsplit("-", 1)[1].removesuffix(".data")
        checksum = CHECKSUMS[CODECS.index(codec)]
        assert verdict.startswith("ok "), f"{path}: {verdict}"
        assert verdict.endswith("checksum=" + (checksum if checksum == "none" else checksum.upper())), f"{path}: {verdict}"


def main():
    suite = Suite()
    table = make_table()
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "rows.arrow")
        with pa.ipc.new_file(source, table.schema) as file:
            file.write_table(table, max_chunksize=4096)
        outputs = []
        for path in PATHS:
            for codec in CODECS:
                suite.check(f"{path[0]} {codec} is written and verified", write, source, scratch, path[0], codec, path, outputs)
        suite.check("threads change nothing", threads_change_nothing, source, scratch)
        behind = []
        suite.check("rows spilled behind the caller are written and verified", write_behind, source, scratch, behind)
        suite.check("Comet reads what was spilled behind the caller", comet_reads_all, behind[1:], sorted(canon.rows(table) * TIMES))
        suite.check("Spark reads its index and checksums", spark_reads_all, behind[1:])
        suite.check(f"Comet reads all {len(outputs)}", comet_reads_all, outputs, sorted(canon.rows(table)))
        suite.check(f"Spark reads index and checksums of all {len(outputs)}", spark_reads_all, outputs)
    suite.finish()


if __name__ == "__main__":
    main()
