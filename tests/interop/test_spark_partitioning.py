# SPDX-License-Identifier: Apache-2.0
"""colshuf's partitioning and real PySpark's, row by row: hash, pmod, repartition, repartitionByRange, round robin.

spark_hash.py, spark_range.py and spark_round_robin.py ask Spark once; their files are kept in COLSHUF_SPARK_ANSWERS (default
$COLSHUF_PEERS/partitioning) and made there when they are missing. Every table is given to colshuf as it is, then sliced, and with its
strings as views, large strings and dictionaries: the answers must stay. Prints how many answers were compared.
"""
import glob
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa

import partition_ctypes as colshuf
from harness import Skip, Suite

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.environ.get("COLSHUF_PEERS") or os.path.join(HERE, "../../build/peers")
ANSWERS = os.environ.get("COLSHUF_SPARK_ANSWERS") or os.path.join(PEERS, "partitioning")
SCRIPTS = {"spark_hash.py": "hash-*.arrow", "spark_range.py": "range.arrow", "spark_round_robin.py": "round-robin-*.arrow"}
compared = 0


def answer_files(script):
    """The files that a script makes; Spark is asked when there are none."""
    pattern = os.path.join(ANSWERS, SCRIPTS[script])
    if not glob.glob(pattern):
        try:
            import pyspark  # noqa: F401 - only whether it is there
        except ImportError:
            raise Skip("no PySpark, and no answers of it in " + ANSWERS) from None
        subprocess.run([sys.executable, os.path.join(HERE, script), ANSWERS], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return sorted(glob.glob(pattern))


class Answers:
    """A file's data as one batch, and its cases. Year-month intervals, which pyarrow lacks, stand there as the int32 that they hash and order as."""

    def __init__(self, path):
        self.path = path
        with pa.memory_map(path) as source:
            table = pa.ipc.open_file(source).read_all().combine_chunks()
        self.cases = json.loads(table.schema.metadata[b"cases"])
        self.answers = {case["answer"]: np.asarray(table.column(case["answer"])) for case in self.cases}
        names = [name for name in table.column_names if name not in self.answers]
        columns = [table.column(name).chunk(0) for name in names]
        self.batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema([table.schema.field(name) for name in names]))

    def of(self, case):
        return self.answers[case["answer"]]


def batch_of(batch, names):
    return pa.RecordBatch.from_arrays([batch.column(name) for name in names], names=names)


def compare(what, ours, wanted):
    global compared
    compared += len(wanted)
    different = np.flatnonzero(ours != wanted)
    if len(different) > 0:
        row = different[0]
        raise AssertionError(f"{what}: {len(different)} of {len(wanted)} differ, the first is row {row}: {ours[row]}, not {wanted[row]}")


# ---- other forms of the same values ---------------------------------------------------------------------------------

def sliced(batch):
    """Every row again, behind rows that are cut off: offsets of 3 in every column."""
    head = batch.slice(0, 3)
    return pa.concat_batches([head, batch]).slice(head.num_rows)


def views(batch):
    return retyped(batch, {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()})


def large(batch):
    return retyped(batch, {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()})


def retyped(batch, types):
    return pa.RecordBatch.from_arrays([column.cast(types.get(column.type, column.type)) for column in batch.columns], names=batch.schema.names)


def dictionaries(batch):
    kinds = (pa.string(), pa.binary(), pa.int32(), pa.int64(), pa.float64())
    return pa.RecordBatch.from_arrays([column.dictionary_encode() if column.type in kinds else column for column in batch.columns],
                                      names=batch.schema.names)


FORMS = {"as it is": lambda batch: batch, "sliced": sliced, "views": views, "large": large, "dictionaries": dictionaries}


# ---- hash -----------------------------------------------------------------------------------------------------------

def sort_maps(batch, names):
    """Map columns with their entries in the order of their keys' bytes, as Spark partitions by them."""
    return pa.RecordBatch.from_arrays([sorted_map(batch.column(name)) if pa.types.is_map(batch.column(name).type) else batch.column(name)
                                       for name in names], names=names)


def sorted_map(column):
    rows = [None if row is None else sorted(row, key=lambda entry: entry[0].encode()) for row in column.to_pylist()]
    return pa.array(rows, column.type)


def rules_of(case):
    return colshuf.SPARK if case["kind"] == "hash_interpreted" else colshuf.SPARK_GENERATED


def our_hash_answer(batch, case):
    names = case["keys"]
    if case["kind"] in ("hash", "hash_interpreted"):
        return colshuf.murmur3(batch, names, rules=rules_of(case))
    if "note" in case:
        batch = sort_maps(batch, names)
    partitioner = colshuf.Partitioner(batch.schema, colshuf.HASH, case["n"], keys=colshuf.make_keys(batch.schema, names),
                                      rules=rules_of(case), allow_map_keys=1)
    ids = partitioner.ids(batch)
    partitioner.close()
    return ids


def hashes_are_sparks(path, form):
    answers = Answers(path)
    batch = FORMS[form](answers.batch)
    for case in answers.cases:
        compare(f"{case['kind']} of {case['keys']}", our_hash_answer(batch, case), answers.of(case))


def row_lists_hold_every_row(path):
    answers = Answers(path)
    for case in answers.cases:
        if case["kind"] != "repartition":
            continue
        ids = answers.of(case)
        offsets, rows = colshuf.partition_rows(ids, case["n"])
        wanted = np.argsort(ids, kind="stable")
        assert np.array_equal(rows, wanted), case
        assert np.array_equal(np.diff(offsets), np.bincount(ids, minlength=case["n"])), case


# ---- range ----------------------------------------------------------------------------------------------------------

def range_partitioner(batch, bounds, case):
    keys = colshuf.make_keys(batch.schema, case["keys"], case["descending"], case["nulls_first"])
    return colshuf.Partitioner(batch.schema, colshuf.RANGE, max(case["n"], bounds.num_rows + 1), keys=keys, bounds=bounds)


def ranges_are_sparks(path, form):
    answers = Answers(path)
    batch = FORMS[form](answers.batch)
    for case in answers.cases:
        with pa.memory_map(os.path.join(os.path.dirname(path), case["bounds"])) as source:
            bounds = pa.ipc.open_file(source).read_all().combine_chunks().to_batches()
        if not bounds:
            continue
        partitioner = range_partitioner(batch, FORMS[form](batch_of(bounds[0], case["keys"])), case)
        compare(f"range of {case['keys']}", partitioner.ids(batch), answers.of(case))
        partitioner.close()


# ---- bounds ---------------------------------------------------------------------------------------------------------

def module(jvm_package, name):
    """A Scala object."""
    return getattr(getattr(jvm_package, name + "$"), "MODULE$")


def sparks_bounds(context, values, n_slices, n_partitions, per_partition):
    """The bounds that Spark's own RangePartitioner draws from the values in slices, and the id of the RDD it numbers its seeds by."""
    jvm = context._jvm
    pairs = jvm.java.util.ArrayList()
    for value in values:
        pairs.add(jvm.scala.Tuple2(int(value), 0))
    rdd = context._jsc.parallelizePairs(pairs, n_slices).rdd()
    partitioner = jvm.org.apache.spark.RangePartitioner(n_partitions, rdd, True, per_partition, getattr(getattr(jvm.scala.math, "Ordering$Int$"), "MODULE$"),
                                                        module(jvm.scala.reflect, "ClassTag").Int())
    field = partitioner.getClass().getDeclaredField("rangeBounds")
    field.setAccessible(True)
    return list(field.get(partitioner)), rdd.id() + 1


def bounds_are_sampled_as_spark_samples():
    try:
        import pyspark  # noqa: F401 - only whether it is there
    except ImportError:
        raise Skip("no PySpark") from None
    import spark_common
    session = spark_common.open_session("bounds")
    numbers = np.random.default_rng(3)
    schema = pa.schema([("k", pa.int32())])
    for n_slices, n_partitions, per_partition, few in ((1, 10, 20, False), (4, 10, 20, False), (7, 50, 10, False), (5, 200, 100, False), (3, 40, 20, True)):
        values = numbers.integers(0, 30 if few else 1 << 30, 6000).astype(np.int32)
        bounds, rdd = sparks_bounds(session.sparkContext, values, n_slices, n_partitions, per_partition)
        cuts = [at * len(values) // n_slices for at in range(n_slices + 1)]
        inputs = [[pa.record_batch([pa.array(part)], schema=schema) for part in np.array_split(values[low:high], 3)]
                  for low, high in zip(cuts, cuts[1:])]
        ours = colshuf.sample_bounds(inputs, n_partitions, colshuf.make_keys(schema, ["k"]), seed=rdd, sample_size=n_partitions * per_partition)
        assert len(bounds) == ours.num_rows, (len(bounds), ours.num_rows)
        compare(f"bounds of {n_slices} inputs", np.asarray(ours.column(0)), np.array(bounds, np.int32))
    session.stop()


# ---- round robin ----------------------------------------------------------------------------------------------------

def round_robin_is_sparks(path, form):
    answers = Answers(path)
    tasks = np.asarray(answers.batch.column("=map"))
    for case in answers.cases:
        batch = FORMS[form](batch_of(answers.batch, case["keys"]))
        for task in np.unique(tasks):
            rows = np.flatnonzero(tasks == task)
            part = batch.slice(rows[0], len(rows))
            partitioner = colshuf.Partitioner(batch.schema, colshuf.ROUND_ROBIN, case["n"], task_id=int(task), sort_first=case["sorted"])
            compare(f"round robin of task {task}, n {case['n']}, sorted {case['sorted']}", partitioner.ids(part), answers.of(case)[rows])
            partitioner.close()


def main():
    suite = Suite()
    for script, check in (("spark_hash.py", hashes_are_sparks), ("spark_range.py", ranges_are_sparks),
                          ("spark_round_robin.py", round_robin_is_sparks)):
        try:
            files = answer_files(script)
        except Skip as reason:
            suite.check(check.__name__, lambda reason=reason: (_ for _ in ()).throw(reason))
            continue
        for path in files:
            for form in FORMS:
                suite.check(f"{check.__name__}: {os.path.basename(path)}, {form}", check, path, form)
            if check is hashes_are_sparks:
                suite.check(f"row_lists_hold_every_row: {os.path.basename(path)}", row_lists_hold_every_row, path)
    suite.check("bounds_are_sampled_as_spark_samples", bounds_are_sampled_as_spark_samples)
    print(f"{compared} answers of Spark compared")
    suite.finish()


if __name__ == "__main__":
    main()
