from __future__ import annotations

import math
from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Clip, Event, RunEnded, Site, StepStats

ENOUGH = 10  # steps: a few late calls belong to the end of an epoch


@dataclass
class Place:
    limit: float
    late: int = 0
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

    card = Card("PM222", "clipped-after-step", "clipping", Severity.ERROR).explaining("exploding-gradients")
    listens = (Clip, StepStats, RunEnded)

    def __init__(self) -> None:
        self._places: dict[Site | None, Place] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Clip):
            place = self._places.setdefault(event.at, Place(event.limit))
            if event.after_step:
                place.late += 1
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

    def _judge(self, event: Event, *, over: bool) -> Findings:
        for at, place in self._places.items():
            # The very first call comes before any step, and cannot be late.
            if self.said(at) or place.late < ENOUGH or place.timely > max(1, 0.05 * place.late):
                continue
            acts = place.largest > place.limit
            if not math.isfinite(place.limit) or not (acts or over):
                continue
            self.once(at)
            yield self.finding(
                event,
                f"gradients were clipped to {place.limit:g} only after the step had used them, {place.late} times"
                + (f"; norms up to {place.largest:.3g} went through" if acts else ""),
                cause="No backward pass lies between the last optimizer step and the clipping.",
                remedy="Clip between loss.backward() and optimizer.step().",
                at=at,
                severity=Severity.ERROR if acts else Severity.INFO,
                limit=place.limit,
                late=place.late,
                largest=place.largest,
            )
