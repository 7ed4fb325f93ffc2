"""Training and evaluation mode: left, never entered, always the right one, statistics of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Harm, Learning
from premortem.changes.late import nn, torch

_FAMILY = frozenset({"eval-mode"})


class EvalModeLeak(Change):
    """After the first evaluation the model stays in evaluation mode."""

    name = "eval-mode-leak"
    harm = Harm(families=_FAMILY, needs="comes back to training from no evaluation in this many steps")

    def put_on(self) -> None:
        self._evaluated = False
        self.reach.instead(nn.Module, "train", self._train)
        self.reach.instead(nn.Module, "eval", self._eval)

    def _eval(self, original: Any, module: nn.Module) -> Any:
        self._evaluated = True
        return original(module)

    def _train(self, original: Any, module: nn.Module, mode: bool = True) -> Any:
        if not mode:
            self._evaluated = True
        elif self._evaluated:
            self.touched += 1
            return module
        return original(module, mode)


class EvaluatedInTrainMode(Change):
    """`model.eval()` is forgotten."""

    name = "evaluated-in-train-mode"
    harm = Harm(families=_FAMILY, needs="evaluates nothing in this many steps")

    def put_on(self) -> None:
        self.reach.instead(nn.Module, "train", self._train)
        self.reach.instead(nn.Module, "eval", lambda original, module: self._train(original, module, False))

    def _train(self, original: Any, module: nn.Module, mode: bool = True) -> Any:
        if mode:
            return original(module, mode)
        self.touched += 1
        return module


class TrainMode(Change):
    """Whenever a model is called with gradients it is in training mode."""

    name = "train-mode"
    learning = Learning(
        title="training mode while learning",
        question="mode",
        family="eval-mode",
        order=3,
        finding="trained-in-eval-mode",
        remedy="call model.train() before each training epoch",
    )
    opening = ("eval_with_gradients", "no model is trained in evaluation mode")

    def put_on(self) -> None:
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return run(*args, **kwargs)
        still = [part for part in root.modules() if not part.training]
        self.touched += bool(still)
        for part in still:
            part.training = True
        try:
            return run(*args, **kwargs)
        finally:
            for part in still:
                part.training = False


class EvalMode(Change):
    """Whenever a model is called without gradients it is in evaluation mode."""

    name = "eval-mode"
    learning = Learning(
        title="evaluation mode without gradients",
        question="mode",
        family="eval-mode",
        order=3,
        finding="evaluated-in-train-mode",
        remedy="call model.eval() before evaluating and model.train() after it",
    )
    opening = ("train_without_gradients", "no model is evaluated in training mode")

    def put_on(self) -> None:
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        training = [] if torch.is_grad_enabled() else [part for part in root.modules() if part.training]
        self.touched += bool(training)
        for part in training:
            part.training = False
        try:
            return run(*args, **kwargs)
        finally:
            for part in training:
                part.training = True
