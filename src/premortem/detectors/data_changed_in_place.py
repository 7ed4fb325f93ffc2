from dataclasses import dataclass, field
from itertools import pairwise

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Array, EpochStarted, Event, SlicesRestarted

EPOCHS = 4  # starts of epochs, the first included: three changes show whether they add up
NOTICEABLE = 0.01  # of the data's own spread: less is the rounding of a normalisation that was repeated
GROWTH = 1.5  # a random walk is sqrt(3) further after three epochs than after one
SCALED = 1.4  # per epoch: what grows or shrinks by so much each time is scaled again each time


@dataclass
class Drift:
    distances: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)


class DataChangedInPlace(Detector):
    """The training data itself changes from epoch to epoch, written in place by the code that makes batches.

    ## Why it matters
    Noise, normalisation or masks pile up: each epoch trains on data further away from what was measured, and the
    labels no longer belong to it.

    ## Usual causes
    `x = self.data[i]` is a view, and `x += noise`, `x -= mean`, `x[mask] = 0` write into the dataset.

    ## What to do
    Work on a copy (`self.data[i].clone()`, `.copy()`), or out of place (`x = x + noise`).

    ## When it stays silent
    A cache that is filled once, data that is drawn anew for each epoch, buffers and soft labels that the training
    loop itself updates.
    """

    card = Card("PM341", "data-changed-in-place", "data-augment", Severity.ERROR).explaining(
        "unnormalised-inputs",
        "train-and-eval-inputs-differ",
        "non-finite-input",
        "non-finite-training",
        "exploding-gradients",
        "overflow",
    )
    listens = (EpochStarted, SlicesRestarted)

    def __init__(self) -> None:
        self._drifts: dict[int, Drift] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, EpochStarted):
            for array in event.arrays:
                yield from self._follow(event, array, Drift())
        elif isinstance(event, SlicesRestarted):
            # The event comes when a pass is over; the first pass began with the data unchanged.
            yield from self._follow(event, event.array, Drift([0.0]))

    def _follow(self, event: Event, array: Array, new: Drift) -> Findings:
        drift = self._drifts.setdefault(array.key, new)
        if drift.spreads and array.distance == drift.distances[-1]:
            return  # nothing was written since; another loader reads the same array
        drift.distances = [*drift.distances[-EPOCHS:], array.distance]
        drift.spreads = [*drift.spreads[-EPOCHS:], array.spread]
        if array.inside and not self.over and (moves_away(drift.distances) or is_rescaled(drift.spreads)):
            name = f"`dataset.{array.name}`" if array.name else "the tensor that batches are cut from"
            yield self.last_word(
                event,
                f"{name} changes in place: after {len(drift.distances) - 1} epochs it is {array.distance:.2g} times "
                "its own spread away from what it was",
                cause="The code that makes a batch writes into the stored data (a view is not a copy), so what it does "
                "piles up with every epoch.",
                remedy="Copy first (`.clone()`, `.copy()`) or compute out of place (`x = x + noise`, not `x += noise`).",
                distances=[round(d, 4) for d in drift.distances],
            )


def moves_away(distances: list[float]) -> bool:
    """Further and further from the start, not to and fro about it."""
    last = distances[-EPOCHS:]
    return (
        len(last) == EPOCHS
        and all(b > a for a, b in pairwise(last))
        and last[1] >= NOTICEABLE
        and (last[0] > 0 or last[-1] >= GROWTH * last[1])
    )


def is_rescaled(spreads: list[float]) -> bool:
    last = spreads[-EPOCHS + 1 :]
    if len(last) < EPOCHS - 1 or min(last) <= 0:
        return False
    factors = [b / a for a, b in pairwise(last)]
    return all(f > SCALED for f in factors) or all(f < 1 / SCALED for f in factors)
