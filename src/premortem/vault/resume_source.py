"""A checkpoint to resume from: one of ours, or anybody's file.

Ours says what each part is. In a stranger's file the parts are found by what they look like: weights go to the model
whose names and shapes they have, a dict with `param_groups` is an optimizer's state.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from premortem.vault import parts, training_objects
from premortem.vault.contents import Contents, StateDict
from premortem.vault.manifest import Manifest
from premortem.vault.matching import Match, Spec, match
from premortem.vault.optimizer_state import Names
from premortem.vault.store import Loaded

# Keys as loops spell them, whole: a file has other counters too.
# Not `steps` and `epochs`: those may be how many there are to be.
_STEPS = ("step", "global_step", "iteration", "iter_num", "iter", "it", "n_iter", "current_step")
_EPOCHS = ("epoch", "current_epoch", "last_epoch")
_AVERAGED = ("ema", "averaged", "shadow", "swa")


@dataclass(frozen=True)
class Weights:
    """The weights of one piece, by the file's names."""

    match: Match
    tensors: Mapping[str, Any]
    shapes: dict[str, tuple[int, ...]]  # in the order of the file
    rivals: list[str] = field(default_factory=list)  # parts of the file that would fit as well
    extra: dict[str, Any] = field(default_factory=dict)  # what modules keep besides (`get_extra_state`)


class Saved(ABC):
    """What a resume asks a checkpoint."""

    path: Path
    step: int | None = None
    epoch: int | None = None
    manifest: Manifest | None = None
    remarks: tuple[str, ...] = ()  # where step and epoch come from, when that is not certain

    @abstractmethod
    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        """The weights of a piece, and how they match. None when there are none."""

    @abstractmethod
    def state(self, piece: str, kind: str, fits: Callable[[Any], bool] = lambda _state: True) -> Any:
        """The state of any other piece, None when it was not saved. `fits` chooses between several."""

    def names(self, piece: str) -> Names | None:
        """The names of an optimizer's parameters, when they were saved."""
        return None

    @abstractmethod
    def leftover(self) -> list[str]:
        """Parts of the checkpoint that were not asked for."""


class OurSaved(Saved):
    """A checkpoint of a vault, loaded and verified."""

    def __init__(self, path: Path, loaded: Loaded) -> None:
        self.path = path
        self.loaded = loaded
        self.manifest = loaded.manifest
        self.step = loaded.manifest.step
        self._asked: set[str] = {"rng", "extra"}
        self._rank = training_objects.rank()
        # A part is whose it was only as long as there are as many ranks.
        self.as_many = loaded.manifest.ranks == training_objects.processes()
        self._own = {parts.plain(each) for each in loaded.trees if parts.plain(each) != each}

    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        state = self.state(piece, "module")
        if not isinstance(state, Mapping):
            return None
        tensors = {key: value for key, value in state.items() if hasattr(value, "shape")}
        extra = {key: value for key, value in state.items() if key.endswith("_extra_state")}
        specs = _specs(tensors)
        return Weights(
            match(specs, wanted), tensors, {key: each.shape for key, each in specs.items()}, extra=extra
        )

    def state(self, piece: str, kind: str, fits: Callable[[Any], bool] = lambda _state: True) -> Any:
        self._asked.add(piece)
        if piece in self._own and not self.as_many:
            return None
        name = self._called(piece)
        return self.loaded.state(name) if name in self.loaded.trees else None

    def names(self, piece: str) -> Names | None:
        return self.loaded.manifest.optimizers.get(self._called(piece))

    @property
    def sharded(self) -> list[str]:
        """The pieces that lie in pieces of their own, rank by rank."""
        return self.loaded.manifest.sharded

    def leftover(self) -> list[str]:
        common = [piece for piece in self.loaded.trees if parts.plain(piece) == piece]
        return [f"`{piece}`" for piece in common if piece not in self._asked]

    def _called(self, piece: str) -> str:
        return parts.called(self._rank, piece) if piece in self._own else piece


class TheirSaved(Saved):
    """A file that premortem did not write."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self._contents = contents
        self._parts = contents.state_dicts()
        self._used: set[str] = set()
        steps, epochs = _counters(contents.plain, _STEPS), _counters(contents.plain, _EPOCHS)
        self.step, self.epoch = _agreed(steps), _agreed(epochs)
        self.remarks = tuple(_where_from(steps, "step") + _where_from(epochs, "epoch"))

    def weights(self, piece: str, wanted: Mapping[str, Spec]) -> Weights | None:
        able = self._weights_for(piece)
        able = [part for part in able if part.path not in self._used] or able
        found = []
        for part in able:
            records = {key: self._contents.tensors[name] for key, name in part.keys.items()}
            fit = match({key: Spec(each.shape, each.dtype) for key, each in records.items()}, wanted)
            shapes = {key: each.shape for key, each in records.items()}
            rank = (len(fit.pairs), _likeness(piece, part.path))
            found.append((rank, part.path, Weights(fit, _Lazy(self._contents, part.keys), shapes)))
        if not found:
            return None
        best = max(found, key=lambda each: each[0])  # the first of equals
        self._used.add(best[1])
        rivals = [path for rank, path, _ in found if rank == best[0]]
        return replace(best[2], rivals=rivals if len(rivals) > 1 else [])

    def state(self, piece: str, kind: str, fits: Callable[[Any], bool] = lambda _state: True) -> Any:
        able = [part for part in self._parts if part.kind == kind and part.path not in self._used]
        able.sort(key=lambda part: -_likeness(piece, part.path))
        values = [(part.path, self._contents.value(part.path)) for part in able]
        if not values:
            return None
        path, value = next((each for each in values if fits(each[1])), values[0])
        self._used.add(path)
        return value

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


def _likeness(piece: str, path: str) -> int:
    """How much the name of a part says that it is this piece: `optimizer.D` and `opt_D`."""
    own = piece.rpartition(".")[2].lower()
    parts = path.lower().split(".")
    if own in parts:
        return 2
    words = {word for part in parts for word in part.replace("-", "_").split("_")}
    return int(own in words or set(own.split("_")) <= words)


def _is_averaged(path: str) -> bool:
    return any(
        word in path.lower().replace("-", "_").split("_") + path.lower().split(".") for word in _AVERAGED
    )


def _counters(plain: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, int]:
    """Whole numbers under these names, at the top of the file."""
    return {
        name: plain[name] for name in names if type(plain.get(name)) is int and plain[name] >= 0
    }  # a bool is another type


def _agreed(counters: Mapping[str, int]) -> int | None:
    return next(iter(counters.values())) if len(set(counters.values())) == 1 else None


def _where_from(counters: Mapping[str, int], what: str) -> list[str]:
    counted = " and ".join(f"`{name}` {value:,}" for name, value in counters.items())
    if not counters:
        return []
    if _agreed(counters) is None:
        return [f"The file has {counted}: it is not clear which one is the {what}, so report.{what} is None."]
    if what == "step":
        return [f"report.step is as stored: {counted}. report.start is one more."]
    unknown = "The file does not say whether that epoch was finished; if it was, begin with report.epoch + 1."
    return [f"report.epoch is as stored: {counted}. {unknown}"]
