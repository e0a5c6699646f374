# SPDX-License-Identifier: Apache-2.0
"""Arrow C Data structs read with nothing but ctypes, as an oracle that shares no code with colshuf or any Arrow library.

Values in plain Python: ints (temporal and decimal types too, unscaled), floats as their bits in the type's width, bytes, str, lists,
structs as lists of (name, value), maps as lists of (key, value), unions as (type id, value), intervals as tuples, None = null.
"""
import ctypes as c
import os
import struct
import sys


class ArrowSchema(c.Structure):
    pass


class ArrowArray(c.Structure):
    pass


class ArrowArrayStream(c.Structure):
    pass


ArrowSchema._fields_ = [("format", c.c_char_p), ("name", c.c_char_p), ("metadata", c.c_void_p), ("flags", c.c_int64),
                        ("n_children", c.c_int64), ("children", c.POINTER(c.POINTER(ArrowSchema))),
                        ("dictionary", c.POINTER(ArrowSchema)), ("release", c.CFUNCTYPE(None, c.POINTER(ArrowSchema))),
                        ("private_data", c.c_void_p)]
ArrowArray._fields_ = [("length", c.c_int64), ("null_count", c.c_int64), ("offset", c.c_int64), ("n_buffers", c.c_int64),
                       ("n_children", c.c_int64), ("buffers", c.POINTER(c.c_void_p)),
                       ("children", c.POINTER(c.POINTER(ArrowArray))), ("dictionary", c.POINTER(ArrowArray)),
                       ("release", c.CFUNCTYPE(None, c.POINTER(ArrowArray))), ("private_data", c.c_void_p)]
ArrowArrayStream._fields_ = [("get_schema", c.CFUNCTYPE(c.c_int, c.POINTER(ArrowArrayStream), c.POINTER(ArrowSchema))),
                             ("get_next", c.CFUNCTYPE(c.c_int, c.POINTER(ArrowArrayStream), c.POINTER(ArrowArray))),
                             ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.POINTER(ArrowArrayStream))),
                             ("release", c.CFUNCTYPE(None, c.POINTER(ArrowArrayStream))), ("private_data", c.c_void_p)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("system_errno", c.c_int), ("message", c.c_char * 1008)]


STATUS = ["ok", "invalid argument", "corrupt", "unsupported", "limit", "no memory", "i/o", "cancelled"]


class Failure(Exception):
    def __init__(self, status, message):
        super().__init__(f"{STATUS[status]}: {message}")
        self.status = STATUS[status]
        self.message = message


INTS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "e": "H", "f": "I", "g": "Q"}


def bytes_at(pointer, size):
    return c.string_at(pointer, size) if size > 0 else b""


def numbers(array, buffer, code, count):
    """count values of struct code from the array's offset."""
    width = struct.calcsize("<" + code)
    data = bytes_at((array.buffers[buffer] or 0) + array.offset * width, count * width)
    return list(struct.unpack("<%d%s" % (count, code), data))


def bits(array, buffer):
    data = bytes_at(array.buffers[buffer], (array.offset + array.length + 7) // 8)
    return [data[i // 8] >> (i % 8) & 1 for i in range(array.offset, array.offset + array.length)]


def fixed_code(form):
    """struct code of a fixed-width format, or its width in bytes for a wide integer, or None."""
    if form in INTS:
        return INTS[form]
    if form[:2] in ("td",):
        return "i" if form == "tdD" else "q"
    if form[:2] == "tt":
        return "i" if form in ("tts", "ttm") else "q"
    if form[:2] in ("ts", "tD"):
        return "q"
    if form == "tiM":
        return "i"
    return None


def decimal_width(form):
    parts = form[2:].split(",")
    return int(parts[2]) // 8 if len(parts) > 2 else 16


def fixed_values(schema, array, form):
    n = array.length
    code = fixed_code(form)
    if code:
        return numbers(array, 1, code, n)
    if form == "b":
        return [bool(b) for b in bits(array, 1)]
    if form == "tiD":
        flat = numbers_wide(array, 8)
        return [struct.unpack("<ii", v) for v in flat]
    if form == "tin":
        return [struct.unpack("<iiq", v) for v in numbers_wide(array, 16)]
    if form[:2] == "d:":
        return [int.from_bytes(v, "little", signed=True) for v in numbers_wide(array, decimal_width(form))]
    if form[:2] == "w:":
        return numbers_wide(array, int(form[2:]))
    return None


def numbers_wide(array, width):
    data = bytes_at((array.buffers[1] or 0) + array.offset * width, array.length * width)
    return [data[i * width:(i + 1) * width] for i in range(array.length)]


def text(data, form):
    return data.decode("utf-8") if form in ("u", "U", "vu") else data


def binary_values(array, form):
    offsets = numbers(array, 1, "i" if form in "uz" else "q", array.length + 1)
    return [text(bytes_at((array.buffers[2] or 0) + a, b - a), form) for a, b in zip(offsets, offsets[1:])]


def view_values(array, form):
    out = []
    for entry in numbers_wide(array, 16):
        length, = struct.unpack_from("<i", entry)
        if length <= 12:
            data = entry[4:4 + length]
        else:
            _, buffer, offset = struct.unpack_from("<4sii", entry, 4)
            data = bytes_at(array.buffers[2 + buffer] + offset, length)
        out.append(data)
    return out


def nested_values(schema, array, form):
    n, k = array.length, array.offset
    child = [(schema.children[i].contents, array.children[i].contents) for i in range(schema.n_children)]
    if form in ("+l", "+L", "+m"):
        items = values(*child[0])
        offsets = numbers(array, 1, "q" if form == "+L" else "i", n + 1)
        lists = [items[a:b] for a, b in zip(offsets, offsets[1:])]
        return [[(e[0][1], e[1][1]) for e in entries] for entries in lists] if form == "+m" else lists
    if form in ("+vl", "+vL"):
        items, code = values(*child[0]), "i" if form == "+vl" else "q"
        return [items[a:a + s] for a, s in zip(numbers(array, 1, code, n), numbers(array, 2, code, n))]
    if form[:3] == "+w:":
        items, size = values(*child[0]), int(form[3:])
        return [items[(k + i) * size:(k + i + 1) * size] for i in range(n)]
    if form == "+s":
        columns = [(s.name.decode(), values(s, a)) for s, a in child]
        return [[(name, column[k + i]) for name, column in columns] for i in range(n)]
    if form[:2] == "+u":
        ids = [int(x) for x in form[4:].split(",")] if form[4:] else []
        columns = {t: values(*child[i]) for i, t in enumerate(ids)}
        types = numbers(array, 0, "b", n)
        places = numbers(array, 1, "i", n) if form[2] == "d" else range(k, k + n)
        return [(t, columns[t][p]) for t, p in zip(types, places)]
    if form == "+r":
        ends, items = values(*child[0]), values(*child[1])
        out = []
        for i in range(k, k + n):
            out.append(items[next(j for j, end in enumerate(ends) if end > i)])
        return out
    raise ValueError(form)


def values(schema, array):
    """The values of an array as a list."""
    form = schema.format.decode()
    if form == "n":
        return [None] * array.length
    if array.dictionary:
        words = values(schema.dictionary.contents, array.dictionary.contents)
        out = [words[i] if 0 <= i < len(words) else None for i in fixed_values(schema, array, form)]
    elif form in ("u", "z", "U", "Z"):
        out = binary_values(array, form)
    elif form in ("vu", "vz"):
        out = view_values(array, form)
    else:
        out = fixed_values(schema, array, form)
        if out is None:
            out = nested_values(schema, array, form)
    if form[:2] in ("+u", "+r") or array.null_count == 0 or not array.buffers[0]:
        valid = None
    else:
        valid = bits(array, 0)
    out = [v if valid is None or valid[i] else None for i, v in enumerate(out)]
    if form == "vu":  # decoded late: the bytes under a null need not be text
        out = [v if v is None else v.decode() for v in out]
    return out


def metadata(pointer):
    if not pointer:
        return []
    at, out = pointer, []
    count, = struct.unpack("<i", c.string_at(at, 4))
    at += 4
    for _ in range(count):
        pair = []
        for _ in range(2):
            size, = struct.unpack("<i", c.string_at(at, 4))
            pair.append(bytes_at(at + 4, size).decode())
            at += 4 + size
        out.append(tuple(pair))
    return out


def describe(schema):
    """A schema as nested tuples: format, name, nullable, metadata, children, dictionary."""
    return (schema.format.decode(), schema.name.decode(), bool(schema.flags & 2), metadata(schema.metadata),
            [describe(schema.children[i].contents) for i in range(schema.n_children)],
            describe(schema.dictionary.contents) if schema.dictionary else None)


def drain(stream, consume=None):
    """Reads a stream to its end and releases it: (description of the schema, list of batches as lists of rows). Raises Failure."""
    schema = ArrowSchema()

    def check(code):
        if code != 0:
            raise Failure(library.colshuf_stream_status(c.byref(stream)), (stream.get_last_error(stream) or b"").decode())

    batches = []
    try:
        check(stream.get_schema(stream, schema))
        while True:
            array = ArrowArray()
            check(stream.get_next(stream, array))
            if not array.release:
                break
            batches.append(values(schema, array) if consume is None else consume(schema, array))
            array.release(array)
        return describe(schema), batches
    finally:
        if schema.release:
            schema.release(schema)
        stream.release(stream)


library = None


def load(path):
    global library
    library = c.CDLL(path)
    library.colshuf_stream_status.argtypes = [c.c_void_p]
    library.colshuf_ipc_reader_open_path.argtypes = [c.c_char_p, c.c_void_p, c.c_void_p, c.c_void_p]


def test_folder(name):
    """The folder of reference data that a test was told or finds; ends the program as skipped when there is none."""
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.environ.get("COLSHUF_TEST_DATA", "../shared"), name)
    if not os.path.isdir(folder):
        print(f"  skip {os.path.basename(sys.argv[0])}: no {folder} (set COLSHUF_TEST_DATA to the folder of reference data)")
        sys.exit(77)
    return folder


class ReaderOptions(c.Structure):
    _fields_ = [("resize", c.c_void_p), ("ctx", c.c_void_p), ("trust", c.c_int), ("limits", c.c_uint64 * 6),
                ("ignore_trailing", c.c_int)]


def open_ipc(path, trusted=False):
    """An IPC stream or file as an ArrowArrayStream. Raises Failure."""
    stream, err = ArrowArrayStream(), Error()
    options = ReaderOptions(trust=int(trusted))
    status = library.colshuf_ipc_reader_open_path(path.encode(), c.byref(options), c.byref(stream), c.byref(err))
    if status != 0:
        raise Failure(status, err.message.decode())
    return stream


class DecoderOptions(c.Structure):
    _fields_ = [("resize", c.c_void_p), ("ctx", c.c_void_p), ("trust", c.c_int), ("limits", c.c_uint64 * 6),
                ("expected_schema", c.c_void_p), ("pool_size", c.c_uint64)]


class Decoder:
    """A block decoder; its blocks as (description of the schema, rows)."""

    def __init__(self, trusted=False):
        self.handle, err = c.c_void_p(), Error()
        options = DecoderOptions(trust=int(trusted))
        status = library.colshuf_block_decoder_new(c.byref(options), c.byref(self.handle), c.byref(err))
        if status != 0:
            raise Failure(status, err.message.decode())

    def decode(self, data, at=0):
        """The block at data[at:]: (bytes taken, schema, rows)."""
        err, consumed, schema, array = Error(), c.c_size_t(), ArrowSchema(), ArrowArray()
        start = c.cast(c.c_char_p(data), c.c_void_p).value + at
        status = library.colshuf_block_decoder_decode(self.handle, c.c_void_p(start), c.c_size_t(len(data) - at), None,
                                                      c.byref(consumed), c.byref(schema), c.byref(array), c.byref(err))
        if status != 0:
            raise Failure(status, err.message.decode())
        out = consumed.value, describe(schema), values(schema, array)
        schema.release(schema)
        array.release(array)
        return out

    def decode_all(self, data):
        """Every block of data: list of (schema, rows)."""
        at, out = 0, []
        while at < len(data):
            consumed, schema, rows = self.decode(data, at)
            out.append((schema, rows))
            at += consumed
        return out

    def close(self):
        library.colshuf_block_decoder_free(self.handle)
