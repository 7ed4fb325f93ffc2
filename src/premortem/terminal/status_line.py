"""One line beneath the cursor, for a person at a terminal, that gives way to everything else.

    epoch 3 loss 0.52                       the script's own lines
    ▮                                       the cursor: here the script goes on
              step 1,204 · loss 0.3127 …    ours: drawn from the cursor's place and back to it

The cursor never moves and nothing above or left of it is touched, so that unannounced text (a warning written by
C++ code, the echo of Ctrl-C, a prompt) stands where it would stand without us. What passes a covered stream (`logs.Tee`)
has the line erased before its first byte goes out. The line is drawn only where the script has ended its own line, has
been silent for a while, and has not moved the cursor lately: a progress bar has the terminal for itself.
"""

import mmap
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from premortem.terminal.other_writers import Announced, unseen

SILENT = 1.0  # seconds without a byte of the script's before the line is drawn
MOVED = 10.0  # ... and since it last moved the cursor
NARROW, LOW = 40, 4  # columns and rows below which there is no line
WIDE = 100  # columns that are used; on a wider terminal the line would be out of sight

_SAVE, _RESTORE = "\0337", "\0338"
_PLAIN, _DIM = "\033[m", "\033[2m"
_MAKE_ROOM = "\033D\033M"  # one line down, scrolling if there is none, and up again in the same column
# From the cursor to the end of its row, and all rows beneath. Not in one go: where the cursor is in the first corner,
# terminals take that for the end of a page, and keep a copy of what was there.
_ERASE = f"{_MAKE_ROOM}{_SAVE}{_PLAIN}\033[K\r\033[B\033[J{_RESTORE}".encode()
# What a script sends besides text, colours and line ends: it steers the cursor.
_MOVES = re.compile(r"\r(?!\n)|[\b\v\f]|\033(?!\[[0-9;:]*m)")
_TRAILING = re.compile(r"(?:\033\[[0-9;:?]*[mhl])+\Z")  # colours and modes after the last character
# ... up or down: line ends, sequences with a number, titles and the like (OSC), anything else.
_VERTICAL = re.compile(r"\n|\033\[([0-9;:?]*)([@-~])|\033\][^\a\033]*(?:\a|\033\\)|\033.?", re.DOTALL)
_LEVEL = frozenset(
    "mKCDGX@PhlntqcgIZ`a"
)  # final letters of sequences that stay in their row, or move nothing
_SCREENS = {"?47", "?1047", "?1049"}  # an editor's, in place of this one
# No terminal, or one that shows only a part of what terminals understand: a notebook's cell, for one.
_POOR = {"", "dumb", "unknown", "xterm-color"}
_ELSEWHERE = ("JPY_PARENT_PID", "CI")


def suitable(environment: Mapping[str, str], terminal: int = 2) -> bool:
    """Whether a person looks at this terminal and it can do what is asked of it."""
    if environment.get("TERM", "") in _POOR or any(environment.get(name) for name in _ELSEWHERE):
        return False
    try:
        names = {os.ttyname(stream) for stream in (0, 1, terminal)}
        # Both as Python knows them: a script that was given something else in their place is not on a terminal.
        ours = all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
    except (AttributeError, OSError, ValueError):  # Windows has no such names; a stream is closed
        return False
    return ours and len(names) == 1  # in a pipe, `tee` writes what is not seen here


class StatusLine:
    """Draws and erases. `passing` is given every write of the streams it shares the terminal with, `make_way` is
    called before a program is started that has it too."""

    def __init__(self, terminal: int = 2, *, colour: bool = True, shared: bool = True) -> None:
        self._terminal = terminal
        self._name = os.ttyname(terminal)
        self._colour = colour
        self._shared = shared  # with a script, whose programs are not ours, and whose text is on the left
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._shown = mmap.mmap(-1, 1)  # shared with forks: a worker's print erases the line too
        self._turn = _Turn()  # between this process, which draws, and its forks, which print
        self._open: dict[int, bool] = {}  # by stream: whether its last line was not ended
        self._spoke = self._moved = float("-inf")
        self._below = 0.0  # rows of the script's beneath the cursor, at most
        self._announced = Announced(self.make_way) if shared else None
        self._closed = False

    # --- what the script writes ----------------------------------------------------------------

    def passing(self, stream: Any, write: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Make this write of the script's; whatever it raises is raised."""
        if os.getpid() != self._pid:  # in a fork, where nothing would ever release the thread's lock
            with self._turn.taken(wait=True):
                self._give_way()
                return write(*args, **kwargs)
        with self._lock:
            self._give_way()
            try:
                return write(*args, **kwargs)
            finally:
                with suppress(Exception):
                    self._note(id(stream), args[0])

    def _give_way(self) -> None:
        if self._shown[0]:
            self._shown[0] = 0
            if self._in_front():  # a job in the background may be stopped for writing
                self._put(_ERASE)

    def _note(self, stream: int, text: str) -> None:
        self._spoke = time.monotonic()
        shown = _TRAILING.sub("", text) if "\033" in text else text
        if shown:
            self._open[stream] = shown[-1] != "\n"
        if _MOVES.search(text):
            self._moved = self._spoke
            self._below = below(text, self._below)
        elif self._below:
            self._below = max(0.0, self._below - text.count("\n"))

    # --- what we write -------------------------------------------------------------------------

    @property
    def shown(self) -> bool:
        return bool(self._shown[0])

    def silent(self) -> bool:
        """Whether the script has left the terminal alone, at the end of a line."""
        now = time.monotonic()
        return (
            not any(self._open.values())
            and not self._below
            and now - self._spoke >= SILENT
            and now - self._moved >= MOVED
        )

    def alone(self) -> bool:
        """Whether nothing else uses the terminal: another job, an editor of lines, a program that was started."""
        import termios

        try:
            mode = termios.tcgetattr(self._terminal)[3]
        except termios.error:  # it is gone
            return False
        cooked = mode & termios.ICANON and mode & termios.ECHO
        return bool(cooked) and self._in_front() and not unseen(self._name)

    def _in_front(self) -> bool:
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return False

    def draw(self, words: Sequence[str], *, when: Callable[[], bool] = lambda: True) -> bool:
        """Show these, as many of them as there is room for, if `when` still holds."""
        columns, rows = self._size()
        if columns < NARROW or rows < LOW:
            return False
        line = self._line(words, min(columns, WIDE) - 1)
        with self._lock:
            if self._closed or self._below or any(self._open.values()) or not when():
                return False
            with self._turn.taken(wait=False) as ours:
                if not ours:  # a fork is printing
                    return False
                erase = _ERASE if self._shown[0] else b""
                self._shown[0] = 1
                return self._put(erase + line)

    def make_way(self) -> None:
        """Another program is about to use the terminal."""
        if os.getpid() != self._pid:
            with self._turn.taken(wait=True):
                self._give_way()
            return
        with self._lock:
            self._give_way()
            self._spoke = time.monotonic()

    def close(self) -> None:
        """Never again. What a dead terminal keeps waiting is not waited for."""
        self._closed = True
        if self._announced is not None:
            self._announced.close()
        if self._lock.acquire(timeout=1.0):
            try:
                self._give_way()
            finally:
                self._lock.release()

    def _line(self, words: Sequence[str], width: int) -> bytes:
        text, joint = words[0][:width], " · " if utf8() else " | "
        for word in words[1:]:
            longer = f"{text}{joint}{word}"
            if len(longer) > width:
                break
            text = longer
        indent = width - len(text) if self._shared else 0
        place = f"\033[{indent}C" if indent else ""
        style = _DIM if self._colour else ""
        drawn = f"{_MAKE_ROOM}{_SAVE}{_PLAIN}\r\033[B{place}{style}{text}{_PLAIN}{_RESTORE}"
        return drawn.encode("utf-8" if utf8() else "ascii", "replace")

    def _size(self) -> tuple[int, int]:
        try:
            return os.get_terminal_size(self._terminal)
        except OSError:  # it is gone
            return 0, 0

    def _put(self, data: bytes) -> bool:
        """In one write, so that nothing comes between."""
        try:
            os.write(self._terminal, data)
        except OSError:  # the terminal is gone: the run goes on
            self._closed = True
            return False
        return True


class _Turn:
    """One process at a time. The kernel gives the turn back for a process that dies with it."""

    def __init__(self) -> None:
        self._file, self._id = -1, (-1, -1)
        with suppress(OSError):  # no room for a temporary file: as if this process were alone
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())
            self._id = _identity(self._file)

    @contextmanager
    def taken(self, *, wait: bool) -> Iterator[bool]:
        """Whether it is ours; after a wait it is."""
        import fcntl

        try:
            self._lock(fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            yield False
            return
        except OSError:  # this disk has no locks, or the file is gone
            yield True
            return
        try:
            yield True
        finally:
            with suppress(OSError):
                self._lock(fcntl.LOCK_UN)

    def _lock(self, how: int) -> None:
        import fcntl

        # A fork may have closed all files it had, and opened its own under this number.
        if _identity(self._file) != self._id:
            raise OSError("the file of the lock was closed")
        fcntl.lockf(self._file, how)


def _identity(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def below(text: str, rows: float = 0.0) -> float:
    """How many rows of a script's may lie beneath the cursor after this text; infinite when that is unknown.

    Counted generously: a long line that wraps leads further down than its one line end says."""
    for match in _VERTICAL.finditer(text):
        number, letter = match[1], match[2]
        if match[0] == "\n":
            rows = max(0.0, rows - 1)
        elif match[0].startswith("\033]"):
            continue
        elif letter in {"A", "F"} and (number or "1").isdigit():
            rows += int(number or 1)
        elif letter in {"B", "E"} and (number or "1").isdigit():
            rows = max(0.0, rows - int(number or 1))
        elif letter == "J" and number in {"", "0", "2"}:
            rows = 0.0  # all that was there is erased
        elif letter not in _LEVEL or number in _SCREENS:
            rows = float("inf")
    return rows


def utf8() -> bool:
    return (getattr(sys.stderr, "encoding", None) or "").lower().replace("-", "").startswith("utf8")
