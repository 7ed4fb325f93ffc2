"""The last line: what Python is about to write outside of our folders is refused, by the interpreter's audit events.

It sees calls that the table did not cover, and of Landlock's gaps chmod, chown, utime and extended attributes.
"""

import errno
import os
import sys
from contextlib import suppress
from typing import Any

from premortem.scriptrun.sandbox.tree import REAL

REFUSED = "the sandbox refused this write"
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ONE_PATH = frozenset(
    f"os.{name}"
    for name in "chmod chown lchown utime setxattr removexattr truncate remove mkdir rmdir".split()
)
_TWO_PATHS = frozenset({"os.rename", "os.link"})
_SECOND = frozenset({"os.symlink"})


class Audit:
    """Cannot be taken away again."""

    def __init__(self, writable: tuple[str, ...]) -> None:
        self._writable = tuple(path.rstrip("/") + "/" for path in writable)

    def install(self) -> None:
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _mode, flags = arguments
            if isinstance(flags, int) and flags & _WRITES and not isinstance(path, int):
                self._must_be_ours(path)
        elif event in _ONE_PATH:
            self._must_be_ours(arguments[0])
        elif event in _TWO_PATHS:
            self._must_be_ours(arguments[0])
            self._must_be_ours(arguments[1])
        elif event in _SECOND:
            self._must_be_ours(arguments[1])

    def _must_be_ours(self, path: Any) -> None:
        with suppress(TypeError, ValueError):
            name = REAL.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else os.fsdecode(path)
            whole = os.path.normpath(name if name.startswith("/") else f"{REAL.getcwd()}/{name}")
            if not f"{whole}/".startswith(self._writable):
                raise PermissionError(errno.EACCES, REFUSED, name)
