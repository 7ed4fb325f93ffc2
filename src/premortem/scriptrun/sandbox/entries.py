"""What `os.scandir` returns for a folder that is in two places."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from premortem.scriptrun.sandbox.tree import REAL

if TYPE_CHECKING:
    from typing_extensions import Self


class Entry:
    """As `os.DirEntry`, which only the interpreter can make."""

    def __init__(self, name: str, path: str, place: str) -> None:
        self.name, self.path = name, path
        self._place = place

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        found: os.stat_result = REAL.lstat(self._place)
        if follow_symlinks and stat.S_ISLNK(found.st_mode):
            return os.stat(self.path)
        return found

    def inode(self) -> int:
        return self.stat(follow_symlinks=False).st_ino

    def is_symlink(self) -> bool:
        return self._asked(follow=False) == stat.S_IFLNK

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._asked(follow=follow_symlinks) == stat.S_IFDIR

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._asked(follow=follow_symlinks) == stat.S_IFREG

    def is_junction(self) -> bool:
        return False

    def _asked(self, *, follow: bool) -> int:
        try:
            return stat.S_IFMT(self.stat(follow_symlinks=follow).st_mode)
        except OSError:
            return 0


class Entries:
    """Once, in a `with` statement or without."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rest = iter(tuple(entries))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Entry:
        return next(self._rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._rest = iter(())
