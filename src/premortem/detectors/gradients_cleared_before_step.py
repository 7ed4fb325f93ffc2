from __future__ import annotations

from premortem.detectors.base import FADING, TWICE, Card, Detector, Findings, Severity
from premortem.events import Clip, Event, NonFinite, OptimizerStep, Site, ZeroGrad


class GradientsClearedBeforeStep(Detector):
    """Gradients are cleared after `backward()` and before `step()`.

    ## Why it matters
    `step()` finds no gradients (or zeros) and changes nothing, except for weight decay and old momentum.

    ## Usual causes
    - `zero_grad()` between `backward()` and `step()`
    - `step()` before `backward()` in the loop, with `zero_grad()` first
    - a callback or helper that "cleans up" after the backward pass

    ## What to do
    `zero_grad()`, forward, `backward()`, `step()`, in this order.

    ## When it stays silent
    When nobody called `zero_grad()` and the run has met NaN: a helper that replaces NaN by 0 empties gradients too.
    """

    card = Card("PM121", "gradients-cleared-before-step", "update-order", Severity.ERROR).explaining(
        *FADING,
        "gradients-thrown-away",
        "gradients-never-cleared",
        "step-without-new-gradients",
        "detached-from-loss",
        "evaluated-copy-never-changes",
        "uninformative-labels",
        "clipped-after-step",
        "weight-decay-collapse",
    )
    listens = (ZeroGrad, OptimizerStep, NonFinite, Clip)

    def __init__(self) -> None:
        self._cleared_at: dict[int, Site | None] = {}
        self._masked = False  # perhaps: something was not finite, or was clipped to 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ZeroGrad):
            self._cleared_at.update(dict.fromkeys(event.wasted, event.at))
        elif isinstance(event, NonFinite) or (isinstance(event, Clip) and not event.limit):
            self._masked = True
        elif isinstance(event, OptimizerStep):
            key = event.optimizer
            steps = self.in_a_row(key, event.emptied)
            at = self._cleared_at.get(key)
            if steps == TWICE and (at or not self._masked) and self.once(key):
                where = f"`zero_grad()` at line {at.line}" if at is not None else "something"
                yield self.finding(
                    event,
                    f"{where} clears the gradients between backward() and step(): {event.kind} steps on nothing",
                    cause="every step is made without the gradients that backward() has just computed",
                    remedy="clear the gradients before backward(), or after step()",
                    at=at,
                    steps=steps,
                )
            self._cleared_at.pop(key, None)
