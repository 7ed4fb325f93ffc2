from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Event
from premortem.findings import Finding, Severity
from premortem.windows import STEPPED, WindowEnded

ENOUGH = 3  # windows in a row


class AccumulationNotDivided(Detector):
    """Gradients of several micro-batches are summed up, and the loss is not divided by their number.

    ## Why it matters
    The mean of k micro-batches was meant, and the sum is used: a gradient k times too large. With plain SGD that
    is a learning rate k times too high; a clipping threshold is passed k times as easily, and the run
    is not comparable with one that uses large batches.

    ## Usual causes
    - `loss.backward()` where `(loss / accumulation_steps).backward()` was meant
    - only the number that is printed is divided

    ## What to do
    Divide the loss by the number of micro-batches in the window before `backward()`.

    ## When it stays silent
    When the loss is a sum over samples, when the gradients are rescaled before the step, and when what is summed
    up are the tasks, terms or sequences of one step rather than batches of the loop.
    """

    card: ClassVar[Card] = Card(
        code="PM131",
        name="accumulation-not-divided",
        family="accumulation",
        severity=Severity.WARNING,
        explains=("exploding-gradients", "updates-too-large", "clipped-hard-every-step"),
    )
    listens: ClassVar[tuple[type[Event], ...]] = (WindowEnded,)

    def __init__(self) -> None:
        self._streak: dict[int, int] = {}
        self._length: dict[int, int] = {}
        self._divided: set[int] = set()  # optimizers with a window that was: then another diagnosis is right
        self._told: set[int] = set()

    def observe(self, event: WindowEnded) -> Iterable[Finding]:
        if event.end != STEPPED:
            return
        optimizer, k = event.optimizer, len(event.micros)
        if any(weight is not None and weight < 1 for weight in event.weights):
            self._divided.add(optimizer)
        same = self._length.get(optimizer) == k
        self._length[optimizer] = k
        self._streak[optimizer] = (self._streak.get(optimizer, 0) * same + 1) if undivided(event) else 0
        if self._streak[optimizer] < ENOUGH or optimizer in self._told or optimizer in self._divided:
            return
        self._told.add(optimizer)
        yield self.finding(
            event,
            f"each step sums the gradients of {k} micro-batches, and the loss is not divided by {k}",
            cause=f"the gradient is {k} times the mean that one batch of the same size would give",
            remedy=f"call `(loss / {k}).backward()`, with the number of micro-batches of the window",
            at=event.site,
            micro_batches=k,
        )


def undivided(window: WindowEnded) -> bool:
    """Batch means that were summed up as they are, and not rescaled afterwards."""
    # One sample at a time (trees, graphs) is a batch that is spelled out, and summing it up is a habit.
    one_by_one = any(micro.samples == 1 for micro in window.micros)
    alike = all(weight == 1.0 for weight in window.weights)
    return window.accumulates and not window.touched and not one_by_one and alike
