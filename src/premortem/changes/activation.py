"""What lies between layers and before the loss: no softmax or sigmoid before a loss that has its own, scores of usual size."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch

if TYPE_CHECKING:
    from premortem.changes.reach import Instead, Reach

SQUASHING = ("softmax", "log_softmax", "sigmoid", "relu", "tanh")
# Losses that squash by themselves; those that compare with values of any size.
SOFTMAX_INSIDE = ("cross_entropy", "binary_cross_entropy_with_logits")
ERRORS = ("mse_loss", "l1_loss", "smooth_l1_loss")


class WithoutActivation(Change):
    """Functions that are given what an activation made are given what went into it."""

    activations: ClassVar[tuple[str, ...]] = SQUASHING
    takers: ClassVar[tuple[str, ...]]

    def put_on(self) -> None:
        from torch.nn import functional

        self._origins = Origins()
        for name in self.activations:
            wherever_called(self.reach, name, self._origins.noting)
        for name in self.takers:
            self.reach.instead(functional, name, self._taken)

    def _taken(self, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        before = self._origins.of(input)
        if before is None:
            return original(input, *args, **kwargs)
        self.touched += 1
        return original(self.replaced(before), *args, **kwargs)

    def replaced(self, before: torch.Tensor) -> torch.Tensor:
        return before


def wherever_called(reach: Reach, name: str, instead: Instead) -> None:
    """A function of torch's that the script may call by several names."""
    from torch.nn import functional

    for owner in (reach.torch, torch.Tensor, functional):
        if hasattr(owner, name):
            reach.instead(owner, name, instead)


class NoActivationBeforeLoss(WithoutActivation):
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
    takers = SOFTMAX_INSIDE


class NoActivationBeforeError(WithoutActivation):
    """An error is measured on what went into the last sigmoid, relu or tanh before it."""

    name = "no-activation-before-error"
    learning = Learning(
        title="no activation before the error",
        question="loss",
        family="loss-definition",
        order=5,
        least=0.1,
        remedy="let the last layer end without an activation, or with one that can reach every target",
    )
    opening = ("bounded", "no activation bounds what is compared with targets")
    takers = ERRORS


class ScoresScaled(Change):
    """Scores have deviation 1 before they are trained: all that go into a softmax of the loss are divided by what it was at
    first."""

    name = "scores-scaled"
    learning = Learning(
        title="scores of usual size",
        question="loss",
        family="loss-definition",
        same_loss=False,
        order=6,
        least=0.1,
        remedy="look at the temperature, or at whatever else multiplies the scores before the loss",
    )
    opening = ("odd_scores", "the scores that the loss is given are of usual size")

    def put_on(self) -> None:
        from torch.nn import functional

        self._first: dict[str, float] = {}
        wherever_called(self.reach, "log_softmax", partial(self._scaled, "log_softmax"))
        for name in SOFTMAX_INSIDE:
            self.reach.instead(functional, name, partial(self._scaled, name))

    def _scaled(self, name: str, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        if name not in self._first and torch.is_grad_enabled():
            self._first[name] = deviation(input)
        first = self._first.get(name, 0.0)
        if not first:
            return original(input, *args, **kwargs)
        self.touched += 1
        return original(input / first, *args, **kwargs)


_HUGE, _TINY = 8.0, 0.02  # layers as torch begins them make scores between the two


def deviation(scores: torch.Tensor) -> float:
    """How far apart the scores of a sample are; 0 where that cannot be known."""
    if not scores.is_floating_point() or scores.numel() < 2:
        return 0.0
    wide = scores.detach().float()
    made = wide.std(1).mean() if wide.dim() > 1 and wide.shape[1] > 1 else wide.std()
    return float(made) if bool(torch.isfinite(made)) else 0.0


def are_odd(scores: torch.Tensor) -> bool:
    """A layer whose weights are zero makes scores that are all the same: that is no mistake."""
    size = deviation(scores)
    return size > _HUGE or 0.0 < size < _TINY


# What has weights, and is given what the layer before has made.
LAYERS = ("linear", "conv1d", "conv2d", "conv3d")


class ReluBetweenLayers(WithoutActivation):
    """A layer that is given what a sigmoid made is given what a relu makes of the same."""

    name = "relu-between-layers"
    learning = Learning(
        title="relu for sigmoid between layers",
        question="initialisation",
        family="vanishing",
        order=6,
        least=0.15,
        remedy="use nn.ReLU between layers: the slope of a sigmoid is a quarter at most, and less in each layer before",
    )
    opening = ("sigmoid_layers", "no layer is given what a sigmoid has made")
    activations = ("sigmoid",)
    takers = LAYERS

    def replaced(self, before: torch.Tensor) -> torch.Tensor:
        return before.relu()


class Origins:
    """What activations were given, by what they made of it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, torch.Tensor]] = {}

    def noting(self, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        made = original(input, *args, **kwargs)
        self.note(made, input)
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
