"""Files and folders that are there whole, or not at all.

    .best.pt.partial-6f1c…/best.pt    written beside its target: a rename is atomic only within one file system
    fsync                             its bytes are on the disk before its name is
    best.pt                           the rename; until here the old file was untouched
    fsync of the folder               the name survives a power cut too

The draft keeps its target's name, because torch writes a file's name into the file. Whatever goes wrong before the
rename leaves the old file as it was, and no draft behind. Drafts of a process that was killed are swept later.
"""

import ctypes
import errno
import functools
import hashlib
import os
import re
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from premortem.errors import VaultError
from premortem.files import private
from premortem.vault.blocks import BLOCK, hashed

_MARK = re.compile(r"^\..+\.partial-(?P<place>[0-9a-f]{6})-(?P<pid>\d+)-[0-9a-f]{8}$")
_OLD = 24 * 3600.0  # seconds; a draft that another machine began is dead when it is older
_OWNER = ".owner"
_NO_ROOM = ("No space left on device", "file write failed", "unexpected pos", "iostream error")
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux
_HERE = -100  # AT_FDCWD


@dataclass(frozen=True)
class Written:
    """What is on the disk now."""

    sha256: str
    bytes: int


def write_whole(
    path: Path, writer: Callable[[BinaryIO], object], *, durable: bool = True, ours: bool = False
) -> Written:
    """Write a file through `writer`, whole or not at all. A new one of `ours` is its owner's alone.

    Trouble with the disk is a VaultError, and what `writer` raises is raised; the old file is then as it was."""
    with in_one_sentence(path), drafted(path, durable=durable) as draft:
        with private.opened(draft, "wb") if ours else draft.open("wb") as file:
            hashed = _Hashed(file)
            writer(hashed)  # type: ignore[arg-type]  # a writer only calls `write`
            file.flush()
            size = file.tell()
        digest = hashed.hexdigest() if hashed.straight(size) else sha256_of(draft)
    return Written(digest, size)


@contextmanager
def drafted(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A place to write to; when the block ends well, what was written there takes the place of `path`.

    Raises OSError as it comes."""
    draft = Draft(path)
    try:
        yield draft.path
        draft.publish(durable=durable)
    finally:
        draft.discard()


class Draft:
    """A file or folder that is written beside the place it is meant for. Raises OSError as it comes."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.final = Path(os.path.realpath(path))  # a link stays a link
        self._folder = draft_beside(self.final)
        self._folder.mkdir(private.FOLDER)
        self.path = self._folder / (name or self.final.name)

    def publish(self, *, durable: bool = True) -> None:
        """Take the place of the old file. Not `durable`: whole for every process, but not after a power cut."""
        if self.path.is_dir():
            publish_folder(self.path, self.final)
            return
        _same_rights(self.path, self.final)
        if durable:
            sync(self.path)
        self.path.replace(self.final)
        if durable:
            sync(self.final.parent)

    def discard(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def draft_beside(final: Path) -> Path:
    return final.with_name(f".{final.name[:180]}.partial-{_place()}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


def publish_folder(draft: Path, final: Path) -> Path | None:
    """Put a finished folder in its place. Returns where the folder is that was there before, if there was one.

    Raises OSError; then nothing has changed."""
    for folder, _, files in os.walk(draft):
        for name in files:
            sync(Path(folder, name))
        sync(Path(folder))
    if not final.exists():
        draft.replace(final)
        sync(final.parent)
        return None
    if not _exchange(draft, final):
        # Without an atomic exchange there is a moment without the folder; it can still be found beside its place.
        aside = draft_beside(final)
        final.replace(aside)
        try:
            draft.replace(final)
        except BaseException:  # also when it is interrupted here: the old folder goes back to its place
            aside.replace(final)
            raise
        aside.replace(draft)
    sync(final.parent)
    return draft


def sweep(folder: Path) -> int:
    """Remove drafts of processes that are gone. Returns how many there were."""
    swept = 0
    with suppress(OSError):
        for path in list(folder.iterdir()):
            found = _MARK.match(path.name)
            if found is None or not _dead(found, path):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()
            swept += not path.exists()
    return swept


@contextmanager
def in_one_sentence(path: Path) -> Iterator[None]:
    """Raise an error of the disk as one sentence that a person can act on."""
    try:
        yield
    except OSError as error:
        raise VaultError(
            f"{path} was not written: {reason(error)}; what was there before is untouched"
        ) from error


def reason(error: OSError) -> str:
    known = {
        errno.ENOSPC: "there is no room left on the disk",
        errno.EDQUOT: "the disk quota is used up",
        errno.EROFS: "the disk can only be read",
        errno.EIO: "the disk reports an input/output error",
        errno.EACCES: "permission is denied",
        errno.EPERM: "permission is denied",
        errno.ENOENT: "its folder does not exist",
        errno.ENAMETOOLONG: "its name is too long",
    }
    return known.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__


def no_room(error: BaseException) -> bool:
    """Whether a full disk is what went wrong; torch's own writer has it only in its message."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        if any(words in str(seen) for words in _NO_ROOM):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashed(file)[0]


def copy_into(file: IO[bytes], path: Path) -> None:
    with path.open("rb") as source:
        shutil.copyfileobj(source, file, BLOCK)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {
            errno.EINVAL,
            errno.ENOTSUP,
            errno.EBADF,
        }:  # some file systems have no fsync of folders
            raise
    finally:
        os.close(descriptor)


class _Hashed:
    """A file that is written from its beginning to its end has been hashed when it is complete."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._fed = 0

    def write(self, data: bytes) -> int:
        if self._file.tell() == self._fed:
            self._digest.update(data)
            self._fed += memoryview(data).nbytes
        else:
            self._fed = -1
        return self._file.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def straight(self, size: int) -> bool:
        return self._fed == size

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _same_rights(draft: Path, final: Path) -> None:
    """Overwriting a file keeps its mode and owner; a new one must not lose them."""
    with suppress(OSError):
        old = final.stat()
        draft.chmod(old.st_mode & 0o7777)
        if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(draft, old.st_uid, old.st_gid)


def _exchange(a: Path, b: Path) -> bool:
    """Two names change places in one move, where the system can."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        move = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    return bool(move(_HERE, os.fsencode(a), _HERE, os.fsencode(b), _EXCHANGE) == 0)


def claim(folder: Path) -> None:
    """Leave a note in a folder that this process is at work there. Raises OSError."""
    mine = f"{_place()} {os.getpid()}"
    note = folder / _OWNER
    with suppress(OSError, ValueError):
        if note.read_text(encoding="ascii") == mine:
            return
    draft = draft_beside(note)
    try:
        private.write_text(draft, mine)
        draft.replace(note)
    finally:
        draft.unlink(missing_ok=True)


def owner_is_dead(folder: Path) -> bool:
    """Whether the process that works there is gone."""
    note = folder / _OWNER
    try:
        place, pid = note.read_text(encoding="ascii").split()
        return _gone(place, int(pid), note)
    except (OSError, ValueError):
        return False


def _dead(found: re.Match[str], path: Path) -> bool:
    return _gone(found["place"], int(found["pid"]), path)


def _gone(place: str, pid: int, path: Path) -> bool:
    if place != _place():  # written on another machine, or in another container
        return time.time() - path.lstat().st_mtime > _OLD
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@functools.cache
def _place() -> str:
    """Where a process number means something: this machine, and on it this container."""
    try:
        container = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        container = ""
    return hashlib.sha256(f"{socket.gethostname()} {container}".encode()).hexdigest()[:6]
