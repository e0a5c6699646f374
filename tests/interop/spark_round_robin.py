#!/usr/bin/env python3
"""
Asks Spark for the partition ids of repartition(n), round robin, with and without the sort before it.

    spark_round_robin.py FOLDER [--rows N] [--seed N]    with the python of the environment that tests/interop/setup made

Writes FOLDER/round-robin-NAME.arrow; format: spark_common.py. Beyond that:
- The column "=map" (int32) is the number of the map task that sent the row; the rows of a task stand together, in the order
  in which the task met them.
- A case's "keys" are all columns of the row as Spark shuffled it, in order: with "sorted": true the order of the rows
  depends on the bytes of the whole row.
- Calendar intervals are never null here: Spark leaves what the row before had in the 16 bytes of a null one, and sorts by them.
Ids without the sort are checked here against the definition (start from the task's number, then in turn); with it, that the
ids of each task are a full cycle.
Ends with the number of answers.
"""
import sys
import time

import numpy as np
import pyarrow as pa

import spark_common as common

N_MAPS = 6
COUNTS = [2, 3, 8, 10, 64]
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


# ---- the definition, for the check --------------------------------------------------------------------------------

def rotate(value, count):
    return ((value << count) | (value >> (32 - count))) & MASK32


def murmur3_of_8_bytes(data, seed):
    h = seed
    for at in (0, 4):
        k = int.from_bytes(data[at:at + 4], "little") * 0xCC9E2D51 & MASK32
        h = (rotate(h ^ (rotate(k, 15) * 0x1B873593 & MASK32), 13) * 5 + 0xE6546B64) & MASK32
    h ^= 8
    h = (h ^ (h >> 16)) * 0x85EBCA6B & MASK32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & MASK32
    return h ^ (h >> 16)


class XorShift:
    def __init__(self, seed):
        data = seed.to_bytes(8, "big")
        low = murmur3_of_8_bytes(data, 0x3C074A61)
        self.state = (murmur3_of_8_bytes(data, low) << 32) | low

    def next31(self):
        s = self.state
        s ^= s << 21 & MASK64
        s ^= s >> 35
        s ^= s << 4 & MASK64
        self.state = s
        return s & 0x7FFFFFFF

    def below(self, n):
        draw = self.next31()
        if n & (n - 1) == 0:
            return n * draw >> 31
        while draw - draw % n + n - 1 > common.INT_MAX:
            draw = self.next31()
        return draw % n


def in_turn(maps, n):
    ids = np.empty(len(maps), np.int32)
    for task in np.unique(maps):
        rows = np.flatnonzero(maps == task)
        ids[rows] = (XorShift(int(task)).below(n) + 1 + np.arange(len(rows))) % n
    return ids


def check(ids, maps, n, is_sorted):
    right = in_turn(maps, n)
    if is_sorted:
        for task in np.unique(maps):
            if not np.array_equal(np.sort(ids[maps == task]), np.sort(right[maps == task])):
                sys.exit("spark_round_robin: task %d, n %d: ids are no full cycle" % (task, n))
    elif not np.array_equal(ids, right):
        sys.exit("spark_round_robin: n %d: ids are not in turn" % n)


# ---- asking -------------------------------------------------------------------------------------------------------

def ask_maps(frame, n_rows):
    """Task of each row; the frame's tasks hold runs of rows in order, which is checked."""
    placed = frame.selectExpr("row", "spark_partition_id() AS map", "CAST(monotonically_increasing_id() & 8589934591 AS int) AS at")
    maps, places = (np.asarray(values) for values in common.collect_by_row(placed, n_rows))
    for task in range(N_MAPS):
        if not np.array_equal(places[maps == task], np.arange(np.count_nonzero(maps == task))):
            sys.exit("spark_round_robin: the rows of task %d are out of order" % task)
    return maps


def ask_ids(session, frame, n, is_sorted, n_rows):
    session.conf.set("spark.sql.execution.sortBeforeRepartition", "true" if is_sorted else "false")
    everything = ", ".join("`%s`" % name for name in frame.columns)
    # All columns are used above the shuffle, so that none is dropped below it.
    routed = frame.repartition(n).selectExpr("row", "spark_partition_id() AS id", "hash(%s) AS h" % everything)
    return common.collect_by_row(routed, n_rows)[0]


def make_file(session, options, name, columns, start):
    table = pa.table(columns)
    frame = common.to_spark(session, table)
    maps = ask_maps(frame, options.rows)
    with_row = table.add_column(0, "row", pa.array(range(options.rows), pa.int32()))
    answers = common.AnswerFile(with_row.append_column("=map", pa.array(maps, pa.int32())))
    for n in COUNTS:
        for is_sorted in (False, True):
            ids = ask_ids(session, frame, n, is_sorted, options.rows)
            check(np.asarray(ids), maps, n, is_sorted)
            answers.add(ids, kind="round_robin", keys=frame.columns, n=n, sorted=is_sorted)
    answers.write("%s/round-robin-%s.arrow" % (options.folder, name))
    common.say("round-robin-%s: %d rows" % (name, options.rows), start)
    return options.rows * len(answers.cases)


def main():
    start = time.monotonic()
    options = common.arguments(__doc__, rows=12000)
    session = common.open_session("spark_round_robin", parallelism=N_MAPS)
    makers = [common.Maker(options.seed + at, options.rows) for at in range(3)]
    flat = common.flat_columns(makers[0])
    special = common.special_columns(makers[1])
    special["ci"] = common.calendar_intervals(common.Maker(options.seed, options.rows, null_share=0))
    nested = common.nested_columns(makers[2])
    total = 0
    for name, columns in [("plain", {key: flat[key] for key in ("i64", "f64", "s")}), ("flat", flat), ("special", special),
                          ("nested", {**nested, **common.map_columns(makers[2])})]:
        total += make_file(session, options, name, columns, start)
    session.stop()
    print("spark_round_robin: %d answers in %.0f s" % (total, time.monotonic() - start))


if __name__ == "__main__":
    main()
