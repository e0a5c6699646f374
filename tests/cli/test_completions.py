#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completions in the shells that they are for, typed at a terminal: every command, every option of every `colshuf COMMAND --help`, the words
that options take, files and folders. A shell that is not installed is skipped. Usage: test_completions.py BUILD
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))
import harness  # noqa: E402

PATIENCE = 30  # seconds for one answer
WORDS = {"--codec": {"lz4", "zstd", "snappy", "none"}, "--checksum": {"adler32", "crc32", "crc32c", "none"},
         "--compat": {"comet", "comet-1.1", "arrow"}, "--offsets": {"auto", "plain", "lengths"}, "--layout": {"compact", "arrow-rs"},
         "--rules": {"spark", "comet"}}


def commands():
    return re.findall(r"^  ([a-z]+) ", harness.colshuf("--help").decode(), re.M)


def options(command):
    """(long names, short names) of all that the help of a command lists."""
    found = re.findall(r"^  (?:(-\w), |    )(--[a-z-]+)", harness.colshuf(command, "--help").decode(), re.M)
    return {name for _, name in found}, {letter for letter, _ in found if letter}


class Terminal:
    """A shell that believes that somebody sits before it."""

    def __init__(self, arguments, folder, setup):
        environment = {"PATH": folder + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LANG": "C.UTF-8", "PS1": ""}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(os.path.join(folder, "here"))
            os.execvpe(arguments[0], arguments, environment)
        # 300 by 300 characters: no list is cut or asked about.
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 300, 300, 0, 0))
        self.n = 0
        self.type(setup + "\n")

    def _until(self, mark):
        said, end = b"", time.monotonic() + PATIENCE
        while mark not in said:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"nothing more after {said[-2000:]!r}")
            said += os.read(self.terminal, 1 << 16)
        return said

    def type(self, text, wait=0.05):
        """What the shell answers to the keys; then the line is thrown away."""
        os.write(self.terminal, text.encode())
        time.sleep(wait)  # the list comes after the keys, not after what is typed to throw the line away
        self.n += 1
        os.write(self.terminal, b"\x15" + f"echo MA''RK{self.n}\n".encode())
        return self._until(f"MARK{self.n}".encode()).decode(errors="replace").replace("\r", "\n")

    def close(self):
        os.close(self.terminal)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class Bash:
    name = "bash"

    def __init__(self, folder):
        # Lists come at the first tab, however long they are.
        self.terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], folder, "bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; "
                                 f"bind 'set page-completions off'; bind 'set enable-bracketed-paste off'; . {ROOT}/completions/colshuf.bash")

    def ask(self, line, wait):
        return self.terminal.type(line + "\t", wait).split("echo MA")[0]

    def close(self):
        self.terminal.close()


class Zsh:
    name = "zsh"

    def __init__(self, folder):
        functions = os.path.join(folder, "functions")
        os.mkdir(functions)
        shutil.copy(os.path.join(ROOT, "completions", "colshuf.zsh"), os.path.join(functions, "_colshuf"))
        self.terminal = Terminal(["zsh", "-f", "-i"], folder, f"fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -d {folder}/dump; LISTMAX=10000; "
                                 "unsetopt zle_bracketed_paste list_packed; PROMPT=; setopt no_always_last_prompt no_beep")

    def ask(self, line, wait):
        return self.terminal.type(line + "\t", wait).split("echo MA")[0]

    def close(self):
        self.terminal.close()


class Fish:
    """It tells completions without a terminal."""
    name = "fish"

    def __init__(self, folder):
        self.folder = folder

    def ask(self, line, _wait):
        script = f'source {ROOT}/completions/colshuf.fish; complete -C "$argv[1]"'
        environment = dict(os.environ, HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_DATA_HOME=self.folder,
                           PATH=self.folder + ":" + os.environ["PATH"])
        done = subprocess.run(["fish", "--no-config", "-c", script, line], cwd=os.path.join(self.folder, "here"), env=environment,
                              capture_output=True, text=True, check=True, timeout=PATIENCE)
        assert not done.stderr, done.stderr
        return line + "\n" + "\n".join(row.split("\t")[0] for row in done.stdout.splitlines())

    def close(self):
        pass


TOKEN = re.compile(r"(?<![\w.-])-{0,2}[\w./][\w./-]*")


def need(shell, line, wanted, unwanted=()):
    """The answer to a line and a tab has these words, and none of those. A busy machine gets a second chance."""
    for wait in (0.05, 2):
        said = shell.ask(line, wait)
        missing = set(wanted) - set(TOKEN.findall(said))
        if not missing:
            break
    assert not missing, f"{line!r} does not propose {sorted(missing)}: {said!r}"
    proposed = set(TOKEN.findall(said.replace(line, "", 1))) & set(unwanted)
    assert not proposed, f"{line!r} proposes {sorted(proposed)}: {said!r}"


def check_options(shell, command, everything):
    names, letters = options(command)
    need(shell, f"colshuf {command} --", names, everything - names)
    need(shell, f"colshuf {command} file.data --", names, everything - names)
    need(shell, f"colshuf {command} -", letters)


def check_words(shell):
    for option, words in WORDS.items():
        need(shell, f"colshuf write {option} ", words, {"file.data", "--output"})
        need(shell, f"colshuf write {option}=", words)
    need(shell, "colshuf read -f ", {"stream", "file", "csv", "json"})
    need(shell, "colshuf bench ", {"decode", "encode", "write"}, {"file.data"})
    need(shell, "colshuf bench decode ", {"file.data"}, {"encode"})


def check_files(shell):
    need(shell, "colshuf verify ", {"file.data", "folder/"})
    need(shell, "colshuf inspect file.data --html ", {"file.data", "folder/"})
    need(shell, "colshuf write --spill-dir ", {"folder/", "other/"}, {"file.data"})
    need(shell, "colshuf clean ", {"folder/", "other/"}, {"file.data"})
    need(shell, "colshuf write --partitions ", set(), {"file.data", "--output"})
    said = shell.ask("colshuf cat with", 0.5)
    assert re.search(r"with(\\ | )a(\\ | )blank\.data", said), f"a name with blanks: {said!r}"


def check_shell(suite, make):
    everything = set().union(*(options(command)[0] for command in commands()))
    with tempfile.TemporaryDirectory(prefix="colshuf-complete-") as folder:
        here = os.path.join(folder, "here")
        for path in (here, here + "/folder", here + "/other"):
            os.mkdir(path)
        for name in ("file.data", "with a blank.data", "zebra.index"):
            open(os.path.join(here, name), "wb").close()
        os.symlink(harness.COLSHUF, os.path.join(folder, "colshuf"))
        shell = make(folder)
        try:
            suite.check(f"{shell.name}: every command", need, shell, "colshuf ", commands(), {"file.data"})
            suite.check(f"{shell.name}: options without a command", need, shell, "colshuf --", {"--help", "--version"}, {"--codec"})
            for command in commands():
                suite.check(f"{shell.name}: every option of {command}", check_options, shell, command, everything)
            suite.check(f"{shell.name}: words that options take", check_words, shell)
            suite.check(f"{shell.name}: files and folders", check_files, shell)
        finally:
            shell.close()


def main():
    harness.COLSHUF = os.path.join(os.path.abspath(sys.argv[1]), "colshuf")
    suite = harness.Suite()
    for make in (Bash, Zsh, Fish):
        if shutil.which(make.name):
            check_shell(suite, make)
        else:
            print(f"  skip completions of {make.name}: it is not installed")
            suite.counts["skipped"] += 1
    suite.finish()


if __name__ == "__main__":
    main()
