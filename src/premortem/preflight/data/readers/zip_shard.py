"""Zip archives of samples."""

import functools
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from premortem.errors import Refused
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import members
from premortem.preflight.data.readers.around import Around, Damaged
from premortem.vault import zip_ends

SUFFIXES = ("zip",)


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        with path.open("rb") as file:
            with zip_ends.directory_only(file) as careful:
                zipfile.ZipFile(careful).close()  # raises Refused when the list would fill the memory
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                inside = [
                    members.Member(info.filename, info.file_size, functools.partial(archive.read, info))
                    for info in archive.infolist()
                    if not info.is_dir()
                ]
                yield from members.looks(inside, relative, "zip")
    except Refused as refused:
        raise Damaged(str(refused)) from refused
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Damaged(f"the archive is damaged or cut off ({error})") from error
