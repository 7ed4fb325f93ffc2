"""What the formats have in common whose checkpoint is put together from other checkpoints."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from premortem.errors import Refused, VaultError
from premortem.vault.blocks import Advance
from premortem.vault.contents import Contents
from premortem.vault.stubs import TensorStub

C = TypeVar("C", bound=Contents)


class Composed(Contents):
    def __init__(self, path: Path, tree: Any, parts: Mapping[str, Contents]) -> None:
        self.parts = parts
        self.checksums = all(part.checksums for part in parts.values())
        self.foreign = tuple(dict.fromkeys(name for part in parts.values() for name in part.foreign))
        self._where = {id(stub): part for part in parts.values() for stub in part.stubs.values()}
        super().__init__(path, tree)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts.values())

    def close(self) -> None:
        close_all(self.parts)

    def lifted(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].lifted(name, stub)

    def looked_at(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].looked_at(name, stub)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        for name, part in self.parts.items():
            for record, problem in part.damaged(advance):
                yield f"{name}: {record}", problem


def close_all(parts: Mapping[str, Contents]) -> None:
    for part in parts.values():
        part.close()


def opened(file: Path, by: Callable[[Path], C]) -> C:
    """A file of a larger checkpoint; errors name the file."""
    try:
        return by(file)
    except Refused as refused:
        raise Refused(f"{file.name}: {refused}") from None
    except VaultError as error:
        raise VaultError(
            f"{file.name}: {error}", record=f"{file.name}: {error.record}".rstrip(": ")
        ) from error
