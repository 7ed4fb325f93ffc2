"""Hugging Face's shards: `model.safetensors.index.json` says in which file each weight lies."""

from collections.abc import Iterator
from pathlib import Path

from premortem.errors import Refused, VaultError
from premortem.files.untrusted import loads, read
from premortem.vault.blocks import Advance
from premortem.vault.contents import Contents, open_contents
from premortem.vault.formats.composed import Composed, close_all, opened
from premortem.vault.stubs import TensorStub

_MOST_INDEX = 256 << 20  # bytes
_INDEXES = ("*.safetensors.index.json", "*.bin.index.json", "*.pt.index.json")


class Sharded(Composed):
    format = "shards with an index"

    def __init__(self, path: Path, index: Path) -> None:
        self._index = index
        weights = _weight_map(index)
        shards: dict[str, Contents] = {}
        try:
            for name in dict.fromkeys(weights.values()):
                shards[name] = _shard(index.parent, name)
            tree = {key: _found(shards[name], key, name) for key, name in weights.items()}
        except BaseException:
            close_all(shards)
            raise
        super().__init__(path, tree, shards)

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
        return self._index.stat().st_size + super().size

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        yield from super().damaged(advance)
        for name, shard in self.parts.items():
            for key in shard.tensors.keys() - self.tensors.keys():
                yield f"{name}: {key}", "it is in the shard but not in the index"


def _found(shard: Contents, key: str, name: str) -> TensorStub:
    if key not in shard.tensors:
        raise VaultError(f"`{key}` should be in {name} and is not", record=f"{name}: {key}")
    return shard.stub(key)


def _index_of(path: Path) -> Path | None:
    if path.is_file():
        return path if path.name.endswith(".index.json") else None
    # Both kinds may lie there; the one without pickles is preferred.
    return next((found for pattern in _INDEXES for found in sorted(path.glob(pattern))), None)


def _weight_map(index: Path) -> dict[str, str]:
    try:
        found = loads(read(index, _MOST_INDEX))["weight_map"]
    except (ValueError, KeyError, TypeError) as error:
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
    return opened(path, open_contents)
