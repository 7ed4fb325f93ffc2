from collections import Counter
from dataclasses import dataclass, field

from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Site

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
    Most backward passes are computed in vain: a step sees the last batch only, and there are far fewer steps
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

    card = Card("PM125", "gradients-thrown-away", "update-order", Severity.ERROR).explaining(
        "updates-too-small",
        "scheduler-stepped-per-batch",
        "accumulation-window-broken",
        "accumulation-not-divided",
        "uninformative-labels",
    )
    listens = (WindowEnded,)

    def __init__(self) -> None:
        self._tallies: dict[tuple[int, Site | None], Tally] = {}

    def observe(self, event: WindowEnded) -> Findings:
        if not event.micros or event.site is None or event.closure or event.touched:
            return
        tally = self._tallies.setdefault((event.optimizer, event.site), Tally())
        count(tally, event)
        if not wasteful(tally) or not self.once(event.optimizer):
            return
        cause = "zero_grad() runs for every batch and step() does not, so a step sees the last batch only"
        remedy, at = "call step() after each backward()", event.at
        if tally.divided == tally.thrown:
            cause = "the loss is divided for accumulation, but the gradients are cleared in every micro-batch"
            remedy, at = "clear the gradients only after step()", tally.cleared_at.most_common(1)[0][0]
        total = tally.used + tally.thrown
        what = f"{tally.thrown} of {total} gradients were cleared before a step used them ({tally.used / total:.0%} used)"
        yield self.finding(
            event, what, cause=cause, remedy=remedy, at=at, thrown=tally.thrown, used=tally.used
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
    # Every k-th micro-batch steps: with k = 2 half of the gradients are lost. Without that sign, one lost for
    # each used one is also what sharpness-aware training looks like.
    gated = tally.gated == tally.used and tally.thrown >= 0.9 * tally.used
    return tally.used > 0 and tally.thrown >= FEW and (gated or tally.thrown >= SHARE * tally.used)


def is_part(weight: float) -> bool:
    """One half, one third, ..."""
    return 0 < weight < 0.6 and abs(1 / weight - round(1 / weight)) < 1e-3
