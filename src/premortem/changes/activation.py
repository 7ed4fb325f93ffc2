"""What lies between the model and the loss: no softmax or sigmoid before a loss that has its own."""

from __future__ import annotations

import inspect
import weakref
from functools import partial
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch

SQUASHING = ("softmax", "log_softmax", "sigmoid", "relu", "tanh")
# Losses that squash by themselves, or compare with values of any size.
OPEN_ENDED = ("cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss")


class NoActivationBeforeLoss(Change):
    """The loss is given what went into the last softmax, sigmoid, relu or tanh before it."""

    name = "no-activation-before-loss"
    learning = Learning(
        title="no activation before the loss",
        question="loss",
        family="loss-definition",
        same_loss=False,
        order=2,
        certain=True,
        finding="softmax-before-cross-entropy",
        remedy="give the loss the scores as the last layer makes them, without the activation",
    )
    opening = ("squashed", "nothing squashes what is given to the loss")

    def put_on(self) -> None:
        from torch.nn import functional

        self._origins = Origins()
        for owner in (self.reach.torch, torch.Tensor, functional):
            for name in SQUASHING:
                if hasattr(owner, name):
                    self.reach.instead(owner, name, self._origins.noting)
        for name in OPEN_ENDED:
            self.reach.instead(functional, name, self._compared)

    def _compared(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs)
        before = self._origins.of(given.arguments.get("input"))
        if before is not None:
            self.touched += 1
            given.arguments["input"] = before
        return original(*given.args, **given.kwargs)


class Origins:
    """What activations were given, by what they made of it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, torch.Tensor]] = {}

    def noting(self, original: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(given, *args, **kwargs)
        self.note(made, given)
        return made

    def note(self, made: Any, given: Any) -> None:
        if isinstance(made, torch.Tensor) and isinstance(given, torch.Tensor) and made is not given:
            # Nothing lives longer for it than it would have lived.
            forget = partial(_forget, self._known, id(made))
            self._known[id(made)] = (weakref.ref(made, forget), given)

    def of(self, made: Any) -> torch.Tensor | None:
        known = self._known.get(id(made))
        return known[1] if known is not None and known[0]() is made else None


def _forget(known: dict[int, Any], key: int, reference: Any) -> None:
    if key in known and known[key][0] is reference:
        del known[key]
