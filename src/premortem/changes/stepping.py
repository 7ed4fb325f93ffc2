"""`optimizer.step()`: forgotten, twice, with a new seed after it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Harm
from premortem.changes.late import torch

_FAMILIES = frozenset({"update-order", "optimizer-ownership"})
_NO_STEP = "calls no optimizer.step()"


class StepChanged(Change):
    """The script's `optimizer.step()`, or its scaler's, does something else."""

    def put_on(self) -> None:
        self.reach.on_step(self._stepped)

    def _stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self.touched += 1
        return self.stepped(step, optimizer)

    @abstractmethod
    def stepped(self, step: Callable[[], Any], optimizer: Any) -> Any: ...


class StepDropped(StepChanged):
    """`optimizer.step()` is forgotten."""

    name = "step-dropped"
    harm = Harm(families=_FAMILIES, needs=_NO_STEP)

    def stepped(self, step: Callable[[], Any], optimizer: Any) -> None:
        return None


class StepTwice(StepChanged):
    """`optimizer.step()` is called twice for each backward pass."""

    name = "step-twice"
    harm = Harm(families=_FAMILIES, needs=_NO_STEP)

    def stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        step()
        return step()


class ZeroGradBeforeStep(StepChanged):
    """`zero_grad()` stands between `backward()` and `step()`: each step is made without gradients."""

    name = "zero-grad-before-step"
    harm = Harm(families=frozenset({"update-order"}), needs=_NO_STEP)

    def stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        optimizer.zero_grad()
        return step()


class ReseededEveryStep(StepChanged):
    """`torch.manual_seed(0)` stands in the training loop."""

    name = "reseeded-every-step"
    harm = Harm(families=frozenset({"data-order", "data-augment"}), needs=_NO_STEP)

    def stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        result = step()
        torch.manual_seed(0)
        return result
