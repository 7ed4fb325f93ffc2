"""Arrays of numpy: one in a .npy, several in a .npz. Pickled objects in them are never loaded."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from premortem.errors import Refused
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import numbers
from premortem.preflight.data.readers.around import Around, Damaged, MissingLibrary
from premortem.vault import zip_ends

SUFFIXES = ("npy", "npz")
_MOST_PARTS = 1000
_MOST_BYTES = 512 << 20  # of one part
_PICKLED = (
    "Python objects in dtype",
    "Object arrays",
    "allow_pickle",
)  # what numpy says of those it may not load


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        import numpy as np
    except ImportError:
        raise MissingLibrary("numpy") from None
    if path.suffix.lower() == ".npz":
        yield from _archive(np, path, relative)
        return
    try:
        yield numbers.about(np.load(path, mmap_mode="r", allow_pickle=False), relative, "array")
    except ValueError as error:
        if _has_header(path) and any(words in str(error) for words in _PICKLED):
            return
        raise Damaged(_why(path, error)) from error


def _archive(np: Any, path: Path, relative: str) -> Iterator[Look]:
    try:
        # numpy leaves a file open that it cannot read; one that was handed over is closed here.
        with path.open("rb") as file, np.load(_with_few_parts(file), allow_pickle=False) as archive:
            sizes = {info.filename: info.file_size for info in archive.zip.infolist()}
            for part in archive.files[:_MOST_PARTS]:
                if sizes.get(f"{part}.npy", sizes.get(part, 0)) > _MOST_BYTES:
                    continue  # it would be unpacked to be looked at
                try:
                    yield numbers.about(archive[part], relative, "array", part)
                except ValueError as error:
                    if "Object arrays" not in str(error):
                        raise
    except Refused as refused:
        raise Damaged(str(refused)) from refused
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise Damaged(f"the archive is damaged or cut off ({error})") from error


def _with_few_parts(file: BinaryIO) -> BinaryIO:
    """The same file. Raises Refused when the list of what is in it would fill the memory."""
    if zipfile.is_zipfile(file):
        file.seek(0)
        with zip_ends.directory_only(file) as careful:
            zipfile.ZipFile(careful).close()
    file.seek(0)
    return file


def _has_header(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _why(path: Path, error: ValueError) -> str:
    if not _has_header(path):
        return "it does not begin like an array of numpy"
    if "mmap length" in str(error):
        return f"it is cut off: {path.stat().st_size:,} bytes are fewer than its header promises"
    return f"it cannot be read ({error})"
