"""
What the Spark reference scripts share: the session, the random tables, and the file format.

File format of every spark_*.py
-------------------------------
An Arrow IPC file. Its first columns are the data, under the names that the cases use; the rest, named "=0", "=1", …, are
Spark's answers (int32, never null). The schema's metadata has the key "cases": a JSON array with one object per case:

    {"answer": "=3", "kind": "hash",  "keys": ["a", "b"]}            hash(a, b), seed 42
    {"answer": "=9", "kind": "hash_interpreted", …}                  the same by Spark's interpreter instead of its
                                                                     generated code; they differ for calendar intervals
    {"answer": "=4", "kind": "pmod",  "keys": ["a", "b"], "n": 7}    pmod(hash(a, b), 7)
    {"answer": "=5", "kind": "repartition", "keys": ["a", "b"], "n": 7}
                                                                     id of the row's partition after repartition(7, a, b)
    {"answer": "=6", "kind": "range", "keys": ["a", "b"], "descending": [false, true], "nulls_first": [true, false],
     "n": 10, "bounds": "NAME.bounds-6.arrow"}                       id after repartitionByRange(10, …); the bounds that
                                                                     Spark took are the rows, in order, of that file,
                                                                     whose columns are the keys
    {"answer": "=7", "kind": "round_robin", "keys": [], "n": 10, "sorted": false}
                                                                     id after repartition(10), see spark_round_robin.py
"note" may say what is special. A key type that Spark has and Arrow's Python package cannot make is stored by the fields
that Arrow would use, and the field's metadata says so:
    "spark": "interval year to month"      int32 months; the field is of type int32
Everything is a function of --seed and --rows, up to the bounds, which Spark draws by its own seeds.
"""
import argparse
import decimal
import json
import os
import random
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

UTC = "UTC"
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
DATE_LIMITS = [-719162, 2932896, 0, -1, 1, 18262, -141427, -719528]        # 0001-01-01 … 9999-12-31
TIME_LIMITS = [-62135596800000000, 253402300799999999, 0, -1, 1, -999999, 1600000000123456]
STRINGS = ["", "a", "ab", "abc", "abcd", "abcde", " ", "\0", "ä", "äö", "日本語", "😀", "e\u0301", "\uffff", "zz" * 40,
           "Straße", "\t\n", "NaN", "0", "-0.0", "x" * 1000]
BINARIES = [b"", b"\x00", b"\xff", b"\x80\x7f", b"\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00" * 7, bytes(range(256))]


# ---- session ------------------------------------------------------------------------------------------------------

def open_session(name, parallelism=1, **settings):
    from pyspark.sql import SparkSession
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (SparkSession.builder.appName(name).master("local[2]")
               .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.sql.warehouse.dir", os.path.join(tempfile.gettempdir(), "colshuf-spark-warehouse"))
               .config("spark.driver.memory", "3g").config("spark.ui.enabled", "false")
               .config("spark.default.parallelism", str(parallelism))
               .config("spark.sql.session.timeZone", UTC).config("spark.sql.adaptive.enabled", "false")
               .config("spark.sql.legacy.allowHashOnMapType", "true").config("spark.sql.timeType.enabled", "true")
               .config("spark.ui.showConsoleProgress", "false")
               .config("spark.sql.execution.arrow.pyspark.enabled", "true")
               # Else a small table is a literal of the plan, and the optimizer evaluates on it, by interpretation.
               .config("spark.sql.execution.arrow.localRelationThreshold", "0"))
    for key, value in settings.items():
        builder = builder.config(key.replace("__", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def arguments(description, rows):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where the files go")
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--seed", type=int, default=20260822)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    return options


def say(text, start):
    print("%6.1f s  %s" % (time.monotonic() - start, text), file=sys.stderr, flush=True)


# ---- random values ------------------------------------------------------------------------------------------------

class Maker:
    """Random arrays: a quarter edge values, a tenth nulls, the rest spread over the type."""

    def __init__(self, seed, n_rows, null_share=0.1, edge_share=0.25):
        self.numbers = random.Random(seed)
        self.n_rows = n_rows
        self.null_share = null_share
        self.edge_share = edge_share

    def values(self, edges, draw, n_rows=None):
        pick, numbers = self.numbers.random, self.numbers
        made = []
        for _ in range(self.n_rows if n_rows is None else n_rows):
            share = pick()
            if share < self.null_share:
                made.append(None)
            elif share < self.null_share + self.edge_share:
                made.append(numbers.choice(edges))
            else:
                made.append(draw())
        return made

    def integers(self, kind, n_rows=None):
        bits = kind.bit_width
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        edges = [low, high, 0, 1, -1, low + 1, high - 1, 42]
        return pa.array(self.values(edges, lambda: self.numbers.randint(low, high), n_rows), kind)

    def booleans(self):
        return pa.array(self.values([True, False], lambda: self.numbers.random() < 0.5), pa.bool_())

    def float_patterns(self, bits):
        """Bit patterns: both zeros, infinities, limits, subnormals, and NaN of both signs with several payloads."""
        if bits == 32:
            return [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF,
                    0xFF7FFFFF, 1, 0x80000001, 0x00800000, 0x3F800000, 0xBF800000]
        return [0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0xFFF8 << 48, (0x7FF << 52) | 1, (1 << 64) - 1,
                0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 1, (1 << 63) | 1, 1 << 52, 0x3FF << 52, 0xBFF << 52]

    def floats(self, kind, n_rows=None):
        unsigned = {32: pa.uint32(), 64: pa.uint64()}[kind.bit_width]
        if kind.bit_width == 32:
            draw = lambda: int(np.float32(self.numbers.gauss(0, 1e6)).view(np.uint32))
        else:
            draw = lambda: int(np.float64(self.numbers.gauss(0, 1e9)).view(np.uint64))
        bits = pa.array(self.values(self.float_patterns(kind.bit_width), draw, n_rows), unsigned)
        return pa.Array.from_buffers(kind, len(bits), bits.buffers()[:2])

    def decimals(self, precision, scale, n_rows=None):
        limit = 10 ** precision - 1
        context = decimal.Context(prec=60)
        edges = [0, 1, -1, limit, -limit, 127, 128, -128, -129, 255, 256, 10 ** scale % (limit + 1), limit // 2]
        numbers = self.values([min(edge, limit) for edge in edges],
                              lambda: self.numbers.randint(-limit, limit) // 10 ** self.numbers.randint(0, precision - 1), n_rows)
        made = [None if value is None else context.scaleb(decimal.Decimal(value), -scale) for value in numbers]
        return pa.array(made, pa.decimal128(precision, scale))

    def dates(self):
        return pa.array(self.values(DATE_LIMITS, lambda: self.numbers.randint(-719162, 2932896)), pa.int32()).cast(pa.date32())

    def timestamps(self, zone, n_rows=None):
        draw = lambda: self.numbers.randint(TIME_LIMITS[0], TIME_LIMITS[1])
        return pa.array(self.values(TIME_LIMITS, draw, n_rows), pa.int64()).cast(pa.timestamp("us", zone))

    def times(self):
        """Whole microseconds, the finest that Spark's TIME(6) holds, in Spark's and Arrow's common unit."""
        draw = lambda: self.numbers.randint(0, 86399999999) * 1000
        return pa.array(self.values([0, 86399999999000, 1000, 43200000000000], draw), pa.int64()).cast(pa.time64("ns"))

    def durations(self):
        edges = [LONG_MIN, LONG_MAX, 0, 1, -1, 86400000000]
        return pa.array(self.values(edges, lambda: self.numbers.randint(LONG_MIN, LONG_MAX)), pa.int64()).cast(pa.duration("us"))

    def text(self):
        alphabet = "abcdefghijklmnopqrstuvwxyz ABC0123456789äß日😀"
        return "".join(self.numbers.choices(alphabet, k=self.numbers.randint(0, 24)))

    def strings(self, n_rows=None):
        return pa.array(self.values(STRINGS, self.text, n_rows), pa.string())

    def binaries(self):
        return pa.array(self.values(BINARIES, lambda: self.numbers.randbytes(self.numbers.randint(0, 20))), pa.binary())

    def few(self, choices, kind):
        """A column of few values: ties in ranges, partitions of very unlike size."""
        return pa.array(self.values(choices, lambda: self.numbers.choice(choices)), kind)

    # ---- nested

    def struct_of(self, names, children):
        missing = pa.array([self.numbers.random() < self.null_share for _ in range(len(children[0]))], pa.bool_())
        return pa.StructArray.from_arrays(children, names=names, mask=missing)

    def cuts(self, longest=4):
        """Offsets of n_rows lists, None marking a null one, and the number of child values."""
        offsets, at = [], 0
        for _ in range(self.n_rows):
            offsets.append(None if self.numbers.random() < self.null_share else at)
            at += 0 if offsets[-1] is None else self.numbers.randint(0, longest)
        return pa.array([*offsets, at], pa.int32()), at

    def list_of(self, make_child):
        offsets, n_values = self.cuts()
        return pa.ListArray.from_arrays(offsets, make_child(n_values))

    def map_of(self, make_value, n_keys=6):
        """Keys are strings, distinct within a map, in no order."""
        offsets, keys, at = [], [], 0
        for _ in range(self.n_rows):
            null = self.numbers.random() < self.null_share
            chosen = [] if null else self.numbers.sample(STRINGS[:n_keys * 2], self.numbers.randint(0, n_keys))
            offsets.append(None if null else at)
            keys.extend(chosen)
            at += len(chosen)
        return pa.MapArray.from_arrays(pa.array([*offsets, at], pa.int32()), pa.array(keys, pa.string()), make_value(at))


def flat_columns(maker):
    columns = {"bool": maker.booleans(), "i8": maker.integers(pa.int8()), "i16": maker.integers(pa.int16()),
               "i32": maker.integers(pa.int32()), "i64": maker.integers(pa.int64()), "f32": maker.floats(pa.float32()),
               "f64": maker.floats(pa.float64()), "date": maker.dates(), "ts": maker.timestamps(UTC),
               "ntz": maker.timestamps(None), "s": maker.strings(), "bin": maker.binaries()}
    for precision, scale in [(5, 2), (9, 0), (10, 4), (18, 6), (19, 3), (20, 20), (28, 10), (38, 0), (38, 18), (38, 38)]:
        columns["d%d_%d" % (precision, scale)] = maker.decimals(precision, scale)
    return columns


def special_columns(maker):
    """Types whose Arrow form needs a hint or that Spark builds from parts: see spark_columns."""
    return {"null": pa.nulls(maker.n_rows), "time": maker.times(), "dt": maker.durations(),
            "ym": maker.integers(pa.int32()), "ci": calendar_intervals(maker)}


def calendar_intervals(maker):
    """Microseconds stay where nanoseconds, Arrow's unit here, and Spark's maker of intervals can hold them."""
    edges = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1000), (-1, -1, -1000), (INT_MAX, INT_MIN, 0), (INT_MIN, INT_MAX, 0)]
    numbers = maker.numbers
    draw = lambda: (numbers.randint(INT_MIN, INT_MAX), numbers.randint(INT_MIN, INT_MAX), numbers.randint(-10 ** 15, 10 ** 15) * 1000)
    return pa.array([None if value is None else pa.MonthDayNano(value) for value in maker.values(edges, draw)],
                    pa.month_day_nano_interval())


def nested_columns(maker):
    n = maker.n_rows
    point = lambda size: maker.struct_of(["p", "q"], [maker.floats(pa.float64(), size), maker.strings(size)])
    flat = maker.struct_of(["x", "y", "z", "w"], [maker.integers(pa.int32(), n), maker.strings(n),
                                                maker.floats(pa.float32(), n), maker.decimals(38, 10, n)])
    return {"st": flat,
            "st2": maker.struct_of(["inner", "t"], [point(n), maker.timestamps(UTC, n)]),
            "ar_i": maker.list_of(lambda size: maker.integers(pa.int64(), size)),
            "ar_s": maker.list_of(maker.strings),
            "ar_f": maker.list_of(lambda size: maker.floats(pa.float32(), size)),
            "ar_d": maker.list_of(lambda size: maker.decimals(22, 2, size)),
            "ar_st": maker.list_of(point)}


def map_columns(maker):
    """m_n has null values beside its keys; the others don't, see spark_hash.py."""
    def whole(size):
        return maker.integers(pa.int32(), size).fill_null(7)
    return {"m_i": maker.map_of(whole), "m_s": maker.map_of(maker.strings),
            "m_n": maker.map_of(lambda size: maker.integers(pa.int32(), size))}


# ---- towards Spark and back ---------------------------------------------------------------------------------------

def to_spark(session, table):
    """A data frame of the table's columns plus "row", the row's number; ym and ci are built from their parts."""
    carried, expressions = {}, []
    for name in table.column_names:
        column = table.column(name)
        if name == "ci":
            parts = column.to_pylist()
            carried["ci_m"] = pa.array([p and p.months for p in parts], pa.int32())
            carried["ci_d"] = pa.array([p and p.days for p in parts], pa.int32())
            carried["ci_u"] = pa.array([p and decimal.Decimal(p.nanoseconds // 1000).scaleb(-6) for p in parts], pa.decimal128(18, 6))
            expressions.append("make_interval(0, ci_m, 0, ci_d, 0, 0, ci_u) AS ci")
        else:
            carried[name] = column
            expressions.append("make_ym_interval(0, ym) AS ym" if name == "ym" else "`%s`" % name)
    carried["row"] = pa.array(range(table.num_rows), pa.int32())
    return session.createDataFrame(pa.table(carried)).selectExpr("row", *expressions)


def collect_by_row(frame, n_rows):
    """The int columns of the frame but "row", as int32 arrays in the order of the rows."""
    answers = frame.toArrow().sort_by("row")
    if answers.num_rows != n_rows:
        sys.exit("spark: %d rows came back of %d" % (answers.num_rows, n_rows))
    return [answers.column(name).combine_chunks().cast(pa.int32()) for name in answers.column_names if name != "row"]


class AnswerFile:
    def __init__(self, table):
        fields = [field.with_metadata({"spark": "interval year to month"}) if field.name == "ym" else field
                  for field in table.schema]
        self.table = table.cast(pa.schema(fields)) if fields else table
        self.cases = []

    def add(self, values, **case):
        name = "=%d" % len(self.cases)
        self.table = self.table.append_column(pa.field(name, pa.int32(), nullable=False), values)
        self.cases.append({"answer": name, **case})
        return len(self.cases) - 1

    def next_index(self):
        return len(self.cases)

    def write(self, path):
        table = self.table.combine_chunks().replace_schema_metadata({"cases": json.dumps(self.cases)})
        write_file(path, table)


def write_file(path, table):
    with pa.OSFile(path + ".part", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=8192)
    os.replace(path + ".part", path)
