"""What a module keeps of one batch and uses for the next: found by running it twice, and by looking whether it is reset.

model(x)            self.hidden = h           an experiment runs it twice on x: the answers differ, and `hidden` is what changed
model(next x)       is `hidden` still h?      then nothing resets it between two batches
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import StateCarried
from premortem.probes.model_registry import Model
from premortem.probes.session import Session, version


class Held(NamedTuple):
    """A tensor that a part of a model holds in a plain attribute, between two calls of it."""

    owner: weakref.ref[nn.Module]
    attribute: str
    path: str
    tensor: weakref.ref[torch.Tensor]
    version: int


class CarriedState:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._waiting: dict[int, tuple[list[Held], float, bool]] = {}

    def suspect(
        self, model: Model, module: nn.Module, names: set[str], rows: int, effect: float, batched: bool
    ) -> None:
        """An experiment saw that these attributes are written, and that the answer depends on how often it is asked."""
        held = [
            Held(weakref.ref(part), name, f"{path}.{name}".lstrip("."), weakref.ref(value), version(value))
            for path, part in module.named_modules()
            for name, value in vars(part).items()
            if f"{path}.{name}".lstrip(".") in names
            and isinstance(value, torch.Tensor)
            and rows in value.shape[:2]
        ]
        if held:
            self._waiting[model.key] = (held, effect, batched)

    def called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        waiting = self._waiting.pop(model.key, None) if self._waiting and grad else None
        if waiting is None:
            return
        held, effect, batched = waiting
        still = [each.path for each in held if as_it_was(each)]
        if still and inputs and not any(t.requires_grad for t in inputs):
            self.session.emit(
                StateCarried(
                    step=self.session.step,
                    model=model.key,
                    name=model.name,
                    attributes=tuple(still),
                    effect=effect,
                    batched=batched,
                )
            )


def as_it_was(held: Held) -> bool:
    owner, tensor = held.owner(), held.tensor()
    value: Any = vars(owner).get(held.attribute) if owner is not None else None
    return tensor is not None and value is tensor and version(tensor) == held.version
