"""The update, made by an optimizer that has no settings of the script's: SGD, Adam."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

from premortem.changes.base import Change, Learning, RunDescription
from premortem.changes.late import torch


class PlainOptimizer(Change):
    """The script's optimizer keeps its parameters and its schedule; another one makes the updates."""

    rate: ClassVar[float]

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "" if run.optimizers else "the script builds no optimizer"

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        if "LBFGS" in run.optimizers:
            return "LBFGS asks for the loss several times in a step"
        return scaled(run)

    def put_on(self) -> None:
        self._plain: dict[int, Any] = {}  # by the script's own
        self._first: dict[int, list[float]] = {}
        self.reach.on_step(self._step)

    def _step(self, step: partial[Any], optimizer: Any) -> Any:
        key = id(optimizer)
        if key not in self._plain:
            groups = [{"params": list(group["params"])} for group in optimizer.param_groups]
            self._plain[key] = self.built(groups)
            self._first[key] = [float(group.get("lr", 0.0)) for group in optimizer.param_groups]
        plain = self._plain[key]
        for own, group, first in zip(
            optimizer.param_groups, plain.param_groups, self._first[key], strict=False
        ):
            group["params"] = own["params"]
            group["lr"] = self.rate * (float(own["lr"]) / first if first else 1.0)
        self.touched += 1
        # Lightning gives the step a closure that makes the backward pass.
        closure = next((each for each in (*step.args, *step.keywords.values()) if callable(each)), None)
        return plain.step(closure)

    @classmethod
    @abstractmethod
    def built(cls, groups: list[dict[str, Any]]) -> Any: ...


class PlainSGD(PlainOptimizer):
    """SGD with momentum at 0.01 makes the updates."""

    name = "plain-sgd"
    rate = 0.01
    learning = Learning(
        title="plain SGD",
        family="config",
        mistake=False,
        order=11,
        where_stuck=True,
        slow=True,
        remedy="build torch.optim.SGD(…, lr=0.01, momentum=0.9), and look at what the optimizer is given now",
    )

    @classmethod
    def built(cls, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.SGD(groups, lr=cls.rate, momentum=0.9)


class PlainAdam(PlainOptimizer):
    """Adam at 0.001 with its usual settings makes the updates."""

    name = "plain-adam"
    rate = 0.001
    learning = Learning(
        title="plain Adam",
        family="config",
        mistake=False,
        order=10,
        where_stuck=True,
        slow=True,
        remedy="build torch.optim.Adam(…, lr=1e-3), and look at what the optimizer is given now",
    )

    @classmethod
    def built(cls, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.Adam(groups, lr=cls.rate)


def scaled(run: RunDescription) -> str:
    """Why gradients cannot be used before the script's own step."""
    return "a GradScaler may hold the gradients scaled" if run.autocast and run.on_gpu else ""
