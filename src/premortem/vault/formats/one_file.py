"""What the formats have in common whose checkpoint is a single file."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from premortem.files.untrusted import opened
from premortem.vault.contents import Stored

if TYPE_CHECKING:
    from typing_extensions import Self


class OneFile(Stored):
    def __init__(self, path: Path, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size
        super().__init__(path, self.parsed())

    @abstractmethod
    def parsed(self) -> Any:
        """What the file says is in it, with stubs in the place of tensors. Raises VaultError."""

    @classmethod
    def open(cls, path: Path) -> Self:
        file = opened(path)
        try:
            return cls(path, file, path.stat().st_size)
        except BaseException:
            file.close()
            raise

    @property
    def size(self) -> int:
        return self._size

    def close(self) -> None:
        self._file.close()
