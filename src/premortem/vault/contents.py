"""What is in a checkpoint, whoever wrote it, without running anything that is in it.

    with open_contents("epoch=3.ckpt") as contents:
        contents.tensors["model.fc.weight"]      # TensorRecord(name, shape, dtype, bytes)
        contents.plain["epoch"]                  # 3
        contents.state_dicts()                   # model: module, optimizer: optimizer, ...
        contents.read("model.fc.weight")         # a tensor; only now its bytes are read
        contents.value("optimizer")              # the branch as `load_state_dict` wants it

Listing needs no torch. One file in `formats/` for each way a checkpoint is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from premortem.errors import VaultError
from premortem.files import untrusted
from premortem.vault import leaves, tensor_bytes
from premortem.vault.blocks import Advance
from premortem.vault.leaves import StateDict
from premortem.vault.stubs import Opaque, TensorStub

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

__all__ = ["Contents", "StateDict", "TensorRecord", "open_contents"]


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """One tensor of a checkpoint."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # torch's name, without `torch.`
    bytes: int


class Contents(ABC):
    """An opened checkpoint. `tensors` and `plain` are by dotted path, in the order of the file."""

    format: str  # in words, for people
    checksums: bool = False  # whether the format itself shows a flipped bit
    foreign: tuple[str, ...] = ()  # classes of objects in it that were not made

    def __init__(self, path: Path, tree: Any) -> None:
        self.path = path
        self.tree = tree
        self.stubs, self.plain = leaves.flatten(tree)
        self.tensors: Mapping[str, TensorRecord] = {
            name: TensorRecord(name, stub.shape, stub.dtype, tensor_bytes.bytes_of(stub))
            for name, stub in self.stubs.items()
        }

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes on the disk."""

    @abstractmethod
    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        """Each damaged record and what is wrong with it, as far as the format shows it."""

    def read(self, name: str) -> torch.Tensor:
        """One tensor, on the CPU, in memory of its own. Raises VaultError."""
        return self.lifted(name, self.stub(name))

    def elements(self, name: str) -> torch.Tensor | None:
        """The numbers of a tensor, each at least once; None when there are none to look at."""
        return self.looked_at(name, self.stub(name))

    @abstractmethod
    def lifted(self, name: str, stub: TensorStub) -> torch.Tensor:
        """The tensor that a stub of this checkpoint stands for. Raises VaultError."""

    @abstractmethod
    def looked_at(self, name: str, stub: TensorStub) -> torch.Tensor | None:
        """Its numbers, whatever its shape says."""

    def value(self, path: str = "") -> Any:
        """A branch with its tensors, as it was saved. Objects that were not made stay stand-ins."""
        return self._whole_value(_branch(self.tree, path), path)

    def state_dicts(self) -> list[StateDict]:
        """The branches that look like state dicts of modules, optimizers, schedulers and scalers."""
        return list(leaves.state_dicts(self.tree))

    @abstractmethod
    def close(self) -> None:
        """Let go of the files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stub(self, name: str) -> TensorStub:
        """Where a tensor lies, for formats that are put together from others."""
        try:
            return self.stubs[name]
        except KeyError:
            raise VaultError(f"{self.path} holds no tensor `{name}`") from None

    def _whole_value(self, node: Any, path: str) -> Any:
        if isinstance(node, TensorStub):
            return self.lifted(path, node)
        if isinstance(node, Mapping):
            return type(node)(
                (key, self._whole_value(item, leaves.join(path, key))) for key, item in node.items()
            )  # type: ignore[call-arg]
        if type(node) in {list, tuple}:
            return type(node)(
                self._whole_value(item, leaves.join(path, place)) for place, item in enumerate(node)
            )
        number = leaves.number(node)
        return node if number is None else number


class Stored(Contents):
    """A checkpoint whose tensors are cut from storages."""

    big_endian: bool = False

    @abstractmethod
    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        """Bytes of a storage. Raises VaultError."""

    def lifted(self, name: str, stub: TensorStub) -> torch.Tensor:
        return tensor_bytes.lift(name, stub, self.fetch, big_endian=self.big_endian)

    def looked_at(self, name: str, stub: TensorStub) -> torch.Tensor | None:
        return tensor_bytes.elements(name, stub, self.fetch, big_endian=self.big_endian)


def open_contents(path: str | Path) -> Contents:
    """What a file or folder holds. Raises VaultError, or Refused when it is not safe to look."""
    from premortem.vault import formats

    path = Path(path)
    try:
        if not path.exists():
            raise VaultError(f"`{path}` does not exist")
        if not path.is_dir():
            untrusted.opened(path).close()  # a pipe would be waited for
        for each in formats.ALL:
            if each.recognises(path):
                return each.open(path)
    except OSError as error:
        raise VaultError(f"`{path}` cannot be read ({error.strerror or error})") from error
    except RecursionError:
        raise VaultError(f"`{path}` is nested without end") from None
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # A stranger's bytes can be wrong in more ways than each format foresees; all of them mean the same.
        raise VaultError(f"`{path}` is damaged ({type(error).__name__}: {error})") from error
    raise VaultError(f"`{path}` {formats.stranger(path)}")


def _branch(tree: Any, path: str) -> Any:
    """Follow a dotted path; a key may hold dots itself."""
    if not path:
        return tree
    children = dict(leaves.children(tree)) if isinstance(tree, Opaque) else _keyed(tree)
    for key, value in children.items():
        word = str(key)
        if path == word:
            return value
        if path.startswith(f"{word}."):
            try:
                return _branch(value, path[len(word) + 1 :])
            except VaultError:
                continue
    raise VaultError(f"there is nothing at `{path}`")


def _keyed(tree: Any) -> Mapping[Any, Any]:
    if isinstance(tree, Mapping):
        return tree
    return dict(enumerate(tree)) if isinstance(tree, (list, tuple)) else {}
