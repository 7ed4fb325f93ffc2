"""Prints: checksums of files whose format has none, taken when a script has saved them.

    .premortem/records/prints/1835021-1763239000123456789-4096     XXH3 of each 16 MiB of the file

A file is known by its inode, its time and its size. A rename keeps all three; writing the file again changes one
of them; a bit that turns over on the disk changes none. So a file that was changed since, or copied, is never
reported.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from premortem.vault.atomic import write_whole
from premortem.vault.blocks import pieces
from premortem.vault.records import HOME, folders_for, made

_FOLDER = "prints"
_BLOCK = 16 << 20  # bytes of the file for each checksum
_MOST = 1000  # files that are remembered


def take(file: BinaryIO, home: Path) -> None:
    """Remember a file as it is now, in the records of the folder `home`. Raises OSError or VaultError."""
    with file:
        known = identity(file)
        lines = list(_of_blocks(file))
        if identity(file) != known:
            return
    folder = made(home, _FOLDER)
    write_whole(folder / known, lambda to: to.write("\n".join(lines).encode()), ours=True)
    _forget_old(folder)


def identity(file: BinaryIO) -> str:
    """What changes when the file is written or replaced, and does not when it is renamed."""
    status = os.fstat(file.fileno())
    return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"


def recall(file: BinaryIO, path: Path, home: Path) -> list[str] | None:
    """The checksums of this very file, if it was saved in a watched run and was not changed since."""
    name = identity(file)
    for folder in folders_for(path, home):
        try:
            return (folder / HOME / "records" / _FOLDER / name).read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue
    return None


def compare(file: BinaryIO, known: list[str]) -> str:
    """Which piece of the file is not what was saved; "" when all of it is."""
    for number, found in enumerate(_of_blocks(file)):
        if number >= len(known) or found != known[number]:
            start = number * _BLOCK
            end = min(start + _BLOCK, os.fstat(file.fileno()).st_size)
            return f"the bytes {start:,} to {end:,}: their checksum is another"
    return ""


def _of_blocks(file: BinaryIO) -> Iterator[str]:
    import xxhash

    size = os.fstat(file.fileno()).st_size
    for start in range(0, size, _BLOCK):
        digest = xxhash.xxh3_64()
        for piece in pieces(file, start, min(_BLOCK, size - start), "file"):
            digest.update(piece)
        yield digest.hexdigest()


def _forget_old(folder: Path) -> None:
    """Of files that were deleted long ago, too."""
    prints = [each for each in folder.iterdir() if each.name[0].isdigit()]
    if len(prints) > _MOST:
        for old in sorted(prints, key=_time_saved)[: len(prints) - _MOST]:
            old.unlink(missing_ok=True)


def _time_saved(path: Path) -> int:
    return int(path.name.split("-")[1])
