"""Buffers in what the script saves that were ruined, though all trained weights are finite.

A running statistic of a norm layer is never NaN or infinite on purpose. What other buffers hold is the model's own
business (a mask of infinities, a place not yet filled): of those only NaN counts, where an earlier save of this run
had numbers.
"""

import weakref
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from premortem.vault.health import examine

_STATISTICS = ("running_mean", "running_var")


class Ruined:
    def __init__(self) -> None:
        self._norms: weakref.WeakKeyDictionary[nn.Module, frozenset[str]] = weakref.WeakKeyDictionary()
        self._sound: weakref.WeakKeyDictionary[nn.Module, set[str]] = weakref.WeakKeyDictionary()

    def among(self, module: nn.Module, buffers: Mapping[str, torch.Tensor], path: str) -> list[str]:
        """The names of those that are ruined; `path` is where in the file they lie."""
        numbers = {
            name: value.detach()
            for name, value in buffers.items()
            if value.is_floating_point() and value.layout == torch.strided and value.device.type != "meta"
        }
        health = examine(numbers)
        norms, sound = self._norms_of(module), self._sound.setdefault(module, set())
        ruined = [
            path + name
            for name, count in health.counts.items()
            if name in norms or (count.nan and numbers[name].dim() and path + name in sound)
        ]
        sound.update(path + name for name in numbers if name not in health.counts)
        return ruined

    def _norms_of(self, module: nn.Module) -> frozenset[str]:
        names = self._norms.get(module)
        if names is None:
            names = self._norms[module] = frozenset(
                f"{place}.{own}".lstrip(".")
                for place, part in module.named_modules(remove_duplicate=False)
                if isinstance(part, _NormBase)
                for own in _STATISTICS
            )
        return names
