"""Weights that are still as torch makes a new layer: drawn evenly between two bounds, which training leaves at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

_MADE_SO = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_FEWEST = 512  # weights that say how they are spread
_MOST = 4096  # ... of a layer
_SPREAD = (
    1.95  # of Kolmogorov and Smirnov's test: one of a thousand new layers is further from an even spread
)


def as_made(module: nn.Module, state: Mapping[str, Any]) -> tuple[int, int]:
    """How many layers of those that say it have weights as torch makes them, and how many say it."""
    found = [
        is_as_made(weight, state.get(f"{name}.bias" if name else "bias"), layer)
        for name, layer in module.named_modules()
        if type(layer) in _MADE_SO
        and isinstance(weight := state.get(f"{name}.weight" if name else "weight"), torch.Tensor)
        and weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and weight.shape == layer.weight.shape
        and weight.numel() >= _FEWEST
    ]
    return sum(found), len(found)


def is_as_made(weight: torch.Tensor, bias: Any, layer: nn.Module) -> bool:
    """No weight and no bias beyond the bound, and the weights spread evenly up to it."""
    bound = 1 / math.sqrt(weight[0].numel())
    weight = weight.detach()
    near = bound * (1 + 1e-6)
    if float(weight.abs().max()) > near or (
        isinstance(bias, torch.Tensor) and float(bias.detach().abs().max()) > near
    ):
        return False
    some = weight.reshape(-1)[:: max(1, weight.numel() // _MOST)].double().sort().values
    places = torch.arange(1, len(some) + 1, dtype=torch.float64) / len(some)
    furthest = float((places - (some / bound + 1) / 2).abs().max())
    return furthest * math.sqrt(len(some)) < _SPREAD
