from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.printed import columns
from premortem.events import CheckpointSaved, Event, FileLoaded, LogLine, OptimizerStep, RunEnded
from premortem.findings import Finding, Severity
from premortem.metric_words import HIGHER, LOWER, RECORDS, TRAINED, words

_FEWEST = 3  # evaluations that did not come near
_GAP = 0.05  # of a score between 0 and 1
# Times the recorded loss: nearer ones may be the same task on a bad day.
_TIMES = 1.5


class RecordOfAnotherRun(Detector):
    """A best score was loaded from a file, this run never comes near it, and so nothing is saved.

    ## Why it matters
    "Save when better" compares with that number. The run trains to its end, and its weights are thrown away: what lies on the
    disk afterwards is the old file.

    ## Usual causes
    A checkpoint of another dataset, another metric or another split; the record was carried over and the weights were not.

    ## What to do
    Start the record anew when the data or the metric has changed, and save the last weights in any case.

    ## When it stays silent
    When something was saved since that has another record, when the first score after loading is near the record (a run that was resumed and did not
    get better), and when no score of that name is printed.
    """

    card = Card("PM348", "record-of-another-run", "checkpoint", Severity.WARNING).explaining(
        "trained-weights-replaced"
    )
    listens = (FileLoaded, CheckpointSaved, LogLine, OptimizerStep, RunEnded)

    def __init__(self) -> None:
        self._file: FileLoaded | None = None
        self._steps = 0
        self._saved = False
        self._printed: dict[str, list[float]] = {}
        self._beside: dict[str, set[str]] = {}  # words that stand beside a metric: `val` of val_mse

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, FileLoaded):
            if event.step == 0 and any(words(name) & RECORDS for name, _ in event.records):
                self._file = event
        elif isinstance(event, CheckpointSaved):
            self._saved = True
            # A save that still has the record of the file is none of something better.
            self.over = self._file is not None and not set(self._file.records) & {
                (name, value) for name, value in event.records if words(name) & RECORDS
            }
        elif isinstance(event, OptimizerStep):
            self._steps += 1
        elif isinstance(event, LogLine):
            for names, (_, _, value) in zip(columns(event), event.values, strict=True):
                for name in names & (HIGHER | LOWER):
                    if not names & (TRAINED | RECORDS):
                        self._printed.setdefault(name, []).append(value)
                        for word in names - {name}:
                            self._beside.setdefault(word, set()).add(name)
        elif isinstance(event, RunEnded) and self._file is not None and self._steps and not event.cut_off:
            yield from self._judge(event, self._file)

    def _judge(self, event: RunEnded, file: FileLoaded) -> Iterator[Finding]:
        for name, record in file.records:
            named = words(name)
            if not named & RECORDS:
                continue
            metrics = named & (HIGHER | LOWER)
            if not metrics:  # best_val, where val_mse is all that is printed of it
                meant = {metric for word in named - RECORDS for metric in self._beside.get(word, ())}
                metrics = frozenset(meant) if len(meant) == 1 else frozenset()
            for metric in metrics:
                seen = self._printed.get(metric, [])
                if len(seen) >= _FEWEST and far(record, seen, higher=metric in HIGHER):
                    best = max(seen) if metric in HIGHER else min(seen)
                    path = file.path.rpartition("/")[2] or "a checkpoint"
                    self.over = True
                    yield self.finding(
                        event,
                        f"{'no evaluation came near the loaded record' if self._saved else 'nothing was saved'}: `{name}` of `{path}` is {record:.4g}, and the best {metric} of this run is {best:.4g}",
                        cause=f"The record came from the file, and none of {len(seen)} evaluations came near it, the first one "
                        f"({seen[0]:.4g}) included: it is that of another run, another dataset or another metric.",
                        remedy="Start the record anew, and save the last weights in any case.",
                        at=file.at,
                        file=file.path,
                        record=record,
                        best=best,
                    )
                    return


def far(record: float, seen: list[float], *, higher: bool) -> bool:
    """No evaluation came near the record, not even the first one after the weights were loaded."""
    if higher:
        return all(value < record - _GAP * max(1.0, abs(record)) for value in seen)
    return record >= 0 and all(value > _TIMES * record + 1e-6 for value in seen)
