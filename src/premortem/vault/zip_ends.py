"""The end of a zip that torch wrote: the directory, and the three short records that say where it is.

directory    one entry for each record
zip64 end    how many entries, how long the directory is, where it begins
locator      where the zip64 end is
end          the same again in short numbers
"""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from premortem.errors import Refused

_MOST = 32 << 20  # bytes of the directory: more than 300,000 tensors
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")


def agrees(raw: bytes, start: int, entries: int) -> bool:
    """Whether all of it fits together. `raw` is what follows the last record, from `start` on."""
    length = 0
    for _ in range(entries):
        if len(raw) < length + _ENTRY.size:
            return False
        fields = _ENTRY.unpack_from(raw, length)
        length += _ENTRY.size + sum(fields[10:13])
    rest = raw[length:]
    if len(rest) == _END.size:
        return rest == _short_end(entries, length, start)
    if len(rest) != _END64.size + _LOCATOR.size + _END.size:
        return False
    long = _END64.unpack_from(rest)
    # The two fields in between name the program that wrote it.
    expected = (b"PK\x06\x06", 44, *long[2:4], 0, 0, entries, entries, length, start)
    locator = _LOCATOR.pack(b"PK\x06\x07", 0, start + length, 1)
    return long == expected and rest[_END64.size :] == locator + _short_end(entries, length, start)


def _short_end(entries: int, length: int, start: int) -> bytes:
    few = min(entries, 0xFFFF)
    return _END.pack(b"PK\x05\x06", 0, 0, few, few, min(length, 0xFFFFFFFF), min(start, 0xFFFFFFFF), 0)


class _Careful:
    """A file of which only so much may be read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.most: int | None = _MOST

    def read(self, count: int = -1) -> bytes:
        if self.most is not None:
            here = self._file.tell()
            count = count if count >= 0 else self._file.seek(0, io.SEEK_END) - here
            self._file.seek(here)
        if self.most is not None and count > self.most:
            raise Refused(
                f"the directory of its records is {count:,} bytes long; it is made to fill the memory",
                record="central directory",
            )
        return self._file.read(count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def directory_only(file: IO[bytes]) -> Iterator[_Careful]:
    """While it is opened, zipfile reads the directory in one piece, as long as the file says that it is."""
    careful = _Careful(file)
    yield careful
    careful.most = None
