"""`torch.save` since 1.6: a zip with `data.pkl` and one record for each storage."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from premortem.errors import VaultError
from premortem.vault import inert_pickle, tensor_bytes
from premortem.vault.blocks import Advance, head_of
from premortem.vault.formats.one_file import OneFile
from premortem.vault.zips import MAGIC, Archive

_MOST_PICKLE = 4 << 30  # bytes


class Zipped(OneFile):
    format = "torch zip"

    def __init__(self, path: Path, file: IO[bytes], size: int) -> None:
        super().__init__(path, file, size)
        self.big_endian = bytes(self._piece("byteorder")) == b"big"

    @staticmethod
    def recognises(path: Path) -> bool:
        return head_of(path, 4) == MAGIC

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        return self._archive.read(f"data/{storage}", start, length)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        yield from self._archive.damaged(advance)
        entries = self._archive.entries
        for name, stub in self.stubs.items():
            for each in stub.parts or (stub,):
                if each.storage is None:
                    continue
                record = entries.get(f"data/{each.storage.key}")
                if record is None:
                    yield f"data/{each.storage.key}", f"it is missing, and `{name}` lies in it"
                    continue
                try:
                    tensor_bytes.check_room(name, each, record.size)
                except VaultError as error:
                    yield record.name, str(error)

    def parsed(self) -> Any:
        self._archive = Archive(self._file, self._size)
        self.checksums = self._archive.has_checksums
        if "archive_format" in self._archive.entries:
            self.format = "exported program"  # its weights have a layout of their own; its checksums do not
            return {}
        if "data.pkl" not in self._archive.entries:
            raise VaultError(
                "it is a zip file, but torch did not write it: it holds no `data.pkl`", record="data.pkl"
            )
        if self._archive.entries["data.pkl"].size > _MOST_PICKLE:
            raise VaultError("`data.pkl` is far too large", record="data.pkl")
        found = inert_pickle.read(io.BytesIO(self._archive.checked("data.pkl")), "data.pkl")
        self.foreign = found.foreign
        return found.value

    def _piece(self, name: str) -> bytearray:
        return (
            self._archive.read(name, 0, min(self._archive.entries[name].size, 16))
            if name in self._archive.entries
            else bytearray()
        )
