"""Gradient clipping: none, to almost nothing, to norm 1."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from premortem.changes.base import Change, Harm, Learning, OneStep, RunDescription
from premortem.changes.edits import clipping_edits
from premortem.changes.late import nn

# What clips, and what its threshold is called.
_CLIPS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}


def _usual(threshold: object) -> str:
    """Norm 1 where almost nothing was let through, or where the threshold stands elsewhere; else no limit."""
    return 'float("inf")' if isinstance(threshold, (int, float)) and threshold >= 1 else "1.0"


class Clipping(Change):
    """The threshold that the script clips gradients at is another one."""

    names: tuple[str, ...] = ("clip_grad_norm_",)

    def put_on(self) -> None:
        for owner in (nn.utils, nn.utils.clip_grad):
            for name in self.names:
                self.reach.instead(owner, name, self._clipped)

    def _clipped(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        given = inspect.signature(original).bind(*args, **kwargs)
        name = next(each for each in _CLIPS.values() if each in given.arguments)
        given.arguments[name] = self.other(given.arguments[name])
        return original(*given.args, **given.kwargs)

    @abstractmethod
    def other(self, threshold: Any) -> Any: ...


class ClippedToNothing(Clipping):
    """The threshold of gradient clipping is a million times too low."""

    name = "clipped-to-nothing"
    harm = Harm(families=frozenset({"clipping"}), needs="clips no gradients")

    def other(self, threshold: Any) -> Any:
        return threshold * 1e-6


class NoClipping(Clipping):
    """Gradients are not clipped."""

    name = "no-clipping"
    edit = partial(clipping_edits, names=_CLIPS, new=_usual)
    names = tuple(_CLIPS)
    learning = Learning(title="no clipping", family="clipping", finding="clipped-hard-every-step")
    opening = ("clips", "the script clips no gradients")

    def other(self, threshold: Any) -> Any:
        return float("inf")


class ClippedToOne(Change):
    """Gradients are clipped to norm 1 before each update."""

    name = "clipped-to-one"
    one_step = OneStep(
        title="gradients clipped to norm 1",
        size=7,
        gone="The gradient is too large for the update: clipped, the same step is finite.",
        stays="Not the size of the gradient.",
    )
    learning = Learning(
        title="gradients clipped to norm 1",
        family="exploding",
        order=7,
        least=0.3,
        remedy="call torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) before optimizer.step()",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if run.diverges and not run.clips:
            return ""
        return "" if run.failed_in_update else "loss and gradients fail before the update"

    def put_on(self) -> None:
        self.reach.around_update(self._clipped)

    @contextmanager
    def _clipped(self, optimizer: Any) -> Iterator[None]:
        self.touched += 1
        held = [p for group in optimizer.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_([p for p in held if p.grad is not None], 1.0)
        yield
