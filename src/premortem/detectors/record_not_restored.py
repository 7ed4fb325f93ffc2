import math
from itertools import pairwise

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.resuming import file_of, goes_on
from premortem.events import CheckpointSaved, Event, FileLoaded, OptimizerBuilt, Resumed, StateLoaded
from premortem.metric_words import COUNTERS, EVALUATED, METRICS, RECORDS, direction, words

BESTS = frozenset({"best", "highest", "lowest", "record"})
MEASURED = METRICS | EVALUATED | {"metric"}


class RecordNotRestored(Detector):
    """A run is resumed, and its best score begins anew: the next evaluation is taken for a record, and replaces a better one.

    ## Why it matters
    The first model after the restart is "the best so far", however bad it is. It is written over the best one, which is lost.

    ## Usual causes
    The record is in the checkpoint, and what loads it takes the weights, the optimizer and the epoch, and leaves the record at infinity.

    ## What to do
    Restore it with the rest: `best = checkpoint["best"]`.

    ## How it is measured
    A record only ever gets better. The file that the run goes on from, counting on, holds one, and the first file after it with that name holds
    a worse one. Which way is better, its name says, or its own course.

    ## When it stays silent
    When the run does not count on from the file, when another optimizer is built or weights are loaded after it (the next fold or stage, whose
    record begins again), and when the first file written holds the record of the other, or a better one. For numbers that are not called
    "best", "highest", "lowest" or "record", alone or of something measured: `last_val_loss` and a threshold go up and down. For a name that two files
    hold with different values.
    """

    card = Card("PM156", "record-not-restored", "checkpoint", Severity.ERROR).explaining("kept-the-worst")
    listens = (FileLoaded, Resumed, CheckpointSaved, OptimizerBuilt, StateLoaded)

    def __init__(self) -> None:
        self._loaded: dict[str, dict[str, float]] = {}  # by path: the records of each file that was read
        self._goes_on: tuple[Resumed, dict[str, float]] | None = None
        self._courses: dict[
            str, list[float]
        ] = {}  # of each record, in what was saved: before the resume, and after it

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FileLoaded):
            self._loaded[event.path] = {
                name: value for name, value in event.records if is_record(name, value)
            }
        elif isinstance(event, Resumed):
            held = self._loaded.get(event.path, {}) if event.restored and goes_on(event) is not None else {}
            others = [records for path, records in self._loaded.items() if path != event.path]
            self._goes_on = (
                event,
                {n: v for n, v in held.items() if all(records.get(n, v) == v for records in others)},
            )
        elif isinstance(event, OptimizerBuilt) or (
            isinstance(event, StateLoaded) and event.target == "module"
        ):
            self._goes_on = None  # another fold, another stage: its record begins again
        elif isinstance(event, CheckpointSaved):
            for name, value in event.records:
                if is_record(name, value):
                    yield from self._saved(event, name, value)

    def _saved(self, event: CheckpointSaved, name: str, value: float) -> Findings:
        course = self._courses.setdefault(name, [])
        if self._goes_on is None or name not in self._goes_on[1]:
            if not course or course[-1] != value:
                course.append(value)
            return
        resumed, held = self._goes_on
        after = self._courses.setdefault(f"{name} since", [])
        if not after or after[-1] != value:
            after.append(value)
        if wobbles(course) or wobbles(after):
            return  # whatever it is called, it is no record
        # Only the first number after the resume counts: a record that was restored stands in it, or a better one.
        ways = {way for way in (direction(name), way_of(course), way_of(after)) if way}
        if len(ways) == 1 and ways.pop() * (held[name] - after[0]) > 0 and self.once(name):
            yield self.finding(
                event,
                f"the run goes on with `{file_of(resumed)}`, where `{name}` is {held[name]:.4g}; now `{event.path.rpartition('/')[2]}` is "
                f"written with {after[0]:.4g}, which is worse",
                cause="The record was not restored, so that the first evaluation after the restart was taken for the best one.",
                remedy=f'Restore it with the rest: `checkpoint["{name}"]`.',
                at=resumed.at,
                record=held[name],
                saved=after[0],
            )


def is_record(name: str, value: float) -> bool:
    """Whether the name says that this is the best so far of something that is measured."""
    said = {word.rstrip("0123456789") or word for word in words(name)} | words(name)  # acc1
    other = said & ((RECORDS - BESTS) | COUNTERS)
    # `best` alone, without a word for what is measured, shows by its course which way is better.
    return bool(said & BESTS and (said & MEASURED or said <= BESTS)) and not other and math.isfinite(value)


def wobbles(course: list[float]) -> bool:
    return len({b > a for a, b in pairwise(course)}) > 1


def way_of(course: list[float]) -> int:
    """1 for a record that only goes up, -1 for one that only goes down, 0 if neither is known."""
    return 0 if len(course) < 2 or wobbles(course) else 1 if course[-1] > course[0] else -1
