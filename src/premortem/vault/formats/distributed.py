"""`torch.distributed.checkpoint`: `.metadata` and `*.distcp`, in which each piece of a tensor is a torch zip."""

import io
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from premortem.errors import Refused, VaultError
from premortem.files.untrusted import opened
from premortem.vault import dtypes, inert_pickle, tensor_bytes
from premortem.vault.blocks import Advance, Window
from premortem.vault.contents import Contents
from premortem.vault.stubs import Opaque, Storage, TensorStub, sizes_of, strides
from premortem.vault.zips import MAGIC, Archive

METADATA = ".metadata"
# What `.metadata` is made of. It has no checksum, but a name that differs from one of these in one letter is damage.
CLASSES = {
    f"torch.distributed.checkpoint.{name}"
    for name in "metadata.Metadata metadata.TensorStorageMetadata metadata.TensorProperties "
    "metadata._MEM_FORMAT_ENCODING metadata.ChunkStorageMetadata metadata.BytesStorageMetadata "
    "metadata.MetadataIndex metadata.StorageMeta filesystem._StorageInfo".split()
}


@dataclass(frozen=True, slots=True)
class _Piece:
    """Where one item lies."""

    file: str
    start: int
    length: int
    at: tuple[int, ...]  # its place in the tensor

    @property
    def record(self) -> str:
        return f"{self.file} at {self.start:,}"


class Distributed(Contents):
    format = "distributed checkpoint"
    checksums = True

    def __init__(self, path: Path) -> None:
        self._files: dict[str, IO[bytes]] = {}
        self._sizes: dict[str, int] = {}
        with (path / METADATA).open("rb") as file:
            read = inert_pickle.read(file, METADATA)
        found = read.value
        described = found.state if isinstance(found, Opaque) else None
        for name in read.foreign:
            if any(_one_letter_off(name, known) for known in CLASSES):
                raise VaultError(f"`{METADATA}` is damaged: there is no `{name}`", record=METADATA)
        if not isinstance(described, Mapping) or not isinstance(described.get("storage_data"), Mapping):
            raise VaultError(f"`{METADATA}` does not say where the tensors are", record=METADATA)
        self._path = path
        try:
            self._pieces = self._located(described["storage_data"])
            leaves = {
                key: self._leaf(key, each) for key, each in dict(described["state_dict_metadata"]).items()
            }
            _agree(leaves, self._pieces, described.get("planner_data"))
        except BaseException:
            self.close()
            raise
        super().__init__(path, _nested(leaves, described.get("planner_data")))

    @staticmethod
    def recognises(path: Path) -> bool:
        return path.is_dir() and (path / METADATA).is_file()

    @staticmethod
    def open(path: Path) -> Contents:
        return Distributed(path)

    @property
    def size(self) -> int:
        return (self._path / METADATA).stat().st_size + sum(self._sizes.values())

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def lifted(self, name: str, stub: TensorStub) -> Any:
        return self._whole(name, stub)

    def looked_at(self, name: str, stub: TensorStub) -> Any:
        return self._whole(name, stub) if math.prod(stub.shape) else None

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        return self._problems(lambda archive: archive.damaged(advance), unreadable=True)

    def altered(self) -> Iterator[tuple[str, str]]:
        """Each item that torch would load as something else than was written. Items of other kinds are skipped."""
        return self._problems(Archive.altered, unreadable=False)

    def _problems(
        self, look: Callable[[Archive], Iterator[tuple[str, str]]], *, unreadable: bool
    ) -> Iterator[tuple[str, str]]:
        for key, pieces in self._pieces.items():
            for piece in pieces:
                try:
                    archive = self._archive(piece)
                except VaultError as error:
                    if unreadable:
                        yield f"{key} ({piece.record})", str(error)
                    continue
                for record, problem in look(archive):
                    yield f"{key} ({piece.record}, {record})", problem

    def _whole(self, name: str, stub: TensorStub) -> Any:
        torch = tensor_bytes.needs_torch()
        assert stub.storage is not None  # noqa: S101 - every tensor here was made by _leaf
        parts = [(piece, self._part(piece)) for piece in self._pieces.get(stub.storage.key, [])]
        if sum(part.numel() for _, part in parts) != math.prod(stub.shape):
            raise VaultError(f"the pieces of `{name}` do not make up the whole tensor", record=name)
        whole = torch.empty(stub.shape, dtype=getattr(torch, stub.dtype))
        for piece, part in parts:
            if len(piece.at) != part.dim():
                raise VaultError(f"a piece of `{name}` has no place in it", record=name)
            place = tuple(
                slice(start, start + size) for start, size in zip(piece.at, part.shape, strict=True)
            )
            if whole[place].shape != part.shape:
                raise VaultError(f"a piece of `{name}` lies outside it", record=name)
            whole[place] = part
        return whole

    def _part(self, piece: _Piece) -> Any:
        archive = self._archive(piece)
        stub = inert_pickle.read(io.BytesIO(archive.checked("data.pkl")), f"data.pkl of {piece.record}").value
        if not isinstance(stub, TensorStub):
            raise VaultError(f"there is no tensor at {piece.record}", record=piece.record)
        return tensor_bytes.lift(
            piece.record, stub, lambda key, start, size: archive.read(f"data/{key}", start, size)
        )

    def _archive(self, piece: _Piece) -> Archive:
        window = io.BufferedReader(Window(self._files[piece.file], piece.start, piece.length))
        if window.read(4) != MAGIC:
            raise VaultError(f"what lies at {piece.record} does not begin like an item", record=piece.record)
        return Archive(window, piece.length)

    def _located(self, storage_data: Mapping[Any, Any]) -> dict[str, list[_Piece]]:
        pieces: dict[str, list[_Piece]] = defaultdict(list)
        for index, info in storage_data.items():
            which, where = _state(index), _state(info)
            key, file = which.get("fqn"), where.get("relative_path")
            start, length = where.get("offset"), where.get("length")
            if not isinstance(key, str) or not isinstance(file, str):
                raise VaultError(f"`{METADATA}` does not say where an item lies", record=METADATA)
            if not isinstance(start, int) or not isinstance(length, int) or start < 0 or length < 0:
                raise VaultError(f"`{METADATA}` gives `{key}` no place", record=key)
            self._opened(file)
            if start + length > self._sizes[file]:
                raise VaultError(f"{file} ends before the end of `{key}`: it was cut off", record=file)
            pieces[key].append(_Piece(file, start, length, tuple(which.get("offset") or ())))
        return dict(pieces)

    def _opened(self, name: str) -> None:
        if name in self._files:
            return
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise Refused(f"`{METADATA}` names the file `{name}`, which leads out of its folder")
        try:
            self._files[name] = opened(self._path / name)
        except FileNotFoundError:
            raise VaultError(f"the file {name} is missing", record=name) from None
        self._sizes[name] = os.fstat(self._files[name].fileno()).st_size

    def _leaf(self, key: str, described: Any) -> Any:
        state = _state(described)
        if "size" in state:
            kind = state["properties"].state[0] if isinstance(state.get("properties"), Opaque) else ""
            dtype = dtypes.of_torch(str(getattr(kind, "name", kind)))
            if dtype not in dtypes.BYTES:
                raise VaultError(f"`{METADATA}` gives `{key}` no type", record=key)
            shape = sizes_of(state["size"], f"`{key}`")
            return TensorStub(Storage(key, dtype, math.prod(shape)), dtype, shape, strides(shape))
        if not self._pieces.get(key):
            raise VaultError(f"`{key}` is described but lies nowhere", record=key)
        try:
            archive = self._archive(self._pieces[key][0])
            return inert_pickle.read(io.BytesIO(archive.checked("data.pkl")), f"`{key}`").value
        except Refused:
            raise
        except VaultError as error:
            raise VaultError(f"`{key}`: {error}", record=key) from error


def _state(node: Any) -> Mapping[str, Any]:
    return node.state if isinstance(node, Opaque) and isinstance(node.state, Mapping) else {}


def _agree(leaves: Mapping[str, Any], pieces: Mapping[str, Any], paths: Any) -> None:
    """Every name stands there three times, and each time it must be the same."""
    paths = paths if isinstance(paths, Mapping) else {}
    for key in {*leaves, *pieces}:
        leaf, path = leaves.get(key), paths.get(key) if paths else (key,)
        empty = isinstance(leaf, TensorStub) and not math.prod(leaf.shape)
        spelled = isinstance(path, tuple) and ".".join(map(str, path)) == key
        if key not in leaves or (key not in pieces and not empty) or not spelled:
            raise VaultError(f"`{METADATA}` spells the name `{key}` in two ways", record=key)


def _one_letter_off(name: str, known: str) -> bool:
    return len(name) == len(known) and sum(a != b for a, b in zip(name, known, strict=True)) == 1


def _nested(leaves: Mapping[str, Any], paths: Any) -> Any:
    """The tree that was saved; the metadata remembers how its names were put together."""
    tree: dict[Any, Any] = {}
    for key, leaf in leaves.items():
        path = paths.get(key) if isinstance(paths, Mapping) else None
        *above, last = path if isinstance(path, tuple) and path else (key,)
        node = tree
        for word in above:
            node = node.setdefault(word, {})
            if not isinstance(node, dict):
                raise VaultError(f"`{METADATA}` puts `{key}` inside a tensor", record=key)
        node[last] = leaf
    return _lists(tree)


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    inner = {key: _lists(value) for key, value in node.items()}
    if inner and list(inner) == list(range(len(inner))):
        return list(inner.values())
    return inner
