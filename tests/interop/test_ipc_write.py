# SPDX-License-Identifier: Apache-2.0
"""pyarrow reads what the IPC writer of the library writes: random batches of every type, sliced at every level, as streams and files,
bodies compressed and not.

Usage: python test_ipc_write.py [CASES]. Needs pyarrow; the library is $BUILD/libcolshuf.so.
"""
import io
import random
import sys

import pyarrow as pa
import pyarrow.ipc

import random_batches
from colshuf_ctypes import ColshufError, write_ipc
from harness import Suite

CASES = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def read(data, file_format):
    reader = pa.ipc.open_file(io.BytesIO(data)) if file_format else pa.ipc.open_stream(io.BytesIO(data))
    batches = [reader.get_batch(i) for i in range(reader.num_record_batches)] if file_format else list(reader)
    return reader.schema, batches


def check(seed):
    rng = random.Random(seed)
    schema = random_batches.random_schema(rng)
    batches = [random_batches.random_batch(rng, schema, rng.choice([0, 1, 5, 40, 300])) for _ in range(rng.randrange(1, 4))]
    slices = []
    for batch in batches:
        offset = rng.randrange(batch.num_rows + 1)
        slices.append((batch, offset, rng.randrange(batch.num_rows - offset + 1)) if rng.random() < 0.5 else (batch, 0, batch.num_rows))
    file_format, layout, compress = rng.randrange(2), rng.randrange(2), rng.randrange(3)
    try:
        data = write_ipc(schema, None, file_format, layout, compress, slices)
    except ColshufError as error:
        # A file holds dictionaries that grow, not ones that change.
        if error.status == 3 and file_format and "dictionary" in error.message:
            return False
        raise
    read_schema, found = read(data, file_format)
    assert read_schema.equals(schema, check_metadata=True), (read_schema, schema)
    assert len(found) == len(slices)
    for got, (batch, offset, length) in zip(found, slices):
        got.validate(full=True)
        wanted = batch.slice(offset, length)
        assert got.num_rows == length
        for i, field in enumerate(schema):
            if not got.column(i).equals(wanted.column(i)):
                raise AssertionError("column %d %s:\n%s\n%s" % (i, field, got.column(i), wanted.column(i)))
    return True


def check_range(start, stop):
    for seed in range(start, stop):
        try:
            check(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}") from problem


def dictionaries_that_grow(file_format):
    """An empty dictionary, a full one, a longer one: 0, 2 and 1 rows."""
    schema = pa.schema([("d", pa.dictionary(pa.int32(), pa.string()))])

    def batch(indices, values):
        array = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values, pa.string()))
        return pa.RecordBatch.from_arrays([array], schema=schema)

    batches = [batch([], []), batch([0, 2], ["Foo", "Bar", "Baz"]), batch([3], ["Foo", "Bar", "Baz", "Qux"])]
    _, found = read(write_ipc(schema, batches, file_format), file_format)
    assert [b.column(0).to_pylist() for b in found] == [[], ["Foo", "Baz"], ["Qux"]]


def main():
    suite = Suite()
    suite.check("dictionaries that grow, in a stream", dictionaries_that_grow, 0)
    suite.check("dictionaries that grow, in a file", dictionaries_that_grow, 1)
    for start in range(0, CASES, 100):
        stop = min(start + 100, CASES)
        suite.check(f"random outputs {start} to {stop}, pyarrow {pa.__version__}", check_range, start, stop)
    suite.finish()


if __name__ == "__main__":
    main()
