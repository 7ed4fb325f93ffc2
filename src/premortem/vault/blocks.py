"""Pieces of files."""

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from premortem.errors import VaultError

BLOCK = 4 << 20  # bytes read at once


class Window(io.RawIOBase):
    """A piece of a file, as a file: distributed checkpoints put many archives into one."""

    def __init__(self, file: IO[bytes], start: int, length: int) -> None:
        super().__init__()
        self._file, self._start, self._length, self._at = file, start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        base = {0: 0, 1: self._at, 2: self._length}[whence]
        if base + offset < 0:
            raise OSError("before the beginning")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), max(self._length - self._at, 0))
        self._file.seek(self._start + self._at)
        got = self._file.read(wanted)
        buffer[: len(got)] = got
        self._at += len(got)
        return len(got)


Advance = Callable[[int], None]  # called with the number of bytes that were read


def unwatched(_count: int) -> None:
    """An `Advance` that does nothing."""


def hashed(file: Any, advance: Advance = unwatched) -> tuple[str, int]:
    """The sha256 and the length of what a file holds from here on."""
    digest, size = hashlib.sha256(), 0
    while block := file.read(BLOCK):
        digest.update(block)
        size += len(block)
        advance(len(block))
    return digest.hexdigest(), size


def head_of(path: Path, count: int) -> bytes:
    """The first bytes of a file; b"" for what is not a file."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(count)


def pieces(file: IO[bytes], start: int, length: int, name: str) -> Iterator[memoryview]:
    """All of it, piece by piece in the same memory. Fresh memory would be cleared each time, and the script, which may
    be at work meanwhile, would wait for that."""
    view = memoryview(bytearray(min(length, BLOCK)))
    while length:
        piece = view[: min(length, BLOCK)]
        _fill(file, start, piece, name)
        yield piece
        start, length = start + len(piece), length - len(piece)


def read_exactly(file: IO[bytes], start: int, length: int, name: str) -> bytearray:
    """Into memory of our own: a file that shrinks under a memory map would kill the process."""
    block = bytearray(length)
    _fill(file, start, memoryview(block), name)
    return block


def _fill(file: IO[bytes], start: int, view: memoryview, name: str) -> None:
    try:
        file.seek(start)
        got = 0
        while got < len(view):
            count = file.readinto(view[got:])  # type: ignore[attr-defined]
            if not count:
                raise VaultError(f"the file ends in the middle of the record `{name}`", record=name)
            got += count
    except OSError as error:
        raise VaultError(
            f"the record `{name}` cannot be read ({error.strerror or error})", record=name
        ) from error
