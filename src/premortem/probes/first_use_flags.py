"""Flags of modules that say that something was done once (`self.initialized`), and that no state dict holds.

layer = ActNorm(...)            initialized = False
layer.load_state_dict(...)      the weights are the trained ones, and the flag is still False
layer(x)                        it is done again: the flag turns, and the weights are written over

Only what happens within a call of a model counts: a script that merges or folds weights by hand turns flags too.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn

from premortem.events import InitialisedAgain, Site
from premortem.probes.session import Session, sampled, version

_MOST = 512  # layers of a model that are looked at
_CALLS = 16  # of models after a load: the one that was loaded need not be the first


class Flagged(NamedTuple):
    """A layer with weights and flags of its own, as it was when its weights were loaded."""

    layer: weakref.ref[nn.Module]
    path: str
    flags: dict[str, bool]
    weights: dict[str, tuple[int, list[float]]]  # version and a few values


class FirstUseFlags:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._loaded: list[tuple[weakref.ref[nn.Module], str, Site | None]] = []
        self._calls = 0  # since the last load
        self._before: list[tuple[int, str, Site | None, list[Flagged]]] = []  # the call that goes on

    def loaded(self, module: nn.Module, name: str, at: Site | None) -> None:
        self._loaded = [
            each for each in self._loaded if (held := each[0]()) is not None and held is not module
        ]
        if next(flagged(module), None) is not None:
            self._loaded.append((weakref.ref(module), name, at))
            self._calls = 0

    def stepping(self) -> None:
        """Before the first step after a load: from here on weights are meant to change."""
        self._loaded.clear()

    def call_begins(self) -> None:
        self._before = []
        if not self._loaded:
            return
        self._calls += 1
        self._before = [
            (self.session.modules.of(module), name, at, list(flagged(module)))
            for reference, name, at in self._loaded
            if (module := reference()) is not None
        ]

    def call_ended(self) -> None:
        before, self._before = self._before, []
        if self._calls >= _CALLS:
            self._loaded.clear()
        for model, name, at, layers in before:
            again = [
                (each, turned, written) for each in layers for turned, written in [done(each)] if written
            ]
            if again:
                self._loaded.clear()
                each, turned, written = again[0]
                self.session.emit(
                    InitialisedAgain(
                        step=self.session.step,
                        at=at,
                        model=model,
                        name=name,
                        layer=each.path,
                        flag=turned,
                        parameters=tuple(written),
                        layers=len(again),
                    )
                )


def flags_of(layer: nn.Module) -> dict[str, bool]:
    """Plain attributes that say yes or no, also as a tensor of one truth value that is no buffer."""
    found = {}
    for name, value in vars(layer).items():
        if name in {"training", "_is_full_backward_hook"}:
            continue
        if type(value) is torch.Tensor and value.dtype == torch.bool and value.numel() == 1:
            if value.device.type == "cpu":
                found[name] = bool(value)
        elif type(value) is bool:
            found[name] = value
    return found


def flagged(module: nn.Module) -> Iterator[Flagged]:
    for _, (path, layer) in zip(range(_MOST), module.named_modules(), strict=False):
        own = {name: p for name, p in layer._parameters.items() if p is not None and not p.is_meta}
        flags = flags_of(layer) if own and not type(layer).__module__.startswith("torch.") else {}
        if flags:
            weights = {
                name: (version(p), sampled(p, 8) if p.device.type == "cpu" else []) for name, p in own.items()
            }
            yield Flagged(weakref.ref(layer), path, flags, weights)


def done(then: Flagged) -> tuple[str, list[str]]:
    """The flag that has turned, and the weights of that layer that were written, since then."""
    layer = then.layer()
    now = flags_of(layer) if layer is not None else {}
    turned = next((name for name, value in then.flags.items() if now.get(name, value) != value), "")
    if layer is None or not turned:
        return "", []
    written = [
        name
        for name, (old, values) in then.weights.items()
        if (p := layer._parameters.get(name)) is not None
        and version(p) != old
        and (p.device.type != "cpu" or sampled(p, 8) != values)
    ]
    return turned, written
