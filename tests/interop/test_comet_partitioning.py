# SPDX-License-Identifier: Apache-2.0
"""colshuf's partition ids and those of the real Comet, id by id: every case of the reference data, native and row-based writer.

The input rows are partitioned through colshuf/partition.h, by Comet's rules for its native writer and by Spark's for the row-based one; the
ids of each partition, in input order, must be those that Spark read back. Bounds of ranges are those that Comet's partitions show:
a native partition begins with its bound, one of Spark's ends with it.
"""
import glob
import json
import os
import re

import numpy as np
import pyarrow as pa

import partition_ctypes as colshuf
from harness import DATA, Suite, data

INPUT_OF_CASE = {"many2": "many", "many200": "many", "longs2": "longs", "empty_parts": "alltypes"}
# Tables that the cases were run on where not all rows or columns took part.
COLUMNS_OF_CASE = {"rr4": ["id", "k", "s"]}
compared = 0


def input_of(case):
    path = data(f"comet/{INPUT_OF_CASE.get(case, 'alltypes')}.arrow")
    with pa.memory_map(path) as source:
        table = pa.ipc.open_file(source).read_all().combine_chunks()
    if case in COLUMNS_OF_CASE:
        table = table.select(COLUMNS_OF_CASE[case])
    return table.to_batches()[0]


def bounds_of(batch, key, ids_by_partition, is_native):
    """One row for each partition but one, in the order of the partitions."""
    values = dict(zip(batch.column("id").to_pylist(), batch.column(key).to_pylist()))
    order = lambda value: (value is not None, value if value is not None else 0)
    parts = [sorted((values[i] for i in ids_by_partition[str(p)]), key=order) for p in range(len(ids_by_partition))]
    bounds = [part[0] for part in parts[1:]] if is_native else [part[-1] for part in parts[:-1]]
    return pa.record_batch([pa.array(bounds, batch.schema.field(key).type)], names=[key])


def partitioner_for(case, batch, exchange, ids_by_partition):
    is_native = "CometNativeShuffle" in exchange
    rules = colshuf.COMET if is_native else colshuf.SPARK
    name, inside = re.search(r"(\w+?)(?:\((.*)\))?, REPARTITION_BY_NUM", exchange.split(" ", 1)[1]).groups()
    if name == "hashpartitioning":
        *keys, n = inside.split(", ")
        return colshuf.Partitioner(batch.schema, colshuf.HASH, int(n), keys=colshuf.make_keys(batch.schema, keys), rules=rules)
    if name == "rangepartitioning":
        (key, direction, nulls), n = inside.split(", ")[0].split(" ", 2), int(inside.split(", ")[1])
        keys = colshuf.make_keys(batch.schema, [key], [direction == "DESC"], [nulls == "NULLS FIRST"])
        return colshuf.Partitioner(batch.schema, colshuf.RANGE, n, keys=keys, rules=rules,
                                   bounds=bounds_of(batch, key, ids_by_partition, is_native))
    if name == "RoundRobinPartitioning":
        return colshuf.Partitioner(batch.schema, colshuf.ROUND_ROBIN, int(inside), rules=colshuf.COMET)
    if name == "SinglePartition":
        return colshuf.Partitioner(batch.schema, colshuf.SINGLE, 1)
    raise AssertionError(f"case {case}: what is {exchange}?")


def ids_are_comets(path):
    global compared
    case = os.path.basename(os.path.dirname(path))
    with open(path) as file:
        expected = json.load(file)
    wanted = expected["ids_by_partition"]
    batch = input_of(case)
    ids_of_rows = np.asarray(batch.column("id"))
    took_part = np.isin(ids_of_rows, np.concatenate([np.array(ids, np.int64) for ids in wanted.values()]))
    partitioner = partitioner_for(case, batch, expected["exchange"], wanted)
    partitions = partitioner.ids(batch)
    partitioner.close()
    for partition in np.unique(partitions[took_part]):
        ours = ids_of_rows[took_part & (partitions == partition)].tolist()
        assert ours == wanted.get(str(partition)), f"partition {partition}"
    assert sum(len(ids) for ids in wanted.values()) == np.count_nonzero(took_part)
    compared += int(np.count_nonzero(took_part))


def main():
    suite = Suite()
    paths = sorted(glob.glob(os.path.join(DATA, "comet", "*", "*", "expected.json")))
    if not paths:
        suite.check("ids_are_comets", lambda: data("comet"))
    for path in paths:
        suite.check("ids_are_comets: " + "/".join(path.split(os.sep)[-3:-1]), ids_are_comets, path)
    print(f"{compared} partition ids of Comet compared")
    suite.finish()


if __name__ == "__main__":
    main()
