#!/usr/bin/env python3
"""
Prints Arrow data in the canonical lines that tests/interop/comet/CometDecode.java describes, one row a line, so that what
the real Comet saw and what went in can be compared as text.

    canon.py FILE [--columns a,b] [--sort]        FILE: an Arrow IPC file or stream, "-" for a stream on standard input

As a module: rows(table) gives the lines of a table, column(array) the texts of one array.
Beyond Comet's types: half floats are "h" + 4 hex digits; unsigned integers, durations and times of any unit are their
stored number; dictionaries print as their values, large, view and fixed-size forms as their plain siblings.
"""
import argparse
import decimal
import sys

import numpy as np
import pyarrow as pa

ESCAPES = {c: "\\u00%02x" % c for c in [*range(0x20), 0x7F]}
ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\"})
DECIMALS = decimal.Context(prec=100)


def quote(text):
    return '"%s"' % text.translate(ESCAPES)


def binary(value):
    return '{"x": "%s"}' % value.hex()


def string(value):
    """value: bytes; what isn't UTF-8 prints as binary."""
    try:
        return quote(value.decode("utf-8"))
    except UnicodeDecodeError:
        return binary(value)


def same_bits(array, kind):
    """The array's fixed-width values seen as another type of that width."""
    buffers = array.buffers()
    return pa.Array.from_buffers(kind, len(array), buffers[:2], offset=array.offset)


def with_nulls(array, texts):
    if array.null_count == 0:
        return texts
    return [text if valid else "null" for text, valid in zip(texts, array.is_valid().to_pylist())]


def integers(array):
    return ["null" if value is None else str(value) for value in array.to_pylist()]


def floats(array, letter, unsigned):
    bits = same_bits(array, unsigned)
    digits = unsigned.bit_width // 4
    values = np.asarray(bits.fill_null(0))
    return with_nulls(array, ['"%s%0*x"' % (letter, digits, value) for value in values.tolist()])


def decimals(array):
    scale = array.type.scale
    return ["null" if value is None else '"%d"' % int(DECIMALS.scaleb(value, scale)) for value in array.to_pylist()]


def strings(array, text_of):
    return ["null" if value is None else text_of(value) for value in array.cast(pa.large_binary()).to_pylist()]


def spans(array):
    """Begin and end of each list in the child, which is returned whole."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = [(array.offset + at) * size for at in range(len(array))]
        return starts, [start + size for start in starts], array.values
    offsets = array.offsets.to_pylist()
    if pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
        sizes = array.sizes.to_pylist()
        return offsets, [begin + size for begin, size in zip(offsets, sizes)], array.values
    return offsets[:-1], offsets[1:], array.values


def lists(array):
    begins, ends, child = spans(array)
    texts = column(child)
    return with_nulls(array, ["[%s]" % ", ".join(texts[begin:end]) for begin, end in zip(begins, ends)])


def structs(array):
    fields = [column(array.field(at)) for at in range(array.type.num_fields)]
    if not fields:
        return with_nulls(array, ['{"s": []}'] * len(array))
    return with_nulls(array, ['{"s": [%s]}' % ", ".join(texts) for texts in zip(*fields)])


def maps(array):
    offsets = array.offsets.to_pylist()
    entries = ["[%s, %s]" % pair for pair in zip(column(array.keys), column(array.items))]
    return with_nulls(array, ['{"m": [%s]}' % ", ".join(entries[begin:end]) for begin, end in zip(offsets, offsets[1:])])


def calendar(array):
    return ["null" if value is None else "[%d, %d, %d]" % (value.months, value.days, value.nanoseconds // 1000)
            for value in array.to_pylist()]


def column(array):
    """The canonical text of every value of an array or chunked array."""
    if isinstance(array, pa.ChunkedArray):
        return [text for chunk in array.chunks for text in column(chunk)]
    if isinstance(array, pa.ExtensionArray):
        return column(array.storage)
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        return column(array.dictionary_decode())
    if types.is_null(kind):
        return ["null"] * len(array)
    if types.is_boolean(kind):
        return ["null" if value is None else str(value).lower() for value in array.to_pylist()]
    if types.is_integer(kind):
        return integers(array)
    if types.is_floating(kind):
        letter, unsigned = {16: ("h", pa.uint16()), 32: ("f", pa.uint32()), 64: ("d", pa.uint64())}[kind.bit_width]
        return floats(array, letter, unsigned)
    if types.is_decimal(kind):
        return decimals(array)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return strings(array, string)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        return strings(array, binary)
    if types.is_map(kind):
        return maps(array)
    if types.is_nested(kind):
        return structs(array) if types.is_struct(kind) else lists(array)
    if kind == pa.month_day_nano_interval():
        return calendar(array)
    return integers(same_bits(array, {32: pa.int32(), 64: pa.int64()}[kind.bit_width]))


def rows(table, keep=None):
    """The lines of a table or record batch; keep: names of the columns, None for all."""
    columns = [column(table.column(at)) for at, name in enumerate(table.schema.names) if keep is None or name in keep]
    if not columns:
        return ["[]"] * table.num_rows
    return ["[%s]" % ", ".join(texts) for texts in zip(*columns)]


def open_table(name):
    if name == "-":
        return pa.ipc.open_stream(sys.stdin.buffer).read_all()
    with open(name, "rb") as file:
        is_file = file.read(6) == b"ARROW1"
    source = pa.memory_map(name)
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source).read_all()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--columns")
    parser.add_argument("--sort", action="store_true", help="sort the lines")
    options = parser.parse_args()
    lines = rows(open_table(options.file), options.columns and options.columns.split(","))
    for line in sorted(lines) if options.sort else lines:
        print(line)


if __name__ == "__main__":
    main()
