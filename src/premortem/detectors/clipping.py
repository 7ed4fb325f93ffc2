"""Clipping that does not touch the gradients that a step uses."""

import math
from abc import abstractmethod
from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Clip, Event, RunEnded, Site, StepStats

LATE = 10  # calls: a few late ones belong to the end of an epoch
EMPTY = 20  # calls without one gradient in reach: warm-ups and frozen phases end sooner


@dataclass
class Place:
    """A line that clips."""

    limit: float
    late: int = 0  # calls after the step, or before any gradient
    timely: int = 0
    empty: int = 0  # timely calls that found no gradient
    before: int = 0  # of the late ones: before there was a gradient
    largest: float = 0.0  # norm of a gradient that a step used since the first call


class FollowsClipping(Detector):
    listens = (Clip, StepStats, RunEnded)

    def __init__(self) -> None:
        self._places: dict[Site | None, Place] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Clip):
            place = self._places.setdefault(event.at, Place(event.limit))
            place.late += event.after_step
            place.before += event.after_step and event.empty
            place.timely += not event.after_step
            place.empty += event.kind == "norm" and event.norm == 0 and not event.after_step
        elif isinstance(event, StepStats):
            norm = event.grad_norm if math.isfinite(event.grad_norm) else math.inf
            for place in self._places.values():
                place.largest = max(place.largest, norm)
        if isinstance(event, (StepStats, RunEnded)):
            yield from self.judge(event, over=isinstance(event, RunEnded))

    @abstractmethod
    def judge(self, event: Event, *, over: bool) -> Findings: ...


class ClippedAfterStep(FollowsClipping):
    """Gradients are clipped when the step has already used them, or before there are any.

    ## Why it matters
    The steps use the full gradients: the script contains a clipping call, and it has no effect.

    ## Usual causes
    `clip_grad_norm_` stands behind `optimizer.step()`, or before `loss.backward()`.

    ## What to do
    Clip between `backward()` and `step()`.

    ## When it stays silent
    When the call only measures the norm (an infinite limit).
    """

    card = Card("PM222", "clipped-after-step", "clipping", Severity.ERROR).explaining("exploding-gradients")

    def judge(self, event: Event, *, over: bool) -> Findings:
        for at, place in self._places.items():
            acts = place.largest > place.limit
            # The very first call comes before any step, and cannot be late.
            if (
                place.late < LATE
                or place.timely > max(1, 0.05 * place.late)
                or not math.isfinite(place.limit)
            ):
                continue
            if (acts or over) and self.once(at):
                early = 2 * place.before > place.late
                when = "before backward() had made them" if early else "only after the step had used them"
                yield self.finding(
                    event,
                    f"gradients were clipped to {place.limit:g} {when}, {place.late} times"
                    + (f"; steps used norms up to {place.largest:.3g}" if acts else ""),
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


class ClippingReachesNothing(FollowsClipping):
    """Gradient clipping finds no gradients, while the optimizer steps on large ones.

    ## Why it matters
    The steps use the full gradients: the script contains a clipping call, and it has no effect.

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

    def judge(self, event: Event, *, over: bool) -> Findings:
        # A norm that is not known (clipping by value, or on a device) may well be that of gradients.
        if any(place.late or place.timely > place.empty for place in self._places.values()):
            return
        for at, place in self._places.items():
            if place.empty >= EMPTY and math.inf > place.largest > place.limit:
                yield self.last_word(
                    event,
                    f"clip_grad_norm_ found no gradient in {place.empty} calls, while steps were made with norms up to "
                    f"{place.largest:.3g} (limit {place.limit:g})",
                    cause="It was given other parameters than those the loss reaches, or an iterator that is used up.",
                    remedy="Pass model.parameters() to each call.",
                    at=at,
                    calls=place.empty,
                    limit=place.limit,
                    largest=place.largest,
                )
                return
