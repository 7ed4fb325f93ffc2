"""Updates without an optimizer: `p -= lr * p.grad` in the user's own loop is a step too."""

from __future__ import annotations

from typing import Any

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
            self.session.step += 1
            self.session.emit(
                OptimizerStep(step=self.session.step, at=at, optimizer=0, kind="by hand", lrs=())
            )
        return moved

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


def look(parameter: Any) -> Any:
    version = parameter._version
    return (version, tuple(sampled(parameter, 4))) if parameter.device.type == "cpu" else version
