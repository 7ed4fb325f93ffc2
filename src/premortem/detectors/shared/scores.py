"""Losses that take raw scores: what the detectors share of those that are given something squashed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.detectors.base import THRICE, Detector
from premortem.events import Event, GraphWalked, LossCall
from premortem.findings import Finding

SQUASHED = frozenset({"softmax", "sigmoid", "hardsigmoid"})
# Calls of one line, when the graph itself names the function that squashed: one more than a trial of the model.
NAMED = 2


class TakesScores(Detector):
    """Listens to the losses that take scores, and to graphs in which the function of such a loss follows another."""

    listens = (LossCall, GraphWalked)
    twice: ClassVar[frozenset[tuple[str, str]]]  # what the graph calls the two functions, the last one first

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LossCall):
            for finding in self.called(event):
                self.over = True
                yield finding
        elif isinstance(event, GraphWalked):
            pair = next((pair for pair in event.feeds if pair in self.twice), None)
            if pair is not None and self.times(event.at) >= THRICE:
                self.over = True
                yield self.applied_twice(event, *pair)

    def called(self, event: LossCall) -> Iterator[Finding]:
        raise NotImplementedError

    def applied_twice(self, event: GraphWalked, upper: str, lower: str) -> Finding:
        raise NotImplementedError
