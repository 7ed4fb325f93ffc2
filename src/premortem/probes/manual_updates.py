"""Updates without an optimizer: `p -= lr * p.grad` in the user's own loop is a step too."""

import math
from typing import Any

import torch

from premortem.events import OptimizerStep, Site
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, sampled


class ByHand:
    """Between two backward passes without an optimizer step, did the weights move all the same?

    Looks at a few values on the CPU, at version counters elsewhere."""

    def __init__(self, session: Session, optimizers: Optimizers, models: Models) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self._seen: dict[int, Any] = {}
        self._grads: dict[int, list[float]] = {}  # of the last backward, where the weights were looked at
        self._at_step = 0

    def backward_starts(self, at: Site | None) -> bool:
        """Whether the weights were moved by hand since the last backward pass; then it was a step."""
        moved = (
            bool(self._seen)
            and self.session.step == self._at_step
            and self.optimizers.inside is None
            and any(look(ref) != value for ref, value in self._pairs())
        )
        if moved:
            self.session.advance()
            self.session.emit(
                OptimizerStep(
                    step=self.session.step, at=at, optimizer=0, kind="by hand", lrs=(), uphill=self._uphill()
                )
            )
        return moved

    def _uphill(self) -> float | None:
        dot = moved = steep = 0.0
        for key, grads in self._grads.items():
            parameter, before = self.session.parameters.object(key), self._seen.get(key)
            if parameter is None or before is None:
                continue
            for now, old, grad in zip(sampled(parameter, 4), before[1], grads, strict=False):
                dot += (now - old) * grad
                moved += (now - old) ** 2
                steep += grad**2
        size = math.sqrt(moved * steep)
        return dot / size if size and math.isfinite(size) else None

    def _pairs(self) -> list[tuple[Any, Any]]:
        found = [(self.session.parameters.object(key), value) for key, value in self._seen.items()]
        return [(parameter, value) for parameter, value in found if parameter is not None]

    def backward_ended(self) -> None:
        if any(track.steps for track in self.optimizers.tracks.values()):
            self._seen = {}
            return
        self._at_step = self.session.step
        chosen: dict[int, Any] = {}
        for key in self.models.in_training:
            module = self.models.known[key].module()
            for parameter in list(module.parameters())[:4] if module is not None else ():
                if parameter.requires_grad:
                    chosen[self.session.parameters.of(parameter)] = look(parameter)
        if chosen:
            self._seen = chosen
            self._grads = {
                key: sampled(p.grad, 4)
                for key in chosen
                if (p := self.session.parameters.object(key)) is not None
                and p.device.type == "cpu"
                and p.grad is not None
                and p.grad.layout == torch.strided
            }


def look(parameter: Any) -> Any:
    version = parameter._version
    return (version, tuple(sampled(parameter, 4))) if parameter.device.type == "cpu" else version
