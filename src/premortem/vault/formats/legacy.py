"""`torch.save` before 1.6, and with `_use_new_zipfile_serialization=False`: pickles, then the storages one by one.

pickle   a magic number        pickle   the object
pickle   the protocol          pickle   the keys of the storages, in order
pickle   about the machine     each     eight bytes with its length, then its elements
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from premortem.errors import VaultError
from premortem.vault import dtypes, inert_pickle, tensor_bytes
from premortem.vault.blocks import Advance, Window, head_of, read_exactly
from premortem.vault.formats.one_file import OneFile

MAGIC = 0x1950A86A20F9469CFC6C


class Legacy(OneFile):
    format = "torch pickle (before 1.6)"

    def __init__(self, path: Path, file: IO[bytes], size: int) -> None:
        super().__init__(path, file, size)
        self._places = self._storages()

    @staticmethod
    def recognises(path: Path) -> bool:
        head = head_of(path, 2)
        # A pickle of protocol 2 to 5, or one as text.
        return head[:1] == b"\x80" and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        if storage not in self._places:
            raise VaultError(f"the storage `{storage}` is missing", record=storage)
        place, size = self._places[storage]
        if start + length > size:
            raise VaultError(f"the storage `{storage}` is shorter than its tensors need", record=storage)
        return read_exactly(self._file, place + start, length, storage)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        advance(self._size)
        for name, stub in self.stubs.items():
            if stub.storage is None:
                continue
            if stub.storage.key not in self._places:
                yield stub.storage.key, f"it is missing, and `{name}` lies in it"
                continue
            try:
                tensor_bytes.check_room(name, stub, self._places[stub.storage.key][1])
            except VaultError as error:
                yield name, str(error)

    def parsed(self) -> Any:
        self._pickles = io.BufferedReader(Window(self._file, 0, self._size))
        first = inert_pickle.read(self._pickles, "the pickle")
        if first.value != MAGIC:
            # `pickle.dump(state, file)`: no file of torch, but often called one.
            self.format = "plain pickle"
            self._keys: list[str] = []
            self.foreign = first.foreign
            return first.value
        for what in ("the protocol", "the description of the machine"):
            inert_pickle.read(self._pickles, what)
        found = inert_pickle.read(self._pickles, "the pickle of the object")
        self.foreign = found.foreign
        keys = inert_pickle.read(self._pickles, "the list of storages").value
        if not isinstance(keys, list):
            raise VaultError("the list of its storages is damaged", record="storages")
        self._keys = [str(key) for key in keys]
        return found.value

    def _storages(self) -> dict[str, tuple[int, int]]:
        """Where each lies; the lengths must add up to the length of the file."""
        widths: dict[str, int] = {}
        for stub in self.stubs.values():
            for each in stub.parts or (stub,):
                if each.storage is not None:
                    widths[each.storage.key] = dtypes.BYTES[each.storage.dtype]
        places, at = {}, self._pickles.tell()
        for key in self._keys:
            count = struct.unpack("<q", read_exactly(self._file, at, 8, key))[0]
            size = count * widths.get(key, 1)
            if count < 0 or at + 8 + size > self._size:
                raise VaultError(f"the file ends in the middle of the storage `{key}`", record=key)
            places[key] = (at + 8, size)
            at += 8 + size
        if self._keys and at != self._size:
            raise VaultError(
                f"{self._size - at:,} bytes follow the last storage, which no torch writes", record="end"
            )
        return places
