"""A full disk: fewer copies, then none. The script's save goes before everything of ours.

no room for the draft      earlier versions on that disk go, and it is tried again
still none                 the file is written in place, as the script alone would do; what was there before waits
                           meanwhile on another disk, or in memory
no room for that either    all else that is ours on that disk goes (capsules, the journal), and it is tried again
it does not fit            what was there before is put back, and the script gets its exception
"""

import os
import shutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.vault.atomic import draft_beside, no_room
from premortem.vault.kept_versions import Shelf

_IN_MEMORY = 256 << 20  # bytes of an old file that are held there while the new one is written
_SURE = 0.9  # of what was counted: the name of the file is written into it, once for each record

PutBack = Callable[[], None]


def is_full(path: Path, error: BaseException, needed: int) -> bool:
    """Whether a full disk is what went wrong. Libraries have many words for it; the disk itself has one answer."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return False
    full = no_room(error)
    let_go(error)
    return full or (not isinstance(error, OSError) and not _has_room(path, needed))


def let_go(error: BaseException) -> None:
    """The frames of a failed save hold its file open, and with it the room that it took."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__context__


def too_large(path: Path, needed: int | None) -> bool:
    """Whether a file of `needed` bytes is sure not to fit where the old one is. None: its size is not known."""
    if needed is None or not path.is_file():
        return False
    try:
        disk = os.statvfs(path.parent)
        free = disk.f_bfree * disk.f_frsize  # an ordinary user has less; a save that may fit is tried
        return free + path.stat().st_size < _SURE * needed
    except (OSError, AttributeError):
        return False


def not_allowed(path: Path) -> bool:
    """Whether this process may not write a file as large as the old one: then it could not be put back either."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        return most != resource.RLIM_INFINITY and path.is_file() and path.stat().st_size > most
    except (ImportError, OSError, ValueError):
        return False


def set_aside(path: Path, shelf: Shelf) -> PutBack | None:
    """Keep what is at `path` while it is overwritten. Returns what puts it back; None when it cannot be kept."""
    if not path.exists():
        return lambda: path.unlink(missing_ok=True) if not path.is_dir() else None
    copy = shelf.keep_on_another_disk(path)
    if copy is not None:
        return lambda: _put_back(copy, path)
    if path.is_file() and path.stat().st_size <= _IN_MEMORY:
        content = path.read_bytes()
        return lambda: _rewrite(path, content)
    return None


def in_place(path: Path, write: Callable[[], Any], put_back: PutBack | None) -> Any:
    """Write a file where it lies. If that fails, it becomes again what it was before, where that is possible."""
    before = _identity(path)
    try:
        return write()
    except BaseException as error:
        let_go(error)
        if put_back is not None and (path.is_dir() or _identity(path) != before):
            with suppress(OSError):  # the script hears of its own failure, not of ours
                put_back()
        raise


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


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def _has_room(path: Path, needed: int) -> bool:
    """A quota is not in what the system says of a disk, so it is tried."""
    if needed <= 0 or not hasattr(os, "posix_fallocate"):
        return True
    draft = draft_beside(path)
    try:
        with draft.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, needed)
    except OSError as error:
        return not no_room(error)
    finally:
        with suppress(OSError):
            draft.unlink()
    return True


def _put_back(copy: Path, path: Path) -> None:
    if not copy.is_dir():
        shutil.copyfile(copy, path)
        return
    for entry in path.iterdir():  # the room that they take is needed
        if not (copy / entry.name).exists() and entry.is_file():
            entry.unlink()
    shutil.copytree(copy, path, dirs_exist_ok=True)


def _rewrite(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
