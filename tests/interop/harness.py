# SPDX-License-Identifier: Apache-2.0
"""The frame of the interop tests: named checks, counts, and the closing line "N passed, N failed, N skipped"."""
import os
import subprocess
import sys
import traceback

BUILD = os.environ.get("BUILD", "build")
COLSHUF = os.path.join(BUILD, "colshuf")
DATA = os.environ.get("COLSHUF_TEST_DATA") or "../shared"


class Skip(Exception):
    """Raised by a check that cannot run here; its text is the reason."""


class Suite:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def check(self, name, function, *arguments):
        """Runs one check; a failure is printed and counted, the others go on."""
        try:
            function(*arguments)
        except Skip as reason:
            self.counts["skipped"] += 1
            print(f"  skip {name}: {reason}")
        except Exception:  # noqa: BLE001 - whatever goes wrong is a failed check
            self.counts["failed"] += 1
            print(f"FAIL {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            self.counts["passed"] += 1
            print(f"ok   {name}")
        sys.stdout.flush()

    def finish(self):
        print(", ".join(f"{n} {what}" for what, n in self.counts.items()))
        sys.exit(1 if self.counts["failed"] else 0)


def colshuf(*arguments, status=0):
    """Runs the command; its standard output as bytes. Any other exit status is an error that shows what it said."""
    done = subprocess.run([COLSHUF, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"colshuf {' '.join(map(str, arguments))} exits {done.returncode}, not {status}: "
                             f"{done.stderr.decode(errors='replace')}")
    return done.stdout


def data(path):
    """A file of the reference data, or Skip."""
    full = os.path.join(DATA, path)
    if not os.path.exists(full):
        raise Skip(f"no {full} (set COLSHUF_TEST_DATA to the folder of reference data)")
    return full
