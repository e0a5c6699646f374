#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables for the sizes of the map writer's output, each as Arrow IPC file (for colshuf) and as Parquet (for Spark).

    make_write_tables.py FOLDER [ROWS]

strings, nested, sparse, sorted and random are made from fixed seeds; flights is the table flights-3m of the npm package vega-datasets, which is
fetched by `npm pack` (its first 5 ROWS rows; left out, with a line that says so, where there is no npm). The key to shuffle by is always the column k. Files that exist are kept.
"""
import glob
import os
import subprocess
import sys
import tarfile
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

VEGA_DATASETS = "vega-datasets@3.2.1"
BATCH_ROWS = 8192


def words(random, n, alphabet, least, most):
    """n strings of letters, lengths evenly in [least, most]."""
    sizes = random.integers(least, most + 1, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    data = np.frombuffer(alphabet, np.uint8)[random.integers(0, len(alphabet), offsets[-1])]
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(data))


def strings(random, n):
    vocabulary = words(random, 5000, b"etaoinshrdlu", 2, 9).to_pylist()
    skewed = np.minimum(random.zipf(1.3, (n, 6)) - 1, 4999)
    texts = [" ".join(vocabulary[i] for i in row) for row in skewed.tolist()]
    ids = random.integers(0, 1 << 48, n)
    return {
        "k": pa.array([f"user-{i:06d}" for i in random.integers(0, 200_000, n).tolist()]),
        "uuid": pa.array([f"{i:012x}" for i in ids.tolist()]),
        "text": pa.array(texts),
        "country": pa.array(np.array(["DE", "FR", "US", "JP", "BR", "IN", "CN", "GB"])[random.integers(0, 8, n)]),
        "url": pa.array([f"https://example.org/{vocabulary[i]}/{j}" for i, j in zip(skewed[:, 0].tolist(), random.integers(0, 10_000, n).tolist())]),
        "empty": pa.array([""] * n),
    }


def nested(random, n):
    sizes = random.integers(0, 6, n)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    total = int(sizes.sum())
    items = pa.StructArray.from_arrays([pa.array(random.integers(0, 1000, total)), pa.array(random.random(total)), words(random, total, b"abcdef", 1, 8)],
                                       names=["sku", "price", "tag"])
    names = pa.array(["colour", "size", "weight", "origin", "grade"])
    keys = names.take(pa.array(np.concatenate([np.arange(s) for s in sizes]) if total else []))
    return {
        "k": pa.array(random.integers(0, 1 << 40, n)),
        "items": pa.ListArray.from_arrays(offsets, items),
        "attributes": pa.MapArray.from_arrays(offsets, keys, words(random, total, b"xyz", 0, 5)),
        "place": pa.StructArray.from_arrays([pa.array(random.normal(50, 5, n)), pa.array(random.normal(8, 5, n)), words(random, n, b"AB", 1, 3)],
                                            names=["lat", "lon", "zone"]),
        "scores": pa.ListArray.from_arrays(offsets, pa.array(random.integers(0, 100, total).astype(np.int32))),
    }


def sparse(random, n):
    """Forty columns; 98 values in 100 are null."""
    columns = {"k": pa.array(random.integers(0, 1 << 40, n))}
    for i in range(40):
        missing = random.random(n) >= 0.02
        if i % 4 == 3:
            columns[f"c{i}"] = pa.array(np.where(missing, None, np.array(["on", "off", "unknown"], object)[random.integers(0, 3, n)]), pa.string())
        else:
            columns[f"c{i}"] = pa.array(random.integers(0, 1 << (8 * (1 + i % 4)), n), mask=missing)
    return columns


def sorted_rows(random, n):
    return {
        "k": pa.array(np.arange(n)),
        "time": pa.array(1_700_000_000_000_000 + np.cumsum(random.integers(0, 2000, n)), pa.timestamp("us", "UTC")),
        "sensor": pa.array(np.sort(random.integers(0, 500, n)).astype(np.int32)),
        "value": pa.array(np.round(np.cumsum(random.normal(0, 0.1, n)), 2)),
        "state": pa.array(np.array(["ok", "warn", "fail"])[np.sort(random.integers(0, 3, n))]),
    }


def random_rows(random, n):
    """Nothing to be had for a codec."""
    raw = random.integers(0, 256, 16 * n, dtype=np.uint8)
    offsets = np.arange(0, 16 * n + 1, 16, dtype=np.int32)
    return {
        "k": pa.array(random.integers(-(1 << 63), (1 << 63) - 1, n)),
        "a": pa.array(random.integers(-(1 << 63), (1 << 63) - 1, n)),
        "b": pa.array(random.random(n)),
        "c": pa.array(random.integers(-(1 << 31), 1 << 31, n).astype(np.int32)),
        "d": pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(raw)]),
    }


def flights(scratch, n):
    subprocess.run(["npm", "pack", "--silent", VEGA_DATASETS], cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    archive, = glob.glob(os.path.join(scratch, "*.tgz"))
    with tarfile.open(archive) as package:
        table = pq.read_table(pa.BufferReader(package.extractfile("package/data/flights-3m.parquet").read())).slice(0, n)
    columns = dict(zip(table.column_names, table.columns))
    text = pa.string()
    return pa.table({"k": columns["origin"].cast(text), "date": columns["date"], "delay": columns["delay"], "distance": columns["distance"],
                     "destination": columns["destination"].cast(text)})


def save(folder, name, table):
    with pa.ipc.new_file(os.path.join(folder, name + ".arrow.part"), table.schema) as file:
        file.write_table(table, max_chunksize=BATCH_ROWS)
    pq.write_table(table, os.path.join(folder, name + ".parquet"), row_group_size=1 << 30)
    os.rename(os.path.join(folder, name + ".arrow.part"), os.path.join(folder, name + ".arrow"))


def main():
    folder, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120_000
    os.makedirs(folder, exist_ok=True)
    made = (("strings", strings), ("nested", nested), ("sparse", sparse), ("sorted", sorted_rows), ("random", random_rows))
    for seed, (name, make) in enumerate(made):
        if not os.path.exists(os.path.join(folder, name + ".arrow")):
            save(folder, name, pa.table(make(np.random.default_rng(seed), n)))
    if os.path.exists(os.path.join(folder, "flights.arrow")):
        return
    try:
        with tempfile.TemporaryDirectory() as scratch:
            save(folder, "flights", flights(scratch, 5 * n))
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"make_write_tables: no flights, npm pack {VEGA_DATASETS} failed: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
