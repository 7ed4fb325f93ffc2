"""A clock that counts epochs, from what a script lets one see of them.

Passes over a DataLoader are the best evidence; a script that slices its own tensors still prints a line
with the number of the epoch, or evaluates at the end of each.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator

from premortem.detectors.base import THRICE
from premortem.detectors.shared.facts import Fact
from premortem.detectors.shared.printed import MOST_KINDS
from premortem.events import EpochEnded, EpochStarted, EvaluationEnded, Event, LogLine
from premortem.metric_words import EPOCHS

# Evaluations that may have come unreported between two: looks are paid with about a hundredth of a run's time (`probes/rest.py`).
_UNREPORTED = 100


class Ends:
    """Steps in ascending order, as runs of one distance each: a million epochs of one length are one run."""

    def __init__(self) -> None:
        self._runs: list[range] = []
        self._firsts: list[int] = []  # of each run its first step, and how many steps are in those before it
        self._before: list[int] = []

    def __len__(self) -> int:
        return self._before[-1] + len(self._runs[-1]) if self._runs else 0

    def __iter__(self) -> Iterator[int]:
        return (step for run in self._runs for step in run)

    def last(self) -> int:
        return self._runs[-1][-1] if self._runs else 0

    def append(self, step: int) -> None:
        """Two loaders that are read side by side, or two evaluations in a row, end one epoch."""
        self.extend(range(step, step + 1) if step > self.last() else range(0))

    def extend(self, steps: range) -> None:
        """Steps behind the last one."""
        if not steps:
            return
        run = self._runs[-1] if self._runs else range(0)
        gap = run.step if len(run) > 1 else steps[0] - run[0] if run else 0
        if run and steps[0] - run[-1] == gap and (len(steps) == 1 or steps.step == gap):
            self._runs[-1] = range(run[0], steps[-1] + 1, gap)
            return
        self._before.append(len(self))
        self._firsts.append(steps[0])
        self._runs.append(steps)

    def up_to(self, step: int) -> int:
        """How many there are."""
        at = bisect_right(self._firsts, step) - 1
        if at < 0:
            return 0
        run = self._runs[at]
        return self._before[at] + min(len(run), (step - run[0]) // run.step + 1)


class Counter:
    """A number that a repeated line counts up. One that is called epoch may skip some ("epoch 10", "epoch 20")."""

    def __init__(self, named: bool) -> None:
        self.named = named
        self.ends = Ends()
        self._value: int | None = None
        self._step = 0

    def count(self, value: int, step: int) -> None:
        last, began = self._value, self._step
        if value == last:
            return
        self._value, self._step = value, step
        if last is None or value < last:  # the first line, or another fold
            self.ends.append(step)
        elif value == last + 1 or self.named:
            epochs = value - last
            for i in range(1, epochs + 1):
                self.ends.append(began + (step - began) * i // epochs)
        else:
            self.ends = Ends()


class Epochs(Fact):
    """Steps at which epochs ended."""

    LISTENS = (EpochStarted, EpochEnded, EvaluationEnded, LogLine)

    def __init__(self) -> None:
        self._open: dict[int, int] = {}  # loader -> step at which the pass that is going on began
        self._passes = Ends()  # passes with training in them
        self._evaluations = Ends()
        self._usual = 0  # steps between two evaluations: the first three were so far apart
        self._counters: dict[str, Counter] = {}  # of each kind of printed line
        self.planned: int | None = None  # the 20 of "epoch 3/20"

    def observe(self, event: Event) -> None:
        if isinstance(event, EpochStarted):
            self._pass_over(event.loader, event.step)
            self._open[event.loader] = event.step
        elif isinstance(event, EpochEnded):
            self._pass_over(event.loader, event.step)
        elif isinstance(event, EvaluationEnded):
            self._evaluated(event.step)
        elif isinstance(event, LogLine):
            self._printed(event)

    def _evaluated(self, step: int) -> None:
        """In a long run not all are reported: one that comes after several times the usual distance had others before it. Two
        that came one step apart are no habit: an agent calls its model now and then."""
        ends, usual = self._evaluations, self._usual
        last = ends.last()
        if usual and last < step <= last + _UNREPORTED * usual and not (step - last) % usual:
            ends.extend(range(last + usual, step, usual))
        ends.append(step)
        if len(ends) == THRICE and not usual:
            first, second, third = ends
            self._usual = second - first if second - first == third - second else 0

    def _pass_over(self, loader: int, step: int) -> None:
        began = self._open.pop(loader, None)
        if began is not None and step > began:
            self._passes.append(step)

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

    def ends(self) -> Ends:
        """Steps at which epochs ended, by the best evidence there is; may be empty."""
        if len(self._passes) >= 2:
            return self._passes
        counted = max((counter.ends for counter in self._counters.values()), key=len, default=Ends())
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
        return ends.up_to(last) - ends.up_to(first)
