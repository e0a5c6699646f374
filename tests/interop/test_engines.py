# SPDX-License-Identifier: Apache-2.0
"""polars and duckdb with colshuf, for the types that they have: IPC files and streams (polars, with its own reader and writer) and
the Arrow C Stream interface (duckdb, pyarrow) straight from the shared library.

Needs polars, duckdb and pyarrow; the library is $BUILD/libcolshuf.so.
"""
import ctypes
import datetime
import decimal
import os
import tempfile

import duckdb
import polars as pl
import pyarrow as pa

from harness import BUILD, Suite, colshuf
from random_arrow import rows


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("system_errno", ctypes.c_int), ("message", ctypes.c_char * 1008)]


class ArrowStream:
    """A stream of colshuf as any consumer of the PyCapsule interface takes it."""

    def __init__(self, path):
        self.stream = Stream()
        self.error = Error()
        library = ctypes.CDLL(os.path.join(BUILD, "libcolshuf.so"))
        status = library.colshuf_ipc_reader_open_path(path.encode(), None, ctypes.byref(self.stream), ctypes.byref(self.error))
        if status != 0:
            raise AssertionError(self.error.message.decode())

    def __arrow_c_stream__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def frame():
    n = 5000
    return pl.DataFrame({
        "id": pl.Series(range(n), dtype=pl.Int64),
        "small": pl.Series([i % 100 if i % 7 else None for i in range(n)], dtype=pl.Int8),
        "flag": pl.Series([i % 3 == 0 if i % 11 else None for i in range(n)], dtype=pl.Boolean),
        "value": pl.Series([i / 7 if i % 13 else None for i in range(n)], dtype=pl.Float64),
        "text": pl.Series([f"row {i} " * (i % 5) if i % 17 else None for i in range(n)], dtype=pl.String),
        "blob": pl.Series([bytes([i % 256]) * (i % 20) for i in range(n)], dtype=pl.Binary),
        "day": pl.Series([datetime.date(2000, 1, 1) + datetime.timedelta(days=i) for i in range(n)], dtype=pl.Date),
        "when": pl.Series([datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i) for i in range(n)], dtype=pl.Datetime("us")),
        "price": pl.Series([decimal.Decimal(i) / 4 for i in range(n)], dtype=pl.Decimal(18, 2)),
        "tags": pl.Series([[f"t{j}" for j in range(i % 4)] if i % 5 else None for i in range(n)], dtype=pl.List(pl.String)),
        "pair": pl.Series([{"a": i, "b": str(i)} for i in range(n)], dtype=pl.Struct({"a": pl.Int32, "b": pl.String})),
        "kind": pl.Series([f"k{i % 9}" for i in range(n)], dtype=pl.Categorical),
    })


def polars_round_trip(directory, compression, to_format):
    wanted = frame()
    source, target = os.path.join(directory, "polars.arrow"), os.path.join(directory, "back.arrow")
    wanted.write_ipc(source, compression=compression)
    colshuf("convert", source, "-o", target, "--format", to_format)
    found = (pl.read_ipc if to_format == "file" else pl.read_ipc_stream)(target)
    assert found.equals(wanted), "the frames differ"


def polars_shuffle(directory, codec):
    wanted = frame()
    source, output = os.path.join(directory, "polars.arrow"), os.path.join(directory, "shuffled")
    wanted.write_ipc(source)
    colshuf("write", source, "-o", output, "-n", 13, "--hash", "id", "--codec", codec, "--compat", "arrow")
    colshuf("verify", output + ".data")
    target = os.path.join(directory, "back.arrow")
    colshuf("read", output + ".data", "-o", target, "--format", "file")
    found = pl.read_ipc(target).sort("id").with_columns(pl.col("kind").cast(pl.Categorical))
    assert found.equals(wanted), "the frames differ"


def duckdb_over_c_stream(directory):
    given = frame().drop("kind").to_arrow()
    source = os.path.join(directory, "in.arrows")
    with pa.OSFile(source, "wb") as sink, pa.ipc.new_stream(sink, given.schema) as writer:
        writer.write_table(given, max_chunksize=777)
    stream = pa.RecordBatchReader.from_stream(ArrowStream(source))
    counted = duckdb.sql("SELECT count(*), sum(id), sum(small), max(text), sum(price), sum(len(tags)), sum(pair.a) FROM stream").fetchall()
    direct = duckdb.sql("SELECT count(*), sum(id), sum(small), max(text), sum(price), sum(len(tags)), sum(pair.a) FROM given").fetchall()
    assert counted == direct, (counted, direct)


def duckdb_result_shuffles(directory):
    result = duckdb.sql("SELECT i AS id, i % 10 AS k, 'name ' || (i % 1000) AS name, i / 3.0 AS x, CASE WHEN i % 9 = 0 THEN NULL ELSE "
                        "[i, i + 1] END AS pair, CAST(i AS DECIMAL(20, 3)) AS d, DATE '2000-01-01' + CAST(i % 5000 AS INTEGER) AS day "
                        "FROM range(30000) t(i)").to_arrow_table()
    source, output, target = (os.path.join(directory, name) for name in ("duck.arrows", "duck", "duck-back.arrows"))
    with pa.OSFile(source, "wb") as sink, pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    colshuf("write", source, "-o", output, "-n", 7, "--hash", "k,name", "--codec", "zstd")
    colshuf("read", output + ".data", "-o", target)
    back = pa.RecordBatchReader.from_stream(ArrowStream(target)).read_all()
    again = duckdb.sql("SELECT * FROM back ORDER BY id").to_arrow_table()
    assert [rows(column) for column in again.columns] == [rows(column) for column in result.columns], "the rows differ"


def main():
    suite = Suite()
    with tempfile.TemporaryDirectory() as directory:
        for compression in ("uncompressed", "lz4", "zstd"):
            for to_format in ("file", "stream"):
                suite.check(f"polars {compression} file to {to_format}", polars_round_trip, directory, compression, to_format)
        for codec in ("none", "lz4", "zstd", "snappy"):
            suite.check(f"polars through a shuffle, {codec}", polars_shuffle, directory, codec)
        suite.check("duckdb reads colshuf's C stream", duckdb_over_c_stream, directory)
        suite.check("a duckdb result through a shuffle", duckdb_result_shuffles, directory)
    suite.finish()


if __name__ == "__main__":
    main()
