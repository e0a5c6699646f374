# SPDX-License-Identifier: Apache-2.0
"""pyarrow reads what colshuf writes and the reverse: random batches of every type, as streams, files and shuffle blocks.

Usage: python test_pyarrow.py [CASES]. Needs pyarrow; the command is $BUILD/colshuf.
"""
import os
import struct
import sys
import tempfile

import pyarrow as pa
import pyarrow.ipc

from harness import Suite, colshuf
from random_arrow import Generator, rows

CASES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
CODECS = ["lz4", "zstd", "zstd:5", "snappy", "none"]


def batches_of(seed):
    """A schema of up to 4 random types, and some batches of it: empty ones, slices at odd offsets."""
    for attempt in range(100):
        generator = Generator(seed * 1000 + attempt)
        types = [generator.type() for _ in range(generator.random.randrange(1, 5))]
        try:
            whole = [generator.batch(types, n) for n in (0, 37, 1, 200)]
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            continue  # a combination that pyarrow cannot build
        return [whole[0], whole[1].slice(3, 21), whole[2], whole[3].slice(9), whole[3].slice(100, 0)]
    raise AssertionError("no buildable schema")


def write_arrow(path, batches, file_format):
    make = pa.ipc.new_file if file_format else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(unify_dictionaries=file_format)
    with pa.OSFile(path, "wb") as sink, make(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def read_arrow(path):
    with pa.OSFile(path) as source:
        data = source.read()
    reader = pa.ipc.open_file(data) if data[:6] == b"ARROW1" else pa.ipc.open_stream(data)
    table = reader.read_all()
    table.validate(full=True)
    return table


def expect_equal(found, batches):
    """The same values in the same order."""
    left = [row for batch in batches for row in columns_of(batch)]
    right = [row for batch in found.to_batches() for row in columns_of(batch)]
    if left != right:
        first = next((f"{x!r} against {y!r}" for x, y in zip(left, right) if x != y), "one has more")
        raise AssertionError(f"{len(left)} rows against {len(right)}: {first}")


def expect_types(found, batches):
    assert found.schema.types == batches[0].schema.types, f"{found.schema.types} against {batches[0].schema.types}"


def columns_of(batch):
    return list(zip(*(rows(column) for column in batch.columns)))


def converts(directory, batches, from_file, to_file):
    source = os.path.join(directory, "in.arrow")
    target = os.path.join(directory, "out.arrow")
    write_arrow(source, batches, from_file)
    colshuf("convert", source, "-o", target, "--format", "file" if to_file else "stream")
    found = read_arrow(target)
    expect_types(found, batches)
    expect_equal(found, batches)


def shuffles(directory, batches, codec):
    source = os.path.join(directory, "in.arrows")
    output = os.path.join(directory, "shuffled")
    target = os.path.join(directory, "back.arrows")
    write_arrow(source, batches, False)
    colshuf("write", source, "-o", output, "-n", 1, "--single", "--codec", codec, "--compat", "arrow")
    colshuf("verify", output + ".data")
    colshuf("read", output + ".data", "-o", target)
    expect_equal(read_arrow(target), batches)


def block_bodies_are_streams(directory, batches):
    """The body of a block without compression is a stream that pyarrow reads."""
    source = os.path.join(directory, "in.arrows")
    output = os.path.join(directory, "plain")
    write_arrow(source, batches, False)
    colshuf("write", source, "-o", output, "-n", 1, "--single", "--codec", "none", "--compat", "arrow", "--block-rows", 16)
    with open(output + ".data", "rb") as file:
        data = file.read()
    tables, at = [], 0
    while at < len(data):
        length, columns, tag = struct.unpack_from("<QQ4s", data, at)
        assert tag == b"NONE" and columns == batches[0].num_columns, (tag, columns)
        tables.append(pa.ipc.open_stream(data[at + 20:at + 8 + length]).read_all())
        tables[-1].validate(full=True)
        at += 8 + length
    found = [row for table in tables for batch in table.to_batches() for row in columns_of(batch)]
    wanted = [row for batch in batches for row in columns_of(batch)]
    assert found == wanted, "the values differ"


def main():
    suite = Suite()
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(CASES):
            batches = batches_of(seed)
            name = f"{seed}: {', '.join(map(str, batches[0].schema.types))[:100]}"
            suite.check(f"convert {name}", converts, directory, batches, False, False)
            if "dictionary" not in str(batches[0].schema):
                suite.check(f"convert files {name}", converts, directory, batches, True, True)
            suite.check(f"shuffle {name}", shuffles, directory, batches, CODECS[seed % len(CODECS)])
            suite.check(f"block bodies {name}", block_bodies_are_streams, directory, batches)
    suite.finish()


if __name__ == "__main__":
    main()
