"""Hugging Face's shards: `model.safetensors.index.json` says in which file each weight lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from premortem.errors import Refused, VaultError
from premortem.vault.contents import Advance, Contents, open_contents
from premortem.vault.stubs import TensorStub

_MOST_INDEX = 256 << 20  # bytes
_INDEXES = ("*.safetensors.index.json", "*.bin.index.json", "*.pt.index.json")


class Sharded(Contents):
    format = "shards with an index"

    def __init__(self, path: Path, index: Path) -> None:
        self._index = index
        weights = _weight_map(index)
        self._shards: dict[str, Contents] = {}
        try:
            for name in dict.fromkeys(weights.values()):
                self._shards[name] = _shard(index.parent, name)
            tree = {key: self._found(key, name) for key, name in weights.items()}
        except BaseException:
            self.close()
            raise
        self._where = {id(stub): self._shards[weights[key]] for key, stub in tree.items()}
        self.checksums = all(shard.checksums for shard in self._shards.values())
        self.foreign = tuple(dict.fromkeys(name for each in self._shards.values() for name in each.foreign))
        super().__init__(path, tree)

    @staticmethod
    def recognises(path: Path) -> bool:
        return _index_of(path) is not None

    @staticmethod
    def open(path: Path) -> Contents:
        index = _index_of(path)
        assert index is not None  # noqa: S101 - it was recognised
        return Sharded(path, index)

    @property
    def size(self) -> int:
        return self._index.stat().st_size + sum(shard.size for shard in self._shards.values())

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        raise NotImplementedError  # each tensor is read by its own shard

    def lifted(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].lifted(name, stub)

    def looked_at(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].looked_at(name, stub)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        for name, shard in self._shards.items():
            for record, problem in shard.damaged(advance):
                yield f"{name}: {record}", problem
            for key in shard.tensors.keys() - self.tensors.keys():
                yield f"{name}: {key}", "it is in the shard but not in the index"

    def _found(self, key: str, name: str) -> Any:
        if key not in self._shards[name].tensors:
            raise VaultError(f"`{key}` should be in {name} and is not", record=f"{name}: {key}")
        return self._shards[name].stub(key)


def _index_of(path: Path) -> Path | None:
    if path.is_file():
        return path if path.name.endswith(".index.json") else None
    # Both kinds may lie there; the one without pickles is preferred.
    return next((found for pattern in _INDEXES for found in sorted(path.glob(pattern))), None)


def _weight_map(index: Path) -> dict[str, str]:
    try:
        if index.stat().st_size > _MOST_INDEX:
            raise VaultError(f"`{index.name}` is far too large for an index", record=index.name)
        found = json.loads(index.read_bytes())["weight_map"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise VaultError(f"`{index.name}` is damaged ({error})", record=index.name) from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise VaultError(f"`{index.name}` is damaged: it does not map weights to files", record=index.name)
    return found


def _shard(folder: Path, name: str) -> Contents:
    if "/" in name or "\\" in name or name in {"", ".", ".."}:
        raise Refused(f"its index names the file `{name}`, which leads out of its folder")
    path = folder / name
    if not path.is_file():
        raise VaultError(f"the shard {name} is missing", record=name)
    try:
        return open_contents(path)
    except Refused as refused:
        raise Refused(f"{name}: {refused}") from None
    except VaultError as error:
        raise VaultError(f"{name}: {error}", record=f"{name}: {error.record}".rstrip(": ")) from error
