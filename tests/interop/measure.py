# SPDX-License-Identifier: Apache-2.0
"""Runs a command and says what it took: one JSON line with its exit status, CPU seconds, and most resident memory in KiB.

Usage: python -S measure.py SECONDS COMMAND…. Imports nothing large: the child's peak starts at that of the process that makes it.
"""
import json
import os
import signal
import sys


def main():
    seconds, command = int(sys.argv[1]), sys.argv[2:]
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.execvp(command[0], command)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(seconds)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps({"status": os.waitstatus_to_exitcode(status), "seconds": usage.ru_utime + usage.ru_stime, "kib": usage.ru_maxrss}))


if __name__ == "__main__":
    main()
