#!/usr/bin/env python3
"""
Asks Spark for the partition ids of repartitionByRange and for the bounds that it drew.

    spark_range.py FOLDER [--rows N] [--seed N]      with the python of the environment that tests/interop/setup made

Writes FOLDER/range.arrow and FOLDER/range.bounds-K.arrow; format: spark_common.py. Cases: each type ascending and descending
with nulls first and last, several keys, keys of few values (ties, equal to bounds), 2 to 300 partitions.
The bounds: Spark samples them from the rows and a key that equals a bound goes down, so the greatest key of each partition
but the last, in Spark's own order (dense_rank), is its bound. That every id is the number of bounds strictly below the key
is checked here against those ranks. A last bound above which no key lies can't be seen and changes nothing.
Ends with the number of answers.
"""
import random
import sys
import time

import numpy as np
import pyarrow as pa

import spark_common as common

COUNTS = [2, 5, 10, 40, 150, 300]
FEW = {"few_i": ([-1, 0, 1, 7, 8], pa.int32()), "few_s": (["", "a", "ab", "b", "ä", "日", "😀"], pa.string())}


def columns_of(options):
    maker = common.Maker(options.seed, options.rows)
    columns = {**common.flat_columns(maker), **common.special_columns(maker)}
    del columns["null"], columns["ci"]          # no order on intervals of mixed units; nothing to range over in nulls
    nested = common.nested_columns(maker)
    columns.update({name: nested[name] for name in ("st", "st2", "ar_i", "ar_s", "ar_f")})
    for name, (choices, kind) in FEW.items():
        columns[name] = maker.few(choices, kind)
    return columns


def make_cases(names, numbers):
    """(keys, descending, nulls_first, n) of every case."""
    cases = []
    for at, name in enumerate(names):
        for descending in (False, True):
            cases.append(([name], [descending], [(at + descending) % 2 == 0], numbers.choice(COUNTS)))
    for _ in range(16):
        keys = numbers.sample(names, numbers.randint(2, 5))
        keys[0] = numbers.choice([*FEW, "bool", keys[0]])
        if len(set(keys)) == len(keys):
            flags = [[numbers.random() < 0.5 for _ in keys] for _ in range(2)]
            cases.append((keys, *flags, numbers.choice(COUNTS)))
    return cases


def orders_of(keys, descending, nulls_first):
    from pyspark.sql import functions
    return [getattr(functions.col(key), ("desc" if down else "asc") + ("_nulls_first" if first else "_nulls_last"))()
            for key, down, first in zip(keys, descending, nulls_first)]


def ask_ids(frame, keys, orders, n, n_rows):
    routed = frame.select("row", *keys).repartitionByRange(n, *orders).selectExpr("row", "spark_partition_id() AS id")
    return common.collect_by_row(routed, n_rows)[0]


def ask_ranks(frame, orders, n_rows):
    from pyspark.sql import Window, functions
    ranked = frame.select("row", functions.dense_rank().over(Window.orderBy(*orders)).alias("rank"))
    return np.asarray(common.collect_by_row(ranked, n_rows)[0])


def bound_rows(ids, ranks, keys):
    """The row numbers that hold the bounds; ends the program if an id is not what they say."""
    ids = np.asarray(ids)
    order = np.lexsort((ranks, ids))
    last_of_id = order[np.flatnonzero(np.append(np.diff(ids[order]), 1))]
    if len(last_of_id) != ids.max() + 1:
        sys.exit("spark_range: a partition in the middle is empty, keys %s" % keys)
    rows = last_of_id[:-1]
    if not np.array_equal(np.searchsorted(ranks[rows], ranks, side="left"), ids):
        sys.exit("spark_range: ids are not the number of lesser bounds, keys %s" % keys)
    return rows


def main():
    start = time.monotonic()
    options = common.arguments(__doc__, rows=10000)
    session = common.open_session("spark_range")
    table = pa.table(columns_of(options))
    frame = common.to_spark(session, table)
    answers = common.AnswerFile(table)
    numbers = random.Random(options.seed)
    for keys, descending, nulls_first, n in make_cases(table.column_names, numbers):
        orders = orders_of(keys, descending, nulls_first)
        ids = ask_ids(frame, keys, orders, n, options.rows)
        rows = bound_rows(ids, ask_ranks(frame, orders, options.rows), keys)
        bounds = "range.bounds-%d.arrow" % answers.next_index()
        common.write_file("%s/%s" % (options.folder, bounds), table.select(keys).take(pa.array(rows)).combine_chunks())
        answers.add(ids, kind="range", keys=keys, descending=descending, nulls_first=nulls_first, n=n, bounds=bounds)
    answers.write(options.folder + "/range.arrow")
    session.stop()
    print("spark_range: %d answers in %.0f s" % (options.rows * len(answers.cases), time.monotonic() - start))


if __name__ == "__main__":
    main()
