"""A folder with one file for each part, as Transformers, Accelerate and Diffusers write it.

checkpoint-500/model.safetensors     →  model.…
               optimizer.pt          →  optimizer.…
               scheduler.pt          →  scheduler.…
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from premortem.errors import Refused, VaultError
from premortem.vault.contents import Advance, Contents, open_contents
from premortem.vault.formats.sharded import Sharded
from premortem.vault.stubs import TensorStub

_MODELS = ("model", "pytorch_model", "adapter_model", "diffusion_pytorch_model")
_PARTS = ("optimizer", "scheduler", "scaler", "ema", "rng_state")
_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")


class Bundle(Contents):
    format = "folder of parts"

    def __init__(self, path: Path, parts: dict[str, Contents]) -> None:
        self._parts = parts
        self._where = {id(stub): part for part in parts.values() for stub in part.stubs.values()}
        self.checksums = all(part.checksums for part in parts.values())
        self.foreign = tuple(dict.fromkeys(name for part in parts.values() for name in part.foreign))
        super().__init__(path, {name: part.tree for name, part in parts.items()})

    @staticmethod
    def recognises(path: Path) -> bool:
        return path.is_dir() and (Sharded.recognises(path) or _file(path, _MODELS) is not None)

    @staticmethod
    def open(path: Path) -> Contents:
        parts: dict[str, Contents] = {}
        try:
            if Sharded.recognises(path):
                parts["model"] = Sharded.open(path)
            for name in (_MODELS, *((part,) for part in _PARTS)):
                file = _file(path, name)
                key = "model" if name == _MODELS else name[0]
                if file is not None and key not in parts:
                    parts[key] = _opened(file)
        except BaseException:
            for part in parts.values():
                part.close()
            raise
        # A model alone is what it is, without a prefix in front of every name.
        return parts["model"] if len(parts) == 1 else Bundle(path, parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self._parts.values())

    def close(self) -> None:
        for part in self._parts.values():
            part.close()

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        raise NotImplementedError  # each tensor is read by its own part

    def lifted(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].lifted(name, stub)

    def looked_at(self, name: str, stub: TensorStub) -> Any:
        return self._where[id(stub)].looked_at(name, stub)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        for name, part in self._parts.items():
            for record, problem in part.damaged(advance):
                yield f"{name}: {record}", problem


def _file(folder: Path, names: tuple[str, ...]) -> Path | None:
    candidates = (folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def _opened(file: Path) -> Contents:
    try:
        return open_contents(file)
    except Refused as refused:
        raise Refused(f"{file.name}: {refused}") from None
    except VaultError as error:
        raise VaultError(
            f"{file.name}: {error}", record=f"{file.name}: {error.record}".rstrip(": ")
        ) from error
