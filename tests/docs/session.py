"""One page, from its first block to its last, in a folder of its own: as a reader would type it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests import starting
from tests.docs import blocks

HERE = Path(__file__).parent
SECONDS = 300  # for one command, on a busy machine

# What a verb says on stderr when it takes long: how far it is depends on the machine.
PROGRESS = re.compile(r"^premortem [a-z -]+: .* (s|min|h)( left)?\n", re.MULTILINE)


class Session:
    def __init__(self, page, folder):
        self.folder = folder / "project"
        shutil.copytree(blocks.files(page), self.folder)
        shutil.copy(HERE / "given.py", self.folder)
        own = {"HOME": str(folder), "PREMORTEM_CACHE_DIR": str(folder / "cache"), "COLUMNS": "100"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in {"FORCE_COLOR", "PYTEST_CURRENT_TEST"}
            },
            **own,
            "PATH": path,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",  # what is printed and what is told come in the order of a terminal
        }

    def follow(self, block):
        """Do with a block what its reader would do."""
        if block.title and block.language == "diff":
            self._change(block)
        elif block.title:
            target = self.folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            self._python(block)
        elif block.language == "ipython":
            (self.folder / "cells.txt").write_text(block.text, encoding="utf-8")
            self._succeeds(block, [sys.executable, str(HERE / "notebook.py"), "cells.txt"])
        elif block.language == "console":
            self._type(block)

    def _change(self, block):
        """Apply a diff without line numbers: what it takes away must be there, once."""
        target = self.folder / block.title
        lines = block.text.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        text = target.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{block}: what it changes is in {block.title} {text.count(old)} times"
        target.write_text(text.replace(old, new), encoding="utf-8")

    def _python(self, block):
        tests = re.search(r"^def test_", block.text, re.MULTILINE)
        script = self.folder / ("test_block.py" if tests else "block.py")
        script.write_text(f"from given import *\n{block.text}", encoding="utf-8")
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", script.name] if tests else [script.name]
        self._succeeds(block, [sys.executable, *command])
        script.unlink()

    def _succeeds(self, block, command):
        code, said = self._run(command)
        assert code == 0, f"{block} exits with {code}:\n{said}"

    def _type(self, block):
        commands = block.commands
        codes = [int(word) for word in block.marks.get("exits", "0").split()]
        codes = codes * len(commands) if len(codes) == 1 else codes
        for (command, shown), wanted in zip(commands, codes, strict=True):
            columns = int(block.marks.get("at a terminal", 0))
            code, said = (self._at_a_terminal if columns else self._run)(["bash", "-c", command], columns)
            assert code == wanted, f"{block}: `{command}` exits with {code}, not {wanted}:\n{said}"
            assert agree(shown, said), f"{block}: `{command}` says\n{said}\nand not\n" + "\n".join(shown)

    def _run(self, command, _columns=0):
        done = starting.run(
            unshelled(command),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
        return done.returncode, PROGRESS.sub("", done.stdout)

    def _at_a_terminal(self, command, columns):
        reader, writer = pty.openpty()
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {**self.environment, "TERM": "dumb"}
        environment.pop("COLUMNS")
        process = subprocess.Popen(
            command, stdin=writer, stdout=writer, stderr=writer, cwd=self.folder, env=environment
        )
        os.close(writer)
        said = b""
        while chunk := _read(reader):
            said += chunk
        os.close(reader)
        return process.wait(SECONDS), said.decode().replace("\r\n", "\n")


def unshelled(command):
    """A `premortem ...` without anything that a shell does to it needs no shell, which would start a real process."""
    if command[0] != "bash" or starting.real() or not re.fullmatch(r"premortem [\w\s./=:,+@-]*", command[2]):
        return command
    return [str(Path(sys.executable).with_name("premortem")), *command[2].split()[1:]]


def _read(reader):
    try:
        return os.read(reader, 65536)
    except OSError:  # how Linux says that the other end of a terminal is closed
        return b""


def agree(shown, said):
    """Whether this is what was printed. A line `...` stands for any lines; `…` in a line for anything, if need be as
    long as to be wrapped. Nothing shown claims nothing."""
    shown = "\n".join(shown).strip("\n").split("\n")
    if shown == [""]:
        return True
    patterns = []
    for line in shown:
        if line.strip() in {"...", "…"}:
            patterns.append(r"(?:.*\n)*?")
        else:
            parts = [re.escape(part) for part in re.split(r"\s*…", line.rstrip())]
            patterns.append(r".*(?:\n +.*)?".join(parts) + r"[ \t]*\n")
    return re.fullmatch("".join(patterns), said.strip("\n") + "\n") is not None
