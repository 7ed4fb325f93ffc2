"""Which files the script's own process reads, from the interpreter's audit events. No torch.

What a loader's worker opens is not seen, nor what a C library opens by itself. So one sample is also asked for here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from typing import Any

from premortem.rehearsal.observations import Reads
from premortem.scriptrun.sandbox import Sandbox

_MOST = 50_000  # files; whoever has opened as many does not read few of them
_OF_A_SAMPLE = 64
_CODE = (".py", ".pyc", ".so", ".pth", ".pyi")
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/etc/")


class Openings:
    """Stays for the rest of the process: an audit hook cannot be taken away."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.files: dict[str, None] = {}  # in the order in which they were first opened
        self._sandbox = sandbox
        self._installed = tuple({sys.prefix + os.sep, sys.base_prefix + os.sep})

    def install(self) -> None:
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or len(self.files) >= _MOST:
            return
        path, mode, flags = arguments
        if not isinstance(path, str) or path.endswith(_CODE):
            return
        reads = not set(mode) & set("wax+") if isinstance(mode, str) else flags & os.O_ACCMODE == os.O_RDONLY
        if reads:
            with contextlib.suppress(OSError):  # the working folder is gone
                self.files[os.path.abspath(path)] = None  # noqa: PTH100 - links are followed later, and once

    def folders(self) -> dict[str, int]:
        """How many files were read in each."""
        return dict(Counter(os.path.dirname(file) for file in self.files if self._is_the_users(file)))  # noqa: PTH120

    def _is_the_users(self, file: str) -> bool:
        """Neither of the system nor made by the script itself a moment ago."""
        if file.startswith((*_SYSTEM, *self._installed)):
            return False
        return not self._sandbox.wrote(file)

    def reads(self, dataset: Any) -> Reads | None:
        """What one sample of it is made of. Asked twice: a dataset that draws lots reads other files each time."""
        kind = type(dataset).__name__
        try:
            length = len(dataset)
            first, second = (self._of_a_sample(dataset) for _ in range(2))
        except Exception:  # noqa: BLE001 - an iterable one, or one that wants to be asked in another way
            return None
        return Reads(kind, length, first if first == second else [])

    def _of_a_sample(self, dataset: Any) -> list[str]:
        kept, self.files = self.files, {}
        try:
            dataset[0]
            found = [file for file in self.files if self._is_the_users(file)]
        finally:
            self.files = kept | self.files
        return sorted(found)[:_OF_A_SAMPLE]
