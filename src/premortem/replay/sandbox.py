"""The script runs again, but not over the user's files: what it writes goes to a folder that is thrown away.

Reading stays as it is, so that data and configs are found. Covered are `open` (and with it pathlib, numpy, json, csv),
`torch.save`, making folders, and the calls that move or delete; temporary files are made in that folder from the start,
sockets among them, by which the workers of a loader send what they have. Other processes it starts, and files that C
libraries write by themselves, are not covered.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

_WRITING = frozenset("wax+")
_MOST_COPIED = 64 << 20  # bytes of a file that is appended to


class Sandbox:
    """Stays for the rest of the process, which does nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = io.open
        self._mkdir = os.mkdir

    def install(self) -> None:
        temporary = self.folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(temporary)
        builtins.open = io.open = self.open
        os.mkdir = self.mkdir
        for name in ("remove", "unlink"):
            setattr(os, name, self._unlinked(getattr(os, name)))
        for name in ("rmdir", "truncate"):
            setattr(os, name, self._only_inside(getattr(os, name)))
        for name in ("rename", "replace", "link"):
            setattr(os, name, self._moved(getattr(os, name)))
        os.symlink = self._linked(os.symlink)
        shutil.rmtree = self._only_inside(shutil.rmtree)

    def cover_torch(self) -> None:
        import torch

        save, load = torch.save, torch.load

        def saved(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            save(thing, self.instead(f) if isinstance(f, (str, os.PathLike)) else f, *args, **kwargs)

        def loaded(f: Any, *args: Any, **kwargs: Any) -> Any:
            return load(self.reading(f), *args, **kwargs)

        torch.save, torch.load = saved, loaded  # type: ignore[assignment]

    # -- where things go ------------------------------------------------------------------

    def inside(self, path: Any) -> bool:
        try:
            whole = os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError, OSError):
            return True
        return whole.startswith((str(self.folder), "/dev/", "/proc/"))

    def instead(self, path: Any) -> str:
        """Where a file that is written really goes."""
        if self.inside(path):
            return os.fsdecode(path)
        place = self._place(path)
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        return place

    def reading(self, path: Any) -> Any:
        """What was written here is read from where it went."""
        if not isinstance(path, (str, os.PathLike)) or self.inside(path):
            return path
        # A link that was made here goes before an old one of the same name.
        for place in (self._written(_itself(path)), self._place(path)):
            if os.path.lexists(place):
                return place
        return path

    def _place(self, path: Any) -> str:
        return self._written(os.path.realpath(os.fsdecode(path)))

    def _written(self, whole: str | Path) -> str:
        return f"{self.folder}/written{whole}"

    # -- the calls ------------------------------------------------------------------------

    def open(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, (str, bytes, os.PathLike)):
            return self._open(file, mode, *args, **kwargs)
        if not _WRITING & set(mode):
            return self._open(self.reading(file), mode, *args, **kwargs)
        place = self.instead(file)
        old_file = Path(os.fsdecode(file))
        appends = mode[:1] in {"a", "r"} and not Path(place).exists()
        if appends and old_file.is_file() and old_file.stat().st_size <= _MOST_COPIED:
            with self._open(file, "rb") as old, self._open(place, "wb") as new:
                shutil.copyfileobj(old, new)
        return self._open(place, mode, *args, **kwargs)

    def mkdir(self, path: Any, *args: Any, **kwargs: Any) -> None:
        if self.inside(path):
            self._mkdir(path, *args, **kwargs)
            return
        # A folder of the recorded run is there already; the script finds a free one again.
        place = Path(self._place(path))
        place.mkdir(parents=True, exist_ok=True)

    def _only_inside(self, original: Any) -> Any:
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("dir_fd") is not None:  # from inside `rmtree`, whose folder was looked at
                return original(path, *args, **kwargs)
            place = self.reading(path)
            return original(place, *args, **kwargs) if self.inside(place) else None

        return call

    def _unlinked(self, original: Any) -> Any:
        only_inside = self._only_inside(original)

        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            # A link in a folder of ours may be taken away, whatever it points to.
            named = kwargs.get("dir_fd") is None and isinstance(path, (str, os.PathLike))
            ours = named and Path(path).is_symlink() and self.inside(_itself(path).parent)
            return (original if ours else only_inside)(path, *args, **kwargs)

        return call

    def _linked(self, original: Any) -> Any:
        """`last.pt -> epoch_3.pt`: what a link says stays as it is, only its own place may be another.

        Its place is its name: an old link of that name is not followed."""

        def call(source: Any, target: Any, *args: Any, **kwargs: Any) -> None:
            place = _itself(target)
            if not self.inside(place.parent):
                place = Path(self._written(place))
                place.parent.mkdir(parents=True, exist_ok=True)
            original(source, place, *args, **kwargs)

        return call

    def _moved(self, original: Any) -> Any:
        def call(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            here = self.reading(source)
            if not self.inside(here):
                return None
            return original(here, self.instead(target), *args, **kwargs)

        return call


def _itself(path: Any) -> Path:
    """The whole name of an entry; when it is a link, not of what it points to."""
    name = Path(os.fsdecode(path))
    return Path(os.path.realpath(name.parent), name.name)
