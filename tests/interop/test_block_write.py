# SPDX-License-Identifier: Apache-2.0
"""Blocks that the library's encoder makes, taken apart with pyarrow's codecs and IPC reader, hold the rows that went in: every codec,
mode and type.

Usage: python test_block_write.py [CASES]. Needs pyarrow; the library is $BUILD/libcolshuf.so.
"""
import io
import random
import struct
import sys

import pyarrow as pa
import pyarrow.ipc

import random_batches
from colshuf_ctypes import BlockEncoder, ColshufError
from harness import Suite

CASES = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def framed(codec):
    """A frame of LZ4 or zstd."""
    return lambda body: pa.CompressedInputStream(pa.BufferReader(body), codec).read()


def snappy(body):
    """Snappy's framing: pyarrow knows the bare format alone."""
    out, at = [], 0
    while at < len(body):
        kind, size = body[at], int.from_bytes(body[at + 1:at + 4], "little")
        chunk = body[at + 8:at + 4 + size]
        if kind == 0:
            length, shift, i = 0, 0, 0
            while True:
                length |= (chunk[i] & 0x7F) << shift
                if chunk[i] < 0x80:
                    break
                shift, i = shift + 7, i + 1
            out.append(pa.decompress(chunk, length, "snappy", asbytes=True))
        elif kind == 1:
            out.append(chunk)
        else:
            assert kind == 0xFF, kind
        at += 4 + size
    return b"".join(out)


DECOMPRESS = {b"LZ4_": framed("lz4"), b"NONE": lambda body: body, b"ZSTD": framed("zstd"), b"SNAP": snappy}
CODECS = [b"LZ4_", b"NONE", b"ZSTD", b"SNAP"]  # in the order of enum colshuf_codec
COMET, COMET_1_1, ARROW = 0, 1, 2


def offsets_buffers(t):
    """(width or None) per buffer of an array of type t, in the order of its IPC buffers."""
    if pa.types.is_null(t):
        return []
    if pa.types.is_string(t) or pa.types.is_binary(t):
        return [None, 4, None]
    if pa.types.is_large_string(t) or pa.types.is_large_binary(t):
        return [None, 8, None]
    if pa.types.is_list(t):
        return [None, 4] + offsets_buffers(t.value_type)
    if pa.types.is_large_list(t):
        return [None, 8] + offsets_buffers(t.value_type)
    if pa.types.is_map(t):
        return [None, 4, None] + offsets_buffers(t.key_type) + offsets_buffers(t.item_type)
    if pa.types.is_fixed_size_list(t):
        return [None] + offsets_buffers(t.value_type)
    if pa.types.is_struct(t):
        return [None] + [b for f in t for b in offsets_buffers(f.type)]
    if pa.types.is_union(t):
        own = [None] if t.mode == "sparse" else [None, None]
        return own + [b for i in range(t.num_fields) for b in offsets_buffers(t.field(i).type)]
    if pa.types.is_run_end_encoded(t):
        return [None, None] + offsets_buffers(t.value_type)
    return [None, None]


def metadata_buffers(metadata):
    """The (offset, length) pairs of a RecordBatch message, read by hand."""
    u16 = lambda at: struct.unpack_from("<H", metadata, at)[0]
    u32 = lambda at: struct.unpack_from("<I", metadata, at)[0]
    i32 = lambda at: struct.unpack_from("<i", metadata, at)[0]

    def field(table, number):
        vtable = table - i32(table)
        slot = 4 + 2 * number
        offset = u16(vtable + slot) if slot < u16(vtable) else 0
        return table + offset if offset else None

    message = u32(0)
    header = field(message, 2)
    header += u32(header)
    vector = field(header, 2)
    if vector is None:
        return []
    vector += u32(vector)
    return [struct.unpack_from("<qq", metadata, vector + 4 + 16 * i) for i in range(u32(vector))]


def messages(stream):
    at = 0
    while True:
        marker, size = struct.unpack_from("<Ii", stream, at)
        assert marker == 0xFFFFFFFF
        if size == 0:
            assert at + 8 == len(stream), "bytes behind the end marker"
            return
        message = pa.ipc.read_message(pa.py_buffer(stream[at:]))
        body = len(message.body) if message.body is not None else 0
        yield at, size, message
        at += 8 + size + body


def undo_lengths(stream, schema):
    out = bytearray(stream)
    for at, size, message in messages(stream):
        if message.type != "record batch":
            continue
        kinds = [k for f in schema for k in offsets_buffers(f.type)]
        pairs = metadata_buffers(stream[at + 8:at + 8 + size])
        assert len(kinds) == len(pairs), (kinds, pairs)
        for width, (offset, length) in zip(kinds, pairs):
            if width is None:
                continue
            start, n, total = at + 8 + size + offset, length // width, 0
            for i in range(n):
                value = int.from_bytes(bytes(stream[start + p * n + i] for p in range(width)), "little")
                total += value
                out[start + i * width:start + (i + 1) * width] = total.to_bytes(width, "little")
    return bytes(out)


def decode(block, codec):
    length, n_columns = struct.unpack_from("<QQ", block)
    assert length + 8 == len(block)
    lengths = bool(block[16] & 0x80)
    tag = bytes([block[16] & 0x7F]) + block[17:20]
    assert tag == codec
    stream = DECOMPRESS[tag](block[20:])
    schema = pa.ipc.read_schema(pa.py_buffer(stream))
    assert len(schema) == n_columns
    if lengths:
        stream = undo_lengths(stream, schema)
    batches = list(pa.ipc.open_stream(io.BytesIO(stream)))
    assert len(batches) == 1
    assert sum(m.type == "record batch" for _, _, m in messages(stream)) == 1
    batches[0].validate(full=True)
    return batches[0], lengths


def same_values(a, b):
    """Equal but for dictionaries, which may be gone at any depth."""
    if pa.types.is_dictionary(a.type):
        a = a.dictionary_decode()
    if pa.types.is_dictionary(b.type):
        b = b.dictionary_decode()
    return a.equals(b) or a.to_pylist() == b.to_pylist()


def check(seed):
    rng = random.Random(seed)
    schema = random_batches.random_schema(rng)
    codec, compat = rng.randrange(4), rng.choice([COMET, COMET_1_1, ARROW])
    try:
        encoder = BlockEncoder(schema, codec=codec, compat=compat, layout=rng.randrange(2))
    except ColshufError as error:
        assert error.status == 3 and compat != ARROW and "Comet has no" in error.message, error
        return 0, 1
    for _ in range(3):
        batch = random_batches.random_batch(rng, schema, rng.choice([0, 1, 5, 40, 300]))
        offset = rng.randrange(batch.num_rows + 1)
        length = rng.randrange(batch.num_rows - offset + 1) if rng.random() < 0.5 else batch.num_rows - offset
        block = encoder.encode(batch, offset, length)
        if length == 0:
            assert block == b""
            continue
        got, lengths = decode(block, CODECS[codec])
        assert not (lengths and compat == COMET_1_1)
        wanted = batch.slice(offset, length)
        assert got.num_rows == length and got.schema.names == schema.names
        for i in range(len(schema)):
            a, b = got.column(i), wanted.column(i)
            if a.type == b.type and a.equals(b):
                continue
            assert pa.types.is_dictionary(b.type) or compat != ARROW, (a.type, b.type)
            if pa.types.is_dictionary(a.type) and compat != ARROW:
                assert a.type.index_type == pa.int32()
            assert same_values(a, b), "column %d %s:\n%s\n%s" % (i, schema.field(i), a, b)
    encoder.close()
    return 1, 0


def check_range(start, stop):
    for seed in range(start, stop):
        try:
            check(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}") from problem


def columns_of_few_values(codec, compat):
    """Blocks in which strings and decimals of few values become dictionaries, or offsets lengths, whichever is smaller."""
    rng = random.Random(codec * 10 + compat)
    n = 4000
    schema = pa.schema([("mode", pa.string()), ("tax", pa.decimal128(15, 2)), ("comment", pa.string()), ("key", pa.int64())])
    kinds = set()
    encoder = BlockEncoder(schema, codec=codec, compat=compat)
    for round in range(70):
        words = ["AIR", "MAIL", "SHIP", "TRUCK", None] if round % 9 else [random_batches.text(rng) for _ in range(3000)]
        columns = [pa.array([rng.choice(words) for _ in range(n)], pa.string()),
                   random_batches.flat_array(rng, pa.decimal128(15, 2), 9, 0.1).take(pa.array([rng.randrange(9) for _ in range(n)])),
                   pa.array(["%x" % rng.getrandbits(rng.choice([8, 64])) for _ in range(n)]), pa.array(range(n), pa.int64())]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        got, lengths = decode(encoder.encode(batch, 5, n - 9), CODECS[codec])
        for i in range(4):
            assert same_values(got.column(i), batch.column(i).slice(5, n - 9)), f"round {round}, column {i}"
        kinds.add((lengths, pa.types.is_dictionary(got.column(0).type)))
    encoder.close()
    assert (True, True) not in kinds
    assert compat == COMET or (False, True) in kinds, kinds


def main():
    suite = Suite()
    for codec in range(4):
        for compat in (COMET, COMET_1_1):
            if codec != 1:
                suite.check(f"columns of few values, {CODECS[codec].decode()}, mode {compat}", columns_of_few_values, codec, compat)
    for start in range(0, CASES, 100):
        stop = min(start + 100, CASES)
        suite.check(f"random blocks {start} to {stop}, pyarrow {pa.__version__}", check_range, start, stop)
    suite.finish()


if __name__ == "__main__":
    main()
