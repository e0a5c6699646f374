# SPDX-License-Identifier: Apache-2.0
"""Random pyarrow arrays of every type that pyarrow has, from a seed; and a comparison that treats NaN as a value."""
import datetime
import decimal
import random
import struct

import pyarrow as pa

INTEGERS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
UNSIGNED = {pa.uint8(): 8, pa.uint16(): 16, pa.uint32(): 32, pa.uint64(): 64}
TEXTS = ["", "a", "hello", "äöü", "天地", "a longer text that no view holds inline", "x" * 300]


def leaf_types():
    types = [pa.null(), pa.bool_(), *INTEGERS, *UNSIGNED, pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(),
             pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.month_day_nano_interval(),
             pa.decimal128(5, 2), pa.decimal128(38, 11), pa.decimal256(76, 3), pa.binary(0), pa.binary(7), pa.binary(), pa.string(),
             pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view()]
    for unit in ("s", "ms", "us", "ns"):
        types += [pa.timestamp(unit), pa.timestamp(unit, "UTC"), pa.timestamp(unit, "Europe/Paris"), pa.duration(unit)]
    if hasattr(pa, "decimal32"):
        types += [pa.decimal32(7, 2), pa.decimal64(16, 4)]
    return types


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def type(self, depth=3):
        r = self.random
        if depth == 0 or r.random() < 0.4:
            return r.choice(leaf_types())
        child = self.type(depth - 1)
        kind = r.randrange(10)
        if kind == 0:
            return pa.list_(pa.field("item", child))
        if kind == 1:
            return pa.large_list(child)
        if kind == 2:
            return pa.list_(child, r.choice([0, 1, 3]))
        if kind == 3:
            return pa.struct([pa.field(f"f{i}", self.type(depth - 1)) for i in range(r.randrange(1, 4))])
        if kind == 4:
            return pa.map_(r.choice([pa.string(), pa.int32()]), child)
        if kind == 5:
            return pa.dictionary(r.choice([*INTEGERS, *UNSIGNED]), r.choice([pa.string(), pa.int64(), pa.binary(), pa.float64()]))
        if kind == 6:
            return pa.run_end_encoded(r.choice([pa.int16(), pa.int32(), pa.int64()]), r.choice([pa.string(), pa.int32(), pa.bool_()]))
        if kind == 7:
            fields = [pa.field(f"u{i}", self.type(depth - 1)) for i in range(r.randrange(1, 4))]
            return (pa.dense_union if r.random() < 0.5 else pa.sparse_union)(fields)
        if kind == 8:
            return pa.list_view(child)
        return pa.large_list_view(child)

    def array(self, kind, n, nullable=True):
        values = self.values(kind, n, nullable)
        if values is not None:
            return pa.array(values, type=kind)
        return self.nested(kind, n, nullable)

    def mask(self, n, nullable):
        density = self.random.choice([0, 0, 0.1, 0.5, 1]) if nullable else 0
        return [self.random.random() < density for _ in range(n)]

    def values(self, kind, n, nullable):
        make = self.maker(kind)
        if make is None:
            return None
        return [None if absent else make() for absent in self.mask(n, nullable)]

    def maker(self, kind):
        r = self.random
        t = pa.types
        if t.is_null(kind):
            return lambda: None
        if t.is_boolean(kind):
            return lambda: r.random() < 0.5
        if kind in INTEGERS:
            bits = INTEGERS[kind]
            return lambda: r.choice([0, 1, -1, 2 ** (bits - 1) - 1, -2 ** (bits - 1), r.randrange(-100, 100)])
        if kind in UNSIGNED:
            bits = UNSIGNED[kind]
            return lambda: r.choice([0, 1, 2**bits - 1, r.randrange(0, 100)])
        if t.is_floating(kind):
            return lambda: r.choice([0.0, -0.0, 1.5, -2.25, float("inf"), float("nan"), float(r.randrange(-99, 99))])
        if t.is_decimal(kind):
            limit = 10**kind.precision - 1
            return lambda: decimal.Decimal(r.choice([0, 1, -1, limit, -limit, r.randrange(-limit, limit)])).scaleb(
                -kind.scale, decimal.Context(prec=80))
        if t.is_date32(kind) or t.is_date64(kind):
            return lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randrange(-9999, 9999))
        if t.is_time(kind):
            return lambda: datetime.time(r.randrange(24), r.randrange(60), r.randrange(60))
        if t.is_timestamp(kind) or t.is_duration(kind):
            return lambda: 1000 * r.randrange(-10**6, 10**6)  # whole microseconds: Python's own types hold no less
        if t.is_interval(kind):
            return lambda: pa.MonthDayNano([r.randrange(-99, 99), r.randrange(-99, 99), r.randrange(-10**12, 10**12)])
        if t.is_fixed_size_binary(kind):
            return lambda: r.randbytes(kind.byte_width)
        if t.is_binary(kind) or t.is_large_binary(kind) or kind == pa.binary_view():
            return lambda: r.randbytes(r.choice([0, 1, 12, 13, 50]))
        if t.is_string(kind) or t.is_large_string(kind) or kind == pa.string_view():
            return lambda: r.choice(TEXTS)
        return None

    def nested(self, kind, n, nullable):
        r = self.random
        t = pa.types
        if t.is_dictionary(kind):
            values = pa.array(list(dict.fromkeys(self.maker(kind.value_type)() for _ in range(r.randrange(1, 9)))), kind.value_type)
            indices = [None if absent else r.randrange(len(values)) for absent in self.mask(n, nullable)]
            return pa.DictionaryArray.from_arrays(pa.array(indices, kind.index_type), values)
        if t.is_run_end_encoded(kind):
            ends, end = [], 0
            while end < n:
                end = min(n, end + r.randrange(1, 6))
                ends.append(end)
            return pa.RunEndEncodedArray.from_arrays(pa.array(ends, kind.run_end_type), self.array(kind.value_type, len(ends)), kind)
        if t.is_union(kind):
            return self.union(kind, n)
        if t.is_struct(kind):
            children = [self.array(field.type, n) for field in kind]
            return pa.StructArray.from_arrays(children, fields=list(kind), mask=pa.array(self.mask(n, nullable), pa.bool_()))
        if t.is_fixed_size_list(kind):
            child = self.array(kind.value_type, n * kind.list_size)
            if kind.list_size == 0:  # pyarrow cannot build these from arrays
                return pa.array([None if absent else [] for absent in self.mask(n, nullable)], kind)
            return pa.FixedSizeListArray.from_arrays(child, type=kind, mask=pa.array(self.mask(n, nullable), pa.bool_()))
        sizes = [r.choice([0, 0, 1, 2, 5]) for _ in range(n)]
        offsets = [0]
        for size in sizes:
            offsets.append(offsets[-1] + size)
        absent = self.mask(n, nullable)
        if t.is_map(kind):
            return pa.MapArray.from_arrays(pa.array([None if a else o for a, o in zip(absent + [False], offsets)], pa.int32()),
                                           self.array(kind.key_type, offsets[-1], False), self.array(kind.item_type, offsets[-1]),
                                           type=kind)
        child = self.array(kind.value_type, offsets[-1])
        if t.is_list(kind) or t.is_large_list(kind):
            make, width = (pa.ListArray, pa.int32()) if t.is_list(kind) else (pa.LargeListArray, pa.int64())
            return make.from_arrays(pa.array([None if a else o for a, o in zip(absent + [False], offsets)], width), child, type=kind)
        small = t.is_list_view(kind)
        make, width = (pa.ListViewArray, pa.int32()) if small else (pa.LargeListViewArray, pa.int64())
        order = list(range(n))
        r.shuffle(order)  # list views may point anywhere, in any order
        return make.from_arrays(pa.array([offsets[i] for i in order], width), pa.array([sizes[i] for i in order], width), child,
                                type=kind, mask=pa.array(absent, pa.bool_()))

    def union(self, kind, n):
        r = self.random
        codes = kind.type_codes
        ids = [r.randrange(len(codes)) for _ in range(n)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        types = pa.array([codes[i] for i in ids], pa.int8())
        if kind.mode == "sparse":
            children = [self.array(kind.field(i).type, n) for i in range(kind.num_fields)]
            return pa.UnionArray.from_sparse(types, children, names, list(codes))
        seen = [0] * len(codes)
        offsets = []
        for i in ids:
            offsets.append(seen[i])
            seen[i] += 1
        children = [self.array(kind.field(i).type, seen[i]) for i in range(kind.num_fields)]
        return pa.UnionArray.from_dense(types, pa.array(offsets, pa.int32()), children, names, list(codes))

    def batch(self, types, n):
        arrays = [self.array(kind, n) for kind in types]
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(types))])


def plain(value):
    """A Python value in which equal means the same bits of meaning: NaN equals NaN, -0.0 is not 0.0."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value) if value == value else b"nan")
    if hasattr(value, "dtype"):
        return plain(float(value))
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, pa.MonthDayNano):
        return [plain(child) for child in value]
    return value


def rows(array):
    """The values of an array, one a row; types that Python's own cannot hold are read as numbers."""
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        array = array.cast(pa.int64()) if not pa.types.is_duration(kind) else array.view(pa.int64())
    try:
        return [plain(value) for value in array.to_pylist()]
    except (ValueError, OverflowError):
        return [str(value) for value in array]
