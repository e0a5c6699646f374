#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every stream and file of Arrow's integration goldens through libcolshuf and compares schema and values with their JSON.

usage: golden_json.py LIBCOLSHUF.so [FOLDER]
FOLDER is by default arrow-testing/golden in COLSHUF_TEST_DATA (../shared); exit 77 where it is missing.
Needs nothing but Python. Prints one line per file that differs and a summary; exit 1 when one did.
"""
import glob
import gzip
import json
import os
import struct
import sys

import carrow

UNITS = {"SECOND": "s", "MILLISECOND": "m", "MICROSECOND": "u", "NANOSECOND": "n"}


def type_format(field):
    t = field["type"]
    name = t["name"]
    plain = {"null": "n", "bool": "b", "utf8": "u", "binary": "z", "largeutf8": "U", "largebinary": "Z", "list": "+l",
             "largelist": "+L", "struct": "+s", "map": "+m", "utf8view": "vu", "binaryview": "vz", "runendencoded": "+r"}
    if name in plain:
        return plain[name]
    if name == "int":
        code = {8: "c", 16: "s", 32: "i", 64: "l"}[t["bitWidth"]]
        return code if t["isSigned"] else code.upper()
    if name == "floatingpoint":
        return {"HALF": "e", "SINGLE": "f", "DOUBLE": "g"}[t["precision"]]
    if name == "decimal":
        width = t.get("bitWidth", 128)
        return "d:%d,%d" % (t["precision"], t["scale"]) + ("" if width == 128 else ",%d" % width)
    if name == "date":
        return "tdD" if t["unit"] == "DAY" else "tdm"
    if name == "time":
        return "tt" + UNITS[t["unit"]]
    if name == "timestamp":
        return "ts" + UNITS[t["unit"]] + ":" + t.get("timezone", "")
    if name == "duration":
        return "tD" + UNITS[t["unit"]]
    if name == "interval":
        return {"YEAR_MONTH": "tiM", "DAY_TIME": "tiD", "MONTH_DAY_NANO": "tin"}[t["unit"]]
    if name == "fixedsizebinary":
        return "w:%d" % t["byteWidth"]
    if name == "fixedsizelist":
        return "+w:%d" % t["listSize"]
    if name == "union":
        return "+u%s:%s" % (t["mode"][0].lower(), ",".join(map(str, t["typeIds"])))
    raise ValueError(name)


def index_format(field):
    index = field["dictionary"]["indexType"]
    code = {8: "c", 16: "s", 32: "i", 64: "l"}[index["bitWidth"]]
    return code if index["isSigned"] else code.upper()


def pairs(field):
    return sorted((p["key"], p["value"]) for p in field.get("metadata") or [])


def describe(field, as_values=False):
    """As carrow.describe."""
    children = [describe(child) for child in field.get("children", [])]
    if "dictionary" in field and not as_values:
        return (index_format(field), field["name"], field["nullable"], pairs(field), [], describe(field, True))
    name = "" if as_values else field["name"]
    return (type_format(field), name, True if as_values else field["nullable"], [] if as_values else pairs(field), children, None)


def float_bits(value, form):
    code, integer = {"e": ("<e", "<H"), "f": ("<f", "<I"), "g": ("<d", "<Q")}[form]
    return struct.unpack(integer, struct.pack(code, value))[0]


def scalar(value, form):
    if form == "b":
        return bool(value)
    if form in ("e", "f", "g"):
        return float_bits(float(value), form)
    if form in ("u", "U"):
        return value
    if form in ("z", "Z") or form[:2] == "w:":
        return bytes.fromhex(value)
    if form == "tiD":
        return (value["days"], value["milliseconds"])
    if form == "tin":
        return (value["months"], value["days"], int(value["nanoseconds"]))
    return int(value)


def nested(field, column, form, dictionaries):
    n = column["count"]
    children = [decode(f, x, dictionaries) for f, x in zip(field["children"], column["children"])]
    offsets = [int(x) for x in column.get("OFFSET", [])]
    if form in ("+l", "+L", "+m"):
        lists = [children[0][a:b] for a, b in zip(offsets, offsets[1:])]
        return [[(e[0][1], e[1][1]) for e in entries] for entries in lists] if form == "+m" else lists
    if form[:3] == "+w:":
        k = int(form[3:])
        return [children[0][i * k:(i + 1) * k] for i in range(n)]
    if form == "+s":
        names = [f["name"] for f in field["children"]]
        return [[(name, child[i]) for name, child in zip(names, children)] for i in range(n)]
    ids = field["type"]["typeIds"]
    places = offsets if form[2] == "d" else range(n)
    return [(t, children[ids.index(t)][p]) for t, p in zip(column["TYPE_ID"], places)]


def decode(field, column, dictionaries, as_values=False):
    """The values of a JSON column as carrow.values gives them."""
    form = type_format(field)
    if "dictionary" in field and not as_values:
        words = dictionaries[field["dictionary"]["id"]]
        out = [words[int(i)] if v else None for i, v in zip(column["DATA"], column["VALIDITY"])]
        return out
    if form == "n":
        return [None] * column["count"]
    if form[:2] in ("+l", "+L", "+w", "+s", "+m", "+u"):
        out = nested(field, column, form, dictionaries)
    else:
        out = [scalar(v, form) for v in column["DATA"]]
    if "VALIDITY" in column and form[:2] != "+u":
        out = [v if valid else None for v, valid in zip(out, column["VALIDITY"])]
    return out


def dictionary_fields(field, found):
    for child in field.get("children", []):
        dictionary_fields(child, found)
    if "dictionary" in field:
        found.setdefault(field["dictionary"]["id"], field)


def load_json(path):
    with gzip.open(path) as file:
        data = json.load(file)
    fields = data["schema"]["fields"]
    by_id, dictionaries = {}, {}
    for field in fields:
        dictionary_fields(field, by_id)
    columns = {d["id"]: d["data"]["columns"][0] for d in data.get("dictionaries", [])}

    class Lazy(dict):  # dictionaries may lie inside others, in any order
        def __missing__(self, key):
            self[key] = decode(by_id[key], columns[key], self, True)
            return self[key]

    dictionaries = Lazy()
    batches = []
    for batch in data["batches"]:
        decoded = [decode(f, x, dictionaries) for f, x in zip(fields, batch["columns"])]
        names = [f["name"] for f in fields]
        batches.append([[(name, column[i]) for name, column in zip(names, decoded)] for i in range(batch["count"])])
    schema = ("+s", "", False, pairs(data["schema"]), [describe(f) for f in fields], None)
    return schema, batches


def same_schema(a, b, in_map=0):
    """Metadata has no order. Names inside a map are free: one golden stream was written with others than its JSON has."""
    if a is None or b is None:
        return a == b
    below = 2 if a[0] == "+m" else in_map - 1
    return (a[0] == b[0] and (a[1] == b[1] or in_map > 0) and a[2] == b[2] and sorted(a[3]) == sorted(b[3]) and
            len(a[4]) == len(b[4]) and all(same_schema(x, y, below) for x, y in zip(a[4], b[4])) and same_schema(a[5], b[5]))


def main():
    carrow.load(sys.argv[1])
    root = carrow.test_folder("arrow-testing/golden")
    failed = total = rows = 0
    for path in sorted(glob.glob(os.path.join(root, "**", "*.json.gz"), recursive=True)):
        schema, batches = load_json(path)
        for suffix in (".stream", ".arrow_file"):
            for trusted in (False, True):
                total += 1
                name = path[:-len(".json.gz")] + suffix
                try:
                    found_schema, found = carrow.drain(carrow.open_ipc(name, trusted))
                except carrow.Failure as failure:
                    print(f"{name}: {failure}")
                    failed += 1
                    continue
                rows += sum(len(b) for b in found)
                if not same_schema(found_schema, schema):
                    print(f"{name}: schema\n  {found_schema}\n  {schema}")
                    failed += 1
                elif found != batches:
                    print(f"{name}: values differ: {[len(b) for b in found]} and {[len(b) for b in batches]} rows")
                    failed += 1
    print(f"{total} readings, {rows} rows, {failed} differ")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
