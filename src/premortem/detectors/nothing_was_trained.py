import re
from collections.abc import Iterator

from premortem.amounts import minute
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Event, FileLoaded, Forward, OptimizerBuilt, OptimizerStep, RunEnded, RunStarted
from premortem.findings import Finding, Severity
from premortem.metric_words import EVALUATED, counts

_ASKED_FOR = EVALUATED | {
    "evaluate",
    "predict",
    "prediction",
    "infer",
    "inference",
    "export",
    "score",
    "sample",
    "generate",
    "demo",
}


class NothingWasTrained(Detector):
    """The script was resumed from a file, evaluated, and ended without a single training step.

    ## Why it matters
    What it prints at its end is the score of the file, whatever was changed since in data, settings or code. It looks like a
    very fast run.

    ## Usual causes
    The file says that all epochs are done (`for epoch in range(start, epochs)` has nothing left to do); the step counter of
    another run; a best epoch that early stopping compares with.

    ## What to do
    Remove the file, or give the run more epochs than the file has.

    ## When it stays silent
    When the command line asks for an evaluation, when no optimizer was built, and when the file has no counter.
    """

    card = Card("PM347", "nothing-was-trained", "checkpoint", Severity.WARNING)
    listens = (RunStarted, FileLoaded, OptimizerBuilt, OptimizerStep, Forward, RunEnded)

    def __init__(self) -> None:
        self._file: FileLoaded | None = None
        self._built = False
        self._forwards = 0

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerStep):
            self.over = True
        elif isinstance(event, RunStarted):
            # A path may well have such a word in it.
            plain = (part for part in event.argv[1:] if "/" not in part and "." not in part)
            words = {word for part in plain for word in re.split(r"[^a-z]+", part.lower())}
            self.over = bool(words & _ASKED_FOR)
        elif isinstance(event, OptimizerBuilt):
            self._built = True
        elif isinstance(event, FileLoaded):
            if event.counters and event.tensors:
                self._file = event
        elif isinstance(event, Forward):
            self._forwards += 1
        elif isinstance(event, RunEnded) and event.reason == "finished":
            file = self._file
            if file is not None and self._built and self._forwards:
                yield self._say(event, file)

    def _say(self, event: RunEnded, file: FileLoaded) -> Finding:
        counted = [(name, number) for name, number in file.counters if counts(name)] or list(file.counters)
        name, number = counted[0]
        path = file.path.rpartition("/")[2] or "a checkpoint"
        when = f", written {minute(file.written)} UTC" if file.written else ""
        return self.finding(
            event,
            f"the run made no training step: it was resumed from `{path}`, in which `{name}` is {number}, and only evaluated",
            cause=f"`{path}`{when} says that the training is over, so the loop had nothing left to do. The weights and the score are "
            "those of the file.",
            remedy="Move the file away to train anew, or ask for more epochs than it has.",
            at=file.at,
            file=file.path,
            counters=dict(file.counters),
        )
