"""Which files this process reads, from the interpreter's audit events. What a worker opens is not seen, nor what a C library opens
by itself."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import Any

_MOST = 50_000  # files; whoever has opened as many does not read few of them
_RECENT = 4096
_CODE = (".py", ".pyc", ".so", ".pth", ".pyi")
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/etc/")
_listening: list[Openings] = []


class Openings:
    """Files that were opened for reading while it listens."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}  # in the order in which they were first opened
        self.recent: list[str] = []  # in the order in which they were opened, again and again
        self.paused = False
        self._installed = tuple({sys.prefix + os.sep, sys.base_prefix + os.sep})

    def install(self) -> None:
        """The one hook of the process stays for the rest of it: it cannot be taken away."""
        if self not in _listening:
            _listening.append(self)
        _install()

    def leave(self) -> None:
        if self in _listening:
            _listening.remove(self)

    def heard(self, path: str) -> None:
        if self.paused or len(self.files) >= _MOST:
            return
        self.files[path] = None
        if len(self.recent) < _RECENT:
            self.recent.append(path)

    def is_data(self, file: str) -> bool:
        """Neither of the system nor of an installed package."""
        return not file.startswith((*_SYSTEM, *self._installed))


@functools.cache
def _install() -> None:
    sys.addaudithook(hook)


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _listening:
        return
    path, mode, flags = arguments
    if not isinstance(path, str) or path.endswith(_CODE):
        return
    reads = not set(mode) & set("wax+") if isinstance(mode, str) else flags & os.O_ACCMODE == os.O_RDONLY
    if reads:
        with contextlib.suppress(OSError):  # the working folder is gone
            whole = os.path.abspath(path)  # noqa: PTH100 - links are followed later, and once
            for each in _listening:
                each.heard(whole)
