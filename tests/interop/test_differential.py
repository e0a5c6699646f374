# SPDX-License-Identifier: Apache-2.0
"""Arrow's golden streams and streams of every type, changed in some thousand ways: what colshuf accepts pyarrow accepts with the same
values, and the other way round, but for the exceptions below.

Usage: python test_differential.py [MUTANTS] [SEED]. Needs pyarrow; the library is $BUILD/libcolshuf.so. The same seed gives the same mutants.
"""
import ctypes
import io
import os
import random
import re
import sys
import tempfile

import pyarrow as pa
import pyarrow.ipc

import carrow
import ipc_peer
import random_arrow
from harness import BUILD, Skip, Suite, data

MUTANTS = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def read_by_colshuf(path):
    """As ipc_peer.outcome, by way of the C stream interface; what comes out must be valid for pyarrow, too."""
    try:
        stream = carrow.open_ipc(path)
    except carrow.Failure as problem:
        return "error", str(problem)
    try:
        reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        batches = list(reader)
    except (pa.ArrowException, OSError, ValueError) as problem:
        return "error", str(problem)
    try:
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as problem:
        return "read, but not valid for pyarrow", str(problem)
    return ipc_peer.told(reader.schema, batches)


def mutate(rng, original):
    """One to three changes of a stream: bits, bytes, numbers of 4 and 8 bytes, cuts, bytes too many or too few, bytes from elsewhere."""
    changed = bytearray(original)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(changed))
        kind = rng.randrange(10)
        if kind < 3:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind < 5:
            changed[at] = rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 16, 127, 128, 255])
        elif kind < 8:
            width = rng.choice([4, 8])
            at -= at % width
            old = int.from_bytes(changed[at:at + width], "little")
            new = rng.choice([0, 1, old + 1, old - 1, old * 2, old ^ 1 << rng.randrange(8 * width), (1 << 8 * width) - 1, 1 << 31, old + 8, old - 8])
            changed[at:at + width] = (new % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 8:
            other, n = rng.randrange(len(changed)), rng.choice([1, 4, 8, 16])
            changed[at:at + n] = changed[other:other + n]
        elif rng.random() < 0.5:
            del changed[at:at + rng.choice([1, 4, 8, len(changed)])]
            if not changed:
                return b"\0"
        else:
            changed[at:at] = bytes(rng.choice([1, 4, 8]))
    return bytes(changed)


def golden_streams():
    found = []
    for folder in ipc_peer.folder(data("arrow-testing/golden")):
        for path in ipc_peer.folder(folder):
            if path.endswith(".stream"):
                with open(path, "rb") as file:
                    found.append((os.path.join(*path.split(os.sep)[-2:]), file.read()))
    return found


def made_streams():
    """Small streams of every type, most of which is metadata."""
    made = []
    for seed in range(60):
        generator = random_arrow.Generator(seed)
        try:
            batches = [generator.batch([generator.type() for _ in range(2)], 5)]
            sink = io.BytesIO()
            options = pa.ipc.IpcWriteOptions(compression=[None, "lz4", "zstd"][seed % 3])
            with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
                writer.write_batch(batches[0])
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            continue  # a combination that pyarrow cannot build
        made.append((f"made {seed}", sink.getvalue()))
    return made


# Where they differ, and why that is right: what colshuf says, what pyarrow says (regular expressions; "rows" = it reads them), the reason.
EXCEPTIONS = [
    # colshuf refuses what pyarrow reads.
    ("trailing data after the end of the stream", "rows",
     "bytes behind the end marker: pyarrow does not look at them"),
    ("metadata: .*(needs|vtable|stands at|not aligned)", "rows",
     "a table, vtable or vector that does not lie in the metadata as the flatbuffer's own sizes say: pyarrow verifies only what it uses of it"),
    ("(buffer \\d+ of -?\\d+ bytes at -?\\d+ is outside of the body|buffer \\d+)", "rows",
     "a validity buffer of no nulls that is not in the body, or does not decompress: pyarrow passes over it by its null count"),
    ("(field node with length \\d+ and null count|has no validity, but null count)", "rows",
     "a null count below 0 or above the length: pyarrow does not look at it (unions), or counts anew"),
    ("left over after the last column", "rows",
     "more field nodes or buffers than the schema has: pyarrow does not look at them"),
    ("child \\d+ .* has \\d+ values, its parent \\d+", "rows",
     "children of sparse unions longer than these: pyarrow takes the first values, as the C Data Interface does"),
    ("null in a non-nullable field", "rows",
     "pyarrow does not hold nulls against the schema"),
    ("holds a zero byte", "rows",
     "a name or time zone with a zero byte, which the C Data Interface would cut"),
    ("dictionary of id .* values in a batch of \\d+ rows", "rows",
     "the length of a dictionary batch: pyarrow takes that of its field node"),
    ("view of \\d+ bytes: ", "rows",
     "views under nulls: pyarrow does not look at them"),
    ("is not UTF-8", "rows",
     "names and time zones that are not UTF-8: pyarrow does not look at them"),
    ("schema: .*(unit|precision|mode) -?\\d+", "rows",
     "numbers that stand for nothing (units, precisions, modes): pyarrow takes the last one that it knows"),
    ("(must be -?\\d+ to -?\\d+|has \\d+ children, must have)", "rows",
     "scales, widths and numbers of children that the type cannot have: pyarrow does not look at them"),
    ("record batch of -\\d+ rows", "rows",
     "the length of a dictionary batch below 0: pyarrow takes that of its field node"),
    ("dictionary of id", "rows",
     "faults in the values of a dictionary: pyarrow validates those that a batch uses"),
    # colshuf reads what pyarrow refuses.
    ("\\d+ run ends, but \\d+ values", "rows",
     "run-end encoded values without a run: pyarrow does not look at them"),
    ("rows", "Lz4 decompression buffer too small",
     "a compressed buffer that announces no bytes: colshuf takes none out of it"),
    ("rows", "Offsets buffer size .* for length: 0 and offset: 0",
     "no rows with too few bytes of offsets: none are needed"),
    ("rows", "metadata V4",
     "compressed bodies in V4 metadata: pyarrow looks for their codec where 0.17 wrote it"),
    ("rows", "Unexpected null field Schema.fields",
     "a schema without fields: colshuf takes it for one of no columns"),
    ("rows", "ZSTD decompression failed",
     "damage inside a zstd block that one version of libzstd notices and another does not"),
    ("rows", "Unexpected null field custom_metadata",
     "metadata without a key or a value: colshuf takes it as empty"),
    ("rows", "did not start on 8-byte aligned offset",
     "buffers at any place of the body: colshuf copies what is misaligned"),
    ("rows", "null_count value \\(\\d+\\) doesn't match actual number of nulls",
     "the null count of a child of type null: it has as many as it has rows"),
    ("rows", "byte width of FixedSizeBinaryType too large",
     "fixed-size binaries of 2 GiB, of which there are none"),
    ("rows", "Map's (key-item pairs|keys) must be non-nullable",
     "maps whose schema lets entries or keys be null: colshuf holds the values themselves against that"),
    ("non-monotonic offset", "non-monotonic offset",
     "dense unions whose offsets do not rise: colshuf, as arrow-rs, wants them within their child"),
    ("(precision|acceptable range|whole number of days)", "(precision|acceptable range|whole number of days|8-byte aligned offset|decompression failed)",
     "values that their type has no meaning for (decimals beyond the precision, times beyond a day, odd date64): colshuf moves them as they are"),
]


def says(outcome):
    return "rows" if outcome[0] == "rows" else outcome[1]


def exception_for(found, wanted):
    """The reason why the two may differ, or None."""
    for colshuf, pyarrow, reason in EXCEPTIONS:
        if "rows" != says(found) == says(wanted):
            continue
        if matches(colshuf, found) and matches(pyarrow, wanted):
            return reason
    return None


def matches(pattern, outcome):
    return outcome[0] == "rows" if pattern == "rows" else outcome[0] != "rows" and re.search(pattern, outcome[1], re.DOTALL) is not None


class Differential:
    def __init__(self, directory):
        self.path = os.path.join(directory, "mutant.arrows")
        self.pyarrow = ipc_peer.Worker(ipc_peer.outcome)
        self.colshuf = ipc_peer.Worker(read_by_colshuf)
        self.counts = {"read alike": 0, "refused by both": 0}

    def compare(self, mutant):
        with open(self.path, "wb") as file:
            file.write(mutant)
        found, wanted = self.colshuf(self.path), self.pyarrow(mutant)
        assert found is not ipc_peer.CRASHED and found != ipc_peer.CRASHED, "colshuf ended the process"
        if ipc_peer.same(found, wanted):
            self.count("read alike" if found[0] == "rows" else "refused by both")
            return
        reason = exception_for(found, wanted)
        assert reason, f"colshuf: {str(found)[:400]}\npyarrow: {str(wanted)[:400]}"
        self.count(reason)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def stream(self, name, original, n):
        rng = random.Random(f"{SEED} {name}")
        problems = []
        self.compare(original)
        for i in range(n):
            mutant = mutate(rng, original)
            try:
                self.compare(mutant)
            except AssertionError as problem:
                problems.append(f"mutant {i}: {problem}")
        assert not problems, f"{len(problems)} of {n} mutants differ:\n" + "\n".join(problems[:5])


def main():
    suite = Suite()
    carrow.load(os.path.join(BUILD, "libcolshuf.so"))
    streams = made_streams()
    try:
        streams += golden_streams()
    except Skip as reason:
        print(f"  skip golden streams: {reason}")
        suite.counts["skipped"] += 1
    with tempfile.TemporaryDirectory() as directory:
        differential = Differential(directory)
        for name, original in streams:
            suite.check(f"{name}, {len(original)} bytes", differential.stream, name, original, max(1, MUTANTS // len(streams)))
        for what, n in sorted(differential.counts.items()):
            print(f"{n} {what}")
        differential.pyarrow.close()
        differential.colshuf.close()
    suite.finish()


if __name__ == "__main__":
    main()
