"""A copy of the script's folder that costs nothing: real folders, links to the files, writes stay inside.

The replay's sandbox sends what is written elsewhere to a scratch folder. A script that resumes also *asks* for its
files (`os.path.exists`, `glob`), so here the questions are answered from there as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.replay.sandbox import Sandbox

if TYPE_CHECKING:
    from typing_extensions import Self

_LEFT_OUT = frozenset({".git", ".premortem", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
_MOST = 20_000  # entries; what lies beyond is linked as a whole


def spread(source: Path, target: Path) -> None:
    """Make `target` look like `source`."""
    target.mkdir(parents=True)
    pending = [(source, target)]
    count = 0
    while pending:
        here, there = pending.pop(0)
        for entry in sorted(os.scandir(here), key=lambda e: e.name):
            place = there / entry.name
            if entry.name in _LEFT_OUT or _is_ours(entry, target):
                continue
            count += 1
            whole = count > _MOST or Path(entry.path, "pyvenv.cfg").exists()
            if entry.is_dir(follow_symlinks=False) and not whole:
                place.mkdir()
                pending.append((Path(entry.path), place))
            else:
                place.symlink_to(os.path.realpath(entry.path))


def _is_ours(entry: os.DirEntry[str], target: Path) -> bool:
    """The scratch folder itself, where folders for temporary files lie in the script's."""
    return entry.name.startswith("premortem-") and target.is_relative_to(entry.path)


class _Entries:
    """What `os.scandir` returns: entries, once, in a `with` statement or without."""

    def __init__(self, entries: Iterable[os.DirEntry[Any]]) -> None:
        self._rest = iter(tuple(entries))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._rest = iter(())


class Overlay(Sandbox):
    def install(self) -> None:
        super().install()
        for name in ("stat", "access"):
            setattr(os, name, self._asked(getattr(os, name)))
        os.listdir = self._listed(os.listdir)
        os.scandir = self._scanned(os.scandir)

    def _asked(self, original: Any) -> Any:
        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            place = self.reading(path) if isinstance(path, (str, os.PathLike)) else path
            return original(place, *args, **kwargs)

        return call

    def _both(self, path: Any) -> tuple[Any, Any] | None:
        """Where a folder lies of which there are two halves: what was there before, and what was written since."""
        place = self.reading(path) if isinstance(path, (str, os.PathLike)) else path
        if place is path or not os.path.lexists(path):
            return None
        return place, path

    def _listed(self, original: Any) -> Any:
        def call(path: Any = ".") -> list[Any]:
            both = self._both(path)
            if both is None:
                return list(original(self.reading(path)))
            return list(dict.fromkeys(name for half in both for name in original(half)))

        return call

    def _scanned(self, original: Any) -> Any:
        def call(path: Any = ".") -> Any:
            both = self._both(path)
            if both is None:
                return original(self.reading(path))
            entries: dict[str, os.DirEntry[Any]] = {}
            for half in both:
                with original(half) as found:
                    for entry in found:
                        entries.setdefault(entry.name, entry)
            return _Entries(entries.values())

        return call
