"""The zip that torch writes: its records, where their bytes lie, and whether they are what was written.

Nothing is ever unpacked to a path. A directory that promises more bytes than the file can hold, or names that
lead out of the archive, are refused before anything is read. `torch.load` skips the checksum that each record
carries; here it is what counts.
"""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from premortem.errors import Refused, VaultError
from premortem.vault import zip_ends
from premortem.vault.blocks import BLOCK, pieces, read_exactly

MAGIC = b"PK\x03\x04"
_LOCAL = struct.Struct("<4s5H3I2H")
_DEFLATED_AT_MOST = 50  # times; weights shrink by a few per cent, zeros a thousandfold
_MOST_UNPACKED = 64 << 20  # bytes that a packed record may become without being suspicious
_PACKED = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    NotImplementedError,
    EOFError,
)  # what zipfile says of damage


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the archive."""

    name: str  # without the folder that torch puts around all of them
    info: zipfile.ZipInfo
    start: int  # of its bytes in the file
    stored: bool  # as it is, not packed

    @property
    def size(self) -> int:
        return self.info.file_size


class Archive:
    """A zip whose directory makes sense. Raises VaultError or Refused."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size
        try:
            with zip_ends.directory_only(file) as careful:
                self._zip = zipfile.ZipFile(careful)
            infos = self._zip.infolist()
        except Refused:
            raise
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
            raise VaultError(
                "the end of the file is missing or damaged: the directory of its records cannot be read "
                f"({error}). It was probably cut off while it was written",
                record="central directory",
            ) from error
        _refuse_bombs(infos, size)
        folder = _common_folder(infos)
        self.entries = {info.filename[len(folder) :]: self._entry(info, folder) for info in infos}
        if len(self.entries) != len(infos):
            twice = _most((info.filename,) for info in infos)[0]
            raise Refused(
                "the archive holds two records of the same name; it is damaged, or made to deceive",
                record=twice,
            )
        # Not after `torch.serialization.set_crc32_options(False)`, or `skip_data`: then they are zero.
        self.has_checksums = all(info.CRC for info in infos if info.file_size)
        stored = [info for info in infos if info.compress_type == zipfile.ZIP_STORED]
        local = [self._local(info) for info in stored]
        self._by_torch = sum(padded for _, padded in local) > len(local) / 2
        # What torch leaves unused it leaves alike in every record.
        self._usual = (_most(unused for unused, _ in local), _most(map(_unused, stored)))

    def _entry(self, info: zipfile.ZipInfo, folder: str) -> Entry:
        name = info.filename[len(folder) :]
        if not 0 <= info.header_offset <= self._size:
            raise VaultError(f"the record `{name}` lies outside the file, by the directory", record=name)
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(MAGIC):
            raise VaultError(f"the record `{name}` is not where the directory says", record=name)
        fields = _LOCAL.unpack(head)
        start = info.header_offset + _LOCAL.size + fields[9] + fields[10]
        if start + info.compress_size > self._size:
            raise VaultError(f"the record `{name}` ends behind the end of the file", record=name)
        if info.flag_bits & 0x1:
            raise VaultError(f"the record `{name}` is encrypted", record=name)
        return Entry(name, info, start, info.compress_type == zipfile.ZIP_STORED)

    def _local(self, info: zipfile.ZipInfo) -> tuple[tuple[Any, ...], bool]:
        """The unused fields in front of a record, and whether torch's padding follows them."""
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size:  # it became shorter while it was read
            raise VaultError(
                f"the record `{info.filename}` ends behind the end of the file", record=info.filename
            )
        fields = _LOCAL.unpack(head)
        extra = self._file.read(fields[9] + fields[10])[fields[9] :]
        return (fields[1], *fields[4:6]), b"FB" in extra

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytearray:
        """Bytes of a record, or a piece of them."""
        entry = self.entries.get(name)
        if entry is None:
            raise VaultError(f"the record `{name}` is missing", record=name)
        length = entry.size - start if length is None else length
        if start < 0 or start + length > entry.size:
            raise VaultError(f"the record `{name}` is shorter than its tensors need", record=name)
        if entry.stored:
            return read_exactly(self._file, entry.start + start, length, name)
        return bytearray(self._unpacked(entry)[start : start + length])

    def checked(self, name: str) -> bytearray:
        """A whole record that is what was written. Raises VaultError."""
        content = self.read(name)
        entry = self.entries[name]
        if entry.info.CRC and entry.stored and zlib.crc32(content) != entry.info.CRC:
            raise VaultError(f"the record `{name}` is damaged: its checksum is another", record=name)
        return content

    def _unpacked(self, entry: Entry) -> bytes:
        try:
            with self._zip.open(entry.info) as record:
                return record.read(entry.size + 1)
        except _PACKED as error:
            raise VaultError(f"the record `{entry.name}` is damaged ({error})", record=entry.name) from error

    def damaged(self, advance: Callable[[int], None]) -> Iterator[tuple[str, str]]:
        """Each record whose bytes or description are not what was written, and what is wrong with it."""
        end = self._zip.start_dir
        raw = bytes(read_exactly(self._file, end, self._size - end, "central directory"))
        if self._by_torch and not zip_ends.agrees(raw, end, len(self.entries)):
            yield "central directory", "its parts contradict each other"
        odd = []
        for entry in self.entries.values():
            problem, usual = self._problem(entry, advance)
            if problem is not None:
                yield entry.name, problem
            elif not usual:
                odd.append(entry.name)
        # When most are like that, some other program wrote it.
        if self._by_torch and len(odd) <= len(self.entries) / 2:
            yield from ((name, "what stands around it is not what torch writes") for name in odd)

    def altered(self) -> Iterator[tuple[str, str]]:
        """Each record that torch would load as something else than was written. What it never reads does not count."""
        for entry in self.entries.values() if self._by_torch else ():
            problem, _ = self._problem(entry, lambda _count: None)
            if problem is not None:
                yield entry.name, problem

    def _problem(self, entry: Entry, advance: Callable[[int], None]) -> tuple[str | None, bool]:
        problem, usual = self._described_twice(entry)
        if problem is None and entry.info.CRC:
            problem = self._checksum(entry, advance)
        return problem, usual

    def _checksum(self, entry: Entry, advance: Callable[[int], None]) -> str | None:
        if not entry.stored:
            return self._unpacks(entry, advance)
        found = 0
        for piece in pieces(self._file, entry.start, entry.size, entry.name):
            found = zlib.crc32(piece, found)
            advance(len(piece))
        if found == entry.info.CRC:
            return None
        return f"its checksum is {found:08x}, but {entry.info.CRC:08x} was written"

    def _unpacks(self, entry: Entry, advance: Callable[[int], None]) -> str | None:
        """zipfile compares the checksum when it has come to the end."""
        try:
            with self._zip.open(entry.info) as record:
                while block := record.read(BLOCK):
                    advance(len(block))
        except _PACKED as error:
            return f"it cannot be unpacked ({error})"
        return None

    def _described_twice(self, entry: Entry) -> tuple[str | None, bool]:
        """A zip describes each record in front of it and in the directory; the two must agree.

        What is wrong, and whether what is left unused is as torch leaves it."""
        info = entry.info
        raw = bytes(
            read_exactly(self._file, info.header_offset, entry.start - info.header_offset, entry.name)
        )
        fields = _LOCAL.unpack_from(raw)
        name = raw[_LOCAL.size : _LOCAL.size + fields[9]]
        coding = "utf-8" if info.flag_bits & 0x800 else "cp437"
        if fields[2] != info.flag_bits or fields[3] != info.compress_type:
            return "the file describes it in two ways that contradict each other", True
        if name.decode(coding, "replace") != info.orig_filename:
            return "the file gives it two different names", True
        behind = self._descriptor(entry) if info.flag_bits & 0x8 else fields[6:9]
        recorded = (info.CRC, info.compress_size, info.file_size)
        if behind is not None and 0xFFFFFFFF not in behind and behind != recorded:
            return "the file gives it two different sizes or checksums", True
        extra = raw[_LOCAL.size + fields[9] :]
        return None, not entry.stored or self._as_torch_writes(entry, fields, extra, behind)

    def _as_torch_writes(
        self, entry: Entry, fields: tuple[Any, ...], extra: bytes, behind: tuple[int, ...] | None
    ) -> bool:
        """Bytes that torch never reads get damaged too, and then the disk cannot be trusted."""
        # Behind the first four gibibytes of a file, long numbers stand in front of the padding.
        at = 4 + int.from_bytes(extra[2:4], "little") if extra.startswith(b"\x01\x00") else 0
        padding = extra[at + 4 :]
        if (
            extra[at : at + 2] != b"FB"
            or padding.strip(b"Z")
            or int.from_bytes(extra[at + 2 : at + 4], "little") != len(padding)
        ):
            return False
        unused = (fields[1], *fields[4:6]) == self._usual[0] and _unused(entry.info) == self._usual[1]
        sizes = fields[6:9] in {(0, 0, 0), behind} or 0xFFFFFFFF in fields[6:9]
        return unused and sizes and behind is not None

    def _descriptor(self, entry: Entry) -> tuple[int, int, int] | None:
        """What stands behind the bytes of a record whose size was not known before, in short or in long numbers."""
        info = entry.info
        end = entry.start + info.compress_size
        raw = bytes(read_exactly(self._file, end, min(24, self._size - end), entry.name))
        if not raw.startswith(b"PK\x07\x08") or len(raw) < 24:
            return None
        forms: list[tuple[int, int, int]] = [struct.unpack_from(form, raw, 4) for form in ("<III", "<IQQ")]
        recorded = (info.CRC, info.compress_size, info.file_size)
        return recorded if recorded in forms else forms[0]


def _refuse_bombs(infos: list[zipfile.ZipInfo], size: int) -> None:
    for info in infos:
        name = info.filename.replace("\\", "/")
        if (
            name.startswith("/")
            or ".." in name.split("/")
            or name[1:2] == ":"
            or "\x00" in info.orig_filename
        ):
            raise Refused(f"a record is called `{info.filename}`, which leads out of the archive")
        if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
            raise VaultError(f"the file gives the record `{info.filename}` two sizes", record=info.filename)
        if info.file_size > _MOST_UNPACKED and info.file_size > _DEFLATED_AT_MOST * max(
            info.compress_size, 1
        ):
            raise Refused(
                f"the record `{info.filename}` would grow from {info.compress_size:,} to {info.file_size:,} bytes; "
                "weights do not pack like that, so it is made to fill the memory"
            )
    whole = sum(info.file_size for info in infos)
    if whole > _MOST_UNPACKED and whole > _DEFLATED_AT_MOST * size:
        raise Refused(f"it would grow from {size:,} to {whole:,} bytes; it is made to fill the memory")
    if sum(info.compress_size for info in infos) > size:
        raise Refused(
            "its records overlap: together they are longer than the file. It is damaged, or made to fill the memory"
        )


def _unused(info: zipfile.ZipInfo) -> tuple[int, ...]:
    return (
        info.create_version,
        info.create_system,
        info.extract_version,
        info.reserved,
        info.volume,
        info.internal_attr,
        info.external_attr,
        *info.date_time,
        len(info.comment),
    )


def _most(values: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The one that most have in common."""
    found = Counter(values).most_common(1)
    return found[0][0] if found else ()


def _common_folder(infos: list[zipfile.ZipInfo]) -> str:
    """torch puts everything under one folder, named like the file at the time."""
    first = {info.filename.partition("/")[0] for info in infos}
    inside = all("/" in info.filename for info in infos)
    return f"{first.pop()}/" if len(first) == 1 and inside else ""
