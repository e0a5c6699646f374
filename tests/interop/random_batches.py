# SPDX-License-Identifier: Apache-2.0
"""Random pyarrow schemas and batches of every Arrow type that pyarrow can make, sliced at every level."""
import decimal
import random

import pyarrow as pa

INDEX_TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS = ["s", "ms", "us", "ns"]

FLAT = [
    pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.decimal32(7, 2), pa.decimal64(15, 3), pa.decimal128(38, 5),
    pa.decimal256(60, -2), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    *[pa.timestamp(u) for u in UNITS], pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin"),
    *[pa.duration(u) for u in UNITS], pa.month_day_nano_interval(), pa.binary(5), pa.binary(0), pa.binary(), pa.string(),
    pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view(),
]


def flat_type(rng):
    return rng.choice(FLAT)


def any_type(rng, depth):
    """A random type, nested up to depth levels."""
    if depth == 0 or rng.random() < 0.5:
        return flat_type(rng)
    child = any_type(rng, depth - 1)
    kind = rng.randrange(11)
    if kind == 0:
        return pa.list_(pa.field("item", child))
    if kind == 1:
        return pa.large_list(pa.field("element", child))
    if kind == 2:
        return pa.list_view(child)
    if kind == 3:
        return pa.large_list_view(child)
    if kind == 4:
        return pa.list_(child, rng.randrange(1, 4))
    if kind == 5:
        return pa.struct([pa.field("a", child), pa.field("b", any_type(rng, depth - 1))])
    if kind == 6:
        return pa.map_(rng.choice([pa.string(), pa.int32()]), child)
    if kind == 7:
        return pa.dense_union([pa.field("x", child), pa.field("y", flat_type(rng))], type_codes=[3, 7])
    if kind == 8:
        return pa.sparse_union([pa.field("x", child), pa.field("y", flat_type(rng))], type_codes=[0, 100])
    if kind == 9:
        return pa.run_end_encoded(rng.choice([pa.int16(), pa.int32(), pa.int64()]), rng.choice([pa.int32(), pa.string(), pa.bool_()]))
    return pa.dictionary(rng.choice(INDEX_TYPES), rng.choice([pa.string(), pa.int64(), pa.large_binary(), pa.decimal128(10, 2)]),
                         ordered=rng.random() < 0.3)


def validity(rng, n, nulls):
    return [rng.random() >= nulls for _ in range(n)]


def mask_array(rng, n, nulls):
    """A null mask for pyarrow's from_arrays; None where nothing is null."""
    mask = [rng.random() < nulls for _ in range(n)]
    return pa.array(mask, pa.bool_()) if any(mask) else None


def bitmap(valid):
    return pa.array(valid, pa.bool_()).buffers()[1]


def text(rng):
    return "".join(rng.choice("abcdeé天😁 ") for _ in range(rng.choice([0, 1, 3, 8, 12, 13, 40])))


def flat_array(rng, t, n, nulls):
    if pa.types.is_null(t):
        return pa.nulls(n)
    if pa.types.is_boolean(t):
        values = [rng.random() < 0.5 for _ in range(n)]
    elif pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view():
        values = [text(rng) for _ in range(n)]
    elif pa.types.is_fixed_size_binary(t):
        values = [rng.randbytes(t.byte_width) for _ in range(n)]
    elif pa.types.is_binary(t) or pa.types.is_large_binary(t) or t == pa.binary_view():
        values = [rng.randbytes(rng.choice([0, 1, 5, 12, 13, 50])) for _ in range(n)]
    elif pa.types.is_decimal(t):
        most = 10 ** min(t.precision, 25) - 1
        values = [decimal.Decimal(rng.randint(-most, most)).scaleb(-t.scale) for _ in range(n)]
    elif pa.types.is_float16(t):
        bits = [rng.choice([0, 0x8000, 0x3C00, 0x7C00, rng.randrange(0x7C00)]) for _ in range(n)]
        return pa.array([b if keep else None for b, keep in zip(bits, validity(rng, n, nulls))], pa.uint16()).view(t)
    elif pa.types.is_floating(t):
        values = [rng.choice([0.0, -0.0, 1.5, -2.25, float("inf"), rng.randint(-1000, 1000) / 8]) for _ in range(n)]
    elif t == pa.month_day_nano_interval():
        values = [pa.scalar((rng.randint(-99, 99), rng.randint(-99, 99), rng.randint(-10**12, 10**12)), t) for _ in range(n)]
        values = [v if keep else pa.scalar(None, t) for v, keep in zip(values, validity(rng, n, nulls))]
        return pa.array([v.as_py() for v in values], t)
    elif pa.types.is_integer(t):
        signed = pa.types.is_signed_integer(t)
        low = -(2 ** (t.bit_width - 1)) if signed else 0
        high = 2 ** (t.bit_width - signed) - 1
        values = [rng.choice([low, high, 0, 1, rng.randint(low, high)]) for _ in range(n)]
    else:  # temporals
        bits = t.bit_width
        high = 86399 if pa.types.is_time(t) else 10 ** (5 if bits == 32 else 12)
        low = 0 if pa.types.is_time(t) else -high
        step = 86400000 if t == pa.date64() else 1
        ints = [rng.randint(low // step, high // step) * step for _ in range(n)]
        storage = pa.int32() if bits == 32 else pa.int64()
        keep = validity(rng, n, nulls)
        return pa.array([v if k else None for v, k in zip(ints, keep)], storage).view(t)
    return pa.array([v if keep else None for v, keep in zip(values, validity(rng, n, nulls))], t)


def offsets_of(rng, n, most):
    at, offsets = rng.randrange(3), []
    for _ in range(n + 1):
        offsets.append(at)
        at += rng.randrange(most + 1)
    return offsets


def list_array(rng, t, n, nulls, depth):
    offsets = offsets_of(rng, n, 3)
    width = pa.int32() if pa.types.is_list(t) or pa.types.is_map(t) else pa.int64()
    values = random_array(rng, t.value_type, offsets[-1] + rng.randrange(3), nulls, depth + 1)
    valid = bitmap(validity(rng, n, nulls)) if nulls else None
    return pa.Array.from_buffers(t, n, [valid, pa.array(offsets, width).buffers()[1]], children=[values])


def map_array(rng, t, n, nulls, depth):
    offsets = offsets_of(rng, n, 2)
    m = offsets[-1] + rng.randrange(3)
    entries = pa.StructArray.from_arrays([random_array(rng, t.key_type, m, 0, depth + 1), random_array(rng, t.item_type, m, nulls, depth + 1)],
                                         fields=[t.key_field, t.item_field])
    valid = bitmap(validity(rng, n, nulls)) if nulls else None
    return pa.Array.from_buffers(t, n, [valid, pa.array(offsets, pa.int32()).buffers()[1]], children=[entries])


def list_view_array(rng, t, n, nulls, depth):
    m = rng.randrange(1, 3 * n + 2)
    sizes = [rng.randrange(min(3, m) + 1) for _ in range(n)]
    offsets = [rng.randrange(m - s + 1) for s in sizes]
    width = pa.int32() if pa.types.is_list_view(t) else pa.int64()
    values = random_array(rng, t.value_type, m, nulls, depth + 1)
    valid = bitmap(validity(rng, n, nulls)) if nulls else None
    return pa.Array.from_buffers(t, n, [valid, pa.array(offsets, width).buffers()[1], pa.array(sizes, width).buffers()[1]], children=[values])


def union_array(rng, t, n, nulls, depth):
    kinds = [rng.randrange(t.num_fields) for _ in range(n)]
    ids = pa.array([t.type_codes[k] for k in kinds], pa.int8())
    if t.mode == "sparse":
        children = [random_array(rng, t.field(i).type, n, nulls, depth + 1) for i in range(t.num_fields)]
        return pa.Array.from_buffers(t, n, [None, ids.buffers()[1]], children=children)
    used, offsets = [rng.randrange(3) for _ in range(t.num_fields)], []
    for k in kinds:
        offsets.append(used[k])
        used[k] += 1
    children = [random_array(rng, t.field(i).type, used[i] + rng.randrange(2), nulls, depth + 1) for i in range(t.num_fields)]
    return pa.Array.from_buffers(t, n, [None, ids.buffers()[1], pa.array(offsets, pa.int32()).buffers()[1]], children=children)


def run_end_array(rng, t, n, nulls, depth):
    ends, at = [], 0
    while at < n:
        at += rng.randrange(1, 5)
        ends.append(at)
    values = random_array(rng, t.value_type, len(ends), nulls, depth + 1)
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, t.run_end_type), values).slice(0, n)


def dictionary_array(rng, t, n, nulls, depth):
    m = rng.randrange(1, 6)
    values = flat_array(rng, t.value_type, m, 0)
    indices = pa.array([rng.randrange(m) if keep else None for keep in validity(rng, n, nulls)], t.index_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=t.ordered)


def random_array(rng, t, n, nulls, depth=0):
    """n rows of t, cut out of a longer array at random."""
    before, after = (rng.randrange(10), rng.randrange(3)) if rng.random() < 0.5 else (0, 0)
    m = n + before + after
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        array = list_array(rng, t, m, nulls, depth)
    elif pa.types.is_map(t):
        array = map_array(rng, t, m, nulls, depth)
    elif pa.types.is_list_view(t) or pa.types.is_large_list_view(t):
        array = list_view_array(rng, t, m, nulls, depth)
    elif pa.types.is_fixed_size_list(t):
        values = random_array(rng, t.value_type, m * t.list_size, nulls, depth + 1)
        valid = bitmap(validity(rng, m, nulls)) if nulls else None
        array = pa.Array.from_buffers(t, m, [valid], children=[values])
    elif pa.types.is_struct(t):
        children = [random_array(rng, f.type, m, nulls, depth + 1) for f in t]
        array = pa.StructArray.from_arrays(children, fields=list(t), mask=mask_array(rng, m, nulls))
    elif pa.types.is_union(t):
        array = union_array(rng, t, m, nulls, depth)
    elif pa.types.is_run_end_encoded(t):
        array = run_end_array(rng, t, m, nulls, depth)
    elif pa.types.is_dictionary(t):
        array = dictionary_array(rng, t, m, nulls, depth)
    else:
        array = flat_array(rng, t, m, nulls)
    return array.slice(before, n)


def random_schema(rng, depth=3):
    fields = []
    for i in range(rng.randrange(6)):
        metadata = {"b": "2", "a": "1"} if rng.random() < 0.2 else None
        fields.append(pa.field(rng.choice(["c%d" % i, "", "dupe"]), any_type(rng, depth), metadata=metadata))
    return pa.schema(fields, metadata={"z": "", "k": "v"} if rng.random() < 0.3 else None)


def random_batch(rng, schema, rows):
    nulls = rng.choice([0, 0, 0.2, 0.9])
    columns = [random_array(rng, f.type, rows, nulls) for f in schema]
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays([], fields=[])) if rows == 0 else zero_columns(rows, schema)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def zero_columns(rows, schema):
    table = pa.table({"a": pa.nulls(rows)}).select([])
    return table.to_batches()[0].replace_schema_metadata(schema.metadata)
