"""A checkpoint to resume from: one of ours, or anybody's file.

Ours says what each part is. In a stranger's file the parts are found by what they look like: weights go to the model
whose names and shapes they have, a dict with `param_groups` is an optimizer's state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.vault.contents import Contents, StateDict
from premortem.vault.manifest import Manifest
from premortem.vault.matching import Match, Spec, match
from premortem.vault.moments import Names
from premortem.vault.store import Loaded

_STEPS = (
    "step",
    "global_step",
    "iteration",
    "iter_num",
    "iter",
    "steps",
    "n_iter",
    "num_steps",
    "current_step",
)
_AVERAGED = ("ema", "averaged", "shadow", "swa")


@dataclass(frozen=True)
class Weights:
    """The weights of one piece, by the file's names."""

    match: Match
    tensors: Mapping[str, Any]
    shapes: dict[str, tuple[int, ...]]  # in the order of the file
    extra: dict[str, Any] = field(default_factory=dict)  # what modules keep besides (`get_extra_state`)


class Saved(ABC):
    """What a resume asks a checkpoint."""

    path: Path
    step: int | None = None
    epoch: int | None = None
    manifest: Manifest | None = None

    @abstractmethod
    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        """The weights of a piece, and how they match. None when there are none."""

    @abstractmethod
    def state(self, piece: str, kind: str) -> Any:
        """The state of any other piece, None when it was not saved."""

    def names(self, piece: str) -> Names | None:
        """The names of an optimizer's parameters, when they were saved."""
        return None

    @abstractmethod
    def leftover(self) -> list[str]:
        """Parts of the checkpoint that nobody asked for."""


class OurSaved(Saved):
    """A checkpoint of a vault, loaded and verified."""

    def __init__(self, path: Path, loaded: Loaded) -> None:
        self.path = path
        self.loaded = loaded
        self.manifest = loaded.manifest
        self.step = loaded.manifest.step
        self._asked: set[str] = {"rng", "extra"}

    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        state = self.state(piece, "module")
        if not isinstance(state, Mapping):
            return None
        tensors = {key: value for key, value in state.items() if hasattr(value, "shape")}
        extra = {key: value for key, value in state.items() if key.endswith("_extra_state")}
        specs = _specs(tensors)
        return Weights(match(specs, wanted), tensors, {key: each.shape for key, each in specs.items()}, extra)

    def state(self, piece: str, kind: str) -> Any:
        self._asked.add(piece)
        return self.loaded.state(piece) if piece in self.loaded.trees else None

    def names(self, piece: str) -> Names | None:
        return self.loaded.manifest.optimizers.get(piece)

    def leftover(self) -> list[str]:
        return [f"`{piece}`" for piece in self.loaded.trees if piece not in self._asked]


class TheirSaved(Saved):
    """A file that premortem did not write."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self._contents = contents
        self._parts = contents.state_dicts()
        self._used: set[str] = set()
        self.step = _counted(contents.plain, _STEPS)
        self.epoch = _counted(contents.plain, ("epoch", "current_epoch", "last_epoch"))

    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        best: Weights | None = None
        where = ""
        for part in self._weights_for(piece):
            records = {key: self._contents.tensors[name] for key, name in part.keys.items()}
            found = match({key: Spec(each.shape, each.dtype) for key, each in records.items()}, wanted)
            if best is None or len(found.pairs) > len(best.match.pairs):
                shapes = {key: each.shape for key, each in records.items()}
                best, where = Weights(found, _Lazy(self._contents, part.keys), shapes), part.path
        if best is not None:
            self._used.add(where)
        return best

    def state(self, piece: str, kind: str) -> Any:
        able = [part for part in self._parts if part.kind == kind and part.path not in self._used]
        if not able:
            return None
        # Two optimizers and two of them in the file: by name where one says so, else in order.
        own = piece.rpartition(".")[2]
        part = next((each for each in able if own in each.path.split(".")), able[0])
        self._used.add(part.path)
        return self._contents.value(part.path)

    def leftover(self) -> list[str]:
        parts = [part.path for part in self._parts if part.path not in self._used]
        return [f"`{path}`" if path else "the weights" for path in parts]

    def _weights_for(self, piece: str) -> list[StateDict]:
        able = [part for part in self._parts if part.kind in {"module", "averaged"}]
        averaged = [part for part in able if part.kind == "averaged" or _is_averaged(part.path)]
        if piece.partition(".")[0] == "ema":
            return averaged
        plain = [part for part in able if part not in averaged]
        return plain or able


class _Lazy(Mapping[str, Any]):
    """Tensors of a file, read when they are asked for."""

    def __init__(self, contents: Contents, keys: Mapping[str, str]) -> None:
        self._contents, self._keys = contents, keys

    def __getitem__(self, key: str) -> Any:
        return self._contents.read(self._keys[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def _specs(tensors: Mapping[str, Any]) -> dict[str, Spec]:
    return {
        key: Spec(tuple(each.shape), str(each.dtype).removeprefix("torch.")) for key, each in tensors.items()
    }


def _is_averaged(path: str) -> bool:
    return any(
        word in path.lower().replace("-", "_").split("_") + path.lower().split(".") for word in _AVERAGED
    )


def _counted(plain: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = plain.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
