"""PM323 loader-exhausted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.detectors.shared.printed import MOST_KINDS, columns, counted, kind_of
from premortem.detectors.shared.wording import count
from premortem.events import Backward, EpochEnded, EpochStarted, Event, LogLine, OptimizerStep, RunEnded, Site
from premortem.findings import Certainty, Finding, Severity
from premortem.metric_words import LOSSES, TRAINED


@dataclass
class Told:
    """Lines of one template: the number they count, and the steps that had been made."""

    line: LogLine
    number: int
    work: int
    stuck: list[LogLine] = field(default_factory=list)


class LoaderExhausted(Detector):
    """What the batches come from runs out after one epoch, and later epochs train on nothing.

    ## Why it matters
    The epochs go by, the weights stay as they were after the first, and the log shows 0 or repeats itself.

    ## Usual causes
    A generator, `zip`, `map` or `iter(loader)` that is made once before the loop over epochs: it can be read once.

    ## What to do
    Make it anew in each epoch (call the generator function in the loop), or loop over the DataLoader itself.
    """

    card = Card(
        code="PM323",
        name="loader-exhausted",
        family="data-empty",
        severity=Severity.ERROR,
        explains=("metric-frozen", "scheduler-before-optimizer", "step-without-new-gradients"),
        sudden=True,
    )
    listens = (EpochStarted, EpochEnded, OptimizerStep, Backward, LogLine, RunEnded)

    def __init__(self) -> None:
        self._work = 0  # backward passes and steps that were told so far
        self._at: Site | None = None  # of the last one: it stands in the loop that no longer runs
        self._again: dict[int, list[int]] = {}  # loader -> work done when it was found empty again
        self._told: dict[str, Told] = {}

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, (OptimizerStep, Backward)):
            self._work += 1
            self._at = event.at
        elif isinstance(event, EpochStarted):
            self._again.pop(event.loader, None)
        elif isinstance(event, EpochEnded):
            if event.again:
                yield from self._found_empty(event)
        elif isinstance(event, LogLine) and self._work:
            yield from self._printed(event)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _done(self, event: Event) -> int:
        """Grows with each backward pass and each step, be it told or not."""
        return self._work + event.step

    def _ended(self, event: RunEnded) -> Iterator[Finding]:
        """An average over the batches of an epoch without any."""
        idle = any(told.work == self._done(event) for told in self._told.values())
        if event.reason == "crashed" and event.error == "ZeroDivisionError" and idle:
            yield self._found(event, event.at, "the epoch after the last printed one had no batches", False)

    def _found_empty(self, event: EpochEnded) -> Iterator[Finding]:
        times = self._again.setdefault(event.loader, [])
        times.append(self._done(event))
        if len(times) < TWICE:
            return
        idle = times[-1] == times[-TWICE]
        if not idle and len(set(times)) <= TWICE:
            return  # training goes on without it: give it one more chance
        self.over = True
        yield self._found(
            event,
            event.at,
            f"an iterator over a DataLoader was looped over {count(len(times), 'more time')} "
            "after it had run out",
            idle,
        )

    def _printed(self, event: LogLine) -> Iterator[Finding]:
        number, kind = counted(event), kind_of(event)
        if number is None:
            return
        told = self._told.get(kind)
        if told is None or number != told.number + 1 or self._done(event) != told.work:
            if len(self._told) < MOST_KINDS or told is not None:
                self._told[kind] = Told(event, number, self._done(event))
            return
        told.number = number
        told.stuck.append(event)
        # A table of results printed at the end counts up too, but its numbers differ from line to line.
        if len(told.stuck) >= TWICE and stands_still(told.line, told.stuck):
            self.over = True
            yield self._found(
                event,
                self._at,
                f"{count(len(told.stuck), 'epoch')} after epoch {told.number - len(told.stuck)} made no training step",
                True,
            )

    def _found(self, event: Event, at: Site | None, message: str, certain: bool) -> Finding:
        return self.finding(
            event,
            message,
            cause="What the batches are read from can be read once, and it is not made anew for each epoch.",
            remedy="Create the generator, `zip` or `iter(loader)` inside the loop over epochs.",
            at=at,
            severity=Severity.ERROR if certain else Severity.WARNING,
            certainty=Certainty.MEASURED if certain else Certainty.SUSPECTED,
        )


def stands_still(first: LogLine, stuck: list[LogLine]) -> bool:
    """A loss in these lines is 0, NaN, or the same in all of them."""
    for i, names in enumerate(columns(first)):
        text = first.values[i][1]
        if "." not in text or not names & (LOSSES | TRAINED):
            continue
        values = [line.values[i][2] for line in stuck if len(line.values) == len(first.values)]
        if values and (
            all(v == values[0] for v in values) or all(v == 0 or not math.isfinite(v) for v in values)
        ):
            return True
    return False
