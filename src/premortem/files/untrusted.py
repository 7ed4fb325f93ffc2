"""Reading what may come from elsewhere: no file of a stranger's may hang or crash whoever opens it.

    read(path, most)      the bytes of a regular file of at most so many
    opened(path)          a regular file, open for reading
    loads(text)           JSON that is not nested deeper than anything we write
    Budget(seconds)       time for what cannot be limited by counting

A pipe or a device would be waited for or read for ever, and a sparse file of a terabyte costs its maker nothing: all of them
are an OSError here, whose `strerror` says what is wrong, as for a file that is not there.
"""

import errno
import json
import os
import stat
import time
from pathlib import Path
from typing import Any, BinaryIO

from premortem import amounts

DEPTH = 100  # levels; what premortem writes has about ten
TEXT = 64 << 20  # bytes of a file that is read at once, where its reader names no other limit
_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe and not a file"),
    (stat.S_ISSOCK, "it is a socket and not a file"),
    (stat.S_ISCHR, "it is a device and not a file"),
    (stat.S_ISBLK, "it is a device and not a file"),
)


class TooDeep(ValueError):  # noqa: N818 - reads as what it says
    """Nested deeper than anything that is meant to be read."""


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Raises OSError, also for what is no regular file. Opening never waits."""
    # The file is asked after it was opened: between a look at a name and its use it can become another one.
    file = os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)), "rb"
    )
    mode = os.fstat(file.fileno()).st_mode
    for is_kind, sentence in _KINDS:
        if is_kind(mode):
            file.close()
            raise OSError(errno.EINVAL, sentence, os.fspath(path))
    return file


def read(path: str | os.PathLike[str], most: int = TEXT) -> bytes:
    """All bytes of a regular file. Raises OSError, also when there are more than `most`."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most + 1) if size <= most else b""
        if size > most or len(data) > most:
            raise OSError(
                errno.EFBIG,
                f"it has {amounts.size(max(size, len(data)), digits=3)}, and at most {amounts.size(most, digits=3)} are read",
            )
        return data


def read_text(path: str | os.PathLike[str], most: int = TEXT) -> str:
    """The same as UTF-8 text. Raises OSError, or UnicodeDecodeError (a ValueError)."""
    return read(path, most).decode("utf-8")


def why(error: OSError) -> str:
    """What is wrong, in words."""
    return error.strerror or str(error)


def not_strict(word: str) -> None:
    """For `loads(..., parse_constant=not_strict)`: Python reads NaN and Infinity, which are not JSON."""
    raise ValueError(f"{word} is not JSON")


def loads(text: str | bytes | bytearray, *, depth: int = DEPTH, **how: Any) -> Any:
    """`json.loads`, but what is nested too deeply is a ValueError like everything else that is wrong with it."""
    try:
        found = json.loads(text, **how)
    except RecursionError:
        raise TooDeep("it is nested too deeply") from None
    except ValueError as error:
        if "integer string conversion" in str(error):  # what Python says then is advice for programmers
            raise ValueError("a number in it has thousands of digits") from None
        raise
    # Whatever walks through it later does so by recursion, with a part of the stack used up already.
    level = [found] if isinstance(found, (dict, list)) else []
    for _ in range(depth):
        if not level:
            return found
        level = [
            inner
            for node in level
            for inner in (node.values() if isinstance(node, dict) else node)
            if isinstance(inner, (dict, list))
        ]
    raise TooDeep(f"it is nested more than {depth} levels deep")


class Budget:
    """How long something may take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        return time.monotonic() > self._until


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file that can be read to its end."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
