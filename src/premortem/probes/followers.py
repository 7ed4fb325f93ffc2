"""Copies of a model that follow it while it trains (an average, a target network): how fast, and how far they have come.

c0 ── one update ──> c1                 o: the weights that are trained
moved = the part of the way from c0 to o that one update goes;   way = the part of the way from the start to o that is behind it
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import CopyFollowed
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, sampled, user_name

_VALUES = 64  # of one parameter
_PARAMETERS = 8
_COPIES = 4
_AT_FIRST = 1  # step: what is a copy later is no copy of the start
_TINY = 1e-20


class Pair(NamedTuple):
    name: str
    copy: weakref.ref[nn.Module]
    original: weakref.ref[nn.Module]
    key: int  # of the original
    start: list[float]


class Followers:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self._pairs: dict[int, Pair] = {}
        self._waiting: dict[
            int, tuple[int, list[float]]
        ] = {}  # pair -> the step, and the copy before its update

    def install(self) -> None:
        self.optimizers.before_step.append(self.before_step)

    def before_step(self, optimizer: Any, track: Any) -> None:
        step = self.session.step
        if step < _AT_FIRST:
            self._look_for_copies()
        for key, pair in self._pairs.items():
            waiting = self._waiting.pop(key, None)
            audited = self.session.auditing
            if waiting is None and not audited:
                continue
            copy, original = pair.copy(), pair.original()
            if copy is None or original is None:
                continue
            now = weights_of(copy)
            if waiting is not None and waiting[0] == step - 1:
                self._tell(pair, waiting[1], now, weights_of(original))
            if audited:
                self._waiting[key] = (step, now)

    def _tell(self, pair: Pair, before: list[float], now: list[float], trained: list[float]) -> None:
        moved, way = part_of(before, now, trained), part_of(pair.start, now, trained)
        if moved is not None and way is not None:
            event = CopyFollowed(
                step=self.session.step, name=pair.name, original=pair.key, moved=moved, way=way
            )
            self.session.emit(event)

    def _look_for_copies(self) -> None:
        for model in list(self.models.known.values()):
            module = model.module()
            if module is None or not model.trained or len(self._pairs) >= _COPIES:
                continue
            shapes = [p.shape for p in module.parameters()]
            for reference, _ in list(self.models.registry.births.values()):
                copy = reference()
                if (
                    copy is None
                    or copy is module
                    or type(copy) is not type(module)
                    or id(copy) in self._pairs
                ):
                    continue
                own = list(copy.parameters())
                known = self.models.known.get(self.session.modules.known(copy) or -1)
                if not own or [p.shape for p in own] != shapes or own[0].device.type != "cpu":
                    continue
                if own[0] is next(module.parameters()) or (known is not None and known.trained):
                    continue
                start = weights_of(copy)
                if start != weights_of(module):
                    continue  # a twin that begins elsewhere: another critic, another member of an ensemble
                name = user_name(copy) or type(copy).__name__
                pair = Pair(name, reference, weakref.ref(module), model.key, start)
                self._pairs[id(copy)] = pair


def weights_of(module: nn.Module) -> list[float]:
    own = sorted((p for p in module.parameters() if p.layout == torch.strided), key=lambda p: -p.numel())
    return [value for p in own[:_PARAMETERS] for value in sampled(p, _VALUES)]


def part_of(start: list[float], now: list[float], goal: list[float]) -> float | None:
    """Of the way from start to goal, the part that now is behind; None where there is no way."""
    if not len(start) == len(now) == len(goal):
        return None
    whole = sum((g - s) ** 2 for s, g in zip(start, goal, strict=True))
    gone = sum((n - s) * (g - s) for s, n, g in zip(start, now, goal, strict=True))
    return gone / whole if whole > _TINY else None
