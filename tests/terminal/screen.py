"""A program on a real pseudo-terminal, and what a person would see of it."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyte

from tests import starting

# The slave becomes the controlling terminal of a session of its own, so that Ctrl-C and job control are real.
LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


@dataclass
class Shown:
    code: int
    lines: list[str]  # all that scrolled by, and what stands there at the end
    frames: list[list[str]] = field(default_factory=list)  # what stood there, each time that something came
    raw: bytes = b""

    @property
    def seen(self) -> set[str]:
        """Every line that ever stood there."""
        return {line for frame in self.frames for line in frame}

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Person:
    """Acts a moment after `seen` stands on the screen: types `keys`, or makes the window as large as `window`."""

    seen: str
    keys: bytes = b""
    window: tuple[int, int] | None = None


HESITATES = 0.3  # seconds, in which others have the time to do something wrong


def set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def on_a_terminal(
    arguments: Sequence[str],
    *persons: Person,
    rows: int = 24,
    columns: int = 80,
    environment: dict[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    seconds: float = 60.0,
) -> Shown:
    master, slave = os.openpty()
    set_size(master, rows, columns)
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in {"CI", "NO_COLOR", "JPY_PARENT_PID", "COLUMNS", "LINES"}
    }
    command = [sys.executable, *arguments]
    start: Any = starting.OnATerminal
    if starting.real():
        start, command = subprocess.Popen, [sys.executable, "-S", "-c", LAUNCH, *command]
    process = start(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**kept, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1", **(environment or {})},
        start_new_session=True,
    )
    os.close(slave)
    screen = pyte.HistoryScreen(columns, rows, history=10_000)
    stream = pyte.ByteStream(screen)
    waiting, raw, frames = list(persons), b"", []
    until, acts = time.monotonic() + seconds, None
    try:
        while time.monotonic() < until:
            if acts is None and waiting and any(waiting[0].seen in line for line in screen.display):
                acts = time.monotonic() + HESITATES
            if acts is not None and time.monotonic() >= acts:
                person, acts = waiting.pop(0), None
                if person.window is not None:
                    set_size(master, *person.window)
                    screen.resize(*person.window)
                os.write(master, person.keys)
            ready, _, _ = select.select([master], [], [], 0.05)
            if not ready:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:  # Linux says EIO when nobody has the other end any more
                break
            raw += data
            stream.feed(data)
            frames.append([line.rstrip() for line in screen.display])
        code = process.wait(timeout=5)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
    assert not waiting, f"never seen: {waiting[0].seen}\n" + "\n".join(screen.display)
    gone = ["".join(row[x].data for x in range(screen.columns)).rstrip() for row in screen.history.top]
    lines = gone + [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return Shown(code, lines, frames, raw)
