"""What a script's training step is made of, as seen in its first turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer


@dataclass
class Scene:
    roots: list[nn.Module] = field(default_factory=list)  # called by the script with gradients
    optimizers: list[Optimizer] = field(default_factory=list)
    shapes: set[tuple[tuple[int, ...], ...]] = field(default_factory=set)  # of what the roots were given
    autocast: bool = False  # a root was called under autocast
    reentrant: bool = False  # checkpoints of the reentrant kind were used
    checkpoints: bool = False
    flip_reentrant: bool = False  # run them as the other kind
    backend: str = "inductor"  # of torch.compile
    batches: int | None = None  # in one pass over the loader

    @property
    def device(self) -> torch.device:
        first = next((p for root in self.roots for p in root.parameters()), None)
        return first.device if first is not None else torch.device("cpu")

    def modules(self) -> list[nn.Module]:
        seen: dict[int, nn.Module] = {}
        for root in self.roots:
            seen.update({id(part): part for part in root.modules()})
        return list(seen.values())

    def states(self, parameter: torch.Tensor) -> list[tuple[dict[str, Any], str]]:
        """What optimizers hold for a parameter, as (holder, name) pairs of tensors of its shape."""
        found = []
        for optimizer in self.optimizers:
            held = optimizer.state.get(parameter, {})
            found += [
                (held, name)
                for name, value in held.items()
                if isinstance(value, torch.Tensor) and value.shape == parameter.shape and value.dim() > 1
            ]
        return found
