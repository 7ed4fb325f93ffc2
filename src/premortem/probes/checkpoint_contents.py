"""What a checkpoint that was just read holds, as small facts: the tensors themselves are not kept."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from typing import Any

import torch

from premortem.events import Site
from premortem.metric_words import sizes_a_step

_DEEPEST = 3
_MOST_ITEMS = 64  # looked at in each level
_MOST_SETTINGS = 256
_SAMPLED = 8  # tensors of each state dict
_SCALER = frozenset({"scale", "growth_factor", "backoff_factor", "growth_interval"})
_SCHEDULER = frozenset({"_step_count", "base_lrs", "_last_lr", "num_bad_epochs"})
_ANY_SCHEDULER = frozenset({"optimizer", "base_lrs", "last_epoch", "verbose"})
_HORIZONS = ("total_steps", "T_max", "total_iters")
SETTINGS = ("lr", "initial_lr", "weight_decay")
# Moments that have the shape of their parameter in every optimizer of torch.
_MOMENTS = ("exp_avg", "exp_avg_sq", "momentum_buffer", "square_avg", "sum", "acc_delta", "exp_inf")
AVERAGED = re.compile(
    r"(^|[._\d])(ema|shadow|avg|averaged?|swa|polyak|mean_teacher)([._\d]|$)", re.IGNORECASE
)


@dataclass
class SavedOptimizer:
    groups: list[dict[str, float]]  # hyper-parameters that are numbers
    names: list[str] | None  # of its parameters, in order, when it was given named ones
    shapes: dict[int, tuple[int, ...]]  # of the moments, by position
    entries: int
    size: int  # parameters in its groups
    steps: int = 0  # that it has made, where it counts them; 0 when it does not


@dataclass
class SavedScheduler:
    position: int
    horizon: int | None
    names: frozenset[str]  # of its settings, which tell one kind of schedule from another


@dataclass
class SavedModule:
    shapes: dict[str, tuple[int, ...]]  # in the order of the file
    samples: dict[str, list[float]]  # of some of its weights


@dataclass
class Holdings:
    path: str
    at: Site | None
    optimizers: dict[str, SavedOptimizer] = field(default_factory=dict)
    schedulers: dict[str, SavedScheduler] = field(default_factory=dict)
    modules: dict[str, SavedModule] = field(default_factory=dict)
    scale: float | None = None
    counters: tuple[tuple[str, int], ...] = ()
    settings: tuple[tuple[str, int], ...] = ()  # of the run that wrote it, as far as they size its batches

    @property
    def resumable(self) -> bool:
        """More than weights: whoever wrote it meant to go on from it."""
        return bool(self.optimizers or self.schedulers or self.scale is not None)


def holdings_of(thing: Any, path: str, at: Site | None) -> Holdings:
    found = Holdings(path, at, counters=counters_in(thing), settings=settings_in(thing))
    for name, part in parts_of(thing):
        if optimizer := saved_optimizer(part):
            found.optimizers[name] = optimizer
        elif part.keys() >= _SCALER:
            found.scale = as_number(part["scale"])
        elif isinstance(part.get("last_epoch"), int) and _SCHEDULER & part.keys():
            found.schedulers[name] = SavedScheduler(
                part["last_epoch"], saved_horizon(part), settings_of(part)
            )
        elif module := saved_module(part):
            found.modules[name] = module
    return found


def counters_in(thing: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(thing, Mapping):
        return ()
    return tuple((k, v) for k, v in thing.items() if isinstance(k, str) and type(v) is int)[:8]


def settings_in(thing: Any) -> tuple[tuple[str, int], ...]:
    """Batch size, accumulation and number of processes, at the top of the file or in the arguments that lie in it."""
    if not isinstance(thing, Mapping):
        return ()
    inner = [
        value if isinstance(value, Mapping) else getattr(value, "__dict__", None) for value in thing.values()
    ]
    levels = [thing, *(each for each in inner if isinstance(each, Mapping) and not is_state(each))]
    return tuple(
        (name, value)
        for level in levels
        for name, value in islice(level.items(), _MOST_SETTINGS)
        if isinstance(name, str) and type(value) is int and value > 0 and sizes_a_step(name)
    )[:8]


def records_in(thing: Any) -> tuple[tuple[str, float], ...]:
    """Numbers that are no counters: a best score, a loss. A state dict has none, and one on a device would have to be waited for."""
    if not isinstance(thing, Mapping) or _is_all_tensors(thing):
        return ()
    near = (
        (k, v)
        for k, v in thing.items()
        if isinstance(k, str) and type(v) is not int and not (isinstance(v, torch.Tensor) and not v.is_cpu)
    )
    found = ((k, as_number(v)) for k, v in near)
    return tuple(islice(((k, v) for k, v in found if v is not None), 8))


def parts_of(thing: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """The mappings in it, outermost first, not looking into those that are the state of something."""
    if isinstance(thing, Mapping):
        yield name, thing
        if is_state(thing) or depth >= _DEEPEST:
            return
        inner: list[tuple[Any, Any]] = list(thing.items())[:_MOST_ITEMS]
    elif isinstance(thing, (list, tuple)) and depth < _DEEPEST and len(thing) <= _MOST_ITEMS:
        inner = list(enumerate(thing))
    else:
        return
    for key, value in inner:
        if isinstance(value, (Mapping, list, tuple)):
            yield from parts_of(value, f"{name}.{key}".lstrip("."), depth + 1)


def is_state(part: Mapping[Any, Any]) -> bool:
    """A tensor beside states, such as that of a random generator, does not make a checkpoint the state of one thing."""
    if "param_groups" in part:
        return True
    inner = (value for key, value in part.items() if not str(key).endswith("_extra_state"))
    return any(isinstance(value, torch.Tensor) for value in part.values()) and not any(
        isinstance(value, Mapping) and is_state(value) for value in inner
    )


def saved_optimizer(part: Mapping[Any, Any]) -> SavedOptimizer | None:
    groups, state = part.get("param_groups"), part.get("state")
    if not isinstance(groups, list) or not isinstance(state, Mapping) or not groups:
        return None
    if not all(isinstance(group, Mapping) and isinstance(group.get("params"), list) for group in groups):
        return None
    order = [position for group in groups for position in group["params"]]
    names = [name for group in groups for name in group.get("param_names", ())]
    shapes = {
        index: tuple(value.shape)
        for index, position in enumerate(order)
        if isinstance(entry := state.get(position), Mapping)
        for value in [next((entry[m] for m in _MOMENTS if isinstance(entry.get(m), torch.Tensor)), None)]
        if value is not None
    }
    return SavedOptimizer(
        groups=[hyper_parameters(group) for group in groups],
        names=[str(name) for name in names] if len(names) == len(order) else None,
        shapes=shapes,
        entries=len(state),
        size=len(order),
        steps=steps_in(state),
    )


def steps_in(state: Mapping[Any, Any]) -> int:
    """A parameter that was frozen for a while has made fewer than the others."""
    counted = (as_number(entry.get("step")) for entry in state.values() if isinstance(entry, Mapping))
    return int(max((number for number in counted if number is not None and isfinite(number)), default=0))


def hyper_parameters(group: Mapping[Any, Any]) -> dict[str, float]:
    found = {name: as_number(group.get(name)) for name in SETTINGS}
    return {name: value for name, value in found.items() if value is not None}


def saved_horizon(part: Mapping[Any, Any]) -> int | None:
    for name in _HORIZONS:
        value = part.get(name)
        if isinstance(value, (int, float)) and value > 0:
            return int(value)
    return None


def settings_of(scheduler: Mapping[Any, Any]) -> frozenset[str]:
    names = (name for name in scheduler if isinstance(name, str) and not name.startswith("_"))
    return frozenset(names) - _ANY_SCHEDULER


def _is_all_tensors(part: Mapping[Any, Any]) -> bool:
    """As the state of a module, which may have one thing more (`_extra_state`)."""
    tensors = sum(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in part.items())
    return tensors >= max(2, len(part) - 1)


def saved_module(part: Mapping[Any, Any]) -> SavedModule | None:
    tensors = {k: v for k, v in part.items() if isinstance(k, str) and isinstance(v, torch.Tensor)}
    if not _is_all_tensors(part):
        return None
    return SavedModule({name: tuple(value.shape) for name, value in tensors.items()}, samples_of(tensors))


def samples_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, list[float]]:
    """A few numbers of some of the weights; copies them from a device, so not for every step."""
    chosen = [(n, v) for n, v in tensors.items() if v.is_floating_point() and v.dim() > 1 and v.numel() >= 8]
    stride = max(1, len(chosen) // _SAMPLED)
    return {name: numbers_of(value) for name, value in chosen[::stride][:_SAMPLED]}


def numbers_of(tensor: torch.Tensor) -> list[float]:
    flat = tensor.detach().reshape(-1)
    values: list[float] = flat[:: max(1, flat.numel() // 8)][:8].tolist()
    return values


def as_number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor):
        real = not value.is_complex() and not value.is_meta
        return float(value) if real and value.numel() == 1 else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
