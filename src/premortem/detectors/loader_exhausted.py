import math
from dataclasses import dataclass, field

from premortem.amounts import count
from premortem.detectors.base import TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.printed import MOST_KINDS, columns, counted, kind_of
from premortem.events import Backward, EpochEnded, EpochStarted, Event, LogLine, OptimizerStep, RunEnded, Site
from premortem.metric_words import LOSSES, TRAINED


@dataclass
class Counted:
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

    card = Card("PM323", "loader-exhausted", "data-empty", Severity.ERROR, sudden=True).explaining(
        "metric-frozen", "scheduler-before-optimizer", "step-without-new-gradients"
    )
    listens = (EpochStarted, EpochEnded, OptimizerStep, Backward, LogLine, RunEnded)

    def __init__(self) -> None:
        self._work = 0  # backward passes and steps that were reported so far
        self._at: Site | None = None  # of the last one: it stands in the loop that no longer runs
        self._again: dict[int, list[int]] = {}  # loader -> work done when it was found empty again
        self._lines: dict[str, Counted] = {}

    def observe(self, event: Event) -> Findings:
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
        """Grows with each backward pass and each step, reported or not."""
        return self._work + event.step

    def _ended(self, event: RunEnded) -> Findings:
        """An average over the batches of an epoch without any."""
        idle = any(line.work == self._done(event) for line in self._lines.values())
        if event.reason == "crashed" and event.error == "ZeroDivisionError" and idle:
            yield self._found(event, event.at, "the epoch after the last printed one had no batches", False)

    def _found_empty(self, event: EpochEnded) -> Findings:
        times = self._again.setdefault(event.loader, [])
        times.append(self._done(event))
        if len(times) < TWICE:
            return
        idle = times[-1] == times[-TWICE]
        if not idle and len(set(times)) <= TWICE:
            return  # training goes on without it: give it one more chance
        what = f"the script looped over an iterator of a DataLoader {count(len(times), 'more time')} after it had run out"
        yield self._found(event, event.at, what, idle)

    def _printed(self, event: LogLine) -> Findings:
        number, kind = counted(event), kind_of(event)
        if number is None:
            return
        known = self._lines.get(kind)
        if known is None or number != known.number + 1 or self._done(event) != known.work:
            if len(self._lines) < MOST_KINDS or known is not None:
                self._lines[kind] = Counted(event, number, self._done(event))
            return
        known.number = number
        known.stuck.append(event)
        # A table of results printed at the end counts up too, but its numbers differ from line to line.
        if len(known.stuck) >= TWICE and stands_still(known.line, known.stuck):
            last = known.number - len(known.stuck)
            what = f"{count(len(known.stuck), 'epoch')} after epoch {last} made no training step"
            yield self._found(event, self._at, what, True)

    def _found(self, event: Event, at: Site | None, message: str, certain: bool) -> Finding:
        return self.last_word(
            event,
            message,
            cause="The batches come from something that can be read once, and the script does not make it anew for each epoch.",
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
        same = values and all(v == values[0] for v in values)
        if same or (values and all(v == 0 or not math.isfinite(v) for v in values)):
            return True
    return False
