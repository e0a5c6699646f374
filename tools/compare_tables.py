# SPDX-License-Identifier: Apache-2.0
"""Compares two Arrow tables (IPC files or streams) as multisets of rows; exit 0 when they are equal.

Usage: compare_tables.py A B. Rows are sorted by every column, then compared; prints the figures.
"""
import sys

import pyarrow as pa
import pyarrow.ipc


def load(path):
    with pa.memory_map(path) as source:
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source).read_all()
        source.seek(0)
        return pa.ipc.open_stream(source).read_all()


def ordered(table):
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def main(a_path, b_path):
    a, b = load(a_path), load(b_path)
    if not a.schema.equals(b.schema, check_metadata=False):
        types = [(x, y) for x, y in zip(a.schema, b.schema) if x.type != y.type]
        if len(a.schema) != len(b.schema) or types:
            sys.exit(f"the schemas differ: {types or (a.schema.names, b.schema.names)}")
        b = b.cast(a.schema)
    if a.num_rows != b.num_rows:
        sys.exit(f"{a_path} has {a.num_rows} rows, {b_path} has {b.num_rows}")
    a, b = ordered(a), ordered(b)
    for name in a.column_names:
        if not a[name].equals(b[name]):
            sys.exit(f"column {name} differs")
    print(f"equal: {a.num_rows:,} rows, {a.num_columns} columns, {a.nbytes:,} bytes of Arrow data")


if __name__ == "__main__":
    main(*sys.argv[1:])
