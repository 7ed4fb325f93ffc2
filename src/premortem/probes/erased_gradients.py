"""Entries of a weight whose gradient the script takes away between `backward()` and `step()`: they are meant to stay as they are.

backward            a gradient that is not 0
grad[rows] = 0      the script erases it
step                decay, or what is left of a momentum, moves the entry all the same
(the script may put the entries back afterwards: what counts is where they are before the next step)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from premortem.events import HeldStillMoved
from premortem.probes.gradient_track import Track
from premortem.probes.model_registry import ModelRegistry
from premortem.probes.numbers import some_of
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session

_PARAMETERS = 64  # of one optimizer


class Erased(NamedTuple):
    """In one step: which entries of the sample were erased, which kept their gradient, and what the erased ones were."""

    where: torch.Tensor
    left: torch.Tensor
    values: torch.Tensor


class ErasedGradients:
    def __init__(self, session: Session, optimizers: Optimizers, registry: ModelRegistry) -> None:
        self.session = session
        self.optimizers = optimizers
        self.registry = registry
        # Of each optimizer: parameter -> entries with a gradient after the last backward pass, and those erased before the last step.
        self._had: dict[int, dict[int, torch.Tensor]] = {}
        self._erased: dict[int, dict[int, Erased]] = {}

    def install(self) -> None:
        self.optimizers.on_gradients.append(self._graded)
        self.optimizers.before_step.append(self._stepping)
        self.optimizers.told_only.add(self._stepping)

    def _graded(self, track: Track) -> None:
        """A backward pass has ended, in an audited step."""
        had = self._had.setdefault(track.key, {})
        for parameter, gradient, _ in _matrices(track.optimizer()):
            had[id(parameter)] = some_of(gradient) != 0

    def _stepping(self, optimizer: Any, track: Track) -> None:
        had, before = self._had.pop(track.key, {}), self._erased.pop(track.key, {})
        if not self.session.auditing:
            return
        for parameter, gradient, decay in _matrices(optimizer):
            graded = had.get(id(parameter))
            if graded is None:
                continue
            left = some_of(gradient) != 0
            erased = graded & ~left
            if not bool(erased.any()) or not bool(
                (graded & left).any()
            ):  # nothing, or all of it: another matter
                continue
            values = some_of(parameter).clone()
            self._erased.setdefault(track.key, {})[id(parameter)] = Erased(erased, left, values)
            last = before.get(id(parameter))
            if last is not None and last.where.shape == erased.shape:
                # Whoever keeps the largest gradients only takes others away in each step.
                chosen = not bool(((last.where & left) | (erased & last.left)).any())
                self._compare(parameter, last.where & erased, last.values, values, decay, chosen)

    def _compare(
        self,
        parameter: torch.Tensor,
        both: torch.Tensor,
        then: torch.Tensor,
        now: torch.Tensor,
        decay: float,
        chosen: bool,
    ) -> None:
        """Entries that were erased in two steps: from before the first to before the second."""
        old, change = then[both].double(), now[both].double() - then[both].double()
        moved = int((change != 0).sum())
        if not moved:
            return
        size = float(old.norm() * change.norm())
        key = self.session.parameters.of(parameter)
        self.session.emit(
            HeldStillMoved(
                step=self.session.step,
                parameter=key,
                name=self.registry.names().get(key, ("a weight", 0))[0],
                entries=int(both.sum()),
                moved=moved,
                inward=float(old @ change) / size if size else 0.0,
                decay=decay,
                chosen=chosen,
            )
        )


def _matrices(optimizer: Any) -> list[tuple[torch.Tensor, torch.Tensor, float]]:
    """The weights of an optimizer on the CPU that have a gradient, with that and their decay."""
    groups = optimizer.param_groups if optimizer is not None else []
    found = [
        (p, p.grad, number(group.get("weight_decay", 0.0)))
        for group in groups
        for p in group["params"]
        if isinstance(p, torch.Tensor) and p.dim() > 1 and p.device.type == "cpu" and p.grad is not None
    ]
    return [each for each in found[:_PARAMETERS] if each[1].layout == torch.strided]
