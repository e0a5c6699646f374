# SPDX-License-Identifier: Apache-2.0
"""Makes the tables that the block benchmarks run on: Arrow IPC files, one batch for each block.

Usage: make_tables.py FOLDER [quick]. Names: COLUMNSxROWS (int64 and utf8 in turn, no nulls), and shapes of their own. Needs pyarrow and numpy.
"""
import os
import sys

import numpy as np
import pyarrow as pa

RANDOM = np.random.default_rng(7)
BYTES_OF_ALL_BATCHES = 48 << 20
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]


def integers(n):
    return pa.array(RANDOM.integers(0, 1_000_000, n), pa.int64())


def texts(n):
    first = RANDOM.integers(0, len(WORDS), n)
    second = RANDOM.integers(0, 100_000, n)
    return pa.array([f"{WORDS[a]}-{b}" for a, b in zip(first, second)], pa.string())


def flat(columns, rows):
    return [integers(rows) if i % 2 == 0 else texts(rows) for i in range(columns)]


def flat_int32(columns, rows):
    return [pa.array(RANDOM.integers(0, 1_000_000, rows), pa.int32()) for _ in range(columns)]


def nested(rows):
    """Four columns, six levels deep: struct in list in struct in list in struct in list of int32."""
    def level(depth, n):
        if depth == 0:
            return pa.array(RANDOM.integers(0, 1000, n), pa.int32())
        if depth % 2 == 0:
            return pa.StructArray.from_arrays([level(depth - 1, n)], names=[f"f{depth}"])
        sizes = RANDOM.integers(0, 3, n)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), level(depth - 1, int(offsets[-1])))
    return [level(6, rows) for _ in range(4)]


def dictionaries(rows):
    return [pa.DictionaryArray.from_arrays(pa.array(RANDOM.integers(0, len(WORDS), rows), pa.int32()), pa.array(WORDS)) for _ in range(5)]


def lineitem_shaped(rows):
    cents = [pa.array(RANDOM.integers(0, 10_000_000, rows), pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(22, 2))
             .cast(pa.decimal128(15, 2), safe=False) for _ in range(4)]
    dates = [pa.array(RANDOM.integers(8000, 10000, rows), pa.int32()).cast(pa.date32()) for _ in range(3)]
    flags = [pa.array([WORDS[i][0] for i in RANDOM.integers(0, 3, rows)]) for _ in range(2)]
    return [integers(rows), integers(rows), integers(rows), pa.array(RANDOM.integers(1, 8, rows), pa.int32()), *cents, *flags, *dates,
            texts(rows), texts(rows), texts(rows)]


def write(folder, name, make):
    path = os.path.join(folder, name + ".arrow")
    if os.path.exists(path):
        return
    batches = [batch_of(make())]
    n = max(1, min(16, BYTES_OF_ALL_BATCHES // max(1, batches[0].nbytes)))
    batches += [batch_of(make()) for _ in range(n - 1)]
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as out:
        for batch in batches:
            out.write_batch(batch)


def batch_of(arrays):
    return pa.RecordBatch.from_arrays(arrays, names=[f"column_{i}" for i in range(len(arrays))])


def main(folder, which):
    os.makedirs(folder, exist_ok=True)
    shapes = {"": ((5, 20, 50, 200), (64, 512, 8192)), "quick": ((5, 50), (64, 512)), "read": ((20, 50), (64, 512))}
    columns_of, rows_of = shapes[which]
    for columns in columns_of:
        for rows in rows_of:
            write(folder, f"{columns}x{rows}", lambda: flat(columns, rows))
    for rows in {"": (64, 8192), "quick": (64,), "read": ()}[which]:
        write(folder, f"int32-50x{rows}", lambda: flat_int32(50, rows))
        write(folder, f"nested-4x{rows}", lambda: nested(rows))
        write(folder, f"dictionary-5x{rows}", lambda: dictionaries(rows))
        write(folder, f"lineitem-16x{rows}", lambda: lineitem_shaped(rows))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-") or sys.argv[2:] not in ([], ["quick"], ["read"]):
        sys.exit("usage: make_tables.py FOLDER [quick|read]")
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "")
