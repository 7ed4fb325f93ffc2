"""A clock that counts epochs, from what a script lets one see of them.

Passes over a DataLoader are the best evidence; a script that slices its own tensors still prints a line
with the number of the epoch, or evaluates at the end of each.
"""

import math
from bisect import bisect_right

from premortem.detectors.shared.facts import Fact
from premortem.detectors.shared.printed import MOST_KINDS
from premortem.events import EpochEnded, EpochStarted, EvaluationEnded, Event, LogLine
from premortem.metric_words import EPOCHS


class Counter:
    """A number that a repeated line counts up. One that is called epoch may skip some ("epoch 10", "epoch 20")."""

    def __init__(self, named: bool) -> None:
        self.named = named
        self.ends: list[int] = []
        self._value: int | None = None
        self._step = 0

    def count(self, value: int, step: int) -> None:
        last, began = self._value, self._step
        if value == last:
            return
        self._value, self._step = value, step
        if last is None or value < last:  # the first line, or another fold
            append(self.ends, step)
        elif value == last + 1 or self.named:
            epochs = value - last
            for i in range(1, epochs + 1):
                append(self.ends, began + (step - began) * i // epochs)
        else:
            self.ends.clear()


class Epochs(Fact):
    """Steps at which epochs ended."""

    LISTENS = (EpochStarted, EpochEnded, EvaluationEnded, LogLine)

    def __init__(self) -> None:
        self._open: dict[int, int] = {}  # loader -> step at which the pass that is going on began
        self._passes: list[int] = []  # passes with training in them
        self._evaluations: list[int] = []
        self._counters: dict[str, Counter] = {}  # of each kind of printed line
        self.planned: int | None = None  # the 20 of "epoch 3/20"

    def observe(self, event: Event) -> None:
        if isinstance(event, EpochStarted):
            self._pass_over(event.loader, event.step)
            self._open[event.loader] = event.step
        elif isinstance(event, EpochEnded):
            self._pass_over(event.loader, event.step)
        elif isinstance(event, EvaluationEnded):
            append(self._evaluations, event.step)
        elif isinstance(event, LogLine):
            self._printed(event)

    def _pass_over(self, loader: int, step: int) -> None:
        began = self._open.pop(loader, None)
        if began is not None and step > began:
            append(self._passes, step)

    def _printed(self, event: LogLine) -> None:
        named = [i for i, (label, _, _) in enumerate(event.values) if label in EPOCHS]
        at = named[0] if named else 0
        value = event.values[at][2]
        if not 0 <= value < 1e6 or value != int(value):
            return
        if len(self._counters) > MOST_KINDS:
            self._counters.clear()
        counter = self._counters.setdefault(event.template, Counter(bool(named)))
        counter.count(int(value), event.step)
        rest = event.values[at + 1 : at + 2]
        if named and rest and rest[0][0] == "of" and value <= rest[0][2] < 1e6:
            self.planned = int(rest[0][2])

    def ends(self) -> list[int]:
        """Steps at which epochs ended, by the best evidence there is; may be empty."""
        if len(self._passes) >= 2:
            return self._passes
        counted = max((counter.ends for counter in self._counters.values()), key=len, default=[])
        if len(counted) >= 2:
            return counted
        return self._evaluations if len(self._evaluations) >= 2 else self._passes

    def whole(self, step: int) -> float:
        """Steps that the run will have made at its end, if it makes the epochs that it announced; infinity when it announced none."""
        made = self.between(0, step)
        return self.planned * step / made if self.planned and made else math.inf

    def between(self, first: int, last: int) -> int:
        """Epochs that ended after step `first`, up to step `last`."""
        ends = self.ends()
        return bisect_right(ends, last) - bisect_right(ends, first)


def append(steps: list[int], step: int) -> None:
    """Two loaders that are read side by side, or two evaluations in a row, end one epoch."""
    if step and (not steps or step > steps[-1]):
        steps.append(step)
