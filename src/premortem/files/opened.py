"""Which files this process reads, from the interpreter's audit events. What a worker opens is not seen, nor what a C library opens
by itself."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path
from typing import Any

_MOST = 50_000  # files; a run that opened this many does not read few of them
_RECENT = 4096
_CODE = (".py", ".pyc", ".so", ".pth", ".pyi")
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/etc/")
_PACKAGE = f"{Path(__file__).absolute().parent.parent}{os.sep}"  # ours, in a checkout too
_listening: list[Openings] = []
_ours: set[str] = set()  # premortem's own files, wherever they lie


class Openings:
    """Files that were opened for reading while it listens."""

    def __init__(self) -> None:
        self._files: dict[str, None] = {}  # in the order in which they were first opened
        self._recent: list[str] = []  # in the order in which they were opened, again and again
        self._named: list[str] = []  # as the script named them, relative to the current working folder
        self.paused = False
        self._installed = tuple({sys.prefix + os.sep, sys.base_prefix + os.sep, _PACKAGE})

    def install(self) -> None:
        """The one hook of the process stays for the rest of it: it cannot be taken away."""
        if self not in _listening:
            _listening.append(self)
        _install()

    def leave(self) -> None:
        if self in _listening:
            _listening.remove(self)

    def heard(self, path: str) -> None:
        if not self.paused and len(self._named) < _MOST:
            self._named.append(path)

    @property
    def files(self) -> dict[str, None]:
        self.resolve()
        return self._files

    def recent(self) -> list[str]:
        """Opened since this was asked last."""
        self.resolve()
        found, self._recent = self._recent, []
        return found

    def resolve(self) -> None:
        """Absolute paths, before the working folder changes."""
        named, self._named = self._named, []
        with contextlib.suppress(OSError):  # the working folder is gone
            for path in named:
                whole = os.path.abspath(path)  # noqa: PTH100 - links are followed later, and once
                if len(self._files) < _MOST:
                    self._files[whole] = None
                if len(self._recent) < _RECENT:
                    self._recent.append(whole)

    def is_data(self, file: str) -> bool:
        """Neither of the system, nor of an installed package, nor ours."""
        return file not in _ours and not file.startswith((*_SYSTEM, *self._installed))


def leave_out(path: str) -> None:
    """It is a file of premortem's."""
    _ours.add(os.path.abspath(path))  # noqa: PTH100 - as it will be heard


@functools.cache
def _install() -> None:
    sys.addaudithook(hook)


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Between the call of `open` and the system's own, so it must not let another thread go first: one that opens the other end
    of a pipe, and keeps the interpreter's lock while it waits, would wait for ever. Even to ask for the working folder would."""
    if event == "open":
        path, mode, flags = arguments
        if not isinstance(path, str) or path.endswith(_CODE):
            return
        if "r" in mode and "+" not in mode if isinstance(mode, str) else flags & os.O_ACCMODE == os.O_RDONLY:
            for each in _listening:
                each.heard(path)
    elif event == "sqlite3.connect":  # its library opens the file by itself
        path = os.fspath(arguments[0]) if isinstance(arguments[0], os.PathLike) else arguments[0]
        if isinstance(path, str) and path != ":memory:":
            for each in _listening:
                each.heard(path.removeprefix("file:").partition("?")[0])
    elif event == "os.chdir":
        for each in _listening:
            each.resolve()
