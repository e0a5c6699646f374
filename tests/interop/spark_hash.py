#!/usr/bin/env python3
"""
Asks Spark for hash(...), pmod and the partition ids of repartition(n, columns) over random tables of every type.

    spark_hash.py FOLDER [--rows N] [--seed N]       with the python of the environment that tests/interop/setup made

Writes FOLDER/hash-flat.arrow, hash-special.arrow, hash-nested.arrow, hash-map.arrow; format: spark_common.py.
Per file: each column alone, then random sets of two to five. Of each case hash, pmod for two counts and, for most, the ids
of a real repartition, which is checked here to be pmod(hash, n). Two things to know, both checked here too:
- Before Spark 4 partitions by a map it sorts the map's entries by key; hash(map) takes them as stored. Such cases have a
  "note", and their ids are those of the sorted map. Its generated code for that turns null values of a primitive type
  into 0 (Spark 4.1.3), so map m_n, which has such, is hashed but not partitioned by.
- The hash of a calendar interval: Spark's generated code, which does the partitioning, takes microseconds and months;
  its interpreter takes microseconds, days and months. Kind "hash_interpreted" holds the latter, for every set of special.
Ends with the number of answers.
"""
import random
import sys
import time

import pyarrow as pa

import spark_common as common

COUNTS = [1, 2, 3, 7, 8, 16, 31, 200, 1000, 1 << 20, common.INT_MAX]
SMALL_COUNTS = [2, 3, 7, 8, 16, 31]


def key_sets(names, n_random, numbers):
    sets = [[name] for name in names]
    while len(sets) < len(names) + n_random:
        keys = numbers.sample(names, min(numbers.randint(2, 5), len(names)))
        if keys not in sets:
            sets.append(keys)
    return sets


def quoted(keys):
    return ", ".join("`%s`" % key for key in keys)


def ask_hashes(frame, sets, n_rows):
    """hash(...) of all sets, a few sets a job: one wide projection would leave Spark's code generator."""
    hashes = []
    for at in range(0, len(sets), 8):
        columns = ["hash(%s) AS h%d" % (quoted(keys), k) for k, keys in enumerate(sets[at:at + 8])]
        hashes += common.collect_by_row(frame.selectExpr("row", *columns), n_rows)
    return hashes


def ask_pmod(hashes, n):
    """The definition, by numpy's floored remainder; Spark's own pmod is asked in ask_pmods_of_spark."""
    import numpy as np
    return pa.array(np.mod(np.asarray(hashes).astype(np.int64), n).astype(np.int32))


def ask_pmods_of_spark(frame, sets, counts, n_rows):
    pmods = []
    for at in range(0, len(sets), 8):
        columns = ["pmod(hash(%s), %d) AS p%d" % (quoted(keys), n, k)
                   for k, (keys, n) in enumerate(zip(sets[at:at + 8], counts[at:at + 8]))]
        pmods += common.collect_by_row(frame.selectExpr("row", *columns), n_rows)
    return pmods


def ask_repartition(frame, keys, n, n_rows):
    routed = frame.select("row", *keys).repartition(n, *keys).selectExpr("row", "spark_partition_id() AS id")
    return common.collect_by_row(routed, n_rows)[0]


def sorted_maps(keys):
    """The keys as Spark's optimizer rewrites them for a repartition."""
    return ", ".join("map_from_entries(array_sort(map_entries(`%s`)))" % key if key.startswith("m_") else "`%s`" % key
                     for key in keys)


def check_ids(frame, keys, n, ids, hashes, n_rows):
    """Returns the note that belongs to the case, or None."""
    if ids.equals(ask_pmod(hashes, n)):
        return None
    if any(key.startswith("m_") for key in keys):
        of_sorted = common.collect_by_row(frame.selectExpr("row", "pmod(hash(%s), %d) AS id" % (sorted_maps(keys), n)), n_rows)
        if ids.equals(of_sorted[0]):
            return "Spark partitions by the map with its entries sorted by key"
    sys.exit("spark_hash: repartition by %s is not pmod(hash)" % keys)


def ask_interpreter(session, frame, sets, n_rows):
    switches = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for key, value in switches.items():
        session.conf.set(key, value)
    hashes = ask_hashes(frame, sets, n_rows)
    for key in switches:
        session.conf.unset(key)
    return hashes


def add_interpreted(session, frame, answers, name, sets, hashes):
    interpreted = ask_interpreter(session, frame, sets, len(hashes[0]))
    for keys, values, generated in zip(sets, interpreted, hashes):
        if not values.equals(generated) and "ci" not in keys:
            sys.exit("spark_hash: Spark's interpreter and generated code disagree on %s" % keys)
        if name == "special":
            answers.add(values, kind="hash_interpreted", keys=keys)


def make_file(session, folder, name, columns, n_random, numbers, start):
    table = pa.table(columns)
    n_rows = table.num_rows
    frame = common.to_spark(session, table)
    sets = key_sets(list(columns), n_random, numbers)
    counts = [numbers.choice(COUNTS) for _ in sets]
    answers = common.AnswerFile(table)
    hashes = ask_hashes(frame, sets, n_rows)
    pmods = ask_pmods_of_spark(frame, sets, counts, n_rows)
    for at, keys in enumerate(sets):
        answers.add(hashes[at], kind="hash", keys=keys)
        answers.add(pmods[at], kind="pmod", keys=keys, n=counts[at])
        if "m_n" in keys:
            continue
        n = 200 if at == 0 else numbers.choice(SMALL_COUNTS)
        ids = ask_repartition(frame, keys, n, n_rows)
        note = check_ids(frame, keys, n, ids, hashes[at], n_rows)
        answers.add(ids, kind="repartition", keys=keys, n=n, **({"note": note} if note else {}))
    add_interpreted(session, frame, answers, name, sets, hashes)
    answers.write("%s/hash-%s.arrow" % (folder, name))
    common.say("hash-%s: %d rows, %d sets of keys" % (name, n_rows, len(sets)), start)
    return n_rows * len(answers.cases)


def main():
    start = time.monotonic()
    options = common.arguments(__doc__, rows=12000)
    session = common.open_session("spark_hash")
    makers = [common.Maker(options.seed + at, options.rows) for at in range(4)]
    numbers = random.Random(options.seed)
    flat = common.flat_columns(makers[0])
    special = common.special_columns(makers[1])
    nested = common.nested_columns(makers[2])
    few = ["i32", "s", "d38_18", "f64"]
    total = 0
    for name, columns, n_random in [("flat", flat, 24), ("special", {**special, **{key: flat[key] for key in few}}, 8),
                                    ("nested", {**nested, **{key: flat[key] for key in few}}, 12),
                                    ("map", {**common.map_columns(makers[3]), **{key: flat[key] for key in few}}, 4)]:
        total += make_file(session, options.folder, name, columns, n_random, numbers, start)
    session.stop()
    print("spark_hash: %d answers in %.0f s" % (total, time.monotonic() - start))


if __name__ == "__main__":
    main()
