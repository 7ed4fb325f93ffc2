"""A full disk: fewer copies, then none; and never a torn file where a good one was.

no room for the draft      earlier versions on that disk go, and it is tried again
still none                 the old file is overwritten in place, as the script alone would do, if the new one is
                           known to fit; a copy of the old one waits on another disk meanwhile, if there is one
it does not fit            the script gets its exception, and the old file is untouched
"""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem import private
from premortem.vault.atomic import draft_beside, no_room

_SPARE = 65536  # bytes that a file needs besides its tensors


def is_full(folder: Path, error: Exception, needed: int) -> bool:
    """Whether a full disk is what went wrong. torch's writer says "file write failed" whatever it was."""
    if not no_room(error):
        return False
    let_go(error)
    try:
        return isinstance(error, OSError) or shutil.disk_usage(folder).free < 1.02 * needed + _SPARE
    except OSError:
        return False


def let_go(error: BaseException) -> None:
    """The frames of a failed save hold its file open, and with it the room that it took."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__context__


def fits_in_place(path: Path, needed: int | None) -> bool:
    """Whether a file of `needed` bytes fits where the old one is. None: nobody knows how large it will be."""
    if needed is None or not path.is_file():
        return False
    try:
        return shutil.disk_usage(path.parent).free + path.stat().st_size > needed + _SPARE
    except OSError:
        return False


def in_place(path: Path, write: Callable[[Path], Any], folder: Path) -> Any:
    """Overwrite a file where it lies. If that fails, it is put back from a copy on another disk, if there was room."""
    copy = _elsewhere(path, folder)
    try:
        result = write(path)
    except BaseException:
        if copy is not None:
            shutil.copyfile(copy, path)
        raise
    finally:
        if copy is not None:
            copy.unlink(missing_ok=True)
    return result


class Counting:
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.bytes = 0
        self._at = 0

    def write(self, data: Any) -> int:
        count = memoryview(data).nbytes
        self._at += count
        self.bytes = max(self.bytes, self._at)
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self.bytes)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass


def _elsewhere(path: Path, folder: Path) -> Path | None:
    size, device = path.stat().st_size, path.stat().st_dev
    for home in (folder, Path(tempfile.gettempdir())):
        try:
            if home.stat().st_dev == device or shutil.disk_usage(home).free < 2 * size + _SPARE:
                continue
            copy = draft_beside(home / path.name)
            private.copy(path, copy)
            with copy.open("rb") as file:
                os.fsync(file.fileno())
        except OSError:
            continue
        return copy
    return None
