#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1,000 random bits of outputs with checksums are flipped, one at a time: `colshuf verify` finds each, in the right partition and, where it names
a block, in the right one. Then bits of the index and of the checksum file. Usage: test_flips.py BUILD
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
WAYS = [("lz4", "adler32"), ("zstd", "crc32"), ("snappy", "crc32c"), ("none", "adler32")]

# How many flips of a hundred have their block named at least. Where a bit makes another value and nothing else, only the checksum tells,
# and that is one for all blocks of the partition.
LEAST_NAMED = {"lz4": 20, "zstd": 35, "snappy": 80, "none": 15}


class Output:
    """One shuffle output of many partitions, some of them of several blocks, and where its blocks are."""

    def __init__(self, folder, table, codec, checksum):
        self.name = os.path.join(folder, codec)
        self.checksum = f"{self.name}.checksum.{checksum.upper()}"
        harness.colshuf("write", table, "-o", self.name, "-n", "8", "--hash", "k", "--codec", codec, "--checksum", checksum, "--block-rows", "150")
        self.data = self.name + ".data"
        blocks = json.loads(harness.colshuf("inspect", self.data, "--blocks", "--json"))["block_list"]
        self.blocks = [(b["offset"], b["offset"] + b["bytes"], b["partition"], b["block"]) for b in blocks]
        self.size = os.path.getsize(self.data)
        assert self.blocks[-1][1] == self.size and len(self.blocks) > 16, self.blocks

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


def check_data(output, chance, n):
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
    assert not output.faults(), "turned back, it is well again"
    print(f"     {os.path.basename(output.data)}: {n} flips found, {named} with their block")
    # A few flips say little of how many of a hundred.
    least = n * LEAST_NAMED[os.path.basename(output.name)] // 100 if n > 200 else 1
    assert named >= least, f"only {named} of {n} with their block"


def check_beside(output, path, chance):
    """Index and checksum file: every flip is found; one in a checksum is one of its partition."""
    n = os.path.getsize(path) * 8
    for bit in chance.sample(range(n), min(n, FLIPS // 10)):
        with Flipped(path, bit):
            faults = output.faults()
        assert faults, f"not found: bit {bit} of {path}"
        if path == output.checksum:
            assert {fault.get("partition") for fault in faults} <= {bit // 64, None}, f"bit {bit} of {path}: {faults}"


def main():
    build = os.path.abspath(sys.argv[1])
    harness.COLSHUF = os.path.join(build, "colshuf")
    suite = harness.Suite()
    chance = random.Random(20)
    with tempfile.TemporaryDirectory(prefix="colshuf-flips-") as folder:
        table = os.path.join(folder, "table.arrows")
        with open(table, "wb") as out:
            subprocess.run([os.path.join(build, "tests", "make_table"), "plain", "4000"], check=True, stdout=out)
        for codec, checksum in WAYS:
            output = Output(folder, table, codec, checksum)
            suite.check(f"{FLIPS // len(WAYS)} bits of {codec} data under {checksum}", check_data, output, chance, FLIPS // len(WAYS))
            suite.check(f"bits of the index, {codec}", check_beside, output, output.name + ".index", chance)
            suite.check(f"bits of the {checksum} file", check_beside, output, output.checksum, chance)
    suite.finish()


if __name__ == "__main__":
    main()
