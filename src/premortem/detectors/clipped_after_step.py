"""PM222 clipped-after-step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Clip, Event, RunEnded, Site, StepStats
from premortem.findings import Finding, Severity

ENOUGH = 10  # steps: a few late calls belong to the end of an epoch


@dataclass
class Place:
    limit: float
    late: int = 0
    empty: int = 0  # of these: before there was a gradient
    timely: int = 0
    largest: float = 0.0  # norm of a gradient that a step used since the first call


class ClippedAfterStep(Detector):
    """Gradients are clipped when the step has already used them, or before there are any.

    ## Why it matters
    The steps are made with the full gradients: the clipping is there to read, and does nothing.

    ## Usual causes
    `clip_grad_norm_` stands behind `optimizer.step()`, or before `loss.backward()`.

    ## What to do
    Clip between `backward()` and `step()`.

    ## When it stays silent
    When the call only measures the norm (an infinite limit).
    """

    card = Card(
        code="PM222",
        name="clipped-after-step",
        family="clipping",
        severity=Severity.ERROR,
        explains=("exploding-gradients",),
    )
    listens = (Clip, StepStats, RunEnded)

    def __init__(self) -> None:
        self._places: dict[Site | None, Place] = {}

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, Clip):
            place = self._places.setdefault(event.at, Place(event.limit))
            if event.after_step:
                place.late += 1
                place.empty += event.empty
            else:
                place.timely += 1
        elif isinstance(event, StepStats):
            for place in self._places.values():
                if math.isfinite(event.grad_norm):
                    place.largest = max(place.largest, event.grad_norm)
                else:
                    place.largest = math.inf
            yield from self._judge(event, over=False)
        elif isinstance(event, RunEnded):
            yield from self._judge(event, over=True)

    def _judge(self, event: Event, *, over: bool) -> Iterator[Finding]:
        for at, place in self._places.items():
            # The very first call comes before any step, and cannot be late.
            if self.said(at) or place.late < ENOUGH or place.timely > max(1, 0.05 * place.late):
                continue
            acts = place.largest > place.limit
            if not math.isfinite(place.limit) or not (acts or over):
                continue
            self.once(at)
            early = 2 * place.empty > place.late
            when = "before backward() had made them" if early else "only after the step had used them"
            yield self.finding(
                event,
                f"gradients were clipped to {place.limit:g} {when}, {place.late} times"
                + (f"; norms up to {place.largest:.3g} went through" if acts else ""),
                cause="The gradients had been cleared, and the backward pass comes later: there was nothing to clip."
                if early
                else "No backward pass lies between the last optimizer step and the clipping.",
                remedy="Clip between loss.backward() and optimizer.step().",
                at=at,
                severity=Severity.ERROR if acts else Severity.INFO,
                limit=place.limit,
                late=place.late,
                largest=place.largest,
            )
