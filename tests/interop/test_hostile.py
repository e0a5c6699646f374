# SPDX-License-Identifier: Apache-2.0
"""Every input that fuzzing of Arrow itself found: colshuf ends with one sentence, or gives the rows that pyarrow gives; in 2 s and 1 GiB.

Usage: python test_hostile.py. Needs pyarrow; the command is $BUILD/colshuf, the inputs are arrow-testing/ of the reference data.
"""
import json
import os
import subprocess
import sys
import tempfile

from harness import COLSHUF, Suite, data
from ipc_peer import folder, reading_of, same, worker_of_pyarrow

MOST_SECONDS, MOST_KIB = 2, 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))


def measured(*command):
    """What a command took (measure.py), and what it said on standard error."""
    done = subprocess.run([sys.executable, "-S", "-E", os.path.join(HERE, "measure.py"), "60", *command], capture_output=True, check=True)
    return json.loads(done.stdout), done.stderr.decode(errors="replace")


def converts_or_refuses(path, target, pyarrow):
    took, said = measured(COLSHUF, "convert", path, "-o", target, "--format", "stream")
    assert took["seconds"] <= MOST_SECONDS, took
    assert took["kib"] <= MOST_KIB, took
    if took["status"] != 0:
        assert took["status"] == 1, (took, said)  # damage, whatever the damage: no call for more memory
        assert said.count("\n") == 1 and said.startswith("colshuf: "), said
        assert not os.path.exists(target), "an output was left"
        return "refused"
    with open(path, "rb") as file:
        wanted = pyarrow(file.read())
    found = reading_of(target)
    os.remove(target)
    assert same(found, wanted), f"colshuf reads {str(found)[:300]}, pyarrow {str(wanted)[:300]}"
    return "read"


def main():
    suite, pyarrow, counts = Suite(), worker_of_pyarrow(), {"refused": 0, "read": 0}

    def check(path, target):
        counts[converts_or_refuses(path, target, pyarrow)] += 1

    def check_folder(name):
        paths = folder(data(name))
        assert len(paths) > 20, paths
        with tempfile.TemporaryDirectory() as directory:
            for path in paths:
                suite.check(f"{name} {os.path.basename(path)}", check, path, os.path.join(directory, "out.arrows"))

    suite.check("arrow-testing/fuzz-stream", check_folder, "arrow-testing/fuzz-stream")
    suite.check("arrow-testing/fuzz-file", check_folder, "arrow-testing/fuzz-file")
    pyarrow.close()
    print(f"{counts['refused']} refused, {counts['read']} read as pyarrow reads them")
    suite.finish()


if __name__ == "__main__":
    main()
