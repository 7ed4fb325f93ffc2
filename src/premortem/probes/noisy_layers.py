"""Layers that behave differently in training: dropout and batch norm, by the mode in which they really ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from premortem.events import Forward
from premortem.probes.layer_audit import LayerAudit
from premortem.probes.model_registry import Model
from premortem.probes.session import Session

_DROPOUTS = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")


class NoisyLayers:
    """Counts their calls in the forward pass that is running."""

    def __init__(self, session: Session, layers: LayerAudit) -> None:
        self.session = session
        self._layers = layers
        self.train = 0
        self.eval = 0
        self.forgotten = 0  # dropout calls that did not say whether they are in training
        self._statistics: list[tuple[Any, ...]] = []  # running mean and variance that were used

    def install(self) -> None:
        functional = nn.functional
        for name in _DROPOUTS:
            self._count_noise(functional, name, position=2, default=True, rate=1)
        self._count_noise(functional, "batch_norm", position=5, default=False, rate=None)
        self._count_attention(functional)

    def begin(self) -> None:
        self.train = self.eval = self.forgotten = 0
        self._statistics = []

    def _count_attention(self, functional: Any) -> None:
        """Its dropout has no mode: whoever calls it must pass 0 outside training."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                p = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
                if p:
                    self.train += 1
                    self.forgotten += 1
                return original(*args, **kwargs)

            return wrapper

        self.session.layer(functional, "scaled_dot_product_attention", make, quiet=None)

    def _count_noise(self, owner: Any, name: str, position: int, default: bool, rate: int | None) -> None:
        layers = self._layers

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                told = len(args) > position or "training" in kwargs
                training = args[position] if len(args) > position else kwargs.get("training", default)
                if rate is None:
                    # Without running statistics batch norm does the same in both modes.
                    p = float((args[1] if len(args) > 1 else kwargs.get("running_mean")) is not None)
                else:
                    p = args[rate] if len(args) > rate else kwargs.get("p", 0.5)
                if p and training:
                    self.train += 1
                    self.forgotten += not told
                elif p:
                    self.eval += 1
                    if rate is None:
                        self._statistics.append(tuple(args[1:3]))
                result = original(*args, **kwargs)
                if layers.on and rate is not None and p and training:
                    with self.session.looking_at("dropout"):
                        layers.activation(name, result, 0.0, probability=float(p))
                return result

            return wrapper

        self.session.layer(owner, name, make, quiet=None)

    def describe(self, event: Forward, model: Model, module: nn.Module) -> None:
        """The forward pass is over: how many of them ran in which mode."""
        event.noisy_train, event.noisy_eval = self.train, self.eval
        if self.session.compiling_used and not (self.train or self.eval):
            event.noisy_train, event.noisy_eval = count_noisy(module)
        for layer in model.recurrent:
            recurrent = layer()
            if recurrent is not None:
                event.noisy_train += recurrent.training
                event.noisy_eval += not recurrent.training
        if not event.training and self.forgotten:
            event.forgotten = self.forgotten

    def never_collected(self) -> int:
        """Batch norms that used statistics into which no batch has ever gone."""
        return sum(never_collected(*pair) for pair in self._statistics if len(pair) == 2)


def count_noisy(module: nn.Module) -> tuple[int, int]:
    """Dropout and batch-norm layers in train and in eval mode, by their flags."""
    train = other = 0
    for layer in module.modules():
        kind = type(layer).__name__
        if ("Dropout" in kind and getattr(layer, "p", 0.0) > 0) or (
            "BatchNorm" in kind and getattr(layer, "track_running_stats", False)
        ):
            train, other = (train + 1, other) if layer.training else (train, other + 1)
    return train, other


def never_collected(mean: Any, var: Any) -> bool:
    """Running statistics as they were born: no batch has ever gone into them (CPU)."""
    if not isinstance(mean, torch.Tensor) or not isinstance(var, torch.Tensor) or mean.device.type != "cpu":
        return False
    return not mean.any() and bool((var == 1).all())


def uncounted(state: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Batch norms of a state dict whose scales were trained, and into whose statistics no batch has ever gone."""
    for name in names:
        layer, dot, last = name.rpartition(".")
        scale, mean = state.get(f"{layer}{dot}weight"), state.get(f"{layer}{dot}running_mean")
        if last == "running_var" and isinstance(scale, torch.Tensor) and scale.device.type == "cpu":
            if never_collected(mean, state[name]) and bool((scale != 1).any()):
                yield layer
