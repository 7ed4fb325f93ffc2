from __future__ import annotations

import math
from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Clip, Event, RunEnded, Site, StepStats

ENOUGH = 20  # steps without one gradient in reach: warm-ups and frozen phases end sooner


@dataclass
class Place:
    limit: float
    empty: int = 0
    full: int = 0  # calls that found a gradient, or came too late, or on a device


class ClippingReachesNothing(Detector):
    """Gradient clipping finds no gradients, while the optimizer steps on large ones.

    ## Why it matters
    The steps are made with the full gradients: the clipping is there to read, and does nothing.

    ## Usual causes
    `clip_grad_norm_` is given the parameters of another model, or a generator (`model.parameters()` kept in a
    variable) that the optimizer has already used up.

    ## What to do
    Give it `model.parameters()` anew in each call.

    ## When it stays silent
    When any clipping in the loop reaches gradients, and when none is larger than the limit.
    """

    card = Card("PM223", "clipping-reaches-nothing", "clipping", Severity.ERROR).explaining(
        "exploding-gradients"
    )
    listens = (Clip, StepStats, RunEnded)

    def __init__(self) -> None:
        self._places: dict[Site | None, Place] = {}
        self._largest = 0.0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Clip):
            place = self._places.setdefault(event.at, Place(event.limit))
            if event.kind == "norm" and event.norm == 0 and not event.after_step:
                place.empty += 1
            else:
                place.full += 1
        elif isinstance(event, StepStats):
            if self._places and math.isfinite(event.grad_norm):
                self._largest = max(self._largest, event.grad_norm)
        elif isinstance(event, RunEnded) and not any(place.full for place in self._places.values()):
            yield from self._ended(event)

    def _ended(self, event: RunEnded) -> Findings:
        for at, place in self._places.items():
            if place.empty >= ENOUGH and self._largest > place.limit:
                yield self.finding(
                    event,
                    f"clip_grad_norm_ found no gradient in {place.empty} calls, while steps were made with norms up to "
                    f"{self._largest:.3g} (limit {place.limit:g})",
                    cause="It was given other parameters than those the loss reaches, or an iterator that is used up.",
                    remedy="Pass model.parameters() to each call.",
                    at=at,
                    calls=place.empty,
                    limit=place.limit,
                    largest=self._largest,
                )
                return
