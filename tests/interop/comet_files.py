#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decodes every block of the shuffle files that the real Comet wrote, partition by partition, and compares each row with the input row
of the same id, and the ids with what Spark read back. Then the hostile and odd blocks, whose verdicts must be the documented ones.

usage: comet_files.py LIBCOLSHUF.so [FOLDER]
FOLDER is by default comet in COLSHUF_TEST_DATA (../shared); exit 77 where it is missing.
"""
import glob
import json
import os
import struct
import sys

import carrow

# Where colshuf deliberately differs from Comet 1.2.0.
OURS = {
    "noeos_LZ4": "accepts",       # a whole frame without the IPC end marker: nothing is missing
    "noeos": "accepts",
    "flag_negative": "rejects",   # a negative length
    "flag_large_untouched": "rejects",  # plain offsets under the flag: they make no sense as lengths
    "dict_index_int8": "accepts", "dict_index_int16": "accepts", "dict_index_int64": "accepts", "dict_index_uint8": "accepts",
    "view": "accepts",            # refused by Comet's JVM side only
}
INPUTS = {"many": "many.arrow", "longs": "longs.arrow"}


def plain(value):
    """Without the names of struct fields: the two writers of Comet call them differently."""
    if isinstance(value, list):
        if value and all(isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) for v in value):
            return ("struct",) + tuple(plain(v[1]) for v in value)
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    return value


def read_input(path):
    schema, batches = carrow.drain(carrow.open_ipc(path))
    names = [child[1] for child in schema[4]]
    rows = [[plain(v) for _, v in row] for batch in batches for row in batch]
    return names, {row[names.index("id")]: row for row in rows}


def check_case(folder, inputs):
    """(blocks, rows, list of faults) of one shuffle output."""
    case = os.path.basename(folder)
    name = next((file for key, file in INPUTS.items() if case.startswith(key)), "alltypes.arrow")
    names, by_id = inputs[name]
    expected = json.load(open(os.path.join(folder, "expected.json")))["ids_by_partition"]
    data_path, = glob.glob(os.path.join(folder, "*.data"))
    data = open(data_path, "rb").read()
    index = open(data_path[:-len("data")] + "index", "rb").read()
    offsets = struct.unpack(">%dq" % (len(index) // 8), index)
    decoder, blocks, rows, faults = carrow.Decoder(), 0, 0, []
    wanted_columns = [names.index(n) for n in ("id", "k", "s")] if case == "rr4" else list(range(len(names)))
    id_place = wanted_columns.index(names.index("id"))
    for partition, (start, end) in enumerate(zip(offsets, offsets[1:])):
        ids = []
        for schema, batch in decoder.decode_all(data[start:end]):
            blocks += 1
            for row in batch:
                found = [plain(v) for _, v in row]
                ids.append(found[id_place])
                wanted = [by_id[ids[-1]][i] for i in wanted_columns]
                if found != wanted:
                    faults.append(f"partition {partition}, id {ids[-1]}:\n  {found}\n  {wanted}")
        rows += len(ids)
        if ids != expected.get(str(partition), []):
            faults.append(f"partition {partition}: ids differ")
    decoder.close()
    return blocks, rows, faults


def check_verdicts(root):
    """The blocks of guards and probes: (count, faults)."""
    count, faults = 0, []
    for table in ("guards", "probes"):
        lines = open(os.path.join(root, table + ".tsv")).read().splitlines()[1:]
        for line in lines:
            name, comet = line.split("\t")[:2]
            wanted = OURS.get(name, comet.split()[-1])
            data = open(os.path.join(root, table, name), "rb").read()
            decoder = carrow.Decoder()
            try:
                decoder.decode_all(data)
                found, text = "accepts", ""
            except carrow.Failure as failure:
                found, text = "rejects", str(failure)
            decoder.close()
            count += 1
            if found != wanted:
                faults.append(f"{table}/{name}: {found} ({text}), wanted: {wanted}")
    return count, faults


def main():
    carrow.load(sys.argv[1])
    root = carrow.test_folder("comet")
    inputs = {name: read_input(os.path.join(root, name)) for name in ("alltypes.arrow", "many.arrow", "longs.arrow")}
    all_blocks = all_rows = cases = 0
    faults = []
    for path in sorted(glob.glob(os.path.join(root, "*", "*", "expected.json"))):
        folder = os.path.dirname(path)
        blocks, rows, found = check_case(folder, inputs)
        cases, all_blocks, all_rows = cases + 1, all_blocks + blocks, all_rows + rows
        faults += [f"{os.path.relpath(folder, root)}: {fault}" for fault in found]
    verdicts, found = check_verdicts(root)
    faults += found
    for fault in faults[:20]:
        print(fault)
    print(f"{cases} files, {all_blocks} blocks, {all_rows} rows, {verdicts} verdicts, {len(faults)} faults")
    return 1 if faults or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
