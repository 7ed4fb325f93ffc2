from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from premortem.cards import Card
from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import Detector
from premortem.events import Site
from premortem.findings import Finding, Severity

FEW = 12  # windows that were thrown away: a probe of the rate throws away fewer
SHARE = 3  # for each one that was used: less may be a step that is left out on purpose


@dataclass
class Tally:
    """Windows of one optimizer whose gradients come from one line."""

    thrown: int = 0
    used: int = 0
    gated: int = 0
    divided: int = 0  # thrown, although divided by a whole number: they were to be accumulated
    cleared_at: Counter[Site | None] = field(default_factory=Counter)


class GradientsThrownAway(Detector):
    """Most gradients are cleared before any step has used them.

    ## Why it matters
    The backward passes are paid for and lost: a step sees the last batch only, and there are far fewer steps
    than batches.

    ## Usual causes
    - `step()` slipped out of the batch loop, `zero_grad()` did not: one update per epoch
    - `step()` in a branch that is rarely taken
    - accumulation with `zero_grad()` in every micro-batch

    ## What to do
    Call `step()` for every batch; with accumulation clear the gradients only after `step()`.

    ## When it stays silent
    When another optimizer steps on the same backward pass (GANs, actor and critic), when the weights are moved by
    hand in between (sharpness-aware and meta-learning), when a scaler refuses steps, and when the gradients are
    those of an input.
    """

    card = Card(
        code="PM125",
        name="gradients-thrown-away",
        family="update-order",
        severity=Severity.ERROR,
        explains=(
            "updates-too-small",
            "scheduler-stepped-per-batch",
            "accumulation-window-broken",
            "accumulation-not-divided",
            "uninformative-labels",
        ),
    )
    listens = (WindowEnded,)

    def __init__(self) -> None:
        self._tallies: dict[tuple[int, Site | None], Tally] = {}

    def observe(self, event: WindowEnded) -> Iterable[Finding]:
        if event.micros and event.site is not None and not event.closure and not event.touched:
            tally = self._tallies.setdefault((event.optimizer, event.site), Tally())
            count(tally, event)
            if wasteful(tally) and self.once(event.optimizer):
                yield self._found(event, tally)

    def _found(self, event: WindowEnded, tally: Tally) -> Finding:
        accumulates = tally.divided == tally.thrown
        share = tally.used / (tally.used + tally.thrown)
        at, _ = tally.cleared_at.most_common(1)[0]
        return self.finding(
            event,
            f"{tally.thrown} of {tally.thrown + tally.used} gradients were cleared before a step used them "
            f"({share:.0%} used)",
            cause=(
                "the loss is divided for accumulation, but the gradients are cleared in every micro-batch"
                if accumulates
                else "zero_grad() runs for every batch and step() does not, so a step sees the last batch only"
            ),
            remedy=(
                "clear the gradients only after step()"
                if accumulates
                else "call step() for every batch, after backward()"
            ),
            at=at if accumulates else event.at,
            thrown=tally.thrown,
            used=tally.used,
        )


def count(tally: Tally, window: WindowEnded) -> None:
    if window.end == STEPPED:
        tally.used += 1
        tally.gated += window.gated
    else:
        tally.thrown += 1
        tally.cleared_at[window.at] += 1
        tally.divided += all(weight is not None and is_part(weight) for weight in window.weights)


def wasteful(tally: Tally) -> bool:
    if not tally.used or tally.thrown < FEW:
        return False
    # Every k-th micro-batch steps: with k = 2 half of the gradients are lost. Without that sign, one lost for
    # each used one is also what sharpness-aware training looks like.
    return tally.thrown >= SHARE * tally.used or (
        tally.gated == tally.used and tally.thrown >= 0.9 * tally.used
    )


def is_part(weight: float) -> bool:
    """One half, one third, ..."""
    return 0 < weight < 0.6 and abs(1 / weight - round(1 / weight)) < 1e-3
