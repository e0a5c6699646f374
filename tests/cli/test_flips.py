#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1,000 random bits of outputs with checksums are flipped, one at a time: `colshuf verify` finds each, and names partition, block and the
bit itself. Then bits of a partition too large for Adler-32 to tell them apart, of the index and of the checksum file. Usage: test_flips.py BUILD
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
import harness  # noqa: E402

FLIPS = 100 if os.environ.get("COLSHUF_QUICK") else 1000
# Codec and checksum: partitions of some 10 KiB in several blocks each.
WAYS = [("lz4", "adler32"), ("zstd", "crc32"), ("snappy", "crc32c"), ("none", "adler32")]

class Output:
    """One shuffle output of many partitions, some of them of several blocks, and where its blocks are."""

    def __init__(self, folder, table, codec, checksum, n_partitions=8, block_rows=150):
        self.name = os.path.join(folder, f"{codec}-{n_partitions}")
        self.checksum = f"{self.name}.checksum.{checksum.upper()}"
        harness.colshuf("write", table, "-o", self.name, "-n", n_partitions, "--hash", "k", "--codec", codec, "--checksum", checksum,
                        "--block-rows", block_rows)
        self.data = self.name + ".data"
        blocks = json.loads(harness.colshuf("inspect", self.data, "--blocks", "--json"))["block_list"]
        self.blocks = [(b["offset"], b["offset"] + b["bytes"], b["partition"], b["block"]) for b in blocks]
        self.size = os.path.getsize(self.data)
        assert self.blocks[-1][1] == self.size and len(self.blocks) > 2 * n_partitions, self.blocks

    def block_at(self, offset):
        return next(b for b in self.blocks if b[0] <= offset < b[1])

    def faults(self):
        """What verify says now."""
        done = subprocess.run([harness.COLSHUF, "verify", self.data, "--json"], capture_output=True, check=False)
        said = json.loads(done.stdout)["files"][0]
        assert done.returncode == (0 if said["ok"] else 1), (done.returncode, said)
        return said["faults"]


class Flipped:
    """A file with one bit changed, as long as the block lasts."""

    def __init__(self, path, bit):
        self.path, self.place, self.mask = path, bit // 8, 1 << bit % 8

    def _turn(self):
        with open(self.path, "r+b") as file:
            file.seek(self.place)
            byte = file.read(1)[0]
            file.seek(self.place)
            file.write(bytes([byte ^ self.mask]))

    def __enter__(self):
        self._turn()

    def __exit__(self, *_):
        self._turn()


def check_data(output, chance, n, least_named):
    """n bits of the data file; so many at least must be told with their block and their place."""
    named = 0
    for _ in range(n):
        bit = chance.randrange(8 * output.size)
        start, _, partition, block = output.block_at(bit // 8)
        with Flipped(output.data, bit):
            faults = output.faults()
        place = f"bit {bit} of {output.data}, partition {partition}, block {block}: {faults}"
        assert faults, "not found: " + place
        assert {fault.get("partition") for fault in faults} == {partition}, "another partition: " + place
        assert all(fault["diagnosis"] for fault in faults), "no diagnosis: " + place
        first = faults[0]
        if "block" in first:
            named += 1
            assert first["block"] == block and first["offset"] == start, "another block: " + place
            exact = f"one flipped bit explains it: bit {bit % 8} of "
            assert exact in first["problem"] or "flipped" not in first["problem"], "another bit: " + place
            if least_named == n:
                assert exact + f"byte {bit // 8} of the file" in first["problem"], "another byte: " + place
    assert not output.faults(), "turned back, it is well again"
    print(f"     {os.path.basename(output.data)}: {n} flips found, {named} with their block")
    assert named >= least_named, f"only {named} of {n} with their block"


def check_beside(output, path, chance):
    """Index and checksum file: every flip is found; one in a checksum is one of its partition."""
    n = os.path.getsize(path) * 8
    for bit in chance.sample(range(n), min(n, FLIPS // 10)):
        with Flipped(path, bit):
            faults = output.faults()
        assert faults, f"not found: bit {bit} of {path}"
        if path == output.checksum:
            assert {fault.get("partition") for fault in faults} <= {bit // 64, None}, f"bit {bit} of {path}: {faults}"
            told = all("the checksum file changed, not the data" in fault["diagnosis"] for fault in faults if "partition" in fault)
            assert told, f"bit {bit} of {path}: {faults}"


def make_table(build, folder, rows):
    table = os.path.join(folder, f"table-{rows}.arrows")
    with open(table, "wb") as out:
        subprocess.run([os.path.join(build, "tests", "make_table"), "plain", str(rows)], check=True, stdout=out)
    return table


def main():
    build = os.path.abspath(sys.argv[1])
    harness.COLSHUF = os.path.join(build, "colshuf")
    suite = harness.Suite()
    chance = random.Random(20)
    with tempfile.TemporaryDirectory(prefix="colshuf-flips-") as folder:
        table, n = make_table(build, folder, 4000), FLIPS // len(WAYS)
        for codec, checksum in WAYS:
            output = Output(folder, table, codec, checksum)
            suite.check(f"{n} bits of {codec} data under {checksum}", check_data, output, chance, n, n)
            suite.check(f"bits of the index, {codec}", check_beside, output, output.name + ".index", chance)
            suite.check(f"bits of the {checksum} file", check_beside, output, output.checksum, chance)
        large = Output(folder, make_table(build, folder, 10000), "none", "adler32", 1, 3000)
        suite.check("bits of a partition of several times 64 KiB", check_data, large, chance, FLIPS // 10, 1)
    suite.finish()


if __name__ == "__main__":
    main()
