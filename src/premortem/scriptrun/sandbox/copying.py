"""Where the kernel has no overlays for us: a copy of the script's folder, at its own path.

Small files are copied. Large ones, and what is beyond the budget, can be read but not written.
"""

import os
import shutil
import stat

from premortem.scriptrun.sandbox.layers import Layer, looks
from premortem.scriptrun.sandbox.root import MOST_COPIED, Root

_MOST_BYTES = 2 << 30
_MOST_FILES = 20_000
_TOOLS = frozenset({".git", "node_modules", ".mypy_cache", ".ruff_cache"})


class Copied:
    def __init__(self, root: Root) -> None:
        self._root = root
        self._bytes = self._files = 0
        self._bound: list[tuple[str, str]] = []

    def put(self, folder: str) -> Layer:
        place = f"{self._root.store}/copy"
        os.mkdir(place)
        self._copy(folder, place)
        self._root.bind(place, self._root.new + folder, readonly=False)
        for path, relative in self._bound:
            self._root.bind(path, f"{self._root.new}{folder}{relative}", readonly=True)
        return Layer("copy", looks(place, folder, deep=True))

    def _copy(self, folder: str, place: str, below: str = "") -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.path == self._root.scratch:
                    continue
                self._entry(entry, f"{place}/{entry.name}", f"{below}/{entry.name}")
        shutil.copystat(folder, place)

    def _entry(self, entry: os.DirEntry[str], target: str, relative: str) -> None:
        self._files += 1
        status = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), target)
        elif entry.is_dir():
            os.mkdir(target)
            if self._files > _MOST_FILES or entry.path in self._root.holes or _is_installed(entry):
                self._bound.append((entry.path, relative))
            else:
                self._copy(entry.path, target, relative)
        elif stat.S_ISREG(status.st_mode):
            self._bytes += min(status.st_size, MOST_COPIED)
            if status.st_size <= MOST_COPIED and self._bytes <= _MOST_BYTES:
                shutil.copy2(entry.path, target)
            else:
                with open(target, "wb"):
                    self._bound.append((entry.path, relative))


def _is_installed(entry: os.DirEntry[str]) -> bool:
    """What tools have put there is large, and no script writes to it."""
    return entry.name in _TOOLS or os.path.exists(f"{entry.path}/pyvenv.cfg")
