"""Weights that are not finite although nothing that arrives shows it: from the start, behind a mask, or in an averaged copy.

Looked for at the second call of a model in training (the first may initialise it), and when it is called without gradients after
a backward pass, for the first, second, fourth, ... time. On the CPU only: the run never waits for a device.
"""

from collections import Counter

import torch
from torch import nn

from premortem.events import WeightsBroken
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.operation_words import finite, worst
from premortem.probes.session import Session, user_site


class BrokenWeights:
    def __init__(self, session: Session, models: Models, origin: NonFiniteOrigin) -> None:
        self.session = session
        self.models = models
        self.origin = origin
        self._calls: Counter[tuple[int, bool]] = Counter()  # of a model, with and without gradients
        self._told = False
        self._passes: dict[int, int] = {}  # backward passes before its last call without

    def install(self) -> None:
        self.models.on_call.append(self._called)

    def _called(self, model: Model, grad: bool, _: list[torch.Tensor]) -> None:
        if self._told or (grad and self._calls[model.key, True] >= 2):
            return
        if not grad:
            if self._passes.get(model.key, 0) == self.session.passes:
                return  # more of the same evaluation, or one before the training
            self._passes[model.key] = self.session.passes
        self._calls[model.key, grad] += 1
        calls = self._calls[model.key, grad]
        if self.origin.cases or not (calls == 2 if grad else calls & (calls - 1) == 0):
            return
        module = model.module()
        broken = broken_weight(module) if module is not None else None
        if broken is not None:
            self._told = True
            name, value = broken
            self.session.emit(
                WeightsBroken(
                    step=self.session.step,
                    at=user_site(),
                    parameter=f"{model.name}.{name}",
                    evaluated=not grad,
                    origin=self.origin.microscope_schedule.made(value),
                )
            )


def broken_weight(module: nn.Module) -> tuple[str, torch.Tensor] | None:
    """The first with NaN or infinity. Some are -inf on purpose: a transition that never happens."""
    for name, value in module.named_parameters():
        if type(value) is nn.Parameter and value.device.type == "cpu" and value.layout == torch.strided:
            if not finite(value) and worst(value) != "-inf":
                return name, value
    return None
