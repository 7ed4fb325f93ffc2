"""Weights that a script keeps beside its model: an average, a teacher, a frozen reference."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.probes.checkpoint_contents import SavedModule, numbers_of
from premortem.probes.frame_variables import variables

_MOST_VALUES = 512  # variables of a frame that are looked at


def kept_weights(frames: list[Any], modules: list[nn.Module]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Modules and dicts of tensors that the script keeps beside the models that were loaded, by name."""
    mine = {id(module) for module in modules}
    names = {name for module in modules for name in unwrapped(module.state_dict())}
    for frame in frames:
        for name, value in list({**frame.f_globals, **variables(frame)}.items())[:_MOST_VALUES]:
            inner = getattr(value, "__dict__", {}) if is_plain_object(value) else {}
            for label, thing in ((name, value), *((f"{name}.{key}", held) for key, held in inner.items())):
                if isinstance(thing, nn.Module) and id(thing) not in mine:
                    yield label, thing.state_dict()
                elif isinstance(thing, dict) and are_weights(thing, names):
                    yield label, thing


def are_weights(thing: dict[Any, Any], names: set[str]) -> bool:
    """A dict that calls its tensors as a model calls its parameters, and not a batch."""
    tensors = {name for name, value in thing.items() if isinstance(value, torch.Tensor)}
    own = unwrapped({name: None for name in tensors if isinstance(name, str)})
    return bool(tensors) and 2 * len(names & set(own)) >= len(tensors)


def unwrapped(named: Mapping[str, Any]) -> dict[str, Any]:
    """Without the `module.` that a wrapper puts before the names."""
    return {name.removeprefix("module."): value for name, value in named.items()}


def bare(module: SavedModule) -> dict[str, Any]:
    return {name: shape for name, shape in unwrapped(module.shapes).items() if name != "n_averaged"}


def is_plain_object(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, (nn.Module, type, type(os), Optimizer))


def holds(tensors: Mapping[str, Any], samples: Mapping[str, list[float]]) -> bool:
    """Whether these are the sampled weights; a wrapper's `module.` before the names does not matter."""
    for name, values in samples.items():
        bare = name.removeprefix("module.")
        own = next((tensors[n] for n in (name, bare, f"module.{bare}") if n in tensors), None)
        if not isinstance(own, torch.Tensor) or numbers_of(own) != values:
            return False
    return bool(samples)
