"""safetensors: eight bytes with the length of a JSON header, the header, the tensors end to end.

The format has no checksum, but its arithmetic must come out: every tensor as long as its shape and type say, one
after the other, up to the last byte of the file.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from premortem.errors import VaultError
from premortem.files.untrusted import loads
from premortem.vault import dtypes
from premortem.vault.blocks import Advance, head_of, read_exactly
from premortem.vault.formats.one_file import OneFile
from premortem.vault.stubs import Storage, TensorStub, sizes_of, strides

_MOST_HEADER = 100_000_000  # bytes; the limit of the format itself


class Safetensors(OneFile):
    format = "safetensors"

    def __init__(self, path: Path, file: IO[bytes], size: int) -> None:
        super().__init__(path, file, size)
        if isinstance(self._metadata, Mapping):
            self.plain.update({f"__metadata__.{key}": value for key, value in self._metadata.items()})

    def parsed(self) -> Any:
        self._start, header = _header(self._file, self._size)
        self._places: dict[str, tuple[int, int]] = {}
        self._metadata = header.pop("__metadata__", None)
        tree = {name: self._tensor(name, entry) for name, entry in header.items()}
        self._adds_up()
        return tree

    @staticmethod
    def recognises(path: Path) -> bool:
        head = head_of(path, 9)
        # The extension counts too: a damaged header should be called that, not an unknown file.
        return (path.suffix == ".safetensors" and len(head) > 0) or (len(head) == 9 and head[8:] == b"{")

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        place, size = self._places[storage]
        if start + length > size:
            raise VaultError(f"`{storage}` is shorter than its shape says", record=storage)
        return read_exactly(self._file, self._start + place + start, length, storage)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        advance(self._size)
        yield from ()  # the header was checked when the file was opened

    def _tensor(self, name: str, entry: Any) -> TensorStub:
        try:
            dtype = dtypes.SAFETENSORS.get(entry["dtype"], "")
            sizes = entry["shape"]
            start, end = entry["data_offsets"]
        except (TypeError, KeyError, ValueError):
            raise VaultError(f"the header does not describe `{name}` in full", record=name) from None
        shape = sizes_of(sizes, f"`{name}`")
        sizes_of((start, end), f"`{name}`")
        count = math.prod(shape)
        if dtype and count * dtypes.BYTES[dtype] != end - start:
            raise VaultError(
                f"`{name}` is {end - start:,} bytes long, which does not fit its shape and type", record=name
            )
        if self._start + end > self._size:
            raise VaultError(f"the file ends before the end of `{name}`: it was cut off", record=name)
        self._places[name] = (start, end - start)
        note = "" if dtype else f"{str(entry['dtype'])[:20]}"
        return TensorStub(
            Storage(name, dtype or "uint8", count), dtype or "uint8", shape, strides(shape), note=note
        )

    def _adds_up(self) -> None:
        at = 0
        for name, (start, size) in sorted(self._places.items(), key=lambda item: (item[1][0], item[1][1])):
            if start != at:
                raise VaultError(f"`{name}` does not begin where the tensor before it ends", record=name)
            at = start + size
        if self._start + at != self._size:
            extra = self._size - self._start - at
            raise VaultError(f"{extra:,} bytes follow the last tensor, which belong to none", record="end")


def _header(file: IO[bytes], size: int) -> tuple[int, dict[str, Any]]:
    if size < 8:
        raise VaultError("the file is too short to have a header", record="header")
    length = struct.unpack("<Q", read_exactly(file, 0, 8, "header"))[0]
    if length > _MOST_HEADER or 8 + length > size:
        raise VaultError("the header is longer than the file: it was cut off, or is damaged", record="header")
    try:
        header = loads(read_exactly(file, 8, length, "header"), object_pairs_hook=_once)
    except ValueError as error:
        raise VaultError(f"the header is damaged; it is not valid JSON ({error})", record="header") from None
    if not isinstance(header, dict):
        raise VaultError("the header is damaged; it describes no tensors", record="header")
    return 8 + length, header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found
