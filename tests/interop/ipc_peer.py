# SPDX-License-Identifier: Apache-2.0
"""What pyarrow makes of Arrow IPC bytes, and what colshuf makes of them, in one form: ("rows", types, rows) or ("error", why).

Both are read in worker processes: bytes that nobody made on purpose may end a peer, or take it too long.
"""
import multiprocessing
import os
import resource

import pyarrow as pa
import pyarrow.ipc

import random_arrow

MOST_SECONDS, MOST_BYTES = 20, 3 << 30
CRASHED = ("error", "the process ended")


def read(data):
    """Schema and batches of a stream or file, every array validated in full."""
    reader = pa.ipc.open_file(data) if data[:6] == b"ARROW1" else pa.ipc.open_stream(data)
    is_file = hasattr(reader, "num_record_batches")
    batches = [reader.get_batch(i) for i in range(reader.num_record_batches)] if is_file else list(reader)
    for batch in batches:
        batch.validate(full=True)
    return reader.schema, batches


def outcome(data):
    """Read and told in one form."""
    try:
        schema, batches = read(data)
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as problem:
        return "error", f"{type(problem).__name__}: {problem}{' (metadata V4)' if is_v4(data) else ''}"
    return told(schema, batches)


def is_v4(data):
    """Whether a message of a stream says that its metadata is version V4."""
    try:
        return any(message.metadata_version == pa.ipc.MetadataVersion.V4 for message in pa.ipc.MessageReader.open_stream(data))
    except (pa.ArrowException, OSError, ValueError):
        return False


def told(schema, batches):
    """Rows by their values, whatever batches they came in, as text: not every value can be sent to another process."""
    try:
        types = [f"{field.name} {field.type} {field.nullable}" for field in schema]
        for batch in batches:
            batch.columns  # noqa: B018
    except (UnicodeDecodeError, KeyError) as problem:
        return "rows", "names or types that Python has no form for", str(problem)
    if sum(batch.num_rows for batch in batches) > 100000:
        return "rows", types, repr([batch.num_rows for batch in batches])
    rows = []
    for batch in batches:
        columns = [column_rows(column) for column in batch.columns]
        rows += list(zip(*columns)) if columns else [()] * batch.num_rows
    return "rows", types, repr(rows)


def column_rows(array):
    try:
        return random_arrow.rows(array)
    except Exception:  # noqa: BLE001 - values that Python has no form for (dates before year 1, ...): as Arrow itself prints them
        return [array.slice(i, 1).to_string() for i in range(len(array))]


def work(function, pipe):
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        argument = pipe.recv()
        if argument is None:
            return
        try:
            pipe.send(function(argument))
        except MemoryError:
            pipe.send(("error", "no memory"))


class Worker:
    """Calls function in a process of its own, again and again; a call that ends the process, or takes too long, gives CRASHED."""

    def __init__(self, function):
        self.function = function
        self.process = None

    def start(self):
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(self.function, other), daemon=True)
        self.process.start()
        other.close()

    def __call__(self, argument):
        if self.process is None:
            self.start()
        self.pipe.send(argument)
        try:
            if self.pipe.poll(MOST_SECONDS):
                return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            pass
        self.close()
        return CRASHED

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None


def worker_of_pyarrow():
    return Worker(outcome)


def same(one, other):
    """Whether two outcomes are the same: rows that are equal, or errors, whatever they say."""
    return one[0] == other[0] and (one[0] == "error" or one[1:] == other[1:])


def reading_of(path):
    """The outcome of a file that colshuf has written."""
    with open(path, "rb") as file:
        return outcome(file.read())


def folder(path):
    return sorted(os.path.join(path, name) for name in os.listdir(path))
